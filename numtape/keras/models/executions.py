"""Executions: batches whose steps are taken together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from ...nest import flatten, map_structure
from .batches import Batch


def together(batches: Iterable[Batch], count: int) -> Iterator[list[Batch]]:
    """Batches in lists of ``count``; the last one may be shorter."""
    rest = iter(batches)
    while group := list(itertools.islice(rest, count)):
        yield group


def even_part(count: int, largest: int) -> int:
    """The size of parts of ``count``: about equal, none above ``largest``."""
    return -(-count // -(-count // largest))


def blocks(group: list[Batch], size: int) -> Iterator[list[Batch]]:
    """Parts of a group: ``size`` batches of equal shapes that follow each other, or one batch."""
    kinds = [_kind(batch) for batch in group] if size > 1 else []
    k = 0
    while k < len(group):
        full = size > 1 and k + size <= len(group) and len(set(kinds[k : k + size])) == 1
        yield group[k : k + (size if full else 1)]
        k += size if full else 1


def _kind(batch: Batch) -> Any:
    structure = map_structure(lambda x: None if x is None else 0, batch)
    leaves = (None if x is None else (tuple(x.shape), x.dtype) for x in flatten(batch))
    return repr(structure), *leaves
