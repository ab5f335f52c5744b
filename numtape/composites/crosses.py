"""Crosses of features: all combinations of the values that the inputs have in a row."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.ops import creation, movement
from ..core.values import dtypes
from ..errors import InvalidArgumentError
from . import row_structure as rows
from .base import as_values, read_array
from .ragged_tensor import RaggedTensor
from .sparse_arrangement import index_of
from .sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from ..core.values.annotations import TensorLike

_SEPARATOR = "_X_"


def _read_rows(x: Any) -> tuple[int, list[list[bytes]]]:
    """Return the batch size of an input, and the texts of each row."""
    if isinstance(x, SparseTensor):
        if len(x._sizes) != 2:
            raise InvalidArgumentError(f"Expected D2 of index to be 2, got {len(x._sizes)}")
        values, numbers, count = x.values, index_of(x)[:, 0], x._sizes[0]
    elif isinstance(x, RaggedTensor):
        if len(x.shape) != 2:
            raise InvalidArgumentError(f"Ragged inputs should be matrices, got {x.shape}")
        values, numbers = x.flat_values, read_array(x.value_rowids())
        count = x._partition.nrows
    else:
        if len(x.shape) != 2:
            raise InvalidArgumentError(f"Dense inputs should be a matrix, got {tuple(x.shape)}")
        values, count = movement.reshape(x, (-1,)), x.shape[0]
        numbers = np.repeat(np.arange(count), x.shape[1])
    array = read_array(values)
    if array.dtype.kind not in "iuO" and array.size:
        raise TypeError(f"Features must be strings or integers, got {values.dtype.name}: `cast`")
    lists: list[list[bytes]] = [[] for _ in np.arange(count)]
    for number, item in zip(numbers.tolist(), array.tolist(), strict=True):
        lists[number].append(item if isinstance(item, bytes) else str(item).encode())
    return int(count), lists


def _cross(inputs: Sequence[Any], separator: str) -> list[list[bytes]]:
    """Return the crosses of each row."""
    if not inputs:
        raise ValueError("Expected at least one input.")
    sizes, columns = zip(*map(_read_rows, inputs), strict=True)
    for size in sizes:
        if size != sizes[0]:
            raise InvalidArgumentError(f"Expected batch size {sizes[0]}, got {size}")
    joiner = separator.encode()
    return [
        [joiner.join(parts) for parts in itertools.product(*lists)]
        for lists in zip(*columns, strict=True)
    ]


def _join(crosses: list[list[bytes]]) -> tuple[Any, np.ndarray[Any, Any]]:
    """Return all crosses as one tensor, and their number in each row."""
    flat = [text for row in crosses for text in row]
    values = creation.constant(flat, dtypes.string)
    return values, np.array([len(row) for row in crosses], np.int64)


def cross(
    inputs: Sequence[SparseTensor | TensorLike],
    name: str | None = None,
    separator: str | None = None,
) -> SparseTensor:
    """Return all combinations of the features of each row, as strings.

    Args:
      inputs: Matrices of strings or integers with one row for each example, sparse or dense. The
        sparse ones come first in the strings.
      name: Not used.
      separator: The text between features; None for ``"_X_"``.

    Returns:
      A `tf.SparseTensor` of strings.

    Raises:
      InvalidArgumentError: If an input is not a matrix, or the numbers of rows differ.
      TypeError: If an input has other values.

    Example:
      >>> x = tf.sparse.cross([tf.constant([["a", "b"], ["c", "d"]]), tf.constant([[1], [2]])])
      >>> x.values.numpy().tolist()
      [b'a_X_1', b'b_X_1', b'c_X_2', b'd_X_2']
    """
    parts = [as_values(x) for x in inputs]
    parts.sort(key=lambda x: not isinstance(x, SparseTensor))
    crosses = _cross(parts, _SEPARATOR if separator is None else separator)
    values, lengths = _join(crosses)
    row = np.repeat(np.arange(len(lengths)), lengths)
    index = np.stack([row, rows.offsets_in_rows(lengths)], 1)
    return SparseTensor._make(index, values, (len(lengths), int(lengths.max(initial=0))))


def cross_ragged(inputs: Sequence[Any], name: str | None = None) -> RaggedTensor:
    """Return all combinations of the features of each row, as strings.

    Args:
      inputs: Matrices of strings or integers with one row for each example: ragged, sparse or
        dense.
      name: Not used.

    Returns:
      A ragged tensor of strings.

    Raises:
      InvalidArgumentError: If an input is not a matrix, or the numbers of rows differ.
      TypeError: If an input has other values.

    Example:
      >>> tf.ragged.cross([tf.ragged.constant([["a"], ["b", "c"]]), tf.constant([[1], [2]])])
      <tf.RaggedTensor [[b'a_X_1'], [b'b_X_2', b'c_X_2']]>
    """
    values, lengths = _join(_cross([as_values(x) for x in inputs], _SEPARATOR))
    return RaggedTensor._make(values, rows.of_lengths(lengths))
