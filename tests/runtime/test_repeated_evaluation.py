"""Evaluation in machine code, compared with evaluation in Python."""

import gc
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from log_queries import fresh_log, sweeps
from numtape.kernels.passes import evaluation_words

import numtape as tf
from numtape.core import settings
from numtape.core.cpu import executor as cpu, repeated_evaluation
from numtape.core.cpython import layout
from numtape.core.log import evaluate
from numtape.core.log.log import Log, local
from numtape.core.native.process import process_table
from numtape.core.values.intern_table import generation

pytestmark = [
    pytest.mark.numtape_only("how looks are carried out"),
    pytest.mark.skipif(
        bool(layout.unsupported_reason()), reason=layout.unsupported_reason() or "usable"
    ),
    pytest.mark.skipif(settings.record() == "python", reason="NUMTAPE_RECORD=python"),
]
MANY = 4 * repeated_evaluation.MIN_RUNS


@pytest.fixture(autouse=True)
def usual(monkeypatch):
    """Resets the thread's state, which interrupted tests may have changed."""
    assert repeated_evaluation.describe() == "machine code"
    local.log, local.rule, local.evaluating = Log(), None, ()
    monkeypatch.setattr(settings, "moved", False)


def by_machine(log=None):
    """The number of evaluations of a log that machine code has executed."""
    hits, held = evaluation_words.HITS, (log or local.log).evaluate_fast_paths
    return sum(made.words[hits] for _, made in held)


def arrays():
    draw = np.random.default_rng(0)
    shapes = (4, 3), (3, 5), (5,), (5, 1), (1,)
    return [draw.standard_normal(shape).astype(np.float32) for shape in shapes]


def descend(variables, x, momenta):
    """A step of a network, some of whose values are alive when the loss is evaluated."""
    w, b, u, c = variables
    with tf.GradientTape() as tape:
        hidden = tf.tanh(x @ w + b)
        loss = tf.reduce_mean((hidden @ u + c) ** 2)
    gradients = tape.gradient(loss, variables)
    for variable, momentum, g in zip(variables, momenta, gradients, strict=True):
        momentum.assign(0.9 * momentum + g)
        variable.assign_sub(0.1 * momentum)
    value = float(loss)
    return [np.float32(value), hidden.numpy(), *(g.numpy() for g in gradients)]


def held(variables, x, momenta):
    """Tensors kept alive by other means: weak references, containers, equal rows, a shape."""
    w, _, _, c = variables
    y = x @ w
    same, flat = x @ w, tf.reshape(y, (-1,))
    weak = weakref.ref(total := tf.reduce_sum(y))
    inside = {"some": [tf.reduce_max(y, 0), tf.cast(y[0, 0] > 0.0, tf.int8)]}
    half = tf.cast(y, tf.float16)[0, 0]
    c.assign_add([1.0])
    whole = tf.cast(total, tf.complex64)
    found = [total.numpy(), weak().numpy(), same.numpy(), flat.numpy(), c.numpy(), half.numpy()]
    return [*found, whole.numpy(), *(v.numpy() for v in inside["some"])]


@pytest.mark.parametrize("step", [descend, held])
def test_machine_code_finds_what_python_does(step, monkeypatch):
    def course():
        x, *start = arrays()
        variables = [tf.Variable(value) for value in start]
        momenta = [tf.Variable(0.0 * value) for value in start]
        with fresh_log() as log:
            found = [step(variables, tf.constant(x), momenta) for _ in range(MANY)]
            rest = [v.numpy() for v in (*variables, *momenta)]
            return [value.tobytes() for values in (*found, rest) for value in values], log

    found, log = course()
    if step is descend:
        assert by_machine(log) > MANY - 3 * repeated_evaluation.MIN_RUNS
    with monkeypatch.context() as patch:
        patch.setattr(evaluate, "evaluate_fast_path", lambda log, tensor: None)
        expected, log = course()
    assert not by_machine(log)
    assert found == expected


def test_a_log_is_as_if_python_had_looked():
    x, kept = tf.constant(2.0), []
    with fresh_log() as log:
        for k in range(MANY):
            kept.append(x * float(k) + 1.0)
            assert float(kept[-1]) == 2.0 * k + 1.0
            assert log.n == log.extra_n == log.scanned == log.bytes == 0
            assert not (
                log.tensors
                or log.variables
                or log.reads
                or log.buffers
                or log.pending
                or log._const_rows
                or log._leaf_rows
                or log.eager
            )
            assert not log.columns.state.any()
            assert not log.workspace.want.any()
        assert by_machine(log) > repeated_evaluation.MIN_RUNS
    assert [float(y) for y in kept] == [2.0 * k + 1.0 for k in range(MANY)]


