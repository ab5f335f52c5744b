"""Python and NumPy values into arrays of numtape's dtypes, by TensorFlow's rules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import DtypeError
from ..settings import unset
from . import dtypes
from .dtypes import DType, shown
from .indexed_slices import IndexedSlices
from .memory import beyond_float32, converted
from .spec import Spec
from .tensor import Tensor

NUMPY = (np.ndarray, np.generic)
SMALL = 2**31  # below it a number fits every dtype of these, and only needs to be rounded
_USUAL = {
    (kind, dtype): (dtype or default).numpy_dtype
    for kind, default, given in (
        (float, dtypes.float32, (dtypes.float32, dtypes.float64)),
        (int, dtypes.int32, (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)),
    )
    for dtype in (None, *given)
}

# What rooms above do with a value: whether it is an array on a GPU, its copy as a tensor, a nest
# of lists with tensors inside as one tensor, and slices made dense. Set in `core.bindings`.
is_on_gpu: Callable[[Any], bool] = unset
copy_of: Callable[[Any, DType | None], Tensor] = unset
pack: Callable[[Any, DType | None], Tensor] = unset
dense_of: Callable[[IndexedSlices, DType | None], Tensor] = unset
# What becomes of an array and its copy: in a call that is recorded it may be an input of the
# recording. Set in `core.replay.trace`.
entering: Callable[[Any, Any], Any] = lambda value, array: array  # noqa: E731


def to_array(value: Any, like: Spec | None, op: str) -> Any:
    """An operand as a new array. NumPy values and lists take the dtype of ``like``.

    Returns:
      A C-contiguous array that shares no memory with ``value``; or a Tensor, where ``value`` is
      a nest of lists that holds tensors, or an array on a GPU.

    Raises:
      DtypeError: If a Python float meets an integer operand.
      DeviceError: If ``value`` is an array on a GPU that is not the device.
      ValueError: If ``value`` is not numeric, or is ragged.
    """
    if like is None:
        return new_array(value)
    if isinstance(value, IndexedSlices):
        return dense_of(value, None)
    if not isinstance(value, (*NUMPY, bool)):
        if is_on_gpu(value):
            return copy_of(value, like.dtype)
        kinds = _kinds(value)
        if _has_tensors(kinds):
            return pack(value, like.dtype)
        array = numeric(value)
        if array.size and array.dtype.kind == "c" and not like.dtype.is_complex:
            raise _no_complex(value, like.dtype, DtypeError)
        if array.size and array.dtype.kind == "f" and not like.inexact:
            raise dtypes.float_beside(op, value, like.dtype)
        if array.dtype.kind == "O" or (not like.inexact and isinstance(value, list | tuple)):
            array = _exact(value, array, like.dtype)
        value = array
    return converted(value, like.dtype.numpy_dtype)


def new_array(value: Any, dtype: DType | None = None) -> Any:
    """A new array of ``value``: Python floats are float32, ints int32, NumPy keeps its dtype.

    Raises:
      TypeError: If ``dtype`` cannot hold the value (a float for an integer dtype).
      ValueError: If ``value`` is not numeric, is ragged, or mixes bools and numbers.
    """
    usual = _USUAL.get((type(value), dtype))
    if usual is not None and -SMALL < value < SMALL:
        return np.array(value, usual)
    if isinstance(value, NUMPY):
        found = dtypes.of_array(np.asarray(value)) if dtype is None else dtype
        array = converted(value, found.numpy_dtype)
        return entering(value, array) if isinstance(value, np.ndarray) else array
    if is_on_gpu(value):
        return copy_of(value, dtype)
    if isinstance(value, IndexedSlices):
        return dense_of(value, dtype)
    kinds = _kinds(value)
    if _has_tensors(kinds):
        return pack(value, dtype)
    array = numeric(value)
    if dtype is None:
        dtype = _inferred(value, array, kinds)
        if dtype is dtypes.float32 and array.dtype == np.float64:
            _check_float32(array)
    else:
        _check(value, array, dtype)
        array = _exact(value, array, dtype)
    return converted(array, dtype.numpy_dtype)


def _inferred(value: Any, array: np.ndarray[Any, Any], kinds: set[type]) -> DType:
    """The dtype of a Python value, a list, or an object that has an array."""
    if hasattr(value, "__array__"):
        return dtypes.of_array(array)
    kind = dtypes.kind_of(array.dtype)
    first = next(leaves(value), None)
    if kind == "c":
        if isinstance(first, np.complexfloating):
            return dtypes.of_array(np.asarray(first))
        if not array.size or isinstance(first, complex):
            return dtypes.complex128
        raise ValueError(
            f"Can't convert Python sequence with mixed types to Tensor: {shown(value)} begins with "
            f"a real number. Give a dtype, or write complex numbers."
        )
    if kind == "O":
        return dtypes.of_int(int(array.min()), int(array.max()))
    if kind == "f":  # ints before the first float must fit, as in TensorFlow
        for x in itertools.takewhile(lambda x: isinstance(x, int | np.integer), leaves(value)):
            dtypes.of_int(int(x), int(x))
        # As in TensorFlow, numbers beside floats are such as the first one, or float32.
        leads = array.size and isinstance(first, NUMPY) and dtypes.kind_of(first.dtype) == "f"
        return dtypes.of_array(np.asarray(first)) if leads else dtypes.float32
    if kind == "b":
        return dtypes.bool_
    if isinstance(first, bool | np.bool_) or np.bool_ in kinds:
        raise ValueError(
            f"Can't convert Python sequence with mixed types to Tensor: {shown(value)} begins with "
            f"a bool. Give a dtype, or write numbers only."
        )
    # Ints of NumPy's in a list are as Python's.
    return dtypes.of_int(int(array.min()), int(array.max())) if array.size else dtypes.int32


def _check_float32(array: np.ndarray[Any, Any]) -> None:
    """Whether floats, which nobody gave a dtype, stay finite as float32."""
    beyond = beyond_float32(array)
    if beyond.any():
        raise dtypes.beyond_float32(array[beyond][0])


def _check(value: Any, array: np.ndarray[Any, Any], dtype: DType) -> None:
    """Whether a Python value may become ``dtype``: no rounding, no truth values of numbers."""
    kind = dtypes.kind_of(array.dtype)
    if not array.size or kind == "b":
        return
    if kind == "c" and not dtype.is_complex:
        raise _no_complex(value, dtype)
    if (dtype.is_bool and kind != "O") or (
        kind == "f" and not (dtype.is_floating or dtype.is_complex)
    ):
        raise TypeError(f"Cannot convert {shown(value)} to EagerTensor of dtype {dtype.name}")


def _no_complex(value: Any, dtype: DType, kind: type[TypeError] = TypeError) -> TypeError:
    return kind(
        f"Cannot convert {shown(value)} to EagerTensor of dtype {dtype.name}: what is not real "
        f"would be left out. `cast` the tensor to complex64 first, or take the real part."
    )


def _exact(value: Any, array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Ints of a list or number, some of which NumPy may have as objects: all must fit ``dtype``."""
    if not (dtype.is_floating or dtype.is_complex):
        if array.size and array.dtype.kind in "iuO":
            if array.min() < dtype.min or array.max() > dtype.max:
                raise _out_of_range(value, dtype.name)
        return array
    if array.dtype.kind != "O":
        return array
    try:
        with np.errstate(over="ignore"):  # infinity, as in TensorFlow
            return array.astype(np.complex128 if _any_complex(array) else np.float64)
    except OverflowError:
        raise _out_of_range(value, dtype.name) from None


