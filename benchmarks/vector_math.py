"""Elementary functions on the CPU in numtape, NumPy and libm.

``python -m benchmarks.vector_math`` prints a table and writes no files. Times are medians in ns per
element over a block that stays in the cache. The columns are numtape's lane kernel, NumPy's loop
(SciPy's if NumPy has none), and a loop that calls libm, compiled by Numba; they take turns. NumPy's
time includes the call overhead, some 0.1 ns per element. The error is the largest on the block, in
units in the last place.
"""

from __future__ import annotations

import argparse
import importlib
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import scipy.special

BLOCK = 4096
ROUNDS = 15


@dataclass(frozen=True)
class TimingRow:
    """One elementary function and its references.

    Attributes:
      numpy: The equivalent ufunc.
      libm: The equivalent expression in the names of `math`.
      exact: The name in mpmath, or a function of mpmath numbers.
      ranges: The range of each operand.
    """

    numpy: Callable[..., Any]
    libm: str
    exact: Callable[..., Any] | str
    ranges: tuple[tuple[float, float], ...] = ((-1.0, 1.0),)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _softplus(x: Any) -> Any:
    return mpmath.log1p(mpmath.exp(x))


def _rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


# Keys are the names in `numtape.core.ops.elementwise` and `activations`.
ROWS = {
    "exp": TimingRow(np.exp, "exp(x)", "exp", ((-8, 8),)),
    "expm1": TimingRow(np.expm1, "expm1(x)", "expm1", ((-2, 2),)),
    "log": TimingRow(np.log, "log(x)", "log", ((0, 8),)),
    "log1p": TimingRow(np.log1p, "log1p(x)", "log1p", ((-0.9, 4),)),
    "pow_float": TimingRow(np.power, "pow(x, y)", "power", ((0, 4), (-3, 3))),
    "rsqrt": TimingRow(_rsqrt, "1.0 / sqrt(x)", lambda x: 1 / mpmath.sqrt(x), ((0, 8),)),
    "sin": TimingRow(np.sin, "sin(x)", "sin", ((-8, 8),)),
    "cos": TimingRow(np.cos, "cos(x)", "cos", ((-8, 8),)),
    "tan": TimingRow(np.tan, "tan(x)", "tan", ((-8, 8),)),
    "asin": TimingRow(np.arcsin, "asin(x)", "asin"),
    "acos": TimingRow(np.arccos, "acos(x)", "acos"),
    "atan": TimingRow(np.arctan, "atan(x)", "atan", ((-4, 4),)),
    "atan2": TimingRow(np.arctan2, "atan2(x, y)", "atan2", ((-4, 4), (-4, 4))),
    "sinh": TimingRow(np.sinh, "sinh(x)", "sinh", ((-4, 4),)),
    "cosh": TimingRow(np.cosh, "cosh(x)", "cosh", ((-4, 4),)),
    "tanh": TimingRow(np.tanh, "tanh(x)", "tanh", ((-4, 4),)),
    "asinh": TimingRow(np.arcsinh, "asinh(x)", "asinh", ((-4, 4),)),
    "acosh": TimingRow(np.arccosh, "acosh(x)", "acosh", ((1, 8),)),
    "atanh": TimingRow(np.arctanh, "atanh(x)", "atanh", ((-0.99, 0.99),)),
    "erf": TimingRow(scipy.special.erf, "erf(x)", "erf", ((-3, 3),)),
    "erfc": TimingRow(scipy.special.erfc, "erfc(x)", "erfc", ((-3, 6),)),
    "sigmoid": TimingRow(scipy.special.expit, "1.0 / (1.0 + exp(-x))", _sigmoid, ((-8, 8),)),
    "softplus": TimingRow(
        lambda x, out: np.logaddexp(0, x, out=out),
        "max(x, 0) + log1p(exp(-abs(x)))",
        _softplus,
        ((-8, 8),),
    ),
    "floor": TimingRow(np.floor, "floor(x)", "floor", ((-8, 8),)),
    "ceil": TimingRow(np.ceil, "ceil(x)", "ceil", ((-8, 8),)),
    "round_float": TimingRow(np.rint, "rint(x)", "nint", ((-8, 8),)),
    "floor_mod_float": TimingRow(np.mod, "fmod(x, y)", "fmod", ((-8, 8), (0.5, 4))),
}


def _ours(name: str, dtype: str) -> int:
    """The address of numtape's lane kernel."""
    from numtape.core.compile import lane_kernels
    from numtape.core.ops import activations, elementwise
    from numtape.core.values import dtypes

    recorder = getattr(elementwise, name, None) or getattr(activations, name)
    op, kind = recorder.op, dtypes.as_dtype(dtype)
    return lane_kernels.compile_lane(op, (kind,) * op.arity, kind)


