"""Gradients recorded by machine code, compared with those of Python and closed forms."""

import gc
import math
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from log_queries import fresh_log
from numtape.kernels.passes import evaluation_words, gradient_words

import numtape as tf
from numtape.core import settings
from numtape.core.cpu import repeated_evaluation
from numtape.core.cpython import layout
from numtape.core.derive import repeated_gradients
from numtape.core.derive.tape import Tape
from numtape.core.log.log import Log, local
from numtape.core.values.intern_table import generation

pytestmark = [
    pytest.mark.numtape_only("how gradients are recorded"),
    pytest.mark.skipif(
        bool(layout.unsupported_reason()), reason=layout.unsupported_reason() or "usable"
    ),
    pytest.mark.skipif(settings.record() == "python", reason="NUMTAPE_RECORD=python"),
]
MANY = 5 * repeated_gradients.TURNS


@pytest.fixture(autouse=True)
def usual():
    """Resets the thread's state, which interrupted tests may have changed."""
    assert repeated_gradients.describe_backend() == "machine code"
    local.log, local.rule, local.evaluating = Log(), None, ()


def by_machine(log=None):
    """The number of a log's gradients that machine code has recorded."""
    hits, held = gradient_words.HITS, (log or local.log).gradient_fast_paths
    return sum(made.words[hits] for _, made in held)


def by_python(monkeypatch):
    monkeypatch.setattr(
        repeated_gradients, "gradient_fast_path", lambda tape, target, sources: None
    )


def network(k, w, b, u):
    """Variables, one of which is used twice, and a watched constant."""
    x = tf.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3) * (k % 5))
    with tf.GradientTape() as tape:
        tape.watch(x)
        hidden = tf.tanh(x @ w + b)
        loss = tf.reduce_mean((hidden @ u + b[0]) ** 2)
    gradients = tape.gradient(loss, [w, x, b, u])
    for v, g in zip((w, u), (gradients[0], gradients[3]), strict=True):
        v.assign_sub(0.1 * g)
    return [loss, *gradients]


def spread(k, w, b, u):
    """A target of several elements, a list of one source, and parts of variadic rows."""
    with tf.GradientTape() as tape:
        y = tf.concat([w * float(k), tf.exp(w), tf.stack([b, b, b])], 0)
    return [y, *tape.gradient(y, [w])]


def second(k, w, b, u):
    """A gradient of a gradient, whose inner tape ends while the outer one records."""
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(w**3)
        g = tape.gradient(y, w)
        z = tf.reduce_sum(g * g)
    return [g, outer.gradient(z, w)]


def intermediate(k, w, b, u):
    """Intermediate sources, one of which occurs twice."""
    with tf.GradientTape() as tape:
        h = tf.sin(w) * float(k)
        y = tf.reduce_sum(h * h)
    return tape.gradient(y, [h, w, h])


@pytest.mark.parametrize("step", [network, spread, second, intermediate])
def test_machine_code_finds_what_python_does(step, monkeypatch):
    def course():
        draw = np.random.default_rng(0)
        shapes = (3, 5), (5,), (5, 1)
        variables = [tf.Variable(draw.standard_normal(s).astype(np.float32)) for s in shapes]
        with fresh_log() as log:
            found = [[g.numpy().tobytes() for g in step(k, *variables)] for k in range(MANY)]
            return found + [v.numpy().tobytes() for v in variables], by_machine(log)

    found, count = course()
    assert count > (2 if step is second else 1) * (MANY - 3 * repeated_gradients.TURNS)
    with monkeypatch.context() as patch:
        by_python(patch)
        expected, count = course()
    assert not count
    assert found == expected


