"""Kernels in recorded functions that read and write NumPy arrays from outside, against Python.

A program is a kernel, a way to call it, and a change of its array between calls. All of them run
several times as plain Python and as a `tf.function`: results and arrays must be equal.
"""

import functools
import warnings

import numpy as np
import pytest

import numtape as tf

pytestmark = pytest.mark.numtape_only("native loops")


def _add_in_helper(u):
    u[0] += 1.0


@tf.kernel
def total(u):
    s = 0.0
    for x in u:
        s += x
    return s


@tf.kernel
def doubles(u):
    for i in range(len(u)):
        u[i] = u[i] * 2.0
    return u[0]


@tf.kernel
def fills(u):
    for i in range(len(u)):
        u[i] = 1.5
    return 0.5


@tf.kernel
def writes_in_helper(u):
    _add_in_helper(u)
    return u[0]


@tf.kernel
def writes_in_kernel(u):
    return doubles(u)


@tf.kernel
def writes_in_view(u):
    v = u[1:]
    v[0] += 1.0
    return v[0]


@tf.kernel
def writes_sometimes(u):
    if u[0] > 3.0:
        u[1] += 1.0
    return u[0] + u[1]


@tf.kernel
def adds_in_place(u):
    u += 1.0
    return u[0]


@tf.kernel
def sorts(u):  # unsupported by the differentiation front end
    u.sort()
    return u[-1]


@tf.kernel
def swaps(u):
    u[0], u[-1] = u[-1], u[0]
    return u[0]


KERNELS = [
    total,
    doubles,
    fills,
    writes_in_helper,
    writes_in_kernel,
    writes_in_view,
    writes_sometimes,
    adds_in_place,
    sorts,
    swaps,
]


class Holder:
    pass


def _by_attribute(kernel, state):
    holder = Holder()
    holder.array = state
    return kernel(holder.array)


WAYS = {
    "plainly": lambda kernel, state: kernel(state),
    "by name": lambda kernel, state: kernel(u=state),
    "a view": lambda kernel, state: kernel(state[1:]),
    "a copy": lambda kernel, state: kernel(state.copy()),
    "twice": lambda kernel, state: kernel(state) + kernel(state),
    "by njit": lambda kernel, state: kernel.njit(state),
    "a partial": lambda kernel, state: functools.partial(kernel, state)(),
    "map": lambda kernel, state: next(map(kernel, [state])),
    "a key": lambda kernel, state: max([state], key=kernel)[0],
    "sorted": lambda kernel, state: sorted([state, state], key=kernel)[1][0],
    "filter": lambda kernel, state: len(list(filter(kernel, [state]))),
    "reduce": lambda kernel, state: functools.reduce(lambda s, x: s + kernel(x), [state], 0.0),
    "a comprehension": lambda kernel, state: sum([kernel(x) for x in (state, state[:2])]),
    "an attribute": _by_attribute,
    "apply_along_axis": lambda kernel, state: np.apply_along_axis(kernel, 0, state),
    "its gradient": lambda kernel, state: tf.grad(total)(state)[0] * kernel(state),
    "numpy_function": lambda kernel, state: tf.numpy_function(
        lambda: np.float64(kernel(state)), [], tf.float64
    ),
}
CHANGES = {
    "none": lambda state, k: None,
    "an item": lambda state, k: state.__setitem__(0, k + 1.0),
    "at the end": lambda state, k: state.__setitem__(-1, 7.0) if k == 2 else None,
}


def results(wrap, kernel, way, change):
    state = np.array([1.0, 2.0, 3.0, 0.5])
    f = wrap(lambda x: x * WAYS[way](kernel, state))
    found = []
    for k in range(5):
        found.append(float(f(tf.constant(2.0, tf.float64))))
        CHANGES[change](state, k)
    return found, state.tolist()


@pytest.mark.parametrize("way", WAYS)
def test_kernels_in_functions_do_what_they_do_in_python(way):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about running as plain Python
        for kernel in KERNELS:
            for change in CHANGES:
                expected = results(lambda f: f, kernel, way, change)
                assert results(tf.function, kernel, way, change) == expected, (kernel, change)


def test_a_kernel_that_only_reads_is_replayed():
    state = np.array([1.0, 2.0])
    f = tf.function(lambda x: x * total(state))
    for _ in range(3):
        assert float(f(tf.constant(2.0, tf.float64))) == 6.0
    assert len(f.paths()) == 1


def test_a_kernel_that_draws_draws_in_each_call():
    @tf.kernel
    def draws(a):
        return a * np.random.random()  # noqa: NPY002 - what Numba has

    f = tf.function(lambda x: x * draws(2.0))
    with pytest.warns(RuntimeWarning, match="kernel .*draws, whose effects are unknown"):
        values = {float(f(tf.constant(1.0, tf.float64))) for _ in range(5)}
    assert len(values) == 5


def test_the_reason_names_kernel_and_array():
    state = np.array([1.0, 2.0])
    f = tf.function(lambda x: x * doubles(state))
    with pytest.warns(RuntimeWarning, match="doubles"):
        f(tf.constant(1.0, tf.float64))
