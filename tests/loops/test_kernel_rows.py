"""Kernel calls as rows that replays execute without Python; see kernels/cpu/calls.py."""

import gc
import os
import threading

import numpy as np
import pytest
from numtape.kernels.cpu import calls

import numtape as tf
from numtape.core.loops.runtime import arenas

pytestmark = [
    pytest.mark.numtape_only("native loops"),
    pytest.mark.cpu_only("kernels run on the host"),
]
FORWARD, REVERSE = calls.T_FORWARD, calls.T_REVERSE


@tf.kernel
def mixed(x, y, k, n, up):
    """Writes to y."""
    s = 0.0
    for i in range(n):
        y[i] *= k
        s += x[i] * np.sin(y[i])
    if up:
        s *= s
    return s


@tf.kernel
def chain(x, n):
    y = x.copy()
    for _ in range(n):
        for i in range(len(y)):
            y[i] = np.sin(y[i]) + 0.5
    return y.sum()


@tf.kernel
def thrice(x, k, i):
    return x * x * x * k + i


def value_and_grad(kernel, wanted):
    """A recorded function equivalent to `tf.value_and_grad`."""

    @tf.function
    def both(*arguments):
        with tf.GradientTape() as tape:
            for j in wanted:
                tape.watch(arguments[j])
            y = kernel(*arguments)
        return y, tape.gradient(y, [arguments[j] for j in wanted])

    return both


def used():
    """The number of sweeps that ran without Python so far."""
    return arenas.TABLE[[FORWARD, REVERSE]]


X, Y = np.array([0.5, -1.5, 2.0]), np.array([1.0, 0.5, -0.25])
CASES = {
    "all": (mixed, (X, Y, 0.7, 3, True), (0, 1, 2)),
    "an array that is written to": (mixed, (X, Y, 0.7, 2, False), (1,)),
    "written to with what is differentiated": (mixed, (X, Y, 0.7, 3, True), (2,)),
    "float32": (mixed, (X.astype("f"), Y.astype("f"), np.float32(0.7), 3, True), (0, 1, 2)),
    "float32 beside float64": (mixed, (X.astype("f"), Y, 0.7, 3, False), (0, 1, 2)),
    "numbers": (thrice, (1.5, 2.0, 3), (0, 1)),
    "float32 numbers": (thrice, (np.float32(1.5), np.float32(2.0), 3), (0, 1)),
    "one float32 number": (thrice, (1.5, np.float32(2.0), 3), (1,)),
}


@tf.kernel
def several(x, k, b, i8, i16, i32):
    """A new array, numbers, arguments, and one of them twice."""
    y, high, small = np.zeros((2, len(x))), 0, np.zeros(3, np.float32)
    for i in range(len(x)):
        y[0, i] = np.sin(x[i]) * k
        y[1, i] = y[0, i] * x[i]
        high += y[0, i] > 0.0
        x[i] *= k
        small[i] = k * x[i]
    return y, (high, k * y[0, 1]), x, (y, high > 1), b, i8, i16, i32, small


@tf.kernel
def rebound(x, k):
    """The array that is read is an argument or a local one."""
    u, v = x, np.zeros(len(x))
    for _ in range(3):
        for i in range(len(x)):
            v[i] = np.sin(u[i]) * k
        u, v = v, u
    return u.sum()


@tf.kernel(recompute=True)
def inner(x, i, k):
    return np.sin(x[i]) * k


@tf.kernel
def again(x, k):
    """Recomputed calls, which need memory in the reverse sweep."""
    s, y = 0.0, np.zeros(len(x))
    for i in range(len(x)):
        y[i] = inner(x, i, k)
        s += y[i] * y[i]
    return s, y


@tf.kernel
def counted(x, k):
    """Takes only an int."""
    high = 0
    for i in range(len(x)):
        high += x[i] > k
    return high


INTS = [np.array([3, 0, -1]).astype(dtype) for dtype in ("bool", "int8", "int16", "int32")]
SLOWLY = pytest.mark.slow
PACKED = [
    (several, INTS),
    pytest.param(rebound, [], marks=SLOWLY),
    pytest.param(again, [], marks=SLOWLY),
    (counted, []),
]


def flat(y):
    return [x for part in y for x in flat(part)] if isinstance(y, tuple) else [y]


