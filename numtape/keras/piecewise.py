"""Activations of Keras that consist of pieces: bounded lines, what is small made 0."""

from __future__ import annotations

from typing import Any

from ..core.log.tensors import as_tensor
from ..core.ops import activations as _nn
from ..core.ops.elementwise import abs_, clip_by_value, select, square
from ..core.values.tensor import Tensor


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
    result: Tensor = relu6(as_tensor(x) + 3.0) / 6.0
    return result


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
    result: Tensor = x * hard_sigmoid(x)
    return result


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


def leaky_relu(x: Any, negative_slope: float = 0.2) -> Tensor:
    """``x`` where positive, ``negative_slope * x`` elsewhere.

    Args:
      x: A tensor of numbers; those that are no floats become float32.
      negative_slope: The slope where ``x`` is not positive.

    Returns:
      A float tensor of the shape of ``x``.

    Raises:
      TypeError: If ``x`` cannot become a tensor.

    Example:
      >>> tf.keras.activations.leaky_relu([-10.0, 10.0], 0.5).numpy()
      array([-5., 10.], dtype=float32)
    """
    return _nn.leaky_relu(x, negative_slope)


def relu(
    x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Tensor:
    """``x`` above ``threshold``, at most ``max_value``; below, a line of ``negative_slope``.

    Args:
      x: A tensor of numbers.
      negative_slope: The slope below the threshold, where it is ``negative_slope * (x -
        threshold)``.
      max_value: The largest result; None for no bound.
      threshold: Where it begins.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      TypeError: If a number does not fit the dtype of ``x``.

    Example:
      >>> tf.keras.activations.relu([-2.0, 0.5, 9.0], negative_slope=0.5, max_value=6.0).numpy()
      array([-1. ,  0.5,  6. ], dtype=float32)
    """
    x = as_tensor(x)
    if negative_slope and max_value is None and not threshold:
        return _nn.leaky_relu(x, negative_slope)
    if threshold:
        result: Tensor = select(x > threshold, x, 0)
    elif max_value == 6:
        result, max_value = _nn.relu6(x), None
    else:
        result = _nn.relu(x)
    if max_value is not None:
        result = clip_by_value(result, 0, max_value)
    return result - negative_slope * _nn.relu(threshold - x) if negative_slope else result


def relu6(x: Any) -> Tensor:
    """`nn.relu6`: ``x`` limited to the range from 0 to 6.

    Args:
      x: A tensor of numbers.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are bools.

    Example:
      >>> tf.keras.activations.relu6([-1.0, 2.0, 7.0]).numpy()
      array([0., 2., 6.], dtype=float32)
    """
    result: Tensor = _nn.relu6(x)
    return result


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
