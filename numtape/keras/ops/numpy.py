"""``tf.keras.ops.numpy``: functions with NumPy's names, for tensors and symbolic tensors."""

from __future__ import annotations

import builtins
import itertools
import math
import operator
import typing as _typing
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ...compat.names import getter as _getter
from ...core.log.as_tensor import as_tensor
from ...core.values.tensor import Tensor
from ..registry import keras_dtype
from ..symbolic import KerasTensor, is_symbolic
from .define import (
    alias,
    binary,
    bitwise_binary,
    broadcast_shapes,
    dtype_name,
    dtype_or_floatx,
    floats,
    infer_broadcast,
    numbers,
    op,
    promoted,
    reduction,
    result_type,
    shape_of,
    to_axis,
    to_dtype,
    unary,
    wide,
)

if TYPE_CHECKING:
    from ...core.values.annotations import (
        AxisLike,
        DTypeLike,
        IntLike,
        IntsLike,
        NumberLike,
        ShapeLike,
        TensorLike,
    )

__all__ = [
    "abs",
    "absolute",
    "add",
    "all",
    "allclose",
    "amax",
    "amin",
    "angle",
    "any",
    "append",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "array",
    "array_split",
    "average",
    "bartlett",
    "bincount",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman",
    "broadcast_to",
    "cbrt",
    "ceil",
    "clip",
    "concatenate",
    "conj",
    "conjugate",
    "copy",
    "corrcoef",
    "correlate",
    "cos",
    "cosh",
    "count_nonzero",
    "cross",
    "cumprod",
    "cumsum",
    "deg2rad",
    "diag",
    "diagflat",
    "diagonal",
    "diff",
    "digitize",
    "divide",
    "divide_no_nan",
    "dot",
    "dsplit",
    "dstack",
    "einsum",
    "empty",
    "empty_like",
    "equal",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "fabs",
    "flip",
    "fliplr",
    "flipud",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "full",
    "full_like",
    "gcd",
    "geomspace",
    "get_item",
    "greater",
    "greater_equal",
    "hamming",
    "hanning",
    "heaviside",
    "histogram",
    "hsplit",
    "hstack",
    "hypot",
    "i0",
    "identity",
    "imag",
    "inner",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "kaiser",
    "kron",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logspace",
    "matmul",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "mod",
    "moveaxis",
    "multiply",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "ndim",
    "negative",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "outer",
    "pad",
    "percentile",
    "power",
    "prod",
    "ptp",
    "quantile",
    "rad2deg",
    "ravel",
    "real",
    "reciprocal",
    "repeat",
    "reshape",
    "right_shift",
    "roll",
    "rot90",
    "round",
    "searchsorted",
    "select",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "size",
    "slogdet",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "trace",
    "transpose",
    "trapezoid",
    "tri",
    "tril",
    "triu",
    "true_divide",
    "trunc",
    "unique",
    "unravel_index",
    "vander",
    "var",
    "vdot",
    "vectorize",
    "view",
    "vsplit",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_OUT_OF_RANGE = "InvalidArgumentError: If ``x`` has no such axis."
_SHAPES = "InvalidArgumentError: If the shapes do not match."
_PARTS = "ValueError: If the axis cannot be split so."
_SHAPE = "ValueError: If a size is negative."

# --- Elementwise functions of one tensor ---------------------------------------------------------


def _real(x: Tensor) -> Tensor:
    return tf.math.real(x) if x.dtype.is_complex else x


def _imag(x: Tensor) -> Tensor:
    return tf.math.imag(x) if x.dtype.is_complex else tf.zeros_like(x)


def _angle(x: Tensor) -> Tensor:
    return tf.math.angle(x) if x.dtype.is_complex else tf.atan2(tf.zeros_like(x), x)


def _same(x: Tensor) -> Tensor:
    return tf.identity(x)


def _conjugate(x: Tensor) -> Tensor:
    return tf.math.conj(x) if x.dtype.is_complex else tf.identity(x)


def _of_floats(function: Callable[[Any], Any], other: bool) -> Callable[[Tensor], Tensor]:
    """Return a test of floats that is ``other`` for all integers."""

    def test(x: Tensor) -> Tensor:
        result: Tensor = function(x) if x.dtype.is_floating else tf.fill(x.shape, as_tensor(other))
        return result

    return test


def _signbit(x: Tensor) -> Tensor:
    if not x.dtype.is_floating:
        return x < 0
    negative_zero = tf.logical_and(x == 0, tf.math.reciprocal(x) < 0)
    return tf.logical_or(x < 0, negative_zero)


def _trunc(x: Tensor) -> Tensor:
    if not x.dtype.is_floating:
        return tf.identity(x)
    return tf.where(x < 0, tf.math.ceil(x), tf.floor(x))


def _square(x: Tensor) -> Tensor:
    return tf.square(x)


def _absolute(x: Tensor) -> Tensor:
    return tf.identity(x) if x.dtype.is_bool or x.dtype.name.startswith("u") else tf.abs(x)


def _sign(x: Tensor) -> Tensor:
    if x.dtype.name.startswith("u"):
        return tf.cast(x != 0, x.dtype)
    return tf.sign(x)


def _to_bool(x: Any) -> Tensor:
    tensor = as_tensor(x)
    return tensor if tensor.dtype.is_bool else tensor != 0


def _cbrt(x: Tensor) -> Tensor:
    """Return the real root; the gradient at 0 is infinite, as the derivative."""
    return tf.sign(x) * tf.pow(tf.abs(x), to_dtype(1 / 3, x.dtype))


def _scaled(function: Callable[[Any], Any], factor: float) -> Callable[[Tensor], Tensor]:
    return lambda x: function(x) * to_dtype(factor, x.dtype)


absolute = unary(
    "absolute",
    _absolute,
    "Return absolute values.",
    "[-1.0, 2.0]",
    "array([1., 2.], dtype=float32)",
    as_tensor,
)
abs = alias("abs", absolute)
fabs = unary(
    "fabs", tf.abs, "Return absolute values as floats.", "[-1, 2]", "array([1., 2.], dtype=float32)"
)
angle = unary(
    "angle",
    _angle,
    "Return angles in the complex plane.",
    "[-1.0, 2.0]",
    "array([3.1415927, 0. ], dtype=float32)",
)
arccos = unary(
    "arccos",
    tf.acos,
    "Return the inverse cosine.",
    "[1.0, 0.5]",
    "array([0. , 1.0471976], dtype=float32)",
)
arccosh = unary(
    "arccosh",
    tf.acosh,
    "Return the inverse hyperbolic cosine.",
    "[1.0, 2.0]",
    "array([0. , 1.316958], dtype=float32)",
)
arcsin = unary(
    "arcsin",
    tf.asin,
    "Return the inverse sine.",
    "[1.0, 0.5]",
    "array([1.5707963, 0.5235988], dtype=float32)",
)
arcsinh = unary(
    "arcsinh",
    tf.asinh,
    "Return the inverse hyperbolic sine.",
    "[1.0, 2.0]",
    "array([0.8813736, 1.4436355], dtype=float32)",
)
arctan = unary(
    "arctan",
    tf.atan,
    "Return the inverse tangent.",
    "[1.0, 2.0]",
    "array([0.7853982, 1.1071488], dtype=float32)",
)
arctanh = unary(
    "arctanh",
    tf.atanh,
    "Return the inverse hyperbolic tangent.",
    "[0.0, 0.5]",
    "array([0. , 0.54930615], dtype=float32)",
)
cbrt = unary(
    "cbrt", _cbrt, "Return cube roots.", "[8.0, -27.0]", "array([ 2., -3.], dtype=float32)"
)
ceil = unary("ceil", tf.math.ceil, "Round up.", "[1.2, -1.2]", "array([ 2., -1.], dtype=float32)")
conjugate = unary(
    "conjugate", _conjugate, "Return complex conjugates.", "[1 + 2j]", "array([1.-2.j])", numbers
)
conj = alias("conj", conjugate)
copy = unary(
    "copy", _same, "Return a copy.", "[1.0, 2.0]", "array([1., 2.], dtype=float32)", as_tensor
)
cos = unary(
    "cos", tf.cos, "Return the cosine.", "[0.0, 1.0]", "array([1. , 0.5403023], dtype=float32)"
)
cosh = unary(
    "cosh",
    tf.cosh,
    "Return the hyperbolic cosine.",
    "[0.0, 1.0]",
    "array([1. , 1.5430806], dtype=float32)",
)
deg2rad = unary(
    "deg2rad",
    _scaled(_same, math.pi / 180),
    "Convert degrees to radians.",
    "[90.0]",
    "array([1.5707964], dtype=float32)",
)
rad2deg = unary(
    "rad2deg",
    _scaled(_same, 180 / math.pi),
    "Convert radians to degrees.",
    "[1.0]",
    "array([57.29578], dtype=float32)",
)
exp = unary(
    "exp",
    tf.exp,
    "Return e to the power of x.",
    "[0.0, 1.0]",
    "array([1. , 2.7182817], dtype=float32)",
)
exp2 = unary(
    "exp2",
    lambda x: tf.pow(tf.cast(2, x.dtype), x),
    "Return 2 to the power of x.",
    "[0.0, 3.0]",
    "array([1., 8.], dtype=float32)",
)
expm1 = unary(
    "expm1",
    tf.math.expm1,
    "Return exp(x) - 1, exact near 0.",
    "[0.0, 1e-5]",
    "array([0.000000e+00, 1.000005e-05], dtype=float32)",
)
floor = unary("floor", tf.floor, "Round down.", "[1.2, -1.2]", "array([ 1., -2.], dtype=float32)")
i0 = unary(
    "i0",
    tf.math.bessel_i0,
    "Return the modified Bessel function I0.",
    "[0.0, 1.0]",
    "array([1. , 1.2660658], dtype=float32)",
)
imag = unary("imag", _imag, "Return imaginary parts.", "[1 + 2j]", "array([2.])", numbers)
real = unary("real", _real, "Return real parts.", "[1 + 2j]", "array([1.])", numbers)
isfinite = unary(
    "isfinite",
    _of_floats(tf.math.is_finite, True),
    "Return whether elements are finite.",
    "[1.0, np.inf]",
    "array([ True, False])",
    as_tensor,
)
isinf = unary(
    "isinf",
    _of_floats(tf.math.is_inf, False),
    "Return whether elements are infinite.",
    "[1.0, np.inf]",
    "array([False, True])",
    as_tensor,
)
isnan = unary(
    "isnan",
    _of_floats(tf.math.is_nan, False),
    "Return whether elements are NaN.",
    "[1.0, np.nan]",
    "array([False, True])",
    as_tensor,
)
isneginf = unary(
    "isneginf",
    _of_floats(lambda x: x == -math.inf, False),
    "Return whether elements are -inf.",
    "[1.0, -np.inf]",
    "array([False, True])",
    as_tensor,
)
isposinf = unary(
    "isposinf",
    _of_floats(lambda x: x == math.inf, False),
    "Return whether elements are inf.",
    "[1.0, np.inf]",
    "array([False, True])",
    as_tensor,
)
isreal = unary(
    "isreal",
    lambda x: _imag(x) == 0 if x.dtype.is_complex else tf.fill(x.shape, True),
    "Return whether elements have no imaginary part.",
    "[1 + 0j, 2j]",
    "array([ True, False])",
    as_tensor,
)
log = unary(
    "log",
    tf.math.log,
    "Return natural logarithms.",
    "[1.0, 2.0]",
    "array([0. , 0.6931472], dtype=float32)",
)
log10 = unary(
    "log10",
    _scaled(tf.math.log, 1 / math.log(10)),
    "Return logarithms to base 10.",
    "[1.0, 100.0]",
    "array([0., 2.], dtype=float32)",
)
log1p = unary(
    "log1p",
    tf.math.log1p,
    "Return log(1 + x), exact near 0.",
    "[0.0, 1e-5]",
    "array([0.00000e+00, 9.99995e-06], dtype=float32)",
)
log2 = unary(
    "log2",
    _scaled(tf.math.log, 1 / math.log(2)),
    "Return logarithms to base 2.",
    "[1.0, 8.0]",
    "array([0., 3.], dtype=float32)",
)
logical_not = unary(
    "logical_not",
    tf.logical_not,
    "Negate bools.",
    "[True, False]",
    "array([False, True])",
    _to_bool,
)
negative = unary(
    "negative",
    tf.negative,
    "Return -x.",
    "[1.0, -2.0]",
    "array([-1., 2.], dtype=float32)",
    as_tensor,
)
reciprocal = unary(
    "reciprocal",
    tf.math.reciprocal,
    "Return 1 / x.",
    "[1.0, 4.0]",
    "array([1. , 0.25], dtype=float32)",
)
sign = unary(
    "sign",
    _sign,
    "Return -1, 0 or 1.",
    "[-2.0, 0.0, 3.0]",
    "array([-1., 0., 1.], dtype=float32)",
    numbers,
)
signbit = unary(
    "signbit",
    _signbit,
    "Return whether the sign bit is set.",
    "[-2.0, 0.0]",
    "array([ True, False])",
    numbers,
)
sin = unary(
    "sin", tf.sin, "Return the sine.", "[0.0, 1.0]", "array([0. , 0.84147096], dtype=float32)"
)
sinc = unary(
    "sinc",
    tf.math.sinc,
    "Return sin(pi x) / (pi x).",
    "[0.0, 0.5]",
    "array([1. , 0.63661975], dtype=float32)",
)
sinh = unary(
    "sinh",
    tf.sinh,
    "Return the hyperbolic sine.",
    "[0.0, 1.0]",
    "array([0. , 1.1752012], dtype=float32)",
)
sqrt = unary(
    "sqrt", tf.sqrt, "Return square roots.", "[1.0, 4.0]", "array([1., 2.], dtype=float32)"
)
square = unary(
    "square", _square, "Return squares.", "[1.0, -3.0]", "array([1., 9.], dtype=float32)", numbers
)
tan = unary(
    "tan", tf.tan, "Return the tangent.", "[0.0, 1.0]", "array([0. , 1.5574076], dtype=float32)"
)
tanh = unary(
    "tanh",
    tf.tanh,
    "Return the hyperbolic tangent.",
    "[0.0, 1.0]",
    "array([0. , 0.7615942], dtype=float32)",
)
trunc = unary(
    "trunc", _trunc, "Round toward 0.", "[1.7, -1.7]", "array([ 1., -1.], dtype=float32)", as_tensor
)
bitwise_invert = unary(
    "bitwise_invert",
    lambda x: tf.logical_not(x) if x.dtype.is_bool else tf.bitwise.invert(x),
    "Invert the bits of integers, or negate bools.",
    "[0, 5]",
    "array([-1, -6], dtype=int32)",
    as_tensor,
)
bitwise_not = alias("bitwise_not", bitwise_invert)

# --- Elementwise functions of two tensors --------------------------------------------------------


def _add(x: Tensor, y: Tensor) -> Tensor:
    return tf.logical_or(x, y) if x.dtype.is_bool else tf.add(x, y)


def _multiply(x: Tensor, y: Tensor) -> Tensor:
    return tf.logical_and(x, y) if x.dtype.is_bool else tf.multiply(x, y)


def _on_numbers(function: Callable[[Any, Any], Any]) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the function with bools converted to int32."""

    def compute(x: Tensor, y: Tensor) -> Tensor:
        result: Tensor = function(numbers(x), numbers(y))
        return result

    return compute


def _of_bools(function: Callable[[Any, Any], Any]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda x, y: function(_to_bool(x), _to_bool(y))


def _host(function: Callable[..., Any], dtype: Any, *tensors: Tensor) -> Any:
    """Call a NumPy function, which has no gradient; its result has the dtype, or dtypes."""
    return tf.numpy_function(function, list(tensors), dtype)


def _gcd(x: Tensor, y: Tensor) -> Any:
    return _host(lambda a, b: np.gcd(a, b).astype(a.dtype), x.dtype, x, y)


def _lcm(x: Tensor, y: Tensor) -> Any:
    return _host(lambda a, b: np.lcm(a, b).astype(a.dtype), x.dtype, x, y)


def _heaviside(x: Tensor, y: Tensor) -> Tensor:
    zero, one = tf.cast(0, x.dtype), tf.cast(1, x.dtype)
    step = tf.where(x < 0, zero, tf.where(x == 0, y, one))
    return tf.where(tf.math.is_nan(x), x, step)


def _hypot(x: Tensor, y: Tensor) -> Tensor:
    """Return the length of (x, y) without overflow."""
    x, y = tf.abs(x), tf.abs(y)
    is_larger = x >= y  # not maximum and minimum, which share the adjoint of equal operands
    larger, smaller = tf.where(is_larger, x, y), tf.where(is_larger, y, x)
    ratio = tf.math.divide_no_nan(smaller, larger)
    return larger * tf.sqrt(1 + tf.square(ratio))


def _logaddexp(x: Tensor, y: Tensor) -> Tensor:
    """Add a small logarithm to a larger one, so that neither is rounded to the other's digits."""
    is_same_infinity = tf.logical_and(x == y, tf.math.is_inf(x))
    difference = tf.where(is_same_infinity, tf.cast(0, x.dtype), x - y)
    return tf.where(
        difference >= 0, x + tf.nn.softplus(-difference), y + tf.nn.softplus(difference)
    )


def _logaddexp2(x: Tensor, y: Tensor) -> Tensor:
    log_2 = to_dtype(math.log(2), x.dtype)
    return _logaddexp(x * log_2, y * log_2) / log_2


def _fmax(x: Tensor, y: Tensor) -> Tensor:
    if not x.dtype.is_floating:
        return tf.maximum(x, y)
    x, y = tf.where(tf.math.is_nan(x), y, x), tf.where(tf.math.is_nan(y), x, y)
    return tf.maximum(x, y)


def _fmin(x: Tensor, y: Tensor) -> Tensor:
    if not x.dtype.is_floating:
        return tf.minimum(x, y)
    x, y = tf.where(tf.math.is_nan(x), y, x), tf.where(tf.math.is_nan(y), x, y)
    return tf.minimum(x, y)


def _maximum(x: Tensor, y: Tensor) -> Tensor:
    return tf.logical_or(x, y) if x.dtype.is_bool else tf.maximum(x, y)


def _minimum(x: Tensor, y: Tensor) -> Tensor:
    return tf.logical_and(x, y) if x.dtype.is_bool else tf.minimum(x, y)


def _ldexp(x: Tensor, y: Tensor) -> Tensor:
    """Multiply by up to three powers, so that only the result overflows; the largest last."""
    largest = math.floor(math.log2(float(x.dtype.max)))
    powers, rest = [], y
    for _ in range(3):
        power = tf.clip_by_value(rest, to_dtype(1 - largest, x.dtype), to_dtype(largest, x.dtype))
        powers.append(tf.pow(tf.cast(2, x.dtype), power))
        rest = rest - power
    return x * powers[2] * powers[1] * powers[0]


def _fmod(x: Tensor, y: Tensor) -> Tensor:
    dtype = x.dtype
    if dtype.is_floating or dtype.name in ("int32", "int64"):
        return tf.truncatemod(x, y)
    return tf.cast(tf.truncatemod(tf.cast(x, tf.int64), tf.cast(y, tf.int64)), dtype)


_PAIR = "[7, -7], [3, 3]"
add = binary("add", _add, "Add.", "[1.0, 2.0], 3", "array([4., 5.], dtype=float32)")
subtract = binary(
    "subtract",
    _on_numbers(tf.subtract),
    "Subtract.",
    "[1.0, 2.0], 3",
    "array([-2., -1.], dtype=float32)",
)
multiply = binary(
    "multiply", _multiply, "Multiply.", "[1.0, 2.0], 3", "array([3., 6.], dtype=float32)"
)
divide = binary(
    "divide", tf.divide, "Divide.", "[1, 2], 4", "array([0.25, 0.5 ], dtype=float32)", True
)
true_divide = alias("true_divide", divide)
divide_no_nan = binary(
    "divide_no_nan",
    tf.math.divide_no_nan,
    "Divide; the quotient by 0 is 0.",
    "[1.0, 2.0], [0.0, 4.0]",
    "array([0. , 0.5], dtype=float32)",
    True,
)
floor_divide = binary(
    "floor_divide",
    _on_numbers(tf.math.floordiv),
    "Divide and round down.",
    _PAIR,
    "array([ 2, -3], dtype=int32)",
)
mod = binary(
    "mod",
    _on_numbers(tf.math.floormod),
    "Return remainders with the divisor's sign.",
    _PAIR,
    "array([1, 2], dtype=int32)",
)
fmod = binary(
    "fmod",
    _on_numbers(_fmod),
    "Return remainders with the dividend's sign.",
    _PAIR,
    "array([ 1, -1], dtype=int32)",
)
power = binary(
    "power",
    _on_numbers(tf.pow),
    "Return x1 to the power of x2.",
    "[2.0, 3.0], 2",
    "array([4., 9.], dtype=float32)",
)
arctan2 = binary(
    "arctan2",
    tf.atan2,
    "Return the angle of the point (x2, x1).",
    "[1.0, -1.0], [1.0, 0.0]",
    "array([ 0.7853982, -1.5707964], dtype=float32)",
    True,
)
heaviside = binary(
    "heaviside",
    _heaviside,
    "Return the step function of x1, which is x2 at 0.",
    "[-1.0, 0.0, 2.0], 0.5",
    "array([0. , 0.5, 1. ], dtype=float32)",
    True,
)
hypot = binary(
    "hypot",
    _hypot,
    "Return sqrt(x1**2 + x2**2).",
    "[3.0, 5.0], [4.0, 12.0]",
    "array([ 5., 13.], dtype=float32)",
    True,
)
gcd = binary(
    "gcd",
    _gcd,
    "Return greatest common divisors of integers.",
    "[12, 15], 9",
    "array([3, 3], dtype=int32)",
)
lcm = binary(
    "lcm",
    _lcm,
    "Return least common multiples of integers.",
    "[4, 6], 6",
    "array([12, 6], dtype=int32)",
)
ldexp = binary(
    "ldexp",
    _ldexp,
    "Return x1 * 2**x2.",
    "[1.0, 3.0], [2, 3]",
    "array([ 4., 24.], dtype=float32)",
    True,
)
logaddexp = binary(
    "logaddexp",
    _logaddexp,
    "Return log(exp(x1) + exp(x2)).",
    "[0.0, 100.0], 0.0",
    "array([ 0.6931472, 100. ], dtype=float32)",
    True,
)
logaddexp2 = binary(
    "logaddexp2",
    _logaddexp2,
    "Return log2(2**x1 + 2**x2).",
    "[0.0, 100.0], 0.0",
    "array([ 1., 100.], dtype=float32)",
    True,
)
maximum = binary(
    "maximum",
    _maximum,
    "Return the larger elements.",
    "[1.0, 4.0], 2.0",
    "array([2., 4.], dtype=float32)",
)
minimum = binary(
    "minimum",
    _minimum,
    "Return the smaller elements.",
    "[1.0, 4.0], 2.0",
    "array([1., 2.], dtype=float32)",
)
fmax = binary(
    "fmax",
    _fmax,
    "Return the larger elements; NaN counts as missing.",
    "[1.0, np.nan], 2.0",
    "array([2., 2.], dtype=float32)",
)
fmin = binary(
    "fmin",
    _fmin,
    "Return the smaller elements; NaN counts as missing.",
    "[1.0, np.nan], 2.0",
    "array([1., 2.], dtype=float32)",
)
nextafter = binary(
    "nextafter",
    tf.math.nextafter,
    "Return the next number after x1 in the direction of x2.",
    "[1.0], 2.0",
    "array([1.0000001], dtype=float32)",
    True,
)
equal = binary("equal", tf.equal, "Return x1 == x2.", "[1.0, 2.0], 2", "array([False, True])")
not_equal = binary(
    "not_equal", tf.not_equal, "Return x1 != x2.", "[1.0, 2.0], 2", "array([ True, False])"
)
greater = binary(
    "greater",
    _on_numbers(tf.greater),
    "Return x1 > x2.",
    "[1.0, 2.0, 3.0], 2",
    "array([False, False, True])",
)
greater_equal = binary(
    "greater_equal",
    _on_numbers(tf.greater_equal),
    "Return x1 >= x2.",
    "[1.0, 2.0, 3.0], 2",
    "array([False, True, True])",
)
less = binary(
    "less",
    _on_numbers(tf.less),
    "Return x1 < x2.",
    "[1.0, 2.0, 3.0], 2",
    "array([ True, False, False])",
)
less_equal = binary(
    "less_equal",
    _on_numbers(tf.less_equal),
    "Return x1 <= x2.",
    "[1.0, 2.0, 3.0], 2",
    "array([ True, True, False])",
)
logical_and = binary(
    "logical_and",
    _of_bools(tf.logical_and),
    "Return whether both hold.",
    "[True, False], True",
    "array([ True, False])",
)
logical_or = binary(
    "logical_or",
    _of_bools(tf.logical_or),
    "Return whether at least one holds.",
    "[True, False], False",
    "array([ True, False])",
)
logical_xor = binary(
    "logical_xor",
    _of_bools(tf.math.logical_xor),
    "Return whether exactly one holds.",
    "[True, False], True",
    "array([False, True])",
)


def _bits(
    function: Callable[[Any, Any], Any], logical: Callable[[Any, Any], Any] | None = None
) -> Callable[[Tensor, Tensor], Tensor]:
    def combine(x: Tensor, y: Tensor) -> Tensor:
        result: Tensor = (
            logical(x, y) if logical and x.dtype.is_bool else function(numbers(x), numbers(y))
        )
        return result

    return combine


_and = _bits(tf.bitwise.bitwise_and, tf.logical_and)
_or = _bits(tf.bitwise.bitwise_or, tf.logical_or)
_xor = _bits(tf.bitwise.bitwise_xor, tf.math.logical_xor)
_left, _right = _bits(tf.bitwise.left_shift), _bits(tf.bitwise.right_shift)
bitwise_and = bitwise_binary(
    "bitwise_and", _and, "Return x & y.", "[6, 5], 3", "array([2, 1], dtype=int32)"
)
bitwise_or = bitwise_binary(
    "bitwise_or", _or, "Return x | y.", "[6, 5], 3", "array([7, 7], dtype=int32)"
)
bitwise_xor = bitwise_binary(
    "bitwise_xor", _xor, "Return x ^ y.", "[6, 5], 3", "array([5, 6], dtype=int32)"
)
bitwise_left_shift = bitwise_binary(
    "bitwise_left_shift", _left, "Return x << y.", "[6, 5], 1", "array([12, 10], dtype=int32)"
)
left_shift = alias("left_shift", bitwise_left_shift)
bitwise_right_shift = bitwise_binary(
    "bitwise_right_shift", _right, "Return x >> y.", "[6, 5], 1", "array([3, 2], dtype=int32)"
)
right_shift = alias("right_shift", bitwise_right_shift)

# --- Reductions ----------------------------------------------------------------------------------


def _number_of(x: Tensor, axis: Any) -> int:
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis)
    return math.prod(int(x.shape[a]) for a in axes)


