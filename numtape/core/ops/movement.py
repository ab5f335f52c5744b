"""Ops that move elements: reshape, transpose, broadcast; and `conjugate` for transposes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...errors import AxisError, InvalidArgumentError
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, ELEMENTWISE, VIEW, Native, Op, OpCode, defop
from ..log.record import Recorder, append, record, require, unary
from ..values.composite import dispatches, recover
from ..values.dtypes import repr_of
from ..values.hints import suggest_keywords
from ..values.intern_table import clearable_cache
from ..values.spec import MAX_DIM, Spec, check_axis, intern
from ..values.tensor import Tensor
from . import rules
from .define import name_functions, unary_op

if TYPE_CHECKING:
    from ..values.annotations import AxisLike, IntLike, ShapeLike, TensorLike

conjugate: Recorder = unary(
    defop(
        "Conj",
        ELEMENTWISE,
        1,
        rules.complex_only,
        body="conjugate(x)",
        vjp=lambda g, y, x: (conjugate(g),),
    )
)
conjugate_elements = conjugate  # for `transpose`, whose parameter is called `conjugate`


Array = np.ndarray[Any, Any]

MAX_CACHED = 1024  # entries of a cache of plans: a program may use any number of shapes
_INT = frozenset({int})
_Key = TypeVar("_Key")
_Plan = TypeVar("_Plan")


def store_plan(plans: dict[_Key, _Plan], key: _Key, plan: _Plan) -> None:
    """Cache the plan for a spec and arguments; clear the cache first if it is full."""
    if len(plans) >= MAX_CACHED:
        plans.clear()
    plans[key] = plan


def to_ints(value: TensorLike) -> Any:
    """Convert a shape-like argument (a tensor, array, int or nest of them) to Python ints."""
    if type(value) is int:
        if not -MAX_DIM <= value <= MAX_DIM:
            raise ValueError(f"{repr_of(value)} does not fit int64.")
        return value
    if isinstance(value, list | tuple):
        return tuple(to_ints(item) for item in value)
    array = np.asarray(value)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"Expected integers, got {repr_of(value)}")
    if array.dtype.kind == "u" and array.size:
        to_ints(int(array.max()))
    return array.tolist() if not array.ndim else tuple(array.tolist())


def to_shape(value: ShapeLike) -> tuple[int, ...]:
    """Convert a shape argument to a tuple of ints."""
    sizes = to_ints(value)
    if isinstance(sizes, int):
        return (sizes,)
    if sizes and set(map(type, sizes)) != {int}:
        raise InvalidArgumentError(
            f"Expected a vector of integers (it must be rank 1), got {repr_of(value)}"
        )
    return tuple(sizes)


identity = unary_op(
    "Identity",
    "x",
    lambda g, y, x: (g,),
    rules.same_dtype,
    "input",
    doc="""
    Return a new tensor with the value of ``input``, recorded as a separate row.

    >>> x = tf.constant([1.0, 2.0])
    >>> y = tf.identity(x)
    >>> y is x, y.numpy()
    (False, array([1., 2.], dtype=float32))
""",
)


# Views: one buffer in another shape.


def _reshape_spec(op: Op, x: Spec, shape: tuple[int, ...]) -> Spec:
    return intern(shape, x.dtype)


RESHAPE = defop(
    "Reshape",
    VIEW,
    1,
    _reshape_spec,
    vjp=lambda g, y, x, shape: (reshape(g, tuple(x.shape)),),
    complex_vjp="analytic",
)


# Code and spec of the recorded row, by input spec and the requested shape.
_reshape_plans: dict[tuple[Spec, tuple[int, ...]], tuple[OpCode, Spec]] = clearable_cache()


def reshape(tensor: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Reshape a tensor. The elements keep their order, with the last axis varying fastest.

    Nothing is copied.

    Args:
      tensor: A tensor of any dtype.
      shape: Ints, or a tensor of ints. One of them may be -1, which stands for the remaining size.
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
    try:
        x = tensor if type(tensor) is Tensor else as_tensor(tensor)
    except Exception:
        return recover(reshape, tensor, shape)  # type: ignore[no-any-return]
    sizes: Any = (
        (*shape,) if isinstance(shape, list | tuple) and set(map(type, shape)) <= _INT else None
    )
    plan = None if sizes is None else _reshape_plans.get((x._spec, sizes))
    if plan is None:
        new_shape = _resolve_shape(x, to_shape(shape))
        plan = RESHAPE.with_attributes({"shape": new_shape}), intern(new_shape, x.dtype)
        if sizes is not None:
            store_plan(_reshape_plans, (x._spec, sizes), plan)
    return append(*plan, x, RESHAPE)


def reshape_if_needed(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return ``x`` if it has the shape, else `reshape` it."""
    return x if shape == x.shape else reshape(x, shape)


