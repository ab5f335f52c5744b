"""Ragged tensors as dense and sparse ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.ops import creation, joining, movement
from ..core.ops.indexing import gather
from ..core.values import dtypes
from ..core.values.spec import TensorShape
from ..core.values.tensor import Tensor
from . import ragged_tensor, row_structure as rows
from .base import Array, as_values, read_array, to_index_tensor
from .ragged_tensor import RaggedTensor
from .row_structure import Partition
from .sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from ..core.values.annotations import ShapeLike, TensorLike


def coordinates(partitions: list[Partition]) -> Array:
    """Return the index of each flat row along the axes: shape (rows, len(partitions) + 1)."""
    columns = [np.arange(partitions[0].nrows, dtype=np.int64)]
    for part in partitions:
        lengths = part.lengths
        columns = [np.repeat(column, lengths) for column in columns]
        columns.append(rows.offsets_in_rows(lengths))
    return np.stack(columns, 1)


def to_dense(x: RaggedTensor, default_value: TensorLike | None, shape: ShapeLike | None) -> Any:
    """Return a dense tensor; see `RaggedTensor.to_tensor`."""
    parts, flat = x._partitions(), x.flat_values
    bounds = list(x._bounds())
    lead, inner = len(parts) + 1, tuple(flat.shape[1:])
    if shape is not None:
        bounds = _parse_shape(shape, bounds, inner, lead)
    if default_value is None:
        padding = _zero_of(flat, inner)
    else:
        padding = _parse_default(default_value, flat, inner)
    index = coordinates(parts)
    outer = tuple(bounds[:lead])
    fits = (index < np.array(outer)).all(axis=1)
    count = flat.shape[0]
    source = np.full(outer, count, np.int64)
    numbers = np.arange(count)
    source[tuple(index[fits].T)] = numbers[fits]
    if (source == count).any():
        flat = joining.concat([flat, movement.reshape(padding, (1, *inner))], 0)
    return gather(flat, to_index_tensor(source, dtypes.int64))


def _zero_of(flat: Any, inner: tuple[int, ...]) -> Any:
    if type(flat) is Tensor:
        return creation.zeros(inner, flat.dtype)
    return creation.fill(inner, "")


def _parse_default(value: Any, flat: Any, inner: tuple[int, ...]) -> Any:
    if isinstance(value, RaggedTensor):
        raise TypeError("default_value must not be a RaggedTensor.")
    if type(flat) is Tensor:
        padding = creation.convert_to_tensor(value, flat.dtype)
    else:
        padding = as_values(value)
    if len(padding.shape) > len(inner):
        raise ValueError(
            f"default_value.shape={tuple(padding.shape)} and "
            f"rt_input.flat_values.shape={tuple(flat.shape)} are incompatible: "
            f"default_value.rank = {len(padding.shape)} must be less than "
            f"rt_input.flat_values.rank = {len(flat.shape)}"
        )
    for k, (size, other) in enumerate(zip(padding.shape[::-1], inner[::-1], strict=False), 1):
        if size not in (1, other):
            raise ValueError(
                f"default_value.shape={tuple(padding.shape)} and "
                f"rt_input.flat_values.shape={tuple(flat.shape)} are incompatible: "
                f"default_value.shape[-{k}] = {size} but rt_input.flat_values.shape[-{k}] = {other}"
            )
    return movement.broadcast_to(padding, inner)


def _parse_shape(shape: Any, bounds: list[int], inner: tuple[int, ...], lead: int) -> list[int]:
    if isinstance(shape, TensorShape) and shape.rank is None:
        return bounds
    sizes = shape.as_list() if hasattr(shape, "as_list") else shape
    sizes = read_array(sizes).tolist() if isinstance(sizes, Tensor | np.ndarray) else sizes
    if sizes == -1:
        return bounds
    if not isinstance(sizes, list | tuple):
        raise ValueError(f"shape must be a shape of {len(bounds)} sizes, got {shape!r}")
    if len(sizes) != len(bounds):
        raise ValueError(
            f"rt_input.shape and shape=[{_join(sizes)}] are incompatible: rt_input.rank = "
            f"{len(bounds)} but shape.rank = {len(sizes)}"
        )
    result = []
    for k, (size, bound) in enumerate(zip(sizes, bounds, strict=True)):
        number = None if size is None else int(size)
        if number is None or number == -1:
            number = bound
        elif number < 0:
            raise ValueError(f"shape must have sizes that are not negative, got {tuple(sizes)}")
        if k >= lead and number != bound:
            raise ValueError(
                f"rt_input.shape and shape=[{_join(sizes)}] are incompatible: "
                f"rt_input.shape[{k}] = {bound} but shape[{k}] = {number}: only rows are padded"
            )
        result.append(number)
    return result


def _join(sizes: Any) -> str:
    return ",".join(map(str, sizes))


def to_sparse(x: RaggedTensor) -> SparseTensor:
    """Return a sparse tensor; see `RaggedTensor.to_sparse`."""
    parts, flat = x._partitions(), x.flat_values
    index = coordinates(parts)
    inner = tuple(flat.shape[1:])
    if inner:
        grid = np.indices(inner).reshape(len(inner), -1).T
        index = np.concatenate(
            [np.repeat(index, len(grid), 0), np.tile(grid, (len(index), 1))], axis=1
        )
        flat = movement.reshape(flat, (len(index),))
    return SparseTensor._make(index, flat, x._bounds())


ragged_tensor.convert_to_dense = to_dense
ragged_tensor.convert_to_sparse = to_sparse
