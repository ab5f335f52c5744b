"""Elements of datasets, which each replay reads anew.

A call reads ahead, and what it read is taken from the dataset when the call is committed. So what
a path read whose guards did not hold is there for the next path, and for Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ..values.tensor import Tensor


class PrefetchedElement(Protocol):
    """What was read ahead.

    Attributes:
      kind: The structure and specs of an element, to be compared; None for the end.
      leaves: Its tensors, which belong to no log.
      refused: Why a replay cannot have it.
    """

    kind: Any
    leaves: Sequence[Tensor]
    refused: str


class Reader(Protocol):
    """What reads a dataset.

    Attributes:
      taken: How many elements were taken from it.
    """

    taken: int

    def read_ahead(self, number: int) -> PrefetchedElement:
        """Element number ``number`` of those that are not taken yet."""

    def state_after(self, number: int) -> dict[str, Any]:
        """The attributes that it has when so many are taken."""

    def advance(self, number: int) -> None:
        """Take so many."""


class StartedReader(NamedTuple):
    """The reader that a call begins: of which dataset, and which of those that it begins."""

    dataset: Any
    number: int


class ElementRead(NamedTuple):
    """An element that a call read, or a reader that it began.

    Attributes:
      source: The reader, or how it began.
      number: Which of the elements that the reader gave in this call; -1 if it began only.
      kind: That of its entry.
      rows: Where its tensors are.
    """

    source: Any
    number: int
    kind: Any
    rows: tuple[int, ...]
