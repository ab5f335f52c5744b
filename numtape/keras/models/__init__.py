"""``tf.keras.models``: `Model`, `Sequential`, and functions that save, load and clone models."""

from __future__ import annotations

import typing as _typing
from typing import Any as _Any

from ...compat.names import getter as _getter
from .model import Functional, Model
from .sequential import Sequential

__all__ = [
    "Functional",
    "Model",
    "Sequential",
    "clone_model",
    "load_model",
    "model_from_json",
    "save_model",
]

# `keras.saving` sets these functions, because it imports this module.
clone_model: _Any
load_model: _Any
model_from_json: _Any
save_model: _Any


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
