"""The fast path for layer and loss calls without nests equals the general path."""

import itertools

import numpy as np
import pytest
from function_counts import COUNTED, usable
from log_queries import sweeps
from processes import run

STEP = (
    COUNTED
    + """
tf.config.override("cpu").__enter__()
model = tf.keras.Sequential([
    tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(4, activation="relu"),
    tf.keras.layers.Dense(3),
])
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
labels = tf.constant([0, 2])
for most, program in (
    (60, lambda: model(x)), (60, lambda: model(x, training=True)),
    (55, lambda: loss(labels, model.outputs_seen)),
):
    model.outputs_seen = model(x)
    model.outputs_seen.numpy()
    seen = functions_run(program)
    assert len(seen) <= most, seen

variables = [tf.keras.layers.Dense(2).add_weight((2, 2), name=str(k)) for k in range(4)]
pairs = [(x, v) for v in variables]
for most, optimizer in ((55, tf.keras.optimizers.Adam()), (35, tf.keras.optimizers.SGD())):
    for _ in range(3):
        optimizer.apply_gradients(pairs)
        [v.numpy() for v in variables]
    seen = functions_run(lambda: (
        [v.numpy() for v in (*variables, *optimizer.variables)], optimizer.apply_gradients(pairs),
    ))
    own = seen[len(seen) - seen[::-1].index("Variable.numpy") :]
    assert len(own) <= most, own
"""
)


@usable
def test_few_functions_run():
    assert run(STEP, "machine code", NUMTAPE_RECORD="native") == ""


def _layers(tf, got):
    class Plain(tf.keras.Layer):
        def call(self, x):
            got.append(())
            return x * 2.0

    class Trained(tf.keras.Layer):
        def call(self, x, training):
            got.append(training)
            return x * 2.0

    class Maybe(tf.keras.Layer):
        def call(self, x, training=None, mask=None):
            got.append((training, None if mask is None else mask.numpy().tolist()))
            return x * 2.0

    class Usually(tf.keras.Layer):
        def call(self, x, mask, *, training=True):
            got.append((training, None if mask is None else mask.numpy().tolist()))
            return x * 2.0

    class Open(tf.keras.Layer):
        def call(self, x, **kwargs):
            got.append(sorted(kwargs.items()))
            return x * 2.0

    class Outer(tf.keras.Layer):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def call(self, x, training=None):
            return self.inner(x) + self.inner(x=x)

    class Masking(tf.keras.Layer):
        def compute_mask(self, inputs, previous_mask):
            got.append("mask")
            return previous_mask

        def call(self, x):
            return x

    inner = [
        Plain(),
        Trained(),
        Maybe(),
        Usually(),
        Open(),
        Masking(),
        Maybe(activity_regularizer="l2"),
        Plain(dtype="float64"),
        Plain(autocast=False),
    ]
    return inner + [Outer(layer) for layer in inner]


@pytest.mark.parametrize(
    "training", [{}, {"training": None}, {"training": True}, {"training": False}]
)
@pytest.mark.filterwarnings("ignore:Layer")  # some do not support masks
@pytest.mark.parametrize("masked", [False, True])
def test_one_tensor_by_its_place_and_by_its_name(tf, training, masked):
    """A tensor passed by name takes the general path."""
    got = []
    for layer in _layers(tf, got):
        layer(tf.ones((1, 2)))
        found = []
        for by_name in (False, True, False):
            x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
            if masked:
                x._keras_mask = tf.constant([True, False])
            got.clear()
            y = layer(x=x, **training) if by_name else layer(x, **training)
            mask = getattr(y, "_keras_mask", None)
            mask = None if mask is None else mask.numpy().tolist()
            losses = [float(loss) for loss in layer.losses]
            found.append((y.numpy().tolist(), y.dtype, [*got], mask, losses))
        assert found[0] == found[1] == found[2], layer


def test_a_graph_takes_what_it_took(tf):
    x = tf.keras.Input((3,), name="x")
    shared = tf.keras.layers.Dense(3)
    y = shared(x)
    model = tf.keras.Model(x, [shared(y), y + 1.0])
    value = np.ones((2, 3), np.float32)
    kernel, bias = (v.numpy() for v in shared.weights)
    once = value @ kernel + bias
    for given in (tf.constant(value), value, {"x": value}, [value], tf.constant(value, "float64")):
        twice, more = model(given)
        np.testing.assert_allclose(twice, once @ kernel + bias, rtol=1e-6)
        np.testing.assert_allclose(more, once + 1.0, rtol=1e-6)
    for bad in (tf.ones((2, 4)), tf.ones((2, 3, 1, 1)), tf.ones(())):
        with pytest.raises(ValueError):
            model(bad)
    np.testing.assert_allclose(model(tf.ones((2, 3, 1)))[1], once + 1.0, rtol=1e-6)


