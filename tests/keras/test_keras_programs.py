"""Programs written for Keras run with only the import changed, and on TensorFlow itself."""

from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def source(path, library):
    """A program's text, with its imports of TensorFlow replaced."""
    lines = path.read_text("utf-8").split("\n")
    imports = ("import tensorflow", "from tensorflow")
    return "\n".join(
        line.replace("tensorflow", library, 1) if line.startswith(imports) else line
        for line in lines
    )


@pytest.mark.cpu_only(reason="programs of small layers")
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_program(tf, path, capsys):
    text = source(path, tf.__name__)
    assert ("tensorflow" in text) == (tf.__name__ == "tensorflow")
    exec(compile(text, path, "exec"), {"__name__": "__main__"})


def test_there_are_programs():
    assert len(PROGRAMS) >= 6
