"""Ctrl-C and errors: a step is atomic, and everything works afterwards."""

import json
import math
import os
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from interruption import interrupted_at_each_line
from log_queries import by_hand, fresh_log
from processes import PACKAGE, run

from numtape.core.compile.passes import Block, Numbers
from numtape.core.cpu import sweeper as cpu, workers
from numtape.core.derive import adjoint_cache, forward, transpose
from numtape.core.derive.templates import TemplateTable, TransposeWorkspace
from numtape.core.log.log import Log, local
from numtape.core.log.op import CODES
from numtape.core.replay.observe.guards import Guards
from numtape.core.replay.observe.reads import ATTRIBUTE, Read
from numtape.core.values import dtypes
from numtape.core.values.memory import address_of
from numtape.core.values.spec import intern

pytestmark = pytest.mark.numtape_only("a promise TensorFlow does not make")

TRAINING = """
import json, random, signal, sys
import numpy as np
import numtape as tf
from numtape.core.log.log import local

data = np.random.default_rng(0).standard_normal((40, 8, 4)).astype(np.float32)

def network():
    rng = np.random.default_rng(1)
    weights = [tf.Variable(rng.standard_normal(s).astype(np.float32))
               for s in ((4, 5), (5,), (5, 1))]
    return weights, tf.keras.optimizers.Adam(0.05)

def step(weights, optimizer):
    x = data[int(optimizer.iterations) % len(data)]
    with tf.GradientTape() as tape:
        hidden = tf.tanh(x @ weights[0] + weights[1])
        loss = tf.reduce_mean((hidden @ weights[2] - x[:, :1]) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss

def state(weights, optimizer):
    found = [*weights, *optimizer.variables]
    return b"".join(np.asarray(v).tobytes() for v in found)
"""

SIGNALS = (
    TRAINING
    + """
wanted = int(sys.argv[1])
weights, optimizer = network()
expected = []
for _ in range(40 * wanted):
    step(weights, optimizer)  # the first one makes the slots
    expected.append(state(weights, optimizer))

armed, hits = False, 0
def stop(*_):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
random.seed(2)
weights, optimizer = network()
wrong = []
step(weights, optimizer)
while hits < wanted and int(optimizer.iterations) < len(expected) - 10:
    before = int(optimizer.iterations)
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 6e-4))
        for _ in range(4):
            step(weights, optimizer)
            if random.random() < 0.5:
                weights[0].numpy()
        armed = False
    except KeyboardInterrupt:
        hits += 1
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
    now = int(optimizer.iterations)
    if state(weights, optimizer) != expected[now - 1]:
        wrong.append((hits, before, now))
for _ in range(5):
    step(weights, optimizer)
same = state(weights, optimizer) == expected[int(optimizer.iterations) - 1]
print(json.dumps([hits, wrong, same, local.log.is_recorded(), local.log.n,
                  local.log.columns.capacity]))
"""
)


RECORDERS = pytest.mark.parametrize("recorder", ["native", "python"])


@pytest.mark.slow
@RECORDERS
@pytest.mark.skipif(os.name == "nt", reason="no timers that signal")
def test_interrupted_200_times_training_gives_what_it_gives_undisturbed(recorder):
    found = json.loads(run(SIGNALS, 200, NUMTAPE_RECORD=recorder))
    hits, wrong, same, recorded, rows, capacity = found
    assert hits == 200
    assert wrong == []
    assert same
    assert not recorded
    assert rows < 1000
    assert capacity <= 1 << 16


# An interrupt at each function call and line of numtape in turn, one at a time.

