"""Kernels and their derivatives inside other code compiled by Numba."""

import ctypes
import math
import threading

import numpy as np
import pytest
from kernel_checks import function_of
from numba import cfunc, njit, types

import numtape as tf
from numtape.core.loops.runtime import jit

pytestmark = [
    pytest.mark.numtape_only("native loops"),
    pytest.mark.cpu_only("kernels run on the host"),
]


@tf.kernel
def wave(x, p):
    """Writes to x."""
    s = 0.0
    for i in range(1, len(x)):
        x[i] += p * math.sin(x[i - 1])
        if x[i] > 100.0:
            raise ValueError("too large", 3)
        s += x[i] * x[i]
    return s


@tf.kernel
def scaled(x, n):
    return x * tf.stop_gradient(x) * n


both = tf.value_and_grad(wave, (0, 1))
slope = tf.grad(scaled)


@njit(nogil=True)
def descend(x, p, steps):
    for _ in range(steps):
        value, (gx, gp) = both(x, p)
        for i in range(len(x)):
            x[i] -= 0.01 * gx[i]
        p -= 0.01 * gp
    return value, p


def in_python(x, p, steps):
    for _ in range(steps):
        value, (gx, gp) = both(x, p)
        x -= 0.01 * gx
        p -= 0.01 * gp
    return value, p


@pytest.mark.slow
def test_gradients_in_compiled_code():
    x, y = np.linspace(0.1, 0.9, 6), np.linspace(0.1, 0.9, 6)
    found, expected = descend(x, 0.7, 20), in_python(y, 0.7, 20)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(x, y, rtol=1e-12)
    strided = np.zeros((6, 2))
    strided[:, 1] = np.linspace(0.1, 0.9, 6)
    assert descend(strided[:, 1], 0.7, 1)[0] == both(np.linspace(0.1, 0.9, 6), 0.7)[0]


def test_plain_calls_in_compiled_code():
    @njit
    def twice(x, p):
        return wave(x, p) + scaled(p, 2)

    x = np.linspace(0.1, 0.9, 4)
    y = x.copy()
    assert twice(x, 0.5) == wave.python_function(y, 0.5) + 0.5
    np.testing.assert_array_equal(x, y)


def test_numbers_and_stop_gradient():
    @cfunc(types.float64(types.float64))
    def at(x):
        return slope(x, 3)

    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(at.address)
    assert function(2.0) == 6.0 == slope(2.0, 3)
    assert scaled(2.0, 3) == 12.0
    assert tf.stop_gradient(2.0).numpy() == 2.0


def test_low_level_callable():
    from scipy import LowLevelCallable
    from scipy.integrate import quad

    @cfunc(types.float64(types.float64))
    def at(x):
        return slope(x, 1)

    assert quad(LowLevelCallable(at.ctypes), 0.0, 2.0)[0] == pytest.approx(2.0)


def test_errors_in_compiled_code():
    @njit
    def call(x, p):
        return both(x, p)[0]

    with pytest.raises(ValueError) as caught:
        call(np.full(3, 200.0), 0.5)
    assert caught.value.args == ("too large", 3)
    waiting = np.count_nonzero(jit._FREE_STACKS)
    for _ in range(50):
        with pytest.raises(ValueError):
            call(np.full(3, 200.0), 0.5)
    assert np.count_nonzero(jit._FREE_STACKS) == waiting

    @njit
    def wrong(x):
        return both(x, 1j)[0]

    with pytest.raises(Exception, match="of type complex128"):
        wrong(np.ones(3))

    def shift(x, y):
        for i in range(len(y)):
            x[i] += y[i]
        return x[0]

    overlapping = tf.value_and_grad(shift)

    @njit
    def shifted(x, y):
        return overlapping(x, y)[0]

    x = np.ones(6)
    x.flags.writeable = False
    with pytest.raises(Exception, match="read-only array as argument 0"):
        shifted(x[:3], x[3:])
    x = np.ones(6)
    assert shifted(x[:3], x[3:]) == 2.0
    with pytest.raises(tf.errors.KernelError, match="overlap"):
        shifted(x[:3], x[2:5])


@pytest.mark.slow
def test_threads_without_the_gil():
    found = []

    def work():
        found.append(descend(np.linspace(0.1, 0.9, 50), 0.7, 200))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1 and len(found) == 4


def test_memory_limits_hold():
    limited = tf.kernel(
        function_of(
            "def f(x, n):\n    for _ in range(n):\n        x = math.sin(x)\n    return x\n"
        ),
        memory_limit=4096,
    )
    gradient = tf.grad(limited)

    @njit
    def call(n):
        return gradient(0.5, n)

    assert call(3) == gradient(0.5, 3)
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"stack is full.*, line 2\)"):
        call(10_000)
