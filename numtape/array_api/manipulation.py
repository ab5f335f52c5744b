"""Shapes, order and selection of elements, and sets, as the array API names them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import numtape as tf

from ..core.values.tensor import Tensor
from ..keras.ops import numpy as kn
from .define import Array, Axis, Operand, axes_of, function, promoted, tensor_of

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "broadcast_arrays",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "nonzero",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "searchsorted",
    "sort",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "tile",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "where",
]


def __dir__() -> list[str]:
    return sorted(__all__)


@function(
    "[y.shape for y in xp.broadcast_arrays(tf.ones((2, 1)), tf.ones(3))]",
    "[TensorShape([2, 3]), TensorShape([2, 3])]",
    "A list of tensors.",
)
def broadcast_arrays(*arrays: Array) -> list[Tensor]:
    """Broadcast tensors against each other."""
    shape = np.broadcast_shapes(*(tuple(x.shape) for x in arrays))
    return [tf.broadcast_to(x, shape) for x in arrays]


@function(
    "xp.broadcast_to(tf.constant([1, 2]), (2, 2))",
    "<tf.Tensor: shape=(2, 2), dtype=int32, numpy=\narray([[1, 2],\n       [1, 2]], dtype=int32)>",
)
def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Tensor:
    """Broadcast a tensor to a shape."""
    return tf.broadcast_to(x, shape)


@function(
    "xp.concat([tf.constant([1, 2]), tf.constant([3])])",
    "<tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 2, 3], dtype=int32)>",
)
def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Tensor:
    """Join tensors along an axis; flattened ones for None."""
    parts = promoted(*arrays)
    if axis is None:
        return tf.concat([tf.reshape(x, [-1]) for x in parts], 0)
    return tf.concat(parts, axis)


@function(
    "xp.stack([tf.constant([1, 2]), tf.constant([3, 4])])",
    "<tf.Tensor: shape=(2, 2), dtype=int32, numpy=\narray([[1, 2],\n       [3, 4]], dtype=int32)>",
)
def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Tensor:
    """Join tensors along a new axis."""
    return tf.stack(promoted(*arrays), axis)


@function("xp.unstack(tf.constant([1, 2]))[1].numpy()", "np.int32(2)", "A tuple of tensors.")
def unstack(x: Array, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into its slices along an axis."""
    return tuple(tf.unstack(x, axis=axis))


@function(
    "xp.expand_dims(tf.constant([1, 2]), 0).shape",
    "TensorShape([1, 2])",
    raises="IndexError: If the axis is out of bounds.",
)
def expand_dims(x: Array, /, axis: int) -> Tensor:
    """Insert an axis of size 1."""
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise IndexError(f"axis {axis} is out of bounds for a tensor of {x.ndim} axes.")
    return tf.expand_dims(x, axis)


@function(
    "xp.squeeze(tf.ones((1, 2)), 0).shape",
    "TensorShape([2])",
    raises="ValueError: If an axis has another size than 1.",
)
def squeeze(x: Array, /, axis: int | tuple[int, ...]) -> Tensor:
    """Remove axes of size 1."""
    axes = axes_of(axis, x.ndim)
    if any(x.shape[k] != 1 for k in axes):
        raise ValueError(f"The axes {axes} of shape {tuple(x.shape)} do not all have size 1.")
    return tf.reshape(x, [n for k, n in enumerate(x.shape) if k not in axes])


@function(
    "xp.flip(tf.constant([1, 2]))",
    "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([2, 1], dtype=int32)>",
)
def flip(x: Array, /, *, axis: Axis = None) -> Tensor:
    """Reverse the order along axes."""
    axes = axes_of(axis, x.ndim)
    return tf.reverse(x, axes) if axes else tf.identity(x)


