"""Sums and means of values, and means of a function's result over examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.log.as_tensor import as_tensor
from ...core.log.layer_context import mask_of
from ...core.ops.arithmetic import divide_no_nan
from ...core.ops.elementwise import cast
from ...core.ops.movement import broadcast_to
from ...core.ops.reduction import reduce_mean, reduce_sum
from ...core.values.dtypes import DType
from ...core.values.tensor import Tensor
from .. import losses
from ..loss_functions import same_rank
from ..losses import Loss
from .metric import Metric, add_all, metric_class

if TYPE_CHECKING:
    from ...core.values.annotations import DTypeLike, TensorLike

_LOSSES = [getattr(losses, name) for name in losses.__all__]  # the smaller, the better


def _apply_mask(weight: TensorLike | None, mask: TensorLike | None, dtype: DType) -> Any:
    """Return the weights, set to 0 where ``mask`` is False."""
    if weight is not None:
        weight = cast(as_tensor(weight), dtype)
    if mask is None:
        return weight
    mask_weight = cast(as_tensor(mask), dtype)
    if weight is None:
        return mask_weight
    mask_weight, weight = same_rank(mask_weight, weight)
    return mask_weight * weight


def _values_of_examples(
    values: TensorLike, weight: TensorLike | None, reduce: Callable[..., Tensor], dtype: DType
) -> tuple[Tensor, Tensor | None]:
    """Return one weighted value for each example, and the weights (None without weights).

    Trailing axes that the weights lack are reduced before weighting.
    """
    mask = mask_of(values)
    values = cast(as_tensor(values), dtype)
    if weight is not None:
        values, weight = same_rank(values, _apply_mask(weight, mask, dtype))
        axes = weight.ndim
        if values.ndim > axes:
            values = reduce(values, list(range(axes, values.ndim)))
        weight = broadcast_to(weight, values.shape)
        values = values * weight
        if axes > 1:
            weight = reduce(weight, list(range(1, axes)))
    if values.ndim > 1:
        values = reduce(values, list(range(1, values.ndim)))
    return values, weight


@metric_class
class Sum(Metric):
    """The weighted sum of values.

    >>> metric = tf.keras.metrics.Sum()
    >>> metric.update_state([1.0, 3.0])
    >>> metric([5.0, 7.0], sample_weight=[1.0, 0.0]).numpy()
    np.float32(9.0)
    """

    def __init__(self, name: str | None = "sum", dtype: DTypeLike | None = None) -> None:
        super().__init__(dtype, name)
        self.total = self.add_variable((), "zeros", self._nt_dtype, name="total")

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> None:
        """Add values to the sum.

        Args:
          values: A tensor of any shape.
          sample_weight: A weight for each example or element.
        """
        values, _ = _values_of_examples(values, sample_weight, reduce_sum, self._nt_dtype)
        add_all([self.total], [reduce_sum(values)])

    def result(self) -> Tensor:
        """The sum so far.

        Returns:
          A scalar.
        """
        result: Tensor = self.total.read_value()
        return result


@metric_class
class Mean(Metric):
    """The weighted mean of values.

    >>> metric = tf.keras.metrics.Mean()
    >>> metric.update_state([1.0, 3.0])
    >>> metric([5.0, 7.0], sample_weight=[1.0, 0.0]).numpy()
    np.float32(3.0)
    """

    def __init__(self, name: str | None = "mean", dtype: DTypeLike | None = None) -> None:
        super().__init__(dtype, name)
        self.total = self.add_variable((), "zeros", self._nt_dtype, name="total")
        self.count = self.add_variable((), "zeros", self._nt_dtype, name="count")

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> None:
        """Add values to the total, and their weights (or number) to the count.

        Args:
          values: A tensor of any shape; each example contributes its mean.
          sample_weight: A weight for each example or element.
        """
        values, weight = _values_of_examples(values, sample_weight, reduce_mean, self._nt_dtype)
        if weight is None:
            count = cast(as_tensor(float(values.shape[0] if values.ndim else 1)), self._nt_dtype)
        else:
            count = reduce_sum(weight)
        add_all([self.total, self.count], [reduce_sum(values), count])

    def result(self) -> Tensor:
        """The mean so far; 0 without values.

        Returns:
          A scalar.
        """
        return divide_no_nan(self.total, self.count)


@metric_class
class MeanMetricWrapper(Mean):
    """The mean of a function's result over examples.

    >>> def error(y_true, y_pred):
    ...     return (y_true - y_pred) ** 2
    >>> metric = tf.keras.metrics.MeanMetricWrapper(error, name="error")
    >>> metric(tf.constant([1.0, 2.0]), tf.constant([1.0, 4.0])).numpy()
    np.float32(2.0)
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, dtype)
        if not callable(fn):
            raise TypeError(f"fn must be a function of y_true and y_pred, got {fn!r}.")
        self._nt_fn = fn
        self._nt_fn_kwargs = kwargs
        is_loss = any(fn is function for function in _LOSSES)
        if self._direction is None and (is_loss or isinstance(fn, Loss)):
            self._direction = "down"

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: TensorLike | None = None
    ) -> None:
        """Add the function's results for a batch.

        Args:
          y_true: Ground-truth values.
          y_pred: Predicted values. Its Keras mask, if any, excludes elements.
          sample_weight: A weight for each example or element.
        """
        weight = _apply_mask(sample_weight, mask_of(y_pred), self._nt_dtype)
        super().update_state(self._nt_fn(y_true, y_pred, **self._nt_fn_kwargs), weight)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {**super().get_config(), "fn": self._nt_fn, **self._nt_fn_kwargs}


class FunctionMetric(MeanMetricWrapper):
    """A `MeanMetricWrapper` of a built-in function, whose arguments become attributes."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None, dtype: DTypeLike | None, **arguments: Any
    ) -> None:
        super().__init__(fn, name, dtype, **arguments)
        vars(self).update(arguments)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Returns:
          A dict of arguments.
        """
        return {"name": self.name, "dtype": self.dtype, **self._nt_fn_kwargs}
