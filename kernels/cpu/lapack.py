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
from .blas import call, hold, release

number, word = POINTERS["int64"], POINTERS["int32"]

# Byte offsets of parameters.
N, T, U, L, R, A, S = (8 * LAPACK_LETTERS.index(letter) for letter in "NTULRAS")
ONE, STEP = 8 * len(LAPACK_LETTERS), 8 * len(LAPACK_LETTERS) + 8
# Functions that get and set the number of threads (0: leave it), and the words of `blas`.
ASK, SET, HELD = 9, 10, 11
HEADER = 12
TILE = 16

_scratch = stack(64)


def _helpers(dtype: str) -> tuple[Any, Any, Any]:
    """Functions that transpose a matrix, copy numbers, and write NaN."""
    at, kind = POINTERS[dtype], getattr(types, dtype)

    def turn(out_: int, x_: int, rows: int, columns: int) -> None:
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

    def fail(out_: int, count: int) -> None:
        out, zero = at(out_), kind(0)
        for k in range(count):
            out[k] = zero / zero

    return jit(turn), jit(copy), jit(fail)


def _alone(kernel: Callable[..., Any]) -> Any:
    """Run a kernel with LAPACK limited to one thread: sharing small matrices takes longer."""
    inner = jit(kernel)

    def alone(out: int, x: int, y: int, z: int, parameters: int, begin: int, end: int) -> None:
        p = number(parameters)
        if p[ASK]:
            hold(p[ASK], p[SET], p[HELD])
        inner(out, x, y, z, parameters, begin, end)
        if p[ASK]:
            release(p[SET], p[HELD])

    return alone


