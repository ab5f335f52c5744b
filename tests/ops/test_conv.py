"""Convolutions, pooling, dropout: errors, larger sizes, replays, and a trained network."""

import numpy as np
import pytest
from processes import ROOT

RNG = np.random.default_rng(0)


def normal(*shape, dtype="float32"):
    return RNG.normal(size=shape).astype(dtype)


def test_misfits_are_named_at_the_call(tf):
    x, w = tf.ones((2, 5, 5, 4)), tf.ones((3, 3, 4, 6))
    bad = tf.errors.InvalidArgumentError
    nn = tf.nn
    for error, call in [
        (bad, lambda: nn.conv2d(x, w, 1, "same")),
        (bad, lambda: nn.conv2d(x, w, 0, "SAME")),
        (bad, lambda: nn.conv2d(x, w[:, :, :3], 1, "SAME")),
        (bad, lambda: nn.conv2d(x, w[:, :, :2, :5], 1, "SAME")),
        (bad, lambda: nn.conv2d(x[0], w, 1, "SAME")),
        (bad, lambda: nn.conv2d(x, w[0], 1, "SAME")),
        (bad, lambda: nn.conv2d(x, tf.cast(w, tf.float64), 1, "SAME")),
        (bad, lambda: nn.conv2d(x, w, 1, "SAME", data_format="XX")),
        (bad, lambda: nn.conv2d(x, w, 1, "SAME", dilations=0)),
        (bad, lambda: nn.conv2d(x, w, 1, [[1, 0], [1, 2], [0, 1], [0, 0]])),
        (bad, lambda: nn.conv2d(x[:, :1], w, 1, "VALID")),
        (bad, lambda: nn.conv2d_transpose(x, w[..., :4], (2, 12, 12, 4), 2)),
        (bad, lambda: nn.conv2d_transpose(x, w[..., :4], (3, 10, 10, 4), 2)),
        (bad, lambda: nn.depthwise_conv2d(x, w[:, :, :3], [1, 1, 1, 1], "SAME")),
        (bad, lambda: nn.max_pool(x, 0, 2, "VALID")),
        (bad, lambda: nn.max_pool(x, 7, 1, "VALID")),
        (bad, lambda: nn.avg_pool(tf.cast(x, tf.int32), 2, 2, "SAME")),
        (bad, lambda: nn.max_pool2d(x[None], 2, 2, "SAME")),
        (bad, lambda: nn.bias_add(x, tf.ones(3))),
        (bad, lambda: nn.bias_add(x, tf.ones((1, 4)))),
        (bad, lambda: nn.l2_loss([1, 2])),
        (ValueError, lambda: nn.conv2d(x, w, [1, 1, 1], "SAME")),
        (ValueError, lambda: nn.conv2d(x, w, 1, [[1, 2], [0, 1]])),
        (ValueError, lambda: nn.convolution(x, w, 2, "SAME", dilations=2)),
        (ValueError, lambda: nn.atrous_conv2d(x, w, 0, "SAME")),
        (ValueError, lambda: nn.max_pool(x, [2, 2, 2], 1, "SAME")),
        (ValueError, lambda: nn.max_pool(x[0, 0], 2, 1, "SAME")),
        (ValueError, lambda: nn.pool(x, [2, 2], "MIN")),
        (ValueError, lambda: nn.dropout(x, 1.0)),
        (ValueError, lambda: nn.dropout(x, "a")),
        (ValueError, lambda: nn.dropout(tf.constant([1]), 0.5)),
        (ValueError, lambda: nn.bias_add(x, tf.ones(4), data_format="XX")),
        (TypeError, lambda: nn.conv3d(x[None], w[None], 1, "SAME")),
        (TypeError, lambda: nn.avg_pool(x, 2, 1, [[0, 0], [1, 1], [1, 1], [0, 0]])),
        (TypeError, lambda: nn.depthwise_conv2d(x, w, 1, "SAME")),
    ]:
        with pytest.raises(error):
            call()


@pytest.mark.numtape_only(reason="TensorFlow ends the process")
def test_strides_of_the_batch_are_refused(tf):
    x, w = tf.ones((2, 5, 5, 4)), tf.ones((3, 3, 4, 6))
    for call in (
        lambda: tf.nn.conv2d(x, w, [2, 1, 1, 1], "SAME"),
        lambda: tf.nn.max_pool(x, [2, 1, 1, 1], [1, 1, 1, 1], "SAME"),
    ):
        with pytest.raises(tf.errors.UnimplementedError):
            call()


def test_nothing_to_convolve(tf):
    w = tf.ones((3, 3, 4, 6))
    assert tf.nn.conv2d(tf.ones((0, 5, 5, 4)), w, 1, "SAME").shape == (0, 5, 5, 6)
    assert tf.nn.conv2d(tf.ones((2, 2, 5, 4)), w, 1, "VALID").shape == (2, 0, 3, 6)
    assert tf.nn.max_pool(tf.ones((0, 5, 5, 4)), 2, 2, "SAME").shape == (0, 3, 3, 4)
    assert tf.nn.conv2d(tf.ones((2, 3, 5, 5, 4)), w, 1, "SAME").shape == (2, 3, 5, 5, 6)


