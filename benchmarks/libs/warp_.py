"""NVIDIA Warp on the CPU: kernels that it differentiates, launched under its tape."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from benchmarks import formulas
from benchmarks.inputs import Array, Chain, Data, Formula
from benchmarks.libs import Variant

# A loop that is not unrolled keeps no values of its passes, and gives a wrong gradient.
wp.config.max_unroll = 64
wp.config.quiet = True
LENGTH = 50  # as scalar_chain's


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


KERNELS = {formulas.black_scholes: _black_scholes, formulas.long_chain: _long_chain}


def _differentiated(kernel: Any, inputs: list[Array], size: int, launches: int) -> Any:
    """A step that gives the value and the gradients as arrays."""
    dtype = getattr(wp, inputs[0].dtype.name)
    arrays = [wp.array(x, dtype=dtype, device="cpu", requires_grad=True) for x in inputs]
    out = wp.zeros(size, dtype=dtype, device="cpu", requires_grad=True)
    ones = wp.ones(size, dtype=dtype, device="cpu")

    def step() -> list[Array]:
        out.zero_()
        with wp.Tape() as tape:
            wp.launch(kernel, dim=launches, inputs=arrays, outputs=[out], device="cpu")
        tape.backward(grads={out: ones})
        # Arrays without a copy, as the others': the next step has gradients of its own.
        found = [np.array(x.grad.numpy()) for x in arrays]
        tape.zero()
        return [np.array(out.numpy()), *found]

    return step


def _chain(data: Chain) -> Variant:
    assert data.length == LENGTH
    step = _differentiated(_sines, [np.array([data.x])], 1, 1)
    return Variant(lambda: float(step()[1][0]))


def _formula(data: Formula) -> Variant:
    size = data.value_size
    step = _differentiated(KERNELS[data.function], data.inputs, size, len(data.inputs[0]))
    if size > 1:
        return Variant(step)

    def scalar_step() -> list[Any]:
        value, *gradients = step()
        return [value[0], *gradients]

    return Variant(scalar_step)


def variants(data: Data) -> dict[str, Variant]:
    """Gives the variants for a case's inputs; its users write no dense networks in it."""
    if isinstance(data, Chain):
        return {"Warp": _chain(data)}
    if isinstance(data, Formula) and data.function in KERNELS:
        return {"Warp": _formula(data)}
    return {}
