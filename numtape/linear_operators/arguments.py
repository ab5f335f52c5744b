"""Checks and helpers for the arguments of operators: tensors, sizes, operators, hints."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

import numpy as np

from ..core.log.as_tensor import to_tensor
from ..core.ops import elementwise, movement, reduction
from ..core.ops.movement import to_ints
from ..core.values.dtypes import DType, repr_of
from ..core.values.tensor import Tensor
from .base import LinearOperator

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..core.values.annotations import IntLike, TensorLike


def log_abs(diag: Tensor) -> Tensor:
    """Return the logarithm of the absolute value of the product over the last axis; real."""
    return reduction.reduce_sum(elementwise.log(elementwise.abs_(diag)), -1)


def check_tensor(value: TensorLike, rank: int, what: str, dtype: DType | None = None) -> Tensor:
    """Convert to a float or complex tensor of at least ``rank`` axes."""
    tensor: Tensor = to_tensor(value, dtype)
    if tensor.ndim < rank:
        raise ValueError(f"Argument {what} must have at least {rank} dimensions. Found: {tensor}")
    if not (tensor.dtype.is_floating or tensor.dtype.is_complex):
        raise TypeError(
            f"Argument {what} must have a float or complex dtype. Found: {tensor.dtype.name}"
        )
    return tensor


def size_of(value: IntLike) -> int:
    """Check and return a number of rows or columns."""
    size = to_ints(value)
    if not isinstance(size, int) or size < 0:
        raise ValueError(f"Argument num_rows must be a non-negative integer. Found: {value!r}")
    return size


def operators_of(values: Sequence[LinearOperator]) -> list[LinearOperator]:
    """Check and return a non-empty list of operators with the same dtype."""
    if not isinstance(values, list | tuple) or not values:
        raise ValueError(f"Expected a non-empty list of operators. Found: {repr_of(values)}")
    for value in values:
        if not isinstance(value, LinearOperator):
            raise TypeError(f"Expected a LinearOperator. Found: {repr_of(value)}")
    if len({value.dtype for value in values}) > 1:
        descriptions = ", ".join(f"({x.name}, {x.dtype.name})" for x in values)
        raise TypeError(f"Expected all operators to have the same dtype. Found: {descriptions}")
    return list(values)


def common_batch_shape(operators: list[LinearOperator], *shapes: Iterable[int]) -> tuple[int, ...]:
    """Broadcast the batch shapes of operators, and further shapes."""
    batches = [*(tuple(x.batch_shape) for x in operators), *map(tuple, shapes)]
    try:
        return np.broadcast_shapes(*batches)
    except ValueError:
        raise ValueError(f"Incompatible batch shapes: {', '.join(map(str, batches))}.") from None


def hint(operator: LinearOperator, hint_name: str, value: bool | None) -> bool | None:
    """Combine a hint with that of an operator.

    Raises:
      ValueError: If they contradict each other.
    """
    operator_hint: bool | None = getattr(operator, hint_name)
    if operator_hint is not None and value is not None and operator_hint != value:
        raise ValueError(
            f"{hint_name}={value} contradicts {operator.name}, which has {operator_hint}."
        )
    return operator_hint if value is None else value


def broadcast_batches(parts: list[Tensor]) -> list[Tensor]:
    """Broadcast the batch axes of matrices to a common shape."""
    batch_shape = np.broadcast_shapes(*(tuple(x.shape[:-2]) for x in parts))
    return [
        x
        if x.shape[:-2] == batch_shape
        else movement.broadcast_to(x, (*batch_shape, *x.shape[-2:]))
        for x in parts
    ]


def sum_of(parts: list[Tensor]) -> Tensor:
    """Return the sum of tensors, with broadcasting."""
    return functools.reduce(operator.add, parts)


def product_of(parts: list[Tensor]) -> Tensor:
    """Return the elementwise product of tensors, with broadcasting."""
    return functools.reduce(operator.mul, parts)
