"""Tensors from Python and NumPy values, filled tensors, and ranges."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidArgumentError
from ..log.as_tensor import as_tensor, from_owned_array, to_tensor
from ..log.evaluate import executor
from ..log.record import Recorder, require, spec_of
from ..log.variable import Variable
from ..values import dtypes
from ..values.composite import Composite, dispatches, recover
from ..values.convert import new_array
from ..values.dtypes import DType, as_dtype
from ..values.hints import suggest_keywords
from ..values.indexed_slices import IndexedSlices
from ..values.memory import convert_array
from ..values.spec import broadcast, intern
from ..values.tensor import Tensor, of_array
from . import arithmetic, elementwise, joining, movement
from .slicing import strided_slice

if TYPE_CHECKING:
    from ..values.annotations import DTypeLike, IntLike, NumberLike, ShapeLike, TensorLike

FEW = 1 << 14  # up to this number of elements a filled tensor is made on the host


def _parse_dtype(dtype: DTypeLike | None) -> DType | None:
    return None if dtype is None else as_dtype(dtype)


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    name: str = "Const",
) -> Tensor:
    """Make a tensor from a Python number, a nested list or an array, which is copied.

    Python floats are float32 and ints int32 (int64 if one is too large); arrays keep their dtype.
    Arrays of CuPy, and PyTorch's on a GPU, are copied on the GPU; `experimental.dlpack.from_dlpack`
    shares them instead.

    Args:
      value: The value.
      dtype: The dtype; None to infer it from the value.
      shape: The shape; a single element is repeated, more are reshaped.
      name: Not used.

    Returns:
      A tensor; ``value`` itself if it is a tensor of this dtype and shape.

    Raises:
      TypeError: If ``dtype`` or ``shape`` cannot hold the value.
      ValueError: If the value is not numeric, or ragged.
      DeviceError: If the value is on a GPU and numtape computes on the CPU.

    Example:
      >>> tf.constant([1, 2, 3])
      <tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 2, 3], dtype=int32)>
      >>> tf.constant(0.5, dtype=tf.float64, shape=(2, 2)).numpy()
      array([[0.5, 0.5],
             [0.5, 0.5]])
    """
    requested = _parse_dtype(dtype)
    if isinstance(value, Tensor | Variable):
        tensor = as_tensor(value)
        if isinstance(value, Variable):  # the current value, without a gradient
            tensor = elementwise.stop_gradient(tensor)
        if requested is not None and tensor.dtype is not requested:
            raise TypeError(
                f"Expected tensor with type {requested!r} not {tensor.dtype!r}. Use `cast`."
            )
    else:
        try:
            result = new_array(value, requested)
            tensor = result if isinstance(result, Tensor) else from_owned_array(result)
        except Exception:
            return recover(constant, value, dtype, shape)  # type: ignore[no-any-return]
    if shape is None:
        return tensor
    target = movement.to_shape(shape)
    size = math.prod(target)
    if tensor._spec.size == 1 and size != 1:
        return movement.broadcast_to(movement.reshape(tensor, ()), target)
    if tensor._spec.size != size:
        raise TypeError(
            f"Eager execution of tf.constant with unsupported shape. Tensor {tensor} (converted "
            f"from {dtypes.repr_of(value)}) has {tensor._spec.size:d} elements, but got `shape` "
            f"{target} with {size} elements."
        )
    return movement.reshape(tensor, target)


def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convert a value to a tensor; tensors are returned unchanged.

    Variables are read, and gradients reach them.

    Args:
      value: A tensor, variable, array or number, or a nest of lists of them.
      dtype: The dtype of the result; None to infer it from the value.
      dtype_hint: The dtype of the result if it can hold the value.
      name: Not used.

    Returns:
      A tensor.

    Raises:
      ValueError: If ``value`` is a tensor of another dtype than ``dtype``, is not numeric, or
        ragged.
      TypeError: If ``dtype`` cannot hold the value.

    Example:
      >>> x = tf.constant(1.0)
      >>> tf.convert_to_tensor(x) is x
      True
      >>> tf.convert_to_tensor([x, 2.0]).numpy()
      array([1., 2.], dtype=float32)
    """
    requested = _parse_dtype(dtype)
    if requested is None and dtype_hint is not None and not isinstance(value, Tensor | Variable):
        try:
            return to_tensor(value, as_dtype(dtype_hint))
        except (TypeError, ValueError):
            pass
    try:
        return to_tensor(value, requested)
    except Exception:
        return recover(convert_to_tensor, value, dtype, dtype_hint)  # type: ignore[no-any-return]


