"""Ops along axes: reductions, places of extreme elements, running sums.

An axis that is too long for the threads that its rows or columns keep busy is cut into stretches.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...values.dtypes import as_dtype
from ..launches import Launch, Room, Row, blocks, loaded, most_blocks, threads, written_out
from ..text import filled, stored

SHORTEST = 64  # elements of a column that are worth a thread of their own
ROUNDS = 4  # of a block, that are worth a block of their own
ROW = 32  # elements of a row up to which a thread takes it, as a column

Sizes = tuple[int, int, int]  # outer, n, inner: the axis in the middle, and the others


def _by_rows(sizes: Sizes) -> bool:
    """Whether a block takes a row, or a thread a column."""
    return sizes[2] == 1 and sizes[1] > ROW


def _stretches(sizes: Sizes) -> int:
    """Among how many threads, or blocks, to share a column, or row, to keep the GPU busy."""
    outer, n, inner = sizes
    if _by_rows(sizes):
        return max(1, min(n // (ROUNDS * threads()), most_blocks() // max(1, outer)))
    return max(1, min(n // SHORTEST, most_blocks() * threads() // max(1, outer * inner)))


def _launch(
    module: str, arguments: tuple[str, ...], sizes: Sizes, middle: tuple[int, ...],
    stretches: int, dtypes: tuple[str, ...], places: tuple[int, ...],
) -> Launch:  # fmt: skip
    """A launch of a module's ``rows`` or ``columns``."""
    outer, n, inner = sizes
    if _by_rows(sizes):
        kind, values, units = "rows", (outer, n, *middle), outer * stretches * threads()
    else:
        kind, values, units = "columns", (*sizes, *middle), outer * stretches * inner
    parameters = ["int64"] * len(values) + [f"*{dtype}" for dtype in dtypes]
    made = loaded(module, kind, arguments, parameters)
    return Launch(made, blocks(units), threads(), values, places)


# Reductions.


def along(
    name: str, dtype: str, given: str, sizes: Sizes, places: tuple[int, int], room: Room
) -> list[Launch]:
    """The reduction of (outer, n, inner) of dtype ``given`` to (outer, inner) of ``dtype``."""
    outer, _, inner = sizes
    out, x = places
    stretches = _stretches(sizes)
    if stretches == 1:
        return [_launch("reduce", (name, dtype), sizes, (1,), 1, (given, dtype), (x, out))]
    between = room(outer * stretches * inner * _size(dtype))
    first = _launch("reduce", (name, dtype), sizes, (stretches,), stretches, (given, dtype),
                    (x, between))  # fmt: skip
    rest = outer, stretches, inner
    return [first, *along(name, dtype, dtype, rest, (out, between), room)]


def _size(dtype: str) -> int:
    return as_dtype(dtype).size


def _reduced(
    name: str, dtype: str, given: str, shape: tuple[int, ...], axes: tuple[int, ...],
    places: tuple[int, int], room: Room,
) -> list[Launch]:  # fmt: skip
    """A reduction over axes: neighbours at once, the last ones first."""
    found: list[Launch] = []
    out, x = places
    while axes:
        first = last = axes[-1]
        while first - 1 in axes:
            first -= 1
        parts = shape[:first], shape[first : last + 1], shape[last + 1 :]
        sizes = math.prod(parts[0]), math.prod(parts[1]), math.prod(parts[2])
        axes = tuple(axis for axis in axes if axis < first)
        shape = parts[0] + parts[2]
        there = room(math.prod(shape) * _size(dtype)) if axes else out
        found += along(name, dtype, given, sizes, (there, x), room)
        x, given = there, dtype
    return found


def _reduction(row: Row) -> list[Launch]:
    (x,), dtype = row.operands, stored(row.out.dtype)
    name = row.op.body or {"All": "min", "Any": "max"}[row.op.name]
    if row.op.name == "All" and not x.size:  # the smallest of no bytes is 255
        return [written_out(filled(dtype, "1"), "fill", dtype, row.out.size, row.places)]
    out, source = row.places
    return _reduced(
        name, dtype, dtype, tuple(x.shape), row.attributes["axes"], (out, source), row.room
    )


def _mean(row: Row) -> list[Launch]:
    """The mean of integers, by way of their sum."""
    (x,), dtype = row.operands, stored(row.out.dtype)
    out, source = row.places
    total = row.room(8 * row.out.size)
    wide = "uint64" if dtype == "uint64" else "int64"
    found = _reduced(
        "sum", wide, dtype, tuple(x.shape), row.attributes["axes"], (total, source), row.room
    )
    made = loaded("reduce", "mean", (dtype,), ["int64", "int64", f"*{wide}", f"*{dtype}"])
    sizes = row.out.size, max(1, x.size // row.out.size)
    return [*found, Launch(made, blocks(row.out.size), threads(), sizes, (total, out))]


def _along_one(row: Row) -> Sizes:
    """(outer, n, inner) of the operand, for the axis that the op names."""
    shape, axis = row.operands[0].shape, row.attributes["axis"]
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


# Places of extreme elements.


def _extreme(row: Row) -> list[Launch]:
    """Candidates of each stretch, then candidates among these, until there is one."""
    name = {"ArgMax": "max", "ArgMin": "min"}[row.op.name]
    dtype = stored(row.operands[0].dtype)
    sizes = outer, many, inner = _along_one(row)
    out, x = row.places
    found: list[Launch] = []
    among = x  # not read
    while True:
        stretches = _stretches((outer, many, inner))
        last = stretches == 1
        there = out if last else row.room(8 * outer * stretches * inner)
        kind = row.out.dtype.name if last else "int64"
        found.append(_launch("extreme", (name, dtype), sizes, (many, stretches), stretches,
                             (dtype, "int64", kind), (x, among, there)))  # fmt: skip
        if last:
            return found
        many, among = stretches, there


# Running sums.


def _cumsum(row: Row) -> list[Launch]:
    dtype = stored(row.out.dtype)
    name = "max" if row.out.dtype.is_bool else "sum"  # NumPy adds bools to bools
    how = int(row.attributes["exclusive"]), int(row.attributes["reverse"])
    out, x = row.places
    return scanned(name, dtype, _along_one(row), how, (out, x), row.room)


def scanned(
    name: str, dtype: str, sizes: Sizes, how: tuple[int, int], places: tuple[int, int], room: Room
) -> list[Launch]:
    """Running sums along the middle axis; ``how`` says whether exclusive, and whether reverse.

    Of several stretches, what they sum up to is scanned first: that is where each begins.
    """
    outer, _, inner = sizes
    out, x = places
    stretches = _stretches(sizes)
    found: list[Launch] = []
    starts = out  # not read
    if stretches > 1:
        totals, starts = (room(outer * stretches * inner * _size(dtype)) for _ in range(2))
        found.append(_launch("reduce", (name, dtype), sizes, (stretches,), stretches,
                             (dtype, dtype), (x, totals)))  # fmt: skip
        between = outer, stretches, inner
        found += scanned(name, dtype, between, (1, how[1]), (starts, totals), room)
    found.append(_launch("scan", (name, dtype), sizes, (stretches, *how), stretches,
                         (dtype,) * 3, (x, starts, out)))  # fmt: skip
    return found


MAKERS: dict[str, Callable[[Row], list[Launch]]] = {
    **dict.fromkeys(("Sum", "Max", "Min", "All", "Any"), _reduction), "Mean": _mean,
    "ArgMax": _extreme, "ArgMin": _extreme, "Cumsum": _cumsum,
}  # fmt: skip
