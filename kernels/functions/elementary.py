"""The functions that op bodies call: one row each, for all targets. This module needs no Numba.

A new function of bodies is a row here: functions that write its LLVM instructions, and its names in
NumPy and in CUDA's libdevice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from . import circular, exponential, logarithm, value
from .value import Function, Value, widen


class FunctionRow(NamedTuple):
    """A function and its names in the targets.

    Attributes:
      narrow, wide: Functions that write it for float32 and float64; None: LLVM has an instruction.
      numpy: NumPy's name; "" if NumPy lacks the function.
      libdevice: The name in CUDA's libdevice, without the suffix f of float32; "" if it is missing.
      arity: The number of operands.
    """

    narrow: Function | None
    wide: Function | None
    numpy: str
    libdevice: str
    arity: int = 1


def _same_for_both(function: Function, numpy: str, libdevice: str, arity: int = 1) -> FunctionRow:
    return FunctionRow(function, function, numpy, libdevice, arity)


TABLE = {
    "exp": _same_for_both(exponential.exp, "exp", "exp"),
    "expm1": _same_for_both(exponential.expm1, "expm1", "expm1"),
    "tanh": _same_for_both(exponential.tanh, "tanh", "tanh"),
    "sinh": _same_for_both(exponential.sinh, "sinh", "sinh"),
    "cosh": _same_for_both(exponential.cosh, "cosh", "cosh"),
    "erf": _same_for_both(exponential.erf, "", "erf"),
    "erfc": FunctionRow(widen(exponential.erfc_32), exponential.erfc_64, "", "erfc"),
    "sigmoid": _same_for_both(exponential.sigmoid, "", ""),
    "divisor_adjoint": _same_for_both(value.divisor_adjoint, "", "", 3),
    "tanh_slope": _same_for_both(exponential.tanh_slope, "", "", 2),
    "sigmoid_slope": _same_for_both(exponential.sigmoid_slope, "", "", 2),
    "log": _same_for_both(logarithm.log, "log", "log"),
    "log1p": _same_for_both(logarithm.log1p, "log1p", "log1p"),
    "asinh": _same_for_both(logarithm.asinh, "arcsinh", "asinh"),
    "acosh": _same_for_both(logarithm.acosh, "arccosh", "acosh"),
    "atanh": _same_for_both(logarithm.atanh, "arctanh", "atanh"),
    "power": FunctionRow(logarithm.power_32, logarithm.power_64, "power", "pow", 2),
    "sin": FunctionRow(circular.sin_32, circular.sin_64, "sin", "sin"),
    "cos": FunctionRow(circular.cos_32, circular.cos_64, "cos", "cos"),
    "tan": FunctionRow(circular.tan_32, circular.tan_64, "tan", "tan"),
    "asin": _same_for_both(circular.asin, "arcsin", "asin"),
    "acos": _same_for_both(circular.acos, "arccos", "acos"),
    "atan": _same_for_both(circular.atan, "arctan", "atan"),
    "atan2": _same_for_both(circular.atan2, "arctan2", "atan2", 2),
    # Whether an argument is too large for `LIMITED`.
    "beyond": _same_for_both(circular.beyond, "", ""),
    "sqrt": FunctionRow(None, None, "sqrt", "sqrt"),
    "floor": FunctionRow(None, None, "floor", "floor"),
    "ceil": FunctionRow(None, None, "ceil", "ceil"),
    "rint": FunctionRow(None, None, "rint", "rint"),
    "fmod": FunctionRow(None, None, "fmod", "fmod", 2),
    "copysign": FunctionRow(None, None, "copysign", "copysign", 2),
}

ELEMENTARY: dict[str, tuple[Function, Function]] = {
    name: (row.narrow, row.wide) for name, row in TABLE.items() if row.narrow and row.wide
}
LIMITED = ("sin", "cos", "tan")  # accurate only where `beyond` is false
# Faster versions for most operands: each writes a value, and the condition under which that value
# is wrong.
QUICK: dict[str, Callable[..., tuple[Value, Value]]] = {
    "divisor_adjoint": value.divisor_adjoint_quick,
    "tanh_slope": exponential.tanh_slope_quick,
    "sigmoid_slope": exponential.sigmoid_slope_quick,
}
