"""Matrices as objects that know what they are: what `tf.linalg.LinearOperator` is for."""

from __future__ import annotations

from typing import Any

from .core.log.tensors import to_tensor
from .core.ops import elementwise, movement, reduction
from .core.ops.cholesky import cholesky
from .core.ops.complex import conj
from .core.ops.creation import eye, ones
from .core.ops.diagonals import diagonal, diagonal_matrix
from .core.ops.linear_systems import alike, cholesky_solve, solve, triangular_solve
from .core.ops.lu_factors import det, matrix_of, slogdet
from .core.ops.matrix_products import matmul
from .core.ops.movement import static, static_shape
from .core.ops.triangles import adjoint_of, triangle
from .core.values.dtypes import DType, as_dtype, float32
from .core.values.spec import TensorShape
from .core.values.tensor import Tensor

__all__ = [
    "LinearOperator", "LinearOperatorDiag", "LinearOperatorFullMatrix", "LinearOperatorIdentity",
    "LinearOperatorLowerTriangular", "LinearOperatorScaledIdentity",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


class LinearOperator:
    """A batch of matrices, given by what they do: base of those that know how they are built.

    A subclass defines `_matmul`, `_solve`, `_to_dense` and what else it can do better.

    Args:
      dtype: The dtype.
      shape: The shape, (..., m, n).
      is_non_singular: A promise that they can be inverted; None for no promise.
      is_self_adjoint: A promise that they are symmetric.
      is_positive_definite: A promise that they are positive definite.
      is_square: A promise that they are square.
      name: A name.

    Raises:
      ValueError: If promises contradict each other.

    Example:
      >>> operator = tf.linalg.LinearOperatorDiag([2.0, 4.0])
      >>> operator.matvec([1.0, 1.0]).numpy(), operator.determinant().numpy()
      (array([2., 4.], dtype=float32), np.float32(8.0))
    """

    def __init__(
        self, dtype: Any, shape: tuple[int, ...], is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
        is_square: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)
        square = shape[-1] == shape[-2]
        if is_square is not None and is_square != square:
            raise ValueError(f"is_square={is_square}, but the shape is {self._shape}.")
        if is_positive_definite and is_non_singular is False:
            raise ValueError("A positive definite matrix is always non-singular.")
        if not square and (is_non_singular or is_self_adjoint or is_positive_definite):
            raise ValueError("A non-singular or self-adjoint matrix is always square.")
        self._square = square
        self._non_singular = True if is_positive_definite else is_non_singular
        self._self_adjoint = True if is_positive_definite else is_self_adjoint
        self._positive_definite = is_positive_definite
        self._name = name or type(self).__name__

    # What a subclass is made of.

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return matmul(self._to_dense(), x, adjoint_a=adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return solve(*alike(self._to_dense(), rhs, "MatrixSolve"), adjoint=adjoint)

    def _to_dense(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define _to_dense.")

    def _diag_part(self) -> Tensor:
        return diagonal(self._to_dense())

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorFullMatrix(adjoint_of(self._to_dense()))

    def _determinant(self) -> Tensor:
        return det(self._to_dense())

    def _log_abs_determinant(self) -> Tensor:
        return slogdet(self._to_dense()).log_abs_determinant

    # What everybody uses.

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
        """The shape but for rows and columns."""
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
        """Whether they are square."""
        return self._square

    @property
    def is_non_singular(self) -> bool | None:
        """Whether they can be inverted; None if nobody said."""
        return self._non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether they are symmetric; None if nobody said."""
        return self._self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether they are positive definite; None if nobody said."""
        return self._positive_definite

    @property
    def H(self) -> LinearOperator:
        """The adjoint."""
        return self.adjoint()

    def _operand(self, x: Any) -> Tensor:
        found: Tensor = to_tensor(x, self._dtype)
        return found

    def _needs_square(self, what: str) -> None:
        if not self._square:
            raise NotImplementedError(f"{what} needs a square matrix, got shape {self._shape}.")

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        """The product with matrices, or with another operator.

        Args:
          x: A tensor of shape (..., n, k) and the same dtype, or an operator.
          adjoint: Whether to take the adjoint of this operator.
          adjoint_arg: Whether to take that of ``x``.

        Returns:
          A tensor of shape (..., m, k), or an operator.

        Raises:
          InvalidArgumentError: If the shapes do not fit.

        Example:
          >>> tf.linalg.LinearOperatorIdentity(2).matmul([[1.0], [2.0]]).numpy()
          array([[1.],
                 [2.]], dtype=float32)
        """
        if isinstance(x, LinearOperator):
            right = adjoint_of(x.to_dense()) if adjoint_arg else x.to_dense()
            return LinearOperatorFullMatrix(self._matmul(right, bool(adjoint)))
        operand = self._operand(x)
        return self._matmul(adjoint_of(operand) if adjoint_arg else operand, bool(adjoint))

    __matmul__ = matmul

    def matvec(self, x: Any, adjoint: bool = False) -> Tensor:
        """The product with vectors.

        Args:
          x: A tensor of shape (..., n) and the same dtype.
          adjoint: Whether to take the adjoint of this operator.

        Returns:
          A tensor of shape (..., m).

        Raises:
          InvalidArgumentError: If the shapes do not fit.

        Example:
          >>> tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0]]).matvec([1.0, 1.0]).numpy()
          array([3.], dtype=float32)
        """
        column = movement.expand_dims(self._operand(x), -1)
        return movement.squeeze(self._matmul(column, bool(adjoint)), -1)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        """The ``x`` whose product with this operator is ``rhs``.

        Args:
          rhs: A tensor of shape (..., m, k) and the same dtype.
          adjoint: Whether to take the adjoint of this operator.
          adjoint_arg: Whether to take that of ``rhs``.

        Returns:
          A tensor of shape (..., n, k).

        Raises:
          NotImplementedError: If the operator is not square, or said to be singular.
          InvalidArgumentError: If the shapes do not fit, or it cannot be inverted.

        Example:
          >>> tf.linalg.LinearOperatorDiag([2.0, 4.0]).solve([[2.0], [2.0]]).numpy()
          array([[1. ],
                 [0.5]], dtype=float32)
        """
        self._needs_square("solve")
        if self._non_singular is False:
            raise NotImplementedError("Exact solve not implemented for a singular operator.")
        right = self._operand(rhs)
        return self._solve(adjoint_of(right) if adjoint_arg else right, bool(adjoint))

    def solvevec(self, rhs: Any, adjoint: bool = False) -> Tensor:
        """The vectors whose product with this operator is ``rhs``.

        Args:
          rhs: A tensor of shape (..., m) and the same dtype.
          adjoint: Whether to take the adjoint of this operator.

        Returns:
          A tensor of shape (..., n).

        Raises:
          NotImplementedError: If the operator is not square, or said to be singular.
          InvalidArgumentError: If the shapes do not fit, or it cannot be inverted.

        Example:
          >>> tf.linalg.LinearOperatorDiag([2.0, 4.0]).solvevec([2.0, 2.0]).numpy()
          array([1. , 0.5], dtype=float32)
        """
        column = movement.expand_dims(self._operand(rhs), -1)
        return movement.squeeze(self.solve(column, adjoint), -1)

    def adjoint(self) -> LinearOperator:
        """The adjoint operator.

        Returns:
          An operator; this one if it is said to be symmetric.

        Example:
          >>> tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0]]).adjoint().shape
          TensorShape([2, 1])
        """
        return self if self._self_adjoint else self._adjoint()

    def to_dense(self) -> Tensor:
        """The matrices as a tensor.

        Returns:
          A tensor of shape (..., m, n).

        Example:
          >>> tf.linalg.LinearOperatorDiag([1.0, 2.0]).to_dense().numpy()
          array([[1., 0.],
                 [0., 2.]], dtype=float32)
        """
        return self._to_dense()

    def diag_part(self) -> Tensor:
        """The main diagonals.

        Returns:
          A tensor of shape (..., the smaller one of m and n).

        Example:
          >>> tf.linalg.LinearOperatorDiag([1.0, 2.0]).diag_part().numpy()
          array([1., 2.], dtype=float32)
        """
        return self._diag_part()

    def trace(self) -> Tensor:
        """The sums of the main diagonals.

        Returns:
          A tensor of shape (...).

        Example:
          >>> tf.linalg.LinearOperatorDiag([1.0, 2.0]).trace().numpy()
          np.float32(3.0)
        """
        return reduction.reduce_sum(self._diag_part(), -1)

    def determinant(self) -> Tensor:
        """The determinants.

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
        """The logarithms of the absolute values of the determinants.

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

    def add_to_tensor(self, x: Any) -> Tensor:
        """The matrices added to a tensor.

        Args:
          x: A tensor of the same dtype, whose shape broadcasts.

        Returns:
          A tensor.

        Raises:
          InvalidArgumentError: If the shapes do not fit.

        Example:
          >>> tf.linalg.LinearOperatorIdentity(2).add_to_tensor(tf.ones((2, 2))).numpy()
          array([[2., 1.],
                 [1., 2.]], dtype=float32)
        """
        return self._to_dense() + self._operand(x)

    def cholesky(self) -> LinearOperator:
        """The lower triangular factors of symmetric positive definite matrices.

        Returns:
          An operator.

        Raises:
          ValueError: If nobody said that they are symmetric and positive definite.

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
        return LinearOperatorLowerTriangular(cholesky(self._to_dense()), is_non_singular=True)


class LinearOperatorFullMatrix(LinearOperator):
    """Matrices that are what they are.

    Args:
      matrix: A tensor of floats or complex numbers, of shape (..., m, n).
      is_non_singular: A promise that they can be inverted; None for no promise.
      is_self_adjoint: A promise that they are symmetric.
      is_positive_definite: A promise that they are positive definite.
      is_square: A promise that they are square.
      name: A name.

    Raises:
      ValueError: If the rank is below 2, or promises contradict each other.

    Example:
      >>> tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]]).trace().numpy()
      np.float32(5.0)
    """

    def __init__(
        self, matrix: Any, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
        is_square: bool | None = None, name: str = "LinearOperatorFullMatrix",
    ) -> None:  # fmt: skip
        self._matrix = _tensor(matrix, 2, "matrix")
        super().__init__(
            self._matrix.dtype, tuple(self._matrix.shape), is_non_singular, is_self_adjoint,
            is_positive_definite, is_square, name,
        )  # fmt: skip

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
      tril: A tensor of floats or complex numbers, of shape (..., n, n): the lower triangle is read.
      is_non_singular: A promise that they can be inverted; None for no promise.
      is_self_adjoint: A promise that they are symmetric.
      is_positive_definite: A promise that they are positive definite.
      is_square: A promise that they are square.
      name: A name.

    Raises:
      InvalidArgumentError: If they are not square matrices of floats.
      ValueError: If promises contradict each other.

    Example:
      >>> operator = tf.linalg.LinearOperatorLowerTriangular([[2.0, 9.0], [1.0, 4.0]])
      >>> operator.to_dense().numpy()
      array([[2., 0.],
             [1., 4.]], dtype=float32)
    """

    def __init__(
        self, tril: Any, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
        is_square: bool | None = None, name: str = "LinearOperatorLowerTriangular",
    ) -> None:  # fmt: skip
        self._lower = triangle(matrix_of(to_tensor(tril, None), "LinearOperator"), True)
        super().__init__(
            self._lower.dtype, tuple(self._lower.shape), is_non_singular, is_self_adjoint,
            is_positive_definite, is_square, name,
        )  # fmt: skip

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
        return _log_abs(self._diag_part())


