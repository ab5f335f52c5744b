"""Gradients of gradients, jacobians and batch jacobians."""

import numpy as np
import pytest
from checks import same

# --- Higher orders -------------------------------------------------------------------------------


def test_derivatives_up_to_the_fourth(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape() as t4, tf.GradientTape() as t3:
        with tf.GradientTape() as t2:
            with tf.GradientTape() as t1:
                y = x**4
            first = t1.gradient(y, x)
        second = t2.gradient(first, x)
    third = t3.gradient(second, x)
    assert [float(d) for d in (first, second, third)] == [32.0, 48.0, 48.0]
    assert t4.gradient(third, x) is None


@pytest.mark.numtape_only("its own checks")
@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_third_derivatives_of_a_mirrored_pad(tf, mode):
    """The rule of the rule has a rule, too."""
    x = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
    tf.testing.check_grads(lambda x: tf.pad(x, [[1, 0], [1, 2]], mode) ** 3, [x], order=3)


@pytest.mark.numtape_only("in TensorFlow, a slope is a Python number")
def test_slope_of_leaky_relu_at_zero_depends_on_its_argument(tf):
    x, slope = tf.Variable([0.0, -1.0, 1.0]), tf.Variable(0.25)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.nn.leaky_relu(x, slope)
        first = inner.gradient(y, x)
    assert first.numpy().tolist() == [0.25, 0.25, 1.0]
    assert outer.jacobian(first, slope).numpy().tolist() == [1.0, 1.0, 0.0]


def test_inner_gradient_inside_the_inner_context(tf):
    x = tf.constant(3.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        outer.watch(x)
        inner.watch(x)
        y = x**3
        first = inner.gradient(y, x)
    assert float(outer.gradient(first, x)) == 18.0


def test_outer_tape_that_does_not_watch(tf):
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x
        first = inner.gradient(y, x)
    assert outer.gradient(first, x) is None


def test_mixed_second_derivatives(tf):
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as inner:
            z = x**2 * y**3
        dx, dy = inner.gradient(z, [x, y])
    assert [float(d) for d in outer.gradient(dx, [x, y])] == [54.0, 108.0]
    assert [float(d) for d in outer.gradient(dy, [x, y])] == [108.0, 72.0]


def test_gradient_penalty(tf):
    w = tf.Variable([1.0, -2.0])
    x = tf.constant([3.0, 0.5])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.sin(w * x))
        penalty = tf.reduce_sum(inner.gradient(y, x) ** 2)
    wx, w_, x_ = np.array([3.0, -1.0]), np.array([1.0, -2.0]), np.array([3.0, 0.5])
    expected = 2 * w_ * np.cos(wx) ** 2 - 2 * w_**2 * x_ * np.cos(wx) * np.sin(wx)
    same(outer.gradient(penalty, w), expected, "float32", rtol=1e-5)


# --- Jacobians -----------------------------------------------------------------------------------


def test_jacobian_of_a_matrix_product(tf):
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    w = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    tx, tw = tf.constant(x), tf.Variable(w)
    with tf.GradientTape() as tape:
        tape.watch(tx)
        y = tx @ tw
    jx, (nested,) = tape.jacobian(y, [tx, (tw,)])
    same(jx, np.einsum("ab,cd->adbc", np.eye(2), w), "float32")
    same(nested, np.einsum("ab,cd->adbc", x, np.eye(4)), "float32")


@pytest.mark.parametrize(
    ("target", "shape", "expected"),
    [
        (lambda tf, x: tf.reduce_sum(x * x), (), [2.0, 4.0]),
        (lambda tf, x: x * x, (2,), [[2.0, 0.0], [0.0, 4.0]]),
        (lambda tf, x: x[::-1], (2,), [[0.0, 1.0], [1.0, 0.0]]),
        (lambda tf, x: x, (2,), [[1.0, 0.0], [0.0, 1.0]]),
        (lambda tf, x: x[:0], (0,), np.zeros((0, 2))),
    ],
    ids=["scalar", "vector", "permutation", "source", "empty"],
)
def test_jacobian_shapes(tf, target, shape, expected):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = target(tf, x)
    assert y.shape == shape
    same(tape.jacobian(y, x), expected, "float32")


def test_unconnected_jacobian(tf):
    x, other = tf.Variable([1.0, 2.0]), tf.Variable(tf.zeros((3,)))
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    assert tape.jacobian(y, other) is None
    connected, missing = tape.jacobian(y, {"a": x, "b": other}).values()
    same(connected, [[2.0, 0.0], [0.0, 4.0]])
    assert missing is None
    same(tape.jacobian(y, other, unconnected_gradients="zero"), np.zeros((2, 3)), "float32")


def test_jacobian_of_an_empty_target(tf):
    x, other, n = tf.constant(1.0), tf.constant([1.0, 2.0]), tf.constant(1)
    empty = tf.zeros((4, 0))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, other])
        targets = [empty * x, empty * 2.0, tf.cast(empty * x, tf.int32), empty]
    for target, connected in zip(targets, (True, False, False, False), strict=True):
        found = tape.jacobian(target, [x, other, n])
        assert [y is not None for y in found] == [connected, False, False]
        if connected:
            same(found[0], np.zeros((4, 0)), "float32")
        filled = tape.jacobian(target, [x, other], unconnected_gradients="zero")
        assert [tuple(y.shape) for y in filled] == [(4, 0), (4, 0, 2)]


