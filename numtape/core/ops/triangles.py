"""Triangles and bands of matrices, and what turns matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InvalidArgumentError
from ..log.op import ARRAY, Op, defop
from ..log.record import record, require
from ..log.tensors import as_tensor
from ..values.spec import Spec
from ..values.tensor import Tensor
from .complex import conj
from .movement import to_ints, transpose_if_needed

Array = np.ndarray[Any, Any]


def turn(x: Tensor) -> Tensor:
    """The transposes of matrices."""
    return transpose_if_needed(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def adjoint_of(x: Tensor) -> Tensor:
    """The adjoints of matrices, in derivative rules: their transposes, conjugated if complex."""
    return turn(conj(x) if x.dtype.is_complex else x)


# Triangles and bands.


def check_square(op: Op | str, x: Spec) -> None:
    """Refuse what is no square matrix."""
    name = op if isinstance(op, str) else op.name
    require(x.rank >= 2, name, f"Input tensor 0 must have rank >= 2, got {x.rank}")
    require(
        x.shape[-1] == x.shape[-2],
        name,
        f"Input matrix must be square. Got shape {x.shape.as_list()}",
    )


def _band_spec(op: Op, x: Spec, lower: int, upper: int) -> Spec:
    require(x.rank >= 2, op, f"input must be at least 2-dim, received shape: {x.shape.as_list()}")
    return x


def _band(out: Array, x: Array, lower: int, upper: int) -> None:
    rows, columns = x.shape[-2:]
    behind = np.arange(rows)[:, None] - np.arange(columns)
    inside = (behind <= lower if lower >= 0 else True) & (-behind <= upper if upper >= 0 else True)
    out[...] = 0
    np.copyto(out, x, where=inside)


BAND: Op = defop(
    "MatrixBandPart",
    ARRAY,
    1,
    _band_spec,
    compute=_band,
    on_host=True,
    vjp=lambda g, y, x, lower, upper: (record(BAND, (g,), lower=lower, upper=upper),),
    of_complex="analytic",
)


def triangle(x: Tensor, lower: bool) -> Tensor:
    """The lower or upper triangle, with the diagonal."""
    return record(BAND, (x,), lower=-1 if lower else 0, upper=0 if lower else -1)


def _from_lower(out: Array, x: Array) -> None:
    _with_real_diagonal(out, np.tril(x), np.tril(x, -1))


def _lower_sums(out: Array, x: Array) -> None:
    _with_real_diagonal(out, np.tril(x), np.triu(x, 1))


def _with_real_diagonal(out: Array, x: Array, strict: Array) -> None:
    """A triangle plus the adjoint of one without a diagonal."""
    if out.dtype.kind != "c":
        np.add(x, strict.swapaxes(-1, -2), out=out)
        return
    np.add(x, strict.swapaxes(-1, -2).conj(), out=out)
    at = np.arange(out.shape[-1])
    out[..., at, at] = out[..., at, at].real


def _same(op: Op, x: Spec) -> Spec:
    check_square(op, x)
    return x


# A symmetric (Hermitian) matrix of a lower triangle; and the adjoint of that.
FROM_LOWER: Op = defop(
    "SymmetricFromLower",
    ARRAY,
    1,
    _same,
    compute=_from_lower,
    of_complex="other",
    on_host=True,
    vjp=lambda g, y, x: (record(LOWER_SUMS, (g,)),),
)
LOWER_SUMS: Op = defop(
    "LowerOfSymmetric",
    ARRAY,
    1,
    _same,
    compute=_lower_sums,
    of_complex="other",
    on_host=True,
    vjp=lambda g, y, x: (record(FROM_LOWER, (g,)),),
)


def band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """The elements near the diagonal of matrices; 0 elsewhere.

    Args:
      input: A tensor of any dtype, of shape (..., m, n).
      num_lower: How many diagonals below the main one to keep; -1: all.
      num_upper: How many above it; -1: all.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If the rank is below 2, or there are not so many diagonals.

    Example:
      >>> tf.linalg.band_part([[1, 2, 3], [4, 5, 6], [7, 8, 9]], -1, 0).numpy()
      array([[1, 0, 0],
             [4, 5, 0],
             [7, 8, 9]], dtype=int32)
    """
    x = as_tensor(input)
    lower, upper = (number_of(value, "MatrixBandPart") for value in (num_lower, num_upper))
    _band_spec(BAND, x._spec, lower, upper)
    for what, number, size in (("lower", lower, x.shape[-2]), ("upper", upper, x.shape[-1])):
        require(
            number <= size,
            BAND,
            f"num_{what} must be negative or less or equal to number of "
            f"{'rows' if what == 'lower' else 'columns'} ({size}) got: {number}",
        )
    return record(BAND, (x,), lower=max(lower, -1), upper=max(upper, -1))


def number_of(value: Any, op: str) -> int:
    """One integer."""
    result = to_ints(value)
    if not isinstance(result, int):
        raise InvalidArgumentError(f"Expected an integer, got {value!r} [Op:{op}]")
    return result


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The last two axes swapped.

    Args:
      a: A tensor of any dtype, of shape (..., m, n).
      name: Not used.
      conjugate: Whether to conjugate complex elements, too.

    Returns:
      A tensor of shape (..., n, m) and the same dtype.

    Raises:
      ValueError: If the rank is below 2.

    Example:
      >>> tf.linalg.matrix_transpose([[1, 2], [3, 4]]).numpy()
      array([[1, 3],
             [2, 4]], dtype=int32)
    """
    x = as_tensor(a)
    if x.ndim < 2:
        raise ValueError(
            f"Argument `a` should be a (batch) matrix with rank >= 2, got shape {x.shape}"
        )
    return adjoint_of(x) if conjugate else turn(x)


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The adjoint of matrices: the transpose, whose elements are conjugated if complex.

    Args:
      matrix: A tensor of any dtype, of shape (..., m, n).
      name: Not used.

    Returns:
      A tensor of shape (..., n, m) and the same dtype.

    Raises:
      ValueError: If the rank is below 2.

    Example:
      >>> tf.linalg.adjoint([[1.0, 2.0], [3.0, 4.0]]).numpy()
      array([[1., 3.],
             [2., 4.]], dtype=float32)
    """
    return matrix_transpose(matrix, conjugate=True)
