"""Warnings that show the program's line."""

from __future__ import annotations

import sys
import warnings


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, once for each line of the program that called numtape."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("numtape."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
