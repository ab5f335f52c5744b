"""Sparse and ragged tensors as elements: their rows, batches, and arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..composites.base import join_rows, take_rows
from ..composites.ragged_arrangement import stack_ragged
from ..composites.ragged_tensor import RaggedTensor
from ..composites.sparse_tensor import SparseTensor
from ..composites.type_specs import RaggedTensorSpec, SparseTensorSpec, spec_of_composite
from ..core.log.as_tensor import as_tensor
from ..core.log.string_tensor import of_strings
from ..core.values.dtypes import as_dtype
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from ..tensor_spec import TensorSpec

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike


def spec_of(x: Any) -> Any:
    """Return the spec of a sparse or ragged tensor."""
    return spec_of_composite(x)


def sparse_of(indices: Any, values: Any, dense_shape: Any) -> SparseTensor:
    """Return the sparse tensor of a ``SparseTensorValue``."""
    indices, dense_shape = (np.asarray(x, np.int64) for x in (indices, dense_shape))
    return SparseTensor(as_tensor(indices), values, as_tensor(dense_shape))


def row(x: Any, k: int) -> Any:
    """Return a slice of a sparse or ragged tensor along its first axis."""
    if isinstance(x, SparseTensor):
        indices = x.indices.numpy()
        is_in_row = np.flatnonzero(indices[:, 0] == k)
        values = take_rows(x.values, is_in_row)
        return SparseTensor._make(indices[is_in_row, 1:], values, tuple(x.shape)[1:])
    return x[k]


def batch(parts: Any) -> Any:
    """Stack sparse or ragged tensors, or tensors of different sizes as a ragged one.

    The shape of a sparse result has the largest size of each axis.

    Raises:
      InvalidArgumentError: If sparse tensors have different ranks.
    """
    if not isinstance(parts[0], SparseTensor):
        return stack_ragged([as_tensor(x) if isinstance(x, np.ndarray) else x for x in parts])
    shapes = {tuple(part.shape) for part in parts}
    if len({len(shape) for shape in shapes}) > 1:
        raise InvalidArgumentError(f"Cannot batch sparse tensors of different ranks: {shapes}.")
    largest = map(max, zip(*shapes, strict=True))
    indices = [np.insert(part.indices.numpy(), 0, k, axis=1) for k, part in enumerate(parts)]
    values = join_rows([part.values for part in parts])
    return SparseTensor._make(np.concatenate(indices), values, (len(parts), *largest))


def to_sparse(parts: list[Any], row_shape: list[int | None]) -> SparseTensor:
    """Stack arrays of different sizes to a sparse tensor of all their elements.

    Args:
      parts: Arrays.
      row_shape: The shape of a row; None for the largest size.

    Raises:
      InvalidArgumentError: If an array has another rank, or exceeds the shape.
    """
    sizes: list[Any] = [
        max(part.shape[axis] for part in parts)
        if size is None and part_has_axis(parts, axis)
        else size
        for axis, size in enumerate(row_shape)
    ]
    indices, values = [], []
    for k, part in enumerate(parts):
        if part.ndim != len(sizes) or any(
            have > size for have, size in zip(part.shape, sizes, strict=True)
        ):
            raise InvalidArgumentError(
                f"Dense tensor of shape {list(part.shape)} cannot be a row of shape {sizes}."
            )
        grid = np.indices(part.shape).reshape(part.ndim, -1).T
        indices.append(np.insert(grid, 0, k, axis=1))
        values.append(part.reshape(-1))
    joined = np.concatenate(indices).astype(np.int64)
    return SparseTensor._make(joined, as_tensor(np.concatenate(values)), (len(parts), *sizes))


def part_has_axis(parts: list[Any], axis: int) -> bool:
    """Whether all arrays have an axis."""
    return all(part.ndim > axis for part in parts)


def row_spec(spec: Any) -> Any:
    """Return the spec of the slices of a sparse or ragged tensor."""
    shape = None if spec.shape.rank is None else tuple(spec.shape)[1:]
    if isinstance(spec, SparseTensorSpec):
        return SparseTensorSpec(shape, spec.dtype)
    rank = max(spec.ragged_rank - 1, 0)
    return RaggedTensorSpec(shape, spec.dtype, rank, spec.row_splits_dtype)


def batch_spec(spec: Any, size: int | None) -> Any:
    """Return the spec of a batch of sparse or ragged tensors."""
    shape = None if spec.shape.rank is None else (size, *spec.shape)
    if isinstance(spec, SparseTensorSpec):
        return SparseTensorSpec(shape, spec.dtype)
    return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype)


def ragged_batch_spec(spec: Any, size: int | None, splits_dtype: DTypeLike) -> Any:
    """Return the spec of `Dataset.ragged_batch`: ragged if a size of a component is unknown."""
    if isinstance(spec, SparseTensorSpec | RaggedTensorSpec):
        return batch_spec(spec, size)
    if not isinstance(spec, TensorSpec) or spec.shape.rank is None:
        return spec
    if None not in tuple(spec.shape):
        return TensorSpec((size, *spec.shape), spec.dtype)
    unknown = [axis for axis, n in enumerate(spec.shape) if n is None]
    return RaggedTensorSpec((size, *spec.shape), spec.dtype, unknown[-1] + 1, splits_dtype)


def stack_as(spec: Any, parts: Any, splits_dtype: DTypeLike) -> Any:
    """Stack tensors to a ragged one with splits of a dtype."""
    result = batch(parts)
    if isinstance(result, RaggedTensor):
        return result.with_row_splits_dtype(as_dtype(splits_dtype))
    return result


def evaluate(x: Any, evaluate_part: Callable[[Any], Any]) -> Any:
    """Compute the components of a composite tensor, so that they belong to no log."""
    if not hasattr(x, "_flatten"):
        return x
    components, metadata = x._flatten()
    return type(x)._unflatten(metadata, [evaluate_part(part) for part in components])


def components_of(x: Any) -> tuple[str, list[Any]]:
    """Return the kind of a composite tensor, and its components as arrays."""
    if isinstance(x, SparseTensor):
        return "sparse", [x.indices.numpy(), _as_numpy(x.values), np.array(x.shape, np.int64)]
    splits = [part.numpy() for part in x.nested_row_splits]
    return "ragged", [_as_numpy(x.flat_values), *splits]


def from_components(kind: str, components: list[Any]) -> Any:
    """Return the composite tensor of `components_of`."""
    if kind == "sparse":
        indices, values, shape = components
        return SparseTensor._make(indices, _as_tensor(values), tuple(shape.tolist()))
    values, *splits = components
    return RaggedTensor.from_nested_row_splits(_as_tensor(values), splits)


def _as_tensor(values: Any) -> Any:
    return of_strings(values) if values.dtype == object else as_tensor(values)


def _as_numpy(x: Any) -> Any:
    return x.numpy() if isinstance(x, Tensor) else np.asarray(x)


def as_numpy_value(x: Any) -> Any:
    """Return a composite tensor as an array: of a ragged one, an array of the rows."""
    if isinstance(x, SparseTensor):
        _, (indices, values, shape) = components_of(x)
        dense = np.zeros(tuple(shape), values.dtype)
        dense[tuple(indices.T)] = values
        return dense
    return x.numpy() if isinstance(x, RaggedTensor) else x
