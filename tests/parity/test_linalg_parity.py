"""`tf.linalg` and an installed TensorFlow: values, gradients, shapes, dtypes, exceptions."""

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

RANDOM = np.random.default_rng(0)
TALL, SQUARE = RANDOM.uniform(-2, 2, (2, 4, 3)), RANDOM.uniform(-2, 2, (2, 3, 3)) + 5 * np.eye(3)
POSITIVE = SQUARE @ SQUARE.swapaxes(-1, -2)
VECTOR, COLUMN = RANDOM.uniform(-2, 2, 3), RANDOM.uniform(-2, 2, (2, 3, 2))


@pytest.fixture(scope="module")
def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("tensorflow")


def sized(*parts):
    """Absolute values of results with arbitrary signs."""
    return [abs(part) for part in parts]


# A function of library and operands; the operands; whether it has a gradient.
PROGRAMS = {
    "einsum": (lambda tf, x, y: tf.einsum("bij,bjk->bki", x, y), (TALL, SQUARE)),
    "einsum of three": (
        lambda tf, x, y: tf.einsum("...ij,...jk,...k->i...", x, y, y[..., 0]),
        (TALL, SQUARE),
    ),
    "einsum, diagonal": (lambda tf, x: tf.einsum("...ii->...i", x), (SQUARE,)),
    "det": (lambda tf, x: tf.linalg.det(x), (SQUARE,)),
    "slogdet": (lambda tf, x: list(tf.linalg.slogdet(x)), (SQUARE,)),
    "logdet": (lambda tf, x: tf.linalg.logdet(x), (POSITIVE,)),
    "inv": (lambda tf, x: tf.linalg.inv(x, adjoint=True), (SQUARE,)),
    "solve": (lambda tf, x, y: tf.linalg.solve(x, y, adjoint=True), (SQUARE, COLUMN)),
    "triangular_solve": (
        lambda tf, x, y: tf.linalg.triangular_solve(x, y, lower=False),
        (SQUARE, COLUMN),
    ),
    "cholesky": (lambda tf, x: tf.linalg.cholesky(x), (POSITIVE,)),
    "cholesky_solve": (lambda tf, x, y: tf.linalg.cholesky_solve(x, y), (SQUARE, COLUMN)),
    "qr": (lambda tf, x: sized(*tf.linalg.qr(x)), (TALL,)),
    "qr, wide": (lambda tf, x: sized(*tf.linalg.qr(tf.linalg.adjoint(x))), (TALL,)),
    "svd": (lambda tf, x: sized(*tf.linalg.svd(x)), (TALL,)),
    "svd, full": (lambda tf, x: sized(*tf.linalg.svd(x, full_matrices=True)), (TALL,)),
    "svd, values": (lambda tf, x: tf.linalg.svd(x, compute_uv=False), (TALL,)),
    "eigh": (lambda tf, x: sized(*tf.linalg.eigh(x)), (POSITIVE,)),
    "eigvalsh": (lambda tf, x: tf.linalg.eigvalsh(x), (POSITIVE,)),
    "expm": (lambda tf, x: tf.linalg.expm(x / 5), (SQUARE,)),
    "sqrtm": (lambda tf, x: tf.linalg.sqrtm(x), (POSITIVE,)),
    "pinv": (lambda tf, x: tf.linalg.pinv(x), (TALL,)),
    "lstsq": (lambda tf, x, y: tf.linalg.lstsq(x, y, l2_regularizer=0.5), (TALL, TALL)),
    "matrix_rank": (lambda tf, x: tf.linalg.matrix_rank(x), (TALL,)),
    "lu": (lambda tf, x: list(tf.linalg.lu(x)), (SQUARE,), False),
    "lu_reconstruct": (lambda tf, x: tf.linalg.lu_reconstruct(x, [[1, 2, 0]] * 2), (SQUARE,)),
    "lu_solve": (lambda tf, x, y: tf.linalg.lu_solve(x, [[1, 2, 0]] * 2, y), (SQUARE, COLUMN)),
    "norm": (lambda tf, x: tf.norm(x, ord=2, axis=(0, 2)), (TALL,)),
    "normalize": (lambda tf, x: list(tf.linalg.normalize(x, axis=1)), (TALL,)),
    "diag": (lambda tf, x: tf.linalg.diag(x, k=(-1, 1), num_rows=3), (SQUARE,)),
    "diag_part": (
        lambda tf, x: [
            tf.linalg.diag_part(x, k=(-2, 1), align=align, padding_value=7.0)
            for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")
        ],
        (TALL,),
    ),
    "set_diag": (lambda tf, x, y: tf.linalg.set_diag(x, y[:, :2], k=(0, 1)), (TALL, SQUARE)),
    "band_part": (lambda tf, x: tf.linalg.band_part(x, 1, 0), (TALL,)),
    "tensor_diag": (lambda tf, x: tf.linalg.tensor_diag(x), (VECTOR,)),
    "trace": (lambda tf, x: tf.linalg.trace(x), (TALL,)),
    "cross": (lambda tf, x, y: tf.linalg.cross(x, y), (SQUARE, POSITIVE)),
}


