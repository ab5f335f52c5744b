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
def _use(x: int, g: int, until: int, retain: int, work: PlannerScratch) -> None:
    """Record that group ``g`` reads ``x`` while groups up to ``until`` run.

    A value of another group must therefore be stored outside of that group's slots.
    """
    if x < 0:
        return
    if work.group[x] != g and work.escape[x] == IN_SLOT:
        work.escape[x] = KEPT if retain else TEMPORARY
    r = work.root[x]
    if r >= 0:
        work.last[r] = max(work.last[r], until)


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
        until = g + groups[GROUP * g + G_BLOCKS]
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
                    _use(work.many[j], g, until, retain, work)
            else:
                for j in range(3):
                    _use(work.operands[3 * row + j], g, until, retain, work)


@inline
def _take(size: int, free: I32, capacity: int, stretches: int) -> int:
    """Take ``size`` lines from the first free range that is large enough; -1 if no range is."""
    for f in range(stretches):
        if free[capacity + f] >= size:
            place = free[f]
            free[f] += size
            free[capacity + f] -= size
            return place
    return -1


@inline
def _give(begin: int, size: int, free: I32, capacity: int, stretches: int) -> int:
    """Free lines of the arena. Returns the new number of free ranges."""
    for f in range(stretches):
        if free[f] + free[capacity + f] == begin:
            free[capacity + f] += size
            return stretches
        if begin + size == free[f]:
            free[f] = begin
            free[capacity + f] += size
            return stretches
    free[stretches] = begin
    free[capacity + stretches] = size
    return stretches + 1


@inline
def _lines(row: int, log: LogColumns, specs: Specs) -> int:
    return (specs.bytes[log.spec[row]] + LINE - 1) // LINE


@inline
def _read_by(k: int, x: int, g: int, work: PlannerScratch) -> None:
    """Record that the row at position ``k`` of group ``g`` reads ``x``."""
    if x >= 0 and work.group[x] == g:
        work.until[x] = k


@inline
def _let_go(
    k: int,
    x: int,
    g: int,
    log: LogColumns,
    specs: Specs,
    work: PlannerScratch,
    free: I32,
    nexts: I32,
) -> None:
    """Free the memory of ``x`` for other rows of group ``g`` if position ``k`` reads it last."""
    if x >= 0 and work.group[x] == g and work.until[x] == k and work.escape[x] == IN_SLOT:
        work.until[x] = -1
        lines = _lines(x, log, specs)
        nexts[x] = free[lines]
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
    where, nexts = work.slot, work.rows
    for k in range(begin, end):
        row = out.order[k]
        work.until[row] = k
        if codes.arity[log.code[row]] == VARIADIC:
            for j in range(log.a[row], log.a[row] + log.b[row]):
                _read_by(k, work.many[j], g, work)
        else:
            for j in range(3):
                _read_by(k, work.operands[3 * row + j], g, work)
    for lines in range(SMALL_ROW_BYTES // LINE + 1):
        free[lines] = -1
    total = 0
    for k in range(begin, end):
        row = out.order[k]
        if work.escape[row] == IN_SLOT:
            lines = _lines(row, log, specs)
            before = free[lines]
            if before >= 0:
                free[lines] = nexts[before]
                where[row] = where[before]
            else:
                where[row] = total
                total += lines
        if codes.arity[log.code[row]] == VARIADIC:
            for j in range(log.a[row], log.a[row] + log.b[row]):
                _let_go(k, work.many[j], g, log, specs, work, free, nexts)
        else:
            for j in range(3):
                _let_go(k, work.operands[3 * row + j], g, log, specs, work, free, nexts)
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
    where = work.slot  # lane groups get their slots later
    heads, nexts, free = work.phase, work.rows, work.tables  # their contents are no longer needed
    allocated = 0
    arena = 0
    stretches = 0
    for g in range(n_groups):
        heads[g] = -1
    for g in range(n_groups):
        kind = groups[GROUP * g + G_KIND]
        region = 0
        place = -1
        if kind == SMALL:
            region = place_small(g, log, codes, specs, work, out, work.free_places)
            place = _take(region, free, capacity, stretches) if region else 0
            if place < 0:
                place = arena
                arena += region
        within = place
        for k in range(groups[GROUP * g + G_ROWS], groups[GROUP * g + G_ROWS_END]):
            row = out.order[k]
            if kind == SMALL and work.escape[row] == IN_SLOT:
                work.escape[row] = TEMPORARY
                out.storage[k] = TEMPORARY
                out.offset[k] = LINE * (within + where[row])
                continue
            out.storage[k] = work.escape[row]
            if kind == SHARED or work.escape[row] == IN_SLOT or specs.size[log.spec[row]] == 1:
                continue
            if work.escape[row] == KEPT:
                work.alloc[allocated] = row
                allocated += 1
                continue
            size = _lines(row, log, specs)
            place = _take(size, free, capacity, stretches)
            if place < 0:
                place = arena
                arena += size
            where[row] = place
            out.offset[k] = LINE * place
            nexts[row] = heads[work.last[row]]
            heads[work.last[row]] = row
        if region:
            stretches = _give(within, region, free, capacity, stretches)
        row = heads[g]
        while row >= 0:
            stretches = _give(where[row], _lines(row, log, specs), free, capacity, stretches)
            row = nexts[row]
    return allocated, LINE * arena
