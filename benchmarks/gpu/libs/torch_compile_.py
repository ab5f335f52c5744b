"""PyTorch on a GPU, forward and backward compiled by ``torch.compile`` with its defaults."""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.gpu.libs import torch_


class Library(torch_.Library):
    """As eager, but that what is differentiated is compiled."""

    heading, compiled = "torch.compile", True

    def free(self) -> None:
        """Forgets what was compiled for other cases as well."""
        torch.compiler.reset()
        super().free()

    def copies(self, size: int) -> dict[str, Callable[[], object]]:
        """Nothing that eager PyTorch was not asked for."""
        return {}

    def product(self, dtype: str, size: int) -> Callable[[], object] | None:
        """Also."""
        return None

    def overheads(self) -> dict[str, Callable[[], object]]:
        """Also."""
        return {}
