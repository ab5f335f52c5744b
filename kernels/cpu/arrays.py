"""Whole-array kernels: ``f(out, x, y, z, parameters, begin, end)``, all int64.

``parameters`` is the address of int64s that say what the shapes are; a kernel computes the units
of work from ``begin`` to ``end``. Each function here makes a kernel for dtypes, and `KERNELS`
has them by name. Who plans says how many units there are and what they take.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..functions import vector
from ..jit import INT64, POINTERS, jit
from . import reduce
from .sweep import copy

number, real = POINTERS["int64"], POINTERS["float64"]


@intrinsic
def call_gemm(typingctx: Any, p: Any, a: Any, b: Any, c: Any) -> Any:
    """Call the BLAS function at the address in ``p[0]``; ``p[1:11]`` are its scalars in order.

    Fortran takes addresses: of a letter, a 32-bit integer, a float. On a little-endian machine
    that of an int64 will do for all of them.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        p, a, b, c = args
        block = builder.inttoptr(p, INT64.as_pointer())
        at = [builder.gep(block, [INT64(k)]) for k in range(11)]
        function = builder.load(at[0])
        transa, transb, m, n, k, alpha, lda, ldb, beta, ldc = (
            builder.ptrtoint(place, INT64) for place in at[1:]
        )
        kind = ir.FunctionType(ir.VoidType(), [INT64] * 13)
        builder.call(
            builder.inttoptr(function, kind.as_pointer()),
            [transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc],
        )
        return context.get_dummy_value()

    return types.void(*[types.intp] * 4), codegen


def gemm() -> Any:
    """Products of matrices, ``out = x @ y`` for each of a batch; one unit of work.

    BLAS counts columns first, so it is asked for the transposed product. Parameters: what
    `call_gemm` wants, the bytes from one matrix to the next of x, y and out, and how many.
    """

    def kernel(
        out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int
    ) -> None:
        p = number(parameters)
        for k in range(p[14]):
            call_gemm(parameters, y_ + k * p[12], x_ + k * p[11], out_ + k * p[13])

    return kernel


# Rows of a matrix, one a unit. Their parameters are the length of a row, and epsilon as the bits
# of a float64.


def _by_rows(dtype: str, row: Any) -> Any:
    """The kernel that calls ``row(out, x, y, n, epsilon)`` with the addresses of each row."""
    size, call = getattr(types, dtype).bitwidth // 8, jit(row)

    def kernel(
        out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int
    ) -> None:
        n, epsilon = number(parameters)[0], real(parameters)[1]
        step = n * size
        for k in range(begin, end):
            call(out_ + k * step, x_ + k * step, y_ + k * step, n, epsilon)

    return kernel


def softmax(dtype: str) -> Any:
    """``exp(x) / sum(exp(x))`` of each row."""
    at, exp = POINTERS[dtype], vector.FUNCTIONS["exp"]
    total, largest = reduce.row_reducer("sum", dtype), reduce.row_reducer("max", dtype)

    def row(out_: int, x_: int, y_: int, n: int, epsilon: float) -> None:
        x, out = at(x_), at(out_)
        top = largest(x_, n)
        for j in range(n):
            out[j] = exp(x[j] - top)
        whole = total(out_, n)
        for j in range(n):
            out[j] = out[j] / whole

    return _by_rows(dtype, row)


def log_softmax(dtype: str) -> Any:
    """``x - log(sum(exp(x)))`` of each row."""
    at, exp, log = POINTERS[dtype], vector.FUNCTIONS["exp"], vector.FUNCTIONS["log"]
    total, largest = reduce.row_reducer("sum", dtype), reduce.row_reducer("max", dtype)

    def row(out_: int, x_: int, y_: int, n: int, epsilon: float) -> None:
        x, out = at(x_), at(out_)
        top = largest(x_, n)
        for j in range(n):
            out[j] = exp(x[j] - top)
        whole = log(total(out_, n))
        for j in range(n):
            out[j] = x[j] - top - whole

    return _by_rows(dtype, row)


def softmax_grad(dtype: str) -> Any:
    """``y * (g - sum(g * y))`` of each row, for the operands y and g."""
    at, total = POINTERS[dtype], reduce.row_reducer("sum", dtype)

    def row(out_: int, y_: int, g_: int, n: int, epsilon: float) -> None:
        y, g, out = at(y_), at(g_), at(out_)
        for j in range(n):
            out[j] = g[j] * y[j]
        whole = total(out_, n)
        for j in range(n):
            out[j] = y[j] * (g[j] - whole)

    return _by_rows(dtype, row)


def log_softmax_grad(dtype: str) -> Any:
    """``g - exp(y) * sum(g)`` of each row, for the operands y and g."""
    at, exp = POINTERS[dtype], vector.FUNCTIONS["exp"]
    total = reduce.row_reducer("sum", dtype)

    def row(out_: int, y_: int, g_: int, n: int, epsilon: float) -> None:
        y, g, out = at(y_), at(g_), at(out_)
        whole = total(g_, n)
        for j in range(n):
            out[j] = g[j] - exp(y[j]) * whole

    return _by_rows(dtype, row)


