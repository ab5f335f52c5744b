"""``tf.nn``: activations, losses, convolutions, pooling."""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from ..core.ops.activations import (
    crelu,
    elu,
    gelu,
    leaky_relu,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    silu as swish,
    softplus,
    softsign,
)
from ..core.ops.blocks import depth_to_space, space_to_batch, space_to_depth
from ..core.ops.candidate_sampling import (
    all_candidate_sampler,
    compute_accidental_hits,
    fixed_unigram_candidate_sampler,
    nce_loss,
    sampled_softmax_loss,
)
from ..core.ops.convolutions import (
    atrous_conv2d,
    atrous_conv2d_transpose,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    conv_transpose,
    convolution,
    depthwise_conv2d,
    separable_conv2d,
)
from ..core.ops.counting import zero_fraction
from ..core.ops.dropout import dropout
from ..core.ops.elementwise import tanh
from ..core.ops.indexed_rows import (
    embedding_lookup,
    embedding_lookup_sparse,
    safe_embedding_lookup_sparse,
)
from ..core.ops.losses import (
    bias_add,
    collapse_repeated,
    compute_average_loss,
    ctc_loss,
    l2_loss,
    log_poisson_loss,
    log_softmax,
    scale_regularization_loss,
    sigmoid_cross_entropy_with_logits,
    softmax,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from ..core.ops.morphology import dilation2d, erosion2d
from ..core.ops.normalization import batch_normalization, local_response_normalization
from ..core.ops.norms import l2_normalize
from ..core.ops.pooling import (
    avg_pool,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    fractional_avg_pool,
    fractional_max_pool,
    max_pool,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_pool_with_argmax,
    pool,
)
from ..core.ops.reduction import moments, normalize_moments, sufficient_statistics, weighted_moments
from ..core.ops.sorting import approx_max_k, approx_min_k, in_top_k, isotonic_regression, top_k
from . import experimental

lrn = local_response_normalization

__all__ = [
    "all_candidate_sampler",
    "approx_max_k",
    "approx_min_k",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_normalization",
    "bias_add",
    "collapse_repeated",
    "compute_accidental_hits",
    "compute_average_loss",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
    "crelu",
    "ctc_loss",
    "depth_to_space",
    "depthwise_conv2d",
    "dilation2d",
    "dropout",
    "elu",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "erosion2d",
    "experimental",
    "fixed_unigram_candidate_sampler",
    "fractional_avg_pool",
    "fractional_max_pool",
    "gelu",
    "in_top_k",
    "isotonic_regression",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "local_response_normalization",
    "log_poisson_loss",
    "log_softmax",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "relu",
    "relu6",
    "sampled_softmax_loss",
    "scale_regularization_loss",
    "selu",
    "safe_embedding_lookup_sparse",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softplus",
    "softsign",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "zero_fraction",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
