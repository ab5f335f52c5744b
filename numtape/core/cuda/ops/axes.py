"""Launches of ops along axes: reductions, argmax and argmin, cumulative sums.

If there are too few rows or columns to keep the GPU busy, the axis is cut into stretches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ....kernels.constants import CUDA_VECTOR
from ...values.dtypes import as_dtype
from ..codegen import fill_source, memory_dtype
from ..launches import (
    Launch,
    LaunchRow,
    Reserve,
    blocks,
    library_kernel,
    most_blocks,
    threads,
    written_out,
)
from .row_tiling import loop_tiling

SHORTEST = 64  # a column of up to so many elements is one thread's
FEWEST = 32  # fewest elements of a stretch of a longer column
ROUNDS = 32  # fewest rounds of a block for which a stretch of a row pays off
SHARES = 2048  # blocks that keep any GPU busy; also the most stretches of all rows
HELD = 16  # elements that a thread loads before it adds them
SCANNED = 4  # elements that a thread scans at a time where it cannot load vectors

Sizes = tuple[int, int, int]  # outer, n, inner: the axis in the middle, and the others


class Cut(NamedTuple):
    """An axis cut into stretches: how many, and how long they are; the last one may be shorter."""

    stretches: int
    length: int


def cut_of(sizes: Sizes) -> Cut:
    """Cut columns (or rows) among so many threads (or blocks) that the GPU is busy.

    The cut depends on the shape alone, and so do the bits of sums.
    """
    outer, n, inner = sizes
    if inner == 1:
        stretches = min(n // (ROUNDS * threads()), SHARES // max(1, outer))
    elif n <= SHORTEST:
        stretches = 1
    else:
        stretches = min(n // FEWEST, SHARES * threads() // max(1, outer * inner // _width(inner)))
    length = -(-n // max(1, stretches))
    if n % CUDA_VECTOR == 0:  # align the stretches of a row to vectors
        length = -(-length // CUDA_VECTOR) * CUDA_VECTOR
    return Cut(-(-n // max(1, length)) or 1, length)


def _width(inner: int) -> int:
    """How many columns a thread processes."""
    return CUDA_VECTOR if inner % CUDA_VECTOR == 0 else 1


def _enough(units: int) -> int:
    """How many blocks provide a thread for each unit."""
    return max(1, -(-units // threads()))


# Reductions.


def along(
    name: str, dtype: str, input_dtype: str, sizes: Sizes, places: tuple[int, int], reserve: Reserve
) -> list[Launch]:
    """Reduce (outer, n, inner) of ``input_dtype`` to (outer, inner) of ``dtype``."""
    outer, _, inner = sizes
    out, x = places
    cut = cut_of(sizes)
    if cut.stretches == 1:
        return [_reduce(name, dtype, input_dtype, sizes, cut, False, places)]
    between = reserve(outer * cut.stretches * inner * _size(dtype))
    first = _reduce(name, dtype, input_dtype, sizes, cut, False, (between, x))
    rest = outer, cut.stretches, inner
    return [first, *along(name, dtype, dtype, rest, (out, between), reserve)]


def _reduce(
    name: str,
    dtype: str,
    input_dtype: str,
    sizes: Sizes,
    cut: Cut,
    solid: bool,
    places: tuple[int, int],
) -> Launch:
    """Reduce each stretch.

    A stretch of a column has adjacent rows if it is ``solid``. Otherwise its rows are as far apart
    as there are stretches, so that adjacent threads load adjacent elements.
    """
    outer, n, inner = sizes
    out, x = places
    arguments: tuple[str, ...]
    values: tuple[int, ...]
    if inner == 1:
        tiling = loop_tiling(n, cut.length, max(_size(dtype), _size(input_dtype)), HELD)
        kind, values, arguments = "rows", (outer, n, *cut), (name, dtype, str(tiling))
        count = tiling.blocks(outer * cut.stretches)
    else:
        width = _width(inner)
        strides = (cut.length, 1, cut.length) if solid else (1, cut.stretches, n)
        kind, arguments = "columns", (name, dtype, str(width))
        values = (outer, n, inner // width, cut.stretches, *strides)
        count = _enough(outer * cut.stretches * inner // width)
    parameters = ["int64"] * len(values) + [f"*{input_dtype}", f"*{dtype}"]
    kernel = library_kernel("along", kind, arguments, parameters)
    return Launch(kernel, max(1, count), threads(), values, (x, out))


def _size(dtype: str) -> int:
    return as_dtype(dtype).size


def _reduce_axes(
    name: str,
    dtype: str,
    input_dtype: str,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    places: tuple[int, int],
    reserve: Reserve,
) -> list[Launch]:
    """Reduce over several axes: adjacent axes together, the last ones first."""
    launches: list[Launch] = []
    out, x = places
    while axes:
        first = last = axes[-1]
        while first - 1 in axes:
            first -= 1
        parts = shape[:first], shape[first : last + 1], shape[last + 1 :]
        sizes = math.prod(parts[0]), math.prod(parts[1]), math.prod(parts[2])
        axes = tuple(axis for axis in axes if axis < first)
        shape = parts[0] + parts[2]
        there = reserve(math.prod(shape) * _size(dtype)) if axes else out
        launches += along(name, dtype, input_dtype, sizes, (there, x), reserve)
        x, input_dtype = there, dtype
    return launches


def _reduction(row: LaunchRow) -> list[Launch]:
    (x,), dtype = row.operands, memory_dtype(row.out.dtype)
    name = row.op.body or {"All": "min", "Any": "max"}[row.op.name]
    if row.op.name == "All" and not x.size:  # the smallest of no bytes is 255
        return [written_out(fill_source(dtype, "1"), "fill", dtype, row.out.size, row.places)]
    out, source = row.places
    return _reduce_axes(
        name, dtype, dtype, tuple(x.shape), row.attributes["axes"], (out, source), row.reserve
    )


def _mean(row: LaunchRow) -> list[Launch]:
    """The mean of integers: their sum, then a division."""
    (x,), dtype = row.operands, memory_dtype(row.out.dtype)
    out, source = row.places
    total = row.reserve(8 * row.out.size)
    wide = "uint64" if dtype == "uint64" else "int64"
    launches = _reduce_axes(
        "sum", wide, dtype, tuple(x.shape), row.attributes["axes"], (total, source), row.reserve
    )
    kernel = library_kernel("reduce", "mean", (dtype,), ["int64", "int64", f"*{wide}", f"*{dtype}"])
    sizes = row.out.size, max(1, x.size // row.out.size)
    return [*launches, Launch(kernel, blocks(row.out.size), threads(), sizes, (total, out))]


def _along_one(row: LaunchRow) -> Sizes:
    """The operand's shape as (outer, n, inner), with the op's axis in the middle."""
    shape, axis = row.operands[0].shape, row.attributes["axis"]
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


# Argmax and argmin.

LOOKS = 4  # fewest rounds of a block for which a stretch of a row pays off
ROW = 32  # a row of up to so many elements is processed by one thread, like a column


def _by_rows(sizes: Sizes) -> bool:
    """Whether a block processes a row; otherwise a thread processes a column."""
    return sizes[2] == 1 and sizes[1] > ROW


def _stretches(sizes: Sizes) -> int:
    """How many threads (or blocks) share a column (or row)."""
    outer, n, inner = sizes
    if _by_rows(sizes):
        return max(1, min(n // (LOOKS * threads()), most_blocks() // max(1, outer)))
    return max(1, min(n // SHORTEST, most_blocks() * threads() // max(1, outer * inner)))


def _extreme_launch(
    arguments: tuple[str, ...],
    sizes: Sizes,
    middle: tuple[int, ...],
    stretches: int,
    dtypes: tuple[str, ...],
    places: tuple[int, ...],
) -> Launch:
    """The launch of the row kernel or the column kernel of `kernels/cuda/extreme.py`."""
    outer, n, inner = sizes
    if _by_rows(sizes):
        kind, values, units = "rows", (outer, n, *middle), outer * stretches * threads()
    else:
        kind, values, units = "columns", (*sizes, *middle), outer * stretches * inner
    parameters = ["int64"] * len(values) + [f"*{dtype}" for dtype in dtypes]
    kernel = library_kernel("extreme", kind, arguments, parameters)
    return Launch(kernel, blocks(units), threads(), values, places)


def _extreme(row: LaunchRow) -> list[Launch]:
    """Find a candidate in each stretch, then reduce the candidates until one is left."""
    name = {"ArgMax": "max", "ArgMin": "min"}[row.op.name]
    dtype = memory_dtype(row.operands[0].dtype)
    sizes = outer, many, inner = _along_one(row)
    out, x = row.places
    launches: list[Launch] = []
    among = x  # not read
    while True:
        stretches = _stretches((outer, many, inner))
        last = stretches == 1
        there = out if last else row.reserve(8 * outer * stretches * inner)
        kind = row.out.dtype.name if last else "int64"
        launches.append(
            _extreme_launch(
                (name, dtype),
                sizes,
                (many, stretches),
                stretches,
                (dtype, "int64", kind),
                (x, among, there),
            )
        )
        if last:
            return launches
        many, among = stretches, there


# Cumulative sums.


def _cumsum(row: LaunchRow) -> list[Launch]:
    dtype = memory_dtype(row.out.dtype)
    name = "max" if row.out.dtype.is_bool else "sum"  # NumPy adds bools to bools
    how = int(row.attributes["exclusive"]), int(row.attributes["reverse"])
    out, x = row.places
    return scan_launches(name, dtype, _along_one(row), how, (out, x), row.reserve)


def scan_launches(
    name: str,
    dtype: str,
    sizes: Sizes,
    how: tuple[int, int],
    places: tuple[int, int],
    reserve: Reserve,
) -> list[Launch]:
    """Cumulative sums along the middle axis; ``how`` is (exclusive, reverse).

    With several stretches, their totals are scanned first and give the start value of each.
    """
    outer, n, inner = sizes
    out, x = places
    cut = cut_of(sizes)
    stretches, length = cut
    launches: list[Launch] = []
    starts = out  # not read
    if stretches > 1:
        totals, starts = (reserve(outer * stretches * inner * _size(dtype)) for _ in range(2))
        launches.append(_reduce(name, dtype, dtype, sizes, cut, True, (totals, x)))
        between = outer, stretches, inner
        launches += scan_launches(name, dtype, between, (1, how[1]), (starts, totals), reserve)
    arguments: tuple[str, ...]
    values: tuple[int, ...]
    if inner == 1:
        tiling = loop_tiling(n, length, _size(dtype), HELD if n % CUDA_VECTOR == 0 else SCANNED)
        kind, arguments, values = "rows", (name, dtype, str(tiling)), (outer, n, *cut, *how)
        count = tiling.blocks(outer * stretches)
    else:
        kind, arguments, values = "columns", (name, dtype), (*sizes, *cut, *how)
        count = _enough(outer * stretches * inner)
    parameters = ["int64"] * len(values) + [f"*{dtype}"] * 3
    kernel = library_kernel("scan", kind, arguments, parameters)
    launches.append(Launch(kernel, max(1, count), threads(), values, (x, starts, out)))
    return launches


MAKERS: dict[str, Callable[[LaunchRow], list[Launch]]] = {
    **dict.fromkeys(("Sum", "Max", "Min", "All", "Any"), _reduction),
    "Mean": _mean,
    "ArgMax": _extreme,
    "ArgMin": _extreme,
    "Cumsum": _cumsum,
}
