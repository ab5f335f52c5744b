"""Calls of kernels with tensors: rows of the log, tapes, recorded functions."""

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest
from devices import DEVICES
from kernel_cases import CASES
from kernel_checks import fresh, plain

import numtape as tf
from numtape.core.log.op import CODES
from numtape.core.loops.runtime import arenas

pytestmark = [
    pytest.mark.numtape_only("native loops"),
    pytest.mark.cpu_only("kernels run on the host"),
]
FORWARD, REVERSE = 2, 3  # columns of sweep counts in the table of arenas
QUICK = {"places", "helpers", "bits"}  # compiled


@tf.kernel
def energy(x, k, n):
    s = 0.0
    for i in range(n):
        s += k * x[i] ** 2 * np.sin(x[i])
    return s


def energy_in_ops(x, k, n):
    x = tf.cast(x, tf.float64)[:n]
    k = tf.constant(k, tf.float64) if isinstance(k, float) else tf.cast(k, tf.float64)
    return tf.reduce_sum(k * x**2 * tf.sin(x))


@tf.kernel
def scaled(x, a):
    for i in range(len(x)):
        x[i] *= a
    return x[0] * x[1]


@tf.kernel
def polynomial(x, y):
    return x * x * y + math_sin(y)


def math_sin(y):
    return np.sin(y)


@tf.kernel
def fussy(x, limit):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    if s > limit:
        raise ValueError("too much")
    return s


@tf.kernel
def checked(x, i):
    return x[i] * 2.0 / (i - 1)


@tf.kernel
def firsts(x, n):
    found = np.empty(n)
    for i in range(n):
        found[i] = x[i] * 2
    return found, n, x[0] > 0


@tf.kernel
def nothing(x):
    x[0] = 1.0


X = [0.5, -1.5, 2.0]


def slopes(function, arguments, eps=1e-6):
    """Central differences by the float arguments, in float64."""
    found = []
    arguments = [np.float64(x) if np.asarray(x).dtype.kind == "f" else x for x in arguments]
    for j, x in enumerate(arguments):
        x = np.asarray(x)
        if x.dtype.kind != "f":
            found.append(None)
            continue
        slope = np.empty(x.shape)
        for at in np.ndindex(x.shape):
            values = []
            for step in (eps, -eps):
                changed = np.array(x, np.float64)
                changed[at] += step
                given = list(arguments)
                given[j] = changed if changed.ndim else float(changed)
                values.append(float(function(*given)))
            slope[at] = (values[0] - values[1]) / (2 * eps)
        found.append(slope)
    return found


ARGUMENTS = {
    "tensors": (np.array(X), tf.constant(0.7, tf.float64), 3),
    "variable": (tf.Variable(X, dtype=tf.float64), 0.7, 3),
    "int tensor": (tf.constant(X, tf.float64), tf.Variable(0.7, dtype=tf.float64), tf.constant(2)),
    "float32": (tf.constant(X, tf.float32), tf.constant(0.7, tf.float32), 3),
    "mixed": (tf.constant(X, tf.float32), tf.constant(0.7, tf.float64), np.int64(3)),
    "float32 array beside": (np.array(X, np.float32), tf.constant(0.7, tf.float64), 3),
}


