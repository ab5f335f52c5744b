"""Writes the program of a plan: instructions of groups, slots of lane groups."""

from __future__ import annotations

import numpy as np

from ..constants import MAX_RANK
from ..jit import inline, jit
from .layout import (
    BROADCAST,
    C_BODY,
    C_INSTRUCTIONS,
    C_PARTIALS,
    C_ROW,
    C_SCRATCH,
    C_WORK,
    CALL_COST,
    CALL_FIXED,
    CALL_VARIADIC,
    COPY_BYTES,
    COUNT,
    ENTRY,
    FIRST_ELEMENT,
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
    IN_SLOT,
    LINE,
    LINE_ROWS,
    LINES,
    MAX_LINES,
    MIN_COLUMNS,
    NO_KERNEL,
    NO_OPERAND,
    NUMBER,
    OK,
    ONE_UNIT,
    PARTIALS,
    PLACES,
    RUN,
    SCRATCH_BYTES,
    SHARED,
    SMALL,
    SMALL_ROW_BYTES,
    SPLAT,
    STEP,
    WHOLE,
)
from .rows import REDUCTION, VARIADIC, VIEW
from .tables import I64, CallTable, Codes, LaneTable, LogColumns, PlannerScratch, PlanTables, Specs


@inline
def row_of(x: int) -> int:
    """The row behind a canonical operand."""
    return x if x >= 0 else ~x


@inline
def lane_spec(row: int, log: LogColumns, codes: Codes, work: PlannerScratch) -> int:
    """The spec with the shape that a row of a lane group iterates over."""
    if codes.kind[log.code[row]] == REDUCTION:
        return log.spec[row_of(work.operands[3 * row])]
    return log.spec[row]


@inline
def row_length(row: int, log: LogColumns, codes: Codes, specs: Specs) -> int:
    """The number of elements of the rows that a reduction of the last axes reduces.

    0 if it reduces other axes, or rows of one element.
    """
    spec = log.spec[log.a[row]]
    axes = codes.axes[log.code[row]]
    length = 1
    axis = specs.rank[spec] - 1
    while axis >= 0 and (axes >> axis) & 1 == 1:
        length *= specs.dims[MAX_RANK * spec + axis]
        axes -= 1 << axis
        axis -= 1
    return length if axes == 0 and length > 1 else 0


@inline
def column_count(row: int, log: LogColumns, codes: Codes, specs: Specs) -> int:
    """The number of columns of a reduction of the first axes; 0 if it cannot be in a lane group."""
    spec = log.spec[log.a[row]]
    axes = codes.axes[log.code[row]]
    rank = specs.rank[spec]
    rows = 1
    axis = 0
    while axis < rank and (axes >> axis) & 1 == 1:
        rows *= specs.dims[MAX_RANK * spec + axis]
        axes -= 1 << axis
        axis += 1
    if axes != 0 or rows <= LINE_ROWS or specs.bytes[spec] > LINE_ROWS * MAX_LINES:
        return 0
    columns = specs.size[spec] // rows
    return columns if columns >= MIN_COLUMNS else 0


