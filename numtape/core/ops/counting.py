"""Ops that count: histograms, confusion matrices, nonzero elements, unique elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import InvalidArgumentError
from ..cpu.workers import heard
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Op, defop
from ..log.record import record, require
from ..values import dtypes
from ..values.composite import dispatches
from ..values.dtypes import as_dtype
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import comparison, elementwise, movement
from .indexing import SCATTER_ADD
from .reduction import reduce_sum
from .rules import every

if TYPE_CHECKING:
    from ..values.annotations import AxisLike, DTypeLike, IntLike, TensorLike

Array = np.ndarray[Any, Any]

_INTEGERS = (dtypes.int32, dtypes.int64)
_COUNTED = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def _checked_dtype(dtype: DTypeLike, allowed: tuple[Any, ...], op: str) -> str:
    result = as_dtype(dtype)
    if result not in allowed:
        raise InvalidArgumentError(
            f"Value for attr 'dtype' of {result.name} is not in the list of allowed values: "
            f"{', '.join(one.name for one in allowed)} [Op:{op}]"
        )
    return result.name


# Counts of integers.


def _bincount_spec(op: Op, x: Spec, *weights: Spec, size: int, binary: bool, output: str) -> Spec:
    return intern((*x.shape[:-1], size), as_dtype(output))


def _bincount(out: Array, x: Array, *weights: Array, size: int, binary: bool, output: str) -> None:
    array = np.zeros((math.prod(x.shape[:-1]), size), out.dtype)
    rows = np.broadcast_to(np.arange(len(array))[:, None], (len(array), x.shape[-1]))
    at = x.reshape(rows.shape)
    is_counted = at < size
    place = rows[is_counted], at[is_counted]
    if binary:
        array[place] = 1
    else:
        np.add.at(array, place, weights[0].reshape(rows.shape)[is_counted] if weights else 1)
    out[...] = array.reshape(out.shape)


BINCOUNT = defop("DenseBincount", ARRAY, 1, _bincount_spec, compute=_bincount, on_host=True)
WEIGHTED = defop("DenseBincount", ARRAY, 2, _bincount_spec, compute=_bincount, on_host=True)


@dispatches
def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: IntLike | None = None,
    maxlength: IntLike | None = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """Count the occurrences of each integer from 0 on, or sum their weights.

    The largest element is read at the call: it determines the number of results.

    Args:
      arr: A tensor of integers that are not negative.
      weights: Weights of the elements, of the same shape.
      minlength: The least number of results.
      maxlength: The largest number of results: larger elements are ignored.
      dtype: The dtype of counts: int32, int64, float32 or float64. Sums have the dtype of the
        weights.
      name: Not used.
      axis: None or 0 to count all elements together; -1 to count each row separately.
      binary_output: Whether to return 1 for each integer that occurs, instead of a count.

    Returns:
      A tensor whose last axis has an element for each integer.

    Raises:
      InvalidArgumentError: If an element is negative, or shapes or dtypes do not fit.
      ValueError: If ``axis`` is not supported, or ``weights`` and ``binary_output`` are combined.

    Example:
      >>> tf.math.bincount([1, 1, 3]).numpy()
      array([0, 2, 0, 1], dtype=int32)
      >>> tf.math.bincount([1, 1, 3], weights=[0.5, 1.0, 2.0]).numpy()
      array([0. , 1.5, 0. , 2. ], dtype=float32)
    """
    if weights is not None and binary_output:
        raise ValueError(
            "Arguments `binary_output` and `weights` are mutually exclusive. Please specify only "
            "one."
        )
    if axis not in (None, 0, -1):
        raise ValueError(
            f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported."
        )
    op = "DenseBincount"
    x = as_tensor(arr)
    x = x if x.dtype in _INTEGERS else elementwise.as_indices(x, dtypes.int32)
    heavy = None if weights is None else as_tensor(weights)
    if heavy is not None:
        require(
            heavy.shape == x.shape,
            op,
            f"`weights` must be the same shape as `arr`. Received {heavy.shape.as_list()}",
        )
    if axis != -1 or not x.ndim:
        x = movement.reshape(x, (-1,))
    require(x.ndim <= 2, op, f"Shape must be at most rank 2 but is rank {x.ndim}")
    least, most = (
        None if limit is None else movement.to_ints(limit) for limit in (minlength, maxlength)
    )
    require(
        every(
            x,
            lambda values: values >= 0,
            lambda rows: rows >= 0,
            f"Input arr must be non-negative! [Op:{op}]",
        ),
        op,
        "Input arr must be non-negative!",
    )
    size = max(least or 0, 0)
    if most is None or most != size:
        size = max(size, int(x._array().max(initial=-1)) + 1)
    if most is not None:
        require(most >= 0, op, f"maxlength must be >= 0, got {most}")
        size = min(size, most)
    if heavy is None:
        output = _checked_dtype(dtype, _COUNTED, op)
        return record(BINCOUNT, (x,), size=size, binary=bool(binary_output), output=output)
    output = _checked_dtype(heavy.dtype, _COUNTED, op)
    heavy = movement.reshape_if_needed(heavy, tuple(x.shape))
    return record(WEIGHTED, (x, heavy), size=size, binary=False, output=output)


# Histograms.


def _histogram(out: Array, x: Array, ends: Array, bins: int, output: str) -> None:
    low, high = ends.astype(np.float64)
    step = (high - low) / bins
    place = np.clip(np.floor((x.astype(np.float64) - low) / step), 0, bins - 1)
    out[...] = np.bincount(place.astype(np.int64).ravel(), minlength=bins)


HISTOGRAM = defop(
    "HistogramFixedWidth",
    ARRAY,
    2,
    lambda op, x, ends, bins, output: intern((bins,), as_dtype(output)),
    compute=_histogram,
    on_host=True,
)


def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: IntLike = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Count the elements in each of several bins of equal width.

    Values below the range count in the first bin, values above it in the last.

    Args:
      values: A tensor of numbers.
      value_range: The lower and the upper end of the range, of the same dtype.
      nbins: The number of bins.
      dtype: int32 or int64.
      name: Not used.

    Returns:
      A tensor of ``nbins`` counts.

    Raises:
      InvalidArgumentError: If ``value_range`` is not two increasing numbers, ``nbins`` is not
        positive, or a value is NaN.

    Example:
      >>> tf.histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5).numpy()
      array([2, 1, 1, 0, 2], dtype=int32)
    """
    op = HISTOGRAM.name
    x = as_tensor(values)
    require(not x.dtype.is_complex, op, f"values must be real, got {x.dtype.name}")
    ends = as_tensor(value_range, x._spec, op)
    count = movement.to_ints(nbins)
    output = _checked_dtype(dtype, _INTEGERS, op)
    require(tuple(ends.shape) == (2,), op, "value_range should be a vector of 2 elements.")
    require(
        type(count) is int and count > 0,
        op,
        f"nbins should be a positive number, but got '{dtypes.repr_of(nbins)}'",
    )
    low, high = ends._array().tolist()
    require(
        low < high,
        op,
        f"value_range should satisfy value_range[0] < value_range[1], but got '[{low}, {high}]'",
    )
    if x._spec.is_float:
        message = "Histogram values must not contain NaN"
        numbers = every(x, lambda v: v == v, lambda rows: rows == rows, f"{message} [Op:{op}]")
        require(numbers, op, message)
    return record(HISTOGRAM, (x, ends), bins=count, output=output)


