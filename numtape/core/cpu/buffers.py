"""Pools of large buffers: fresh pages cost more than the arithmetic on them.

A value's buffer is lent to an array. When the last view of the array is gone, the memory stays in
the pool for some executions, for the next value of similar size. An arena has the temporaries of a
plan. A plan takes it when it starts to run and returns it at the end, so that all plans of the
process use the same memory.

Limits: memory that no execution used for `RUNS_BEFORE_TRIM` to twice as many executions returns to
the system. If all unused buffers are too small or too large for a new value, those that are unused
for `RUNS_BEFORE_REPLACE` executions are freed in exchange, so new shapes do not add up. Unused
buffers take at most an eighth of the machine's memory. So do unused arenas, except that the last
one is kept at any size. There are at most as many arenas of similar size as threads that ran plans
at the same time.
"""

from __future__ import annotations

import math
import mmap
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from .. import settings
from ..cpython.api import keep_forever
from ..settings import after_fork_in_child
from ..values.memory import LARGE_BYTES, Array, BorrowedMemory, address_of, aligned_buffer
from ..values.spec import Spec
from ..values.weakrefs import FinalizationQueue
from .workers import share

RUNS_BEFORE_TRIM = 64  # executions after which unused memory is freed
RUNS_BEFORE_REPLACE = 8  # executions after which unused memory is freed to allocate other memory
MAX_ARENA_RATIO = 4  # of an arena's size and the size that a plan needs
# Memory from this size on is mapped, and so returns to the system when it is freed. C's allocator
# keeps freed blocks of up to 32 MiB.
MAPPED_BYTES = 1 << 20
HUGE_PAGE_BYTES = 1 << 22  # from this size on, huge pages; the same as in NumPy

Memory = tuple[Array, int]  # bytes and their address, aligned to a cache line


def _map_memory(size: int) -> Memory:
    """Return memory of at least ``size`` bytes."""
    if size < MAPPED_BYTES or not hasattr(mmap, "MAP_PRIVATE"):
        return aligned_buffer(size)
    try:
        length = size + mmap.PAGESIZE  # the same margin as in `aligned_buffer`
        mapping = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError):  # C's allocator may still have a block, or knows the error
        return aligned_buffer(size)
    if size >= HUGE_PAGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            mapping.madvise(mmap.MADV_HUGEPAGE)
    memory = np.frombuffer(mapping, np.uint8)
    return memory, address_of(memory)


