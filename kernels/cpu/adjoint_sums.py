"""Kernels of sums of adjoints: of slices among zeros, and of matrix products.

The operand x has the addresses of the operands; see `arrays` for the other arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..constants import MAX_RANK, SUM_INNER, SUM_TILE
from ..jit import POINTERS, jit, stack
from .arrays import (
    COLUMNS,
    INNER,
    LETTERS,
    MIN_SHARED_PRODUCTS,
    NOT_TRANSPOSED,
    OUT_ROW,
    ROWS,
    SCALARS,
    TRANSPOSED,
    X_ROW,
    Y_ROW,
    call_gemm,
    copy_scalars,
    scalars_memory,
)
from .blas import limit_threads, restore_threads
from .groups import copy

number = POINTERS["int64"]

_index_memory = stack(8 * MAX_RANK)

# Indices of the parameters of `slices`; the parts follow, each with the index of its first element
# in the result (-1: the next operand has it), the number of axes, and for each axis its count and
# the elements from one to the next.
N_PARTS, OUT_SIZE, UNIT_SIZE, HAS_BASE, PARTS = range(5)

# Indices of the parameters of `products`, after the scalars of `arrays.gemm`; the inner size of
# each product follows.
N_PRODUCTS, SUM_HAS_BASE, ONE, THREADS = range(SCALARS, SCALARS + 4)
INNER_SIZES = THREADS + 3
BETA = SCALARS - 2  # among the scalars
_PACKED_BYTES = SUM_TILE * SUM_INNER * 8

_left_memory, _right_memory = stack(_PACKED_BYTES), stack(_PACKED_BYTES)


def slices(dtype: str) -> Any:
    """The kernel that adds arrays to slices of zeros, or of the first operand, one by one.

    A unit is a range of elements of the result.
    """
    at = POINTERS[dtype]
    size = int(dtype[5:]) // 8

    @jit
    def add_run(out_: int, x_: int, first: int, count: int, step: int, low: int, high: int) -> None:
        """Add ``x`` to elements ``first + k * step`` of ``out``, if they are in a range."""
        out, x = at(out_), at(x_)
        if step > 0:
            begin = max(0, -((first - low) // step))
            end = min(count, -((first - high) // step))
        else:
            begin = max(0, -((high - 1 - first) // -step))
            end = min(count, (first - low) // -step + 1)
        if step == 1:
            for k in range(begin, end):
                out[first + k] += x[k]
        else:
            for k in range(begin, end):
                out[first + k * step] += x[k]

    @jit
    def add_part(
        out: int, x: int, first: int, axes_: int, n_axes: int, low: int, high: int
    ) -> None:
        """Add ``x`` to a slice of at least two axes."""
        axes, indices = number(axes_), number(_index_memory())
        inner, step = axes[2 * n_axes - 2], axes[2 * n_axes - 1]
        lowest, highest, runs = first, first, 1
        for k in range(1, n_axes):
            offset = (axes[2 * k] - 1) * axes[2 * k + 1]
            lowest, highest = lowest + min(0, offset), highest + max(0, offset)
            indices[k] = 0
            if k < n_axes - 1:
                runs *= axes[2 * k]
        begin, end, stride = 0, axes[0], axes[1]
        if stride > 0:  # skip what is out of range
            begin = max(0, -((highest - low) // stride))
            end = min(end, (high - 1 - lowest) // stride + 1)
        for outer in range(begin, end):
            place, source = first + outer * stride, x + outer * runs * inner * size
            for _ in range(runs):
                add_run(out, source, place, inner, step, low, high)
                source += inner * size
                k = n_axes - 2
                while k >= 1:
                    indices[k] += 1
                    place += axes[2 * k + 1]
                    if indices[k] < axes[2 * k]:
                        break
                    place -= axes[2 * k] * axes[2 * k + 1]
                    indices[k] = 0
                    k -= 1

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, operands, out = number(parameters), number(x_), at(out_)
        for unit in range(begin, end):
            low = unit * p[UNIT_SIZE]
            high = min(low + p[UNIT_SIZE], p[OUT_SIZE])
            operand = 0
            if p[HAS_BASE]:
                copy(out_ + low * size, operands[0] + low * size, size, high - low)
                operand = 1
            else:
                for k in range(low, high):
                    out[k] = 0
            word = PARTS
            for _ in range(p[N_PARTS]):
                x, first, n_axes = operands[operand], p[word], p[word + 1]
                operand += 1
                if first < 0:
                    first = number(operands[operand])[0]
                    operand += 1
                word += 2
                if n_axes == 1:
                    add_run(out_, x, first, p[word], p[word + 1], low, high)
                else:
                    add_part(out_, x, first, parameters + 8 * word, n_axes, low, high)
                word += 2 * n_axes

    return kernel


def products(dtype: str) -> Any:
    """The kernel that adds products of matrices, to the first operand if it has a base.

    A unit is a tile of the result. Matrices with a short inner axis are packed side by side, so
    that one call of BLAS adds many products.
    """
    at = POINTERS[dtype]
    size = int(dtype[5:]) // 8

    @jit
    def pack(target_: int, x_: int, first: int, length: int, inner: int, row: int) -> None:
        """Copy elements of a part of the outer axis, for each index of the inner axis.

        ``row`` is the length of a row of ``x`` along the outer axis; 0 if ``inner`` is the length.
        """
        target, x = at(target_), at(x_)
        for k in range(inner):
            if row > 0:
                for i in range(length):
                    target[k * length + i] = x[k * row + first + i]
            else:
                for i in range(length):
                    target[k * length + i] = x[(first + i) * inner + k]

    @jit
    def multiply_packed(scalars: int, left: int, right: int, inner: int, out: int) -> None:
        """Add the product of packed matrices to a tile."""
        p = number(scalars)
        letters, x_row, y_row = (p[LETTERS], p[LETTERS + 1]), p[X_ROW], p[Y_ROW]
        p[LETTERS], p[LETTERS + 1] = NOT_TRANSPOSED, TRANSPOSED
        p[INNER], p[X_ROW], p[Y_ROW] = inner, p[ROWS], p[COLUMNS]
        call_gemm(scalars, right, left, out)
        p[LETTERS], p[LETTERS + 1] = letters
        p[X_ROW], p[Y_ROW] = x_row, y_row

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, operands, scalars = number(parameters), number(x_), scalars_memory()
        copy_scalars(scalars, parameters)
        q, left, right = number(scalars), _left_memory(), _right_memory()
        rows, columns = p[ROWS], p[COLUMNS]
        is_x_transposed = p[LETTERS + 1] == TRANSPOSED
        is_y_transposed = p[LETTERS] == TRANSPOSED
        column_tiles = -(-columns // SUM_TILE)
        is_limited = p[THREADS] != 0 and rows * columns * SUM_INNER > MIN_SHARED_PRODUCTS
        if is_limited:
            limit_threads(p[THREADS], p[THREADS + 1], p[THREADS + 2])
        for unit in range(begin, end):
            i, j = unit // column_tiles * SUM_TILE, unit % column_tiles * SUM_TILE
            m, n = min(SUM_TILE, rows - i), min(SUM_TILE, columns - j)
            q[ROWS], q[COLUMNS] = m, n
            out = out_ + (i * p[OUT_ROW] + j) * size
            operand = 0
            q[BETA] = 0
            if p[SUM_HAS_BASE]:
                operand = 1
                for k in range(m):
                    skipped = (i + k) * columns + j
                    copy(out_ + skipped * size, operands[0] + skipped * size, size, n)
                q[BETA] = p[ONE]
            packed = 0
            for k in range(p[N_PRODUCTS]):
                x, y, inner = operands[operand], operands[operand + 1], p[INNER_SIZES + k]
                operand += 2
                if packed > 0 and packed + inner > SUM_INNER:
                    multiply_packed(scalars, left, right, packed, out)
                    q[BETA] = p[ONE]
                    packed = 0
                if inner >= SUM_INNER:
                    q[INNER] = inner
                    q[X_ROW] = rows if is_x_transposed else inner
                    q[Y_ROW] = inner if is_y_transposed else columns
                    x += i * size * (1 if is_x_transposed else inner)
                    y += j * size * (inner if is_y_transposed else 1)
                    call_gemm(scalars, y, x, out)
                    q[BETA] = p[ONE]
                else:
                    pack(left + packed * m * size, x, i, m, inner, rows if is_x_transposed else 0)
                    pack(
                        right + packed * n * size, y, j, n, inner, 0 if is_y_transposed else columns
                    )
                    packed += inner
            if packed > 0:
                multiply_packed(scalars, left, right, packed, out)
        if is_limited:
            restore_threads(p[THREADS + 1], p[THREADS + 2])

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {"slices": slices, "products": products}
