"""The words that `repeated_call` reads, by their indices.

`numtape.core.replay.repeated_calls` writes them.
"""

from __future__ import annotations

# Words of each call: counts, and addresses of tables and functions.
(
    ARGUMENTS,
    APART,
    SPECS,
    ROWS,
    SIZES,
    VARIABLES,
    VARIABLE_ROWS,
    VARIABLE_SIZES,
    NAMES,
    NAME_COUNT,
    OWN,
    OWN_COUNT,
    TRAINING,
    CELL,
    SWEEP,
    BLOCK,
    BEGIN,
    COMPUTED,
    END,
    LEFT,
    GUARDS,
    PLACES,
    EXPECTED,
    BUFFERS,
    BUFFER_ROWS,
    BUFFER_KINDS,
    KIND,
    OUTPUTS,
    OUT_PLACES,
    OUT_BUFFERS,
    OUT_SPECS,
    CONSTANTS,
    REBUILD,
    ASSIGNED,
    ASSIGNED_VARIABLES,
    NEW_PLACES,
    NEW_BUFFERS,
    NEW_SPECS,
    ACQUIRE,
    RELEASE,
    DRAWS,
    DRAW_TABLE,
    DRAWN,
    DRAW_NUMBER,
    UNSEEDED,
    DRAW_ACQUIRE,
    DRAW_RELEASE,
    COUNTS,
    CALL_WORDS,
) = range(49)

# Words of a row of DRAW_TABLE: the row of the log, whether its value is in a cell, the parameters
# of `kernels.cpu.random.drawn`, their number of units, and whether the draw is counted.
DRAW_ROW, IN_CELL, DRAW_PARAMETERS, DRAW_UNITS, IS_COUNTED, DRAW_TABLE_WORDS = range(6)

ONE, CONSTANT, LIST, TUPLE, OTHER = range(5)  # kinds of results
