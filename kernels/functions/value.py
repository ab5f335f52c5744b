"""`Value`: an LLVM value whose operators emit instructions; vector functions are built from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llvmlite import ir

if TYPE_CHECKING:
    from ..annotations import Builder

# LLVM avoids 512-bit vectors on many machines that have them. For code that is bound by arithmetic
# they are 1.5 (float32) to 1.8 times as fast. llvmlite does not know the attribute.
WIDTH = '"prefer-vector-width"="512"'


def wide_vectors(function: ir.Function) -> None:
    """Make LLVM use wide vectors in a function, which is bound by arithmetic.

    Values that do not fit into registers, mostly constants, are spilled to the stack. With an
    aligned stack, these vectors do not cross cache lines: a long loop takes 0.8 of the time.
    """
    set.add(function.attributes, WIDTH)
    function.attributes.alignstack = 64


@dataclass(frozen=True, eq=False)
class Format:
    """A floating-point format, and constants that depend on it.

    Attributes:
      number, integer: The LLVM type, and the integer type of the same size.
      mantissa, bias: Bits of the mantissa; the exponent of 1.
      ln2: ln 2 in two parts; multiples of the first by any exponent are exact.
      half_pi: pi / 2 in two parts, the first of full precision.
    """

    number: Any
    integer: Any
    mantissa: int
    bias: int
    ln2: tuple[float, float]
    half_pi: tuple[float, float]

    @property
    def tiny(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)

    @property
    def sign(self) -> int:
        """The bits of -0.0."""
        return -1 << self.integer.width - 1

    @property
    def reciprocal(self) -> int:
        """Minus the bits of a positive number, this approximates the bits of its reciprocal."""
        return (2 * self.bias << self.mantissa) - (1 << self.mantissa) // 10

    @property
    def round(self) -> float:
        """Adding this rounds to an integer, which then is in the lowest bits of the sum."""
        return 1.5 * 2.0**self.mantissa


FLOAT32 = Format(
    number=ir.FloatType(),
    integer=ir.IntType(32),
    mantissa=23,
    bias=127,
    ln2=(0.693145751953125, 1.428606765330187e-06),
    half_pi=(1.5707963705062866, -4.371138828673793e-08),
)
FLOAT64 = Format(
    number=ir.DoubleType(),
    integer=ir.IntType(64),
    mantissa=52,
    bias=1023,
    ln2=(0.6931471803691238, 1.9082149292705877e-10),
    half_pi=(1.5707963267948966, 6.123233995736766e-17),
)
# float64 with float32's accuracy, in which some functions of float32 are computed.
WIDE = Format(
    number=FLOAT64.number,
    integer=FLOAT64.integer,
    mantissa=52,
    bias=1023,
    ln2=FLOAT64.ln2,
    half_pi=FLOAT64.half_pi,
)


class Value:
    """A float, or an integer of the same size, in the code that is being written.

    Arithmetic with it writes instructions; a Python number beside it is a constant of its type.
    ``>>`` is logical; comparisons with NaN are false.
    """

    __slots__ = ("_builder", "format", "ir")

    def __init__(self, builder: Builder, value: ir.Value, format: Format) -> None:
        self._builder = builder
        self.ir = value
        self.format = format

    def _write(self, name: str, *operands: object) -> Value:
        return Value(self._builder, getattr(self._builder, name)(*operands), self.format)

    def _operand(self, other: Value | float) -> Any:
        return other.ir if isinstance(other, Value) else ir.Constant(self.ir.type, other)

    def _arithmetic(self, name: str, x: Value | float, y: Value | float) -> Value:
        kind = "" if self.ir.type == self.format.integer else "f"
        return self._write(kind + name, self._operand(x), self._operand(y))

    def __add__(self, other: Value | float) -> Value:
        return self._arithmetic("add", self, other)

    def __sub__(self, other: Value | float) -> Value:
        return self._arithmetic("sub", self, other)

    def __rsub__(self, other: Value | float) -> Value:
        return self._arithmetic("sub", other, self)

    def __neg__(self) -> Value:
        return self._write("fneg", self.ir)

    def __mul__(self, other: Value | float) -> Value:
        return self._arithmetic("mul", self, other)

    def __truediv__(self, other: Value | float) -> Value:
        return self._arithmetic("div", self, other)

    def __rtruediv__(self, other: Value | float) -> Value:
        return self._arithmetic("div", other, self)

    def __and__(self, other: Value | float) -> Value:
        return self._write("and_", self.ir, self._operand(other))

    def __or__(self, other: Value | float) -> Value:
        return self._write("or_", self.ir, self._operand(other))

    def __xor__(self, other: Value | float) -> Value:
        return self._write("xor", self.ir, self._operand(other))

    def __lshift__(self, count: int) -> Value:
        return self._write("shl", self.ir, self._operand(count))

    def __rshift__(self, count: int) -> Value:
        return self._write("lshr", self.ir, self._operand(count))

    def compare(self, sign: str, other: Value | float) -> Value:
        """The condition ``self sign other``, for `pick`."""
        name = "icmp_signed" if self.ir.type == self.format.integer else "fcmp_ordered"
        return self._write(name, sign, self.ir, self._operand(other))

    def pick(self, yes: Value | float, no: Value | float) -> Value:
        """One of two floats by a condition."""
        form = next((x.format for x in (yes, no) if isinstance(x, Value)), self.format)
        chosen = [x.ir if isinstance(x, Value) else ir.Constant(form.number, x) for x in (yes, no)]
        return Value(self._builder, self._builder.select(self.ir, *chosen), form)

    def bits(self) -> Value:
        """The integer with the same bits."""
        return self._write("bitcast", self.ir, self.format.integer)

    def number(self) -> Value:
        """The float with the same bits."""
        return self._write("bitcast", self.ir, self.format.number)

    def convert(self, name: str, format: Format) -> Value:
        """The float in another format."""
        return Value(self._builder, getattr(self._builder, name)(self.ir, format.number), format)

    def call(self, name: str, *others: Value | float) -> Value:
        """LLVM's intrinsic of that name."""
        operands = [self.ir, *map(self._operand, others)]
        kind = self.ir.type
        function = self._builder.module.declare_intrinsic(
            name, [kind], ir.FunctionType(kind, [kind] * len(operands))
        )
        return self._write("call", function, operands)


