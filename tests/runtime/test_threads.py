"""Threads with their own tapes, evaluation of other threads' tensors, forks."""

import multiprocessing
import random
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from log_queries import fresh_log
from parallel_threads import run_in_threads
from processes import run

from numtape.core.log.log import local

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

    assert run_in_threads(4, work) == [work(k) for k in range(4)]


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
    assert run_in_threads(4, work) == [work(k) for k in range(4)]


def test_other_thread_looks_at_tensors(tf):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
        z = tf.reduce_sum(y)
    g = tape.gradient(z, x)
    x.assign_add([1.0, 1.0])
    looks = run_in_threads(4, lambda k: [np.asarray(t).tolist() for t in (y, z, g, x, y + x)])
    assert looks == [[[1.0, 4.0], 5.0, [2.0, 4.0], [2.0, 3.0], [3.0, 7.0]]] * 4
    assert float(z * 2.0) == 10.0


def test_tensors_of_a_thread_that_ended(tf):
    def work(k):
        v = tf.Variable([1.0, 2.0])
        v.assign(v * float(k))
        return v, tf.sin(v) * 2.0, v.read_value()

    for k, (v, y, read) in enumerate(run_in_threads(4, work)):
        expected = np.array([1.0, 2.0], np.float32) * k
        np.testing.assert_allclose(y.numpy(), 2.0 * np.sin(expected), rtol=1e-6)
        assert v.numpy().tolist() == read.numpy().tolist() == expected.tolist()
        v.assign_add([1.0, 1.0])
        assert v.numpy().tolist() == (expected + 1.0).tolist()


def test_foreign_looks_while_the_owner_keeps_recording(tf):
    """One thread evaluates the owner's latest tensors; the owner's gradients stay correct."""
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

    run_in_threads(3, work)
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

    run_in_threads(3, work)
    assert float(counter) == 1000.0


def test_tape_entered_during_a_foreign_look_is_not_forgotten(tf):
    """A thread switch at the worst moment: before the evaluation lists the live tapes."""
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
        return local.log.is_recorded()

    assert run_in_threads(4, work) == [False] * 4


