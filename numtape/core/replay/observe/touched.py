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
from .whose import HEAP_TYPE_FLAG, instance_dict, class_dict, is_numtape_class

ALL_KEYS: Any = object()  # in the place of a key: all that an object holds

Write = tuple[Any, Any, str]  # who has it, where, what the program calls it
_KINDS_WITH_KEY = (reads.ENTRY, reads.CELL, reads.ATTRIBUTE, reads.METHOD, reads.ITEM, reads.CONTAINS)
_AccessesByKey = dict[Any, set[bool]]  # by key: whether it is read (False) and set (True)


def key_identity(key: Any) -> Any:
    """What tells keys apart: strings and numbers by value, others by identity."""
    kind = type(key)
    if kind in (str, int, bool, bytes):
        return kind, key
    if kind is float or issubclass(kind, np.generic):
        return kind, repr(key)
    if kind is tuple:
        found: list[Any] = []
        left: list[Any] = [key]
        while left:  # without recursion: they may be deep
            x = left.pop()
            if type(x) is tuple:
                found.append((tuple, len(x)))
                left += x
            else:
                found.append(key_identity(x))
        return tuple(found)
    return id(key)


def find_conflict(
    found: Iterable[Read],
    inputs: Iterable[tuple[int, Any]],
    mutated: dict[int, tuple[str, Any]],
    hidden: dict[tuple[Any, ...], Any],
) -> str:
    """Why a call that read and changed the same cannot be replayed, or "".

    Args:
      found: What it read.
      inputs: Arrays that it computed with, and their rows.
      mutated: What it changed, by id, in a way that adds up if it is done again.
      hidden: What printing and logging set.
    """
    holders = []
    for read in found:
        holders.append((read.key if read.kind == reads.ANSWER else read.holder, f" ({read.name})"))
        if (id(read.holder), key_identity(read.key)) in hidden:
            return f"printing or logging changes {read.name}, which it reads"
    for _, array in inputs:
        while isinstance(array, np.ndarray):
            holders.append((array, ""))
            array = array.base
    for holder, name in holders:
        if id(holder) in mutated:
            return f"it {mutated[id(holder)][0]}, which it reads as well{name}"
    return ""


class AccessSets:
    """What was read and set by recordings; as many entries as they have reads at most."""

    def __init__(self) -> None:
        self._objects: dict[int, tuple[Callable[[], Any], _AccessesByKey]] = {}
        self._told: dict[int, weakref.ref[Any]] = {}
        self._reason = ""

    def join(self, budget: Any) -> str:
        """Tell a budget of what is both read and set, as its ``reason``; returns what is now."""
        key = id(budget)
        self._told[key] = weakref.ref(budget, functools.partial(self._told.pop, key))
        return self._reason

    def add(self, found: Iterable[Read], sets: Iterable[Write], arrays: Iterable[Any]) -> None:
        """Note what a call reads and sets. What is now both read and set is a reason.

        Args:
          found: What it reads.
          sets: What it sets.
          arrays: Arrays whose elements it computes with.
        """
        both = ""
        unchanged = set()
        for array in arrays:
            while isinstance(array, np.ndarray):
                if self._note(array, ALL_KEYS, False):
                    both = both or "an array"
                array = array.base
        for read in found:
            holder = read.key if read.kind == reads.ANSWER else read.holder
            key = read.key if read.kind in _KINDS_WITH_KEY else ALL_KEYS
            if read.kind == reads.TYPE:  # an object's class is no attribute that a call may set
                key = "__class__"
            if self._note(holder, key, False) or self._as_dict(holder, key):
                both = both or read.name
            if read.kind in (reads.ATTRIBUTE, reads.METHOD) and self._of_classes(holder, key):
                both = both or read.name
            unchanged.add((id(holder), key_identity(key)))
        for holder, key, name in sets:
            # What was read before and is the same afterwards is not changed.
            if (id(holder), key_identity(key)) in unchanged:
                continue
            # where its attributes are found as well
            names = class_dict(holder) if reads.is_a(holder, type) else instance_dict(holder)
            if self._note(holder, key, True) or (names and self._note(names, key, True)):
                both = both or name
            if type(holder) is dict:
                of = [known[0]() for known in list(self._objects.values())]
                if any(self._note(x, key, True) for x in of if instance_dict(x) is holder):
                    both = both or name
        if both and not self._reason:
            self._reason = f"a call of it sets {both}, which another one reads"
            for reference in list(self._told.values()):
                budget = reference()
                if budget is not None:
                    budget.reason = budget.reason or self._reason

    def _as_dict(self, holder: Any, key: Any) -> bool:
        """Note a read of an attribute where its dict was set itself."""
        names = instance_dict(holder)
        known = self._objects.get(id(names))
        return known is not None and known[0]() is names and self._note(names, key, False)

    def _of_classes(self, holder: Any, key: Any) -> bool:
        """Note a read of an attribute, which its classes may have."""
        kinds = type(holder).__mro__ + (holder.__mro__ if reads.is_a(holder, type) else ())
        both = [
            self._note(class_dict(kind), key, False)
            for kind in kinds
            if kind.__flags__ & HEAP_TYPE_FLAG and not is_numtape_class(kind)
        ]
        return any(both)

    def _note(self, holder: Any, key: Any, sets: bool) -> bool:
        known = self._objects.get(id(holder))
        if known is None or known[0]() is not holder:  # an address may come again
            known = self._objects[id(holder)] = _weak_reference(holder), {}
        sides = known[1]
        mark, every = key_identity(key), key_identity(ALL_KEYS)
        sides.setdefault(mark, set()).add(sets)
        others = [*sides.values()] if mark == every else (sides[mark], sides.get(every, set()))
        opposite = not sets
        return any(opposite in side for side in others)


def _weak_reference(value: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value
