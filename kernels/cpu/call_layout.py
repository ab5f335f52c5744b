"""The layout of the parameters of `calls`, of a pile, and of the table of piles.

`numtape.core.loops.runtime.arenas` writes the parameters and the table, and trims piles.
"""

from __future__ import annotations

# The table: the numbers of piles, of stacks that waited, of forward and of reverse sweeps; then the
# state (FREE, taken (0) or STALE) and the address of each pile.
T_COUNT, T_WAITED, T_FORWARD, T_REVERSE, T_PILES = 0, 1, 2, 3, 4
FREE, STALE = 1, 2
MAX_PILES = 16

# A pile: its end, the number of entries, calls and the highest top since it was trimmed, and the
# highest top before. Then the entries, then stacks.
P_END, P_COUNT, P_CALLS, P_RECENT, P_HIGH = range(5)
P_ENTRIES = 64
MAX_ENTRIES = 1024
P_START = P_ENTRIES + 16 * MAX_ENTRIES
CALLS_BEFORE_TRIM = 64  # calls after which a pile is trimmed if it was much higher before
MIN_TRIM_BYTES = 1 << 22

# Parameters: the table, the sweeps, the numbers of operands before the arguments and of all, the
# number of words of the sweeps, the bytes for copies before a stack, its limit (0: no limit),
# whether it waits, the number of elements of the row and their bytes, the number of results (0: one
# float), of their words on top of the stack, and of the seeds of the reverse sweep; then, for each
# word of the sweeps, its kind and four numbers; then, for each result, nine numbers.
(
    TABLE,
    FORWARD,
    REVERSE,
    FIRST,
    OPERANDS,
    WORDS,
    COPIES,
    LIMIT,
    WAITS,
    SIZE,
    ITEM,
    RESULTS,
    TOP,
    SEEDS,
    DESCRIPTIONS,
) = range(15)
# An axis (its length); an argument (its number); an argument that is written to (its number, the
# offset of its copy, bytes); an adjoint in the result (its offset), or one that is converted (its
# offset in the result, or -1 if it is not needed, its own offset, elements, bytes per element).
AXIS, ARGUMENT, COPIED, DIRECT, CONVERTED = range(5)

# A result: its kind; its offset (in words from the first result; for an argument, the index of the
# sweeps' word with its address); its adjoint (for a number the index of the seed, for an argument
# the index of the word; -1: no adjoint); its dtype (uint8 counts as bool, uint64 as int64); its
# elements, its axes, and their three lengths.
NUMBER, LOCAL, GIVEN = range(3)
TRUTH, BITS8, BITS16, BITS32, BITS64, SINGLE, DOUBLE, UNSIGNED16, UNSIGNED32 = range(9)
ROW_HEADER_WORDS = 2  # words of a row before the results: status and number of the waiting stack

MAX_WORDS = 120  # of words and of seeds
