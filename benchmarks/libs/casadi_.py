"""CasADi: expressions of scalars, differentiated as expressions and run by its virtual machine."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np

from benchmarks.inputs import Chain, Data, Formula, Network
from benchmarks.libs import Variant

OPS = SimpleNamespace(
    log=ca.log, sqrt=ca.sqrt, erf=ca.erf, exp=ca.exp, sin=ca.sin, tanh=ca.tanh, sum=lambda x: x
)
LARGE = 10_000  # weights: more are no job for its dense products
MANY = 1_000_000  # elements: ten times as many take half a minute


def _chain(data: Chain) -> Variant:
    x = ca.SX.sym("x")
    y = x
    for _ in range(data.length):
        y = ca.sin(y) * x
    gradient = ca.Function("gradient", [x], [ca.gradient(y, x)])
    return Variant(lambda: float(gradient(data.x)))


def _network(data: Network) -> Variant:
    """Rows and columns change places: CasADi keeps matrices by columns."""
    symbols = [ca.MX.sym(f"w{k}", *np.atleast_2d(w).T.shape) for k, w in enumerate(data.weights)]
    batch = len(data.x)
    x = ca.DM(data.x.T)
    *hidden, last = zip(symbols[::2], symbols[1::2], strict=True)
    for kernel, bias in hidden:
        x = ca.tanh(kernel @ x + ca.repmat(bias, 1, batch))
    out = last[0] @ x + ca.repmat(last[1], 1, batch)
    loss = ca.sumsqr(out - ca.DM(data.target.T)) / data.target.size
    updated = [w - data.learning_rate * ca.gradient(loss, w) for w in symbols]
    function = ca.Function("step", symbols, [loss, *updated])
    weights = [ca.DM(np.atleast_2d(w).T) for w in data.weights]

    def step() -> float:
        nonlocal weights
        loss, *weights = function(*weights)
        return float(loss)

    return Variant(
        step,
        lambda: [
            np.array(new).T.reshape(old.shape)
            for new, old in zip(weights, data.weights, strict=True)
        ],
    )


def _formula(data: Formula) -> Variant:
    """The formula of one element, mapped over all of them."""
    inputs = [ca.SX.sym(f"x{k}") for k in range(len(data.inputs))]
    value = data.function(OPS, *inputs)
    outputs = [value, *(ca.gradient(value, x) for x in inputs)]
    mapped = ca.Function("formula", inputs, outputs).map(len(data.inputs[0]))
    rows = [ca.DM(x.reshape(1, -1).astype(np.float64)) for x in data.inputs]

    def step() -> list[np.ndarray]:
        value, *gradients = (np.asarray(found).ravel() for found in mapped(*rows))
        return [value if data.value_size > 1 else value.sum(), *gradients]

    return Variant(step)


def variants(data: Data) -> dict[str, Variant]:
    """Gives the variants for a case's inputs; it computes in float64 throughout."""
    if isinstance(data, Chain):
        return {"CasADi": _chain(data)}
    if isinstance(data, Network) and sum(w.size for w in data.weights) < LARGE:
        return {"CasADi": _network(data)}
    if isinstance(data, Formula) and data.inputs[0].size <= MANY:
        return {"CasADi": _formula(data)}
    return {}
