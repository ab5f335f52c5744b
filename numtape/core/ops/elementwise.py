"""Elementwise ops: a scalar body, a rule that reads like a table of derivatives."""

from __future__ import annotations

import math
from typing import Any

from ..log.op import CUT, ELEMENTWISE, STOP, Op, defop
from ..log.record import Recorder, as_tensor, binary, public, record, spec_of, unary
from ..values import dtypes
from ..values.dtypes import DType, as_dtype, bool_
from ..values.spec import Spec, broadcast, intern
from ..values.tensor import Tensor
from . import rules
from .movement import broadcast_to


def _unary(
    name: str, body: str, vjp: Any = None, spec: Any = rules.floating, argument: str = "x",
    **more: Any,
) -> Recorder:  # fmt: skip
    op = defop(name, ELEMENTWISE, 1, spec, body=body, vjp=vjp, **more)
    return public(unary(op), __name__, argument)


def _binary(
    name: str, body: str, vjp: Any = None, spec: Any = rules.number, arguments: str = "x y",
    **more: Any,
) -> Recorder:  # fmt: skip
    op = defop(name, ELEMENTWISE, 2, spec, body=body, vjp=vjp, **more)
    return public(binary(op), __name__, arguments)


# Arithmetic.

add = _binary("AddV2", "x + y", lambda g, z, x, y: (g, g))
subtract = _binary("Sub", "x - y", lambda g, z, x, y: (g, negative(g)))
multiply = _binary("Mul", "x * y", lambda g, z, x, y: (g * y, g * x))
# A float quotient; `divide` below says what happens to integers.
real_divide = _binary(
    "RealDiv", "x / y", lambda g, z, x, y: (g / y, negative(g * z / y)), rules.floating
)
floor_divide_float = _binary("FloorDiv", "floor(x / y)", spec=rules.floating, gradient=STOP)
floor_divide_int = _binary("FloorDiv", "floor_divide(x, y)", spec=rules.integer, gradient=STOP)
# Exact, unlike x - y * floor(x / y), and right for an infinite y.
floor_mod_float = _binary(
    "FloorMod",
    "select((fmod(x, y) != 0) & ((fmod(x, y) < 0) != (y < 0)), fmod(x, y) + y, fmod(x, y))",
    lambda g, z, x, y: (g, negative(g * floor_divide_float(x, y))), rules.floating,
)  # fmt: skip
floor_mod_int = _binary("FloorMod", "x % y", spec=rules.integer, gradient=STOP)
pow_float: Recorder = _binary(
    "Pow", "power(x, y)",
    lambda g, z, x, y: (g * y * pow_float(x, y - 1.0), g * z * log_or_zero(x)), rules.floating,
)  # fmt: skip
pow_int = _binary("Pow", "int_power(x, y)", spec=rules.integer, gradient=STOP)
squared_difference = _binary(
    "SquaredDifference", "(x - y) * (x - y)",
    lambda g, z, x, y: (g * (2.0 * (x - y)), g * (2.0 * (y - x))),
)  # fmt: skip
# 0 where the numerator is 0, whatever the denominator; 0 where the denominator is 0.
ratio_or_zero: Recorder = _binary(
    "RatioOrZero", "select(x == 0, 0.0, x / y)",
    lambda g, z, x, y: (g / y, negative(ratio_or_zero(g * z, y))), rules.floating,
)  # fmt: skip
real_divide_no_nan: Recorder = _binary(
    "DivNoNan", "select(y == 0, 0.0, x / y)",
    lambda g, z, x, y: (real_divide_no_nan(g, y), negative(real_divide_no_nan(g * z, y))),
    rules.floating,
)  # fmt: skip
multiply_no_nan: Recorder = _binary(
    "MulNoNan", "select(y == 0, 0.0, x * y)",
    lambda g, z, x, y: (multiply_no_nan(g, y), multiply_no_nan(x, g)), rules.floating,
)  # fmt: skip
# At a tie the first operand gets it all.
maximum = _binary(
    "Maximum", "select(x >= y, x, select(y > x, y, x + y))",
    lambda g, z, x, y: (select(x >= y, g, 0.0), select(x >= y, 0.0, g)),
)  # fmt: skip
minimum = _binary(
    "Minimum", "select(x <= y, x, select(y < x, y, x + y))",
    lambda g, z, x, y: (select(x <= y, g, 0.0), select(x <= y, 0.0, g)),
)  # fmt: skip
negative: Recorder = _unary("Neg", "-x", lambda g, y, x: (negative(g),), rules.number)
abs_ = _unary("Abs", "absolute(x)", lambda g, y, x: (g * sign(x),), rules.number)
sign: Recorder = _unary(
    "Sign", "select(x > 0, 1, select(x < 0, -1, select(x == 0, 0, x)))",
    lambda g, y, x: (zeros_of(x),), rules.number,
)  # fmt: skip
square = _unary("Square", "x * x", lambda g, y, x: (g * (2.0 * x),), rules.number)
reciprocal = _unary("Reciprocal", "1.0 / x", lambda g, y, x: (negative(g * y * y),))
stop_gradient = _unary("StopGradient", "x", None, rules.same, "input", gradient=CUT)
shuffled = _unary("RandomShuffle", "x", None, rules.same, gradient=STOP)
zeros_as = _unary("ZerosLike", "0", None, rules.same, "input", gradient=STOP)
ones_as = _unary("OnesLike", "1", None, rules.same, "input", gradient=STOP)

