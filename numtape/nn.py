"""``tf.nn``: activations and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .core.ops.activations import elu, leaky_relu, relu, relu6, selu, sigmoid, softplus, softsign
from .core.ops.blocks import depth_to_space, space_to_batch, space_to_depth
from .core.ops.elementwise import (
    tanh,
)
from .core.ops.nn import (
    log_softmax,
    moments,
    sigmoid_cross_entropy_with_logits,
    softmax,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from .names import getter as _getter

__all__ = [
    "depth_to_space", "elu", "leaky_relu", "log_softmax", "moments", "relu", "relu6", "selu",
    "sigmoid", "sigmoid_cross_entropy_with_logits", "softmax",
    "softmax_cross_entropy_with_logits", "softplus", "softsign", "space_to_batch",
    "space_to_depth", "sparse_softmax_cross_entropy_with_logits", "tanh",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)
