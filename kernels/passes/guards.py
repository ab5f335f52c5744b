"""Checks in one pass that all Python state that a recording read is unchanged.

The pass calls CPython's C API by address. The caller holds the GIL.
"""

from __future__ import annotations

from ..cpython.words import (
    CLEAR_ERROR,
    DECREF,
    DICT_SIZE,
    FIND_ENTRY,
    FLOAT,
    FLOAT_TYPE,
    GET_ATTRIBUTE,
    GET_ITEM,
    IS_TRUE,
    LENGTH_OF,
    LIST_ITEMS,
    METHOD_FUNCTION,
    METHOD_SELF,
    METHOD_TYPE,
    NEXT_ENTRY,
    SEQUENCE_CONTAINS,
    SIZE,
    TYPE,
)
from ..jit import POINTERS, call1, call2, call4, jit
from .guard_rows import (
    ATTRIBUTE,
    BITS,
    COLUMNS,
    CONTAINS,
    ENTRIES,
    ENTRY,
    EXPECTED,
    HALF,
    HEADER,
    HOLDER,
    ITEM,
    ITEMS,
    KEY,
    KEYS,
    KIND,
    LENGTH,
    METHOD,
    TRUTH,
    WORD,
)

_at = POINTERS["int64"]


@jit
def _is_unchanged(actual: int, expected: int, bits: int, floats: int) -> bool:
    """Whether an object is the expected one, or a float with the same bits."""
    if actual == expected:
        return True
    if actual == 0 or bits == -1 or _at(actual + TYPE)[0] != floats:
        return False
    return _at(actual + FLOAT)[0] == bits


@jit
def first_changed(table: int, begin: int) -> int:
    """The first row from ``begin`` on whose test fails; the number of rows if all succeed.

    ``table`` is the address of a header, followed by the rows. The header has the number of rows,
    the address of the words of the process, that of a list that is empty while all objects live,
    and three words of scratch.
    """
    header = _at(table)
    count, p, deleted = header[0], _at(header[1]), _at(header[2] + SIZE)
    scratch = table + 24
    for k in range(begin, count):
        if deleted[0] != 0:
            return k
        row = _at(table + 8 * (HEADER + COLUMNS * k))
        kind, holder, key, expected = row[KIND], row[HOLDER], row[KEY], row[EXPECTED]
        if kind == WORD:
            is_unchanged = _is_unchanged(_at(holder + key)[0], expected, row[BITS], p[FLOAT_TYPE])
        elif kind == HALF:  # four bytes
            is_unchanged = _at(holder + key)[0] & 0xFFFFFFFF == expected
        elif kind == ENTRY:
            actual = call2(p[FIND_ENTRY], holder, key)
            is_unchanged = _is_unchanged(actual, expected, row[BITS], p[FLOAT_TYPE])
        elif kind == ATTRIBUTE or kind == ITEM:
            actual = call2(p[GET_ATTRIBUTE if kind == ATTRIBUTE else GET_ITEM], holder, key)
            is_unchanged = _is_unchanged(actual, expected, row[BITS], p[FLOAT_TYPE])
            if actual == 0:
                call1(p[CLEAR_ERROR], 0)
            else:
                call1(p[DECREF], actual)
        elif kind == METHOD:
            actual = call2(p[GET_ATTRIBUTE], holder, key)
            if actual == 0:
                call1(p[CLEAR_ERROR], 0)
                is_unchanged = False
            else:
                is_unchanged = (
                    _at(actual + TYPE)[0] == p[METHOD_TYPE]
                    and _at(actual + METHOD_FUNCTION)[0] == expected
                    and _at(actual + METHOD_SELF)[0] == holder
                )
                call1(p[DECREF], actual)
        elif kind == TRUTH or kind == LENGTH or kind == CONTAINS:
            if kind == CONTAINS:
                actual = call2(p[SEQUENCE_CONTAINS], holder, key)
            else:
                actual = call1(p[IS_TRUE if kind == TRUTH else LENGTH_OF], holder)
            if kind != LENGTH:
                actual = actual << 32 >> 32  # a C int
            if actual < 0:
                call1(p[CLEAR_ERROR], 0)
            is_unchanged = actual == expected
        elif kind == ITEMS:
            size = _at(holder + SIZE)[0]
            items = _at(holder + LIST_ITEMS)[0]
            expected_items = _at(expected)
            is_unchanged = size == key
            if is_unchanged and size > 0:
                actual_items = _at(items)
                for j in range(size):
                    if actual_items[j] != expected_items[j]:
                        is_unchanged = False
                        break
        elif kind == KEYS or kind == ENTRIES:
            expected_items = _at(expected)
            is_unchanged = call1(p[DICT_SIZE], holder) == key
            position = _at(scratch)
            position[0] = 0
            j = 0
            while (
                is_unchanged
                and call4(p[NEXT_ENTRY], holder, scratch, scratch + 8, scratch + 16) << 32 != 0
            ):
                if kind == KEYS:
                    is_unchanged = position[1] == expected_items[j]
                    j += 1
                else:
                    is_unchanged = (
                        position[1] == expected_items[j] and position[2] == expected_items[j + 1]
                    )
                    j += 2
        else:  # ANSWER: only Python can compare the result
            is_unchanged = False
        if not is_unchanged:
            return k
    return count
