"""Names, arguments and errors of TensorFlow: hints and tracebacks."""

from __future__ import annotations

from typing import NoReturn


def __getattr__(name: str) -> NoReturn:
    """Name a replacement for ``numtape.compat.v1`` and other names that numtape lacks."""
    from .names import missing

    missing("compat", name)
