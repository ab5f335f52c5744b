"""Arrays as memory: addresses, memoryviews, aligned buffers, conversions and copies.

It also has a memory reserve, which is released when memory runs out.

To leave a `with` block or a handler that lies beyond a function's first 256 instructions, Python
allocates an int. If there is no memory for it, Python tries to leave the block again, forever: a
program that has filled the memory with small objects would hang instead of raising MemoryError.
"""

from __future__ import annotations

import ctypes
import math
import mmap
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

COUNT = 1 << 12  # ints of 32 bytes: enough to fill whole pools of Python's small-object allocator

_reserve: list[int] = []


def refill() -> None:
    """Allocate the reserve if it was released."""
    if not _reserve:
        _reserve[:] = range(1 << 29, (1 << 29) + COUNT)


def release() -> None:
    """Release the reserve: a MemoryError is propagating."""
    _reserve.clear()


refill()


Array = np.ndarray[Any, Any]
LARGE_BYTES = 1 << 16  # from this size on, fresh pages cost more than copying
CHUNK_SIZE = 1 << 17  # elements that one thread copies at once
SMALL_SIZE = 1 << 12  # up to this many elements, checking the values costs less than copying them
FLOAT32_OVERFLOW = 2.0**128 - 2.0**103  # the smallest float64 that becomes infinite as float32
LEGACY_STREAM = 1  # CUDA's legacy default stream, in DLPack, the array interface and the driver

# Allocates large copies, and runs the copying in several threads. Set in `core.bindings`.
empty: Callable[[tuple[int, ...], np.dtype[Any]], Array] = np.empty
run_shared: Callable[[Callable[[], None], Array], None] = lambda work, out: work()  # noqa: E731

_addressof: Any = ctypes.addressof
_from_buffer: Any = ctypes.c_char.from_buffer


def view(array: Array) -> memoryview[int]:
    """Return a memoryview of an integer array: element access costs half as much."""
    return memoryview(cast(Any, array))


def address_of(array: Any) -> int:
    """Return the address of an array's elements. NumPy's own attributes take four times as long."""
    try:
        address: int = _addressof(_from_buffer(array))
        return address
    except (TypeError, ValueError):  # read-only, or empty, or on a GPU
        if type(array) is not np.ndarray:
            return int(array.address)
        return int(array.__array_interface__["data"][0])


def array_at(address: int, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Return an array of the elements at an address. The caller keeps the memory alive."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    memory: Any = (ctypes.c_char * size).from_address(address)
    return np.ndarray(shape, dtype, memory)


def aligned_buffer(size: int) -> tuple[Array, int]:
    """Return a buffer of at least ``size`` bytes that starts on a cache line, and its address."""
    buffer = np.empty(size + 4096 + 64, np.uint8)
    address = address_of(buffer)
    start = -address % 64
    return buffer[start:], address + start


class BorrowedMemory:
    """The base object of an array in memory that will be reused."""

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
        """Return an array of this memory."""
        array = np.asarray(self)
        return array.view(dtype) if dtype.kind == "V" else array  # bfloat16


class ReadOnlyMemory(BorrowedMemory):
    """The base object of a view that cannot be made writable. It keeps the array alive."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        super().__init__(address_of(array), array.shape, array.dtype, True)
        if not array.flags.c_contiguous:
            self.__array_interface__["strides"] = array.strides
        self._array = array


# There are two kinds of growing arrays. Arrays that several threads or handlers read are made by
# `reserve_zeros`: they never move (see `core.values.intern_table`) and have a fixed capacity.
# Arrays of one log are grown by `resize`: they move, and code that stores their address updates it.


def reserve_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Return an array of zeros that takes memory only where it is written to."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.frombuffer(mmap.mmap(-1, size), dtype).reshape(shape)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):  # a huge page would be two megabytes at the first write
        with suppress(OSError):
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)


def resize(array: Array, size: int, count: int) -> Array:
    """Return an array of another size that begins with the first ``count`` elements."""
    result = np.zeros(size, array.dtype)
    result[:count] = array[:count]
    return result


def convert_array(value: object, dtype: np.dtype[Any]) -> Array:
    """Return a new C-contiguous array with the elements of ``value``. Can be interrupted.

    Casts that are undefined in C are defined here as in every kernel: a float beyond the range of
    an integer dtype becomes the nearest integer of the dtype, and NaN becomes 0.
    """
    array = np.asarray(value)
    if array.dtype.kind == "c" and dtype.kind not in "cb":  # drop the imaginary part
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
    """Return a mask of finite numbers that become infinite as float32.

    Numbers are compared rather than converted: converting needs an `np.errstate`, in which Python
    can crash if finalizers or signal handlers enter another one meanwhile.
    """
    mask: Array = (np.abs(array) >= FLOAT32_OVERFLOW) & np.isfinite(array)
    return mask


def copy_array(array: Array, dtype: np.dtype[Any] | None = None) -> Array:
    """Return a copy of an array. A long copy can be interrupted."""
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
    """Fill an array part by part from another one, in several threads if it is large."""
    parts = iter([*_split_parts(array, out)])  # taking the next part is atomic
    errors: list[Exception] = []

    def work() -> None:
        try:
            for part, out in parts:
                copy_part(part, out)
        except BaseException as error:
            for _ in parts:  # stop the other threads
                pass
            if not isinstance(error, Exception):
                raise
            errors.append(error)

    run_shared(work, out)
    if errors:
        raise errors.pop()
    return out


def _split_parts(array: Array, out: Array) -> Iterator[tuple[Array, Array]]:
    """Yield corresponding parts of two arrays, none of them large."""
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
