"""Copies of large arrays between host and GPU, through page-locked memory.

The GPU reads and writes such memory by itself: while it transfers one half, the other half is
copied to or from the array.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ....errors import DeviceError, ResourceExhaustedError

HALF = 4 << 20  # bytes

DISABLE_TIMING = 2  # a flag of events


class Staging:
    """Page-locked memory in two halves.

    Args:
      do: Calls the driver: ``do(name, *arguments)``.
      stream: The stream of all transfers.
    """

    def __init__(self, do: Callable[..., Any], stream: Any) -> None:
        self._do, self._stream = do, stream
        self._lock = threading.Lock()
        # Where they are, and events: the transfers of each are done. Empty if there are none.
        self._halves: list[tuple[int, Any]] | None = None

    @contextmanager
    def _ours(self) -> Iterator[bool]:
        """Whether the memory is the caller's inside of the block.

        It is not if another thread has it, or the same thread further up, where a signal handler
        or a finalizer came in between.
        """
        if not self._lock.acquire(blocking=False):
            yield False
            return
        try:
            if self._halves is None:
                self._halves = self._allocated()
            yield bool(self._halves)
        except BaseException:
            self._do("cuStreamSynchronize", self._stream)  # a transfer may have no event yet
            raise
        finally:
            self._lock.release()

    def _allocated(self) -> list[tuple[int, Any]]:
        try:
            begin = int(self._do("cuMemHostAlloc", 2 * HALF, 0))
        except (DeviceError, ResourceExhaustedError):  # the system has none to spare
            return []
        return [(begin + k * HALF, self._do("cuEventCreate", DISABLE_TIMING)) for k in range(2)]

    def upload(self, source: int, address: int, size: int) -> bool:
        """Copy bytes to the GPU. The host's are free afterwards.

        Returns:
          Whether it was done; if not, the memory is in use.
        """
        with self._ours() as ours:
            if not ours:
                return False
            assert self._halves is not None
            for k, (at, length) in enumerate(_pieces(size)):
                half, done = self._halves[k % 2]
                self._do("cuEventSynchronize", done)
                ctypes.memmove(half, source + at, length)
                self._do("cuMemcpyHtoDAsync", address + at, half, length, self._stream)
                self._do("cuEventRecord", done, self._stream)
            return True

    def download(self, address: int, target: int, size: int) -> bool:
        """Copy bytes from the GPU, and wait for them. Returns whether it was done, as `upload`."""
        with self._ours() as ours:
            if not ours:
                return False
            assert self._halves is not None
            before: tuple[int, int, int, Any] | None = None
            for k, (at, length) in enumerate(_pieces(size)):
                # An upload out of this half comes first in the stream.
                half, done = self._halves[k % 2]
                self._do("cuMemcpyDtoHAsync", half, address + at, length, self._stream)
                self._do("cuEventRecord", done, self._stream)
                if before is not None:
                    self._arrived(target, *before)
                before = at, length, half, done
            if before is not None:
                self._arrived(target, *before)
            return True

    def _arrived(self, target: int, at: int, length: int, half: int, done: Any) -> None:
        self._do("cuEventSynchronize", done)
        ctypes.memmove(target + at, half, length)


def _pieces(size: int) -> Iterator[tuple[int, int]]:
    """Where pieces begin, and their lengths."""
    return ((at, min(HALF, size - at)) for at in range(0, size, HALF))
