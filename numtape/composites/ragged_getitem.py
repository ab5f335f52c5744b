"""Indexing of ragged tensors: ``x[key]``."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..core.ops import movement
from ..core.values.composite import Composite
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from . import ragged_tensor, row_structure as rows
from .base import Array, take_rows
from .ragged_tensor import RaggedTensor, resolve_axis


def getitem(x: RaggedTensor, key: Any) -> Any:
    """Return part of a ragged tensor, as TensorFlow indexes it.

    Integers and slices select rows; slices also cut within ragged rows. An integer cannot index a
    ragged axis but the first one, because rows may lack it.

    Args:
      x: A ragged tensor.
      key: An int, slice, Ellipsis or `newaxis`, or a tuple of them.

    Raises:
      ValueError: If an integer indexes an inner ragged axis.
      IndexError: If there is no such row.
      InvalidArgumentError: If an index of another axis is out of bounds.
      TypeError: If a key has another type.
    """
    if isinstance(key, RaggedTensor):
        raise TypeError(
            "A RaggedTensor is not an index: use `tf.gather` or `tf.ragged.boolean_mask`."
        )
    keys = list(key) if isinstance(key, tuple | list) else [key]
    return _outer(x, [_parse_key(part) for part in keys])


def _parse_key(key: Any) -> Any:
    if key is None or key is Ellipsis:
        return key
    if isinstance(key, slice):
        return slice(
            *(None if part is None else _to_int(part) for part in (key.start, key.stop, key.step))
        )
    return _to_int(key)


def _to_int(value: Any) -> int:
    if isinstance(value, bool | np.bool_) or isinstance(value, Composite):
        raise TypeError(f"A key must be an int, slice, Ellipsis or newaxis, got {value!r}")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"Slice offsets must be integers, got {value!r} of type {type(value).__name__}"
        ) from None


def _expand_ellipsis(keys: list[Any], rank: int) -> list[Any]:
    count = rank - sum(key is not None and key is not Ellipsis for key in keys)
    rest = keys[1:]
    if Ellipsis in [key for key in rest if not isinstance(key, slice)]:
        raise ValueError("Only one Ellipsis is allowed in a key.")
    return [slice(None)] * max(count, 0) + rest


def _outer(x: Any, keys: list[Any]) -> Any:
    """Apply keys to the axes of a tensor from the first one on."""
    if not keys:
        return x
    if not isinstance(x, RaggedTensor):
        return x[tuple(keys)]
    key, rest = keys[0], keys[1:]
    if key is Ellipsis:
        return _outer(x, _expand_ellipsis(keys, len(x.shape)))
    if key is None:
        return expand_dims(_outer(x, rest), 0)
    if isinstance(key, slice):
        count = x._partition.nrows
        selected = x if key == slice(None) else x._take_rows(np.arange(count)[key])
        return _inner(selected, rest)
    return _outer(_row(x, key), rest)


def _row(x: RaggedTensor, index: int) -> Any:
    splits = x._partition.splits
    count = x._partition.nrows
    if not -count <= index < count:
        raise IndexError(f"Row key {index} out of bounds: there are {count} rows")
    index %= count
    values = x._values
    begin, end = int(splits[index]), int(splits[index + 1])
    if type(values) is Tensor:
        return values[begin:end]
    return take_rows(values, np.arange(begin, end))


def _inner(x: Any, keys: list[Any]) -> Any:
    """Apply keys to the axes of a tensor from the second one on."""
    if not keys:
        return x
    if not isinstance(x, RaggedTensor):
        return x[(slice(None), *keys)]
    key, rest = keys[0], keys[1:]
    if key is Ellipsis:
        return _inner(x, _expand_ellipsis(keys, len(x.shape) - 1))
    if key is None:
        return expand_dims(_inner(x, rest), 1)
    part = x._partition
    if isinstance(key, slice):
        sliced = x if key == slice(None) else _slice_rows(x, key)
        return sliced.with_values(_inner(sliced._values, rest)) if rest else sliced
    if part.uniform is None:
        raise ValueError("Cannot index into an inner ragged dimension.")
    if not -part.uniform <= key < part.uniform:
        raise InvalidArgumentError(
            f"slice index {key} of dimension 1 out of bounds [Op:StridedSlice]"
        )
    return _inner(take_rows(x._values, part.splits[:-1] + key % part.uniform), rest)


def _slice_rows(x: RaggedTensor, key: slice) -> RaggedTensor:
    """Apply a slice to each row."""
    part = x._partition
    lengths = part.lengths
    step = 1 if key.step is None else key.step
    if not step:
        raise ValueError("slice step cannot be zero")

    def clip(offset: int | None, default: Array) -> Array:
        if offset is None:
            return default
        position = np.where(offset < 0, offset + lengths, offset)
        low, high = (0, lengths) if step > 0 else (-1, lengths - 1)
        clipped: Array = np.clip(position, low, high)
        return clipped

    zeros = np.zeros_like(lengths)
    begin = clip(key.start, zeros if step > 0 else lengths - 1)
    end = clip(key.stop, lengths if step > 0 else zeros - 1)
    counts = np.maximum(-((begin - end) // step), 0)
    source = rows.expand(part.splits[:-1] + begin, counts, step)
    uniform = None
    if part.uniform is not None:
        uniform = len(range(part.uniform)[key])
    return RaggedTensor._make(
        take_rows(x._values, source), rows.of_lengths(counts, uniform), x._splits_dtype
    )


def expand_dims(x: Any, axis: int) -> Any:
    """Insert an axis of size 1."""
    if not isinstance(x, RaggedTensor):
        return movement.expand_dims(x, axis)
    axis = resolve_axis(axis, len(x.shape) + 1)
    if axis > 1:
        return x.with_values(expand_dims(x._values, axis - 1))
    count = x._partition.nrows
    part = rows.uniform_partition(*((1, count) if axis == 0 else (count, 1)))
    return RaggedTensor._make(x, part, x._splits_dtype)


ragged_tensor.getitem = getitem