# Powers, exponentials, logarithms.

sqrt = _unary("Sqrt", "sqrt(x)", lambda g, y, x: (ratio_or_zero(0.5 * g, y),))
rsqrt = _unary("Rsqrt", "1.0 / sqrt(x)", lambda g, y, x: (-0.5 * g * (y * y * y),))
exp = _unary("Exp", "exp(x)", lambda g, y, x: (g * y,))
expm1 = _unary("Expm1", "expm1(x)", lambda g, y, x: (g * exp(x),))
log = _unary("Log", "log(x)", lambda g, y, x: (g / x,))
log1p = _unary("Log1p", "log1p(x)", lambda g, y, x: (g / (1.0 + x),))
# The logarithm in the derivative of a power by its exponent: 0 where the base is not positive.
log_or_zero: Recorder = _unary(
    "LogOrZero", "select(x > 0, log(select(x > 0, x, 1.0)), 0.0)",
    lambda g, y, x: (select(x > 0.0, g / select(x > 0.0, x, 1.0), 0.0),),
)  # fmt: skip

# Trigonometric and hyperbolic.

sin = _unary("Sin", "sin(x)", lambda g, y, x: (g * cos(x),))
cos: Recorder = _unary("Cos", "cos(x)", lambda g, y, x: (negative(g * sin(x)),))
tan = _unary("Tan", "tan(x)", lambda g, y, x: (g * (1.0 + y * y),))
asin = _unary("Asin", "asin(x)", lambda g, y, x: (g / sqrt(1.0 - x * x),))
acos = _unary("Acos", "acos(x)", lambda g, y, x: (negative(g / sqrt(1.0 - x * x)),))
# sqrt(x * x + y * y), where the squares may be too large or too small: what derivatives divide by.
_LARGER = "select(absolute(x) > absolute(y), absolute(x), absolute(y))"
_RATIO = f"select(absolute(x) > absolute(y), y, x) / {_LARGER}"
hypot: Recorder = _binary(
    "Hypot", f"select({_LARGER} == 0, 0.0, {_LARGER} * sqrt(1.0 + ({_RATIO}) * ({_RATIO})))",
    lambda g, z, x, y: (g * (x / z), g * (y / z)), rules.floating,
)  # fmt: skip
atan = _unary("Atan", "atan(x)", lambda g, y, x: (g / hypot(x, 1.0) / hypot(x, 1.0),))
atan2 = _binary(
    "Atan2", "atan2(x, y)",
    lambda g, z, x, y: (
        g * (y / hypot(x, y)) / hypot(x, y), negative(g * (x / hypot(x, y)) / hypot(x, y)),
    ), rules.floating, "y x",
)  # fmt: skip
sinh = _unary("Sinh", "sinh(x)", lambda g, y, x: (g * cosh(x),))
cosh: Recorder = _unary("Cosh", "cosh(x)", lambda g, y, x: (g * sinh(x),))
tanh = _unary("Tanh", "tanh(x)", lambda g, y, x: (g * (1.0 - y * y),))
asinh = _unary("Asinh", "asinh(x)", lambda g, y, x: (g / hypot(x, 1.0),))
acosh = _unary("Acosh", "acosh(x)", lambda g, y, x: (g / (sqrt(x - 1.0) * sqrt(x + 1.0)),))
atanh = _unary("Atanh", "atanh(x)", lambda g, y, x: (g / (1.0 - x * x),))
# Far out it is 0, and the products with it are, in this order.
bell: Recorder = _unary("Bell", "exp(-(x * x))", lambda g, y, x: (g * (x * y) * -2.0,))
erf = _unary("Erf", "erf(x)", lambda g, y, x: (g * (2 / math.sqrt(math.pi) * bell(x)),))
erfc = _unary("Erfc", "erfc(x)", lambda g, y, x: (g * (-2 / math.sqrt(math.pi) * bell(x)),))

