"""Triangles, bands and diagonals of matrices, and matrix transposes."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FailedPreconditionError, InvalidArgumentError
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Op, defop
from ..log.record import record, require, spec_of
from ..values.spec import Spec
from ..values.tensor import Tensor
from . import elementwise, indexing, joining, movement, reduction, slicing
from .complex import conj
from .movement import reshape, reshape_if_needed, to_ints, transpose_if_needed
from .slicing import slice_into_zeros

if TYPE_CHECKING:
    from ..values.annotations import IntLike, IntsLike, TensorLike

Array = np.ndarray[Any, Any]


def swap_last_axes(x: Tensor) -> Tensor:
    """Transpose matrices."""
    return transpose_if_needed(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def adjoint_of(x: Tensor) -> Tensor:
    """Return the adjoints of matrices in derivative rules: transposes, conjugated if complex."""
    return swap_last_axes(conj(x) if x.dtype.is_complex else x)


# Triangles and bands.


def check_square(op: Op | str, x: Spec) -> None:
    """Raise an error unless the matrices are square."""
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
    complex_vjp="analytic",
)


def triangle(x: Tensor, lower: bool) -> Tensor:
    """Return the lower or upper triangle, including the diagonal."""
    return record(BAND, (x,), lower=-1 if lower else 0, upper=0 if lower else -1)


def _from_lower(out: Array, x: Array) -> None:
    _with_real_diagonal(out, np.tril(x), np.tril(x, -1))


def _lower_sums(out: Array, x: Array) -> None:
    _with_real_diagonal(out, np.tril(x), np.triu(x, 1))


def _with_real_diagonal(out: Array, x: Array, strict: Array) -> None:
    """Write the sum of a triangle and the adjoint of a strict triangle; the diagonal is real."""
    if out.dtype.kind != "c":
        np.add(x, strict.swapaxes(-1, -2), out=out)
        return
    np.add(x, strict.swapaxes(-1, -2).conj(), out=out)
    at = np.arange(out.shape[-1])
    out[..., at, at] = out[..., at, at].real


def _square_spec(op: Op, x: Spec) -> Spec:
    check_square(op, x)
    return x


# The symmetric (Hermitian) matrix with a given lower triangle, and its adjoint op.
FROM_LOWER: Op = defop(
    "SymmetricFromLower",
    ARRAY,
    1,
    _square_spec,
    compute=_from_lower,
    complex_vjp="explicit",
    on_host=True,
    vjp=lambda g, y, x: (record(LOWER_SUMS, (g,)),),
)
LOWER_SUMS: Op = defop(
    "LowerOfSymmetric",
    ARRAY,
    1,
    _square_spec,
    compute=_lower_sums,
    complex_vjp="explicit",
    on_host=True,
    vjp=lambda g, y, x: (record(FROM_LOWER, (g,)),),
)


def band_part(
    input: TensorLike, num_lower: IntLike, num_upper: IntLike, name: str | None = None
) -> Tensor:
    """Keep the elements of matrices in a band around the diagonal; set the others to 0.

    Args:
      input: A tensor of any dtype, of shape (..., m, n).
      num_lower: The number of subdiagonals to keep; -1 for all.
      num_upper: The number of superdiagonals to keep; -1 for all.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If the rank is below 2, or a number exceeds the size of the matrices.

    Example:
      >>> tf.linalg.band_part([[1, 2, 3], [4, 5, 6], [7, 8, 9]], -1, 0).numpy()
      array([[1, 0, 0],
             [4, 5, 0],
             [7, 8, 9]], dtype=int32)
    """
    x = as_tensor(input)
    lower, upper = (to_integer(value, "MatrixBandPart") for value in (num_lower, num_upper))
    _band_spec(BAND, x._spec, lower, upper)
    for what, number, size in (("lower", lower, x.shape[-2]), ("upper", upper, x.shape[-1])):
        require(
            number <= size,
            BAND,
            f"num_{what} must be negative or less or equal to number of "
            f"{'rows' if what == 'lower' else 'columns'} ({size}) got: {number}",
        )
    return record(BAND, (x,), lower=max(lower, -1), upper=max(upper, -1))


def to_integer(value: IntLike, op: str) -> int:
    """Convert an argument to an int."""
    result = to_ints(value)
    if not isinstance(result, int):
        raise InvalidArgumentError(f"Expected an integer, got {value!r} [Op:{op}]")
    return result


def matrix_transpose(
    a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """Transpose matrices: swap the last two axes.

    Args:
      a: A tensor of any dtype, of shape (..., m, n).
      name: Not used.
      conjugate: Whether to conjugate complex elements as well.

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
    return adjoint_of(x) if conjugate else swap_last_axes(x)


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Return the adjoints of matrices: transposes, conjugated if complex.

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


