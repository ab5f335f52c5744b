"""Launches of gathers of elements and slices by index; see kernels/cuda/gather.py."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..launches import Launch, LaunchRow, blocks, library_kernel, threads
from .permute import divisor, grid, magnitude, parameters, pointer, word, word_dtype, zeros


def _gather(row: LaunchRow) -> list[Launch]:
    (x, y), axis = row.operands, row.attributes["axis"]
    if not x.size:  # all indices are out of bounds
        return [zeros(row.out.size * row.out.dtype.size, row.places[0])]
    inner = math.prod(x.shape[axis + 1 :]) * x.dtype.size
    bytes_ = word(inner)
    inner //= bytes_
    n = row.out.size * x.dtype.size // bytes_
    values = n, x.shape[axis], y.size, inner, *divisor(inner), *divisor(y.size)
    size = magnitude(n, x.size * x.dtype.size // bytes_)
    dtypes = parameters(values, pointer(bytes_), pointer(bytes_), y.dtype.name)
    kernel = library_kernel("gather", "gather", (word_dtype(bytes_), size), dtypes)
    return [Launch(kernel, grid(n), threads(), values, tuple(row.places))]


def _pick(row: LaunchRow) -> list[Launch]:
    x, y = row.operands
    kind = word_dtype(x.dtype.size)
    values = row.out.size, x.shape[-1]
    kernel = library_kernel("gather", "pick", (kind,), parameters(values, kind, kind, y.dtype.name))
    return [Launch(kernel, blocks(row.out.size), threads(), values, tuple(row.places))]


def _place(row: LaunchRow) -> list[Launch]:
    _, y = row.operands
    kind, n = word_dtype(row.out.dtype.size), row.out.shape[-1]
    values = row.out.size, n, *divisor(n)
    dtypes = parameters(values, kind, kind, y.dtype.name)
    kernel = library_kernel("gather", "place", (kind, magnitude(row.out.size)), dtypes)
    return [Launch(kernel, blocks(row.out.size), threads(), values, tuple(row.places))]


MAKERS: dict[str, Callable[[LaunchRow], list[Launch]]] = {
    "GatherV2": _gather,
    "Pick": _pick,
    "Place": _place,
}
