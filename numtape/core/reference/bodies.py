"""Bodies of elementwise ops: one scalar expression in x, y, z; one text for every target.

Each target resolves the names in it: to NumPy here, to compiled scalar functions in
`numtape.core.compile.lane_kernels`.

16-bit floats and complex numbers have no compiled kernels: `apply` computes ops of them on every
executor. Ops of float16 and bfloat16 convert operands to float32, and round the result.
"""

from __future__ import annotations

import importlib
import math
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from ..log.op import ELEMENTWISE, Op
from ..values.memory import convert_array

Array = Any
_MAX_VALUE_FOR_SLOPE = 1 - 2.0**-10  # as in kernels/functions/exponential.py


@cache
def _functions(any_complex: bool) -> dict[str, Any]:
    """The functions that names in bodies refer to. Imports SciPy on first use."""
    special = importlib.import_module("scipy.special")
    table = importlib.import_module("numtape.kernels.functions.elementary").TABLE
    functions = {name: getattr(np, row.numpy) for name, row in table.items() if row.numpy}
    numpy_names = ("isnan", "isinf", "isfinite", "absolute", "angle", "conjugate", "imag", "real")
    functions |= {name: getattr(np, name) for name in numpy_names}
    functions |= {
        # SciPy's erfc is hundreds of units in the last place off in its tail.
        "erf": special.erf,
        "erfc": np.vectorize(math.erfc, otypes=["float64"]),
        "sigmoid": special.expit,
        "tanh_slope": _tanh_slope,
        "sigmoid_slope": _sigmoid_slope,
        "divisor_adjoint": _divisor_adjoint,
        "int_power": np.power,
        "floor_divide": np.floor_divide,
        "unit": _unit,
    }
    if any_complex:
        functions["sigmoid"] = lambda x: 1 / (1 + np.exp(-x))
    return functions


def _divisor_adjoint(x: Array, y: Array, z: Array) -> Array:
    """``-(x / z) * y``, or ``-(x * y) / z`` where x / z overflows; 0 where x or y is 0."""
    divided_first = -(x / z * y)
    zero = x * 0
    if x.dtype.kind != "c":
        for operand in (x, y, z):
            zero = np.copysign(zero, np.where(np.signbit(operand), -1, 1) * np.copysign(1, zero))
    multiplied_first = np.where((x == 0) | (y == 0), -zero, -(x * y) / z)
    return np.where(np.isfinite(divided_first), divided_first, multiplied_first)


def _tanh_slope(x: Array, y: Array) -> Array:
    """The derivative of ``y = tanh(x)``; of complex numbers, of ``x`` alone."""
    is_negative = np.real(x) < 0 if x.dtype.kind == "c" else x < 0
    e = np.exp(2 * np.where(is_negative, x, -x))
    slope_from_x = 4 * e / (1 + e) ** 2
    return (
        slope_from_x
        if x.dtype.kind == "c"
        else np.where(np.abs(y) > _MAX_VALUE_FOR_SLOPE, slope_from_x, 1 - y * y)
    )


def _sigmoid_slope(x: Array, y: Array) -> Array:
    """The derivative of ``y = sigmoid(x)``; of complex numbers, of ``x`` alone."""
    is_negative = np.real(x) < 0 if x.dtype.kind == "c" else x < 0
    e = np.exp(np.where(is_negative, x, -x))
    slope_from_x = e / (1 + e) ** 2
    return (
        slope_from_x
        if x.dtype.kind == "c"
        else np.where(y > _MAX_VALUE_FOR_SLOPE, slope_from_x, y * (1 - y))
    )


def _unit(x: Array, out: Array | None = None) -> Array:
    """``x / abs(x)`` of complex numbers; 0 at 0. Like NumPy's sign, in vector code."""
    magnitude = np.empty(x.shape, x.real.dtype)
    np.absolute(x, out=magnitude)
    if not np.isfinite(magnitude).all():
        return np.sign(x, out=out)
    np.putmask(magnitude, magnitude == 0, 1)
    result = np.empty_like(x) if out is None else out
    np.divide(x.real, magnitude, out=result.real)
    np.divide(x.imag, magnitude, out=result.imag)
    return result


# Bodies of complex numbers that are one NumPy function.
_UFUNCS = {
    "x + y": np.add,
    "x - y": np.subtract,
    "x * y": np.multiply,
    "x / y": np.divide,
    "-x": np.negative,
    "absolute(x)": np.absolute,
    "conjugate(x)": np.conjugate,
}


def _write_directly(body: str, out: Array, operands: list[Array]) -> bool:
    """Compute complex numbers in one pass, without an array in between, if the body is simple.

    Returns:
      Whether ``out`` is computed.
    """
    x, kind = operands[0], out.dtype.kind
    if body in _UFUNCS and all(operand.dtype == x.dtype for operand in operands):
        _UFUNCS[body](*operands, out=out)
    elif body == "unit(x)":
        _unit(x, out)
    elif body == "x + 1j * y":  # also of infinity, whose product with 1j has a NaN
        out.real[...] = x
        out.imag[...] = operands[1]
    elif body == "cast(x)" and kind == "c":
        out[...] = x
    elif body == "cast(x)" and kind == "f" and x.dtype.itemsize == 2 * out.dtype.itemsize:
        out[...] = x.real
    else:
        return False
    return True


@cache
def _compile_body(body: str) -> CodeType:
    return compile(body, f"<body {body}>", "eval")


def evaluate(body: str, operands: list[Array], dtype: np.dtype[Any]) -> Array:
    """The value of a body on arrays, with NumPy. ``cast(x)`` converts to ``dtype``."""
    scope = dict(zip("xyz", operands, strict=False))
    scope["cast"] = lambda x: convert_array(np.asarray(x), dtype)

    def convert_literal(x: object) -> Any:  # a literal: -1 is 255 as uint8, where NumPy raises
        return np.asarray(x).astype(dtype) if isinstance(x, int) else x

    scope["select"] = lambda condition, x, y: np.where(
        condition, convert_literal(x), convert_literal(y)
    )
    functions = _functions(any(x.dtype.kind == "c" for x in operands))
    return eval(_compile_body(body), functions | scope)


def apply(op: Op, out: Array, operands: list[Array], attributes: dict[str, Any]) -> None:
    """Compute an op into ``out``, from its body or with its NumPy function."""
    widens = op.name != "Bitcast"  # which needs the bits of its operand unchanged
    are_narrow = [widens and _is_narrow_float(x.dtype) for x in operands]
    target = out
    if any(are_narrow):
        operands = [
            x.astype(np.float32) if is_narrow else x
            for x, is_narrow in zip(operands, are_narrow, strict=True)
        ]
    if widens and _is_narrow_float(out.dtype):
        target = np.empty(out.shape, np.float32)
    if op.kind == ELEMENTWISE:
        body, is_complex = op.body, any(x.dtype.kind == "c" for x in (out, *operands))
        if op.complex_body and any(x.dtype.kind == "c" for x in operands):
            body = op.complex_body
        if not (is_complex and _write_directly(body, target, operands)):
            target[...] = np.asarray(evaluate(body, operands, target.dtype))
    else:
        assert op.compute is not None
        op.compute(target, *operands, **attributes)
    if target is not out:
        out[...] = target


def _is_narrow_float(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is float16 or a float of `ml_dtypes`."""
    return bool(dtype.itemsize <= 2 and dtype.kind in "fV")
