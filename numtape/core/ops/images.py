"""The op of `tf.image.adjust_contrast`, which has no gradient. Other functions are composed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Op, defop
from ..log.record import record, require
from ..values.spec import Spec
from ..values.tensor import Tensor
from .rules import floating

if TYPE_CHECKING:
    from ..values.annotations import TensorLike

Array = np.ndarray[Any, Any]


def _adjust_contrast_spec(op: Op, images: Spec, factor: Spec) -> Spec:
    floating(op, images)
    require(images.rank >= 3, op, f"input must be at least 3-D, got shape {images.shape}")
    require(factor.size == 1, op, f"contrast_factor must be scalar, got shape {factor.shape}")
    return images


def _adjust_contrast(out: Array, images: Array, factor: Array) -> None:
    mean = images.mean((-3, -2), keepdims=True)
    np.copyto(out, (images - mean) * factor.reshape(()) + mean)


# As in TensorFlow, no gradient is registered.
ADJUST_CONTRAST = defop(
    "AdjustContrastv2", ARRAY, 2, _adjust_contrast_spec, compute=_adjust_contrast
)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Record `ADJUST_CONTRAST` of floats (..., height, width, channels) and a scalar."""
    x = as_tensor(images)
    return record(ADJUST_CONTRAST, (x, as_tensor(contrast_factor, x._spec, ADJUST_CONTRAST.name)))
