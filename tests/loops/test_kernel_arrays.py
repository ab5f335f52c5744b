"""Arrays in compiled kernels: comparison with Numba, dtypes, shape errors, missing values."""

import numpy as np
import pytest
from kernel_array_cases import ARRAYS, CASES, ORDERED, POINT
from kernel_checks import close, differences, fresh, function_of, plain

import numtape as tf
from numtape.core.loops.program import program
from numtape.core.loops.runtime.invoke import kinds_of
from numtape.errors import KernelError

pytestmark = [
    pytest.mark.numtape_only("native loops"),
    pytest.mark.cpu_only("kernels run on the host"),
]


@pytest.mark.parametrize(
    ("function", "arguments", "wanted"),
    [
        pytest.param(*case, marks=[] if case[0].__name__ == "kept_views" else [pytest.mark.slow])
        for case in CASES
    ],
)
def test_compiled_sweeps_are_what_the_text_means(function, arguments, wanted):
    before = fresh(arguments)
    value, found = tf.value_and_grad(function, wanted)(*arguments)
    expected, slopes = plain(function, arguments, wanted)
    assert value == pytest.approx(expected, rel=1e-13)
    close(found, slopes, 1e-12)
    for one, other in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=pytest.mark.thorough if first else pytest.mark.slow)
        for first in range(0, len(ARRAYS), 40)
    ],
)
def test_values_are_numbas_bit_by_bit(first):
    """The same bits as Numba's functions, whose sums have the same order."""
    import numba

    several = [x for x in ARRAYS[first : first + 40] if x not in ORDERED]
    lines = [f"    out[{k}] = {x}\n" for k, x in enumerate(several)]
    function = function_of("def f(x, y, m, k, p, out):\n" + "".join(lines) + "    return p\n")
    arguments = [*POINT, np.zeros(len(several))]
    numba.njit(function)(*fresh(POINT), arguments[-1])
    for text, expected in zip(several, arguments[-1], strict=True):
        one = function_of(f"def f(x, y, m, k, p):\n    return {text}\n")
        assert plain(one, POINT, [0, 1, 2, 4])[0] == expected, text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "arguments", "wanted"),
    [
        case
        for case in CASES
        if case[0].__name__ not in ("network", "rows")  # BLAS
    ],
)
def test_values_of_kernels_are_numbas_bit_by_bit(function, arguments, wanted):
    assert plain(function, arguments, wanted)[0] == tf.kernel(function)(*fresh(arguments))


@pytest.mark.slow
def test_compiled_expressions_need_no_runtime():
    """All in one kernel: a unit with runtime dependencies would not load in another process."""
    lines = [f"    s += {x}\n" for x in ARRAYS[::3]]
    text = "def f(x, y, m, k, p):\n    s = 0.0\n" + "".join(lines) + "    return s\n"
    function = function_of(text)
    value, found = tf.value_and_grad(function, (0, 1, 2, 4))(*POINT)
    expected, slopes = plain(function, POINT, [0, 1, 2, 4])
    assert value == pytest.approx(expected, rel=1e-13)
    close(found, slopes, 1e-12)


# Numba's types of these, for float32 x and y, int64 k and an int n.
SINGLES = [
    ("np.mean(x)", "float32"),
    ("np.var(x)", "float64"),
    ("np.sum(x)", "float32"),
    ("np.prod(x)", "float32"),
    ("np.max(x)", "float32"),
    ("(x * 2.0).sum()", "float64"),
    ("np.sum(x * np.float32(2))", "float32"),
    ("np.sum(x ** 2)", "float32"),
    ("np.sum(x * n / 3)", "float32"),
    ("np.sum(np.exp(x) * y)", "float32"),
    ("np.sum(np.where(x > 0, x, 0))", "float64"),
    ("np.sum(np.zeros_like(x) + x * 2)", "float32"),
    ("x[0] * n", "float64"),
    ("np.sum(k * x)", "float32"),
    ("np.full(3, x[0]).sum()", "float32"),
    ("np.array([x[0], x[1]]).sum()", "float32"),
    ("x.astype(np.float64).sum()", "float64"),
    ("np.sum(np.arange(3) * x)", "float32"),
    ("np.sum(np.zeros_like(x * y) + y)", "float32"),
    ("np.sum(np.full_like(x * y, 2) + y)", "float32"),
    ("x @ y", "float32"),
]


