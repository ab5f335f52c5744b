"""QR, SVD, symmetric and general eigenvalue decompositions. Each is recorded as one packed row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import InvalidArgumentError
from ...kernels.constants import LAPACK_LETTERS
from ..cpu import blas, lapack
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record, require
from ..values import dtypes
from ..values.hints import suggest_keywords
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import comparison, elementwise, rules, slicing
from .complex import complex_, conj, imag, real
from .diagonals import FROM_LOWER, LOWER_SUMS, adjoint_of, check_square, diagonal, diagonal_matrix
from .linear_systems import solve_triangular
from .lu_factors import FACTOR, SOLVE, check_square_inexact, unpack
from .matrix_products import matmul
from .movement import expand_dims, squeeze
from .rules import every
from .slicing import slice_into_zeros

if TYPE_CHECKING:
    from ..values.annotations import TensorLike

Array = np.ndarray[Any, Any]


# The QR decomposition.


def _matrix_floats(op: Op, a: Spec) -> None:
    rules.analytic(op, a)
    require(a.rank >= 2, op, f"Input tensor 0 must have rank >= 2, got {a.rank}")


def _qr_shapes(a: Spec | Tensor, full: bool) -> tuple[tuple[int, int], tuple[int, int]]:
    m, n = a.shape[-2:]
    inner = m if full else min(m, n)
    return (m, inner), (inner, n)


def _pack(a: Spec, *shapes: tuple[int, ...]) -> Spec:
    count = sum(int(np.prod(shape, dtype=np.int64)) for shape in shapes)
    return intern((*a.shape[:-2], count), a.dtype)


def _qr_spec(op: Op, a: Spec, full: bool) -> Spec:
    _matrix_floats(op, a)
    return _pack(a, *_qr_shapes(a, full))


def _unpack(packed: Tensor, *shapes: tuple[int, ...]) -> list[Tensor]:
    value, at = [], 0
    for shape in shapes:
        value.append(unpack(packed, at, shape))
        at += int(np.prod(shape, dtype=np.int64))
    return value


def _qr_vjp(g: Tensor, y: Tensor, a: Tensor, full: bool) -> tuple[Tensor]:
    """Walter and Lehmann, "On evaluating higher-order derivatives of the QR decomposition" (2010).

    The first columns of a wide matrix determine Q; the other columns are Q times columns of R.
    """
    m, n = a.shape[-2:]
    if full and m > n:
        raise NotImplementedError(
            f"QrGrad not implemented when nrows > ncols and full_matrices is true. Received "
            f"nrows={m} and ncols={n}."
        )
    shapes = _qr_shapes(a, full)
    q, r = _unpack(y, *shapes)
    gq, gr = _unpack(g, *shapes)
    if m >= n:
        return (_qr_tall(gq, gr, q, r),)
    left, gleft = _columns(r, 0, m), _columns(gr, 0, m)
    gright = _columns(gr, m, n)
    gq = gq + matmul(_columns(a, m, n), gright, adjoint_b=True)
    first, others = _qr_tall(gq, gleft, q, left), matmul(q, gright)
    return (_place_columns(first, a, 0, m) + _place_columns(others, a, m, n),)


def _columns(x: Tensor, begin: int, end: int) -> Tensor:
    cut = (*((0, dim, 1) for dim in x.shape[:-1]), (begin, end, 1))
    return slicing.strided_slice(x, cut)


def _place_columns(x: Tensor, a: Tensor, begin: int, end: int) -> Tensor:
    """Place columns into zeros of the shape of ``a``."""
    cut = (*((0, dim, 1) for dim in a.shape[:-1]), (begin, end, 1))
    return slice_into_zeros(x, tuple(a.shape), cut)


def _qr_tall(gq: Tensor, gr: Tensor, q: Tensor, r: Tensor) -> Tensor:
    middle = matmul(r, gr, adjoint_b=True) - matmul(gq, q, adjoint_a=True)
    x = gq + matmul(q, record(FROM_LOWER, (middle,)))
    return adjoint_of(solve_triangular(r, adjoint_of(x), False, False))


QR = defop(
    "Qr", ARRAY, 1, _qr_spec, compute=lapack.qr, vjp=_qr_vjp, on_host=True, complex_vjp="explicit"
)


class Qr(NamedTuple):
    """Factors of matrices.

    Attributes:
      q: Orthonormal columns.
      r: Upper triangular.
    """

    q: Tensor
    r: Tensor


def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Factor matrices into orthonormal columns times an upper triangular matrix.

    Signs are those of LAPACK. The gradient requires the first min(m, n) columns to be independent;
    for tall matrices with ``full_matrices`` it is not implemented.

    Args:
      input: A tensor of floats or complex numbers, of shape (..., m, n).
      full_matrices: Whether ``q`` is square.
      name: Not used.

    Returns:
      A named tuple of ``q``, of shape (..., m, k), and ``r``, of shape (..., k, n); k is the
      smaller of m and n, or m if ``full_matrices``.

    Raises:
      InvalidArgumentError: If the rank is below 2, or the elements are not floats.

    Example:
      >>> q, r = tf.linalg.qr([[3.0, 1.0], [4.0, 2.0]])
      >>> tf.abs(r).numpy().round(3)
      array([[5. , 2.2],
             [0. , 0.4]], dtype=float32)
    """
    a = as_tensor(input)
    packed = record(QR, (a,), full=bool(full_matrices))
    return Qr(*_unpack(packed, *_qr_shapes(a, bool(full_matrices))))


