"""Dr.Jit on the CPU by LLVM: steps are frozen functions, traced once and launched again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import drjit as dr
import numpy as np
from drjit.llvm.ad import Float, Float64

from benchmarks.inputs import Chain, Data, Formula
from benchmarks.libs import Variant

OPS = SimpleNamespace(
    log=dr.log, sqrt=dr.sqrt, erf=dr.erf, exp=dr.exp, sin=dr.sin, tanh=dr.tanh, sum=dr.sum
)


def _chain(data: Chain) -> Variant:
    @dr.freeze
    def gradient(x: Any) -> Any:
        dr.enable_grad(x)
        y = x
        for _ in range(data.length):
            y = dr.sin(y) * x
        dr.backward(y)
        return dr.grad(x)

    return Variant(lambda: gradient(Float(data.x))[0])


def _formula(data: Formula) -> Variant:
    kind = Float64 if data.inputs[0].dtype == np.float64 else Float
    inputs = [kind(x) for x in data.inputs]

    @dr.freeze
    def value_and_gradients(*inputs: Any) -> list[Any]:
        dr.enable_grad(*inputs)
        value = data.function(OPS, *inputs)
        dr.backward(value)
        return [dr.detach(value), *(dr.grad(x) for x in inputs)]

    def step() -> list[Any]:
        value, *gradients = value_and_gradients(*inputs)
        dr.sync_thread()
        return [value if data.value_size > 1 else value[0], *gradients]

    return Variant(step)


def variants(data: Data) -> dict[str, Variant]:
    """Gives the variants for a case's inputs; it has no products of matrices this large."""
    if isinstance(data, Chain):
        return {"Dr.Jit": _chain(data)}
    if isinstance(data, Formula):
        return {"Dr.Jit": _formula(data)}
    return {}
