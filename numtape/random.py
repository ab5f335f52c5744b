"""``tf.random``: random tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .core.ops.random import normal, set_seed, shuffle, truncated_normal, uniform
from .names import getter as _getter

__all__ = [
    "normal", "set_seed", "shuffle", "truncated_normal", "uniform",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)