def test_hundreds_of_sources():
    weights = [tf.Variable([float(k), 1.0]) for k in range(300)]
    with fresh_log() as log:
        for _ in range(MANY):
            with tf.GradientTape() as tape:
                loss = tf.add_n([tf.reduce_sum(w * w) for w in weights])
            gradients = tape.gradient(loss, weights)
            for w, g in zip(weights, gradients, strict=True):
                w.assign_sub(0.25 * g)
            float(loss)
        assert by_machine(log) > MANY // 2
        for k, w in enumerate(weights):
            np.testing.assert_allclose(w.numpy(), [k * 0.5**MANY, 0.5**MANY], rtol=1e-5)


def sine(x, k):
    with tf.GradientTape() as tape:
        y = tf.sin(x * 2.0)
    return float(tape.gradient(y, x))


def sine_exactly(value):
    return 2.0 * math.cos(2.0 * value)


def test_a_gradient_leaves_what_python_does(monkeypatch):
    """Rows, containers and the tape are equal, without evaluating anything."""
    x, w = tf.Variable(0.5), tf.Variable([1.0, 2.0])

    with fresh_log() as log:
        for _ in range(MANY):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(w * w) * x
            g = tape.gradient(y, [x, w])
            assert float(g[0]) == 5.0 and g[1].numpy().tolist() == [1.0, 2.0]
        before = by_machine(log)
        assert before
        # The rows of a tape's first gradient, in the log that has the cache entries.
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(w * w) * x
        inner, n = tape._tape, log.n
        found = tape.gradient(y, [x, w])
        assert by_machine(log) == before + 1
        machine = told(log, inner, found, n)
        log.evaluate(found[0])
        with monkeypatch.context() as patch:
            by_python(patch)
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(w * w) * x
            inner, n = tape._tape, log.n
            found = tape.gradient(y, [x, w])
            assert told(log, inner, found, n) == machine
        assert [v.name for v in tape.watched_variables()] == ["Variable:0", "Variable:0"]


def told(log, inner, found, n):
    columns = log.columns
    return (
        n,
        log.n,
        log.extra_n,
        log.busy,
        log.eager,
        log._const_rows,
        len(log.tensors),
        columns.state[: log.n + 50].tolist(),
        [getattr(columns, name)[: log.n].tolist() for name in ("code", "a", "b", "c", "spec")],
        [(t._row, t._spec, t._home is log) for t in found],
        inner.variable_flags,
        inner.ranges,
        inner.events,
        inner.is_spent,
        inner.log,
        log.tensors[-2] is found[0],
        log.tensors[-1] is found[1],
    )


def persistent(x, k):
    with tf.GradientTape(persistent=True) as tape:
        y = tf.sin(x * 2.0)
    assert float(tape.gradient(y, x)) == float(tape.gradient(y, x))
    return float(tape.gradient(y, x))


def other_rows(x, k):
    with tf.GradientTape() as tape:
        y = tf.sin(2.0 * x)
    return float(tape.gradient(y, x))


def seeded(x, k):
    with tf.GradientTape() as tape:
        y = tf.sin(x * 2.0)
    return float(tape.gradient(y, x, output_gradients=tf.constant(3.0))) / 3.0


def inside(x, k):
    with tf.GradientTape() as tape:
        y = tf.sin(x * 2.0)
        g = tape.gradient(y, x)
    return float(g)


def two_targets(x, k):
    with tf.GradientTape() as tape:
        y = tf.sin(x * 2.0)
    return float(tape.gradient([y, y], x)) / 2.0


def variable_a_target(x, k):
    with tf.GradientTape() as tape:
        tf.sin(x * 2.0)
    assert float(tape.gradient(x, x)) == 1.0
    return sine(x, k)


def of_another_variable(x, k):
    other = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        y = tf.sin(x * 2.0)
    assert tape.gradient(y, other) is None
    with tf.GradientTape() as tape:
        y = tf.sin(x * 2.0)
    assert float(tape.gradient(y, other, unconnected_gradients="zero")) == 0.0
    return sine(x, k)


def watched_by_hand(x, k):
    with tf.GradientTape(watch_accessed_variables=k % 2 == 0) as tape:
        tape.watch(x)
        y = tf.sin(x * 2.0)
    return float(tape.gradient(y, x))