@pytest.mark.parametrize("case", ARGUMENTS)
@pytest.mark.parametrize("device", DEVICES)
def test_values_and_gradients_of_every_kind_of_argument(case, device):
    arguments = ARGUMENTS[case]
    sources = [x for x in arguments if isinstance(x, tf.Tensor | tf.Variable)]
    plain = [x.numpy() if isinstance(x, tf.Tensor | tf.Variable) else x for x in arguments]
    with tf.config.override(device), tf.GradientTape(persistent=True) as tape:
        tape.watch([x for x in sources if x.dtype.is_floating])
        y = energy(*arguments)
        other = energy_in_ops(*arguments)
    value = energy(*plain)
    assert (
        y.dtype.name
        == energy.njit.overloads[
            tuple(energy.njit.typeof_pyval(x) for x in plain)
        ].signature.return_type.name
    )
    np.testing.assert_allclose(y.numpy(), value, rtol=1e-6)
    rtol = 1e-5 if "float32" in case or case == "mixed" else 1e-12
    differences = {
        id(x): d for x, d in zip(arguments, slopes(energy.python_function, plain), strict=True)
    }
    with tf.config.override(device):
        for x in sources:
            found = tape.gradient(y, x)
            if not x.dtype.is_floating:
                assert found is None
                continue
            assert found.dtype == x.dtype
            assert found.shape == x.shape
            np.testing.assert_allclose(found, tape.gradient(other, x), rtol=rtol, atol=rtol)
            np.testing.assert_allclose(found, differences[id(x)], rtol=1e-5, atol=1e-6)


# Code that does not belong to the program must not be observed while a function is recorded.
COUNTED = compile(
    """
def counted(run, counts, k):
    def call(self, *args):
        found = run(self, *args)
        counts[k] += found is not None
        return found
    return call
""",
    arenas.__file__,
    "exec",
)


@pytest.fixture
def sweeps(monkeypatch):
    """The number of forward and reverse sweeps."""
    counts, scope = [0, 0], {}
    exec(COUNTED, scope)
    for k, name in enumerate(("forward", "reverse")):
        run = getattr(arenas.Deferred, name)
        monkeypatch.setattr(arenas.Deferred, name, scope["counted"](run, counts, k))
    return counts


def test_the_forward_sweep_of_a_call_leaves_its_stack_to_the_reverse_one(sweeps):
    x, k = tf.Variable(X, dtype=tf.float64), tf.Variable(0.7, dtype=tf.float64)
    with tf.GradientTape() as tape:
        y = energy(x, k, 3) * 2.0
    assert sweeps == [1, 0]
    found = [g.numpy() for g in tape.gradient(y, [x, k])]
    assert sweeps == [1, 1]
    wanted = tf.grad(energy, (0, 1))(np.array(X), 0.7, 3)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, 2 * other, rtol=1e-14)


def test_without_a_tape_no_sweep_runs(sweeps):
    y = energy(tf.constant(X, tf.float64), 0.7, 3)
    assert y.numpy() == energy(np.array(X), 0.7, 3)
    assert sweeps == [0, 0]


@pytest.mark.records
def test_a_replay_runs_each_sweep_once(sweeps):
    @tf.function
    def step(x, k):
        with tf.GradientTape() as tape:
            tape.watch([x, k])
            y = energy(x, k, 3)
            y = y * polynomial(k, y)
        return y, tape.gradient(y, [x, k])

    def in_ops(x, k):
        with tf.GradientTape() as tape:
            tape.watch([x, k])
            y = energy_in_ops(x, k, 3)
            y = y * (k * k * y + tf.sin(y))
        return y, tape.gradient(y, [x, k])

    for round in range(4):
        x, k = tf.constant([0.5 + round, 1.0, 2.0], tf.float64), tf.constant(0.7, tf.float64)
        sweeps[:] = (-arenas.TABLE[FORWARD : REVERSE + 1]).tolist()
        y, found = step(x, k)
        found = [y.numpy(), *(g.numpy() for g in found)]
        compiled = arenas.TABLE[FORWARD : REVERSE + 1]
        assert [a + b for a, b in zip(sweeps, compiled, strict=True)] == [2, 2]
        y, wanted = in_ops(x, k)
        for one, other in zip(found, [y, *wanted], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10)
    assert "1 recorded path" in str(step.paths())


def test_paths_name_nothing_of_the_transformer():
    """A kernel is transformed during a recording, which must not observe the transformer."""

    @tf.kernel
    def scaled(x):
        return 3.0 * x

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x) ** 2
        return tape.gradient(y, x)

    assert float(step(tf.constant(2.0))) == 36.0
    assert "sets" not in str(step.paths())


