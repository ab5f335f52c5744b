"""Ctrl-C during a long computation is raised within half a second."""

import functools
import json
import os
import signal
import sys
import threading

import numpy as np
import pytest
from processes import run, start

from numtape.core import settings
from numtape.core.cpu import rng as cpu_rng, sweeper as cpu, workers
from numtape.core.ops import counting, random
from numtape.core.values import memory

pytestmark = [
    pytest.mark.numtape_only("a promise TensorFlow does not make"),
    pytest.mark.cpu_only("computes on the CPU"),
]

LONG = """
import json, signal, sys, time
import numpy as np
import numtape as tf

rng = np.random.default_rng(0)
compiled = tf.function(lambda x: deep(x), jit_compile=True)

def deep(x):
    for _ in range(12):
        x = tf.sin(x) * 1.1
    return x

def rows(x):
    for _ in range(300):
        x = tf.sin(x) + tf.reduce_mean(x)
    return x

PROGRAMS = {
    "sweep": (deep, lambda n: [tf.ones(20_000_000 // n)]),
    "rows": (rows, lambda n: [tf.ones(150_000 // n)]),
    "compiled loop": (compiled, lambda n: [tf.ones(20_000_000 // n)]),
    "matmul": (tf.matmul, lambda n: [tf.ones((3000 // n, 3000 // n))] * 2),
    "sort": (tf.sort, lambda n: [tf.constant(rng.random(5_000_000 // n))]),
    "conv": (lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"),
             lambda n: [tf.ones((4, 256 // n, 256 // n, 16)), tf.ones((3, 3, 16, 32))]),
    "eigh": (tf.linalg.eigvalsh, lambda n: [tf.constant(np.cov(rng.random((1200 // n, 2000))))]),
}
WAIT = 0.1
found = {}

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
for name in sys.argv[1:]:
    function, make = PROGRAMS[name]
    small = make(100)
    expected = function(*small).numpy()
    large = make(1)
    start = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, WAIT)
    try:
        while True:
            function(*large).numpy()
    except KeyboardInterrupt:
        late = time.perf_counter() - start - WAIT
    start = time.perf_counter()
    right = float(tf.constant(2.0) * 3.0) == 6.0
    after = time.perf_counter() - start
    right = right and np.array_equal(function(*small).numpy(), expected)
    found[name] = late, after, bool(right)
print(json.dumps(found))
"""


@pytest.mark.skipif(os.name == "nt", reason="no timers that signal")
@pytest.mark.parametrize(
    ("threads", "names"),
    [
        pytest.param(1, ["sweep"], id="one thread"),
        pytest.param(
            2,
            ["rows", "compiled loop", "matmul", "conv", "eigh", "sort", "sweep"],
            marks=pytest.mark.slow,
            id="two threads",
        ),
    ],
)
def test_interrupts_are_raised_at_once(threads, names):
    found = json.loads(run(LONG, *names, NUMTAPE_NUM_THREADS=threads))
    for name, (late, after, right) in found.items():
        assert right, name
        assert late < 0.5, name
        assert after < 0.5, name  # the next evaluation is not delayed


