"""Inputs of the step cases, with the expected result and the minimal work of one step.

This module is independent of the libraries. Inputs are NumPy arrays from fixed seeds, so that every
library starts from the same numbers. Each kind of input computes the expected result of one step
in float64 NumPy, which verifies that every library does the same work.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from benchmarks import formulas

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class MinimalWork:
    """The minimal work of one step, however it is computed.

    Attributes:
        traffic: Bytes of the inputs, each read once, and of the results, each written once.
        products: Floating-point operations in matrix products; a multiply-add counts as two.
        calls: Number of transcendental calls by function name, including those of the gradient
            that cannot reuse a forward value.
        dtype: The dtype of these calls.
    """

    traffic: int
    products: int
    calls: dict[str, int]
    dtype: str


class Data(Protocol):
    """The inputs of one case."""

    def for_check(self) -> Data:
        """Returns the inputs of the step that is compared with ``compute_expected``."""

    def compute_expected(self) -> list[Array]:
        """Returns the expected result of one step, computed in float64."""

    def compute_observed(self, result: object, weights: list[Array]) -> list[Array]:
        """Returns the comparable arrays from a step's result and the updated weights."""

    def work(self) -> MinimalWork:
        """Returns the minimal work of one step."""


@dataclass(frozen=True, eq=False)
class Chain:
    """``y = sin(y) * x``, ``length`` times from ``y = x``; the step returns dy/dx as a float."""

    x: np.float32
    length: int

    def for_check(self) -> Chain:
        """Returns the chain itself, because a step changes no state."""
        return self

    def compute_expected(self) -> list[Array]:
        """Carries the value and its derivative forward together."""
        x = float(self.x)
        y, slope = x, 1.0
        for _ in range(self.length):
            y, slope = math.sin(y) * x, math.cos(y) * slope * x + math.sin(y)
        return [np.asarray(slope)]

    def compute_observed(self, result: object, weights: list[Array]) -> list[Array]:
        """Returns the derivative, the only result."""
        return [np.asarray(result)]

    def work(self) -> MinimalWork:
        """Counts a sine in the forward and a cosine in the reverse sweep for each link."""
        calls = {"sin": self.length, "cos": self.length}
        return MinimalWork(2 * self.x.nbytes, 0, calls, self.x.dtype.name)


@dataclass(frozen=True, eq=False)
class Network:
    """One gradient descent step of a dense network; the step returns the loss as a float.

    ``weights`` alternate between the kernel (inputs, outputs) and the bias (outputs,) of each
    layer. ``activation`` follows every layer but the last. The target has shape (batch, outputs)
    for the mean squared error, and is (batch,) class numbers for the cross-entropy.
    """

    weights: list[Array]
    x: Array
    target: Array
    activation: Literal["tanh", "relu"]
    loss: Literal["mean_squared_error", "cross_entropy"]
    learning_rate: float

    def for_check(self) -> Network:
        """Sets the learning rate to 1, so that rounding of weights does not hide the gradient."""
        return dataclasses.replace(self, learning_rate=1.0)

    def compute_expected(self) -> list[Array]:
        """Computes the loss and its gradients by hand, in the order of ``weights``."""
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

    def compute_observed(self, result: object, weights: list[Array]) -> list[Array]:
        """Returns the loss, and the gradients recovered from the updates of the weights."""
        updates = zip(self.weights, weights, strict=True)
        return [np.asarray(result), *((old - new) / self.learning_rate for old, new in updates)]

    def shapes(self) -> list[tuple[int, int, int]]:
        """Returns (rows, inner, columns) of each matrix product of a step, in order."""
        batch = len(self.x)
        layers = [kernel.shape for kernel in self.weights[::2]]
        forward = [(batch, i, o) for i, o in layers]
        back = [[(i, batch, o), (batch, o, i)] for i, o in reversed(layers)]
        # The gradient with respect to x is not needed.
        return [*forward, *itertools.chain.from_iterable(back)][:-1]

    def work(self) -> MinimalWork:
        """Counts weights as read and written; the derivatives of tanh and relu need no calls."""
        read = [self.x, self.target, *self.weights]
        traffic = sum(a.nbytes for a in [*read, *self.weights]) + self.x.itemsize
        products = sum(2 * m * k * n for m, k, n in self.shapes())
        batch, outputs = len(self.x), self.weights[-1].size
        hidden = batch * sum(bias.size for bias in self.weights[1:-1:2])
        calls: dict[str, int] = {"tanh": hidden} if self.activation == "tanh" else {}
        if self.loss == "cross_entropy":
            calls |= {"exp": batch * outputs, "log": batch}
        return MinimalWork(traffic, products, calls, self.x.dtype.name)


@dataclass(frozen=True, eq=False)
class BenchmarkProgram:
    """A scalar-valued program over arrays; the step returns its value and its gradients.

    Attributes:
        function: The program, called with a library's functions, the inputs and the constants.
        by_hand: Computes the expected results from float64 arrays.
        inputs: The arrays to differentiate with respect to.
        constants: The other arrays.
        needs: Names of the functions it uses that some libraries lack.
        calls: Transcendental calls of a step.
        products: Operations in its matrix products.
    """

    function: Callable[..., Any]
    by_hand: Callable[..., list[Array]]
    inputs: list[Array]
    constants: list[Array]
    needs: tuple[str, ...]
    calls: dict[str, int]
    products: int = 0

    def for_check(self) -> BenchmarkProgram:
        """Returns the full-size inputs: smaller ones may take another code path."""
        return self

    def compute_expected(self) -> list[Array]:
        """Computes the value and the gradients from formulas derived by hand."""
        result = self.by_hand(*(x.astype(np.float64) for x in (*self.inputs, *self.constants)))
        return [np.asarray(x) for x in result]

    def compute_observed(self, result: Any, weights: list[Array]) -> list[Array]:
        """Returns the value and the gradients, which are the result of a step."""
        return [np.asarray(array) for array in result]

    def shapes(self) -> list[tuple[int, ...]]:
        """Returns the shapes of the value and of the gradients."""
        return [(), *(x.shape for x in self.inputs)]

    def work(self) -> MinimalWork:
        """Counts a gradient as large as its input."""
        first = self.inputs[0]
        traffic = 2 * sum(x.nbytes for x in self.inputs) + first.itemsize
        traffic += sum(x.nbytes for x in self.constants)
        return MinimalWork(traffic, self.products, self.calls, first.dtype.name)


