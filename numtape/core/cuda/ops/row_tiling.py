"""Tilings: how the threads of a block share rows held in registers; see kernels/cuda/tiling.py."""

from __future__ import annotations

from typing import NamedTuple

from ....kernels.constants import CUDA_VECTOR, CUDA_WARP
from ..launches import threads

# Bytes of a row that a thread holds: the preferred number, the maximum, and the maximum where
# elements are loaded one by one, each with its own address.
PART, MOST, SINGLE = 64, 128, 64
TURNS = 2  # up to so many rounds of a warp, a whole block does not pay off


class RegisterTiling(NamedTuple):
    """The threads that share a row, the runs that each holds, and the elements of a run."""

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
        """How many blocks process ``rows`` rows."""
        return -(-rows * self.threads // threads())


def warp() -> int:
    """How many threads a warp has; fewer in the simulator."""
    count: int = min(CUDA_WARP, threads() // 2)
    return count


def _power(least: int) -> int:
    """The smallest power of two that is at least ``least``."""
    return 1 << max(0, least - 1).bit_length()


def register_tiling(n: int, size: int) -> RegisterTiling | None:
    """The tiling for rows of ``n`` elements of ``size`` bytes; None if they are too long.

    A row gets part of a warp, a warp, or a whole block if a warp cannot hold it. The tiling does
    not depend on the rest of the kernel, so the bits of sums do not either.
    """
    width = CUDA_VECTOR if n % CUDA_VECTOR == 0 else 1
    runs = _power(-(-n // width))
    for part in (PART, MOST if width > 1 else SINGLE):
        most = max(1, part // (width * size))
        for group in (warp(), threads()):
            if runs <= group * most:
                some = min(runs, group) if group == warp() else group
                return RegisterTiling(some, max(1, runs // some), width)
    return None


def loop_tiling(n: int, length: int, size: int, most: int) -> RegisterTiling:
    """The tiling for stretches of ``length`` elements of rows of ``n``, processed in a loop.

    A thread holds up to ``most`` elements at a time, fewer if they have 8 bytes.
    """
    width = CUDA_VECTOR if n % CUDA_VECTOR == 0 else 1
    most = max(1, min(most, SINGLE // size) // width)
    runs, group = _power(-(-length // width)), warp()
    if runs > group * most * TURNS:
        group = threads()
    else:
        group = min(runs, group)
    return RegisterTiling(group, min(most, max(1, runs // group)), width)
