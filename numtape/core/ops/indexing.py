"""Indexing by tensors: gather, masks, repeats, `where`, one-hot, and their derivatives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DtypeError, InvalidArgumentError
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import binary, record, require
from ..values import dtypes
from ..values.composite import dispatches, recover
from ..values.convert import NUMPY
from ..values.hints import suggest_keywords
from ..values.spec import Spec, intern, to_axis
from ..values.tensor import Tensor
from . import comparison, elementwise, movement
from .creation import convert_to_tensor
from .rules import every

if TYPE_CHECKING:
    from ..values.annotations import DTypeLike, IntLike, ShapeLike, TensorLike

Array = np.ndarray[Any, Any]


def _gather_spec(op: Op, x: Spec, indices: Spec, axis: int) -> Spec:
    return intern((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)


def _gather(out: Array, x: Array, indices: Array, axis: int) -> None:
    np.take(x, indices, axis, out=out, mode="clip")  # indices were checked at the call


def _gather_vjp(g: Tensor, y: Tensor, x: Tensor, indices: Tensor, axis: int) -> tuple[Tensor, None]:
    return record(SCATTER_ADD, (g, indices), axis=axis, size=x.shape[axis]), None


def _layout(x: Spec, indices: Spec, axis: int, size: int) -> tuple[int, int, int, int]:
    """Return the leading size, ``size``, the number of indices, and the trailing size."""
    outer = math.prod(x.shape[:axis])
    return outer, size, indices.size, math.prod(x.shape[axis + 1 :])


def _gather_native(out: Spec, x: Spec, indices: Spec, axis: int) -> Native | None:
    outer, size, count, inner = _layout(x, indices, axis, x.shape[axis])
    item = out.dtype.size
    return Native("gather", (indices.dtype.name,), (size, count, inner, item), outer, out.size)


GATHER = defop(
    "GatherV2",
    ARRAY,
    2,
    _gather_spec,
    compute=_gather,
    native=_gather_native,
    vjp=_gather_vjp,
    complex_vjp="analytic",
)


def _scatter_spec(op: Op, g: Spec, indices: Spec, axis: int, size: int) -> Spec:
    return intern((*g.shape[:axis], size, *g.shape[axis + indices.rank :]), g.dtype)


def _scatter(out: Array, g: Array, indices: Array, axis: int, size: int) -> None:
    out[...] = 0
    flat_shape = (*g.shape[:axis], indices.size, *g.shape[axis + indices.ndim :])
    np.add.at(
        np.moveaxis(out, axis, 0), indices.ravel(), np.moveaxis(g.reshape(flat_shape), axis, 0)
    )


def _scatter_native(out: Spec, g: Spec, indices: Spec, axis: int, size: int) -> Native | None:
    if not out.is_float:
        return None
    outer, _, count, inner = _layout(out, indices, axis, size)
    work = outer * inner * (size + 2 * count)
    dtypes = out.dtype.name, indices.dtype.name
    return Native("scatter_add", dtypes, (size, count, inner), outer, work)


# The derivative of a gather: adds each slice back at its index; repeated indices accumulate.
SCATTER_ADD = defop(
    "ScatterAdd",
    ARRAY,
    2,
    _scatter_spec,
    compute=_scatter,
    native=_scatter_native,
    vjp=lambda g, y, x, indices, axis, size: (record(GATHER, (g, indices), axis=axis), None),
    complex_vjp="analytic",
)


def check_indices(indices: TensorLike, size: int, op: str, name: str = "an index") -> Tensor:
    """Convert to a tensor of integers and check that all of them are in [0, size)."""
    index_tensor = as_tensor(indices)
    if not index_tensor.dtype.is_integer:
        raise InvalidArgumentError(
            f"indices must be integers, got {index_tensor.dtype.name} [Op:{op}]"
        )
    if not every(
        index_tensor,
        lambda values: (values >= 0) & (values < size),
        lambda rows: _within(elementwise.cast(rows, dtypes.int64), size),
        f"{name} is not in [0, {size}) [Op:{op}]",
    ):
        values = index_tensor._array()
        bad = values[(values < 0) | (values >= size)].ravel()[0]
        raise InvalidArgumentError(f"{name} of {bad} is not in [0, {size}) [Op:{op}]")
    return index_tensor


def _within(rows: Tensor, size: int) -> Tensor:
    return comparison.logical_and(rows >= 0, rows < size)


@suggest_keywords
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    axis: IntLike | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """Gather slices along an axis by their indices.

    The gradient adds up the slices that share an index, in a fixed order.

    Args:
      params: A tensor of any dtype, of at least one axis.
      indices: A tensor of non-negative integers, of any shape.
      validate_indices: Accepted for compatibility with TensorFlow; indices are always checked.
      axis: The axis; None for ``batch_dims``, which is 0 by default.
      batch_dims: The number of leading axes that ``params`` and ``indices`` share; a negative one
        counts from the rank of ``indices``.
      name: Not used.

    Returns:
      A tensor of the dtype of ``params``. The axes of ``indices``, without the shared ones, replace
      the axis.

    Raises:
      InvalidArgumentError: If an index is out of range, or not an integer, or the axes do not fit.

    Example:
      >>> tf.gather([10, 20, 30], [2, 0, 2]).numpy()
      array([30, 10, 30], dtype=int32)
      >>> tf.gather([[1, 2], [3, 4]], [1, 0], batch_dims=1).numpy()
      array([2, 3], dtype=int32)
    """
    x = as_tensor(params)
    require(x.ndim > 0, GATHER, "params must be at least 1 dimensional")
    batch_dims = 0 if batch_dims is None else batch_dims
    if batch_dims < 0:
        batch_dims += as_tensor(indices).ndim
    gather_axis = to_axis("GatherV2", batch_dims if axis is None else axis, x.ndim)
    index_tensor = check_indices(indices, x.shape[gather_axis], "GatherV2")
    if not batch_dims:
        if not gather_axis and axis not in (None, 0):
            x = movement.reshape(x, tuple(x.shape))  # makes the gradient dense, as in TensorFlow
        return record(GATHER, (x, index_tensor), axis=gather_axis)
    batch_shape = tuple(x.shape[:batch_dims])
    require(
        batch_shape == tuple(index_tensor.shape[:batch_dims]) and gather_axis >= batch_dims,
        GATHER,
        f"params shape {x.shape} and indices shape {index_tensor.shape} must agree in the first "
        f"{batch_dims} axes",
    )
    # Gather once from the batches laid end to end, with offset indices.
    batches = int(np.prod(batch_shape, dtype=np.int64))
    count = x.shape[gather_axis]
    x = movement.transpose(
        x,
        (
            *range(batch_dims),
            gather_axis,
            *(k for k in range(batch_dims, x.ndim) if k != gather_axis),
        ),
    )
    slice_shape = tuple(x.shape[batch_dims + 1 :])
    flat = movement.reshape(x, (batches * count, *slice_shape))
    offsets = (
        np.arange(batches).reshape(batch_shape + (1,) * (index_tensor.ndim - batch_dims)) * count
    )
    shifted = elementwise.cast(index_tensor, dtypes.int64) + offsets
    gathered = record(GATHER, (flat, shifted), axis=0)
    index_ndim = index_tensor.ndim
    middle_axes = gather_axis - batch_dims
    perm = (
        *range(batch_dims),
        *range(index_ndim, index_ndim + middle_axes),
        *range(batch_dims, index_ndim),
        *range(index_ndim + middle_axes, gathered.ndim),
    )
    return movement.transpose(gathered, perm)


def fold_slices(g: Tensor, origin: tuple[int, ...], size: int, axis: int) -> Tensor:
    """Add up the slices of ``g`` that have the same origin, one of ``size`` indices."""
    return record(FOLD, (g,), origin=origin, size=size, axis=axis)


def _fold(out: Array, g: Array, origin: tuple[int, ...], size: int, axis: int) -> None:
    _scatter(out, g, np.array(origin), axis, size)


FOLD = defop(
    "MirrorPadGrad",
    ARRAY,
    1,
    lambda op, g, origin, size, axis: intern(
        (*g.shape[:axis], size, *g.shape[axis + 1 :]), g.dtype
    ),
    compute=_fold,
    vjp=lambda g, y, x, origin, size, axis: (record(UNFOLD, (g,), origin=origin, axis=axis),),
    complex_vjp="analytic",
)
UNFOLD: Op = defop(
    "MirrorPadGradGrad",
    ARRAY,
    1,
    lambda op, g, origin, axis: intern(
        (*g.shape[:axis], len(origin), *g.shape[axis + 1 :]), g.dtype
    ),
    compute=lambda out, g, origin, axis: np.copyto(out, np.take(g, origin, axis)),
    vjp=lambda g, y, x, origin, axis: (fold_slices(g, origin, x.shape[axis], axis),),
    complex_vjp="analytic",
)


# One element of the last axis in each row, as sparse cross-entropy needs.


def _rows_native(name: str) -> Any:
    def native(out: Spec, x: Spec, i: Spec, **_: object) -> Native:
        longer = x if name == "pick" else out
        item = f"uint{8 * x.dtype.size}"
        return Native(name, (item, i.dtype.name), (longer.shape[-1],), i.size, longer.size)

    return native


_record_pick = binary(
    defop(
        "Pick",
        ARRAY,
        2,
        lambda op, x, i: intern(tuple(x.shape[:-1]), x.dtype),
        native=_rows_native("pick"),
        compute=lambda out, x, i: np.copyto(
            out, np.take_along_axis(x, i[..., None].astype(np.intp), -1)[..., 0]
        ),
        vjp=lambda g, y, x, i: (record(PLACE, (g, i), size=x.shape[-1]), None),
        complex_vjp="analytic",
    )
)


def _place(out: Array, g: Array, i: Array, size: int) -> None:
    out[...] = 0
    np.put_along_axis(out, i[..., None].astype(np.intp), g[..., None], -1)


PLACE: Op = defop(
    "Place",
    ARRAY,
    2,
    lambda op, g, i, size: intern((*g.shape, size), g.dtype),
    compute=_place,
    native=_rows_native("place"),
    vjp=lambda g, y, x, i, size: (_record_pick(g, i), None),
    complex_vjp="analytic",
)


def pick(x: Tensor, indices: TensorLike, op: str, name: str) -> Tensor:
    """Return ``x[..., indices[...]]``: one element of the last axis in each row."""
    return _record_pick(x, check_indices(indices, (*x._spec.shape,)[-1], op, name))


@dispatches
def boolean_mask(
    tensor: TensorLike, mask: TensorLike, axis: IntLike | None = None, name: str = "boolean_mask"
) -> Tensor:
    """Select the slices of a tensor where a mask is true.

    Args:
      tensor: A tensor of any dtype.
      mask: Bools, of the shape of the axes of ``tensor`` from ``axis`` on. The value is read at the
        call.
      axis: The first axis that the mask covers; None for 0.
      name: Not used.

    Returns:
      A tensor of the same dtype; one axis replaces the masked axes.

    Raises:
      ValueError: If the mask is a scalar, or the shapes do not fit.

    Example:
      >>> tf.boolean_mask([[1, 2], [3, 4], [5, 6]], [True, False, True]).numpy()
      array([[1, 2],
             [5, 6]], dtype=int32)
    """
    x = as_tensor(tensor)
    first_axis = 0 if axis is None else to_axis("BooleanMask", axis, x.ndim)
    mask_tensor = as_tensor(mask)
    if not mask_tensor.ndim:
        raise ValueError("mask cannot be scalar.")
    end = first_axis + mask_tensor.ndim
    if tuple(x.shape[first_axis:end]) != tuple(mask_tensor.shape):
        raise ValueError(
            f"Shapes {x.shape[first_axis:end]} and {mask_tensor.shape} are incompatible"
        )
    flat = movement.reshape(x, (*x.shape[:first_axis], -1, *x.shape[end:]))
    return gather(flat, np.flatnonzero(mask_tensor._array()), axis=first_axis)


@dispatches
def repeat(
    input: TensorLike, repeats: ShapeLike, axis: IntLike | None = None, name: str | None = None
) -> Tensor:
    """Repeat each element along an axis. To repeat the whole tensor see `tile`.

    Args:
      input: A tensor.
      repeats: The number of repeats: an int, or one for each element of the axis.
      axis: The axis; None for the flattened tensor.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If ``repeats`` is negative.
      ValueError: If the number of ``repeats`` differs from the size of the axis.

    Example:
      >>> tf.repeat([1, 2, 3], [2, 0, 1]).numpy()
      array([1, 1, 3], dtype=int32)
    """
    x = as_tensor(input)
    if axis is None:
        x, axis = movement.reshape(x, (-1,)), 0
    if not x.ndim:
        x = movement.reshape(x, (1,))
    repeat_axis = movement.resolve_axis(axis, x.ndim, "Repeat")
    counts, dim = movement.to_shape(repeats), x.shape[repeat_axis]
    smallest = min(counts, default=0)
    require(smallest >= 0, "Repeat", f"Expected repeats >= 0, got {smallest}")
    if len(counts) == 1:
        expanded_shape = (*x.shape[: repeat_axis + 1], *counts, *x.shape[repeat_axis + 1 :])
        result_shape = (*x.shape[:repeat_axis], dim * counts[0], *x.shape[repeat_axis + 1 :])
        return movement.reshape(
            movement.broadcast_to(movement.expand_dims(x, repeat_axis + 1), expanded_shape),
            result_shape,
        )
    if len(counts) != dim:
        raise ValueError(
            f"{len(counts)} repeats for {dim} elements along axis {repeat_axis} [Op:Repeat]."
        )
    x = movement.reshape(x, tuple(x.shape))  # makes the gradient dense
    return gather(x, np.repeat(np.arange(dim), counts), axis=repeat_axis)


def where(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return ``x`` where a condition holds, else ``y``; given only a condition, its true indices.

    Gradients reach ``x`` and ``y`` where they are selected. Unselected elements should be finite
    too: their derivative is multiplied by 0, and infinity times 0 is NaN.

    Args:
      condition: A tensor of bools, or a NumPy array of numbers, which holds where it is not 0.
      x: A tensor; all three broadcast.
      y: A tensor of the dtype of ``x``.
      name: Not used.

    Returns:
      A tensor of the broadcast shape; given only a condition, an int64 tensor of shape
      (count, rank).

    Raises:
      ValueError: If one of ``x`` and ``y`` is given without the other.
      InvalidArgumentError: If the shapes do not broadcast, or the dtypes do not fit.

    Example:
      >>> x = tf.constant([-1.0, 2.0, -3.0])
      >>> tf.where(x > 0, x, 0.0).numpy()
      array([0., 2., 0.], dtype=float32)
      >>> tf.where(x > 0).numpy()
      array([[1]])
    """
    try:
        if x is None and y is None:
            indices = np.argwhere(as_tensor(condition)._array())
            return as_tensor(indices.astype(np.int64))
        if x is None or y is None:
            raise ValueError("x and y must both be non-None or both be None.")
        if isinstance(condition, NUMPY) and condition.dtype.kind in "iufc":
            condition = condition != 0
        return elementwise.select(condition, x, y)
    except Exception:
        return recover(where, condition, x, y)  # type: ignore[no-any-return]


