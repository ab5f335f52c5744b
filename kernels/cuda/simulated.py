"""Runs kernels in Python: `launch` is the entry point, and kernels use `cuda` from here.

One thread of a block runs at a time, until it waits or ends; then it resumes the next one. So
errors of kernels that a GPU shows only sometimes are found every time:

- threads that wait at a barrier that other threads of their block or warp never reach;
- shuffles and votes that not all threads of a warp execute, or with a wrong mask;
- two threads that use an element of shared memory, at least one of them writing, with no barrier
  between them; inside `watch` also in global memory, and between blocks;
- elements of shared or local memory that are used before they are set: floats are NaN there.

Threads run in the order of their numbers; inside `shuffle`, in a random order that is allowed.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .simulated_memory import Shared, SimulatedKernelError, SimulatedPointer, Watched, unset

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..annotations import Number

THREADS, WARP = 8, 4  # threads of a block, and of a warp
SHUFFLED = "int32", "int64", "float32", "float64"  # the dtypes that Numba's shuffles support


class _Stopped(BaseException):
    """Ends a thread because another thread of the block failed."""


class Dim:
    """An index or a size, with one axis."""

    __slots__ = ("x",)

    def __init__(self, x: int) -> None:
        self.x = x


class SimulatedThread:
    """A thread of a block.

    Attributes:
      rounds: How many warp barriers it has passed.
      waits: The call in which it waits: function name, mask, argument and call stack; or None.
      received: The return value of that call.
    """

    __slots__ = (
        "has_ended",
        "index",
        "lane",
        "lock",
        "number",
        "received",
        "rounds",
        "waits",
        "warp",
    )

    def __init__(self, number: int) -> None:
        self.number, self.index = number, Dim(number)
        self.warp, self.lane = divmod(number, WARP)
        self.rounds, self.has_ended = 0, False
        self.waits: tuple[Any, ...] | None = None
        self.received: Any = None
        self.lock: Any = None  # suspends it; set when it first waits

    def __str__(self) -> str:
        if self.has_ended:
            return f"thread {self.number} left"
        if self.waits is None:
            return f"thread {self.number} runs"
        name, _, _, places = self.waits
        code, _, line = places[0]
        return f"thread {self.number} waits in {name} at {code.co_filename}:{line}"


@cache
def _runners(process: int) -> ThreadPoolExecutor:
    """Operating-system threads, for threads of a block that start while others wait."""
    return ThreadPoolExecutor(1024, "numtape-block")


class SimulatedBlock:
    """A running block.

    Attributes:
      number: Its index in the grid.
      rounds: How many block barriers its threads have passed.
      current: The running thread.
    """

    def __init__(self, number: int, function: Callable[..., Any], threads: int) -> None:
        self.number, self.function, self.args = number, function, list[Any]()
        self.threads = [SimulatedThread(number) for number in range(threads)]
        self.rounds, self.arrays = 0, dict[Any, Any]()
        self._runnable = self.threads[::-1]
        self._waiting: list[SimulatedThread] = []
        self._done = threading.Lock()
        self._error: BaseException | None = None
        self.current = self.threads[0]

    def run(self, args: Sequence[Any]) -> None:
        """Run all threads to completion; raise the first error."""
        self.args = list(args)
        with self._done:
            self._run(self._next())
            self._done.acquire()
        if self._error is not None:
            raise self._error

    def _run(self, thread: SimulatedThread | None) -> None:
        """Run a thread, then further threads that have not started, or resume a waiting one."""
        while thread is not None:
            self._enter(thread)
            try:
                self.function(*self.args)
            except _Stopped:
                pass
            except BaseException as error:
                self._fail(error)
            thread.has_ended = True
            thread = self._next()
            if thread is not None and thread.lock is not None:
                thread.lock.release()
                return
        self._done.release()

    def _enter(self, thread: SimulatedThread) -> None:
        self.current = thread
        cuda.threadIdx = thread.index

    def _next(self) -> SimulatedThread | None:
        """Choose the thread to run next; None if all have ended."""
        if not self._runnable and self._waiting:
            try:
                self._release()
            except SimulatedKernelError as error:
                self._fail(error)
        if not self._runnable:
            return None
        generator = _orders[-1]
        return self._runnable.pop(
            -1 if generator is None else generator.randrange(len(self._runnable))
        )

    def _fail(self, error: BaseException) -> None:
        """Record an error: waiting threads resume and end, others do not start."""
        self._error = self._error or error
        self._runnable = [thread for thread in self._runnable if thread.lock is not None]
        self._runnable += self._waiting
        self._waiting = []

    def wait(self, name: str, mask: int, argument: object = None) -> Any:
        """Suspend the thread until all threads that it waits for have arrived."""
        current_thread = self.current
        if self._error is not None:
            raise _Stopped
        current_thread.waits = name, mask, argument, self._places()
        if mask and not mask >> current_thread.lane & 1:
            raise SimulatedKernelError(f"{current_thread}, but is not in the mask {mask:#x}")
        self._waiting.append(current_thread)
        if current_thread.lock is None:
            current_thread.lock = threading.Lock()
            current_thread.lock.acquire()
        next_thread = self._next()
        if next_thread is not current_thread:
            assert next_thread is not None
            if next_thread.lock is None:
                _runners(os.getpid()).submit(self._run, next_thread)
            else:
                next_thread.lock.release()
            current_thread.lock.acquire()
        self._enter(current_thread)
        if self._error is not None:
            raise _Stopped
        current_thread.waits = None
        return current_thread.received

    def _places(self) -> tuple[Any, ...]:
        """The call stack of the thread in the kernel: code, instruction and line of each frame."""
        frame, frames = sys._getframe(2), []
        while frame.f_code.co_filename == __file__:
            frame = frame.f_back  # type: ignore[assignment]
        while frame is not None and frame.f_code is not SimulatedBlock._run.__code__:
            frames.append((frame.f_code, frame.f_lasti, frame.f_lineno))
            frame = frame.f_back  # type: ignore[assignment]
        return tuple(frames)

    def _release(self) -> None:
        """Resume the threads whose barrier is complete.

        Raises:
          SimulatedKernelError: If no thread can be resumed.
        """
        waiting_threads, count = self._waiting, len(self._waiting)
        first_call = waiting_threads[0].waits
        if (
            first_call is not None
            and first_call[0] == "syncthreads"
            and count == len(self.threads)
            and all(thread.waits == first_call for thread in waiting_threads)
        ):
            self.rounds += 1
            self._runnable = sorted(waiting_threads, key=lambda thread: -thread.number)
            self._waiting = []
            return
        still_waiting: list[SimulatedThread] = []
        for begin in range(0, len(self.threads), WARP):
            warp = self.threads[begin : begin + WARP]
            waiting = [thread for thread in warp if thread.waits and not thread.has_ended]
            if not self._complete(waiting, len(warp)):
                still_waiting += waiting
        if len(still_waiting) == count:
            threads = ", ".join(map(str, self.threads))
            raise SimulatedKernelError(f"threads wait for others that never arrive: {threads}")
        self._waiting = still_waiting
        self._runnable = [thread for thread in waiting_threads if thread not in still_waiting]
        self._runnable.sort(key=lambda thread: -thread.number)

    def _complete(self, warp: list[SimulatedThread], size: int) -> bool:
        """Complete a collective call of a warp's threads. Return False if some are missing."""
        if not warp or warp[0].waits is None or warp[0].waits[0] == "syncthreads":
            return False
        name, mask, _, places = warp[0].waits
        for thread in warp:
            assert thread.waits is not None
            other, other_mask, _, other_places = thread.waits
            if (other, other_mask, other_places) != (name, mask, places):
                return False
        if [thread.lane for thread in warp] != [k for k in range(size) if mask >> k & 1]:
            return False
        _COLLECTIVE[name](warp)
        return True


