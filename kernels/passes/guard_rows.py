"""The table of guards that `guards` compares: kinds of tests and columns.

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
