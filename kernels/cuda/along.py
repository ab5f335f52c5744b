"""Reductions along the middle axis of (outer, n, inner), which may be cut into stretches.

The results of stretches are reduced again. The order of additions depends on the shape alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .reduce import COMBINE, identity
from .target import KINDS, WIDTH, cuda, device, load, store
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
    fetch, among = make_fetch(dtype, tiling), reduce_row(name, dtype, tiling)

    def kernel(count: int, n: int, stretches: int, length: int, x: Array, out: Array) -> None:
        row_values, part = cuda.local.array(size, kind), cuda.local.array(width, kind)
        lane = cuda.threadIdx.x % threads
        unit = cuda.blockIdx.x * rows + cuda.threadIdx.x // threads
        k = unit % stretches * length
        end = min(k + length, n) if unit < count * stretches else 0
        at = unit // stretches * n
        for j in range(width):
            part[j] = start
        while k < end:
            fetch(row_values, x, at + k, end - k, lane, start)
            for p in range(pieces):
                for j in range(width):
                    part[j] = combine(part[j], row_values[width * p + j])
            k += threads * size
        total = part[0]
        for j in range(1, width):
            total = combine(total, part[j])
        total = among(total)
        if lane == 0 and unit < count * stretches:
            out[unit] = total

    return kernel


def columns(name: str, dtype: str, width: str) -> Any:
    """Compute ``out[o, s, i]`` from the ``x[o, j, i]`` of stretch ``s``.

    The stretch has every ``step``-th of the ``length`` rows from row ``s * first`` on. A thread
    processes ``width`` columns of a stretch, and loads several rows at a time.
    """
    kind, start, combine = KINDS[dtype], identity(name, dtype), COMBINE[f"{name}_{dtype}"]
    wide = int(width)
    deep = 8 if wide == 1 else 4
    size = deep * wide

    def take(values: Array, k: int, x: Array, at: int) -> None:
        values[k] = kind(x[at])

    def take_vector(values: Array, k: int, x: Array, at: int) -> None:
        vector = load(x, at)
        for j in range(WIDTH):
            values[WIDTH * k + j] = kind(vector[j])

    def keep(out: Array, t: int, part: Array) -> None:
        out[t] = part[0]

    def keep_vector(out: Array, t: int, part: Array) -> None:
        store(out, t, (part[0], part[1], part[2], part[3]))

    take, keep = (
        (device(take), device(keep)) if wide == 1 else (device(take_vector), device(keep_vector))
    )

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
        values, part = cuda.local.array(size, kind), cuda.local.array(wide, kind)
        t = cuda.grid(1)
        if t < outer * stretches * inner:
            rest = t // inner
            j = rest % stretches * first
            end = min(j + length, n)
            at = (rest // stretches * n + j) * inner + t % inner
            for i in range(wide):
                part[i] = start
            while j + (deep - 1) * step < end:
                for k in range(deep):
                    take(values, k, x, at + k * step * inner)
                for k in range(deep):
                    for i in range(wide):
                        part[i] = combine(part[i], values[wide * k + i])
                j += deep * step
                at += deep * step * inner
            while j < end:
                take(values, 0, x, at)
                for i in range(wide):
                    part[i] = combine(part[i], values[i])
                j += step
                at += step * inner
            keep(out, t, part)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (rows, columns)
}