def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: IntLike = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Return the index of the bin of each element. No gradient flows through.

    Args:
      values: A tensor of floats.
      value_range: The lower and the upper end of the range, of the same dtype.
      nbins: The number of bins.
      dtype: Accepted for compatibility with TensorFlow, which ignores it too.
      name: Not used.

    Returns:
      An int32 tensor of indices from 0 to ``nbins - 1``, of the shape of ``values``.

    Raises:
      InvalidArgumentError: If ``nbins`` is not positive, or the values are not floats.

    Example:
      >>> tf.histogram_fixed_width_bins([-1.0, 0.0, 1.5, 5.0], [0.0, 5.0], nbins=5).numpy()
      array([0, 0, 1, 4], dtype=int32)
    """
    op = "HistogramFixedWidthBins"
    x = as_tensor(values)
    if not x._spec.is_float:
        raise InvalidArgumentError(f"values must be floats, got {x.dtype.name} [Op:{op}]")
    count = movement.to_ints(nbins)
    require(type(count) is int and count > 0, op, f"nbins {dtypes.repr_of(nbins)} must be > 0")
    ends = as_tensor(value_range, x._spec, op)
    require(tuple(ends.shape) == (2,), op, "value_range should be a vector of 2 elements.")
    share = (x - ends[0]) / (ends[1] - ends[0])
    place = elementwise.floor(share * float(count))
    return elementwise.cast(elementwise.clip_by_value(place, 0.0, float(count - 1)), dtypes.int32)


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: IntLike | None = None,
    weights: TensorLike | None = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Count how often each class (the row) was predicted as each class (the column).

    Gradients reach ``weights`` if ``dtype`` is a float dtype.

    Args:
      labels: A vector of classes, from 0 on.
      predictions: Another of the same shape.
      num_classes: The number of classes; None for one more than the largest class.
      weights: The weight of each element; None for 1.
      dtype: The dtype of the result.
      name: Not used.

    Returns:
      A tensor of shape (classes, classes).

    Raises:
      InvalidArgumentError: If a class is negative or too large, or the shapes do not fit.
      ValueError: If the shape of ``weights`` is not that of ``predictions``.

    Example:
      >>> tf.math.confusion_matrix([1, 2, 1], [1, 2, 2]).numpy()
      array([[0, 0, 0],
             [0, 1, 1],
             [0, 0, 1]], dtype=int32)
    """
    op = "ConfusionMatrix"
    pair = [as_tensor(labels), as_tensor(predictions)]
    longer = pair[0].ndim - pair[1].ndim
    if abs(longer) == 1 and (wide := pair[longer < 0]).shape[-1] == 1:
        pair[longer < 0] = movement.reshape(wide, tuple(wide.shape[:-1]))
    require(
        pair[0].shape == pair[1].shape,
        op,
        f"labels of shape {pair[0].shape} and predictions of shape {pair[1].shape} do not match",
    )
    size = None if num_classes is None else movement.to_ints(num_classes)
    flat = [movement.reshape(elementwise.as_indices(x, dtypes.int64), (-1,)) for x in pair]
    for what, x in zip(("labels", "predictions"), flat, strict=True):
        message = f"`{what}` contains negative values."
        require(
            every(x, lambda v: v >= 0, lambda rows: rows >= 0, f"{message} [Op:{op}]"), op, message
        )
    if size is None:
        size = max(int(x._array().max(initial=-1)) for x in flat) + 1
    limit = size
    for what, x in zip(("labels", "predictions"), flat, strict=True):
        message = f"`{what}` out of bound {limit}"
        inside = every(x, lambda v: v < limit, lambda rows: rows < limit, f"{message} [Op:{op}]")
        require(inside, op, message)
    requested = as_dtype(dtype)
    if weights is None:
        each = as_tensor(np.ones(flat[0].shape, requested.as_numpy_dtype))
    else:
        heavy = as_tensor(weights)
        if tuple(heavy.shape) != tuple(pair[1].shape):
            raise ValueError(f"Shapes {pair[1].shape} and {heavy.shape} are incompatible")
        each = movement.reshape(elementwise.cast(heavy, requested), (-1,))
    at = flat[0] * limit + flat[1]
    return movement.reshape(
        record(SCATTER_ADD, (each, at), axis=0, size=limit * limit), (limit, limit)
    )


