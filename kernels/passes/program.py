"""The plan's program: instructions of scalar and lane groups, slots of lane groups."""

from __future__ import annotations

from typing import Any

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
from .rows import REDUCTION, VARIADIC


@inline
def row_of(x: int) -> int:
    """The row behind a canonical operand."""
    return x if x >= 0 else ~x


@inline
def lane_spec(row: int, code: Any, spec: Any, code_kind: Any, operands: Any) -> int:
    """The spec whose shape a row of a lane group works on."""
    if code_kind[code[row]] == REDUCTION:
        return spec[row_of(operands[3 * row])]
    return spec[row]


@jit
def write_lanes(
    g: int, at: int, code: Any, spec: Any, code_kind: Any, spec_size: Any, spec_bytes: Any,
    spec_shape: Any, operands: Any, kernel: Any, order: Any, group: Any, groups: Any, escape: Any,
    slot: Any, last: Any, stamp: Any, loaded: Any, free: Any, program: Any,
) -> tuple[int, int, int, int]:
    """Write the instructions of one lane group from ``at`` on.

    Operands are slots, or ``~row`` for a value in a buffer. ``stamp`` (int32 by row) and
    ``loaded`` say which slot holds an operand from outside the group. Returns where the
    instructions end, the number of slots, the bytes of an element in them, and the bytes of
    partial results.
    """
    begin = groups[GROUP * g + G_ROWS]
    end = groups[GROUP * g + G_ROWS_END]
    like = lane_spec(order[begin], code, spec, code_kind, operands)
    shape = spec_shape[like]
    partials = 0
    slots = 0
    item = 1
    # Operands from outside the group: single elements are splatted once, before the first
    # block. And each value's last use inside the group.
    for k in range(begin, end):
        row = order[k]
        last[row] = k
        item = max(item, spec_bytes[spec[row]] // max(spec_size[spec[row]], 1))
        for j in range(3):
            x = operands[3 * row + j]
            if x >= 0 and group[x] == g:
                last[x] = k
            elif x != NO_OPERAND:
                v = row_of(x)
                item = max(item, spec_bytes[spec[v]] // max(spec_size[spec[v]], 1))
                if spec_size[spec[v]] == 1 and stamp[v] != g:
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
            if x != NO_OPERAND and (x < 0 or group[x] != g):
                v = row_of(x)
                if stamp[v] != g and spec_shape[spec[v]] != shape:
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
            if x >= 0 and group[x] == g and escape[x] == IN_SLOT:
                program[STEP * at + 2 + j] = slot[x]
            elif x != NO_OPERAND:
                v = row_of(x)
                program[STEP * at + 2 + j] = loaded[v] if stamp[v] == g else ~v
            else:
                program[STEP * at + 2 + j] = 0
        program[STEP * at] = kernel[row]
        if code_kind[code[row]] == REDUCTION:
            program[STEP * at + 1] = PARTIALS + partials
            partials += 8 * ((spec_size[like] + RUN - 1) // RUN + 1)
        elif escape[row] != IN_SLOT:
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
            if x >= 0 and group[x] == g and escape[x] == IN_SLOT and last[x] == k:
                free[unused] = slot[x]
                unused += 1
                last[x] = -1
        if escape[row] == IN_SLOT and last[row] == k:
            free[unused] = slot[row]
            unused += 1
    return at, slots, item, partials


@jit
def write_program(
    code: Any, a: Any, b: Any, spec: Any, code_kind: Any, code_arity: Any, code_lane: Any,
    spec_size: Any, spec_bytes: Any, spec_shape: Any, spec_dtype: Any, kernels: Any, dtypes: int,
    operands: Any, many: Any,
    order: Any, group: Any, groups: Any, found: int, escape: Any,
    slot: Any, last: Any, stamp: Any, loaded: Any, kernel: Any, free: Any, widest: int,
    program: Any, cursor: Any,
) -> int:
    """Write the instructions of every group: kernel, output, three operands.

    In a scalar group operands are rows; a whole-array row has one instruction for each of its
    operands. ``kernel`` (int64 by row) is scratch. Returns OK or NO_KERNEL.
    """
    # Read back, because Numba would compile what takes a literal 0 once more.
    cursor[C_INSTRUCTIONS] = 0
    at = cursor[C_INSTRUCTIONS]
    work = 0
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
            row = order[begin]
            if code_arity[code[row]] == VARIADIC:
                for j in range(a[row], a[row] + b[row]):
                    program[STEP * at] = 0
                    program[STEP * at + 1] = row_of(many[j])
                    at += 1
            else:
                for j in range(code_arity[code[row]]):
                    program[STEP * at] = 0
                    program[STEP * at + 1] = row_of(operands[3 * row + j])
                    at += 1
            groups[this_group + G_CODE_END] = at
            continue
        for k in range(begin, end):
            row = order[k]
            this = code[row]
            # The operands' dtype is that of the last one: a select's first is the condition.
            of = row_of(operands[3 * row + code_arity[this] - 1])
            kernel[row] = kernels[
                (code_lane[this] * dtypes + spec_dtype[spec[of]]) * dtypes + spec_dtype[spec[row]]
            ]
            if kernel[row] == 0:
                cursor[C_ROW] = row
                return NO_KERNEL
            if kind == SCALARS:
                program[STEP * at] = kernel[row]
                program[STEP * at + 1] = row
                for j in range(3):
                    program[STEP * at + 2 + j] = row_of(operands[3 * row + j])
                at += 1
        size = spec_size[lane_spec(order[begin], code, spec, code_kind, operands)]
        work += (end - begin) * (size + CALL)
        groups[this_group + G_SIZE] = size
        if kind == LANES:
            at, slots, item, bytes_ = write_lanes(
                g, at, code, spec, code_kind, spec_size, spec_bytes, spec_shape, operands, kernel,
                order, group, groups, escape, slot, last, stamp, loaded, free, program,
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
    cursor[C_WORK] = work
    return OK
