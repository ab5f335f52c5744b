"""Ops that reorder elements, coordinate grids, sequence masks and broadcast shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidArgumentError
from ..log.as_tensor import as_tensor, from_owned_array
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record, require, spec_of
from ..values import dtypes
from ..values.arguments import truncate_float
from ..values.composite import dispatches
from ..values.hints import suggest_keywords
from ..values.spec import Spec, broadcast, check_axis, intern
from ..values.tensor import Tensor
from . import elementwise, movement
from .indexing import gather

if TYPE_CHECKING:
    from ..values.annotations import DTypeLike, IntLike, IntsLike, NumberLike, TensorLike

Array = np.ndarray[Any, Any]


def _roll(out: Array, x: Array, shift: int, axis: int) -> None:
    out[...] = np.roll(x, shift, axis)


def _roll_native(out: Spec, x: Spec, shift: int, axis: int) -> Native:
    n, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    outer = x.size // (n * inner)
    return Native("slices.roll", (f"uint{8 * x.dtype.size}",), (n, shift, inner), outer, x.size)


def _roll_vjp(g: Tensor, y: Tensor, x: Tensor, shift: int, axis: int) -> tuple[Tensor]:
    return (record(ROLL, (g,), shift=x.shape[axis] - shift, axis=axis),)


# A roll along one axis; the shift is between 0 and the size of the axis, and differs from both.
ROLL: Op = defop(
    "Roll",
    ARRAY,
    1,
    lambda op, x, shift, axis: x,
    compute=_roll,
    native=_roll_native,
    vjp=_roll_vjp,
    complex_vjp="analytic",
)


@suggest_keywords
def roll(input: TensorLike, shift: IntsLike, axis: IntsLike, name: str | None = None) -> Tensor:
    """Shift the elements along axes; elements that leave at one end enter at the other.

    Args:
      input: A tensor of any dtype, of at least one axis.
      shift: The distance, an int or one int for each axis. Negative shifts move towards the
        beginning.
      axis: The axis or axes. The shifts of an axis that is named twice add up.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If an axis is out of range, or there are not as many shifts as axes.

    Example:
      >>> tf.roll([1, 2, 3, 4], shift=1, axis=0).numpy()
      array([4, 1, 2, 3], dtype=int32)
      >>> tf.roll([[1, 2], [3, 4]], shift=[1, 1], axis=[0, 1]).numpy()
      array([[4, 3],
             [2, 1]], dtype=int32)
    """
    x = as_tensor(input)
    require(x.ndim > 0, "Roll", "input must be 1-D or higher")
    try:
        shifts, axes = movement.to_ints(shift), movement.to_ints(axis)
    except TypeError as error:
        raise InvalidArgumentError(f"{error} [Op:Roll]") from None
    for what, value in (("shift", shifts), ("axis", axes)):
        flat = isinstance(value, int) or all(isinstance(item, int) for item in value)
        require(flat, "Roll", f"{what} must be a scalar or a 1-D vector")
    shifts, axes = movement.to_shape(shifts), movement.to_shape(axes)
    require(
        len(shifts) == len(axes),
        "Roll",
        f"shift and axis must have the same size, got {len(shifts)} and {len(axes)}",
    )
    far = [0] * x.ndim
    for by, at in zip(shifts, axes, strict=True):
        check_axis("Roll", at, x.ndim)
        far[at % x.ndim] += by
    result = x
    for at, (by, dim) in enumerate(zip(far, x.shape, strict=True)):
        if not dim or not by % dim:
            continue
        result = record(ROLL, (result,), shift=by % dim, axis=at)
    return movement.identity(x) if result is x else result


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: IntLike | None = None,
    batch_axis: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Reverse the first elements of each example; the other elements stay in place.

    Args:
      input: A tensor of any dtype.
      seq_lengths: The number of elements to reverse, a vector of int32 or int64 with one for each
        example.
      seq_axis: The axis to reverse along.
      batch_axis: The axis of the examples; None for 0.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If a length or axis is out of range.
      TypeError: If ``seq_axis`` is None.

    Example:
      >>> tf.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1).numpy()
      array([[2, 1, 3],
             [6, 5, 4]], dtype=int32)
    """
    op = "ReverseSequence"
    x, lengths = as_tensor(input), as_tensor(seq_lengths)
    if seq_axis is None:
        raise TypeError("seq_axis must be given: the axis that is reversed.")
    along, batch = (_parse_axis(axis, x.ndim, op) for axis in (seq_axis, batch_axis or 0))
    require(along != batch, op, f"batch_dim == seq_dim == {along}")
    require(
        lengths.dtype in (dtypes.int32, dtypes.int64),
        op,
        f"seq_lengths must be int32 or int64, got {lengths.dtype.name}",
    )
    require(lengths.ndim == 1, op, f"seq_lengths must be 1-dim, got shape {lengths.shape}")
    require(
        tuple(lengths.shape) == (x.shape[batch],),
        op,
        f"Length of seq_lengths != input.dims({batch}): shape {lengths.shape} and {x.shape[batch]}",
    )
    counts, dim = lengths._array().astype(np.int64), x.shape[along]
    bad = np.flatnonzero((counts < 0) | (counts > dim))
    require(not bad.size, op, f"seq_lengths({bad[:1].tolist()}) must be in [0, {dim}]")
    place = np.arange(dim)
    source = np.where(place < counts[:, None], counts[:, None] - 1 - place, place)
    order = (batch, along, *(k for k in range(x.ndim) if k not in (batch, along)))
    result = gather(
        movement.transpose_if_needed(x, order), from_owned_array(source), axis=1, batch_dims=1
    )
    return movement.transpose_if_needed(result, tuple(order.index(k) for k in range(x.ndim)))


