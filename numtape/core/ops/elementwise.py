"""Elementwise ops, from arithmetic to rounding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..log.as_tensor import as_tensor
from ..log.log import RuleLog
from ..log.op import CUT, ELEMENTWISE, STOP, Op, defop
from ..log.record import Recorder, spec_of, ternary, unary
from ..values import dtypes
from ..values.composite import dispatches, recover
from ..values.dtypes import DType, as_dtype, bool_
from ..values.spec import Spec, broadcast, intern
from ..values.tensor import Tensor
from . import rules
from .comparison import not_equal_
from .define import binary_op, name_functions, unary_op
from .movement import broadcast_to, conjugate

if TYPE_CHECKING:
    from ..values.annotations import DTypeLike, TensorLike

# ``-(x / z) * y`` for the adjoint x of a quotient y by z. Where x / z overflows and the result does
# not, it is ``-(x * y) / z``; where x or y is 0 it is 0, whatever the others are. A loop computes
# x / z once for both operands' adjoints.
_divisor_adjoint = ternary(
    defop(
        "DivisorAdjoint",
        ELEMENTWISE,
        3,
        rules.analytic,
        body="divisor_adjoint(x, y, z)",
        vjp=lambda g, s, x, y, z: (of_divisor(g, y, z), of_divisor(g, x, z), of_divisor(g, s, z)),
    )
)


def of_divisor(g: Tensor, quotient: Tensor, divisor: Tensor) -> Tensor:
    """The adjoint of a divisor, for the adjoint ``g`` of the quotient."""
    return _divisor_adjoint(g, quotient, divisor)


# Arithmetic.

add = binary_op(
    "AddV2",
    "x + y",
    lambda g, z, x, y: (g, g),
    rules.number,
    doc="""
    Sum of two tensors, elementwise; ``x + y`` records the same op.

    >>> tf.add([1, 2, 3], [[10], [20]]).numpy()
    array([[11, 12, 13],
           [21, 22, 23]], dtype=int32)
""",
)
subtract = binary_op(
    "Sub",
    "x - y",
    lambda g, z, x, y: (g, negative(g)),
    rules.number,
    doc="""
    Difference of two tensors, elementwise; ``x - y`` records the same op.

    >>> tf.subtract([1.5, 2.0], 0.5).numpy()
    array([1. , 1.5], dtype=float32)
""",
)
multiply = binary_op(
    "Mul",
    "x * y",
    lambda g, z, x, y: (g * y, g * x),
    rules.number,
    doc="""
    Product of two tensors, elementwise; ``x * y`` records the same op.

    For products of matrices see `matmul`. Integers that overflow wrap around.

    >>> tf.multiply([1, 2, 3], [[1], [10]]).numpy()
    array([[ 1,  2,  3],
           [10, 20, 30]], dtype=int32)
