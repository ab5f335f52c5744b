"""Correlations between predictions and ground truth: Pearson's and Lin's."""

from __future__ import annotations

from typing import Any

from ...core.log.as_tensor import as_tensor
from ...core.ops.elementwise import cast, square
from ...core.ops.reduction import reduce_mean, reduce_std, reduce_variance
from ...core.values.tensor import Tensor
from ..docstrings import describe
from ..loss_functions import EPSILON, same_rank
from .metric import MEANINGS, metric_class
from .reductions import FunctionMetric

_function = describe(
    MEANINGS, "A tensor without ``axis``.", "InvalidArgumentError: If shapes are incompatible."
)


def _pair(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    y_pred = as_tensor(y_pred)
    return same_rank(cast(as_tensor(y_true), y_pred.dtype), y_pred)


@_function
def pearson_correlation(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """Pearson's correlation coefficient, from -1 to 1.

    >>> y_true, y_pred = [[0.0, 1.0, 0.5], [1.0, 1.0, 0.2]], [[0.1, 0.9, 0.5], [1.0, 0.9, 0.2]]
    >>> tf.keras.metrics.pearson_correlation(y_true, y_pred).numpy()
    array([0.99999994, 0.99339927], dtype=float32)
    """

    def standard(x: Tensor) -> Tensor:
        x = x - reduce_mean(x, axis, True)
        result: Tensor = x / reduce_std(x, axis, True)
        return result

    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(standard(y_true) * standard(y_pred), axis)


@_function
def concordance_correlation(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """Lin's concordance: Pearson's correlation, reduced by deviation from ``y = x``.

    Lin, "A Concordance Correlation Coefficient to Evaluate Reproducibility", 1989.

    >>> y_true, y_pred = [[0.0, 1.0, 0.5], [1.0, 1.0, 0.2]], [[0.1, 0.9, 0.5], [1.0, 0.9, 0.2]]
    >>> tf.keras.metrics.concordance_correlation(y_true, y_pred).numpy()
    array([0.97560924, 0.98765355], dtype=float32)
    """
    y_true, y_pred = _pair(y_true, y_pred)
    true, predicted = reduce_mean(y_true, axis, True), reduce_mean(y_pred, axis, True)
    size = reduce_variance(y_true - true, axis, True) + square(true - predicted)
    size = size + reduce_variance(y_pred - predicted, axis, True)
    both = (y_true - predicted) * (y_pred - predicted)
    return reduce_mean(2.0 * both / (size + EPSILON), axis)


@metric_class
class PearsonCorrelation(FunctionMetric):
    """The mean Pearson correlation.

    >>> metric = tf.keras.metrics.PearsonCorrelation()
    >>> metric([[0.0, 1.0, 0.5], [1.0, 1.0, 0.2]], [[0.1, 0.9, 0.5], [1.0, 0.9, 0.2]]).numpy()
    np.float32(0.9966996)
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "pearson_correlation", dtype: Any = None, axis: int = -1
    ) -> None:
        super().__init__(pearson_correlation, name, dtype, axis=axis)


@metric_class
class ConcordanceCorrelation(FunctionMetric):
    """The mean of Lin's concordance correlation.

    >>> metric = tf.keras.metrics.ConcordanceCorrelation()
    >>> metric([[0.0, 1.0, 0.5], [1.0, 1.0, 0.2]], [[0.1, 0.9, 0.5], [1.0, 0.9, 0.2]]).numpy()
    np.float32(0.9816314)
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "concordance_correlation", dtype: Any = None, axis: int = -1
    ) -> None:
        super().__init__(concordance_correlation, name, dtype, axis=axis)
