"""Moves rows to later groups, and groups to other places, so that fewer values leave the cache.

`bring_near` moves lane groups directly after the whole-array row that they wait for. The row's
result is still in the cache then. If its kernel computes the result in parts, in order, threads
continue with the blocks of each part immediately; see `run_array_kernels` in
``kernels/cpu/groups.py``.
"""

from __future__ import annotations

from ..jit import inline, jit
from .layout import G_BLOCKS, G_KIND, G_ROWS, G_ROWS_END, GROUP, LANES, NO_OPERAND, WHOLE
from .program import lane_spec, row_of
from .rows import ELEMENTWISE, VARIADIC
from .tables import U8, Codes, LogColumns, PlannerScratch, PlanTables, Specs

MAX_READS = 2  # arrays that a row reads at most if it moves to save its own array
UNUSED, SEVERAL = -1, -2  # values of ``root`` in `delay_rows`, instead of a group


@inline
def _record_reader(x: int, g: int, work: PlannerScratch) -> None:
    """Record that a row of group ``g`` reads ``x``."""
    if x >= 0:
        work.until[x] += 1
        if work.root[x] == UNUSED:
            work.root[x] = g
        elif work.root[x] != g:
            work.root[x] = SEVERAL


@inline
def _record_readers(row: int, log: LogColumns, codes: Codes, work: PlannerScratch) -> None:
    """Record that ``row`` reads its operands."""
    g = work.group[row]
    if codes.arity[log.code[row]] == VARIADIC:
        for j in range(log.a[row], log.a[row] + log.b[row]):
            _record_reader(work.many[j], g, work)
        return
    x = work.operands[3 * row]
    y = work.operands[3 * row + 1]
    z = work.operands[3 * row + 2]
    _record_reader(x, g, work)
    if y != x:
        _record_reader(y, g, work)
    if z != x and z != y:
        _record_reader(z, g, work)


@inline
def _count_reads(row: int, log: LogColumns, specs: Specs, want: U8, work: PlannerScratch) -> int:
    """The number of arrays that a row reads if it moves, with the rows that only it reads.

    More than `MAX_READS` if one of its operands must be computed in their group, but need not be
    stored. Earlier rows have their counts in ``work.slot``.
    """
    total = 0
    for j in range(3):
        x = work.operands[3 * row + j]
        if x >= 0 and work.group[x] == work.group[row]:
            if want[x] or work.root[x] == SEVERAL:
                total += 1  # it is stored anyway
            elif work.until[x] == 1:
                total += work.slot[x]
            else:
                return MAX_READS + 1
        elif x != NO_OPERAND:
            if specs.size[log.spec[row_of(x)]] == specs.size[log.spec[row]]:
                total += 1
    return min(total, MAX_READS + 1)


@jit
def delay_rows(
    log: LogColumns,
    codes: Codes,
    specs: Specs,
    want: U8,
    work: PlannerScratch,
    count: int,
    classes: int,
    sizes: int,
) -> None:
    """Move elementwise rows to the lane group that reads their values, if no other group does.

    `group_rows` puts each row into the first group that can compute it. A later group that computes
    it, from operands that are stored anyway, saves storing its value. In ``work.tables`` there are
    the classes and the sizes of groups. Groups may become empty.
    """
    table, rows = work.tables, work.rows
    for k in range(count):
        work.until[rows[k]] = 0
        work.root[rows[k]] = UNUSED
    for k in range(count):
        _record_readers(rows[k], log, codes, work)
    for k in range(count):
        row = rows[k]
        is_movable = codes.kind[log.code[row]] == ELEMENTWISE
        if is_movable and table[classes + work.group[row]] >= 0:
            work.slot[row] = _count_reads(row, log, specs, want, work)
        else:
            work.slot[row] = MAX_READS + 1
    for k in range(count):
        work.root[rows[k]] = UNUSED
    for k in range(count):
        row = rows[count - 1 - k]
        g = work.group[row]
        reader = work.root[row]
        if (
            reader >= 0
            and reader != g
            and table[classes + reader] == table[classes + g]
            and work.slot[row] <= MAX_READS
            and want[row] == 0
        ):
            table[sizes + g] -= 1
            table[sizes + reader] += 1
            work.group[row] = reader
        _record_readers(row, log, codes, work)


@jit
def bring_near(
    log: LogColumns,
    codes: Codes,
    specs: Specs,
    work: PlannerScratch,
    out: PlanTables,
    n_groups: int,
    follow: int,
) -> None:
    """Move lane groups directly after the last group that they read.

    That group must be a whole-array row with as many elements. At most one group follows it, and
    sets G_BLOCKS of the row's group to 1. All other groups keep their order, so each group still
    runs after those that it reads. Without ``follow``, no group moves.
    """
    groups, order, table = out.groups, out.order, work.tables
    # Five columns of ``table``. By old index of a group: the group that follows it (-1: none), and
    # whether it follows another. By new index: the old index, the kind, and the start of the rows.
    follows, places, kinds, begins = n_groups, 2 * n_groups, 3 * n_groups, 4 * n_groups
    for g in range(n_groups):
        groups[GROUP * g + G_BLOCKS] = 0
        table[g] = -1
        table[follows + g] = 0
    if follow == 0:
        return
    n_moved = 0
    for g in range(n_groups):
        if groups[GROUP * g + G_KIND] != LANES:
            continue
        begin, end = groups[GROUP * g + G_ROWS], groups[GROUP * g + G_ROWS_END]
        last_read = -1
        for k in range(begin, end):
            for j in range(3):
                x = work.operands[3 * order[k] + j]
                if x >= 0 and work.group[x] != g:
                    last_read = max(last_read, work.group[x])
        if last_read < 0 or groups[GROUP * last_read + G_KIND] != WHOLE or table[last_read] >= 0:
            continue
        size = specs.size[log.spec[order[groups[GROUP * last_read + G_ROWS]]]]
        if size == specs.size[lane_spec(order[begin], log, codes, work)]:
            table[last_read] = g
            table[follows + g] = 1
            n_moved += 1
    if n_moved == 0:
        return
    new_index = 0
    n_rows = 0
    for old_index in range(n_groups):
        g = old_index
        if table[follows + g]:
            g = -1
        while g >= 0:
            table[places + new_index] = g
            table[kinds + new_index] = groups[GROUP * g + G_KIND]
            table[begins + new_index] = n_rows
            for k in range(groups[GROUP * g + G_ROWS], groups[GROUP * g + G_ROWS_END]):
                work.rows[n_rows] = order[k]
                work.group[order[k]] = new_index
                n_rows += 1
            new_index += 1
            g = table[g]
    for k in range(n_rows):
        order[k] = work.rows[k]
    for k in range(n_groups):
        rows_end = n_rows
        if k + 1 < n_groups:
            rows_end = table[begins + k + 1]
        groups[GROUP * k + G_KIND] = table[kinds + k]
        groups[GROUP * k + G_ROWS] = table[begins + k]
        groups[GROUP * k + G_ROWS_END] = rows_end
        groups[GROUP * k + G_BLOCKS] = 1 if table[table[places + k]] >= 0 else 0
