"""Dtypes under TensorFlow's names, and the rules for the dtypes of Python values."""

from __future__ import annotations

import importlib
import math
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...errors import DtypeError, UnimplementedError

if TYPE_CHECKING:
    from .annotations import DTypeLike

_finfo, _iinfo = cache(np.finfo), cache(np.iinfo)
_ML_DTYPES = {"bfloat16": 2}  # the floats of `ml_dtypes`, with the bytes of an element


class DType:
    """The type of a tensor's elements. Compares equal to NumPy dtypes and names.

    There is one object for each: `float16`, `bfloat16`, `float32`, `float64`, `complex64`,
    `complex128`, `bool`, `int8` to `int64`, `uint8` to `uint64`; and `string`.

    Attributes:
      name: The name, such as ``"float32"``.
      as_numpy_dtype: The NumPy scalar type; for bfloat16 that of `ml_dtypes`.
      size: The number of bytes of an element.
      is_floating, is_complex, is_integer, is_bool: The kind of the dtype. A complex dtype is not
        floating, and bool is not an integer.

    Example:
      >>> tf.float32 == np.float32, tf.float32 == "float32"
      (True, True)
      >>> tf.int8.min, tf.int8.max, tf.int8.size
      (-128, 127, 1)
    """

    __slots__ = (
        "as_numpy_dtype",
        "code",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "name",
        "numpy_dtype",
        "size",
    )

    numpy_dtype: Any
    as_numpy_dtype: Any

    def __init__(self, name: str, code: int) -> None:
        self.name = name
        self.code = code
        if name in _ML_DTYPES:  # its NumPy dtype is imported when first read: see `__getattr__`
            kind, self.size = "f", _ML_DTYPES[name]
        elif name == "string":
            kind, self.size = "O", 0
        else:
            self.numpy_dtype = np.dtype(name)
            self.as_numpy_dtype = self.numpy_dtype.type
            kind, self.size = self.numpy_dtype.kind, self.numpy_dtype.itemsize
        self.is_floating = kind == "f"
        self.is_complex = kind == "c"
        self.is_integer = kind in "iu"
        self.is_bool = kind == "b"

    def __getattr__(self, name: str) -> Any:
        """Import a lazy NumPy dtype when its slot is first read."""
        if name not in ("numpy_dtype", "as_numpy_dtype") or self.name not in _LAZY_NAMES:
            return object.__getattribute__(self, name)  # raises AttributeError
        if self.name == "string":
            self.numpy_dtype, self.as_numpy_dtype = np.dtype(object), object
        else:
            scalar_type = getattr(importlib.import_module("ml_dtypes"), self.name)
            self.numpy_dtype, self.as_numpy_dtype = np.dtype(scalar_type), scalar_type
            _BY_NUMPY[self.numpy_dtype] = _BY_NUMPY[scalar_type] = self
        return getattr(self, name)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype: NumPy functions accept a `DType`.

        Example:
          >>> np.zeros(2, tf.int8).dtype
          dtype('int8')
        """
        result: np.dtype[Any] = self.numpy_dtype
        return result

    __numpy_dtype__ = dtype

    @property
    def base_dtype(self) -> DType:
        """The dtype itself. In TensorFlow, the dtype without a reference."""
        return self

    @property
    def is_unsigned(self) -> bool:
        """Whether the dtype is an unsigned integer."""
        return self.is_integer and self.numpy_dtype.kind == "u"

    @property
    def is_numeric(self) -> bool:
        """Whether the dtype is numeric, that is neither bool nor string.

        Example:
          >>> tf.complex64.is_numeric, tf.bool.is_numeric
          (True, False)
        """
        return self.is_floating or self.is_complex or self.is_integer

    @property
    def is_quantized(self) -> bool:
        """Whether the dtype is quantized. Always False."""
        return False

    @property
    def is_numpy_compatible(self) -> bool:
        """Whether NumPy has this dtype. Always True."""
        return True

    @property
    def real_dtype(self) -> DType:
        """The dtype of the real part of a complex number; other dtypes are returned unchanged.

        Example:
          >>> tf.complex64.real_dtype, tf.int32.real_dtype
          (tf.float32, tf.int32)
        """
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def as_datatype_enum(self) -> int:
        """The number of this dtype in TensorFlow's files.

        Example:
          >>> tf.float32.as_datatype_enum, tf.complex64.as_datatype_enum
          (1, 8)
        """
        return _ENUM[self.name]

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of values that TensorFlow uses for colours.

        Returns:
          0 and the largest integer, or 0 and 1 for floats.

        Raises:
          ValueError: If the dtype is not bool, float32, float64 or an integer of at most 32 bits.

        Example:
          >>> tf.uint8.limits, tf.float32.limits
          ((0, 255), (0, 1))
        """
        if self.is_bool:
            return 0, True
        if self is float32 or self is float64:
            return 0, 1
        if self.is_integer and self.size <= 4:
            return 0, int(self.max)
        raise ValueError(f"{self} does not have defined limits.")

    def is_compatible_with(self, other: DTypeLike) -> bool:
        """Return whether a value of another dtype is accepted for this one: only the same dtype.

        Args:
          other: A `DType`, or a value that `as_dtype` accepts.

        Returns:
          A bool.

        Example:
          >>> tf.float32.is_compatible_with("float32")
          True
        """
        return as_dtype(other) is self

    @property
    def min(self) -> Any:
        """The smallest finite value.

        Example:
          >>> tf.int16.min
          -32768
        """
        return self._limit("min", "minimum", False)

    @property
    def max(self) -> Any:
        """The largest finite value.

        Example:
          >>> tf.int16.max
          32767
        """
        return self._limit("max", "maximum", True)

    def _limit(self, name: str, word: str, bool_limit: bool) -> Any:
        if self.is_bool:
            return bool_limit
        if self.name in _ML_DTYPES:
            return getattr(importlib.import_module("ml_dtypes").finfo(self.as_numpy_dtype), name)
        if self.is_floating:
            return getattr(_finfo(self.name), name)
        if not self.is_integer:
            raise TypeError(f"Cannot find {word} value of {self} with type {self}.")
        return getattr(_iinfo(self.name), name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        if other is None:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    __hash__ = object.__hash__  # must not run Python code: see numtape.core.values.intern_table

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


# The dtypes with compiled kernels, and their letters for `struct`. `kernels.passes.rows.WIDE` is
# their number.
STRUCT_FORMATS = {
    "bool": "?",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
NAMES = tuple(STRUCT_FORMATS)
WIDE_NAMES = ("float16", "bfloat16", "complex64", "complex128")
_LAZY_NAMES = (*_ML_DTYPES, "string")
# NumPy computes with the wide dtypes, which come after DTYPES; see `core.reference.bodies`. Nothing
# computes with strings.
DTYPES = tuple(DType(name, code) for code, name in enumerate(NAMES))
WIDE = tuple(DType(name, code) for code, name in enumerate(WIDE_NAMES, len(DTYPES)))
string = DType("string", len(DTYPES) + len(WIDE))
ALL = (*DTYPES, *WIDE, string)  # by code
_BY_NAME = {dtype.name: dtype for dtype in ALL}
_BY_NUMPY: dict[Any, DType] = {
    dtype.numpy_dtype: dtype for dtype in ALL if dtype.name not in _LAZY_NAMES
}
_BY_NUMPY |= {dtype.as_numpy_dtype: dtype for dtype in _BY_NUMPY.values()}
_BY_NUMPY[object] = string
_BY_NUMPY |= {float: _BY_NAME["float32"], bool: _BY_NAME["bool"]}
_BY_NAME |= {"float": _BY_NAME["float32"], "double": _BY_NAME["float64"]}
_BY_NAME |= {"half": _BY_NAME["float16"]}
# As in TensorFlow's types.proto.
_ENUM = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "string": 7,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
}

bool_ = _BY_NAME["bool"]
int8 = _BY_NAME["int8"]
uint8 = _BY_NAME["uint8"]
int16 = _BY_NAME["int16"]
uint16 = _BY_NAME["uint16"]
int32 = _BY_NAME["int32"]
uint32 = _BY_NAME["uint32"]
int64 = _BY_NAME["int64"]
uint64 = _BY_NAME["uint64"]
float16 = _BY_NAME["float16"]
bfloat16 = _BY_NAME["bfloat16"]
float32 = _BY_NAME["float32"]
float64 = _BY_NAME["float64"]
complex64 = _BY_NAME["complex64"]
complex128 = _BY_NAME["complex128"]


def as_dtype(value: object) -> DType:
    """Convert a name, a NumPy dtype or a Python type to a `DType`.

    Args:
      value: One of these, or a `DType`. Python's ``float`` is float32, as in TensorFlow.

    Returns:
      The `DType`.

    Raises:
      TypeError: If there is no such dtype. ``int`` is ambiguous: it may be int32 or int64.

    Example:
      >>> tf.as_dtype("double"), tf.as_dtype(np.uint8), tf.as_dtype(float)
      (tf.float64, tf.uint8, tf.float32)
    """
    if type(value) is DType:
        return value
    try:
        dtype = _BY_NAME.get(value) if isinstance(value, str) else _BY_NUMPY.get(value)
    except TypeError:  # not hashable
        dtype = None
    if dtype is None and isinstance(value, np.dtype):
        dtype = string if value.kind in "OSU" else _of_numpy(value)
    name = getattr(value, "__name__", "")
    if dtype is None and isinstance(name, str) and name in _ML_DTYPES:
        lazy = _BY_NAME[name]
        dtype = lazy if value is lazy.as_numpy_dtype else None
    if dtype is None:
        raise TypeError(
            f"Cannot convert the argument `type_value`: {value!r} to a TensorFlow DType. numtape "
            f"has {', '.join((*NAMES, *WIDE_NAMES))} (write int32 or int64 for Python's int)."
        )
    return dtype


def _of_numpy(dtype: np.dtype[Any]) -> DType | None:
    """Return the `DType` of a dtype of NumPy or `ml_dtypes`, or None."""
    if dtype.name in _ML_DTYPES and dtype == _BY_NAME[dtype.name].numpy_dtype:
        return _BY_NAME[dtype.name]
    return _BY_NUMPY.get(dtype.newbyteorder("="))


def kind_of(dtype: np.dtype[Any]) -> str:
    """Return NumPy's letter for the kind of a dtype; the floats of `ml_dtypes` are floats."""
    return "f" if dtype.kind == "V" and dtype.name in _ML_DTYPES else dtype.kind


def of_array(array: np.ndarray[Any, Any]) -> DType:
    """Return the `DType` of a NumPy array.

    Raises:
      ValueError: If numtape has no such dtype.
    """
    dtype = _BY_NUMPY.get(array.dtype)
    if dtype is None:
        dtype = _of_numpy(array.dtype)
    if dtype is None:
        raise ValueError(
            f"Failed to convert a NumPy array to a Tensor (Unsupported object type or dtype "
            f"{array.dtype}). numtape has {', '.join((*NAMES, *WIDE_NAMES))}."
        )
    return dtype


def repr_of(value: object) -> str:
    """Return the repr of a value for an error message."""
    try:
        return repr(value)
    except ValueError:  # Python refuses to print an int of so many digits
        return f"a {type(value).__name__} with an integer of thousands of digits"


def overflow_to_infinity(value: int | float, dtype: DType) -> float:
    """Return infinity for a number beyond the range of ``dtype``, as in TensorFlow.

    Raises:
      ValueError: If it is an int beyond the range of all floats.
    """
    try:
        if dtype is not float64:
            return math.copysign(math.inf, float(value))
    except OverflowError:
        pass
    raise ValueError(
        f"Can't convert Python sequence with out-of-range integer to Tensor: {repr_of(value)} does "
        f"not fit {dtype.name}."
    )


def mismatch_error(op: str, position: int, expected: DType, got: DType) -> DtypeError:
    """Return the error for an operand whose dtype differs from the first operand's."""
    return DtypeError(
        f"cannot compute {op} as input #{position}(zero-based) was expected to be a "
        f"{expected.name} tensor but is a {got.name} tensor [Op:{op}]. Convert one of them with "
        f"`cast`: numtape does not mix dtypes silently."
    )


def float_with_ints_error(op: str, value: object, dtype: DType) -> DtypeError:
    """Return the error for Python floats as an operand beside an integer or bool tensor."""
    return DtypeError(
        f"cannot compute {op} of the float value {value!r} and a tensor of {dtype.name}: floats "
        f"are not rounded to {dtype.name} silently [Op:{op}]. `cast` the tensor to float32 first, "
        f"or round the value."
    )


def unsupported_dtype_error(op: str, dtype: DType) -> DtypeError:
    """Return the error for an operand of a dtype that an op does not take."""
    return DtypeError(
        f"Value for attr 'T' of {dtype.name} is not in the list of allowed values [Op:{op}]: "
        f"numtape does not compute {op} of {dtype.name}."
    )


def no_strings_error(what: str = "values") -> UnimplementedError:
    """Return the error for strings."""
    return UnimplementedError(
        f"numtape has no {what} of dtype string but those that `constant` and the functions of "
        f"`strings` make."
    )


# The smallest float64 that becomes infinite as float32.
_FLOAT32_OVERFLOW = float(2**128 - 2**103)


def float32_overflow_error(value: float) -> ValueError:
    """Return the error for a Python float that does not fit float32, its default dtype."""
    return ValueError(
        f"Can't convert Python sequence with out-of-range float to Tensor: {float(value)!r} does "
        f"not fit float32. Give dtype=float64, or write inf."
    )


class _HasDtype(Protocol):
    """A `Spec`, or another object with a dtype."""

    dtype: DType


def of_number(value: int | float, like: _HasDtype | None, op: str) -> DType:
    """Return the dtype of a Python number as an operand beside one of spec ``like`` (or None).

    Raises:
      DtypeError: If the number is a float and ``like`` an integer spec.
      ValueError: If the number does not fit. (A float beside floats may overflow to infinity.)
    """
    if like is None:
        if type(value) is float:
            if _FLOAT32_OVERFLOW <= abs(value) < math.inf:
                raise float32_overflow_error(value)
            return float32
        return of_int(int(value), int(value))
    dtype: DType = like.dtype
    if dtype.is_floating or dtype.is_complex:
        return dtype
    if type(value) is float:
        raise float_with_ints_error(op, value, dtype)
    if not dtype.min <= value <= dtype.max:
        raise ValueError(
            f"Can't convert Python sequence with out-of-range integer to Tensor: {repr_of(value)} "
            f"does not fit {dtype.name} [Op:{op}]."
        )
    return dtype


def of_int(low: int, high: int) -> DType:
    """Return the dtype of Python ints in a range: int32, or int64 if that is too small.

    Raises:
      ValueError: If int64 is too small as well.
    """
    if -(2**31) <= low and high < 2**31:
        return int32
    if -(2**63) <= low and high < 2**63:
        return int64
    raise ValueError(
        f"Can't convert Python sequence with out-of-range integer to Tensor: {repr_of(low)} to "
        f"{repr_of(high)} does not fit int64."
    )
