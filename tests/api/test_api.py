"""Creating, casting, reducing, multiplying and rearranging: arguments, values and dtypes."""

import collections
import math

import numpy as np
import pytest
from checks import same, slope

M = np.arange(6.0, dtype=np.float32).reshape(2, 3)
T = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


def cases(table):
    return pytest.mark.parametrize(
        ("function", "expected", "dtype"),
        [case[1:] for case in table],
        ids=[case[0] for case in table],
    )


# --- Creation ------------------------------------------------------------------------------------

CREATED = [
    ("list", lambda tf: tf.constant([1, 2.5]), [1.0, 2.5], "float32"),
    ("tuple", lambda tf: tf.constant((1, 2)), [1, 2], "int32"),
    ("range object", lambda tf: tf.constant(range(3)), [0, 1, 2], "int32"),
    ("int and bool", lambda tf: tf.constant([3, True]), [3, 1], "int32"),
    ("empty", lambda tf: tf.constant([]), np.zeros(0), "float32"),
    ("empty row", lambda tf: tf.constant([[]]), np.zeros((1, 0)), "float32"),
    ("array", lambda tf: tf.constant(np.array([1.0])), [1.0], "float64"),
    ("NumPy scalar", lambda tf: tf.constant(np.float64(1)), 1.0, "float64"),
    ("list of NumPy scalars", lambda tf: tf.constant([np.float64(1)]), [1.0], "float64"),
    ("int, then NumPy", lambda tf: tf.constant([1, np.float64(2.5)]), [1.0, 2.5], "float32"),
    ("NumPy, then int", lambda tf: tf.constant([np.float64(2.5), 1]), [2.5, 1.0], "float64"),
    ("dtype", lambda tf: tf.constant([1, 2], tf.float64), [1.0, 2.0], "float64"),
    ("dtype by name", lambda tf: tf.constant(1, dtype="float32"), 1.0, "float32"),
    ("dtype of NumPy", lambda tf: tf.constant(1, dtype=np.float64), 1.0, "float64"),
    ("bool as float", lambda tf: tf.constant(True, tf.float32), 1.0, "float32"),
    ("array cut to int", lambda tf: tf.constant(np.array([1.7]), tf.int32), [1], "int32"),
    ("large int", lambda tf: tf.constant(2**40), 2**40, "int64"),
    ("one large int", lambda tf: tf.constant([1, 2**40]), [1, 2**40], "int64"),
    ("float, then a huge int", lambda tf: tf.constant([1.5, 2**70]), [1.5, 2.0**70], "float32"),
    ("huge int", lambda tf: tf.constant(2**70, tf.float32), 2.0**70, "float32"),
    ("huge ints", lambda tf: tf.constant([2**70, -1], tf.float64), [2.0**70, -1], "float64"),
    ("huge and float", lambda tf: tf.constant([2**70, 1.5], "float64"), [2.0**70, 1.5], "float64"),
    ("beyond float32", lambda tf: tf.constant([-(2**130)], tf.float32), [-np.inf], "float32"),
    ("beside floats", lambda tf: tf.constant([2.0]) * [2**70, 1], [2.0**71, 2.0], "float32"),
    ("filled shape", lambda tf: tf.constant(5.0, shape=(2, 2)), np.full((2, 2), 5), "float32"),
    ("shape", lambda tf: tf.constant([1, 2, 3, 4], shape=[2, 2]), [[1, 2], [3, 4]], "int32"),
    ("tensor", lambda tf: tf.constant(tf.constant([1.0])), [1.0], "float32"),
    ("zeros", lambda tf: tf.zeros((2, 1)), np.zeros((2, 1)), "float32"),
    ("zeros by number", lambda tf: tf.zeros(3, tf.int32), [0, 0, 0], "int32"),
    ("zeros by tensor", lambda tf: tf.zeros(tf.constant([1, 2])), [[0, 0]], "float32"),
    ("zeros of no shape", lambda tf: tf.zeros(()), 0.0, "float32"),
    ("ones", lambda tf: tf.ones([2], dtype="float64"), [1, 1], "float64"),
    ("ones of bool", lambda tf: tf.ones((2,), tf.bool), [True, True], "bool"),
    ("fill", lambda tf: tf.fill((1, 2), 7), [[7, 7]], "int32"),
    ("fill by name", lambda tf: tf.fill(dims=[2], value=0.5), [0.5, 0.5], "float32"),
    ("eye", lambda tf: tf.eye(2), np.eye(2), "float32"),
    ("eye of columns", lambda tf: tf.eye(2, num_columns=3, dtype=tf.int32), np.eye(2, 3), "int32"),
    ("eye in batches", lambda tf: tf.eye(2, batch_shape=[2]), [np.eye(2)] * 2, "float32"),
    ("range", lambda tf: tf.range(3), [0, 1, 2], "int32"),
    ("range of nothing", lambda tf: tf.range(0), np.zeros(0), "int32"),
    ("range start", lambda tf: tf.range(start=1, limit=4), [1, 2, 3], "int32"),
    ("range step", lambda tf: tf.range(1, 10, 3), [1, 4, 7], "int32"),
    ("range down", lambda tf: tf.range(5, 0, delta=-2), [5, 3, 1], "int32"),
    ("range of floats", lambda tf: tf.range(3.0), [0, 1, 2], "float32"),
    ("range mixed", lambda tf: tf.range(0, 1, 0.25), [0, 0.25, 0.5, 0.75], "float32"),
    ("range to a fraction", lambda tf: tf.range(1, 3.5), [1, 2, 3], "float32"),
    ("range dtype", lambda tf: tf.range(3, dtype=tf.float64), [0, 1, 2], "float64"),
    ("range of NumPy", lambda tf: tf.range(np.int64(3)), [0, 1, 2], "int64"),
    ("range of tensors", lambda tf: tf.range(2, tf.constant(5.0)), [2, 3, 4], "float32"),
    ("linspace", lambda tf: tf.linspace(0.0, 1.0, 5), np.linspace(0, 1, 5), "float32"),
    ("linspace of ints", lambda tf: tf.linspace(0, 10, 5), np.linspace(0, 10, 5), "float64"),
    ("linspace by name", lambda tf: tf.linspace(start=1.0, stop=0.0, num=3), [1, 0.5, 0], None),
    ("linspace of one", lambda tf: tf.linspace(2.0, 5.0, 1), [2.0], "float32"),
    ("linspace of none", lambda tf: tf.linspace(2.0, 5.0, 0), np.zeros(0), "float32"),
    (
        "linspace of vectors",
        lambda tf: tf.linspace([0.0, 1.0], [4.0, 7.0], 3),
        [[0, 1], [2, 4], [4, 7]],
        "float32",
    ),
    (
        "linspace of an axis",
        lambda tf: tf.linspace([[0.0], [1.0]], [4.0, 7.0], 3, axis=-2),
        [[[0, 0], [2, 3.5], [4, 7]], [[1, 1], [2.5, 4], [4, 7]]],
        "float32",
    ),
    ("linspace of a variable", lambda tf: tf.linspace(tf.Variable(1.0), 2, 3), [1, 1.5, 2], None),
    ("linspace of NumPy", lambda tf: tf.linspace(np.float64(0), 1, 3), [0, 0.5, 1], "float64"),
    ("zeros_like", lambda tf: tf.zeros_like([1, 2]), [0, 0], "int32"),
    ("ones_like", lambda tf: tf.ones_like(np.zeros(2)), [1, 1], "float64"),
    ("ones_like of a variable", lambda tf: tf.ones_like(tf.Variable([2.0])), [1], "float32"),
    ("zeros_like dtype", lambda tf: tf.zeros_like(1.5, dtype=tf.int32), 0, "int32"),
    ("cast down", lambda tf: tf.cast([1.9, -1.9], tf.int32), [1, -1], "int32"),
    ("cast to bool", lambda tf: tf.cast([2, 0], tf.bool), [True, False], "bool"),
    ("cast from bool", lambda tf: tf.cast(x=True, dtype=tf.float32), 1.0, "float32"),
    ("cast by name", lambda tf: tf.cast(tf.Variable(1.5), "float64"), 1.5, "float64"),
    ("convert", lambda tf: tf.convert_to_tensor([1, 2]), [1, 2], "int32"),
    ("convert dtype", lambda tf: tf.convert_to_tensor(1, dtype=tf.float64), 1.0, "float64"),
    ("convert array", lambda tf: tf.convert_to_tensor(M, tf.float64), M, "float64"),
    ("convert hint", lambda tf: tf.convert_to_tensor(1, dtype_hint=tf.float32), 1.0, "float32"),
    ("convert variable", lambda tf: tf.convert_to_tensor(tf.Variable(2.0)), 2.0, "float32"),
    ("convert nest", lambda tf: tf.convert_to_tensor([tf.Variable(1.0), 2]), [1, 2], "float32"),
    ("shape of", lambda tf: tf.shape(T), [2, 3, 4], "int32"),
    ("size of", lambda tf: tf.size(T), 24, "int32"),
    ("rank of", lambda tf: tf.rank(T), 3, "int32"),
]


