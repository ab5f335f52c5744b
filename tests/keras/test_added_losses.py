"""Losses that layers add: in models of each kind, in replayed steps, and in functions.

NumPy computes the expected values, and differences the gradients. The tests also run on TensorFlow
(``--against tensorflow``).
"""

import gc

import numpy as np
import pytest

from numtape.core.cpython.frames import unsupported_reason

DRAWS = np.random.default_rng(3)
X, Y = (DRAWS.normal(size=(5, n)).astype(np.float32) for n in (3, 2))
WEIGHTS = [0.5 * DRAWS.normal(size=shape) for shape in ((3, 4), (4,), (4, 2), (2,))]


def same(found, wanted, tolerance=2e-5):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), tolerance, tolerance)


def losing(tf):
    class Losing(tf.keras.layers.Layer):
        """A layer that adds the mean of squares, and in training the sum of absolute values."""

        def call(self, x, training=False):
            self.add_loss(tf.reduce_mean(x * x))
            if training:
                self.add_loss([0.1 * tf.reduce_sum(tf.abs(x))])
            return x

    return Losing


def parts(tf):
    layers, regularizers = tf.keras.layers, tf.keras.regularizers
    first = layers.Dense(4, activity_regularizer=regularizers.L1(0.3), kernel_regularizer="l2")
    last = layers.Dense(2, activity_regularizer="l2", bias_regularizer="l1")
    return first, losing(tf)(), last


def sequential(tf, built=True):
    return tf.keras.Sequential([*([tf.keras.Input((3,))] if built else []), *parts(tf)])


def functional(tf):
    first, middle, last = parts(tf)
    inputs = tf.keras.Input((3,))
    return tf.keras.Model(
        inputs, last(tf.keras.Sequential([tf.keras.Input((4,)), middle])(first(inputs)))
    )


def subclassed(tf):
    class Own(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.middle, self.last = parts(tf)

        def call(self, x, training=False):
            return self.last(self.middle(self.first(x), training=training))

    return Own()


MODELS = {
    "sequential": sequential,
    "unbuilt": lambda tf: sequential(tf, False),
    "functional": functional,
    "subclassed": subclassed,
}


def made(tf, kind):
    model = MODELS[kind](tf)
    model(tf.constant(X))
    model.set_weights([w.astype(np.float32) for w in WEIGHTS])
    return model


def wanted(weights, training):
    """The loss, in float64."""
    kernel, bias, other, offset = weights
    hidden = X.astype(float) @ kernel + bias
    y = hidden @ other + offset
    return (
        np.mean((y - Y) ** 2)
        + 0.3 * np.sum(np.abs(hidden)) / len(X)
        + 0.01 * np.sum(kernel**2)
        + np.mean(hidden**2)
        + 0.1 * training * np.sum(np.abs(hidden))
        + 0.01 * np.sum(y**2) / len(X)
        + 0.01 * np.sum(np.abs(offset))
    )


def descended(steps, rate=0.01, h=1e-6):
    """The losses of the steps, and the final weights."""
    weights, losses = [w.astype(float) for w in WEIGHTS], []
    for _ in range(steps):
        losses.append(wanted(weights, True))
        slopes = [np.zeros_like(w) for w in weights]
        for w, slope in zip(weights, slopes, strict=True):
            for place in np.ndindex(w.shape):
                kept = w[place]
                w[place] = kept + h
                slope[place] = wanted(weights, True)
                w[place] = kept - h
                slope[place] = (slope[place] - wanted(weights, True)) / (2 * h)
                w[place] = kept
        weights = [w - rate * slope for w, slope in zip(weights, slopes, strict=True)]
    return losses, weights


@pytest.mark.parametrize("kind", MODELS)
def test_they_count_in_fit_and_evaluate(tf, kind):
    model = made(tf, kind)
    model.compile(tf.keras.optimizers.SGD(0.01), "mse")
    same(model.evaluate(X, Y, verbose=0), wanted(WEIGHTS, False))
    losses, weights = descended(4)
    same(model.fit(X, Y, batch_size=5, epochs=4, verbose=0).history["loss"], losses)
    for found, value in zip(model.get_weights(), weights, strict=True):
        same(found, value, 1e-4)
    same(model.evaluate(X, Y, verbose=0), wanted(weights, False))
    for _ in range(3):
        model(X)
    assert len(model.losses) == 5


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("kind", ["functional", "subclassed"])
def test_they_count_in_loops_of_ones_own(tf, kind, recorded):
    model = made(tf, kind)
    optimizer = tf.keras.optimizers.SGD(0.01)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2) + tf.add_n(model.losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    step = tf.function(step) if recorded else step
    losses, weights = descended(4)
    same([float(step(tf.constant(X), tf.constant(Y))) for _ in range(4)], losses)
    for found, value in zip(model.get_weights(), weights, strict=True):
        same(found, value, 1e-4)


@pytest.mark.records
@pytest.mark.numtape_only(reason="TensorFlow's has no value")
def test_a_model_whose_call_is_a_function(tf):
    class Own(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.middle = losing(tf)()

        @tf.function
        def call(self, x):
            return self.middle(x)

    model = Own()
    with pytest.warns(RuntimeWarning, match="adds losses to a layer whose call goes on"):
        model(tf.constant(X))
    for k in range(4):
        model(tf.constant(k * X))
        same(model.losses, [np.mean((k * X) ** 2)])


@pytest.mark.records
@pytest.mark.numtape_only(reason="TensorFlow's are of another graph")
def test_those_of_a_call_that_was_recorded_are_not_to_be_had_outside(tf):
    model = made(tf, "sequential")
    call = tf.function(lambda x: model(x))
    for _ in range(3):
        call(tf.constant(X))
        added, of_regularizers = model.losses[:3], model.losses[3:]
        for use in (tf.add_n, sum, lambda losses: float(losses[0])):
            with pytest.raises(ValueError, match="have no values outside"):
                use(added)
        assert "no value" in repr(added[0])
        kernel, bias = model.layers[0].kernel, model.layers[-1].bias
        wanted = [np.sum(kernel.numpy() ** 2), np.sum(abs(bias.numpy()))]
        same(of_regularizers, 0.01 * np.array(wanted))
    model(tf.constant(X))
    assert len(model.losses) == 5

    def broken(x):
        model(x)
        raise KeyError

    with pytest.raises(KeyError):
        tf.function(broken)(tf.constant(X))
    assert len(model.losses) == 2  # of the regularizers


@pytest.mark.records
@pytest.mark.numtape_only(reason="TensorFlow keeps the first value")
def test_those_of_earlier_calls_are_seen_anew(tf):
    layer = losing(tf)()
    total = tf.function(lambda: tf.add_n(layer.losses))
    layer(tf.constant(X))
    with pytest.warns(RuntimeWarning, match="reads losses that a layer added before"):
        total()
    for k in range(3):
        layer(tf.constant(k * X))
        same(total(), np.mean((k * X) ** 2))


@pytest.mark.numtape_only(reason="looks inside")
def test_nothing_grows(tf):
    from numtape.core.log.log import local

    layer, model = losing(tf)(), made(tf, "sequential")
    call = tf.function(lambda x: (model(x), tf.add_n(model.losses))[1])
    for _ in range(20):
        layer(tf.constant(X))
        call(tf.constant(X))
        losing(tf)()(tf.constant(X))
    assert len(layer.losses) == 1
    gc.collect()
    kept = 4 if unsupported_reason() else 1  # no call of the model is replayed there
    assert sum(len(losses._entries) for losses, _ in local.losses) == kept
