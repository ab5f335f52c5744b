"""Functions that run as plain Python: in an unknown Python version, or without a recording.

Such a function receives the caller's own objects, and has its effects once for each call.
"""

import itertools
import random
import re
import subprocess
import sys
import time
import types
import weakref
from pathlib import Path

import numpy as np
import pytest
from processes import ROOT, SUPPORT, environment

import numtape as tf

pytestmark = pytest.mark.numtape_only("how functions run that numtape does not record")

FOLDER = Path(__file__).parent
# Tests that also hold in a Python with unknown internals.
FILES = (
    *sorted(FOLDER.glob("test_state_*.py")),
    FOLDER / "test_function.py",
    FOLDER / "test_function_arguments.py",
    FOLDER / "test_function_gradients.py",
)


@pytest.mark.records
def test_functions_in_an_unknown_python_version():
    child = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "unknown_python",
            "-p",
            "no:cacheprovider",
            *map(str, FILES),
        ],
        env=environment(PYTHONPATH=f"{ROOT}:{SUPPORT}"),
        cwd=ROOT,
        timeout=300,
        capture_output=True,
        text=True,
    )
    assert child.returncode == 0, child.stdout[-5000:] + child.stderr[-2000:]
    passed, skipped = (re.search(rf"(\d+) {x}", child.stdout)[1] for x in ("passed", "skipped"))
    assert int(passed) > 50 * int(skipped)


@pytest.mark.records
@pytest.mark.parametrize("name", ["cuda.py", "cuda/__init__.py", "numba_cuda.py"])
def test_modules_of_the_program_that_are_named_like_libraries(name, tmp_path):
    """They are observed like the rest of the program, and so is the script beside them."""
    module = tmp_path / name
    module.parent.mkdir(exist_ok=True)
    module.write_text("scale = 2.0\n\ndef scaled(x):\n    return x * scale\n")
    script = tmp_path / "script.py"
    script.write_text(
        f"import numtape as nt, {Path(name).parts[0].removesuffix('.py')} as own\n"
        "shift = 0.0\n"
        "f = nt.function(lambda x: own.scaled(x) + shift)\n"
        "for _ in range(4):\n"
        "    print(float(f(nt.constant(1.0))))\n"
        "    own.scale, shift = own.scale + 1.0, shift + 10.0\n"
    )
    child = subprocess.run(
        [sys.executable, str(script)],
        env=environment(),
        cwd=tmp_path,
        timeout=120,
        capture_output=True,
        text=True,
    )
    assert child.stdout.split() == ["2.0", "13.0", "24.0", "35.0"], child.stderr


class Ends:
    """An object whose deletion is observable."""

    def __init__(self, said):
        self.said = said

    def __del__(self):
        self.said.append("end")


class Plain:
    """A class without attributes."""


def reasons(said):
    """The reasons why a recording is refused."""
    outside, state, table = iter(range(100)), types.SimpleNamespace(), {k: k for k in range(100)}

    def count():
        yield from range(100)

    generator, numbers = count(), itertools.count()
    return {
        "time": time.time,
        "random": random.random,
        "random of NumPy": np.random.rand,
        "iterator": lambda: said.append(next(outside)),
        "generator": lambda: said.append(next(generator)),
        "counter of C": lambda: said.append(next(numbers)),
        "zip": lambda: said.extend(zip(outside, range(1), strict=False)),
        "deleted item": lambda: table.__delitem__(len(table) - 1),
        "deleted entry": lambda: drop(table),
        "popped": lambda: said.append(table.popitem()),
        "finalizer": lambda: Ends(said),
        "weak reference": lambda: weakref.ref(Plain()),
        "trace function": lambda: sys.settrace(None),
        "function of Python": lambda: tf.py_function(lambda: 1.0, [], tf.float32),
        "class attribute of C": lambda: state.__class__.__dict__,
        "sorted by C": lambda: sorted([2.0, 1.0], key=lambda x: time.time() * 0.0 + x),
    }


def drop(table):
    del table[len(table) - 1]


def questions():
    """Functions that distinguish the caller's objects from copies."""
    held = []

    def keep(x, items, x0, items0):
        held.append(items)
        held[-1].append(x)
        return len(held)

    return {
        "is": lambda x, items, x0, items0: x is x0,
        "list is": lambda x, items, x0, items0: items is items0,
        "id": lambda x, items, x0, items0: id(x) == id(x0),
        "any": lambda x, items, x0, items0: any(x is y for y in [x0]),
        "another name": lambda x, items, x0, items0: items0.append(x) or len(items),
        "read by another name": lambda x, items, x0, items0: items.append(x) or len(items0),
        "set": lambda x, items, x0, items0: items.__setitem__(0, x) or float(items0[0]),
        "slices": lambda x, items, x0, items0: change(items) or sum(map(float, items0)),
        "kept": keep,
    }


def change(items):
    items[1:] = [3.0, 4.0]
    items += [5.0]
    del items[0]


def outcome(decorate, reason, question, before):
    """The results of three calls, the state after them, and their effects."""
    said = []
    refused, asked = reasons(said)[reason], questions()[question]
    x0, items0 = tf.constant(1.5), [tf.constant(2.0)]

    def function(x, items):
        if before:
            refused()
            found = asked(x, items, x0, items0)
        else:
            found = asked(x, items, x0, items0)
            refused()
        return x * 0.0 + float(found)

    called = decorate(function)
    found = [(float(called(x0, items0)), len(items0)) for _ in range(3)]
    return found, said


@pytest.mark.filterwarnings("ignore:.*runs as plain Python")
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("question", questions())
@pytest.mark.parametrize("reason", reasons([]))
def test_calls_without_a_recording_get_the_callers_objects(reason, question, before):
    case = reason, question, before
    assert outcome(tf.function, *case) == outcome(lambda f: f, *case)


@pytest.mark.filterwarnings("ignore:.*runs as plain Python")
def test_effects_happen_once_if_a_call_restarts():
    import threading

    lock, said = threading.Lock(), []

    @tf.function
    def locked(x):
        lock.acquire()
        said.append(time.time() > 0.0)
        lock.release()
        return x

    @tf.function
    def counted(x):
        said.append("counted")
        return x * (time.time() > 0.0)

    assert float(locked(tf.constant(1.0))) == 1.0
    assert not lock.locked()
    assert said == [True]
    assert float(counted(tf.constant(1.0))) == 1.0
    assert said == [True, "counted"]


@pytest.mark.filterwarnings("ignore:.*runs as plain Python")
def test_draws_and_assigns_happen_once_if_a_call_restarts():
    v = tf.Variable(0.0)

    def step(x):
        v.assign_add(x)
        return tf.random.normal(()) + 0.0 * float(time.time() > 0.0)

    found = []
    for decorate in (tf.function, lambda f: f):
        tf.random.set_seed(7)
        v.assign(0.0)
        call = decorate(step)
        found.append(([float(call(tf.constant(1.0))) for _ in range(3)], float(v)))
    assert found[0] == found[1]
