"""Banded matrices: products, systems of equations and eigenvalues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidArgumentError
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Op, defop
from ..log.record import record, require, spec_of
from ..values.dtypes import mismatch_error, repr_of
from ..values.spec import Spec
from ..values.tensor import Tensor
from . import comparison, elementwise, indexing, movement
from .complex import conj, real
from .decompositions import eigh, eigvalsh
from .diagonals import diag, diag_part
from .joining import stack
from .linear_systems import broadcast_batches, triangular_solve
from .lu_factors import as_square_matrix
from .padding import pad
from .reduction import reduce_sum
from .rules import every
from .slicing import slice_into_zeros, split, unstack

if TYPE_CHECKING:
    from ..values.annotations import TensorLike

Array = np.ndarray[Any, Any]


# Tridiagonal matrices are packed as three rows of equal length: the superdiagonal, padded at the
# end; the main diagonal; and the subdiagonal, padded at the beginning.


def packed_diagonals(diagonals: TensorLike, form: str, op: str) -> Tensor:
    """Convert diagonals in one of TensorFlow's three forms to a tensor of shape (..., 3, n)."""
    if form == "sequence":
        if not isinstance(diagonals, list | tuple) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        main = as_tensor(diagonals[1])
        above, below = (as_tensor(x, main._spec, op) for x in (diagonals[0], diagonals[2]))
        require(min(above.ndim, main.ndim, below.ndim) > 0, op, "diagonals must be vectors")
        n = main.shape[-1]
        # The other two diagonals may omit the padding element.
        ends = ((above, [0, n - above.shape[-1]]), (below, [n - below.shape[-1], 0]))
        filled = []
        for x, end in ends:
            if x.shape[-1] not in (n, n - 1):
                raise ValueError(
                    f"The diagonals beside one of length {n} have {n} or {n - 1} elements, "
                    f"got {x.shape[-1]}"
                )
            filled.append(pad(x, [*[[0, 0]] * (x.ndim - 1), end]))
        result: Tensor = stack([filled[0], main, filled[1]], axis=-2)
        return result
    if form == "matrix":
        matrix = as_square_matrix(diagonals, op)
        if matrix.shape[-1] < 2:  # a 1 x 1 matrix has only the main diagonal
            return pad(matrix, [*[[0, 0]] * (matrix.ndim - 2), [1, 1], [0, 0]])
        return diag_part(matrix, k=(-1, 1), align="LEFT_RIGHT")
    if form != "compact":
        raise ValueError(f"Unrecognized diagonals_format: {form}")
    x = as_tensor(diagonals)
    require(x.ndim >= 2, op, f"diagonals must have at least 2 axes, got {x._describe()}")
    if x.shape[-2] != 3:
        raise ValueError(f"Expected 3 diagonals got {x.shape[-2]}")
    return x


def _shift_rows(x: Tensor, by: int) -> Tensor:
    """Shift the rows of matrices up (1) or down (-1) and insert a row of zeros."""
    rows = x.shape[-2]
    if not rows:
        return x
    ends = [0, 1] if by > 0 else [1, 0]
    filled = pad(x, [*[[0, 0]] * (x.ndim - 2), ends, [0, 0]])
    first, second = split(filled, [1, rows] if by > 0 else [rows, 1], axis=-2)
    result: Tensor = second if by > 0 else first
    return result


def tridiagonal_product(packed: Tensor, x: Tensor) -> Tensor:
    """Multiply packed tridiagonal matrices with matrices; batches broadcast."""
    above, main, below = (movement.expand_dims(d, -1) for d in unstack(packed, axis=-2))
    result: Tensor = main * x + above * _shift_rows(x, 1) + below * _shift_rows(x, -1)
    return result