# Diagonals: gathers whose indices are computed once for each layout.


@lru_cache(maxsize=256)
def _band_layout(rows: int, columns: int, low: int, high: int, align: str) -> tuple[Array, Array]:
    """Return the positions in the matrix of diagonals in TensorFlow's packed form.

    Returns:
      The flat position in the matrix of each element of the packed diagonals, and whether it is not
      padding. A single diagonal has one row.
    """
    longest = min(rows + min(high, 0), columns - max(low, 0))
    place = np.zeros((high - low + 1, longest), np.int64)
    is_inside = np.zeros((high - low + 1, longest), bool)
    above, below = (part == "LEFT" for part in align.split("_"))
    for j, k in enumerate(range(high, low - 1, -1)):
        i0, j0 = max(-k, 0), max(k, 0)
        count = max(0, min(rows - i0, columns - j0))
        left = above if k >= 0 else below
        # RIGHT_LEFT: superdiagonals end at the right, subdiagonals begin at the left.
        start = 0 if left else longest - count
        at = np.arange(count)
        place[j, start : start + count] = (i0 + at) * columns + j0 + at
        is_inside[j, start : start + count] = True
    return place, is_inside


def _parse_band(k: IntsLike, op: str) -> tuple[int, int]:
    value = to_ints(k)
    ends = (value,) if isinstance(value, int) else value
    require(
        len(ends) in (1, 2) and all(isinstance(end, int) for end in ends),
        op,
        f"diag_index must be one int or two, received {k!r}",
    )
    low, high = ends[0], ends[-1]
    require(
        low <= high,
        op,
        f"lower_diag_index must not be larger than upper_diag_index: {low} > {high}",
    )
    return low, high


def _check_align(align: str, op: str) -> str:
    if align not in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
        raise InvalidArgumentError(
            f"Value for attr 'align' of {align!r} is not in the list of allowed values: "
            f'"LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT" [Op:{op}]'
        )
    return str(align)


def _take(x: Tensor, places: Array) -> Tensor:
    """Gather along the last axis."""
    return record(indexing.GATHER, (x, as_tensor(places)), axis=x.ndim - 1)


def _check_band(op: str, low: int, high: int, rows: int, columns: int) -> None:
    for what, k in (("lower", low), ("upper", high)):
        require(
            -rows < k < columns or (k == 0),
            op,
            f"{what}_diag_index is out of bound: {k}. It must be between {-rows} and {columns}",
        )


