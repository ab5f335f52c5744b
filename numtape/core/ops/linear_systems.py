"""Systems of linear equations, solved with LU factors, triangles and Cholesky factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidArgumentError
from ..cpu import blas, lapack
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record, require, spec_of
from ..values.dtypes import float32, int64, mismatch_error
from ..values.spec import Spec
from ..values.tensor import Tensor
from . import comparison, elementwise, movement, reduction, rules
from .complex import real
from .creation import convert_to_tensor, eye
from .diagonals import (
    FROM_LOWER,
    LOWER_SUMS,
    adjoint_of,
    check_square,
    diagonal,
    diagonal_matrix,
    triangle,
)
from .indexing import gather
from .lu_factors import FACTOR, SOLVE, as_square_matrix, check_invertible
from .matrix_products import matmul

if TYPE_CHECKING:
    from ..values.annotations import TensorLike

Array = np.ndarray[Any, Any]


def solve(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solve ``matrix @ x = rhs`` for ``x``.

    Args:
      matrix: A tensor of floats or complex numbers, of shape (..., n, n).
      rhs: A tensor of the same dtype, of shape (..., n, k), with the same batches.
      adjoint: Whether to solve with the adjoints of the matrices.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``rhs``.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a matrix cannot be inverted.

    Example:
      >>> tf.linalg.solve([[1.0, 2.0], [4.0, 4.0]], [[5.0], [12.0]]).numpy()
      array([[1.],
             [2.]], dtype=float32)
    """
    a, b = _as_system(matrix, rhs, "MatrixSolve")
    require(a.ndim == b.ndim, "MatrixSolve", "All input tensors must have the same rank.")
    require(
        a.shape[:-2] == b.shape[:-2],
        "MatrixSolve",
        f"All input tensors must have the same outer dimensions: {list(a.shape)}, {list(b.shape)}",
    )
    factor = record(FACTOR, (a,))
    check_invertible(factor, "MatrixSolve", "Input matrix is not invertible.")
    return record(SOLVE, (a, factor, b), adjoint=bool(adjoint))


def _as_system(matrix: TensorLike, rhs: TensorLike, op: str) -> tuple[Tensor, Tensor]:
    a = as_square_matrix(matrix, op, spec_of(rhs))
    b = as_tensor(rhs, a._spec, op)
    if a.dtype is not b.dtype:
        raise mismatch_error(op, 1, a.dtype, b.dtype)
    require(b.ndim >= 2, op, f"Input tensor 1 must have rank >= 2, got {b.ndim}")
    require(
        a.shape[-1] == b.shape[-2],
        op,
        f"Input matrix and rhs are incompatible: {list(a.shape)}, {list(b.shape)}",
    )
    return a, b


def broadcast_batches(a: Tensor, b: Tensor, op: str) -> tuple[Tensor, Tensor]:
    """Broadcast the batch axes of both operands to a common shape."""
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    try:
        batch_shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise InvalidArgumentError(
            f"Incompatible batch dimensions: {list(a.shape)} vs. {list(b.shape)} [Op:{op}]"
        ) from None
    return (
        movement.broadcast_to(a, (*batch_shape, *a.shape[-2:])),
        movement.broadcast_to(b, (*batch_shape, *b.shape[-2:])),
    )


# Triangular systems.


def _triangular_vjp(
    g: Tensor, x: Tensor, a: Tensor, b: Tensor, lower: bool, adjoint: bool
) -> tuple[Tensor, Tensor]:
    gb = record(TRIANGULAR, (a, g), lower=lower, adjoint=not adjoint)
    ga = matmul(x, gb, adjoint_b=True) if adjoint else matmul(gb, x, adjoint_b=True)
    return elementwise.negative(triangle(ga, lower)), gb


