"""Jacobians, a Hessian and forward mode in numtape and its peers.

``python -m benchmarks.jacobians`` prints a table and writes no files. Times are medians in µs of a
call whose result is read. Each library runs in its own process, and the libraries take turns, so
that background load affects all of them alike. Libraries that are not installed are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .turns import compare

# Column headings and the package that each requires.
LIBRARIES = {
    "numtape": "numtape",
    "nt.function": "numtape",
    "TF eager": "tensorflow",
    "PyTorch": "torch",
    "JAX jit": "jax",
}
CASES = {
    "Jacobian, 200 x 200: three layers of tanh(W x)": "layers",
    "Jacobian, 200 x 200: elementwise only": "elementwise",
    "Hessian of Rosenbrock's function, 50 variables": "hessian",
    "Hessian times a vector, 50 variables, forward over reverse": "product",
}


def _inputs() -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    w = (random.normal(size=(200, 200)) / 14).astype(np.float32)
    return w, random.normal(size=200).astype(np.float32), np.linspace(-1, 1, 50, dtype=np.float32)


def _run_with_tape(tf: Any, wrap: Callable[[Any], Any]) -> dict[str, Callable[[], Any]]:
    """The cases in the API that TensorFlow and numtape share."""
    w, x, h = map(tf.constant, _inputs())

    def jacobian(f: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x)

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            first, second = x[:-1], x[1:]
            y = tf.reduce_sum(100.0 * (second - first * first) ** 2 + (1.0 - first) ** 2)
        return tape.gradient(y, x)

    def layers(x: Any) -> Any:
        for _ in range(3):
            x = tf.tanh(tf.linalg.matvec(w, x))
        return x

    def product(x: Any) -> Any:
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as acc:
            first = slope(x)
        return acc.jvp(first)

    def elementwise(x: Any) -> Any:
        return tf.sin(x) * tf.exp(-x * x) + tf.tanh(x)

    calls = {
        "layers": (wrap(lambda x: jacobian(layers, x)), x),
        "elementwise": (wrap(lambda x: jacobian(elementwise, x)), x),
        "hessian": (wrap(lambda x: jacobian(slope, x)), h),
        "product": (wrap(product), h),
    }
    return {name: lambda f=f, x=x: f(x).numpy() for name, (f, x) in calls.items()}  # type: ignore[misc]


def _torch() -> dict[str, Callable[[], Any]]:
    import torch

    w, x, h = map(torch.tensor, _inputs())

    def layers(x: Any) -> Any:
        for _ in range(3):
            x = torch.tanh(w @ x)
        return x

    def elementwise(x: Any) -> Any:
        return torch.sin(x) * torch.exp(-x * x) + torch.tanh(x)

    def rosenbrock(x: Any) -> Any:
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    gradient, tools = torch.func.grad(rosenbrock), torch.autograd.functional
    return {
        "layers": lambda: tools.jacobian(layers, x, vectorize=True),
        "elementwise": lambda: tools.jacobian(elementwise, x, vectorize=True),
        "hessian": lambda: tools.hessian(rosenbrock, h, vectorize=True),
        "product": lambda: torch.func.jvp(gradient, (h,), (torch.ones_like(h),))[1],
    }


def _jax() -> dict[str, Callable[[], Any]]:
    import jax
    import jax.numpy as jnp

    w, x, h = map(jnp.array, _inputs())

    def layers(x: Any) -> Any:
        for _ in range(3):
            x = jnp.tanh(w @ x)
        return x

    def elementwise(x: Any) -> Any:
        return jnp.sin(x) * jnp.exp(-x * x) + jnp.tanh(x)

    def rosenbrock(x: Any) -> Any:
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    def product(x: Any) -> Any:
        return jax.jvp(jax.grad(rosenbrock), (x,), (jnp.ones_like(x),))[1]

    first, second = jax.jit(jax.jacrev(layers)), jax.jit(jax.jacrev(elementwise))
    third, fourth = jax.jit(jax.hessian(rosenbrock)), jax.jit(product)
    return {
        "layers": lambda: np.asarray(first(x)),
        "elementwise": lambda: np.asarray(second(x)),
        "hessian": lambda: np.asarray(third(h)),
        "product": lambda: np.asarray(fourth(h)),
    }


def calls_of(library: str) -> dict[str, Callable[[], Any]]:
    """A library's functions, by case."""
    if library == "PyTorch":
        return _torch()
    if library == "JAX jit":
        return _jax()
    if library == "TF eager":
        import tensorflow

        return _run_with_tape(tensorflow, lambda f: f)
    import numtape

    return _run_with_tape(numtape, numtape.function if library == "nt.function" else lambda f: f)


if __name__ == "__main__":
    compare(__doc__ or "", calls_of, LIBRARIES, CASES, 20)
