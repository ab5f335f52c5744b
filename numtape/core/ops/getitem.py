"""``x[...]``: indexing with ints, slices, an ellipsis, newaxis, integer tensors and bool masks.

`getitem` normalizes a key to one range per axis (`_parse_key`) and records a slice. Keys of plain
Python values are cached with their plan, because programs repeat them.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..log.as_tensor import as_tensor
from ..log.record import append, require
from ..log.variable import Variable
from ..values import dtypes
from ..values.composite import dispatches
from ..values.dtypes import bool_
from ..values.intern_table import clearable_cache
from ..values.spec import TensorShape
from ..values.tensor import Tensor
from . import elementwise, movement
from .indexing import boolean_mask
from .movement import store_plan
from .slicing import SLICE, Ranges, SliceView, plan_slice, slice_into_zeros, to_numpy_slices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType

    from ..values.annotations import IntLike, ShapeLike, TensorLike

    # A key of ``x[...]``: one entry, or a tuple or list of entries.
    KeyEntry: TypeAlias = IntLike | slice | EllipsisType | None
    Key: TypeAlias = KeyEntry | TensorLike | Sequence[KeyEntry]


# How to record a slice, by spec and static key.
_slice_cache: dict[Any, SliceView] = clearable_cache()


def getitem(x: Any, key: Any) -> Tensor:
    """Return ``x[key]``: ints, slices, ellipsis, newaxis, integer tensors as ints, a bool mask.

    A slice of a variable has an `assign` method that writes to that part of the variable.

    Raises:
      TypeError: If the key has an unsupported type.
      InvalidArgumentError: If the key does not fit the shape.
    """
    spec = x._spec
    static_key = key if type(key) is int else _static_key(key)
    plan = None if static_key is None else _slice_cache.get((spec, static_key))
    if plan is None:
        if getattr(key, "dtype", None) == bool_ or isinstance(key, bool):
            return boolean_mask(x, key)
        ranges, shape = _parse_key(spec.shape, key)
        plan = plan_slice(spec, ranges, shape)
        if plan is not None and static_key is not None:
            store_plan(_slice_cache, (spec, static_key), plan)
    if plan is not None:
        code, row_spec, op, begin, reshape = plan  # inlined from `slicing.taken` to save a call
        result = append(code, row_spec, x, op, begin)
        if reshape is not None:
            result = append(*reshape, result, movement.RESHAPE)
    else:
        result = movement.reshape_if_needed(x, shape)
        if result is x:
            result = movement.identity(x)
    if type(x) is not Tensor:
        result._sliced = x, key
    return result


def _static_key(key: Key) -> tuple[Any, ...] | None:
    """Return a hashable form of a key of Python's ints, slices and constants; None for others."""
    parts: list[Any] = []
    for k in key if type(key) is tuple else (key,):
        if type(k) is slice:
            part = k.start, k.stop, k.step
            for s in part:
                if s is not None and type(s) is not int:
                    return None
            parts.append(part)
        elif type(k) is int or k is None or k is Ellipsis:
            parts.append(k)
        else:
            return None
    return tuple(parts)


def replace_slice(x: Variable, key: Key, value: Tensor) -> Tensor:
    """Return the value of ``x`` with ``value`` in place of ``x[key]``."""
    ranges, shape = _parse_key(x.shape, key)
    slice_shape = tuple(len(range(*part)) for part in ranges)
    if value.ndim > len(shape):  # drop leading axes of size 1
        value = movement.reshape(value, value.shape[value.ndim - len(shape) :])
    value = movement.reshape_if_needed(movement.broadcast_to(value, shape), slice_shape)
    mask = np.zeros(x.shape, bool)
    mask[to_numpy_slices(ranges)] = True
    return elementwise.select(mask, slice_into_zeros(value, tuple(x.shape), ranges), x)


