"""Models made of configurations give the same outputs on the same weights."""

import json

import numpy as np
import pytest
from layer_rows import ROWS

import numtape as nt

pytestmark = pytest.mark.cpu_only(reason="what models are made of")

A = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3)
DATA = {"a": A, "b": 2.0 * A**2}
TARGETS = {"s": np.ones((2, 2), np.float32), "t": np.zeros((2, 4), np.float32)}


def through_json(config):
    return json.loads(json.dumps(config))


def branches(keras):
    """A model of shared layers, a model inside, operators, and dicts of inputs and outputs."""
    layers = keras.layers
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    shared = layers.Dense(4, "tanh")
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(2), layers.Dropout(0.5)])
    one, other = inner(shared(a)), inner(shared(b))
    outputs = {"s": one + other * 2.0, "t": layers.Concatenate()([one, other])}
    return keras.Model({"a": a, "b": b}, outputs)


def given(model):
    return {name: np.asarray(x) for name, x in model(DATA).items()}


def assert_same(model, other, tolerance=0.0):
    other.set_weights(model.get_weights())
    found, wanted = given(other), given(model)
    assert found.keys() == wanted.keys()
    for name in wanted:
        np.testing.assert_allclose(found[name], wanted[name], tolerance, tolerance)


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.name != "Lambda"], ids=str
)  # a Lambda's function is no JSON
def test_a_model_of_every_layer_again(row):
    arrays = row.inputs()
    layer = row.make(nt.keras.layers)
    symbols = [nt.keras.Input(x.shape[1:], dtype=str(x.dtype)) for x in arrays]
    model = nt.keras.Model(symbols, row.called(layer, symbols))
    config = through_json(model.get_config())
    other = nt.keras.Model.from_config(config)
    assert through_json(other.get_config()) == config
    other.set_weights(model.get_weights())
    inputs = [nt.constant(x) for x in arrays]
    found, wanted = nt.nest.flatten(other(inputs)), nt.nest.flatten(model(inputs))
    for one, another in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.numpy(), another.numpy())


def test_branches_again():
    model = branches(nt.keras)
    other = nt.keras.Model.from_config(through_json(model.get_config()))
    assert len(other.weights) == 4  # the shared layers are shared
    assert_same(model, other)


def test_slices_and_lists_again():
    inputs = [nt.keras.Input((4,)), nt.keras.Input((2,))]
    hidden = nt.keras.layers.Dense(2)(inputs[0][:, 1:3])
    model = nt.keras.Model(inputs, [abs(hidden) - inputs[1], 1.0 / (2.0 + hidden**2)])
    other = nt.keras.Model.from_config(through_json(model.get_config()))
    other.set_weights(model.get_weights())
    x = [nt.ones((3, 4)), nt.ones((3, 2))]
    for one, another in zip(other(x), model(x), strict=True):
        np.testing.assert_array_equal(one.numpy(), another.numpy())


def test_a_lambda_without_a_name_is_refused():
    layer = nt.keras.layers.Lambda(lambda x: x + 1.0)
    model = nt.keras.Sequential([nt.keras.Input((3,)), layer])
    with pytest.raises(NotImplementedError, match="<lambda>"):
        model.to_json()


class Plain(nt.keras.Model):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner


def test_a_class_of_ones_own_says_what_it_was_made_with():
    with pytest.raises(NotImplementedError, match="must override `get_config"):
        Plain(nt.keras.layers.Dense(2)).get_config()
    assert Plain(3).get_config()["inner"] == 3


def test_what_compile_was_given_again():
    model, other = branches(nt.keras), branches(nt.keras)
    assert model.get_compile_config() in ({}, None)
    loss = {"s": "mse", "t": nt.keras.losses.Huber(0.5)}
    model.compile("adam", loss, {"s": 2.0}, {"s": ["mae"]})
    other.compile_from_config(through_json(model.get_compile_config()))
    other.set_weights(model.get_weights())
    told = [m.evaluate(DATA, TARGETS, verbose=0, return_dict=True) for m in (model, other)]
    assert told[0] == told[1]
    predicted = given(model)
    absolute = np.abs(TARGETS["t"] - predicted["t"])
    huber = np.where(absolute <= 0.5, 0.5 * absolute**2, 0.5 * absolute - 0.125).mean()
    wanted = 2.0 * ((TARGETS["s"] - predicted["s"]) ** 2).mean() + huber
    np.testing.assert_allclose(told[0]["loss"], wanted, 1e-5)


def test_weights_of_losses_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="loss_weights"):
        branches(nt.keras).compile("sgd", "mse", ["accuracy"])


@pytest.mark.parametrize("word", ["sparse", "ragged", "optional"])
def test_inputs_that_are_not_dense_are_refused(word):
    options = nt.keras.layers.InputLayer((3,), name="x").get_config()
    nt.keras.layers.InputLayer.from_config({**options, word: False})
    with pytest.raises(ValueError, match=word):
        nt.keras.layers.InputLayer.from_config({**options, word: True})
