"""Arrays as memory: addresses, views that Python writes through, aligned buffers, dtypes."""

from __future__ import annotations

import ctypes
import math
import mmap
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, cast

import numpy as np

Array = np.ndarray[Any, Any]
LARGE_BYTES = 1 << 16  # bytes from which on fresh pages cost more than copying does
CHUNK_SIZE = 1 << 17  # elements that are copied at once, of all that threads share
SMALL_SIZE = 1 << 12  # elements that take less time to look at than to copy
FLOAT32_OVERFLOW = 2.0**128 - 2.0**103  # from which on numbers are infinite as float32
LEGACY_STREAM = 1  # CUDA's legacy default stream, in DLPack, in the array interface and in its driver

# Where large copies lie, and who makes them. Set in `core.bindings`.
empty: Callable[[tuple[int, ...], np.dtype[Any]], Array] = np.empty
run_shared: Callable[[Callable[[], None], Array], None] = lambda work, out: work()  # noqa: E731

_addressof: Any = ctypes.addressof
_from_buffer: Any = ctypes.c_char.from_buffer


def view(array: Array) -> memoryview[int]:
    """A memoryview of an integer array: reading and writing one element costs half."""
    return memoryview(cast(Any, array))


def address_of(array: Any) -> int:
    """Where an array's elements are. NumPy's own ways to ask take four times as long."""
    try:
        address: int = _addressof(_from_buffer(array))
        return address
    except (TypeError, ValueError):  # read-only, or empty, or on a GPU
        if type(array) is not np.ndarray:
            return int(array.address)
        return int(array.__array_interface__["data"][0])


def array_at(address: int, shape: tuple[int, ...], dtype: Any) -> Array:
    """An array of the elements at an address, which somebody else keeps alive."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    memory: Any = (ctypes.c_char * size).from_address(address)
    return np.ndarray(shape, dtype, memory)


def aligned_buffer(size: int) -> tuple[Array, int]:
    """A buffer of at least ``size`` bytes that starts on a cache line, and its address."""
    buffer = np.empty(size + 4096 + 64, np.uint8)
    address = address_of(buffer)
    start = -address % 64
    return buffer[start:], address + start


class BorrowedMemory:
    """What an array in memory that is used again has as its base."""

    __slots__ = ("__array_interface__", "__weakref__")

    def __init__(
        self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any], read_only: bool = False
    ) -> None:
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "shape": tuple(shape),
            "typestr": dtype.str,
            "data": (address, read_only),
        }

    def array(self, dtype: np.dtype[Any]) -> Array:
        """The array."""
        array = np.asarray(self)
        return array.view(dtype) if dtype.kind == "V" else array  # bfloat16


class ReadOnlyMemory(BorrowedMemory):
    """What a view that nobody can make writable has as its base: it keeps the array."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        super().__init__(address_of(array), array.shape, array.dtype, True)
        if not array.flags.c_contiguous:
            self.__array_interface__["strides"] = array.strides
        self._array = array


# There are two ways to have room for more. What several threads read, or a handler may come
# between, is `reserve_zeros`: it never moves (see `numtape.core.values.interning`), and has a limit.
# What belongs to one log is `resize`: it moves, and whoever has bound its address binds it again.


def reserve_zeros(shape: tuple[int, ...], dtype: Any) -> Array:
    """Zeros that take memory only where they are written to."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.frombuffer(mmap.mmap(-1, size), dtype).reshape(shape)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):  # a huge page would be two megabytes at the first write
        with suppress(OSError):
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)


def resize(array: Array, size: int, count: int) -> Array:
    """An array of another size that begins with the first ``kept`` elements of ``array``."""
    result = np.zeros(size, array.dtype)
    result[:count] = array[:count]
    return result


def convert_array(value: Any, dtype: np.dtype[Any]) -> Array:
    """A new array of the elements of ``value``, in C's order. Interrupts are heard meanwhile.

    What C leaves open is the same here as in every kernel: a float beyond the range of an integer
    dtype becomes the nearest integer that it has, and NaN becomes 0.
    """
    array = np.asarray(value)
    if array.dtype.kind == "c" and dtype.kind not in "cb":  # what is not real is left out
        array = array.real
    if array.dtype.kind == "V":  # bfloat16
        array = array.astype(np.float32)
    if array.dtype.kind == "f" and dtype.kind in "iu":
        return _fill_by_parts(np.empty(array.shape, dtype), array, _copy_part_to_ints)
    if array.dtype.kind != "f" or dtype.itemsize >= array.dtype.itemsize:
        return copy_array(array, dtype)
    if dtype == np.float32 and array.size <= SMALL_SIZE and not exceeds_float32(array).any():
        return copy_array(array, dtype)
    return _fill_by_parts(empty(array.shape, dtype), array, _copy_part_rounded)


def exceeds_float32(array: Array) -> Array:
    """Where finite numbers are infinite as float32.

    They are compared: to convert them takes an `np.errstate`, and Python itself may crash in it
    where finalizers and signal handlers enter others meanwhile.
    """
    mask: Array = (np.abs(array) >= FLOAT32_OVERFLOW) & np.isfinite(array)
    return mask


def copy_array(array: Array, dtype: np.dtype[Any] | None = None) -> Array:
    """A copy; interrupts are heard while it takes long."""
    if dtype is None:
        dtype = array.dtype
    if array.size * dtype.itemsize < LARGE_BYTES and array.size <= CHUNK_SIZE:
        return np.array(array, dtype, order="C")
    return _fill_by_parts(empty(array.shape, dtype), array, _copy_part)


def _copy_part(part: Array, out: Array) -> None:
    np.copyto(out, part, casting="unsafe")


def _copy_part_rounded(part: Array, out: Array) -> None:
    with np.errstate(over="ignore"):  # infinity, as in TensorFlow
        np.copyto(out, part, casting="unsafe")


def _copy_part_to_ints(part: Array, out: Array) -> None:
    out[...] = _saturate_to_ints(part, out.dtype)


def _fill_by_parts(out: Array, array: Array, copy_part: Callable[[Array, Array], None]) -> Array:
    """An array whose parts are filled from those of another one, by threads if it is large."""
    parts = iter([*_split_parts(array, out)])  # taking the next one is one step
    errors: list[Exception] = []

    def work() -> None:
        try:
            for part, out in parts:
                copy_part(part, out)
        except BaseException as error:
            for _ in parts:  # nobody goes on
                pass
            if not isinstance(error, Exception):
                raise
            errors.append(error)

    run_shared(work, out)
    if errors:
        raise errors.pop()
    return out


def _split_parts(array: Array, out: Array) -> Iterator[tuple[Array, Array]]:
    """The same parts of two arrays, neither of them large."""
    if array.size <= CHUNK_SIZE:
        yield array, out
    elif len(array) == 1:
        yield from _split_parts(array[0], out[0])
    else:
        rows = max(1, CHUNK_SIZE * len(array) // array.size)
        for start in range(0, len(array), rows):
            yield from _split_parts(array[start : start + rows], out[start : start + rows])


def _saturate_to_ints(array: Array, dtype: np.dtype[Any]) -> Array:
    limits, values = np.iinfo(dtype), np.array(array, np.float64, order="C")
    above, below = values >= float(limits.max) + 1.0, values <= float(limits.min)
    result = np.where(above | below | np.isnan(values), 0.0, values).astype(dtype)
    result[above], result[below] = limits.max, limits.min
    return result