def tridiagonal_matmul(
    diagonals: TensorLike,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    name: str | None = None,
) -> Tensor:
    """Multiply tridiagonal matrices with matrices.

    Args:
      diagonals: A tensor of floats or complex numbers of shape (..., 3, n): the superdiagonal,
        whose last element is not used, the main diagonal, and the subdiagonal, whose first element
        is not used. With ``diagonals_format="sequence"`` a list of the three; with ``"matrix"`` the
        full matrices, of which only the three diagonals are read.
      rhs: A tensor of the same dtype, of shape (..., n, k), with the same batches.
      diagonals_format: The form of ``diagonals``: ``"compact"``, ``"sequence"`` or ``"matrix"``.
      name: Not used.

    Returns:
      A tensor of the shape and dtype of ``rhs``.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit.
      ValueError: If there are not three diagonals, or the format is unknown.

    Example:
      >>> diagonals = tf.constant([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 1.0, 1.0]])
      >>> tf.linalg.tridiagonal_matmul(diagonals, tf.ones((3, 1))).numpy()
      array([[3.],
             [4.],
             [3.]], dtype=float32)
    """
    packed, x = _parse_operands(diagonals, rhs, diagonals_format, "TridiagonalMatMul")
    require(
        packed.ndim == x.ndim,
        "TridiagonalMatMul",
        "All input tensors must have the same rank.",
    )
    _check_shapes(packed, x)
    return tridiagonal_product(packed, x)


def _parse_operands(
    diagonals: TensorLike, rhs: TensorLike, form: str, op: str
) -> tuple[Tensor, Tensor]:
    packed = packed_diagonals(diagonals, form, op)
    x = as_tensor(rhs, packed._spec, op)
    if packed.dtype is not x.dtype:
        raise mismatch_error(op, 1, packed.dtype, x.dtype)
    require(
        packed.dtype.name in ("float32", "float64", "complex64", "complex128"),
        op,
        f"Value for attr 'T' of {packed.dtype.name} is not in the list of allowed values: double, "
        f"float, complex64, complex128",
    )
    return packed, x


def _check_shapes(packed: Tensor, x: Tensor) -> None:
    if packed.shape[:-2] != x.shape[:-2]:
        raise ValueError(f"Batch shapes {packed.shape[:-2]} and {x.shape[:-2]} are incompatible")
    if packed.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"Expected number of left-hand sided and right-hand sides to be equal, got "
            f"{packed.shape[-1]} and {x.shape[-2]}"
        )


def _solve(out: Array, packed: Array, rhs: Array, adjoint: bool) -> None:
    """Solve by elimination with partial pivoting (LAPACK's gtsv). Singular systems give NaN."""
    from scipy.linalg import LinAlgError, solve_banded

    n, k = rhs.shape[-2:]
    if not rhs.size:
        return
    matrices = packed.reshape(-1, 3, n)
    rows = zip(out.reshape(-1, n, k), matrices, rhs.reshape(-1, n, k), strict=True)
    for value, (above, main, below), b in rows:
        # SciPy pads the superdiagonal at its beginning and the subdiagonal at its end.
        bands = np.stack([np.roll(above, 1), main, np.roll(below, -1)])
        if adjoint:
            bands = np.stack([below, main, above]).conj()
        bands[0, 0] = bands[2, -1] = 0
        try:
            value[...] = solve_banded((1, 1), bands, b, check_finite=False)
        except LinAlgError:
            value[...] = np.nan


def _solve_vjp(
    g: Tensor, x: Tensor, packed: Tensor, b: Tensor, adjoint: bool
) -> tuple[Tensor, Tensor]:
    """Return the adjoints: the three diagonals of ``-gb x^H`` (or of its adjoint), and gb."""
    gb = record(SOLVE, (packed, g), adjoint=not adjoint)
    left, right = (x, conj(gb)) if adjoint else (gb, conj(x))
    shape = tuple(packed.shape)
    result: Tensor | None = None
    for j, there in enumerate((_shift_rows(right, 1), right, _shift_rows(right, -1))):
        part = movement.expand_dims(reduce_sum(left * there, -1), -2)
        cut = (*((0, dim, 1) for dim in shape[:-2]), (j, j + 1, 1), (0, shape[-1], 1))
        placed = slice_into_zeros(part, shape, cut)
        result = placed if result is None else result + placed
    assert result is not None
    return elementwise.negative(result), gb


def _solve_spec(op: Op, packed: Spec, b: Spec, adjoint: bool) -> Spec:
    return b


SOLVE = defop(
    "TridiagonalSolve",
    ARRAY,
    2,
    _solve_spec,
    compute=_solve,
    vjp=_solve_vjp,
    on_host=True,
    complex_vjp="explicit",
)


def tridiagonal_solution(packed: Tensor, rhs: Tensor, adjoint: bool) -> Tensor:
    """Solve packed tridiagonal systems, or those of the adjoint matrices; batches broadcast."""
    if packed.shape[:-2] != rhs.shape[:-2]:
        packed, rhs = broadcast_batches(packed, rhs, "TridiagonalSolve")
    return record(SOLVE, (packed, rhs), adjoint=adjoint)


