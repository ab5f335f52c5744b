"""The table of guards that `guards` compares: kinds of tests, columns, functions.

`numtape.core.replay.observe.guards` writes it.
"""

from __future__ import annotations

# Kinds of tests.
(
    WORD,
    ENTRY,
    ATTRIBUTE,
    METHOD,
    ITEM,
    TRUTH,
    LENGTH,
    ITEMS,
    KEYS,
    ENTRIES,
    ANSWER,
    CONTAINS,
    HALF,
) = range(13)
HEADER = 6  # words before the first row; see `first_changed`
# Columns of a row: kind of test, object, key, expected object, and its bits if it is a float.
KIND, HOLDER, KEY, EXPECTED, BITS, COLUMNS = range(6)
# Indices of C API functions in the table of their addresses.
(
    GET_ENTRY,
    GET_ATTRIBUTE,
    GET_ITEM,
    IS_TRUE,
    LENGTH_OF,
    DECREF,
    CLEAR_ERROR,
    NEXT_ENTRY,
    DICT_SIZE,
    HAS,
    FLOAT_TYPE,
    METHOD_TYPE,
) = range(12)
