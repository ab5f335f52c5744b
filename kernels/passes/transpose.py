"""The reverse pass: append the adjoint rows of a log to the same log.

A rule runs once, in Python, for every combination of code, operand specs and needed operands. The
rows that it records are a *template*, and this pass only instantiates templates. It is independent
of ops and of shapes, which are fixed in the template.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import inline, jit
from .rows import (
    CALL,
    CALLS,
    DONE,
    ENTRY_WORDS,
    INPUT,
    LEAF,
    NEEDED,
    NO_TEMPLATE,
    NOTHING,
    OUT_OF_CAPACITY,
    READ,
    RECORDED,
    STOP,
    VALUE,
    VARIADIC,
    G,
    Y,
)
from .tables import I32, I64, AdjointFlow, Codes, Index, LogColumns, Templates


@inline
def hash_key(k0: int, k1: int, k2: int, k3: int, k4: int, k5: int) -> Any:
    """Mix a template's key, of ints from -1 on, into 64 bits (multiply and xor-shift)."""
    h = np.uint64(k0 + 1) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ np.uint64(k1 + 1)) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(29)) ^ np.uint64(k2 + 1)) * np.uint64(0x94D049BB133111EB)
    h = (h ^ np.uint64(k3 + 1)) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(31)) ^ np.uint64(k4 + 1)) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ np.uint64(k5 + 1)) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(32))


@jit
def find_template(index: Index, k0: int, k1: int, k2: int, k3: int, k4: int, k5: int) -> int:
    """Slot of a key in the open-addressing table of entries (see ENTRY).

    Returns the slot that holds the key, or ``~slot`` of the free one where it belongs.
    """
    keys = index.array
    slot = np.int64(hash_key(k0, k1, k2, k3, k4, k5) & np.uint64(index.mask))
    while keys[ENTRY_WORDS * slot] != 0:
        at = ENTRY_WORDS * slot
        if (
            keys[at + 1] == k0
            and keys[at + 2] == k1
            and keys[at + 3] == k2
            and keys[at + 4] == k3
            and keys[at + 5] == k4
            and keys[at + 6] == k5
        ):
            return slot
        slot = (slot + 1) & index.mask
    return ~slot


@inline
def _operand(log: LogColumns, row: int, arity: int, j: int) -> int:
    if arity == VARIADIC:
        return log.extra[log.a[row] + j]
    if j == 0:
        return log.a[row]
    return log.b[row] if j == 1 else log.c[row]


@inline
def _resolve(ref: int, log: LogColumns, row: int, arity: int, g: int, local: I32) -> int:
    if ref >= 0:
        return local[ref]
    if ref == G:
        return g
    if ref == Y:
        return row
    return _operand(log, row, arity, INPUT - ref)