Function = Callable[..., Value]
Coefficients = dict[Format, list[float]]


def widen(function: Function) -> Function:
    """Make a float32 function that computes in float64."""

    def narrow(*operands: Value) -> Value:
        return function(*(x.convert("fpext", WIDE) for x in operands)).convert("fptrunc", FLOAT32)

    return narrow


def fma(x: Value, y: Value | float, z: Value | float) -> Value:
    """``x * y + z``, rounded once where the machine can."""
    return x.call("llvm.fmuladd", y, z)


def absolute(x: Value) -> Value:
    """``|x|``."""
    return x.call("llvm.fabs")


def sqrt(x: Value) -> Value:
    """The square root."""
    return x.call("llvm.sqrt")


def rint(x: Value) -> Value:
    """The nearest integer, halves to even."""
    return x.call("llvm.rint")


def copysign(x: Value, y: Value) -> Value:
    """``|x|`` with the sign of ``y``."""
    return x.call("llvm.copysign", y)


def below(x: Value, limit: float) -> Value:
    """``x``, at most ``limit``; NaN stays NaN."""
    return x.compare(">", limit).pick(limit, x)


def above(x: Value, limit: float) -> Value:
    """``x``, at least ``limit``; NaN stays NaN."""
    return x.compare("<", limit).pick(limit, x)


def divisor_adjoint(x: Value, y: Value, z: Value) -> Value:
    """``-(x / z) * y``, or ``-(x * y) / z`` where x / z overflows; 0 where x or y is 0."""
    quick, steep = divisor_adjoint_quick(x, y, z)
    zero = x.compare("==", 0.0) | y.compare("==", 0.0)
    sign = (x.bits() ^ y.bits() ^ z.bits() ^ x.format.sign) & x.format.sign
    slow = zero.pick(sign.number(), -(x * y) / z)
    return steep.pick(slow, quick)


def divisor_adjoint_quick(x: Value, y: Value, z: Value) -> tuple[Value, Value]:
    """``-(x / z) * y``, and whether this may be wrong."""
    adjoint = -(x / z * y)
    return adjoint, absolute(adjoint).compare("<", math.inf) ^ True


def upper(x: Value) -> Value:
    """The upper half of the bits of ``x``.

    Products of two such numbers are exact, and so is the rest of ``x``.
    """
    return (x.bits() & (-1 << (x.format.mantissa + 2) // 2)).number()


def halves(x: Value, coefficients: list[float]) -> Value:
    """The polynomial from its even and its odd terms.

    For long polynomials, because each step of Horner's rule waits for the previous one. It is less
    accurate where the first terms are not the largest.
    """
    z = x * x
    return fma(x, polynomial(z, coefficients[1::2]), polynomial(z, coefficients[::2]))


def polynomial(x: Value, coefficients: list[float]) -> Value:
    """``c[0] + c[1] * x + ...`` by Horner's rule."""
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = fma(x, total, c)
    return total
