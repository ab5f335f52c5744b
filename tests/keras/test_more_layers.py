"""Layers and losses with a reference of their own: ConvLSTM, spectra, grouped attention, circle."""

import itertools
import json

import numpy as np
import pytest

import numtape as tf

keras = tf.keras
layers, losses = keras.layers, keras.losses
DRAWS = np.random.default_rng(8)


def draw(*shape):
    return DRAWS.normal(size=shape).astype(np.float32)


def restored(layer):
    config = json.loads(json.dumps(layers.serialize(layer)))
    return layers.deserialize(config)


def convolved(x, w, padding, stride=1):
    """A convolution of (batch, rows, columns, channels) in loops."""
    height, width = w.shape[:2]
    if padding == "same":
        pads = []
        for n, k in zip(x.shape[1:3], (height, width), strict=True):
            total = max((-(-n // stride) - 1) * stride + k - n, 0)
            pads.append((total // 2, total - total // 2))
        x = np.pad(x, [(0, 0), *pads, (0, 0)])
    rows = range(0, x.shape[1] - height + 1, stride)
    columns = range(0, x.shape[2] - width + 1, stride)
    y = np.zeros((len(x), len(rows), len(columns), w.shape[-1]))
    for (i, r), (j, c) in itertools.product(enumerate(rows), enumerate(columns)):
        y[:, i, j] = np.einsum("bhwc,hwcf->bf", x[:, r : r + height, c : c + width], w)
    return y


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(
    "options",
    [{}, {"padding": "same", "strides": 2, "use_bias": False}, {"go_backwards": True}],
)
def test_conv_lstm(options):
    x = draw(2, 3, 4, 5, 2)
    layer = layers.ConvLSTM2D(3, 2, return_sequences=True, return_state=True, **options)
    outputs, *states = layer(x)
    kernel, recurrent, *bias = layer.get_weights()
    if bias:
        assert bias[0].tolist() == [0.0] * 3 + [1.0] * 3 + [0.0] * 6
    h = c = np.zeros(states[0].shape)
    steps = x.transpose(1, 0, 2, 3, 4)[:: -1 if "go_backwards" in options else 1]
    for number, step in enumerate(steps):
        sums = convolved(step, kernel, options.get("padding", "valid"), options.get("strides", 1))
        sums = sums + (bias[0] if bias else 0) + convolved(h, recurrent, "same")
        i, f, n, o = np.split(sums, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(n)
        h = sigmoid(o) * np.tanh(c)
        np.testing.assert_allclose(outputs[:, number], h, atol=1e-5)
    np.testing.assert_allclose(states[1], c, atol=1e-5)
    again = restored(layer)
    assert again.get_config() == layer.get_config()
    assert again.compute_output_shape(x.shape)[0] == tuple(outputs.shape)
    with pytest.raises(ValueError, match="static"):
        restored(layer).build((None, 3, None, 5, 2))


def test_conv_lstm_drops_and_trains():
    layer = layers.ConvLSTM1D(2, 2, dropout=0.5, recurrent_dropout=0.5, seed=1)
    x = draw(2, 3, 4, 1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(x, training=True) ** 2)
    assert all(np.isfinite(g).all() for g in tape.gradient(loss, layer.trainable_weights))
    assert layers.ConvLSTM3D(1, 1)(draw(1, 2, 2, 2, 2, 1)).shape == (1, 2, 2, 2, 1)


def test_grouped_attention_is_attention_with_repeated_heads():
    query, value = draw(2, 3, 8), draw(2, 5, 8)
    layer = layers.GroupQueryAttention(4, 6, 2)
    layer.build(query.shape, value.shape)
    weights = [draw(*w.shape) for w in layer.get_weights()]
    layer.set_weights(weights)
    whole = layers.MultiHeadAttention(6, 4)
    whole.build(query.shape, value.shape)
    repeated = [w.repeat(3, -2) if 2 <= k < 6 else w for k, w in enumerate(weights)]
    whole.set_weights(repeated)
    y, scores = layer(query, value, return_attention_scores=True)
    np.testing.assert_allclose(y, whole(query, value), atol=1e-4)
    assert scores.shape == (2, 6, 3, 5)
    assert layer.name.startswith("grouped_query_attention")
    assert layers.serialize(layer)["class_name"] == "GroupQueryAttention"
    assert restored(layer).get_config() == layer.get_config()
    with pytest.raises(ValueError, match="divisible"):
        layers.GroupQueryAttention(4, 3, 2)


@pytest.mark.parametrize("tied", [True, False])
def test_reversible_embedding(tied):
    layer = layers.ReversibleEmbedding(5, 3, tie_weights=tied, logit_soft_cap=0.5, mask_zero=True)
    vectors = layer(np.array([[1, 0, 4]]))
    logits = layer(vectors, reverse=True)
    weights = layer.get_weights()
    kernel = weights[0].T if tied else weights[1]
    expected = np.tanh(weights[0][[1, 0, 4]] @ kernel / 0.5) * 0.5
    np.testing.assert_allclose(logits[0], expected, atol=1e-6)
    assert layer.compute_output_shape((None, 2, 3), reverse=True) == (None, 2, 5)
    assert layer(keras.Input((2, 3)), reverse=True).shape == (None, 2, 5)
    assert restored(layer).get_config() == layer.get_config()


def test_spectral_normalization():
    dense = layers.Dense(3)
    layer = layers.SpectralNormalization(dense, power_iterations=50)
    x = draw(2, 4)
    layer(x)
    kernel = dense.get_weights()[0]
    y = layer(x, training=True)
    expected = kernel / np.linalg.svd(kernel)[1][0]
    np.testing.assert_allclose(dense.get_weights()[0], expected, atol=1e-5)
    np.testing.assert_allclose(y, x @ expected, atol=1e-5)
    np.testing.assert_allclose(layer(x), y, atol=1e-6)
    dense.kernel.assign(np.zeros((4, 3)))
    assert not np.any(layer(x, training=True))
    assert restored(layer).power_iterations == 50
    with pytest.raises(ValueError, match="kernel"):
        layers.SpectralNormalization(layers.ReLU()).build((None, 2))
    with pytest.raises(ValueError, match="power_iterations"):
        layers.SpectralNormalization(dense, 0)


@pytest.mark.parametrize("mode", ["stft", "psd", "log", "angle", "real", "imag", "magnitude"])
def test_stft(mode):
    x = draw(2, 30, 2)
    layer = layers.STFTSpectrogram(mode, 8, 4, scaling="spectrum", expand_dims=mode == "log")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(8) / 7)
    window = window / window.sum()
    frames = np.stack([x[:, k : k + 8] for k in range(0, 23, 4)], 1)  # (batch, frames, 8, channels)
    z = np.fft.rfft(frames * window[:, None], axis=2).transpose(0, 1, 3, 2)
    power = np.abs(z) ** 2
    expected = {
        "stft": lambda: np.concatenate([z.real, z.imag], -1),
        "psd": lambda: power * [1, 2, 2, 2, 1],
        "log": lambda: np.log(np.maximum(np.sqrt(np.maximum(power, 1e-7)), 1e-7)),
        "angle": lambda: np.angle(z),
        "real": lambda: z.real,
        "imag": lambda: z.imag,
        "magnitude": lambda: np.sqrt(np.maximum(power, 1e-7)),
    }[mode]()
    if mode == "log":
        expected = expected.transpose(0, 1, 3, 2)
    else:
        expected = expected.reshape(2, 6, -1)
    y = layer(x)
    if mode == "angle":  # the sign of a zero imaginary part decides between -pi and pi
        y, expected = np.cos(y), np.cos(expected)
    np.testing.assert_allclose(y, expected, atol=1e-5)
    assert layer.compute_output_shape((None, 30, 2)) == (None, *y.shape[1:])
    assert restored(layer).get_config() == layer.get_config()


def test_stft_refuses():
    for options, message in [
        ({"mode": "nosuch"}, "mode"),
        ({"frame_length": 8, "frame_step": 9}, "frame_step"),
        ({"frame_length": 8, "fft_length": 4}, "fft_length"),
        ({"padding": "causal"}, "Padding"),
        ({"scaling": "nosuch"}, "Scaling"),
        ({"window": "nosuch"}, "nosuch"),
    ]:
        with pytest.raises(ValueError, match=message):
            layers.STFTSpectrogram(**options)
    with pytest.raises(ValueError, match="real"):
        keras.initializers.STFT("both")


def test_mel_spectrogram():
    layer = layers.MelSpectrogram(64, 16, num_mel_bins=4, power_to_db=False, window=None)
    matrix = layer.linear_to_mel_weight_matrix()
    assert matrix.shape == (33, 4) and not matrix[0].any() and (matrix.max(0) <= 1).all()
    x = draw(2, 128)
    y = np.asarray(layer(x))
    padded = np.pad(x, ((0, 0), (32, 32)), "reflect")
    frames = np.stack([padded[:, k : k + 64] for k in range(0, 129, 16)], 1)
    power = np.abs(np.fft.rfft(frames)) ** 2
    np.testing.assert_allclose(y, (power @ matrix).transpose(0, 2, 1), rtol=2e-4)
    decibels = layers.MelSpectrogram(64, 16, num_mel_bins=4, top_db=20.0, window=None)
    expected = 10 * np.log10(np.maximum(y, 1e-10))
    np.testing.assert_allclose(decibels(x), np.maximum(expected, expected.max() - 20), rtol=1e-4)
    assert decibels.compute_output_shape((None, 128)) == (None, *y.shape[1:])
    with pytest.raises(ValueError, match="sequence_length"):
        layers.MelSpectrogram(64, sequence_length=65)


def test_batch_renormalization():
    x = draw(16, 3) * 2 + 1
    bounds = {"rmin": 0.9, "rmax": 1.1, "dmax": 0.25}
    layer = layers.BatchNormalization(
        renorm=True, renorm_clipping=bounds, renorm_momentum=0.5, momentum=0.75, epsilon=0.01
    )
    y = layer(x, training=True)
    mean, stddev = x.mean(0), np.sqrt(x.var(0) + 0.01)
    r, d = np.clip(stddev, 0.9, 1.1), np.clip(mean, -0.25, 0.25)
    np.testing.assert_allclose(y, (x - mean) / stddev * r + d, atol=1e-5)
    np.testing.assert_allclose(layer.renorm_mean, mean * 0.5, atol=1e-6)
    np.testing.assert_allclose(layer.moving_mean, mean * 0.25, atol=1e-6)
    moving = 0.75 + 0.25 * stddev
    np.testing.assert_allclose(layer.moving_stddev, moving, atol=1e-6)
    np.testing.assert_allclose(layer.moving_variance, moving**2 - 0.01, atol=1e-5)
    assert restored(layer).get_config() == layer.get_config()
    for wrong in ({"nosuch": 1}, {"rmin": 2.0, "rmax": 1.0}, {"dmax": -1.0}):
        with pytest.raises(ValueError):
            layers.BatchNormalization(renorm=True, renorm_clipping=wrong)


def test_scaling_by_the_deviation_and_interpolations():
    x = draw(4, 3)
    with pytest.warns(UserWarning, match="deprecated"):
        layer = layers.LayerNormalization(rms_scaling=True, epsilon=0.5)
    np.testing.assert_allclose(layer(x), x / np.sqrt(x.var(1, keepdims=True) + 0.5), atol=1e-5)
    assert len(layer.weights) == 1
    image = np.arange(4.0, dtype="f4").reshape(1, 1, 4, 1)
    rows = {
        "bicubic": [-0.0882, 0.1679, 0.7099, 1.25, 1.75, 2.2901, 2.8321, 3.0882],
        "lanczos3": [-0.0925, 0.1425, 0.6756, 1.2787],
    }
    for name, expected in rows.items():
        y = layers.UpSampling2D((1, 2), interpolation=name)(image)
        np.testing.assert_allclose(np.ravel(y)[: len(expected)], expected, atol=1e-4)


def test_optional_inputs():
    class Sum(keras.Layer):
        def call(self, first, second):
            return second if first is None else first + second

        def compute_output_shape(self, first_shape, second_shape):
            return second_shape

    first, second = keras.Input((3,), optional=True), keras.Input((3,))
    model = keras.Model([first, second], Sum()(first, second))
    x = draw(2, 3)
    np.testing.assert_array_equal(model([None, x]), x)
    np.testing.assert_array_equal(model([x, x]), x + x)
    with pytest.raises(ValueError, match="optional"):
        model([x, None])
    layer = layers.InputLayer(batch_input_shape=(None, 2))
    assert layer.get_config()["batch_shape"] == (None, 2) and not layer.optional


def test_layers_of_other_frameworks_are_refused():
    for name in ("JaxLayer", "FlaxLayer", "TorchModuleWrapper", "TFSMLayer"):
        with pytest.raises(tf.errors.UnimplementedError, match=name):
            getattr(layers, name)(lambda x: x)


def test_circle():
    labels = np.array([0, 0, 1, 1, 2, 0])
    vectors = draw(6, 4)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = []
    for i in range(6):
        distance = np.maximum(1 - vectors @ vectors[i], 0)
        same = (labels == labels[i]) & (np.arange(6) != i)
        near = -2.0 * (0.4 + distance) * (0.4 - distance)
        far = 2.0 * np.maximum(1.4 - distance, 0) * (0.6 - distance)
        total = np.exp(near[same]).sum() * np.exp(far[labels != labels[i]]).sum()
        expected.append(np.log1p(total))
    np.testing.assert_allclose(losses.circle(labels, vectors, gamma=2.0), expected, atol=1e-5)
    loss = losses.Circle(gamma=2.0)
    np.testing.assert_allclose(loss(labels, vectors), np.sum(expected) / 5, rtol=1e-5)
    v = tf.Variable(vectors)
    with tf.GradientTape() as tape:
        value = loss(labels, v)
    assert np.isfinite(tape.gradient(value, v)).all()
    assert losses.deserialize(losses.serialize(loss)).get_config() == loss.get_config()


def test_robust_cross_entropy():
    labels, p = np.array([0, 2]), np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], "f4")
    expected = (1 - np.array([0.5, 0.25]) ** 0.7) / 0.7
    for y_true in (labels, labels[:, None]):
        y = losses.categorical_generalized_cross_entropy(y_true, p, 0.7)
        np.testing.assert_allclose(y, expected, rtol=1e-5)
    loss = losses.CategoricalGeneralizedCrossEntropy(0.7)
    np.testing.assert_allclose(loss(labels, p), expected.mean(), rtol=1e-5)
    with pytest.raises(ValueError, match="q must be"):
        losses.CategoricalGeneralizedCrossEntropy(1.0)


def test_ctc():
    logits = draw(2, 4, 3)
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    labels = np.array([[1, 2], [2, 0]])
    totals = np.zeros(2)
    for path in itertools.product(range(3), repeat=4):
        collapsed = [c for c, _ in itertools.groupby(path) if c]
        for k in range(2):
            if collapsed == [c for c in labels[k] if c]:
                totals[k] += np.prod([p[k, t, c] for t, c in enumerate(path)])
    np.testing.assert_allclose(losses.ctc(labels, logits), -np.log(totals), rtol=1e-5)
    np.testing.assert_allclose(losses.CTC()(labels, logits), -np.log(totals).mean(), rtol=1e-5)
    model = keras.Sequential([keras.Input((4, 3)), layers.Dense(3)])
    model.compile("sgd", losses.CTC())
    model.fit(logits, labels, verbose=0)
    for y_true, y_pred in ((labels[0], logits), (labels, logits[0])):
        with pytest.raises(ValueError, match="expected to be a tensor of shape"):
            losses.ctc(y_true, y_pred)
