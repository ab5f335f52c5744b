"""Ordering along an axis: `top_k`, `sort`, `argsort`, `in_top_k` and `searchsorted`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import InvalidArgumentError
from ...kernels.constants import INSERTED
from ..cpu import blas
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, STOP, Native, Op, defop
from ..log.record import record, require
from ..values import dtypes
from ..values.dtypes import as_dtype, mismatch_error
from ..values.hints import suggest_keywords
from ..values.spec import Spec, intern, to_axis
from ..values.tensor import Tensor
from . import elementwise, movement, rules
from .indexing import GATHER

if TYPE_CHECKING:
    from ..values.annotations import DTypeLike, IntLike, TensorLike

Array = np.ndarray[Any, Any]

_INDICES = (dtypes.int16, dtypes.int32, dtypes.int64)


class TopKV2(NamedTuple):
    """The largest elements and their indices; see `top_k`."""

    values: Tensor
    indices: Tensor


def _order_spec(op: Op, x: Spec, k: int, descending: bool, output: str) -> Spec:
    rules.number(op, x)
    return intern((*x.shape[:-1], k), as_dtype(output))


def _order(out: Array, x: Array, k: int, descending: bool, output: str) -> None:
    """Write the indices of the first ``k`` along the last axis, stably, with NaN last."""
    if descending:  # sort by a decreasing key that never overflows
        x = -x if x.dtype.kind == "f" else ~x
    np.copyto(out, np.argsort(x, -1, kind="stable")[..., :k], casting="unsafe")


def _order_native(out: Spec, x: Spec, k: int, descending: bool, output: str) -> Native | None:
    n, rows = x.shape[-1], math.prod(x.shape[:-1])
    if n >= 2**31:  # kernels count in 32 bits
        return None
    kinds, sizes = (x.dtype.name, output), (n, k, int(descending))
    if k <= INSERTED:
        return Native("sorting.few", kinds, sizes, rows, x.size + out.size * k)
    return Native("sorting.many", kinds, (*sizes, *blas.memory()), rows, 8 * (x.size + out.size))


ORDER = defop(
    "TopKV2",
    ARRAY,
    1,
    _order_spec,
    compute=_order,
    native=_order_native,
    gradient=STOP,
    on_host=True,
)


def _sort_indices(x: Tensor, k: int, descending: bool, output: str) -> Tensor:
    return record(ORDER, (x,), k=k, descending=descending, output=output)


def _along_last(x: Tensor, indices: Tensor) -> Tensor:
    """``x[..., indices[..., j]]``: one gather from all rows laid end to end."""
    if x.ndim == 1:  # the reshape makes the gradient dense
        return record(GATHER, (movement.reshape(x, (-1,)), indices), axis=0)
    batch_shape, n = tuple(x.shape[:-1]), x.shape[-1]
    starts = np.arange(math.prod(batch_shape), dtype=np.int64).reshape(*batch_shape, 1) * n
    at = elementwise.cast(indices, dtypes.int64) + starts
    return record(GATHER, (movement.reshape(x, (-1,)), at), axis=0)


@suggest_keywords
def top_k(
    input: TensorLike,
    k: IntLike = 1,
    sorted: bool = True,
    index_type: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> TopKV2:
    """The ``k`` largest elements along the last axis, and their indices.

    Equal elements keep their order; NaN comes last. Gradients flow to the selected elements.

    Args:
      input: A tensor of numbers, of at least one axis.
      k: The number of elements.
      sorted: Accepted for compatibility with TensorFlow: results are always in descending order.
      index_type: The dtype of the indices: int16, int32 or int64.
      name: Not used.

    Returns:
      A named tuple of ``values`` and ``indices``, whose last axis has size ``k``.

    Raises:
      InvalidArgumentError: If ``k`` is negative or exceeds the size of the axis, the elements are
        bools, or ``input`` is a scalar.

    Example:
      >>> values, indices = tf.math.top_k([3.0, 9.0, 4.0], k=2)
      >>> values.numpy(), indices.numpy()
      (array([9., 4.], dtype=float32), array([1, 2], dtype=int32))
    """
    x, count, output = as_tensor(input), movement.to_ints(k), as_dtype(index_type)
    require(x.ndim > 0, ORDER, f"input must be >= 1-D, got shape {x.shape}")
    require(type(count) is int, ORDER, f"k must be scalar, got {dtypes.repr_of(k)}")
    require(count >= 0, ORDER, f"Need k >= 0, got {count}")
    require(
        count <= x.shape[-1],
        ORDER,
        f"input must have at least k columns. Had {x.shape[-1]}, needed {count}",
    )
    require(output in _INDICES, ORDER, f"index_type must be int16, int32 or int64, got {output!r}")
    indices = _sort_indices(x, count, True, output.name)
    return TopKV2(_along_last(x, indices), indices)


def _move_axis_last(
    values: TensorLike, axis: IntLike, direction: str, op: str
) -> tuple[Tensor, Any, bool]:
    """Return the tensor with the axis last, the permutation, and whether to sort descending."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            "Argument `direction` should be one of ASCENDING, DESCENDING. "
            f"Received: direction={direction}"
        )
    if axis is None:
        raise ValueError(f"axis=None is not an axis: `reshape` to a vector first [Op:{op}].")
    x = as_tensor(values)
    at = to_axis(op, axis, x.ndim)
    swapped = list(range(x.ndim))
    swapped[at], swapped[-1] = swapped[-1], swapped[at]
    return (
        movement.transpose_if_needed(x, tuple(swapped)),
        tuple(swapped),
        direction == "DESCENDING",
    )


