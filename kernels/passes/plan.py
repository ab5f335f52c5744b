"""The planner: the rows to compute, in groups, with storage for every value.

It finds the needed rows backwards from the requested ones, merges equal rows, and puts the rest in
*groups*: elementwise rows of one shape (a lane group), rows of few elements and their operands (a
group of small rows), or a single whole-array row. A reduction to one element, or of rows or columns
of moderate length, belongs to the lane group of its operand. Groups run in phases; a group reads
only groups of earlier phases. Inside a lane group a value lives in a slot of one block, inside a
group of small rows in its cell or a range of the arena; a value that leaves its group has a buffer,
either its own (kept) or a range of the arena (temporary). Start with `plan`.
"""

from __future__ import annotations

import numpy as np

from ..jit import inline, jit
from .layout import (
    C_ALIASES,
    C_ALLOC,
    C_ARENA,
    C_GROUPS,
    C_LOW,
    C_ROW,
    C_ROWS,
    ENTRY,
    G_KIND,
    G_ROWS,
    G_ROWS_END,
    GROUP,
    LANES,
    MAX_MERGE_TABLE,
    NO_CALL,
    NO_OPERAND,
    OK,
    RUN,
    SHARED,
    SMALL,
    WANTED,
    WHOLE,
)
from .places import place_temporaries, place_values
from .program import column_count, row_length, row_of, write_program
from .rows import ARRAY, ELEMENTWISE, READ, REDUCTION, VALUE, VARIADIC, VIEW, WIDE
from .schedule import bring_near, delay_rows
from .tables import (
    I64,
    U8,
    Asked,
    CallTable,
    Codes,
    LaneTable,
    LogColumns,
    PlannerScratch,
    PlanTables,
    Specs,
)


@jit
def mark_needed(
    log: LogColumns, codes: Codes, want: U8, work: PlannerScratch, bottom: int, top: int
) -> int:
    """Mark the rows that the wanted rows need; list them in ``work.rows``, descending.

    The wanted rows lie between ``bottom`` and ``top``.
    """
    pending = 0
    for row in range(bottom, top + 1):
        if want[row] == WANTED and log.state[row] != VALUE:
            work.mark[row] = 1
            pending += 1
    count = 0
    row = top
    while pending > 0:
        if work.mark[row]:
            pending -= 1
            work.rows[count] = row
            count += 1
            arity = codes.arity[log.code[row]]
            if arity == VARIADIC:
                for k in range(log.a[row], log.a[row] + log.b[row]):
                    pending += _mark_row(log.extra[k], log, work)
            if arity > 0:
                pending += _mark_row(log.a[row], log, work)
            if arity > 1:
                pending += _mark_row(log.b[row], log, work)
            if arity > 2:
                pending += _mark_row(log.c[row], log, work)
        row -= 1
    return count


@inline
def _mark_row(row: int, log: LogColumns, work: PlannerScratch) -> int:
    if log.state[row] == VALUE or work.mark[row]:
        return 0
    work.mark[row] = 1
    return 1


@inline
def _canonical(row: int, work: PlannerScratch) -> int:
    """An operand as later steps see it: its merged row, or ``~row`` if it has a value."""
    return work.canon[row] if work.mark[row] else ~row


