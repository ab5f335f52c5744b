"""`dynamic_partition`, `dynamic_stitch`, `unravel_index` and `invert_permutation`.

Their indices are read at the call.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidArgumentError
from ..log.as_tensor import as_tensor, from_owned_array, to_tensor
from ..log.record import record, require
from ..values import dtypes
from ..values.composite import dispatches
from ..values.tensor import Tensor
from . import elementwise, movement
from .indexing import GATHER
from .joining import as_tensors, concat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..values.annotations import IntLike, TensorLike

Array = np.ndarray[Any, Any]


@dispatches
def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: IntLike, name: str | None = None
) -> list[Tensor]:
    """Partition the slices of a tensor by the number of their part.

    Args:
      data: A tensor of any dtype.
      partitions: The part of each slice: integers from 0 to ``num_partitions`` - 1, of the shape of
        the leading axes of ``data``. Their values are read at the call.
      num_partitions: The number of parts.
      name: Not used.

    Returns:
      A list of tensors, the slices of each part in their original order.

    Raises:
      InvalidArgumentError: If the shapes do not fit, or a number is out of range.
      TypeError: If ``partitions`` are floats.
      ValueError: If ``partitions`` is a tensor of another dtype than int32.

    Example:
      >>> few, many = tf.dynamic_partition([10, 20, 30], [1, 0, 1], 2)
      >>> few.numpy(), many.numpy()
      (array([20], dtype=int32), array([10, 30], dtype=int32))
    """
    op = "DynamicPartition"
    x, value = as_tensor(data), _read_int32(partitions, op)
    count = movement.to_ints(num_partitions)
    if not isinstance(count, int) or count < 1:
        raise InvalidArgumentError(
            f"num_partitions must be at least 1, got {num_partitions!r} [Op:{op}]"
        )
    require(
        tuple(x.shape[: value.ndim]) == value.shape,
        op,
        f"data.shape must start with partitions.shape, got data.shape = {list(x.shape)}, "
        f"partitions.shape = {list(value.shape)}",
    )
    values = value.ravel()
    bad = np.flatnonzero((values < 0) | (values >= count))
    require(not bad.size, op, f"partitions is not in [0, {count}): {values[bad[:1]].tolist()}")
    flat = movement.reshape(x, (values.size, *x.shape[value.ndim :]))
    return [
        record(GATHER, (flat, from_owned_array(np.flatnonzero(values == k))), axis=0)
        for k in range(count)
    ]


def _read_int32(value: TensorLike, op: str) -> Array:
    result = to_tensor(value, dtypes.int32)._array()
    return result


@dispatches
def dynamic_stitch(
    indices: Sequence[TensorLike], data: Sequence[TensorLike], name: str | None = None
) -> Tensor:
    """Merge slices of several tensors by index: ``merged[indices[m][i]] = data[m][i]``.

    If an index is repeated, the last slice is used, and only it gets a gradient. Slices without an
    index are zero.

    Args:
      indices: A list of tensors of int32; their values are read at the call.
      data: A list of tensors of one dtype, whose leading axes are those of the indices.
      name: Not used.

    Returns:
      A tensor whose first size is the largest index plus 1.

    Raises:
      InvalidArgumentError: If the shapes or dtypes do not fit, or an index is negative.

    Example:
      >>> tf.dynamic_stitch([[2, 0], [1]], [[30, 10], [20]]).numpy()
      array([10, 20, 30], dtype=int32)
    """
    op = "DynamicStitch"
    if not isinstance(indices, list | tuple) or not isinstance(data, list | tuple):
        raise TypeError("dynamic_stitch expects lists of indices and data.")
    require(bool(indices or data), op, "Expected at least one tensor")
    if len(indices) != len(data):
        raise ValueError(
            f"List argument 'data' to 'dynamic_stitch' Op with length {len(data)} must match "
            f"length {len(indices)} of argument 'indices'."
        )
    provided, value = as_tensors(data, op), [_read_int32(x, op) for x in indices]
    rest = tuple(provided[0].shape[value[0].ndim :])
    for x, at in zip(provided, value, strict=True):
        require(
            tuple(x.shape) == (*at.shape, *rest),
            op,
            f"data[0].shape = {provided[0].shape} and "
            f"a data of shape {x.shape} for indices of shape "
            f"{at.shape} do not go together",
        )
    flat = np.concatenate([at.ravel() for at in value]).astype(np.int64)
    require(not flat.size or int(flat.min()) >= 0, op, "indices must not be negative")
    size = int(flat.max()) + 1 if flat.size else 0
    source = np.full(size, flat.size)
    source[flat] = np.arange(flat.size)
    parts = [movement.reshape(x, (at.size, *rest)) for x, at in zip(provided, value, strict=True)]
    if (source == flat.size).any():
        parts.append(movement.broadcast_to(elementwise.cast(0, provided[0].dtype), (1, *rest)))
    return record(GATHER, (concat(parts, 0), from_owned_array(source)), axis=0)


def unravel_index(indices: TensorLike, dims: TensorLike, name: str | None = None) -> Tensor:
    """Convert flat indices to tuples of indices.

    Args:
      indices: A scalar or vector of integers.
      dims: The sizes of the axes, a vector of the same dtype.
      name: Not used.

    Returns:
      A tensor of integers, whose columns are the tuples.

    Raises:
      InvalidArgumentError: If an index is out of range, or the shapes do not fit.

    Example:
      >>> tf.unravel_index([2, 5, 7], dims=[3, 3]).numpy()
      array([[0, 1, 2],
             [2, 2, 1]], dtype=int32)
    """
    op = "UnravelIndex"
    result = _to_integers(indices, op)
    sizes = _to_integers(dims, op)
    require(result.ndim <= 1, op, f"The indices can only be scalar or vector: {result.shape}")
    require(sizes.ndim == 1, op, f"The dims must be a 1-D tensor, got shape {sizes.shape}")
    if result.dtype is not sizes.dtype:
        raise dtypes.mismatch_error(op, 1, result.dtype, sizes.dtype)
    values, shape = result._array(), tuple(sizes._array().tolist())
    require(
        min(shape, default=1) > 0,
        op,
        f"Input dims {list(shape)} cannot be of 0 or less (dims cannot contain a dim of zero)",
    )
    require(
        math.prod(shape) <= np.iinfo(sizes.dtype.numpy_dtype).max,
        op,
        f"Input dims product is causing integer overflow: {list(shape)}",
    )
    is_valid = not values.size or (values.min() >= 0 and values.max() < math.prod(shape))
    require(bool(is_valid), op, f"index is out of bound as with dims {list(shape)}")
    return from_owned_array(np.array(np.unravel_index(values, shape), result.dtype.numpy_dtype))


def _to_integers(value: TensorLike, op: str) -> Tensor:
    result = as_tensor(value)
    require(
        result.dtype in (dtypes.int32, dtypes.int64),
        op,
        f"Expected int32 or int64, got {result.dtype.name}",
    )
    return result


def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the inverse of a permutation: ``y[x[i]] = i``.

    Args:
      x: A vector of int32 or int64 that contains each of 0 to n - 1 once. Its values are read at
        the call.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If ``x`` is not a permutation.

    Example:
      >>> tf.math.invert_permutation([3, 4, 0, 2, 1]).numpy()
      array([2, 4, 3, 0, 1], dtype=int32)
    """
    op = "InvertPermutation"
    result = _to_integers(x, op)
    require(result.ndim == 1, op, "invert_permutation expects a 1D vector.")
    values = result._array()
    count = values.size
    is_valid = not count or (values.min() >= 0 and values.max() < count)
    require(bool(is_valid), op, f"{values.tolist()} is not between 0 and {count}")
    require(np.unique(values).size == count, op, f"{values.tolist()} has a duplicate")
    return from_owned_array(np.argsort(values).astype(result.dtype.numpy_dtype))
