"""``x[...]``: slices in every form."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..log.record import require
from ..log.variable import Variable
from ..values import dtypes
from ..values.dtypes import bool_
from ..values.spec import TensorShape
from ..values.tensor import Tensor
from . import elementwise, movement
from .indexing import boolean_mask
from .slicing import SLICE, Cut, slice_into_zeros, slices, strided_slice


def getitem(x: Any, key: Any) -> Tensor:
    """``x[key]``: ints, slices, ellipsis, newaxis, integer tensors as ints, a bool mask.

    A slice of a variable has an `assign` that changes that part of the variable.

    Raises:
      TypeError: If the key is of another kind.
      InvalidArgumentError: If the key does not fit the shape.
    """
    spec = x._spec
    if getattr(key, "dtype", None) == bool_ and key.ndim:
        return boolean_mask(x, key)
    cut, shape = _cut(spec.shape, key)
    value = x.read_value() if isinstance(x, Variable) else x
    found = movement.shaped(strided_slice(value, cut), shape)
    if isinstance(x, Variable):
        found._sliced = x, key
        return found
    return movement.identity(found) if found is x else found


def with_slice(x: Variable, key: Any, value: Tensor) -> Tensor:
    """The value of ``x``, but for ``value`` in the place of ``x[key]``."""
    cut, shape = _cut(x.shape, key)
    taken = tuple(len(range(*part)) for part in cut)
    if value.ndim > len(shape):  # leading axes of size 1 go
        value = movement.reshape(value, value.shape[value.ndim - len(shape) :])
    value = movement.shaped(movement.broadcast_to(value, shape), taken)
    inside = np.zeros(x.shape, bool)
    inside[slices(cut)] = True
    return elementwise.select(inside, slice_into_zeros(value, tuple(x.shape), cut), x)


def _cut(whole: TensorShape, key: Any) -> tuple[Cut, tuple[int, ...]]:
    """What a key takes of each axis, as arguments of range(); and the result's shape."""
    rank = len(whole)
    keys = list(key) if isinstance(key, tuple) else [key]
    used = sum(k is not None and k is not Ellipsis for k in keys)
    ellipses = sum(k is Ellipsis for k in keys)
    require(ellipses <= 1, SLICE, "Multiple ellipses in slice not allowed")
    require(
        used == 0 or rank > 0, SLICE, "Attempting to slice scalar input: it has no axes"
    )
    require(
        used <= rank, SLICE,
        f"Index out of range using input dim {rank}; input has only {rank} dims, its shape is "
        f"{whole}",
    )  # fmt: skip
    if not ellipses:
        keys.append(Ellipsis)
    cut: list[tuple[int, int, int]] = []
    shape: list[int] = []
    for k in keys:
        axis = len(cut)
        if k is Ellipsis:
            rest = whole[axis : axis + rank - used]
            cut += ((0, dim, 1) for dim in rest)
            shape += rest
        elif k is None:
            shape.append(1)
        elif isinstance(k, slice):
            part = slice(*(None if s is None else _int(s) for s in (k.start, k.stop, k.step)))
            require(part.step != 0, SLICE, f"strides[{axis}] must be non-zero")
            cut.append(part.indices(whole[axis]))
            shape.append(len(range(*cut[-1])))
        else:
            dim, at = whole[axis], _int(k)
            require(
                -dim <= at < dim, SLICE,
                f"slice index {dtypes.shown(at)} of dimension {axis} out of bounds: the shape is "
                f"{whole}",
            )  # fmt: skip
            cut.append((at % dim, at % dim + 1, 1))
    return tuple(cut), tuple(shape)


def _int(value: Any) -> int:
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
