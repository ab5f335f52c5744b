"""A cache for structures that repeat.

A value derived from a structure, such as a plan or adjoint rows, is cached when the structure,
identified by the hash of its bytes, occurs for the second time. Lookup by a cheap key yields
candidates, and the caller checks which one fits.

Structures contain numbers of codes and specs. When such numbers are freed for reuse, the cache is
cleared.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Generic, TypeVar

import numpy as np

from ..log.log import Log
from ..values.intern_table import generation
from ..values.memory import Array

COLUMNS = ("code", "a", "b", "c", "spec")

MAX_ENTRIES_PER_KEY = 4  # more would take too long to compare
SEEN = 4096  # hashes of structures that occurred once
ROWS = 1 << 16  # total rows of all entries; some 150 bytes each

Entry = TypeVar("Entry")


def columns_of(log: Log, start: int, stop: int) -> Array:
    """A copy of the structure of some rows, one column after the other."""
    return np.concatenate([getattr(log.columns, name)[start:stop] for name in COLUMNS])


def operands_of(log: Log, start: int = 0, stop: int | None = None) -> Array:
    """A copy of operands of variadic rows, with a 0 appended so that it is never empty."""
    stop = log.extra_n if stop is None else stop
    rows: Array = np.append(log.extra[start:stop], np.int32(0))
    return rows


class StructureCache(Generic[Entry]):
    """Entries by key, the latest first."""

    def __init__(self) -> None:
        self._entries: dict[Any, list[Entry]] = {}
        self._seen_hashes: set[int] = set()
        self._rows = 0
        self._freed = generation.number

    def entries_of(self, question: Hashable) -> list[Entry]:
        """The entries that may fit."""
        if self._freed != generation.number:
            self.clear()
        return self._entries.get(question, [])

    @staticmethod
    def fits(rows: int) -> bool:
        """Whether a structure of so many rows is small enough to be cached."""
        return rows <= ROWS // 4

    def comes_again(self, question: Hashable, *structure: Array) -> bool:
        """Whether a structure occurred before."""
        digest = hash((question, *[array.tobytes() for array in structure]))
        if digest in self._seen_hashes:
            return True
        if len(self._seen_hashes) >= SEEN:
            self._seen_hashes.clear()
        self._seen_hashes.add(digest)
        return False

    def keep(self, question: Hashable, rows: int, entry: Entry, freed: int) -> None:
        """Add an entry of so many rows; if the cache is full, clear it first.

        ``freed`` is the number of `generation` from before the structure was copied.
        """
        if freed != self._freed:
            return
        if self._rows + rows > ROWS:
            self._entries.clear()
            self._rows = 0
        self._rows += rows
        self._entries[question] = [entry, *self.entries_of(question)[: MAX_ENTRIES_PER_KEY - 1]]

    def clear(self) -> None:
        """Remove all entries."""
        self._freed = generation.number
        self._entries.clear()
        self._seen_hashes.clear()
        self._rows = 0
