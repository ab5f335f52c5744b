"""Appends rows of one log to another."""

from __future__ import annotations

from ..jit import jit
from .rows import CALL, READ, VALUE, VARIADIC
from .tables import I32, Codes, LogColumns


@jit
def graft(
    source: LogColumns,
    count: int,
    numbers: I32,
    codes: Codes,
    log: LogColumns,
    n: int,
    extra_n: int,
    to: I32,
) -> int:
    """Append ``count`` rows of ``source`` to the first ``n`` of ``log``.

    Operands of variadic rows are appended at ``extra_n``. ``to`` maps rows of ``source`` to rows of
    ``log``: on entry -1 for rows to append, on return complete. Cells of rows with values are
    copied. ``numbers`` maps variables' numbers in ``source`` to those in ``log``. The capacity must
    suffice. Returns the number of rows of ``log``.
    """
    for row in range(count):
        if to[row] >= 0:
            continue
        this = source.code[row]
        arity = codes.arity[this]
        log.code[n] = this
        log.spec[n] = source.spec[row]
        if arity == VARIADIC:
            start = source.a[row]
            inputs = source.b[row]
            for k in range(inputs):
                log.extra[extra_n + k] = to[source.extra[start + k]]
            log.a[n] = extra_n
            log.b[n] = inputs
            extra_n += inputs
        else:
            if arity > 0:
                log.a[n] = to[source.a[row]]
            if arity > 1:
                log.b[n] = to[source.b[row]]
            elif codes.kind[this] == READ:
                log.b[n] = numbers[source.b[row]]
            elif codes.gradient[this] == CALL:
                log.b[n] = to[source.b[row]]
            if arity > 2:
                log.c[n] = to[source.c[row]]
        if source.state[row] == VALUE:
            log.cell[n] = source.cell[row]
            log.state[n] = VALUE
        to[row] = n
        n += 1
    return n
