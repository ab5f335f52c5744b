"""Kernels that compute a row from its registers: ``f(units, n, *parameters, out, *operands)``.

They are those of the same names in ``arrays``, for rows that fit there: each element is read and
written once. How threads share a row is said in ``held``; the order of sums depends on that
alone, so on the length of rows. There are as many blocks as it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .held import Way, fetching, keeping, parsed, placing, whole
from .reduce import COMBINE, identity
from .scalar import FUNCTIONS
from .target import KINDS, cuda, device


def _exponentials(dtype: str, way: Way) -> Any:
    """A function that subtracts a row's largest element; gives ``sum(exp(x))`` of what is left.

    With ``replaced`` a thread holds the exponentials afterwards.
    """
    kind, size, exp = KINDS[dtype], way.size, FUNCTIONS[f"exp_{dtype}"]
    combine, start = COMBINE[f"max_{dtype}"], identity("max", dtype)
    largest, total = whole("max", dtype, way), whole("sum", dtype, way)

    def exponentials(held: Any, replaced: Any) -> Any:
        top = kind(start)
        for k in range(size):
            top = combine(top, held[k])
        top = largest(top)
        found = kind(0)
        for k in range(size):
            distance = kind(held[k] - top)
            power = exp(distance)
            found = kind(found + power)
            held[k] = power if replaced else distance
        return total(found)

    return device(exponentials)


def softmax(out: str, x: str, how: str) -> Any:
    """``exp(x) / sum(exp(x))`` of each row."""
    kind, way = KINDS[out], parsed(how)
    size, start = way.size, identity("max", out)
    place, fetch, keep = placing(way), fetching(out, way), keeping(way)
    exponentials = _exponentials(out, way)

    def kernel(units: Any, n: Any, out: Any, x: Any) -> None:
        held = cuda.local.array(size, kind)
        lane, at, count = place(units, n)
        fetch(held, x, at, count, lane, start)
        # The sum is 1 or more: so what is divided by it may as well be multiplied.
        factor = kind(kind(1) / exponentials(held, True))
        for k in range(size):
            held[k] = kind(held[k] * factor)
        keep(held, out, at, count, lane)

    return kernel


def log_softmax(out: str, x: str, how: str) -> Any:
    """``x - log(sum(exp(x)))`` of each row."""
    kind, way = KINDS[out], parsed(how)
    size, start = way.size, identity("max", out)
    place, fetch, keep = placing(way), fetching(out, way), keeping(way)
    exponentials, log = _exponentials(out, way), FUNCTIONS[f"log_{out}"]

    def kernel(units: Any, n: Any, out: Any, x: Any) -> None:
        held = cuda.local.array(size, kind)
        lane, at, count = place(units, n)
        fetch(held, x, at, count, lane, start)
        level = log(exponentials(held, False))
        for k in range(size):
            held[k] = kind(held[k] - level)
        keep(held, out, at, count, lane)

    return kernel


def softmax_grad(out: str, y: str, g: str, how: str) -> Any:
    """``y * (g - sum(g * y))`` of each row, for the operands y and g."""
    kind, way = KINDS[out], parsed(how)
    size = way.size
    place, fetch, keep = placing(way), fetching(out, way), keeping(way)
    total = whole("sum", out, way)

    def kernel(units: Any, n: Any, out: Any, y: Any, g: Any) -> None:
        held, above = cuda.local.array(size, kind), cuda.local.array(size, kind)
        lane, at, count = place(units, n)
        fetch(held, y, at, count, lane, kind(0))
        fetch(above, g, at, count, lane, kind(0))
        part = kind(0)
        for k in range(size):
            part = kind(part + kind(held[k] * above[k]))
        along = total(part)
        for k in range(size):
            held[k] = kind(held[k] * kind(above[k] - along))
        keep(held, out, at, count, lane)

    return kernel


def log_softmax_grad(out: str, y: str, g: str, how: str) -> Any:
    """``g - exp(y) * sum(g)`` of each row, for the operands y and g."""
    kind, way = KINDS[out], parsed(how)
    size = way.size
    place, fetch, keep = placing(way), fetching(out, way), keeping(way)
    total, exp = whole("sum", out, way), FUNCTIONS[f"exp_{out}"]

    def kernel(units: Any, n: Any, out: Any, y: Any, g: Any) -> None:
        held, above = cuda.local.array(size, kind), cuda.local.array(size, kind)
        lane, at, count = place(units, n)
        fetch(held, y, at, count, lane, kind(0))
        fetch(above, g, at, count, lane, kind(0))
        part = kind(0)
        for k in range(size):
            part = kind(part + above[k])
        level = total(part)
        for k in range(size):
            held[k] = kind(above[k] - kind(exp(held[k]) * level))
        keep(held, out, at, count, lane)

    return kernel


def _centring(dtype: str, way: Way) -> Any:
    """A function that subtracts a row's mean, and gives ``1 / sqrt(variance + epsilon)``.

    What is held beyond the row is 0 before and afterwards.
    """
    kind, (threads, pieces, width) = KINDS[dtype], way
    size, total, sqrt = way.size, whole("sum", dtype, way), FUNCTIONS[f"sqrt_{dtype}"]

    def centre(held: Any, count: Any, n: Any, lane: Any, epsilon: Any) -> Any:
        part = kind(0)
        for k in range(size):
            part = kind(part + held[k])
        mean = kind(total(part) / kind(n))
        part = kind(0)
        for p in range(pieces):
            if width * (lane + threads * p) < count:
                for k in range(width):
                    held[width * p + k] = kind(held[width * p + k] - mean)
        for k in range(size):
            part = kind(part + kind(held[k] * held[k]))
        variance = kind(total(part) / kind(n))
        return kind(kind(1) / sqrt(kind(variance + kind(epsilon))))

    return device(centre)


def normalize(out: str, x: str, how: str) -> Any:
    """``(x - mean) / sqrt(variance + epsilon)`` of each row."""
    kind, way = KINDS[out], parsed(how)
    size, centre = way.size, _centring(out, way)
    place, fetch, keep = placing(way), fetching(out, way), keeping(way)

    def kernel(units: Any, n: Any, epsilon: Any, out: Any, x: Any) -> None:
        held = cuda.local.array(size, kind)
        lane, at, count = place(units, n)
        fetch(held, x, at, count, lane, kind(0))
        scale = centre(held, count, n, lane, epsilon)
        for k in range(size):
            held[k] = kind(held[k] * scale)
        keep(held, out, at, count, lane)

    return kernel


def normalize_grad(out: str, x: str, g: str, how: str) -> Any:
    """``r * (g - mean(g) - n * mean(g * n))``, for the operands x and g.

    Here n is what `normalize` makes of x, and r the factor it multiplies with.
    """
    kind, way = KINDS[out], parsed(how)
    size, centre = way.size, _centring(out, way)
    place, fetch, keep = placing(way), fetching(out, way), keeping(way)
    total = whole("sum", out, way)

    def kernel(units: Any, n: Any, epsilon: Any, out: Any, x: Any, g: Any) -> None:
        held, above = cuda.local.array(size, kind), cuda.local.array(size, kind)
        lane, at, count = place(units, n)
        fetch(held, x, at, count, lane, kind(0))
        fetch(above, g, at, count, lane, kind(0))
        scale = centre(held, count, n, lane, epsilon)
        part, level = kind(0), kind(0)
        for k in range(size):
            held[k] = kind(held[k] * scale)
            part = kind(part + kind(above[k] * held[k]))
            level = kind(level + above[k])
        along = kind(total(part) / kind(n))
        middle = kind(total(level) / kind(n))
        for k in range(size):
            rest = kind(kind(above[k] - middle) - kind(held[k] * along))
            held[k] = kind(scale * rest)
        keep(held, out, at, count, lane)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (softmax, log_softmax, softmax_grad, log_softmax_grad, normalize,
                     normalize_grad)
}  # fmt: skip