@pytest.mark.records
@pytest.mark.parametrize(("kernel", "ints"), PACKED)
def test_rows_of_several_results(kernel, ints):
    def total(values):
        values = [np.asarray(x) for x in values]
        return sum(((j + 1.0) * x**2).sum() for j, x in enumerate(values) if x.dtype.kind == "f")

    @tf.function
    def both(x, k, *ints):
        with tf.GradientTape() as tape:
            tape.watch([x, k])
            y = flat(kernel(x, k, *ints))
            terms = [
                (j + 1.0) * tf.reduce_sum(tf.cast(p, tf.float64) ** 2)
                for j, p in enumerate(y)
                if p.dtype.is_floating
            ]
            s = tf.add_n(terms or [0.0 * k])
        return y, *tape.gradient(s, [x, k])

    plain = tf.function(kernel)
    given = [tf.constant(x) for x in ints]
    for n in range(4):
        x, k = X + 0.1 * n, 0.7 - 0.1 * n
        before = used()
        y, gx, gk = both(tf.constant(x), tf.constant(k, tf.float64), *given)
        after = used()
        values = [np.asarray(x) for x in flat(kernel.njit(x.copy(), k, *ints))]
        for found in (y, flat(plain(tf.constant(x), tf.constant(k, tf.float64), *given))):
            for one, other in zip(found, values, strict=True):
                assert one.dtype.name == other.dtype.name
                np.testing.assert_array_equal(one, other)
        if n > 1:  # recomputation runs a forward sweep in both sweeps
            assert (after - before).tolist() == [1 + (kernel is again), kernel is not counted]
            assert (used() - after)[0] == 1

        def moved(j, step, x=x, k=k):
            z = x.copy()
            if j < 3:
                z[j] += step
            return total(flat(kernel.njit(z, k + step * (j == 3), *ints)))

        slopes = [(moved(j, 1e-4) - moved(j, -1e-4)) / 2e-4 for j in range(4)]
        if kernel is counted:
            slopes = [0.0] * 4
            gx = np.zeros(3) if gx is None else gx
        np.testing.assert_allclose([*gx, gk], slopes, rtol=1e-3, atol=1e-4)


def test_a_result_of_another_shape_than_before_runs_again():
    @tf.kernel
    def first(x, n):
        y = np.zeros(n)
        for i in range(n):
            y[i] = x[i] * x[i]
        return y, n

    replayed = tf.function(first)
    for n in (2, 2, 3, 2, 1):
        y, count = replayed(tf.constant(X), tf.constant(n))
        np.testing.assert_array_equal(y, X[:n] ** 2)
        assert count.numpy() == n


@pytest.mark.records
@pytest.mark.parametrize("case", CASES)
def test_replays_compute_what_calls_do(case):
    kernel, arguments, wanted = CASES[case]
    both, plain = value_and_grad(kernel, wanted), tf.value_and_grad(kernel, wanted)
    value = tf.function(lambda *given: kernel(*given))
    for k in range(3):
        given = [x if isinstance(x, int) else x + k for x in arguments]
        tensors = [tf.constant(np.asarray(x)) for x in given]
        before = used()
        y, found = both(*tensors)
        expected, slopes = plain(*[x.copy() if isinstance(x, np.ndarray) else x for x in given])
        assert y.numpy() == expected
        for one, other in zip(found, slopes, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6 if "32" in case else 1e-13)
        if k:
            assert (used() - before).tolist() == [1, 1]
        assert value(*tensors).numpy() == expected
        for tensor, x in zip(tensors, given, strict=True):
            np.testing.assert_array_equal(tensor, x)  # it is as before


def test_what_waited_too_long_is_done_again():
    both = tf.function(lambda x: chain(x, 3))
    tapes = []
    for k in range(calls.MAX_ENTRIES + 3):
        x = tf.constant(X + 0.001 * k)
        with tf.GradientTape() as tape:
            tape.watch(x)
            tapes.append((tape, both(x), x))
    for k in (1, calls.MAX_ENTRIES + 1):
        tape, y, x = tapes[k]
        np.testing.assert_allclose(tape.gradient(y, x), tf.grad(chain)(x.numpy(), 3), rtol=1e-13)


