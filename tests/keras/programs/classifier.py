"""A sequential model that classifies four clusters of points."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
centers = np.array([[2, 2], [-2, 2], [-2, -2], [2, -2]])
labels = rng.integers(0, 4, 600)
points = (centers[labels] + 0.7 * rng.normal(size=(600, 2))).astype("float32")
x_train, x_test = points[:480], points[480:]
y_train, y_test = labels[:480], labels[480:]

model = keras.Sequential(
    [
        keras.Input(shape=(2,)),
        layers.Dense(32, activation="relu"),
        layers.Dropout(0.1),
        layers.Dense(16, activation="relu", kernel_regularizer=keras.regularizers.L2(1e-4)),
        layers.Dense(4),
    ]
)
model.summary()
assert model.count_params() == 2 * 32 + 32 + 32 * 16 + 16 + 16 * 4 + 4

model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=0.01),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = model.fit(
    x_train,
    y_train,
    batch_size=32,
    epochs=12,
    validation_split=0.1,
    verbose=2,
    callbacks=[keras.callbacks.EarlyStopping(monitor="val_loss", patience=8)],
)
assert set(history.history) == {"loss", "accuracy", "val_loss", "val_accuracy"}
assert history.history["loss"][-1] < 0.35 < history.history["loss"][0]

loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
assert accuracy > 0.9

probabilities = tf.nn.softmax(model.predict(x_test, verbose=0)).numpy()
assert probabilities.shape == (120, 4)
np.testing.assert_allclose(probabilities.sum(1), 1.0, rtol=1e-5)
np.testing.assert_allclose(np.mean(probabilities.argmax(1) == y_test), accuracy, rtol=1e-5)
