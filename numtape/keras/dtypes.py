"""The dtypes that Keras's arguments name."""

from __future__ import annotations

from typing import Any

from ..core.values.dtypes import DType, as_dtype


def keras_dtype(value: Any) -> DType:
    """A dtype as `tf.as_dtype` understands it; ``int`` and its name are int64, as in Keras.

    Args:
      value: A dtype, or the name of one; None is float32.

    Raises:
      TypeError: If there is no such dtype.
    """
    if value is None:
        return as_dtype("float32")
    return as_dtype(
        "int64" if value is int or (isinstance(value, str) and value == "int") else value
    )
