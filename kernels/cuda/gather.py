"""Gathers elements and slices by index, and places elements at an index.

A separate check rejects out-of-bounds indices; here they give zeros, and nothing is read for them.
Dtypes do not matter: kernels move words of 1 to 16 bytes, "uint8" to "uint128".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..constants import CUDA_UNROLL
from .pieces import arithmetic, copying
from .target import KINDS, THREADS, cuda, device

if TYPE_CHECKING:
    from ..annotations import Array

INTEGER = KINDS["int64"]


def gather(word: str, size: str) -> Any:
    """``out[o, i] = x[o, y[i]]`` for x of shape (outer, size, inner), in words."""
    _, fetch, put, either = copying(word)
    number, quotient = arithmetic(size)

    def source(
        t: int,
        size: int,
        count: int,
        inner: int,
        by_inner: int,
        shift: int,
        by_count: int,
        count_shift: int,
        y: Array,
    ) -> Any:
        """Whether the index for word t is in bounds, and the position of its word in x."""
        row = quotient(t, inner, by_inner, shift)
        o = quotient(row, count, by_count, count_shift)
        index = INTEGER(y[number(row - number(o * count))])
        in_bounds = 0 <= index < size
        at = number((o * size + (index if in_bounds else 0)) * inner + number(t - row * inner))
        return in_bounds, at

    source = device(source)

    def kernel(
        n: int,
        size: int,
        count: int,
        inner: int,
        by_inner: int,
        shift: int,
        by_count: int,
        count_shift: int,
        out: Array,
        x: Array,
        y: Array,
    ) -> None:
        a = INTEGER(cuda.blockIdx.x) * (CUDA_UNROLL * THREADS) + cuda.threadIdx.x
        while a < n:
            b, c, d = a + THREADS, a + 2 * THREADS, a + 3 * THREADS
            # Beyond the end, threads read the last word, so that no load waits for a branch.
            in_a, from_a = source(a, size, count, inner, by_inner, shift, by_count, count_shift, y)
            in_b, from_b = source(
                min(b, n - 1), size, count, inner, by_inner, shift, by_count, count_shift, y
            )
            in_c, from_c = source(
                min(c, n - 1), size, count, inner, by_inner, shift, by_count, count_shift, y
            )
            in_d, from_d = source(
                min(d, n - 1), size, count, inner, by_inner, shift, by_count, count_shift, y
            )
            word_a, word_b = fetch(x, from_a), fetch(x, from_b)
            word_c, word_d = fetch(x, from_c), fetch(x, from_d)
            put(out, a, either(in_a, word_a))
            if b < n:
                put(out, b, either(in_b, word_b))
            if c < n:
                put(out, c, either(in_c, word_c))
            if d < n:
                put(out, d, either(in_d, word_d))
            a += INTEGER(cuda.gridDim.x) * (CUDA_UNROLL * THREADS)

    return kernel


def pick(word: str) -> Any:
    """``out[k] = x[k, y[k]]``; rows have ``n`` elements."""
    nothing = KINDS[word](0)

    def kernel(units: int, n: int, out: Array, x: Array, y: Array) -> None:
        k = cuda.grid(1)
        while k < units:
            j = INTEGER(y[k])
            out[k] = x[k * n + j] if 0 <= j < n else nothing
            k += cuda.gridsize(1)

    return kernel


def place(word: str, size: str) -> Any:
    """``out[k, y[k]] = x[k]``, with zeros elsewhere; rows have ``n`` elements."""
    nothing = KINDS[word](0)
    _, quotient = arithmetic(size)

    def kernel(units: int, n: int, factor: int, shift: int, out: Array, x: Array, y: Array) -> None:
        t = cuda.grid(1)
        while t < units:
            k = quotient(t, n, factor, shift)
            out[t] = x[k] if INTEGER(y[k]) == t - k * n else nothing
            t += cuda.gridsize(1)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (gather, pick, place)
}
