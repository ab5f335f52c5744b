"""The plan: what a look has to compute, in groups, with a place for every value.

Needed rows are found from the wanted ones backwards, equal rows merged, and the rest put in
*groups*: elementwise rows of one shape (a lane group), scalar rows, or a single whole-array
row. A reduction to one element belongs to the lane group of its operand. Groups run in phases; a
group reads only groups of earlier phases. Inside a lane group a value lives in a slot of one
block; a value that leaves its group has a buffer, either its own (kept) or a stretch of the arena
(temporary).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import inline, jit
from .layout import (
    C_ALIASES,
    C_ALLOC,
    C_ARENA,
    C_GROUPS,
    C_LOW,
    C_ROWS,
    FORGETTING,
    G_KIND,
    G_ROWS,
    G_ROWS_END,
    GROUP,
    IN_SLOT,
    KEPT,
    LANES,
    NO_OPERAND,
    OK,
    SCALARS,
    SHARED,
    TEMPORARY,
    WANTED,
    WHOLE,
)
from .program import row_of, write_program
from .rows import ARRAY, ELEMENTWISE, READ, REDUCTION, SEEN, VALUE, VARIADIC


@jit
def mark_needed(
    code: Any, a: Any, b: Any, c: Any, extra: Any, code_arity: Any,
    state: Any, want: Any, mark: Any, rows: Any, bottom: int, top: int,
) -> int:
    """List in ``rows``, descending, and mark what the wanted rows need computed.

    These lie between ``bottom`` and ``top``.
    """
    pending = 0
    for row in range(bottom, top + 1):
        if want[row] == WANTED and state[row] != VALUE:
            mark[row] = 1
            pending += 1
    count = 0
    row = top
    while pending > 0:
        if mark[row]:
            pending -= 1
            rows[count] = row
            count += 1
            arity = code_arity[code[row]]
            if arity == VARIADIC:
                for k in range(a[row], a[row] + b[row]):
                    pending += _need(extra[k], state, mark)
            if arity > 0:
                pending += _need(a[row], state, mark)
            if arity > 1:
                pending += _need(b[row], state, mark)
            if arity > 2:
                pending += _need(c[row], state, mark)
        row -= 1
    return count


@inline
def _need(row: int, state: Any, mark: Any) -> int:
    if state[row] == VALUE or mark[row]:
        return 0
    mark[row] = 1
    return 1


@inline
def _canonical(row: int, mark: Any, canon: Any) -> int:
    """An operand as the rest of the plan sees it: its merged row, or ``~row`` if it has a value."""
    return canon[row] if mark[row] else ~row


@jit
def merge_equal(
    code: Any, a: Any, b: Any, c: Any, spec: Any, extra: Any, code_kind: Any, code_arity: Any,
    want: Any, mark: Any, canon: Any, operands: Any, many: Any,
    rows: Any, count: int, table: Any, size: int, aliases: Any,
) -> tuple[int, int]:
    """Map rows that compute the same to the first of them: ``canon`` (int32 by row).

    ``operands`` (int32, 3 by row) gets the operands of what is left, `_canonical`; ``many``
    (int32, like ``extra``) those of variadic rows. Merged rows leave ``rows``, which is
    ascending on return; those that are wanted make the first one wanted. ``table`` (int32;
    ``size``, a power of two) is scratch; ``aliases`` lists the merged rows. Returns how many rows
    are left, and how many were merged.

    The table stays in cache: when it is half full, what came before is forgotten, and rows further
    apart than that are not merged.
    """
    for k in range(count // 2):
        other = rows[count - 1 - k]
        rows[count - 1 - k] = rows[k]
        rows[k] = other
    mask = size - 1
    for k in range(size):
        table[k] = -1
    left = 0
    merged = 0
    used = 0
    for k in range(count):
        row = rows[k]
        this = code[row]
        arity = code_arity[this]
        canon[row] = row
        x = NO_OPERAND
        y = NO_OPERAND
        z = NO_OPERAND
        if arity > 0:
            x = _canonical(a[row], mark, canon)
        if arity > 1:
            y = _canonical(b[row], mark, canon)
        if arity > 2:
            z = _canonical(c[row], mark, canon)
        operands[3 * row] = x
        operands[3 * row + 1] = y
        operands[3 * row + 2] = z
        if arity == VARIADIC:
            for j in range(a[row], a[row] + b[row]):
                many[j] = _canonical(extra[j], mark, canon)
        elif code_kind[this] != READ:
            h = np.uint64(this) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(x - NO_OPERAND)
            h = h * np.uint64(0xBF58476D1CE4E5B9) ^ np.uint64(y - NO_OPERAND)
            h = h * np.uint64(0x94D049BB133111EB) ^ np.uint64(z - NO_OPERAND)
            h = h * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(spec[row])
            slot = np.int64((h ^ (h >> np.uint64(32))) & np.uint64(mask))
            found = -1
            while table[slot] >= 0:
                q = table[slot]
                if (operands[3 * q] == x and operands[3 * q + 1] == y
                        and operands[3 * q + 2] == z and code[q] == this and spec[q] == spec[row]):
                    found = q
                    break
                slot = (slot + 1) & mask
            if found >= 0:
                canon[row] = found
                aliases[merged] = row
                merged += 1
                if want[row]:
                    want[found] = want[row]
                continue
            table[slot] = row
            used += 1
            if 2 * used >= size:
                used = 0
                for j in range(size):
                    table[j] = -1
        rows[left] = row
        left += 1
    return left, merged


@inline
def _after(
    x: int, lane: int, spec: Any, spec_shape: Any, phase: Any, group: Any, table: Any, classes: int
) -> int:
    """The first phase in which a row of class ``lane`` may read operand ``x``."""
    if x < 0:
        return 0
    joins = lane >= -1 and table[classes + group[x]] == lane
    # What a lane group reduces is known when the group has run.
    if joins and (lane == -1 or spec_shape[spec[x]] == lane):
        return phase[x]
    return phase[x] + 1


@jit
def group_rows(
    code: Any, a: Any, b: Any, spec: Any, code_kind: Any, code_arity: Any,
    spec_size: Any, spec_shape: Any, operands: Any, many: Any,
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
    recent = -1  # the group of the row before: mostly this row's as well
    for k in range(count):
        row = rows[k]
        this = code[row]
        kind = code_kind[this]
        lane = -3 if kind == ARRAY else -2
        if kind == ELEMENTWISE or kind == REDUCTION:
            s = spec[row]
            if kind == REDUCTION:
                if spec_size[s] == 1:
                    s = spec[a[row]]
                else:
                    lane = -3
            if lane != -3:
                lane = -1 if spec_size[s] == 1 else spec_shape[s]
        at = 0
        if code_arity[this] == VARIADIC:
            for j in range(a[row], a[row] + b[row]):
                at = max(
                    at, _after(many[j], lane, spec, spec_shape, phase, group, table, classes)
                )
        else:
            for j in range(3):
                x = operands[3 * row + j]
                at = max(at, _after(x, lane, spec, spec_shape, phase, group, table, classes))
        phase[row] = at
        last_phase = max(last_phase, at)
        g = -1
        if lane >= -1:
            if (recent >= 0 and table[phases + recent] == at
                    and table[classes + recent] == lane):
                g = recent
            else:
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
            table[phases + g] = at
            table[classes + g] = lane
            table[sizes + g] = 0
            found += 1
        table[sizes + g] += 1
        group[row] = g
        recent = g
    # Counting sort of the groups by phase (stable), then of the rows by group. The hash table
    # is done with; its place has an entry for each phase and one more.
    for p in range(last_phase + 2):
        table[p] = 0
    for g in range(found):
        table[table[phases + g] + 1] += 1
    for p in range(last_phase + 1):
        table[p + 1] += table[p]
    for g in range(found):
        p = table[phases + g]
        table[index + g] = table[p]
        table[p] += 1
    for g in range(found):
        at = GROUP * table[index + g]
        lane = table[classes + g]
        if lane >= 0:
            groups[at + G_KIND] = LANES
        elif lane == -1:
            groups[at + G_KIND] = SCALARS
        else:
            groups[at + G_KIND] = WHOLE if lane == -3 else SHARED
        groups[at + G_ROWS_END] = table[sizes + g]
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


@inline
def _use(x: int, g: int, retain: int, group: Any, escape: Any, root: Any, last: Any) -> None:
    """Note that group ``g`` reads ``x``: what another group made leaves it."""
    if x < 0:
        return
    if group[x] != g and escape[x] == IN_SLOT:
        escape[x] = KEPT if retain else TEMPORARY
    r = root[x]
    if r >= 0:
        last[r] = max(last[r], g)


@jit
def place_values(
    code: Any, a: Any, b: Any, spec: Any, state: Any, code_arity: Any,
    spec_size: Any, want: Any, retain: int, operands: Any, many: Any,
    order: Any, group: Any, groups: Any, found: int, escape: Any, last: Any, root: Any,
) -> None:
    """Decide which values leave their group: ``escape[row]`` is IN_SLOT, TEMPORARY or KEPT.

    ``last[root[row]]`` is the last group that reads a value, under any shape; the root is -1
    where it is not computed here.
    """
    for g in range(found):
        kind = groups[GROUP * g + G_KIND]
        for k in range(groups[GROUP * g + G_ROWS], groups[GROUP * g + G_ROWS_END]):
            row = order[k]
            root[row] = row
            last[row] = g
            if kind == SCALARS or spec_size[spec[row]] == 1:
                escape[row] = KEPT
            elif want[row] or (retain and state[row] == SEEN):
                escape[row] = KEPT
            elif kind == LANES:
                escape[row] = IN_SLOT
            else:
                escape[row] = KEPT if retain else TEMPORARY
            if kind == SHARED:
                x = operands[3 * row]
                root[row] = root[x] if x >= 0 else -1
                if escape[row] == KEPT and root[row] >= 0:
                    escape[root[row]] = KEPT
            if kind == SCALARS:
                continue  # its operands have one element: no slots, no buffers
            if code_arity[code[row]] == VARIADIC:
                for j in range(a[row], a[row] + b[row]):
                    _use(many[j], g, retain, group, escape, root, last)
            else:
                for j in range(3):
                    _use(operands[3 * row + j], g, retain, group, escape, root, last)


@jit
def place_temporaries(
    spec: Any, spec_size: Any, spec_bytes: Any, order: Any, groups: Any, found: int, escape: Any,
    last: Any, where: Any, alloc: Any, heads: Any, nexts: Any, free: Any, capacity: int,
    kept: Any, offset: Any,
) -> tuple[int, int]:
    """Give each temporary a stretch of the arena, first fit, free again after its last use.

    ``kept`` (uint8) and ``offset`` (int64) get the rows' escapes and their places in the arena,
    both in the order of ``order``. ``alloc`` lists the rows that need a buffer of their own.
    Returns their number, and the arena's size in bytes.
    """
    allocated = 0
    arena = 0
    stretches = 0
    for g in range(found):
        heads[g] = -1
    for g in range(found):
        kind = groups[GROUP * g + G_KIND]
        for k in range(groups[GROUP * g + G_ROWS], groups[GROUP * g + G_ROWS_END]):
            row = order[k]
            kept[k] = escape[row]
            if (kind == SCALARS or kind == SHARED or escape[row] == IN_SLOT
                    or spec_size[spec[row]] == 1):
                continue
            if escape[row] == KEPT:
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
            where[row] = place
            offset[k] = 64 * place  # stretches are counted in cache lines
            nexts[row] = heads[last[row]]
            heads[last[row]] = row
        row = heads[g]
        while row >= 0:
            size = (spec_bytes[spec[row]] + 63) // 64
            begin = where[row]
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
    return allocated, 64 * arena


@jit
def plan(
    code: Any, a: Any, b: Any, c: Any, spec: Any, extra: Any, state: Any,
    bottom: int, top: int, want: Any, retain: int, widest: int,
    code_kind: Any, code_arity: Any, code_lane: Any,
    spec_size: Any, spec_bytes: Any, spec_shape: Any, spec_dtype: Any, kernels: Any, dtypes: int,
    canon: Any, operands: Any, many: Any, phase: Any, group: Any, last: Any, root: Any, slot: Any,
    stamp: Any, kernel: Any, mark: Any, rows: Any, tables: Any, escape: Any,
    order: Any, kept: Any, offset: Any, groups: Any, alloc: Any, aliases: Any, program: Any,
    cursor: Any,
) -> int:
    """Plan the computation of the rows that are WANTED in ``want`` (uint8 by row).

    They lie between the rows ``bottom`` and ``top``. ``retain`` keeps what a tape may need, and
    no block is wider than ``widest``, a multiple of RUN.

    ``canon`` to ``kernel`` and ``escape`` (by row), ``rows``, and ``tables`` (8 x capacity) are
    workspace; ``mark`` (uint8 by row) is zero on entry and on return, and so is ``want`` for what
    was planned. Reports through ``cursor``; nothing below the row C_LOW was looked at.
    """
    count = mark_needed(code, a, b, c, extra, code_arity, state, want, mark, rows, bottom, top)
    cursor[C_ROWS] = count
    cursor[C_GROUPS] = 0
    if count == 0:
        return OK
    size = 4
    while size < 2 * count:
        size *= 2
    left, merged = merge_equal(
        code, a, b, c, spec, extra, code_kind, code_arity, want, mark, canon, operands, many,
        rows, count, tables, min(size, FORGETTING), aliases,
    )
    found = group_rows(
        code, a, b, spec, code_kind, code_arity, spec_size, spec_shape, operands, many,
        rows, left, phase, group, tables, size, order, groups,
    )
    place_values(
        code, a, b, spec, state, code_arity, spec_size, want, retain, operands, many, order, group,
        groups, found, escape, last, root,
    )
    allocated, arena = place_temporaries(
        spec, spec_size, spec_bytes, order, groups, found, escape, last, slot, alloc, phase, rows,
        tables, left, kept, offset,
    )
    low = top
    for k in range(left):
        row = order[k]
        mark[row] = 0
        stamp[row] = -1
        low = min(low, row)
        for j in range(3):
            x = operands[3 * row + j]
            if x != NO_OPERAND:
                stamp[row_of(x)] = -1
                low = min(low, row_of(x))
        if code_arity[code[row]] == VARIADIC:
            for j in range(a[row], a[row] + b[row]):
                low = min(low, row_of(many[j]))
    for k in range(merged):
        mark[aliases[k]] = 0
        low = min(low, aliases[k])
    status = write_program(
        code, a, b, spec, code_kind, code_arity, code_lane, spec_size, spec_bytes, spec_shape,
        spec_dtype, kernels, dtypes, operands, many, order, group, groups, found, escape, slot,
        last, stamp, phase, kernel, tables, widest, program, cursor,
    )
    if status == OK:  # else the plan is made again
        for k in range(left):
            want[order[k]] = 0
    cursor[C_LOW] = low
    cursor[C_ROWS] = left
    cursor[C_GROUPS] = found
    cursor[C_ALLOC] = allocated
    cursor[C_ALIASES] = merged
    cursor[C_ARENA] = arena
    return status
