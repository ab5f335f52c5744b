"""Linear algebra of the array API."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numtape as tf

from ..core.values.dtypes import DType
from ..core.values.tensor import Tensor
from ..keras.ops import numpy as kn
from .define import Array, Axis, accumulation_dtype, axes_of, function, promoted, tensor_of
from .manipulation import broadcast_arrays

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_M = "tf.constant([[2.0, 0.0], [0.0, 4.0]])"


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """An orthogonal and a triangular factor."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """Left singular vectors, singular values, and the adjoint of the right singular vectors."""

    U: Tensor
    S: Tensor
    Vh: Tensor


@function(
    "xp.matmul(tf.ones((2, 3)), tf.ones((3,)))",
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([3., 3.], dtype=float32)>",
)
def matmul(x1: Array, x2: Array, /) -> Tensor:
    """Return products of matrices, or of a matrix and a vector."""
    x, y = promoted(x1, x2)
    if not x.ndim or not y.ndim:
        raise ValueError("matmul takes tensors of at least one axis: multiply by a number with *.")
    left = tf.expand_dims(x, 0) if x.ndim == 1 else x
    right = tf.expand_dims(y, 1) if y.ndim == 1 else y
    result = tf.matmul(left, right)
    if x.ndim == 1:
        result = tf.squeeze(result, -2)
    return tf.squeeze(result, -1) if y.ndim == 1 else result


@function("xp.matrix_transpose(tf.ones((2, 3))).shape", "TensorShape([3, 2])")
def matrix_transpose(x: Array, /) -> Tensor:
    """Swap the last two axes."""
    if x.ndim < 2:
        raise ValueError(f"A tensor of {x.ndim} axes is not a matrix.")
    return tf.linalg.matrix_transpose(x)


@function("xp.tensordot(tf.ones((2, 3)), tf.ones((3, 2)), axes=1).shape", "TensorShape([2, 2])")
def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[tuple[int, ...], tuple[int, ...]] = 2
) -> Tensor:
    """Return the sum of products over pairs of axes."""
    x, y = promoted(x1, x2)
    pairs: Any = axes if isinstance(axes, int) else [list(part) for part in axes]
    return tf.tensordot(x, y, pairs)


@function(
    "xp.vecdot(tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))",
    "<tf.Tensor: shape=(), dtype=float32, numpy=11.0>",
)
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Tensor:
    """Return scalar products along an axis; ``x1`` is conjugated."""
    x, y = promoted(x1, x2)
    if not -min(x.ndim, y.ndim) <= axis < 0 and not (x.ndim == y.ndim and 0 <= axis < x.ndim):
        raise ValueError(f"axis {axis} is out of bounds for shapes {x.shape} and {y.shape}.")
    if x.shape[axis] != y.shape[axis]:
        raise ValueError(f"Vectors of {x.shape[axis]} and {y.shape[axis]} elements.")
    x, y = broadcast_arrays(tf.math.conj(x) if x.dtype.is_complex else x, y)
    return tf.reduce_sum(x * y, axis)


@function(
    f"xp.linalg.cholesky({_M}).numpy()",
    "array([[1.4142135, 0.       ],\n       [0.       , 2.       ]], dtype=float32)",
)
def cholesky(x: Array, /, *, upper: bool = False) -> Tensor:
    """Return Cholesky factors, lower triangles by default."""
    factor = tf.linalg.cholesky(x)
    return tf.linalg.adjoint(factor) if upper else factor


@function(
    "xp.linalg.cross(tf.constant([1.0, 0.0, 0.0]), tf.constant([0.0, 1.0, 0.0])).numpy()",
    "array([0., 0., 1.], dtype=float32)",
)
def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Tensor:
    """Return cross products of vectors of three elements."""
    x, y = broadcast_arrays(*promoted(x1, x2))
    if x.shape[axis] != 3:
        raise ValueError(f"Cross products are for vectors of 3 elements, not {x.shape[axis]}.")
    x, y = (kn.moveaxis(z, axis, -1) for z in (x, y))
    a, b = (tf.roll(z, -1, -1) for z in (x, y))
    result: Tensor = kn.moveaxis(tf.roll(x * b - a * y, -1, -1), -1, axis)
    return result


@function(f"xp.linalg.det({_M})", "<tf.Tensor: shape=(), dtype=float32, numpy=8.0>")
def det(x: Array, /) -> Tensor:
    """Return determinants."""
    return tf.linalg.det(x)


@function(
    f"xp.linalg.diagonal({_M})",
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 4.], dtype=float32)>",
)
def diagonal(x: Array, /, *, offset: int = 0) -> Tensor:
    """Return the diagonals of matrices."""
    result: Tensor = kn.diagonal(x, offset, -2, -1)
    return result


@function(
    f"xp.linalg.eigh({_M}).eigenvalues",
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 4.], dtype=float32)>",
    "A named tuple of tensors.",
)
def eigh(x: Array, /) -> EighResult:
    """Return eigenvalues and eigenvectors of symmetric or Hermitian matrices."""
    values, vectors = tf.linalg.eigh(x)
    return EighResult(_real(values), vectors)


def _real(x: Tensor) -> Tensor:
    return tf.math.real(x) if x.dtype.is_complex else x


@function(
    f"xp.linalg.eigvalsh({_M})",
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 4.], dtype=float32)>",
)
def eigvalsh(x: Array, /) -> Tensor:
    """Return eigenvalues of symmetric or Hermitian matrices in ascending order."""
    return _real(tf.linalg.eigvalsh(x))


@function(
    f"xp.linalg.inv({_M}).numpy()", "array([[0.5 , 0.  ],\n       [0.  , 0.25]], dtype=float32)"
)
def inv(x: Array, /) -> Tensor:
    """Return inverse matrices."""
    return tf.linalg.inv(x)


@function(
    f"xp.linalg.matrix_norm({_M})",
    "<tf.Tensor: shape=(), dtype=float32, numpy=4.4721360206604>",
    raises="ValueError: If the order is unknown.",
)
def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Tensor:
    """Return norms of matrices: ``fro``, ``nuc``, 1, 2, infinity, or their negatives."""
    tensor = tensor_of(x)
    if ord in ("fro", None):
        result = vector_norm(tensor, axis=(-2, -1))
    elif ord in (1, -1, math.inf, -math.inf):
        number = float(ord)
        sums = tf.reduce_sum(tf.abs(tensor), -2 if abs(number) == 1 else -1)
        result = (tf.reduce_max if number > 0 else tf.reduce_min)(sums, -1)
    elif ord in (2, -2, "nuc"):
        values = svdvals(tensor)
        reduce = tf.reduce_sum if ord == "nuc" else tf.reduce_max if ord == 2 else tf.reduce_min
        result = reduce(values, -1)
    else:
        raise ValueError(f"The order {ord!r} of a matrix norm is unknown.")
    return tf.expand_dims(tf.expand_dims(result, -1), -1) if keepdims else result


@function(
    f"xp.linalg.matrix_power({_M}, 2).numpy()",
    "array([[ 4.,  0.],\n       [ 0., 16.]], dtype=float32)",
)
def matrix_power(x: Array, n: int, /) -> Tensor:
    """Return powers of square matrices; of their inverses for negative ``n``."""
    base = tensor_of(x) if n >= 0 else tf.linalg.inv(x)
    size, count = base.shape[-1], abs(n)
    result: Tensor | None = None
    while count:
        if count & 1:
            result = base if result is None else tf.matmul(result, base)
        count >>= 1
        base = tf.matmul(base, base) if count else base
    if result is None:
        return tf.eye(size, batch_shape=base.shape[:-2], dtype=base.dtype)
    return tf.identity(result)


@function(f"xp.linalg.matrix_rank({_M})", "<tf.Tensor: shape=(), dtype=int64, numpy=2>")
def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Tensor:
    """Return the number of singular values that are not small."""
    values = svdvals(x)
    if not values.shape[-1]:
        return tf.zeros(values.shape[:-1], tf.int64)
    largest = tf.reduce_max(values, -1, keepdims=True)
    limit = _tolerance(values, x, rtol) * largest
    return tf.reduce_sum(tf.cast(values > limit, tf.int64), -1)


def _tolerance(values: Tensor, x: Array, rtol: Any) -> Tensor:
    if rtol is None:
        precision = 2.0**-52 if values.dtype is tf.float64 else 2.0**-23
        return tf.constant(max(x.shape[-2:]) * precision, values.dtype)
    tolerance = tensor_of(rtol, values.dtype)
    return tf.expand_dims(tolerance, -1) if tolerance.ndim else tolerance


@function(
    "xp.linalg.outer(tf.constant([1.0, 2.0]), tf.constant([3.0])).numpy()",
    "array([[3.],\n       [6.]], dtype=float32)",
)
def outer(x1: Array, x2: Array, /) -> Tensor:
    """Return the products of all pairs of elements of two vectors."""
    x, y = promoted(x1, x2)
    return tf.expand_dims(x, 1) * tf.expand_dims(y, 0)


@function(
    f"xp.linalg.pinv({_M}).numpy()", "array([[0.5 , 0.  ],\n       [0.  , 0.25]], dtype=float32)"
)
def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Tensor:
    """Return pseudoinverses."""
    left, values, right = svd(x, full_matrices=False)
    if not values.shape[-1]:
        return tf.linalg.adjoint(tensor_of(x))
    limit = _tolerance(values, x, rtol) * tf.reduce_max(values, -1, keepdims=True)
    is_large = values > limit
    safe = tf.where(is_large, values, tf.ones_like(values))
    inverse = tf.where(is_large, 1.0 / safe, tf.zeros_like(values))
    scaled = tf.linalg.adjoint(right) * tf.expand_dims(tf.cast(inverse, right.dtype), -2)
    return tf.matmul(scaled, tf.linalg.adjoint(left))


@function(f"xp.linalg.qr({_M}).R.shape", "TensorShape([2, 2])", "A named tuple of tensors.")
def qr(x: Array, /, *, mode: str = "reduced") -> QRResult:
    """Return QR decompositions."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"The mode is reduced or complete, not {mode!r}.")
    return QRResult(*tf.linalg.qr(x, full_matrices=mode == "complete"))


