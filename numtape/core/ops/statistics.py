"""Moments: mean and variance, weighted, and from sums."""

from __future__ import annotations

from typing import Any

from ..log.record import spec_of
from ..log.tensors import as_tensor
from ..values.spec import axes_of
from ..values.spelling import suggest_keywords
from ..values.tensor import Tensor
from . import elementwise, movement
from .reduction import reduce_mean, reduce_sum


@suggest_keywords
def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The mean and the variance over axes: the mean squared distance from the mean.

    The second derivative is right, unlike TensorFlow's.

    Args:
      x: A tensor of floats.
      axes: The axes to reduce: an int or a list of them.
      shift: Accepted for TensorFlow's sake.
      keepdims: Whether reduced axes stay, with size 1.
      name: Not used.

    Returns:
      Two tensors of the same dtype: the mean and the variance.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice.

    Example:
      >>> mean, variance = tf.nn.moments(tf.constant([[1.0, 3.0], [2.0, 8.0]]), axes=1)
      >>> mean.numpy(), variance.numpy()
      (array([2., 5.], dtype=float32), array([1., 9.], dtype=float32))
    """
    x = as_tensor(x)
    mean = reduce_mean(x, axes, True)
    variance = reduce_mean(elementwise.squared_difference(x, mean), axes, keepdims)
    return (mean if keepdims else movement.squeeze(mean, axes)), variance


def _axes(x: Tensor, axes: Any, op: str) -> tuple[int, ...]:
    return tuple(sorted(axes_of(op, axes, x.ndim)))


def sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Any]:
    """What mean and variance over axes can be computed from, by `normalize_moments`.

    Args:
      x: A tensor of numbers.
      axes: The axes to reduce.
      shift: What is taken off before, a number near the mean; None for nothing.
      keepdims: Whether reduced axes stay, with size 1.
      name: Not used.

    Returns:
      The number of elements, their sum, the sum of their squares, and the shift or None.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice.

    Example:
      >>> count, total, squares, shift = tf.nn.sufficient_statistics([1.0, 2.0, 3.0], [0])
      >>> count.numpy(), total.numpy(), squares.numpy(), shift
      (np.float32(3.0), np.float32(6.0), np.float32(14.0), None)
    """
    result = as_tensor(x)
    number = 1
    for axis in _axes(result, axes, "SufficientStatistics"):
        number *= result.shape[axis]
    count = as_tensor(result.dtype.as_numpy_dtype(number))
    if shift is None:
        return count, reduce_sum(result, axes, keepdims), _squares(result, axes, keepdims), None
    shift = as_tensor(shift, result._spec)
    distance = result - shift
    squares = reduce_sum(elementwise.squared_difference(result, shift), axes, keepdims)
    return count, reduce_sum(distance, axes, keepdims), squares, shift


def _squares(x: Tensor, axes: Any, keepdims: bool) -> Tensor:
    return reduce_sum(elementwise.square(x), axes, keepdims)


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance from what `sufficient_statistics` gives.

    Args:
      counts: The number of elements, as a float.
      mean_ss: Their sum.
      variance_ss: The sum of their squares.
      shift: What was taken off before, or None.
      name: Not used.

    Returns:
      The mean and the variance.

    Raises:
      InvalidArgumentError: If they are no floats, dtypes differ, or shapes do not broadcast.

    Example:
      >>> mean, variance = tf.nn.normalize_moments(3.0, 6.0, 15.0, None)
      >>> mean.numpy(), variance.numpy()
      (np.float32(2.0), np.float32(1.0))
    """
    like = next((spec for x in (counts, mean_ss, variance_ss) if (spec := spec_of(x))), None)
    number, total, squares = (as_tensor(x, like) for x in (counts, mean_ss, variance_ss))
    share = elementwise.reciprocal(number)
    mean = total * share
    variance = squares * share - elementwise.square(mean)
    return mean if shift is None else mean + shift, variance


def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance over axes of elements that count differently.

    Both are 0 where the weights add up to 0.

    Args:
      x: A tensor of floats.
      axes: The axes to reduce.
      frequency_weights: How often each element counts: of a shape that broadcasts with ``x``.
      keepdims: Whether reduced axes stay, with size 1.
      name: Not used.

    Returns:
      The mean and the variance.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice, the shapes do not broadcast,
        or the elements are no floats.

    Example:
      >>> mean, variance = tf.nn.weighted_moments([1.0, 3.0], [0], [1.0, 3.0])
      >>> mean.numpy(), variance.numpy()
      (np.float32(2.5), np.float32(0.75))
    """
    value = as_tensor(x)
    weights = elementwise.cast(frequency_weights, value.dtype)
    total = reduce_sum(weights + elementwise.zeros_of(value), axes, True)
    mean = elementwise.real_divide_no_nan(reduce_sum(weights * value, axes, True), total)
    distance = weights * elementwise.squared_difference(value, mean)
    variance = elementwise.real_divide_no_nan(reduce_sum(distance, axes, True), total)
    if keepdims:
        return mean, variance
    removed = _axes(mean, axes, "WeightedMoments")
    shape = tuple(dim for at, dim in enumerate(mean.shape) if at not in removed)
    return movement.reshape(mean, shape), movement.reshape(variance, shape)
