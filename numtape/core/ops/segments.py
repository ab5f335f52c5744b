"""Reductions over segments: slices with the same id are reduced to one result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidArgumentError
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Op, defop
from ..log.record import record, require
from ..values import dtypes
from ..values.composite import dispatches
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import arithmetic, comparison, elementwise, movement
from .define import document
from .indexing import GATHER, SCATTER_ADD
from .rules import every
from .slicing import strided_slice

if TYPE_CHECKING:
    from ..values.annotations import IntLike, TensorLike

Array = np.ndarray[Any, Any]


def _segment_spec(op: Op, x: Spec, ids: Spec, size: int, empty: float = 1) -> Spec:
    return intern((size, *x.shape[1:]), x.dtype)


def _make_compute(ufunc: np.ufunc) -> Any:
    def compute(out: Array, x: Array, ids: Array, size: int, empty: float = 1) -> None:
        out[...] = empty  # half floats are computed in float32, so `empty` is passed in
        has_id = ids >= 0
        ufunc.at(out, ids[has_id], x[has_id])

    return compute


def _take_by_id(x: Tensor, ids: Tensor) -> Tensor:
    """Gather the result of each id; any result for negative ids, which callers ignore."""
    return record(GATHER, (x, elementwise.maximum(ids, 0)), axis=0)


def _has_id(ids: Tensor, like: Tensor) -> Tensor:
    """Return whether ids are not negative, in a shape that broadcasts with ``like``."""
    return movement.reshape(ids >= 0, (*ids.shape, *[1] * (like.ndim - 1)))


def _extreme_vjp(g: Tensor, y: Tensor, x: Tensor, ids: Tensor, size: int, empty: float) -> Any:
    """Return the adjoint of ``x``, which the extreme elements share evenly, as for `reduce_max`."""
    is_extreme = comparison.logical_and(x == _take_by_id(y, ids), _has_id(ids, x))
    number = _sum(elementwise.cast(is_extreme, x.dtype), ids, size)
    share = elementwise.real_divide_no_nan(g, number)
    return elementwise.select(is_extreme, _take_by_id(share, ids), 0.0), None


def _prod_vjp(g: Tensor, y: Tensor, x: Tensor, ids: Tensor, size: int) -> Any:
    """Return the adjoint of ``x``: the product of the other elements of the segment."""
    zero = comparison.equal(x, 0.0)
    zeros = _take_by_id(_sum(elementwise.cast(zero, x.dtype), ids, size), ids)
    others = record(PROD, (elementwise.select(zero, 1.0, x), ids), size=size)
    rest = _take_by_id(others, ids)
    alone = elementwise.select(zero, rest, rest / elementwise.select(zero, 1.0, x))
    # No other element is 0, and the id is not negative.
    lone = comparison.equal(zeros, elementwise.cast(zero, x.dtype))
    lone = comparison.logical_and(lone, _has_id(ids, x))
    return elementwise.select(lone, _take_by_id(g, ids) * alone, 0.0), None


MAX: Op = defop(
    "UnsortedSegmentMax",
    ARRAY,
    2,
    _segment_spec,
    vjp=_extreme_vjp,
    on_host=True,
    compute=_make_compute(np.maximum),
)
MIN: Op = defop(
    "UnsortedSegmentMin",
    ARRAY,
    2,
    _segment_spec,
    vjp=_extreme_vjp,
    on_host=True,
    compute=_make_compute(np.minimum),
)
PROD: Op = defop(
    "UnsortedSegmentProd",
    ARRAY,
    2,
    _segment_spec,
    vjp=_prod_vjp,
    on_host=True,
    complex_vjp="analytic",
    compute=_make_compute(np.multiply),
)


def _sum(x: Tensor, ids: Tensor, size: int, signed: bool = True) -> Tensor:
    """Sum segments. Slices with a negative id are added to an extra segment, which is dropped."""
    if not signed:
        return record(SCATTER_ADD, (x, ids), axis=0, size=size)
    ids = elementwise.select(ids < 0, size, ids)
    result = record(SCATTER_ADD, (x, ids), axis=0, size=size + 1)
    return strided_slice(result, tuple((0, dim, 1) for dim in (size, *result.shape[1:])))


def _segment_max(x: Tensor, ids: Tensor, size: int) -> Tensor:
    """Return the maximum of each segment; the lowest finite number for an empty segment."""
    return record(MAX, (x, ids), size=size, empty=_to_number(x.dtype.min))


def _segment_min(x: Tensor, ids: Tensor, size: int) -> Tensor:
    """Return the minimum of each segment; the highest finite number for an empty segment."""
    return record(MIN, (x, ids), size=size, empty=_to_number(x.dtype.max))


def _to_number(limit: float | np.integer[Any] | np.floating[Any]) -> float:
    """Convert a limit of a dtype to a Python number, for use as an attribute."""
    number: float = limit.item() if hasattr(limit, "item") else limit
    return number


def _to_operands(data: TensorLike, segment_ids: TensorLike, op: str) -> tuple[Tensor, Tensor]:
    x, ids = as_tensor(data), as_tensor(segment_ids)
    if x.dtype.is_bool:
        raise InvalidArgumentError(f"{op} of a bool tensor: `cast` it first [Op:{op}]")
    if ids.dtype not in (dtypes.int32, dtypes.int64):
        raise InvalidArgumentError(
            f"segment_ids must be int32 or int64, got {ids.dtype.name} [Op:{op}]"
        )
    return x, ids


def _parse_sorted(
    data: TensorLike, segment_ids: TensorLike, op: str
) -> tuple[Tensor, Tensor, Array]:
    """Check operands with sorted ids; return them and the number of slices of each id."""
    x, ids = _to_operands(data, segment_ids, op)
    require(x.ndim > 0, op, "input must be at least rank 1")
    require(ids.ndim == 1, op, "segment_ids should be a vector.")
    require(
        ids.shape[0] == x.shape[0],
        op,
        "segment_ids should be the same size as dimension 0 of input.",
    )
    values = ids._array()
    require(bool((values >= 0).all()), op, "segment ids are not from 0 on")
    require(bool((np.diff(values) >= 0).all()), op, "segment ids are not increasing")
    return x, ids, np.bincount(values)


def _align_counts(count: Array, x: Tensor) -> Array:
    return count.reshape(-1, *[1] * (x.ndim - 1))


def _zero_empty(value: Tensor, count: Array) -> Tensor:
    """Replace the results of empty segments by 0."""
    if count.all():
        return value
    return elementwise.select(as_tensor(_align_counts(count > 0, value)), value, 0)


_IDS = """
    Args:
      data: A tensor of numbers, of at least one axis.
      segment_ids: The id of each slice along the first axis: int32 or int64, not negative, sorted.
        Their values are read at the call.
      name: Not used.

    Returns:
      A tensor of the dtype of ``data``, whose first size is the largest id plus 1.

    Raises:
      InvalidArgumentError: If ids are not sorted, negative or not integers, or their number is not
        that of the slices.
