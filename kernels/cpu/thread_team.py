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
    CHUNKS_PER_THREAD,
    HIRING,
    TEAM_GROUP,
    TEAM_HIRED,
    TEAM_INSIDE,
    TEAM_LEFT,
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
ROUND, GROUP_WORDS, INSIDE = 64 * TEAM_ROUND, 64 * TEAM_GROUP, 64 * TEAM_INSIDE
HIRED, LEFT, YIELD = 64 * TEAM_HIRED, 64 * TEAM_LEFT, 64 * TEAM_YIELD
MAX_POLLS = 1 << 17  # polls of the round without work: a few milliseconds
POLLS_BEFORE_YIELD = 1 << 10  # polls of INSIDE by the leader


@inline
def has_helpers(team: int) -> bool:
    """Whether hired threads are still present to share a group."""
    return team != 0 and numbers(team + HIRED)[0] > load_now(team + LEFT)


@inline
def _share_group(
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
        run_lane_group(
            log, cells, specs, plan, g, memory, max(1, blocks // (CHUNKS_PER_THREAD * threads))
        )
    else:
        count = groups[GROUP * g + G_WIDTH]
        run_array_kernels(
            log,
            cells,
            specs,
            plan,
            g,
            with_next_group,
            memory,
            max(1, count // (CHUNKS_PER_THREAD * threads)),
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
    numbers(team + GROUP_WORDS)[0] = g
    numbers(team + GROUP_WORDS)[1] = with_next_group
    round_number = numbers(team + ROUND)[0] + 1
    exchange(team + ROUND, round_number)
    _share_group(log, cells, specs, plan, g, with_next_group, memory, numbers(team + HIRED)[0] + 1)
    exchange(team + ROUND, round_number + 1)
    polls = 0
    while load_now(team + INSIDE) > 0:
        polls += 1
        if polls > POLLS_BEFORE_YIELD and numbers(team + YIELD)[0] != 0:
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
    last_round = 0
    polls = 0
    while polls < MAX_POLLS:
        round_number = load_now(team + ROUND)
        if round_number < hiring or round_number - hiring >= HIRING:
            break
        if round_number % 2 == 1 and round_number != last_round:
            fetch_add(team + INSIDE, 1)
            if load_now(team + ROUND) == round_number:
                group = numbers(team + GROUP_WORDS)[0]
                with_next_group = numbers(team + GROUP_WORDS)[1]
                threads = numbers(team + HIRED)[0] + 1
                _share_group(log, cells, specs, plan, group, with_next_group, memory, threads)
                last_round = round_number
                polls = 0
            fetch_add(team + INSIDE, -1)
        else:
            pause()
            polls += 1
    fetch_add(team + LEFT, 1)
    return 0
