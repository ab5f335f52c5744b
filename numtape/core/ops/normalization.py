"""Normalization by given moments, and by neighbouring channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..log.record import require
from ..log.tensors import as_tensor
from ..values.arguments import integral, number
from ..values.dtypes import float32
from ..values.tensor import Tensor
from . import arithmetic, elementwise, linalg, movement
from .creation import convert_to_tensor


def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: Any,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``scale * (x - mean) / sqrt(variance + variance_epsilon) + offset``.

    See Ioffe and Szegedy, "Batch Normalization: Accelerating Deep Network Training by Reducing
    Internal Covariate Shift" (2015). `moments` gives mean and variance.

    Args:
      x: A tensor of floats.
      mean: A tensor that broadcasts with ``x``.
      variance: Another one.
      offset: Another one, or None for 0.
      scale: Another one, or None for 1.
      variance_epsilon: A small number, so that nothing is divided by 0.
      name: Not used.

    Returns:
      A tensor of the dtype of ``x``.

    Raises:
      InvalidArgumentError: If dtypes differ, or shapes do not broadcast.

    Example:
      >>> x = tf.constant([[1.0, 10.0], [3.0, 30.0]])
      >>> mean, variance = tf.nn.moments(x, 0)
      >>> tf.nn.batch_normalization(x, mean, variance, None, [1.0, 2.0], 0.0).numpy()
      array([[-1., -2.],
             [ 1.,  2.]], dtype=float32)
    """
    x = as_tensor(x)
    mean, variance = (as_tensor(v, x._spec, "BatchNormalization") for v in (mean, variance))
    factor = elementwise.rsqrt(variance + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    shift = elementwise.negative(mean * factor) if offset is None else offset - mean * factor
    return elementwise.add(x * factor, shift)


def local_response_normalization(
    input: Any, depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Each element, divided by ``(bias + alpha * s) ** beta``: s are squares of its neighbours.

    These are of the same pixel, up to ``depth_radius`` channels away (Krizhevsky, Sutskever and
    Hinton, "ImageNet Classification with Deep Convolutional Neural Networks", 2012).

    Args:
      input: A tensor of floats, of shape (batch, height, width, channels).
      depth_radius: How many neighbours on each side.
      bias: A number.
      alpha: A number.
      beta: A number.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If there are not four axes, or the radius is negative.

    Example:
      >>> x = tf.constant([[[[1.0, 2.0, 2.0]]]])
      >>> tf.nn.local_response_normalization(x, 1, 0.0).numpy().ravel().round(4)
      array([0.4472, 0.6667, 0.7071], dtype=float32)
    """
    x = convert_to_tensor(input, dtype_hint=float32)  # arrays, too
    require(x.ndim == 4, "LRN", "in must be 4-dimensional")
    radius = int(integral(number(depth_radius, "depth_radius"), "depth_radius"))
    require(0 <= radius < 2**31, "LRN", f"depth_radius = {radius} is negative or too large")
    n = int(x.shape[-1])
    near = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= radius
    squares = movement.shaped(elementwise.square(x), (x._spec.size // max(n, 1), n))
    sums = linalg.matmul(squares, as_tensor(near.astype(x.dtype.as_numpy_dtype)))
    sums = movement.shaped(sums, tuple(x.shape))
    return elementwise.multiply(x, arithmetic.pow_(sums * alpha + bias, -number(beta, "beta")))
