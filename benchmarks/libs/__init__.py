"""The compared libraries: one module each, and the table ``LIBRARIES``.

A module ``<name>_`` defines ``variants(data)``, which returns, by column heading, the library's
ways to perform one step on the inputs ``data`` of a case. It raises ``LeftOut`` if the library
cannot express that step. Importing this package imports none of the libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.inputs import Array, BenchmarkProgram, Data, Derivatives


class LeftOut(Exception):
    """Raised, with the reason, if a library does not take part in a case."""


@dataclass(frozen=True)
class LibraryVariant:
    """One way to perform a step.

    Attributes:
        step: Performs one step, waits for its results and returns them: a Python float, or
            objects that ``numpy.asarray`` accepts.
        weights: The current weights as arrays, in the order and layout of the case.
    """

    step: Callable[[], Any]
    weights: Callable[[], list[Array]] = list


def build(
    data: Data, builders: Mapping[type, Callable[..., LibraryVariant]], *arguments: object
) -> LibraryVariant:
    """Builds a variant with the builder for the class of ``data``.

    A class without a builder uses that of its nearest base class.

    Raises:
        LeftOut: If no builder exists, or the library cannot express the case.
    """
    builder = next((builders[kind] for kind in type(data).__mro__ if kind in builders), None)
    if builder is None:
        raise LeftOut(_NO_KIND[type(data).__name__])
    return builder(data, *arguments)


def function_of(
    data: BenchmarkProgram | Derivatives,
    ops: Any,
    written: Mapping[Callable[..., Any], Callable[..., Any]] | None = None,
) -> Callable[..., Any]:
    """Returns a case's program in terms of a library's functions.

    Args:
        data: The inputs of the case.
        ops: The library's functions.
        written: Programs rewritten for the library.

    Raises:
        LeftOut: If the library lacks a function.
    """
    if written and data.function in written:
        return written[data.function]
    lacking = [name for name in data.needs if not hasattr(ops, name)]
    if lacking:
        raise LeftOut(_NO_FUNCTION[lacking[0]])
    return partial(data.function, ops)


def reshape_like(data: BenchmarkProgram, value: Iterable[Any]) -> list[Any]:
    """Returns a value and its gradients in the shapes of their case.

    Some libraries lack 0-d or 1-d arrays.
    """
    return [
        x if tuple(x.shape) == shape else np.asarray(x).reshape(shape)
        for x, shape in zip(value, data.shapes(), strict=True)
    ]


FIRST_ORDER = "no derivatives of derivatives"
_NO_KIND = {
    "Network": "no layers of networks",
    "BenchmarkProgram": "no such programs",
    "Derivatives": "no derivatives of vectors",
}
_NO_FUNCTION = {
    "solve": "no solver of general systems that has a derivative",
    "convolved": "no convolutions of many channels",
    "sigmoid": "no layers of networks",
}


@dataclass(frozen=True)
class BenchmarkLibrary:
    """A row of the table below.

    Attributes:
        package: The package to import; the library is skipped if it is not installed.
        headings: The columns of its variants; whole-process figures go in the first.
        import_source: The customary import statement.
        gradient_source: Code that sets ``g`` to the gradient of ``sin(x) * x`` at ``{x}``.
        distributions: The packages whose versions a result records.
        usual: Whether it is measured by default; other libraries run the step cases only.
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
    "numtape": BenchmarkLibrary(
        "numtape",
        ("numtape", "nt.function", "jit_compile", "not fused"),
        "import numtape as tf",
        _TAPE,
        ("numtape", "numba", "llvmlite", "numpy", "scipy", "optree"),
    ),
    "tensorflow": BenchmarkLibrary(
        "tensorflow",
        ("TF eager", "tf.function"),
        "import tensorflow as tf",
        _TAPE,
        ("tensorflow", "tensorflow_cpu", "keras"),
    ),
    "torch": BenchmarkLibrary("torch", ("PyTorch",), "import torch", _TORCH, ("torch",)),
    "jax": BenchmarkLibrary(
        "jax", ("JAX jit",), "import jax, jax.numpy as jnp", _JAX, ("jax", "jaxlib")
    ),
    "autograd": BenchmarkLibrary(
        "autograd",
        ("autograd",),
        "from autograd import grad, numpy as np",
        _AUTOGRAD,
        ("autograd",),
    ),
    **{
        name: BenchmarkLibrary(package, (heading,), "", "", (distribution,), usual=False)
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
