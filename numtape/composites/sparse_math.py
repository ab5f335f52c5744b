"""Functions of ``tf.sparse`` that compute: products, sums, reductions, softmax, counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.log.record import record
from ..core.ops import (
    arithmetic,
    complex as complex_ops,
    creation,
    elementwise as ew,
    matrix_products,
    movement,
    reduction,
    segments,
    special,
)
from ..core.ops.indexing import gather
from ..core.ops.sparse_products import SPARSE_MATMUL
from ..core.values import dtypes
from ..core.values.composite import Composite
from ..core.values.tensor import Tensor
from ..errors import CompositeError, InvalidArgumentError
from .base import Array, as_values, join_rows, read_array, take_rows, to_index_tensor
from .dispatch import handles, register
from .sparse_arrangement import flatten_index, index_of, order_of, parse
from .sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from ..core.values.annotations import AxisLike, DTypeLike, IntLike, NumberLike, TensorLike

Function = Callable[..., Any]


def sparse_dense_matmul(
    sp_a: SparseTensor | TensorLike,
    b: SparseTensor | TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiply a sparse matrix by a dense one, or a dense one by a sparse one.

    The gradient by the sparse matrix is that by its values: no dense matrix of its shape is made.

    Args:
      sp_a: A matrix.
      b: Another of the same dtype. One of them is sparse.
      adjoint_a: Whether to transpose ``sp_a`` and conjugate its complex elements first.
      adjoint_b: Whether to transpose ``b`` and conjugate its complex elements first.
      name: Not used.

    Returns:
      A dense matrix.

    Raises:
      TypeError: If neither matrix is sparse, or both are.
      InvalidArgumentError: If the sizes or dtypes do not fit, or an index is out of bounds.

    Example:
      >>> a = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])
      >>> tf.sparse.sparse_dense_matmul(a, [[1.0], [2.0], [3.0]]).numpy().tolist()
      [[1.0], [6.0]]
    """
    if not isinstance(sp_a, SparseTensor) and isinstance(b, SparseTensor):
        product = sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a)
        return _adjoint(product)
    a = parse(sp_a)
    if isinstance(b, Composite):
        raise TypeError("sparse_dense_matmul takes one sparse and one dense matrix.")
    dense = creation.convert_to_tensor(b, dtype_hint=a.dtype)
    for x in (a, dense):
        if len(x.shape) != 2:
            raise InvalidArgumentError(
                f"Tensor must be a matrix, got the shape {tuple(x.shape)} "
                f"[Op:SparseTensorDenseMatMul]"
            )
    if dense.dtype is not a.dtype:
        raise InvalidArgumentError(
            f"cannot compute SparseTensorDenseMatMul: {a.dtype.name} and {dense.dtype.name} differ"
        )
    values = a._values
    if a.dtype.is_complex:
        values = complex_ops.conj(values) if adjoint_a else values
        dense = complex_ops.conj(dense) if adjoint_b else dense
    if adjoint_b:
        dense = movement.transpose(dense)
    height, width = a._sizes[::-1] if adjoint_a else a._sizes
    if dense.shape[0] != width:
        raise InvalidArgumentError(
            f"Cannot multiply A and B because inner dimension does not match: {width} vs. "
            f"{dense.shape[0]} [Op:SparseTensorDenseMatMul]"
        )
    index = index_of(a)
    if ((index < 0) | (index >= np.array(a._sizes))).any():
        raise InvalidArgumentError(
            f"An index is out of bounds of the shape {a._sizes} [Op:SparseTensorDenseMatMul]"
        )
    operands = values, a._indices, dense
    return record(SPARSE_MATMUL, operands, adjoint=bool(adjoint_a), size=int(height))


def _adjoint(x: Tensor) -> Tensor:
    return movement.transpose(complex_ops.conj(x) if x.dtype.is_complex else x)


# Reductions.


def _reduced_axes(x: SparseTensor, axis: AxisLike) -> list[int]:
    rank = len(x._sizes)
    if axis is None:
        return [*np.arange(rank).tolist()]
    axes = [int(k) for k in np.ravel(read_array(axis))]
    for k in axes:
        if not -rank <= k < rank:
            raise InvalidArgumentError(
                f"Invalid reduction dimension {k}, for input with {rank} dimension(s)"
            )
    return sorted({k % rank for k in axes})


