"""Reads and updates of indexed rows: embeddings, `scatter_*` of variables, `IndexedSlices`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..log.as_tensor import as_tensor, from_owned_array
from ..log.record import record, require
from ..log.variable import Variable
from ..values import dtypes
from ..values.composite import dispatches
from ..values.dtypes import DType
from ..values.indexed_slices import IndexedSlices
from ..values.tensor import Tensor
from . import elementwise, movement
from .indexing import SCATTER_ADD, check_indices, gather
from .joining import stack
from .partition import dynamic_stitch
from .reduction import reduce_sum
from .scatter import UPDATE, scatter

if TYPE_CHECKING:
    from ..values.annotations import IntLike, NumberLike, TensorLike


def to_dense(slices: IndexedSlices, dtype: DType | None = None) -> Tensor:
    """Convert `IndexedSlices` to a dense tensor.

    Raises:
      ValueError: If the dense shape is unknown, or the dtype of the values is not ``dtype``.
    """
    values, indices = as_tensor(slices.values), as_tensor(slices.indices)
    if dtype is not None and values.dtype is not dtype:
        raise ValueError(
            f"Incompatible tensor conversion requested to `dtype` {dtype.name} for IndexedSlices "
            f"({slices}) with dtype {values.dtype.name}"
        )
    if slices.dense_shape is None:
        raise ValueError(
            f"Tensor conversion requested for IndexedSlices for argument `value` without "
            f"dense_shape: {slices}"
        )
    shape = movement.to_shape(slices.dense_shape)
    require(
        len(shape) > 0,
        "UnsortedSegmentSum",
        f"dense_shape must be a vector of at least one element, got {slices.dense_shape}",
    )
    size = shape[0]
    require(
        tuple(values.shape[: indices.ndim]) == tuple(indices.shape),
        "UnsortedSegmentSum",
        f"the shape of the values, {values.shape}, must begin with the shape of the indices, "
        f"{indices.shape}",
    )
    indices = check_indices(indices, size, "UnsortedSegmentSum")
    return record(SCATTER_ADD, (values, indices), axis=0, size=size)


def update_rows(x: Variable, indices: TensorLike, updates: TensorLike, how: str) -> Tensor:
    """Return the value of a variable with slices updated one after the other."""
    op = f"ResourceScatter{how.capitalize()}"
    require(x.ndim > 0, op, "the variable must have at least one axis")
    row_ids, rows = check_indices(indices, x.shape[0], op), _as_operand(updates, x)
    rows_shape = (*row_ids.shape, *x.shape[1:])
    if not rows.ndim:
        rows = movement.broadcast_to(rows, rows_shape)
    require(
        tuple(rows.shape) == rows_shape,
        op,
        f"Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
        f"updates.shape {list(rows.shape)}, indices.shape {list(row_ids.shape)}, params.shape "
        f"{list(x.shape)}",
    )
    count = row_ids._spec.size
    operands = (
        as_tensor(x),
        movement.reshape(row_ids, (count,)),
        movement.reshape(rows, (count, *x.shape[1:])),
    )
    return record(UPDATE, operands, how=how)


def _as_operand(value: TensorLike, x: Variable) -> Tensor:
    return x._to_tensor(value)


def update_nd(x: Variable, indices: TensorLike, updates: TensorLike, how: str) -> Tensor:
    """Return the value of a variable with the slices at tuples of indices updated."""
    op = f"ResourceScatterNd{how.capitalize()}"
    return scatter(x, indices, _as_operand(updates, x), how, op, vector=True)


def update_batched_rows(x: Variable, indices: TensorLike, updates: TensorLike) -> Tensor:
    """Return the value of a variable with slices of each example updated."""
    op = "BatchScatterUpdate"
    index = as_tensor(indices)
    require(index.ndim > 0, op, "indices must have at least one axis")
    batch_shape = tuple(index.shape[:-1])
    if tuple(x.shape[: len(batch_shape)]) != batch_shape:
        raise ValueError(
            f"The initial dimensions of the variable, {x.shape}, do not match those of the "
            f"indices, {index.shape}."
        )
    batch_ids = [np.broadcast_to(grid[..., None], index.shape) for grid in np.indices(batch_shape)]
    row_ids = elementwise.cast(index, dtypes.int64)
    tuples = stack([*(as_tensor(np.ascontiguousarray(grid)) for grid in batch_ids), row_ids], -1)
    return update_nd(x, tuples, updates, "update")


@dispatches
def embedding_lookup(
    params: TensorLike, ids: TensorLike, max_norm: NumberLike | None = None, name: str | None = None
) -> Tensor:
    """Look up the rows of one or several tables by their ids.

    The gradient is an `IndexedSlices`.

    Args:
      params: A tensor or variable; or a list of them, which is one table split by rows into parts
        of equal size (the first parts may have one row more).
      ids: A tensor of integers. With several tables its value is read at the call.
      max_norm: Rows with a larger Euclidean norm are scaled down to this norm; None for no limit.
      name: Not used.

    Returns:
      A tensor of shape ids.shape + params.shape[1:].

    Raises:
      ValueError: If ``params`` is None or empty.
      InvalidArgumentError: If an id is out of range, or not an integer.

    Example:
      >>> table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
      >>> tf.nn.embedding_lookup(table, [2, 0]).numpy()
      array([[5., 6.],
             [1., 2.]], dtype=float32)
    """
    if params is None:
        raise ValueError("params must be specified")
    tables: list[Any] = list(params) if isinstance(params, list | tuple) else [params]
    if not tables:
        raise ValueError("Length of params is currently 0. Need at least one param.")
    id_tensor = as_tensor(ids)
    if len(tables) == 1:
        return _clip_norms(gather(tables[0], id_tensor), id_tensor.ndim, max_norm)
    tables = [x if isinstance(x, Tensor | Variable) else as_tensor(x) for x in tables]
    for x in tables:
        require(len(x.shape) > 0, "EmbeddingLookup", "params must be at least 1 dimensional")
    total, parts = sum(x.shape[0] for x in tables), len(tables)
    rows_per_table, larger_tables = divmod(total, parts)
    flat = check_indices(id_tensor, total, "EmbeddingLookup")._array().ravel().astype(np.int64)
    table_ids = np.maximum(
        flat // (rows_per_table + 1), (flat - larger_tables) // max(rows_per_table, 1)
    )
    local_rows = np.where(
        table_ids < larger_tables,
        flat % (rows_per_table + 1),
        (flat - larger_tables) % max(rows_per_table, 1),
    )
    positions, gathered = [], []
    for k, table in enumerate(tables):
        positions.append(from_owned_array(np.flatnonzero(table_ids == k).astype(np.int32)))
        rows = gather(
            table, from_owned_array(local_rows[table_ids == k].astype(id_tensor.dtype.numpy_dtype))
        )
        gathered.append(_clip_norms(rows, 1, max_norm))
    row_shape = tuple(tables[0].shape[1:])
    if not flat.size:
        return movement.reshape(gathered[0], (*id_tensor.shape, *row_shape))
    return movement.reshape(dynamic_stitch(positions, gathered), (*id_tensor.shape, *row_shape))


def _clip_norms(rows: Tensor, lead: int, max_norm: NumberLike | None) -> Tensor:
    """Scale rows down to ``max_norm``. Rows of norm 0 have a finite derivative."""
    if max_norm is None:
        return rows
    squares = reduce_sum(rows * rows, tuple(range(lead, rows.ndim)), True)
    is_nonzero = squares > 0
    safe = elementwise.select(is_nonzero, squares, 1.0)
    norm = elementwise.select(is_nonzero, elementwise.sqrt(safe), squares)
    clipped: Tensor = rows * max_norm / elementwise.maximum(norm, max_norm)
    return clipped


@dispatches
def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids: Any,
    sp_weights: Any,
    combiner: str | None = None,
    max_norm: NumberLike | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Look up the rows of a table for lists of ids, and combine those of each list.

    Args:
      params: A table, or a list of parts of one, as for `embedding_lookup`.
      sp_ids: The ids: a `tf.SparseTensor` or `tf.RaggedTensor` of shape (lists, None).
      sp_weights: The weights of the ids, in the same form; None for 1.
      combiner: "sum"; "mean", the sum divided by that of the weights; or "sqrtn", the sum divided
        by the norm of the weights. None for "mean".
      max_norm: Rows with a larger Euclidean norm are scaled down to this norm; None for no limit.
      name: Not used.
      allow_fast_lookup: Not used.

    Returns:
      A tensor of shape (lists,) + params.shape[1:].

    Raises:
      TypeError: If ``sp_ids`` is neither sparse nor ragged, or the weights have another form.
      ValueError: If ``combiner`` is another one, or indices of ids and weights differ.

    Example:
      >>> table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
      >>> ids = tf.sparse.from_dense([[1, 2], [2, 0]])
      >>> tf.nn.embedding_lookup_sparse(table, ids, None, combiner="sum").numpy().tolist()
      [[8.0, 10.0], [5.0, 6.0]]
    """
    raise TypeError(
        f"sp_ids must be SparseTensor or RaggedTensor; got {type(sp_ids).__name__}: make one with "
        f"`tf.sparse.from_dense` or `tf.ragged.constant`."
    )