class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices: products and solutions are elementwise.

    Args:
      diag: A tensor of floats or complex numbers, of shape (..., n).
      is_non_singular: A promise that they can be inverted; None for no promise.
      is_self_adjoint: A promise that they are symmetric, which real ones are.
      is_positive_definite: A promise that they are positive definite.
      is_square: A promise that they are square, which they are.
      name: A name.

    Raises:
      ValueError: If ``diag`` is a scalar, or promises contradict each other.

    Example:
      >>> tf.linalg.LinearOperatorDiag([1.0, 2.0]).matvec([3.0, 4.0]).numpy()
      array([3., 8.], dtype=float32)
    """

    def __init__(
        self, diag: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:  # fmt: skip
        self._diag = _tensor(diag, 1, "diag")
        real = self._diag.dtype.is_floating
        if (real and is_self_adjoint is False) or is_square is False:
            raise ValueError("A real diagonal operator is always self adjoint and square.")
        n = self._diag.shape[-1]
        super().__init__(
            self._diag.dtype, (*self._diag.shape[:-1], n, n), is_non_singular,
            True if real else is_self_adjoint, is_positive_definite, True, name,
        )  # fmt: skip

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

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorDiag(conj(self._diag))

    def _determinant(self) -> Tensor:
        return reduction.reduce_prod(self._diag, -1)

    def _log_abs_determinant(self) -> Tensor:
        return elementwise.cast(_log_abs(self._diag), self.dtype)


class LinearOperatorScaledIdentity(LinearOperatorDiag):
    """Identity matrices times numbers.

    Args:
      num_rows: The number of rows.
      multiplier: A tensor of floats or complex numbers, of shape (...).
      is_non_singular: A promise that they can be inverted; None for no promise.
      is_self_adjoint: A promise that they are symmetric, which real ones are.
      is_positive_definite: A promise that they are positive definite.
      is_square: A promise that they are square, which they are.
      assert_proper_shapes: Changes nothing: shapes are checked anyway.
      name: A name.

    Raises:
      ValueError: If ``num_rows`` is negative or no integer, or promises contradict each other.

    Example:
      >>> tf.linalg.LinearOperatorScaledIdentity(2, 3.0).to_dense().numpy()
      array([[3., 0.],
             [0., 3.]], dtype=float32)
    """

    def __init__(
        self, num_rows: Any, multiplier: Any, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
        is_square: bool | None = True, assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:  # fmt: skip
        rows = _rows(num_rows)
        self._multiplier = _tensor(multiplier, 0, "multiplier")
        column = movement.expand_dims(self._multiplier, -1)
        super().__init__(
            movement.broadcast_to(column, (*self._multiplier.shape, rows)), is_non_singular,
            is_self_adjoint, is_positive_definite, is_square, name,
        )  # fmt: skip

    @property
    def multiplier(self) -> Tensor:
        """The numbers."""
        return self._multiplier

    def _log_abs_determinant(self) -> Tensor:
        return _log_abs(self._diag)


class LinearOperatorIdentity(LinearOperatorDiag):
    """Identity matrices.

    Args:
      num_rows: The number of rows.
      batch_shape: The shape of the batch; None for one matrix.
      dtype: The dtype; float32 by default.
      is_non_singular: A promise that they can be inverted, which they can.
      is_self_adjoint: A promise that they are symmetric, which they are.
      is_positive_definite: A promise that they are positive definite, which they are.
      is_square: A promise that they are square, which they are.
      assert_proper_shapes: Changes nothing: shapes are checked anyway.
      name: A name.

    Raises:
      ValueError: If ``num_rows`` is negative or no integer, or a promise is False.

    Example:
      >>> tf.linalg.LinearOperatorIdentity(2).to_dense().numpy()
      array([[1., 0.],
             [0., 1.]], dtype=float32)
    """

    def __init__(
        self, num_rows: Any, batch_shape: Any = None, dtype: Any = None,
        is_non_singular: bool | None = True, is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True, is_square: bool | None = True,
        assert_proper_shapes: bool = False, name: str = "LinearOperatorIdentity",
    ) -> None:  # fmt: skip
        if not (is_non_singular and is_self_adjoint and is_square):
            raise ValueError("An identity operator is always non-singular, self adjoint, square.")
        lead = () if batch_shape is None else static_shape(batch_shape)
        super().__init__(
            ones((*lead, _rows(num_rows)), float32 if dtype is None else as_dtype(dtype)),
            is_non_singular, is_self_adjoint, is_positive_definite, is_square, name,
        )  # fmt: skip

    def _to_dense(self) -> Tensor:
        return eye(self.domain_dimension, batch_shape=list(self.batch_shape), dtype=self.dtype)


def _log_abs(diag: Tensor) -> Tensor:
    """The logarithm of the absolute value of a product: real numbers."""
    return reduction.reduce_sum(elementwise.log(elementwise.abs_(diag)), -1)


def _tensor(value: Any, rank: int, what: str) -> Tensor:
    """A tensor of floats or complex numbers of at least so many axes."""
    found: Tensor = to_tensor(value, None)
    if found.ndim < rank:
        raise ValueError(f"Argument {what} must have at least {rank} dimensions. Found: {found}")
    if not (found.dtype.is_floating or found.dtype.is_complex):
        raise TypeError(
            f"Argument {what} must have a float or complex dtype. Found: {found.dtype.name}"
        )
    return found


def _rows(value: Any) -> int:
    found = static(value)
    if not isinstance(found, int) or found < 0:
        raise ValueError(f"Argument num_rows must be a non-negative integer. Found: {value!r}")
    return found
