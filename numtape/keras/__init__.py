"""``tf.keras``: layers, activations, optimizers."""

from __future__ import annotations

from . import activations, initializers, layers, optimizers
from .layers import Layer

__all__ = ["Layer", "activations", "initializers", "layers", "optimizers"]


def __dir__() -> list[str]:
    return sorted(__all__)
