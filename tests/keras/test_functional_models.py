"""Functional models of every layer: same outputs as the layer, with the declared shape."""

import numpy as np
import pytest
from layer_rows import ROWS

pytestmark = pytest.mark.cpu_only(reason="which layers are called with what")


def leaves(tf, structure):
    return tf.nest.flatten(structure)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_layer_in_a_functional_model(tf, row):
    arrays = row.inputs()
    layer = row.make(tf.keras.layers)
    symbols = [tf.keras.Input(x.shape[1:], dtype=str(x.dtype)) for x in arrays]
    outputs = row.called(layer, symbols)
    model = tf.keras.Model(symbols, outputs)
    inputs = [tf.constant(x) for x in arrays]
    found, wanted = leaves(tf, model(inputs)), leaves(tf, row.called(layer, inputs))
    for symbol, one, other in zip(leaves(tf, outputs), found, wanted, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
        assert symbol.dtype == one.dtype.name
        assert len(symbol.shape) == len(one.shape)
        unknown = [k for k, n in enumerate(symbol.shape) if n is None]
        assert all(symbol.shape[k] in (None, n) for k, n in enumerate(one.shape))
        if tf.__name__ == "numtape":
            assert unknown in ([], [0])


# --- Layers in recorded functions ---------------------------------------------------------------


class Scaled:
    """A layer whose calls set the attribute `seen`, and whose class may change."""

    factor = 2.0

    def __call__(self, x):
        self.seen = tuple(x.shape)
        return self.factor * x


class Tripled(Scaled):
    factor = 3.0


def replayed(tf, function, *args):
    """The result of a replayed function; an error if it runs as Python."""
    step = tf.function(function)
    for _ in range(2):
        step(*args)
    found = step(*args)
    if tf.__name__ == "numtape":
        paths = str(step.paths())
        assert "Python" not in paths
        assert "1 recorded path" in paths
    return found


X = np.linspace(-1.0, 1.0, 24, dtype=np.float32).reshape(2, 4, 3)


@pytest.mark.records
@pytest.mark.parametrize(
    "row",
    [
        ("Dense", (2,), {}),
        ("Masking", (), {}),
        ("LSTM", (2,), {}),
        ("BatchNormalization", (), {}),
        ("LayerNormalization", (), {}),
    ],
    ids=lambda row: row[0],
)
def test_a_layer_without_variables_yet_is_replayed(tf, row):
    name, args, kwargs = row
    layer = getattr(tf.keras.layers, name)(*args, **kwargs)
    found = replayed(tf, lambda x: layer(x), tf.constant(X))
    np.testing.assert_allclose(found.numpy(), layer(tf.constant(X)).numpy(), 1e-6, 1e-6)


@pytest.mark.records
def test_masks_of_a_recorded_call_are_those_of_an_eager_one(tf):
    layers = tf.keras.layers
    masking, lstm, softmax = layers.Masking(), layers.LSTM(2), layers.Softmax()
    x = X.copy()
    x[:, 2:] = 0.0
    found = replayed(tf, lambda x: lstm(masking(x)), tf.constant(x))
    np.testing.assert_allclose(found.numpy(), lstm(tf.constant(x[:, :2])).numpy(), 1e-6, 1e-6)
    mask = tf.constant(np.arange(12).reshape(1, 12) % 3 > 0)
    logits = tf.constant(X.reshape(2, 12))
    found = replayed(tf, lambda z, m: softmax(z, mask=m), logits, mask).numpy()
    e = np.where(mask.numpy(), np.exp(X.reshape(2, 12)), 0.0)
    np.testing.assert_allclose(found, e / e.sum(1, keepdims=True), 1e-6, 1e-6)


@pytest.mark.records
def test_states_given_from_cell_to_cell_are_replayed(tf):
    inputs = tf.keras.Input((4, 3))
    _, *states = tf.keras.layers.LSTM(2, return_state=True)(inputs)
    model = tf.keras.Model(inputs, tf.keras.layers.LSTM(2)(inputs, initial_state=states))
    found = replayed(tf, lambda x: model(x), tf.constant(X))
    np.testing.assert_allclose(found.numpy(), model(tf.constant(X)).numpy(), 1e-6, 1e-6)


@pytest.mark.records
def test_an_attribute_that_a_call_sets_and_none_reads_is_set_when_it_is_recorded(tf):
    class Noting(tf.keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner = [tf.keras.layers.Dense(2)]

        def call(self, x):
            self.seen = tuple(x.shape)
            return self.inner[0](x)

    model = tf.keras.Sequential([Noting()])
    model.compile("sgd", "mse")
    model.fit(X[:, 0], X[:, 1, :2], epochs=3, verbose=0)
    assert model.layers[0].seen[-1] == 3
    if tf.__name__ == "numtape":
        paths = str(model._nt_functions["train"].paths())
        assert "Python" not in paths
        assert "1 recorded path" in paths


@pytest.mark.records
def test_a_class_that_one_call_sets_and_another_one_reads(tf):
    """Each call of an object reads its class; setting its attributes does not conflict."""
    scaled = Scaled()
    assert replayed(tf, lambda x: scaled(x), tf.constant(2.0)).numpy() == 4.0
    if tf.__name__ != "numtape":
        return  # TensorFlow does not notice

    @tf.function
    def change(x, kind):
        if kind is None:
            return scaled(x)
        scaled.__class__ = (Scaled, Tripled)[kind]
        return x

    for kind in (0, 1, 0, 1, 1, 0, 0, 1):
        change(tf.constant(2.0), kind)
        assert change(tf.constant(2.0), None).numpy() == 2.0 * (2.0 + kind)


def test_an_attribute_of_a_property_holds_layers(tf):
    class Outer(tf.keras.layers.Layer):
        @property
        def inner(self):
            return self._inner

        @inner.setter
        def inner(self, layer):
            self._inner = layer

    outer = Outer()
    outer.inner = tf.keras.layers.Dense(2)
    outer.inner.build((None, 3))
    assert len(outer.weights) == 2
