"""LU factors of square matrices, and what is made of them: determinants, inverses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidArgumentError
from ..cpu import blas, lapack
from ..log.op import ARRAY, STOP, Native, Op, defop
from ..log.record import record
from ..log.tensors import as_tensor
from ..values.dtypes import as_dtype, int32, int64
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import comparison, elementwise, movement, rules, slicing
from .checks import every
from .complex import complex_, conj, imag, real
from .matrix_products import matmul
from .triangles import adjoint_of, check_square

Array = np.ndarray[Any, Any]


def square_floats(op: Op | str, x: Spec) -> None:
    """Refuse what is no square matrix of floats or complex numbers."""
    rules.analytic(op if isinstance(op, Op) else LU, x)
    check_square(op, x)


def part(packed: Tensor, begin: int, shape: tuple[int, ...]) -> Tensor:
    """One of the matrices that a packed row has along its last axis."""
    lead = packed.shape[:-1]
    count = int(np.prod(shape, dtype=np.int64))
    cut = (*((0, dim, 1) for dim in lead), (begin, begin + count, 1))
    return movement.shaped(slicing.strided_slice(packed, cut), (*lead, *shape))


# The factors of a matrix. No gradient flows through them: ops that use them have the matrix, too.
# `FACTOR` lays them out by columns, as LAPACK wants them, `LU` by rows.


def _lu_spec(op: Op, a: Spec) -> Spec:
    square_floats(op, a)
    n = a.shape[-1]
    return intern((*a.shape[:-2], n * n + n), a.dtype)


def _factor_native(out: Spec, a: Spec) -> Native | None:
    n = a.shape[-1]
    small = blas.side_by_side("factor", a, (), n**3 // 3)
    return small or blas.native("factor", a, ("getrf",), (n,), n**3 // 3)


FACTOR = defop(
    "LuFactor",
    ARRAY,
    1,
    _lu_spec,
    compute=lapack.factor,
    native=_factor_native,
    gradient=STOP,
    on_host=True,
    of_complex="other",
)
LU = defop("Lu", ARRAY, 1, _lu_spec, compute=lapack.lu, on_host=True, of_complex="other")


def _pivots(packed: Tensor) -> Tensor:
    n = _rows(packed)
    lead = tuple((0, dim, 1) for dim in packed.shape[:-1])
    cut = (*lead, (0, (n - 1) * (n + 1) + 1 if n else 0, n + 1))
    return slicing.strided_slice(packed, cut)


def _rows(packed: Tensor) -> int:
    """The rows of the matrix of which there are factors."""
    return int((packed.shape[-1] + 0.25) ** 0.5)


def invertible(packed: Tensor, op: str, said: str) -> None:
    """An error unless no pivot is 0 or NaN."""
    said = f"{said} [Op:{op}]"
    if not every(
        _pivots(packed),
        lambda values: (values != 0) & ~np.isnan(values),
        lambda rows: comparison.greater(elementwise.abs_(rows), 0.0),
        said,
    ):
        raise InvalidArgumentError(said)


class Lu(NamedTuple):
    """Factors of square matrices.

    Attributes:
      lu: Both triangles in one matrix; the lower one's diagonal is 1.
      p: Which row of the matrix each row of the factors is.
    """

    lu: Tensor
    p: Tensor


def _permutation(out: Array, pivots: Array) -> None:
    if pivots.size:
        for order, found in lapack.each(pivots, out, rank=1):
            found[...] = lapack.permutation(order)


PERMUTATION = defop(
    "LuPermutation",
    ARRAY,
    1,
    lambda op, x, output: intern(tuple(x.shape), as_dtype(output)),
    compute=lambda out, x, output: _permutation(out, x),
    on_host=True,
    of_complex="other",
)


def lu(input: Any, output_idx_type: Any = int32, name: str | None = None) -> Lu:
    """Factors of square matrices by elimination with pivots: ``P A = L U``.

    There is no gradient, as in TensorFlow; those of `solve`, `inv` and `det` do not need one.

    Args:
      input: A tensor of floats or complex numbers, of shape (..., n, n).
      output_idx_type: The dtype of the permutation, int32 or int64.
      name: Not used.

    Returns:
      A named tuple: ``lu`` of the shape and dtype of ``input``, and ``p`` of shape (..., n).

    Raises:
      InvalidArgumentError: If a matrix is not square, or cannot be inverted.

    Example:
      >>> lu, p = tf.linalg.lu([[1.0, 2.0], [4.0, 4.0]])
      >>> lu.numpy(), p.numpy()
      (array([[4.  , 4.  ],
             [0.25, 1.  ]], dtype=float32), array([1, 0], dtype=int32))
    """
    output = as_dtype(output_idx_type)
    if output not in (int32, int64):
        raise InvalidArgumentError(
            f"Value for attr 'output_idx_type' of {output.name} is not in the list of allowed "
            f"values: int32, int64 [Op:Lu]"
        )
    packed = record(LU, (as_tensor(input),))
    invertible(packed, "Lu", "Input is not invertible.")
    n = _rows(packed)
    p = record(PERMUTATION, (part(packed, n * n, (n,)),), output=output.name)
    return Lu(part(packed, 0, (n, n)), p)


# What factors are for.


def _solve_spec(op: Op, a: Spec, factor: Spec, b: Spec, adjoint: bool) -> Spec:
    return b


def _solve_vjp(
    g: Tensor, x: Tensor, a: Tensor, factor: Tensor, b: Tensor, adjoint: bool
) -> tuple[Tensor, None, Tensor]:
    gb = record(SOLVE, (a, factor, g), adjoint=not adjoint)
    # The sign goes to what has fewer elements.
    less = elementwise.negative(x)
    ga = matmul(less, gb, adjoint_b=True) if adjoint else matmul(gb, less, adjoint_b=True)
    return ga, None, gb


def _solve_native(out: Spec, a: Spec, factor: Spec, b: Spec, adjoint: bool) -> Native | None:
    n, k = b.shape[-2:]
    sizes = (n, k, int(adjoint), 0)
    small = blas.side_by_side("lu_solve", a, sizes[1:], n * n * k)
    return small or blas.native("lu_solve", a, ("trsm", "trsv"), sizes, n * n * k)


SOLVE = defop(
    "MatrixSolve",
    ARRAY,
    3,
    _solve_spec,
    vjp=_solve_vjp,
    native=_solve_native,
    on_host=True,
    of_complex="other",
    compute=lambda out, a, factor, b, adjoint: lapack.lu_solve(out, factor, b, adjoint),
)


def _inverse(out: Array, a: Array, factor: Array) -> None:
    identity = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    lapack.lu_solve(out, factor, identity, False)


def _inverse_vjp(g: Tensor, y: Tensor, a: Tensor, factor: Tensor) -> tuple[Tensor, None]:
    return elementwise.negative(matmul(matmul(y, g, adjoint_a=True), y, adjoint_b=True)), None


def _inverse_native(out: Spec, a: Spec, factor: Spec) -> Native | None:
    n = a.shape[-1]
    small = blas.side_by_side("lu_solve", a, (n, 0, 1), n**3)
    return small or blas.native("lu_solve", a, ("trsm", "trsv"), (n, n, 0, 1), n**3)


INVERSE = defop(
    "MatrixInverse",
    ARRAY,
    2,
    lambda op, a, factor: a,
    compute=_inverse,
    vjp=_inverse_vjp,
    native=_inverse_native,
    on_host=True,
    of_complex="other",
)


def _det(out: Array, a: Array, factor: Array) -> None:
    n = a.shape[-1]
    pivots = np.diagonal(factor[..., : n * n].reshape(a.shape), axis1=-2, axis2=-1)
    sign = _sign(factor, n)
    out[...] = sign * np.prod(pivots, -1)


def _sign(factor: Array, n: int) -> Array:
    """That of the permutations."""
    swaps = (factor[..., n * n :] != np.arange(n)).sum(-1)
    found: Array = (1 - 2 * (swaps % 2)).astype(factor.dtype)
    return found


def _log_det(out: Array, a: Array, factor: Array) -> None:
    n = a.shape[-1]
    pivots = np.diagonal(factor[..., : n * n].reshape(a.shape), axis1=-2, axis2=-1)
    out[..., 0] = _sign(factor, n) * np.prod(np.sign(pivots), -1)
    out[..., 1] = np.sum(np.log(np.abs(pivots)), -1)


def _spread(g: Tensor) -> Tensor:
    """A number for each matrix, as matrices of one element."""
    return movement.reshape(g, (*g.shape, 1, 1))


def _det_vjp(g: Tensor, y: Tensor, a: Tensor, factor: Tensor) -> tuple[Tensor, None]:
    return _spread(g * conj(y)) * adjoint_of(record(INVERSE, (a, factor))), None


def _log_det_vjp(g: Tensor, y: Tensor, a: Tensor, factor: Tensor) -> tuple[Tensor, None]:
    inverse = adjoint_of(record(INVERSE, (a, factor)))
    slope = part(g, 1, ())
    if a.dtype.is_complex:
        turn = imag(part(g, 0, ()) * conj(part(y, 0, ())))
        slope = complex_(real(slope), turn)
    return _spread(slope) * inverse, None


DET = defop(
    "MatrixDeterminant",
    ARRAY,
    2,
    lambda op, a, factor: intern(tuple(a.shape[:-2]), a.dtype),
    compute=_det,
    vjp=_det_vjp,
    on_host=True,
    of_complex="other",
)
LOG_DET = defop(
    "LogMatrixDeterminant",
    ARRAY,
    2,
    lambda op, a, factor: intern((*a.shape[:-2], 2), a.dtype),
    compute=_log_det,
    vjp=_log_det_vjp,
    on_host=True,
    of_complex="other",
)


def matrix_of(value: Any, op: str, like: Any = None) -> Tensor:
    """An operand of square matrices of floats or complex numbers."""
    x = as_tensor(value, like, op)
    if not x._spec.inexact:
        rules._allowed(LU, x.dtype, "double, float, half, complex64, complex128")
    check_square(op, x._spec)
    return x


def det(input: Any, name: str | None = None) -> Tensor:
    """Determinants of square matrices.

    The derivative is ``det(a) inv(a).T``; of a matrix that cannot be inverted it is not finite.

    Args:
      input: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tensor of shape (...) and the same dtype.

    Raises:
      InvalidArgumentError: If a matrix is not square.

    Example:
      >>> tf.linalg.det([[1.0, 2.0], [4.0, 4.0]]).numpy()
      np.float32(-4.0)
    """
    a = matrix_of(input, "MatrixDeterminant")
    return record(DET, (a, record(FACTOR, (a,))))


class LogMatrixDeterminant(NamedTuple):
    """Signs and logarithms of determinants.

    Attributes:
      sign: -1, 0 or 1.
      log_abs_determinant: The logarithm of the absolute value.
    """

    sign: Tensor
    log_abs_determinant: Tensor


def slogdet(input: Any, name: str | None = None) -> LogMatrixDeterminant:
    """Signs of determinants, and the logarithms of their absolute values.

    Args:
      input: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A named tuple of ``sign`` and ``log_abs_determinant``, both of shape (...).

    Raises:
      InvalidArgumentError: If a matrix is not square.

    Example:
      >>> sign, log = tf.linalg.slogdet([[1.0, 2.0], [4.0, 4.0]])
      >>> sign.numpy(), log.numpy()
      (np.float32(-1.0), np.float32(1.3862944))
    """
    a = matrix_of(input, "LogMatrixDeterminant")
    packed = record(LOG_DET, (a, record(FACTOR, (a,))))
    return LogMatrixDeterminant(part(packed, 0, ()), part(packed, 1, ()))


def inv(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Inverses of square matrices.

    Args:
      input: A tensor of floats or complex numbers, of shape (..., n, n).
      adjoint: Whether to give the adjoints of the inverses.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If a matrix is not square, or cannot be inverted.

    Example:
      >>> tf.linalg.inv([[1.0, 2.0], [4.0, 4.0]]).numpy()
      array([[-1.  ,  0.5 ],
             [ 1.  , -0.25]], dtype=float32)
    """
    a = matrix_of(input, "MatrixInverse")
    factor = record(FACTOR, (a,))
    invertible(factor, "MatrixInverse", "Input is not invertible.")
    found = record(INVERSE, (a, factor))
    return adjoint_of(found) if adjoint else found