def not_watched(x, k):
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = tf.sin(x * 2.0)
    assert tape.gradient(y, x) is None
    return sine(x, k)


def not_trainable(x, k):
    other = tf.Variable(float(x), trainable=False)
    with tf.GradientTape() as tape:
        y = tf.sin(other * 2.0)
    assert tape.gradient(y, other) is None
    return sine(x, k)


def in_a_dictionary(x, k):
    with tf.GradientTape() as tape:
        y = tf.sin(x * 2.0)
    return float(tape.gradient(y, {"x": x})["x"])


def a_second_stretch(x, k):
    with tf.GradientTape() as tape:
        y = x * 2.0
        with tape.stop_recording():
            tf.exp(y)
        y = tf.sin(y)
    return float(tape.gradient(y, x))


def numbers_are_freed(x, k):
    generation.number += 1
    return sine(x, k)


def in_a_function(x, k, f=tf.function(lambda x: sine_in(x))):  # noqa: B008
    return float(f(x))


def sine_in(x):
    with tf.GradientTape() as tape:
        y = tf.sin(x * 2.0)
    return tape.gradient(y, x)


def in_another_thread(x, k):
    found = []
    thread = threading.Thread(target=lambda: found.append(sine(x, k)))
    thread.start()
    thread.join()
    return found[0]


def asked_in_another_thread(x, k):
    with tf.GradientTape() as tape:
        y = tf.sin(x * 2.0)
    errors = []

    def ask():
        try:
            tape.gradient(y, x)
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert "belongs to the thread" in errors[0]
    return float(tape.gradient(y, x))


