"""Scalar functions that op bodies call in CUDA kernels: `FUNCTIONS`, by ``name_dtype``.

They use CUDA's libdevice, accurate to 1 or 2 units in the last place (NVIDIA, "CUDA C++
Programming Guide", appendix on mathematical functions), and no fast variants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..functions.elementary import TABLE
from ..functions.exponential import STEEP
from .target import KINDS, SIMULATED, device

if TYPE_CHECKING:
    from ..annotations import Number

# The names of functions in libdevice and, for the simulator, in NumPy.
_LIBDEVICE = {name: row.libdevice for name, row in TABLE.items() if row.libdevice}
_NUMPY = {name: row.numpy for name, row in TABLE.items()}

FLOATING = ("float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _math(name: str, dtype: str) -> Callable[..., Any]:
    if not SIMULATED:
        from numba.cuda import libdevice

        scalar_function: Any = getattr(
            libdevice, _LIBDEVICE[name] + ("f" if dtype == "float32" else "")
        )
    elif name in ("erf", "erfc"):
        function, kind = getattr(math, name), KINDS[dtype]
        scalar_function = lambda x: kind(function(x))  # noqa: E731
    elif name == "power":  # for scalars, NumPy computes y = 0.5 as sqrt, which is NaN for -inf
        scalar_function = lambda x, y: np.power(np.array([x]), np.array([y]))[0]  # noqa: E731
    elif not _NUMPY[name]:
        raise LookupError(f"The simulator needs a function for {name}: NumPy does not have one.")
    else:
        scalar_function = getattr(np, _NUMPY[name])
    return scalar_function


def _sigmoid(dtype: str) -> Any:
    exp, kind = _math("exp", dtype), KINDS[dtype]

    def sigmoid(x: Number) -> Any:
        e = exp(-abs(x))
        return (kind(1) if x >= kind(0) else e) / (e + kind(1))

    return device(sigmoid)


def _divisor_adjoint(dtype: str) -> Any:
    copysign, kind = _math("copysign", dtype), KINDS[dtype]

    def divisor_adjoint(x: Number, y: Number, z: Number) -> Any:
        """``-(x / z) * y``, or ``-(x * y) / z`` where x / z overflows; 0 where x or y is 0."""
        adjoint = -(x / z * y)
        if abs(adjoint) < kind(math.inf):
            return adjoint
        if x == kind(0) or y == kind(0):
            minus_one = kind(-1)
            return kind(0) * (
                copysign(minus_one, x) * copysign(minus_one, y) * copysign(minus_one, z)
            )
        return -(x * y) / z

    return device(divisor_adjoint)


def _tanh_slope(dtype: str) -> Any:
    exp, kind = _math("exp", dtype), KINDS[dtype]

    def tanh_slope(x: Number, y: Number) -> Any:
        """The derivative of ``y = tanh(x)``; see kernels/functions/exponential.py."""
        if abs(y) > kind(STEEP):
            e = exp(kind(-2) * abs(x))
            return kind(4) * e / ((kind(1) + e) * (kind(1) + e))
        return kind(1) - y * y

    return device(tanh_slope)


def _sigmoid_slope(dtype: str) -> Any:
    exp, kind = _math("exp", dtype), KINDS[dtype]

    def sigmoid_slope(x: Number, y: Number) -> Any:
        """The derivative of ``y = sigmoid(x)``; see kernels/functions/exponential.py."""
        if y > kind(STEEP):
            e = exp(-abs(x))
            return e / ((kind(1) + e) * (kind(1) + e))
        return y * (kind(1) - y)

    return device(sigmoid_slope)


def _sincos(dtype: str) -> Any:
    """``sin(x), cos(x)`` with the same bits as separate calls; see `numtape.core.cuda.codegen`."""
    if SIMULATED:
        return lambda x: (np.sin(x), np.cos(x))
    from numba.cuda import libdevice

    return libdevice.sincosf if dtype == "float32" else libdevice.sincos


def _int_power(dtype: str) -> Any:
    kind, bits = KINDS[dtype], KINDS["uint64"]

    def int_power(x: int, y: int) -> Any:
        """``x ** y`` with wraparound."""
        exponent, power = bits(y), kind(1)
        while exponent:
            if exponent & bits(1):
                power = kind(power * x)
            x = kind(x * x)
            exponent = exponent >> bits(1)
        return power

    return device(int_power)


def _floor_divide(dtype: str) -> Any:
    kind = KINDS[dtype]

    def floor_divide(x: int, y: int) -> Any:
        """``x // y`` with wraparound; 0 for division by 0, which a separate check reports."""
        if y == kind(0):
            return kind(0)
        return kind(-x) if y < kind(0) and y + kind(1) == kind(0) else kind(x // y)

    return device(floor_divide)


def _saturating(name: str, dtype: str) -> Any:
    kind, float_kind, limits = KINDS[name], KINDS[dtype], np.iinfo(name)
    low, high = int(limits.min), int(limits.max)
    upper, lower = float(high + 1), float(low)  # exact: powers of two, or 0

    def to_integer(x: Number) -> Any:
        """Convert a float to an integer: round towards 0, saturate; NaN becomes 0."""
        if x != x:
            return kind(0)
        if x >= float_kind(upper):
            return kind(high)
        if x <= float_kind(lower):
            return kind(low)
        return kind(x)

    return device(to_integer)


def _functions() -> dict[str, Any]:
    functions: dict[str, Any] = {}
    for dtype in FLOATING:
        functions |= {f"{name}_{dtype}": _math(name, dtype) for name in _LIBDEVICE}
        for name in ("isnan", "isinf", "isfinite"):
            functions[f"{name}_{dtype}"] = getattr(np if SIMULATED else math, name)
        functions[f"sigmoid_{dtype}"] = _sigmoid(dtype)
        functions[f"divisor_adjoint_{dtype}"] = _divisor_adjoint(dtype)
        functions[f"tanh_slope_{dtype}"] = _tanh_slope(dtype)
        functions[f"sigmoid_slope_{dtype}"] = _sigmoid_slope(dtype)
        functions[f"sincos_{dtype}"] = _sincos(dtype)
        for name in INTEGERS:
            functions[f"to_{name}_{dtype}"] = _saturating(name, dtype)
    for dtype in INTEGERS:
        functions[f"int_power_{dtype}"] = _int_power(dtype)
        functions[f"floor_divide_{dtype}"] = _floor_divide(dtype)
    return functions | {f"absolute_{dtype}": abs for dtype in (*FLOATING, *INTEGERS)}


FUNCTIONS = _functions()
