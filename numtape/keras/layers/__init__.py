"""``tf.keras.layers``: modules that make their variables on the first call."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ...names import getter as _getter
from ..input_spec import InputSpec
from ..layer import Layer
from .dense import Dense
from .normalization import LayerNormalization

__all__ = ["Dense", "InputSpec", "Layer", "LayerNormalization"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)
