"""Functions of ``tf.sparse`` that convert, reorder, cut and join sparse tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.log.record import record
from ..core.ops import creation, joining, movement
from ..core.ops.indexing import SCATTER_ADD
from ..core.values import dtypes
from ..core.values.indexed_slices import IndexedSlices
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from .base import Array, as_values, join_rows, read_array, reorder_rows, take_rows, to_index_tensor
from .sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from ..core.values.annotations import AxisLike, DTypeLike, IntLike, ShapeLike, TensorLike


_OUT_OF_ORDER = (
    "out of order. Many sparse ops require sorted indices. Use `tf.sparse.reorder` to create a "
    "correctly ordered copy"
)


def parse(value: Any) -> SparseTensor:
    """Return a sparse tensor, or raise the error for another value."""
    if isinstance(value, SparseTensor):
        return value
    if all(hasattr(value, name) for name in ("indices", "values", "dense_shape")):
        return SparseTensor.from_value(value)
    raise TypeError(f"Input must be a SparseTensor. Received: {value!r}")


def index_of(x: SparseTensor) -> Array:
    """Return the indices as an array, which must not be changed."""
    return read_array(x._indices)


def flatten_index(index: Array, sizes: Sequence[int]) -> Array:
    """Return the position of each index in a tensor of this shape, in memory order."""
    if math.prod(sizes) >= 2**63:
        raise InvalidArgumentError(f"The shape {tuple(sizes)} has too many elements")
    result = np.zeros(len(index), np.int64)
    for column, size in zip(index.T, sizes, strict=True):
        result = result * size + column
    return result


def order_of(index: Array) -> Array:
    """Return the order that sorts indices, stable."""
    if not index.shape[1]:
        return np.arange(len(index))
    return np.lexsort(index.T[::-1])


def sort(index: Array, values: Any, shape: Sequence[int]) -> SparseTensor:
    """Return a sparse tensor with its indices in order."""
    order = order_of(index)
    return SparseTensor._make(index[order], reorder_rows(values, order), tuple(shape))


def _axis(axis: AxisLike, rank: int) -> int:
    number = int(read_array(axis))
    if not -rank <= number < rank:
        raise InvalidArgumentError(f"axis should be in range [{-rank}, {rank}), got {number}")
    return number % rank


def to_dense(
    sp_input: SparseTensor,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """Return a dense tensor of a sparse one.

    Args:
      sp_input: A sparse tensor.
      default_value: The other elements; None for 0.
      validate_indices: Whether to check that the indices are in order and different.
      name: Not used.

    Returns:
      A dense tensor.

    Raises:
      TypeError: If ``sp_input`` is not sparse.
      InvalidArgumentError: If an index is out of bounds, out of order or repeated.

    Example:
      >>> x = tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2])
      >>> tf.sparse.to_dense(x, default_value=-1).numpy().tolist()
      [[-1, 5], [6, -1]]
    """
    x = parse(sp_input)
    index, sizes, values = index_of(x), x._sizes, x._values
    outside = ((index < 0) | (index >= np.array(sizes, np.int64))).any(axis=1)
    if outside.any():
        k = int(np.argmax(outside))
        raise InvalidArgumentError(
            f"indices[{k}] = {index[k].tolist()} is out of bounds: need 0 <= index < "
            f"{list(sizes)} [Op:SparseToDense]"
        )
    flat = flatten_index(index, sizes)
    if validate_indices and len(flat) > 1:
        steps = np.diff(flat)
        if (steps <= 0).any():
            k = int(np.argmax(steps <= 0)) + 1
            reason = "repeated" if steps[k - 1] == 0 else _OUT_OF_ORDER
            raise InvalidArgumentError(
                f"indices[{k}] = {index[k].tolist()} is {reason}. [Op:SparseToDense]"
            )
    total = math.prod(sizes)
    if (
        default_value is None
        and type(values) is Tensor
        and values._spec.is_float
        and validate_indices
    ):
        flat_ids = to_index_tensor(flat, dtypes.int64)
        return movement.reshape(record(SCATTER_ADD, (values, flat_ids), axis=0, size=total), sizes)
    if default_value is not None:
        is_number = type(values) is Tensor
        padding = creation.convert_to_tensor(default_value, values.dtype if is_number else None)
        if len(padding.shape):
            raise ValueError("default_value should be a scalar.")
    else:
        padding = (
            creation.zeros((), values.dtype) if type(values) is Tensor else creation.constant("")
        )
    count = len(flat)
    source = np.full(total, count, np.int64)
    source[flat] = np.arange(count)
    extended = joining.concat([values, movement.reshape(padding, (1,))], 0)
    return movement.reshape(take_rows(extended, source), sizes)


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor of the elements that are not 0. Gradients reach ``tensor``.

    Args:
      tensor: A dense tensor. Its value is read at the call.
      name: Not used.

    Returns:
      A `tf.SparseTensor`.

    Raises:
      TypeError: If the tensor has no values that can be read now.
      ValueError: If ``tensor`` does not convert to a tensor.

    Example:
      >>> x = tf.sparse.from_dense([[0, 5], [6, 0]])
      >>> x.indices.numpy().tolist(), x.values.numpy()
      ([[0, 1], [1, 0]], array([5, 6], dtype=int32))
    """
    x = as_values(tensor)
    array = read_array(x)
    index = np.argwhere(array != (0 if type(x) is Tensor else b""))
    flat = flatten_index(index, array.shape)
    return SparseTensor._make(
        index, take_rows(movement.reshape(x, (-1,)), flat), tuple(array.shape)
    )


