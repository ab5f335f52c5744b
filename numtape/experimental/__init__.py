"""``tf.experimental``: what TensorFlow has under this name."""

from __future__ import annotations

from . import dlpack

__all__ = ["dlpack"]


def __dir__() -> list[str]:
    return sorted(__all__)
