"""Every dtype and an installed TensorFlow: casts, arithmetic, reductions, gradients, errors."""

import operator
import os
import warnings

import numpy as np
import pytest

import numtape

pytestmark = [
    pytest.mark.numtape_only(reason="asks both"),
    pytest.mark.cpu_only(reason="one device is enough"),
    pytest.mark.filterwarnings("ignore"),
]

DTYPES = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "bool",
]
NEAR = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6, "complex64": 2e-6}
VALUES = [3, 1, 2]
BINARY = ["add", "sub", "mul", "truediv"]
REDUCTIONS = ["reduce_sum", "reduce_mean", "reduce_prod"]
MATRIX = np.array([[4 + 1j, 1 - 2j, 0.5], [2j, 5 - 1j, 1 + 1j], [1, -1j, 6 + 2j]])
COLUMN = np.array([[1 + 2j], [0.5j], [-1]])
PROGRAMS = {
    "matmul": lambda tf, x, y: tf.matmul(x, y, adjoint_a=True),
    "einsum": lambda tf, x, y: tf.einsum("ij,jk->ki", x, y),
    "inv": lambda tf, x, y: tf.linalg.inv(x),
    "solve": lambda tf, x, y: tf.linalg.solve(x, y, adjoint=True),
    "triangular_solve": lambda tf, x, y: tf.linalg.triangular_solve(x, y, adjoint=True),
    "cholesky": lambda tf, x, y: tf.linalg.cholesky(tf.matmul(x, x, adjoint_b=True)),
    "svd": lambda tf, x, y: tf.linalg.svd(x, compute_uv=False),
    "eigh": lambda tf, x, y: abs(tf.linalg.eigh(x)[1]),
    "eigvals": lambda tf, x, y: tf.linalg.eigvals(x),
    "norm": lambda tf, x, y: tf.norm(x),
    "std": lambda tf, x, y: tf.math.reduce_std(x, 0),
    "expm": lambda tf, x, y: tf.linalg.expm(x / 5),
    "sign": lambda tf, x, y: tf.sign(y + x),
    "transpose": lambda tf, x, y: tf.transpose(x, conjugate=True),
    "normalize": lambda tf, x, y: tf.math.l2_normalize(x, 0),
}


@pytest.fixture(scope="module")
def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pytest.importorskip("tensorflow")
    found.get_logger().setLevel("ERROR")
    return found


def agree(tensorflow, program, dtype):
    """Assert that both have equal dtypes, shapes and values, or are both None."""
    found, wanted = (outcome(tf, program) for tf in (numtape, tensorflow))
    assert (found is None) == (wanted is None), (found, wanted)
    for x, y in zip(found or (), wanted or (), strict=True):
        assert (x is None) == (y is None), (x, y)
        if x is None:
            continue
        x, y = np.asarray(x), np.asarray(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if x.dtype.kind in "biu":
            np.testing.assert_array_equal(x, y)
            continue
        wide = "complex128" if x.dtype.kind == "c" else "float64"
        near = NEAR.get(dtype, NEAR.get(x.dtype.name, 1e-12))
        y = y.astype(wide)
        scale = max(1.0, np.abs(np.where(np.isfinite(y), y, 0)).max(initial=0))
        np.testing.assert_allclose(x.astype(wide), y, rtol=near, atol=near * scale)


def outcome(tf, program):
    """The result of a program; None for a dtype error."""
    try:
        return list(program(tf))
    except (TypeError, ValueError, tf.errors.InvalidArgumentError, tf.errors.NotFoundError):
        return None


def sloped(tf, function, *values):
    """A result and its derivatives."""
    with tf.GradientTape() as tape:
        for x in values:
            tape.watch(x)
        y = function(*values)
    return [y, *tape.gradient(y, list(values))]


def made(tf, dtype):
    return tf.cast(tf.constant(VALUES), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_casts(tensorflow, dtype):
    for other in DTYPES:
        agree(
            tensorflow,
            lambda tf, to=other: sloped(tf, lambda x: tf.cast(x, to), made(tf, dtype)),
            dtype,
        )


@pytest.mark.parametrize("dtype", [one for one in DTYPES if one != "bool"])
def test_arithmetic(tensorflow, dtype):
    for name in BINARY:
        function = getattr(operator, name)
        if "float16" in dtype and name == "truediv":
            continue  # a quotient's derivative is rounded differently
        agree(
            tensorflow,
            lambda tf, f=function: sloped(tf, f, made(tf, dtype), made(tf, dtype)),
            dtype,
        )


@pytest.mark.parametrize("dtype", [one for one in DTYPES if one != "bfloat16"])
def test_reductions(tensorflow, dtype):
    for name in REDUCTIONS:
        agree(tensorflow, lambda tf, n=name: sloped(tf, getattr(tf, n), made(tf, dtype)), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_that_differ(tensorflow, dtype):
    for other in DTYPES:
        agree(tensorflow, lambda tf, to=other: [made(tf, dtype) + made(tf, to)], dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_complex_matrices(tensorflow, name, dtype):
    program = PROGRAMS[name]
    near = {"complex64": 2e-4, "complex128": 1e-9}

    def run(tf):
        return sloped(
            tf,
            lambda x, y: tf.reduce_sum(tf.abs(program(tf, x, y)) ** 2),
            tf.constant(MATRIX, dtype),
            tf.constant(COLUMN, dtype),
        )

    for x, y in zip(run(numtape), run(tensorflow), strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            assert x.numpy().dtype == y.numpy().dtype
            x, y, tol = x.numpy(), y.numpy(), near[dtype]
            np.testing.assert_allclose(x, y, rtol=tol, atol=tol * 99)
