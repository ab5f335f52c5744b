"""Models from configurations have the same outputs for the same weights."""

import importlib.util
import itertools
import json

import numpy as np
import pytest
from layer_rows import ROWS

import numtape as nt
from numtape.errors import UnimplementedError

pytestmark = pytest.mark.cpu_only(reason="what models are made of")

A = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3)
DATA = {"a": A, "b": 2.0 * A**2}
TARGETS = {"s": np.ones((2, 2), np.float32), "t": np.zeros((2, 4), np.float32)}


def through_json(config):
    return json.loads(json.dumps(config))


def branches(keras):
    """A model with shared layers, a nested model, operators, and dicts of inputs and outputs."""
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
)  # a Lambda's function is not JSON-serializable
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


@pytest.mark.parametrize("word", ["sparse", "ragged"])
def test_inputs_that_are_not_dense_are_refused(word):
    options = nt.keras.layers.InputLayer((3,), name="x").get_config()
    nt.keras.layers.InputLayer.from_config({**options, word: False})
    with pytest.raises(ValueError, match=word):
        nt.keras.layers.InputLayer.from_config({**options, word: True})


# --- Files of Keras ----------------------------------------------------------------------------


def policy(name):
    """A dtype policy in Keras's format."""
    return {
        "module": "keras",
        "class_name": "DTypePolicy",
        "config": {"name": name},
        "registered_name": None,
    }


def tensor(name, call, shape):
    history = {"shape": shape, "dtype": "float32", "keras_history": [name, call, 0]}
    return {"class_name": "__keras_tensor__", "config": history}


def initializer(name, **config):
    return {
        "module": "keras.initializers",
        "class_name": name,
        "config": config,
        "registered_name": None,
    }


def written():
    """The file of a functional model, with a layer's entries as in Keras 3.15."""
    dense = {
        "name": "dense",
        "trainable": True,
        "dtype": policy("float32"),
        "units": 2,
        "activation": "relu",
        "use_bias": True,
        "kernel_initializer": initializer(
            "GlorotUniform", seed=None, input_axes=None, output_axes=None
        ),
        "bias_initializer": initializer("Ones"),
        "kernel_regularizer": None,
        "bias_regularizer": None,
        "kernel_constraint": None,
        "bias_constraint": None,
        "quantization_config": None,
    }
    first = {
        "batch_shape": [None, 4],
        "dtype": "float32",
        "sparse": False,
        "ragged": False,
        "name": "i",
        "optional": False,
    }
    key = [
        {"class_name": "__slice__", "config": {"start": start, "stop": stop, "step": None}}
        for start, stop in ((None, None), (1, 4))
    ]
    dropout = {
        "name": "dropout",
        "trainable": True,
        "dtype": policy("float32"),
        "rate": 0.5,
        "seed": None,
        "noise_shape": None,
    }
    ops = "keras.src.ops.numpy"

    def layer(module, kind, config, *calls, **more):
        return {
            "module": module,
            "class_name": kind,
            "config": config,
            "registered_name": None,
            **more,
            "name": config["name"],
            "inbound_nodes": list(calls),
        }

    made = [
        layer("keras.layers", "InputLayer", first),
        layer(
            ops,
            "GetItem",
            {"name": "get_item"},
            {"args": [tensor("i", 0, [None, 4]), key], "kwargs": {}},
        ),
        layer(
            "keras.layers",
            "Dense",
            dense,
            {"args": [tensor("get_item", 0, [None, 3])], "kwargs": {}},
            build_config={"input_shape": [None, 3]},
        ),
        layer(
            "keras.layers",
            "Dropout",
            dropout,
            {"args": [tensor("dense", 0, [None, 2])], "kwargs": {"training": False}},
        ),
        layer(
            ops,
            "Multiply",
            {"name": "multiply"},
            {"args": [tensor("dropout", 0, [None, 2]), 3.0], "kwargs": {}},
        ),
    ]
    config = {
        "name": "functional",
        "trainable": True,
        "layers": made,
        "input_layers": ["i", 0, 0],
        "output_layers": ["multiply", 0, 0],
    }
    compiled = {
        "optimizer": {
            "module": "keras.optimizers",
            "class_name": "SGD",
            "registered_name": None,
            "config": {
                "name": "SGD",
                "learning_rate": 0.5,
                "weight_decay": None,
                "clipnorm": None,
                "global_clipnorm": None,
                "clipvalue": None,
                "use_ema": False,
                "ema_momentum": 0.99,
                "ema_overwrite_frequency": None,
                "loss_scale_factor": None,
                "gradient_accumulation_steps": None,
                "momentum": 0.0,
                "nesterov": False,
            },
        },
        "loss": "mse",
        "loss_weights": None,
        "metrics": ["mae"],
        "weighted_metrics": None,
        "run_eagerly": False,
        "steps_per_execution": 2,
        "jit_compile": False,
    }
    return {
        "module": "keras.src.models.functional",
        "class_name": "Functional",
        "config": config,
        "registered_name": "Functional",
        "build_config": {"input_shape": None},
        "compile_config": compiled,
    }


