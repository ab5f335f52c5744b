"""The rows of ragged tensors, as NumPy arrays: splits, lengths and indices.

A *partition* divides the rows of the level below into rows; its *splits* are the offsets at which
rows begin, followed by the number of values. A ragged tensor has one partition for each ragged
axis, outermost first. Functions here compute which values an op takes, and where to.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Partition(NamedTuple):
    """One level of rows.

    Attributes:
      splits: The offsets of the rows, of int64.
      uniform: The length of all rows if the level is uniform; None if it is ragged.
    """

    splits: Array
    uniform: int | None = None

    @property
    def nrows(self) -> int:
        """The number of rows."""
        return len(self.splits) - 1

    @property
    def lengths(self) -> Array:
        """The length of each row."""
        return np.diff(self.splits)


def splits_of_lengths(lengths: Array) -> Array:
    """Return the splits of rows with these lengths."""
    splits = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=splits[1:])
    return splits


def of_lengths(lengths: Array, uniform: int | None = None) -> Partition:
    """Return the partition of rows with these lengths."""
    return Partition(splits_of_lengths(lengths), uniform)


def uniform_partition(nrows: int, length: int) -> Partition:
    """Return a partition of rows of one length."""
    return Partition(np.arange(nrows + 1, dtype=np.int64) * length, length)


def rowids_of(splits: Array) -> Array:
    """Return the row of each value."""
    result: Array = np.repeat(np.arange(len(splits) - 1), np.diff(splits))
    return result


def offsets_in_rows(lengths: Array) -> Array:
    """Return the position of each value in its row, of rows with these lengths."""
    starts = splits_of_lengths(lengths)[:-1]
    result: Array = np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(starts, lengths)
    return result


def expand(starts: Array, lengths: Array, step: int | Array = 1) -> Array:
    """Return ``start, start + step, ...`` of each row, one row after the other."""
    offsets = offsets_in_rows(lengths)
    if isinstance(step, np.ndarray):
        step = np.repeat(step, lengths)
    result: Array = np.repeat(starts, lengths) + offsets * step
    return result


def take(partitions: list[Partition], rows: Array) -> tuple[list[Partition], Array]:
    """Take rows of the outermost level.

    Returns:
      The partitions of the result, and the flat values that it has.
    """
    result = []
    for part in partitions:
        lengths = part.lengths[rows]
        result.append(of_lengths(lengths, part.uniform))
        rows = expand(part.splits[:-1][rows], lengths)
    return result, rows


def join(levels: list[list[Partition]]) -> list[Partition]:
    """Concatenate the rows of the outermost level of several ragged tensors of one rank."""
    result = []
    for parts in zip(*levels, strict=True):
        uniforms = {part.uniform for part in parts}
        uniform = uniforms.pop() if len(uniforms) == 1 else None
        result.append(of_lengths(np.concatenate([part.lengths for part in parts]), uniform))
    return result


def reduce_level(partitions: list[Partition], axis: int) -> tuple[list[Partition], Array, int]:
    """Reduce one of the axes 0 to ``len(partitions)``.

    Rows that coincide are aligned at their beginning: the result is as long as the longest.

    Returns:
      The partitions of the result; the row of the result that each flat row contributes to; and
      the number of rows of the result, of which the first partition's are the last ones' parents.
    """
    if axis == 0:
        levels, target, count = align(partitions, np.zeros(partitions[0].nrows, np.int64), 1)
        return levels[1:], target, count  # the outermost level is the one reduced row
    part = partitions[axis - 1]
    levels, target, count = align(partitions[axis:], rowids_of(part.splits), part.nrows)
    return [*partitions[: axis - 1], *levels], target, count


def align(
    partitions: list[Partition], target: Array, count: int
) -> tuple[list[Partition], Array, int]:
    """Combine rows: ``target`` is the row of the result that each outermost row contributes to.

    Returns:
      The partitions of the result; the row of the result that each flat row contributes to; and
      the number of flat rows of the result.
    """
    result = []
    for part in partitions:
        lengths = np.zeros(count, np.int64)
        np.maximum.at(lengths, target, part.lengths)
        uniform = part.uniform
        if uniform is not None and not (np.bincount(target, minlength=count) > 0).all():
            uniform = None  # a row of the result that is combined of none is empty
        level = of_lengths(lengths, uniform)
        result.append(level)
        target = np.repeat(level.splits[:-1][target], part.lengths) + offsets_in_rows(part.lengths)
        count = int(level.splits[-1])
    return result, target, count


class Operand(NamedTuple):
    """The structure of an operand of a broadcast.

    Attributes:
      partitions: Its levels.
      sizes: The sizes of its uniform axes: the number of rows, followed by the inner sizes.
    """

    partitions: list[Partition]
    nrows: int
    inner: tuple[int, ...]

    @property
    def rank(self) -> int:
        """The number of axes."""
        return 1 + len(self.partitions) + len(self.inner)


class BroadcastError(ValueError):
    """Rows do not have compatible lengths."""


def broadcast(operands: list[Operand]) -> tuple[list[Partition], int, list[Array | None]]:
    """Broadcast ragged and dense operands, by NumPy's rule: axes of size 1 are repeated.

    Rows of a ragged axis are not repeated, even if their length is 1.

    Returns:
      The partitions of the result, its number of rows, and the flat rows of each operand that it
      takes; None for an operand that has no axis among the levels, or whose rows are the result's.

    Raises:
      BroadcastError: If lengths differ.
    """
    rank = max(operand.rank for operand in operands)
    levels = 1 + max(
        rank - operand.rank + len(operand.partitions) for operand in operands if operand.partitions
    )
    rows = [np.zeros(1, np.int64) for _ in operands]
    result: list[Partition] = []
    for axis in range(levels):
        count = len(rows[0])
        total: Array | None = None
        is_uniform, steps, starts = True, [], []
        ragged_lengths = []
        for k, operand in enumerate(operands):
            level = axis - (rank - operand.rank)
            lengths: Array | None = None
            uniform: int | None = 1
            if level < 0:
                first = rows[k]
            elif level == 0:
                first, uniform = rows[k] * operand.nrows, operand.nrows
            elif level <= len(operand.partitions):
                part = operand.partitions[level - 1]
                first, uniform = part.splits[:-1][rows[k]], part.uniform
                lengths = part.lengths[rows[k]] if uniform is None else None
            else:
                size = operand.inner[level - 1 - len(operand.partitions)]
                first, uniform = rows[k] * size, size
            steps.append(0 if uniform == 1 and lengths is None else 1)
            starts.append(first)
            if lengths is None and uniform != 1:
                lengths = np.full(count, uniform, np.int64)
            elif lengths is not None:
                is_uniform = False
            ragged_lengths.append(lengths)
        for lengths in ragged_lengths:
            if lengths is None:
                continue
            if total is None:
                total = lengths
            elif not np.array_equal(total, lengths):
                raise BroadcastError(
                    f"Unable to broadcast: dimension size mismatch in dimension {axis}"
                )
        if total is None:
            total = np.ones(count, np.int64)
        offsets = offsets_in_rows(total)
        rows = [
            np.repeat(first, total) + offsets * step
            for first, step in zip(starts, steps, strict=True)
        ]
        if axis:
            uniform_length = int(total[0]) if is_uniform and count else None
            result.append(of_lengths(total, uniform_length))
    taken: list[Array | None] = []
    for k, operand in enumerate(operands):
        taken.append(None if operand.rank <= rank - levels else rows[k])
    return result, result[0].nrows if result else len(rows[0]), taken