def _triangular_native(out: Spec, a: Spec, b: Spec, lower: bool, adjoint: bool) -> Native | None:
    n, k = b.shape[-2:]
    sizes = (n, k, int(lower), int(adjoint))
    return blas.native("triangular_solve", a, ("trsm", "trsv"), sizes, n * n * k // 2)


TRIANGULAR = defop(
    "MatrixTriangularSolve",
    ARRAY,
    2,
    lambda op, a, b, lower, adjoint: b,
    compute=lapack.triangular_solve,
    vjp=_triangular_vjp,
    native=_triangular_native,
    on_host=True,
    complex_vjp="explicit",
)


def solve_triangular(a: Tensor, b: Tensor, lower: bool = True, adjoint: bool = False) -> Tensor:
    """Run `triangular_solve` on operands that are already checked."""
    return record(TRIANGULAR, (a, b), lower=lower, adjoint=adjoint)


def triangular_solve(
    matrix: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solve ``matrix @ x = rhs`` for ``x``, with triangular matrices.

    Only one triangle is read. A 0 on the diagonal gives infinite elements or NaN.

    Args:
      matrix: A tensor of floats or complex numbers, of shape (..., n, n).
      rhs: A tensor of the same dtype, of shape (..., n, k). Batches broadcast.
      lower: Whether to read the lower triangle instead of the upper one.
      adjoint: Whether to solve with the adjoints of the matrices.
      name: Not used.

    Returns:
      A tensor of shape (..., n, k) and the same dtype.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit.

    Example:
      >>> tf.linalg.triangular_solve([[2.0, 0.0], [1.0, 4.0]], [[2.0], [9.0]]).numpy()
      array([[1.],
             [2.]], dtype=float32)
    """
    a, b = broadcast_batches(
        *_as_system(matrix, rhs, "MatrixTriangularSolve"), "MatrixTriangularSolve"
    )
    return solve_triangular(a, b, bool(lower), bool(adjoint))


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solve ``a @ x = rhs`` for ``x``, given ``chol``, the result of `cholesky` for ``a``.

    Args:
      chol: A tensor of floats or complex numbers, of shape (..., n, n). Only the lower triangle is
        read.
      rhs: A tensor of the same dtype, of shape (..., n, k). Batches broadcast.
      name: Not used.

    Returns:
      A tensor of shape (..., n, k) and the same dtype.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit.

    Example:
      >>> chol = tf.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
      >>> tf.linalg.cholesky_solve(chol, [[6.0], [7.0]]).numpy()
      array([[1.],
             [1.]], dtype=float32)
    """
    y = triangular_solve(chol, rhs)
    return triangular_solve(chol, y, adjoint=True)


# Functions of the results of `lu`.


def _as_permutation(p: TensorLike, op: str) -> Tensor:
    perm = as_tensor(p)
    require(perm.dtype.is_integer, op, f"perm must be integers, got {perm.dtype.name}")
    return perm


def _as_float32(value: TensorLike) -> Tensor:
    """Convert to a tensor. Anything but a tensor becomes float32, including float64 and ints."""
    return convert_to_tensor(value, dtype_hint=float32)


def lu_solve(
    lower_upper: TensorLike,
    perm: TensorLike,
    rhs: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solve ``a @ x = rhs`` for ``x``, given ``lower_upper`` and ``perm``, the results of `lu`.

    Args:
      lower_upper: A tensor of floats or complex numbers, of shape (..., n, n).
      perm: A tensor of integers, of shape (..., n).
      rhs: A tensor of the same dtype, of shape (..., n, k).
      validate_args: No effect: shapes are always checked.
      name: Not used.

    Returns:
      A tensor of shape (..., n, k) and the same dtype.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit.

    Example:
      >>> lu, p = tf.linalg.lu([[1.0, 2.0], [4.0, 4.0]])
      >>> tf.linalg.lu_solve(lu, p, [[5.0], [12.0]]).numpy()
      array([[1.],
             [2.]], dtype=float32)
    """
    a, b = broadcast_batches(*_as_system(_as_float32(lower_upper), rhs, "LuSolve"), "LuSolve")
    order = movement.broadcast_to(_as_permutation(perm, "LuSolve"), tuple(a.shape[:-1]))
    b = _take_rows(b, order)
    unit_lower = triangle(a, True) - _keep_diagonal(a) + eye(a.shape[-1], dtype=a.dtype)
    return solve_triangular(triangle(a, False), solve_triangular(unit_lower, b), lower=False)


def _keep_diagonal(a: Tensor) -> Tensor:
    return diagonal_matrix(diagonal(a))


def _take_rows(b: Tensor, order: Tensor) -> Tensor:
    return gather(b, order, axis=b.ndim - 2, batch_dims=b.ndim - 2)


def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Compute the inverses of matrices from ``lower_upper`` and ``perm``, the results of `lu`.

    Args:
      lower_upper: A tensor of floats or complex numbers, of shape (..., n, n).
      perm: A tensor of integers, of shape (..., n).
      validate_args: No effect: shapes are always checked.
      name: Not used.

    Returns:
      A tensor of shape (..., n, n) and the same dtype.

    Raises:
      InvalidArgumentError: If shapes do not fit.

    Example:
      >>> lu, p = tf.linalg.lu([[1.0, 2.0], [4.0, 4.0]])
      >>> tf.linalg.lu_matrix_inverse(lu, p).numpy()
      array([[-1.  ,  0.5 ],
             [ 1.  , -0.25]], dtype=float32)
    """
    a = as_square_matrix(_as_float32(lower_upper), "LuMatrixInverse")
    return lu_solve(a, perm, eye(a.shape[-1], dtype=a.dtype))


def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Reconstruct matrices from ``lower_upper`` and ``perm``, the results of `lu`.

    Args:
      lower_upper: A tensor of floats or complex numbers, of shape (..., n, n).
      perm: A tensor of integers, of shape (..., n).
      validate_args: No effect: shapes are always checked.
      name: Not used.

    Returns:
      A tensor of shape (..., n, n) and the same dtype.

    Raises:
      InvalidArgumentError: If shapes do not fit.

    Example:
      >>> tf.linalg.lu_reconstruct(*tf.linalg.lu([[1.0, 2.0], [4.0, 4.0]])).numpy()
      array([[1., 2.],
             [4., 4.]], dtype=float32)
    """
    a = as_square_matrix(_as_float32(lower_upper), "LuReconstruct")
    order = movement.broadcast_to(_as_permutation(perm, "LuReconstruct"), tuple(a.shape[:-1]))
    unit_lower = triangle(a, True) - _keep_diagonal(a) + eye(a.shape[-1], dtype=a.dtype)
    product = matmul(unit_lower, triangle(a, False))
    # A permutation matrix that moves each row back to its position in the original matrix.
    n = a.shape[-1]
    is_source = comparison.equal(
        elementwise.cast(movement.expand_dims(order, -2), int64),
        movement.reshape(np.arange(n), (n, 1)),
    )
    permutation = elementwise.cast(is_source, a.dtype)
    return matmul(permutation, product)


def _cholesky_spec(op: Op, a: Spec) -> Spec:
    rules.analytic(op, a)
    check_square(op, a)
    return a


def _cholesky_native(out: Spec, a: Spec) -> Native | None:
    n = a.shape[-1]
    return blas.native("cholesky", a, ("potrf",), (n,), n**3 // 6)


def _cholesky_vjp(g: Tensor, y: Tensor, a: Tensor) -> tuple[Tensor]:
    if not y.dtype.is_complex:
        return (record(CHOLESKY_GRAD, (g, y)),)
    middle = record(FROM_LOWER, (matmul(y, g, adjoint_a=True),))
    half = solve_triangular(y, 0.5 * middle, True, True)
    return (solve_triangular(y, adjoint_of(half), True, True),)


CHOLESKY = defop(
    "Cholesky",
    ARRAY,
    1,
    _cholesky_spec,
    compute=lapack.cholesky,
    native=_cholesky_native,
    vjp=_cholesky_vjp,
    on_host=True,
    complex_vjp="explicit",
)


def _cholesky_grad_vjp(w: Tensor, r: Tensor, g: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the adjoints for ``r = inv(y.T) @ s @ inv(y)``, with ``s`` made from ``y.T @ g``."""
    middle = solve_triangular(y, adjoint_of(solve_triangular(y, adjoint_of(w))))
    lower_sums = record(LOWER_SUMS, (0.5 * middle,))
    symmetric = adjoint_of(solve_triangular(y, w + adjoint_of(w)))
    return matmul(y, lower_sums), matmul(g, lower_sums, adjoint_b=True) - matmul(r, symmetric)


def _cholesky_grad_native(out: Spec, g: Spec, y: Spec) -> Native | None:
    n = y.shape[-1]
    return blas.native("cholesky_grad", y, ("trmm", "trsm"), (n,), 3 * n**3 // 2)


# Murray, "Differentiation of the Cholesky decomposition" (2016).
CHOLESKY_GRAD = defop(
    "CholeskyGrad",
    ARRAY,
    2,
    lambda op, g, y: y,
    compute=lapack.cholesky_grad,
    native=_cholesky_grad_native,
    vjp=_cholesky_grad_vjp,
    on_host=True,
)


def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the lower triangular ``y`` with ``y @ y.T = input`` for positive definite matrices.

    Only the lower triangle is read, and the gradient is symmetric. A matrix that is not positive
    definite gives NaN.

    Args:
      input: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If a matrix is not square.

    Example:
      >>> tf.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).numpy()
      array([[2., 0.],
             [1., 2.]], dtype=float32)
    """
    return record(CHOLESKY, (as_tensor(input),))


def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Compute the logarithms of the determinants of symmetric positive definite matrices.

    Args:
      matrix: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tensor of shape (...) and the same dtype; for complex numbers, the dtype of their parts.

    Raises:
      InvalidArgumentError: If a matrix is not square.

    Example:
      >>> tf.linalg.logdet([[4.0, 2.0], [2.0, 5.0]]).numpy()
      np.float32(2.7725887)
    """
    return 2.0 * reduction.reduce_sum(elementwise.log(real(diagonal(cholesky(matrix)))), -1)
