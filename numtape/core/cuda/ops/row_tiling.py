"""How the threads of a block share rows that they hold in registers; see kernels/cuda/held.py."""

from __future__ import annotations

from typing import NamedTuple

from ..codegen import WIDTH
from ..launches import threads

# Bytes of a row that a thread holds: rather so many, at most so many, and at most so many where
# each element is loaded by itself, which takes an address more.
PART, MOST, SINGLE = 64, 128, 64
TURNS = 2  # of a warp, that are not worth a block


class Tiling(NamedTuple):
    """Threads that share a row, the runs that each of them holds, and a run's elements."""

    threads: int
    pieces: int
    width: int

    def __str__(self) -> str:
        return "x".join(map(str, self))

    @property
    def size(self) -> int:
        """How many elements a thread holds."""
        return self.pieces * self.width

    def blocks(self, rows: int) -> int:
        """How many blocks take so many rows."""
        return -(-rows * self.threads // threads())


def warp() -> int:
    """Threads of a warp; in the simulator fewer."""
    return min(32, threads() // 2)


def _power(least: int) -> int:
    """The smallest power of two that is not less."""
    return 1 << max(0, least - 1).bit_length()


def way(n: int, size: int) -> Tiling | None:
    """How to share rows of ``n`` elements of ``size`` bytes; None if they are too long.

    A run for each thread of a part of a warp, or a warp, or some for each; and where that is not
    enough, a whole block. It is the same whatever else a kernel does: so are the bits of sums.
    """
    width = WIDTH if n % WIDTH == 0 else 1
    runs = _power(-(-n // width))
    for part in (PART, MOST if width > 1 else SINGLE):
        most = max(1, part // (width * size))
        for group in (warp(), threads()):
            if runs <= group * most:
                some = min(runs, group) if group == warp() else group
                return Tiling(some, max(1, runs // some), width)
    return None


def loop_tiling(n: int, length: int, size: int, most: int) -> Tiling:
    """How to share stretches of ``length`` elements of rows of ``n``, a part after another.

    A thread holds up to ``most`` elements at a time, fewer of the dtypes of 8 bytes.
    """
    width = WIDTH if n % WIDTH == 0 else 1
    most = max(1, min(most, SINGLE // size) // width)
    runs, group = _power(-(-length // width)), warp()
    if runs > group * most * TURNS:
        group = threads()
    else:
        group = min(runs, group)
    return Tiling(group, min(most, max(1, runs // group)), width)