def _reduce(
    sp_input: SparseTensor,
    axis: AxisLike,
    keepdims: bool | None,
    is_sparse: bool,
    function: Function,
) -> Any:
    x = parse(sp_input)
    axes = _reduced_axes(x, axis)
    remaining = [k for k in np.arange(len(x._sizes)).tolist() if k not in axes]
    index = index_of(x)
    outer = tuple(x._sizes[k] for k in remaining)
    shape = (
        tuple(1 if k in axes else size for k, size in enumerate(x._sizes)) if keepdims else outer
    )
    flat = flatten_index(index[:, remaining], outer)
    if is_sparse:
        unique, inverse = np.unique(flat, return_inverse=True)
        ids = to_index_tensor(inverse.ravel(), dtypes.int64)
        values = function(x._values, ids, len(unique))
        columns = np.zeros((len(unique), len(shape)), np.int64)
        numbers = np.unravel_index(unique, outer) if outer else ()
        places = remaining if keepdims else [*np.arange(len(outer)).tolist()]
        for place, column in zip(places, numbers, strict=True):
            columns[:, place] = column
        return SparseTensor._make(columns, values, shape)
    size = math.prod(outer)
    result = function(x._values, to_index_tensor(flat, dtypes.int64), size)
    if function is not segments.unsorted_segment_sum:
        has_values = np.bincount(flat, minlength=size) > 0
        if not has_values.all():
            zero = creation.zeros((), x.dtype)
            result = ew.select(creation.constant(has_values), result, zero)
    return movement.reshape(result, shape)


def reduce_sum(
    sp_input: SparseTensor,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Sum the elements of a sparse tensor along axes.

    Args:
      sp_input: A sparse tensor.
      axis: One or several axes; None for all of them.
      keepdims: Whether to keep the axes, with size 1.
      output_is_sparse: Whether the result is sparse.
      name: Not used.

    Returns:
      A dense tensor, or a `tf.SparseTensor`.

    Raises:
      TypeError: If ``sp_input`` is not sparse.
      InvalidArgumentError: If there is no such axis.

    Example:
      >>> x = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [1.0, 1.0, 1.0], [2, 3])
      >>> tf.sparse.reduce_sum(x, axis=1).numpy()
      array([2., 1.], dtype=float32)
    """
    return _reduce(sp_input, axis, keepdims, output_is_sparse, segments.unsorted_segment_sum)


def reduce_max(
    sp_input: SparseTensor,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Take the maximum of the stored elements along axes; 0 where there are none.

    Args:
      sp_input: A sparse tensor.
      axis: One or several axes; None for all of them.
      keepdims: Whether to keep the axes, with size 1.
      output_is_sparse: Whether the result is sparse.
      name: Not used.

    Returns:
      A dense tensor, or a `tf.SparseTensor`.

    Raises:
      TypeError: If ``sp_input`` is not sparse.
      InvalidArgumentError: If there is no such axis.

    Example:
      >>> x = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [1.0, 4.0, -3.0], [3, 3])
      >>> tf.sparse.reduce_max(x, axis=1).numpy()
      array([ 4., -3.,  0.], dtype=float32)
    """
    return _reduce(sp_input, axis, keepdims, output_is_sparse, segments.unsorted_segment_max)


