"""A memory reserve that is released when memory runs out.

To leave a `with` block or a handler that lies beyond a function's first 256 instructions, Python
allocates an int. If there is no memory for it, Python tries to leave the block again, forever: a
program that has filled the memory with small objects would hang instead of raising MemoryError.
"""

from __future__ import annotations

COUNT = 1 << 12  # ints of 32 bytes: enough to fill whole pools of Python's small-object allocator

_reserve: list[int] = []


def refill() -> None:
    """Allocate the reserve if it was released."""
    if not _reserve:
        _reserve[:] = range(1 << 29, (1 << 29) + COUNT)


def release() -> None:
    """Release the reserve: a MemoryError is propagating."""
    _reserve.clear()


refill()
