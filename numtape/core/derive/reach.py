"""Where a gradient passes on its way back from its targets, in Python: who asks for it is rare."""

from __future__ import annotations

from typing import cast

import numpy as np

from ..log.log import Log
from ..log.op import CALL, CODES, MISSING, READ, RULE, VARIADIC
from ..values.memory import Array
from ..values.spec import SPECS

FOLLOWED, RECORDED = 1, 4  # as in kernels/passes/rows.py (a test compares)


def operands(log: Log, row: int) -> list[int]:
    """The rows that a row reads."""
    arity = int(CODES.arity[log.code[row]])
    if arity == VARIADIC:
        return cast(list[int], log.extra[log.a[row] : log.a[row] + log.b[row]].tolist())
    return [log.a[row], log.b[row], log.c[row]][:arity]


def _passed(log: Log, flags: Array, targets: list[tuple[int, int]], gradients: bool) -> set[int]:
    """The recorded rows on the way back from targets; with ``gradients``, as far as one flows."""
    found: set[int] = set()
    pending = [row for row, _ in targets]
    while pending:
        row = pending.pop()
        if row in found or not flags[row] & RECORDED:
            continue
        found.add(row)
        code = log.code[row]
        if CODES.kind[code] == READ:
            continue
        if CODES.gradient[code] == CALL and flags[log.b[row]] & FOLLOWED:
            inputs = operands(log, log.b[row])
            pending += [x for x in inputs if SPECS.specs[log.spec[x]].is_float]
        elif not gradients or CODES.gradient[code] == CALL:
            pending += operands(log, row)
        elif CODES.gradient[code] == RULE:
            pending += [x for x in operands(log, row) if SPECS.specs[log.spec[x]].inexact]
    return found


def refuse_missing(log: Log, flags: Array, first: int, targets: list[tuple[int, int]]) -> None:
    """Raise if a gradient arrives at an op that has none registered, wherever the sources are."""
    codes = log.columns.code[first : first + flags.size]
    missing = (CODES.gradient[codes] == MISSING) & (CODES.kind[codes] != READ)
    missing &= (flags & RECORDED) != 0
    if not missing.any():
        return
    rows = set((first + np.flatnonzero(missing)).tolist())
    whole = np.concatenate([np.zeros(first, np.uint8), flags])
    for row in sorted(rows & _passed(log, whole, targets, True), reverse=True):
        op, _ = CODES.entries[log.code[row]]
        raise LookupError(no_gradient(op.name))


def no_gradient(name: str) -> str:
    """What is said of an op that has no gradient registered. Its name comes last."""
    said = f"gradient registry has no entry for: {name}"
    if name != "KernelGrad":
        return said
    return (
        "A kernel has first derivatives only, in reverse mode. Take differences of its "
        f"gradients, or write it with operations on tensors: {said}"
    )


def lost(
    log: Log, flags: Array, targets: list[tuple[int, int]], places: list[tuple[int, int]]
) -> list[int]:
    """The sources that lose what they have as targets.

    TensorFlow lets go of the gradient of what it does not follow when it has gone through all
    rows on its way that use it.
    """
    chosen = {row for row, _ in targets}
    unknown = [
        j
        for j, (row, _) in enumerate(places)
        if row in chosen and not flags[row] & (FOLLOWED | RECORDED)
    ]
    if not unknown:
        return []
    used = {
        x
        for row in _passed(log, flags, targets, False)
        if CODES.kind[log.code[row]] != READ
        for x in operands(log, row)
    }
    return [j for j in unknown if places[j][0] in used]
