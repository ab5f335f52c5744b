"""Accuracy of a small convolutional network on digits, and its step time against PyTorch.

``python -m benchmarks.convolution`` trains the network on four fifths of the digits of
`numtape.datasets`, and prints its accuracy on the rest and the training time. It then times a
step of the same network in numtape (eager and replayed) and, if installed, in PyTorch. The
libraries alternate and use the same number of threads.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

BATCH, EPOCHS, ROUNDS, STEPS = 64, 30, 15, 20


def digits() -> tuple[Any, ...]:
    """Training images and classes, then the held-out ones."""
    from numtape.datasets import load_digits

    images, labels = load_digits()
    order = np.random.default_rng(1998).permutation(len(images))
    x = (images[order, :, :, None] / 16).astype(np.float32)
    y = labels[order].astype(np.int32)
    many = len(x) // 5
    return x[many:], y[many:], x[:many], y[:many]


def weights() -> list[Any]:
    """Initial weights: two convolutional layers and one dense output layer."""
    random = np.random.default_rng(0)
    shapes = [(3, 3, 1, 16), (3, 3, 16, 32), (128, 10)]
    weights = []
    for shape in shapes:
        size = np.sqrt(2 / np.prod(shape[:-1]))
        weights += [
            (random.normal(size=shape) * size).astype(np.float32),
            np.zeros(shape[-1], np.float32),
        ]
    return weights


def network(tf: Any) -> tuple[list[Any], Callable[..., Any], Callable[..., Any]]:
    """The network's variables, its forward function and a training step."""
    variables = [tf.Variable(w) for w in weights()]
    optimizer = tf.keras.optimizers.Adam(0.003)

    def read(x: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = variables
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w1, 1, "SAME"), b1))
        x = tf.nn.max_pool(x, 2, 2, "SAME")
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w2, 1, "SAME"), b2))
        x = tf.nn.max_pool(x, 2, 2, "SAME")
        return tf.reshape(x, (-1, 128)) @ w3 + b3

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, read(x))
            loss = tf.reduce_mean(losses)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return variables, read, step


def train(tf: Any) -> tuple[float, float]:
    """Accuracy on the held-out digits, and the seconds of training."""
    x, y, test_x, test_y = digits()
    _, read, step = network(tf)
    step = tf.function(step)
    random = np.random.default_rng(0)
    begin = time.perf_counter()
    for _ in range(EPOCHS):
        order = random.permutation(len(x))
        for k in range(0, len(x) - BATCH + 1, BATCH):
            rows = order[k : k + BATCH]
            step(tf.constant(x[rows]), tf.constant(y[rows]))
    result = np.argmax(read(tf.constant(test_x)).numpy(), 1)
    return float((result == test_y).mean()), time.perf_counter() - begin


def torch_step(threads: int) -> Callable[[], Any]:
    """A step of the same network in PyTorch."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(threads)
    functional = torch.nn.functional
    w1, b1, w2, b2, w3, b3 = (
        torch.tensor(w.transpose(3, 2, 0, 1).copy() if w.ndim == 4 else w, requires_grad=True)
        for w in weights()
    )
    optimizer = torch.optim.Adam([w1, b1, w2, b2, w3, b3], 0.003)
    x, y, *_ = digits()
    x = torch.tensor(x[:BATCH].transpose(0, 3, 1, 2).copy())
    y = torch.tensor(y[:BATCH].astype(np.int64))

    def step() -> Any:
        optimizer.zero_grad()
        z = functional.max_pool2d(functional.relu(functional.conv2d(x, w1, b1, padding=1)), 2)
        z = functional.max_pool2d(functional.relu(functional.conv2d(z, w2, b2, padding=1)), 2)
        loss = functional.cross_entropy(z.reshape(BATCH, 128) @ w3 + b3, y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def time_calls(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Median seconds per call over rounds in which the calls alternate."""
    for call in calls.values():
        for _ in range(STEPS):
            call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begin = time.perf_counter()
            for _ in range(STEPS):
                call()
            times[name].append((time.perf_counter() - begin) / STEPS)
    return {name: statistics.median(value) for name, value in times.items()}


def main() -> None:
    """Train the network, then time its step."""
    import numtape as tf

    accuracy, seconds = train(tf)
    print(f"{accuracy:.2%} of held-out digits after {seconds:.1f} s")
    x, y, *_ = digits()
    batch = tf.constant(x[:BATCH]), tf.constant(y[:BATCH])
    step, replayed = network(tf)[2], tf.function(network(tf)[2])
    calls: dict[str, Callable[[], Any]] = {
        "numtape": lambda: float(step(*batch)),
        "nt.function": lambda: float(replayed(*batch)),
    }
    if importlib.util.find_spec("torch"):
        calls["PyTorch"] = torch_step(os.cpu_count() or 1)
    for name, value in time_calls(calls).items():
        print(f"{name}: {value * 1e6:.0f} µs per step of {BATCH} images")


if __name__ == "__main__":
    main()
