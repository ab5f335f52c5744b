"""`IndexedSlices`: gradients that are slices, ops that accept them, updates of variables."""

import copy
import pickle

import numpy as np
import pytest

TABLE = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def slopes(tf, function, source, **options):
    with tf.GradientTape() as tape:
        tape.watch(source)
        y = function(source)
    return tape.gradient(y, source, **options)


def parts(slices):
    return slices.values.numpy().tolist(), slices.indices.numpy().tolist()


@pytest.fixture(params=["variable", "constant"])
def table(request, tf):
    return tf.Variable(TABLE) if request.param == "variable" else tf.constant(TABLE)


SPARSE = {
    "gather": lambda tf, x: tf.gather(x, [2, 0]) * [[1.0, 2.0], [3.0, 4.0]],
    "identity": lambda tf, x: tf.gather(tf.identity(x), [2, 0]) * [[1.0, 2.0], [3.0, 4.0]],
    "tensor": lambda tf, x: tf.gather(tf.convert_to_tensor(x), [2, 0]) * [[1.0, 2.0], [3.0, 4.0]],
    "gather_nd": lambda tf, x: tf.gather_nd(x, [[2], [0]]) * [[1.0, 2.0], [3.0, 4.0]],
    "lookup": lambda tf, x: tf.nn.embedding_lookup(x, [[2, 0]]) * [[1.0, 2.0], [3.0, 4.0]],
}
DENSE = {
    "axis": lambda tf, x: tf.gather(x, [0, 0], axis=1),
    "negative axis": lambda tf, x: tf.gather(x, [0, 2], axis=-2),
    "computed": lambda tf, x: tf.gather(2.0 * x, [0, 2]),
    "batch": lambda tf, x: tf.gather(x, [[0], [1], [0]], batch_dims=1),
    "mask": lambda tf, x: tf.boolean_mask(x, [True, False, True]),
    "elements": lambda tf, x: tf.gather_nd(x, [[0, 1]]),
    "repeat": lambda tf, x: tf.repeat(x, [1, 0, 2], axis=0),
    "beside a dense one": lambda tf, x: tf.reduce_sum(tf.gather(x, [0])) + tf.reduce_sum(x),
    "slice": lambda tf, x: x[:2],
}


@pytest.mark.parametrize("name", SPARSE)
def test_gradient_is_slices(tf, table, name):
    found = slopes(tf, lambda x: SPARSE[name](tf, x), table)
    assert isinstance(found, tf.IndexedSlices)
    assert parts(found) == ([[1.0, 2.0], [3.0, 4.0]], [2, 0])
    assert found.dense_shape.numpy().tolist() == [3, 2] and found.shape == (3, 2)
    assert found.dtype == "float32" and found.indices.dtype == "int32"


@pytest.mark.parametrize("name", DENSE)
def test_gradient_is_dense(tf, table, name):
    found = slopes(tf, lambda x: DENSE[name](tf, x), table)
    assert not isinstance(found, tf.IndexedSlices) and found.shape == (3, 2)


def test_slices_of_several_gathers_stand_one_behind_the_other(tf, table):
    index = tf.constant([[2, 1]], tf.int64)
    found = slopes(tf, lambda x: [2.0 * tf.gather(x, 0), 3.0 * tf.gather(x, index)], table)
    assert parts(found) == ([[3.0, 3.0], [3.0, 3.0], [2.0, 2.0]], [2, 1, 0])
    assert found.indices.dtype == "int64"


@pytest.mark.numtape_only(reason="looks at what was computed")
def test_nothing_of_the_size_of_the_table_is_computed(tf):
    x = tf.Variable(tf.zeros((1000, 1000)))
    found = slopes(tf, lambda x: tf.gather(x, [2, 0]) * 3.0, x)
    assert found.values.numpy().sum() == 6000.0
    log = found.values._home
    if hasattr(log, "buffers"):
        large = [buffer for buffer in log.buffers.values() if np.size(buffer) == 10**6]
        assert len(large) <= 1  # the table itself


def test_slices_are_made_dense_where_a_tensor_is_wanted(tf):
    slices = tf.IndexedSlices(
        tf.constant([[1.0, 1.0], [2.0, 2.0]]), tf.constant([0, 0]), tf.constant([3, 2])
    )
    dense = [[3.0, 3.0], [0.0, 0.0], [0.0, 0.0]]
    assert tf.convert_to_tensor(slices).numpy().tolist() == dense
    assert (tf.constant(TABLE) * slices).numpy().tolist() == [[3.0, 6.0], [0.0, 0.0], [0.0, 0.0]]
    assert (slices + tf.zeros((3, 2))).numpy().tolist() == dense
    assert tf.reduce_sum(slices).numpy() == 6.0
    assert tf.stack([slices, slices]).shape == (2, 3, 2)
    assert parts(-slices) == ([[-1.0, -1.0], [-2.0, -2.0]], [0, 0])
    assert tf.is_tensor(slices) and tf.nest.flatten(slices) == [slices]
    assert len(tf.nest.flatten(slices, expand_composites=True)) == 3
    for wrong in (lambda: slices * 2.0, lambda: 2.0 * slices, lambda: slices + slices):
        with pytest.raises(TypeError, match="unsupported operand"):
            wrong()
    with pytest.raises(ValueError, match="without dense_shape"):
        tf.convert_to_tensor(tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])))
    with pytest.raises(ValueError, match="float64"):
        tf.convert_to_tensor(slices, tf.float64)
    assert str(slices).startswith("IndexedSlices(indices=tf.Tensor([0 0], shape=(2,)")