@cases(CREATED)
def test_creation(tf, function, expected, dtype):
    result = function(tf)
    assert isinstance(result, tf.Tensor)
    same(result, expected, dtype)


def test_tensors_that_need_no_copy_are_returned(tf):
    x = tf.constant(1.0)
    assert tf.convert_to_tensor(x) is x
    assert tf.constant(x) is x
    assert tf.cast(x, tf.float32) is x
    assert tf.identity(x) is not x


def test_random_numbers(tf):
    tf.random.set_seed(7)
    first, second = tf.random.normal((3,)), tf.random.normal((3,))
    tf.random.set_seed(7)
    np.testing.assert_array_equal(tf.random.normal((3,)), first)
    assert not np.array_equal(first, second)
    large = tf.random.normal([20000], mean=2.0, stddev=3.0, dtype=tf.float64).numpy()
    assert large.dtype == np.float64
    np.testing.assert_allclose([large.mean(), large.std()], [2.0, 3.0], atol=0.1)
    even = tf.random.uniform(shape=(20000,), minval=-1.0, maxval=3.0).numpy()
    assert even.dtype == np.float32
    assert -1.0 <= even.min() < -0.99 < 2.99 < even.max() < 3.0
    whole = tf.random.uniform((100,), 0, 3, dtype=tf.int32).numpy()
    assert whole.dtype == np.int32
    assert set(whole.tolist()) == {0, 1, 2}
    same(tf.random.normal([2], 5.0, 0.0), [5.0, 5.0], "float32")