@dataclass(frozen=True, eq=False)
class Formula(BenchmarkProgram):
    """A formula over arrays of equal size, elementwise except for sums.

    If the value is an array, the gradients are those of its sum.

    Attributes:
        value_size: The number of elements of the value.
        calls: Transcendental calls per element.
    """

    value_size: int = 1

    def shapes(self) -> list[tuple[int, ...]]:
        """Returns the shapes, () for a value of one element."""
        value, *gradients = super().shapes()
        return [(self.value_size,) if self.value_size > 1 else value, *gradients]

    def work(self) -> MinimalWork:
        """Scales the work of one element by the number of elements."""
        first = self.inputs[0]
        calls = {name: count * first.size for name, count in self.calls.items()}
        traffic = 2 * sum(x.nbytes for x in self.inputs) + self.value_size * first.itemsize
        return MinimalWork(traffic, 0, calls, first.dtype.name)


@dataclass(frozen=True, eq=False)
class Derivatives:
    """The Jacobian or the Hessian of a function of a vector.

    Attributes:
        kind: "jacobian" or "hessian".
        function: The function, called with a library's functions, the vector and the constants.
        by_hand: Computes the expected result.
        x: The vector.
        constants: The other arrays.
        calls: Transcendental calls of a step.
        products: Operations in its matrix products.
        needs: Names of the functions it uses that some libraries lack.
    """

    kind: Literal["jacobian", "hessian"]
    function: Callable[..., Any]
    by_hand: Callable[..., list[Array]]
    x: Array
    constants: list[Array]
    calls: dict[str, int]
    products: int = 0
    needs: tuple[str, ...] = ()

    def for_check(self) -> Derivatives:
        """Returns the inputs themselves, because a step changes no state."""
        return self

    def compute_expected(self) -> list[Array]:
        """Computes the matrix from a formula derived by hand."""
        return self.by_hand(self.x, *self.constants)

    def compute_observed(self, result: Any, weights: list[Array]) -> list[Array]:
        """Returns the matrix, which is the result of a step."""
        return [np.asarray(result)]

    def work(self) -> MinimalWork:
        """Counts the inputs as read and the matrix as written."""
        read = self.x.nbytes + sum(x.nbytes for x in self.constants)
        traffic = read + self.x.size * self.x.nbytes
        return MinimalWork(traffic, self.products, self.calls, self.x.dtype.name)


def relative_error(observed: list[Array], expected: list[Array]) -> float:
    """Returns the largest difference, relative to the largest entry of each array."""
    worst = 0.0
    for own, reference in zip(observed, expected, strict=True):
        if own.shape != reference.shape:
            return math.inf
        difference = np.abs(own.astype(np.float64) - reference).max() / np.abs(reference).max()
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


def small_net(hidden: int = 64, batch: int = 32) -> Network:
    """2-64-64-1, dominated by the overhead of the library."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(batch, 2)).astype(np.float32)
    target = np.sin(x[:, :1]) * x[:, 1:]
    weights = _dense(rng, (2, hidden, hidden, 1))
    return Network(weights, x, target, "tanh", "mean_squared_error", 0.01)


def large_net(sizes: tuple[int, ...] = (784, 512, 512, 10), batch: int = 256) -> Network:
    """784-512-512-10, dominated by matrix products."""
    rng = np.random.default_rng(2)
    x = rng.uniform(size=(batch, sizes[0])).astype(np.float32)
    target = rng.integers(sizes[-1], size=batch)
    weights = _dense(rng, sizes)
    return Network(weights, x, target, "relu", "cross_entropy", 0.01)


def black_scholes(size: int = 1_000_000) -> Formula:
    """A million options, which exceed the caches."""
    rng = np.random.default_rng(7)
    bounds = ((50, 150), (50, 150), (0.01, 0.05), (0.1, 0.5), (0.1, 2))
    return Formula(
        formulas.black_scholes,
        formulas.black_scholes_by_hand,
        [rng.uniform(low, high, size) for low, high in bounds],
        [],
        (),
        # Two of the exponentials are derivatives of erf. Three divisions are in the formula of the
        # price, and three in the derivatives of log, quotients and sqrt.
        {"log": 1, "erf": 2, "exp": 3, "sqrt": 1, "reciprocal": 6},
        value_size=size,
    )


def long_chain(size: int = 10_000_000) -> Formula:
    """A chain of elementwise ops that ends in a sum."""
    rng = np.random.default_rng(8)
    return Formula(
        formulas.long_chain,
        formulas.long_chain_by_hand,
        [2 * rng.random(size, np.float32) - 1 for _ in range(2)],
        [],
        (),
        {"sin": 1, "cos": 1, "exp": 1, "tanh": 1},
    )