def softmax(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Take the softmax of the stored elements of each row along the last axis.

    Args:
      sp_input: A sparse tensor of floats, of at least two axes, with its indices in order.
      name: Not used.

    Returns:
      A `tf.SparseTensor` of the same indices.

    Raises:
      TypeError: If ``sp_input`` is not sparse.
      InvalidArgumentError: If it has less than two axes.

    Example:
      >>> x = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [1.0, 1.0, 7.0], [2, 3])
      >>> tf.sparse.softmax(x).values.numpy()
      array([0.5, 0.5, 1. ], dtype=float32)
    """
    x = parse(sp_input)
    if len(x._sizes) < 2:
        raise InvalidArgumentError("Input should have rank >= 2 [Op:SparseSoftmax]")
    flat = flatten_index(index_of(x)[:, :-1], x._sizes[:-1])
    unique, inverse = np.unique(flat, return_inverse=True)
    ids = to_index_tensor(inverse.ravel(), dtypes.int64)
    peak = gather(segments.unsorted_segment_max(x._values, ids, len(unique)), ids)
    powers = ew.exp(x._values - ew.stop_gradient(peak))
    total = segments.unsorted_segment_sum(powers, ids, len(unique))
    return x.with_values(powers / gather(total, ids))


# Sums and extremes of two sparse tensors.


def _union(a: SparseTensor, b: SparseTensor, op: str) -> tuple[Array, Tensor, Tensor, int]:
    """Return the union of indices, and the place of each element of both in it."""
    if len(a._sizes) != len(b._sizes):
        raise InvalidArgumentError(f"Operands do not have the same ranks [Op:{op}]")
    if a._sizes != b._sizes:
        raise InvalidArgumentError(
            f"Operands' shapes do not match: got {list(a._sizes)} and {list(b._sizes)} [Op:{op}]"
        )
    if a.dtype is not b.dtype:
        raise InvalidArgumentError(f"The dtypes {a.dtype.name} and {b.dtype.name} differ [Op:{op}]")
    joined = np.concatenate([index_of(a), index_of(b)])
    if not len(joined):
        empty = to_index_tensor(np.zeros(0), dtypes.int64)
        return joined, empty, empty, 0
    order = order_of(joined)
    ordered = joined[order]
    is_new = np.ones(len(ordered), bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    places = np.empty(len(ordered), np.int64)
    places[order] = np.cumsum(is_new) - 1
    count = len(index_of(a))
    return (
        ordered[is_new],
        to_index_tensor(places[:count], dtypes.int64),
        to_index_tensor(places[count:], dtypes.int64),
        int(is_new.sum()),
    )


def add(
    a: SparseTensor | TensorLike, b: SparseTensor | TensorLike, threshold: NumberLike = 0
) -> Any:
    """Add two tensors of which at least one is sparse.

    Args:
      a: A tensor.
      b: Another of the same shape and dtype.
      threshold: Sums of two sparse tensors whose magnitude is smaller are dropped.

    Returns:
      A `tf.SparseTensor` if both are sparse, else a dense tensor.

    Raises:
      TypeError: If neither is sparse.
      InvalidArgumentError: If the shapes or dtypes differ.

    Example:
      >>> x = tf.SparseTensor([[0, 1]], [5.0], [2, 2])
      >>> tf.sparse.add(x, tf.sparse.eye(2)).values.numpy()
      array([1., 5., 1.], dtype=float32)
      >>> tf.sparse.add(x, tf.ones((2, 2))).numpy().tolist()
      [[1.0, 6.0], [1.0, 1.0]]
    """
    if not isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        index, a_ids, b_ids, count = _union(a, b, "SparseAdd")
        parts = join_rows([a._values, b._values])
        ids = join_rows([a_ids, b_ids])
        values = segments.unsorted_segment_sum(parts, ids, count)
        limit = read_array(threshold)
        if (limit > 0).any():  # elements of one operand alone stay
            is_single = np.bincount(read_array(ids), minlength=count) == 1
            rows = np.flatnonzero(is_single | (np.abs(read_array(values)) >= limit))
            index, values = index[rows], take_rows(values, rows)
        return SparseTensor._make(index, values, a._sizes)
    operands: tuple[Any, Any] = (a, b) if isinstance(a, SparseTensor) else (b, a)
    sparse, dense = operands
    tensor = creation.convert_to_tensor(dense, dtype_hint=sparse.dtype)
    if tuple(tensor.shape) != sparse._sizes:
        raise InvalidArgumentError(
            f"The shapes {sparse._sizes} and {tuple(tensor.shape)} differ [Op:SparseTensorDenseAdd]"
        )
    flat = to_index_tensor(flatten_index(index_of(sparse), sparse._sizes), dtypes.int64)
    total = segments.unsorted_segment_sum(sparse._values, flat, math.prod(sparse._sizes))
    return movement.reshape(total, sparse._sizes) + tensor


def _extreme(sp_a: SparseTensor, sp_b: SparseTensor, function: Function, op: str) -> SparseTensor:
    a, b = parse(sp_a), parse(sp_b)
    index, a_ids, b_ids, count = _union(a, b, op)
    spread = segments.unsorted_segment_sum
    values = function(spread(a._values, a_ids, count), spread(b._values, b_ids, count))
    return SparseTensor._make(index, values, a._sizes)


def maximum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """Take the larger of two sparse tensors, elementwise; elements that are not stored are 0.

    Args:
      sp_a: A sparse tensor.
      sp_b: Another of the same shape and dtype.
      name: Not used.

    Returns:
      A `tf.SparseTensor` of all indices of both.

    Raises:
      TypeError: If an operand is not sparse.
      InvalidArgumentError: If the shapes or dtypes differ.

    Example:
      >>> a, b = (tf.SparseTensor([[k]], [x], [3]) for k, x in ((0, -1.0), (1, 2.0)))
      >>> tf.sparse.maximum(a, b).values.numpy()
      array([0., 2.], dtype=float32)
    """
    return _extreme(sp_a, sp_b, ew.maximum, "SparseSparseMaximum")


def minimum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """Take the smaller of two sparse tensors, elementwise; elements that are not stored are 0.

    Args:
      sp_a: A sparse tensor.
      sp_b: Another of the same shape and dtype.
      name: Not used.

    Returns:
      A `tf.SparseTensor` of all indices of both.

    Raises:
      TypeError: If an operand is not sparse.
      InvalidArgumentError: If the shapes or dtypes differ.

    Example:
      >>> a, b = (tf.SparseTensor([[k]], [x], [3]) for k, x in ((0, -1.0), (1, 2.0)))
      >>> tf.sparse.minimum(a, b).values.numpy()
      array([-1.,  0.], dtype=float32)
    """
    return _extreme(sp_a, sp_b, ew.minimum, "SparseSparseMinimum")


# Segments.

_SEGMENTS = """
    Args:
      data: A tensor of at least one axis.
      indices: A vector of integers: the slices of ``data`` to take.
      segment_ids: The segment of each slice, sorted.
      num_segments: The number of segments; None for the last one plus 1.
      name: Not used.
      sparse_gradient: Not used.

    Returns:
      A tensor of shape (num_segments,) + data.shape[1:].

    Raises:
      InvalidArgumentError: If ids are not sorted or too large, or an index is out of range.
