"""`isotonic_regression`, `approx_max_k` and `approx_min_k` against NumPy."""

import numpy as np
import pytest
from cases_reductions import decreasing_fit

import numtape as tf

X = np.round(np.sin(np.arange(1.0, 13)) * 4, 1).reshape(2, 6)


@pytest.mark.parametrize("decreasing", [True, False])
@pytest.mark.parametrize("axis", [1, 0])
def test_isotonic_regression(decreasing, axis):
    sign = 1 if decreasing else -1
    expected = np.apply_along_axis(lambda x: sign * decreasing_fit(sign * x), axis, X)
    output, segments = tf.nn.isotonic_regression(X, decreasing, axis)
    np.testing.assert_allclose(output.numpy(), expected, rtol=1e-12)
    changes = np.diff(segments.numpy(), axis=axis)
    assert set(changes.ravel().tolist()) <= {0, 1}
    np.testing.assert_array_equal(changes != 0, np.abs(np.diff(expected, axis=axis)) > 1e-9)
    tf.testing.check_grads(lambda x: tf.nn.isotonic_regression(x, decreasing, axis)[0], [X])


def test_isotonic_regression_of_other_inputs():
    function = tf.function(lambda x: tf.nn.isotonic_regression(x)[0])
    for x in ([3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]):
        np.testing.assert_allclose(function(tf.constant(x)).numpy(), decreasing_fit(np.array(x)))
    assert tf.nn.isotonic_regression([1, 2, 3]).output.dtype is tf.float64
    assert tf.nn.isotonic_regression(tf.zeros([2, 0])).segments.shape == (2, 0)
    assert tf.nn.isotonic_regression(3.0).output.numpy() == 3.0


@pytest.mark.parametrize(("function", "order"), [("approx_max_k", -1), ("approx_min_k", 1)])
@pytest.mark.parametrize("axis", [1, 0])
def test_approximate_order(function, order, axis):
    values, indices = getattr(tf.math, function)(X, 2, reduction_dimension=axis)
    expected = np.take(np.argsort(order * X, axis, kind="stable"), [0, 1], axis)
    np.testing.assert_array_equal(indices.numpy(), expected)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(X, expected, axis))
    assert getattr(tf.nn, function) is getattr(tf.math, function)


def test_errors():
    for operand, k, text in (([1, 2], 1, "float"), ([1.0], 2, "at least k"), (1.0, 1, "1-D")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            tf.math.approx_max_k(operand, k)
