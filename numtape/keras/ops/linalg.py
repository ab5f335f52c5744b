"""``tf.keras.ops.linalg``: matrices."""

from __future__ import annotations

import math
import typing as _typing
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numtape as tf

from ...compat.names import getter as _getter
from ...core.log.as_tensor import as_tensor
from ...core.values.tensor import Tensor
from ..symbolic import KerasTensor
from .core import jvp as jvp
from .define import dtype_name, floats, op, promoted, result_type, shape_of, to_dtype

if TYPE_CHECKING:
    from ...core.values.annotations import TensorLike

__all__ = [
    "cholesky",
    "cholesky_inverse",
    "det",
    "eig",
    "eigh",
    "inv",
    "jvp",
    "lstsq",
    "lu_factor",
    "matrix_rank",
    "norm",
    "pinv",
    "qr",
    "solve",
    "solve_triangular",
    "svd",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_SQUARE = "ValueError: If the matrices are not square."
_SHAPES = "ValueError: If the shapes do not match."


def _like_first(x: KerasTensor, *_: Any, **__: Any) -> KerasTensor:
    """Return the symbolic result of a function of square matrices that keeps their shape."""
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"Expected square matrices. Received input with shape {x.shape}")
    return KerasTensor(x.shape, result_type(x.dtype, "float"))


def _det_of(x: KerasTensor) -> KerasTensor:
    return KerasTensor(_like_first(x).shape[:-2], result_type(x.dtype, "float"))


def _eigh_of(x: KerasTensor) -> tuple[KerasTensor, KerasTensor]:
    vectors = _like_first(x)
    return KerasTensor(x.shape[:-1], vectors.dtype), vectors


def _like_second(a: Any, b: Any, **_: Any) -> KerasTensor:
    """Return the symbolic solution of linear systems."""
    dtypes = [x.dtype if isinstance(x, KerasTensor) else dtype_name(x) for x in (a, b)]
    first, second = shape_of(a), shape_of(b)
    is_vector = len(second) == len(first) - 1
    size = second[-1] if is_vector and second else second[-2] if len(second) > 1 else -1
    if len(first) < 2 or first[-1] != first[-2] or size not in (None, first[-1]):
        raise ValueError(f"Incompatible shapes between `a` {first} and `b` {second}")
    return KerasTensor(second, result_type(*dtypes, "float"))


def _matrices(x: TensorLike, square: bool = True) -> Tensor:
    tensor = floats(x)
    if tensor.ndim < 2:
        raise ValueError(f"Input should have rank >= 2. Received: input.shape = {tensor.shape}")
    if square and tensor.shape[-1] != tensor.shape[-2]:
        raise ValueError(
            f"Expected a square matrix. Received non-square input with shape {tensor.shape}"
        )
    return tensor


@op(raises=_SQUARE, result=_like_first)
def cholesky(x: TensorLike, upper: bool = False) -> Any:
    """Return the Cholesky factor of positive definite matrices.

    >>> tf.keras.ops.cholesky([[4.0, 2.0], [2.0, 2.0]]).numpy()
    array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    factor = tf.linalg.cholesky(_matrices(x))
    return tf.linalg.adjoint(factor) if upper else factor


@op(raises=_SQUARE, result=_like_first)
def cholesky_inverse(x: TensorLike, upper: bool = False) -> Any:
    """Return the inverse of the matrices with these Cholesky factors.

    >>> tf.keras.ops.cholesky_inverse([[2.0, 0.0], [1.0, 1.0]]).numpy()
    array([[ 0.5, -0.5],
           [-0.5,  1. ]], dtype=float32)
    """
    factor = _matrices(x)
    identity = tf.eye(factor.shape[-1], batch_shape=factor.shape[:-2], dtype=factor.dtype)
    inverse = tf.linalg.triangular_solve(factor, identity, lower=not upper)
    if upper:
        return tf.matmul(inverse, inverse, adjoint_b=True)
    return tf.matmul(inverse, inverse, adjoint_a=True)


@op("A tensor without the last two axes.", _SQUARE, result=_det_of)
def det(x: TensorLike) -> Any:
    """Return determinants.

    >>> tf.keras.ops.det([[2.0, 0.0], [0.0, 3.0]]).numpy()
    np.float32(6.0)
    """
    return tf.linalg.det(_matrices(x))


@op("A tuple: the complex eigenvalues and eigenvectors.", _SQUARE)
def eig(x: TensorLike) -> Any:
    """Return eigenvalues and eigenvectors.

    >>> tf.keras.ops.eig([[2.0, 0.0], [0.0, 3.0]])[0].numpy()
    array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    return tuple(tf.eig(_matrices(x)))


@op(
    "A tuple: the eigenvalues in ascending order, and the eigenvectors.",
    _SQUARE,
    result=_eigh_of,
)
def eigh(x: TensorLike) -> Any:
    """Return eigenvalues and eigenvectors of symmetric matrices.

    >>> tf.keras.ops.eigh([[3.0, 0.0], [0.0, 2.0]])[0].numpy()
    array([2., 3.], dtype=float32)
    """
    return tuple(tf.linalg.eigh(_matrices(x)))


