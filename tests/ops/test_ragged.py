"""Ragged tensors: construction, indexing, arithmetic, reductions, joining, gradients."""

import copy
import pickle

import numpy as np
import pytest

ROWS = [[3.0, 1.0, 4.0], [], [1.0], [5.0, -9.0]]
DEEP = [[[1.0, 2.0], [3.0]], [], [[4.0, 5.0, 6.0]]]


def of(tf, rows, **options):
    return tf.ragged.constant(rows, **options)


def as_lists(value):
    return value.to_list() if hasattr(value, "to_list") else value.numpy().tolist()


PARTS = {
    "from_row_splits": [0, 3, 3, 4, 6],
    "from_row_lengths": [3, 0, 1, 2],
    "from_row_starts": [0, 3, 3, 4],
    "from_row_limits": [3, 3, 4, 6],
    "from_value_rowids": [0, 0, 0, 2, 3, 3],
}


@pytest.mark.parametrize("name", PARTS)
def test_constructors(tf, name):
    x = getattr(tf.RaggedTensor, name)([3.0, 1.0, 4.0, 1.0, 5.0, -9.0], PARTS[name])
    assert x.to_list() == ROWS
    assert x.shape.as_list() == [4, None] and x.ragged_rank == 1 and x.dtype is tf.float32
    assert x.row_splits.numpy().tolist() == PARTS["from_row_splits"]
    assert x.row_lengths().numpy().tolist() == PARTS["from_row_lengths"]
    assert x.row_starts().numpy().tolist() == PARTS["from_row_starts"]
    assert x.row_limits().numpy().tolist() == PARTS["from_row_limits"]
    assert x.value_rowids().numpy().tolist() == PARTS["from_value_rowids"]
    assert int(x.nrows()) == 4 and x.bounding_shape().numpy().tolist() == [4, 3]


BAD_PARTS = {
    "from_row_splits": [[0, 3, 2, 6], [1, 6], [0, 5], [0, 7]],
    "from_row_lengths": [[3, 2], [7, -1]],
    "from_row_starts": [[1, 3], [0, 4, 3], [0, 7]],
    "from_row_limits": [[3, 5], [4, 3, 6]],
    "from_value_rowids": [[0, 0, 1, 0, 1, 1], [0, 0]],
}


@pytest.mark.parametrize(
    ("name", "parts"), [(name, parts) for name in BAD_PARTS for parts in BAD_PARTS[name]]
)
def test_parts_are_checked(tf, name, parts):
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        getattr(tf.RaggedTensor, name)([1.0] * 6, parts)


@pytest.mark.parametrize(
    ("rows", "options", "shape"),
    [
        ([[1, 2], [3]], {}, [2, None]),
        ([[[1, 2]], [[3, 4], [5, 6]]], {}, [2, None, None]),
        ([[[1, 2]], [[3, 4], [5, 6]]], {"ragged_rank": 1}, [2, None, 2]),
        ([[[1, 2]], [[3, 4], [5, 6]]], {"inner_shape": (2,)}, [2, None, 2]),
        ([[], []], {}, [2, None]),
        ([1, 2], {}, [2]),
        ([["a"], ["b", "c"]], {}, [2, None]),
        ([], {"ragged_rank": 2}, [0, None, None]),
    ],
)
def test_constant(tf, rows, options, shape):
    assert of(tf, rows, **options).shape.as_list() == shape


@pytest.mark.parametrize("rows", [[1, [2]], [[1], [[2]]], [[1], [[]]]])
def test_constant_refuses_mixed_depths(tf, rows):
    with pytest.raises(ValueError, match=r"depth|nesting"):
        of(tf, rows)


KEYS = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, -2),
    (slice(None), slice(1, None)),
    (slice(None), slice(-1, None)),
    (slice(None), slice(None, None, -1)),
    (slice(None, 3), slice(3, 0, -2)),
    (0, 1),
    (3, slice(0, 1)),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing_is_that_of_lists(tf, key):
    first, *inner = key if isinstance(key, tuple) else (key,)
    wanted = ROWS[first]
    if inner:
        wanted = [row[inner[0]] for row in wanted] if isinstance(first, slice) else wanted[inner[0]]
    assert as_lists(of(tf, ROWS)[key]) == wanted


