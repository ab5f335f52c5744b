"""Decompositions with orthogonal factors, QR, SVD and eigh: one packed row each, cut into parts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidArgumentError
from ..cpu import blas, lapack
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record, require
from ..log.tensors import as_tensor
from ..values.spec import Spec, intern
from ..values.spelling import suggest_keywords
from ..values.tensor import Tensor
from . import comparison, elementwise, rules, slicing
from .checks import every
from .complex import complex_, imag, real
from .diagonals import diagonal, diagonal_matrix
from .linear_systems import solve_triangular
from .lu_factors import check_square_inexact, unpack
from .matrix_products import matmul
from .movement import expand_dims, squeeze
from .slice_rows import slice_into_zeros
from .triangles import FROM_LOWER, LOWER_SUMS, adjoint_of

Array = np.ndarray[Any, Any]


# Q and R.


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


def _parts(packed: Tensor, *shapes: tuple[int, ...]) -> list[Tensor]:
    value, at = [], 0
    for shape in shapes:
        value.append(unpack(packed, at, shape))
        at += int(np.prod(shape, dtype=np.int64))
    return value


def _qr_vjp(g: Tensor, y: Tensor, a: Tensor, full: bool) -> tuple[Tensor]:
    """Walter and Lehmann, "On evaluating higher-order derivatives of the QR decomposition" (2010).

    Of a wide matrix the first columns determine Q; the others are Q times those of R.
    """
    m, n = a.shape[-2:]
    if full and m > n:
        raise NotImplementedError(
            f"QrGrad not implemented when nrows > ncols and full_matrices is true. Received "
            f"nrows={m} and ncols={n}."
        )
    shapes = _qr_shapes(a, full)
    q, r = _parts(y, *shapes)
    gq, gr = _parts(g, *shapes)
    if m >= n:
        return (_qr_tall(gq, gr, q, r),)
    left, gleft = _columns(r, 0, m), _columns(gr, 0, m)
    gright = _columns(gr, m, n)
    gq = gq + matmul(_columns(a, m, n), gright, adjoint_b=True)
    first, others = _qr_tall(gq, gleft, q, left), matmul(q, gright)
    return (_among(first, a, 0, m) + _among(others, a, m, n),)


def _columns(x: Tensor, begin: int, end: int) -> Tensor:
    cut = (*((0, dim, 1) for dim in x.shape[:-1]), (begin, end, 1))
    return slicing.strided_slice(x, cut)


def _among(x: Tensor, a: Tensor, begin: int, end: int) -> Tensor:
    """Columns among zeros, in the shape of ``a``."""
    cut = (*((0, dim, 1) for dim in a.shape[:-1]), (begin, end, 1))
    return slice_into_zeros(x, tuple(a.shape), cut)


def _qr_tall(gq: Tensor, gr: Tensor, q: Tensor, r: Tensor) -> Tensor:
    middle = matmul(r, gr, adjoint_b=True) - matmul(gq, q, adjoint_a=True)
    x = gq + matmul(q, record(FROM_LOWER, (middle,)))
    return adjoint_of(solve_triangular(r, adjoint_of(x), False, False))


QR = defop(
    "Qr", ARRAY, 1, _qr_spec, compute=lapack.qr, vjp=_qr_vjp, on_host=True, of_complex="other"
)


class Qr(NamedTuple):
    """Factors of matrices.

    Attributes:
      q: Orthonormal columns.
      r: Upper triangular.
    """

    q: Tensor
    r: Tensor


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Factors of matrices: orthonormal columns, times an upper triangle.

    Signs are those of LAPACK. The gradient needs the first columns, as many as there are rows, to
    be independent; that of complete factors of tall matrices is not there.

    Args:
      input: A tensor of floats or complex numbers, of shape (..., m, n).
      full_matrices: Whether ``q`` is square.
      name: Not used.

    Returns:
      A named tuple of ``q``, of shape (..., m, k), and ``r``, of shape (..., k, n); k is the
      smaller one of m and n, or m.

    Raises:
      InvalidArgumentError: If the rank is below 2, or the elements are no floats.

    Example:
      >>> q, r = tf.linalg.qr([[3.0, 1.0], [4.0, 2.0]])
      >>> tf.abs(r).numpy().round(3)
      array([[5. , 2.2],
             [0. , 0.4]], dtype=float32)
    """
    a = as_tensor(input)
    packed = record(QR, (a,), full=bool(full_matrices))
    return Qr(*_parts(packed, *_qr_shapes(a, bool(full_matrices))))


# Differences that may be 0: then the two cannot be told apart, and nothing flows between them.


