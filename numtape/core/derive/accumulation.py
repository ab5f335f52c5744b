"""Sums of adjoints: one row adds all slices, or all matrix products, of an adjoint.

The reverse walk adds the contributions to a row's adjoint one by one. If many of them are slices
among zeros, or products of matrices, such as the adjoint of a weight in a loop, most of the work is
in those additions. `merge_sums` replaces them by the ops of `core.ops.adjoint_sums`: each adds its
summands in the order of the walk, at the place of its last summand. Start there.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ..log.log import Log
from ..log.op import CODES, VARIADIC, Op, OpCode
from ..ops.adjoint_sums import SUM_OF_PRODUCTS, SUM_OF_SLICES
from ..ops.elementwise import add
from ..ops.matrix_products import MATMUL
from ..ops.slicing import SLICE_INTO_ZEROS, SMALL_INTO_ZEROS
from ..values.memory import Array
from ..values.spec import SPECS, Spec

# The summands of a row stay in memory until it is computed. They have at most this multiple of the
# sum's elements; more summands take several rows.
_MAX_SUMMANDS = 4

_SLICES, _PRODUCTS = 1, 2
_KINDS: dict[Op, int] = {
    SLICE_INTO_ZEROS: _SLICES,
    SMALL_INTO_ZEROS: _SLICES,
    MATMUL: _PRODUCTS,
}


class Rewriter:
    """New codes and operands of unpublished adjoint rows.

    Attributes:
      codes: The codes of the new rows, which keeps their ids valid.
      operands: The operands of the new variadic rows, from ``extra_n`` on.
    """

    def __init__(self, log: Log, start: int, uses: Array, extra_n: int) -> None:
        self.log, self.start, self.uses, self.extra_n = log, start, uses, extra_n
        self.codes: list[OpCode] = []
        self.operands: list[int] = []

    def spec(self, row: int) -> Spec:
        """Return the spec of a row."""
        return SPECS.specs[self.log.spec[row]]

    def kind(self, row: int, size: int) -> tuple[Any, ...]:
        """Return what rows must share to be added by one row; empty if a row is added alone."""
        log = self.log
        if row < self.start or self.uses[row - self.start] != 1:
            return ()
        op, attributes = CODES.entries[log.code[row]]
        kind = _KINDS.get(op, 0)
        if kind == _SLICES and self.spec(log.a[row]).size:
            return (_SLICES,)
        if kind == _PRODUCTS:
            a, b = self.spec(log.a[row]), self.spec(log.b[row])
            # Storing the factors instead of the product must not need more memory.
            if a.rank == b.rank == 2 and 0 < a.size + b.size <= size and a.is_float:
                return _PRODUCTS, attributes["ta"], attributes["tb"]
        return ()

    def summand_size(self, row: int) -> int:
        """Return the number of elements that a summand needs."""
        log = self.log
        op, _ = CODES.entries[log.code[row]]
        size = self.spec(log.a[row]).size
        return size + self.spec(log.b[row]).size if op is MATMUL else size

    def write_sum(self, at: int, base: int, rows: list[int], kind: tuple[Any, ...]) -> None:
        """Replace the row ``at`` by the sum of ``rows``, and of ``base`` unless it is -1."""
        log = self.log
        operands = [base] if base >= 0 else []
        attributes: dict[str, Any] = {"has_base": base >= 0}
        if kind[0] == _PRODUCTS:
            op = SUM_OF_PRODUCTS
            attributes |= {"ta": kind[1], "tb": kind[2]}
            for row in rows:
                operands += [log.a[row], log.b[row]]
        else:
            op, parts = SUM_OF_SLICES, []
            for row in rows:
                slice_op, slice_attributes = CODES.entries[log.code[row]]
                operands.append(log.a[row])
                steps = slice_attributes["steps"]
                if slice_op is SMALL_INTO_ZEROS:
                    parts.append((slice_attributes["begin"], slice_attributes["counts"], steps))
                else:
                    operands.append(log.b[row])
                    parts.append((-1, tuple(self.spec(log.a[row]).shape), steps))
            attributes |= {"shape": tuple(self.spec(at).shape), "parts": tuple(parts)}
        code = op.with_attributes(attributes, tuple([self.spec(x) for x in operands]))
        self.codes.append(code)
        log.code[at], log.a[at], log.b[at] = (
            code.id,
            self.extra_n + len(self.operands),
            len(operands),
        )
        self.operands += operands

    def rewrite(self, terms: list[tuple[int, int]]) -> None:
        """Rewrite the sum of the rows in ``terms``, each with the addition that follows it.

        The first one has none (-1). The last addition is the sum, and stays so.
        """
        log, size = self.log, self.spec(terms[-1][1]).size
        kinds = [self.kind(row, size) for row, _ in terms]
        groups = {kind for kind, count in Counter(kinds).items() if kind and count > 1}
        if not groups:
            return
        last = {kind: k for k, kind in enumerate(kinds)}
        pending: dict[tuple[Any, ...], list[int]] = {kind: [] for kind in groups}
        pending_size = dict.fromkeys(groups, 0)
        total = -1
        for k, ((row, at), kind) in enumerate(zip(terms, kinds, strict=True)):
            if kind not in groups:
                if total < 0:
                    total = row
                else:
                    log.a[at], log.b[at], total = total, row, at
                continue
            rows = pending[kind]
            rows.append(row)
            pending_size[kind] += self.summand_size(row)
            if at >= 0 and (k == last[kind] or pending_size[kind] >= _MAX_SUMMANDS * size):
                self.write_sum(at, total, rows, kind)
                pending[kind], pending_size[kind], total = [], 0, at


def merge_sums(
    log: Log, start: int, end: int, extra_n: int, sources: list[int]
) -> tuple[list[OpCode], list[int]]:
    """Merge sums in the unpublished adjoint rows from ``start`` to ``end``.

    A sum stays in its row. Rows that are no longer needed stay, too; they are never computed.

    Args:
      log: The log.
      start, end: The range of the rows.
      extra_n: The end of their operands.
      sources: The rows of the sources' adjoints, or -1.

    Returns:
      The codes of new rows, which must be held until the rows are published, and the operands of
      variadic rows to append at ``extra_n``.
    """
    columns = log.columns
    codes = columns.code[start:end]
    counts = np.bincount(codes) if end > start else np.zeros(1, np.int64)
    add_code = add.op.code()
    if counts.size <= add_code or not counts[add_code]:
        return [], []
    present = np.flatnonzero(counts).tolist()
    mergeable = [code for code in present if CODES.entries[code][0] in _KINDS]
    if sum(int(counts[code]) for code in mergeable) < 2:
        return [], []
    rows = start + np.flatnonzero(codes == add_code)
    same = columns.spec[rows] == columns.spec[columns.a[rows]]
    same &= columns.spec[rows] == columns.spec[columns.b[rows]]
    rows = rows[same]
    is_mergeable = np.concatenate([np.isin(codes, mergeable), [False]])  # False: an earlier row
    summands = np.stack([columns.a[rows], columns.b[rows]])
    summands = is_mergeable[np.where(summands >= start, summands - start, -1)]
    if np.count_nonzero(summands) < 2:
        return [], []
    flags: list[bool] = np.logical_or(*summands).tolist()
    has_summand = dict(zip(rows.tolist(), flags, strict=True))
    rewriter = Rewriter(log, start, _count_uses(log, start, end, sources), extra_n)
    uses, visited = rewriter.uses, set()
    for top in reversed(has_summand):
        if top in visited:
            continue
        chain = [top]
        while (row := log.a[chain[-1]]) in has_summand and uses[row - start] == 1:
            chain.append(row)
        visited.update(chain)
        if any(has_summand[row] for row in chain):
            terms = [(log.a[chain[-1]], -1), *((log.b[row], row) for row in reversed(chain))]
            rewriter.rewrite(terms)
    return rewriter.codes, rewriter.operands


def _count_uses(log: Log, start: int, end: int, sources: list[int]) -> Array:
    """Return how often rows read each row of a range; a source's adjoint is read, too."""
    columns = log.columns
    arity = CODES.arity[columns.code[start:end]]
    read: list[Array] = [np.array([row for row in sources if row >= start], np.int64)]
    for k, column in enumerate((columns.a, columns.b, columns.c)):
        read.append(column[start:end][arity > k])
    for row in (start + np.flatnonzero(arity == VARIADIC)).tolist():
        read.append(log.extra[log.a[row] : log.a[row] + log.b[row]])
    rows = np.concatenate(read)
    return np.bincount(rows[rows >= start] - start, minlength=end - start)