def test_seed_of_an_op(tf):
    def draw():
        tf.random.set_seed(1)
        return tf.random.normal((2,), seed=3), tf.random.normal((2,), seed=3)

    (a, b), (c, d) = draw(), draw()
    np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(b, d)
    assert not np.array_equal(a, b)


# --- Reductions ----------------------------------------------------------------------------------

REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (-1, 1, 0), ()])
def test_reductions(tf, name, axis, keepdims):
    values = np.cos(T) + 1
    expected = REDUCTIONS[name](values, axis=axis, keepdims=keepdims)
    for reduce in (getattr(tf, f"reduce_{name}"), getattr(tf.math, f"reduce_{name}")):
        same(reduce(values, axis=axis, keepdims=keepdims), expected, "float32", rtol=1e-5)
    if axis != ():
        axes = list(axis) if isinstance(axis, tuple) else axis
        same(reduce(tf.constant(values), axes, keepdims), expected, "float32", rtol=1e-5)


@cases(
    [
        ("mean of ints", lambda tf: tf.reduce_mean([1, 2, 4]), 2, "int32"),
        ("mean of negative ints", lambda tf: tf.reduce_mean([-1, -2]), -1, "int32"),
        ("sum of a scalar", lambda tf: tf.reduce_sum(input_tensor=3.0), 3.0, "float32"),
        ("sum of nothing", lambda tf: tf.reduce_sum([]), 0.0, "float32"),
        ("prod of nothing", lambda tf: tf.reduce_prod([]), 1.0, "float32"),
        ("mean of nothing", lambda tf: tf.reduce_mean([]), math.nan, "float32"),
        ("max of nothing", lambda tf: tf.reduce_max([]), -math.inf, "float32"),
        ("min of nothing", lambda tf: tf.reduce_min([]), math.inf, "float32"),
        ("max with NaN", lambda tf: tf.reduce_max([1.0, math.nan]), math.nan, "float32"),
        ("all", lambda tf: tf.reduce_all(M > 0, axis=1), [False, True], "bool"),
        ("any", lambda tf: tf.reduce_any([[True, False]], 0, True), [[True, False]], "bool"),
        ("all of nothing", lambda tf: tf.reduce_all(tf.zeros(0, tf.bool)), True, "bool"),
        ("any of nothing", lambda tf: tf.reduce_any(tf.zeros(0, tf.bool)), False, "bool"),
        ("argmax", lambda tf: tf.argmax([1.0, 3.0, 3.0]), 1, "int64"),
        ("argmax of a column", lambda tf: tf.argmax(M), [1, 1, 1], "int64"),
        ("argmin of a row", lambda tf: tf.argmin(M, axis=-1), [0, 0], "int64"),
        ("argmax dtype", lambda tf: tf.argmax(M, 1, output_type=tf.int32), [2, 2], "int32"),
    ]
)
def test_reduction_values(tf, function, expected, dtype):
    same(function(tf), expected, dtype)


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (lambda tf, x: tf.reduce_mean(x), [1.0, 2.0], [0.5, 0.5]),
        (lambda tf, x: tf.reduce_sum(x, axis=0) ** 2, [[1.0, 2.0], [3.0, 4.0]], [[8, 12], [8, 12]]),
        (lambda tf, x: tf.reduce_max(x), [1.0, 2.0, 2.0], [0.0, 0.5, 0.5]),
        (lambda tf, x: tf.reduce_min(x, axis=1), [[1.0, 1.0], [2.0, 0.0]], [[0.5, 0.5], [0, 1]]),
        (lambda tf, x: tf.reduce_prod(x), [2.0, 3.0, 4.0], [12.0, 8.0, 6.0]),
        (lambda tf, x: tf.reduce_prod(x), [0.0, 3.0, 4.0], [12.0, 0.0, 0.0]),
        (lambda tf, x: tf.reduce_prod(x), [0.0, 0.0, 4.0], [0.0, 0.0, 0.0]),
    ],
)
def test_reduction_gradients(tf, function, x, expected):
    same(slope(tf, lambda t: function(tf, t), x), expected, "float32")