@op(raises=_SQUARE, result=_like_first)
def inv(x: TensorLike) -> Any:
    """Return inverse matrices.

    >>> tf.keras.ops.inv([[2.0, 0.0], [0.0, 4.0]]).numpy()
    array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return tf.linalg.inv(_matrices(x))


@op(
    "A tuple: both factors in one matrix, and the row that each step exchanged (int32).",
    "ValueError: If ``x`` has less than two axes.",
)
def lu_factor(x: TensorLike) -> Any:
    """Factorize square matrices into a lower and an upper triangular matrix.

    >>> tf.keras.ops.lu_factor([[1.0, 2.0], [4.0, 4.0]])[0].numpy()
    array([[4.  , 4.  ],
           [0.25, 1.  ]], dtype=float32)
    """
    tensor = _matrices(x)
    factors, permutation = tf.linalg.lu(tensor)
    return factors, _pivots(permutation)


def _pivots(permutation: Tensor) -> Tensor:
    """Convert permutations to LAPACK's row exchanges."""

    def convert(rows: Any) -> Any:
        import numpy as np

        pivots = np.empty_like(rows, "int32")
        for order, result in zip(
            rows.reshape(-1, rows.shape[-1]), pivots.reshape(-1, rows.shape[-1]), strict=True
        ):
            current = list(range(len(order)))
            for k, row in enumerate(order):
                place = current.index(row)
                result[k] = place
                current[k], current[place] = current[place], current[k]
        return pivots

    pivots: Tensor = tf.ensure_shape(
        tf.numpy_function(convert, [permutation], tf.int32), permutation.shape
    )
    return pivots


