"""Shapes as tensors, shape checks, bit casts, and identities of lists of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Op, defop
from ..log.record import record, require
from ..values import dtypes
from ..values.composite import dispatches
from ..values.dtypes import as_dtype
from ..values.spec import Spec, TensorShape, intern
from ..values.tensor import Tensor
from . import movement
from .creation import shape as shape_of
from .joining import as_tensors, stack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..values.annotations import DTypeLike, PartialShape, ShapeLike, TensorLike

Array = np.ndarray[Any, Any]


@dispatches
def shape_n(
    input: Sequence[TensorLike], out_type: DTypeLike = dtypes.int32, name: str | None = None
) -> list[Tensor]:
    """Return the shapes of several tensors, as tensors.

    Args:
      input: A list of tensors.
      out_type: The dtype of the results.
      name: Not used.

    Returns:
      A list of vectors.

    Raises:
      InvalidArgumentError: If the list is empty.

    Example:
      >>> [shape.numpy().tolist() for shape in tf.shape_n([tf.zeros((2, 3)), tf.zeros(4)])]
      [[2, 3], [4]]
    """
    require(bool(len(input)), "ShapeN", "Expected at least one tensor")
    return [shape_of(x, out_type) for x in input]


@dispatches
def ensure_shape(x: TensorLike, shape: ShapeLike | PartialShape, name: str | None = None) -> Tensor:
    """Check the shape of a tensor and return its value as a new tensor.

    Args:
      x: A tensor.
      shape: The expected shape, in which None stands for any size; None for any shape.
      name: Not used.

    Returns:
      A tensor with the value of ``x``.

    Raises:
      InvalidArgumentError: If the shape does not match.

    Example:
      >>> tf.ensure_shape(tf.zeros((2, 3)), (None, 3)).shape
      TensorShape([2, 3])
    """
    tensor = as_tensor(x)
    if shape is not None:
        requested = shape if isinstance(shape, TensorShape) else TensorShape(shape)
        fits = len(requested) == tensor.ndim and all(
            dim in (None, size) for dim, size in zip(requested, tensor.shape, strict=True)
        )
        require(
            fits,
            "EnsureShape",
            f"Shape of tensor {tensor.shape.as_list()} is not compatible with expected shape "
            f"{list(requested)}.",
        )
    return movement.identity(tensor)


@dispatches
def identity_n(input: Sequence[TensorLike], name: str | None = None) -> list[Tensor]:
    """Return a list of new tensors with the same values.

    Args:
      input: A list of tensors, or of values that convert to tensors.
      name: Not used.

    Returns:
      A list of tensors.

    Raises:
      InvalidArgumentError: If the list is empty.

    Example:
      >>> [x.numpy() for x in tf.identity_n([1.0, 2])]
      [np.float32(1.0), np.int32(2)]
    """
    require(bool(len(input)), "IdentityN", "Expected at least one tensor")
    return [movement.identity(x) for x in input]


def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the value of ``input`` as a new tensor.

    Args:
      input: A tensor of any dtype.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Example:
      >>> tf.guarantee_const([1, 2]).numpy()
      array([1, 2], dtype=int32)
    """
    return record(CONST, (as_tensor(input),))


CONST = defop(
    "GuaranteeConst",
    ARRAY,
    1,
    lambda op, x: intern(tuple(x.shape), x.dtype),
    compute=lambda out, x: np.copyto(out, x),
    on_host=True,
)


def parallel_stack(values: Sequence[TensorLike], name: str = "parallel_stack") -> Tensor:
    """Stack tensors of one shape along a new first axis; see `stack`.

    Args:
      values: A list of tensors of one shape and dtype.
      name: Not used.

    Returns:
      A tensor with one more axis.

    Raises:
      InvalidArgumentError: If the shapes or dtypes differ, or the list is empty.

    Example:
      >>> tf.parallel_stack([[1, 2], [3, 4]]).numpy()
      array([[1, 2],
             [3, 4]], dtype=int32)
    """
    require(bool(len(values)), "ParallelConcat", "Expected at least one tensor to stack")
    return stack(as_tensors(values, "ParallelConcat"))


def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """Return the shape to which two shapes broadcast.

    Args:
      shape_x: A `TensorShape`, or a value that converts to one.
      shape_y: Another one.

    Returns:
      A `TensorShape`.

    Raises:
      ValueError: If they do not broadcast.

    Example:
      >>> tf.broadcast_static_shape(tf.TensorShape([1, 2, 3]), tf.TensorShape([5, 1, 3]))
      TensorShape([5, 2, 3])
    """
    shapes = [tuple(TensorShape(shape)) for shape in (shape_x, shape_y)]
    try:
        return TensorShape(np.broadcast_shapes(*shapes))
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}") from None


def _bitcast_spec(op: Op, x: Spec, to: str) -> Spec:
    requested, shape = as_dtype(to), tuple(x.shape)
    if requested.size < x.dtype.size:
        shape = (*shape, x.dtype.size // requested.size)
    elif requested.size > x.dtype.size:
        ratio = requested.size // x.dtype.size
        require(
            bool(shape) and shape[-1] == ratio,
            op,
            f"Cannot bitcast from {x.dtype.name} to {requested.name}: the last axis of shape "
            f"{x.shape} must be {ratio}",
        )
        shape = shape[:-1]
    return intern(shape, requested)


def _bitcast(out: Array, x: Array, to: str) -> None:
    out[...] = np.ascontiguousarray(x).ravel().view(out.dtype).reshape(out.shape)


BITCAST = defop("Bitcast", ARRAY, 1, _bitcast_spec, compute=_bitcast, on_host=True)


@dispatches
def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """Reinterpret the bits as another dtype. No gradient is registered.

    Args:
      input: A tensor of numbers.
      type: The dtype. A smaller dtype adds a last axis with the parts of each element; a larger
        dtype combines the elements of the last axis into one.
      name: Not used.

    Returns:
      A tensor of that dtype.

    Raises:
      InvalidArgumentError: If the last axis does not have the size that a larger dtype requires, or
        a dtype is bool.

    Example:
      >>> tf.bitcast(1.0, tf.int32).numpy() == 0x3F800000
      np.True_
    """
    x, requested = as_tensor(input), as_dtype(type)
    require(
        not (x.dtype.is_bool or requested.is_bool),
        "Bitcast",
        f"Cannot bitcast from {x.dtype.name} to {requested.name}",
    )
    return (
        movement.identity(x) if requested is x.dtype else record(BITCAST, (x,), to=requested.name)
    )
