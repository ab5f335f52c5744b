"""The plan's program: instructions of scalar and lane groups, slots of lane groups."""

from __future__ import annotations

from ..jit import inline, jit
from .layout import (
    C_BODY,
    C_INSTRUCTIONS,
    C_PARTIALS,
    C_ROW,
    C_SCRATCH,
    C_WORK,
    CALL,
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
    LANES,
    NO_KERNEL,
    NO_OPERAND,
    OK,
    PARTIALS,
    RUN,
    SCALARS,
    SCRATCH_BYTES,
    SHARED,
    SPLAT,
    SPREAD,
    STEP,
    WHOLE,
)
from .records import I64, Codes, Lanes, Log, Plan, Specs, Work
from .rows import REDUCTION, VARIADIC


@inline
def row_of(x: int) -> int:
    """The row behind a canonical operand."""
    return x if x >= 0 else ~x


@inline
def lane_spec(row: int, log: Log, codes: Codes, work: Work) -> int:
    """The spec whose shape a row of a lane group works on."""
    if codes.kind[log.code[row]] == REDUCTION:
        return log.spec[row_of(work.operands[3 * row])]
    return log.spec[row]


@jit
def write_lanes(
    g: int, at: int, log: Log, codes: Codes, specs: Specs, work: Work, out: Plan
) -> tuple[int, int, int, int]:
    """Write the instructions of one lane group from ``at`` on.

    Operands are slots, or ``~row`` for a value in a buffer. ``work.stamp`` and ``loaded`` say
    which slot holds an operand from outside the group. Returns where the instructions end, the
    number of slots, the bytes of an element in them, and the bytes of partial results.
    """
    operands, slot, last, stamp = work.operands, work.slot, work.last, work.stamp
    order, groups, program = out.order, out.groups, out.program
    loaded, free = work.phase, work.tables  # nobody needs what was in these
    begin = groups[GROUP * g + G_ROWS]
    end = groups[GROUP * g + G_ROWS_END]
    like = lane_spec(order[begin], log, codes, work)
    shape = specs.shape[like]
    partials = 0
    slots = 0
    item = 1
    # Operands from outside the group: single elements are splatted once, before the first
    # block. And each value's last use inside the group.
    for k in range(begin, end):
        row = order[k]
        last[row] = k
        item = max(item, specs.bytes[log.spec[row]] // max(specs.size[log.spec[row]], 1))
        for j in range(3):
            x = operands[3 * row + j]
            if x >= 0 and work.group[x] == g:
                last[x] = k
            elif x != NO_OPERAND:
                v = row_of(x)
                item = max(item, specs.bytes[log.spec[v]] // max(specs.size[log.spec[v]], 1))
                if specs.size[log.spec[v]] == 1 and stamp[v] != g:
                    stamp[v] = g
                    loaded[v] = slots
                    program[STEP * at] = SPLAT
                    program[STEP * at + 1] = slots
                    program[STEP * at + 2] = v
                    slots += 1
                    at += 1
    groups[GROUP * g + G_BODY] = at
    unused = 0
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
                    program[STEP * at] = SPREAD
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
        if codes.kind[log.code[row]] == REDUCTION:
            program[STEP * at + 1] = PARTIALS + partials
            partials += 8 * ((specs.size[like] + RUN - 1) // RUN + 1)
        elif work.escape[row] != IN_SLOT:
            program[STEP * at + 1] = ~row
        elif unused > 0:
            unused -= 1
            slot[row] = free[unused]
            program[STEP * at + 1] = slot[row]
        else:
            slot[row] = slots
            program[STEP * at + 1] = slots
            slots += 1
        at += 1
        # Slots whose value was used for the last time; the output's own was taken before, so
        # that no kernel writes what it reads.
        for j in range(3):
            x = operands[3 * row + j]
            if x >= 0 and work.group[x] == g and work.escape[x] == IN_SLOT and last[x] == k:
                free[unused] = slot[x]
                unused += 1
                last[x] = -1
        if work.escape[row] == IN_SLOT and last[row] == k:
            free[unused] = slot[row]
            unused += 1
    return at, slots, item, partials


@jit
def write_program(
    log: Log, codes: Codes, specs: Specs, lanes: Lanes, work: Work, out: Plan, found: int,
    widest: int, cursor: I64,
) -> int:
    """Write the instructions of every group: kernel, output, three operands.

    In a scalar group operands are rows; a whole-array row has one instruction for each of its
    operands. Returns OK or NO_KERNEL.
    """
    groups, program, kernel = out.groups, out.program, work.kernel
    # Read back, because Numba would compile what takes a literal 0 once more.
    cursor[C_INSTRUCTIONS] = 0
    at = cursor[C_INSTRUCTIONS]
    elements = 0
    scratch = 0
    partials = 0
    longest = 0
    for g in range(found):
        this_group = GROUP * g
        kind = groups[this_group + G_KIND]
        begin = groups[this_group + G_ROWS]
        end = groups[this_group + G_ROWS_END]
        groups[this_group + G_CODE] = at
        groups[this_group + G_BODY] = at
        groups[this_group + G_SIZE] = 0
        groups[this_group + G_PARAMETERS] = 0
        if kind == WHOLE or kind == SHARED:
            row = out.order[begin]
            if codes.arity[log.code[row]] == VARIADIC:
                for j in range(log.a[row], log.a[row] + log.b[row]):
                    program[STEP * at] = 0
                    program[STEP * at + 1] = row_of(work.many[j])
                    at += 1
            else:
                for j in range(codes.arity[log.code[row]]):
                    program[STEP * at] = 0
                    program[STEP * at + 1] = row_of(work.operands[3 * row + j])
                    at += 1
            groups[this_group + G_CODE_END] = at
            continue
        for k in range(begin, end):
            row = out.order[k]
            this = log.code[row]
            # The operands' dtype is that of the last one: a select's first is the condition.
            of = row_of(work.operands[3 * row + codes.arity[this] - 1])
            kernel[row] = lanes.kernels[
                (codes.lane[this] * lanes.dtypes + specs.dtype[log.spec[of]]) * lanes.dtypes
                + specs.dtype[log.spec[row]]
            ]
            if kernel[row] == 0:
                cursor[C_ROW] = row
                return NO_KERNEL
            if kind == SCALARS:
                program[STEP * at] = kernel[row]
                program[STEP * at + 1] = row
                for j in range(3):
                    program[STEP * at + 2 + j] = row_of(work.operands[3 * row + j])
                at += 1
        size = specs.size[lane_spec(out.order[begin], log, codes, work)]
        elements += (end - begin) * (size + CALL)
        groups[this_group + G_SIZE] = size
        if kind == LANES:
            at, slots, item, bytes_ = write_lanes(
                g, at, log, codes, specs, work, out
            )
            width = SCRATCH_BYTES // (item * max(slots, 1)) // RUN * RUN
            width = max(RUN, min(widest, width))
            width = min(width, (size + 7) // 8 * 8)
            groups[this_group + G_WIDTH] = width
            groups[this_group + G_STRIDE] = (item * width + 63) // 64 * 64
            scratch = max(scratch, slots * groups[this_group + G_STRIDE])
            partials = max(partials, bytes_)
            longest = max(longest, at - groups[this_group + G_BODY])
        groups[this_group + G_CODE_END] = at
    cursor[C_INSTRUCTIONS] = at
    cursor[C_SCRATCH] = scratch
    cursor[C_PARTIALS] = partials
    cursor[C_BODY] = longest
    cursor[C_WORK] = elements
    return OK
