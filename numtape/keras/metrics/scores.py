"""F-scores, the coefficient of determination, and correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...compat.traceback_filter import warn
from ...core.log.as_tensor import as_tensor
from ...core.ops.comparison import is_inf, logical_and
from ...core.ops.elementwise import abs_, cast, select, square
from ...core.ops.movement import broadcast_to, expand_dims
from ...core.ops.reduction import reduce_max, reduce_mean, reduce_std, reduce_sum, reduce_variance
from ...core.values.tensor import Tensor
from ..loss_functions import same_rank
from ..registry import describe
from ..settings import epsilon
from .metric import ARGUMENTS, Metric, add_all, metric_class
from .reductions import FunctionMetric

if TYPE_CHECKING:
    from ...core.values.annotations import DTypeLike, TensorLike

_document = describe(
    ARGUMENTS, "A tensor without ``axis``.", "InvalidArgumentError: If shapes are incompatible."
)


def _to_tensors(y_true: TensorLike, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    y_pred = as_tensor(y_pred)
    return same_rank(cast(as_tensor(y_true), y_pred.dtype), y_pred)


@_document
def pearson_correlation(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Tensor:
    """Pearson's correlation coefficient, from -1 to 1.

    >>> y_true, y_pred = [[0.0, 1.0, 0.5], [1.0, 1.0, 0.2]], [[0.1, 0.9, 0.5], [1.0, 0.9, 0.2]]
    >>> tf.keras.metrics.pearson_correlation(y_true, y_pred).numpy()
    array([0.99999994, 0.99339927], dtype=float32)
    """

    def standardize(x: Tensor) -> Tensor:
        x = x - reduce_mean(x, axis, True)
        result: Tensor = x / reduce_std(x, axis, True)
        return result

    y_true, y_pred = _to_tensors(y_true, y_pred)
    return reduce_mean(standardize(y_true) * standardize(y_pred), axis)


@_document
def concordance_correlation(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Tensor:
    """Lin's concordance: Pearson's correlation, reduced by deviation from ``y = x``.

    Lin, "A Concordance Correlation Coefficient to Evaluate Reproducibility", 1989.

    >>> y_true, y_pred = [[0.0, 1.0, 0.5], [1.0, 1.0, 0.2]], [[0.1, 0.9, 0.5], [1.0, 0.9, 0.2]]
    >>> tf.keras.metrics.concordance_correlation(y_true, y_pred).numpy()
    array([0.97560924, 0.98765355], dtype=float32)
    """
    y_true, y_pred = _to_tensors(y_true, y_pred)
    true_mean, predicted_mean = reduce_mean(y_true, axis, True), reduce_mean(y_pred, axis, True)
    denominator = reduce_variance(y_true - true_mean, axis, True) + square(
        true_mean - predicted_mean
    )
    denominator = denominator + reduce_variance(y_pred - predicted_mean, axis, True)
    covariance = (y_true - predicted_mean) * (y_pred - predicted_mean)
    return reduce_mean(2.0 * covariance / (denominator + epsilon()), axis)


@metric_class
class PearsonCorrelation(FunctionMetric):
    """The mean Pearson correlation.

    >>> metric = tf.keras.metrics.PearsonCorrelation()
    >>> metric([[0.0, 1.0, 0.5], [1.0, 1.0, 0.2]], [[0.1, 0.9, 0.5], [1.0, 0.9, 0.2]]).numpy()
    np.float32(0.9966996)
    """

    _direction = "up"

    def __init__(
        self,
        name: str | None = "pearson_correlation",
        dtype: DTypeLike | None = None,
        axis: int = -1,
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
        self,
        name: str | None = "concordance_correlation",
        dtype: DTypeLike | None = None,
        axis: int = -1,
    ) -> None:
        super().__init__(concordance_correlation, name, dtype, axis=axis)


def _check_matrices(name: str, y_true: Tensor, y_pred: Tensor) -> None:
    if y_true.ndim != 2 or y_pred.ndim != 2:
        raise ValueError(
            f"{name} expects 2D inputs with shape (batch_size, output_dim). Received input shapes: "
            f"y_pred.shape={y_pred.shape} and y_true.shape={y_true.shape}."
        )
    if y_true.shape[1] != y_pred.shape[1]:
        raise ValueError(
            f"{name} expects labels and predictions with equal columns. Received input shapes: "
            f"y_pred.shape={y_pred.shape} and y_true.shape={y_true.shape}."
        )


@metric_class
class FBetaScore(Metric):
    """The weighted harmonic mean of precision and recall.

    It is ``(1 + beta ** 2) * precision * recall / (beta ** 2 * precision + recall)``.

    >>> metric = tf.keras.metrics.FBetaScore(beta=2.0, threshold=0.5)
    >>> y_true = [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
    >>> y_pred = [[0.2, 0.6, 0.7], [0.2, 0.6, 0.6], [0.6, 0.8, 0.0]]
    >>> metric(y_true, y_pred).numpy()
    array([0.38461536, 0.90909085, 0.8333332 ], dtype=float32)
    """

    _direction = "up"

    def __init__(
        self,
        average: str | None = None,
        beta: float = 1.0,
        threshold: float | None = None,
        name: str | None = "fbeta_score",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(dtype, name)
        if average not in (None, "micro", "macro", "weighted"):
            raise ValueError(
                "Invalid `average` argument value. Expected one of: {None, 'micro', 'macro', "
                f"'weighted'}}. Received: average={average}"
            )
        for name, value in (("beta", beta), ("threshold", threshold)):
            if not isinstance(value, float) and (name == "beta" or value is not None):
                raise ValueError(
                    f"Invalid `{name}` argument value. It should be a Python float. Received: "
                    f"{name}={value} of type '{type(value)}'"
                )
        if not beta > 0.0:
            raise ValueError(
                f"Invalid `beta` argument value. It should be > 0. Received: beta={beta}"
            )
        if threshold is not None and not 0.0 < threshold <= 1.0:
            raise ValueError(
                f"Invalid `threshold` argument value. It should verify 0 < threshold <= 1. "
                f"Received: threshold={threshold}"
            )
        self.average = average
        self.beta = beta
        self.threshold = threshold
        self._nt_built = False

    def _nt_build(self, classes: int) -> None:
        shape = () if self.average == "micro" else (classes,)
        for name in (
            "true_positives",
            "false_positives",
            "false_negatives",
            "intermediate_weights",
        ):
            setattr(self, name, self.add_variable(shape, "zeros", self._nt_dtype, name=name))
        self._nt_built = True

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count the predictions of a batch.

        Args:
          y_true: Labels 0 and 1, of shape (examples, classes).
          y_pred: Predictions, of the same shape.
          sample_weight: A weight for each example.

        Raises:
          ValueError: If labels or predictions are not matrices.
        """
        y_true, y_pred = (cast(as_tensor(x), self._nt_dtype) for x in (y_true, y_pred))
        _check_matrices("FBetaScore", y_true, y_pred)
        if not self._nt_built:
            self._nt_build(y_pred.shape[-1])
        if self.threshold is None:
            is_largest = y_pred >= reduce_max(y_pred, -1, True)
            is_predicted = logical_and(is_largest, abs_(y_pred) > 1e-9)
        else:
            is_predicted = y_pred > self.threshold
        predicted = cast(is_predicted, self._nt_dtype)
        weight = None
        if sample_weight is not None:
            weight = expand_dims(cast(as_tensor(sample_weight), self._nt_dtype), 1)
        axis = None if self.average == "micro" else 0
        parts = (predicted * y_true, predicted * (1.0 - y_true), (1.0 - predicted) * y_true, y_true)
        add_all(
            self._nt_variables,
            [reduce_sum(part if weight is None else part * weight, axis) for part in parts],
        )

    def result(self) -> Tensor:
        """The score so far.

        Returns:
          A scalar, or a vector with an element for each class.

        Raises:
          ValueError: Before the first batch.
        """
        if not self._nt_built:
            raise ValueError(f"{type(self).__name__} has no result before `update_state`.")
        tp, fp, fn, weights = (variable.read_value() for variable in self._nt_variables)
        precision, recall = tp / (tp + fp + epsilon()), tp / (tp + fn + epsilon())
        beta_squared = self.beta**2
        score: Tensor = (
            precision
            * recall
            / (beta_squared * precision + recall + epsilon())
            * (1 + beta_squared)
        )
        if self.average == "weighted":
            return reduce_sum(score * (weights / (reduce_sum(weights) + epsilon())))
        return score if self.average is None else reduce_mean(score)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {
            **super().get_config(),
            "average": self.average,
            "beta": self.beta,
            "threshold": self.threshold,
        }


@metric_class
class F1Score(FBetaScore):
    """The harmonic mean of precision and recall.

    >>> metric = tf.keras.metrics.F1Score(threshold=0.5)
    >>> y_true = [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
    >>> y_pred = [[0.2, 0.6, 0.7], [0.2, 0.6, 0.6], [0.6, 0.8, 0.0]]
    >>> metric(y_true, y_pred).numpy()
    array([0.4999999 , 0.79999995, 0.6666665 ], dtype=float32)
    """

    def __init__(
        self,
        average: str | None = None,
        threshold: float | None = None,
        name: str | None = "f1_score",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(average, 1.0, threshold, name, dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        config = super().get_config()
        del config["beta"]
        return config


@metric_class
class R2Score(Metric):
    """The coefficient of determination: ``1 - squared_errors / variance``.

    >>> metric = tf.keras.metrics.R2Score()
    >>> metric([[1], [4], [3]], [[2], [4], [4]]).numpy()
    np.float32(0.57142854)
    """

    _direction = "up"

    def __init__(
        self,
        class_aggregation: str | None = "uniform_average",
        num_regressors: int = 0,
        name: str | None = "r2_score",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(dtype, name)
        aggregations = (None, "uniform_average", "variance_weighted_average")
        if class_aggregation not in aggregations:
            raise ValueError(
                f"Invalid value for argument `class_aggregation`. Expected one of {aggregations}. "
                f"Received: class_aggregation={class_aggregation}"
            )
        if not isinstance(num_regressors, int) or num_regressors < 0:
            raise ValueError(
                "Invalid value for argument `num_regressors`. Expected a value >= 0. Received: "
                f"num_regressors={num_regressors!r}"
            )
        self.class_aggregation = class_aggregation
        self.num_regressors = num_regressors
        self.num_samples = self.add_variable((), "zeros", name="num_samples")
        self._nt_built = False

    def _nt_build(self, outputs: int) -> None:
        self.squared_sum = self.add_variable((outputs,), "zeros", name="squared_sum")
        self.sum = self.add_variable((outputs,), "zeros", name="sum")
        self.total_mse = self.add_variable((outputs,), "zeros", name="residual")
        self.count = self.add_variable((outputs,), "zeros", name="count")
        self._nt_built = True

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Add the sums of a batch.

        Args:
          y_true: Ground-truth values, of shape (examples, outputs).
          y_pred: Predicted values, of the same shape.
          sample_weight: A weight for each example or element.

        Raises:
          ValueError: If labels or predictions are not matrices.
        """
        pair = [cast(as_tensor(x), self._nt_dtype) for x in (y_true, y_pred)]
        y_true, y_pred = same_rank(*pair)
        _check_matrices("R2Score", y_true, y_pred)
        weight = cast(as_tensor(1.0 if sample_weight is None else sample_weight), self._nt_dtype)
        weight = broadcast_to(expand_dims(weight, 1) if weight.ndim == 1 else weight, y_true.shape)
        if not self._nt_built:
            self._nt_build(y_pred.shape[-1])
        weighted = y_true * weight
        sums = (y_true * weighted, weighted, (y_true - y_pred) ** 2 * weight, weight)
        add_all(
            self._nt_variables,
            [
                as_tensor(float(y_true._spec.size)),
                *(cast(reduce_sum(part, 0), "float32") for part in sums),
            ],
        )

    def result(self) -> Tensor:
        """The score so far.

        Returns:
          A scalar, or a vector with an element for each output.

        Raises:
          ValueError: Before the first batch.
        """
        if not self._nt_built:
            raise ValueError("R2Score has no result before `update_state`.")
        samples, squares, sums, errors, count = (v.read_value() for v in self._nt_variables)
        total = squares - sums * (sums / count)
        scores = 1.0 - errors / total
        scores = select(is_inf(scores), 0.0, scores)
        if self.class_aggregation == "uniform_average":
            scores = reduce_mean(scores)
        elif self.class_aggregation is not None:
            scores = reduce_sum(total * scores) / reduce_sum(total)
        return self._nt_adjusted(scores, samples) if self.num_regressors else scores

    def _nt_adjusted(self, score: Tensor, samples: Tensor) -> Tensor:
        """The adjusted score, which penalizes the number of regressors."""
        degrees_of_freedom = float(samples) - 1.0 - self.num_regressors
        if degrees_of_freedom <= 0.0:
            problem = (
                "Division by zero in Adjusted R2 score."
                if degrees_of_freedom == 0.0
                else "More independent predictors than datapoints in adjusted R2 score."
            )
            warn(f"{problem} Falling back to standard R2 score.")
            return score
        result: Tensor = 1.0 - (1.0 - score) * (samples - 1.0) / degrees_of_freedom
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {
            **super().get_config(),
            "class_aggregation": self.class_aggregation,
            "num_regressors": self.num_regressors,
        }
