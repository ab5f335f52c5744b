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

_block_memory = stack(BYTES * SMALL_SYSTEM_ROWS * (SMALL_SYSTEM_ROWS + 1))
_column_memory = stack(BYTES * SMALL_SYSTEM_ROWS)
_best_memory = stack(BYTES)
_order_memory = stack(8 * 16 * SMALL_SYSTEM_ROWS)


def _copy_functions(dtype: str) -> tuple[Any, Any]:
    """Functions that copy contiguous matrices into lanes, and back."""
    at, transpose, width = POINTERS[dtype], transpose_into(dtype), BYTES // ITEM[dtype]

    def to_lanes(block_: int, source_: int, n_matrices: int, size: int) -> None:
        if n_matrices == width:
            transpose(block_, source_, width, size)
        else:
            block, source = at(block_), at(source_)
            for lane in range(width):
                begin = min(lane, n_matrices - 1) * size
                for k in range(size):
                    block[k * width + lane] = source[begin + k]

    def from_lanes(target_: int, block_: int, n_matrices: int, size: int) -> None:
        if n_matrices == width:
            transpose(target_, block_, size, width)
        else:
            target, block = at(target_), at(block_)
            for lane in range(n_matrices):
                for k in range(size):
                    target[lane * size + k] = block[k * width + lane]

    return jit(to_lanes), jit(from_lanes)


def factor(dtype: str) -> Any:
    """The kernel of LU factors. Parameters: n, the number of matrices."""
    size, width = ITEM[dtype], BYTES // ITEM[dtype]
    to_lanes, from_lanes = _copy_functions(dtype)
    ops = lanes(dtype)
    subtract, divide = ops.subtract, ops.divide_unless_0
    set_best, update_best = ops.set_best, ops.update_best
    any_at, swap_at, swap = ops.any_at, ops.swap_at, ops.swap

    def eliminate(block: int, n: int) -> None:
        """Factor a block of n rows of vectors; the pivots of the steps follow in n vectors."""
        row, best = n * BYTES, _best_memory()
        for k in range(n):
            top, pivot_rows = block + k * row, block + n * row + k * BYTES
            pivot = top + k * BYTES
            set_best(best, pivot_rows, pivot, k)
            for i in range(k + 1, n):
                update_best(best, pivot_rows, block + i * row + k * BYTES, i)
            for i in range(k + 1, n):
                if any_at(pivot_rows, i):
                    for j in range(n):
                        swap_at(top + j * BYTES, block + i * row + j * BYTES, pivot_rows, i)
            for i in range(k + 1, n):
                row_start = block + i * row
                divide(row_start + k * BYTES, pivot)
                for j in range(k + 1, n):
                    subtract(row_start + j * BYTES, row_start + k * BYTES, top + j * BYTES)
        for i in range(n):
            for j in range(i):
                swap(block + i * row + j * BYTES, block + j * row + i * BYTES)

    eliminate_block = jit(eliminate)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, start: int, end: int) -> None:
        p, block = number(parameters), _block_memory()
        n, count = p[0], p[1]
        for unit in range(start, end):
            first_matrix = unit * width
            n_matrices = min(width, count - first_matrix)
            to_lanes(block, x_ + first_matrix * n * n * size, n_matrices, n * n)
            eliminate_block(block, n)
            from_lanes(out_ + first_matrix * n * (n + 1) * size, block, n_matrices, n * (n + 1))

    return kernel


def lu_solve(dtype: str) -> Any:
    """Solve with factors. Parameters: n, the number of matrices, k, adjoint, identity."""
    at, kind = POINTERS[dtype], getattr(types, dtype)
    size, width = ITEM[dtype], BYTES // ITEM[dtype]
    to_lanes, _ = _copy_functions(dtype)
    ops = lanes(dtype)
    subtract, divide = ops.subtract, ops.divide

    def permute(order_: int, pivots_: int, n: int) -> None:
        """Compute the permutations: for each row of the factors, its row of the matrix."""
        order, pivots = number(order_), at(pivots_)
        for k in range(n):
            for lane in range(width):
                order[k * width + lane] = k
        for k in range(n):
            for lane in range(width):
                own_index = k * width + lane
                pivot_index = int(pivots[own_index]) * width + lane
                order[own_index], order[pivot_index] = order[pivot_index], order[own_index]

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

    find_permutation, solve, solve_transposed = jit(permute), jit(forward), jit(backward)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, block = number(parameters), _block_memory()
        column_, order_ = _column_memory(), _order_memory()
        n, count, k, adjoint, identity = p[0], p[1], p[2], p[3], p[4]
        order, column = number(order_), at(column_)
        for unit in range(begin, end):
            first_matrix = unit * width
            n_matrices = min(width, count - first_matrix)
            to_lanes(block, y_ + first_matrix * n * (n + 1) * size, n_matrices, n * (n + 1))
            find_permutation(order_, block + n * n * BYTES, n)
            right_side = at(z_ + first_matrix * n * k * size)
            out = at(out_ + first_matrix * n * k * size)
            for c in range(k):
                for i in range(n):
                    for lane in range(width):
                        lane_index = i * width + lane
                        source_row = i if adjoint else order[lane_index]
                        if identity:
                            column[lane_index] = kind(source_row == c)
                        else:
                            column[lane_index] = right_side[
                                (min(lane, n_matrices - 1) * n + source_row) * k + c
                            ]
                if adjoint:
                    solve_transposed(block, column_, n)
                else:
                    solve(block, column_, n)
                for i in range(n):
                    for lane in range(n_matrices):
                        lane_index = i * width + lane
                        target_row = order[lane_index] if adjoint else i
                        out[(lane * n + target_row) * k + c] = column[lane_index]

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {"factor": factor, "lu_solve": lu_solve}
