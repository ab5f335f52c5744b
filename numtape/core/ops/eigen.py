"""Eigenvalues and eigenvectors of general square matrices, and the matrix logarithm.

Results are complex. LAPACK computes them on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InvalidArgumentError
from ..cpu import lapack
from ..log.op import ARRAY, Op, defop
from ..log.record import record
from ..log.tensors import as_tensor
from ..values import dtypes
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import comparison, elementwise, rules
from .checks import every
from .complex import conj, real
from .diagonals import diagonal, diagonal_matrix
from .lu_factors import FACTOR, SOLVE, check_square_inexact
from .matrix_products import matmul
from .orthogonal_factors import _gaps, _parts
from .triangles import adjoint_of, check_square

Array = np.ndarray[Any, Any]


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
        lapack.careful(lambda x: tuple(np.linalg.eig(x)), tuple(lapack.parts(out, (n,), (n, n))), a)
    else:
        lapack.careful(np.linalg.eigvals, (out,), a)
    out[~finite[..., 0, 0]] = np.nan


def _eig_vjp(g: Tensor, y: Tensor, a: Tensor, vectors: bool) -> tuple[Tensor]:
    """Return the adjoint of ``a``.

    From Boeddeker et al., "On the computation of complex-valued gradients" (2017), eq. 4.77.
    """
    n = a.shape[-1]
    packed = y if vectors else record(EIG, (a,), vectors=True)
    e, v = _parts(packed, (n,), (n, n))
    vh = adjoint_of(v)
    if vectors:
        ge, gv = _parts(g, (n,), (n, n))
        projection = matmul(vh, gv)
        # Eigenvectors have length 1: remove the adjoint's component along each of them.
        length_part = diagonal_matrix(
            elementwise.cast(real(diagonal(projection)), projection.dtype)
        )
        projection = projection - matmul(matmul(vh, v), length_part)
        inner = diagonal_matrix(ge) + conj(_gaps(e)) * projection
    else:
        inner = diagonal_matrix(g)
    factor = record(FACTOR, (vh,))
    ga = record(SOLVE, (vh, factor, matmul(inner, vh)), adjoint=False)
    return (elementwise.cast(ga, a.dtype),)


EIG = defop(
    "Eig", ARRAY, 1, _eig_spec, compute=_eig, vjp=_eig_vjp, on_host=True, of_complex="other"
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


def eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
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
    e, v = _parts(record(EIG, (a,), vectors=True), (n,), (n, n))
    _check_converged(e)
    return e, v


def eigvals(tensor: Any, name: str | None = None) -> Tensor:
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

    for x, target in lapack.each(a, out):
        if x.size:
            target[...] = logarithm(x.astype(np.complex128)) if np.isfinite(x).all() else np.nan


LOGM = defop(
    "MatrixLogarithm", ARRAY, 1, _log_spec, compute=_logm, on_host=True, of_complex="other"
)


def logm(input: Any, name: str | None = None) -> Tensor:
    """Compute the principal logarithms of square complex matrices.

    There is no gradient, as in TensorFlow.

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
