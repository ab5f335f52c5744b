"""PyTorch's functions under ``torch.compile``; the optimizer is not compiled."""

from __future__ import annotations

import torch

from benchmarks.inputs import Data
from benchmarks.libs import LibraryVariant, build
from benchmarks.libs.torch_ import BUILDERS


def variants(data: Data) -> dict[str, LibraryVariant]:
    """Returns the variants for a case's inputs."""
    # Drop code compiled for other cases: it would make all shapes dynamic.
    torch.compiler.reset()
    return {"torch.compile": build(data, BUILDERS, True)}
