"""Argmax and argmin along the middle axis of (outer, n, inner).

Of equal elements the first is chosen; NaN counts as the worst infinity. An axis may be cut into
stretches. The index of the extreme element of each stretch is then one of the ``candidates``, of
shape (outer, n_candidates, inner), for the next pass. In the first pass ``n_candidates`` is ``n``:
all elements are candidates, and ``candidates`` is not read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .target import KINDS, THREADS, cuda, device

if TYPE_CHECKING:
    from ..annotations import Array


def _comparison(name: str, dtype: str) -> Any:
    """A function that returns whether x is chosen over y whatever their positions."""
    real, end = dtype.startswith("float"), math.inf
    if name == "max":
        return device(
            (lambda x, y: x > y or (y != y and x > -end)) if real else (lambda x, y: x > y)
        )
    return device((lambda x, y: x < y or (y != y and x < end)) if real else (lambda x, y: x < y))


def columns(name: str, dtype: str) -> Any:
    """A thread processes a column of a stretch; ``out`` has shape (outer, stretches, inner)."""
    beats, integer = _comparison(name, dtype), KINDS["int64"]

    def kernel(
        outer: int,
        n: int,
        inner: int,
        n_candidates: int,
        stretches: int,
        x: Array,
        candidates: Array,
        out: Array,
    ) -> None:
        length = (n_candidates + stretches - 1) // stretches
        t = cuda.grid(1)
        while t < outer * stretches * inner:
            i = t % inner
            stretch_index = t // inner
            o = stretch_index // stretches
            k = stretch_index % stretches * length
            end = min(k + length, n_candidates)
            index, best = integer(-1), x[o * n * inner + i]
            while k < end:
                j = integer(
                    candidates[(o * n_candidates + k) * inner + i] if n_candidates < n else k
                )
                if j >= 0:
                    value = x[(o * n + j) * inner + i]
                    if index < 0 or beats(value, best):
                        index, best = j, value
                k += 1
            out[t] = index
            t += cuda.gridsize(1)

    return kernel


def rows(name: str, dtype: str) -> Any:
    """A block processes a stretch of a row, for inner = 1; ``out`` has shape (outer, stretches)."""
    beats, integer = _comparison(name, dtype), KINDS["int64"]

    def choose_index(x: Array, row: int, j: int, k: int) -> Any:
        """Choose between two indices; -1 stands for no candidate."""
        if j < 0 or k < 0:
            return max(j, k)
        if beats(x[row + j], x[row + k]):
            return j
        if beats(x[row + k], x[row + j]):
            return k
        return min(j, k)

    choose_index = device(choose_index)

    def kernel(
        outer: int,
        n: int,
        n_candidates: int,
        stretches: int,
        x: Array,
        candidates: Array,
        out: Array,
    ) -> None:
        shared = cuda.shared.array(THREADS, integer)
        thread = cuda.threadIdx.x
        length = (n_candidates + stretches - 1) // stretches
        unit = cuda.blockIdx.x
        while unit < outer * stretches:
            row = unit // stretches
            begin = unit % stretches * length
            end = min(begin + length, n_candidates)
            index, best = integer(-1), x[row * n]
            k = begin + thread
            while k < end:
                j = integer(candidates[row * n_candidates + k] if n_candidates < n else k)
                if j >= 0:
                    value = x[row * n + j]
                    if index < 0 or beats(value, best):
                        index, best = j, value
                k += THREADS
            shared[thread] = index
            cuda.syncthreads()
            half = THREADS // 2
            while half > 0:
                if thread < half:
                    shared[thread] = choose_index(x, row * n, shared[thread], shared[thread + half])
                cuda.syncthreads()
                half //= 2
            if thread == 0:
                out[unit] = shared[0]
            cuda.syncthreads()  # before the next round writes to shared memory
            unit += cuda.gridDim.x

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (rows, columns)
}
