"""Machine code counts references itself: the counts do not change with the number of ops.

Rounds of a program take every way of recording, evaluating, differentiating and replaying. After
the first rounds, the reference count of each object that the garbage collector knows, and of each
object that one of these refers to, must be the same after any number of further rounds.
"""

import pytest
from processes import run

from numtape.core.cpython import layout

NATIVE = {"NUMTAPE_RECORD": "native"}
PYTHON = {"NUMTAPE_RECORD": "python"}
ROWS = 260  # that a round records at least
PARTS = 6
NO_DRIFT = "[]\nblocks []"

# The rounds come in parts. A reference or a block of memory that each second round leaks changes a
# count in each part; caches fill up in some parts only. Rarer leaks are not noticed.
PROGRAM = """
import gc, sys, threading, weakref
import numpy as np
import numtape as tf
from numtape.core.log.log import Log, local
from numtape.core.native import patch
from numtape.core.native.process import process_table
from numtape.kernels.passes import evaluation_words, gradient_words

float(tf.constant(1.0) + 1.0)
assert patch.describe().startswith(sys.argv[1]), patch.describe()
is_native = sys.argv[1] == "machine code"
rounds, least, PARTS = map(int, sys.argv[2:])
v, w, c = tf.Variable(0.5), tf.Variable([1.0, 2.0, 3.0]), tf.constant(0.25)
x, i, text = tf.constant([0.5, 1.5, 2.5]), tf.constant([1, 2, 3]), "text"
d, e = tf.constant(0.5, "float64"), tf.constant(2**40)
two, three, zero = 2.5, 3, float("-0")
numbers = 2.5, 3, 300, 2**29, 2**40, 0, 0.0, -0.0, True, -1, 1e39, float("inf"), float("nan")
replayed = tf.function(lambda x: tf.sin(x) * w + v)
step = tf.function(lambda x: (v.assign_add(x), x * v)[1])
KEYS = "PAIR", "TRIPLE"  # tuples that machine code fills with two or three objects
main, other, repeating = local.log, Log(), Log()
rows, recorded = 0, []
wrong = (
    lambda: x + x[1:], lambda: tf.sin(text), lambda: tf.add(x, y=None), lambda: x[7],
    lambda: x + object(), lambda: tf.where(x > 0.0, x, x[:2]), lambda: x + e, lambda: i * 2.5,
)

def elementwise():
    y = tf.sin(v) * c
    y = y * two + three * y
    y = (two - y) / v
    y = tf.maximum(tf.add(y, c) ** two, zero)
    y = abs(-y) + tf.add(x=y, y=two, name="sum") - v * w[1]
    y += c
    y *= two
    y -= v
    y = (2.0 ** y) % 3.0 + y // 2.0
    return tf.minimum(tf.exp(y * -0.0), 1e9) + 1 / y

def arrays():
    z = w * x + two
    b = (z > x) & (z >= two) | ~(i < three) | (i == 2)
    z = tf.where(b, z, -x) + tf.cast(b, tf.float32) + tf.cast(i % 2 // three, tf.float32)
    z = z[1:] + x[:-1] * z[0] - z[::2]
    whole = tf.concat([z, tf.stack([c, v]), tf.cast(tf.cast(x, "float64"), "float32")], 0)
    return b, z, tf.reduce_sum(tf.reshape(whole, (7, 1)), [0, 1]), tf.complex(z, 2.0 * z)

def constants():
    for number in numbers:
        found = [x * number, number - x, v + number, tf.where(x > 1.0, x, number)]
        if type(number) is int and 0 <= number < 2**31:
            found += [i + number, number * i]
        found.append((d if number == number else x) * number)

def leaves():
    new = [tf.constant(np.full(3, k, "f")) for k in range(3)] + [tf.Variable(1.5), tf.constant(2.5)]
    for y in new:
        y * x, x - y, tf.maximum(y, y)
    new[3].assign(new[4] * c)
    new[3] * x, np.ones(3, "f") * x, x + [1.0, 2.0, 3.0], new[0] * new[1]

def assigns():
    v.assign(v * 0.5 + 0.25)
    v.assign_add(c * 1.5)
    v.assign_sub(0.25)
    w[1].assign(two)
    w.assign(tf.clip_by_value(w * x, 0.5, 2.0))

def gradients():
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y, scaled = tf.reduce_sum(tf.tanh(w * x) * v) + v ** two, w * v
        found = tape.gradient(y, [v, w, x])
    return found, outer.gradient(found[0], v), outer.jacobian(scaled, v)

def looks(y, b, z, total, pairs):
    if y > zero and bool(b[0]) and total:
        float(y), int(i[0]), z.numpy().tolist(), np.asarray(z), str(z), repr(y)
    if is_native:
        memoryview(z).tolist()
    return pairs.numpy(), replayed(x).numpy(), w.numpy(), list(i)

def fails():
    for call in wrong:
        try:
            call()
        except (tf.errors.OpError, ValueError, TypeError, IndexError):
            continue
        raise AssertionError(call)

def limits():
    local.log.limit = local.log.n + 2
    y = [x * v for _ in range(4)]
    local.log.bytes_limit = local.log.bytes
    return y[0] + tf.constant(np.ones(3, "f")) * y[1]

def repeats():
    local.log = repeating
    v.assign(0.5)
    for _ in range(4):
        with tf.GradientTape() as tape:
            y = tf.sin(v) * c + v
        g = tape.gradient(y, v)
        float(y), float(g)
        replayed(x), step(c)
    local.log = main

def elsewhere():
    local.log = other
    y = tf.exp(x)
    local.log = main
    return y * x, float(tf.reduce_sum(y))

class Ending:
    def __init__(self):
        self.me = self
    def __del__(self):
        recorded.append(tf.sin(x) * v + 2.0)

def interrupted():
    Ending()
    gc.set_threshold(1)
    gc.enable()
    y = tf.sin(v) * x + [tf.constant(2.5)][0]
    gc.disable()
    gc.collect(1)
    assert len(recorded) == 1
    recorded.clear()
    return y.numpy()

def in_thread(k):
    if k % 13 == 0:  # the log keeps some weak references of threads for a while
        task = threading.Thread(target=lambda: recorded.append(float(tf.sin(c) * v + x[0])))
        task.start(), task.join(), recorded.clear()

def work(rounds):
    global rows
    for k in range(rounds):
        begin = main.n
        for call in fails, constants, leaves:
            call()
        y, more = elementwise(), arrays()
        rows += main.n - begin
        looks(y, *more)
        begin = main.n
        (of_v, of_w, _), second, jacobian = gradients()
        rows += main.n - begin
        float(of_v), of_w.numpy(), float(second), jacobian.numpy()
        assigns()
        limits().numpy()
        elsewhere()
        repeats()
        interrupted()
        weakref.ref(tf.sin(x)), tf.exp(x)
        in_thread(k)

def settled(rounds):
    work(rounds)
    for y in [-x for _ in range(3000)]:  # as many tensors wait for reuse afterwards as ever do
        del y
    for log in main, other, repeating:
        log.collect()
    gc.collect()
    return sys.getallocatedblocks()

gc.disable()  # plans depend on the rows that finalizers record
for _ in range(5):
    settled(60)
things = {id(thing): thing for thing in gc.get_objects()}
things |= {id(thing): thing for one in gc.get_objects() for thing in gc.get_referents(one)}
things |= {id(number): number for number in numbers}  # the collector does not know the tuple
gc.freeze()  # collections are faster
counts, blocks = np.empty((PARTS + 1, len(things)), np.int64), np.empty(PARTS + 1, np.int64)
for part in range(PARTS + 1):
    rows = 0
    blocks[part] = settled(rounds)
    counts[part] = [sys.getrefcount(thing) for thing in things.values()]
    assert rows > rounds * least, rows / rounds
if is_native:
    for name, words in ("evaluate", evaluation_words), ("gradient", gradient_words):
        fast_paths = getattr(repeating, f"{name}_fast_paths")
        assert sum(made.words[words.HITS] for _, made in fast_paths) > PARTS * 3 * rounds, name
    reserved = [part[name] for part in process_table()._objects for name in part if name in KEYS]
    assert reserved == [(None,) * 2, (None,) * 3], reserved

def drifts(values):
    change = np.diff(values, axis=0)
    return np.flatnonzero((change.min(0) >= rounds // 2) | (change.max(0) <= -(rounds // 2)))

gc.unfreeze()
assert len(things) > 100_000
things = [*things.values()]
# Python 3.14 changes the counts of some immortal strings, also without machine code.
changed = [k for k in drifts(counts) if type(things[k]) is not str or counts[0, k] < 2**31]
print([(counts[:, k].tolist(), repr(things[k])[:80]) for k in changed])
print("blocks", np.diff(blocks).tolist() if len(drifts(blocks[:, None])) else [])
"""

RECORDERS = pytest.mark.parametrize(
    ("variables", "recorder"),
    [
        pytest.param(
            NATIVE,
            "machine code",
            marks=pytest.mark.skipif(
                bool(layout.unsupported_reason()), reason=layout.unsupported_reason() or "usable"
            ),
            id="native",
        ),
        pytest.param(PYTHON, "Python", id="python", marks=pytest.mark.slow),
    ],
)


def drifts(variables, recorder, rounds, timeout):
    """The reference counts and blocks of memory that change with the rounds, as printed."""
    return run(PROGRAM, recorder, rounds, ROWS, PARTS, timeout=timeout, **variables)


@RECORDERS
def test_counts_of_references_stay(variables, recorder):
    assert drifts(variables, recorder, 26, 240) == NO_DRIFT


@pytest.mark.slow
@RECORDERS
def test_a_million_rows_leak_nothing(variables, recorder):
    assert drifts(variables, recorder, 1_000_000 // (PARTS * ROWS) + 1, 3600) == NO_DRIFT
