"""``tf.keras.preprocessing.sequence``: sequences of different lengths."""

from __future__ import annotations

import typing as _typing

from ...compat.names import getter as _getter
from ..utils.arrays import pad_sequences

__all__ = [
    "pad_sequences",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
