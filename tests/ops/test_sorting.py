"""The order of long rows: kernels against NumPy's stable sort, with ties, NaN and signed zeros."""

import ctypes

import numpy as np
import pytest

from numtape.core import settings
from numtape.core.cpu import blas

DTYPES = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
DTYPES += ["float16", "float32", "float64"]
# One row of many digits, short rows, and rows whose elements are all equal in most digits.
SHAPES = [(9000,), (3, 2, 100), (5, 33), (4, 1)]


def rows_of(shape, dtype, rng):
    """Elements with ties; a third of the floats are special values."""
    if np.dtype(dtype).kind != "f":
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        few = rng.integers(0, 5, shape).astype(dtype)
        return np.where(rng.random(shape) < 0.5, x, few)
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-7, -1e-7], dtype)
    x = rng.standard_normal(shape).astype(dtype)
    return np.where(rng.random(shape) < 0.3, rng.choice(special, shape), x)


def expected_order(x, descending):
    key = x if not descending else -x if x.dtype.kind == "f" else ~x
    return np.argsort(key, -1, kind="stable")


# In most runs the other sizes of integers are left out: each needs code of its own.
ROWS = [
    pytest.param(dtype, marks=[pytest.mark.slow] * (dtype in ("int8", "int16", "uint16", "uint32")))
    for dtype in DTYPES
]


@pytest.mark.parametrize("dtype", ROWS)
@pytest.mark.parametrize("threads", [1, 2])
def test_order_of_rows(tf, monkeypatch, dtype, threads):
    if threads == 2:
        monkeypatch.setattr(settings, "_threads", threads)
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        x = rows_of(shape, dtype, rng)
        falling, n = expected_order(x, True), shape[-1]
        for k in {0, 1, 7, 31, 32, 33, 60, n - 1, n}:
            if k <= n:
                values, indices = tf.math.top_k(tf.constant(x), k)
                np.testing.assert_array_equal(indices.numpy(), falling[..., :k])
                expected = np.take_along_axis(x, falling[..., :k], -1)
                np.testing.assert_array_equal(values.numpy(), expected)
                np.testing.assert_array_equal(np.signbit(values.numpy()), np.signbit(expected))
        for direction, descending in (("ASCENDING", False), ("DESCENDING", True)):
            found = tf.argsort(tf.constant(x), direction=direction).numpy()
            np.testing.assert_array_equal(found, expected_order(x, descending))


@pytest.mark.parametrize(
    "x", [np.arange(500.0), -np.arange(500.0), np.zeros(500), np.arange(3) * 0]
)
def test_ordered_rows(tf, x):
    for k in (1, 3, 40, 500):
        if k <= len(x):
            indices = tf.math.top_k(x.astype(np.float32), k, index_type=tf.int16).indices.numpy()
            np.testing.assert_array_equal(indices, np.argsort(-x, kind="stable")[:k])


@pytest.mark.numtape_only("its kernels")
@pytest.mark.cpu_only("kernels of the CPU")
def test_order_without_memory(monkeypatch):
    from numtape.core.compile.array_kernels import array_kernel

    x = rows_of((3, 50), "float64", np.random.default_rng(1))
    out = np.zeros((3, 40), np.int32)
    allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(lambda size: None)
    release = ctypes.cast(blas.memory()[1], ctypes.c_void_p).value
    for descending in (0, 1):
        functions = ctypes.cast(allocate, ctypes.c_void_p).value, release
        parameters = np.array([50, 40, descending, *functions], np.int64)
        kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 7)(
            array_kernel("sorting.many", ("float64", "int32"))
        )
        kernel(out.ctypes.data, x.ctypes.data, 0, 0, parameters.ctypes.data, 0, 3)
        np.testing.assert_array_equal(out, expected_order(x, descending)[:, :40])
