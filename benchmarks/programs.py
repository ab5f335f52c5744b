"""Programs beyond elementwise formulas: loops, matrices, layers, Jacobians and Hessians.

As in ``formulas``, a program takes a library's functions as ``ops``, so that all libraries run the
same code (``sqrt``, ``exp``, ``tanh``, ``sum``, ``mean``, ``sigmoid``, ``relu``, ``solve`` for a
batch of systems, ``convolved`` for images and filters with channels last). The ``*_by_hand``
functions compute the expected results with NumPy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.inputs import Array, BenchmarkProgram, Derivatives

STRIKE, YEARS = 100.0, 1.0


def asian(ops: Any, spot: Any, rate: Any, volatility: Any, noise: Any) -> Any:
    """The price of a call on the mean of a path; ``noise`` has one row of normal draws per step."""
    steps = noise.shape[0]
    dt = YEARS / steps
    drift, spread = (rate - 0.5 * volatility * volatility) * dt, volatility * math.sqrt(dt)
    price, total = spot, 0.0
    for k in range(steps):
        price = price * ops.exp(drift + spread * noise[k])
        total = total + price
    gain = ops.relu(total / steps - STRIKE)
    return ops.exp(-rate * YEARS) * ops.mean(gain)


def asian_by_hand(spot: Array, rate: Array, volatility: Array, noise: Array) -> list[Array]:
    """The price and its derivatives, path by path; the log price is linear in the noise."""
    dt = YEARS / len(noise)
    times = dt * np.arange(1, len(noise) + 1)[:, None]
    walk = math.sqrt(dt) * np.cumsum(noise, axis=0)
    prices = spot * np.exp((rate - 0.5 * volatility**2) * times + volatility * walk)
    mean, discount = prices.mean(axis=0), math.exp(-float(rate) * YEARS)
    paid = mean > STRIKE
    value = discount * np.mean((mean - STRIKE) * paid)
    by_rate = discount * np.mean((prices * times).mean(axis=0) * paid) - YEARS * value
    slopes = prices * (walk - volatility * times)
    by_volatility = discount * np.mean(slopes.mean(axis=0) * paid)
    return [value, discount * np.mean(mean * paid) / spot, by_rate, by_volatility]


def solves(ops: Any, matrices: Any, sides: Any) -> Any:
    """The sum of squares of the solutions of many small systems."""
    result = ops.solve(matrices, sides)
    return ops.sum(result * result)


def solves_by_hand(matrices: Array, sides: Array) -> list[Array]:
    """The value and its gradients; the adjoint of a solve is a solve with the transpose."""
    result = np.linalg.solve(matrices, sides)
    back = np.linalg.solve(np.swapaxes(matrices, 1, 2), 2 * result)
    return [np.sum(result**2), -back @ np.swapaxes(result, 1, 2), back]


def lstm(ops: Any, kernel: Any, recurrent: Any, bias: Any, inputs: Any, start: Any) -> Any:
    """The mean square of the final hidden state; ``inputs`` is (steps, batch, features)."""
    size = recurrent.shape[0]
    hidden = memory = start
    for k in range(inputs.shape[0]):
        z = inputs[k] @ kernel + hidden @ recurrent + bias
        taken, retained = ops.sigmoid(z[:, :size]), ops.sigmoid(z[:, size : 2 * size])
        new, displayed = ops.tanh(z[:, 2 * size : 3 * size]), ops.sigmoid(z[:, 3 * size :])
        memory = retained * memory + taken * new
        hidden = displayed * ops.tanh(memory)
    return ops.mean(hidden * hidden)


def lstm_by_hand(
    kernel: Array, recurrent: Array, bias: Array, inputs: Array, start: Array
) -> list[Array]:
    """The value and its gradients, by backpropagation through time."""
    hidden = memory = start
    steps = []
    for x in inputs:
        taken, retained, new, displayed = np.split(
            x @ kernel + hidden @ recurrent + bias, 4, axis=1
        )
        taken, retained, displayed = (1 / (1 + np.exp(-z)) for z in (taken, retained, displayed))
        new, before = np.tanh(new), (hidden, memory)
        memory = retained * memory + taken * new
        hidden = displayed * np.tanh(memory)
        steps.append((x, *before, memory, taken, retained, new, displayed))
    by_hidden, by_memory = 2 * hidden / hidden.size, np.zeros_like(memory)
    value = np.mean(hidden**2)
    items = [np.zeros_like(kernel), np.zeros_like(recurrent), np.zeros_like(bias)]
    for x, hidden, before, memory, taken, retained, new, displayed in reversed(steps):
        by_memory = by_memory + by_hidden * displayed * (1 - np.tanh(memory) ** 2)
        z = np.concatenate(
            [
                by_memory * new * taken * (1 - taken),
                by_memory * before * retained * (1 - retained),
                by_memory * taken * (1 - new**2),
                by_hidden * np.tanh(memory) * displayed * (1 - displayed),
            ],
            axis=1,
        )
        for total, more in zip(items, (x.T @ z, hidden.T @ z, z.sum(axis=0)), strict=True):
            total += more
        by_hidden, by_memory = z @ recurrent.T, by_memory * retained
    return [value, *items]


def convolutions(ops: Any, first: Any, second: Any, images: Any) -> Any:
    """The mean square of the output of two convolutional layers."""
    out = ops.convolved(ops.relu(ops.convolved(images, first)), second)
    return ops.mean(out * out)


def _windows(images: Array, filters: Array) -> Array:
    return np.lib.stride_tricks.sliding_window_view(images, filters.shape[:2], axis=(1, 2))


def _convolve(images: Array, filters: Array) -> Array:
    return np.einsum("bhwcij,ijco->bhwo", _windows(images, filters), filters, optimize=True)


def _by_filters(images: Array, filters: Array, g: Array) -> Array:
    return np.einsum("bhwcij,bhwo->ijco", _windows(images, filters), g, optimize=True)


def convolutions_by_hand(first: Array, second: Array, images: Array) -> list[Array]:
    """The value and its gradients; the reverse sweep adds one term per filter element."""
    inner = _convolve(images, first)
    passed = np.maximum(inner, 0)
    out = _convolve(passed, second)
    g = 2 * out / out.size
    back = np.zeros_like(passed)
    for i, j in np.ndindex(*second.shape[:2]):
        back[:, i : i + g.shape[1], j : j + g.shape[2]] += g @ second[i, j].T
    by_first = _by_filters(images, first, back * (inner > 0))
    return [np.mean(out**2), by_first, _by_filters(passed, second, g)]


def valley(ops: Any, x: Any) -> Any:
    """Rosenbrock's function."""
    first, second = x[:-1], x[1:]
    return ops.sum(100.0 * (second - first * first) ** 2 + (1.0 - first) ** 2)


