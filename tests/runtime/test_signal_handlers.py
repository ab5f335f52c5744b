"""Signal handlers and finalizers that compute: they work at any point, or raise an error."""

import contextlib
import json
import os
import signal
import sys
import time
import types

import numpy as np
import pytest
from checks import SEED
from log_queries import fresh_log
from processes import PACKAGE, run

import numtape as tf
from numtape.core.compile import cache
from numtape.core.cpu import blas
from numtape.core.log import evaluate
from numtape.core.log.log import local
from numtape.core.values import intern_table

pytestmark = pytest.mark.numtape_only("a promise TensorFlow does not make")

PROGRAM = """
import gc, json, random, signal, sys, time
import numpy as np
import numtape as tf
from numtape.core.log.log import local

shared = tf.Variable(np.ones(3, "f"))
count, wrong, refused = tf.Variable(0.0), [], 0
kept, full, depth = [], False, 0

def handler(*_):
    # Constants, shapes, tapes, variables of the program, looks, and what outlives it.
    global refused, depth
    if depth == 3:  # it is interrupted itself
        return
    depth += 1
    try:
        if full:
            local.log.limit = 0  # the next op finds it full
        x = tf.constant([1.0, 2.0])
        if float(tf.reduce_sum(x * 2.0)) != 6.0:
            wrong.append("value in the handler")
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.concat([x, x * x], 0)) * shared[1]
        if tape.gradient(y, x).numpy().tolist() != [3.0, 5.0]:
            wrong.append("gradient in the handler")
        kept[:] = [x * 3.0, *kept[:3]]  # looked at later
        count.assign(float(count) + 1.0)
        if float(tf.reduce_sum(u)) != 20.0:
            wrong.append("the program's variable in the handler")
    except RuntimeError as error:
        if "A signal handler or a finalizer" not in str(error):
            wrong.append(repr(error)[:200])
        refused += 1
    except Exception as error:
        wrong.append(repr(error)[:200])
    finally:
        depth -= 1

u = tf.Variable(np.ones(20, "f"))

def program(k=0):
    x = tf.constant(np.full(20, 2.0, "f"))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            w = tf.reshape(tf.concat([x * x, u], 0), [2, 20 + k - k])
            y = tf.reduce_sum(w[0] * u) + 2.0 * tf.reduce_sum(x) + 1.5 * tf.reduce_sum(u)
        g = tape.gradient(y, [x, u])
        z = tf.reduce_sum(g[0] * x)
    h = outer.gradient(z, x)
    u.assign(u * 0.5 + 0.5)
    found = [float(y), g[0].numpy(), g[1].numpy(), h.numpy(), u.numpy()]
    wanted = [190.0, 6.0, 5.5, 10.0, 1.0]
    for k, (a, b) in enumerate(zip(found, wanted)):
        if not np.all(a == b):
            wrong.append(f"the program's {k}: {a}")
    for t in kept:
        if t.numpy().tolist() != [3.0, 6.0]:
            wrong.append(f"kept by the handler: {t}")
"""

TIMER = (
    PROGRAM
    + """
program(), handler(), program()
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
end = time.time() + float(sys.argv[1])
while time.time() < end and not wrong:
    program()
signal.setitimer(signal.ITIMER_REAL, 0)
program()
print(json.dumps([wrong[:3], float(count) > 50, local.log.busy, local.rule is None]))
"""
)


@pytest.mark.skipif(os.name == "nt", reason="no timers that signal")
def test_handlers_that_compute_a_thousand_times_a_second():
    assert json.loads(run(TIMER, 1)) == [[], True, False, True]


# A handler at each point where one can run, one at a time: at the start of a function, at backward
# jumps and after calls. A trace function at these points stands for the handler.

