"""A program with the same output on each device."""

import numpy as np

import numtape as tf

x = tf.constant(np.linspace(-1.0, 1.0, 40).reshape(10, 4))
w = tf.Variable(np.linspace(0.1, 1.2, 12).reshape(4, 3))
b = tf.Variable(tf.zeros(3, tf.float64))
optimizer = tf.keras.optimizers.Adam(0.1)


def loss():
    return tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w) + b) - 0.5))


@tf.function
def step(rate):
    with tf.GradientTape() as tape:
        value = loss() * rate
    gradients = tape.gradient(value, [w, b])
    if value > 0.2:
        gradients = [tf.clip_by_value(g, -0.05, 0.05) for g in gradients]
    optimizer.apply_gradients(zip(gradients, [w, b], strict=True))
    return value, tf.reduce_max(w, axis=0)


for k in range(6):
    value, largest = step(tf.constant(1.0 + k % 2, tf.float64))
    print(f"{float(value):.6f}", np.round(largest.numpy(), 6).tolist())

with tf.GradientTape() as outer:
    with tf.GradientTape() as inner:
        value = loss()
    slope = inner.gradient(value, w)
    size = tf.reduce_sum(slope * slope)
print(np.round(outer.gradient(size, w).numpy(), 6).tolist())

tf.random.set_seed(3)
paths = tf.cumsum(tf.random.normal((7, 30), dtype=tf.float64), axis=1)
print(f"{float(tf.reduce_sum(tf.nn.relu(paths[:, -1] - 0.5))):.6f}")
print(np.round(tf.transpose(paths[:, :3]).numpy(), 6).tolist())
print(np.round(tf.nn.softmax(paths[:2, :4]).numpy(), 6).tolist())
print(np.round(tf.gather(paths, [2, 0], axis=0).numpy()[:, 1], 6).tolist())