@pytest.mark.parametrize("ignored", [None, -1, 1])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float32", "list"])
def test_numbers_of_classes_of_every_dtype(tf, dtype, ignored, isolated):
    logits = np.random.default_rng(0).normal(size=(4, 3)).astype("f")
    labels = [0, 2, 1, 1]
    given = labels if dtype == "list" else tf.constant(np.array(labels, dtype))
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=ignored)
    kept = [k for k in range(4) if labels[k] != ignored]
    normal = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    wanted = np.mean([-normal[k, labels[k]] for k in kept])
    np.testing.assert_allclose(loss(given, tf.constant(logits)), wanted, rtol=1e-5)
    if dtype != "list":
        np.testing.assert_allclose(loss(given[:, None], tf.constant(logits)), wanted, rtol=1e-5)
    for bad in (3, -1) if ignored is None else ():
        with pytest.raises(tf.errors.InvalidArgumentError, match="label value"):
            loss([0, 2, 1, bad], tf.constant(logits))


@pytest.mark.parametrize("ignored", [None, 1])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32"])
def test_a_loss_of_ones_own_is_given_floats(tf, dtype, ignored, isolated):
    class Later(tf.keras.losses.SparseCategoricalCrossentropy):
        def call(self, y_true, y_pred):
            assert y_true.dtype is tf.float32
            return super().call(y_true, y_pred) * (1.0 + y_true)

    logits = np.random.default_rng(0).normal(size=(4, 3)).astype("f")
    labels = np.array([0, 2, 1, 1], dtype)
    kept = [k for k in range(4) if labels[k] != ignored]
    normal = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    wanted = np.mean([-normal[k, int(labels[k])] * (1 + labels[k]) for k in kept])
    found = Later(from_logits=True, ignore_class=ignored)(labels, tf.constant(logits))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_a_list_for_a_dense_layer_is_one_more_axis(tf):
    x = np.arange(6, dtype="f").reshape(2, 3)
    layer = tf.keras.layers.Dense(2)
    layer(x)
    kernel, bias = (v.numpy() for v in layer.weights)
    for given in ([x], (tf.constant(x),)):
        np.testing.assert_allclose(layer(given), (x @ kernel + bias)[None], rtol=1e-6)
    with pytest.raises((TypeError, ValueError), match="dict"):
        layer({"x": tf.constant(x)})


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_labels_that_are_known_are_checked_without_a_look(tf, dtype, isolated):
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    labels, logits = tf.constant([0, 1], dtype), tf.ones((2, 2))
    with sweeps() as asked:
        found = loss(labels, logits * 2.0)
        assert asked == []
    np.testing.assert_allclose(found, np.log(2.0), rtol=1e-6)


@pytest.mark.parametrize("shape", [(0,), (0, 2), (3, 0), (), (2, 3)])
@pytest.mark.parametrize(
    "reduction", ["sum_over_batch_size", "sum", "none", "mean_with_sample_weight"]
)
def test_losses_of_every_size_are_added_up(tf, shape, reduction):
    class Same(tf.keras.losses.Loss):
        def call(self, y_true, y_pred):
            return y_pred - y_true

    values = np.arange(np.prod(shape, dtype=int), dtype="f").reshape(shape) + 1
    found = Same(reduction=reduction)(tf.zeros(shape), tf.constant(values)).numpy()
    mean = values.mean() if values.size else np.float32(0)
    wanted = (
        values
        if reduction == "none" or shape in ((), (0,))
        else (values.sum() if reduction == "sum" else mean)
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_an_axis_of_every_rank(tf):
    x = np.random.default_rng(1).normal(size=(2, 3, 4)).astype("f")
    for axis, op in itertools.product((-3, -2, -1, 0, 1, 2), ("softmax", "log_softmax")):
        e = np.exp(x)
        wanted = e / e.sum(axis, keepdims=True)
        found = getattr(tf.nn, op)(tf.constant(x), axis=axis)
        np.testing.assert_allclose(found, wanted if op == "softmax" else np.log(wanted), rtol=1e-5)
    for axis in (3, -4, True, 1.0, "1"):
        with pytest.raises((tf.errors.InvalidArgumentError, TypeError, ValueError)):
            tf.nn.softmax(tf.constant(x), axis=axis)
