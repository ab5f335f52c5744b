"""`numtape.array_api`: values, dtypes and gradients; array-api-tests on a checkout of theirs."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from processes import environment

pytestmark = pytest.mark.numtape_only(reason="TensorFlow has no such namespace")

A = np.array([[0.5, 0.25, 0.75], [0.125, 1.0, 0.5], [0.75, 0.5, 2.0]])
B = np.array([0.5, 1.5, 2.5])
XFAILS = Path(__file__).resolve().parents[1] / "parity" / "array_api_xfails.txt"

# The function with its arguments, and the same in NumPy.
CASES = {
    "sin": (lambda xp, a, b: xp.sin(a), np.sin(A)),
    "log2": (lambda xp, a, b: xp.log2(a), np.log2(A)),
    "hypot": (lambda xp, a, b: xp.hypot(a, b), np.hypot(A, B)),
    "remainder": (lambda xp, a, b: xp.remainder(b, -a), np.remainder(B, -A)),
    "copysign": (lambda xp, a, b: xp.copysign(a, -b), np.copysign(A, -B)),
    "clip": (lambda xp, a, b: xp.clip(a, 0.4, 0.6), np.clip(A, 0.4, 0.6)),
    "sum": (lambda xp, a, b: xp.sum(a, axis=(0, 1)), A.sum()),
    "var": (lambda xp, a, b: xp.var(a, axis=1, correction=1.0), A.var(1, ddof=1)),
    "cumulative_sum": (
        lambda xp, a, b: xp.cumulative_sum(b, include_initial=True),
        [0.0, 0.5, 2.0, 4.5],
    ),
    "diff": (lambda xp, a, b: xp.diff(a, n=2, axis=0), np.diff(A, 2, 0)),
    "sort": (lambda xp, a, b: xp.sort(a, descending=True), -np.sort(-A)),
    "argsort": (lambda xp, a, b: xp.argsort(a, axis=0), np.argsort(A, 0)),
    "take": (lambda xp, a, b: xp.take(a, xp.asarray([2, -3]), axis=1), A[:, [2, 0]]),
    "unique": (lambda xp, a, b: xp.unique_values(a), np.unique(A)),
    "roll": (lambda xp, a, b: xp.roll(a, 2), np.roll(A, 2)),
    "tile": (lambda xp, a, b: xp.tile(b, (2, 1)), np.tile(B, (2, 1))),
    "matmul": (lambda xp, a, b: a @ xp.matmul(a, b)[:, None], A @ (A @ B)[:, None]),
    "vecdot": (lambda xp, a, b: xp.vecdot(a, b), A @ B),
    "solve": (lambda xp, a, b: xp.linalg.solve(a, b), np.linalg.solve(A, B)),
    "pinv": (lambda xp, a, b: xp.linalg.pinv(a), np.linalg.pinv(A)),
    "matrix_norm": (lambda xp, a, b: xp.linalg.matrix_norm(a, ord=2), np.linalg.norm(A, 2)),
    "vector_norm": (lambda xp, a, b: xp.linalg.vector_norm(a, ord=3.0), (A**3).sum() ** (1 / 3)),
    "matrix_power": (lambda xp, a, b: xp.linalg.matrix_power(a, -2), np.linalg.inv(A @ A)),
    "cross": (lambda xp, a, b: xp.linalg.cross(a, b), np.cross(A, B)),
    "fft": (lambda xp, a, b: xp.fft.fft(a, n=4, axis=0, norm="ortho"), None),
    "irfftn": (lambda xp, a, b: xp.fft.irfftn(xp.fft.rfftn(a), s=(3, 3)), A),
    "hfft": (lambda xp, a, b: xp.fft.hfft(b), np.fft.hfft(B)),
    "fftshift": (lambda xp, a, b: xp.fft.fftshift(a), np.fft.fftshift(A)),
    "where": (lambda xp, a, b: xp.where(a > 0.5, a, 0), np.where(A > 0.5, A, 0)),
    "meshgrid": (lambda xp, a, b: xp.meshgrid(b, b)[1], np.meshgrid(B, B)[1]),
    "tril": (lambda xp, a, b: xp.tril(a, k=1), np.tril(A, 1)),
}
CASES["fft"] = CASES["fft"][0], np.fft.fft(A, 4, 0, "ortho")


@pytest.mark.parametrize("name", CASES)
def test_values(tf, name):
    compute, expected = CASES[name]
    a, b = tf.constant(A), tf.constant(B)
    result = compute(a.__array_namespace__(), a, b)
    assert isinstance(result, tf.Tensor)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("x", "y", "expected"), [
    ("int8", "int16", "int16"), ("uint8", "int8", "int16"), ("float32", "float64", "float64"),
    ("complex64", "float64", "complex128"), ("int8", 1, "int8"), ("float32", 1.0, "float32"),
    ("float32", 1j, "complex64"), ("float64", 1j, "complex128"),
])  # fmt: skip
def test_promotion(tf, x, y, expected):
    xp = tf.array_api
    first = xp.ones((2,), dtype=getattr(xp, x))
    second = xp.ones((2,), dtype=getattr(xp, y)) if isinstance(y, str) else y
    assert xp.result_type(first, second) == expected
    assert xp.add(first, second).dtype == expected


def test_gradients_flow_through_functions(tf):
    xp = tf.array_api
    v = tf.Variable(B)
    with tf.GradientTape() as tape:
        y = xp.sum(xp.sort(v, descending=True) * xp.asarray([1.0, 10.0, 100.0], dtype=v.dtype))
    np.testing.assert_allclose(tf.convert_to_tensor(tape.gradient(y, v)).numpy(), [100, 10, 1])
    with tf.GradientTape() as tape:
        y = xp.linalg.vector_norm(xp.unique_values(v)) ** 2
    np.testing.assert_allclose(tf.convert_to_tensor(tape.gradient(y, v)).numpy(), 2 * B)


def test_objects(tf):
    x = tf.constant(A)
    xp = x.__array_namespace__(api_version="2024.12")
    assert xp is tf.array_api is tf.Variable(A).__array_namespace__()
    with pytest.raises(ValueError, match=r"2030\.01"):
        x.__array_namespace__(api_version="2030.01")
    assert x.size == 9 and x.to_device(x.device) is x
    np.testing.assert_array_equal(x.T.numpy(), A.T)
    np.testing.assert_array_equal(tf.zeros((2, 3, 4)).mT.shape, (2, 4, 3))
    with pytest.raises(AttributeError, match="mT"):
        _ = tf.zeros((2, 3, 4)).T
    with pytest.raises(ValueError, match="NUMTAPE_DEVICE"):
        x.to_device("elsewhere")
    assert (tf.constant([1, 2]) << 2).numpy().tolist() == [4, 8]
    assert (+tf.constant([1, 2])).numpy().tolist() == [1, 2]


def test_inspection(tf):
    xp = tf.array_api
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] is True
    assert info.devices() == [info.default_device()] == [tf.constant(1.0).device]
    assert info.default_dtypes()["real floating"] is tf.float32
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert xp.isdtype(tf.int8, ("bool", "signed integer")) and not xp.isdtype(tf.int8, "bool")
    assert xp.finfo(tf.complex128).bits == 64 and xp.iinfo(xp.ones(1, dtype=xp.int8)).max == 127


@pytest.mark.slow
def test_the_standards_tests(tmp_path):
    checkout = os.environ.get("ARRAY_API_TESTS")
    if not checkout:
        pytest.skip("ARRAY_API_TESTS names no checkout of data-apis/array-api-tests")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "array_api_tests",
         "--max-examples", "20", "--disable-deadline", "--derandomize",
         "--xfails-file", str(XFAILS)],
        cwd=checkout,
        env=environment(ARRAY_API_TESTS_MODULE="numtape.array_api", NUMTAPE_DEVICE="reference"),
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:]
