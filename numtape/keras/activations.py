"""Activation functions by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.log.record import as_tensor
from ..core.ops.elementwise import (
    elu,
    exp,
    leaky_relu,
    relu,
    relu6,
    selu,
    sigmoid,
    softplus,
    softsign,
    tanh,
)
from ..core.ops.nn import log_softmax, softmax
from ..core.values.tensor import Tensor


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