"""


@dispatches
@document(_IDS)
def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Sum the slices with the same id; 0 for an unused id.

    <arguments>

    Example:
      >>> tf.math.segment_sum([1.0, 2.0, 3.0], [0, 0, 2]).numpy()
      array([3., 0., 3.], dtype=float32)
    """
    x, ids, count = _parse_sorted(data, segment_ids, "SegmentSum")
    return _sum(x, ids, len(count), False)


@dispatches
@document(_IDS)
def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Average the slices with the same id; 0 for an unused id.

    Means of integers are rounded towards 0.

    <arguments>

    Example:
      >>> tf.math.segment_mean([1.0, 2.0, 3.0], [0, 0, 2]).numpy()
      array([1.5, 0. , 3. ], dtype=float32)
    """
    x, ids, count = _parse_sorted(data, segment_ids, "SegmentMean")
    total = _sum(x, ids, len(count), False)
    number = as_tensor(_align_counts(np.maximum(count, 1), x).astype(x.dtype.as_numpy_dtype))
    if not x.dtype.is_integer:
        return total / number
    return elementwise.sign(total) * (elementwise.abs_(total) // number)


@dispatches
@document(_IDS)
def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Take the maximum of the slices with the same id; 0 for an unused id.

    At a tie the gradient is shared evenly.

    <arguments>

    Example:
      >>> tf.math.segment_max([1.0, 2.0, 3.0], [0, 0, 2]).numpy()
      array([2., 0., 3.], dtype=float32)
    """
    x, ids, count = _parse_sorted(data, segment_ids, "SegmentMax")
    return _zero_empty(_segment_max(x, ids, len(count)), count)


@dispatches
@document(_IDS)
def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Take the minimum of the slices with the same id; 0 for an unused id.

    At a tie the gradient is shared evenly.

    <arguments>

    Example:
      >>> tf.math.segment_min([1.0, 2.0, 3.0], [0, 0, 2]).numpy()
      array([1., 0., 3.], dtype=float32)
    """
    x, ids, count = _parse_sorted(data, segment_ids, "SegmentMin")
    return _zero_empty(_segment_min(x, ids, len(count)), count)


@dispatches
@document(_IDS)
def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Multiply the slices with the same id; 1 for an unused id.

    <arguments>

    Example:
      >>> tf.math.segment_prod([1.0, 2.0, 3.0], [0, 0, 2]).numpy()
      array([2., 1., 3.], dtype=float32)
    """
    x, ids, count = _parse_sorted(data, segment_ids, "SegmentProd")
    return record(PROD, (x, ids), size=len(count))


_UNSORTED = """
    Args:
      data: A tensor of numbers.
      segment_ids: Ids, int32 or int64, in any order. Their shape is a prefix of the shape of
        ``data``. Elements with a negative id are ignored.
      num_segments: The number of segments.
      name: Not used.

    Returns:
      A tensor of the dtype of ``data``, whose first size is ``num_segments``.

    Raises:
      InvalidArgumentError: If an id is not an integer or too large, or the shapes do not fit.
"""


