"""Operators composed of others: adjoints, inverses and products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.ops.complex import conj
from ..core.ops.diagonals import adjoint_of
from ..core.values.tensor import Tensor
from .arguments import common_batch_shape, hint, operators_of
from .base import LinearOperator

if TYPE_CHECKING:
    from collections.abc import Sequence


class LinearOperatorAdjoint(LinearOperator):
    """The adjoint of an operator, computed lazily.

    Args:
      operator: The operator.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      TypeError: If ``operator`` is not an operator.
      ValueError: If hints contradict each other or those of the operator.

    Example:
      >>> operator = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [0.0, 1.0]])
      >>> tf.linalg.LinearOperatorAdjoint(operator).matvec([1.0, 1.0]).numpy()
      array([1., 3.], dtype=float32)
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        (self._operator,) = operators_of([operator])
        super().__init__(
            operator.dtype,
            (*operator.shape[:-2], operator.shape[-1], operator.shape[-2]),
            is_non_singular,
            hint(operator, "is_self_adjoint", is_self_adjoint),
            hint(operator, "is_positive_definite", is_positive_definite),
            is_square,
            f"{operator.name}_adjoint" if name is None else name,
        )
        if is_non_singular is None:
            self._non_singular = operator.is_non_singular

    @property
    def operator(self) -> LinearOperator:
        """The operator before taking the adjoint."""
        return self._operator

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return self._operator._matmul(x, not adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._operator._solve(rhs, not adjoint)

    def _to_dense(self) -> Tensor:
        return adjoint_of(self._operator._to_dense())

    def _diag_part(self) -> Tensor:
        return conj(self._operator._diag_part())

    def _adjoint(self) -> LinearOperator:
        return self._operator

    def _determinant(self) -> Tensor:
        return conj(self._operator._determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self._operator._log_abs_determinant()


class LinearOperatorInversion(LinearOperator):
    """The inverse of an operator, computed lazily: a product solves with the operator.

    Args:
      operator: The operator; it must be square and not hinted to be singular.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      TypeError: If ``operator`` is not an operator.
      ValueError: If it cannot be inverted, or hints contradict each other or those of the operator.

    Example:
      >>> operator = tf.linalg.LinearOperatorFullMatrix([[2.0, 0.0], [0.0, 4.0]])
      >>> tf.linalg.LinearOperatorInversion(operator).matvec([1.0, 1.0]).numpy()
      array([0.5 , 0.25], dtype=float32)
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        (self._operator,) = operators_of([operator])
        if operator.is_non_singular is False or is_non_singular is False:
            raise ValueError("An inverse requires a non-singular operator.")
        if not operator.is_square:
            raise ValueError(f"An inverse requires a square operator, got {operator.shape}.")
        super().__init__(
            operator.dtype,
            tuple(operator.shape),
            hint(operator, "is_non_singular", is_non_singular),
            hint(operator, "is_self_adjoint", is_self_adjoint),
            hint(operator, "is_positive_definite", is_positive_definite),
            is_square,
            f"{operator.name}_inv" if name is None else name,
        )

    @property
    def operator(self) -> LinearOperator:
        """The operator before inversion."""
        return self._operator

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return self._operator._solve(x, adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._operator._matmul(rhs, adjoint)

    def _inverse(self) -> LinearOperator:
        return self._operator

    def _to_dense(self) -> Tensor:
        return self._operator._solve(self._identity(), False)

    def _determinant(self) -> Tensor:
        return 1 / self._operator._determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -self._operator._log_abs_determinant()


class LinearOperatorComposition(LinearOperator):
    """The product of operators. The last one is applied first.

    Args:
      operators: One or more operators with the same dtype and compatible shapes.
      is_non_singular: A hint that the matrices are invertible; None for no hint.
      is_self_adjoint: A hint that they are self-adjoint.
      is_positive_definite: A hint that they are positive definite.
      is_square: A hint that they are square.
      name: A name.

    Raises:
      TypeError: If an element is not an operator, or dtypes differ.
      ValueError: If the list is empty, shapes are incompatible, or hints contradict each other.

    Example:
      >>> first = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [0.0, 1.0]])
      >>> second = tf.linalg.LinearOperatorDiag([2.0, 3.0])
      >>> tf.linalg.LinearOperatorComposition([first, second]).to_dense().numpy()
      array([[2., 6.],
             [0., 3.]], dtype=float32)
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
        for left, right in zip(self._operators, self._operators[1:], strict=False):
            if left.domain_dimension != right.range_dimension:
                raise ValueError(
                    f"Dimensions {left.domain_dimension} and {right.range_dimension} are not "
                    f"compatible"
                )
        batch_shape = common_batch_shape(self._operators)
        rows, columns = self._operators[0].range_dimension, self._operators[-1].domain_dimension
        if is_non_singular is None and all(x.is_non_singular for x in self._operators):
            is_non_singular = True
        super().__init__(
            self._operators[0].dtype,
            (*batch_shape, rows, columns),
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            "_o_".join(x.name for x in self._operators) if name is None else name,
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The operators."""
        return list(self._operators)

    def _squares(self) -> bool:
        """Whether all operators are square, so that each can be solved with."""
        return all(x.is_square for x in self._operators)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        for operator in self._operators if adjoint else reversed(self._operators):
            x = operator._matmul(x, adjoint)
        return x

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        if not self._squares():
            return super()._solve(rhs, adjoint)
        for operator in reversed(self._operators) if adjoint else self._operators:
            rhs = operator._solve(rhs, adjoint)
        return rhs

    def _to_dense(self) -> Tensor:
        dense = self._operators[-1]._to_dense()
        for operator in reversed(self._operators[:-1]):
            dense = operator._matmul(dense, False)
        return dense

    def _determinant(self) -> Tensor:
        if not self._squares():
            return super()._determinant()
        determinant = self._operators[0]._determinant()
        for operator in self._operators[1:]:
            determinant = determinant * operator._determinant()
        return determinant

    def _log_abs_determinant(self) -> Tensor:
        if not self._squares():
            return super()._log_abs_determinant()
        total = self._operators[0]._log_abs_determinant()
        for operator in self._operators[1:]:
            total = total + operator._log_abs_determinant()
        return total
