"""Kernels that call LAPACK and BLAS on each matrix of a batch; see `arrays` for their arguments.

Fortran stores columns first, so it reads a matrix as its transpose. Parameters are laid out by
`numtape.core.cpu.blas`: letters and numbers that are passed by address (on a little-endian machine
the address of an int64 also serves for a letter and for a 32-bit integer), then functions and
sizes. A unit of work is a matrix. A matrix that cannot be factored yields NaN everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types

from ..constants import LAPACK_LETTERS
from ..jit import POINTERS, jit, stack
from .blas import call, limit_threads, restore_threads

number, word = POINTERS["int64"], POINTERS["int32"]

# Byte offsets of parameters.
N, T, U, L, R, A, S = (8 * LAPACK_LETTERS.index(letter) for letter in "NTULRAS")
ONE, STEP = 8 * len(LAPACK_LETTERS), 8 * len(LAPACK_LETTERS) + 8
# Functions that get and set the number of threads (0: leave it), and the words of `blas`.
GET_THREADS, SET_THREADS, LIMIT_WORDS = 9, 10, 11
HEADER = 12
TILE = 16

_scratch = stack(64)


def _matrix_functions(dtype: str) -> tuple[Any, Any, Any]:
    """Functions that transpose a matrix, copy numbers, and write NaN."""
    at, kind = POINTERS[dtype], getattr(types, dtype)

    def transpose(out_: int, x_: int, rows: int, columns: int) -> None:
        out, x = at(out_), at(x_)
        for i0 in range(0, rows, TILE):
            for j0 in range(0, columns, TILE):
                for i in range(i0, min(rows, i0 + TILE)):
                    for j in range(j0, min(columns, j0 + TILE)):
                        out[j * rows + i] = x[i * columns + j]

    def copy(out_: int, x_: int, count: int) -> None:
        out, x = at(out_), at(x_)
        for k in range(count):
            out[k] = x[k]

    def fill_nan(out_: int, count: int) -> None:
        out, zero = at(out_), kind(0)
        for k in range(count):
            out[k] = zero / zero

    return jit(transpose), jit(copy), jit(fill_nan)


def _limit_to_one_thread(kernel: Callable[..., Any]) -> Any:
    """Run a kernel with LAPACK limited to one thread: sharing small matrices takes longer."""
    call_kernel = jit(kernel)

    def run_limited(
        out: int, x: int, y: int, z: int, parameters: int, begin: int, end: int
    ) -> None:
        p = number(parameters)
        if p[GET_THREADS]:
            limit_threads(p[GET_THREADS], p[SET_THREADS], p[LIMIT_WORDS])
        call_kernel(out, x, y, z, parameters, begin, end)
        if p[GET_THREADS]:
            restore_threads(p[SET_THREADS], p[LIMIT_WORDS])

    return run_limited


def cholesky(dtype: str) -> Any:
    """Lower factors. Parameters: potrf, n."""
    at, kind, size = POINTERS[dtype], getattr(types, dtype), getattr(types, dtype).bitwidth // 8
    _, _, fill_nan = _matrix_functions(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, info = number(parameters), _scratch()
        n = p[HEADER + 1]
        for b in range(begin, end):
            target = out_ + b * n * n * size
            out, x = at(target), at(x_ + b * n * n * size)
            for i in range(n):
                for j in range(i + 1):
                    out[i * n + j] = x[i * n + j]
                for j in range(i + 1, n):
                    out[i * n + j] = kind(0)
            count = parameters + 8 * (HEADER + 1)
            call(p[HEADER], (parameters + U, count, target, count, info))
            if word(info)[0] != 0:
                fill_nan(target, n * n)

    return _limit_to_one_thread(kernel)


def cholesky_grad(dtype: str) -> Any:
    """Adjoints of matrices from factors and their adjoints. Parameters: trmm, trsm, n."""
    at, kind, size = POINTERS[dtype], getattr(types, dtype), getattr(types, dtype).bitwidth // 8
    _, copy, _ = _matrix_functions(dtype)

    def symmetrize(out_: int, n: int) -> None:
        """Halve the lower triangle, and mirror it above the diagonal."""
        out, half = at(out_), kind(0.5)
        for i0 in range(0, n, TILE):
            for j0 in range(0, i0 + 1, TILE):
                for i in range(i0, min(n, i0 + TILE)):
                    for j in range(j0, min(i + 1, j0 + TILE)):
                        value = half * out[i * n + j]
                        out[i * n + j] = value
                        out[j * n + i] = value

    symmetrize_matrix = jit(symmetrize)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, q = number(parameters), parameters
        n, count = p[HEADER + 2], q + 8 * (HEADER + 2)
        for b in range(begin, end):
            step = b * n * n * size
            out, y = out_ + step, y_ + step
            copy(out, x_ + step, n * n)
            sizes = (count, count, q + ONE, y, count, out, count)
            call(p[HEADER], (q + R, q + U, q + T, q + N, *sizes))
            symmetrize_matrix(out, n)
            call(p[HEADER + 1], (q + L, q + U, q + N, q + N, *sizes))
            call(p[HEADER + 1], (q + R, q + U, q + T, q + N, *sizes))

    return _limit_to_one_thread(kernel)


def factor(dtype: str) -> Any:
    """LU factors by columns, then the pivot row of each step. Parameters: getrf, n."""
    at, kind, size = POINTERS[dtype], getattr(types, dtype), getattr(types, dtype).bitwidth // 8
    transpose, _, _ = _matrix_functions(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, info = number(parameters), _scratch()
        n, count = p[HEADER + 1], parameters + 8 * (HEADER + 1)
        for b in range(begin, end):
            factors = out_ + b * (n * n + n) * size
            transpose(factors, x_ + b * n * n * size, n, n)
            # Convert the 32-bit pivots to floats in place, from the last one on.
            pivots = factors + n * n * size
            call(p[HEADER], (count, count, factors, count, pivots, info))
            for k in range(n - 1, -1, -1):
                at(pivots)[k] = kind(word(pivots)[k] - 1)

    return _limit_to_one_thread(kernel)


def lu_solve(dtype: str) -> Any:
    """Solve with factors of `factor`. Parameters: trsm, trsv, n, k, adjoint, identity."""
    at, kind, size = POINTERS[dtype], getattr(types, dtype), getattr(types, dtype).bitwidth // 8
    _, copy, _ = _matrix_functions(dtype)

    def swap_rows(out_: int, pivots_: int, n: int, k: int, backward: int) -> None:
        out, pivots = at(out_), at(pivots_)
        for step in range(n):
            i = n - 1 - step if backward else step
            other = int(pivots[i])
            if other != i:
                for j in range(k):
                    saved = out[i * k + j]
                    out[i * k + j] = out[other * k + j]
                    out[other * k + j] = saved

    permute_rows = jit(swap_rows)

    def fill_identity(out_: int, n: int) -> None:
        out = at(out_)
        for k in range(n * n):
            out[k] = kind(0)
        for k in range(n):
            out[k * n + k] = kind(1)

    write_identity = jit(fill_identity)

    def solve(p_: int, a: int, out: int, upper: int, adjoint: int) -> None:
        p = number(p_)
        n, k = p_ + 8 * (HEADER + 2), p_ + 8 * (HEADER + 3)
        uplo, diag = (p_ + U, p_ + N) if upper else (p_ + L, p_ + U)
        if p[HEADER + 3] == 1:
            operation = p_ + T if adjoint else p_ + N
            call(p[HEADER + 1], (uplo, operation, diag, n, a, n, out, p_ + STEP))
        else:
            operation = p_ + N if adjoint else p_ + T
            call(p[HEADER], (p_ + R, uplo, operation, diag, k, n, p_ + ONE, a, n, out, k))

    solve_triangle = jit(solve)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p = number(parameters)
        n, k, adjoint = p[HEADER + 2], p[HEADER + 3], p[HEADER + 4]
        for b in range(begin, end):
            result, a = out_ + b * n * k * size, y_ + b * (n * n + n) * size
            pivots = a + n * n * size
            if p[HEADER + 5]:
                write_identity(result, n)
            else:
                copy(result, z_ + b * n * k * size, n * k)
            if not adjoint:
                permute_rows(result, pivots, n, k, 0)
            solve_triangle(parameters, a, result, adjoint, adjoint)
            solve_triangle(parameters, a, result, 1 - adjoint, adjoint)
            if adjoint:
                permute_rows(result, pivots, n, k, 1)

    return _limit_to_one_thread(kernel)


def triangular_solve(dtype: str) -> Any:
    """Solve with triangles. Parameters: trsm, trsv, n, k, lower, adjoint."""
    size = getattr(types, dtype).bitwidth // 8
    _, copy, _ = _matrix_functions(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, q = number(parameters), parameters
        n, k, adjoint = p[HEADER + 2], p[HEADER + 3], p[HEADER + 5]
        rows, columns = q + 8 * (HEADER + 2), q + 8 * (HEADER + 3)
        uplo = q + U if p[HEADER + 4] else q + L
        for b in range(begin, end):
            result, a = out_ + b * n * k * size, x_ + b * n * n * size
            copy(result, y_ + b * n * k * size, n * k)
            if k == 1:
                operation = q + N if adjoint else q + T
                call(p[HEADER + 1], (uplo, operation, q + N, rows, a, rows, result, q + STEP))
            else:
                operation = q + T if adjoint else q + N
                call(
                    p[HEADER],
                    (
                        q + R,
                        uplo,
                        operation,
                        q + N,
                        columns,
                        rows,
                        q + ONE,
                        a,
                        rows,
                        result,
                        columns,
                    ),
                )

    return _limit_to_one_thread(kernel)


def svd(dtype: str) -> Any:
    """Singular values, U and V, packed.

    Parameters: gesdd, allocation, release, the byte offset of gesdd's letter in the parameters, m,
    n, k, columns of U, columns of V, the distance of rows of U.
    """
    at, size = POINTERS[dtype], getattr(types, dtype).bitwidth // 8
    transpose, copy, fill_nan = _matrix_functions(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, q, info = number(parameters), parameters, _scratch()
        m = p[HEADER + 4]
        n = p[HEADER + 5]
        k = p[HEADER + 6]
        u_columns = p[HEADER + 7]
        v_columns = p[HEADER + 8]
        rows, columns, inner = q + 8 * (HEADER + 4), q + 8 * (HEADER + 5), q + 8 * (HEADER + 9)
        job, one = q + p[HEADER + 3], info + 16
        number(info)[1] = -1
        # With -1, it returns the size of its workspace.
        call(
            p[HEADER],
            (job, columns, rows, x_, columns, x_, x_, columns, x_, inner, one, info + 8, x_, info),
        )
        work_size = int(at(one)[0]) + 64
        number(info)[1] = work_size
        workspace = call(p[HEADER + 1], (8 * 8 * k + size * (m * n + n * v_columns + work_size),))
        result_size = k + m * u_columns + n * v_columns
        a = workspace + 8 * 8 * k
        v = a + size * m * n
        work = v + size * n * v_columns
        for b in range(begin, end):
            target = out_ + b * result_size * size
            if workspace == 0:
                fill_nan(target, result_size)
            else:
                copy(a, x_ + b * m * n * size, m * n)
                call(
                    p[HEADER],
                    (
                        job,
                        columns,
                        rows,
                        a,
                        columns,
                        target,
                        v,
                        columns,
                        target + k * size,
                        inner,
                        work,
                        info + 8,
                        workspace,
                        info,
                    ),
                )
                if word(info)[0] != 0:
                    fill_nan(target, result_size)
                else:
                    transpose(target + (k + m * u_columns) * size, v, v_columns, n)
        call(p[HEADER + 2], (workspace,))

    return _limit_to_one_thread(kernel)


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (cholesky, cholesky_grad, factor, lu_solve, triangular_solve, svd)
}
