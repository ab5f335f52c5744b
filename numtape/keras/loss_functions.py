"""Loss functions: one number for each example. The formulas are Keras's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..compat.traceback_filter import warn
from ..core.log.as_tensor import as_tensor
from ..core.log.layer_context import logits_of, set_mask
from ..core.ops import activations, elementwise, losses, movement, reduction
from ..core.ops.arithmetic import divide_no_nan, pow_
from ..core.ops.comparison import (
    equal,
    greater,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
)
from ..core.ops.indexing import one_hot, where
from ..core.ops.matrix_products import matmul
from ..core.ops.movement import reshape
from ..core.ops.reduction import reduce_any
from ..core.values.arguments import to_float
from ..core.values.dtypes import float32, int32, int64
from ..core.values.spec import to_axis
from ..core.values.tensor import Tensor
from .activations import sigmoid
from .registry import describe
from .settings import epsilon

if TYPE_CHECKING:
    from ..core.values.annotations import AxisLike, IntLike, TensorLike

__all__ = [
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "categorical_generalized_cross_entropy",
    "categorical_hinge",
    "circle",
    "cosine_similarity",
    "ctc",
    "dice",
    "hinge",
    "huber",
    "kl_divergence",
    "log_cosh",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "poisson",
    "sparse_categorical_crossentropy",
    "squared_hinge",
    "tversky",
]


def __dir__() -> list[str]:
    return sorted(__all__)


ARGUMENTS = {
    "y_true": "The targets, of the shape of ``y_pred``.",
    "y_pred": "The predictions: a floating-point tensor.",
    "axis": "The axis of the classes or vector components.",
    "delta": "The error at which the loss changes from quadratic to linear.",
    "from_logits": "Whether ``y_pred`` are logits, not probabilities.",
    "label_smoothing": "The fraction of each label that is spread over all classes, from 0 to 1.",
    "ignore_class": "A class whose examples are ignored; None for none.",
    "alpha": "The weight of class 1, of each class, or of false negatives.",
    "beta": "The weight of false positives.",
    "gamma": "The exponent of the modulating factor: a larger one down-weights easy examples more.",
    "q": "The parameter: near 0 the loss is the cross-entropy, near 1 the absolute error.",
    "ref_labels": "The labels of ``ref_embeddings``; None for ``y_true``.",
    "ref_embeddings": "Unit vectors that are compared with ``y_pred``; None for ``y_pred``.",
    "remove_diagonal": "Whether an example is not compared with itself.",
    "margin": "The relaxation of the similarities.",
    "apply_class_balancing": "Whether ``alpha`` weighs class 1 against class 0.",
}
loss_function = describe(
    ARGUMENTS,
    "A tensor without the last axis: the loss of each example.",
    "InvalidArgumentError: If shapes are incompatible.",
)


def pair(y_true: TensorLike, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    """Convert both to the floating-point dtype of ``y_pred``, or float32 if that is not one."""
    y_pred = as_tensor(y_pred)
    if not y_pred.dtype.is_floating:
        y_pred = elementwise.cast(y_pred, float32)
    return elementwise.cast(as_tensor(y_true), y_pred.dtype), y_pred


def same_rank(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Add or remove a last axis of size 1 so that both have the same rank, if possible."""
    if x._spec.rank == y._spec.rank:
        return x, y
    if x.ndim == y.ndim + 1 and x.shape[-1] == 1:
        return (x, movement.expand_dims(y, -1)) if y.ndim == 1 else (movement.squeeze(x, -1), y)
    if y.ndim == x.ndim + 1 and y.shape[-1] == 1:
        return (movement.expand_dims(x, -1), y) if x.ndim == 1 else (x, movement.squeeze(y, -1))
    return x, y


