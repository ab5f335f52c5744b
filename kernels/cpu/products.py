"""Products of matrices that BLAS multiplies slowly.

Small products with a transposed second matrix, which is copied in transposed order first: BLAS is
fastest for small matrices if it reads rows of the second one (otherwise it packs it), which saves
more time than the copy of a small matrix takes.

Narrow products, of few columns: BLAS packs the first matrix, which takes as long as the product. It
is read in place here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..constants import NARROW_BLOCK, NARROW_ROWS
from ..jit import INT64, POINTERS, jit, stack
from .arrays import (
    BATCHES,
    COLUMNS,
    INNER,
    LETTERS,
    NOT_TRANSPOSED,
    ROWS,
    STEPS,
    TRANSPOSED,
    X_ROW,
    Y_ROW,
    call_gemm,
    copy_scalars,
    scalars_memory,
)
from .panels import BYTES, IR, TILE_ROWS, tile_multiplier

if TYPE_CHECKING:
    from ..annotations import Builder, Context, Signature, Type, TypingContext, Values

number = POINTERS["int64"]
MAX_BYTES = 1 << 16  # bytes of a matrix to transpose, as in core/ops/matrix_products.py


@intrinsic
def prefetch(typingctx: TypingContext, address: Type) -> Any:
    """Ask the processor to load the cache line at an address."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        word, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        name = "llvm.prefetch.p0"
        function = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), name
        )
        # A read, of data that is used more than once, into the caches that are not the smallest.
        builder.call(function, [builder.inttoptr(args[0], byte), word(0), word(2), word(1)])
        return context.get_dummy_value()

    return types.void(types.intp), codegen


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


_panel_memory = stack(NARROW_BLOCK * 2 * BYTES)
_sums_memory = stack((NARROW_ROWS + TILE_ROWS) * 2 * BYTES)


def narrow(dtype: str) -> Any:
    """``out = x @ y`` with few columns, for each of a batch; a unit is `NARROW_ROWS` rows.

    Parameters: those of `arrays.gemm`. The result has at least `panels.TILE_ROWS` rows.
    """
    at, size = POINTERS[dtype], 4 if dtype == "float32" else 8
    lanes = BYTES // size
    multiply_two, multiply_one = tile_multiplier(dtype, 2), tile_multiplier(dtype, 1)

    @jit
    def fill_panel(
        panel_: int, y_: int, row: int, column: int, count: int, n_columns: int, width: int
    ) -> None:
        """Copy ``count`` rows of y, whose steps are ``row`` and ``column`` elements."""
        panel, y = at(panel_), at(y_)
        for k in range(count):
            for j in range(n_columns):
                panel[k * width + j] = y[k * row + j * column]
            for j in range(n_columns, width):
                panel[k * width + j] = 0

    @jit
    def prefetch_block(x: int, step: int, count: int, length: int) -> None:
        """Load ``length`` bytes of ``count`` rows into the cache, in the order of memory."""
        for k in range(count):
            for offset in range(0, length, 64):
                prefetch(x + k * step + offset)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, panel, sums = number(parameters), _panel_memory(), _sums_memory()
        rows, columns, inner = p[ROWS], p[COLUMNS], p[INNER]
        is_transposed = p[LETTERS + 1] == TRANSPOSED
        a_row, a_column = (size, p[X_ROW] * size) if is_transposed else (p[X_ROW] * size, size)
        y_row, y_column = p[Y_ROW], 1
        if p[LETTERS] == TRANSPOSED:
            y_row, y_column = y_column, y_row
        strips = -(-rows // NARROW_ROWS)
        for unit in range(begin, end):
            batch, first_row = unit // strips, unit % strips * NARROW_ROWS
            n_rows = min(NARROW_ROWS, rows - first_row)
            x = x_ + batch * p[STEPS] + first_row * a_row
            y = y_ + batch * p[STEPS + 1]
            out = out_ + batch * p[STEPS + 2] + first_row * columns * size
            for column in range(0, columns, 2 * lanes):
                n_columns = min(2 * lanes, columns - column)
                vectors = 2 if n_columns > lanes else 1
                width = vectors * BYTES
                for k0 in range(0, inner, NARROW_BLOCK):
                    count = min(NARROW_BLOCK, inner - k0)
                    fill_panel(
                        panel,
                        y + (k0 * y_row + column * y_column) * size,
                        y_row,
                        y_column,
                        count,
                        n_columns,
                        width // size,
                    )
                    block = x + k0 * a_column
                    if is_transposed:
                        prefetch_block(block, a_column, count, n_rows * size)
                    for tile in range(0, n_rows, TILE_ROWS):
                        # The last tile begins earlier, so that it has all rows.
                        a = block + min(tile, rows - first_row - TILE_ROWS) * a_row
                        c = sums + tile * width
                        if vectors == 2:
                            multiply_two(a, a_row, a_column, panel, c, width, count, k0)
                        else:
                            multiply_one(a, a_row, a_column, panel, c, width, count, k0)
                for i in range(n_rows):
                    tile = i // TILE_ROWS * TILE_ROWS
                    row = i - tile + max(0, tile + TILE_ROWS + first_row - rows)
                    source = at(sums + (tile + row) * width)
                    target = at(out + (i * columns + column) * size)
                    for j in range(n_columns):
                        target[j] = source[j]

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {"transposed": transpose_matrix, "narrow": narrow}
