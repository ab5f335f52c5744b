"""Activation functions by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

from ..core.log.tensors import as_tensor
from ..core.ops import activations as _activations
from ..core.ops import elementwise
from ..core.ops.activations import leaky_relu, relu6, selu, sigmoid, softplus, softsign
from ..core.ops.elementwise import (
    exp,
    select,
    tanh,
)
from ..core.ops.nn import log_softmax, softmax
from ..core.values.tensor import Tensor
from ..names import getter as _getter

__all__ = [
    "elu", "get", "leaky_relu", "linear", "log_softmax", "relu", "relu6", "selu", "sigmoid",
    "softmax", "softplus", "softsign", "tanh",
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
    found: Tensor = _activations.elu(x)
    return found if alpha == 1.0 else select(found > 0.0, found, alpha * found)


def relu(
    x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Tensor:
    """``x`` from ``threshold`` on, at most ``max_value``; elsewhere a line of ``negative_slope``.

    Args:
      x: A tensor of numbers.
      negative_slope: The slope below the threshold, where it is ``negative_slope * (x -
        threshold)``.
      max_value: The largest result; None for no bound.
      threshold: Where it begins.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      ValueError: If a number is negative.

    Example:
      >>> tf.keras.activations.relu([-2.0, 0.5, 9.0], negative_slope=0.5, max_value=6.0).numpy()
      array([-1. ,  0.5,  6. ], dtype=float32)
    """
    if min(negative_slope, max_value or 0.0, threshold) < 0:
        raise ValueError("relu: negative_slope, max_value and threshold cannot be negative.")
    if not negative_slope and not threshold:
        found: Tensor = _activations.relu(x)
    else:
        x = as_tensor(x)
        found = select(x >= threshold, x, negative_slope * (x - threshold))
    return found if max_value is None else elementwise.minimum(found, max_value)


def linear(x: Any) -> Tensor:
    """``x`` itself: the activation of a layer that has none.

    Args:
      x: A tensor, or what becomes one.

    Returns:
      A tensor.

    Example:
      >>> tf.keras.activations.linear([1.0, -1.0]).numpy()
      array([ 1., -1.], dtype=float32)
    """
    return as_tensor(x)


_BY_NAME: dict[str, Callable[..., Tensor]] = {
    "elu": elu, "exponential": exp, "leaky_relu": leaky_relu, "linear": linear,
    "log_softmax": log_softmax, "relu": relu, "relu6": relu6, "selu": selu, "sigmoid": sigmoid,
    "softmax": softmax, "softplus": softplus, "softsign": softsign, "tanh": tanh,
}  # fmt: skip


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
    if callable(identifier):
        function: Callable[..., Any] = identifier
        return function
    found = _BY_NAME.get(identifier) if isinstance(identifier, str) else None
    if found is None:
        raise ValueError(
            f"Could not interpret activation function identifier: {identifier!r}. Known: "
            f"{', '.join(_BY_NAME)}."
        )
    return found
