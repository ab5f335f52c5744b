"""Strings of bytes: what files contain, as Python bytes, NumPy arrays or tensors."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_bytes(value: Any) -> bytes:
    """Return the bytes of a scalar string.

    Args:
      value: A str, bytes, a tensor or array of one string.

    Raises:
      TypeError: If it is not one string.
    """
    array = to_byte_array(value)
    if array.ndim:
        raise TypeError(f"Expected one string, got strings of shape {array.shape}.")
    result: bytes = array.item()
    return result


def to_byte_array(value: Any) -> np.ndarray[Any, Any]:
    """Return an array of bytes objects."""
    if isinstance(value, str | bytes):
        array = np.empty((), object)
        array[()] = value.encode() if isinstance(value, str) else value
        return array
    raw = np.asarray(value.numpy() if hasattr(value, "numpy") else value, object)
    items = [x.encode() if isinstance(x, str) else x for x in raw.ravel().tolist()]
    if not all(isinstance(x, bytes) for x in items):
        raise TypeError(f"Expected strings of bytes, got {type(value).__name__}.")
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(raw.shape)


def byte_tensor(value: Any) -> Any:
    """Return strings to the user: bytes, or an array of bytes objects."""
    return value
