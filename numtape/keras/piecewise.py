"""Activations of Keras: bounded lines, shrinking towards 0, smooth bends."""

from __future__ import annotations

from typing import Any

from ..core.log.tensors import as_tensor
from ..core.ops import activations as _nn
from ..core.ops.activations import relu6, sigmoid
from ..core.ops.elementwise import (
    abs_,
    clip_by_value,
    expm1,
    maximum,
    minimum,
    select,
    sqrt,
    square,
    tanh,
)
from ..core.ops.slicing import split
from ..core.values.tensor import Tensor


def celu(x: Any, alpha: float = 1.0) -> Tensor:
    """``x`` where positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere.

    From Barron, "Continuously Differentiable Exponential Linear Units" (2017).

    Args:
      x: A tensor of floats.
      alpha: The limit far below 0, and how slowly it is reached.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.celu([-1.0, 2.0], alpha=2.0).numpy()
      array([-0.7869387,  2.       ], dtype=float32)
    """
    x = as_tensor(x)
    found: Tensor = maximum(x, 0.0) + alpha * expm1(minimum(x, 0.0) / alpha)
    return found


def glu(x: Any, axis: int = -1) -> Tensor:
    """The first half along an axis, times `sigmoid` of the second half.

    From Dauphin, Fan, Auli and Grangier, "Language Modeling with Gated Convolutional Networks"
    (2017).

    Args:
      x: A tensor of floats.
      axis: The axis that is halved.

    Returns:
      A tensor of the same dtype.

    Raises:
      ValueError: If there is no such axis, or its size is odd.

    Example:
      >>> tf.keras.activations.glu([2.0, 4.0, 0.0, 0.0]).numpy()
      array([1., 2.], dtype=float32)
    """
    x = as_tensor(x)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"glu: there is no axis {axis} in a tensor of shape {x.shape}.")
    if x.shape[axis] % 2:
        raise ValueError(
            f"axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}"
        )
    first, second = split(x, 2, axis)
    found: Tensor = first * sigmoid(second)
    return found


def hard_shrink(x: Any, threshold: float = 0.5) -> Tensor:
    """``x`` where ``|x| > threshold``, 0 elsewhere.

    Args:
      x: A tensor of floats.
      threshold: How large what is kept is.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.hard_shrink([-1.0, 0.25, 2.0]).numpy()
      array([-1.,  0.,  2.], dtype=float32)
    """
    x = as_tensor(x)
    return select(abs_(x) > threshold, x, 0.0)


def hard_sigmoid(x: Any) -> Tensor:
    """``x / 6 + 0.5``, limited to the range from 0 to 1.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.hard_sigmoid([-4.0, 0.0, 1.5]).numpy()
      array([0.  , 0.5 , 0.75], dtype=float32)
    """
    found: Tensor = relu6(as_tensor(x) + 3.0) / 6.0
    return found


def hard_silu(x: Any) -> Tensor:
    """``x * hard_sigmoid(x)``: also called hard swish.

    From Howard et al., "Searching for MobileNetV3" (2019).

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.hard_silu([-4.0, 0.0, 1.5]).numpy()
      array([-0.   ,  0.   ,  1.125], dtype=float32)
    """
    x = as_tensor(x)
    found: Tensor = x * hard_sigmoid(x)
    return found


def hard_tanh(x: Any) -> Tensor:
    """``x``, limited to the range from -1 to 1.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.hard_tanh([-4.0, 0.5, 1.5]).numpy()
      array([-1. ,  0.5,  1. ], dtype=float32)
    """
    return clip_by_value(x, -1.0, 1.0)


def mish(x: Any) -> Tensor:
    """``x * tanh(softplus(x))``.

    From Misra, "Mish: A Self Regularized Non-Monotonic Activation Function" (2019).

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.mish([-1.0, 0.0, 2.0]).numpy()
      array([-0.30340147,  0.        ,  1.9439590 ], dtype=float32)
    """
    x = as_tensor(x)
    found: Tensor = x * tanh(softplus(x))
    return found


def soft_shrink(x: Any, threshold: float = 0.5) -> Tensor:
    """``x`` nearer to 0 by ``threshold``, and 0 where it is nearer than that.

    Args:
      x: A tensor of floats.
      threshold: How much nearer.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.soft_shrink([-1.0, 0.25, 2.0]).numpy()
      array([-0.5,  0. ,  1.5], dtype=float32)
    """
    x = as_tensor(x)
    return select(x > threshold, x - threshold, select(x < -threshold, x + threshold, 0.0))


def sparse_plus(x: Any) -> Tensor:
    """``(x + 1) ** 2 / 4`` from -1 to 1, 0 below, ``x`` above.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.sparse_plus([-2.0, 0.0, 2.0]).numpy()
      array([0.  , 0.25, 2.  ], dtype=float32)
    """
    x = as_tensor(x)
    return select(x <= -1.0, 0.0, select(x < 1.0, 0.25 * square(x + 1.0), x))


def sparse_sigmoid(x: Any) -> Tensor:
    """``(x + 1) / 2``, limited to the range from 0 to 1.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.sparse_sigmoid([-2.0, 0.5, 2.0]).numpy()
      array([0.  , 0.75, 1.  ], dtype=float32)
    """
    x = as_tensor(x)
    return select(x <= -1.0, 0.0, select(x >= 1.0, 1.0, 0.5 * (x + 1.0)))


def squareplus(x: Any, b: float = 4) -> Tensor:
    """``(x + sqrt(x * x + b)) / 2``.

    From Barron, "Squareplus: A Softplus-Like Algebraic Rectifier" (2021).

    Args:
      x: A tensor of floats.
      b: How smooth it is at 0.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.squareplus([0.0, 1.5]).numpy()
      array([1., 2.], dtype=float32)
    """
    x = as_tensor(x)
    found: Tensor = (x + sqrt(square(x) + b)) / 2
    return found


def tanh_shrink(x: Any) -> Tensor:
    """``x - tanh(x)``.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.tanh_shrink([0.0, 1.0]).numpy()
      array([0.        , 0.23840582], dtype=float32)
    """
    x = as_tensor(x)
    found: Tensor = x - tanh(x)
    return found


def threshold(x: Any, threshold: float, default_value: float) -> Tensor:
    """``x`` where it is larger than ``threshold``, ``default_value`` elsewhere.

    Args:
      x: A tensor of floats.
      threshold: What is to be larger than it.
      default_value: What stands elsewhere.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If a number does not fit the dtype of ``x``.

    Example:
      >>> tf.keras.activations.threshold([-1.0, 2.0], 0.5, 9.0).numpy()
      array([9., 2.], dtype=float32)
    """
    x = as_tensor(x)
    return select(x > threshold, x, default_value)


def softplus(x: Any) -> Tensor:
    """`nn.softplus`: ``log(1 + exp(x))``.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.softplus([0.0, 1000.0]).numpy()
      array([6.931472e-01, 1.000000e+03], dtype=float32)
    """
    found: Tensor = _nn.softplus(x)
    return found


def softsign(x: Any) -> Tensor:
    """`nn.softsign`: ``x / (1 + |x|)``.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.softsign([-1.0, 3.0]).numpy()
      array([-0.5 ,  0.75], dtype=float32)
    """
    found: Tensor = _nn.softsign(x)
    return found