EVERYWHERE = (
    PROGRAM
    + """
import dis
package, stride, warm, start = sys.argv[1], *map(int, sys.argv[2:5])

PLACES = {}
def places(code):
    found = PLACES.get(code)
    if found is None:
        # The event comes before an instruction: after a call is before the next one.
        found, after = {0}, False
        for i in dis.get_instructions(code):
            if after or i.opname.startswith(("RESUME", "JUMP_BACKWARD")):
                found.add(i.offset)
            after = i.opname.startswith("CALL")
        PLACES[code] = found
    return found

count_at = target = 0
where = ""
def trace(frame, event, _):
    global count_at, where
    if not frame.f_code.co_filename.startswith(package):
        return None
    frame.f_trace_opcodes, frame.f_trace_lines = True, False
    if event == "opcode" and frame.f_lasti in places(frame.f_code):
        count_at += 1
        if count_at == target:
            sys.settrace(None)
            name = frame.f_code.co_filename.rpartition("/")[2]
            where = f"{name}:{frame.f_lineno} {frame.f_code.co_name}"
            interrupting()
    return trace

def interrupting():
    # From a frame that is no part of numtape, as a handler is.
    handler()

def one(at):
    global count_at, target
    count_at, target = 0, at
    if not warm:
        from numtape.core.values import intern_table
        intern_table.free_unused()
    sys.settrace(trace)
    try:
        program()
    finally:
        sys.settrace(None)

if warm:
    program(), program(), handler(), handler(), program()
one(0)
one(0)
total, found = count_at, []
for at in range(1 + start, total + 1, stride):
    full = at % 2 == 0
    wrong.clear()
    try:
        one(at)
        program()
    except Exception as error:
        wrong.append(repr(error)[:200])
    if wrong:
        found.append((where, wrong[:2]))
    if local.log.busy or local.rule is not None or local.log.is_recorded():
        found.append((where, "left in a state"))
print(json.dumps([total, found[:5], refused]))
"""
)


