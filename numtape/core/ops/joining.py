"""Ops that join tensors: concat, stack, tile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Never

import numpy as np

from ..log.op import ARRAY, VARIADIC, Native, Op, defop
from ..log.record import record, require, spec_of
from ..log.tensors import as_tensor
from ..values.convert import NUMPY, leaves, numeric
from ..values.dtypes import DType, as_dtype, float32, mismatch
from ..values.spec import Spec, intern
from ..values.spelling import misspelled, spelled, suggesting
from ..values.tensor import Tensor
from .elementwise import cast
from .movement import axis_of, broadcast_to, identity, reshape, static_shape
from .slice_rows import Cut
from .slicing import strided_slice, unstack


def _concat_spec(op: Op, *specs: Spec, axis: int) -> Spec:
    first = specs[0]
    for j, spec in enumerate(specs):
        if spec.dtype is not first.dtype:
            raise mismatch(op.name, j, first.dtype, spec.dtype)
        rest = [dim for at, dim in enumerate(spec.shape) if at != axis]
        require(
            spec.rank == first.rank
            and rest == [dim for at, dim in enumerate(first.shape) if at != axis],
            op,
            f"Dimension mismatch: shape[0] = {first.shape} vs. shape[{j}] = {spec.shape} on axis "
            f"{axis}",
        )
    shape = list(first.shape)
    shape[axis] = sum(spec.shape[axis] for spec in specs)
    return intern(tuple(shape), first.dtype)


def _concat_vjp(g: Tensor, y: Tensor, *xs: Tensor, axis: int) -> list[Tensor]:
    parts, start = [], 0
    for x in xs:
        end = start + x.shape[axis]
        cut = [(0, dim, 1) for dim in y.shape]
        cut[axis] = (start, end, 1)
        parts.append(strided_slice(g, tuple(cut)))
        start = end
    return parts


def _concat_native(out: Spec, *specs: Spec, axis: int) -> Native:
    size = out.dtype.size
    runs = math.prod(out.shape[:axis])
    lengths = [spec.size // max(runs, 1) for spec in specs]
    return Native("slices.joined", (f"uint{8 * size}",), (len(specs), runs, *lengths), 1, out.size)


CONCAT = defop(
    "ConcatV2",
    ARRAY,
    VARIADIC,
    _concat_spec,
    vjp=_concat_vjp,
    native=_concat_native,
    compute=lambda out, *xs, axis: np.concatenate(xs, axis, out=out),
    of_complex="analytic",
)


def _pack_spec(op: Op, *specs: Spec, axis: int) -> Spec:
    first = specs[0]
    for j, spec in enumerate(specs):
        if spec.dtype is not first.dtype:
            raise mismatch(op.name, j, first.dtype, spec.dtype)
        require(
            spec.shape == first.shape,
            op,
            f"Shapes of all inputs to stack must match: values[0].shape = "
            f"{first.shape.as_list()} != values[{j}].shape = {spec.shape.as_list()}",
        )
    return intern((*first.shape[:axis], len(specs), *first.shape[axis:]), first.dtype)


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
    of_complex="analytic",
)


@suggesting
def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Tensors joined along an axis that they have.

    Args:
      values: A list of tensors of one dtype, whose shapes differ at most along the axis. What is no
        tensor takes the dtype of those that are.
      axis: The axis.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If the shapes do not fit, the dtypes differ, the axis is out of range,
        they are scalars, or there are none.

    Example:
      >>> tf.concat([[[1, 2]], [[3, 4], [5, 6]]], axis=0).numpy()
      array([[1, 2],
             [3, 4],
             [5, 6]], dtype=int32)
    """
    if not isinstance(values, list | tuple):
        values = [values]
    tensors = alike(values, "ConcatV2")
    require(bool(tensors), CONCAT, "Expected at least one tensor")
    require(tensors[0].ndim > 0, CONCAT, "Scalars cannot be concatenated: use `stack`")
    at = axis_of(axis, tensors[0].ndim, "ConcatV2")
    if len(tensors) == 1:
        return identity(tensors[0])
    return record(CONCAT, tuple(tensors), axis=at)


def alike(values: Sequence[Any], op: str, dtype: DType | None = None) -> list[Tensor]:
    """Tensors of a list's items, all of the first tensor's dtype (or the first item's)."""
    like = next((spec for x in values if (spec := spec_of(x)) is not None), None)
    if like is None and dtype is not None:
        like = intern((), dtype)
    found = []
    for x in values:
        found.append(as_tensor(x, like, op))
        like = like or found[0]._spec
    return found


