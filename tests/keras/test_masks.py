"""Masks in functional models: from `Embedding` and `Masking` to cells, pooling, losses, metrics.

NumPy computes the expected values. The tests also run on TensorFlow (``--against tensorflow``).
"""

import numpy as np
import pytest

WORDS = np.array([[1, 2, 0, 0], [3, 0, 0, 0], [1, 2, 3, 4], [4, 3, 2, 0]], "int32")
THERE = WORDS != 0
TABLE = np.random.default_rng(2).normal(size=(5, 3)).astype(np.float32)
OTHER = np.random.default_rng(4).normal(size=(4, 4, 3)).astype(np.float32)
OTHER[1, 2:] = OTHER[3, 0] = 0.0
ROWS = TABLE[WORDS]


def same(found, wanted):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), 1e-5, 1e-5)


def begun(tf, kind="Embedding"):
    """An input, the output of a layer that creates masks, and an array of input values."""
    if kind == "Masking":
        inputs = tf.keras.Input((4, 3))
        return inputs, tf.keras.layers.Masking()(inputs), np.where(THERE[..., None], ROWS, 0)
    inputs = tf.keras.Input((4,), dtype="int32")
    layer = tf.keras.layers.Embedding(5, 3, mask_zero=True)
    found = layer(inputs)
    layer.set_weights([TABLE])
    return inputs, found, WORDS


@pytest.mark.parametrize("kind", ["Embedding", "Masking"])
@pytest.mark.parametrize("cell", ["LSTM", "GRU", "SimpleRNN"])
def test_cells_leave_masked_steps_out(tf, kind, cell):
    layers = tf.keras.layers
    inputs, hidden, data = begun(tf, kind)
    last = getattr(layers, cell)(2)
    middle = layers.Dropout(0.5)(layers.LayerNormalization(gamma_initializer="ones")(hidden))
    model = tf.keras.Model(inputs, last(layers.Dense(3, kernel_initializer="ones")(middle)))
    before = tf.keras.Model(inputs, middle)
    steps = np.asarray(before(tf.constant(data))).sum(-1, keepdims=True) * np.ones(3, np.float32)
    found = np.asarray(model(tf.constant(data)))
    for k, count in enumerate(THERE.sum(1)):
        same(found[k : k + 1], last(tf.constant(steps[k : k + 1, :count])))


def test_pooling_losses_and_metrics_count_what_is_there(tf):
    layers = tf.keras.layers
    inputs, hidden, data = begun(tf)
    pooled = layers.GlobalAveragePooling1D()(layers.Activation("tanh")(hidden))
    count = THERE.sum(1, keepdims=True)
    wanted = (np.tanh(ROWS) * THERE[..., None]).sum(1) / count
    same(tf.keras.Model(inputs, pooled)(tf.constant(data)), wanted)

    model = tf.keras.Model(inputs, layers.Activation("tanh")(hidden))
    model.compile("sgd", "mse", metrics=["mae"], weighted_metrics=["mse"])
    squares, sizes = np.tanh(ROWS) ** 2, np.abs(np.tanh(ROWS))
    zeros = np.zeros((4, 4, 3), np.float32)
    mean = (squares.mean(-1) * THERE).sum() / THERE.sum()
    absolute = (sizes.mean(-1) * THERE).sum() / THERE.sum()
    found = model.evaluate(data, zeros, verbose=0, return_dict=True)
    same([found["loss"], found["mae"], found["mse"]], [mean, absolute, mean])
    history = model.fit(data, zeros, epochs=1, verbose=0).history  # in a replayed step
    same([history["loss"][0], history["mae"][0]], [mean, absolute])


def merged(kind, x, y, mask, other):
    """The output of a merging layer by definition, without masked inputs."""
    if kind == "Multiply":
        product = np.where(mask, x, 1) * (y if other is None else np.where(other, y, 1))
        return product if other is None else np.where(mask | other, product, 0)
    extreme = np.maximum if kind == "Maximum" else np.minimum
    if other is not None:
        y = np.where(other, y, x)
    return extreme(np.where(mask, x, y), y)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("kind", ["Multiply", "Maximum", "Minimum"])
