"""Kernels with custom derivative rules: `Kernel.vjp`."""

import math
import pickle

import numpy as np
import pytest
from kernel_checks import close, differences, fresh, function_of, plain
from numba import njit

import numtape as tf

pytestmark = [
    pytest.mark.numtape_only("native loops"),
    pytest.mark.cpu_only("kernels run on the host"),
]


@tf.kernel
def root(a, rounds):
    x = a
    for _ in range(rounds):
        x = 0.5 * (x + a / x)
    return x


@root.vjp
def root_rule(g, y, a, rounds):
    return g / (2.0 * y), 0


@tf.kernel
def soft(x, t):
    y = np.empty(len(x))
    s = 0.0
    for i in range(len(x)):
        y[i] = math.exp(x[i] / t)
        s += y[i]
    return y / s


@soft.vjp
def soft_rule(g, y, x, t):
    gx = (g - np.sum(g * y)) * y / t
    return gx, -np.sum(gx * x) / t


@tf.kernel
def solve(a, b):
    n = len(b)
    m, x = a.copy(), b.copy()
    for k in range(n):
        for i in range(k + 1, n):
            f = m[i, k] / m[k, k]
            for j in range(k, n):
                m[i, j] -= f * m[k, j]
            x[i] -= f * x[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= m[i, j] * x[j]
        x[i] /= m[i, i]
    return x


@solve.vjp
def solve_rule(g, x, a, b):
    gb = solve(a.T, g)  # which has a rule itself
    ga = np.zeros_like(a)
    for i in range(len(b)):
        ga[i] = -gb[i] * x
    return ga, gb


@tf.kernel
def clipped(x):
    return x


@clipped.vjp
def clipped_rule(g, y, x):
    return max(-1.0, min(1.0, g))


@tf.kernel
def copied(x, n):
    return x.copy()


@copied.vjp
def copied_rule(g, y, x, n):
    return g, n


@tf.kernel
def shifted(x, by, k):
    return x * x + by + k[0]


@shifted.vjp
def shifted_rule(g, y, x, by, k):
    return 2.0 * x * g, None, None


@tf.kernel
def total(t, x):
    return t * t * np.sum(x * x)


@total.vjp
def total_rule(g, y, t, x):
    return 2.0 * g * y / t, 2.0 * g * t * t * x


def of_none(x, by):
    return np.sum(shifted(x, by, np.arange(2)) * by)


def of_number(a):
    return root(a, 60) * a


def in_loops(x, t, n):
    """Arguments and results of calls are overwritten later; array views, branches."""
    s = 0.0
    for i in range(n):
        y = soft(x, t + i)
        y[0] += x[1]
        x[1] = y[0] * y[1]
        x[0] *= soft(x[:2], 1.0)[1] + s
        s += y[1] * root(y[0] + 1.0, 9) * t + soft(y * 2.0, t)[1]
        if s > 0.3:
            t = t * y[1] + 1.0
    return s


def solved(a, b):
    x = solve(a, b * b)
    s = np.sum(x * x)
    x[0] = s
    z = copied(x, 3)
    return s * solve(a.T, z)[1] + z[0] * z[1]


@tf.kernel(recompute=True)
def again(x, t):
    return soft(x, t)[0] * t


def nested(x, t, n):
    """Inside recursive and recomputed calls."""
    if n == 0:
        return x[0] * t
    y = soft(x, t)
    return nested(y, t, n - 1) * y[1] + again(y, t)


R = np.random.default_rng(5)
X, A = np.array([0.3, -0.2, 0.5]), R.normal(size=(3, 3)) + 4.0 * np.eye(3)
CASES = [
    (of_number, [2.0], [0]),
    (in_loops, [X, 0.7, 3], [0, 1]),
    (solved, [A, X], [0, 1]),
    (nested, [X, 0.7, 2], [0, 1]),
    (lambda x, t: soft(x, t)[1] * 2.0, [X, 0.7], [1]),
]


@pytest.mark.parametrize(("function", "arguments", "wanted"), CASES)
def test_kernels_that_call_kernels_with_rules(function, arguments, wanted):
    value, found = plain(function, arguments, wanted)
    assert value == pytest.approx(function(*fresh(arguments)), rel=1e-14)
    close(found, differences(function, arguments, wanted))


@pytest.mark.parametrize(
    ("function", "arguments", "wanted"),
    [pytest.param(*case, marks=[pytest.mark.slow] if k else []) for k, case in enumerate(CASES)],
)
def test_compiled(function, arguments, wanted):
    value, found = tf.value_and_grad(function, wanted)(*arguments)
    expected, slopes = plain(function, arguments, wanted)
    assert value == pytest.approx(expected, rel=1e-13)
    close(found, slopes, 1e-12)
    assert pickle.loads(pickle.dumps(tf.grad(root)))(4.0, 60) == tf.grad(root)(4.0, 60) == 0.25


def test_the_rule_is_what_is_used():
    assert tf.value_and_grad(root)(4.0, 3)[1] == 1.0 / (2.0 * root(4.0, 3))
    assert plain(lambda x: clipped(x) * 5.0 + clipped(x) * 0.25, [2.0], [0])[1][0] == 1.25
    text = tf.kernel(of_number).adjoint(2.0).source
    assert "F_2" in text and "2.0 * y" in text  # so the cache's key holds the rule


def test_none_is_the_adjoint_of_what_nothing_depends_on():
    value, (gx, gby) = plain(of_none, [X, 0.5], [0, 1])
    np.testing.assert_allclose(gx, X, rtol=1e-15)
    assert gby == pytest.approx(value / 0.5)  # only through the product
    twofold = tf.kernel(lambda x: (x, None))
    with pytest.raises(tf.errors.KernelError, match="`None` among its results"):
        twofold.adjoint(1.0)


def test_jacobians_of_arrays():
    ga, gb = tf.jacobian(solve, (0, 1))(A, X)
    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(gb, inverse, rtol=1e-12)
    np.testing.assert_allclose(ga, -np.einsum("ij,k->ijk", inverse, inverse @ X), rtol=1e-12)


def test_jacobians_whose_argument_and_result_differ_in_rank():
    """A call's result is an array and its last argument a number, and the other way round."""

    def scaled(x, t):
        return soft(x, t) * t

    def totalled(t, x):
        y = total(t, x)
        return np.array([y, y * y * t])

    def slopes(function, x, step=1e-6):
        return [(function(x + e) - function(x - e)) / (2 * step) for e in step * np.eye(np.size(x))]

    gx, gt = tf.jacobian(scaled, (0, 1))(X, 0.7)
    close(gx.T, slopes(lambda x: scaled(x, 0.7), X))
    close([gt], slopes(lambda t: scaled(X, t[0]), np.array([0.7])))
    gt, gx = tf.jacobian(totalled, (0, 1))(0.7, X)
    close([gt], slopes(lambda t: totalled(t[0], X), np.array([0.7])))
    close(gx.T, slopes(lambda x: totalled(0.7, x), X))


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_on_the_log(device, recorded):
    def run(a, b):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([a, b])
            x, other = solve(a, b), solve(a, 2.0 * b)
            y = tf.reduce_sum(x * x)
        return x, *tape.gradient(y, [a, b]), tape.gradient(other, b)

    step = tf.function(run) if recorded else run
    with tf.config.override(device):
        for scale in (1.0, 2.0):
            a, b = scale * A, scale * X
            x, ga, gb, last = step(tf.constant(a), tf.constant(b))
            inverse = np.linalg.inv(a)
            wanted = inverse.T @ (2.0 * (inverse @ b))
            np.testing.assert_allclose(x, inverse @ b, rtol=1e-12)
            np.testing.assert_allclose(gb, wanted, rtol=1e-10)
            np.testing.assert_allclose(ga, -np.outer(wanted, inverse @ b), rtol=1e-10)
            np.testing.assert_allclose(last, 2.0 * inverse.sum(0), rtol=1e-10)


def test_in_compiled_code():
    slope = tf.grad(root)

    @njit
    def call(x):
        return slope(x, 60)

    assert call(4.0) == 0.25


# A rule for f(x, n) of an array of 3 and an int, and the error message.
WRONG = [
    ("g", "gives 1 of 2 adjoints"),
    ("g, g, g", "gives 3 of 2"),
    ("(g, g), g", "gives 2 of 2|a tuple"),
    ("g, 0", "a number as the adjoint of argument 0, an array of 1 axes"),
    ("np.zeros((2, 2)), 0", "an array of 2 axes as the adjoint of argument 0"),
    ("np.zeros(3, np.int64), 0", "an adjoint of dtype int64 for argument 0"),
    ("[g], 0", r"`\[g\]`"),
]


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[row[0] for row in WRONG])
def test_rules_that_are_refused(text, said):
    kernel = tf.kernel(lambda x, n: x[0] * n)
    rule = kernel.vjp(function_of(f"def rule(g, y, x, n):\n    return {text}\n"))
    with pytest.raises(tf.errors.KernelError, match=said) as caught:
        kernel.adjoint(X, 2)
    assert caught.value.file == rule.__code__.co_filename


