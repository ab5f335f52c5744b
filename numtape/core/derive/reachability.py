"""Reachability of gradients between targets and sources, in Python because it is rarely needed."""

from __future__ import annotations

from typing import cast

import numpy as np

from ...kernels.passes.rows import FOLLOWED as FOLLOWED, RECORDED as RECORDED
from ..log.log import Log
from ..log.op import CALL, CODES, MISSING, READ, RULE, VARIADIC
from ..values.memory import Array
from ..values.spec import SPECS


def operands(log: Log, row: int) -> list[int]:
    """Return the rows that a row reads."""
    arity = int(CODES.arity[log.code[row]])
    if arity == VARIADIC:
        return cast(list[int], log.extra[log.a[row] : log.a[row] + log.b[row]].tolist())
    return [log.a[row], log.b[row], log.c[row]][:arity]


def _rows_on_path(
    log: Log, flags: Array, targets: list[tuple[int, int]], gradients: bool
) -> set[int]:
    """Return the recorded rows behind targets; with ``gradients``, only where gradients flow."""
    visited: set[int] = set()
    pending = [row for row, _ in targets]
    while pending:
        row = pending.pop()
        if row in visited or not flags[row] & RECORDED:
            continue
        visited.add(row)
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
    return visited


def check_registered(log: Log, flags: Array, first: int, targets: list[tuple[int, int]]) -> None:
    """Raise LookupError if a gradient reaches an op without one, wherever the sources are."""
    codes = log.columns.code[first : first + flags.size]
    missing = (CODES.gradient[codes] == MISSING) & (CODES.kind[codes] != READ)
    missing &= (flags & RECORDED) != 0
    if not missing.any():
        return
    rows = set((first + np.flatnonzero(missing)).tolist())
    all_flags = np.concatenate([np.zeros(first, np.uint8), flags])
    for row in sorted(rows & _rows_on_path(log, all_flags, targets, True), reverse=True):
        op, _ = CODES.entries[log.code[row]]
        raise LookupError(missing_gradient_message(op.name))


def missing_gradient_message(name: str) -> str:
    """Return the message for an op without a registered gradient. Its name comes last."""
    message = f"gradient registry has no entry for: {name}"
    if name != "KernelGrad":
        return message
    return (
        "A kernel has first derivatives only, in reverse mode. Take differences of its "
        f"gradients, or write it with operations on tensors: {message}"
    )


def lost_sources(
    log: Log, flags: Array, targets: list[tuple[int, int]], locations: list[tuple[int, int]]
) -> list[int]:
    """Return the sources that lose the gradient that they have as targets.

    TensorFlow drops the gradient of a tensor that it does not follow after it has processed all
    rows on the path that use the tensor.
    """
    target_rows = {row for row, _ in targets}
    unfollowed = [
        j
        for j, (row, _) in enumerate(locations)
        if row in target_rows and not flags[row] & (FOLLOWED | RECORDED)
    ]
    if not unfollowed:
        return []
    used = {
        x
        for row in _rows_on_path(log, flags, targets, False)
        if CODES.kind[log.code[row]] != READ
        for x in operands(log, row)
    }
    return [j for j in unfollowed if locations[j][0] in used]
