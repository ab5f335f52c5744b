"""Memory for stacks: address ranges whose pages are allocated when written, and reused.

A stack is one range of addresses, as long as the limit, so that it never moves and nothing is
copied when it grows. Pages that were written stay allocated until they are unused for a while.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np

from ....errors import ResourceExhaustedError
from ...values.memory import Array, address_of

LEAST = 1 << 16
PATIENCE = 64  # calls after which pages that none of them needed go
MOST_WAITING = 16  # stacks
# Python 3.13 is the first one to name it. Without it no process could fork that has two stacks.
NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def _machine() -> int:
    """The machine's memory in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 32


class Arena:
    """One stack.

    Attributes:
      start, end: Its addresses.
      recent: The most bytes that a call took since it was trimmed.
      calls: How many calls there were since.
    """

    def __init__(self, size: int) -> None:
        kinds = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
        kinds |= NO_RESERVE
        while True:
            try:
                self._memory = mmap.mmap(-1, size, flags=kinds) if kinds else mmap.mmap(-1, size)
                break
            except (OSError, ValueError):
                size //= 2
                if size < LEAST:
                    text = "Memory for a kernel's stack is exhausted."
                    raise ResourceExhaustedError(text) from None
        if hasattr(mmap, "MADV_HUGEPAGE"):  # long stacks: a tenth to a half less time
            with suppress(OSError):
                self._memory.madvise(mmap.MADV_HUGEPAGE)
        array: Any = np.frombuffer(self._memory, np.uint8)
        self.start = address_of(array)
        self.end = self.start + size
        self.recent = self.calls = self._high = 0

    def trim(self) -> None:
        """Let go of the pages that the last calls did not need."""
        self._high = max(self._high, self.recent)
        self._high = self.release(min(self.recent, LIMIT), self._high)
        self.recent = self.calls = 0

    def release(self, used_size: int, high: int) -> int:
        """Let go of pages between bytes ``kept`` and ``high``. Returns where what is left ends."""
        page = mmap.PAGESIZE
        used_size = -(-used_size // page) * page
        if high <= used_size or not hasattr(mmap, "MADV_DONTNEED"):
            return high
        with suppress(OSError):
            length = min(-(-high // page) * page, self.end - self.start) - used_size
            if length > 0:
                self._memory.madvise(mmap.MADV_DONTNEED, used_size, length)
        return used_size

    def words(self, count: int) -> Array:
        """The int64s that it begins with."""
        return np.frombuffer(self._memory, np.int64, count)


SIZE = max(_machine() // 2, LEAST)
LIMIT = _machine() // 8  # bytes that wait in one stack
_waiting: deque[Arena] = deque(maxlen=MOST_WAITING)


LONG = min(1 << 24, LIMIT)  # bytes in one stack that take some hundredths of a second


def take() -> Arena:
    """A stack for exclusive use."""
    try:
        return _waiting.pop()
    except IndexError:
        return Arena(SIZE)


wait = _waiting.append  # no call has it any more


def give_back(arena: Arena, size: int) -> None:
    """It is not in use any more; a call took so many bytes of it."""
    arena.recent = max(arena.recent, size)
    arena.calls += 1
    if arena.calls > PATIENCE or size > LIMIT:
        arena.trim()
    wait(arena)
