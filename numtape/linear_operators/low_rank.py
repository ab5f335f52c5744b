"""`LinearOperatorLowRankUpdate`: an operator plus a low-rank matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.ops import movement
from ..core.ops.complex import conj
from ..core.ops.diagonals import diagonal_matrix
from ..core.ops.linear_systems import broadcast_batches, solve
from ..core.ops.lu_factors import det, slogdet
from ..core.ops.matrix_products import matmul
from ..core.values.tensor import Tensor
from .arguments import check_tensor, common_batch_shape, operators_of
from .base import LinearOperator
from .diagonal import LinearOperatorDiag

if TYPE_CHECKING:
    from ..core.values.annotations import TensorLike


class LinearOperatorLowRankUpdate(LinearOperator):
    """An operator plus ``u @ diag(d) @ adjoint(v)``, where u and v have few columns.

    Solutions and determinants require those of the operator and of a small (k, k) matrix: see
    Woodbury, "Inverting modified matrices" (1950).

    Args:
      base_operator: The operator, of shape (..., m, n).
      u: A tensor of the same dtype, of shape (..., m, k).
      diag_update: The ``d``, of shape (..., k); None for ones.
      v: A tensor of shape (..., n, k); None for ``u``.
      is_diag_update_positive: A hint that ``d`` is positive.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      TypeError: If ``base_operator`` is not an operator, or dtypes differ.
      ValueError: If shapes are incompatible, or hints contradict each other.

    Example:
      >>> base = tf.linalg.LinearOperatorDiag([1.0, 2.0])
      >>> tf.linalg.LinearOperatorLowRankUpdate(base, [[1.0], [1.0]]).to_dense().numpy()
      array([[2., 1.],
             [1., 3.]], dtype=float32)
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: TensorLike,
        diag_update: TensorLike | None = None,
        v: TensorLike | None = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        (self._base,) = operators_of([base_operator])
        self._u = check_tensor(u, 2, "u", self._base.dtype)
        self._v = self._u if v is None else check_tensor(v, 2, "v", self._base.dtype)
        k = int(self._u.shape[-1])
        self._d: Tensor | None = None
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError("is_diag_update_positive must not be False for a default of ones.")
            is_diag_update_positive = True
        else:
            self._d = check_tensor(diag_update, 1, "diag_update", self._base.dtype)
        self._positive_update = is_diag_update_positive
        expected_shapes = (self._base.range_dimension, k), (self._base.domain_dimension, k)
        if (tuple(self._u.shape[-2:]), tuple(self._v.shape[-2:])) != expected_shapes or (
            self._d is not None and self._d.shape[-1] != k
        ):
            raise ValueError(
                f"Incompatible shapes: base_operator {self._base.shape}, u {self._u.shape}, v "
                f"{self._v.shape}, diag_update {None if self._d is None else self._d.shape}."
            )
        is_real = not self._base.dtype.is_complex
        is_hermitian_update = (
            v is None and self._base.is_self_adjoint and (is_real or self._d is None)
        )
        if is_hermitian_update and is_self_adjoint is None:
            is_self_adjoint = True
        is_positive = (
            is_hermitian_update and self._base.is_positive_definite and is_diag_update_positive
        )
        if is_positive and is_positive_definite is None:
            is_positive_definite = True
        shapes = [self._u.shape[:-2], self._v.shape[:-2]]
        if self._d is not None:
            shapes.append(self._d.shape[:-1])
        super().__init__(
            self._base.dtype,
            (*common_batch_shape([self._base], *shapes), *self._base.shape[-2:]),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def base_operator(self) -> LinearOperator:
        """The operator before the update."""
        return self._base

    @property
    def u(self) -> Tensor:
        """The left factor u."""
        return self._u

    @property
    def v(self) -> Tensor:
        """The right factor v."""
        return self._v

    @property
    def diag_update(self) -> Tensor | None:
        """The diagonal d; None for ones."""
        return self._d

    @property
    def diag_operator(self) -> LinearOperator:
        """The diagonal d as an operator."""
        if self._d is not None:
            return LinearOperatorDiag(self._d)
        return LinearOperatorDiag(self._u[..., 0, :] * 0 + 1)

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether the diagonal d is positive; None if unknown."""
        return self._positive_update

    def _scale_by_diagonal(self, x: Tensor, adjoint: bool = False) -> Tensor:
        """Return ``diag(d) @ x``."""
        if self._d is None:
            return x
        return movement.expand_dims(conj(self._d) if adjoint else self._d, -1) * x

    def _sides(self, adjoint: bool) -> tuple[Tensor, Tensor]:
        return (self._v, self._u) if adjoint else (self._u, self._v)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        left, right = self._sides(adjoint)
        inner = self._scale_by_diagonal(matmul(right, x, adjoint_a=True), adjoint)
        return self._base._matmul(x, adjoint) + matmul(left, inner)

    def _to_dense(self) -> Tensor:
        inner = self._scale_by_diagonal(
            conj(
                movement.transpose_if_needed(
                    self._v, (*range(self._v.ndim - 2), self._v.ndim - 1, self._v.ndim - 2)
                )
            )
        )
        return self._base._to_dense() + matmul(self._u, inner)

    def _capacitance(self, adjoint: bool) -> tuple[Tensor, Tensor]:
        """Return ``inv(diag(d)) + adjoint(v) @ inv(base) @ u``, and ``inv(base) @ u``."""
        left, right = self._sides(adjoint)
        solution = self._base._solve(left, adjoint)
        ones = self._u[..., 0, :] * 0 + 1
        d = ones if self._d is None else 1 / (conj(self._d) if adjoint else self._d)
        return diagonal_matrix(d) + matmul(right, solution, adjoint_a=True), solution

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        capacitance, columns = self._capacitance(adjoint)
        base_solution = self._base._solve(rhs, adjoint)
        projection = matmul(self._sides(adjoint)[1], base_solution, adjoint_a=True)
        return base_solution - matmul(
            columns, solve(*broadcast_batches(capacitance, projection, "MatrixSolve"))
        )

    def _determinant(self) -> Tensor:
        determinant = self._base._determinant() * det(self._capacitance(False)[0])
        return (
            determinant
            if self._d is None
            else determinant * LinearOperatorDiag(self._d).determinant()
        )

    def _log_abs_determinant(self) -> Tensor:
        capacitance_term = slogdet(self._capacitance(False)[0]).log_abs_determinant
        total = self._base._log_abs_determinant() + capacitance_term
        if self._d is None:
            return total
        return total + LinearOperatorDiag(self._d).log_abs_determinant()
