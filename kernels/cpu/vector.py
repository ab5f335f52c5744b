"""Elementary functions without branches and calls: LLVM vectorises a loop over them.

A function here is written once with `Value`, whose operators write LLVM instructions; Numba
sees one call, so it has nothing to type and a lane kernel compiles fast. There is no fast-math:
where a product and a sum may be one instruction, `fma` says so, and on one machine it is either
always one or never. So an element's bits do not depend on its place in the loop.

Coefficients are minimax fits (Remez's algorithm), good to a few percent of a unit in the last
place (ulp). The reductions follow W. J. Cody and W. Waite, "Software Manual for the Elementary
Functions" (1980); log is a series in f / (2 + f), as in fdlibm. The errors stated are rounded
up from the largest of over 10 million arguments, with and without fused instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@dataclass(frozen=True)
class Format:
    """A floating-point format, and the constants that depend on it.

    Attributes:
      number, integer: The LLVM type, and the integer type of the same size.
      mantissa, bias: Bits of the mantissa; the exponent of 1.
      sqrt_half: The bits of sqrt(0.5).
      ln2: ln 2 in two parts; multiples of the first by any exponent are exact.
      exp: Coefficients of (exp(r) - 1 - r) / r**2 for |r| <= ln 2 / 2.
      exp_ends: Where exp has become 0, and inf.
      log: Coefficients of (2 * atanh(s) / s - 2) / z where z = s * s, for sqrt(0.5) to sqrt(2).
      tanh: Coefficients of (tanh(x) / x - 1) / x**2 for |x| <= 0.55.
      one: Where tanh has become 1.
    """

    number: Any
    integer: Any
    mantissa: int
    bias: int
    sqrt_half: int
    ln2: tuple[float, float]
    exp: list[float]
    exp_ends: tuple[float, float]
    log: list[float]
    tanh: list[float]
    one: float

    @property
    def tiny(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)

    @property
    def sign(self) -> int:
        """The bits of -0.0."""
        return -1 << self.integer.width - 1

    @property
    def round(self) -> float:
        """Adding this rounds to an integer, which then is in the lowest bits of the sum."""
        return 1.5 * 2.0**self.mantissa


FLOAT32 = Format(
    number=ir.FloatType(), integer=ir.IntType(32), mantissa=23, bias=127, sqrt_half=0x3F3504F3,
    ln2=(0.693145751953125, 1.428606765330187e-06),
    exp=[0.4999999344971312, 0.16666520631544604, 0.04166838740726171, 0.008368716961335974,
         0.0013814639130251204],
    exp_ends=(-105.0, 89.0),
    log=[0.6666677669951014, 0.39977495305776617, 0.2987310641903779],
    tanh=[-0.33333317578272975, 0.13332586568235832, -0.05385233989181277, 0.021071757109505807,
          -0.006274302246103491],
    one=10.0,
)  # fmt: skip
FLOAT64 = Format(
    number=ir.DoubleType(), integer=ir.IntType(64), mantissa=52, bias=1023,
    sqrt_half=0x3FE6A09E667F3BCD,
    ln2=(0.6931471803691238, 1.9082149292705877e-10),
    exp=[0.5000000000000011, 0.16666666666666413, 0.041666666666530155, 0.00833333333349447,
         0.0013888888943630361, 0.00019841269506555356, 2.4801493098733352e-05,
         2.755758639674158e-06, 2.763024842243285e-07, 2.5000053878886233e-08],
    exp_ends=(-746.0, 710.0),
    log=[0.6666666666666735, 0.3999999999941109, 0.2857142874326393, 0.22222198475824748,
         0.1818356974868638, 0.15313903015358185, 0.14797510056010874],
    tanh=[-0.33333333333332316, 0.13333333333168715, -0.053968253876082645, 0.021869485974882377,
          -0.008863194505108925, 0.003591719705120357, -0.001453216791277823,
          0.0005791371090184188, -0.00021030253741785048, 5.102156428263893e-05],
    one=20.0,
)  # fmt: skip
FORMATS = {types.float32: FLOAT32, types.float64: FLOAT64}


class Value:
    """A float, or an integer of the same size, in the code that is being written.

    Arithmetic with it writes instructions; a Python number beside it is a constant of its type.
    ``>>`` is logical; comparisons with NaN are false.
    """

    __slots__ = ("_builder", "format", "ir")

    def __init__(self, builder: Any, value: Any, format: Format) -> None:
        self._builder = builder
        self.ir = value
        self.format = format

    def _write(self, name: str, *operands: Any) -> Value:
        return Value(self._builder, getattr(self._builder, name)(*operands), self.format)

    def _operand(self, other: Any) -> Any:
        return other.ir if isinstance(other, Value) else ir.Constant(self.ir.type, other)

    def _arithmetic(self, name: str, x: Any, y: Any) -> Value:
        kind = "" if self.ir.type == self.format.integer else "f"
        return self._write(kind + name, self._operand(x), self._operand(y))

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
        return self._write("and_", self.ir, self._operand(other))

    def __or__(self, other: Any) -> Value:
        return self._write("or_", self.ir, self._operand(other))

    def __xor__(self, other: Any) -> Value:
        return self._write("xor", self.ir, self._operand(other))

    def __lshift__(self, count: int) -> Value:
        return self._write("shl", self.ir, self._operand(count))

    def __rshift__(self, count: int) -> Value:
        return self._write("lshr", self.ir, self._operand(count))

    def compare(self, sign: str, other: Any) -> Value:
        """``self sign other`` for `pick`."""
        name = "icmp_signed" if self.ir.type == self.format.integer else "fcmp_ordered"
        return self._write(name, sign, self.ir, self._operand(other))

    def pick(self, yes: Any, no: Any) -> Value:
        """One of two floats by a condition."""
        chosen = [
            x.ir if isinstance(x, Value) else ir.Constant(self.format.number, x) for x in (yes, no)
        ]
        return self._write("select", self.ir, *chosen)

    def bits(self) -> Value:
        """The integer with the same bits."""
        return self._write("bitcast", self.ir, self.format.integer)

    def number(self) -> Value:
        """The float with the same bits."""
        return self._write("bitcast", self.ir, self.format.number)

    def converted(self, name: str, format: Format) -> Value:
        """The float in another format."""
        return Value(self._builder, getattr(self._builder, name)(self.ir, format.number), format)

    def call(self, name: str, *others: Any) -> Value:
        """LLVM's intrinsic of that name."""
        operands = [self.ir, *map(self._operand, others)]
        kind = self.ir.type
        function = self._builder.module.declare_intrinsic(
            name, [kind], ir.FunctionType(kind, [kind] * len(operands))
        )
        return self._write("call", function, operands)


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
    return x.compare(">", limit).pick(limit, x)


