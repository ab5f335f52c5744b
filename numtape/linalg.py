"""``tf.linalg``: products of matrices, and norms."""

from __future__ import annotations

from .core.ops.creation import eye
from .core.ops.einsum import einsum
from .core.ops.linalg import matmul, matvec, norm, tensordot

__all__ = [
    "einsum", "eye", "matmul", "matvec", "norm", "tensordot",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
