"""Products of matrices and vectors: matmul, matvec, tensordot.

`matmul` records MATMUL rows; `_matmul_native` chooses how the executors compute them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DtypeError
from ...kernels.constants import PANEL_MIN_ROWS, SMALL_MATMUL_SIZE
from ..cpu import blas
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import binary, require, spec_of
from ..values.composite import recover
from ..values.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    float16,
    float32,
    float64,
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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..values.annotations import DTypeLike, IntLike, IntsLike, TensorLike

Array = np.ndarray[Any, Any]

_MAX_INT32 = 2**31 - 1  # BLAS takes sizes as int32
# Approximate size of the tile that one BLAS call computes; tiles have whole rows if rows are short.
TILE, NARROW, WIDE = 256, 128, 1024
# Elements of the result from which tiles are twice as long. BLAS packs the operands for each tile,
# which takes a seventh of the time with tiles of 256 x 256.
_LARGE = 1 << 21


def _matmul_spec(op: Op, a: Spec, b: Spec, ta: bool, tb: bool) -> Spec:
    if a.dtype is not b.dtype:
        raise mismatch_error(op.name, 1, a.dtype, b.dtype)
    if a.dtype.is_bool:
        raise DtypeError(f"Expected numbers, got bool tensors: `cast` them first [Op:{op.name}]")
    require(
        a.rank >= 2 and b.rank >= 2,
        op,
        f"In[0] and In[1] must have rank 2 or more, got shapes {a.shape} and {b.shape}; for "
        f"vectors there are tf.linalg.matvec(a, x) and tf.tensordot(x, y, 1)",
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
        batch_shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        require(
            False,
            op,
            f"In[0] and In[1] must have compatible batch dimensions: {a.shape.as_list()}"
            f" vs. {b.shape.as_list()}",
        )
    return intern((*batch_shape, m, n), a.dtype)


def _matmul(out: Array, a: Array, b: Array, ta: bool, tb: bool) -> None:
    # BLAS reads a transposed matrix in place.
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
    """Return a call of BLAS in place, over all batches; an operand may be shared by all of them."""
    if not out.is_float or not a.size or max(*a.shape, *b.shape) > _MAX_INT32:
        return None
    function = blas.address("sgemm" if out.dtype is float32 else "dgemm")
    batch_shape = out.shape[:-2]
    steps = []
    for x in (a, b, out):
        if x.size != math.prod(x.shape[-2:]) and x.shape[:-2] != batch_shape:
            return None
        is_shared = math.prod(x.shape[:-2]) == 1
        steps.append(0 if is_shared else math.prod(x.shape[-2:]) * x.dtype.size)
    if not function:
        return None
    m, n = out.shape[-2:]
    k = a.shape[-2 if ta else -1]
    one_bits = int(np.ones(1, out.dtype.numpy_dtype).view(f"int{8 * out.dtype.size}")[0])
    batches = math.prod(batch_shape)
    transpose_first = tb and not ta and _should_transpose_first(m, n, k, out.dtype)
    transpose_flags = ord("T" if tb else "N"), ord("T" if ta else "N")
    scalars = (*transpose_flags, n, m, k, one_bits, b.shape[-1], a.shape[-1], 0, n)
    if batches > 1 and max(m, n, k) <= SMALL_MATMUL_SIZE:
        parameters = (0, *scalars, *steps, batches)  # as below: the CUDA planner reads them too
        work = batches * (4 + m * k // 2)
        return Native("small_matmul.product", (out.dtype.name,), parameters, batches, work)
    if _uses_panels(m, n, k, out.dtype):
        tile_rows, tile_columns = _panel_tile_shape(m, n)
        parameters = (0, *scalars, *steps, batches, out.dtype.size, tile_rows, tile_columns)
        units = batches * -(-m // tile_rows) * -(-n // tile_columns)
        part = tile_rows * n if tile_columns == n and (batches == 1 or m % tile_rows == 0) else 0
        work = m * n * k * batches // 64
        return Native("products.panels", (out.dtype.name,), parameters, units, work, part=part)
    kernel, dtypes = ("products.transposed", (out.dtype.name,)) if transpose_first else ("gemm", ())
    threads = blas.threads()
    # If BLAS cannot be limited to one thread, it uses its own threads for a product: one unit.
    is_tiled = all(threads) and not transpose_first
    tile_rows, tile_columns = _tile_shape(m, n) if is_tiled else (m, n)
    units = batches * -(-m // tile_rows) * -(-n // tile_columns) if is_tiled else 1
    parameters = (
        function,
        *scalars,
        *steps,
        batches,
        out.dtype.size,
        tile_rows,
        tile_columns,
        *threads,
    )
    part = tile_rows * n if tile_columns == n and (batches == 1 or m % tile_rows == 0) else 0
    return Native(kernel, dtypes, parameters, units, m * n * k * batches // 64, part=part)


def _tile_shape(m: int, n: int) -> tuple[int, int]:
    """Return the rows and columns of a tile.

    A tile has whole rows if they are short and numerous. BLAS packs the operands for each tile, so
    few tiles are cheap, and the consumer of the product can use the elements of a tile immediately.
    """
    if NARROW < n <= WIDE and m >= max(3 * n // 4, TILE):
        return _part_length(m, max(4, 2 * round(m / (2 * TILE)))), n  # for four threads, or two
    length = 2 * TILE if m * n >= _LARGE else TILE
    return _tile_length(m, NARROW if n <= NARROW else length), _tile_length(
        n, NARROW if m <= NARROW else length
    )


def _tile_length(size: int, length: int) -> int:
    return _part_length(size, (size + length // 2) // length)


def _part_length(size: int, count: int) -> int:
    """Return the length of ``count`` equal parts (at most 16) of an axis, a multiple of 16."""
    return min(size, -(-size // (16 * min(max(1, count), 16))) * 16)


# Products in panels of columns read the first matrix in place, which BLAS packs. Packing takes as
# long as the product if there are few columns: for (10000, 784) times (784, 10) in float32 panels
# take half the time, with the first matrix transposed 0.4; for (128, 64) times (64, 128) 0.87. For
# one or two columns, most lanes of a vector would be empty. OpenBLAS has other kernels for products
# of few multiplications; with many, the time to pack no longer matters.
_FEW_BYTES = 128  # of a row of the result
_MIN_ELEMENTS_IN_PLACE = 1 << 17  # of the first matrix, if there are few columns
_MIN_PANELS = 1 << 20  # multiplications
_MAX_PANELS = {float32: 1 << 27, float64: 1 << 25}
_MIN_PANEL_ROWS = {float32: 16, float64: 48}


def _uses_panels(m: int, n: int, k: int, dtype: DType) -> bool:
    """Return whether ``products.panels`` is faster than BLAS."""
    if m < PANEL_MIN_ROWS or n < 3:
        return False
    if n * dtype.size <= _FEW_BYTES and m * k >= _MIN_ELEMENTS_IN_PLACE:
        return True
    in_range = _MIN_PANELS <= m * n * k <= _MAX_PANELS[dtype]
    return in_range and m >= _MIN_PANEL_ROWS[dtype] and n * dtype.size >= _FEW_BYTES // 2


def _panel_tile_shape(m: int, n: int) -> tuple[int, int]:
    """Return the rows and columns of a unit of ``products.panels``.

    The kernel copies the second matrix for every 240 rows or so, 96 if there would be less than
    four units. It has whole rows if they suffice for several threads.
    """
    count = max(1, min(4, m // 96), round(m / 240))
    rows = m // count if m % (16 * count) == 0 else -(-m // (48 * count)) * 48
    return min(m, rows), n if n <= TILE or (count >= 4 and n <= WIDE) else TILE


# OpenBLAS has kernels for small matrices on processors with AVX-512. With the second operand
# transposed it uses them only up to _MIN_ELEMENTS elements of the result. With a transposed copy of
# that operand, the product of 32 by 64 with 64 by 64 takes 0.7 of the time. From 12 rows on the
# copy costs nothing overall; above _MAX_MULTIPLICATIONS OpenBLAS uses its other kernel.
_MIN_ELEMENTS, _MIN_ROWS, _MAX_MULTIPLICATIONS = 1200, 12, 1 << 19
_MAX_TRANSPOSED_BYTES = 1 << 16  # keep in sync with kernels/cpu/products.py


def _should_transpose_first(m: int, n: int, k: int, dtype: DType) -> bool:
    """Return whether (m, k) times the transpose of (n, k) is faster with a transposed copy."""
    is_in_range = m >= _MIN_ROWS and m * n > _MIN_ELEMENTS and m * n * k <= _MAX_MULTIPLICATIONS
    return is_in_range and n * k * dtype.size <= _MAX_TRANSPOSED_BYTES and blas.has_small_kernels()


MATMUL = defop(
    "MatMul",
    ARRAY,
    2,
    _matmul_spec,
    compute=_matmul,
    native=_matmul_native,
    vjp=_matmul_vjp,
    complex_vjp="analytic",
)


_PRODUCTS = {(ta, tb): binary(MATMUL, ta=ta, tb=tb) for ta in (False, True) for tb in (False, True)}
PRODUCT = _PRODUCTS[False, False]  # the recorder of ``a @ b``


def _product(a: Tensor, b: Tensor, ta: bool, tb: bool) -> Tensor:
    return _PRODUCTS[ta, tb](a, b)


def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Multiply matrices over the last two axes; the axes before them are batches.

    ``a @ b`` does the same. Batches broadcast. The derivatives are also matrix products: ``g @
    b.T`` and ``a.T @ g`` (Giles, "Collected Matrix Derivative Results for Forward and Reverse Mode
    Algorithmic Differentiation", 2008).

    Args:
      a: A tensor of numbers, of shape (..., m, k).
      b: A tensor of the same dtype, of shape (..., k, n).
      transpose_a: Whether to transpose the last two axes of ``a`` first. BLAS does this while it
        reads.
      transpose_b: Whether to transpose the last two axes of ``b`` first.
      adjoint_a: Whether to transpose ``a`` and conjugate its complex elements first.
      adjoint_b: Whether to transpose ``b`` and conjugate its complex elements first.
      a_is_sparse: Not used: whether most elements of ``a`` are 0. See `tf.SparseTensor`.
      b_is_sparse: Not used.
      output_type: A dtype to cast the operands to first: int32 for 8-bit integers, float32 for
        float16 and bfloat16, bfloat16 for a product of bfloat16 and 8-bit integers.
      name: Not used.

    Returns:
      A tensor of shape (..., m, n) and of the same dtype, or ``output_type``.

    Raises:
      InvalidArgumentError: If a rank is below 2, the shapes do not fit, the dtypes differ, the
        elements are bools, or ``output_type`` is not supported.
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
    for name, is_conflict in (("a", transpose_a and adjoint_a), ("b", transpose_b and adjoint_b)):
        if is_conflict:
            raise ValueError(f"Only one of `transpose_{name}` and `adjoint_{name}` can be True.")
    try:
        if output_type is not None:
            a, b = _cast_operands(a, b, as_dtype(output_type))
        if adjoint_a or adjoint_b:
            a = as_tensor(a, spec_of(b), "MatMul")
            b = as_tensor(b, a._spec, "MatMul")
            a = conj(a) if adjoint_a and a.dtype.is_complex else a
            b = conj(b) if adjoint_b and b.dtype.is_complex else b
        return _PRODUCTS[bool(transpose_a or adjoint_a), bool(transpose_b or adjoint_b)](a, b)
    except Exception:
        return recover(matmul, a, b, transpose_a, transpose_b, adjoint_a, adjoint_b)  # type: ignore[no-any-return]


_WIDER = {int8: int32, uint8: int32, float16: float32, bfloat16: float32}


def _cast_operands(a: TensorLike, b: TensorLike, dtype: DType) -> tuple[Tensor, Tensor]:
    """Cast the operands to the dtype in which products are accumulated."""
    a = as_tensor(a, spec_of(b), "MatMul")
    b = as_tensor(b, a._spec, "MatMul")
    bytes_ = int8, uint8
    are_mixed = (dtype is int32 and a.dtype in bytes_ and b.dtype in bytes_) or (
        dtype is bfloat16
        and {a.dtype, b.dtype} <= {bfloat16, *bytes_}
        and bfloat16 in (a.dtype, b.dtype)
    )
    for x in (a, b):
        require(
            are_mixed or (dtype in (x.dtype, _WIDER.get(x.dtype)) and a.dtype is b.dtype),
            "MatMul",
            f"output_type={dtype.name} of operands of {a.dtype.name} and {b.dtype.name}: it must "
            f"be their dtype, or int32 for int8 and uint8, or float32 for float16 and bfloat16, or "
            f"bfloat16 for bfloat16 and 8-bit integers. "
            f"`cast` them",
        )
    return cast(a, dtype), cast(b, dtype)


def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiply matrices, over the last two axes, by vectors, over the last axis.

    Args:
      a: A tensor of numbers, of shape (..., m, n).
      b: A tensor of the same dtype, of shape (..., n).
      transpose_a: Whether to transpose the last two axes of ``a`` first.
      adjoint_a: Whether to transpose ``a`` and conjugate its complex elements first.
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


def tensordot(
    a: TensorLike, b: TensorLike, axes: IntLike | Sequence[IntsLike], name: str | None = None
) -> Tensor:
    """Sum products of two tensors over pairs of axes, as one matrix product.

    Args:
      a: A tensor of numbers.
      b: A tensor of the same dtype.
      axes: A number n, for the last n axes of ``a`` and the first n axes of ``b``; or two lists,
        the axes of ``a`` and the axes of ``b``.
      name: Not used.

    Returns:
      A tensor with the remaining axes of ``a``, then those of ``b``.

    Raises:
      InvalidArgumentError: If the sizes of a pair differ, an axis is out of range, or the dtypes
        differ.
      ValueError: If ``axes`` is too large, or is not two lists of the same length.

    Example:
      >>> a = tf.ones((2, 3, 4))
      >>> tf.tensordot(a, tf.ones((4, 5)), 1).shape
      TensorShape([2, 3, 5])
      >>> tf.tensordot(a, tf.ones((3, 2)), [[1, 0], [0, 1]]).numpy()
      array([6., 6., 6., 6.], dtype=float32)
    """
    like_spec = spec_of(a) or spec_of(b)
    a = as_tensor(a, like_spec, "Tensordot")
    b = as_tensor(b, a._spec, "Tensordot")
    static_axes = movement.to_ints(axes)
    if isinstance(static_axes, int):
        if not 0 <= static_axes <= min(a.ndim, b.ndim):
            raise ValueError(
                f"`axes`={static_axes} must not be larger than the number of axes of `a` and `b`, "
                f"of shapes {a.shape} and {b.shape}"
            )
        a_axes, b_axes = tuple(range(a.ndim - static_axes, a.ndim)), tuple(range(static_axes))
    else:
        if len(static_axes) != 2:
            raise ValueError(f"`axes` must be an integer or have length 2, got {axes}")
        a_list, b_list = ((c,) if isinstance(c, int) else c for c in static_axes)
        a_axes = tuple(to_axis("Tensordot", axis, a.ndim) for axis in a_list)
        b_axes = tuple(to_axis("Tensordot", axis, b.ndim) for axis in b_list)
        if len(a_axes) != len(b_axes):
            raise ValueError(
                f"Different number of contraction axes: {len(a_axes)} and {len(b_axes)}"
            )
    rows = tuple(axis for axis in range(a.ndim) if axis not in a_axes)
    columns = tuple(axis for axis in range(b.ndim) if axis not in b_axes)
    summed = math.prod(a.shape[axis] for axis in a_axes)
    shape = (*(a.shape[axis] for axis in rows), *(b.shape[axis] for axis in columns))
    flat_a = movement.reshape_if_needed(
        movement.transpose_if_needed(a, rows + a_axes),
        (math.prod(a.shape[axis] for axis in rows), summed),
    )
    flat_b = movement.reshape(
        movement.transpose_if_needed(b, b_axes + columns),
        (
            math.prod(b.shape[axis] for axis in b_axes),
            -1 if b._spec.size else math.prod(b.shape[axis] for axis in columns),
        ),
    )
    return movement.reshape_if_needed(matmul(flat_a, flat_b), shape)
