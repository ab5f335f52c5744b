"""What kernels that move memory are told: in what words, by what to divide, in how many blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ... import settings
from ..launches import most_blocks, threads

UNROLL = 4  # words of a thread at once; as in kernels/cuda/pieces.py (a test compares)
LARGE = 1 << 31  # from here on, indices have more than 32 bits


def word(*lengths: int) -> int:
    """The bytes, at most 16 and a power of 2, in which all these numbers of bytes can be moved."""
    return math.gcd(16, *lengths)


def word_dtype(size: int) -> str:
    """The kind of a word of so many bytes."""
    return f"uint{8 * size}"


def pointer(size: int) -> str:
    """The dtype of an array that is moved in words of so many bytes: 16 are four uint32."""
    return word_dtype(min(size, 4) if size == 16 else size)


def magnitude(*sizes: int) -> str:
    """Whether all indices below these sizes are small."""
    return "small" if max(sizes) < LARGE else "large"


def divisor(number: int) -> tuple[int, int]:
    """Two numbers, so that ``t // number`` is ``t * first >> second`` for all t below 2**31."""
    shift = 31 + max(0, number - 1).bit_length()
    return (1 << shift) // max(1, number) + 1, shift


def grid(count: int) -> int:
    """In how many blocks to move so many words: the GPU's scheduler shares them out best."""
    return block_count(max(1, -(-count // (UNROLL * threads()))))


def block_count(count: int) -> int:
    """So many blocks, but for the simulator, where each takes long to start."""
    return min(count, most_blocks()) if settings.simulated() else count


def parameters(values: Sequence[int], *dtypes: str) -> list[str]:
    """The dtypes of a kernel's parameters: numbers, then arrays."""
    return ["int64"] * len(values) + [f"*{dtype}" for dtype in dtypes]