@jit
def transpose(
    log: LogColumns,
    first: int,
    capacity: int,
    flow: AdjointFlow,
    codes: Codes,
    index: Index,
    templates: Templates,
    pool_row: I32,
    local: I32,
    add_code: int,
    leaf_code: int,
    cursor: I64,
) -> int:
    """Walk the rows ``cursor[0]`` down to ``first`` and append adjoint rows at ``cursor[1]``.

    Operands of variadic rows are appended at ``cursor[2]`` to ``extra``, which has capacity
    ``cursor[3]``. ``flow.adjoint`` holds the seeds on entry; contributions are added in the order
    of the walk. ``flow.variable_adjoint`` accumulates over the reads of each variable that is a
    source. ``pool_row`` starts at 0 and has, plus 1, the row of each constant of the pool that is
    in the log already; ``local`` is scratch for the longest template.
    """
    row = cursor[0]
    m = cursor[1]
    while row >= first:
        g = flow.adjoint[row]
        if g < 0 or (flow.flags[row] & (NEEDED | RECORDED)) != NEEDED | RECORDED:
            row -= 1
            continue
        code = log.code[row]
        kind = codes.kind[code]
        if kind == LEAF:
            row -= 1
            continue
        if kind == READ:
            variable = log.b[row]
            if flow.variable_source[variable] >= 0:
                if flow.variable_adjoint[variable] < 0:
                    flow.variable_adjoint[variable] = g
                else:
                    if m + 1 > capacity:
                        cursor[0] = row
                        cursor[1] = m
                        return OUT_OF_CAPACITY
                    log.code[m] = add_code
                    log.a[m] = flow.variable_adjoint[variable]
                    log.b[m] = g
                    log.spec[m] = log.spec[row]
                    flow.variable_adjoint[variable] = m
                    m += 1
            row -= 1
            continue
        if codes.gradient[code] == STOP:  # reached only if it is a source itself
            row -= 1
            continue
        if codes.gradient[code] == CALL:
            cursor[0] = row
            cursor[1] = m
            return CALLS
        arity = codes.arity[code]
        needed = 0
        s0 = -1
        s1 = -1
        s2 = -1
        if arity == VARIADIC:
            inputs = log.b[row]
            for k in range(log.a[row], log.a[row] + inputs):
                if flow.flags[log.extra[k]] & NEEDED:
                    needed = -1
        else:
            inputs = arity
            s0 = log.spec[log.a[row]]
            if flow.flags[log.a[row]] & NEEDED:
                needed = 1
            if arity > 1:
                s1 = log.spec[log.b[row]]
                if flow.flags[log.b[row]] & NEEDED:
                    needed |= 2
            if arity > 2:
                s2 = log.spec[log.c[row]]
                if flow.flags[log.c[row]] & NEEDED:
                    needed |= 4
        if needed == 0:
            row -= 1
            continue
        slot = find_template(index, code, s0, s1, s2, log.spec[row], needed)
        if slot < 0:
            cursor[0] = row
            cursor[1] = m
            return NO_TEMPLATE
        template = index.array[ENTRY_WORDS * slot] - 1
        start = templates.start[template]
        end = templates.end[template]
        at = cursor[2]
        if m + (end - start) + inputs > capacity or at + templates.operands[template] > cursor[3]:
            cursor[0] = row
            cursor[1] = m
            return OUT_OF_CAPACITY
        for t in range(start, end):
            u = templates.code[t]
            if u == leaf_code:  # constant templates.a[t] of the pool: one row in each log
                pooled = templates.a[t]
                if pool_row[pooled] == 0:
                    pool_row[pooled] = m + 1
                    log.code[m] = leaf_code
                    log.spec[m] = templates.pool_spec[pooled]
                    log.cell[m] = templates.pool_bits[pooled]
                    log.state[m] = VALUE
                    m += 1
                local[t - start] = pool_row[pooled] - 1
                continue
            log.code[m] = u
            log.spec[m] = templates.spec[t]
            uses = codes.arity[u]
            if uses == VARIADIC:
                log.a[m] = at
                log.b[m] = templates.b[t]
                for k in range(templates.a[t], templates.a[t] + templates.b[t]):
                    log.extra[at] = _resolve(templates.result[k], log, row, arity, g, local)
                    at += 1
            if uses > 0:
                log.a[m] = _resolve(templates.a[t], log, row, arity, g, local)
            if uses > 1:
                log.b[m] = _resolve(templates.b[t], log, row, arity, g, local)
            if uses > 2:
                log.c[m] = _resolve(templates.c[t], log, row, arity, g, local)
            local[t - start] = m
            m += 1
        cursor[2] = at
        results = templates.result_start[template]
        for j in range(inputs):
            x = _operand(log, row, arity, j)
            ref = templates.result[results + j]
            if ref == NOTHING or (flow.flags[x] & NEEDED) == 0:
                continue
            v = _resolve(ref, log, row, arity, g, local)
            if flow.adjoint[x] < 0:
                flow.adjoint[x] = v
            else:
                log.code[m] = add_code
                log.a[m] = flow.adjoint[x]
                log.b[m] = v
                log.spec[m] = log.spec[x]
                flow.adjoint[x] = m
                m += 1
        row -= 1
    cursor[0] = row
    cursor[1] = m
    return DONE
