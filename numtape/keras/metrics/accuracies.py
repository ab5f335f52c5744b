"""Accuracies. Functions return a value for each example; classes average over all batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.log.as_tensor import as_tensor
from ...core.ops.along_axis import argmax
from ...core.ops.comparison import equal, greater
from ...core.ops.elementwise import as_indices, cast
from ...core.ops.movement import expand_dims, reshape, squeeze
from ...core.ops.reduction import reduce_any
from ...core.ops.sorting import in_top_k
from ...core.values.arguments import to_float
from ...core.values.dtypes import float32, int32
from ...core.values.tensor import Tensor
from ..loss_functions import same_rank
from ..registry import describe
from .metric import ARGUMENTS, metric_class
from .reductions import FunctionMetric

if TYPE_CHECKING:
    from ...core.values.annotations import DTypeLike, IntLike, NumberLike, TensorLike

_function = describe(
    ARGUMENTS,
    "A float32 tensor: 1 for each correct example, 0 for the others.",
    "InvalidArgumentError: If shapes are incompatible.",
)


def accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return 1 where predictions equal the labels, else 0."""
    y_pred = as_tensor(y_pred)
    y_true, y_pred = same_rank(cast(as_tensor(y_true), y_pred.dtype), y_pred)
    return cast(equal(y_true, y_pred), float32)


@_function
def binary_accuracy(y_true: TensorLike, y_pred: TensorLike, threshold: NumberLike = 0.5) -> Tensor:
    """Return 1 where thresholded predictions equal labels of 0 and 1.

    >>> tf.keras.metrics.binary_accuracy([[1.0], [0.0]], [[0.7], [0.6]]).numpy()
    array([[1.],
           [0.]], dtype=float32)
    """
    y_true, y_pred = same_rank(as_tensor(y_true), as_tensor(y_pred))
    if not y_pred.dtype.is_floating:
        y_pred = cast(y_pred, float32)
    is_above = greater(y_pred, to_float(threshold, "threshold"))
    return cast(equal(y_true, cast(is_above, y_true.dtype)), float32)


def _is_top_class(labels: Tensor, y_pred: Tensor) -> Tensor:
    """Return 1 where the largest prediction is the label's class, in the labels' shape."""
    shape = labels.shape
    if 0 < labels.ndim == y_pred.ndim and shape[-1] == 1:
        labels = squeeze(labels, -1)
    result = cast(equal(labels, cast(argmax(y_pred, -1), labels.dtype)), float32)
    return reshape(result, shape) if result.ndim < len(shape) else result


@_function
def categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return 1 where the largest prediction is the class of the one-hot label.

    >>> tf.keras.metrics.categorical_accuracy([[0, 1], [1, 0]], [[0.1, 0.9], [0.2, 0.8]]).numpy()
    array([1., 0.], dtype=float32)
    """
    labels, y_pred = argmax(y_true, -1), as_tensor(y_pred)
    if 0 < labels.ndim == y_pred.ndim and labels.shape[-1] != 1:
        raise ValueError(
            f"One-hot labels must have a class axis, as predictions have. Received: "
            f"y_true.shape={as_tensor(y_true).shape}, y_pred.shape={y_pred.shape}."
        )
    return _is_top_class(labels, y_pred)


@_function
def sparse_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return 1 where the largest prediction is the class of the integer label.

    >>> tf.keras.metrics.sparse_categorical_accuracy([1, 0], [[0.1, 0.9], [0.2, 0.8]]).numpy()
    array([1., 0.], dtype=float32)
    """
    y_pred = as_tensor(y_pred)
    result = _is_top_class(cast(as_tensor(y_true), y_pred.dtype), y_pred)
    return squeeze(result, -1) if result.ndim > 1 and result.shape[-1] == 1 else result


def _is_in_top_k(labels: Tensor, y_pred: Tensor, k: IntLike) -> Tensor:
    """Return 1 where the label is among the ``k`` largest predictions."""
    shape = labels.shape
    rows = reshape(cast(y_pred, float32), (-1, y_pred.shape[-1])) if y_pred.ndim > 2 else y_pred
    result = in_top_k(reshape(as_indices(labels, int32), (-1,)), rows, k)
    return reshape(cast(result, float32), shape)


@_function
def top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """Return 1 where the class of the one-hot label is among the ``k`` largest predictions.

    >>> tf.keras.metrics.top_k_categorical_accuracy([[0, 0, 1]], [[0.1, 0.6, 0.3]], k=2).numpy()
    array([1.], dtype=float32)
    """
    return _is_in_top_k(argmax(y_true, -1), as_tensor(y_pred), k)