@function(
    f"xp.linalg.slogdet({_M}).sign",
    "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>",
    "A named tuple of tensors.",
)
def slogdet(x: Array, /) -> SlogdetResult:
    """Return signs and logarithms of the absolute values of determinants."""
    sign, logarithm = tf.linalg.slogdet(x)
    return SlogdetResult(sign, _real(logarithm))


@function(
    f"xp.linalg.solve({_M}, tf.constant([2.0, 4.0]))",
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 1.], dtype=float32)>",
)
def solve(x1: Array, x2: Array, /) -> Tensor:
    """Solve systems of linear equations; ``x2`` has one axis, or is a stack of matrices."""
    a, b = promoted(x1, x2)
    right = tf.expand_dims(b, -1) if b.ndim == 1 else b
    batch = tf.broadcast_static_shape(a.shape[:-2], right.shape[:-2])
    result = tf.linalg.solve(
        tf.broadcast_to(a, [*batch, *a.shape[-2:]]),
        tf.broadcast_to(right, [*batch, *right.shape[-2:]]),
    )
    return tf.squeeze(result, -1) if b.ndim == 1 else result


@function(
    f"xp.linalg.svd({_M}).S",
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([4., 2.], dtype=float32)>",
    "A named tuple of tensors.",
)
def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """Return singular value decompositions ``U S Vh``."""
    values, left, right = tf.linalg.svd(x, full_matrices=full_matrices)
    return SVDResult(left, _real(values), tf.linalg.adjoint(right))


