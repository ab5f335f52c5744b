"""The CPU's vector functions against mpmath: their errors, special values, bits that stay."""

import ctypes
import importlib
import math
import re

import mpmath
import numpy as np
import pytest

pytestmark = pytest.mark.numtape_only("how numtape computes on the CPU")

# Function: what its docstring promises in ulp, and where to look closely.
FUNCTIONS = {
    "exp": (0.8, [(-745, 709), (-104, 88), (-2, 2)]),
    "expm1": (1.4, [(-40, 709), (-18, 88), (-1.5, 1.5), (-1e-3, 1e-3)]),
    "tanh": (1.5, [(-20, 20), (-1, 1), (0.5, 0.6)]),
    "log": (0.9, [(0, 10), (0.7, 1.42), (0.999, 1.001)]),
    "log1p": (1.1, [(-1, 10), (-0.3, 0.42), (-1e-3, 1e-3)]),
    "sin": (0.8, [(-10, 10), (-1e6, 1e6)]),
    "cos": (0.9, [(-10, 10), (-1e6, 1e6)]),
    "sqrt": (0.5, [(0, 10)]),
}
DTYPES = ["float32", "float64"]
INF, NAN = math.inf, math.nan
# Where sine and cosine turn to the C library.
REACH = 2.0**20

every = pytest.mark.parametrize("name", FUNCTIONS)
both = pytest.mark.parametrize("dtype", DTYPES)


def lane(name, dtype):
    """The compiled lane kernel as a function of two arrays; it may be given a part of each."""
    from numtape.core import dtypes, lower
    from numtape.core.ops import elementwise

    kind = dtypes.as_dtype(dtype)
    address = lower.compiled(getattr(elementwise, name).op, (kind,), kind)
    kernel = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)(address)
    return lambda out, x: kernel(out.ctypes.data, x.ctypes.data, 0, 0, x.size)


def value(name, x):
    out = np.full_like(x, 77)
    lane(name, x.dtype)(out, x)
    return out


def arguments(name, dtype):
    """Finite arguments: every exponent, its borders, and the ranges of the function's row."""
    random, limits = np.random.default_rng(0), np.finfo(dtype)
    exponents = np.arange(limits.minexp - limits.nmant, limits.maxexp)
    borders = np.ldexp(np.ones(1, dtype), exponents[:: 1 if dtype == "float32" else 7])
    found = [borders, np.nextafter(borders, 0), borders * random.uniform(1, 1.99, borders.size)]
    found += [random.uniform(low, high, 600) for low, high in FUNCTIONS[name][1]]
    # Close to the zeros of sine and cosine, and around the border of their reach.
    zeros = np.arange(1, 667_000, 3001) * (math.pi / 2)
    found += [zeros, np.linspace(REACH - 9, REACH + 9, 50)] if name in ("sin", "cos") else []
    x = np.concatenate([np.asarray(part).astype(dtype) for part in found])
    x = np.concatenate([x, -x]) if name not in ("log", "sqrt") else np.abs(x)
    return x[np.isfinite(x) & (x != 0) & ((x > -1) | (name != "log1p"))]


def errors(name, x, actual):
    """How far each value is off, in units in the last place of the exact one."""
    function, limits = getattr(mpmath, name), np.finfo(x.dtype)
    found = np.empty(x.size)
    # Past this, exp is as far outside of any dtype as at it, and mpmath takes long.
    bound = 2000 if name in ("exp", "expm1", "tanh") else INF
    with mpmath.workprec(150):
        largest = mpmath.mpf(float(limits.max)) * (1 + mpmath.mpf(2) ** -(limits.nmant + 2))
        for i, (argument, value) in enumerate(zip(x.tolist(), actual.tolist(), strict=True)):
            exact = function(mpmath.mpf(max(-bound, min(bound, argument))))
            if abs(exact) >= largest:
                found[i] = 0 if value == INF else INF
                continue
            # frexp of mpmath: the mantissa lies between 0.5 and 1.
            exponent = mpmath.frexp(exact)[1] if exact else limits.minexp
            unit = mpmath.ldexp(1, max(exponent - 1, limits.minexp) - limits.nmant)
            found[i] = abs(mpmath.mpf(value) - exact) / unit if math.isfinite(value) else INF
    return found


@every
@both
def test_error(name, dtype):
    x = arguments(name, dtype)
    actual = value(name, x)
    error = errors(name, x, actual)
    worst = error.argmax()
    assert error[worst] <= FUNCTIONS[name][0], f"{error[worst]} ulp: {name}({x[worst]!r})"


@every
@both
def test_special_values(name, dtype):
    least = float(np.finfo(dtype).smallest_subnormal)
    odd = [(0.0, 0.0), (-0.0, -0.0), (least, least), (-least, -least)]
    edges = {
        "exp": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (least, 1), (1e4, INF), (-1e4, 0)],
        "expm1": [*odd, (INF, INF), (-INF, -1), (1e4, INF), (-1e4, -1)],
        "tanh": [*odd, (INF, 1), (-INF, -1), (50.0, 1), (-1e4, -1)],
        "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0), (INF, INF), (-INF, NAN), (-least, NAN)],
        "log1p": [*odd, (INF, INF), (-INF, NAN), (-1.0, -INF), (-1.5, NAN)],
        "sin": [*odd, (INF, NAN), (-INF, NAN)],
        "cos": [(0.0, 1), (-0.0, 1), (least, 1), (INF, NAN), (-INF, NAN)],
        "sqrt": [(0.0, 0), (-0.0, -0.0), (4.0, 2), (INF, INF), (-INF, NAN), (-1.0, NAN)],
    }[name]
    # In a loop long enough for vectors, and alone.
    x, expected = np.repeat(np.array([*edges, (NAN, NAN)], dtype), 40, axis=0).T.copy()
    for actual in (
        value(name, x),
        np.concatenate([value(name, x[i : i + 1]) for i in range(x.size)]),
    ):
        np.testing.assert_array_equal(actual, expected)
        kept = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(actual[kept]), np.signbit(expected[kept]))


@every
@both
def test_an_element_has_the_same_bits_wherever_it_is(name, dtype):
    """At any place in a loop of any length, in memory of any alignment."""
    random, run = np.random.default_rng(1), lane(name, dtype)
    x = random.uniform(0, 5, 200).astype(dtype)
    x[::17] *= np.array(1e7, dtype)
    x[5::29] = [INF, NAN, -0.0, 1e-40, -2.0, 90.0, 0.5][: x[5::29].size]
    whole = value(name, x)
    for n in range(1, 71):
        for start in (0, 1, 3, 97):
            out = np.full(x.size, 77, dtype)
            run(out[n % 5 :], x[start : start + n])
            expected = np.full(x.size, 77, dtype)
            expected[n % 5 : n % 5 + n] = whole[start : start + n]
            assert out.tobytes() == expected.tobytes(), (n, start)


@pytest.mark.parametrize("name", ["exp", "expm1", "tanh", "log", "log1p", "sin", "cos"])
@both
def test_loops_are_vectorised(name, dtype):
    import numba

    function = importlib.import_module("numtape.kernels.cpu.vector").FUNCTIONS[name]

    def loop(out, x):
        for i in range(x.size):
            out[i] = function(x[i])

    array = numba.types.Array(getattr(numba, dtype), 1, "C")
    compiled = numba.njit((array, array))(loop)
    (assembly,) = compiled.inspect_asm().values()
    if not re.search(r"\bv?muls[sd]\b", assembly):
        pytest.skip("not an x86 machine")
    assert re.search(r"\bv?mulp[sd]\b", assembly)
