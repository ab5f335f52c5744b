"""LAPACK on NumPy arrays: batches of matrices, whose last two axes are rows and columns.

A matrix that cannot be factored yields NaN everywhere. Nothing is raised: callers check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..values.memory import Array


def iterate_matrices(*arrays: Array, rank: int = 2) -> Iterator[tuple[Array, ...]]:
    """Iterate over corresponding matrices of arrays with the same batch shape.

    The matrices are views, so writing to them changes the arrays.
    """
    batch_shape = arrays[0].shape[: arrays[0].ndim - rank]
    for index in np.ndindex(batch_shape):
        yield tuple(x[index] for x in arrays)


def apply_or_nan(function: Callable[..., Any], out: tuple[Array, ...], a: Array) -> None:
    """Apply a `numpy.linalg` function to all matrices; if one cannot be factored, it gets NaN."""
    if not a.size:
        return
    try:
        results = function(a)
    except np.linalg.LinAlgError:
        if a.ndim > 2:
            for k in range(a.shape[0]):
                apply_or_nan(function, tuple(x[k] for x in out), a[k])
        else:
            for x in out:
                x[...] = np.nan
        return
    for x, value in zip(out, results if isinstance(results, tuple) else (results,), strict=True):
        x[...] = value


def unpack(packed: Array, *shapes: tuple[int, ...]) -> list[Array]:
    """Views of a packed row: matrices laid end to end along the last axis."""
    batch_shape, views, start = packed.shape[:-1], [], 0
    for shape in shapes:
        size = math.prod(shape)
        views.append(packed[..., start : start + size].reshape(*batch_shape, *shape))
        start += size
    return views


def _routine(kind: str, name: str, x: Array) -> Any:
    import scipy.linalg.blas
    import scipy.linalg.lapack

    module = scipy.linalg.lapack if kind == "lapack" else scipy.linalg.blas
    return getattr(module, {"f": "s", "d": "d", "F": "c", "D": "z"}[x.dtype.char] + name)


# Factors, packed: the matrix, then its pivots.


def lu(out: Array, a: Array) -> None:
    """The LU factors of each matrix by rows, followed by the pivot row of each step."""
    n = a.shape[-1]
    if not n:
        return
    getrf = _routine("lapack", "getrf", out)
    for matrix, packed in zip(a.reshape(-1, n, n), out.reshape(-1, n * n + n), strict=True):
        factors, pivots, _ = getrf(matrix)
        packed[: n * n] = factors.ravel()
        packed[n * n :] = pivots


def factor(out: Array, a: Array) -> None:
    """As `lu`, but column by column."""
    n = a.shape[-1]
    lu(out, a)
    for packed in out.reshape(-1, n * n + n) if n else ():
        packed[: n * n] = packed[: n * n].reshape(n, n).T.ravel()


def unpack_factors(packed: Array, n: int) -> tuple[Array, Array]:
    """The factors and the pivots of one row that `factor` packed."""
    return packed[: n * n].reshape(n, n).T, packed[n * n :].real.astype(np.int32)


def lu_solve(out: Array, factor: Array, b: Array, adjoint: bool) -> None:
    """Solve with packed factors."""
    if not out.size:
        return
    n, k = b.shape[-2:]
    getrs = _routine("lapack", "getrs", out)
    trans = _trans_code(out, adjoint)
    batches = factor.reshape(-1, n * n + n), b.reshape(-1, n, k), out.reshape(-1, n, k)
    for packed, rhs, solution in zip(*batches, strict=True):
        factors, pivots = unpack_factors(packed, n)
        solution[...] = getrs(factors, pivots, rhs, trans=trans)[0]


def _trans_code(x: Array, adjoint: bool) -> int:
    """LAPACK's argument: 0 as stored, 1 transposed, 2 the adjoint."""
    return 0 if not adjoint else 2 if x.dtype.kind == "c" else 1


def permutation(pivots: Array) -> Array:
    """The permutation: for each row of the factors, its row of the matrix."""
    order = np.arange(pivots.size)
    for k, pivot in enumerate(pivots.real.astype(int)):
        order[k], order[pivot] = order[pivot], order[k]
    return order


def triangular_solve(out: Array, a: Array, b: Array, lower: bool, adjoint: bool) -> None:
    """Solve with triangular matrices."""
    if not out.size:
        return
    n, k = b.shape[-2:]
    trsm = _routine("blas", "trsm", out)
    one, trans = out.dtype.type(1), _trans_code(out, adjoint)
    batches = a.reshape(-1, n, n), b.reshape(-1, n, k), out.reshape(-1, n, k)
    for matrix, rhs, solution in zip(*batches, strict=True):
        # From the right: x.T = b.T inv(a.T). Fortran reads `a` as its transpose.
        transposed = np.asfortranarray(matrix.T)
        solution[...] = trsm(one, transposed, rhs.T, side=1, lower=not lower, trans_a=trans).T


def cholesky(out: Array, a: Array) -> None:
    """The lower triangular factors."""
    apply_or_nan(np.linalg.cholesky, (out,), a)


def cholesky_grad(out: Array, g: Array, y: Array) -> None:
    """Adjoints of the matrices from those of the factors."""
    product = np.tril(y.swapaxes(-1, -2) @ np.tril(g))
    symmetric = 0.5 * (product + np.tril(product, -1).swapaxes(-1, -2))
    half_solved = np.empty_like(out)
    triangular_solve(half_solved, y, symmetric, True, True)
    triangular_solve(out, y, np.ascontiguousarray(half_solved.swapaxes(-1, -2)), True, True)


def qr(out: Array, a: Array, full: bool) -> None:
    """Q and R, packed."""
    m, n = a.shape[-2:]
    inner = m if full else min(m, n)
    q, r = unpack(out, (m, inner), (inner, n))
    if not n or not m:
        r[...] = 0
        q[...] = np.eye(m, inner)
        return
    mode: Any = "complete" if full else "reduced"
    apply_or_nan(lambda x: tuple(np.linalg.qr(x, mode)), (q, r), a)


def svd(out: Array, a: Array, full: bool, vectors: bool) -> None:
    """Singular values, then U and V, packed."""
    m, n = a.shape[-2:]
    k = min(m, n)
    if not vectors:
        apply_or_nan(lambda x: np.linalg.svd(x, compute_uv=False), (out,), a)
        return
    s, u, v = unpack(out, (k,), (m, m if full else k), (n, n if full else k))
    if not k:
        u[...] = np.eye(m, u.shape[-1])
        v[...] = np.eye(n, v.shape[-1])
        return

    def function(x: Array) -> tuple[Array, ...]:
        factors = np.linalg.svd(x, full_matrices=full)
        return factors.U, factors.S, factors.Vh.swapaxes(-1, -2).conj()

    apply_or_nan(function, (u, s, v), a)


def eigh(out: Array, a: Array, vectors: bool) -> None:
    """Eigenvalues of symmetric matrices, then vectors, packed; the lower triangle is read."""
    n = a.shape[-1]
    if vectors:
        apply_or_nan(lambda x: tuple(np.linalg.eigh(x)), tuple(unpack(out, (n,), (n, n))), a)
    else:
        apply_or_nan(np.linalg.eigvalsh, (out,), a)
    # LAPACK may return numbers for matrices with NaN or infinity.
    out[~np.isfinite(np.tril(a)).all((-2, -1))] = np.nan
