"""The CPU's interpreter: scalar groups row by row, lane groups block by block."""

from __future__ import annotations

from typing import Any

from ..jit import POINTERS, call_kernel, inline, jit
from ..log.layout import (
    G_BODY,
    G_CODE,
    G_CODE_END,
    G_KIND,
    G_ROWS,
    G_ROWS_END,
    G_SIZE,
    G_WIDTH,
    GROUP,
    LANES,
    SCALARS,
    SHARED,
    SPREAD,
    STEP,
)
from ..log.rows import SEEN, VALUE

i8, i16, i32, i64 = (POINTERS[name] for name in ("uint8", "uint16", "uint32", "uint64"))

MAX_RANK = 8


@jit
def splat(target: int, source: int, itemsize: int, n: int) -> None:
    """Fill ``n`` elements at address ``target`` with the one at ``source``."""
    if itemsize == 4:
        value4 = i32(source)[0]
        out4 = i32(target)
        for i in range(n):
            out4[i] = value4
    elif itemsize == 8:
        value8 = i64(source)[0]
        out8 = i64(target)
        for i in range(n):
            out8[i] = value8
    elif itemsize == 1:
        value1 = i8(source)[0]
        out1 = i8(target)
        for i in range(n):
            out1[i] = value1
    else:
        value2 = i16(source)[0]
        out2 = i16(target)
        for i in range(n):
            out2[i] = value2


@inline
def copy(target: int, source: int, itemsize: int, n: int) -> None:
    """Copy ``n`` elements."""
    if itemsize == 4:
        for i in range(n):
            i32(target)[i] = i32(source)[i]
    elif itemsize == 8:
        for i in range(n):
            i64(target)[i] = i64(source)[i]
    elif itemsize == 1:
        for i in range(n):
            i8(target)[i] = i8(source)[i]
    else:
        for i in range(n):
            i16(target)[i] = i16(source)[i]


@jit
def spread(
    target: int, source: int, itemsize: int, start: int, n: int,
    spec_dims: Any, rank: int, dims: int, source_rank: int, source_dims: int,
) -> None:
    """Load elements ``start : start + n`` of an array broadcast to another shape.

    Runs of the last axis of the source (contiguous or one element) are copied whole.
    ``dims`` and ``source_dims`` say where the two shapes start in ``spec_dims``.
    """
    inner = spec_dims[dims + rank - 1]
    inner_one = source_rank == 0 or spec_dims[source_dims + source_rank - 1] == 1
    done = 0
    while done < n:
        element = start + done
        column = element % inner
        rest = element // inner
        offset = 0
        stride = 1
        if not inner_one:
            stride = spec_dims[source_dims + source_rank - 1]
        for back in range(2, source_rank + 1):
            axis = rank - back
            index = rest % spec_dims[dims + axis]
            rest //= spec_dims[dims + axis]
            dim = spec_dims[source_dims + source_rank - back]
            if dim != 1:
                offset += index * stride
                stride *= dim
        run = min(inner - column, n - done)
        if inner_one:
            splat(target + done * itemsize, source + offset * itemsize, itemsize, run)
        else:
            copy(target + done * itemsize, source + (offset + column) * itemsize, itemsize, run)
        done += run


@inline
def address(cell: Any, cells: int, size: int, row: int) -> int:
    """Where the value of ``row`` is: its cell for one element, the buffer else."""
    return cells + 8 * row if size == 1 else cell[row]


@jit
def run_lanes(
    spec: Any, cell: Any, cells: int, spec_size: Any, spec_item: Any, spec_rank: Any,
    spec_dims: Any, program: Any, begin: int, body: int, end: int, size: int, width: int,
    scratch: int, places: Any,
) -> None:
    """Run one lane group block by block; slots lie in ``scratch``, ``8 * width`` bytes each.

    ``places`` (8 an instruction) is scratch: address and step in bytes a block, for the output
    and up to three operands.
    """
    stride = 8 * width
    for k in range(begin, body):
        source = program[STEP * k + 2]
        splat(
            scratch + program[STEP * k + 1] * stride,
            address(cell, cells, spec_size[spec[source]], source),
            spec_item[spec[source]], width,
        )
    for k in range(body, end):
        at = k - body
        for j in range(4):
            ref = program[STEP * k + 1 + j]
            if program[STEP * k] == SPREAD and j > 0:
                continue
            if ref >= 0:
                places[8 * at + 2 * j] = scratch + ref * stride
                places[8 * at + 2 * j + 1] = 0
            else:
                row = ~ref
                places[8 * at + 2 * j] = address(cell, cells, spec_size[spec[row]], row)
                places[8 * at + 2 * j + 1] = width * spec_item[spec[row]]
    block = 0
    start = 0
    while start < size:
        n = min(width, size - start)
        for k in range(body, end):
            at = k - body
            kernel = program[STEP * k]
            out = places[8 * at] + block * places[8 * at + 1]
            if kernel == SPREAD:
                source = program[STEP * k + 2]
                target = program[STEP * k + 3]
                spread(
                    out, address(cell, cells, spec_size[spec[source]], source),
                    spec_item[spec[source]], start, n,
                    spec_dims, spec_rank[spec[target]], MAX_RANK * spec[target],
                    spec_rank[spec[source]], MAX_RANK * spec[source],
                )
            else:
                call_kernel(
                    kernel, out,
                    places[8 * at + 2] + block * places[8 * at + 3],
                    places[8 * at + 4] + block * places[8 * at + 5],
                    places[8 * at + 6] + block * places[8 * at + 7], n,
                )
        block += 1
        start += n


@jit
def sweep(
    spec: Any, cell: Any, state: Any, cells: int,
    spec_size: Any, spec_item: Any, spec_rank: Any, spec_dims: Any,
    order: Any, escape: Any, groups: Any, begin_group: int, found: int, program: Any,
    scratch: int, arena: int, places: Any,
) -> int:
    """Run groups from ``begin_group`` on, up to one that needs a whole-array kernel.

    ``cells`` is the address of ``cell``, ``scratch`` of the slots, ``arena`` of the temporaries.
    Returns the group where it stopped, or ``found``.
    """
    for g in range(begin_group, found):
        kind = groups[GROUP * g + G_KIND]
        begin = groups[GROUP * g + G_ROWS]
        end = groups[GROUP * g + G_ROWS_END]
        if kind == SCALARS:
            for k in range(groups[GROUP * g + G_CODE], groups[GROUP * g + G_CODE_END]):
                call_kernel(
                    program[STEP * k], cells + 8 * program[STEP * k + 1],
                    cells + 8 * program[STEP * k + 2], cells + 8 * program[STEP * k + 3],
                    cells + 8 * program[STEP * k + 4], 1,
                )
        elif kind == LANES:
            for k in range(begin, end):
                if escape[order[k]] == 1:
                    cell[order[k]] += arena
            run_lanes(
                spec, cell, cells, spec_size, spec_item, spec_rank, spec_dims, program,
                groups[GROUP * g + G_CODE], groups[GROUP * g + G_BODY],
                groups[GROUP * g + G_CODE_END], groups[GROUP * g + G_SIZE],
                groups[GROUP * g + G_WIDTH], scratch, places,
            )
        elif kind == SHARED:
            cell[order[begin]] = cell[program[STEP * groups[GROUP * g + G_CODE] + 1]]
            if spec_size[spec[order[begin]]] != 1:
                continue  # whoever keeps the buffer alive says when there is a value
        else:
            return g
        for k in range(begin, end):
            state[order[k]] = VALUE if escape[order[k]] == 2 else SEEN
    return found
