"""Python and NumPy values into arrays of numtape's dtypes, by TensorFlow's rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import dtypes
from .dtypes import DType
from .spec import Spec
from .tensor import Tensor


def to_array(value: Any, like: Spec | None, op: str) -> Any:
    """An operand as a new array. NumPy values and lists take the dtype of ``like``.

    Returns:
      A C-contiguous array that shares no memory with ``value``; or a Tensor, where ``value`` is
      a nest of lists that holds tensors.

    Raises:
      InvalidArgumentError: If a Python float meets an integer operand.
      ValueError: If ``value`` is not numeric, or is ragged.
    """
    if like is None:
        return new_array(value)
    if isinstance(value, np.ndarray | np.generic):
        return np.array(value, dtype=like.dtype.numpy_dtype, order="C")
    if isinstance(value, bool):
        return np.array(value, dtype=like.dtype.numpy_dtype)
    packed = _packed(value, like.dtype)
    if packed is not None:
        return packed
    array = _numeric(value)
    if array.dtype.kind == "f" and not like.is_float:
        raise dtypes.mismatch(op, 1, like.dtype, dtypes.float32)
    return np.array(array, dtype=like.dtype.numpy_dtype, order="C")


def new_array(value: Any, dtype: DType | None = None) -> Any:
    """A new array of ``value``: Python floats are float32, ints int32, NumPy keeps its dtype.

    Raises:
      TypeError: If ``dtype`` cannot hold the value (a float for an integer dtype).
      ValueError: If ``value`` is not numeric, or is ragged.
    """
    if isinstance(value, np.ndarray | np.generic):
        found = dtypes.of_array(np.asarray(value))
        if dtype is None:
            return np.array(value, dtype=found.numpy_dtype, order="C")
        _check(value, np.asarray(value).dtype.kind, dtype)
        return np.array(value, dtype=dtype.numpy_dtype, order="C")
    packed = _packed(value, dtype)
    if packed is not None:
        return packed
    array = _numeric(value)
    if dtype is None:
        if array.dtype.kind == "f":
            # Lists of Python floats are float32; of NumPy scalars, what NumPy makes of them.
            keeps = any(isinstance(leaf, np.generic) for leaf in _leaves(value))
            dtype = dtypes.of_array(array) if keeps else dtypes.float32
        elif array.dtype.kind == "i" and not hasattr(value, "__array__"):
            dtype = dtypes.int32
            if array.size and (array.max() > 2**31 - 1 or array.min() < -(2**31)):
                raise ValueError(
                    "Can't convert Python sequence with out-of-range integer to Tensor: give a "
                    "dtype of int64."
                )
        else:
            dtype = dtypes.of_array(array)
    _check(value, array.dtype.kind, dtype)
    return np.array(array, dtype=dtype.numpy_dtype, order="C")


def _check(value: Any, kind: str, dtype: DType) -> None:
    if kind == "f" and not dtype.is_floating and not isinstance(value, np.ndarray | np.generic):
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}")
    if kind == "b" and not dtype.is_bool:
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}")
    if kind in "iuf" and dtype.is_bool:
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype bool")


def _numeric(value: Any) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"Can't convert non-rectangular Python sequence to Tensor: {value!r}"
        ) from error
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) "
            f"to a Tensor."
        )
    if array.size == 0 and isinstance(value, list | tuple):
        array = array.astype(np.float32)
    return array


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _packed(value: Any, dtype: DType | None) -> Tensor | None:
    """A list with tensors or variables inside, stacked; None if there are none."""
    if not isinstance(value, list | tuple):
        return None
    if not any(isinstance(leaf, Tensor) or hasattr(leaf, "_read_in") for leaf in _leaves(value)):
        return None
    from .ops.movement import pack

    return pack(value, dtype)
