"""Dtypes under TensorFlow's names, and the rules that say which dtype a Python value gets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import DtypeError, UnimplementedError


class DType:
    """The type of a tensor's elements. Compares equal to NumPy dtypes and names.

    There is one object for each: `float32`, `float64`, `bool`, `int8` to `int64`, `uint8` to
    `uint64`; and `float16`, of which values are held and shown, but not computed with.

    Attributes:
      name: The name, such as ``"float32"``.
      as_numpy_dtype: The NumPy scalar type.
      size: Bytes an element.
      is_floating, is_integer, is_bool: What kind it is (a bool is not an integer).

    Example:
      >>> tf.float32 == np.float32, tf.float32 == "float32"
      (True, True)
      >>> tf.int8.min, tf.int8.max, tf.int8.size
      (-128, 127, 1)
    """

    __slots__ = (
        "as_numpy_dtype", "code", "is_bool", "is_floating", "is_integer", "name", "numpy_dtype",
        "size",
    )  # fmt: skip

    def __init__(self, name: str, code: int) -> None:
        self.name = name
        self.code = code
        self.numpy_dtype = np.dtype(name)
        self.as_numpy_dtype = self.numpy_dtype.type
        self.size = self.numpy_dtype.itemsize
        self.is_floating = self.numpy_dtype.kind == "f"
        self.is_integer = self.numpy_dtype.kind in "iu"
        self.is_bool = self.numpy_dtype.kind == "b"

    @property
    def base_dtype(self) -> DType:
        """The dtype itself (TensorFlow's name for a dtype without reference)."""
        return self

    @property
    def is_unsigned(self) -> bool:
        """Whether it is an unsigned integer."""
        return self.numpy_dtype.kind == "u"

    @property
    def is_complex(self) -> bool:
        """Whether it is complex: no dtype here is."""
        return False

    @property
    def is_numpy_compatible(self) -> bool:
        """Whether NumPy has this dtype: every dtype here is."""
        return True

    @property
    def min(self) -> Any:
        """The smallest finite value.

        Example:
          >>> tf.int16.min
          -32768
        """
        if self.is_bool:
            return False
        return np.finfo(self.name).min if self.is_floating else np.iinfo(self.name).min

    @property
    def max(self) -> Any:
        """The largest finite value.

        Example:
          >>> tf.int16.max
          32767
        """
        if self.is_bool:
            return True
        return np.finfo(self.name).max if self.is_floating else np.iinfo(self.name).max

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        if other is None:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    __hash__ = object.__hash__  # no Python: see numtape.core.values.interning

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


NAMES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float32", "float64",
)  # fmt: skip
# What ops compute with. float16 comes after them: values are held and shown, ops refuse it.
DTYPES = tuple(DType(name, code) for code, name in enumerate(NAMES))
float16 = DType("float16", len(DTYPES))
ALL = (*DTYPES, float16)  # by code
_BY_NAME = {dtype.name: dtype for dtype in ALL}
_BY_NUMPY: dict[Any, DType] = {dtype.numpy_dtype: dtype for dtype in _BY_NAME.values()}
_BY_NUMPY |= {dtype.as_numpy_dtype: dtype for dtype in _BY_NAME.values()}
_BY_NUMPY |= {float: _BY_NAME["float32"], bool: _BY_NAME["bool"]}
_BY_NAME |= {"float": _BY_NAME["float32"], "double": _BY_NAME["float64"], "half": float16}

bool_ = _BY_NAME["bool"]
int8 = _BY_NAME["int8"]
uint8 = _BY_NAME["uint8"]
int16 = _BY_NAME["int16"]
uint16 = _BY_NAME["uint16"]
int32 = _BY_NAME["int32"]
uint32 = _BY_NAME["uint32"]
int64 = _BY_NAME["int64"]
uint64 = _BY_NAME["uint64"]
float32 = _BY_NAME["float32"]
float64 = _BY_NAME["float64"]


def as_dtype(value: Any) -> DType:
    """The `DType` that a DType, a name, a NumPy dtype or a Python type stands for.

    Args:
      value: One of these. Python's ``float`` is float32, as in TensorFlow.

    Returns:
      The `DType`.

    Raises:
      TypeError: If there is none; Python's ``int`` is none, as it may be int32 or int64.

    Example:
      >>> tf.as_dtype("double"), tf.as_dtype(np.uint8), tf.as_dtype(float)
      (tf.float64, tf.uint8, tf.float32)
    """
    if type(value) is DType:
        return value
    try:
        found = _BY_NAME.get(value) if isinstance(value, str) else _BY_NUMPY.get(value)
    except TypeError:  # not hashable
        found = None
    if found is None and isinstance(value, np.dtype):
        found = _BY_NUMPY.get(value.newbyteorder("="))
    if found is None:
        raise TypeError(
            f"Cannot convert the argument `type_value`: {value!r} to a TensorFlow DType. numtape "
            f"has {', '.join(NAMES)} (write int32 or int64 for Python's int)."
        )
    return found


