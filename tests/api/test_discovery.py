"""How numtape explains itself: `dir`, imports of absent names, commands, messages."""

import importlib.util
import subprocess
import sys

import pytest
from processes import environment

pytestmark = pytest.mark.numtape_only(reason="TensorFlow says less")


def objects(tf):
    keras = tf.keras
    dense = keras.layers.Dense(2)
    model = keras.Sequential([keras.layers.Dense(1)])
    variable = tf.Variable([1.0, 2.0])
    return {
        "tensor": tf.constant([1.0]),
        "slice": variable[0],
        "variable": variable,
        "alias": variable.assign([3.0, 4.0]),
        "module": tf.Module(),
        "layer": dense,
        "recurrent layer": keras.layers.LSTM(2),
        "model": model,
        "functional model": keras.Model(i := keras.Input((2,)), dense(i)),
        "optimizer": keras.optimizers.Adam(),
        "metric": keras.metrics.Mean(),
        "loss": keras.losses.MeanSquaredError(),
        "dataset": tf.data.Dataset.range(3),
        "iterator": iter(tf.data.Dataset.range(3)),
        "shape": tf.TensorShape([2, None]),
        "spec": tf.TensorSpec([2]),
        "dtype": tf.float32,
        "function": tf.function(lambda x: x),
        "tape": tf.GradientTape(),
        "operator": tf.linalg.LinearOperatorIdentity(2),
    }


def test_dir_lists_what_works(tf):
    for kind, thing in objects(tf).items():
        names = [name for name in dir(thing) if not name.startswith("_")]
        assert [name for name in names if not hasattr(thing, name)] == [], kind
        assert len(names) >= 2, kind
    assert {"numpy", "shape", "T"} <= set(dir(tf.ones((2, 2))))
    for name in ("backward", "reshape", "eval", "op", "assign"):
        assert name not in dir(tf.constant(1.0)), name
    assert "assign" in dir(tf.Variable([1.0])[0])
    model = tf.keras.Sequential()
    assert "zero_grad" not in dir(model) and "fit" in dir(model)
    model.zero_grad = 3  # set by a program
    assert "zero_grad" in dir(model)


IMPORTS = {
    "from numtape.keras.layers import Dens": "did you mean 'Dense'?",
    "from numtape.keras import layrs": "did you mean 'layers'?",
    "from numtape import jit": "use tf.function",
    "from numtape import vmap": "use tf.vectorized_map",
    "from numtape import PRNGKey": "Generator.from_seed",
    "from numtape.nn import Linear": "tf.keras.layers.Dense",
    "import numtape.numpy": "numtape.array_api",
    "import numtape.numpy as jnp": "numtape.array_api",
    "import numtape.nn.functional as F": "use tf.nn",
    "import numtape.keras.layrs": "did you mean 'layers'?",
}


@pytest.mark.parametrize("code", IMPORTS)
def test_imports_of_absent_names(code):
    with pytest.raises(ImportError) as caught:
        exec(code, {})
    assert IMPORTS[code] in str(caught.value)
    kind = ModuleNotFoundError if code.startswith("import") else ImportError
    assert type(caught.value) is kind


def test_other_imports_fail_as_always(tf):
    with pytest.raises(ImportError, match=r"cannot import name 'qqqq' from 'numtape' \("):
        exec("from numtape import qqqq", {})
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'numtape\.qqqq'$"):
        exec("import numtape.qqqq", {})
    assert importlib.util.find_spec("numtape.numpy") is None
    with pytest.raises(AttributeError, match=r"use tf\.function"):
        _ = tf.jit
    assert not hasattr(tf, "jit")


HABITS = {
    "x.at[1].set(2.0)": "tensor_scatter_nd_update",
    "x.backward()": "tf.GradientTape",
    "x.item()": "float(x)",
    "x.detach()": "tf.stop_gradient",
    "x.requires_grad": "tape.watch(x)",
    "x.block_until_ready()": "x.numpy()",
    "tf.random.PRNGKey(0)": "Generator.from_seed",
    "tf.no_grad()": "stop_recording",
    "tf.vmap(f)": "tf.vectorized_map",
    "tf.jit(f)": "tf.function",
    "tf.lax.scan": "tf.scan",
    "tf.jnp.sin": "array_api",
    "tf.tree_map": "tf.nest.map_structure",
    "tf.custom_vjp": "tf.custom_gradient",
    "tf.random.key(0)": "Generator.from_seed",
    "tf.device_put(x)": "convert_to_tensor",
}


