"""Whole-array kernels: ``f(out, x, y, z, parameters, begin, end)``, all int64.

``parameters`` is the address of int64s that describe the shapes; a kernel computes the units of
work from ``begin`` to ``end``. Each function here makes a kernel for dtypes, and `KERNELS` has them
by name. The planner computes the number of units and their cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from numba import types

from ..functions import vector
from ..jit import POINTERS, inline, jit, stack
from . import reduce
from .blas import call, limit_threads, restore_threads
from .groups import copy

if TYPE_CHECKING:
    from ..annotations import Array, Number

number, real = POINTERS["int64"], POINTERS["float64"]


# Indices of the parameters of `gemm`: the function; its scalars in order (two letters, three sizes,
# 1, two lengths of rows, 0, another length); the bytes from one matrix to the next of x, y and out;
# the number of matrices; the bytes of an element; rows and columns of a tile; the addresses that
# limit BLAS to one thread (0: no limit).
(GEMM, LETTERS, COLUMNS, ROWS, INNER, Y_ROW, X_ROW, OUT_ROW) = (0, 1, 3, 4, 5, 7, 8, 10)
SCALARS, STEPS, BATCHES, ITEM, TILE_ROWS, TILE_COLUMNS = (11, 11, 14, 15, 16, 17)
GET_THREADS, SET_THREADS, LIMIT_WORDS = (18, 19, 20)
MIN_SHARED_PRODUCTS = 1 << 18  # multiplications from which BLAS would use several threads
TRANSPOSED, NOT_TRANSPOSED = ord("T"), ord("N")
scalars_memory = stack(8 * SCALARS)


@inline
def copy_scalars(scalars: int, parameters: int) -> None:
    """Copy the function and the scalars, because the caller changes some of them."""
    for k in range(SCALARS):
        number(scalars)[k] = number(parameters)[k]


@inline
def call_gemm(p: int, a: int, b: int, c: int) -> None:
    """Call BLAS with the function and the scalars at ``p``.

    Fortran takes addresses of a letter, a 32-bit integer or a float. On a little-endian machine the
    address of an int64 serves for all of them.
    """
    call(
        number(p)[GEMM],
        (
            p + 8,
            p + 16,
            p + 24,
            p + 32,
            p + 40,
            p + 48,
            a,
            p + 56,
            b,
            p + 64,
            p + 72,
            c,
            p + 80,
        ),
    )


def gemm() -> Any:
    """Products of matrices, ``out = x @ y`` for each of a batch.

    A unit is a tile of an output, and one call of BLAS, so the bits do not depend on which thread
    computes it. BLAS stores columns first, so it computes the transposed product.
    """

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, scalars = number(parameters), scalars_memory()
        copy_scalars(scalars, parameters)
        item = p[ITEM]
        n_row_tiles, n_column_tiles = -(-p[ROWS] // p[TILE_ROWS]), -(-p[COLUMNS] // p[TILE_COLUMNS])
        is_limited = (
            p[GET_THREADS] != 0 and p[TILE_ROWS] * p[TILE_COLUMNS] * p[INNER] > MIN_SHARED_PRODUCTS
        )
        if is_limited:
            limit_threads(p[GET_THREADS], p[SET_THREADS], p[LIMIT_WORDS])
        for unit in range(begin, end if p[GET_THREADS] != 0 else p[BATCHES]):
            batch = unit // (n_row_tiles * n_column_tiles)
            first_row = unit // n_column_tiles % n_row_tiles * p[TILE_ROWS]
            first_column = unit % n_column_tiles * p[TILE_COLUMNS]
            x, y = x_ + batch * p[STEPS], y_ + batch * p[STEPS + 1]
            x += first_row * item * (1 if p[LETTERS + 1] == TRANSPOSED else p[X_ROW])
            y += first_column * item * (p[Y_ROW] if p[LETTERS] == TRANSPOSED else 1)
            out = out_ + batch * p[STEPS + 2] + (first_row * p[OUT_ROW] + first_column) * item
            number(scalars)[ROWS] = min(p[TILE_ROWS], p[ROWS] - first_row)
            number(scalars)[COLUMNS] = min(p[TILE_COLUMNS], p[COLUMNS] - first_column)
            call_gemm(scalars, y, x, out)
        if is_limited:
            restore_threads(p[SET_THREADS], p[LIMIT_WORDS])

    return kernel


# Kernels of rows of a matrix; a unit is a row. Parameters: the length of a row, and epsilon as the
# bits of a float64.


def _row_kernel(dtype: str, row: Callable[..., Any]) -> Any:
    """The kernel that calls ``row(out, x, y, n, epsilon)`` with the addresses of each row."""
    size, call = getattr(types, dtype).bitwidth // 8, jit(row)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
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
        row_max = largest(x_, n)
        for j in range(n):
            out[j] = exp(x[j] - row_max)
        row_sum = total(out_, n)
        for j in range(n):
            out[j] = out[j] / row_sum

    return _row_kernel(dtype, row)


def log_softmax(dtype: str) -> Any:
    """``x - log(sum(exp(x)))`` of each row."""
    at, exp, log = POINTERS[dtype], vector.FUNCTIONS["exp"], vector.FUNCTIONS["log"]
    total, largest = reduce.row_reducer("sum", dtype), reduce.row_reducer("max", dtype)

    def row(out_: int, x_: int, y_: int, n: int, epsilon: float) -> None:
        x, out = at(x_), at(out_)
        row_max = largest(x_, n)
        for j in range(n):
            out[j] = exp(x[j] - row_max)
        log_total = log(total(out_, n))
        for j in range(n):
            out[j] = x[j] - row_max - log_total

    return _row_kernel(dtype, row)


@jit
def _index_of(x: Array, value: Number) -> int:
    """The first index of a value that is in ``x``."""
    j = 0
    while x[j] != value:
        j += 1
    return j


def softmax_grad(dtype: str) -> Any:
    """``y * (g - sum(g * y))`` of each row, for the operands y and g.

    If a y is nearly 1, its adjoint is subtracted from all: this leaves terms with the other y,
    which keep their digits.
    """
    at, kind, total = POINTERS[dtype], getattr(types, dtype), reduce.row_reducer("sum", dtype)
    largest = reduce.row_reducer("max", dtype)

    def row(out_: int, y_: int, g_: int, n: int, epsilon: float) -> None:
        y, g, out = at(y_), at(g_), at(out_)
        row_max, base = largest(y_, n), kind(0)
        if row_max > kind(0.5):
            base = g[_index_of(y, row_max)]
        for j in range(n):
            out[j] = (g[j] - base) * y[j]
        weighted_sum = total(out_, n)
        for j in range(n):
            out[j] = y[j] * ((g[j] - base) - weighted_sum)

    return _row_kernel(dtype, row)


def log_softmax_grad(dtype: str) -> Any:
    """``g - exp(y) * sum(g)`` of each row, for the operands y and g.

    If an exp(y) is nearly 1, ``1 - exp(y)`` is the sum of the others, which keeps its digits.
    """
    at, kind, exp = POINTERS[dtype], getattr(types, dtype), vector.FUNCTIONS["exp"]
    total, largest = reduce.row_reducer("sum", dtype), reduce.row_reducer("max", dtype)
    half = math.log(0.5)

    def row(out_: int, y_: int, g_: int, n: int, epsilon: float) -> None:
        y, g, out = at(y_), at(g_), at(out_)
        g_total, row_max = total(g_, n), largest(y_, n)
        if row_max > kind(half):
            max_index = _index_of(y, row_max)
            for j in range(n):
                out[j] = g[j]
            out[max_index] = 0
            other_adjoints = total(out_, n)
            for j in range(n):
                out[j] = exp(y[j])
            max_power = out[max_index]
            out[max_index] = 0
            other_powers = total(out_, n)
            for j in range(n):
                out[j] = g[j] - out[j] * g_total
            out[max_index] = g[max_index] * other_powers - max_power * other_adjoints
        else:
            for j in range(n):
                out[j] = g[j] - exp(y[j]) * g_total

    return _row_kernel(dtype, row)


def _row_centering(dtype: str) -> Any:
    """A function that writes ``x - mean`` to ``out`` and returns ``1 / sqrt(variance + epsilon)``.

    ``out`` is scratch memory for the squares.
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
    at, centre = POINTERS[dtype], _row_centering(dtype)

    def row(out_: int, x_: int, y_: int, n: int, epsilon: float) -> None:
        out, scale = at(out_), centre(out_, x_, n, epsilon)
        for j in range(n):
            out[j] = out[j] * scale

    return _row_kernel(dtype, row)