# --- Products and norms --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "options"),
    [
        ((2, 3), (3, 4), {}),
        ((3, 2), (3, 4), {"transpose_a": True}),
        ((2, 3), (4, 3), {"transpose_b": True}),
        ((3, 2), (4, 3), {"transpose_a": True, "transpose_b": True}),
        ((5, 2, 3), (5, 3, 4), {}),
        ((5, 3, 2), (3, 4), {"transpose_a": True}),
        ((2, 1, 3, 2), (5, 2, 3), {}),
        ((2, 0), (0, 3), {}),
    ],
)
def test_matmul(tf, a, b, options):
    def numpy_matmul(x, y):
        x = np.swapaxes(x, -1, -2) if options.get("transpose_a") else x
        return x @ (np.swapaxes(y, -1, -2) if options.get("transpose_b") else y)

    x = np.cos(np.arange(math.prod(a))).reshape(a)
    y = np.sin(np.arange(math.prod(b))).reshape(b)
    expected = numpy_matmul(x, y)
    for matmul in (tf.matmul, tf.linalg.matmul):
        same(matmul(x, y, **options), expected, "float64")
    weights = np.arange(float(expected.size)).reshape(expected.shape) + 1
    dx, dy = slope(tf, lambda p, q: weights * tf.matmul(p, q, **options), x, y)
    for d, points, other in [(dx, x, lambda e: (e, y)), (dy, y, lambda e: (x, e))]:
        units = np.eye(points.size).reshape(points.size, *points.shape)
        expected = [np.sum(weights * numpy_matmul(*other(unit))) for unit in units]
        same(d, np.reshape(expected, points.shape), "float64")


@pytest.mark.parametrize("axes", [0, 1, 2, [[2], [0]], [[2, 1], [0, 1]], [2, 0], [[-1], [0]]])
def test_tensordot(tf, axes):
    a, b = T, np.arange(24.0, dtype=np.float32).reshape(4, 3, 2)
    if axes == 2:
        b = b.transpose(1, 0, 2)
    same(tf.tensordot(a, b, axes=axes), np.tensordot(a, b, axes=axes), "float32", rtol=1e-5)


def test_tensordot_gradient(tf):
    x, w = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]
    dx, dw = slope(tf, lambda a, b: tf.tensordot(a, b, 1), x, w)
    same(dx, w)
    same(dw, x)


@cases(
    [
        ("vector", lambda tf: tf.norm([3.0, 4.0]), 5.0, "float32"),
        ("matrix", lambda tf: tf.norm([[1.0, 2.0], [2.0, 4.0]]), 5.0, "float32"),
        ("rows", lambda tf: tf.norm([[3.0, 4.0], [6.0, 8.0]], axis=1), [5.0, 10.0], "float32"),
        ("keepdims", lambda tf: tf.norm([[3.0, 4.0]], axis=-1, keepdims=True), [[5.0]], "float32"),
        ("euclidean", lambda tf: tf.norm([3.0, 4.0], ord="euclidean"), 5.0, "float32"),
        ("one", lambda tf: tf.norm([3.0, -4.0], ord=1), 7.0, "float32"),
        ("three", lambda tf: tf.linalg.norm([1.0, 2.0], ord=3), 9 ** (1 / 3), "float32"),
        ("infinity", lambda tf: tf.norm([3.0, -4.0], ord=np.inf), 4.0, "float32"),
    ]
)
def test_norm(tf, function, expected, dtype):
    same(function(tf), expected, dtype)


def test_norm_gradient(tf):
    same(slope(tf, tf.norm, [3.0, 4.0]), [0.6, 0.8], "float32")
    assert slope(tf, tf.norm, [0.0, 0.0]).numpy().tolist() == [0.0, 0.0]  # a subgradient


# --- Arrays beside tensors -----------------------------------------------------------------------


@pytest.mark.parametrize("other", [np.array([[1.5]]), np.array([[1]])], ids=["float64", "int64"])
def test_arrays_take_the_dtype_of_the_tensor_beside_them(tf, other):
    x = tf.constant([[2.0]])
    for function in (tf.add, tf.multiply, tf.divide, tf.maximum, tf.pow, tf.matmul):
        assert function(x, other).dtype == tf.float32
    for function in (tf.subtract, tf.multiply, tf.divide, tf.maximum, tf.pow):
        assert function(other, x).dtype == tf.float32
    for pair in ([x, other], [other, x]):
        assert tf.concat(pair, 0).dtype == tf.float32
        assert tf.stack(pair).dtype == tf.float32
        assert tf.where(True, *pair).dtype == tf.float32