@op(raises="ValueError: If the order is unknown.")
def norm(
    x: TensorLike,
    ord: int | float | str | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Any:
    """Return the norm of vectors, or of matrices for two axes.

    >>> tf.keras.ops.norm([3.0, 4.0]).numpy()
    np.float32(5.0)
    """
    tensor = floats(x)
    rank = tensor.ndim
    if axis is None:
        if ord is None:
            flat = tf.reshape(tensor, [-1])
            result = tf.norm(flat)
            return tf.reshape(result, [1] * rank) if keepdims else result
        axis = tuple(range(rank))
    axes = [axis] if isinstance(axis, int) else list(axis)
    if not all(-rank <= a < rank for a in axes) or len({a % rank for a in axes}) < len(axes):
        raise ValueError(f"Invalid axis values: axis={axis}, x.shape={tensor.shape}.")
    axes = [a % rank for a in axes]
    if len(axes) == 1:
        return _vector_norm(tensor, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix_norm(tensor, ord, axes, keepdims)
    raise ValueError(f"Invalid axis values: axis={axis}, x.shape={tensor.shape}.")


def _vector_norm(x: Tensor, ord: Any, axis: int, keepdims: bool) -> Tensor:
    if ord is None or ord == 2:
        return tf.norm(x, axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
    size = tf.abs(x)
    if ord == math.inf:
        return tf.reduce_max(size, axis, keepdims)
    if ord == -math.inf:
        return tf.reduce_min(size, axis, keepdims)
    if ord == 0:
        return tf.reduce_sum(tf.cast(x != 0, size.dtype), axis, keepdims)
    if ord == 1:
        return tf.reduce_sum(size, axis, keepdims)
    power = to_dtype(ord, size.dtype)
    return tf.pow(tf.reduce_sum(tf.pow(size, power), axis, keepdims), 1 / power)


def _matrix_norm(x: Tensor, ord: Any, axes: list[int], keepdims: bool) -> Tensor:
    rows, columns = axes
    size = tf.abs(x)
    if ord is None or ord == "fro":
        return tf.sqrt(tf.reduce_sum(tf.square(size), axes, keepdims))
    if ord in (1, -1, math.inf, -math.inf):
        first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = tf.reduce_sum(size, first, True)
        result = (tf.reduce_max if ord > 0 else tf.reduce_min)(sums, second, True)
    elif ord in (2, -2, "nuc"):
        order = [a for a in range(x.ndim) if a not in axes] + axes
        values = tf.linalg.svd(tf.transpose(x, order), compute_uv=False)
        reduce = {2: tf.reduce_max, -2: tf.reduce_min, "nuc": tf.reduce_sum}[ord]
        result = reduce(values, -1)
        for axis in sorted(axes):
            result = tf.expand_dims(result, axis)
    else:
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord}")
    return result if keepdims else tf.squeeze(result, axes)


@op("A tuple: Q and R.", "ValueError: If the mode is unknown.")
def qr(x: TensorLike, mode: str = "reduced") -> Any:
    """Factorize matrices into orthogonal and triangular ones: ``reduced`` or ``complete``.

    >>> q, r = tf.keras.ops.qr([[3.0, 1.0], [4.0, 2.0]])
    >>> tf.matmul(q, r).numpy().round(4)
    array([[3., 1.],
           [4., 2.]], dtype=float32)
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(
            f"`mode` argument value not supported. Expected one of {{'reduced', 'complete'}}. "
            f"Received: mode={mode}"
        )
    return tuple(tf.linalg.qr(_matrices(x, square=False), full_matrices=mode == "complete"))


def _right_side(a: TensorLike, b: TensorLike) -> tuple[Tensor, Tensor, bool]:
    """Return matrices, right sides as matrices, and whether they were vectors."""
    first, second = promoted(a, b, floating=True)
    _matrices(first)
    is_vector = second.ndim == first.ndim - 1
    second = tf.expand_dims(second, -1) if is_vector else second
    if second.ndim != first.ndim or second.shape[-2] != first.shape[-1]:
        raise ValueError(
            f"Incompatible shapes between `a` {first.shape} and `b` {as_tensor(b).shape}"
        )
    return first, second, is_vector


@op(raises=_SHAPES, result=_like_second)
def solve(a: TensorLike, b: TensorLike) -> Any:
    """Solve linear systems ``a x = b``.

    >>> tf.keras.ops.solve([[2.0, 0.0], [0.0, 4.0]], [1.0, 2.0]).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    matrix, right, is_vector = _right_side(a, b)
    result = tf.linalg.solve(matrix, right)
    return tf.squeeze(result, -1) if is_vector else result


@op(raises=_SHAPES, result=_like_second)
def solve_triangular(a: TensorLike, b: TensorLike, lower: bool = False) -> Any:
    """Solve linear systems with triangular matrices.

    >>> tf.keras.ops.solve_triangular([[2.0, 1.0], [0.0, 4.0]], [3.0, 4.0]).numpy()
    array([1., 1.], dtype=float32)
    """
    matrix, right, is_vector = _right_side(a, b)
    result = tf.linalg.triangular_solve(matrix, right, lower=lower)
    return tf.squeeze(result, -1) if is_vector else result


@op("A tuple (U, S, V transposed), or only S.", "ValueError: If ``x`` has less than two axes.")
def svd(x: TensorLike, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Return singular values, and the matrices of singular vectors.

    >>> tf.keras.ops.svd([[3.0, 0.0], [0.0, 4.0]])[1].numpy()
    array([4., 3.], dtype=float32)
    """
    tensor = _matrices(x, square=False)
    if not compute_uv:
        return tf.linalg.svd(tensor, compute_uv=False)
    values, left, right = tf.linalg.svd(tensor, full_matrices=full_matrices)
    return left, values, tf.linalg.adjoint(right)


@op(raises=_SHAPES)
def lstsq(a: TensorLike, b: TensorLike, rcond: float | None = None) -> Any:
    """Return the least-squares solution of ``a x = b``, of minimal norm.

    >>> tf.keras.ops.lstsq([[1.0], [1.0]], [1.0, 3.0]).numpy()
    array([1.9999999], dtype=float32)
    """
    matrix, right = promoted(a, b, floating=True)
    if matrix.ndim != 2 or matrix.shape[0] != right.shape[0]:
        raise ValueError(f"Leading dimensions of {matrix.shape} and {right.shape} must match.")
    is_vector = right.ndim == 1
    inverse = _pinv(matrix, rcond)
    result = tf.matmul(inverse, tf.expand_dims(right, 1) if is_vector else right)
    return tf.squeeze(result, 1) if is_vector else result


def _pinv(matrix: Tensor, rcond: float | None) -> Tensor:
    if rcond is None:
        rcond = 10 * max(matrix.shape[-2:]) * _machine_epsilon(matrix)
    return tf.linalg.pinv(matrix, rcond=to_dtype(rcond, matrix.dtype))


def _machine_epsilon(x: Tensor) -> float:
    return {"float64": 2.0**-52, "complex128": 2.0**-52}.get(x.dtype.name, 2.0**-23)


@op(raises="ValueError: If ``x`` has less than two axes.")
def pinv(x: TensorLike, rcond: float | None = None) -> Any:
    """Return pseudoinverses.

    >>> tf.keras.ops.pinv([[2.0, 0.0], [0.0, 0.0]]).numpy()
    array([[0.5, 0. ],
           [0. , 0. ]], dtype=float32)
    """
    return _pinv(_matrices(x, square=False), rcond)


@op("A tensor of int32.", "ValueError: If ``x`` has less than two axes.")
def matrix_rank(x: TensorLike, tol: float | None = None) -> Any:
    """Return the rank of matrices.

    >>> tf.keras.ops.matrix_rank([[2.0, 0.0], [0.0, 0.0]]).numpy()
    np.int32(1)
    """
    return tf.cast(tf.linalg.matrix_rank(_matrices(x, square=False), tol), tf.int32)
