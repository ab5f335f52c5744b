"""Elementary functions of the CPU's lane kernels, free of branches and calls, so that LLVM
vectorises a loop over them.

A function here is written once with `Value`, whose operators write LLVM instructions; Numba
sees one call, so it has nothing to type and a lane kernel compiles fast. There is no fast-math:
where a product and a sum may be one instruction, `fma` says so, and it does on every machine
either always or never. So an element's bits do not depend on its place in the loop. Where the
machine has no fused instruction, nothing relies on one.

The float32 functions compute in float64: half as many lanes, but the polynomials are short,
and rounding once at the end leaves hardly more than half a unit in the last place.

Coefficients are minimax fits (Remez's algorithm), good to a few percent of a unit in the last
place of the result; reductions follow W. J. Cody and W. Waite, "Software Manual for the
Elementary Functions" (1980), and, for log, P. T. P. Tang's and fdlibm's s = f / (2 + f).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

INT64 = ir.IntType(64)
FLOAT32 = ir.FloatType()
FLOAT64 = ir.DoubleType()


class Value:
    """A float64 or an int64 in the code that is being written.

    Arithmetic with it writes instructions; a Python number beside it is a constant of its type.
    ``>>`` is logical, comparisons with NaN are false.
    """

    __slots__ = ("_builder", "_ir")

    def __init__(self, builder: Any, value: Any) -> None:
        self._builder = builder
        self._ir = value

    def _operand(self, other: Any) -> Any:
        return other._ir if isinstance(other, Value) else ir.Constant(self._ir.type, other)

    def _new(self, name: str, *operands: Any) -> Value:
        return Value(self._builder, getattr(self._builder, name)(*operands))

    def _arithmetic(self, name: str, x: Any, y: Any) -> Value:
        kind = "" if self._ir.type is INT64 else "f"
        return self._new(kind + name, self._operand(x), self._operand(y))

    def __add__(self, other: Any) -> Value:
        return self._arithmetic("add", self, other)

    def __sub__(self, other: Any) -> Value:
        return self._arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self._arithmetic("sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self._arithmetic("mul", self, other)

    def __truediv__(self, other: Any) -> Value:
        return self._arithmetic("div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self._arithmetic("div", other, self)

    def __and__(self, other: Any) -> Value:
        return self._new("and_", self._ir, self._operand(other))

    def __or__(self, other: Any) -> Value:
        return self._new("or_", self._ir, self._operand(other))

    def __xor__(self, other: Any) -> Value:
        return self._new("xor", self._ir, self._operand(other))

    def __lshift__(self, count: int) -> Value:
        return self._new("shl", self._ir, self._operand(count))

    def __rshift__(self, count: int) -> Value:
        return self._new("lshr", self._ir, self._operand(count))

    def compare(self, sign: str, other: Any) -> Value:
        """``self sign other``, a condition for `select`."""
        name = "icmp_signed" if self._ir.type is INT64 else "fcmp_ordered"
        return self._new(name, sign, self._ir, self._operand(other))

    def select(self, yes: Any, no: Any) -> Value:
        """One of two floats, of which one is a Value."""
        like = yes if isinstance(yes, Value) else no
        return self._new("select", self._ir, like._operand(yes), like._operand(no))

    def bits(self) -> Value:
        """The int64 with the same bits."""
        return self._new("bitcast", self._ir, INT64)

    def number(self) -> Value:
        """The float64 with the same bits."""
        return self._new("bitcast", self._ir, FLOAT64)

    def call(self, name: str, *others: Any) -> Value:
        """LLVM's intrinsic of that name."""
        operands = [self._ir, *map(self._operand, others)]
        kind = ir.FunctionType(FLOAT64, [FLOAT64] * len(operands))
        function = self._builder.module.declare_intrinsic(name, [FLOAT64], kind)
        return self._new("call", function, operands)


Function = Callable[[Value], Value]


def fma(x: Value, y: Any, z: Any) -> Value:
    """``x * y + z``, rounded once where the machine can."""
    return x.call("llvm.fmuladd", y, z)


def absolute(x: Value) -> Value:
    """``|x|``."""
    return x.call("llvm.fabs")


def copysign(x: Value, y: Value) -> Value:
    """``|x|`` with the sign of ``y``."""
    return x.call("llvm.copysign", y)


def below(x: Value, limit: float) -> Value:
    """``x``, at most ``limit``; NaN stays NaN."""
    return x.compare(">", limit).select(limit, x)