def test_a_full_stack_is_an_error_in_a_replay():
    small = tf.kernel(chain.python_function, memory_limit=4096)
    both = value_and_grad(small, (0,))
    x = tf.constant(X)
    for n in (3, 1000, 3, 1000, 4):
        if n == 1000:
            with pytest.raises(tf.errors.ResourceExhaustedError, match="stack is full"):
                both(x, tf.constant(n))
        else:
            found = both(x, tf.constant(n))[1][0]
            np.testing.assert_allclose(found, tf.grad(chain)(X, n), rtol=1e-13)


@pytest.mark.records
def test_without_a_free_pile_python_computes(monkeypatch):
    both = value_and_grad(chain, (0,))
    x, n = tf.constant(X), tf.constant(3)
    wanted = tf.grad(chain)(X, 3)
    both(x, n)
    both(x, n)
    before = used()
    count = int(arenas.TABLE[calls.T_COUNT])
    arenas.TABLE[calls.T_COUNT] = 0
    monkeypatch.setattr(arenas, "_add_pile", lambda arena: None)
    try:
        found = both(x, n)[1][0]
    finally:
        arenas.TABLE[calls.T_COUNT] = count
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
    assert used().tolist() == before.tolist()
    np.testing.assert_allclose(both(x, n)[1][0], wanted, rtol=1e-13)
    assert (used() - before).tolist() == [1, 1]


@pytest.mark.records
def test_pages_that_are_not_needed_go():
    both = value_and_grad(chain, (0,))
    x = tf.constant(np.linspace(0, 1, 1000))
    for _ in range(2):
        both(x, tf.constant(2000))
    high = [arenas._header(arena)[calls.P_HIGH] for arena in arenas._arenas]
    assert max(high) > 10 << 20
    for _ in range(2 * calls.CALLS_BEFORE_TRIM):
        both(x, tf.constant(3))
    high = [arenas._header(arena)[calls.P_HIGH] for arena in arenas._arenas]
    assert max(high) < 10 << 20
    states = arenas.TABLE[calls.T_PILES : calls.T_PILES + 2 * len(high) : 2]
    assert set(states.tolist()) == {calls.FREE}


def test_threads_at_once():
    both = value_and_grad(chain, (0,))
    n = tf.constant(50)
    wanted = {k: tf.grad(chain)(X + k, 50) for k in range(4)}
    both(tf.constant(X), n)
    wrong = []

    def work(k):
        x = tf.constant(X + k)
        for _ in range(100):
            if not np.allclose(both(x, n)[1][0], wanted[k], rtol=1e-13):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_takes_gradients_of_replays_made_before():
    replayed = tf.function(lambda x: chain(x, 3))
    x = tf.constant(X)
    replayed(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = replayed(x)
    wanted = tf.grad(chain)(X, 3)
    child = os.fork()
    if not child:
        right = np.allclose(tape.gradient(y, x), wanted) and replayed(x).numpy() == y.numpy()
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_allclose(tape.gradient(y, x), wanted)


def test_long_calls_leave_the_gil():
    replayed = tf.function(lambda x, n: chain(x, n))
    x, long = tf.constant(np.linspace(0, 1, 1000)), tf.constant(3000)
    for _ in range(3):
        replayed(x, long).numpy()  # the first replay detects that it is long
    ticks, done = [0], threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks[0] += 1

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        for _ in range(5):  # the machine may be busy
            before = ticks[0]
            replayed(x, long).numpy()
            if ticks[0] - before > 2:
                break
        else:
            raise AssertionError("no other thread ran meanwhile")
    finally:
        done.set()
        thread.join()


def test_memory_of_replays_whose_gradients_nobody_takes():
    both = tf.function(lambda x: chain(x, 30))
    x = tf.constant(np.linspace(0, 1, 100))
    gc.collect()

    def run(count):
        for _ in range(count):
            with tf.GradientTape() as tape:
                tape.watch(x)
                both(x)

    run(calls.MAX_ENTRIES)
    high = max(arenas._header(arena)[calls.P_HIGH] for arena in arenas._arenas)
    run(3 * calls.MAX_ENTRIES)
    assert max(arenas._header(arena)[calls.P_HIGH] for arena in arenas._arenas) <= 1.1 * high
