"""The CPU's vector functions against mpmath: errors, special values, reproducible bits."""

import ctypes
import importlib
import math
import re

import mpmath
import numpy as np
import pytest
from processes import run

pytestmark = [
    pytest.mark.numtape_only("how numtape computes on the CPU"),
    pytest.mark.cpu_only("functions of the CPU's kernels"),
]

# Function: the bound in its docstring in ulp, and ranges to test densely.
FUNCTIONS = {
    "exp": (0.8, [(-745, 709), (-104, 88), (-2, 2)]),
    "expm1": (1.2, [(-40, 709), (-18, 88), (-1.5, 1.5), (-1e-3, 1e-3)]),
    "tanh": (1.5, [(-20, 20), (-1, 1), (0.5, 0.6)]),
    "sinh": (1.9, [(-710, 710), (-89, 89), (-3, 3), (0.3, 0.45)]),
    "cosh": (1.9, [(-710, 710), (-89, 89), (-3, 3), (7, 9)]),
    "erf": (1.5, [(-6, 6), (-1.2, 1.2), (1, 1.2)]),
    "erfc": (1.9, [(-7, 27.3), (0, 10.2), (-1.2, 1.2), (0.75, 0.85)]),
    "sigmoid": (1.2, [(-750, 40), (-105, 20), (-8, 8)]),
    "softplus": (1.8, [(-750, 40), (-105, 20), (-2, 2)]),
    "log": (0.9, [(0, 10), (0.7, 1.42), (0.999, 1.001)]),
    "log1p": (1.1, [(-1, 10), (-0.3, 0.42), (-1e-3, 1e-3)]),
    "asinh": (1.3, [(-10, 10), (1, 1.3), (1e4, 1e9)]),
    "acosh": (1.2, [(1, 10), (1, 1.1), (1, 1.001), (1e4, 1e9)]),
    "atanh": (1.6, [(-1, 1), (0.6, 0.7), (0.45, 0.55), (0.999, 1)]),
    "sin": (0.8, [(-10, 10), (-1e6, 1e6)]),
    "cos": (0.9, [(-10, 10), (-1e6, 1e6)]),
    "tan": (1.8, [(-10, 10), (-1e6, 1e6), (-0.8, 0.8)]),
    "asin": (1.3, [(-1, 1), (0.49, 0.57), (0.9, 1)]),
    "acos": (1.2, [(-1, 1), (0.49, 0.57), (0.9, 1)]),
    "atan": (1.9, [(-20, 20), (0.98, 1.02)]),
    "sqrt": (0.5, [(0, 10)]),
    "rsqrt": (1.5, [(0, 10), (3.9, 4.1)]),
    "elu": (1.2, [(-40, 3), (-1.5, 0.1)]),
    "selu": (1.9, [(-40, 3), (-1.5, 0.1)]),
    "pow_float": (1.6, []),
    "atan2": (1.9, []),
}
BINARY = ("pow_float", "atan2")
# Arguments at which a function is not finite.
OUTSIDE = {
    "log": lambda x: x < 0,
    "sqrt": lambda x: x < 0,
    "rsqrt": lambda x: x < 0,
    "log1p": lambda x: x <= -1,
    "acosh": lambda x: x < 1,
    "atanh": lambda x: abs(x) >= 1,
    "asin": lambda x: abs(x) > 1,
    "acos": lambda x: abs(x) > 1,
}
VECTOR = sorted(FUNCTIONS.keys() - {"sqrt", "rsqrt", "elu", "selu", "softplus", "pow_float"})
DTYPES = ["float32", "float64"]
INF, NAN = math.inf, math.nan
# Arguments from which sine, cosine and tangent call the C library.
REACH = 2.0**20

every = pytest.mark.parametrize("name", FUNCTIONS)
both = pytest.mark.parametrize("dtype", DTYPES)


def softplus(x):
    return max(x, 0) + mpmath.log1p(mpmath.exp(-abs(x)))


def selu(x):
    scale, alpha = mpmath.mpf(1.0507009873554805), mpmath.mpf(1.6732632423543772)
    return scale * (alpha * mpmath.expm1(max(x, -2000)) if x < 0 else x)


EXACT = {
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": softplus,
    "selu": selu,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "elu": lambda x: mpmath.expm1(max(x, -2000)) if x < 0 else x,
    "pow_float": mpmath.power,
}


