"""numtape: eager, replayed by ``nt.function``, and with ``jit_compile``."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import numtape as nt
from benchmarks.cases import COMPILED, OURS, REPLAYED, UNFUSED
from benchmarks.inputs import BenchmarkProgram, Chain, Data, Derivatives, Formula, Network
from benchmarks.libs import LibraryVariant, build, function_of
from numtape.core.cpu import sweeper as cpu
from numtape.core.log.log import Log, local

Made = Callable[[Callable[..., Any]], Callable[..., Any]]

OPS = SimpleNamespace(
    log=nt.math.log,
    sqrt=nt.sqrt,
    erf=nt.math.erf,
    exp=nt.exp,
    sin=nt.sin,
    tanh=nt.tanh,
    sum=nt.reduce_sum,
    mean=nt.reduce_mean,
    sigmoid=nt.sigmoid,
    relu=nt.nn.relu,
    solve=nt.linalg.solve,
    convolved=lambda x, filters: nt.nn.conv2d(x, filters, 1, "VALID"),
)


def _chain(data: Chain, created: Made) -> LibraryVariant:
    x = nt.constant(data.x)

    @created
    def gradient(x: nt.Tensor) -> nt.Tensor:
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(data.length):
                y = nt.sin(y) * x
        return tape.gradient(y, x)

    return LibraryVariant(lambda: float(gradient(x)))


def network(data: Network, created: Made) -> LibraryVariant:
    """Training steps whose losses are not evaluated."""
    x, target = nt.constant(data.x), nt.constant(data.target)
    variables = [nt.Variable(w) for w in data.weights]
    *hidden, last = zip(variables[::2], variables[1::2], strict=True)
    activation = {"tanh": nt.tanh, "relu": nt.nn.relu}[data.activation]
    optimizer = nt.keras.optimizers.SGD(data.learning_rate)

    def loss_of(x: nt.Tensor, target: nt.Tensor) -> nt.Tensor:
        for kernel, bias in hidden:
            x = activation(x @ kernel + bias)
        out = x @ last[0] + last[1]
        if data.loss == "mean_squared_error":
            return nt.reduce_mean(nt.square(out - target))
        return nt.reduce_mean(
            nt.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=out)
        )

    @created
    def update(x: nt.Tensor, target: nt.Tensor) -> nt.Tensor:
        with nt.GradientTape() as tape:
            loss = loss_of(x, target)
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    return LibraryVariant(lambda: update(x, target), lambda: [v.numpy() for v in variables])


def _network(data: Network, created: Made) -> LibraryVariant:
    advancing = network(data, created)
    # In eager mode, evaluating the loss also computes the pending updates.
    return LibraryVariant(lambda: float(advancing.step()), advancing.weights)


def _program(data: BenchmarkProgram, created: Made) -> LibraryVariant:
    inputs = [nt.constant(x) for x in data.inputs]
    constants = [nt.constant(x) for x in data.constants]
    f = function_of(data, OPS)

    @created
    def value_and_gradients(*inputs: nt.Tensor) -> list[nt.Tensor]:
        with nt.GradientTape() as tape:
            tape.watch(inputs)
            value = f(*inputs, *constants)
        return [value, *tape.gradient(value, list(inputs))]

    def step() -> list[nt.Tensor]:
        results = value_and_gradients(*inputs)
        # In eager mode, evaluating one element of the value also computes all gradients.
        float(results[0][-1] if len(results[0].shape) else results[0])
        return results

    return LibraryVariant(step)


def _derivatives(data: Derivatives, created: Made) -> LibraryVariant:
    x, constants = nt.constant(data.x), [nt.constant(c) for c in data.constants]
    f = function_of(data, OPS)

    def gradient(x: nt.Tensor) -> nt.Tensor:
        with nt.GradientTape() as tape:
            tape.watch(x)
            value = f(x, *constants)
        return tape.gradient(value, x)

    @created
    def matrix(x: nt.Tensor) -> nt.Tensor:
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = gradient(x) if data.kind == "hessian" else f(x, *constants)
        return tape.jacobian(y, x)

    return LibraryVariant(lambda: np.asarray(matrix(x)))


BUILDERS = {Chain: _chain, Network: _network, BenchmarkProgram: _program, Derivatives: _derivatives}


def variants(data: Data) -> dict[str, LibraryVariant]:
    """Returns the variants for a case's inputs."""
    ways: dict[str, Made] = {
        OURS: lambda function: function,
        REPLAYED: nt.function,
        COMPILED: lambda function: nt.function(function, jit_compile=True),
    }
    variants = {heading: build(data, BUILDERS, created) for heading, created in ways.items()}
    if isinstance(data, Formula):
        variants[UNFUSED] = _disable_fusion(_program(data, lambda function: function))
    return variants


def _disable_fusion(variant: LibraryVariant) -> LibraryVariant:
    """Returns the variant with its own log, whose plans are never compiled."""
    own, step = Log(), variant.step

    def alone() -> object:
        before, hot = local.log, cpu.HOT
        local.log, cpu.HOT = own, 1 << 62
        try:
            return step()
        finally:
            local.log, cpu.HOT = before, hot

    return LibraryVariant(alone, variant.weights)
