"""Reductions and cumulative sums, as the array API names them."""

from __future__ import annotations

from typing import Any

import numtape as tf

from ..core.values.dtypes import DType
from ..core.values.tensor import Tensor
from .define import Array, Axis, accumulation_dtype, axes_of, function, tensor_of

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def _reduced(compute: Any, x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    result: Tensor = compute(x, axes_of(axis, x.ndim), keepdims)
    return result


@function("xp.sum(tf.constant([1.0, 2.0]))", "<tf.Tensor: shape=(), dtype=float32, numpy=3.0>")
def sum(
    x: Array, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Return the sum over axes."""
    tensor = tensor_of(x)
    return _reduced(
        tf.reduce_sum, tensor_of(tensor, accumulation_dtype(tensor, dtype)), axis, keepdims
    )


@function("xp.prod(tf.constant([2.0, 3.0]))", "<tf.Tensor: shape=(), dtype=float32, numpy=6.0>")
def prod(
    x: Array, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Return the product over axes."""
    tensor = tensor_of(x)
    return _reduced(
        tf.reduce_prod, tensor_of(tensor, accumulation_dtype(tensor, dtype)), axis, keepdims
    )


@function("xp.max(tf.constant([1.0, 2.0]))", "<tf.Tensor: shape=(), dtype=float32, numpy=2.0>")
def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the maximum over axes."""
    return _reduced(tf.reduce_max, tensor_of(x), axis, keepdims)


@function("xp.min(tf.constant([1.0, 2.0]))", "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>")
def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the minimum over axes."""
    return _reduced(tf.reduce_min, tensor_of(x), axis, keepdims)


@function("xp.mean(tf.constant([1.0, 2.0]))", "<tf.Tensor: shape=(), dtype=float32, numpy=1.5>")
def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the mean over axes."""
    return _reduced(tf.reduce_mean, tensor_of(x), axis, keepdims)


@function("xp.var(tf.constant([1.0, 3.0]))", "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>")
def var(
    x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Return the variance over axes."""
    tensor = tensor_of(x)
    variance = _reduced(tf.math.reduce_variance, tensor, axis, keepdims)
    if not correction:
        return variance
    count = 1
    for k in axes_of(axis, tensor.ndim):
        count *= tensor.shape[k]
    scale = count / (count - correction) if count != correction else float("nan")
    return variance * tf.constant(scale, variance.dtype)


@function("xp.std(tf.constant([1.0, 3.0]))", "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>")
def std(
    x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Return the standard deviation over axes."""
    return tf.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def _truth(x: Array) -> Tensor:
    tensor = tensor_of(x)
    return tensor if tensor.dtype.is_bool else tensor != tf.zeros((), tensor.dtype)


@function("xp.all(tf.constant([True, False]))", "<tf.Tensor: shape=(), dtype=bool, numpy=False>")
def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return whether all elements over axes are true."""
    return _reduced(tf.reduce_all, _truth(x), axis, keepdims)


@function("xp.any(tf.constant([True, False]))", "<tf.Tensor: shape=(), dtype=bool, numpy=True>")
def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return whether an element over axes is true."""
    return _reduced(tf.reduce_any, _truth(x), axis, keepdims)


@function("xp.count_nonzero(tf.constant([0, 3, 4]))", "<tf.Tensor: shape=(), dtype=int64, numpy=2>")
def count_nonzero(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the number of elements over axes that are not 0."""
    return _reduced(tf.reduce_sum, tf.cast(_truth(x), tf.int64), axis, keepdims)


def _cumulative(
    compute: Any,
    initial: Any,
    x: Array,
    axis: int | None,
    dtype: DType | None,
    include_initial: bool,
) -> Tensor:
    tensor = tensor_of(x)
    if axis is None:
        if tensor.ndim > 1:
            raise ValueError(f"A tensor of {tensor.ndim} axes needs an axis.")
        axis = 0
    (number,) = axes_of(axis, tensor.ndim)
    tensor = tensor_of(tensor, accumulation_dtype(tensor, dtype))
    result: Tensor = compute(tensor, number)
    if include_initial:
        shape = [1 if k == number else n for k, n in enumerate(result.shape)]
        result = tf.concat([initial(shape, result.dtype), result], number)
    return result


@function(
    "xp.cumulative_sum(tf.constant([1.0, 2.0]))",
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 3.], dtype=float32)>",
    raises="ValueError: If the axis is missing.",
)
def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Return running sums along an axis."""
    return _cumulative(tf.cumsum, tf.zeros, x, axis, dtype, include_initial)


@function(
    "xp.cumulative_prod(tf.constant([2.0, 3.0]))",
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 6.], dtype=float32)>",
    raises="ValueError: If the axis is missing.",
)
def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Return running products along an axis."""
    return _cumulative(tf.math.cumprod, tf.ones, x, axis, dtype, include_initial)


@function(
    "xp.diff(tf.constant([1.0, 4.0, 9.0]))",
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([3., 5.], dtype=float32)>",
)
def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Tensor:
    """Return differences of neighbours along an axis, ``n`` times."""
    tensor = tensor_of(x)
    (number,) = axes_of(axis, tensor.ndim)
    parts = [y for y in (prepend, tensor, append) if y is not None]
    tensor = tf.concat(parts, number) if len(parts) > 1 else tensor
    for _ in range(n):
        size = tensor.shape[number]
        if size < 1:
            break
        later = tf.gather(tensor, tf.range(1, size), axis=number)
        earlier = tf.gather(tensor, tf.range(0, size - 1), axis=number)
        tensor = (
            later - earlier if not tensor.dtype.is_bool else tf.math.logical_xor(later, earlier)
        )
    return tf.identity(tensor)
