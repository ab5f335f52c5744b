"""Norms of vectors and matrices."""

from __future__ import annotations

import math
import sys
from typing import Any, Never

import numpy as np

from ..log.record import record
from ..log.tensors import as_tensor
from ..values.dtypes import format_value
from ..values.spec import axes_of
from ..values.spelling import raise_unexpected_keyword, hide_wrong_keywords
from ..values.tensor import Tensor
from . import arithmetic, elementwise, movement, reduction
from .complex import conj, real
from .orthogonal_factors import SVD


@hide_wrong_keywords
def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    **wrong: Never,
) -> Tensor:
    """The norm of a vector: of all elements, or along an axis. With two axes, that of a matrix.

    Where all elements are 0 it has no derivative: the gradient there is 0, a subgradient.

    Args:
      tensor: A tensor of floats or complex numbers.
      ord: For vectors "euclidean", 1, ``np.inf`` or another positive number p: ``sum(|x|**p) ** (1
        / p)``. For matrices "euclidean" or "fro" (Frobenius), 1 (the largest sum of a column),
        ``np.inf`` (of a row) or 2 (the largest singular value).
      axis: None for all elements as one vector, an int for vectors, two ints for matrices.
      keepdims: Whether reduced axes stay, with size 1.
      name: Not used.

    Returns:
      A tensor of the same dtype; of complex numbers, the Euclidean norm is complex as well, and
      others are real.

    Raises:
      ValueError: If ``ord`` is something else, or ``axis`` a list that does not name two axes.
      InvalidArgumentError: If an axis is out of range, or the elements are no floats.

    Example:
      >>> tf.norm([[3.0, 4.0], [6.0, 8.0]], axis=1).numpy()
      array([ 5., 10.], dtype=float32)
      >>> tf.norm([3.0, -4.0], ord=1).numpy()
      np.float32(7.0)
    """
    if wrong:
        raise_unexpected_keyword(norm, wrong)
    x = as_tensor(tensor)
    keepdims = bool(keepdims)
    pair = isinstance(axis, list | tuple)
    if pair and len(set(axes_of("Norm", axis, x.ndim) if len(axis) == 2 else ())) != 2:
        raise ValueError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}"
        )
    if isinstance(ord, np.ndarray) and not ord.ndim:
        ord = ord.item()
    if not isinstance(ord, str | int | float | np.number) or (ord == "fro" and not pair):
        raise ValueError(f"'ord' must be a supported vector norm, got {format_value(ord)}")
    if ord in ("euclidean", "fro", 2) and not (ord == 2 and pair):
        if not x.dtype.is_complex:
            return elementwise.root_of_squares(reduction.reduce_sum(x * x, axis, keepdims))
        square = reduction.reduce_sum(real(x * conj(x)), axis, keepdims)
        return elementwise.cast(elementwise.root_of_squares(square), x.dtype)
    magnitude = elementwise.abs_(x)
    if pair:
        first, second = axes_of("Norm", axis, x.ndim)
        if ord == 2:
            return _largest_singular_value(x, first, second, keepdims)
        if ord not in (1, math.inf, np.inf):
            raise ValueError(f"'ord' must be a supported matrix norm, got {ord}")
        summed, largest = (first, second) if ord == 1 else (second, first)
        sums = reduction.reduce_sum(magnitude, summed, True)
        found = reduction.reduce_max(sums, largest, True)
        return found if keepdims else movement.squeeze(found, axis)
    if ord in (math.inf, np.inf):
        return reduction.reduce_max(magnitude, axis, keepdims)
    if isinstance(ord, str) or not 0 < ord <= sys.float_info.max:
        raise ValueError(f"'ord' must be a supported vector norm, got {format_value(ord)}")
    if ord == 1:
        return reduction.reduce_sum(magnitude, axis, keepdims)
    total = reduction.reduce_sum(arithmetic.pow_(magnitude, float(ord)), axis, keepdims)
    zero = total == 0.0
    root = arithmetic.pow_(elementwise.select(zero, 1.0, total), 1.0 / ord)
    return elementwise.select(zero, 0.0, root)


def _largest_singular_value(x: Tensor, first: int, second: int, keepdims: bool) -> Tensor:
    """The 2-norm of matrices."""
    rest = tuple(axis for axis in range(x.ndim) if axis not in (first, second))
    values = record(SVD, (movement.permuted(x, (*rest, first, second)),), full=False, vectors=False)
    found = reduction.reduce_max(real(values), -1)
    if not keepdims:
        return found
    return movement.reshape(
        found, tuple(1 if axis in (first, second) else x.shape[axis] for axis in range(x.ndim))
    )


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """A tensor divided by its norm, and the norm.

    Args:
      tensor: A tensor of floats.
      ord: Which norm; see `norm`.
      axis: None for that of all elements, an int for vectors, two ints for matrices.
      name: Not used.

    Returns:
      A tuple of the quotient, NaN where the norm is 0, and the norm, whose reduced axes have
      size 1.

    Raises:
      ValueError: If ``ord`` or ``axis`` is nothing that `norm` takes.

    Example:
      >>> unit, length = tf.linalg.normalize([3.0, 4.0])
      >>> unit.numpy(), length.numpy()
      (array([0.6, 0.8], dtype=float32), array([5.], dtype=float32))
    """
    x = as_tensor(tensor)
    length = norm(x, ord, axis, True)
    return x / length, length
