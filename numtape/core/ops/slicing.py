"""Strided slices, splits, and other regular parts of a tensor, with their derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Native, Op, OpCode, defop
from ..log.record import append, record, require
from ..plan.plan import SMALL_ROW_SIZE
from ..values.composite import dispatches
from ..values.dtypes import int64
from ..values.hints import suggest_keywords
from ..values.intern_table import clearable_cache
from ..values.spec import Spec, axes_of, intern
from ..values.tensor import Tensor
from .movement import (
    RESHAPE,
    identity,
    reshape_if_needed,
    resolve_axis,
    store_plan,
    strided_native,
    to_ints,
    to_shape,
)

if TYPE_CHECKING:
    from ..log.variable import Variable
    from ..values.annotations import IntLike, IntsLike, ShapeLike, TensorLike

Array = np.ndarray[Any, Any]

# Slices: the arguments (start, end, step) of range() for each axis. The flat index of the first
# element is an operand, because programs use many different ones; counts and steps, which mostly
# repeat, are attributes.

Ranges = tuple[tuple[int, int, int], ...]
Ints = tuple[int, ...]
NUMBER = intern((), int64)


def to_numpy_slices(cut: Ranges) -> tuple[slice, ...]:
    """Convert to an index of NumPy."""
    # An end before 0 means "through the first element", which a slice spells None.
    return tuple(
        slice(part[0], part[1] if part[1] >= 0 else None, part[2])
        if len(range(*part))
        else slice(0, 0)
        for part in cut
    )


def _flat_begin(cut: Ranges, shape: Ints) -> int:
    """Return the flat index of the first element of a slice."""
    place = 0
    for (start, _, _), dim in zip(cut, shape, strict=True):
        place = place * dim + start
    return 0 if any(not len(range(*part)) for part in cut) else place


def _record_begin(cut: Ranges, shape: Ints) -> Tensor:
    return as_tensor(_flat_begin(cut, shape), NUMBER)


def _slice_steps(cut: Ranges) -> Ints:
    return tuple(part[2] if len(range(*part)) > 1 else 1 for part in cut)


def view_slice(full: Array, begin: Array | int, counts: Ints, steps: Ints) -> Array:
    """Return a view of the elements of a slice."""
    if 0 in counts:
        return np.empty(counts, full.dtype)
    strides, stride = [], full.itemsize
    for dim, step in zip(reversed(full.shape), reversed(steps), strict=True):
        strides.append(step * stride)
        stride *= dim
    offset = int(begin) * full.itemsize
    return np.ndarray(counts, full.dtype, full, offset, strides[::-1])


def _slice_spec(op: Op, x: Spec, begin: Spec, counts: Ints, steps: Ints) -> Spec:
    return intern(counts, x.dtype)


def _slice(out: Array, x: Array, begin: Array, counts: Ints, steps: Ints) -> None:
    out[...] = view_slice(np.ascontiguousarray(x).reshape(x.shape), begin, counts, steps)


def _slice_copy_native(
    kernel: str, full: Spec, counts: Ints, steps: Ints, begin: int | None = None
) -> Native | None:
    """Return the kernel call for a slice; ``begin`` is None if it is an operand."""
    strides, stride = [], full.dtype.size
    for dim, step in zip(reversed(full.shape), reversed(steps), strict=True):
        strides.append(stride * step)
        stride *= dim
    return strided_native(kernel, full, counts, strides[::-1], -1 if begin is None else begin)


def _slice_native(out: Spec, x: Spec, begin: Spec, counts: Ints, steps: Ints) -> Native | None:
    return _slice_copy_native("part", x, counts, steps)


def _zeros_native(out: Spec, g: Spec, begin: Spec, shape: Ints, steps: Ints) -> Native | None:
    return _slice_copy_native("among_zeros", out, tuple(g.shape), steps)


def _slice_vjp(
    g: Tensor, y: Tensor, x: Tensor, begin: Tensor, counts: Ints, steps: Ints
) -> tuple[Tensor, None]:
    return record(SLICE_INTO_ZEROS, (g, begin), shape=tuple(x.shape), steps=steps), None


SLICE = defop(
    "StridedSlice",
    ARRAY,
    2,
    _slice_spec,
    compute=_slice,
    native=_slice_native,
    vjp=_slice_vjp,
    complex_vjp="analytic",
)


def _into_zeros(out: Array, g: Array, begin: Array, shape: Ints, steps: Ints) -> None:
    out[...] = 0
    view_slice(out, begin, g.shape, steps)[...] = g


def _into_zeros_vjp(
    g: Tensor, y: Tensor, x: Tensor, begin: Tensor, shape: Ints, steps: Ints
) -> tuple[Tensor, None]:
    return record(SLICE, (g, begin), counts=tuple(x.shape), steps=steps), None


# The derivative of a slice: places elements into zeros.
SLICE_INTO_ZEROS = defop(
    "StridedSliceGrad",
    ARRAY,
    2,
    lambda op, g, begin, shape, steps: intern(shape, g.dtype),
    compute=_into_zeros,
    native=_zeros_native,
    vjp=_into_zeros_vjp,
    complex_vjp="analytic",
)


# For small arrays the begin of a slice and the shape of the result are attributes as well: there
# are few such slices, and one row suffices.


def _small_spec(op: Op, x: Spec, begin: int, counts: Ints, steps: Ints, shape: Ints) -> Spec:
    return intern(shape, x.dtype)


def _small(out: Array, x: Array, begin: int, counts: Ints, steps: Ints, shape: Ints) -> None:
    out[...] = view_slice(np.ascontiguousarray(x).reshape(x.shape), begin, counts, steps).reshape(
        shape
    )


def _small_vjp(
    g: Tensor, y: Tensor, x: Tensor, begin: int, counts: Ints, steps: Ints, shape: Ints
) -> tuple[Tensor]:
    return (
        record(
            SMALL_INTO_ZEROS, (g,), begin=begin, counts=counts, steps=steps, shape=tuple(x.shape)
        ),
    )


def _small_native(
    out: Spec, x: Spec, begin: int, counts: Ints, steps: Ints, shape: Ints
) -> Native | None:
    return _slice_copy_native("part", x, counts, steps, begin)


def _small_zeros(out: Array, g: Array, begin: int, counts: Ints, steps: Ints, shape: Ints) -> None:
    out[...] = 0
    view_slice(out, begin, counts, steps)[...] = g.reshape(counts)


def _small_zeros_vjp(
    g: Tensor, y: Tensor, x: Tensor, begin: int, counts: Ints, steps: Ints, shape: Ints
) -> tuple[Tensor]:
    return (
        record(SMALL_SLICE, (g,), begin=begin, counts=counts, steps=steps, shape=tuple(x.shape)),
    )


def _small_zeros_native(
    out: Spec, g: Spec, begin: int, counts: Ints, steps: Ints, shape: Ints
) -> Native | None:
    return _slice_copy_native("among_zeros", out, counts, steps, begin)


SMALL_SLICE = defop(
    "SmallSlice",
    ARRAY,
    1,
    _small_spec,
    compute=_small,
    native=_small_native,
    vjp=_small_vjp,
    complex_vjp="analytic",
)
SMALL_INTO_ZEROS = defop(
    "SmallSliceGrad",
    ARRAY,
    1,
    _small_spec,
    compute=_small_zeros,
    native=_small_zeros_native,
    vjp=_small_zeros_vjp,
    complex_vjp="analytic",
)


def slice_attributes(x: Spec, cut: Ranges, shape: Ints) -> dict[str, Any]:
    """Return the attributes of a slice."""
    counts = tuple(len(range(*part)) for part in cut)
    return {
        "begin": _flat_begin(cut, x.shape),
        "counts": counts,
        "steps": _slice_steps(cut),
        "shape": shape,
    }


def slice_into_zeros(g: Tensor, shape: Ints, cut: Ranges) -> Tensor:
    """Return zeros of ``shape`` with ``g`` in place of the elements of a slice."""
    return record(
        SLICE_INTO_ZEROS, (g, _record_begin(cut, shape)), shape=shape, steps=_slice_steps(cut)
    )


@suggest_keywords
def unstack(
    value: TensorLike, num: IntLike | None = None, axis: IntLike = 0, name: str = "unstack"
) -> list[Tensor]:
    """Split a tensor into slices along an axis, without that axis.

    Args:
      value: A tensor of any dtype, of at least one axis.
      num: The expected number of slices; None for no check.
      axis: The axis.
      name: Not used.

    Returns:
      A list of tensors without the axis.

    Raises:
      InvalidArgumentError: If the axis is out of range, or ``num`` differs from its size.

    Example:
      >>> a, b = tf.unstack([[1, 2], [3, 4]], axis=1)
      >>> a.numpy(), b.numpy()
      (array([1, 3], dtype=int32), array([2, 4], dtype=int32))
    """
    x = as_tensor(value)
    at = resolve_axis(axis, x.ndim, "Unpack")
    require(
        num in (None, x.shape[at]),
        "Unpack",
        f"Expected num={num} slices along axis {at}, but the shape is {x.shape.as_list()}",
    )
    rest = (*x.shape[:at], *x.shape[at + 1 :])
    results = []
    for k in range(x.shape[at]):
        cut = [(0, dim, 1) for dim in x.shape]
        cut[at] = (k, k + 1, 1)
        results.append(strided_slice(x, tuple(cut), rest))
    return results


@suggest_keywords
def split(
    value: TensorLike,
    num_or_size_splits: IntsLike,
    axis: IntLike = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """Split a tensor into parts along an axis.

    Args:
      value: A tensor of any dtype, of at least one axis.
      num_or_size_splits: The number of equal parts, an int; or their sizes, one of which may be -1.
      axis: The axis.
      num: The expected number of sizes; None for no check.
      name: Not used.

    Returns:
      A list of tensors of the same dtype.

    Raises:
      InvalidArgumentError: If the sizes do not add up to the size of the axis, or the axis is out
        of range.

    Example:
      >>> [part.numpy() for part in tf.split([1, 2, 3, 4, 5], [2, -1])]
      [array([1, 2], dtype=int32), array([3, 4, 5], dtype=int32)]
    """
    x = as_tensor(value)
    require(x.ndim > 0, "Split", "Cannot split a scalar")
    at = resolve_axis(axis, x.ndim, "Split")
    size = x.shape[at]
    sizes = to_ints(num_or_size_splits)
    if not isinstance(sizes, int):
        sizes = to_shape(sizes)
    if isinstance(sizes, int):
        require(
            sizes > 0 and size % sizes == 0,
            "Split",
            f"Number of ways to split should evenly divide the split dimension, but got split_dim "
            f"{at} (size = {size}) and num_split {sizes}",
        )
        sizes = (size // sizes,) * sizes
    else:
        require(num in (None, len(sizes)), "SplitV", f"Expected num={num} sizes, but got {sizes}")
    if -1 in sizes:
        rest = size - sum(s for s in sizes if s != -1)
        sizes = tuple(rest if s == -1 else s for s in sizes)
    for k, part in enumerate(sizes):
        require(part >= 0, "SplitV", f"Split size at index {k} must be >= 0. Got: {part}")
    require(
        sum(sizes) == size,
        "SplitV",
        f"can't split axis of size {size} into pieces of size {tuple(sizes)}: Sizes "
        f"{tuple(sizes)} add up to {sum(sizes)}, but axis {at} has {size}",
    )
    result, start = [], 0
    for part in sizes:
        cut = [(0, dim, 1) for dim in x.shape]
        cut[at] = (start, start + part, 1)
        result.append(_as_new_tensor(strided_slice(x, tuple(cut)), x))
        start += part
    return result


class SliceView(NamedTuple):
    """The plan for recording a slice: one row, and a second row if the result is reshaped.

    Attributes:
      code: The op code of the row.
      spec: The shape and dtype of the row.
      op: The op.
      begin: The flat index of the first element and its spec, if that is an operand.
      reshaped: The code and spec under the other shape.
    """

    code: OpCode
    spec: Spec
    op: Op
    begin: tuple[int, Spec] | None
    reshaped: tuple[OpCode, Spec] | None


_plans: dict[Any, SliceView] = clearable_cache()


def plan_slice(x: Spec, cut: Ranges, shape: Ints) -> SliceView | None:
    """Return the plan for recording a slice; None if the slice is the whole tensor."""
    key = x, cut, shape
    way = _plans.get(key)
    if way is None and any(part != (0, dim, 1) for part, dim in zip(cut, x.shape, strict=True)):
        attributes = slice_attributes(x, cut, shape)
        if x.size <= SMALL_ROW_SIZE:
            code = SMALL_SLICE.with_attributes(attributes)
            way = SliceView(code, intern(shape, x.dtype), SMALL_SLICE, None, None)
        else:
            counts = attributes["counts"]
            code = SLICE.with_attributes({"counts": counts, "steps": attributes["steps"]})
            reshaped = None
            if shape != counts:
                reshaped = RESHAPE.with_attributes({"shape": shape}), intern(shape, x.dtype)
            begin = attributes["begin"], NUMBER
            way = SliceView(code, intern(counts, x.dtype), SLICE, begin, reshaped)
        store_plan(_plans, key, way)
    return way


def record_slice(x: Tensor | Variable, way: SliceView) -> Tensor:
    """Record a slice of a tensor or variable."""
    code, spec, op, begin, reshaped = way
    result = append(code, spec, x, op, begin)
    return result if reshaped is None else append(*reshaped, result, RESHAPE)


def strided_slice(x: Any, cut: Ranges, shape: Ints | None = None) -> Tensor:
    """Return the elements range(start, end, step) of each axis, reshaped to ``shape`` if given.

    If the result equals ``x``, it is ``x`` itself, a tensor or a variable.
    """
    if shape is None:
        shape = tuple([len(range(*part)) for part in cut])
    way = plan_slice(x._spec, cut, shape)
    return reshape_if_needed(x, shape) if way is None else record_slice(x, way)


def _as_new_tensor(value: Tensor, x: Tensor) -> Tensor:
    """Return ``value``, or a new tensor if it is the operand ``x`` itself."""
    return identity(value) if value is x else value


@dispatches
def slice_(
    input_: TensorLike, begin: ShapeLike, size: ShapeLike, name: str | None = None
) -> Tensor:
    """Slice ``size`` elements from ``begin`` along each axis; ``x[1:3, ::2]`` is more general.

    Args:
      input_: A tensor of any dtype.
      begin: The first index, an int for each axis.
      size: The number of elements, an int for each axis; -1 for all remaining elements.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError: If there is not one number for each axis, or the slice is out of range.

    Example:
      >>> tf.slice([[1, 2, 3], [4, 5, 6]], begin=[0, 1], size=[-1, 2]).numpy()
      array([[2, 3],
             [5, 6]], dtype=int32)
    """
    x = as_tensor(input_)
    starts, counts, cut = to_shape(begin), to_shape(size), []
    require(
        len(starts) == len(counts) == x.ndim,
        "Slice",
        f"Expected begin and size to have {x.ndim} numbers, one for each axis, but got "
        f"{len(starts)} and {len(counts)}",
    )
    for start, count, dim in zip(starts, counts, x.shape, strict=True):
        end = dim if count == -1 else start + count
        require(
            0 <= start <= end <= dim,
            "Slice",
            f"Expected begin[{start}] and size[{count}] inside [0, {dim}]",
        )
        cut.append((start, end, 1))
    return _as_new_tensor(strided_slice(x, tuple(cut)), x)


@suggest_keywords
def reverse(tensor: TensorLike, axis: IntsLike, name: str | None = None) -> Tensor:
    """Reverse the elements along axes.

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
    axes = set(axes_of("ReverseV2", to_shape(axis), x.ndim))
    cut = ((dim - 1, -1, -1) if at in axes else (0, dim, 1) for at, dim in enumerate(x.shape))
    return _as_new_tensor(strided_slice(x, tuple(cut)), x)
