"""Fractional pooling and averages of losses, against NumPy."""

import numpy as np
import pytest

import numtape as tf

X = np.sin(np.arange(1.0, 2 * 7 * 8 * 2 + 1)).reshape(2, 7, 8, 2)
POOLS = {"fractional_max_pool": np.max, "fractional_avg_pool": np.mean}


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("pseudo_random", [False, True])
def test_pools(name, overlapping, pseudo_random):
    function, reduce = getattr(tf.nn, name), POOLS[name]
    y, rows, columns = function(X, [1.0, 1.4, 1.7, 1.0], pseudo_random, overlapping, seed=3)
    assert y.shape == (2, 5, 4, 2)
    for bounds, size in ((rows.numpy(), 7), (columns.numpy(), 8)):
        widths = np.diff(bounds)
        smallest = size // len(widths)
        assert (bounds[0], bounds[-1]) == (0, size)
        assert set(widths.tolist()) <= {smallest, smallest + 1}
    expected = np.empty(y.shape)
    more = int(overlapping)
    for i, (top, bottom) in enumerate(zip(rows.numpy()[:-1], rows.numpy()[1:], strict=True)):
        for j, (left, right) in enumerate(
            zip(columns.numpy()[:-1], columns.numpy()[1:], strict=True)
        ):
            part = X[:, top : bottom + more, left : right + more]
            expected[:, i, j] = reduce(part, axis=(1, 2))
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12)
    if name == "fractional_avg_pool":
        y = function(np.arange(112).reshape((*X.shape[:3], 1)), 1.7, seed=3)[0]
        assert y.dtype is tf.int64
    tf.testing.check_grads(lambda x: function(x, 1.5, pseudo_random, overlapping, 3)[0], [X], 1)


def test_errors():
    with pytest.raises(tf.errors.UnimplementedError, match="batch"):
        tf.nn.fractional_max_pool(X, [2.0, 1.0, 1.0, 1.0])
    for ratio, text in ((0.5, "at least 1"), (9.0, "too large")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            tf.nn.fractional_max_pool(X, ratio)
    with pytest.raises(tf.errors.InvalidArgumentError, match="4-dimensional"):
        tf.nn.fractional_avg_pool(X[0], 1.5)


def test_average_loss():
    average = tf.nn.compute_average_loss
    losses = np.array([[2.0, 0.5], [4.0, 1.0]])
    assert average(losses).numpy() == 7.5 / 2
    assert average(losses, [[1.0, 2.0], [0.0, 1.0]], 4).numpy() == 1.0
    assert average([1, 2], global_batch_size=0).numpy() == 0.0
    assert average(tf.zeros([0])).numpy() == 0.0
    assert tf.nn.scale_regularization_loss(losses).numpy() == 7.5
    for arguments, kind, text in (
        ((1.0,), ValueError, "at least rank 1"),
        (([1.0], None, 1.5), TypeError, "must be an int"),
        (([1.0], None, [1]), ValueError, "must be scalar"),
        (([1.0], None, -1), tf.errors.InvalidArgumentError, "non-negative"),
    ):
        with pytest.raises(kind, match=text):
            average(*arguments)
