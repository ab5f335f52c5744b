"""Normalization by the moments of each row, by given moments, or by neighboring channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record, require
from ..values.arguments import to_float, truncate_float
from ..values.dtypes import float32
from ..values.spec import Spec
from ..values.tensor import Tensor
from . import arithmetic, elementwise, matrix_products, movement, rules
from .creation import convert_to_tensor
from .elementwise import negative
from .reduction import reduce_mean

if TYPE_CHECKING:
    from ..values.annotations import NumberLike, TensorLike

Array = np.ndarray[Any, Any]


def _normalize(out: Array, x: Array, epsilon: float) -> None:
    centered = x - x.mean(-1, keepdims=True)
    variance = np.square(centered).mean(-1, keepdims=True)
    np.divide(centered, np.sqrt(variance + x.dtype.type(epsilon)), out=out)


def _normalize_grad(out: Array, x: Array, g: Array, epsilon: float) -> None:
    centered = x - x.mean(-1, keepdims=True)
    variance = np.square(centered).mean(-1, keepdims=True)
    scale = 1 / np.sqrt(variance + x.dtype.type(epsilon))
    n = centered * scale
    out[...] = scale * (g - g.mean(-1, keepdims=True) - n * (g * n).mean(-1, keepdims=True))


def _make_native(name: str) -> Any:
    def native(out: Spec, *_: Spec, epsilon: float) -> Native:
        n = out.shape[-1]
        bits = int(np.float64(epsilon).view(np.int64))
        return Native(name, (out.dtype.name,), (n, bits), out.size // n, 16 * out.size)

    return native


def _mean(x: Tensor) -> Tensor:
    return reduce_mean(x, -1, True)


def _normalize_grad_vjp(
    h: Tensor, o: Tensor, x: Tensor, g: Tensor, epsilon: float
) -> tuple[Tensor, Tensor]:
    """Return the adjoints of ``x`` and ``g``.

    The Jacobian J = r * (I - 1 1'/N - n n'/N) of a row, where n is the normalized row and r is the
    scale 1 / sqrt(variance + epsilon), is symmetric and depends on x.
    """
    n = record(NORMALIZE, (x,), epsilon=epsilon)
    jh = record(NORMALIZE_GRAD, (x, h), epsilon=epsilon)
    jg = record(NORMALIZE_GRAD, (x, g), epsilon=epsilon)
    scale = elementwise.rsqrt(_mean(elementwise.square(x - _mean(x))) + epsilon)
    mean_hn, mean_gn = _mean(h * n), _mean(g * n)
    product = _mean(h * g) - _mean(h) * _mean(g) - mean_hn * mean_gn
    gx = negative(scale * (product * (scale * n) + jh * mean_gn + jg * mean_hn))
    return gx, jh


NORMALIZE = defop(
    "Normalize",
    ARRAY,
    1,
    lambda op, x, epsilon: rules.floating(op, x),
    compute=_normalize,
    native=_make_native("normalize"),
    vjp=lambda g, y, x, epsilon: (record(NORMALIZE_GRAD, (x, g), epsilon=epsilon),),
)
NORMALIZE_GRAD: Op = defop(
    "NormalizeGrad",
    ARRAY,
    2,
    lambda op, x, g, epsilon: x,
    compute=_normalize_grad,
    native=_make_native("normalize_grad"),
    vjp=_normalize_grad_vjp,
)


def normalize(x: TensorLike, epsilon: float) -> Tensor:
    """Return ``(x - mean) / sqrt(variance + epsilon)`` over the last axis.

    See Ba, Kiros and Hinton, "Layer Normalization" (2016).
    """
    return record(NORMALIZE, (as_tensor(x),), epsilon=float(epsilon))


def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: NumberLike,
    name: str | None = None,
) -> Tensor:
    """Return ``scale * (x - mean) / sqrt(variance + variance_epsilon) + offset``.

    See Ioffe and Szegedy, "Batch Normalization: Accelerating Deep Network Training by Reducing
    Internal Covariate Shift" (2015). `moments` computes mean and variance.

    Args:
      x: A tensor of floats.
      mean: A tensor that broadcasts with ``x``.
      variance: A tensor that broadcasts with ``x``.
      offset: A tensor that broadcasts with ``x``, or None for 0.
      scale: A tensor that broadcasts with ``x``, or None for 1.
      variance_epsilon: A small number that avoids division by 0.
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
    input: TensorLike,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Divide each element by ``(bias + alpha * s) ** beta``, where s sums squares of its neighbors.

    The neighbors are the elements of the same pixel up to ``depth_radius`` channels away
    (Krizhevsky, Sutskever and Hinton, "ImageNet Classification with Deep Convolutional Neural
    Networks", 2012).

    Args:
      input: A tensor of floats, of shape (batch, height, width, channels).
      depth_radius: The number of neighbors on each side.
      bias: The constant term of the base.
      alpha: The factor of the sum of squares.
      beta: The exponent.
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
    x = convert_to_tensor(input, dtype_hint=float32)  # NumPy arrays become float32 too
    require(x.ndim == 4, "LRN", "in must be 4-dimensional")
    radius = int(truncate_float(to_float(depth_radius, "depth_radius"), "depth_radius"))
    require(0 <= radius < 2**31, "LRN", f"depth_radius must be in [0, 2**31), got {radius}")
    n = int(x.shape[-1])
    is_neighbor = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= radius
    squares = movement.reshape_if_needed(elementwise.square(x), (x._spec.size // max(n, 1), n))
    sums = matrix_products.matmul(squares, as_tensor(is_neighbor.astype(x.dtype.as_numpy_dtype)))
    sums = movement.reshape_if_needed(sums, tuple(x.shape))
    return elementwise.multiply(x, arithmetic.pow_(sums * alpha + bias, -to_float(beta, "beta")))
