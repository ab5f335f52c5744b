"""Finds the rows that a tape follows, and those of them that depend on a source."""

from __future__ import annotations

from ..jit import jit
from .rows import (
    AT_FIRST_READ,
    CALL,
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
from .tables import I32, U8, AdjointFlow, Codes, LogColumns, Specs, TapeRecord


@jit
def follow(
    log: LogColumns,
    n: int,
    tape: TapeRecord,
    sources: I32,
    source_count: int,
    variable_watched: U8,
    flow: AdjointFlow,
    codes: Codes,
    specs: Specs,
) -> int:
    """Set ``flow.flags`` to RECORDED | FOLLOWED | NEEDED for the ``n`` rows of one tape.

    ``variable_watched`` has the variables that are watched, or will be at their first read; it is
    updated. ``sources`` are rows.

    A row is recorded if it was appended in a range and an operand was followed by then, whether or
    not its op has a derivative. A row that is watched later is followed from then on; if it was
    recorded for another operand, it is a source as if it had been watched before. Returns the first
    row of the first range.
    """
    for row in range(n):
        flow.flags[row] = 0
    event = 0
    first = tape.ranges[0] if tape.range_count else n
    range_index = 0
    for row in range(n):
        while event < tape.events and tape.positions[event] <= row:
            watched = tape.watched[event]
            if watched < 0:
                variable_watched[~watched] |= 1
            else:
                flow.flags[watched] |= FOLLOWED
            event += 1
        while range_index < tape.range_count and tape.ranges[2 * range_index + 1] <= row:
            range_index += 1
        if range_index >= tape.range_count:
            break
        if row < tape.ranges[2 * range_index]:
            continue
        code = log.code[row]
        kind = codes.kind[code]
        if kind == LEAF or codes.gradient[code] == CUT:
            continue
        flag = 0
        if kind == READ:
            variable = log.b[row]
            watch_state = variable_watched[variable]
            # A read of the result of `assign` does not start watching: its gradient is STOP.
            if watch_state != 0 and (watch_state != AT_FIRST_READ or codes.gradient[code] != STOP):
                variable_watched[variable] = SEEN_WATCHED
                flag = FOLLOWED
        else:
            arity = codes.arity[code]
            if arity == VARIADIC:
                for k in range(log.a[row], log.a[row] + log.b[row]):
                    flag |= flow.flags[log.extra[k]]
            else:
                flag |= flow.flags[log.a[row]]
                if arity > 1:
                    flag |= flow.flags[log.b[row]]
                if arity > 2:
                    flag |= flow.flags[log.c[row]]
                if codes.gradient[code] == CALL:
                    flag |= flow.flags[log.b[row]]
        if flag & FOLLOWED:
            flow.flags[row] |= RECORDED | FOLLOWED if specs.is_float[log.spec[row]] else RECORDED
    while event < tape.events:  # watched after the last recorded row
        if tape.watched[event] >= 0:
            flow.flags[tape.watched[event]] |= FOLLOWED
        event += 1
    for k in range(source_count):
        flow.flags[sources[k]] |= SOURCE
        if flow.flags[sources[k]] & FOLLOWED:
            flow.flags[sources[k]] |= NEEDED
    for row in range(first, n):
        if (flow.flags[row] & (RECORDED | FOLLOWED | NEEDED)) != RECORDED | FOLLOWED:
            continue
        code = log.code[row]
        flag = 0
        if codes.kind[code] == READ:
            if flow.variable_source[log.b[row]] >= 0:
                flag = NEEDED
        elif codes.gradient[code] != STOP:
            arity = codes.arity[code]
            if arity == VARIADIC:
                for k in range(log.a[row], log.a[row] + log.b[row]):
                    flag |= flow.flags[log.extra[k]]
            else:
                flag |= flow.flags[log.a[row]]
                if arity > 1:
                    flag |= flow.flags[log.b[row]]
                if arity > 2:
                    flag |= flow.flags[log.c[row]]
                if codes.gradient[code] == CALL:
                    flag |= flow.flags[log.b[row]]
        flow.flags[row] |= flag & NEEDED
    return first