def valley_by_hand(x: Array) -> list[Array]:
    """The Hessian, which is tridiagonal."""
    first, second = x[:-1], x[1:]
    beside = np.diag(-400 * first, 1)
    ends = np.append(1200 * first**2 - 400 * second + 2, 0) + np.append(0, np.full(x.size - 1, 200))
    return [np.diag(ends) + beside + beside.T]


def layers(ops: Any, x: Any, weights: Any) -> Any:
    """Two dense layers that map a vector to a vector of the same size."""
    return ops.tanh(weights @ ops.tanh(weights @ x[:, None]))[:, 0]


def layers_by_hand(x: Array, weights: Array) -> list[Array]:
    """The Jacobian, as the product of the layers' Jacobians."""
    inner = np.tanh(weights @ x)
    outer = np.tanh(weights @ inner)
    first, second = ((1 - y**2)[:, None] * weights for y in (inner, outer))
    return [second @ first]


# The inputs of the cases.


def asian_option(paths: int = 10_000, steps: int = 64) -> BenchmarkProgram:
    """A Python loop over the steps of all paths."""
    noise = np.random.default_rng(11).normal(size=(steps, paths))
    greeks = [np.asarray(x) for x in (100.0, 0.03, 0.2)]
    calls = {"exp": noise.size + 1}
    return BenchmarkProgram(asian, asian_by_hand, greeks, [noise], (), calls)


def small_solves(batch: int = 2_000, size: int = 8) -> BenchmarkProgram:
    """Systems so small that the overhead per system dominates."""
    rng = np.random.default_rng(12)
    matrices = rng.normal(size=(batch, size, size)) + 2 * size * np.eye(size)
    sides = rng.normal(size=(batch, size, 1))
    return BenchmarkProgram(solves, solves_by_hand, [matrices, sides], [], ("solve",), {})


def lstm_step(
    steps: int = 20, batch: int = 32, features: int = 32, hidden: int = 64
) -> BenchmarkProgram:
    """An LSTM whose cell is written out in every library."""
    rng = np.random.default_rng(13)
    kernel = rng.normal(0, features**-0.5, (features, 4 * hidden)).astype(np.float32)
    recurrent = rng.normal(0, hidden**-0.5, (hidden, 4 * hidden)).astype(np.float32)
    bias = np.zeros(4 * hidden, np.float32)
    inputs = rng.normal(size=(steps, batch, features)).astype(np.float32)
    start = np.zeros((batch, hidden), np.float32)
    cells = steps * batch * hidden
    # Reverse: one product with the inputs and, except in the first step, two with the state.
    products = 2 * steps * batch * 4 * hidden * (2 * features + 3 * hidden)
    return BenchmarkProgram(
        lstm,
        lstm_by_hand,
        [kernel, recurrent, bias],
        [inputs, start],
        ("sigmoid",),
        {"exp": 3 * cells, "tanh": 2 * cells},
        products,
    )


def convolution_step(
    batch: int = 32, size: int = 16, channels: tuple[int, ...] = (1, 16, 32)
) -> BenchmarkProgram:
    """Two layers of 3 x 3 filters."""
    rng = np.random.default_rng(14)
    first, second = (
        (rng.normal(size=(3, 3, *pair)) / math.sqrt(9 * pair[0])).astype(np.float32)
        for pair in (channels[:2], channels[1:])
    )
    images = rng.uniform(size=(batch, size, size, channels[0])).astype(np.float32)
    inner, outer = batch * (size - 2) ** 2, batch * (size - 4) ** 2
    products = 2 * (2 * inner * first.size + 3 * outer * second.size)
    return BenchmarkProgram(
        convolutions, convolutions_by_hand, [first, second], [images], ("convolved",), {}, products
    )


def hessian(size: int) -> Derivatives:
    """The Hessian of Rosenbrock's function, elementwise except for a sum."""
    x = np.linspace(-1, 1, size)
    return Derivatives("hessian", valley, valley_by_hand, x, [], {})


def jacobian(size: int) -> Derivatives:
    """The Jacobian of two layers, with matrix products and elementwise tanh."""
    rng = np.random.default_rng(15)
    weights = rng.normal(0, size**-0.5, (size, size))
    x = rng.normal(size=size)
    # The forward values, and the product of two Jacobians.
    products = 4 * size**2 + 2 * size**3
    return Derivatives(
        "jacobian", layers, layers_by_hand, x, [weights], {"tanh": 2 * size}, products
    )
