"""``tf.keras``: layers, losses, activations, optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..names import getter as _getter
from ..tracebacks import guard_module as _guard_module
from . import (
    activations,
    backend,
    callbacks,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    optimizers,
    regularizers,
    utils,
)
from .layer import Layer
from .loss import Loss
from .metrics import Metric
from .optimizers import Optimizer

__all__ = [
    "Layer", "Loss", "Metric", "Optimizer", "activations", "backend", "callbacks", "constraints",
    "initializers", "layers", "losses", "metrics", "optimizers", "regularizers", "utils",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_guard_module(__name__)
