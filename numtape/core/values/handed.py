"""Values that leave as NumPy's arrays: views that nobody can write to, and arrays of one's own.

What lies behind a tensor never changes, and waits for use again only when the last array that
looks at it has gone. So a view stays right for ever; and a tensor that goes at once, of which
nobody else has the memory, can leave its memory itself to who asked for an array.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy as np

from .memory import LARGE_BYTES, Array, BorrowedMemory, ReadOnlyMemory, copy_array


def to_read_only(array: Array) -> Array:
    """An array that nobody writes to: a view that keeps the memory, or, if small, a copy."""
    if array.nbytes >= LARGE_BYTES:
        return view_of(array)
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def view_of(array: Array) -> Array:
    """A view that keeps the memory, and that nobody can make writable."""
    return ReadOnlyMemory(array).array(array.dtype)


def to_writable(tensor: Any, array: Array) -> Array:
    """An array that may be written to: ``array`` itself, if it goes with the tensor otherwise.

    A method of the tensor's calls this, with its value and no other reference to either: then
    counts of references tell whether somebody else can reach them.
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
    """What asks as a tensor does."""

    __slots__ = ("__weakref__", "_home")

    def __init__(self) -> None:
        self._home = np.zeros(1)

    def numpy(self) -> tuple[int, int, int]:
        array = self._home
        return _call_counts(self, array)


def _call_counts(tensor: Any, array: Array) -> tuple[int, int, int]:
    return _reference_counts(tensor, array)


def _measure_sole_owner() -> tuple[int, int, int]:
    """The counts where only the one who asks has the tensor; such as none has, if nobody knows."""
    second_owner = _Probe()
    sole, shared = _Probe().numpy(), second_owner.numpy()
    return sole if sole[0] < shared[0] else (-1, -1, -1)


SOLE_OWNER_COUNTS = _measure_sole_owner()