@jit
def merge_equal(
    log: LogColumns, codes: Codes, want: U8, work: PlannerScratch, count: int, size: int
) -> tuple[int, int]:
    """Map rows that compute the same value to the first of them: ``work.canon``.

    ``work.operands`` gets the `_canonical` operands of the remaining rows, and ``work.many`` those
    of variadic rows. Merged rows move from ``work.rows``, which is ascending on return, to
    ``work.aliases``; the first row inherits their flags in ``want``. The table of equal rows has
    ``size`` entries, a power of two. Returns the numbers of remaining and of merged rows.

    The table must stay in cache: it is cleared when it is half full, so equal rows that are far
    apart are not merged.
    """
    rows, operands, table = work.rows, work.operands, work.tables
    for k in range(count // 2):
        swapped = rows[count - 1 - k]
        rows[count - 1 - k] = rows[k]
        rows[k] = swapped
    mask = size - 1
    for k in range(size):
        table[k] = -1
    n_remaining = 0
    n_merged = 0
    n_entries = 0
    for k in range(count):
        row = rows[k]
        row_code = log.code[row]
        arity = codes.arity[row_code]
        work.canon[row] = row
        x = NO_OPERAND
        y = NO_OPERAND
        z = NO_OPERAND
        if arity > 0:
            x = _canonical(log.a[row], work)
        if arity > 1:
            y = _canonical(log.b[row], work)
        if arity > 2:
            z = _canonical(log.c[row], work)
        operands[3 * row] = x
        operands[3 * row + 1] = y
        operands[3 * row + 2] = z
        if arity == VARIADIC:
            for j in range(log.a[row], log.a[row] + log.b[row]):
                work.many[j] = _canonical(log.extra[j], work)
        elif codes.kind[row_code] != READ:
            hash_ = np.uint64(row_code) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(x - NO_OPERAND)
            hash_ = hash_ * np.uint64(0xBF58476D1CE4E5B9) ^ np.uint64(y - NO_OPERAND)
            hash_ = hash_ * np.uint64(0x94D049BB133111EB) ^ np.uint64(z - NO_OPERAND)
            hash_ = hash_ * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(log.spec[row])
            slot = np.int64((hash_ ^ (hash_ >> np.uint64(32))) & np.uint64(mask))
            equal = -1
            while table[slot] >= 0:
                candidate = table[slot]
                if (
                    operands[3 * candidate] == x
                    and operands[3 * candidate + 1] == y
                    and operands[3 * candidate + 2] == z
                    and log.code[candidate] == row_code
                    and log.spec[candidate] == log.spec[row]
                ):
                    equal = candidate
                    break
                slot = (slot + 1) & mask
            if equal >= 0:
                work.canon[row] = equal
                work.aliases[n_merged] = row
                n_merged += 1
                if want[row] == WANTED or (want[row] and want[equal] != WANTED):
                    want[equal] = want[row]
                continue
            table[slot] = row
            n_entries += 1
            if 2 * n_entries >= size:
                n_entries = 0
                for j in range(size):
                    table[j] = -1
        rows[n_remaining] = row
        n_remaining += 1
    return n_remaining, n_merged


@inline
def _earliest_phase(
    x: int, row_class: int, log: LogColumns, specs: Specs, work: PlannerScratch, classes: int
) -> int:
    """The first phase in which a row of class ``row_class`` may read operand ``x``."""
    if x < 0:
        return 0
    can_join = row_class >= -1 and work.tables[classes + work.group[x]] == row_class
    # The reductions of a lane group are complete when the group has run.
    if can_join and (row_class == -1 or specs.shape[log.spec[x]] == row_class):
        return work.phase[x]
    return work.phase[x] + 1


@inline
def _is_small_value(spec: int, specs: Specs, max_size: int) -> bool:
    """Whether a value is small: 1 to ``max_size`` elements, of a dtype that kernels support."""
    return 1 <= specs.size[spec] <= max_size and specs.dtype[spec] < WIDE


@inline
def _find_call(
    row: int, log: LogColumns, codes: Codes, work: PlannerScratch, calls: CallTable
) -> int:
    """The entry of the kernel that computes a row; -1 if it is not in the table yet."""
    row_code = log.code[row]
    is_variadic = codes.arity[row_code] == VARIADIC  # the code determines the specs of the operands
    entry = calls.first[row_code] - 1
    while entry >= 0:
        at = ENTRY * entry
        is_same = calls.entries[at + 1] == log.spec[row]
        if not is_variadic:
            for j in range(3):
                x = work.operands[3 * row + j]
                operand_spec = np.int64(-1) if x == NO_OPERAND else np.int64(log.spec[row_of(x)])
                is_same = is_same and calls.entries[at + 2 + j] == operand_spec
        if is_same:
            return entry
        entry = calls.entries[at]
    return -1


@jit
def _small_row_state(
    row: int,
    log: LogColumns,
    codes: Codes,
    specs: Specs,
    work: PlannerScratch,
    calls: CallTable,
    max_size: int,
) -> int:
    """Whether a row that is not elementwise is a small row: 1 or 0.

    -1 if Python must first enter its kernel in the table of calls. ``work.call`` is set to the
    entry of the kernel, -1 for a view.
    """
    row_code = log.code[row]
    if max_size <= 1 or not _is_small_value(log.spec[row], specs, max_size):
        return 0
    if codes.arity[row_code] == VARIADIC:
        if log.b[row] > max_size:
            return 0
        for j in range(log.a[row], log.a[row] + log.b[row]):
            if not _is_small_value(log.spec[row_of(work.many[j])], specs, max_size):
                return 0
    else:
        for j in range(3):
            x = work.operands[3 * row + j]
            if x != NO_OPERAND and not _is_small_value(log.spec[row_of(x)], specs, max_size):
                return 0
    if codes.kind[row_code] == VIEW:
        return 1
    entry = _find_call(row, log, codes, work, calls)
    if entry < 0:
        return -1
    work.call[row] = entry
    return 1 if calls.entries[ENTRY * entry + 5] != 0 else 0


@inline
def _can_reduce(work: PlannerScratch, g: int, length: int, is_to_one: int) -> int:
    """Whether a reduction can join lane group ``g``: with rows of ``length``, or to one element.

    Blocks consist of whole rows; and of whole runs, if there are reductions to one element.
    """
    if length > 0 and work.root[g] > 0 and work.root[g] != length:
        return 0
    unit = max(work.root[g], length)
    if unit == 0 or (is_to_one == 0 and work.slot[g] == 0):
        return 1
    return 1 if unit % RUN == 0 or RUN % unit == 0 else 0


@jit
def group_rows(
    log: LogColumns,
    codes: Codes,
    specs: Specs,
    calls: CallTable,
    want: U8,
    work: PlannerScratch,
    count: int,
    size: int,
    max_size: int,
    max_row: int,
    out: PlanTables,
) -> int:
    """Assign a phase and a group to each row; fill ``out.order`` with the rows, group by group.

    A row runs in the phase of its latest operand if it can join that operand's group, else in
    the next one; `delay_rows` moves some to later phases. ``out.groups`` gets the kind and row
    range of each group, by phase; on return ``work.group[row]`` is the index there. A row can join
    groups of its class: -1 for small rows, the number of its shape for elementwise ones, -2 for
    views and -3 for whole-array kernels, which never join. The hash table has ``size`` entries.
    Small rows have at most ``max_size`` elements. Reductions of rows of at most ``max_row``
    elements, and of their columns, are in lane groups: of their operand's shape, as reductions to
    one element. ``work`` has the length of these rows by group in ``root``, and whether there are
    others in ``slot``.
    Returns the number of groups, or ``~row`` of a row that has no entry in the table of calls.
    """
    table, groups = work.tables, out.groups
    mask = size - 1
    for k in range(size):
        table[k] = -1
    # After the hash table, by group in order of creation: phase, class, number of rows, new index.
    phases = size
    classes = size + count
    sizes = size + 2 * count
    index = size + 3 * count
    n_groups = 0
    last_phase = 0
    previous_group = -1  # the group of the previous row: usually this row's as well
    for k in range(count):
        row = work.rows[k]
        row_code = log.code[row]
        kind = codes.kind[row_code]
        row_class = -3 if kind == ARRAY else -2
        length = 0  # of rows that it reduces or adds up
        is_to_one = 0
        work.call[row] = -1
        if kind == ELEMENTWISE or kind == REDUCTION:
            shape_spec = log.spec[row]
            if specs.dtype[shape_spec] >= WIDE or specs.dtype[log.spec[log.a[row]]] >= WIDE:
                row_class = -3  # it has no lane kernel
            elif kind == REDUCTION:
                is_to_one = 1
                if specs.size[shape_spec] != 1:
                    is_to_one = 0
                    length = row_length(row, log, codes, specs)
                    if length == 0:
                        length = column_count(row, log, codes, specs)
                    if length == 0 or length > max_row or specs.size[shape_spec] == 0:
                        row_class = -3
                shape_spec = log.spec[log.a[row]]
            if row_class != -3:
                row_class = (
                    -1 if 1 <= specs.size[shape_spec] <= max_size else specs.shape[shape_spec]
                )
                if row_class == -1 and length > 0:
                    row_class = -3
        if row_class == -3 or kind == VIEW:
            small_state = _small_row_state(row, log, codes, specs, work, calls, max_size)
            if small_state < 0:
                return ~row
            if small_state:
                row_class = -1
        row_phase = 0
        if codes.arity[row_code] == VARIADIC:
            for j in range(log.a[row], log.a[row] + log.b[row]):
                row_phase = max(
                    row_phase, _earliest_phase(work.many[j], row_class, log, specs, work, classes)
                )
        else:
            for j in range(3):
                x = work.operands[3 * row + j]
                row_phase = max(row_phase, _earliest_phase(x, row_class, log, specs, work, classes))
        g = -1
        while row_class >= -1:
            g = -1
            if (
                previous_group >= 0
                and table[phases + previous_group] == row_phase
                and table[classes + previous_group] == row_class
            ):
                g = previous_group
            else:
                hash_ = np.uint64(row_phase) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(
                    row_class + 1
                )
                hash_ = hash_ * np.uint64(0xBF58476D1CE4E5B9)
                slot = np.int64((hash_ ^ (hash_ >> np.uint64(32))) & np.uint64(mask))
                while table[slot] >= 0:
                    candidate = table[slot]
                    if (
                        table[phases + candidate] == row_phase
                        and table[classes + candidate] == row_class
                    ):
                        g = candidate
                        break
                    slot = (slot + 1) & mask
                if g < 0:
                    table[slot] = n_groups
            if g < 0 or row_class == -1 or _can_reduce(work, g, length, is_to_one):
                break
            row_phase += 1
        if g < 0:
            g = n_groups
            table[phases + g] = row_phase
            table[classes + g] = row_class
            table[sizes + g] = 0
            work.root[g] = 0
            work.slot[g] = 0
            n_groups += 1
        work.root[g] = max(work.root[g], length)
        work.slot[g] = max(work.slot[g], is_to_one)
        work.phase[row] = row_phase
        last_phase = max(last_phase, row_phase)
        table[sizes + g] += 1
        work.group[row] = g
        previous_group = g
    n_lane_groups = 0
    for g in range(n_groups):
        if table[classes + g] >= 0:
            n_lane_groups += 1
    if n_lane_groups > 1:
        delay_rows(log, codes, specs, want, work, count, classes, sizes)
    # Counting sort of the groups by phase (stable), then of the rows by group. The hash table is
    # no longer needed; its memory has an entry for each phase and one more.
    for p in range(last_phase + 2):
        table[p] = 0
    n_nonempty = 0
    for g in range(n_groups):
        if table[sizes + g] > 0:
            table[table[phases + g] + 1] += 1
            n_nonempty += 1
    for p in range(last_phase + 1):
        table[p + 1] += table[p]
    for g in range(n_groups):
        if table[sizes + g] == 0:
            continue
        p = table[phases + g]
        table[index + g] = table[p]
        table[p] += 1
    for g in range(n_groups):
        if table[sizes + g] == 0:
            continue
        group_start = GROUP * table[index + g]
        row_class = table[classes + g]
        if row_class >= 0:
            groups[group_start + G_KIND] = LANES
        elif row_class == -1:
            groups[group_start + G_KIND] = SMALL
        else:
            groups[group_start + G_KIND] = WHOLE if row_class == -3 else SHARED
        groups[group_start + G_ROWS_END] = table[sizes + g]
    n_groups = n_nonempty
    total = 0
    for g in range(n_groups):
        members = groups[GROUP * g + G_ROWS_END]
        groups[GROUP * g + G_ROWS] = total
        groups[GROUP * g + G_ROWS_END] = total
        total += members
    for k in range(count):
        row = work.rows[k]
        g = table[index + work.group[row]]
        work.group[row] = g
        out.order[groups[GROUP * g + G_ROWS_END]] = row
        groups[GROUP * g + G_ROWS_END] += 1
    return n_groups


@jit
def plan(
    log: LogColumns,
    want: U8,
    asked: Asked,
    codes: Codes,
    specs: Specs,
    lanes: LaneTable,
    calls: CallTable,
    work: PlannerScratch,
    out: PlanTables,
    cursor: I64,
) -> int:
    """Plan the computation of the rows that are WANTED in ``want`` (uint8 by row).

    ``work.mark`` must be zero on entry, and is zero on return, as is ``want`` for the planned rows.
    The report is in ``cursor``; rows below C_LOW were not read.
    """
    count = mark_needed(log, codes, want, work, asked.bottom, asked.top)
    cursor[C_ROWS] = count
    cursor[C_GROUPS] = 0
    if count == 0:
        return OK
    size = 4
    while size < 2 * count:
        size *= 2
    n_remaining, n_merged = merge_equal(log, codes, want, work, count, min(size, MAX_MERGE_TABLE))
    n_groups = group_rows(
        log,
        codes,
        specs,
        calls,
        want,
        work,
        n_remaining,
        size,
        asked.max_small_size,
        asked.max_row,
        out,
    )
    if n_groups < 0:  # Python adds the kernel and calls again
        for k in range(n_remaining):
            work.mark[work.rows[k]] = 0
        for k in range(n_merged):
            work.mark[work.aliases[k]] = 0
        cursor[C_ROW] = ~n_groups
        return NO_CALL
    bring_near(log, codes, specs, work, out, n_groups, asked.follow)
    place_values(log, codes, specs, want, asked.retain, work, out, n_groups)
    allocated, arena = place_temporaries(log, codes, specs, work, out, n_groups, n_remaining)
    low = asked.top
    for k in range(n_remaining):
        row = out.order[k]
        work.mark[row] = 0
        work.stamp[row] = -1
        low = min(low, row)
        for j in range(3):
            x = work.operands[3 * row + j]
            if x != NO_OPERAND:
                work.stamp[row_of(x)] = -1
                low = min(low, row_of(x))
        if codes.arity[log.code[row]] == VARIADIC:
            for j in range(log.a[row], log.a[row] + log.b[row]):
                low = min(low, row_of(work.many[j]))
    for k in range(n_merged):
        work.mark[work.aliases[k]] = 0
        low = min(low, work.aliases[k])
    status = write_program(
        log, codes, specs, lanes, calls, work, out, n_groups, asked.max_block, cursor
    )
    if status == OK:  # else Python adds the kernel and calls again
        for k in range(n_remaining):
            want[out.order[k]] = 0
    cursor[C_LOW] = low
    cursor[C_ROWS] = n_remaining
    cursor[C_GROUPS] = n_groups
    cursor[C_ALLOC] = allocated
    cursor[C_ALIASES] = n_merged
    cursor[C_ARENA] = arena
    return status
