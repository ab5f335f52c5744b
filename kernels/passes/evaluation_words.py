"""The words that `repeated_evaluation` reads, by their indices.

`numtape.core.cpu.repeated_evaluation` writes them.
"""

from __future__ import annotations

# Words of each evaluation.
(
    WORDS,
    WORD_COUNT,
    ENTRIES,
    ENTRY_COUNT,
    LOCK,
    ACQUIRE,
    RELEASE,
    COLUMNS,
    EXTRA,
    WORKSPACE,
    CODE,
    A,
    B,
    C,
    SPEC,
    CELL,
    STATE,
    OPERANDS_HERE,
    WANT,
    FIRST_ROW,
    COUNT,
    STRUCTURE,
    FLAGS,
    OPERANDS,
    OPERAND_COUNT,
    ORDER,
    ORDER_COUNT,
    SWEEP,
    BLOCK,
    BEGIN,
    COMPUTED,
    END,
    LEFT,
    HITS,
    ARRAYS,
    KINDS,
    BUFFER_COUNT,
    BUFFER_ROWS,
    PLACES,
    SIZES,
    INDEX,
    EVALUATION_WORDS,
) = range(42)