@pytest.mark.parametrize(("text", "dtype"), SINGLES, ids=[row[0] for row in SINGLES])
def test_float32_stays_float32(text, dtype):
    x, y = np.array([0.5, -1.5, 0.25], np.float32), np.array([0.3, 1.5, 0.75], np.float32)
    arguments = [x, y, 2, np.array([1, 2, 3])]
    function = function_of(f"def f(x, y, n, k):\n    return {text}\n")
    assert program(function, list(kinds_of(tuple(arguments))), [0]).result == dtype
    value, slopes = plain(function, arguments, [0, 1])
    wide = [x.astype(np.float64), y.astype(np.float64), *arguments[2:]]
    assert value == pytest.approx(function(*wide), rel=1e-6)
    close(slopes, differences(function, wide, [0, 1]), 1e-5)


def grow(x, n):
    for i in range(n):
        y = x * i
    return y


def sometimes(x, n):
    if n > 0:
        z = np.full(3, x)
    elif n < -5:
        return x
    return z.sum() * x


def added(x, n):
    while n > 0:
        s = x
        n -= 2
    s += x
    return s


def of_helper(x, n):
    return grow(x, 2) + grow(x, n)


def never_missing(x, n):
    while True:
        y = x * n
        if n > 0:
            break
        n += 1
    for i in range(3):
        z = y * i
        if z > 100.0:
            continue
        w = z
    return z + w if n > 5 else z


@pytest.mark.parametrize("function", [grow, sometimes, added, of_helper])
def test_names_without_a_value(function):
    with pytest.raises(UnboundLocalError) as expected:
        function(0.7, 0)
    with pytest.raises(UnboundLocalError) as caught:
        tf.grad(function)(0.7, 0)
    assert str(caught.value) == str(expected.value)
    value, slope = tf.value_and_grad(function)(0.7, 3)
    assert value == pytest.approx(function(0.7, 3))
    close([slope], differences(function, [0.7, 3], [0]))


def test_names_that_always_have_a_value_are_not_looked_at():
    made = program(never_missing, [("float64", -1), ("int64", -1)], [0])
    assert len(made.raised) == 1  # that of `w`
    assert "'w'" in str(made.raised[0].error())
    value, (slope,) = plain(never_missing, [0.7, 0], [0])
    assert value == never_missing(0.7, 0)
    close([slope], differences(never_missing, [0.7, 0], [0]))


MISMATCHED = [
    ("np.sum(x + y)", ValueError, "shapes of arrays do not match"),
    ("x @ y", ValueError, "shapes of arrays do not match"),
    ("np.sum(m + y[1:, None])", ValueError, "shapes of arrays do not match"),
    ("np.sum(m.reshape(4, -1) * 2.0)", ValueError, "shapes of arrays do not match"),
    ("np.max(x[5:])", ValueError, "without elements"),
    ("x[y > 0.0].sum()", ValueError, "shapes of arrays do not match"),
    ("np.sum(x[np.argmin(y[4:])] * y)", ValueError, "without elements"),
]


@pytest.mark.parametrize(("text", "error", "said"), MISMATCHED, ids=[row[0] for row in MISMATCHED])
def test_shapes_that_do_not_match(text, error, said):
    from numtape.core.loops.emit.text import EMPTY, SHAPES
    from numtape.core.loops.runtime.plain import run

    function = function_of(f"def f(x, y, m):\n    return {text}\n")
    arguments = [np.ones(5), np.ones(4), np.ones((2, 3))]
    made = program(function, list(kinds_of(tuple(arguments))), [0])
    status, _, _ = run(made, arguments)
    assert status & 255 == (SHAPES if "match" in said else EMPTY)
    assert status >> 8 == 1  # the line


@pytest.mark.parametrize(("text", "error", "said"), MISMATCHED[:1] + MISMATCHED[4:5])
def test_errors_of_shapes_at_the_call(text, error, said):
    function = function_of(f"def f(x, y):\n    return {text}\n")
    with pytest.raises(error, match=said):
        tf.grad(function)(np.ones(5), np.ones(4))


def test_arguments_under_one_name_have_one_dtype():
    def chosen(x, k):
        y = k
        if x[0] > 0.0:
            y = x
        return y[0]

    with pytest.raises(KernelError, match="arrays of two dtypes under one name"):
        program(chosen, [("float64", 1), ("float32", 1)], [0])