@dispatches
def safe_embedding_lookup_sparse(
    embedding_weights: TensorLike,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: IntLike | None = None,
    max_norm: NumberLike | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Look up rows as `embedding_lookup_sparse` does; invalid ids and empty lists are allowed.

    Negative ids are left out, and so are ids with a weight that is not positive (but for the
    combiner "sum").

    Args:
      embedding_weights: A table, or a list of parts of one.
      sparse_ids: The ids: a `tf.SparseTensor` of shape (..., None), or a `tf.RaggedTensor`.
      sparse_weights: The weights of the ids, in the same form; None for 1.
      combiner: "sum", "mean" or "sqrtn".
      default_id: The id of an empty list; None for a row of zeros.
      max_norm: Rows with a larger Euclidean norm are scaled down to this norm; None for no limit.
      name: Not used.
      allow_fast_lookup: Not used.

    Returns:
      A tensor of shape sparse_ids.shape[:-1] + embedding_weights.shape[1:].

    Raises:
      TypeError: If ``sparse_ids`` is neither sparse nor ragged.
      ValueError: If there is no table, or ``combiner`` is another one.

    Example:
      >>> table = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
      >>> ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, -1, 0], [3, 2])
      >>> tf.nn.safe_embedding_lookup_sparse(table, ids).numpy().tolist()
      [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]
    """
    raise TypeError(
        f"sparse_ids must be SparseTensor or RaggedTensor; got {type(sparse_ids).__name__}."
    )
