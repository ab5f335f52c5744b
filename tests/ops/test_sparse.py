"""Sparse tensors: conversions, arrangement, reductions, products, embeddings, gradients."""

import pickle

import numpy as np
import pytest
import scipy.sparse

A = np.array([[0.0, 2.0, 0.0, -1.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.5, 0.0]])
B = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0], [0.0, 0.0, -0.5, 6.0]])
C = np.arange(24.0).reshape(2, 3, 4) * (np.arange(24).reshape(2, 3, 4) % 5 == 1)


def of(tf, array):
    return tf.sparse.from_dense(np.asarray(array))


def dense(tf, x):
    return tf.sparse.to_dense(x).numpy()


def test_parts(tf):
    x = tf.SparseTensor([[0, 1], [2, 0]], [5.0, 6.0], [3, 4])
    assert x.shape.as_list() == [3, 4] and x.get_shape() == x.shape and x.dtype is tf.float32
    assert x.indices.dtype is tf.int64 and x.dense_shape.numpy().tolist() == [3, 4]
    assert x.with_values([7.0, 8.0]).values.numpy().tolist() == [7.0, 8.0]
    assert tf.SparseTensor.from_value(x) is x
    assert repr(x).startswith("SparseTensor(indices=tf.Tensor(")


@pytest.mark.parametrize(
    "parts",
    [
        ([[0, 1]], [1.0, 2.0], [3, 4]),
        ([[0, 1]], [1.0], [3]),
        ([0, 1], [1.0], [3]),
        ([[0, 1]], [[1.0]], [3, 4]),
    ],
    ids=["number", "rank", "indices", "values"],
)
def test_parts_are_checked(tf, parts):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        tf.SparseTensor(*parts)


@pytest.mark.parametrize("array", [A, C, A[1:2], A > 0], ids=["matrix", "3-D", "empty", "bool"])
def test_dense_and_back(tf, array):
    x = of(tf, array)
    assert x.indices.numpy().tolist() == np.argwhere(array).tolist()
    np.testing.assert_array_equal(dense(tf, x), array)


