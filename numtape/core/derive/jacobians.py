"""Jacobians: one transposition for a placeholder seed, whose rows are batched over many seeds.

The input is a tape, a target and sources. The output is the gradients for all seeds with respect to
each source, stacked along a first axis. Batches of seeds are small enough that no row has more than
`MAX_BATCH_ELEMENTS` elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..log.as_tensor import from_owned_array
from ..log.log import LEAF_CODE, Log
from ..log.op import CODES
from ..log.variable import Variable
from ..ops.creation import zeros
from ..ops.joining import concat, stack
from ..ops.movement import broadcast_to, identity, reshape
from ..values.spec import SPECS, Spec, intern
from ..values.tensor import Tensor
from .adjoint_cache import return_cache, take_cache
from .batching import batch_rows
from .diagonals import Diagonal
from .tape import Tape
from .transpose import append_adjoints, placeholder

MAX_BATCH_ELEMENTS = 1 << 24  # elements of a row, for all seeds of a batch


def jacobian(
    log: Log, tape: Tape, target: Tensor | Variable, sources: Sequence[Tensor | Variable]
) -> list[Tensor | None]:
    """Return the derivative of ``target`` with respect to each source, None if unconnected.

    The result has an axis for the target's elements (none if it has one), then those of the source.
    """
    spec = target._spec
    if spec.size == 1:
        rows = AdjointRows(
            log,
            tape,
            target,
            sources,
            from_owned_array(np.ones(spec.shape, spec.dtype.numpy_dtype)),
        )
        return [None if row < 0 else rows.tensor(row) for row in rows.source_rows]
    rows = AdjointRows(log, tape, target, sources, _concrete_seed(log, spec))
    if not spec.size:  # even for an empty target, None shows which sources it depends on
        return [
            None if row < 0 else zeros((0, *source.shape), source.dtype)
            for row, source in zip(rows.source_rows, sources, strict=True)
        ]

    def seeds(start: int, end: int) -> Tensor:
        return from_owned_array(
            np.eye(end - start, spec.size, start, spec.dtype.numpy_dtype).reshape(
                (end - start, *spec.shape)
            )
        )

    if log.calls:
        return _loop_over_seeds(log, tape, target, sources, seeds, spec.size)
    return rows.apply(seeds, spec.size)


def batch_jacobian(
    log: Log, tape: Tape, target: Tensor | Variable, source: Tensor | Variable
) -> Tensor | None:
    """Return the derivative of ``target[i]`` by ``source[i]`` for all i, or None.

    The result has an axis for the elements of ``target[i]``, then those of the source.
    """
    spec = target._spec
    batch = spec.shape[0]
    size = intern(tuple(spec.shape[1:]), spec.dtype).size
    rows = AdjointRows(log, tape, target, [source], _concrete_seed(log, spec))
    if not size * batch:
        return None if rows.source_rows[0] < 0 else zeros((size, *source.shape), source.dtype)

    def seeds(start: int, end: int) -> Tensor:
        identity_rows = np.eye(end - start, size, start, spec.dtype.numpy_dtype)
        repeated = np.repeat(identity_rows[:, None], batch, 1)
        return from_owned_array(repeated.reshape((end - start, *spec.shape)))

    if log.calls:
        return _loop_over_seeds(log, tape, target, [source], seeds, size)[0]
    return rows.apply(seeds, size)[0]


def _concrete_seed(log: Log, spec: Spec) -> Tensor | None:
    """Return zeros as the seed if custom derivatives are called, because they may read it."""
    return zeros(spec.shape, spec.dtype) if log.calls else None


def _loop_over_seeds(
    log: Log,
    tape: Tape,
    target: Tensor | Variable,
    sources: Sequence[Tensor | Variable],
    seeds: Callable[[int, int], Tensor],
    n: int,
) -> list[Tensor | None]:
    """Like `AdjointRows.apply`, but call custom derivatives once for each seed."""
    parts: list[list[Tensor]] = [[] for _ in sources]
    for k in range(n):
        rows = AdjointRows(
            log, tape, target, sources, reshape(seeds(k, k + 1), tuple(target.shape))
        )
        for part, row in zip(parts, rows.source_rows, strict=True):
            if row >= 0:
                part.append(rows.tensor(row))
    return [stack(part) if part else None for part in parts]


class AdjointRows:
    """The adjoint rows of one target, for any seed.

    Args:
      log: The current log, which holds the tape's rows.
      tape: The tape to follow.
      target: A tensor or variable.
      sources: Tensors and variables.
      seed: The seed, if there is only one; by default a placeholder.

    Raises:
      LookupError: If a path goes through an op that has no gradient registered.

    Attributes:
      source_rows: The row of each source's adjoint, or -1 if nothing reaches it.
    """

    def __init__(
        self,
        log: Log,
        tape: Tape,
        target: Tensor | Variable,
        sources: Sequence[Tensor | Variable],
        seed: Tensor | None = None,
    ) -> None:
        self.log = log
        log.reserve(4 * (1 + len(sources)))
        # A variable depends only on itself, so it has no row to start from.
        row = -1 if isinstance(target, Variable) else log.row_of(target, None, "jacobian")[0]
        self.seed = (
            placeholder(log, target._spec)._row
            if seed is None
            else log.row_of(seed, None, "jacobian")[0]
        )
        pairs = [] if row < 0 else [(row, self.seed)]
        adjoints = append_adjoints(log, tape, pairs, list(sources))
        self.source_rows = [
            self.seed
            if adjoint is None and source is target and row < 0
            else -1
            if adjoint is None
            else adjoint[0]
            for source, adjoint in zip(sources, adjoints, strict=True)
        ]

    def batch_size(self) -> int:
        """Return the number of seeds in a batch."""
        specs = set(self.log.spec[self.seed : self.log.n].tolist())
        return max(1, MAX_BATCH_ELEMENTS // max(1, *(SPECS.specs[spec].size for spec in specs)))

    def apply(self, seeds: Callable[[int, int], Tensor], n: int) -> list[Tensor | None]:
        """Return the adjoints of the sources for ``n`` seeds.

        Args:
          seeds: Returns the seeds of a range, stacked along a first axis.
          n: The number of seeds, at least 1.
        """
        size = self.batch_size()
        spec = SPECS.specs[self.log.spec[self.seed]]
        ones = None
        if spec.shape == (n,) and spec.is_float:  # a lane for each element
            ones = from_owned_array(np.ones(n, spec.dtype.numpy_dtype))
        source_rows = [row for row in self.source_rows if row >= 0]
        parts: list[list[Tensor]] = [[] for _ in source_rows]
        for start in range(0, n, size):
            end = min(start + size, n)
            lanes = self._batch(source_rows, seeds(start, end), ones, start)
            for part, lane in zip(parts, lanes, strict=True):
                part.append(lane)
        results = iter([part[0] if len(part) == 1 else concat(part, 0) for part in parts])
        return [None if row < 0 else next(results) for row in self.source_rows]

    def _batch(
        self, source_rows: list[int], seeds: Tensor, ones: Tensor | None, first: int
    ) -> list[Tensor]:
        """Return the adjoints for a batch of seeds. Equal batches reuse cached rows.

        ``ones`` is the sum of all seeds if each is one element of the target; ``first`` is the
        number of the batch's first one.
        """
        log, n = self.log, seeds.shape[0]
        seed_row = log.row_of(seeds, None, "jacobian")[0]
        lanes = log.tensor(seed_row, seeds._spec)
        seed: Tensor | Diagonal = lanes
        ones_row = -1
        if ones is not None:
            ones_row = log.row_of(ones, None, "jacobian")[0]
            seed = Diagonal(log.tensor(ones_row, ones._spec), 0, lanes, first)
        start = log.n, log.extra_n, len(log.buffers)
        key = "lanes", *start, seed_row, ones_row, self.seed, *source_rows
        # Starts of slices of a part of the lanes are constants that may be rows before these.
        is_cached = ones is None or n == ones._spec.size
        cache = take_cache()
        try:
            entry = cache.recall(log, key) if is_cached else None
            if entry is not None:
                return [self.tensor(row) for row in entry.source_rows]
            results = []
            all_lanes = batch_rows(log, source_rows, {self.seed: seed}, n, self.tensor)
            for row, lane in zip(source_rows, all_lanes, strict=True):
                if isinstance(lane, list):
                    lane = stack(lane)  # raises an error if the rank is too large
                if lane is None:
                    x = self.tensor(row)
                    lane = broadcast_to(x, (n, *x.shape))
                results.append(lane)
            if is_cached and start[1:] == (log.extra_n, len(log.buffers)):  # only rows were added
                rows = range(start[0], log.n)
                keep_alive = [
                    *(CODES[log.code[row]] for row in rows),
                    *(SPECS[log.spec[row]] for row in rows),
                ]
                cache.store(log, key, *start[:2], [x._row for x in results], [], keep_alive)
            return results
        finally:
            return_cache(cache)

    def tensor(self, row: int) -> Tensor:
        """Return a tensor for a row of the log."""
        return self.log.tensor(row, SPECS.specs[self.log.spec[row]])


def mark_result(x: Tensor) -> Tensor:
    """Mark a result for the next evaluation. A constant is copied, as others may share its row."""
    log = x._home
    if isinstance(log, Log):
        if log.code[x._row] == LEAF_CODE:
            x = identity(x)
        log.eager.add(x._row)
    return x
