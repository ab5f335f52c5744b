"""``tf.keras.regularizers``: penalties on weights, which are added to the loss."""

from __future__ import annotations

import math
import typing as _typing
from collections.abc import Callable
from typing import Any

from ..compat.names import getter as _getter
from ..core.log.as_tensor import as_tensor
from ..core.ops.creation import eye, zeros
from ..core.ops.elementwise import abs_, square
from ..core.ops.matrix_products import matmul
from ..core.ops.movement import transpose
from ..core.ops.norms import l2_normalize
from ..core.ops.reduction import reduce_sum
from ..core.values.dtypes import repr_of
from ..core.values.tensor import Tensor
from .registry import ClassRegistry, Configured, describe

if _typing.TYPE_CHECKING:
    from ..core.values.annotations import TensorLike
    from .annotations import Config, RegularizerLike

_ARGUMENTS = {
    "l1": "The factor of the sum of absolute values.",
    "l2": "The factor of the sum of squares.",
    "factor": "The factor of the mean.",
    "mode": '``"rows"`` or ``"columns"``.',
}
_penalty = describe(_ARGUMENTS, "", "ValueError: If a factor is not a finite, non-negative number.")


class Regularizer(Configured):
    """Base class of regularizers: override ``__call__(x)``.

    Example:
      >>> class Largest(tf.keras.regularizers.Regularizer):
      ...     def __call__(self, x):
      ...         return tf.reduce_max(tf.abs(x))
      >>> Largest()(tf.constant([1.0, -3.0])).numpy()
      np.float32(3.0)
    """

    def __call__(self, x: Any) -> Tensor | float:
        """Return the penalty of a tensor: 0, unless overridden."""
        return 0.0

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.

        Raises:
          NotImplementedError: If the subclass does not override it.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement get_config()")

    def __repr__(self) -> str:
        has_get_config = type(self).get_config is not Regularizer.get_config
        return super().__repr__() if has_get_config else object.__repr__(self)


def _check_factor(value: object, name: str) -> float:
    if not isinstance(value, int | float) or math.isnan(value) or math.isinf(value) or value < 0:
        raise ValueError(
            f"Invalid value for argument {name}: expected a non-negative float. Received: "
            f"{name}={repr_of(value)}"
        )
    return float(value)


@_penalty
class L1L2(Regularizer):
    """``l1 * sum(abs(x)) + l2 * sum(square(x))``.

    >>> tf.keras.regularizers.L1L2(l1=0.5, l2=0.25)(tf.constant([2.0, -4.0])).numpy()
    np.float32(8.0)
    """

    def __init__(self, l1: float | None = 0.0, l2: float | None = 0.0) -> None:
        self.l1 = _check_factor(0.0 if l1 is None else l1, "l1")
        self.l2 = _check_factor(0.0 if l2 is None else l2, "l2")

    def __call__(self, x: TensorLike) -> Tensor:
        """Return the penalty of a tensor."""
        x = as_tensor(x)
        result: Tensor | None = None
        if self.l1:
            result = reduce_sum(abs_(x)) * self.l1
        if self.l2:
            squares = reduce_sum(square(x)) * self.l2
            result = squares if result is None else result + squares
        return zeros((), x.dtype) if result is None else result

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {"l1": self.l1, "l2": self.l2}


@_penalty
class L1(Regularizer):
    """``l1 * sum(abs(x))``.

    >>> tf.keras.regularizers.L1(0.5)(tf.constant([2.0, -4.0])).numpy()
    np.float32(3.0)
    """

    def __init__(self, l1: float | None = 0.01) -> None:
        self.l1 = _check_factor(0.01 if l1 is None else l1, "l1")

    def __call__(self, x: TensorLike) -> Tensor:
        """Return the penalty of a tensor."""
        result: Tensor = reduce_sum(abs_(as_tensor(x))) * self.l1
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {"l1": self.l1}


