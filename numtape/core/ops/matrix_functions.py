"""Functions of matrices: exponentials, square roots, pseudo-inverses, least squares, ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..cpu import lapack
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Op, defop
from ..log.record import record, require, spec_of
from ..values.dtypes import float32, int32, mismatch_error
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import elementwise, movement, reduction, rules, slicing
from .creation import convert_to_tensor, eye
from .decompositions import SVD
from .diagonals import adjoint_of, check_square
from .linear_systems import broadcast_batches, cholesky, cholesky_solve
from .matrix_products import matmul
from .slicing import slice_into_zeros

if TYPE_CHECKING:
    from ..values.annotations import NumberLike, TensorLike

Array = np.ndarray[Any, Any]


def _square_spec(op: Op, a: Spec) -> Spec:
    rules.analytic(op, a)
    check_square(op, a)
    return a


# The exponential.


def _expm(out: Array, a: Array) -> None:
    from scipy.linalg import expm as exponential

    if not a.size:
        return
    is_finite = np.isfinite(a).all((-2, -1), keepdims=True)
    out[...] = np.where(is_finite, exponential(np.where(is_finite, a, 0)), np.nan)


def _expm_vjp(g: Tensor, y: Tensor, a: Tensor) -> tuple[Tensor]:
    """Return the adjoint of ``a`` from the exponential of a block matrix.

    See Van Loan, "Computing integrals involving the matrix exponential" (1978).
    """
    n = a.shape[-1]
    ah, block_shape = adjoint_of(a), (*a.shape[:-2], 2 * n, 2 * n)
    batch_ranges = tuple((0, dim, 1) for dim in a.shape[:-2])
    low, high = (0, n, 1), (n, 2 * n, 1)

    def block(x: Tensor, rows: tuple[int, int, int], columns: tuple[int, int, int]) -> Tensor:
        return slice_into_zeros(x, block_shape, (*batch_ranges, rows, columns))

    block_matrix = block(ah, low, low) + block(g, low, high) + block(ah, high, high)
    return (slicing.strided_slice(record(EXPM, (block_matrix,)), (*batch_ranges, low, high)),)


EXPM: Op = defop(
    "MatrixExponential",
    ARRAY,
    1,
    _square_spec,
    compute=_expm,
    vjp=_expm_vjp,
    on_host=True,
    complex_vjp="explicit",
)


def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the exponentials of square matrices.

    SciPy computes them (Al-Mohy and Higham, "A New Scaling and Squaring Algorithm for the Matrix
    Exponential", 2009).

    Args:
      input: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      ValueError: If the elements are not floats or complex numbers.
      InvalidArgumentError: If a matrix is not square.

    Example:
      >>> tf.linalg.expm([[0.0, 1.0], [0.0, 0.0]]).numpy()
      array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    a = as_tensor(input)
    if not a._spec.inexact:
        raise ValueError(f"tf.linalg.expm does not support matrices of type {a.dtype!r}")
    return record(EXPM, (a,))


# Square roots.


def _sylvester(out: Array, a: Array, b: Array, c: Array) -> None:
    from scipy.linalg import solve_sylvester

    for x, y, z, target in lapack.iterate_matrices(a, b, c, out):
        try:
            target[...] = solve_sylvester(x, y, z) if x.size else 0
        except (np.linalg.LinAlgError, ValueError):
            target[...] = np.nan


def _sylvester_vjp(g: Tensor, s: Tensor, a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    gc = record(SYLVESTER, (adjoint_of(a), adjoint_of(b), g))
    ga, gb = matmul(gc, s, adjoint_b=True), matmul(s, gc, adjoint_a=True)
    return elementwise.negative(ga), elementwise.negative(gb), gc


# Solves a s + s b = c for s.
SYLVESTER: Op = defop(
    "Sylvester",
    ARRAY,
    3,
    lambda op, a, b, c: c,
    compute=_sylvester,
    vjp=_sylvester_vjp,
    on_host=True,
    complex_vjp="explicit",
)


def _sqrtm(out: Array, a: Array) -> None:
    from scipy.linalg import sqrtm as root

    for x, target in lapack.iterate_matrices(a, out):
        if not x.size:
            continue
        value = root(x) if np.isfinite(x).all() else np.nan
        is_representable = out.dtype.kind == "c" or not np.iscomplexobj(value)
        target[...] = value if is_representable else np.nan


def _sqrtm_vjp(g: Tensor, y: Tensor, a: Tensor) -> tuple[Tensor]:
    yh = adjoint_of(y)
    return (record(SYLVESTER, (yh, yh, g)),)


SQRTM = defop(
    "MatrixSquareRoot",
    ARRAY,
    1,
    _square_spec,
    compute=_sqrtm,
    vjp=_sqrtm_vjp,
    on_host=True,
    complex_vjp="explicit",
)


def sqrtm(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the square roots of square matrices with eigenvalues of positive real part.

    A matrix with no real square root gives NaN. The gradient solves a Sylvester equation.

    Args:
      input: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If a matrix is not square, or the elements are not floats or complex
        numbers.

    Example:
      >>> tf.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]]).numpy()
      array([[2., 0.],
             [0., 3.]], dtype=float32)
    """
    return record(SQRTM, (as_tensor(input),))


