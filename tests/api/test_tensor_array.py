"""`tf.TensorArray`: elements, errors, and gradients in eager mode, loops and functions."""

import pickle

import numpy as np
import pytest

import numtape as tf

OUT_OF_RANGE, INVALID = tf.errors.OutOfRangeError, tf.errors.InvalidArgumentError


def array(size=2, dtype=tf.float32, **options):
    return tf.TensorArray(dtype, size, **options)


VALUES = [
    (lambda: array().write(0, 1).write(1, 2.5).stack(), [1.0, 2.5]),
    (lambda: array(element_shape=[2], dtype=tf.int32).stack(), [[0, 0], [0, 0]]),
    (lambda: array(dtype=tf.int32).write(0, [1, 2]).stack(), [[1, 2], [0, 0]]),
    (lambda: array(0).stack(), np.zeros([0])),
    (lambda: array(0, element_shape=[2]).stack(), np.zeros([0, 2])),
    (lambda: array(0, element_shape=[2, 3]).concat(), np.zeros([0, 3])),
    (lambda: array(0, dynamic_size=True, element_shape=()).write(2, 1.0).stack(), [0.0, 0.0, 1.0]),
    (lambda: array(3).unstack([1.0, 2.0, 3.0]).gather([2, 0]), [3.0, 1.0]),
    (lambda: array(2).scatter([1, 0], [[5.0], [6.0]]).stack(), [[6.0], [5.0]]),
    (lambda: array(2, infer_shape=False).split([1.0, 2.0, 3.0], [1, 2]).read(1), [2.0, 3.0]),
    (lambda: array(2, infer_shape=False).split([1.0, 2.0], [0, 2]).concat(), [1.0, 2.0]),
    (lambda: array(tf.constant(3)).size(), 3),
    (lambda: pickle.loads(pickle.dumps(array().unstack([1.0, 2.0]))).stack(), [1.0, 2.0]),
]


@pytest.mark.parametrize("row", range(len(VALUES)))
def test_values(row):
    function, expected = VALUES[row]
    actual = function().numpy()
    np.testing.assert_array_equal(actual, expected)
    assert actual.shape == np.shape(expected)


def read_twice():
    parts = array().unstack([1.0, 2.0])
    parts.read(0)
    return parts.read(0)


ERRORS = [
    (lambda: array(None), ValueError, "Size must be declared"),
    (lambda: array(-1), ValueError, "must be >= 0"),
    (lambda: array().write(2, 1.0), OUT_OF_RANGE, "not resizeable and size is: 2"),
    (lambda: array().write(-1, 1.0), OUT_OF_RANGE, "negative indices"),
    (lambda: array().read(2), OUT_OF_RANGE, "index 2 but array size is: 2"),
    (lambda: array().read(-1), OUT_OF_RANGE, "negative indices"),
    (lambda: array().gather([5]), OUT_OF_RANGE, "index 5 but array size is: 2"),
    (lambda: array(dtype=tf.int32).write(0, 1.5), INVALID, "is int32 but .* dtype float32"),
    (lambda: array().write(0, [1.0]).write(1, [1.0, 2.0]), ValueError, "Incompatible shape"),
    (lambda: array().stack(), INVALID, "never written"),
    (read_twice, INVALID, "twice because it was cleared"),
    (lambda: array().unstack([1.0, 2.0, 3.0]), ValueError, "Cannot unstack 3 tensors"),
    (lambda: array().scatter([0], [1.0, 2.0]), INVALID, "an index for each slice"),
    (lambda: array().split([1.0, 2.0], [1, 2]), INVALID, "sum of lengths"),
    (lambda: array().split([1.0, 2.0], 2), INVALID, "to be a vector"),
    (lambda: array().split(1.0, [1]), INVALID, "at least a vector"),
    (lambda: array().split([1.0, 2.0], [2]), INVALID, "not marked as dynamically"),
    (lambda: array().grad("x"), tf.errors.UnimplementedError, "GradientTape"),
]


@pytest.mark.parametrize("row", range(len(ERRORS)))
def test_errors(row):
    function, kind, text = ERRORS[row]
    with pytest.raises(kind, match=text):
        function()


def test_a_failed_write_changes_nothing():
    parts = array(1, dynamic_size=True).write(0, 1.0)
    with pytest.raises(INVALID):
        parts.write(5, tf.constant(1))
    assert parts.size().numpy() == 1


def test_gradients():
    x = tf.Variable(3.0)

    def power(n):
        """The sum of x, 2 x, ... by a loop, and n."""
        _, parts = tf.while_loop(
            lambda i, _: i < n,
            lambda i, parts: (i + 1, parts.write(i, x * tf.cast(i + 1, tf.float32))),
            (tf.constant(0), array(n)),
        )
        return tf.reduce_sum(parts.stack() ** 2)

    for function in (power, *[tf.function(power)] * 3):
        with tf.GradientTape() as tape:
            y = function(3)
        assert y.numpy() == 9.0 * 14.0
        assert tape.gradient(y, x).numpy() == 2.0 * 3.0 * 14.0


def test_replay_computes_anew():
    @tf.function
    def double(x):
        parts = array(0, dynamic_size=True)
        for i in tf.range(2):
            parts = parts.write(i, x[i] * 2.0)
        return parts.stack()

    for k in range(3):
        assert double(tf.constant([1.0, float(k)])).numpy().tolist() == [2.0, 2.0 * k]
