"""Look up metrics by name, and convert them to and from configs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..registry import ClassRegistry, describe
from . import accuracies, confusion, errors, iou, reductions, scores, threshold_curves
from .metric import Metric

if TYPE_CHECKING:
    from ..annotations import Config, MetricLike

CLASSES: list[type] = [
    Metric,
    *(reductions.Mean, reductions.Sum, reductions.MeanMetricWrapper),
    *(errors.MeanSquaredError, errors.RootMeanSquaredError, errors.MeanAbsoluteError),
    *(errors.MeanAbsolutePercentageError, errors.MeanSquaredLogarithmicError),
    *(errors.CosineSimilarity, errors.LogCoshError, scores.R2Score),
    *(
        threshold_curves.AUC,
        confusion.FalseNegatives,
        confusion.FalsePositives,
        confusion.Precision,
    ),
    *(threshold_curves.PrecisionAtRecall, confusion.Recall, threshold_curves.RecallAtPrecision),
    *(threshold_curves.SensitivityAtSpecificity, threshold_curves.SpecificityAtSensitivity),
    *(confusion.TrueNegatives, confusion.TruePositives),
    *(scores.ConcordanceCorrelation, scores.PearsonCorrelation),
    *(errors.Hinge, errors.SquaredHinge, errors.CategoricalHinge, errors.KLDivergence),
    *(errors.Poisson, errors.BinaryCrossentropy, errors.CategoricalCrossentropy),
    *(errors.SparseCategoricalCrossentropy, accuracies.Accuracy, accuracies.BinaryAccuracy),
    *(accuracies.CategoricalAccuracy, accuracies.SparseCategoricalAccuracy),
    *(accuracies.TopKCategoricalAccuracy, accuracies.SparseTopKCategoricalAccuracy),
    *(scores.F1Score, scores.FBetaScore, iou.IoU, iou.BinaryIoU, iou.MeanIoU),
    *(iou.OneHotIoU, iou.OneHotMeanIoU),
]
_ALIASES = {
    "bce": errors.BinaryCrossentropy,
    "mse": errors.MeanSquaredError,
    "mae": errors.MeanAbsoluteError,
    "mape": errors.MeanAbsolutePercentageError,
    "msle": errors.MeanSquaredLogarithmicError,
}
_REGISTRY = ClassRegistry(
    "metric", CLASSES, {**_ALIASES, **{name.upper(): one for name, one in _ALIASES.items()}}
)

_named = describe(
    {
        "identifier": 'A name such as ``"mse"`` or ``"AUC"``; a dict of a class and '
        "arguments; a function, a class or a metric; or None.",
        "metric": "A metric or a function.",
        "config": "The result of `serialize`.",
        "custom_objects": "Further classes and functions, by name.",
    },
    "A metric or a function; `serialize` returns a dict; None for None.",
    "ValueError: If no metric has this name, or the metric cannot be serialized.",
)


@_named
def get(identifier: MetricLike | None) -> Any:
    """Return a metric by name.

    >>> tf.keras.metrics.get("mse")
    <MeanSquaredError name=mean_squared_error>
    """
    return _REGISTRY.get(identifier)


@_named
def serialize(metric: Callable[..., Any] | None) -> Any:
    """Return the class and arguments of a metric as a JSON-serializable dict.

    >>> tf.keras.metrics.serialize(tf.keras.metrics.Mean("loss"))["config"]
    {'name': 'loss', 'dtype': 'float32'}
    """
    return _REGISTRY.serialize(metric)


@_named
def deserialize(
    config: Config | None, custom_objects: dict[str, Callable[..., Any]] | None = None
) -> Any:
    """Create a metric from the result of `serialize`.

    >>> config = tf.keras.metrics.serialize(tf.keras.metrics.Mean("loss"))
    >>> tf.keras.metrics.deserialize(config)
    <Mean name=loss>
    """
    return _REGISTRY.deserialize(config, custom_objects)
