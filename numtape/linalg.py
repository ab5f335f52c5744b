"""``tf.linalg``: products of matrices, and norms."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .core.ops.clipping import global_norm, l2_normalize
from .core.ops.creation import eye
from .core.ops.einsum import einsum
from .core.ops.linalg import matmul, matvec, norm, tensordot
from .names import getter as _getter

__all__ = [
    "einsum", "eye", "global_norm", "l2_normalize", "matmul", "matvec", "norm", "tensordot",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)
