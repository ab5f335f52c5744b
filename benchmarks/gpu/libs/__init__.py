"""The libraries that are compared on a GPU: one module each, and the table that names them.

A module ``<name>_`` has a class ``Library``; what it is asked for is the class of the same name
here. This table can be read without importing any of the libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.gpu.inputs import Data
from benchmarks.inputs import Array


class NoGpuError(Exception):
    """The library finds no GPU; says why."""


@dataclass(frozen=True)
class BenchmarkStep:
    """One way to perform a step.

    Attributes:
        run: Performs one step and returns its results, or promises of them.
        weights: The current weights as arrays, in the order and layout of the case.
    """

    run: Callable[[], list[Any]]
    weights: Callable[[], list[Array]] = list


class Library:
    """The interface of a library.

    Attributes:
        clock: By what it is timed.
    """

    clock = "CUDA events"

    def about(self) -> dict[str, str]:
        """Says which GPU it finds, and more that belongs to a result.

        Raises:
            NoGpuError: If it finds none.
        """
        raise NotImplementedError

    def allow_tensor_float(self, allowed: bool) -> None:
        """Lets products of float32 be computed with TF32, or not."""
        raise NotImplementedError

    def steps(self, data: Data) -> dict[str, Callable[[], BenchmarkStep]]:
        """Gives what makes each variant's step on these inputs, by column heading.

        Raises:
            NotImplementedError: If the library does not take part in this case.
        """
        raise NotImplementedError

    def seconds(self, run: Callable[[], object], count: int) -> float:
        """Gives the seconds until so many runs are done, waiting once, at the end."""
        raise NotImplementedError

    def fetch(self, array: Any, most: int | None = None) -> Array:
        """Gives an array on the host: all of it, or its last elements in one row."""
        raise NotImplementedError

    def free(self) -> None:
        """Gives back what nothing refers to any more, and counts the peak of memory again."""
        raise NotImplementedError

    def peak(self) -> int | None:
        """Gives the bytes that were in use at most since ``free``, if the library knows."""
        raise NotImplementedError

    def kernels(self) -> int | None:
        """Gives how many kernels were launched so far, if the library counts them."""
        return None

    def copies(self, size: int) -> dict[str, Callable[[], object]]:
        """Gives ways to copy so many bytes on the GPU."""
        return {}

    def product(self, dtype: str, size: int) -> Callable[[], object] | None:
        """Gives what multiplies two square matrices, if the library is asked for it."""
        return None

    def overheads(self) -> dict[str, Callable[[], object]]:
        """Gives what takes no time but that of asking for it."""
        return {}


@dataclass(frozen=True)
class LibraryEntry:
    """A row of the table below.

    Attributes:
        package: The package to import; the library is skipped if it is not installed.
        module: The module in this folder.
        headings: The columns of its variants.
        distributions: The installed packages whose versions belong to a result.
    """

    package: str
    module: str
    headings: tuple[str, ...]
    distributions: tuple[str, ...]


_OURS = (
    "numtape",
    "numba",
    "numba-cuda",
    "cuda-core",
    "cuda-bindings",
    "nvidia-cublas",
    "nvidia-nvjitlink",
)

# In the order in which they are measured: what takes longest to compile is last.
LIBRARIES = {
    "numtape": LibraryEntry(
        "numtape",
        "numtape_",
        ("numtape", "nt.function", "atomics"),
        _OURS,
    ),
    "torch": LibraryEntry("torch", "torch_", ("PyTorch",), ("torch", "triton")),
    "jax": LibraryEntry("jax", "jax_", ("JAX jit",), ("jax", "jaxlib", "jax-cuda13-plugin")),
    "torch.compile": LibraryEntry(
        "torch", "torch_compile_", ("torch.compile",), ("torch", "triton")
    ),
}
