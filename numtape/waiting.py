"""Things that a checkpoint has more values for than they have variables yet."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

# By a thing's id: the thing, and who wants to know when it gets new parts.
_waiting: dict[int, tuple[weakref.ref[Any], list[Callable[[Any], bool]]]] = {}


def wait(thing: Any, tell: Callable[[Any], bool]) -> None:
    """Have a function called when a thing may have got new parts, until it returns False.

    Args:
      thing: The thing. Nothing is kept if it goes away.
      tell: A function of it.
    """
    key = id(thing)
    if key not in _waiting:
        _waiting[key] = weakref.ref(thing, lambda _: _waiting.pop(key, None)), []
    _waiting[key][1].append(tell)


def changed(thing: Any) -> None:
    """A thing may have got new parts: tell who waits for them."""
    found = _waiting.get(id(thing)) if _waiting else None
    if found is not None:
        told = found[1]
        told[:] = [tell for tell in list(told) if tell(thing)]
        if not told:
            _waiting.pop(id(thing), None)


def forget(thing: Any) -> None:
    """Nobody waits for a thing's parts any more."""
    _waiting.pop(id(thing), None)
