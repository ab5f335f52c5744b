"""True and false positives and negatives, precision and recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...core.log.as_tensor import as_tensor
from ...core.ops.activations import relu
from ...core.ops.along_axis import cumsum
from ...core.ops.arithmetic import divide_no_nan
from ...core.ops.comparison import greater
from ...core.ops.elementwise import cast, ceil, clip_by_value, select
from ...core.ops.indexing import one_hot
from ...core.ops.movement import broadcast_to, expand_dims, reshape, squeeze, transpose
from ...core.ops.reduction import reduce_sum
from ...core.ops.segments import unsorted_segment_sum
from ...core.ops.sorting import top_k as largest
from ...core.values import dtypes
from ...core.values.tensor import Tensor
from ..loss_functions import same_rank
from ..settings import epsilon
from .metric import Metric, add_all, metric_class, unwrap_single

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...core.values.annotations import DTypeLike, TensorLike

    # None or a scalar stands for one threshold.
    Thresholds: TypeAlias = float | list[float] | tuple[float, ...] | NDArray[Any] | None

LOWEST = -1e10  # replaces predictions outside the top k


def parse_thresholds(thresholds: Thresholds, default: float = 0.5) -> list[float]:
    """Return the thresholds as a list.

    Raises:
      ValueError: If a threshold is not in [0, 1].
    """
    if thresholds is None:
        return [default]
    if isinstance(thresholds, list | tuple | np.ndarray):
        result = list(thresholds)
    else:
        result = [thresholds]
    invalid = [t for t in result if not isinstance(t, int | float | np.number) or not 0 <= t <= 1]
    if invalid or not result:
        raise ValueError(f"Threshold values must be in [0, 1]. Received: {invalid}")
    return result


def are_evenly_spaced(thresholds: Sequence[float]) -> bool:
    """Whether the thresholds are evenly spaced from 0 to 1."""
    count = len(thresholds)
    return count > 2 and np.allclose(thresholds, np.linspace(0, 1, count), atol=epsilon())


class Counter:
    """Count the true and false positives and negatives of one batch.

    Args:
      thresholds: A prediction above a threshold is positive; each threshold has its counts.
      top_k: Only the ``top_k`` largest predictions of an example can be positive.
      class_id: The only class to count; None for all.
      multi_label: Whether each column has its own counts.
      label_weights: The weight of each column.
    """

    def __init__(
        self,
        thresholds: Sequence[float],
        top_k: int | None = None,
        class_id: int | None = None,
        multi_label: bool = False,
        label_weights: TensorLike | None = None,
    ) -> None:
        self.thresholds = np.array(thresholds, np.float32)
        self.even = are_evenly_spaced(thresholds)
        self.top_k = top_k
        self.class_id = class_id
        self.multi_label = multi_label
        self.label_weights = label_weights

    def __call__(
        self,
        names: Sequence[str],
        y_true: TensorLike,
        y_pred: TensorLike,
        weight: TensorLike | None,
    ) -> list[Tensor]:
        """Return the counts in ``names``: any of "tp", "fp", "tn", "fn".

        Raises:
          ValueError: If the shapes are incompatible.
        """
        y_pred, y_true = (cast(as_tensor(x), dtypes.float32) for x in (y_pred, y_true))
        y_pred, y_true = same_rank(y_pred, y_true)
        if y_pred.shape != y_true.shape:
            raise ValueError(f"Shapes {y_pred.shape} and {y_true.shape} are incompatible")
        if weight is not None:
            weight = expand_dims(cast(as_tensor(weight), dtypes.float32), -1)
            if weight.ndim == y_true.ndim + 1:
                weight = squeeze(weight, -1)
        if self.top_k is not None:
            top_classes = one_hot(largest(y_pred, self.top_k).indices, y_pred.shape[-1])
            y_pred = select(reduce_sum(top_classes, -2) > 0.0, y_pred, LOWEST)
        if self.class_id is not None:
            if y_pred.ndim == 1:
                raise ValueError(
                    "When class_id is provided, y_pred must be a 2D array with shape (num_samples, "
                    f"num_classes), found shape: {y_pred.shape}"
                )
            y_true, y_pred = (x[..., self.class_id, None] for x in (y_true, y_pred))
        if weight is not None:
            weight = broadcast_to(weight, y_pred.shape)
        if self.label_weights is not None:
            labels = broadcast_to(as_tensor(self.label_weights)[None], y_pred.shape)
            weight = labels if weight is None else weight * labels
        positive = cast(cast(y_true, dtypes.bool_), dtypes.float32)
        negative = 1.0 - positive
        if weight is not None:
            positive, negative = positive * weight, negative * weight
        if not self.multi_label:
            y_pred, positive, negative = (reshape(x, (-1,)) for x in (y_pred, positive, negative))
        sum_above = self._sum_above_even if self.even else self._sum_above
        counts = {}
        for part, above_name, below_name in ((positive, "tp", "fn"), (negative, "fp", "tn")):
            if above_name in names or below_name in names:
                counts[above_name] = sum_above(y_pred, part)
                counts[below_name] = reduce_sum(part, 0) - counts[above_name]
        return [counts[name] for name in names]

    def _sum_above(self, y_pred: Tensor, amounts: Tensor) -> Tensor:
        """Return, for each threshold, the sum of ``amounts`` where predictions exceed it."""
        limits = as_tensor(self.thresholds.reshape(-1, *(1,) * y_pred.ndim))
        return reduce_sum(select(greater(y_pred[None], limits), amounts[None], 0.0), 1)

    def _sum_above_even(self, y_pred: Tensor, amounts: Tensor) -> Tensor:
        """`_sum_above` for evenly spaced thresholds: a histogram, then a cumulative sum.

        It takes O(predictions + thresholds) steps; `_sum_above` takes their product.
        """
        count = len(self.thresholds)
        index = ceil(clip_by_value(y_pred, 0.0, 1.0) * (count - 1.0)) - 1.0
        if self.thresholds[0] < 0.0 or self.thresholds[-1] > 1.0:
            index = relu(index)  # all predictions exceed the first threshold
        bins = cast(index, dtypes.int32)
        if not self.multi_label:
            return cumsum(unsorted_segment_sum(amounts, bins, count), reverse=True)
        columns = y_pred.shape[1]
        # The bins of a column are contiguous; predictions below the first threshold get bin -1.
        first_bins = as_tensor(np.arange(columns, dtype=np.int32) * count)
        bins = select(bins < 0, -1, bins + first_bins)
        result = unsorted_segment_sum(amounts, bins, count * columns)
        return cumsum(transpose(reshape(result, (columns, count))), reverse=True)


class _Count(Metric):
    """Base class of metrics that report one of the four counts."""

    _nt_kind: str

    def __init__(
        self, thresholds: Thresholds = None, name: str | None = None, dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(dtype, name)
        self.init_thresholds = thresholds
        self.thresholds = parse_thresholds(thresholds)
        self._nt_counter = Counter(self.thresholds)
        self.accumulator = self.add_variable((len(self.thresholds),), "zeros", name="accumulator")

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count the predictions of a batch.

        Args:
          y_true: Labels 0 and 1.
          y_pred: Predictions from 0 to 1, of the same shape.
          sample_weight: A weight for each example or element.
        """
        value = self._nt_counter((self._nt_kind,), y_true, y_pred, sample_weight)
        add_all([self.accumulator], value)

    def result(self) -> Tensor:
        """The count so far.

        Returns:
          A scalar, or a vector with an element for each threshold.
        """
        return unwrap_single(self.accumulator.read_value())

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {**super().get_config(), "thresholds": self.init_thresholds}