def run(tf, program, dtype):
    """Values, and the gradient of their squares by each operand."""
    function, operands, *smooth = program
    xs = [tf.constant(x, dtype) for x in operands]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        found = function(tf, *xs)
        found = found if isinstance(found, list) else [found]
        floats = [y for y in found if y.dtype.is_floating]
        squares = sum(tf.reduce_sum(y * y * y) for y in floats) if floats else None
    slopes = tape.gradient(squares, xs) if floats and smooth != [False] else []
    return [None if x is None else x.numpy() for x in (*found, *slopes)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(tensorflow, name, dtype):
    ours, theirs = (run(tf, PROGRAMS[name], dtype) for tf in (numtape, tensorflow))
    near = {"float32": 2e-3, "float64": 1e-10}[dtype]
    for mine, wanted in zip(ours, theirs, strict=True):
        assert (mine is None) == (wanted is None)
        if wanted is not None:
            assert mine.dtype == wanted.dtype
            assert mine.shape == wanted.shape
            limit = near * max(1.0, np.abs(wanted).max(initial=0))
            np.testing.assert_allclose(mine, wanted, rtol=0, atol=limit)


WRONG = {
    "cholesky of a wide matrix": lambda tf: tf.linalg.cholesky(tf.ones((2, 3))),
    "cholesky of integers": lambda tf: tf.linalg.cholesky([[1, 2], [3, 4]]),
    "singular inv": lambda tf: tf.linalg.inv([[1.0, 2.0], [2.0, 4.0]]),
    "singular lu": lambda tf: tf.linalg.lu([[1.0, 2.0], [2.0, 4.0]]),
    "singular solve": lambda tf: tf.linalg.solve([[1.0, 2.0], [2.0, 4.0]], [[1.0], [1.0]]),
    "solve of other ranks": lambda tf: tf.linalg.solve(tf.eye(2), tf.ones((3, 2, 1))),
    "NaN in eigh": lambda tf: tf.linalg.eigh([[np.nan, 1.0], [1.0, 1.0]]),
    "expm of integers": lambda tf: tf.linalg.expm([[1, 2], [3, 4]]),
    "pinv of integers": lambda tf: tf.linalg.pinv([[1, 2], [3, 4]]),
    "cross of pairs": lambda tf: tf.linalg.cross([1.0, 2.0], [3.0, 4.0]),
    "cross of shapes": lambda tf: tf.linalg.cross(tf.ones((2, 3)), tf.ones(3)),
    "transpose of a vector": lambda tf: tf.linalg.adjoint([1.0, 2.0]),
    "band_part beyond": lambda tf: tf.linalg.band_part(tf.ones((2, 2)), 5, 0),
    "diag_part beyond": lambda tf: tf.linalg.diag_part(tf.ones((2, 2)), k=2),
    "diag of a wrong order": lambda tf: tf.linalg.diag([1.0, 2.0], k=(1, 0)),
    "diag of too few rows": lambda tf: tf.linalg.diag([1.0, 2.0], num_rows=1),
    "norm of a name": lambda tf: tf.norm(tf.ones((2, 2)), ord="nuc", axis=(0, 1)),
    "einsum that repeats": lambda tf: tf.einsum("i->ii", tf.ones(3)),
    "einsum of a new letter": lambda tf: tf.einsum("i->j", tf.ones(3)),
    "einsum of another rank": lambda tf: tf.einsum("ij->i", tf.ones(3)),
    "einsum of sizes": lambda tf: tf.einsum("ij,jk->ik", tf.ones((2, 3)), tf.ones((2, 3))),
    "einsum without an ellipsis": lambda tf: tf.einsum("...i->i", tf.ones((2, 3))),
    "einsum of fewer": lambda tf: tf.einsum("ij,jk->ik", tf.ones((2, 3))),
    "einsum of a keyword": lambda tf: tf.einsum("i->i", tf.ones(3), foo=1),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(tensorflow, name):
    with pytest.raises(Exception) as theirs:
        WRONG[name](tensorflow)
    with pytest.raises(Exception) as ours:
        WRONG[name](numtape)
    mine, wanted = ours.type, theirs.type.__name__
    assert wanted in [kind.__name__ for kind in mine.__mro__]
