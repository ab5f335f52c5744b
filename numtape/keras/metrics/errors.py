"""Metrics that average a loss over examples, such as `MeanSquaredError`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.log.as_tensor import as_tensor
from ...core.ops.comparison import not_equal
from ...core.ops.elementwise import cast, negative, sqrt, square
from ...core.values.tensor import Tensor
from .. import loss_functions
from ..loss_functions import same_rank
from .metric import metric_class
from .reductions import FunctionMetric, Mean

if TYPE_CHECKING:
    from ...core.values.annotations import AxisLike, DTypeLike, TensorLike


@metric_class
class MeanSquaredError(FunctionMetric):
    """The mean of squared differences.

    >>> tf.keras.metrics.MeanSquaredError()([[0.0, 1.0]], [[1.0, 1.0]]).numpy()
    np.float32(0.5)
    """

    def __init__(
        self, name: str | None = "mean_squared_error", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(loss_functions.mean_squared_error, name, dtype)


@metric_class
class RootMeanSquaredError(Mean):
    """The square root of the mean of squared differences.

    >>> tf.keras.metrics.RootMeanSquaredError()([[0.0, 1.0]], [[2.0, 1.0]]).numpy()
    np.float32(1.4142135)
    """

    _direction = "down"

    def __init__(
        self, name: str | None = "root_mean_squared_error", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(name, dtype)

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Add the squared differences.

        Args:
          y_true: Ground-truth values.
          y_pred: Predicted values.
          sample_weight: A weight for each example or element.
        """
        pair = [cast(as_tensor(x), self._nt_dtype) for x in (y_true, y_pred)]
        y_true, y_pred = same_rank(*pair)
        super().update_state(square(y_pred - y_true), sample_weight)

    def result(self) -> Tensor:
        """The root of the mean so far.

        Returns:
          A scalar.
        """
        return sqrt(super().result())


