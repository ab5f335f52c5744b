"""Initial values of variables, by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

from ..core.ops.creation import ones, zeros
from ..core.ops.random import normal, truncated_normal, uniform
from ..core.values.tensor import Tensor
from ..names import getter as _getter

__all__ = ["get"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)


def _scaled(fan: Callable[[int, int], float], draw: str) -> Callable[..., Tensor]:
    """Draws of variance 1 / fan (Glorot and Bengio 2010; He et al. 2015)."""

    def initializer(shape: Any, dtype: Any) -> Tensor:
        scale = 1.0 / max(1.0, fan(shape[-2] if len(shape) > 1 else shape[0], shape[-1]))
        if draw == "uniform":
            limit = math.sqrt(3.0 * scale)
            return uniform(shape, -limit, limit, dtype)
        # Truncating at two standard deviations lowers the deviation by this factor.
        return truncated_normal(shape, 0.0, math.sqrt(scale) / 0.87962566103423978, dtype)

    return initializer


def _normal(shape: Any, dtype: Any) -> Tensor:
    return normal(shape, 0.0, 0.05, dtype)


def _uniform(shape: Any, dtype: Any) -> Tensor:
    return uniform(shape, -0.05, 0.05, dtype)


_BY_NAME: dict[str, Callable[..., Tensor]] = {
    "zeros": zeros, "ones": ones, "random_normal": _normal, "random_uniform": _uniform,
    "glorot_uniform": _scaled(lambda a, b: (a + b) / 2, "uniform"),
    "glorot_normal": _scaled(lambda a, b: (a + b) / 2, "normal"),
    "he_uniform": _scaled(lambda a, b: a / 2, "uniform"),
    "he_normal": _scaled(lambda a, b: a / 2, "normal"),
    "lecun_uniform": _scaled(lambda a, b: a, "uniform"),
    "lecun_normal": _scaled(lambda a, b: a, "normal"),
}  # fmt: skip


def get(identifier: Any) -> Callable[..., Any]:
    """The function (shape, dtype) -> tensor that a name or a function stands for.

    Names are zeros, ones, random_normal, random_uniform, and glorot, he or lecun with _uniform or
    _normal, whose variance is 2 / (inputs + outputs), 2 / inputs and 1 / inputs (Glorot and Bengio,
    "Understanding the difficulty of training deep feedforward neural networks", 2010; He, Zhang,
    Ren and Sun, "Delving Deep into Rectifiers", 2015; LeCun, Bottou, Orr and Müller, "Efficient
    BackProp", 1998).

    Args:
      identifier: A name or a function.

    Returns:
      A function of a shape and a dtype.

    Raises:
      ValueError: If the name is unknown.

    Example:
      >>> kernel = tf.keras.initializers.get("glorot_uniform")((300, 100), tf.float64)
      >>> bool(abs(tf.math.reduce_variance(kernel) * 200.0 - 1.0) < 0.1)
      True
    """
    if callable(identifier):
        function: Callable[..., Any] = identifier
        return function
    found = _BY_NAME.get(identifier) if isinstance(identifier, str) else None
    if found is None:
        raise ValueError(
            f"Could not interpret initializer identifier: {identifier!r}. Known: "
            f"{', '.join(_BY_NAME)}."
        )
    return found