def program(tf):
    x = tf.constant(np.linspace(-1, 1, 6000).reshape(60, 100), tf.float32)
    y = tf.sin(x) @ tf.transpose(x) + tf.reduce_sum(x * 2.0)
    z = tf.reshape(tf.sort(y, axis=0), [-1])
    image = tf.reshape(x, [1, 60, 100, 1])
    w = tf.ones((3, 3, 1, 4))
    with tf.GradientTape() as tape:
        tape.watch(w)
        loss = tf.reduce_mean(tf.nn.conv2d(image, w, 1, "SAME") ** 2)
    total = z[0]
    for _ in range(30):
        total = tf.sqrt(total * total + 1.0)
    found = [tf.cumsum(z), loss, tape.gradient(loss, w), total, y, tf.linalg.eigvalsh(y @ y)]
    return [np.asarray(one) for one in found]


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_watched_is_computed_alike(tf, monkeypatch, threads):
    monkeypatch.setattr(settings, "_threads", threads)
    expected = program(tf)
    for work in (1, 1000, 30_000):
        monkeypatch.setattr(cpu, "WATCHED", work)
        monkeypatch.setattr(cpu, "PIECE", max(work // 4, 1))
        monkeypatch.setattr(cpu, "WATCHED_NUMPY_SIZE", 1)
        for one, other in zip(program(tf), expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_errors_of_what_is_watched(tf, monkeypatch):
    def fails(*_):
        raise MemoryError("none left")

    monkeypatch.setattr(cpu, "WATCHED_NUMPY_SIZE", 1)
    monkeypatch.setattr(cpu, "apply", fails)
    x = tf.math.cumprod(tf.fill([10], 2.0))
    with pytest.raises(MemoryError, match="none left"):
        x.numpy()
    monkeypatch.undo()
    assert x.numpy()[-1] == 2.0**10


def test_what_was_left_alone_gets_no_more_work(monkeypatch):
    """Threads abandoned by an interrupt end; others serve the next sweep."""
    before, left, running = list(workers._threads), [], []
    seen = workers.threading.Event()

    class Lock:  # its waits are interrupted
        def acquire(self, timeout=-1):
            seen.wait(10)
            raise KeyboardInterrupt

        def release(self):
            pass

    released = workers.threading.Event()

    def work():
        seen.set()
        released.wait(10)

    class Task(workers._Task):
        def __init__(self, call, keeps):
            super().__init__(call, keeps)
            self.ended = Lock()

    with monkeypatch.context() as patch:
        patch.setattr(workers, "_Task", Task)
        with pytest.raises(KeyboardInterrupt):
            workers.watch(
                [work], None, running, lambda: left.append("stop"), lambda: left.append("leave")
            )
    assert left == ["stop", "leave"]
    assert running == []
    old = [thread for thread in before if thread.is_alive()]
    done = []
    workers.watch([lambda: done.append(1)], None, running, lambda: None)
    assert done == [1]
    assert not set(workers._threads) & set(old)
    released.set()
    for thread in old:
        thread.join(10)
        assert not thread.is_alive()


def test_scalars_of_interrupted_work_are_not_computed_by_the_next_look(tf, monkeypatch):
    swept = []
    compute = cpu.Sweeper.run

    def interrupted(sweeper, log, plan):
        swept.append(plan.rows)
        if len(swept) == 1:
            raise KeyboardInterrupt
        return compute(sweeper, log, plan)

    monkeypatch.setattr(cpu.Sweeper, "run", interrupted)
    x = tf.constant(0.5)
    for _ in range(50):
        x = tf.sin(x)
    with pytest.raises(KeyboardInterrupt):
        x.numpy()
    assert float(tf.constant(2.0) * 3.0) == 6.0
    assert swept[1] < 5
    expected = 0.5
    for _ in range(50):
        expected = np.sin(np.float32(expected))
    assert float(x) == pytest.approx(expected, rel=1e-6)
    assert swept[2] >= 50


class Late:
    """Signal handlers of all kinds."""

    def method(self, *_):
        raise TimeoutError("late")

    __call__ = method


@pytest.mark.parametrize(
    "handler",
    [
        lambda *_: Late().method(),
        Late().method,
        Late(),
        functools.partial(Late.method, Late()),
    ],
    ids=["function", "method", "object", "partial"],
)
def test_errors_that_handlers_raise_are_raised(tf, monkeypatch, handler):
    compute = cpu.Sweeper.run

    def signalled(sweeper, log, plan):
        monkeypatch.setattr(cpu.Sweeper, "run", compute)
        signal.raise_signal(signal.SIGTERM)
        compute(sweeper, log, plan)

    x = tf.constant([1.0, 2.0])
    before = signal.signal(signal.SIGTERM, handler)
    try:
        y, z = tf.sin(x), tf.cos(x)
        monkeypatch.setattr(cpu.Sweeper, "run", signalled)
        with pytest.raises(TimeoutError, match="late"):
            y.numpy()
    finally:
        signal.signal(signal.SIGTERM, before)
    np.testing.assert_allclose(y.numpy(), np.sin([1.0, 2.0]), rtol=1e-6)
    np.testing.assert_allclose(z.numpy(), np.cos([1.0, 2.0]), rtol=1e-6)


def test_random_numbers_are_the_same_while_interrupts_are_heard_of(monkeypatch, tf):
    tf.random.set_seed(3)
    expected = tf.random.normal([100_000]).numpy()
    monkeypatch.setattr(cpu_rng, "LONG_UNITS", 5)
    tf.random.set_seed(3)
    assert np.array_equal(tf.random.normal([100_000]).numpy(), expected)


def heard_of(act):
    """How often Python checks for signals in Python code, or waits interruptibly."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "x",
    [
        np.linspace(-9, 9, 700),
        np.linspace(-9, 9, 1400).reshape(2, 700)[:, ::-1],
        np.arange(900.0).reshape(3, 1, 300).T,
        np.float64(3.0),
        np.zeros((0, 3)),
    ],
    ids=["vector", "backwards", "transposed", "number", "empty"],
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "complex64", "bool"])
def test_large_arrays_are_copied_piece_by_piece(monkeypatch, x, dtype):
    dtype = np.dtype(dtype)
    expected = memory.convert_array(x, dtype)
    monkeypatch.setattr(memory, "CHUNK_SIZE", 64)
    found = memory.convert_array(x, dtype)
    np.testing.assert_array_equal(found, expected, strict=True)
    assert found.flags.c_contiguous
    if np.ndim(x):
        np.testing.assert_array_equal(memory.copy_array(x), x, strict=True)
        assert not np.shares_memory(memory.copy_array(x), x)
    if np.size(x) > 64:
        assert heard_of(lambda: memory.convert_array(x, dtype)) > np.size(x) // 64
        assert heard_of(lambda: memory.copy_array(x)) > np.size(x) // 64


def test_another_thread_shuffles(tf, monkeypatch):
    monkeypatch.setattr(random, "LARGE", 3)
    heard = []
    monkeypatch.setattr(random, "heard", lambda work: heard.append(1) or workers.heard(work))
    assert sorted(tf.random.shuffle([5, 2, 7, 1]).numpy().tolist()) == [1, 2, 5, 7]
    assert heard == [1]


def test_another_thread_finds_different_elements(tf, monkeypatch):
    monkeypatch.setattr(counting, "LARGE", 3)
    heard = []
    monkeypatch.setattr(counting, "heard", lambda work: heard.append(1) or workers.heard(work))
    found = tf.unique([5.0, 2.0, 5.0, 7.0, 2.0])
    assert found.y.numpy().tolist() == [5.0, 2.0, 7.0]
    assert found.idx.numpy().tolist() == [0, 1, 0, 2, 1]
    assert heard == [1]
    with pytest.raises(ZeroDivisionError):
        workers.heard(lambda: 1 // 0)


# Kernels: long calls run in another thread.


class Interrupts:
    """Replaces waiting for another thread: raises an occasional interrupt, then continues."""

    def __init__(self, every):
        self.calls, self.threads, self.every = 0, [], every
        self.heard = workers.heard  # the original

    def __call__(self, work):
        self.calls += 1
        if self.calls % self.every:
            return self.heard(work)
        thread = threading.Thread(target=work)
        self.threads.append(thread)
        thread.start()
        raise KeyboardInterrupt


def area(x, n):
    s = 0.0
    for i in range(n):
        s += np.sin(x[i % x.size]) * i
        x[i % x.size] *= 0.5
    return s


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda tf: tf.kernel(area), id="plain"),
        pytest.param(lambda tf: tf.grad(tf.kernel(area)), id="gradient"),
        pytest.param(lambda tf: tf.jacobian(tf.kernel(area)), id="jacobian"),
    ],
)
@pytest.mark.parametrize("strided", [False, True], ids=["whole", "strided"])
def test_calls_of_kernels_that_take_long_are_interrupted(tf, monkeypatch, make, strided):
    x, interrupts = np.array([0.1, 0.2, 0.3]), Interrupts(every=2)
    expected, after = make(tf)(x.copy(), 50), x.copy()
    area(after, 50)
    monkeypatch.setattr(workers, "LONG_CALL", -1.0)
    monkeypatch.setattr(workers, "heard", interrupts)
    f, done = make(tf), 0
    plain = isinstance(f, type(tf.kernel(area)))
    for _ in range(8):
        given = np.array([0.1, 7.0, 0.2, 7.0, 0.3, 7.0])[::2] if strided else x.copy()
        try:
            np.testing.assert_allclose(f(given, 50), expected, rtol=1e-12)
            done += 1
            np.testing.assert_allclose(given, after if plain else x, rtol=1e-12)
        except KeyboardInterrupt:
            assert given.tolist() == x.tolist()
    for thread in interrupts.threads:
        thread.join()
    watched = not (plain and strided)  # copies would have other Numba types
    assert (done, interrupts.calls) == ((4, 8) if watched else (8, 0))


@pytest.mark.parametrize("make", ["kernel", "grad", "jacobian"])
def test_calls_that_are_larger_than_short_ones_are_watched(tf, monkeypatch, make):
    watched, clock = [], iter(range(100))
    heard = workers.heard
    monkeypatch.setattr(workers, "heard", lambda work: watched.append(1) or heard(work))
    monkeypatch.setattr(workers, "LONG_CALL", 1e9)

    def total(x, n):
        s = 0.0
        for i in range(n):
            s += x[0] * i
        return s

    f, x = getattr(tf, make)(total), np.ones(3)
    counts = []
    for n in (10, 10, 20, 21, 42, 3, 84, 85):
        f(x, n)
        counts.append(len(watched))
    assert counts == [1, 1, 1, 2, 2, 2, 3, 3]
    monkeypatch.setattr(workers, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(workers, "LONG_CALL", 0.5)
    f(x, 200)  # is long
    f(x, 3)
    assert len(watched) == 5


def fails(x, n):
    x[0] = 5.0
    if n > 3:
        raise ValueError("too many")
    return x[1]


def same(x, n):
    x[0] += n
    return x


def test_what_other_threads_write_during_a_watched_call_stays(tf, monkeypatch):
    x = np.array([1.0, np.nan, np.nan, 4.0])

    def heard(work):
        x[1:3] = 7.0, 8.0
        return work()

    monkeypatch.setattr(workers, "heard", heard)
    monkeypatch.setattr(workers, "LONG_CALL", -1.0)
    kernel = tf.kernel(fails)
    assert np.isnan(kernel(x, 2))
    assert x.tolist() == [5.0, 7.0, 8.0, 4.0]
    monkeypatch.setattr(workers, "heard", None)  # only the main thread receives interrupts
    found = []
    thread = threading.Thread(target=lambda: found.append(kernel(x, 2)))
    thread.start()
    thread.join()
    assert found == [7.0]


def test_plain_calls_that_are_watched_do_what_they_did(tf, monkeypatch):
    monkeypatch.setattr(workers, "LONG_CALL", -1.0)
    x = np.ones(3)
    with pytest.raises(ValueError, match="too many"):
        tf.kernel(fails)(x, 4)
    assert x[0] == 5.0
    assert tf.kernel(same)(x, 2) is x or np.shares_memory(tf.kernel(same)(x, 2), x)
    with pytest.raises(IndexError):
        tf.kernel(lambda x: x[5], boundscheck=True)(x)
    with pytest.raises(IndexError):
        tf.grad(tf.kernel(lambda x: x[5], boundscheck=True))(x)

    def draws(n):
        np.random.seed(0)  # noqa: NPY002
        s = 0.0
        for _ in range(n):
            s += np.random.random()  # noqa: NPY002
        return s

    assert tf.kernel(draws)(4) == pytest.approx(np.random.RandomState(0).random(4).sum())


def test_rows_of_kernels_that_took_long_are_interrupted(tf, monkeypatch):
    interrupts = Interrupts(every=5)
    monkeypatch.setattr(workers, "heard", interrupts)
    monkeypatch.setattr(workers, "LONG_CALL", -1.0)
    kernel, v = tf.kernel(area), tf.Variable([0.1, 0.2, 0.3], dtype="float64")
    expected = tf.grad(area)(v.numpy(), 50)
    done = 0
    for _ in range(12):
        try:
            with tf.GradientTape() as tape:
                y = kernel(v, 50)
            found = tape.gradient(y, v).numpy()
        except KeyboardInterrupt:
            continue
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        done += 1
    assert 0 < done < 12
    assert interrupts.calls >= 12


ENDS = """
import atexit, ctypes, signal, sys
import numpy as np
from numtape.core.cpu import workers

def stop(*_):
    raise KeyboardInterrupt

atexit.register(print, "the end of Python")
signal.signal(signal.SIGALRM, stop)
x = np.ones((6000, 6000), np.float32)
np.ones((600, 600)) @ np.ones((600, 600))  # NumPy's threads are there
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    workers.watch([lambda: x @ x], x, [], lambda: None, lambda: None)
except KeyboardInterrupt:
    ctypes.CDLL(None).puts(b"files of C")
    sys.exit(3)
"""


@pytest.mark.skipif(os.name == "nt", reason="no timers that signal")
def test_a_process_ends_while_a_product_goes_on_that_was_interrupted():
    """BLAS would wait at exit for threads that do not end."""
    child = start(ENDS, OPENBLAS_NUM_THREADS=2)
    try:
        printed, errors = child.communicate(timeout=30)
    finally:
        child.kill()
    assert child.returncode == 3, errors
    assert sorted(printed.splitlines()) == ["files of C", "the end of Python"]
