"""Threads with tapes of their own, looks at other threads' tensors, forks."""

import multiprocessing
import sys
import threading
import warnings

import numpy as np
import pytest
from counting import fresh_log
from processes import run
from together import together

from numtape.core.log import local

pytestmark = pytest.mark.numtape_only("a promise TensorFlow does not make")


@pytest.fixture(autouse=True)
def often():
    """Switch threads as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with fresh_log():
            yield
    finally:
        sys.setswitchinterval(before)


def test_four_threads_give_what_one_gives(tf):
    rng = np.random.default_rng(0)
    w, b = tf.Variable(rng.standard_normal((3, 2))), tf.Variable(rng.standard_normal(2))
    data = rng.standard_normal((4, 60, 5, 3))

    def work(k):
        found = []
        for x in data[k]:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.tanh(x @ w + b) ** 2)
            gradients = tape.gradient(loss, [w, b])
            if len(found) % 3:
                float(loss)
            found.append([np.asarray(t).tobytes() for t in (loss, *gradients)])
        return found

    assert together(4, work) == [work(k) for k in range(4)]


def test_threads_that_train_variables_of_their_own(tf):
    def work(k):
        v, shared_rate = tf.Variable([1.0, float(k)]), rate
        optimizer = tf.keras.optimizers.Adam(0.1)
        for _ in range(50):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((v * shared_rate - 3.0) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, v), v)])
        return v.numpy().tolist()

    rate = tf.Variable(0.5)
    assert together(4, work) == [work(k) for k in range(4)]


def test_other_thread_looks_at_tensors(tf):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
        z = tf.reduce_sum(y)
    g = tape.gradient(z, x)
    x.assign_add([1.0, 1.0])
    looks = together(4, lambda k: [np.asarray(t).tolist() for t in (y, z, g, x, y + x)])
    assert looks == [[[1.0, 4.0], 5.0, [2.0, 4.0], [2.0, 3.0], [3.0, 7.0]]] * 4
    assert float(z * 2.0) == 10.0


def test_tensors_of_a_thread_that_ended(tf):
    def work(k):
        v = tf.Variable([1.0, 2.0])
        v.assign(v * float(k))
        return v, tf.sin(v) * 2.0, v.read_value()

    for k, (v, y, read) in enumerate(together(4, work)):
        expected = np.array([1.0, 2.0], np.float32) * k
        np.testing.assert_allclose(y.numpy(), 2.0 * np.sin(expected), rtol=1e-6)
        assert v.numpy().tolist() == read.numpy().tolist() == expected.tolist()
        v.assign_add([1.0, 1.0])
        assert v.numpy().tolist() == (expected + 1.0).tolist()


def test_foreign_looks_while_the_owner_keeps_recording(tf):
    """The looker takes whatever the owner made last; the owner's gradients stay right."""
    shelf, stop, looks = [tf.constant(0.0)], threading.Event(), []
    v = tf.Variable([1.0, 2.0])

    def work(k):
        if k:
            while not stop.is_set():
                value = float(shelf[-1])
                assert value == 5.0 or value == 0.0
                looks.append(value)
            return None
        try:
            for _ in range(1500):
                with tf.GradientTape() as tape:
                    y = tf.reduce_sum(v * v)
                    shelf[:] = [y]
                    z = y * 2.0
                assert tape.gradient(z, v).numpy().tolist() == [4.0, 8.0]
        finally:
            stop.set()

    together(3, work)
    assert looks


def test_foreign_looks_while_the_owner_assigns(tf):
    counter, stop = tf.Variable(0.0), threading.Event()
    others = [tf.Variable(float(k)) for k in range(20)]

    def work(k):
        if k:
            last = 0.0
            while not stop.is_set():
                now = float(counter)
                assert now >= last
                last = now
            return
        try:
            for step in range(1000):
                counter.assign_add(1.0)
                others[step % 20].assign_add(1.0)
                if step % 50 == 0:
                    others.extend(tf.Variable(tf.identity(o)) for o in others[:5])
        finally:
            stop.set()

    together(3, work)
    assert float(counter) == 1000.0


def test_tape_entered_during_a_foreign_look_is_not_forgotten(tf):
    """A thread switch at the worst place of the look: before it notes which tapes are alive."""
    log, x = local.log, tf.Variable([1.0, 2.0])
    lazy, inside, entered = tf.constant([1.0, 2.0]) * 2.0, threading.Event(), threading.Event()

    class Slow(list):
        def __iter__(self):
            yield from list(super().__iter__())
            if threading.get_ident() != log.owner:
                inside.set()
                entered.wait(0.5)

    log.tapes = Slow(log.tapes)
    looker = threading.Thread(target=lazy.numpy)
    looker.start()
    inside.wait(60)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(x * x)
    entered.set()
    looker.join()
    float(y + 1.0)
    float(tf.constant(5.0) + 1.0)
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0]