def test_copies(tf):
    slices = slopes(tf, lambda x: tf.gather(x, [2, 0]), tf.constant(TABLE))
    for found in (copy.copy(slices), copy.deepcopy(slices), pickle.loads(pickle.dumps(slices))):
        assert parts(found) == parts(slices)


def test_second_derivative(tf):
    v = tf.Variable(TABLE)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.gather(v, [0, 0, 2]) ** 3
        z = tf.convert_to_tensor(inner.gradient(y, v))
    found = outer.gradient(z, v)
    assert parts(found) == ([[6.0, 12.0], [6.0, 12.0], [30.0, 36.0]], [0, 0, 2])


def test_gradient_in_a_function(tf):
    v = tf.Variable(TABLE)

    @tf.function
    def slope(index):
        with tf.GradientTape() as tape:
            y = tf.gather(v, index) ** 2
        return {"slices": tape.gradient(y, v)}

    for index in ([0, 2], [1, 1], [2, 0], [0, 1]):
        found = slope(tf.constant(index))["slices"]
        assert isinstance(found, tf.IndexedSlices)
        assert parts(found) == ((2 * np.array(TABLE)[index]).tolist(), index)
        v.assign_sub(tf.zeros((3, 2)))


@pytest.mark.parametrize(
    "kind",
    [
        lambda tf: tf.keras.optimizers.SGD(0.1),
        pytest.param(
            lambda tf: tf.keras.optimizers.Adam(0.1),
            marks=pytest.mark.tf_differs(
                "it adds the squares of repeated rows, not the square of their sum"
            ),
        ),
        lambda tf: tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    ],
)
def test_optimizers_take_slices(tf, kind):
    sparse, dense = tf.Variable(TABLE), tf.Variable(TABLE)
    first, second = kind(tf), kind(tf)
    for index in ([0, 0, 2], [1, 1, 0], [2]):
        slices = slopes(tf, lambda x, index=index: tf.gather(x, index) ** 2, sparse)
        assert isinstance(slices, tf.IndexedSlices)
        full = slopes(tf, lambda x, index=index: tf.gather(x, index, axis=-2) ** 2, dense)
        first.apply_gradients([(slices, sparse)])
        second.apply_gradients([(full, dense)])
        np.testing.assert_allclose(sparse.numpy(), dense.numpy(), rtol=1e-6)


UPDATES = {
    "add": [2.0, 2.0, 28.0],
    "sub": [0.0, 2.0, -22.0],
    "mul": [1.0, 2.0, 450.0],
    "div": [1.0, 2.0, 3.0 / 10 / 15],
    "max": [1.0, 2.0, 15.0],
    "min": [1.0, 2.0, 3.0],
    "update": [1.0, 2.0, 15.0],
}


@pytest.mark.parametrize("how", UPDATES)
def test_updates_by_slices(tf, how):
    v = tf.Variable([1.0, 2.0, 3.0])
    read = v.read_value()
    method = getattr(v, f"scatter_{how}")
    found = method(tf.IndexedSlices(tf.constant([1.0, 10.0, 15.0]), tf.constant([0, 2, 2])))
    assert found.name == "UnreadVariable"
    np.testing.assert_allclose(v.numpy(), UPDATES[how], rtol=1e-6)
    assert read.numpy().tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match="must be a `tf"):
        method(tf.constant([1.0, 1.0, 1.0]))
    before = v.numpy()
    with pytest.raises(tf.errors.InvalidArgumentError):
        method(tf.IndexedSlices(tf.constant([1.0]), tf.constant([3])))
    with pytest.raises(tf.errors.InvalidArgumentError):
        method(tf.IndexedSlices(tf.constant([[1.0, 1.0]]), tf.constant([1])))
    np.testing.assert_array_equal(v.numpy(), before)


REFERENCES = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "max": np.fmax,
    "min": np.fmin,
    "update": lambda x, update: update,
}


