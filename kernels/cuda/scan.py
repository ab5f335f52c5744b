"""Scans: cumulative sums along the middle axis of (outer, n, inner).

An axis may be cut into stretches, as in reductions: then ``starts``, of shape (outer, stretches,
inner), has the sum of all elements before each stretch. The order of additions depends on the
shape alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .reduce import COMBINE, SHUFFLE_KINDS, identity
from .target import ALL_LANES, KINDS, WARP, WIDTH, cuda, device, load, store
from .tiling import parse_tiling

if TYPE_CHECKING:
    from ..annotations import Array, Number

DEEP = 8  # elements of a column that are loaded at a time


def columns(name: str, dtype: str) -> Any:
    """A thread scans a column of a stretch."""
    combine, nothing, kind = COMBINE[f"{name}_{dtype}"], identity(name, dtype), KINDS[dtype]

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
        values = cuda.local.array(DEEP, kind)
        t = cuda.grid(1)
        if t < outer * stretches * inner:
            rest = t // inner
            begin = rest % stretches * length
            left = min(length, n - begin)
            total = starts[t] if stretches > 1 else nothing
            at = (rest // stretches * n + begin) * inner + t % inner
            step = inner
            if reverse:
                at += (left - 1) * inner
                step = -inner
            while left > 0:
                for k in range(DEEP):
                    values[k] = x[at + k * step] if k < left else nothing
                for k in range(DEEP):
                    after = combine(total, values[k])
                    if k < left:
                        out[at + k * step] = total if exclusive else after
                    total = after
                at += DEEP * step
                left -= DEEP

    return kernel


def _before(name: str, dtype: str, lanes: int) -> Any:
    """A function that scans a value of each of ``lanes`` adjacent threads of a warp.

    It returns the combination of the values before this thread, and the combination of all.
    """
    combine, nothing, kind = COMBINE[f"{name}_{dtype}"], identity(name, dtype), KINDS[dtype]
    shuffle_kind = SHUFFLE_KINDS[dtype]

    def before(value: Number) -> Any:
        lane = cuda.threadIdx.x % lanes
        step = 1
        while step < lanes:
            other = kind(cuda.shfl_up_sync(ALL_LANES, shuffle_kind(value), step))
            if lane >= step:
                value = combine(other, value)
            step <<= 1
        last = cuda.threadIdx.x % WARP - lane + lanes - 1
        previous = kind(cuda.shfl_up_sync(ALL_LANES, shuffle_kind(value), 1))
        everything = kind(cuda.shfl_sync(ALL_LANES, shuffle_kind(value), last))
        return previous if lane > 0 else kind(nothing), everything

    return device(before)


def rows(name: str, dtype: str, tiling_text: str) -> Any:
    """Threads share a stretch of a row, for an inner axis of 1; see ``tiling``.

    Each thread adds up its runs, gets the sums of the threads before it, then scans its runs from
    there. ``carry`` is the sum of all earlier rounds.
    """
    combine, nothing, kind = COMBINE[f"{name}_{dtype}"], identity(name, dtype), KINDS[dtype]
    tiling = parse_tiling(tiling_text)
    (threads, pieces, width), size, rows = tiling, tiling.size, tiling.rows
    lanes = min(threads, WARP)
    warps, sums = threads // lanes, pieces * (threads // lanes)
    before = _before(name, dtype, lanes)

    def take(values: Array, p: int, x: Array, at: int, reverse: int) -> None:
        values[p] = x[at]

    def take_vector(values: Array, p: int, x: Array, at: int, reverse: int) -> None:
        vector = load(x, at)
        for j in range(WIDTH):
            values[WIDTH * p + j] = vector[WIDTH - 1 - j] if reverse else vector[j]

    def keep(out: Array, at: int, values: Array, p: int, reverse: int) -> None:
        out[at] = values[p]

    def keep_vector(out: Array, at: int, values: Array, p: int, reverse: int) -> None:
        a, b, c, d = values[4 * p], values[4 * p + 1], values[4 * p + 2], values[4 * p + 3]
        store(out, at, (d, c, b, a) if reverse else (a, b, c, d))

    take = device(take if width == 1 else take_vector)
    keep = device(keep if width == 1 else keep_vector)

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
        row_values, ahead = cuda.local.array(size, kind), cuda.local.array(pieces, kind)
        ends = cuda.local.array(pieces, kind)
        shared = cuda.shared.array(sums, kind)
        lane = cuda.threadIdx.x % threads
        warp = lane // lanes
        unit = cuda.blockIdx.x * rows + cuda.threadIdx.x // threads
        begin = unit % stretches * length
        runs = (min(begin + length, n) - begin) // width if unit < outer * stretches else 0
        first = (unit // stretches * n + begin) // width
        carry = starts[unit] if stretches > 1 and runs > 0 else nothing
        done = 0
        while done * width < length:
            for p in range(pieces):
                r = done + lane + threads * p
                if r < runs:
                    take(row_values, p, x, first + (runs - 1 - r if reverse else r), reverse)
                else:
                    for j in range(width):
                        row_values[width * p + j] = nothing
            for p in range(pieces):
                total = row_values[width * p]
                for j in range(1, width):
                    total = combine(total, row_values[width * p + j])
                ahead[p], ends[p] = before(total)
            if warps > 1:
                if lane % lanes == 0:
                    for p in range(pieces):
                        shared[p * warps + warp] = ends[p]
                cuda.syncthreads()
            for p in range(pieces):
                base = carry
                if warps > 1:
                    for k in range(warps):
                        if k == warp:
                            base = carry
                        carry = combine(carry, shared[p * warps + k])
                else:
                    carry = combine(carry, ends[p])
                base = combine(base, ahead[p])
                for j in range(width):
                    after = combine(base, row_values[width * p + j])
                    row_values[width * p + j] = base if exclusive else after
                    base = after
                r = done + lane + threads * p
                if r < runs:
                    keep(out, first + (runs - 1 - r if reverse else r), row_values, p, reverse)
            if warps > 1:
                cuda.syncthreads()  # before the next round writes to shared memory
            done += threads * pieces

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (rows, columns)
}