def lane(name, dtype):
    """The compiled lane kernel as a function of arrays or parts of arrays."""
    from numtape.core.compile import lane_kernels
    from numtape.core.ops import activations, elementwise
    from numtape.core.values import dtypes

    recorder = getattr(elementwise, name, None) or getattr(activations, name)
    kind, op = dtypes.as_dtype(dtype), recorder.op
    address = lane_kernels.compile_lane(op, (kind,) * op.arity, kind)
    kernel = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)(address)

    def call(out, *operands):
        places = [x.ctypes.data for x in operands] + [0] * (3 - len(operands))
        return kernel(out.ctypes.data, *places, operands[0].size)

    return call


def value(name, *operands):
    out = np.full_like(operands[0], 77)
    lane(name, out.dtype)(out, *operands)
    return out


def arguments(name, dtype):
    """Finite arguments: every exponent, its bounds, and the ranges of the function's row."""
    random, limits = np.random.default_rng(0), np.finfo(dtype)
    if name == "atan2":
        wide = np.exp(random.uniform(-80, 80, (2, 800)))
        pairs = np.hstack([random.normal(size=(2, 4000)), wide, random.uniform(0.9, 1, (2, 800))])
        return tuple((pairs * random.choice([-1, 1], pairs.shape)).astype(dtype))
    if name == "pow_float":
        # Results of every magnitude, from bases close to 1 and far from it.
        end = math.log(limits.max)
        base = np.concatenate(
            [
                random.uniform(0, 3, 2000),
                random.uniform(0.7, 1.42, 2000),
                1 + random.normal(size=1000) * 1e-3,
                np.exp(random.uniform(-end, end, 2000)),
            ]
        ).astype(dtype)
        base[::50] = limits.smallest_subnormal * random.integers(1, 1000, base[::50].size)
        exponent = random.uniform(-1.04 * end, 0.998 * end, base.size) / np.log(base)
        exponent[::7] = random.integers(-6, 7, exponent[::7].size)
        base[::14] *= -1
        return base, exponent.astype(dtype)
    exponents = np.arange(limits.minexp - limits.nmant, limits.maxexp)
    borders = np.ldexp(np.ones(1, dtype), exponents[:: 1 if dtype == "float32" else 7])
    found = [borders, np.nextafter(borders, 0), borders * random.uniform(1, 1.99, borders.size)]
    found += [random.uniform(low, high, 600) for low, high in FUNCTIONS[name][1]]
    if name in ("sin", "cos", "tan"):
        # Close to their zeros, and around the limit of the vector functions.
        found += [np.arange(1, 667_000, 3001) * (math.pi / 2)]
        found += [np.linspace(REACH - 9, REACH + 9, 50)]
    x = np.concatenate([np.asarray(part).astype(dtype) for part in found])
    x = np.concatenate([x, -x])
    keep = np.isfinite(x) & (x != 0)
    return (x[keep & ~OUTSIDE[name](x)] if name in OUTSIDE else x[keep],)


def errors(name, operands, actual):
    """The error of each value, in units in the last place of the exact one."""
    function, limits = EXACT.get(name) or getattr(mpmath, name), np.finfo(actual.dtype)
    found = np.empty(actual.size)
    # Beyond this, results exceed every dtype, and mpmath is slow.
    slow = ("exp", "expm1", "tanh", "sinh", "cosh", "erf", "erfc", "sigmoid")
    bound = 2000 if name in slow else INF
    with mpmath.workprec(150):
        largest = mpmath.mpf(float(limits.max)) * (1 + mpmath.mpf(2) ** -(limits.nmant + 2))
        columns = [np.clip(x.astype("float64"), -bound, bound).tolist() for x in operands]
        for i, (value, *row) in enumerate(zip(actual.tolist(), *columns, strict=True)):
            exact = function(*map(mpmath.mpf, row))
            if abs(exact) >= largest:
                found[i] = 0 if value == math.copysign(INF, exact) else INF
                continue
            # frexp of mpmath: the mantissa lies between 0.5 and 1.
            exponent = mpmath.frexp(exact)[1] if exact else limits.minexp
            unit = mpmath.ldexp(1, max(exponent - 1, limits.minexp) - limits.nmant)
            found[i] = abs(mpmath.mpf(value) - exact) / unit if math.isfinite(value) else INF
    return found


def check(name, operands, actual):
    error = errors(name, operands, actual)
    worst = error.argmax()
    at = [float(x[worst]) for x in operands]
    assert error[worst] <= FUNCTIONS[name][0], f"{error[worst]} ulp: {name}{at}"


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(name, dtype, marks=pytest.mark.slow if (j + k) % 2 else ())
        for j, name in enumerate(FUNCTIONS)
        for k, dtype in enumerate(DTYPES)
    ],
)
def test_error(name, dtype):
    operands = arguments(name, dtype)
    check(name, operands, value(name, *operands))


