"""Conversion of Python and NumPy values to arrays of numtape's dtypes, by TensorFlow's rules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DtypeError
from ..settings import unset
from . import dtypes
from .dtypes import DType, repr_of
from .indexed_slices import IndexedSlices
from .memory import convert_array, exceeds_float32
from .spec import Spec
from .tensor import Tensor

if TYPE_CHECKING:
    from .annotations import TensorLike

NUMPY = (np.ndarray, np.generic)
FITS_ANY_DTYPE = 2**31  # smaller numbers fit all of the dtypes below and only need rounding
_FAST_DTYPES = {
    (kind, dtype): (dtype or default).numpy_dtype
    for kind, default, fast_dtypes in (
        (float, dtypes.float32, (dtypes.float32, dtypes.float64)),
        (int, dtypes.int32, (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)),
    )
    for dtype in (None, *fast_dtypes)
}

# Functions of higher layers: whether a value is an array on a GPU, its copy as a tensor, a nested
# list with tensors inside as one tensor, and slices as a dense tensor. Set in `core.bindings`.
is_on_gpu: Callable[[Any], bool] = unset
copy_of: Callable[[Any, DType | None], Tensor] = unset
pack: Callable[[Any, DType | None], Tensor] = unset
dense_of: Callable[[IndexedSlices, DType | None], Tensor] = unset
# Takes an array and its copy, and returns the copy. In a traced call the copy may become an input
# of the recording. Set in `core.replay.trace`.
register_input: Callable[[Any, Any], Any] = lambda value, array: array  # noqa: E731


def to_array(value: TensorLike, like: Spec | None, op: str) -> Any:
    """Return an operand as a new array. NumPy values and lists take the dtype of ``like``.

    Returns:
      A C-contiguous array that shares no memory with ``value``; or a Tensor, if ``value`` is an
      array on a GPU or a nested list that contains tensors.

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
        types = _leaf_types(value)
        if _has_tensors(types):
            return pack(value, like.dtype)
        array = to_numeric_array(value)
        if array.size and array.dtype.kind == "c" and not like.dtype.is_complex:
            raise _complex_error(value, like.dtype, DtypeError)
        if array.size and array.dtype.kind == "f" and not like.inexact:
            raise dtypes.float_with_ints_error(op, value, like.dtype)
        if array.dtype.kind == "O" or (not like.inexact and isinstance(value, list | tuple)):
            array = _check_int_range(value, array, like.dtype)
        value = array
    return convert_array(value, like.dtype.numpy_dtype)


def new_array(value: Any, dtype: DType | None = None) -> Any:
    """Return a new array: Python floats become float32, ints int32; NumPy values keep their dtype.

    Raises:
      TypeError: If ``dtype`` cannot hold the value (a float for an integer dtype).
      ValueError: If ``value`` is not numeric, is ragged, or mixes bools and numbers.
    """
    fast_dtype = _FAST_DTYPES.get((type(value), dtype))
    if fast_dtype is not None and -FITS_ANY_DTYPE < value < FITS_ANY_DTYPE:
        return np.array(value, fast_dtype)
    if isinstance(value, NUMPY):
        target = dtypes.of_array(np.asarray(value)) if dtype is None else dtype
        array = convert_array(value, target.numpy_dtype)
        return register_input(value, array) if isinstance(value, np.ndarray) else array
    if is_on_gpu(value):
        return copy_of(value, dtype)
    if isinstance(value, IndexedSlices):
        return dense_of(value, dtype)
    types = _leaf_types(value)
    if _has_tensors(types):
        return pack(value, dtype)
    array = to_numeric_array(value)
    if dtype is None:
        dtype = _infer_dtype(value, array, types)
        if dtype is dtypes.float32 and array.dtype == np.float64:
            _check_float32(array)
    else:
        _check_convertible(value, array, dtype)
        array = _check_int_range(value, array, dtype)
    return convert_array(array, dtype.numpy_dtype)


def _infer_dtype(value: object, array: np.ndarray[Any, Any], types: set[type]) -> DType:
    """Return the dtype of a Python value, a list, or an object with ``__array__``."""
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
            f"Can't convert Python sequence with mixed types to Tensor: {repr_of(value)} "
            f"begins with a real number. Give a dtype, or write complex numbers."
        )
    if kind == "O":
        return dtypes.of_int(int(array.min()), int(array.max()))
    if kind == "f":  # ints before the first float must fit, as in TensorFlow
        for x in itertools.takewhile(lambda x: isinstance(x, int | np.integer), leaves(value)):
            dtypes.of_int(int(x), int(x))
        # As in TensorFlow, a list with floats takes the dtype of a leading NumPy float, or float32.
        leads = array.size and isinstance(first, NUMPY) and dtypes.kind_of(first.dtype) == "f"
        return dtypes.of_array(np.asarray(first)) if leads else dtypes.float32
    if kind == "b":
        return dtypes.bool_
    if isinstance(first, bool | np.bool_) or np.bool_ in types:
        raise ValueError(
            f"Can't convert Python sequence with mixed types to Tensor: {repr_of(value)} "
            f"begins with a bool. Give a dtype, or write numbers only."
        )
    # NumPy ints in a list are treated like Python ints.
    return dtypes.of_int(int(array.min()), int(array.max())) if array.size else dtypes.int32


def _check_float32(array: np.ndarray[Any, Any]) -> None:
    """Raise ValueError unless floats without an explicit dtype stay finite as float32."""
    beyond = exceeds_float32(array)
    if beyond.any():
        raise dtypes.float32_overflow_error(array[beyond][0])