def test_indexing_adds_axes_and_refuses_inner_integers(tf):
    x = of(tf, ROWS)
    assert x[:, tf.newaxis].to_list() == [[row] for row in ROWS]
    assert x[tf.newaxis].to_list() == [ROWS]
    assert x[..., :1].to_list() == [row[:1] for row in ROWS]
    with pytest.raises(ValueError, match="inner ragged dimension"):
        x[:, 0]
    with pytest.raises(IndexError):
        x[4]


def each(function, rows):
    return [each(function, x) if isinstance(x, list) else float(function(x)) for x in rows]


def test_arithmetic(tf):
    x = of(tf, ROWS)
    assert (2.0 * x - 1.0).to_list() == each(lambda v: 2 * v - 1, ROWS)
    assert (-x).to_list() == each(lambda v: -v, ROWS)
    assert tf.square(of(tf, DEEP)).to_list() == each(np.square, DEEP)
    assert (x > 0.0).to_list() == [[v > 0 for v in row] for row in ROWS]
    assert tf.where(x > 0.0, x, 0.0).to_list() == each(lambda v: max(v, 0.0), ROWS)
    assert tf.cast(x, tf.int32).dtype is tf.int32


def test_broadcasting(tf):
    x, column = of(tf, ROWS), np.array([[1.0], [2.0], [3.0], [4.0]], np.float32)
    wanted = [[v * float(c[0]) for v in row] for row, c in zip(ROWS, column, strict=True)]
    assert (x * column).to_list() == wanted
    assert (tf.constant(column) * x).to_list() == wanted
    matrix = of(tf, [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]], ragged_rank=1)
    assert (matrix * tf.constant([1.0, 10.0])).to_list() == [
        [[1.0, 20.0]],
        [[3.0, 40.0], [5.0, 60.0]],
    ]
    for other in (of(tf, [[1.0], [], [1.0], [1.0, 2.0]]), tf.ones((4, 3)), tf.ones((3, 1))):
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
            x + other