@pytest.mark.tf_differs("TensorFlow has no ranges of other integers than int32 and int64")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_range_from_end_to_end_of_a_dtype(tf, dtype):
    low, high = (int(x) for x in (np.iinfo(dtype).min, np.iinfo(dtype).max))
    for step in {(high - low) // 3, min(high, (high - low) // 2), high}:
        same(tf.range(low, high, step, dtype), list(range(low, high, step)), dtype)
        if low:
            same(tf.range(high, low, -step, dtype), list(range(high, low, -step)), dtype)


@pytest.mark.tf_differs("TensorFlow takes no unsigned limits")
@pytest.mark.parametrize("limit", [np.uint32(2**32 - 1), np.uint64(2**33)], ids=str)
def test_range_to_a_number_of_numpy_that_int32_does_not_hold(tf, limit):
    same(tf.range(limit, delta=2**31), list(range(0, int(limit), 2**31)), "int64")
    with pytest.raises(ValueError, match="out-of-range"):
        tf.range(limit, dtype=tf.int32)


def test_uint64_to_the_last(tf):
    for values in ([2**64 - 1, 0], [[2**63, 1], [1, 2]]):
        for found in (
            tf.constant(values, tf.uint64),
            tf.Variable(values, dtype=tf.uint64),
            tf.constant(0, tf.uint64) + values,
        ):
            assert found.numpy().tolist() == values


I8, F8 = np.array([1, 2]), np.array([1.0, 2.0])


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([np.int8(1), np.int8(2)], "int32"),
        ([np.uint16(1)], "int32"),
        ([np.int64(1)], "int32"),
        ([np.int8(1), 2], "int32"),
        ([np.int64(2**40)], "int64"),
        ([np.int8(1), 2**40], "int64"),
        ([np.uint32(2**31)], "int64"),
        ([I8, I8], "int32"),
        ([I8, [3, 4]], "int32"),
        ([[3, 4], I8], "int32"),
        ([I8.astype("i1"), I8], "int32"),
        ([I8 + 2**40, I8], "int64"),
        ([np.array(1)], "int32"),
        ([np.int64(1), 2.5], "float32"),
        ([1, np.float64(1.5)], "float32"),
        ([np.float32(1), np.float64(2)], "float32"),
        ([np.float64(2), np.float32(1)], "float64"),
        ([np.float64(1.5), 1], "float64"),
        ([F8, F8], "float64"),
        ([F8.astype("f4"), F8], "float32"),
        ([I8, F8], "float32"),
        ([F8, I8], "float64"),
        ([np.bool_(True), False], "bool"),
        ([np.array([], "f8")], "float32"),
        ([np.array([], "i8")], "float32"),
    ],
    ids=str,
)
@pytest.mark.parametrize("how", ["constant", "convert_to_tensor", "Variable"])
def test_dtype_of_lists_of_numpy_values(tf, how, values, dtype):
    assert getattr(tf, how)(values).dtype == dtype


@pytest.mark.parametrize("values", [[np.bool_(True), 1], [1, np.bool_(True)]], ids=str)
def test_bools_of_numpy_beside_numbers(tf, values):
    with pytest.raises(ValueError, match="Can't convert"):
        tf.constant(values)


N, F = np.array([1, 2]), np.array([3.5, 4.0])


@pytest.mark.tf_differs("TensorFlow rounds along other axes than the first one")
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ((N, F), "float32"),
        ((F, N), "float64"),
        ((N, [3.5, 4.0]), "float32"),
        (([1, 2], F), "float32"),
        ((N, F.astype("float32")), "float32"),
        ((N.astype("int32"), N + 2**40), "int64"),
        ((N.astype("uint8"), N + 300), "int64"),
        ((N, N + 2**40), "int64"),
    ],
    ids=str,
)
def test_a_stack_of_arrays_rounds_no_number(tf, values, dtype, axis):
    same(tf.stack(values, axis), np.stack(values, axis), dtype)
    firsts = [x[0] for x in values]  # Python numbers
    assert tf.stack(firsts).dtype == ("int32" if max(firsts) in (1, 301) else dtype)


@pytest.mark.tf_differs("TensorFlow wraps them")
def test_a_stack_of_arrays_that_no_integers_hold_is_refused(tf):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"uint64.*int64"):
        tf.stack([N.astype("uint64"), -N])


# --- Rearranging ---------------------------------------------------------------------------------