def cholesky(dtype: str) -> Any:
    """Lower factors. Parameters: potrf, n."""
    at, kind, size = POINTERS[dtype], getattr(types, dtype), getattr(types, dtype).bitwidth // 8
    _, _, fail = _helpers(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, info = number(parameters), _scratch()
        n = p[HEADER + 1]
        for b in range(begin, end):
            here = out_ + b * n * n * size
            out, x = at(here), at(x_ + b * n * n * size)
            for i in range(n):
                for j in range(i + 1):
                    out[i * n + j] = x[i * n + j]
                for j in range(i + 1, n):
                    out[i * n + j] = kind(0)
            count = parameters + 8 * (HEADER + 1)
            call(p[HEADER], (parameters + U, count, here, count, info))
            if word(info)[0] != 0:
                fail(here, n * n)

    return _alone(kernel)


def cholesky_grad(dtype: str) -> Any:
    """Adjoints of matrices from factors and their adjoints. Parameters: trmm, trsm, n."""
    at, kind, size = POINTERS[dtype], getattr(types, dtype), getattr(types, dtype).bitwidth // 8
    _, copy, _ = _helpers(dtype)

    def halve(out_: int, n: int) -> None:
        """Halve the lower triangle, and mirror it above the diagonal."""
        out, half = at(out_), kind(0.5)
        for i0 in range(0, n, TILE):
            for j0 in range(0, i0 + 1, TILE):
                for i in range(i0, min(n, i0 + TILE)):
                    for j in range(j0, min(i + 1, j0 + TILE)):
                        value = half * out[i * n + j]
                        out[i * n + j] = value
                        out[j * n + i] = value

    halved = jit(halve)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, q = number(parameters), parameters
        n, count = p[HEADER + 2], q + 8 * (HEADER + 2)
        for b in range(begin, end):
            step = b * n * n * size
            out, y = out_ + step, y_ + step
            copy(out, x_ + step, n * n)
            sizes = (count, count, q + ONE, y, count, out, count)
            call(p[HEADER], (q + R, q + U, q + T, q + N, *sizes))
            halved(out, n)
            call(p[HEADER + 1], (q + L, q + U, q + N, q + N, *sizes))
            call(p[HEADER + 1], (q + R, q + U, q + T, q + N, *sizes))

    return _alone(kernel)


def factor(dtype: str) -> Any:
    """LU factors by columns, then the pivot row of each step. Parameters: getrf, n."""
    at, kind, size = POINTERS[dtype], getattr(types, dtype), getattr(types, dtype).bitwidth // 8
    turn, _, _ = _helpers(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, info = number(parameters), _scratch()
        n, count = p[HEADER + 1], parameters + 8 * (HEADER + 1)
        for b in range(begin, end):
            here = out_ + b * (n * n + n) * size
            turn(here, x_ + b * n * n * size, n, n)
            # Convert the 32-bit pivots to floats in place, from the last one on.
            places = here + n * n * size
            call(p[HEADER], (count, count, here, count, places, info))
            for k in range(n - 1, -1, -1):
                at(places)[k] = kind(word(places)[k] - 1)

    return _alone(kernel)


def lu_solve(dtype: str) -> Any:
    """Solve with factors of `factor`. Parameters: trsm, trsv, n, k, adjoint, identity."""
    at, kind, size = POINTERS[dtype], getattr(types, dtype), getattr(types, dtype).bitwidth // 8
    _, copy, _ = _helpers(dtype)

    def exchange(out_: int, places_: int, n: int, k: int, backward: int) -> None:
        out, places = at(out_), at(places_)
        for step in range(n):
            i = n - 1 - step if backward else step
            other = int(places[i])
            if other != i:
                for j in range(k):
                    saved = out[i * k + j]
                    out[i * k + j] = out[other * k + j]
                    out[other * k + j] = saved

    exchanged = jit(exchange)

    def identity(out_: int, n: int) -> None:
        out = at(out_)
        for k in range(n * n):
            out[k] = kind(0)
        for k in range(n):
            out[k * n + k] = kind(1)

    identical = jit(identity)

    def solve(p_: int, a: int, out: int, upper: int, adjoint: int) -> None:
        p = number(p_)
        n, k = p_ + 8 * (HEADER + 2), p_ + 8 * (HEADER + 3)
        uplo, diag = (p_ + U, p_ + N) if upper else (p_ + L, p_ + U)
        if p[HEADER + 3] == 1:
            turned = p_ + T if adjoint else p_ + N
            call(p[HEADER + 1], (uplo, turned, diag, n, a, n, out, p_ + STEP))
        else:
            turned = p_ + N if adjoint else p_ + T
            call(p[HEADER], (p_ + R, uplo, turned, diag, k, n, p_ + ONE, a, n, out, k))

    solved = jit(solve)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p = number(parameters)
        n, k, adjoint = p[HEADER + 2], p[HEADER + 3], p[HEADER + 4]
        for b in range(begin, end):
            here, a = out_ + b * n * k * size, y_ + b * (n * n + n) * size
            places = a + n * n * size
            if p[HEADER + 5]:
                identical(here, n)
            else:
                copy(here, z_ + b * n * k * size, n * k)
            if not adjoint:
                exchanged(here, places, n, k, 0)
            solved(parameters, a, here, adjoint, adjoint)
            solved(parameters, a, here, 1 - adjoint, adjoint)
            if adjoint:
                exchanged(here, places, n, k, 1)

    return _alone(kernel)


def triangular_solve(dtype: str) -> Any:
    """Solve with triangles. Parameters: trsm, trsv, n, k, lower, adjoint."""
    size = getattr(types, dtype).bitwidth // 8
    _, copy, _ = _helpers(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, q = number(parameters), parameters
        n, k, adjoint = p[HEADER + 2], p[HEADER + 3], p[HEADER + 5]
        rows, columns = q + 8 * (HEADER + 2), q + 8 * (HEADER + 3)
        uplo = q + U if p[HEADER + 4] else q + L
        for b in range(begin, end):
            here, a = out_ + b * n * k * size, x_ + b * n * n * size
            copy(here, y_ + b * n * k * size, n * k)
            if k == 1:
                turned = q + N if adjoint else q + T
                call(p[HEADER + 1], (uplo, turned, q + N, rows, a, rows, here, q + STEP))
            else:
                turned = q + T if adjoint else q + N
                call(
                    p[HEADER],
                    (q + R, uplo, turned, q + N, columns, rows, q + ONE, a, rows, here, columns),
                )

    return _alone(kernel)


def svd(dtype: str) -> Any:
    """Singular values, U and V, packed.

    Parameters: gesdd, allocation, release, the byte offset of gesdd's letter in the parameters, m,
    n, k, columns of U, columns of V, the distance of rows of U.
    """
    at, size = POINTERS[dtype], getattr(types, dtype).bitwidth // 8
    turn, copy, fail = _helpers(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, q, info = number(parameters), parameters, _scratch()
        m, n, k, us, vs = (
            p[HEADER + 4],
            p[HEADER + 5],
            p[HEADER + 6],
            p[HEADER + 7],
            p[HEADER + 8],
        )
        rows, columns, inner = q + 8 * (HEADER + 4), q + 8 * (HEADER + 5), q + 8 * (HEADER + 9)
        job, one = q + p[HEADER + 3], info + 16
        number(info)[1] = -1
        # With -1, it returns the size of its workspace.
        call(
            p[HEADER],
            (job, columns, rows, x_, columns, x_, x_, columns, x_, inner, one, info + 8, x_, info),
        )
        room = int(at(one)[0]) + 64
        number(info)[1] = room
        workspace = call(p[HEADER + 1], (8 * 8 * k + size * (m * n + n * vs + room),))
        result_size = k + m * us + n * vs
        a = workspace + 8 * 8 * k
        v = a + size * m * n
        work = v + size * n * vs
        for b in range(begin, end):
            here = out_ + b * result_size * size
            if workspace == 0:
                fail(here, result_size)
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
                        here,
                        v,
                        columns,
                        here + k * size,
                        inner,
                        work,
                        info + 8,
                        workspace,
                        info,
                    ),
                )
                if word(info)[0] != 0:
                    fail(here, result_size)
                else:
                    turn(here + (k + m * us) * size, v, vs, n)
        call(p[HEADER + 2], (workspace,))

    return _alone(kernel)


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (cholesky, cholesky_grad, factor, lu_solve, triangular_solve, svd)
}
