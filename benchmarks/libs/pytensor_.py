"""PyTensor: a step is a compiled function; inputs are trusted to have the right type."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt

from benchmarks.inputs import Chain, Data, Formula, Network
from benchmarks.libs import Variant

OPS = SimpleNamespace(
    log=pt.log, sqrt=pt.sqrt, erf=pt.erf, exp=pt.exp, sin=pt.sin, tanh=pt.tanh, sum=pt.sum
)


def _chain(data: Chain) -> Variant:
    x = pt.fscalar("x")
    y = x
    for _ in range(data.length):
        y = pt.sin(y) * x
    gradient = pytensor.function([x], pytensor.grad(y, x))
    gradient.trust_input = True
    at = np.asarray(data.x)
    return Variant(lambda: float(gradient(at)))


def _network(data: Network) -> Variant:
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
    return Variant(lambda: float(step()), lambda: [w.get_value() for w in weights])


def _relu(x: Any) -> Any:
    return pt.maximum(x, np.float32(0.0))


def _formula(data: Formula) -> Variant:
    kind = pt.dvector if data.inputs[0].dtype == np.float64 else pt.fvector
    inputs = [kind() for _ in data.inputs]
    value = data.function(OPS, *inputs)
    gradients = pytensor.grad(value.sum(), inputs)
    compiled = pytensor.function(inputs, [value, *gradients])
    compiled.trust_input = True
    return Variant(lambda: compiled(*data.inputs))


def variants(data: Data) -> dict[str, Variant]:
    """Gives the variants for a case's inputs."""
    if isinstance(data, Chain):
        return {"PyTensor": _chain(data)}
    if isinstance(data, Network):
        return {"PyTensor": _network(data)}
    if isinstance(data, Formula):
        return {"PyTensor": _formula(data)}
    return {}
