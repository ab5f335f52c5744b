"""Runs groups that threads may share: lane groups by block, whole-array kernels by unit."""

from __future__ import annotations

from ..constants import MAX_RANK
from ..jit import POINTERS, call_array, call_kernel, call_loop, fetch_add, inline, jit, loop
from ..passes.layout import (
    BROADCAST,
    FIRST_ELEMENT,
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
    LINES,
    MANY_UNITS,
    NUMBER,
    PARTIALS,
    PLACES,
    RUN,
    STEP,
)
from ..passes.tables import LogColumns, PlanTables, Specs, ThreadMemory
from .broadcast import load_broadcast

u8, u16, u32, u64 = (POINTERS[name] for name in ("uint8", "uint16", "uint32", "uint64"))
i64 = POINTERS["int64"]


@loop
def splat(target: int, source: int, itemsize: int, n: int) -> None:
    """Fill ``n`` elements at address ``target`` with the one at ``source``."""
    if itemsize == 4:
        value4 = u32(source)[0]
        out4 = u32(target)
        for i in range(n):
            out4[i] = value4
    elif itemsize == 8:
        value8 = u64(source)[0]
        out8 = u64(target)
        for i in range(n):
            out8[i] = value8
    elif itemsize == 1:
        value1 = u8(source)[0]
        out1 = u8(target)
        for i in range(n):
            out1[i] = value1
    else:
        value2 = u16(source)[0]
        out2 = u16(target)
        for i in range(n):
            out2[i] = value2


@loop
def copy(target: int, source: int, itemsize: int, n: int) -> None:
    """Copy ``n`` elements."""
    if itemsize == 4:
        for i in range(n):
            u32(target)[i] = u32(source)[i]
    elif itemsize == 8:
        for i in range(n):
            u64(target)[i] = u64(source)[i]
    elif itemsize == 1:
        for i in range(n):
            u8(target)[i] = u8(source)[i]
    else:
        for i in range(n):
            u16(target)[i] = u16(source)[i]


@inline
def value_address(log: LogColumns, cells: int, size: int, row: int) -> int:
    """The address of a row's value: its cell for one element, else its buffer."""
    return cells + 8 * row if size == 1 else log.cell[row]


@inline
def _write_place(
    ref: int,
    row: int,
    log: LogColumns,
    cells: int,
    specs: Specs,
    memory: ThreadMemory,
    stride: int,
    width: int,
    size: int,
    target: int,
) -> None:
    """Write the start of an operand or output of ``row``, and its step per block, to ``target``.

    The group has ``size`` elements; an output may have one for several of them.
    """
    place = i64(target)
    if ref >= FIRST_ELEMENT:
        place[0] = 0
        place[1] = width
    elif ref >= LINES:
        place[0] = memory.partials + ref - LINES
        place[1] = 0
    elif ref >= NUMBER:
        place[0] = ref - NUMBER
        place[1] = 0
    elif ref >= PARTIALS:
        place[0] = memory.partials + ref - PARTIALS
        place[1] = width // RUN * specs.item[log.spec[row]]
    elif ref >= 0:
        place[0] = memory.scratch + ref * stride
        place[1] = 0
    else:
        spec = log.spec[~ref]
        place[0] = value_address(log, cells, specs.size[spec], ~ref)
        place[1] = width * specs.size[spec] // max(size, 1) * specs.item[spec]


@inline
def count_blocks(plan: PlanTables, g: int) -> int:
    """The number of blocks of a lane group."""
    width = plan.groups[GROUP * g + G_WIDTH]
    return (plan.groups[GROUP * g + G_SIZE] + width - 1) // width


@jit
def prepare(
    log: LogColumns, cells: int, specs: Specs, plan: PlanTables, g: int, memory: ThreadMemory
) -> None:
    """Fill a thread's slots and places, before it runs blocks of a lane group."""
    groups, program = plan.groups, plan.program
    begin = groups[GROUP * g + G_CODE]
    body = groups[GROUP * g + G_BODY]
    end = groups[GROUP * g + G_CODE_END]
    width = groups[GROUP * g + G_WIDTH]
    stride = groups[GROUP * g + G_STRIDE]
    size = groups[GROUP * g + G_SIZE]
    for k in range(begin, body):
        source = program[STEP * k + 2]
        splat(
            memory.scratch + program[STEP * k + 1] * stride,
            value_address(log, cells, specs.size[log.spec[source]], source),
            specs.item[log.spec[source]],
            width,
        )
    row_position = groups[GROUP * g + G_ROWS]
    for k in range(body, end):
        row = plan.order[row_position]
        for j in range(4):
            place_address = memory.places + 64 * (k - body) + 16 * j
            if program[STEP * k] == FUSED or (program[STEP * k] == BROADCAST and j > 0):
                continue
            _write_place(
                program[STEP * k + 1 + j],
                row,
                log,
                cells,
                specs,
                memory,
                stride,
                width,
                size,
                place_address,
            )
        row_position += program[STEP * k] > PLACES


