"""Ops that move elements: reshape, transpose, broadcast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Never

import numpy as np

from ...errors import AxisError, InvalidArgumentError
from ..log.op import ARRAY, ELEMENTWISE, VIEW, Native, Op, OpCode, defop
from ..log.record import append, record, require
from ..log.tensors import as_tensor
from ..values.dtypes import format_value
from ..values.interning import clearable_cache
from ..values.spec import MAX_DIM, Spec, check_axis, intern
from ..values.spelling import raise_unexpected_keyword, hide_wrong_keywords, suggest_keywords
from ..values.tensor import Tensor
from . import rules
from .conjugates import conjugate as conjugated
from .define import named, unary_op

Array = np.ndarray[Any, Any]

MOST = 1024  # ways to move elements that are known, of one kind: programs may have any shapes
_INT = frozenset({int})


def keep(known: dict[Any, Any], key: Any, way: Any) -> None:
    """Enter what is recorded for a spec and arguments; a full table is emptied first."""
    if len(known) >= MOST:
        known.clear()
    known[key] = way


def static(value: Any) -> Any:
    """A shape-like argument as Python ints: a tensor, array, int or nest of them."""
    if type(value) is int:
        if not -MAX_DIM <= value <= MAX_DIM:
            raise ValueError(f"{format_value(value)} does not fit int64.")
        return value
    if isinstance(value, list | tuple):
        return tuple(static(item) for item in value)
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"Expected integers, got {format_value(value)}")
    if array.dtype.kind == "u" and array.size:
        static(int(array.max()))
    return array.tolist() if not array.ndim else tuple(array.tolist())


def static_shape(value: Any) -> tuple[int, ...]:
    """A shape argument as a tuple of ints."""
    found = static(value)
    if isinstance(found, int):
        return (found,)
    if found and set(map(type, found)) != {int}:
        raise InvalidArgumentError(f"Expected a vector of integers, got {format_value(value)}")
    return tuple(found)


identity = unary_op(
    "Identity",
    "x",
    lambda g, y, x: (g,),
    rules.same,
    "input",
    doc="""
    A tensor with the value of ``input`` that is another tensor: a row of its own.

    >>> x = tf.constant([1.0, 2.0])
    >>> y = tf.identity(x)
    >>> y is x, y.numpy()
    (False, array([1., 2.], dtype=float32))
