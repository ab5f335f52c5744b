"""Trains a model with an embedding in three ways. The root prints losses, weights and their bits.

Arguments: a folder for checkpoints, the first epoch, and the number of epochs. A first epoch
above 0 continues from its checkpoint.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

import numtape as nt

FOLDER, FIRST, LAST = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
hvd = nt.distribute
hvd.init()
RNG = np.random.default_rng(0)
WORDS = RNG.integers(0, 50, (200, 6))
LABELS = (WORDS.sum(1) % 3).astype("int32")
LOSS = nt.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def model():
    nt.keras.backend.clear_session()
    nt.random.set_seed(2 + hvd.rank())  # the callback or `broadcast_variables` makes them equal
    layers = nt.keras.layers
    return nt.keras.Sequential(
        [
            layers.Input((6,), dtype="int32"),
            layers.Embedding(50, 8),
            layers.Flatten(),
            layers.Dense(16, activation="tanh"),
            layers.Dense(3),
        ]
    )


def data():
    return hvd.shard((WORDS, LABELS), 32, shuffle=True, seed=7, initial_epoch=FIRST)


def fit(path):
    network = model()
    network.compile(
        hvd.DistributedOptimizer(nt.keras.optimizers.Adam(0.02)), LOSS, metrics=["accuracy"]
    )
    saver = nt.keras.callbacks.ModelCheckpoint(f"{path}-{{epoch:02d}}.keras")
    if FIRST:
        network = nt.keras.models.load_model(f"{path}-{FIRST:02d}.keras")
        hvd.DistributedOptimizer(network.optimizer)
    history = network.fit(
        data(),
        epochs=LAST,
        initial_epoch=FIRST,
        verbose=0,
        callbacks=[hvd.Callback(root_callbacks=[saver])],
    )
    assert not any(function.paths().reasons for function in network._nt_functions.values()), (
        "fit is replayed"
    )
    return history.history["loss"] + history.history["accuracy"], network.get_weights()


def loop(recorded, **options):
    network = model()
    optimizer = nt.keras.optimizers.Adam(0.02)
    hvd.broadcast_variables(network.variables)

    def step(x, y):
        with nt.GradientTape() as tape:
            loss = LOSS(y, network(x))
        tape = hvd.DistributedGradientTape(tape, **options)
        variables = network.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return hvd.allreduce(loss)

    run = nt.function(step) if recorded else step
    batches = data()
    losses = [float(run(x, y)) for _ in range(LAST - FIRST) for x, y in batches]
    if recorded:
        assert not run.paths().reasons, run.paths()
    return losses, network.get_weights()


results = {"fit": fit(FOLDER / "fit")}
if not FIRST:
    results |= {
        "function": loop(True),
        "eager": loop(False),
        "small buckets": loop(True, bucket_bytes=256),
        "dense": loop(True, sparse_as_dense=True),
        "float16": loop(True, compression=hvd.Compression.fp16),
    }
printed = {}
for name, (losses, weights) in results.items():
    digest = hashlib.sha256(b"".join(w.tobytes() for w in weights)).digest()
    digests = hvd.allgather(np.frombuffer(digest, np.uint8)[None]).numpy()
    assert (digests == digests[0]).all(), f"{name}: the ranks have different weights"
    printed[name] = {"losses": losses, "sum": float(sum(np.abs(w).sum() for w in weights))}
    printed[name]["bits"] = digest.hex()
if hvd.rank() == 0:
    print(json.dumps(printed))
