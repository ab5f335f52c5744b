"""Objects that wait for values of a checkpoint: parts that they get later are restored then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .core.values.weakrefs import WeakObjectMap

# The functions to call when an object gets new parts.
_listeners: WeakObjectMap[list[Callable[[Any], bool]]] = WeakObjectMap()


def wait(owner: object, listener: Callable[[Any], bool]) -> None:
    """Call a function whenever an object may have new parts, until the function returns False.

    Args:
      owner: The object. It is referenced weakly.
      listener: A function of the object.
    """
    listeners = _listeners.get(owner)
    if listeners is None:
        _listeners.put(owner, [listener])
    else:
        listeners.append(listener)


def notify_changed(owner: object) -> None:
    """Call the listeners of an object that may have new parts."""
    listeners = _listeners.get(owner) if _listeners else None
    if listeners is not None:
        listeners[:] = [listener for listener in list(listeners) if listener(owner)]
        if not listeners:
            _listeners.drop(owner)


def forget(owner: object) -> None:
    """Drop the listeners of an object."""
    _listeners.drop(owner)
