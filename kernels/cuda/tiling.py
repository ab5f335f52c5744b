"""Rows in registers: some threads of a block share a row, and each holds a part of it.

A `Tiling` is written as ``"threads x pieces x width"``, for example ``"32x8x4"``. Of a stretch of
``threads * pieces * width`` elements, thread t holds ``pieces`` runs of ``width`` adjacent
elements. The first run begins at ``width * t``, each further one ``width * threads`` later. Runs
of more than one element are loaded as vectors; the length of rows is then a multiple of `WIDTH`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .reduce import reduce_block, reduce_lanes
from .target import KINDS, THREADS, WIDTH, cuda, device, load, store

if TYPE_CHECKING:
    from ..annotations import Array, Number


class Tiling(NamedTuple):
    """How threads share a row."""

    threads: int
    pieces: int
    width: int

    @property
    def size(self) -> int:
        """How many elements a thread holds."""
        return self.pieces * self.width

    @property
    def rows(self) -> int:
        """How many rows a block processes at a time."""
        return THREADS // self.threads


def parse_tiling(text: str) -> Tiling:
    """Parse the text of a tiling."""
    return Tiling(*map(int, text.split("x")))


def placing(tiling: Tiling) -> Any:
    """A function that returns a thread's lane in its row, the row's offset, and its length.

    Rows beyond the last one have no elements.
    """
    threads, rows = tiling.threads, tiling.rows

    def place(units: int, n: int) -> Any:
        row = cuda.blockIdx.x * rows + cuda.threadIdx.x // threads
        return cuda.threadIdx.x % threads, row * n, n if row < units else 0

    return device(place)


def fetching(dtype: str, tiling: Tiling) -> Any:
    """A function that loads a thread's part of ``x[at:at + n]``; ``start`` fills the rest."""
    threads, pieces, width = tiling
    kind = KINDS[dtype]

    def fetch(values: Array, x: Array, at: int, n: int, lane: int, start: Number) -> None:
        for p in range(pieces):
            i = lane + threads * p
            if i < n:
                values[p] = kind(x[at + i])
            else:
                values[p] = start

    def fetch_vectors(values: Array, x: Array, at: int, n: int, lane: int, start: Number) -> None:
        for p in range(pieces):
            i = lane + threads * p
            if WIDTH * i < n:
                vector = load(x, at // WIDTH + i)
                for k in range(WIDTH):
                    values[WIDTH * p + k] = kind(vector[k])
            else:
                for k in range(WIDTH):
                    values[WIDTH * p + k] = start

    return device(fetch if width == 1 else fetch_vectors)


def masking(tiling: Tiling) -> Any:
    """A function that sets a thread's values beyond a row of ``n`` elements to ``start``."""
    threads, pieces, width = tiling

    def mask(values: Array, start: Number, n: int, lane: int) -> None:
        for p in range(pieces):
            if width * (lane + threads * p) >= n:
                for k in range(width):
                    values[width * p + k] = start

    return device(mask)


def keeping(tiling: Tiling) -> Any:
    """A function that stores a thread's part of ``out[at:at + n]``."""
    threads, pieces, width = tiling

    def keep(values: Array, out: Array, at: int, n: int, lane: int) -> None:
        for p in range(pieces):
            i = lane + threads * p
            if i < n:
                out[at + i] = values[p]

    def keep_vectors(values: Array, out: Array, at: int, n: int, lane: int) -> None:
        for p in range(pieces):
            i, k = lane + threads * p, WIDTH * p
            if WIDTH * i < n:
                vector = values[k], values[k + 1], values[k + 2], values[k + 3]
                store(out, at // WIDTH + i, vector)

    return device(keep if width == 1 else keep_vectors)


def reduce_row(name: str, dtype: str, tiling: Tiling) -> Any:
    """A function that combines a value of each thread of a row; all threads get the result."""
    shared = tiling.threads == THREADS
    return reduce_block(name, dtype) if shared else reduce_lanes(name, dtype, tiling.threads)