def _default_limit() -> int:
    """The size limit of unused memory in bytes: an eighth of the machine's memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8
    except (AttributeError, OSError, ValueError):
        return 1 << 30


def buffer_size(size: int) -> int:
    """Return the size of buffers for values of ``size`` bytes: at most an eighth more.

    Pages that no value uses take no memory.
    """
    step = 1 << max(size.bit_length() - 4, 0)
    return -(-size // step) * step


class Pool:
    """Unused memory: buffers by size, and arenas."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # signal handlers may allocate as well
        # An array may be freed at any point, also within these methods, so its finalizer only
        # appends to a deque.
        self.returned: FinalizationQueue[tuple[int, Memory]] = FinalizationQueue()
        self.free: dict[int, list[tuple[int, Memory]]] = {}  # since which execution, and the memory
        self.arenas: dict[int, tuple[int, Memory]] = {}  # the same, by address
        self.unused_size = 0  # of buffers
        self.sweeps = 0
        self.limit = _default_limit()

    def empty(self, spec: Spec) -> Array:
        """Return an unshared, uninitialized array."""
        size = spec.size * spec.dtype.size
        if size < LARGE_BYTES:
            return np.empty(spec.shape, spec.dtype.numpy_dtype)
        return self.lend(size, spec.shape, spec.dtype.numpy_dtype)

    def lend(self, size: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """As `empty`, from pooled memory of at least ``size`` bytes."""
        size = buffer_size(size)
        with self.lock:
            self._collect()
            try:
                memory = self.free[size].pop()[1]
                self.unused_size -= size
            except (KeyError, IndexError):
                self._free_idle(size)
                memory = self._allocate(size)
        loan = BorrowedMemory(memory[1], shape, dtype)
        self.returned.add(loan, (size, memory))
        return loan.array(dtype)

    def take_arena(self, size: int) -> Memory:
        """Return memory of at least ``size`` bytes that only the caller uses.

        It belongs to the caller, who may call `return_arena` when no thread uses it any more.
        """
        with self.lock:
            arenas = self.arenas.copy()  # atomic: other threads return arenas
            by_size = sorted((memory.size, key) for key, (_, (memory, _)) in arenas.items())
            for arena_size, key in by_size:
                if size <= arena_size <= MAX_ARENA_RATIO * size:
                    entry = self.arenas.pop(key, None)
                    if entry is not None:  # no signal handler took it meanwhile
                        return entry[1]
            for arena_size, key in reversed(by_size):  # the new one replaces a smaller one
                if arena_size < size <= MAX_ARENA_RATIO * arena_size:
                    self.arenas.pop(key, None)
                    break
            return self._allocate(size)

    def return_arena(self, arena: Memory) -> None:
        """Keep an arena for the next plan."""
        unused_size = sum(memory.size for _, (memory, _) in self.arenas.copy().values())
        if unused_size + arena[0].size > self.limit:
            self.arenas.clear()
        self.arenas[arena[1]] = self.sweeps, arena

    def _allocate(self, size: int) -> Memory:
        try:
            return _map_memory(size)
        except MemoryError:  # retry without the unused memory
            if not (self.free or self.arenas):
                raise
            self.release_unused()
            return _map_memory(size)

    def release_unused(self) -> None:
        """Return all unused memory to the system."""
        with self.lock:
            self._collect()
            self.free, self.unused_size = {}, 0
            self.arenas.clear()

    def count_run(self) -> None:
        """Count one more execution, and free memory that is unused or exceeds the limit."""
        self.sweeps += 1
        if self.returned or self.sweeps % RUNS_BEFORE_TRIM == 0:
            with self.lock:
                self._collect()
                if self.unused_size > self.limit or self.sweeps % RUNS_BEFORE_TRIM == 0:
                    self._trim()

    def _collect(self) -> None:
        while self.returned:
            size, memory = self.returned.take()
            self.free.setdefault(size, []).append((self.sweeps, memory))
            self.unused_size += size

    def _free_idle(self, wanted_size: int) -> None:
        """Free about ``wanted_size`` bytes of buffers that are unused for some executions."""
        oldest = self.sweeps - RUNS_BEFORE_REPLACE
        for size, memories in self.free.copy().items():
            try:
                while wanted_size > 0 and memories[0][0] <= oldest:
                    del memories[0]
                    self.unused_size -= size
                    wanted_size -= size
            except IndexError:
                self._drop(size, memories)

    def _trim(self) -> None:
        oldest = self.sweeps - RUNS_BEFORE_TRIM
        for key, (since, _) in self.arenas.copy().items():
            if since < oldest:
                self.arenas.pop(key, None)
        entries = sorted(
            ((since, size) for size, memories in self.free.items() for since, _ in memories),
            reverse=True,
        )
        unused_size = 0
        kept_counts: dict[int, int] = {}
        for since, size in entries:  # the latest first
            if since < oldest:
                break
            if unused_size + size > self.limit:
                continue
            kept_counts[size] = kept_counts.get(size, 0) + 1
            unused_size += size
        for size, memories in list(self.free.items()):
            # One at a time: a signal handler may take some of them meanwhile.
            while len(memories) > kept_counts.get(size, 0):
                try:
                    del memories[0]
                except IndexError:
                    break
            self._drop(size, memories)
        self.unused_size = sum(size * len(memories) for size, memories in list(self.free.items()))

    def _drop(self, size: int, entries: list[tuple[int, Memory]]) -> None:
        """Remove a size without unused memory."""
        # atomic: see core.values.intern_table
        if not entries and size in self.free:
            del self.free[size]
        # end atomic


POOL = Pool()
# It is never freed: an abandoned thread may use its memory until the process exits.
keep_forever(POOL)


def _renew_lock() -> None:
    POOL.lock = threading.RLock()


after_fork_in_child(_renew_lock)


# Copies of large arrays, in pooled memory, by several threads.

# Bytes that justify a thread: some 0.2 ms of work; waking one takes 0.02 ms.
MIN_THREAD_BYTES = 1 << 21


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return an unshared, uninitialized array."""
    size = math.prod(shape) * dtype.itemsize
    if size < LARGE_BYTES or dtype.hasobject:
        return np.empty(shape, dtype)
    array = POOL.lend(size, shape, dtype)
    POOL.count_run()  # so that a program that only copies frees memory, too
    return array


def share_work(work: Callable[[], None], out: Array) -> None:
    """Run ``work`` on ``out`` in several threads; each call takes shares until none is left."""
    threads = min(settings.threads(), out.nbytes // MIN_THREAD_BYTES)
    if threads > 1 and out.dtype.kind != "O":
        share([work] * threads, (work, out), [])
    else:
        work()
