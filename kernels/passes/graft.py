"""Rows of one log appended to another."""

from __future__ import annotations

from typing import Any

from ..jit import jit
from .rows import READ, VALUE, VARIADIC


@jit
def graft(
    count: int, from_code: Any, from_a: Any, from_b: Any, from_c: Any, from_spec: Any,
    from_extra: Any, from_cell: Any, from_state: Any, numbers: Any,
    code_kind: Any, code_arity: Any,
    code: Any, a: Any, b: Any, c: Any, spec: Any, extra: Any, cell: Any, state: Any,
    n: int, extra_n: int, to: Any,
) -> int:
    """Append ``count`` rows behind the first ``n``, and their operands behind ``extra_n``.

    ``to`` (int32): on entry, for a row that is not appended, the row that stands for it, else
    -1; on return the number of every row. Rows that have values bring their cells. ``numbers``
    (int32) are the variables' numbers here by their numbers there. There is room for all.
    Returns the number of rows.
    """
    for row in range(count):
        if to[row] >= 0:
            continue
        this = from_code[row]
        arity = code_arity[this]
        code[n] = this
        spec[n] = from_spec[row]
        if arity == VARIADIC:
            start = from_a[row]
            inputs = from_b[row]
            for k in range(inputs):
                extra[extra_n + k] = to[from_extra[start + k]]
            a[n] = extra_n
            b[n] = inputs
            extra_n += inputs
        else:
            if arity > 0:
                a[n] = to[from_a[row]]
            if arity > 1:
                b[n] = to[from_b[row]]
            elif code_kind[this] == READ:
                b[n] = numbers[from_b[row]]
            if arity > 2:
                c[n] = to[from_c[row]]
        if from_state[row] == VALUE:
            cell[n] = from_cell[row]
            state[n] = VALUE
        to[row] = n
        n += 1
    return n
