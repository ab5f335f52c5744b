"""CasADi: symbolic expressions, differentiated symbolically and run by its virtual machine."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np

from benchmarks import programs
from benchmarks.inputs import Array, BenchmarkProgram, Chain, Data, Derivatives, Formula, Network
from benchmarks.libs import LeftOut, LibraryVariant, build, function_of, reshape_like


def _sum(x: Any) -> Any:
    return ca.sum1(ca.sum2(x))


OPS = SimpleNamespace(
    log=ca.log,
    sqrt=ca.sqrt,
    erf=ca.erf,
    exp=ca.exp,
    sin=ca.sin,
    tanh=ca.tanh,
    sum=_sum,
    mean=lambda x: _sum(x) / x.numel(),
    sigmoid=lambda z: 1 / (1 + ca.exp(-z)),
    relu=lambda z: ca.fmax(z, 0),
    solve=ca.solve,
)
LARGE = 10_000  # weights
MANY = 1_000_000  # elements


def _chain(data: Chain) -> LibraryVariant:
    x = ca.SX.sym("x")
    y = x
    for _ in range(data.length):
        y = ca.sin(y) * x
    gradient = ca.Function("gradient", [x], [ca.gradient(y, x)])
    return LibraryVariant(lambda: float(gradient(data.x)))


def _network(data: Network) -> LibraryVariant:
    """A network step on transposed arrays, because CasADi stores matrices by columns."""
    if sum(w.size for w in data.weights) > LARGE:
        raise LeftOut("products of large matrices take seconds")
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

    return LibraryVariant(
        step,
        lambda: [
            np.array(new).T.reshape(old.shape)
            for new, old in zip(weights, data.weights, strict=True)
        ],
    )


def _formula(data: Formula) -> LibraryVariant:
    """The formula of one element, mapped over all elements."""
    if data.inputs[0].size > MANY:
        raise LeftOut("ten million elements take half a minute")
    inputs = [ca.SX.sym(f"x{k}") for k in range(len(data.inputs))]
    value = data.function(OPS, *inputs)
    outputs = [value, *(ca.gradient(value, x) for x in inputs)]
    mapped = ca.Function("formula", inputs, outputs).map(len(data.inputs[0]))
    rows = [ca.DM(x.reshape(1, -1).astype(np.float64)) for x in data.inputs]

    def step() -> list[Array]:
        value, *gradients = (np.asarray(value).ravel() for value in mapped(*rows))
        return [value if data.value_size > 1 else value.sum(), *gradients]

    return LibraryVariant(step)


def _asian(data: BenchmarkProgram, f: Callable[..., Any]) -> LibraryVariant:
    """A function of one path, mapped over all paths, with summed results."""
    steps, paths = data.constants[0].shape
    shared = [ca.SX.sym(name) for name in ("spot", "rate", "volatility")]
    noise = ca.SX.sym("noise", steps)
    value = f(*shared, noise) / paths
    outputs = [value, *(ca.gradient(value, x) for x in shared)]
    path = ca.Function("path", [*shared, noise], outputs)
    mapped = path.map("paths", "serial", paths, [0, 1, 2], [0, 1, 2, 3])
    arguments = [ca.DM(x) for x in (*data.inputs, *data.constants)]
    return LibraryVariant(lambda: reshape_like(data, mapped(*arguments)))


def _solves(data: BenchmarkProgram, f: Callable[..., Any]) -> LibraryVariant:
    """A function of one system, mapped over horizontally stacked systems, with summed values."""
    symbols = [ca.MX.sym(f"x{k}", *x.shape[1:]) for k, x in enumerate(data.inputs)]
    value = f(*symbols)
    outputs = [value, *(ca.gradient(value, x) for x in symbols)]
    batch = len(data.inputs[0])
    mapped = ca.Function("system", symbols, outputs).map("systems", "serial", batch, [], [0])
    arguments = [ca.DM(np.hstack(x)) for x in data.inputs]

    def step() -> list[Array]:
        value, *gradients = mapped(*arguments)
        stacked = (np.stack(np.hsplit(np.asarray(g), batch)) for g in gradients)
        return reshape_like(data, [value, *stacked])

    return LibraryVariant(step)


def _lstm(data: BenchmarkProgram, f: Callable[..., Any]) -> LibraryVariant:
    """The LSTM with a repeated bias, because CasADi does not broadcast."""
    symbols = [ca.MX.sym(f"w{k}", *np.atleast_2d(w).shape) for k, w in enumerate(data.inputs)]
    kernel, recurrent, bias = symbols
    inputs, start = data.constants
    rows = np.empty(len(inputs), object)
    for k, x in enumerate(inputs):
        rows[k] = ca.DM(x)
    wide = ca.repmat(bias, len(start), 1)
    value = f(kernel, recurrent, wide, rows, ca.DM(start))
    outputs = [value, *(ca.gradient(value, w) for w in symbols)]
    function = ca.Function("lstm", symbols, outputs)
    arguments = [ca.DM(np.atleast_2d(w)) for w in data.inputs]
    return LibraryVariant(lambda: [np.asarray(x) for x in reshape_like(data, function(*arguments))])


PROGRAMS = {programs.asian: _asian, programs.solves: _solves, programs.lstm: _lstm}


def _program(data: BenchmarkProgram) -> LibraryVariant:
    f = function_of(data, OPS)
    return PROGRAMS[data.function](data, f)


def _layers(x: ca.MX, weights: ca.DM) -> ca.MX:
    """``programs.layers`` for column vectors."""
    return ca.tanh(weights @ ca.tanh(weights @ x))


def _derivatives(data: Derivatives) -> LibraryVariant:
    """Uses scalar expressions for the sparse Hessian, matrix expressions for the dense Jacobian."""
    f = function_of(data, OPS, {programs.layers: _layers})
    hessian = data.kind == "hessian"
    x = (ca.SX if hessian else ca.MX).sym("x", data.x.size)
    y = f(x, *(ca.DM(c) for c in data.constants))
    matrix = ca.hessian(y, x)[0] if hessian else ca.jacobian(y, x)
    function = ca.Function(data.kind, [x], [matrix])
    at = ca.DM(data.x)
    return LibraryVariant(lambda: function(at).full())


BUILDERS = {
    Chain: _chain,
    Network: _network,
    Formula: _formula,
    BenchmarkProgram: _program,
    Derivatives: _derivatives,
}


def variants(data: Data) -> dict[str, LibraryVariant]:
    """Returns the variants for a case's inputs; CasADi computes in float64 throughout."""
    return {"CasADi": build(data, BUILDERS)}
