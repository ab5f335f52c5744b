"""Quotients, remainders, powers and polynomials. Integers and floats have different ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import InternalError, InvalidArgumentError, NotFoundError, OpError
from ..log.as_tensor import as_tensor
from ..log.record import Recorder, spec_of
from ..values import dtypes
from ..values.composite import dispatches, recover
from ..values.indexed_slices import IndexedSlices
from ..values.tensor import Tensor
from .comparison import greater, greater_equal, not_equal_
from .elementwise import (
    cast,
    clip_by_value,
    floor_divide_float,
    floor_divide_int,
    floor_mod_float,
    floor_mod_int,
    pow_2,
    pow_3,
    pow_float,
    pow_int,
    real_divide,
    real_divide_no_nan,
    truncate_divide_float,
    truncate_divide_int,
    truncate_mod_float,
    zeros_like_op,
)
from .movement import reshape
from .reduction import reduce_all
from .rules import every

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..values.annotations import DTypeLike, TensorLike


def _to_operands(x: TensorLike, y: TensorLike, op: str) -> tuple[Tensor, Tensor]:
    """Convert both operands to tensors; a value that is not a tensor takes the other's dtype."""
    like = spec_of(x) or spec_of(y)
    x = as_tensor(x, like, op)
    return x, as_tensor(y, x._spec, op)


def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """``x / y``, elementwise: a quotient of floats.

    Integers become floats first, as in TensorFlow: integers of 8 and 16 bits become float32, wider
    ones float64.

    Args:
      x: A tensor of numbers.
      y: Another of the same dtype, whose shape broadcasts with the first one's. An operand that
        is not a tensor takes the dtype of the other.
      name: Not used.

    Returns:
      A float tensor of the shape to which both broadcast.

    Raises:
      InvalidArgumentError: If the dtypes differ, or the shapes do not broadcast.
      TypeError: If they are bools.

    Example:
      >>> tf.divide([1, 2], [4, 0])
      <tf.Tensor: shape=(2,), dtype=float64, numpy=array([0.25,  inf])>
    """
    if type(x) is Tensor and x._spec.inexact:
        return real_divide(x, y)
    try:
        operands = _to_float_operands(x, y, "RealDiv")
    except Exception:
        return recover(divide, x, y)  # type: ignore[no-any-return]
    return real_divide(*operands)


@dispatches
def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """``x / y``, but 0 where ``y`` is 0. The derivatives are 0 there as well.

    Args:
      x: A tensor of numbers. Integers become floats as for `divide`.
      y: Another of the same dtype, whose shape broadcasts with the first one's.
      name: Not used.

    Returns:
      A float tensor of the shape to which both broadcast.

    Raises:
      InvalidArgumentError: If the dtypes differ, or the shapes do not broadcast.
      TypeError: If they are bools.

    Example:
      >>> tf.math.divide_no_nan([1.0, 2.0], [4.0, 0.0]).numpy()
      array([0.25, 0.  ], dtype=float32)
    """
    return real_divide_no_nan(*_to_float_operands(x, y, "DivNoNan"))


def _to_float_operands(x: TensorLike, y: TensorLike, op: str) -> tuple[Tensor, Tensor]:
    """Convert the operands of a quotient to float tensors that are at least as wide."""
    x, y = _to_operands(x, y, op)
    if x.dtype is not y.dtype:
        raise dtypes.mismatch_error(op, 1, x.dtype, y.dtype)
    if not x._spec.inexact:
        if x.dtype.is_bool:
            raise TypeError(f"`x` and `y` must be numeric, got {x.dtype!r} [Op:{op}]")
        requested = dtypes.float32 if x.dtype.size <= 2 else dtypes.float64
        x, y = cast(x, requested), cast(y, requested)
    return x, y


def _check_divisor(
    x: Tensor, y: Tensor, op: str, error: type[OpError] = InvalidArgumentError
) -> None:
    """Raise an error if an integer divisor is 0, or the dtypes differ."""
    if x.dtype is not y.dtype:
        raise dtypes.mismatch_error(op, 1, x.dtype, y.dtype)
    message = f"Integer division by zero [Op:{op}]"
    if not every(y, lambda values: values != 0, lambda rows: not_equal_(rows, 0), message):
        raise error(message)


def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """``x / y`` rounded towards minus infinity, elementwise; ``x // y`` does the same.

    No gradient flows through.

    Args:
      x: A tensor of numbers.
      y: Another of the same dtype, whose shape broadcasts with the first one's.
      name: Not used.

    Returns:
      A tensor of the shape to which both broadcast, and of the same dtype.

    Raises:
      InvalidArgumentError: If an integer is divided by 0, the dtypes differ, or the shapes do not
        broadcast.

    Example:
      >>> tf.math.floordiv([7, -7], 2).numpy()
      array([ 3, -4], dtype=int32)
    """
    try:
        x, y = _to_operands(x, y, "FloorDiv")
    except Exception:
        return recover(floordiv, x, y)  # type: ignore[no-any-return]
    if x._spec.is_float:
        return floor_divide_float(x, y)
    _check_divisor(x, y, "FloorDiv")
    return floor_divide_int(x, y)


