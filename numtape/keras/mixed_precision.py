"""``tf.keras.mixed_precision``: the older names of dtype policies and of the loss scale."""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from .dtype_policies import DTypePolicy, global_policy, set_global_policy
from .optimizers import LossScaleOptimizer

Policy = DTypePolicy
dtype_policy = global_policy
set_dtype_policy = set_global_policy

__all__ = [
    "DTypePolicy",
    "LossScaleOptimizer",
    "Policy",
    "dtype_policy",
    "global_policy",
    "set_dtype_policy",
    "set_global_policy",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
