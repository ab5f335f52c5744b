"""Helpers for tests of behaviour: comparing, differentiating, capturing log messages."""

import contextlib
import logging

import numpy as np

# The value of `--seed`: some tests run a part of their cases, depending on the seed.
SEED = 0

WATCHED_INTEGER = "The dtype of the watched tensor must be floating (e.g. tf.float32), got tf.int32"


def same(actual, expected, dtype=None, rtol=1e-6, atol=1e-7):
    """Assert that a tensor or variable has this value, this shape and, where given, this dtype."""
    expected = np.asarray(expected)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    if dtype is not None:
        assert actual.dtype == dtype, f"dtype {actual.dtype!r}, expected {dtype}"
    value = np.asarray(actual)
    if value.dtype == np.bool_:
        np.testing.assert_array_equal(value, expected)
    else:
        np.testing.assert_allclose(value, expected, rtol=rtol, atol=atol)


def slope(tf, function, *values, **options):
    """Return the gradient of `function` at `values`: one for one value, a list for several."""
    points = [tf.convert_to_tensor(value) for value in values]
    with tf.GradientTape() as tape:
        tape.watch(points)
        result = function(*points)
    gradients = tape.gradient(result, points, **options)
    return gradients[0] if len(points) == 1 else gradients


@contextlib.contextmanager
def logged(tf):
    """Yield the list to which every message of the library's logger is appended."""
    messages = []

    class Listener(logging.Handler):
        def emit(self, record):
            messages.append(record.getMessage())

    logger, listener = logging.getLogger(tf.__name__.partition(".")[0]), Listener()
    logger.addHandler(listener)
    try:
        yield messages
    finally:
        logger.removeHandler(listener)
