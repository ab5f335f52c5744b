"""Copies between host and GPU, through page-locked memory.

The GPU accesses page-locked memory directly. Small arrays go through `Ring`, where uploads are
asynchronous; large ones through `Staging`, which transfers one half while it copies the other.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ....errors import DeviceError, ResourceExhaustedError

if TYPE_CHECKING:
    from cuda.bindings.driver import CUevent, CUstream

HALF = 4 << 20  # bytes
SMALL = 64 << 10  # arrays of up to so many bytes go through the ring
PART = 4 * SMALL  # bytes of a part of the ring
PARTS = 4

DISABLE_TIMING = 2  # a flag of events
_ALIGNMENT = 16  # of arrays in the ring: suffices for any dtype


class _Locked:
    """Page-locked memory in parts, allocated at the first use.

    Args:
      do: Calls the driver: ``do(name, *arguments)``.
      stream: The stream of all transfers.
    """

    def __init__(self, do: Callable[..., Any], stream: CUstream) -> None:
        self._do, self._stream = do, stream
        self._lock = threading.Lock()
        # Address of each part, and the event after its last transfer; empty if allocation failed.
        self._parts: list[tuple[int, Any]] | None = None

    def _sizes(self) -> tuple[int, int]:
        """The number of parts, and the bytes of each."""
        return 2, HALF

    @contextmanager
    def _lock_parts(self) -> Iterator[list[tuple[int, Any]]]:
        """Lock the parts for a ``with`` block; yield an empty list if they are not available.

        They are unavailable if another thread holds the lock, if this thread does (a signal
        handler or a finalizer interrupted it), or if the allocation failed.
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
        except (DeviceError, ResourceExhaustedError):  # no page-locked memory is left
            return []
        return [(begin + k * size, self._do("cuEventCreate", DISABLE_TIMING)) for k in range(count)]


class Ring(_Locked):
    """Page-locked memory for arrays of at most ``SMALL`` bytes, filled part by part.

    A part is reused when its transfers are done; they nearly always are by the time the other
    parts are full.
    """

    def __init__(self, do: Callable[..., Any], stream: CUstream) -> None:
        super().__init__(do, stream)
        self._part = self._filled = 0

    def _sizes(self) -> tuple[int, int]:
        return PARTS, PART

    def _room(self, parts: list[tuple[int, Any]], size: int) -> int:
        """The address of ``size`` bytes that no transfer uses."""
        if self._filled + size > PART:
            self._do("cuEventRecord", parts[self._part][1], self._stream)
            self._part = (self._part + 1) % PARTS
            self._do("cuEventSynchronize", parts[self._part][1])
            self._filled = 0
        address = parts[self._part][0] + self._filled
        self._filled += -(-size // _ALIGNMENT) * _ALIGNMENT
        return address

    def upload(self, source: int, address: int, size: int) -> bool:
        """Copy bytes to the GPU. The host's bytes may be modified afterwards.

        Returns:
          Whether the copy was made; False if the page-locked memory is not available.
        """
        with self._lock_parts() as parts:
            if not parts:
                return False
            there = self._room(parts, size)
            ctypes.memmove(there, source, size)
            self._do("cuMemcpyHtoDAsync", address, there, size, self._stream)
            return True

    def download(self, address: int, target: int, size: int) -> bool:
        """Copy bytes from the GPU and wait for them. Return whether it was done, as `upload`."""
        with self._lock_parts() as parts:
            if not parts:
                return False
            there = self._room(parts, size)
            self._do("cuMemcpyDtoHAsync", there, address, size, self._stream)
            self._do("cuStreamSynchronize", self._stream)
            ctypes.memmove(target, there, size)
            return True


class Staging(_Locked):
    """Page-locked memory in two halves, for arrays larger than ``SMALL``."""

    def upload(self, source: int, address: int, size: int) -> bool:
        """Copy bytes to the GPU. The host's bytes may be modified afterwards.

        Returns:
          Whether the copy was made; False if the page-locked memory is not available.
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
        """Copy bytes from the GPU and wait for them. Return whether it was done, as `upload`."""
        with self._lock_parts() as halves:
            if not halves:
                return False
            before: tuple[int, int, int, Any] | None = None
            for k, (at, length) in enumerate(_pieces(size)):
                # The stream runs an earlier upload from this half first.
                half, done = halves[k % 2]
                self._do("cuMemcpyDtoHAsync", half, address + at, length, self._stream)
                self._do("cuEventRecord", done, self._stream)
                if before is not None:
                    self._finish_half(target, *before)
                before = at, length, half, done
            if before is not None:
                self._finish_half(target, *before)
            return True

    def _finish_half(self, target: int, at: int, length: int, half: int, done: CUevent) -> None:
        self._do("cuEventSynchronize", done)
        ctypes.memmove(target + at, half, length)


def _pieces(size: int) -> Iterator[tuple[int, int]]:
    """The offsets and lengths of pieces of at most ``HALF`` bytes."""
    return ((at, min(HALF, size - at)) for at in range(0, size, HALF))
