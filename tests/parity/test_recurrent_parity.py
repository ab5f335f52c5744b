"""Recurrent layers and an installed Keras: values, states, gradients, training, arguments."""

import importlib.util
import inspect
import itertools
import os

import numpy as np
import pytest

pytestmark = [
    pytest.mark.skipif(not importlib.util.find_spec("keras"), reason="needs Keras"),
    pytest.mark.skipif(not importlib.util.find_spec("tensorflow"), reason="needs TensorFlow"),
    pytest.mark.numtape_only(reason="compares with Keras"),
]
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(3, 6, 4)).astype(np.float32)
CHOICES = list(itertools.product([False, True], repeat=3))
MASK = np.array([[1, 1, 1, 0, 0, 0], [0, 1, 1, 0, 1, 0], [0, 0, 0, 0, 0, 0]], bool)


@pytest.fixture(scope="module")
def tensorflow():
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    return pytest.importorskip("tensorflow")


def near(found, wanted, limit=1e-6):
    """Whether two arrays agree, relative to the largest element."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(
        found, wanted, rtol=0, atol=limit * max(1.0, np.abs(wanted).max(initial=0.0))
    )


def both(tensorflow, tf, make):
    """A layer of each library, with the same weights."""
    layers = [make(library.keras) for library in (tensorflow, tf)]
    for layer in layers:
        layer.build(X.shape)
    random = np.random.default_rng(5)
    weights = [(random.normal(size=w.shape) * 0.5).astype(w.dtype) for w in layers[0].get_weights()]
    for layer in layers:
        layer.set_weights(weights)
    return layers


LAYERS = {
    "SimpleRNN": lambda k, **m: k.layers.SimpleRNN(3, **m),
    "SimpleRNN, relu, no bias": lambda k, **m: k.layers.SimpleRNN(3, "relu", use_bias=False, **m),
    "LSTM": lambda k, **m: k.layers.LSTM(3, **m),
    "LSTM, other activations": lambda k, **m: k.layers.LSTM(3, "softsign", "hard_sigmoid", **m),
    "LSTM, no bias": lambda k, **m: k.layers.LSTM(3, use_bias=False, **m),
    "GRU": lambda k, **m: k.layers.GRU(3, **m),
    "GRU, reset before": lambda k, **m: k.layers.GRU(3, reset_after=False, **m),
    "GRU, no bias": lambda k, **m: k.layers.GRU(3, use_bias=False, **m),
    "GRU, before, no bias": lambda k, **m: k.layers.GRU(3, reset_after=False, use_bias=False, **m),
    "two cells": lambda k, **m: k.layers.RNN([k.layers.LSTMCell(3), k.layers.GRUCell(2)], **m),
    "Bidirectional": lambda k, **m: k.layers.Bidirectional(k.layers.LSTM(3, **m), "sum"),
}


@pytest.mark.parametrize("sequences, masked, backwards", CHOICES)
@pytest.mark.parametrize("kind", LAYERS)
def test_values_and_gradients(tensorflow, tf, kind, sequences, masked, backwards):
    if backwards and kind == "Bidirectional":
        pytest.skip("its first layer goes forward")

    def make(keras):
        return LAYERS[kind](
            keras, return_sequences=sequences, return_state=True, go_backwards=backwards
        )

    found = []
    for library, layer in zip((tensorflow, tf), both(tensorflow, tf, make), strict=True):
        x = library.constant(X)
        given = {"mask": library.constant(MASK)} if masked else {}
        with library.GradientTape() as tape:
            tape.watch(x)
            results = library.nest.flatten(layer(x, **given))
            loss = sum(library.reduce_sum(r * r) for r in results)
        found.append([*results, *tape.gradient(loss, [x, *layer.trainable_variables])])
    for wanted, got in zip(*found, strict=True):
        near(got.numpy(), wanted.numpy(), 1e-6)


@pytest.mark.parametrize("kind", ["SimpleRNN", "LSTM", "GRU"])
@pytest.mark.parametrize("masked", [False, True])
def test_initial_states(tensorflow, tf, kind, masked):
    found = []
    layers = both(tensorflow, tf, lambda k: LAYERS[kind](k, return_sequences=True))
    for library, layer in zip((tensorflow, tf), layers, strict=True):
        states = [
            library.constant(np.full((3, 3), 0.5 + k, np.float32))
            for k in range(2 if kind == "LSTM" else 1)
        ]
        given = {"mask": library.constant(MASK)} if masked else {}
        with library.GradientTape() as tape:
            tape.watch(states)
            output = layer(library.constant(X), initial_state=states, **given)
            loss = library.reduce_sum(output * output)
        found.append([output, *tape.gradient(loss, states)])
    for wanted, got in zip(*found, strict=True):
        near(got.numpy(), wanted.numpy(), 1e-6)


@pytest.mark.parametrize("kind", ["SimpleRNN", "LSTM", "GRU", "two cells", "Bidirectional"])
def test_five_steps_of_training(tensorflow, tf, kind):
    found = []
    for library, layer in zip((tensorflow, tf), both(tensorflow, tf, LAYERS[kind]), strict=True):
        optimizer = library.keras.optimizers.SGD(0.1, momentum=0.9)
        x, mask = library.constant(X), library.constant(MASK)
        for _ in range(5):
            with library.GradientTape() as tape:
                loss = library.reduce_mean((layer(x, mask=mask, training=True) - 0.5) ** 2)
            gradients = tape.gradient(loss, layer.trainable_variables)
            optimizer.apply_gradients(zip(gradients, layer.trainable_variables, strict=True))
        found.append([loss.numpy(), *layer.get_weights()])
    for wanted, got in zip(*found, strict=True):
        near(got, wanted, 1e-5)


@pytest.mark.parametrize("kind", LAYERS)
def test_configurations(tensorflow, tf, kind):
    def plain(config):
        if isinstance(config, dict):
            if config.get("class_name") == "DTypePolicy":
                return config["config"]["name"]
            return {key: plain(x) for key, x in config.items() if key != "name"}
        return [plain(x) for x in config] if isinstance(config, list | tuple) else config

    theirs, ours = (LAYERS[kind](library.keras).get_config() for library in (tensorflow, tf))
    if kind.startswith("SimpleRNN"):
        theirs["seed"] = None  # Keras drops it
    assert plain(ours) == plain(theirs)


@pytest.mark.parametrize(
    "name",
    [
        "SimpleRNN",
        "LSTM",
        "GRU",
        "SimpleRNNCell",
        "LSTMCell",
        "GRUCell",
        "RNN",
        "StackedRNNCells",
        "Bidirectional",
        "TimeDistributed",
        "Wrapper",
    ],
)
def test_arguments_and_defaults(tensorflow, tf, name):
    theirs, ours = (
        inspect.signature(getattr(library.keras.layers, name)).parameters.values()
        for library in (tensorflow, tf)
    )
    assert [(p.name, p.default) for p in ours] == [(p.name, p.default) for p in theirs]


@pytest.mark.parametrize("kind", ["Dense", "LSTM", "GRU"])
def test_a_layer_at_each_time(tensorflow, tf, kind):
    layers = []
    for library in (tensorflow, tf):
        inner = library.keras.layers
        inner = {
            "Dense": inner.Dense(2),
            "LSTM": inner.LSTM(2),
            "GRU": inner.GRU(2, return_sequences=True),
        }[kind]
        layers.append(library.keras.layers.TimeDistributed(inner))
    x = X[:, :, None] * np.ones((1, 1, 3, 1), np.float32)
    for layer in layers:
        layer.build(x.shape)
    layers[1].set_weights(layers[0].get_weights())
    theirs, ours = (
        layer(library.constant(x)).numpy()
        for library, layer in zip((tensorflow, tf), layers, strict=True)
    )
    near(ours, theirs)
