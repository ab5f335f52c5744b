"""The vector functions by name, for float32 and float64: what op bodies call. No Numba here."""

from __future__ import annotations

from . import circular, exponential, logarithm
from .value import Function, widened

ELEMENTARY: dict[str, tuple[Function, Function]] = {
    function.__name__: (function, function)
    for function in (
        exponential.exp, exponential.expm1, exponential.tanh, exponential.sinh,
        exponential.cosh, exponential.erf, exponential.sigmoid, logarithm.log, logarithm.log1p,
        logarithm.asinh, logarithm.acosh, logarithm.atanh, circular.asin,
        circular.acos, circular.atan, circular.atan2,
    )
}  # fmt: skip
ELEMENTARY |= {
    "sin": (circular.sin_32, circular.sin_64),
    "cos": (circular.cos_32, circular.cos_64),
    "tan": (circular.tan_32, circular.tan_64),
    "erfc": (widened(exponential.erfc_32), exponential.erfc_64),
    "power": (logarithm.power_32, logarithm.power_64),
    "beyond": (circular.beyond, circular.beyond),
}
BINARY = ("atan2", "power")
LIMITED = ("sin", "cos", "tan")  # to arguments that are not `beyond`
