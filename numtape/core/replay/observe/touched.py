"""What the calls of one function read and set, all of them together.

What a function sets and does not read is set when it is recorded. If another call of it, along
another path, reads that, a replay that does not set it would not be what Python does.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import reads
from .reads import Read
from .whose import HEAP_TYPE_FLAG, class_dict, instance_dict, is_numtape_class

ALL_KEYS: Any = object()  # in the place of a key: all that an object holds

Write = tuple[Any, Any, str]  # who has it, where, what the program calls it
_KINDS_WITH_KEY = (
    reads.ENTRY,
    reads.CELL,
    reads.ATTRIBUTE,
    reads.METHOD,
    reads.ITEM,
    reads.CONTAINS,
)
_AccessesByKey = dict[Any, set[bool]]  # by key: whether it is read (False) and set (True)


def key_identity(key: Any) -> Any:
    """What tells keys apart: strings and numbers by value, others by identity."""
    kind = type(key)
    if kind in (str, int, bool, bytes):
        return kind, key
    if kind is float or issubclass(kind, np.generic):
        return kind, repr(key)
    if kind is tuple:
        parts: list[Any] = []
        stack: list[Any] = [key]
        while stack:  # without recursion: they may be deep
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
    """Why a call that read and changed the same cannot be replayed, or "".

    Args:
      found: What it read.
      inputs: Arrays that it computed with, and their rows.
      mutated: What it changed, by id, in a way that adds up if it is done again.
      hidden: What printing and logging set.
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
    """What was read and set by recordings; as many entries as they have reads at most."""

    def __init__(self) -> None:
        self._objects: dict[int, tuple[Callable[[], Any], _AccessesByKey]] = {}
        self._subscribers: dict[int, weakref.ref[Any]] = {}
        self._reason = ""

    def subscribe(self, limit: Any) -> str:
        """Tell a budget of what is both read and set, as its ``reason``; returns what is now."""
        key = id(limit)
        self._subscribers[key] = weakref.ref(limit, functools.partial(self._subscribers.pop, key))
        return self._reason

    def add(
        self, new_reads: Iterable[Read], writes: Iterable[Write], arrays: Iterable[Any]
    ) -> None:
        """Note what a call reads and sets. What is now both read and set is a reason.

        Args:
          found: What it reads.
          sets: What it sets.
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
            if read.kind == reads.TYPE:  # an object's class is no attribute that a call may set
                key = "__class__"
            if self._note(holder, key, False) or self._note_in_dict(holder, key):
                shared_name = shared_name or read.name
            if read.kind in (reads.ATTRIBUTE, reads.METHOD) and self._note_in_classes(holder, key):
                shared_name = shared_name or read.name
            unchanged.add((id(holder), key_identity(key)))
        for holder, key, name in writes:
            # What was read before and is the same afterwards is not changed.
            if (id(holder), key_identity(key)) in unchanged:
                continue
            # where its attributes are found as well
            names = class_dict(holder) if reads.is_a(holder, type) else instance_dict(holder)
            if self._note(holder, key, True) or (names and self._note(names, key, True)):
                shared_name = shared_name or name
            if type(holder) is dict:
                objects = [known[0]() for known in list(self._objects.values())]
                if any(self._note(x, key, True) for x in objects if instance_dict(x) is holder):
                    shared_name = shared_name or name
        if shared_name and not self._reason:
            self._reason = f"a call of it sets {shared_name}, which another one reads"
            for reference in list(self._subscribers.values()):
                limit = reference()
                if limit is not None:
                    limit.reason = limit.reason or self._reason

    def _note_in_dict(self, holder: Any, key: Any) -> bool:
        """Note a read of an attribute where its dict was set itself."""
        names = instance_dict(holder)
        entry = self._objects.get(id(names))
        return entry is not None and entry[0]() is names and self._note(names, key, False)

    def _note_in_classes(self, holder: Any, key: Any) -> bool:
        """Note a read of an attribute, which its classes may have."""
        kinds = type(holder).__mro__ + (holder.__mro__ if reads.is_a(holder, type) else ())
        is_shared = [
            self._note(class_dict(kind), key, False)
            for kind in kinds
            if kind.__flags__ & HEAP_TYPE_FLAG and not is_numtape_class(kind)
        ]
        return any(is_shared)

    def _note(self, holder: Any, key: Any, is_write: bool) -> bool:
        entry = self._objects.get(id(holder))
        if entry is None or entry[0]() is not holder:  # an address may come again
            entry = self._objects[id(holder)] = _weak_reference(holder), {}
        accesses = entry[1]
        identity, all_keys = key_identity(key), key_identity(ALL_KEYS)
        accesses.setdefault(identity, set()).add(is_write)
        relevant = (
            [*accesses.values()]
            if identity == all_keys
            else (accesses[identity], accesses.get(all_keys, set()))
        )
        opposite = not is_write
        return any(opposite in access for access in relevant)


def _weak_reference(value: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value