@metric_class
class TruePositives(_Count):
    """The number of positive examples that are predicted positive.

    >>> tf.keras.metrics.TruePositives()([0, 1, 1, 1], [1, 0, 1, 1]).numpy()
    np.float32(2.0)
    """

    _nt_kind = "tp"


@metric_class
class TrueNegatives(_Count):
    """The number of negative examples that are predicted negative.

    >>> tf.keras.metrics.TrueNegatives()([0, 1, 0, 0], [1, 1, 0, 0]).numpy()
    np.float32(2.0)
    """

    _nt_kind = "tn"


@metric_class
class FalsePositives(_Count):
    """The number of negative examples that are predicted positive.

    >>> tf.keras.metrics.FalsePositives()([0, 1, 0, 0], [0, 0, 1, 1]).numpy()
    np.float32(2.0)
    """

    _nt_kind = "fp"


@metric_class
class FalseNegatives(_Count):
    """The number of positive examples that are predicted negative.

    >>> tf.keras.metrics.FalseNegatives()([0, 1, 1, 1], [0, 1, 0, 0]).numpy()
    np.float32(2.0)
    """

    _nt_kind = "fn"


class _Ratio(Metric):
    """Base class of ``true_positives / (true_positives + other)``; ``other`` is a count."""

    _direction = "up"
    _nt_other: tuple[str, str]

    def __init__(
        self,
        thresholds: Thresholds = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(dtype, name)
        self.init_thresholds = thresholds
        self.top_k = top_k
        self.class_id = class_id
        self.thresholds = parse_thresholds(thresholds, 0.5 if top_k is None else LOWEST)
        self._nt_counter = Counter(self.thresholds, top_k, class_id)
        shape = (len(self.thresholds),)
        self.true_positives = self.add_variable(shape, "zeros", name="true_positives")
        other_count = self.add_variable(shape, "zeros", name=self._nt_other[1])
        setattr(self, self._nt_other[1], other_count)

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count the predictions of a batch.

        Args:
          y_true: Labels 0 and 1.
          y_pred: Predictions from 0 to 1, of the same shape.
          sample_weight: A weight for each example or element.
        """
        value = self._nt_counter(("tp", self._nt_other[0]), y_true, y_pred, sample_weight)
        add_all([self.true_positives, getattr(self, self._nt_other[1])], value)

    def result(self) -> Tensor:
        """The ratio so far; 0 if the denominator is 0.

        Returns:
          A scalar, or a vector with an element for each threshold.
        """
        true_positives = self.true_positives.read_value()
        other_count = getattr(self, self._nt_other[1])
        return unwrap_single(divide_no_nan(true_positives, true_positives + other_count))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {
            **super().get_config(),
            "thresholds": self.init_thresholds,
            "top_k": self.top_k,
            "class_id": self.class_id,
        }


@metric_class
class Precision(_Ratio):
    """The fraction of positive predictions that are correct: ``tp / (tp + fp)``.

    >>> tf.keras.metrics.Precision()([0, 1, 1, 1], [1, 0, 1, 1]).numpy()
    np.float32(0.6666667)
    """

    _nt_other = ("fp", "false_positives")


@metric_class
class Recall(_Ratio):
    """The fraction of positive examples that are predicted positive: ``tp / (tp + fn)``.

    >>> tf.keras.metrics.Recall()([0, 1, 1, 1], [1, 0, 1, 1]).numpy()
    np.float32(0.6666667)
    """

    _nt_other = ("fn", "false_negatives")