"""


def _segments(
    data: TensorLike, indices: TensorLike, segment_ids: TensorLike, num_segments: Any, op: str
) -> tuple[Tensor, Tensor, int, Array]:
    x = as_values(data)
    rows = gather(x, creation.convert_to_tensor(indices))
    ids = read_array(segment_ids).astype(np.int64)
    if ids.ndim != 1 or len(ids) != rows.shape[0]:
        raise InvalidArgumentError(f"segment_ids and indices should have same size. [Op:{op}]")
    if (np.diff(ids) < 0).any() or (ids < 0).any():
        raise InvalidArgumentError(f"segment ids are not increasing [Op:{op}]")
    count = int(ids[-1]) + 1 if len(ids) else 0
    if num_segments is not None:
        size = int(read_array(num_segments))
        if size < count:
            raise InvalidArgumentError(f"segment ids must be < num_segments [Op:{op}]")
        count = size
    return rows, to_index_tensor(ids, dtypes.int64), count, np.bincount(ids, minlength=count)


def segment_sum(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: IntLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Sum slices of a tensor by segment; 0 for an empty segment.

    <arguments>

    Example:
      >>> tf.sparse.segment_sum([[1.0], [2.0], [4.0]], [0, 2, 1], [0, 0, 1]).numpy().tolist()
      [[5.0], [2.0]]
    """
    rows, ids, count, _ = _segments(data, indices, segment_ids, num_segments, "SparseSegmentSum")
    return segments.unsorted_segment_sum(rows, ids, count)


def _divide_segments(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any, op: str, by_root: bool
) -> Tensor:
    rows, ids, count, lengths = _segments(data, indices, segment_ids, num_segments, op)
    divisor = np.maximum(lengths, 1).astype(np.float64)
    divisor = np.sqrt(divisor) if by_root else divisor
    column = divisor.reshape(-1, *[1] * (len(rows.shape) - 1)).astype(rows.dtype.numpy_dtype)
    total = segments.unsorted_segment_sum(rows, ids, count)
    return total / creation.constant(column)