def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor with its indices in increasing order.

    Args:
      sp_input: A sparse tensor.
      name: Not used.

    Returns:
      A `tf.SparseTensor`.

    Raises:
      TypeError: If ``sp_input`` is not sparse.

    Example:
      >>> x = tf.SparseTensor([[1, 0], [0, 1]], [6, 5], [2, 2])
      >>> tf.sparse.reorder(x).values.numpy()
      array([5, 6], dtype=int32)
    """
    x = parse(sp_input)
    return sort(index_of(x), x._values, x._sizes)


def reset_shape(sp_input: SparseTensor, new_shape: ShapeLike | None = None) -> SparseTensor:
    """Return a sparse tensor of the same elements with another shape.

    Args:
      sp_input: A sparse tensor.
      new_shape: The shape, at least as large along each axis; None for the smallest that has all
        indices.

    Returns:
      A `tf.SparseTensor`.

    Raises:
      TypeError: If ``sp_input`` is not sparse.
      ValueError: If the number of axes differs, or a size is smaller.

    Example:
      >>> x = tf.SparseTensor([[0, 0], [1, 0]], [5, 6], [4, 4])
      >>> tf.sparse.reset_shape(x).shape
      TensorShape([2, 1])
    """
    x = parse(sp_input)
    index = index_of(x)
    if new_shape is None:
        sizes = (index.max(axis=0) + 1).tolist() if len(index) else [0] * len(x._sizes)
        return SparseTensor._make(x._indices, x._values, tuple(sizes))
    sizes = read_array(new_shape).astype(np.int64).tolist()
    if len(sizes) != len(x._sizes):
        raise ValueError(
            f"Dimension {len(sizes)} in new_shape must be equal to the rank {len(x._sizes)}"
        )
    if any(size < old for size, old in zip(sizes, x._sizes, strict=True)):
        raise ValueError(
            f"new_shape {tuple(sizes)} should have dimension sizes that are not smaller than "
            f"those of the tensor, {x._sizes}"
        )
    return SparseTensor._make(x._indices, x._values, tuple(sizes))


def reshape(sp_input: SparseTensor, shape: ShapeLike, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor of the same elements, in order, with another shape.

    Args:
      sp_input: A sparse tensor.
      shape: The shape, of the same number of elements. One size may be -1.
      name: Not used.

    Returns:
      A `tf.SparseTensor`.

    Raises:
      TypeError: If ``sp_input`` is not sparse.
      InvalidArgumentError: If the number of elements differs.

    Example:
      >>> x = tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 3])
      >>> tf.sparse.reshape(x, [-1]).indices.numpy().tolist()
      [[1], [3]]
    """
    x = parse(sp_input)
    sizes = [int(size) for size in read_array(shape)]
    total = math.prod(x._sizes)
    if sizes.count(-1) > 1:
        raise InvalidArgumentError("only one output dimension may be -1 [Op:SparseReshape]")
    if -1 in sizes:
        rest = math.prod(size for size in sizes if size != -1)
        if not rest and total:
            raise InvalidArgumentError("the missing size cannot be found [Op:SparseReshape]")
        sizes[sizes.index(-1)] = total // rest if rest else 0
    if math.prod(sizes) != total or min(sizes, default=0) < 0:
        raise InvalidArgumentError(
            f"Input to reshape is a tensor with {total} dense values, but the requested shape has "
            f"{math.prod(sizes)} [Op:SparseReshape]"
        )
    flat = flatten_index(index_of(x), x._sizes)
    columns = np.unravel_index(flat, sizes) if sizes and total else [flat[:0]] * len(sizes)
    index = np.stack(columns, 1) if len(columns) else np.zeros((len(flat), 0), np.int64)
    return SparseTensor._make(index, x._values, tuple(sizes))