def _parse_axis(axis: IntLike, rank: int, op: str) -> int:
    result = movement.to_ints(axis)
    require(isinstance(result, int), op, f"an axis must be an int, got {axis!r}")
    require(0 <= result < rank, op, f"axis {result} is not in [0, {rank})")
    return int(result)


@dispatches
def meshgrid(*args: TensorLike, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """Coordinate tensors of a grid, one for each axis.

    Args:
      *args: Vectors of coordinates.
      indexing: "xy": the first vector runs along the second axis; or "ij".
      name: Not used.

    Returns:
      A list of as many tensors, each of the grid's shape.

    Raises:
      ValueError: If ``indexing`` is unknown.
      InvalidArgumentError: If the dtypes differ.

    Example:
      >>> x, y = tf.meshgrid([1, 2, 3], [10, 20])
      >>> x.numpy().tolist(), y.numpy().tolist()
      ([[1, 2, 3], [1, 2, 3]], [[10, 10, 10], [20, 20, 20]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(
            f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'"
        )
    vectors = [movement.reshape(as_tensor(x), (-1,)) for x in args]
    for k, x in enumerate(vectors):
        if vectors[0].dtype.is_bool:
            vectors[k] = elementwise.cast(x, dtypes.bool_)
        elif x.dtype is not vectors[0].dtype and not x.dtype.is_bool:
            raise dtypes.mismatch_error("Mul", 1, vectors[0].dtype, x.dtype)
    shape = [x.shape[0] for x in vectors]
    axes = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        shape[:2], axes[:2] = [shape[1], shape[0]], [1, 0]
    results = []
    for x, axis in zip(vectors, axes, strict=True):
        along = [1] * len(shape)
        along[axis] = x.shape[0]
        results.append(movement.broadcast_to(movement.reshape(x, along), tuple(shape)))
    return results


@suggest_keywords
def sequence_mask(
    lengths: TensorLike,
    maxlen: NumberLike | None = None,
    dtype: DTypeLike = dtypes.bool_,
    name: str | None = None,
) -> Tensor:
    """Return masks that are True for the first ``lengths`` elements of the last axis.

    Args:
      lengths: A tensor of integers.
      maxlen: The size of the new last axis, a scalar; None for the largest length, which is read at
        the call.
      dtype: The dtype of the result.
      name: Not used.

    Returns:
      A tensor of shape (*lengths.shape, maxlen).

    Raises:
      ValueError: If ``maxlen`` is not a scalar.
      InvalidArgumentError: If it is negative.

    Example:
      >>> tf.sequence_mask([1, 3, 2], dtype=tf.int32).numpy()
      array([[1, 0, 0],
             [1, 1, 1],
             [1, 1, 0]], dtype=int32)
    """
    result = as_tensor(lengths)
    if maxlen is None:
        values = result._array()
        maxlen = max(values.max().item(), 0) if values.size else 0
    elif result.dtype not in (dtypes.int32, dtypes.int64) and not isinstance(maxlen, float):
        result = elementwise.cast(result, dtypes.int64)  # truncates floats, as in TensorFlow
    # A float counts the integers from 0 on that are less than it.
    if isinstance(maxlen, float):
        maxlen = -truncate_float(-maxlen // 1, "maxlen")
    count = movement.to_ints(maxlen)
    if not isinstance(count, int):
        raise ValueError(f"Argument `maxlen` must be scalar for sequence_mask, got {maxlen!r}")
    require(count >= 0, "Range", f"Requires start <= limit when delta > 0: 0/{count}")
    places = from_owned_array(np.arange(count).astype(result.dtype.numpy_dtype))
    return elementwise.cast(places < movement.expand_dims(result, -1), dtype)


def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Tensor:
    """The shape to which two shapes broadcast; arguments and result are tensors.

    Args:
      shape_x: A vector of integers.
      shape_y: Another one.

    Returns:
      A vector of integers.

    Raises:
      InvalidArgumentError: If they do not broadcast.

    Example:
      >>> tf.broadcast_dynamic_shape([1, 2, 3], [5, 1, 3]).numpy()
      array([5, 2, 3], dtype=int32)
    """
    x = as_tensor(shape_x, spec_of(shape_y), "BroadcastArgs")
    y = as_tensor(shape_y, x._spec, "BroadcastArgs")
    # An empty list, which converts to floats, counts as integers.
    x, y = (
        elementwise.cast(one, other.dtype if other.dtype.is_integer else dtypes.int32)
        if not one._spec.size and one._spec.is_float
        else one
        for one, other in ((x, y), (y, x))
    )
    if x.dtype is not y.dtype:
        raise dtypes.mismatch_error("BroadcastArgs", 1, x.dtype, y.dtype)
    for one in (x, y):
        require(one.ndim == 1, "BroadcastArgs", f"a shape must be a vector, not {one.shape}")
    specs = [intern(movement.to_shape(one), dtypes.float32) for one in (x, y)]
    try:
        shape = broadcast("BroadcastArgs", *specs)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(str(error.message)) from None
    return from_owned_array(np.array(shape, x.dtype.numpy_dtype))
