"""Row ops on rows in registers: ``f(out, *operands, count, n, lane, epsilon)``.

Each function computes one row, from the values that its threads hold to those that they will hold;
the kernels of the same names in ``arrays`` compute the same from memory. ``n`` is the length of
rows; ``count`` is ``n``, or 0 beyond the last row. `tiling` defines how threads share a row, and so
the order of sums, which depends only on the length of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .reduce import COMBINE, identity
from .scalar import FUNCTIONS
from .target import KINDS, device
from .tiling import Tiling, make_mask, reduce_row

if TYPE_CHECKING:
    from ..annotations import Array, Number


def _exponential_sum(dtype: str, tiling: Tiling) -> Any:
    """A function that subtracts a row's largest element, and returns ``sum(exp(x))`` of the rest.

    ``out`` gets the exponentials with ``keep_powers``, otherwise the differences.
    """
    kind, size, exp = KINDS[dtype], tiling.size, FUNCTIONS[f"exp_{dtype}"]
    combine, start = COMBINE[f"max_{dtype}"], identity("max", dtype)
    largest, total = reduce_row("max", dtype, tiling), reduce_row("sum", dtype, tiling)
    mask = make_mask(tiling)

    def exponentials(out: Array, x: Array, count: int, lane: int, keep_powers: bool) -> Any:
        mask(x, kind(start), count, lane)
        max_ = kind(start)
        for k in range(size):
            max_ = combine(max_, x[k])
        max_ = largest(max_)
        sum_ = kind(0)
        for k in range(size):
            distance = kind(x[k] - max_)
            power = exp(distance)
            sum_ = kind(sum_ + power)
            out[k] = power if keep_powers else distance
        return total(sum_)

    return device(exponentials)


def softmax(dtype: str, tiling: Tiling) -> Any:
    """``exp(x) / sum(exp(x))``."""
    kind, size, exponentials = KINDS[dtype], tiling.size, _exponential_sum(dtype, tiling)

    def apply(out: Array, x: Array, count: int, n: int, lane: int, epsilon: float) -> None:
        # The sum is at least 1, so its reciprocal does not overflow: multiply instead of dividing.
        factor = kind(kind(1) / exponentials(out, x, count, lane, True))
        for k in range(size):
            out[k] = kind(out[k] * factor)

    return device(apply)


def log_softmax(dtype: str, tiling: Tiling) -> Any:
    """``x - log(sum(exp(x)))``."""
    kind, size, exponentials = KINDS[dtype], tiling.size, _exponential_sum(dtype, tiling)
    log = FUNCTIONS[f"log_{dtype}"]

    def apply(out: Array, x: Array, count: int, n: int, lane: int, epsilon: float) -> None:
        log_sum = log(exponentials(out, x, count, lane, False))
        for k in range(size):
            out[k] = kind(out[k] - log_sum)

    return device(apply)


def softmax_grad(dtype: str, tiling: Tiling) -> Any:
    """``y * (g - sum(g * y))``, for the operands y and g."""
    kind, size = KINDS[dtype], tiling.size
    total, mask = reduce_row("sum", dtype, tiling), make_mask(tiling)

    def apply(
        out: Array, y: Array, g: Array, count: int, n: int, lane: int, epsilon: float
    ) -> None:
        mask(y, kind(0), count, lane)
        mask(g, kind(0), count, lane)
        partial = kind(0)
        for k in range(size):
            if y[k] > kind(0.5):  # true of at most one
                partial = g[k]
        base = total(partial)
        partial = kind(0)
        for k in range(size):
            partial = kind(partial + kind(y[k] * kind(g[k] - base)))
        weighted_sum = total(partial)
        for k in range(size):
            out[k] = kind(y[k] * kind(kind(g[k] - base) - weighted_sum))

    return device(apply)


def log_softmax_grad(dtype: str, tiling: Tiling) -> Any:
    """``g - exp(y) * sum(g)``, for the operands y and g."""
    kind, size = KINDS[dtype], tiling.size
    total, mask = reduce_row("sum", dtype, tiling), make_mask(tiling)
    exp = FUNCTIONS[f"exp_{dtype}"]

    def apply(
        out: Array, y: Array, g: Array, count: int, n: int, lane: int, epsilon: float
    ) -> None:
        mask(y, kind(-math.inf), count, lane)
        mask(g, kind(0), count, lane)
        partial, other_powers, largest_g = kind(0), kind(0), kind(0)
        for k in range(size):
            power = exp(y[k])
            if power > kind(0.5):  # true of at most one
                largest_g = g[k]
            else:
                partial = kind(partial + g[k])
                other_powers = kind(other_powers + power)
        other_sum, other_powers = total(partial), total(other_powers)
        g_sum = kind(other_sum + total(largest_g))
        for k in range(size):
            power = exp(y[k])
            if power > kind(0.5):
                out[k] = kind(kind(g[k] * other_powers) - kind(power * other_sum))
            else:
                out[k] = kind(g[k] - kind(power * g_sum))

    return device(apply)


def _row_centering(dtype: str, tiling: Tiling) -> Any:
    """A function that subtracts a row's mean, and returns ``1 / sqrt(variance + epsilon)``."""
    kind, size, sqrt = KINDS[dtype], tiling.size, FUNCTIONS[f"sqrt_{dtype}"]
    total, mask = reduce_row("sum", dtype, tiling), make_mask(tiling)

    def centre(out: Array, x: Array, count: int, n: int, lane: int, epsilon: float) -> Any:
        mask(x, kind(0), count, lane)
        partial = kind(0)
        for k in range(size):
            partial = kind(partial + x[k])
        mean = kind(total(partial) / kind(n))
        for k in range(size):
            out[k] = kind(x[k] - mean)
        mask(out, kind(0), count, lane)
        partial = kind(0)
        for k in range(size):
            partial = kind(partial + kind(out[k] * out[k]))
        variance = kind(total(partial) / kind(n))
        return kind(kind(1) / sqrt(kind(variance + kind(epsilon))))

    return device(centre)


