"""Comparisons, logic and bits. No gradient flows through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..log.op import STOP
from ..log.record import Recorder
from ..values.tensor import Tensor
from . import rules
from .define import binary_op, host_op, name_functions, unary_op

if TYPE_CHECKING:
    from ..values.annotations import TensorLike

Array = np.ndarray[Any, Any]

equal_ = binary_op("Equal", "x == y", spec=rules.compare, gradient=STOP)
not_equal_ = binary_op("NotEqual", "x != y", spec=rules.compare, gradient=STOP)
less = binary_op(
    "Less",
    "x < y",
    spec=rules.order,
    gradient=STOP,
    doc="""
    Whether ``x < y``, elementwise; False where one is NaN. No gradient flows through.

    >>> tf.less([1, 2, 3], 2).numpy()
    array([ True, False, False])
""",
)
less_equal = binary_op(
    "LessEqual",
    "x <= y",
    spec=rules.order,
    gradient=STOP,
    doc="""
    Whether ``x <= y``, elementwise; False where one is NaN. No gradient flows through.

    >>> tf.less_equal([1, 2, 3], 2).numpy()
    array([ True,  True, False])
""",
)
greater = binary_op(
    "Greater",
    "x > y",
    spec=rules.order,
    gradient=STOP,
    doc="""
    Whether ``x > y``, elementwise; False where one is NaN. No gradient flows through.

    >>> tf.greater([1, 2, 3], 2).numpy()
    array([False, False,  True])
""",
)
greater_equal = binary_op(
    "GreaterEqual",
    "x >= y",
    spec=rules.order,
    gradient=STOP,
    doc="""
    Whether ``x >= y``, elementwise; False where one is NaN. No gradient flows through.

    >>> tf.greater_equal([1, 2, 3], 2).numpy()
    array([False,  True,  True])
""",
)
logical_and: Recorder = binary_op(
    "LogicalAnd",
    "x & y",
    spec=rules.boolean,
    gradient=STOP,
    doc="""
    Logical and, elementwise; ``x & y`` of bools records the same op.

    >>> tf.logical_and([True, True, False], [True, False, False]).numpy()
    array([ True, False, False])
""",
)
logical_or = binary_op(
    "LogicalOr",
    "x | y",
    spec=rules.boolean,
    gradient=STOP,
    doc="""
    Logical or, elementwise; ``x | y`` of bools records the same op.

    >>> tf.logical_or([True, True, False], [True, False, False]).numpy()
    array([ True,  True, False])
""",
)
logical_xor = binary_op(
    "LogicalXor",
    "x != y",
    spec=rules.boolean,
    gradient=STOP,
    doc="""
    Logical exclusive or, elementwise; ``x ^ y`` of bools records the same op.

    >>> tf.math.logical_xor([True, True, False], [True, False, False]).numpy()
    array([False,  True, False])
""",
)
logical_not = unary_op(
    "LogicalNot",
    "x == False",
    spec=rules.boolean,
    gradient=STOP,
    doc="""
    Logical not, elementwise; ``~x`` of bools records the same op.

    >>> tf.logical_not([True, False]).numpy()
    array([False,  True])
""",
)
bitwise_and = binary_op(
    "BitwiseAnd",
    "x & y",
    spec=rules.integer,
    gradient=STOP,
    doc="""
    Bitwise and, elementwise; ``x & y`` of integers records the same op.

    >>> tf.bitwise.bitwise_and([6, 5], 3).numpy()
    array([2, 1], dtype=int32)
""",
)
bitwise_or = binary_op(
    "BitwiseOr",
    "x | y",
    spec=rules.integer,
    gradient=STOP,
    doc="""
    Bitwise or, elementwise; ``x | y`` of integers records the same op.

    >>> tf.bitwise.bitwise_or([6, 5], 3).numpy()
    array([7, 7], dtype=int32)
""",
)
bitwise_xor = binary_op(
    "BitwiseXor",
    "x ^ y",
    spec=rules.integer,
    gradient=STOP,
    doc="""
    Bitwise exclusive or, elementwise; ``x ^ y`` of integers records the same op.

    >>> tf.bitwise.bitwise_xor([6, 5], 3).numpy()
    array([5, 6], dtype=int32)