def _parse_unsorted(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, op: str
) -> tuple[Tensor, Tensor, int]:
    """Check operands; return them with a vector of ids, and the number of segments."""
    x, ids = _to_operands(data, segment_ids, op)
    try:
        size = movement.to_ints(num_segments)
    except TypeError:
        size = None
    require(type(size) is int, op, f"num_segments must be an integer, got {num_segments!r}")
    require(size >= 0, op, f"Input num_segments == {size} must not be negative.")
    lead = ids.ndim
    require(
        tuple(x.shape[:lead]) == tuple(ids.shape),
        op,
        f"data.shape = {x.shape.as_list()} does not start with segment_ids.shape = "
        f"{ids.shape.as_list()}",
    )
    if not every(
        ids,
        lambda values: values < size,
        lambda rows: rows < size,
        f"segment_ids are out of range [0, {size}) [Op:{op}]",
    ):
        bad = np.argwhere(ids._array() >= size)[0].tolist()
        value = ids._array()[tuple(bad)]
        raise InvalidArgumentError(
            f"segment_ids{bad} = {value} is out of range [0, {size}) [Op:{op}]"
        )
    if lead == 1:
        return x, ids, size
    count = math.prod(ids.shape)
    flat = movement.reshape(x, (count, *x.shape[lead:]))
    return flat, movement.reshape(ids, (count,)), size


@dispatches
@document(_UNSORTED)
def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None
) -> Tensor:
    """Sum the slices with the same id; 0 for an empty segment.

    <arguments>

    Example:
      >>> tf.math.unsorted_segment_sum([1.0, 2.0, 3.0], [2, 0, 2], 3).numpy()
      array([2., 0., 4.], dtype=float32)
    """
    return _sum(*_parse_unsorted(data, segment_ids, num_segments, "UnsortedSegmentSum"))


@dispatches
@document(_UNSORTED)
def unsorted_segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None
) -> Tensor:
    """Take the maximum of the slices with the same id; the lowest number for an empty segment.

    At a tie the gradient is shared evenly.

    <arguments>

    Example:
      >>> tf.math.unsorted_segment_max([1.0, 2.0, 3.0], [1, 0, 1], 2).numpy()
      array([2., 3.], dtype=float32)
    """
    x, ids, size = _parse_unsorted(data, segment_ids, num_segments, "UnsortedSegmentMax")
    return _segment_max(x, ids, size)


@dispatches
@document(_UNSORTED)
def unsorted_segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None
) -> Tensor:
    """Take the minimum of the slices with the same id; the highest number for an empty segment.

    At a tie the gradient is shared evenly.

    <arguments>

    Example:
      >>> tf.math.unsorted_segment_min([1.0, 2.0, 3.0], [1, 0, 1], 2).numpy()
      array([2., 1.], dtype=float32)
    """
    x, ids, size = _parse_unsorted(data, segment_ids, num_segments, "UnsortedSegmentMin")
    return _segment_min(x, ids, size)


@dispatches
@document(_UNSORTED)
def unsorted_segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None
) -> Tensor:
    """Multiply the slices with the same id; 1 for an empty segment.

    <arguments>

    Example:
      >>> tf.math.unsorted_segment_prod([4.0, 2.0, 3.0], [1, 0, 1], 3).numpy()
      array([ 2., 12.,  1.], dtype=float32)
    """
    x, ids, size = _parse_unsorted(data, segment_ids, num_segments, "UnsortedSegmentProd")
    return record(PROD, (x, ids), size=size)


def _sums_and_counts(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, op: str
) -> tuple[Tensor, Tensor]:
    """Return the sum of each segment, and its number of slices, at least 1."""
    x, ids, size = _parse_unsorted(data, segment_ids, num_segments, op)
    ones = as_tensor(np.ones(ids.shape, x.dtype.as_numpy_dtype))
    number = elementwise.maximum(_sum(ones, ids, size), 1)
    total = _sum(x, ids, size)
    return total, movement.reshape(number, (size, *[1] * (x.ndim - 1)))


@dispatches
@document(_UNSORTED)
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None
) -> Tensor:
    """Average the slices with the same id; 0 for an empty segment.

    Means of integers are floats.

    <arguments>

    Example:
      >>> tf.math.unsorted_segment_mean([1.0, 2.0, 3.0], [1, 0, 1], 2).numpy()
      array([2., 2.], dtype=float32)
    """
    return arithmetic.divide(
        *_sums_and_counts(data, segment_ids, num_segments, "UnsortedSegmentMean")
    )


@dispatches
@document(_UNSORTED)
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None
) -> Tensor:
    """Sum the slices with the same id and divide by the square root of their number.

    <arguments>

    Example:
      >>> tf.math.unsorted_segment_sqrt_n([2.0, 2.0, 3.0, 4.0, 5.0], [1, 1, 1, 1, 0], 2).numpy()
      array([5. , 5.5], dtype=float32)
    """
    total, number = _sums_and_counts(data, segment_ids, num_segments, "UnsortedSegmentSqrtN")
    return total / elementwise.sqrt(number)
