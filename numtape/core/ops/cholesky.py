"""Cholesky factors of symmetric matrices."""

from __future__ import annotations

from typing import Any

from ..cpu import blas, lapack
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record
from ..log.tensors import as_tensor
from ..values.spec import Spec
from ..values.tensor import Tensor
from . import elementwise, reduction, rules
from .complex import real
from .diagonals import diagonal
from .linear_systems import solve_triangular
from .matrix_products import matmul
from .triangles import FROM_LOWER, LOWER_SUMS, adjoint_of, check_square


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
    of_complex="other",
)


def _cholesky_grad_vjp(w: Tensor, r: Tensor, g: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """That of ``r = inv(y.T) @ s @ inv(y)`` with ``s`` made of ``y.T @ g``."""
    middle = solve_triangular(y, adjoint_of(solve_triangular(y, adjoint_of(w))))
    sums = record(LOWER_SUMS, (0.5 * middle,))
    both = adjoint_of(solve_triangular(y, w + adjoint_of(w)))
    return matmul(y, sums), matmul(g, sums, adjoint_b=True) - matmul(r, both)


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


def cholesky(input: Any, name: str | None = None) -> Tensor:
    """The lower triangular ``y`` of ``y @ y.T = input``, for symmetric positive definite matrices.

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


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithms of the determinants of symmetric positive definite matrices.

    Args:
      matrix: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tensor of shape (...) and the same dtype; for complex numbers, of their parts' dtype.

    Raises:
      InvalidArgumentError: If a matrix is not square.

    Example:
      >>> tf.linalg.logdet([[4.0, 2.0], [2.0, 5.0]]).numpy()
      np.float32(2.7725887)
    """
    return 2.0 * reduction.reduce_sum(elementwise.log(real(diagonal(cholesky(matrix)))), -1)