def normalize_grad(dtype: str) -> Any:
    """``r * (g - mean(g) - n * mean(g * n))``, for the operands x and g.

    Here n is the result of `normalize` for x, and r its factor ``1 / sqrt(variance + epsilon)``.
    """
    at, kind, centre = POINTERS[dtype], getattr(types, dtype), _row_centering(dtype)
    total = reduce.row_reducer("sum", dtype)

    def row(out_: int, x_: int, g_: int, n: int, epsilon: float) -> None:
        x, g, out = at(x_), at(g_), at(out_)
        scale = centre(out_, x_, n, epsilon)
        mean = total(x_, n) / kind(n)
        for j in range(n):
            out[j] = g[j] * (out[j] * scale)
        projection = total(out_, n) / kind(n)
        g_mean = total(g_, n) / kind(n)
        for j in range(n):
            out[j] = scale * (g[j] - g_mean - (x[j] - mean) * scale * projection)

    return _row_kernel(dtype, row)


# Gathers and scatters by index. Eager calls check indices first. In a replay the check is a guard,
# which is compared after the computation, so the kernels skip or clip invalid indices, and the
# result is discarded.


def gather(index: str) -> Any:
    """``out[o, i] = x[o, y[i]]`` for x of shape (outer, size, inner); an outer index is a unit.

    Parameters: size, the number of indices, inner, and the bytes of an element.
    """
    indices = POINTERS[index]
    u32, u64 = POINTERS["uint32"], POINTERS["uint64"]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        size, count = number(parameters)[0], number(parameters)[1]
        inner, item = number(parameters)[2], number(parameters)[3]
        step = inner * item
        positions = indices(y_)
        for k in range(begin, end):
            if inner == 1 and size > 0 and item == 4:
                out4, x4 = u32(out_ + k * count * item), u32(x_ + k * size * item)
                for i in range(count):
                    out4[i] = x4[min(max(types.intp(positions[i]), 0), size - 1)]
                continue
            if inner == 1 and size > 0 and item == 8:
                out8, x8 = u64(out_ + k * count * item), u64(x_ + k * size * item)
                for i in range(count):
                    out8[i] = x8[min(max(types.intp(positions[i]), 0), size - 1)]
                continue
            for i in range(count):
                j = types.intp(positions[i])
                if 0 <= j < size:
                    copy(out_ + (k * count + i) * step, x_ + (k * size + j) * step, item, inner)

    return kernel