def test_merging_leaves_masked_steps_out(tf, kind, both):
    inputs, hidden, data = begun(tf)
    second = tf.keras.Input((4, 3))
    other = tf.keras.layers.Masking()(second) if both else second
    found = getattr(tf.keras.layers, kind)()([hidden, other])
    model = tf.keras.Model([inputs, second], found)
    there = np.any(OTHER != 0, -1, keepdims=True) if both else None
    wanted = merged(kind, ROWS, OTHER, THERE[..., None], there)
    same(model([tf.constant(data), tf.constant(OTHER)]), wanted)


def test_own_layers_pass_masks_on(tf):
    class Every(tf.keras.layers.Layer):
        """A layer that keeps every second step and its mask."""

        def call(self, x):
            return x[:, ::2]

        def compute_mask(self, x, mask=None):
            return None if mask is None else mask[:, ::2]

    class Known(tf.keras.layers.Layer):
        """A layer that receives the mask and passes it on."""

        def __init__(self):
            super().__init__()
            self.supports_masking = True

        def call(self, x, mask=None):
            return x * tf.cast(mask, "float32")[:, :, None]

    inputs, hidden, data = begun(tf)
    pooled = tf.keras.layers.GlobalAveragePooling1D()(Known()(Every()(hidden)))
    there = THERE[:, ::2, None]
    wanted = (ROWS[:, ::2] * there).sum(1) / there.sum(1)
    same(tf.keras.Model(inputs, pooled)(tf.constant(data)), wanted)


def test_attention_takes_masks_in_silence(tf, recwarn):
    inputs, hidden, data = begun(tf)
    attention = tf.keras.layers.MultiHeadAttention(1, 3, use_bias=False)
    model = tf.keras.Model(inputs, attention(hidden, hidden))
    model.set_weights([TABLE, *(np.reshape(np.eye(3), w.shape) for w in attention.weights)])
    weights = np.where(THERE[:, None], np.exp(ROWS @ np.swapaxes(ROWS, 1, 2) / 3**0.5), 0.0)
    wanted = weights / weights.sum(-1, keepdims=True) @ ROWS
    same(np.asarray(model(tf.constant(data)))[THERE], wanted[THERE])
    assert not [str(said.message) for said in recwarn if "mask" in str(said.message)]


@pytest.mark.parametrize("kind", ["Attention", "AdditiveAttention", "MultiHeadAttention"])
def test_attention_in_a_model_gives_its_weights(tf, kind):
    x = tf.keras.Input((4, 3))
    layer = getattr(tf.keras.layers, kind)(*(2, 3) * (kind == "MultiHeadAttention"))
    args = (x, x) if kind == "MultiHeadAttention" else ([x, x],)
    found, weights = layer(*args, return_attention_scores=True)
    heads = (2,) * (kind == "MultiHeadAttention")
    assert tuple(found.shape) == (None, 4, 3) and tuple(weights.shape) == (None, *heads, 4, 4)
    _, weights = tf.keras.Model(x, [found, weights])(tf.constant(OTHER))
    same(np.asarray(weights).sum(-1), np.ones((4, *heads, 4)))


def test_layers_say_what_becomes_of_masks(tf):
    layers = tf.keras.layers
    kinds = {
        "Dropout": (0.1,),
        "Activation": ("relu",),
        "Masking": (),
        "Add": (),
        "GlobalAveragePooling1D": (),
        "BatchNormalization": (),
    }
    assert all(getattr(layers, name)(*args).supports_masking for name, args in kinds.items())
    kinds = {"Flatten": (), "Conv1D": (2, 2), "Reshape": ((2,),), "GlobalMaxPooling1D": ()}
    found = [name for name, args in kinds.items() if getattr(layers, name)(*args).supports_masking]
    assert not found
    mask = layers.Embedding(5, 3, mask_zero=True).compute_mask(tf.constant(WORDS))
    assert np.array_equal(np.asarray(mask), THERE)
    mask = tf.constant(THERE)
    assert layers.LSTM(2).compute_mask(tf.zeros((4, 4, 3)), mask) is None
    kept = layers.LSTM(2, return_sequences=True).compute_mask(tf.zeros((4, 4, 3)), mask)
    assert np.array_equal(np.asarray(kept), THERE)
