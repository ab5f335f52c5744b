"""Parameters of kernels that move memory: word sizes, constants for division, numbers of blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ... import settings
from ..launches import most_blocks, threads

UNROLL = 4  # words that a thread moves at a time; as in kernels/cuda/pieces.py (a test compares)
LARGE = 1 << 31  # sizes from here on need 64-bit indices


def word(*lengths: int) -> int:
    """The largest word size in bytes, 16 or less, that divides all lengths."""
    return math.gcd(16, *lengths)


def word_dtype(size: int) -> str:
    """The dtype of a word of ``size`` bytes."""
    return f"uint{8 * size}"


def pointer(size: int) -> str:
    """The dtype of an array that is moved in words of ``size`` bytes; 16 bytes are four uint32."""
    return word_dtype(min(size, 4) if size == 16 else size)


def magnitude(*sizes: int) -> str:
    """Return "small" if all indices below these sizes fit in 32 bits, else "large"."""
    return "small" if max(sizes) < LARGE else "large"


def divisor(number: int) -> tuple[int, int]:
    """The factor and shift with ``t // number == t * factor >> shift`` for all t below 2**31."""
    shift = 31 + max(0, number - 1).bit_length()
    return (1 << shift) // max(1, number) + 1, shift


def grid(count: int) -> int:
    """How many blocks move ``count`` words, without loops: the GPU's scheduler balances best."""
    return block_count(max(1, -(-count // (UNROLL * threads()))))


def block_count(count: int) -> int:
    """``count`` blocks; fewer in the simulator, where each takes long to start."""
    return min(count, most_blocks()) if settings.simulated() else count


def parameters(values: Sequence[int], *dtypes: str) -> list[str]:
    """The dtypes of a kernel's parameters: ints, then arrays."""
    return ["int64"] * len(values) + [f"*{dtype}" for dtype in dtypes]
