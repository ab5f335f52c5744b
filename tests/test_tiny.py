"""The first file to run: ten basic tests."""

import numpy as np
import pytest


def test_constant_gives_back_its_value(tf):
    assert tf.constant(3.0).numpy() == 3.0


def test_constant_takes_a_nested_list(tf):
    np.testing.assert_array_equal(tf.constant([[1, 2], [3, 4]]).numpy(), [[1, 2], [3, 4]])


def test_python_numbers_get_default_dtypes(tf):
    assert tf.constant(1.0).dtype == tf.float32
    assert tf.constant(1).dtype == tf.int32


def test_arithmetic(tf):
    x = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(((2 * x + 1) / x - x**2).numpy(), [2.0, -1.5])


def test_repr_shows_value_shape_and_dtype(tf):
    assert repr(tf.constant(6.0)) == "<tf.Tensor: shape=(), dtype=float32, numpy=6.0>"
    assert str(tf.constant(6.0)) == "tf.Tensor(6.0, shape=(), dtype=float32)"


def test_variable_can_be_assigned(tf):
    v = tf.Variable(1.0)
    v.assign(4.0)
    v.assign_sub(1.5)
    assert v.numpy() == 2.5


def test_slope_of_a_square(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x**2
    assert tape.gradient(y, x).numpy() == 6.0


def test_tensor_has_to_be_watched(tf):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is None


def test_gradient_of_a_linear_layer(tf):
    x = np.array([[1.0, 2.0, 3.0]], np.float32)
    w, b = tf.Variable(tf.ones((3, 2))), tf.Variable(tf.zeros(2))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w + b) ** 2)
    dw, db = tape.gradient(loss, [w, b])
    np.testing.assert_allclose(db.numpy(), [6.0, 6.0])
    np.testing.assert_allclose(dw.numpy(), x.T @ [[6.0, 6.0]])


def test_tape_is_spent_after_one_gradient(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="non-persistent"):
        tape.gradient(y, x)
