"""`Loss`: losses of examples, weighed and added up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..compat.missing_methods import tell
from ..core.log.ambient import mask_of
from ..core.log.tensors import as_tensor
from ..core.ops import elementwise, reduction
from ..core.ops.arithmetic import divide_no_nan
from ..core.ops.comparison import logical_and
from ..core.values.tensor import Tensor
from ..errors import OpError
from ..function.pickling import refuse_older
from ..module import snake_case
from ..nest import map_structure
from .described import describe
from .dtypes import keras_dtype
from .located import add_location
from .loss_functions import ARGUMENTS, same_rank

_REDUCTIONS = ("sum_over_batch_size", "sum", None, "none", "mean", "mean_with_sample_weight")


def weight(
    values: Tensor, weight: Any, reduction_: str | None, mask: Tensor | None = None
) -> Tensor:
    """Losses times their weights, added up.

    Args:
      values: The losses, of an example or element each.
      weight: Weights whose shape broadcasts with theirs; None for 1.
      reduction_: How they are added up; see `Loss`.
      mask: Which of them count; None for all.
    """
    if mask is not None:
        counted = elementwise.cast(mask, values.dtype)
        if reduction_ in ("mean", "sum_over_batch_size"):
            counted = counted * divide_no_nan(float(mask._spec.size), reduction.reduce_sum(counted))
        if weight is None:
            weight = counted
        else:
            counted, weight = same_rank(counted, elementwise.cast(weight, values.dtype))
            weight = weight * counted
    if weight is not None:
        values, weight = same_rank(values, elementwise.cast(as_tensor(weight), values.dtype))
        values = values * weight
    spec = values._spec
    if reduction_ in (None, "none") or not spec.rank or (not spec.size and spec.rank == 1):
        return values
    total = reduction.reduce_sum(values)
    if reduction_ == "sum":
        return total
    if reduction_ == "mean_with_sample_weight" and weight is not None:
        return divide_no_nan(total, reduction.reduce_sum(weight))
    size = spec.size
    return total / float(size) if size else divide_no_nan(total, 0.0)


_MEANINGS = {
    **ARGUMENTS,
    "name": "Its name; default: the class's in snake case.",
    "reduction": 'How losses of examples become one: their mean (``"sum_over_batch_size"`` or '
    '``"mean"``), ``"sum"``, ``"mean_with_sample_weight"`` (divided by the sum '
    'of weights), or ``"none"``.',
    "dtype": "The dtype it computes in: float32 without.",
}
loss_class = describe(_MEANINGS, "", "ValueError: If there is no such reduction.")


@loss_class
class Loss:
    """Base class of losses: override ``call(y_true, y_pred)``.

    >>> class Largest(tf.keras.losses.Loss):
    ...     def call(self, y_true, y_pred):
    ...         return tf.reduce_max(tf.abs(y_true - y_pred), -1)
    >>> Largest()([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [3.0, 0.0]]).numpy()
    np.float32(2.0)
    """

    def __init__(
        self,
        name: str | None = None,
        reduction: str | None = "sum_over_batch_size",
        dtype: Any = None,
    ) -> None:
        if reduction not in _REDUCTIONS:
            raise ValueError(
                f"Invalid value for argument `reduction`. Expected one of {set(_REDUCTIONS)}. "
                f"Received: reduction={reduction}"
            )
        self.name = name or snake_case(type(self).__name__)
        self.reduction = reduction
        self._nt_dtype = keras_dtype(dtype or None)

    def __setstate__(self, state: dict[str, Any]) -> None:
        refuse_older(self, state, "_nt_dtype")
        vars(self).update(state)

    @property
    def dtype(self) -> str:
        """The name of the dtype it computes in."""
        return self._nt_dtype.name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        """The loss.

        Args:
          y_true: Ground-truth values.
          y_pred: Predicted values.
          sample_weight: A weight for each example or element.

        Returns:
          A tensor: a scalar, unless ``reduction`` is "none".
        """
        known = None if _nest(y_pred) else mask_of(y_pred)
        requested, value = self._nt_wanted, self._nt_found
        y_true = map_structure(requested, y_true) if _nest(y_true) else requested(y_true)
        y_pred = map_structure(value, y_pred) if _nest(y_pred) else value(y_pred)
        try:
            return weight(
                self._nt_computed(self.call(y_true, y_pred)),
                sample_weight,
                self.reduction,
                _both(self._nt_mask(y_true), known),
            )
        except OpError as error:
            add_location(error, self, y_true, y_pred)
            raise

    def _nt_found(self, x: Any) -> Tensor:
        """Predicted values, as a tensor of the dtype that the loss computes in."""
        if type(x) is Tensor and x._spec.dtype is self._nt_dtype:
            return x
        return elementwise.cast(as_tensor(x), self._nt_dtype)

    def _nt_wanted(self, x: Any) -> Tensor:
        """What is wanted, also."""
        return self._nt_found(x)

    def _nt_computed(self, value: Any) -> Tensor:
        """What ``call`` gave, as a tensor: of None and of NumPy's arrays there is no gradient."""
        if type(value) is Tensor:
            return value
        if value is None:
            raise ValueError(
                f"None values not supported: the loss {self.name!r} gives None. Does the function "
                f"end with `return`?"
            )
        if isinstance(value, np.ndarray | np.generic):
            raise TypeError(
                f"The loss {self.name!r} gives a value of NumPy's ({type(value).__name__}). NumPy "
                f"left the tape: what it computes has no gradient. Use numtape's functions, such "
                f"as tf.reduce_mean for np.mean."
            )
        return as_tensor(value)

    def call(self, y_true: Any, y_pred: Any) -> Tensor:
        """The loss of each example or element, to be overridden.

        Args:
          y_true: Ground-truth values.
          y_pred: Predicted values.

        Returns:
          A tensor.

        Raises:
          NotImplementedError: If it is not overridden.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `call(y_true, y_pred)`.")

    def _nt_mask(self, y_true: Any) -> Tensor | None:
        """Which losses count; None for all."""
        return None

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.

        Example:
          >>> tf.keras.losses.MeanSquaredError().get_config()
          {'name': 'mean_squared_error', 'reduction': 'sum_over_batch_size'}
        """
        return {"name": self.name, "reduction": self.reduction}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Loss:
        """The loss made with these arguments.

        Args:
          config: The result of `get_config`.

        Returns:
          A loss.

        Example:
          >>> tf.keras.losses.Huber.from_config({"delta": 2.0}).get_config()["delta"]
          2.0
        """
        return cls(**config)

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self.get_config().items())
        return f"{type(self).__name__}({options})"


def _both(mask: Any, other: Any) -> Any:
    """What counts by both masks, of which either may be None."""
    if mask is None or other is None:
        return other if mask is None else mask
    return logical_and(mask, other)


def _nest(x: Any) -> bool:
    """Whether it is a nest of tensors, not a list of numbers."""
    return isinstance(x, dict) or (
        isinstance(x, list | tuple) and any(isinstance(part, Tensor | dict) for part in x)
    )


class LossFunction(Loss):
    """A loss made of a function and arguments for it."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None,
        reduction: str | None,
        dtype: Any,
        **arguments: Any,
    ) -> None:
        super().__init__(name, reduction, dtype)
        self._nt_function = function
        self._nt_arguments = arguments

    def call(self, y_true: Any, y_pred: Any) -> Tensor:
        """The loss of each example.

        Args:
          y_true: Ground-truth values.
          y_pred: Predicted values.

        Returns:
          A tensor.
        """
        if isinstance(y_true, Tensor) and isinstance(y_pred, Tensor):
            y_true, y_pred = same_rank(y_true, y_pred)
        result: Tensor = self._nt_function(y_true, y_pred, **self._nt_arguments)
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {**super().get_config(), **self._nt_arguments}


tell(Loss, "keras.losses.Loss")