REARRANGED = [
    ("reshape", lambda tf: tf.reshape(T, (4, 6)), T.reshape(4, 6), "float32"),
    ("reshape -1", lambda tf: tf.reshape(tensor=T, shape=[-1, 8]), T.reshape(3, 8), "float32"),
    ("reshape flat", lambda tf: tf.reshape(T, -1), T.ravel(), "float32"),
    ("reshape by tensor", lambda tf: tf.reshape([[5]], tf.constant([1])), [5], "int32"),
    ("reshape to a scalar", lambda tf: tf.reshape([5], ()), 5, "int32"),
    ("reshape nothing", lambda tf: tf.reshape(np.zeros((0, 3)), (-1, 3)), np.zeros((0, 3)), None),
    *(
        (f"{old} to {new}", lambda tf, o=old, n=new: tf.reshape(tf.zeros(o), n), np.zeros(d), None)
        for old, new, d in (
            ((0, 3), (0, -1), (0, 3)),
            ((0, 3), (2, 0, -1), (2, 0, 1)),
            ((0,), (-1, 0), (1, 0)),
            ((0, 4), (0, -1, 2), (0, 2, 2)),
            ((0, 4), (-1, 0, 3), (1, 0, 3)),
            ((2, 0, 4), (0, -1, 0), (0, 8, 0)),
            ((3, 0), (-1, 5), (0, 5)),
        )
    ),
    (
        "mask of rows of nothing",
        lambda tf: tf.boolean_mask(tf.zeros((3, 0)), [True, False, True]),
        np.zeros((2, 0)),
        "float32",
    ),
    ("transpose", lambda tf: tf.transpose(T), T.transpose(), "float32"),
    ("transpose perm", lambda tf: tf.transpose(T, perm=[1, 0, 2]), T.transpose(1, 0, 2), None),
    ("transpose negative", lambda tf: tf.transpose(T, [-1, 0, 1]), T.transpose(2, 0, 1), None),
    ("expand_dims", lambda tf: tf.expand_dims(M, 1), M[:, None], "float32"),
    ("expand_dims last", lambda tf: tf.expand_dims(input=M, axis=-1), M[..., None], "float32"),
    ("squeeze", lambda tf: tf.squeeze(M[None, :, None]), M, "float32"),
    ("squeeze axis", lambda tf: tf.squeeze(M[None, :, None], axis=[-2]), M[None], "float32"),
    ("squeeze no axes", lambda tf: tf.squeeze(M[None, :, None], axis=[]), M, "float32"),
    ("stack of a scalar", lambda tf: tf.stack(5), 5, "int32"),
    ("stack of a scalar tensor", lambda tf: tf.stack(tf.constant(5.0)), 5.0, "float32"),
    ("pad a scalar", lambda tf: tf.pad(5, tf.zeros((0, 2), tf.int32)), 5, "int32"),
    ("shuffle a scalar", lambda tf: tf.random.shuffle(5), 5, "int32"),
    ("uniform, lists", lambda tf: tf.random.uniform([2], [1, 2], [1.0, 2.0]), [1, 2], "float32"),
    ("broadcast_to", lambda tf: tf.broadcast_to([1, 2], (2, 2)), [[1, 2], [1, 2]], "int32"),
    ("broadcast scalar", lambda tf: tf.broadcast_to(1.5, [2]), [1.5, 1.5], "float32"),
    ("concat", lambda tf: tf.concat([M, M[:1]], 0), np.vstack([M, M[:1]]), "float32"),
    ("concat last", lambda tf: tf.concat(values=[M, M], axis=-1), np.hstack([M, M]), "float32"),
    ("concat tensors", lambda tf: tf.concat([tf.constant([1.0]), [2]], axis=0), [1, 2], "float32"),
    ("stack", lambda tf: tf.stack([M, M]), np.stack([M, M]), "float32"),
    ("stack axis", lambda tf: tf.stack(values=[M, M], axis=-1), np.stack([M, M], -1), "float32"),
    ("stack mixed", lambda tf: tf.stack([tf.Variable(1.0), 2]), [1.0, 2.0], "float32"),
    ("gather", lambda tf: tf.gather([1.0, 2.0, 3.0], [2, 0, 2]), [3.0, 1.0, 3.0], "float32"),
    ("gather one", lambda tf: tf.gather(M, 1), M[1], "float32"),
    ("gather axis", lambda tf: tf.gather(params=M, indices=[2, 0], axis=1), M[:, [2, 0]], None),
    ("gather nest", lambda tf: tf.gather(M, [[1, 0]], axis=-1), M[:, [[1, 0]]], "float32"),
    ("gather wide indices", lambda tf: tf.gather(M, np.array([1])), M[[1]], "float32"),
    ("tile", lambda tf: tf.tile(input=M, multiples=[2, 1]), np.tile(M, (2, 1)), "float32"),
    ("tile to nothing", lambda tf: tf.tile([1, 2], [0]), np.zeros(0), "int32"),
    ("pad", lambda tf: tf.pad(M, [[1, 0], [0, 2]]), np.pad(M, [[1, 0], [0, 2]]), "float32"),
    ("pad by value", lambda tf: tf.pad([1], [[1, 1]], constant_values=9), [9, 1, 9], "int32"),
    ("pad reflect", lambda tf: tf.pad([1, 2, 3], [[2, 0]], mode="REFLECT"), [3, 2, 1, 2, 3], None),
    ("pad symmetric", lambda tf: tf.pad([1, 2], [[1, 1]], "symmetric"), [1, 1, 2, 2], "int32"),
    ("where", lambda tf: tf.where([True, False], [1, 2], [3, 4]), [1, 4], "int32"),
    ("where scalars", lambda tf: tf.where(M > 2, M, 0.0), np.where(M > 2, M, 0), "float32"),
    ("where broadcast", lambda tf: tf.where([[True], [False]], [1, 2], 0), [[1, 2], [0, 0]], None),
    ("where by name", lambda tf: tf.where(condition=True, x=1.0, y=[2.0, 3.0]), [1, 1], "float32"),
    ("where alone", lambda tf: tf.where(M > 3.5), [[1, 1], [1, 2]], "int64"),
    ("clip", lambda tf: tf.clip_by_value([-1.0, 0.5, 2.0], 0.0, 1.0), [0, 0.5, 1], "float32"),
    ("clip, low end wins", lambda tf: tf.clip_by_value([5, 5], [6, 1], 4), [6, 4], "int32"),
]


@cases(REARRANGED)
def test_rearranging(tf, function, expected, dtype):
    same(function(tf), expected, dtype)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda tf: tf.unstack(M), list(M)),
        (lambda tf: tf.unstack(value=M, num=3, axis=1), list(M.T)),
        (lambda tf: tf.split(T, 2), np.split(T, 2)),
        (lambda tf: tf.split(value=T, num_or_size_splits=2, axis=-1), np.split(T, 2, -1)),
        (lambda tf: tf.split(T, [1, 3], axis=2), np.split(T, [1], 2)),
        (lambda tf: tf.split(T, [1, -1, 2], 2), np.split(T, [1, 2], 2)),
    ],
)
def test_parts_come_as_a_list(tf, function, expected):
    parts = function(tf)
    assert isinstance(parts, list)
    assert len(parts) == len(expected)
    for part, values in zip(parts, expected, strict=True):
        same(part, values, "float32")


