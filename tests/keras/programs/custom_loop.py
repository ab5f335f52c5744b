"""A custom training loop: a replayed step, metrics, batches, early access to gradients."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
images = rng.normal(size=(512, 8, 8)).astype("float32")
labels = (images[:, :4].sum((1, 2)) > images[:, 4:].sum((1, 2))).astype("int32")
train = tf.data.Dataset.from_tensor_slices((images[:448], labels[:448]))
train = train.shuffle(buffer_size=448).batch(32)
test = tf.data.Dataset.from_tensor_slices((images[448:], labels[448:])).batch(32)

inputs = keras.Input(shape=(8, 8), name="images")
x = keras.layers.Flatten()(inputs)
x = keras.layers.Dense(32, activation="relu")(x)
outputs = keras.layers.Dense(2, name="logits")(x)
model = keras.Model(inputs=inputs, outputs=outputs)

optimizer = keras.optimizers.Adam(learning_rate=5e-3)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_accuracy = keras.metrics.SparseCategoricalAccuracy()
test_accuracy = keras.metrics.SparseCategoricalAccuracy()
mean_loss = keras.metrics.Mean(name="loss")


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = loss_fn(y, logits)
        loss += sum(model.losses)
    grads = tape.gradient(loss, model.trainable_weights)
    optimizer.apply_gradients(zip(grads, model.trainable_weights, strict=True))
    train_accuracy.update_state(y, logits)
    mean_loss.update_state(loss)
    return loss


@tf.function
def test_step(x, y):
    test_accuracy.update_state(y, model(x, training=False))


losses = []
for _epoch in range(8):
    for _step, (x_batch, y_batch) in enumerate(train):
        train_step(x_batch, y_batch)
    losses.append(float(mean_loss.result()))
    accuracy = float(train_accuracy.result())
    train_accuracy.reset_state()
    mean_loss.reset_state()

for x_batch, y_batch in test:
    test_step(x_batch, y_batch)
assert losses[-1] < 0.2 < losses[0]
assert accuracy > 0.95
assert float(test_accuracy.result()) > 0.8
assert int(optimizer.iterations.numpy()) == 8 * 14
