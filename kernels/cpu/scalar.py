"""The functions that names in op bodies refer to in the CPU's lane kernels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from ..functions import vector
from ..jit import declared, inline

if TYPE_CHECKING:
    from ..annotations import Builder, Context, Signature, Type, TypingContext, Values


@inline
def int_power(x: int, y: int) -> Any:
    """``x ** y`` for integers, with wraparound; Numba's goes through floats for a large ``y``."""
    one = np.uint64(1)  # unsigned: Numba would make a float of uint64 and a signed 1
    bits = np.uint64(y)
    power = x * 0 + 1
    while bits:
        if bits & one:
            power *= x
        x *= x
        bits >>= one
    return power


@inline
def floor_divide(x: int, y: int) -> Any:
    """``x // y`` for integers. The smallest integer divided by -1 is itself, as in NumPy."""
    return -x if y < 0 and y == -1 else x // y


def _saturating(name: str) -> Any:
    """Convert a float to an integer: towards 0, limited to the dtype's range; NaN is 0."""
    kind = getattr(types, name)

    def to_integer(typingctx: TypingContext, x: Type) -> Any:
        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            integer, real = context.get_value_type(kind), args[0].type
            sign, bits = "s" if kind.signed else "u", "f32" if x is types.float32 else "f64"
            name = f"llvm.fpto{sign}i.sat.i{kind.bitwidth}.{bits}"
            return builder.call(declared(builder, name, integer, [real]), args)

        return kind(x), codegen

    return intrinsic(to_integer)


def _rounding(name: str) -> Any:
    """Round a float to an integral value, with the processor's instruction."""

    def round_value(typingctx: TypingContext, x: Type) -> Any:
        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            function = builder.module.declare_intrinsic(f"llvm.{name}", [args[0].type])
            return builder.call(function, args)

        return x(x), codegen

    return intrinsic(round_value)


@intrinsic
def fmod(typingctx: TypingContext, x: Type, y: Type) -> Any:
    """The remainder of a float division, with the sign of the dividend."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        return builder.frem(*args)

    return x(x, y), codegen


FUNCTIONS: dict[str, Any] = {
    name: getattr(math, name) for name in ("sqrt", "isnan", "isinf", "isfinite", "copysign")
}
FUNCTIONS |= {
    "int_power": int_power,
    "floor_divide": floor_divide,
    "absolute": abs,
    "fmod": fmod,
    # For any argument; the vector functions have a limited range.
    "far_sin": math.sin,
    "far_cos": math.cos,
    "far_tan": math.tan,
}
FUNCTIONS |= {name: _rounding(name) for name in ("floor", "ceil", "rint")}
FUNCTIONS |= {
    f"to_{name}": _saturating(name)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}
FUNCTIONS |= vector.FUNCTIONS
