"""JAX: the whole step is one jitted call that reuses its weights' buffers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.cases import Chain, Data, Network
from benchmarks.libs import Variant


def _chain(data: Chain) -> Variant:
    def f(x: jax.Array) -> jax.Array:
        y = x
        for _ in range(data.length):
            y = jnp.sin(y) * x
        return y

    x = jnp.asarray(data.x)
    gradient = jax.jit(jax.grad(f))
    return Variant(lambda: float(gradient(x)))


def _network(data: Network) -> Variant:
    x, target = jnp.asarray(data.x), jnp.asarray(data.target)
    weights = [jnp.array(w) for w in data.weights]
    activation = {"tanh": jnp.tanh, "relu": jax.nn.relu}[data.activation]

    def loss_of(weights: list[jax.Array], x: jax.Array, target: jax.Array) -> jax.Array:
        *hidden, last = zip(weights[::2], weights[1::2], strict=True)
        for kernel, bias in hidden:
            x = activation(x @ kernel + bias)
        out = x @ last[0] + last[1]
        if data.loss == "mean_squared_error":
            return jnp.mean(jnp.square(out - target))
        picked = jnp.take_along_axis(jax.nn.log_softmax(out), target[:, None], axis=1)
        return -jnp.mean(picked)

    def update(
        weights: list[jax.Array], x: jax.Array, target: jax.Array
    ) -> tuple[jax.Array, list[jax.Array]]:
        loss, gradients = jax.value_and_grad(loss_of)(weights, x, target)
        return loss, jax.tree.map(lambda w, g: w - data.learning_rate * g, weights, gradients)

    compiled = jax.jit(update, donate_argnums=0)

    def step() -> float:
        nonlocal weights
        loss, weights = compiled(weights, x, target)
        return float(loss)  # one program: the weights are done when the loss is

    return Variant(step, lambda: [np.array(w) for w in weights])


def variants(data: Data) -> dict[str, Variant]:
    """Gives the variants for a case's inputs."""
    if isinstance(data, Chain):
        return {"JAX jit": _chain(data)}
    if isinstance(data, Network):
        return {"JAX jit": _network(data)}
    return {}
