"""``tf.data``: elements one after another, shuffled, batched and mapped, for training loops."""

from __future__ import annotations

from .dataset import Dataset
from .pipeline import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Iterator,
    Options,
)

__all__ = [
    "AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Dataset", "Iterator", "Options",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