@pytest.mark.parametrize("code", HABITS)
def test_habits_of_jax_and_pytorch(tf, code):
    with pytest.raises(AttributeError) as caught:
        eval(code, {"tf": tf, "x": tf.constant([1.0, 2.0]), "f": abs})
    assert HABITS[code] in str(caught.value)


@pytest.mark.parametrize(("kind", "name", "meant"), [
    ("losses", "sparse_crossentropy", "sparse_categorical_crossentropy"),
    ("losses", "SparseCrossEntropy", "SparseCategoricalCrossentropy"),
    ("losses", "binary_cross_entropy", "binary_crossentropy"),
    ("losses", "nll", "sparse_categorical_crossentropy"),
    ("losses", "mean_square_error", "mean_squared_error"),
    ("optimizers", "momentum", "sgd"),
    ("optimizers", "rms", "rmsprop"),
    ("activations", "lrelu", "leaky_relu"),
    ("activations", "rleu", "relu"),
    ("metrics", "acurracy", "accuracy"),
    ("metrics", "sparse_accuracy", "sparse_categorical_accuracy"),
    ("initializers", "xavier_uniform", "glorot_uniform"),
    ("initializers", "kaiming_normal", "he_normal"),
])  # fmt: skip
def test_names_by_meaning(tf, kind, name, meant):
    with pytest.raises(ValueError, match=rf"Did you mean '{meant}'\?"):
        getattr(tf.keras, kind).get(name)


def test_channels_that_do_not_fit(tf):
    for conv, filters in ((tf.nn.conv2d, [3, 3, 4, 5]), (tf.nn.depthwise_conv2d, [3, 3, 4, 1])):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            conv(tf.ones([1, 8, 8, 3]), tf.ones(filters), [1, 1, 1, 1], "SAME")
        assert "[1, 8, 8, 3] has 3 channels" in str(caught.value)
        assert f"{filters} expects 4" in str(caught.value)


def test_columns_that_are_not_numbers(tf):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 2.0], "name": ["x", "y"], "ok": [True, False]})
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    for use in (tf.constant, lambda x: model.predict(x, verbose=0)):
        with pytest.raises(ValueError, match=r"not numbers: 'name' of dtype") as caught:
            use(frame)
        assert "'age'" not in str(caught.value)
        with pytest.raises(ValueError, match=r"'ok' of dtype bool: convert them"):
            use(frame[["age", "ok"]])


def test_why_a_gradient_is_none(tf):
    x, counter = tf.constant(1.0), tf.Variable(2)
    with tf.GradientTape() as tape:
        y = x * tf.cast(counter, tf.float32)
    assert tape.gradient(y, [x, counter]) == [None, None]
    assert "Call tape.watch" in tape.why(y, x)
    assert "not of floats" in tape.why(y, counter)


COMMANDS = {"--version": "numtape ", "": "usage:", "cache": "kernels,"}


@pytest.mark.parametrize("arguments", COMMANDS)
def test_commands_without_arguments(tf, arguments, tmp_path, capsys):
    from numtape.__main__ import main

    try:
        assert main(arguments.split()) == 0
    except SystemExit as ended:
        assert ended.code == 0
    assert COMMANDS[arguments] in capsys.readouterr().out


def test_the_module_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "numtape", "--version"],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("numtape ") and not done.returncode


def test_help_shows_types(tf):
    import pydoc

    model = pydoc.plain(pydoc.render_doc(tf.keras.Model.fit))
    assert "-> 'History'" in model and "x: 'DataLike'" in model
    assert "Tensor" in pydoc.plain(pydoc.render_doc(tf.keras.ops.sum))