def _centring(dtype: str) -> Any:
    """A function that puts ``x - mean`` in ``out`` and returns ``1 / sqrt(variance + epsilon)``.

    ``out`` holds the squares meanwhile.
    """
    at, kind = POINTERS[dtype], getattr(types, dtype)
    total = reduce.row_reducer("sum", dtype)

    @jit
    def centre(out_: int, x_: int, n: int, epsilon: float) -> Any:
        x, out = at(x_), at(out_)
        mean = total(x_, n) / kind(n)
        for j in range(n):
            out[j] = (x[j] - mean) * (x[j] - mean)
        variance = total(out_, n) / kind(n)
        for j in range(n):
            out[j] = x[j] - mean
        return kind(1) / math.sqrt(variance + kind(epsilon))

    return centre


def normalize(dtype: str) -> Any:
    """``(x - mean) / sqrt(variance + epsilon)`` of each row."""
    at, centre = POINTERS[dtype], _centring(dtype)

    def row(out_: int, x_: int, y_: int, n: int, epsilon: float) -> None:
        out, scale = at(out_), centre(out_, x_, n, epsilon)
        for j in range(n):
            out[j] = out[j] * scale

    return _by_rows(dtype, row)


def normalize_grad(dtype: str) -> Any:
    """``r * (g - mean(g) - n * mean(g * n))``, for the operands x and g.

    Here n is what `normalize` makes of x, and r the factor it multiplies with.
    """
    at, kind, centre = POINTERS[dtype], getattr(types, dtype), _centring(dtype)
    total = reduce.row_reducer("sum", dtype)

    def row(out_: int, x_: int, g_: int, n: int, epsilon: float) -> None:
        x, g, out = at(x_), at(g_), at(out_)
        scale = centre(out_, x_, n, epsilon)
        mean = total(x_, n) / kind(n)
        for j in range(n):
            out[j] = g[j] * (out[j] * scale)
        along = total(out_, n) / kind(n)
        level = total(g_, n) / kind(n)
        for j in range(n):
            out[j] = scale * (g[j] - level - (x[j] - mean) * scale * along)

    return _by_rows(dtype, row)


# Taking slices by their indices, and adding them back. Indices were checked at the call; in a
# replay the check is a guard, which is looked at when all is computed, so bad ones come here:
# nothing is taken for them, and what was computed is thrown away.


def gather(index: str) -> Any:
    """``out[o, i] = x[o, y[i]]`` for x of shape (outer, size, inner); an outer index is a unit.

    Parameters: size, the number of indices, inner, and the bytes of an element.
    """
    indices = POINTERS[index]

    def kernel(
        out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int
    ) -> None:
        size, count = number(parameters)[0], number(parameters)[1]
        inner, item = number(parameters)[2], number(parameters)[3]
        step = inner * item
        taken = indices(y_)
        for k in range(begin, end):
            for i in range(count):
                j = types.intp(taken[i])
                if 0 <= j < size:
                    copy(out_ + (k * count + i) * step, x_ + (k * size + j) * step, item, inner)

    return kernel


def scatter_add(dtype: str, index: str) -> Any:
    """``out[o, y[i]] += x[o, i]``, from zeros; the derivative of `gather`, and its parameters."""
    at, indices, kind = POINTERS[dtype], POINTERS[index], getattr(types, dtype)
    item = kind.bitwidth // 8

    def kernel(
        out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int
    ) -> None:
        size, count, inner = number(parameters)[0], number(parameters)[1], number(parameters)[2]
        taken = indices(y_)
        for k in range(begin, end):
            out = at(out_ + k * size * inner * item)
            for j in range(size * inner):
                out[j] = kind(0)
            for i in range(count):
                x = at(x_ + (k * count + i) * inner * item)
                row = types.intp(taken[i])
                if 0 <= row < size:
                    sums = at(out_ + (k * size + row) * inner * item)
                    for j in range(inner):
                        sums[j] += x[j]

    return kernel


def pick(item: str, index: str) -> Any:
    """``out[k] = x[k, y[k]]`` for elements of the size of ``item``. A unit is a row.

    Its parameter is the length of a row.
    """
    at, indices = POINTERS[item], POINTERS[index]

    def kernel(
        out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int
    ) -> None:
        n = number(parameters)[0]
        out, x, taken = at(out_), at(x_), indices(y_)
        for k in range(begin, end):
            j = types.intp(taken[k])
            if 0 <= j < n:
                out[k] = x[k * n + j]

    return kernel


def place(item: str, index: str) -> Any:
    """``out[k, y[k]] = x[k]``, all else 0; the derivative of `pick`, and its parameter."""
    at, indices = POINTERS[item], POINTERS[index]

    def kernel(
        out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int
    ) -> None:
        n = number(parameters)[0]
        out, x, taken = at(out_), at(x_), indices(y_)
        for k in range(begin, end):
            for j in range(k * n, k * n + n):
                out[j] = 0
            i = types.intp(taken[k])
            if 0 <= i < n:
                out[k * n + i] = x[k]

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (gemm, softmax, log_softmax, softmax_grad, log_softmax_grad, normalize,
                     normalize_grad, gather, scatter_add, pick, place)
}  # fmt: skip
KERNELS |= {name: lambda dtype, name=name: reduce.axis(name, dtype) for name in reduce.COMBINE}
