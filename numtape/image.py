"""``tf.image``."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .core.ops.blocks import extract_patches
from .core.ops.image import adjust_contrast
from .names import getter as _getter

__all__ = [
    "adjust_contrast", "extract_patches",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)
