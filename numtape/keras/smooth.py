"""Smooth activations of Keras: exponentials, softmax, gates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.log.logits import with_logits
from ..core.log.tensors import as_tensor
from ..core.ops import activations as _nn, softmax_losses as _softmax
from ..core.ops.elementwise import cast, exp, expm1, maximum, minimum, select, sqrt, square, tanh
from ..core.ops.movement import reshape
from ..core.ops.reduction import reduce_logsumexp
from ..core.ops.slicing import split
from ..core.values.dtypes import float32
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
    result: Tensor = maximum(x, 0.0) + alpha * expm1(minimum(x, 0.0) / alpha)
    return result


def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Args:
      x: A tensor of floats.
      alpha: The factor; by default this is `nn.elu`.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.elu([-1.0, 2.0], alpha=2.0).numpy()
      array([-1.2642411,  2.       ], dtype=float32)
    """
    x = as_tensor(x)
    result: Tensor = _nn.elu(x)
    return result if alpha == 1.0 else select(x > 0.0, result, alpha * result)


def exponential(x: Any) -> Tensor:
    """``exp(x)``.

    Args:
      x: A tensor of numbers; those that are no floats become float32.

    Returns:
      A float tensor of the shape of ``x``.

    Raises:
      TypeError: If ``x`` cannot become a tensor.

    Example:
      >>> tf.keras.activations.exponential([0.0, 1.0]).numpy()
      array([1.       , 2.7182817], dtype=float32)
    """
    x = as_tensor(x)
    return exp(x if x.dtype.is_floating else cast(x, float32))


def gelu(x: Any, approximate: bool = False) -> Tensor:
    """`nn.gelu`: ``x`` times the probability that a normal number is less than ``x``.

    Args:
      x: A tensor of floats.
      approximate: Whether to take the approximation by `tanh`.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      ValueError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.gelu([-1.0, 2.0]).numpy()
      array([-0.15865526,  1.9544997 ], dtype=float32)
    """
    return _nn.gelu(x, approximate)


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
    result: Tensor = first * _nn.sigmoid(second)
    return result


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
    result: Tensor = x * tanh(softplus(x))
    return result


def selu(x: Any) -> Tensor:
    """`nn.selu`: scaled and shifted so that layers keep mean and variance.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.selu([-1.0, 2.0]).numpy()
      array([-1.1113307,  2.101402 ], dtype=float32)
    """
    result: Tensor = _nn.selu(x)
    return result


def silu(x: Any) -> Tensor:
    """``x * sigmoid(x)``: also called swish.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.silu([-1.0, 0.0, 2.0]).numpy()
      array([-0.26894143,  0.        ,  1.7615942 ], dtype=float32)
    """
    return _nn.silu(x)


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
    result: Tensor = _nn.softplus(x)
    return result


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
    result: Tensor = _nn.softsign(x)
    return result


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
    result: Tensor = (x + sqrt(square(x) + b)) / 2
    return result


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
    result: Tensor = x - tanh(x)
    return result


def sigmoid(x: Any) -> Tensor:
    """`nn.sigmoid`: ``1 / (1 + exp(-x))``, from 0 to 1.

    Cross-entropies of what it gives are computed from ``x``.

    Args:
      x: A tensor of floats.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats.

    Example:
      >>> tf.keras.activations.sigmoid([-1.0, 0.0, 1.0]).numpy()
      array([0.2689414, 0.5      , 0.7310586], dtype=float32)
    """
    x = as_tensor(x)
    return with_logits(_nn.sigmoid(x), x)


def softmax(x: Any, axis: int | Sequence[int] | None = -1) -> Tensor:
    """`nn.softmax`: positive numbers that add up to 1.

    Cross-entropies of what it gives are computed from ``x``.

    Args:
      x: A tensor of floats.
      axis: The axis along which, or several; None takes all elements together.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats, or there is no such axis.

    Example:
      >>> tf.keras.activations.softmax([0.0, 0.0]).numpy()
      array([0.5, 0.5], dtype=float32)
    """
    x = as_tensor(x)
    return with_logits(_along(_softmax.softmax, x, axis), x)


def log_softmax(x: Any, axis: int | Sequence[int] | None = -1) -> Tensor:
    """The logarithm of `softmax`.

    Args:
      x: A tensor of floats.
      axis: The axis along which, or several; None takes all elements together.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats, or there is no such axis.

    Example:
      >>> tf.keras.activations.log_softmax([0.0, 0.0]).numpy()
      array([-0.6931472, -0.6931472], dtype=float32)
    """
    return _along(_softmax.log_softmax, x, axis)


def _along(function: Callable[..., Tensor], x: Any, axis: int | Sequence[int] | None) -> Tensor:
    if isinstance(axis, list | tuple):
        if not axis:
            raise ValueError(f"`axis` names no axis. Received: axis={axis}")
        if len(axis) == 1:
            return function(x, axis[0])
        x = as_tensor(x)
        logs = x - reduce_logsumexp(x, list(axis), True)
        return logs if function is _softmax.log_softmax else exp(logs)
    if axis is not None:
        return function(x, axis)
    x = as_tensor(x)
    return reshape(function(reshape(x, (-1,))), x.shape)
