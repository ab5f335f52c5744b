"""Memory limits: a call succeeds, or raises an error and changes nothing."""

import random
import sys

import pytest
from processes import CACHES, run, with_cache

pytestmark = [
    pytest.mark.numtape_only("a promise TensorFlow does not make"),
    pytest.mark.cpu_only("limits the host's memory"),
    pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's, and /proc is read"),
]

LIMIT = """
import contextlib, gc, os, random, resource, sys, time
import numpy as np
import numtape as tf
from numtape.core.cpu.buffers import POOL
from numtape.core.cpu import sweeper as cpu
from numtape.core.log.log import local
from numtape.core.ops.random import STATE

FAILS = MemoryError, tf.errors.ResourceExhaustedError

def size():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")

@contextlib.contextmanager
def limited(room):
    resource.setrlimit(resource.RLIMIT_AS, (size() + room, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
"""

# Two equal worlds: every call runs without a limit in one, and under a memory limit in the other.
# If it fails there, nothing has changed, and the next call that fits succeeds.
PROGRAMS = (
    LIMIT
    + """
cpu.HOT = 1 << 62  # what LLVM does in its own thread meanwhile is not ours to limit
seconds, seed = float(sys.argv[1]), int(sys.argv[2])

class World:
    def __init__(self, n, seed):
        self.rng = np.random.default_rng(seed)
        start = lambda: tf.Variable(self.rng.standard_normal(n).astype(np.float32))
        self.n, self.v, self.w, self.s = n, start(), start(), tf.Variable(2.0)
        self.optimizer = [tf.keras.optimizers.SGD(0.1), tf.keras.optimizers.SGD(0.1, 0.9),
                          tf.keras.optimizers.Adam(0.1)][seed % 3]
        self.kept = []
        self.optimizer.build([self.v, self.w, self.s])
        self.replayed = tf.function(self.whole)
        self.trained = tf.function(self.step)

    def state(self):
        found = [self.v, self.w, self.s, *self.optimizer.variables]
        return [np.asarray(x).tobytes() for x in found]

    def expression(self):
        return tf.reduce_sum(tf.sin(self.v) * self.w + self.s)

    def arrays(self):
        x = tf.sin(self.v) * self.s
        self.kept.append(x)
        return tf.concat([x, tf.reverse(self.w, [0])], 0) * 2.0

    def gradient(self):
        with tf.GradientTape() as tape:
            y = self.expression()
        g, h = tape.gradient(y, [self.v, self.w])
        return g + h

    def second(self):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(self.v**3.0 * self.w)
            g = tape.gradient(y, self.v)
        return outer.gradient(g, self.v)

    def step(self):
        with tf.GradientTape() as tape:
            y = self.expression()
        all_three = [self.v, self.w, self.s]
        self.optimizer.apply_gradients(zip(tape.gradient(y, all_three), all_three))
        return y

    def whole(self, x):
        self.v.assign(tf.tanh(self.v * 0.5 + x))
        self.w.assign_sub(self.v * 0.1)
        self.s.assign_add(0.25)
        return tf.reduce_sum(self.v) + x

    def call(self):
        return self.replayed(tf.constant(0.5))

    def training(self):
        return self.trained()

    def taped(self):
        x = tf.constant(0.25)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = self.replayed(x)
        return tape.gradient(y, x)

    def assign(self):
        self.v.assign(self.w * self.s)
        self.w.assign_add(self.v)

    def part(self):
        self.v[: self.n // 2].assign(self.w[self.n // 2 : 2 * (self.n // 2)] * 0.5)

    def drawn(self):
        return tf.random.normal((self.n,), seed=3)

    def product(self):
        k = int(self.n**0.5)
        m = tf.reshape(self.v[: k * k], (k, k))
        return tf.nn.softmax(m @ tf.transpose(m))

    def drop(self):
        self.kept.clear()

NAMES = ["expression", "arrays", "gradient", "second", "step", "call", "training", "taped",
         "assign", "part", "drawn", "product", "drop"]

def value(result):
    return None if result is None else np.asarray(result).tobytes()

def same(a, b, what):
    assert a == b, (what, seed)

chance, failed, made = random.Random(seed), {}, 0
tf.random.set_seed(1)
end = time.monotonic() + seconds

def enough():
    few = min(sum(failed.values()), len(failed))
    return time.monotonic() > end + (0 if made > 2 * seconds and few > seconds // 3 else 60)

while not enough():
    n = chance.choice([1000, 30_000, 300_000, 1_000_000]) + chance.randrange(5)
    start = chance.randrange(10**6)
    free, tight = World(n, start), World(n, start)
    for name in chance.choices(NAMES, k=12):
        draws = STATE.draws
        for _ in range(2):  # what is compiled is compiled, and what is recorded recorded
            expected = value(getattr(free, name)())
            STATE.draws = draws
            if name in ("expression", "arrays", "gradient", "second", "drawn", "product", "drop"):
                continue
            break
        before = tight.state()
        POOL.release_unused()  # most would be had from here
        room = int(chance.choice([0, 1, 4, 8, 16]) * 4 * n * chance.random())
        made, returned = made + 1, False
        try:
            with limited(room):
                found = getattr(tight, name)()
                returned = True  # what it computes is computed at a look
                if found is not None:
                    found._array()
        except FAILS as error:
            del error
            failed[name] = failed.get(name, 0) + 1
            log = local.log
            idle = not (log.is_recorded() or log.symbolic or log.busy or log.tracing)
            assert idle and local.journal is None, (name, seed)
            if not returned:
                same(STATE.draws, draws, (name, "random numbers"))
                if name != "assign":  # of whose two the first may have been made
                    same(tight.state(), before, (name, "state"))
                else:
                    tight.state()
                    tight.v.assign(free.v), tight.w.assign(free.w)
                    continue
                found = getattr(tight, name)()
        found = value(found)
        same(found, expected, (name, "result"))
        same(tight.state(), free.state(), (name, "state afterwards"))
    free.drop(), tight.drop()
print(made, sum(failed.values()), len(failed))
"""
)


