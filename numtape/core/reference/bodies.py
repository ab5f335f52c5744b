"""Bodies of elementwise ops: one scalar expression in x, y, z; one text for every target.

Each target resolves the names in it: to NumPy here, to compiled scalar functions in
`numtape.core.compile.lane_kernels`.

Halves and complex numbers have no compiled kernels: `apply` computes ops of them on every
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
_STEEP = 1 - 2.0**-10  # as in kernels/functions/exponential.py


@cache
def _functions(complex_vjp: bool) -> dict[str, Any]:
    """The functions that names in bodies refer to. Imports SciPy on first use."""
    special = importlib.import_module("scipy.special")
    table = importlib.import_module("numtape.kernels.functions.elementary").TABLE
    functions = {name: getattr(np, row.numpy) for name, row in table.items() if row.numpy}
    same = ("isnan", "isinf", "isfinite", "absolute", "angle", "conjugate", "imag", "real")
    functions |= {name: getattr(np, name) for name in same}
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
        "unit": np.sign,  # of a complex number: on the unit circle, or 0
    }
    if complex_vjp:
        functions["sigmoid"] = lambda x: 1 / (1 + np.exp(-x))
    return functions


def _divisor_adjoint(x: Array, y: Array, z: Array) -> Array:
    """``-(x / z) * y``, or ``-(x * y) / z`` where x / z overflows; 0 where x or y is 0."""
    quick = -(x / z * y)
    zero = x * 0
    if x.dtype.kind != "c":
        for each in (x, y, z):
            zero = np.copysign(zero, np.where(np.signbit(each), -1, 1) * np.copysign(1, zero))
    slow = np.where((x == 0) | (y == 0), -zero, -(x * y) / z)
    return np.where(np.isfinite(quick), quick, slow)


def _tanh_slope(x: Array, y: Array) -> Array:
    """The derivative of ``y = tanh(x)``; of complex numbers, of ``x`` alone."""
    left = np.real(x) < 0 if x.dtype.kind == "c" else x < 0
    e = np.exp(2 * np.where(left, x, -x))
    steep = 4 * e / (1 + e) ** 2
    return steep if x.dtype.kind == "c" else np.where(np.abs(y) > _STEEP, steep, 1 - y * y)


def _sigmoid_slope(x: Array, y: Array) -> Array:
    """The derivative of ``y = sigmoid(x)``; of complex numbers, of ``x`` alone."""
    left = np.real(x) < 0 if x.dtype.kind == "c" else x < 0
    e = np.exp(np.where(left, x, -x))
    steep = e / (1 + e) ** 2
    return steep if x.dtype.kind == "c" else np.where(y > _STEEP, steep, y * (1 - y))


@cache
def _compile_body(body: str) -> CodeType:
    return compile(body, f"<body {body}>", "eval")


def evaluate(body: str, operands: list[Array], dtype: np.dtype[Any]) -> Array:
    """The value of a body on arrays, with NumPy. ``cast(x)`` converts to ``dtype``."""
    scope = dict(zip("xyz", operands, strict=False))
    scope["cast"] = lambda x: convert_array(np.asarray(x), dtype)

    def fit(x: object) -> Any:  # a literal: -1 is 255 as uint8, where NumPy raises
        return np.asarray(x).astype(dtype) if isinstance(x, int) else x

    scope["select"] = lambda condition, x, y: np.where(condition, fit(x), fit(y))
    functions = _functions(any(x.dtype.kind == "c" for x in operands))
    return eval(_compile_body(body), functions | scope)


def apply(op: Op, out: Array, operands: list[Array], attributes: dict[str, Any]) -> None:
    """Compute an op into ``out``, from its body or with its NumPy function."""
    by_value = op.name != "Bitcast"
    halves = [by_value and _is_half(x.dtype) for x in operands]
    target = out
    if any(halves):
        operands = [
            x.astype(np.float32) if half else x for x, half in zip(operands, halves, strict=True)
        ]
    if by_value and _is_half(out.dtype):
        target = np.empty(out.shape, np.float32)
    if op.kind == ELEMENTWISE:
        body = op.body
        if op.complex_body and any(x.dtype.kind == "c" for x in operands):
            body = op.complex_body
        target[...] = np.asarray(evaluate(body, operands, target.dtype))
    else:
        assert op.compute is not None
        op.compute(target, *operands, **attributes)
    if target is not out:
        out[...] = target


def _is_half(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is float16 or a float of `ml_dtypes`."""
    return bool(dtype.itemsize <= 2 and dtype.kind in "fV")