@spelled
def stack(values: Any, axis: Any = 0, name: str = "stack", **wrong: Never) -> Tensor:
    """Tensors of one shape joined along a new axis.

    Args:
      values: A list of tensors of one shape and dtype, or of numbers. A scalar stays as it is.
      axis: Where the new axis is in the result.
      name: Not used.

    Returns:
      A tensor with one axis more.

    Raises:
      InvalidArgumentError: If the shapes or dtypes differ, the axis is out of range, or there are
        none.

    Example:
      >>> tf.stack([[1, 2], [3, 4]], axis=1).numpy()
      array([[1, 3],
             [2, 4]], dtype=int32)
    """
    if wrong:
        misspelled(stack, wrong)
    # Python numbers are one list to convert: of [1, 2.5] both become floats.
    if isinstance(values, int | float | np.generic) or values is None:
        return as_tensor(values)
    if (spec := spec_of(values)) is not None and not spec.rank:
        return as_tensor(values)
    values = list(values)
    plain = values and not any(spec_of(x) or isinstance(x, np.ndarray) for x in values)
    tensors = _of_list(values) if plain else alike(values, "Pack", _of_arrays(values))
    require(bool(tensors), "Pack", "Expected at least one tensor to stack")
    at = axis_of(axis, tensors[0].ndim + 1, "Pack")
    return record(PACK, tuple(tensors), axis=at)


def _of_list(values: list[Any]) -> list[Tensor]:
    """The items of a list of lists; where they are of several shapes, each by itself."""
    try:
        whole = as_tensor(values)
    except ValueError:
        return alike(values, "Pack")
    return list(unstack(whole))


def _of_arrays(values: Sequence[Any]) -> DType | None:
    """The dtype that integers of NumPy need beside other arrays and lists, None where any will do.

    Values are not asked: a recorded call may be replayed with other ones.
    """
    if not all(isinstance(x, (*NUMPY, list, tuple, int, float)) for x in values):
        return None
    if any(spec_of(leaf) is not None for x in values for leaf in leaves(x)):
        return None
    found = [x.dtype if isinstance(x, NUMPY) else numeric(x).dtype for x in values]
    if not found or found[0].kind not in "iu" or any(dtype.kind not in "iuf" for dtype in found):
        return None
    if any(dtype.kind == "f" for dtype in found):
        return float32
    common = np.result_type(*found)
    if common.kind == "f":  # of uint64 and a signed one
        other = next(k for k, dtype in enumerate(found) if dtype != found[0])
        raise mismatch("Pack", other, as_dtype(found[0]), as_dtype(found[other]))
    return as_dtype(common)


def pack(value: Any, dtype: DType | None) -> Tensor:
    """A nest of lists with tensors inside, stacked level by level; cast, if a dtype is given."""
    items = [pack(x, dtype) if isinstance(x, list | tuple) else x for x in value]
    if dtype is not None:
        items = [cast(x, dtype) if spec_of(x) is not None else x for x in items]
    return stack(alike(items, "Pack", dtype))


@suggesting
def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """The elements repeated along axes: the whole tensor, again and again.

    To repeat each element see `repeat`.

    Args:
      input: A tensor of any dtype.
      multiples: How often, an int for each axis.
      name: Not used.

    Returns:
      A tensor of the same dtype, whose sizes are those of ``input`` times ``multiples``.

    Raises:
      InvalidArgumentError: If there is not one multiple for each axis, or one is negative.

    Example:
      >>> tf.tile([[1, 2]], [2, 2]).numpy()
      array([[1, 2, 1, 2],
             [1, 2, 1, 2]], dtype=int32)
    """
    x = as_tensor(input)
    times = static_shape(multiples)
    require(
        len(times) == x.ndim and min(times, default=0) >= 0,
        "Tile",
        f"Expected {x.ndim} non-negative multiples for shape {x.shape}, got {len(times)}: {times}",
    )
    # Repeating is broadcasting along a new axis before each, merged into it.
    apart = tuple(part for dim in x.shape for part in (1, dim))
    wide = tuple(p for dim, n in zip(x.shape, times, strict=True) for p in (n, dim))
    whole = tuple(dim * n for dim, n in zip(x.shape, times, strict=True))
    if 2 * x.ndim <= 8:
        return reshape(broadcast_to(reshape(x, apart), wide), whole)
    for axis, n in enumerate(times):
        x = concat([x] * n, axis) if n else strided_slice(x, _emptied(x, axis))
    return x


def _emptied(x: Tensor, axis: int) -> Cut:
    return tuple((0, 0 if at == axis else dim, 1) for at, dim in enumerate(x.shape))