def _resolve_shape(x: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the result of `reshape`, with -1 replaced by a size."""
    size = x._spec.size
    if shape.count(-1) > 1:
        raise InvalidArgumentError("Only one input size may be -1 [Op:Reshape]")
    if -1 in shape:
        divisor = math.prod(dim for dim in shape if dim != -1)
        dividend = size
        if divisor == size == 0:  # as in TensorFlow, the other sizes are divided if one is 0
            dividend, divisor = (
                math.prod(d for d in s if d not in (0, -1)) for s in (x.shape, shape)
            )
        require(
            divisor > 0 and (size == 0 or size % divisor == 0),
            RESHAPE,
            f"Input to reshape is a tensor with {size} values, but the requested shape requires a "
            f"multiple of {divisor}",
        )
        shape = tuple(dividend // divisor if dim == -1 else dim for dim in shape)
    total = math.prod(shape)
    require(
        total == size and min(shape, default=0) >= 0,
        RESHAPE,
        f"Input to reshape is a tensor with {size} values, but the requested shape has {total}: "
        f"{x.shape} to {shape}",
    )
    return shape


def resolve_axis(axis: IntLike, rank: int, op: str) -> int:
    """Return one axis counted from 0, for a rank that may include a new axis."""
    axes = to_shape(axis)
    if len(axes) != 1:
        raise AxisError(
            f"axis={axis!r} must be a tensor with a single value: it does not name one axis "
            f"[Op:{op}]."
        )
    if op in ("Pack", "Unpack") and not -rank <= axes[0] < rank:
        raise AxisError(f"Argument `axis` = {axes[0]} not in range [{-rank}, {rank}) [Op:{op}].")
    check_axis(op, axes[0], rank)
    return axes[0] % rank


@suggest_keywords
def expand_dims(input: TensorLike, axis: IntLike, name: str | None = None) -> Tensor:
    """Insert a new axis of size 1.

    Args:
      input: A tensor of any dtype.
      axis: The position of the new axis in the result; negative values count from the end.
      name: Not used.

    Returns:
      A tensor with one more axis.

    Raises:
      InvalidArgumentError: If ``axis`` is out of range (as AxisError, which is also a ValueError).

    Example:
      >>> x = tf.zeros((2, 3))
      >>> tf.expand_dims(x, 0).shape, tf.expand_dims(x, -1).shape
      (TensorShape([1, 2, 3]), TensorShape([2, 3, 1]))
    """
    x = input if type(input) is Tensor else as_tensor(input)
    shape, rank = (*x._spec.shape,), x._spec.rank + 1
    is_plain = type(axis) is int and -rank <= axis < rank
    new_axis = axis % rank if is_plain else resolve_axis(axis, rank, "ExpandDims")
    return reshape(x, (*shape[:new_axis], 1, *shape[new_axis:]))


@suggest_keywords
def squeeze(input: TensorLike, axis: AxisLike = None, name: str | None = None) -> Tensor:
    """Remove axes of size 1.

    Args:
      input: A tensor of any dtype.
      axis: The axes to remove, an int or a list; None or an empty list for all axes of size 1.
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
    listed_axes = () if axis is None else to_shape(axis)
    if not listed_axes:
        return reshape(x, (*filter((1).__ne__, x._spec.shape),))
    axes = {resolve_axis(squeezed_axis, x.ndim, "Squeeze") for squeezed_axis in listed_axes}
    for squeezed_axis in axes:
        require(
            x.shape[squeezed_axis] == 1,
            "Squeeze",
            f"Can not squeeze dim[{squeezed_axis}], expected a dimension of 1, "
            f"got {x.shape[squeezed_axis]}",
        )
    return reshape(x, tuple(dim for k, dim in enumerate(x.shape) if k not in axes))


# Copies in another order or shape.

NATIVE_COPY_LIMIT = 1 << 16  # up to this number of elements numtape's kernel is faster than NumPy


def _transpose_spec(op: Op, x: Spec, perm: tuple[int, ...]) -> Spec:
    return intern(tuple(x.shape[axis] for axis in perm), x.dtype)


def _transpose_vjp(g: Tensor, y: Tensor, x: Tensor, perm: tuple[int, ...]) -> tuple[Tensor]:
    return (transpose(g, tuple(perm.index(axis) for axis in range(len(perm)))),)


def strided_native(
    kernel: str, buffer: Spec, counts: Sequence[int], strides: Sequence[int], begin: int
) -> Native | None:
    """Return the kernel call that copies elements ``strides`` bytes apart, from byte ``begin`` on.

    Adjacent axes that form one run are merged. ``begin`` is -1 if it is an operand.
    """
    if 0 in counts:
        return None
    runs: list[tuple[int, int]] = []
    for count, stride in zip(reversed(counts), reversed(strides), strict=True):
        if runs and stride == runs[-1][0] * runs[-1][1]:
            runs[-1] = runs[-1][0] * count, runs[-1][1]
        elif count > 1:
            runs.append((count, stride))
    size = buffer.dtype.size
    runs = runs or [(1, size)]
    parameters = (
        size,
        buffer.size * size,
        begin,
        len(runs),
        *(n for run in runs[::-1] for n in run),
    )
    work = math.prod(counts) + (0 if kernel == "part" else buffer.size)
    return Native(f"slices.{kernel}", (f"uint{8 * size}",), parameters, 1, work)


def _transpose_native(out: Spec, x: Spec, perm: tuple[int, ...]) -> Native | None:
    strides = [math.prod(x.shape[axis + 1 :]) * x.dtype.size for axis in perm]
    return strided_native("part", x, out.shape, strides, 0) if x.size <= NATIVE_COPY_LIMIT else None


TRANSPOSE = defop(
    "Transpose",
    ARRAY,
    1,
    _transpose_spec,
    vjp=_transpose_vjp,
    native=_transpose_native,
    compute=lambda out, x, perm: np.copyto(out, x.transpose(perm)),
    complex_vjp="analytic",
)


# Code and spec of the recorded row, by input spec and the requested order.
_transpose_plans: dict[tuple[Spec, tuple[int, ...] | None], tuple[OpCode, Spec]] = clearable_cache()


@suggest_keywords
def transpose(
    a: TensorLike, perm: ShapeLike | None = None, conjugate: bool = False, name: str = "transpose"
) -> Tensor:
    """Permute the axes of a tensor.

    Args:
      a: A tensor of any dtype.
      perm: The axes in their new order; None reverses the order.
      conjugate: Whether to conjugate complex elements as well.
      name: Not used.

    Returns:
      A tensor of the same dtype, whose axis k is axis ``perm[k]`` of ``a``.

    Raises:
      InvalidArgumentError: If ``perm`` does not name each axis exactly once.

    Example:
      >>> tf.transpose([[1, 2, 3], [4, 5, 6]]).numpy()
      array([[1, 4],
             [2, 5],
             [3, 6]], dtype=int32)
      >>> tf.transpose(tf.zeros((2, 3, 4)), (1, 0, 2)).shape
      TensorShape([3, 2, 4])
    """
    x = a if type(a) is Tensor else as_tensor(a)
    axes: Any = (*perm,) if type(perm) is list else perm
    is_plain = axes is None or (type(axes) is tuple and set(map(type, axes)) <= _INT)
    plan = _transpose_plans.get((x._spec, axes)) if is_plain and not conjugate else None
    if plan is not None:
        return append(*plan, x, TRANSPOSE)
    order = tuple(range(x.ndim))[::-1] if perm is None else to_shape(perm)
    order = tuple(axis % x.ndim if -x.ndim <= axis < x.ndim else axis for axis in order)
    require(
        sorted(order) == list(range(x.ndim)),
        TRANSPOSE,
        f"perm must name each of the {x.ndim} axes of shape {x.shape} once, got {len(order)}: "
        f"{order}",
    )
    if conjugate and x.dtype.is_complex:
        return transpose_if_needed(conjugate_elements(x), order)
    if order == tuple(range(x.ndim)):
        return identity(x)
    plan = TRANSPOSE.with_attributes({"perm": order}), _transpose_spec(TRANSPOSE, x._spec, order)
    if is_plain:
        store_plan(_transpose_plans, (x._spec, axes), plan)
    return append(*plan, x, TRANSPOSE)


def transpose_if_needed(x: Tensor, order: tuple[int, ...]) -> Tensor:
    """Return ``x`` if its axes have this order already, else `transpose` it."""
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
    complex_vjp="analytic",
)


@dispatches
def broadcast_to(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Broadcast to a shape: repeat elements along axes of size 1 and along new leading axes.

    The gradient is the sum over the repeated elements.

    Args:
      input: A tensor of any dtype.
      shape: The shape of the result: ints, or a tensor of ints.
      name: Not used.

    Returns:
      A tensor of shape ``shape`` and the same dtype.

    Raises:
      InvalidArgumentError: If ``input`` does not broadcast to ``shape``.

    Example:
      >>> tf.broadcast_to([[1], [2]], (2, 3)).numpy()
      array([[1, 1, 1],
             [2, 2, 2]], dtype=int32)
    """
    x = as_tensor(input)
    new_shape = to_shape(shape)
    return identity(x) if new_shape == x.shape else record(BROADCAST, (x,), shape=new_shape)


name_functions(globals(), __name__)
