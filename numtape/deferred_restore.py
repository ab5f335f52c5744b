"""Things that a checkpoint has more values for than they have variables yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .core.values.weakrefs import WeakObjectMap

# By a thing, who wants to know when it gets new parts.
_waiting: WeakObjectMap[list[Callable[[Any], bool]]] = WeakObjectMap()


def wait(thing: object, tell: Callable[[Any], bool]) -> None:
    """Have a function called when a thing may have got new parts, until it returns False.

    Args:
      thing: The thing. Nothing is kept if it goes away.
      tell: A function of it.
    """
    listeners = _waiting.get(thing)
    if listeners is None:
        _waiting.put(thing, [tell])
    else:
        listeners.append(tell)


def notify_changed(thing: object) -> None:
    """A thing may have got new parts: tell who waits for them."""
    listeners = _waiting.get(thing) if _waiting else None
    if listeners is not None:
        listeners[:] = [tell for tell in list(listeners) if tell(thing)]
        if not listeners:
            _waiting.drop(thing)


def forget(thing: object) -> None:
    """Nobody waits for a thing's parts any more."""
    _waiting.drop(thing)
