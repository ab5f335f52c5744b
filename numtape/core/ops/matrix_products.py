"""Products of matrices and vectors: matmul, matvec, tensordot."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import DtypeError
from ..cpu import blas
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import binary, require, spec_of
from ..log.tensors import as_tensor
from ..values.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    float16,
    float32,
    int8,
    int32,
    mismatch_error,
    uint8,
)
from ..values.spec import Spec, intern, to_axis
from ..values.tensor import Tensor
from . import movement
from .complex import conj
from .elementwise import cast

Array = np.ndarray[Any, Any]

_INT32 = 2**31 - 1  # BLAS counts with these
# About how many rows and columns of a product one call of BLAS computes: rows, if columns are few.
TILE, NARROW, WIDE = 256, 128, 512
TINY = 8  # rows and columns of matrices that are not worth calls of BLAS; as in kernels/cpu/small_matmul.py


def _matmul_spec(op: Op, a: Spec, b: Spec, ta: bool, tb: bool) -> Spec:
    if a.dtype is not b.dtype:
        raise mismatch_error(op.name, 1, a.dtype, b.dtype)
    if a.dtype.is_bool:
        raise DtypeError(f"Expected numbers, got bool tensors: `cast` them first [Op:{op.name}]")
    require(
        a.rank >= 2 and b.rank >= 2,
        op,
        f"In[0] and In[1] must have rank 2 or more, got shapes {a.shape} and {b.shape}",
    )
    m, k = a.shape[-2:][::-1] if ta else a.shape[-2:]
    inner, n = b.shape[-2:][::-1] if tb else b.shape[-2:]
    require(
        k == inner,
        op,
        f"Matrix size-incompatible: In[0]: {a.shape.as_list()}, In[1]: {b.shape.as_list()}, "
        f"transpose_a={ta}, transpose_b={tb}",
    )
    try:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        require(
            False,
            op,
            f"In[0] and In[1] must have compatible batch dimensions: {a.shape.as_list()}"
            f" vs. {b.shape.as_list()}",
        )
    return intern((*lead, m, n), a.dtype)


def _matmul(out: Array, a: Array, b: Array, ta: bool, tb: bool) -> None:
    # BLAS reads a transposed matrix where it lies.
    np.matmul(a.swapaxes(-1, -2) if ta else a, b.swapaxes(-1, -2) if tb else b, out=out)


def _matmul_vjp(
    g: Tensor, y: Tensor, a: Tensor, b: Tensor, ta: bool, tb: bool
) -> tuple[Tensor, Tensor]:
    if not ta:
        ga = _product(g, b, False, not tb)
    else:
        ga = _product(b, g, tb, True)
    if not tb:
        gb = _product(a, g, not ta, False)
    else:
        gb = _product(g, a, True, ta)
    return ga, gb


def _matmul_native(out: Spec, a: Spec, b: Spec, ta: bool, tb: bool) -> Native | None:
    """BLAS on matrices as they lie; all batches of both, or one operand the same for all."""
    if not out.is_float or not a.size or max(*a.shape, *b.shape) > _INT32:
        return None
    function = blas.address("sgemm" if out.dtype is float32 else "dgemm")
    lead = out.shape[:-2]
    steps = []
    for x in (a, b, out):
        if x.size != math.prod(x.shape[-2:]) and x.shape[:-2] != lead:
            return None
        same = math.prod(x.shape[:-2]) == 1
        steps.append(0 if same else math.prod(x.shape[-2:]) * x.dtype.size)
    if not function:
        return None
    m, n = out.shape[-2:]
    k = a.shape[-2 if ta else -1]
    one = int(np.ones(1, out.dtype.numpy_dtype).view(f"int{8 * out.dtype.size}")[0])
    batches = math.prod(lead)
    turned = tb and not ta and _to_be_turned(m, n, k, out.dtype)
    letters = ord("T" if tb else "N"), ord("T" if ta else "N")
    scalars = (*letters, n, m, k, one, b.shape[-1], a.shape[-1], 0, n)
    if batches > 1 and max(m, n, k) <= TINY:
        parameters = (0, *scalars, *steps, batches)  # as below: a GPU reads them, too
        work = batches * (4 + m * k // 2)
        return Native("tiny.product", (out.dtype.name,), parameters, batches, work)
    kernel, dtypes = ("products.transposed", (out.dtype.name,)) if turned else ("gemm", ())
    threads = blas.threads()
    # Where BLAS cannot be told to take one thread, it takes its own for a product: one unit.
    alone = all(threads) and not turned
    down, across = _tiles(m, n) if alone else (m, n)
    units = batches * -(-m // down) * -(-n // across) if alone else 1
    parameters = (function, *scalars, *steps, batches, out.dtype.size, down, across, *threads)
    part = down * n if across == n and (batches == 1 or m % down == 0) else 0
    return Native(kernel, dtypes, parameters, units, m * n * k * batches // 64, part=part)


def _tiles(m: int, n: int) -> tuple[int, int]:
    """Rows and columns of a tile.

    Whole rows, where they are not long and there are many: BLAS packs what it reads of a matrix for
    each tile, and these are few. Who reads the product can go on with a tile's elements at once.
    """
    if NARROW < n <= WIDE and m >= max(n, TILE):
        return _part(m, max(4, 2 * round(m / (2 * TILE)))), n  # four threads, or two
    return _about(m, NARROW if n <= NARROW else TILE), _about(n, NARROW if m <= NARROW else TILE)


def _about(size: int, length: int) -> int:
    return _part(size, (size + length // 2) // length)


def _part(size: int, count: int) -> int:
    """The length of so many equal parts of an axis, at most 16, in sixteens."""
    return min(size, -(-size // (16 * min(max(1, count), 16))) * 16)


# OpenBLAS has code for small matrices on processors with AVX-512. With the second one transposed
# it is used up to so many elements of the result; turned around first, the product of 32 by 64
# with 64 by 64 takes 0.7 as long. With 12 rows that is no loss; of more multiplications the other
# kernel is in charge.
_TRANSPOSED, _ROWS, _MOST = 1200, 12, 1 << 19
_TURNED = 1 << 16  # bytes: as in kernels/cpu/products.py


def _to_be_turned(m: int, n: int, k: int, dtype: DType) -> bool:
    """Whether a product of (m, k) with the transpose of (n, k) is faster with a copy of that."""
    few = m >= _ROWS and m * n > _TRANSPOSED and m * n * k <= _MOST
    return few and n * k * dtype.size <= _TURNED and blas.has_small_kernels()


MATMUL = defop(
    "MatMul",
    ARRAY,
    2,
    _matmul_spec,
    compute=_matmul,
    native=_matmul_native,
    vjp=_matmul_vjp,
    of_complex="analytic",
)


_PRODUCTS = {(ta, tb): binary(MATMUL, ta=ta, tb=tb) for ta in (False, True) for tb in (False, True)}
PRODUCT = _PRODUCTS[False, False]  # what ``a @ b`` records


def _product(a: Any, b: Any, ta: bool, tb: bool) -> Tensor:
    return _PRODUCTS[ta, tb](a, b)


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    output_type: Any = None,
    name: str | None = None,
) -> Tensor:
    """The product of matrices, over the last two axes; the axes before them are batches.

    ``a @ b`` does the same. Batches broadcast. The derivatives are products, too: ``g @ b.T`` and
    ``a.T @ g`` (Giles, "Collected Matrix Derivative Results for Forward and Reverse Mode
    Algorithmic Differentiation", 2008).

    Args:
      a: A tensor of numbers, of shape (..., m, k).
      b: A tensor of the same dtype, of shape (..., k, n).
      transpose_a: Whether the last two axes of ``a`` are swapped first. BLAS does so while it
        reads.
      transpose_b: Likewise for ``b``.
      adjoint_a: Likewise, and complex elements are conjugated.
      adjoint_b: Likewise for ``b``.
      output_type: A dtype that operands are cast to first: int32 for those of 8 bits, float32 for
        float16 and bfloat16.
      name: Not used.

    Returns:
      A tensor of shape (..., m, n) and of the same dtype, or ``output_type``.

    Raises:
      InvalidArgumentError: If a rank is below 2, the shapes do not fit or the dtypes differ, or the
        elements are bools, or there is no product of that ``output_type``.
      ValueError: If an operand is to be both transposed and adjoint.

    Example:
      >>> a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
      >>> tf.matmul(a, [[1.0], [10.0]])
      <tf.Tensor: shape=(2, 1), dtype=float32, numpy=
      array([[21.],
             [43.]], dtype=float32)>
      >>> tf.matmul(a, a, transpose_b=True).numpy()
      array([[ 5., 11.],
             [11., 25.]], dtype=float32)
    """
    for name, both in (("a", transpose_a and adjoint_a), ("b", transpose_b and adjoint_b)):
        if both:
            raise ValueError(f"Only one of `transpose_{name}` and `adjoint_{name}` can be True.")
    if output_type is not None:
        a, b = _as_wide(a, b, as_dtype(output_type))
    if adjoint_a or adjoint_b:
        a = as_tensor(a, spec_of(b), "MatMul")
        b = as_tensor(b, a._spec, "MatMul")
        a = conj(a) if adjoint_a and a.dtype.is_complex else a
        b = conj(b) if adjoint_b and b.dtype.is_complex else b
    return _PRODUCTS[bool(transpose_a or adjoint_a), bool(transpose_b or adjoint_b)](a, b)


_WIDER = {int8: int32, uint8: int32, float16: float32, bfloat16: float32}


def _as_wide(a: Any, b: Any, wanted: DType) -> tuple[Tensor, Tensor]:
    """Operands, cast to the dtype in which products are added up."""
    a = as_tensor(a, spec_of(b), "MatMul")
    b = as_tensor(b, a._spec, "MatMul")
    for x in (a, b):
        require(
            wanted in (x.dtype, _WIDER.get(x.dtype)) and a.dtype is b.dtype,
            "MatMul",
            f"output_type={wanted.name} of operands of {a.dtype.name} and {b.dtype.name}: it is "
            f"their dtype, or int32 for int8 and uint8, or float32 for float16 and bfloat16. "
            f"`cast` them",
        )
    return cast(a, wanted), cast(b, wanted)


def matvec(
    a: Any, b: Any, transpose_a: bool = False, adjoint_a: bool = False, name: str | None = None
) -> Tensor:
    """The product of matrices, over the last two axes, and vectors, over the last axis.

    Args:
      a: A tensor of numbers, of shape (..., m, n).
      b: A tensor of the same dtype, of shape (..., n).
      transpose_a: Whether the last two axes of ``a`` are swapped first.
      adjoint_a: Likewise, and complex elements are conjugated.
      name: Not used.

    Returns:
      A tensor of shape (..., m) and of the same dtype.

    Raises:
      InvalidArgumentError: If the shapes do not fit, or the dtypes differ.
      ValueError: If ``a`` is to be both transposed and adjoint.

    Example:
      >>> tf.linalg.matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0]).numpy()
      array([21., 43.], dtype=float32)
    """
    b = movement.expand_dims(b, -1)
    return movement.squeeze(matmul(a, b, transpose_a, adjoint_a=adjoint_a), -1)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """Products of two tensors, summed over pairs of axes: one product of matrices.

    Args:
      a: A tensor of numbers.
      b: A tensor of the same dtype.
      axes: A number n, for the last n axes of ``a`` and the first n of ``b``; or two lists of axes,
        those of ``a`` and those of ``b``.
      name: Not used.

    Returns:
      A tensor of the axes of ``a``, then those of ``b``, without the axes summed over.

    Raises:
      InvalidArgumentError: If the sizes of a pair differ, an axis is out of range, or the dtypes
        differ.
      ValueError: If ``axes`` is too large, or its lists are not two of the same length.

    Example:
      >>> a = tf.ones((2, 3, 4))
      >>> tf.tensordot(a, tf.ones((4, 5)), 1).shape
      TensorShape([2, 3, 5])
      >>> tf.tensordot(a, tf.ones((3, 2)), [[1, 0], [0, 1]]).numpy()
      array([6., 6., 6., 6.], dtype=float32)
    """
    like = spec_of(a) or spec_of(b)
    a = as_tensor(a, like, "Tensordot")
    b = as_tensor(b, a._spec, "Tensordot")
    chosen = movement.static(axes)
    if isinstance(chosen, int):
        if not 0 <= chosen <= min(a.ndim, b.ndim):
            raise ValueError(
                f"`axes`={chosen} must not be larger than the number of axes of `a` and `b`, of "
                f"shapes {a.shape} and {b.shape}"
            )
        left, right = tuple(range(a.ndim - chosen, a.ndim)), tuple(range(chosen))
    else:
        if len(chosen) != 2:
            raise ValueError(f"`axes` must be an integer or have length 2, got {axes}")
        first, second = ((c,) if isinstance(c, int) else c for c in chosen)
        left = tuple(to_axis("Tensordot", axis, a.ndim) for axis in first)
        right = tuple(to_axis("Tensordot", axis, b.ndim) for axis in second)
        if len(left) != len(right):
            raise ValueError(f"Different number of contraction axes: {len(left)} and {len(right)}")
    rows = tuple(axis for axis in range(a.ndim) if axis not in left)
    columns = tuple(axis for axis in range(b.ndim) if axis not in right)
    summed = math.prod(a.shape[axis] for axis in left)
    shape = (*(a.shape[axis] for axis in rows), *(b.shape[axis] for axis in columns))
    flat_a = movement.shaped(
        movement.permuted(a, rows + left), (math.prod(a.shape[axis] for axis in rows), summed)
    )
    flat_b = movement.reshape(
        movement.permuted(b, right + columns),
        (
            math.prod(b.shape[axis] for axis in right),
            -1 if b._spec.size else math.prod(b.shape[axis] for axis in columns),
        ),
    )
    return movement.shaped(matmul(flat_a, flat_b), shape)
