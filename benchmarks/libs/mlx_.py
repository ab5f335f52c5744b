"""MLX on the CPU: the whole step is one compiled function."""

from __future__ import annotations

from types import SimpleNamespace

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from benchmarks.inputs import Chain, Data, Formula, Network
from benchmarks.libs import Variant

OPS = SimpleNamespace(
    log=mx.log, sqrt=mx.sqrt, erf=mx.erf, exp=mx.exp, sin=mx.sin, tanh=mx.tanh, sum=mx.sum
)


def _chain(data: Chain) -> Variant:
    def f(x: mx.array) -> mx.array:
        y = x
        for _ in range(data.length):
            y = mx.sin(y) * x
        return y

    gradient = mx.compile(mx.grad(f))
    x = mx.array(data.x)
    return Variant(lambda: gradient(x).item())


def _network(data: Network) -> Variant:
    x, target = mx.array(data.x), mx.array(data.target)
    weights = [mx.array(w) for w in data.weights]
    activation = {"tanh": mx.tanh, "relu": nn.relu}[data.activation]

    def loss_of(weights: list[mx.array], x: mx.array, target: mx.array) -> mx.array:
        *hidden, last = zip(weights[::2], weights[1::2], strict=True)
        for kernel, bias in hidden:
            x = activation(x @ kernel + bias)
        out = x @ last[0] + last[1]
        if data.loss == "mean_squared_error":
            return nn.losses.mse_loss(out, target)
        return nn.losses.cross_entropy(out, target, reduction="mean")

    @mx.compile
    def update(weights: list[mx.array]) -> tuple[mx.array, list[mx.array]]:
        loss, gradients = mx.value_and_grad(loss_of)(weights, x, target)
        rate = data.learning_rate
        return loss, [w - rate * g for w, g in zip(weights, gradients, strict=True)]

    def step() -> float:
        nonlocal weights
        loss, weights = update(weights)
        mx.eval(loss, weights)
        return loss.item()

    return Variant(step, lambda: [np.array(w) for w in weights])


def _formula(data: Formula) -> Variant:
    inputs = [mx.array(x, dtype=getattr(mx, x.dtype.name)) for x in data.inputs]

    @mx.compile
    def value_and_gradients(*inputs: mx.array) -> list[mx.array]:
        def value_of(*inputs: mx.array) -> list[mx.array]:
            return [data.function(OPS, *inputs)]

        ones = mx.ones(data.value_size if data.value_size > 1 else (), inputs[0].dtype)
        values, gradients = mx.vjp(value_of, list(inputs), [ones])
        return [*values, *gradients]

    def step() -> list[mx.array]:
        found = value_and_gradients(*inputs)
        mx.eval(found)
        return found

    return Variant(step)


def variants(data: Data) -> dict[str, Variant]:
    """Gives the variants for a case's inputs."""
    mx.set_default_device(mx.cpu)
    if isinstance(data, Chain):
        return {"MLX": _chain(data)}
    if isinstance(data, Network):
        return {"MLX": _network(data)}
    if isinstance(data, Formula):
        return {"MLX": _formula(data)}
    return {}
