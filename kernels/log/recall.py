"""Whether a log looks as it did when something was derived from it."""

from __future__ import annotations

from typing import Any

from ..jit import jit


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
