"""Norms of vectors and matrices, sums of several tensors, and gradient clipping."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from ...errors import InvalidArgumentError
from ..log.as_tensor import as_tensor
from ..log.record import record, require
from ..values import dtypes
from ..values.composite import dispatches
from ..values.dtypes import mismatch_error, repr_of
from ..values.hints import suggest_keywords
from ..values.spec import axes_of
from ..values.tensor import Tensor
from . import arithmetic, comparison, elementwise, movement, reduction
from .complex import conj, real
from .decompositions import SVD
from .reduction import reduce_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..values.annotations import AxisLike, DTypeLike, IntLike, NumberLike, TensorLike
    from ..values.indexed_slices import IndexedSlices

    # "euclidean", "fro", or the number p of a p-norm.
    NormOrder: TypeAlias = str | float | np.number[Any] | NDArray[Any]


def _is_indexed_slices(value: object) -> TypeGuard[IndexedSlices]:
    """Return whether a value is `IndexedSlices`."""
    return hasattr(value, "dense_shape") and hasattr(value, "indices")


def _to_dense(value: TensorLike) -> Tensor:
    """Convert to a tensor, also `IndexedSlices`."""
    from .creation import convert_to_tensor

    return convert_to_tensor(value) if _is_indexed_slices(value) else as_tensor(value)


def _with_values(value: object, values: Tensor) -> Any:
    """Return ``values``, as `IndexedSlices` of the same indices if ``value`` is `IndexedSlices`."""
    if _is_indexed_slices(value):
        return type(value)(values, value.indices, value.dense_shape)
    return values


@dispatches
def add_n(inputs: Iterable[TensorLike], name: str | None = None) -> Tensor:
    """Add several tensors, in order.

    Args:
      inputs: A list of tensors of one shape and dtype.
      name: Not used.

    Returns:
      A tensor of that shape and dtype.

    Raises:
      ValueError: If ``inputs`` is empty.
      TypeError: If ``inputs`` is not iterable.
      InvalidArgumentError: If shapes or dtypes differ, or the elements are bools.

    Example:
      >>> tf.add_n([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])]).numpy()
      array([4., 6.], dtype=float32)
    """
    provided = list(inputs)
    if not provided:
        raise ValueError(
            "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype "
            "and shape."
        )
    tensors = [_to_dense(x) for x in provided]
    first = tensors[0]
    for k, x in enumerate(tensors):
        if x.dtype is not first.dtype:
            raise mismatch_error("AddN", k, first.dtype, x.dtype)
        require(
            x.shape == first.shape,
            "AddN",
            "Inputs to operation AddN must have the same size and shape.  "
            f"Input 0: {first.shape.as_list()} != input {k}: {x.shape.as_list()}",
        )
    if first.dtype.is_bool and len(tensors) > 1:
        raise InvalidArgumentError("AddN of bools: `cast` them first [Op:AddN]")
    total = first
    for x in tensors[1:]:
        total = elementwise.add(total, x)
    return total


def accumulate_n(
    inputs: Sequence[TensorLike],
    shape: Sequence[IntLike] | None = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Add several tensors, in order; see `add_n`.

    Args:
      inputs: A list of tensors of one shape and dtype.
      shape: The expected shape; None for the shape of the first.
      tensor_dtype: The expected dtype; None for the dtype of the first.
      name: Not used.

    Returns:
      A tensor of that shape and dtype.

    Raises:
      ValueError: If ``inputs`` is not a list of tensors of this shape and of one dtype.
      TypeError: If their dtype is not ``tensor_dtype``.

    Example:
      >>> tf.math.accumulate_n([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])]).numpy()
      array([4., 6.], dtype=float32)
    """
    provided = [as_tensor(x) for x in inputs] if isinstance(inputs, list | tuple) else []
    if not provided or any(x.dtype is not provided[0].dtype for x in provided):
        raise ValueError(
            "inputs must be a list of at least one Tensor with the same dtype and shape"
        )
    requested = tuple(provided[0].shape if shape is None else shape)
    for x in provided:
        if tuple(x.shape) != requested:
            raise ValueError(f"Shapes {requested} and {x.shape} are not compatible")
    if tensor_dtype is not None and provided[0].dtype is not dtypes.as_dtype(tensor_dtype):
        raise TypeError(
            f"The `tensor_dtype` argument is {dtypes.as_dtype(tensor_dtype)!r}, but `input` is of "
            f"type {provided[0].dtype!r}. "
            "These must be equal. Try casting the input to the desired "
            "type."
        )
    return add_n(provided)