def test_a_tape_outside_of_a_recorded_function():
    @tf.function
    def value(x, k):
        return energy(x, k, 3) + 1.0

    for round in range(3):
        x, k = tf.constant([0.5 + round, 1.0, 2.0], tf.float64), tf.constant(0.7, tf.float64)
        with tf.GradientTape() as tape:
            tape.watch([x, k])
            y = value(x, k)
        wanted = tf.value_and_grad(energy, (0, 1))(x.numpy(), 0.7, 3)
        assert y.numpy() == wanted[0] + 1
        for one, other in zip(tape.gradient(y, [x, k]), wanted[1], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)


def test_tapes_as_for_any_op():
    x, k = tf.constant(X, tf.float64), tf.constant(0.7, tf.float64)
    gx, gk = tf.grad(energy, (0, 1))(np.array(X), 0.7, 3)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(k)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = energy(x, k, 3)
        z = tf.stop_gradient(energy(x, k, 3)) + energy(x, 0.5, 3)
    np.testing.assert_allclose(inner.gradient(y, x), gx, rtol=1e-14)
    assert tape.gradient(y, x) is None
    assert tape.gradient(z, k) is None
    zeros = tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    np.testing.assert_array_equal(zeros, np.zeros(3))
    for _ in range(2):
        np.testing.assert_allclose(tape.gradient(y, k), gk, rtol=1e-14)
    seed = tf.constant(3.0, tf.float64)
    np.testing.assert_allclose(tape.gradient(y, k, output_gradients=seed), 3 * gk, rtol=1e-14)
    np.testing.assert_allclose(tape.gradient([y, y], k), 2 * gk, rtol=1e-14)