def test_ties_go_to_the_first():
    def extremes(x):
        return np.max(x) + 2.0 * np.min(x) + x[np.argmax(x)]

    assert plain(extremes, [np.array([1.0, 1.0, 1.0])], [0])[1][0].tolist() == [4.0, 0.0, 0.0]
    x = np.array([1.0, np.nan, 2.0])
    value, (slope,) = plain(extremes, [x], [0])
    assert np.isnan(value)
    assert slope.tolist() == [0.0, 4.0, 0.0]


def test_means_of_ints_are_added_as_floats():
    """An int sum could overflow, and Numba rounds after each addition."""

    def means(x, k, m):
        return x * k.mean() + x * k.var() + (k > 3).mean() * x + np.mean(k * 2) * x + np.std(m) * x

    function = tf.kernel(means)
    large, odd = np.array([2**62, 2**62 - 1, 2**61]), np.array([2**53 + 1, 1, 1])
    for k in (large, odd):
        value, slope = tf.value_and_grad(function)(1.0, k, np.array([7, 9], np.int8))
        assert value == slope == function.njit(1.0, k, np.array([7, 9], np.int8))


def test_overlapping_parts_are_read_before_they_are_written():
    def shifted(x):
        x[1:] += x[:-1].copy()
        x[:-1] = x[1:] * x[:-1]
        y = x
        y[2:] = x[:-2]
        return x @ x

    x = np.array([0.5, -0.3, 0.8, 1.1, -0.7])
    value, slopes = plain(shifted, [x], [0])
    assert value == pytest.approx(shifted(x.copy()))
    close(slopes, differences(shifted, [x], [0]))


def unsigned(x, a, b, h, u, n):
    """Unsigned ints of 8, 16, 32 and 64 bits, whose differences wrap around."""
    s = x[a[0]] * a[1] + x[b[1] - a[2] + 3]
    s += x[0] * (a[0] - b[0] < 9) + x[1] * (np.int64(a[0]) - np.int64(b[0]))
    s += 1e-19 * x[2] * (a[0] - b[0]) + x[3] * (a[0] - 4) + x[1] ** a[2]
    s += x[1] * (u[0] // b[1]) + x[2] * ((h[2] << 2) >> u[1]) + x[3] * (u[2] & a[1] | 1)
    s += np.sum(x[a]) + np.sum(a * x[:3]) + np.sum(x[:n]) + 1.0 / h[1] * x[4]
    s += np.sum(u) * x[0] + np.max(a) * x[1] + np.mean(h) * x[2] + np.sum(np.where(a > b, a, b))
    a[0] += 250
    b[1] -= 3
    k = np.zeros(3, np.uint8)
    for i in range(3):
        k[i] = a[i] + b[i] + 200
    for v in h:
        s *= 1.0 + 0.1 * v * (max(v, 3) - int(v) > 0)
    m = u[2]
    while m:
        s += x[0] * (m % 2)
        m = m >> 1
    return s + k[0] * x[1] - k[2] * x[2] + (x[3] if n > -1 else 0.0)


UNSIGNED = (
    POINT[0],
    np.array([1, 2, 4], "uint8"),
    np.array([2, 4, 3], "uint32"),
    np.array([1, 4, 3], "uint16"),
    np.array([9, 1, 6], "uint64"),
    np.uint8(2),
)


@pytest.mark.slow
def test_unsigned_ints_are_numbas():
    """NumPy scalars in Python would wrap around at their own size."""
    import numba

    compiled = numba.njit(unsigned)
    value, found = plain(unsigned, UNSIGNED, [0])
    assert value == compiled(*fresh(UNSIGNED))
    close(found, differences(compiled, UNSIGNED, [0]))


@pytest.mark.slow
def test_unsigned_ints_compiled_and_replayed():
    expected, slopes = plain(unsigned, UNSIGNED, [0])
    value, found = tf.value_and_grad(unsigned, (0,))(*UNSIGNED)
    assert value == expected
    close(found, slopes)
    x = tf.constant(UNSIGNED[0])
    row = tf.function(lambda x, *rest: tf.kernel(unsigned)(x, *rest))
    for _ in range(3):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = row(x, *map(tf.constant, UNSIGNED[1:]))
        assert y.numpy() == expected
        close([tape.gradient(y, x)], slopes)