# Collective functions of a warp.


def _argument_of(thread: SimulatedThread) -> Any:
    assert thread.waits is not None
    return thread.waits[2]


def _syncwarp(warp: list[SimulatedThread]) -> None:
    for thread in warp:
        thread.rounds += 1


def _vote(warp: list[SimulatedThread]) -> None:
    votes = sum(1 << thread.lane for thread in warp if _argument_of(thread))
    for thread in warp:
        thread.received = votes - (votes >> 31 << 32)  # as an int32


def _shuffle(source: Callable[[int, int], int]) -> Callable[[list[SimulatedThread]], None]:
    """A shuffle from lane ``source(lane, argument)``; from the own lane if that is out of range."""

    def collective(warp: list[SimulatedThread]) -> None:
        values = {thread.lane: _argument_of(thread)[0] for thread in warp}
        for thread in warp:
            lane = source(thread.lane, int(_argument_of(thread)[1]))
            if not 0 <= lane <= WARP - 1:
                lane = thread.lane
            if lane not in values:
                raise SimulatedKernelError(f"{thread} for lane {lane}, which does not take part")
            thread.received = values[lane]

    return collective


_COLLECTIVE: dict[str, Callable[[list[SimulatedThread]], None]] = {
    "syncwarp": _syncwarp,
    "ballot_sync": _vote,
    "shfl_sync": _shuffle(lambda lane, other: other % WARP),
    "shfl_up_sync": _shuffle(lambda lane, step: lane - step),
    "shfl_down_sync": _shuffle(lambda lane, step: lane + step),
    "shfl_xor_sync": _shuffle(lambda lane, step: lane ^ step),
}


# The functions that kernels call.


