"""Groups that follow what they read: a lane group directly behind the whole-array row it waits for.

The row's result is still in the cache then. If the kernel computes its result part by part, in
order, threads continue with the blocks of each part immediately; see `groups.whole` in
``kernels/cpu``.
"""

from __future__ import annotations

from ..jit import jit
from .layout import G_BLOCKS, G_KIND, G_ROWS, G_ROWS_END, GROUP, LANES, WHOLE
from .program import lane_spec
from .tables import Codes, Log, Plan, Specs, Work


@jit
def bring_near(
    log: Log, codes: Codes, specs: Specs, work: Work, out: Plan, n_groups: int, follow: int
) -> None:
    """Move lane groups in front of what stands between them and the last row that they wait for.

    That row is to be a whole-array one of as many elements; one group follows it, and G_BLOCKS of
    the row's group is 1 then. All other groups stay in their order, so that a group still comes
    after those that it reads. Without ``follow`` nothing moves.
    """
    groups, order, table = out.groups, out.order, work.tables
    # By group: which one follows it; whether it follows one. By place: which group goes there;
    # its kind; where its rows begin.
    follows, places, kinds, begins = n_groups, 2 * n_groups, 3 * n_groups, 4 * n_groups
    for g in range(n_groups):
        groups[GROUP * g + G_BLOCKS] = 0
        table[g] = -1
        table[follows + g] = 0
    if follow == 0:
        return
    moved = 0
    for g in range(n_groups):
        if groups[GROUP * g + G_KIND] != LANES:
            continue
        begin, end = groups[GROUP * g + G_ROWS], groups[GROUP * g + G_ROWS_END]
        last = -1
        for k in range(begin, end):
            for j in range(3):
                x = work.operands[3 * order[k] + j]
                if x >= 0 and work.group[x] != g:
                    last = max(last, work.group[x])
        if last < 0 or groups[GROUP * last + G_KIND] != WHOLE or table[last] >= 0:
            continue
        size = specs.size[log.spec[order[groups[GROUP * last + G_ROWS]]]]
        if size == specs.size[lane_spec(order[begin], log, codes, work)]:
            table[last] = g
            table[follows + g] = 1
            moved += 1
    if moved == 0:
        return
    place = 0
    total = 0
    for first in range(n_groups):
        g = first
        if table[follows + g]:
            g = -1
        while g >= 0:
            table[places + place] = g
            table[kinds + place] = groups[GROUP * g + G_KIND]
            table[begins + place] = total
            for k in range(groups[GROUP * g + G_ROWS], groups[GROUP * g + G_ROWS_END]):
                work.rows[total] = order[k]
                work.group[order[k]] = place
                total += 1
            place += 1
            g = table[g]
    for k in range(total):
        order[k] = work.rows[k]
    for k in range(n_groups):
        last = total
        if k + 1 < n_groups:
            last = table[begins + k + 1]
        groups[GROUP * k + G_KIND] = table[kinds + k]
        groups[GROUP * k + G_ROWS] = table[begins + k]
        groups[GROUP * k + G_ROWS_END] = last
        groups[GROUP * k + G_BLOCKS] = 1 if table[table[places + k]] >= 0 else 0