def test_default_value_and_order(tf):
    x = tf.SparseTensor([[1, 0], [0, 1]], [6.0, 5.0], [2, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of order"):
        tf.sparse.to_dense(x)
    ordered = tf.sparse.reorder(x)
    assert tf.sparse.to_dense(ordered, -1.0).numpy().tolist() == [[-1.0, 5.0], [6.0, -1.0]]
    assert tf.sparse.to_dense(x, validate_indices=False).numpy().tolist() == [[0, 5], [6, 0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="repeated"):
        tf.sparse.to_dense(tf.SparseTensor([[0, 0], [0, 0]], [1.0, 2.0], [1, 1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
        tf.sparse.to_dense(tf.SparseTensor([[0, 2]], [1.0], [1, 1]))


ARRANGED = {
    "transpose": (lambda s, x: s.transpose(x), lambda a: a.T),
    "reshape": (lambda s, x: s.reshape(x, [2, -1]), lambda a: a.reshape(2, -1)),
    "slice": (lambda s, x: s.slice(x, [1, 0], [5, 3]), lambda a: a[1:, :3]),
    "split": (lambda s, x: s.split(x, 3, axis=1)[0], lambda a: a[:, :2]),
    "expand_dims": (lambda s, x: s.expand_dims(x, 1), lambda a: a[:, None]),
    "concat": (lambda s, x: s.concat(1, [x, x]), lambda a: np.concatenate([a, a], 1)),
    "reset_shape": (lambda s, x: s.reset_shape(x, [3, 6]), lambda a: np.pad(a, [(0, 0), (0, 2)])),
    "retain": (lambda s, x: s.retain(x, x.values > 0), lambda a: np.maximum(a, 0.0)),
    "map_values": (lambda s, x: s.map_values(lambda v: v * v, x), np.square),
    "multiply": (lambda s, x: x * B, lambda a: a * B),
    "divide": (lambda s, x: x / 2.0, lambda a: a / 2.0),
    "maximum": (lambda s, x: s.maximum(x, s.from_dense(B)), lambda a: np.maximum(a, B)),
    "minimum": (lambda s, x: s.minimum(x, s.from_dense(B)), lambda a: np.minimum(a, B)),
    "add": (lambda s, x: s.add(x, s.from_dense(B)), lambda a: a + B),
}


@pytest.mark.parametrize("name", ARRANGED)
def test_arrangement_and_arithmetic(tf, name):
    function, numpy = ARRANGED[name]
    np.testing.assert_array_equal(dense(tf, function(tf.sparse, of(tf, A))), numpy(A))


@pytest.mark.parametrize("name", ["abs", "negative", "square", "sign", "tanh", "sin"])
def test_functions_that_keep_zero(tf, name):
    wanted = getattr(np, name)(A)
    np.testing.assert_allclose(dense(tf, getattr(tf, name)(of(tf, A))), wanted, rtol=1e-12)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (1, 2)], ids=str)
def test_reductions(tf, axis, keepdims):
    total = tf.sparse.reduce_sum(of(tf, C), axis, keepdims)
    np.testing.assert_allclose(total, C.sum(axis=axis, keepdims=keepdims))
    # The values are positive, so the zeros do not count.
    np.testing.assert_allclose(
        tf.sparse.reduce_max(of(tf, C), axis, keepdims), C.max(axis=axis, keepdims=keepdims)
    )


def test_reduction_to_a_sparse_tensor(tf):
    x = tf.sparse.reduce_sum(of(tf, A), 1, output_is_sparse=True)
    assert x.indices.numpy().tolist() == [[0], [2]] and x.values.numpy().tolist() == [1.0, 3.5]


def test_softmax(tf):
    powers = np.where(A != 0, np.exp(A), 0.0)
    wanted = powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-300)
    np.testing.assert_allclose(dense(tf, tf.sparse.softmax(of(tf, A))), wanted)


def test_rows_and_counts(tf):
    filled, was_empty = tf.sparse.fill_empty_rows(of(tf, A), 9.0)
    assert was_empty.numpy().tolist() == [False, True, False]
    assert filled.indices.numpy().tolist() == [[0, 1], [0, 3], [1, 0], [2, 0], [2, 2]]
    counts = tf.sparse.bincount([[1, 1, 3], [0, 3, 3]], axis=-1)
    np.testing.assert_array_equal(dense(tf, counts), [[0, 2, 0, 1], [1, 0, 0, 2]])
    assert tf.math.bincount(of(tf, [[1, 1], [3, 0]])).numpy().tolist() == [0, 2, 0, 1]
    ids = tf.SparseTensor([[0, 0], [1, 1]], tf.constant([2, 0], tf.int64), [2, 2])
    assert tf.sparse.to_indicator(ids, 3).numpy().tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize("name", ["sum", "mean", "sqrt_n"])
def test_segments(tf, name):
    found = getattr(tf.sparse, f"segment_{name}")(tf.constant(B), [0, 2, 1], [0, 0, 2])
    scale = {"sum": 1.0, "mean": 2.0, "sqrt_n": np.sqrt(2.0)}[name]
    np.testing.assert_allclose(found, [(B[0] + B[2]) / scale, np.zeros(4), B[1]])


@pytest.mark.parametrize("adjoint_b", [False, True])
@pytest.mark.parametrize("adjoint_a", [False, True])
def test_product(tf, adjoint_a, adjoint_b):
    x, b = (
        of(tf, A),
        np.arange(8.0).reshape(4, 2) if not adjoint_a else np.arange(6.0).reshape(3, 2),
    )
    right = tf.constant(b.T.copy() if adjoint_b else b)
    product = tf.sparse.sparse_dense_matmul(x, right, adjoint_a, adjoint_b)
    np.testing.assert_allclose(product, (A.T if adjoint_a else A) @ b)
    flipped = tf.sparse.sparse_dense_matmul(tf.constant(B.T.copy()), x)
    np.testing.assert_allclose(flipped, B.T @ A)


def test_gradients_of_a_product(tf):
    x, b, weights = of(tf, A), np.arange(8.0).reshape(4, 2), np.arange(1.0, 7.0).reshape(3, 2)
    values, right = x.values, tf.constant(b)
    with tf.GradientTape() as tape:
        tape.watch([values, right])
        product = tf.sparse.sparse_dense_matmul(x.with_values(values), right)
        y = tf.reduce_sum(product * weights)
    by_values, by_right = tape.gradient(y, [values, right])
    np.testing.assert_allclose(by_values, (weights @ b.T)[A != 0])
    np.testing.assert_allclose(tf.convert_to_tensor(by_right), A.T @ weights)


def test_gradients_of_reductions_and_dense(tf):
    x = of(tf, A)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x.values)
        y = tf.reduce_sum(tf.sparse.to_dense(x) * B)
        z = tf.reduce_sum(tf.square(tf.sparse.reduce_sum(x, 1)))
    np.testing.assert_allclose(tape.gradient(y, x.values), B[A != 0])
    np.testing.assert_allclose(tape.gradient(z, x.values), (2 * A.sum(1)[:, None] + 0 * A)[A != 0])


@pytest.mark.numtape_only("TensorFlow takes no sparse sources")
def test_gradient_by_a_sparse_tensor(tf):
    x = of(tf, A)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sparse.reduce_sum(tf.square(x))
    np.testing.assert_allclose(dense(tf, tape.gradient(y, x)), 2 * A)
    assert pickle.loads(pickle.dumps(x)).shape == x.shape


TABLE = np.arange(10.0).reshape(5, 2)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True])
def test_embeddings(tf, combiner, weighted):
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 4, 2], tf.int64), [2, 2])
    numbers = np.array([0.5, 2.0, 3.0]) if weighted else np.ones(3)
    weights = ids.with_values(tf.constant(numbers)) if weighted else None
    rows = TABLE[[1, 4, 2]] * numbers[:, None]
    total = np.stack([rows[0] + rows[1], rows[2]])
    lists = [numbers[:2], numbers[2:]]
    norm = {
        "sum": [1.0, 1.0],
        "mean": [x.sum() for x in lists],
        "sqrtn": [np.sqrt(np.sum(x * x)) for x in lists],
    }[combiner]
    found = tf.nn.embedding_lookup_sparse(tf.constant(TABLE), ids, weights, combiner=combiner)
    np.testing.assert_allclose(found, total / np.array(norm)[:, None])
    ragged = tf.ragged.constant([[1, 4], [2]])
    if not weighted:
        found = tf.nn.embedding_lookup_sparse(tf.constant(TABLE), ragged, None, combiner=combiner)
        np.testing.assert_allclose(found, total / np.array(norm)[:, None])
    assert tf.nn.embedding_lookup(tf.constant(TABLE), ragged).shape.as_list() == [2, None, 2]


