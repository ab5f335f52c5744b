"""Activation functions by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.log.record import as_tensor
from ..core.ops import elementwise
from ..core.ops.elementwise import (
    exp,
    leaky_relu,
    relu6,
    select,
    selu,
    sigmoid,
    softplus,
    softsign,
    tanh,
)
from ..core.ops.nn import log_softmax, softmax
from ..core.values.tensor import Tensor


def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere."""
    found: Tensor = elementwise.elu(x)
    return found if alpha == 1.0 else select(found > 0.0, found, alpha * found)


def relu(
    x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Tensor:
    """``x`` from ``threshold`` on, at most ``max_value``; elsewhere a line of ``negative_slope``.

    Raises:
      ValueError: If a number is negative.
    """
    if min(negative_slope, max_value or 0.0, threshold) < 0:
        raise ValueError("relu: negative_slope, max_value and threshold cannot be negative.")
    if not negative_slope and not threshold:
        found: Tensor = elementwise.relu(x)
    else:
        x = as_tensor(x)
        found = select(x >= threshold, x, negative_slope * (x - threshold))
    return found if max_value is None else elementwise.minimum(found, max_value)


def linear(x: Any) -> Tensor:
    """``x`` itself."""
    return as_tensor(x)


_BY_NAME: dict[str, Callable[..., Tensor]] = {
    "elu": elu, "exponential": exp, "leaky_relu": leaky_relu, "linear": linear,
    "log_softmax": log_softmax, "relu": relu, "relu6": relu6, "selu": selu, "sigmoid": sigmoid,
    "softmax": softmax, "softplus": softplus, "softsign": softsign, "tanh": tanh,
}  # fmt: skip


def get(identifier: Any) -> Callable[..., Any]:
    """The function that a name or a function stands for; None is `linear`.

    Raises:
      ValueError: If the name is unknown.
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
