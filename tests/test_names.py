"""TensorFlow's names: each is there, or an error says what to use instead."""

import pytest
from tensorflow_names import names as installed_names
from test_parity import installed

import numtape
from numtape.__main__ import main
from numtape.names import instead, status, table

pytestmark = pytest.mark.numtape_only(reason="about numtape's names")


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
    "tf.keras.layers.MultiHeadAttention": "write this one as a `Layer`",
    "tf.nosuch": "has no attribute 'nosuch'$",
    "tf._hidden": "has no attribute '_hidden'$",
}


@pytest.mark.parametrize("name", HINTS)
def test_an_error_says_what_there_is_instead(name):
    with pytest.raises(AttributeError, match=HINTS[name]):
        eval(name, {"tf": numtape})


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