def diag_part(
    input: TensorLike,
    name: str = "diag_part",
    k: IntsLike = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """The diagonals of matrices.

    Args:
      input: A tensor of any dtype, of shape (..., m, n).
      name: Not used.
      k: The diagonal: 0 for the main diagonal, positive numbers for superdiagonals. Two numbers are
        the lowest and the highest of several diagonals.
      padding_value: The padding of shorter diagonals.
      align: The alignment of shorter superdiagonals and subdiagonals in their rows: "RIGHT_LEFT",
        "LEFT_RIGHT", "LEFT_LEFT" or "RIGHT_RIGHT".

    Returns:
      A tensor of shape (..., length), or (..., number of diagonals, length), the highest first.

    Raises:
      InvalidArgumentError: If the rank is below 2, or there is no such diagonal.

    Example:
      >>> tf.linalg.diag_part([[1, 2], [3, 4]]).numpy()
      array([1, 4], dtype=int32)
      >>> tf.linalg.diag_part([[1, 2], [3, 4]], k=(-1, 0)).numpy()
      array([[1, 4],
             [3, 0]], dtype=int32)
    """
    op = "MatrixDiagPartV3"
    x = as_tensor(input)
    require(x.ndim >= 2, op, f"input must be at least 2-dim, received shape: {list(x.shape)}")
    low, high = _parse_band(k, op)
    align = _check_align(align, op)
    *batch_shape, rows, columns = x.shape
    _check_band(op, low, high, rows, columns)
    if low == high == 0:
        return diagonal(x)
    place, is_inside = _band_layout(rows, columns, low, high, align)
    result = _take(reshape(x, (*batch_shape, rows * columns)), place)
    if not is_inside.all():
        filler = as_tensor(padding_value, x._spec, op)
        result = elementwise.select(is_inside, result, elementwise.stop_gradient(filler))
    return movement.squeeze(result, -2) if low == high else result


def diagonal(x: Tensor) -> Tensor:
    """Return the main diagonals of matrices."""
    *batch_shape, rows, columns = x.shape
    n = min(rows, columns)
    flat = reshape(x, (*batch_shape, rows * columns))
    end = (n - 1) * (columns + 1) + 1 if n else 0
    return slicing.strided_slice(
        flat, (*((0, dim, 1) for dim in batch_shape), (0, end, columns + 1))
    )


def diagonal_matrix(x: Tensor) -> Tensor:
    """Return square matrices with these main diagonals and zeros elsewhere."""
    *batch_shape, n = x.shape
    cut = (*((0, dim, 1) for dim in batch_shape), (0, (n - 1) * (n + 1) + 1 if n else 0, n + 1))
    return reshape(slice_into_zeros(x, (*batch_shape, n * n), cut), (*batch_shape, n, n))


def diag(
    diagonal: TensorLike,
    name: str = "diag",
    k: IntsLike = 0,
    num_rows: IntLike = -1,
    num_cols: IntLike = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with given diagonals.

    Args:
      diagonal: A tensor of any dtype: (..., length), or (..., number of diagonals, length).
      name: Not used.
      k: The diagonal, or the lowest and the highest of several; see `diag_part`.
      num_rows: The number of rows; -1 for the smallest that fits.
      num_cols: The number of columns; -1 for the smallest that fits.
      padding_value: The value of all other elements. No gradient flows to it.
      align: The alignment of shorter diagonals; see `diag_part`.

    Returns:
      A tensor of shape (..., rows, columns) and the same dtype.

    Raises:
      InvalidArgumentError: If the shapes do not fit.

    Example:
      >>> tf.linalg.diag([1, 2]).numpy()
      array([[1, 0],
             [0, 2]], dtype=int32)
      >>> tf.linalg.diag([1], k=1, padding_value=7).numpy()
      array([[7, 1],
             [7, 7]], dtype=int32)
    """
    op = "MatrixDiagV3"
    x = as_tensor(diagonal)
    require(x.ndim >= 1, op, f"diagonal must be at least 1-dim, received shape: {list(x.shape)}")
    low, high = _parse_band(k, op)
    align = _check_align(align, op)
    number = high - low + 1
    if number > 1:
        require(
            x.ndim >= 2 and x.shape[-2] == number,
            op,
            f"The number of diagonals provided in the input does not match the lower_diag_index "
            f"and upper_diag_index range: {list(x.shape)}, {low} to {high}",
        )
    batch_shape = x.shape[: -1 if number == 1 else -2]
    longest = x.shape[-1]
    rows, columns = to_integer(num_rows, op), to_integer(num_cols, op)
    least = longest - min(high, 0), longest + max(low, 0)
    require(rows == -1 or rows >= least[0], op, "The number of rows is too small.")
    require(columns == -1 or columns >= least[1], op, "The number of columns is too small.")
    if rows == -1 and columns == -1:
        rows = columns = max(least)
    rows, columns = (least[0] if rows == -1 else rows), (least[1] if columns == -1 else columns)
    require(
        rows == least[0] or columns == least[1],
        op,
        "The number of rows or columns is not consistent with the specified d_lower, d_upper, and "
        "diagonal.",
    )
    if number == 1 and not high and rows == columns and _is_zero(padding_value):
        return diagonal_matrix(x)
    place, is_inside = _band_layout(rows, columns, low, high, align)
    source = np.full(rows * columns, place.size, np.int64)
    source[place[is_inside]] = np.flatnonzero(is_inside)
    filler = elementwise.stop_gradient(as_tensor(padding_value, x._spec, op))
    require(filler.ndim == 0, op, "padding_value must be a scalar")
    flat = joining.concat(
        [reshape(x, (*batch_shape, place.size)), movement.broadcast_to(filler, (*batch_shape, 1))],
        -1,
    )
    return reshape(_take(flat, source), (*batch_shape, rows, columns))


def _is_zero(value: object) -> bool:
    return isinstance(value, int | float) and value == 0 and math.copysign(1, value) > 0


def set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str = "set_diag",
    k: IntsLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Replace diagonals of matrices.

    Args:
      input: A tensor of any dtype, of shape (..., m, n).
      diagonal: The new diagonals, of the same dtype, in the shape that `diag_part` returns.
      name: Not used.
      k: The diagonal, or the lowest and the highest of several; see `diag_part`.
      align: The alignment of shorter diagonals; see `diag_part`.

    Returns:
      A tensor of the shape and dtype of ``input``.

    Raises:
      InvalidArgumentError: If the shapes do not fit.

    Example:
      >>> tf.linalg.set_diag([[1, 2], [3, 4]], [8, 9]).numpy()
      array([[8, 2],
             [3, 9]], dtype=int32)
    """
    op = "MatrixSetDiagV3"
    x = as_tensor(input, spec_of(diagonal), op)
    values = as_tensor(diagonal, x._spec, op)
    require(x.ndim >= 2, op, f"input must be at least 2-dim, received shape: {list(x.shape)}")
    require(values.dtype is x.dtype, op, f"dtypes differ: {x.dtype.name}, {values.dtype.name}")
    low, high = _parse_band(k, op)
    align = _check_align(align, op)
    *batch_shape, rows, columns = x.shape
    _check_band(op, low, high, rows, columns)
    place, is_inside = _band_layout(rows, columns, low, high, align)
    shape = (*batch_shape, *(place.shape if low != high else place.shape[1:]))
    require(
        tuple(values.shape) == shape,
        op,
        f"Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] "
        f"is not equal to the longests diagonal in range [{low}:{high}]. Expected {list(shape)}, "
        f"got {list(values.shape)}",
    )
    source = np.arange(rows * columns, dtype=np.int64)
    source[place[is_inside]] = rows * columns + np.flatnonzero(is_inside)
    flat = joining.concat(
        [reshape(x, (*batch_shape, rows * columns)), reshape(values, (*batch_shape, place.size))],
        -1,
    )
    return reshape(_take(flat, source), tuple(x.shape))


def tensor_diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor with a given diagonal: ``y[i, j, i, j] = x[i, j]``.

    Args:
      diagonal: A tensor of any dtype, of at least one axis.
      name: Not used.

    Returns:
      A tensor of the same dtype and of shape (*diagonal.shape, *diagonal.shape).

    Raises:
      InvalidArgumentError: If it is a scalar.

    Example:
      >>> tf.linalg.tensor_diag([1, 2]).numpy()
      array([[1, 0],
             [0, 2]], dtype=int32)
    """
    x = as_tensor(diagonal)
    require(x.ndim >= 1, "Diag", "Input must be at least rank 1, got 0")
    return reshape(diagonal_matrix(reshape(x, (x._spec.size,))), (*x.shape, *x.shape))


def tensor_diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the diagonal of a tensor: ``y[i, j] = x[i, j, i, j]``.

    Args:
      input: A tensor of any dtype, of shape (d1, ..., dk, d1, ..., dk).
      name: Not used.

    Returns:
      A tensor of shape (d1, ..., dk) and the same dtype.

    Raises:
      InvalidArgumentError: If the shape does not have this form.

    Example:
      >>> tf.linalg.tensor_diag_part([[1, 2], [3, 4]]).numpy()
      array([1, 4], dtype=int32)
    """
    x = as_tensor(input)
    require(x.ndim > 0 and x.ndim % 2 == 0, "DiagPart", f"The rank must be even, got {x.ndim}")
    half = tuple(x.shape[: x.ndim // 2])
    for at, size in enumerate(half):
        require(
            size == x.shape[at + len(half)],
            "DiagPart",
            f"Invalid shape {list(x.shape)}: dimensions {at} and {at + len(half)} do not match.",
        )
    n = math.prod(half)
    return reshape_if_needed(diagonal(reshape(x, (n, n))), half)


def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """The sums of the main diagonals of matrices.

    Args:
      x: A tensor of numbers, of shape (..., m, n).
      name: Not used.

    Returns:
      A tensor of shape (...) and the same dtype.

    Raises:
      InvalidArgumentError: If the rank is below 2.

    Example:
      >>> tf.linalg.trace([[1, 2], [3, 4]]).numpy()
      np.int32(5)
    """
    return reduction.reduce_sum(diag_part(x), -1)


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """The cross product of vectors, along the last axis.

    Args:
      a: A tensor of numbers, of shape (..., 3).
      b: Another of the same shape and dtype.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If shapes or dtypes differ.
      FailedPreconditionError: If the vectors do not have three elements.

    Example:
      >>> tf.linalg.cross([1, 0, 0], [0, 1, 0]).numpy()
      array([0, 0, 1], dtype=int32)
    """
    x = as_tensor(a, spec_of(b), "Cross")
    y = as_tensor(b, x._spec, "Cross")
    require(x.dtype is y.dtype, "Cross", f"dtypes differ: {x.dtype.name}, {y.dtype.name}")
    require(
        x.shape == y.shape,
        "Cross",
        f"Both inputs must be of same shape: {list(x.shape)} vs. {list(y.shape)}",
    )
    if not x.ndim or x.shape[-1] != 3:
        raise FailedPreconditionError(
            "Cross-products are only defined for 3-element vectors. [Op:Cross]"
        )
    on, back = np.array([1, 2, 0]), np.array([2, 0, 1])
    return _take(x, on) * _take(y, back) - _take(x, back) * _take(y, on)