EVERYWHERE = (
    TRAINING
    + """
import dis, functools
package, kinds, stride = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3])
weights, optimizer = network()
expected = []
for _ in range(4):
    step(weights, optimizer)
    expected.append(state(weights, optimizer))

count = target = 0
place, lines = "", {}

@functools.cache
def divided(code):
    # The lines at which Python looks for signals: those that call something, or jump back.
    lines = set()
    for start, end, line in code.co_lines():
        for step in dis.get_instructions(code):
            if start <= step.offset < end and (
                "CALL" in step.opname or "JUMP_BACKWARD" in step.opname
            ):
                lines.add(line)
    return lines

def trace(frame, event, _):
    global count, place
    if not frame.f_code.co_filename.startswith(package):
        return None
    # From Python 3.12 on, what a tracer raises where a comprehension jumps back goes past the
    # handlers around it; what a signal's handler raises there does not.
    line = event == "line" and frame.f_lineno
    back = line and line == lines.get(id(frame)) and sys.version_info >= (3, 12)
    lines[id(frame)] = line
    if event in kinds and not back and (event == "call" or line in divided(frame.f_code)):
        count += 1
        if count == target:
            sys.settrace(None)
            name = frame.f_code.co_filename.rpartition("/")[2]
            place = f"{name}:{frame.f_lineno} {frame.f_code.co_name}"
            raise KeyboardInterrupt
    return trace

def one(at):
    global count, target
    weights, optimizer = network()
    step(weights, optimizer)
    step(weights, optimizer)
    loss = None
    count, target = 0, at
    sys.settrace(trace)
    try:
        loss = step(weights, optimizer)
        float(loss)
        float(weights[0][0, 0])
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    problems = []
    done = int(optimizer.iterations)
    if done not in (2, 3) or state(weights, optimizer) != expected[done - 1]:
        problems.append("not a whole step")
    try:
        while int(optimizer.iterations) < 4:
            step(weights, optimizer)
        if state(weights, optimizer) != expected[3]:
            problems.append("wrong afterwards")
    except Exception as error:
        problems.append(f"fails afterwards: {error!r:.80}")
    del loss
    if local.log.is_recorded():
        problems.append("a tape records on")
    float(tf.constant(1.0) + 1.0)
    if local.log.symbolic:
        problems.append("left in a log of a rule")
    if local.log.n > 200 or local.log.busy:
        problems.append("the log is not let go")
    return problems

one(0)
total, found = count, []
for at in range(1, total + 1, stride):
    problems = one(at)
    if problems:
        found.append((place, problems))
print(json.dumps([total, found]))
"""
)


@pytest.mark.slow
@RECORDERS
@pytest.mark.parametrize(
    ("events", "stride"),
    [
        ("call", 1),
        ("line", 12),
        pytest.param("line", 6, marks=pytest.mark.thorough),
    ],
)
def test_interrupt_at_every_place_of_a_step(events, stride, recorder):
    total, found = json.loads(run(EVERYWHERE, PACKAGE, events, stride, NUMTAPE_RECORD=recorder))
    assert total > 100
    assert found == []


# An interrupt at each line that marks a state as up to date: the mark must be true.


def assert_bound(block, **arrays):
    for name, array in arrays.items():
        assert block.set[block.slots[name]] == address_of(array), name


def columns_of(log):
    names = log.columns.NAMES
    return {f"log.{name}": getattr(log.columns, name) for name in names} | {"log.extra": log.extra}


@pytest.mark.parametrize("ruled", [transpose.run_rule, forward._run_rule])
def test_interrupted_rules_give_the_thread_its_log_back(ruled):
    op = next(op for op in CODES.ops if op.name == "Tanh")
    spec, log = intern((3,), dtypes.float32), local.log

    def check(_):
        assert vars(local)["log"] is log
        assert local.rule is None

    rest = [(True,)] if ruled is forward._run_rule else [[True]]
    interrupted_at_each_line(lambda: None, lambda _: ruled(op, {}, spec, [spec], *rest), check)