def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute the square root of the sum of squares over axes.

    Where all elements are 0 it is not differentiable: the gradient there is 0, a subgradient.

    Args:
      input_tensor: A tensor of numbers.
      axis: The axes to reduce: an int, a list of them, or None for all.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      A tensor of the same dtype; for integers, rounded towards 0.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice, or the elements are bools.

    Example:
      >>> tf.math.reduce_euclidean_norm([[3.0, 4.0], [6.0, 8.0]], axis=1).numpy()
      array([ 5., 10.], dtype=float32)
    """
    x = as_tensor(input_tensor)
    if x.dtype.is_complex:
        length = elementwise.root_of_squares(reduce_sum(real(x * conj(x)), axis, keepdims))
        return elementwise.cast(length, x.dtype)
    if x._spec.is_float or x.dtype.is_bool:
        return elementwise.root_of_squares(reduce_sum(elementwise.square(x), axis, keepdims))
    wide = elementwise.cast(x, dtypes.float64)
    return elementwise.cast(reduce_euclidean_norm(wide, axis, keepdims), x.dtype)


@suggest_keywords
def l2_normalize(
    x: TensorLike,
    axis: AxisLike = None,
    epsilon: NumberLike = 1e-12,
    name: str | None = None,
    dim: AxisLike = None,
) -> Tensor:
    """Divide ``x`` by its Euclidean norm over axes, or by ``sqrt(epsilon)`` if the norm is smaller.

    Args:
      x: A tensor of floats.
      axis: The axes of the norm: an int, a list of ints, or None for all.
      epsilon: The lower bound of the squared norm.
      name: Not used.
      dim: The former name of ``axis``.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are not floats.
      InvalidArgumentError: If an axis is out of range or named twice.
      ValueError: If both ``axis`` and ``dim`` are given.

    Example:
      >>> tf.math.l2_normalize([3.0, 4.0]).numpy()
      array([0.6, 0.8], dtype=float32)
    """
    if dim is not None:
        if axis is not None:
            raise ValueError("Cannot specify both 'axis' and 'dim'.")
        axis = dim
    result = as_tensor(x)
    if result.dtype.is_complex:
        square = reduce_sum(real(result * conj(result)), axis, True)
        inverse = elementwise.rsqrt(elementwise.maximum(square, epsilon))
        return result * elementwise.cast(inverse, result.dtype)
    if not result._spec.is_float:
        raise TypeError(f"Cannot convert {epsilon} to dtype {result.dtype.name}: `cast` before.")
    square = reduce_sum(elementwise.square(result), axis, True)
    return result * elementwise.rsqrt(elementwise.maximum(square, epsilon))


def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: AxisLike = None, name: str | None = None
) -> Tensor | IndexedSlices:
    """Scale a tensor down to a Euclidean norm over axes if its norm is larger.

    Args:
      t: A tensor of floats, or IndexedSlices.
      clip_norm: The largest norm, cast to the dtype of ``t``; a negative value counts as 0.
      axes: The axes of the norm: an int, a list of ints, or None for all.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``t``; `IndexedSlices` if ``t`` is.

    Raises:
      InvalidArgumentError: If the elements are not floats, an axis is out of range, or the shape of
        ``clip_norm`` does not fit.

    Example:
      >>> tf.clip_by_norm([3.0, 4.0], 2.0).numpy()
      array([1.2, 1.6], dtype=float32)
    """
    values = as_tensor(t.values if _is_indexed_slices(t) else t)
    total = reduce_sum(values * values, axes, True)
    some = total > 0
    length = elementwise.select(some, elementwise.sqrt(elementwise.select(some, total, 1)), total)
    limit = elementwise.cast(as_tensor(clip_norm, values._spec), values.dtype)
    limit = elementwise.maximum(limit, 0)
    clipped = values * limit / elementwise.maximum(length, limit)
    require(
        clipped.shape == values.shape,
        "ClipByNorm",
        f"clip_norm does not broadcast to the shape {values.shape} of the tensor",
    )
    result: Tensor | IndexedSlices = _with_values(t, clipped)
    return result


def _to_tensors(t_list: Sequence[TensorLike | None]) -> list[Any]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    return [
        None if x is None else as_tensor(x.values if _is_indexed_slices(x) else x) for x in t_list
    ]


def _joint_norm(tensors: list[Any]) -> Tensor:
    provided = [x for x in tensors if x is not None]
    for x in provided:
        if not x._spec.is_float:
            raise InvalidArgumentError(
                f"Value for attr 'T' of {x.dtype.name} is not in the list of allowed values: "
                "float, double [Op:L2Loss]"
            )
    if not provided:
        return as_tensor(np.float32(0))
    if len({x.dtype for x in provided}) > 1:
        wide = (
            dtypes.float64 if any(x.dtype is dtypes.float64 for x in provided) else dtypes.float32
        )
        provided = [elementwise.cast(x, wide) for x in provided]
    return elementwise.sqrt(add_n([reduce_sum(elementwise.square(x)) for x in provided]))


def global_norm(t_list: Sequence[TensorLike | None], name: str | None = None) -> Tensor:
    """Compute the Euclidean norm of all tensors of a list together.

    Args:
      t_list: A list of tensors of floats, `IndexedSlices` and None, which is ignored.
      name: Not used.

    Returns:
      A scalar, of the widest dtype if the dtypes differ.

    Raises:
      TypeError: If ``t_list`` is not a list or tuple.
      InvalidArgumentError: If elements are not floats.

    Example:
      >>> tf.linalg.global_norm([tf.constant([3.0]), tf.constant([[4.0]])]).numpy()
      np.float32(5.0)
    """
    return _joint_norm(_to_tensors(t_list))


def clip_by_global_norm(
    t_list: Sequence[TensorLike | None],
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Any], Tensor]:
    """Scale tensors down by one factor if their joint Euclidean norm exceeds a bound.

    If the norm is infinite or NaN, all elements become NaN.

    Args:
      t_list: A list of tensors of floats, `IndexedSlices` and None, which stays None.
      clip_norm: The largest norm.
      use_norm: The norm, if it is known; None to compute `global_norm`.
      name: Not used.

    Returns:
      The list of scaled tensors, each with its dtype, and their norm before, of the widest dtype.

    Raises:
      TypeError: If ``t_list`` is not a list or tuple.
      InvalidArgumentError: If elements are not floats.

    Example:
      >>> clipped, length = tf.clip_by_global_norm([tf.constant([3.0]), tf.constant([4.0])], 1.0)
      >>> clipped[0].numpy(), length.numpy()
      (array([0.6], dtype=float32), np.float32(5.0))
    """
    tensors = _to_tensors(t_list)
    length = _joint_norm(tensors) if use_norm is None else as_tensor(use_norm)
    limit = as_tensor(clip_norm, length._spec)
    scale = limit * elementwise.minimum(1.0 / length, 1.0 / limit)
    scale = elementwise.select(comparison.is_finite(length), scale, np.nan)
    clipped = [
        None if x is None else _with_values(provided, x * elementwise.cast(scale, x.dtype))
        for provided, x in zip(t_list, tensors, strict=True)
    ]
    return clipped, length


@suggest_keywords
def norm(
    tensor: TensorLike,
    ord: NormOrder = "euclidean",
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the norm of vectors (all elements, or along an axis) or of matrices (two axes).

    Where all elements are 0 the norm is not differentiable: the gradient there is 0, a subgradient.

    Args:
      tensor: A tensor of floats or complex numbers.
      ord: For vectors "euclidean", 1, ``np.inf`` or another positive number p: ``sum(|x|**p) ** (1
        / p)``. For matrices "euclidean" or "fro" (Frobenius), 1 (the largest column sum),
        ``np.inf`` (the largest row sum) or 2 (the largest singular value).
      axis: None for all elements as one vector, an int for vectors, two ints for matrices.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      A tensor of the same dtype. For complex numbers the Euclidean norm is complex, other norms are
      real.

    Raises:
      ValueError: If ``ord`` is not supported, or ``axis`` is a list that does not name two axes.
      InvalidArgumentError: If an axis is out of range, or the elements are not floats.

    Example:
      >>> tf.norm([[3.0, 4.0], [6.0, 8.0]], axis=1).numpy()
      array([ 5., 10.], dtype=float32)
      >>> tf.norm([3.0, -4.0], ord=1).numpy()
      np.float32(7.0)
    """
    x = as_tensor(tensor)
    keepdims = bool(keepdims)
    is_matrix = isinstance(axis, list | tuple)
    if isinstance(axis, list | tuple) and not _are_two_axes(axis, x.ndim):
        raise ValueError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}"
        )
    if isinstance(ord, np.ndarray) and not ord.ndim:
        ord = ord.item()
    if not isinstance(ord, str | int | float | np.number) or (ord == "fro" and not is_matrix):
        raise ValueError(f"'ord' must be a supported vector norm, got {repr_of(ord)}")
    if ord in ("euclidean", "fro", 2) and not (ord == 2 and is_matrix):
        if not x.dtype.is_complex:
            return elementwise.root_of_squares(reduction.reduce_sum(x * x, axis, keepdims))
        sum_of_squares = reduction.reduce_sum(real(x * conj(x)), axis, keepdims)
        return elementwise.cast(elementwise.root_of_squares(sum_of_squares), x.dtype)
    magnitude = elementwise.abs_(x)
    if is_matrix:
        row_axis, column_axis = axes_of("Norm", axis, x.ndim)
        if ord == 2:
            return _largest_singular_value(x, row_axis, column_axis, keepdims)
        if ord not in (1, math.inf, np.inf):
            raise ValueError(f"'ord' must be a supported matrix norm, got {ord}")
        sum_axis, max_axis = (row_axis, column_axis) if ord == 1 else (column_axis, row_axis)
        sums = reduction.reduce_sum(magnitude, sum_axis, True)
        result = reduction.reduce_max(sums, max_axis, True)
        return result if keepdims else movement.squeeze(result, axis)
    if ord in (math.inf, np.inf):
        return reduction.reduce_max(magnitude, axis, keepdims)
    if isinstance(ord, str) or not 0 < ord <= sys.float_info.max:
        raise ValueError(f"'ord' must be a supported vector norm, got {repr_of(ord)}")
    if ord == 1:
        return reduction.reduce_sum(magnitude, axis, keepdims)
    total = reduction.reduce_sum(arithmetic.pow_(magnitude, float(ord)), axis, keepdims)
    is_zero = total == 0.0
    root = arithmetic.pow_(elementwise.select(is_zero, 1.0, total), 1.0 / ord)
    return elementwise.select(is_zero, 0.0, root)