# Differences of eigenvalues or singular values; no gradient flows between equal values.


def _inverse_gaps(x: Tensor) -> Tensor:
    """Return ``1 / (x[j] - x[i])`` for each pair; 0 where they are equal."""
    return elementwise.real_divide_no_nan(1.0, expand_dims(x, -2) - expand_dims(x, -1))


# Singular values.


def _svd_shapes(a: Spec | Tensor, full: bool) -> tuple[tuple[int, ...], ...]:
    m, n = a.shape[-2:]
    k = min(m, n)
    return (k,), (m, m if full else k), (n, n if full else k)


def _svd_spec(op: Op, a: Spec, full: bool, vectors: bool) -> Spec:
    _matrix_floats(op, a)
    shapes = _svd_shapes(a, full)
    return _pack(a, *(shapes if vectors else shapes[:1]))


def _svd_vjp(g: Tensor, y: Tensor, a: Tensor, full: bool, vectors: bool) -> tuple[Tensor]:
    """Townsend, "Differentiating the singular value decomposition" (2016)."""
    m, n = a.shape[-2:]
    if not vectors:
        _, u, v = _unpack(record(SVD, (a,), full=False, vectors=True), *_svd_shapes(a, False))
        return (matmul(u * expand_dims(g, -2), v, adjoint_b=True),)
    if full and abs(m - n) > 1:
        raise NotImplementedError(
            f"svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True. "
            f"Received: m={m} and n={n}."
        )
    shapes = _svd_shapes(a, full)
    s, u, v = _unpack(y, *shapes)
    gs, gu, gv = _unpack(g, *shapes)
    if full:
        u, gu = _thin(u, gu, min(m, n))
        v, gv = _thin(v, gv, min(m, n))
    across, down = expand_dims(s, -2), expand_dims(s, -1)
    gaps = _inverse_gaps(s * s)
    uu, vv = matmul(u, gu, adjoint_a=True), matmul(v, gv, adjoint_a=True)
    turns, tilts = gaps * uu, gaps * vv
    middle = (turns + adjoint_of(turns)) * across + down * (tilts + adjoint_of(tilts))
    inverse = elementwise.real_divide_no_nan(1.0, across)
    if a.dtype.is_complex:
        # Only the difference between the phases of a column of u and of one of v is determined.
        turn = imag(diagonal(uu)) if m > n else -imag(diagonal(vv))
        gs = complex_(real(gs), turn * real(squeeze(inverse, -2)))
    result = matmul(middle + diagonal_matrix(gs), v, adjoint_b=True)
    if m > n:
        rest = (gu - matmul(u, uu)) * inverse
        return (matmul(u, result) + matmul(rest, v, adjoint_b=True),)
    result = matmul(u, result)
    if m < n:
        rest = (gv - matmul(v, vv)) * inverse
        result = result + matmul(u, rest, adjoint_b=True)
    return (result,)