@pytest.mark.parametrize("seconds", [2, pytest.param(6, marks=pytest.mark.slow)])
def test_random_programs_under_a_limit(seconds):
    seed = random.randrange(10**6)
    print("seed", seed)
    made, failed, kinds = map(
        int,
        run(
            PROGRAMS,
            seconds,
            seed,
            MALLOC_MMAP_THRESHOLD_=65536,
            MALLOC_TRIM_THRESHOLD_=0,
            NUMTAPE_NUM_THREADS=2,
            OPENBLAS_NUM_THREADS=1,  # its threads abort the process
        ).split(),
    )
    assert made > 2 * seconds
    assert failed > seconds // 3
    assert kinds > seconds // 3


# LLVM aborts the process when it runs out of memory.

LOADING = (
    LIMIT
    + """
v = tf.Variable([1.0, 2.0])
float(tf.reduce_sum(v * 2.0))
failed = 0
for name in ("sin", "cos", "exp", "tanh", "sqrt"):
    for room in (0, 100_000, 1_000_000, 3_000_000, 8_000_000, 100_000_000, 1 << 34):
        try:
            with limited(room):
                found = getattr(tf, name)(v).numpy()
            break
        except FAILS:
            failed += 1
    np.testing.assert_allclose(found, getattr(np, name)([1.0, 2.0]), rtol=1e-6)
print(failed)
"""
)


@CACHES
def test_loading_and_compiling_under_a_limit(cache, tmp_path):
    if cache == "warm":
        run(LOADING)
    assert int(run(LOADING, **with_cache(cache, tmp_path))) >= 10


WAITING = (
    LIMIT
    + """
from numtape.core.cpu.buffers import POOL, buffer_size
tf.random.uniform((4_000_000,))
gc.collect()
POOL._collect()
assert POOL.unused_size == buffer_size(16_000_000)
with limited(100_000):
    print(tf.random.uniform((3_000_000,)).shape[0])
"""
)


def test_memory_that_only_waits_is_given_back():
    assert run(WAITING, MALLOC_MMAP_THRESHOLD_=65536) == "3000000"


STEPS = (
    LIMIT
    + """
cpu.HOT = 1 << 62
n = 250_000
variables = [tf.Variable(np.full(n, k + 1, np.float32)) for k in range(4)]
optimizer = tf.keras.optimizers.Adam(0.1)

def step():
    with tf.GradientTape() as tape:
        y = sum(tf.reduce_sum(v * v) for v in variables)
    optimizer.apply_gradients(zip(tape.gradient(y, variables), variables))

def state():
    return [np.asarray(v).ravel()[::1000].tobytes() for v in [*variables, *optimizer.variables]
            if v.name != "learning_rate"]

step(), step(), state()
failed = whole = 0
for k in range(60):
    before, count = state(), int(optimizer.iterations)
    try:
        with limited(k << 18):
            step()
            after = state()
        whole += 1
    except FAILS:
        failed += 1
        after = state()
    done = [x != y for x, y in zip(after, before)]
    assert len(set(done)) == 1, (k, done)
    assert int(optimizer.iterations) == count + done[0]
print(failed, whole)
"""
)


def test_steps_of_an_optimizer_are_whole():
    failed, whole = map(int, run(STEPS, MALLOC_MMAP_THRESHOLD_=65536).split())
    assert failed
    assert whole


RECOVERS = (
    LIMIT
    + '''
import itertools
x = tf.constant([1.0, 2.0])
(tf.exp(x) * 0.0).numpy()

# Behind its first 256 instructions Python needs memory to leave a `with` block.
LOOP = """
def loop():
    z = tf.constant(1.0)
""" + 300 * "    y = z\\n" + """
    with tf.GradientTape() as tape:
        tape.watch(z)
        for _ in itertools.repeat(None, 10**7):  # which makes no ints of its own
            y = y * z
"""
exec(LOOP)

with limited(int(sys.argv[1]) << 20):
    try:
        loop()
    except FAILS:
        gc.collect()
    print(*((tf.exp(x) * 0.0).numpy().tolist() for _ in range(2)))
'''
)


# Memory runs out at different points: the log's columns, the tensors of its rows, a list of them.
@pytest.mark.parametrize("room", [20, 24, 30, pytest.param(60, marks=pytest.mark.slow)])
def test_a_log_that_has_filled_the_memory_is_let_go_of(room):
    assert run(RECOVERS, room, MALLOC_MMAP_THRESHOLD_=65536) == "[0.0, 0.0] [0.0, 0.0]"