# Loops for a machine without fused multiply-adds and wide vectors.
PLAIN = """
import importlib, sys
import numba, numpy as np
import numtape

found = dict(np.load(sys.argv[1]))
functions = importlib.import_module("numtape.kernels.functions.vector").FUNCTIONS
for key in [key for key in found if key.endswith(" x")]:
    name, dtype, _ = key.split()
    f, x, y = functions[name], found[key], found.get(f"{name} {dtype} y")

    def unary(out, x):
        for i in range(x.size):
            out[i] = f(x[i])

    def binary(out, x, y):
        for i in range(x.size):
            out[i] = f(x[i], y[i])

    out = np.empty_like(x)
    numba.njit(unary if y is None else binary)(*(a for a in (out, x, y) if a is not None))
    found[f"{name} {dtype} out"] = out
np.savez(sys.argv[1], **found)
"""


@pytest.mark.slow
def test_error_without_fused_instructions(tmp_path):
    names = {name: "power" if name == "pow_float" else name for name in [*VECTOR, "pow_float"]}
    given, file = {}, tmp_path / "values.npz"
    for name, kernel in names.items():
        for dtype in DTYPES:
            operands = arguments(name, dtype)
            reach = np.abs(operands[0]) <= (REACH if name in ("sin", "cos", "tan") else INF)
            for letter, x in zip("xy", operands, strict=False):
                given[f"{kernel} {dtype} {letter}"] = x[reach][::5]
    np.savez(file, **given)
    run(PLAIN, file, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
    with np.load(file) as found:
        for name, kernel in names.items():
            for dtype in DTYPES:
                key = f"{kernel} {dtype} "
                operands = [found[key + letter] for letter in "xy" if key + letter in found]
                check(name, operands, found[key + "out"])


def edges(name, least):
    """Arguments and results that have to be exact."""
    odd = [(0.0, 0.0), (-0.0, -0.0), (least, least), (-least, -least)]
    return {
        "exp": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (least, 1), (1e4, INF), (-1e4, 0)],
        "expm1": [*odd, (INF, INF), (-INF, -1), (1e4, INF), (-1e4, -1)],
        "tanh": [*odd, (INF, 1), (-INF, -1), (50.0, 1), (-1e4, -1)],
        "sinh": [*odd, (INF, INF), (-INF, -INF), (1e4, INF), (-1e4, -INF)],
        "cosh": [(0.0, 1), (-0.0, 1), (least, 1), (INF, INF), (-INF, INF), (-1e4, INF)],
        "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1), (-INF, -1), (1e30, 1), (-50.0, -1)],
        "erfc": [(0.0, 1), (-0.0, 1), (least, 1), (INF, 0.0), (-INF, 2), (1e30, 0.0), (-50.0, 2)],
        "sigmoid": [(0.0, 0.5), (-0.0, 0.5), (INF, 1), (-INF, 0.0), (1e4, 1), (-1e4, 0.0)],
        "softplus": [(INF, INF), (-INF, 0.0), (1e4, 1e4), (-1e4, 0.0)],
        "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0), (INF, INF), (-INF, NAN), (-least, NAN)],
        "log1p": [*odd, (INF, INF), (-INF, NAN), (-1.0, -INF), (-1.5, NAN)],
        "asinh": [*odd, (INF, INF), (-INF, -INF)],
        "acosh": [(1.0, 0.0), (INF, INF), (-INF, NAN), (0.0, NAN), (-1.0, NAN), (-1e9, NAN)],
        "atanh": [*odd, (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN), (INF, NAN)],
        "sin": [*odd, (INF, NAN), (-INF, NAN)],
        "cos": [(0.0, 1), (-0.0, 1), (least, 1), (INF, NAN), (-INF, NAN)],
        "tan": [*odd, (INF, NAN), (-INF, NAN)],
        "asin": [*odd, (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN)],
        "acos": [(1.0, 0.0), (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN)],
        "atan": odd,
        "sqrt": [(0.0, 0), (-0.0, -0.0), (4.0, 2), (INF, INF), (-INF, NAN), (-1.0, NAN)],
        "rsqrt": [(0.0, INF), (-0.0, -INF), (4.0, 0.5), (INF, 0.0), (-INF, NAN), (-1.0, NAN)],
        "elu": [*odd, (INF, INF), (-INF, -1)],
        "selu": [(0.0, 0.0), (-0.0, -0.0), (INF, INF)],
    }[name]


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in BINARY])
@both
def test_special_values(name, dtype):
    given = edges(name, float(np.finfo(dtype).smallest_subnormal))
    # In a loop long enough for vectors, and as a single element.
    x, expected = np.repeat(np.array([*given, (NAN, NAN)], dtype), 40, axis=0).T.copy()
    compare(name, [x], expected)


