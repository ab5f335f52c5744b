"""Rows in registers: some threads of a block share a row, and each holds a part of it.

A `Tiling` is written as ``"threads x pieces x width"``, for example ``"32x8x4"``. Of a stretch of
``threads * pieces * width`` elements, thread t holds ``pieces`` runs of ``width`` adjacent
elements. The first run begins at ``width * t``, each further one ``width * threads`` later. Runs
of more than one element are loaded as vectors; the length of rows is then a multiple of
`CUDA_VECTOR`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..constants import CUDA_VECTOR
from .reduce import reduce_block, reduce_lanes
from .target import KINDS, THREADS, cuda, device, load, store

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


def make_place(tiling: Tiling) -> Any:
    """A function that returns a thread's lane in its row, the row's offset, and its length.

    Rows beyond the last one have no elements.
    """
    threads, rows = tiling.threads, tiling.rows

    def place(units: int, n: int) -> Any:
        row = cuda.blockIdx.x * rows + cuda.threadIdx.x // threads
        return cuda.threadIdx.x % threads, row * n, n if row < units else 0

    return device(place)


def make_fetch(dtype: str, tiling: Tiling) -> Any:
    """A function that loads a thread's part of ``x[at:at + n]``; ``fill`` fills the rest."""
    threads, pieces, width = tiling
    kind = KINDS[dtype]

    def fetch(values: Array, x: Array, at: int, n: int, lane: int, fill: Number) -> None:
        for piece in range(pieces):
            i = lane + threads * piece
            if i < n:
                values[piece] = kind(x[at + i])
            else:
                values[piece] = fill

    def fetch_vectors(values: Array, x: Array, at: int, n: int, lane: int, fill: Number) -> None:
        for piece in range(pieces):
            i = lane + threads * piece
            if CUDA_VECTOR * i < n:
                vector = load(x, at // CUDA_VECTOR + i)
                for k in range(CUDA_VECTOR):
                    values[CUDA_VECTOR * piece + k] = kind(vector[k])
            else:
                for k in range(CUDA_VECTOR):
                    values[CUDA_VECTOR * piece + k] = fill

    return device(fetch if width == 1 else fetch_vectors)


def make_mask(tiling: Tiling) -> Any:
    """A function that sets a thread's values beyond a row of ``n`` elements to ``fill``."""
    threads, pieces, width = tiling

    def mask(values: Array, fill: Number, n: int, lane: int) -> None:
        for piece in range(pieces):
            if width * (lane + threads * piece) >= n:
                for k in range(width):
                    values[width * piece + k] = fill

    return device(mask)


def make_store(tiling: Tiling) -> Any:
    """A function that stores a thread's part of ``out[at:at + n]``."""
    threads, pieces, width = tiling

    def store_values(values: Array, out: Array, at: int, n: int, lane: int) -> None:
        for piece in range(pieces):
            i = lane + threads * piece
            if i < n:
                out[at + i] = values[piece]

    def store_vectors(values: Array, out: Array, at: int, n: int, lane: int) -> None:
        for piece in range(pieces):
            i, k = lane + threads * piece, CUDA_VECTOR * piece
            if CUDA_VECTOR * i < n:
                vector = values[k], values[k + 1], values[k + 2], values[k + 3]
                store(out, at // CUDA_VECTOR + i, vector)

    return device(store_values if width == 1 else store_vectors)


def reduce_row(name: str, dtype: str, tiling: Tiling) -> Any:
    """A function that combines a value of each thread of a row; all threads get the result."""
    shared = tiling.threads == THREADS
    return reduce_block(name, dtype) if shared else reduce_lanes(name, dtype, tiling.threads)
