"""Toeplitz, tridiagonal, permutation and Householder operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.log.as_tensor import as_tensor
from ..core.ops import elementwise, movement, reduction
from ..core.ops.arrange import roll
from ..core.ops.banded import packed_diagonals, tridiagonal_product, tridiagonal_solution
from ..core.ops.comparison import equal
from ..core.ops.complex import conj, real
from ..core.ops.creation import ones, zeros
from ..core.ops.diagonals import diag
from ..core.ops.indexing import gather
from ..core.ops.joining import concat, stack
from ..core.ops.matrix_products import matmul
from ..core.ops.slicing import reverse, unstack
from ..core.ops.sorting import argsort
from ..core.values.dtypes import float32
from ..core.values.tensor import Tensor
from .arguments import check_tensor
from .base import LinearOperator

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, TensorLike


class LinearOperatorToeplitz(LinearOperator):
    """Toeplitz matrices, which are constant along each diagonal.

    Args:
      col: A tensor of floats or complex numbers, of shape (..., n): the first column.
      row: A tensor of the same dtype: the first row, whose first element is not used.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      TypeError: If the dtypes are neither float nor complex, or differ.
      ValueError: If the shapes are incompatible, or hints contradict each other.

    Example:
      >>> tf.linalg.LinearOperatorToeplitz([1.0, 2.0, 3.0], [1.0, 5.0, 6.0]).to_dense().numpy()
      array([[1., 5., 6.],
             [2., 1., 5.],
             [3., 2., 1.]], dtype=float32)
    """

    def __init__(
        self,
        col: TensorLike,
        row: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        self._col = check_tensor(col, 1, "col")
        self._row = check_tensor(row, 1, "row", self._col.dtype)
        if self._row.shape[-1] != self._col.shape[-1]:
            raise ValueError("Expected square matrix, got row and col with mismatched dimensions.")
        shape_ = np.broadcast_shapes(tuple(self._col.shape), tuple(self._row.shape))
        super().__init__(
            self._col.dtype,
            (*shape_, shape_[-1]),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def col(self) -> Tensor:
        """The first columns."""
        return self._col

    @property
    def row(self) -> Tensor:
        """The first rows."""
        return self._row

    def _to_dense(self) -> Tensor:
        n = self.domain_dimension
        shape_ = (*self.batch_shape, n)
        col, row = (movement.broadcast_to(x, shape_) for x in (self._col, self._row))
        # The values of the diagonals, from the lower left to the upper right corner.
        edge = concat([reverse(col, [-1]), row[..., 1:]], -1)
        indices = np.arange(n) - np.arange(n)[:, None] + n - 1
        return gather(edge, indices.astype(np.int32), axis=-1)

    def _diag_part(self) -> Tensor:
        return movement.broadcast_to(self._col[..., :1], (*self.batch_shape, self.domain_dimension))


class LinearOperatorTridiag(LinearOperator):
    """Tridiagonal matrices, multiplied and solved in one pass over the rows.

    Args:
      diagonals: A tensor of floats or complex numbers, of shape (..., 3, n), or as in
        ``diagonals_format``: see `tridiagonal_matmul`.
      diagonals_format: ``"compact"``, ``"sequence"`` or ``"matrix"``.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      TypeError: If the dtype is neither float nor complex.
      ValueError: If there are not three diagonals, or hints contradict each other.

    Example:
      >>> diagonals = tf.constant([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 1.0, 1.0]])
      >>> tf.linalg.LinearOperatorTridiag(diagonals).matvec([1.0, 1.0, 1.0]).numpy()
      array([3., 4., 3.], dtype=float32)
    """

    def __init__(
        self,
        diagonals: TensorLike,
        diagonals_format: str = "compact",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorTridiag",
    ) -> None:
        self._diagonals, self._format = diagonals, diagonals_format
        self._packed = check_tensor(
            packed_diagonals(diagonals, diagonals_format, "LinearOperatorTridiag"), 2, "diagonals"
        )
        *batch_shape, _, n = self._packed.shape
        super().__init__(
            self._packed.dtype,
            (*batch_shape, n, n),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def diagonals(self) -> Any:
        """The diagonals, as passed to the constructor."""
        return self._diagonals

    @property
    def diagonals_format(self) -> str:
        """The format of `diagonals`."""
        return self._format

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        diagonals = self._packed
        if adjoint:
            superdiagonal, main, subdiagonal = (conj(d) for d in unstack(diagonals, axis=-2))
            diagonals = stack(
                [roll(subdiagonal, -1, -1), main, roll(superdiagonal, 1, -1)], axis=-2
            )
        return tridiagonal_product(diagonals, x)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return tridiagonal_solution(self._packed, rhs, adjoint)

    def _to_dense(self) -> Tensor:
        n = self.domain_dimension
        if n < 2:
            return diag(self._packed[..., 1, :])
        return diag(self._packed, k=(-1, 1), num_rows=n, num_cols=n, align="LEFT_RIGHT")

    def _diag_part(self) -> Tensor:
        return self._packed[..., 1, :]


class LinearOperatorPermutation(LinearOperator):
    """Permutation matrices.

    Args:
      perm: A tensor of integers, of shape (..., n), each from 0 to n - 1 once: row i of a product
        is row ``perm[i]`` of the operand.
      dtype: The dtype of the elements.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      TypeError: If ``perm`` is not of integers.
      ValueError: If ``perm`` is not a permutation, or hints contradict each other.

    Example:
      >>> tf.linalg.LinearOperatorPermutation([2, 0, 1]).matvec([1.0, 2.0, 3.0]).numpy()
      array([3., 1., 2.], dtype=float32)
    """

    def __init__(
        self,
        perm: TensorLike,
        dtype: DTypeLike = float32,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorPermutation",
    ) -> None:
        self._perm: Tensor = as_tensor(perm)
        if self._perm.ndim < 1:
            raise ValueError("Argument `perm` must have at least 1 dimension.")
        if not self._perm.dtype.is_integer:
            raise TypeError(f"Argument `perm` must be integer dtype. Received: {self._perm}.")
        n = int(self._perm.shape[-1])
        if (np.sort(self._perm.numpy(), -1) != np.arange(n)).any():
            raise ValueError(
                f"Argument `perm` must be a vector of unique integers from 0 to {n - 1}."
            )
        if is_non_singular is False:
            raise ValueError("A Permutation operator is always non-singular.")
        super().__init__(
            dtype,
            (*self._perm.shape, n),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def perm(self) -> Tensor:
        """The permutation."""
        return self._perm

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        if self._perm.ndim > 1:
            return matmul(self._to_dense(), x, adjoint_a=adjoint)
        return gather(x, argsort(self._perm) if adjoint else self._perm, axis=-2)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._matmul(rhs, not adjoint)

    def _to_dense(self) -> Tensor:
        columns = np.arange(self.domain_dimension, dtype=self._perm.dtype.as_numpy_dtype)
        return elementwise.cast(equal(movement.expand_dims(self._perm, -1), columns), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(tuple(self.batch_shape), self.dtype)


class LinearOperatorHouseholder(LinearOperator):
    """Householder reflections, which reverse the component along an axis.

    See Householder, "Unitary triangularization of a nonsymmetric matrix" (1958).

    Args:
      reflection_axis: A tensor of floats or complex numbers, of shape (..., n): the axes.
      is_non_singular: Must not be False.
      is_self_adjoint: Must not be False.
      is_positive_definite: Must not be True.
      is_square: Must not be False.
      name: A name.

    Raises:
      TypeError: If the dtype is neither float nor complex.
      ValueError: If ``reflection_axis`` is a scalar, or a hint is wrong.

    Example:
      >>> tf.linalg.LinearOperatorHouseholder([0.0, 1.0]).matvec([2.0, 3.0]).numpy()
      array([ 2., -3.], dtype=float32)
    """

    def __init__(
        self,
        reflection_axis: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        self._axis = check_tensor(reflection_axis, 1, "reflection_axis")
        if is_positive_definite:
            raise ValueError("A Householder operator is always non-positive definite.")
        if is_self_adjoint is False or is_non_singular is False:
            raise ValueError("A Householder operator is always self-adjoint and non-singular.")
        n = self._axis.shape[-1]
        super().__init__(
            self._axis.dtype, (*self._axis.shape, n), is_non_singular, True, False, is_square, name
        )

    @property
    def reflection_axis(self) -> Tensor:
        """The axes."""
        return self._axis

    def _unit(self) -> Tensor:
        """Return the axes as columns of length 1."""
        square = real(reduction.reduce_sum(self._axis * conj(self._axis), -1, True))
        length = elementwise.rsqrt(elementwise.maximum(square, 1e-12))  # zero axis: no reflection
        return movement.expand_dims(self._axis * elementwise.cast(length, self.dtype), -1)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        unit = self._unit()
        return x - 2 * unit * matmul(unit, x, adjoint_a=True)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._matmul(rhs, adjoint)

    def _inverse(self) -> LinearOperator:
        return self

    def _to_dense(self) -> Tensor:
        return self._matmul(self._identity(), False)

    def _determinant(self) -> Tensor:
        return -ones(tuple(self.batch_shape), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(tuple(self.batch_shape), self.dtype)
