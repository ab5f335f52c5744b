"""`numtape.testing.check_grads`: accepted functions, and messages for wrong derivatives."""

import numpy as np
import pytest

pytestmark = pytest.mark.numtape_only(reason="TensorFlow's checker is another one")

X, Y = np.array([0.1, 0.2]), np.array([[0.3], [-0.4]])

RIGHT = {
    "two arguments": (lambda tf, x, y: tf.sin(x) * y, [X, Y]),
    "a nest of results": (lambda tf, x, y: {"a": [x * y], "b": (tf.exp(y), x[0])}, [X, Y]),
    "a scalar": (lambda tf, x: x**3, [2.0]),
    "float32 and lists": (lambda tf, x, y: x * y, [np.float32([1, 2]), [3.0, 4.0]]),
    "an integer argument": (lambda tf, x, i: tf.gather(x, i) ** 2, [X, [1, 1, 0]]),
    "an integer result": (lambda tf, x: [tf.cast(10 * x, tf.int32), x * x], [X]),
    "no derivative at all": (lambda tf, x: tf.floor(x), [X]),
    "no elements": (lambda tf, x: tf.sqrt(x), [np.zeros((0, 3))]),
}


@pytest.mark.parametrize(("function", "args"), RIGHT.values(), ids=RIGHT)
def test_right_derivatives(tf, function, args):
    tf.testing.check_grads(lambda *xs: function(tf, *xs), args, order=3)


@pytest.mark.parametrize(
    "function, args, what",
    [
        (lambda i: i + 1, [3], "An argument must be a float"),
        (lambda x: int(x[0]), [X], "A result must be a float"),
        (lambda x: [], [X], "A result must be a float"),
    ],
)
def test_nothing_to_check(tf, function, args, what):
    with pytest.raises(ValueError, match=what):
        tf.testing.check_grads(function, args)


def frozen(tf, x):
    """x**2 with a correct first derivative and a zero second derivative."""
    return 2 * tf.stop_gradient(x) * x - tf.stop_gradient(x * x)


def undefined(tf, x):
    """A sum whose derivative is NaN."""
    return tf.custom_gradient(lambda x: (tf.reduce_sum(x), lambda g: g * np.nan * x))(x)


WRONG = {
    "the first": (lambda tf, x: x + tf.stop_gradient(3 * x), [X], r"order 1 by argument 0: elem"),
    "an element": (
        lambda tf, x, y: y * tf.concat([x[:1], tf.stop_gradient(x[1:])], 0),
        [X, Y],
        r"order 1 by argument 0: element \(1,\) is 0, central differences give",
    ),
    "the second": (frozen, [X], r"order 2 by argument 0: element \(\d,\) is 0"),
    "not a number": (undefined, [np.zeros(2)], r"element \(0,\) is nan"),
}


@pytest.mark.parametrize(("function", "args", "message"), WRONG.values(), ids=WRONG)
def test_wrong_derivatives(tf, function, args, message):
    with pytest.raises(AssertionError, match=message):
        tf.testing.check_grads(lambda *xs: function(tf, *xs), args)


def test_order_and_tolerance(tf):
    tf.testing.check_grads(lambda x: frozen(tf, x), [X], order=1)
    with pytest.raises(AssertionError, match="order 1"):
        tf.testing.check_grads(lambda x: x**5, [3.0], rtol=1e-14, atol=0, eps=1e-2)
