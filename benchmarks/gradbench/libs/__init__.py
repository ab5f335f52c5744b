"""How each library does the evals: a module each.

``functions(name, arguments, wanted)`` gives by column what computes the value, and what computes
value and gradients; both wait for their results. Evals that a library cannot do in reasonable
time have none.
"""

from __future__ import annotations

from typing import NamedTuple


class Library(NamedTuple):
    """The package to import, the columns, and the packages whose versions a result records."""

    package: str
    headings: tuple[str, ...]
    distributions: tuple[str, ...]


LIBRARIES = {
    "numtape": Library("numtape", ("numtape", "array ops"), ("numtape", "numba", "llvmlite")),
    "torch": Library("torch", ("PyTorch",), ("torch",)),
    "jax": Library("jax", ("JAX",), ("jax", "jaxlib")),
    "autograd": Library("autograd", ("autograd",), ("autograd",)),
}
