"""Arguments that are plain Python values, looked at: a number, one of some words."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from .dtypes import format_value


def to_float(value: Any, name: str) -> float:
    """A real number: of Python, of NumPy, or a tensor of one element.

    Args:
      value: What a caller gave.
      name: What the argument is called.

    Raises:
      TypeError: If it is none.
    """
    if type(value) in (int, float):
        return float(_check_int64(value, name)) if type(value) is int else value
    try:
        array = np.asarray(value)
        if array.size == 1 and array.dtype.kind in "biuf":
            return float(array.item())
    except ValueError:  # a ragged list
        pass
    raise TypeError(f"`{name}` is a real number, not {format_value(value)}.")


def to_int(name: str, value: Any) -> int:
    """An int that fits int64: of Python, of NumPy, or a tensor of one.

    Raises:
      TypeError: If it is none.
      ValueError: If it is too large.
    """
    try:
        return _check_int64(operator.index(value), name)
    except TypeError:
        raise TypeError(f"`{name}` must be an integer, got {format_value(value)}.") from None


def to_list(value: Any, name: str) -> list[Any]:
    """What is in a list, or in anything else that can be gone through.

    Raises:
      TypeError: If nothing is.
    """
    if isinstance(value, Iterable):
        try:
            return list(value)
        except TypeError:  # a tensor or an array of no axes
            pass
    raise TypeError(
        f"`{name}` is a list or another iterable: a {type(value).__name__!r} object, "
        f"{format_value(value)}, is none."
    )


def _check_int64(value: int, name: str) -> int:
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"`{name}`={format_value(value)} does not fit int64.")
    return value


def truncate_float(value: Any, name: str) -> Any:
    """A float as an integer, without its fraction; anything else as it is."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    return int(value)
