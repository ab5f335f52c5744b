"""The evals in each library, one module each.

``functions(name, arguments, requested)`` returns, by column, a function for the value and one for
value and gradients; both wait for their results. It returns no columns for evals that take the
library too long.
"""

from __future__ import annotations

from typing import NamedTuple


class GradBenchLibrary(NamedTuple):
    """The package to import, the columns, and the packages whose versions a result records."""

    package: str
    headings: tuple[str, ...]
    distributions: tuple[str, ...]


LIBRARIES = {
    "numtape": GradBenchLibrary(
        "numtape", ("numtape", "array ops"), ("numtape", "numba", "llvmlite")
    ),
    "torch": GradBenchLibrary("torch", ("PyTorch",), ("torch",)),
    "jax": GradBenchLibrary("jax", ("JAX",), ("jax", "jaxlib")),
    "autograd": GradBenchLibrary("autograd", ("autograd",), ("autograd",)),
}
