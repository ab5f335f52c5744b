"""Threads that share the groups of one sweep, without going back to Python between groups.

At the first large group, an execution returns to Python, which wakes other threads; these call
`assist`. From then on the leading thread opens a round for each large group (`lead`). The others
poll a word in memory for rounds, and take blocks of a round until none is left. A thread that has
waited long leaves, because the work between two groups may not be shareable.

Rounds are numbered: an odd number means open. A thread that wants to take part first registers
(INSIDE), and then checks that the round is still open. The leader first closes the round, and then
waits until no thread is inside. So no thread works on a group that is complete. The leader need not
wait for threads that are about to leave: each hiring begins at a multiple of `HIRING`, and threads
of an earlier hiring take no part.
"""

from __future__ import annotations

from ..constants import (
    HIRING,
    TEAM_HIRED,
    TEAM_HOME,
    TEAM_INSIDE,
    TEAM_ITEM,
    TEAM_ROUND,
    TEAM_YIELD,
)
from ..jit import POINTERS, call0, exchange, fetch_add, inline, jit, load_now, pause
from ..passes.layout import G_KIND, G_WIDTH, GROUP, LANES
from ..passes.tables import LogColumns, PlanTables, Specs, ThreadMemory
from .groups import count_blocks, run_array_kernels, run_lane_group

numbers = POINTERS["int64"]

# Byte offsets of a team's words, each on its own cache line: the round; its group, and whether the
# next group is included; the number of threads inside; the numbers of threads that were hired, and
# that have left; the address of the function that yields the processor, or 0.
ROUND, ITEM, INSIDE = 64 * TEAM_ROUND, 64 * TEAM_ITEM, 64 * TEAM_INSIDE
HIRED, HOME, YIELD = 64 * TEAM_HIRED, 64 * TEAM_HOME, 64 * TEAM_YIELD
PATIENCE = 1 << 17  # polls of the round without work: a few milliseconds
BUSY = 1 << 10  # polls of INSIDE before yielding the processor
PARTS = 8  # shares per thread, so that the others do not wait for a slow one


@inline
def present(team: int) -> bool:
    """Whether a hired thread is still present to share a group."""
    return team != 0 and numbers(team + HIRED)[0] > load_now(team + HOME)


@inline
def _part(
    log: LogColumns,
    cells: int,
    specs: Specs,
    plan: PlanTables,
    g: int,
    with_next_group: int,
    memory: ThreadMemory,
    threads: int,
) -> None:
    """Take blocks of a group, or of two, until none is left."""
    groups = plan.groups
    if groups[GROUP * g + G_KIND] == LANES:
        blocks = count_blocks(plan, g)
        run_lane_group(log, cells, specs, plan, g, memory, max(1, blocks // (PARTS * threads)))
    else:
        count = groups[GROUP * g + G_WIDTH]
        run_array_kernels(
            log, cells, specs, plan, g, with_next_group, memory, max(1, count // (PARTS * threads))
        )


@jit
def lead(
    log: LogColumns,
    cells: int,
    specs: Specs,
    plan: PlanTables,
    g: int,
    with_next_group: int,
    memory: ThreadMemory,
    team: int,
) -> None:
    """Compute a group, and the next one if ``with_next_group``, with the polling threads."""
    numbers(memory.counter)[0] = 0
    numbers(team + ITEM)[0] = g
    numbers(team + ITEM)[1] = with_next_group
    number = numbers(team + ROUND)[0] + 1
    exchange(team + ROUND, number)
    _part(log, cells, specs, plan, g, with_next_group, memory, numbers(team + HIRED)[0] + 1)
    exchange(team + ROUND, number + 1)
    looks = 0
    while load_now(team + INSIDE) > 0:
        looks += 1
        if looks > BUSY and numbers(team + YIELD)[0] != 0:
            call0(numbers(team + YIELD)[0])
        else:
            pause()


@jit
def assist(
    log: LogColumns,
    cells: int,
    specs: Specs,
    plan: PlanTables,
    memory: ThreadMemory,
    team: int,
    hiring: int,
    begun: int,
) -> int:
    """Take part in rounds of ``hiring``, until it ends or no round has opened for long.

    Sets the word at address ``begun`` when it has read its parameters, so that their memory can be
    reused.
    """
    exchange(begun, 1)
    last = 0
    looks = 0
    while looks < PATIENCE:
        number = load_now(team + ROUND)
        if number < hiring or number - hiring >= HIRING:
            break
        if number % 2 == 1 and number != last:
            fetch_add(team + INSIDE, 1)
            if load_now(team + ROUND) == number:
                group, with_next_group = numbers(team + ITEM)[0], numbers(team + ITEM)[1]
                threads = numbers(team + HIRED)[0] + 1
                _part(log, cells, specs, plan, group, with_next_group, memory, threads)
                last = number
                looks = 0
            fetch_add(team + INSIDE, -1)
        else:
            pause()
            looks += 1
    fetch_add(team + HOME, 1)
    return 0
