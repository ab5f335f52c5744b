"""Ops that cut regular parts out of a tensor: strided slices, and what consists of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..log.op import Op, OpCode
from ..log.record import append, require
from ..log.tensors import as_tensor
from ..plan.plan import FEW
from ..values.interning import clearable_cache
from ..values.spec import Spec, axes_of, intern
from ..values.spelling import suggest_keywords
from ..values.tensor import Tensor
from .movement import (
    RESHAPE,
    identity,
    reshape_if_needed,
    resolve_axis,
    store_plan,
    to_ints,
    to_shape,
)
from .slice_rows import NUMBER, SLICE, SMALL_SLICE, Cut, Ints, small


@suggest_keywords
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
    require(
        sum(sizes) == size and min(sizes, default=0) >= 0,
        "SplitV",
        f"Sizes {tuple(sizes)} add up to {sum(sizes)}, but axis {at} has {size}",
    )
    result, start = [], 0
    for part in sizes:
        cut = [(0, dim, 1) for dim in x.shape]
        cut[at] = (start, start + part, 1)
        result.append(_new(strided_slice(x, tuple(cut)), x))
        start += part
    return result


class Way(NamedTuple):
    """How a slice is recorded: as one row, and one more if it is seen under another shape.

    Attributes:
      code: What the row is.
      spec: The row's shape and dtype.
      op: Its op.
      begin: Where the slice begins, if that is an operand.
      seen: The code and spec under the other shape.
    """

    code: OpCode
    spec: Spec
    op: Op
    begin: tuple[int, Spec] | None
    seen: tuple[OpCode, Spec] | None


_known: dict[Any, Way] = clearable_cache()


def way_of(x: Spec, cut: Cut, shape: Ints) -> Way | None:
    """How a slice is recorded; None where it is all there is."""
    key = x, cut, shape
    way = _known.get(key)
    if way is None and any(part != (0, dim, 1) for part, dim in zip(cut, x.shape, strict=True)):
        attributes = small(x, cut, shape)
        if x.size <= FEW:
            code = SMALL_SLICE.with_attributes(attributes)
            way = Way(code, intern(shape, x.dtype), SMALL_SLICE, None, None)
        else:
            counts = attributes["counts"]
            code = SLICE.with_attributes({"counts": counts, "steps": attributes["steps"]})
            visited = None
            if shape != counts:
                visited = RESHAPE.with_attributes({"shape": shape}), intern(shape, x.dtype)
            begin = attributes["begin"], NUMBER
            way = Way(code, intern(counts, x.dtype), SLICE, begin, visited)
        store_plan(_known, key, way)
    return way


def take(x: Any, way: Way) -> Tensor:
    """The slice of a tensor or variable."""
    code, spec, op, begin, visited = way
    result = append(code, spec, x, op, begin)
    return result if visited is None else append(*visited, result, RESHAPE)


def strided_slice(x: Any, cut: Cut, shape: Ints | None = None) -> Tensor:
    """The elements range(start, end, step) of each axis; under another shape, if there is one.

    Where these are all, in the shape that ``x`` has, it is ``x`` itself: a tensor or a variable.
    """
    if shape is None:
        shape = tuple([len(range(*part)) for part in cut])
    way = way_of(x._spec, cut, shape)
    return reshape_if_needed(x, shape) if way is None else take(x, way)


def _new(value: Tensor, x: Tensor) -> Tensor:
    """What a function found, as a tensor of its own if that is its operand."""
    return identity(value) if value is x else value


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
    return _new(strided_slice(x, tuple(cut)), x)


@suggest_keywords
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
    axes = set(axes_of("ReverseV2", to_shape(axis), x.ndim))
    cut = ((dim - 1, -1, -1) if at in axes else (0, dim, 1) for at, dim in enumerate(x.shape))
    return _new(strided_slice(x, tuple(cut)), x)
