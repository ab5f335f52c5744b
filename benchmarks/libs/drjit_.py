"""Dr.Jit on the CPU (LLVM): steps are frozen functions, traced once and replayed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import drjit as dr
import numpy as np
from drjit.llvm.ad import Float, Float64, TensorXf, TensorXf64, UInt32

from benchmarks import programs
from benchmarks.inputs import Array, BenchmarkProgram, Chain, Data, Derivatives, Formula, Network
from benchmarks.libs import FIRST_ORDER, LeftOut, LibraryVariant, build, function_of, reshape_like


def _relu(x: Any) -> Any:
    """A relu without ``max``, which some versions of LLVM lack for float64."""
    return dr.select(x > 0, x, 0)


OPS = SimpleNamespace(
    log=dr.log,
    sqrt=dr.sqrt,
    erf=dr.erf,
    exp=dr.exp,
    sin=dr.sin,
    tanh=dr.tanh,
    sum=dr.sum,
    mean=dr.mean,
    sigmoid=lambda z: 1 / (1 + dr.exp(-z)),
    relu=_relu,
)


def _tensors(arrays: list[Array]) -> list[Any]:
    return [(TensorXf64 if x.dtype == np.float64 else TensorXf)(x) for x in arrays]


def _chain(data: Chain) -> LibraryVariant:
    @dr.freeze
    def gradient(x: Any) -> Any:
        dr.enable_grad(x)
        y = x
        for _ in range(data.length):
            y = dr.sin(y) * x
        dr.backward(y)
        return dr.grad(x)

    return LibraryVariant(lambda: gradient(Float(data.x))[0])


def _network(data: Network) -> LibraryVariant:
    x, *weights = _tensors([data.x, *data.weights])
    classes = data.loss == "cross_entropy"
    target = UInt32(data.target) if classes else TensorXf(data.target)
    activation = {"tanh": dr.tanh, "relu": _relu}[data.activation]

    def loss_of(weights: list[Any], x: Any, target: Any) -> Any:
        *hidden, last = zip(weights[::2], weights[1::2], strict=True)
        for kernel, bias in hidden:
            x = activation(x @ kernel + bias)
        out = x @ last[0] + last[1]
        if not classes:
            return dr.mean(dr.square(out - target))
        out = out - dr.detach(dr.max(out, axis=1))[:, None]
        rows, outputs = out.shape
        picked = dr.gather(Float, out.array, dr.arange(UInt32, rows) * outputs + target)
        return dr.mean(dr.log(dr.sum(dr.exp(out), axis=1)).array - picked)

    @dr.freeze
    def update(weights: list[Any], x: Any, target: Any) -> tuple[Any, list[Any]]:
        weights = [dr.detach(w) for w in weights]
        dr.enable_grad(*weights)
        loss = loss_of(weights, x, target)
        dr.backward(loss)
        rate = data.learning_rate
        return dr.detach(loss), [dr.detach(w) - rate * dr.grad(w) for w in weights]

    def step() -> float:
        nonlocal weights
        loss, weights = update(weights, x, target)
        dr.eval(loss, weights)
        return float(np.asarray(loss).item())

    return LibraryVariant(step, lambda: [np.array(w) for w in weights])


def _asian(spot: Any, rate: Any, volatility: Any, noise: Any) -> Any:
    """Broadcasts the inputs over the paths first, so that the reverse pass sums gradients once."""
    steps, paths = noise.shape
    spot, rate, volatility = (x.array + dr.zeros(Float64, paths) for x in (spot, rate, volatility))
    dt = programs.YEARS / steps
    drift, spread = (rate - 0.5 * dr.square(volatility)) * dt, volatility * dt**0.5
    price, total = spot, Float64(0)
    for k in range(steps):
        price = price * dr.exp(drift + spread * noise[k].array)
        total = total + price
    return dr.mean(dr.exp(-rate * programs.YEARS) * _relu(total / steps - programs.STRIKE))


def _lstm(kernel: Any, recurrent: Any, bias: Any, inputs: Any, start: Any) -> Any:
    """Broadcasts the bias once: Dr.Jit 1.5.0 has a wrong gradient if each step broadcasts it."""
    wide = bias + dr.zeros(TensorXf, (start.shape[0], bias.shape[0]))
    return programs.lstm(OPS, kernel, recurrent, wide, inputs, start)


WRITTEN = {programs.asian: _asian, programs.lstm: _lstm}


def _program(data: BenchmarkProgram) -> LibraryVariant:
    return _value_and_gradients(data, _tensors(data.inputs), _tensors(data.constants))


def _formula(data: Formula) -> LibraryVariant:
    kind = Float64 if data.inputs[0].dtype == np.float64 else Float
    return _value_and_gradients(data, [kind(x) for x in data.inputs], [])


def _value_and_gradients(
    data: BenchmarkProgram, inputs: list[Any], constants: list[Any]
) -> LibraryVariant:
    f = function_of(data, OPS, WRITTEN)

    @dr.freeze
    def value_and_gradients(inputs: list[Any], constants: list[Any]) -> list[Any]:
        inputs = [dr.detach(x) for x in inputs]  # else gradients accumulate over calls
        dr.enable_grad(*inputs)
        value = f(*inputs, *constants)
        dr.backward(value)
        return [dr.detach(value), *(dr.grad(x) for x in inputs)]

    def step() -> list[Any]:
        result = value_and_gradients(inputs, constants)
        dr.eval(result)
        dr.sync_thread()
        return reshape_like(data, result)

    return LibraryVariant(step)


def _derivatives(data: Derivatives) -> LibraryVariant:
    """A Jacobian with one reverse pass per row, because Dr.Jit has no vmap."""
    if data.kind == "hessian":
        raise LeftOut(FIRST_ORDER)
    f = function_of(data, OPS)
    x, *constants = _tensors([data.x, *data.constants])
    units = _tensors(list(np.eye(data.x.size)))

    @dr.freeze
    def matrix(x: Any, units: list[Any], constants: list[Any]) -> list[Any]:
        x = dr.detach(x)
        dr.enable_grad(x)
        y = f(x, *constants)
        rows = []
        for unit in units:
            dr.clear_grad(x)
            dr.set_grad(y, unit)
            dr.enqueue(dr.ADMode.Backward, y)
            dr.traverse(dr.ADMode.Backward, dr.ADFlag.ClearInterior)
            rows.append(dr.grad(x))
        return rows

    def step() -> Array:
        rows = matrix(x, units, constants)
        dr.eval(rows)
        return np.stack([np.asarray(row) for row in rows])

    return LibraryVariant(step)


BUILDERS = {
    Chain: _chain,
    Network: _network,
    Formula: _formula,
    BenchmarkProgram: _program,
    Derivatives: _derivatives,
}


def variants(data: Data) -> dict[str, LibraryVariant]:
    """Returns the variants for a case's inputs."""
    return {"Dr.Jit": build(data, BUILDERS)}
