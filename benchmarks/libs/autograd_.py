"""HIPS autograd: programs are NumPy code, with hand-written weight updates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from autograd import grad, hessian, jacobian, make_vjp, numpy as anp, value_and_grad
from autograd.scipy.special import erf

from benchmarks.inputs import Array, BenchmarkProgram, Chain, Data, Derivatives, Network
from benchmarks.libs import LibraryVariant, build, function_of


def _chain(data: Chain) -> LibraryVariant:
    def f(x: Array) -> Array:
        y = x
        for _ in range(data.length):
            y = anp.sin(y) * x
        return y

    gradient = grad(f)
    return LibraryVariant(lambda: float(gradient(data.x)))


def _network(data: Network) -> LibraryVariant:
    weights = [w.copy() for w in data.weights]
    rows = anp.arange(len(data.x))
    # A product with a mask is cheaper than maximum, whose derivative handles ties.
    activation = anp.tanh if data.activation == "tanh" else lambda z: z * (z > 0)

    def loss_of(weights: list[Array]) -> Array:
        *hidden, last = zip(weights[::2], weights[1::2], strict=True)
        x = data.x
        for kernel, bias in hidden:
            x = activation(x @ kernel + bias)
        out = x @ last[0] + last[1]
        if data.loss == "mean_squared_error":
            return anp.mean((out - data.target) ** 2)
        out = out - anp.max(out, axis=1, keepdims=True)
        return anp.mean(anp.log(anp.sum(anp.exp(out), axis=1)) - out[rows, data.target])

    gradient = value_and_grad(loss_of)

    def step() -> float:
        loss, gradients = gradient(weights)
        for w, g in zip(weights, gradients, strict=True):
            w -= data.learning_rate * g
        return float(loss)

    return LibraryVariant(step, lambda: [w.copy() for w in weights])


# Its only convolution is a generic one, not meant for networks.
OPS = SimpleNamespace(
    log=anp.log,
    sqrt=anp.sqrt,
    erf=erf,
    exp=anp.exp,
    sin=anp.sin,
    tanh=anp.tanh,
    sum=anp.sum,
    mean=anp.mean,
    sigmoid=lambda z: 1.0 / (1.0 + anp.exp(-z)),
    relu=lambda z: z * (z > 0),
    solve=anp.linalg.solve,
)


def _program(data: BenchmarkProgram) -> LibraryVariant:
    f = function_of(data, OPS)
    by = tuple(range(len(data.inputs)))
    transpose = make_vjp(lambda *inputs: f(*inputs, *data.constants), by)

    def step() -> list[Any]:
        vjp, value = transpose(*data.inputs)
        return [value, *vjp(anp.ones_like(value))]

    return LibraryVariant(step)


def _derivatives(data: Derivatives) -> LibraryVariant:
    of = {"hessian": hessian, "jacobian": jacobian}[data.kind]
    f = function_of(data, OPS)
    matrix = of(lambda x: f(x, *data.constants))
    return LibraryVariant(lambda: matrix(data.x))


BUILDERS = {Chain: _chain, Network: _network, BenchmarkProgram: _program, Derivatives: _derivatives}


def variants(data: Data) -> dict[str, LibraryVariant]:
    """Returns the variants for a case's inputs."""
    return {"autograd": build(data, BUILDERS)}