def writes(x, n):
    x[0] = 1.0
    return x[0] * n


@pytest.mark.parametrize(
    ("function", "rule", "said"),
    [
        (writes, lambda g, y, x, n: (x, 0), "its own rule, and writes to its arguments"),
        (
            lambda x, n: x[0],
            function_of("def rule(g, y, x, n):\n    x[0] = g\n    return x, n\n"),
            "a rule that writes to what it is given",
        ),
        (lambda x, n: (x[0], n), lambda g, y, x, n: (x, 0), "other results than one number"),
        (lambda x, n: x, lambda g, y, x, n: (x, 0), "a copy of an argument"),
    ],
)
def test_kernels_that_can_have_no_rule(function, rule, said):
    kernel = tf.kernel(function)
    kernel.vjp(rule)
    with pytest.raises(tf.errors.KernelError, match=said):
        kernel.adjoint(X, 2)


def short(g, y, x, n):
    if n == 3:
        raise IndexError("three")
    return np.zeros(n) + g, 0


def test_errors_of_rules_at_the_call():
    kernel = tf.kernel(lambda x, n: x[0] * n, memory_limit=1 << 16)
    kernel.vjp(short)
    slope = tf.grad(kernel)
    for n, error, said in (
        (2, ValueError, "another shape than its argument"),
        (3, IndexError, "^three$"),
        (10**6, tf.errors.ResourceExhaustedError, "stack is full"),
    ):
        with pytest.raises(error, match=said):
            slope(X, n)
        with tf.GradientTape() as tape:
            x = tf.constant(X)
            tape.watch(x)
            y = kernel(x, n)
        with pytest.raises(error, match=said):
            tape.gradient(y, x).numpy()
    np.testing.assert_array_equal(slope(X[:1], 1), [1.0])
    with pytest.raises(ValueError, match="were taken before"):
        kernel.vjp(short)
    with pytest.raises(TypeError, match="takes g, y and its 1 arguments"):
        tf.kernel(lambda x: x).vjp(short)
    with pytest.raises(TypeError, match="is a function, not 3"):
        kernel.vjp(3)
