"""The interpreter of plans on the CPU. Start with `sweep`."""

from __future__ import annotations

from ..constants import MAX_RANK
from ..jit import POINTERS, call_array, call_kernel, call_loop, inline, jit
from ..passes.layout import (
    BROADCAST,
    CALL_FIXED,
    COPY_BYTES,
    COUNT,
    FUSED,
    G_BLOCKS,
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
    LINE_ROWS,
    LINES,
    NUMBER,
    ONE_UNIT,
    PARTIALS,
    PLACES,
    RUN,
    SHARED,
    SMALL,
    SPLAT,
    STEP,
    TEMPORARY,
)
from ..passes.rows import SEEN, VALUE
from ..passes.tables import I64, LogColumns, PlanTables, Specs, ThreadMemory
from .broadcast import load_broadcast
from .groups import (
    copy,
    run_array_kernels,
    run_lane_group,
    splat,
    value_address,
)
from .thread_team import has_helpers, lead

numbers = POINTERS["int64"]

# Work (elements times instructions) that is shared with polling threads: some 0.01 ms.
MIN_SHARED_WORK = 1 << 16
ELEMENTS_PER_UNIT = 4  # of a lane group: they take as long as a unit of whole-array kernels


@inline
def _combine_partials(
    log: LogColumns, cells: int, specs: Specs, plan: PlanTables, g: int, partials: int
) -> None:
    """Combine the partial results of a lane group's reductions, run by run, until one is left."""
    groups, program = plan.groups, plan.program
    runs = (groups[GROUP * g + G_SIZE] + RUN - 1) // RUN
    row = groups[GROUP * g + G_ROWS]
    for k in range(groups[GROUP * g + G_BODY], groups[GROUP * g + G_CODE_END]):
        if program[STEP * k] <= PLACES:
            continue
        if program[STEP * k + 1] >= LINES:
            columns = program[STEP * k + 3] - NUMBER
            rows = groups[GROUP * g + G_SIZE] // columns
            call_kernel(
                program[STEP * k],
                value_address(log, cells, columns, plan.order[row]),
                partials + program[STEP * k + 1] - LINES,
                columns,
                (rows + LINE_ROWS - 1) // LINE_ROWS,
                0,
            )
        elif program[STEP * k + 1] >= PARTIALS:
            kernel = program[STEP * k]
            results = partials + program[STEP * k + 1] - PARTIALS
            n_results = runs
            while n_results > 1:
                call_kernel(kernel, results, results, 0, 0, n_results)
                n_results = (n_results + RUN - 1) // RUN
            # For 0 runs, the kernel writes the value of an empty reduction.
            call_kernel(kernel, cells + 8 * plan.order[row], results, 0, 0, n_results)
        row += 1


@inline
def _operand_address(ref: int, log: LogColumns, cells: int, memory: ThreadMemory) -> int:
    """The address of an operand or output of a small row; see PARTIALS."""
    if ref < 0:
        return log.cell[~ref]
    return cells + 8 * ref if ref < PARTIALS else memory.scratch + ref - PARTIALS


@jit
def run_small_rows(
    log: LogColumns,
    cells: int,
    specs: Specs,
    program: I64,
    begin: int,
    end: int,
    memory: ThreadMemory,
) -> None:
    """Run the instructions of a group of small rows, one after the other."""
    k = begin
    while k < end:
        at = STEP * k
        kernel = program[at]
        if kernel >= COUNT:
            call_kernel(
                kernel % COUNT,
                _operand_address(program[at + 1], log, cells, memory),
                _operand_address(program[at + 2], log, cells, memory),
                _operand_address(program[at + 3], log, cells, memory),
                _operand_address(program[at + 4], log, cells, memory),
                kernel // COUNT,
            )
        elif kernel == FUSED:
            is_done = call_loop(program[at + 1], cells, program[at + 4], 1) == 0
            k += program[at + 2] + (program[at + 3] if is_done else 0)
        elif kernel == SPLAT:
            source = program[at + 2]
            splat(
                memory.scratch + program[at + 1],
                cells + 8 * source,
                specs.item[log.spec[source]],
                program[at + 4],
            )
        elif kernel == BROADCAST:
            source, target = program[at + 2], program[at + 3]
            load_broadcast(
                memory.scratch + program[at + 1],
                log.cell[source],
                specs.item[log.spec[source]],
                0,
                program[at + 4],
                specs.dims,
                specs.rank[log.spec[target]],
                MAX_RANK * log.spec[target],
                specs.rank[log.spec[source]],
                MAX_RANK * log.spec[source],
            )
        elif kernel == COPY_BYTES:
            copy(
                _operand_address(program[at + 1], log, cells, memory),
                _operand_address(program[at + 2], log, cells, memory),
                1,
                program[at + 3],
            )
        elif kernel == CALL_FIXED:
            call_array(
                program[at + 1],
                _operand_address(program[at + 4], log, cells, memory),
                _operand_address(program[at + 6], log, cells, memory),
                _operand_address(program[at + 7], log, cells, memory),
                _operand_address(program[at + 8], log, cells, memory),
                program[at + 2],
                0,
                program[at + 3],
            )
            k += 1
        else:  # CALL_VARIADIC
            operands = numbers(memory.scratch)
            for j in range(program[at + 3]):
                k += j % 4 == 0
                operands[j] = _operand_address(program[STEP * k + 1 + j % 4], log, cells, memory)
            call_array(
                program[at + 1],
                _operand_address(program[at + 4], log, cells, memory),
                memory.scratch,
                0,
                0,
                program[at + 2],
                0,
                1,
            )
        k += 1


