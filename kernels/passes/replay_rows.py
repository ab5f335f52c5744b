"""Compares a log with recorded rows, and appends recorded rows to it."""

from __future__ import annotations

from ..jit import jit
from .rows import CALL, READ, VALUE, VARIADIC
from .tables import I32, I64, U8, Codes, LogColumns


@jit
def differ(log: LogColumns, low: int, columns: I32, count: int) -> bool:
    """Whether any of ``count`` rows from ``low`` on differs from ``columns``.

    The loops do not end early, so that they are vectorized.
    """
    different = 0
    for k in range(count):
        different |= log.code[low + k] ^ columns[k]
    for k in range(count):
        different |= log.a[low + k] ^ columns[count + k]
    for k in range(count):
        different |= log.b[low + k] ^ columns[2 * count + k]
    for k in range(count):
        different |= log.c[low + k] ^ columns[3 * count + k]
    for k in range(count):
        different |= log.spec[low + k] ^ columns[4 * count + k]
    return different != 0


@jit
def operands_differ(log: LogColumns, operands: I32, count: int) -> bool:
    """Whether any of the first ``count`` operands of variadic rows differs."""
    different = 0
    for k in range(count):
        different |= log.extra[k] ^ operands[k]
    return different != 0


@jit
def recall(
    log: LogColumns,
    want: U8,
    low: int,
    count: int,
    columns: I32,
    flags: U8,
    operands: I32,
    operand_count: int,
    order: I32,
    planned: int,
) -> int:
    """Compare ``count`` rows from ``low`` on, and the first ``operand_count`` of ``extra``.

    ``columns`` has the five expected columns in sequence, ``flags`` the expected states and wants.
    If all are equal, clears ``want`` of the ``planned`` rows of ``order``, as `plan` does, and
    returns 1; else 0.
    """
    if differ(log, low, columns, count) or operands_differ(log, operands, operand_count):
        return 0
    different = 0
    for k in range(count):
        different |= (log.state[low + k] ^ flags[k]) | (want[low + k] ^ flags[count + k])
    if different:
        return 0
    for k in range(planned):
        want[order[k]] = 0
    return 1


@jit
def repeat(
    log: LogColumns,
    n: int,
    columns: I32,
    operands: I32,
    operand_count: int,
    count: int,
    added: I32,
    added_cells: I64,
    added_states: U8,
    added_operands: I32,
    added_operand_count: int,
) -> int:
    """Append ``count`` rows to the first ``n`` if these are as expected.

    ``columns`` and ``added`` have five columns in sequence, of the expected rows and of the rows to
    append; ``operands`` and ``added_operands`` have the same of ``extra``. Returns whether the rows
    were appended.
    """
    if differ(log, 0, columns, n) or operands_differ(log, operands, operand_count):
        return 0
    for k in range(added_operand_count):
        log.extra[operand_count + k] = added_operands[k]
    for k in range(count):
        log.code[n + k] = added[k]
        log.a[n + k] = added[count + k]
        log.b[n + k] = added[2 * count + k]
        log.c[n + k] = added[3 * count + k]
        log.spec[n + k] = added[4 * count + k]
        if added_states[k] == VALUE:  # a constant of a rule
            log.cell[n + k] = added_cells[k]
            log.state[n + k] = VALUE
    return 1


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
        code = source.code[row]
        arity = codes.arity[code]
        log.code[n] = code
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
            elif codes.kind[code] == READ:
                log.b[n] = numbers[source.b[row]]
            elif codes.gradient[code] == CALL:
                log.b[n] = to[source.b[row]]
            if arity > 2:
                log.c[n] = to[source.c[row]]
        if source.state[row] == VALUE:
            log.cell[n] = source.cell[row]
            log.state[n] = VALUE
        to[row] = n
        n += 1
    return n
