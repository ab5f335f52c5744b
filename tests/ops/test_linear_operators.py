"""Linear operators, compared with dense NumPy matrices of the same parts."""

import numpy as np
import pytest
import scipy.linalg

A = np.array([[3.0, 1.0], [0.5, 2.0]])
B = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.0, 1.0, 5.0]])
LOW = np.array([[3.0, 0.0], [1.0, 2.0]])
D = np.array([3.0, 2.0])
U, V = np.array([[1.0], [2.0]]), np.array([[0.5], [-0.25]])
BANDS = np.array([[1.0, 2.0, 0.0], [5.0, 6.0, 7.0], [0.0, -1.0, 1.0]])
TRI = np.array([[5.0, 1.0, 0.0], [-1.0, 6.0, 2.0], [0.0, 1.0, 7.0]])
COL, ROW = np.array([4.0, 1.0, 2.0]), np.array([4.0, -1.0, 0.5])
AXIS = np.array([1.0, 2.0, -0.5])
SHEET = np.array([[5.0, 1.0, 0.5], [1.0, 0.25, 0.0]])


def full(tf, x):
    return tf.linalg.LinearOperatorFullMatrix(x)


def block_lower(tf, a, b, c):
    rows = [[full(tf, a)], [full(tf, b), full(tf, c)]]
    return tf.linalg.LinearOperatorBlockLowerTriangular(rows)


def sheet(x):
    """The matrix of a circular convolution with this image."""
    n = x.size
    columns = [np.roll(x, np.unravel_index(k, x.shape), (0, 1)).ravel() for k in range(n)]
    return np.stack(columns, 1)


# Each: the operator of tensors, the arrays, and the dense matrix of the arrays.
KINDS = {
    "Adjoint": (lambda tf, x: tf.linalg.LinearOperatorAdjoint(full(tf, x)), [A], lambda a: a.T),
    "BlockDiag": (
        lambda tf, *x: tf.linalg.LinearOperatorBlockDiag([full(tf, y) for y in x]),
        [A, B],
        scipy.linalg.block_diag,
    ),
    "BlockLowerTriangular": (
        block_lower,
        [A, B[:, :2], B],
        lambda a, b, c: np.block([[a, np.zeros((2, 3))], [b, c]]),
    ),
    "Circulant": (
        lambda tf, x: tf.linalg.LinearOperatorCirculant(
            tf.signal.fft(tf.cast(x, tf.complex128)), tf.float64
        ),
        [COL],
        scipy.linalg.circulant,
    ),
    "Circulant2D": (
        lambda tf, x: tf.linalg.LinearOperatorCirculant2D(
            tf.signal.fft2d(tf.cast(x, tf.complex128)), tf.float64
        ),
        [SHEET],
        sheet,
    ),
    "Circulant3D": (
        lambda tf, x: tf.linalg.LinearOperatorCirculant3D(
            tf.signal.fft3d(tf.cast(x[None], tf.complex128)), tf.float64
        ),
        [SHEET],
        sheet,
    ),
    "Composition": (
        lambda tf, x, y: tf.linalg.LinearOperatorComposition(
            [full(tf, x), tf.linalg.LinearOperatorDiag(y)]
        ),
        [A, D],
        lambda a, d: a * d,
    ),
    "Diag": (lambda tf, x: tf.linalg.LinearOperatorDiag(x), [D], np.diag),
    "FullMatrix": (full, [A], lambda a: a),
    "Householder": (
        lambda tf, x: tf.linalg.LinearOperatorHouseholder(x),
        [AXIS],
        lambda v: np.eye(3) - 2 * np.outer(v, v) / (v @ v),
    ),
    "Inversion": (lambda tf, x: tf.linalg.LinearOperatorInversion(full(tf, x)), [A], np.linalg.inv),
    "Kronecker": (
        lambda tf, *x: tf.linalg.LinearOperatorKronecker([full(tf, y) for y in x]),
        [A, B, LOW],
        lambda a, b, c: np.kron(np.kron(a, b), c),
    ),
    "LowRankUpdate": (
        lambda tf, a, u, d, v: tf.linalg.LinearOperatorLowRankUpdate(full(tf, a), u, d, v),
        [A, U, np.array([1.5]), V],
        lambda a, u, d, v: a + u * d @ v.T,
    ),
    "LowRankUpdate of ones": (
        lambda tf, d, u: tf.linalg.LinearOperatorLowRankUpdate(tf.linalg.LinearOperatorDiag(d), u),
        [D, U],
        lambda d, u: np.diag(d) + u @ u.T,
    ),
    "LowerTriangular": (lambda tf, x: tf.linalg.LinearOperatorLowerTriangular(x), [LOW], np.tril),
    "ScaledIdentity": (
        lambda tf, x: tf.linalg.LinearOperatorScaledIdentity(2, x),
        [np.array(3.0)],
        lambda x: x * np.eye(2),
    ),
    "Toeplitz": (
        lambda tf, c, r: tf.linalg.LinearOperatorToeplitz(c, r),
        [COL, ROW],
        scipy.linalg.toeplitz,
    ),
    "Tridiag": (lambda tf, x: tf.linalg.LinearOperatorTridiag(x), [BANDS], lambda x: TRI),
    "Tridiag of a matrix": (
        lambda tf, x: tf.linalg.LinearOperatorTridiag(x, "matrix"),
        [TRI],
        lambda x: TRI,
    ),
}
FIXED = {
    "Identity": (lambda tf: tf.linalg.LinearOperatorIdentity(2, dtype=tf.float64), np.eye(2)),
    "Permutation": (
        lambda tf: tf.linalg.LinearOperatorPermutation([2, 0, 1], tf.float64),
        np.eye(3)[[2, 0, 1]],
    ),
    "Permutation of batches": (
        lambda tf: tf.linalg.LinearOperatorPermutation([[2, 0, 1], [0, 2, 1]], tf.float64),
        np.eye(3)[[[2, 0, 1], [0, 2, 1]]],
    ),
}