@pytest.mark.parametrize("shape", [(4,), (40, 7)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("how", UPDATES)
def test_repeated_rows_are_updated_in_order(tf, how, dtype, shape):
    if how == "div" and dtype.startswith("int"):
        pytest.skip("integers are divided by NumPy")
    rng = np.random.default_rng(3)
    v = tf.Variable(rng.integers(1, 50, shape).astype(dtype))
    step = tf.function(lambda at, rows: getattr(v, f"scatter_{how}")(tf.IndexedSlices(rows, at)))
    for _ in range(4):
        at = rng.integers(0, shape[0], 60)
        rows = rng.integers(1, 50, (60, *shape[1:])).astype(dtype)
        if dtype.startswith("float") and how in ("max", "min"):
            rows.flat[0] = np.nan  # replaces nothing
        expected = v.numpy().copy()
        with np.errstate(over="ignore"):
            for k, row in zip(at, rows, strict=True):
                expected[k] = REFERENCES[how](expected[k], row)
        step(tf.constant(at), tf.constant(rows))
        np.testing.assert_array_equal(v.numpy(), expected)


def test_a_replay_with_an_invalid_index_changes_nothing(tf):
    v = tf.Variable(np.arange(200.0).reshape(100, 2))
    step = tf.function(lambda at, rows: v.scatter_add(tf.IndexedSlices(rows, at)))
    rows = tf.ones((2, 2), tf.float64)
    for at in [[3, 99], [0, 0], [7, 8]]:
        step(tf.constant(at), rows)
    before = v.numpy().copy()
    for at in [[1, 100], [-1, 1]]:
        with pytest.raises(tf.errors.InvalidArgumentError):
            step(tf.constant(at), rows)
    np.testing.assert_array_equal(v.numpy(), before)


def test_updates_at_tuples_and_in_batches(tf):
    v = tf.Variable([[1, 2], [3, 4]])
    assert v.scatter_nd_add([[0, 1], [0, 1]], [10, 20]).numpy().tolist() == [[1, 32], [3, 4]]
    assert v.scatter_nd_sub([[1]], [[1, 1]]).numpy().tolist() == [[1, 32], [2, 3]]
    assert v.scatter_nd_update([[0, 0]], [7]).numpy().tolist() == [[7, 32], [2, 3]]
    assert v.scatter_nd_max([[0, 0]], [9]).numpy().tolist() == [[9, 32], [2, 3]]
    assert v.scatter_nd_min([[0, 1]], [0]).numpy().tolist() == [[9, 0], [2, 3]]
    slices = tf.IndexedSlices(tf.constant([[5], [6]]), tf.constant([[1], [0]]))
    assert v.batch_scatter_update(slices).numpy().tolist() == [[9, 5], [6, 3]]
    assert v.gather_nd([[1, 0]]).numpy().tolist() == [6]
    assert v.sparse_read([1, 1]).numpy().tolist() == [[6, 3], [6, 3]]
    divided = tf.Variable([-7, 7]).scatter_div(tf.IndexedSlices(tf.constant([2]), tf.constant([0])))
    assert divided.numpy().tolist() == [-3, 7]


def test_assigns_take_slices(tf):
    v = tf.Variable(TABLE)
    slices = slopes(tf, lambda x: tf.gather(x, [0, 0]), v)
    assert v.assign_sub(slices).numpy().tolist() == [[-1.0, 0.0], [3.0, 4.0], [5.0, 6.0]]
    assert v.assign_add(slices).numpy().tolist() == TABLE
    assert v.assign(slices).numpy().tolist() == [[2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]


def test_embedding_lookup(tf):
    v, w = tf.Variable(TABLE), tf.Variable([[10.0, 20.0], [30.0, 40.0]])
    found = tf.nn.embedding_lookup([v, w], [[4, 0], [3, 2]])
    assert found.numpy().tolist() == [[[30.0, 40.0], [1.0, 2.0]], [[10.0, 20.0], [5.0, 6.0]]]
    limited = tf.nn.embedding_lookup(tf.constant([[3.0, 4.0], [0.0, 0.0]]), [0, 1], max_norm=1.0)
    np.testing.assert_allclose(limited, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-6)
    with tf.GradientTape() as tape:
        y = tf.nn.embedding_lookup(v, [0, 1], max_norm=1.0)
    slices = tape.gradient(y, v)
    np.testing.assert_allclose(
        slices.values, [[0.17888546, -0.08944273], [0.032, -0.024]], atol=1e-6
    )
    for wrong in (None, []):
        with pytest.raises(ValueError, match="param"):
            tf.nn.embedding_lookup(wrong, [0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.nn.embedding_lookup(v, [3])


def test_slices_times_a_number_are_slices(tf):
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(v, [0, 2, 0]) ** 2)
    found = tf.math.scalar_mul(0.5, tape.gradient(y, v))
    assert isinstance(found, tf.IndexedSlices)
    assert parts(found) == ([1.0, 3.0, 1.0], [0, 2, 0])
    v.scatter_sub(found)
    assert v.numpy().tolist() == [-1.0, 2.0, 0.0]
