"""`tf.nn` and an installed TensorFlow: convolutions, pooling and losses of random shapes."""

import importlib.util
import os

import numpy as np
import pytest

pytestmark = [
    pytest.mark.skipif(not importlib.util.find_spec("tensorflow"), reason="needs TensorFlow"),
    pytest.mark.numtape_only(reason="compares with TensorFlow"),
]

CONVOLUTIONS = [
    (kind, seed)
    for kind in ("conv1d", "conv2d", "conv3d", "depthwise", "transposed")
    for seed in range(8)
]


@pytest.fixture(scope="module")
def tensorflow():
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # its convolutions crash the process
    return pytest.importorskip("tensorflow")


def both(tensorflow, tf, function, *arrays):
    """The results and the gradients of the sum of squares."""
    found = []
    for library in (tensorflow, tf):
        xs = [library.constant(x) for x in arrays]
        with library.GradientTape() as tape:
            tape.watch(xs)
            y = function(library, *xs)
            loss = library.reduce_sum(y * y)
        found.append([y, *tape.gradient(loss, xs)])
    for wanted, got in zip(*found, strict=True):
        assert (wanted is None) == (got is None)
        if wanted is not None:
            assert tuple(wanted.shape) == tuple(got.shape)
            assert wanted.dtype.name == got.dtype.name
            limit = 1e-11 if wanted.dtype.name == "float64" else 1e-5
            size = max(1.0, np.abs(wanted.numpy()).max(initial=0.0))
            np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=0, atol=limit * size)


def drawn(seed):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("kind, seed", CONVOLUTIONS)
def test_convolutions(tensorflow, tf, kind, seed):
    random = drawn(seed)
    rank = {"conv1d": 1, "conv3d": 3}.get(kind, 2)
    size = tuple(random.integers(3, 8, rank).tolist())
    kernel = tuple(random.integers(1, 4, rank).tolist())
    channels, features = random.integers(1, 4, 2).tolist()
    step, padding = int(random.integers(1, 3)), str(random.choice(["SAME", "VALID"]))
    x = random.normal(size=(2, *size, channels))
    w = random.normal(size=(*kernel, channels, features))
    if kind == "conv3d":
        both(tensorflow, tf, lambda t, x, w: t.nn.conv3d(x, w, [1, *[step] * 3, 1], padding), x, w)
    elif kind == "depthwise":
        strides = [1, step, step, 1]
        both(tensorflow, tf, lambda t, x, w: t.nn.depthwise_conv2d(x, w, strides, padding), x, w)
    elif kind == "transposed":
        shape = (
            2,
            *(
                n * step if padding == "SAME" else (n - 1) * step + k
                for n, k in zip(size, kernel, strict=True)
            ),
            features,
        )
        w = random.normal(size=(*kernel, features, channels))
        both(
            tensorflow, tf, lambda t, x, w: t.nn.conv2d_transpose(x, w, shape, step, padding), x, w
        )
    else:
        both(tensorflow, tf, lambda t, x, w: getattr(t.nn, kind)(x, w, step, padding), x, w)


@pytest.mark.parametrize("name", ["max_pool", "avg_pool"])
@pytest.mark.parametrize("seed", range(8))
def test_pooling(tensorflow, tf, name, seed):
    random = drawn(seed)
    rank = int(random.integers(1, 4))
    x = random.normal(size=(2, *random.integers(3, 7, rank).tolist(), 2)).astype("float32")
    size, step = random.integers(1, 4, 2).tolist()
    padding = str(random.choice(["SAME", "VALID"]))
    both(tensorflow, tf, lambda t, x: getattr(t.nn, f"{name}{rank}d")(x, size, step, padding), x)


@pytest.mark.parametrize("seed", range(4))
def test_pooling_with_places(tensorflow, tf, seed):
    x = drawn(seed).permutation(60).reshape(2, 3, 5, 2).astype("float32")
    for batched in (False, True):
        wanted, found = (
            t.nn.max_pool_with_argmax(x, 2, 2, "SAME", include_batch_in_index=batched)
            for t in (tensorflow, tf)
        )
        np.testing.assert_array_equal(found.output.numpy(), wanted.output.numpy())
        np.testing.assert_array_equal(found.argmax.numpy(), wanted.argmax.numpy())
        assert found.argmax.dtype.name == wanted.argmax.dtype.name


