"""Copies between host and GPU, through page-locked memory.

The GPU reads and writes such memory by itself. A small array is copied there, and its upload is
not waited for. Of a large one, one half is transferred while the other half is copied.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ....errors import DeviceError, ResourceExhaustedError

HALF = 4 << 20  # bytes
SMALL = 64 << 10  # up to so many bytes an array goes through the ring
PART = 4 * SMALL  # of the ring
PARTS = 4

DISABLE_TIMING = 2  # a flag of events
_ALIGNMENT = 16  # of arrays in the ring: that of any element


class _Locked:
    """Page-locked memory in parts, allocated when it is first used.

    Args:
      do: Calls the driver: ``do(name, *arguments)``.
      stream: The stream of all transfers.
    """

    def __init__(self, do: Callable[..., Any], stream: Any) -> None:
        self._do, self._stream = do, stream
        self._lock = threading.Lock()
        # Where they are, and events: the transfers of each are done. Empty if they do not exist.
        self._parts: list[tuple[int, Any]] | None = None

    def _sizes(self) -> tuple[int, int]:
        """How many parts there are, and the bytes of each."""
        return 2, HALF

    @contextmanager
    def _lock_parts(self) -> Iterator[list[tuple[int, Any]]]:
        """The memory's parts, the caller's inside of the block; or none of them.

        That is if another thread has them, or the same thread further up, where a signal handler
        or a finalizer came in between; and if there is no memory to be had.
        """
        if not self._lock.acquire(blocking=False):
            yield []
            return
        try:
            if self._parts is None:
                self._parts = self._allocate()
            yield self._parts
        except BaseException:
            self._do("cuStreamSynchronize", self._stream)  # a transfer may have no event yet
            raise
        finally:
            self._lock.release()

    def _allocate(self) -> list[tuple[int, Any]]:
        count, size = self._sizes()
        try:
            begin = int(self._do("cuMemHostAlloc", count * size, 0))
        except (DeviceError, ResourceExhaustedError):  # the system has none to spare
            return []
        return [(begin + k * size, self._do("cuEventCreate", DISABLE_TIMING)) for k in range(count)]


class Ring(_Locked):
    """Page-locked memory for arrays of at most ``SMALL`` bytes.

    They follow each other there. A part is used again when the transfers from it are done, which
    they nearly always are when the others have been filled.
    """

    def __init__(self, do: Callable[..., Any], stream: Any) -> None:
        super().__init__(do, stream)
        self._part = self._filled = 0

    def _sizes(self) -> tuple[int, int]:
        return PARTS, PART

    def _room(self, parts: list[tuple[int, Any]], size: int) -> int:
        """The address of so many bytes that no transfer uses."""
        if self._filled + size > PART:
            self._do("cuEventRecord", parts[self._part][1], self._stream)
            self._part = (self._part + 1) % PARTS
            self._do("cuEventSynchronize", parts[self._part][1])
            self._filled = 0
        address = parts[self._part][0] + self._filled
        self._filled += -(-size // _ALIGNMENT) * _ALIGNMENT
        return address

    def upload(self, source: int, address: int, size: int) -> bool:
        """Copy bytes to the GPU. The host's are free afterwards.

        Returns:
          Whether it was done; if not, the memory is in use.
        """
        with self._lock_parts() as parts:
            if not parts:
                return False
            there = self._room(parts, size)
            ctypes.memmove(there, source, size)
            self._do("cuMemcpyHtoDAsync", address, there, size, self._stream)
            return True

    def download(self, address: int, target: int, size: int) -> bool:
        """Copy bytes from the GPU, and wait for them. Returns whether it was done, as `upload`."""
        with self._lock_parts() as parts:
            if not parts:
                return False
            there = self._room(parts, size)
            self._do("cuMemcpyDtoHAsync", there, address, size, self._stream)
            self._do("cuStreamSynchronize", self._stream)
            ctypes.memmove(target, there, size)
            return True


class Staging(_Locked):
    """Page-locked memory in two halves, for larger arrays."""

    def upload(self, source: int, address: int, size: int) -> bool:
        """Copy bytes to the GPU. The host's are free afterwards.

        Returns:
          Whether it was done; if not, the memory is in use.
        """
        with self._lock_parts() as halves:
            if not halves:
                return False
            for k, (at, length) in enumerate(_pieces(size)):
                half, done = halves[k % 2]
                self._do("cuEventSynchronize", done)
                ctypes.memmove(half, source + at, length)
                self._do("cuMemcpyHtoDAsync", address + at, half, length, self._stream)
                self._do("cuEventRecord", done, self._stream)
            return True

    def download(self, address: int, target: int, size: int) -> bool:
        """Copy bytes from the GPU, and wait for them. Returns whether it was done, as `upload`."""
        with self._lock_parts() as halves:
            if not halves:
                return False
            before: tuple[int, int, int, Any] | None = None
            for k, (at, length) in enumerate(_pieces(size)):
                # An upload out of this half comes first in the stream.
                half, done = halves[k % 2]
                self._do("cuMemcpyDtoHAsync", half, address + at, length, self._stream)
                self._do("cuEventRecord", done, self._stream)
                if before is not None:
                    self._finish_half(target, *before)
                before = at, length, half, done
            if before is not None:
                self._finish_half(target, *before)
            return True

    def _finish_half(self, target: int, at: int, length: int, half: int, done: Any) -> None:
        self._do("cuEventSynchronize", done)
        ctypes.memmove(target + at, half, length)


def _pieces(size: int) -> Iterator[tuple[int, int]]:
    """Where pieces begin, and their lengths."""
    return ((at, min(HALF, size - at)) for at in range(0, size, HALF))
