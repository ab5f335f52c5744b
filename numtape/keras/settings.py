"""Keras's global settings, and those of them that numtape's own modules read; see `config`."""

from __future__ import annotations

from typing import Any

from ..core.values.dtypes import repr_of as _repr_of

_FLOATS = ("bfloat16", "float16", "float32", "float64")
_FORMATS = ("channels_last", "channels_first")
settings: dict[str, Any] = {
    "epsilon": 1e-7,
    "floatx": "float32",
    "image_data_format": "channels_last",
    "interactive_logging": True,
    "max_epochs": None,
    "max_steps_per_epoch": None,
}


def epsilon() -> float:
    """Return a small number that keeps quotients and logarithms finite.

    Returns:
      A float.

    Example:
      >>> tf.keras.backend.epsilon()
      1e-07
    """
    value: float = settings["epsilon"]
    return value


def set_epsilon(value: float) -> None:
    """Set `epsilon`.

    Args:
      value: A positive number.

    Raises:
      ValueError: If the value is not a number.

    Example:
      >>> tf.keras.config.set_epsilon(1e-5)
      >>> tf.keras.config.epsilon()
      1e-05
      >>> tf.keras.config.set_epsilon(1e-7)
    """
    try:
        settings["epsilon"] = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"epsilon must be a number. Received: {_repr_of(value)}") from None


def floatx() -> str:
    """Return the default dtype of layers, metrics and losses.

    Returns:
      A string.

    Example:
      >>> tf.keras.backend.floatx()
      'float32'
    """
    value: str = settings["floatx"]
    return value


def set_floatx(value: str) -> None:
    """Set the default dtype of layers, metrics and losses that are made afterwards.

    Args:
      value: ``"bfloat16"``, ``"float16"``, ``"float32"`` or ``"float64"``.

    Raises:
      ValueError: If it is another name.

    Example:
      >>> tf.keras.config.set_floatx("float64")
      >>> tf.keras.layers.Dense(2).dtype
      'float64'
      >>> tf.keras.config.set_floatx("float32")
    """
    name = getattr(value, "name", value)
    if name not in _FLOATS:
        raise ValueError(
            f"Unknown `floatx` value: {_repr_of(value)}. Expected one of {set(_FLOATS)}"
        )
    settings["floatx"] = name


def image_data_format() -> str:
    """Return the default position of the channel axis of images.

    Returns:
      A string.

    Example:
      >>> tf.keras.backend.image_data_format()
      'channels_last'
    """
    value: str = settings["image_data_format"]
    return value


def set_image_data_format(data_format: str) -> None:
    """Set the default position of the channel axis of images.

    Args:
      data_format: ``"channels_last"`` or ``"channels_first"``.

    Raises:
      ValueError: If it is another name.

    Example:
      >>> tf.keras.config.set_image_data_format("channels_first")
      >>> tf.keras.layers.Conv2D(2, 3).data_format
      'channels_first'
      >>> tf.keras.config.set_image_data_format("channels_last")
    """
    name = data_format.lower() if isinstance(data_format, str) else data_format
    if name not in _FORMATS:
        raise ValueError(
            f"The `data_format` argument must be one of {_FORMATS}. Received: "
            f"data_format={_repr_of(data_format)}"
        )
    settings["image_data_format"] = name
