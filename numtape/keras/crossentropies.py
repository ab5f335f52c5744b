"""Cross-entropies as functions: labels and outputs are of one shape, and nothing is broadcast."""

from __future__ import annotations

from typing import Any

from ..compat.traceback_filter import warn
from ..core.log.logits import logits_of
from ..core.log.tensors import as_tensor
from ..core.ops import elementwise, movement, reduction, softmax_losses
from ..core.ops.arithmetic import pow_
from ..core.ops.comparison import not_equal
from ..core.ops.indexing import where
from ..core.values.arguments import to_float
from ..core.values.dtypes import int32, int64
from ..core.values.spec import to_axis
from ..core.values.tensor import Tensor
from .loss_functions import EPSILON, loss_function, pair
from .smooth import sigmoid

__all__ = [
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "sparse_categorical_crossentropy",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def _fitting(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """Labels and outputs as floats; their shapes have to be the same."""
    y_true, y_pred = pair(y_true, y_pred)
    if y_true.shape != y_pred.shape:
        same = "rank (ndim)" if y_true.ndim != y_pred.ndim else "shape"
        sizes = tuple(y_pred.shape)
        numbers = sizes[-1:] > (1,) and tuple(y_true.shape) in (sizes[:-1], (*sizes[:-1], 1))
        raise ValueError(
            f"Arguments `target` and `output` must have the same {same}. Received: "
            f"target.shape={y_true.shape}, output.shape={y_pred.shape}."
            + " Numbers of classes go with sparse_categorical_crossentropy."
            * numbers
        )
    return y_true, y_pred


def _of_classes(name: str, y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """The same, where an axis is that of classes."""
    y_true, y_pred = _fitting(y_true, y_pred)
    if not y_true.ndim:
        raise ValueError(
            f"Arguments `target` and `output` must be at least rank 1. Received: "
            f"target.shape={y_true.shape}, output.shape={y_pred.shape}."
        )
    if y_pred.shape[-1] == 1:
        warn(
            f"In loss {name}, expected y_pred.shape to be (batch_size, num_classes) with "
            f"num_classes > 1. Received: y_pred.shape={y_pred.shape}. Consider using "
            f"'binary_crossentropy' if you only have 2 classes.",
            SyntaxWarning,
        )
    return y_true, y_pred


def _inside(x: Tensor) -> Tensor:
    """Probabilities away from 0 and 1."""
    return elementwise.clip_by_value(x, EPSILON, 1.0 - EPSILON)


def _logits(y_pred: Tensor, op: str, from_logits: bool) -> Tensor | None:
    """The logits: what was predicted, or what that was made of; None if neither is known."""
    result = logits_of(y_pred, op)
    if result is None:
        return y_pred if from_logits else None
    if from_logits:
        warn(
            f"from_logits=True, but predictions come from an activation, as {op.lower()}: they are "
            f"no logits. The loss is computed from what the activation was given."
        )
    return result


def _smooth(y_true: Tensor, smoothing: float, classes: int | None = None) -> Tensor:
    """Labels, of each of which a part is shared by all classes; None: those of the last axis."""
    if not (smoothing := to_float(smoothing, "label_smoothing")):
        return y_true
    classes = y_true.shape[-1] if classes is None else classes
    if not classes:
        raise ValueError(f"Labels of shape {y_true.shape} are of no classes: none can be smoothed.")
    result: Tensor = y_true * (1.0 - smoothing) + smoothing / classes
    return result


@loss_function
def categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: Any = -1,
) -> Tensor:
    """The cross-entropy of one-hot labels: minus the sum of ``y_true * log(y_pred)``.

    >>> tf.keras.losses.categorical_crossentropy([[0.0, 1.0]], [[0.25, 0.75]]).numpy()
    array([0.2876821], dtype=float32)
    """
    y_true, y_pred = _of_classes("categorical_crossentropy", y_true, y_pred)
    y_true = _smooth(y_true, label_smoothing)
    logits = _logits(y_pred, "Softmax", from_logits)
    if logits is not None:
        result: Tensor = softmax_losses.softmax_cross_entropy_with_logits(y_true, logits, axis)
        return result
    y_pred = _inside(y_pred / reduction.reduce_sum(y_pred, axis, True))
    return elementwise.negative(reduction.reduce_sum(y_true * elementwise.log(y_pred), axis))


@loss_function
def sparse_categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    ignore_class: int | None = None,
    axis: Any = -1,
) -> Tensor:
    """The cross-entropy of labels that are numbers of classes: minus ``log(y_pred[y_true])``.

    A label that is not a class is an error, and so is one that is NaN.

    >>> tf.keras.losses.sparse_categorical_crossentropy([1], [[0.25, 0.75]]).numpy()
    array([0.2876821], dtype=float32)
    """
    y_pred, y_true = as_tensor(y_pred), as_tensor(y_true)
    provided, rank = (*y_pred._spec.shape,), y_pred._spec.rank
    axis = to_axis("SparseCategoricalCrossentropy", axis, rank)
    if y_true._spec.rank == rank and y_true.shape[axis] == 1:
        y_true = movement.squeeze(y_true, axis)
    if (*y_true._spec.shape,) != (*provided[:axis], *provided[axis + 1 :]):
        raise ValueError(
            f"Argument `target` is numbers of classes: it has the shape of `output` without the "
            f"axis of classes. Received: target.shape={y_true.shape}, output.shape={y_pred.shape}."
            + " One-hot labels go with categorical_crossentropy."
            * (y_true.shape == y_pred.shape)
        )
    labels = y_true
    if ignore_class is not None or y_true._spec.dtype not in (int32, int64):
        labels = elementwise.as_indices(y_true, int64)
    logits = _logits(y_pred, "Softmax", from_logits) if ignore_class is None else None
    if logits is not None:
        y_pred, from_logits = logits, True
    if axis != rank - 1:
        order = [k for k in range(y_pred.ndim) if k != axis]
        y_pred = movement.transpose(y_pred, [*order, axis])
    counted = None
    if ignore_class is not None:
        counted = not_equal(labels, ignore_class)
        labels = where(counted, labels, elementwise.zeros_of(labels))
        y_pred = where(movement.expand_dims(counted, -1), y_pred, elementwise.zeros_of(y_pred))
    if not from_logits:
        y_pred = elementwise.log(_inside(y_pred))
    result = softmax_losses.sparse_softmax_cross_entropy_with_logits(labels, y_pred)
    return result if counted is None else where(counted, result, elementwise.zeros_of(result))


def _binary(y_true: Tensor, y_pred: Tensor, from_logits: bool) -> Tensor:
    """The cross-entropy of each element."""
    logits = _logits(y_pred, "Sigmoid", from_logits)
    if logits is not None:
        return softmax_losses.sigmoid_cross_entropy_with_logits(y_true, logits)
    y_pred = _inside(y_pred)
    result = y_true * elementwise.log(y_pred) + (1.0 - y_true) * elementwise.log(1.0 - y_pred)
    return elementwise.negative(result)


@loss_function
def binary_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: Any = -1,
) -> Tensor:
    """The mean cross-entropy of labels 0 and 1.

    >>> tf.keras.losses.binary_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    array([0.6931472], dtype=float32)
    """
    y_true, y_pred = _fitting(y_true, y_pred)
    y_true = _smooth(y_true, label_smoothing, 2)
    return reduction.reduce_mean(_binary(y_true, y_pred, from_logits), axis)


