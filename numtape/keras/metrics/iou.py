"""Intersection-over-union metrics, computed from a confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compat.traceback_filter import warn
from ...core.log.as_tensor import as_tensor
from ...core.ops.along_axis import argmax
from ...core.ops.comparison import logical_and, not_equal
from ...core.ops.counting import confusion_matrix
from ...core.ops.diagonals import diag_part
from ...core.ops.elementwise import cast, select
from ...core.ops.indexing import gather
from ...core.ops.movement import broadcast_to, reshape
from ...core.ops.reduction import reduce_sum
from ...core.values.arguments import to_int, to_list
from ...core.values.dtypes import float32
from ...core.values.tensor import Tensor
from ..settings import epsilon
from .metric import Metric, add_all, metric_class

if TYPE_CHECKING:
    from ...core.values.annotations import DTypeLike, TensorLike


@metric_class
class IoU(Metric):
    """Intersection over union, averaged over ``target_class_ids``.

    It is ``true_positives / (true_positives + false_positives + false_negatives)``. The mean
    skips classes that occur in neither labels nor predictions.

    >>> metric = tf.keras.metrics.IoU(num_classes=2, target_class_ids=[0])
    >>> metric([0, 0, 1, 1], [0, 1, 0, 1]).numpy()
    np.float32(0.3333333)
    """

    _direction = "up"

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: DTypeLike | None = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        super().__init__(dtype or "int64", name)
        num_classes = to_int("num_classes", num_classes)
        ids = to_list(target_class_ids, "target_class_ids")
        target_class_ids = [to_int("target_class_ids", k) for k in ids]
        if num_classes < 1 or not target_class_ids:
            raise ValueError(
                f"num_classes must be positive and target_class_ids must not be empty, got "
                f"{num_classes=}, {target_class_ids=}."
            )
        if max(target_class_ids) >= num_classes:
            raise ValueError(
                f"Target class id {max(target_class_ids)} is out of range: it must be in [0, "
                f"{num_classes})."
            )
        self.num_classes = num_classes
        self.target_class_ids = target_class_ids
        self.ignore_class = ignore_class
        self.sparse_y_true = sparse_y_true
        self.sparse_y_pred = sparse_y_pred
        self.axis = axis
        self.total_cm = self.add_variable(
            (num_classes, num_classes), "zeros", self._nt_dtype, name="total_confusion_matrix"
        )

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Add a batch to the confusion matrix.

        Elements whose label or prediction is out of range are ignored.

        Args:
          y_true: Class numbers, or a score for each class.
          y_pred: Class numbers, or a score for each class.
          sample_weight: A weight for each element.
        """
        if not self.sparse_y_true:
            y_true = argmax(y_true, self.axis)
        if not self.sparse_y_pred:
            y_pred = argmax(y_pred, self.axis)
        y_true, y_pred = as_tensor(y_true), as_tensor(y_pred)
        if not y_true.ndim or not y_pred.ndim:
            raise ValueError(
                f"{type(self).__name__} requires labels and predictions with an axis of examples "
                f"(and scores with a class axis), got a scalar."
            )
        y_true, y_pred = (reshape(cast(x, self._nt_dtype), (-1,)) for x in (y_true, y_pred))
        weight = as_tensor(1.0 if sample_weight is None else sample_weight)
        if sample_weight is not None and weight.dtype.is_floating and self._nt_dtype.is_integer:
            warn(
                "You are passing weight as `float`, but dtype is `int`. This may result in an "
                "incorrect weight due to type casting. Consider using integer weights."
            )
        weight = cast(weight, self._nt_dtype)
        weight = reshape(weight, (-1,)) if weight.ndim > 1 else weight
        weight = broadcast_to(weight, y_true.shape)
        is_valid = logical_and(
            logical_and(y_true >= 0, y_true < self.num_classes),
            logical_and(y_pred >= 0, y_pred < self.num_classes),
        )
        if self.ignore_class is not None:
            is_valid = logical_and(is_valid, not_equal(y_true, self.ignore_class))
        y_true, y_pred, weight = (select(is_valid, x, 0) for x in (y_true, y_pred, weight))
        add_all(
            [self.total_cm],
            [confusion_matrix(y_true, y_pred, self.num_classes, weight, self._nt_dtype)],
        )

    def result(self) -> Tensor:
        """The mean so far.

        Returns:
          A scalar.
        """
        counts = self.total_cm.read_value()
        intersection = diag_part(counts)
        union = reduce_sum(counts, 0) + reduce_sum(counts, 1) - intersection
        targets = np.array(self.target_class_ids, np.int32)
        intersection, union = (cast(gather(x, targets), float32) for x in (intersection, union))
        occurs = union > 1e-9
        value = select(occurs, intersection / (union + epsilon()), 0.0)
        mean: Tensor = reduce_sum(value) / (reduce_sum(cast(occurs, float32)) + epsilon())
        return mean

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "target_class_ids": self.target_class_ids,
            "ignore_class": self.ignore_class,
            "sparse_y_true": self.sparse_y_true,
            "sparse_y_pred": self.sparse_y_pred,
            "axis": self.axis,
        }

    def _nt_config_without(self, *names: str) -> dict[str, Any]:
        config = IoU.get_config(self)
        return {name: value for name, value in config.items() if name not in names}