def marked(kinds, *differ, reason):
    """Kinds, some of which are not compared with TensorFlow."""
    mark = pytest.mark.tf_differs(reason=reason)
    return [pytest.param(kind, marks=[mark] * (kind in differ)) for kind in kinds]


def made(tf, kind):
    if kind in FIXED:
        make, dense = FIXED[kind]
        return make(tf), dense
    make, parts, dense = KINDS[kind]
    return make(tf, *map(tf.constant, parts)), dense(*parts)


def turned(x):
    return np.swapaxes(x.conj(), -1, -2)


@pytest.mark.parametrize(
    "kind",
    marked(
        [*KINDS, *FIXED],
        "Circulant",
        "Circulant2D",
        "Circulant3D",
        reason="products of circulant operators of real numbers are refused",
    ),
)
def test_methods(tf, kind):
    operator, dense = made(tf, kind)
    random = np.random.default_rng(0)
    n = dense.shape[-1]
    x, v = random.normal(size=(n, 2)), random.normal(size=n)
    logarithm = np.log(np.abs(np.linalg.det(dense)))
    assert operator.shape == dense.shape
    assert operator.dtype == tf.float64
    pairs = [
        (operator.to_dense(), dense),
        (operator.matmul(x), dense @ x),
        (operator.matmul(x, adjoint=True), turned(dense) @ x),
        (operator.matmul(x.T, adjoint_arg=True), dense @ x),
        (operator.matvec(v), dense @ v),
        (operator.solve(x), np.linalg.solve(dense, x)),
        (operator.solve(x, adjoint=True), np.linalg.solve(turned(dense), x)),
        (operator.solvevec(v), np.linalg.solve(dense, v)),
        (operator.adjoint().to_dense(), turned(dense)),
        (operator.adjoint().matmul(x), turned(dense) @ x),
        (operator.inverse().matmul(x), np.linalg.solve(dense, x)),
        (operator.inverse().to_dense(), np.linalg.inv(dense)),
        (operator.matmul(operator).to_dense(), dense @ dense),
        (operator.solve(operator).to_dense(), np.broadcast_to(np.eye(n), dense.shape)),
        (operator.determinant(), np.linalg.det(dense)),
        (operator.inverse().determinant(), 1 / np.linalg.det(dense)),
        (operator.adjoint().determinant(), np.linalg.det(dense)),
        (operator.log_abs_determinant(), logarithm),
        (operator.matmul(operator).log_abs_determinant(), 2 * logarithm),
        (operator.trace(), np.trace(dense, axis1=-2, axis2=-1)),
        (operator.diag_part(), np.diagonal(dense, axis1=-2, axis2=-1)),
        (operator.add_to_tensor(dense), dense + dense),
    ]
    for k, (found, wanted) in enumerate(pairs):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10, err_msg=str(k))