@suggest_keywords
def fill(
    dims: ShapeLike, value: TensorLike, name: str | None = None, *, layout: object = None
) -> Tensor:
    """A tensor filled with a scalar. Gradients reach the scalar.

    Args:
      dims: The shape: ints or a tensor of ints.
      value: A scalar.
      name: Not used.
      layout: Accepted for compatibility with TensorFlow.

    Returns:
      A tensor of shape ``dims`` and the dtype of ``value``.

    Raises:
      InvalidArgumentError: If ``value`` is not a scalar, or a size is negative.

    Example:
      >>> tf.fill([2, 3], 7).numpy()
      array([[7, 7, 7],
             [7, 7, 7]], dtype=int32)
    """
    scalar = as_tensor(value)
    if scalar.ndim:
        raise InvalidArgumentError(f"value must be a scalar, got shape {scalar.shape} [Op:Fill]")
    return movement.broadcast_to(scalar, movement.to_shape(dims))


def _fill(shape: tuple[int, ...], dtype: DType, value: int) -> Tensor:
    require(min(shape, default=0) >= 0, "Fill", f"Dimensions must be >= 0, got shape {shape}")
    spec = intern(shape, dtype)
    if spec.size <= FEW:
        return of_array(np.full(shape, value, dtype.numpy_dtype), spec)
    return of_array(executor().fill(value, spec), spec)  # the executor fills memory of its device


@suggest_keywords
def zeros(
    shape: ShapeLike,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    layout: object = None,
) -> Tensor:
    """A tensor of zeros.

    Args:
      shape: Ints, or a tensor of ints; one int for a vector.
      dtype: The dtype.
      name: Not used.
      layout: Accepted for compatibility with TensorFlow.

    Returns:
      A tensor; bools are False.

    Raises:
      InvalidArgumentError: If a size is negative.

    Example:
      >>> tf.zeros((2, 3), tf.int32).numpy()
      array([[0, 0, 0],
             [0, 0, 0]], dtype=int32)
    """
    return _fill(movement.to_shape(shape), as_dtype(dtype), 0)


@suggest_keywords
def ones(
    shape: ShapeLike,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    layout: object = None,
) -> Tensor:
    """A tensor of ones.

    Args:
      shape: Ints, or a tensor of ints; one int for a vector.
      dtype: The dtype.
      name: Not used.
      layout: Accepted for compatibility with TensorFlow.

    Returns:
      A tensor; bools are True.

    Raises:
      InvalidArgumentError: If a size is negative.

    Example:
      >>> tf.ones((2, 3)).numpy()
      array([[1., 1., 1.],
             [1., 1., 1.]], dtype=float32)
    """
    return _fill(movement.to_shape(shape), as_dtype(dtype), 1)


@dispatches
def zeros_like(
    input: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    layout: object = None,
) -> Tensor:
    """Zeros of the shape of another tensor. No gradient flows through.

    Args:
      input: A tensor, or a value that converts to one.
      dtype: The dtype; None for that of ``input``.
      name: Not used.
      layout: Accepted for compatibility with TensorFlow.

    Returns:
      A tensor of the shape of ``input``.

    Raises:
      TypeError: If ``dtype`` does not name a dtype.

    Example:
      >>> tf.zeros_like([[1, 2], [3, 4]]).numpy()
      array([[0, 0],
             [0, 0]], dtype=int32)
    """
    return _fill_like(elementwise.zeros_like_op, input, dtype, 0)


@dispatches
def ones_like(
    input: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    layout: object = None,
) -> Tensor:
    """Ones of the shape of another tensor. No gradient flows through.

    Args:
      input: A tensor, or a value that converts to one.
      dtype: The dtype; None for that of ``input``.
      name: Not used.
      layout: Accepted for compatibility with TensorFlow.

    Returns:
      A tensor of the shape of ``input``.

    Raises:
      TypeError: If ``dtype`` does not name a dtype.

    Example:
      >>> tf.ones_like([[1, 2], [3, 4]], dtype=tf.float32).numpy()
      array([[1., 1.],
             [1., 1.]], dtype=float32)
    """
    return _fill_like(elementwise.ones_like_op, input, dtype, 1)


def _fill_like(record: Recorder, input: TensorLike, dtype: DTypeLike | None, value: int) -> Tensor:
    """Fill the shape of ``input``. The result for floats is a row, which tapes follow."""
    x = as_tensor(input)
    requested = x.dtype if dtype is None else as_dtype(dtype)
    if requested is x.dtype and x._spec.is_float:
        return record(x)
    return _fill(tuple(x.shape), requested, value)


