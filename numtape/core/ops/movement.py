"""Ops that move elements: reshape, transpose, broadcast, and those that cut."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import AxisError, InvalidArgumentError
from ..log.op import ARRAY, ELEMENTWISE, VIEW, Op, defop
from ..log.record import as_tensor, record, require
from ..values.dtypes import int64, shown
from ..values.spec import MAX_DIM, Spec, axes_of, check_axis, intern
from ..values.tensor import Tensor
from . import rules
from .define import named, unary_op

Array = np.ndarray[Any, Any]


def static(value: Any) -> Any:
    """A shape-like argument as Python ints: a tensor, array, int or nest of them."""
    if type(value) is int:
        if not -MAX_DIM <= value <= MAX_DIM:
            raise ValueError(f"{shown(value)} does not fit int64.")
        return value
    if isinstance(value, list | tuple):
        return tuple(static(item) for item in value)
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"Expected integers, got {shown(value)}")
    if array.dtype.kind == "u" and array.size:
        static(int(array.max()))
    return array.tolist() if not array.ndim else tuple(array.tolist())


def static_shape(value: Any) -> tuple[int, ...]:
    """A shape argument as a tuple of ints."""
    found = static(value)
    if isinstance(found, int):
        return (found,)
    if found and set(map(type, found)) != {int}:
        raise InvalidArgumentError(f"Expected a vector of integers, got {shown(value)}")
    return tuple(found)


identity = unary_op("Identity", "x", lambda g, y, x: (g,), rules.same, "input", doc="""
    A tensor with the value of ``input`` that is another tensor: a row of its own.

    >>> x = tf.constant([1.0, 2.0])
    >>> y = tf.identity(x)
    >>> y is x, y.numpy()
    (False, array([1., 2.], dtype=float32))
""")


# One buffer under another shape.


def _reshape_spec(op: Op, x: Spec, shape: tuple[int, ...]) -> Spec:
    return intern(shape, x.dtype)


RESHAPE = defop(
    "Reshape", VIEW, 1, _reshape_spec, vjp=lambda g, y, x, shape: (reshape(g, tuple(x.shape)),)
)


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The same elements in another shape, in the same order: the last axis runs fastest.

    Nothing is copied.

    Args:
      tensor: A tensor of any dtype.
      shape: Ints, or a tensor of ints. One of them may be -1: what is left.
      name: Not used.

    Returns:
      A tensor of shape ``shape`` and the same dtype.

    Raises:
      InvalidArgumentError: If the sizes do not fit, or more than one is -1.

    Example:
      >>> tf.reshape([[1, 2, 3], [4, 5, 6]], (3, -1)).numpy()
      array([[1, 2],
             [3, 4],
             [5, 6]], dtype=int32)
    """
    x = as_tensor(tensor)
    return record(RESHAPE, (x,), shape=_reshaped(x, static_shape(shape)))