def test_interrupted_layers_leave_the_thread_outside_of_them(tf):
    model = tf.keras.Sequential([tf.keras.layers.Dropout(0.5)])
    x = tf.ones((1, 2))
    model(x, training=True)

    def check(_):
        assert (local.layers, local.training) == ((), None)
        assert model(x).numpy().tolist() == [[1.0, 1.0]]  # not as in training

    interrupted_at_each_line(lambda: None, lambda _: model(x, training=True), check)


def test_interrupted_transposing_binds_the_memory_of_its_log():
    small, large = Log(64), Log(1024)

    def prepare():
        work = TransposeWorkspace()
        work.refresh(small)
        return work

    def check(work):
        for log in (small, large, small):
            work.refresh(log)
            for block in (work.follow, work.transpose):
                flow = {"flow.flags": work.flags, "flow.adjoint": work.adjoint}
                assert_bound(block, **columns_of(log), **flow)
            assert min(work.flags.size, work.adjoint.size) >= log.columns.capacity

    interrupted_at_each_line(prepare, lambda work: work.refresh(large), check)


def test_interrupted_repeating_binds_the_memory_of_its_log():
    small, large = Log(64), Log(1024)

    def prepare():
        memory, block = adjoint_cache.AdjointCache(), Block("repeat")
        memory.bind(small, block)
        return memory, block

    def check(state):
        memory, block = state
        for log in (small, large):
            memory.bind(log, block)
            assert_bound(block, **columns_of(log))

    interrupted_at_each_line(prepare, lambda state: state[0].bind(large, state[1]), check)


def test_interrupted_templates_are_bound():
    first, second = TemplateTable(), TemplateTable()
    first.constants = 3

    def prepare():
        work = TransposeWorkspace()
        work.use(first)
        work.pool_row[:3] = 1
        return work

    arrays_of_templates = [name for name, x in vars(first).items() if isinstance(x, np.ndarray)]

    def check(work):
        for templates in (first, second):
            work.use(templates)
            arrays = {f"templates.{name}": getattr(templates, name) for name in arrays_of_templates}
            assert_bound(work.transpose, **arrays, **{"index.array": templates.index.array})
        assert not work.pool_row[:3].any()

    interrupted_at_each_line(prepare, lambda work: work.use(second), check)


def test_interrupted_numbers_are_bound():
    def check(numbers):
        for values in ([1, 2], range(60), [3]):
            assert numbers.fill(values) == len(values)
            assert_bound(*numbers._blocks, **{"tape.ranges": numbers.array})
            assert numbers.array[: len(values)].tolist() == [*values]

    interrupted_at_each_line(
        lambda: Numbers("int32", "tape.ranges", Block("follow")),
        lambda numbers: numbers.fill(range(40)),
        check,
    )


def test_interrupted_sweeps_have_the_memory_that_they_bind():
    log = Log(64)

    def plan(size):
        return SimpleNamespace(
            arena=size, partials=size, scratch=size, body=size, n_groups=0, addresses=[]
        )

    def prepare():
        sweeper = cpu.Sweeper(log)
        sweeper._set_up(plan(100))
        return sweeper

    def check(sweeper):
        for size in (10, 1000, 10):
            sweeper._set_up(plan(size))
            worker, put, slots = sweeper.workers[0], sweeper.sweep.set, sweeper.sweep.slots
            pairs = {
                "arena": sweeper.arena,
                "partials": sweeper.partials,
                "scratch": worker.scratch,
                "places": (worker.places, address_of(worker.places)),
            }
            for name, (memory, at) in pairs.items():
                assert put[slots[f"memory.{name}"]] == at
                assert 0 <= at - address_of(memory) < 64
                assert memory.size >= size

    interrupted_at_each_line(prepare, lambda sweeper: sweeper._set_up(plan(1000)), check)


def test_interrupted_look_at_new_defaults_is_repeated(tf):
    def prepare():
        def f(x, n=1):
            return x * n

        g = tf.function(f)
        g(tf.constant(1.0))
        f.__defaults__ = (5,)
        return g

    interrupted_at_each_line(
        prepare,
        lambda g: g._parameters.complete((1.0,), {}),
        lambda g: g._parameters.complete((1.0,), {}) == ((1.0, 5), {}) or pytest.fail("stale"),
    )


