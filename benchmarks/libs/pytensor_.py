"""PyTensor: a step is a compiled function that trusts the types of its inputs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt

from benchmarks import programs
from benchmarks.inputs import BenchmarkProgram, Chain, Data, Derivatives, Network
from benchmarks.libs import LibraryVariant, build, function_of

OPS = SimpleNamespace(
    log=pt.log,
    sqrt=pt.sqrt,
    erf=pt.erf,
    exp=pt.exp,
    sin=pt.sin,
    tanh=pt.tanh,
    sum=pt.sum,
    solve=lambda matrices, sides: pt.linalg.solve(matrices, sides, b_ndim=2),
)


def _asian(spot: Any, rate: Any, volatility: Any, noise: Any) -> Any:
    """The Asian option with its loop as a scan."""
    steps, paths = noise.shape
    dt = programs.YEARS / steps
    drift, spread = (rate - 0.5 * volatility**2) * dt, volatility * pt.sqrt(dt)

    def advance(row: Any, price: Any, total: Any, drift: Any, spread: Any) -> tuple[Any, Any]:
        price = price * pt.exp(drift + spread * row)
        return price, total + price

    _, totals = pytensor.scan(
        advance,
        sequences=[noise],
        outputs_info=[pt.full((paths,), spot), pt.zeros((paths,))],
        non_sequences=[drift, spread],
        return_updates=False,
    )
    gain = pt.maximum(totals[-1] / steps - programs.STRIKE, 0)
    return pt.exp(-rate * programs.YEARS) * pt.mean(gain)


def _lstm(kernel: Any, recurrent: Any, bias: Any, inputs: Any, start: Any) -> Any:
    """The LSTM cell of ``programs``, in a scan."""

    def cell(x: Any, hidden: Any, memory: Any, *weights: Any) -> tuple[Any, Any]:
        kernel, recurrent, bias = weights
        z, size = x @ kernel + hidden @ recurrent + bias, recurrent.shape[0]
        gates = [z[:, k * size : (k + 1) * size] for k in range(4)]
        taken, retained, displayed = (pt.sigmoid(gates[k]) for k in (0, 1, 3))
        memory = retained * memory + taken * pt.tanh(gates[2])
        return displayed * pt.tanh(memory), memory

    hidden, _ = pytensor.scan(
        cell,
        sequences=[inputs],
        outputs_info=[start, start],
        non_sequences=[kernel, recurrent, bias],
        return_updates=False,
    )
    return pt.mean(hidden[-1] ** 2)


WRITTEN = {programs.asian: _asian, programs.lstm: _lstm}


def _chain(data: Chain) -> LibraryVariant:
    x = pt.fscalar("x")
    y = x
    for _ in range(data.length):
        y = pt.sin(y) * x
    gradient = pytensor.function([x], pytensor.grad(y, x))
    gradient.trust_input = True
    at = np.asarray(data.x)
    return LibraryVariant(lambda: float(gradient(at)))


def _network(data: Network) -> LibraryVariant:
    weights = [pytensor.shared(w) for w in data.weights]
    x, target = pytensor.shared(data.x), pytensor.shared(data.target)
    activation = {"tanh": pt.tanh, "relu": _relu}
    *hidden, last = zip(weights[::2], weights[1::2], strict=True)
    out = x
    for kernel, bias in hidden:
        out = activation[data.activation](out @ kernel + bias)
    out = out @ last[0] + last[1]
    if data.loss == "mean_squared_error":
        loss = pt.mean((out - target) ** 2)
    else:
        rows = pt.arange(target.shape[0])
        loss = -pt.mean(pt.special.log_softmax(out, axis=1)[rows, target])
    rate = np.float32(data.learning_rate)
    gradients = pytensor.grad(loss, weights)
    updates = [(w, w - rate * g) for w, g in zip(weights, gradients, strict=True)]
    step = pytensor.function([], loss, updates=updates)
    return LibraryVariant(lambda: float(step()), lambda: [w.get_value() for w in weights])


def _relu(x: Any) -> Any:
    return pt.maximum(x, np.float32(0.0))


def _program(data: BenchmarkProgram) -> LibraryVariant:
    inputs = [pt.tensor(dtype=x.dtype.name, shape=(None,) * x.ndim) for x in data.inputs]
    constants = [pytensor.shared(x) for x in data.constants]
    value = function_of(data, OPS, WRITTEN)(*inputs, *constants)
    gradients = pytensor.grad(value.sum(), inputs)
    compiled = pytensor.function(inputs, [value, *gradients])
    compiled.trust_input = True
    return LibraryVariant(lambda: compiled(*data.inputs))


def _derivatives(data: Derivatives) -> LibraryVariant:
    x = pt.dvector("x")
    y = function_of(data, OPS)(x, *(pytensor.shared(c) for c in data.constants))
    of = {"hessian": pytensor.gradient.hessian, "jacobian": pytensor.gradient.jacobian}
    compiled = pytensor.function([x], of[data.kind](y, x))
    compiled.trust_input = True
    return LibraryVariant(lambda: compiled(data.x))


BUILDERS = {Chain: _chain, Network: _network, BenchmarkProgram: _program, Derivatives: _derivatives}


def variants(data: Data) -> dict[str, LibraryVariant]:
    """Returns the variants for a case's inputs."""
    return {"PyTensor": build(data, BUILDERS)}
