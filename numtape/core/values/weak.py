"""Weak references that do their work without Python's code.

Python prints what is raised in a finalizer or in a weak reference's callback, and goes on: so is
the KeyboardInterrupt of a Ctrl-C that comes while such code runs. Signals are looked for only
between the instructions of Python's code, so here callbacks are methods of deques and dictionaries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any, Generic, TypeVar
from weakref import ref

T = TypeVar("T")


class _Reference(ref[Any]):
    """A reference to an object that leaves something behind."""

    __slots__ = ("payload",)
    payload: Any


class FinalizationQueue(Generic[T]):
    """What objects that have gone left behind, in the order in which they went."""

    def __init__(self) -> None:
        self._references: dict[int, _Reference] = {}  # by their ids: who calls back must live
        self._dead: deque[_Reference] = deque()

    def __bool__(self) -> bool:
        return bool(self._dead)

    def add(self, owner: Any, left: T) -> None:
        """Have something here once nothing refers to an object any more."""
        reference = _Reference(owner, self._dead.append)
        reference.payload = left
        self._references[id(reference)] = reference

    def take(self) -> T:
        """What one object left.

        Raises:
          IndexError: If there is nothing.
        """
        reference = self._dead.popleft()
        del self._references[id(reference)]
        left: T = reference.payload
        return left


class WeakObjectMap(Generic[T]):
    """Something for each of some objects, as long as the object lives. It must not refer to it."""

    def __init__(self) -> None:
        self._table: dict[int, tuple[ref[Any], T]] = {}

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[tuple[Any, T]]:
        """The objects, and what there is for them."""
        entries = list(self._table.values())
        return iter([(owner, value) for owner_ref, value in entries if (owner := owner_ref()) is not None])

    def __contains__(self, owner: Any) -> bool:
        return self.get(owner) is not None

    def put(self, owner: Any, value: T) -> None:
        """Keep something for an object, instead of what there is."""
        key = id(owner)
        # `pop` gets the reference as what to return if there is no entry any more.
        self._table[key] = ref(owner, partial(self._table.pop, key)), value

    def get(self, owner: Any) -> T | None:
        """What there is for an object; None if nothing is."""
        entry = self._table.get(id(owner))
        return entry[1] if entry is not None and entry[0]() is owner else None

    def drop(self, owner: Any) -> None:
        """Keep nothing for an object any more."""
        self._table.pop(id(owner), None)