def above(x: Value, limit: float) -> Value:
    """``x``, at least ``limit``; NaN stays NaN."""
    return x.compare("<", limit).pick(limit, x)


def polynomial(x: Value, coefficients: list[float]) -> Value:
    """``c[0] + c[1] * x + ...`` by Horner's rule."""
    found: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        found = fma(x, found, c)
    return found


# Exponentials: x = k * ln 2 + r.

LOG2_E = 1 / math.log(2)


def _reduce(x: Value) -> tuple[Value, Value, Value]:
    """Bits, the lowest of which are ``k + bias``; ``r``; and ``exp(r) - 1 - r``."""
    biased = x.format.round + x.format.bias
    rounded = fma(x, LOG2_E, biased)
    k = rounded - biased
    high, low = x.format.ln2
    exact = fma(k, -high, x)
    r = fma(k, -low, exact)
    lost = fma(k, -low, exact - r)
    return rounded.bits(), r, fma(r * r, polynomial(r, x.format.exp), lost)


def exp(x: Value) -> Value:
    """At most 0.6 ulp off; 0.8 where the result is denormal."""
    form = x.format
    x = below(above(x, form.exp_ends[0]), form.exp_ends[1])
    k, r, more = _reduce(x)
    # 2**k in two factors, because k leaves the range of exponents on both sides.
    half = fma(x, 0.5 * LOG2_E, form.round + form.bias).bits()
    first = (half << form.mantissa).number()
    second = (k - half + form.bias << form.mantissa).number()
    p = r + 1.0
    return (p + ((1.0 - p) + r + more)) * first * second