@function(
    f"xp.linalg.svdvals({_M})",
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([4., 2.], dtype=float32)>",
)
def svdvals(x: Array, /) -> Tensor:
    """Return singular values in descending order."""
    return _real(tf.linalg.svd(x, compute_uv=False))


@function(f"xp.linalg.trace({_M})", "<tf.Tensor: shape=(), dtype=float32, numpy=6.0>")
def trace(x: Array, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """Return the sums of diagonals."""
    tensor = tensor_of(x)
    diagonals = diagonal(tensor, offset=offset)
    return tf.reduce_sum(tensor_of(diagonals, accumulation_dtype(tensor, dtype)), -1)


@function(
    "xp.linalg.vector_norm(tf.constant([3.0, 4.0]))",
    "<tf.Tensor: shape=(), dtype=float32, numpy=5.0>",
)
def vector_norm(
    x: Array, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """Return norms of vectors, whose elements are along one or more axes."""
    tensor = tensor_of(x)
    axes = axes_of(axis, tensor.ndim)
    size = tf.abs(tensor)
    if ord == math.inf:
        return tf.reduce_max(size, axes, keepdims)
    if ord == -math.inf:
        return tf.reduce_min(size, axes, keepdims)
    if ord == 0:
        return tf.reduce_sum(tf.cast(tensor != 0, size.dtype), axes, keepdims)
    if ord == 1:
        return tf.reduce_sum(size, axes, keepdims)
    if ord == 2:
        return _real(tf.math.reduce_euclidean_norm(size, axes, keepdims))
    return tf.reduce_sum(size**ord, axes, keepdims) ** (1.0 / ord)
