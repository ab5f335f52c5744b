"""TensorFlow's names: each exists, or an error suggests an alternative."""

import re
import types

import numpy as np
import pytest
from api_modules import api_modules
from tensorflow_names import names as installed_names
from tensorflow_reference import installed

import numtape
from numtape.__main__ import main
from numtape.compat.missing_names import BACKEND, BEFORE, HABITS, INSTEAD, METHODS
from numtape.compat.names import instead, present, status, table
from numtape.core.values import hints

pytestmark = pytest.mark.numtape_only(reason="about numtape's names")


def test_each_name_of_tensorflow_is_there_or_something_else_is_named():
    silent = [name for name in table() if present(name) is None and not instead(name)]
    assert silent == ["newaxis"]


def test_the_table_is_that_of_the_installed_tensorflow():
    tensorflow = installed()
    found = dict(line.partition(" ")[::2] for line in installed_names(tensorflow))
    wanted = {f"tf.{name}": " ".join(arguments) for name, arguments in table().items()}
    assert found == wanted


def public(module, path="", leave=("compat", "python", "raw_ops", "app", "flags", "mock")):
    """The full names of all public objects reachable from a TensorFlow module."""
    try:
        dir(module)
    except Exception:  # a lazy module of a missing part
        return
    for name in sorted(n for n in {*dir(module), *vars(module)} if not n.startswith("_")):
        full = f"{path}.{name}".lstrip(".")
        try:
            value = getattr(module, name)
        except Exception:
            continue
        yield full
        inner = isinstance(value, types.ModuleType) and full.count(".") < 4
        if inner and name not in leave and re.search("tensorflow|keras", repr(value)):
            yield from public(value, full)


def silent(names):
    """The names that numtape lacks and has no hint for."""
    for full in names:
        found = numtape
        for part in full.split("."):
            try:
                found = getattr(found, part)
            except AttributeError as error:
                if str(error).endswith(f"has no attribute {part!r}"):
                    yield full
                break


def test_no_name_of_the_installed_tensorflow_is_missing_without_a_hint():
    tensorflow = installed()
    assert [*silent(public(tensorflow))] == []
    before = {*silent(public(tensorflow.compat.v1))}  # without ``compat.v1``
    assert [x for x in sorted(before) if not x.startswith(("errors.", "experimental."))] == []


# An object of each class in `METHODS`.
OBJECTS = {
    "EagerTensor": "tf.constant(1.0)",
    "ResourceVariable": "tf.Variable(1.0)",
    "Module": "tf.Module()",
    "data.Dataset": "tf.data.Dataset.range(3)",
    "data.Iterator": "iter(tf.data.Dataset.range(3))",
    "keras.Layer": "tf.keras.layers.Dense(2)",
    "keras.layers.LSTM": "tf.keras.layers.LSTM(2)",
    "keras.Model": "tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])",
    "keras.Model ": "(lambda x: tf.keras.Model(x, [x]))(tf.keras.Input((2,)))",
    "keras.optimizers.Optimizer": "tf.keras.optimizers.Adam()",
    "keras.losses.Loss": "tf.keras.losses.MeanSquaredError()",
    "keras.metrics.Metric": "tf.keras.metrics.Mean()",
    "TensorShape": "tf.TensorShape([1])",
    "TensorSpec": "tf.TensorSpec([1])",
    "DType": "tf.float32",
    "Function": "tf.function(lambda x: x)",
    "ConcreteFunction": "tf.function(lambda x: x).get_concrete_function(tf.constant(1.0))",
    "linalg.LinearOperator": "tf.linalg.LinearOperatorIdentity(2)",
    # Methods that all classes have.
    "callback": "tf.keras.callbacks.Callback()",
    "tape": "tf.GradientTape()",
    "slices": "tf.IndexedSlices(tf.ones(1), tf.constant([0]))",
    "generator": "tf.random.Generator.from_seed(1)",
    "checkpoint": "tf.train.Checkpoint()",
}


@pytest.mark.parametrize("kind", METHODS)
def test_what_objects_lack_names_something_else(kind):
    thing = eval(OBJECTS[kind], {"tf": numtape})
    for names, said in METHODS[kind].items():
        for name in names.split():
            with pytest.raises(AttributeError) as error:
                getattr(thing, name)
            assert str(error.value).endswith(f" object has no attribute {name!r}: {said}")
            assert name not in vars(type(thing)).get("__slots__", ())


def test_no_attribute_of_the_installed_tensorflow_is_missing_without_a_hint():
    tensorflow, known = installed(), {}
    for kind, text in OBJECTS.items():
        thing, other = eval(text, {"tf": numtape}), eval(text, {"tf": tensorflow})
        names = {name for name in dir(other) if not name.startswith("_")}
        known.setdefault(kind.strip(), set()).update(names)
        for name in names:
            try:
                getattr(thing, name)
            except Exception as error:
                assert not str(error).endswith(f"has no attribute {name!r}"), (kind, name)
    for kind, method_names in METHODS.items():
        assert {name for names in method_names for name in names.split()} <= known[kind], kind


