"""PyTorch's functions under ``torch.compile``, with the optimizer as it is."""

from __future__ import annotations

from benchmarks.inputs import Data
from benchmarks.libs import Variant
from benchmarks.libs.torch_ import variant


def variants(data: Data) -> dict[str, Variant]:
    """Gives the variants for a case's inputs."""
    found = variant(data, compiled=True)
    return {"torch.compile": found} if found else {}