def test_interrupted_guards_are_added_again(tf):
    holder = SimpleNamespace(a=object(), b=object(), c=object())
    found = [Read(ATTRIBUTE, holder, name, getattr(holder, name), name, ("", 1)) for name in "abc"]

    def check(guards):
        guards.add(found)
        assert guards.holds()
        for name in "abc":
            before = getattr(holder, name)
            setattr(holder, name, object())
            assert not guards.holds()
            setattr(holder, name, before)
        assert guards.holds()

    interrupted_at_each_line(lambda: Guards(found[:1]), lambda guards: guards.add(found), check)


# Errors leave all state unchanged.


@pytest.fixture(autouse=True)
def log():
    with fresh_log() as found:
        yield found


def failing(tf, v):
    """Calls that raise: name -> (exception, call)."""
    matrix = tf.ones((2, 3))
    errors = tf.errors.InvalidArgumentError
    return {
        "shapes": (errors, lambda: v + tf.ones(5)),
        "dtypes": ((errors, TypeError), lambda: v + tf.constant([1, 2])),
        "matmul": (errors, lambda: matrix @ matrix),
        "reshape": (errors, lambda: tf.reshape(matrix, [4, 4])),
        "index": ((errors, IndexError), lambda: tf.gather(v, 7)),
        "axis": ((errors, ValueError), lambda: tf.reduce_sum(v, axis=3)),
        "assign shape": (ValueError, lambda: v.assign([1.0, 2.0, 3.0])),
        "assign dtype": ((ValueError, TypeError), lambda: v.assign(tf.constant([1, 2]))),
        "add shape": ((ValueError, errors), lambda: v.assign_add(tf.ones(3))),
        "ragged": (ValueError, lambda: tf.add(v, [[1.0], [2.0, 3.0]])),
        "text": ((ValueError, TypeError), lambda: v + "text"),
    }


@pytest.mark.parametrize(
    "name",
    [
        "shapes",
        "dtypes",
        "matmul",
        "reshape",
        "index",
        "axis",
        "assign shape",
        "assign dtype",
        "add shape",
        "ragged",
        "text",
    ],
)
def test_error_leaves_tape_and_variables_as_before(tf, log, name):
    v = tf.Variable([2.0, 3.0])
    v.assign_add([1.0, 1.0])
    expected, call = failing(tf, v)[name]
    with tf.GradientTape() as tape:
        y = v * v
        for _ in range(3):
            with pytest.raises(expected):
                call()
        y = y * v
    assert v.numpy().tolist() == [3.0, 4.0]
    assert tape.gradient(y, v).numpy().tolist() == [27.0, 48.0]
    assert not local.log.is_recorded()
    del y
    float(tf.constant(1.0) + 1.0)
    assert log.n == 0


def test_error_in_an_op_whose_derivative_is_missing(tf):
    image = tf.Variable(np.ones((2, 2, 3), np.float32))
    v = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        good = v * v
        bad = tf.reduce_sum(tf.image.adjust_contrast(image * v, 0.5)) + good
    rows = local.log.n
    for _ in range(3):
        with pytest.raises(LookupError, match="gradient registry has no entry for"):
            tape.gradient(bad, [v, image])
    assert local.log.n <= rows + 10
    assert not local.log.busy
    assert float(tape.gradient(good, v)) == 4.0
    assert float(v) == 2.0
    assert tape.gradient(good, image) is None


