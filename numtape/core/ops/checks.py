"""Checks of values at the call: what must hold of every element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..log.log import local
from ..values.tensor import Tensor


def every(
    x: Tensor, on_array: Callable[[Any], Any], on_tensor: Callable[[Any], Tensor], message: str
) -> bool:
    """Whether a condition holds for all elements of ``x``.

    It is given twice, for a NumPy array and for a tensor. While a call is traced, rows compute
    it, and the guard is on what they find, not on the elements. ``said`` is the error's message
    where a GPU tells later that it does not hold in a replay.
    """
    result: bool = local.log.holds_for_all(x, on_array, on_tensor, message)
    return result
