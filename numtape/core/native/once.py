"""Machine code that a process makes once, when it is first asked for.

Where something is not as machine code knows it, there is none, and Python does the work. Anything
else that keeps it from being made may pass: there is no memory just now, a signal handler asks
while its thread compiles something else. So it is tried again; each time after twice as many
questions, as a try may take as long as compiling does.
"""

from __future__ import annotations

import ctypes
import logging
import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..log.outside import raised_by_signal_handler
from .layout import NotAsKnown, address_of_call

ROOM = 200  # frames of Python that loading, importing and asking for places take at most

_messages = logging.getLogger("numtape")
Made = TypeVar("Made")


def deep() -> bool:
    """Whether there is less of the stack left than it takes to make machine code."""
    try:
        sys._getframe(max(0, sys.getrecursionlimit() - ROOM))
    except ValueError:  # there are not so many frames
        return False
    return True


def keep(thing: Any) -> None:
    """Never free a thing: machine code refers to what it has, and finalizers run to the end."""
    ctypes.PYFUNCTYPE(None, ctypes.py_object)(address_of_call("Py_IncRef"))(thing)


class Once(Generic[Made]):
    """What is made once. Two threads that ask at the same time may make one each.

    Args:
      otherwise: What holds without it, to be told with the reason.
      make: Makes it.

    Attributes:
      made: It, once it is made.
      reason: Why it is not, or what came of the last try.
      never: Whether that stays so.
    """

    def __init__(self, otherwise: str, make: Callable[..., Made]) -> None:
        self._otherwise, self._make = otherwise, make
        self.made: Made | None = None
        self.reason, self.never = "nobody has asked yet", False
        self._failures = self._wait = 0

    def found(self, *given: Any, now: bool = False) -> Made | str:
        """What is made, if need be by ``make(*given)``; or why there is none.

        With ``now`` it is tried even if the last try was not long ago.
        """
        if self.made is None and not self.never:
            if self._wait and not now:
                self._wait -= 1
            elif deep():
                self.reason = "there is not enough of the stack left"
            else:
                self._try(given)
        return self.reason if self.made is None else self.made

    def _try(self, given: tuple[Any, ...]) -> None:
        try:
            self.made = self._make(*given)
        except NotAsKnown as error:
            self.reason, self.never = str(error), True
        except Exception as error:
            if raised_by_signal_handler(error):
                raise
            self.reason = str(error) or type(error).__name__
            self._failures += 1
            self._wait = (1 << min(self._failures, 40)) - 1
        if self.made is None:
            _messages.info("%s: %s.", self._otherwise, self.reason)
