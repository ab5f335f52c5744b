"""`tf.map_fn` over rows of ragged and sparse tensors, or with ragged and sparse results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import nest
from ..core.ops import creation, joining
from ..core.values import dtypes
from ..core.values.dtypes import DType, as_dtype
from ..core.values.spec import TensorShape
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from ..tensor_spec import TensorSpec
from . import row_structure as rows
from .base import as_values, take_rows
from .ragged_arrangement import stack_ragged
from .ragged_tensor import RaggedTensor
from .sparse_arrangement import concat, expand_dims, index_of
from .sparse_tensor import SparseTensor
from .type_specs import RaggedTensorSpec, SparseTensorSpec


def map_rows(
    fn: Callable[[Any], Any], elems: Any, tensors: list[Any], count: int, signature: Any
) -> Any:
    """Apply a function to each row of tensors, and stack its results; see `tf.map_fn`."""
    if signature is None:
        signature = nest.map_structure(_spec_of_rows, elems)
    specs = [_parse_spec(x) for x in nest.flatten(signature)]
    columns: list[list[Any]] = [[] for _ in specs]
    for k in range(count):
        result = fn(nest.pack_sequence_as(elems, [_row_of(x, k) for x in tensors]))
        if nest.structure(signature) != nest.structure(result):
            raise ValueError(
                f"fn has a result of another structure than fn_output_signature: {result!r} and "
                f"{signature!r}"
            )
        for column, value, spec in zip(columns, nest.flatten(result), specs, strict=True):
            column.append(_check(value, spec))
    results = [_stack(column, spec) for column, spec in zip(columns, specs, strict=True)]
    return nest.pack_sequence_as(signature, results)


def _row_of(x: Any, k: int) -> Any:
    if not isinstance(x, SparseTensor):
        return x[k]
    index = index_of(x)
    selected = np.flatnonzero(index[:, 0] == k)
    return SparseTensor._make(index[selected][:, 1:], take_rows(x.values, selected), x._sizes[1:])


def _spec_of_rows(x: Any) -> TensorSpec:
    x = as_values(x)
    if isinstance(x, SparseTensor):
        return SparseTensorSpec(x.shape[1:], x.dtype)
    if isinstance(x, RaggedTensor):
        return RaggedTensorSpec(x.shape[1:], x.dtype, x.ragged_rank - 1, x.row_splits.dtype)
    return TensorSpec(x.shape[1:], x.dtype)


def _parse_spec(x: Any) -> TensorSpec:
    if isinstance(x, TensorSpec):
        return x
    return TensorSpec(None, as_dtype(x if isinstance(x, type) else getattr(x, "dtype", x)))


def _check(value: Any, spec: TensorSpec) -> Any:
    value = as_values(value)
    if isinstance(spec, SparseTensorSpec):
        fits = isinstance(value, SparseTensor)
    elif isinstance(spec, RaggedTensorSpec) and spec.ragged_rank:
        fits = isinstance(value, RaggedTensor) and value.ragged_rank == spec.ragged_rank
    else:
        fits = not isinstance(value, SparseTensor | RaggedTensor)
    if not fits:
        raise ValueError(
            f"fn has a result that does not fit fn_output_signature: {value!r} and {spec!r}"
        )
    if value.dtype is not spec.dtype:
        raise InvalidArgumentError(
            f"fn has a result of {value.dtype.name}; fn_output_signature says {spec.dtype.name}"
        )
    return value


def _stack(column: list[Any], spec: TensorSpec) -> Any:
    if isinstance(spec, SparseTensorSpec):
        if not column:
            shape = (0, *(size or 0 for size in spec.shape or ()))
            empty = np.zeros((0, len(shape)), np.int64)
            return SparseTensor._make(empty, _empty((0,), spec.dtype), shape)
        return concat(0, [expand_dims(x, 0) for x in column], expand_nonconcat_dims=True)
    if not isinstance(spec, RaggedTensorSpec):
        return (
            joining.stack(column) if column else _empty((0, *_fill_shape(spec.shape)), spec.dtype)
        )
    if column and not spec.ragged_rank and spec.shape.rank != 0:
        if not all(len(x.shape) for x in column):
            raise ValueError(
                "fn has scalar results, but fn_output_signature says that they are rows: pass "
                f"fn_output_signature=tf.{column[0].dtype.name}"
            )
        lengths = np.array([x.shape[0] for x in column], np.int64)
        joined = joining.concat(column, 0)
        return RaggedTensor._make(joined, rows.of_lengths(lengths), spec.row_splits_dtype)
    if column:
        if all(isinstance(x, Tensor) and not len(x.shape) for x in column):
            return joining.stack(column)
        return stack_ragged(column).with_row_splits_dtype(spec.row_splits_dtype)
    inner = _fill_shape(
        spec.shape[spec.ragged_rank + 1 :] if spec.shape.rank is not None else spec.shape
    )
    flat = _empty((0, *inner), spec.dtype)
    depth = spec.ragged_rank + (spec.shape.rank is None or spec.shape.rank > spec.ragged_rank)
    levels = [rows.of_lengths(np.zeros(0, np.int64))] * depth
    return RaggedTensor._nest(flat, levels, spec.row_splits_dtype)


def _fill_shape(shape: TensorShape) -> tuple[int, ...]:
    """Return a shape with 0 for unknown sizes."""
    return () if shape.rank is None else tuple(size or 0 for size in shape)


def _empty(shape: tuple[int, ...], dtype: DType) -> Any:
    if dtype is dtypes.string:
        return creation.fill(shape, "")
    return creation.zeros(shape, dtype)
