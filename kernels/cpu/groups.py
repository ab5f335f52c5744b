"""Runs groups that threads may share: lane groups by block, whole-array kernels by unit."""

from __future__ import annotations

from ..jit import POINTERS, call_array, call_kernel, call_loop, fetch_add, inline, jit
from ..passes.layout import (
    FUSED,
    G_BLOCKS,
    G_BODY,
    G_CODE,
    G_CODE_END,
    G_PARAMETERS,
    G_ROWS,
    G_SIZE,
    G_STRIDE,
    G_WIDTH,
    GROUP,
    PARTIALS,
    PLACES,
    RUN,
    SPREAD,
    STEP,
)
from ..passes.tables import I64, LogColumns, PlanTables, Room, Specs

i8, i16, i32, i64 = (POINTERS[name] for name in ("uint8", "uint16", "uint32", "uint64"))
numbers = POINTERS["int64"]

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
    target: int,
    source: int,
    itemsize: int,
    start: int,
    n: int,
    dims_of: I64,
    rank: int,
    dims: int,
    source_rank: int,
    source_dims: int,
) -> None:
    """Load elements ``start : start + n`` of an array broadcast to another shape.

    Runs of the last axes that the source has completely (contiguous) or not at all (one element)
    are copied together. ``dims`` and ``source_dims`` are the offsets of the shapes in ``dims_of``.
    """
    inner = 1
    inner_one = False
    axes = 0  # of a run
    while axes < rank:
        dim = dims_of[dims + rank - 1 - axes]
        one = axes >= source_rank or dims_of[source_dims + source_rank - 1 - axes] == 1
        if dim != 1:
            if inner == 1:
                inner_one = one
            elif one != inner_one:
                break
            inner *= dim
        axes += 1
    length = 1 if inner_one else inner  # of a run, in the source
    done = 0
    while done < n:
        element = start + done
        column = element % inner
        rest = element // inner
        offset = 0
        stride = length
        for back in range(axes + 1, source_rank + 1):
            axis = rank - back
            index = rest % dims_of[dims + axis]
            rest //= dims_of[dims + axis]
            dim = dims_of[source_dims + source_rank - back]
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
def address(log: LogColumns, cells: int, size: int, row: int) -> int:
    """The address of a row's value: its cell for one element, else its buffer."""
    return cells + 8 * row if size == 1 else log.cell[row]


@inline
def _place(
    ref: int,
    row: int,
    log: LogColumns,
    cells: int,
    specs: Specs,
    room: Room,
    stride: int,
    width: int,
    at: int,
) -> None:
    """Write the start of an operand or output of ``row``, and its step per block, to ``at``."""
    place = numbers(at)
    if ref >= PARTIALS:
        place[0] = room.partials + ref - PARTIALS
        place[1] = width // RUN * specs.item[log.spec[row]]
    elif ref >= 0:
        place[0] = room.scratch + ref * stride
        place[1] = 0
    else:
        place[0] = address(log, cells, specs.size[log.spec[~ref]], ~ref)
        place[1] = width * specs.item[log.spec[~ref]]


@inline
def count_blocks(plan: PlanTables, g: int) -> int:
    """The number of blocks of a lane group."""
    width = plan.groups[GROUP * g + G_WIDTH]
    return (plan.groups[GROUP * g + G_SIZE] + width - 1) // width


@jit
def prepare(
    log: LogColumns, cells: int, specs: Specs, plan: PlanTables, g: int, room: Room
) -> None:
    """Fill a thread's slots and places, before it runs blocks of a lane group."""
    groups, program = plan.groups, plan.program
    begin = groups[GROUP * g + G_CODE]
    body = groups[GROUP * g + G_BODY]
    end = groups[GROUP * g + G_CODE_END]
    width = groups[GROUP * g + G_WIDTH]
    stride = groups[GROUP * g + G_STRIDE]
    for k in range(begin, body):
        source = program[STEP * k + 2]
        splat(
            room.scratch + program[STEP * k + 1] * stride,
            address(log, cells, specs.size[log.spec[source]], source),
            specs.item[log.spec[source]],
            width,
        )
    at_row = groups[GROUP * g + G_ROWS]
    for k in range(body, end):
        row = plan.order[at_row]
        for j in range(4):
            at = room.places + 64 * (k - body) + 16 * j
            if program[STEP * k] == FUSED or (program[STEP * k] == SPREAD and j > 0):
                continue
            _place(program[STEP * k + 1 + j], row, log, cells, specs, room, stride, width, at)
        at_row += program[STEP * k] > PLACES