def above(x: Value, limit: float) -> Value:
    """``x``, at least ``limit``; NaN stays NaN."""
    return x.compare("<", limit).select(limit, x)


def polynomial(x: Value, coefficients: list[float]) -> Value:
    """``c[0] + c[1] * x + ...`` by Horner's rule."""
    found: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        found = fma(x, found, c)
    return found


# Adding this rounds a float64 to an integer, which then is in the lowest bits of the sum.
ROUND = 1.5 * 2.0**52
# The same, with the bias of float64's exponents added: shifted by 52 it is a power of two.
ROUND_BIASED = ROUND + 1023.0

LOG2_E = 1 / math.log(2)
LN2 = math.log(2)
# ln 2 in two parts: multiples of the first, up to 2**20, are exact.
LN2_HIGH = 0.6931471803691238
LN2_LOW = 1.9082149292705877e-10

# (exp(r) - 1 - r) / r**2 for |r| <= ln 2 / 2
EXP_32 = [
    0.4999999344971312, 0.16666520631544604, 0.04166838740726171, 0.008368716961335974,
    0.0013814639130251204,
]  # fmt: skip
EXP_64 = [
    0.5000000000000011, 0.16666666666666413, 0.041666666666530155, 0.00833333333349447,
    0.0013888888943630361, 0.00019841269506555356, 2.4801493098733352e-05, 2.755758639674158e-06,
    2.763024842243285e-07, 2.5000053878886233e-08,
]  # fmt: skip


def _exp_32(x: Value) -> Value:
    """0.51 ulp."""
    x = above(below(x, 90.0), -105.0)
    rounded = fma(x, LOG2_E, ROUND_BIASED)
    r = fma(rounded - ROUND_BIASED, -LN2, x)
    p = fma(r, fma(r, polynomial(r, EXP_32), 1.0), 1.0)
    return p * (rounded.bits() << 52).number()


def _exp_64(x: Value) -> Value:
    """1 ulp."""
    x = above(below(x, 710.0), -746.0)
    rounded = fma(x, LOG2_E, ROUND_BIASED)
    k = rounded - ROUND_BIASED
    r = fma(k, -LN2_LOW, fma(k, -LN2_HIGH, x))
    p = fma(r * r, polynomial(r, EXP_64), r) + 1.0
    # 2**k in two factors: k reaches 1024 and -1076.
    half = fma(x, 0.5 * LOG2_E, ROUND_BIASED)
    rest = rounded.bits() - half.bits() + 1023
    return p * (half.bits() << 52).number() * (rest << 52).number()


def _expm1_32(x: Value) -> Value:
    """0.51 ulp."""
    return copysign(_less_one_32(above(below(x, 90.0), -20.0)), x)


def _less_one_32(x: Value) -> Value:
    rounded = fma(x, LOG2_E, ROUND_BIASED)
    r = fma(rounded - ROUND_BIASED, -LN2, x)
    power = (rounded.bits() << 52).number()
    return fma(power, fma(r * r, polynomial(r, EXP_32), r), power - 1.0)


def _tanh_32(x: Value) -> Value:
    """0.51 ulp."""
    e = _less_one_32(below(absolute(x), 10.0) * 2.0)
    return copysign(e / (e + 2.0), x)


def _expm1_64(x: Value) -> Value:
    """1.5 ulp."""
    y = above(below(x, 710.0), -40.0)
    rounded = fma(y, LOG2_E, ROUND_BIASED)
    k = rounded - ROUND_BIASED
    r = fma(k, -LN2_LOW, fma(k, -LN2_HIGH, y))
    # Half of the power of two, because 2.0**1024 is inf; smaller numbers are left alone.
    half = (rounded.bits() - 1 << 52).number()
    found = fma(half, r * r * polynomial(r, EXP_64), fma(half, r, half - 0.5)) * 2.0
    return absolute(x).compare("<", 2.0**-54).select(x, found)


def _tanh_64(x: Value) -> Value:
    """2 ulp."""
    y = below(absolute(x), 20.0) * 2.0
    rounded = fma(y, LOG2_E, ROUND_BIASED)
    k = rounded - ROUND_BIASED
    r = fma(k, -LN2_LOW, fma(k, -LN2_HIGH, y))
    power = (rounded.bits() << 52).number()
    e = fma(power, r * r * polynomial(r, EXP_64), fma(power, r, power - 1.0))
    return copysign(e / (e + 2.0), x)