def scatter_add(dtype: str, index: str) -> Any:
    """``out[o, y[i]] += x[o, i]``, from zeros: the VJP of `gather`, with the same parameters."""
    at, indices, kind = POINTERS[dtype], POINTERS[index], getattr(types, dtype)
    item = kind.bitwidth // 8

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        size, count, inner = number(parameters)[0], number(parameters)[1], number(parameters)[2]
        positions = indices(y_)
        for k in range(begin, end):
            out = at(out_ + k * size * inner * item)
            for j in range(size * inner):
                out[j] = kind(0)
            if inner == 1:
                # A sum of equal neighbours stays in a register: loads need not wait for stores.
                x, current, total = at(x_ + k * count * item), -1, kind(0)
                for i in range(count):
                    row = types.intp(positions[i])
                    if row == current:
                        total += x[i]
                    elif 0 <= row < size:
                        if current >= 0:
                            out[current] = total
                        current, total = row, out[row] + x[i]
                if current >= 0:
                    out[current] = total
                continue
            for i in range(count):
                x = at(x_ + (k * count + i) * inner * item)
                row = types.intp(positions[i])
                if 0 <= row < size:
                    sums = at(out_ + (k * size + row) * inner * item)
                    for j in range(inner):
                        sums[j] += x[j]

    return kernel


def pick(item: str, index: str) -> Any:
    """``out[k] = x[k, y[k]]`` for elements of the size of ``item``. A unit is a row.

    Parameter: the length of a row.
    """
    at, indices = POINTERS[item], POINTERS[index]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        n = number(parameters)[0]
        out, x, positions = at(out_), at(x_), indices(y_)
        for k in range(begin, end):
            j = types.intp(positions[k])
            if 0 <= j < n:
                out[k] = x[k * n + j]

    return kernel


def place(item: str, index: str) -> Any:
    """``out[k, y[k]] = x[k]``, all else 0: the VJP of `pick`, with the same parameter."""
    at, indices = POINTERS[item], POINTERS[index]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        n = number(parameters)[0]
        out, x, positions = at(out_), at(x_), indices(y_)
        for k in range(begin, end):
            for j in range(k * n, k * n + n):
                out[j] = 0
            i = types.intp(positions[k])
            if 0 <= i < n:
                out[k * n + i] = x[k]

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        gemm,
        softmax,
        log_softmax,
        softmax_grad,
        log_softmax_grad,
        normalize,
        normalize_grad,
        gather,
        scatter_add,
        pick,
        place,
    )
}
KERNELS |= {
    f"{name}_{part}": partial(function, name)
    for name in reduce.COMBINE
    for part, function in reduce.PARTS.items()
}
