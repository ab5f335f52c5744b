"""Ops that cut regular parts out of a tensor: strided slices, and what consists of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record, require
from ..log.tensors import as_tensor
from ..plan.plan import FEW
from ..values.dtypes import int64
from ..values.spec import Spec, axes_of, intern
from ..values.spelling import suggesting
from ..values.tensor import Tensor
from .movement import axis_of, identity, shaped, static, static_shape

Array = np.ndarray[Any, Any]


@suggesting
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
        found.append(strided_slice(x, tuple(cut), rest))
    return found


@suggesting
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


def slices(cut: Cut) -> tuple[slice, ...]:
    """What NumPy takes for a cut."""
    # An end before 0 means "through the first element", which a slice spells None.
    return tuple(
        slice(part[0], part[1] if part[1] >= 0 else None, part[2]) if len(range(*part))
        else slice(0, 0) for part in cut
    )  # fmt: skip


def _place(cut: Cut, shape: Ints) -> int:
    """The place of a slice's first element among those of the whole."""
    place = 0
    for (start, _, _), dim in zip(cut, shape, strict=True):
        place = place * dim + start
    return 0 if any(not len(range(*part)) for part in cut) else place


def _begin(cut: Cut, shape: Ints) -> Tensor:
    return as_tensor(_place(cut, shape), _NUMBER)


def _steps(cut: Cut) -> Ints:
    return tuple(part[2] if len(range(*part)) > 1 else 1 for part in cut)


def _part(whole: Array, begin: Array | int, counts: Ints, steps: Ints) -> Array:
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


def _native(
    kernel: str, whole: Spec, counts: Ints, steps: Ints, begin: int | None = None
) -> Native | None:
    """The kernel for a slice of ``counts`` elements, on as few axes as it has runs of runs.

    ``begin`` is None if that is an operand.
    """
    axes: list[tuple[int, int]] = []
    size = stride = whole.dtype.size
    if 0 in counts:
        return None
    for dim, count, step in zip(*(reversed(x) for x in (whole.shape, counts, steps)), strict=True):
        if axes and stride * step == axes[-1][0] * axes[-1][1]:
            axes[-1] = (axes[-1][0] * count, axes[-1][1])
        elif count > 1:
            axes.append((count, stride * step))
        stride *= dim
    axes = axes or [(1, size)]
    place = -1 if begin is None else begin
    parameters = (
        size, whole.size * size, place, len(axes), *(n for axis in axes[::-1] for n in axis)
    )  # fmt: skip
    work = math.prod(counts) if kernel == "part" else math.prod(counts) + whole.size
    return Native(f"slices.{kernel}", (f"uint{8 * size}",), parameters, 1, work)


def _slice_native(out: Spec, x: Spec, begin: Spec, counts: Ints, steps: Ints) -> Native | None:
    return _native("part", x, counts, steps)


def _zeros_native(out: Spec, g: Spec, begin: Spec, shape: Ints, steps: Ints) -> Native | None:
    return _native("among_zeros", out, tuple(g.shape), steps)


def _slice_vjp(
    g: Tensor, y: Tensor, x: Tensor, begin: Tensor, counts: Ints, steps: Ints
) -> tuple[Tensor, None]:
    return record(SLICE_INTO_ZEROS, (g, begin), shape=tuple(x.shape), steps=steps), None


SLICE = defop(
    "StridedSlice", ARRAY, 2, _slice_spec, compute=_slice, native=_slice_native, vjp=_slice_vjp,
    of_complex="analytic",
)  # fmt: skip


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
    compute=_into_zeros, native=_zeros_native, vjp=_into_zeros_vjp,
    of_complex="analytic",
)  # fmt: skip


# Of small arrays, where a slice begins is an attribute, too, and so is the shape that it gets:
# there are few such slices, and one row does it.


def _small_spec(op: Op, x: Spec, begin: int, counts: Ints, steps: Ints, shape: Ints) -> Spec:
    return intern(shape, x.dtype)


def _small(out: Array, x: Array, begin: int, counts: Ints, steps: Ints, shape: Ints) -> None:
    out[...] = _part(np.ascontiguousarray(x).reshape(x.shape), begin, counts, steps).reshape(shape)


def _small_vjp(
    g: Tensor, y: Tensor, x: Tensor, begin: int, counts: Ints, steps: Ints, shape: Ints
) -> tuple[Tensor]:
    return (record(SMALL_INTO_ZEROS, (g,), begin=begin, counts=counts, steps=steps,
                   shape=tuple(x.shape)),)  # fmt: skip


def _small_native(
    out: Spec, x: Spec, begin: int, counts: Ints, steps: Ints, shape: Ints
) -> Native | None:
    return _native("part", x, counts, steps, begin)


def _small_zeros(out: Array, g: Array, begin: int, counts: Ints, steps: Ints, shape: Ints) -> None:
    out[...] = 0
    _part(out, begin, counts, steps)[...] = g.reshape(counts)


def _small_zeros_vjp(
    g: Tensor, y: Tensor, x: Tensor, begin: int, counts: Ints, steps: Ints, shape: Ints
) -> tuple[Tensor]:
    return (record(SMALL_SLICE, (g,), begin=begin, counts=counts, steps=steps,
                   shape=tuple(x.shape)),)  # fmt: skip


def _small_zeros_native(
    out: Spec, g: Spec, begin: int, counts: Ints, steps: Ints, shape: Ints
) -> Native | None:
    return _native("among_zeros", out, counts, steps, begin)


SMALL_SLICE = defop(
    "SmallSlice", ARRAY, 1, _small_spec, compute=_small, native=_small_native, vjp=_small_vjp,
    of_complex="analytic",
)  # fmt: skip
SMALL_INTO_ZEROS = defop(
    "SmallSliceGrad", ARRAY, 1, _small_spec, compute=_small_zeros, native=_small_zeros_native,
    vjp=_small_zeros_vjp, of_complex="analytic",
)  # fmt: skip
def small(x: Spec, cut: Cut, shape: Ints) -> dict[str, Any]:
    """The attributes of a slice of a small array."""
    counts = tuple(len(range(*part)) for part in cut)
    return {"begin": _place(cut, x.shape), "counts": counts, "steps": _steps(cut), "shape": shape}


def strided_slice(x: Any, cut: Cut, shape: Ints | None = None) -> Tensor:
    """The elements range(start, end, step) of each axis; under another shape, if there is one.

    Where these are all, in the shape that ``x`` has, it is ``x`` itself: a tensor or a variable.
    """
    whole = x._spec.shape
    counts = tuple(len(range(*part)) for part in cut)
    if shape is None:
        shape = counts
    if all(part == (0, dim, 1) for part, dim in zip(cut, whole, strict=True)):
        return shaped(x, shape)
    if x._spec.size <= FEW:
        return record(SMALL_SLICE, (x,), **small(x._spec, cut, shape))
    found = record(SLICE, (x, _begin(cut, tuple(whole))), counts=counts, steps=_steps(cut))
    return shaped(found, shape)


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


@suggesting
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