def normalize(dtype: str, tiling: Tiling) -> Any:
    """``(x - mean) / sqrt(variance + epsilon)``; returns the factor of ``x - mean``."""
    kind, size, centre = KINDS[dtype], tiling.size, _row_centering(dtype, tiling)

    def apply(out: Array, x: Array, count: int, n: int, lane: int, epsilon: float) -> Any:
        scale = centre(out, x, count, n, lane, epsilon)
        for k in range(size):
            out[k] = kind(out[k] * scale)
        return scale

    return device(apply)


def normalized_grad(dtype: str, tiling: Tiling) -> Any:
    """``r * (g - mean(g) - n * mean(g * n))`` for the result n of `normalize`, and its factor r."""
    kind, size = KINDS[dtype], tiling.size
    total, mask = reduce_row("sum", dtype, tiling), make_mask(tiling)

    def apply(out: Array, x: Array, g: Array, count: int, n: int, lane: int, scale: Number) -> None:
        mask(g, kind(0), count, lane)
        partial, g_sum = kind(0), kind(0)
        for k in range(size):
            partial = kind(partial + kind(g[k] * x[k]))
            g_sum = kind(g_sum + g[k])
        projection = kind(total(partial) / kind(n))
        g_mean = kind(total(g_sum) / kind(n))
        for k in range(size):
            difference = kind(kind(g[k] - g_mean) - kind(x[k] * projection))
            out[k] = kind(scale * difference)

    return device(apply)


def normalize_grad(dtype: str, tiling: Tiling) -> Any:
    """`normalized_grad` with n computed from x; the operands are x and g."""
    normalize_row, differentiate_row = normalize(dtype, tiling), normalized_grad(dtype, tiling)

    def apply(
        out: Array, x: Array, g: Array, count: int, n: int, lane: int, epsilon: float
    ) -> None:
        scale = normalize_row(out, x, count, n, lane, epsilon)
        differentiate_row(out, out, g, count, n, lane, scale)

    return device(apply)


FUNCTIONS_OF_ROWS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        softmax,
        log_softmax,
        softmax_grad,
        log_softmax_grad,
        normalize,
        normalize_grad,
        normalized_grad,
    )
}
