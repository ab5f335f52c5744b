"""JAX: the whole step is one jitted call that donates the buffers of its weights."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.inputs import BenchmarkProgram, Chain, Data, Derivatives, Network
from benchmarks.libs import LibraryVariant, build, function_of

OPS = SimpleNamespace(
    log=jnp.log,
    sqrt=jnp.sqrt,
    erf=jax.scipy.special.erf,
    exp=jnp.exp,
    sin=jnp.sin,
    tanh=jnp.tanh,
    sum=jnp.sum,
    mean=jnp.mean,
    sigmoid=jax.nn.sigmoid,
    relu=jax.nn.relu,
    solve=jnp.linalg.solve,
    convolved=lambda x, filters: jax.lax.conv_general_dilated(
        x, filters, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    ),
)


def _chain(data: Chain) -> LibraryVariant:
    def f(x: jax.Array) -> jax.Array:
        y = x
        for _ in range(data.length):
            y = jnp.sin(y) * x
        return y

    x = jnp.asarray(data.x)
    gradient = jax.jit(jax.grad(f))
    return LibraryVariant(lambda: float(gradient(x)))


def network(data: Network) -> LibraryVariant:
    """Training steps that do not wait for their losses."""
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

    def step() -> jax.Array:
        nonlocal weights
        loss, weights = compiled(weights, x, target)
        return loss

    return LibraryVariant(step, lambda: [np.array(w) for w in weights])


def _network(data: Network) -> LibraryVariant:
    advancing = network(data)
    # The step is one program, so the weights are ready when the loss is.
    return LibraryVariant(lambda: float(advancing.step()), advancing.weights)


def _program(data: BenchmarkProgram) -> LibraryVariant:
    f = function_of(data, OPS)

    def value_and_gradients(
        inputs: list[jax.Array], constants: list[jax.Array]
    ) -> tuple[jax.Array, ...]:
        value, vjp = jax.vjp(lambda *xs: f(*xs, *constants), *inputs)
        return value, *vjp(jnp.ones_like(value))

    compiled = jax.jit(value_and_gradients)
    # Enable float64 for this case only: the flag is global, and other cases are float32.
    wide = data.inputs[0].dtype == np.float64
    with jax.enable_x64(wide):
        inputs = [jnp.asarray(x) for x in data.inputs]
        constants = [jnp.asarray(x) for x in data.constants]

    def step() -> tuple[jax.Array, ...]:
        with jax.enable_x64(wide):
            return jax.block_until_ready(compiled(inputs, constants))

    return LibraryVariant(step)


def _derivatives(data: Derivatives) -> LibraryVariant:
    of = {"hessian": jax.hessian, "jacobian": jax.jacrev}[data.kind]
    compiled = jax.jit(of(function_of(data, OPS)))
    with jax.enable_x64(True):
        arrays = [jnp.asarray(x) for x in (data.x, *data.constants)]

    def step() -> jax.Array:
        with jax.enable_x64(True):
            return jax.block_until_ready(compiled(*arrays))

    return LibraryVariant(step)


BUILDERS = {Chain: _chain, Network: _network, BenchmarkProgram: _program, Derivatives: _derivatives}


def variants(data: Data) -> dict[str, LibraryVariant]:
    """Returns the variants for a case's inputs."""
    return {"JAX jit": build(data, BUILDERS)}