def test_one_tensor_as_several_arguments():
    x = tf.constant(1.5, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = polynomial(x, x) + polynomial(x, 2.0)
    np.testing.assert_allclose(
        tape.gradient(y, x), 3 * 1.5**2 + np.cos(1.5) + 2 * 1.5 * 2, rtol=1e-14
    )


def test_many_calls_under_one_tape():
    x = tf.constant(0.3, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(500):
            y = polynomial(y, 1.0) * 0.4
    with tf.GradientTape() as other:
        other.watch(x)
        z = x
        for _ in range(500):
            z = (z * z + tf.sin(tf.constant(1.0, tf.float64))) * 0.4
    assert y.numpy() == pytest.approx(z.numpy(), rel=1e-14)
    np.testing.assert_allclose(tape.gradient(y, x), other.gradient(z, x), rtol=1e-10)


def test_a_jacobian_of_several_calls():
    x = tf.constant([0.5, 1.5], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.stack([polynomial(x[0], x[1]), polynomial(x[1], x[0])])
    a, b = 0.5, 1.5
    wanted = [[2 * a * b, a * a + np.cos(b)], [b * b + np.cos(a), 2 * a * b]]
    np.testing.assert_allclose(tape.jacobian(y, x), wanted, rtol=1e-12)


def test_a_second_derivative_is_refused_by_name():
    x = tf.constant(1.5, tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = polynomial(x, 2.0)
        g = tape.gradient(y, x)
    with pytest.raises(LookupError, match=r"first derivatives only.*KernelGrad"):
        outer.gradient(g, x)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0, tf.float64)) as forward:
        y = polynomial(x, 2.0)
    with pytest.raises(LookupError, match=r"first derivatives only.*Take diff.*KernelGrad"):
        forward.jvp(y)


def test_what_a_kernel_writes_to_is_a_copy():
    x = tf.constant([2.0, 3.0], tf.float64)
    given = np.array([2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = scaled(x, 2.0)
    assert y.numpy() == 24.0
    np.testing.assert_array_equal(x, [2.0, 3.0])
    np.testing.assert_allclose(tape.gradient(y, x), [12.0, 8.0])
    a = tf.constant(2.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = scaled(given, a)
    given[:] = 0  # later
    np.testing.assert_allclose(tape.gradient(y, a), 24.0)
    assert given.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("recorded", [False, True])
def test_results_of_several_dtypes_and_shapes(recorded):
    def run(x, n):
        found, count, positive = firsts(x, n)
        return found + 1.0, count, positive

    function = tf.function(run) if recorded else run
    for n in (2, 3, 2, 1):
        found, count, positive = function(tf.constant(X, tf.float64), tf.constant(n, tf.int64))
        np.testing.assert_array_equal(found, 2 * np.array(X[:n]) + 1)
        assert (count.dtype, int(count)) == (tf.int64, n)
        assert (positive.dtype, bool(positive)) == (tf.bool, True)


def test_a_kernel_that_returns_nothing():
    with pytest.raises(tf.errors.KernelError, match="returns nothing"):
        nothing(tf.constant(X))


@pytest.mark.parametrize(
    "bad",
    [
        (tf.constant(X, tf.complex128), "dtype complex128"),
        (tf.zeros((1, 1, 1, 1)), "4 axes"),
        (tf.constant(X, tf.float16), "dtype float16"),
    ],
    ids=["complex", "axes", "half"],
)
def test_arguments_that_a_kernel_may_not_have(bad):
    with pytest.raises(tf.errors.KernelError, match=bad[1]):
        energy(bad[0], 0.7, 3)
    with pytest.raises(tf.errors.KernelError, match="a dict as an argument"):
        energy(tf.constant(X), {}, 3)
    with pytest.raises(tf.errors.KernelError, match="more than 64 bits"):
        energy(tf.constant(X), 0.7, 1 << 70)


@pytest.mark.parametrize("taped", [False, True])
def test_what_a_kernel_raises_it_raises_at_the_call(taped):
    @tf.function
    def step(x):
        if not taped:
            return fussy(x, 10.0) * 2
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = fussy(x, 10.0) * 2
        return tape.gradient(y, x)[0] + y

    small, large = tf.constant([1.0, 2.0], tf.float64), tf.constant([3.0, 2.0], tf.float64)
    for function in (step.python_function, step):
        for x in (small, large, small, large):
            if x is large:
                with pytest.raises(ValueError, match="too much"):
                    function(x)
                continue
            np.testing.assert_allclose(function(x), 14.0 if taped else 10.0)


def test_a_replay_that_meets_an_error_of_a_sweep_raises_it_at_the_call():
    kernel = tf.kernel(checked.python_function, boundscheck=True, error_model="python")

    @tf.function
    def step(x, i):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = kernel(x, i)
        return tape.gradient(y, x)

    x = tf.constant(X, tf.float64)
    for i in (0, 2, 0):
        wanted = np.zeros(3)
        wanted[i] = 2 / (i - 1)
        np.testing.assert_allclose(step(x, tf.constant(i)), wanted)
        with pytest.raises(IndexError):
            step(x, tf.constant(7))
        with pytest.raises(ZeroDivisionError):
            step(x, tf.constant(1))


def test_a_full_stack_is_an_error_and_leaves_all_as_before():
    small = tf.kernel(energy.python_function, memory_limit=4096)
    x = tf.Variable(np.linspace(0, 1, 5000))
    with tf.GradientTape() as tape:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="stack is full"):
            small(x, 0.7, 5000)
        y = small(x, 0.7, 3)
    wanted = tf.grad(energy)(x.numpy(), 0.7, 3)
    np.testing.assert_allclose(tape.gradient(y, x), wanted, rtol=1e-14)


def test_ints_do_not_grow_the_table_of_codes():
    x = tf.constant(X, tf.float64)
    for n in range(2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            tape.gradient(energy(x, 0.7 + n, n), x)
    before = len(CODES.entries)
    for n in range(300):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = energy(x, 0.7 + n, n % 3)
        tape.gradient(y, x).numpy()
    assert len(CODES.entries) == before


def test_threads():
    wanted = {k: tf.grad(energy, (0, 1))(np.array(X), float(k), 3) for k in range(4)}
    wrong = []

    def work(k):
        x, a = tf.constant(X, tf.float64), tf.constant(float(k), tf.float64)
        for _ in range(50):
            with tf.GradientTape() as tape:
                tape.watch([x, a])
                y = energy(x, a, 3)
            found = tape.gradient(y, [x, a])
            right = [np.allclose(g, w) for g, w in zip(found, wanted[k], strict=True)]
            if not all(right):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_takes_gradients_of_calls_made_before():
    x = tf.constant(X, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = energy(x, 0.7, 3)
    wanted = tf.grad(energy)(np.array(X), 0.7, 3)
    child = os.fork()
    if not child:
        os._exit(0 if np.allclose(tape.gradient(y, x), wanted) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_allclose(tape.gradient(y, x), wanted)


def test_stacks_that_nobody_takes_go():
    x = tf.constant(X, tf.float64)
    for _ in range(20):
        with tf.GradientTape() as tape:
            tape.watch(x)
            energy(x, 0.7, 3)
    del tape
    tf.constant(1.0).numpy()
    (x + 1.0).numpy()
    gc.collect()
    assert len(arenas._stacks_left) <= 25


@pytest.mark.parametrize("device", DEVICES)
def test_replays_of_kernels_that_write_on_every_device(device):
    def run(x, a):
        with tf.GradientTape() as tape:
            tape.watch([x, a])
            y = scaled(x, a) + polynomial(a, a)
        return y, *tape.gradient(y, [x, a])

    step = tf.function(run)
    with tf.config.override(device):
        for k in range(4):
            x, a = tf.constant([1.0 + k, 2.0], tf.float64), tf.constant(0.5 + k, tf.float64)
            y, gx, ga = step(x, a)
            p, q = 1.0 + k, 0.5 + k
            np.testing.assert_allclose(y, 2 * p * q * q + q**3 + np.sin(q), rtol=1e-13)
            np.testing.assert_allclose(gx, [2 * q * q, p * q * q], rtol=1e-13)
            np.testing.assert_allclose(ga, 4 * p * q + 3 * q * q + np.cos(q), rtol=1e-13)


@tf.kernel
def parts(x, k, unused):
    found = np.zeros(len(x))
    s = 0.0
    for i in range(len(x)):
        found[i] = k * x[i] * x[i]
        s += np.exp(x[i])
    return found, (s, len(x)), found


def parts_in_ops(x, k):
    found = k * x * x
    return found, (tf.reduce_sum(tf.exp(x)), None), found


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("recorded", [False, True])
def test_gradients_of_several_results(recorded, device):
    def run(x, k, in_ops=False):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, k])
            found, (s, _), again = parts_in_ops(x, k) if in_ops else parts(x, k, x)
            y = tf.reduce_sum(found * tf.constant([1.0, 2.0, -1.0], tf.float64)) * s + again[1]
        return y, *tape.gradient(y, [x, k]), tape.gradient(s, x), tape.gradient(s, k)

    step = tf.function(run) if recorded else run
    with tf.config.override(device):
        for round in range(3):
            x, k = tf.constant([0.5 + round, -1.0, 1.5], tf.float64), tf.constant(0.7, tf.float64)
            *found, none = step(x, k)
            *wanted, unconnected = run(x, k, True)
            assert unconnected is None
            assert none.numpy() == 0
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)


def test_arguments_that_reach_no_result_have_zeros():
    @tf.kernel
    def first(x, y, z):
        return x[0] * 2

    x, y, z = tf.constant([1.0]), tf.constant([[1.0, 2.0]]), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y, z])
        found = first(x, y, z)
    gx, gy, gz = tape.gradient(found, [x, y, z])
    np.testing.assert_array_equal(gx, [2.0])
    np.testing.assert_array_equal(gy, [[0.0, 0.0]])
    assert gz.numpy() == 0


@tf.kernel(recompute=True)
def spun(x, n):
    for _ in range(n):
        x = np.sin(x) * 1.1
    return x


@tf.kernel
def spinning(x, n):
    return spun(x, n) * x


@pytest.mark.parametrize("recorded", [False, True])
def test_calls_that_run_again_in_the_reverse_sweep_leave_others_their_stacks(recorded):
    def run(x, y):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            first, second = [spinning(z, 1000) for z in (x, y)]
        return tape.gradient(first, x), tape.gradient(second, y)  # the first of them first

    step = tf.function(run) if recorded else run
    for x, y in ((0.5, 0.9), (0.4, 0.8), (0.3, 0.6)):
        found = step(tf.constant(x, tf.float64), tf.constant(y, tf.float64))
        for slope, z in zip(found, (x, y), strict=True):
            assert slope.numpy() == tf.grad(spinning)(z, 1000)


@pytest.mark.parametrize("recorded", [False, True])
def test_arrays_without_elements(recorded):
    def run(x, v):
        with tf.GradientTape() as tape:
            tape.watch([x, v])
            found, _, positive = firsts(x, 0)
            y = tf.reduce_sum(found) + tf.reduce_sum(energy(v, 2.0, 0))
        return found, positive, *tape.gradient(y, [x, v])

    step = tf.function(run) if recorded else run
    x, v = tf.constant([1.0, 2.0]), tf.zeros((0,), tf.float64)
    for _ in range(2):
        found, positive, gx, gv = step(x, v)
        assert (found.shape, found.dtype, bool(positive)) == ((0,), tf.float64, True)
        np.testing.assert_array_equal(gx, [0.0, 0.0])
        assert (gv.shape, gv.dtype) == ((0,), tf.float64)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no such timers here")
def test_interrupts_leave_all_as_before():
    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = energy(x, 0.7, 3)
        return tape.gradient(y, x)

    x = tf.constant(X, tf.float64)
    wanted = step.python_function(x).numpy()
    before, stops = signal.signal(signal.SIGALRM, stop), 0
    try:
        for k in range(60):
            function = step if k % 2 else step.python_function
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 2e-5 * (k + 1))
                    function(x).numpy()
                    time.sleep(0.002)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Stop:
                stops += 1
            np.testing.assert_allclose(function(x), wanted, rtol=1e-14)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert stops > 10


def taped(case, function=lambda run: run):
    """Value and gradients of a case, with the differentiated arguments as tensors."""
    made, arguments, wanted = case
    kernel = tf.kernel(made)
    tensors = [tf.constant(arguments[j], np.asarray(arguments[j]).dtype) for j in wanted]

    def run(*tensors):
        given = list(fresh(arguments))
        for j, x in zip(wanted, tensors, strict=True):
            given[j] = x
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            y = kernel(*given)
        return y, tape.gradient(y, tensors)

    return function(run), tensors


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_every_construct_through_a_tape(case):
    """Uses the device that does not compile."""
    with tf.config.override("reference"):
        run, tensors = taped(case)
        y, found = run(*tensors)
        value, wanted = plain(case[0], case[1], case[2])
        np.testing.assert_allclose(y, value, rtol=1e-12)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6 if one.dtype == tf.float32 else 1e-12)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case[0].__name__ in QUICK], ids=lambda case: case[0].__name__
)
def test_constructs_in_replays(case):
    run, tensors = taped(case, tf.function)
    value, wanted = plain(case[0], case[1], case[2])
    for _ in range(3):
        y, found = run(*tensors)
        np.testing.assert_allclose(y, value, rtol=1e-12)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