""",
)
invert = unary_op(
    "Invert",
    "~x",
    spec=rules.integer,
    gradient=STOP,
    doc="""
    Invert all bits, elementwise; ``~x`` of integers records the same op.

    >>> tf.bitwise.invert([0, 5]).numpy()
    array([-1, -6], dtype=int32)
""",
)


def _shift_bits(x: Array, y: Array, shift: np.ufunc) -> Array:
    """Shift by at least 0 and less than the number of bits."""
    x = np.asarray(x)
    return np.asarray(shift(x, np.clip(y, 0, 8 * x.itemsize - 1).astype(x.dtype)))


def _shift_left(x: Array, y: Array) -> Array:
    bits = np.dtype(f"u{np.asarray(x).itemsize}")  # unsigned: bits shifted out are lost
    return _shift_bits(np.asarray(x).view(bits), y, np.left_shift).view(np.asarray(x).dtype)


left_shift = host_op(
    "LeftShift",
    _shift_left,
    None,
    rules.integer,
    "x y",
    gradient=STOP,
    doc="""
    Shift the bits left by ``y`` places, elementwise; zeros are shifted in.

    ``y`` is clipped to the range from 0 to the number of bits minus 1.

    >>> tf.bitwise.left_shift([1, -3], [4, 1]).numpy()
    array([16, -6], dtype=int32)
""",
)
right_shift = host_op(
    "RightShift",
    lambda x, y: _shift_bits(x, y, np.right_shift),
    None,
    rules.integer,
    "x y",
    gradient=STOP,
    doc="""
    Shift the bits right by ``y`` places, elementwise; copies of the sign bit are shifted in.

    ``y`` is clipped to the range from 0 to the number of bits minus 1.

    >>> tf.bitwise.right_shift([16, -6], [4, 1]).numpy()
    array([ 1, -3], dtype=int32)
""",
)
is_nan = unary_op(
    "IsNan",
    "isnan(x)",
    spec=rules.float_test,
    doc="""
    Whether an element is NaN. No gradient is registered: asking for one is a LookupError.

    >>> tf.math.is_nan([1.0, np.nan, np.inf]).numpy()
    array([False,  True, False])
""",
)
is_inf = unary_op(
    "IsInf",
    "isinf(x)",
    spec=rules.float_test,
    doc="""
    Whether an element is infinite. No gradient is registered: asking for one is a LookupError.

    >>> tf.math.is_inf([1.0, np.nan, -np.inf]).numpy()
    array([False, False,  True])
""",
)
is_finite = unary_op(
    "IsFinite",
    "isfinite(x)",
    spec=rules.float_test,
    doc="""
    Whether an element is neither infinite nor NaN.

    No gradient is registered: asking for one is a LookupError.

    >>> tf.math.is_finite([1.0, np.nan, np.inf]).numpy()
    array([ True, False, False])
""",
)


def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether elements are equal; NaN equals nothing. No gradient flows through.

    ``x == y`` of tensors does the same, but gives False where shapes do not broadcast.

    Args:
      x: A tensor of any dtype.
      y: Another of the same dtype, whose shape broadcasts with the first one's.
      name: Not used.

    Returns:
      A tensor of bools, of the shape to which both broadcast.

    Raises:
      InvalidArgumentError: If the dtypes differ, or the shapes do not broadcast.

    Example:
      >>> tf.equal([1, 2, 3], [3, 2, 1]).numpy()
      array([False,  True, False])
    """
    return equal_(x, y)


def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether elements differ; NaN differs from everything. No gradient flows through.

    Args:
      x: A tensor of any dtype.
      y: Another of the same dtype, whose shape broadcasts with the first one's.
      name: Not used.

    Returns:
      A tensor of bools, of the shape to which both broadcast.

    Raises:
      InvalidArgumentError: If the dtypes differ, or the shapes do not broadcast.

    Example:
      >>> tf.not_equal([1, 2, 3], [3, 2, 1]).numpy()
      array([ True, False,  True])
    """
    return not_equal_(x, y)


name_functions(globals(), __name__)