def shaped(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """``x`` itself where it has the shape, else `reshape`."""
    return x if shape == x.shape else reshape(x, shape)


def _reshaped(x: Tensor, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that `reshape` gives."""
    size = x._spec.size
    if wanted.count(-1) > 1:
        raise InvalidArgumentError("Only one input size may be -1 [Op:Reshape]")
    if -1 in wanted:
        rest = math.prod(dim for dim in wanted if dim != -1)
        most = size
        if rest == size == 0:  # beside a 0 the other sizes are shared out, as in TensorFlow
            most, rest = (math.prod(d for d in s if d not in (0, -1)) for s in (x.shape, wanted))
        require(
            rest > 0 and (size == 0 or size % rest == 0), RESHAPE,
            f"Input to reshape is a tensor with {size} values, but the requested shape requires a "
            f"multiple of {rest}",
        )  # fmt: skip
        wanted = tuple(most // rest if dim == -1 else dim for dim in wanted)
    total = math.prod(wanted)
    require(
        total == size and min(wanted, default=0) >= 0, RESHAPE,
        f"Input to reshape is a tensor with {size} values, but the requested shape has {total}: "
        f"{x.shape} to {wanted}",
    )  # fmt: skip
    return wanted


def axis_of(axis: Any, rank: int, op: str) -> int:
    """One axis counted from 0, for a rank that may include a new axis."""
    found = static_shape(axis)
    if len(found) != 1:
        raise AxisError(f"axis={axis!r} does not name one axis [Op:{op}].")
    check_axis(op, found[0], rank)
    return found[0] % rank


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor:
    """The same elements with a new axis of size 1.

    Args:
      input: A tensor of any dtype.
      axis: Where the new axis is in the result; negative ones count from its end.
      name: Not used.

    Returns:
      A tensor with one axis more.

    Raises:
      InvalidArgumentError: If ``axis`` is out of range (as AxisError, which is a ValueError, too).

    Example:
      >>> x = tf.zeros((2, 3))
      >>> tf.expand_dims(x, 0).shape, tf.expand_dims(x, -1).shape
      (TensorShape([1, 2, 3]), TensorShape([2, 3, 1]))
    """
    x = as_tensor(input)
    at = axis_of(axis, x.ndim + 1, "ExpandDims")
    return reshape(x, (*x.shape[:at], 1, *x.shape[at:]))


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """The same elements without axes of size 1.

    Args:
      input: A tensor of any dtype.
      axis: The axes that go, an int or a list; None or an empty list: all of size 1.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If an axis is out of range, or its size is not 1.

    Example:
      >>> tf.squeeze(tf.zeros((1, 2, 1))).shape
      TensorShape([2])
      >>> tf.squeeze(tf.zeros((1, 2, 1)), axis=0).shape
      TensorShape([2, 1])
    """
    x = as_tensor(input)
    named = () if axis is None else static_shape(axis)
    if not named:
        return reshape(x, tuple(dim for dim in x.shape if dim != 1))
    axes = {axis_of(one, x.ndim, "Squeeze") for one in named}
    for one in axes:
        require(
            x.shape[one] == 1, "Squeeze",
            f"Can not squeeze dim[{one}], expected a dimension of 1, got {x.shape[one]}",
        )  # fmt: skip
    return reshape(x, tuple(dim for at, dim in enumerate(x.shape) if at not in axes))


# Copies in another order or size.


def _transpose_spec(op: Op, x: Spec, perm: tuple[int, ...]) -> Spec:
    return intern(tuple(x.shape[axis] for axis in perm), x.dtype)


def _transpose_vjp(g: Tensor, y: Tensor, x: Tensor, perm: tuple[int, ...]) -> tuple[Tensor]:
    return (transpose(g, tuple(perm.index(axis) for axis in range(len(perm)))),)


TRANSPOSE = defop(
    "Transpose", ARRAY, 1, _transpose_spec, vjp=_transpose_vjp,
    compute=lambda out, x, perm: np.copyto(out, x.transpose(perm)),
)  # fmt: skip


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str = "transpose") -> Tensor:
    """The same elements with the axes in another order.

    Args:
      a: A tensor of any dtype.
      perm: The axes in their new order; None is the reversed order.
      conjugate: Not used: no dtype is complex.
      name: Not used.

    Returns:
      A tensor of the same dtype, whose axis k is axis ``perm[k]`` of ``a``.

    Raises:
      InvalidArgumentError: If ``perm`` does not name each axis once.

    Example:
      >>> tf.transpose([[1, 2, 3], [4, 5, 6]]).numpy()
      array([[1, 4],
             [2, 5],
             [3, 6]], dtype=int32)
      >>> tf.transpose(tf.zeros((2, 3, 4)), (1, 0, 2)).shape
      TensorShape([3, 2, 4])
    """
    x = as_tensor(a)
    order = tuple(range(x.ndim))[::-1] if perm is None else static_shape(perm)
    order = tuple(axis % x.ndim if -x.ndim <= axis < x.ndim else axis for axis in order)
    require(
        sorted(order) == list(range(x.ndim)), TRANSPOSE,
        f"perm must name each of the {x.ndim} axes of shape {x.shape} once, got {len(order)}: "
        f"{order}",
    )  # fmt: skip
    if order == tuple(range(x.ndim)):
        return identity(x)
    return record(TRANSPOSE, (x,), perm=order)


def permuted(x: Tensor, order: tuple[int, ...]) -> Tensor:
    """``x`` itself where the order is its own, else `transpose`."""
    return x if order == tuple(range(x.ndim)) else transpose(x, order)


def _broadcast_spec(op: Op, x: Spec, shape: tuple[int, ...]) -> Spec:
    try:
        fits = np.broadcast_shapes(x.shape, shape) == tuple(shape)
    except ValueError:
        fits = False
    require(
        fits, op, f"Incompatible shapes: {x.shape} cannot be broadcast to {tuple(shape)}"
    )
    return intern(tuple(shape), x.dtype)


BROADCAST = defop(
    "BroadcastTo", ELEMENTWISE, 1, _broadcast_spec, body="x", vjp=lambda g, y, x, shape: (g,)
)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements repeated along axes of size 1, and along new leading ones.

    The gradient is the sum over what was repeated.

    Args:
      input: A tensor of any dtype.
      shape: The wanted shape: ints, or a tensor of ints.
      name: Not used.

    Returns:
      A tensor of shape ``shape`` and the same dtype.

    Raises:
      InvalidArgumentError: If ``input`` does not broadcast to it.

    Example:
      >>> tf.broadcast_to([[1], [2]], (2, 3)).numpy()
      array([[1, 1, 1],
             [2, 2, 2]], dtype=int32)
    """
    x = as_tensor(input)
    wanted = static_shape(shape)
    return identity(x) if wanted == x.shape else record(BROADCAST, (x,), shape=wanted)


def unstack(
    value: Any, num: int | None = None, axis: Any = 0, name: str = "unstack"
) -> list[Tensor]:
    """The slices along an axis, without it, as a list.

    Args:
      value: A tensor of any dtype, of at least one axis.
      num: The number of slices, if it is to be checked.
      axis: The axis.
      name: Not used.

    Returns:
      A list of tensors with one axis less.

    Raises:
      InvalidArgumentError: If the axis is out of range, or ``num`` another number.

    Example:
      >>> a, b = tf.unstack([[1, 2], [3, 4]], axis=1)
      >>> a.numpy(), b.numpy()
      (array([1, 3], dtype=int32), array([2, 4], dtype=int32))
    """
    x = as_tensor(value)
    at = axis_of(axis, x.ndim, "Unpack")
    require(
        num in (None, x.shape[at]), "Unpack",
        f"Expected num={num} slices along axis {at}, but the shape is {x.shape.as_list()}",
    )  # fmt: skip
    rest = (*x.shape[:at], *x.shape[at + 1 :])
    found = []
    for k in range(x.shape[at]):
        cut = [(0, dim, 1) for dim in x.shape]
        cut[at] = (k, k + 1, 1)
        found.append(shaped(strided_slice(x, tuple(cut)), rest))
    return found


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """The parts into which a tensor is cut along an axis, as a list.

    Args:
      value: A tensor of any dtype, of at least one axis.
      num_or_size_splits: An int, for so many equal parts; or their sizes, one of which may be -1.
      axis: The axis.
      num: The number of sizes, if it is to be checked.
      name: Not used.

    Returns:
      A list of tensors of the same dtype.

    Raises:
      InvalidArgumentError: If the sizes do not add up to that of the axis, or it is out of range.

    Example:
      >>> [part.numpy() for part in tf.split([1, 2, 3, 4, 5], [2, -1])]
      [array([1, 2], dtype=int32), array([3, 4, 5], dtype=int32)]
    """
    x = as_tensor(value)
    require(x.ndim > 0, "Split", "Cannot split a scalar")
    at = axis_of(axis, x.ndim, "Split")
    size = x.shape[at]
    sizes = static(num_or_size_splits)
    if not isinstance(sizes, int):
        sizes = static_shape(sizes)
    if isinstance(sizes, int):
        require(
            sizes > 0 and size % sizes == 0, "Split",
            f"Number of ways to split should evenly divide the split dimension, but got split_dim "
            f"{at} (size = {size}) and num_split {sizes}",
        )  # fmt: skip
        sizes = (size // sizes,) * sizes
    else:
        require(
            num in (None, len(sizes)), "SplitV", f"Expected num={num} sizes, but got {sizes}"
        )
    if -1 in sizes:
        rest = size - sum(s for s in sizes if s != -1)
        sizes = tuple(rest if s == -1 else s for s in sizes)
    require(
        sum(sizes) == size and min(sizes, default=0) >= 0, "SplitV",
        f"Sizes {tuple(sizes)} add up to {sum(sizes)}, but axis {at} has {size}",
    )  # fmt: skip
    found, start = [], 0
    for part in sizes:
        cut = [(0, dim, 1) for dim in x.shape]
        cut[at] = (start, start + part, 1)
        found.append(_new(strided_slice(x, tuple(cut)), x))
        start += part
    return found


# Slices: (start, count-defining end, step) for each axis, as range() takes them. Where a slice
# begins is an operand, counted in elements: programs use many of them. Counts and steps, which
# mostly come again, are attributes.

Cut = tuple[tuple[int, int, int], ...]
Ints = tuple[int, ...]
_NUMBER = intern((), int64)


def _slices(cut: Cut) -> tuple[slice, ...]:
    # An end before 0 means "through the first element", which a slice spells None.
    return tuple(
        slice(part[0], part[1] if part[1] >= 0 else None, part[2]) if len(range(*part))
        else slice(0, 0) for part in cut
    )  # fmt: skip


def _begin(cut: Cut, shape: Ints) -> Tensor:
    """The place of a slice's first element among those of the whole."""
    place = 0
    for (start, _, _), dim in zip(cut, shape, strict=True):
        place = place * dim + start
    empty = any(not len(range(*part)) for part in cut)
    return as_tensor(0 if empty else place, _NUMBER)


def _steps(cut: Cut) -> Ints:
    return tuple(part[2] if len(range(*part)) > 1 else 1 for part in cut)


def _part(whole: Array, begin: Array, counts: Ints, steps: Ints) -> Array:
    """The elements of a slice, in place."""
    if 0 in counts:
        return np.empty(counts, whole.dtype)
    strides, stride = [], whole.itemsize
    for dim, step in zip(reversed(whole.shape), reversed(steps), strict=True):
        strides.append(step * stride)
        stride *= dim
    offset = int(begin) * whole.itemsize
    return np.ndarray(counts, whole.dtype, whole, offset, strides[::-1])


def _slice_spec(op: Op, x: Spec, begin: Spec, counts: Ints, steps: Ints) -> Spec:
    return intern(counts, x.dtype)


def _slice(out: Array, x: Array, begin: Array, counts: Ints, steps: Ints) -> None:
    out[...] = _part(np.ascontiguousarray(x).reshape(x.shape), begin, counts, steps)


def _slice_vjp(
    g: Tensor, y: Tensor, x: Tensor, begin: Tensor, counts: Ints, steps: Ints
) -> tuple[Tensor, None]:
    return record(SLICE_INTO_ZEROS, (g, begin), shape=tuple(x.shape), steps=steps), None


SLICE = defop("StridedSlice", ARRAY, 2, _slice_spec, compute=_slice, vjp=_slice_vjp)


def _into_zeros(out: Array, g: Array, begin: Array, shape: Ints, steps: Ints) -> None:
    out[...] = 0
    _part(out, begin, g.shape, steps)[...] = g


def _into_zeros_vjp(
    g: Tensor, y: Tensor, x: Tensor, begin: Tensor, shape: Ints, steps: Ints
) -> tuple[Tensor, None]:
    return record(SLICE, (g, begin), counts=tuple(x.shape), steps=steps), None


# The derivative of a slice: the slice's elements among zeros.
SLICE_INTO_ZEROS = defop(
    "StridedSliceGrad", ARRAY, 2, lambda op, g, begin, shape, steps: intern(shape, g.dtype),
    compute=_into_zeros, vjp=_into_zeros_vjp,
)  # fmt: skip


def strided_slice(x: Tensor, cut: Cut) -> Tensor:
    """The elements range(start, end, step) of each axis."""
    if all(part == (0, dim, 1) for part, dim in zip(cut, x.shape, strict=True)):
        return x
    counts = tuple(len(range(*part)) for part in cut)
    return record(SLICE, (x, _begin(cut, tuple(x.shape))), counts=counts, steps=_steps(cut))


def _new(found: Tensor, x: Tensor) -> Tensor:
    """What a function found, as a tensor of its own if that is its operand."""
    return identity(found) if found is x else found


def slice_into_zeros(g: Tensor, shape: Ints, cut: Cut) -> Tensor:
    """A tensor of ``shape`` that is 0 but for ``g`` where a slice would take its elements."""
    return record(SLICE_INTO_ZEROS, (g, _begin(cut, shape)), shape=shape, steps=_steps(cut))


def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """``size`` elements from ``begin`` on along each axis. ``x[1:3, ::2]`` can do more.

    Args:
      input_: A tensor of any dtype.
      begin: Where to begin, an int for each axis.
      size: How many, an int for each axis; -1: all that are left.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If there is not one number for each axis, or the slice does not lie
        inside.

    Example:
      >>> tf.slice([[1, 2, 3], [4, 5, 6]], begin=[0, 1], size=[-1, 2]).numpy()
      array([[2, 3],
             [5, 6]], dtype=int32)
    """
    x = as_tensor(input_)
    starts, counts, cut = static_shape(begin), static_shape(size), []
    require(
        len(starts) == len(counts) == x.ndim, "Slice",
        f"Expected begin and size to have {x.ndim} numbers, one for each axis, but got "
        f"{len(starts)} and {len(counts)}",
    )  # fmt: skip
    for start, count, dim in zip(starts, counts, x.shape, strict=True):
        end = dim if count == -1 else start + count
        require(
            0 <= start <= end <= dim, "Slice",
            f"Expected begin[{start}] and size[{count}] inside [0, {dim}]",
        )  # fmt: skip
        cut.append((start, end, 1))
    return _new(strided_slice(x, tuple(cut)), x)


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements in reversed order along axes.

    Args:
      tensor: A tensor of any dtype.
      axis: The axes, a list of ints.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If an axis is out of range, or named twice.

    Example:
      >>> tf.reverse([[1, 2, 3], [4, 5, 6]], axis=[1]).numpy()
      array([[3, 2, 1],
             [6, 5, 4]], dtype=int32)
    """
    x = as_tensor(tensor)
    axes = set(axes_of("ReverseV2", static_shape(axis), x.ndim))
    cut = ((dim - 1, -1, -1) if at in axes else (0, dim, 1) for at, dim in enumerate(x.shape))
    return _new(strided_slice(x, tuple(cut)), x)


named(globals(), __name__)
