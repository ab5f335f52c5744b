"""What is measured: the cases with their inputs, goals and expected results.

Nothing here knows a library. Inputs are NumPy arrays from fixed seeds, so that every library
starts from the same numbers, and each kind of input states what one step must give, in plain
float64 NumPy, so that every library is known to do the same work.

A new case of a known kind is one entry in ``CASES``; a new kind of input is one class here and
one builder in each module of ``libs``.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

BEST_PEER = "best peer"


@dataclass(frozen=True)
class Limit:
    """At most ``at_most`` times another column's figure, or, without ``of``, the figure itself."""

    at_most: float
    of: str | None = None


class Data(Protocol):
    """The inputs of one case."""

    def for_check(self) -> Data:
        """Gives the inputs for the one step that is compared with ``expected``."""

    def expected(self) -> list[Array]:
        """Gives what one step must give, computed in float64."""

    def observed(self, result: object, weights: list[Array]) -> list[Array]:
        """Gives the same from what a step returned and the weights it left."""


@dataclass(frozen=True, eq=False)
class Chain:
    """``y = sin(y) * x``, ``length`` times from ``y = x``; the step gives dy/dx as a float."""

    x: np.float32
    length: int

    def for_check(self) -> Chain:
        """A chain keeps no state: the step itself is compared."""
        return self

    def expected(self) -> list[Array]:
        """Value and slope carried forward together."""
        x = float(self.x)
        y, slope = x, 1.0
        for _ in range(self.length):
            y, slope = math.sin(y) * x, math.cos(y) * slope * x + math.sin(y)
        return [np.asarray(slope)]

    def observed(self, result: object, weights: list[Array]) -> list[Array]:
        """The slope is all there is."""
        return [np.asarray(result)]


@dataclass(frozen=True, eq=False)
class Network:
    """One step of gradient descent of a dense network; the step gives the loss as a float.

    ``weights`` are kernel (inputs, outputs) and bias (outputs,) of each layer in turn;
    ``activation`` stands between the layers, and none after the last. The target is (batch,
    outputs) for the mean squared error and (batch,) class numbers for the cross-entropy.
    """

    weights: list[Array]
    x: Array
    target: Array
    activation: Literal["tanh", "relu"]
    loss: Literal["mean_squared_error", "cross_entropy"]
    learning_rate: float

    def for_check(self) -> Network:
        """With a rate of 1 the update shows the gradient, not the rounding of the weights."""
        return dataclasses.replace(self, learning_rate=1.0)

    def expected(self) -> list[Array]:
        """The loss and its gradients by hand, in the order of ``weights``."""
        kernels, biases = (
            [w.astype(np.float64) for w in self.weights[first::2]] for first in (0, 1)
        )
        values = [self.x.astype(np.float64)]
        for k, b in zip(kernels, biases, strict=True):
            z = values[-1] @ k + b
            last = len(values) == len(kernels)
            values.append(z if last else np.tanh(z) if self.activation == "tanh" else z * (z > 0))
        out = values.pop()
        if self.loss == "mean_squared_error":
            error = out - self.target
            loss, g = np.mean(error**2), 2 * error / error.size
        else:
            hit = np.arange(len(out)), self.target
            out -= out.max(axis=1, keepdims=True)
            g = np.exp(out) / np.exp(out).sum(axis=1, keepdims=True)
            loss = -np.mean(np.log(g[hit]))
            g[hit] -= 1
            g /= len(out)
        gradients: list[Array] = []
        for k, value in zip(reversed(kernels), reversed(values), strict=True):
            gradients = [value.T @ g, g.sum(axis=0), *gradients]
            g = g @ k.T * (1 - value**2 if self.activation == "tanh" else value > 0)
        return [np.asarray(loss), *gradients]

    def observed(self, result: object, weights: list[Array]) -> list[Array]:
        """The loss, and the gradients as the step's updates show them."""
        updates = zip(self.weights, weights, strict=True)
        return [np.asarray(result), *((old - new) / self.learning_rate for old, new in updates)]


