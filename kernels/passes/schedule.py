"""Moves lane groups directly after the whole-array row that they wait for.

The row's result is still in the cache then. If its kernel computes the result in parts, in order,
threads continue with the blocks of each part immediately; see `run_array_kernels` in
``kernels/cpu/groups.py``.
"""

from __future__ import annotations

from ..jit import jit
from .layout import G_BLOCKS, G_KIND, G_ROWS, G_ROWS_END, GROUP, LANES, WHOLE
from .program import lane_spec
from .tables import Codes, LogColumns, PlannerScratch, PlanTables, Specs


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