def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The remainder of `floordiv`, with the sign of ``y``, elementwise; ``x % y`` does the same.

    The remainder of floats is exact. The derivatives are 1 by ``x`` and ``-floor(x / y)`` by ``y``.

    Args:
      x: A tensor of numbers.
      y: Another of the same dtype, whose shape broadcasts with the first one's.
      name: Not used.

    Returns:
      A tensor of the shape to which both broadcast, and of the same dtype.

    Raises:
      InvalidArgumentError: If an integer is divided by 0, the dtypes differ, or the shapes do not
        broadcast.

    Example:
      >>> tf.math.floormod([7, -7], 3).numpy()
      array([1, 2], dtype=int32)
    """
    try:
        x, y = _to_operands(x, y, "FloorMod")
    except Exception:
        return recover(floormod, x, y)  # type: ignore[no-any-return]
    if x._spec.is_float:
        return floor_mod_float(x, y)
    _check_divisor(x, y, "FloorMod")
    return floor_mod_int(x, y)


def pow_(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """``x`` to the power ``y``, elementwise; ``x ** y`` does the same.

    The derivative by ``y`` uses 0 for ``log(x)`` where ``x`` is not positive.

    Args:
      x: A tensor of numbers.
      y: Another of the same dtype, whose shape broadcasts with the first one's.
      name: Not used.

    Returns:
      A tensor of the shape to which both broadcast, and of the same dtype.

    Raises:
      InvalidArgumentError: If an integer has a negative exponent, the dtypes differ, or the shapes
        do not broadcast.

    Example:
      >>> tf.pow([2, 3], [10, 4]).numpy()
      array([1024,   81], dtype=int32)
      >>> tf.pow([4.0, 8.0], 0.5).numpy()
      array([2.      , 2.828427], dtype=float32)
    """
    if (type(y) is int or type(y) is float) and 2 <= y <= 4:
        product = power_as_product(x, y)
        if product is not None:
            return product
    try:
        x, y = _to_operands(x, y, "Pow")
    except Exception:
        return recover(pow_, x, y)  # type: ignore[no-any-return]
    if x._spec.inexact:
        return pow_float(x, y)
    message = "Integers to negative integer powers are not allowed [Op:Pow]"
    if not every(y, lambda values: values >= 0, lambda rows: greater_equal(rows, 0), message):
        raise InvalidArgumentError(message)
    return pow_int(x, y)


def power_as_product(x: TensorLike, y: float) -> Tensor | None:
    """``x ** y`` as a product, which is faster: floats to the power of the Python number 2.

    Also float64 to the powers 3 and 4, where the product is as accurate as `pow_float`. None for
    all other operands.
    """
    spec = spec_of(x)
    if spec is None or not spec.is_float or (y != 2 and spec.dtype is not dtypes.float64):
        return None
    if y == 2:
        return pow_2(x)
    if y == 3:
        return pow_3(x)
    return pow_2(pow_2(x)) if y == 4 else None


@dispatches
def realdiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """``x / y`` of floats, elementwise.

    Args:
      x: A tensor of floats.
      y: Another of the same dtype, whose shape broadcasts with the first one's.
      name: Not used.

    Returns:
      A tensor of the shape to which both broadcast, and of the same dtype.

    Raises:
      NotFoundError: If the elements are not floats: `divide` takes integers.
      InvalidArgumentError: If the dtypes differ, or the shapes do not broadcast.

    Example:
      >>> tf.realdiv([1.0, 2.0], 4.0).numpy()
      array([0.25, 0.5 ], dtype=float32)
    """
    x, y = _to_operands(x, y, "RealDiv")
    if x.dtype is y.dtype and x.dtype.is_integer:
        raise NotFoundError(f"No quotient of floats for {x.dtype.name} [Op:RealDiv]. Use `divide`.")
    return real_divide(x, y)


@dispatches
def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """``x / y`` rounded towards 0, elementwise, as C divides integers.

    No gradient flows through.

    Args:
      x: A tensor of numbers.
      y: Another of the same dtype, whose shape broadcasts with the first one's.
      name: Not used.

    Returns:
      A tensor of the shape to which both broadcast, and of the same dtype.

    Raises:
      InternalError: If an integer is divided by 0.
      InvalidArgumentError: If the dtypes differ, or the shapes do not broadcast.

    Example:
      >>> tf.truncatediv([7, -7], 2).numpy()
      array([ 3, -3], dtype=int32)
    """
    x, y = _to_operands(x, y, "TruncateDiv")
    if x._spec.is_float:
        return truncate_divide_float(x, y)
    _check_divisor(x, y, "TruncateDiv", InternalError)
    return truncate_divide_int(x, y)


@dispatches
def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The remainder of `truncatediv`, with the sign of ``x``, elementwise.

    The remainder of floats has no gradient registered: asking for one is a LookupError.

    Args:
      x: A tensor: float32, float64, int32 or int64.
      y: Another of the same dtype, whose shape broadcasts with the first one's.
      name: Not used.

    Returns:
      A tensor of the shape to which both broadcast, and of the same dtype.

    Raises:
      InternalError: If an integer is divided by 0.
      InvalidArgumentError: If the dtypes differ or are not supported, or the shapes do not
        broadcast.

    Example:
      >>> tf.truncatemod([7, -7], 3).numpy()
      array([ 1, -1], dtype=int32)
    """
    x, y = _to_operands(x, y, "TruncateMod")
    if x._spec.is_float:
        return truncate_mod_float(x, y)
    if x.dtype is not dtypes.int32 and x.dtype is not dtypes.int64:
        raise InvalidArgumentError(
            f"Value for attr 'T' of {x.dtype.name} is not in the list of allowed values: int32, "
            f"int64, half, float, double [Op:TruncateMod]. Use `cast`."
        )
    _check_divisor(x, y, "TruncateMod", InternalError)
    result: Tensor = x - truncate_divide_int(x, y) * y
    return result


