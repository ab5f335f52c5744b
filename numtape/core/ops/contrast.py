"""The contrast of images, whose derivative TensorFlow does not have: see `images` for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..log.op import ARRAY, Op, defop
from ..log.record import record, require
from ..log.tensors import as_tensor
from ..values.spec import Spec
from ..values.tensor import Tensor
from .rules import floating

Array = np.ndarray[Any, Any]


def _spec(op: Op, images: Spec, factor: Spec) -> Spec:
    floating(op, images)
    require(images.rank >= 3, op, f"input must be at least 3-D, got shape {images.shape}")
    require(factor.size == 1, op, f"contrast_factor must be scalar, got shape {factor.shape}")
    return images


def _compute(out: Array, images: Array, factor: Array) -> None:
    mean = images.mean((-3, -2), keepdims=True)
    np.copyto(out, (images - mean) * factor.reshape(()) + mean)


# As in TensorFlow, no gradient is registered.
ADJUST_CONTRAST = defop("AdjustContrastv2", ARRAY, 2, _spec, compute=_compute)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Each pixel's distance from the mean of its channel in its image, times a factor.

    As in TensorFlow, no gradient is registered: asking for one through it is a LookupError.

    Args:
      images: A tensor of floats, of shape (..., height, width, channels).
      contrast_factor: A float scalar.

    Returns:
      A tensor of the shape and dtype of ``images``.

    Raises:
      InvalidArgumentError: If there are less than 3 axes, the factor is no scalar, or there are no
        floats.

    Example:
      >>> tf.image.adjust_contrast([[[1.0], [3.0]]], 2.0).numpy().ravel()
      array([0., 4.], dtype=float32)
    """
    x = as_tensor(images)
    return record(ADJUST_CONTRAST, (x, as_tensor(contrast_factor, x._spec, ADJUST_CONTRAST.name)))
