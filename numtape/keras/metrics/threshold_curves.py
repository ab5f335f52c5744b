"""Metrics over many thresholds: `AUC`, and the best rate under a constraint on another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.log.as_tensor import as_tensor
from ...core.ops.activations import sigmoid
from ...core.ops.arithmetic import divide_no_nan
from ...core.ops.elementwise import log, maximum, minimum, select
from ...core.ops.reduction import reduce_max, reduce_mean, reduce_sum
from ...core.values.arguments import to_list
from ...core.values.tensor import Tensor
from ..settings import epsilon
from .confusion import Counter, parse_thresholds
from .metric import Metric, add_all, metric_class

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from ...core.log.variable import Variable
    from ...core.values.annotations import DTypeLike, TensorLike

_KINDS = ("tp", "fp", "tn", "fn")


def _inner_thresholds(count: int) -> list[float]:
    """Evenly spaced thresholds from 0 to 1, without the end points."""
    return [k / (count - 1) for k in range(1, count - 1)]


class _Counts(Metric):
    """Base class of metrics that keep all four counts at many thresholds."""

    _direction = "up"
    _nt_counter: Counter

    def _nt_create_counts(self, shape: tuple[int, ...]) -> None:
        self.true_positives = self.add_variable(shape, "zeros", name="true_positives")
        self.false_positives = self.add_variable(shape, "zeros", name="false_positives")
        self.true_negatives = self.add_variable(shape, "zeros", name="true_negatives")
        self.false_negatives = self.add_variable(shape, "zeros", name="false_negatives")

    @property
    def _nt_counts(self) -> list[Any]:
        return [
            self.true_positives,
            self.false_positives,
            self.true_negatives,
            self.false_negatives,
        ]

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count the predictions of a batch.

        Args:
          y_true: Labels 0 and 1.
          y_pred: Predictions from 0 to 1, of the same shape.
          sample_weight: A weight for each example or element.
        """
        add_all(self._nt_counts, self._nt_counter(_KINDS, y_true, y_pred, sample_weight))