@pytest.mark.parametrize(("known", "stride"), [(True, 7), (False, 201)])
def test_a_handler_at_many_places(known, stride):
    """With warm and with cold caches of rules and plans."""
    total, found, _ = json.loads(run(EVERYWHERE, PACKAGE, stride, int(known), 3))
    assert total > 1000
    assert found == []


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    "start",
    [pytest.param(k, marks=pytest.mark.thorough if k else pytest.mark.slow) for k in range(4)],
)
def test_a_handler_at_every_place(known, start):
    stride, start = 4 if known else 20, (start + SEED) % 4
    total, found, _ = json.loads(
        run(EVERYWHERE, PACKAGE, stride, int(known), start * stride // 4, timeout=1200)
    )
    assert total > 1000
    assert found == []


# In one process, at selected points.


def test_a_value_that_is_being_computed_cannot_be_looked_at(tf):
    lazy, seen = tf.constant([1.0, 2.0]) * 2.0, []

    def looking(compute):
        def handled(log, wanted, *rest):
            own = tf.constant([1.0, 2.0]) * 3.0
            seen.append((own.numpy().tolist(), local.log is log))
            with pytest.raises(RuntimeError, match="A signal handler or a finalizer reads"):
                lazy.numpy()
            return compute(log, wanted, *rest)

        return handled

    with fresh_log(), pytest.MonkeyPatch.context() as patch:
        lazy = tf.constant([1.0, 2.0]) * 2.0
        other = tf.reduce_sum(lazy)
        executor = evaluate.executor()
        compute, once = executor.compute, []

        def handled(log, wanted, *rest):
            if not once:
                once.append(log)
                looking(lambda *_: None)(log, wanted)
            return compute(log, wanted, *rest)

        patch.setattr(executor, "compute", handled, raising=False)
        assert float(other) == 6.0
        assert seen == [([3.0, 6.0], False)]
        assert lazy.numpy().tolist() == [2.0, 4.0]
    vars(executor).pop("compute", None)  # the original method of the class


def test_an_executor_that_is_being_imported_is_no_attribute_error(tf, monkeypatch):
    name = f"numtape.core.{tf.config.device()}.executor"
    monkeypatch.setattr(evaluate, "_executors", {})
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    with pytest.raises(RuntimeError, match="imports the executor"):
        evaluate.executor()


def test_what_cannot_be_done_inside_of_itself_says_so(monkeypatch):
    monkeypatch.setattr(cache, "_loading", ["a unit"])
    with pytest.raises(RuntimeError, match="A signal handler or a finalizer needs compiled code"):
        cache.load("another", "", lambda: None)
    monkeypatch.setattr(blas, "_loading", ["dgemm"])
    with pytest.raises(RuntimeError, match="A signal handler or a finalizer multiplies"):
        blas.address("sgemm")


REPEATED = """
import numtape as tf
from numtape.core.compile import cache

def handler():
    return float(tf.constant(2.0) * 4.0)

handler()
cache._loading.append("a unit")
print({handler() for _ in range(20)})
cache._loading.clear()
print({handler() for _ in range(20)})
"""


@pytest.mark.parametrize("recorder", ["native", "python"])
def test_a_handler_that_interrupts_the_loading_of_code_can_repeat_an_evaluation(recorder):
    assert run(REPEATED, NUMTAPE_RECORD=recorder).split("\n") == ["{8.0}"] * 2


def test_no_weak_reference_runs_python():
    """An interrupt in such a callback would be printed and lost."""

    class Thing:
        pass

    found, things = intern_table.WeakRefs(), [Thing() for _ in range(300)]
    for thing in things:
        found.add(thing)
    refs = list(found._refs.values())
    assert {ref.__callback__ for ref in refs} == {None}
    assert list(found) == things
    del things[10:], thing
    for _ in range(400):
        found.add(Thing())
    assert list(found) == things
    assert len(found._refs) < 300
    assert {ref.__callback__ for ref in intern_table.LOGS._refs.values()} == {None}


def test_a_look_inside_of_a_conversion_does_not_move_rows(tf):
    """An operand that evaluates during its conversion, after the other one was recorded."""

    class Converted:
        def __array__(self, dtype=None, copy=None):
            return np.array([float(tf.constant(3.0) * 2.0)] * 2, np.float32)

    with fresh_log():
        x = tf.constant([1.0, 2.0]) * 2.0
        for _ in range(3):
            y = tf.add(x * x, Converted())
            assert y.numpy().tolist() == [10.0, 22.0]
            x = tf.identity(tf.constant([1.0, 2.0]) * 2.0)


# Assigns of a handler persist, whether or not the interrupted call succeeds.


def _raises(x):
    raise ValueError


KEPT = []


def _keeps_a_tape(x):
    with tf.GradientTape() as tape:
        KEPT[:] = [tape]
    return x


def _raises_inside(x):
    with contextlib.suppress(ValueError):
        tf.function(_interrupted(_raises))(x)
    return x


def _interrupted(end):
    def body(x):
        for _ in range(3):
            x = x + 1.0
            signal.raise_signal(signal.SIGUSR1)
        return end(x)

    return body


@pytest.fixture
def counted():
    """A variable that a signal handler increments."""
    counter = tf.Variable(0.0)

    def handler(*_):
        counter.assign_add(1.0)

    before = signal.signal(signal.SIGUSR1, handler)
    yield counter, handler
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.records
@pytest.mark.filterwarnings("ignore:.*runs as plain Python")
@pytest.mark.parametrize(
    ("end", "signals"), [(_raises, 3), (_keeps_a_tape, 6), (_raises_inside, 6)]
)
def test_what_a_handler_assigns_lasts(counted, end, signals):
    counter, _ = counted
    with contextlib.suppress(ValueError):
        tf.function(_interrupted(end))(tf.constant(1.0))
    assert float(counter) == signals  # those during the call, which may run twice


@pytest.mark.filterwarnings("ignore:.*runs as plain Python")
def test_what_a_handler_assigns_lasts_in_plain_calls_that_raise(counted):
    counter, _ = counted
    other, fails = tf.Variable(0.0), []

    @tf.function
    def step(x):
        time.time()
        other.assign_add(1.0)
        return _interrupted(_raises if fails else tf.identity)(x)

    step(tf.constant(1.0))
    assert step.paths().reasons
    fails.append(True)
    with pytest.raises(ValueError, match=r"^$"):
        step(tf.constant(1.0))
    assert (float(other), float(counter)) == (1.0, 6.0)


def test_a_handler_that_is_merely_called_is_part_of_the_call(counted):
    counter, handler = counted

    @tf.function
    def step(x):
        handler(0, None)
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        step(tf.constant(1.0))
    assert float(counter) == 0.0
