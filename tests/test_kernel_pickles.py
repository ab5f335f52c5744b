"""Kernels and their derivatives go to other processes: by name, or with their code and source."""

import pytest
from processes import output, start

pytestmark = pytest.mark.numtape_only("native loops")

# A notebook: its cells' source is known in its own process only.
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
sent = slope, tf.grad(root), tf.grad(plain), tf.jacobian(local), power, plain
with open(sys.argv[1], "wb") as file:
    for _ in range(2):
        cloudpickle.dump(sent, file)
print(slope(0.5, 2), tf.grad(plain)(0.5))
'''

WORKER = """
import pickle, sys, numtape as tf
with open(sys.argv[1], "rb") as file:
    slope, root, plain, local, power, _ = pickle.load(file)
    again = pickle.load(file)
assert again[4] is power and again[0]._kernel is power and again[2]._kernel is plain._kernel
print(slope(0.5, 2), plain(0.5), root(4.0), local(2.0))
try:
    slope(0.5, 100)
except tf.errors.ResourceExhaustedError as error:
    print("1000 bytes" in str(error))
"""


def test_kernels_of_a_notebook_go_to_other_processes(tmp_path):
    pytest.importorskip("cloudpickle")
    sent = output(start(SENDER, tmp_path / "sent")).split()
    found = output(start(WORKER, tmp_path / "sent")).split()
    assert found == [*sent, "7.0", "12.0", "True"]
