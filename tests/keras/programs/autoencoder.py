"""An autoencoder that compresses curves of two parameters to two numbers."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, losses
from tensorflow.keras.models import Model


class Autoencoder(Model):
    def __init__(self, latent_dim, shape):
        super().__init__()
        self.latent_dim = latent_dim
        self.shape = shape
        self.encoder = tf.keras.Sequential(
            [
                layers.Flatten(),
                layers.Dense(32, activation="tanh"),
                layers.Dense(latent_dim),
            ]
        )
        self.decoder = tf.keras.Sequential(
            [
                layers.Dense(32, activation="tanh"),
                layers.Dense(shape[0] * shape[1]),
                layers.Reshape(shape),
            ]
        )

    def call(self, x):
        encoded = self.encoder(x)
        decoded = self.decoder(encoded)
        return decoded


tf.keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
grid = np.linspace(0, 1, 16)
a, b = rng.uniform(-1, 1, (2, 400, 1))
curves = (a * np.sin(2 * np.pi * grid) + b * grid).astype("float32").reshape(400, 4, 4)
x_train, x_test = curves[:320], curves[320:]

autoencoder = Autoencoder(2, x_test.shape[1:])
autoencoder.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss=losses.MeanSquaredError())
history = autoencoder.fit(
    x_train,
    x_train,
    epochs=25,
    batch_size=32,
    shuffle=True,
    validation_data=(x_test, x_test),
    verbose=0,
)
assert history.history["val_loss"][-1] < 0.01 < history.history["val_loss"][0]

encoded = autoencoder.encoder(x_test).numpy()
decoded = autoencoder.decoder(encoded).numpy()
assert encoded.shape == (80, 2)
assert decoded.shape == x_test.shape
each = losses.MeanSquaredError(reduction="none")
error = each(x_test.reshape(80, -1), decoded.reshape(80, -1))
assert float(tf.reduce_mean(error)) < 0.01
threshold = np.mean(error) + 5 * np.std(error)
strange = rng.normal(size=(10, 4, 4)).astype("float32")
lost = each(strange.reshape(10, -1), autoencoder.predict(strange, verbose=0).reshape(10, -1))
assert np.all(tf.math.greater(lost, threshold).numpy())
