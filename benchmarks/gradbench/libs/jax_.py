"""JAX in float64: jitted functions with loops as scans, which wait for their results."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)


def lstm(main: Any, extra: Any, start: Any, sequence: Any) -> Any:
    """The loss of a diagonal LSTM."""
    b = sequence.shape[1]
    layers = [(main[k].reshape(4, b), main[k + 1].reshape(4, b)) for k in range(0, len(main), 2)]

    def step(state: Any, characters: Any) -> Any:
        now, following = characters
        x = now * extra[0]
        hidden, cells = [], []
        for (w, v), h, c in zip(layers, *state, strict=True):
            f = jax.nn.sigmoid(x * w[0] + v[0])
            i = jax.nn.sigmoid(h * w[1] + v[1])
            o = jax.nn.sigmoid(x * w[2] + v[2])
            g = jnp.tanh(h * w[3] + v[3])
            cells.append(c * f + i * g)
            x = o * jnp.tanh(cells[-1])
            hidden.append(x)
        y = x * extra[1] + extra[2]
        return (hidden, cells), (following * (y - jnp.log(2 + jnp.exp(y).sum()))).sum()

    state = list(start[::2]), list(start[1::2])
    _, losses = jax.lax.scan(step, state, (sequence[:-1], sequence[1:]))
    return -losses.sum() / (b * (len(sequence) - 1))


def llsq(x: Any, t: Any) -> Any:
    """Half the sum of squared differences of a polynomial and the sign function."""
    powers = jnp.vander(t, len(x), increasing=True)
    return 0.5 * ((jnp.sign(t) - powers @ x) ** 2).sum()


def lse(x: Any) -> Any:
    """The logarithm of a sum of exponentials."""
    top = x.max()
    return top + jnp.log(jnp.exp(x - top).sum())


def ode(x: Any, steps: int, weights: Any) -> Any:
    """A weighted sum of the state after Runge-Kutta steps from y = 0."""
    h = 2.0 / steps

    def slope(y: Any) -> Any:
        return jnp.concatenate([x[:1], x[1:] * y[:-1]])

    def step(y: Any, _: None) -> Any:
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    return weights @ jax.lax.scan(step, jnp.zeros_like(x), None, length=steps)[0]


def logistic(r: Any, y: Any, steps: int) -> Any:
    """The logistic map, iterated ``steps`` times."""

    def step(y: Any, _: None) -> Any:
        return r * y * (1.0 - y), None

    return jax.lax.scan(step, y, None, length=steps)[0]


EVALS = {"lstm": lstm, "llsq": llsq, "lse": lse, "ode": ode, "logistic": logistic}


def functions(name: str, arguments: tuple[Any, ...], requested: tuple[int, ...]) -> dict[str, Any]:
    """See `benchmarks.gradbench.libs`."""
    if name not in EVALS:
        return {}
    provided = [x if isinstance(x, int) else jnp.asarray(x, jnp.float64) for x in arguments]
    steady = tuple(k for k, x in enumerate(arguments) if isinstance(x, int))
    compiled = partial(jax.jit, static_argnums=steady)
    primal = compiled(EVALS[name])
    gradient = compiled(jax.value_and_grad(EVALS[name], requested))

    def both() -> Any:
        y, value = jax.block_until_ready(gradient(*provided))
        return float(y), [np.asarray(g) for g in value]

    return {"JAX": (lambda: float(jax.block_until_ready(primal(*provided))), both)}
