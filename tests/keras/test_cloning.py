"""`clone_model` with other layers, other calls and other inputs; losses of nested outputs."""

import numpy as np
import pytest

import numtape as tf

keras = tf.keras
layers, clone_model = keras.layers, keras.models.clone_model
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def functional():
    inputs = keras.Input((3,), name="x")
    hidden = layers.Dense(4, "relu", name="first")(inputs)
    return keras.Model(inputs, layers.Add()([hidden, layers.Dense(4)(inputs)]) * 2.0, name="m")


def sequential():
    return keras.Sequential([keras.Input((3,)), layers.Dense(4), layers.Dense(2, name="last")])


@pytest.mark.parametrize("make", [functional, sequential])
def test_clones_compute_the_same(make):
    model = make()
    for options in ({}, {"clone_function": lambda x: type(x).from_config(x.get_config())}):
        clone = clone_model(model, **options)
        assert all(a is not b for a, b in zip(clone.layers, model.layers, strict=True))
        clone.set_weights(model.get_weights())
        np.testing.assert_allclose(clone(X), model(X), atol=1e-6)
    assert clone_model(model, clone_function=lambda x: x).layers[-1] is model.layers[-1]


def test_other_layers_calls_and_inputs():
    model = functional()

    def wider(layer):
        config = layer.get_config()
        if "units" in config:
            config["units"] = 7
        return type(layer).from_config(config)

    assert clone_model(model, clone_function=wider).output_shape == (None, 7)

    def call(layer, *args, **kwargs):
        result = layer(*args, **kwargs)
        return layers.Dropout(0.5)(result) if isinstance(layer, layers.Dense) else result

    clone = clone_model(model, clone_function=lambda x: x, call_function=call)
    assert sum(isinstance(x, layers.Dropout) for x in clone.layers) == 2
    np.testing.assert_allclose(clone(X), model(X), atol=1e-6)
    other = keras.Input((3,), name="y")
    assert clone_model(model, other).inputs[0] is other
    assert clone_model(sequential(), other).input_shape == (None, 3)
    outer = keras.Sequential([keras.Input((3,)), functional()])
    clone = clone_model(outer, clone_function=wider, recursive=True)
    assert clone.output_shape == (None, 7)


def test_refusals():
    class Plain(keras.Model):
        pass

    with pytest.raises(ValueError, match="only supported"):
        clone_model(Plain(), clone_function=lambda x: x)
    with pytest.raises(ValueError, match="call_function"):
        clone_model(sequential(), call_function=lambda layer, x: layer(x))
    with pytest.raises(ValueError, match="return a layer"):
        clone_model(functional(), clone_function=lambda x: None)
    with pytest.raises(ValueError, match="KerasTensor"):
        clone_model(functional(), [X])


def test_losses_of_nested_outputs():
    inputs = keras.Input((3,))
    outputs = {"a": layers.Dense(1)(inputs), "b": [layers.Dense(1)(inputs)]}
    model = keras.Model(inputs, outputs)
    model.compile("sgd", loss={"a": "mse", "b": ["mae"]})
    y = {"a": X[:, :1], "b": [X[:, 1:2]]}
    loss = model.evaluate(X, y, verbose=0, return_dict=True)["loss"]
    predicted = model(X)
    expected = np.mean((predicted["a"] - X[:, :1]) ** 2)
    expected += np.mean(np.abs(predicted["b"][0] - X[:, 1:2]))
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
