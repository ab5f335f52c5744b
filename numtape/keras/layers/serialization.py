"""Layers as dicts and back: for layers that are made of others."""

from __future__ import annotations

import sys
from typing import Any

from ..layer import Layer
from ..registry import Kind

FUNCTIONAL = "keras.src.models.functional"  # where Keras has it


def _kind() -> Kind:
    modules = [sys.modules.get(f"numtape.keras.{name}") for name in ("layers", "models")]
    known = (getattr(module, name) for module in modules if module for name in module.__all__)
    return Kind("layer", [x for x in known if isinstance(x, type) and issubclass(x, Layer)])


def serialize(layer: Any) -> Any:
    """The class and arguments of a layer, as a dict.

    Args:
      layer: A layer.

    Returns:
      A dict that JSON can hold.

    Raises:
      ValueError: If it has no configuration.

    Example:
      >>> tf.keras.layers.serialize(tf.keras.layers.LSTM(3))["class_name"]
      'LSTM'
    """
    result = _kind().serialize(layer)
    if result and result["module"] == "keras.layers" and hasattr(layer, "compile"):
        functional = result["class_name"] == "Functional"
        result["module"] = FUNCTIONAL if functional else "keras"  # a model
    return result


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The layer that a dict describes.

    Args:
      config: The result of `serialize`.
      custom_objects: Classes, by name.

    Returns:
      A layer, with its own variables.

    Raises:
      ValueError: If its class is unknown.

    Example:
      >>> config = tf.keras.layers.serialize(tf.keras.layers.LSTM(3))
      >>> tf.keras.layers.deserialize(config).units
      3
    """
    return _kind().deserialize(config, custom_objects)
