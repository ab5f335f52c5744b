"""Training small networks on digits: seconds per epoch in numtape, Keras on TensorFlow, PyTorch.

``python -m benchmarks.training`` trains a dense and a convolutional network on four fifths of the
digits of `numtape.datasets`. Each library runs in its own process with the same number of threads.
The libraries take turns, epoch by epoch, so that background load affects all of them alike. The
first epoch, which compiles, is reported separately. Libraries that are not installed are skipped.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .convolution import digits

BATCH, EPOCHS, RATE, THREADS = 32, 30, 0.002, 2
NETWORKS = {"dense 64-64": "dense", "convolutional 16-32": "convolutional"}
LIBRARIES = {"numtape": "numtape", "Keras": "tensorflow", "PyTorch": "torch"}

Training = tuple[Callable[[], Any], Callable[[], float]]  # runs an epoch; returns the accuracy


def keras_training(library: str, network: str, threads: int) -> Training:
    """An epoch of `fit` in numtape or in TensorFlow's Keras, which run the same program."""
    tf: Any = importlib.import_module(library)
    if library == "tensorflow":  # numtape reads an environment variable
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    layers = tf.keras.layers
    x, y, test_x, test_y = digits()
    inputs = [tf.keras.Input((8, 8, 1))]
    hidden = {
        "dense": lambda: [layers.Flatten(), layers.Dense(64, "relu"), layers.Dense(64, "relu")],
        "convolutional": lambda: [
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
        ],
    }[network]()
    tf.keras.utils.set_random_seed(1998)
    model = tf.keras.Sequential([*inputs, *hidden, layers.Dense(10, "softmax")])
    model.compile(
        tf.keras.optimizers.Adam(RATE), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return (
        lambda: model.fit(x, y, batch_size=BATCH, verbose=0),
        lambda: float(model.evaluate(test_x, test_y, verbose=0)[1]),
    )


def torch_training(network: str, threads: int) -> Training:
    """An epoch of the usual training loop in PyTorch."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(threads)
    torch.manual_seed(1998)
    nn = torch.nn
    x, y, test_x, test_y = digits()
    x, test_x = (torch.tensor(a.transpose(0, 3, 1, 2).copy()) for a in (x, test_x))
    y, test_y = (torch.tensor(a.astype(np.int64)) for a in (y, test_y))
    model = {
        "dense": lambda: nn.Sequential(
            nn.Flatten(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        ),
        "convolutional": lambda: nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(128, 10),
        ),
    }[network]()
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    loss_of = nn.CrossEntropyLoss()

    def epoch() -> float:
        order = torch.randperm(len(x))
        total, right = 0.0, 0
        for k in range(0, len(x), BATCH):
            rows = order[k : k + BATCH]
            logits = model(x[rows])
            loss = loss_of(logits, y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
            right += int((logits.argmax(1) == y[rows]).sum())
        return total / len(x)

    def accuracy() -> float:
        with torch.no_grad():
            return float((model(test_x).argmax(1) == test_y).float().mean())

    return epoch, accuracy


def _serve(library: str, threads: int, pipe: Any) -> None:
    """Run an epoch of the network named on the pipe, or send its accuracy, until None arrives."""
    os.environ.update({"TF_CPP_MIN_LOG_LEVEL": "3", "NUMTAPE_NUM_THREADS": str(threads)})
    trainings: dict[str, Training] = {}
    while (asked := pipe.recv()) is not None:
        network, last = asked
        if network not in trainings:
            trainings[network] = (
                torch_training(network, threads)
                if library == "PyTorch"
                else keras_training(LIBRARIES[library], network, threads)
            )
        epoch, accuracy = trainings[network]
        if last:
            pipe.send(accuracy())
            continue
        wall, cpu = time.perf_counter(), time.process_time()
        epoch()
        pipe.send((time.perf_counter() - wall, time.process_time() - cpu))


def main() -> None:
    """Train, and print a table."""
    parser = argparse.ArgumentParser(description="Seconds per epoch of `fit` on digits.")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--threads", type=int, default=THREADS)
    chosen = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    pipes: dict[str, Any] = {}
    for library, package in LIBRARIES.items():
        if importlib.util.find_spec(package) is not None:
            pipes[library], other = context.Pipe()
            arguments = library, chosen.threads, other
            context.Process(target=_serve, args=arguments, daemon=True).start()
    print("| network | library | first epoch, s | later epoch, ms | CPU ms | total, s | held out |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for title, network in NETWORKS.items():
        times: dict[str, list[tuple[float, float]]] = {library: [] for library in pipes}
        for _ in range(chosen.epochs):
            for library, pipe in pipes.items():
                pipe.send((network, False))
                times[library].append(pipe.recv())
        for library, pipe in pipes.items():
            pipe.send((network, True))
            (first, _), *later = times[library]
            wall, cpu = (
                1e3 * statistics.median(t[k] for t in later or times[library]) for k in (0, 1)
            )
            total = sum(seconds for seconds, _ in times[library])
            print(
                f"| {title} | {library} | {first:.2f} | {wall:.1f} | {cpu:.1f} | {total:.1f} "
                f"| {pipe.recv():.1%} |",
                flush=True,
            )
    for pipe in pipes.values():
        pipe.send(None)


if __name__ == "__main__":
    main()