class _RateAtConstraint(_Counts):
    """Base class: the maximum of one rate over thresholds where another is >= ``value``."""

    def __init__(
        self,
        value: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        constraint = self._nt_constraint_name()
        if not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
            raise ValueError(
                f"Argument `{constraint}` must be in the range [0, 1]. Received: "
                f"{constraint}={value!r}"
            )
        if not isinstance(num_thresholds, int | np.integer) or num_thresholds <= 0:
            raise ValueError(
                "Argument `num_thresholds` must be an integer > 0. Received: "
                f"num_thresholds={num_thresholds!r}"
            )
        super().__init__(dtype, name)
        setattr(self, constraint, value)
        self.value = value
        self.num_thresholds = num_thresholds
        self.class_id = class_id
        count = int(num_thresholds)
        self.thresholds = [0.5] if count == 1 else [0.0, *_inner_thresholds(count), 1.0]
        self._nt_counter = Counter(self.thresholds, class_id=class_id)
        self._nt_create_counts((len(self.thresholds),))

    def _nt_constraint_name(self) -> str:
        """The constructor's name for ``value``."""
        raise NotImplementedError

    def _nt_rates(self) -> tuple[Tensor, Tensor]:
        """The constrained rate and the maximized rate."""
        raise NotImplementedError

    def _nt_ratio(self, numerator: Variable, remainder: Variable) -> Tensor:
        return divide_no_nan(numerator, numerator + remainder)

    @property
    def _nt_sensitivity(self) -> Tensor:
        return self._nt_ratio(self.true_positives, self.false_negatives)

    @property
    def _nt_specificity(self) -> Tensor:
        return self._nt_ratio(self.true_negatives, self.false_positives)

    @property
    def _nt_precision(self) -> Tensor:
        return self._nt_ratio(self.true_positives, self.false_positives)

    def result(self) -> Tensor:
        """The best rate so far; 0 if no threshold satisfies the constraint.

        Returns:
          A scalar.
        """
        constrained, maximized = self._nt_rates()
        return reduce_max(select(constrained >= self.value, maximized, 0.0))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {
            **super().get_config(),
            "num_thresholds": self.num_thresholds,
            self._nt_constraint_name(): self.value,
            "class_id": self.class_id,
        }


@metric_class
class SensitivityAtSpecificity(_RateAtConstraint):
    """The best sensitivity at a specificity of at least ``specificity``.

    >>> metric = tf.keras.metrics.SensitivityAtSpecificity(0.5)
    >>> metric([0, 0, 0, 1, 1], [0, 0.3, 0.8, 0.3, 0.8]).numpy()
    np.float32(0.5)
    """

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(specificity, num_thresholds, class_id, name, dtype)

    def _nt_constraint_name(self) -> str:
        return "specificity"

    def _nt_rates(self) -> tuple[Tensor, Tensor]:
        return self._nt_specificity, self._nt_sensitivity


@metric_class
class SpecificityAtSensitivity(_RateAtConstraint):
    """The best specificity at a sensitivity of at least ``sensitivity``.

    >>> metric = tf.keras.metrics.SpecificityAtSensitivity(0.5)
    >>> metric([0, 0, 0, 1, 1], [0, 0.3, 0.8, 0.3, 0.8]).numpy()
    np.float32(0.6666667)
    """

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(sensitivity, num_thresholds, class_id, name, dtype)

    def _nt_constraint_name(self) -> str:
        return "sensitivity"

    def _nt_rates(self) -> tuple[Tensor, Tensor]:
        return self._nt_sensitivity, self._nt_specificity


@metric_class
class PrecisionAtRecall(_RateAtConstraint):
    """The best precision at a recall of at least ``recall``.

    >>> metric = tf.keras.metrics.PrecisionAtRecall(0.5)
    >>> metric([0, 0, 0, 1, 1], [0, 0.3, 0.8, 0.3, 0.8]).numpy()
    np.float32(0.5)
    """

    def __init__(
        self,
        recall: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(recall, num_thresholds, class_id, name, dtype)

    def _nt_constraint_name(self) -> str:
        return "recall"

    def _nt_rates(self) -> tuple[Tensor, Tensor]:
        return self._nt_sensitivity, self._nt_precision


@metric_class
class RecallAtPrecision(_RateAtConstraint):
    """The best recall at a precision of at least ``precision``.

    >>> metric = tf.keras.metrics.RecallAtPrecision(0.8)
    >>> metric([0, 0, 1, 1], [0, 0.5, 0.3, 0.9]).numpy()
    np.float32(0.5)
    """

    def __init__(
        self,
        precision: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(precision, num_thresholds, class_id, name, dtype)

    def _nt_constraint_name(self) -> str:
        return "precision"

    def _nt_rates(self) -> tuple[Tensor, Tensor]:
        return self._nt_precision, self._nt_sensitivity


@metric_class
class AUC(_Counts):
    """The area under a ROC, precision-recall or precision-recall-gain curve.

    Each threshold is a point of the curve. The curve "PR" is interpolated as in Davis and
    Goadrich, "The Relationship Between Precision-Recall and ROC Curves", 2006; "PRGAIN" follows
    Flach and Kull,
    "Precision-Recall-Gain Curves: PR Analysis Done Right", 2015.

    >>> metric = tf.keras.metrics.AUC(num_thresholds=3)
    >>> metric([0, 0, 1, 1], [0, 0.5, 0.3, 0.9]).numpy()
    np.float32(0.75)
    """

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: DTypeLike | None = None,
        thresholds: Iterable[float] | None = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: ArrayLike | None = None,
        from_logits: bool = False,
    ) -> None:
        self.curve = str(curve).upper()
        if self.curve not in ("PR", "ROC", "PRGAIN"):
            raise ValueError(
                f'Invalid AUC curve value: "{curve}". Expected values are ["PR", "ROC", "PRGAIN"]'
            )
        self.summation_method = str(summation_method).lower()
        if self.summation_method not in ("interpolation", "majoring", "minoring"):
            raise ValueError(
                f'Invalid AUC summation method value: "{summation_method}". Expected values are '
                '["interpolation", "majoring", "minoring"]'
            )
        if thresholds is None:
            if not isinstance(num_thresholds, int | np.integer) or num_thresholds <= 1:
                raise ValueError(
                    "Argument `num_thresholds` must be an integer > 1. Received: "
                    f"num_thresholds={num_thresholds!r}"
                )
            inner = _inner_thresholds(int(num_thresholds))
        else:
            inner = sorted(parse_thresholds(to_list(thresholds, "thresholds")))
        if num_labels and not multi_label:
            raise ValueError("`num_labels` is needed only when `multi_label` is True.")
        super().__init__(dtype, name)
        self._nt_given = thresholds is not None
        self.num_thresholds = len(inner) + 2
        self.multi_label = multi_label
        self.num_labels = num_labels
        self.label_weights = (
            None if label_weights is None else np.asarray(label_weights, np.float32)
        )
        self._nt_from_logits = from_logits
        # All predictions are above the first threshold, and none above the last.
        self.thresholds = [-epsilon(), *inner, 1.0 + epsilon()]
        self._nt_counter = Counter(
            self.thresholds,
            multi_label=multi_label,
            label_weights=None if multi_label else self.label_weights,
        )
        self._nt_built = not multi_label or bool(num_labels)
        if self._nt_built:
            self._nt_create_counts((self.num_thresholds, *([num_labels] if num_labels else [])))

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count the predictions of a batch.

        Args:
          y_true: Labels 0 and 1.
          y_pred: Predictions from 0 to 1, or logits, of the same shape.
          sample_weight: A weight for each example or element.

        Raises:
          ValueError: If ``multi_label`` is set and predictions are not a matrix.
        """
        y_pred = as_tensor(y_pred)
        if not self._nt_built:
            if y_pred.ndim != 2:
                raise ValueError(
                    "`y_pred` must have rank 2 when `multi_label=True`. Found rank "
                    f"{y_pred.ndim}. Full shape received for `y_pred`: {y_pred.shape}"
                )
            self._nt_create_counts((self.num_thresholds, y_pred.shape[1]))
            self._nt_built = True
        super().update_state(
            y_true, sigmoid(y_pred) if self._nt_from_logits else y_pred, sample_weight
        )

    def result(self) -> Tensor:
        """The area so far.

        Returns:
          A scalar.
        """
        areas = reduce_sum(self._nt_interval_areas(), 0)
        if not self.multi_label:
            return areas
        if self.label_weights is None:
            return reduce_mean(areas)
        weights = as_tensor(self.label_weights)
        return divide_no_nan(reduce_sum(areas * weights), reduce_sum(weights))

    def _nt_interval_areas(self) -> Tensor:
        """The area between each pair of adjacent thresholds."""
        tp, fp, tn, fn = (variable.read_value() for variable in self._nt_counts)
        if self.curve == "PR" and self.summation_method == "interpolation":
            return self._nt_interpolated_areas(tp, fp, fn)
        recall = divide_no_nan(tp, tp + fn)
        if self.curve == "ROC":
            x, y = divide_no_nan(fp, fp + tn), recall
        elif self.curve == "PR":
            x, y = recall, divide_no_nan(tp, tp + fp)
        else:
            ratio = divide_no_nan(tp + fn, tn + fp)
            has_no_positives = tp <= 0.0
            gain = select(has_no_positives, 0.0, 1.0 - ratio * divide_no_nan(fn, tp))
            x = maximum(gain, 0.0)
            y = select(has_no_positives, 1.0, 1.0 - ratio * divide_no_nan(fp, tp))
        if self.summation_method == "interpolation":
            heights = (y[:-1] + y[1:]) / 2.0
        else:
            takes_minimum = self.summation_method == "minoring"
            heights = (minimum if takes_minimum else maximum)(y[:-1], y[1:])
        result: Tensor = (x[:-1] - x[1:]) * heights
        return result

    def _nt_interpolated_areas(self, tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
        """Areas under the PR curve, with true positives linear in predicted positives."""
        result = tp[:-1] - tp[1:]
        positives = tp + fp
        before, after = positives[:-1], positives[1:]
        slope = divide_no_nan(result, maximum(before - after, 0.0))
        offset = tp[1:] - slope * after
        ratio = select(before * after > 0.0, divide_no_nan(before, maximum(after, 0.0)), 1.0)
        return divide_no_nan(slope * (result + offset * log(ratio)), maximum(tp[1:] + fn[1:], 0.0))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        weights = self.label_weights
        config = {
            **super().get_config(),
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
            "multi_label": self.multi_label,
            "num_labels": self.num_labels,
            "label_weights": None if weights is None else weights.tolist(),
            "from_logits": self._nt_from_logits,
        }
        return {**config, "thresholds": self.thresholds[1:-1]} if self._nt_given else config