@pytest.mark.numtape_only(reason="has executors")
@pytest.mark.parametrize(
    "channels, features, size, kernel, strides, dilations, groups",
    [
        pytest.param(70, 100, (12, 11), (5, 3), (3, 2), (1, 1), 1, marks=pytest.mark.slow),
        (300, 9, (9,), (4,), (1,), (2,), 1),
        (8, 6, (8, 8), (3, 3), (2, 2), (1, 1), 2),
        pytest.param(600, 1200, (4, 4), (2, 2), (1, 1), (1, 1), 600, marks=pytest.mark.slow),
        (1, 33, (20, 20), (7, 7), (1, 1), (1, 1), 1),
        (5, 7, (4, 5, 6), (2, 3, 3), (1, 2, 1), (1,) * 3, 1),
    ],
)
def test_kernels_agree_with_numpy(tf, channels, features, size, kernel, strides, dilations, groups):
    """For several panels, tiles and groups, with each gradient."""
    for dtype in ("float32", "float64"):
        x, w = (
            normal(3, *size, channels, dtype=dtype),
            normal(*kernel, channels // groups, features, dtype=dtype),
        )
        found = []
        for device in ("reference", "cpu"):
            with tf.config.override(device):
                a, b = tf.constant(x), tf.constant(w)
                with tf.GradientTape() as tape:
                    tape.watch([a, b])
                    rank = len(size)
                    y = (
                        tf.nn.conv2d(a, b, strides, "SAME", dilations=dilations)
                        if rank == 2
                        else tf.nn.conv1d(a, b, strides, "SAME", dilations=dilations)
                        if rank == 1
                        else tf.nn.conv3d(a, b, [1, *strides, 1], "SAME")
                    )
                    loss = tf.reduce_sum(y * y)
                found.append([z.numpy() for z in (y, *tape.gradient(loss, [a, b]))])
        for wanted, got in zip(*found, strict=True):
            limit = 1e-5 if dtype == "float32" else 1e-13
            np.testing.assert_allclose(got, wanted, rtol=0, atol=limit * np.abs(wanted).max())


@pytest.mark.numtape_only(reason="has executors")
def test_threads_give_the_same_bits(tf):
    x, w = normal(16, 24, 24, 32), normal(3, 3, 32, 48)

    def bits():
        a, b = tf.constant(x), tf.constant(w)
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            y = tf.nn.max_pool(tf.nn.conv2d(a, b, 1, "SAME"), 2, 2, "SAME")
        return [z.numpy().tobytes() for z in (y, *tape.gradient(y, [a, b]))]

    assert bits() == bits()


def test_ties_go_to_the_first(tf):
    x = tf.ones((1, 3, 3, 1))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.max_pool(x, 2, 1, "VALID")
    assert tape.gradient(y, x)[0, :, :, 0].numpy().tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]


def test_what_is_no_number_is_passed_over(tf):
    x = tf.reshape([np.nan, 1.0, 2.0, 3.0], (1, 2, 2, 1))
    assert tf.nn.max_pool(x, 2, 1, "SAME").numpy().ravel().tolist() == [3.0] * 4
    assert tf.nn.max_pool(x[:, :, ::-1], 2, 1, "VALID").numpy().ravel().tolist() == [3.0]


def test_dropout_draws_anew_in_each_replay(tf):
    x = tf.ones(200)

    @tf.function
    def step(x):
        return tf.nn.dropout(x, 0.4)

    draws = {step(x).numpy().tobytes() for _ in range(5)}
    assert len(draws) == 5
    found = tf.nn.dropout(tf.ones((50, 40)), 0.4).numpy()
    assert set(np.unique(found).round(5)) == {0.0, np.float32(1 / 0.6).round(5)}
    assert 0.5 < (found > 0).mean() < 0.7
    together = tf.nn.dropout(tf.ones((50, 40)), 0.4, noise_shape=[None, 1]).numpy()
    assert (together == together[:, :1]).all()
    tf.random.set_seed(3)
    first = tf.nn.dropout(x, 0.5, seed=1).numpy()
    tf.random.set_seed(3)
    assert (tf.nn.dropout(x, 0.5, seed=1).numpy() == first).all()
    assert tf.nn.dropout(x, 0) is x


def test_repeats_are_collapsed(tf):
    found, lengths = tf.nn.collapse_repeated([[1, 1, 2, 2, 1], [3, 3, 3, 0, 0]], [5, 4])
    assert (found.numpy().tolist(), lengths.numpy().tolist()) == ([[1, 2, 1], [3, 0, 0]], [3, 2])


@pytest.mark.numtape_only(reason="TensorFlow has a large number there")
def test_labels_that_do_not_fit_cannot_be(tf):
    logits = tf.constant(normal(3, 1, 4))
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.nn.ctc_loss([[1, 1]], logits, [2], [2], blank_index=0)
    assert np.isinf(loss.numpy()).all()
    assert not tape.gradient(loss, logits).numpy().any()


@pytest.mark.slow
@pytest.mark.numtape_only(reason="has the digits")
def test_a_network_reads_digits(tf, monkeypatch):
    """98 % of held-out digits; `python -m benchmarks.convolution` measures the time."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.convolution import train

    accuracy, seconds = train(tf)
    assert accuracy >= 0.98
    assert seconds < 600  # detects a hang; the time depends on the load