def test_safe_embeddings(tf):
    ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, -1, 0], tf.int64), [3, 2])
    lookup, table = tf.nn.safe_embedding_lookup_sparse, tf.constant(TABLE)
    np.testing.assert_allclose(lookup(table, ids), [TABLE[1], [0, 0], TABLE[0]])
    np.testing.assert_allclose(lookup(table, ids, default_id=3), [TABLE[1], TABLE[3], TABLE[0]])


def test_function_arguments_and_results(tf):
    @tf.function
    def product(x, right):
        return tf.sparse.sparse_dense_matmul(x, right), x * 2.0

    for array in (A, 3 * A, B):
        right = np.arange(8.0).reshape(4, 2)
        y, doubled = product(of(tf, array), tf.constant(right))
        np.testing.assert_allclose(y, array @ right)
        np.testing.assert_allclose(dense(tf, doubled), 2 * array)


def test_specs(tf):
    spec = tf.SparseTensorSpec([None, 4], tf.float64)
    assert spec.is_compatible_with(of(tf, A)) and not spec.is_compatible_with(of(tf, A.T))
    assert tf.type_spec_from_value(of(tf, A)) == tf.SparseTensorSpec([3, 4], tf.float64)


@pytest.mark.numtape_only("numtape's own")
def test_scipy(tf):
    x = tf.SparseTensor.from_scipy(scipy.sparse.csr_array(A))
    np.testing.assert_array_equal(dense(tf, x), A)
    np.testing.assert_array_equal(x.to_scipy().toarray(), A)
    np.testing.assert_allclose(x @ B.T.copy(), A @ B.T)
    np.testing.assert_allclose(tf.matmul(x, B, transpose_b=True), A @ B.T)


@pytest.mark.numtape_only("the texts are numtape's")
@pytest.mark.parametrize("name", ["exp", "reduce_max", "cumsum"])
def test_other_functions_name_the_remedy(tf, name):
    with pytest.raises(TypeError, match="to_dense"):
        getattr(tf, name)(of(tf, A))
    with pytest.raises(TypeError, match="to_dense"):
        np.asarray(of(tf, A))


def test_dense_layer(tf):
    layer = tf.keras.layers.Dense(2, kernel_initializer="ones")
    with tf.GradientTape() as tape:
        y = layer(of(tf, A.astype(np.float32)))
        total = tf.reduce_sum(y)
    np.testing.assert_allclose(y, np.repeat(A.sum(1)[:, None], 2, 1))
    np.testing.assert_allclose(
        tf.convert_to_tensor(tape.gradient(total, layer.kernel)), np.repeat(A.sum(0)[:, None], 2, 1)
    )


def test_crosses(tf):
    texts = tf.sparse.from_dense(tf.constant([["a", "b"], ["c", ""]]))
    x = tf.sparse.cross([tf.constant([[1], [2]], tf.int64), texts])
    assert x.values.numpy().tolist() == [b"a_X_1", b"b_X_1", b"c_X_2"]
    assert x.dense_shape.numpy().tolist() == [2, 2]
    y = tf.ragged.cross([tf.ragged.constant([["a"], []]), tf.constant([["x", "y"], ["z", "w"]])])
    assert y.to_list() == [[b"a_X_x", b"a_X_y"], []]


@pytest.mark.parametrize("sizes", [(-1,), (2, -3)])
def test_matrices_of_negative_size_are_refused(tf, sizes):
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.sparse.eye(*sizes)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda tf, x: tf.sparse.transpose(x), [1, 3, 2]),
        (lambda tf, x: tf.sparse.slice(x, [0, 0], [2, 2]), [1, 0, 2]),
        (lambda tf, x: tf.sparse.split(x, 3, axis=0)[0], [1, 2, 0]),
        (lambda tf, x: tf.sparse.fill_empty_rows(x, 5.0)[0], [1, 2, 3]),
    ],
)
def test_gradients_of_rearranged_values_are_dense(tf, function, expected):
    x = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [1.0, 2.0, 3.0], [3, 3])
    with tf.GradientTape() as tape:
        tape.watch(x.values)
        y = function(tf, x).values
        loss = tf.reduce_sum(y * tf.range(1.0, len(y) + 1.0))
    assert tape.gradient(loss, x.values).numpy().tolist() == expected
