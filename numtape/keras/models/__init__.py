"""``tf.keras.models``: layers with what trains them."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ...names import getter as _getter
from .model import Functional, Model
from .sequential import Sequential

__all__ = ["Functional", "Model", "Sequential"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)