def _pair_of_same_rank(y_true: TensorLike, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    return same_rank(*pair(y_true, y_pred))


def _mean(x: Tensor, axis: AxisLike = -1) -> Tensor:
    return reduction.reduce_mean(x, axis)


def _sum(x: Tensor, axis: AxisLike = -1) -> Tensor:
    return reduction.reduce_sum(x, axis)


@loss_function
def mean_squared_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of squared differences, along the last axis.

    >>> tf.keras.losses.mean_squared_error([[0.0, 1.0]], [[1.0, 1.0]]).numpy()
    array([0.5], dtype=float32)
    """
    y_true, y_pred = _pair_of_same_rank(y_true, y_pred)
    return _mean(elementwise.square(y_true - y_pred))


@loss_function
def mean_absolute_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of absolute differences, along the last axis.

    >>> tf.keras.losses.mean_absolute_error([[0.0, 1.0]], [[2.0, 1.0]]).numpy()
    array([1.], dtype=float32)
    """
    y_true, y_pred = _pair_of_same_rank(y_true, y_pred)
    return _mean(elementwise.abs_(y_true - y_pred))


@loss_function
def mean_absolute_percentage_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of absolute differences relative to ``y_true``, in percent, along the last axis.

    >>> tf.keras.losses.mean_absolute_percentage_error([[4.0, 2.0]], [[5.0, 2.0]]).numpy()
    array([12.5], dtype=float32)
    """
    y_true, y_pred = _pair_of_same_rank(y_true, y_pred)
    size = elementwise.maximum(elementwise.abs_(y_true), epsilon())
    return 100.0 * _mean(elementwise.abs_((y_true - y_pred) / size))


@loss_function
def mean_squared_logarithmic_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of squared differences of ``log(1 + y)``, along the last axis.

    >>> tf.keras.losses.mean_squared_logarithmic_error([[0.0, 1.0]], [[0.0, 3.0]]).numpy()
    array([0.24022643], dtype=float32)
    """
    y_true, y_pred = _pair_of_same_rank(y_true, y_pred)
    first = elementwise.log(elementwise.maximum(y_pred, epsilon()) + 1.0)
    second = elementwise.log(elementwise.maximum(y_true, epsilon()) + 1.0)
    return _mean(elementwise.square(first - second))


@loss_function
def cosine_similarity(y_true: TensorLike, y_pred: TensorLike, axis: AxisLike = -1) -> Tensor:
    """Minus the cosine of the angle between vectors: -1 where they point the same way.

    >>> tf.keras.losses.cosine_similarity([[0.0, 2.0]], [[3.0, 3.0]]).numpy()
    array([-0.7071067], dtype=float32)
    """
    y_true, y_pred = _pair_of_same_rank(y_true, y_pred)

    def unit(x: Tensor) -> Tensor:
        squares = reduction.reduce_sum(elementwise.square(x), axis, True)
        return x * elementwise.rsqrt(elementwise.maximum(squares, 1e-12))

    return elementwise.negative(_sum(unit(y_true) * unit(y_pred), axis))


@loss_function
def huber(y_true: TensorLike, y_pred: TensorLike, delta: TensorLike = 1.0) -> Tensor:
    """The mean of ``0.5 * e**2`` where ``|e| <= delta``, else ``delta * (|e| - 0.5 * delta)``.

    The error ``e`` is ``y_pred - y_true``; the mean is along the last axis. Huber,
    "Robust Estimation of a Location Parameter", 1964.

    >>> tf.keras.losses.huber([[0.0, 0.0]], [[1.0, 3.0]]).numpy()
    array([1.5], dtype=float32)
    """
    y_true, y_pred = _pair_of_same_rank(y_true, y_pred)
    error = y_pred - y_true
    size = elementwise.abs_(error)
    delta = elementwise.cast(as_tensor(delta), y_pred.dtype)
    return _mean(
        elementwise.select(
            less_equal(size, delta),
            0.5 * elementwise.square(error),
            delta * size - 0.5 * elementwise.square(delta),
        )
    )


@loss_function
def log_cosh(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of ``log(cosh(y_pred - y_true))``, along the last axis.

    >>> tf.keras.losses.log_cosh([[0.0, 0.0]], [[0.0, 1.0]]).numpy()
    array([0.21689034], dtype=float32)
    """
    y_true, y_pred = _pair_of_same_rank(y_true, y_pred)
    x = y_pred - y_true
    return _mean(x + activations.softplus(x * -2.0) - math.log(2.0))


def _signs(y_true: Tensor) -> Tensor:
    """Convert labels 0 and 1 to -1 and 1, and leave others unchanged."""
    binary = reduction.reduce_all(logical_or(equal(y_true, 0.0), equal(y_true, 1.0)))
    return elementwise.select(binary, 2.0 * y_true - 1.0, y_true)


@loss_function
def hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of ``max(1 - y_true * y_pred, 0)``, for labels -1 and 1; 0 counts as -1.

    >>> tf.keras.losses.hinge([[-1.0, 1.0]], [[0.5, 2.0]]).numpy()
    array([0.75], dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    return _mean(elementwise.maximum(1.0 - _signs(y_true) * y_pred, 0.0))


@loss_function
def squared_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of ``max(1 - y_true * y_pred, 0) ** 2``, for labels -1 and 1; 0 counts as -1.

    >>> tf.keras.losses.squared_hinge([[-1.0, 1.0]], [[0.5, 2.0]]).numpy()
    array([1.125], dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    return _mean(elementwise.square(elementwise.maximum(1.0 - _signs(y_true) * y_pred, 0.0)))


@loss_function
def categorical_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """``max(1 + wrong - right, 0)``, the hinge loss of several classes, along the last axis.

    ``right`` is ``sum(y_true * y_pred)``, the prediction for the right class. ``wrong`` is
    ``max((1 - y_true) * y_pred)``, the largest prediction for another class, at least 0.

    >>> tf.keras.losses.categorical_hinge([[0.0, 1.0]], [[0.6, 0.4]]).numpy()
    array([1.2], dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    right = _sum(y_true * y_pred)
    wrong = reduction.reduce_max((1.0 - y_true) * y_pred, -1)
    return elementwise.maximum(wrong - right + 1.0, 0.0)


@loss_function
def kl_divergence(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The Kullback-Leibler divergence: the sum of ``y_true * log(y_true / y_pred)``.

    >>> tf.keras.losses.kl_divergence([[0.5, 0.5]], [[0.25, 0.75]]).numpy()
    array([0.14384104], dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    y_true = elementwise.clip_by_value(y_true, epsilon(), 1.0)
    y_pred = elementwise.clip_by_value(y_pred, epsilon(), 1.0)
    return _sum(y_true * elementwise.log(y_true / y_pred))


@loss_function
def poisson(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of ``y_pred - y_true * log(y_pred)``, along the last axis.

    >>> tf.keras.losses.poisson([[1.0, 2.0]], [[1.0, 1.0]]).numpy()
    array([0.9999998], dtype=float32)
    """
    y_true, y_pred = pair(y_true, y_pred)
    return _mean(y_pred - y_true * elementwise.log(y_pred + epsilon()))


@loss_function
def dice(y_true: TensorLike, y_pred: TensorLike, axis: AxisLike = None) -> Tensor:
    """One minus Dice's coefficient: twice the overlap over the sum of both.

    >>> tf.keras.losses.dice([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    np.float32(0.5)
    """
    y_true, y_pred = pair(y_true, y_pred)
    overlap = _sum(y_true * y_pred, axis)
    return 1.0 - divide_no_nan(2.0 * overlap, _sum(y_true, axis) + _sum(y_pred, axis) + epsilon())


@loss_function
def tversky(
    y_true: TensorLike,
    y_pred: TensorLike,
    alpha: float = 0.5,
    beta: float = 0.5,
    axis: AxisLike = None,
) -> Tensor:
    """``1 - tp / (tp + alpha * fn + beta * fp)``: `dice` with weights of both kinds of errors.

    The sums of true positives, false negatives and false positives are ``tp = sum(y_true *
    y_pred)``, ``fn = sum(y_true * (1 - y_pred))`` and ``fp = sum((1 - y_true) * y_pred)``.
    Salehi et al., "Tversky loss function for image segmentation", 2017.

    >>> tf.keras.losses.tversky([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    np.float32(0.5000001)
    """
    y_true, y_pred = pair(y_true, y_pred)
    overlap = _sum(y_true * y_pred, axis)
    missing = _sum((1.0 - y_pred) * y_true, axis)
    extra = _sum(y_pred * (1.0 - y_true), axis)
    return 1.0 - divide_no_nan(overlap, overlap + missing * alpha + extra * beta + epsilon())


def _pair_of_same_shape(y_true: TensorLike, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    """Convert labels and outputs to floats, and check that their shapes are equal."""
    y_true, y_pred = pair(y_true, y_pred)
    if y_true.shape != y_pred.shape:
        same = "rank (ndim)" if y_true.ndim != y_pred.ndim else "shape"
        sizes = tuple(y_pred.shape)
        numbers = sizes[-1:] > (1,) and tuple(y_true.shape) in (sizes[:-1], (*sizes[:-1], 1))
        raise ValueError(
            f"Arguments `target` and `output` must have the same {same}. Received: "
            f"target.shape={y_true.shape}, output.shape={y_pred.shape}."
            + " For class indices use sparse_categorical_crossentropy."
            * numbers
        )
    return y_true, y_pred


def _pair_with_classes(name: str, y_true: TensorLike, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    """Apply `_pair_of_same_shape`, and check the class axis."""
    y_true, y_pred = _pair_of_same_shape(y_true, y_pred)
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


def _clip(x: Tensor) -> Tensor:
    """Clip probabilities to ``[epsilon, 1 - epsilon]``."""
    return elementwise.clip_by_value(x, epsilon(), 1.0 - epsilon())


def _logits(y_pred: Tensor, op: str, from_logits: bool) -> Tensor | None:
    """Return the logits of ``y_pred``; None if they are unknown."""
    result = logits_of(y_pred, op)
    if result is None:
        return y_pred if from_logits else None
    if from_logits:
        warn(
            f"from_logits=True, but the predictions are the output of {op.lower()}, not logits. "
            f"The loss is computed from the input of that activation."
        )
    return result


def _smooth(y_true: Tensor, smoothing: float, classes: int | None = None) -> Tensor:
    """Smooth labels over ``classes``, by default the size of the last axis."""
    if not (smoothing := to_float(smoothing, "label_smoothing")):
        return y_true
    classes = y_true.shape[-1] if classes is None else classes
    if not classes:
        raise ValueError(f"Labels of shape {y_true.shape} have no classes to smooth over.")
    result: Tensor = y_true * (1.0 - smoothing) + smoothing / classes
    return result


@loss_function
def categorical_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: IntLike = -1,
) -> Tensor:
    """The cross-entropy of one-hot labels: minus the sum of ``y_true * log(y_pred)``.

    >>> tf.keras.losses.categorical_crossentropy([[0.0, 1.0]], [[0.25, 0.75]]).numpy()
    array([0.2876821], dtype=float32)
    """
    y_true, y_pred = _pair_with_classes("categorical_crossentropy", y_true, y_pred)
    y_true = _smooth(y_true, label_smoothing, int(y_pred.shape[axis]))
    logits = _logits(y_pred, "Softmax", from_logits)
    if logits is not None:
        result: Tensor = losses.softmax_cross_entropy_with_logits(y_true, logits, axis)
        return result
    y_pred = _clip(y_pred / reduction.reduce_sum(y_pred, axis, True))
    return elementwise.negative(reduction.reduce_sum(y_true * elementwise.log(y_pred), axis))


@loss_function
def sparse_categorical_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    from_logits: bool = False,
    ignore_class: int | None = None,
    axis: IntLike = -1,
) -> Tensor:
    """The cross-entropy of class indices: minus ``log(y_pred[y_true])``.

    A label that is NaN or out of range is an error.

    >>> tf.keras.losses.sparse_categorical_crossentropy([1], [[0.25, 0.75]]).numpy()
    array([0.2876821], dtype=float32)
    """
    y_pred, y_true = as_tensor(y_pred), as_tensor(y_true)
    shape, rank = (*y_pred._spec.shape,), y_pred._spec.rank
    axis = to_axis("SparseCategoricalCrossentropy", axis, rank)
    if y_true._spec.rank == rank and y_true.shape[axis] == 1:
        y_true = movement.squeeze(y_true, axis)
    if (*y_true._spec.shape,) != (*shape[:axis], *shape[axis + 1 :]):
        raise ValueError(
            f"Argument `target` must hold class indices and have the shape of `output` without "
            f"the class axis. Received: target.shape={y_true.shape}, output.shape={y_pred.shape}."
            + " For one-hot labels use categorical_crossentropy."
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
    counts = None
    if ignore_class is not None:
        counts = not_equal(labels, ignore_class)
        labels = where(counts, labels, elementwise.zeros_of(labels))
        y_pred = where(movement.expand_dims(counts, -1), y_pred, elementwise.zeros_of(y_pred))
    if not from_logits:
        y_pred = elementwise.log(_clip(y_pred))
    result = losses.sparse_softmax_cross_entropy_with_logits(labels, y_pred)
    return result if counts is None else where(counts, result, elementwise.zeros_of(result))


def _binary(y_true: Tensor, y_pred: Tensor, from_logits: bool) -> Tensor:
    """The cross-entropy of each element."""
    logits = _logits(y_pred, "Sigmoid", from_logits)
    if logits is not None:
        return losses.sigmoid_cross_entropy_with_logits(y_true, logits)
    y_pred = _clip(y_pred)
    result = y_true * elementwise.log(y_pred) + (1.0 - y_true) * elementwise.log(1.0 - y_pred)
    return elementwise.negative(result)


@loss_function
def binary_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: IntLike = -1,
) -> Tensor:
    """The mean cross-entropy of labels 0 and 1.

    >>> tf.keras.losses.binary_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    array([0.6931472], dtype=float32)
    """
    y_true, y_pred = _pair_of_same_shape(y_true, y_pred)
    y_true = _smooth(y_true, label_smoothing, 2)
    return reduction.reduce_mean(_binary(y_true, y_pred, from_logits), axis)


@loss_function
def binary_focal_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: IntLike = -1,
) -> Tensor:
    """`binary_crossentropy` that down-weights well-classified elements.

    Lin et al., "Focal Loss for Dense Object Detection", 2017.

    >>> tf.keras.losses.binary_focal_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    array([0.1732868], dtype=float32)
    """
    y_true, y_pred = _pair_of_same_shape(y_true, y_pred)
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
    y_true: TensorLike,
    y_pred: TensorLike,
    alpha: TensorLike = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: IntLike = -1,
) -> Tensor:
    """`categorical_crossentropy` that down-weights well-classified examples.

    Lin et al., "Focal Loss for Dense Object Detection", 2017.

    >>> tf.keras.losses.categorical_focal_crossentropy([[0.0, 1.0]], [[0.5, 0.5]]).numpy()
    array([0.0433217], dtype=float32)
    """
    y_true, y_pred = _pair_with_classes("categorical_focal_crossentropy", y_true, y_pred)
    y_true = _smooth(y_true, label_smoothing, int(y_pred.shape[axis]))
    if from_logits:
        y_pred = losses.softmax(y_pred, axis)
    y_pred = _clip(y_pred / reduction.reduce_sum(y_pred, axis, True))
    weight = pow_(1.0 - y_pred, gamma) * alpha
    return reduction.reduce_sum(weight * (-y_true * elementwise.log(y_pred)), axis)


@describe(
    {**ARGUMENTS, "y_true": "Integer labels, (batch,) or (batch, 1)."},
    "A tensor (batch,): the loss of each example.",
    "InvalidArgumentError: If shapes are incompatible.",
)
def categorical_generalized_cross_entropy(
    y_true: TensorLike, y_pred: TensorLike, q: float
) -> Tensor:
    """``(1 - p**q) / q`` with the predicted probability p of the label.

    From Zhang and Sabuncu, "Generalized Cross Entropy Loss for Training Deep Neural Networks with
    Noisy Labels" (2018).

    >>> tf.keras.losses.categorical_generalized_cross_entropy([1], [[0.75, 0.25]], 0.5).numpy()
    array([1.], dtype=float32)
    """
    y_pred = as_tensor(y_pred)
    labels = elementwise.cast(y_true, int64)
    if labels.ndim > 1 and labels.shape[-1] == 1:
        labels = labels[..., 0]
    targets = one_hot(labels, int(y_pred.shape[-1]), dtype=y_pred.dtype)
    probability = _sum(y_pred * targets)
    result: Tensor = (1.0 - probability**q) / q
    return result


@describe(
    {
        **ARGUMENTS,
        "y_true": "Integer labels, (batch,) or (batch, 1).",
        "y_pred": "Unit vectors, (batch, size).",
        "gamma": "The scale of the similarities.",
    },
    "A tensor (batch,): the loss of each example.",
    "InvalidArgumentError: If shapes are incompatible.",
)
def circle(
    y_true: TensorLike,
    y_pred: TensorLike,
    ref_labels: TensorLike | None = None,
    ref_embeddings: TensorLike | None = None,
    remove_diagonal: bool = True,
    gamma: float = 80,
    margin: float = 0.4,
) -> Tensor:
    """Compare embeddings: examples of a class should be near, and those of others distant.

    From Sun et al., "Circle Loss: A Unified Perspective of Pair Similarity Optimization" (2020).

    >>> vectors = tf.constant([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> tf.keras.losses.circle([0, 0, 1], vectors, gamma=1.0).numpy().round(3)
    array([0.546, 0.546, 0.   ], dtype=float32)
    """
    y_pred = as_tensor(y_pred)
    others = y_pred if ref_embeddings is None else as_tensor(ref_embeddings)
    labels = reshape(elementwise.cast(y_true, int64), (-1, 1))
    other_labels = labels if ref_labels is None else elementwise.cast(ref_labels, int64)
    distance = elementwise.maximum(1.0 - matmul(y_pred, others, transpose_b=True), 0.0)
    is_positive = equal(labels, reshape(other_labels, (1, -1)))
    is_negative = logical_not(is_positive)
    if remove_diagonal:
        rows, columns = (int(n) for n in is_positive.shape)
        is_positive = logical_and(is_positive, as_tensor(~np.eye(rows, columns, dtype=bool)))
    positive = -gamma * elementwise.maximum(margin + distance, 0.0) * (margin - distance)
    farness = elementwise.maximum(1.0 + margin - distance, 0.0)
    negative = gamma * farness * (1.0 - margin - distance)
    total = _masked_logsumexp(positive, is_positive) + _masked_logsumexp(negative, is_negative)
    # No pair of a kind is a sum of -inf; softplus is 0 there, and so is its gradient.
    has_pairs = logical_and(reduce_any(is_positive, 1), reduce_any(is_negative, 1))
    losses = activations.softplus(elementwise.select(has_pairs, total, 0.0))
    losses = elementwise.select(has_pairs, losses, 0.0)
    set_mask(losses, greater(losses, 0.0))
    return losses


def _masked_logsumexp(x: Tensor, mask: Tensor) -> Tensor:
    """``log(sum(exp(x)))`` of the elements of each row for which the mask is True."""
    lowest = elementwise.select(mask, x, -1e30)
    largest = elementwise.stop_gradient(reduction.reduce_max(lowest, 1, True))
    terms = elementwise.select(mask, elementwise.exp(lowest - largest), 0.0)
    return elementwise.log(elementwise.maximum(_sum(terms), 1e-30)) + largest[:, 0]


@describe(
    {
        **ARGUMENTS,
        "y_true": "Integer labels (batch, length), in which 0 is padding and the blank.",
        "y_pred": "Logits (batch, time, classes).",
    },
    "A tensor (batch,): the loss of each example.",
    "ValueError: If the number of axes is wrong.",
)
def ctc(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The connectionist temporal classification loss.

    >>> tf.keras.losses.ctc([[1, 0]], tf.zeros((1, 2, 2))).numpy().round(4)
    array([0.2877], dtype=float32)
    """
    labels, logits = as_tensor(y_true), as_tensor(y_pred)
    if labels.ndim != 2:
        raise ValueError(
            f"Targets `y_true` are expected to be a tensor of shape `(batch_size, max_length)` in "
            f"integer format. Received: y_true.shape={tuple(labels.shape)}"
        )
    if logits.ndim != 3:
        raise ValueError(
            f"Logits `y_pred` are expected to be a tensor of shape `(batch_size, max_length, "
            f"num_classes)`. Received: y_pred.shape={tuple(logits.shape)}"
        )
    lengths = reduction.reduce_sum(elementwise.cast(not_equal(labels, 0), int32), 1)
    steps = np.full(int(logits.shape[0]), int(logits.shape[1]), np.int32)
    wide_logits = elementwise.cast(logits, float32) if logits.dtype.size < 4 else logits
    integers = elementwise.cast(labels, int32)
    result = losses.ctc_loss(
        integers, wide_logits, lengths, steps, logits_time_major=False, blank_index=0
    )
    return elementwise.cast(result, logits.dtype)
