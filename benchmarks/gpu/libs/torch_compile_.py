"""PyTorch on a GPU, with forward and backward compiled by ``torch.compile`` (defaults)."""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.gpu.libs import torch_


class CompiledTorchOnGpu(torch_.TorchOnGpu):
    """Like eager PyTorch, but compiles the differentiated function."""

    heading, compiled = "torch.compile", True

    def free(self) -> None:
        """Also drops the code compiled for other cases."""
        torch.compiler.reset()
        super().free()

    def copies(self, size: int) -> dict[str, Callable[[], object]]:
        """Returns none: eager PyTorch measures them."""
        return {}

    def product(self, dtype: str, size: int) -> Callable[[], object] | None:
        """Returns None: eager PyTorch measures it."""
        return None

    def overheads(self) -> dict[str, Callable[[], object]]:
        """Returns none: eager PyTorch measures them."""
        return {}
