"""``tf.keras.constraints``: projections applied to weights after each optimizer step."""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable
from typing import Any

from ..compat.names import getter as _getter
from ..core.log.as_tensor import as_tensor
from ..core.ops.elementwise import clip_by_value, maximum
from ..core.ops.norms import reduce_euclidean_norm
from ..core.values.tensor import Tensor
from .registry import ClassRegistry, Configured, describe

if _typing.TYPE_CHECKING:
    from ..core.values.annotations import AxisLike, TensorLike
    from .annotations import Config, ConstraintLike

_EPSILON = 1e-7
_ARGUMENTS = {
    "max_value": "The largest norm.",
    "min_value": "The smallest norm.",
    "rate": "The fraction of the distance to the bounds that norms move: 1 enforces the bounds.",
    "axis": "The axes along which norms are computed: 0 for the incoming weights of each `Dense` "
    "unit, ``[0, 1, 2]`` for each filter of a `Conv2D` layer.",
}
_constraint = describe(_ARGUMENTS, "", "")


class Constraint(Configured):
    """Base class of constraints: override ``__call__(w)``.

    Example:
      >>> class Whole(tf.keras.constraints.Constraint):
      ...     def __call__(self, w):
      ...         return tf.round(w)
      >>> Whole()(tf.constant([1.2, 2.9])).numpy()
      array([1., 3.], dtype=float32)
    """

    def __call__(self, w: Any) -> Tensor:
        """Return the constrained weight: ``w`` unchanged, unless overridden."""
        unchanged: Tensor = w
        return unchanged


class _Norm(Constraint):
    """Base class of constraints on norms."""

    axis: Any

    def _nt_rescale(self, w: TensorLike) -> Tensor:
        """Scale ``w`` so that its norms become `_nt_target_norms`."""
        w = as_tensor(w)
        norms = reduce_euclidean_norm(w, self.axis, True)
        result: Tensor = w * (self._nt_target_norms(norms) / (_EPSILON + norms))
        return result

    def _nt_target_norms(self, norms: Tensor) -> Any:
        """The norms after rescaling."""
        raise NotImplementedError


@_constraint
class MaxNorm(_Norm):
    """Limits the norms of weights to ``max_value``.

    From Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov, "Dropout" (2014).

    >>> tf.keras.constraints.MaxNorm(1.0)(tf.constant([[3.0, 0.0], [4.0, 0.5]])).numpy()
    array([[0.6, 0. ],
           [0.8, 0.5]], dtype=float32)
    """

    def __init__(self, max_value: float = 2, axis: AxisLike = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: TensorLike) -> Tensor:
        """Return the rescaled weight."""
        return self._nt_rescale(w)

    def _nt_target_norms(self, norms: Tensor) -> Any:
        return clip_by_value(norms, 0.0, float(self.max_value))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {"max_value": self.max_value, "axis": self.axis}


@_constraint
class NonNeg(Constraint):
    """Makes weights non-negative.

    >>> tf.keras.constraints.NonNeg()(tf.constant([-1.0, 2.0])).numpy()
    array([0., 2.], dtype=float32)
    """

    def __call__(self, w: TensorLike) -> Tensor:
        """Replace negative elements by 0."""
        return maximum(as_tensor(w), 0.0)


@_constraint
class UnitNorm(_Norm):
    """Scales weights to norm 1.

    >>> tf.keras.constraints.UnitNorm()(tf.constant([[3.0], [4.0]])).numpy()
    array([[0.6],
           [0.8]], dtype=float32)
    """

    def __init__(self, axis: AxisLike = 0) -> None:
        self.axis = axis

    def __call__(self, w: TensorLike) -> Tensor:
        """Return the rescaled weight."""
        w = as_tensor(w)
        result: Tensor = w / (_EPSILON + reduce_euclidean_norm(w, self.axis, True))
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {"axis": self.axis}


@_constraint
class MinMaxNorm(_Norm):
    """Moves the norms of weights between two bounds, at a rate.

    >>> tf.keras.constraints.MinMaxNorm(1.0, 2.0)(tf.constant([[3.0, 0.0], [4.0, 0.5]])).numpy()
    array([[1.2      , 0.       ],
           [1.6      , 0.9999998]], dtype=float32)
    """

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: AxisLike = 0
    ) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: TensorLike) -> Tensor:
        """Return the rescaled weight."""
        return self._nt_rescale(w)

    def _nt_target_norms(self, norms: Tensor) -> Any:
        clipped_norms = clip_by_value(norms, float(self.min_value), float(self.max_value))
        return self.rate * clipped_norms + (1 - self.rate) * norms

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {
            "min_value": self.min_value,
            "max_value": self.max_value,
            "rate": self.rate,
            "axis": self.axis,
        }


max_norm = MaxNorm
min_max_norm = MinMaxNorm
non_neg = NonNeg
unit_norm = UnitNorm

__all__ = [
    "Constraint",
    "MaxNorm",
    "MinMaxNorm",
    "NonNeg",
    "UnitNorm",
    "deserialize",
    "get",
    "max_norm",
    "min_max_norm",
    "non_neg",
    "serialize",
    "unit_norm",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_REGISTRY = ClassRegistry("constraint", [Constraint, MaxNorm, MinMaxNorm, NonNeg, UnitNorm])


def get(identifier: ConstraintLike) -> Callable[[Any], Any] | None:
    """Look up a constraint by name or configuration.

    Args:
      identifier: A name such as ``"max_norm"`` or ``"MaxNorm"``, the result of `serialize`, a
        constraint, a constraint class, a function of a tensor, or None.

    Returns:
      A function of a tensor; None for None.

    Raises:
      ValueError: If the name is unknown, or the argument has another type.

    Example:
      >>> tf.keras.constraints.get("unit_norm")
      UnitNorm(axis=0)
    """
    result: Callable[[Any], Any] | None = _REGISTRY.get(identifier)
    return result


def serialize(constraint: Callable[..., Any] | None) -> dict[str, Any] | None:
    """Return the configuration of a constraint.

    Args:
      constraint: A constraint, a named function, or None.

    Returns:
      A dict that can be converted to JSON; None for None.

    Raises:
      ValueError: If the object has no configuration.

    Example:
      >>> tf.keras.constraints.serialize(tf.keras.constraints.UnitNorm(1))["config"]
      {'axis': 1}
    """
    return _REGISTRY.serialize(constraint)


def deserialize(
    config: str | Config | None, custom_objects: dict[str, Any] | None = None
) -> Constraint:
    """Create a constraint from its configuration.

    Args:
      config: The result of `serialize`, or a name.
      custom_objects: Classes and functions, by name.

    Returns:
      A constraint.

    Raises:
      ValueError: If the class is unknown.

    Example:
      >>> tf.keras.constraints.deserialize({"class_name": "UnitNorm", "config": {"axis": 1}})
      UnitNorm(axis=1)
    """
    result: Constraint = _REGISTRY.deserialize(config, custom_objects)
    return result
