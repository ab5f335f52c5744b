"""Tensors from Python and NumPy values, and filled ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import InvalidArgumentError
from ..log.look import executor
from ..log.record import Recorder, as_tensor, require, spec_of
from ..log.variable import Variable, _tensor
from ..values import dtypes
from ..values.convert import new_array
from ..values.dtypes import DType, as_dtype
from ..values.memory import converted
from ..values.spec import broadcast, intern
from ..values.tensor import Tensor, of_array
from . import arithmetic, elementwise, movement

FEW = 1 << 14  # elements up to which a filled tensor is made on the host


def _owned(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor of an array that nobody else has."""
    return of_array(array, intern(array.shape, dtypes.of_array(array)))


def _dtype(dtype: Any) -> DType | None:
    return None if dtype is None else as_dtype(dtype)


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Tensor:
    """A tensor of a Python number, a nested list or an array, which is copied.

    Python floats are float32 and ints int32; arrays keep their dtype. One of CuPy's, or of
    PyTorch's on a GPU, is copied there: `experimental.dlpack.from_dlpack` shares it instead.

    Args:
      value: The value.
      dtype: The dtype, if another one is wanted.
      shape: The shape; a single element is repeated, more are reshaped.
      name: Not used.

    Raises:
      TypeError: If ``dtype`` or ``shape`` cannot hold the value.
      ValueError: If the value is not numeric, or ragged.
      DeviceError: If it is on a GPU, and numtape computes on the CPU.
    """
    wanted = _dtype(dtype)
    if isinstance(value, Tensor | Variable):
        tensor = as_tensor(value)
        if isinstance(value, Variable):  # the value that it has now, and no more
            tensor = elementwise.stop_gradient(tensor)
        if wanted is not None and tensor.dtype is not wanted:
            raise TypeError(
                f"Expected tensor with type {wanted!r} not {tensor.dtype!r}. Use `cast`."
            )
    else:
        found = new_array(value, wanted)
        tensor = found if isinstance(found, Tensor) else _owned(found)
    if shape is None:
        return tensor
    target = movement.static_shape(shape)
    size = math.prod(target)
    if tensor._spec.size == 1 and size != 1:
        return movement.broadcast_to(movement.reshape(tensor, ()), target)
    if tensor._spec.size != size:
        raise TypeError(
            f"Eager execution of tf.constant with unsupported shape. Tensor {tensor} (converted "
            f"from {dtypes.shown(value)}) has {tensor._spec.size:d} elements, but got `shape` "
            f"{target} with {size} elements."
        )
    return movement.reshape(tensor, target)


def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Tensor:
    """A tensor of any value; tensors are returned as they are.

    Raises:
      ValueError: If ``value`` is a tensor of another dtype than ``dtype``.
    """
    wanted = _dtype(dtype)
    if wanted is None and dtype_hint is not None and not isinstance(value, Tensor | Variable):
        try:
            return _tensor(value, as_dtype(dtype_hint))
        except (TypeError, ValueError):
            pass
    return _tensor(value, wanted)


def fill(dims: Any, value: Any, name: str | None = None, *, layout: Any = None) -> Tensor:
    """A tensor of shape ``dims`` with ``value``, a scalar, everywhere."""
    scalar = as_tensor(value)
    if scalar.ndim:
        raise InvalidArgumentError(f"value must be a scalar, got shape {scalar.shape} [Op:Fill]")
    return movement.broadcast_to(scalar, movement.static_shape(dims))


def _filled(shape: tuple[int, ...], dtype: DType, value: int) -> Tensor:
    require(min(shape, default=0) >= 0, "Fill", f"Dimensions must be >= 0, got shape {shape}")
    spec = intern(shape, dtype)
    if spec.size <= FEW:
        return of_array(np.full(shape, value, dtype.numpy_dtype), spec)
    return of_array(executor().fill(value, spec), spec)  # a GPU's are not copied there


def zeros(
    shape: Any, dtype: Any = dtypes.float32, name: str | None = None, layout: Any = None
) -> Tensor:
    """Zeros."""
    return _filled(movement.static_shape(shape), as_dtype(dtype), 0)


def ones(
    shape: Any, dtype: Any = dtypes.float32, name: str | None = None, layout: Any = None
) -> Tensor:
    """Ones."""
    return _filled(movement.static_shape(shape), as_dtype(dtype), 1)


def zeros_like(
    input: Any, dtype: Any = None, name: str | None = None, layout: Any = None
) -> Tensor:
    """Zeros of the shape and dtype of ``input``."""
    return _like(elementwise.zeros_as, input, dtype, 0)


def ones_like(
    input: Any, dtype: Any = None, name: str | None = None, layout: Any = None
) -> Tensor:
    """Ones of the shape and dtype of ``input``."""
    return _like(elementwise.ones_as, input, dtype, 1)


def _like(record: Recorder, input: Any, dtype: Any, value: int) -> Tensor:
    """Filled with a value. Of floats it is a row: a tape that follows them follows it."""
    x = as_tensor(input)
    wanted = x.dtype if dtype is None else as_dtype(dtype)
    if wanted is x.dtype and x._spec.is_float:
        return record(x)
    return _filled(tuple(x.shape), wanted, value)


