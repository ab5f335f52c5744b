"""A subclassed model with a custom layer that learns a curve."""

import numpy as np
import tensorflow as tf
from tensorflow import keras


class Bend(keras.layers.Layer):
    """A custom dense layer."""

    def __init__(self, units=8, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(
            shape=(input_shape[-1], self.units), initializer="he_normal", trainable=True
        )
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", trainable=True)

    def call(self, inputs):
        return tf.nn.relu(tf.matmul(inputs, self.w) + self.b)

    def get_config(self):
        config = super().get_config()
        config.update({"units": self.units})
        return config


class Curve(keras.Model):
    """Two `Bend` layers, a normalization, and a linear layer."""

    def __init__(self, units=32):
        super().__init__()
        self.first = Bend(units)
        self.second = Bend(units)
        self.norm = keras.layers.BatchNormalization(momentum=0.8)
        self.dropout = keras.layers.Dropout(0.05)
        self.out = keras.layers.Dense(1)

    def call(self, inputs, training=False):
        x = self.first(inputs)
        x = self.norm(x, training=training)
        x = self.second(x)
        if training:
            x = self.dropout(x, training=training)
        return self.out(x)


keras.utils.set_random_seed(2)
x = np.linspace(-3, 3, 256, dtype="float32")[:, None]
y = np.sin(2 * x) + 0.1 * x

model = Curve()
model.compile(optimizer="adam", loss="mse", metrics=["mae"])
model.optimizer.learning_rate = 0.01
history = model.fit(x, y, batch_size=32, epochs=40, verbose=0)
assert history.history["loss"][-1] < 0.3 * history.history["loss"][0]
assert model.evaluate(x, y, verbose=0)[0] < 0.15

names = [w.name for w in model.first.trainable_weights]
assert len(names) == 2
assert len(model.trainable_weights) == 8
assert len(model.non_trainable_weights) == 2
again = Bend.from_config(model.first.get_config())
assert again.units == 32
weights = model.get_weights()
copy = Curve()
copy(x[:1])
copy.set_weights(weights)
np.testing.assert_allclose(copy(x).numpy(), model(x).numpy(), rtol=1e-5, atol=1e-6)
