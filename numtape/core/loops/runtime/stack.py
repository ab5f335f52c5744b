"""Memory for stacks: address ranges whose pages are allocated when written, and reused.

A stack is one range of addresses of the maximum size, so that it never moves and growing copies
nothing. Written pages stay allocated until they are unused for a while. Start with `take`.
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

MIN_SIZE = 1 << 16
CALLS_BEFORE_TRIM = 64  # calls after which pages that none of them needed are released
MAX_WAITING = 16  # stacks
# Named since Python 3.13. Without it, a process with two stacks could not fork.
NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def _machine_memory() -> int:
    """Return the machine's memory in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 32


class Arena:
    """One stack.

    Attributes:
      start, end: Its first address, and the address after its last.
      recent: The most bytes that a call took since the last `trim`.
      calls: The number of calls since then.
    """

    def __init__(self, size: int) -> None:
        flags = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
        flags |= NO_RESERVE
        while True:
            try:
                self._memory = mmap.mmap(-1, size, flags=flags) if flags else mmap.mmap(-1, size)
                break
            except (OSError, ValueError):
                size //= 2
                if size < MIN_SIZE:
                    text = "Memory for a kernel's stack is exhausted."
                    raise ResourceExhaustedError(text) from None
        if hasattr(mmap, "MADV_HUGEPAGE"):  # calls with long stacks take 10 to 50 % less time
            with suppress(OSError):
                self._memory.madvise(mmap.MADV_HUGEPAGE)
        array: Any = np.frombuffer(self._memory, np.uint8)
        self.start = address_of(array)
        self.end = self.start + size
        self.recent = self.calls = self._allocated_size = 0

    def trim(self) -> None:
        """Release the pages that recent calls did not need."""
        self._allocated_size = max(self._allocated_size, self.recent)
        self._allocated_size = self.release(min(self.recent, MAX_KEPT_SIZE), self._allocated_size)
        self.recent = self.calls = 0

    def release(self, used_size: int, allocated_size: int) -> int:
        """Release the pages between two sizes in bytes. Return the size that stays allocated."""
        page = mmap.PAGESIZE
        used_size = -(-used_size // page) * page
        if allocated_size <= used_size or not hasattr(mmap, "MADV_DONTNEED"):
            return allocated_size
        with suppress(OSError):
            length = min(-(-allocated_size // page) * page, self.end - self.start) - used_size
            if length > 0:
                self._memory.madvise(mmap.MADV_DONTNEED, used_size, length)
        return used_size

    def words(self, count: int) -> Array:
        """Return a view of the first ``count`` int64s."""
        return np.frombuffer(self._memory, np.int64, count)


SIZE = max(_machine_memory() // 2, MIN_SIZE)
MAX_KEPT_SIZE = _machine_memory() // 8  # the most bytes that a free stack keeps allocated
_waiting: deque[Arena] = deque(maxlen=MAX_WAITING)


# Bytes of stack whose use takes some hundredths of a second.
LONG_SIZE = min(1 << 24, MAX_KEPT_SIZE)


def take() -> Arena:
    """Return a stack for exclusive use."""
    try:
        return _waiting.pop()
    except IndexError:
        return Arena(SIZE)


wait = _waiting.append  # makes a stack available again


def give_back(arena: Arena, size: int) -> None:
    """Make a stack available again, after a call that took ``size`` bytes of it."""
    arena.recent = max(arena.recent, size)
    arena.calls += 1
    if arena.calls > CALLS_BEFORE_TRIM or size > MAX_KEPT_SIZE:
        arena.trim()
    wait(arena)