# Nonzero elements.


def _zero_of(x: Tensor) -> Any:
    return False if x.dtype.is_bool else 0


def count_nonzero(
    input: TensorLike,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Count the nonzero elements over axes. NaN counts as nonzero. No gradient flows through.

    Args:
      input: A tensor of numbers or bools.
      axis: The axes to reduce: an int, a list of them, or None for all.
      keepdims: Whether to keep reduced axes with size 1.
      dtype: The dtype of the counts.
      name: Not used.

    Returns:
      A tensor of counts.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice.

    Example:
      >>> tf.math.count_nonzero([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]], axis=1).numpy()
      array([2, 1])
    """
    x = as_tensor(input)
    some = elementwise.cast(comparison.not_equal(x, _zero_of(x)), dtypes.int64)
    return elementwise.cast(reduce_sum(some, axis, bool(keepdims)), dtype)


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """The fraction of elements that are 0; NaN for an empty tensor. No gradient flows through.

    Args:
      value: A tensor of numbers or bools.
      name: Not used.

    Returns:
      A float32 scalar.

    Example:
      >>> tf.math.zero_fraction([0.0, 1.0, 0.0, 2.0]).numpy()
      np.float32(0.5)
    """
    x = as_tensor(value)
    zeros = x._spec.size - count_nonzero(x)
    return elementwise.cast(zeros, dtypes.float32) / float(x._spec.size)


LARGE = 1 << 18  # from this number of elements on, a computation can be interrupted


class Unique(NamedTuple):
    """Unique elements and the index of each element among them; see `unique`."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """Unique elements, the index of each element among them, and their counts."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]