@suggest_keywords
def sort(
    values: TensorLike,
    axis: IntLike = -1,
    direction: str = "ASCENDING",
    name: str | None = None,
) -> Tensor:
    """Sort the elements along an axis. NaN comes last in both directions.

    Gradients flow back to the original positions.

    Args:
      values: A tensor of numbers, of at least one axis.
      axis: One axis.
      direction: ``"ASCENDING"`` or ``"DESCENDING"``.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``values``.

    Raises:
      InvalidArgumentError: If the axis is out of range, or the elements are bools.
      ValueError: If the axis is None, or ``direction`` is unknown.

    Example:
      >>> tf.sort([3.0, 1.0, 2.0]).numpy()
      array([1., 2., 3.], dtype=float32)
      >>> tf.sort([[3, 1], [2, 5]], axis=0, direction="DESCENDING").numpy()
      array([[3, 5],
             [2, 1]], dtype=int32)
    """
    x, order, descending = _move_axis_last(values, axis, direction, "Sort")
    indices = _sort_indices(x, x.shape[-1], descending, "int32")
    return movement.transpose_if_needed(_along_last(x, indices), order)


@suggest_keywords
def argsort(
    values: TensorLike,
    axis: IntLike = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the indices that sort a tensor along an axis. NaN comes last in both directions.

    Args:
      values: A tensor of numbers, of at least one axis.
      axis: One axis.
      direction: ``"ASCENDING"`` or ``"DESCENDING"``.
      stable: Accepted for compatibility with TensorFlow: the order of equal elements is always
        preserved.
      name: Not used.

    Returns:
      An int32 tensor of the shape of ``values``.

    Raises:
      InvalidArgumentError: If the axis is out of range, or the elements are bools.
      ValueError: If the axis is None, or ``direction`` is unknown.

    Example:
      >>> tf.argsort([3.0, 1.0, 2.0]).numpy()
      array([1, 2, 0], dtype=int32)
    """
    x, order, descending = _move_axis_last(values, axis, direction, "ArgSort")
    return movement.transpose_if_needed(_sort_indices(x, x.shape[-1], descending, "int32"), order)


# Top-k membership.


def _in_top_k_spec(op: Op, predictions: Spec, targets: Spec, k: int) -> Spec:
    require(predictions.rank == 2, op, "predictions must be 2-dimensional")
    require(targets.rank == 1, op, "targets must be 1-dimensional")
    require(
        predictions.shape[0] == targets.shape[0],
        op,
        f"First dimension of predictions {predictions.shape[0]} must match length of targets "
        f"{targets.shape[0]}",
    )
    return intern(tuple(targets.shape), dtypes.bool_)


def _in_top_k(out: Array, predictions: Array, targets: Array, k: int) -> None:
    inside = (targets >= 0) & (targets < predictions.shape[1])
    out[...] = False
    if predictions.shape[1]:
        at = np.where(inside, targets, 0)[:, None].astype(np.intp)
        larger = (predictions > np.take_along_axis(predictions, at, 1)).sum(1)
        out[...] = inside & np.isfinite(predictions).all(1) & (larger < k)


IN_TOP_K = defop("InTopKV2", ARRAY, 2, _in_top_k_spec, compute=_in_top_k, on_host=True)


def in_top_k(
    targets: TensorLike, predictions: TensorLike, k: IntLike, name: str | None = None
) -> Tensor:
    """Whether the predictions of target classes are among the ``k`` largest of their rows.

    Ties with the k-th largest count as members. A row that has a non-finite prediction, or whose
    target is out of range, gives False.

    Args:
      targets: An int32 or int64 tensor of shape (rows,).
      predictions: A float32 tensor of shape (rows, classes).
      k: The number of largest predictions.
      name: Not used.

    Returns:
      A tensor of bools of shape (rows,).

    Raises:
      ValueError: If ``predictions`` is a tensor of another dtype.
      InvalidArgumentError: If the shapes do not fit, or ``targets`` is not int32 or int64.

    Example:
      >>> tf.math.in_top_k([1, 0], [[0.1, 0.9], [0.2, 0.8]], k=1).numpy()
      array([ True, False])
    """
    from .creation import convert_to_tensor

    result = convert_to_tensor(predictions, dtypes.float32)
    at = as_tensor(targets)
    if at.dtype not in (dtypes.int32, dtypes.int64):
        raise InvalidArgumentError(
            f"targets must be int32 or int64, got {at.dtype.name} [Op:InTopKV2]"
        )
    count = movement.to_ints(k)
    require(type(count) is int, IN_TOP_K, f"k must be 0-D, got {dtypes.repr_of(k)}")
    return record(IN_TOP_K, (result, at), k=count)


# Binary search.


def _search_spec(op: Op, x: Spec, values: Spec, right: bool, output: str) -> Spec:
    if x.dtype is not values.dtype:
        raise mismatch_error(op.name, 1, x.dtype, values.dtype)
    require(x.rank > 0 and values.rank > 0, op, "sorted_sequence and values must have an axis")
    require(
        math.prod(x.shape[:-1]) == math.prod(values.shape[:-1]),
        op,
        "Leading dim_size of both tensors must match.",
    )
    return intern(tuple(values.shape), as_dtype(output))


def _search_sorted(out: Array, x: Array, values: Array, right: bool, output: str) -> None:
    """Bisect all rows at once, with the comparisons of C++'s lower_bound and upper_bound."""
    rows, n = math.prod(x.shape[:-1]), x.shape[-1]
    if not n or not values.size:
        out[...] = 0
        return
    x, requested = x.reshape(rows, n), values.reshape(rows, values.shape[-1])
    first = np.zeros(requested.shape, np.intp)
    left = np.full(requested.shape, n, np.intp)
    while left.any():
        half = left // 2
        here = np.take_along_axis(x, np.minimum(first + half, n - 1), 1)
        on = (left > 0) & (~(requested < here) if right else here < requested)
        first = np.where(on, first + half + 1, first)
        left = np.where(on, left - half - 1, np.where(left > 0, half, 0))
    np.copyto(out, first.reshape(out.shape), casting="unsafe")


BOUND = defop(
    "LowerBound", ARRAY, 2, _search_spec, compute=_search_sorted, gradient=STOP, on_host=True
)


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Indices at which values can be inserted to keep a sequence sorted, row by row.

    Args:
      sorted_sequence: A tensor of numbers, sorted along the last axis.
      values: A tensor of the same dtype; its leading axes have the same number of rows.
      side: ``"left"``: before equal elements; ``"right"``: after them.
      out_type: int32 or int64.
      name: Not used.

    Returns:
      A tensor of dtype ``out_type`` and of the shape of ``values``.

    Raises:
      ValueError: If ``side`` is unknown.
      InvalidArgumentError: If dtypes or shapes do not fit.

    Example:
      >>> tf.searchsorted([1, 3, 5], [0, 3, 6]).numpy()
      array([0, 1, 3], dtype=int32)
      >>> tf.searchsorted([1, 3, 5], [0, 3, 6], side="right").numpy()
      array([0, 2, 3], dtype=int32)
    """
    if side not in ("left", "right"):
        raise ValueError(
            f"Argument `side` must be either 'right' or 'left'. Received: `side` = {side!r}."
        )
    x, output = as_tensor(sorted_sequence), as_dtype(out_type)
    require(output in (dtypes.int32, dtypes.int64), BOUND, f"out_type={output!r} is not an int")
    requested = values if isinstance(values, Tensor) else as_tensor(values)
    return record(BOUND, (x, requested), right=side == "right", output=output.name)


class ApproxTopK(NamedTuple):
    """The largest or smallest elements and their indices; see `approx_max_k`."""

    values: Tensor
    indices: Tensor


def approx_max_k(
    operand: TensorLike,
    k: IntLike,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """Return the ``k`` largest elements along an axis. The result is exact: the recall is 1.

    Args:
      operand: A float tensor of at least one axis.
      k: The number of elements.
      reduction_dimension: The axis.
      recall_target: Not used.
      reduction_input_size_override: Not used.
      aggregate_to_topk: Not used.
      name: Not used.

    Returns:
      The values, largest first, to which gradients flow, and their indices, int32.

    Raises:
      InvalidArgumentError: If there are fewer than ``k``, or the dtype is no float.

    Example:
      >>> values, indices = tf.math.approx_max_k([[3.0, 1.0, 2.0]], 2)
      >>> values.numpy(), indices.numpy()
      (array([[3., 2.]], dtype=float32), array([[0, 2]], dtype=int32))
    """
    return _approx_top_k(operand, k, reduction_dimension, is_max=True)


def approx_min_k(
    operand: TensorLike,
    k: IntLike,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """Return the ``k`` smallest elements along an axis. The result is exact: the recall is 1.

    Args:
      operand: A float tensor of at least one axis.
      k: The number of elements.
      reduction_dimension: The axis.
      recall_target: Not used.
      reduction_input_size_override: Not used.
      aggregate_to_topk: Not used.
      name: Not used.

    Returns:
      The values, smallest first, to which gradients flow, and their indices, int32.

    Raises:
      InvalidArgumentError: If there are fewer than ``k``, or the dtype is no float.

    Example:
      >>> values, indices = tf.math.approx_min_k([[3.0, 1.0, 2.0]], 2)
      >>> values.numpy(), indices.numpy()
      (array([[1., 2.]], dtype=float32), array([[1, 2]], dtype=int32))
    """
    return _approx_top_k(operand, k, reduction_dimension, is_max=False)


def _approx_top_k(operand: TensorLike, k: IntLike, axis: int, is_max: bool) -> ApproxTopK:
    op, x = "ApproxTopK", as_tensor(operand)
    require(x.dtype.is_floating, op, f"operand must be a float tensor, got {x.dtype.name}")
    require(x.ndim > 0, op, "input must be >= 1-D, got shape []")
    swapped = list(range(x.ndim))
    at, count = to_axis(op, axis, x.ndim), int(k)
    swapped[at], swapped[-1] = swapped[-1], swapped[at]
    rows = movement.transpose_if_needed(x, tuple(swapped))
    size = rows.shape[-1]
    require(
        0 <= count <= size,
        op,
        f"input must have at least k columns. Had {size}, needed {count}",
    )
    indices = _sort_indices(rows, count, is_max, "int32")
    values = _along_last(rows, indices)
    return ApproxTopK(
        movement.transpose_if_needed(values, tuple(swapped)),
        movement.transpose_if_needed(indices, tuple(swapped)),
    )


# Isotonic regression.


class IsotonicRegression(NamedTuple):
    """The fitted values and the number of each value's segment; see `isotonic_regression`."""

    output: Tensor
    segments: Tensor


def _isotonic_spec(op: Op, x: Spec) -> Spec:
    rules.number(op, x)
    return intern(x.shape, dtypes.int32)


def _isotonic_segments(out: Array, x: Array) -> None:
    """Number the segments of the decreasing fit along the last axis.

    The pool adjacent violators algorithm: a new value joins the segments before it, as long as
    their mean is smaller than the new one.
    """
    n = x.shape[-1]
    if not x.size:
        return
    for values, numbers in zip(x.reshape(-1, n), out.reshape(-1, n), strict=True):
        means: list[float] = []
        sizes: list[int] = []
        for value in values.tolist():
            mean, size = float(value), 1
            while means and means[-1] < mean:
                previous, count = means.pop(), sizes.pop()
                mean, size = (previous * count + mean * size) / (count + size), size + count
            means.append(mean)
            sizes.append(size)
        numbers[...] = np.repeat(np.arange(len(sizes)), sizes)


ISOTONIC = defop(
    "IsotonicSegments",
    ARRAY,
    1,
    _isotonic_spec,
    compute=_isotonic_segments,
    gradient=STOP,
    on_host=True,
)


def isotonic_regression(
    inputs: TensorLike, decreasing: bool = True, axis: IntLike = -1, name: str | None = None
) -> IsotonicRegression:
    """Fit the nearest decreasing sequence, in the sense of least squares.

    Args:
      inputs: A tensor of floats; integers become float64, or float32 if they have two bytes.
      decreasing: Whether the result decreases; otherwise it increases.
      axis: The axis of the sequences.
      name: Not used.

    Returns:
      The fitted values and, for each, the number of its segment, int32. Within a segment the
      values are equal: the mean of the inputs, through which gradients flow.

    Raises:
      AxisError: If there is no such axis.

    Example:
      >>> fit, segments = tf.nn.isotonic_regression([3.0, 1.0, 2.0, 0.0])
      >>> fit.numpy(), segments.numpy()
      (array([3. , 1.5, 1.5, 0. ], dtype=float32), array([0, 1, 1, 2], dtype=int32))
    """
    from .segments import unsorted_segment_mean

    x = as_tensor(inputs)
    if not x.dtype.is_floating:  # float32 holds integers of two bytes exactly
        x = elementwise.cast(x, dtypes.float32 if x.dtype.size <= 2 else dtypes.float64)
    if not x.ndim:
        return IsotonicRegression(x, as_tensor(np.int32(0)))
    swapped = list(range(x.ndim))
    at = to_axis("IsotonicRegression", axis, x.ndim)
    swapped[at], swapped[-1] = swapped[-1], swapped[at]
    rows = movement.transpose_if_needed(x, tuple(swapped))
    n, size = rows.shape[-1], math.prod(rows.shape)
    segments = record(ISOTONIC, (rows if decreasing else -rows,))
    if size:
        starts = np.arange(size // n, dtype=np.int32).reshape(*rows.shape[:-1], 1) * np.int32(n)
        ids = movement.reshape(segments + starts, (-1,))
        means = unsorted_segment_mean(movement.reshape(rows, (-1,)), ids, size)
        rows = movement.reshape(record(GATHER, (means, ids), axis=0), rows.shape)
    return IsotonicRegression(
        movement.transpose_if_needed(rows, tuple(swapped)),
        movement.transpose_if_needed(segments, tuple(swapped)),
    )
