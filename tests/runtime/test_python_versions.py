"""Which Pythons run numtape: free-threaded builds, and versions whose internals are not known."""

import subprocess
import sys
import tomllib

import pytest
from processes import ROOT, SUPPORT, environment, run

from numtape.core.cpython import version

pytestmark = pytest.mark.numtape_only("how numtape uses CPython's internals")

WITHOUT_GIL = """
import sys
sys._is_gil_enabled = lambda: False
try:
    import numtape
except ImportError as error:
    print(error)
print(sys.modules.keys() & {"llvmlite", "numba", "numpy", "numtape"})
sys._is_gil_enabled = lambda: True  # an extension module was imported that needs it
import numtape
print(float(numtape.constant(1.0) + 1.0))
"""


def test_without_gil_the_import_fails_at_once():
    error, imported, result = run(WITHOUT_GIL).splitlines()
    assert "the global interpreter lock (GIL), which is off" in error
    assert "PYTHON_GIL=1 or -X gil=1" in error
    assert imported == "set()"
    assert float(result) == 2.0


UNKNOWN = """
import sys, traceback, unknown_python, warnings
import numtape as tf
from numtape.__main__ import info

said, scale = [], 2.0

@tf.function
def step(v):
    said.append("called")
    with tf.GradientTape() as tape:
        y = scale * v * v
    return tape.gradient(y, v)

v = tf.Variable(3.0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for k in range(20):
        scale = 2.0 + k
        assert float(step(v)) == 6.0 * scale
assert len(said) == 20
assert [x.category for x in caught] == [RuntimeWarning]
assert "Python 3.16 is not a supported version" in str(caught[0].message)
print(step.paths())
try:
    tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
except tf.errors.InvalidArgumentError as error:
    assert len(traceback.extract_tb(error.__traceback__)) > 1
info()
assert unknown_python.calls == []
"""


def test_what_a_later_python_meets():
    lines = run(UNKNOWN, PYTHONPATH=f"{ROOT}:{SUPPORT}").splitlines()
    assert lines[0] == "0 recorded paths"
    values = {line[:11].strip(): line[12:].strip() for line in lines[2:]}
    reason = "Python 3.16 is not a supported version: 3.11 to 3.15"
    for name in ("recorders", "evaluations", "gradients", "replays"):
        assert values[name] == f"Python: {reason}"
    assert values["CPython"] == reason
    assert values["frames"] == "functions are not replayed"
    assert values["handlers"] == "tracebacks show numtape's own functions"


def test_unknown_calls_are_noticed():
    script = "import unknown_python; from numtape.core.cpython import api; api.word_at(id(1))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(PYTHONPATH=f"{ROOT}:{SUPPORT}"),
        capture_output=True,
        text=True,
    )
    assert "word_at is called in an unknown version of Python" in done.stderr


def test_known_versions_are_those_of_the_metadata():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    listed = [x.removeprefix(prefix) for x in project["classifiers"] if x.startswith(prefix)]
    assert [(3, int(minor)) for minor in listed] == list(version.KNOWN)
    # No upper bound: an unknown version runs numtape as plain Python.
    assert project["requires-python"] == ">=" + ".".join(map(str, version.KNOWN[0]))
