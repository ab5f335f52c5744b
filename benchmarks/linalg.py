"""Matrix decompositions and solves with gradients, in numtape and PyTorch.

Run ``python -m benchmarks.linalg``. Both libraries run in this process, in turns, with their
default numbers of threads. The figures are medians over rounds of each round's lower quartile,
which reduces the effect of background load.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

ROWS = (10, 100, 500)
ROUNDS = 7
BUDGET = 0.3  # seconds per library and round


def _quarter(function: Callable[[], Any], count: int) -> float:
    times = []
    for _ in range(count):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.quantile(times, 0.25))


def cases(tf: Any, torch: Any, n: int) -> dict[str, tuple[Any, Any, list[Any]]]:
    """Maps each name to the numtape function, the PyTorch function and the operands."""
    random = np.random.default_rng(0)
    a = random.standard_normal((n, n)) + 2 * np.sqrt(n) * np.eye(n)
    s = a @ a.T / n + np.eye(n)
    b = random.standard_normal((n, 1))
    a, s, b = (x.astype("float32") for x in (a, s, b))
    return {
        "svd": (
            lambda x: sum(tf.reduce_sum(part**3) for part in tf.linalg.svd(x)),
            lambda x: sum((part**3).sum() for part in torch.linalg.svd(x, full_matrices=False)),
            [a],
        ),
        "cholesky": (
            lambda x: tf.reduce_sum(tf.linalg.cholesky(x) ** 2),
            lambda x: (torch.linalg.cholesky(x) ** 2).sum(),
            [s],
        ),
        "solve": (
            lambda x, y: tf.reduce_sum(tf.linalg.solve(x, y) ** 2),
            lambda x, y: (torch.linalg.solve(x, y) ** 2).sum(),
            [a, b],
        ),
    }


def compare(tf: Any, torch: Any, own: Any, reference: Any, operands: list[Any]) -> list[float]:
    """Seconds for value and gradients: numtape eager, numtape replayed, PyTorch."""
    xs = [tf.constant(x) for x in operands]
    leaves = [torch.tensor(x, requires_grad=True) for x in operands]

    def gradients(*arguments: Any) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            y = own(*arguments)
        result: list[Any] = tape.gradient(y, list(arguments))
        return result

    replayed = tf.function(gradients)

    def eager() -> None:
        for g in gradients(*xs):
            g.numpy()

    def replay() -> None:
        for g in replayed(*xs):
            g.numpy()

    def peer() -> None:
        torch.autograd.grad(reference(*leaves), leaves)

    sides = (eager, replay, peer)
    for side in sides:
        for _ in range(3):
            side()
    counts = [max(3, min(200, int(BUDGET / max(1e-6, _quarter(side, 3))))) for side in sides]
    rounds = [
        [_quarter(side, count) for side, count in zip(sides, counts, strict=True)]
        for _ in range(ROUNDS)
    ]
    return [float(x) for x in np.median(rounds, 0)]


def main() -> None:
    """Prints the table."""
    import torch

    import numtape as tf

    print("| case | rows | numtape | nt.function | PyTorch | ratio | replayed |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for n in ROWS:
        for name, (own, reference, operands) in cases(tf, torch, n).items():
            eager, replay, peer = compare(tf, torch, own, reference, operands)
            print(
                f"| {name} | {n} | {eager * 1e6:.0f} µs | {replay * 1e6:.0f} µs | "
                f"{peer * 1e6:.0f} µs | {eager / peer:.2f} | {replay / peer:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
