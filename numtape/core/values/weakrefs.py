"""Weak references whose callbacks run no Python code.

Python prints an exception that is raised in a finalizer or in a weak reference's callback, and
continues. That would swallow the KeyboardInterrupt of a Ctrl-C that arrives while such code runs.
Signals are only handled between instructions of Python code, so callbacks here are methods of
deques and dictionaries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial, update_wrapper
from typing import Any, Generic, TypeVar
from weakref import ref

T = TypeVar("T")


class _Reference(ref[Any]):
    """A weak reference with a payload that outlives the object."""

    __slots__ = ("payload",)
    payload: Any


class FinalizationQueue(Generic[T]):
    """A queue of the payloads of dead objects, in the order of their deaths."""

    def __init__(self) -> None:
        self._references: dict[int, _Reference] = {}  # by id; a reference must live to call back
        self._dead: deque[_Reference] = deque()

    def __bool__(self) -> bool:
        return bool(self._dead)

    def add(self, owner: object, left: T) -> None:
        """Add a payload that enters the queue when ``owner`` is garbage collected."""
        reference = _Reference(owner, self._dead.append)
        reference.payload = left
        self._references[id(reference)] = reference

    def take(self) -> T:
        """Remove and return the payload of one dead object.

        Raises:
          IndexError: If the queue is empty.
        """
        reference = self._dead.popleft()
        del self._references[id(reference)]
        left: T = reference.payload
        return left


class WeakObjectMap(Generic[T]):
    """A map from objects to values, for the objects' lifetimes. Values must not refer to them."""

    def __init__(self) -> None:
        self._table: dict[int, tuple[ref[Any], T]] = {}

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[tuple[Any, T]]:
        """Iterate over the live objects and their values."""
        entries = list(self._table.values())
        return iter(
            [(owner, value) for owner_ref, value in entries if (owner := owner_ref()) is not None]
        )

    def __contains__(self, owner: object) -> bool:
        return self.get(owner) is not None

    def put(self, owner: object, value: T) -> None:
        """Set the value of an object."""
        key = id(owner)
        # As the callback's argument, the reference becomes the default of `pop`.
        self._table[key] = ref(owner, partial(self._table.pop, key)), value

    def get(self, owner: object) -> T | None:
        """Return the value of an object, or None."""
        entry = self._table.get(id(owner))
        return entry[1] if entry is not None and entry[0]() is owner else None

    def drop(self, owner: object) -> None:
        """Remove the value of an object."""
        self._table.pop(id(owner), None)


V = TypeVar("V")

_MAX_CACHED = 1024  # results of one function; a full cache is cleared


def weak_cache(function: Callable[[T], V]) -> Callable[[T], V]:
    """Cache a function of one object (a class or code, say) whose result never changes."""
    cache: dict[int, tuple[ref[T], V]] = {}

    def lookup(x: T) -> V:
        try:
            reference, value = cache[id(x)]
            if reference() is x:
                return value
        except KeyError:
            pass
        value = function(x)
        if len(cache) >= _MAX_CACHED:
            cache.clear()
        cache[id(x)] = ref(x), value
        return value

    return update_wrapper(lookup, function)
