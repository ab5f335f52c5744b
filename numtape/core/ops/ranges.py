"""Tensors of equally spaced numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InvalidArgumentError
from ..log.record import require
from ..log.tensors import as_tensor, from_owned_array, to_tensor
from ..log.variable import Variable
from ..values import dtypes
from ..values.convert import new_array
from ..values.dtypes import DType, as_dtype
from ..values.memory import convert_array
from ..values.spec import broadcast, intern
from ..values.spelling import suggest_keywords
from ..values.tensor import Tensor
from . import arithmetic, elementwise, joining, movement
from .slicing import strided_slice


@suggest_keywords
def range_(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Tensor:
    """The numbers from ``start`` up to, not including, ``limit`` by ``delta``.

    With one argument it is the limit, and the start is 0. The values are read at the call.

    Args:
      start: A scalar; of one argument alone, the limit.
      limit: A scalar.
      delta: The step, which may be negative.
      dtype: The dtype; None is float64 or float32 if one of the scalars is, else int32 or int64.
      name: Not used.

    Returns:
      A tensor of one axis.

    Raises:
      InvalidArgumentError: If ``delta`` is 0 or leads away from ``limit``, or one is not a finite
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
    for part in parts:  # what is not Python's is not checked yet
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
        return from_owned_array(_integers(int(first), int(last), int(step), requested))
    bounds: Any = first, last, step
    try:
        return from_owned_array(np.arange(*bounds, dtype=requested.numpy_dtype))
    except ValueError as error:
        raise InvalidArgumentError(f"{first}, {last}, {step}: {error} [Op:Range]") from None


def _integers(first: int, last: int, step: int, dtype: DType) -> np.ndarray[Any, Any]:
    """The numbers of Python's `range`. Numbers fit the dtype, what is between the ends may not."""
    count = -((first - last) // step)
    intern((count,), dtype)  # says so if there cannot be so many
    # Modulo 2**64 nothing overflows.
    numbers = np.arange(count, dtype=np.uint64)
    numbers *= np.uint64(step % 2**64)
    numbers += np.uint64(first % 2**64)
    return numbers.astype(dtype.numpy_dtype)


@suggest_keywords
def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, both included.

    Gradients reach both ends.

    Args:
      start: A tensor of numbers. Integers become floats as for `divide`.
      stop: Another of the same dtype; the shapes broadcast.
      num: How many.
      name: Not used.
      axis: Where the numbers lie: a new axis.

    Returns:
      A tensor of floats with one axis more.

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
    good = isinstance(count, int) and count >= 0
    require(good, "LinSpace", f"Requires num >= 0: {dtypes.repr_of(num)}")
    intern((count,), dtypes.float64)  # says so if there cannot be so many
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
