"""Representations of objects: reprs, notebooks, modules, recorded paths."""

import json
import re
import shutil
import subprocess
import sys
import types
import weakref

import pytest
from api_modules import api_modules
from processes import environment

pytestmark = pytest.mark.numtape_only(reason="TensorFlow shows other things")


@pytest.mark.parametrize("name", [name for name, _ in api_modules()])
def test_modules_list_public_names(name):
    module = dict(api_modules())[name]
    assert set(dir(module)) <= {*module.__all__, "__version__"}


def test_tapes_say_what_they_hold(tf):
    v = tf.Variable(1.0)
    tape = tf.GradientTape()
    assert repr(tape) == "<a GradientTape: never entered>"
    with tape:
        y = v * v
        assert repr(tape) == "<a GradientTape: recording, 1 variable watched>"
    assert repr(tape) == "<a GradientTape: recorded, 1 variable watched>"
    assert tape.gradient(y, v).numpy() == 2.0
    assert repr(tape) == "<a GradientTape: asked already, 1 variable watched>"
    assert repr(tf.GradientTape(persistent=True)) == "<a persistent GradientTape: never entered>"


def test_generators_say_where_they_are(tf):
    generator = tf.random.Generator.from_seed(3)
    assert repr(generator) == "<Generator alg='philox', state=[3, 0, 0]>"
    generator.normal([2])
    assert repr(generator) == f"<Generator alg='philox', state={generator.state.numpy().tolist()}>"
    assert generator.state.numpy().tolist() != [3, 0, 0]


def test_modules_of_variables_say_what_they_hold(tf):
    class Line(tf.Module):
        def __init__(self):
            super().__init__()
            self.slope, self.shift = tf.Variable(1.0), tf.Variable(0.0)

    assert repr(Line()) == "<Line name=line, 2 variables>"
    assert repr(tf.Module()) == "<Module name=module, 0 variables>"
    assert "dense" in repr(tf.keras.layers.Dense(2))
    assert "adam" in repr(tf.keras.optimizers.Adam())


def test_notebooks_show_a_short_value(tf):
    x = tf.constant([[1.0, 2.0]])
    assert x._repr_html_() == (
        "<pre>&lt;tf.Tensor: shape=(1, 2), dtype=float32, numpy=array([[1., 2.]], "
        "dtype=float32)&gt;</pre>"
    )
    v = tf.Variable(x, name="a<b")
    assert v._repr_html_().startswith("<pre>&lt;tf.Variable 'a&lt;b:0' shape=(1, 2)")
    long = tf.zeros((300, 2))._repr_html_()
    assert long.count("\n") == 20 and re.search(r"\.\.\. \(\d+ lines\) \.\.\.", long)
    assert v.assign(x)._repr_html_().startswith("<pre>")


def test_weak_references_to_variables(tf):
    v = tf.Variable(1.0)
    reference = weakref.ref(v)
    assert reference() is v
    del v
    assert reference() is None


@pytest.mark.records
def test_paths_show_the_programs_names(tf):
    w, scale = tf.Variable(2.0), 3
    state = types.SimpleNamespace(rate=0.5)
    optimizer = tf.keras.optimizers.Adam(0.1)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = scale * state.rate * (w * x) ** 2
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    for _ in range(3):
        step(tf.constant(1.0))
    (path,) = step.paths()
    assert path.hits >= 1
    names = [name for name, _ in path.names]
    assert {"scale", "state.rate"} <= {*names}
    assert [name for name in names if name.startswith("optimizer.")] == []
    line = next(line for line in repr(step.paths()).split("\n") if line.startswith("   with "))
    assert sorted(line.removeprefix("   with ").split(", ")) == ["scale = 3", "state.rate = 0.5"]


USE = """
import numtape as tf
x = tf.constant([1.0])
v = tf.Variable(1.0)
reveal_type(x.numpy())
reveal_type(x == x)
reveal_type(v == 1)
with tf.GradientTape() as tape:
    y = tf.sin(x) + tf.add(x, y=v)
reveal_type(tape.gradient(y, x))
reveal_type(tape.gradient(y, [v, v]))

@tf.function
def f(a: tf.Tensor, n: int) -> tf.Tensor:
    return a * n

@tf.function(jit_compile=True)
def g(a: tf.Tensor) -> tf.Tensor:
    return tf.abs(x=a)

reveal_type(f(x, 2))
reveal_type(g(x))
f(x)  # call-arg
tf.nosuch  # attr-defined
tf.nn.nosuch  # attr-defined
tf.keras.layers.nosuch  # attr-defined
tf.sin(1, 2, 3)  # call-overload
tf.sin()  # call-overload
tf.add()  # call-overload
tf.add(1)  # call-overload
tf.add(1, 2, "name", 4)  # call-overload
tf.reduce_sum(x, nosuch=1)  # call-arg arg-type
tf.reduce_sum(x, 1, True, None, 5)  # call-arg
tf.nn.relu(features=x)
tf.atan2(y=x, x=x)
x[0] = 1.0  # index
tf.function(f, nosuch=1)  # call-overload
x.sum()  # attr-defined
"""
TYPES = [
    "numpy.ndarray[Any, Any] | Any",
    "Tensor",
    "Tensor",
    "Tensor | Any",
    "list[Tensor | Any]",
    "Tensor",
    "Tensor",
]