# Activations. What a rule chooses by `where` must be finite on both sides: its own derivative
# multiplies the side that is not taken by 0.

sigmoid = _unary("Sigmoid", "sigmoid(x)", lambda g, y, x: (g * (y * (1.0 - y)),))
softplus = _unary(
    "Softplus", "select(x > 0, x, 0.0) + log1p(exp(-absolute(x)))",
    lambda g, y, x: (g * sigmoid(x),), argument="features",
)  # fmt: skip
relu = _unary(
    "Relu", "select(x <= 0, 0, x)", lambda g, y, x: (relu_gate(g, y),), rules.number, "features"
)
# g where the output of relu was positive.
relu_gate: Recorder = _binary(
    "ReluGrad", "select(y > 0, x, 0)", lambda g, z, x, y: (relu_gate(g, y), zeros_of(y)),
)  # fmt: skip
relu6 = _unary(
    "Relu6", "select(x <= 0, 0, select(x >= 6, 6, x))",
    lambda g, y, x: (relu6_gate(g, y),), rules.number, "features",
)  # fmt: skip
relu6_gate: Recorder = _binary(
    "Relu6Grad", "select((y > 0) & (y < 6), x, 0)",
    lambda g, z, x, y: (relu6_gate(g, y), zeros_of(y)),
)  # fmt: skip
elu = _unary(
    "Elu", "select(x < 0, expm1(x), x)", lambda g, y, x: (g * exp(select(x < 0.0, x, 0.0)),),
    argument="features",
)  # fmt: skip
selu = _unary(
    "Selu", "select(x < 0, 1.7580993408473766 * expm1(x), 1.0507009873554805 * x)",
    lambda g, y, x: (g * select(
        x < 0.0, 1.7580993408473766 * exp(select(x < 0.0, x, 0.0)), 1.0507009873554805
    ),), argument="features",
)  # fmt: skip
softsign = _unary(
    "Softsign", "x / (absolute(x) + 1.0)",
    lambda g, y, x: (g / (abs_(x) + 1.0) / (abs_(x) + 1.0),), argument="features",
)  # fmt: skip

# Rounding: no gradient flows through.

floor = _unary("Floor", "floor(x)", gradient=STOP)
ceil = _unary("Ceil", "ceil(x)", gradient=STOP)
round_float = _unary("Round", "rint(x)", gradient=STOP)

# Comparisons and logic.

equal_ = _binary("Equal", "x == y", spec=rules.compared, gradient=STOP)
not_equal_ = _binary("NotEqual", "x != y", spec=rules.compared, gradient=STOP)
less = _binary("Less", "x < y", spec=rules.ordered, gradient=STOP)
less_equal = _binary("LessEqual", "x <= y", spec=rules.ordered, gradient=STOP)
greater = _binary("Greater", "x > y", spec=rules.ordered, gradient=STOP)
greater_equal = _binary("GreaterEqual", "x >= y", spec=rules.ordered, gradient=STOP)
logical_and: Recorder = _binary("LogicalAnd", "x & y", spec=rules.boolean, gradient=STOP)
logical_or = _binary("LogicalOr", "x | y", spec=rules.boolean, gradient=STOP)
logical_xor = _binary("LogicalXor", "x != y", spec=rules.boolean, gradient=STOP)
logical_not = _unary("LogicalNot", "x == False", spec=rules.boolean, gradient=STOP)
bitwise_and = _binary("BitwiseAnd", "x & y", spec=rules.integer, gradient=STOP)
bitwise_or = _binary("BitwiseOr", "x | y", spec=rules.integer, gradient=STOP)
bitwise_xor = _binary("BitwiseXor", "x ^ y", spec=rules.integer, gradient=STOP)
invert = _unary("Invert", "~x", spec=rules.integer, gradient=STOP)
is_nan = _unary("IsNan", "isnan(x)", spec=rules.tested)
is_inf = _unary("IsInf", "isinf(x)", spec=rules.tested)
is_finite = _unary("IsFinite", "isfinite(x)", spec=rules.tested)


# Ops of three operands, and ops with attributes.


