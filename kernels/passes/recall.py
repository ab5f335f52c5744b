"""Whether a log looks as it did when something was derived from it."""

from __future__ import annotations

from ..jit import jit
from .records import I32, I64, U8, Log
from .rows import VALUE


@jit
def recall(
    log: Log, want: U8, low: int, count: int, columns: I32, flags: U8,
    operands: I32, operand_count: int, order: I32, planned: int,
) -> int:
    """Compare ``count`` rows from ``low`` on, and the first ``operand_count`` of ``extra``.

    ``columns`` has the five columns as they were, one after the other, ``flags`` the
    states and wants. If all are the same, the ``planned`` rows of ``order`` are not wanted any
    more, as after `plan`, and 1 is returned; else 0.
    """
    for k in range(count):
        row = low + k
        if (log.code[row] != columns[k] or log.a[row] != columns[count + k]
                or log.b[row] != columns[2 * count + k] or log.c[row] != columns[3 * count + k]
                or log.spec[row] != columns[4 * count + k]
                or log.state[row] != flags[k] or want[row] != flags[count + k]):
            return 0
    for k in range(operand_count):
        if log.extra[k] != operands[k]:
            return 0
    for k in range(planned):
        want[order[k]] = 0
    return 1


@jit
def repeat(
    log: Log, n: int, columns: I32, operands: I32, operand_count: int,
    count: int, added: I32, added_cells: I64, added_states: U8, added_operands: I32,
    added_operand_count: int,
) -> int:
    """Append ``count`` rows behind the first ``n`` if these are the same as before.

    ``columns`` and ``added`` have five columns one after the other, of the rows to
    compare and of those to append; ``operands`` what ``extra`` began with, and
    ``added_operands`` what is appended there. Returns whether the rows were appended.
    """
    for row in range(n):
        if (log.code[row] != columns[row] or log.a[row] != columns[n + row]
                or log.b[row] != columns[2 * n + row] or log.c[row] != columns[3 * n + row]
                or log.spec[row] != columns[4 * n + row]):
            return 0
    for k in range(operand_count):
        if log.extra[k] != operands[k]:
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