def segment_mean(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: IntLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Take the mean of slices of a tensor by segment; 0 for an empty segment.

    <arguments>

    Example:
      >>> tf.sparse.segment_mean([[1.0], [2.0], [4.0]], [0, 2, 1], [0, 0, 1]).numpy().tolist()
      [[2.5], [2.0]]
    """
    return _divide_segments(data, indices, segment_ids, num_segments, "SparseSegmentMean", False)


def segment_sqrt_n(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: IntLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Sum slices of a tensor by segment, and divide by the square root of their number.

    <arguments>

    Example:
      >>> tf.sparse.segment_sqrt_n([[1.0], [3.0]], [0, 1, 1, 1], [0, 0, 0, 0]).numpy().tolist()
      [[5.0]]
    """
    return _divide_segments(data, indices, segment_ids, num_segments, "SparseSegmentSqrtN", True)


for _segment_function in (segment_sum, segment_mean, segment_sqrt_n):
    from ..core.ops.define import document as _document

    _document(_SEGMENTS)(_segment_function)


def bincount(
    values: Any,
    weights: Any = None,
    axis: int | None = 0,
    minlength: IntLike | None = None,
    maxlength: IntLike | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Count the values of a tensor of integers, as a sparse tensor of counts.

    Args:
      values: Integers that are not negative: a dense, sparse or ragged tensor.
      weights: A weight for each value, in the same form; None for 1.
      axis: 0 to count all values; -1 for counts of each row of a matrix.
      minlength: The least size of the last axis.
      maxlength: Values from here on are not counted.
      binary_output: Whether counts are 1 for any value that occurs.
      name: Not used.

    Returns:
      A `tf.SparseTensor` of int64, or of the dtype of the weights.

    Raises:
      ValueError: If ``axis`` is another one.
      InvalidArgumentError: If a value is negative, or the weights do not fit.

    Example:
      >>> x = tf.sparse.bincount([[0, 1, 1], [2, 2, 0]], axis=-1)
      >>> x.indices.numpy().tolist(), x.values.numpy()
      ([[0, 0], [0, 1], [1, 0], [1, 2]], array([1, 2, 1, 2]))
    """
    from .ragged_tensor import RaggedTensor

    if axis not in (0, -1, None):
        raise ValueError(
            f"Unsupported value for argument axis={axis}. Only 0 and -1 are supported."
        )
    x = as_values(values)
    by_row = axis == -1 and len(x.shape) > 1
    flat: Any
    if isinstance(x, SparseTensor):
        flat, row, count = x._values, index_of(x)[:, 0], x._sizes[0]
    elif isinstance(x, RaggedTensor):
        flat, row, count = x.flat_values, read_array(x.value_rowids()), x.shape[0]
    else:
        flat = movement.reshape(x, (-1,))
        count = x.shape[0] if len(x.shape) else 1
        row = np.repeat(np.arange(count), len(read_array(flat)) // max(count, 1))
    numbers = read_array(flat).astype(np.int64)
    if (numbers < 0).any():
        raise InvalidArgumentError("Input values must all be non-negative [Op:Bincount]")
    weight_values: Any = None
    if weights is not None:
        if binary_output:
            raise InvalidArgumentError("Binary output with weights is not supported [Op:Bincount]")
        w = as_values(weights)
        for kind, name in ((SparseTensor, "SparseTensor"), (RaggedTensor, "RaggedTensor")):
            if isinstance(x, kind) and not isinstance(w, kind):
                raise ValueError(f"Argument `weights` must be a {name} if `values` is one.")
        if not isinstance(x, SparseTensor | RaggedTensor) and isinstance(
            w, SparseTensor | RaggedTensor
        ):
            raise ValueError("Argument `weights` must be a tf.Tensor if `values` is one.")
        if isinstance(w, RaggedTensor) and not np.array_equal(
            read_array(w.row_splits), read_array(x.row_splits)
        ):
            raise InvalidArgumentError("weights and values must have the same row splits")
        if isinstance(w, SparseTensor):
            weight_values = w._values
        elif isinstance(w, RaggedTensor):
            weight_values = w.flat_values
        else:
            weight_values = movement.reshape(w, (-1,))
        if weight_values.shape[0] != len(numbers):
            raise InvalidArgumentError(
                "Argument `weights` must have the form of the values [Op:Bincount]"
            )
    rows = np.arange(len(numbers))
    size = int(numbers.max()) + 1 if len(numbers) else 0
    if maxlength is not None:
        size = min(size, int(read_array(maxlength)))
        rows = np.flatnonzero(numbers < size)
        numbers, row = numbers[rows], row[rows]
    if minlength is not None:
        size = max(size, int(read_array(minlength)))
    shape = (int(count), size) if by_row else (size,)
    keys = row * max(size, 1) + numbers if by_row else numbers
    unique, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    index = (
        np.stack(np.unravel_index(unique, shape), 1) if len(unique) else np.zeros((0, len(shape)))
    )
    result: Any
    if weight_values is not None:
        ids = to_index_tensor(inverse.ravel(), dtypes.int64)
        taken = take_rows(weight_values, rows)
        result = segments.unsorted_segment_sum(taken, ids, len(unique))
    else:
        result = creation.constant(
            np.ones_like(counts) if binary_output else counts.astype(np.int64)
        )
    return SparseTensor._make(index, result, shape)


def sampled_addmm(
    indices: TensorLike,
    values: TensorLike,
    dense_shape: TensorLike,
    mat1: TensorLike,
    mat2: TensorLike,
    beta: NumberLike = 1.0,
    alpha: NumberLike = 1.0,
    output_type: DTypeLike = dtypes.float32,
) -> tuple[Any, Tensor, Any]:
    """Compute ``alpha * (mat1 @ mat2) + beta * values`` at the indices of a sparse tensor.

    Args:
      indices: The indices of the elements.
      values: The elements.
      dense_shape: The shape of the product.
      mat1: A dense matrix, or a batch of them.
      mat2: Another.
      beta: The factor of the values.
      alpha: The factor of the product.
      output_type: The dtype of the values.

    Returns:
      The indices, the new values and the shape.

    Raises:
      InvalidArgumentError: If the sizes do not fit.

    Example:
      >>> a = tf.ones((2, 3))
      >>> tf.sparse.sampled_addmm([[0, 1]], [5.0], [2, 2], a, tf.transpose(a))[1].numpy()
      array([8.], dtype=float32)
    """
    x, y = (creation.convert_to_tensor(m, dtype_hint=output_type) for m in (mat1, mat2))
    index = read_array(indices).astype(np.int64)
    lead, row, column = index[:, :-2], index[:, -2], index[:, -1]
    height, width = x.shape[-2], y.shape[-1]
    if x.shape[-1] != y.shape[-2]:
        raise InvalidArgumentError("The inner sizes of the matrices differ [Op:SampledADDMM]")
    inner = x.shape[-1]
    batch = flatten_index(lead, x.shape[:-2]) if lead.shape[1] else np.zeros(len(index), np.int64)
    left = take_rows(movement.reshape(x, (-1, inner)), batch * height + row)
    flipped = movement.reshape(matrix_transpose(y), (-1, inner))
    right = take_rows(flipped, batch * width + column)
    product = reduction.reduce_sum(left * right, -1)
    old = creation.convert_to_tensor(values, dtype_hint=output_type)
    return as_values(indices), product * alpha + old * beta, as_values(dense_shape)


def matrix_transpose(x: Tensor) -> Tensor:
    """Swap the last two axes."""
    rank = len(x.shape)
    return movement.transpose(x, [*np.arange(rank - 2).tolist(), rank - 1, rank - 2])


# Operators and functions of sparse tensors.


def _broadcast_dense(x: SparseTensor, dense: Any) -> Tensor:
    """Return the elements of a dense tensor at the indices of a sparse one."""
    tensor = creation.convert_to_tensor(dense, dtype_hint=x.dtype)
    shape, rank = tuple(tensor.shape), len(x._sizes)
    lead = rank - len(shape)
    fits = lead >= 0 and all(
        size in (1, full) for size, full in zip(shape, x._sizes[lead:], strict=True)
    )
    if not fits:
        raise InvalidArgumentError(
            f"SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
            f"[{x._sizes}] vs. [{shape}]"
        )
    index = index_of(x)[:, lead:] * (np.array(shape, np.int64) != 1)
    result: Tensor = take_rows(movement.reshape(tensor, (-1,)), flatten_index(index, shape))
    return result


def _combine(function: Function, x: Any, y: Any) -> SparseTensor:
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        raise TypeError(
            "The elementwise product of two SparseTensors is not supported: use "
            "`tf.sparse.to_dense` for one of them."
        )
    if isinstance(y, SparseTensor):
        if function is not ew.multiply:
            raise TypeError(
                "A dense tensor is not divided by a SparseTensor, whose other elements are 0."
            )
        return y.with_values(function(_broadcast_dense(y, x), y._values))
    return x.with_values(function(x._values, _broadcast_dense(x, y)))  # type: ignore[no-any-return]


@handles(SparseTensor, ew.multiply)
def _multiply(x: Any, y: Any, name: str | None = None) -> SparseTensor:
    return _combine(ew.multiply, x, y)


@handles(SparseTensor, arithmetic.divide, arithmetic.realdiv, ew.real_divide)
def _divide(x: Any, y: Any, name: str | None = None) -> SparseTensor:
    return _combine(arithmetic.divide, x, y)


@handles(SparseTensor, arithmetic.scalar_mul)
def _scale(scalar: Any, x: Any, name: str | None = None) -> SparseTensor:
    return _combine(ew.multiply, scalar, x)


@handles(SparseTensor, ew.add)
def _add(x: Any, y: Any, name: str | None = None) -> Any:
    return add(x, y)


@handles(SparseTensor, ew.cast, arithmetic.saturate_cast)
def _cast(x: Any, dtype: DTypeLike, name: str | None = None) -> SparseTensor:
    return x.with_values(ew.cast(x._values, dtype))  # type: ignore[no-any-return]


@handles(SparseTensor, matrix_products.matmul)
def _matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    *_: Any,
    **__: Any,
) -> Tensor:
    return sparse_dense_matmul(a, b, transpose_a or adjoint_a, transpose_b or adjoint_b)


@handles(SparseTensor, matrix_products.PRODUCT)
def _product(a: Any, b: Any) -> Tensor:
    return sparse_dense_matmul(a, b)


@handles(SparseTensor, creation.zeros_like)
def _zeros_like(input: Any, dtype: DTypeLike | None = None, *_: Any, **__: Any) -> Tensor:
    return creation.zeros(input._sizes, dtype or input.dtype)


@handles(SparseTensor, creation.ones_like)
def _ones_like(input: Any, dtype: DTypeLike | None = None, *_: Any, **__: Any) -> Tensor:
    return creation.ones(input._sizes, dtype or input.dtype)


@handles(SparseTensor, creation.size)
def _size(input: Any, out_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    return creation.constant(math.prod(input._sizes), out_type)


@handles(SparseTensor, creation.shape)
def _shape(input: Any, out_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    return creation.constant(input._sizes, out_type)


@handles(SparseTensor, creation.rank)
def _rank(input: Any, name: str | None = None) -> Tensor:
    return creation.constant(len(input._sizes))


@handles(SparseTensor, creation.convert_to_tensor, creation.constant)
def _convert(value: Any, dtype: DTypeLike | None = None, *_: Any, **__: Any) -> Any:
    raise CompositeError(
        "A SparseTensor is not converted to a dense tensor implicitly: use `tf.sparse.to_dense(x)`."
    )


# Functions that keep 0, of one operand.
_KEEP_ZERO: tuple[Function, ...] = (
    ew.abs_,
    ew.negative,
    ew.asin,
    ew.asinh,
    ew.atan,
    ew.atanh,
    ew.sign,
    ew.sin,
    ew.sinh,
    ew.sqrt,
    ew.square,
    ew.tan,
    ew.tanh,
    ew.erf,
    special.bessel_i0e,
    special.bessel_i1e,
    movement.identity,
    ew.stop_gradient,
)


def _register_unary(function: Function) -> None:
    def handler(x: Any, name: str | None = None) -> SparseTensor:
        return x.with_values(function(x._values))  # type: ignore[no-any-return]

    register(SparseTensor, function, handler)


for _function in _KEEP_ZERO:
    _register_unary(_function)


def _set_operators() -> None:
    operators: dict[str, Function] = {
        "__mul__": lambda x, y: _combine(ew.multiply, x, y),
        "__rmul__": lambda x, y: _combine(ew.multiply, y, x),
        "__truediv__": lambda x, y: _combine(arithmetic.divide, x, y),
        "__matmul__": sparse_dense_matmul,
        "__rmatmul__": lambda x, y: sparse_dense_matmul(y, x),
        "__neg__": lambda x: x.with_values(-x._values),
        "__abs__": lambda x: x.with_values(ew.abs_(x._values)),
    }
    for name, function in operators.items():
        setattr(SparseTensor, name, function)


_set_operators()