@jit
def run_blocks(
    log: LogColumns,
    cells: int,
    specs: Specs,
    plan: PlanTables,
    g: int,
    room: Room,
    first: int,
    last: int,
) -> None:
    """Run blocks ``first : last`` of a lane group, after `prepare` in this thread."""
    groups, program = plan.groups, plan.program
    body = groups[GROUP * g + G_BODY]
    end = groups[GROUP * g + G_CODE_END]
    size = groups[GROUP * g + G_SIZE]
    width = groups[GROUP * g + G_WIDTH]
    for block in range(first, last):
        start = block * width
        n = min(width, size - start)
        k = body
        while k < end:
            at = room.places + 64 * (k - body)
            place = numbers(at)
            kernel = program[STEP * k]
            if kernel == FUSED:
                done = call_loop(program[STEP * k + 1], at + 64, block, n) == 0
                # After PLACES come the instructions that do the same one by one.
                k += program[STEP * k + 2] + (program[STEP * k + 3] if done else 0)
            elif kernel == SPREAD:
                source = program[STEP * k + 2]
                target = program[STEP * k + 3]
                spread(
                    place[0],
                    address(log, cells, specs.size[log.spec[source]], source),
                    specs.item[log.spec[source]],
                    start,
                    n,
                    specs.dims,
                    specs.rank[log.spec[target]],
                    MAX_RANK * log.spec[target],
                    specs.rank[log.spec[source]],
                    MAX_RANK * log.spec[source],
                )
            else:
                call_kernel(
                    kernel,
                    place[0] + block * place[1],
                    place[2] + block * place[3],
                    place[4] + block * place[5],
                    place[6] + block * place[7],
                    n,
                )
            k += 1


@jit
def lanes(
    log: LogColumns, cells: int, specs: Specs, plan: PlanTables, g: int, room: Room, chunk: int
) -> int:
    """Run blocks of a lane group, ``chunk`` at a time, until the counter has passed the last one.

    Several threads may share a group, each with separate slots and offsets. The counter is the
    number of the next block.
    """
    if plan.groups[GROUP * g + G_SIZE] == 0:
        return 0
    prepare(log, cells, specs, plan, g, room)
    blocks = count_blocks(plan, g)
    first = fetch_add(room.counter, chunk)
    while first < blocks:
        run_blocks(log, cells, specs, plan, g, room, first, min(first + chunk, blocks))
        first = fetch_add(room.counter, chunk)
    return 0


@jit
def units(
    function: int,
    out: int,
    x: int,
    y: int,
    z: int,
    parameters: int,
    total: int,
    counter: int,
    chunk: int,
) -> int:
    """Run a whole-array kernel on ``chunk`` units at a time until ``counter`` reaches ``total``."""
    first = fetch_add(counter, chunk)
    while first < total:
        call_array(function, out, x, y, z, parameters, first, min(first + chunk, total))
        first = fetch_add(counter, chunk)
    return 0


@jit
def run_array_kernels(
    log: LogColumns,
    cells: int,
    specs: Specs,
    plan: PlanTables,
    g: int,
    both: int,
    room: Room,
    chunk: int,
) -> int:
    """Run `units` of a group that is one whole-array kernel.

    If ``both``, the next group is computed as well: the same thread runs the G_BLOCKS blocks that
    read the result of a unit directly after it, while the result is in cache.
    """
    groups, program, counter = plan.groups, plan.program, room.counter
    code = groups[GROUP * g + G_CODE]
    inputs = groups[GROUP * g + G_CODE_END] - code
    row = plan.order[groups[GROUP * g + G_ROWS]]
    x = program[STEP * code + 1]
    y = program[STEP * (code + 1) + 1] if inputs > 1 else x
    z = program[STEP * (code + 2) + 1] if inputs > 2 else x
    function, parameters = program[STEP * code], groups[GROUP * g + G_PARAMETERS]
    total, each = groups[GROUP * g + G_WIDTH], groups[GROUP * g + G_BLOCKS]
    out_at = address(log, cells, specs.size[log.spec[row]], row)
    x_at = address(log, cells, specs.size[log.spec[x]], x)
    y_at = address(log, cells, specs.size[log.spec[y]], y)
    z_at = address(log, cells, specs.size[log.spec[z]], z)
    if both == 0:
        return units(function, out_at, x_at, y_at, z_at, parameters, total, counter, chunk)
    prepare(log, cells, specs, plan, g + 1, room)
    blocks = count_blocks(plan, g + 1)
    unit = fetch_add(counter, 1)
    while unit < total:
        call_array(function, out_at, x_at, y_at, z_at, parameters, unit, unit + 1)
        run_blocks(
            log,
            cells,
            specs,
            plan,
            g + 1,
            room,
            min(unit * each, blocks),
            min((unit + 1) * each, blocks),
        )
        unit = fetch_add(counter, 1)
    return 0
