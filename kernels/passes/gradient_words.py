"""The words that `repeated_gradient` reads, besides those of evaluations, by their indices.

`numtape.core.derive.repeated_gradients` writes them.
"""

from __future__ import annotations

from .evaluation_words import PROCESS_WORDS as FIRST

# Words of the process, after those of evaluations.
(
    MAKE_TUPLE,
    GET_SLICE,
    LIST_APPEND,
    SET_ADD,
    SET_ENTRY,
    SET_SLICE,
    VARIABLE,
    INT,
    AT_PERSISTENT,
    AT_ACCESSED,
    AT_RANGES,
    AT_EVENTS,
    AT_VARIABLE_FLAGS,
    AT_THREAD,
    AT_TRAINABLE,
    AT_VARIABLE_SPEC,
    AT_GRADIENT_FAST_PATHS,
) = range(FIRST, FIRST + 17)

# Words of each gradient.
(
    GENERATION,
    EXPECTED_GENERATION,
    COLUMNS,
    EXTRA,
    CODE,
    A,
    B,
    C,
    SPEC,
    CELL,
    STATE,
    OPERANDS_HERE,
    ROWS,
    STRUCTURE,
    OPERANDS,
    OPERAND_COUNT,
    ADDED,
    APPENDED,
    CELLS,
    STATES,
    ADDED_OPERANDS,
    ADDED_OPERAND_COUNT,
    N_AFTER,
    EXTRA_N_AFTER,
    THREAD,
    ACCESSED,
    BOUNDS,
    BOUND_COUNT,
    EVENTS,
    EVENT_COUNT,
    TRAINABLE,
    VARIABLE_COUNT,
    TARGET,
    TARGET_SPEC,
    SINGLE,
    SOURCES,
    SOURCE_COUNT,
    KEY,
    SEED,
    SEED_ROW,
    WATCHED,
    HITS,
    GRADIENT_WORDS,
) = range(43)
