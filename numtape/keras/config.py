"""``tf.keras.config``: Keras's global settings. They are constant; use arguments instead."""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from .loss_functions import EPSILON as _EPSILON

__all__ = [
    "backend",
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


def backend() -> str:
    """Return the name of the backend.

    Returns:
      A string.

    Example:
      >>> tf.keras.backend.backend()
      'numtape'
    """
    return "numtape"


def epsilon() -> float:
    """Return a small number that keeps quotients and logarithms finite.

    Returns:
      A float.

    Example:
      >>> tf.keras.backend.epsilon()
      1e-07
    """
    return _EPSILON


def floatx() -> str:
    """Return the default dtype of layers and metrics.

    Returns:
      A string.

    Example:
      >>> tf.keras.backend.floatx()
      'float32'
    """
    return "float32"


def image_data_format() -> str:
    """Return the default position of the channel axis of images.

    Returns:
      A string.

    Example:
      >>> tf.keras.backend.image_data_format()
      'channels_last'
    """
    return "channels_last"


def set_epsilon(value: float) -> None:
    """Accept the current value of `epsilon`, which is constant.

    Args:
      value: The value.

    Raises:
      ValueError: If the value differs. Pass ``epsilon`` to layers and optimizers instead.

    Example:
      >>> tf.keras.config.set_epsilon(1e-7)
      >>> tf.keras.config.epsilon()
      1e-07
    """
    _require_unchanged(
        "epsilon", value, _EPSILON, "the argument `epsilon` of layers and optimizers"
    )


def set_floatx(value: str) -> None:
    """Accept the current value of `floatx`, which is constant.

    Args:
      value: The name of a dtype.

    Raises:
      ValueError: If the value differs. Pass ``dtype`` to layers, metrics and losses instead.

    Example:
      >>> tf.keras.config.set_floatx("float32")
      >>> tf.keras.config.floatx()
      'float32'
    """
    _require_unchanged(
        "floatx", value, floatx(), "the argument `dtype` of layers, metrics and losses"
    )


def set_image_data_format(data_format: str) -> None:
    """Accept the current value of `image_data_format`, which is constant.

    Args:
      data_format: ``"channels_last"``.

    Raises:
      ValueError: If the value differs. Pass ``data_format`` to layers instead.

    Example:
      >>> tf.keras.config.set_image_data_format("channels_last")
      >>> tf.keras.config.image_data_format()
      'channels_last'
    """
    _require_unchanged(
        "image_data_format",
        data_format,
        image_data_format(),
        "the argument `data_format` of layers",
    )


def _require_unchanged(name: str, value: object, current_value: object, alternative: str) -> None:
    """Raise if a setting would change; ``alternative`` tells the user what to use."""
    if value != current_value:
        raise ValueError(
            f"{name} is always {current_value!r} in numtape, not {value!r}: use {alternative}."
        )