@loss_function
def binary_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: Any = -1,
) -> Tensor:
    """`binary_crossentropy` in which what is nearly right counts less.

    Lin et al., "Focal Loss for Dense Object Detection", 2017.

    >>> tf.keras.losses.binary_focal_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    array([0.1732868], dtype=float32)
    """
    y_true, y_pred = _fitting(y_true, y_pred)
    y_true = _smooth(y_true, label_smoothing, 2)
    if from_logits:
        y_pred = sigmoid(y_pred)
    result = _binary(y_true, y_pred, False)
    right = y_true * y_pred + (1.0 - y_true) * (1.0 - y_pred)
    result = pow_(1.0 - right, gamma) * result
    if apply_class_balancing:
        result = (y_true * alpha + (1.0 - y_true) * (1.0 - alpha)) * result
    return reduction.reduce_mean(result, axis)


@loss_function
def categorical_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: Any = -1,
) -> Tensor:
    """`categorical_crossentropy` in which what is nearly right counts less.

    Lin et al., "Focal Loss for Dense Object Detection", 2017.

    >>> tf.keras.losses.categorical_focal_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    array([0.0433217], dtype=float32)
    """
    y_true, y_pred = _of_classes("categorical_focal_crossentropy", y_true, y_pred)
    y_true = _smooth(y_true, label_smoothing)
    if from_logits:
        y_pred = softmax_losses.softmax(y_pred, axis)
    y_pred = _inside(y_pred / reduction.reduce_sum(y_pred, axis, True))
    weight = pow_(1.0 - y_pred, gamma) * alpha
    return reduction.reduce_sum(weight * (-y_true * elementwise.log(y_pred)), axis)
