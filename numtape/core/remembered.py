"""What is worth remembering: structures that come again.

Something derived from a structure, a plan or adjoint rows, is kept when that structure, known by
the hash of its bytes, comes for the second time. Entries are found by a question that is cheap to
ask; whether one fits, whoever kept it has to compare.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Generic, TypeVar

from .arrays import Array

ALIKE = 4  # entries of one question: comparing with more of them would cost too much
SEEN = 4096  # structures that came once
ROWS = 1 << 16  # rows of all entries together; some 150 bytes each

Entry = TypeVar("Entry")


class Remembered(Generic[Entry]):
    """Entries by question, the latest first."""

    def __init__(self) -> None:
        self._entries: dict[Any, list[Entry]] = {}
        self._seen: set[int] = set()
        self._rows = 0

    def alike(self, question: Hashable) -> list[Entry]:
        """The entries that may fit."""
        return self._entries.get(question, [])

    def comes_again(self, question: Hashable, rows: int, *structure: Array) -> bool:
        """Whether a structure of so many rows was met before and is small enough to be kept."""
        if rows > ROWS // 4:
            return False
        digest = hash((question, *[array.tobytes() for array in structure]))
        if digest in self._seen:
            return True
        if len(self._seen) >= SEEN:
            self._seen.clear()
        self._seen.add(digest)
        return False

    def keep(self, question: Hashable, rows: int, entry: Entry) -> None:
        """Add an entry of so many rows; if that is too much, forget all others."""
        if self._rows + rows > ROWS:
            self._entries.clear()
            self._rows = 0
        self._rows += rows
        self._entries[question] = [entry, *self.alike(question)[: ALIKE - 1]]

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._seen.clear()
        self._rows = 0