@jit
def write_lanes(
    g: int,
    at: int,
    log: LogColumns,
    codes: Codes,
    specs: Specs,
    work: PlannerScratch,
    out: PlanTables,
) -> tuple[int, int, int, int, int, int]:
    """Write the instructions of one lane group from ``at`` on.

    Operands are slots, or ``~row`` for a value in a buffer. ``work.stamp`` and ``loaded`` tell
    which slot holds an operand from outside the group. Returns the end of the instructions, the
    number of slots, the bytes of an element in them, the bytes of partial results, the number of
    elements of which the size of a block must be a multiple, and the number of columns that are
    reduced, or 0.
    """
    operands, slot, last, stamp = work.operands, work.slot, work.last, work.stamp
    order, groups, program = out.order, out.groups, out.program
    loaded, free = work.phase, work.tables  # their contents are no longer needed
    begin = groups[GROUP * g + G_ROWS]
    end = groups[GROUP * g + G_ROWS_END]
    iterated_spec = lane_spec(order[begin], log, codes, work)
    shape = specs.shape[iterated_spec]
    partials = 0
    slots = 0
    item_bytes = 1
    length = 1
    columns = 0
    has_runs = 0
    # Find each value's last use inside the group. Single elements from outside are splatted once,
    # before the first block.
    for k in range(begin, end):
        row = order[k]
        last[row] = k
        item_bytes = max(
            item_bytes, specs.bytes[log.spec[row]] // max(specs.size[log.spec[row]], 1)
        )
        for j in range(3):
            x = operands[3 * row + j]
            if x >= 0 and work.group[x] == g:
                last[x] = k
            elif x != NO_OPERAND:
                v = row_of(x)
                item_bytes = max(
                    item_bytes, specs.bytes[log.spec[v]] // max(specs.size[log.spec[v]], 1)
                )
                if specs.size[log.spec[v]] == 1 and stamp[v] != g:
                    stamp[v] = g
                    loaded[v] = slots
                    program[STEP * at] = SPLAT
                    program[STEP * at + 1] = slots
                    program[STEP * at + 2] = v
                    slots += 1
                    at += 1
    groups[GROUP * g + G_BODY] = at
    n_free = 0
    for k in range(begin, end):
        row = order[k]
        # Loads of broadcast operands come before the instruction.
        for j in range(3):
            x = operands[3 * row + j]
            if x != NO_OPERAND and (x < 0 or work.group[x] != g):
                v = row_of(x)
                if stamp[v] != g and specs.shape[log.spec[v]] != shape:
                    stamp[v] = g
                    loaded[v] = slots
                    program[STEP * at] = BROADCAST
                    program[STEP * at + 1] = slots
                    program[STEP * at + 2] = v
                    program[STEP * at + 3] = row
                    slots += 1
                    at += 1
        for j in range(3):
            x = operands[3 * row + j]
            if x >= 0 and work.group[x] == g and work.escape[x] == IN_SLOT:
                program[STEP * at + 2 + j] = slot[x]
            elif x != NO_OPERAND:
                v = row_of(x)
                program[STEP * at + 2 + j] = loaded[v] if stamp[v] == g else ~v
            else:
                program[STEP * at + 2 + j] = 0
        program[STEP * at] = work.kernel[row]
        if codes.kind[log.code[row]] == REDUCTION and specs.size[log.spec[row]] != 1:
            length = row_length(row, log, codes, specs)
            program[STEP * at + 1] = ~row
            if length == 0:
                columns = column_count(row, log, codes, specs)
                length = columns
                lines = (specs.size[iterated_spec] // columns + LINE_ROWS - 1) // LINE_ROWS
                program[STEP * at + 1] = LINES + partials
                program[STEP * at + 4] = FIRST_ELEMENT
                partials += (lines * specs.bytes[log.spec[row]] + LINE - 1) // LINE * LINE
            program[STEP * at + 3] = NUMBER + length
        elif codes.kind[log.code[row]] == REDUCTION:
            has_runs = 1
            program[STEP * at + 1] = PARTIALS + partials
            partials += 8 * ((specs.size[iterated_spec] + RUN - 1) // RUN + 1)
        elif work.escape[row] != IN_SLOT:
            program[STEP * at + 1] = ~row
        elif n_free > 0:
            n_free -= 1
            slot[row] = free[n_free]
            program[STEP * at + 1] = slot[row]
        else:
            slot[row] = slots
            program[STEP * at + 1] = slots
            slots += 1
        at += 1
        # Free slots after the last use of their values. The output's slot was taken before, so that
        # no kernel writes to its operands.
        for j in range(3):
            x = operands[3 * row + j]
            if x >= 0 and work.group[x] == g and work.escape[x] == IN_SLOT and last[x] == k:
                free[n_free] = slot[x]
                n_free += 1
                last[x] = -1
        if work.escape[row] == IN_SLOT and last[row] == k:
            free[n_free] = slot[row]
            n_free += 1
    if has_runs and length % RUN != 0:
        length = RUN  # a multiple, see `group_rows`
    return at, slots, item_bytes, partials, length, columns


@inline
def _value_ref(row: int, log: LogColumns, specs: Specs) -> int:
    """The reference of a value of a group of small rows: its cell, or its buffer."""
    return row if specs.size[log.spec[row]] == 1 else ~row


@inline
def _write_instruction(
    out: PlanTables, at: int, kernel: int, first: int, second: int, third: int, fourth: int
) -> int:
    program = out.program
    program[STEP * at] = kernel
    program[STEP * at + 1] = first
    program[STEP * at + 2] = second
    program[STEP * at + 3] = third
    program[STEP * at + 4] = fourth
    return at + 1


@inline
def _write_operand(
    j: int,
    row: int,
    n: int,
    at: int,
    log: LogColumns,
    specs: Specs,
    work: PlannerScratch,
    out: PlanTables,
) -> tuple[int, int]:
    """The reference of operand ``j`` of a small elementwise row of ``n`` elements.

    For a broadcast operand, writes an instruction that expands it to scratch memory. Also returns
    the position of the next instruction.
    """
    x = work.operands[3 * row + j]
    if x == NO_OPERAND:
        return np.int64(0), at
    v = row_of(x)
    if n == 1 or specs.shape[log.spec[v]] == specs.shape[log.spec[row]]:
        return _value_ref(v, log, specs), at
    kind = SPLAT if specs.size[log.spec[v]] == 1 else BROADCAST
    at = _write_instruction(out, at, kind, SMALL_ROW_BYTES * j, v, row, n)
    return PARTIALS + SMALL_ROW_BYTES * j, at


@jit
def write_small(
    g: int,
    at: int,
    log: LogColumns,
    codes: Codes,
    specs: Specs,
    calls: CallTable,
    work: PlannerScratch,
    out: PlanTables,
) -> int:
    """Write the instructions of one group of small rows from ``at`` on. Returns their end."""
    operands, program = work.operands, out.program
    for k in range(out.groups[GROUP * g + G_ROWS], out.groups[GROUP * g + G_ROWS_END]):
        row = out.order[k]
        row_code = log.code[row]
        kind = codes.kind[row_code]
        target = _value_ref(row, log, specs)
        if kind == VIEW:
            source = _value_ref(row_of(operands[3 * row]), log, specs)
            at = _write_instruction(
                out, at, COPY_BYTES, target, source, specs.bytes[log.spec[row]], 0
            )
        elif work.call[row] >= 0:
            entry = ENTRY * work.call[row]
            is_variadic = codes.arity[row_code] == VARIADIC
            count = log.b[row] if is_variadic else 3
            at = _write_instruction(
                out,
                at,
                CALL_VARIADIC if is_variadic else CALL_FIXED,
                calls.entries[entry + 5],
                calls.entries[entry + 6],
                count if is_variadic else calls.entries[entry + 7],
                target,
            )
            for j in range(count):
                if j % 4 == 0:
                    at = _write_instruction(out, at, PLACES, 0, 0, 0, 0)
                x = work.many[log.a[row] + j] if is_variadic else operands[3 * row + j]
                if x != NO_OPERAND:
                    program[STEP * at - 4 + j % 4] = _value_ref(row_of(x), log, specs)
        elif kind == REDUCTION:
            x = row_of(operands[3 * row])
            n = specs.size[log.spec[x]]
            at = _write_instruction(
                out, at, work.kernel[row] + COUNT * n, target, _value_ref(x, log, specs), 0, 0
            )
        else:
            n = specs.size[log.spec[row]]
            first, at = _write_operand(0, row, n, at, log, specs, work, out)
            second, at = _write_operand(1, row, n, at, log, specs, work, out)
            third, at = _write_operand(2, row, n, at, log, specs, work, out)
            at = _write_instruction(
                out, at, work.kernel[row] + COUNT * n, target, first, second, third
            )
    return at


@jit
def write_program(
    log: LogColumns,
    codes: Codes,
    specs: Specs,
    lanes: LaneTable,
    calls: CallTable,
    work: PlannerScratch,
    out: PlanTables,
    n_groups: int,
    max_block: int,
    cursor: I64,
) -> int:
    """Write the instructions of every group: kernel, output, three operands.

    In a group of small rows, operands are rows. A whole-array row has one instruction for each
    operand. Returns OK or NO_KERNEL.
    """
    groups, program, kernel = out.groups, out.program, work.kernel
    cursor[C_INSTRUCTIONS] = 0
    at = 0
    elements = 0
    scratch = 0
    partials = 0
    max_body = 0
    for g in range(n_groups):
        group_start = GROUP * g
        kind = groups[group_start + G_KIND]
        begin = groups[group_start + G_ROWS]
        end = groups[group_start + G_ROWS_END]
        groups[group_start + G_CODE] = at
        groups[group_start + G_BODY] = at
        groups[group_start + G_SIZE] = 0
        groups[group_start + G_PARAMETERS] = 0
        if kind == WHOLE or kind == SHARED:
            row = out.order[begin]
            groups[group_start + G_STRIDE] = 0
            if codes.arity[log.code[row]] == VARIADIC:
                groups[group_start + G_STRIDE] = ONE_UNIT
                scratch = max(scratch, 8 * (log.b[row] + 1))
                for j in range(log.a[row], log.a[row] + log.b[row]):
                    program[STEP * at] = 0
                    program[STEP * at + 1] = row_of(work.many[j])
                    at += 1
            else:
                for j in range(codes.arity[log.code[row]]):
                    program[STEP * at] = 0
                    program[STEP * at + 1] = row_of(work.operands[3 * row + j])
                    at += 1
            groups[group_start + G_CODE_END] = at
            continue
        for k in range(begin, end):
            row = out.order[k]
            row_code = log.code[row]
            if kind == SMALL and (codes.kind[row_code] == VIEW or work.call[row] >= 0):
                continue
            # The operands' dtype is that of the last one: a select's first is the condition.
            operand = row_of(work.operands[3 * row + codes.arity[row_code] - 1])
            lane = codes.lane[row_code]
            if codes.kind[row_code] == REDUCTION and specs.size[log.spec[row]] != 1:
                lane += 1 if row_length(row, log, codes, specs) > 0 else 2
            kernel[row] = lanes.kernels[
                (lane * lanes.dtypes + specs.dtype[log.spec[operand]]) * lanes.dtypes
                + specs.dtype[log.spec[row]]
            ]
            if kernel[row] == 0:
                cursor[C_ROW] = row
                return NO_KERNEL
        size = specs.size[lane_spec(out.order[begin], log, codes, work)]
        elements += (end - begin) * (size + CALL_COST)
        groups[group_start + G_SIZE] = size
        if kind == SMALL:
            at = write_small(g, at, log, codes, specs, calls, work, out)
            scratch = max(scratch, 3 * SMALL_ROW_BYTES)
        else:
            at, slots, item_bytes, partial_bytes, unit, columns = write_lanes(
                g, at, log, codes, specs, work, out
            )
            width = SCRATCH_BYTES // (item_bytes * max(slots, 1)) // RUN * RUN
            width = max(RUN, min(max_block, width))
            width = max(1, width // unit) * unit
            if columns > 0:
                # The number of blocks that a thread computes together.
                blocks = LINE_ROWS
                while blocks > 1 and width // columns * blocks // 2 % LINE_ROWS == 0:
                    blocks //= 2
                groups[group_start + G_PARAMETERS] = blocks
            width = min(width, (size + 7) // 8 * 8)
            groups[group_start + G_WIDTH] = width
            groups[group_start + G_STRIDE] = (item_bytes * width + 63) // 64 * 64
            scratch = max(scratch, slots * groups[group_start + G_STRIDE])
            partials = max(partials, partial_bytes)
            max_body = max(max_body, at - groups[group_start + G_BODY])
        groups[group_start + G_CODE_END] = at
    cursor[C_INSTRUCTIONS] = at
    cursor[C_SCRATCH] = scratch
    cursor[C_PARTIALS] = partials
    cursor[C_BODY] = max_body
    cursor[C_WORK] = elements
    return OK
