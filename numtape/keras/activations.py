"""Activation functions by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

from ..core.log.tensors import as_tensor
from ..core.ops import activations as _nn
from ..core.ops import softmax_losses as _softmax
from ..core.ops.activations import log_sigmoid, sigmoid, sparsemax
from ..core.ops.elementwise import (
    cast,
    clip_by_value,
    exp,
    select,
    tanh,
)
from ..core.ops.movement import reshape
from ..core.values.dtypes import float32
from ..core.values.tensor import Tensor
from ..names import getter as _getter
from .piecewise import (
    celu,
    glu,
    hard_shrink,
    hard_sigmoid,
    hard_silu,
    hard_tanh,
    mish,
    soft_shrink,
    softplus,
    softsign,
    sparse_plus,
    sparse_sigmoid,
    squareplus,
    tanh_shrink,
    threshold,
)

__all__ = [
    "celu", "deserialize", "elu", "exponential", "gelu", "get", "glu", "hard_shrink",
    "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "leaky_relu", "linear",
    "log_sigmoid", "log_softmax", "mish", "relu", "relu6", "selu", "serialize", "sigmoid",
    "silu", "soft_shrink", "softmax", "softplus", "softsign", "sparse_plus", "sparse_sigmoid",
    "sparsemax", "squareplus", "swish", "tanh", "tanh_shrink", "threshold",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)


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
    found: Tensor = _nn.elu(x)
    return found if alpha == 1.0 else select(x > 0.0, found, alpha * found)


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


hard_swish = hard_silu


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


def linear(x: Any) -> Any:
    """``x`` itself: the activation of a layer that has none.

    Args:
      x: Anything.

    Returns:
      The same.

    Example:
      >>> tf.keras.activations.linear([1.0, -1.0])
      [1.0, -1.0]
    """
    return x


def log_softmax(x: Any, axis: int | None = -1) -> Tensor:
    """The logarithm of `softmax`.

    Args:
      x: A tensor of floats.
      axis: The axis along which; None takes all elements together.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats, or there is no such axis.

    Example:
      >>> tf.keras.activations.log_softmax([0.0, 0.0]).numpy()
      array([-0.6931472, -0.6931472], dtype=float32)
    """
    return _along(_softmax.log_softmax, x, axis)


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
        found: Tensor = select(x > threshold, x, 0)
    elif max_value == 6:
        found, max_value = _nn.relu6(x), None
    else:
        found = _nn.relu(x)
    if max_value is not None:
        found = clip_by_value(found, 0, max_value)
    return found - negative_slope * _nn.relu(threshold - x) if negative_slope else found


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
    found: Tensor = _nn.relu6(x)
    return found


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
    found: Tensor = _nn.selu(x)
    return found


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


swish = silu


def softmax(x: Any, axis: int | None = -1) -> Tensor:
    """`nn.softmax`: positive numbers that add up to 1.

    Args:
      x: A tensor of floats.
      axis: The axis along which; None takes all elements together.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are no floats, or there is no such axis.

    Example:
      >>> tf.keras.activations.softmax([0.0, 0.0]).numpy()
      array([0.5, 0.5], dtype=float32)
    """
    return _along(_softmax.softmax, x, axis)


def _along(function: Callable[..., Tensor], x: Any, axis: int | None) -> Tensor:
    if axis is not None:
        return function(x, axis)
    x = as_tensor(x)
    return reshape(function(reshape(x, (-1,))), x.shape)


_NAMES = {
    name: globals()[name] for name in __all__ if name not in ("deserialize", "get", "serialize")
}


def get(identifier: Any) -> Callable[..., Any]:
    """The function that a name or a function stands for; None is `linear`.

    Args:
      identifier: A name such as ``"relu"``, a function, or None.

    Returns:
      A function of a tensor.

    Raises:
      ValueError: If the name is unknown.

    Example:
      >>> tf.keras.activations.get("tanh") is tf.tanh
      True
    """
    if identifier is None:
        return linear
    found = _NAMES.get(identifier) if isinstance(identifier, str) else identifier
    if not callable(found):
        raise ValueError(
            f"Could not interpret activation function identifier: {identifier}. Known: "
            f"{', '.join(_NAMES)}."
        )
    return found  # type: ignore[no-any-return]


def serialize(activation: Callable[..., Any]) -> str:
    """The name of an activation function.

    Args:
      activation: One of this module.

    Returns:
      Its name.

    Raises:
      ValueError: If it is none of them.

    Example:
      >>> tf.keras.activations.serialize(tf.keras.activations.swish)
      'silu'
    """
    for name, function in _NAMES.items():
        if function is activation and name != "hard_swish":
            return name
    raise ValueError(f"Unknown activation function: {activation!r}. Known: {', '.join(_NAMES)}.")


def deserialize(config: str, custom_objects: dict[str, Any] | None = None) -> Callable[..., Any]:
    """The activation function of a name.

    Args:
      config: What `serialize` gave.
      custom_objects: Functions of one's own, by name.

    Returns:
      A function of a tensor.

    Raises:
      ValueError: If the name is unknown.

    Example:
      >>> tf.keras.activations.deserialize("tanh") is tf.tanh
      True
    """
    return get((custom_objects or {}).get(config, config))