# Pseudo-inverses and least squares.


def _pinv_spec(op: Op, a: Spec, rcond: Spec) -> Spec:
    return intern((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)


def _pinv(out: Array, a: Array, rcond: Array) -> None:
    lapack.apply_or_nan(
        lambda x: np.linalg.pinv(x, rcond=rcond), (out,), a
    ) if rcond.ndim == 0 else (np.copyto(out, np.linalg.pinv(a, rcond=rcond)))


def _pinv_vjp(g: Tensor, p: Tensor, a: Tensor, rcond: Tensor) -> tuple[Tensor, None]:
    """Return the adjoint of ``a``.

    From Golub and Pereyra, "The differentiation of pseudo-inverses" (1973).
    """
    ph, gh = adjoint_of(p), adjoint_of(g)
    term1 = matmul(matmul(gh, p), ph)
    term2 = matmul(ph, matmul(p, gh))
    ga = (
        term1
        - matmul(a, matmul(p, term1))
        + term2
        - matmul(matmul(term2, p), a)
        - matmul(matmul(ph, g), ph)
    )
    return ga, None


PINV = defop("PseudoInverse", ARRAY, 2, _pinv_spec, compute=_pinv, vjp=_pinv_vjp, on_host=True)


def pinv(
    a: TensorLike,
    rcond: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the Moore-Penrose pseudo-inverses of matrices.

    Args:
      a: A tensor of floats, of shape (..., m, n).
      rcond: Singular values up to this fraction of the largest one count as 0. The default is ten
        times the larger size times the dtype's epsilon. No gradient flows to it.
      validate_args: No effect: shapes are always checked.
      name: Not used.

    Returns:
      A tensor of shape (..., n, m) and the same dtype.

    Raises:
      TypeError: If the elements are not floats.
      ValueError: If the rank is below 2.

    Example:
      >>> tf.linalg.pinv([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]).numpy()
      array([[1. , 0. , 0. ],
             [0. , 0.5, 0. ]], dtype=float32)
    """
    x = as_tensor(a)
    if not x._spec.is_float:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {x.dtype.name}).")
    if x.ndim < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {x.ndim}).")
    if rcond is None:
        rcond = 10.0 * max(x.shape[-2:]) * float(np.finfo(x.dtype.as_numpy_dtype).eps)
    cutoff = elementwise.cast(as_tensor(rcond, x._spec, "PseudoInverse"), x.dtype)
    return record(PINV, (x, cutoff))


def matrix_rank(
    a: TensorLike,
    tol: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Count the singular values of matrices that are not 0.

    Args:
      a: A tensor of floats, of shape (..., m, n).
      tol: Singular values up to this bound count as 0. The default is the largest one times the
        larger size times the dtype's epsilon.
      validate_args: No effect: shapes are always checked.
      name: Not used.

    Returns:
      An int32 tensor of shape (...). No gradient flows through.

    Raises:
      TypeError: If the elements are not floats.
      InvalidArgumentError: If the rank is below 2.

    Example:
      >>> tf.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]).numpy()
      np.int32(1)
    """
    x = convert_to_tensor(a, dtype_hint=float32)  # lists of integers become float32
    if not x.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {x.dtype.name}).")
    s = record(SVD, (x,), full=False, vectors=False)
    if tol is None:
        eps = float(np.finfo(x.dtype.as_numpy_dtype).eps)
        tol = reduction.reduce_max(s, -1, True) * (eps * max(x.shape[-2:]))
    else:
        tol = movement.expand_dims(as_tensor(tol, x._spec, "MatrixRank"), -1)
    return reduction.reduce_sum(elementwise.cast(s > tol, int32), -1)


def _lstsq(out: Array, a: Array, b: Array) -> None:
    if not out.size:
        return
    for matrix, rhs, target in lapack.iterate_matrices(a, b, out):
        try:
            target[...] = np.linalg.lstsq(matrix, rhs, rcond=None)[0]
        except np.linalg.LinAlgError:
            target[...] = np.nan


def _no_lstsq_vjp(g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> NoReturn:
    raise ValueError("Gradient not defined for fast=False")


LSTSQ = defop(
    "MatrixSolveLs",
    ARRAY,
    2,
    lambda op, a, b: intern((*a.shape[:-2], a.shape[-1], b.shape[-1]), a.dtype),
    compute=_lstsq,
    vjp=_no_lstsq_vjp,
    on_host=True,
)


def lstsq(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: NumberLike = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """Solve least squares: the smallest ``x`` for which ``matrix @ x`` is nearest to ``rhs``.

    Args:
      matrix: A tensor of floats, of shape (..., m, n).
      rhs: A tensor of the same dtype, of shape (..., m, k). Batches broadcast.
      l2_regularizer: A number, the weight of the squares of ``x``.
      fast: Whether to solve the normal equations by `cholesky`, which needs full rank and a
        moderate condition number. If False, there is no gradient and the regularizer is ignored.
      name: Not used.

    Returns:
      A tensor of shape (..., n, k) and the same dtype.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit.

    Example:
      >>> tf.linalg.lstsq([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], [[3.0], [4.0], [5.0]]).numpy()
      array([[3.],
             [2.]], dtype=float32)
    """
    op = "MatrixSolveLs"
    a = as_tensor(matrix, spec_of(rhs), op)
    b = as_tensor(rhs, a._spec, op)
    rules.floating(LSTSQ, a._spec)
    if a.dtype is not b.dtype:
        raise mismatch_error(op, 1, a.dtype, b.dtype)
    require(a.ndim >= 2 and b.ndim >= 2, op, f"Expected matrices, got {a.shape} and {b.shape}")
    require(
        a.shape[-2] == b.shape[-2],
        op,
        f"Input matrix and rhs are incompatible: {list(a.shape)}, {list(b.shape)}",
    )
    if not fast:
        return record(LSTSQ, broadcast_batches(a, b, op))
    m, n = a.shape[-2:]
    is_tall = m >= n
    gram = matmul(a, a, adjoint_a=is_tall, adjoint_b=not is_tall)
    regularizer = as_tensor(l2_regularizer, a._spec, op)
    if not (isinstance(l2_regularizer, int | float) and l2_regularizer == 0):
        gram = gram + regularizer * eye(min(m, n), dtype=a.dtype)
    factor = cholesky(gram)
    if is_tall:
        return cholesky_solve(factor, matmul(a, b, adjoint_a=True))
    return matmul(a, cholesky_solve(factor, b), adjoint_a=True)