GRADIENTS = {
    "reshape": (lambda tf, x: tf.reshape(x, (3, 2)), lambda w: w.reshape(2, 3)),
    "transpose": (lambda tf, x: tf.transpose(x), lambda w: w.T),
    "expand_dims": (lambda tf, x: tf.expand_dims(x, 0), lambda w: w[0]),
    "broadcast_to": (lambda tf, x: tf.broadcast_to(x, (4, 2, 3)), lambda w: w.sum(0)),
    "concat": (lambda tf, x: tf.concat([x, x, M], 0), lambda w: w[:2] + w[2:4]),
    "stack": (lambda tf, x: tf.stack([x, M, x], 1), lambda w: w[:, 0] + w[:, 2]),
    "unstack": (lambda tf, x: tf.unstack(x)[1] * 1.0, lambda w: np.array([0 * w, w])),
    "split": (lambda tf, x: tf.split(x, [1, 2], 1)[1], lambda w: np.pad(w, [[0, 0], [1, 0]])),
    "tile": (lambda tf, x: tf.tile(x, [2, 1]), lambda w: w[:2] + w[2:]),
    "pad": (lambda tf, x: tf.pad(x, [[1, 1], [0, 2]]), lambda w: w[1:3, :3]),
    "slice": (lambda tf, x: x[::-1, 1:], lambda w: np.pad(w[::-1], [[0, 0], [1, 0]])),
    "mask": (lambda tf, x: tf.where(x > 2.5, x, 0.0), lambda w: w * (M > 2.5)),
    "linspace": (
        lambda tf, x: tf.linspace(x, 2.0 * x, 3),
        lambda w: w[0] + 1.5 * w[1] + 2 * w[2],
    ),
    "mask turned": (lambda tf, x: tf.where(M > 2.5, 0.0, x), lambda w: w * (M <= 2.5)),
    "clip": (lambda tf, x: tf.clip_by_value(x, 1.0, 3.0), lambda w: w * ((M >= 1) & (M <= 3))),
    "gather": (lambda tf, x: tf.gather(x, [1, 1]), lambda w: np.array([0 * w[0], w[0] + w[1]])),
    "gather columns": (
        lambda tf, x: tf.gather(x, [2, 0], axis=1),
        lambda w: np.stack([w[:, 1], 0 * w[:, 0], w[:, 0]], 1),
    ),
}


@pytest.mark.parametrize(("function", "expected"), GRADIENTS.values(), ids=GRADIENTS.keys())
def test_rearranging_gradients(tf, function, expected):
    weights = np.arange(1.0, function(tf, tf.constant(M)).numpy().size + 1, dtype=np.float32)
    weights = weights.reshape(function(tf, tf.constant(M)).shape)
    gradient = slope(tf, lambda x: weights * function(tf, x), M)
    same(tf.convert_to_tensor(gradient), expected(weights), "float32")


@pytest.mark.parametrize(
    ("x", "largest", "smallest"),
    [
        ([1.0, np.nan, 2.0], 2, 0),
        ([np.nan, 1.0, 2.0], 2, 1),
        ([2.0, np.nan, 1.0], 0, 2),
        ([np.nan, np.nan], 0, 0),
        ([-np.inf, np.nan], 0, 0),
        ([np.nan, np.inf], 1, 0),
    ],
)
def test_nan_is_no_extreme_element(tf, x, largest, smallest):
    for rows in (x, [x, x]):
        assert np.all(tf.argmax(rows, -1) == largest)
        assert np.all(tf.argmin(rows, -1) == smallest)


def test_clip_by_bounds_that_are_no_range(tf):
    x = [np.nan, -1.0, 0.0, 0.5, 1.0, 2.0]
    same(tf.clip_by_value(x, 1.0, 0.0), [np.nan, 1, 1, 1, 1, 1])
    same(tf.clip_by_value([1.0, 2.0], np.nan, 5.0), [np.nan, np.nan])
    same(tf.clip_by_value([1.0, 2.0], 0.0, np.nan), [np.nan, np.nan])

    def gradients(low, high):
        return slope(tf, tf.clip_by_value, x, [low] * 6, [high] * 6)

    for found, expected in zip(
        gradients(0.0, 1.0),
        (
            [0, 0, 1, 1, 1, 0],
            [1, 1, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 1],
        ),
        strict=True,
    ):
        same(found, expected)
    for found, expected in zip(gradients(1.0, 0.0), ([0] * 6, [1] * 6, [0] * 6), strict=True):
        same(found, expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda tf: tf.range(np.nan),
        lambda tf: tf.range(np.inf),
        lambda tf: tf.range(0.0, -1.0, np.nan),
        lambda tf: tf.linspace(0.0, 1.0, -1),
        lambda tf: tf.one_hot([1.5], 3),
        lambda tf: tf.one_hot([1], 3, axis=-3),
        lambda tf: tf.matmul([[True]], [[True]]),
    ],
)
def test_numbers_that_name_nothing(tf, call):
    with pytest.raises(tf.errors.InvalidArgumentError):
        call(tf)


