"""Small systems of linear equations, several side by side: one matrix in each lane of vectors.

A call of LAPACK takes longer than the elimination of a matrix of 8 rows, so these kernels process
as many matrices together as a vector of `lanes.BYTES` has elements: LU factors with partial
pivoting (Golub and Van Loan, "Matrix Computations", algorithm 3.4.1), and solutions with them. The
factors are those of ``lapack.factor``: triangles by columns, then the pivot row of each step. A
unit of work is a group of matrices. In the last group, unused lanes repeat the last matrix, and are
not written. See `arrays` for the arguments of kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types

from ..constants import SMALL_SYSTEM_ROWS
from ..jit import POINTERS, jit, stack
from .lanes import BYTES, ITEM, lanes
from .products import transpose_into

number = POINTERS["int64"]

_block = stack(BYTES * SMALL_SYSTEM_ROWS * (SMALL_SYSTEM_ROWS + 1))
_column = stack(BYTES * SMALL_SYSTEM_ROWS)
_best = stack(BYTES)
_order = stack(8 * 16 * SMALL_SYSTEM_ROWS)


def _copy_functions(dtype: str) -> tuple[Any, Any]:
    """Functions that copy contiguous matrices into lanes, and back."""
    at, turn, width = POINTERS[dtype], transpose_into(dtype), BYTES // ITEM[dtype]

    def to_lanes(block_: int, source_: int, present: int, size: int) -> None:
        if present == width:
            turn(block_, source_, width, size)
        else:
            block, source = at(block_), at(source_)
            for lane in range(width):
                begin = min(lane, present - 1) * size
                for k in range(size):
                    block[k * width + lane] = source[begin + k]

    def from_lanes(target_: int, block_: int, present: int, size: int) -> None:
        if present == width:
            turn(target_, block_, size, width)
        else:
            target, block = at(target_), at(block_)
            for lane in range(present):
                for k in range(size):
                    target[lane * size + k] = block[k * width + lane]

    return jit(to_lanes), jit(from_lanes)


def factor(dtype: str) -> Any:
    """The kernel of LU factors. Parameters: n, the number of matrices."""
    size, width = ITEM[dtype], BYTES // ITEM[dtype]
    to_lanes, from_lanes = _copy_functions(dtype)
    does = lanes(dtype)
    subtract, divide, begin, larger = does.subtract, does.divide_unless_0, does.begin, does.larger
    any_at, swap_at, swap = does.any_at, does.swap_at, does.swap

    def eliminate(block: int, n: int) -> None:
        """Factor a block of n rows of vectors; the pivots of the steps follow in n vectors."""
        row, best = n * BYTES, _best()
        for k in range(n):
            top, place = block + k * row, block + n * row + k * BYTES
            pivot = top + k * BYTES
            begin(best, place, pivot, k)
            for i in range(k + 1, n):
                larger(best, place, block + i * row + k * BYTES, i)
            for i in range(k + 1, n):
                if any_at(place, i):
                    for j in range(n):
                        swap_at(top + j * BYTES, block + i * row + j * BYTES, place, i)
            for i in range(k + 1, n):
                here = block + i * row
                divide(here + k * BYTES, pivot)
                for j in range(k + 1, n):
                    subtract(here + j * BYTES, here + k * BYTES, top + j * BYTES)
        for i in range(n):
            for j in range(i):
                swap(block + i * row + j * BYTES, block + j * row + i * BYTES)

    eliminated = jit(eliminate)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, start: int, end: int) -> None:
        p, block = number(parameters), _block()
        n, count = p[0], p[1]
        for unit in range(start, end):
            first = unit * width
            present = min(width, count - first)
            to_lanes(block, x_ + first * n * n * size, present, n * n)
            eliminated(block, n)
            from_lanes(out_ + first * n * (n + 1) * size, block, present, n * (n + 1))

    return kernel


def lu_solve(dtype: str) -> Any:
    """Solve with factors. Parameters: n, the number of matrices, k, adjoint, identity."""
    at, kind = POINTERS[dtype], getattr(types, dtype)
    size, width = ITEM[dtype], BYTES // ITEM[dtype]
    to_lanes, _ = _copy_functions(dtype)
    does = lanes(dtype)
    subtract, divide = does.subtract, does.divide

    def find(order_: int, places_: int, n: int) -> None:
        """Compute the permutations: for each row of the factors, its row of the matrix."""
        order, places = number(order_), at(places_)
        for k in range(n):
            for lane in range(width):
                order[k * width + lane] = k
        for k in range(n):
            for lane in range(width):
                one, other = k * width + lane, int(places[k * width + lane]) * width + lane
                order[one], order[other] = order[other], order[one]

    def forward(block: int, x: int, n: int) -> None:
        """Solve with the factors as stored."""
        row = n * BYTES
        for j in range(n):
            for i in range(j + 1, n):
                subtract(x + i * BYTES, block + j * row + i * BYTES, x + j * BYTES)
        for j in range(n - 1, -1, -1):
            divide(x + j * BYTES, block + j * row + j * BYTES)
            for i in range(j):
                subtract(x + i * BYTES, block + j * row + i * BYTES, x + j * BYTES)

    def backward(block: int, x: int, n: int) -> None:
        """Solve with the transposed factors."""
        row = n * BYTES
        for i in range(n):
            for j in range(i):
                subtract(x + i * BYTES, block + i * row + j * BYTES, x + j * BYTES)
            divide(x + i * BYTES, block + i * row + i * BYTES)
        for i in range(n - 1, -1, -1):
            for j in range(i + 1, n):
                subtract(x + i * BYTES, block + i * row + j * BYTES, x + j * BYTES)

    find_pivot, solved, transposed = jit(find), jit(forward), jit(backward)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, block, column_, order_ = number(parameters), _block(), _column(), _order()
        n, count, k, adjoint, identity = p[0], p[1], p[2], p[3], p[4]
        order, column = number(order_), at(column_)
        for unit in range(begin, end):
            first = unit * width
            present = min(width, count - first)
            to_lanes(block, y_ + first * n * (n + 1) * size, present, n * (n + 1))
            find_pivot(order_, block + n * n * BYTES, n)
            right, out = at(z_ + first * n * k * size), at(out_ + first * n * k * size)
            for c in range(k):
                for i in range(n):
                    for lane in range(width):
                        place = i * width + lane
                        from_ = i if adjoint else order[place]
                        if identity:
                            column[place] = kind(from_ == c)
                        else:
                            column[place] = right[(min(lane, present - 1) * n + from_) * k + c]
                if adjoint:
                    transposed(block, column_, n)
                else:
                    solved(block, column_, n)
                for i in range(n):
                    for lane in range(present):
                        place = i * width + lane
                        to = order[place] if adjoint else i
                        out[(lane * n + to) * k + c] = column[place]

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {"factor": factor, "lu_solve": lu_solve}