@pytest.mark.parametrize("wrong", ["shape", "None", "list"])
def test_optimizer_changes_nothing_on_an_error(tf, wrong):
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([3.0])
    optimizer = tf.keras.optimizers.Adam(0.1)
    optimizer.apply_gradients([(tf.ones(2), v), (tf.ones(1), w)])
    before = [np.asarray(x).tobytes() for x in (v, w, *optimizer.variables)]
    pairs = {
        "shape": [(tf.ones(2), v), (tf.ones(5), w)],
        "None": [(None, v), (None, w)],
        "list": [(tf.ones(2), v), (tf.ones(1), tf.Variable([0.0]))],
    }[wrong]
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        optimizer.apply_gradients(pairs)
    assert [np.asarray(x).tobytes() for x in (v, w, *optimizer.variables)] == before


def test_value_that_cannot_be_computed_is_an_error_for_who_looks_at_it(tf):
    def too_large():  # 16 TiB on the way to a scalar
        return tf.reduce_sum(tf.cumsum(tf.broadcast_to(tf.constant(2.0), [2**42])))

    fails = MemoryError, tf.errors.ResourceExhaustedError
    with fresh_log():
        v, w, x = tf.Variable(1.0), tf.Variable(5.0), tf.constant([1.0, 2.0])
        v.assign(too_large())
        kept, y = too_large(), x * 3.0
        assert float(w.assign_add(1.0)) == 6.0
        assert float(tf.reduce_sum(y)) == 9.0
        for value in (v, kept, v):
            with pytest.raises(fails):
                float(value)
        z = x[0]
        for _ in range(20_000):  # more than a log has rows
            z = z + 1.0
        assert float(z) == 20_001.0
        for value in (v, kept):
            with pytest.raises(fails):
                float(value)
        v.assign(2.0)
        assert float(v + w) == 8.0
        assert y.numpy().tolist() == [3.0, 6.0]


@pytest.mark.cpu_only("computes by hand")
def test_error_in_a_sweep_is_raised_and_can_be_tried_again(tf, monkeypatch):
    """For example, memory runs out in the middle of a sweep."""
    with by_hand("MatMul") as op:
        _fail_once(tf, op, monkeypatch)


def _fail_once(tf, op, monkeypatch):
    compute, fail = op.compute, [True] * 2  # first with other rows, then alone

    def failing_once(*arguments, **attributes):
        if fail:
            fail.pop()
            raise MemoryError
        compute(*arguments, **attributes)

    monkeypatch.setattr(op, "compute", failing_once)
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.sin(v) @ v * v)
    v.assign(v @ v)
    with pytest.raises(MemoryError):
        float(y)
    g = tape.gradient(y, v)
    assert v.numpy().tolist() == [[7.0, 10.0], [15.0, 22.0]]
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(float(y), (np.sin(x) @ x * x).sum(), rtol=1e-6)
    expected = np.sin(x) @ x + np.sin(x).T @ x + np.cos(x) * (x @ x.T)
    np.testing.assert_allclose(g.numpy(), expected, rtol=1e-5)


class Deaf:
    """A lock with uninterruptible waits, as on Windows: an interrupt comes after the wait."""

    def __init__(self):
        self.lock, self.longest = threading.Lock(), 0.0

    def acquire(self, timeout=-1.0):
        self.longest = max(self.longest, math.inf if timeout < 0 else timeout)
        return self.lock.acquire(timeout=timeout)

    def release(self):
        self.lock.release()


def test_nobody_waits_for_workers_without_hearing_of_interrupts(monkeypatch):
    made = []

    class Task(workers._Task):
        def __init__(self, *rest):
            super().__init__(*rest)
            self.ended = Deaf()
            self.ended.lock.acquire()
            made.append(self.ended)

    monkeypatch.setattr(workers, "_Task", Task)
    ended = []

    def call():
        time.sleep(0.25)
        ended.append(True)

    for wait in (
        lambda: workers.watch([call, call], None, [], lambda: None),
        lambda: workers.share([lambda: time.sleep(0.05), call], None, []),
    ):
        wait()
    assert len(ended) >= 2
    assert len(made) == 3
    assert max(lock.longest for lock in made) <= 0.1
