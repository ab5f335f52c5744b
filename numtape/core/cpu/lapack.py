"""LAPACK on NumPy arrays: batches of matrices, whose last two axes are rows and columns.

A matrix that cannot be factored yields NaN everywhere. Nothing is raised: callers check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def each(*arrays: Array, rank: int = 2) -> Iterator[tuple[Array, ...]]:
    """Iterate over corresponding matrices of arrays with the same batch shape.

    The matrices are views, so writing to them changes the arrays.
    """
    lead = arrays[0].shape[: arrays[0].ndim - rank]
    for at in np.ndindex(lead):
        yield tuple(x[at] for x in arrays)


def careful(function: Callable[..., Any], out: tuple[Array, ...], a: Array) -> None:
    """Apply a function of `numpy.linalg` to all matrices together; if it fails, to each one."""
    if not a.size:
        return
    try:
        results = function(a)
    except np.linalg.LinAlgError:
        if a.ndim > 2:
            for k in range(a.shape[0]):
                careful(function, tuple(x[k] for x in out), a[k])
        else:
            for x in out:
                x[...] = np.nan
        return
    for x, value in zip(out, results if isinstance(results, tuple) else (results,), strict=True):
        x[...] = value


def parts(packed: Array, *shapes: tuple[int, ...]) -> list[Array]:
    """Views of a packed row: matrices laid end to end along the last axis."""
    lead, views, at = packed.shape[:-1], [], 0
    for shape in shapes:
        size = math.prod(shape)
        views.append(packed[..., at : at + size].reshape(*lead, *shape))
        at += size
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
    flat = factor.reshape(-1, n * n + n), b.reshape(-1, n, k), out.reshape(-1, n, k)
    for packed, right, solution in zip(*flat, strict=True):
        factors, pivots = unpack_factors(packed, n)
        solution[...] = getrs(factors, pivots, right, trans=trans)[0]


def _trans_code(x: Array, adjoint: bool) -> int:
    """LAPACK's argument: 0 as stored, 1 transposed, 2 the adjoint."""
    return 0 if not adjoint else 2 if x.dtype.kind == "c" else 1


def permutation(pivots: Array) -> Array:
    """The permutation: for each row of the factors, its row of the matrix."""
    order = np.arange(pivots.size)
    for k, other in enumerate(pivots.real.astype(int)):
        order[k], order[other] = order[other], order[k]
    return order


def triangular_solve(out: Array, a: Array, b: Array, lower: bool, adjoint: bool) -> None:
    """Solve with triangular matrices."""
    if not out.size:
        return
    n, k = b.shape[-2:]
    trsm = _routine("blas", "trsm", out)
    one, trans = out.dtype.type(1), _trans_code(out, adjoint)
    flat = a.reshape(-1, n, n), b.reshape(-1, n, k), out.reshape(-1, n, k)
    for matrix, right, solution in zip(*flat, strict=True):
        # From the right: x.T = b.T inv(a.T). Fortran reads `a` as its transpose.
        turned = np.asfortranarray(matrix.T)
        solution[...] = trsm(one, turned, right.T, side=1, lower=not lower, trans_a=trans).T


def cholesky(out: Array, a: Array) -> None:
    """The lower triangular factors."""
    careful(np.linalg.cholesky, (out,), a)


def cholesky_grad(out: Array, g: Array, y: Array) -> None:
    """Adjoints of the matrices from those of the factors."""
    low = np.tril(y.swapaxes(-1, -2) @ np.tril(g))
    middle = 0.5 * (low + np.tril(low, -1).swapaxes(-1, -2))
    half = np.empty_like(out)
    triangular_solve(half, y, middle, True, True)
    triangular_solve(out, y, np.ascontiguousarray(half.swapaxes(-1, -2)), True, True)


def qr(out: Array, a: Array, full: bool) -> None:
    """Q and R, packed."""
    m, n = a.shape[-2:]
    inner = m if full else min(m, n)
    q, r = parts(out, (m, inner), (inner, n))
    if not n or not m:
        r[...] = 0
        q[...] = np.eye(m, inner)
        return
    mode: Any = "complete" if full else "reduced"
    careful(lambda x: tuple(np.linalg.qr(x, mode)), (q, r), a)


def svd(out: Array, a: Array, full: bool, vectors: bool) -> None:
    """Singular values, then U and V, packed."""
    m, n = a.shape[-2:]
    k = min(m, n)
    if not vectors:
        careful(lambda x: np.linalg.svd(x, compute_uv=False), (out,), a)
        return
    s, u, v = parts(out, (k,), (m, m if full else k), (n, n if full else k))
    if not k:
        u[...] = np.eye(m, u.shape[-1])
        v[...] = np.eye(n, v.shape[-1])
        return

    def function(x: Array) -> tuple[Array, ...]:
        factors = np.linalg.svd(x, full_matrices=full)
        return factors.U, factors.S, factors.Vh.swapaxes(-1, -2).conj()

    careful(function, (u, s, v), a)


def eigh(out: Array, a: Array, vectors: bool) -> None:
    """Eigenvalues of symmetric matrices, then vectors, packed; the lower triangle is read."""
    n = a.shape[-1]
    if vectors:
        careful(lambda x: tuple(np.linalg.eigh(x)), tuple(parts(out, (n,), (n, n))), a)
    else:
        careful(np.linalg.eigvalsh, (out,), a)
    # LAPACK may return numbers for matrices with NaN or infinity.
    out[~np.isfinite(np.tril(a)).all((-2, -1))] = np.nan
