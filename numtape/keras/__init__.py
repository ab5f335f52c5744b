"""``tf.keras``: layers, losses, activations, optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..names import getter as _getter
from . import activations, constraints, initializers, layers, losses, optimizers, regularizers
from .layer import Layer
from .loss import Loss

__all__ = [
    "Layer", "Loss", "activations", "constraints", "initializers", "layers", "losses",
    "optimizers", "regularizers",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)