def _where_nan(x: Tensor, value: float) -> Tensor:
    return tf.where(tf.math.is_nan(x), to_dtype(value, x.dtype), x) if x.dtype.is_floating else x


def _extreme(
    function: Callable[[Any, Any, bool], Any], logical: Callable[[Any, Any, bool], Any]
) -> Callable[[Tensor, Any, bool], Tensor]:
    def reduce(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
        if not _number_of(x, axis):
            raise ValueError(
                f"The largest or smallest element of no elements: the shape is {tuple(x.shape)}."
            )
        result: Tensor = (logical if x.dtype.is_bool else function)(x, axis, keepdims)
        return result

    return reduce


_max = _extreme(tf.reduce_max, tf.reduce_any)
_min = _extreme(tf.reduce_min, tf.reduce_all)


def _ignoring_nan(
    function: Callable[[Any, Any, bool], Any], value: float
) -> Callable[[Tensor, Any, bool], Tensor]:
    """Return a reduction that replaces NaN by ``value``."""
    return lambda x, axis, keepdims: function(_where_nan(x, value), axis, keepdims)


def _nan_extreme(
    function: Callable[[Any, Any, bool], Any], value: float
) -> Callable[[Tensor, Any, bool], Tensor]:
    def reduce(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
        result: Tensor = function(_where_nan(x, value), axis, keepdims)
        if not x.dtype.is_floating:
            return result
        all_nan = tf.reduce_all(tf.math.is_nan(x), axis, keepdims)
        return tf.where(all_nan, tf.cast(math.nan, x.dtype), result)

    return reduce


def _mean(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    if x.dtype.name in ("float16", "bfloat16"):
        return tf.cast(tf.reduce_mean(tf.cast(x, tf.float32), axis, keepdims), x.dtype)
    return tf.reduce_mean(x, axis, keepdims)


def _nan_mean(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    count = tf.reduce_sum(tf.cast(~tf.math.is_nan(x), x.dtype), axis, keepdims)
    return tf.reduce_sum(_where_nan(x, 0.0), axis, keepdims) / count


def _nan_variance(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    return _nan_mean(tf.square(x - _nan_mean(x, axis, True)), axis, keepdims)


def _any_number(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    return tf.reduce_any(x, axis, keepdims)


_ROWS = "[[1.0, 2.0], [3.0, 5.0]], 1"
_NANS = "[[1.0, np.nan], [3.0, 5.0]], 1"
all = reduction(
    "all",
    tf.reduce_all,
    "Return whether all elements hold.",
    "[True, False]",
    "np.False_",
    _to_bool,
)
any = reduction(
    "any", tf.reduce_any, "Return whether any element holds.", "[True, False]", "np.True_", _to_bool
)
amax = reduction(
    "amax", _max, "Return the largest elements.", _ROWS, "array([2., 5.], dtype=float32)"
)
amin = reduction(
    "amin", _min, "Return the smallest elements.", _ROWS, "array([1., 3.], dtype=float32)"
)
sum = reduction("sum", tf.reduce_sum, "Return sums.", _ROWS, "array([3., 8.], dtype=float32)", wide)
mean = reduction("mean", _mean, "Return means.", _ROWS, "array([1.5, 4. ], dtype=float32)", floats)
std = reduction(
    "std",
    tf.math.reduce_std,
    "Return standard deviations.",
    _ROWS,
    "array([0.5, 1. ], dtype=float32)",
    floats,
)
var = reduction(
    "var",
    tf.math.reduce_variance,
    "Return variances.",
    _ROWS,
    "array([0.25, 1. ], dtype=float32)",
    floats,
)
ptp = reduction(
    "ptp",
    lambda x, axis, keepdims: _max(x, axis, keepdims) - _min(x, axis, keepdims),
    "Return the largest minus the smallest elements.",
    _ROWS,
    "array([1., 2.], dtype=float32)",
)
nansum = reduction(
    "nansum",
    _ignoring_nan(tf.reduce_sum, 0.0),
    "Return sums without NaN.",
    _NANS,
    "array([1., 8.], dtype=float32)",
    wide,
)
nanprod = reduction(
    "nanprod",
    _ignoring_nan(tf.reduce_prod, 1.0),
    "Return products without NaN.",
    _NANS,
    "array([ 1., 15.], dtype=float32)",
    wide,
)
nanmax = reduction(
    "nanmax",
    _nan_extreme(_max, -math.inf),
    "Return the largest elements but NaN.",
    _NANS,
    "array([1., 5.], dtype=float32)",
)
nanmin = reduction(
    "nanmin",
    _nan_extreme(_min, math.inf),
    "Return the smallest elements but NaN.",
    _NANS,
    "array([1., 3.], dtype=float32)",
)
nanmean = reduction(
    "nanmean",
    _nan_mean,
    "Return means without NaN.",
    _NANS,
    "array([1., 4.], dtype=float32)",
    floats,
)
nanvar = reduction(
    "nanvar",
    _nan_variance,
    "Return variances without NaN.",
    _NANS,
    "array([0., 1.], dtype=float32)",
    floats,
)
nanstd = reduction(
    "nanstd",
    lambda x, axis, keepdims: tf.sqrt(_nan_variance(x, axis, keepdims)),
    "Return standard deviations without NaN.",
    _NANS,
    "array([0., 1.], dtype=float32)",
    floats,
)


def _with_initial(
    x: TensorLike,
    axis: AxisLike,
    keepdims: bool,
    initial: NumberLike | None,
    reduce: Callable[[Tensor, Any, bool], Tensor],
    combine: Callable[[Any, Any], Any],
) -> Any:
    tensor = as_tensor(x)
    if initial is None:
        return reduce(tensor, axis, keepdims)
    start = to_dtype(initial, tensor.dtype)
    if not _number_of(tensor, axis):
        zeros_ = tf.reduce_sum(tensor, axis, keepdims)
        return tf.broadcast_to(start, zeros_.shape)
    return combine(reduce(tensor, axis, keepdims), start)


@op(raises="ValueError: If there are no elements and no ``initial``.")
def max(
    x: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    initial: NumberLike | None = None,
) -> Any:
    """Return the largest elements.

    >>> tf.keras.ops.max([[1.0, 2.0], [3.0, 5.0]], axis=1).numpy()
    array([2., 5.], dtype=float32)
    """
    return _with_initial(x, axis, keepdims, initial, _max, _maximum)


@op(raises="ValueError: If there are no elements and no ``initial``.")
def min(
    x: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    initial: NumberLike | None = None,
) -> Any:
    """Return the smallest elements.

    >>> tf.keras.ops.min([[1.0, 2.0], [3.0, 5.0]], axis=1).numpy()
    array([1., 3.], dtype=float32)
    """
    return _with_initial(x, axis, keepdims, initial, _min, _minimum)


@op(raises=_OUT_OF_RANGE)
def prod(
    x: TensorLike, axis: AxisLike = None, keepdims: bool = False, dtype: DTypeLike | None = None
) -> Any:
    """Return products.

    >>> tf.keras.ops.prod([[1.0, 2.0], [3.0, 5.0]], axis=1).numpy()
    array([ 2., 15.], dtype=float32)
    """
    tensor = wide(x) if dtype is None else tf.cast(x, keras_dtype(dtype))
    return tf.reduce_prod(tensor, axis, keepdims)


@op(raises=_OUT_OF_RANGE)
def count_nonzero(x: TensorLike, axis: AxisLike = None) -> Any:
    """Count the elements that are not 0.

    >>> tf.keras.ops.count_nonzero([[1, 0], [2, 3]], axis=1).numpy()
    array([1, 2], dtype=int32)
    """
    return tf.reduce_sum(tf.cast(_to_bool(x), tf.int32), axis)


@op(raises=_SHAPES)
def average(x: TensorLike, axis: AxisLike = None, weights: TensorLike | None = None) -> Any:
    """Return weighted means.

    >>> tf.keras.ops.average([1.0, 2.0, 6.0], weights=[1, 1, 2]).numpy()
    np.float32(3.75)
    """
    if weights is None:
        return _mean(floats(x), axis, False)
    tensor, factors = promoted(x, weights, floating=True)
    if factors.ndim == 1 and tensor.ndim > 1 and isinstance(axis, int):
        shape = [1] * tensor.ndim
        shape[axis] = -1
        factors = tf.reshape(factors, shape)
    total = tf.reduce_sum(factors * tf.ones_like(tensor), axis)
    return tf.reduce_sum(tensor * factors, axis) / total


def _arg(
    function: Callable[..., Any], x: TensorLike, axis: IntLike | None, keepdims: bool
) -> Tensor:
    tensor = numbers(x)
    rank = tensor.ndim
    flat = tf.reshape(tensor, [-1]) if axis is None else tensor
    if not _number_of(flat, 0 if axis is None else axis):
        raise ValueError(f"The position in no elements: the shape is {tuple(tensor.shape)}.")
    result: Tensor = function(flat, 0 if axis is None else axis, output_type=tf.int32)
    if keepdims:
        return tf.reshape(result, [1] * rank) if axis is None else tf.expand_dims(result, axis)
    return result


@op(raises="ValueError: If there are no elements.")
def argmax(x: TensorLike, axis: IntLike | None = None, keepdims: bool = False) -> Any:
    """Return the positions of the largest elements.

    >>> tf.keras.ops.argmax([[1.0, 2.0], [5.0, 3.0]], axis=1).numpy()
    array([1, 0], dtype=int32)
    """
    return _arg(tf.argmax, x, axis, keepdims)


@op(raises="ValueError: If there are no elements.")
def argmin(x: TensorLike, axis: IntLike | None = None, keepdims: bool = False) -> Any:
    """Return the positions of the smallest elements.

    >>> tf.keras.ops.argmin([[1.0, 2.0], [5.0, 3.0]], axis=1).numpy()
    array([0, 1], dtype=int32)
    """
    return _arg(tf.argmin, x, axis, keepdims)


def _nan_arg(
    function: Callable[..., Any],
    x: TensorLike,
    axis: IntLike | None,
    keepdims: bool,
    value: float,
) -> Tensor:
    tensor = numbers(x)
    result = _arg(function, _where_nan(tensor, value), axis, keepdims)
    if not tensor.dtype.is_floating:
        return result
    all_nan = tf.reduce_all(tf.math.is_nan(tensor), axis, keepdims)
    return tf.where(all_nan, -1, result)


@op("A tensor of int32; -1 where all elements are NaN.", "ValueError: If there are no elements.")
def nanargmax(x: TensorLike, axis: IntLike | None = None, keepdims: bool = False) -> Any:
    """Return the positions of the largest elements but NaN.

    >>> tf.keras.ops.nanargmax([1.0, np.nan, 5.0]).numpy()
    np.int32(2)
    """
    return _nan_arg(tf.argmax, x, axis, keepdims, -math.inf)


@op("A tensor of int32; -1 where all elements are NaN.", "ValueError: If there are no elements.")
def nanargmin(x: TensorLike, axis: IntLike | None = None, keepdims: bool = False) -> Any:
    """Return the positions of the smallest elements but NaN.

    >>> tf.keras.ops.nanargmin([1.0, np.nan, 5.0]).numpy()
    np.int32(0)
    """
    return _nan_arg(tf.argmin, x, axis, keepdims, math.inf)


def _cumulative(
    function: Callable[[Any, Any], Any],
    x: TensorLike,
    axis: IntLike | None,
    dtype: DTypeLike | None,
    nan: float | None = None,
) -> Any:
    tensor = numbers(x) if dtype is None else tf.cast(x, keras_dtype(dtype))
    if nan is not None:
        tensor = _where_nan(tensor, nan)
    return function(tf.reshape(tensor, [-1]) if axis is None else tensor, axis or 0)


@op(raises=_OUT_OF_RANGE)
def cumsum(x: TensorLike, axis: IntLike | None = None, dtype: DTypeLike | None = None) -> Any:
    """Return cumulative sums.

    >>> tf.keras.ops.cumsum([1.0, 2.0, 3.0]).numpy()
    array([1., 3., 6.], dtype=float32)
    """
    return _cumulative(tf.cumsum, x, axis, dtype)


@op(raises=_OUT_OF_RANGE)
def cumprod(x: TensorLike, axis: IntLike | None = None, dtype: DTypeLike | None = None) -> Any:
    """Return cumulative products.

    >>> tf.keras.ops.cumprod([1.0, 2.0, 3.0]).numpy()
    array([1., 2., 6.], dtype=float32)
    """
    return _cumulative(tf.math.cumprod, x, axis, dtype)


@op(raises=_OUT_OF_RANGE)
def nancumsum(x: TensorLike, axis: IntLike | None = None, dtype: DTypeLike | None = None) -> Any:
    """Return cumulative sums, with NaN as 0.

    >>> tf.keras.ops.nancumsum([1.0, np.nan, 3.0]).numpy()
    array([1., 1., 4.], dtype=float32)
    """
    return _cumulative(tf.cumsum, x, axis, dtype, 0.0)


@op(raises=_OUT_OF_RANGE)
def nancumprod(x: TensorLike, axis: IntLike | None = None, dtype: DTypeLike | None = None) -> Any:
    """Return cumulative products, with NaN as 1.

    >>> tf.keras.ops.nancumprod([2.0, np.nan, 3.0]).numpy()
    array([2., 2., 6.], dtype=float32)
    """
    return _cumulative(tf.math.cumprod, x, axis, dtype, 1.0)


def _quantile(
    x: TensorLike, q: TensorLike, axis: Any, method: str, keepdims: bool, skips_nan: bool
) -> Any:
    tensor = floats(x)
    quantiles = tf.cast(q, tf.float64)
    rank = tensor.ndim
    axes = sorted(a % rank for a in ([*range(rank)] if axis is None else np.atleast_1d(axis)))
    other_axes = [a for a in range(rank) if a not in axes]
    sizes = [int(tensor.shape[a]) for a in other_axes]
    rows = tf.reshape(tf.transpose(tensor, [*other_axes, *axes]), [math.prod(sizes), -1])
    is_nan = tf.math.is_nan(rows)
    count = int(rows.shape[1]) - tf.reduce_sum(tf.cast(is_nan, tf.float64), 1)  # (rows,)
    ordered = tf.sort(tf.where(is_nan, tf.cast(math.inf, rows.dtype), rows), 1)
    position = tf.reshape(quantiles, [-1, 1]) * tf.maximum(count - 1, 0)  # (quantiles, rows)

    def at(index: Tensor) -> Tensor:
        numbers_of_rows = tf.range(int(rows.shape[0]), dtype=tf.int32)
        index = tf.cast(index, tf.int32)
        places = tf.stack([tf.broadcast_to(numbers_of_rows, index.shape), index], -1)
        return tf.gather_nd(ordered, places)

    below, above = tf.floor(position), tf.math.ceil(position)
    if method == "linear":
        part = tf.cast(position - below, rows.dtype)
        low, high = at(below), at(above)
        result = tf.where(part == 0, low, low + (high - low) * part)
    elif method == "lower":
        result = at(below)
    elif method == "higher":
        result = at(above)
    elif method == "midpoint":
        result = (at(below) + at(above)) / 2
    elif method == "nearest":
        result = at(tf.round(position))
    else:
        raise ValueError(f"method={method!r}: must be linear, lower, higher, midpoint or nearest.")
    invalid = count == 0 if skips_nan else tf.reduce_any(is_nan, 1)
    result = tf.where(invalid, tf.cast(math.nan, rows.dtype), result)
    if keepdims:
        sizes = [1 if a in axes else int(tensor.shape[a]) for a in range(rank)]
    return tf.reshape(result, [*quantiles.shape, *sizes])


_METHOD = "ValueError: If the method is unknown."


@op("A tensor: the axes of ``q`` come first.", _METHOD)
def quantile(
    x: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """Return quantiles.

    >>> tf.keras.ops.quantile([1.0, 2.0, 4.0], [0.5, 0.75]).numpy()
    array([2., 3.], dtype=float32)
    """
    return _quantile(x, q, axis, method, keepdims, False)


@op("A tensor: the axes of ``q`` come first.", _METHOD)
def nanquantile(
    x: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """Return quantiles of the elements that are not NaN.

    >>> tf.keras.ops.nanquantile([1.0, 2.0, np.nan], 0.5).numpy()
    np.float32(1.5)
    """
    return _quantile(x, q, axis, method, keepdims, True)


@op("A tensor: the axes of ``q`` come first.", _METHOD)
def percentile(
    x: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """Return percentiles.

    >>> tf.keras.ops.percentile([1.0, 2.0, 4.0], 75).numpy()
    np.float32(3.0)
    """
    return _quantile(x, tf.cast(q, tf.float64) / 100, axis, method, keepdims, False)


@op("A tensor: the axes of ``q`` come first.", _METHOD)
def nanpercentile(
    x: TensorLike,
    q: TensorLike,
    axis: AxisLike = None,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """Return percentiles of the elements that are not NaN.

    >>> tf.keras.ops.nanpercentile([1.0, 2.0, np.nan], 50).numpy()
    np.float32(1.5)
    """
    return _quantile(x, tf.cast(q, tf.float64) / 100, axis, method, keepdims, True)


median = reduction(
    "median",
    lambda x, axis, keepdims: _quantile(x, 0.5, axis, "linear", keepdims, False),
    "Return medians.",
    "[1.0, 5.0, 2.0]",
    "np.float32(2.0)",
)
nanmedian = reduction(
    "nanmedian",
    lambda x, axis, keepdims: _quantile(x, 0.5, axis, "linear", keepdims, True),
    "Return medians without NaN.",
    "[1.0, 5.0, np.nan]",
    "np.float32(3.0)",
)

# --- New tensors ---------------------------------------------------------------------------------


@op(raises="TypeError: If the value cannot be converted to a tensor.")
def array(x: TensorLike, dtype: DTypeLike | None = None) -> Any:
    """Convert a value to a tensor.

    >>> tf.keras.ops.array([1, 2], dtype="float32").numpy()
    array([1., 2.], dtype=float32)
    """
    return as_tensor(x) if dtype is None else tf.cast(x, keras_dtype(dtype))


@op(raises="ValueError: If ``step`` is 0.")
def arange(
    start: NumberLike,
    stop: NumberLike | None = None,
    step: NumberLike | None = None,
    dtype: DTypeLike | None = None,
) -> Any:
    """Return evenly spaced numbers from ``start``, or 0, up to but without ``stop``.

    >>> tf.keras.ops.arange(2, 8, 2).numpy()
    array([2, 4, 6], dtype=int32)
    """
    if dtype is None:
        kind = result_type(*(dtype_name(x) for x in (start, stop, step) if x is not None))
    else:
        kind = keras_dtype(dtype)
    if stop is None:
        start, stop = 0, start
    first, end, distance = (np.asarray(x) for x in (start, stop, 1 if step is None else step))
    values = np.arange(first.item(), end.item(), distance.item())
    return tf.cast(tf.constant(values), kind)


@op(raises=_SHAPE)
def zeros(shape: ShapeLike, dtype: DTypeLike | None = None) -> Any:
    """Return a tensor of zeros.

    >>> tf.keras.ops.zeros((2,)).numpy()
    array([0., 0.], dtype=float32)
    """
    return tf.zeros(shape, dtype_or_floatx(dtype))


@op(raises=_SHAPE)
def ones(shape: ShapeLike, dtype: DTypeLike | None = None) -> Any:
    """Return a tensor of ones.

    >>> tf.keras.ops.ones((2,)).numpy()
    array([1., 1.], dtype=float32)
    """
    return tf.ones(shape, dtype_or_floatx(dtype))


@op(raises=_SHAPE)
def empty(shape: ShapeLike, dtype: DTypeLike | None = None) -> Any:
    """Return a tensor whose values are arbitrary: here zeros.

    >>> tf.keras.ops.empty((2,)).shape
    TensorShape([2])
    """
    return tf.zeros(shape, dtype_or_floatx(dtype))


@op(raises=_SHAPES)
def full(shape: ShapeLike, fill_value: TensorLike, dtype: DTypeLike | None = None) -> Any:
    """Return a tensor that is filled with a value.

    >>> tf.keras.ops.full((2,), 3.0).numpy()
    array([3., 3.], dtype=float32)
    """
    return tf.broadcast_to(to_dtype(fill_value, dtype_or_floatx(dtype)), shape)


def _like(x: TensorLike, dtype: DTypeLike | None) -> tuple[Any, Any]:
    tensor = as_tensor(x)
    return tensor, tensor.dtype if dtype is None else keras_dtype(dtype)


@op()
def zeros_like(x: TensorLike, dtype: DTypeLike | None = None) -> Any:
    """Return zeros of the shape of ``x``.

    >>> tf.keras.ops.zeros_like([1.0, 2.0]).numpy()
    array([0., 0.], dtype=float32)
    """
    tensor, kind = _like(x, dtype)
    return tf.zeros(tensor.shape, kind)


@op()
def ones_like(x: TensorLike, dtype: DTypeLike | None = None) -> Any:
    """Return ones of the shape of ``x``.

    >>> tf.keras.ops.ones_like([1.0, 2.0]).numpy()
    array([1., 1.], dtype=float32)
    """
    tensor, kind = _like(x, dtype)
    return tf.ones(tensor.shape, kind)


@op()
def empty_like(x: TensorLike, dtype: DTypeLike | None = None) -> Any:
    """Return a tensor of the shape of ``x`` whose values are arbitrary: here zeros.

    >>> tf.keras.ops.empty_like([1.0, 2.0]).shape
    TensorShape([2])
    """
    tensor, kind = _like(x, dtype)
    return tf.zeros(tensor.shape, kind)


@op(raises=_SHAPES)
def full_like(x: TensorLike, fill_value: TensorLike, dtype: DTypeLike | None = None) -> Any:
    """Return a tensor of the shape of ``x`` that is filled with a value.

    >>> tf.keras.ops.full_like([1.0, 2.0], 3).numpy()
    array([3., 3.], dtype=float32)
    """
    tensor, kind = _like(x, dtype)
    return tf.broadcast_to(to_dtype(fill_value, kind), tensor.shape)


@op(raises=_SHAPE)
def eye(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Any:
    """Return a matrix with ones on a diagonal.

    >>> tf.keras.ops.eye(2, 3, k=1).numpy()
    array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    rows, columns = operator.index(N), None if M is None else operator.index(M)
    return tf.cast(np.eye(rows, columns, operator.index(k)), dtype_or_floatx(dtype))


@op(raises="", n="The number of rows.")
def identity(n: int, dtype: DTypeLike | None = None) -> Any:
    """Return an identity matrix.

    >>> tf.keras.ops.identity(2).numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return tf.eye(n, dtype=dtype_or_floatx(dtype))


@op(raises=_SHAPE)
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Any:
    """Return a matrix with ones on and below a diagonal.

    >>> tf.keras.ops.tri(2, 3).numpy()
    array([[1., 0., 0.],
           [1., 1., 0.]], dtype=float32)
    """
    return tf.cast(np.tri(int(N), None if M is None else int(M), int(k)), dtype_or_floatx(dtype))


def _spaced(
    start: TensorLike, stop: TensorLike, num: int, endpoint: bool, axis: int
) -> tuple[Tensor, Tensor]:
    """Return evenly spaced numbers and their distance, of the promoted dtype."""
    if num < 0:
        raise ValueError(f"`num` must not be negative, got {num}.")
    first, last = promoted(start, stop, floating=True)
    parts = num - 1 if endpoint else num
    step = (last - first) / tf.cast(parts if parts > 0 else math.nan, first.dtype)
    if num == 1:
        values = tf.stack([first + tf.zeros_like(last)], axis)
    else:
        shape = [-1] + [1] * step.ndim
        weights = tf.reshape(tf.cast(np.arange(num) / builtins.max(parts, 1), first.dtype), shape)
        values = first * (1 - weights) + last * weights
        rank = values.ndim
        values = moveaxis(values, 0, axis % rank)
    return values, step


@op("A tensor, or (tensor, distance) with ``retstep``.", "ValueError: If ``num`` is negative.")
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """Return evenly spaced numbers.

    >>> tf.keras.ops.linspace(0.0, 1.0, 5).numpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    values, step = _spaced(start, stop, num, endpoint, axis)
    if dtype is not None:
        kind = keras_dtype(dtype)
        values = tf.cast(tf.floor(values) if kind.is_integer else values, kind)
    return (values, step) if retstep else values


@op(raises="ValueError: If ``num`` is negative.")
def logspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    base: NumberLike = 10,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """Return powers of ``base`` with evenly spaced exponents.

    >>> tf.keras.ops.logspace(0.0, 2.0, 3).numpy()
    array([  1.,  10., 100.], dtype=float32)
    """
    exponents, _ = _spaced(start, stop, num, endpoint, axis)
    values = tf.pow(to_dtype(base, exponents.dtype), exponents)
    return values if dtype is None else tf.cast(values, keras_dtype(dtype))


@op(raises="ValueError: If ``num`` is negative.")
def geomspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """Return numbers with constant ratios, from ``start`` to ``stop``.

    >>> tf.keras.ops.geomspace(1.0, 100.0, 3).numpy()
    array([  1.     ,  10.     , 100.00001], dtype=float32)
    """
    first, last = promoted(start, stop, floating=True)
    signs = tf.sign(first)
    logs = tf.math.log(tf.abs(first)), tf.math.log(tf.abs(last))
    values, _ = _spaced(*logs, num, endpoint, axis)
    values = tf.expand_dims(signs, axis) * tf.exp(values)
    return values if dtype is None else tf.cast(values, keras_dtype(dtype))


def _window(name: str, function: Callable[[int], Any], text: str, example: str, result: str) -> Any:
    def call(x: IntLike) -> Any:
        return tf.cast(function(int(np.asarray(x))), dtype_or_floatx(None))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{text}\n\n>>> tf.keras.ops.{name}({example}).numpy()\n{result}\n"
    return op(raises="TypeError: If ``x`` is not an integer.", x="The size of the window.")(call)


bartlett = _window(
    "bartlett",
    np.bartlett,
    "Return a triangular window.",
    "3",
    "array([0., 1., 0.], dtype=float32)",
)
hamming = _window(
    "hamming",
    np.hamming,
    "Return a Hamming window.",
    "3",
    "array([0.08, 1. , 0.08], dtype=float32)",
)
hanning = _window(
    "hanning", np.hanning, "Return a Hann window.", "3", "array([0., 1., 0.], dtype=float32)"
)
blackman = _window(
    "blackman",
    lambda n: np.blackman(n),
    "Return a Blackman window.",
    "5",
    "array([-0. , 0.34, 1. , 0.34, -0. ], dtype=float32)",
)


@op(raises="TypeError: If ``x`` is not an integer.", x="The size of the window.")
def kaiser(x: IntLike, beta: NumberLike) -> Any:
    """Return a Kaiser window.

    >>> tf.keras.ops.kaiser(3, 2.0).numpy()
    array([0.43867627, 1.        , 0.43867627], dtype=float32)
    """
    window = np.kaiser(int(np.asarray(x)), float(np.asarray(beta)))
    return tf.cast(window, dtype_or_floatx(None))


# --- Shapes and positions ------------------------------------------------------------------------


@op(raises="ValueError: If the axes are equal, or ``array`` has less than two.")
def rot90(array: TensorLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """Rotate a plane by 90 degrees, ``k`` times.

    >>> tf.keras.ops.rot90([[1, 2], [3, 4]]).numpy()
    array([[2, 4],
           [1, 3]], dtype=int32)
    """
    tensor = as_tensor(array)
    if tensor.ndim < 2:
        raise ValueError(
            f"Input array must have at least 2 dimensions. Received: array.ndim={tensor.ndim}"
        )
    if len(axes) != 2 or axes[0] % tensor.ndim == axes[1] % tensor.ndim:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    first, second = axes
    if k % 4 == 1:
        return swapaxes(tf.reverse(tensor, [second]), first, second)
    if k % 4 == 2:
        return tf.reverse(tensor, [first, second])
    if k % 4 == 3:
        return tf.reverse(swapaxes(tensor, first, second), [second])
    return tf.identity(tensor)


def _infer_reshape(x: KerasTensor, newshape: Any) -> KerasTensor:
    sizes = [newshape] if isinstance(newshape, int) else list(newshape)
    known = None if None in x.shape else math.prod(n or 0 for n in x.shape)
    fixed = math.prod(n for n in sizes if n != -1 and n is not None)
    if -1 not in sizes and None not in sizes and known is not None and known != fixed:
        raise ValueError(f"The shape {x.shape} cannot be reshaped to {tuple(sizes)}.")
    if -1 not in sizes:
        return KerasTensor(sizes, x.dtype)
    if known is not None and (not fixed or known % fixed):
        raise ValueError(f"The shape {x.shape} cannot be reshaped to {tuple(sizes)}.")
    inferred = None if known is None else known // fixed
    return KerasTensor([inferred if n == -1 else n for n in sizes], x.dtype)


@op(raises="InvalidArgumentError: If the number of elements differs.", result=_infer_reshape)
def reshape(x: TensorLike, newshape: ShapeLike) -> Any:
    """Change the shape.

    >>> tf.keras.ops.reshape([1, 2, 3, 4], (2, -1)).numpy()
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if isinstance(newshape, list | tuple):
        newshape = [-1 if n is None else n for n in newshape]
        if builtins.any(isinstance(n, int) and n < -1 for n in newshape):
            raise ValueError(
                f"Each size must be a non-negative integer or -1, got newshape={tuple(newshape)}"
            )
    return tf.reshape(x, newshape)


def _infer_broadcast_to(x: KerasTensor, shape: Sequence[int]) -> KerasTensor:
    broadcast_shapes(x.shape, shape)
    return KerasTensor(shape, x.dtype)


@op(raises=_SHAPES, result=_infer_broadcast_to)
def broadcast_to(x: TensorLike, shape: ShapeLike) -> Any:
    """Broadcast to a shape.

    >>> tf.keras.ops.broadcast_to([1, 2], (2, 2)).numpy()
    array([[1, 2],
           [1, 2]], dtype=int32)
    """
    return tf.broadcast_to(x, shape)


@op()
def ravel(x: TensorLike) -> Any:
    """Flatten to one axis.

    >>> tf.keras.ops.ravel([[1, 2], [3, 4]]).numpy()
    array([1, 2, 3, 4], dtype=int32)
    """
    return tf.reshape(x, [-1])


@op(raises=_OUT_OF_RANGE)
def expand_dims(x: TensorLike, axis: IntsLike) -> Any:
    """Insert axes of size 1.

    >>> tf.keras.ops.expand_dims([1, 2], 0).shape
    TensorShape([1, 2])
    """
    if isinstance(axis, list | tuple):
        tensor = as_tensor(x)
        rank = tensor.ndim + len(axis)
        for position in sorted(int(a) % rank for a in axis):
            tensor = tf.expand_dims(tensor, position)
        return tensor
    return tf.expand_dims(x, int(np.asarray(axis)))


def _infer_squeeze(x: KerasTensor, axis: Any = None) -> KerasTensor:
    rank = len(x.shape)
    axes = [to_axis(a, rank) for a in ([] if axis is None else np.atleast_1d(axis))]
    if builtins.any(x.shape[a] != 1 for a in axes):
        raise ValueError(f"Cannot squeeze axis={axis}, because the shape is {x.shape}.")
    if axis is None:
        axes = [a for a, n in enumerate(x.shape) if n == 1]
    return KerasTensor([n for a, n in enumerate(x.shape) if a not in axes], x.dtype)


@op(raises="InvalidArgumentError: If an axis has another size than 1.", result=_infer_squeeze)
def squeeze(x: TensorLike, axis: AxisLike = None) -> Any:
    """Remove axes of size 1.

    >>> tf.keras.ops.squeeze([[1, 2]]).shape
    TensorShape([2])
    """
    return tf.squeeze(x, axis)


@op(raises="ValueError: If ``axes`` is not a permutation.")
def transpose(x: TensorLike, axes: Sequence[int] | None = None) -> Any:
    """Permute axes; without ``axes``, reverse their order.

    >>> tf.keras.ops.transpose([[1, 2], [3, 4]]).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    tensor = as_tensor(x)
    if axes is None:
        return tf.transpose(tensor)
    order = [to_axis(a, tensor.ndim) for a in axes]
    if sorted(order) != [*range(tensor.ndim)]:
        raise ValueError(
            f"`axes` must be a valid permutation of the axes of {tensor.shape}, got axes={axes}"
        )
    return tf.transpose(tensor, order)


@op(raises=_OUT_OF_RANGE)
def swapaxes(x: TensorLike, axis1: int, axis2: int) -> Any:
    """Exchange two axes.

    >>> tf.keras.ops.swapaxes([[1, 2], [3, 4]], 0, 1).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    tensor = as_tensor(x)
    order = [*range(tensor.ndim)]
    first, second = to_axis(axis1, tensor.ndim), to_axis(axis2, tensor.ndim)
    order[first], order[second] = second, first
    return tf.transpose(tensor, order)


@op(raises=_OUT_OF_RANGE)
def moveaxis(x: TensorLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Move axes to new positions.

    >>> tf.keras.ops.moveaxis(tf.zeros((2, 3, 4)), 0, -1).shape
    TensorShape([3, 4, 2])
    """
    tensor = as_tensor(x)
    rank = tensor.ndim
    sources = [source] if isinstance(source, int) else list(source)
    targets = [destination] if isinstance(destination, int) else list(destination)
    sources, targets = ([to_axis(a, rank) for a in axes] for axes in (sources, targets))
    if len(sources) != len(targets) or len({*sources}) < len(sources):
        raise ValueError(f"`source` {source} and `destination` {destination} do not match.")
    order = [a for a in range(rank) if a not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return tf.transpose(tensor, order)


@op(raises=_OUT_OF_RANGE)
def flip(x: TensorLike, axis: AxisLike = None) -> Any:
    """Reverse the order of elements.

    >>> tf.keras.ops.flip([1, 2, 3]).numpy()
    array([3, 2, 1], dtype=int32)
    """
    tensor = as_tensor(x)
    axes = range(tensor.ndim) if axis is None else np.atleast_1d(np.asarray(axis))
    return tf.reverse(tensor, [*map(int, axes)]) if len(axes) else tf.identity(tensor)


@op(raises="ValueError: If ``x`` has less than two axes.")
def fliplr(x: TensorLike) -> Any:
    """Reverse the order of columns.

    >>> tf.keras.ops.fliplr([[1, 2], [3, 4]]).numpy()
    array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return tf.reverse(as_tensor(x), [1])


@op(raises="ValueError: If ``x`` has no axis.")
def flipud(x: TensorLike) -> Any:
    """Reverse the order of rows.

    >>> tf.keras.ops.flipud([[1, 2], [3, 4]]).numpy()
    array([[3, 4],
           [1, 2]], dtype=int32)
    """
    return tf.reverse(as_tensor(x), [0])


@op(raises=_OUT_OF_RANGE)
def roll(x: TensorLike, shift: IntsLike, axis: AxisLike = None) -> Any:
    """Shift elements cyclically.

    >>> tf.keras.ops.roll([1, 2, 3], 1).numpy()
    array([3, 1, 2], dtype=int32)
    """
    tensor = as_tensor(x)
    if axis is None:
        return tf.reshape(tf.roll(tf.reshape(tensor, [-1]), shift, 0), tensor.shape)
    if isinstance(axis, list | tuple) and not isinstance(shift, list | tuple):
        shift = [int(np.asarray(shift))] * len(axis)
    return tf.roll(tensor, shift, axis)


@op(raises=_SHAPES)
def tile(x: TensorLike, repeats: IntsLike) -> Any:
    """Repeat the tensor along its axes.

    >>> tf.keras.ops.tile([1, 2], 2).numpy()
    array([1, 2, 1, 2], dtype=int32)
    """
    tensor = as_tensor(x)
    counts = [int(n) for n in np.atleast_1d(np.asarray(repeats))]
    counts = [1] * (tensor.ndim - len(counts)) + counts
    shape = [1] * (len(counts) - tensor.ndim) + list(tensor.shape)
    return tf.tile(tf.reshape(tensor, shape), counts)


@op(raises=_SHAPES)
def repeat(x: TensorLike, repeats: ShapeLike, axis: IntLike | None = None) -> Any:
    """Repeat elements.

    >>> tf.keras.ops.repeat([1, 2], 2).numpy()
    array([1, 1, 2, 2], dtype=int32)
    """
    return tf.repeat(x, repeats, axis)


@op(raises="ValueError: If the mode is unknown, or ``constant_values`` is set for another mode.")
def pad(
    x: TensorLike,
    pad_width: Any,
    mode: str = "constant",
    constant_values: NumberLike | None = None,
) -> Any:
    """Pad with a constant, or by one of NumPy's modes: edge, reflect, symmetric, wrap.

    >>> tf.keras.ops.pad([1, 2, 3], 2, mode="reflect").numpy()
    array([3, 2, 1, 2, 3, 2, 1], dtype=int32)
    """
    tensor = as_tensor(x)
    widths = np.broadcast_to(np.asarray(pad_width, int), (tensor.ndim, 2))
    if mode == "constant":
        value = to_dtype(0 if constant_values is None else constant_values, tensor.dtype)
        if tensor.dtype.is_bool:
            tensor, value = tf.cast(tensor, tf.int8), tf.cast(value, tf.int8)
            return tf.cast(tf.pad(tensor, widths, constant_values=value), tf.bool)
        return tf.pad(tensor, widths, constant_values=value)
    if constant_values is not None:
        raise ValueError(
            f"Argument `constant_values` can only be provided when `mode == 'constant'`. "
            f"Received: mode={mode}"
        )
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise ValueError(f"mode={mode!r}: must be constant, edge, reflect, symmetric or wrap.")
    for axis, width in enumerate(widths):
        if width.any():
            # The mode of NumPy applied to indices says which elements to copy.
            source: Any = np.pad(np.arange(int(tensor.shape[axis])), width, mode)  # type: ignore[call-overload]
            tensor = tf.gather(tensor, source, axis=axis)
    return tensor


def _infer_concatenate(xs: Sequence[Any], axis: int | None = 0) -> KerasTensor:
    shapes = [shape_of(x) for x in xs]
    if axis is not None and len({len(shape) for shape in shapes}) > 1:
        raise ValueError(f"The operands of `concatenate` have different ranks: {shapes}.")
    dtypes = [x.dtype if isinstance(x, KerasTensor) else dtype_name(x) for x in xs]
    if axis is None:
        counts = [None if None in shape else math.prod(n or 0 for n in shape) for shape in shapes]
        total = None if None in counts else builtins.sum(n or 0 for n in counts)
        return KerasTensor([total], result_type(*dtypes))
    axis = to_axis(axis, len(shapes[0]))
    result: list[int | None] = []
    for position, sizes in enumerate(zip(*shapes, strict=True)):
        known = [n for n in sizes if n is not None]
        if position == axis:
            result.append(builtins.sum(known) if len(known) == len(sizes) else None)
        elif len(set(known)) > 1:
            raise ValueError(f"The operands of `concatenate` have different shapes: {shapes}.")
        else:
            result.append(known[0] if known else None)
    return KerasTensor(result, result_type(*dtypes))


@op(raises=_SHAPES, result=_infer_concatenate)
def concatenate(xs: Sequence[TensorLike], axis: IntLike | None = 0) -> Any:
    """Join tensors along an axis.

    >>> tf.keras.ops.concatenate([[1, 2], [3]]).numpy()
    array([1, 2, 3], dtype=int32)
    """
    tensors = promoted(*xs)
    if axis is None:
        return tf.concat([tf.reshape(x, [-1]) for x in tensors], 0)
    return tf.concat(tensors, axis)


@op(raises=_SHAPES)
def append(x1: TensorLike, x2: TensorLike, axis: IntLike | None = None) -> Any:
    """Join two tensors; without an axis, flatten them first.

    >>> tf.keras.ops.append([1, 2], [3]).numpy()
    array([1, 2, 3], dtype=int32)
    """
    return concatenate(promoted(x1, x2), axis)


@op(raises=_SHAPES)
def stack(x: Sequence[TensorLike], axis: IntLike = 0) -> Any:
    """Join tensors along a new axis.

    >>> tf.keras.ops.stack([[1, 2], [3, 4]]).numpy()
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    return tf.stack(promoted(*x), axis)


def _at_least_1d(x: Tensor) -> Tensor:
    return tf.reshape(x, [1]) if x.ndim == 0 else x


def _at_least_2d(x: Tensor) -> Tensor:
    return tf.reshape(x, [1, -1]) if x.ndim < 2 else x


def _at_least_3d(x: Tensor) -> Tensor:
    x = _at_least_2d(x)
    return tf.expand_dims(x, 2) if x.ndim < 3 else x


@op(raises=_SHAPES)
def hstack(xs: Sequence[TensorLike]) -> Any:
    """Join tensors along the second axis, or along the only axis.

    >>> tf.keras.ops.hstack([[[1], [2]], [[3], [4]]]).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    tensors = [_at_least_1d(x) for x in promoted(*xs)]
    return tf.concat(tensors, 0 if tensors[0].ndim == 1 else 1)


@op(raises=_SHAPES)
def vstack(xs: Sequence[TensorLike]) -> Any:
    """Join tensors along the first axis; vectors become rows.

    >>> tf.keras.ops.vstack([[1, 2], [3, 4]]).numpy()
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    return tf.concat([_at_least_2d(x) for x in promoted(*xs)], 0)


@op(raises=_SHAPES)
def dstack(xs: Sequence[TensorLike]) -> Any:
    """Join tensors along the third axis.

    >>> tf.keras.ops.dstack([[1, 2], [3, 4]]).shape
    TensorShape([1, 2, 2])
    """
    return tf.concat([_at_least_3d(x) for x in promoted(*xs)], 2)


def _split(x: TensorLike, parts: Any, axis: int, even: bool = True) -> list[Any]:
    tensor = as_tensor(x)
    axis = to_axis(axis, tensor.ndim)
    size = int(tensor.shape[axis])
    if isinstance(parts, int | np.integer):
        if parts <= 0:
            raise ValueError(f"The number of parts must be positive, got {parts}.")
        if even and size % parts:
            raise ValueError(f"An axis of size {size} cannot be split into {parts} equal parts.")
        small, rest = divmod(size, int(parts))
        sizes = [small + 1] * rest + [small] * (int(parts) - rest)
        bounds = [0, *itertools.accumulate(sizes)]
    else:
        places = [int(i) for i in np.asarray(parts)]
        bounds = [0, *(builtins.min(i % size if i < 0 else i, size) for i in places), size]
    key: list[Any] = [slice(None)] * tensor.ndim
    result = []
    for start, end in itertools.pairwise(bounds):
        key[axis] = slice(start, builtins.max(start, end))
        result.append(tensor[tuple(key)])
    return result


@op("A list of tensors.", _PARTS)
def split(x: TensorLike, indices_or_sections: Any, axis: int = 0) -> Any:
    """Split into equal parts, or at indices.

    >>> [part.numpy() for part in tf.keras.ops.split([1, 2, 3], [1])]
    [array([1], dtype=int32), array([2, 3], dtype=int32)]
    """
    return _split(x, indices_or_sections, axis)


@op("A list of tensors.", _PARTS)
def array_split(x: TensorLike, indices_or_sections: Any, axis: int = 0) -> Any:
    """Split into parts that may differ in size by one.

    >>> [part.numpy() for part in tf.keras.ops.array_split([1, 2, 3], 2)]
    [array([1, 2], dtype=int32), array([3], dtype=int32)]
    """
    return _split(x, indices_or_sections, axis, even=False)


@op("A list of tensors.", _PARTS)
def hsplit(x: TensorLike, indices_or_sections: Any) -> Any:
    """Split along the second axis, or along the only axis.

    >>> [part.numpy() for part in tf.keras.ops.hsplit([[1, 2], [3, 4]], 2)]
    [array([[1],
           [3]], dtype=int32), array([[2],
           [4]], dtype=int32)]
    """
    return _split(x, indices_or_sections, 1 if as_tensor(x).ndim > 1 else 0)


@op("A list of tensors.", _PARTS)
def vsplit(x: TensorLike, indices_or_sections: Any) -> Any:
    """Split along the first axis.

    >>> [part.numpy() for part in tf.keras.ops.vsplit([[1, 2], [3, 4]], 2)]
    [array([[1, 2]], dtype=int32), array([[3, 4]], dtype=int32)]
    """
    if as_tensor(x).ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions.")
    return _split(x, indices_or_sections, 0)


@op("A list of tensors.", _PARTS)
def dsplit(x: TensorLike, indices_or_sections: Any) -> Any:
    """Split along the third axis.

    >>> [part.shape for part in tf.keras.ops.dsplit(tf.zeros((1, 2, 4)), 2)]
    [TensorShape([1, 2, 2]), TensorShape([1, 2, 2])]
    """
    if as_tensor(x).ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions.")
    return _split(x, indices_or_sections, 2)


@op("A list of tensors.", "ValueError: If ``indexing`` is neither xy nor ij.")
def meshgrid(*x: TensorLike, indexing: str = "xy") -> Any:
    """Return the coordinates of a grid.

    >>> [axis.numpy() for axis in tf.keras.ops.meshgrid([1, 2], [3, 4])]
    [array([[1, 2],
           [1, 2]], dtype=int32), array([[3, 3],
           [4, 4]], dtype=int32)]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for `indexing` are 'xy' and 'ij', but received {indexing}.")
    return tf.meshgrid(*map(as_tensor, x), indexing=indexing)


@op("The number of axes, an int.", "", x="A tensor.")
def ndim(x: TensorLike) -> Any:
    """Return the number of axes.

    >>> tf.keras.ops.ndim([[1, 2]])
    2
    """
    return len(as_tensor(x).shape)


@op("A tensor of int32.", "")
def size(x: TensorLike) -> Any:
    """Return the number of elements.

    >>> tf.keras.ops.size([[1, 2]]).numpy()
    np.int32(2)
    """
    return tf.size(x)


# --- Indexing ------------------------------------------------------------------------------------


@op(raises="IndexError: If the index is outside the tensor.")
def get_item(x: TensorLike, key: Any) -> Any:
    """Return ``x[key]``.

    >>> tf.keras.ops.get_item([1, 2, 3], slice(1, None)).numpy()
    array([2, 3], dtype=int32)
    """
    return as_tensor(x)[key]


def _positive(indices: TensorLike, size: int) -> Tensor:
    """Replace negative indices, which count from the end."""
    tensor = as_tensor(indices)
    if not tensor.dtype.is_integer:
        tensor = tf.cast(tensor, tf.int32)
    if tensor.dtype.name.startswith("u") or tensor.dtype.size < 4:
        tensor = tf.cast(tensor, tf.int32)
    return tf.where(tensor < 0, tensor + size, tensor)


@op(raises="InvalidArgumentError: If an index is outside the axis.")
def take(x: TensorLike, indices: TensorLike, axis: IntLike | None = None) -> Any:
    """Take elements along an axis; without an axis, of the flattened tensor.

    >>> tf.keras.ops.take([[1, 2], [3, 4]], [1, 0], axis=1).numpy()
    array([[2, 1],
           [4, 3]], dtype=int32)
    """
    tensor = as_tensor(x)
    if axis is None:
        tensor, axis = tf.reshape(tensor, [-1]), 0
    return tf.gather(tensor, _positive(indices, int(tensor.shape[int(axis)])), axis=axis)


@op(raises="InvalidArgumentError: If an index is outside the axis.")
def take_along_axis(x: TensorLike, indices: TensorLike, axis: int | None = None) -> Any:
    """Take an element of each row along an axis.

    >>> tf.keras.ops.take_along_axis([[1, 2], [3, 4]], [[1], [0]], axis=1).numpy()
    array([[2],
           [3]], dtype=int32)
    """
    tensor, places = as_tensor(x), as_tensor(indices)
    axis = None if axis is None else to_axis(axis, tensor.ndim)
    if axis is None:
        tensor, places, axis = tf.reshape(tensor, [-1]), tf.reshape(places, [-1]), 0
    if tensor.ndim != places.ndim:
        raise ValueError(
            f"`x` and `indices` must have the same rank, got {tensor.shape} and {places.shape}."
        )
    axis %= tensor.ndim
    places = _positive(places, int(tensor.shape[axis]))
    tensor, places = moveaxis(tensor, axis, -1), moveaxis(places, axis, -1)
    batch = tf.broadcast_static_shape(tensor.shape[:-1], places.shape[:-1])
    tensor = tf.broadcast_to(tensor, [*batch, tensor.shape[-1]])
    places = tf.broadcast_to(places, [*batch, places.shape[-1]])
    result = tf.gather(tensor, places, axis=-1, batch_dims=len(batch))
    return moveaxis(result, -1, axis)


@op("A tensor, or with one argument a tuple of indices.", _SHAPES, rule=infer_broadcast)
def where(condition: TensorLike, x1: TensorLike | None = None, x2: TensorLike | None = None) -> Any:
    """Choose elements of ``x1`` where the condition holds, else of ``x2``.

    >>> tf.keras.ops.where([True, False], [1.0, 2.0], 0.0).numpy()
    array([1., 0.], dtype=float32)
    """
    if (x1 is None) != (x2 is None):
        raise ValueError("`x1` and `x2` either both should be `None` or both should have values.")
    if x1 is None or x2 is None:
        return _nonzero(condition)
    chosen, other = promoted(x1, x2)
    return tf.where(_to_bool(condition), chosen, other)


def _nonzero(x: TensorLike) -> tuple[Any, ...]:
    places = tf.cast(tf.where(_to_bool(x)), tf.int32)
    return tuple(places[:, k] for k in range(int(places.shape[1])))


@op("A tuple of tensors of int32, one for each axis.")
def nonzero(x: TensorLike) -> Any:
    """Return the indices of the elements that are not 0.

    >>> [axis.numpy() for axis in tf.keras.ops.nonzero([0, 3, 4])]
    [array([1, 2], dtype=int32)]
    """
    return _nonzero(x)


@op(raises="ValueError: If the lists have different lengths, or none.")
def select(
    condlist: Sequence[TensorLike], choicelist: Sequence[TensorLike], default: TensorLike = 0
) -> Any:
    """Choose elements by the first condition that holds.

    >>> tf.keras.ops.select([[True, False, False], [True, True, False]], [1.0, 2.0], 3.0).numpy()
    array([1., 2., 3.], dtype=float32)
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(
            f"condlist and choicelist must not be empty and have the same length, got "
            f"{len(condlist)} and {len(choicelist)}."
        )
    *choices, result = promoted(*choicelist, default)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = tf.where(_to_bool(condition), choice, result)
    return result


@op("A tuple of tensors, one for each axis of the shape.")
def unravel_index(indices: TensorLike, shape: Sequence[int]) -> Any:
    """Convert indices of a flattened tensor to indices of each axis.

    >>> [axis.numpy() for axis in tf.keras.ops.unravel_index([1, 5], (2, 3))]
    [array([0, 1], dtype=int32), array([1, 2], dtype=int32)]
    """
    flat = as_tensor(indices)
    flat = tf.where(flat < 0, flat + math.prod(shape), flat)
    result = []
    for count in reversed(shape):
        result.append(tf.math.floormod(flat, count))
        flat = tf.math.floordiv(flat, count)
    return tuple(reversed(result))


# --- Order ---------------------------------------------------------------------------------------


def _sortable(x: TensorLike) -> Tensor:
    tensor = as_tensor(x)
    return tf.cast(tensor, tf.int8) if tensor.dtype.is_bool else tensor


@op(raises=_OUT_OF_RANGE)
def sort(x: TensorLike, axis: IntLike | None = -1) -> Any:
    """Sort along an axis.

    >>> tf.keras.ops.sort([3, 1, 2]).numpy()
    array([1, 2, 3], dtype=int32)
    """
    tensor = _sortable(x)
    axis = axis if axis is None or not tensor.ndim else to_axis(axis, tensor.ndim)
    result = tf.sort(
        tf.reshape(tensor, [-1]) if axis is None else tensor, -1 if axis is None else axis
    )
    return tf.cast(result, as_tensor(x).dtype)


@op("A tensor of int32.", _OUT_OF_RANGE)
def argsort(x: TensorLike, axis: IntLike | None = -1) -> Any:
    """Return the indices that sort along an axis.

    >>> tf.keras.ops.argsort([3, 1, 2]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    tensor = _sortable(x)
    if axis is None or tensor.ndim == 0:
        return tf.reshape(
            tf.argsort(tf.reshape(tensor, [-1]), 0, stable=True), [-1] if tensor.ndim else []
        )
    return tf.argsort(tensor, to_axis(axis, tensor.ndim), stable=True)


@op("A tensor of int32.", "ValueError: If ``kth`` is outside the axis.")
def argpartition(x: TensorLike, kth: int, axis: int | None = -1) -> Any:
    """Return indices that put the ``kth`` element in its place: the indices of the sorted order.

    >>> tf.keras.ops.argpartition([3, 1, 2], 1).numpy()
    array([1, 2, 0], dtype=int32)
    """
    tensor = _sortable(x)
    if axis is None:
        tensor, axis = tf.reshape(tensor, [-1]), 0
    size = int(tensor.shape[axis])
    if not -size <= kth < size:
        raise ValueError(f"kth={kth} is outside an axis of size {size}.")
    return tf.argsort(tensor, axis, stable=True)


@op("A tensor of int32.", "ValueError: If the sequence has more than one axis.")
def searchsorted(sorted_sequence: TensorLike, values: TensorLike, side: str = "left") -> Any:
    """Return the indices at which the values keep the sequence sorted.

    >>> tf.keras.ops.searchsorted([1, 3, 5], [3, 4]).numpy()
    array([1, 2], dtype=int32)
    """
    sequence, elements = promoted(sorted_sequence, values)
    if sequence.ndim != 1:
        raise ValueError(
            f"`searchsorted` only supports 1-D sorted sequences. Received: {sequence.shape}"
        )
    return tf.reshape(tf.searchsorted(sequence, tf.reshape(elements, [-1]), side), elements.shape)


@op("A tensor of int32.")
def digitize(x: TensorLike, bins: Any) -> Any:
    """Return the index of each element's bin.

    >>> tf.keras.ops.digitize([0.5, 2.0], [1.0, 2.0, 3.0]).numpy()
    array([0, 2], dtype=int32)
    """
    return searchsorted(bins, x, side="right")


@op(
    "The values, or a tuple of the values and what else is asked for.",
    "NotImplementedError: If ``sorted`` is False.",
    size="The number of values: more are cut off, missing ones filled; None for all.",
)
def unique(
    x: TensorLike,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    size: int | None = None,
    fill_value: NumberLike | None = None,
) -> Any:
    """Return the distinct elements, in order.

    >>> tf.keras.ops.unique([3, 1, 3]).numpy()
    array([1, 3], dtype=int32)
    """
    values = np.asarray(as_tensor(x))
    parts = [*np.unique(values, True, True, True, axis=axis, equal_nan=False)]
    if axis is None:
        parts[2] = parts[2].reshape(values.shape)
    if size is not None:
        along = 0 if axis is None else axis % parts[0].ndim
        missing = size - parts[0].shape[along]
        if missing > 0:
            widths = [(0, missing if k == along else 0) for k in range(parts[0].ndim)]
            if fill_value is None:
                first = parts[0].take([0], along)
                parts[0] = np.concatenate([parts[0], np.repeat(first, missing, along)], along)
            else:
                parts[0] = np.pad(parts[0], widths, constant_values=float(np.asarray(fill_value)))
            parts[1] = np.pad(parts[1], (0, missing), constant_values=parts[1][0])
            parts[3] = np.pad(parts[3], (0, missing))
        parts[0] = parts[0].take(range(size), along)
        parts[1], parts[3] = parts[1][:size], parts[3][:size]
    returned = (return_index, return_inverse, return_counts)
    others = [
        tf.constant(part, tf.int32)
        for part, is_returned in zip(parts[1:], returned, strict=True)
        if is_returned
    ]
    result = tf.constant(parts[0])
    return (result, *others) if others else result


@op("A tuple: the counts and the edges of the bins.", "ValueError: If the bins are invalid.")
def histogram(x: TensorLike, bins: Any = 10, range: Sequence[float] | None = None) -> Any:
    """Count the elements in bins of equal width, or between given edges.

    >>> [part.numpy() for part in tf.keras.ops.histogram([1.0, 2.0, 4.0], 2)]
    [array([2, 1], dtype=int32), array([1. , 2.5, 4. ], dtype=float32)]
    """
    if isinstance(bins, int) and bins < 0:
        raise ValueError(f"Argument `bins` should be a non-negative integer. Received: bins={bins}")
    if range is not None and len(range) != 2:
        raise ValueError(
            f"Argument `range` must be a tuple of two elements. Received: range={range}"
        )
    if range is not None and range[1] < range[0]:
        raise ValueError(
            f"The second element of `range` must be greater than the first. Received: {range}"
        )
    tensor = floats(x)
    if tensor.ndim != 1:
        raise ValueError(f"Input tensor must be 1-dimensional. Received: {tensor.shape}")
    edges_of = bins if isinstance(bins, int) else np.asarray(bins)
    counts, edges = np.histogram(np.asarray(tensor), edges_of, range)  # type: ignore[arg-type]
    return tf.constant(counts, tf.int32), tf.cast(edges, tensor.dtype)


@op("A tensor of int32, or of the dtype of the weights.", "ValueError: If ``sparse`` is set.")
def bincount(
    x: TensorLike,
    weights: TensorLike | None = None,
    minlength: int = 0,
    sparse: bool = False,
) -> Any:
    """Count how often each integer occurs, in each row of a matrix.

    >>> tf.keras.ops.bincount([1, 2, 2]).numpy()
    array([0, 1, 2], dtype=int32)
    """
    if sparse:
        raise ValueError("sparse=True: numtape's tensors are dense.")
    values = tf.cast(x, tf.int32)
    dtype = tf.int32
    if weights is not None:
        factors = as_tensor(weights)
        dtype = factors.dtype
        weights = tf.cast(factors, tf.float64) if factors.dtype.size < 4 else factors
    length = int(np.asarray(tf.reduce_max(values))) + 1 if math.prod(values.shape) else 0
    length = builtins.max(length, minlength)
    classes = tf.one_hot(
        values, length, dtype=as_tensor(weights).dtype if weights is not None else tf.int32
    )
    if weights is not None:
        classes = classes * tf.expand_dims(as_tensor(weights), -1)
    return tf.cast(tf.reduce_sum(classes, -2), dtype)


@op("A tensor of bool.")
def isin(x1: TensorLike, x2: TensorLike, assume_unique: bool = False, invert: bool = False) -> Any:
    """Return whether each element of ``x1`` is in ``x2``.

    >>> tf.keras.ops.isin([1, 2, 3], [2, 3]).numpy()
    array([False,  True,  True])
    """
    elements, others = promoted(x1, x2)
    is_member = tf.reduce_any(tf.equal(tf.expand_dims(elements, -1), tf.reshape(others, [-1])), -1)
    return tf.logical_not(is_member) if invert else is_member


# --- Comparison with a tolerance -----------------------------------------------------------------


def _is_close(x1: Any, x2: Any, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    x, y = promoted(x1, x2, floating=True)
    bound = to_dtype(atol, x.dtype) + to_dtype(rtol, x.dtype) * tf.abs(y)
    is_close = tf.logical_and(tf.abs(x - y) <= bound, tf.math.is_finite(y))
    is_close = tf.logical_or(is_close, x == y)
    if equal_nan:
        both_nan = tf.logical_and(tf.math.is_nan(x), tf.math.is_nan(y))
        is_close = tf.logical_or(is_close, both_nan)
    return is_close


@op("A tensor of bool.", _SHAPES)
def isclose(
    x1: TensorLike,
    x2: TensorLike,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Any:
    """Return whether elements are equal within a tolerance: |x1 - x2| <= atol + rtol |x2|.

    >>> tf.keras.ops.isclose([1.0, 2.0], [1.0, 2.1]).numpy()
    array([ True, False])
    """
    return _is_close(x1, x2, rtol, atol, equal_nan)


@op("A bool tensor without axes.", _SHAPES)
def allclose(
    x1: TensorLike,
    x2: TensorLike,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Any:
    """Return whether all elements are equal within a tolerance.

    >>> bool(tf.keras.ops.allclose([1.0, 2.0], [1.0, 2.1]))
    False
    """
    return tf.reduce_all(_is_close(x1, x2, rtol, atol, equal_nan))


# --- Numbers -------------------------------------------------------------------------------------


@op("A tensor of the promoted dtype.", _SHAPES)
def clip(x: TensorLike, x_min: NumberLike, x_max: NumberLike) -> Any:
    """Limit elements to bounds.

    >>> tf.keras.ops.clip([1.0, 5.0], 2.0, 4.0).numpy()
    array([2., 4.], dtype=float32)
    """
    tensor, low, high = map(numbers, promoted(x, x_min, x_max))
    return tf.minimum(tf.maximum(tensor, low), high)


@op(raises="")
def round(x: TensorLike, decimals: int = 0) -> Any:
    """Round to the nearest number, and halves to the even one.

    >>> tf.keras.ops.round([1.26, 2.5], 1).numpy()
    array([1.3, 2.5], dtype=float32)
    """
    tensor = numbers(x)
    if not tensor.dtype.is_floating:
        if decimals >= 0:
            return tf.identity(tensor)
        return tf.cast(round(tf.cast(tensor, tf.float64), decimals), tensor.dtype)
    if decimals == 0:
        return tf.round(tensor)
    factor = to_dtype(10.0 ** builtins.abs(decimals), tensor.dtype)
    if decimals > 0:
        return tf.round(tensor * factor) / factor
    return tf.round(tensor / factor) * factor


@op(raises="TypeError: If the dtype does not exist.")
def nan_to_num(
    x: TensorLike,
    nan: NumberLike = 0.0,
    posinf: NumberLike | None = None,
    neginf: NumberLike | None = None,
) -> Any:
    """Replace NaN and infinities by numbers.

    >>> tf.keras.ops.nan_to_num([1.0, np.nan, np.inf], posinf=9.0).numpy()
    array([1., 0., 9.], dtype=float32)
    """
    tensor = as_tensor(x)
    if not tensor.dtype.is_floating:
        return tf.identity(tensor)
    high = tensor.dtype.max if posinf is None else posinf
    low = tensor.dtype.min if neginf is None else neginf
    tensor = tf.where(tf.math.is_nan(tensor), to_dtype(nan, tensor.dtype), tensor)
    tensor = tf.where(tensor == math.inf, to_dtype(high, tensor.dtype), tensor)
    return tf.where(tensor == -math.inf, to_dtype(low, tensor.dtype), tensor)


@op(raises="ValueError: If the last axis cannot be divided so.")
def view(x: TensorLike, dtype: DTypeLike | None = None) -> Any:
    """Read the bytes of a tensor as another dtype; the last axis grows or shrinks.

    >>> tf.keras.ops.view(tf.constant([1.0]), "int32").numpy()
    array([1065353216], dtype=int32)
    """
    tensor = as_tensor(x)
    kind = tensor.dtype if dtype is None else keras_dtype(dtype)
    old, new = tensor.dtype.size, kind.size
    if tensor.ndim == 0 and old != new:
        raise ValueError(f"A scalar of {tensor.dtype.name} cannot be viewed as {kind.name}.")
    if old > new:
        return tf.reshape(tf.bitcast(tensor, kind), [*tensor.shape[:-1], -1])
    if old < new:
        count = new // old
        if tensor.ndim == 0 or tensor.shape[-1] % count:
            raise ValueError(
                f"The last axis of {tensor.shape} must be a multiple of {count} to be viewed as "
                f"{kind.name}."
            )
        tensor = tf.reshape(tensor, [*tensor.shape[:-1], tensor.shape[-1] // count, count])
    return tf.bitcast(tensor, kind)


@op(raises=_OUT_OF_RANGE)
def diff(a: TensorLike, n: int = 1, axis: int = -1) -> Any:
    """Return differences of neighbours, ``n`` times.

    >>> tf.keras.ops.diff([1.0, 4.0, 9.0]).numpy()
    array([3., 5.], dtype=float32)
    """
    tensor = as_tensor(a)
    axis = to_axis(axis, tensor.ndim)
    for _ in range(n):
        before = (slice(None),) * axis
        later, sooner = tensor[(*before, slice(1, None))], tensor[(*before, slice(None, -1))]
        tensor = tf.not_equal(later, sooner) if tensor.dtype.is_bool else later - sooner
    return tensor


@op(raises=_SHAPES)
def trapezoid(
    y: TensorLike, x: TensorLike | None = None, dx: NumberLike = 1.0, axis: int = -1
) -> Any:
    """Integrate by the trapezoidal rule.

    >>> tf.keras.ops.trapezoid([1.0, 2.0, 3.0]).numpy()
    np.float32(4.0)
    """
    values = floats(y)
    values = moveaxis(values, axis, -1)
    if x is None:
        widths: Any = to_dtype(dx, values.dtype)
    else:
        places = floats(x)
        places = places if places.ndim == 1 else moveaxis(places, axis, -1)
        widths = tf.cast(places[..., 1:] - places[..., :-1], values.dtype)
    return tf.reduce_sum(widths * (values[..., 1:] + values[..., :-1]) / 2, -1)


@op(raises="ValueError: If ``x`` has more than one axis.")
def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> Any:
    """Return the powers of each element, as rows.

    >>> tf.keras.ops.vander([1, 2, 3], 3).numpy()
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]], dtype=int32)
    """
    tensor = numbers(x)
    if tensor.ndim != 1:
        raise ValueError(f"Input tensor must be 1-D. Received: x.shape={tensor.shape}")
    count = int(tensor.shape[0]) if N is None else N
    if count < 0:
        raise ValueError(f"N must not be negative, got {N}.")
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    return tf.pow(tf.expand_dims(tensor, 1), tf.cast(np.ascontiguousarray(powers), tensor.dtype))


# --- Matrices ------------------------------------------------------------------------------------


def _product_operands(x1: Any, x2: Any) -> list[Tensor]:
    """Promote the operands of a product; products of int8 are int32."""
    x, y = promoted(x1, x2)
    if x.dtype.name == "int8" and dtype_name(x1) == dtype_name(x2) == "int8":
        return [tf.cast(x, tf.int32), tf.cast(y, tf.int32)]
    return [x, y]


def _matmul(x: Tensor, y: Tensor) -> Tensor:
    dtype = x.dtype
    if dtype.is_bool or (dtype.size < 4 and dtype.is_integer):
        return tf.cast(_matmul(tf.cast(x, tf.int32), tf.cast(y, tf.int32)), dtype)
    if dtype.name.startswith("u"):
        return tf.cast(_matmul(tf.cast(x, tf.int64), tf.cast(y, tf.int64)), dtype)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError("matmul: the operands must have at least one axis.")
    if x.ndim == 1 and y.ndim == 1:
        return tf.tensordot(x, y, 1)
    if x.ndim == 1:
        return tf.squeeze(tf.matmul(tf.expand_dims(x, 0), y), -2)
    if y.ndim == 1:
        return tf.squeeze(tf.matmul(x, tf.expand_dims(y, 1)), -1)
    return tf.matmul(x, y)


def _infer_matmul(x1: Any, x2: Any) -> KerasTensor:
    first, second = shape_of(x1), shape_of(x2)
    x, y = first if len(first) > 1 else (1, *first), second if len(second) > 1 else (*second, 1)
    if x[-1] is not None and y[-2] is not None and x[-1] != y[-2]:
        raise ValueError(
            f"Inner dimensions (`x1.shape[-1]` and `x2.shape[-2]`) must be equal, but received "
            f"x1.shape={first} and x2.shape={second}"
        )
    shape = broadcast_shapes(x[:-2], y[:-2])
    shape += [x[-2]] * (len(first) > 1) + [y[-1]] * (len(second) > 1)
    names = [x.dtype if isinstance(x, KerasTensor) else dtype_name(x) for x in (x1, x2)]
    dtype = "int32" if names == ["int8", "int8"] else result_type(*names)
    return KerasTensor(shape, dtype)


@op(raises=_SHAPES, result=_infer_matmul)
def matmul(x1: TensorLike, x2: TensorLike) -> Any:
    """Multiply matrices, or matrices and vectors.

    >>> tf.keras.ops.matmul([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
    array([3., 7.], dtype=float32)
    """
    return _matmul(*_product_operands(x1, x2))


def _contract(x: Tensor, y: Tensor, axes: Any) -> Tensor:
    if x.dtype.is_bool:
        x, y = tf.cast(x, tf.int32), tf.cast(y, tf.int32)
        return tf.cast(_contract(x, y, axes), tf.bool)
    if x.dtype.is_integer:
        dtype = x.dtype
        x, y = tf.cast(x, tf.int64), tf.cast(y, tf.int64)
        return tf.cast(tf.tensordot(x, y, axes), dtype)
    return tf.tensordot(x, y, axes)


@op(raises=_SHAPES)
def dot(x1: TensorLike, x2: TensorLike) -> Any:
    """Multiply the last axis of ``x1`` with the last but one of ``x2``, as `np.dot`.

    >>> tf.keras.ops.dot([1.0, 2.0], [3.0, 4.0]).numpy()
    np.float32(11.0)
    """
    x, y = promoted(x1, x2)
    if x.ndim == 0 or y.ndim == 0:
        return _multiply(x, y)
    return _contract(x, y, [[x.ndim - 1], [builtins.max(y.ndim - 2, 0)]])


@op(raises=_SHAPES)
def inner(x1: TensorLike, x2: TensorLike) -> Any:
    """Multiply the last axes.

    >>> tf.keras.ops.inner([1.0, 2.0], [3.0, 4.0]).numpy()
    np.float32(11.0)
    """
    x, y = promoted(x1, x2)
    if x.ndim == 0 or y.ndim == 0:
        return _multiply(x, y)
    return _contract(x, y, [[x.ndim - 1], [y.ndim - 1]])


@op(raises=_SHAPES)
def vdot(x1: TensorLike, x2: TensorLike) -> Any:
    """Multiply flattened tensors, the first one conjugated.

    >>> tf.keras.ops.vdot([[1.0, 2.0]], [[3.0, 4.0]]).numpy()
    np.float32(11.0)
    """
    x, y = (tf.reshape(x, [-1]) for x in promoted(x1, x2))
    return _contract(_conjugate(x), y, 1)


@op()
def outer(x1: TensorLike, x2: TensorLike) -> Any:
    """Return the products of all pairs of elements.

    >>> tf.keras.ops.outer([1.0, 2.0], [3.0, 4.0]).numpy()
    array([[3., 4.],
           [6., 8.]], dtype=float32)
    """
    x, y = promoted(x1, x2)
    return _multiply(tf.reshape(x, [-1, 1]), tf.reshape(y, [1, -1]))


@op()
def kron(x1: TensorLike, x2: TensorLike) -> Any:
    """Return the Kronecker product.

    >>> tf.keras.ops.kron([1, 2], [1, 10]).numpy()
    array([ 1, 10,  2, 20], dtype=int32)
    """
    x, y = promoted(x1, x2)
    rank = builtins.max(x.ndim, y.ndim)
    sizes = [[1] * (rank - t.ndim) + list(t.shape) for t in (x, y)]
    x = tf.reshape(x, [n for size in sizes[0] for n in (size, 1)])
    y = tf.reshape(y, [n for size in sizes[1] for n in (1, size)])
    return tf.reshape(_multiply(x, y), [a * b for a, b in zip(*sizes, strict=True)])


@op(raises=_SHAPES)
def tensordot(x1: TensorLike, x2: TensorLike, axes: Any = 2) -> Any:
    """Multiply and sum over axes: a number of them, or the axes of each operand.

    >>> tf.keras.ops.tensordot([[1.0, 2.0]], [[3.0], [4.0]], axes=1).numpy()
    array([[11.]], dtype=float32)
    """
    x, y = promoted(x1, x2)
    if isinstance(axes, int):
        return _contract(x, y, axes)
    first, second = ([a] if isinstance(a, int) else list(a) for a in axes)
    return _contract(x, y, [[a % x.ndim for a in first], [a % y.ndim for a in second]])


@op(raises="ValueError: If the equation does not match the operands.")
def einsum(subscripts: str, *operands: TensorLike, **kwargs: Any) -> Any:
    """Sum products by Einstein's convention.

    >>> tf.keras.ops.einsum("ij,j->i", [[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
    array([3., 7.], dtype=float32)
    """
    tensors = promoted(*operands)
    dtype = tensors[0].dtype
    if dtype.name == "int8" and {dtype_name(x) for x in operands} == {"int8"}:
        dtype = tf.int32
    if dtype.is_integer or dtype.is_bool:
        wide_tensors = [tf.cast(x, tf.int64) for x in tensors]
        return tf.cast(tf.einsum(subscripts, *wide_tensors), dtype)
    return tf.einsum(subscripts, *tensors)


@op(raises="ValueError: If the vectors have neither two nor three elements.")
def cross(
    x1: TensorLike,
    x2: TensorLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Any:
    """Return cross products of vectors of two or three elements.

    >>> tf.keras.ops.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).numpy()
    array([0., 0., 1.], dtype=float32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = map(numbers, promoted(x1, x2))
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError(
            f"`x1`'s dim on `axis={axisa}` and `x2`'s dim on `axis={axisb}` must be either 2 or 3, "
            f"but received: {x.shape[-1]} (x1) and {y.shape[-1]} (x2)"
        )
    flat = x.shape[-1] == y.shape[-1] == 2
    (a, b, c), (d, e, f) = (
        [t[..., k] if k < t.shape[-1] else tf.zeros_like(t[..., 0]) for k in range(3)]
        for t in (x, y)
    )
    if flat:
        return a * e - b * d
    result = tf.stack([b * f - c * e, c * d - a * f, a * e - b * d], -1)
    return moveaxis(result, -1, axisc)


def _diagonal(x: TensorLike, offset: int, axis1: int, axis2: int) -> Tensor:
    tensor = as_tensor(x)
    if tensor.ndim < 2:
        raise ValueError(
            f"`diagonal` requires an array of at least two dimensions. Received: {tensor.shape}"
        )
    tensor = moveaxis(tensor, (axis1, axis2), (-2, -1))
    rows, columns = int(tensor.shape[-2]), int(tensor.shape[-1])
    places = np.diagonal(np.arange(rows * columns).reshape(rows, columns), offset)
    flat = tf.reshape(tensor, [*tensor.shape[:-2], rows * columns])
    return tf.gather(flat, np.ascontiguousarray(places), axis=-1)


@op(raises="ValueError: If ``x`` has less than two axes.")
def diagonal(x: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return a diagonal of matrices, as the last axis.

    >>> tf.keras.ops.diagonal([[1, 2], [3, 4]]).numpy()
    array([1, 4], dtype=int32)
    """
    return _diagonal(x, offset, axis1, axis2)


@op(raises="ValueError: If ``x`` has less than two axes.")
def trace(x: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return sums of a diagonal.

    >>> tf.keras.ops.trace([[1, 2], [3, 4]]).numpy()
    np.int32(5)
    """
    return tf.reduce_sum(wide(_diagonal(x, offset, axis1, axis2)), -1)


def _diag(x: Tensor, k: int) -> Tensor:
    """Return a matrix with ``x`` on a diagonal."""
    count = int(x.shape[0]) + builtins.abs(k)
    rows = np.arange(int(x.shape[0])) + builtins.max(-k, 0)
    columns = np.arange(int(x.shape[0])) + builtins.max(k, 0)
    if x.dtype.is_bool:
        return tf.cast(_diag(tf.cast(x, tf.int32), k), tf.bool)
    places = np.stack([rows, columns], -1)
    return tf.scatter_nd(places, x, [count, count])


@op(raises="ValueError: If ``x`` has neither one nor two axes.")
def diag(x: TensorLike, k: int = 0) -> Any:
    """Return a matrix with ``x`` on a diagonal, or the diagonal of a matrix.

    >>> tf.keras.ops.diag([1, 2]).numpy()
    array([[1, 0],
           [0, 2]], dtype=int32)
    """
    tensor = as_tensor(x)
    if tensor.ndim == 1:
        return _diag(tensor, k)
    if tensor.ndim == 2:
        return _diagonal(tensor, k, 0, 1)
    raise ValueError(f"`x` must be 1-D or 2-D. Received: x.shape={tensor.shape}")


@op()
def diagflat(x: TensorLike, k: int = 0) -> Any:
    """Return a matrix with the flattened ``x`` on a diagonal.

    >>> tf.keras.ops.diagflat([[1], [2]]).numpy()
    array([[1, 0],
           [0, 2]], dtype=int32)
    """
    return _diag(tf.reshape(x, [-1]), k)


def _triangle(x: TensorLike, k: int, lower: bool) -> Tensor:
    tensor = as_tensor(x)
    mask = np.tri(int(tensor.shape[-2]), int(tensor.shape[-1]), k if lower else k - 1, bool)
    return tf.where(mask if lower else ~mask, tensor, tf.cast(0, tensor.dtype))


@op(raises="ValueError: If ``x`` has less than two axes.")
def tril(x: TensorLike, k: int = 0) -> Any:
    """Return matrices with zeros above a diagonal.

    >>> tf.keras.ops.tril([[1, 2], [3, 4]]).numpy()
    array([[1, 0],
           [3, 4]], dtype=int32)
    """
    return _triangle(x, k, True)


@op(raises="ValueError: If ``x`` has less than two axes.")
def triu(x: TensorLike, k: int = 0) -> Any:
    """Return matrices with zeros below a diagonal.

    >>> tf.keras.ops.triu([[1, 2], [3, 4]]).numpy()
    array([[1, 2],
           [0, 4]], dtype=int32)
    """
    return _triangle(x, k, False)


@op("A tuple: the signs, and the logarithms of absolute values.", _SHAPES)
def slogdet(x: TensorLike) -> Any:
    """Return the sign and the logarithm of determinants.

    >>> [part.numpy() for part in tf.keras.ops.slogdet([[2.0, 0.0], [0.0, 3.0]])]
    [np.float32(1.0), np.float32(1.7917595)]
    """
    return tuple(tf.linalg.slogdet(floats(x)))


@op(raises="ValueError: If ``x`` has more than two axes.")
def corrcoef(x: TensorLike) -> Any:
    """Return the correlation coefficients of rows.

    >>> tf.keras.ops.corrcoef([[1.0, 2.0], [2.0, 1.0]]).numpy()
    array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    tensor = floats(x)
    if tensor.ndim > 2:
        raise ValueError(f"`corrcoef` takes one or two axes, got {tensor.shape}.")
    rows = _at_least_2d(tensor)
    rows = rows - tf.reduce_mean(rows, 1, True)
    products = tf.matmul(rows, rows, transpose_b=True)
    deviations = tf.sqrt(tf.linalg.diag_part(products))
    result = products / (tf.expand_dims(deviations, 0) * tf.expand_dims(deviations, 1))
    result = tf.minimum(tf.maximum(result, -1), 1)
    return tf.reshape(result, []) if tensor.ndim < 2 else result


@op(raises="ValueError: If the mode is unknown, or an operand has not one axis.")
def correlate(x1: TensorLike, x2: TensorLike, mode: str = "valid") -> Any:
    """Correlate two sequences: ``valid``, ``same`` or ``full``.

    >>> tf.keras.ops.correlate([1.0, 2.0, 3.0], [0.0, 1.0, 0.5]).numpy()
    array([3.5], dtype=float32)
    """
    if mode not in ("valid", "same", "full"):
        raise ValueError(f"mode={mode!r}: must be valid, same or full.")
    x, y = promoted(x1, x2, floating=True)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"`correlate` takes vectors, got {x.shape} and {y.shape}.")
    is_swapped = x.shape[0] < y.shape[0]
    if is_swapped:
        x, y = y, x
    n, m = int(x.shape[0]), int(y.shape[0])
    before = {"valid": 0, "full": m - 1, "same": m // 2}[mode]
    count = {"valid": n - m + 1, "full": n + m - 1, "same": n}[mode]
    padded = tf.pad(x, [[before, m]])
    frames = tf.gather(padded, np.arange(count)[:, None] + np.arange(m))
    result = tf.reduce_sum(frames * _conjugate(y), 1)
    return tf.reverse(result, [0]) if is_swapped else result


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: None = None, signature: None = None
) -> Callable[..., Any]:
    """Return a function that applies a function of scalars to each element.

    Args:
      pyfunc: A function of scalar tensors.
      excluded: Must be None.
      signature: Must be None.

    Returns:
      A function of tensors, which are broadcast.

    Raises:
      TypeError: If ``pyfunc`` is not callable.
      NotImplementedError: If ``excluded`` or ``signature`` is set: use `tf.vectorized_map`.

    Example:
      >>> tf.keras.ops.vectorize(lambda x, y: x + y)([1.0, 2.0], 3.0).numpy()
      array([4., 5.], dtype=float32)
    """
    if not callable(pyfunc):
        raise TypeError(f"Expected argument `pyfunc` to be a callable. Received: {pyfunc!r}")
    if excluded or signature:
        raise NotImplementedError("`excluded` and `signature`: use `tf.vectorized_map`.")

    def vectorized(*args: TensorLike) -> Any:
        if is_symbolic(args):
            raise NotImplementedError(
                "A vectorized function on symbolic tensors: use `ops.vectorized_map`."
            )
        tensors = [as_tensor(x) for x in args]
        shape = np.broadcast_shapes(*(tuple(x.shape) for x in tensors))
        flat = [tf.reshape(tf.broadcast_to(x, shape), [-1]) for x in tensors]
        result = tf.vectorized_map(lambda xs: pyfunc(*xs), flat)
        return tf.nest.map_structure(lambda y: tf.reshape(y, [*shape, *y.shape[1:]]), result)

    return vectorized
