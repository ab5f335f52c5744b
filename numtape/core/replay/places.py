"""What guards say of themselves: where a program looked, and what for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class SourceLocation(NamedTuple):
    """A line of a program."""

    file: str
    line: int


class Check(NamedTuple):
    """What a guard is if the program looks at nothing: arguments are checked.

    Attributes:
      row: Whose elements are checked.
      holds: Says of an array which ones are right.
      said: The error's message if not all are.
    """

    row: int
    holds: Callable[[Any], Any]
    message: str


def caller_location() -> SourceLocation:
    """The line of the program that called numtape."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("numtape."):
        frame = frame.f_back
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno)