# (log(1 + f) - f) / f**2 for sqrt(0.5) <= 1 + f <= sqrt(2)
LOG_32 = [
    -0.4999998834591468, 0.33333325684032494, -0.2500158303207826, 0.20001974427488015,
    -0.1660908109258764, 0.14181814981859112, -0.13242990664608909, 0.1290449848176276,
    -0.07621849131526603,
]  # fmt: skip
# (2 * atanh(s) / s - 2) / z, where z = s * s and s = f / (2 + f)
LOG_64 = [
    0.6666666666666735, 0.3999999999941109, 0.2857142874326393, 0.22222198475824748,
    0.1818356974868638, 0.15313903015358185, 0.14797510056010874,
]  # fmt: skip

_ONE = 1023 << 52
_MANTISSA = (1 << 52) - 1
_SQRT_HALF = 0x3FE6A09E667F3BCD


def _split(x: Value) -> tuple[Value, Value, Value]:
    """``k``, ``m`` and ``2**-k``: ``x == m * 2**k`` and m lies between sqrt(0.5) and sqrt(2).

    The power is infinite or negative from 2**1023 on.
    """
    shifted = x.bits() + (_ONE - _SQRT_HALF)
    # An integer below 2**52 becomes a float64 as the mantissa of 2**52 and more.
    k = ((shifted >> 52) | (1075 << 52)).number() - (2.0**52 + 1023.0)
    m = ((shifted & _MANTISSA) + _SQRT_HALF).number()
    return k, m, ((2046 << 52) - (shifted & ~_MANTISSA)).number()


def _log_ends(x: Value, found: Value) -> Value:
    """``found``, or the logarithm of an ``x`` that is not a positive finite number."""
    found = x.compare("<", math.inf).select(found, x)
    end = x.compare("==", 0.0).select(x * 0.0 - math.inf, math.nan)
    return x.compare("<=", 0.0).select(end, found)


def _log_32(x: Value) -> Value:
    """0.51 ulp."""
    k, m, _ = _split(x)
    f = m - 1.0
    return _log_ends(x, fma(k, LN2, fma(f * f, polynomial(f, LOG_32), f)))


def _log1p_32(x: Value) -> Value:
    """0.51 ulp."""
    u = x + 1.0
    k, m, _ = _split(u)
    f = k.compare("==", 0.0).select(x, m - 1.0)
    found = fma(k, LN2, fma(f * f, polynomial(f, LOG_32), f))
    return copysign(_log_ends(u, found), x)


def _log_sum(k: Value, f: Value, more: Any) -> Value:
    """``log(2**k * (1 + f)) + more``, added from small to large."""
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    tail = fma(k, LN2_LOW, s * fma(z, polynomial(z, LOG_64), half)) + more
    return fma(k, LN2_HIGH, f - (half - tail))


def _log_64(x: Value) -> Value:
    """1 ulp."""
    # Denormal numbers are made normal first.
    small = x.compare("<", 2.0**-1022)
    k, m, _ = _split(small.select(x * 2.0**54, x))
    return _log_ends(x, _log_sum(small.select(k - 54.0, k), m - 1.0, 0.0))


def _log1p_64(x: Value) -> Value:
    """1 ulp."""
    u = x + 1.0
    # What the sum lost, whichever operand is larger.
    back = u - 1.0
    lost = (1.0 - (u - back)) + (x - back)
    k, m, scale = _split(u)
    whole = k.compare("==", 0.0)
    f = whole.select(x, m - 1.0)
    # lost / u, to first order. 2**-k counts only where u is small; past 2**1022 it is not finite.
    lost = lost * above(scale, 0.0)
    return copysign(_log_ends(u, _log_sum(k, f, whole.select(0.0, fma(lost, -f, lost)))), x)


