"""Products of matrices that BLAS multiplies slowly.

Small products with a transposed second matrix, which is copied in transposed order first: BLAS is
fastest for small matrices if it reads rows of the second one (otherwise it packs it), which saves
more time than the copy of a small matrix takes.

Other products in panels of columns: BLAS packs both matrices, which takes as long as the product if
one has few rows or columns. Here the first matrix is read in place.
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
    ROWS,
    STEPS,
    TILE_COLUMNS as UNIT_COLUMNS,
    TILE_ROWS as UNIT_ROWS,
    TRANSPOSED,
    X_ROW,
    Y_ROW,
    call_gemm,
    copy_scalars,
    scalars_memory,
)
from .panels import BLOCK_BYTES, BYTES, IR, TILE_ROWS, tile_multiplier, vector_copier

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
        # The arguments: a read; data that is used more than once; a cache of data.
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


_panel_memory = stack(BLOCK_BYTES // 4 * 2 * BYTES)
_tile_memory = stack(TILE_ROWS * 2 * BYTES)


def _panel_filler(dtype: str) -> Any:
    """A function that copies columns of y, a few vectors, for some rows of it.

    ``fill(panel, y, row, is_transposed, count, n_columns, width)``: the rows of y, or its columns
    if ``is_transposed``, are ``row`` bytes apart. The panel has ``width`` elements a row.
    """
    at, size = POINTERS[dtype], 4 if dtype == "float32" else 8
    lanes, transpose_block, move = BYTES // size, block_transposer(dtype), vector_copier(BYTES)

    @jit
    def fill(
        panel_: int, y_: int, row: int, is_transposed: bool, count: int, n_columns: int, width: int
    ) -> None:
        panel = at(panel_)
        full_columns = n_columns - n_columns % lanes
        if is_transposed:
            full_rows = count - count % lanes
            for j in range(0, full_columns, lanes):
                for k in range(0, full_rows, lanes):
                    transpose_block(
                        panel_ + (k * width + j) * size,
                        width * size,
                        y_ + j * row + k * size,
                        row,
                    )
            for j in range(n_columns):
                y = at(y_ + j * row)
                for k in range(full_rows if j < full_columns else 0, count):
                    panel[k * width + j] = y[k]
        else:
            for k in range(count):
                y = at(y_ + k * row)
                for j in range(0, full_columns, lanes):
                    move(panel_ + (k * width + j) * size, y_ + k * row + j * size)
                for j in range(full_columns, n_columns):
                    panel[k * width + j] = y[j]
        for k in range(count):
            for j in range(n_columns, width):
                panel[k * width + j] = 0

    return fill


def panels(dtype: str) -> Any:
    """``out = x @ y`` for each of a batch, in panels of columns.

    A unit is a tile of an output, which has at least `panels.TILE_ROWS` rows. Parameters: those of
    `arrays.gemm`.
    """
    at, size = POINTERS[dtype], 4 if dtype == "float32" else 8
    lanes, fill = BYTES // size, _panel_filler(dtype)
    multiply_two, multiply_one = tile_multiplier(dtype, 2), tile_multiplier(dtype, 1)
    max_count = BLOCK_BYTES // size

    @jit
    def prefetch_block(x: int, step: int, count: int, length: int) -> None:
        """Load ``length`` bytes of ``count`` rows into the cache, in the order of memory."""
        for k in range(count):
            for offset in range(0, length, 64):
                prefetch(x + k * step + offset)

    @jit
    def multiply_panel(
        out_: int,
        out_row: int,
        x: int,
        a_row: int,
        a_column: int,
        panel: int,
        rows: int,
        max_rows: int,
        count: int,
        n_columns: int,
        vectors: int,
        add: int,
        tile: int,
    ) -> None:
        """Multiply ``rows`` rows, of ``max_rows`` that exist, by a panel of ``n_columns``."""
        width = vectors * BYTES
        for i in range(0, rows, TILE_ROWS):
            if n_columns * size == width and i + TILE_ROWS <= rows:
                a, c = x + i * a_row, out_ + i * out_row
                if vectors == 2:
                    multiply_two(a, a_row, a_column, panel, c, out_row, count, add)
                else:
                    multiply_one(a, a_row, a_column, panel, c, out_row, count, add)
                continue
            # A tile reads all its rows: the last one begins earlier.
            first_row = min(i, max_rows - TILE_ROWS)
            a = x + first_row * a_row
            if vectors == 2:
                multiply_two(a, a_row, a_column, panel, tile, width, count, 0)
            else:
                multiply_one(a, a_row, a_column, panel, tile, width, count, 0)
            for m in range(i, min(i + TILE_ROWS, rows)):
                out, source = at(out_ + m * out_row), at(tile + (m - first_row) * width)
                if add != 0:
                    for j in range(n_columns):
                        out[j] += source[j]
                else:
                    for j in range(n_columns):
                        out[j] = source[j]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, panel, tile = number(parameters), _panel_memory(), _tile_memory()
        rows, columns, inner = p[ROWS], p[COLUMNS], p[INNER]
        is_transposed, is_y_transposed = p[LETTERS + 1] == TRANSPOSED, p[LETTERS] == TRANSPOSED
        a_row, a_column = (size, p[X_ROW] * size) if is_transposed else (p[X_ROW] * size, size)
        y_row = p[Y_ROW] * size
        unit_rows, unit_columns = p[UNIT_ROWS], p[UNIT_COLUMNS]
        row_strips, column_strips = -(-rows // unit_rows), -(-columns // unit_columns)
        for unit in range(begin, end):
            batch = unit // (row_strips * column_strips)
            first_row = unit // column_strips % row_strips * unit_rows
            first_column = unit % column_strips * unit_columns
            end_column = min(first_column + unit_columns, columns)
            n_rows = min(unit_rows, rows - first_row)
            x = x_ + batch * p[STEPS] + first_row * a_row
            out = out_ + batch * p[STEPS + 2] + first_row * columns * size
            for k0 in range(0, inner, max_count):
                count = min(max_count, inner - k0)
                block, y = x + k0 * a_column, y_ + batch * p[STEPS + 1]
                y += k0 * (size if is_y_transposed else y_row)
                if is_transposed:
                    prefetch_block(block, a_column, count, n_rows * size)
                for column in range(first_column, end_column, 2 * lanes):
                    n_columns = min(2 * lanes, end_column - column)
                    vectors = 2 if n_columns > lanes else 1
                    fill(
                        panel,
                        y + column * (y_row if is_y_transposed else size),
                        y_row,
                        is_y_transposed,
                        count,
                        n_columns,
                        vectors * lanes,
                    )
                    multiply_panel(
                        out + column * size,
                        columns * size,
                        block,
                        a_row,
                        a_column,
                        panel,
                        n_rows,
                        rows - first_row,
                        count,
                        n_columns,
                        vectors,
                        k0,
                        tile,
                    )

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {"transposed": transpose_matrix, "panels": panels}
