"""Where the time goes: one stretch of it after the other, each counted once.

What is measured nests: a look plans, planning compiles. A stretch belongs to what began last. What
the profiler itself takes is counted apart, so all parts together are the whole.
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
    """What time is counted for.

    Attributes:
      line: The line of the program, ``file:number``, or "" for none.
      what: The op, or "".
      how: What was done: one of the kinds of work, or how an op was computed.
    """

    line: str
    what: str
    how: str


@dataclass(slots=True)
class Count:
    """The counts: nanoseconds, how often, bytes of buffers."""

    nanoseconds: int = 0
    calls: int = 0
    bytes: int = 0


class Clock:
    """Counts the time of the thread that made it.

    Attributes:
      counts: The counts, by key.
      own: Nanoseconds that counting took.
      whole: Nanoseconds from the start to the end, once it is over.
    """

    def __init__(self) -> None:
        self.counts: dict[Key, Count] = {}
        self.own = 0
        self.whole = 0
        self.begun: list[Key] = []  # what has begun and not ended
        self._thread = threading.get_ident()
        self._any = False  # whether anything was counted
        self._start = self._last = perf_counter_ns()

    def is_own_thread(self) -> bool:
        """Whether this is the thread that is measured."""
        return threading.get_ident() == self._thread

    def count(self, key: Key, nanoseconds: int = 0, calls: int = 0, size: int = 0) -> None:
        """Count time, calls or bytes for a key."""
        count = self.counts.get(key)
        if count is None:
            count = self.counts[key] = Count()
        count.nanoseconds += nanoseconds
        count.calls += calls
        count.bytes += size

    def reach(self, line: str, what: str = "") -> None:
        """A line of the program is reached: the time up to here is its."""
        now = perf_counter_ns()
        begun = self.begun[-1] if self.begun else None
        if begun is not None:
            self.count(Key(line, what, begun.how), now - self._last, 1)
        else:
            # Before the first one are imports, and reading of data.
            self.count(Key(line if self._any else "", what, PYTHON), now - self._last, 1)
        self._any = True
        self._resume(now)

    @contextmanager
    def during(self, how: str, line: str) -> Iterator[None]:
        """What is done in the block is of a kind; for a line, or for that of what is around it."""
        now = perf_counter_ns()
        around = self.begun[-1] if self.begun else None
        key = Key(around.line if around is not None and around.line else line, "", how)
        self.count(around or Key(key.line if self._any else "", "", PYTHON), now - self._last)
        self._any = True
        self.begun.append(key)
        self._resume(now)
        try:
            yield
        finally:
            now = perf_counter_ns()
            self.count(key, now - self._last, 1)
            self.begun.pop()
            self._resume(now)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is done in the block is the profiler's own; a block within may count for others."""
        now = perf_counter_ns()
        key = self.begun[-1] if self.begun else Key("", "", PYTHON)
        self.count(key, now - self._last)
        self._resume(now)
        try:
            yield
        finally:
            now = perf_counter_ns()
            self.own += now - self._last
            self._last = now

    def spent(self, nanoseconds: int) -> None:
        """So much of the time since the block `aside` began is counted for others."""
        self.own -= nanoseconds

    def _resume(self, since: int) -> None:
        self._last = now = perf_counter_ns()
        self.own += now - since

    def end(self) -> None:
        """It is over."""
        now = perf_counter_ns()
        self.count(Key("", "", PYTHON), now - self._last)
        self.whole = now - self._start
