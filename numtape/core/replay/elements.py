"""Dataset elements, which each replay reads again.

A call reads ahead, and takes the elements from the dataset when it is committed. If the guards of a
path do not hold, the elements that it read remain for the next path and for Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ..values.tensor import Tensor


class PrefetchedElement(Protocol):
    """An element that was read ahead.

    Attributes:
      kind: The structure and specs of the element, for comparison; None at the end of the dataset.
      leaves: Its tensors, which belong to no log.
      refused: Why a replay cannot use it; "" if it can.
    """

    kind: Any
    leaves: Sequence[Tensor]
    refused: str


class Reader(Protocol):
    """What a call needs of a dataset's reader: `numtape.data.source.Source`.

    Attributes:
      taken: The number of elements that were taken.
    """

    taken: int

    def read_ahead(self, number: int) -> PrefetchedElement:
        """Return element ``number`` of those that are not taken yet."""

    def state_after(self, number: int) -> dict[str, Any]:
        """Return the attributes of the reader after ``number`` more elements are taken."""

    def advance(self, number: int) -> None:
        """Take ``number`` elements."""


class StartedReader(NamedTuple):
    """A reader that a call starts: its dataset, and its number among the dataset's readers."""

    dataset: Any
    number: int


class ElementRead(NamedTuple):
    """A dataset element that a call read, or a reader that it started.

    Attributes:
      source: The reader, or a `StartedReader`.
      number: The position among the elements that the reader gave in this call; -1 for a start.
      kind: The entry's kind.
      rows: The rows of its tensors.
    """

    source: Any
    number: int
    kind: Any
    rows: tuple[int, ...]
