"""``tf.image``."""

from __future__ import annotations

from .core.ops.image import adjust_contrast

__all__ = ["adjust_contrast"]
