"""Arrays as memory: addresses, views that Python writes through, aligned buffers, dtypes."""

from __future__ import annotations

import ctypes
import math
import mmap
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

import numpy as np

Array = np.ndarray[Any, Any]
PIECE = 1 << 20  # elements that are copied at once: some milliseconds
SMALL = 1 << 12  # elements that take less time to look at than to copy
BEYOND = 2.0**128 - 2.0**103  # from which on numbers are infinite as float32
LEGACY = 1  # CUDA's legacy default stream, in DLPack, in the array interface and in its driver

_addressof: Any = ctypes.addressof
_from_buffer: Any = ctypes.c_char.from_buffer


def view(array: Array) -> memoryview[int]:
    """A memoryview of an integer array: reading and writing one element costs half."""
    return memoryview(cast(Any, array))


def address_of(array: Any) -> int:
    """Where an array's elements are. NumPy's own ways to ask take four times as long."""
    try:
        found: int = _addressof(_from_buffer(array))
        return found
    except (TypeError, ValueError):  # read-only, or empty, or on a GPU
        if type(array) is not np.ndarray:
            return int(array.address)
        return int(array.__array_interface__["data"][0])


def array_at(address: int, shape: tuple[int, ...], dtype: Any) -> Array:
    """An array of the elements at an address, which somebody else keeps alive."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    memory: Any = (ctypes.c_char * size).from_address(address)
    return np.ndarray(shape, dtype, memory)


def aligned(size: int) -> tuple[Array, int]:
    """A buffer of at least ``size`` bytes that starts on a cache line, and its address."""
    buffer = np.empty(size + 4096 + 64, np.uint8)
    address = address_of(buffer)
    start = -address % 64
    return buffer[start:], address + start


# There are two ways to have room for more. What several threads read, or a handler may come
# between, is `reserved`: it never moves (see `numtape.core.values.interning`), and has a limit.
# What belongs to one log is `resized`: it moves, and whoever has bound its address binds it again.


def reserved(shape: tuple[int, ...], dtype: Any) -> Array:
    """Zeros that take memory only where they are written to."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.frombuffer(mmap.mmap(-1, size), dtype).reshape(shape)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):  # a huge page would be two megabytes at the first write
        with suppress(OSError):
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)


def resized(array: Array, size: int, kept: int) -> Array:
    """An array of another size that begins with the first ``kept`` elements of ``array``."""
    moved = np.zeros(size, array.dtype)
    moved[:kept] = array[:kept]
    return moved


def converted(value: Any, dtype: np.dtype[Any]) -> Array:
    """A new array of the elements of ``value``, in C's order. Interrupts are heard meanwhile.

    What C leaves open is the same here as in every kernel: a float beyond the range of an integer
    dtype becomes the nearest integer that it has, and NaN becomes 0.
    """
    array = np.asarray(value)
    if array.dtype.kind == "c" and dtype.kind not in "cb":  # what is not real is left out
        array = array.real
    if array.dtype.kind == "V":  # bfloat16
        array = array.astype(np.float32)
    if array.dtype.kind != "f" or dtype.kind not in "iu":
        if array.dtype.kind != "f" or dtype.itemsize >= array.dtype.itemsize:
            return copied(array, dtype)
        if dtype == np.float32 and array.size <= SMALL and not beyond_float32(array).any():
            return copied(array, dtype)
        with np.errstate(over="ignore"):  # infinity, as in TensorFlow
            return copied(array, dtype)
    found = np.empty(array.shape, dtype)
    for part, out in _pieces(array, found):
        out[...] = _integers(part, dtype)
    return found


def beyond_float32(array: Array) -> Array:
    """Where finite numbers are infinite as float32.

    They are compared: to convert them takes an `np.errstate`, and Python itself may crash in it
    where finalizers and signal handlers enter others meanwhile.
    """
    found: Array = (np.abs(array) >= BEYOND) & np.isfinite(array)
    return found


def copied(array: Array, dtype: np.dtype[Any] | None = None) -> Array:
    """A copy; interrupts are heard while it takes long."""
    if array.size <= PIECE:
        return np.array(array, dtype, order="C")
    found = np.empty(array.shape, dtype or array.dtype)
    for part, out in _pieces(array, found):
        np.copyto(out, part, casting="unsafe")
    return found


def _pieces(array: Array, out: Array) -> Iterator[tuple[Array, Array]]:
    """The same parts of two arrays, neither of them large."""
    if array.size <= PIECE:
        yield array, out
    elif len(array) == 1:
        yield from _pieces(array[0], out[0])
    else:
        rows = max(1, PIECE * len(array) // array.size)
        for at in range(0, len(array), rows):
            yield from _pieces(array[at : at + rows], out[at : at + rows])


def _integers(array: Array, dtype: np.dtype[Any]) -> Array:
    limits, wide = np.iinfo(dtype), np.array(array, np.float64, order="C")
    above, below = wide >= float(limits.max) + 1.0, wide <= float(limits.min)
    found = np.where(above | below | np.isnan(wide), 0.0, wide).astype(dtype)
    found[above], found[below] = limits.max, limits.min
    return found
