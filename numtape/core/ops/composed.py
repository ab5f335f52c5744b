"""Functions made of several ops: products with a number, polynomials, the order of elements."""

from __future__ import annotations

from typing import Any

from ..log.record import Recorder
from ..log.tensors import as_tensor
from ..values.indexed_slices import IndexedSlices
from ..values.tensor import Tensor
from .comparison import greater, greater_equal
from .elementwise import zeros_like_op
from .movement import reshape
from .reduction import reduce_all


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Tensor | IndexedSlices:
    """The product of a number with a tensor.

    Args:
      scalar: A number, or a tensor of rank 0; it takes the dtype of ``x``.
      x: A tensor of numbers, or `IndexedSlices`.
      name: Not used.

    Returns:
      A tensor, or slices, of the shape and dtype of ``x``.

    Raises:
      ValueError: If ``scalar`` has axes.
      InvalidArgumentError: If it is a tensor of another dtype.

    Example:
      >>> tf.scalar_mul(3.0, tf.constant([1.0, 2.0])).numpy()
      array([3., 6.], dtype=float32)
    """
    values = as_tensor(x.values if isinstance(x, IndexedSlices) else x)
    scalar = as_tensor(scalar, values._spec, "Mul")
    if scalar.ndim:
        raise ValueError(
            f"The input scalar must be a 0-D value. Received shape {tuple(scalar.shape)}."
        )
    result: Tensor = scalar * values
    if isinstance(x, IndexedSlices):
        return IndexedSlices(result, x.indices, x.dense_shape)
    return result


def polyval(coeffs: Any, x: Any, name: str | None = None) -> Tensor:
    """The polynomial with these coefficients at ``x``, elementwise, by Horner's rule.

    Args:
      coeffs: A list of tensors, that of the highest power first; none at all gives zeros.
      x: A tensor of numbers.
      name: Not used.

    Returns:
      A tensor of the shape to which ``x`` and the coefficients broadcast.

    Raises:
      ValueError: If ``coeffs`` is not a list.
      InvalidArgumentError: If the dtypes differ, or the shapes do not broadcast.

    Example:
      >>> tf.math.polyval([1.0, 0.0, -2.0], [1.0, 2.0, 3.0]).numpy()
      array([-1.,  2.,  7.], dtype=float32)
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    x = as_tensor(x)
    if not coeffs:
        return zeros_like_op(x)
    result, *rest = (as_tensor(c) for c in coeffs)
    for c in rest:
        result = c + result * x
    return result


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Whether no element is less than the one before it, in the order of rows.

    Args:
      x: A tensor of numbers.
      name: Not used.

    Returns:
      A bool of rank 0; True for less than two elements.

    Raises:
      TypeError: If the elements are not numbers.

    Example:
      >>> bool(tf.math.is_non_decreasing([1, 1, 3]))
      True
    """
    return _in_order(x, greater_equal)


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Whether each element is larger than the one before it, in the order of rows.

    Args:
      x: A tensor of numbers.
      name: Not used.

    Returns:
      A bool of rank 0; True for less than two elements.

    Raises:
      TypeError: If the elements are not numbers.

    Example:
      >>> bool(tf.math.is_strictly_increasing([1, 1, 3]))
      False
    """
    return _in_order(x, greater)


def _in_order(x: Any, ordered: Recorder) -> Tensor:
    x = as_tensor(x)
    if x.dtype.is_bool:
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    x = reshape(x, (-1,))
    return reduce_all(ordered(x[1:], x[:-1]))
