"""The libraries that are compared: one module each, and the table that names them.

A module ``<name>_`` gives ``variants(data)``: the ways its library performs one step on the
inputs ``data`` of a case, by column heading, or none if it does not take part in that kind of
case. This table can be read without importing any of the libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.inputs import Array


@dataclass(frozen=True)
class Variant:
    """One way to perform a step.

    Attributes:
        step: Performs one step and waits for its results, which it returns: a Python float, or
            what ``numpy.asarray`` makes arrays of.
        weights: The current weights as arrays, in the order and layout of the case.
    """

    step: Callable[[], Any]
    weights: Callable[[], list[Array]] = list


@dataclass(frozen=True)
class Library:
    """A row of the table below.

    Attributes:
        package: What is imported; the library is skipped where it is not installed.
        headings: The columns of its variants; whole-process figures stand in the first.
        import_source: How its users import it.
        gradient_source: The gradient of ``sin(x) * x`` at ``GRADIENT_AT``, as the name ``g``.
        distributions: The installed packages whose versions belong to a result.
        usual: Whether it is measured when nobody asks for more; those that are not take part in
            the steps only.
    """

    package: str
    headings: tuple[str, ...]
    import_source: str
    gradient_source: str
    distributions: tuple[str, ...]
    usual: bool = True


GRADIENT_AT = 1.1

_TAPE = """
x = tf.constant({x})
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.sin(x) * x
g = tape.gradient(y, x)
"""
_TORCH = """
x = torch.tensor({x}, requires_grad=True)
(torch.sin(x) * x).backward()
g = x.grad
"""
_JAX = """
g = jax.jit(jax.grad(lambda x: jnp.sin(x) * x))({x})
"""
_AUTOGRAD = """
g = grad(lambda x: np.sin(x) * x)({x})
"""

LIBRARIES = {
    "numtape": Library(
        "numtape",
        ("numtape", "nt.function", "jit_compile", "not fused"),
        "import numtape as tf",
        _TAPE,
        ("numtape", "numba", "llvmlite", "numpy", "scipy", "optree"),
    ),
    "tensorflow": Library(
        "tensorflow",
        ("TF eager", "tf.function"),
        "import tensorflow as tf",
        _TAPE,
        ("tensorflow", "tensorflow_cpu", "keras"),
    ),
    "torch": Library("torch", ("PyTorch",), "import torch", _TORCH, ("torch",)),
    "jax": Library("jax", ("JAX jit",), "import jax, jax.numpy as jnp", _JAX, ("jax", "jaxlib")),
    "autograd": Library(
        "autograd",
        ("autograd",),
        "from autograd import grad, numpy as np",
        _AUTOGRAD,
        ("autograd",),
    ),
    **{
        name: Library(package, (heading,), "", "", (distribution,), usual=False)
        for name, package, heading, distribution in (
            ("tensorflow_xla", "tensorflow", "TF XLA", "tensorflow"),
            ("torch_compile", "torch", "torch.compile", "torch"),
            ("drjit", "drjit", "Dr.Jit", "drjit"),
            ("pytensor", "pytensor", "PyTensor", "pytensor"),
            ("casadi", "casadi", "CasADi", "casadi"),
            ("warp", "warp", "Warp", "warp-lang"),
            ("mlx", "mlx", "MLX", "mlx"),
        )
    },
}
USUAL = tuple(name for name, library in LIBRARIES.items() if library.usual)
