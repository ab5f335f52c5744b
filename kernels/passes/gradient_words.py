"""The words that `repeated_gradient` reads, besides those of evaluations, by their indices.

`numtape.core.derive.repeated_gradients` writes them.
"""

from __future__ import annotations

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
