"""Train a classifier of digits on several ranks with a training loop.

python -m numtape launch -n 4 digits_tape.py
"""

import numpy as np

import numtape as tf
from numtape.datasets import load_digits

hvd = tf.distribute
hvd.init()

images, labels = load_digits()
x, y = (images.reshape(-1, 64) / 16.0).astype("float32"), labels
rng = np.random.default_rng(1)
w1 = tf.Variable(rng.normal(size=(64, 32)).astype("float32") * 0.1, name="w1")
w2 = tf.Variable(rng.normal(size=(32, 10)).astype("float32") * 0.1, name="w2")
variables = [w1, w2]
hvd.broadcast_variables(variables)  # equal already, as all ranks use one seed


@tf.function
def step(x, y):
    """Compute the loss on this rank's rows, and move along the gradient of all ranks."""
    with tf.GradientTape() as tape:
        logits = tf.nn.relu(x @ w1) @ w2
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
        loss = tf.reduce_mean(losses)
    tape = hvd.DistributedGradientTape(tape)  # averages the gradients over the ranks
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        variable.assign_sub(0.5 * gradient)
    return hvd.allreduce(loss)


batches = hvd.shard((x[:1500], y[:1500]), 100, shuffle=True, seed=1)
for epoch in range(10):
    losses = [float(step(*batch)) for batch in batches]
    if hvd.rank() == 0:
        print(f"epoch {epoch}  loss {np.mean(losses):.5f}")
correct = np.argmax(tf.nn.relu(x[1500:] @ w1) @ w2, 1) == y[1500:]
if hvd.rank() == 0:
    print(f"accuracy on new digits: {correct.mean():.2f}, on {hvd.size()} ranks")
