"""Adjoints of many slices, or of many products, of one tensor: one row adds them."""

import numpy as np
import pytest
from log_queries import fresh_log
from numpy.testing import assert_allclose, assert_array_equal

import numtape as tf
from numtape.core import settings
from numtape.core.cpu import sweeper
from numtape.core.log.log import local
from numtape.core.log.op import CODES

pytestmark = pytest.mark.numtape_only("numtape's own rows")

RNG = np.random.default_rng(0)
SLICES = [
    ((7,), [np.s_[1:], np.s_[:-1], np.s_[2], np.s_[::2], np.s_[::-1], np.s_[5:1:-2]]),
    ((100,), [np.s_[1:], np.s_[:-1], np.s_[60], np.s_[::7], np.s_[::-1], np.s_[90:3:-4]]),
    ((6, 5, 4), [np.s_[1:, ::2, 1:3], np.s_[2], np.s_[:, 3], np.s_[..., 1], np.s_[::-2, ::-1]]),
    ((3, 3, 2), [np.s_[1:, ::2, 1:], np.s_[2], np.s_[:, 1], np.s_[..., 1], np.s_[::-2, ::-1]]),
    ((70_000,), [np.s_[1:], np.s_[:-1], np.s_[::-3], np.s_[5:60_000:7], np.s_[20_000:20_001]]),
    ((300, 5, 40), [np.s_[:, 1:, ::3], np.s_[::-2], np.s_[5:, ::-2], np.s_[7, 3], np.s_[:, :, 9]]),
]


@pytest.fixture(autouse=True)
def own_log():
    with fresh_log():
        yield


def names_of_adjoints():
    """The names of the ops in the current log."""
    log = local.log
    return [CODES.entries[code][0].name for code in log.columns.code[: log.n].tolist()]


def expected(x, cuts, weights, base=0.0):
    """Adds the weights to slices of the base, one by one."""
    sums = np.zeros_like(x) + np.asarray(base, x.dtype)
    for cut, weight in reversed(list(zip(cuts, weights, strict=True))):
        sums[cut] += weight
    return sums


@pytest.mark.cpu_only("sums of slices are for the CPU")
@pytest.mark.parametrize("has_base", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "float16"])
@pytest.mark.parametrize(
    ("shape", "cuts"), SLICES, ids=lambda x: str(x) if x and x[0] is int else ""
)
def test_slices_are_added_in_order(shape, cuts, dtype, has_base):
    x = RNG.normal(size=shape).astype(dtype)
    weights = [RNG.normal(size=x[cut].shape).astype(dtype) for cut in cuts]
    base = RNG.normal(size=shape).astype(dtype) if has_base else np.zeros(shape, dtype)
    tape_input = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(tape_input)
        y = tf.constant(0, dtype)
        for cut, weight in zip(cuts, weights, strict=True):
            y += tf.reduce_sum(tape_input[cut] * weight)
        if has_base:
            y += tf.reduce_sum(tape_input * base)
    gradient = tape.gradient(y, tape_input)
    assert names_of_adjoints().count("StridedSliceGradSum") == 1
    sums = np.conj(expected(x, cuts, weights, base))
    if dtype == "float16":  # sums are rounded at the end
        assert_allclose(gradient.numpy(), sums, rtol=0, atol=0.02)
    else:  # the same operations in the same order: the same bits
        assert_array_equal(gradient.numpy(), sums)


@pytest.mark.cpu_only("sums of slices are for the CPU")
def test_slices_at_other_places_have_the_same_rows():
    def gradient(x, starts):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = sum(k * tf.reduce_sum(x[s : s + 10] ** 2) for k, s in enumerate(starts, 1))
        return tape.gradient(y, x).numpy()

    x = RNG.normal(size=200)
    for _ in range(12):
        starts = RNG.integers(0, 190, 5)
        sums = np.zeros(200)
        for k, s in enumerate(starts, 1):
            sums[s : s + 10] += 2 * k * x[s : s + 10]
        assert_allclose(gradient(tf.constant(x), starts), sums, rtol=1e-12)


