"""Padding with constant or mirrored elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record, require
from ..values.dtypes import mismatch_error, repr_of
from ..values.hints import suggest_keywords
from ..values.memory import Array
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from .indexing import fold_slices
from .movement import identity, strided_native, to_ints
from .slicing import strided_slice

if TYPE_CHECKING:
    from ..values.annotations import TensorLike

Paddings = tuple[tuple[int, int], ...]


def _pad_spec(op: Op, x: Spec, paddings: Paddings, mode: str) -> Spec:
    return intern(
        tuple(dim + before + after for dim, (before, after) in zip(x.shape, paddings, strict=True)),
        x.dtype,
    )


def _pad(out: Array, x: Array, paddings: Paddings, mode: str) -> None:
    how: Any = mode
    np.copyto(out, np.pad(x, paddings, mode=how))


def _pad_vjp(g: Tensor, y: Tensor, x: Tensor, paddings: Paddings, mode: str) -> tuple[Tensor]:
    if mode == "constant":
        inside = zip(x.shape, paddings, strict=True)
        return (strided_slice(g, tuple((before, before + dim, 1) for dim, (before, _) in inside)),)
    # Every element of y is an element of x: along each axis, add the adjoints of its copies.
    how: Any = mode
    for axis, (dim, (before, after)) in enumerate(zip(x.shape, paddings, strict=True)):
        origin = tuple(np.pad(np.arange(dim), (before, after), mode=how).tolist())
        g = fold_slices(g, origin, dim, axis)
    return (g,)


def _pad_native(out: Spec, x: Spec, paddings: Paddings, mode: str) -> Native | None:
    """Return the kernel call that copies the operand into zeros."""
    if mode != "constant":
        return None
    size = out.dtype.size
    strides = [math.prod(out.shape[axis + 1 :]) for axis in range(len(paddings))]
    begin = sum(stride * before for stride, (before, _) in zip(strides, paddings, strict=True))
    return strided_native("among_zeros", out, x.shape, [stride * size for stride in strides], begin)


PAD = defop(
    "Pad",
    ARRAY,
    1,
    _pad_spec,
    compute=_pad,
    native=_pad_native,
    vjp=_pad_vjp,
    complex_vjp="analytic",
)


def _pad_value_spec(op: Op, x: Spec, value: Spec, paddings: Paddings) -> Spec:
    if value.dtype is not x.dtype:
        raise mismatch_error(op.name, 2, x.dtype, value.dtype)
    require(value.size == 1, op, f"constant_values must be a scalar, got shape {value.shape}")
    return _pad_spec(op, x, paddings, "constant")


def _pad_value(out: Array, x: Array, value: Array, paddings: Paddings) -> None:
    np.copyto(out, np.pad(x, paddings, constant_values=value.reshape(())))


PAD_VALUE = defop(
    "PadV2",
    ARRAY,
    2,
    _pad_value_spec,
    compute=_pad_value,
    vjp=lambda g, y, x, value, paddings: (*_pad_vjp(g, y, x, paddings, "constant"), None),
    complex_vjp="analytic",
)


@suggest_keywords
def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    constant_values: TensorLike = 0,
    name: str | None = None,
) -> Tensor:
    """Pad a tensor before and after each axis.

    Args:
      tensor: A tensor of numbers or bools.
      paddings: Two ints for each axis: the numbers of elements to add before and after.
      mode: "CONSTANT"; "REFLECT", which mirrors without repeating the outermost elements; or
        "SYMMETRIC", which repeats them. Not case-sensitive.
      constant_values: The scalar for "CONSTANT", of the dtype of ``tensor``. No gradient reaches
        it.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If ``paddings`` are not pairs of non-negative ints, one for each axis,
        or too wide for their mode; or ``constant_values`` is not a scalar.
      ValueError: If the mode is unknown.

    Example:
      >>> tf.pad([1, 2, 3], [[1, 2]]).numpy()
      array([0, 1, 2, 3, 0, 0], dtype=int32)
      >>> tf.pad([1, 2, 3], [[2, 2]], mode="REFLECT").numpy()
      array([3, 2, 1, 2, 3, 2, 1], dtype=int32)
    """
    x = as_tensor(tensor)
    result = np.asarray(to_ints(paddings))
    is_valid = not result.size or result.dtype.kind in "iu"
    require(
        is_valid and (result.shape == (x.ndim, 2) or len(result.ravel()) == x.ndim == 0),
        PAD,
        f"paddings must be a matrix with 2 columns, and paddings must be the rank of inputs: "
        f"{x.ndim} pairs of non-negative ints, got {repr_of(paddings)}",
    )
    require(
        result.min(initial=0) >= 0,
        PAD,
        f"paddings must be non-negative: {x.ndim} pairs of non-negative ints, got "
        f"{repr_of(paddings)}",
    )
    pairs = tuple(map(tuple, result.tolist()))
    modes = {"CONSTANT": "constant", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}
    if not isinstance(mode, str) or mode.upper() not in modes:
        raise ValueError(
            f"Value of argument `mode` expected to be one of {list(modes)}. Received `mode` = "
            f"{str(mode).upper()}"
        )
    chosen = modes[mode.upper()]
    if not pairs:
        return identity(x)
    for dim, width in zip(x.shape, pairs, strict=True):
        max_width = {"reflect": dim - 1, "symmetric": dim}.get(chosen, max(width))
        require(max(width) <= max_width, PAD, f"{mode} padding of {width} is too wide for {dim}")
    if not pairs:  # a scalar, which has no axis to pad
        return identity(x)
    if chosen == "constant" and (type(constant_values) is not int or constant_values != 0):
        value = as_tensor(constant_values, x._spec, "Pad")
        return record(PAD_VALUE, (x, value), paddings=pairs)
    return record(PAD, (x,), paddings=pairs, mode=chosen)