def _libm(body: str, dtype: str) -> Any:
    """A C function with the signature of a lane kernel that calls libm."""
    import numba

    pointer = importlib.import_module("numtape.kernels.jit").POINTERS[dtype]
    number = getattr(numba.types, dtype)
    names = (
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "ceil",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "expm1",
        "floor",
        "log",
        "log1p",
        "pow",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
    )
    scope = {name: getattr(math, name) for name in names}
    scope |= {"at": pointer, "number": number, "rint": np.rint, "fmod": np.fmod}
    source = (
        "def loop(out_, x_, y_, z_, n):\n"
        "    out, xs, ys = at(out_), at(x_), at(y_)\n"
        "    for i in range(n):\n"
        f"        x = xs[i]{'; y = ys[i]' if 'y)' in body else ''}\n"
        f"        out[i] = {body.replace('1.0', 'number(1)').replace(', 0)', ', number(0))')}\n"
    )
    exec(source, scope)
    signature = numba.types.void(*[numba.types.intp] * 5)
    return numba.cfunc(signature, error_model="numpy")(scope["loop"])


def _repeater() -> Any:
    """A compiled loop that calls a lane kernel repeatedly, to amortize the cost of a call."""
    import numba

    call_kernel = importlib.import_module("numtape.kernels.jit").call_kernel

    @numba.njit
    def repeat(address: int, times: int, out: int, x: int, y: int, n: int) -> None:
        for _ in range(times):
            call_kernel(address, out, x, y, 0, n)

    return repeat


def error(row: TimingRow, operands: list[Any], actual: Any) -> float:
    """The largest error, in units in the last place of the exact value."""
    function = getattr(mpmath, row.exact) if isinstance(row.exact, str) else row.exact
    limits, worst = np.finfo(actual.dtype), 0.0
    with mpmath.workprec(120):
        for value, *provided in zip(actual.tolist(), *(x.tolist() for x in operands), strict=True):
            exact = function(*map(mpmath.mpf, provided))
            exponent = mpmath.frexp(exact)[1] if exact else limits.minexp
            unit = mpmath.ldexp(1, max(exponent - 1, limits.minexp) - limits.nmant)
            worst = max(worst, float(abs(mpmath.mpf(value) - exact) / unit))
    return worst


def measure(name: str, dtype: str, repeat: Any, times: int, rounds: int) -> tuple[float, ...]:
    """Times of numtape, NumPy and libm in ns per element, and numtape's error in ulp."""
    row, random = ROWS[name], np.random.default_rng(0)
    operands = [random.uniform(low, high, BLOCK).astype(dtype) for low, high in row.ranges]
    out = np.empty(BLOCK, dtype)
    places = [out.ctypes.data, *(x.ctypes.data for x in operands)]
    places += [0] * (3 - len(places))
    libm = _libm(row.libm, dtype)
    addresses = _ours(name, dtype), libm.address

    def compile_code(address: int) -> Callable[[], None]:
        return lambda: repeat(address, times, *places, BLOCK)

    def numpy() -> None:
        for _ in range(times):
            row.numpy(*operands, **({} if row.numpy is _rsqrt else {"out": out}))

    columns = [compile_code(addresses[0]), numpy, compile_code(addresses[1])]
    samples: list[list[float]] = [[] for _ in columns]
    with np.errstate(all="ignore"):
        for function in columns:
            function()
        for _ in range(rounds):
            for function, value in zip(columns, samples, strict=True):
                began = time.perf_counter()
                function()
                value.append((time.perf_counter() - began) / (times * BLOCK) * 1e9)
    columns[0]()
    part = slice(None, None, 4)
    exact_row = name == "floor_mod_float"  # mpmath's fmod is a floor_mod
    worst = error(
        row if not exact_row else TimingRow(np.mod, "", "fmod"),
        [x[part] for x in operands],
        out[part],
    )
    return (*map(statistics.median, samples), worst)


def main(argv: list[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vector_math")
    parser.add_argument("functions", nargs="*", choices=[[], *ROWS], help="default: all")
    parser.add_argument("--quick", action="store_true", help="a few rounds only")
    arguments = parser.parse_args(argv)
    times, rounds = (3, 3) if arguments.quick else (20, ROUNDS)
    repeat = _repeater()
    print(f"{'ns per element':<16}{'dtype':<9}{'numtape':>8}{'NumPy':>8}{'libm':>8}{'ulp':>7}")
    for name in arguments.functions or ROWS:
        for dtype in ("float32", "float64"):
            own, numpy, libm, ulp = measure(name, dtype, repeat, times, rounds)
            print(f"{name:<16}{dtype:<9}{own:8.2f}{numpy:8.2f}{libm:8.2f}{ulp:7.2f}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
