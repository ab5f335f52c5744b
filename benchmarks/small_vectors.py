"""ODEs with a state of two elements, in numtape and its peers.

``python -m benchmarks.small_vectors`` integrates a Lotka-Volterra model by 200 steps of the
fourth-order Runge-Kutta method, and differentiates the distance from a point with respect to the
four parameters. The model is written with ``z[0]`` and ``stack``, and with scalars; a linear system
uses products with a small matrix. JAX runs a compiled ``scan``.

Prints a table and writes no files. Times are medians in µs of a call whose result is read.
Libraries that are not installed are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .turns import compare

STEPS, H = 200, 0.05
PARAMETERS, START = [1.1, 0.4, 0.1, 0.4], [10.0, 5.0]
MATRIX = [[-0.5, 1.0], [-1.0, -0.1]]
# Eager TensorFlow is left out: it takes seconds per call.
LIBRARIES = {
    "numtape": "numtape",
    "nt.function": "numtape",
    "PyTorch": "torch",
    "JAX jit": "jax",
}
CASES = {
    "Lotka-Volterra, `stack` and `z[0]`": "stack",
    "Lotka-Volterra, scalars": "scalars",
    "linear system, `matvec` with 2 x 2": "matvec",
}


def _step(f: Callable[[Any], Any], z: Any) -> Any:
    a = f(z)
    b = f(z + H / 2 * a)
    c = f(z + H / 2 * b)
    d = f(z + H * c)
    return z + H / 6 * (a + 2 * b + 2 * c + d)


def _flow(z: Any, p: Any, stack: Any) -> Any:
    x, y = z[0], z[1]
    return stack([p[0] * x - p[1] * x * y, p[2] * x * y - p[3] * y])


def _stack_values(p: Any, z: Any, stack: Any, total: Any) -> Any:
    loss = 0.0
    for _ in range(STEPS):
        z = _step(lambda z: _flow(z, p, stack), z)
        loss = loss + total((z - 1.0) ** 2)
    return loss


def _scalars(p: Any, z: Any) -> Any:
    (x, y), (p, q, r, s) = (z[0], z[1]), (p[0], p[1], p[2], p[3])
    loss = 0.0

    def flow(x: Any, y: Any) -> Any:
        return p * x - q * x * y, r * x * y - s * y

    for _ in range(STEPS):
        (a, e), h = flow(x, y), H / 2
        b, f = flow(x + h * a, y + h * e)
        c, g = flow(x + h * b, y + h * f)
        d, k = flow(x + H * c, y + H * g)
        x = x + H / 6 * (a + 2 * b + 2 * c + d)
        y = y + H / 6 * (e + 2 * f + 2 * g + k)
        loss = loss + (x - 1.0) ** 2 + (y - 1.0) ** 2
    return loss


def _linear(m: Any, z: Any, matvec: Any, total: Any) -> Any:
    loss = 0.0
    for _ in range(STEPS):
        z = _step(lambda z: matvec(m, z), z)
        loss = loss + total((z - 1.0) ** 2)
    return loss


def _run_with_tape(tf: Any, wrap: Callable[[Any], Any]) -> dict[str, Callable[[], Any]]:
    p, z, m = tf.Variable(PARAMETERS), tf.constant(START), tf.Variable(MATRIX)

    def gradient(f: Callable[[], Any], x: Any) -> Any:
        def value() -> Any:
            with tf.GradientTape() as tape:
                loss = f()
            return tape.gradient(loss, x)

        call = wrap(value)
        return lambda: call().numpy()

    return {
        "stack": gradient(lambda: _stack_values(p, z, tf.stack, tf.reduce_sum), p),
        "scalars": gradient(lambda: _scalars(p, z), p),
        "matvec": gradient(lambda: _linear(m, z, tf.linalg.matvec, tf.reduce_sum), m),
    }


def _torch() -> dict[str, Callable[[], Any]]:
    import torch

    z = torch.tensor(START)
    p, m = (torch.tensor(x, requires_grad=True) for x in (PARAMETERS, MATRIX))

    def gradient(f: Callable[[], Any], x: Any) -> Any:
        return lambda: torch.autograd.grad(f(), x)[0].numpy()

    return {
        "stack": gradient(lambda: _stack_values(p, z, torch.stack, torch.sum), p),
        "scalars": gradient(lambda: _scalars(p, z), p),
        "matvec": gradient(lambda: _linear(m, z, torch.mv, torch.sum), m),
    }


def _jax() -> dict[str, Callable[[], Any]]:
    import jax
    import jax.numpy as jnp
    import numpy as np

    p, z, m = (jnp.array(x, jnp.float32) for x in (PARAMETERS, START, MATRIX))

    def scan(f: Callable[[Any, Any], Any], x: Any) -> Any:
        def loss(x: Any) -> Any:
            def body(z: Any, _: Any) -> Any:
                z = _step(lambda z: f(x, z), z)
                return z, jnp.sum((z - 1.0) ** 2)

            return jnp.sum(jax.lax.scan(body, z, length=STEPS)[1])

        gradient = jax.jit(jax.grad(loss))
        return lambda: np.asarray(gradient(x))

    return {
        "stack": scan(lambda p, z: _flow(z, p, jnp.stack), p),
        "matvec": scan(lambda m, z: m @ z, m),
    }


def calls_of(library: str) -> dict[str, Callable[[], Any]]:
    """A library's functions, by case."""
    if library == "PyTorch":
        return _torch()
    if library == "JAX jit":
        return _jax()
    import numtape

    return _run_with_tape(numtape, numtape.function if library == "nt.function" else lambda f: f)


if __name__ == "__main__":
    compare(__doc__ or "", calls_of, LIBRARIES, CASES, 3)