def transpose(
    sp_input: SparseTensor, perm: Sequence[int] | TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Return a sparse tensor with its axes permuted.

    Args:
      sp_input: A sparse tensor.
      perm: The order of the axes; None to reverse them.
      name: Not used.

    Returns:
      A `tf.SparseTensor` whose indices are in order.

    Raises:
      TypeError: If ``sp_input`` is not sparse.
      InvalidArgumentError: If ``perm`` is not a permutation.

    Example:
      >>> x = tf.SparseTensor([[0, 1], [1, 0], [1, 1]], [5, 6, 7], [2, 3])
      >>> tf.sparse.transpose(x).values.numpy()
      array([6, 5, 7], dtype=int32)
    """
    x = parse(sp_input)
    rank = len(x._sizes)
    order = [*np.arange(rank)[::-1]] if perm is None else [int(k) for k in read_array(perm)]
    if sorted(order) != [*np.arange(rank)]:
        raise InvalidArgumentError(f"perm must be a permutation of {rank} axes, got {order}")
    return sort(index_of(x)[:, order], x._values, [x._sizes[k] for k in order])


def expand_dims(
    sp_input: SparseTensor, axis: IntLike | None = None, name: str | None = None
) -> SparseTensor:
    """Return a sparse tensor with an axis of size 1 more.

    Args:
      sp_input: A sparse tensor.
      axis: The position of the new axis; None for the last.
      name: Not used.

    Returns:
      A `tf.SparseTensor`.

    Raises:
      TypeError: If ``sp_input`` is not sparse.
      ValueError: If there is no such position.

    Example:
      >>> tf.sparse.expand_dims(tf.sparse.eye(2), 0).shape
      TensorShape([1, 2, 2])
    """
    x = parse(sp_input)
    rank = len(x._sizes)
    position = -1 if axis is None else int(read_array(axis))
    if not -rank - 1 <= position <= rank:
        raise ValueError(f"axis {position} not in range [{-rank - 1}, {rank}]")
    position %= rank + 1
    sizes = [*x._sizes]
    sizes.insert(position, 1)
    return SparseTensor._make(np.insert(index_of(x), position, 0, axis=1), x._values, tuple(sizes))


def concat(
    axis: IntLike,
    sp_inputs: Sequence[SparseTensor],
    expand_nonconcat_dims: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Concatenate sparse tensors along an axis.

    Args:
      axis: The axis.
      sp_inputs: A list of sparse tensors of one rank.
      expand_nonconcat_dims: Whether other axes may differ in size; the largest one counts.
      name: Not used.

    Returns:
      A `tf.SparseTensor` whose indices are in order.

    Raises:
      TypeError: If an input is not sparse.
      InvalidArgumentError: If shapes do not fit, or there is no such axis.

    Example:
      >>> x = tf.sparse.eye(2)
      >>> tf.sparse.concat(1, [x, x]).indices.numpy().tolist()
      [[0, 0], [0, 2], [1, 1], [1, 3]]
    """
    inputs = [parse(x) for x in (sp_inputs if isinstance(sp_inputs, list | tuple) else [sp_inputs])]
    if not inputs:
        raise ValueError("sp_inputs must not be empty")
    if len(inputs) == 1:
        return inputs[0]
    rank = len(inputs[0]._sizes)
    if any(len(x._sizes) != rank for x in inputs):
        raise InvalidArgumentError("Ranks of all input tensors must match [Op:SparseConcat]")
    axis = _axis(axis, rank)
    sizes = [max(column) for column in zip(*(x._sizes for x in inputs), strict=True)]
    if not expand_nonconcat_dims:
        for x in inputs:
            for k, (size, other) in enumerate(zip(x._sizes, inputs[0]._sizes, strict=True)):
                if k != axis and size != other:
                    raise InvalidArgumentError(
                        f"Input shapes must match: expected {other} for dimension {k} but got "
                        f"{size} [Op:SparseConcat]"
                    )
    offset, parts = 0, []
    for x in inputs:
        shift = np.zeros(rank, np.int64)
        shift[axis] = offset
        parts.append(index_of(x) + shift)
        offset += x._sizes[axis]
    sizes[axis] = offset
    return sort(np.concatenate(parts), join_rows([x._values for x in inputs]), sizes)


def split(
    sp_input: SparseTensor | None = None,
    num_split: IntLike | None = None,
    axis: IntLike | None = None,
    name: str | None = None,
) -> list[SparseTensor]:
    """Split a sparse tensor along an axis. The first parts are larger by 1 if sizes do not divide.

    Args:
      sp_input: A sparse tensor.
      num_split: The number of parts.
      axis: The axis.
      name: Not used.

    Returns:
      A list of sparse tensors.

    Raises:
      TypeError: If ``sp_input`` is not sparse.
      ValueError: If an argument is missing.
      InvalidArgumentError: If the number is not between 1 and the size of the axis.

    Example:
      >>> [x.shape for x in tf.sparse.split(sp_input=tf.sparse.eye(3), num_split=2, axis=1)]
      [TensorShape([3, 2]), TensorShape([3, 1])]
    """
    if sp_input is None or num_split is None or axis is None:
        raise ValueError("sp_input, num_split and axis are required")
    x = parse(sp_input)
    number = int(read_array(num_split))
    axis = _axis(axis, len(x._sizes))
    size = x._sizes[axis]
    if not 1 <= number <= size:
        raise InvalidArgumentError(
            f"Input num_split should be between 1 and the splitting dimension size ({size}), got "
            f"{number} [Op:SparseSplit]"
        )
    base, larger = divmod(size, number)
    index, begin, result = index_of(x), 0, []
    for k in np.arange(number):
        count = base + int(k < larger)
        column = index[:, axis]
        rows = np.flatnonzero((column >= begin) & (column < begin + count))
        part = index[rows].copy()
        part[:, axis] -= begin
        sizes = [*x._sizes]
        sizes[axis] = count
        result.append(SparseTensor._make(part, reorder_rows(x._values, rows), tuple(sizes)))
        begin += count
    return result


def slice(
    sp_input: SparseTensor, start: TensorLike, size: TensorLike, name: str | None = None
) -> SparseTensor:
    """Return a part of a sparse tensor.

    Args:
      sp_input: A sparse tensor.
      start: The first index along each axis.
      size: The sizes, which are cut at the end of the tensor.
      name: Not used.

    Returns:
      A `tf.SparseTensor`.

    Raises:
      TypeError: If ``sp_input`` is not sparse.
      InvalidArgumentError: If a vector does not have an element for each axis.

    Example:
      >>> x = tf.SparseTensor([[0, 1], [1, 0], [1, 2]], [5, 6, 7], [2, 3])
      >>> tf.sparse.slice(x, [1, 0], [1, 2]).values.numpy()
      array([6], dtype=int32)
    """
    x = parse(sp_input)
    begin, counts = (read_array(value).astype(np.int64) for value in (start, size))
    if begin.shape != (len(x._sizes),) or counts.shape != begin.shape:
        raise InvalidArgumentError("start and size need an element for each axis [Op:SparseSlice]")
    sizes = np.maximum(np.minimum(counts, np.array(x._sizes, np.int64) - begin), 0)
    index = index_of(x)
    rows = np.flatnonzero(((index >= begin) & (index < begin + sizes)).all(axis=1))
    return SparseTensor._make(
        index[rows] - begin, reorder_rows(x._values, rows), tuple(sizes.tolist())
    )


def retain(sp_input: SparseTensor, to_retain: TensorLike) -> SparseTensor:
    """Return some elements of a sparse tensor.

    Args:
      sp_input: A sparse tensor.
      to_retain: A bool for each element.

    Returns:
      A `tf.SparseTensor` of the same shape.

    Raises:
      TypeError: If ``sp_input`` is not sparse.
      ValueError: If the number of bools differs.

    Example:
      >>> x = tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2])
      >>> tf.sparse.retain(x, [False, True]).values.numpy()
      array([6], dtype=int32)
    """
    x = parse(sp_input)
    flags = read_array(to_retain)
    if flags.shape != (x._indices.shape[0],):
        raise ValueError(f"Shapes {flags.shape} and {(x._indices.shape[0],)} are incompatible")
    rows = np.flatnonzero(flags)
    return SparseTensor._make(index_of(x)[rows], take_rows(x._values, rows), x._sizes)


def mask(a: IndexedSlices, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """Return `IndexedSlices` without some of their slices.

    Args:
      a: Slices.
      mask_indices: The indices to leave out.
      name: Not used.

    Returns:
      `tf.IndexedSlices`.

    Raises:
      TypeError: If ``a`` has no slices.

    Example:
      >>> a = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([3, 5]), [8, 1])
      >>> tf.sparse.mask(a, [3]).indices.numpy()
      array([5], dtype=int32)
    """
    if not isinstance(a, IndexedSlices):
        raise TypeError(f"a must be IndexedSlices, got {type(a).__name__}")
    indices = as_values(a.indices)
    rows = np.flatnonzero(~np.isin(read_array(indices), read_array(mask_indices)))
    return IndexedSlices(
        take_rows(as_values(a.values), rows), take_rows(indices, rows), a.dense_shape
    )


class FilledRows(NamedTuple):
    """The result of `tf.sparse.fill_empty_rows`: a sparse tensor, and whether rows were empty."""

    sp_ordered_output: SparseTensor
    empty_row_indicator: Tensor


def fill_rows(x: SparseTensor, default_value: Any) -> tuple[SparseTensor, Array]:
    """Return a sparse tensor with a value in each row, and whether rows were empty."""
    index, count = index_of(x), x._sizes[0]
    outside = (index[:, 0] < 0) | (index[:, 0] >= count)
    if outside.any():
        k = int(np.argmax(outside))
        raise InvalidArgumentError(
            f"indices({k}, 0) is invalid: {int(index[k, 0])} >= {count} [Op:SparseFillEmptyRows]"
        )
    lengths = np.bincount(index[:, 0], minlength=count)
    empty = np.flatnonzero(lengths == 0)
    added = np.zeros((len(empty), index.shape[1]), np.int64)
    added[:, 0] = empty
    if type(x._values) is Tensor:
        default = creation.convert_to_tensor(default_value, x.dtype)
    else:
        default = creation.convert_to_tensor(default_value)
    if len(default.shape):
        raise ValueError("default_value must be a scalar")
    values = x._values
    if len(empty):
        values = joining.concat([values, movement.broadcast_to(default, (len(empty),))], 0)
    # Rows are ordered, but the elements of a row stay in their order.
    joined = np.concatenate([index, added])
    order = np.argsort(joined[:, 0], kind="stable")
    return (
        SparseTensor._make(joined[order], reorder_rows(values, order), x._sizes),
        lengths == 0,
    )


def fill_empty_rows(
    sp_input: SparseTensor, default_value: TensorLike, name: str | None = None
) -> FilledRows:
    """Put a value at the first place of each empty row of a sparse matrix.

    Args:
      sp_input: A sparse tensor of two axes, with its rows in order.
      default_value: The value, a scalar.
      name: Not used.

    Returns:
      The filled sparse tensor, and a vector of bools: whether each row was empty.

    Raises:
      TypeError: If ``sp_input`` is not sparse.
      ValueError: If it has another number of axes, or ``default_value`` is no scalar.

    Example:
      >>> x = tf.SparseTensor([[1, 2]], [5], [3, 4])
      >>> filled, was_empty = tf.sparse.fill_empty_rows(x, 0)
      >>> filled.indices.numpy().tolist(), was_empty.numpy().tolist()
      ([[0, 0], [1, 2], [2, 0]], [True, False, True])
    """
    x = parse(sp_input)
    if len(x._sizes) != 2:
        raise ValueError(f"fill_empty_rows takes a matrix, got the shape {x._sizes}")
    filled, empty = fill_rows(x, default_value)
    return FilledRows(filled, creation.constant(empty))


def eye(
    num_rows: IntLike,
    num_columns: IntLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> SparseTensor:
    """Return a sparse matrix with ones on its diagonal.

    Args:
      num_rows: The number of rows.
      num_columns: The number of columns; None for that of rows.
      dtype: The dtype.
      name: Not used.

    Returns:
      A `tf.SparseTensor`.

    Raises:
      InvalidArgumentError: If a number is negative.
      TypeError: If ``dtype`` is not a dtype.

    Example:
      >>> tf.sparse.to_dense(tf.sparse.eye(2, 3)).numpy().tolist()
      [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    height = int(read_array(num_rows))
    width = height if num_columns is None else int(read_array(num_columns))
    if min(height, width) < 0:
        raise InvalidArgumentError(
            f"sparse.eye() takes numbers of rows and columns from 0, got {height} and {width}."
        )
    diagonal = np.arange(min(height, width))
    return SparseTensor._make(
        np.stack([diagonal, diagonal], 1), creation.ones(len(diagonal), dtype), (height, width)
    )


def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> SparseTensor:
    """Apply a function to the values of sparse tensors, which must have the same indices.

    Args:
      op: A function that keeps the number of values.
      *args: Its arguments: sparse tensors are replaced by their values.
      **kwargs: Its keyword arguments.

    Returns:
      A `tf.SparseTensor`.

    Raises:
      ValueError: If no argument is sparse.
      InvalidArgumentError: If indices differ.

    Example:
      >>> x = tf.sparse.eye(2)
      >>> tf.sparse.map_values(tf.add, x, 4.0).values.numpy()
      array([5., 5.], dtype=float32)
    """
    sparse: list[SparseTensor] = []

    def replace(x: Any) -> Any:
        if isinstance(x, SparseTensor):
            sparse.append(x)
            return x._values
        if isinstance(x, list | tuple) and any(isinstance(part, SparseTensor) for part in x):
            return type(x)(map(replace, x))
        return x

    flat_args = [replace(x) for x in args]
    flat_kwargs = {key: replace(x) for key, x in kwargs.items()}
    if not sparse:
        raise ValueError("No SparseTensor in argument list of map_values")
    first = sparse[0]
    for x in sparse[1:]:
        same = x._indices is first._indices or np.array_equal(index_of(x), index_of(first))
        if not same or x._sizes != first._sizes:
            raise InvalidArgumentError(
                "The sparse tensors of map_values have different indices or shapes"
            )
    return first.with_values(op(*flat_args, **flat_kwargs))


def to_indicator(sp_input: SparseTensor, vocab_size: IntLike, name: str | None = None) -> Tensor:
    """Return which ids each row of a sparse tensor of ids has.

    Args:
      sp_input: A sparse tensor of integers.
      vocab_size: The number of different ids.
      name: Not used.

    Returns:
      Bools of shape sp_input.shape[:-1] + (vocab_size,).

    Raises:
      TypeError: If ``sp_input`` is not sparse.
      InvalidArgumentError: If an id is not less than ``vocab_size``.

    Example:
      >>> x = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [2, 0, 1], [2, 2])
      >>> tf.sparse.to_indicator(x, 3).numpy().astype(int).tolist()
      [[0, 0, 1], [1, 1, 0]]
    """
    x = parse(sp_input)
    ids = read_array(x._values)
    size = int(read_array(vocab_size))
    if ids.dtype.kind not in "iu":
        raise TypeError("sp_input must have integer values")
    if ids.size and (ids.min() < 0 or ids.max() >= size):
        raise InvalidArgumentError(f"ids must be in [0, {size}) [Op:SparseToIndicator]")
    result = np.zeros((*x._sizes[:-1], size), bool)
    result[(*index_of(x)[:, :-1].T, ids)] = True
    return creation.constant(result)
