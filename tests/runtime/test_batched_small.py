"""Batches of small systems and tiny products, computed for several matrices at a time."""

import mpmath
import numpy as np
import pytest
import scipy.linalg

SYSTEMS = [(1, 40, 1), (2, 16, 3), (3, 17, 2), (8, 1, 1), (8, 33, 1), (13, 19, 4), (32, 18, 2)]


def matrices(n, count, dtype, seed=0):
    """Matrices without a dominant diagonal, so that nearly all rows are exchanged."""
    random = np.random.default_rng(seed)
    return random.standard_normal((count, n, n)).astype(dtype)


def backward_error(a, x, b):
    """The backward error of each solution x, relative to the matrix's largest element."""
    a, x, b = (value.astype(np.float64) for value in (a, x, b))
    left = np.abs(a @ x - b).max((1, 2))
    return left / (np.abs(a).sum(2).max(1) * np.abs(x).max((1, 2)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "count", "k"), SYSTEMS)
@pytest.mark.parametrize("adjoint", [False, True])
def test_solutions_are_as_near_as_those_of_lapack(tf, dtype, n, count, k, adjoint):
    a, b = matrices(n, count, dtype), np.random.default_rng(1).standard_normal((count, n, k))
    b = b.astype(dtype)
    found = tf.linalg.solve(tf.constant(a), tf.constant(b), adjoint=adjoint).numpy()
    turned = a.swapaxes(1, 2) if adjoint else a
    expected = np.stack([scipy.linalg.solve(*pair) for pair in zip(turned, b, strict=True)])
    eps = np.finfo(dtype).eps
    assert found.dtype == np.dtype(dtype)
    limit = 2 * backward_error(turned, expected, b).max() + 2 * eps
    assert (backward_error(turned, found, b) <= limit).all()


def test_solutions_are_near_what_more_digits_give(tf):
    a, b = matrices(8, 9, np.float64), np.random.default_rng(2).standard_normal((9, 8, 1))
    found = tf.linalg.solve(tf.constant(a), tf.constant(b)).numpy()
    with mpmath.workdps(50):
        for one, right, x in zip(a, b, found, strict=True):
            exact = mpmath.lu_solve(mpmath.matrix(one.tolist()), mpmath.matrix(right.tolist()))
            exact = np.array([float(value) for value in exact])
            limit = 16 * np.finfo(np.float64).eps * np.linalg.cond(one) * np.abs(exact).max()
            assert np.abs(x[:, 0] - exact).max() <= limit


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 5, 16])
def test_factors_inverses_and_determinants(tf, dtype, n):
    a = matrices(n, 21, dtype)
    eps, wide = np.finfo(dtype).eps, a.astype(np.float64)
    inverses = np.linalg.inv(wide)
    condition = np.linalg.cond(wide).max()
    found = tf.linalg.inv(tf.constant(a)).numpy()
    np.testing.assert_allclose(found, inverses, atol=20 * eps * condition * np.abs(inverses).max())
    determinants = np.linalg.det(wide)
    found = tf.linalg.det(tf.constant(a)).numpy()
    np.testing.assert_allclose(found, determinants, rtol=20 * n * eps * condition)
    sign, log = tf.linalg.slogdet(tf.constant(a))
    np.testing.assert_array_equal(sign.numpy(), np.sign(determinants))
    limit = 40 * n * eps * condition
    np.testing.assert_allclose(np.exp(log.numpy()), abs(determinants), rtol=limit)


@pytest.mark.numtape_only(reason="TensorFlow factors one matrix after the other")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_matrix_has_the_same_bits_in_every_lane(tf, dtype):
    one, right = matrices(8, 1, dtype), matrices(8, 1, dtype, 3)[:, :, :2]
    expected = None
    for count in (16, 17, 31):
        a, b = matrices(8, count, dtype, 4), matrices(8, count, dtype, 5)[:, :, :2]
        for place in range(count):
            a[place], b[place] = one, right
            found = tf.linalg.solve(tf.constant(a), tf.constant(b)).numpy()[place]
            expected = found if expected is None else expected
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("count", [16, 19])
def test_one_matrix_of_a_batch_that_cannot_be_inverted_is_an_error(tf, count):
    for place in (0, 7, count - 1):
        for said in ([[1.0, 2.0], [2.0, 4.0]], [[np.nan, 1.0], [1.0, 1.0]], np.zeros((2, 2))):
            a = np.tile(np.eye(2), (count, 1, 1))
            a[place] = said
            with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
                tf.linalg.solve(tf.constant(a), tf.ones((count, 2, 1), tf.float64)).numpy()


