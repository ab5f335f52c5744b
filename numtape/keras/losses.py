"""``tf.keras.losses``: the base class `Loss`, and losses as classes that weight and reduce."""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compat.missing_names import tell
from ..compat.names import getter as _getter
from ..core.log.as_tensor import as_tensor
from ..core.log.layer_context import mask_of
from ..core.ops import elementwise, reduction
from ..core.ops.arithmetic import divide_no_nan
from ..core.ops.comparison import logical_and, not_equal
from ..core.values.tensor import Tensor
from ..errors import OpError
from ..function.pickling import refuse_older
from ..module import snake_case
from ..nest import map_structure
from .error_context import add_location
from .loss_functions import (
    ARGUMENTS,
    binary_crossentropy,
    binary_focal_crossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
    categorical_generalized_cross_entropy,
    categorical_hinge,
    circle,
    cosine_similarity,
    ctc,
    dice,
    hinge,
    huber,
    kl_divergence,
    log_cosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    poisson,
    same_rank,
    sparse_categorical_crossentropy,
    squared_hinge,
    tversky,
)
from .registry import ClassRegistry, describe, keras_dtype, nearest

if TYPE_CHECKING:
    from ..core.values.annotations import AxisLike, DTypeLike, TensorLike
    from .annotations import LossLike

_REDUCTIONS = ("sum_over_batch_size", "sum", None, "none", "mean", "mean_with_sample_weight")


def apply_weights(
    values: Tensor, weight: TensorLike | None, reduction_: str | None, mask: Tensor | None = None
) -> Tensor:
    """Multiply losses by weights and reduce them.

    Args:
      values: The losses, one for each example or element.
      weight: Weights that broadcast to the shape of ``values``; None for 1.
      reduction_: The reduction; see `Loss`.
      mask: True for each loss that counts; None for all.
    """
    if mask is not None:
        counts = elementwise.cast(mask, values.dtype)
        if reduction_ in ("mean", "sum_over_batch_size"):
            counts = counts * divide_no_nan(float(mask._spec.size), reduction.reduce_sum(counts))
        if weight is None:
            weight = counts
        else:
            counts, weight = same_rank(counts, elementwise.cast(weight, values.dtype))
            weight = weight * counts
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


_ARGUMENTS = {
    **ARGUMENTS,
    "name": "The loss's name; default: the class name in snake case.",
    "reduction": 'How losses of examples are reduced: to their mean (``"sum_over_batch_size"`` or '
    '``"mean"``), ``"sum"``, ``"mean_with_sample_weight"`` (divided by the sum '
    'of weights), or ``"none"``.',
    "dtype": "The dtype of the computation; default: float32.",
}
loss_class = describe(_ARGUMENTS, "", "ValueError: If the reduction does not exist.")


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
        dtype: DTypeLike | None = None,
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
        """The name of the dtype of the computation."""
        return self._nt_dtype.name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: TensorLike | None = None) -> Tensor:
        """The loss.

        Args:
          y_true: Ground-truth values.
          y_pred: Predicted values.
          sample_weight: A weight for each example or element.

        Returns:
          A tensor: a scalar, unless ``reduction`` is "none".
        """
        mask = None if _is_nested(y_pred) else mask_of(y_pred)
        targets, predictions = self._nt_convert_targets, self._nt_convert
        y_true = map_structure(targets, y_true) if _is_nested(y_true) else targets(y_true)
        y_pred = map_structure(predictions, y_pred) if _is_nested(y_pred) else predictions(y_pred)
        try:
            values = self.call(y_true, y_pred)
            mask = _intersect(_intersect(self._nt_mask(y_true), mask), mask_of(values))
            return apply_weights(self._nt_check_result(values), sample_weight, self.reduction, mask)
        except OpError as error:
            add_location(error, self, y_true, y_pred)
            raise

    def _nt_convert(self, x: TensorLike) -> Tensor:
        """Convert predicted values to a tensor of the loss's dtype."""
        if type(x) is Tensor and x._spec.dtype is self._nt_dtype:
            return x
        return elementwise.cast(as_tensor(x), self._nt_dtype)

    def _nt_convert_targets(self, x: TensorLike) -> Tensor:
        """Convert targets: the same way, unless a subclass overrides it."""
        return self._nt_convert(x)

    def _nt_check_result(self, value: TensorLike | None) -> Tensor:
        """Return the result of ``call`` as a tensor. None and NumPy arrays have no gradient."""
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
        """Return True for each loss that counts; None for all."""
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
        """Create a loss from its constructor arguments.

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


def _intersect(mask: Tensor | None, other_mask: Tensor | None) -> Tensor | None:
    """Return the intersection of two masks, each of which may be None."""
    if mask is None or other_mask is None:
        return other_mask if mask is None else mask
    return logical_and(mask, other_mask)


def _is_nested(x: object) -> bool:
    """Whether ``x`` is a nested structure of tensors, not a list of numbers."""
    return isinstance(x, dict) or (
        isinstance(x, list | tuple) and any(isinstance(part, Tensor | dict) for part in x)
    )


class LossFunction(Loss):
    """A loss that calls a function with fixed keyword arguments."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None,
        reduction: str | None,
        dtype: DTypeLike | None,
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


