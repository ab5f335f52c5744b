"""Reductions over axes: the order in which elements are combined, which is part of the result."""

import numpy as np
import pytest

from numtape.core import settings
from numtape.core.cpu import sweeper

pytestmark = pytest.mark.numtape_only("the bits of a sum")

FUNCTIONS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def random_array(shape, dtype, special=True):
    rng = np.random.default_rng(len(shape) + shape[-1])
    if dtype[0] != "f":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    x = rng.normal(size=shape).astype(dtype)
    if special:
        x[rng.random(shape) < 0.1] = -0.0
        x[rng.random(shape) < 0.01] = np.nan
        x[rng.random(shape) < 0.01] = -np.inf
        x[::5] = -0.0
    return x


def fold(name, x):
    """Reduce each row of at most 128 elements: 16 lanes, then pairs of lanes."""
    combine = FUNCTIONS[name]
    if x.dtype.kind == "f":
        neutral = {"sum": 0.0, "max": -np.inf, "min": np.inf}[name]
    else:
        limits = np.iinfo(x.dtype)
        neutral = {"sum": 0, "max": limits.min, "min": limits.max}[name]
    rows, n = x.shape
    padded = np.full((rows, -(-n // 16) * 16), neutral, x.dtype)
    padded[:, :n] = x
    lanes = np.full((rows, 16), neutral, x.dtype)
    for k in range(0, n, 16):
        lanes = combine(lanes, padded[:, k : k + 16])
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = combine(lanes[:, :half], lanes[:, half:])
    return lanes[:, 0]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "dtype",
    [
        *("float32", "float64", "int8"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("uint16", "int32", "uint64")),
    ],
)
@np.errstate(all="ignore")
def test_short_rows(tf, name, dtype):
    function = getattr(tf, f"reduce_{name}")
    for n in (*range(1, 35), 127, 128):
        for rows in (1, 15, 16, 17, 18, 50):
            x = random_array((rows, n), dtype)
            found, expected = function(x, -1).numpy(), fold(name, x)
            np.testing.assert_array_equal(found, expected, f"{rows} rows of {n}")
            if dtype[0] == "f":
                np.testing.assert_array_equal(np.signbit(found[::5]), np.signbit(expected[::5]))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(3000, 3, 5), (40, 300, 2), (7, 2000, 200), (300, 9, 129)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_do_not_change_a_bit(tf, monkeypatch, dtype, shape, axis):
    x = tf.constant(random_array(shape, dtype, special=False))
    results = []
    for threads, large in ((1, 1 << 62), (2, 10), (4, 10)):
        monkeypatch.setattr(settings, "_threads", threads)
        monkeypatch.setattr(sweeper, "LARGE", large)  # threads share even small groups
        results += [
            [tf.reduce_sum(x, axis).numpy().tobytes(), tf.reduce_max(x, axis).numpy().tobytes()]
        ]
    assert results[0] == results[1] == results[2]


def test_no_element_after_the_rows_is_read(tf):
    """Elements of another row, such as NaN, have no influence."""
    for n in range(1, 18):
        x = random_array((100, n), "float64", special=False)
        x[50] = np.nan
        assert np.isnan(tf.reduce_sum(x, 1).numpy()).nonzero()[0].tolist() == [50]


def combine_columns(name, x):
    """Reduce the first axis of (n, inner), 16 columns or more: 8 rows in order, then pairs."""
    combine = FUNCTIONS[name]
    neutral = {"sum": 0.0, "max": -np.inf, "min": np.inf}[name]
    levels = []
    for k in range(0, len(x), 8):
        total = np.full(x.shape[1], neutral, x.dtype)
        for row in x[k : k + 8]:
            total = combine(total, row)
        bits = k // 8
        while bits & 1:
            total = combine(levels.pop(), total)
            bits >>= 1
        levels.append(total)
    while len(levels) > 1:
        last = levels.pop()
        levels[-1] = combine(levels[-1], last)
    return levels[0]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@np.errstate(all="ignore")
def test_columns(tf, name, dtype):
    function = getattr(tf, f"reduce_{name}")
    for inner in (16, 17, 31, 100, 128, 129, 143, 145, 400, 3001):
        for n in (1, 2, 7, 8, 9, 16, 17, 40, 65, 203):
            x = random_array((2, n, inner), dtype)
            found = function(x, 1).numpy()
            expected = np.stack([combine_columns(name, matrix) for matrix in x])
            np.testing.assert_array_equal(found, expected, f"{n} rows of {inner}")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "dtype",
    [
        *("int8", "float32"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("uint32", "int64")),
    ],
)
@np.errstate(all="ignore")
def test_few_columns(tf, name, dtype):
    function = getattr(tf, f"reduce_{name}")
    for inner in range(2, 18):
        for n in (1, 2, 15, 16, 17, 31, 32, 130, 1000):
            x = random_array((3, n, inner), dtype, special=False)
            found, expected = function(x, 1).numpy(), FUNCTIONS[name].reduce(x, 1, dtype)
            if dtype[0] == "f" and name == "sum":
                np.testing.assert_allclose(found, x.sum(1, "float64"), rtol=1e-5, atol=1e-5)
            else:
                np.testing.assert_array_equal(found, expected, f"{n} rows of {inner}")
            if dtype[0] == "f":
                x[1, n // 2, inner // 2] = np.nan
                lost = np.isnan(function(x, 1).numpy())
                assert lost.sum() == 1 and lost[1, inner // 2]
                assert not np.signbit(tf.reduce_sum(np.full((n, inner), -0.0), 0)).any()
