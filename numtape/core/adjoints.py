"""Adjoint rows that come again: a training loop pays for rules and the walk once.

What `transpose` appends depends on the rows of the log and on what was asked, on nothing else.
Where both are the same as before, the same rows are appended again.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from .arrays import Array, address_of
from .entry import Block
from .log import Log

COLUMNS = ("code", "a", "b", "c", "spec")

# Rows that are remembered by one thread, all together; 50 bytes each.
REMEMBERED = 1 << 16

ALIKE = 4  # remembered for the same question: comparing with more of them would cost too much

Key = tuple[Any, ...]


class Adjoints:
    """The adjoint rows that followed a log's first ``n`` rows, and what was found.

    Attributes:
      count: How many rows were appended.
      found: The row of each source's adjoint, or -1.
      watched: Which variables the tape watched, after `follow`.
    """

    __slots__ = ("arrays", "count", "found", "n", "operand_count", "watched")

    def __init__(self, log: Log, n: int, end: int, found: list[int], watched: list[int]) -> None:
        columns = log.columns
        self.n, self.count, self.found, self.watched = n, end - n, found, watched

        def copied(start: int, stop: int) -> Array:
            return np.concatenate([getattr(columns, name)[start:stop] for name in COLUMNS])

        arrays = {
            "columns": copied(0, n), "operands": log.extra[: log.extra_n + 1].copy(),
            "added": copied(n, end), "added_cells": columns.cell[n:end].copy(),
            "added_states": columns.state[n:end].copy(),
        }  # fmt: skip
        self.operand_count = log.extra_n
        self.arrays = [(name, array, address_of(array)) for name, array in arrays.items()]


class Memory:
    """What one thread remembers. A structure is remembered when it comes for the second time."""

    def __init__(self) -> None:
        self.entries: dict[Key, list[Adjoints]] = {}  # the latest first
        self.seen: set[Key] = set()
        self.rows = 0
        self.block: Block | None = None  # made when something is remembered
        self.columns: Any = None
        self.extra: Any = None

    def recall(self, log: Log, key: Key) -> Adjoints | None:
        """Append the rows of a gradient that was asked for before, if everything is the same."""
        entries = self.entries.get(key)
        if entries is None:
            return None
        log.reserve(max(entry.count for entry in entries))
        block = self.block
        if block is None:
            block = self.block = Block("repeat")
        if log.columns is not self.columns or log.extra is not self.extra:
            self.columns, self.extra = log.columns, log.extra
            bound = {name: getattr(log.columns, name) for name in log.columns.NAMES}
            block.bind(extra=log.extra, **bound)
        put, slots = block.set, block.slots
        for entry in entries:
            for name, array, address in entry.arrays:
                block.point(name, array, address)
            put[slots["n"]], put[slots["count"]] = entry.n, entry.count
            put[slots["operand_count"]] = entry.operand_count
            try:
                if block.call():
                    log.n = entry.n + entry.count
                    return entry
            except BaseException:
                log.columns.state[log.n :] = 0  # constants of rows that do not exist
                raise
        return None

    def note(
        self, log: Log, key: Key, n: int, found: list[int], watched: list[int]
    ) -> None:
        """Remember what was appended behind row ``n``, if it is not the first time."""
        if key not in self.seen:
            if len(self.seen) > 1000:
                self.seen.clear()
            self.seen.add(key)
        elif log.n <= REMEMBERED // 4:
            self.rows += log.n
            if self.rows > REMEMBERED:
                self.entries.clear()
                self.rows = log.n
            entry = Adjoints(log, n, log.n, found, watched)
            self.entries[key] = [entry, *self.entries.get(key, [])[: ALIKE - 1]]


_local = threading.local()


def memory() -> Memory:
    """This thread's."""
    found: Memory | None = getattr(_local, "memory", None)
    if found is None:
        found = _local.memory = Memory()
    return found