REDUCTIONS = {
    "reduce_sum": np.sum,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_prod": np.prod,
    "reduce_mean": np.mean,
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(tf, name):
    rows = [[3.0, 1.0, 4.0], [2.0], [1.0, -5.0]]
    x, numpy = of(tf, rows), REDUCTIONS[name]
    function = getattr(tf, name)
    np.testing.assert_allclose(function(x), numpy(np.concatenate(rows)), rtol=1e-6)
    np.testing.assert_allclose(function(x, axis=1), [numpy(row) for row in rows], rtol=1e-6)
    columns = [[row[k] for row in rows if len(row) > k] for k in range(3)]
    np.testing.assert_allclose(function(x, axis=0), [numpy(c) for c in columns], rtol=1e-6)
    kept = function(x, axis=1, keepdims=True)
    np.testing.assert_allclose(np.ravel(as_lists(kept)), [numpy(row) for row in rows], rtol=1e-6)


def test_reductions_of_two_ragged_axes(tf):
    x = of(tf, DEEP)
    assert tf.reduce_sum(x, axis=2).to_list() == [[3.0, 3.0], [], [15.0]]
    assert tf.reduce_sum(x, axis=1).to_list() == [[4.0, 2.0], [], [4.0, 5.0, 6.0]]
    assert tf.reduce_sum(x, axis=0).to_list() == [[5.0, 7.0, 6.0], [3.0]]
    assert tf.reduce_sum(x, axis=[1, 2]).numpy().tolist() == [6.0, 0.0, 15.0]
    assert tf.reduce_any(x > 5.0, axis=[0, 2]).numpy().tolist() == [True, False]
    variance = tf.math.reduce_variance(of(tf, [[1, 2, 6], [4]]), axis=1)
    np.testing.assert_allclose(variance, [np.var([1, 2, 6]), 0.0])


def test_joining_and_moving(tf):
    x, y = of(tf, ROWS), of(tf, [[7.0], [8.0, 9.0], [], []])
    assert tf.concat([x, y], 0).to_list() == [*ROWS, *as_lists(y)]
    assert tf.concat([x, y], 1).to_list() == [a + b for a, b in zip(ROWS, as_lists(y), strict=True)]
    assert tf.stack([x, y]).to_list() == [ROWS, as_lists(y)]
    assert tf.stack([x, y], 1).to_list() == [[a, b] for a, b in zip(ROWS, as_lists(y), strict=True)]
    assert tf.ragged.stack([[1, 2], [3]]).to_list() == [[1, 2], [3]]
    assert tf.gather(x, [2, 0, 0]).to_list() == [ROWS[2], ROWS[0], ROWS[0]]
    assert tf.gather([10, 20, 30], of(tf, [[2], [], [0, 1]])).to_list() == [[30], [], [10, 20]]
    assert tf.gather_nd(x, [[0, 2], [3, 1]]).numpy().tolist() == [4.0, -9.0]
    assert tf.tile(x, [1, 2]).to_list() == [row * 2 for row in ROWS]
    assert tf.reverse(x, [0, 1]).to_list() == [row[::-1] for row in ROWS[::-1]]
    assert [part.to_list() for part in tf.split(x, 2)] == [ROWS[:2], ROWS[2:]]
    assert tf.expand_dims(x, 1).shape.as_list() == [4, 1, None]
    assert tf.squeeze(tf.expand_dims(x, 1), [1]).to_list() == ROWS
    assert of(tf, DEEP).merge_dims(1, 2).to_list() == [[1.0, 2.0, 3.0], [], [4.0, 5.0, 6.0]]
    mask = tf.ragged.boolean_mask(x, x > 1.0)
    assert mask.to_list() == [[v for v in row if v > 1.0] for row in ROWS]


def test_conversions(tf):
    x = of(tf, ROWS)
    padded = [row + [0.0] * (3 - len(row)) for row in ROWS]
    assert x.to_tensor().numpy().tolist() == padded
    assert x.to_tensor(shape=[None, 2]).numpy().tolist() == [row[:2] for row in padded]
    assert tf.sparse.to_dense(x.to_sparse()).numpy().tolist() == padded
    assert tf.RaggedTensor.from_sparse(x.to_sparse()).to_list() == ROWS
    dense = tf.constant(padded)
    assert tf.RaggedTensor.from_tensor(dense, lengths=[3, 0, 1, 2]).to_list() == ROWS
    assert tf.RaggedTensor.from_tensor(dense, padding=0.0).to_list() == ROWS
    assert [part.tolist() for part in x.numpy()] == ROWS
    assert repr(of(tf, [[1, 2], [3]])) == "<tf.RaggedTensor [[1, 2], [3]]>"


def test_functions_of_the_module(tf):
    ragged = tf.ragged
    assert ragged.range([3, 1]).to_list() == [[0, 1, 2], [0]]
    assert ragged.range([0, 5], [3, 3], [1, -1]).to_list() == [[0, 1, 2], [5, 4]]
    assert ragged.row_splits_to_segment_ids([0, 2, 2, 3]).numpy().tolist() == [0, 0, 2]
    assert ragged.segment_ids_to_row_splits([0, 0, 2]).numpy().tolist() == [0, 2, 2, 3]
    parts = ragged.stack_dynamic_partitions([10, 20, 30], [2, 0, 2], 3)
    assert parts.to_list() == [[20], [], [10, 30]]
    total = ragged.map_flat_values(lambda a, b: a + b, of(tf, [[1], [2, 3]]), of(tf, [[4], [5, 6]]))
    assert total.to_list() == [[5], [7, 9]]
    assert tf.map_fn(tf.reduce_sum, of(tf, ROWS)[::2], fn_output_signature=tf.float32).shape == (2,)
    with pytest.raises(ValueError, match=r"fn_output_signature=tf\.float32"):
        tf.map_fn(tf.reduce_sum, of(tf, ROWS)[::2])


@pytest.mark.parametrize(
    "function",
    [
        lambda tf, x: tf.reduce_sum(tf.square(x), axis=1),
        lambda tf, x: x.to_tensor(),
        lambda tf, x: tf.concat([x, x * x], axis=1).flat_values,
        lambda tf, x: tf.gather(x, [0, 0, 3]).flat_values,
        lambda tf, x: tf.reduce_max(x, axis=1),
        lambda tf, x: (x * [[1.0], [2.0], [3.0], [4.0]]).flat_values,
        lambda tf, x: tf.nn.softmax(x, axis=1).flat_values,
    ],
    ids=["sum", "dense", "concat", "gather", "max", "broadcast", "softmax"],
)
def test_gradients(tf, function):
    """Gradients are those of finite differences of the values."""
    values = np.array([3.0, 1.0, 4.0, 1.0, 5.0, -9.0])

    def result(v):
        x = tf.RaggedTensor.from_row_splits(v, PARTS["from_row_splits"])
        y = function(tf, x)
        if hasattr(y, "ragged_rank"):
            y = y.flat_values
        weights = np.arange(1.0, 1 + int(np.prod(y.shape))).reshape(tuple(y.shape))
        return tf.reduce_sum(tf.where(tf.abs(y) < 1e30, y, 0.0) * weights)

    x = tf.constant(values)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = result(x)
    gradient = tf.convert_to_tensor(tape.gradient(total, x))
    steps = 1e-5 * np.eye(len(values))
    wanted = [(float(result(values + s)) - float(result(values - s))) / 2e-5 for s in steps]
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-6)


