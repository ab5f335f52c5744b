"""Assigns storage to the values of a plan: slots of a group, ranges of the arena, buffers."""

from __future__ import annotations

from ..jit import inline, jit
from .layout import (
    G_BLOCKS,
    G_KIND,
    G_ROWS,
    G_ROWS_END,
    GROUP,
    IN_SLOT,
    KEPT,
    LANES,
    LINE,
    SHARED,
    SMALL,
    SMALL_ROW_BYTES,
    TEMPORARY,
)
from .rows import SEEN, VARIADIC
from .tables import I32, U8, Codes, LogColumns, PlannerScratch, PlanTables, Specs


@inline
def _record_use(x: int, g: int, last_group: int, retain: int, work: PlannerScratch) -> None:
    """Record that group ``g`` reads ``x`` while groups up to ``last_group`` run.

    A value of another group must therefore be stored outside of that group's slots.
    """
    if x < 0:
        return
    if work.group[x] != g and work.escape[x] == IN_SLOT:
        work.escape[x] = KEPT if retain else TEMPORARY
    root_row = work.root[x]
    if root_row >= 0:
        work.last[root_row] = max(work.last[root_row], last_group)


@jit
def place_values(
    log: LogColumns,
    codes: Codes,
    specs: Specs,
    want: U8,
    retain: int,
    work: PlannerScratch,
    out: PlanTables,
    n_groups: int,
) -> None:
    """Decide which values leave their group: ``work.escape`` is IN_SLOT, TEMPORARY or KEPT.

    ``work.last[work.root[row]]`` is the last group that reads a value, under any shape; the root
    is -1 if the plan does not compute it.
    """
    groups, escape, root = out.groups, work.escape, work.root
    for g in range(n_groups):
        kind = groups[GROUP * g + G_KIND]
        # A group that follows directly may begin while this one still reads.
        last_group = g + groups[GROUP * g + G_BLOCKS]
        for k in range(groups[GROUP * g + G_ROWS], groups[GROUP * g + G_ROWS_END]):
            row = out.order[k]
            root[row] = row
            work.last[row] = g
            if specs.size[log.spec[row]] == 1:
                escape[row] = KEPT
            elif want[row] or (retain and log.state[row] == SEEN):
                escape[row] = KEPT
            elif kind == LANES or kind == SMALL:
                escape[row] = IN_SLOT
            else:
                escape[row] = KEPT if retain else TEMPORARY
            if kind == SHARED:
                x = work.operands[3 * row]
                root[row] = root[x] if x >= 0 else -1
                if escape[row] == KEPT and root[row] >= 0:
                    escape[root[row]] = KEPT
            if codes.arity[log.code[row]] == VARIADIC:
                for j in range(log.a[row], log.a[row] + log.b[row]):
                    _record_use(work.many[j], g, last_group, retain, work)
            else:
                for j in range(3):
                    _record_use(work.operands[3 * row + j], g, last_group, retain, work)


@inline
def _allocate(size: int, free: I32, capacity: int, n_ranges: int) -> int:
    """Take ``size`` lines from the first free range that is large enough; -1 if no range is."""
    for f in range(n_ranges):
        if free[capacity + f] >= size:
            start = free[f]
            free[f] += size
            free[capacity + f] -= size
            return start
    return -1


@inline
def _free_range(begin: int, size: int, free: I32, capacity: int, n_ranges: int) -> int:
    """Free lines of the arena. Returns the new number of free ranges."""
    for f in range(n_ranges):
        if free[f] + free[capacity + f] == begin:
            free[capacity + f] += size
            return n_ranges
        if begin + size == free[f]:
            free[f] = begin
            free[capacity + f] += size
            return n_ranges
    free[n_ranges] = begin
    free[capacity + n_ranges] = size
    return n_ranges + 1


@inline
def _line_count(row: int, log: LogColumns, specs: Specs) -> int:
    return (specs.bytes[log.spec[row]] + LINE - 1) // LINE


@inline
def _record_read(k: int, x: int, g: int, work: PlannerScratch) -> None:
    """Record that the row at position ``k`` of group ``g`` reads ``x``."""
    if x >= 0 and work.group[x] == g:
        work.until[x] = k


@inline
def _free_after_last_use(
    k: int,
    x: int,
    g: int,
    log: LogColumns,
    specs: Specs,
    work: PlannerScratch,
    free: I32,
    next_rows: I32,
) -> None:
    """Free the memory of ``x`` for other rows of group ``g`` if position ``k`` reads it last."""
    if x >= 0 and work.group[x] == g and work.until[x] == k and work.escape[x] == IN_SLOT:
        work.until[x] = -1
        lines = _line_count(x, log, specs)
        next_rows[x] = free[lines]
        free[lines] = x


