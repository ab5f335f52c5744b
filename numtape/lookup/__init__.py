"""``tf.lookup``: tables that map strings or integers to values.

`initializers` reads keys and values, `tables` looks them up.
"""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from ..compat.traceback_filter import guard_module as _guard_module
from . import experimental
from .initializers import KeyValueTensorInitializer, TextFileIndex, TextFileInitializer
from .tables import StaticHashTable, StaticVocabularyTable

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_guard_module(__name__)
if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