def expm1(x: Value) -> Value:
    """At most 1.4 ulp off."""
    form = x.format
    k, r, more = _reduce(below(above(x, -2.0 * form.one), form.exp_ends[1]))
    # Half of 2**k, because k reaches the exponent of inf.
    half = (k - 1 << form.mantissa).number()
    found = fma(half, more, fma(half, r, half - 0.5)) * 2.0
    # Half of a denormal number may not be exact, and the sum has lost the sign of -0.0.
    return absolute(x).compare("<", 2.0 ** -(form.mantissa + 2)).pick(x, found)


def tanh(x: Value) -> Value:
    """At most 1.5 ulp off: 0.8 up to 0.55, then ``1 - 2 / (exp(2 * x) + 1)``."""
    form = x.format
    size = absolute(x)
    z = size * size
    near = fma(size * z, polynomial(z, form.tanh), size)
    k, r, more = _reduce(below(size, form.one) * 2.0)
    e = fma((r + more) + 1.0, (k << form.mantissa).number(), 1.0)
    return copysign(z.compare("<", 0.55**2).pick(near, 1.0 - 2.0 / e), x)


# Logarithms: x = 2**k * (1 + f).


def _split(x: Value) -> tuple[Value, Value, Value]:
    """``k``, ``f`` (1 + f lies between sqrt(0.5) and sqrt(2)), and the bits of ``2**-k``.

    The bits are those of 0 or of -inf where that would be denormal.
    """
    form = x.format
    mask = (1 << form.mantissa) - 1
    shifted = x.bits() + ((form.bias << form.mantissa) - form.sqrt_half)
    # A small integer becomes a float as the mantissa of 2**mantissa.
    carrier = form.bias + form.mantissa << form.mantissa
    k = ((shifted >> form.mantissa) | carrier).number() - (2.0**form.mantissa + form.bias)
    f = ((shifted & mask) + form.sqrt_half).number() - 1.0
    return k, f, (2 * form.bias << form.mantissa) - (shifted & ~mask)


def _sum(k: Value, f: Value, lost: Value | None = None) -> Value:
    """``log(2**k * (1 + f)) + lost``, added from small to large."""
    form = k.format
    high, low = form.ln2
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    tail = fma(k, low, s * fma(z, polynomial(z, form.log), half))
    if lost is not None:
        tail = tail + lost
    return fma(k, high, f - (half - tail))


def _ends(x: Value, found: Value) -> Value:
    """``found``, or the logarithm of an ``x`` that is not a positive finite number."""
    found = x.compare("<", math.inf).pick(found, x)
    end = x.compare("==", 0.0).pick(-math.inf, math.nan)
    return x.compare("<=", 0.0).pick(end, found)


def log(x: Value) -> Value:
    """At most 0.9 ulp off."""
    form = x.format
    shift = form.mantissa + 1.0
    # Denormal numbers are made normal first.
    small = x.compare("<", form.tiny)
    k, f, _ = _split(small.pick(x * 2.0**shift, x))
    return _ends(x, _sum(small.pick(k - shift, k), f))


def log1p(x: Value) -> Value:
    """At most 1.1 ulp off."""
    u = x + 1.0
    k, f, power = _split(u)
    # What the sum lost, exact as long as it counts; times 2**-k / (1 + f), to first order.
    lost = (x - (u - 1.0)) * above(power.number(), 0.0)
    return copysign(_ends(u, _sum(k, f, lost - lost * f)), x)


# Sine and cosine: |x| = k * pi / 2 + r. float32 computes in float64, where this takes less.

# The largest |x| that they are right for. NaN is right too, inf is beyond.
REACH = 2.0**20
TWO_OVER_PI = 2 / math.pi
# pi / 2 in parts. Multiples of all but the last by k, for |x| up to REACH, are exact.
HALF_PI_32 = [1.570796325802803, 9.920935796805404e-10]
HALF_PI_64 = [
    1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32,
]  # fmt: skip
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


