"""Arithmetic on ragged tensors: elementwise functions with broadcasting, reductions, products."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.ops import (
    along_axis,
    creation,
    elementwise as ew,
    indexing,
    losses,
    matrix_products,
    movement,
    norms,
    reduction,
    segments,
)
from ..core.values import dtypes
from ..core.values.composite import Composite
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from . import row_structure as rows
from .base import as_values, read_array, take_rows, to_index_tensor
from .dispatch import handles
from .ragged_arrangement import find_true
from .ragged_conversion import coordinates
from .ragged_getitem import expand_dims
from .ragged_tensor import RaggedTensor, common_splits_dtype, resolve_axis
from .row_structure import BroadcastError, Operand

if TYPE_CHECKING:
    from ..core.values.annotations import AxisLike, DTypeLike

Function = Callable[..., Any]
_INNER_RAGGED = (
    "The matrices in `a` and `b` may not be ragged in their innermost dimension. [Op:MatMul]"
)


def map_values(function: Function, x: RaggedTensor, *args: Any, **kwargs: Any) -> RaggedTensor:
    """Apply an elementwise function to the flat values."""
    return x.with_flat_values(function(x.flat_values, *args, **kwargs))


def is_scalar(x: Any) -> bool:
    """Whether an operand broadcasts without a look at its axes."""
    return isinstance(x, int | float | complex | np.generic) or (
        not isinstance(x, Composite) and hasattr(x, "shape") and not len(x.shape)
    )


def map_elements(function: Function, *operands: Any, **kwargs: Any) -> Any:
    """Apply an elementwise function to ragged and dense operands, which broadcast.

    Raises:
      InvalidArgumentError: If rows differ in length.
    """
    ragged = [x for x in operands if isinstance(x, RaggedTensor)]
    first = ragged[0]
    parts = [x._partitions() for x in ragged]
    if len(ragged) + sum(map(is_scalar, operands)) == len(operands) and all(
        len(x.shape) == len(first.shape) and _same_rows(level, parts[0])
        for x, level in zip(ragged, parts, strict=True)
    ):
        flat = [x.flat_values if isinstance(x, RaggedTensor) else x for x in operands]
        return first.with_flat_values(function(*flat, **kwargs))
    tensors = [
        x if isinstance(x, RaggedTensor) or is_scalar(x) else _like(x, first) for x in operands
    ]
    structures, positions = [], []
    for k, x in enumerate(tensors):
        if is_scalar(x):
            continue
        positions.append(k)
        if isinstance(x, RaggedTensor):
            levels = x._partitions()
            structures.append(Operand(levels, levels[0].nrows, tuple(x.flat_values.shape[1:])))
        else:
            structures.append(Operand([], x.shape[0], tuple(x.shape[1:])))
    try:
        levels, _, taken = rows.broadcast(structures)
    except BroadcastError as error:
        raise InvalidArgumentError(f"{error} [Op:{_name(function)}]") from None
    depth = len(levels) + 1
    rank = max(x.rank for x in structures)
    for k, structure, index in zip(positions, structures, taken, strict=True):
        x = tensors[k]
        if index is None:
            continue
        if isinstance(x, RaggedTensor):
            x, leading = x.flat_values, depth - (rank - structure.rank) - len(structure.partitions)
        else:
            leading = depth - (rank - structure.rank)
        shape = tuple(x.shape)
        x = movement.reshape(x, (int(np.prod(shape[:leading])), *shape[leading:]))
        tensors[k] = take_rows(x, index)
    flat_result = function(*tensors, **kwargs)
    return RaggedTensor._nest(flat_result, levels, common_splits_dtype(ragged))


def _same_rows(a: list[rows.Partition], b: list[rows.Partition]) -> bool:
    return len(a) == len(b) and all(
        x.splits is y.splits or np.array_equal(x.splits, y.splits)
        for x, y in zip(a, b, strict=True)
    )


def _like(x: Any, first: RaggedTensor) -> Any:
    """Convert a list to the dtype of the ragged operand."""
    if isinstance(x, list | tuple) and type(first.flat_values) is Tensor:
        return creation.convert_to_tensor(x, dtype_hint=first.dtype)
    return as_values(x)


def _name(function: Function) -> str:
    return str(getattr(getattr(function, "op", None), "name", getattr(function, "__name__", "")))


# Reductions.

_SEGMENTS: dict[str, Function] = {
    "sum": segments.unsorted_segment_sum,
    "prod": segments.unsorted_segment_prod,
    "max": segments.unsorted_segment_max,
    "min": segments.unsorted_segment_min,
}
_DENSE: dict[str, Function] = {
    "sum": reduction.reduce_sum,
    "prod": reduction.reduce_prod,
    "max": reduction.reduce_max,
    "min": reduction.reduce_min,
    "any": reduction.reduce_any,
    "all": reduction.reduce_all,
}


def _reduce_rows(x: Any, index: np.ndarray[Any, Any], count: int, how: str) -> Tensor:
    ids = to_index_tensor(index, dtypes.int64)
    if how not in ("any", "all"):
        return _SEGMENTS[how](x, ids, count)  # type: ignore[no-any-return]
    numbers = ew.cast(x, dtypes.int32)
    result = _SEGMENTS["max" if how == "any" else "min"](numbers, ids, count)
    return result > 0  # type: ignore[no-any-return]


def _reduce_axis(x: Any, axis: int, how: str) -> Any:
    """Reduce one axis of a tensor."""
    if not isinstance(x, RaggedTensor):
        return _DENSE[how](x, axis)
    parts = x._partitions()
    if axis > len(parts):
        return x.with_flat_values(_DENSE[how](x.flat_values, axis - len(parts)))
    levels, target, count = rows.reduce_level(parts, axis)
    return RaggedTensor._nest(
        _reduce_rows(x.flat_values, target, count, how), levels, x._splits_dtype
    )


def _axes_of(x: RaggedTensor, axis: AxisLike) -> list[int]:
    axes = np.ravel(read_array(axis))
    return sorted({resolve_axis(k, len(x.shape)) for k in axes.tolist()})


def reduce_ragged(x: RaggedTensor, axis: AxisLike, keepdims: bool, how: str) -> Any:
    """Reduce some axes, as TensorFlow does; all of them if ``axis`` is None."""
    if axis is None:
        total = _DENSE[how](x.flat_values)
        return _keep_all(total, x) if keepdims else total
    axes = _axes_of(x, axis)
    result: Any = x
    for k in reversed(axes):
        result = _reduce_axis(result, k, how)
        if keepdims:
            result = expand_dims(result, k)
    return result


def _reduce_segments(data: Any, segment_ids: Any, num_segments: Any, how: str) -> Any:
    """Reduce rows with the same id; rows are aligned at their beginning."""
    x, ids = as_values(data), as_values(segment_ids)
    while isinstance(ids, RaggedTensor):
        if not isinstance(x, RaggedTensor) or not _same_rows([x._partition], [ids._partition]):
            raise InvalidArgumentError("data and segment_ids have incompatible ragged shapes")
        x, ids = x._values, ids._values
    if not isinstance(x, RaggedTensor):
        return _SEGMENTS[how](x, ids, num_segments)
    numbers = read_array(ids).astype(np.int64)
    count = int(read_array(num_segments))
    if numbers.shape != (x._partition.nrows,):
        raise InvalidArgumentError(
            f"There are {numbers.shape} segment_ids for {x._partition.nrows} rows"
        )
    if ((numbers < 0) | (numbers >= count)).any():
        raise InvalidArgumentError(f"segment_ids must be in [0, {count})")
    levels, target, total = rows.align(x._partitions(), numbers, count)
    return RaggedTensor._nest(
        _reduce_rows(x.flat_values, target, total, how), levels, x._splits_dtype
    )


def _register_segments(function: Function, how: str) -> None:
    @handles(RaggedTensor, function)
    def reduce(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        return _reduce_segments(data, segment_ids, num_segments, how)


for _how, _function in _SEGMENTS.items():
    _register_segments(_function, _how)


def _segment_counts(data: Any, segment_ids: Any, num_segments: Any) -> tuple[Any, Any]:
    total = _reduce_segments(data, segment_ids, num_segments, "sum")
    ones = map_any(ew.ones_like_op, as_values(data))
    return total, _reduce_segments(ones, segment_ids, num_segments, "sum")


@handles(RaggedTensor, segments.unsorted_segment_mean)
def _segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
    total, count = _segment_counts(data, segment_ids, num_segments)
    return total / count


@handles(RaggedTensor, segments.unsorted_segment_sqrt_n)
def _segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
    total, count = _segment_counts(data, segment_ids, num_segments)
    return total / map_any(ew.sqrt, count)


def _register(function: Function, how: str) -> None:
    @handles(RaggedTensor, function)
    def reduce(
        input_tensor: Any, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
    ) -> Any:
        return reduce_ragged(input_tensor, axis, keepdims, how)


for _how, _function in _DENSE.items():
    _register(_function, _how)


def _to_inexact(x: RaggedTensor) -> RaggedTensor:
    """Return integers as float64, so that means are exact."""
    return (
        x if x.dtype.is_floating or x.dtype.is_complex else map_values(ew.cast, x, dtypes.float64)
    )


@handles(RaggedTensor, reduction.reduce_mean)
def _reduce_mean(
    input_tensor: Any, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Any:
    x = _to_inexact(input_tensor)
    total = reduce_ragged(x, axis, keepdims, "sum")
    count = reduce_ragged(map_values(ew.ones_like_op, x), axis, keepdims, "sum")
    return total / count


@handles(RaggedTensor, reduction.reduce_variance)
def _reduce_variance(
    input_tensor: Any, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Any:
    x = _to_inexact(input_tensor)
    if axis is None:
        variance = reduction.reduce_variance(x.flat_values)
        return _keep_all(variance, x) if keepdims else variance
    # A shift does not change the variance, and keeps the digits that the squares would lose. An
    # integer is exact.
    center = ew.stop_gradient(ew.round_(reduction.reduce_mean(x.flat_values)))
    shifted = map_values(lambda values: values - center, x)
    mean = _reduce_mean(shifted, axis, keepdims)
    variance = _reduce_mean(shifted * shifted, axis, keepdims) - mean * mean
    return map_any(lambda values: ew.select(values < 0.0, 0.0, values), variance)


@handles(RaggedTensor, reduction.reduce_std)
def _reduce_std(
    input_tensor: Any, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Any:
    return map_any(ew.sqrt, _reduce_variance(input_tensor, axis, keepdims))


def _keep_all(total: Tensor, x: RaggedTensor) -> Tensor:
    return movement.reshape(total, (1,) * len(x.shape))


@handles(RaggedTensor, along_axis.cumsum)
def _cumsum(
    x: Any,
    axis: int = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> RaggedTensor:
    axis = resolve_axis(axis, len(x.shape))
    parts = x._partitions()
    if axis > len(parts):
        return map_values(
            lambda values: along_axis.cumsum(values, axis - len(parts), exclusive, reverse), x
        )
    # The padding is 0, and each row of the dense tensor is added up alone.
    total = along_axis.cumsum(x.to_tensor(), axis, exclusive, reverse)
    places = rows_of_batches(parts, tuple(total.shape))
    inner = tuple(x.flat_values.shape[1:])
    values = take_rows(movement.reshape(total, (-1, *inner)), places)
    result: RaggedTensor = x.with_flat_values(values)
    return result


@handles(RaggedTensor, losses.softmax)
def _softmax(logits: Any, axis: AxisLike = None, name: str | None = None) -> Any:
    axis = resolve_axis(-1 if axis is None else int(read_array(axis)), len(logits.shape))
    if axis > logits.ragged_rank:
        return map_values(losses.softmax, logits, axis - logits.ragged_rank)
    peak = reduce_ragged(logits, axis, True, "max")
    powers = map_values(ew.exp, logits - map_any(ew.stop_gradient, peak))
    return powers / reduce_ragged(powers, axis, True, "sum")


def map_any(function: Function, x: Any) -> Any:
    """Apply an elementwise function to a tensor, ragged or dense."""
    return map_values(function, x) if isinstance(x, RaggedTensor) else function(x)


# Other functions.


@handles(RaggedTensor, indexing.where)
def _where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is None:
        return find_true(condition)
    return map_elements(indexing.where, condition, x, y)


@handles(RaggedTensor, indexing.one_hot)
def _one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> RaggedTensor:
    depth_of = indices.ragged_rank
    inner = -1 if axis is None else int(axis)
    if inner >= 0:
        if inner <= depth_of:
            raise ValueError(
                f"axis ({inner}) must be greater than indices.ragged_rank ({depth_of})."
            )
        inner -= depth_of
    return map_values(indexing.one_hot, indices, depth, on_value, off_value, inner, dtype)


@handles(RaggedTensor, norms.add_n)
def _add_n(inputs: Any, name: str | None = None) -> Any:
    if len(inputs) == 1:
        return inputs[0]
    if not all(isinstance(x, RaggedTensor) for x in inputs):
        raise ValueError("Inputs must be all ragged tensors of the same rows.")
    return map_elements(lambda *values: norms.add_n([*values]), *inputs)


@handles(RaggedTensor, matrix_products.matmul)
def _matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    *_: Any,
    **__: Any,
) -> Any:
    x, y = as_values(a), as_values(b)
    if len(x.shape) < 2 or len(y.shape) < 2 or len(x.shape) != len(y.shape):
        raise ValueError(
            f"`a` and `b` must have the same rank. It is at least 2; got {len(x.shape)} and "
            f"{len(y.shape)}"
        )
    if x.dtype is not y.dtype:
        raise ValueError(f"`a` and `b` must have the same dtype, got {x.dtype!r} and {y.dtype!r}")
    if len(x.shape) > 2 and None not in (x.shape[0], y.shape[0]) and x.shape[0] != y.shape[0]:
        raise ValueError("Batch dimensions of `a` and `b` do not have the same size.")
    if len(x.shape) == 2:
        if (
            isinstance(x, RaggedTensor)
            and not (transpose_a or adjoint_a)
            and len(x.flat_values.shape) == 1
        ):
            _require_uniform(x)
        if isinstance(y, RaggedTensor):
            _require_uniform(y)
    batch = x if isinstance(x, RaggedTensor) else y
    dense_x, row_counts, inner_x = _matrix_sizes(x, transpose_a or adjoint_a)
    dense_y, inner_y, column_counts = _matrix_sizes(y, transpose_b or adjoint_b)
    if (np.subtract(inner_x, inner_y) != 0).any():
        raise InvalidArgumentError(
            "Matrix size-incompatible: inner sizes of rows differ [Op:MatMul]"
        )
    if dense_x.shape[:-2] != dense_y.shape[:-2]:
        raise InvalidArgumentError("Batch dimensions of `a` and `b` do not have the same size.")
    product = matrix_products.matmul(
        dense_x, dense_y, transpose_a, transpose_b, adjoint_a, adjoint_b
    )
    if len(x.shape) == 2:
        return product
    return _cut_matrices(product, batch, row_counts, column_counts)


def _require_uniform(x: RaggedTensor) -> None:
    lengths = x._partition.lengths
    if len(lengths) and (lengths != lengths[0]).any():
        raise InvalidArgumentError(_INNER_RAGGED)


def _matrix_sizes(x: Any, transposed: bool) -> tuple[Any, Any, Any]:
    """Return a tensor padded with zeros, and the numbers of rows and columns of each matrix."""
    if isinstance(x, RaggedTensor):
        dense = x.to_tensor()
        if len(x.shape) == 2:
            sizes: list[Any] = [np.array(x.shape[0]), np.array(dense.shape[1])]
        else:
            lead = len(x.shape) - 2
            parts = x._partitions()
            bounds = tuple(dense.shape)
            sizes = []
            for axis in (lead, lead + 1):
                if axis <= len(parts):
                    lengths = parts[axis - 1].lengths
                    if axis == lead + 1:
                        above = parts[axis - 2]
                        longest = np.zeros(above.nrows, np.int64)
                        np.maximum.at(longest, rows.rowids_of(above.splits), lengths)
                        owner = rows.rowids_of(above.splits)
                        if (lengths != longest[owner]).any():
                            raise InvalidArgumentError(_INNER_RAGGED)
                        lengths = longest
                    sizes.append(lengths)
                else:
                    sizes.append(np.array(bounds[axis]))
    else:
        dense = x
        sizes = [np.array(x.shape[-2]), np.array(x.shape[-1])]
    first, second = sizes[::-1] if transposed else sizes
    return dense, first, second


def _cut_matrices(product: Tensor, like: RaggedTensor, row_counts: Any, column_counts: Any) -> Any:
    """Return products of padded matrices without the padding."""
    parts = like._partitions()[: len(like.shape) - 3]
    count = parts[-1].splits[-1] if parts else like.shape[0]
    if parts:
        index = rows_of_batches(parts, tuple(product.shape))
        product = take_rows(movement.reshape(product, (-1, *product.shape[-2:])), index)
    lengths = np.broadcast_to(row_counts, (int(count),))
    height, width = product.shape[-2:]
    starts = np.arange(int(count)) * height
    level = rows.of_lengths(lengths)
    flat = take_rows(movement.reshape(product, (-1, width)), rows.expand(starts, lengths))
    if column_counts.ndim == 0:
        return RaggedTensor._nest(flat, [*parts, level], like._splits_dtype)
    columns = np.repeat(column_counts, lengths)
    inner = rows.of_lengths(columns)
    flat = take_rows(
        movement.reshape(flat, (-1,)), rows.expand(np.arange(len(columns)) * width, columns)
    )
    return RaggedTensor._nest(flat, [*parts, level, inner], like._splits_dtype)


def rows_of_batches(parts: list[rows.Partition], shape: tuple[int, ...]) -> Any:
    """Return the position of each flat row among those of the padded tensor."""
    index = coordinates(parts)
    return np.ravel_multi_index(tuple(index.T), shape[: index.shape[1]])
