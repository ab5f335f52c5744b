"""``tf.keras.backend``: Keras's global settings, and `clear_session`."""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from .config import (
    backend,
    epsilon,
    floatx,
    image_data_format,
    set_epsilon,
    set_floatx,
    set_image_data_format,
)
from .symbolic import reset_names as _reset_names

__all__ = [
    "backend",
    "clear_session",
    "epsilon",
    "floatx",
    "image_data_format",
    "set_epsilon",
    "set_floatx",
    "set_image_data_format",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


def clear_session(free_memory: bool = True) -> None:
    """Reset the numbering of automatic layer and metric names.

    Models and variables are Python objects: they are freed with their last reference.

    Args:
      free_memory: Whether to run the cyclic garbage collector.

    Example:
      >>> tf.keras.backend.clear_session()
      >>> tf.keras.metrics.Precision().name
      'precision'
    """
    _reset_names()
    if free_memory:
        import gc

        gc.collect()