def square(x, k):
    return float(x * x + float(k))


def other_rows(x, k):
    return float(x * float(k))


def held_by_a_tape(x, k):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    found = float(y + float(k))
    assert float(tape.gradient(y, x)) == 4.0
    return found


def array_waits(x, k):
    line = tf.reshape(x, (1,)) * [1.0, 2.0]
    found = float(x * x + float(k))
    assert line.numpy().tolist() == [2.0, 4.0]
    return found


def in_another_thread(x, k):
    found, y = [], x * x + float(k)
    thread = threading.Thread(target=lambda: found.append(float(y)))
    thread.start()
    thread.join()
    return found[0]


def numbers_are_freed(x, k):
    generation.number += 1
    return float(x * x + float(k))


def on_another_device(x, k):
    with tf.device("/CPU:0"):
        return float(x * x + float(k))


def while_counted(x, k):
    with sweeps() as found:
        value = float(x * x + float(k))
    assert len(found) == 1
    return value


@pytest.mark.parametrize("usual", [True, False])
@pytest.mark.parametrize(
    "unusual",
    [
        other_rows,
        held_by_a_tape,
        array_waits,
        in_another_thread,
        numbers_are_freed,
        on_another_device,
        while_counted,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_not_as_before_is_left_to_python(unusual, usual):
    """All changes together, and mixed with unchanged evaluations."""
    x = tf.constant(2.0)
    with fresh_log():
        for k in range(MANY):
            if usual:
                assert square(x, k) == 4.0 + k
            assert unusual(x, k) == (2.0 * k if unusual is other_rows else 4.0 + k)
            assert local.log.tapes == [] or unusual is held_by_a_tape


def test_who_puts_others_in_the_place_of_functions_is_asked(monkeypatch):
    x, asked = tf.constant(2.0), []
    with fresh_log() as log:
        for k in range(MANY):
            assert square(x, k) == 4.0 + k
        count, run = by_machine(log), cpu.Sweeper.run
        monkeypatch.setattr(cpu.Sweeper, "run", lambda *given: asked.append(1) or run(*given))
        assert square(x, 1) == 5.0
        assert asked == [1] and by_machine(log) == count


def test_looks_in_turn():
    x = tf.constant(2.0)
    with fresh_log() as log:
        for k in range(MANY):
            assert square(x, k) == 4.0 + k
            assert other_rows(x, k) == 2.0 * k
            assert float(tf.sqrt(x * float(k))) == np.sqrt(np.float32(2.0 * k))
        assert by_machine(log) > 3 * repeated_evaluation.MIN_RUNS
        assert len(log.evaluate_fast_paths) == 3


def test_what_goes_with_the_rows_may_record():
    """Callbacks of objects that an evaluation releases."""
    found = []

    def gone(_):
        found.append(float(x + 1.0))

    x = tf.constant(2.0)
    with fresh_log() as log:
        for k in range(MANY):
            v = tf.Variable(3.0 + k)
            y, reference = v * x, weakref.ref(v, gone)
            del v
            assert float(y) == 6.0 + 2.0 * k
            assert reference() is None
        assert by_machine(log) > repeated_evaluation.MIN_RUNS
    assert found == [3.0] * MANY


def test_nothing_is_left_behind():
    x, ones = tf.constant(2.0), tf.Variable(np.ones(8, np.float32))
    with fresh_log() as log:

        def run(times):
            for _ in range(times):
                y = tf.reduce_sum(ones * x)
                ones.assign(ones + 1.0)
                float(y)

        def counts():
            gc.collect()
            process = {k: v for x in process_table()._objects[1:] for k, v in x.items()}
            things = [
                log,
                log.columns,
                log.lock,
                ones,
                x,
                x._spec,
                ones._spec,
                log.evaluate_fast_paths,
                np.dtype(np.float32),
                *process.values(),
            ]
            return [sys.getrefcount(thing) for thing in things]

        run(MANY)
        before = counts()
        tracemalloc.start()
        run(MANY)
        memory = tracemalloc.get_traced_memory()[0]
        run(10 * MANY)
        assert tracemalloc.get_traced_memory()[0] - memory < 4000
        tracemalloc.stop()
        assert by_machine(log) > 10 * MANY
        # None and similar objects have other references, too.
        assert all(abs(a - b) < MANY for a, b in zip(counts(), before, strict=True))