def relative_error(observed: list[Array], expected: list[Array]) -> float:
    """Gives the largest difference, each array's relative to that array's largest entry."""
    worst = 0.0
    for ours, theirs in zip(observed, expected, strict=True):
        if ours.shape != theirs.shape:
            return math.inf
        difference = np.abs(ours.astype(np.float64) - theirs).max() / np.abs(theirs).max()
        worst = max(worst, math.inf if np.isnan(difference) else float(difference))
    return worst


def _dense(rng: np.random.Generator, sizes: tuple[int, ...]) -> list[Array]:
    """Glorot-uniform kernels and zero biases."""
    weights: list[Array] = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        bound = math.sqrt(6 / (fan_in + fan_out))
        weights.append(rng.uniform(-bound, bound, (fan_in, fan_out)).astype(np.float32))
        weights.append(np.zeros(fan_out, np.float32))
    return weights


def scalar_chain() -> Chain:
    """100 scalar ops."""
    return Chain(np.float32(1.1), 50)


def small_net() -> Network:
    """2-64-64-1, where what a library does around the arithmetic is the whole cost."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(32, 2)).astype(np.float32)
    target = np.sin(x[:, :1]) * x[:, 1:]
    weights = _dense(rng, (2, 64, 64, 1))
    return Network(weights, x, target, "tanh", "mean_squared_error", 0.01)


def large_net() -> Network:
    """784-512-512-10, where matrix products are nearly the whole cost."""
    rng = np.random.default_rng(2)
    x = rng.uniform(size=(256, 784)).astype(np.float32)
    target = rng.integers(10, size=256)
    weights = _dense(rng, (784, 512, 512, 10))
    return Network(weights, x, target, "relu", "cross_entropy", 0.01)


@dataclass(frozen=True)
class Case:
    """One row of the table.

    Attributes:
        name: The word for ``--cases``.
        title: The row's heading.
        kind: ``step`` is timed in a warm worker of each library; ``process`` is the wall time of
            fresh processes; ``figure`` is something only numtape is asked for.
        goal: The limits numtape is to keep, all of them.
        unit: ``s`` or ``MiB``.
        data: Makes the inputs of a ``step``.
    """

    name: str
    title: str
    kind: Literal["step", "process", "figure"]
    goal: tuple[Limit, ...]
    unit: Literal["s", "MiB"] = "s"
    data: Callable[[], Data] | None = None


# Room for what an allocator keeps or gives back at will; a real leak of 9,900 steps, or of a
# million iterations, is far above it.
FLAT = (Limit(2.0),)

CASES = {
    case.name: case
    for case in (
        Case(
            "scalar_chain",
            "100 scalar ops + gradient",
            "step",
            (Limit(1 / 10, "PyTorch"), Limit(1 / 50, "TF eager")),
            data=scalar_chain,
        ),
        Case(
            "small_net",
            "2-64-64-1 network step, batch 32",
            "step",
            (Limit(1 / 2, "PyTorch"),),
            data=small_net,
        ),
        Case(
            "large_net",
            "784-512-512-10 network step, batch 256",
            "step",
            (Limit(1.1, BEST_PEER),),
            data=large_net,
        ),
        Case("import_only", "fresh process: import", "process", (Limit(0.3),)),
        Case(
            "import_first_gradient",
            "fresh process: import + first gradient",
            "process",
            (Limit(0.5),),
        ),
        Case(
            "first_gradient_empty_cache",
            "the same with an empty cache",
            "process",
            (Limit(5.0),),
        ),
        Case("record_row", "recording, per row of 100,000", "figure", (Limit(1.2e-6),)),
        Case("transpose", "transposing 100,000 scalar rows", "figure", (Limit(0.020),)),
        Case(
            "memory_training",
            "memory grown from step 100 to 10,000 of the small network",
            "figure",
            FLAT,
            "MiB",
        ),
        Case(
            "memory_unlooked",
            "memory grown in 10^6 iterations that look at nothing",
            "figure",
            FLAT,
            "MiB",
        ),
    )
}
