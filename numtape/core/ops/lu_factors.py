"""LU factors of square matrices, and the ops that use them: solve, inverse, determinants.

`FACTOR` and `LU` record packed factors: the n * n elements of both triangles, then n pivots.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import InvalidArgumentError
from ..cpu import blas, lapack
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, STOP, Native, Op, defop
from ..log.record import record
from ..values.dtypes import as_dtype, int32, int64
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import comparison, elementwise, movement, rules, slicing
from .complex import complex_, conj, imag, real
from .diagonals import adjoint_of, check_square
from .matrix_products import matmul
from .rules import every

if TYPE_CHECKING:
    from ..values.annotations import DTypeLike, TensorLike

Array = np.ndarray[Any, Any]


def check_square_inexact(op: Op | str, x: Spec) -> None:
    """Raise an error unless ``x`` is a square matrix of floats or complex numbers."""
    rules.analytic(op if isinstance(op, Op) else LU, x)
    check_square(op, x)


def unpack(packed: Tensor, begin: int, shape: tuple[int, ...]) -> Tensor:
    """Return one of the matrices that are packed along the last axis."""
    batch_shape = packed.shape[:-1]
    count = int(np.prod(shape, dtype=np.int64))
    ranges = (*((0, dim, 1) for dim in batch_shape), (begin, begin + count, 1))
    return movement.reshape_if_needed(slicing.strided_slice(packed, ranges), (*batch_shape, *shape))


# The factors of a matrix. No gradient flows through them: the ops that use them also take the
# matrix. `FACTOR` stores them by columns, for LAPACK, and `LU` by rows.


def _lu_spec(op: Op, a: Spec) -> Spec:
    check_square_inexact(op, a)
    n = a.shape[-1]
    return intern((*a.shape[:-2], n * n + n), a.dtype)


def _factor_native(out: Spec, a: Spec) -> Native | None:
    n = a.shape[-1]
    small_native = blas.side_by_side("factor", a, (), n**3 // 3)
    return small_native or blas.native("factor", a, ("getrf",), (n,), n**3 // 3)


FACTOR = defop(
    "LuFactor",
    ARRAY,
    1,
    _lu_spec,
    compute=lapack.factor,
    native=_factor_native,
    gradient=STOP,
    on_host=True,
    complex_vjp="explicit",
)
LU = defop("Lu", ARRAY, 1, _lu_spec, compute=lapack.lu, on_host=True, complex_vjp="explicit")


def _pivots(packed: Tensor) -> Tensor:
    n = _matrix_size(packed)
    batch_ranges = tuple((0, dim, 1) for dim in packed.shape[:-1])
    ranges = (*batch_ranges, (0, (n - 1) * (n + 1) + 1 if n else 0, n + 1))
    return slicing.strided_slice(packed, ranges)


def _matrix_size(packed: Tensor) -> int:
    """Return n, the number of rows of the factored matrix."""
    return int((packed.shape[-1] + 0.25) ** 0.5)


def check_invertible(packed: Tensor, op: str, message: str) -> None:
    """Raise an error if a pivot is 0 or NaN."""
    message = f"{message} [Op:{op}]"
    if not every(
        _pivots(packed),
        lambda values: (values != 0) & ~np.isnan(values),
        lambda rows: comparison.greater(elementwise.abs_(rows), 0.0),
        message,
    ):
        raise InvalidArgumentError(message)


class Lu(NamedTuple):
    """LU factors of square matrices.

    Attributes:
      lu: Both triangles in one matrix; the diagonal of the lower one is 1 and not stored.
      p: The row of the original matrix that each row of the factors corresponds to.
    """

    lu: Tensor
    p: Tensor


def _permutation(out: Array, pivots: Array) -> None:
    if pivots.size:
        for order, target in lapack.iterate_matrices(pivots, out, rank=1):
            target[...] = lapack.permutation(order)


PERMUTATION = defop(
    "LuPermutation",
    ARRAY,
    1,
    lambda op, x, output: intern(tuple(x.shape), as_dtype(output)),
    compute=lambda out, x, output: _permutation(out, x),
    on_host=True,
    complex_vjp="explicit",
)


def lu(input: TensorLike, output_idx_type: DTypeLike = int32, name: str | None = None) -> Lu:
    """Factor square matrices by elimination with partial pivoting: ``P A = L U``.

    It has no gradient, as in TensorFlow. `solve`, `inv` and `det` have one that does not need it.

    Args:
      input: A tensor of floats or complex numbers, of shape (..., n, n).
      output_idx_type: The dtype of the permutation, int32 or int64.
      name: Not used.

    Returns:
      A named tuple: ``lu`` of the shape and dtype of ``input``, and ``p`` of shape (..., n).

    Raises:
      InvalidArgumentError: If a matrix is not square, or cannot be inverted.

    Example:
      >>> lu, p = tf.linalg.lu([[1.0, 2.0], [4.0, 4.0]])
      >>> lu.numpy(), p.numpy()
      (array([[4.  , 4.  ],
             [0.25, 1.  ]], dtype=float32), array([1, 0], dtype=int32))
    """
    output = as_dtype(output_idx_type)
    if output not in (int32, int64):
        raise InvalidArgumentError(
            f"Value for attr 'output_idx_type' of {output.name} is not in the list of allowed "
            f"values: int32, int64 [Op:Lu]"
        )
    packed = record(LU, (as_tensor(input),))
    check_invertible(packed, "Lu", "Input is not invertible.")
    n = _matrix_size(packed)
    p = record(PERMUTATION, (unpack(packed, n * n, (n,)),), output=output.name)
    return Lu(unpack(packed, 0, (n, n)), p)


# Ops that use the factors.


def _solve_spec(op: Op, a: Spec, factor: Spec, b: Spec, adjoint: bool) -> Spec:
    return b


def _solve_vjp(
    g: Tensor, x: Tensor, a: Tensor, factor: Tensor, b: Tensor, adjoint: bool
) -> tuple[Tensor, None, Tensor]:
    gb = record(SOLVE, (a, factor, g), adjoint=not adjoint)
    # Negate the operand with fewer elements.
    negated_x = elementwise.negative(x)
    ga = matmul(negated_x, gb, adjoint_b=True) if adjoint else matmul(gb, negated_x, adjoint_b=True)
    return ga, None, gb


def _solve_native(out: Spec, a: Spec, factor: Spec, b: Spec, adjoint: bool) -> Native | None:
    n, k = b.shape[-2:]
    sizes = (n, k, int(adjoint), 0)
    small_native = blas.side_by_side("lu_solve", a, sizes[1:], n * n * k)
    return small_native or blas.native("lu_solve", a, ("trsm", "trsv"), sizes, n * n * k)


SOLVE = defop(
    "MatrixSolve",
    ARRAY,
    3,
    _solve_spec,
    vjp=_solve_vjp,
    native=_solve_native,
    on_host=True,
    complex_vjp="explicit",
    compute=lambda out, a, factor, b, adjoint: lapack.lu_solve(out, factor, b, adjoint),
)


def _inverse(out: Array, a: Array, factor: Array) -> None:
    identity = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    lapack.lu_solve(out, factor, identity, False)


def _inverse_vjp(g: Tensor, y: Tensor, a: Tensor, factor: Tensor) -> tuple[Tensor, None]:
    return elementwise.negative(matmul(matmul(y, g, adjoint_a=True), y, adjoint_b=True)), None


def _inverse_native(out: Spec, a: Spec, factor: Spec) -> Native | None:
    n = a.shape[-1]
    small_native = blas.side_by_side("lu_solve", a, (n, 0, 1), n**3)
    return small_native or blas.native("lu_solve", a, ("trsm", "trsv"), (n, n, 0, 1), n**3)


INVERSE = defop(
    "MatrixInverse",
    ARRAY,
    2,
    lambda op, a, factor: a,
    compute=_inverse,
    vjp=_inverse_vjp,
    native=_inverse_native,
    on_host=True,
    complex_vjp="explicit",
)


def _det(out: Array, a: Array, factor: Array) -> None:
    n = a.shape[-1]
    pivots = np.diagonal(factor[..., : n * n].reshape(a.shape), axis1=-2, axis2=-1)
    sign = _permutation_sign(factor, n)
    out[...] = sign * np.prod(pivots, -1)


def _permutation_sign(factor: Array, n: int) -> Array:
    """Return the signs of the permutations."""
    swaps = (factor[..., n * n :] != np.arange(n)).sum(-1)
    sign: Array = (1 - 2 * (swaps % 2)).astype(factor.dtype)
    return sign


def _log_det(out: Array, a: Array, factor: Array) -> None:
    n = a.shape[-1]
    pivots = np.diagonal(factor[..., : n * n].reshape(a.shape), axis1=-2, axis2=-1)
    out[..., 0] = _permutation_sign(factor, n) * np.prod(np.sign(pivots), -1)
    out[..., 1] = np.sum(np.log(np.abs(pivots)), -1)


def _make_det_native(kernel: str) -> Callable[[Spec, Spec, Spec], Native]:
    def native(out: Spec, a: Spec, factor: Spec) -> Native:
        units = math.prod(a.shape[:-2])
        return Native(f"determinants.{kernel}", (a.dtype.name,), (a.shape[-1],), units, factor.size)

    return native


def _as_1x1_matrices(g: Tensor) -> Tensor:
    """Reshape one number for each matrix to matrices of one element."""
    return movement.reshape(g, (*g.shape, 1, 1))


def _det_vjp(g: Tensor, y: Tensor, a: Tensor, factor: Tensor) -> tuple[Tensor, None]:
    return _as_1x1_matrices(g * conj(y)) * adjoint_of(record(INVERSE, (a, factor))), None


def _log_det_vjp(g: Tensor, y: Tensor, a: Tensor, factor: Tensor) -> tuple[Tensor, None]:
    inverse = adjoint_of(record(INVERSE, (a, factor)))
    log_adjoint = unpack(g, 1, ())
    if a.dtype.is_complex:
        phase_adjoint = imag(unpack(g, 0, ()) * conj(unpack(y, 0, ())))
        log_adjoint = complex_(real(log_adjoint), phase_adjoint)
    return _as_1x1_matrices(log_adjoint) * inverse, None


DET = defop(
    "MatrixDeterminant",
    ARRAY,
    2,
    lambda op, a, factor: intern(tuple(a.shape[:-2]), a.dtype),
    compute=_det,
    vjp=_det_vjp,
    native=_make_det_native("det"),
    on_host=True,
    complex_vjp="explicit",
)
LOG_DET = defop(
    "LogMatrixDeterminant",
    ARRAY,
    2,
    lambda op, a, factor: intern((*a.shape[:-2], 2), a.dtype),
    compute=_log_det,
    vjp=_log_det_vjp,
    native=_make_det_native("log_det"),
    on_host=True,
    complex_vjp="explicit",
)


def as_square_matrix(value: TensorLike, op: str, like_spec: Spec | None = None) -> Tensor:
    """Convert to a tensor and check that it is square matrices of floats or complex numbers."""
    x = as_tensor(value, like_spec, op)
    if not x._spec.inexact:
        rules.refuse_dtype(LU, x.dtype, "double, float, half, complex64, complex128")
    check_square(op, x._spec)
    return x


def det(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the determinants of square matrices.

    The derivative is ``det(a) inv(a).T``; it is not finite for a singular matrix.

    Args:
      input: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tensor of shape (...) and the same dtype.

    Raises:
      InvalidArgumentError: If a matrix is not square.

    Example:
      >>> tf.linalg.det([[1.0, 2.0], [4.0, 4.0]]).numpy()
      np.float32(-4.0)
    """
    a = as_square_matrix(input, "MatrixDeterminant")
    return record(DET, (a, record(FACTOR, (a,))))