@_penalty
class L2(Regularizer):
    """``l2 * sum(square(x))``.

    >>> tf.keras.regularizers.L2(0.25)(tf.constant([2.0, -4.0])).numpy()
    np.float32(5.0)
    """

    def __init__(self, l2: float | None = 0.01) -> None:
        self.l2 = _check_factor(0.01 if l2 is None else l2, "l2")

    def __call__(self, x: TensorLike) -> Tensor:
        """Return the penalty of a tensor."""
        result: Tensor = reduce_sum(square(as_tensor(x))) * self.l2
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {"l2": self.l2}


@_penalty
class OrthogonalRegularizer(Regularizer):
    """``factor`` times the mean absolute cosine between rows, or columns, of a matrix.

    >>> x = tf.constant([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> tf.keras.regularizers.OrthogonalRegularizer(3.0)(x).numpy()
    np.float32(1.0)
    """

    def __init__(self, factor: float = 0.01, mode: str = "rows") -> None:
        self.factor = _check_factor(factor, "factor")
        if mode not in ("rows", "columns"):
            raise ValueError(
                f"Invalid value for argument `mode`. Expected one of {{'rows', 'columns'}}. "
                f"Received: mode={repr_of(mode)}"
            )
        self.mode = mode

    def __call__(self, inputs: TensorLike) -> Tensor:
        """Return the penalty of a matrix."""
        x = as_tensor(inputs)
        if x.ndim != 2:
            raise ValueError(
                f"Inputs to OrthogonalRegularizer must have rank 2. Received: "
                f"inputs.shape={tuple(x.shape)}"
            )
        if self.mode == "columns":
            x = transpose(x)
        x = l2_normalize(x, 1)
        size = int(x.shape[0])
        off_diagonal = matmul(x, x, transpose_b=True) * (1.0 - eye(size, dtype=x.dtype))
        pairs = size * (size - 1.0) / 2.0
        result: Tensor = reduce_sum(abs_(off_diagonal)) * (0.5 * self.factor) / pairs
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {"factor": self.factor, "mode": self.mode}


l1 = L1
l1_l2 = L1L2
l2 = L2
orthogonal_regularizer = OrthogonalRegularizer

__all__ = [
    "L1",
    "L1L2",
    "L2",
    "OrthogonalRegularizer",
    "Regularizer",
    "deserialize",
    "get",
    "l1",
    "l1_l2",
    "l2",
    "orthogonal_regularizer",
    "serialize",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_REGISTRY = ClassRegistry(
    "regularizer", [L1, L1L2, L2, OrthogonalRegularizer, Regularizer], {"l1_l2": L1L2, "l1l2": L1L2}
)


def get(identifier: RegularizerLike) -> Callable[[Any], Any] | None:
    """Look up a regularizer by name or configuration.

    Args:
      identifier: A name such as ``"l2"`` or ``"L2"``, the result of `serialize`, a regularizer, a
        regularizer class, a function of a tensor, or None.

    Returns:
      A function of a tensor; None for None.

    Raises:
      ValueError: If the name is unknown, or the argument has another type.

    Example:
      >>> tf.keras.regularizers.get("l2")
      L2(l2=0.01)
    """
    result: Callable[[Any], Any] | None = _REGISTRY.get(identifier)
    return result


def serialize(regularizer: Callable[..., Any] | None) -> dict[str, Any] | None:
    """Return the configuration of a regularizer.

    Args:
      regularizer: A regularizer, a named function, or None.

    Returns:
      A dict that can be converted to JSON; None for None.

    Raises:
      ValueError: If the object has no configuration.

    Example:
      >>> tf.keras.regularizers.serialize(tf.keras.regularizers.L2(0.5))["config"]
      {'l2': 0.5}
    """
    return _REGISTRY.serialize(regularizer)


def deserialize(
    config: str | Config | None, custom_objects: dict[str, Any] | None = None
) -> Regularizer:
    """Create a regularizer from its configuration.

    Args:
      config: The result of `serialize`, or a name.
      custom_objects: Classes and functions, by name.

    Returns:
      A regularizer.

    Raises:
      ValueError: If the class is unknown.

    Example:
      >>> tf.keras.regularizers.deserialize({"class_name": "L1", "config": {"l1": 0.5}})
      L1(l1=0.5)
    """
    result: Regularizer = _REGISTRY.deserialize(config, custom_objects)
    return result
