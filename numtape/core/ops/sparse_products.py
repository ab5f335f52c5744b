"""Products of a sparse matrix and a dense one, by SciPy's CSR arrays.

The operands are the values of the sparse matrix, a matrix with the row and column of each, and the
dense matrix. The adjoint of the dense matrix is a product with the transposed sparse one; that of
the values is `SPARSE_DOT`, which computes a product of dense matrices at some elements only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..log.op import ARRAY, Op, defop
from ..log.record import record
from ..values.spec import Spec, intern
from ..values.tensor import Tensor

Array = np.ndarray[Any, Any]
_BLOCK = 1 << 20  # elements of the dense matrices that `SPARSE_DOT` copies at a time
_WIDER = {"float16": np.float32, "bfloat16": np.float32}  # dtypes that SciPy does not take


def _product_spec(
    op: Op, values: Spec, indices: Spec, dense: Spec, adjoint: bool, size: int
) -> Spec:
    return intern((size, dense.shape[1]), dense.dtype)


def _product(
    out: Array, values: Array, indices: Array, dense: Array, adjoint: bool, size: int
) -> None:
    from scipy.sparse import coo_array

    wider = _WIDER.get(out.dtype.name, out.dtype)
    rows, columns = indices.T[::-1] if adjoint else indices.T
    entries = values.astype(wider, copy=False), (rows, columns)
    matrix = coo_array(entries, (size, dense.shape[0])).tocsr()
    out[...] = matrix @ dense.astype(wider, copy=False)


def _product_vjp(
    g: Tensor, y: Tensor, values: Tensor, indices: Tensor, dense: Tensor, adjoint: bool, size: int
) -> Any:
    return (
        record(SPARSE_DOT, (g, indices, dense), adjoint=adjoint),
        None,
        record(SPARSE_MATMUL, (values, indices, g), adjoint=not adjoint, size=dense.shape[0]),
    )


def _dot_spec(op: Op, left: Spec, indices: Spec, right: Spec, adjoint: bool) -> Spec:
    return intern(indices.shape[:1], left.dtype)


def _dot(out: Array, left: Array, indices: Array, right: Array, adjoint: bool) -> None:
    rows, columns = indices.T[::-1] if adjoint else indices.T
    wider = _WIDER.get(out.dtype.name, out.dtype)
    step = max(_BLOCK // max(left.shape[1], 1), 1)
    for begin in range(0, len(out), step):
        part = slice(begin, begin + step)
        products = left[rows[part]].astype(wider) * right[columns[part]]
        out[part] = products.sum(axis=1)


def _dot_vjp(
    g: Tensor, y: Tensor, left: Tensor, indices: Tensor, right: Tensor, adjoint: bool
) -> Any:
    return (
        record(SPARSE_MATMUL, (g, indices, right), adjoint=adjoint, size=left.shape[0]),
        None,
        record(SPARSE_MATMUL, (g, indices, left), adjoint=not adjoint, size=right.shape[0]),
    )


SPARSE_MATMUL: Op = defop(
    "SparseTensorDenseMatMul",
    ARRAY,
    3,
    _product_spec,
    compute=_product,
    vjp=_product_vjp,
    on_host=True,
    complex_vjp="analytic",
)
SPARSE_DOT: Op = defop(
    "SampledMatMul",
    ARRAY,
    3,
    _dot_spec,
    compute=_dot,
    vjp=_dot_vjp,
    on_host=True,
    complex_vjp="analytic",
)
