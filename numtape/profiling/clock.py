"""`Clock`: attribute each interval of time to exactly one key.

Measured blocks nest: evaluation plans, planning compiles. An interval belongs to the innermost
open block. The profiler's overhead is counted separately, so that all parts add up to the total.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns
from typing import NamedTuple

PYTHON = "Python"


class Key(NamedTuple):
    """The key that time is counted for.

    Attributes:
      line: The line of the program, ``file:number``, or "" for none.
      op: The op, or "".
      kind: The kind of work, or the kind of kernel that computed the op.
    """

    line: str
    op: str
    kind: str


@dataclass(slots=True)
class Count:
    """Counts of a key: nanoseconds, calls, bytes of buffers."""

    nanoseconds: int = 0
    calls: int = 0
    bytes: int = 0


class Clock:
    """Measures the time of the thread that created it.

    Attributes:
      counts: The counts, by key.
      overhead: Nanoseconds of overhead.
      total: Nanoseconds from start to end; 0 until `end`.
    """

    def __init__(self) -> None:
        self.counts: dict[Key, Count] = {}
        self.overhead = 0
        self.total = 0
        self.open_blocks: list[Key] = []  # open blocks, innermost last
        self._thread = threading.get_ident()
        self._any = False  # whether anything was counted
        self._start = self._last = perf_counter_ns()

    def is_own_thread(self) -> bool:
        """Whether the current thread is the measured one."""
        return threading.get_ident() == self._thread

    def count(self, key: Key, nanoseconds: int = 0, calls: int = 0, size: int = 0) -> None:
        """Count time, calls or bytes for a key."""
        count = self.counts.get(key)
        if count is None:
            count = self.counts[key] = Count()
        count.nanoseconds += nanoseconds
        count.calls += calls
        count.bytes += size

    def reach(self, line: str, op: str = "") -> None:
        """Attribute the time since the last event to a line that recorded an op."""
        now = perf_counter_ns()
        block = self.open_blocks[-1] if self.open_blocks else None
        if block is not None:
            self.count(Key(line, op, block.kind), now - self._last, 1)
        else:
            # The time before the first event is that of imports and of reading data.
            self.count(Key(line if self._any else "", op, PYTHON), now - self._last, 1)
        self._any = True
        self._resume(now)

    @contextmanager
    def during(self, kind: str, line: str) -> Iterator[None]:
        """Count the block's time as ``kind``, for the enclosing block's line or ``line``."""
        now = perf_counter_ns()
        enclosing = self.open_blocks[-1] if self.open_blocks else None
        key = Key(enclosing.line if enclosing is not None and enclosing.line else line, "", kind)
        self.count(enclosing or Key(key.line if self._any else "", "", PYTHON), now - self._last)
        self._any = True
        self.open_blocks.append(key)
        self._resume(now)
        try:
            yield
        finally:
            now = perf_counter_ns()
            self.count(key, now - self._last, 1)
            self.open_blocks.pop()
            self._resume(now)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Count the block's time as overhead, except what `spent` reports."""
        now = perf_counter_ns()
        key = self.open_blocks[-1] if self.open_blocks else Key("", "", PYTHON)
        self.count(key, now - self._last)
        self._resume(now)
        try:
            yield
        finally:
            now = perf_counter_ns()
            self.overhead += now - self._last
            self._last = now

    def spent(self, nanoseconds: int) -> None:
        """Subtract from the overhead time that the caller counts for other keys."""
        self.overhead -= nanoseconds

    def _resume(self, since: int) -> None:
        self._last = now = perf_counter_ns()
        self.overhead += now - since

    def end(self) -> None:
        """Stop the clock."""
        now = perf_counter_ns()
        self.count(Key("", "", PYTHON), now - self._last)
        self.total = now - self._start