""",
)
# Quotient of floats; `divide` handles integers.
real_divide = binary_op(
    "RealDiv",
    "x / y",
    lambda g, z, x, y: (ratio_or_zero(g, y), of_divisor(g, z, y)),
    rules.analytic,
)
floor_divide_float = binary_op("FloorDiv", "floor(x / y)", spec=rules.floating, gradient=STOP)
floor_divide_int = binary_op("FloorDiv", "floor_divide(x, y)", spec=rules.integer, gradient=STOP)
# Unlike x - y * floor(x / y), this form is exact, and correct for an infinite y.
floor_mod_float = binary_op(
    "FloorMod",
    "select((fmod(x, y) != 0) & ((fmod(x, y) < 0) != (y < 0)), fmod(x, y) + y, fmod(x, y))",
    lambda g, z, x, y: (g, negative(g * floor_divide_float(x, y))),
    rules.floating,
)
truncate_divide_float = binary_op(
    "TruncateDiv",
    "select(x / y < 0, ceil(x / y), floor(x / y))",
    spec=rules.floating,
    gradient=STOP,
)
truncate_divide_int = binary_op(
    "TruncateDiv",
    "select((floor_divide(x, y) * y != x) & ((x < 0) != (y < 0)), floor_divide(x, y) + 1, "
    "floor_divide(x, y))",
    spec=rules.integer,
    gradient=STOP,
)
truncate_mod_float = binary_op("TruncateMod", "fmod(x, y)", spec=rules.floating)
floor_mod_int = binary_op("FloorMod", "x % y", spec=rules.integer, gradient=STOP)
pow_float: Recorder = binary_op(
    "Pow",
    "power(x, y)",
    lambda g, z, x, y: (
        multiply_no_nan(multiply_no_nan(pow_float(x, y - 1.0), y), g),
        multiply_no_nan(z * log_or_zero(x), g),
    ),
    rules.analytic,
)
# Floats to the power of the Python number 2, which has the same bits as `pow_float`.
pow_2 = unary_op("Pow", "x * x", lambda g, y, x: (multiply_no_nan(2.0 * x, g),), rules.floating)
# Float64 to the power of the Python number 3.
pow_3 = unary_op(
    "Pow", "x * x * x", lambda g, y, x: (multiply_no_nan(3.0 * pow_2(x), g),), rules.floating
)
pow_int = binary_op("Pow", "int_power(x, y)", spec=rules.integer, gradient=STOP)
squared_difference = binary_op(
    "SquaredDifference",
    "(x - y) * (x - y)",
    lambda g, z, x, y: (_real_part(g) * (2.0 * (x - y)), _real_part(g) * (2.0 * (y - x))),
    rules.number,
    complex_vjp="explicit",
    complex_body="absolute(x - y) * absolute(x - y)",
    doc="""
    ``(x - y) * (x - y)``, elementwise; of complex numbers, the square of ``abs(x - y)``.

    >>> tf.math.squared_difference([1.0, 5.0], [4.0, 4.0]).numpy()
    array([9., 1.], dtype=float32)
""",
)
# Rules divide with this op: an adjoint of 0 stays 0 where the derivative is infinite or NaN. The
# adjoint is 0 where the target does not depend on an element: in other rows of a Jacobian, behind a
# slice or a `where`.
ratio_or_zero: Recorder = binary_op(
    "RatioOrZero",
    "select(x == 0, x, x / y)",
    lambda g, z, x, y: (ratio_or_zero(g, y), of_divisor(g, z, y)),
    rules.analytic,
)
real_divide_no_nan: Recorder = binary_op(
    "DivNoNan",
    "select(y == 0, 0.0, x / y)",
    lambda g, z, x, y: (real_divide_no_nan(g, y), negative(real_divide_no_nan(g * z, y))),
    rules.analytic,
)
multiply_no_nan: Recorder = binary_op(
    "MulNoNan",
    "select(y == 0, 0.0, x * y)",
    lambda g, z, x, y: (multiply_no_nan(g, y), multiply_no_nan(x, g)),
    rules.analytic,
    doc="""
    ``x * y``, but 0 where ``y`` is 0, even if ``x`` is NaN or infinite there.

    The derivatives follow the same rule.

    >>> tf.math.multiply_no_nan([np.inf, 2.0], [0.0, 3.0]).numpy()
    array([0., 6.], dtype=float32)
""",
)
# On a tie the first operand gets the whole adjoint.
maximum = binary_op(
    "Maximum",
    "select(x >= y, x, select(y > x, y, x + y))",
    lambda g, z, x, y: (select(x >= y, g, 0.0), select(x >= y, 0.0, g)),
    rules.real,
    doc="""
    The larger of two elements; NaN if either is NaN.

    At a tie the derivative goes to ``x`` alone. For the largest along an axis see `reduce_max`.

    >>> tf.maximum([-1.0, 0.5, 3.0], 0.0).numpy()
    array([0. , 0.5, 3. ], dtype=float32)
