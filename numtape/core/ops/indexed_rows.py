"""Rows of a variable or table at indices: embeddings, `scatter_*` of variables, dense gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import UnimplementedError
from ..log.record import record, require
from ..log.tensors import as_tensor, from_owned_array
from ..log.variable import Variable
from ..values import dtypes
from ..values.dtypes import DType
from ..values.indexed_slices import IndexedSlices
from ..values.tensor import Tensor
from . import elementwise, movement
from .indexing import SCATTER_ADD, checked_indices, gather
from .joining import stack
from .partition import dynamic_stitch
from .reduction import reduce_sum
from .scatter import INTO, scattered


def dense_of(slices: IndexedSlices, dtype: DType | None = None) -> Tensor:
    """The tensor that slices stand for.

    Raises:
      ValueError: If their shape is not known, or they are of another dtype than ``dtype``.
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
    shape = movement.static_shape(slices.dense_shape)
    require(
        len(shape) > 0,
        "UnsortedSegmentSum",
        f"dense_shape must be a vector with an element or more, got {slices.dense_shape}",
    )
    size = shape[0]
    require(
        tuple(values.shape[: indices.ndim]) == tuple(indices.shape),
        "UnsortedSegmentSum",
        f"values of shape {values.shape} do not begin with the shape of the indices, "
        f"{indices.shape}",
    )
    indices = checked_indices(indices, size, "UnsortedSegmentSum")
    return record(SCATTER_ADD, (values, indices), axis=0, size=size)


def updated(x: Variable, indices: Any, updates: Any, how: str) -> Tensor:
    """The value of a variable, but for slices of it that are updated one after the other."""
    op = f"ResourceScatter{how.capitalize()}"
    require(x.ndim > 0, op, "the variable must have at least one axis")
    at, given = checked_indices(indices, x.shape[0], op), _of_dtype(updates, x)
    whole = (*at.shape, *x.shape[1:])
    if not given.ndim:
        given = movement.broadcast_to(given, whole)
    require(
        tuple(given.shape) == whole,
        op,
        f"Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
        f"updates.shape {list(given.shape)}, indices.shape {list(at.shape)}, params.shape "
        f"{list(x.shape)}",
    )
    count = at._spec.size
    flat = (
        as_tensor(x),
        movement.reshape(at, (count,)),
        movement.reshape(given, (count, *x.shape[1:])),
    )
    return record(INTO, flat, how=how)


def _of_dtype(value: Any, x: Variable) -> Tensor:
    return x._to_tensor(value)


def updated_nd(x: Variable, indices: Any, updates: Any, how: str) -> Tensor:
    """The value of a variable, but for what lies at tuples of indices."""
    op = f"ResourceScatterNd{how.capitalize()}"
    return scattered(x, indices, _of_dtype(updates, x), how, op, vector=True)


def updated_in_batch(x: Variable, indices: Any, updates: Any) -> Tensor:
    """The value of a variable, but for slices of each example: the first axes are in common."""
    op = "BatchScatterUpdate"
    at = as_tensor(indices)
    require(at.ndim > 0, op, "indices must have at least one axis")
    lead = tuple(at.shape[:-1])
    if tuple(x.shape[: len(lead)]) != lead:
        raise ValueError(
            f"The initial dimensions of the variable, {x.shape}, do not match those of the "
            f"indices, {at.shape}."
        )
    numbers = [np.broadcast_to(grid[..., None], at.shape) for grid in np.indices(lead)]
    wide = elementwise.cast(at, dtypes.int64)
    tuples = stack([*(as_tensor(np.ascontiguousarray(grid)) for grid in numbers), wide], -1)
    return updated_nd(x, tuples, updates, "update")


def embedding_lookup(
    params: Any, ids: Any, max_norm: Any = None, name: str | None = None
) -> Tensor:
    """The rows of a table, or of several, that ids name.

    The derivative is `IndexedSlices`.

    Args:
      params: A tensor or variable; or a list of several, which are one table, in equal parts one
        below the other.
      ids: A tensor of integers. With several tables they are read at the call.
      max_norm: Rows whose euclidean norm is larger are scaled to it; None: none are.
      name: Not used.

    Returns:
      A tensor of shape ids.shape + params.shape[1:].

    Raises:
      ValueError: If there are no ``params``.
      InvalidArgumentError: If an id is out of range, or no integer.

    Example:
      >>> table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
      >>> tf.nn.embedding_lookup(table, [2, 0]).numpy()
      array([[5., 6.],
             [1., 2.]], dtype=float32)
    """
    if params is None:
        raise ValueError("params must be specified")
    tables = list(params) if isinstance(params, list | tuple) else [params]
    if not tables:
        raise ValueError("Length of params is currently 0. Need at least one param.")
    found = as_tensor(ids)
    if len(tables) == 1:
        return _limited(gather(tables[0], found), found.ndim, max_norm)
    tables = [x if isinstance(x, Tensor | Variable) else as_tensor(x) for x in tables]
    for x in tables:
        require(len(x.shape) > 0, "EmbeddingLookup", "params must be at least 1 dimensional")
    total, parts = sum(x.shape[0] for x in tables), len(tables)
    each, extra = divmod(total, parts)
    flat = checked_indices(found, total, "EmbeddingLookup")._array().ravel().astype(np.int64)
    which = np.maximum(flat // (each + 1), (flat - extra) // max(each, 1))
    inside = np.where(which < extra, flat % (each + 1), (flat - extra) % max(each, 1))
    places, taken = [], []
    for k, table in enumerate(tables):
        places.append(from_owned_array(np.flatnonzero(which == k).astype(np.int32)))
        rows = gather(table, from_owned_array(inside[which == k].astype(found.dtype.numpy_dtype)))
        taken.append(_limited(rows, 1, max_norm))
    rest = tuple(tables[0].shape[1:])
    if not flat.size:
        return movement.reshape(taken[0], (*found.shape, *rest))
    return movement.reshape(dynamic_stitch(places, taken), (*found.shape, *rest))


def _limited(rows: Tensor, lead: int, max_norm: Any) -> Tensor:
    """Rows of no larger norm. Those of norm 0 have a finite derivative."""
    if max_norm is None:
        return rows
    squares = reduce_sum(rows * rows, tuple(range(lead, rows.ndim)), True)
    some = squares > 0
    safe = elementwise.select(some, squares, 1.0)
    norm = elementwise.select(some, elementwise.sqrt(safe), squares)
    found: Tensor = rows * max_norm / elementwise.maximum(norm, max_norm)
    return found


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    combiner: Any = None,
    max_norm: Any = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Not there: numtape has no sparse tensors. `embedding_lookup` and a sum of segments do it.

    Args:
      params: A table.
      sp_ids: Ids, sparse.
      sp_weights: Their weights.
      combiner: How rows are combined.
      max_norm: The largest norm.
      name: Not used.
      allow_fast_lookup: Not used.

    Returns:
      Nothing.

    Raises:
      UnimplementedError: Always.

    Example:
      >>> try:
      ...     tf.nn.embedding_lookup_sparse(None, None, None)
      ... except tf.errors.UnimplementedError as error:
      ...     print(error.message[:29])
      numtape has no sparse tensors
    """
    raise UnimplementedError(
        "numtape has no sparse tensors: use `nn.embedding_lookup` and `math.segment_sum` of its "
        "rows."
    )
