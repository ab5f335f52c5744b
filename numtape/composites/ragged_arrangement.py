"""Functions that move rows of ragged tensors: joining, gathering, tiling, reversing, splitting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.ops import creation, indexing, joining, movement, scatter, slicing
from ..core.values import dtypes
from ..core.values.dtypes import as_dtype
from ..core.values.tensor import Tensor
from ..errors import CompositeError, InvalidArgumentError
from . import row_structure as rows
from .base import Array, as_values, join_rows, read_array, take_rows, to_index_tensor
from .dispatch import handles
from .ragged_conversion import coordinates
from .ragged_getitem import expand_dims, getitem
from .ragged_tensor import RaggedTensor, as_ragged, resolve_axis
from .row_structure import Partition

if TYPE_CHECKING:
    from ..core.values.annotations import AxisLike, DTypeLike
    from ..core.values.dtypes import DType


def stack_ragged(values: Any, axis: int = 0) -> Any:
    """Stack tensors along a new axis; see `tf.ragged.stack`."""
    if not isinstance(values, list | tuple):
        values = [values]
    if not len(values):
        raise ValueError("rt_inputs may not be empty.")
    parts = [as_values(x) for x in values]
    rank = _common_rank(parts)
    axis = resolve_axis(axis, rank + 1)
    if not rank:
        return joining.stack(parts)
    return _join(parts, axis, True)


def _common_rank(parts: Sequence[Any]) -> int:
    ranks = {len(x.shape) for x in parts}
    if len(ranks) > 1:
        raise ValueError(f"All inputs must have the same rank, got ranks {sorted(ranks)}")
    return ranks.pop()


@handles(RaggedTensor, joining.stack)
def _stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    return stack_ragged(values, axis)


@handles(RaggedTensor, joining.concat)
def _concat(values: Any, axis: int, name: str | None = None) -> Any:
    parts = [as_values(x) for x in (values if isinstance(values, list | tuple) else [values])]
    rank = _common_rank(parts)
    axis = resolve_axis(axis, rank)
    if not rank:
        raise ValueError("concat requires tensors of at least one axis")
    return _join(parts, axis, False)


def _join(parts: list[Any], axis: int, stacks: bool) -> Any:
    """Concatenate or stack tensors of which some may be ragged."""
    if len(parts) == 1 and not stacks:
        return parts[0]
    if axis == 0:
        counts = np.array([x.shape[0] for x in parts], np.int64)
        if len(parts[0].shape) > 1 and not any(isinstance(x, RaggedTensor) for x in parts):
            parts = [as_ragged(x, 1) for x in parts]  # rows may differ in length
            if len({x._partition.uniform for x in parts}) > 1 or not stacks:
                parts = [_make_ragged(x) for x in parts]
        joined = join_rows(parts)
        if not stacks:
            return joined
        dtype = joined._splits_dtype if isinstance(joined, RaggedTensor) else dtypes.int64
        return RaggedTensor._make(joined, rows.of_lengths(counts), dtype)
    if len(parts[0].shape) == 1:  # vectors, stacked as columns
        joined = joining.stack(parts, 1)
        return as_ragged(joined, 1)
    ragged = [as_ragged(x, 1) for x in parts]
    count = ragged[0]._partition.nrows
    if any(x._partition.nrows != count for x in ragged):
        raise InvalidArgumentError(
            f"Inputs must have the same number of rows, got {[x._partition.nrows for x in ragged]}"
        )
    if axis == 1:
        number = len(parts)
        order = (np.arange(count)[:, None] + count * np.arange(number)).ravel()
        taken = join_rows([_make_ragged(x) for x in ragged])._take_rows(order)
        if stacks:
            part = rows.uniform_partition(count, number)
            return RaggedTensor._make(taken, Partition(part.splits), taken._splits_dtype)
        splits = taken._partition.splits[::number]
        return RaggedTensor._make(taken._values, Partition(splits), taken._splits_dtype)
    for x in ragged[1:]:
        if not np.array_equal(x._partition.splits, ragged[0]._partition.splits):
            raise InvalidArgumentError("Inputs must have identical ragged splits")
    values = [x._values for x in ragged]
    if not any(isinstance(x, RaggedTensor) for x in values):
        function = joining.stack if stacks else joining.concat
        return ragged[0].with_values(function(values, axis - 1))
    return ragged[0].with_values(_join(values, axis - 1, stacks))


def _make_ragged(x: RaggedTensor) -> RaggedTensor:
    """Return a tensor whose axis 1 is ragged, even if all rows have one length."""
    if x._partition.uniform is None:
        return x
    return RaggedTensor._make(x._values, Partition(x._partition.splits), x._splits_dtype)


@handles(RaggedTensor, movement.expand_dims)
def _expand_dims(input: Any, axis: AxisLike, name: str | None = None) -> Any:
    return expand_dims(input, int(read_array(axis)))


@handles(RaggedTensor, movement.squeeze)
def _squeeze(input: Any, axis: AxisLike = None, name: str | None = None) -> Any:
    if axis is None:
        raise ValueError("Ragged.squeeze must have an axis argument.")
    rank = len(input.shape)
    if not isinstance(axis, int | list | tuple | Tensor | np.ndarray | np.integer):
        raise TypeError(f"axis must be an int or a list of ints, got {axis!r}")
    axes = {resolve_axis(int(k), rank) for k in np.ravel(read_array(axis))}
    return _squeeze_axes(input, axes)


def _squeeze_axes(x: Any, axes: set[int]) -> Any:
    if not axes:
        return x
    if not isinstance(x, RaggedTensor):
        return movement.squeeze(x, sorted(axes))
    for axis in axes & {0, 1}:
        is_one = x._partition.nrows == 1 if axis == 0 else bool((x._partition.lengths == 1).all())
        if not is_one:
            raise InvalidArgumentError(
                f"Can not squeeze dim[{axis}], expected a dimension of 1 [Op:Squeeze]"
            )
    deeper = {axis - 1 for axis in axes if axis > 1}
    if not axes & {0, 1}:
        return x.with_values(_squeeze_axes(x._values, deeper))
    # The values are the rows without axis 1, or without axis 0 if there is one row.
    if {0, 1} <= axes:
        return _squeeze_axes(x._values, {0, *deeper})
    return _squeeze_axes(x._values, deeper)


@handles(RaggedTensor, joining.tile)
def _tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    counts = [int(k) for k in read_array(multiples)]
    if len(counts) != len(input.shape):
        raise ValueError(f"multiples must have {len(input.shape)} elements, got {len(counts)}")
    parts, flat = input._partitions(), input.flat_values
    selected = np.tile(np.arange(parts[0].nrows), counts[0])
    result = []
    for part, count in zip(parts, counts[1:], strict=False):
        lengths = part.lengths[selected]
        starts = np.repeat(part.splits[:-1][selected], count)
        selected = rows.expand(starts, np.repeat(lengths, count))
        uniform = None if part.uniform is None else part.uniform * count
        result.append(rows.of_lengths(lengths * count, uniform))
    values = take_rows(flat, selected)
    inner = counts[len(parts) + 1 :]
    if any(count != 1 for count in inner):
        values = joining.tile(values, [1, *inner])
    return RaggedTensor._nest(values, result, input._splits_dtype)


@handles(RaggedTensor, slicing.reverse)
def _reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    if (
        axis is None
        or isinstance(axis, int)
        or (np.size(axis) and np.asarray(axis).dtype.kind not in "iu")
    ):
        raise TypeError("`axis` must be a list of int or a constant tensor when reversing")
    rank = len(tensor.shape)
    axes = {resolve_axis(int(k), rank) for k in np.ravel(read_array(axis))}
    parts, flat = tensor._partitions(), tensor.flat_values
    selected = np.arange(parts[0].nrows)
    selected = selected[::-1] if 0 in axes else selected
    result = []
    for axis_number, part in enumerate(parts, 1):
        lengths = part.lengths[selected]
        starts, step = part.splits[:-1][selected], 1
        if axis_number in axes:
            starts, step = starts + lengths - 1, -1
        selected = rows.expand(starts, lengths, step)
        result.append(rows.of_lengths(lengths, part.uniform))
    values = take_rows(flat, selected)
    inner = [k - len(parts) for k in axes if k > len(parts)]
    if inner:
        values = slicing.reverse(values, inner)
    return RaggedTensor._nest(values, result, tensor._splits_dtype)


@handles(RaggedTensor, slicing.split)
def _split(
    value: Any,
    num_or_size_splits: Any,
    axis: int = 0,
    num: int | None = None,
    name: str | None = None,
) -> list[Any]:
    if isinstance(num_or_size_splits, RaggedTensor):
        raise TypeError("num_or_size_splits must not be a RaggedTensor")
    axis = resolve_axis(axis, len(value.shape))
    sizes = read_array(num_or_size_splits)
    if axis > 0:
        parts = [value._partition.uniform, *(part.uniform for part in value._partitions()[1:])]
        if axis <= len(parts) and parts[axis - 1] is None:
            raise ValueError("ragged_split does not support splitting a ragged axis")
        pieces = slicing.split if type(value._values) is Tensor else _split
        if axis == 1:
            size = value._partition.uniform
            counts = _split_sizes(sizes, size, num)
            begins = np.cumsum([0, *counts[:-1]])
            return [
                getitem(value, (slice(None), slice(int(b), int(b + n))))
                for b, n in zip(begins, counts, strict=True)
            ]
        return [
            value.with_values(piece)
            for piece in pieces(value._values, num_or_size_splits, axis - 1)
        ]
    counts = _split_sizes(sizes, value._partition.nrows, num)
    begins = np.cumsum([0, *counts[:-1]])
    return [value._take_rows(np.arange(b, b + n)) for b, n in zip(begins, counts, strict=True)]


def _split_sizes(sizes: Array, total: int, num: int | None) -> list[int]:
    if sizes.ndim == 0:
        count = int(sizes)
        if count <= 0:
            raise ValueError(f"num_or_size_splits must be positive, got {count}")
        if total % count:
            raise InvalidArgumentError(
                f"Cannot exactly split the RaggedTensor: {total} rows into {count} [Op:Split]"
            )
        return [total // count] * count
    if sizes.ndim > 1:
        raise TypeError("num_or_size_splits must be a scalar or a vector")
    if sizes.dtype.kind not in "iu":
        raise TypeError("num_or_size_splits must be integers")
    counts = [int(k) for k in sizes]
    if min(counts, default=0) < 0:
        raise InvalidArgumentError("num_or_size_splits must be non-negative [Op:Split]")
    if num is not None and num != len(counts):
        raise ValueError("`num` does not match the number of sizes in num_or_size_splits")
    if sum(counts) != total:
        raise InvalidArgumentError(
            f"Cannot exactly split the RaggedTensor: the sum of the sizes, {sum(counts)}, is not "
            f"the number of rows, {total} [Op:Split]"
        )
    return counts


@handles(RaggedTensor, indexing.gather)
def _gather(
    params: Any,
    indices: Any,
    validate_indices: bool | None = None,
    axis: int | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    x, index = as_values(params), as_values(indices)
    batch_dims = int(batch_dims)
    rank, index_rank = len(x.shape), len(index.shape)
    if batch_dims < 0:
        batch_dims += index_rank
    axis = batch_dims if axis is None else resolve_axis(axis, rank)
    if axis < batch_dims:
        raise ValueError(f"batch_dims={batch_dims} must be less than or equal to axis={axis}")
    if not isinstance(x, RaggedTensor) and batch_dims == 0 and axis == 0:
        _check_rows(read_array(index.flat_values), x.shape[0])
        return index.with_flat_values(indexing.gather(x, index.flat_values))
    if batch_dims:
        return _gather_batch(x, index, axis, batch_dims)
    if axis:
        return _gather_axis(x, index, axis)
    if isinstance(index, RaggedTensor):
        return index.with_flat_values(_gather(x, index.flat_values))
    numbers = _check_rows(read_array(index), x.shape[0])
    if not numbers.ndim:
        return getitem(x, int(numbers))
    result = x._take_rows(numbers.ravel())
    return _wrap_axes(result, numbers.shape, x._splits_dtype)


def _wrap_axes(result: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """Divide the first axis of a tensor into axes of uniform sizes."""
    for k in np.arange(len(shape) - 1, 0, -1):
        part = rows.uniform_partition(math.prod(shape[:k]), shape[k])
        result = RaggedTensor._make(result, Partition(part.splits), dtype)
    return result


def _check_rows(numbers: Array, size: int) -> Array:
    if numbers.dtype.kind not in "iu" and numbers.size:
        raise TypeError(f"indices must be integers, got {numbers.dtype}")
    bad = (numbers < 0) | (numbers >= size)
    if bad.any():
        raise InvalidArgumentError(
            f"indices[{int(np.argmax(bad.ravel()))}] = {int(numbers[bad].ravel()[0])} is not in "
            f"[0, {size}) [Op:GatherV2]"
        )
    return numbers.astype(np.int64)


def _gather_batch(x: Any, index: Any, axis: int, batch_dims: int) -> Any:
    x = as_ragged(x, batch_dims)
    is_dense = not isinstance(index, RaggedTensor)
    index_rank = len(index.shape)
    depth = max(batch_dims - 1, min(1, index_rank - 1)) if is_dense else index.ragged_rank
    if is_dense and index_rank > batch_dims:
        depth = batch_dims
    if batch_dims > 1:
        inner = as_ragged(index, 1)
        _check_batch(x, inner)
        return inner.with_values(_gather_batch(x._values, inner._values, axis - 1, batch_dims - 1))
    if axis > 1:
        pieces = [
            _gather_any(x[k], index[k], axis - 1) for k in np.arange(x._partition.nrows).tolist()
        ]
        return stack_ragged(pieces)
    if index_rank == 1:  # one row of each
        numbers = read_array(index)
        part = x._partition
        if len(numbers) != part.nrows:
            raise InvalidArgumentError("params and indices differ in their batch sizes")
        if ((numbers < 0) | (numbers >= part.lengths)).any():
            raise InvalidArgumentError("an index is out of range of its row [Op:GatherV2]")
        return take_rows(x._values, part.splits[:-1] + numbers)
    index = as_ragged(index, max(depth, 1))
    _check_batch(x, index)
    levels = index._partitions()
    row = rows.rowids_of(levels[0].splits)
    for part in levels[1:]:
        row = np.repeat(row, part.lengths)
    numbers = read_array(index.flat_values)
    lead = (slice(None), *[None] * (numbers.ndim - 1))
    limits = x._partition.lengths[row][lead]
    if ((numbers < 0) | (numbers >= limits)).any():
        raise InvalidArgumentError("an index is out of range of its row [Op:GatherV2]")
    absolute = numbers + x._partition.splits[:-1][row][lead]
    values = take_rows(x._values, absolute.ravel())
    if numbers.ndim > 1:
        values = (
            _wrap_axes(values, absolute.shape, x._splits_dtype)
            if isinstance(values, RaggedTensor)
            else movement.reshape(values, (*absolute.shape, *values.shape[1:]))
        )
    return index.with_flat_values(values)


def _gather_any(x: Any, index: Any, axis: int) -> Any:
    if isinstance(x, RaggedTensor) or isinstance(index, RaggedTensor):
        return _gather(x, index, axis=axis)
    return indexing.gather(x, index, axis=axis)


def _check_batch(x: RaggedTensor, index: RaggedTensor) -> None:
    if x._partition.nrows != index._partition.nrows:
        raise InvalidArgumentError(
            f"params and indices have batches of {x._partition.nrows} and "
            f"{index._partition.nrows} rows"
        )


def _gather_axis(x: Any, index: Any, axis: int) -> Any:
    """Gather along an inner axis: the same indices of each row."""
    x = as_ragged(x, 1)
    if axis > 1:
        return x.with_values(_gather_any(x._values, index, axis - 1))
    count = x._partition.nrows
    if isinstance(index, RaggedTensor):
        size = index.shape[0]
        repeated = index._take_rows(np.tile(np.arange(size), count))
        return _gather_batch(x, _wrap_axes(repeated, (count, size), x._splits_dtype), 1, 1)
    numbers = read_array(index)
    repeated_numbers = np.broadcast_to(numbers, (count, *numbers.shape))
    return _gather_batch(x, to_index_tensor(repeated_numbers, dtypes.int64), 1, 1)


@handles(RaggedTensor, scatter.gather_nd)
def _gather_nd(
    params: Any, indices: Any, batch_dims: int = 0, name: str | None = None, **_: Any
) -> Any:
    x, index = as_values(params), as_values(indices)
    if not len(index.shape):
        raise ValueError("indices.rank must be at least 1.")
    if batch_dims:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    if not isinstance(x, RaggedTensor):
        return index.with_flat_values(scatter.gather_nd(x, index.flat_values))
    if isinstance(index, RaggedTensor):
        if index.shape[-1] is None:
            raise ValueError("The innermost dimension of indices may not be ragged")
        dense = index.flat_values
        if len(dense.shape) == 1:
            size: Any = index._partitions()[-1].uniform
            merged = movement.reshape(dense, (-1, size))
            return RaggedTensor._nest(
                _gather_nd(x, merged), index._partitions()[:-1], index._splits_dtype
            )
        return index.with_flat_values(_gather_nd(x, dense))
    numbers = read_array(index).astype(np.int64)
    size = numbers.shape[-1]
    flat = numbers.reshape(math.prod(numbers.shape[:-1]), size)
    levels = x._partitions()
    if size == 0:
        lead = numbers.shape[:-1]
        if not lead:
            return x
        copies = _gather(expand_dims(x, 0), to_index_tensor(np.zeros(len(flat)), dtypes.int64))
        return _wrap_axes(copies, lead, x._splits_dtype)
    _check_rows(flat[:, 0], x._partition.nrows)
    cell, values = flat[:, 0], x
    for part, column in zip(levels, flat[:, 1:].T, strict=False):
        if ((column < 0) | (column >= part.lengths[cell])).any():
            raise InvalidArgumentError("an index is out of range of its row [Op:GatherNd]")
        cell, values = part.splits[:-1][cell] + column, values._values
    rest = flat[:, len(levels) + 1 :]
    if rest.shape[1]:
        keys = np.concatenate([cell[:, None], rest], 1)
        result = scatter.gather_nd(values, to_index_tensor(keys, dtypes.int64))
    else:
        result = take_rows(values, cell)
    lead = numbers.shape[:-1]
    if len(lead) == 1:
        return result
    if isinstance(result, RaggedTensor):
        return _wrap_axes(result, lead, x._splits_dtype)
    return movement.reshape(result, (*lead, *result.shape[1:]))


def find_true(x: RaggedTensor) -> Tensor:
    """Return the indices of the elements that are not 0: a tensor of shape (count, rank)."""
    flags = read_array(x.flat_values) != 0
    index = coordinates(x._partitions())
    positions = np.nonzero(flags)
    columns = [index[positions[0]], *(axis[:, None] for axis in positions[1:])]
    return to_index_tensor(np.concatenate(columns, 1), dtypes.int64)


@handles(RaggedTensor, creation.size)
def _size(input: Any, out_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    return creation.size(input.flat_values, out_type)


@handles(RaggedTensor, creation.rank)
def _rank(input: Any, name: str | None = None) -> Tensor:
    return creation.constant(len(input.shape))


@handles(RaggedTensor, creation.shape)
def _shape(input: Any, out_type: DTypeLike | None = None, name: str | None = None) -> Any:
    raise CompositeError(
        "tf.shape of a RaggedTensor is not supported, because its axes have no sizes: use "
        "`x.bounding_shape()`, `x.row_lengths()` or `tf.shape(x.to_tensor())`."
    )


@handles(RaggedTensor, creation.convert_to_tensor, creation.constant)
def _convert(value: Any, dtype: DTypeLike | None = None, *_: Any, **__: Any) -> Any:
    if isinstance(value, RaggedTensor) and dtype is None:
        return value
    if isinstance(value, RaggedTensor) and as_dtype(dtype) is value.dtype:
        return value
    raise CompositeError(
        "A RaggedTensor is not converted to a dense tensor implicitly: use `x.to_tensor()`, or "
        "`tf.ragged.stack` for a list of them."
    )