@pytest.mark.cpu_only("sums of slices are for the CPU")
def test_many_large_slices_take_several_rows():
    x = tf.Variable(RNG.normal(size=1000))
    with tf.GradientTape() as tape:
        y = sum(k * tf.reduce_sum(x[k:] ** 2) for k in range(30))
    gradient = tape.gradient(y, x)
    assert 5 <= names_of_adjoints().count("StridedSliceGradSum") <= 10
    assert_allclose(
        gradient.numpy(),
        sum(2 * k * np.where(np.arange(1000) >= k, x.numpy(), 0) for k in range(30)),
    )


def product_terms(m, n, inner, ta, tb):
    """Matrices ``a`` and ``b`` such that the adjoint of ``x`` is the sum of their products."""
    shapes = [((k, m) if ta else (m, k), (n, k) if tb else (k, n)) for k in inner]
    return [tuple(RNG.normal(size=shape) for shape in pair) for pair in shapes]


@pytest.mark.cpu_only("sums of products are for the CPU")
@pytest.mark.parametrize("has_base", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize(
    ("m", "n", "inner"),
    [
        (5, 4, [1, 1, 2]),
        (100, 90, [1] * 70),
        (100, 90, [1, 40, 3, 31, 2, 32, 1]),
        (300, 520, [1, 2, 50, 3]),
    ],
)
def test_products_are_added(m, n, inner, ta, tb, dtype, has_base):
    from numtape.core.log.record import record
    from numtape.core.ops.adjoint_sums import SUM_OF_PRODUCTS

    terms = product_terms(m, n, inner, ta, tb)
    base = [RNG.normal(size=(m, n))] if has_base else []
    arrays = [a.astype(dtype) for a in (*base, *(x for pair in terms for x in pair))]
    operands = tuple(tf.constant(a) for a in arrays)
    attributes = {"ta": ta, "tb": tb, "has_base": has_base}
    with tf.GradientTape() as tape:
        tape.watch(operands)
        y = record(SUM_OF_PRODUCTS, operands, **attributes)
    sums = sum(base, np.zeros((m, n)))
    for a, b in terms:
        sums = sums + (a.T if ta else a) @ (b.T if tb else b)
    precision = 1e-5 if dtype == "float32" else 1e-13
    scale = np.abs(sums).max()
    assert_allclose(y.numpy(), sums, rtol=0, atol=20 * precision * scale)
    g = RNG.normal(size=(m, n)).astype(dtype)
    adjoints = tape.gradient(y, operands, g)
    if has_base:
        assert_array_equal(adjoints[0].numpy(), g)
    a, b = operands[has_base : has_base + 2]
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        z = tf.matmul(a, b, ta, tb)
    for adjoint, same in zip(adjoints[has_base:], tape.gradient(z, [a, b], g), strict=False):
        assert_allclose(adjoint.numpy(), same.numpy(), rtol=1e-5)


def recurrence(w, x, steps=12):
    for k in range(steps):
        x = tf.tanh(tf.linalg.matvec(w, x) + x * 0.1 * k) - x[::-1] * 0.2
    return tf.reduce_sum(x**2) + tf.reduce_sum(w**2)


def test_weights_of_a_loop():
    w = tf.constant(RNG.normal(size=(6, 6)) / 3)
    x = tf.constant(RNG.normal(size=6))
    with tf.GradientTape() as tape:
        tape.watch([w, x])
        y = recurrence(w, x)
    gradients = [g.numpy() for g in tape.gradient(y, [w, x])]
    for k, gradient in enumerate(gradients):
        differences = np.zeros_like(gradient)
        for index in np.ndindex(gradient.shape):
            step = np.zeros_like(gradient)
            step[index] = 1e-6
            values = []
            for sign in (1, -1):
                arguments = [w, x]
                arguments[k] = arguments[k] + sign * step
                values.append(float(recurrence(*arguments)))
            differences[index] = (values[0] - values[1]) / 2e-6
        assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)