def test_a_model_that_keras_wrote():
    model = nt.keras.models.model_from_json(json.dumps(written()))
    model.compile_from_config(written()["compile_config"])
    x, kernel = np.arange(8.0, dtype=np.float32).reshape(2, 4) - 3, model.get_weights()[0]
    wanted = 3 * np.maximum(x[:, 1:] @ kernel + 1, 0)
    np.testing.assert_allclose(model(x), wanted, 1e-5, 1e-5)
    assert float(model.optimizer.learning_rate) == 0.5
    assert model.steps_per_execution == 2
    dropped = model(x, training=True).numpy()  # the model's argument overrides its layer's
    assert set((dropped / np.where(wanted, wanted, 1)).round(3).ravel().tolist()) <= {0.0, 2.0}
    again = json.loads(model.to_json())
    assert again["config"]["output_layers"] == ["multiply", 0, 0]
    assert again["module"] == "keras.src.models.functional"


def changed(change):
    config = written()
    change(config["config"]["layers"], config)
    return json.dumps(config)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda made, _: made[2]["config"].update(dtype=policy("int8_from_float32")), "quantized"),
        (
            lambda made, _: made[2]["config"].update(quantization_config={"mode": "int8"}),
            "no argument quantization_config",
        ),
        (lambda made, _: made[2]["config"].update(nosuch=1), "nosuch"),
        (lambda made, _: made[2].update(class_name="Nosuch"), "Nosuch"),
        (lambda made, _: made[2].update(config=[1]), "Could not interpret layer"),
        (lambda made, _: made[2].pop("inbound_nodes"), "cut or changed.*inbound_nodes"),
        (lambda made, _: made.pop(2), "must define the inputs of the layer 'dropout'"),
        (
            lambda _, config: config["config"].update(output_layers=["nosuch", 0, 0]),
            "no layer 'nosuch'",
        ),
        (lambda _, config: config["config"].pop("input_layers"), "cut or changed.*input_layers"),
        (lambda _, config: config.update(config=None), "cut or changed.*layers"),
        (lambda _, config: config.pop("class_name"), "no class_name"),
        (
            lambda _, config: config.update(module="keras.losses", class_name="Huber", config={}),
            "must describe a model|is not registered",
        ),
    ],
)
def test_what_is_cut_or_asks_for_what_there_is_not(change, message):
    with pytest.raises((ValueError, TypeError, UnimplementedError), match=message):
        nt.keras.models.model_from_json(changed(change))


def test_every_cut_is_an_error_with_a_name():
    """Dropping any key, or changing any value, is a named error or no error."""

    def places(value, path=()):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, x in items:
            yield (*path, key)
            if isinstance(x, dict | list):
                yield from places(x, (*path, key))

    others = itertools.cycle([None, 7, "x", []])
    for *path, key in places(written()):
        for other in (places, next(others)):
            config = written()
            inside = config
            for step in path:
                inside = inside[step]
            if other is places:
                del inside[key]
            else:
                inside[key] = other
            try:
                nt.keras.models.model_from_json(json.dumps(config))
            except (ValueError, TypeError, NotImplementedError, nt.errors.OpError):
                pass


@pytest.mark.skipif(not importlib.util.find_spec("keras"), reason="needs Keras")
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row, marks=[] if row.name in ("Dense", "LSTM", "SpatialDropout1D") else pytest.mark.slow
        )
        for row in ROWS
        if row.name != "Lambda" and row.is_in_keras
    ],
    ids=str,
)
def test_models_of_every_layer_go_to_keras_and_back(row):
    keras = pytest.importorskip("keras")
    arrays = row.inputs()

    def model(of):
        layer = row.make(of.layers)
        symbols = [of.Input(x.shape[1:], dtype=str(x.dtype)) for x in arrays]
        return of.Model(symbols, row.called(layer, symbols))

    for one, read in (
        (nt.keras, keras.models.model_from_json),
        (keras, nt.keras.models.model_from_json),
    ):
        made = model(one)
        other = read(made.to_json())
        other.set_weights(made.get_weights())
        found = [
            m([nt.constant(x) for x in arrays] if isinstance(m, nt.keras.Model) else arrays)
            for m in (made, other)
        ]
        for a, b in zip(*map(nt.nest.flatten, found), strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), 1e-4, 1e-4)


@pytest.mark.skipif(not importlib.util.find_spec("keras"), reason="needs Keras")
def test_branches_go_to_keras_and_back():
    keras = pytest.importorskip("keras")
    mine, its = branches(nt.keras), branches(keras)
    assert_same(mine, nt.keras.models.model_from_json(its.to_json()))
    other = keras.models.model_from_json(mine.to_json())
    other.set_weights(mine.get_weights())
    for name, x in other(DATA).items():
        np.testing.assert_allclose(np.asarray(x), given(mine)[name], 1e-5, 1e-5)
