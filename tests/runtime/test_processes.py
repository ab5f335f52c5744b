"""Child processes of the tests find the same packages as this process, numtape first."""

import os

import pytest
from processes import PACKAGE, run

pytestmark = [
    pytest.mark.numtape_only("about the tests' own children"),
    pytest.mark.cpu_only("the same on each device"),
]


def test_a_child_finds_packages_that_only_the_environment_names(tmp_path, monkeypatch):
    """As after `pip install --target`; a numtape in that folder is not imported."""
    (tmp_path / "found_there.py").write_text("NAME = 'there'")
    (tmp_path / "numtape").mkdir()
    (tmp_path / "numtape" / "__init__.py").write_text("raise ImportError('another numtape')")
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path), before])))
    script = "import found_there, numtape; print(found_there.NAME, numtape.__file__)"
    assert run(script) == f"there {PACKAGE / '__init__.py'}"


def test_a_child_needs_no_such_variable(monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    script = "import os, numtape; print(os.environ['PYTHONPATH'])"
    assert run(script) == str(PACKAGE.parent)
