"""``tf.image``."""

from __future__ import annotations

from .core.ops.blocks import extract_patches
from .core.ops.image import adjust_contrast

__all__ = [
    "adjust_contrast", "extract_patches",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
