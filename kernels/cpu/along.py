"""Kernels along one axis: running sums, and positions of extreme elements; see `arrays`.

They operate on the middle axis of ``x`` of shape (outer, n, inner). A unit of work is one outer
index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types

from ..jit import POINTERS, jit, stack
from .reduce import PANEL, identity

number = POINTERS["int64"]


def cumsum(dtype: str) -> Any:
    """Running sums; those of float32 are added in float64 and rounded once each.

    Parameters: n, inner, whether (1 or 0) each sum excludes its own element, and whether the sums
    run from the last element to the first.
    """
    at, size = POINTERS[dtype], getattr(types, dtype).bitwidth // 8
    wide, kind = _sum_dtype(dtype), getattr(types, dtype)
    wide_kind = getattr(types, wide)
    totals, memory = POINTERS[wide], stack(8 * PANEL)

    def sum_row(out_: int, x_: int, n: int, exclusive: int, step: int) -> None:
        """Sum one row. The total stays in a register, which takes a third of the time."""
        out, x = at(out_), at(x_)
        if n:
            total = wide_kind(x[0])
            out[0] = kind(0) if exclusive else x[0]
            for k in range(1, n):
                if exclusive:
                    out[k * step] = total
                    total += x[k * step]
                else:
                    total += x[k * step]
                    out[k * step] = total

    sum_one = jit(sum_row)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        n = number(parameters)[0]
        inner = number(parameters)[1]
        exclusive = number(parameters)[2]
        reverse = number(parameters)[3]
        step = -inner * size if reverse else inner * size
        total = totals(memory())
        panels = (inner + PANEL - 1) // PANEL
        for unit in range(begin, end):
            start = (unit * n + (n - 1 if reverse else 0)) * inner * size
            if inner == 1:
                sum_one(out_ + start, x_ + start, n, exclusive, -1 if reverse else 1)
                continue
            for panel in range(panels):
                panel_start = start + panel * PANEL * size
                width = min(PANEL, inner - panel * PANEL)
                for k in range(n):
                    out = at(out_ + panel_start + k * step)
                    x = at(x_ + panel_start + (k - exclusive) * step)
                    if k < exclusive:
                        for j in range(width):
                            out[j] = 0
                    elif k == exclusive:
                        for j in range(width):
                            total[j] = x[j]
                            out[j] = x[j]
                    else:
                        for j in range(width):
                            total[j] += x[j]
                            out[j] = total[j]

    return kernel


def _sum_dtype(dtype: str) -> str:
    """The dtype in which elements are added."""
    return "float64" if dtype == "float32" else dtype


def recurrence(dtype: str) -> Any:
    """``out[k] = x[k] + decay[k] * out[k - 1]`` for the operands decay and x.

    float32 is computed in float64. Parameters: n, inner, and whether it runs from the last element
    to the first.
    """
    at, size = POINTERS[dtype], getattr(types, dtype).bitwidth // 8
    totals, memory = POINTERS[_sum_dtype(dtype)], stack(8 * PANEL)

    def kernel(
        out_: int, decay_: int, x_: int, z_: int, parameters: int, begin: int, end: int
    ) -> None:
        n, inner, reverse = number(parameters)[0], number(parameters)[1], number(parameters)[2]
        step = -inner * size if reverse else inner * size
        total = totals(memory())
        panels = (inner + PANEL - 1) // PANEL
        for unit in range(begin, end):
            start = (unit * n + (n - 1 if reverse else 0)) * inner * size
            for panel in range(panels):
                panel_start = start + panel * PANEL * size
                width = min(PANEL, inner - panel * PANEL)
                for j in range(width):
                    total[j] = 0
                for k in range(n):
                    offset = panel_start + k * step
                    out, decay, x = at(out_ + offset), at(decay_ + offset), at(x_ + offset)
                    for j in range(width):
                        total[j] = x[j] + decay[j] * total[j]
                        out[j] = total[j]

    return kernel


def _index_kernel(name: str) -> Any:
    is_max = name == "max"

    def make_kernel(dtype: str, result: str) -> Any:
        kind, at, results = getattr(types, dtype), POINTERS[dtype], POINTERS[result]
        real, signed = isinstance(kind, types.Float), getattr(kind, "signed", True)
        initial = identity(name, real, signed, kind.bitwidth)

        def kernel(
            out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int
        ) -> None:
            n, inner = number(parameters)[0], number(parameters)[1]
            x, out = at(x_), results(out_)
            for unit in range(begin, end):
                for j in range(inner):
                    extreme, extreme_index = kind(initial), 0
                    for k in range(n):
                        value = x[(unit * n + k) * inner + j]
                        if value > extreme if is_max else value < extreme:
                            extreme, extreme_index = value, k
                    out[unit * inner + j] = extreme_index

        return kernel

    return make_kernel


# The first of the largest, or smallest, elements; NaN is ignored. Parameters: n and inner.
argmax, argmin = _index_kernel("max"), _index_kernel("min")

KERNELS: dict[str, Callable[..., Any]] = {
    "cumsum": cumsum,
    "recurrence": recurrence,
    "argmax": argmax,
    "argmin": argmin,
}
