"""Tapes and the log's memory: rows live as long as tapes need them, and no longer."""

import gc
import weakref

import numpy as np
import pytest
from log_queries import fresh_log

from numtape.core.log.log import SWEEP_BYTES, SWEEP_ROWS, local

pytestmark = pytest.mark.numtape_only("looks into numtape's log")


@pytest.fixture(autouse=True)
def log():
    with fresh_log() as found:
        yield found


def busywork(tf, rows):
    """Ops whose results are not evaluated."""
    x = tf.constant(0.0)
    for _ in range(rows):
        x = x + 1.0
    return x


@pytest.mark.parametrize("rows", [10, SWEEP_ROWS + 10, 50_000])
def test_tape_outlives_the_rewinding(tf, rows):
    x = tf.Variable([2.0, 3.0])
    with tf.GradientTape() as tape:
        y = x * x * x
        z = tf.reduce_sum(y)
    assert float(busywork(tf, rows)) == rows
    float(tf.constant(1.0) + 1.0)
    gy, gx = tape.gradient(z, [y, x])
    assert gy.numpy().tolist() == [1.0, 1.0]
    assert gx.numpy().tolist() == [12.0, 27.0]
    assert y.numpy().tolist() == [8.0, 27.0]


def test_persistent_tape_after_50_000_other_ops(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    assert float(tape.gradient(y, x)) == 6.0
    for _ in range(2):
        assert float(busywork(tf, 50_000)) == 50_000.0
        assert float(tape.gradient(y, x)) == 6.0
    with tape:
        z = y * x
    assert float(tape.gradient(z, x)) == 27.0
    assert float(busywork(tf, 50_000)) == 50_000.0
    assert float(tape.gradient(z, x)) == 27.0
    assert tape.gradient(z, [y, x])[0].numpy() == 3.0


def test_values_of_an_old_tape_can_be_used_anywhere(tf):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as old:
        y = x * 3.0
    busywork(tf, 2 * SWEEP_ROWS)
    with tf.GradientTape() as new:
        new.watch(y)
        z = tf.reduce_sum(y * y * x)
    gy, gx = new.gradient(z, [y, x])
    assert gy.numpy().tolist() == [6.0, 24.0]
    assert gx.numpy().tolist() == [9.0, 36.0]
    assert old.gradient(y, x).numpy().tolist() == [3.0, 3.0]


def test_assigns_while_an_old_tape_holds_its_rows(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    for _ in range(2 * SWEEP_ROWS):
        x.assign_add(1.0)
    assert float(x) == 3.0 + 2 * SWEEP_ROWS
    assert float(tape.gradient(y, x)) == 6.0


def test_log_grows_while_a_tape_records(tf):
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * 1.0
        for _ in range(3 * SWEEP_ROWS):
            y = y + x
    assert float(y) == 1.0 + 3 * SWEEP_ROWS
    assert float(tape.gradient(y, x)) == 1.0 + 3 * SWEEP_ROWS
    float(tf.constant(1.0) + 1.0)
    del y
    float(tf.constant(1.0) + 1.0)
    assert local.log.n < 100


def test_watching_many_tensors_where_the_log_is_full(tf, log):
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * 1.0
        for _ in range(4):
            while log.n < log.columns.capacity - 70:
                y = y * 1.0
            many = [tf.constant([1.0, float(k)]) for k in range(300)]
            tape.watch(many)
            z = tf.add_n([tf.reduce_sum(t) for t in many]) if hasattr(tf, "add_n") else many[7]
            y = y + tf.reduce_sum(z)
    assert tape.gradient(y, many[7]).numpy().tolist() == [1.0, 1.0]


def dropped(tape):
    """Whether the record of a tape is no longer referenced."""
    record = weakref.ref(tape._tape)
    return lambda: record() is None


@pytest.mark.parametrize("persistent", [False, True])
def test_dead_tape_lets_go_of_the_rows(tf, persistent):
    x = tf.Variable(tf.ones(1000))
    with tf.GradientTape(persistent=persistent) as tape:
        y = tf.reduce_sum(tf.sin(x))
    gone = dropped(tape)
    float(y)
    log = local.log
    assert log.n > 0
    del tape
    gc.collect()
    assert gone()
    float(tf.constant(1.0) + 1.0)
    assert log.n == 0
    assert not log.buffers


def test_spent_tape_lets_go_of_the_rows(tf):
    x = tf.Variable(tf.ones(1000))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.sin(x))
    g = tape.gradient(y, x)
    g.numpy()
    assert local.log.n == 0
    assert not local.log.buffers
    assert tape is not None


def test_old_log_dies_with_its_tape(tf, log):
    x = tf.Variable(tf.ones(1000))
    with tf.GradientTape(persistent=True) as tape:
        y = tf.sin(x)
    busywork(tf, 2 * SWEEP_ROWS)
    assert local.log is not log
    columns = weakref.ref(log.columns.code)
    with fresh_log():  # the fixture keeps the log itself alive
        log.rewind()
        log.columns = log.code = log.a = log.b = log.c = log.spec = None
        log.workspace = None
    gone = dropped(tape)
    del tape, y
    gc.collect()
    assert gone()
    assert columns() is None


def test_a_tape_in_a_loop_leaves_nothing_behind(tf, log):
    x = tf.Variable(2.0)
    for _ in range(300):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = x * x * x
            g = inner.gradient(y, x)
        assert float(outer.gradient(g, x)) == 12.0
    assert log.n == 0
    assert not local.log.is_recorded()
    assert len(log.tapes) <= 2


def test_abandoned_tapes_are_forgotten(tf, log):
    """Tapes without a gradient call keep nothing alive after their end."""
    x = tf.Variable(tf.ones(100))
    for _ in range(300):
        with tf.GradientTape():
            y = tf.reduce_sum(x * x)
        float(y)
    assert log.n < 200
    assert len(log.buffers) < 50
    assert len(log.tapes) <= 2


def test_an_exception_inside_a_tape_ends_its_recording(tf, log):
    x = tf.Variable(tf.ones(3))
    for _ in range(50):
        with pytest.raises(ZeroDivisionError), tf.GradientTape():
            y = tf.reduce_sum(x * x)
            float(y)
            raise ZeroDivisionError
    assert not local.log.is_recorded()
    float(tf.constant(1.0) + 1.0)
    assert log.n == 0


def test_random_draws_are_never_merged(tf):
    with tf.GradientTape():
        a, b = tf.random.normal((3,)), tf.random.normal((3,))
        c = a + b
    assert not np.array_equal(a.numpy(), b.numpy())
    assert np.array_equal(c.numpy(), a.numpy() + b.numpy())


def test_looks_at_arrays_inside_a_tape_remember_no_more_than_they_must(tf, log):
    """The work of an evaluation does not grow with earlier evaluations."""
    x = tf.Variable(tf.ones(10))
    with tf.GradientTape():
        y = x
        for _ in range(500):
            y = tf.sin(y) * x
            y.numpy()
    assert len(log.lazy) < 50


def test_large_arrays_in_steps_that_never_look_are_let_go(tf, log):
    """Buffers are released between tapes, long before the log has enough rows for a sweep."""
    v = tf.Variable(tf.ones(1_000_000))
    for _ in range(120):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * v)
        v.assign_sub(1e-4 * tape.gradient(y, v))
    assert log.bytes < SWEEP_BYTES
    assert v.numpy()[0] > 0.9


def test_tapes_that_record_nothing_leave_nothing(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as first:
        y = x * x
    for _ in range(1000):
        with pytest.raises(ValueError), tf.GradientTape():
            raise ValueError
    assert len(local.log.tapes) < 150
    assert first.gradient(y, x) == 6.0