def test_gradient_by_a_ragged_tensor(tf):
    x = of(tf, ROWS)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x)
    assert tape.gradient(y, x).to_list() == each(lambda v: 2 * v, ROWS)


def test_function_arguments_and_results(tf):
    @tf.function
    def scaled(x, factor):
        return x * factor, tf.reduce_sum(x, axis=1)

    for rows in (ROWS, ROWS[::-1], ROWS):
        for factor in (2.0, 3.0):
            y, sums = scaled(of(tf, rows), tf.constant(factor))
            assert y.to_list() == each(lambda v, f=factor: v * f, rows)
            assert sums.numpy().tolist() == [sum(row) for row in rows]


def test_structures_and_copies(tf):
    x = of(tf, DEEP)
    flat = tf.nest.flatten([x], expand_composites=True)
    assert len(flat) == 3 and tf.nest.flatten([x])[0] is x
    rebuilt = tf.nest.pack_sequence_as([x], flat, expand_composites=True)[0]
    assert rebuilt.to_list() == DEEP
    assert copy.deepcopy(x).to_list() == DEEP


@pytest.mark.numtape_only("TensorFlow's cannot be pickled")
def test_pickling(tf):
    x = of(tf, DEEP)
    assert pickle.loads(pickle.dumps(x)).to_list() == DEEP


def test_specs(tf):
    spec = tf.RaggedTensorSpec([None, None], tf.float32)
    assert spec.is_compatible_with(of(tf, ROWS)) and not spec.is_compatible_with(of(tf, DEEP))
    assert tf.type_spec_from_value(of(tf, ROWS)).ragged_rank == 1

    @tf.function(input_signature=[spec])
    def size(x):
        return tf.size(x)

    assert int(size(of(tf, ROWS))) == 6
    with pytest.raises((TypeError, ValueError)):
        size(of(tf, DEEP))


@pytest.mark.numtape_only("the texts are numtape's")
@pytest.mark.parametrize(
    "function",
    [
        lambda tf, x: tf.linalg.inv(x),
        lambda tf, x: tf.nn.conv1d(x, x, 1, "SAME"),
        lambda tf, x: np.asarray(x),
        lambda tf, x: tf.convert_to_tensor(x, tf.int32),
        lambda tf, x: tf.shape(x),
        lambda tf, x: tf.einsum("ij->ji", x),
    ],
    ids=["inv", "conv", "array", "convert", "shape", "einsum"],
)
def test_other_functions_name_the_remedy(tf, function):
    with pytest.raises(TypeError, match="to_tensor"):
        function(tf, of(tf, ROWS))


def test_python_protocols(tf):
    x = of(tf, ROWS)
    assert [row.numpy().tolist() for row in x] == ROWS
    with pytest.raises(TypeError):
        len(x)
    with pytest.raises(TypeError):
        bool(x)
    with pytest.raises(ValueError, match="private"):
        tf.RaggedTensor([1], [0, 1])
