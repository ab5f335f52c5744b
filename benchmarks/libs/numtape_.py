"""numtape, eager."""

from __future__ import annotations

from types import SimpleNamespace

import numtape as nt
from benchmarks.inputs import Chain, Data, Formula, Network
from benchmarks.libs import Variant


def _chain(data: Chain) -> Variant:
    x = nt.constant(data.x)

    def step() -> float:
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(data.length):
                y = nt.sin(y) * x
        return float(tape.gradient(y, x))

    return Variant(step)


def _network(data: Network) -> Variant:
    x, target = nt.constant(data.x), nt.constant(data.target)
    variables = [nt.Variable(w) for w in data.weights]
    *hidden, last = zip(variables[::2], variables[1::2], strict=True)
    activation = {"tanh": nt.tanh, "relu": nt.nn.relu}[data.activation]
    optimizer = nt.keras.optimizers.SGD(data.learning_rate)

    def loss_of(x: nt.Tensor) -> nt.Tensor:
        for kernel, bias in hidden:
            x = activation(x @ kernel + bias)
        out = x @ last[0] + last[1]
        if data.loss == "mean_squared_error":
            return nt.reduce_mean(nt.square(out - target))
        return nt.reduce_mean(
            nt.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=out)
        )

    def step() -> float:
        with nt.GradientTape() as tape:
            loss = loss_of(x)
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return float(loss)  # a look computes the pending updates too

    return Variant(step, lambda: [v.numpy() for v in variables])


def _formula(data: Formula) -> Variant:
    ops = SimpleNamespace(
        log=nt.math.log,
        sqrt=nt.sqrt,
        erf=nt.math.erf,
        exp=nt.exp,
        sin=nt.sin,
        tanh=nt.tanh,
        sum=nt.reduce_sum,
    )
    inputs = [nt.constant(x) for x in data.inputs]

    def step() -> list[nt.Tensor]:
        with nt.GradientTape() as tape:
            tape.watch(inputs)
            value = data.function(ops, *inputs)
        gradients = tape.gradient(value, inputs)
        # A look at any of its elements computes the value, and with it all gradients.
        float(value[-1] if len(value.shape) else value)
        return [value, *gradients]

    return Variant(step)


def variants(data: Data) -> dict[str, Variant]:
    """Gives the variants for a case's inputs."""
    if isinstance(data, Chain):
        return {"numtape": _chain(data)}
    if isinstance(data, Network):
        return {"numtape": _network(data)}
    if isinstance(data, Formula):
        return {"numtape": _formula(data)}
    return {}
