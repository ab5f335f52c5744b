"""The libraries compared on a GPU: one module each, and the table ``LIBRARIES``.

A module ``<name>_`` defines a subclass of ``GpuLibrary``, the interface below. Importing this
package imports none of the libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.gpu.inputs import Data
from benchmarks.inputs import Array


class NoGpuError(Exception):
    """Raised, with the reason, if the library finds no GPU."""


@dataclass(frozen=True)
class BenchmarkStep:
    """One way to perform a step.

    Attributes:
        run: Performs one step and returns its results, which may be pending.
        weights: The current weights as arrays, in the order and layout of the case.
    """

    run: Callable[[], list[Any]]
    weights: Callable[[], list[Array]] = list


class GpuLibrary:
    """The interface of a library.

    Attributes:
        clock: The name of the clock that times it.
    """

    clock = "CUDA events"

    def about(self) -> dict[str, str]:
        """Returns the name of the GPU and other facts for the result.

        Raises:
            NoGpuError: If the library finds no GPU.
        """
        raise NotImplementedError

    def allow_tensor_float(self, allowed: bool) -> None:
        """Allows or forbids TF32 in float32 matrix products."""
        raise NotImplementedError

    def steps(self, data: Data) -> dict[str, Callable[[], BenchmarkStep]]:
        """Returns a factory of each variant's step on these inputs, by column heading.

        Raises:
            NotImplementedError: If the library does not take part in this case.
        """
        raise NotImplementedError

    def seconds(self, run: Callable[[], object], count: int) -> float:
        """Returns the seconds for ``count`` runs, with one wait at the end."""
        raise NotImplementedError

    def fetch(self, array: Any, most: int | None = None) -> Array:
        """Copies an array to the host: all of it, or its last ``most`` elements, flattened."""
        raise NotImplementedError

    def free(self) -> None:
        """Frees unreferenced memory and resets the peak."""
        raise NotImplementedError

    def peak(self) -> int | None:
        """Returns the peak of used bytes since ``free``, or None if unknown."""
        raise NotImplementedError

    def kernels(self) -> int | None:
        """Returns the number of kernels launched so far, or None if unknown."""
        return None

    def copies(self, size: int) -> dict[str, Callable[[], object]]:
        """Returns functions that copy ``size`` bytes on the GPU, by name."""
        return {}

    def product(self, dtype: str, size: int) -> Callable[[], object] | None:
        """Returns a function that multiplies two square matrices, or None to skip the rate."""
        return None

    def overheads(self) -> dict[str, Callable[[], object]]:
        """Returns calls that measure launch overhead only, by name."""
        return {}


@dataclass(frozen=True)
class LibraryEntry:
    """A row of the table below.

    Attributes:
        package: The package to import; the library is skipped if it is not installed.
        module: The module in this folder.
        class_name: Its subclass of ``GpuLibrary``.
        headings: The columns of its variants.
        distributions: The packages whose versions a result records.
    """

    package: str
    module: str
    class_name: str
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

# In the order of measurement: the library with the longest compilation is last.
LIBRARIES = {
    "numtape": LibraryEntry(
        "numtape",
        "numtape_",
        "NumtapeOnGpu",
        ("numtape", "nt.function", "atomics"),
        _OURS,
    ),
    "torch": LibraryEntry("torch", "torch_", "TorchOnGpu", ("PyTorch",), ("torch", "triton")),
    "jax": LibraryEntry(
        "jax", "jax_", "JaxOnGpu", ("JAX jit",), ("jax", "jaxlib", "jax-cuda13-plugin")
    ),
    "torch.compile": LibraryEntry(
        "torch", "torch_compile_", "CompiledTorchOnGpu", ("torch.compile",), ("torch", "triton")
    ),
}
