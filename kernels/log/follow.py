"""Which rows a tape follows, and which of them depend on a source."""

from __future__ import annotations

from typing import Any

from ..jit import jit
from .rows import FOLLOWED, LEAF, NEEDED, READ, SEEN_WATCHED, STOP, VARIADIC


@jit
def follow(
    code: Any, a: Any, b: Any, c: Any, spec: Any, extra: Any, n: int,
    ranges: Any, stretches: int, watch_position: Any, watch_row: Any, events: int,
    sources: Any, source_count: int,
    variable_watched: Any, variable_source: Any,
    code_kind: Any, code_arity: Any, code_gradient: Any, spec_float: Any,
    flags: Any,
) -> int:
    """Set ``flags[row]`` (uint8, n) to FOLLOWED | NEEDED for the rows of one tape.

    ``ranges`` holds start and end of each of the ``stretches`` that were recorded. At position
    ``watch_position[i]`` the tape began to watch row ``watch_row[i]``, or, where that is
    negative, the variable ``~watch_row[i]``. ``variable_watched`` (uint8) starts with the
    variables watched from the beginning and is updated, to SEEN_WATCHED where one was read;
    ``variable_source`` (int32) is >= 0 for variables that are sources; ``sources`` are rows.

    A row is followed if it was recorded in a range, has a float dtype and an operand that is
    followed. It is needed if, through followed rows only, it depends on a source.
    Returns the first row of the first range.
    """
    for row in range(n):
        flags[row] = 0
    event = 0
    first = ranges[0] if stretches else n
    stretch = 0
    is_source = NEEDED << 1
    for k in range(source_count):
        flags[sources[k]] = is_source
    for row in range(n):
        while event < events and watch_position[event] <= row:
            watched = watch_row[event]
            if watched < 0:
                variable_watched[~watched] = 1
            else:
                flags[watched] |= FOLLOWED
                if flags[watched] & is_source:
                    flags[watched] |= NEEDED
            event += 1
        while stretch < stretches and ranges[2 * stretch + 1] <= row:
            stretch += 1
        if stretch >= stretches:
            break
        if row < ranges[2 * stretch] or spec_float[spec[row]] == 0:
            continue
        this = code[row]
        kind = code_kind[this]
        if kind == LEAF:
            continue
        flag = 0
        if kind == READ:
            variable = b[row]
            if variable_watched[variable]:
                variable_watched[variable] = SEEN_WATCHED
                flag = FOLLOWED
                if variable_source[variable] >= 0:
                    flag |= NEEDED
        elif code_gradient[this] != STOP:
            arity = code_arity[this]
            if arity == VARIADIC:
                for k in range(a[row], a[row] + b[row]):
                    flag |= flags[extra[k]]
            else:
                flag |= flags[a[row]]
                if arity > 1:
                    flag |= flags[b[row]]
                if arity > 2:
                    flag |= flags[c[row]]
            flag &= FOLLOWED | NEEDED
        if flag & FOLLOWED:
            flags[row] |= flag
            if flags[row] & is_source:
                flags[row] |= NEEDED
    while event < events:  # watched after the last recorded row: still a source of itself
        watched = watch_row[event]
        if watched >= 0:
            flags[watched] |= FOLLOWED
            if flags[watched] & is_source:
                flags[watched] |= NEEDED
        event += 1
    return first