def _check_convertible(value: object, array: np.ndarray[Any, Any], dtype: DType) -> None:
    """Raise TypeError if a value must not become ``dtype``: no rounding, no bools of numbers."""
    kind = dtypes.kind_of(array.dtype)
    if not array.size or kind == "b":
        return
    if kind == "c" and not dtype.is_complex:
        raise _complex_error(value, dtype)
    if (dtype.is_bool and kind != "O") or (
        kind == "f" and not (dtype.is_floating or dtype.is_complex)
    ):
        raise TypeError(f"Cannot convert {repr_of(value)} to EagerTensor of dtype {dtype.name}")


def _complex_error(
    value: object, dtype: DType, error_type: type[TypeError] = TypeError
) -> TypeError:
    return error_type(
        f"Cannot convert {repr_of(value)} to EagerTensor of dtype {dtype.name}: the imaginary "
        f"part would be lost. `cast` the tensor to complex64 first, or take the real part."
    )


def _check_int_range(
    value: object, array: np.ndarray[Any, Any], dtype: DType
) -> np.ndarray[Any, Any]:
    """Check that all ints fit ``dtype``. Return the array, with large ints as floats if needed."""
    if not (dtype.is_floating or dtype.is_complex):
        if array.size and array.dtype.kind in "iuO":
            if array.min() < dtype.min or array.max() > dtype.max:
                raise _out_of_range_error(value, dtype.name)
        return array
    if array.dtype.kind != "O":
        return array
    try:
        with np.errstate(over="ignore"):  # infinity, as in TensorFlow
            return array.astype(np.complex128 if _any_complex(array) else np.float64)
    except OverflowError:
        raise _out_of_range_error(value, dtype.name) from None


def _out_of_range_error(value: object, name: str) -> ValueError:
    return ValueError(
        f"Can't convert Python sequence with out-of-range integer to Tensor: {repr_of(value)} does "
        f"not fit {name}."
    )


def to_numeric_array(value: TensorLike) -> np.ndarray[Any, Any]:
    """Return a number, a list of numbers, or an object with ``__array__`` as a NumPy array.

    Ints beyond int64 become an array of objects.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        if hasattr(value, "__array__"):  # its own error gives the reason
            raise
        raise ValueError(
            f"Can't convert non-rectangular Python sequence to Tensor: {repr_of(value)}"
        ) from error
    if array.dtype.kind in "fO" and isinstance(value, list | tuple | int):
        array = _restore_large_ints(value, array)
    elif dtypes.kind_of(array.dtype) not in "biufc":
        raise _unsupported_error(value)
    if array.size == 0 and isinstance(value, list | tuple):
        array = array.astype(np.float32)
    return array


def _restore_large_ints(value: object, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array with ints beyond int64, which NumPy rounds, as objects, or as floats."""
    has_objects = array.dtype.kind == "O"
    if not has_objects and (np.abs(array) < 2.0**63).all():
        return array
    numbers = list(leaves(value))
    if all(isinstance(x, int | np.integer) for x in numbers):
        return array if has_objects else np.array(value, object)
    if not has_objects:
        return array
    if not all(isinstance(x, int | float | np.integer | np.floating) for x in numbers):
        raise _unsupported_error(value)
    return _check_int_range(value, array, dtypes.float64)


def _any_complex(array: np.ndarray[Any, Any]) -> bool:
    return any(isinstance(x, complex | np.complexfloating) for x in array.flat)


def _format_brief(value: object) -> str:
    """Return the first line of a value's repr, for an error message."""
    first, _, more = repr_of(value).partition("\n")
    return f"{first} ..." if more else first


def _unsupported_error(value: object) -> ValueError:
    texts = any(isinstance(x, str | bytes | np.str_ | np.bytes_) for x in leaves(value))
    hint = (
        " Numbers cannot be computed from strings: convert them by `strings.to_number`, or by a "
        "table of `lookup`."
        if texts
        else ""
    )
    return ValueError(
        f"Attempt to convert a value ({_format_brief(value)}) with an unsupported type "
        f"({type(value)}) to a Tensor.{hint}"
        f"{describe_columns(value)}{_SPARSE if hasattr(value, 'toarray') else ''}"
    )


_SPARSE = " `toarray()` of a sparse matrix makes it dense, and tf.sparse has products."


def describe_columns(value: Any) -> str:
    """Return a sentence that names the columns of a DataFrame that are not numbers.

    Args:
      value: A DataFrame or Series of pandas or a similar library; "" is returned for other values.
    """
    columns = getattr(value, "columns", None)
    kinds = getattr(value, "dtypes", None)
    if columns is None:
        columns, kinds = [getattr(value, "name", None)], [getattr(value, "dtype", None)]
    if not hasattr(value, "__array__") or columns[0] is None or kinds is None:
        return ""
    named = [(name, kind) for name, kind in zip(columns, kinds, strict=True)]
    unsupported = [(x, kind) for x, kind in named if getattr(kind, "kind", "O") not in "biufc"]
    if not unsupported:  # numbers and bools together, or missing values
        kinds_text = ", ".join(f"{name!r} of dtype {kind}" for name, kind in named[:8])
        return f" Its columns are {kinds_text}: convert them to one, `df.astype('float32')`."
    first = unsupported[0][0]
    listed = ", ".join(f"{name!r} of dtype {kind}" for name, kind in unsupported[:8])
    return (
        f" These columns are not numbers: {listed}. Drop them, or convert them, as in "
        f"`df[{first!r}].astype('category').cat.codes`."
    )


def leaves(value: object) -> Iterator[Any]:
    """Yield the leaves of a nested list."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def _leaf_types(value: object) -> set[type]:
    """Return the types of the leaves of a nested list."""
    return set(map(type, leaves(value)))


def _has_tensors(types: set[type]) -> bool:
    return any(
        kind is Tensor or kind is IndexedSlices or hasattr(kind, "_read_in") for kind in types
    )
