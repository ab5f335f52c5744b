"""Ragged tensors of lists, ranges, partitions and masks: the functions of ``tf.ragged``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.ops import creation, movement
from ..core.values import dtypes
from ..core.values.dtypes import as_dtype
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from . import row_structure as rows
from .base import Array, as_values, read_array, take_rows, to_index_tensor
from .ragged_getitem import expand_dims
from .ragged_tensor import RaggedTensor, _parse_splits_dtype, as_ragged
from .row_structure import Partition

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, IntLike, TensorLike


def constant(
    pylist: Any,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> Any:
    """Return a ragged tensor of nested lists.

    Args:
      pylist: Nested lists, tuples or arrays of numbers or strings.
      dtype: The dtype of the values; None to infer it.
      ragged_rank: The number of ragged axes; None for all axes but the last one, whose rows may
        differ as well.
      inner_shape: The shape of the values inside the ragged axes; None to infer it.
      name: Not used.
      row_splits_dtype: int32 or int64.

    Returns:
      A ragged tensor; a dense one for a scalar, or if ``ragged_rank`` is 0.

    Raises:
      ValueError: If scalars are at different depths, or the lists do not fit ``ragged_rank`` and
        ``inner_shape``.

    Example:
      >>> tf.ragged.constant([[1, 2], [3]])
      <tf.RaggedTensor [[1, 2], [3]]>
      >>> tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1).shape
      TensorShape([2, None, 2])
    """
    splits_dtype = _parse_splits_dtype(row_splits_dtype)
    target = None if dtype is None else as_dtype(dtype)
    if inner_shape is not None:
        inner_shape = tuple(int(size) for size in inner_shape)
    if not _is_list(pylist):
        if ragged_rank:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}"
            )
        if inner_shape:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with dim(inner_shape)={len(inner_shape)}"
            )
        return creation.constant(pylist, target)
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank}: must be nonnegative")
    scalar_depth, depth = _depths(pylist)
    if scalar_depth is not None:
        if depth > scalar_depth:
            raise ValueError(
                f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value "
                f"nesting"
            )
        if ragged_rank is not None and depth < ragged_rank:
            raise ValueError(
                f"Invalid pylist={pylist!r}, max_scalar_depth less than ragged_rank={ragged_rank}"
            )
    if inner_shape is not None and ragged_rank:
        expected = ragged_rank + len(inner_shape) + 1
        if (scalar_depth is not None and expected != scalar_depth) or (
            scalar_depth is None and expected < depth
        ):
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and "
                f"dim(inner_shape)={len(inner_shape)}"
            )
    if ragged_rank is None:
        ragged_rank = max(0, depth - 1 - (len(inner_shape) if inner_shape else 0))
    if ragged_rank == 0:
        if depth > 1 or not isinstance(pylist, np.ndarray):
            pylist = _to_lists(pylist)
        flat_values = creation.constant(pylist, target)
        if inner_shape is None:
            return flat_values
        if math.prod(inner_shape) != math.prod(flat_values.shape):
            raise TypeError(f"pylist={pylist!r} does not have the shape {inner_shape}")
        return movement.reshape(flat_values, inner_shape)
    if scalar_depth is not None and scalar_depth <= ragged_rank:
        raise ValueError(
            f"Invalid pylist={pylist!r}: pylist has scalar values depth {scalar_depth}, but "
            f"ragged_rank={ragged_rank} requires scalar value depth greater than {ragged_rank}"
        )
    partitions = []
    values: list[Any] = list(pylist)
    for _ in np.arange(ragged_rank):
        if not all(map(_is_list, values)):
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}"
            )
        lengths = np.array([len(row) for row in values], np.int64)
        partitions.append(rows.of_lengths(lengths))
        values = [item for row in values for item in row]
    if inner_shape is None:
        inner_shape = _inner_shape(values)
        if not values and depth > ragged_rank + 1:
            inner_shape = (0,) * (depth - ragged_rank - 1)
    _check_shape(values, inner_shape)
    if not values:
        flat = (
            creation.zeros((0, *inner_shape), target or dtypes.float32)
            if (target is not dtypes.string)
            else movement.reshape(creation.constant([], dtypes.string), (0, *inner_shape))
        )
    else:
        flat = movement.reshape(
            creation.constant(_to_lists(values), target), (len(values), *inner_shape)
        )
    return RaggedTensor._nest(flat, partitions, splits_dtype)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _to_lists(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [_to_lists(part) for part in value]
    return [_to_lists(part) for part in value] if isinstance(value, list | tuple) else value


def _depths(value: Any) -> tuple[int | None, int]:
    """Return the depth of scalars, None if there are none, and the largest depth of lists."""
    if not _is_list(value):
        return 0, 0
    if isinstance(value, np.ndarray) and value.dtype != object:
        return (value.ndim if value.size else None), value.ndim
    scalar_depth, depth = None, 1
    for part in value:
        part_scalar, part_depth = _depths(part)
        if part_scalar is not None:
            if scalar_depth is not None and scalar_depth != part_scalar + 1:
                raise ValueError("all scalar values must have the same nesting depth")
            scalar_depth = part_scalar + 1
        depth = max(depth, part_depth + 1)
    return scalar_depth, depth


def _inner_shape(values: list[Any]) -> tuple[int, ...]:
    """Return the shape of the first value, at each depth of the first list that is not empty."""
    shape = []
    while values and _is_list(values[0]):
        shape.append(len(values[0]))
        values = [item for row in values if _is_list(row) for item in row]
    return tuple(shape)


def _check_shape(values: list[Any], shape: tuple[int, ...]) -> None:
    for size in shape:
        for row in values:
            if not _is_list(row) or len(row) != size:
                raise ValueError("inner values have inconsistent shape")
        values = [item for row in values for item in row]
    if any(_is_list(value) for value in values):
        raise ValueError("inner values have inconsistent shape")


def range(
    starts: TensorLike,
    limits: TensorLike | None = None,
    deltas: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> RaggedTensor:
    """Return the numbers from starts to limits, one row for each.

    Args:
      starts: The first number of each row, a vector or scalar; the limits if they are None.
      limits: The number before which each row ends, a vector or scalar.
      deltas: The steps, a vector or scalar.
      dtype: The dtype of the result; None to infer it.
      name: Not used.
      row_splits_dtype: int32 or int64.

    Returns:
      A ragged tensor of shape (rows, None).

    Raises:
      InvalidArgumentError: If a step is 0, or the vectors differ in length.

    Example:
      >>> tf.ragged.range([3, 5, 2])
      <tf.RaggedTensor [[0, 1, 2], [0, 1, 2, 3, 4], [0, 1]]>
      >>> tf.ragged.range([0, 5], [3, 8])
      <tf.RaggedTensor [[0, 1, 2], [5, 6, 7]]>
    """
    splits_dtype = _parse_splits_dtype(row_splits_dtype)
    if limits is None:
        starts, limits = 0, starts
    parts = [as_values(x) for x in (starts, limits, deltas)]
    target = as_dtype(dtype) if dtype is not None else _widest([x.dtype for x in parts])
    arrays = [read_array(x).astype(target.numpy_dtype) for x in parts]
    if any(x.ndim > 1 for x in arrays):
        raise InvalidArgumentError(
            "starts, limits and deltas must be vectors or scalars [Op:RaggedRange]"
        )
    sizes = {len(x) for x in arrays if x.ndim}
    if len(sizes) > 1:
        raise InvalidArgumentError(
            "starts, limits, and deltas must have the same shape [Op:RaggedRange]"
        )
    size = sizes.pop() if sizes else 1
    first, last, step = (np.broadcast_to(x, (size,)) for x in arrays)
    if (step == 0).any():
        raise InvalidArgumentError("Requires delta != 0 [Op:RaggedRange]")
    if target.is_floating:
        counts = np.ceil((last.astype(np.float64) - first) / step)
    else:
        wide = (x.astype(np.int64) for x in (first, last, step))
        begin, end, by = wide
        counts = -((begin - end) // by)
    lengths = np.maximum(counts, 0).astype(np.int64)
    offsets = rows.offsets_in_rows(lengths).astype(target.numpy_dtype)
    values = np.repeat(first, lengths) + offsets * np.repeat(step, lengths)
    return RaggedTensor._make(
        creation.constant(values.astype(target.numpy_dtype)), rows.of_lengths(lengths), splits_dtype
    )


def _widest(kinds: list[Any]) -> Any:
    order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
    if any(kind not in order for kind in kinds):
        raise ValueError(f"tf.ragged.range takes int32, int64, float32 or float64, got {kinds}")
    return max(kinds, key=order.index)


def row_splits_to_segment_ids(
    splits: TensorLike, name: str | None = None, out_type: DTypeLike | None = None
) -> Tensor:
    """Return the row of each value, for the splits of rows.

    Args:
      splits: A vector of integers, sorted, whose first element is 0.
      name: Not used.
      out_type: The dtype of the result; None for that of the splits.

    Returns:
      A vector of integers.

    Raises:
      ValueError: If ``splits`` is not a vector of int32 or int64, or empty.

    Example:
      >>> tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5]).numpy()
      array([0, 0, 0, 2, 2])
    """
    array = read_array(splits)
    if not array.size:
        raise ValueError(f"Invalid row_splits: {splits!r}")
    kind = dtypes.of_array(array) if array.size else dtypes.int64
    if array.dtype.kind not in "iu" or kind not in (dtypes.int32, dtypes.int64):
        raise ValueError("splits must have dtype int32 or int64.")
    if array.ndim != 1:
        raise ValueError(f"Shape {array.shape} must have rank 1: splits")
    target = kind if out_type is None else as_dtype(out_type)
    return to_index_tensor(rows.rowids_of(array), target)


def segment_ids_to_row_splits(
    segment_ids: TensorLike,
    num_segments: IntLike | None = None,
    out_type: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the splits of rows, for the row of each value.

    Args:
      segment_ids: A vector of integers, sorted.
      num_segments: The number of rows; None for the last value's row plus 1.
      out_type: The dtype of the result; None for that of the ids.
      name: Not used.

    Returns:
      A vector of integers.

    Raises:
      ValueError: If ``segment_ids`` is not a vector of int32 or int64.
      InvalidArgumentError: If an id is negative or too large.

    Example:
      >>> tf.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2, 3]).numpy()
      array([0, 3, 3, 5, 6])
    """
    array = read_array(segment_ids)
    if isinstance(segment_ids, list | tuple) and not len(segment_ids):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError("segment_ids must have dtype int32 or int64.")
    if array.ndim != 1:
        raise ValueError(f"Shape {array.shape} must have rank 1")
    if (array < 0).any():
        raise InvalidArgumentError("segment_ids must not be negative [Op:SegmentIdsToRowSplits]")
    counts = np.bincount(
        array, minlength=0 if num_segments is None else int(read_array(num_segments))
    )
    if num_segments is not None and len(counts) > int(read_array(num_segments)):
        raise InvalidArgumentError("a segment id is too large [Op:SegmentIdsToRowSplits]")
    target = dtypes.of_array(array) if out_type is None else as_dtype(out_type)
    return to_index_tensor(rows.splits_of_lengths(counts), target)


