"""Resident memory stays flat, and large arrays are freed."""

import sys

import pytest
from processes import run

from numtape.core.values import intern_table

pytestmark = [
    pytest.mark.numtape_only("numtape's memory"),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

RESIDENT = """
import gc, os, sys
import numpy as np
import numtape as tf
from numtape.core.log.log import local

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10  # KiB
"""

TRAINING = (
    RESIDENT
    + """
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
)

UNSEEN = (
    RESIDENT
    + """
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
)

LARGE = (
    RESIDENT
    + """
size = 4 << 20  # 16 MiB of float32
def step(k):
    x = tf.Variable(np.full(size, k, np.float32))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.reshape(x * x, [-1, 2]) * 2.0)
    return float(y) and tape.gradient(y, x).numpy()[0]
for _ in range(10):  # what is compiled, is: looks that repeat are machine code
    step(0.5)
before = resident()
for k in range(1, 12):
    assert step(k) == 4.0 * k
float(tf.constant(1.0) + 1.0)
print((resident() - before) >> 10, len(local.log.buffers))
"""
)

DIFFERENT = (
    RESIDENT
    + """
from numtape.core.values import intern_table

rounds, kind, intern_table.LIMIT = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for table in intern_table.TABLES:
    table._limit = intern_table.LIMIT
x, v, marks = tf.constant(np.arange(500_000.0)), tf.Variable(np.zeros(50_000, "f")), []

def index(k):
    assert float(x[k]) == k
    assert float(tf.gather(x, k)) == k

def slice(k):
    assert x[k : k + 3].numpy()[2] == tf.slice(x, [k], [2]).numpy()[1] + 1 == k + 2
    v[k % 50_000].assign(1.0)

def gradient(k):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v[k % 40_000 : k % 40_000 + 5]) * v[k % 50_000]
    tape.gradient(y, v)

def dims(k):  # 65,536 different ones
    k = k * 40503 % 65536
    return tuple(1 + (k >> 2 * j) % 4 for j in range(8))

def shape(k):
    n = k % 3000
    y = tf.reshape(tf.concat([x[:n], x[n : n + 4]], 0), [1, -1])
    assert y.shape[1] == n + 4
    z = tf.tile(tf.ones(dims(k)), [1] * 7 + [2])
    assert z.shape[7] == 2 * dims(k)[7]

def look(k):
    n = k % 2000 + 1
    assert float(tf.reduce_sum(tf.ones([n, k // 2000 + 1]), 0)[0]) == n

def shape_gradient(k):
    u = tf.constant(np.ones(dims(k), "f"))
    with tf.GradientTape() as tape:
        tape.watch(u)
        y = tf.reduce_sum(tf.tanh(u) * u)
    assert tape.gradient(y, u).shape == u.shape

def constant(k):
    assert float(x[1] * (k + 0.5)) == k + 0.5

work = globals()[kind]
for k in range(rounds):
    work(k)
    if k in (rounds // 2, rounds - 1):
        float(tf.constant(1.0) + 1.0)
        marks.append(resident())
print(marks[1] - marks[0], local.log.columns.capacity, local.log.n)
"""
)

MEBIBYTE = 1024


def settled(holds, script, *arguments):
    """The numbers that a script prints, from a second run if ``holds`` is false after the first.

    The first run may have compiled kernels, which takes memory as well.
    """
    numbers = grown(script, *arguments)
    return numbers if holds(*numbers) else grown(script, *arguments)


def grown(script, *arguments, **options):
    growth, *rest = map(int, run(script, *arguments, **options).split())
    return growth, *rest


@pytest.mark.parametrize("steps", [1_500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_training_steps_leave_memory_flat(steps):
    growth, capacity, _ = grown(TRAINING, steps)
    assert growth < 2 * MEBIBYTE
    assert capacity <= 1 << 15


@pytest.mark.parametrize("rounds", [40_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_iterations_that_nobody_looks_at_leave_memory_flat(rounds):
    growth, capacity, _ = grown(UNSEEN, rounds)
    assert growth < 2 * MEBIBYTE
    assert capacity <= 1 << 15


# Repetitions of each kind that take about a second.
KINDS = {
    "index": 5_000,
    "slice": 2_000,
    "gradient": 1_500,
    "shape": 2_000,
    "look": 6_000,
    "shape_gradient": 2_000,
    "constant": 10_000,
}
MANY = pytest.param(100, intern_table.LIMIT, 12, marks=pytest.mark.slow)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("times", "limit", "most"), [(1, 128, 5), MANY])
def test_what_is_different_each_time_leaves_memory_flat(kind, times, limit, most):
    """At the default limit, cached objects are freed together with their numbers."""
    growth, capacity, _ = grown(DIFFERENT, times * KINDS[kind], kind, limit, timeout=3600)
    assert growth < most * MEBIBYTE
    assert capacity <= 1 << 15


def test_large_arrays_are_freed():
    growth, buffers = grown(LARGE)
    assert growth < 64  # MiB: four arrays, of the dozens created
    assert buffers == 0


def test_reductions_over_several_axes_are_known_again(tf):
    x = tf.ones((2, 3, 4))
    tf.reduce_sum(x, (0, 1))
    before = len(intern_table.CACHES)
    for axes in ((0, 1), [0, 1], (1, 0), (0, -2)):
        assert tf.reduce_sum(x, axes).numpy().tolist() == [6.0] * 4
    assert len(intern_table.CACHES) == before


PEAK = (
    RESIDENT
    + """
kind, replays = sys.argv[1], sys.argv[2] == "replay"
def of_status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) >> 10  # MiB

def array(*shape):
    return (np.random.default_rng(0).standard_normal(shape) * 0.05).astype("f")

def conv(h, w):
    return tf.nn.relu(tf.nn.conv2d(h, w, 1, "SAME"))

def heads(h, w):
    return tf.transpose(tf.reshape(h @ w, (4, 256, 4, 64)), (0, 2, 1, 3))

def attention(h, w):
    a = tf.nn.softmax(tf.matmul(heads(h, w[0]), heads(h, w[1]), transpose_b=True) / 8.0)
    return h + tf.reshape(tf.transpose(a @ heads(h, w[2]), (0, 2, 1, 3)), (4, 256, 256)) @ w[3]

def dense(h, w):
    return tf.tanh(h @ w)

layer, x, shape = {
    "conv": (conv, array(8, 64, 64, 32), (3, 3, 32, 32)),
    "attention": (attention, array(4, 256, 256), (4, 256, 256)),
    "dense": (dense, array(2048, 256), (256, 256)),
}[kind]
x, weights = tf.constant(x), [tf.Variable(array(*shape)) for _ in range(8)]
optimizer = tf.keras.optimizers.SGD(0.01)

def step():
    with tf.GradientTape() as tape:
        h = x
        for w in weights:
            h = layer(h, w)
        loss = tf.reduce_mean(h * h)
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss

if replays:
    step = tf.function(step)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts at the present size
before = of_status("VmRSS")
for k in range(4):
    float(step())
print(of_status("VmHWM") - before)
"""
)

# MiB, and what forward and backward pass need at the same time: for each layer one array that the
# gradient needs (for attention, four and the weights of each head), the variables, and their new
# values. Libraries and compiled code take about 30 MiB, and more if a thread compiles a fused loop.
MODELS = {"conv": 8 * 4 + 3 * 4, "attention": 8 * (5 * 1 + 4) + 2 * 8, "dense": 8 * 2 + 2 * 2 + 4}


@pytest.mark.parametrize("way", [pytest.param("eager", marks=pytest.mark.slow), "replay"])
@pytest.mark.parametrize("kind", MODELS)
def test_peak_of_training_is_what_gradients_need(kind, way):
    bound = 1.2 * MODELS[kind] + 45
    (peak,) = settled(lambda peak: peak < bound, PEAK, kind, way)
    assert peak < bound


SHAPES = (
    RESIDENT
    + """
from numtape.core.cpu.buffers import POOL
f = tf.function(lambda x: tf.reduce_sum(tf.matmul(tf.sin(x) * x, tf.cos(x), transpose_b=True)))
marks = []
for k in range(24):
    float(f(tf.constant(np.ones((1000, 1000 + 8 * k), "f"))))
    if k in (7, 23):
        marks.append(resident())
print((marks[1] - marks[0]) >> 10, len(POOL.arenas))
"""
)


def test_new_shapes_leave_memory_flat():
    """All recordings share one arena."""
    growth, arenas = settled(lambda growth, _: growth < 16, SHAPES)
    assert growth < 16  # MiB: 16 shapes of 16 MiB each
    assert arenas == 1


IDLE = (
    RESIDENT
    + """
size = 4 << 20  # 16 MiB
v, x = tf.Variable(np.ones(size, "f")), tf.constant(np.ones(10, "f"))
reads = sys.argv[1] == "reads"

@tf.function
def large(k):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.cumsum(tf.sin(v) * v))
    if reads:
        bool(y < 0.0)  # leaves a guard
    v.assign_sub(k * tape.gradient(y, v))
    return y

@tf.function
def small(x):
    return tf.reduce_sum(x * 2.0)

small(x)
before = resident()
for k in range(1, 6):
    large(tf.constant(0.1 * k))
used = resident()
for _ in range(3000):
    small(x)
print((used - before) >> 10, (resident() - before) >> 10)
"""
)


@pytest.mark.parametrize("kind", [pytest.param("reads", marks=pytest.mark.slow), "plain"])
def test_memory_returns_while_small_functions_run(kind):
    used, at_rest = settled(lambda _, at_rest: at_rest < 8, IDLE, kind)
    assert used > 16
    assert at_rest < 8