@jit
def run_blocks(
    log: LogColumns,
    cells: int,
    specs: Specs,
    plan: PlanTables,
    g: int,
    memory: ThreadMemory,
    first_block: int,
    end_block: int,
) -> None:
    """Run blocks ``first_block : end_block`` of a lane group, after `prepare` in this thread."""
    groups, program = plan.groups, plan.program
    body = groups[GROUP * g + G_BODY]
    end = groups[GROUP * g + G_CODE_END]
    size = groups[GROUP * g + G_SIZE]
    width = groups[GROUP * g + G_WIDTH]
    for block in range(first_block, end_block):
        start = block * width
        n = min(width, size - start)
        k = body
        while k < end:
            place_address = memory.places + 64 * (k - body)
            place = i64(place_address)
            kernel = program[STEP * k]
            if kernel == FUSED:
                is_done = call_loop(program[STEP * k + 1], place_address + 64, block, n) == 0
                # After PLACES come the instructions that do the same one by one.
                k += program[STEP * k + 2] + (program[STEP * k + 3] if is_done else 0)
            elif kernel == BROADCAST:
                source = program[STEP * k + 2]
                target = program[STEP * k + 3]
                load_broadcast(
                    place[0],
                    value_address(log, cells, specs.size[log.spec[source]], source),
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
def run_lane_group(
    log: LogColumns,
    cells: int,
    specs: Specs,
    plan: PlanTables,
    g: int,
    memory: ThreadMemory,
    chunk: int,
) -> int:
    """Run blocks of a lane group, ``chunk`` at a time, until the counter has passed the last one.

    Several threads may share a group, each with separate slots and offsets. The counter is the
    number of the next block. Chunks are multiples of G_PARAMETERS blocks, or of one.
    """
    if plan.groups[GROUP * g + G_SIZE] == 0:
        return 0
    unit = max(plan.groups[GROUP * g + G_PARAMETERS], 1)
    chunk = (chunk + unit - 1) // unit * unit
    prepare(log, cells, specs, plan, g, memory)
    blocks = count_blocks(plan, g)
    first_block = fetch_add(memory.counter, chunk)
    while first_block < blocks:
        run_blocks(
            log, cells, specs, plan, g, memory, first_block, min(first_block + chunk, blocks)
        )
        first_block = fetch_add(memory.counter, chunk)
    return 0


@jit
def run_units(
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
    first_unit = fetch_add(counter, chunk)
    while first_unit < total:
        call_array(function, out, x, y, z, parameters, first_unit, min(first_unit + chunk, total))
        first_unit = fetch_add(counter, chunk)
    return 0


@jit
def run_array_kernels(
    log: LogColumns,
    cells: int,
    specs: Specs,
    plan: PlanTables,
    g: int,
    with_next_group: int,
    memory: ThreadMemory,
    chunk: int,
) -> int:
    """Run `run_units` of a group that is one whole-array kernel.

    ``with_next_group`` says whether to compute the next group as well: after each unit, the same
    thread runs the G_BLOCKS blocks that read its result, while the result is in cache.
    """
    groups, program, counter = plan.groups, plan.program, memory.counter
    code = groups[GROUP * g + G_CODE]
    inputs = groups[GROUP * g + G_CODE_END] - code
    row = plan.order[groups[GROUP * g + G_ROWS]]
    x = program[STEP * code + 1]
    y = program[STEP * (code + 1) + 1] if inputs > 1 else x
    z = program[STEP * (code + 2) + 1] if inputs > 2 else x
    function, parameters = program[STEP * code], groups[GROUP * g + G_PARAMETERS]
    total, blocks_per_unit = groups[GROUP * g + G_WIDTH], groups[GROUP * g + G_BLOCKS]
    out_at = value_address(log, cells, specs.size[log.spec[row]], row)
    x_at = value_address(log, cells, specs.size[log.spec[x]], x)
    if groups[GROUP * g + G_STRIDE] == MANY_UNITS:
        operands = i64(memory.scratch)
        for j in range(inputs):
            x = program[STEP * (code + j) + 1]
            operands[j] = value_address(log, cells, specs.size[log.spec[x]], x)
        x_at = memory.scratch
    y_at = value_address(log, cells, specs.size[log.spec[y]], y)
    z_at = value_address(log, cells, specs.size[log.spec[z]], z)
    if with_next_group == 0:
        return run_units(function, out_at, x_at, y_at, z_at, parameters, total, counter, chunk)
    prepare(log, cells, specs, plan, g + 1, memory)
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
            memory,
            min(unit * blocks_per_unit, blocks),
            min((unit + 1) * blocks_per_unit, blocks),
        )
        unit = fetch_add(counter, 1)
    return 0
