"""Embeddings of lists of ids, sparse or ragged, and counts of ids."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.ops import counting, creation, elementwise as ew, movement, segments
from ..core.ops.indexed_rows import (
    embedding_lookup,
    embedding_lookup_sparse,
    safe_embedding_lookup_sparse,
)
from ..core.ops.indexing import gather
from ..core.values import dtypes
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from .base import Array, as_values, read_array, to_index_tensor
from .dispatch import handles
from .ragged_tensor import RaggedTensor
from .sparse_arrangement import fill_rows, index_of, reshape, retain
from .sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, IntLike, NumberLike, TensorLike

_COMBINERS = ("mean", "sqrtn", "sum")


def _parse_combiner(combiner: str | None) -> str:
    if combiner is None:
        return "mean"
    if combiner not in _COMBINERS:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    return combiner


@handles(RaggedTensor, embedding_lookup)
def _lookup_ragged(
    params: TensorLike,
    ids: RaggedTensor,
    max_norm: NumberLike | None = None,
    name: str | None = None,
) -> RaggedTensor:
    if params is None:
        raise ValueError("params must be specified.")
    rows = embedding_lookup(params, ids.flat_values, max_norm)
    result: RaggedTensor = ids.with_flat_values(rows)
    return result


@handles(SparseTensor, embedding_lookup_sparse)
@handles(RaggedTensor, embedding_lookup_sparse)
def _lookup_lists(
    params: TensorLike,
    sp_ids: SparseTensor | RaggedTensor,
    sp_weights: SparseTensor | RaggedTensor | None,
    combiner: str | None = None,
    max_norm: NumberLike | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    combiner = _parse_combiner(combiner)
    ids, lists = _parse_ids(sp_ids)
    weights = None
    if sp_weights is not None:
        if type(sp_weights) is not type(sp_ids):
            raise TypeError(
                f"sp_weights must be either None or {type(sp_ids).__name__}; got "
                f"{type(sp_weights).__name__}."
            )
        weights, weight_lists = _parse_ids(sp_weights)
        if not np.array_equal(lists, weight_lists):
            raise InvalidArgumentError("sp_ids and sp_weights have different indices")
    count = sp_ids.shape[0] if isinstance(sp_ids, RaggedTensor) else 0
    if not isinstance(sp_ids, RaggedTensor) and len(lists):
        count = int(lists.max()) + 1
    rows = embedding_lookup(params, ids, max_norm)
    return _combine(rows, lists, weights, combiner, count)


def _parse_ids(x: Any) -> tuple[Any, Array]:
    """Return the values, and the list that each one belongs to."""
    if isinstance(x, RaggedTensor):
        return x.flat_values, read_array(x.value_rowids())
    if not isinstance(x, SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor or RaggedTensor; got {type(x).__name__}.")
    return x.values, index_of(x)[:, 0]


def _combine(rows: Tensor, lists: Array, weights: Any, combiner: str, count: int) -> Tensor:
    segment_ids = to_index_tensor(lists, dtypes.int64)
    trailing = [1] * (len(rows.shape) - 1)
    if weights is None:
        numbers = np.bincount(lists, minlength=count).astype(np.float64)
        total = segments.unsorted_segment_sum(rows, segment_ids, count)
        divisor = {"sum": None, "mean": numbers, "sqrtn": np.sqrt(numbers)}[combiner]
        if divisor is None:
            return total
        divisor = np.maximum(divisor, 1).astype(rows.dtype.numpy_dtype)
        return total / creation.constant(divisor.reshape(-1, *trailing))
    factors = ew.cast(weights, rows.dtype)
    weighted = rows * movement.reshape(factors, (-1, *trailing))
    total = segments.unsorted_segment_sum(weighted, segment_ids, count)
    if combiner == "sum":
        return total
    power = factors if combiner == "mean" else factors * factors
    norm = segments.unsorted_segment_sum(power, segment_ids, count)
    norm = ew.sqrt(norm) if combiner == "sqrtn" else norm
    return ew.real_divide_no_nan(total, movement.reshape(norm, (-1, *trailing)))


@handles(SparseTensor, safe_embedding_lookup_sparse)
@handles(RaggedTensor, safe_embedding_lookup_sparse)
def _safe_lookup(
    embedding_weights: TensorLike,
    sparse_ids: RaggedTensor,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: IntLike | None = None,
    max_norm: NumberLike | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    if embedding_weights is None or (
        isinstance(embedding_weights, list | tuple) and not embedding_weights
    ):
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    combiner = _parse_combiner(combiner)
    ids, weights = (
        x.to_sparse() if isinstance(x, RaggedTensor) else x for x in (sparse_ids, sparse_weights)
    )
    lead = ids._sizes[:-1]
    shape = (math.prod(lead), ids._sizes[-1])
    ids = reshape(ids, shape)
    weights = None if weights is None else reshape(weights, shape)
    is_valid = read_array(ids.values) >= 0
    if weights is not None and combiner != "sum":
        is_valid &= read_array(weights.values) > 0
    ids = retain(ids, is_valid)
    weights = None if weights is None else retain(weights, is_valid)
    filled, is_empty = fill_rows(ids, 0 if default_id is None else default_id)
    if weights is not None:
        weights, _ = fill_rows(weights, 1.0)
    result = _lookup_lists(embedding_weights, filled, weights, combiner, max_norm)
    if default_id is None and is_empty.any():
        flags = is_empty.reshape(-1, *[1] * (len(result.shape) - 1))
        result = ew.select(creation.constant(flags), creation.zeros((), result.dtype), result)
    return movement.reshape(result, (*lead, *result.shape[1:]))


@handles(SparseTensor, counting.bincount)
@handles(RaggedTensor, counting.bincount)
def _bincount(
    arr: Any,
    weights: Any = None,
    minlength: IntLike | None = None,
    maxlength: IntLike | None = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    if isinstance(arr, RaggedTensor):
        flat, lists, count = arr.flat_values, read_array(arr.value_rowids()), arr.shape[0]
    elif isinstance(arr, SparseTensor):
        flat, lists, count = arr.values, index_of(arr)[:, 0], arr._sizes[0]
    else:
        raise TypeError("The weights of tf.math.bincount have the form of the values.")
    factors = weights
    if weights is not None:
        w = as_values(weights)
        factors = w.flat_values if isinstance(w, RaggedTensor) else w
        factors = factors.values if isinstance(factors, SparseTensor) else factors
    if axis in (None, 0):
        return counting.bincount(
            flat, factors, minlength, maxlength, dtype, axis=axis, binary_output=binary_output
        )
    if axis != -1:
        raise ValueError(
            f"Unsupported value for argument axis={axis}. Only 0 and -1 are supported."
        )
    numbers = read_array(flat).astype(np.int64)
    if (numbers < 0).any():
        raise InvalidArgumentError("Input arr must be non-negative! [Op:Bincount]")
    size = int(numbers.max(initial=-1)) + 1
    size = size if minlength is None else max(size, int(read_array(minlength)))
    size = size if maxlength is None else min(size, int(read_array(maxlength)))
    positions = np.flatnonzero(numbers < size)
    keys = lists[positions] * size + numbers[positions]
    target = dtypes.as_dtype(dtype) if factors is None else factors.dtype
    total = count * size
    if factors is None:
        counts = np.bincount(keys, minlength=total)
        counts = np.minimum(counts, 1) if binary_output else counts
        result = creation.constant(counts.astype(target.numpy_dtype))
    else:
        row_weights = gather(factors, to_index_tensor(positions, dtypes.int64))
        result = segments.unsorted_segment_sum(
            row_weights, to_index_tensor(keys, dtypes.int64), total
        )
    return movement.reshape(result, (count, size))