@dispatches
def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """``1 / x``, but 0 where ``x`` is 0, elementwise. The derivative is 0 there as well.

    Args:
      x: A tensor of floats.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``x``.

    Raises:
      InvalidArgumentError: If the elements are not floats.

    Example:
      >>> tf.math.reciprocal_no_nan([2.0, 0.0]).numpy()
      array([0.5, 0. ], dtype=float32)
    """
    return real_divide_no_nan(1, as_tensor(x))


@dispatches
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Cast to another dtype; values out of its range become the nearest value in range.

    Args:
      value: A tensor of numbers.
      dtype: A numeric `DType`, or a value that `as_dtype` accepts.
      name: Not used.

    Returns:
      A tensor of the shape of ``value`` and dtype ``dtype``.

    Raises:
      TypeError: If there is no such dtype.

    Example:
      >>> tf.saturate_cast([300, -5, 7], tf.uint8).numpy()
      array([255,   0,   7], dtype=uint8)
    """
    from .complex import complex_, imag, real

    x, requested = as_tensor(value), dtypes.as_dtype(dtype)
    own = x.dtype
    if own.is_complex and requested.is_complex and own.size > requested.size:
        part = dtypes.float32
        return complex_(saturate_cast(real(x), part), saturate_cast(imag(x), part))
    if own.is_complex and requested.is_floating:
        return saturate_cast(real(x), requested)
    if own.is_floating and requested.is_complex and own.size * 2 > requested.size:
        return cast(saturate_cast(x, dtypes.float32), requested)
    if not (own.is_integer or own.is_floating) or not (
        requested.is_integer or requested.is_floating
    ):
        return cast(x, requested)
    if own.is_integer and requested.is_integer:
        low, high = max(own.min, requested.min), min(own.max, requested.max)
        return cast(clip_by_value(x, low, high), requested)
    if own.is_floating and requested.is_floating and own.max > requested.max:
        return cast(clip_by_value(x, float(requested.min), float(requested.max)), requested)
    return cast(x, requested)  # `cast` clips floats to the range of an integer dtype


@dispatches
def scalar_mul(
    scalar: TensorLike, x: TensorLike, name: str | None = None
) -> Tensor | IndexedSlices:
    """The product of a scalar and a tensor.

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


@dispatches
def polyval(coeffs: Sequence[TensorLike], x: TensorLike, name: str | None = None) -> Tensor:
    """The polynomial with these coefficients at ``x``, elementwise, by Horner's rule.

    Args:
      coeffs: A list of tensors, the coefficient of the highest power first; an empty list gives
        zeros.
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


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether no element is less than the previous one, in row-major order.

    Args:
      x: A tensor of numbers.
      name: Not used.

    Returns:
      A bool of rank 0; True for fewer than two elements.

    Raises:
      TypeError: If the elements are not numbers.

    Example:
      >>> bool(tf.math.is_non_decreasing([1, 1, 3]))
      True
    """
    return _is_ordered(x, greater_equal)


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether each element is larger than the previous one, in row-major order.

    Args:
      x: A tensor of numbers.
      name: Not used.

    Returns:
      A bool of rank 0; True for fewer than two elements.

    Raises:
      TypeError: If the elements are not numbers.

    Example:
      >>> bool(tf.math.is_strictly_increasing([1, 1, 3]))
      False
    """
    return _is_ordered(x, greater)


def _is_ordered(x: TensorLike, ordered: Recorder) -> Tensor:
    x = as_tensor(x)
    if x.dtype.is_bool:
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    x = reshape(x, (-1,))
    return reduce_all(ordered(x[1:], x[:-1]))
