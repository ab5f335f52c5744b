"""``tf.keras.activations``: the functions of `piecewise` and `smooth`, and their names."""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable
from typing import Any

from ..compat.names import getter as _getter
from ..core.ops.activations import log_sigmoid, sparsemax
from ..core.ops.elementwise import tanh
from .named import nearest
from .piecewise import (
    hard_shrink,
    hard_sigmoid,
    hard_silu,
    hard_tanh,
    leaky_relu,
    relu,
    relu6,
    soft_shrink,
    sparse_plus,
    sparse_sigmoid,
    threshold,
)
from .smooth import (
    celu,
    elu,
    exponential,
    gelu,
    glu,
    log_softmax,
    mish,
    selu,
    sigmoid,
    silu,
    softmax,
    softplus,
    softsign,
    squareplus,
    tanh_shrink,
)

__all__ = [
    "celu",
    "deserialize",
    "elu",
    "exponential",
    "gelu",
    "get",
    "glu",
    "hard_shrink",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "leaky_relu",
    "linear",
    "log_sigmoid",
    "log_softmax",
    "mish",
    "relu",
    "relu6",
    "selu",
    "serialize",
    "sigmoid",
    "silu",
    "soft_shrink",
    "softmax",
    "softplus",
    "softsign",
    "sparse_plus",
    "sparse_sigmoid",
    "sparsemax",
    "squareplus",
    "swish",
    "tanh",
    "tanh_shrink",
    "threshold",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


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


hard_swish, swish = hard_silu, silu  # as they are called too


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
    result = _NAMES.get(identifier) if isinstance(identifier, str) else identifier
    if not callable(result):
        raise ValueError(
            f"Could not interpret activation function identifier: {identifier}."
            f"{nearest(identifier, _NAMES)} Known: {', '.join(_NAMES)}."
        )
    return result  # type: ignore[no-any-return]


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
    name = getattr(activation, "__name__", "")
    if name in _NAMES and activation.__module__.startswith("numtape."):
        return name  # the op itself: ``tf.nn.relu``
    raise ValueError(
        f"Unknown activation function: {activation!r}. Decorate a function of your own with "
        f"`@keras.saving.register_keras_serializable()`. Known: {', '.join(_NAMES)}."
    )


def deserialize(config: str, custom_objects: dict[str, Any] | None = None) -> Callable[..., Any]:
    """The activation function of a name.

    Args:
      config: The result of `serialize`.
      custom_objects: Functions, by name.

    Returns:
      A function of a tensor.

    Raises:
      ValueError: If the name is unknown.

    Example:
      >>> tf.keras.activations.deserialize("tanh") is tf.tanh
      True
    """
    return get((custom_objects or {}).get(config, config))
