"""`tf.linalg.LinearOperator` and its subclasses: structured matrices with fast operations.

Start with `base`; each other module has the operators of one structure.
"""

from __future__ import annotations

from .base import (
    Kinds,
    LinearOperator,
)
from .blocks import (
    LinearOperatorBlockDiag,
    LinearOperatorBlockLowerTriangular,
    LinearOperatorKronecker,
)
from .circulant import (
    LinearOperatorCirculant,
    LinearOperatorCirculant2D,
    LinearOperatorCirculant3D,
)
from .composed import (
    LinearOperatorAdjoint,
    LinearOperatorComposition,
    LinearOperatorInversion,
)
from .dense import (
    LinearOperatorFullMatrix,
    LinearOperatorLowerTriangular,
)
from .diagonal import (
    LinearOperatorDiag,
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from .low_rank import (
    LinearOperatorLowRankUpdate,
)
from .structured import (
    LinearOperatorHouseholder,
    LinearOperatorPermutation,
    LinearOperatorToeplitz,
    LinearOperatorTridiag,
)

__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorBlockLowerTriangular",
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorPermutation",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorTridiag",
    "LinearOperatorZeros",
]


def __dir__() -> list[str]:
    return sorted(__all__)


Kinds.lower = LinearOperatorLowerTriangular
Kinds.adjoint, Kinds.inverse = LinearOperatorAdjoint, LinearOperatorInversion
Kinds.composition = LinearOperatorComposition
