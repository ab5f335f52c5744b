"""Block operators: Kronecker products, block diagonal and block lower triangular matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.ops.joining import concat
from ..core.ops.movement import reshape, transpose_if_needed
from ..core.ops.slicing import split
from ..core.values.tensor import Tensor
from .arguments import broadcast_batches, common_batch_shape, operators_of, product_of, sum_of
from .base import LinearOperator

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators.

    Args:
      operators: One or more operators of the same dtype.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      TypeError: If an element is not an operator, or dtypes differ.
      ValueError: If the list is empty, batch shapes are incompatible, or hints contradict each
        other.

    Example:
      >>> first = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0]])
      >>> second = tf.linalg.LinearOperatorDiag([1.0, 3.0])
      >>> tf.linalg.LinearOperatorKronecker([first, second]).to_dense().numpy()
      array([[1., 0., 2., 0.],
             [0., 3., 0., 6.]], dtype=float32)
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operators = operators_of(operators)
        batch_shape, rows, columns = common_batch_shape(self._operators), 1, 1
        for operator in self._operators:
            rows, columns = rows * operator.range_dimension, columns * operator.domain_dimension
        super().__init__(
            self._operators[0].dtype,
            (*batch_shape, rows, columns),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            "_x_".join(x.name for x in self._operators) if name is None else name,
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The operators."""
        return list(self._operators)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        sizes = [x.range_dimension if adjoint else x.domain_dimension for x in self._operators]
        return _apply_factors(self._operators, sizes, "_matmul", x, adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        if not all(x.is_square for x in self._operators):
            return super()._solve(rhs, adjoint)
        sizes = [x.range_dimension for x in self._operators]
        return _apply_factors(self._operators, sizes, "_solve", rhs, adjoint)

    def _to_dense(self) -> Tensor:
        return self._matmul(self._identity(), False)

    def _determinant(self) -> Tensor:
        if not all(x.is_square for x in self._operators):
            return super()._determinant()
        n = self.range_dimension
        return product_of(
            [x._determinant() ** (n // max(x.range_dimension, 1)) for x in self._operators]
        )

    def _log_abs_determinant(self) -> Tensor:
        if not all(x.is_square for x in self._operators):
            return super()._log_abs_determinant()
        n = self.range_dimension
        return sum_of(
            [x._log_abs_determinant() * (n // max(x.range_dimension, 1)) for x in self._operators]
        )


def _swap_indices(x: Tensor, first_size: int, second_size: int) -> Tensor:
    """Swap the two indices of rows, from (..., first, second * k) to (..., second, first * k)."""
    batch_shape = tuple(x.shape[:-2])
    k = int(x._spec.size // max(1, _size(x.shape[:-2]) * first_size * second_size))
    x = reshape(x, (*batch_shape, first_size, second_size, k))
    n = len(batch_shape)
    return reshape(
        transpose_if_needed(x, (*range(n), n + 1, n, n + 2)),
        (*batch_shape, second_size, first_size * k),
    )


def _size(shape: Iterable[int]) -> int:
    size = 1
    for dim in shape:
        size *= dim
    return size


def _apply_factors(
    operators: list[LinearOperator], sizes: list[int], method: str, x: Tensor, adjoint: bool
) -> Tensor:
    """Apply a method of each Kronecker factor in turn to its index of the rows."""
    first_factor, size = operators[0], sizes[0]
    if len(operators) == 1:
        result: Tensor = getattr(first_factor, method)(x, adjoint)
        return result
    other_size, columns = _size(sizes[1:]), int(x.shape[-1])
    y = getattr(first_factor, method)(
        reshape(x, (*x.shape[:-2], size, other_size * columns)), adjoint
    )
    rows = int(y.shape[-2])
    y = _apply_factors(
        operators[1:], sizes[1:], method, _swap_indices(y, rows, other_size), adjoint
    )
    other_rows = int(y.shape[-2])
    y = _swap_indices(reshape(y, (*y.shape[:-2], other_rows, rows * columns)), other_rows, rows)
    return reshape(y, (*y.shape[:-2], rows * other_rows, columns))


class LinearOperatorBlockDiag(LinearOperator):
    """Block diagonal matrices.

    Args:
      operators: One or more operators of the same dtype.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      TypeError: If an element is not an operator, or dtypes differ.
      ValueError: If the list is empty, batch shapes are incompatible, or hints contradict each
        other.

    Example:
      >>> first = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0]])
      >>> second = tf.linalg.LinearOperatorDiag([3.0])
      >>> tf.linalg.LinearOperatorBlockDiag([first, second]).to_dense().numpy()
      array([[1., 2., 0.],
             [0., 0., 3.]], dtype=float32)
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operators = operators_of(operators)
        batch_shape = common_batch_shape(self._operators)
        rows = sum(x.range_dimension for x in self._operators)
        columns = sum(x.domain_dimension for x in self._operators)
        super().__init__(
            self._operators[0].dtype,
            (*batch_shape, rows, columns),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            "_ds_".join(x.name for x in self._operators) if name is None else name,
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The operators."""
        return list(self._operators)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        sizes = [x.range_dimension if adjoint else x.domain_dimension for x in self._operators]
        parts = zip(self._operators, split(x, sizes, axis=-2), strict=True)
        return concat(
            broadcast_batches([operator._matmul(part, adjoint) for operator, part in parts]), -2
        )

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        if not all(x.is_square for x in self._operators):
            return super()._solve(rhs, adjoint)
        sizes = [x.range_dimension for x in self._operators]
        parts = zip(self._operators, split(rhs, sizes, axis=-2), strict=True)
        return concat(
            broadcast_batches([operator._solve(part, adjoint) for operator, part in parts]), -2
        )

    def _to_dense(self) -> Tensor:
        return self._matmul(self._identity(), False)

    def _determinant(self) -> Tensor:
        if not all(x.is_square for x in self._operators):
            return super()._determinant()
        return product_of([x._determinant() for x in self._operators])

    def _log_abs_determinant(self) -> Tensor:
        if not all(x.is_square for x in self._operators):
            return super()._log_abs_determinant()
        return sum_of([x._log_abs_determinant() for x in self._operators])


class LinearOperatorBlockLowerTriangular(LinearOperator):
    """Block lower triangular matrices, solved block by block.

    Args:
      operators: Rows of operators of the same dtype: one in the first, two in the second, and so
        on; the last of each row is square. Blocks of a row have equal numbers of rows, blocks of
        a column equal numbers of columns.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      TypeError: If an element is not an operator, or dtypes differ.
      ValueError: If the shapes are incompatible, or hints contradict each other.

    Example:
      >>> one = tf.linalg.LinearOperatorDiag([2.0])
      >>> tf.linalg.LinearOperatorBlockLowerTriangular([[one], [one, one]]).to_dense().numpy()
      array([[2., 0.],
             [2., 2.]], dtype=float32)
    """

    def __init__(
        self,
        operators: Sequence[Sequence[LinearOperator]],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorBlockLowerTriangular",
    ) -> None:
        if not isinstance(operators, list | tuple) or not operators:
            raise ValueError(f"Expected a non-empty list of rows of operators. Found: {operators}")
        self._operators = [operators_of(row) for row in operators]
        all_operators = operators_of([x for row in self._operators for x in row])
        self._sizes = [row[-1].range_dimension for row in self._operators]
        for i, row in enumerate(self._operators):
            if len(row) != i + 1:
                raise ValueError(
                    f"Argument `operators[{i}]` must contain `{i + 1}` blocks. Received: "
                    f"{len(row)} blocks."
                )
            if not row[-1].is_square:
                raise ValueError(f"`operators[{i}][{i}]` must be square, got {row[-1].shape}.")
            for j, x in enumerate(row):
                if tuple(x.shape[-2:]) != (self._sizes[i], self._sizes[j]):
                    raise ValueError(
                        f"Argument `operators[{i}][{j}]` of shape {x.shape} must have "
                        f"{self._sizes[i]} rows and {self._sizes[j]} columns."
                    )
        if is_non_singular is None and all(row[-1].is_non_singular for row in self._operators):
            is_non_singular = True
        n = sum(self._sizes)
        super().__init__(
            all_operators[0].dtype,
            (*common_batch_shape(all_operators), n, n),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def operators(self) -> list[list[LinearOperator]]:
        """The rows of operators."""
        return [list(row) for row in self._operators]

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        parts = split(x, self._sizes, axis=-2)
        count, rows = len(parts), []
        for i in range(count):
            indices = range(i, count) if adjoint else range(i + 1)
            blocks = [self._operators[j][i] if adjoint else self._operators[i][j] for j in indices]
            rows.append(
                sum_of(
                    [
                        block._matmul(parts[j], adjoint)
                        for block, j in zip(blocks, indices, strict=True)
                    ]
                )
            )
        return concat(broadcast_batches(rows), -2)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        """Solve by forward (or, for the adjoint, backward) substitution."""
        parts = split(rhs, self._sizes, axis=-2)
        count = len(parts)
        solutions: dict[int, Tensor] = {}
        for i in reversed(range(count)) if adjoint else range(count):
            part = parts[i]
            for j, x in solutions.items():
                block = self._operators[j][i] if adjoint else self._operators[i][j]
                part = part - block._matmul(x, adjoint)
            solutions[i] = self._operators[i][i]._solve(part, adjoint)
        return concat(broadcast_batches([solutions[i] for i in range(count)]), -2)

    def _to_dense(self) -> Tensor:
        return self._matmul(self._identity(), False)

    def _determinant(self) -> Tensor:
        return product_of([row[-1]._determinant() for row in self._operators])

    def _log_abs_determinant(self) -> Tensor:
        return sum_of([row[-1]._log_abs_determinant() for row in self._operators])
