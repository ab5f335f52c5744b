"""Ops that join tensors: concat, stack, tile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, VARIADIC, Native, Op, defop
from ..log.record import record, require, spec_of
from ..values.convert import NUMPY, leaves, to_numeric_array
from ..values.dtypes import DType, as_dtype, float32, mismatch_error
from ..values.hints import suggest_keywords
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from .elementwise import cast
from .movement import broadcast_to, identity, reshape, resolve_axis, to_shape
from .slicing import Ranges, strided_slice, unstack

if TYPE_CHECKING:
    from ..values.annotations import IntLike, NumberLike, ShapeLike, TensorLike


def _concat_spec(op: Op, *specs: Spec, axis: int) -> Spec:
    reference = specs[0]
    for j, spec in enumerate(specs):
        if spec.dtype is not reference.dtype:
            raise mismatch_error(op.name, j, reference.dtype, spec.dtype)
        other_dims = [dim for k, dim in enumerate(spec.shape) if k != axis]
        require(
            spec.rank == reference.rank
            and other_dims == [dim for k, dim in enumerate(reference.shape) if k != axis],
            op,
            f"Dimension mismatch: shape[0] = {reference.shape} vs. shape[{j}] = {spec.shape} on "
            f"axis {axis}",
        )
    shape = list(reference.shape)
    shape[axis] = sum(spec.shape[axis] for spec in specs)
    return intern(tuple(shape), reference.dtype)


def _concat_vjp(g: Tensor, y: Tensor, *xs: Tensor, axis: int) -> list[Tensor]:
    parts, start = [], 0
    for x in xs:
        end = start + x.shape[axis]
        ranges = [(0, dim, 1) for dim in y.shape]
        ranges[axis] = (start, end, 1)
        parts.append(strided_slice(g, tuple(ranges)))
        start = end
    return parts


_SHORT_RUN = 16  # elements: the overhead of copying a run alone exceeds the copy
_UNIT = 1 << 16  # elements of a work unit of long runs
_INTERLEAVED = 1 << 11  # elements of a unit of short runs, which stay in L1


def _concat_native(out: Spec, *specs: Spec, axis: int) -> Native:
    dtypes = (f"uint{8 * out.dtype.size}",)
    runs = math.prod(out.shape[:axis])
    run_size = out.size // runs
    lengths = [spec.size // runs for spec in specs]
    if max(lengths) <= _SHORT_RUN:
        unit = max(1, _INTERLEAVED // run_size)
        parameters = len(specs), unit, run_size, runs, *lengths
        return Native("slices.interleave", dtypes, parameters, -(-runs // unit), out.size)
    parameters = len(specs), _UNIT, run_size, out.size, *lengths
    return Native("slices.join", dtypes, parameters, -(-out.size // _UNIT), out.size)


CONCAT = defop(
    "ConcatV2",
    ARRAY,
    VARIADIC,
    _concat_spec,
    vjp=_concat_vjp,
    native=_concat_native,
    compute=lambda out, *xs, axis: np.concatenate(xs, axis, out=out),
    complex_vjp="analytic",
)


def _pack_spec(op: Op, *specs: Spec, axis: int) -> Spec:
    reference = specs[0]
    for j, spec in enumerate(specs):
        if spec.dtype is not reference.dtype:
            raise mismatch_error(op.name, j, reference.dtype, spec.dtype)
        require(
            spec.shape == reference.shape,
            op,
            f"Shapes of all inputs to stack must match: values[0].shape = "
            f"{reference.shape.as_list()} != values[{j}].shape = {spec.shape.as_list()}",
        )
    return intern((*reference.shape[:axis], len(specs), *reference.shape[axis:]), reference.dtype)


def _pack_vjp(g: Tensor, y: Tensor, *xs: Tensor, axis: int) -> list[Tensor]:
    return unstack(g, axis=axis)


PACK = defop(
    "Pack",
    ARRAY,
    VARIADIC,
    _pack_spec,
    vjp=_pack_vjp,
    native=_concat_native,
    compute=lambda out, *xs, axis: np.stack(xs, axis, out=out),
    complex_vjp="analytic",
)


@suggest_keywords
def concat(values: TensorLike, axis: IntLike, name: str = "concat") -> Tensor:
    """Concatenate tensors along an existing axis.

    Args:
      values: A list of tensors of one dtype, whose shapes differ at most along the axis. Items that
        are not tensors take the dtype of the tensors.
      axis: The axis.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If the shapes do not fit, the dtypes differ, the axis is out of range,
        the values are scalars, or the list is empty.

    Example:
      >>> tf.concat([[[1, 2]], [[3, 4], [5, 6]]], axis=0).numpy()
      array([[1, 2],
             [3, 4],
             [5, 6]], dtype=int32)
    """
    if not isinstance(values, list | tuple):
        values = [values]
    tensors = as_tensors(values, "ConcatV2")
    require(bool(tensors), CONCAT, "Expected at least one tensor")
    require(tensors[0].ndim > 0, CONCAT, "Scalars cannot be concatenated: use `stack`")
    axis_index = resolve_axis(axis, tensors[0].ndim, "ConcatV2")
    if len(tensors) == 1:
        return identity(tensors[0])
    return record(CONCAT, tuple(tensors), axis=axis_index)


def as_tensors(values: Sequence[Any], op: str, dtype: DType | None = None) -> list[Tensor]:
    """Convert items to tensors of the first tensor's dtype, or else of the first item's dtype."""
    like_spec = next((spec for x in values if (spec := spec_of(x)) is not None), None)
    if like_spec is None and dtype is not None:
        like_spec = intern((), dtype)
    tensors = []
    for x in values:
        tensors.append(as_tensor(x, like_spec, op))
        like_spec = like_spec or tensors[0]._spec
    return tensors


@suggest_keywords
def stack(
    values: Iterable[TensorLike] | NumberLike, axis: IntLike = 0, name: str = "stack"
) -> Tensor:
    """Stack tensors of one shape along a new axis.

    Args:
      values: A list of tensors of one shape and dtype, or of numbers. A scalar is returned
        unchanged.
      axis: The position of the new axis in the result.
      name: Not used.

    Returns:
      A tensor with one more axis.

    Raises:
      InvalidArgumentError: If the shapes or dtypes differ, the axis is out of range, or the list is
        empty.

    Example:
      >>> tf.stack([[1, 2], [3, 4]], axis=1).numpy()
      array([[1, 3],
             [2, 4]], dtype=int32)
    """
    # Convert Python numbers as one list: in [1, 2.5] both become floats.
    if isinstance(values, int | float | np.generic) or values is None:
        return as_tensor(values)
    if (spec := spec_of(values)) is not None and not spec.rank:
        return as_tensor(values)
    values = list(values)
    is_plain = values and not any(spec_of(x) or isinstance(x, np.ndarray) for x in values)
    tensors = (
        _convert_list(values) if is_plain else as_tensors(values, "Pack", _common_dtype(values))
    )
    require(bool(tensors), "Pack", "Expected at least one tensor to stack")
    new_axis = resolve_axis(axis, tensors[0].ndim + 1, "Pack")
    return record(PACK, tuple(tensors), axis=new_axis)


def _convert_list(values: list[Any]) -> list[Tensor]:
    """Convert a list at once, or each item separately if their shapes differ."""
    try:
        stacked = as_tensor(values)
    except ValueError:
        return as_tensors(values, "Pack")
    return list(unstack(stacked))


def _common_dtype(values: Sequence[Any]) -> DType | None:
    """Return the dtype that NumPy integers need beside other arrays and lists; None if any will do.

    It depends on dtypes only, never on values: a replay of a recorded call may have other values.
    """
    if not all(isinstance(x, (*NUMPY, list, tuple, int, float)) for x in values):
        return None
    if any(spec_of(leaf) is not None for x in values for leaf in leaves(x)):
        return None
    item_dtypes = [x.dtype if isinstance(x, NUMPY) else to_numeric_array(x).dtype for x in values]
    if (
        not item_dtypes
        or item_dtypes[0].kind not in "iu"
        or any(dtype.kind not in "iuf" for dtype in item_dtypes)
    ):
        return None
    if any(dtype.kind == "f" for dtype in item_dtypes):
        return float32
    result_dtype = np.result_type(*item_dtypes)
    if result_dtype.kind == "f":  # uint64 and a signed dtype have no common integer dtype
        mismatch_index = next(k for k, dtype in enumerate(item_dtypes) if dtype != item_dtypes[0])
        raise mismatch_error(
            "Pack", mismatch_index, as_dtype(item_dtypes[0]), as_dtype(item_dtypes[mismatch_index])
        )
    return as_dtype(result_dtype)


def stack_nested(value: Sequence[TensorLike], dtype: DType | None) -> Tensor:
    """Stack a nest of lists that contains tensors, level by level; cast to ``dtype`` if given."""
    items = [stack_nested(x, dtype) if isinstance(x, list | tuple) else x for x in value]
    if dtype is not None:
        items = [cast(x, dtype) if spec_of(x) is not None else x for x in items]
    return stack(as_tensors(items, "Pack", dtype))


@suggest_keywords
def tile(input: TensorLike, multiples: ShapeLike, name: str | None = None) -> Tensor:
    """Repeat the whole tensor along its axes.

    To repeat each element see `repeat`.

    Args:
      input: A tensor of any dtype.
      multiples: The number of repeats, an int for each axis.
      name: Not used.

    Returns:
      A tensor of the same dtype, whose sizes are those of ``input`` times ``multiples``.

    Raises:
      InvalidArgumentError: If the number of multiples differs from the rank, or one is negative.

    Example:
      >>> tf.tile([[1, 2]], [2, 2]).numpy()
      array([[1, 2, 1, 2],
             [1, 2, 1, 2]], dtype=int32)
    """
    x = as_tensor(input)
    times = to_shape(multiples)
    require(
        len(times) == x.ndim and min(times, default=0) >= 0,
        "Tile",
        f"Expected {x.ndim} non-negative multiples for shape {x.shape}, got {len(times)}: {times}",
    )
    # Tiling is broadcasting along a new axis before each axis, merged into it afterwards.
    split_shape = tuple(part for dim in x.shape for part in (1, dim))
    broadcast_shape = tuple(p for dim, n in zip(x.shape, times, strict=True) for p in (n, dim))
    result_shape = tuple(dim * n for dim, n in zip(x.shape, times, strict=True))
    if 2 * x.ndim <= 8:
        return reshape(broadcast_to(reshape(x, split_shape), broadcast_shape), result_shape)
    for axis, n in enumerate(times):
        x = concat([x] * n, axis) if n else strided_slice(x, _empty_range(x, axis))
    return x


def _empty_range(x: Tensor, axis: int) -> Ranges:
    return tuple((0, 0 if k == axis else dim, 1) for k, dim in enumerate(x.shape))
