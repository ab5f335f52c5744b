"""Diagonal, scaled identity, identity and zero operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.ops import elementwise, movement, reduction
from ..core.ops.complex import conj
from ..core.ops.creation import eye, ones, zeros
from ..core.ops.diagonals import diagonal_matrix
from ..core.ops.movement import to_shape
from ..core.values.dtypes import as_dtype, float32
from ..core.values.tensor import Tensor
from .arguments import check_tensor, log_abs, size_of
from .base import LinearOperator

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, IntLike, ShapeLike, TensorLike


class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices: products and solutions are elementwise.

    Args:
      diag: A tensor of floats or complex numbers, of shape (..., n).
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint; real ones always are.
      is_positive_definite: A hint that they are positive definite.
      is_square: Must not be False.
      name: A name.

    Raises:
      ValueError: If ``diag`` is a scalar, or hints contradict each other.

    Example:
      >>> tf.linalg.LinearOperatorDiag([1.0, 2.0]).matvec([3.0, 4.0]).numpy()
      array([3., 8.], dtype=float32)
    """

    def __init__(
        self,
        diag: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        self._diag = check_tensor(diag, 1, "diag")
        is_real = self._diag.dtype.is_floating
        if (is_real and is_self_adjoint is False) or is_square is False:
            raise ValueError("A real diagonal operator is always self adjoint and square.")
        n = self._diag.shape[-1]
        super().__init__(
            self._diag.dtype,
            (*self._diag.shape[:-1], n, n),
            is_non_singular,
            True if is_real else is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    @property
    def diag(self) -> Tensor:
        """The diagonals."""
        return self._diag

    def _to_dense(self) -> Tensor:
        return diagonal_matrix(self._diag)

    def _diag_part(self) -> Tensor:
        return self._diag

    def _column(self, adjoint: bool) -> Tensor:
        return movement.expand_dims(conj(self._diag) if adjoint else self._diag, -1)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return self._column(adjoint) * x

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return rhs / self._column(adjoint)

    def _product(self, other: LinearOperator) -> LinearOperator:
        if isinstance(other, LinearOperatorDiag):
            return LinearOperatorDiag(self._diag * other._diag)
        return super()._product(other)

    def _inverse(self) -> LinearOperator:
        return LinearOperatorDiag(
            1 / self._diag,
            is_non_singular=self._non_singular,
            is_positive_definite=self._positive_definite,
        )

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorDiag(conj(self._diag))

    def _determinant(self) -> Tensor:
        return reduction.reduce_prod(self._diag, -1)

    def _log_abs_determinant(self) -> Tensor:
        return elementwise.cast(log_abs(self._diag), self.dtype)


class LinearOperatorScaledIdentity(LinearOperatorDiag):
    """Identity matrices times scalars.

    Args:
      num_rows: The number of rows.
      multiplier: A tensor of floats or complex numbers, of shape (...).
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint; real ones always are.
      is_positive_definite: A hint that they are positive definite.
      is_square: Must not be False.
      assert_proper_shapes: Not used: shapes are always checked.
      name: A name.

    Raises:
      ValueError: If ``num_rows`` is not a non-negative integer, or hints contradict each other.

    Example:
      >>> tf.linalg.LinearOperatorScaledIdentity(2, 3.0).to_dense().numpy()
      array([[3., 0.],
             [0., 3.]], dtype=float32)
    """

    def __init__(
        self,
        num_rows: IntLike,
        multiplier: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        rows = size_of(num_rows)
        self._multiplier = check_tensor(multiplier, 0, "multiplier")
        column = movement.expand_dims(self._multiplier, -1)
        super().__init__(
            movement.broadcast_to(column, (*self._multiplier.shape, rows)),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def multiplier(self) -> Tensor:
        """The scalars."""
        return self._multiplier

    def _log_abs_determinant(self) -> Tensor:
        return log_abs(self._diag)


class LinearOperatorIdentity(LinearOperatorDiag):
    """Identity matrices.

    Args:
      num_rows: The number of rows.
      batch_shape: The shape of the batch; None for one matrix.
      dtype: The dtype; float32 by default.
      is_non_singular: Must be True.
      is_self_adjoint: Must be True.
      is_positive_definite: A hint that they are positive definite.
      is_square: Must be True.
      assert_proper_shapes: Not used: shapes are always checked.
      name: A name.

    Raises:
      ValueError: If ``num_rows`` is not a non-negative integer, or a hint is wrong.

    Example:
      >>> tf.linalg.LinearOperatorIdentity(2).to_dense().numpy()
      array([[1., 0.],
             [0., 1.]], dtype=float32)
    """

    def __init__(
        self,
        num_rows: IntLike,
        batch_shape: ShapeLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        if not (is_non_singular and is_self_adjoint and is_square):
            raise ValueError("An identity operator is always non-singular, self adjoint, square.")
        batch_dims = () if batch_shape is None else to_shape(batch_shape)
        super().__init__(
            ones((*batch_dims, size_of(num_rows)), float32 if dtype is None else as_dtype(dtype)),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    def _to_dense(self) -> Tensor:
        return eye(self.domain_dimension, batch_shape=list(self.batch_shape), dtype=self.dtype)


class LinearOperatorZeros(LinearOperator):
    """Matrices of zeros.

    Args:
      num_rows: The number of rows.
      num_columns: The number of columns; None for ``num_rows``.
      batch_shape: The shape of the batch; None for one matrix.
      dtype: The dtype; float32 by default.
      is_non_singular: Must not be True.
      is_self_adjoint: A hint that they are self-adjoint; square ones always are.
      is_positive_definite: Must not be True.
      is_square: A hint that they are square.
      assert_proper_shapes: Not used: shapes are always checked.
      name: A name.

    Raises:
      ValueError: If a size is not a non-negative integer, or a hint is wrong.

    Example:
      >>> tf.linalg.LinearOperatorZeros(2).matvec([1.0, 2.0]).numpy()
      array([0., 0.], dtype=float32)
    """

    def __init__(
        self,
        num_rows: IntLike,
        num_columns: IntLike | None = None,
        batch_shape: ShapeLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        rows = size_of(num_rows)
        columns = rows if num_columns is None else size_of(num_columns)
        if not is_self_adjoint and is_square:
            raise ValueError("A zero operator is always self adjoint.")
        if is_non_singular:
            raise ValueError("A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError("A zero operator is always not positive-definite.")
        batch_dims = () if batch_shape is None else to_shape(batch_shape)
        super().__init__(
            float32 if dtype is None else as_dtype(dtype),
            (*batch_dims, rows, columns),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    def _to_dense(self) -> Tensor:
        return zeros(tuple(self.shape), self.dtype)

    def _diag_part(self) -> Tensor:
        return zeros((*self.batch_shape, min(self.shape[-2:])), self.dtype)

    def _determinant(self) -> Tensor:
        return zeros(tuple(self.batch_shape), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return elementwise.log(self._determinant())
