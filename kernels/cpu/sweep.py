"""The CPU's interpreter: groups of small rows row by row, lane groups block by block."""

from __future__ import annotations

from ..jit import POINTERS, call_array, call_kernel, call_loop, fetch_add, inline, jit
from ..passes.layout import (
    CALLED,
    COPIED,
    COUNT,
    FUSED,
    G_BODY,
    G_CODE,
    G_CODE_END,
    G_KIND,
    G_PARAMETERS,
    G_ROWS,
    G_ROWS_END,
    G_SIZE,
    G_STRIDE,
    G_WIDTH,
    GROUP,
    KEPT,
    LANES,
    PARTIALS,
    PLACES,
    RUN,
    SHARED,
    SMALL,
    SPLAT,
    SPREAD,
    STEP,
    TEMPORARY,
)
from ..passes.records import I64, Log, Plan, Room, Specs
from ..passes.rows import SEEN, VALUE

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
    target: int, source: int, itemsize: int, start: int, n: int,
    dims_of: I64, rank: int, dims: int, source_rank: int, source_dims: int,
) -> None:
    """Load elements ``start : start + n`` of an array broadcast to another shape.

    Runs of the last axis of the source (contiguous or one element) are copied whole.
    ``dims`` and ``source_dims`` say where the two shapes start in ``dims_of``.
    """
    inner = dims_of[dims + rank - 1]
    inner_one = source_rank == 0 or dims_of[source_dims + source_rank - 1] == 1
    done = 0
    while done < n:
        element = start + done
        column = element % inner
        rest = element // inner
        offset = 0
        stride = 1
        if not inner_one:
            stride = dims_of[source_dims + source_rank - 1]
        for back in range(2, source_rank + 1):
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
def address(log: Log, cells: int, size: int, row: int) -> int:
    """Where the value of ``row`` is: its cell for one element, the buffer else."""
    return cells + 8 * row if size == 1 else log.cell[row]


@inline
def _place(
    ref: int, row: int, log: Log, cells: int, specs: Specs, room: Room,
    stride: int, width: int, at: int,
) -> None:
    """Put where an operand or output of ``row`` begins, and its step a block, at address ``at``."""
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


@jit
def lanes(
    log: Log, cells: int, specs: Specs, plan: Plan, g: int, room: Room, chunk: int
) -> int:
    """Run blocks of a lane group, ``chunk`` at a time, until the counter says that none is left.

    Several threads may do so at once, each with slots and places of its own. The counter is the
    number of the next block.
    """
    groups, program = plan.groups, plan.program
    begin = groups[GROUP * g + G_CODE]
    body = groups[GROUP * g + G_BODY]
    end = groups[GROUP * g + G_CODE_END]
    size = groups[GROUP * g + G_SIZE]
    width = groups[GROUP * g + G_WIDTH]
    if size == 0:
        return 0
    stride = groups[GROUP * g + G_STRIDE]
    for k in range(begin, body):
        source = program[STEP * k + 2]
        splat(
            room.scratch + program[STEP * k + 1] * stride,
            address(log, cells, specs.size[log.spec[source]], source),
            specs.item[log.spec[source]], width,
        )
    at_row = groups[GROUP * g + G_ROWS]
    for k in range(body, end):
        row = plan.order[at_row]
        for j in range(4):
            at = room.places + 64 * (k - body) + 16 * j
            if program[STEP * k] == FUSED or (program[STEP * k] == SPREAD and j > 0):
                continue
            _place(
                program[STEP * k + 1 + j], row, log, cells, specs, room, stride, width, at
            )
        at_row += program[STEP * k] > PLACES
    blocks = (size + width - 1) // width
    first = fetch_add(room.counter, chunk)
    while first < blocks:
        for block in range(first, min(first + chunk, blocks)):
            start = block * width
            n = min(width, size - start)
            k = body
            while k < end:
                at = room.places + 64 * (k - body)
                place = numbers(at)
                kernel = program[STEP * k]
                if kernel == FUSED:
                    done = call_loop(program[STEP * k + 1], at + 64, block, n) == 0
                    # Behind the places are the instructions that do the same one by one.
                    k += program[STEP * k + 2] + (program[STEP * k + 3] if done else 0)
                elif kernel == SPREAD:
                    source = program[STEP * k + 2]
                    target = program[STEP * k + 3]
                    spread(
                        place[0], address(log, cells, specs.size[log.spec[source]], source),
                        specs.item[log.spec[source]], start, n,
                        specs.dims, specs.rank[log.spec[target]], MAX_RANK * log.spec[target],
                        specs.rank[log.spec[source]], MAX_RANK * log.spec[source],
                    )
                else:
                    call_kernel(
                        kernel, place[0] + block * place[1], place[2] + block * place[3],
                        place[4] + block * place[5], place[6] + block * place[7], n,
                    )
                k += 1
        first = fetch_add(room.counter, chunk)
    return 0