@suggest_keywords
def one_hot(
    indices: TensorLike,
    depth: IntLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Set one value at each index along a new axis, and another value elsewhere.

    An index that is out of range sets no element. No gradient flows through.

    Args:
      indices: A tensor of integers.
      depth: The size of the new axis.
      on_value: The value at the index; None for 1.
      off_value: The value elsewhere; None for 0.
      axis: The position of the new axis in the result; None and -1 are the end.
      dtype: The dtype; None for the dtype of the values, or float32.
      name: Not used.

    Returns:
      A tensor with one more axis.

    Raises:
      DtypeError: If the indices are floats.
      TypeError: If the values and the dtype do not agree.
      InvalidArgumentError: If ``depth`` or ``axis`` is out of range.

    Example:
      >>> tf.one_hot([2, 0], depth=3).numpy()
      array([[0., 0., 1.],
             [1., 0., 0.]], dtype=float32)
    """
    index_tensor = as_tensor(indices)
    if index_tensor.dtype.is_floating:
        raise DtypeError(f"indices must be integers, got {index_tensor.dtype.name} [Op:OneHot]")
    requested_dtype = None if dtype is None else dtypes.as_dtype(dtype)
    on, off = (
        x if x is None else convert_to_tensor(x, dtype_hint=requested_dtype)
        for x in (on_value, off_value)
    )
    value_dtypes = {x.dtype for x in (on, off) if x is not None} | (
        {requested_dtype} if requested_dtype else set()
    )
    if len(value_dtypes) > 1:
        raise TypeError(f"on_value, off_value and dtype must be of one dtype, got {value_dtypes}")
    value_dtype = next(iter(value_dtypes), dtypes.float32)
    on = elementwise.cast(1, value_dtype) if on is None else on
    off = elementwise.cast(0, value_dtype) if off is None else off
    count = movement.to_ints(depth)
    require(
        type(count) is int and count >= 0,
        "OneHot",
        f"depth must be a non-negative scalar, got {dtypes.repr_of(depth)}",
    )
    new_axis = index_tensor.ndim if axis in (None, -1) else axis
    require(
        type(new_axis) is int and 0 <= new_axis <= index_tensor.ndim,
        "OneHot",
        f"Expected axis to be -1 or between 0 and {index_tensor.ndim}, got {dtypes.repr_of(axis)}",
    )
    levels = np.arange(count).reshape((count,) + (1,) * (index_tensor.ndim - new_axis))
    is_index = (
        elementwise.cast(movement.expand_dims(index_tensor, new_axis), dtypes.int64) == levels
    )
    return elementwise.select(is_index, on, off)