def _out_of_range(value: Any, name: str) -> ValueError:
    return ValueError(
        f"Can't convert Python sequence with out-of-range integer to Tensor: {shown(value)} does "
        f"not fit {name}."
    )


def numeric(value: Any) -> np.ndarray[Any, Any]:
    """A number, a list of them, or what has an array, as an array of NumPy's dtype for it.

    Ints beyond int64 are an array of objects.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        if hasattr(value, "__array__"):  # it says itself why
            raise
        raise ValueError(
            f"Can't convert non-rectangular Python sequence to Tensor: {shown(value)}"
        ) from error
    if array.dtype.kind in "fO" and isinstance(value, list | tuple | int):
        array = _large(value, array)
    elif dtypes.kind_of(array.dtype) not in "biufc":
        raise _unsupported(value)
    if array.size == 0 and isinstance(value, list | tuple):
        array = array.astype(np.float32)
    return array


def _large(value: Any, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Where ints may be beyond int64, which NumPy has as objects or rounds: floats, or objects."""
    of_objects = array.dtype.kind == "O"
    if not of_objects and (np.abs(array) < 2.0**63).all():
        return array
    found = list(leaves(value))
    if all(isinstance(x, int | np.integer) for x in found):
        return array if of_objects else np.array(value, object)
    if not of_objects:
        return array
    if not all(isinstance(x, int | float | np.integer | np.floating) for x in found):
        raise _unsupported(value)
    return _exact(value, array, dtypes.float64)


def _any_complex(array: np.ndarray[Any, Any]) -> bool:
    return any(isinstance(x, complex | np.complexfloating) for x in array.flat)


def _brief(value: Any) -> str:
    """A value in an error message, in one line: a table shows itself in many."""
    first, _, more = shown(value).partition("\n")
    return f"{first} ..." if more else first


def _unsupported(value: Any) -> ValueError:
    texts = any(isinstance(x, str | bytes | np.str_ | np.bytes_) for x in leaves(value))
    return ValueError(
        f"Attempt to convert a value ({_brief(value)}) with an unsupported type ({type(value)}) to "
        f"a Tensor.{' numtape has no string tensors.' if texts else ''}"
    )


def leaves(value: Any) -> Iterator[Any]:
    """What is in a nest of lists."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def _kinds(value: Any) -> set[type]:
    """The types of the leaves of a nest of lists."""
    return set(map(type, leaves(value)))


def _has_tensors(kinds: set[type]) -> bool:
    return any(
        kind is Tensor or kind is IndexedSlices or hasattr(kind, "_read_in") for kind in kinds
    )
