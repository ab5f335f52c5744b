"""Memory that is held to be let go of where there is none left.

To leave a `with` block or a handler that stands behind a function's first 256 instructions, Python
makes an int. Where there is no memory for one, it tries to leave the block again, for ever: a
program that has filled the memory with small objects would hang instead of ending in MemoryError.
"""

from __future__ import annotations

COUNT = 1 << 12  # ints of 32 bytes each: some of Python's pools of small objects are theirs alone

_reserve: list[int] = []


def refill() -> None:
    """Hold memory, if it was let go of."""
    if not _reserve:
        _reserve[:] = range(1 << 29, (1 << 29) + COUNT)


def release() -> None:
    """Let go of it: an error that says there is none is on its way."""
    _reserve.clear()


refill()
