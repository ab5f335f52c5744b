"""NVIDIA Warp on the CPU: differentiable kernels, launched under its tape."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import warp as wp

from benchmarks import formulas, programs
from benchmarks.inputs import Array, BenchmarkProgram, Chain, Data, Derivatives
from benchmarks.libs import FIRST_ORDER, LeftOut, LibraryVariant, build, function_of, reshape_like

# A loop that is not unrolled stores no intermediate values and yields a wrong gradient.
wp.config.max_unroll = 64
wp.config.quiet = True
LENGTH = 50  # of ``scalar_chain``
# The constants of ``asian_option``.
STEPS, YEARS, STRIKE = 64, programs.YEARS, programs.STRIKE
DT = YEARS / STEPS


@wp.kernel
def _sines(x: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    y = x[0]
    for _ in range(LENGTH):
        y = wp.sin(y) * x[0]
    out[0] = y


@wp.func
def _below(z: wp.float64):
    return wp.float64(0.5) * (wp.float64(1.0) + wp.erf(z * wp.sqrt(wp.float64(0.5))))


@wp.kernel
def _black_scholes(
    spot: wp.array(dtype=wp.float64),
    strike: wp.array(dtype=wp.float64),
    rate: wp.array(dtype=wp.float64),
    volatility: wp.array(dtype=wp.float64),
    time: wp.array(dtype=wp.float64),
    out: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    s, k, r, v, t = spot[i], strike[i], rate[i], volatility[i], time[i]
    spread = v * wp.sqrt(t)
    d1 = (wp.log(s / k) + (r + wp.float64(0.5) * v * v) * t) / spread
    out[i] = s * _below(d1) - k * wp.exp(-r * t) * _below(d1 - spread)


@wp.kernel
def _long_chain(
    x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)
):
    i = wp.tid()
    wp.atomic_add(out, 0, wp.tanh(wp.sin(x[i] * x[i] + y[i]) * wp.exp(-x[i])) * y[i])


@wp.kernel
def _asian(
    spot: wp.array(dtype=wp.float64),
    rate: wp.array(dtype=wp.float64),
    volatility: wp.array(dtype=wp.float64),
    noise: wp.array2d(dtype=wp.float64),
    out: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    r, v = rate[0], volatility[0]
    dt = wp.float64(DT)
    drift, spread = (r - wp.float64(0.5) * v * v) * dt, v * wp.sqrt(dt)
    price, total = wp.float64(spot[0]), wp.float64(0.0)
    for k in range(STEPS):
        price = price * wp.exp(drift + spread * noise[k, i])
        total = total + price
    gain = wp.max(total / wp.float64(STEPS) - wp.float64(STRIKE), wp.float64(0.0))
    discount = wp.exp(-r * wp.float64(YEARS))
    wp.atomic_add(out, 0, discount * gain / wp.float64(noise.shape[1]))


@wp.kernel
def _product(
    weights: wp.array2d(dtype=wp.float64),
    x: wp.array(dtype=wp.float64),
    out: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    total = wp.float64(0.0)
    for k in range(x.shape[0]):  # the gradient of a sum needs no intermediates
        total += weights[i, k] * x[k]
    out[i] = total


@wp.kernel
def _squash(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = wp.tanh(x[i])  # in _product, the reverse sweep would see a sum of 0


KERNELS = {
    formulas.black_scholes: _black_scholes,
    formulas.long_chain: _long_chain,
    programs.asian: _asian,
}
# Warp's only solver is for symmetric systems, and Warp has no network layers.
OPS = SimpleNamespace()


def _array(x: Array, differentiated: bool) -> Any:
    dtype = getattr(wp, x.dtype.name)
    return wp.array(x, dtype=dtype, device="cpu", requires_grad=differentiated)


def _back(tape: Any, out: Any, seed: Any, arrays: list[Any]) -> list[Array]:
    """The gradients; the tape is zeroed so that the next reverse pass starts from zero."""
    tape.backward(grads={out: seed})
    results = [np.array(x.grad.numpy()) for x in arrays]
    tape.zero()
    return results


def _differentiate(
    kernel: Any, inputs: list[Array], constants: list[Array], size: int, launches: int
) -> Any:
    """A step that returns the value and the gradients as arrays."""
    arrays, fixed = [_array(x, True) for x in inputs], [_array(x, False) for x in constants]
    dtype = arrays[0].dtype
    out = wp.zeros(size, dtype=dtype, device="cpu", requires_grad=True)
    ones = wp.ones(size, dtype=dtype, device="cpu")

    def step() -> list[Array]:
        out.zero_()
        with wp.Tape() as tape:
            wp.launch(kernel, dim=launches, inputs=[*arrays, *fixed], outputs=[out], device="cpu")
        return [np.array(out.numpy()), *_back(tape, out, ones, arrays)]

    return step


def _chain(data: Chain) -> LibraryVariant:
    assert data.length == LENGTH
    step = _differentiate(_sines, [np.array([data.x])], [], 1, 1)
    return LibraryVariant(lambda: float(step()[1][0]))


def _program(data: BenchmarkProgram) -> LibraryVariant:
    """Scalar values and inputs are stored as arrays of one element."""
    kernel = function_of(data, OPS, KERNELS)
    size = math.prod(data.shapes()[0])
    launches = data.inputs[0].size
    if data.function is programs.asian:
        steps, launches = data.constants[0].shape
        assert steps == STEPS
    inputs = [np.atleast_1d(x) for x in data.inputs]
    step = _differentiate(kernel, inputs, data.constants, size, launches)
    return LibraryVariant(lambda: reshape_like(data, step()))


def _derivatives(data: Derivatives) -> LibraryVariant:
    """Each row is a separate reverse pass: ``warp.autograd.jacobian`` accumulates intermediates."""
    if data.kind == "hessian":
        raise LeftOut(FIRST_ORDER)
    size = data.x.size
    x, (weights,) = _array(data.x, True), [_array(c, False) for c in data.constants]

    stages = [wp.zeros(size, x.dtype, device="cpu", requires_grad=True) for _ in range(4)]
    units = [_array(row, False) for row in np.eye(size)]

    def step() -> Array:
        with wp.Tape() as tape:
            for before, product, after in ((x, *stages[:2]), stages[1:]):
                wp.launch(_product, size, [weights, before], [product], device="cpu")
                wp.launch(_squash, size, [product], [after], device="cpu")
        return np.stack([_back(tape, stages[-1], unit, [x])[0] for unit in units])

    return LibraryVariant(step)


BUILDERS = {Chain: _chain, BenchmarkProgram: _program, Derivatives: _derivatives}


def variants(data: Data) -> dict[str, LibraryVariant]:
    """Returns the variants for a case's inputs."""
    return {"Warp": build(data, BUILDERS)}
