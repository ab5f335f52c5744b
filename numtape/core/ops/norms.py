"""`norm` and `normalize`: norms of vectors and matrices."""

from __future__ import annotations

import math
import sys
from typing import Any, Never

import numpy as np

from ..log.record import record
from ..log.tensors import as_tensor
from ..values.dtypes import repr_of
from ..values.spec import axes_of
from ..values.spelling import hide_wrong_keywords, raise_unexpected_keyword
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
    """Compute the norm of vectors (all elements, or along an axis) or of matrices (two axes).

    Where all elements are 0 the norm is not differentiable: the gradient there is 0, a subgradient.

    Args:
      tensor: A tensor of floats or complex numbers.
      ord: For vectors "euclidean", 1, ``np.inf`` or another positive number p: ``sum(|x|**p) ** (1
        / p)``. For matrices "euclidean" or "fro" (Frobenius), 1 (the largest column sum),
        ``np.inf`` (the largest row sum) or 2 (the largest singular value).
      axis: None for all elements as one vector, an int for vectors, two ints for matrices.
      keepdims: Whether to keep reduced axes with size 1.
      name: Not used.

    Returns:
      A tensor of the same dtype. For complex numbers the Euclidean norm is complex, other norms are
      real.

    Raises:
      ValueError: If ``ord`` is not supported, or ``axis`` is a list that does not name two axes.
      InvalidArgumentError: If an axis is out of range, or the elements are not floats.

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
    is_matrix = isinstance(axis, list | tuple)
    if is_matrix and len(set(axes_of("Norm", axis, x.ndim) if len(axis) == 2 else ())) != 2:
        raise ValueError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}"
        )
    if isinstance(ord, np.ndarray) and not ord.ndim:
        ord = ord.item()
    if not isinstance(ord, str | int | float | np.number) or (ord == "fro" and not is_matrix):
        raise ValueError(f"'ord' must be a supported vector norm, got {repr_of(ord)}")
    if ord in ("euclidean", "fro", 2) and not (ord == 2 and is_matrix):
        if not x.dtype.is_complex:
            return elementwise.root_of_squares(reduction.reduce_sum(x * x, axis, keepdims))
        sum_of_squares = reduction.reduce_sum(real(x * conj(x)), axis, keepdims)
        return elementwise.cast(elementwise.root_of_squares(sum_of_squares), x.dtype)
    magnitude = elementwise.abs_(x)
    if is_matrix:
        row_axis, column_axis = axes_of("Norm", axis, x.ndim)
        if ord == 2:
            return _largest_singular_value(x, row_axis, column_axis, keepdims)
        if ord not in (1, math.inf, np.inf):
            raise ValueError(f"'ord' must be a supported matrix norm, got {ord}")
        sum_axis, max_axis = (row_axis, column_axis) if ord == 1 else (column_axis, row_axis)
        sums = reduction.reduce_sum(magnitude, sum_axis, True)
        result = reduction.reduce_max(sums, max_axis, True)
        return result if keepdims else movement.squeeze(result, axis)
    if ord in (math.inf, np.inf):
        return reduction.reduce_max(magnitude, axis, keepdims)
    if isinstance(ord, str) or not 0 < ord <= sys.float_info.max:
        raise ValueError(f"'ord' must be a supported vector norm, got {repr_of(ord)}")
    if ord == 1:
        return reduction.reduce_sum(magnitude, axis, keepdims)
    total = reduction.reduce_sum(arithmetic.pow_(magnitude, float(ord)), axis, keepdims)
    is_zero = total == 0.0
    root = arithmetic.pow_(elementwise.select(is_zero, 1.0, total), 1.0 / ord)
    return elementwise.select(is_zero, 0.0, root)


def _largest_singular_value(x: Tensor, row_axis: int, column_axis: int, keepdims: bool) -> Tensor:
    """Return the 2-norm of matrices."""
    batch_axes = tuple(axis for axis in range(x.ndim) if axis not in (row_axis, column_axis))
    values = record(
        SVD,
        (movement.transpose_if_needed(x, (*batch_axes, row_axis, column_axis)),),
        full=False,
        vectors=False,
    )
    largest = reduction.reduce_max(real(values), -1)
    if not keepdims:
        return largest
    return movement.reshape(
        largest,
        tuple(1 if axis in (row_axis, column_axis) else x.shape[axis] for axis in range(x.ndim)),
    )


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Divide a tensor by its norm.

    Args:
      tensor: A tensor of floats.
      ord: The kind of norm; see `norm`.
      axis: None for the norm of all elements, an int for vectors, two ints for matrices.
      name: Not used.

    Returns:
      A tuple of the quotient, NaN where the norm is 0, and the norm, whose reduced axes have
      size 1.

    Raises:
      ValueError: If ``ord`` or ``axis`` is not supported by `norm`.

    Example:
      >>> unit, length = tf.linalg.normalize([3.0, 4.0])
      >>> unit.numpy(), length.numpy()
      (array([0.6, 0.8], dtype=float32), array([5.], dtype=float32))
    """
    x = as_tensor(tensor)
    length = norm(x, ord, axis, True)
    return x / length, length