def _gaps(x: Tensor) -> Tensor:
    """``1 / (x[j] - x[i])`` for each pair; 0 where they are equal."""
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
        _, u, v = _parts(record(SVD, (a,), full=False, vectors=True), *_svd_shapes(a, False))
        return (matmul(u * expand_dims(g, -2), v, adjoint_b=True),)
    if full and abs(m - n) > 1:
        raise NotImplementedError(
            f"svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True. "
            f"Received: m={m} and n={n}."
        )
    shapes = _svd_shapes(a, full)
    s, u, v = _parts(y, *shapes)
    gs, gu, gv = _parts(g, *shapes)
    if full:
        u, gu = _thin(u, gu, min(m, n))
        v, gv = _thin(v, gv, min(m, n))
    across, down = expand_dims(s, -2), expand_dims(s, -1)
    gaps = _gaps(s * s)
    uu, vv = matmul(u, gu, adjoint_a=True), matmul(v, gv, adjoint_a=True)
    turns, tilts = gaps * uu, gaps * vv
    middle = (turns + adjoint_of(turns)) * across + down * (tilts + adjoint_of(tilts))
    inverse = elementwise.real_divide_no_nan(1.0, across)
    if a.dtype.is_complex:
        # Of the phases of a column of u and of one of v, only the difference is given.
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
    """The first k columns: what one more does follows from them."""
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
    job = 8 * blas.LETTERS.index(("A" if full else "S") if vectors else "N")
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
    of_complex="other",
)


@suggest_keywords
def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """Singular values and vectors of matrices: ``a = u @ diag(s) @ v.T``.

    Where singular values are equal, their vectors are anything, and the gradient leaves out what
    cannot be told: as TensorFlow's it is finite. That of singular values alone is right there.

    Args:
      tensor: A tensor of floats or complex numbers, of shape (..., m, n).
      full_matrices: Whether ``u`` and ``v`` are square. Their gradients are there if m and n differ
        by at most 1.
      compute_uv: Whether to give the vectors.
      name: Not used.

    Returns:
      A tuple of ``s``, real and of shape (..., k), the largest first, ``u``, of shape (..., m, k),
      and ``v``, of shape (..., n, k), where k is the smaller one of m and n; or ``s`` alone.

    Raises:
      InvalidArgumentError: If the rank is below 2, or the elements are no floats.

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
    s, u, v = _parts(record(SVD, (a,), full=full, vectors=True), *_svd_shapes(a, full))
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
        _, v = _parts(record(EIGH, (a,), vectors=True), (n,), (n, n))
        result = matmul(v * expand_dims(g, -2), v, adjoint_b=True)
    else:
        e, v = _parts(y, (n,), (n, n))
        ge, gv = _parts(g, (n,), (n, n))
        middle = diagonal_matrix(ge) + _gaps(e) * matmul(v, gv, adjoint_a=True)
        result = matmul(matmul(v, middle), v, adjoint_b=True)
    # What is read is the lower triangle.
    return (record(LOWER_SUMS, (result,)),)


EIGH = defop(
    "SelfAdjointEigV2",
    ARRAY,
    1,
    _eigh_spec,
    compute=lapack.eigh,
    vjp=_eigh_vjp,
    on_host=True,
    of_complex="other",
)


def _locate(values: Tensor) -> None:
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


def eigh(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of symmetric matrices, of which the lower triangle is read.

    Where eigenvalues are equal, their vectors are anything, and the gradient leaves out what
    cannot be told: as TensorFlow's it is finite.

    Args:
      tensor: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tuple of the eigenvalues, of shape (..., n), the smallest first, and the eigenvectors, the
      columns of matrices of shape (..., n, n).

    Raises:
      InvalidArgumentError: If a matrix is not square, or has NaN.

    Example:
      >>> e, v = tf.linalg.eigh([[2.0, 1.0], [1.0, 2.0]])
      >>> e.numpy()
      array([1., 3.], dtype=float32)
    """
    a = as_tensor(tensor)
    packed = record(EIGH, (a,), vectors=True)
    n = a.shape[-1]
    e, v = _parts(packed, (n,), (n, n))
    _locate(e)
    return e, v


def eigvalsh(tensor: Any, name: str | None = None) -> Tensor:
    """Eigenvalues of symmetric matrices, of which the lower triangle is read.

    Args:
      tensor: A tensor of floats or complex numbers, of shape (..., n, n).
      name: Not used.

    Returns:
      A tensor of shape (..., n) and the same dtype, the smallest first.

    Raises:
      InvalidArgumentError: If a matrix is not square, or has NaN.

    Example:
      >>> tf.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]).numpy()
      array([1., 3.], dtype=float32)
    """
    result = record(EIGH, (as_tensor(tensor),), vectors=False)
    _locate(result)
    return result
