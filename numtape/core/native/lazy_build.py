"""Lazy construction of machine code, once in a process, and the objects that it needs alive."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ..cpython.api import UnsupportedLayout
from ..log.thread_state import raised_by_signal_handler
from ..values.memory import address_of


class KeepAlive:
    """Returns addresses of objects and keeps the objects alive."""

    def __init__(self, *objects: object) -> None:
        self._owned: list[Any] = [*objects]

    def _table(self, numbers: Sequence[int]) -> int:
        """Return the address of an array of numbers."""
        table = np.array([*numbers, 0], np.int64)
        self._owned.append(table)
        return address_of(table)

    def _id(self, target: object) -> int:
        """Return the address of an object."""
        self._owned.append(target)
        return id(target)

    def _ids(self, objects: Sequence[Any]) -> int:
        """Return the address of an array of the objects' addresses."""
        self._owned.append(objects)
        return self._table([*map(id, objects)])


STACK_RESERVE = 200  # Python frames that loading, importing and finding the layout take at most

_messages = logging.getLogger("numtape")
T = TypeVar("T")


def is_stack_low() -> bool:
    """Return whether the remaining stack is too small to build machine code."""
    try:
        sys._getframe(max(0, sys.getrecursionlimit() - STACK_RESERVE))
    except ValueError:  # the stack has fewer frames
        return False
    return True


class LazyBuild(Generic[T]):
    """An object that is built once. Two threads that ask at the same time may build one each.

    Args:
      failure_message: The consequence of a failure, which is logged with the reason.
      make: Builds the object.

    Attributes:
      value: The object, or None.
      reason: Why it is missing, or the error of the last attempt.
      gave_up: Whether there will be no further attempts.
    """

    def __init__(self, failure_message: str, make: Callable[..., T]) -> None:
        self._failure_message, self._make = failure_message, make
        self.value: T | None = None
        self.reason, self.gave_up = "it is not in use yet", False
        self._failures = self._calls_to_skip = 0

    def get(self, *arguments: Any, now: bool = False) -> T | str:
        """Return the object, built by ``make(*arguments)`` if needed, or why it cannot be built.

        With ``now`` an attempt is made even if the last one was recent.
        """
        if self.value is None and not self.gave_up:
            if self._calls_to_skip and not now:
                self._calls_to_skip -= 1
            elif is_stack_low():
                self.reason = "there is not enough of the stack left"
            else:
                self._attempt(arguments)
        return self.reason if self.value is None else self.value

    def _attempt(self, arguments: tuple[Any, ...]) -> None:
        try:
            self.value = self._make(*arguments)
        except UnsupportedLayout as error:
            self.reason, self.gave_up = str(error), True
        except Exception as error:
            if raised_by_signal_handler(error):
                raise
            self.reason = str(error) or type(error).__name__
            self._failures += 1
            self._calls_to_skip = (1 << min(self._failures, 40)) - 1
        if self.value is None:
            _messages.info("%s: %s.", self._failure_message, self.reason)
