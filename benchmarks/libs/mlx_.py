"""MLX on the CPU: the whole step is one compiled function."""

from __future__ import annotations

from types import SimpleNamespace

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from benchmarks.inputs import Array, BenchmarkProgram, Chain, Data, Derivatives, Network
from benchmarks.libs import LibraryVariant, build, function_of

# MLX's solver of linear systems cannot be differentiated.
OPS = SimpleNamespace(
    log=mx.log,
    sqrt=mx.sqrt,
    erf=mx.erf,
    exp=mx.exp,
    sin=mx.sin,
    tanh=mx.tanh,
    sum=mx.sum,
    mean=mx.mean,
    sigmoid=mx.sigmoid,
    relu=nn.relu,
    # MLX expects the output channels of filters first.
    convolved=lambda x, filters: mx.conv2d(x, filters.transpose(3, 0, 1, 2)),
)


def _arrays(arrays: list[Array]) -> list[mx.array]:
    """Converts arrays and keeps their dtypes: by default, float64 would become float32."""
    return [mx.array(x, dtype=getattr(mx, x.dtype.name)) for x in arrays]


def _chain(data: Chain) -> LibraryVariant:
    def f(x: mx.array) -> mx.array:
        y = x
        for _ in range(data.length):
            y = mx.sin(y) * x
        return y

    gradient = mx.compile(mx.grad(f))
    x = mx.array(data.x)
    return LibraryVariant(lambda: gradient(x).item())


def _network(data: Network) -> LibraryVariant:
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

    return LibraryVariant(step, lambda: [np.array(w) for w in weights])


def _program(data: BenchmarkProgram) -> LibraryVariant:
    inputs, constants = _arrays(data.inputs), _arrays(data.constants)
    shape = data.shapes()[0]
    f = function_of(data, OPS)

    @mx.compile
    def value_and_gradients(*inputs: mx.array) -> list[mx.array]:
        def value_of(*inputs: mx.array) -> list[mx.array]:
            return [f(*inputs, *constants)]

        ones = mx.ones(shape, inputs[0].dtype)
        values, gradients = mx.vjp(value_of, list(inputs), [ones])
        return [*values, *gradients]

    def step() -> list[mx.array]:
        result = value_and_gradients(*inputs)
        mx.eval(result)
        return result

    return LibraryVariant(step)


def _derivatives(data: Derivatives) -> LibraryVariant:
    """All rows in one ``vmap`` of VJPs over the unit vectors."""
    f = function_of(data, OPS)
    x, *constants = _arrays([data.x, *data.constants])
    units = mx.eye(x.size, dtype=x.dtype)

    def vector_of(x: mx.array) -> mx.array:
        return f(x, *constants)

    if data.kind == "hessian":
        vector_of = mx.grad(vector_of)

    @mx.compile
    def matrix(x: mx.array) -> mx.array:
        return mx.vmap(lambda unit: mx.vjp(vector_of, [x], [unit])[1][0])(units)

    def step() -> mx.array:
        result = matrix(x)
        mx.eval(result)
        return result

    return LibraryVariant(step)


BUILDERS = {Chain: _chain, Network: _network, BenchmarkProgram: _program, Derivatives: _derivatives}


def variants(data: Data) -> dict[str, LibraryVariant]:
    """Returns the variants for a case's inputs."""
    mx.set_default_device(mx.cpu)
    return {"MLX": build(data, BUILDERS)}