@pytest.mark.parametrize("usually", [True, False])
@pytest.mark.parametrize(
    "unusual",
    [
        persistent,
        other_rows,
        seeded,
        inside,
        two_targets,
        variable_a_target,
        of_another_variable,
        watched_by_hand,
        not_watched,
        not_trainable,
        in_a_dictionary,
        a_second_stretch,
        numbers_are_freed,
        in_a_function,
        in_another_thread,
        asked_in_another_thread,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_not_as_before_is_right(unusual, usually):
    """All changes together, and mixed with unchanged gradients."""
    x, most = tf.Variable(0.0), 0
    with fresh_log() as log:
        for k in range(MANY):
            x.assign(0.01 * k)
            if usually:
                assert sine(x, k) == pytest.approx(sine_exactly(0.01 * k), rel=1e-6)
            assert unusual(x, k) == pytest.approx(sine_exactly(0.01 * k), rel=1e-6)
            most = max(most, by_machine(log))
        assert most or not usually or unusual is numbers_are_freed


def test_what_is_trainable_meanwhile_is_asked_for():
    """A non-trainable variable takes the place of another one in the same rows."""
    with fresh_log() as log:
        for k in range(MANY):
            assert sine(tf.Variable(0.1 * k), k) == pytest.approx(sine_exactly(0.1 * k), rel=1e-5)
        assert by_machine(log)
        x = tf.Variable(0.5, trainable=False)
        with tf.GradientTape() as tape:
            y = tf.sin(x * 2.0)
        assert tape.gradient(y, x) is None


def test_gradients_in_turn():
    x = tf.Variable(0.5)
    with fresh_log() as log:
        for k in range(MANY):
            assert sine(x, k) == pytest.approx(sine_exactly(0.5), rel=1e-6)
            with tf.GradientTape() as tape:
                y = tf.exp(x) * x
            assert float(tape.gradient(y, x)) == pytest.approx(1.5 * math.exp(0.5), rel=1e-6)
        assert by_machine(log) > 2 * (MANY - 3 * repeated_gradients.TURNS)
        assert len(log.gradient_fast_paths) == 2


def test_a_finalizer_among_results_changes_nothing():
    """Finalizers record, evaluate and rewind while results are created."""
    x, hurt = tf.Variable(0.5), []

    class Ends:
        def __init__(self):
            self.me = self

        def __del__(self):
            hurt.append(float(tf.exp(x) + 1.0))

    before = gc.get_threshold()
    with fresh_log():
        try:
            for k in range(10 * MANY):
                Ends()
                gc.set_threshold(1 + k % 7)
                assert sine(x, k) == pytest.approx(sine_exactly(0.5), rel=1e-6)
        finally:
            gc.set_threshold(*before)
            gc.collect()
    assert len(hurt) > MANY
    assert set(hurt) == {hurt[0]}


@pytest.mark.parametrize("module", [repeated_gradients, repeated_evaluation])
def test_operands_that_move_while_addresses_are_taken_are_not_referred_to(module, monkeypatch):
    """A finalizer that records many operands makes the log reallocate its operand array."""
    x, words = tf.Variable(0.5), gradient_words
    held = "gradient_fast_paths"
    if module is repeated_evaluation:
        words, held = evaluation_words, "evaluate_fast_paths"
    with fresh_log() as log:
        slot, moved = module.slot_address, []

        def moves(*given):
            moved.append(log.extra)
            log.reserve_operands(2 * log.extra.size)
            return slot(*given)

        with monkeypatch.context() as patch:
            patch.setattr(module, "slot_address", moves)
            for k in range(MANY):
                assert sine(x, k) == pytest.approx(sine_exactly(0.5), rel=1e-6)
                if moved:
                    break
        assert moved and moved[0] is not log.extra
        for numbers, made in getattr(log, held):
            kept = {id(thing) for thing in made._owned}
            assert numbers[words.EXTRA] in kept
            addresses = {
                thing.ctypes.data for thing in made._owned if isinstance(thing, np.ndarray)
            }
            assert numbers[words.OPERANDS_HERE] in addresses
        for k in range(MANY):
            assert sine(x, k) == pytest.approx(sine_exactly(0.5), rel=1e-6)


def test_the_garbage_collector_keeps_track_of_new_tuples():
    x, before = tf.Variable(0.5), gc.get_threshold()
    with fresh_log() as log:
        for k in range(MANY):
            sine(x, k)
        hits = by_machine(log)
        lists = [[] for _ in range(1000)]  # new ones are not reused, so they run collections
        gc.set_threshold(1)
        try:
            with tf.GradientTape() as tape:
                y = tf.sin(x * 2.0)
            tape.gradient(y, x)
        finally:
            gc.set_threshold(*before)
        assert by_machine(log) == hits + 1 and len(lists) == 1000
        assert gc.is_tracked(tape._tape.variable_flags) and gc.is_tracked(x._read)


def test_nothing_is_left_behind():
    w, x = tf.Variable([[0.5]]), tf.Variable(0.5)

    def steps(count):
        for k in range(count):
            sine(x, k)
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(w @ w)
            tape.gradient(y, [w])[0].numpy()

    def counts():
        # None, booleans and small ints have other references, too.
        things = [Log, Tape, tf.Tensor, tf.Variable, local.log, x, w, x._spec, w._spec]
        held = [thing for _, made in local.log.gradient_fast_paths for thing in made._owned]
        return [sys.getrefcount(thing) for thing in things] + [
            sys.getrefcount(thing) for thing in held if not isinstance(thing, int | bool)
        ]

    with fresh_log() as log:
        steps(MANY)
        gc.collect()
        before, hits = counts(), by_machine(log)
        steps(20 * MANY)
        gc.collect()
        after = counts()
        assert by_machine(log) == hits + 40 * MANY
        assert all(abs(a - b) < MANY for a, b in zip(after, before, strict=True))
        tracemalloc.start()
        try:
            steps(MANY)
            first = tracemalloc.get_traced_memory()[0]
            steps(20 * MANY)
            assert tracemalloc.get_traced_memory()[0] < first + 4096
        finally:
            tracemalloc.stop()