def _find_unique(x: Array) -> tuple[Array, Array, Array]:
    """Return the first positions of unique elements, the index of each element, and counts."""
    _, first, inverse, count = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse], count[order]


def _unique(out: Array, x: Array, size: int, part: str, output: str) -> None:
    first, place, count = _find_unique(x)
    np.copyto(out, {"y": x[first], "idx": place, "count": count}[part], casting="unsafe")


UNIQUE = defop(
    "Unique",
    ARRAY,
    1,
    lambda op, x, size, part, output: intern((size,), x.dtype if part == "y" else as_dtype(output)),
    compute=_unique,
    on_host=True,
)


def _record_unique(x: TensorLike, out_idx: DTypeLike, *parts: str) -> list[Tensor]:
    result = as_tensor(x)
    require(result.ndim == 1, UNIQUE, "unique expects a 1D vector.")
    output = as_dtype(out_idx)
    require(
        output in (dtypes.int32, dtypes.int64),
        UNIQUE,
        f"Value for attr 'out_idx' of {output.name} is not in the list of allowed values: int32, "
        "int64",
    )
    array = result._array()
    different = heard(lambda: _find_unique(array)) if array.size > LARGE else _find_unique(array)
    size = len(different[0])
    return [
        record(
            UNIQUE,
            (result,),
            size=result.shape[0] if part == "idx" else size,
            part=part,
            output=output.name,
        )
        for part in parts
    ]


@dispatches
def unique(x: TensorLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None) -> Unique:
    """Return the unique elements of a vector, in order of their first occurrence.

    Every NaN is unique. The values are read at the call: they determine the number of results.

    Args:
      x: A vector of any dtype.
      out_idx: The dtype of the indices: int32 or int64.
      name: Not used.

    Returns:
      A named tuple: ``y``, the unique elements, and ``idx``, the index in ``y`` of each element of
      ``x``.

    Raises:
      InvalidArgumentError: If ``x`` is not a vector, or ``out_idx`` is not supported.

    Example:
      >>> y, idx = tf.unique([3, 1, 3, 2])
      >>> y.numpy(), idx.numpy()
      (array([3, 1, 2], dtype=int32), array([0, 1, 0, 2], dtype=int32))
    """
    return Unique(*_record_unique(x, out_idx, "y", "idx"))


@dispatches
def unique_with_counts(
    x: TensorLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None
) -> UniqueWithCounts:
    """Return the unique elements of a vector in order of their first occurrence, and their counts.

    Args:
      x: A vector of any dtype.
      out_idx: The dtype of indices and counts: int32 or int64.
      name: Not used.

    Returns:
      A named tuple: ``y`` and ``idx`` as for `unique`, and ``count``.

    Raises:
      InvalidArgumentError: If ``x`` is not a vector, or ``out_idx`` is not supported.

    Example:
      >>> tf.unique_with_counts([3, 1, 3, 2]).count.numpy()
      array([2, 1, 1], dtype=int32)
    """
    return UniqueWithCounts(*_record_unique(x, out_idx, "y", "idx", "count"))