@jit
def place_small(
    g: int,
    log: LogColumns,
    codes: Codes,
    specs: Specs,
    work: PlannerScratch,
    out: PlanTables,
    free: I32,
) -> int:
    """Assign memory to values inside a group of small rows, counted in lines from 0 on.

    Memory is reused after its last use. ``free`` has capacity for a list of free parts by size.
    Returns the number of lines.
    """
    begin = out.groups[GROUP * g + G_ROWS]
    end = out.groups[GROUP * g + G_ROWS_END]
    # `place_temporaries` also has lists in ``work.rows``, of rows that leave a group.
    start_lines, next_rows = work.slot, work.rows
    for k in range(begin, end):
        row = out.order[k]
        work.until[row] = k
        if codes.arity[log.code[row]] == VARIADIC:
            for j in range(log.a[row], log.a[row] + log.b[row]):
                _record_read(k, work.many[j], g, work)
        else:
            for j in range(3):
                _record_read(k, work.operands[3 * row + j], g, work)
    for lines in range(SMALL_ROW_BYTES // LINE + 1):
        free[lines] = -1
    total = 0
    for k in range(begin, end):
        row = out.order[k]
        if work.escape[row] == IN_SLOT:
            lines = _line_count(row, log, specs)
            reused_row = free[lines]
            if reused_row >= 0:
                free[lines] = next_rows[reused_row]
                start_lines[row] = start_lines[reused_row]
            else:
                start_lines[row] = total
                total += lines
        if codes.arity[log.code[row]] == VARIADIC:
            for j in range(log.a[row], log.a[row] + log.b[row]):
                _free_after_last_use(k, work.many[j], g, log, specs, work, free, next_rows)
        else:
            for j in range(3):
                _free_after_last_use(
                    k, work.operands[3 * row + j], g, log, specs, work, free, next_rows
                )
    return total


@jit
def place_temporaries(
    log: LogColumns,
    codes: Codes,
    specs: Specs,
    work: PlannerScratch,
    out: PlanTables,
    n_groups: int,
    capacity: int,
) -> tuple[int, int]:
    """Give each temporary a range of the arena, first fit, which is freed after its last use.

    ``out.storage`` and ``out.offset`` get the rows' escapes and their offsets in the arena, both in
    the order of ``out.order``. ``work.alloc`` lists the rows that need a separate buffer.
    Returns their number, and the arena's size in bytes. There are ``capacity`` rows.
    """
    groups = out.groups
    start_lines = work.slot  # lane groups get their slots later
    # The contents of these columns are no longer needed.
    first_rows, next_rows, free = work.phase, work.rows, work.tables
    allocated = 0
    arena = 0
    n_ranges = 0
    for g in range(n_groups):
        first_rows[g] = -1
    for g in range(n_groups):
        kind = groups[GROUP * g + G_KIND]
        region = 0
        start = -1
        if kind == SMALL:
            region = place_small(g, log, codes, specs, work, out, work.free_places)
            start = _allocate(region, free, capacity, n_ranges) if region else 0
            if start < 0:
                start = arena
                arena += region
        region_start = start
        for k in range(groups[GROUP * g + G_ROWS], groups[GROUP * g + G_ROWS_END]):
            row = out.order[k]
            if kind == SMALL and work.escape[row] == IN_SLOT:
                work.escape[row] = TEMPORARY
                out.storage[k] = TEMPORARY
                out.offset[k] = LINE * (region_start + start_lines[row])
                continue
            out.storage[k] = work.escape[row]
            if kind == SHARED or work.escape[row] == IN_SLOT or specs.size[log.spec[row]] == 1:
                continue
            if work.escape[row] == KEPT:
                work.alloc[allocated] = row
                allocated += 1
                continue
            size = _line_count(row, log, specs)
            start = _allocate(size, free, capacity, n_ranges)
            if start < 0:
                start = arena
                arena += size
            start_lines[row] = start
            out.offset[k] = LINE * start
            next_rows[row] = first_rows[work.last[row]]
            first_rows[work.last[row]] = row
        if region:
            n_ranges = _free_range(region_start, region, free, capacity, n_ranges)
        row = first_rows[g]
        while row >= 0:
            n_ranges = _free_range(
                start_lines[row], _line_count(row, log, specs), free, capacity, n_ranges
            )
            row = next_rows[row]
    return allocated, LINE * arena