@pytest.mark.parametrize(
    "call",
    [
        lambda tf: tf.range(2.7, dtype=tf.int32),
        lambda tf: tf.one_hot([1], 3, on_value=5.7, dtype=tf.int32),
        lambda tf: tf.one_hot([1], 3, on_value=5, off_value=0.5),
        lambda tf: tf.math.reduce_variance([1, 2]),
    ],
)
def test_dtypes_that_do_not_fit(tf, call):
    with pytest.raises(TypeError):
        call(tf)


def test_one_hot_has_the_dtype_of_its_values(tf):
    same(tf.one_hot([1], 2, on_value=5, off_value=2), [[2, 5]], "int32")
    same(tf.one_hot([1], 2, on_value=True, off_value=False), [[False, True]], "bool")


def test_empty_lists_have_every_dtype(tf):
    same(tf.add(tf.constant([[1], [2]]), []), np.zeros((2, 0)), "int32")


def test_quotient_of_integers_without_nan(tf):
    same(tf.math.divide_no_nan([1, 2], [2, 0]), [0.5, 0], "float64")


# --- Nests ---------------------------------------------------------------------------------------


def test_ordered_dicts_are_gone_through_by_key(tf):
    one = collections.OrderedDict([("b", 1), ("a", [2, collections.OrderedDict(d=3, c=4)])])
    assert tf.nest.flatten(one) == [2, 4, 3, 1]
    packed = tf.nest.pack_sequence_as(one, [10, 20, 30, 40])
    assert packed == {"b": 40, "a": [10, {"d": 30, "c": 20}]}
    assert list(packed) == ["b", "a"]
    assert type(packed["a"][1]) is collections.OrderedDict
    seen = []
    mapped = tf.nest.map_structure(lambda x: seen.append(x) or x + 1, one)
    assert seen == [2, 4, 3, 1]
    assert mapped == {"b": 2, "a": [3, {"d": 4, "c": 5}]}


@pytest.mark.parametrize("leaf", [1, 2.0, "x", None, True, np.ones(2)], ids=repr)
def test_a_leaf_is_a_structure(tf, leaf):
    assert [x is leaf for x in tf.nest.flatten(leaf)] == [True]
    assert tf.nest.map_structure(lambda x: [x], leaf)[0] is leaf
    assert tf.nest.map_structure(lambda x, y: (x, y), leaf, 3)[1] == 3
    assert tf.nest.pack_sequence_as(leaf, [5]) == 5
    for values in ([], [1, 2]):
        with pytest.raises(ValueError):
            tf.nest.pack_sequence_as(leaf, values)


def test_ordered_dicts_in_different_orders(tf):
    one = collections.OrderedDict([("b", 1), ("a", 2)])
    other = collections.OrderedDict([("a", 20), ("b", 10)])
    assert tf.nest.map_structure(lambda x, y: x + y, one, other) == {"b": 11, "a": 22}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [1, [2]]),
        (1, [1]),
        ([1], 1),
        ([1], []),
        ([1, 2], [1, []]),
        ({"a": 1}, {"a": (2,)}),
        ([1], (1,)),
        ({"a": 1}, {"b": 1}),
        (collections.OrderedDict(a=1), {"a": [1]}),
    ],
)
def test_structures_that_differ(tf, one, other):
    with pytest.raises((TypeError, ValueError)):
        tf.nest.map_structure(lambda *_: pytest.fail("called"), one, other)


def test_structures_that_differ_in_types_alone(tf):
    one, other = {"a": [1, (2, 3)]}, collections.OrderedDict(a=(10, [20, 30]))
    mapped = tf.nest.map_structure(lambda x, y: x + y, one, other, check_types=False)
    assert mapped == {"a": [11, (22, 33)]}
    with pytest.raises(ValueError):
        tf.nest.map_structure(lambda *_: 0, [1, [2]], (1, 2), check_types=False)


def test_structures_of_the_same_form(tf):
    same = tf.nest.assert_same_structure
    assert same({"a": [1, (2,)]}, {"a": [3, (4,)]}) is None
    same([1, (2,)], (1, [2]), check_types=False)
    for other in ([1, [2]], (1, (2,))):
        with pytest.raises(TypeError):
            same([1, (2,)], other)
    for other in ([1], [1, 2], [1, ((2,),)], [1, (2, 3)]):
        with pytest.raises(ValueError):
            same([1, (2,)], other)


def test_mapping_nothing(tf):
    with pytest.raises(ValueError, match="at least one structure"):
        tf.nest.map_structure(len)
    with pytest.raises(TypeError, match="func"):
        tf.nest.map_structure(3, [1])


def test_gradients_and_results_in_ordered_dicts(tf):
    sources = collections.OrderedDict(b=tf.Variable(1.0), a=tf.Variable(2.0))
    with tf.GradientTape() as tape:
        y = sources["b"] * 2.0 + sources["a"] * 3.0
    found = tape.gradient(y, sources)
    assert {key: float(x) for key, x in found.items()} == {"b": 2.0, "a": 3.0}

    @tf.function
    def recorded(x):
        return collections.OrderedDict(b=x, a=x * 2.0)

    for _ in range(3):
        found = recorded(tf.constant(1.0))
        assert {key: float(x) for key, x in found.items()} == {"b": 1.0, "a": 2.0}
