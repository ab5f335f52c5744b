"""``tf.random``: random tensors."""

from __future__ import annotations

from .core.ops.random import normal, set_seed, shuffle, truncated_normal, uniform

__all__ = [
    "normal", "set_seed", "shuffle", "truncated_normal", "uniform",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
