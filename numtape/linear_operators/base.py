"""`LinearOperator`: the base class, with the public methods and their dense defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..compat.missing_names import tell
from ..core.log.as_tensor import to_tensor
from ..core.ops import movement, reduction
from ..core.ops.creation import eye
from ..core.ops.diagonals import adjoint_of, diagonal
from ..core.ops.linear_systems import broadcast_batches, cholesky, solve
from ..core.ops.lu_factors import det, slogdet
from ..core.ops.matrix_products import matmul
from ..core.values.dtypes import DType, as_dtype
from ..core.values.spec import TensorShape
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, TensorLike


class LinearOperator:
    """Base class: a batch of matrices, defined by its operations.

    A subclass defines `_to_dense`, and overrides `_matmul`, `_solve` and other methods for which
    its structure allows faster algorithms.

    Args:
      dtype: The dtype.
      shape: The shape, (..., m, n).
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint (Hermitian).
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      ValueError: If hints contradict each other.

    Example:
      >>> operator = tf.linalg.LinearOperatorDiag([2.0, 4.0])
      >>> operator.matvec([1.0, 1.0]).numpy(), operator.determinant().numpy()
      (array([2., 4.], dtype=float32), np.float32(8.0))
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: tuple[int, ...],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)
        square = shape[-1] == shape[-2]
        if is_square is not None and is_square != square:
            raise ValueError(f"is_square={is_square} contradicts the shape {self._shape}.")
        if is_positive_definite and is_non_singular is False:
            raise ValueError("A positive definite matrix is always non-singular.")
        if not square and (is_non_singular or is_self_adjoint or is_positive_definite):
            raise ValueError("A non-singular or self-adjoint matrix is always square.")
        self._square = square
        self._non_singular = True if is_positive_definite else is_non_singular
        self._self_adjoint = True if is_positive_definite else is_self_adjoint
        self._positive_definite = is_positive_definite
        self._name = name or type(self).__name__

    # Methods for subclasses to override.

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return matmul(self._to_dense(), x, adjoint_a=adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return solve(*broadcast_batches(self._to_dense(), rhs, "MatrixSolve"), adjoint=adjoint)

    def _to_dense(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} must define _to_dense.")

    def _diag_part(self) -> Tensor:
        return diagonal(self._to_dense())

    def _product(self, other: LinearOperator) -> LinearOperator:
        return Kinds.composition([self, other])

    def _adjoint(self) -> LinearOperator:
        return Kinds.adjoint(self)

    def _inverse(self) -> LinearOperator:
        return Kinds.inverse(self)

    def _determinant(self) -> Tensor:
        return det(self._to_dense())

    def _log_abs_determinant(self) -> Tensor:
        return slogdet(self._to_dense()).log_abs_determinant

    # Public methods.

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape, (..., m, n)."""
        return self._shape

    @property
    def batch_shape(self) -> TensorShape:
        """The shape without rows and columns."""
        return TensorShape(self._shape[:-2])

    @property
    def tensor_rank(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def range_dimension(self) -> int:
        """The number of rows."""
        return int(self._shape[-2])

    @property
    def domain_dimension(self) -> int:
        """The number of columns."""
        return int(self._shape[-1])

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def is_square(self) -> bool:
        """Whether the matrices are square."""
        return self._square

    @property
    def is_non_singular(self) -> bool | None:
        """Whether the matrices are invertible; None if unknown."""
        return self._non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether the matrices are self-adjoint; None if unknown."""
        return self._self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether the matrices are positive definite; None if unknown."""
        return self._positive_definite

    @property
    def H(self) -> LinearOperator:
        """The adjoint."""
        return self.adjoint()

    def _operand(self, x: TensorLike, adjoint: bool = False, rows: int | None = None) -> Tensor:
        """Convert an argument to a tensor, take its adjoint, and check its number of rows."""
        operand: Tensor = to_tensor(x, self._dtype)
        operand = adjoint_of(operand) if adjoint else operand
        if rows is not None and (operand.ndim < 2 or operand.shape[-2] != rows):
            raise InvalidArgumentError(
                f"The argument must have {rows} rows for an operator of shape {self._shape}, got "
                f"shape {operand.shape} [Op:{type(self).__name__}]"
            )
        return operand

    def _identity(self) -> Tensor:
        """Return an identity matrix to multiply this operator by."""
        return eye(self.domain_dimension, dtype=self._dtype)

    def _needs_square(self, operation: str) -> None:
        if not self._square:
            raise NotImplementedError(
                f"{operation} requires a square matrix, got shape {self._shape}."
            )

    def matmul(
        self, x: TensorLike | LinearOperator, adjoint: bool = False, adjoint_arg: bool = False
    ) -> Any:
        """Multiply by matrices, or by another operator.

        Args:
          x: A tensor of shape (..., n, k) and the same dtype, or an operator.
          adjoint: Whether to take the adjoint of this operator.
          adjoint_arg: Whether to take the adjoint of ``x``.

        Returns:
          A tensor of shape (..., m, k), or an operator.

        Raises:
          InvalidArgumentError: If the shape of a tensor is incompatible.
          ValueError: If the shape of an operator is incompatible.

        Example:
          >>> tf.linalg.LinearOperatorIdentity(2).matmul([[1.0], [2.0]]).numpy()
          array([[1.],
                 [2.]], dtype=float32)
        """
        if isinstance(x, LinearOperator):
            left, right = self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x
            if left.domain_dimension != right.range_dimension:
                raise ValueError(
                    f"Operators are incompatible. Expected `x` to have dimension "
                    f"{left.domain_dimension} but got {right.range_dimension}."
                )
            return left._product(right)
        rows = self.range_dimension if adjoint else self.domain_dimension
        return self._matmul(self._operand(x, adjoint_arg, rows), bool(adjoint))

    __matmul__ = matmul

    def matvec(self, x: TensorLike, adjoint: bool = False) -> Tensor:
        """Multiply by vectors.

        Args:
          x: A tensor of shape (..., n) and the same dtype.
          adjoint: Whether to take the adjoint of this operator.

        Returns:
          A tensor of shape (..., m).

        Raises:
          InvalidArgumentError: If the shapes are incompatible.

        Example:
          >>> tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0]]).matvec([1.0, 1.0]).numpy()
          array([3.], dtype=float32)
        """
        column = movement.expand_dims(self._operand(x), -1)
        return movement.squeeze(self.matmul(column, adjoint), -1)

    def solve(
        self, rhs: TensorLike | LinearOperator, adjoint: bool = False, adjoint_arg: bool = False
    ) -> Any:
        """Solve ``operator @ x = rhs`` for ``x``.

        Args:
          rhs: A tensor of shape (..., m, k) and the same dtype, or an operator.
          adjoint: Whether to take the adjoint of this operator.
          adjoint_arg: Whether to take the adjoint of ``rhs``.

        Returns:
          A tensor of shape (..., n, k), or an operator.

        Raises:
          NotImplementedError: If the operator is not square, or hinted to be singular.
          InvalidArgumentError: If the shapes are incompatible, or a matrix is singular.

        Example:
          >>> tf.linalg.LinearOperatorDiag([2.0, 4.0]).solve([[2.0], [2.0]]).numpy()
          array([[1. ],
                 [0.5]], dtype=float32)
        """
        self._needs_square("solve")
        if self._non_singular is False:
            raise NotImplementedError("Exact solve not implemented for a singular operator.")
        if isinstance(rhs, LinearOperator):
            return (
                (self.adjoint() if adjoint else self).inverse().matmul(rhs, adjoint_arg=adjoint_arg)
            )
        return self._solve(self._operand(rhs, adjoint_arg, self.range_dimension), bool(adjoint))

    def solvevec(self, rhs: TensorLike, adjoint: bool = False) -> Tensor:
        """Solve ``operator @ x = rhs`` for vectors.

        Args:
          rhs: A tensor of shape (..., m) and the same dtype.
          adjoint: Whether to take the adjoint of this operator.

        Returns:
          A tensor of shape (..., n).

        Raises:
          NotImplementedError: If the operator is not square, or hinted to be singular.
          InvalidArgumentError: If the shapes are incompatible, or a matrix is singular.

        Example:
          >>> tf.linalg.LinearOperatorDiag([2.0, 4.0]).solvevec([2.0, 2.0]).numpy()
          array([1. , 0.5], dtype=float32)
        """
        column = movement.expand_dims(self._operand(rhs), -1)
        return movement.squeeze(self.solve(column, adjoint), -1)

    def adjoint(self) -> LinearOperator:
        """Return the adjoint operator.

        Returns:
          An operator; this one if it is hinted to be self-adjoint.

        Example:
          >>> tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0]]).adjoint().shape
          TensorShape([2, 1])
        """
        return self if self._self_adjoint else self._adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the inverse operator, which computes lazily.

        Args:
          name: Not used.

        Returns:
          An operator.

        Raises:
          ValueError: If the operator is not square, or hinted to be singular.

        Example:
          >>> tf.linalg.LinearOperatorDiag([2.0, 4.0]).inverse().matvec([2.0, 2.0]).numpy()
          array([1. , 0.5], dtype=float32)
        """
        if not self._square:
            raise ValueError("Cannot take the Inverse: the matrix is not square.")
        if self._non_singular is False:
            raise ValueError("Cannot take the Inverse: the matrix is singular.")
        return self._inverse()

    def to_dense(self) -> Tensor:
        """Return the matrices as a tensor.

        Returns:
          A tensor of shape (..., m, n).

        Example:
          >>> tf.linalg.LinearOperatorDiag([1.0, 2.0]).to_dense().numpy()
          array([[1., 0.],
                 [0., 2.]], dtype=float32)
        """
        return self._to_dense()

    def diag_part(self) -> Tensor:
        """Return the main diagonals.

        Returns:
          A tensor of shape (..., min(m, n)).

        Example:
          >>> tf.linalg.LinearOperatorDiag([1.0, 2.0]).diag_part().numpy()
          array([1., 2.], dtype=float32)
        """
        return self._diag_part()

    def trace(self) -> Tensor:
        """Return the sums of the main diagonals.

        Returns:
          A tensor of shape (...).

        Example:
          >>> tf.linalg.LinearOperatorDiag([1.0, 2.0]).trace().numpy()
          np.float32(3.0)
        """
        return reduction.reduce_sum(self._diag_part(), -1)

    def determinant(self) -> Tensor:
        """Return the determinants.

        Returns:
          A tensor of shape (...).

        Raises:
          NotImplementedError: If the operator is not square.

        Example:
          >>> tf.linalg.LinearOperatorDiag([3.0, 2.0]).determinant().numpy()
          np.float32(6.0)
        """
        self._needs_square("determinant")
        return self._determinant()

    def log_abs_determinant(self) -> Tensor:
        """Return the logarithms of the absolute values of the determinants.

        Returns:
          A tensor of shape (...).

        Raises:
          NotImplementedError: If the operator is not square.

        Example:
          >>> tf.linalg.LinearOperatorIdentity(2).log_abs_determinant().numpy()
          np.float32(0.0)
        """
        self._needs_square("log_abs_determinant")
        return self._log_abs_determinant()

    def add_to_tensor(self, x: TensorLike) -> Tensor:
        """Add the matrices to a tensor.

        Args:
          x: A tensor of the same dtype, whose shape broadcasts.

        Returns:
          A tensor.

        Raises:
          InvalidArgumentError: If the shapes are incompatible.

        Example:
          >>> tf.linalg.LinearOperatorIdentity(2).add_to_tensor(tf.ones((2, 2))).numpy()
          array([[2., 1.],
                 [1., 2.]], dtype=float32)
        """
        return self._to_dense() + self._operand(x)

    def cholesky(self) -> LinearOperator:
        """Return the Cholesky factors of self-adjoint positive definite matrices.

        Returns:
          An operator.

        Raises:
          ValueError: If the operator is not hinted to be self-adjoint and positive definite.

        Example:
          >>> operator = tf.linalg.LinearOperatorDiag([4.0], is_positive_definite=True)
          >>> operator.cholesky().to_dense().numpy()
          array([[2.]], dtype=float32)
        """
        if not (self._positive_definite and self._self_adjoint):
            raise ValueError(
                "Cannot take the Cholesky decomposition: "
                "Not a positive definite self adjoint matrix."
            )
        return Kinds.lower(cholesky(self._to_dense()), is_non_singular=True)


class Kinds:
    """Operator classes that methods of the base class return; the package's `__init__` sets them.

    Their modules import this one, so it cannot import them.
    """

    lower: Callable[..., LinearOperator]
    adjoint: Callable[..., LinearOperator]
    inverse: Callable[..., LinearOperator]
    composition: Callable[..., LinearOperator]


tell(LinearOperator, "linalg.LinearOperator")
