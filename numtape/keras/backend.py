"""``tf.keras.backend``: a few numbers and names that all of Keras shares."""

from __future__ import annotations

import typing as _typing

from ..names import getter as _getter
from .loss_functions import EPSILON as _EPSILON
from .symbolic import reset_names as _reset_names

__all__ = ["backend", "clear_session", "epsilon", "floatx", "image_data_format"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


def backend() -> str:
    """The name of what computes.

    Returns:
      A string.

    Example:
      >>> tf.keras.backend.backend()
      'numtape'
    """
    return "numtape"


def clear_session(free_memory: bool = True) -> None:
    """Begin anew to number the names of layers and metrics.

    Models and variables are objects of Python: they are freed when nobody has them any more.

    Args:
      free_memory: Whether to look at once for objects that only have each other.

    Example:
      >>> tf.keras.backend.clear_session()
      >>> tf.keras.metrics.Precision().name
      'precision'
    """
    _reset_names()
    if free_memory:
        import gc

        gc.collect()


def epsilon() -> float:
    """A small number that keeps quotients and logarithms finite.

    Returns:
      A float.

    Example:
      >>> tf.keras.backend.epsilon()
      1e-07
    """
    return _EPSILON


def floatx() -> str:
    """The name of the dtype that layers and metrics compute in if they are told none.

    Returns:
      A string.

    Example:
      >>> tf.keras.backend.floatx()
      'float32'
    """
    return "float32"


def image_data_format() -> str:
    """Where images have their channels: at the end.

    Returns:
      A string.

    Example:
      >>> tf.keras.backend.image_data_format()
      'channels_last'
    """
    return "channels_last"