def stack_dynamic_partitions(
    data: Any, partitions: TensorLike, num_partitions: IntLike, name: str | None = None
) -> RaggedTensor:
    """Return a ragged tensor whose row k has the slices of ``data`` whose partition is k.

    Args:
      data: A tensor, dense or ragged, of shape partitions.shape + (...).
      partitions: A tensor of integers from 0 to num_partitions - 1, or a ragged one.
      num_partitions: The number of rows.
      name: Not used.

    Returns:
      A ragged tensor of shape (num_partitions, None, ...).

    Raises:
      ValueError: If the shapes do not fit.
      InvalidArgumentError: If a partition is out of range.

    Example:
      >>> tf.ragged.stack_dynamic_partitions([10, 20, 30, 40], [2, 0, 2, 1], 4)
      <tf.RaggedTensor [[20], [40], [10, 30], []]>
    """
    values = as_values(data)
    if isinstance(partitions, RaggedTensor):
        values = as_ragged(values, partitions.ragged_rank)
        if not np.array_equal(values._partition.splits, partitions._partition.splits):
            raise InvalidArgumentError("data and partitions have incompatible ragged shapes")
        return stack_dynamic_partitions(values.values, partitions.values, num_partitions)
    ids = read_array(as_values(partitions))
    if ids.dtype.kind not in "iu" and ids.size:
        raise TypeError("partitions must be integers")
    if read_array(num_partitions).ndim:
        raise ValueError("num_partitions must have rank 0: it is a scalar")
    count = int(read_array(num_partitions))
    if ids.ndim == 0:
        values, ids = expand_dims(values, 0), ids.reshape(1)
    lead = tuple(values.shape[: ids.ndim])
    if any(size not in (None, other) for size, other in zip(lead, ids.shape, strict=False)):
        raise ValueError(f"Shapes {ids.shape} and {lead} are incompatible: partitions and data")
    for _ in np.arange(ids.ndim - 1):
        values = (
            values.values
            if isinstance(values, RaggedTensor)
            else movement.reshape(values, (-1, *values.shape[2:]))
        )
    ids = ids.ravel()
    if values.shape[0] != len(ids):
        raise ValueError(f"data has {values.shape[0]} slices, but there are {len(ids)} partitions")
    if ids.size and (ids.min() < 0 or ids.max() >= count):
        raise InvalidArgumentError(
            f"{_partition_error(ids)}: they are in [0, {count}), got {int(ids.min())} to "
            f"{int(ids.max())} [Op:StackDynamicPartitions]"
        )
    order = np.argsort(ids, kind="stable")
    lengths = np.bincount(ids.astype(np.int64), minlength=count)
    return RaggedTensor._make(take_rows(values, order), rows.of_lengths(lengths))


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a function to the flat values of ragged tensors, which must have the same rows.

    Args:
      op: A function that keeps the first size of its arguments.
      *args: Its arguments: ragged tensors, also in lists, are replaced by their flat values.
      **kwargs: Its keyword arguments.

    Returns:
      A ragged tensor; the result of ``op`` if no argument is ragged.

    Raises:
      ValueError: If the ragged arguments have different rows.
      InvalidArgumentError: If the result has another first size.

    Example:
      >>> x = tf.ragged.constant([[1, 2, 3], [], [4, 5]])
      >>> tf.ragged.map_flat_values(lambda v: v * v, x)
      <tf.RaggedTensor [[1, 4, 9], [], [16, 25]]>
    """
    ragged: list[RaggedTensor] = []

    def replace(x: Any) -> Any:
        if isinstance(x, RaggedTensor):
            ragged.append(x)
            return x.flat_values
        if isinstance(x, list | tuple) and any(isinstance(part, RaggedTensor) for part in x):
            return type(x)(map(replace, x))
        return x

    flat_args = [replace(x) for x in args]
    flat_kwargs = {key: replace(x) for key, x in kwargs.items()}
    if not ragged:
        return op(*args, **kwargs)
    check_same_rows(ragged)
    result = as_values(op(*flat_args, **flat_kwargs))
    first = ragged[0]
    if not len(result.shape) or result.shape[0] != first.flat_values.shape[0]:
        raise ValueError(
            "tf.ragged.map_flat_values requires that the output of `op` have the same "
            "outer-dimension size as flat_values of any ragged inputs. (output shape: "
            f"{tuple(result.shape)}; expected outer dimension size: {first.flat_values.shape[0]})"
        )
    return first.with_flat_values(result)


def _partition_error(ids: Array) -> str:
    if ids.min() < 0:
        return "partitions must be non-negative"
    return "partitions must be less than num_partitions"


def check_same_rows(ragged: Sequence[RaggedTensor]) -> None:
    """Raise an error unless ragged tensors have the same rows at all levels."""
    first = ragged[0]
    for x in ragged[1:]:
        if x.ragged_rank != first.ragged_rank:
            raise ValueError("All ragged inputs must have the same ragged_rank.")
        for a, b in zip(x._partitions(), first._partitions(), strict=True):
            if a.splits is not b.splits and not np.array_equal(a.splits, b.splits):
                raise InvalidArgumentError(
                    "Inputs must have identical ragged splits: their partitions have incompatible "
                    "rows."
                )


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """Return the values where a mask is True, in rows.

    Args:
      data: A tensor, dense or ragged.
      mask: Bools, dense or ragged, whose shape is a prefix of the shape of ``data``.
      name: Not used.

    Returns:
      A ragged tensor of the rank of ``data``; a dense one if the mask is a vector.

    Raises:
      ValueError: If ``mask`` is a scalar.
      InvalidArgumentError: If the shapes differ.

    Example:
      >>> x = tf.constant([[1, 2, 3], [4, 5, 6]])
      >>> tf.ragged.boolean_mask(x, x % 2 == 1)
      <tf.RaggedTensor [[1, 3], [5]]>
    """
    x, m = as_values(data), as_values(mask)
    if m.dtype is not dtypes.bool_:
        error = ValueError if isinstance(m, RaggedTensor) else TypeError
        kind = "RaggedTensor" if isinstance(m, RaggedTensor) else "Tensor"
        raise error(f"Tensor conversion requested dtype bool for {kind} with dtype {m.dtype.name}")
    rank = len(m.shape)
    if not rank:
        raise ValueError("mask cannot be scalar.")
    if not isinstance(m, RaggedTensor) and not isinstance(x, RaggedTensor):
        lead = tuple(x.shape[:rank])
        if lead != tuple(m.shape):
            raise ValueError(f"Shapes {lead} and {tuple(m.shape)} are incompatible")
    if isinstance(m, RaggedTensor):
        if not isinstance(x, RaggedTensor) or x.ragged_rank < m.ragged_rank:
            x = as_ragged(x, m.ragged_rank)
    elif rank > 1:
        m = as_ragged(m, rank - 1)
        x = as_ragged(x, rank - 1)
    if not isinstance(m, RaggedTensor):
        if isinstance(x, RaggedTensor):
            return x._take_rows(np.flatnonzero(_mask_of(m, x.shape[0])))
        return take_rows(x, np.flatnonzero(_mask_of(m, x.shape[0])))
    if len(m.flat_values.shape) > 1:
        m = as_ragged(m, rank - 1)
        x = as_ragged(x, rank - 1)
    parts, mask_parts = x._partitions(), m._partitions()
    depth = len(mask_parts)
    for a, b in zip(parts, mask_parts, strict=False):
        if not np.array_equal(a.splits, b.splits):
            raise InvalidArgumentError("Inputs must have identical ragged splits: data and mask.")
    flags = read_array(m.flat_values)
    last = mask_parts[-1]
    lengths = (
        np.add.reduceat(np.append(flags, False).astype(np.int64), last.splits[:-1])
        if len(flags)
        else np.zeros(last.nrows, np.int64)
    )
    lengths = np.where(last.lengths > 0, lengths, 0)
    inner, flat = rows.take(parts[depth:], np.flatnonzero(flags))
    outer = [Partition(part.splits) for part in parts[: depth - 1]]
    return RaggedTensor._nest(
        take_rows(x.flat_values, flat),
        [*outer, rows.of_lengths(lengths), *inner],
        x._splits_dtype,
    )


def _mask_of(mask: Any, size: int) -> Array:
    flags = read_array(mask)
    if len(flags) != size:
        raise InvalidArgumentError(f"mask has {len(flags)} elements for {size} rows")
    return flags


def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Stack tensors of one rank, dense or ragged, along a new axis. Rows may differ in length.

    Args:
      values: A list of tensors.
      axis: The new axis.
      name: Not used.

    Returns:
      A ragged tensor of one axis more than the tensors.

    Raises:
      ValueError: If ``values`` is empty, the ranks differ, or there is no such axis.

    Example:
      >>> tf.ragged.stack([[1, 2], [3]])
      <tf.RaggedTensor [[1, 2], [3]]>
    """
    from .ragged_arrangement import stack_ragged

    return stack_ragged(values, axis)
