"""PyTorch's functions under ``torch.compile``, with the optimizer as it is."""

from __future__ import annotations

import torch

from benchmarks.inputs import Data
from benchmarks.libs import LibraryVariant, build
from benchmarks.libs.torch_ import BUILDERS


def variants(data: Data) -> dict[str, LibraryVariant]:
    """Gives the variants for a case's inputs."""
    # Code compiled for another case would make all shapes dynamic.
    torch.compiler.reset()
    return {"torch.compile": build(data, BUILDERS, True)}