def _thin(u: Tensor, gu: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Restrict ``u`` and its adjoint to the first k columns, which determine one further column."""
    size = u.shape[-1]
    if size == k:
        return u, gu
    last, glast = _columns(u, k, size), _columns(gu, k, size)
    u, gu = _columns(u, 0, k), _columns(gu, 0, k)
    return u, gu - matmul(last, matmul(glast, u, adjoint_a=True))


def _svd_native(out: Spec, a: Spec, full: bool, vectors: bool) -> Native | None:
    m, n = a.shape[-2:]
    k = min(m, n)
    if not k:
        return None
    us, vs = (m if full else k, n if full else k) if vectors else (0, 0)
    job = 8 * LAPACK_LETTERS.index(("A" if full else "S") if vectors else "N")
    more, sizes = (*blas.memory(), job), (m, n, k, us, vs, max(us, 1))
    return blas.native("svd", a, ("gesdd",), sizes, 20 * m * n * k, more)


SVD = defop(
    "Svd",
    ARRAY,
    1,
    _svd_spec,
    compute=lapack.svd,
    native=_svd_native,
    vjp=_svd_vjp,
    on_host=True,
    complex_vjp="explicit",
)


@suggest_keywords
def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Any:
    """Compute the singular value decomposition of matrices: ``a = u @ diag(s) @ v.T``.

    Where singular values are equal, their vectors are arbitrary and the gradient omits the
    undefined terms, so that it is finite, as in TensorFlow. The gradient of singular values alone
    is correct.

    Args:
      tensor: A tensor of floats or complex numbers, of shape (..., m, n).
      full_matrices: Whether ``u`` and ``v`` are square. They have a gradient if m and n differ by
        at most 1.
      compute_uv: Whether to compute the vectors.
      name: Not used.

    Returns:
      A tuple of ``s``, real and of shape (..., k), the largest first, ``u``, of shape (..., m, k),
      and ``v``, of shape (..., n, k), where k is the smaller of m and n; or ``s`` alone.

    Raises:
      InvalidArgumentError: If the rank is below 2, or the elements are not floats.

    Example:
      >>> s, u, v = tf.linalg.svd([[3.0, 0.0], [0.0, 4.0]])
      >>> s.numpy()
      array([4., 3.], dtype=float32)
      >>> (u @ tf.linalg.diag(s) @ tf.linalg.adjoint(v)).numpy()
      array([[3., 0.],
             [0., 4.]], dtype=float32)
    """
    a = as_tensor(tensor)
    full = bool(full_matrices)
    if not compute_uv:
        return real(record(SVD, (a,), full=False, vectors=False))
    s, u, v = _unpack(record(SVD, (a,), full=full, vectors=True), *_svd_shapes(a, full))
    return real(s), u, v


# Eigenvalues of symmetric matrices.


def _eigh_spec(op: Op, a: Spec, vectors: bool) -> Spec:
    check_square_inexact(op, a)
    n = a.shape[-1]
    return _pack(a, *([(n,), (n, n)] if vectors else [(n,)]))


def _eigh_vjp(g: Tensor, y: Tensor, a: Tensor, vectors: bool) -> tuple[Tensor]:
    """Giles, "An extended collection of matrix derivative results" (2008)."""
    n = a.shape[-1]
    if not vectors:
        _, v = _unpack(record(EIGH, (a,), vectors=True), (n,), (n, n))
        result = matmul(v * expand_dims(g, -2), v, adjoint_b=True)
    else:
        e, v = _unpack(y, (n,), (n, n))
        ge, gv = _unpack(g, (n,), (n, n))
        middle = diagonal_matrix(ge) + _inverse_gaps(e) * matmul(v, gv, adjoint_a=True)
        result = matmul(matmul(v, middle), v, adjoint_b=True)
    # Only the lower triangle is read.
    return (record(LOWER_SUMS, (result,)),)


EIGH = defop(
    "SelfAdjointEigV2",
    ARRAY,
    1,
    _eigh_spec,
    compute=lapack.eigh,
    vjp=_eigh_vjp,
    on_host=True,
    complex_vjp="explicit",
)


def _check_finite(values: Tensor) -> None:
    message = (
        "Self-adjoint eigen decomposition was not successful. The input might not be valid. "
        "[Op:SelfAdjointEigV2]"
    )
    if not every(
        values,
        lambda x: ~np.isnan(x),
        lambda rows: comparison.equal(rows, rows),
        message,
    ):
        raise InvalidArgumentError(message)


def eigh(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Compute the eigenvalues and eigenvectors of symmetric matrices; reads the lower triangle.

    Where eigenvalues are equal, their vectors are arbitrary and the gradient omits the undefined
    terms, so that it is finite, as in TensorFlow.

    Args:
      tensor: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tuple of the eigenvalues, of shape (..., n), the smallest first, and the eigenvectors, the
      columns of matrices of shape (..., n, n).

    Raises:
      InvalidArgumentError: If a matrix is not square, or contains NaN.

    Example:
      >>> e, v = tf.linalg.eigh([[2.0, 1.0], [1.0, 2.0]])
      >>> e.numpy()
      array([1., 3.], dtype=float32)
    """
    a = as_tensor(tensor)
    packed = record(EIGH, (a,), vectors=True)
    n = a.shape[-1]
    e, v = _unpack(packed, (n,), (n, n))
    _check_finite(e)
    return e, v


def eigvalsh(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Compute the eigenvalues of symmetric matrices; reads the lower triangle.

    Args:
      tensor: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tensor of shape (..., n) and the same dtype, the smallest first.

    Raises:
      InvalidArgumentError: If a matrix is not square, or contains NaN.

    Example:
      >>> tf.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]).numpy()
      array([1., 3.], dtype=float32)
    """
    result = record(EIGH, (as_tensor(tensor),), vectors=False)
    _check_finite(result)
    return result


def _eig_spec(op: Op, a: Spec, vectors: bool) -> Spec:
    check_square_inexact(op, a)
    n = a.shape[-1]
    is_double = a.dtype in (dtypes.float64, dtypes.complex128)
    dtype = dtypes.complex128 if is_double else dtypes.complex64
    return intern((*a.shape[:-2], n + n * n if vectors else n), dtype)


def _eig(out: Array, a: Array, vectors: bool) -> None:
    """Write the eigenvalues, followed by the eigenvectors if ``vectors``, into ``out``."""
    n = a.shape[-1]
    finite = np.asarray(np.isfinite(a).all((-2, -1), keepdims=True))
    a = np.where(finite, a, 0)
    if vectors:
        lapack.apply_or_nan(
            lambda x: tuple(np.linalg.eig(x)), tuple(lapack.unpack(out, (n,), (n, n))), a
        )
    else:
        lapack.apply_or_nan(np.linalg.eigvals, (out,), a)
    out[~finite[..., 0, 0]] = np.nan


def _eig_vjp(g: Tensor, y: Tensor, a: Tensor, vectors: bool) -> tuple[Tensor]:
    """Return the adjoint of ``a``.

    From Boeddeker et al., "On the computation of complex-valued gradients" (2017), eq. 4.77.
    """
    n = a.shape[-1]
    packed = y if vectors else record(EIG, (a,), vectors=True)
    e, v = _unpack(packed, (n,), (n, n))
    vh = adjoint_of(v)
    if vectors:
        ge, gv = _unpack(g, (n,), (n, n))
        projection = matmul(vh, gv)
        # Eigenvectors have length 1: remove the adjoint's component along each of them.
        length_part = diagonal_matrix(
            elementwise.cast(real(diagonal(projection)), projection.dtype)
        )
        projection = projection - matmul(matmul(vh, v), length_part)
        inner = diagonal_matrix(ge) + conj(_inverse_gaps(e)) * projection
    else:
        inner = diagonal_matrix(g)
    factor = record(FACTOR, (vh,))
    ga = record(SOLVE, (vh, factor, matmul(inner, vh)), adjoint=False)
    return (elementwise.cast(ga, a.dtype),)


EIG = defop(
    "Eig", ARRAY, 1, _eig_spec, compute=_eig, vjp=_eig_vjp, on_host=True, complex_vjp="explicit"
)


def _check_converged(values: Tensor) -> None:
    message = "Eigen decomposition was not successful. The input might not be valid. [Op:Eig]"
    if not every(
        real(values),
        lambda x: ~np.isnan(x),
        lambda rows: comparison.equal(rows, rows),
        message,
    ):
        raise InvalidArgumentError(message)


def eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Compute the complex eigenvalues and eigenvectors of square matrices.

    They are in LAPACK's order. Eigenvectors have length 1 and an arbitrary phase. Where eigenvalues
    are equal, the gradient omits the terms that are undefined.

    Args:
      tensor: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tuple of the eigenvalues, of shape (..., n), and the eigenvectors, as the columns of
      matrices of shape (..., n, n). The dtype is complex128 for float64 and complex128 input, else
      complex64.

    Raises:
      InvalidArgumentError: If a matrix is not square, or contains NaN.

    Example:
      >>> e, v = tf.linalg.eig([[0.0, 1.0], [-1.0, 0.0]])
      >>> e.numpy()
      array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    a = as_tensor(tensor)
    n = a.shape[-1] if a.ndim else 0
    e, v = _unpack(record(EIG, (a,), vectors=True), (n,), (n, n))
    _check_converged(e)
    return e, v


def eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Compute the complex eigenvalues of square matrices.

    Args:
      tensor: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tensor of shape (..., n), in LAPACK's order. The dtype is complex128 for float64 and
      complex128 input, else complex64.

    Raises:
      InvalidArgumentError: If a matrix is not square, or contains NaN.

    Example:
      >>> tf.linalg.eigvals([[0.0, 1.0], [-1.0, 0.0]]).numpy()
      array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    values = record(EIG, (as_tensor(tensor),), vectors=False)
    _check_converged(values)
    return values


def _log_spec(op: Op, a: Spec) -> Spec:
    rules.complex_only(op, a)
    check_square(op, a)
    return a


def _logm(out: Array, a: Array) -> None:
    from scipy.linalg import logm as logarithm

    for x, target in lapack.iterate_matrices(a, out):
        if x.size:
            target[...] = logarithm(x.astype(np.complex128)) if np.isfinite(x).all() else np.nan


LOGM = defop(
    "MatrixLogarithm", ARRAY, 1, _log_spec, compute=_logm, on_host=True, complex_vjp="explicit"
)


def logm(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the principal logarithms of square complex matrices.

    It has no gradient, as in TensorFlow.

    Args:
      input: A tensor of complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If a matrix is not square, or the elements are not complex.

    Example:
      >>> tf.linalg.logm([[1.0 + 0j, 0.0], [0.0, -1.0]]).numpy().round(3)
      array([[0.+0.j   , 0.+0.j   ],
             [0.+0.j   , 0.+3.142j]])
    """
    return record(LOGM, (as_tensor(input),))
