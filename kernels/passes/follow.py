"""Which rows a tape follows, and which of them depend on a source."""

from __future__ import annotations

from typing import Any

from ..jit import jit
from .rows import (
    AT_FIRST_READ,
    CUT,
    FOLLOWED,
    LEAF,
    NEEDED,
    READ,
    RECORDED,
    SEEN_WATCHED,
    SOURCE,
    STOP,
    VARIADIC,
)


@jit
def follow(
    code: Any, a: Any, b: Any, c: Any, spec: Any, extra: Any, n: int,
    ranges: Any, stretches: int, watch_position: Any, watch_row: Any, events: int,
    sources: Any, source_count: int,
    variable_watched: Any, variable_source: Any,
    code_kind: Any, code_arity: Any, code_gradient: Any, spec_float: Any,
    flags: Any,
) -> int:
    """Set ``flags[row]`` (uint8, n) to RECORDED | FOLLOWED | NEEDED for the rows of one tape.

    ``ranges`` holds start and end of each of the ``stretches`` that were recorded. At position
    ``watch_position[i]`` the tape began to watch row ``watch_row[i]``, or, where that is
    negative, the variable ``~watch_row[i]``. ``variable_watched`` (uint8) starts with the
    variables that are watched, or will be when they are read, and is updated;
    ``variable_source`` (int32) is >= 0 for variables that are sources; ``sources`` are rows.

    A row is recorded if it was appended in a range and an operand was followed by then, whether
    its op has a derivative or none. What is watched later is followed from there on; but where a
    row was recorded for the sake of another operand, it is a source as if watched before.
    Returns the first row of the first range.
    """
    for row in range(n):
        flags[row] = 0
    event = 0
    first = ranges[0] if stretches else n
    stretch = 0
    for row in range(n):
        while event < events and watch_position[event] <= row:
            watched = watch_row[event]
            if watched < 0:
                variable_watched[~watched] |= 1
            else:
                flags[watched] |= FOLLOWED
            event += 1
        while stretch < stretches and ranges[2 * stretch + 1] <= row:
            stretch += 1
        if stretch >= stretches:
            break
        if row < ranges[2 * stretch]:
            continue
        this = code[row]
        kind = code_kind[this]
        if kind == LEAF or code_gradient[this] == CUT:
            continue
        flag = 0
        if kind == READ:
            variable = b[row]
            known = variable_watched[variable]
            # A read through what `assign` returned watches nothing by itself: its code says STOP.
            if known != 0 and (known != AT_FIRST_READ or code_gradient[this] != STOP):
                variable_watched[variable] = SEEN_WATCHED
                flag = FOLLOWED
        else:
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
        if flag & FOLLOWED:
            flags[row] |= RECORDED | FOLLOWED if spec_float[spec[row]] else RECORDED
    while event < events:  # watched after the last recorded row
        if watch_row[event] >= 0:
            flags[watch_row[event]] |= FOLLOWED
        event += 1
    for k in range(source_count):
        flags[sources[k]] |= SOURCE
        if flags[sources[k]] & FOLLOWED:
            flags[sources[k]] |= NEEDED
    for row in range(first, n):
        if (flags[row] & (RECORDED | FOLLOWED | NEEDED)) != RECORDED | FOLLOWED:
            continue
        this = code[row]
        flag = 0
        if code_kind[this] == READ:
            if variable_source[b[row]] >= 0:
                flag = NEEDED
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
        flags[row] |= flag & NEEDED
    return first