@inline
def _combine(cells: int, plan: Plan, g: int, partials: int) -> None:
    """Combine the partial results of a lane group's reductions, run by run, until one is left."""
    groups, program = plan.groups, plan.program
    runs = (groups[GROUP * g + G_SIZE] + RUN - 1) // RUN
    row = groups[GROUP * g + G_ROWS]
    for k in range(groups[GROUP * g + G_BODY], groups[GROUP * g + G_CODE_END]):
        if program[STEP * k] <= PLACES:
            continue
        if program[STEP * k + 1] >= PARTIALS:
            kernel = program[STEP * k]
            found = partials + program[STEP * k + 1] - PARTIALS
            left = runs
            while left > 1:
                call_kernel(kernel, found, found, 0, 0, left)
                left = (left + RUN - 1) // RUN
            # What there is none of is still a sum: the kernel knows which.
            call_kernel(kernel, cells + 8 * plan.order[row], found, 0, 0, left)
        row += 1


@inline
def _at(ref: int, log: Log, cells: int, room: Room) -> int:
    """The address of an operand or output of a small row; see PARTIALS."""
    if ref < 0:
        return log.cell[~ref]
    return cells + 8 * ref if ref < PARTIALS else room.scratch + ref - PARTIALS


@jit
def small_rows(
    log: Log, cells: int, specs: Specs, program: I64, begin: int, end: int, room: Room
) -> None:
    """Run the instructions of a group of small rows, one after the other."""
    k = begin
    while k < end:
        at = STEP * k
        kernel = program[at]
        if kernel >= COUNT:
            call_kernel(
                kernel % COUNT, _at(program[at + 1], log, cells, room),
                _at(program[at + 2], log, cells, room), _at(program[at + 3], log, cells, room),
                _at(program[at + 4], log, cells, room), kernel // COUNT,
            )
        elif kernel == FUSED:
            done = call_loop(program[at + 1], cells, program[at + 4], 1) == 0
            k += program[at + 2] + (program[at + 3] if done else 0)
        elif kernel == SPLAT:
            source = program[at + 2]
            splat(
                room.scratch + program[at + 1], cells + 8 * source, specs.item[log.spec[source]],
                program[at + 4],
            )
        elif kernel == SPREAD:
            source, target = program[at + 2], program[at + 3]
            spread(
                room.scratch + program[at + 1], log.cell[source], specs.item[log.spec[source]],
                0, program[at + 4], specs.dims, specs.rank[log.spec[target]],
                MAX_RANK * log.spec[target], specs.rank[log.spec[source]],
                MAX_RANK * log.spec[source],
            )
        elif kernel == COPIED:
            copy(
                _at(program[at + 1], log, cells, room), _at(program[at + 2], log, cells, room), 1,
                program[at + 3],
            )
        elif kernel == CALLED:
            call_array(
                program[at + 1], _at(program[at + 4], log, cells, room),
                _at(program[at + 6], log, cells, room), _at(program[at + 7], log, cells, room),
                _at(program[at + 8], log, cells, room), program[at + 2], 0, program[at + 3],
            )
            k += 1
        else:  # JOINED
            operands = numbers(room.scratch)
            for j in range(program[at + 3]):
                k += j % 4 == 0
                operands[j] = _at(program[STEP * k + 1 + j % 4], log, cells, room)
            call_array(
                program[at + 1], _at(program[at + 4], log, cells, room), room.scratch, 0, 0,
                program[at + 2], 0, 1,
            )
        k += 1


