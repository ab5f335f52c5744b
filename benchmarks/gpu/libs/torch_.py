"""PyTorch on a GPU in eager mode."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.gpu import libs
from benchmarks.gpu.inputs import EPSILON, Data, GpuProgram
from benchmarks.gpu.libs import BenchmarkStep, NoGpuError
from benchmarks.inputs import Array, Network
from benchmarks.libs.torch_ import network

CUDA = "cuda"


class _Ops:
    """PyTorch's functions under the names that formulas use."""

    log, sqrt, erf, exp = torch.log, torch.sqrt, torch.erf, torch.exp
    sin, tanh, cumsum, relu = torch.sin, torch.tanh, torch.cumsum, torch.relu

    @staticmethod
    def sum(x: torch.Tensor, axis: int | None = None) -> torch.Tensor:
        return torch.sum(x) if axis is None else torch.sum(x, axis)

    @staticmethod
    def mean(x: torch.Tensor, axis: int) -> torch.Tensor:
        return torch.mean(x, axis)

    @staticmethod
    def normal(shape: tuple[int, ...]) -> torch.Tensor:
        return torch.randn(shape, device=CUDA)

    @staticmethod
    def softmax(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1)

    @staticmethod
    def layer_norm(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, EPSILON)

    @staticmethod
    def gather(table: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return torch.index_select(table, 0, at)

    @staticmethod
    def scatter_add(added: torch.Tensor, at: torch.Tensor, rows: int) -> torch.Tensor:
        return added.new_zeros((rows, *added.shape[1:])).index_add_(0, at, added)


def _program(data: GpuProgram, compiled: bool) -> BenchmarkStep:
    def function(*inputs: torch.Tensor) -> torch.Tensor:
        return data.function(_Ops, *inputs)

    called = torch.compile(function) if compiled else function
    inputs = [torch.tensor(x, device=CUDA) for x in data.inputs]
    sources = inputs[: data.sources]
    for source in sources:
        source.requires_grad_()
    upstream = None if data.upstream is None else torch.tensor(data.upstream, device=CUDA)

    def run() -> list[torch.Tensor]:
        value = called(*inputs)
        if not sources:
            return [value]
        weight = value.new_ones(()).expand_as(value) if upstream is None else upstream
        return [value.detach(), *torch.autograd.grad(value, sources, weight)]

    return BenchmarkStep(run)


def _network(data: Network, compiled: bool) -> BenchmarkStep:
    advancing = network(data, CUDA, compiled)
    return BenchmarkStep(lambda: [advancing.step()], advancing.weights)


class TorchOnGpu(libs.GpuLibrary):
    """PyTorch on the GPU."""

    heading, compiled = "PyTorch", False

    def __init__(self) -> None:
        """Raises NoGpuError if the library finds no GPU."""
        if not torch.cuda.is_available():
            raise NoGpuError("PyTorch finds no GPU")
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def about(self) -> dict[str, str]:
        """Returns the name of the GPU, and the toolkit that PyTorch was built with."""
        name, toolkit = torch.cuda.get_device_name(), f"CUDA {torch.version.cuda}"
        return {"name": name, "toolkit": toolkit, "clock": self.clock}

    def allow_tensor_float(self, allowed: bool) -> None:
        """Allows or forbids TF32 in float32 matrix products."""
        torch.set_float32_matmul_precision("high" if allowed else "highest")

    def steps(self, data: Data) -> dict[str, Callable[[], BenchmarkStep]]:
        """Returns a factory of the step on these inputs."""
        make: Any = _network if isinstance(data, Network) else _program
        return {self.heading: functools.partial(make, data, self.compiled)}

    def seconds(self, run: Callable[[], object], count: int) -> float:
        """Returns the seconds between two events around ``count`` runs."""
        begin, end = self._events
        begin.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3

    def fetch(self, array: Any, most: int | None = None) -> Array:
        """Copies an array to the host: all of it, or its last ``most`` elements, flattened."""
        array = array.detach()
        return (array if most is None else array.reshape(-1)[-most:]).cpu().numpy()

    def free(self) -> None:
        """Frees unreferenced memory and resets the peak."""
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    def peak(self) -> int | None:
        """Returns the peak of bytes in tensors since ``free``."""
        return torch.cuda.max_memory_allocated()

    def copies(self, size: int) -> dict[str, Callable[[], object]]:
        """Returns a copy by the driver, which PyTorch uses for contiguous arrays."""
        source, target = (torch.zeros(size // 4, device=CUDA) for _ in range(2))
        return {"PyTorch": lambda: target.copy_(source)}

    def product(self, dtype: str, size: int) -> Callable[[], object] | None:
        """Returns a function that multiplies two square matrices."""
        x = torch.rand((size, size), dtype=getattr(torch, dtype), device=CUDA)
        out = torch.empty_like(x)
        return lambda: torch.mm(x, x, out=out)

    def overheads(self) -> dict[str, Callable[[], object]]:
        """Returns a single op."""
        x = torch.zeros(64, device=CUDA)
        return {"PyTorch op": lambda: torch.neg(x)}