@metric_class
class MeanAbsoluteError(FunctionMetric):
    """The mean of absolute differences.

    >>> tf.keras.metrics.MeanAbsoluteError()([[0.0, 1.0]], [[2.0, 1.0]]).numpy()
    np.float32(1.0)
    """

    def __init__(
        self, name: str | None = "mean_absolute_error", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(loss_functions.mean_absolute_error, name, dtype)


@metric_class
class MeanAbsolutePercentageError(FunctionMetric):
    """The mean of relative differences, in percent.

    >>> tf.keras.metrics.MeanAbsolutePercentageError()([[4.0, 2.0]], [[5.0, 2.0]]).numpy()
    np.float32(12.5)
    """

    def __init__(
        self, name: str | None = "mean_absolute_percentage_error", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(loss_functions.mean_absolute_percentage_error, name, dtype)


@metric_class
class MeanSquaredLogarithmicError(FunctionMetric):
    """The mean of squared differences of ``log(1 + y)``.

    >>> tf.keras.metrics.MeanSquaredLogarithmicError()([[0.0, 1.0]], [[0.0, 3.0]]).numpy()
    np.float32(0.24022643)
    """

    def __init__(
        self, name: str | None = "mean_squared_logarithmic_error", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(loss_functions.mean_squared_logarithmic_error, name, dtype)


def _cosine(y_true: TensorLike, y_pred: TensorLike, axis: AxisLike = -1) -> Tensor:
    """The cosine of the angle between vectors: the negated loss of the same name."""
    return negative(loss_functions.cosine_similarity(y_true, y_pred, axis))


@metric_class
class CosineSimilarity(FunctionMetric):
    """The mean cosine of the angle between vectors.

    >>> tf.keras.metrics.CosineSimilarity()([[0.0, 2.0]], [[3.0, 3.0]]).numpy()
    np.float32(0.7071067)
    """

    _direction = "up"

    def __init__(
        self,
        name: str | None = "cosine_similarity",
        dtype: DTypeLike | None = None,
        axis: AxisLike = -1,
    ) -> None:
        super().__init__(_cosine, name, dtype, axis=axis)


@metric_class
class LogCoshError(FunctionMetric):
    """The mean of ``log(cosh(y_pred - y_true))``.

    >>> tf.keras.metrics.LogCoshError()([[0.0, 0.0]], [[0.0, 1.0]]).numpy()
    np.float32(0.21689034)
    """

    def __init__(self, name: str | None = "logcosh", dtype: DTypeLike | None = None) -> None:
        super().__init__(loss_functions.log_cosh, name, dtype)


@metric_class
class Hinge(FunctionMetric):
    """The mean of ``max(1 - y_true * y_pred, 0)``.

    >>> tf.keras.metrics.Hinge()([[-1.0, 1.0]], [[0.5, 2.0]]).numpy()
    np.float32(0.75)
    """

    def __init__(self, name: str | None = "hinge", dtype: DTypeLike | None = None) -> None:
        super().__init__(loss_functions.hinge, name, dtype)


@metric_class
class SquaredHinge(FunctionMetric):
    """The mean of ``max(1 - y_true * y_pred, 0) ** 2``.

    >>> tf.keras.metrics.SquaredHinge()([[-1.0, 1.0]], [[0.5, 2.0]]).numpy()
    np.float32(1.125)
    """

    def __init__(self, name: str | None = "squared_hinge", dtype: DTypeLike | None = None) -> None:
        super().__init__(loss_functions.squared_hinge, name, dtype)


@metric_class
class CategoricalHinge(FunctionMetric):
    """The mean of ``max(neg - pos + 1, 0)``: the largest wrong score less the right one.

    >>> tf.keras.metrics.CategoricalHinge()([[0.0, 1.0]], [[0.6, 0.4]]).numpy()
    np.float32(1.2)
    """

    def __init__(
        self, name: str | None = "categorical_hinge", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(loss_functions.categorical_hinge, name, dtype)


@metric_class
class KLDivergence(FunctionMetric):
    """The mean Kullback-Leibler divergence.

    >>> tf.keras.metrics.KLDivergence()([[0.5, 0.5]], [[0.25, 0.75]]).numpy()
    np.float32(0.14384104)
    """

    def __init__(self, name: str | None = "kl_divergence", dtype: DTypeLike | None = None) -> None:
        super().__init__(loss_functions.kl_divergence, name, dtype)


@metric_class
class Poisson(FunctionMetric):
    """The mean of ``y_pred - y_true * log(y_pred)``.

    >>> tf.keras.metrics.Poisson()([[1.0, 2.0]], [[1.0, 1.0]]).numpy()
    np.float32(0.9999998)
    """

    def __init__(self, name: str | None = "poisson", dtype: DTypeLike | None = None) -> None:
        super().__init__(loss_functions.poisson, name, dtype)


@metric_class
class BinaryCrossentropy(FunctionMetric):
    """The mean cross-entropy of labels 0 and 1.

    >>> tf.keras.metrics.BinaryCrossentropy()([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    np.float32(0.6931472)
    """

    def __init__(
        self,
        name: str | None = "binary_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        super().__init__(
            loss_functions.binary_crossentropy,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


@metric_class
class CategoricalCrossentropy(FunctionMetric):
    """The mean cross-entropy of one-hot labels.

    >>> tf.keras.metrics.CategoricalCrossentropy()([[0.0, 1.0]], [[0.25, 0.75]]).numpy()
    np.float32(0.2876821)
    """

    def __init__(
        self,
        name: str | None = "categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
        axis: int = -1,
    ) -> None:
        super().__init__(
            loss_functions.categorical_crossentropy,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


@metric_class
class SparseCategoricalCrossentropy(FunctionMetric):
    """The mean cross-entropy of integer class labels.

    >>> tf.keras.metrics.SparseCategoricalCrossentropy()([1], [[0.25, 0.75]]).numpy()
    np.float32(0.2876821)
    """

    def __init__(
        self,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        ignore_class: int | None = None,
        axis: int = -1,
    ) -> None:
        super().__init__(
            loss_functions.sparse_categorical_crossentropy,
            name,
            dtype,
            from_logits=from_logits,
            ignore_class=ignore_class,
            axis=axis,
        )

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: TensorLike | None = None
    ) -> None:
        """Add the losses of a batch; weights of ignored examples count as 0.

        Args:
          y_true: Integer labels.
          y_pred: Predictions.
          sample_weight: A weight for each example.
        """
        ignored = self._nt_fn_kwargs["ignore_class"]
        if ignored is not None and sample_weight is not None:
            labels = cast(as_tensor(y_true), self._nt_dtype)
            weight = cast(as_tensor(sample_weight), self._nt_dtype)
            if labels.ndim == weight.ndim:
                sample_weight = weight * cast(not_equal(labels, float(ignored)), self._nt_dtype)
        super().update_state(y_true, y_pred, sample_weight)