MSE = mse = mean_squared_error
MAE = mae = mean_absolute_error
MAPE = mape = mean_absolute_percentage_error
MSLE = msle = mean_squared_logarithmic_error
KLD = kld = kullback_leibler_divergence = kl_divergence
logcosh = log_cosh

__all__ = [
    "KLD",
    "MAE",
    "MAPE",
    "MSE",
    "MSLE",
    "CTC",
    "BinaryCrossentropy",
    "BinaryFocalCrossentropy",
    "CategoricalCrossentropy",
    "CategoricalFocalCrossentropy",
    "CategoricalGeneralizedCrossEntropy",
    "CategoricalHinge",
    "Circle",
    "CosineSimilarity",
    "Dice",
    "Hinge",
    "Huber",
    "KLDivergence",
    "LogCosh",
    "Loss",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "Poisson",
    "SparseCategoricalCrossentropy",
    "SquaredHinge",
    "Tversky",
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "categorical_generalized_cross_entropy",
    "categorical_hinge",
    "circle",
    "cosine_similarity",
    "ctc",
    "deserialize",
    "dice",
    "get",
    "hinge",
    "huber",
    "kl_divergence",
    "kld",
    "kullback_leibler_divergence",
    "log_cosh",
    "logcosh",
    "mae",
    "mape",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "mse",
    "msle",
    "poisson",
    "serialize",
    "sparse_categorical_crossentropy",
    "squared_hinge",
    "tversky",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


@loss_class
class MeanSquaredError(LossFunction):
    """The mean of squared differences. See `mean_squared_error`.

    >>> tf.keras.losses.MeanSquaredError()([[0.0, 1.0]], [[1.0, 1.0]]).numpy()
    np.float32(0.5)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_squared_error",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(mean_squared_error, name, reduction, dtype)


@loss_class
class MeanAbsoluteError(LossFunction):
    """The mean of absolute differences. See `mean_absolute_error`.

    >>> tf.keras.losses.MeanAbsoluteError()([[0.0, 1.0]], [[2.0, 1.0]]).numpy()
    np.float32(1.0)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_absolute_error",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(mean_absolute_error, name, reduction, dtype)


@loss_class
class MeanAbsolutePercentageError(LossFunction):
    """The mean of relative differences, in percent. See `mean_absolute_percentage_error`.

    >>> tf.keras.losses.MeanAbsolutePercentageError()([[4.0, 2.0]], [[5.0, 2.0]]).numpy()
    np.float32(12.5)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_absolute_percentage_error",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(mean_absolute_percentage_error, name, reduction, dtype)


@loss_class
class MeanSquaredLogarithmicError(LossFunction):
    """The mean of squared differences of ``log(1 + y)``. See `mean_squared_logarithmic_error`.

    >>> tf.keras.losses.MeanSquaredLogarithmicError()([[0.0, 1.0]], [[0.0, 3.0]]).numpy()
    np.float32(0.24022643)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "mean_squared_logarithmic_error",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(mean_squared_logarithmic_error, name, reduction, dtype)


@loss_class
class CosineSimilarity(LossFunction):
    """Minus the cosine of the angle between vectors. See `cosine_similarity`.

    >>> tf.keras.losses.CosineSimilarity()([[0.0, 2.0]], [[3.0, 3.0]]).numpy()
    np.float32(-0.7071067)
    """

    def __init__(
        self,
        axis: AxisLike = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "cosine_similarity",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(cosine_similarity, name, reduction, dtype, axis=axis)


@loss_class
class Huber(LossFunction):
    """The mean of a loss that is quadratic for small errors and linear for large ones.

    See `huber`.

    >>> tf.keras.losses.Huber()([[0.0, 0.0]], [[1.0, 3.0]]).numpy()
    np.float32(1.5)
    """

    def __init__(
        self,
        delta: float = 1.0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "huber",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(huber, name, reduction, dtype, delta=delta)


@loss_class
class LogCosh(LossFunction):
    """The mean of ``log(cosh(y_pred - y_true))``. See `log_cosh`.

    >>> tf.keras.losses.LogCosh()([[0.0, 0.0]], [[0.0, 1.0]]).numpy()
    np.float32(0.21689034)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "log_cosh",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(log_cosh, name, reduction, dtype)


@loss_class
class Hinge(LossFunction):
    """The mean of ``max(1 - y_true * y_pred, 0)``. See `hinge`.

    >>> tf.keras.losses.Hinge()([[-1.0, 1.0]], [[0.5, 2.0]]).numpy()
    np.float32(0.75)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "hinge",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(hinge, name, reduction, dtype)


@loss_class
class SquaredHinge(LossFunction):
    """The mean of ``max(1 - y_true * y_pred, 0) ** 2``. See `squared_hinge`.

    >>> tf.keras.losses.SquaredHinge()([[-1.0, 1.0]], [[0.5, 2.0]]).numpy()
    np.float32(1.125)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "squared_hinge",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(squared_hinge, name, reduction, dtype)


@loss_class
class CategoricalHinge(LossFunction):
    """How far the right class is from being 1 larger than all others. See `categorical_hinge`.

    >>> tf.keras.losses.CategoricalHinge()([[0.0, 1.0]], [[0.6, 0.4]]).numpy()
    np.float32(1.2)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_hinge",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(categorical_hinge, name, reduction, dtype)


@loss_class
class KLDivergence(LossFunction):
    """The divergence of Kullback and Leibler. See `kl_divergence`.

    >>> tf.keras.losses.KLDivergence()([[0.5, 0.5]], [[0.25, 0.75]]).numpy()
    np.float32(0.14384104)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "kl_divergence",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(kl_divergence, name, reduction, dtype)


@loss_class
class Poisson(LossFunction):
    """The mean of ``y_pred - y_true * log(y_pred)``. See `poisson`.

    >>> tf.keras.losses.Poisson()([[1.0, 2.0]], [[1.0, 1.0]]).numpy()
    np.float32(0.9999998)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "poisson",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(poisson, name, reduction, dtype)


@loss_class
class CategoricalCrossentropy(LossFunction):
    """The cross-entropy of one-hot labels. See `categorical_crossentropy`.

    >>> tf.keras.losses.CategoricalCrossentropy()([[0.0, 1.0]], [[0.25, 0.75]]).numpy()
    np.float32(0.2876821)
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_crossentropy",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            categorical_crossentropy,
            name,
            reduction,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


@loss_class
class BinaryCrossentropy(LossFunction):
    """The cross-entropy of labels 0 and 1. See `binary_crossentropy`.

    >>> tf.keras.losses.BinaryCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    np.float32(0.6931472)
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "binary_crossentropy",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            binary_crossentropy,
            name,
            reduction,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


@loss_class
class BinaryFocalCrossentropy(LossFunction):
    """`BinaryCrossentropy` in which well-classified examples count less.

    See `binary_focal_crossentropy`.

    >>> tf.keras.losses.BinaryFocalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    np.float32(0.1732868)
    """

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "binary_focal_crossentropy",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            binary_focal_crossentropy,
            name,
            reduction,
            dtype,
            apply_class_balancing=apply_class_balancing,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


@loss_class
class CategoricalFocalCrossentropy(LossFunction):
    """`CategoricalCrossentropy` in which well-classified examples count less.

    See `categorical_focal_crossentropy`.

    >>> tf.keras.losses.CategoricalFocalCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    np.float32(0.0433217)
    """

    def __init__(
        self,
        alpha: TensorLike = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_focal_crossentropy",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            categorical_focal_crossentropy,
            name,
            reduction,
            dtype,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


@loss_class
class SparseCategoricalCrossentropy(LossFunction):
    """The cross-entropy of labels that are numbers of classes.

    See `sparse_categorical_crossentropy`.

    >>> tf.keras.losses.SparseCategoricalCrossentropy()([1], [[0.25, 0.75]]).numpy()
    np.float32(0.2876821)
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        axis: int = -1,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            sparse_categorical_crossentropy,
            name,
            reduction,
            dtype,
            from_logits=from_logits,
            ignore_class=ignore_class,
            axis=axis,
        )

    def _nt_convert_targets(self, x: TensorLike) -> Tensor:
        labels = as_tensor(x)
        # A user's `call` may compute with the labels, so it gets floats.
        keeps_ints = type(self).call is LossFunction.call
        return labels if keeps_ints and labels._spec.dtype.is_integer else self._nt_convert(labels)

    def _nt_mask(self, y_true: Any) -> Tensor | None:
        ignore_class = self._nt_arguments["ignore_class"]
        if ignore_class is None:
            return None
        counts = not_equal(self._nt_convert(y_true), float(ignore_class))
        return counts[..., 0] if counts.ndim > 1 and counts.shape[-1] == 1 else counts


@loss_class
class Dice(LossFunction):
    """One minus Dice's coefficient; see `dice`.

    >>> tf.keras.losses.Dice()([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    np.float32(0.5)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "dice",
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(dice, name, reduction, dtype, axis=axis)


@loss_class
class Tversky(LossFunction):
    """`Dice` with weights for false negatives and false positives; see `tversky`.

    >>> tf.keras.losses.Tversky()([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    np.float32(0.5000001)
    """

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "tversky",
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(tversky, name, reduction, dtype, alpha=alpha, beta=beta, axis=axis)


class _IntegerLoss(LossFunction):
    """A loss of integer labels, which are not cast to floats."""

    def _nt_convert_targets(self, x: TensorLike) -> Tensor:
        return as_tensor(x)


@loss_class
class CTC(_IntegerLoss):
    """Connectionist temporal classification; see `ctc`.

    >>> tf.keras.losses.CTC()([[1, 0]], tf.zeros((1, 2, 2))).numpy().round(4)
    np.float32(0.2877)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "ctc",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(ctc, name, reduction, dtype)

    def call(self, y_true: Any, y_pred: Any) -> Tensor:
        """The loss of each example.

        Args:
          y_true: Integer labels.
          y_pred: Logits.

        Returns:
          A tensor.
        """
        return ctc(y_true, y_pred)


@describe(
    {**_ARGUMENTS, "gamma": "The scale of the similarities."},
    "",
    "ValueError: If the reduction does not exist.",
)
class Circle(_IntegerLoss):
    """The circle loss of unit vectors; see `circle`.

    >>> vectors = tf.constant([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> tf.keras.losses.Circle(gamma=1.0)([0, 0, 1], vectors).numpy().round(3)
    np.float32(0.546)
    """

    def __init__(
        self,
        gamma: float = 80.0,
        margin: float = 0.4,
        remove_diagonal: bool = True,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "circle",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            circle,
            name,
            reduction,
            dtype,
            gamma=gamma,
            margin=margin,
            remove_diagonal=remove_diagonal,
        )


@describe(
    _ARGUMENTS, "", "ValueError: If ``q`` is not between 0 and 1, or the reduction does not exist."
)
class CategoricalGeneralizedCrossEntropy(_IntegerLoss):
    """A loss that is robust to wrong labels; see `categorical_generalized_cross_entropy`.

    >>> tf.keras.losses.CategoricalGeneralizedCrossEntropy()([1], [[0.75, 0.25]]).numpy()
    np.float32(1.0)
    """

    def __init__(
        self,
        q: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_generalized_cross_entropy",
        dtype: DTypeLike | None = None,
    ) -> None:
        if not 0 < q < 1:
            raise ValueError("q must be in the interval (0, 1)")
        super().__init__(categorical_generalized_cross_entropy, name, reduction, dtype, q=q)


_REGISTRY = ClassRegistry(
    "loss",
    [x for x in list(globals().values()) if isinstance(x, type) and issubclass(x, Loss)],
    module="keras.losses",
)
_NOT_LOSSES = ("Loss", "deserialize", "get", "serialize")


def serialize(loss: Loss | Callable[..., Any]) -> Any:
    """Return the config of a loss.

    Args:
      loss: A loss or a function.

    Returns:
      A dict for a loss; the name of a function.

    Raises:
      ValueError: If ``loss`` is neither a loss nor a function.

    Example:
      >>> tf.keras.losses.serialize(tf.keras.losses.Huber(2.0))["config"]["delta"]
      2.0
    """
    if not isinstance(loss, Loss) and hasattr(loss, "__name__"):
        return loss.__name__
    return _REGISTRY.serialize(loss)


def deserialize(name: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Create a loss from the result of `serialize`.

    Args:
      name: A config, or the name of a loss.
      custom_objects: Custom losses, by name.

    Returns:
      A loss or a function.

    Raises:
      ValueError: If the name is unknown.

    Example:
      >>> config = tf.keras.losses.serialize(tf.keras.losses.Huber(2.0))
      >>> tf.keras.losses.deserialize(config).name
      'huber'
    """
    if isinstance(name, str):
        if custom_objects and name in custom_objects:
            return custom_objects[name]
        return get(name)
    return _REGISTRY.deserialize(name, custom_objects)


def get(identifier: LossLike) -> Callable[..., Any] | None:
    """Return a loss by name.

    Args:
      identifier: The name of a function or class, such as ``"mse"`` or ``"Huber"``; a function, a
        loss or its class, or None.

    Returns:
      An instance for a class or its name, a function for a function's name; a function, a loss or
      None is returned unchanged.

    Raises:
      ValueError: If no loss has this name.

    Example:
      >>> tf.keras.losses.get("mse").__name__
      'mean_squared_error'
    """
    if isinstance(identifier, type) and issubclass(identifier, Loss):
        return identifier()
    if identifier is None or callable(identifier):
        return identifier
    if identifier in ("bce", "BCE"):
        return binary_crossentropy
    result = globals().get(identifier) if isinstance(identifier, str) else None
    if isinstance(identifier, dict):
        from_config: Callable[..., Any] = deserialize(identifier)
        return from_config
    if identifier in __all__ and identifier not in _NOT_LOSSES and result is not None:
        loss: Callable[..., Any] = result() if isinstance(result, type) else result
        return loss
    suggestion = nearest(identifier, __all__)
    raise ValueError(f"Could not interpret loss identifier: {identifier!r}.{suggestion}")