@_function
def sparse_top_k_categorical_accuracy(
    y_true: TensorLike, y_pred: TensorLike, k: int = 5, from_sorted_ids: bool = False
) -> Tensor:
    """Return 1 where the integer label is among the ``k`` largest predictions.

    >>> tf.keras.metrics.sparse_top_k_categorical_accuracy([2], [[0.1, 0.6, 0.3]], k=2).numpy()
    array([1.], dtype=float32)
    """
    y_true, y_pred = as_tensor(y_true), as_tensor(y_pred)
    if not from_sorted_ids:
        return _is_in_top_k(y_true, y_pred, k)
    shape = y_true.shape
    labels = reshape(cast(y_true, y_pred.dtype), (-1,))
    rows = reshape(y_pred, (-1, y_pred.shape[-1]))[:, :k]
    result = reduce_any(equal(expand_dims(labels, 1), rows), 1)
    return reshape(cast(result, float32), shape)


@metric_class
class Accuracy(FunctionMetric):
    """How often predictions equal labels.

    >>> metric = tf.keras.metrics.Accuracy()
    >>> metric([[1], [2], [3], [4]], [[0], [2], [3], [4]]).numpy()
    np.float32(0.75)
    """

    _direction = "up"

    def __init__(self, name: str | None = "accuracy", dtype: DTypeLike | None = None) -> None:
        super().__init__(accuracy, name, dtype)


@metric_class
class BinaryAccuracy(FunctionMetric):
    """How often thresholded predictions equal labels of 0 and 1.

    >>> metric = tf.keras.metrics.BinaryAccuracy()
    >>> metric([[1], [1], [0], [0]], [[0.98], [1], [0], [0.6]]).numpy()
    np.float32(0.75)
    """

    _direction = "up"

    def __init__(
        self,
        name: str | None = "binary_accuracy",
        dtype: DTypeLike | None = None,
        threshold: float = 0.5,
    ) -> None:
        super().__init__(binary_accuracy, name, dtype, threshold=threshold)


@metric_class
class CategoricalAccuracy(FunctionMetric):
    """How often the largest prediction is the class of the one-hot label.

    >>> metric = tf.keras.metrics.CategoricalAccuracy()
    >>> metric([[0, 0, 1], [0, 1, 0]], [[0.1, 0.9, 0.8], [0.05, 0.95, 0]]).numpy()
    np.float32(0.5)
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "categorical_accuracy", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(categorical_accuracy, name, dtype)


@metric_class
class SparseCategoricalAccuracy(FunctionMetric):
    """How often the largest prediction is the class of the integer label.

    >>> metric = tf.keras.metrics.SparseCategoricalAccuracy()
    >>> metric([2, 1], [[0.1, 0.6, 0.3], [0.05, 0.95, 0]]).numpy()
    np.float32(0.5)
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "sparse_categorical_accuracy", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(sparse_categorical_accuracy, name, dtype)


@metric_class
class TopKCategoricalAccuracy(FunctionMetric):
    """How often the class of the one-hot label is among the ``k`` largest predictions.

    >>> metric = tf.keras.metrics.TopKCategoricalAccuracy(k=1)
    >>> metric([[0, 0, 1], [0, 1, 0]], [[0.1, 0.9, 0.8], [0.05, 0.95, 0]]).numpy()
    np.float32(0.5)
    """

    _direction = "up"

    def __init__(
        self,
        k: int = 5,
        name: str | None = "top_k_categorical_accuracy",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)


@metric_class
class SparseTopKCategoricalAccuracy(FunctionMetric):
    """How often the integer label is among the ``k`` largest predictions.

    >>> metric = tf.keras.metrics.SparseTopKCategoricalAccuracy(k=1)
    >>> metric([2, 1], [[0.1, 0.9, 0.8], [0.05, 0.95, 0]]).numpy()
    np.float32(0.5)
    """

    _direction = "up"

    def __init__(
        self,
        k: int = 5,
        name: str | None = "sparse_top_k_categorical_accuracy",
        dtype: DTypeLike | None = None,
        from_sorted_ids: bool = False,
    ) -> None:
        super().__init__(
            sparse_top_k_categorical_accuracy, name, dtype, k=k, from_sorted_ids=from_sorted_ids
        )