def eye(
    num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Identity matrices."""
    rows = movement.static(num_rows)
    columns = rows if num_columns is None else movement.static(num_columns)
    wanted = as_dtype(dtype)
    good = all(isinstance(size, int) and size >= 0 for size in (rows, columns))
    require(good, "Eye", f"Sizes must be numbers >= 0, got {rows} and {columns}")
    intern((rows, columns), wanted)  # says so if it is too large
    matrix = np.eye(rows, columns, dtype=wanted.numpy_dtype)
    if batch_shape is not None:
        lead = movement.static_shape(batch_shape)
        matrix = np.broadcast_to(matrix, (*lead, *matrix.shape)).copy()
    return _owned(matrix)


def range_(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Tensor:
    """The numbers from ``start`` (default 0) up to, not including, ``limit`` by ``delta``.

    Raises:
      InvalidArgumentError: If ``delta`` is 0 or leads away from ``limit``, or is not finite.
      TypeError: If a Python float is given for an integer dtype.
    """
    if limit is None:
        start, limit = 0, start
    given = None if dtype is None else as_dtype(dtype)
    parts = [
        np.asarray(x) if isinstance(x, Tensor | Variable | np.ndarray | np.generic)
        else np.asarray(new_array(x, given)) for x in (start, limit, delta)
    ]  # fmt: skip
    for x, part in zip((start, limit, delta), parts, strict=True):
        if part.ndim:
            raise InvalidArgumentError(f"Requires scalars, got {dtypes.shown(x)} [Op:Range]")
    if given is None:
        found = [dtypes.of_array(part) for part in parts]
        wanted = next((d for d in (dtypes.float64, dtypes.float32) if d in found), dtypes.int32)
        if wanted is dtypes.int32 and any(np.result_type(d.name, "int32") != "int32"
                                          for d in found):  # fmt: skip
            wanted = dtypes.int64
    else:
        wanted = given
    for part in parts:  # what is not Python's is not checked yet
        if wanted.is_integer and part.dtype.kind in "iu":
            dtypes.of_number(int(part), intern((), wanted), "Range")
    first, last, step = (converted(part, wanted.numpy_dtype)[()] for part in parts)
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
    if wanted.is_integer:
        return _owned(_integers(int(first), int(last), int(step), wanted))
    bounds: Any = first, last, step
    try:
        return _owned(np.arange(*bounds, dtype=wanted.numpy_dtype))
    except ValueError as error:
        raise InvalidArgumentError(f"{first}, {last}, {step}: {error} [Op:Range]") from None


def _integers(first: int, last: int, step: int, dtype: DType) -> np.ndarray[Any, Any]:
    """What Python's `range` gives. Numbers fit the dtype, what is between the ends may not."""
    count = -((first - last) // step)
    intern((count,), dtype)  # says so if there cannot be so many
    # Modulo 2**64 nothing overflows.
    numbers = np.arange(count, dtype=np.uint64)
    numbers *= np.uint64(step % 2**64)
    numbers += np.uint64(first % 2**64)
    return numbers.astype(dtype.numpy_dtype)


def linspace(
    start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0
) -> Tensor:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, both included.

    Integers become float64. Tensors broadcast, and the numbers lie along a new axis.

    Raises:
      InvalidArgumentError: If ``num`` is negative.
      ValueError: If ``stop`` is a tensor of another dtype than ``start``.
    """
    first = as_tensor(start)
    last = _tensor(stop, first.dtype)
    count = movement.static(num)
    good = isinstance(count, int) and count >= 0
    require(good, "LinSpace", f"Requires num >= 0: {dtypes.shown(num)}")
    intern((count,), dtypes.float64)  # says so if there cannot be so many
    shape = broadcast("LinSpace", first._spec, last._spec)
    first, last = (movement.expand_dims(movement.broadcast_to(x, shape), axis)
                   for x in (first, last))  # fmt: skip
    step = arithmetic.divide(last - first, max(count - 1, 1))
    first, last = elementwise.cast(first, step.dtype), elementwise.cast(last, step.dtype)
    at = movement.axis_of(axis, first.ndim, "LinSpace")
    between = np.arange(1, max(count - 1, 1)).reshape(
        [-1 if k == at else 1 for k in range(first.ndim)]
    )
    inner = first + step * between.astype(step.dtype.numpy_dtype)
    found = movement.concat([first, inner, last], at)
    cut = tuple((0, min(count, dim) if k == at else dim, 1) for k, dim in enumerate(found.shape))
    return movement.strided_slice(found, cut)


def is_tensor(x: Any) -> bool:
    """Whether ``x`` is a tensor or a variable."""
    return spec_of(x) is not None


def size(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """The number of elements, as a tensor."""
    return constant(as_tensor(input)._spec.size, out_type)


def shape(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """The shape, as a tensor."""
    return constant(np.array(as_tensor(input).shape, as_dtype(out_type).numpy_dtype))


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of axes, as a tensor."""
    return constant(as_tensor(input).ndim)


identity = movement.identity
