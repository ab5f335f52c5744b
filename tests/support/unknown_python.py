"""A pytest plugin that makes numtape treat this Python as 3.16, whose internals it does not know.

``pytest -p unknown_python`` runs the tests as under this version. Functions that read or change
CPython's objects by their addresses raise an error, and the run fails, because in an unknown
version they could do anything. Without pytest, import this module before numtape.
"""

import importlib.util
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from unittest import mock

UNKNOWN = (3, 16)
# What `numtape.core.cpython.api` has that needs no known layout of objects.
HARMLESS = {
    "Callable",
    "MethodDef",
    "UnsupportedLayout",
    "_Null",
    "_capsule_name",
    "_capsule_pointer",
    "address_of_call",
    "capsule_contents",
    "keep_forever",
}


def load(name):
    """Import a module of `numtape.core.cpython` without importing numtape."""
    folder = Path(PathFinder.find_spec("numtape").origin).parent / "core" / "cpython"
    full_name = f"numtape.core.cpython.{name}"
    spec = importlib.util.spec_from_file_location(full_name, folder / f"{name}.py")
    module = sys.modules[full_name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


calls = []  # of functions that must not be called: the error may be caught


def refuse(name):
    """A function that must not be called."""

    def refused(*args):
        calls.append(name)
        raise AssertionError(f"{name} is called in an unknown version of Python")

    return refused


def pytest_sessionfinish(session):
    if calls:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"calls in an unknown version of Python: {calls}")


assert "numtape" not in sys.modules
with mock.patch.object(sys, "version_info", (*UNKNOWN, 0, "final", 0)):
    version = load("version")
assert version.VERSION == UNKNOWN
assert version.unsupported_reason()

api = load("api")
for name, thing in vars(api).copy().items():
    if callable(thing) and name not in HARMLESS:
        setattr(api, name, refuse(name))
api.MethodDef.function = refuse("MethodDef.function")