@pytest.mark.parametrize("name", BINARY)
@both
def test_special_values_of_two(name, dtype):
    """C's rules, as in Python (which raises where C returns infinity or NaN)."""
    limits = np.finfo(dtype)
    # Includes large odd, fractional and even numbers.
    whole = 2.0**limits.nmant
    sizes = [
        0.0,
        1.0,
        2.0,
        3.0,
        0.5,
        1.5,
        INF,
        float(limits.max),
        float(limits.tiny),
        float(limits.smallest_subnormal),
        whole + 1,
        whole / 2 + 0.5,
        whole * 2,
        1 - float(limits.epsneg),
        1 + float(limits.eps),
    ]
    points = np.array([*sizes, *(-x for x in sizes), NAN], dtype)
    x, y = (part.ravel().copy() for part in np.meshgrid(points, points))
    function = {"atan2": math.atan2, "pow_float": c_power}[name]
    exact = np.array([function(*pair) for pair in zip(x.tolist(), y.tolist(), strict=True)])
    compare(name, [x, y], exact, 2)


def c_power(x, y):
    odd = abs(y) < INF and math.fmod(abs(y), 2) == 1
    try:
        return math.pow(x, y)
    except OverflowError:
        return -INF if x < 0 and odd else INF
    except ValueError:
        if x == 0:
            return math.copysign(INF, x) if odd else INF
        return NAN


def compare(name, operands, exact, units=0):
    """Assert that exact results are exact, and others within a few units."""
    special = ~np.isfinite(exact) | (exact == 0) | (np.abs(exact) == 1) | (units == 0)
    n = exact.size
    with np.errstate(over="ignore"):
        expected = exact.astype(operands[0].dtype)
    for actual in (
        value(name, *operands),
        np.concatenate([value(name, *(x[i : i + 1] for x in operands)) for i in range(n)]),
    ):
        np.testing.assert_array_equal(actual[special], expected[special])
        if units:
            np.testing.assert_array_max_ulp(actual[~special], expected[~special], units)
        kept = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(actual[kept]), np.signbit(expected[kept]))


@every
@both
def test_an_element_has_the_same_bits_wherever_it_is(name, dtype):
    """At any index in a loop of any length, in memory of any alignment."""
    random, call = np.random.default_rng(1), lane(name, dtype)
    operands = random.uniform(0, 5, (1 + (name in BINARY), 200)).astype(dtype)
    for x in operands:
        x[::17] *= np.array(1e7, dtype)
        x[3::23] = 1 / (2 + x[3::23])
        x[5::29] = [INF, NAN, -0.0, 1e-40, -2.0, 90.0, 0.5][: x[5::29].size]
    whole = value(name, *operands)
    for n in range(1, 71):
        for start in (0, 1, 3, 97):
            out = np.full(200, 77, dtype)
            call(out[n % 5 :], *(x[start : start + n] for x in operands))
            expected = np.full(200, 77, dtype)
            expected[n % 5 : n % 5 + n] = whole[start : start + n]
            assert out.tobytes() == expected.tobytes(), (n, start)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@both
def test_one_large_argument_changes_no_other(name, dtype):
    x = np.linspace(-9, 9, 100).astype(dtype)
    before = value(name, x)
    x[37] = 1e30
    after = value(name, x)
    assert errors(name, [x[37:38]], after[37:38]) <= 1
    after[37] = before[37]
    assert after.tobytes() == before.tobytes()


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(name, dtype, marks=pytest.mark.slow if (j + k) % 2 else ())
        for j, name in enumerate([*VECTOR, "power"])
        for k, dtype in enumerate(DTYPES)
    ],
)
def test_loops_are_vectorised(name, dtype):
    import numba

    function = importlib.import_module("numtape.kernels.functions.vector").FUNCTIONS[name]

    def unary(out, x):
        for i in range(x.size):
            out[i] = function(x[i])

    def binary(out, x, y):
        for i in range(x.size):
            out[i] = function(x[i], y[i])

    array = numba.types.Array(getattr(numba, dtype), 1, "C")
    loop, count = (binary, 3) if name in ("power", "atan2") else (unary, 2)
    (assembly,) = numba.njit((array,) * count)(loop).inspect_asm().values()
    if not re.search(r"\bv?muls[sd]\b", assembly):
        pytest.skip("not an x86 machine")
    assert re.search(r"\bv?mulp[sd]\b", assembly)
    if importlib.import_module("numtape.kernels.cpu.panels").BYTES == 64:
        assert "zmm" in assembly
