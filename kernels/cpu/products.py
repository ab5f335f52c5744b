"""Small products with a transposed second matrix, which is copied in transposed order first.

BLAS is fastest for small matrices if it reads rows of the second one (otherwise it packs it), which
saves more time than the copy of a small matrix takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..jit import INT64, POINTERS, jit, stack
from .arrays import (
    BATCHES,
    COLUMNS,
    INNER,
    LETTERS,
    NOT_TRANSPOSED,
    STEPS,
    Y_ROW,
    call_gemm,
    copy_scalars,
    scalars_memory,
)
from .panels import BYTES, IR

if TYPE_CHECKING:
    from ..annotations import Builder, Context, Signature, Type, TypingContext, Values

number = POINTERS["int64"]
MAX_BYTES = 1 << 16  # bytes of a matrix to transpose, as in core/ops/matrix_products.py


def block_transposer(dtype: str) -> Any:
    """A function that transposes a square block with as many rows as a vector has elements.

    ``transpose_block(target, target_step, source, source_step)``; a step is the bytes from one row
    to the next.
    """
    lanes = BYTES // (4 if dtype == "float32" else 8)
    vector = ir.VectorType(IR[dtype], lanes)
    mask_type = ir.VectorType(ir.IntType(32), lanes)
    masks = [
        ir.Constant(mask_type, [k // 2 + lanes * (k % 2) for k in range(begin, begin + lanes)])
        for begin in (0, lanes)
    ]

    @intrinsic
    def transpose_block(
        typingctx: TypingContext, target: Type, target_step: Type, source: Type, source_step: Type
    ) -> Any:
        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            to, to_step, source, step = args

            def at(start: ir.Value, step: ir.Value, k: int) -> Any:
                address = builder.add(start, builder.mul(step, INT64(k)))
                return builder.inttoptr(address, vector.as_pointer())

            rows = []
            for k in range(lanes):
                row = builder.load(at(source, step, k))
                row.align = BYTES // lanes
                rows.append(row)
            # Interleave rows k and k + lanes / 2. This rotates the bits of an element's index (its
            # row's, then its column's) by one; after all rounds, row and column are swapped.
            for _ in range(lanes.bit_length() - 1):
                pairs = zip(rows[: lanes // 2], rows[lanes // 2 :], strict=True)
                rows = [builder.shuffle_vector(*pair, mask) for pair in pairs for mask in masks]
            for k, row in enumerate(rows):
                stored = builder.store(row, at(to, to_step, k))
                stored.align = BYTES // lanes
            return context.get_dummy_value()

        return types.void(*[types.intp] * 4), codegen

    return transpose_block


def transpose_into(dtype: str) -> Any:
    """A function that transposes a matrix: ``transpose(target, source, n, k)``.

    The source has ``n`` rows of ``k`` elements.
    """
    at = POINTERS[dtype]
    transpose_block = block_transposer(dtype)
    size = 4 if dtype == "float32" else 8
    lanes = BYTES // size

    @jit
    def transpose(target: int, source: int, n: int, k: int) -> None:
        full_rows, full_columns = n - n % lanes, k - k % lanes
        for i in range(0, full_rows, lanes):
            for j in range(0, full_columns, lanes):
                transpose_block(
                    target + (j * n + i) * size, n * size, source + (i * k + j) * size, k * size
                )
        x, out = at(source), at(target)
        for i in range(n):
            for j in range(full_columns if i < full_rows else 0, k):
                out[j * n + i] = x[i * k + j]

    return transpose


def transpose_matrix(dtype: str) -> Any:
    """``out = x @ y.T`` for each of a batch; one unit of work.

    Parameters: those of `arrays.gemm`.
    """
    transpose, memory = transpose_into(dtype), stack(MAX_BYTES)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, scalars, y = number(parameters), scalars_memory(), memory()
        copy_scalars(scalars, parameters)
        number(scalars)[LETTERS], number(scalars)[Y_ROW] = NOT_TRANSPOSED, p[COLUMNS]
        for k in range(p[BATCHES]):
            if k == 0 or p[STEPS + 1] != 0:
                transpose(y, y_ + k * p[STEPS + 1], p[COLUMNS], p[INNER])
            call_gemm(scalars, y, x_ + k * p[STEPS], out_ + k * p[STEPS + 2])

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {"transposed": transpose_matrix}
