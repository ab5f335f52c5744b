"""TensorFlow's names: each is there, or an error says what to use instead."""

import types

import pytest
from tensorflow_names import names as installed_names
from test_parity import installed

import numtape
from numtape.__main__ import main
from numtape.names import instead, present, status, table

pytestmark = pytest.mark.numtape_only(reason="about numtape's names")


def test_each_name_of_tensorflow_is_there_or_something_else_is_named():
    silent = [name for name in table() if present(name) is None and not instead(name)]
    assert silent == ["newaxis"]


def test_the_table_is_that_of_the_installed_tensorflow():
    tensorflow = installed()
    found = dict(line.partition(" ")[::2] for line in installed_names(tensorflow))
    wanted = {f"tf.{name}": " ".join(arguments) for name, arguments in table().items()}
    assert found == wanted


HINTS = {
    "tf.math.softmaxx": "did you mean 'softmax'?",
    "tf.math.relu": "did you mean tf.nn.relu?",
    "tf.log": "use tf.math.log",
    "tf.arange": "use tf.range",
    "tf.TensorArray": "append to a Python list",
    "tf.strings.join": "no string tensors",
    "tf.keras.layers.GroupQueryAttention": "write this one as a `Layer`",
    "tf.math.special.dawson": "did you mean 'dawsn'",
    "tf.nn.experimental.nosuch": "has no attribute 'nosuch'$",
    "tf.nosuch": "has no attribute 'nosuch'$",
    "tf._hidden": "has no attribute '_hidden'$",
}


@pytest.mark.parametrize("name", HINTS)
def test_an_error_says_what_there_is_instead(name):
    with pytest.raises(AttributeError, match=HINTS[name]):
        eval(name, {"tf": numtape})


def api_modules(module=numtape, path="numtape"):
    """The modules that users reach from numtape, by name."""
    yield path, module
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, types.ModuleType) and value.__name__.startswith("numtape"):
            yield from api_modules(value, f"{path}.{name}")


def test_every_module_of_tensorflows_has_hints():
    whole = {"numtape.errors", "numtape.experimental.dlpack"}  # nothing is missing there
    groups = {full.rpartition(".")[0] for full in table()}
    names = {name for name, module in api_modules() if "__getattr__" in vars(module)}
    wanted = {name for name, _ in api_modules() if name.removeprefix("numtape.") in groups}
    assert wanted - whole <= names


def test_status():
    assert status("math.sin") == ("present", "")
    assert status("strings") == ("absent", instead("strings"))
    kind, said = status("DType")
    assert kind == "partly" and "handle_data" in said


def test_the_command_prints_the_table(capsys):
    assert main(["parity"]) == 0
    shown = capsys.readouterr().out
    assert "tf.math " in shown and "tf.strings: absent: numtape has no string tensors" in shown
    assert main(["parity", "tf.math"]) == 0
    assert "tf.strings" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["parity", "nosuch"])
    assert "No module 'nosuch'" in capsys.readouterr().err
