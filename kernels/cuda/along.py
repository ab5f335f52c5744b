"""Reductions along the middle axis of (outer, n, inner), which may be cut into stretches.

The results of stretches are reduced again. The order of additions depends on the shape alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..constants import CUDA_VECTOR
from .reduce import COMBINE, identity
from .target import KINDS, cuda, device, load, store
from .tiling import make_fetch, parse_tiling, reduce_row

if TYPE_CHECKING:
    from ..annotations import Array


def rows(name: str, dtype: str, tiling_text: str) -> Any:
    """Compute ``out[k, s]`` from stretch ``s`` of row ``k``, for an inner axis of 1.

    Threads share a stretch of ``length`` elements as ``tiling_text`` says, in a loop if it is long.
    """
    kind, start, tiling = KINDS[dtype], identity(name, dtype), parse_tiling(tiling_text)
    (threads, pieces, width), size, rows = tiling, tiling.size, tiling.rows
    combine = COMBINE[f"{name}_{dtype}"]
    fetch, reduce_threads = make_fetch(dtype, tiling), reduce_row(name, dtype, tiling)

    def kernel(count: int, n: int, stretches: int, length: int, x: Array, out: Array) -> None:
        row_values, partials = cuda.local.array(size, kind), cuda.local.array(width, kind)
        lane = cuda.threadIdx.x % threads
        unit = cuda.blockIdx.x * rows + cuda.threadIdx.x // threads
        k = unit % stretches * length
        end = min(k + length, n) if unit < count * stretches else 0
        at = unit // stretches * n
        for j in range(width):
            partials[j] = start
        while k < end:
            fetch(row_values, x, at + k, end - k, lane, start)
            for p in range(pieces):
                for j in range(width):
                    partials[j] = combine(partials[j], row_values[width * p + j])
            k += threads * size
        total = partials[0]
        for j in range(1, width):
            total = combine(total, partials[j])
        total = reduce_threads(total)
        if lane == 0 and unit < count * stretches:
            out[unit] = total

    return kernel


def columns(name: str, dtype: str, width: str) -> Any:
    """Compute ``out[o, s, i]`` from the ``x[o, j, i]`` of stretch ``s``.

    The stretch has every ``step``-th of the ``length`` rows from row ``s * first`` on. A thread
    processes ``width`` columns of a stretch, and loads several rows at a time.
    """
    kind, start, combine = KINDS[dtype], identity(name, dtype), COMBINE[f"{name}_{dtype}"]
    n_columns = int(width)
    n_loads = 8 if n_columns == 1 else 4
    size = n_loads * n_columns

    def load_values(values: Array, k: int, x: Array, at: int) -> None:
        values[k] = kind(x[at])

    def load_vector(values: Array, k: int, x: Array, at: int) -> None:
        vector = load(x, at)
        for j in range(CUDA_VECTOR):
            values[CUDA_VECTOR * k + j] = kind(vector[j])

    def store_result(out: Array, t: int, partials: Array) -> None:
        out[t] = partials[0]

    def store_vector(out: Array, t: int, partials: Array) -> None:
        store(out, t, (partials[0], partials[1], partials[2], partials[3]))

    load_values = device(load_values if n_columns == 1 else load_vector)
    store_result = device(store_result if n_columns == 1 else store_vector)

    def kernel(
        outer: int,
        n: int,
        inner: int,
        stretches: int,
        first: int,
        step: int,
        length: int,
        x: Array,
        out: Array,
    ) -> None:
        values, partials = cuda.local.array(size, kind), cuda.local.array(n_columns, kind)
        t = cuda.grid(1)
        if t < outer * stretches * inner:
            stretch_index = t // inner
            j = stretch_index % stretches * first
            end = min(j + length, n)
            at = (stretch_index // stretches * n + j) * inner + t % inner
            for i in range(n_columns):
                partials[i] = start
            while j + (n_loads - 1) * step < end:
                for k in range(n_loads):
                    load_values(values, k, x, at + k * step * inner)
                for k in range(n_loads):
                    for i in range(n_columns):
                        partials[i] = combine(partials[i], values[n_columns * k + i])
                j += n_loads * step
                at += n_loads * step * inner
            while j < end:
                load_values(values, 0, x, at)
                for i in range(n_columns):
                    partials[i] = combine(partials[i], values[i])
                j += step
                at += step * inner
            store_result(out, t, partials)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (rows, columns)
}