class _Local:
    """`cuda.local`."""

    @staticmethod
    def array(shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
        """Local memory of a thread."""
        return unset(shape, dtype)


class _Shared:
    """`cuda.shared`."""

    @staticmethod
    def array(shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
        """Shared memory of a block: one array for each line of a kernel that calls this."""
        frame, block = sys._getframe(1), cuda.block
        key = frame.f_code, frame.f_lineno, dtype
        if key not in block.arrays:
            block.arrays[key] = Shared(block, unset(shape, dtype))
        return block.arrays[key]


class _Atomic:
    """`cuda.atomic`."""

    @staticmethod
    def add(array: Shared | SimulatedPointer, i: int | tuple[int, ...], value: Number) -> Any:
        """Add to an element atomically; return its old value."""
        return array.add(i, value)


class Running:
    """The interface of `numba.cuda`, for the running kernel."""

    local, shared, atomic = _Local(), _Shared(), _Atomic()

    def __init__(self) -> None:
        self.threadIdx = self.blockIdx = self.blockDim = self.gridDim = Dim(0)
        self.block: Any = None

    @property
    def laneid(self) -> int:
        """The number of the thread in its warp."""
        lane: int = self.block.current.lane
        return lane

    def grid(self, axes: int) -> int:
        """The number of the thread in the grid."""
        return self.blockIdx.x * self.blockDim.x + self.threadIdx.x

    def gridsize(self, axes: int) -> int:
        """How many threads the grid has."""
        return self.gridDim.x * self.blockDim.x

    def syncthreads(self) -> None:
        """Wait for the threads of the block."""
        self.block.wait("syncthreads", 0)

    def syncwarp(self, mask: int = 0xFFFFFFFF) -> None:
        """Wait for the threads of the warp."""
        self._together("syncwarp", mask, None)

    def _together(self, name: str, mask: int, argument: object) -> Any:
        return self.block.wait(name, mask & ((1 << WARP) - 1), argument)

    def _shuffle(self, name: str, mask: int, value: Number, other: int) -> Any:
        if getattr(value, "dtype", np.dtype("V1")).name not in SHUFFLED:
            raise TypeError(f"{name} does not support {type(value).__name__}")
        return self._together(name, mask, (value, other))

    def ballot_sync(self, mask: int, vote: Number) -> Any:
        """The mask of the lanes whose vote is true."""
        return self._together("ballot_sync", mask, bool(vote))

    def any_sync(self, mask: int, vote: Number) -> bool:
        """Whether any lane's vote is true."""
        return self._together("ballot_sync", mask, bool(vote)) != 0

    def all_sync(self, mask: int, vote: Number) -> bool:
        """Whether all lanes' votes are true."""
        return self._together("ballot_sync", mask, not vote) == 0

    def shfl_sync(self, mask: int, value: Number, lane: int) -> Any:
        """The value of lane ``lane``."""
        return self._shuffle("shfl_sync", mask, value, lane)

    def shfl_up_sync(self, mask: int, value: Number, step: int) -> Any:
        """The value of the lane ``step`` before this one."""
        return self._shuffle("shfl_up_sync", mask, value, step)

    def shfl_down_sync(self, mask: int, value: Number, step: int) -> Any:
        """The value of the lane ``step`` after this one."""
        return self._shuffle("shfl_down_sync", mask, value, step)

    def shfl_xor_sync(self, mask: int, value: Number, step: int) -> Any:
        """The value of the lane whose number is this one's xor ``step``."""
        return self._shuffle("shfl_xor_sync", mask, value, step)

    @staticmethod
    def popc(value: Number) -> int:
        """How many bits are set."""
        return int(value).bit_count()


cuda: Any = Running()


# Running kernels.

_orders: list[random.Random | None] = [None]
_watching: list[bool] = [False]


@contextmanager
def shuffle(seed: int) -> Iterator[None]:
    """Run threads and blocks in a random order, inside the ``with`` block."""
    _orders.append(random.Random(seed))
    try:
        yield
    finally:
        _orders.pop()


@contextmanager
def watch() -> Iterator[None]:
    """Detect races in global memory, inside the ``with`` block; this is slow."""
    _watching.append(True)
    try:
        yield
    finally:
        _watching.pop()


def launch(function: Callable[..., Any], blocks: int, threads: int, args: Sequence[Any]) -> None:
    """Run a kernel; its arguments are numbers and arrays.

    It runs in another thread, because the caller's may be traced.
    """
    _runners(os.getpid()).submit(_launch, function, blocks, threads, args).result()


def _launch(function: Callable[..., Any], blocks: int, threads: int, args: Sequence[Any]) -> None:
    uses: dict[Any, Any] = {}  # shared by all blocks
    order = list(range(blocks))
    if _orders[-1] is not None:
        _orders[-1].shuffle(order)
    cuda.blockDim, cuda.gridDim = Dim(threads), Dim(blocks)
    for number in order:
        block = SimulatedBlock(number, function, threads)
        cuda.blockIdx, cuda.block = Dim(number), block
        block.run(
            [
                arg
                if not isinstance(arg, np.ndarray)
                else Watched(block, arg, uses)
                if _watching[-1]
                else SimulatedPointer(arg)
                for arg in args
            ]
        )
