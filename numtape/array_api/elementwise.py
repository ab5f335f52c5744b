"""Elementwise functions of the array API: one table over numtape's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import numtape as tf

from ..core.values.tensor import Tensor
from ..keras.ops import numpy as kn
from .define import Array, Operand, binary, function, tensor_of, unary

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def _of_floats(compute: Callable[[Any], Any]) -> Callable[[Tensor], Tensor]:
    """Return a rounding that leaves integers as they are."""
    return lambda x: tf.identity(x) if x.dtype.is_integer or x.dtype.is_bool else compute(x)


def _of_parts(test: Callable[[Any], Any], combine: Callable[[Any, Any], Any], exact: bool) -> Any:
    """Return a test of floats, for integers (always ``exact``) and complex numbers as well."""

    def compute(x: Tensor) -> Tensor:
        if x.dtype.is_complex:
            result: Tensor = combine(test(tf.math.real(x)), test(tf.math.imag(x)))
            return result
        return test(x) if x.dtype.is_floating else tf.fill(x.shape, tf.constant(exact))

    return compute


def _round(x: Tensor) -> Tensor:
    if x.dtype.is_complex:
        return tf.complex(tf.round(tf.math.real(x)), tf.round(tf.math.imag(x)))
    return tf.round(x)


def _log_in_base(base: float) -> Callable[[Tensor], Tensor]:
    real = kn.log2 if base == 2 else kn.log10

    def compute(x: Tensor) -> Tensor:
        if x.dtype.is_complex:
            return tf.math.log(x) / tf.constant(np.log(base), x.dtype)
        result: Tensor = real(x)
        return result

    return compute


def _truth(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: compute(tf.cast(x, tf.bool), tf.cast(y, tf.bool))


def _bits(boolean: Callable[[Any, Any], Any], bits: Callable[[Any, Any], Any]) -> Any:
    return lambda x, y: (boolean if x.dtype.is_bool else bits)(x, y)


def _copysign(x: Tensor, y: Tensor) -> Tensor:
    return tf.where(kn.signbit(x) == kn.signbit(y), x, -x)


def _remainder(x: Tensor, y: Tensor) -> Tensor:
    if x.dtype.is_integer:
        return tf.math.floormod(x, y)
    remainder = tf.math.floormod(x, y)
    # A remainder of 0 has the sign of the divisor.
    return tf.where(remainder == 0, _copysign(tf.abs(remainder), y), remainder)


def _shift(compute: Callable[[Any, Any], Any]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda x, n: compute(x, n)


abs = unary(
    "abs",
    kn.absolute,
    "Absolute values.",
    "tf.constant([-1.0, 2.0])",
    "array([1., 2.], dtype=float32)",
)
acos = unary(
    "acos",
    tf.acos,
    "Inverse cosines.",
    "tf.constant([1.0, 0.5])",
    "array([0.       , 1.0471976], dtype=float32)",
)
acosh = unary(
    "acosh",
    tf.acosh,
    "Inverse hyperbolic cosines.",
    "tf.constant([1.0, 2.0])",
    "array([0.      , 1.316958], dtype=float32)",
)
asin = unary(
    "asin",
    tf.asin,
    "Inverse sines.",
    "tf.constant([1.0, 0.5])",
    "array([1.5707963, 0.5235988], dtype=float32)",
)
asinh = unary(
    "asinh",
    tf.asinh,
    "Inverse hyperbolic sines.",
    "tf.constant([0.0, 2.0])",
    "array([0.       , 1.4436355], dtype=float32)",
)
atan = unary(
    "atan",
    tf.atan,
    "Inverse tangents.",
    "tf.constant([0.0, 2.0])",
    "array([0.       , 1.1071488], dtype=float32)",
)
atanh = unary(
    "atanh",
    tf.atanh,
    "Inverse hyperbolic tangents.",
    "tf.constant([0.0, 0.5])",
    "array([0.        , 0.54930615], dtype=float32)",
)
bitwise_invert = unary(
    "bitwise_invert",
    lambda x: ~x,
    "Complement of the bits of integers, or of bools.",
    "tf.constant([0, 5])",
    "array([-1, -6], dtype=int32)",
)
ceil = unary(
    "ceil",
    _of_floats(tf.math.ceil),
    "Round up.",
    "tf.constant([1.2, -1.2])",
    "array([ 2., -1.], dtype=float32)",
)
conj = unary(
    "conj",
    kn.conj,
    "Complex conjugates.",
    "tf.constant([1.0 + 2.0j])",
    "array([1.-2.j])",
)
cos = unary(
    "cos",
    tf.cos,
    "Cosines.",
    "tf.constant([0.0, 2.0])",
    "array([ 1.        , -0.41614684], dtype=float32)",
)
cosh = unary(
    "cosh",
    tf.cosh,
    "Hyperbolic cosines.",
    "tf.constant([0.0, 2.0])",
    "array([1.       , 3.7621956], dtype=float32)",
)
exp = unary(
    "exp",
    tf.exp,
    "Exponentials.",
    "tf.constant([0.0, 2.0])",
    "array([1.      , 7.389056], dtype=float32)",
)
expm1 = unary(
    "expm1",
    tf.math.expm1,
    "Exponentials minus 1, without loss of digits near 0.",
    "tf.constant([0.0, 2.0])",
    "array([0.      , 6.389056], dtype=float32)",
)
floor = unary(
    "floor",
    _of_floats(tf.floor),
    "Round down.",
    "tf.constant([1.2, -1.2])",
    "array([ 1., -2.], dtype=float32)",
)
imag = unary(
    "imag",
    kn.imag,
    "Imaginary parts.",
    "tf.constant([1.0 + 2.0j])",
    "array([2.])",
)
isfinite = unary(
    "isfinite",
    _of_parts(tf.math.is_finite, tf.logical_and, True),
    "Test for numbers that are neither infinite nor NaN.",
    "tf.constant([1.0, float('inf')])",
    "array([ True, False])",
)
isinf = unary(
    "isinf",
    _of_parts(tf.math.is_inf, tf.logical_or, False),
    "Test for infinities.",
    "tf.constant([1.0, float('inf')])",
    "array([False,  True])",
)
isnan = unary(
    "isnan",
    _of_parts(tf.math.is_nan, tf.logical_or, False),
    "Test for NaN.",
    "tf.constant([1.0, float('nan')])",
    "array([False,  True])",
)
log = unary(
    "log",
    tf.math.log,
    "Natural logarithms.",
    "tf.constant([1.0, 2.0])",
    "array([0.       , 0.6931472], dtype=float32)",
)
log10 = unary(
    "log10",
    _log_in_base(10),
    "Logarithms to base 10.",
    "tf.constant([1.0, 100.0])",
    "array([0., 2.], dtype=float32)",
)
log1p = unary(
    "log1p",
    tf.math.log1p,
    "Logarithms of ``1 + x``, without loss of digits near 0.",
    "tf.constant([0.0, 1.0])",
    "array([0.       , 0.6931472], dtype=float32)",
)
log2 = unary(
    "log2",
    _log_in_base(2),
    "Logarithms to base 2.",
    "tf.constant([1.0, 8.0])",
    "array([0., 3.], dtype=float32)",
)
logical_not = unary(
    "logical_not",
    lambda x: tf.logical_not(tf.cast(x, tf.bool)),
    "Logical negation.",
    "tf.constant([True, False])",
    "array([False,  True])",
)
negative = unary(
    "negative",
    tf.negative,
    "Negate.",
    "tf.constant([1.0, -2.0])",
    "array([-1.,  2.], dtype=float32)",
)
positive = unary(
    "positive",
    tf.identity,
    "Return the elements as they are.",
    "tf.constant([1.0, -2.0])",
    "array([ 1., -2.], dtype=float32)",
)
real = unary(
    "real",
    kn.real,
    "Real parts.",
    "tf.constant([1.0 + 2.0j])",
    "array([1.])",
)
reciprocal = unary(
    "reciprocal",
    tf.math.reciprocal,
    "Reciprocals.",
    "tf.constant([1.0, 2.0])",
    "array([1. , 0.5], dtype=float32)",
)
round = unary(
    "round",
    _of_floats(_round),
    "Round to the nearest integer; halves to even ones.",
    "tf.constant([0.5, 1.5])",
    "array([0., 2.], dtype=float32)",
)
sign = unary(
    "sign",
    kn.sign,
    "Signs: -1, 0 or 1; for complex numbers ``x / abs(x)``.",
    "tf.constant([-2.0, 0.0])",
    "array([-1.,  0.], dtype=float32)",
)
signbit = unary(
    "signbit",
    kn.signbit,
    "Test for negative numbers, -0 included.",
    "tf.constant([-2.0, 0.0])",
    "array([ True, False])",
)
sin = unary(
    "sin",
    tf.sin,
    "Sines.",
    "tf.constant([0.0, 2.0])",
    "array([0.       , 0.9092974], dtype=float32)",
)
sinh = unary(
    "sinh",
    tf.sinh,
    "Hyperbolic sines.",
    "tf.constant([0.0, 2.0])",
    "array([0.       , 3.6268604], dtype=float32)",
)
sqrt = unary(
    "sqrt",
    tf.sqrt,
    "Square roots.",
    "tf.constant([1.0, 4.0])",
    "array([1., 2.], dtype=float32)",
)
square = unary(
    "square",
    tf.square,
    "Squares.",
    "tf.constant([1.0, 3.0])",
    "array([1., 9.], dtype=float32)",
)
tan = unary(
    "tan",
    tf.tan,
    "Tangents.",
    "tf.constant([0.0, 2.0])",
    "array([ 0.     , -2.18504], dtype=float32)",
)
tanh = unary(
    "tanh",
    tf.tanh,
    "Hyperbolic tangents.",
    "tf.constant([0.0, 2.0])",
    "array([0.       , 0.9640276], dtype=float32)",
)
trunc = unary(
    "trunc",
    _of_floats(kn.trunc),
    "Round towards 0.",
    "tf.constant([1.2, -1.2])",
    "array([ 1., -1.], dtype=float32)",
)
add = binary(
    "add",
    tf.add,
    "Sum.",
    "tf.constant([1, 2]), 10",
    "array([11, 12], dtype=int32)",
)
atan2 = binary(
    "atan2",
    tf.atan2,
    "Angle of the point ``(x2, x1)``.",
    "tf.constant([1.0, -1.0]), 1.0",
    "array([ 0.7853982, -0.7853982], dtype=float32)",
)
bitwise_and = binary(
    "bitwise_and",
    _bits(tf.logical_and, tf.bitwise.bitwise_and),
    "Bits that both operands have.",
    "tf.constant([3, 5]), 6",
    "array([2, 4], dtype=int32)",
)
bitwise_left_shift = binary(
    "bitwise_left_shift",
    tf.bitwise.left_shift,
    "Shift bits to the left.",
    "tf.constant([3, 5]), 1",
    "array([ 6, 10], dtype=int32)",
)
bitwise_or = binary(
    "bitwise_or",
    _bits(tf.logical_or, tf.bitwise.bitwise_or),
    "Bits that an operand has.",
    "tf.constant([3, 5]), 6",
    "array([7, 7], dtype=int32)",
)
bitwise_right_shift = binary(
    "bitwise_right_shift",
    tf.bitwise.right_shift,
    "Shift bits to the right.",
    "tf.constant([3, 5]), 1",
    "array([1, 2], dtype=int32)",
)
bitwise_xor = binary(
    "bitwise_xor",
    _bits(tf.math.logical_xor, tf.bitwise.bitwise_xor),
    "Bits that exactly one operand has.",
    "tf.constant([3, 5]), 6",
    "array([5, 3], dtype=int32)",
)
copysign = binary(
    "copysign",
    _copysign,
    "``x1`` with the sign of ``x2``.",
    "tf.constant([1.0, -2.0]), -1.0",
    "array([-1., -2.], dtype=float32)",
)
divide = binary(
    "divide",
    tf.divide,
    "Quotient.",
    "tf.constant([1.0, 2.0]), 4.0",
    "array([0.25, 0.5 ], dtype=float32)",
)
equal = binary(
    "equal",
    tf.equal,
    "Test for equality.",
    "tf.constant([1, 2]), 2",
    "array([False,  True])",
)
floor_divide = binary(
    "floor_divide",
    tf.math.floordiv,
    "Quotient, rounded down.",
    "tf.constant([5, -5]), 2",
    "array([ 2, -3], dtype=int32)",
)
greater = binary(
    "greater",
    tf.greater,
    "``x1 > x2``.",
    "tf.constant([1, 3]), 2",
    "array([False,  True])",
)
greater_equal = binary(
    "greater_equal",
    tf.greater_equal,
    "``x1 >= x2``.",
    "tf.constant([1, 3]), 2",
    "array([False,  True])",
)
hypot = binary(
    "hypot",
    kn.hypot,
    "Length of the hypotenuse.",
    "tf.constant([3.0, 6.0]), 4.0",
    "array([5.       , 7.2111025], dtype=float32)",
)
less = binary(
    "less",
    tf.less,
    "``x1 < x2``.",
    "tf.constant([1, 3]), 2",
    "array([ True, False])",
)
less_equal = binary(
    "less_equal",
    tf.less_equal,
    "``x1 <= x2``.",
    "tf.constant([1, 3]), 2",
    "array([ True, False])",
)
logaddexp = binary(
    "logaddexp",
    kn.logaddexp,
    "Logarithm of a sum of exponentials.",
    "tf.constant([0.0, 1.0]), 1.0",
    "array([1.3132617, 1.6931472], dtype=float32)",
)
logical_and = binary(
    "logical_and",
    _truth(tf.logical_and),
    "Logical and.",
    "tf.constant([True, False]), True",
    "array([ True, False])",
)
logical_or = binary(
    "logical_or",
    _truth(tf.logical_or),
    "Logical or.",
    "tf.constant([True, False]), True",
    "array([ True,  True])",
)
logical_xor = binary(
    "logical_xor",
    _truth(tf.math.logical_xor),
    "Whether exactly one operand is true.",
    "tf.constant([True, False]), True",
    "array([False,  True])",
)
maximum = binary(
    "maximum",
    tf.maximum,
    "The larger number.",
    "tf.constant([1.0, 3.0]), 2.0",
    "array([2., 3.], dtype=float32)",
)
minimum = binary(
    "minimum",
    tf.minimum,
    "The smaller number.",
    "tf.constant([1.0, 3.0]), 2.0",
    "array([1., 2.], dtype=float32)",
)
multiply = binary(
    "multiply",
    tf.multiply,
    "Product.",
    "tf.constant([1, 2]), 10",
    "array([10, 20], dtype=int32)",
)
nextafter = binary(
    "nextafter",
    tf.math.nextafter,
    "The next representable number in the direction of ``x2``.",
    "tf.constant([1.0, 3.0]), 2.0",
    "array([1.0000001, 2.9999998], dtype=float32)",
)
not_equal = binary(
    "not_equal",
    tf.not_equal,
    "Test for inequality.",
    "tf.constant([1, 2]), 2",
    "array([ True, False])",
)
pow = binary(
    "pow",
    tf.pow,
    "``x1`` to the power of ``x2``.",
    "tf.constant([2.0, 3.0]), 2.0",
    "array([4., 9.], dtype=float32)",
)
remainder = binary(
    "remainder",
    _remainder,
    "Remainder of the division, with the sign of ``x2``.",
    "tf.constant([5, -5]), 3",
    "array([2, 1], dtype=int32)",
)
subtract = binary(
    "subtract",
    tf.subtract,
    "Difference.",
    "tf.constant([1, 2]), 10",
    "array([-9, -8], dtype=int32)",
)


@function("xp.clip(tf.constant([1.0, 5.0]), max=2.0).numpy()", "array([1., 2.], dtype=float32)")
def clip(x: Array, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Limit elements to a range."""
    result = tensor_of(x)
    dtype = result.dtype
    if min is not None:
        result = tf.maximum(result, tensor_of(min, dtype))
    if max is not None:
        result = tf.minimum(result, tensor_of(max, dtype))
    return tf.identity(result)