TWO_OVER_PI = 2 / math.pi
# pi / 2 in parts. Multiples of all but the last, up to 2**22 and 2**20, are exact.
HALF_PI_32 = [1.570796325802803, 9.920935796805404e-10]
HALF_PI_64 = [
    1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32
]
# (sin(r) / r - 1) / z and (cos(r) - 1 + z / 2) / z**2, where z = r * r and |r| <= pi / 4
SIN_32 = [-0.1666665460449387, 0.008332160342798507, -0.00019515220011499614]
COS_32 = [0.04166664569884291, -0.001388731665131311, 2.4433172579320678e-05]
SIN_64 = [
    -0.1666666666666663, 0.008333333333322122, -0.00019841269829590428, 2.7557313621064015e-06,
    -2.50507476196167e-08, 1.5896217051642536e-10,
]  # fmt: skip
COS_64 = [
    0.041666666666666595, -0.0013888888888873047, 2.480158728884402e-05, -2.7557314176809523e-07,
    2.0875700474130684e-09, -1.1358516178318719e-11,
]  # fmt: skip
_SIGN = -(1 << 63)


def _sine(quadrant: Value, sine: Value, cosine: Value) -> Value:
    """The sine of an angle in that quadrant, from those of the remainder."""
    odd = (quadrant & 1).compare("!=", 0)
    return (odd.select(cosine, sine).bits() ^ (quadrant << 62 & _SIGN)).number()


def _quadrant_32(x: Value) -> tuple[Value, Value, Value]:
    """The quadrant of ``x`` (0 to 2**22), sine and cosine of what is left."""
    rounded = fma(x, TWO_OVER_PI, ROUND)
    k = rounded - ROUND
    r = fma(k, -HALF_PI_32[1], fma(k, -HALF_PI_32[0], x))
    z = r * r
    sine = fma(r * z, polynomial(z, SIN_32), r)
    cosine = fma(z * z, polynomial(z, COS_32), fma(z, -0.5, 1.0))
    return rounded.bits(), sine, cosine


def _quadrant_64(x: Value) -> tuple[Value, Value, Value]:
    """The quadrant of ``x`` (0 to 2**20), sine and cosine of what is left."""
    rounded = fma(x, TWO_OVER_PI, ROUND)
    k = rounded - ROUND
    # r + low is the remainder; each part of pi / 2 leaves what its subtraction lost.
    r = fma(k, -HALF_PI_64[0], x)
    low = fma(k, -HALF_PI_64[3], 0.0)
    for part in HALF_PI_64[1:3]:
        term = k * part
        less = r - term
        low = low + ((r - less) - term)
        r = less
    total = r + low
    low = (r - total) + low
    r = total
    z = r * r
    sine = r + fma(r * z, polynomial(z, SIN_64), fma(low, fma(z, -0.5, 1.0), 0.0))
    half = z * 0.5
    most = 1.0 - half
    cosine = most + (((1.0 - most) - half) + fma(z * z, polynomial(z, COS_64), r * low * -1.0))
    return rounded.bits(), sine, cosine


def _sin(quadrant: Callable[[Value], tuple[Value, Value, Value]]) -> Function:
    def sin(x: Value) -> Value:
        k, sine, cosine = quadrant(absolute(x))
        return (_sine(k, sine, cosine).bits() ^ (x.bits() & _SIGN)).number()

    return sin


def _cos(quadrant: Callable[[Value], tuple[Value, Value, Value]]) -> Function:
    def cos(x: Value) -> Value:
        k, sine, cosine = quadrant(absolute(x))
        return _sine(k + 1, sine, cosine)

    return cos


def _vector(name: str, narrow: Function, wide: Function) -> Any:
    """A function for Numba: ``narrow`` for float32, computed in float64, ``wide`` for float64."""

    def typed(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            # LLVM prefers 256-bit vectors on many machines that have wider ones; here, where
            # arithmetic takes the time and not memory, the wider are up to twice as fast.
            set.add(builder.function.attributes, '"prefer-vector-width"="512"')
            if x is types.float64:
                return wide(Value(builder, args[0]))._ir
            found = narrow(Value(builder, builder.fpext(args[0], FLOAT64)))
            return builder.fptrunc(found._ir, FLOAT32)

        return x(x), codegen

    typed.__name__ = typed.__qualname__ = name
    typed.__doc__ = f"``{name}(x)``."
    return intrinsic(typed)


exp = _vector("exp", _exp_32, _exp_64)
expm1 = _vector("expm1", _expm1_32, _expm1_64)
log = _vector("log", _log_32, _log_64)
log1p = _vector("log1p", _log1p_32, _log1p_64)
tanh = _vector("tanh", _tanh_32, _tanh_64)
sin = _vector("sin", _sin(_quadrant_32), _sin(_quadrant_64))
cos = _vector("cos", _cos(_quadrant_32), _cos(_quadrant_64))