def _parse_key(x_shape: TensorShape, key: Key) -> tuple[Ranges, tuple[int, ...]]:
    """Return the range of each axis that a key selects, as range() arguments, and the shape."""
    rank = len(x_shape)
    # As in TensorFlow, a list counts as a tuple.
    keys = list(key) if isinstance(key, tuple | list) else [key]
    indexed_axes = sum(k is not None and k is not Ellipsis for k in keys)
    ellipses = sum(k is Ellipsis for k in keys)
    require(ellipses <= 1, SLICE, "Multiple ellipses in slice not allowed")
    require(
        indexed_axes == 0 or rank > 0,
        SLICE,
        "Attempting to slice scalar input: it has no axes",
    )
    require(
        indexed_axes <= rank,
        SLICE,
        f"Index out of range using input dim {rank}; input has only {rank} dims, its shape is "
        f"{x_shape}",
    )
    if not ellipses:
        keys.append(Ellipsis)
    ranges: list[tuple[int, int, int]] = []
    shape: list[int] = []
    for k in keys:
        axis = len(ranges)
        if k is Ellipsis:
            rest = x_shape[axis : axis + rank - indexed_axes]
            ranges += ((0, dim, 1) for dim in rest)
            shape.extend(rest)
        elif k is None:
            shape.append(1)
        elif isinstance(k, slice):
            part = slice(*(None if s is None else _as_index(s) for s in (k.start, k.stop, k.step)))
            require(part.step != 0, SLICE, f"strides[{axis}] must be non-zero")
            ranges.append(part.indices(x_shape[axis]))
            shape.append(len(range(*ranges[-1])))
        else:
            dim, index = x_shape[axis], _as_index(k)
            require(
                -dim <= index < dim,
                SLICE,
                f"slice index {dtypes.repr_of(index)} of dimension {axis} out of bounds: "
                f"the shape is {x_shape}",
            )
            ranges.append((index % dim, index % dim + 1, 1))
    return tuple(ranges), tuple(shape)


def _as_index(value: Any) -> int:
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
            f"tf.int32/tf.int64 tensors are valid indices, got {value!r}. Use `gather` to take "
            f"several indices."
        ) from None


@dispatches
def strided_slice_(
    input_: TensorLike,
    begin: ShapeLike,
    end: ShapeLike,
    strides: ShapeLike | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Variable | None = None,
    name: str | None = None,
) -> Tensor:
    """Slice a tensor by vectors of begins, ends and strides, the form that ``x[...]`` reduces to.

    Args:
      input_: A tensor of any dtype.
      begin: The start of each entry of the key, an int.
      end: The end of each entry, exclusive.
      strides: The step of each entry; None for 1.
      begin_mask: If bit k is set, ``begin[k]`` is ignored and the slice starts at the beginning.
      end_mask: If bit k is set, ``end[k]`` is ignored and the slice runs to the end.
      ellipsis_mask: If bit k is set, entry k is an ellipsis. At most one bit may be set.
      new_axis_mask: If bit k is set, entry k is a new axis of size 1.
      shrink_axis_mask: If bit k is set, entry k is the index ``begin[k]``, and its axis is dropped.
      var: The variable that ``input_`` is the value of, for the result's `assign`, or None.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If the vectors differ in length, a step is 0, or an entry does not fit.

    Example:
      >>> x = tf.reshape(tf.range(6), (2, 3))
      >>> tf.strided_slice(x, [0, 2], [2, 0], [1, -1]).numpy()
      array([[2, 1],
             [5, 4]], dtype=int32)
      >>> tf.strided_slice(x, [1, 0], [2, 3], shrink_axis_mask=1).numpy()
      array([3, 4, 5], dtype=int32)
    """
    starts, ends = movement.to_shape(begin), movement.to_shape(end)
    steps = (1,) * len(starts) if strides is None else movement.to_shape(strides)
    require(
        len(starts) == len(ends) == len(steps),
        SLICE,
        f"Expected begin, end, and strides to be 1D equal size tensors, but got shapes "
        f"[{len(starts)}], [{len(ends)}], and [{len(steps)}] instead.",
    )
    require(
        bin(ellipsis_mask & ((1 << len(starts)) - 1)).count("1") <= 1,
        SLICE,
        "Multiple ellipses in slice spec not allowed",
    )
    key: list[Any] = []
    for k, (start, stop, step) in enumerate(zip(starts, ends, steps, strict=True)):
        bit = 1 << k
        if ellipsis_mask & bit:
            key.append(Ellipsis)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            require(step > 0, SLICE, "only stride 1 allowed on non-range indexing.")
            key.append(start)
        else:
            key.append(
                slice(None if begin_mask & bit else start, None if end_mask & bit else stop, step)
            )
    x = input_ if isinstance(input_, Tensor | Variable) else as_tensor(input_)
    result = getitem(x, tuple(key))
    if isinstance(var, Variable):
        result._sliced = var, tuple(key)
    return result
