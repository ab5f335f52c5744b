"""Subclasses may use any private name: numtape's own begin with ``_nt_``."""

import ast
import functools
import importlib
import inspect
import pickle
import pkgutil
import sys

import numpy as np
import pytest
from layer_rows import ROWS

import numtape as tf

keras = tf.keras

BASES = [
    tf.Module,
    keras.Layer,
    keras.Loss,
    keras.Metric,
    keras.Optimizer,
    keras.callbacks.Callback,
    keras.initializers.Initializer,
    keras.regularizers.Regularizer,
    keras.constraints.Constraint,
    keras.optimizers.schedules.LearningRateSchedule,
]

# Keras has these too, with the same meaning: subclasses set or call them.
OF_KERAS = {
    "_allow_non_tensor_positional_args",
    "_direction",
    "_get_variable_index",
    "_implements_predict_batch_hooks",
    "_implements_test_batch_hooks",
    "_implements_train_batch_hooks",
}


def classes():
    """All numtape classes that users may subclass, and their base classes."""
    for module in pkgutil.walk_packages(keras.__path__, "numtape.keras."):
        importlib.import_module(module.name)
    pending, found = list(BASES), set()
    while pending:
        kind = pending.pop()
        package = kind.__module__.startswith(("numtape.keras", "numtape.module"))
        if kind not in found and package:
            found.add(kind)
            pending += [*kind.__subclasses__(), *kind.__mro__]
    return found


@functools.cache
def tree_of(module):
    return ast.parse(inspect.getsource(sys.modules[module]))


def private_names(kind):
    """Private names in a class's namespace, and those that its methods read or set on ``self``."""
    found = set(vars(kind)) | set(vars(kind).get("__annotations__", {}))
    for node in ast.walk(tree_of(kind.__module__)):
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
            found |= {
                part.attr
                for part in ast.walk(node)
                if isinstance(part, ast.Attribute)
                and isinstance(part.value, ast.Name)
                and part.value.id == "self"
            }
    return {n for n in found if n.startswith("_") and not n.startswith("__")}


OWN = set().union(*map(private_names, classes())) - OF_KERAS
# Names that a user might choose for the same purposes.
NAMES = sorted({"_" + name.removeprefix("_nt_") for name in OWN})


def test_own_names_have_a_prefix():
    assert len(classes()) > 200 and len(NAMES) > 100
    assert not {name for name in OWN if not name.startswith("_nt_")}


def with_attributes(base):
    def __init__(self, *args, **kwargs):
        base.__init__(self, *args, **kwargs)
        for name in NAMES:
            setattr(self, name, [name])

    return type(base.__name__, (base,), {"__init__": __init__, "__module__": __name__})


def with_methods(base):
    def called(self, *args, **kwargs):
        raise AssertionError("numtape calls a method of the user's")

    return type(base.__name__, (base,), {**dict.fromkeys(NAMES, called), "__module__": __name__})


def with_class_attributes(base):
    values = {name: (name,) for name in NAMES}
    return type(base.__name__, (base,), {**values, "__module__": __name__})


WAYS = [with_attributes, with_methods, with_class_attributes]


@pytest.mark.parametrize("way", WAYS)
def test_modules(way, tmp_path):
    kind = way(tf.Module)
    module, inner = kind(name="outer"), kind(name="inner")
    module.v, module.parts = tf.Variable([1.0]), {"inner": inner}
    inner.w = tf.Variable([2.0], trainable=False)
    assert [float(v[0]) for v in module.variables] == [1.0, 2.0]
    assert module.submodules == (inner,) and len(module.trainable_variables) == 1
    assert "outer" in repr(module)
    path = tf.train.Checkpoint(module=module).save(str(tmp_path / "c"))
    inner.w.assign([5.0])
    tf.train.Checkpoint(module=module).restore(path)
    assert float(inner.w[0]) == 2.0


def subclasses(way):
    """One subclass of each class that takes part in training, by name."""
    kinds = [
        keras.layers.Dense,
        keras.layers.BatchNormalization,
        keras.layers.Dropout,
        keras.layers.LSTM,
        keras.layers.Conv1D,
        keras.layers.MaxPooling1D,
        keras.layers.Reshape,
        keras.losses.MeanSquaredError,
        keras.metrics.MeanAbsoluteError,
        keras.metrics.AUC,
        keras.optimizers.Adam,
        keras.optimizers.SGD,
        keras.optimizers.Adafactor,
        keras.optimizers.schedules.ExponentialDecay,
        keras.callbacks.EarlyStopping,
        keras.callbacks.ReduceLROnPlateau,
        keras.callbacks.Callback,
        keras.initializers.GlorotUniform,
        keras.regularizers.L2,
        keras.constraints.MaxNorm,
        keras.Sequential,
        keras.Model,
    ]
    return {kind.__name__: way(kind) for kind in kinds}