def test_determinants_of_matrices_without_an_inverse_are_0(tf):
    a = np.tile(np.eye(3), (18, 1, 1))
    a[3], a[17] = 0, [[1, 2, 3], [2, 4, 6], [1, 1, 1]]
    found = tf.linalg.det(tf.constant(a)).numpy()
    np.testing.assert_allclose(found, np.linalg.det(a), atol=1e-15)


@pytest.mark.numtape_only(reason="TensorFlow takes numbers that small for 0")
def test_tiny_and_huge_pivots_do_not_overflow(tf):
    """The reciprocal of the smallest number is infinite, but quotients are finite."""
    for scale in (5e-324, 2.0**-1070, 1e-310, 1e300):
        a = np.tile(scale * np.array([[0, 4.0], [8.0, 4.0]]), (16, 1, 1))
        found = tf.linalg.solve(tf.constant(a), tf.constant(a @ np.ones((16, 2, 1)))).numpy()
        np.testing.assert_array_equal(found, np.ones((16, 2, 1)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("adjoint", [False, True])
def test_gradients_of_solutions(tf, dtype, k, adjoint):
    random = np.random.default_rng(6)
    a = (random.standard_normal((35, 8, 8)) + 8 * np.eye(8)).astype(dtype)
    b = random.standard_normal((35, 8, k)).astype(dtype)

    @tf.function
    def gradients(a, b):
        with tf.GradientTape() as tape:
            tape.watch((a, b))
            y = tf.reduce_sum(tf.linalg.solve(a, b, adjoint=adjoint) ** 2)
        return tape.gradient(y, (a, b))

    wide = a.astype(np.float64)
    turned = wide.swapaxes(1, 2) if adjoint else wide
    x = np.linalg.solve(turned, b)
    by_b = np.linalg.solve(turned.swapaxes(1, 2), 2 * x)
    by_a = -by_b @ x.swapaxes(1, 2)
    by_a = by_a.swapaxes(1, 2) if adjoint else by_a
    for _ in range(3):
        found = gradients(tf.constant(a), tf.constant(b))
        for ours, theirs in zip(found, (by_a, by_b), strict=True):
            limit = 100 * np.finfo(dtype).eps * np.abs(theirs).max()
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=0, atol=limit)


PRODUCTS = [(1, 1, 1), (2, 3, 4), (8, 8, 1), (8, 1, 8), (1, 8, 8), (8, 8, 8), (3, 3, 3), (7, 8, 5)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("m", "n", "k"), PRODUCTS)
@pytest.mark.parametrize("shared", ["none", "first", "second"])
def test_tiny_products(tf, dtype, m, n, k, shared):
    random, eps = np.random.default_rng(7), np.finfo(dtype).eps
    for turned in np.ndindex(2, 2):
        shapes = [(k, m) if turned[0] else (m, k), (n, k) if turned[1] else (k, n)]
        a, b = (random.standard_normal((23, *shape)).astype(dtype) for shape in shapes)
        a, b = (a[0], b) if shared == "first" else (a, b[0]) if shared == "second" else (a, b)
        wide = [x.astype(np.float64) for x in (a, b)]
        straight = [x.swapaxes(-1, -2) if turn else x for x, turn in zip(wide, turned, strict=True)]
        found = tf.matmul(
            tf.constant(a), tf.constant(b), transpose_a=bool(turned[0]), transpose_b=bool(turned[1])
        ).numpy()
        assert found.dtype == np.dtype(dtype)
        sizes = np.abs(straight[0]) @ np.abs(straight[1])
        assert (np.abs(found - straight[0] @ straight[1]) <= k * eps * sizes).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiny_products_write_no_further_than_their_rows(tf, dtype):
    """Non-finite elements of one matrix must not affect its neighbours."""
    a, b = np.ones((12, 3, 2), dtype), np.ones((12, 2, 5), dtype)
    a[5], b[8] = np.nan, np.inf
    found = tf.matmul(tf.constant(a), tf.constant(b)).numpy()
    # Not by `np.matmul`: some BLAS kernels also read memory beyond the rows, and NumPy warns.
    expected = (a[..., None] * b[:, None]).sum(2)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.numtape_only("what a GPU's products read")
@pytest.mark.parametrize("n", [2, 8, 9, 64])
@pytest.mark.parametrize("turned", [False, True])
def test_products_of_any_size_say_how_many_there_are(n, turned):
    from numtape.core.ops.matrix_products import MATMUL
    from numtape.core.values.dtypes import float32
    from numtape.core.values.spec import intern

    for count in (1, 5):
        spec = intern((count, n, n), float32)
        found = MATMUL.native(spec, spec, spec, False, turned)
        assert found.parameters[14] == count  # after the function, BLAS's sizes and three strides