@suggest_keywords
def eye(
    num_rows: IntLike,
    num_columns: IntLike | None = None,
    batch_shape: ShapeLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Identity matrices: 1 on the diagonal, 0 elsewhere.

    Args:
      num_rows: The number of rows.
      num_columns: The number of columns; None for the number of rows.
      batch_shape: The leading axes of a batch of matrices, ints.
      dtype: The dtype.
      name: Not used.

    Returns:
      A tensor of shape (*batch_shape, num_rows, num_columns).

    Raises:
      InvalidArgumentError: If a size is negative or not an int.

    Example:
      >>> tf.eye(2, num_columns=3).numpy()
      array([[1., 0., 0.],
             [0., 1., 0.]], dtype=float32)
    """
    rows = movement.to_ints(num_rows)
    columns = rows if num_columns is None else movement.to_ints(num_columns)
    requested = as_dtype(dtype)
    is_valid = all(isinstance(size, int) and size >= 0 for size in (rows, columns))
    require(is_valid, "Eye", f"Sizes must be numbers >= 0, got {rows} and {columns}")
    intern((rows, columns), requested)  # raises an error if it is too large
    matrix = np.eye(rows, columns, dtype=requested.numpy_dtype)
    if batch_shape is not None:
        batch_dims = movement.to_shape(batch_shape)
        matrix = np.broadcast_to(matrix, (*batch_dims, *matrix.shape)).copy()
    return from_owned_array(matrix)


def is_tensor(x: object) -> bool:
    """Whether a value is a tensor or a variable.

    Args:
      x: Any object.

    Returns:
      A bool.

    Example:
      >>> tf.is_tensor(tf.constant(1.0)), tf.is_tensor(tf.Variable(1.0)), tf.is_tensor(np.ones(2))
      (True, True, False)
    """
    return spec_of(x) is not None or isinstance(x, IndexedSlices | Composite)


@dispatches
def size(input: TensorLike, out_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """The number of elements, as a tensor. ``tf.size(x)`` of shape (2, 3) is 6.

    Args:
      input: A tensor, or a value that converts to one.
      out_type: The dtype of the result.
      name: Not used.

    Returns:
      A scalar.

    Example:
      >>> tf.size([[1, 2, 3], [4, 5, 6]])
      <tf.Tensor: shape=(), dtype=int32, numpy=6>
    """
    return constant(as_tensor(input)._spec.size, out_type)


@dispatches
def shape(input: TensorLike, out_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """The shape, as a tensor. ``x.shape`` is a `TensorShape`, which costs no row.

    Args:
      input: A tensor, or a value that converts to one.
      out_type: The dtype of the result.
      name: Not used.

    Returns:
      A tensor of one axis.

    Example:
      >>> tf.shape([[1, 2, 3], [4, 5, 6]])
      <tf.Tensor: shape=(2,), dtype=int32, numpy=array([2, 3], dtype=int32)>
    """
    return constant(np.array(as_tensor(input).shape, as_dtype(out_type).numpy_dtype))


@dispatches
def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """The number of axes, as a tensor. ``x.ndim`` is an int.

    Args:
      input: A tensor, or a value that converts to one.
      name: Not used.

    Returns:
      An int32 scalar.

    Example:
      >>> tf.rank([[1, 2, 3], [4, 5, 6]])
      <tf.Tensor: shape=(), dtype=int32, numpy=2>
    """
    return constant(as_tensor(input).ndim)


identity = movement.identity


@suggest_keywords
def range_(
    start: NumberLike,
    limit: NumberLike | None = None,
    delta: NumberLike = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> Tensor:
    """The numbers from ``start`` up to, not including, ``limit`` by ``delta``.

    With one argument it is the limit, and the start is 0. The values are read at the call.

    Args:
      start: The first number, a scalar; the limit if it is the only argument.
      limit: A scalar.
      delta: The step, which may be negative.
      dtype: The dtype; None for the widest float dtype of the scalars, else int32 or int64.
      name: Not used.

    Returns:
      A tensor of one axis.

    Raises:
      InvalidArgumentError: If ``delta`` is 0 or has the wrong sign, or an argument is not a finite
        scalar.
      TypeError: If a Python float is given for an integer dtype.

    Example:
      >>> tf.range(5).numpy()
      array([0, 1, 2, 3, 4], dtype=int32)
      >>> tf.range(3, 0, -1).numpy()
      array([3, 2, 1], dtype=int32)
      >>> tf.range(0.0, 1.0, 0.25).numpy()
      array([0.  , 0.25, 0.5 , 0.75], dtype=float32)
    """
    if limit is None:
        start, limit = 0, start
    provided = None if dtype is None else as_dtype(dtype)
    parts = [
        np.asarray(x)
        if isinstance(x, Tensor | Variable | np.ndarray | np.generic)
        else np.asarray(new_array(x, provided))
        for x in (start, limit, delta)
    ]
    for x, part in zip((start, limit, delta), parts, strict=True):
        if part.ndim:
            raise InvalidArgumentError(f"Requires scalars, got {dtypes.repr_of(x)} [Op:Range]")
    if provided is None:
        value = [dtypes.of_array(part) for part in parts]
        requested = next((d for d in (dtypes.float64, dtypes.float32) if d in value), dtypes.int32)
        if requested is dtypes.int32 and any(
            np.result_type(d.name, "int32") != "int32" for d in value
        ):
            requested = dtypes.int64
    else:
        requested = provided
    for part in parts:  # `new_array` has checked Python values only
        if requested.is_integer and part.dtype.kind in "iu":
            dtypes.of_number(int(part), intern((), requested), "Range")
    first, last, step = (convert_array(part, requested.numpy_dtype)[()] for part in parts)
    finite = all(np.isfinite(part) for part in (first, last, step))
    require(finite, "Range", f"Requires finite numbers: {first}, {last}, {step}")
    if step == 0:
        raise InvalidArgumentError("Requires delta != 0 [Op:Range]")
    if (step > 0 and first > last) or (step < 0 and first < last):
        sign = "<=" if step > 0 else ">="
        raise InvalidArgumentError(
            f"Requires start {sign} limit when delta {'>' if step > 0 else '<'} 0: {first}/{last} "
            f"[Op:Range]"
        )
    if requested.is_integer:
        return from_owned_array(_integer_range(int(first), int(last), int(step), requested))
    bounds: Any = first, last, step
    try:
        return from_owned_array(np.arange(*bounds, dtype=requested.numpy_dtype))
    except ValueError as error:
        raise InvalidArgumentError(f"{first}, {last}, {step}: {error} [Op:Range]") from None


def _integer_range(first: int, last: int, step: int, dtype: DType) -> np.ndarray[Any, Any]:
    """Return the numbers of Python's `range`; differences of them may exceed the dtype."""
    count = -((first - last) // step)
    intern((count,), dtype)  # raises an error if there are too many numbers
    # Computing modulo 2**64 cannot overflow.
    numbers = np.arange(count, dtype=np.uint64)
    numbers *= np.uint64(step % 2**64)
    numbers += np.uint64(first % 2**64)
    return numbers.astype(dtype.numpy_dtype)


@suggest_keywords
def linspace(
    start: TensorLike, stop: TensorLike, num: IntLike, name: str | None = None, axis: IntLike = 0
) -> Tensor:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, both included.

    Gradients reach both ends.

    Args:
      start: A tensor of numbers. Integers become floats as for `divide`.
      stop: Another of the same dtype; the shapes broadcast.
      num: The number of elements.
      name: Not used.
      axis: The position of the new axis of numbers in the result.

    Returns:
      A tensor of floats with one more axis.

    Raises:
      InvalidArgumentError: If ``num`` is negative, or the shapes do not broadcast.
      ValueError: If ``stop`` is a tensor of another dtype than ``start``.

    Example:
      >>> tf.linspace(0.0, 1.0, 5).numpy()
      array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    first = as_tensor(start)
    last = to_tensor(stop, first.dtype)
    count = movement.to_ints(num)
    is_valid = isinstance(count, int) and count >= 0
    require(is_valid, "LinSpace", f"Requires num >= 0: {dtypes.repr_of(num)}")
    intern((count,), dtypes.float64)  # raises an error if there are too many numbers
    shape = broadcast("LinSpace", first._spec, last._spec)
    first, last = (
        movement.expand_dims(movement.broadcast_to(x, shape), axis) for x in (first, last)
    )
    step = arithmetic.divide(last - first, max(count - 1, 1))
    first, last = elementwise.cast(first, step.dtype), elementwise.cast(last, step.dtype)
    at = movement.resolve_axis(axis, first.ndim, "LinSpace")
    between = np.arange(1, max(count - 1, 1)).reshape(
        [-1 if k == at else 1 for k in range(first.ndim)]
    )
    inner = first + step * between.astype(step.dtype.numpy_dtype)
    result = joining.concat([first, inner, last], at)
    cut = tuple((0, min(count, dim) if k == at else dim, 1) for k, dim in enumerate(result.shape))
    return strided_slice(result, cut)