HINTS = {
    "tf.math.softmaxx": "did you mean 'softmax'?",
    "tf.math.relu": "did you mean tf.nn.relu?",
    "tf.log": "use tf.math.log",
    "tf.arange": "use tf.range",
    "tf.contrib.layers": "TensorFlow took it out in version 2",
    "tf.Session": "numtape is eager and has no graphs or sessions",
    "tf.global_variables_initializer": "variables have their values at once",
    "tf.estimator.LinearRegressor": "use `tf.keras.Model`",
    "tf.train.AdamOptimizer": "use `tf.keras.optimizers`",
    "tf.keras.layers.Linear": r"use tf.keras.layers.Dense\(units\)",
    "tf.keras.layers.CuDNNLSTM": "use `tf.keras.layers.LSTM`",
    "tf.keras.backend.mean": "use tf.reduce_mean",
    "tf.keras.backend.exp": "did you mean tf.exp",
    "tf.math.mean": "use tf.reduce_mean",
    "tf.linalg.inverse": "use tf.linalg.inv",
    "tf.random.experimental.index_shuffle": "stateless_shuffle",
    "tf.data.experimental.get_model_proto": "measures the time",
    "tf.edit_distance": "Python's strings",
    "tf.keras.applications.ResNet50": "load_model",
    "tf.keras.callbacks.RemoteMonitor": "LambdaCallback",
    "tf.keras.metrics.MeanSquardError": "did you mean 'MeanSquaredError'",
    "tf.math.special.dawson": "did you mean 'dawsn'",
    "tf.nn.experimental.nosuch": "has no attribute 'nosuch'$",
    "tf.nosuch": "has no attribute 'nosuch'$",
    "tf._hidden": "has no attribute '_hidden'$",
}


@pytest.mark.parametrize("name", HINTS)
def test_an_error_says_what_there_is_instead(name):
    with pytest.raises(AttributeError, match=HINTS[name]):
        eval(name, {"tf": numtape})


def test_habits_name_what_there_is():
    """Each numtape name in a hint exists, and no hint hides a name."""
    advice = [
        *HABITS.values(),
        *INSTEAD.values(),
        *hints.REPLACEMENTS.values(),
        *BEFORE.values(),
        *BACKEND.values(),
    ]
    named = {name for said in advice for name in re.findall(r"\btf\.((?:\w+\.)*\w+)", said)}
    assert [name for name in sorted(named) if present(name) is None and name != "__version__"] == []
    assert [name for name in HABITS if name in numtape.__all__] == []


@pytest.mark.parametrize("name", sorted(hints.REPLACEMENTS))
def test_habits_with_tensors_and_variables(name):
    for value in (numtape.ones((2, 2)), numtape.Variable([1.0]), numtape.Variable(1).assign(2)):
        assert not hasattr(value, name)
        with pytest.raises(AttributeError) as error:
            getattr(value, name)
        assert re.search(f"has no attribute {name!r}: write ", str(error.value))
        assert "tf." in str(error.value) or "x" in str(error.value)


def test_methods_named_instead_of_habits_give_what_was_wanted():
    """The alternatives to NumPy's methods compute the same results."""
    array = np.array([[3.0, 1.0, 2.0], [-1.0, 5.0, 4.0]])
    x = numtape.constant(array)
    whole = "copy max mean min nbytes prod round squeeze std sum tobytes"
    for name in f"{whole} tolist var imag real conj flatten ravel all any".split():
        attribute = getattr(array if name not in ("all", "any") else array > 0, name)
        wanted = attribute() if callable(attribute) else attribute
        operand = x if name not in ("all", "any") else x > 0
        found = eval(hints.REPLACEMENTS[name], {"tf": numtape, "x": operand})
        if name == "tobytes":
            assert found == wanted
        else:
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12, err_msg=name)


def test_every_module_of_tensorflows_has_hints():
    whole = {"numtape.errors", "numtape.experimental.dlpack"}  # complete modules
    groups = {full.rpartition(".")[0] for full in table()}
    names = {name for name, module in api_modules() if "__getattr__" in vars(module)}
    wanted = {name for name, _ in api_modules() if name.removeprefix("numtape.") in groups}
    assert wanted - whole <= names


def test_status():
    assert status("math.sin") == ("present", "")
    assert status("raw_ops") == ("absent", instead("raw_ops"))
    kind, said = status("DType")
    assert kind == "partly" and "handle_data" in said


def test_the_command_prints_the_table(capsys):
    assert main(["parity"]) == 0
    shown = capsys.readouterr().out
    assert "tf.math " in shown and "tf.edit_distance: absent: use Python's strings" in shown
    assert main(["parity", "tf.math"]) == 0
    assert "tf.edit_distance" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["parity", "nosuch"])
    assert "No module 'nosuch'" in capsys.readouterr().err
