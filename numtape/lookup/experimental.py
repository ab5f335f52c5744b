"""``tf.lookup.experimental``."""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from .tables import DenseHashTable, MutableHashTable

__all__ = ["DenseHashTable", "MutableHashTable"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
