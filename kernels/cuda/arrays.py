"""Whole-array kernels: ``f(units, *parameters, out, *operands)``.

Units and parameters are as in the kernels of the same names in ``kernels.cpu.arrays``. Each
function here makes a kernel for dtypes, that of the result first. A block processes a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .reduce import COMBINE, identity, reduce_block
from .scalar import FUNCTIONS
from .target import KINDS, THREADS, cuda, device

if TYPE_CHECKING:
    from ..annotations import Array, Number


def _sum_functions(dtype: str) -> tuple[Any, Any, Any]:
    """The dtype, a function that sums a value of each thread of a block, and the square root."""
    return KINDS[dtype], reduce_block("sum", dtype), FUNCTIONS[f"sqrt_{dtype}"]


def _row_max(dtype: str) -> Any:
    """A function that returns the largest element of a row to all threads of a block."""
    combine = COMBINE[f"max_{dtype}"]
    block = reduce_block("max", dtype)
    start = identity("max", dtype)

    def row_max(x: Array, begin: int, n: int) -> Any:
        best = start
        i = cuda.threadIdx.x
        while i < n:
            best = combine(best, x[begin + i])
            i += THREADS
        return block(best)

    return device(row_max)


def _exponential_sum(dtype: str) -> Any:
    """A function that returns the sum of ``exp(x - top)`` over a row."""
    kind, total, _ = _sum_functions(dtype)
    exp = FUNCTIONS[f"exp_{dtype}"]

    def exponentials(x: Array, begin: int, n: int, top: Number) -> Any:
        sum_ = kind(0)
        i = cuda.threadIdx.x
        while i < n:
            sum_ = kind(sum_ + exp(kind(x[begin + i] - top)))
            i += THREADS
        return total(sum_)

    return device(exponentials)


def softmax(out: str, x: str) -> Any:
    """``exp(x) / sum(exp(x))`` of each row."""
    kind, exp = KINDS[out], FUNCTIONS[f"exp_{out}"]
    row_max, exponentials = _row_max(out), _exponential_sum(out)

    def kernel(units: int, n: int, out: Array, x: Array) -> None:
        row = cuda.blockIdx.x
        while row < units:
            max_ = row_max(x, row * n, n)
            sum_ = exponentials(x, row * n, n, max_)
            i = cuda.threadIdx.x
            while i < n:
                out[row * n + i] = kind(exp(kind(x[row * n + i] - max_)) / sum_)
                i += THREADS
            row += cuda.gridDim.x

    return kernel


def log_softmax(out: str, x: str) -> Any:
    """``x - log(sum(exp(x)))`` of each row."""
    kind, log = KINDS[out], FUNCTIONS[f"log_{out}"]
    row_max, exponentials = _row_max(out), _exponential_sum(out)

    def kernel(units: int, n: int, out: Array, x: Array) -> None:
        row = cuda.blockIdx.x
        while row < units:
            max_ = row_max(x, row * n, n)
            log_sum = log(exponentials(x, row * n, n, max_))
            i = cuda.threadIdx.x
            while i < n:
                out[row * n + i] = kind(kind(x[row * n + i] - max_) - log_sum)
                i += THREADS
            row += cuda.gridDim.x

    return kernel


def softmax_grad(out: str, y: str, g: str) -> Any:
    """``y * (g - sum(g * y))`` of each row, for the operands y and g.

    If a y exceeds 1/2, its g is subtracted from all g first; see ``kernels.cpu.arrays``.
    """
    kind, total, _ = _sum_functions(out)

    def kernel(units: int, n: int, out: Array, y: Array, g: Array) -> None:
        row = cuda.blockIdx.x
        while row < units:
            partial = kind(0)
            i = cuda.threadIdx.x
            while i < n:
                if y[row * n + i] > kind(0.5):  # true of at most one
                    partial = g[row * n + i]
                i += THREADS
            base = total(partial)
            partial = kind(0)
            i = cuda.threadIdx.x
            while i < n:
                partial = kind(partial + y[row * n + i] * kind(g[row * n + i] - base))
                i += THREADS
            weighted_sum = total(partial)
            i = cuda.threadIdx.x
            while i < n:
                distance = kind(kind(g[row * n + i] - base) - weighted_sum)
                out[row * n + i] = kind(y[row * n + i] * distance)
                i += THREADS
            row += cuda.gridDim.x

    return kernel


def log_softmax_grad(out: str, y: str, g: str) -> Any:
    """``g - exp(y) * sum(g)`` of each row, for the operands y and g.

    If an exp(y) exceeds 1/2, its result uses the sums of the others; see ``kernels.cpu.arrays``.
    """
    kind, total, _ = _sum_functions(out)
    exp = FUNCTIONS[f"exp_{out}"]

    def kernel(units: int, n: int, out: Array, y: Array, g: Array) -> None:
        row = cuda.blockIdx.x
        while row < units:
            partial, other_powers, largest_g = kind(0), kind(0), kind(0)
            i = cuda.threadIdx.x
            while i < n:
                power = exp(y[row * n + i])
                if power > kind(0.5):  # true of at most one
                    largest_g = g[row * n + i]
                else:
                    partial = kind(partial + g[row * n + i])
                    other_powers = kind(other_powers + power)
                i += THREADS
            other_sum, other_powers = total(partial), total(other_powers)
            g_sum = kind(other_sum + total(largest_g))
            i = cuda.threadIdx.x
            while i < n:
                own_g, power = g[row * n + i], exp(y[row * n + i])
                if power > kind(0.5):
                    out[row * n + i] = kind(kind(own_g * other_powers) - kind(power * other_sum))
                else:
                    out[row * n + i] = kind(own_g - kind(power * g_sum))
                i += THREADS
            row += cuda.gridDim.x

    return kernel


def _moments(dtype: str) -> Any:
    """A function that returns the mean of a row, and ``1 / sqrt(variance + epsilon)``."""
    kind, total, sqrt = _sum_functions(dtype)

    def moments(x: Array, begin: int, n: int, epsilon: float) -> Any:
        partial = kind(0)
        i = cuda.threadIdx.x
        while i < n:
            partial = kind(partial + x[begin + i])
            i += THREADS
        mean = kind(total(partial) / kind(n))
        partial = kind(0)
        i = cuda.threadIdx.x
        while i < n:
            distance = kind(x[begin + i] - mean)
            partial = kind(partial + distance * distance)
            i += THREADS
        variance = kind(total(partial) / kind(n))
        return mean, kind(kind(1) / sqrt(kind(variance + kind(epsilon))))

    return device(moments)


def normalize(out: str, x: str) -> Any:
    """``(x - mean) / sqrt(variance + epsilon)`` of each row."""
    kind, moments = KINDS[out], _moments(out)

    def kernel(units: int, n: int, epsilon: float, out: Array, x: Array) -> None:
        row = cuda.blockIdx.x
        while row < units:
            mean, scale = moments(x, row * n, n, epsilon)
            i = cuda.threadIdx.x
            while i < n:
                out[row * n + i] = kind(kind(x[row * n + i] - mean) * scale)
                i += THREADS
            row += cuda.gridDim.x

    return kernel


def normalize_grad(out: str, x: str, g: str) -> Any:
    """``r * (g - mean(g) - n * mean(g * n))``, for the operands x and g.

    Here n is ``normalize(x)``, and r is ``1 / sqrt(variance + epsilon)``.
    """
    kind, total, _ = _sum_functions(out)
    moments = _moments(out)

    def kernel(units: int, n: int, epsilon: float, out: Array, x: Array, g: Array) -> None:
        row = cuda.blockIdx.x
        while row < units:
            mean, scale = moments(x, row * n, n, epsilon)
            partial, g_sum = kind(0), kind(0)
            i = cuda.threadIdx.x
            while i < n:
                partial = kind(partial + g[row * n + i] * kind(kind(x[row * n + i] - mean) * scale))
                g_sum = kind(g_sum + g[row * n + i])
                i += THREADS
            projection = kind(total(partial) / kind(n))
            g_mean = kind(total(g_sum) / kind(n))
            i = cuda.threadIdx.x
            while i < n:
                normalized = kind(kind(x[row * n + i] - mean) * scale)
                out[row * n + i] = kind(
                    scale * kind(g[row * n + i] - g_mean - normalized * projection)
                )
                i += THREADS
            row += cuda.gridDim.x

    return kernel


# Kernels in which a thread computes an element.


def product(out: str, x: str, y: str) -> Any:
    """``out[b] = x[b] @ y[b]``, where cuBLAS is not used (ints). A unit is an element.

    Parameters: the columns of ``out``, the length of the inner products, and the elements of a
    matrix of ``out``; then the strides of x between matrices, rows and columns; the same of y.
    """
    kind = KINDS[out]

    def kernel(
        units: int,
        n: int,
        length: int,
        size: int,
        x_batch_step: int,
        x_row_step: int,
        x_column_step: int,
        y_batch_step: int,
        y_row_step: int,
        y_column_step: int,
        out: Array,
        x: Array,
        y: Array,
    ) -> None:
        t = cuda.grid(1)
        while t < units:
            batch = t // size
            x_at = batch * x_batch_step + t % size // n * x_row_step
            y_at = batch * y_batch_step + t % n * y_column_step
            sum_ = kind(0)
            for _ in range(length):
                sum_ = kind(sum_ + kind(x[x_at] * y[y_at]))
                x_at += x_column_step
                y_at += y_row_step
            out[t] = sum_
            t += cuda.gridsize(1)

    return kernel


def contrast(out: str, x: str, y: str, z: str) -> Any:
    """``(x - mean) * y[0] + mean`` for x of shape (outer, n, inner). A unit is an element.

    z has the sums of the n elements, from which the means are computed. Parameters: n and inner.
    """
    kind = KINDS[out]

    def kernel(units: int, n: int, inner: int, out: Array, x: Array, y: Array, z: Array) -> None:
        t = cuda.grid(1)
        while t < units:
            mean = kind(z[t // (n * inner) * inner + t % inner] / kind(n))
            out[t] = kind(kind(kind(x[t] - mean) * y[0]) + mean)
            t += cuda.gridsize(1)

    return kernel


BY_ROW: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        softmax,
        log_softmax,
        softmax_grad,
        log_softmax_grad,
        normalize,
        normalize_grad,
    )
}
BY_ELEMENT: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (product, contrast)
}
KERNELS = BY_ROW | BY_ELEMENT
