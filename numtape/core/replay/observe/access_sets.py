"""The Python state that all calls of one function read and write.

A function may write state that it does not read. The write happens when the call is recorded, and
replays do not repeat it. If another call, along another path, reads that state, replays would
differ from Python.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import reads
from .ownership import HEAP_TYPE_FLAG, class_dict, instance_dict, is_numtape_class
from .reads import Read

ALL_KEYS: Any = object()  # used in place of a key: all contents of an object

Write = tuple[Any, Any, str]  # the object, the key, and the name in the program
_KINDS_WITH_KEY = (
    reads.ENTRY,
    reads.CELL,
    reads.ATTRIBUTE,
    reads.METHOD,
    reads.ITEM,
    reads.CONTAINS,
)
_AccessesByKey = dict[Any, set[bool]]  # whether a key is read (False) and written (True)


def key_identity(key: Any) -> Any:
    """Return a comparison key: strings and numbers by value, other objects by identity."""
    cls = type(key)
    if cls in (str, int, bool, bytes):
        return cls, key
    if cls is float or issubclass(cls, np.generic):
        return cls, repr(key)
    if cls is tuple:
        parts: list[Any] = []
        stack: list[Any] = [key]
        while stack:  # not recursive, because tuples may be deeply nested
            x = stack.pop()
            if type(x) is tuple:
                parts.append((tuple, len(x)))
                stack += x
            else:
                parts.append(key_identity(x))
        return tuple(parts)
    return id(key)


def find_conflict(
    call_reads: Iterable[Read],
    inputs: Iterable[tuple[int, Any]],
    mutations: dict[int, tuple[str, Any]],
    printing_writes: dict[tuple[Any, ...], Any],
) -> str:
    """Return why a call that read and changed the same state cannot be replayed, or "".

    Args:
      call_reads: The reads of the call.
      inputs: Arrays that it computed with, and their rows.
      mutations: Objects that it changed, by id, in a way that accumulates if it is repeated.
      printing_writes: State that printing and logging changed.
    """
    holders = []
    for read in call_reads:
        holders.append((read.key if read.kind == reads.ANSWER else read.holder, f" ({read.name})"))
        if (id(read.holder), key_identity(read.key)) in printing_writes:
            return f"printing or logging changes {read.name}, which it reads"
    for _, array in inputs:
        while isinstance(array, np.ndarray):
            holders.append((array, ""))
            array = array.base
    for holder, name in holders:
        if id(holder) in mutations:
            return f"it {mutations[id(holder)][0]}, which it reads as well{name}"
    return ""


class AccessSets:
    """The state that recordings read and write, with at most one entry for each read or write."""

    def __init__(self) -> None:
        self._objects: dict[int, tuple[Callable[[], Any], _AccessesByKey]] = {}
        self._subscribers: dict[int, weakref.ref[Any]] = {}
        self._reason = ""

    def subscribe(self, limit: Any) -> str:
        """Set a limit's ``reason`` once state is both read and written. Return a present reason."""
        key = id(limit)
        self._subscribers[key] = weakref.ref(limit, functools.partial(self._subscribers.pop, key))
        return self._reason

    def add(
        self, new_reads: Iterable[Read], writes: Iterable[Write], arrays: Iterable[Any]
    ) -> None:
        """Note the reads and writes of a call, and stop recording if state is in both.

        Args:
          new_reads: The call's reads.
          writes: The call's writes.
          arrays: Arrays whose elements it computes with.
        """
        shared_name = ""
        unchanged = set()
        for array in arrays:
            while isinstance(array, np.ndarray):
                if self._note(array, ALL_KEYS, False):
                    shared_name = shared_name or "an array"
                array = array.base
        for read in new_reads:
            holder = read.key if read.kind == reads.ANSWER else read.holder
            key = read.key if read.kind in _KINDS_WITH_KEY else ALL_KEYS
            if read.kind == reads.TYPE:  # an object's type is no attribute that a call may set
                key = "__class__"
            if self._note(holder, key, False) or self._note_in_dict(holder, key):
                shared_name = shared_name or read.name
            if read.kind in (reads.ATTRIBUTE, reads.METHOD) and self._note_in_classes(holder, key):
                shared_name = shared_name or read.name
            unchanged.add((id(holder), key_identity(key)))
        for holder, key, name in writes:
            # State that is equal before and after the call was not changed.
            if (id(holder), key_identity(key)) in unchanged:
                continue
            # The dict that holds the attributes is another way to read them.
            attributes = class_dict(holder) if reads.is_a(holder, type) else instance_dict(holder)
            if self._note(holder, key, True) or (attributes and self._note(attributes, key, True)):
                shared_name = shared_name or name
            if type(holder) is dict:
                objects = [entry[0]() for entry in list(self._objects.values())]
                if any(self._note(x, key, True) for x in objects if instance_dict(x) is holder):
                    shared_name = shared_name or name
        if shared_name and not self._reason:
            self._reason = f"one of its calls sets {shared_name}, which another call reads"
            for reference in list(self._subscribers.values()):
                limit = reference()
                if limit is not None:
                    limit.reason = limit.reason or self._reason

    def _note_in_dict(self, holder: Any, key: Any) -> bool:
        """Note a read of an attribute if the object's dict was written directly."""
        names = instance_dict(holder)
        entry = self._objects.get(id(names))
        return entry is not None and entry[0]() is names and self._note(names, key, False)

    def _note_in_classes(self, holder: Any, key: Any) -> bool:
        """Note a read of an attribute in the classes that may define it."""
        classes = type(holder).__mro__ + (holder.__mro__ if reads.is_a(holder, type) else ())
        is_shared = [
            self._note(class_dict(cls), key, False)
            for cls in classes
            if cls.__flags__ & HEAP_TYPE_FLAG and not is_numtape_class(cls)
        ]
        return any(is_shared)

    def _note(self, holder: Any, key: Any, is_write: bool) -> bool:
        entry = self._objects.get(id(holder))
        if entry is None or entry[0]() is not holder:  # an address may be reused
            entry = self._objects[id(holder)] = _weak_reference(holder), {}
        accesses = entry[1]
        identity, all_keys = key_identity(key), key_identity(ALL_KEYS)
        accesses.setdefault(identity, set()).add(is_write)
        overlapping = (
            [*accesses.values()]
            if identity == all_keys
            else (accesses[identity], accesses.get(all_keys, set()))
        )
        opposite_kind = not is_write
        return any(opposite_kind in access for access in overlapping)


def _weak_reference(value: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value