class LogMatrixDeterminant(NamedTuple):
    """Signs and logarithms of determinants.

    Attributes:
      sign: -1, 0 or 1.
      log_abs_determinant: The logarithm of the absolute value.
    """

    sign: Tensor
    log_abs_determinant: Tensor


def slogdet(input: TensorLike, name: str | None = None) -> LogMatrixDeterminant:
    """Compute the signs of determinants and the logarithms of their absolute values.

    Args:
      input: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A named tuple of ``sign`` and ``log_abs_determinant``, both of shape (...).

    Raises:
      InvalidArgumentError: If a matrix is not square.

    Example:
      >>> sign, log = tf.linalg.slogdet([[1.0, 2.0], [4.0, 4.0]])
      >>> sign.numpy(), log.numpy()
      (np.float32(-1.0), np.float32(1.3862944))
    """
    a = as_square_matrix(input, "LogMatrixDeterminant")
    packed = record(LOG_DET, (a, record(FACTOR, (a,))))
    return LogMatrixDeterminant(unpack(packed, 0, ()), unpack(packed, 1, ()))


def inv(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Compute the inverses of square matrices.

    Args:
      input: A tensor of floats or complex numbers, of shape (..., n, n).
      adjoint: Whether to return the adjoints of the inverses.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If a matrix is not square, or cannot be inverted.

    Example:
      >>> tf.linalg.inv([[1.0, 2.0], [4.0, 4.0]]).numpy()
      array([[-1.  ,  0.5 ],
             [ 1.  , -0.25]], dtype=float32)
    """
    a = as_square_matrix(input, "MatrixInverse")
    factor = record(FACTOR, (a,))
    check_invertible(factor, "MatrixInverse", "Input is not invertible.")
    inverse = record(INVERSE, (a, factor))
    return adjoint_of(inverse) if adjoint else inverse
