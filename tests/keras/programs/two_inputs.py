"""A functional model with two inputs, one of them padded sequences, and two outputs."""

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)
lengths = rng.integers(3, 9, 256)
words = np.zeros((256, 8), "int32")
for row, length in zip(words, lengths, strict=True):
    row[:length] = rng.integers(1, 10, length)
numbers = rng.normal(size=(256, 3)).astype("float32")
has_nine = (words == 9).any(1).astype("float32")[:, None]
total = numbers.sum(1, keepdims=True) + 0.5 * has_nine

word_input = keras.Input(shape=(None,), dtype="int32", name="words")
number_input = keras.Input(shape=(3,), name="numbers")
x = layers.Embedding(10, 8, mask_zero=True)(word_input)
x = layers.Bidirectional(layers.GRU(8))(x)
both = layers.Concatenate()([x, layers.Dense(8, activation="relu")(number_input)])
found = layers.Dense(1, activation="sigmoid", name="found")(x)
amount = layers.Dense(1, name="amount")(both)
model = keras.Model(inputs=[word_input, number_input], outputs={"found": found, "amount": amount})

model.compile(
    optimizer=keras.optimizers.Adam(0.02),
    loss={"found": keras.losses.BinaryCrossentropy(), "amount": "mse"},
    loss_weights={"found": 1.0, "amount": 0.5},
    metrics={"found": ["accuracy"]},
)
history = model.fit(
    {"words": words, "numbers": numbers},
    {"found": has_nine, "amount": total},
    epochs=12,
    batch_size=32,
    verbose=0,
)
assert history.history["loss"][-1] < 0.35 * history.history["loss"][0]
assert history.history["found_accuracy"][-1] > 0.9

# Values after the end of a sequence have no effect.
longer = np.concatenate([words, np.zeros((256, 4), "int32")], 1)
one = model({"words": words, "numbers": numbers})
other = model({"words": longer, "numbers": numbers})
for name in ("found", "amount"):
    np.testing.assert_allclose(other[name].numpy(), one[name].numpy(), rtol=1e-4, atol=1e-5)