def test_tape_belongs_to_its_thread(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    with pytest.raises(RuntimeError, match="thread"):
        run_in_threads(1, lambda k: tape.gradient(y, x))
    assert float(tape.gradient(y, x)) == 6.0


def test_threads_do_not_share_a_log_or_tapes(tf):
    with tf.GradientTape() as tape:
        logs = run_in_threads(4, lambda k: (local.log, local.log.is_recorded()))
    assert len({id(log) for log, _ in logs} | {id(local.log)}) == 5
    assert not any(recorded for _, recorded in logs)
    assert tape is not None


# Random programs, one per thread, on shared objects.

SMOOTH = {  # name -> the function of NumPy, and its derivative
    "sin": (np.sin, np.cos),
    "cos": (np.cos, lambda x: -np.sin(x)),
    "exp": (np.exp, np.exp),
    "tanh": (np.tanh, lambda x: 1.0 - np.tanh(x) ** 2),
    "square": (np.square, lambda x: 2.0 * x),
}


class Shared:
    """Objects that all threads use: tensors, variables, functions, and each other's results."""

    def __init__(self, tf, rng):
        self.tf = tf
        self.sizes = 1, 3, 40, 3000
        self.arrays = {n: rng.uniform(-1, 1, n) for n in self.sizes}
        self.tensors = {n: tf.sin(tf.constant(x)) for n, x in self.arrays.items()}  # not computed
        self.weight = tf.Variable(0.75, dtype=tf.float64)
        self.total = tf.Variable(0.0, dtype=tf.float64)  # all threads add to it
        self.counts = tf.Variable([0, 0], dtype=tf.int64)
        self.added = [0, 0, 0]
        self.cell = tf.Variable(tf.zeros(50))  # all threads assign it, with equal elements
        self.shelf = []  # tensors of all threads, with expected values
        self.smooth = {name: tf.function(self.weighted(getattr(tf, name))) for name in SMOOTH}
        self.guarded = tf.function(lambda x: x * 2.0 if tf.reduce_sum(x) > 0.0 else x - self.weight)
        self.add = tf.function(self.adding)
        self.lock = threading.Lock()

    def weighted(self, function):
        return lambda x: self.tf.reduce_sum(function(x) * x * self.weight)

    def adding(self, x):
        self.total.assign_add(x)
        self.counts.assign_add([1, 2])
        return x * 2.0


class Stepper:
    """An object of one thread, of a class that all threads use."""

    def __init__(self, tf, array):
        self.tf, self.array = tf, array.copy()
        self.v = tf.Variable(array)

    def method(self, x):
        with self.tf.GradientTape() as tape:
            y = self.tf.reduce_sum(self.v * self.v * x)
        self.v.assign_sub(tape.gradient(y, self.v) * 0.01)
        return y


class Threaded:
    """The program of one thread. Every method is a step, checked against NumPy."""

    def __init__(self, shared, seed):
        self.shared, self.tf, self.rng = shared, shared.tf, np.random.default_rng(seed)
        self.mine = {n: Stepper(self.tf, self.rng.uniform(-1, 1, n)) for n in shared.sizes}
        self.steps = [getattr(self, name) for name in dir(self) if name.startswith("step_")]
        self.held = []

    def run(self, until):
        done = 0
        while time.monotonic() < until or done < 4:  # eight threads may have little time
            self.steps[self.rng.integers(len(self.steps))]()
            done += 1
        return done

    def drawn(self):
        n = int(self.rng.choice(self.shared.sizes))
        return n, self.rng.uniform(-1, 1, n), self.rng.choice(list(SMOOTH))

    def close(self, found, expected):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-11)

    def step_expression(self):
        n, x, name = self.drawn()
        y = getattr(self.tf, name)(self.tf.constant(x) + self.shared.tensors[n]) * 0.5
        expected = SMOOTH[name][0](x + np.sin(self.shared.arrays[n])) * 0.5
        if self.rng.random() < 0.5:
            self.close(y, expected)
        else:  # another caller may evaluate it
            self.shared.shelf.append((y, expected))
            del self.shared.shelf[:-20]

    def step_look(self):
        for y, expected in self.shared.shelf[-3:]:
            self.close(y, expected)
            self.close(y * 2.0, expected * 2.0)

    def step_gradient(self):
        n, x, name = self.drawn()
        x = self.tf.Variable(x)
        with self.tf.GradientTape() as tape:
            y = self.tf.reduce_sum(getattr(self.tf, name)(x) * self.shared.tensors[n])
        g = tape.gradient(y, x)
        self.close(g, SMOOTH[name][1](x.numpy()) * np.sin(self.shared.arrays[n]))

    def step_function(self):
        _, x, name = self.drawn()
        self.close(
            self.shared.smooth[name](self.tf.constant(x)), np.sum(SMOOTH[name][0](x) * x) * 0.75
        )

    def step_function_in_a_tape(self):
        _, x, name = self.drawn()
        function, derivative = SMOOTH[name]
        at = self.tf.constant(x)
        with self.tf.GradientTape() as tape:
            tape.watch(at)
            y = self.shared.smooth[name](at) * 3.0
        self.close(tape.gradient(y, at), (derivative(x) * x + function(x)) * 2.25)

    def step_guarded(self):
        _, x, _ = self.drawn()
        self.close(self.shared.guarded(self.tf.constant(x)), x * 2.0 if x.sum() > 0 else x - 0.75)

    def step_add(self):
        x = int(self.rng.integers(-9, 10))
        self.close(self.shared.add(self.tf.constant(float(x), self.tf.float64)), 2.0 * x)
        with self.shared.lock:
            self.shared.added = [a + b for a, b in zip(self.shared.added, (x, 1, 2), strict=True)]

    def step_cell(self):
        found = self.shared.cell.numpy()
        assert (found == found[0]).all()
        self.shared.cell.assign(self.tf.fill((50,), float(self.rng.integers(100))))
        found = (self.shared.cell * 2.0).numpy()
        assert (found == found[0]).all()

    def step_method(self):
        n, x, _ = self.drawn()
        own = self.mine[n]
        self.close(own.method(self.tf.constant(x)), np.sum(own.array**2 * x))
        own.array -= 0.02 * own.array * x
        if self.rng.random() < 0.3:
            self.close(own.v, own.array)

    def step_new_function(self):
        n, x, name = self.drawn()
        function = self.tf.function(lambda a: getattr(self.tf, name)(a) + self.shared.tensors[n])
        for _ in range(2):
            self.close(
                function(self.tf.constant(x)), SMOOTH[name][0](x) + np.sin(self.shared.arrays[n])
            )

    def step_hold(self):
        """Keep tensors alive for a while, evaluated or not."""
        n, x, _ = self.drawn()
        self.held.append(
            (self.tf.constant(x) * self.shared.tensors[n], x * np.sin(self.shared.arrays[n]))
        )
        if len(self.held) > 30:
            for y, expected in self.held[::2]:
                self.close(y, expected)
            self.held.clear()


@pytest.mark.parametrize("seconds", [2.0, pytest.param(6.0, marks=pytest.mark.slow)])
def test_random_programs_in_eight_threads(tf, monkeypatch, seconds):
    seed = random.randrange(10**6)
    print("seed", seed)
    monkeypatch.setattr(Stepper, "method", tf.function(Stepper.method))
    shared = Shared(tf, np.random.default_rng(seed))
    until = time.monotonic() + seconds
    programs = [Threaded(shared, (seed, k)) for k in range(8)]
    print(run_in_threads(8, lambda k: programs[k].run(until)), "steps")
    assert shared.total.numpy() == shared.added[0]
    assert shared.counts.numpy().tolist() == shared.added[1:]
    for program in programs:
        for own in program.mine.values():
            program.close(own.v, own.array)
        for y, expected in program.held:
            program.close(y, expected)


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
    """The result of `work()` in a forked child."""
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
    from numtape.core.compile import cache

    v, tensors = tf.Variable([1.0, 2.0]), []
    thread = threading.Thread(target=lambda: tensors.append(v * 3.0))
    thread.start()
    thread.join()
    lock = {
        "log": local.log.lock,
        "cache": cache._lock,
        "other log": tensors[0]._home.lock,
    }[name]
    held, done = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait(60)

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    held.wait(60)

    def work():
        shape = [1, 2, 1, 1]  # a new shape: new codes and a new template
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

    run_in_threads(4, work)
    assert v.numpy().tolist() == [1200.0, 1210.0]
