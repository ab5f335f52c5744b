"""Products of batches of tiny matrices, which are faster than a call of BLAS for each.

A row of a product is a sum of rows of the second matrix. It is one vector; masks limit reads and
writes to existing columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..constants import SMALL_MATMUL_SIZE
from ..jit import INT64, POINTERS, stack
from .arrays import COLUMNS, INNER, LETTERS, ROWS, STEPS, TRANSPOSED, X_ROW, Y_ROW
from .lanes import IR, ITEM

if TYPE_CHECKING:
    from ..annotations import Builder, Context, Signature, Type, TypingContext, Values

number = POINTERS["int64"]

_transposed_memory = stack(8 * SMALL_MATMUL_SIZE * SMALL_MATMUL_SIZE)


def row_multiplier(dtype: str) -> Any:
    """A function that computes a row of a product.

    ``row(out, x, x_step, y, y_step, inner, columns)``: the steps are bytes from one of the
    ``inner`` numbers of x, and of the rows of y, to the next.
    """
    kind, size = IR[dtype], ITEM[dtype]
    vector = ir.VectorType(kind, SMALL_MATMUL_SIZE)
    index_type = ir.VectorType(ir.IntType(32), SMALL_MATMUL_SIZE)
    mask_type = ir.VectorType(ir.IntType(1), SMALL_MATMUL_SIZE)
    word = ir.IntType(32)

    def function(builder: Builder, name: str, result: ir.Type, *parameters: ir.Type) -> Any:
        full_name = f"llvm.{name}"
        declared = builder.module.globals.get(full_name)
        return declared or ir.Function(
            builder.module, ir.FunctionType(result, parameters), full_name
        )

    def broadcast(builder: Builder, value: ir.Value, vector_type: ir.VectorType) -> Any:
        one = builder.insert_element(ir.Constant(vector_type, ir.Undefined), value, word(0))
        zeros = ir.Constant(index_type, [0] * SMALL_MATMUL_SIZE)
        return builder.shuffle_vector(one, ir.Constant(vector_type, ir.Undefined), zeros)

    @intrinsic
    def row(
        typingctx: TypingContext,
        out: Type,
        x: Type,
        x_step: Type,
        y: Type,
        y_step: Type,
        inner: Type,
        columns: Type,
    ) -> Any:
        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            out, x, x_step, y, y_step, inner, columns = args
            pointer, name = vector.as_pointer(), f"v{SMALL_MATMUL_SIZE}f{8 * size}"
            fused = function(builder, f"fmuladd.{name}", vector, *[vector] * 3)
            read = function(
                builder, f"masked.load.{name}.p0{name}", vector, pointer, word, mask_type, vector
            )
            write = function(
                builder,
                f"masked.store.{name}.p0{name}",
                ir.VoidType(),
                vector,
                pointer,
                word,
                mask_type,
            )
            steps = ir.Constant(index_type, list(range(SMALL_MATMUL_SIZE)))
            mask = builder.icmp_signed(
                "<", steps, broadcast(builder, builder.trunc(columns, word), index_type)
            )
            entry = builder.block
            loop, after = (builder.append_basic_block(name) for name in ("loop", "after"))
            builder.branch(loop)
            builder.position_at_end(loop)
            remaining, a, b, total = (builder.phi(kind) for kind in (INT64, INT64, INT64, vector))
            value = builder.load(builder.inttoptr(a, kind.as_pointer()))
            values = builder.call(
                read,
                [builder.inttoptr(b, pointer), word(size), mask, ir.Constant(vector, None)],
            )
            product = builder.call(fused, [broadcast(builder, value, vector), values, total])
            next_remaining = builder.sub(remaining, INT64(1))
            next_addresses = builder.add(a, x_step), builder.add(b, y_step)
            for block, incoming in (
                (entry, (inner, x, y, ir.Constant(vector, None))),
                (loop, (next_remaining, *next_addresses, product)),
            ):
                for phi, incomer in zip((remaining, a, b, total), incoming, strict=True):
                    phi.add_incoming(incomer, block)
            builder.cbranch(builder.icmp_signed(">", next_remaining, INT64(0)), loop, after)
            builder.position_at_end(after)
            builder.call(write, [product, builder.inttoptr(out, pointer), word(size), mask])
            return context.get_dummy_value()

        return types.void(*[types.intp] * 7), codegen

    return row


def product(dtype: str) -> Any:
    """``out = x @ y`` for each of a batch; a unit is a matrix. Parameters: of `arrays.gemm`."""
    at, size, multiply_row = POINTERS[dtype], ITEM[dtype], row_multiplier(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, transposed = number(parameters), _transposed_memory()
        rows, columns, inner = p[ROWS], p[COLUMNS], p[INNER]
        # Byte steps along a row of x, and from row to row.
        column_step, row_step = size, p[X_ROW] * size
        if p[LETTERS + 1] == TRANSPOSED:
            column_step, row_step = row_step, column_step
        is_transposed = p[LETTERS] == TRANSPOSED and inner > 1
        # Rows of the transposed copy of y are contiguous. If ``inner`` is 1, y is a contiguous row.
        y_row = (columns if p[LETTERS] == TRANSPOSED else p[Y_ROW]) * size
        for batch in range(begin, end):
            x, y = x_ + batch * p[STEPS], y_ + batch * p[STEPS + 1]
            out = out_ + batch * p[STEPS + 2]
            if is_transposed:
                target, source = at(transposed), at(y)
                for j in range(columns):
                    for k in range(inner):
                        target[k * columns + j] = source[j * p[Y_ROW] + k]
                y = transposed
            for i in range(rows):
                multiply_row(
                    out + i * columns * size,
                    x + i * row_step,
                    column_step,
                    y,
                    y_row,
                    inner,
                    columns,
                )

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {"product": product}