Turns = Callable[[Value], tuple[Value, Value, Value]]


def _turns_32(x: Value) -> tuple[Value, Value, Value]:
    """Bits, the lowest of which are ``k``; sine and cosine of ``r``."""
    rounded = fma(x, TWO_OVER_PI, x.format.round)
    k = rounded - x.format.round
    r = fma(k, -HALF_PI_32[1], fma(k, -HALF_PI_32[0], x))
    z = r * r
    sine = fma(r * z, polynomial(z, SIN_32), r)
    cosine = fma(z * z, polynomial(z, COS_32), fma(z, -0.5, 1.0))
    return rounded.bits(), sine, cosine


def _turns_64(x: Value) -> tuple[Value, Value, Value]:
    """Bits, the lowest of which are ``k``; sine and cosine of ``r``."""
    rounded = fma(x, TWO_OVER_PI, x.format.round)
    k = rounded - x.format.round
    first, *middle, last = HALF_PI_64
    r = fma(k, -first, x)
    low = k * -last
    for part in middle:
        term = k * part
        less = r - term
        low = low + ((r - less) - term)
        r = less
    # r + low is the remainder to twice the precision, because x may be close to a zero.
    total = r + low
    low = (r - total) + low
    r = total
    z = r * r
    half = z * 0.5
    most = 1.0 - half
    sine = r + fma(r * z, polynomial(z, SIN_64), low * most)
    rest = ((1.0 - most) - half) - r * low
    cosine = most + fma(z * z, polynomial(z, COS_64), rest)
    return rounded.bits(), sine, cosine


def _turned(k: Value, sine: Value, cosine: Value) -> Value:
    """The sine of ``k * pi / 2 + r``."""
    found = (k & 1).compare("!=", 0).pick(cosine, sine)
    return (found.bits() ^ (k << k.format.integer.width - 2 & k.format.sign)).number()


def _sin(turns: Turns) -> Function:
    """At most 0.6 ulp off in float32, 0.8 in float64, for |x| up to REACH."""

    def sin(x: Value) -> Value:
        return (_turned(*turns(absolute(x))).bits() ^ (x.bits() & x.format.sign)).number()

    return sin


def _cos(turns: Turns) -> Function:
    """At most 0.6 ulp off in float32, 0.9 in float64, for |x| up to REACH."""

    def cos(x: Value) -> Value:
        k, sine, cosine = turns(absolute(x))
        return _turned(k + 1, sine, cosine)

    return cos


def _in_float64(function: Function) -> Function:
    """A function of float32 that computes in float64."""

    def narrow(x: Value) -> Value:
        return function(x.converted("fpext", FLOAT64)).converted("fptrunc", FLOAT32)

    return narrow


def _beyond(x: Value) -> Value:
    """Whether sine and cosine have to come from elsewhere."""
    return absolute(x).compare(">", REACH)


def _compiled(name: str, narrow: Function, wide: Function, result: Any = None) -> Any:
    """What Numba calls by that name: ``narrow`` for float32 and ``wide`` for float64."""

    def typed(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            # LLVM avoids 512-bit vectors on many machines that have them. Arithmetic takes the
            # time here, not memory, and they are 1.5 (float32) to 1.8 times as fast. llvmlite
            # does not know the attribute.
            set.add(builder.function.attributes, '"prefer-vector-width"="512"')
            function = narrow if x is types.float32 else wide
            return function(Value(builder, args[0], FORMATS[x])).ir

        return (result or x)(x), codegen

    typed.__name__ = typed.__qualname__ = name
    return intrinsic(typed)


FUNCTIONS = {
    function.__name__: _compiled(function.__name__, function, function)
    for function in (exp, expm1, tanh, log, log1p)
}
FUNCTIONS |= {
    "sin": _compiled("sin", _in_float64(_sin(_turns_32)), _sin(_turns_64)),
    "cos": _compiled("cos", _in_float64(_cos(_turns_32)), _cos(_turns_64)),
    "beyond": _compiled("beyond", _beyond, _beyond, types.boolean),
}