@inline
def _lane_work(plan: PlanTables, g: int) -> int:
    """Instructions times elements of a lane group."""
    groups = plan.groups
    steps = groups[GROUP * g + G_CODE_END] - groups[GROUP * g + G_BODY]
    return steps * groups[GROUP * g + G_SIZE]


@inline
def _set_temporary_cells(
    log: LogColumns, specs: Specs, plan: PlanTables, g: int, memory: ThreadMemory
) -> None:
    """Set the cells of a group's temporaries to their addresses in the arena."""
    for k in range(plan.groups[GROUP * g + G_ROWS], plan.groups[GROUP * g + G_ROWS_END]):
        row = plan.order[k]
        if plan.storage[k] == TEMPORARY and specs.size[log.spec[row]] != 1:
            log.cell[row] = memory.arena + plan.offset[k]


@jit
def sweep(
    log: LogColumns,
    cells: int,
    specs: Specs,
    plan: PlanTables,
    begin_group: int,
    computed: int,
    n_groups: int,
    memory: ThreadMemory,
    large: int,
    watched: int,
    team: int,
) -> int:
    """Run groups from ``begin_group`` on; if ``computed``, only finish the first one.

    ``cells`` is the address of the log's cells. Returns ``n_groups``, or the number of a group that
    needs the caller: it has no kernel, or is ``large`` (in elements times instructions) and no
    thread waits to share it, or takes so long (``watched``) that interrupts must be received
    meanwhile.
    """
    order, groups, program = plan.order, plan.groups, plan.program
    min_shared_work = min(large, MIN_SHARED_WORK)
    finished_group = -1  # a group that was computed together with the previous one
    for g in range(begin_group, n_groups):
        kind = groups[GROUP * g + G_KIND]
        begin = groups[GROUP * g + G_ROWS]
        end = groups[GROUP * g + G_ROWS_END]
        code = groups[GROUP * g + G_CODE]
        if g != finished_group and (g > begin_group or computed == 0):
            if kind != SHARED:
                _set_temporary_cells(log, specs, plan, g, memory)
            if kind == SMALL:
                run_small_rows(
                    log, cells, specs, program, code, groups[GROUP * g + G_CODE_END], memory
                )
            elif kind == LANES:
                work = _lane_work(plan, g)
                if work >= watched:
                    return g
                if work >= min_shared_work and has_helpers(team):
                    lead(log, cells, specs, plan, g, 0, memory, team)
                elif work >= large:
                    return g
                else:
                    numbers(memory.counter)[0] = 0
                    run_lane_group(log, cells, specs, plan, g, memory, 1 << 40)
            elif kind == SHARED:
                log.cell[order[begin]] = log.cell[program[STEP * code + 1]]
            else:
                inputs = groups[GROUP * g + G_CODE_END] - code
                if inputs == 0 or program[STEP * code] == 0:
                    return g
                row = order[begin]
                if groups[GROUP * g + G_STRIDE] == ONE_UNIT:
                    operands = numbers(memory.scratch)
                    for j in range(inputs):
                        x = program[STEP * (code + j) + 1]
                        operands[j] = value_address(log, cells, specs.size[log.spec[x]], x)
                    operands[inputs] = 0
                    call_array(
                        program[STEP * code],
                        value_address(log, cells, specs.size[log.spec[row]], row),
                        memory.scratch,
                        0,
                        0,
                        groups[GROUP * g + G_PARAMETERS],
                        0,
                        groups[GROUP * g + G_WIDTH],
                    )
                    if operands[inputs] != 0:
                        return g
                    log.state[row] = VALUE if plan.storage[begin] == KEPT else SEEN
                    continue
                work = groups[GROUP * g + G_SIZE]
                is_divisible = groups[GROUP * g + G_WIDTH] > 1
                if is_divisible and work >= watched:
                    return g
                has_help = 0
                if (
                    is_divisible
                    and ELEMENTS_PER_UNIT * work >= min_shared_work
                    and has_helpers(team)
                ):
                    has_help = 1
                elif is_divisible and ELEMENTS_PER_UNIT * work >= large:
                    return g
                with_next_group = 0
                if groups[GROUP * g + G_BLOCKS] > 0 and g + 1 < n_groups:
                    if groups[GROUP * g + G_STRIDE] == 0 and _lane_work(plan, g + 1) < watched:
                        with_next_group = 1
                        finished_group = g + 1
                        _set_temporary_cells(log, specs, plan, finished_group, memory)
                if has_help:
                    lead(log, cells, specs, plan, g, with_next_group, memory, team)
                else:
                    numbers(memory.counter)[0] = 0
                    run_array_kernels(log, cells, specs, plan, g, with_next_group, memory, 1 << 40)
        if kind == LANES:
            _combine_partials(log, cells, specs, plan, g, memory.partials)
        elif kind == SHARED and specs.size[log.spec[order[begin]]] != 1:
            continue  # the owner of the buffer sets the state when it has a value
        for k in range(begin, end):
            log.state[order[k]] = VALUE if plan.storage[k] == KEPT else SEEN
    return n_groups