@pytest.mark.cpu_only("sums of products are for the CPU")
def test_replays_have_the_same_bits():
    w, x = tf.Variable(RNG.normal(size=(40, 40)) / 6), tf.Variable(RNG.normal(size=40))

    def gradients():
        with tf.GradientTape() as tape:
            y = recurrence(w, x, 50)
        return tape.gradient(y, [w, x])

    lazy = gradients()
    assert "MatMulSum" in names_of_adjoints()
    eager = [[g.numpy() for g in lazy], *([g.numpy() for g in gradients()] for _ in range(4))]
    replayed = tf.function(gradients)
    for results in [*eager, *([g.numpy() for g in replayed()] for _ in range(4))]:
        for result, first in zip(results, eager[0], strict=True):
            assert_array_equal(result, first)
    with settings.override("reference"):
        for result, first in zip(gradients(), eager[0], strict=True):
            assert_allclose(result.numpy(), first, rtol=1e-9)


def test_second_derivatives_and_jacobians_of_sums():
    w = tf.constant(RNG.normal(size=(4, 4)) / 2)
    x = tf.constant(RNG.normal(size=(4,)))
    v = RNG.normal(size=(4, 4))

    def gradient(w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = recurrence(w, x, 5) + sum(w[k, k] * w[3 - k, 0] ** 2 for k in range(4))
        return tape.gradient(y, w)

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(w)
        g = gradient(w)
    jacobian = tape.jacobian(g, w).numpy()
    step = 1e-6 * v
    differences = (gradient(w + step).numpy() - gradient(w - step).numpy()) / 2e-6
    product = np.tensordot(jacobian, v, 2)
    assert_allclose(product, differences, rtol=1e-6, atol=1e-7)
    with tf.GradientTape() as tape:
        tape.watch(w)
        g = gradient(w)
    assert_allclose(tape.gradient(g, w, v).numpy(), product, rtol=1e-10)  # it is symmetric
    with tf.autodiff.ForwardAccumulator(w, tf.constant(v)) as accumulator:
        g = gradient(w)
    assert_allclose(accumulator.jvp(g).numpy(), product, rtol=1e-10)


@pytest.mark.parametrize("size", [5, 80])
def test_gradients_of_many_lanes(size):
    rows = RNG.normal(size=(6, size))
    w = tf.constant(RNG.normal(size=(size, size)) / size**0.5)

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            y = recurrence(w, x, 3)
            y += sum(k * tf.reduce_sum(x[k : k + 3] ** 3) for k in range(3))
        return tape.gradient(y, [x, w])

    for lanes, single in zip(
        tf.vectorized_map(gradient, tf.constant(rows)),
        zip(*[gradient(tf.constant(row)) for row in rows], strict=True),
        strict=True,
    ):
        assert_allclose(lanes.numpy(), np.stack([x.numpy() for x in single]), rtol=1e-9, atol=1e-12)


@pytest.mark.cpu_only("sums of products are for the CPU")
def test_large_factors_are_multiplied_alone():
    w = tf.Variable(RNG.normal(size=(3, 2)))
    with tf.GradientTape() as tape:
        y = sum(tf.reduce_sum((tf.ones((50, 3), "float64") * k) @ w) for k in range(5))
    tape.gradient(y, w)
    assert "MatMulSum" not in names_of_adjoints()


@pytest.mark.cpu_only("threads of the CPU's")
def test_threads_share_sums(monkeypatch):
    monkeypatch.setattr(sweeper, "LARGE", 1)
    x, w = tf.constant(RNG.normal(size=100_000)), tf.constant(RNG.normal(size=(300, 270)))
    v = RNG.normal(size=(5, 300))

    def gradients():
        with fresh_log(), tf.GradientTape() as tape:
            tape.watch([x, w])
            y = sum(tf.reduce_sum(tf.sin(k * x[k : k + 99_000])) for k in range(4))
            y += sum(tf.reduce_sum(tf.tanh((v * k) @ w)) for k in range(9))
            return [g.numpy().tobytes() for g in tape.gradient(y, [x, w])]

    results = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(settings, "_threads", threads)
        results.append(gradients())
    assert results[0] == results[1] == results[2]
