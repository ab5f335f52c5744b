"""Pickling kernels and their derivatives: by name, or with their code and source."""

import pytest
from processes import output, start

pytestmark = pytest.mark.numtape_only("native loops")

# A notebook, whose cells' source exists in its own process only.
SENDER = '''
import cloudpickle, linecache, math, pickle, sys
import numpy as np, numtape as tf
CELL = """
rate = 2.0

def helper(x):
    return rate * math.sin(x)

@tf.kernel(memory_limit=1000)
def power(x, n):
    return x * power(x, n - 1) if n > 0 else helper(x)

@tf.kernel
def root(a):
    if a < 0.0:
        raise ValueError("negative")
    return math.sqrt(a)

@root.vjp
def rule(g, y, a):
    return 7.0 * g

def plain(x):
    return helper(x) * root(x)

class Tools:
    @staticmethod
    def half(x):
        return 0.5 * x

@tf.kernel
def halved(x):
    return Tools.half(x) * x

def inside(c):
    @tf.kernel
    def scaled(x):
        return c * x * x
    return scaled
"""
linecache.cache["<cell>"] = len(CELL), None, CELL.splitlines(True), "<cell>"
exec(compile(CELL, "<cell>", "exec"))

local = inside(3.0)
assert cloudpickle.loads(cloudpickle.dumps(local)) is local
for same in (pickle, cloudpickle):
    assert same.loads(same.dumps(power)) is power
slope = tf.grad(power)
assert pickle.loads(pickle.dumps(slope))(0.5, 0) == slope(0.5, 0)
sent = slope, tf.grad(root), tf.grad(plain), tf.jacobian(local), power, plain, tf.grad(halved)
with open(sys.argv[1], "wb") as file:
    for _ in range(2):
        cloudpickle.dump(sent, file)
print(slope(0.5, 2), tf.grad(plain)(0.5), power(0.5, 2))
'''

# It forwards its pickles before it compiles any of them.
WORKER = """
import cloudpickle, pickle, sys, numtape as tf
with open(sys.argv[1], "rb") as file:
    sent = pickle.load(file)
    again = pickle.load(file)
if len(sys.argv) > 2:
    with open(sys.argv[2], "wb") as file:
        for _ in range(2):
            cloudpickle.dump(sent, file)
slope, root, plain, local, power, _, halved = sent
assert again[4] is power and again[0]._kernel is power and again[2]._kernel is plain._kernel
print(slope(0.5, 2), plain(0.5), power(0.5, 2), root(4.0), local(2.0), halved(3.0))
assert "stand_in" not in repr(power)
try:
    slope(0.5, 100)
except tf.errors.ResourceExhaustedError as error:
    print("1000 bytes" in str(error))
print(*{f.python_function.__code__.co_filename for f in (power, local._kernel, root._kernel)})
"""


@pytest.mark.slow
def test_kernels_of_a_notebook_go_to_other_processes(tmp_path):
    pytest.importorskip("cloudpickle")
    sent = output(start(SENDER, tmp_path / "sent")).split()
    found = output(start(WORKER, tmp_path / "sent", tmp_path / "next")).split()
    assert found == [*sent, "7.0", "12.0", "3.0", "True", "<cell>"]
    assert output(start(WORKER, tmp_path / "next")).split() == found


# Functions of two versions of one file that differ only in a constant.
EDITED = '''
import cloudpickle, linecache, pickle, sys, numtape as tf
TEXT = """
@tf.kernel
def scaled(x):
    return {} * x

@tf.kernel
def chosen(x):
    return x * x if x > 0.0 else {} * x
"""
sent = []
for factor in (2.0, 3.0):
    text = TEXT.format(factor, factor)
    linecache.cache["<cell>"] = len(text), None, text.splitlines(True), "<cell>"
    exec(compile(text, "<cell>", "exec"))
    sent.append(cloudpickle.dumps((tf.grad(scaled), tf.grad(chosen))))
with open(sys.argv[1], "wb") as file:
    pickle.dump(sent, file)
'''

RECEIVER = """
import pickle, sys, numtape as tf
with open(sys.argv[1], "rb") as file:
    sent = [pickle.loads(text) for text in pickle.load(file)]
print(*(slope(-1.0) for slopes in sent for slope in slopes))
"""


def test_kernels_of_two_states_of_a_file(tmp_path):
    pytest.importorskip("cloudpickle")
    output(start(EDITED, tmp_path / "sent"))
    assert output(start(RECEIVER, tmp_path / "sent")) == "2.0 2.0 3.0 3.0"


# All have different code.
TEXTS = [
    "def f(x): return x + 1",
    "def f(x): return x + 2",
    "def f(x): return x + 1.0",
    "def f(x): return x + True",
    "def f(x): return x - 1",
    "def f(y): return y + 1",
    "def f(x): return x +  1",
    "\ndef f(x): return x + 1",
    "def g(x): return x + 1",
    "def f(x): return x + 0.0",
    "def f(x): return x + -0.0",
    "def f(x): return x.real",
    "def f(x): return x.imag",
    "def f(x): return (1, 2.0)",
    "def f(x): return (1, 2)",
    "def f(x): return x in {1, 2}",
    "def f(x): return x in {1, 3}",
    "def f(x): return x in {'a', 'b', 'c', 'd'}",
    "def f(x): return x in {'a', 'b', 'c', 'e'}",
    "def f(x): return [y + 1 for y in x]",
    "def f(x): return [y + 2 for y in x]",
    "def f(x): return lambda: x + 1",
    "def f(x): return lambda: x + 2",
]

KEYS = """
import sys
from numtape.kernel.pickling import _code_key
for text in sys.argv[2:]:
    space = {}
    exec(compile(text, sys.argv[1], "exec"), space)
    print(_code_key((space.get("f") or space["g"]).__code__))
"""


def test_keys_of_code_do_not_depend_on_its_file_or_process():
    children = [start(KEYS, f"<{seed}>", *TEXTS, PYTHONHASHSEED=seed) for seed in "12"]
    first, second = (output(child).split() for child in children)
    assert first == second
    assert len(set(first)) == len(TEXTS)
