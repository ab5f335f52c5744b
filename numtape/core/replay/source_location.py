"""Source locations of guards, and the argument checks behind them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class SourceLocation(NamedTuple):
    """A source line of the program."""

    file: str
    line: int


class Check(NamedTuple):
    """An argument check that reads a value, in place of a read by the program.

    Attributes:
      row: The row whose elements are checked.
      holds: Returns for an array which elements are valid.
      message: The error message if an element is invalid.
    """

    row: int
    holds: Callable[[Any], Any]
    message: str


def caller_location() -> SourceLocation:
    """Return the source line of the program that called numtape."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("numtape."):
        frame = frame.f_back
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno)
