"""Export of values as NumPy arrays: read-only views, and writable arrays.

The memory behind a tensor never changes, and is reused only after the last array that refers to it
is gone. So a view stays valid forever. If a tensor is about to be destroyed and nothing else refers
to its memory, the caller gets that memory as a writable array without a copy.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy as np

from .memory import LARGE_BYTES, Array, BorrowedMemory, ReadOnlyMemory, copy_array


def to_read_only(array: Array) -> Array:
    """Return a read-only array: a view that keeps the memory alive, or a copy if it is small."""
    if array.nbytes >= LARGE_BYTES:
        return view_of(array)
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def view_of(array: Array) -> Array:
    """Return a view that keeps the memory alive and cannot be made writable."""
    return ReadOnlyMemory(array).array(array.dtype)


def to_writable(tensor: Any, array: Array) -> Array:
    """Return a writable array: ``array`` itself, if it would otherwise be freed with the tensor.

    Must be called from a method of the tensor, with its value and no other reference to either.
    Then reference counts show whether other code can reach them.
    """
    if array.nbytes < LARGE_BYTES:
        return np.array(array, order="C")
    if tensor._home is not array or _reference_counts(tensor, array) != SOLE_OWNER_COUNTS:
        return copy_array(array)
    has_memory = array.base is None or type(array.base) is BorrowedMemory
    return array if has_memory and array.flags.writeable else copy_array(array)


def _reference_counts(tensor: Any, array: Array) -> tuple[int, int, int]:
    return getrefcount(tensor), getrefcount(array), getweakrefcount(tensor)


class _Probe:
    """Stands for a tensor whose method calls `to_writable`."""

    __slots__ = ("__weakref__", "_home")

    def __init__(self) -> None:
        self._home = np.zeros(1)

    def numpy(self) -> tuple[int, int, int]:
        array = self._home
        return _call_counts(self, array)


def _call_counts(tensor: Any, array: Array) -> tuple[int, int, int]:
    return _reference_counts(tensor, array)


def _measure_sole_owner() -> tuple[int, int, int]:
    """Return the reference counts that mean "sole owner"; impossible values if unknown."""
    second_owner = _Probe()
    sole, shared = _Probe().numpy(), second_owner.numpy()
    return sole if sole[0] < shared[0] else (-1, -1, -1)


SOLE_OWNER_COUNTS = _measure_sole_owner()