def _select_spec(op: Op, condition: Spec, x: Spec, y: Spec) -> Spec:
    if not condition.dtype.is_bool:
        raise dtypes.mismatch(op.name, 0, bool_, condition.dtype)
    if x.dtype is not y.dtype:
        raise dtypes.mismatch(op.name, 2, x.dtype, y.dtype)
    return intern(broadcast(op.name, condition, x, y), x.dtype)


SELECT = defop(
    "SelectV2", ELEMENTWISE, 3, _select_spec, body="select(x, y, z)",
    vjp=lambda g, o, c, x, y: (None, select(c, g, 0.0), select(c, 0.0, g)),
)  # fmt: skip

# The slope y where z is not positive.
LEAKY_RELU = defop(
    "LeakyRelu", ELEMENTWISE, 2, rules.floating, body="select(x > 0, x, x * y)",
    vjp=lambda g, o, x, slope: (
        record(LEAKY_GATE, (g, slope, x)), select(x > 0.0, 0.0, g * x),
    ),
)  # fmt: skip
LEAKY_GATE: Op = defop(
    "LeakyReluGrad", ELEMENTWISE, 3, rules.floating, body="select(z > 0, x, x * y)",
    vjp=lambda h, o, g, slope, x: (
        record(LEAKY_GATE, (h, slope, x)), select(x > 0.0, 0.0, h * g), zeros_of(x),
    ),
)  # fmt: skip


def select(condition: Any, x: Any, y: Any) -> Tensor:
    """``x`` where ``condition`` holds, else ``y``; all three broadcast."""
    like = spec_of(x) or spec_of(y)
    return record(
        SELECT, (as_tensor(condition), _like(x, like), _like(y, like or spec_of(_like(x, like))))
    )


def _like(value: Any, like: Spec | None) -> Any:
    return value if spec_of(value) is not None else as_tensor(value, like, "SelectV2")


def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Tensor:
    """``t`` limited to the range from ``clip_value_min`` to ``clip_value_max``.

    The gradient passes where ``t`` lies inside or on a bound. Of bounds that are the wrong way
    round, ``clip_value_min`` is the result.

    Raises:
      ValueError: If a bound has more elements than ``t`` along an axis.
    """
    x = as_tensor(t)
    found = maximum(minimum(x, clip_value_max), clip_value_min)
    if found.shape != x.shape:
        raise ValueError(
            f"Shapes {x.shape} and {found.shape} are incompatible: bounds broadcast to `t`, not "
            f"`t` to bounds."
        )
    return found


def _cast_spec(op: Op, x: Spec, dtype: str) -> Spec:
    return intern(tuple(x.shape), as_dtype(dtype))


def _cast_vjp(g: Tensor, y: Tensor, x: Tensor, dtype: str) -> tuple[Tensor | None]:
    return (cast(g, x.dtype) if x.dtype.is_floating else None,)


CAST = defop("Cast", ELEMENTWISE, 1, _cast_spec, body="cast(x)", vjp=_cast_vjp)
CAST_TO_BOOL = defop("Cast", ELEMENTWISE, 1, _cast_spec, body="x != 0", gradient=STOP)


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """``x`` converted to ``dtype`` (floats are truncated to integers)."""
    wanted: DType = as_dtype(dtype)
    spec = spec_of(x)
    if spec is not None and spec.dtype is wanted:
        return x  # type: ignore[no-any-return]
    tensor = as_tensor(x)
    if tensor.dtype is wanted:
        return tensor
    return record(CAST_TO_BOOL if wanted.is_bool else CAST, (tensor,), dtype=wanted.name)


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """``x`` where positive, ``alpha * x`` elsewhere. Its slope at 0 is ``alpha``."""
    x = as_tensor(features)
    if not x.dtype.is_floating:
        x = cast(x, dtypes.float32)
    return record(LEAKY_RELU, (x, alpha))


def zeros_of(x: Tensor) -> Tensor:
    """Zeros of the shape and dtype of ``x``."""
    zero: Tensor = _like(0, x._spec)
    return broadcast_to(zero, tuple(x.shape)) if x.ndim else zero


# Of several ops.


def round_(x: Any, name: str | None = None) -> Tensor:
    """The nearest integer, halves to even; integers stay as they are."""
    x = as_tensor(x)
    return round_float(x) if x._spec.is_float else x


def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether elements are equal."""
    return equal_(x, y)


def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether elements differ."""
    return not_equal_(x, y)


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """``log(sigmoid(x))``, without overflow."""
    return negative(softplus(negative(x)))


for _name, _function in list(globals().items()):
    if hasattr(_function, "op"):
        _function.__name__, _function.__qualname__ = _name.rstrip("_"), _name