# A user's program: each line of `reveal_type` ends with the type, without modules.
PROGRAM = """
import numpy as np
import numtape as tf
from numtape import keras

model = keras.Sequential([keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])
reveal_type(model)  #: Sequential
model.compile(optimizer="adam", loss="mse")
history = model.fit(np.ones((4, 2)), np.ones((4, 1)), epochs=2, verbose=0)
reveal_type(history)  #: History
reveal_type(history.history["loss"])  #: list[Any]
reveal_type(model.predict(np.ones((4, 2))))  #: ndarray[Any, Any]
reveal_type(model(np.ones((4, 2))))  #: Tensor | Any
reveal_type(model.trainable_variables)  #: list[Variable]
inputs = keras.Input((2,))
reveal_type(inputs)  #: KerasTensor
reveal_type(keras.Model(inputs, keras.layers.Dense(1)(inputs)))  #: Model
dataset = tf.data.Dataset.from_tensor_slices((np.ones((4, 2)), np.ones(4))).shuffle(4).batch(2)
reveal_type(dataset)  #: Dataset
for features, labels in dataset:
    reveal_type(features)  #: Tensor | Any

@tf.kernel
def energy(x: float, k: float) -> float:
    return 0.5 * k * x * x

reveal_type(energy(1.0, 2.0))  #: float

@tf.kernel(fastmath=True)
def count(x: int) -> int:
    return x + 1

reveal_type(count(1))  #: int
energy(1.0)  # call-arg
optimizer = keras.optimizers.Adam(1e-3)
reveal_type(optimizer)  #: Adam
reveal_type(keras.losses.MeanSquaredError()(np.ones(3), np.ones(3)))  #: Tensor
reveal_type(keras.ops.sum(tf.ones(3)))  #: Tensor | Any
reveal_type(tf.array_api.sin(tf.ones(3)))  #: Tensor
reveal_type(tf.ones((2, 2)).T)  #: Tensor

class Net(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(2)

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        return tf.nn.relu(self.dense(x))

reveal_type(Net()(tf.ones((1, 2))))  #: Tensor | Any
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.square(model(tf.ones((4, 2)))))
gradients = tape.gradient(loss, model.trainable_variables)
reveal_type(gradients)  #: list[Tensor | Any]
optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


def expected_types():
    return [x.partition("  #: ")[2] for x in PROGRAM.split("\n") if "  #: " in x]


def short(name):
    """A type without modules."""
    return re.sub(r"\b(numtape|numpy|builtins)\.([\w]+\.)*", "", name)


@pytest.mark.slow
def test_mypy_sees_the_types_of_a_program(tmp_path):
    api = pytest.importorskip("mypy.api")
    (tmp_path / "program.py").write_text(PROGRAM)
    cache = str(tmp_path / "cache")
    options = ["--strict", "--no-error-summary", "--no-color-output", "--cache-dir", cache]
    shown, _, _ = api.run([str(tmp_path / "program.py"), *options])
    assert [*map(short, re.findall(r'Revealed type is "(.*)"', shown))] == expected_types(), shown
    errors = re.findall(r"program.py:\d+: error: .*\[([\w-]+)\]", shown)
    assert errors == ["call-arg"], shown


@pytest.mark.slow
def test_pyright_sees_the_types_of_a_program(tmp_path):
    said = pyright_diagnostics(tmp_path, PROGRAM)
    types = [
        re.search(r'is "(.*)"', one["message"])[1]
        for one in said
        if one["severity"] == "information"
    ]
    assert [*map(short, types)] == expected_types(), said
    lines = [one["range"]["start"]["line"] for one in said if one["severity"] == "error"]
    assert [PROGRAM.split("\n")[k] for k in lines] == ["energy(1.0)  # call-arg"], said


def pyright_diagnostics(folder, program):
    """What pyright says about a program."""
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    (folder / "use.py").write_text(program)
    done = subprocess.run(
        [pyright, "--outputjson", "--pythonpath", sys.executable, "use.py"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    return json.loads(done.stdout)["generalDiagnostics"]


@pytest.mark.slow
def test_type_checkers_know(tmp_path):
    api = pytest.importorskip("mypy.api")
    (tmp_path / "use.py").write_text(USE)
    shown, _, _ = api.run(
        [
            str(tmp_path / "use.py"),
            "--strict",
            "--no-error-summary",
            "--no-color-output",
            "--cache-dir",
            str(tmp_path / "cache"),
        ]
    )
    revealed = re.findall(r'Revealed type is "(.*)"', shown)
    assert [
        re.sub(r"numtape\.[\w.]*\.", "", one).replace("builtins.", "") for one in revealed
    ] == TYPES, shown
    codes = dict(re.findall(r"use.py:(\d+): error: .*\[([\w-]+)\]", shown))
    assert [int(line) for line in codes] == [k for k, _ in wrong()], shown
    for k, line in wrong():  # versions of mypy differ: a line lists all codes
        assert codes[str(k)] in line.partition("  # ")[2].split(), shown


def wrong():
    """The lines of the program that a type checker must reject, with their numbers."""
    return [(k, line) for k, line in enumerate(USE.split("\n"), 1) if "  # " in line]


@pytest.mark.slow
def test_pyright_knows(tmp_path):
    said = pyright_diagnostics(tmp_path, USE)
    types = re.findall(
        r'is "(.*)"\n',
        "".join(
            one["message"].partition(" of ")[2] + "\n"
            for one in said
            if one["severity"] == "information"
        ),
    )
    assert [one.replace("ndarray", "numpy.ndarray") for one in types] == TYPES
    lines = [one["range"]["start"]["line"] + 1 for one in said if one["severity"] == "error"]
    assert sorted(set(lines)) == [k for k, _ in wrong()], said
