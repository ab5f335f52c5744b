"""The plan: what a look has to compute, in groups, with a place for every value.

Needed rows are found from the wanted ones backwards, equal rows merged, and the rest put in
*groups*: elementwise rows of one shape (a lane group), scalar rows, or a single whole-array
row. Groups run in phases; a group reads only groups of earlier phases. Inside a lane group a
value lives in a slot of one block; a value that leaves its group has a buffer, either its own
(kept) or a stretch of the arena (temporary).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import inline, jit
from .rows import ARRAY, ELEMENTWISE, READ, SEEN, VALUE, VARIADIC, VIEW

# Kinds of groups.
SCALARS = 0
LANES = 1
WHOLE = 2  # one row, computed by a whole-array kernel
SHARED = 3  # one row that shares its operand's buffer

# Instructions that are not lane kernels.
SPLAT = 1  # fill a slot with one element, before the first block
SPREAD = 2  # load a block of an operand that is broadcast

# Fields of cursor: what `plan` reports.
(C_ROW, C_ROWS, C_GROUPS, C_INSTRUCTIONS, C_ALLOC, C_ALIASES, C_ARENA, C_SCRATCH,
 C_WORK) = range(9)

GROUP = 8  # columns of the group table:
(G_KIND, G_ROWS, G_ROWS_END, G_CODE, G_CODE_END, G_SIZE, G_WIDTH, G_BODY) = range(8)

STEP = 5  # an instruction: kernel, output, three operands

OK = 0
NO_KERNEL = 1  # the row in cursor[C_ROW] needs a lane kernel that is not in the table

SCRATCH_BYTES = 192 * 1024  # a block's slots stay well inside L2
MAX_WIDTH = 1024
MIN_WIDTH = 64


@inline
def _count(code_arity: Any, code: Any, b: Any, row: int) -> int:
    arity = code_arity[code[row]]
    return b[row] if arity == VARIADIC else arity


@inline
def _operand(code_arity: Any, code: Any, a: Any, b: Any, c: Any, extra: Any, row: int, j: int) -> int:
    if code_arity[code[row]] == VARIADIC:
        return extra[a[row] + j]
    if j == 0:
        return a[row]
    return b[row] if j == 1 else c[row]


@jit
def mark_needed(
    code: Any, a: Any, b: Any, c: Any, extra: Any, code_arity: Any,
    state: Any, want: Any, mark: Any, rows: Any, top: int,
) -> int:
    """List in ``rows``, ascending, what the wanted rows up to ``top`` need computed; mark it."""
    pending = 0
    for row in range(top + 1):
        if want[row] and state[row] != VALUE:
            mark[row] = 1
            pending += 1
    count = 0
    row = top
    while pending > 0:
        if mark[row]:
            pending -= 1
            rows[count] = row
            count += 1
            for j in range(_count(code_arity, code, b, row)):
                x = _operand(code_arity, code, a, b, c, extra, row, j)
                if state[x] != VALUE and mark[x] == 0:
                    mark[x] = 1
                    pending += 1
        row -= 1
    for k in range(count // 2):
        rows[k], rows[count - 1 - k] = rows[count - 1 - k], rows[k]
    return count


@jit
def merge_equal(
    code: Any, a: Any, b: Any, c: Any, spec: Any, code_kind: Any, code_arity: Any,
    want: Any, mark: Any, canon: Any, rows: Any, count: int, table: Any, size: int, aliases: Any,
) -> tuple[int, int]:
    """Map rows that compute the same to the first of them: ``canon`` (int32 by row).

    Merged rows leave ``rows``; those that are wanted make the first one wanted. ``table``
    (int32; ``size``, a power of two from 2 count on) is scratch; ``aliases`` lists the merged rows.
    Returns how many rows are left, and how many were merged.
    """
    mask = size - 1
    for k in range(size):
        table[k] = -1
    left = 0
    merged = 0
    for k in range(count):
        row = rows[k]
        this = code[row]
        canon[row] = row
        kind = code_kind[this]
        arity = code_arity[this]
        if arity == VARIADIC or kind == READ:
            rows[left] = row
            left += 1
            continue
        x = y = z = -1
        if arity > 0:
            x = canon[a[row]] if mark[a[row]] else a[row]
        if arity > 1:
            y = canon[b[row]] if mark[b[row]] else b[row]
        if arity > 2:
            z = canon[c[row]] if mark[c[row]] else c[row]
        h = np.uint64(this) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(x + 1)
        h = h * np.uint64(0xBF58476D1CE4E5B9) ^ np.uint64(y + 1)
        h = h * np.uint64(0x94D049BB133111EB) ^ np.uint64(z + 1)
        h = h * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(spec[row])
        slot = np.int64((h ^ (h >> np.uint64(32))) & np.uint64(mask))
        found = -1
        while table[slot] >= 0:
            q = table[slot]
            if code[q] == this and spec[q] == spec[row]:
                qx = qy = qz = -1
                if arity > 0:
                    qx = canon[a[q]] if mark[a[q]] else a[q]
                if arity > 1:
                    qy = canon[b[q]] if mark[b[q]] else b[q]
                if arity > 2:
                    qz = canon[c[q]] if mark[c[q]] else c[q]
                if qx == x and qy == y and qz == z:
                    found = q
                    break
            slot = (slot + 1) & mask
        if found >= 0:
            canon[row] = found
            aliases[merged] = row
            merged += 1
            if want[row]:
                want[found] = 1
        else:
            table[slot] = row
            rows[left] = row
            left += 1
    return left, merged


@jit
def group_rows(
    code: Any, a: Any, b: Any, c: Any, spec: Any, extra: Any, code_kind: Any, code_arity: Any,
    spec_size: Any, spec_shape: Any, mark: Any, canon: Any,
    rows: Any, count: int, phase: Any, group: Any, table: Any, size: int,
    order: Any, groups: Any,
) -> int:
    """Give each row a phase and a group; fill ``order`` with the rows, group after group.

    A row runs in the phase of its latest operand if it can join that operand's group, else in
    the next one. ``groups`` (count x GROUP) gets kind and row range of each, by phase; on
    return ``group[row]`` is the index there. Returns the number of groups.
    """
    mask = size - 1
    for k in range(size):
        table[k] = -1
    # Behind the hash table, for each group as found: phase, class, number of rows, new index.
    phases = size
    classes = size + count
    sizes = size + 2 * count
    index = size + 3 * count
    found = 0
    last_phase = 0
    for k in range(count):
        row = rows[k]
        kind = code_kind[code[row]]
        if kind == ELEMENTWISE:
            lane = -1 if spec_size[spec[row]] == 1 else spec_shape[spec[row]]
        else:
            lane = -3 if kind == ARRAY else -2
        at = 0
        for j in range(_count(code_arity, code, b, row)):
            x = _operand(code_arity, code, a, b, c, extra, row, j)
            if mark[x] == 0:
                continue
            x = canon[x]
            joins = lane >= -1 and table[classes + group[x]] == lane
            at = max(at, phase[x] if joins else phase[x] + 1)
        phase[row] = at
        last_phase = max(last_phase, at)
        g = -1
        if lane >= -1:
            h = np.uint64(at) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(lane + 1)
            h = h * np.uint64(0xBF58476D1CE4E5B9)
            slot = np.int64((h ^ (h >> np.uint64(32))) & np.uint64(mask))
            while table[slot] >= 0:
                q = table[slot]
                if table[phases + q] == at and table[classes + q] == lane:
                    g = q
                    break
                slot = (slot + 1) & mask
            if g < 0:
                table[slot] = found
        if g < 0:
            g = found
            table[phases + g], table[classes + g], table[sizes + g] = at, lane, 0
            found += 1
        table[sizes + g] += 1
        group[row] = g
    # Counting sort of the groups by phase (stable), then of the rows by group.
    # The hash table is done with; its place has an entry for each phase and one more.
    starts = table
    for p in range(last_phase + 2):
        starts[p] = 0
    for g in range(found):
        starts[table[phases + g] + 1] += 1
    for p in range(last_phase + 1):
        starts[p + 1] += starts[p]
    for g in range(found):
        table[index + g] = starts[table[phases + g]]
        starts[table[phases + g]] += 1
    for g in range(found):
        new = table[index + g]
        lane = table[classes + g]
        groups[GROUP * new + G_KIND] = (
            SCALARS if lane == -1 else (LANES if lane >= 0 else (WHOLE if lane == -3 else SHARED))
        )
        groups[GROUP * new + G_ROWS_END] = table[sizes + g]
    total = 0
    for g in range(found):
        members = groups[GROUP * g + G_ROWS_END]
        groups[GROUP * g + G_ROWS] = total
        groups[GROUP * g + G_ROWS_END] = total
        total += members
    for k in range(count):
        row = rows[k]
        g = table[index + group[row]]
        group[row] = g
        order[groups[GROUP * g + G_ROWS_END]] = row
        groups[GROUP * g + G_ROWS_END] += 1
    return found


@jit
def place_values(
    code: Any, a: Any, b: Any, c: Any, spec: Any, extra: Any, cell: Any, state: Any,
    code_arity: Any, spec_size: Any, spec_bytes: Any,
    want: Any, retain: int, mark: Any, canon: Any,
    order: Any, group: Any, groups: Any, found: int,
    escape: Any, last: Any, root: Any, alloc: Any, heads: Any, nexts: Any,
    free: Any, capacity: int,
) -> tuple[int, int]:
    """Decide which values leave their group, which are kept, and where temporaries lie.

    ``escape[row]``: 0 lives in a slot, 1 has a temporary stretch of the arena, whose offset is
    put in ``cell``, 2 is kept. ``alloc`` lists the kept rows of lane groups that need a
    buffer. Returns their number, and the arena's size in bytes.
    """
    count = groups[GROUP * (found - 1) + G_ROWS_END]
    for k in range(count):
        row = order[k]
        g = group[row]
        kind = groups[GROUP * g + G_KIND]
        root[row] = row
        last[row] = g
        if kind == SHARED:
            x = a[row]
            root[row] = root[canon[x]] if mark[x] else -1
        if kind == SCALARS or spec_size[spec[row]] == 1:
            escape[row] = 2
        elif want[row] or (state[row] == SEEN and retain):
            escape[row] = 2
        elif kind == LANES:
            escape[row] = 0
        else:
            escape[row] = 2 if retain else 1
        if kind == SHARED and escape[row] == 2 and root[row] >= 0:
            escape[root[row]] = 2
        for j in range(_count(code_arity, code, b, row)):
            x = _operand(code_arity, code, a, b, c, extra, row, j)
            if mark[x] == 0:
                continue
            x = canon[x]
            if group[x] != g and escape[x] == 0:
                escape[x] = 2 if retain else 1
            r = root[x]
            if r >= 0:
                last[r] = max(last[r], g)
    allocated = 0
    arena = 0
    stretches = 0
    for g in range(found):
        heads[g] = -1
    for g in range(found):
        kind = groups[GROUP * g + G_KIND]
        if kind == SCALARS:
            continue
        for k in range(groups[GROUP * g + G_ROWS], groups[GROUP * g + G_ROWS_END]):
            row = order[k]
            if kind == SHARED or escape[row] == 0 or spec_size[spec[row]] == 1:
                continue
            if escape[row] == 2:
                if kind == LANES:
                    alloc[allocated] = row
                    allocated += 1
                continue
            size = (spec_bytes[spec[row]] + 63) // 64
            place = -1
            for f in range(stretches):
                if free[capacity + f] >= size:
                    place = free[f]
                    free[f] += size
                    free[capacity + f] -= size
                    break
            if place < 0:
                place = arena
                arena += size
            cell[row] = 64 * place
            nexts[row] = heads[last[row]]
            heads[last[row]] = row
        row = heads[g]
        while row >= 0:
            size = (spec_bytes[spec[row]] + 63) // 64
            begin = cell[row] // 64
            joined = False
            for f in range(stretches):
                if free[f] + free[capacity + f] == begin:
                    free[capacity + f] += size
                    joined = True
                    break
                if begin + size == free[f]:
                    free[f] = begin
                    free[capacity + f] += size
                    joined = True
                    break
            if not joined:
                free[stretches] = begin
                free[capacity + stretches] = size
                stretches += 1
            row = nexts[row]
    return allocated, 64 * arena  # stretches are counted in cache lines


@jit
def write_program(
    code: Any, a: Any, b: Any, c: Any, spec: Any, extra: Any,
    code_arity: Any, code_lane: Any, spec_size: Any, spec_shape: Any, spec_dtype: Any,
    kernels: Any, dtypes: int, mark: Any, canon: Any,
    order: Any, group: Any, groups: Any, found: int, escape: Any,
    slot: Any, last: Any, stamp: Any, loaded: Any, free: Any, program: Any, cursor: Any,
) -> int:
    """Write the instructions of scalar and lane groups: kernel, output, three operands.

    In a scalar group operands are rows. In a lane group they are slots, or ``~row`` for a
    value in a buffer. ``stamp`` (int32 by row, -1) and ``loaded`` say which slot holds an
    operand from outside the group. Returns OK or NO_KERNEL.
    """
    at = 0
    work = 0
    scratch = 0
    for g in range(found):
        kind = groups[GROUP * g + G_KIND]
        begin = groups[GROUP * g + G_ROWS]
        end = groups[GROUP * g + G_ROWS_END]
        groups[GROUP * g + G_CODE] = at
        groups[GROUP * g + G_BODY] = at
        groups[GROUP * g + G_CODE_END] = at
        if kind == WHOLE or kind == SHARED:  # its operands, one an instruction
            row = order[begin]
            for j in range(_count(code_arity, code, b, row)):
                x = _operand(code_arity, code, a, b, c, extra, row, j)
                program[STEP * at + 1] = canon[x] if mark[x] else x
                at += 1
            groups[GROUP * g + G_CODE_END] = at
            continue
        slots = 0
        size = spec_size[spec[order[begin]]]
        shape = spec_shape[spec[order[begin]]]
        if kind == LANES:
            # Operands from outside the group: single elements are splatted once, before the
            # first block; and each value's last use inside the group.
            for k in range(begin, end):
                row = order[k]
                last[row] = k
                for j in range(code_arity[code[row]]):
                    x = _operand(code_arity, code, a, b, c, extra, row, j)
                    if mark[x]:
                        x = canon[x]
                        if group[x] == g:
                            last[x] = k
                            continue
                    if spec_size[spec[x]] == 1 and stamp[x] != g:
                        stamp[x] = g
                        loaded[x] = slots
                        program[STEP * at], program[STEP * at + 1], program[STEP * at + 2] = SPLAT, slots, x
                        slots += 1
                        at += 1
            groups[GROUP * g + G_BODY] = at
        unused = 0
        for k in range(begin, end):
            row = order[k]
            this = code[row]
            arity = code_arity[this]
            x = -1
            y = -1
            z = -1
            for j in range(arity):
                v = _operand(code_arity, code, a, b, c, extra, row, j)
                inside = False
                if mark[v]:
                    v = canon[v]
                    inside = group[v] == g
                ref = v
                if kind == LANES:
                    if inside and escape[v] == 0:
                        ref = slot[v]
                    elif spec_size[spec[v]] == 1 and not inside:
                        ref = loaded[v]
                    elif spec_shape[spec[v]] == shape:
                        ref = ~v
                    else:
                        if stamp[v] != g:
                            stamp[v] = g
                            loaded[v] = slots
                            program[STEP * at], program[STEP * at + 1], program[STEP * at + 2] = SPREAD, slots, v
                            program[STEP * at + 3] = row
                            slots += 1
                            at += 1
                        ref = loaded[v]
                if j == 0:
                    x = ref
                elif j == 1:
                    y = ref
                else:
                    z = ref
                # The kernel's operand dtype is that of the last operand (a select's first
                # operand is the condition).
                last_operand = v
            if arity == 0:
                last_operand = row
            kernel = kernels[
                (code_lane[this] * dtypes + spec_dtype[spec[last_operand]]) * dtypes
                + spec_dtype[spec[row]]
            ]
            if kernel == 0:
                cursor[C_ROW] = row
                return NO_KERNEL
            out = row
            if kind == LANES:
                if escape[row] == 0:
                    if unused > 0:
                        unused -= 1
                        slot[row] = free[unused]
                    else:
                        slot[row] = slots
                        slots += 1
                    out = slot[row]
                else:
                    out = ~row
            program[STEP * at], program[STEP * at + 1] = kernel, out
            program[STEP * at + 2], program[STEP * at + 3], program[STEP * at + 4] = x, y, z
            at += 1
            if kind == LANES:  # slots whose value was used for the last time
                for j in range(arity):
                    v = _operand(code_arity, code, a, b, c, extra, row, j)
                    if mark[v] == 0:
                        continue
                    v = canon[v]
                    if group[v] == g and escape[v] == 0 and last[v] == k:
                        free[unused] = slot[v]
                        unused += 1
                        last[v] = -1
                if escape[row] == 0 and last[row] == k:
                    free[unused] = slot[row]
                    unused += 1
        groups[GROUP * g + G_CODE_END] = at
        groups[GROUP * g + G_SIZE] = size
        work += (end - begin) * size
        if kind == LANES:
            width = SCRATCH_BYTES // (8 * max(slots, 1)) // MIN_WIDTH * MIN_WIDTH
            width = max(MIN_WIDTH, min(MAX_WIDTH, width))
            width = min(width, (size + 7) // 8 * 8)
            groups[GROUP * g + G_WIDTH] = width
            scratch = max(scratch, slots * width * 8)
    cursor[C_INSTRUCTIONS] = at
    cursor[C_SCRATCH] = scratch
    cursor[C_WORK] = work
    return OK


@jit
def plan(
    code: Any, a: Any, b: Any, c: Any, spec: Any, extra: Any, cell: Any, state: Any,
    top: int, want: Any, retain: int,
    code_kind: Any, code_arity: Any, code_lane: Any,
    spec_size: Any, spec_bytes: Any, spec_shape: Any, spec_dtype: Any, kernels: Any, dtypes: int,
    canon: Any, phase: Any, group: Any, last: Any, root: Any, slot: Any, stamp: Any, mark: Any,
    rows: Any, tables: Any, order: Any, escape: Any, groups: Any, alloc: Any, aliases: Any,
    program: Any, cursor: Any,
) -> int:
    """Plan the computation of the rows in ``want`` (uint8 by row) up to ``top``.

    ``canon`` to ``stamp`` (int32 by row), ``rows``, and ``tables`` (8 x capacity) are workspace;
    ``mark`` (uint8 by row) is zero on entry and on return, and so is ``want`` for what was
    planned. Reports through ``cursor``.
    """
    count = mark_needed(code, a, b, c, extra, code_arity, state, want, mark, rows, top)
    cursor[C_ROWS] = count
    cursor[C_GROUPS] = 0
    cursor[C_ALLOC] = 0
    cursor[C_ALIASES] = 0
    cursor[C_ARENA] = 0
    if count == 0:
        return OK
    size = 4
    while size < 2 * count:
        size *= 2
    left, merged = merge_equal(
        code, a, b, c, spec, code_kind, code_arity, want, mark, canon, rows, count,
        tables, size, aliases,
    )
    found = group_rows(
        code, a, b, c, spec, extra, code_kind, code_arity, spec_size, spec_shape, mark, canon,
        rows, left, phase, group, tables, size, order, groups,
    )
    allocated, arena = place_values(
        code, a, b, c, spec, extra, cell, state, code_arity, spec_size, spec_bytes,
        want, retain, mark, canon, order, group, groups, found, escape, last, root, alloc,
        phase, rows, tables, left,
    )
    for k in range(left):
        row = order[k]
        stamp[row] = -1
        for j in range(_count(code_arity, code, b, row)):
            stamp[_operand(code_arity, code, a, b, c, extra, row, j)] = -1
    status = write_program(
        code, a, b, c, spec, extra, code_arity, code_lane, spec_size, spec_shape, spec_dtype,
        kernels, dtypes, mark, canon, order, group, groups, found, escape,
        slot, last, stamp, phase, tables, program, cursor,
    )
    for k in range(left):
        mark[order[k]] = 0
        want[order[k]] = 0
    for k in range(merged):
        mark[aliases[k]] = 0
    cursor[C_ROWS] = left
    cursor[C_GROUPS] = found
    cursor[C_ALLOC] = allocated
    cursor[C_ALIASES] = merged
    cursor[C_ARENA] = arena
    return status
