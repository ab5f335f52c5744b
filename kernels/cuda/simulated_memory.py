"""Memory of the simulator: checks bounds, and detects data races between threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..annotations import Number


class SimulatedKernelError(RuntimeError):
    """A kernel's behavior would be undefined on a GPU."""


class _Use:
    """The uses of an element, since the last barrier of its block.

    Attributes:
      block: The first block that used it.
      read: Whether any thread has read it.
      written: 0 if it was not written, 1 if only atomically, else 2.
    """

    __slots__ = ("block", "read", "readers", "rounds", "writer", "written")

    def __init__(self, block: Any) -> None:
        self.block, self.rounds = block, block.rounds
        self.read, self.written = False, 0
        self.writer: tuple[Any, int, bool] | None = None
        self.readers: dict[Any, int] = {}

    def races(self, block: Any, write: bool, atomic: bool) -> bool:
        """Record a use. Return whether it is unordered with another thread's conflicting use."""
        thread = block.current
        if self.block is not block:  # blocks run in any order
            if not write:
                self.read = True
                return self.written > 0
            return self.read or not (atomic and self.written == 1)
        if self.rounds != block.rounds:
            self.rounds, self.writer = block.rounds, None
            self.readers.clear()
        is_race = False
        if self.writer is not None:
            other, rounds, one_step = self.writer
            is_race = not (_happens_before(thread, other, rounds) or (atomic and one_step))
        if write:
            is_race |= not all(_happens_before(thread, *reader) for reader in self.readers.items())
            self.writer = thread, thread.rounds, atomic
            self.written = max(self.written, 1 if atomic else 2)
        else:
            self.read = True
            self.readers[thread] = thread.rounds
        return is_race


def _happens_before(thread: Any, other: Any, rounds: int) -> bool:
    """Whether an access by ``other``, after ``rounds`` warp barriers, precedes the current one."""
    return other is thread or (other.warp == thread.warp and rounds != other.rounds)


class Shared:
    """Shared memory of a block; raises `SimulatedKernelError` on a race."""

    __slots__ = ("_array", "_block", "_uses")

    def __init__(self, block: Any, array: np.ndarray[Any, Any]) -> None:
        self._block, self._array = block, array
        self._uses: dict[Any, _Use] = {}

    def _note(self, i: int | tuple[int, ...], write: bool, atomic: bool = False) -> Any:
        i = tuple(map(int, i)) if isinstance(i, tuple) else int(i)
        if (min(i) if isinstance(i, tuple) else i) < 0:
            raise IndexError(f"{i} is before the beginning of an array")
        block = self._block
        use = self._uses.get(i)
        if use is None:
            use = self._uses[i] = _Use(block)
        if use.races(block, write, atomic):
            raise SimulatedKernelError(
                f"thread {block.current.number} {'writes' if write else 'reads'} element {i} "
                "of shared memory that another thread uses, with no barrier between them"
            )
        return i

    def __getitem__(self, i: int | tuple[int, ...]) -> Any:
        return self._array[self._note(i, False)]

    def __setitem__(self, i: int | tuple[int, ...], value: Number) -> None:
        self._array[self._note(i, True)] = value

    def add(self, i: int | tuple[int, ...], value: Number) -> Any:
        """Add to an element atomically; return its old value."""
        i = self._note(i, True, True)
        before = self._array[i]
        self._array[i] += value
        return before


class SimulatedPointer:
    """Global memory from an address on."""

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __getitem__(self, i: int) -> Any:
        if i < 0:
            raise IndexError(f"{i} is before the beginning of an array")
        return self._array[i]

    def __setitem__(self, i: int, value: Number) -> None:
        if i < 0:
            raise IndexError(f"{i} is before the beginning of an array")
        self._array[i] = value

    def add(self, i: int, value: Number) -> Any:
        """Add to an element atomically; return its old value."""
        before = self[i]
        self[i] = before + value
        return before


class Watched(SimulatedPointer):
    """Global memory that records uses of each byte; raises `SimulatedKernelError` on a race."""

    __slots__ = ("_block", "_uses")

    def __init__(self, block: Any, array: np.ndarray[Any, Any], uses: dict[Any, Any]) -> None:
        super().__init__(array)
        self._block, self._uses = block, uses

    def _note(self, i: int, write: bool, atomic: bool = False) -> None:
        size = self._array.itemsize
        begin, block = self._array.ctypes.data + int(i) * size, self._block
        for byte in range(begin, begin + size):
            use = self._uses.get(byte)
            if use is None:
                use = self._uses[byte] = _Use(block)
            if use.races(block, write, atomic):
                raise SimulatedKernelError(
                    f"thread {block.current.number} of block {block.number} "
                    f"{'writes' if write else 'reads'} element {i} of an array that another thread "
                    "uses, with no barrier between them"
                )

    def __getitem__(self, i: int) -> Any:
        self._note(i, False)
        return super().__getitem__(i)

    def __setitem__(self, i: int, value: Number) -> None:
        self._note(i, True)
        super().__setitem__(i, value)

    def add(self, i: int, value: Number) -> Any:
        """Add to an element atomically; return its old value."""
        self._note(i, True, True)
        before = self._array[i]
        self._array[i] = before + value
        return before


def unset(shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
    """An uninitialized array: all bits are 1, so floats are NaN and ints unlikely values."""
    array = np.empty(shape, dtype)
    array.view(np.uint8).fill(255)
    return array
