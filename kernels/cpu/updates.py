"""Kernels that update rows of an array at indices, in order; see `arrays` for their arguments.

The operands are the array, the indices and the updates. Parameters: the number of rows, the number
of indices, and the elements of a row. Invalid indices are skipped, as in `arrays.gather`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import types

from ..jit import POINTERS, inline
from .groups import copy

number = POINTERS["int64"]


@inline
def _add(x: Any, update: Any) -> Any:
    return x + update


@inline
def _subtract(x: Any, update: Any) -> Any:
    return x - update


@inline
def _multiply(x: Any, update: Any) -> Any:
    return x * update


@inline
def _divide(x: Any, update: Any) -> Any:
    return x / update


@inline
def _larger(x: Any, update: Any) -> Any:
    return update if update > x else x  # an update of NaN replaces nothing


@inline
def _smaller(x: Any, update: Any) -> Any:
    return update if update < x else x


@inline
def _replacement(x: Any, update: Any) -> Any:
    return update


COMBINE: dict[str, Any] = {
    "add": _add,
    "sub": _subtract,
    "mul": _multiply,
    "div": _divide,
    "max": _larger,
    "min": _smaller,
    "update": _replacement,
}


def _kernel(name: str, dtype: str, index: str) -> Any:
    at, indices, combine = POINTERS[dtype], POINTERS[index], COMBINE[name]
    item = getattr(types, dtype).bitwidth // 8

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        size, count, inner = number(parameters)[0], number(parameters)[1], number(parameters)[2]
        positions = indices(y_)
        copy(out_, x_, item, size * inner)
        for i in range(count):
            row = types.intp(positions[i])
            if 0 <= row < size:
                out, updates = at(out_ + row * inner * item), at(z_ + i * inner * item)
                for j in range(inner):
                    out[j] = combine(out[j], updates[j])

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {name: partial(_kernel, name) for name in COMBINE}
