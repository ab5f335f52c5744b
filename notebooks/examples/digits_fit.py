"""Train a classifier of digits on several ranks with `Model.fit`.

    python -m numtape launch -n 4 digits_fit.py [checkpoint.keras]

With a file, the root saves the model after each epoch, and training continues from the file if it
exists, also with another number of ranks.
"""

import os
import sys

import numtape as tf
from numtape.datasets import load_digits

EPOCHS, BATCH_SIZE = 10, 64
hvd = tf.distribute
hvd.init()

images, labels = load_digits()
x, y = images.reshape(-1, 64) / 16.0, labels
path = sys.argv[1] if len(sys.argv) > 1 else ""

if path and os.path.exists(path):
    model = tf.keras.models.load_model(path)
    hvd.DistributedOptimizer(model.optimizer)
    steps_per_epoch = -(-1500 // BATCH_SIZE)
    first_epoch = int(model.optimizer.iterations.numpy()) // steps_per_epoch
else:
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((64,)),
            tf.keras.layers.Dense(32, activation="relu"),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.002))
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    first_epoch = 0

# Each rank takes its rows of every batch. The order of the rows depends on the seed and the epoch.
train = hvd.shard((x[:1500], y[:1500]), BATCH_SIZE, shuffle=True, seed=1, initial_epoch=first_epoch)
savers = [tf.keras.callbacks.ModelCheckpoint(path)] if path else []
history = model.fit(
    train,
    initial_epoch=first_epoch,
    epochs=EPOCHS,
    verbose=0,
    callbacks=[hvd.Callback(root_callbacks=savers)],
)
if hvd.rank() == 0:
    for epoch, loss in zip(history.epoch, history.history["loss"], strict=True):
        print(f"epoch {epoch}  loss {loss:.5f}")
    accuracy = model.evaluate(x[1500:], y[1500:], verbose=0)[1]
    print(f"accuracy on new digits: {accuracy:.2f}, on {hvd.size()} ranks")