@pytest.mark.parametrize(
    "kind", marked(KINDS, "Tridiag", "Tridiag of a matrix", reason="batches do not broadcast")
)
def test_batches_of_right_sides(tf, kind):
    operator, dense = made(tf, kind)
    x = np.random.default_rng(1).normal(size=(2, dense.shape[-1], 2))
    for found, wanted in (
        (operator.matmul(x), dense @ x),
        (operator.solve(x), np.linalg.inv(dense) @ x),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.numtape_only(reason="checks numtape's derivatives")
@pytest.mark.parametrize(
    "kind, order",
    [
        pytest.param(kind, order, marks=pytest.mark.slow if order == 2 and k % 4 else ())
        for k, kind in enumerate(KINDS)
        for order in ([2] if k % 4 == 0 else [1, 2])
    ],
)
def test_derivatives(tf, kind, order):
    """Derivatives of products, solutions and determinants by all parts of the operator."""
    make, parts, dense = KINDS[kind]
    v = np.random.default_rng(2).normal(size=dense(*parts).shape[-1])

    def results(v, *parts):
        operator = make(tf, *parts)
        logarithm = operator.log_abs_determinant()
        return operator.matvec(v), operator.solvevec(v, adjoint=True), logarithm

    tf.testing.check_grads(results, [v, *parts], order=order)


COMPLEX = {
    "Adjoint": (lambda tf, x: tf.linalg.LinearOperatorAdjoint(full(tf, x)), A + 1j * A.T),
    "Circulant": (
        lambda tf, x: tf.linalg.LinearOperatorCirculant(tf.signal.fft(x[:, 0]), tf.complex128),
        B + 1j * B.T,
    ),
    "Householder": (lambda tf, x: tf.linalg.LinearOperatorHouseholder(x[0]), A + 1j * A.T),
    "Kronecker": (
        lambda tf, x: tf.linalg.LinearOperatorKronecker([full(tf, x), full(tf, x)]),
        A + 1j * A.T,
    ),
    "LowRankUpdate": (
        lambda tf, x: tf.linalg.LinearOperatorLowRankUpdate(
            full(tf, x), x[:, :1], x[0, :1], x[:, 1:]
        ),
        A + 1j * A.T,
    ),
    "Toeplitz": (lambda tf, x: tf.linalg.LinearOperatorToeplitz(x[:, 0], x[0]), B + 1j * B.T),
    "Tridiag": (lambda tf, x: tf.linalg.LinearOperatorTridiag(x, "matrix"), B + 1j * B.T),
}
DENSE = {
    "Adjoint": turned,
    "Circulant": lambda x: scipy.linalg.circulant(x[:, 0]),
    "Householder": lambda x: np.eye(2) - 2 * np.outer(x[0], x[0].conj()) / (x[0] @ x[0].conj()),
    "Kronecker": lambda x: np.kron(x, x),
    "LowRankUpdate": lambda x: x + x[:, :1] * x[0, 0] @ turned(x[:, 1:]),
    "Toeplitz": lambda x: scipy.linalg.toeplitz(x[:, 0], x[0]),
    "Tridiag": lambda x: np.triu(np.tril(x, 1), -1),
}


@pytest.mark.parametrize("kind", marked(COMPLEX, "Tridiag", reason="its adjoint is not conjugated"))
def test_complex_numbers(tf, kind):
    make, given = COMPLEX[kind]
    operator, dense = make(tf, tf.constant(given)), DENSE[kind](given)
    x = np.array([1.0 + 1j, -2.0, 0.5, 3.0j])[: len(dense), None]
    for found, wanted in (
        (operator.to_dense(), dense),
        (operator.matmul(x), dense @ x),
        (operator.matmul(x, adjoint=True), turned(dense) @ x),
        (operator.solve(x), np.linalg.solve(dense, x)),
        (operator.solve(x, adjoint=True), np.linalg.solve(turned(dense), x)),
        (operator.H.to_dense(), turned(dense)),
        (operator.determinant(), np.linalg.det(dense)),
        (operator.log_abs_determinant(), np.log(abs(np.linalg.det(dense)))),
        (operator.trace(), np.trace(dense)),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.tf_differs(reason="determinants of products want square operators")
def test_operators_that_are_not_square(tf):
    wide, diag = full(tf, tf.constant(B[:2])), tf.linalg.LinearOperatorDiag(tf.constant(D))
    kronecker = tf.linalg.LinearOperatorKronecker([wide, diag])
    np.testing.assert_array_equal(kronecker.to_dense(), np.kron(B[:2], np.diag(D)))
    blocks = tf.linalg.LinearOperatorBlockDiag([wide, diag])
    dense = scipy.linalg.block_diag(B[:2], np.diag(D))
    np.testing.assert_array_equal(blocks.to_dense(), dense)
    np.testing.assert_array_equal(blocks.matmul(dense, adjoint=True), dense.T @ dense)
    gram = tf.linalg.LinearOperatorComposition([wide, wide.adjoint()])
    np.testing.assert_allclose(gram.determinant(), np.linalg.det(B[:2] @ B[:2].T))
    np.testing.assert_allclose(gram.solve(A), np.linalg.solve(B[:2] @ B[:2].T, A))
    zeros = tf.linalg.LinearOperatorZeros(2, 3, is_square=False, is_self_adjoint=False)
    np.testing.assert_array_equal(zeros.matmul(np.ones((3, 1), "float32")), np.zeros((2, 1)))


WRONG = [
    (lambda la, x: la.LinearOperatorComposition([]), ValueError, "list"),
    (
        lambda la, x: la.LinearOperatorComposition([x, la.LinearOperatorIdentity(3)]),
        ValueError,
        "not compatible",
    ),
    (
        lambda la, x: la.LinearOperatorKronecker(
            [x, la.LinearOperatorIdentity(2, dtype="float64")]
        ),
        TypeError,
        "same dtype",
    ),
    (lambda la, x: la.LinearOperatorInversion(la.LinearOperatorZeros(2)), ValueError, "singular"),
    (
        lambda la, x: la.LinearOperatorInversion(la.LinearOperatorFullMatrix([[1.0, 2.0]])),
        ValueError,
        "square",
    ),
    (lambda la, x: la.LinearOperatorBlockLowerTriangular([[x], [x]]), ValueError, "2` blocks"),
    (lambda la, x: la.LinearOperatorPermutation([1, 1]), ValueError, "unique"),
    (lambda la, x: la.LinearOperatorPermutation([1.0, 0.0]), TypeError, "integer"),
    (lambda la, x: la.LinearOperatorToeplitz([1.0], [1.0, 2.0]), ValueError, "mismatched"),
    (lambda la, x: la.LinearOperatorZeros(2, is_non_singular=True), ValueError, "singular"),
    (
        lambda la, x: la.LinearOperatorHouseholder([1.0], is_positive_definite=True),
        ValueError,
        "positive",
    ),
    (lambda la, x: x.matmul(la.LinearOperatorIdentity(3)), ValueError, "ncompatible"),
    (
        lambda la, x: la.LinearOperatorZeros(2).solve([[1.0], [2.0]]),
        NotImplementedError,
        "singular",
    ),
]


@pytest.mark.tf_differs(reason="what does not fit shows when it is multiplied")
@pytest.mark.parametrize("k", range(len(WRONG)))
def test_what_cannot_be_is_said(tf, k):
    call, kind, said = WRONG[k]
    with pytest.raises(kind, match=said):
        call(tf.linalg, tf.linalg.LinearOperatorIdentity(2))