def _are_two_axes(axes: Sequence[IntLike], rank: int) -> bool:
    return len(axes) == 2 and len(set(axes_of("Norm", axes, rank))) == 2


def _largest_singular_value(x: Tensor, row_axis: int, column_axis: int, keepdims: bool) -> Tensor:
    """Return the 2-norm of matrices."""
    batch_axes = tuple(axis for axis in range(x.ndim) if axis not in (row_axis, column_axis))
    values = record(
        SVD,
        (movement.transpose_if_needed(x, (*batch_axes, row_axis, column_axis)),),
        full=False,
        vectors=False,
    )
    largest = reduction.reduce_max(real(values), -1)
    if not keepdims:
        return largest
    return movement.reshape(
        largest,
        tuple(1 if axis in (row_axis, column_axis) else x.shape[axis] for axis in range(x.ndim)),
    )


def normalize(
    tensor: TensorLike, ord: NormOrder = "euclidean", axis: AxisLike = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Divide a tensor by its norm.

    Args:
      tensor: A tensor of floats.
      ord: The kind of norm; see `norm`.
      axis: None for the norm of all elements, an int for vectors, two ints for matrices.
      name: Not used.

    Returns:
      A tuple of the quotient, NaN where the norm is 0, and the norm, whose reduced axes have
      size 1.

    Raises:
      ValueError: If ``ord`` or ``axis`` is not supported by `norm`.

    Example:
      >>> unit, length = tf.linalg.normalize([3.0, 4.0])
      >>> unit.numpy(), length.numpy()
      (array([0.6, 0.8], dtype=float32), array([5.], dtype=float32))
    """
    x = as_tensor(tensor)
    length = norm(x, ord, axis, True)
    return x / length, length
