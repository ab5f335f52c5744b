"""Jacobians of targets whose elements do not depend on each other, such as losses of examples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import numtape as tf
from numtape.core.derive import jacobians
from numtape.core.log.log import local
from numtape.core.values.spec import SPECS

pytestmark = pytest.mark.numtape_only("compared with a loop of numtape's own gradients")

RNG = np.random.default_rng(0)
N = 5
X, Y = RNG.normal(size=(N, 4)), RNG.normal(size=(N, 3))
W, V, B = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 3)), RNG.normal(size=3)
LABELS = RNG.integers(0, 3, N)


def network(x, w, v, b):
    return tf.tanh(x @ w + b) @ v


LOSSES = {
    "squares": lambda x, w, v, b: tf.reduce_sum(network(x, w, v, b) ** 2, 1),
    "mean": lambda x, w, v, b: tf.reduce_mean(tf.square(network(x, w, v, b) - Y), -1),
    "cross-entropy": lambda x, w, v, b: tf.nn.sparse_softmax_cross_entropy_with_logits(
        LABELS, network(x, w, v, b)
    ),
    "softmax": lambda x, w, v, b: tf.reduce_sum(tf.nn.softmax(network(x, w, v, b)) ** 2, 1),
    "log softmax": lambda x, w, v, b: tf.nn.log_softmax(network(x, w, v, b))[:, 1],
    "relu": lambda x, w, v, b: tf.reduce_max(tf.nn.relu(network(x, w, v, b)), 1),
    "leaky": lambda x, w, v, b: tf.norm(tf.nn.leaky_relu(network(x, w, v, b)), axis=1),
    "columns": lambda x, w, v, b: tf.reduce_sum(
        tf.transpose(network(x, w, v, b)) * tf.sigmoid(v @ tf.transpose(x @ w)), 0
    ),
    "transposed": lambda x, w, v, b: tf.reduce_sum(
        tf.matmul(v, tf.matmul(w, x, True, True), True) ** 2, [0]
    ),
    "batches": lambda x, w, v, b: tf.reduce_sum(
        tf.matmul(x[:, :, None] * w, v + b)[:, 1:, ::2]
        / (2 + tf.reduce_sum(x**2, 1))[:, None, None],
        [1, 2],
    ),
    "keepdims": lambda x, w, v, b: tf.reshape(
        tf.reduce_sum(tf.exp(-network(x, w, v, b)), 1, keepdims=True) - b[0], [-1]
    ),
    "selected": lambda x, w, v, b: tf.reduce_sum(
        tf.where(x @ w > 0, x @ w * b, tf.math.divide_no_nan(b, x @ w)), 1
    ),
    "twice": lambda x, w, v, b: tf.reduce_sum((network(x, w, v, b) @ v + b) @ v, 1),
    "normalized": lambda x, w, v, b: tf.reduce_sum(
        tf.nn.l2_normalize(network(x, w, v, b), 1) ** 3, 1
    ),
    "mixed": lambda x, w, v, b: (
        tf.reduce_sum(network(x, w, v, b), 1) * tf.reduce_sum(tf.cumsum(x @ w, 0) ** 2)
    ),
    "gathered": lambda x, w, v, b: tf.reduce_sum(tf.gather(w, LABELS) * network(x, w, v, b), 1),
    "square": lambda x, w, v, b: tf.linalg.matvec(v, b**2) * b,
    "scaled": lambda x, w, v, b: tf.cast(b * 2, "float32") * tf.cast(tf.reduce_sum(v), "float32"),
}


def loop(tape, losses, sources):
    """The gradient of each loss."""
    rows = []
    for k in range(losses.shape[0]):
        seed = np.zeros(losses.shape, losses.dtype.name)
        seed[k] = 1
        gradients = tape.gradient(losses, sources, output_gradients=seed)
        rows.append([None if g is None else tf.convert_to_tensor(g).numpy() for g in gradients])
    return [None if column[0] is None else np.stack(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("name", LOSSES)
def test_jacobian_is_what_a_loop_of_gradients_gives(monkeypatch, name, batch):
    if batch is not None:  # seeds of a batch
        monkeypatch.setattr(jacobians.AdjointRows, "batch_size", lambda self: batch)
    sources = [tf.constant(a) for a in (X, W, V, B)]
    for _ in range(3):  # rows that repeat are cached
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(sources)
            losses = LOSSES[name](*sources)
        results = tape.jacobian(losses, sources)
        for result, expected in zip(results, loop(tape, losses, sources), strict=True):
            assert (result is None) == (expected is None)
            if result is not None:
                assert_allclose(result.numpy(), expected, rtol=1e-6, atol=1e-12)


def test_functions_and_second_derivatives():
    @tf.function
    def jacobian(w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            losses = LOSSES["squares"](tf.constant(X), w, tf.constant(V), tf.constant(B))
        return tape.jacobian(losses, w)

    w, v = tf.constant(W), RNG.normal(size=W.shape)
    with tf.GradientTape() as tape:
        tape.watch(w)
        y = tf.reduce_sum(jacobian(w) ** 2)
    slope = np.sum(tape.gradient(y, w).numpy() * v)
    sums = [float(tf.reduce_sum(jacobian(w + step * v) ** 2)) for step in (1e-6, -1e-6)]
    assert_allclose(slope, (sums[0] - sums[1]) / 2e-6, rtol=1e-6)


def test_losses_of_other_examples_are_not_multiplied():
    n = 40
    x = tf.constant(RNG.normal(size=(n, 30)))
    w = tf.constant(RNG.normal(size=(30, 20)))
    with tf.GradientTape() as tape:
        tape.watch(w)
        losses = tf.reduce_sum(tf.tanh(x @ w) ** 2, 1)
    start = local.log.n
    jacobian = tape.jacobian(losses, w)
    assert jacobian.shape == (n, 30, 20)
    log = local.log
    sizes = {SPECS.specs[spec].size for spec in log.columns.spec[start : log.n].tolist()}
    assert max(sizes) == n * 30 * 20
    assert n * n * 20 not in sizes


def test_a_loss_that_is_not_finite_stays_alone():
    w = tf.constant(W)
    x = X.copy()
    x[2] = np.inf
    with tf.GradientTape() as tape:
        tape.watch(w)
        losses = tf.reduce_sum((tf.constant(x) @ w) ** 2, 1)
    jacobian = tape.jacobian(losses, w).numpy()
    assert np.isfinite(np.delete(jacobian, 2, 0)).all()
    assert not np.isfinite(jacobian[2]).all()