""",
)
minimum = binary_op(
    "Minimum",
    "select(x <= y, x, select(y < x, y, x + y))",
    lambda g, z, x, y: (select(x <= y, g, 0.0), select(x <= y, 0.0, g)),
    rules.real,
    doc="""
    The smaller of two elements; NaN if either is NaN.

    At a tie the derivative goes to ``x`` alone. For the smallest along an axis see `reduce_min`.

    >>> tf.minimum([-1.0, 0.5, 3.0], 1.0).numpy()
    array([-1. ,  0.5,  1. ], dtype=float32)
""",
)
negative: Recorder = unary_op(
    "Neg",
    "-x",
    lambda g, y, x: (negative(g),),
    rules.number,
    doc="""
    ``-x``, elementwise. Unsigned integers wrap around.

    >>> tf.negative([1.0, -2.0]).numpy()
    array([-1.,  2.], dtype=float32)
""",
)
abs_ = unary_op(
    "Abs",
    "absolute(x)",
    lambda g, y, x: (_abs_vjp(g, x),),
    rules.magnitude,
    doc="""
    Absolute value, elementwise; real for complex numbers. Its derivative at 0 is 0.

    >>> tf.abs([-1.5, 0.0, 2.0]).numpy()
    array([1.5, 0. , 2. ], dtype=float32)
""",
)
sign: Recorder = unary_op(
    "Sign",
    "select(x > 0, 1, select(x < 0, -1, select(x == 0, 0, x)))",
    lambda g, y, x: (_sign_vjp(g, y, x),),
    rules.number,
    complex_vjp="explicit",
    complex_body="unit(x)",
    doc="""
    The sign of each element as -1, 0 or 1, with derivative 0; ``x / abs(x)`` for complex numbers.

    >>> tf.sign([-3.0, 0.0, 7.0]).numpy()
    array([-1.,  0.,  1.], dtype=float32)
""",
)
square = unary_op(
    "Square",
    "x * x",
    lambda g, y, x: (g * (2.0 * x),),
    rules.number,
    doc="""
    ``x * x``, elementwise.

    >>> tf.square([1, -2, 3]).numpy()
    array([1, 4, 9], dtype=int32)
""",
)
reciprocal = unary_op(
    "Reciprocal",
    "1.0 / x",
    lambda g, y, x: (negative(multiply_no_nan(y, multiply_no_nan(y, g))),),
    rules.analytic,
    doc="""
    ``1 / x``, elementwise; infinite where ``x`` is 0.

    The derivative at 0 is infinite, but an incoming gradient of 0 stays 0 and does not become NaN.

    >>> tf.math.reciprocal([2.0, -4.0]).numpy()
    array([ 0.5 , -0.25], dtype=float32)
""",
)
stop_gradient = unary_op(
    "StopGradient",
    "x",
    None,
    rules.same_dtype,
    "input",
    gradient=CUT,
    doc="""
    Return ``input`` and block its gradient: every tape treats the result as a constant.

    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * tf.stop_gradient(x)
    >>> tape.gradient(y, x).numpy()
    np.float32(3.0)
""",
)
# Shuffled elements have no gradient, as in TensorFlow.
without_gradient = unary_op("RandomShuffle", "x", None, rules.same_dtype, gradient=STOP)
zeros_like_op = unary_op("ZerosLike", "0", None, rules.same_dtype, "input", gradient=STOP)
ones_like_op = unary_op("OnesLike", "1", None, rules.same_dtype, "input", gradient=STOP)

# Powers, exponentials, logarithms.

sqrt = unary_op(
    "Sqrt",
    "sqrt(x)",
    lambda g, y, x: (ratio_or_zero(0.5 * g, y),),
    rules.analytic,
    doc="""
    Square root, elementwise; NaN where ``x`` is negative.

    The derivative at 0 is infinite, but an incoming gradient of 0 stays 0 and does not become NaN.

    >>> tf.sqrt([4.0, 2.25]).numpy()
    array([2. , 1.5], dtype=float32)
