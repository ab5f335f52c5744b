"""Resident memory stays flat, and large arrays are freed."""

import sys

import pytest
from processes import run

pytestmark = [
    pytest.mark.numtape_only("numtape's memory"),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

RESIDENT = """
import gc, os, sys
import numpy as np
import numtape as tf
from numtape.core.log import local

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10  # KiB
"""

TRAINING = RESIDENT + """
steps = int(sys.argv[1])
rng = np.random.default_rng(0)
x, t = rng.standard_normal((32, 2)).astype("f"), rng.standard_normal((32, 1)).astype("f")
model = [tf.keras.layers.Dense(n, activation=a) for n, a in ((64, "tanh"), (64, "tanh"), (1, None))]
optimizer, marks = tf.keras.optimizers.SGD(0.01), []
for step in range(steps):
    with tf.GradientTape() as tape:
        y = x
        for layer in model:
            y = layer(y)
        loss = tf.reduce_mean((y - t) ** 2)
    variables = [v for layer in model for v in layer.trainable_variables]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    if step % 7 == 0:
        float(loss)
    if step in (500, steps - 1):  # the log has had its largest size by then
        marks.append(resident())
print(marks[1] - marks[0], local.log.columns.capacity, local.log.n)
"""

UNSEEN = RESIDENT + """
rounds = int(sys.argv[1])
x, v, marks = tf.constant(1.0), tf.Variable([1.0, 2.0]), []
for k in range(rounds):
    x = x * 0.5 + 1.0
    if k % 10 == 0:
        v.assign(v * 0.5 + x)
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * x)
        g = tape.gradient(y, v)
    if k in (20_000, rounds - 1):
        marks.append(resident())
print(marks[1] - marks[0], local.log.columns.capacity, local.log.n)
assert float(x) == 2.0
"""

LARGE = RESIDENT + """
size = 4 << 20  # 16 MiB of float32
def step(k):
    x = tf.Variable(np.full(size, k, np.float32))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.reshape(x * x, [-1, 2]) * 2.0)
    return float(y) and tape.gradient(y, x).numpy()[0]
step(0.5)
before = resident()
for k in range(1, 12):
    assert step(k) == 4.0 * k
float(tf.constant(1.0) + 1.0)
print((resident() - before) >> 10, len(local.log.buffers))
"""

MEBIBYTE = 1024


def grown(script, *arguments):
    growth, *rest = map(int, run(script, *arguments).split())
    return growth, *rest


@pytest.mark.parametrize("steps", [3_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_training_steps_leave_memory_flat(steps):
    growth, capacity, _ = grown(TRAINING, steps)
    assert growth < 2 * MEBIBYTE
    assert capacity <= 1 << 15


@pytest.mark.parametrize("rounds", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_iterations_that_nobody_looks_at_leave_memory_flat(rounds):
    growth, capacity, _ = grown(UNSEEN, rounds)
    assert growth < 2 * MEBIBYTE
    assert capacity <= 1 << 15


def test_large_arrays_are_freed():
    growth, buffers = grown(LARGE)
    assert growth < 64  # MiB: four arrays, of the dozens that were made
    assert buffers == 0