def of_array(array: np.ndarray[Any, Any]) -> DType:
    """The `DType` of a NumPy array.

    Raises:
      ValueError: If numtape has no such dtype.
    """
    found = _BY_NUMPY.get(array.dtype)
    if found is None:
        found = _BY_NUMPY.get(array.dtype.newbyteorder("="))
    if found is None:
        raise ValueError(
            f"Failed to convert a NumPy array to a Tensor (Unsupported object type or dtype "
            f"{array.dtype}). numtape has {', '.join(NAMES)}."
        )
    return found


def shown(value: Any) -> str:
    """A value in an error message."""
    try:
        return repr(value)
    except ValueError:  # Python does not print an int of so many digits
        return f"a {type(value).__name__} with an integer of thousands of digits"


def too_large(value: int | float, dtype: DType) -> float:
    """What a number beyond the floats of ``dtype`` becomes: infinity, as in TensorFlow.

    Raises:
      ValueError: If it is an int beyond all floats.
    """
    try:
        if dtype is float32:
            return math.copysign(math.inf, float(value))
    except OverflowError:
        pass
    raise ValueError(
        f"Can't convert Python sequence with out-of-range integer to Tensor: {shown(value)} does "
        f"not fit {dtype.name}."
    )


def mismatch(op: str, position: int, expected: DType, got: DType) -> DtypeError:
    """The error for an operand of another dtype than the first one."""
    return DtypeError(
        f"cannot compute {op} as input #{position}(zero-based) was expected to be a "
        f"{expected.name} tensor but is a {got.name} tensor [Op:{op}]. Convert one of them with "
        f"`cast`: numtape does not mix dtypes silently."
    )


def float_beside(op: str, value: Any, dtype: DType) -> DtypeError:
    """The error for Python floats as an operand beside a tensor of no float dtype."""
    return DtypeError(
        f"cannot compute {op} of the float value {value!r} and a tensor of {dtype.name}: floats "
        f"are not rounded to {dtype.name} silently [Op:{op}]. `cast` the tensor to float32 first, "
        f"or round the value."
    )


def not_computed(op: str, dtype: DType) -> UnimplementedError:
    """The error for an operand of a dtype that values may have, but ops do not compute with."""
    return UnimplementedError(
        f"cannot compute {op} of {dtype.name} [Op:{op}]: numtape holds and shows {dtype.name} "
        f"values, but does not compute with them. `constant(x.numpy(), tf.float32)` converts one."
    )


# The least float64 that becomes infinite as float32.
_BEYOND = float(2**128 - 2**103)


def beyond_float32(value: float) -> ValueError:
    """The error for a Python float that float32, its dtype where none is given, does not have."""
    return ValueError(
        f"Can't convert Python sequence with out-of-range float to Tensor: {float(value)!r} does "
        f"not fit float32. Give dtype=float64, or write inf."
    )


def of_number(value: int | float, like: Any, op: str) -> DType:
    """The dtype of a Python int or float as an operand beside one of spec ``like`` (or None).

    Raises:
      DtypeError: If a float meets an integer.
      ValueError: If a number does not fit. (A float beside floats may: it becomes infinite.)
    """
    if like is None:
        if type(value) is float:
            if _BEYOND <= abs(value) < math.inf:
                raise beyond_float32(value)
            return float32
        return of_int(int(value), int(value))
    found: DType = like.dtype
    if found is float32 or found is float64:
        return found
    if found is float16:
        raise not_computed(op, found)
    if type(value) is float:
        raise float_beside(op, value, found)
    if not found.min <= value <= found.max:
        raise ValueError(
            f"Can't convert Python sequence with out-of-range integer to Tensor: {shown(value)} "
            f"does not fit {found.name} [Op:{op}]."
        )
    return found


def of_int(low: int, high: int) -> DType:
    """The dtype of Python ints between these: int32, or int64 if that is too small.

    Raises:
      ValueError: If int64 is too small as well.
    """
    if -(2**31) <= low and high < 2**31:
        return int32
    if -(2**63) <= low and high < 2**63:
        return int64
    raise ValueError(
        f"Can't convert Python sequence with out-of-range integer to Tensor: {shown(low)} to "
        f"{shown(high)} does not fit int64."
    )
