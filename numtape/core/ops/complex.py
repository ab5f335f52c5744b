"""Complex numbers: their parts, angles and conjugates, which are not analytic functions.

As in TensorFlow, the gradient of a real target by a complex source ``x + i y`` is
``dt/dx + i dt/dy``. The adjoint of an analytic function is its real rule, applied to the conjugates
of operands and result: `core.derive.transpose` passes these to the rules of ops that `defop` marks
as analytic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import DtypeError
from ..log.as_tensor import as_tensor
from ..log.op import ELEMENTWISE, Op, defop
from ..log.record import Recorder, binary, spec_of, unary
from ..values import dtypes
from ..values.composite import dispatches
from ..values.spec import Spec, broadcast, intern
from ..values.tensor import Tensor
from . import rules
from .comparison import less
from .elementwise import (
    cast,
    negative,
    real_divide,
    select,
    stop_gradient,
    zeros_like_op,
)
from .movement import conjugate

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..values.annotations import TensorLike


def _complex_spec(op: Op, real: Spec, imag: Spec) -> Spec:
    if real.dtype not in (dtypes.float32, dtypes.float64):
        raise DtypeError(
            f"The real part of a complex number is a float32 or float64, not {real.dtype.name} "
            f"[Op:{op.name}]"
        )
    if imag.dtype is not real.dtype:
        raise dtypes.mismatch_error(op.name, 1, real.dtype, imag.dtype)
    dtype = dtypes.complex64 if real.dtype is dtypes.float32 else dtypes.complex128
    return intern(broadcast(op.name, real, imag), dtype)


def _make_part(name: str, vjp: Callable[..., tuple[Tensor, ...]]) -> Recorder:
    body = f"{name.lower()}(x)"
    return unary(defop(name, ELEMENTWISE, 1, rules.part, body=body, vjp=vjp))


def _angle_adjoint(g: Tensor, x: Tensor) -> tuple[Tensor]:
    """Return the adjoint of the angle: ``-g / (imag + i real)``."""
    return (negative(real_divide(cast(g, x.dtype), _join(_imag(x), _real(x)))),)


_join: Recorder = binary(
    defop(
        "Complex",
        ELEMENTWISE,
        2,
        _complex_spec,
        body="x + 1j * y",
        complex_vjp="explicit",
        vjp=lambda g, z, x, y: (_real(g), _imag(g)),
    )
)
_real: Recorder = _make_part("Real", lambda g, y, x: (cast(g, x.dtype),))
_imag: Recorder = _make_part("Imag", lambda g, y, x: (_join(0.0, g),))
_angle: Recorder = _make_part("Angle", lambda g, y, x: _angle_adjoint(g, x))


@dispatches
def complex_(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """Make complex numbers from real and imaginary parts, elementwise.

    Args:
      real: The real parts: a tensor of float32 or float64, or a value that converts to one.
      imag: The imaginary parts, of the same dtype, whose shape broadcasts with that of ``real``.
      name: Not used.

    Returns:
      A tensor of complex64 (for float32) or complex128 (for float64).

    Raises:
      TypeError: If a dtype is neither float32 nor float64, or they differ.

    Example:
      >>> tf.complex([1.0, 2.0], 3.0).numpy()
      array([1.+3.j, 2.+3.j], dtype=complex64)
    """
    x = as_tensor(real, spec_of(imag))
    y = as_tensor(imag, x._spec) if spec_of(imag) is None else imag
    return _join(x, y)


@dispatches
def real(input: TensorLike, name: str | None = None) -> Tensor:
    """The real parts of complex numbers; real tensors are returned unchanged.

    Args:
      input: A tensor of numbers.
      name: Not used.

    Returns:
      A tensor of float32 (for complex64) or float64 (for complex128), or ``input`` itself.

    Raises:
      TypeError: If the elements are not numbers.

    Example:
      >>> tf.math.real([1.0 + 2.0j]).numpy()
      array([1.])
    """
    x = _to_numeric_tensor("input", input)
    return _real(x) if x.dtype.is_complex else x


@dispatches
def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """The imaginary parts of complex numbers. Real numbers give zeros, without a gradient.

    Args:
      input: A tensor of numbers.
      name: Not used.

    Returns:
      A tensor of float32 (for complex64) or float64 (for complex128), or of the dtype of ``input``.

    Raises:
      TypeError: If the elements are not numbers.

    Example:
      >>> tf.math.imag([1.0 + 2.0j]).numpy()
      array([2.])
    """
    x = _to_numeric_tensor("input", input)
    return _imag(x) if x.dtype.is_complex else zeros_like_op(x)


@dispatches
def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """The angles of complex numbers in radians, from -pi to pi; 0 for positive real numbers.

    Args:
      input: A tensor of numbers.
      name: Not used.

    Returns:
      A tensor of float32 (for complex64) or float64 (for complex128), or of the dtype of ``input``:
      pi for negative real numbers. The derivative by a complex number is ``-1 / (imag + i real)``;
      real numbers have none.

    Raises:
      TypeError: If the elements are not numbers.

    Example:
      >>> tf.math.angle([1.0j, -1.0]).numpy()
      array([1.57079633, 3.14159265])
    """
    x = _to_numeric_tensor("input", input)
    if x.dtype.is_complex:
        return _angle(x)
    angles = select(less(x, 0), np.pi if x._spec.is_float else 3, zeros_like_op(x))
    return stop_gradient(angles)


@dispatches
def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """The conjugates of complex numbers; real tensors are returned unchanged.

    Args:
      x: A tensor of numbers.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      TypeError: If the elements are not numbers.

    Example:
      >>> tf.math.conj([1.0 + 2.0j]).numpy()
      array([1.-2.j])
    """
    numbers = _to_numeric_tensor("x", x)
    return conjugate(numbers) if numbers.dtype.is_complex else numbers


def _to_numeric_tensor(argument: str, value: TensorLike) -> Tensor:
    x = as_tensor(value)
    if not x.dtype.is_numeric:
        raise TypeError(
            f"`{argument}` must be a numeric tensor, but got tensor with dtype {x.dtype}"
        )
    return x