""",
)
# The square root of a sum of squares. Its gradient is 0, a subgradient, where all squares are 0.
root_of_squares = unary_op(
    "RootOfSquares", "sqrt(x)", lambda g, y, x: (real_divide_no_nan(0.5 * g, y),), rules.analytic
)
rsqrt = unary_op(
    "Rsqrt",
    "1.0 / sqrt(x)",
    lambda g, y, x: (multiply_no_nan(y * y * y, -0.5 * g),),
    rules.analytic,
    doc="""
    ``1 / sqrt(x)``, elementwise; infinite where ``x`` is 0, NaN where it is negative.

    The derivative at 0 is infinite, but an incoming gradient of 0 stays 0 and does not become NaN.

    >>> tf.math.rsqrt([4.0, 0.25]).numpy()
    array([0.5, 2. ], dtype=float32)
""",
)
exp = unary_op(
    "Exp",
    "exp(x)",
    lambda g, y, x: (multiply_no_nan(y, g),),
    rules.analytic,
    doc="""
    The exponential, elementwise.

    The result overflows to infinity from about 88.7 in float32 and from about 709.8 in float64. The
    argument is reduced by multiples of ln 2 (Cody and Waite, "Software Manual for the Elementary
    Functions", 1980).

    >>> tf.exp([0.0, 1.0]).numpy()
    array([1.       , 2.7182817], dtype=float32)
""",
)
expm1 = unary_op(
    "Expm1",
    "expm1(x)",
    lambda g, y, x: (multiply_no_nan(exp(x), g),),
    rules.analytic,
    doc="""
    ``exp(x) - 1``, elementwise, accurate to the last digits where ``x`` is small.

    >>> tf.math.expm1([0.0, 1e-10]).numpy()
    array([0.e+00, 1.e-10], dtype=float32)
""",
)
log = unary_op(
    "Log",
    "log(x)",
    lambda g, y, x: (ratio_or_zero(g, x),),
    rules.analytic,
    doc="""
    The natural logarithm, elementwise; minus infinity where ``x`` is 0, NaN where it is negative.

    >>> tf.math.log([1.0, np.e]).numpy()
    array([0., 1.], dtype=float32)
""",
)
log1p = unary_op(
    "Log1p",
    "log1p(x)",
    lambda g, y, x: (ratio_or_zero(g, 1.0 + x),),
    rules.analytic,
    doc="""
    ``log(1 + x)``, elementwise, accurate to the last digits where ``x`` is small.

    >>> tf.math.log1p([0.0, 1e-10]).numpy()
    array([0.e+00, 1.e-10], dtype=float32)
""",
)
# The logarithm in the derivative of a power with respect to its exponent: 0 where the base is not
# positive.
log_or_zero: Recorder = unary_op(
    "LogOrZero",
    "select(x > 0, log(select(x > 0, x, 1.0)), 0.0)",
    lambda g, y, x: (select(_log_is_defined(x), g / select(_log_is_defined(x), x, 1.0), 0.0),),
    rules.analytic,
    complex_body="select(x != 0, log(select(x != 0, x, 1.0)), 0.0)",
)

# Trigonometric and hyperbolic.

sin = unary_op(
    "Sin",
    "sin(x)",
    lambda g, y, x: (g * cos(x),),
    rules.analytic,
    doc="""
    Sine of an angle in radians, elementwise; NaN where ``x`` is infinite.

    >>> tf.sin([0.0, np.pi / 2]).numpy()
    array([0., 1.], dtype=float32)
""",
)
cos: Recorder = unary_op(
    "Cos",
    "cos(x)",
    lambda g, y, x: (negative(g * sin(x)),),
    rules.analytic,
    doc="""
    Cosine of an angle in radians, elementwise; NaN where ``x`` is infinite.

    >>> tf.cos([0.0, np.pi]).numpy()
    array([ 1., -1.], dtype=float32)
""",
)
tan = unary_op(
    "Tan",
    "tan(x)",
    lambda g, y, x: (g * (1.0 + y * y),),
    rules.analytic,
    doc="""
    Tangent of an angle in radians, elementwise; NaN where ``x`` is infinite.

    >>> tf.tan([0.0, 0.5]).numpy()
    array([0.       , 0.5463025], dtype=float32)
""",
)
# 1 - x * x in a form that keeps all digits where x is near 1 or -1; its derivative keeps them where
# x is near 0.
one_minus_square = unary_op(
    "OneMinusSquare", "(1.0 - x) * (1.0 + x)", lambda g, y, x: (g * (-2.0 * x),), rules.analytic
)
asin = unary_op(
    "Asin",
    "asin(x)",
    lambda g, y, x: (ratio_or_zero(g, sqrt(one_minus_square(x))),),
    rules.analytic,
    doc="""
    Arc sine in radians, from -pi/2 to pi/2, elementwise; NaN outside of [-1, 1].

    >>> tf.asin([0.0, 1.0]).numpy()
    array([0.       , 1.5707963], dtype=float32)
""",
)
acos = unary_op(
    "Acos",
    "acos(x)",
    lambda g, y, x: (negative(ratio_or_zero(g, sqrt(one_minus_square(x)))),),
    rules.analytic,
    doc="""
    Arc cosine in radians, from 0 to pi, elementwise; NaN outside of [-1, 1].

    >>> tf.acos([1.0, 0.0]).numpy()
    array([0.       , 1.5707964], dtype=float32)
""",
)
# sqrt(x * x + y * y), safe where the squares would overflow or underflow. Derivatives divide by it.
_LARGER = "select(absolute(x) > absolute(y), absolute(x), absolute(y))"
_RATIO = f"select(absolute(x) > absolute(y), y, x) / {_LARGER}"
hypot: Recorder = binary_op(
    "Hypot",
    f"select({_LARGER} == 0, 0.0, {_LARGER} * sqrt(1.0 + ({_RATIO}) * ({_RATIO})))",
    lambda g, z, x, y: (g * ratio_or_zero(x, z), g * ratio_or_zero(y, z)),
    rules.floating,
)
atan = unary_op(
    "Atan",
    "atan(x)",
    lambda g, y, x: (_atan_vjp(g, x),),
    rules.analytic,
    doc="""
    Arc tangent in radians, from -pi/2 to pi/2, elementwise.

    >>> tf.atan([0.0, 1.0, np.inf]).numpy()
    array([0.       , 0.7853982, 1.5707964], dtype=float32)
""",
)
atan2 = binary_op(
    "Atan2",
    "atan2(x, y)",
    lambda g, z, x, y: (
        ratio_or_zero(multiply_no_nan(y / hypot(x, y), g), hypot(x, y)),
        negative(ratio_or_zero(multiply_no_nan(x / hypot(x, y), g), hypot(x, y))),
    ),
    rules.floating,
    "y x",
    doc="""
    The angle in radians, from -pi to pi, of the point whose coordinates are (x, y), elementwise.

    ``y`` comes first, as in C. The derivatives do not overflow where ``x * x + y * y`` would.

    >>> tf.atan2([1.0, 1.0], [1.0, -1.0]).numpy()
    array([0.7853982, 2.3561945], dtype=float32)
""",
)
sinh = unary_op(
    "Sinh",
    "sinh(x)",
    lambda g, y, x: (multiply_no_nan(cosh(x), g),),
    rules.analytic,
    doc="""
    Hyperbolic sine, elementwise.

    >>> tf.sinh([0.0, 1.0]).numpy()
    array([0.       , 1.1752012], dtype=float32)
""",
)
cosh: Recorder = unary_op(
    "Cosh",
    "cosh(x)",
    lambda g, y, x: (multiply_no_nan(sinh(x), g),),
    rules.analytic,
    doc="""
    Hyperbolic cosine, elementwise.

    >>> tf.cosh([0.0, 1.0]).numpy()
    array([1.       , 1.5430806], dtype=float32)
""",
)
# The derivative of ``y = tanh(x)``, computed from x where y is near 1 or -1.
tanh_slope: Recorder = binary_op(
    "TanhSlope", "tanh_slope(x, y)", lambda g, z, x, y: (None, g * (-2.0 * y)), rules.analytic
)
tanh = unary_op(
    "Tanh",
    "tanh(x)",
    lambda g, y, x: (g * tanh_slope(x, y),),
    rules.analytic,
    doc="""
    Hyperbolic tangent, elementwise: from -1 to 1.

    >>> tf.tanh([0.0, 0.5, 100.0]).numpy()
    array([0.        , 0.46211717, 1.        ], dtype=float32)
""",
)
asinh = unary_op(
    "Asinh",
    "asinh(x)",
    lambda g, y, x: (_asinh_vjp(g, x),),
    rules.analytic,
    doc="""
    Inverse hyperbolic sine, elementwise.

    >>> tf.asinh([0.0, 1.0]).numpy()
    array([0.       , 0.8813736], dtype=float32)
""",
)
acosh = unary_op(
    "Acosh",
    "acosh(x)",
    lambda g, y, x: (ratio_or_zero(g, sqrt(x - 1.0) * sqrt(x + 1.0)),),
    rules.analytic,
    doc="""
    Inverse hyperbolic cosine, elementwise; NaN where ``x`` is less than 1.

    >>> tf.acosh([1.0, 2.0]).numpy()
    array([0.      , 1.316958], dtype=float32)
""",
)
atanh = unary_op(
    "Atanh",
    "atanh(x)",
    lambda g, y, x: (ratio_or_zero(g, one_minus_square(x)),),
    rules.analytic,
    doc="""
    Inverse hyperbolic tangent, elementwise; infinite at -1 and 1, NaN beyond.

    >>> tf.atanh([0.0, 0.5]).numpy()
    array([0.        , 0.54930615], dtype=float32)
""",
)
# exp(-x * x) underflows to 0 for large x. In this order of factors the derivative is then 0 too.
gaussian: Recorder = unary_op("Gaussian", "exp(-(x * x))", lambda g, y, x: (g * (x * y) * -2.0,))
erf = unary_op(
    "Erf",
    "erf(x)",
    lambda g, y, x: (g * (2 / math.sqrt(math.pi) * gaussian(x)),),
    doc="""
    The error function ``2 / sqrt(pi) * integral of exp(-t * t) from 0 to x``, elementwise.

    >>> tf.math.erf([0.0, 0.5, 10.0]).numpy()
    array([0.       , 0.5204999, 1.       ], dtype=float32)
""",
)
erfc = unary_op(
    "Erfc",
    "erfc(x)",
    lambda g, y, x: (g * (-2 / math.sqrt(math.pi) * gaussian(x)),),
    doc="""
    ``1 - erf(x)``, elementwise, with full relative accuracy where the result is small.

    For large ``x`` it uses the fit of Shepherd and Laframboise, Mathematics of Computation 36
    (1981).

    >>> tf.math.erfc([0.0, 5.0]).numpy()
    array([1.0000000e+00, 1.5374598e-12], dtype=float32)
""",
)


# Rounding. No gradient flows through these ops.

floor = unary_op(
    "Floor",
    "floor(x)",
    gradient=STOP,
    doc="""
    The largest integer not greater than ``x``, as a float, elementwise. No gradient flows through.

    >>> tf.floor([1.7, -1.2]).numpy()
    array([ 1., -2.], dtype=float32)
""",
)
ceil = unary_op(
    "Ceil",
    "ceil(x)",
    gradient=STOP,
    doc="""
    The smallest integer not less than ``x``, as a float, elementwise. No gradient flows through.

    >>> tf.math.ceil([1.2, -1.7]).numpy()
    array([ 2., -1.], dtype=float32)
""",
)
round_float = unary_op("Round", "rint(x)", gradient=STOP)
rint = unary_op(
    "Rint",
    "rint(x)",
    gradient=STOP,
    doc="""
    The nearest integer, as a float, elementwise; halves round to even.

    No gradient flows through. `round` also takes integers.

    >>> tf.math.rint([0.5, 1.5, 2.6]).numpy()
    array([0., 2., 3.], dtype=float32)
""",
)


# Ops of three operands, and ops with attributes.


def _select_spec(op: Op, condition: Spec, x: Spec, y: Spec) -> Spec:
    if not condition.dtype.is_bool:
        raise dtypes.mismatch_error(op.name, 0, bool_, condition.dtype)
    if x.dtype is not y.dtype:
        raise dtypes.mismatch_error(op.name, 2, x.dtype, y.dtype)
    return intern(broadcast(op.name, condition, x, y), x.dtype)


SELECT = defop(
    "SelectV2",
    ELEMENTWISE,
    3,
    _select_spec,
    body="select(x, y, z)",
    vjp=lambda g, o, c, x, y: (None, select(c, g, 0.0), select(c, 0.0, g)),
    complex_vjp="analytic",
)


# ``x`` where the condition holds, else ``y``; all three operands broadcast.
select: Recorder = ternary(SELECT)


def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor:
    """Clip ``t`` to the range from ``clip_value_min`` to ``clip_value_max``.

    The gradient goes to ``t`` where it lies inside the range or on a bound, and elsewhere to the
    bound. If the lower bound exceeds the upper one, the result is ``clip_value_min``.

    Args:
      t: A tensor of numbers.
      clip_value_min: The lower bound: a tensor of the same dtype that broadcasts to ``t``.
      clip_value_max: The upper bound: a tensor of the same dtype that broadcasts to ``t``.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``t``.

    Raises:
      ValueError: If a bound has more elements than ``t`` along an axis.
      InvalidArgumentError: If the shapes do not broadcast, or the dtypes differ.

    Example:
      >>> tf.clip_by_value([-1.0, 0.5, 2.0], 0.0, 1.0).numpy()
      array([0. , 0.5, 1. ], dtype=float32)
    """
    try:
        x = t if type(t) is Tensor else as_tensor(t)
    except Exception:
        return recover(clip_by_value, t, clip_value_min, clip_value_max)  # type: ignore[no-any-return]
    clipped = maximum(minimum(x, clip_value_max), clip_value_min)
    if clipped._spec is not x._spec and clipped.shape != x.shape:
        raise ValueError(
            f"Shapes {x.shape} and {clipped.shape} are incompatible: bounds broadcast to `t`, not "
            f"`t` to bounds."
        )
    return clipped


def _cast_spec(op: Op, x: Spec, dtype: str) -> Spec:
    return intern(tuple(x.shape), as_dtype(dtype))


def _cast_vjp(g: Tensor, y: Tensor, x: Tensor, dtype: str) -> tuple[Tensor | None]:
    return (cast(g, x.dtype) if x._spec.inexact else None,)


CAST = defop(
    "Cast", ELEMENTWISE, 1, _cast_spec, body="cast(x)", vjp=_cast_vjp, complex_vjp="explicit"
)
RuleLog.to_complex = CAST.code({"dtype": "complex128"})
CAST_TO_BOOL = defop(
    "Cast", ELEMENTWISE, 1, _cast_spec, body="x != 0", gradient=STOP, complex_vjp="explicit"
)
_CASTS = {x: unary(CAST_TO_BOOL if x.is_bool else CAST, dtype=x.name) for x in dtypes.ALL}


def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Convert the elements to another dtype.

    Floats are truncated to integers. True becomes 1, and any number but 0 becomes True. Complex
    numbers lose their imaginary part when they become floats or integers. The gradient passes
    between floats and complex numbers, and is converted back.

    Args:
      x: A tensor, or a value that converts to one.
      dtype: A `DType`, or a value that `as_dtype` takes.
      name: Not used.

    Returns:
      A tensor of the shape of ``x`` and dtype ``dtype``; ``x`` itself if it is such a tensor.

    Raises:
      TypeError: If ``dtype`` does not name a dtype.

    Example:
      >>> tf.cast([1.9, -1.9, 0.0], tf.int32).numpy()
      array([ 1, -1,  0], dtype=int32)
      >>> tf.cast([1.9, -1.9, 0.0], tf.bool).numpy()
      array([ True,  True, False])
    """
    target: DType = dtype if type(dtype) is DType else as_dtype(dtype)
    if type(x) is Tensor:
        return x if x._spec.dtype is target else _CASTS[target](x)
    spec = spec_of(x)
    if spec is not None and spec.dtype is target:
        return x  # type: ignore[return-value]
    try:
        tensor = as_tensor(x)
    except Exception:
        return recover(cast, x, target)  # type: ignore[no-any-return]
    if tensor.dtype is target:
        return tensor
    return _CASTS[target](tensor)


def as_indices(x: Tensor, dtype: DType) -> Tensor:
    """Cast indices to an integer dtype; NaN becomes the least integer, which range checks reject.

    `cast` would turn NaN into 0, which is a valid index.
    """
    if x._spec.is_float:
        x = select(x == x, x, -math.inf)
    return cast(x, dtype)


def _real_part(x: Tensor) -> Tensor:
    return cast(cast(x, x.dtype.real_dtype), x.dtype) if x.dtype.is_complex else x


def _sign_vjp(g: Tensor, y: Tensor, x: Tensor) -> Tensor:
    tangential = g - y * _real_part(conjugate(y) * g) if x.dtype.is_complex else None
    return (
        zeros_of(x)
        if tangential is None
        else real_divide_no_nan(tangential, cast(abs_(x), x.dtype))
    )


def _abs_vjp(g: Tensor, x: Tensor) -> Tensor:
    return (cast(g, x.dtype) if x.dtype.is_complex else g) * sign(x)


def _log_is_defined(x: Tensor) -> Tensor:
    return not_equal_(x, 0.0) if x.dtype.is_complex else x > 0.0


def _atan_vjp(g: Tensor, x: Tensor) -> Tensor:
    """Return ``g / (1 + x * x)``, for real numbers without overflow."""
    return g / (1.0 + x * x) if x.dtype.is_complex else g / hypot(x, 1.0) / hypot(x, 1.0)


def _asinh_vjp(g: Tensor, x: Tensor) -> Tensor:
    """Return ``g / sqrt(1 + x * x)``, for real numbers without overflow."""
    return g / sqrt(1.0 + x * x) if x.dtype.is_complex else g / hypot(x, 1.0)


def zeros_of(x: Tensor) -> Tensor:
    """Return zeros of the shape and dtype of ``x``."""
    zero: Tensor = as_tensor(0, x._spec, SELECT.name)
    return broadcast_to(zero, tuple(x.shape)) if x.ndim else zero


# Functions composed of several ops.


@dispatches
def round_(x: TensorLike, name: str | None = None) -> Tensor:
    """Round to the nearest integer, elementwise; halves round to even. Integers are unchanged.

    No gradient flows through.

    Args:
      x: A tensor of numbers.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Example:
      >>> tf.round([0.5, 1.5, 2.6]).numpy()
      array([0., 2., 3.], dtype=float32)
    """
    x = as_tensor(x)
    return round_float(x) if x._spec.is_float else x


name_functions(globals(), __name__)