def test_exception_in_one_thread_leaves_the_others_alone(tf):
    v = tf.Variable([1.0, 2.0])

    def work(k):
        for _ in range(50):
            if k == 0:
                with pytest.raises(tf.errors.InvalidArgumentError), tf.GradientTape():
                    tf.reduce_sum(v * v + tf.ones(5))
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(v * v)
            assert tape.gradient(y, v).numpy().tolist() == [2.0, 4.0]
        return local.log.recorded()

    assert together(4, work) == [False] * 4


def test_tape_belongs_to_its_thread(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    with pytest.raises(RuntimeError, match="thread"):
        together(1, lambda k: tape.gradient(y, x))
    assert float(tape.gradient(y, x)) == 6.0


def test_threads_do_not_share_a_log_or_tapes(tf):
    with tf.GradientTape() as tape:
        logs = together(4, lambda k: (local.log, local.log.recorded()))
    assert len({id(log) for log, _ in logs} | {id(local.log)}) == 5
    assert not any(recorded for _, recorded in logs)
    assert tape is not None


FIRST = """
import sys, threading
import numtape as tf
sys.setswitchinterval(1e-6)
v, gate, found = tf.Variable([1.0, 2.0]), threading.Barrier(4), []
def work():
    gate.wait()
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.sin(v) * v)
    found.append(tape.gradient(y, v).numpy().tolist())
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(len(found), len(set(map(tuple, found))))
"""


def test_first_use_may_come_from_several_threads():
    for _ in range(3):
        assert run(FIRST) == "4 1"


# Forks.


def in_a_fork(work, timeout=60):
    """What `work()` returns in a forked child."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=lambda: theirs.send(work()), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads beside a fork
        child.start()
    theirs.close()
    try:
        assert ours.poll(timeout), "the child hangs"
        return ours.recv()
    finally:
        child.kill()
        child.join()


cpu_only = pytest.mark.cpu_only("CUDA does not work in a forked child")
forks = pytest.mark.skipif(sys.platform != "linux", reason="forks are for Linux")


@forks
@cpu_only
@pytest.mark.parametrize("size", [3, 300_000])
def test_fork_after_a_sweep_works_in_child_and_parent(tf, size):
    v = tf.Variable(tf.ones(size))
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(v * v * v)
    pending = v * 2.0
    v.assign_add(tf.ones(size))
    assert float(y) == size

    def work():
        with tf.GradientTape() as own:
            z = tf.reduce_sum(v * v)
        found = [tape.gradient(y, v), own.gradient(z, v), pending, v]
        return [float(np.asarray(t)[-1]) for t in found]

    assert in_a_fork(work) == [3.0, 4.0, 2.0, 2.0]
    assert work() == [3.0, 4.0, 2.0, 2.0]
    assert in_a_fork(work) == [3.0, 4.0, 2.0, 2.0]


@forks
@cpu_only
def test_fork_inside_a_tape(tf):
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        assert in_a_fork(lambda: float(tape.gradient(y * v, v))) == 27.0
        y = y * v
    assert float(tape.gradient(y, v)) == 27.0


@forks
@cpu_only
@pytest.mark.parametrize("name", ["log", "cache", "other log"])
def test_locks_that_another_thread_holds_do_not_survive_a_fork(tf, name):
    from numtape.core import cache

    v, tensors = tf.Variable([1.0, 2.0]), []
    thread = threading.Thread(target=lambda: tensors.append(v * 3.0))
    thread.start()
    thread.join()
    lock = {
        "log": local.log.lock, "cache": cache._lock, "other log": tensors[0]._home.lock,
    }[name]  # fmt: skip
    held, done = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait(60)

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    held.wait(60)

    def work():
        shape = [1, 2, 1, 1]  # not seen before: new codes, a new template
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.tile(tf.reshape(v, shape), [1, 1, 3, 1]) * 2.0)
        with cache._lock:
            pass
        return [tape.gradient(y, v).numpy().tolist(), tensors[0].numpy().tolist()]

    try:
        assert in_a_fork(work, 5) == [[6.0, 6.0], [3.0, 6.0]]
    finally:
        done.set()
        holder.join()


def test_updates_from_several_threads_all_count(tf):
    v = tf.Variable([0.0, 10.0])

    def work(k):
        for _ in range(300):
            v.assign_add([1.0, 2.0])
            v.assign_sub([0.0, 1.0])

    together(4, work)
    assert v.numpy().tolist() == [1200.0, 1210.0]
