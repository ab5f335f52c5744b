"""Whether a log looks as it did when something was derived from it."""

from __future__ import annotations

from typing import Any

from ..jit import jit
from .rows import VALUE


@jit
def recall(
    code: Any, a: Any, b: Any, c: Any, spec: Any, extra: Any, state: Any, want: Any,
    low: int, count: int, columns: Any, flags: Any, operands: Any, operand_count: int,
    order: Any, planned: int,
) -> int:
    """Compare ``count`` rows from ``low`` on, and the first ``operand_count`` of ``extra``.

    ``columns`` (int32) has the five columns as they were, one after the other, ``flags`` (uint8)
    states and wants. If all are the same, the ``planned`` rows of ``order`` are not wanted any
    more, as after `plan`, and 1 is returned; else 0.
    """
    for k in range(count):
        row = low + k
        if (code[row] != columns[k] or a[row] != columns[count + k]
                or b[row] != columns[2 * count + k] or c[row] != columns[3 * count + k]
                or spec[row] != columns[4 * count + k]
                or state[row] != flags[k] or want[row] != flags[count + k]):
            return 0
    for k in range(operand_count):
        if extra[k] != operands[k]:
            return 0
    for k in range(planned):
        want[order[k]] = 0
    return 1


@jit
def repeat(
    code: Any, a: Any, b: Any, c: Any, spec: Any, extra: Any, cell: Any, state: Any,
    n: int, columns: Any, operands: Any, operand_count: int,
    count: int, added: Any, added_cells: Any, added_states: Any,
) -> int:
    """Append ``count`` rows behind the first ``n`` if these are the same as before.

    ``columns`` and ``added`` (int32) have five columns one after the other, of the rows to
    compare and of those to append; ``operands`` what ``extra`` began with. Returns whether the
    rows were appended.
    """
    for row in range(n):
        if (code[row] != columns[row] or a[row] != columns[n + row]
                or b[row] != columns[2 * n + row] or c[row] != columns[3 * n + row]
                or spec[row] != columns[4 * n + row]):
            return 0
    for k in range(operand_count):
        if extra[k] != operands[k]:
            return 0
    for k in range(count):
        code[n + k] = added[k]
        a[n + k] = added[count + k]
        b[n + k] = added[2 * count + k]
        c[n + k] = added[3 * count + k]
        spec[n + k] = added[4 * count + k]
        if added_states[k] == VALUE:  # a constant of a rule
            cell[n + k] = added_cells[k]
            state[n + k] = VALUE
    return 1