@metric_class
class BinaryIoU(IoU):
    """Intersection over union of binary labels and thresholded predictions.

    >>> metric = tf.keras.metrics.BinaryIoU(target_class_ids=[0, 1], threshold=0.3)
    >>> metric([0, 1, 0, 1], [0.1, 0.2, 0.4, 0.7]).numpy()
    np.float32(0.3333333)
    """

    def __init__(
        self,
        target_class_ids: Sequence[int] = (0, 1),
        threshold: float = 0.5,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(2, target_class_ids, name, dtype)
        self.threshold = threshold

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Add a batch to the confusion matrix. Predictions >= ``threshold`` count as 1.

        Args:
          y_true: Labels 0 and 1.
          y_pred: Predictions from 0 to 1.
          sample_weight: A weight for each element.
        """
        is_above = cast(as_tensor(y_pred), float32) >= self.threshold
        super().update_state(y_true, cast(is_above, self._nt_dtype), sample_weight)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        result = self._nt_config_without(
            "num_classes", "ignore_class", "sparse_y_true", "sparse_y_pred", "axis"
        )
        return {**result, "threshold": self.threshold}


@metric_class
class MeanIoU(IoU):
    """Intersection over union, averaged over all classes.

    >>> tf.keras.metrics.MeanIoU(num_classes=2)([0, 0, 1, 1], [0, 1, 0, 1]).numpy()
    np.float32(0.3333333)
    """

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        super().__init__(
            num_classes,
            range(to_int("num_classes", num_classes)),
            name,
            dtype,
            ignore_class,
            sparse_y_true,
            sparse_y_pred,
            axis,
        )

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return self._nt_config_without("target_class_ids")


@metric_class
class OneHotIoU(IoU):
    """Intersection over union of one-hot labels, averaged over ``target_class_ids``.

    >>> metric = tf.keras.metrics.OneHotIoU(num_classes=2, target_class_ids=[0])
    >>> metric([[1, 0], [1, 0], [0, 1]], [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]).numpy()
    np.float32(0.49999994)
    """

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: DTypeLike | None = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(
            num_classes, target_class_ids, name, dtype, ignore_class, False, sparse_y_pred, axis
        )

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return self._nt_config_without("sparse_y_true")


@metric_class
class OneHotMeanIoU(MeanIoU):
    """Intersection over union of one-hot labels, averaged over all classes.

    >>> metric = tf.keras.metrics.OneHotMeanIoU(num_classes=2)
    >>> metric([[1, 0], [1, 0], [0, 1]], [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]).numpy()
    np.float32(0.49999994)
    """

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(num_classes, name, dtype, ignore_class, False, sparse_y_pred, axis)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return self._nt_config_without("target_class_ids", "sparse_y_true")