@function("xp.moveaxis(tf.ones((2, 3)), 0, 1).shape", "TensorShape([3, 2])")
def moveaxis(
    x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> Tensor:
    """Move axes to new positions."""
    result: Tensor = kn.moveaxis(x, source, destination)
    return result


@function("xp.permute_dims(tf.ones((2, 3)), (1, 0)).shape", "TensorShape([3, 2])")
def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Tensor:
    """Reorder axes."""
    return tf.transpose(x, axes_of(axes, x.ndim))


@function(
    "xp.repeat(tf.constant([1, 2]), 2)",
    "<tf.Tensor: shape=(4,), dtype=int32, numpy=array([1, 1, 2, 2], dtype=int32)>",
)
def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Tensor:
    """Repeat each element."""
    return tf.repeat(x, repeats, axis)


@function("xp.reshape(tf.ones((2, 3)), (3, 2)).shape", "TensorShape([3, 2])")
def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """Change the shape; -1 stands for the remaining size."""
    return tf.reshape(x, [int(n) for n in shape])


@function(
    "xp.roll(tf.constant([1, 2, 3]), 1)",
    "<tf.Tensor: shape=(3,), dtype=int32, numpy=array([3, 1, 2], dtype=int32)>",
)
def roll(x: Array, /, shift: int | tuple[int, ...], *, axis: Axis = None) -> Tensor:
    """Move elements along axes; those that leave at the end enter at the beginning."""
    if axis is None:
        if not isinstance(shift, int):
            shift = sum(shift)
        return tf.reshape(tf.roll(tf.reshape(x, [-1]), shift, 0), x.shape)
    axes = axes_of(axis, x.ndim)
    shifts = [shift] * len(axes) if isinstance(shift, int) else list(shift)
    if not axes or not math.prod(x.shape):
        return tf.identity(x)
    return tf.roll(x, shifts, axes)


@function(
    "xp.tile(tf.constant([1, 2]), (2,))",
    "<tf.Tensor: shape=(4,), dtype=int32, numpy=array([1, 2, 1, 2], dtype=int32)>",
)
def tile(x: Array, repetitions: tuple[int, ...], /) -> Tensor:
    """Repeat a tensor along its axes."""
    rank = max(x.ndim, len(repetitions))
    counts = [1] * (rank - len(repetitions)) + list(repetitions)
    return tf.tile(tf.reshape(x, [1] * (rank - x.ndim) + list(x.shape)), counts)


# --- Selection -----------------------------------------------------------------------------------


@function(
    "xp.take(tf.constant([1.0, 2.0]), tf.constant([1]))",
    "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([2.], dtype=float32)>",
)
def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Tensor:
    """Select elements along an axis by their indices."""
    (number,) = axes_of(0 if axis is None else axis, x.ndim)
    return tf.gather(x, tf.where(indices < 0, indices + x.shape[number], indices), axis=number)


@function(
    "xp.take_along_axis(tf.constant([[1.0, 2.0]]), tf.constant([[1]])).numpy()",
    "array([[2.]], dtype=float32)",
)
def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Tensor:
    """Select elements along an axis, by other indices in each row."""
    result: Tensor = kn.take_along_axis(x, indices, axis)
    return result


@function(
    "xp.where(tf.constant([True, False]), 1.0, tf.constant(2.0))",
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>",
)
def where(condition: Array, x1: Operand, x2: Operand, /) -> Tensor:
    """Select elements of ``x1`` where the condition holds, else of ``x2``."""
    x, y = promoted(x1, x2)
    return tf.where(condition, x, y)


@function(
    "xp.nonzero(tf.constant([0, 3]))[0].numpy()",
    "array([1])",
    "A tuple: the indices for each axis.",
)
def nonzero(x: Array, /) -> tuple[Tensor, ...]:
    """Return the indices of elements that are not 0."""
    return tuple(tf.constant(indices) for indices in np.nonzero(x.numpy()))


@function("xp.searchsorted(tf.constant([1, 3]), tf.constant([2])).numpy()", "array([1])")
def searchsorted(
    x1: Array, x2: Operand, /, *, side: str = "left", sorter: Array | None = None
) -> Tensor:
    """Return the positions at which ``x2`` would keep ``x1`` sorted."""
    first, second = promoted(x1, x2)
    order = None if sorter is None else sorter.numpy()
    positions = np.searchsorted(first.numpy(), second.numpy(), side, order)  # type: ignore[call-overload]
    return tf.constant(np.asarray(positions, np.int64))


def _arg(compute: Any, x: Array, axis: int | None, keepdims: bool) -> Tensor:
    tensor = tensor_of(x)
    if axis is None:
        result = compute(tf.reshape(tensor, [-1]), 0)
        return tf.reshape(result, [1] * tensor.ndim) if keepdims else result
    result = compute(tensor, axis)
    return tf.expand_dims(result, axis) if keepdims else result


@function("xp.argmax(tf.constant([1, 3]))", "<tf.Tensor: shape=(), dtype=int64, numpy=1>")
def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the first maximum."""
    return _arg(tf.argmax, x, axis, keepdims)


@function("xp.argmin(tf.constant([1, 3]))", "<tf.Tensor: shape=(), dtype=int64, numpy=0>")
def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the first minimum."""
    return _arg(tf.argmin, x, axis, keepdims)


def _order(x: Tensor, axis: int, descending: bool) -> Tensor:
    """Return the stable order of elements; NaNs come last."""
    values = x.numpy()
    if descending:
        flipped = np.flip(values, axis)
        order = np.flip(np.argsort(flipped, axis, kind="stable"), axis)
        return tf.constant(values.shape[axis] - 1 - order)
    return tf.constant(np.argsort(values, axis, kind="stable"))


@function("xp.argsort(tf.constant([3, 1, 2])).numpy()", "array([1, 2, 0])")
def argsort(
    x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """Return the indices that sort a tensor along an axis."""
    return _order(tensor_of(x), axis, descending)


@function("xp.sort(tf.constant([3, 1, 2])).numpy()", "array([1, 2, 3], dtype=int32)")
def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Sort a tensor along an axis."""
    tensor = tensor_of(x)
    return take_along_axis(tensor, _order(tensor, axis, descending), axis=axis)


# --- Sets ----------------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """Distinct values, where they occur first, which value each element is, how often it occurs."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Distinct values, and how often they occur."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Distinct values, and which value each element is."""

    values: Tensor
    inverse_indices: Tensor


@function(
    "xp.unique_all(tf.constant([3, 1, 3])).indices.numpy()",
    "array([1, 0])",
    "A named tuple of tensors.",
)
def unique_all(x: Array, /) -> UniqueAll:
    """Return the distinct values in ascending order. NaNs are distinct."""
    tensor = tensor_of(x)
    array = tensor.numpy()
    _, first, inverse, counts = np.unique(
        array, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    values = tf.gather(tf.reshape(tensor, [-1]), first)
    return UniqueAll(
        values,
        tf.constant(first),
        tf.constant(np.reshape(inverse, np.shape(array))),
        tf.constant(counts),
    )


@function(
    "xp.unique_counts(tf.constant([3, 1, 3])).counts.numpy()",
    "array([1, 2])",
    "A named tuple of tensors.",
)
def unique_counts(x: Array, /) -> UniqueCounts:
    """Return the distinct values in ascending order, and how often they occur."""
    result = unique_all(x)
    return UniqueCounts(result.values, result.counts)


@function(
    "xp.unique_inverse(tf.constant([3, 1, 3])).inverse_indices.numpy()",
    "array([1, 0, 1])",
    "A named tuple of tensors.",
)
def unique_inverse(x: Array, /) -> UniqueInverse:
    """Return the distinct values in ascending order, and which one each element is."""
    result = unique_all(x)
    return UniqueInverse(result.values, result.inverse_indices)


@function("xp.unique_values(tf.constant([3, 1, 3])).numpy()", "array([1, 3], dtype=int32)")
def unique_values(x: Array, /) -> Tensor:
    """Return the distinct values in ascending order."""
    return unique_all(x).values