def network(own):
    inputs = keras.Input((6,))
    x = own["Reshape"]((6, 1))(inputs)
    x = own["MaxPooling1D"](2)(own["Conv1D"](3, 2, padding="same")(x))
    x = own["Dropout"](0.1)(own["BatchNormalization"]()(own["LSTM"](4)(x)))
    outputs = own["Dense"](
        1,
        kernel_initializer=own["GlorotUniform"](seed=1),
        kernel_regularizer=own["L2"](0.01),
        kernel_constraint=own["MaxNorm"](2.0),
    )(x)
    return inputs, outputs


def optimizers(own):
    rate = own["ExponentialDecay"](0.1, 10, 0.9)
    return [own["Adam"](0.01), own["SGD"](rate, momentum=0.5), own["Adafactor"](0.01)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(0, marks=pytest.mark.slow),
        *(pytest.param(k, marks=pytest.mark.thorough) for k in (1, 2)),
    ],
)
def test_training(way, number, tmp_path):
    own = subclasses(way)
    if number == 0:
        model = keras.Model(*network(own))
    elif number == 1:
        model = own["Sequential"]([own["Dense"](3, "relu"), own["Dropout"](0.1), own["Dense"](1)])
    else:

        class Net(own["Model"]):
            def __init__(self, **kwargs):
                super().__init__(**kwargs)
                self.dense = own["Dense"](1)

            def call(self, x, training=False):
                return self.dense(x)

        own["Net"], model = Net, Net()
    rng = np.random.default_rng(number)
    x, y = rng.normal(size=(16, 6)).astype("f"), rng.normal(size=(16, 1)).astype("f")
    model.compile(
        optimizers(own)[number], own["MeanSquaredError"](), metrics=[own["MeanAbsoluteError"]()]
    )
    callbacks = [own["EarlyStopping"]("loss", patience=5), own["Callback"]()]
    if number != 1:  # there the step size is a schedule
        callbacks.append(own["ReduceLROnPlateau"]("loss"))
    before = model.evaluate(x, y, verbose=0)[0]
    history = model.fit(x, y, epochs=3, batch_size=8, verbose=0, callbacks=callbacks).history
    assert len(history["loss"]) == 3 and model.evaluate(x, y, verbose=0)[0] < before
    predicted = model.predict(x, verbose=0)
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras", custom_objects=own)
    np.testing.assert_array_equal(again.predict(x, verbose=0), predicted)
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "c"))
    model.set_weights([w * 0 for w in model.get_weights()])
    tf.train.Checkpoint(model=model).restore(path)
    np.testing.assert_array_equal(model.predict(x, verbose=0), predicted)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_layers(row, way):
    plain = row.make(keras.layers)
    own = way(type(plain))(*row.args, **row.kwargs)
    inputs = row.inputs()
    expected = row.called(plain, inputs)
    row.called(own, inputs)
    own.set_weights(plain.get_weights())
    for x, y in zip(
        tf.nest.flatten(row.called(own, inputs)), tf.nest.flatten(expected), strict=True
    ):
        np.testing.assert_array_equal(x, y)
    assert own.get_config().keys() == plain.get_config().keys()
    again = type(own).from_config(own.get_config())
    row.called(again, inputs)
    assert len(again.weights) == len(own.weights) and own.name in repr(own)


@pytest.mark.parametrize("way", WAYS)
def test_metrics(way):
    metric = subclasses(way)["AUC"](num_thresholds=5)
    metric.update_state([0.0, 1.0], [0.2, 0.9])
    assert float(metric.result()) == 1.0 and len(metric.variables) == 4
    metric.reset_state()
    assert not np.any(metric.variables[0].numpy())


OLDER = {
    "layer": lambda: tf.keras.layers.Dense(2),
    "model": lambda: tf.keras.Sequential([tf.keras.layers.Dense(2)]),
    "loss": tf.keras.losses.Huber,
    "metric": tf.keras.metrics.Mean,
    "optimizer": tf.keras.optimizers.Adam,
}


@pytest.mark.parametrize("name", OLDER)
def test_a_pickle_with_the_older_names_is_refused_by_name(name):
    x = OLDER[name]()
    state = x.__getstate__() if name in ("model", "optimizer") else vars(x)
    older = {key.removeprefix("_nt"): value for key, value in state.items()}
    empty = type(x).__new__(type(x))
    with pytest.raises(pickle.UnpicklingError, match=f"{type(x).__name__} was pickled by"):
        empty.__setstate__(older)
    copy = pickle.loads(pickle.dumps(x))
    assert vars(copy).keys() == vars(x).keys()
