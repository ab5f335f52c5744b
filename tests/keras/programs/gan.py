"""A generative adversarial network with a custom train step, which generates points."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)
points = (np.array([2.0, -1.0]) + 0.3 * rng.normal(size=(512, 2))).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices(points).shuffle(512).batch(64)
latent_dim = 4

discriminator = keras.Sequential(
    [
        keras.Input(shape=(2,)),
        layers.Dense(32),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Dense(1),
    ],
    name="discriminator",
)
generator = keras.Sequential(
    [
        keras.Input(shape=(latent_dim,)),
        layers.Dense(16),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Dense(2),
    ],
    name="generator",
)


class GAN(keras.Model):
    def __init__(self, discriminator, generator, latent_dim):
        super().__init__()
        self.discriminator = discriminator
        self.generator = generator
        self.latent_dim = latent_dim
        self.d_loss_tracker = keras.metrics.Mean(name="d_loss")
        self.g_loss_tracker = keras.metrics.Mean(name="g_loss")

    @property
    def metrics(self):
        return [self.d_loss_tracker, self.g_loss_tracker]

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer = d_optimizer
        self.g_optimizer = g_optimizer
        self.loss_fn = loss_fn

    def train_step(self, real):
        batch_size = tf.shape(real)[0]
        noise = tf.random.normal(shape=(batch_size, self.latent_dim))
        generated = self.generator(noise)
        combined = tf.concat([generated, real], axis=0)
        labels = tf.concat([tf.ones((batch_size, 1)), tf.zeros((batch_size, 1))], axis=0)
        labels += 0.05 * tf.random.uniform(tf.shape(labels))

        with tf.GradientTape() as tape:
            predictions = self.discriminator(combined)
            d_loss = self.loss_fn(labels, predictions)
        weights = self.discriminator.trainable_weights
        grads = tape.gradient(d_loss, weights)
        self.d_optimizer.apply_gradients(zip(grads, weights, strict=True))

        noise = tf.random.normal(shape=(batch_size, self.latent_dim))
        misleading = tf.zeros((batch_size, 1))
        with tf.GradientTape() as tape:
            predictions = self.discriminator(self.generator(noise))
            g_loss = self.loss_fn(misleading, predictions)
        weights = self.generator.trainable_weights
        grads = tape.gradient(g_loss, weights)
        self.g_optimizer.apply_gradients(zip(grads, weights, strict=True))

        self.d_loss_tracker.update_state(d_loss)
        self.g_loss_tracker.update_state(g_loss)
        return {"d_loss": self.d_loss_tracker.result(), "g_loss": self.g_loss_tracker.result()}


gan = GAN(discriminator=discriminator, generator=generator, latent_dim=latent_dim)
gan.compile(
    d_optimizer=keras.optimizers.Adam(learning_rate=0.005, beta_1=0.5),
    g_optimizer=keras.optimizers.Adam(learning_rate=0.005, beta_1=0.5),
    loss_fn=keras.losses.BinaryCrossentropy(from_logits=True),
)
noise = tf.random.normal(shape=(500, latent_dim))
before = generator(noise).numpy().mean(0)
history = gan.fit(dataset, epochs=30, verbose=0)
assert set(history.history) == {"d_loss", "g_loss"}
after = generator(noise).numpy().mean(0)
wanted = np.array([2.0, -1.0])
assert np.abs(after - wanted).max() < 0.7
assert np.linalg.norm(after - wanted) < 0.5 * np.linalg.norm(before - wanted)
assert int(gan.g_optimizer.iterations.numpy()) == 30 * 8
