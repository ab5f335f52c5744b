"""Gathers elements and slices by index, and places elements at an index.

A separate check rejects out-of-bounds indices; here they give zeros, and nothing is read for them.
Dtypes do not matter: kernels move words of 1 to 16 bytes, "uint8" to "uint128".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..constants import CUDA_UNROLL
from .pieces import index_functions, word_functions
from .target import KINDS, THREADS, cuda, device

if TYPE_CHECKING:
    from ..annotations import Array

INTEGER = KINDS["int64"]


def gather(word: str, size: str) -> Any:
    """``out[o, i] = x[o, y[i]]`` for x of shape (outer, size, inner), in words."""
    _, fetch, put, or_zeros = word_functions(word)
    number, quotient = index_functions(size)

    def source(
        t: int,
        size: int,
        count: int,
        inner: int,
        inner_factor: int,
        inner_shift: int,
        count_factor: int,
        count_shift: int,
        y: Array,
    ) -> Any:
        """Whether the index for word t is in bounds, and the position of its word in x."""
        row = quotient(t, inner, inner_factor, inner_shift)
        outer = quotient(row, count, count_factor, count_shift)
        index = INTEGER(y[number(row - number(outer * count))])
        in_bounds = 0 <= index < size
        at = number((outer * size + (index if in_bounds else 0)) * inner + number(t - row * inner))
        return in_bounds, at

    source = device(source)

    def kernel(
        n: int,
        size: int,
        count: int,
        inner: int,
        inner_factor: int,
        inner_shift: int,
        count_factor: int,
        count_shift: int,
        out: Array,
        x: Array,
        y: Array,
    ) -> None:
        a = INTEGER(cuda.blockIdx.x) * (CUDA_UNROLL * THREADS) + cuda.threadIdx.x
        while a < n:
            b, c, d = a + THREADS, a + 2 * THREADS, a + 3 * THREADS
            # Beyond the end, threads read the last word, so that no load waits for a branch.
            in_a, from_a = source(
                a, size, count, inner, inner_factor, inner_shift, count_factor, count_shift, y
            )
            in_b, from_b = source(
                min(b, n - 1),
                size,
                count,
                inner,
                inner_factor,
                inner_shift,
                count_factor,
                count_shift,
                y,
            )
            in_c, from_c = source(
                min(c, n - 1),
                size,
                count,
                inner,
                inner_factor,
                inner_shift,
                count_factor,
                count_shift,
                y,
            )
            in_d, from_d = source(
                min(d, n - 1),
                size,
                count,
                inner,
                inner_factor,
                inner_shift,
                count_factor,
                count_shift,
                y,
            )
            word_a, word_b = fetch(x, from_a), fetch(x, from_b)
            word_c, word_d = fetch(x, from_c), fetch(x, from_d)
            put(out, a, or_zeros(in_a, word_a))
            if b < n:
                put(out, b, or_zeros(in_b, word_b))
            if c < n:
                put(out, c, or_zeros(in_c, word_c))
            if d < n:
                put(out, d, or_zeros(in_d, word_d))
            a += INTEGER(cuda.gridDim.x) * (CUDA_UNROLL * THREADS)

    return kernel


def pick(word: str) -> Any:
    """``out[k] = x[k, y[k]]``; rows have ``n`` elements."""
    zero = KINDS[word](0)

    def kernel(units: int, n: int, out: Array, x: Array, y: Array) -> None:
        k = cuda.grid(1)
        while k < units:
            j = INTEGER(y[k])
            out[k] = x[k * n + j] if 0 <= j < n else zero
            k += cuda.gridsize(1)

    return kernel


def place(word: str, size: str) -> Any:
    """``out[k, y[k]] = x[k]``, with zeros elsewhere; rows have ``n`` elements."""
    zero = KINDS[word](0)
    _, quotient = index_functions(size)

    def kernel(units: int, n: int, factor: int, shift: int, out: Array, x: Array, y: Array) -> None:
        t = cuda.grid(1)
        while t < units:
            k = quotient(t, n, factor, shift)
            out[t] = x[k] if INTEGER(y[k]) == t - k * n else zero
            t += cuda.gridsize(1)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (gather, pick, place)
}