def tridiagonal_solve(
    diagonals: TensorLike,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """Solve ``matrix @ x = rhs`` for ``x``, for tridiagonal matrices.

    Args:
      diagonals: A tensor of floats or complex numbers of shape (..., 3, n), or as in
        ``diagonals_format``: see `tridiagonal_matmul`.
      rhs: A tensor of the same dtype, of shape (..., n) or (..., n, k), with the same batches.
      diagonals_format: The form of ``diagonals``: ``"compact"``, ``"sequence"`` or ``"matrix"``.
      transpose_rhs: Whether to transpose ``rhs`` first.
      conjugate_rhs: Whether to conjugate ``rhs`` first.
      name: Not used.
      partial_pivoting: No effect: pivoting is always used.
      perturb_singular: Must be False.

    Returns:
      A tensor of the shape and dtype of ``rhs``, transposed if requested. A singular matrix gives
      NaN.

    Raises:
      InvalidArgumentError: If the dtypes differ or are not supported.
      ValueError: If shapes do not fit, or the format is unknown.
      NotImplementedError: If ``perturb_singular`` is True.

    Example:
      >>> diagonals = tf.constant([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 1.0, 1.0]])
      >>> tf.linalg.tridiagonal_solve(diagonals, tf.constant([3.0, 4.0, 3.0])).numpy()
      array([1., 1., 1.], dtype=float32)
    """
    if perturb_singular:
        raise NotImplementedError("perturb_singular=True is not implemented.")
    packed, b = _parse_operands(diagonals, rhs, diagonals_format, "TridiagonalSolve")
    vector = b.ndim == packed.ndim - 1
    if vector:
        b = movement.expand_dims(b, -1)
    elif b.ndim != packed.ndim:
        raise ValueError(
            f"Expected the rank of rhs to be {packed.ndim - 1} or {packed.ndim}, got {b.ndim}"
        )
    elif transpose_rhs:
        b = movement.transpose_if_needed(b, (*range(b.ndim - 2), b.ndim - 1, b.ndim - 2))
    _check_shapes(packed, b)
    result = record(SOLVE, (packed, conj(b) if conjugate_rhs else b), adjoint=False)
    return movement.squeeze(result, -1) if vector else result


# Banded triangular matrices.


def banded_triangular_solve(
    bands: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solve ``matrix @ x = rhs`` for ``x``, for banded triangular matrices.

    Args:
      bands: A tensor of floats or complex numbers of shape (..., count, n). For lower triangles:
        the main diagonal first, then the subdiagonals, padded at the beginning. For upper
        triangles: the outermost diagonal first, padded at the end, and the main diagonal last.
      rhs: A tensor of the same dtype, of shape (..., n, k); batches broadcast.
      lower: Whether the matrices are lower triangular.
      adjoint: Whether to solve with the adjoints of the matrices.
      name: Not used.

    Returns:
      A tensor of shape (..., n, k) and the same dtype.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a matrix is singular.

    Example:
      >>> bands = [[2.0, 2.0, 2.0], [0.0, 1.0, 1.0]]
      >>> tf.linalg.banded_triangular_solve(bands, [[2.0], [3.0], [3.0]]).numpy()
      array([[1.],
             [1.],
             [1.]], dtype=float32)
    """
    op = "BandedTriangularSolve"
    x = as_tensor(bands, spec_of(rhs), op)
    b = as_tensor(rhs, x._spec, op)
    require(x.ndim >= 2, op, f"In[0] ndims must be >= 2: {x.ndim}")
    require(b.ndim >= 2, op, f"In[1] ndims must be >= 2: {b.ndim}")
    if x.dtype is not b.dtype:
        raise mismatch_error(op, 1, x.dtype, b.dtype)
    count, n = x.shape[-2:]
    require(0 < count <= n, op, f"{count} bands for {n} rows")
    require(n == b.shape[-2], op, f"shapes do not fit: {list(x.shape)}, {list(b.shape)}")
    main = x[..., 0 if lower else -1, :]
    if not every(
        main,
        lambda values: values != 0,
        lambda rows: comparison.not_equal(rows, 0),
        f"Input matrix is not invertible [Op:{op}]",
    ):
        raise InvalidArgumentError(f"Input matrix is not invertible. [Op:{op}]")
    if count == 1:  # a single diagonal has no axis of its own
        x = movement.reshape(x, (*x.shape[:-2], n))
    at = (1 - count, 0) if lower else (0, count - 1)
    matrix = diag(x, k=at, num_rows=n, num_cols=n, align="LEFT_RIGHT")
    return triangular_solve(matrix, b, lower, adjoint)


# Eigenvalues.


def eigh_tridiagonal(
    alpha: TensorLike,
    beta: TensorLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: TensorLike | None = None,
    tol: object = None,
    name: str | None = None,
) -> Any:
    """Compute the eigenvalues, and optionally the eigenvectors, of a symmetric tridiagonal matrix.

    Args:
      alpha: A vector of floats or complex numbers: the main diagonal, of which only the real parts
        are used.
      beta: A vector of the same dtype with one element less: the superdiagonal. The subdiagonal is
        its conjugate.
      eigvals_only: Whether to compute only the eigenvalues.
      select: ``"a"`` for all eigenvalues, ``"i"`` for an index range, ``"v"`` for a range of
        values.
      select_range: The first and the last index; or the lower bound, which is excluded, and the
        upper bound, which is included. No gradient flows to bounds.
      tol: Accepted for compatibility with TensorFlow: results have the precision of the dtype.
      name: Not used.

    Returns:
      The eigenvalues in ascending order; if ``eigvals_only`` is False, a tuple of them and a matrix
      whose columns are the eigenvectors.

    Raises:
      ValueError: If dtypes or lengths do not fit, or ``select`` is unknown.
      InvalidArgumentError: If an index range is empty or out of range.
      TypeError: If a range is requested and ``select_range`` is not two numbers.

    Example:
      >>> tf.linalg.eigh_tridiagonal([2.0, 2.0], [1.0]).numpy()
      array([1., 3.], dtype=float32)
    """
    main, beside = as_tensor(alpha), as_tensor(beta)
    if main.dtype is not beside.dtype:
        raise ValueError("'alpha' and 'beta' must have the same type.")
    if main.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise ValueError(f"alpha must be of floats, got {main._describe()}")
    if main.ndim != 1 or beside.ndim != 1 or beside.shape[0] != max(main.shape[0] - 1, 0):
        raise ValueError(
            f"alpha must be a vector, and beta one with an element less, got shapes {main.shape} "
            f"and {beside.shape}"
        )
    if select not in ("a", "i", "v"):
        raise ValueError("'select' must have a value in {'a', 'i', 'v'}.")
    if main.dtype.is_complex:
        main = elementwise.cast(real(main), main.dtype)
    matrix = diag(main)
    if beside.shape[0]:  # eigh reads the lower triangle
        matrix = matrix + diag(conj(beside), k=-1) + diag(beside, k=1)
    values, vectors = (eigvalsh(matrix), None) if eigvals_only else eigh(matrix)
    values = real(values)
    if select == "i":
        first, last = _parse_index_range(select_range, values.shape[0])
        values = values[first : last + 1]
        vectors = None if vectors is None else vectors[:, first : last + 1]
    elif select == "v":
        low, high = _parse_ends(select_range)
        within = comparison.logical_and(values > low, values <= high)
        values = indexing.boolean_mask(values, within)
        vectors = None if vectors is None else indexing.boolean_mask(vectors, within, axis=1)
    return values if vectors is None else (values, vectors)


def _parse_ends(ends: TensorLike | None) -> tuple[Any, Any]:
    if not isinstance(ends, list | tuple | Tensor | np.ndarray) or len(ends) != 2:
        raise TypeError(f"select_range must be two numbers, got {repr_of(ends)}")
    return ends[0], ends[1]


def _parse_index_range(ends: TensorLike | None, count: int) -> tuple[int, int]:
    low, high = (movement.to_ints(end) for end in _parse_ends(ends))
    if not isinstance(low, int) or not isinstance(high, int):
        raise TypeError(f"select_range must be two integers, got {repr_of(ends)}")
    if low > high:
        raise InvalidArgumentError("Got empty index range in select_range.")
    if low < 0 or high >= count:
        raise InvalidArgumentError(
            f"select_range {repr_of(ends)} is out of range for {count} eigenvalues"
        )
    return low, high