@jit
def sweep(
    log: Log, cells: int, specs: Specs, plan: Plan, begin_group: int, computed: int, found: int,
    room: Room, large: int,
) -> int:
    """Run groups from ``begin_group`` on; the first one has only to be finished if ``computed``.

    ``cells`` is the address of the log's cells. Returns at a group that needs the caller, because
    there is no kernel for it or because it is ``large`` (in elements times instructions) and
    threads may share it; or ``found``.
    """
    order, groups, program = plan.order, plan.groups, plan.program
    for g in range(begin_group, found):
        kind = groups[GROUP * g + G_KIND]
        begin = groups[GROUP * g + G_ROWS]
        end = groups[GROUP * g + G_ROWS_END]
        code = groups[GROUP * g + G_CODE]
        if g > begin_group or computed == 0:
            if kind != SHARED:
                for k in range(begin, end):
                    if plan.kept[k] == TEMPORARY and specs.size[log.spec[order[k]]] != 1:
                        log.cell[order[k]] = room.arena + plan.offset[k]
            if kind == SMALL:
                small_rows(log, cells, specs, program, code, groups[GROUP * g + G_CODE_END], room)
            elif kind == LANES:
                body = groups[GROUP * g + G_BODY]
                steps = groups[GROUP * g + G_CODE_END] - body
                if steps * groups[GROUP * g + G_SIZE] >= large:
                    return g
                i64(room.counter)[0] = 0
                lanes(log, cells, specs, plan, g, room, 1 << 40)
            elif kind == SHARED:
                log.cell[order[begin]] = log.cell[program[STEP * code + 1]]
            else:
                inputs = groups[GROUP * g + G_CODE_END] - code
                if inputs == 0 or program[STEP * code] == 0:
                    return g
                if groups[GROUP * g + G_SIZE] >= large and groups[GROUP * g + G_WIDTH] > 1:
                    return g
                row = order[begin]
                if groups[GROUP * g + G_STRIDE] != 0:  # of any number of operands
                    operands = numbers(room.scratch)
                    for j in range(inputs):
                        x = program[STEP * (code + j) + 1]
                        operands[j] = address(log, cells, specs.size[log.spec[x]], x)
                    operands[inputs] = 0
                    call_array(
                        program[STEP * code], address(log, cells, specs.size[log.spec[row]], row),
                        room.scratch, 0, 0, groups[GROUP * g + G_PARAMETERS], 0, 1,
                    )
                    if operands[inputs] != 0:
                        return g
                    log.state[row] = VALUE if plan.kept[begin] == KEPT else SEEN
                    continue
                x = program[STEP * code + 1]
                y = program[STEP * (code + 1) + 1] if inputs > 1 else x
                z = program[STEP * (code + 2) + 1] if inputs > 2 else x
                call_array(
                    program[STEP * code], address(log, cells, specs.size[log.spec[row]], row),
                    address(log, cells, specs.size[log.spec[x]], x),
                    address(log, cells, specs.size[log.spec[y]], y),
                    address(log, cells, specs.size[log.spec[z]], z),
                    groups[GROUP * g + G_PARAMETERS], 0, groups[GROUP * g + G_WIDTH],
                )
        if kind == LANES:
            _combine(cells, plan, g, room.partials)
        elif kind == SHARED and specs.size[log.spec[order[begin]]] != 1:
            continue  # whoever keeps the buffer alive says when there is a value
        for k in range(begin, end):
            log.state[order[k]] = VALUE if plan.kept[k] == KEPT else SEEN
    return found


@jit
def units(
    function: int, out: int, x: int, y: int, z: int, parameters: int, total: int, counter: int,
    chunk: int,
) -> int:
    """Run a whole-array kernel on ``chunk`` units at a time until ``counter`` has reached all."""
    first = fetch_add(counter, chunk)
    while first < total:
        call_array(function, out, x, y, z, parameters, first, min(first + chunk, total))
        first = fetch_add(counter, chunk)
    return 0
