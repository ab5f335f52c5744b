"""Export of values: NumPy arrays, and Python's buffer protocol.

The memory behind a tensor never changes, and is reused only after the last array that refers to it
is gone. So a view stays valid forever. If a tensor is about to be destroyed and nothing else refers
to its memory, the caller gets that memory as a writable array without a copy.
"""

from __future__ import annotations

from collections.abc import Callable
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


def _reference_counts(tensor: object, array: Array) -> tuple[int, int, int]:
    return getrefcount(tensor), getrefcount(array), getweakrefcount(tensor)


class _Probe:
    """Stands for a tensor whose method calls `to_writable`."""

    __slots__ = ("__weakref__", "_home")

    def __init__(self) -> None:
        self._home = np.zeros(1)

    def numpy(self) -> tuple[int, int, int]:
        array = self._home
        return _call_counts(self, array)


def _call_counts(tensor: _Probe, array: Array) -> tuple[int, int, int]:
    return _reference_counts(tensor, array)


def _measure_sole_owner() -> tuple[int, int, int]:
    """Return the reference counts that mean "sole owner"; impossible values if unknown."""
    second_owner = _Probe()
    sole, shared = _Probe().numpy(), second_owner.numpy()
    return sole if sole[0] < shared[0] else (-1, -1, -1)


SOLE_OWNER_COUNTS = _measure_sole_owner()


# The last error. One that reached Python code is removed by the next call of `array_of`.
FAILED_EXPORTS: list[BaseException] = []


class NotOnHost(BufferError):
    """The value is on a GPU; ``__array__`` copies it."""


# Runs before an array of a tensor is made; it may raise an error. Set in `numtape.numpy_protocols`.
before_export: Callable[[Any], None] = lambda tensor: None  # noqa: E731


def array_of(tensor: Any) -> np.ndarray[Any, Any]:
    """Return the value of a tensor as a read-only array, computed if needed."""
    if FAILED_EXPORTS:
        _discard_error(tensor)
    before_export(tensor)
    stored = tensor._stored_value()
    if type(stored) is np.ndarray:
        return to_read_only(stored)
    raise NotOnHost("The value is on a GPU, which has no host buffers: np.asarray(x) copies it.")


def take_dropped_error(tensor: object) -> BaseException | None:
    """Return and clear the error of `array_of` for this tensor, if its caller dropped it."""
    for error in FAILED_EXPORTS[:]:  # at most one, unless another thread adds one
        if _tensor_of_dropped(error) is tensor:
            FAILED_EXPORTS.clear()
            return None if isinstance(error, NotOnHost) else error
    return None


def _discard_error(tensor: object) -> None:
    """Clear the last error, unless another thread is about to raise it again."""
    for error in FAILED_EXPORTS[:]:
        failed = _tensor_of_dropped(error)
        if failed is None or failed is tensor:
            FAILED_EXPORTS.clear()


def _tensor_of_dropped(error: BaseException) -> Any:
    """Return the tensor that `array_of` failed for; None if the error reached Python code.

    The traceback of an error that reached Python code begins there; the traceback of one that was
    dropped begins with `array_of`.
    """
    tb = error.__traceback__
    if tb is None or tb.tb_frame.f_code is not array_of.__code__:
        return None
    return tb.tb_frame.f_locals["tensor"]
