"""Operators that store a full or a lower triangular matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.log.as_tensor import to_tensor
from ..core.ops import reduction
from ..core.ops.diagonals import triangle
from ..core.ops.linear_systems import cholesky, cholesky_solve, triangular_solve
from ..core.ops.lu_factors import as_square_matrix
from ..core.values.tensor import Tensor
from .arguments import check_tensor, log_abs
from .base import LinearOperator

if TYPE_CHECKING:
    from ..core.values.annotations import TensorLike


class LinearOperatorFullMatrix(LinearOperator):
    """Matrices without structure.

    Args:
      matrix: A tensor of floats or complex numbers, of shape (..., m, n).
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      ValueError: If the rank is below 2, or hints contradict each other.

    Example:
      >>> tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]]).trace().numpy()
      np.float32(5.0)
    """

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        self._matrix = check_tensor(matrix, 2, "matrix")
        super().__init__(
            self._matrix.dtype,
            tuple(self._matrix.shape),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def matrix(self) -> Tensor:
        """The matrices."""
        return self._matrix

    def _to_dense(self) -> Tensor:
        return self._matrix

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        if self._positive_definite and self._self_adjoint:
            return cholesky_solve(cholesky(self._matrix), rhs)
        return super()._solve(rhs, adjoint)


class LinearOperatorLowerTriangular(LinearOperator):
    """Lower triangular matrices.

    Args:
      tril: A tensor of floats or complex numbers, of shape (..., n, n); only the lower triangle is
        read.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      InvalidArgumentError: If ``tril`` is not square matrices of floats.
      ValueError: If hints contradict each other.

    Example:
      >>> operator = tf.linalg.LinearOperatorLowerTriangular([[2.0, 9.0], [1.0, 4.0]])
      >>> operator.to_dense().numpy()
      array([[2., 0.],
             [1., 4.]], dtype=float32)
    """

    def __init__(
        self,
        tril: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        self._lower = triangle(as_square_matrix(to_tensor(tril, None), "LinearOperator"), True)
        super().__init__(
            self._lower.dtype,
            tuple(self._lower.shape),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def tril(self) -> Tensor:
        """The matrices."""
        return self._lower

    def _to_dense(self) -> Tensor:
        return self._lower

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return triangular_solve(self._lower, rhs, True, adjoint)

    def _determinant(self) -> Tensor:
        return reduction.reduce_prod(self._diag_part(), -1)

    def _log_abs_determinant(self) -> Tensor:
        return log_abs(self._diag_part())