""",
)


# One buffer under another shape.


def _reshape_spec(op: Op, x: Spec, shape: tuple[int, ...]) -> Spec:
    return intern(shape, x.dtype)


RESHAPE = defop(
    "Reshape",
    VIEW,
    1,
    _reshape_spec,
    vjp=lambda g, y, x, shape: (reshape(g, tuple(x.shape)),),
    of_complex="analytic",
)


# By spec and shape, as it was given.
_reshapes: dict[tuple[Spec, tuple[int, ...]], tuple[OpCode, Spec]] = clearable_cache()


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
    x = tensor if type(tensor) is Tensor else as_tensor(tensor)
    usual = isinstance(shape, list | tuple) and set(map(type, shape)) <= _INT
    sizes = (*shape,) if usual else ()
    way = _reshapes.get((x._spec, sizes)) if usual else None
    if way is None:
        wanted = _reshaped(x, static_shape(shape))
        way = RESHAPE.with_attributes({"shape": wanted}), intern(wanted, x.dtype)
        if usual:
            keep(_reshapes, (x._spec, sizes), way)
    return append(*way, x, RESHAPE)


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
            rest > 0 and (size == 0 or size % rest == 0),
            RESHAPE,
            f"Input to reshape is a tensor with {size} values, but the requested shape requires a "
            f"multiple of {rest}",
        )
        wanted = tuple(most // rest if dim == -1 else dim for dim in wanted)
    total = math.prod(wanted)
    require(
        total == size and min(wanted, default=0) >= 0,
        RESHAPE,
        f"Input to reshape is a tensor with {size} values, but the requested shape has {total}: "
        f"{x.shape} to {wanted}",
    )
    return wanted


def axis_of(axis: Any, rank: int, op: str) -> int:
    """One axis counted from 0, for a rank that may include a new axis."""
    found = static_shape(axis)
    if len(found) != 1:
        raise AxisError(f"axis={axis!r} does not name one axis [Op:{op}].")
    check_axis(op, found[0], rank)
    return found[0] % rank


@suggest_keywords
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
    x = input if type(input) is Tensor else as_tensor(input)
    shape, rank = (*x._spec.shape,), x._spec.rank + 1
    usual = type(axis) is int and -rank <= axis < rank
    at = axis % rank if usual else axis_of(axis, rank, "ExpandDims")
    return reshape(x, (*shape[:at], 1, *shape[at:]))


@hide_wrong_keywords
def squeeze(input: Any, axis: Any = None, name: str | None = None, **wrong: Never) -> Tensor:
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
    if wrong:
        raise_unexpected_keyword(squeeze, wrong)
    x = as_tensor(input)
    named = () if axis is None else static_shape(axis)
    if not named:
        return reshape(x, (*filter((1).__ne__, x._spec.shape),))
    axes = {axis_of(one, x.ndim, "Squeeze") for one in named}
    for one in axes:
        require(
            x.shape[one] == 1,
            "Squeeze",
            f"Can not squeeze dim[{one}], expected a dimension of 1, got {x.shape[one]}",
        )
    return reshape(x, tuple(dim for at, dim in enumerate(x.shape) if at not in axes))


# Copies in another order or size.

FEW_MOVED = 1 << 16  # elements up to which our kernel takes less time than NumPy's


def _transpose_spec(op: Op, x: Spec, perm: tuple[int, ...]) -> Spec:
    return intern(tuple(x.shape[axis] for axis in perm), x.dtype)


def _transpose_vjp(g: Tensor, y: Tensor, x: Tensor, perm: tuple[int, ...]) -> tuple[Tensor]:
    return (transpose(g, tuple(perm.index(axis) for axis in range(len(perm)))),)


def strided(
    kernel: str, whole: Spec, counts: Sequence[int], strides: Sequence[int], begin: int
) -> Native | None:
    """The kernel for elements that lie ``strides`` bytes from each other, from ``begin`` on.

    It has as few axes as there are runs of runs. ``begin`` is -1 if it is an operand.
    """
    if 0 in counts:
        return None
    axes: list[tuple[int, int]] = []
    for count, stride in zip(reversed(counts), reversed(strides), strict=True):
        if axes and stride == axes[-1][0] * axes[-1][1]:
            axes[-1] = axes[-1][0] * count, axes[-1][1]
        elif count > 1:
            axes.append((count, stride))
    size = whole.dtype.size
    axes = axes or [(1, size)]
    parameters = (
        size,
        whole.size * size,
        begin,
        len(axes),
        *(n for axis in axes[::-1] for n in axis),
    )
    work = math.prod(counts) + (0 if kernel == "part" else whole.size)
    return Native(f"slices.{kernel}", (f"uint{8 * size}",), parameters, 1, work)


def _transpose_native(out: Spec, x: Spec, perm: tuple[int, ...]) -> Native | None:
    strides = [math.prod(x.shape[axis + 1 :]) * x.dtype.size for axis in perm]
    return strided("part", x, out.shape, strides, 0) if x.size <= FEW_MOVED else None


TRANSPOSE = defop(
    "Transpose",
    ARRAY,
    1,
    _transpose_spec,
    vjp=_transpose_vjp,
    native=_transpose_native,
    compute=lambda out, x, perm: np.copyto(out, x.transpose(perm)),
    of_complex="analytic",
)


# By spec and order, as it was given.
_transposes: dict[tuple[Spec, tuple[int, ...] | None], tuple[OpCode, Spec]] = clearable_cache()


@suggest_keywords
def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str = "transpose") -> Tensor:
    """The same elements with the axes in another order.

    Args:
      a: A tensor of any dtype.
      perm: The axes in their new order; None is the reversed order.
      conjugate: Whether complex elements are conjugated, too.
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
    x = a if type(a) is Tensor else as_tensor(a)
    axes = (*perm,) if type(perm) is list else perm
    usual = axes is None or (type(axes) is tuple and set(map(type, axes)) <= _INT)
    way = _transposes.get((x._spec, axes)) if usual and not conjugate else None
    if way is not None:
        return append(*way, x, TRANSPOSE)
    order = tuple(range(x.ndim))[::-1] if perm is None else static_shape(perm)
    order = tuple(axis % x.ndim if -x.ndim <= axis < x.ndim else axis for axis in order)
    require(
        sorted(order) == list(range(x.ndim)),
        TRANSPOSE,
        f"perm must name each of the {x.ndim} axes of shape {x.shape} once, got {len(order)}: "
        f"{order}",
    )
    if conjugate and x.dtype.is_complex:
        return permuted(conjugated(x), order)
    if order == tuple(range(x.ndim)):
        return identity(x)
    way = TRANSPOSE.with_attributes({"perm": order}), _transpose_spec(TRANSPOSE, x._spec, order)
    if usual:
        keep(_transposes, (x._spec, axes), way)
    return append(*way, x, TRANSPOSE)


def permuted(x: Tensor, order: tuple[int, ...]) -> Tensor:
    """``x`` itself where the order is its own, else `transpose`."""
    return x if order == tuple(range(x.ndim)) else transpose(x, order)


def _broadcast_spec(op: Op, x: Spec, shape: tuple[int, ...]) -> Spec:
    try:
        fits = np.broadcast_shapes(x.shape, shape) == tuple(shape)
    except ValueError:
        fits = False
    require(fits, op, f"Incompatible shapes: {x.shape} cannot be broadcast to {tuple(shape)}")
    return intern(tuple(shape), x.dtype)


BROADCAST = defop(
    "BroadcastTo",
    ELEMENTWISE,
    1,
    _broadcast_spec,
    body="x",
    vjp=lambda g, y, x, shape: (g,),
    of_complex="analytic",
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


named(globals(), __name__)
