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

_turned = stack(8 * SMALL_MATMUL_SIZE * SMALL_MATMUL_SIZE)


def row_of(dtype: str) -> Any:
    """A function that computes a row of a product.

    ``row(out, x, x_step, y, y_step, inner, columns)``: the steps are bytes from one of the
    ``inner`` numbers of x, and of the rows of y, to the next.
    """
    kind, size = IR[dtype], ITEM[dtype]
    vector = ir.VectorType(kind, SMALL_MATMUL_SIZE)
    bits = ir.VectorType(ir.IntType(32), SMALL_MATMUL_SIZE)
    some = ir.VectorType(ir.IntType(1), SMALL_MATMUL_SIZE)
    word = ir.IntType(32)

    def function(builder: Builder, name: str, result: ir.Type, *parameters: ir.Type) -> Any:
        full_name = f"llvm.{name}"
        declared = builder.module.globals.get(full_name)
        return declared or ir.Function(
            builder.module, ir.FunctionType(result, parameters), full_name
        )

    def spread(builder: Builder, value: ir.Value, wide: ir.VectorType) -> Any:
        one = builder.insert_element(ir.Constant(wide, ir.Undefined), value, word(0))
        zeros = ir.Constant(bits, [0] * SMALL_MATMUL_SIZE)
        return builder.shuffle_vector(one, ir.Constant(wide, ir.Undefined), zeros)

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
                builder, f"masked.load.{name}.p0{name}", vector, pointer, word, some, vector
            )
            write = function(
                builder, f"masked.store.{name}.p0{name}", ir.VoidType(), vector, pointer, word, some
            )
            steps = ir.Constant(bits, list(range(SMALL_MATMUL_SIZE)))
            there = builder.icmp_signed(
                "<", steps, spread(builder, builder.trunc(columns, word), bits)
            )
            entry = builder.block
            loop, after = (builder.append_basic_block(name) for name in ("loop", "after"))
            builder.branch(loop)
            builder.position_at_end(loop)
            left, a, b, total = (builder.phi(kind) for kind in (INT64, INT64, INT64, vector))
            value = builder.load(builder.inttoptr(a, kind.as_pointer()))
            values = builder.call(
                read,
                [builder.inttoptr(b, pointer), word(size), there, ir.Constant(vector, None)],
            )
            product = builder.call(fused, [spread(builder, value, vector), values, total])
            fewer = builder.sub(left, INT64(1))
            further = builder.add(a, x_step), builder.add(b, y_step)
            for block, incoming in (
                (entry, (inner, x, y, ir.Constant(vector, None))),
                (loop, (fewer, *further, product)),
            ):
                for phi, incomer in zip((left, a, b, total), incoming, strict=True):
                    phi.add_incoming(incomer, block)
            builder.cbranch(builder.icmp_signed(">", fewer, INT64(0)), loop, after)
            builder.position_at_end(after)
            builder.call(write, [product, builder.inttoptr(out, pointer), word(size), there])
            return context.get_dummy_value()

        return types.void(*[types.intp] * 7), codegen

    return row


def product(dtype: str) -> Any:
    """``out = x @ y`` for each of a batch; a unit is a matrix. Parameters: of `arrays.gemm`."""
    at, size, row = POINTERS[dtype], ITEM[dtype], row_of(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, turned = number(parameters), _turned()
        rows, columns, inner = p[ROWS], p[COLUMNS], p[INNER]
        # Byte steps along a row of x, and from row to row.
        along, down = size, p[X_ROW] * size
        if p[LETTERS + 1] == TRANSPOSED:
            along, down = down, along
        turns = p[LETTERS] == TRANSPOSED and inner > 1
        # Rows of the transposed copy of y are contiguous. If ``inner`` is 1, y is a contiguous row.
        y_row = (columns if p[LETTERS] == TRANSPOSED else p[Y_ROW]) * size
        for batch in range(begin, end):
            x, y = x_ + batch * p[STEPS], y_ + batch * p[STEPS + 1]
            out = out_ + batch * p[STEPS + 2]
            if turns:
                to, source = at(turned), at(y)
                for j in range(columns):
                    for k in range(inner):
                        to[k * columns + j] = source[j * p[Y_ROW] + k]
                y = turned
            for i in range(rows):
                row(out + i * columns * size, x + i * down, along, y, y_row, inner, columns)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {"product": product}
