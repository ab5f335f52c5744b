"""Kernels with several or array results: Jacobians against differences and autodiff of ops."""

import math

import numpy as np
import pytest
from kernel_checks import close, differences, fresh, function_of

import numtape as tf

pytestmark = [
    pytest.mark.numtape_only("native loops"),
    pytest.mark.cpu_only("kernels run on the host"),
]


def many(x, p):
    """Returns a number, a local array, a modified argument, and an int."""
    y = np.zeros((len(x), 2))
    t = 0.0
    for i in range(len(x)):
        y[i, 0] = x[i] * x[i] * p
        y[i, 1] = math.sin(y[i, 0])
        t += y[i, 0]
        x[i] = t
    return t, (y, x), len(x)


def early(x, n):
    if x > n:
        return x * x, (x, 1.0)
    for _ in range(3):
        x = x * x
        if x > 5.0:
            return x, (2 * x, x)
    return 0.5, (x * x * x, 2.0)


def copied(x):
    y = x.copy()
    z = np.ones_like(x)
    for i in range(len(x)):
        z[i] = y[i] * y[i - 1]
        y[i] *= z[i]
    return z, y


def views(x, m):
    """Returns views, expressions, and names bound to several arrays."""
    u, v = x, x * m[0]
    for _ in range(3):
        u, v = v, u
    return u, x[1:], m.T, np.sin(x) * x, m, v[:2]


def leaves(tree):
    return [x for one in tree for x in leaves(one)] if isinstance(tree, tuple) else [tree]


def by_differences(function, arguments, j, step=1e-6):
    """The Jacobian of each result with respect to argument j."""
    at = arguments[j]
    columns = []
    for i in np.ndindex(np.shape(at)):
        found = []
        for e in (step, -step):
            moved = fresh(arguments)
            if np.ndim(at):
                moved[j][i] += e
            else:
                moved[j] += e
            found.append(leaves(function(*moved)))
        columns.append(
            [(np.asarray(a) - np.asarray(b)) / (2 * step) for a, b in zip(*found, strict=True)]
        )
    return [
        np.stack(rows, -1).reshape(np.shape(rows[0]) + np.shape(at))
        for rows in zip(*columns, strict=True)
    ]


@pytest.mark.parametrize(
    ("function", "arguments", "wanted"),
    [
        (many, [np.array([0.3, 0.9, 0.7]), 1.3], [0, 1]),
        (copied, [np.array([0.3, 0.9, 0.7])], [0]),
        pytest.param(
            views,
            [np.array([0.3, 0.9, 0.7]), np.linspace(0.1, 0.8, 6).reshape(2, 3)],
            [0, 1],
            marks=pytest.mark.slow,
        ),
        (early, [0.7, 2.0], [0]),
        (early, [1.5, 2.0], [0]),
        (early, [3.0, 2.0], [0, 1]),
    ],
    ids=["many", "copied", "views", "early", "between", "late"],
)
def test_jacobians(function, arguments, wanted):
    before = fresh(arguments)
    found = tf.jacobian(function, wanted)(*arguments)
    for k, j in enumerate(wanted):
        one = tf.jacobian(tf.kernel(function), j)(*arguments)
        expected = by_differences(function, arguments, j)
        for a, b in zip(leaves(one), expected, strict=True):
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8)
        several = leaves(found)[k :: len(wanted)]
        for a, b in zip(several, leaves(one), strict=True):
            np.testing.assert_array_equal(a, b)
    for x, y in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(x, y)


def test_the_form_and_the_dtypes_of_jacobians():
    x = np.array([0.3, 0.9], np.float32)
    number, (array, written), count = tf.jacobian(many)(x, 2.0)
    assert [a.shape for a in (number, array, written, count)] == [(2,), (2, 2, 2), (2, 2), (2,)]
    assert {a.dtype for a in (number, array, written)} == {np.dtype(np.float32)}
    assert not count.any()
    (dx, dp), *_ = tf.jacobian(many, (0, 1))(x, p=2.0)
    assert (dx.shape, type(dp)) == ((2,), float)
    assert tf.jacobian(many, -1)(np.zeros(0), 2.0)[1][0].shape == (0, 2)
    square = function_of("def f(x):\n    return x * x\n")
    assert tf.jacobian(square)(3.0) == tf.grad(square)(3.0) == 6.0


def test_a_jacobian_is_that_of_ops():
    def mix(x):
        y = np.empty(len(x))
        for i in range(len(x)):
            y[i] = x[i] * x[i - 1] ** 2
        return y

    x = np.linspace(0.2, 1.4, 5)
    t = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(t)
        y = t * tf.roll(t, 1, 0) ** 2
    expected = tape.jacobian(y, t).numpy()
    np.testing.assert_allclose(tf.jacobian(mix)(x), expected, rtol=1e-13)


def test_errors_leave_stacks():
    def root(x):
        if x[0] < 0.0:
            raise ValueError("negative")
        return math.sqrt(x[0]), x

    from numtape.core.loops.runtime import stack

    tf.jacobian(root)(np.array([4.0]))
    before = list(stack._waiting)
    with pytest.raises(ValueError, match=r"^negative$"):
        tf.jacobian(root)(np.array([-4.0]))
    with pytest.raises(tf.errors.KernelError, match="overlap"):
        tf.jacobian(many)(np.lib.stride_tricks.as_strided(np.ones(1), (3,), (0,)), 2.0)
    with pytest.raises(tf.errors.KernelError, match="64 bits"):
        tf.jacobian(function_of("def f(x, n):\n    return x * n, x\n"))(1.0, 10**30)
    assert list(stack._waiting) == before


def test_calls_that_are_computed_again():
    """The reverse sweep overwrites stored values, so each row runs both sweeps."""

    @tf.kernel(recompute=True)
    def spun(x, n):
        for _ in range(n):
            x = math.sin(x) * 1.1
        return x

    def run(x):
        y = np.zeros(3)
        for i in range(3):
            y[i] = spun(x[i], 50) * x[i]
        x[0] = spun(x[1], 9)
        return y, x[0] * y[1], 2.0 * y

    x = np.array([0.3, 0.5, 0.9])
    jy, jz, twice = tf.jacobian(run)(x)  # the last result is located after all calls' stacks
    close(
        [jy[k] for k in range(3)],
        [differences(lambda x, k=k: run(x)[0][k], [x], [0])[0] for k in range(3)],
    )
    close([jz], differences(lambda x: run(x)[1], [x], [0]))
    np.testing.assert_array_equal(twice, 2.0 * jy)
