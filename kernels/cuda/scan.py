"""Scans: cumulative sums along the middle axis of (outer, n, inner).

An axis may be cut into stretches, as in reductions: then ``starts``, of shape (outer, stretches,
inner), has the sum of all elements before each stretch. The order of additions depends on the
shape alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..constants import CUDA_VECTOR
from .reduce import COMBINE, SHUFFLE_KINDS, identity
from .target import ALL_LANES, KINDS, WARP, cuda, device, load, store
from .tiling import parse_tiling

if TYPE_CHECKING:
    from ..annotations import Array, Number

ELEMENTS_PER_LOAD = 8  # elements of a column that are loaded at a time


def columns(name: str, dtype: str) -> Any:
    """A thread scans a column of a stretch."""
    combine, neutral, kind = COMBINE[f"{name}_{dtype}"], identity(name, dtype), KINDS[dtype]

    def kernel(
        outer: int,
        n: int,
        inner: int,
        stretches: int,
        length: int,
        exclusive: int,
        reverse: int,
        x: Array,
        starts: Array,
        out: Array,
    ) -> None:
        values = cuda.local.array(ELEMENTS_PER_LOAD, kind)
        t = cuda.grid(1)
        if t < outer * stretches * inner:
            stretch = t // inner
            begin = stretch % stretches * length
            remaining = min(length, n - begin)
            total = starts[t] if stretches > 1 else neutral
            at = (stretch // stretches * n + begin) * inner + t % inner
            step = inner
            if reverse:
                at += (remaining - 1) * inner
                step = -inner
            while remaining > 0:
                for k in range(ELEMENTS_PER_LOAD):
                    values[k] = x[at + k * step] if k < remaining else neutral
                for k in range(ELEMENTS_PER_LOAD):
                    new_total = combine(total, values[k])
                    if k < remaining:
                        out[at + k * step] = total if exclusive else new_total
                    total = new_total
                at += ELEMENTS_PER_LOAD * step
                remaining -= ELEMENTS_PER_LOAD

    return kernel


def _warp_scanner(name: str, dtype: str, lanes: int) -> Any:
    """A function that scans a value of each of ``lanes`` adjacent threads of a warp.

    It returns the combination of the values before this thread, and the combination of all.
    """
    combine, neutral, kind = COMBINE[f"{name}_{dtype}"], identity(name, dtype), KINDS[dtype]
    shuffle_kind = SHUFFLE_KINDS[dtype]

    def scan_warp(value: Number) -> Any:
        lane = cuda.threadIdx.x % lanes
        step = 1
        while step < lanes:
            lower = kind(cuda.shfl_up_sync(ALL_LANES, shuffle_kind(value), step))
            if lane >= step:
                value = combine(lower, value)
            step <<= 1
        last = cuda.threadIdx.x % WARP - lane + lanes - 1
        previous = kind(cuda.shfl_up_sync(ALL_LANES, shuffle_kind(value), 1))
        combined = kind(cuda.shfl_sync(ALL_LANES, shuffle_kind(value), last))
        return previous if lane > 0 else kind(neutral), combined

    return device(scan_warp)


def rows(name: str, dtype: str, tiling_text: str) -> Any:
    """Threads share a stretch of a row, for an inner axis of 1; see ``tiling``.

    Each thread adds up its runs, gets the sums of the threads before it, then scans its runs from
    there. ``carry`` is the sum of all earlier rounds.
    """
    combine, neutral, kind = COMBINE[f"{name}_{dtype}"], identity(name, dtype), KINDS[dtype]
    tiling = parse_tiling(tiling_text)
    (threads, pieces, width), size, rows = tiling, tiling.size, tiling.rows
    lanes = min(threads, WARP)
    warps, sums = threads // lanes, pieces * (threads // lanes)
    scan_warp = _warp_scanner(name, dtype, lanes)

    def load_run(values: Array, p: int, x: Array, at: int, reverse: int) -> None:
        values[p] = x[at]

    def load_vector_run(values: Array, p: int, x: Array, at: int, reverse: int) -> None:
        vector = load(x, at)
        for j in range(CUDA_VECTOR):
            values[CUDA_VECTOR * p + j] = vector[CUDA_VECTOR - 1 - j] if reverse else vector[j]

    def store_run(out: Array, at: int, values: Array, p: int, reverse: int) -> None:
        out[at] = values[p]

    def store_vector_run(out: Array, at: int, values: Array, p: int, reverse: int) -> None:
        a, b, c, d = values[4 * p], values[4 * p + 1], values[4 * p + 2], values[4 * p + 3]
        store(out, at, (d, c, b, a) if reverse else (a, b, c, d))

    load_run = device(load_run if width == 1 else load_vector_run)
    store_run = device(store_run if width == 1 else store_vector_run)

    def kernel(
        outer: int,
        n: int,
        stretches: int,
        length: int,
        exclusive: int,
        reverse: int,
        x: Array,
        starts: Array,
        out: Array,
    ) -> None:
        row_values, prefixes = cuda.local.array(size, kind), cuda.local.array(pieces, kind)
        warp_totals = cuda.local.array(pieces, kind)
        shared = cuda.shared.array(sums, kind)
        lane = cuda.threadIdx.x % threads
        warp = lane // lanes
        unit = cuda.blockIdx.x * rows + cuda.threadIdx.x // threads
        begin = unit % stretches * length
        runs = (min(begin + length, n) - begin) // width if unit < outer * stretches else 0
        first_run = (unit // stretches * n + begin) // width
        carry = starts[unit] if stretches > 1 and runs > 0 else neutral
        n_done = 0
        while n_done * width < length:
            for p in range(pieces):
                r = n_done + lane + threads * p
                if r < runs:
                    load_run(
                        row_values, p, x, first_run + (runs - 1 - r if reverse else r), reverse
                    )
                else:
                    for j in range(width):
                        row_values[width * p + j] = neutral
            for p in range(pieces):
                total = row_values[width * p]
                for j in range(1, width):
                    total = combine(total, row_values[width * p + j])
                prefixes[p], warp_totals[p] = scan_warp(total)
            if warps > 1:
                if lane % lanes == 0:
                    for p in range(pieces):
                        shared[p * warps + warp] = warp_totals[p]
                cuda.syncthreads()
            for p in range(pieces):
                base = carry
                if warps > 1:
                    for k in range(warps):
                        if k == warp:
                            base = carry
                        carry = combine(carry, shared[p * warps + k])
                else:
                    carry = combine(carry, warp_totals[p])
                base = combine(base, prefixes[p])
                for j in range(width):
                    new_base = combine(base, row_values[width * p + j])
                    row_values[width * p + j] = base if exclusive else new_base
                    base = new_base
                r = n_done + lane + threads * p
                if r < runs:
                    store_run(
                        out, first_run + (runs - 1 - r if reverse else r), row_values, p, reverse
                    )
            if warps > 1:
                cuda.syncthreads()  # before the next round writes to shared memory
            n_done += threads * pieces

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (rows, columns)
}