def test_losses(tensorflow, tf):
    random = drawn(0)
    z, x = random.uniform(0.1, 3, (4, 5)), random.normal(size=(4, 5))
    both(tensorflow, tf, lambda t, z, x: t.nn.log_poisson_loss(z, x, True), z, x)
    both(
        tensorflow, tf, lambda t, z, x: t.nn.weighted_cross_entropy_with_logits(z / 3, x, 2.5), z, x
    )
    both(tensorflow, tf, lambda t, x: t.nn.l2_loss(x), x)
    both(tensorflow, tf, lambda t, x, b: t.nn.bias_add(x, b), x, z[0])
    both(
        tensorflow,
        tf,
        lambda t, x, m, v, o, s: t.nn.batch_normalization(x, m, v, o, s, 1e-3),
        x,
        z[0],
        z[1],
        z[2],
        z[3],
    )


@pytest.mark.parametrize("seed", range(4))
def test_labels_without_times(tensorflow, tf, seed):
    random = drawn(seed)
    logits = random.normal(size=(9, 3, 5)).astype("float32")
    labels = random.integers(1, 5, (3, 3)).astype("int32")
    blank = [0, -1, 2, None][seed]
    if blank is not None:
        labels = np.where(labels == blank % 5, (blank + 1) % 5, labels)
    found = []
    for t in (tensorflow, tf):
        x = t.constant(logits)
        with t.GradientTape() as tape:
            tape.watch(x)
            loss = t.nn.ctc_loss(labels, x, [3, 1, 2], [9, 8, 7], blank_index=blank)
        found.append((loss.numpy(), tape.gradient(loss, x).numpy()))
    for wanted, got in zip(*found, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)


def test_what_is_refused(tensorflow, tf):
    """Both refuse it with an exception of the same name."""
    x, w = np.ones((2, 5, 5, 4), "float32"), np.ones((3, 3, 4, 6), "float32")
    for call in (
        lambda nn: nn.conv2d(x, w, 1, "same"),
        lambda nn: nn.conv2d(x, w, 0, "SAME"),
        lambda nn: nn.conv2d(x, w[:, :, :3], 1, "SAME"),
        lambda nn: nn.conv2d(x, w[0], 1, "SAME"),
        lambda nn: nn.conv2d(x[0], w, 1, "SAME"),
        lambda nn: nn.conv2d(x, w, [1, 1, 1], "SAME"),
        lambda nn: nn.conv2d(x, w, [2, 1, 1, 1], "SAME"),
        lambda nn: nn.conv2d(x, w, 1, [[1, 2], [0, 1]]),
        lambda nn: nn.conv3d(x, w, 1, "SAME"),
        lambda nn: nn.max_pool(x, 0, 2, "VALID"),
        lambda nn: nn.max_pool(x, 7, 1, "VALID"),
        lambda nn: nn.max_pool(x, [2, 2, 2], 1, "SAME"),
        lambda nn: nn.max_pool(x[0, 0], 2, 1, "SAME"),
        lambda nn: nn.avg_pool(x, [2, 1, 1, 1], 1, "SAME"),
        lambda nn: nn.pool(x, [2, 2], "MIN"),
        lambda nn: nn.dropout(x, 1.0),
        lambda nn: nn.dropout(x, "a"),
        lambda nn: nn.l2_loss([1, 2]),
        lambda nn: nn.bias_add(x, x[0, 0, 0, :3]),
        lambda nn: nn.bias_add(x, x[0, 0]),
        lambda nn: nn.convolution(x, w, 2, "SAME", dilations=2),
        lambda nn: nn.conv2d_transpose(x, w[..., :4], (2, 12, 12, 4), 2),
        lambda nn: nn.depthwise_conv2d(x, w[:, :, :3], [1, 1, 1, 1], "SAME"),
    ):
        names = []
        for t in (tensorflow, tf):
            with pytest.raises(Exception) as raised:
                call(t.nn)
            names.append({kind.__name__ for kind in type(raised.value).__mro__})
        shared = names[0] & names[1] - {"Exception", "BaseException", "object", "OpError"}
        assert shared, names