def test_jacobian_of_integers(tf):
    x, n = tf.Variable([1.5, 2.5]), tf.Variable([1, 2])
    with tf.GradientTape(persistent=True) as tape:
        y, whole = x * x, tf.cast(x, tf.int32)
    assert tape.jacobian(whole, x) is None
    assert tape.jacobian(y, n) is None
    same(tape.jacobian(y, n, unconnected_gradients="zero"), [[0, 0], [0, 0]], "int32")


def test_jacobian_inside_its_context(tf):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
        same(tape.jacobian(y, x), [[2.0, 0.0], [0.0, 4.0]])


def test_jacobian_one_output_at_a_time_needs_a_persistent_tape(tf):
    x = tf.Variable([[1.0, 2.0]])
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    options = {"experimental_use_pfor": False}
    same(tape.jacobian(y, x, **options), [[[[2.0, 0.0]], [[0.0, 4.0]]]])
    same(tape.batch_jacobian(y, x, **options), [[[2.0, 0.0], [0.0, 4.0]]])
    with tf.GradientTape() as tape:
        y = x * x
    with pytest.raises(RuntimeError, match="persistent=True"):
        tape.jacobian(y, x, **options)


def test_jacobian_of_a_gradient_and_gradient_of_a_jacobian(tf):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(x**3) + x[0] * x[1]
        first = inner.gradient(y, x)
    same(outer.jacobian(first, x), [[6.0, 1.0], [1.0, 12.0]])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**3
        first = inner.jacobian(y, x)
    same(outer.gradient(first, x), [6.0, 12.0])


def test_jacobian_spends_the_tape(tf):
    x = tf.Variable([[1.0, 2.0]])
    for method in ("jacobian", "batch_jacobian"):
        with tf.GradientTape() as tape:
            y = x * x
        getattr(tape, method)(y, x)
        with pytest.raises(RuntimeError, match="non-persistent GradientTape"):
            getattr(tape, method)(y, x)


def test_batch_jacobian(tf):
    x = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)
    w = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    v = tf.Variable(x)
    with tf.GradientTape(persistent=True) as tape:
        y = (v * v) @ w
    expected = np.einsum("bi,io->boi", 2 * x, w)
    same(tape.batch_jacobian(y, v), expected, "float32")
    deep = tape.batch_jacobian(tf.reshape(y, (2, 4)), v)
    same(deep, np.zeros((2, 4, 3)))


def test_batch_jacobian_of_higher_rank(tf):
    x = np.arange(8.0, dtype=np.float32).reshape(2, 2, 2)
    v = tf.Variable(x)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v * v, axis=2)
    expected = np.einsum("bik,ij->bijk", 2 * x, np.eye(2))
    same(tape.batch_jacobian(y, v), expected, "float32")


def test_unconnected_batch_jacobian_is_zero(tf):
    x, other = tf.Variable([[1.0, 2.0]]), tf.Variable(tf.zeros((1, 3)))
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    for word in ("none", "zero"):
        same(tape.batch_jacobian(y, other, unconnected_gradients=word), np.zeros((1, 2, 3)))


def test_batch_jacobian_needs_batches(tf):
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        rows = tf.reduce_sum(y, axis=1)
        column = tf.reshape(y, (4, 1))
    with pytest.raises(ValueError, match=r"\(4, 1\).*\(2, 2\)"):
        tape.batch_jacobian(column, x)
    for target, source in [(rows, x), (y, tf.zeros((2,)))]:
        with pytest.raises(ValueError, match="must have rank at least 2"):
            tape.batch_jacobian(target, source)
