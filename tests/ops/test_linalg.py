"""Matrices that cannot be factored, replays of checks, equal singular values, linear operators."""

import numpy as np
import pytest

SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
REGULAR = [[2.0, 1.0], [1.0, 3.0]]


@pytest.mark.parametrize("name", ["inv", "lu", "solve"])
def test_a_matrix_that_cannot_be_inverted_is_an_error(tf, name):
    def call(a):
        function = getattr(tf.linalg, name)
        return function(a, tf.ones((2, 1))) if name == "solve" else function(a)

    for a in (SINGULAR, [[np.nan, 2.0], [2.0, 5.0]]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
            call(tf.constant(a))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        call(tf.constant([REGULAR, SINGULAR]) if name != "solve" else tf.constant(SINGULAR))


@pytest.mark.numtape_only(reason="TensorFlow raises in the middle of a graph")
def test_replays_check_as_well(tf):
    @tf.function
    def inverse(a):
        return tf.linalg.inv(a)

    for _ in range(3):
        np.testing.assert_allclose(inverse(tf.constant(REGULAR)), np.linalg.inv(REGULAR), rtol=1e-6)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
            inverse(tf.constant(SINGULAR))


def test_what_is_not_positive_definite_gives_nan(tf):
    found = tf.linalg.cholesky([[[1.0, 2.0], [2.0, 1.0]], [[4.0, 0.0], [0.0, 9.0]]]).numpy()
    assert np.isnan(found[0, 0, 0])
    np.testing.assert_array_equal(found[1], [[2, 0], [0, 3]])


def test_derivatives_at_equal_singular_values_are_finite(tf):
    a = tf.constant(np.eye(3))
    for function in (tf.linalg.svd, tf.linalg.eigh):
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = sum(tf.reduce_sum(part) for part in function(a))
        assert np.isfinite(tape.gradient(y, a).numpy()).all()


def test_complete_bases_have_no_gradient_where_they_are_not_determined(tf):
    a = tf.constant(np.arange(8.0).reshape(4, 2))
    for function in (tf.linalg.svd, tf.linalg.qr):
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = function(a, full_matrices=True)[1]
        with pytest.raises(NotImplementedError):
            tape.gradient(y, a)


MALFORMED = [
    ("cholesky", [np.ones((2, 3))], "square"),
    ("cholesky", [[1.0]], "rank"),
    ("cholesky", [np.ones((2, 2), "int32")], "allowed"),
    ("det", [np.ones((2, 3))], "square"),
    ("solve", [np.eye(2), np.ones((3, 2, 1))], "rank"),
    ("solve", [np.eye(2), np.ones((3, 1))], "ncompatible"),
    ("band_part", [np.ones((2, 2)), 5, 0], "number of rows"),
    ("diag_part", [np.ones((2, 2)), "", 2], "out of bound"),
    ("diag", [1.0], "at least 1-dim"),
    ("set_diag", [np.eye(2), [1.0]], "diagonal"),
    ("tensor_diag_part", [np.ones((2, 3))], "do not match"),
    ("eigh", [np.full((2, 2), np.nan)], "not successful"),
]


@pytest.mark.parametrize(("name", "arguments", "said"), MALFORMED)
def test_bad_input_is_a_named_error(tf, name, arguments, said):
    with pytest.raises(tf.errors.InvalidArgumentError, match=said):
        getattr(tf.linalg, name)(*arguments)


MATRIX = np.array([[3.0, 0.0], [1.0, 2.0]])
OPERATORS = [
    ("FullMatrix", (MATRIX,), MATRIX),
    ("LowerTriangular", (MATRIX + np.eye(2, k=1),), MATRIX),
    ("Diag", ([3.0, 2.0],), np.diag([3.0, 2.0])),
    ("ScaledIdentity", (2, np.array(3.0)), 3 * np.eye(2)),
    ("Identity", (2,), np.eye(2)),
]


@pytest.mark.parametrize(("kind", "arguments", "dense"), OPERATORS, ids=[o[0] for o in OPERATORS])
def test_linear_operators(tf, kind, arguments, dense):
    options = {"dtype": tf.float64} if kind == "Identity" else {}
    arguments = [tf.constant(x) if isinstance(x, np.ndarray) else x for x in arguments]
    if kind == "Diag":
        arguments = [tf.constant(arguments[0], tf.float64)]
    operator = getattr(tf.linalg, f"LinearOperator{kind}")(*arguments, **options)
    x, v = np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([1.0, 2.0])
    assert operator.shape == (2, 2)
    assert operator.dtype == tf.float64
    pairs = [
        (operator.to_dense(), dense),
        (operator.matmul(x), dense @ x),
        (operator.matmul(x, adjoint=True), dense.T @ x),
        (operator.matvec(v), dense @ v),
        (operator.solve(x), np.linalg.solve(dense, x)),
        (operator.solve(x, adjoint=True), np.linalg.solve(dense.T, x)),
        (operator.solvevec(v), np.linalg.solve(dense, v)),
        (operator.adjoint().to_dense(), dense.T),
        (operator.determinant(), np.linalg.det(dense)),
        (operator.log_abs_determinant(), np.log(np.linalg.det(dense))),
        (operator.trace(), np.trace(dense)),
        (operator.diag_part(), np.diag(dense)),
        (operator.add_to_tensor(x), dense + x),
    ]
    for found, wanted in pairs:
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


COMPLEX = np.array([[2 + 1j, 0], [0.5j, 3]])


@pytest.mark.parametrize("kind", ["FullMatrix", "LowerTriangular", "Diag", "ScaledIdentity"])
def test_linear_operators_of_complex_numbers(tf, kind):
    """Adjoints are conjugated; logarithms are real, as in TensorFlow."""
    diag = np.diag(COMPLEX)
    given, dense = {
        "Diag": ([diag], np.diag(diag)),
        "ScaledIdentity": ([2, 2 + 1j], (2 + 1j) * np.eye(2)),
    }.get(kind, ([COMPLEX], COMPLEX))
    operator = getattr(tf.linalg, f"LinearOperator{kind}")(*given)
    assert operator.dtype == tf.complex128
    x, v = np.array([[1.0 + 1j, -2.0], [0.5, 3.0j]]), np.array([1.0j, 2.0])
    adjoint, logarithm = dense.conj().T, operator.log_abs_determinant()
    assert logarithm.dtype == (tf.complex128 if kind in ("FullMatrix", "Diag") else tf.float64)
    for found, wanted in (
        (operator.matmul(x), dense @ x),
        (operator.matmul(x, adjoint=True), adjoint @ x),
        (operator.matmul(x, adjoint_arg=True), dense @ x.conj().T),
        (operator.matvec(v), dense @ v),
        (operator.solve(x), np.linalg.solve(dense, x)),
        (operator.solve(x, adjoint=True), np.linalg.solve(adjoint, x)),
        (operator.H.to_dense(), adjoint),
        (operator.determinant(), np.linalg.det(dense)),
        (logarithm, np.log(abs(np.linalg.det(dense)))),
        (operator.trace(), np.trace(dense)),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.numtape_only(reason="of the kernels")
def test_kernels_find_parameters_where_they_are_put():
    from numtape.kernels.constants import LAPACK_LETTERS
    from numtape.kernels.cpu import lapack

    from numtape.core.cpu import blas
    from numtape.core.values.dtypes import float32
    from numtape.core.values.spec import intern

    call = blas.native("cholesky", intern((3, 3), float32), ("potrf",), (3,), 27)
    if call is None:
        pytest.skip("kernels cannot call LAPACK")
    words = call.parameters
    for letter in LAPACK_LETTERS:
        assert words[getattr(lapack, letter) // 8] == ord(letter)
    assert words[lapack.ONE // 8] == np.float32(1.0).view(np.int32)
    assert words[lapack.STEP // 8] == 1
    threads = lapack.GET_THREADS, lapack.SET_THREADS, lapack.LIMIT_WORDS
    assert tuple(words[at] for at in threads) == blas.threads()
    assert words[lapack.HEADER :] == (blas.address("spotrf"), 3)


@pytest.mark.numtape_only(reason="of the kernels")
def test_slices_of_as_many_axes_as_there_can_be(tf):
    whole = np.arange(6 * 2.0**7).reshape((2,) * 7 + (6,))
    for axes in (8, 4, 1):
        x = whole.reshape((-1, *whole.shape[9 - axes :]))
        for key in ((Ellipsis, slice(None, None, -2)), (slice(1, None), Ellipsis)):
            with tf.GradientTape() as tape:
                a = tf.constant(x)
                tape.watch(a)
                y = a[key]
                z = tf.reduce_sum(y**2)
            np.testing.assert_array_equal(y, x[key])
            expected = np.zeros_like(x)
            expected[key] = 2 * x[key]
            np.testing.assert_allclose(tape.gradient(z, a), expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_determinants_of_special_matrices(tf, dtype):
    """A kernel computes them from the factors; NumPy's are compared, but for the sign of NaN."""
    matrices = np.array(
        [
            SINGULAR,
            [[0, 1], [1, 0]],
            [[-1, 0], [0, 0]],
            [[np.inf, 1], [1, 2]],
            [[1e-40, 0], [0, -1e-3]],
        ],
        dtype,
    )
    sign, log = tf.linalg.slogdet(tf.constant(matrices))
    expected = np.linalg.slogdet(matrices)
    np.testing.assert_array_equal(sign.numpy(), expected.sign)
    np.testing.assert_allclose(log.numpy(), expected.logabsdet, rtol=1e-6)
    det = tf.linalg.det(tf.constant(matrices)).numpy()
    np.testing.assert_allclose(det, np.linalg.det(matrices), rtol=1e-6)
    for value in (tf.linalg.det([[np.nan, 1.0], [1.0, 2.0]]), *tf.linalg.slogdet([[np.nan]])):
        assert np.isnan(value.numpy())


def test_log_determinants_are_added_in_float64(tf):
    n = 700
    diagonal = np.random.default_rng(0).uniform(1.5, 2.5, n).astype("float32")
    log = tf.linalg.slogdet(np.diag(diagonal)).log_abs_determinant.numpy()
    assert log == np.log(diagonal.astype("float64")).sum().astype("float32")
