"""A pool of buffers for large values: fresh pages cost more than the arithmetic on them.

A value's buffer is lent to an array. When the last view of the array is gone, the memory stays in
the pool for some executions, for the next value of the same size.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import settings
from ..settings import after_fork_in_child
from ..values.memory import LARGE_BYTES, Array, BorrowedMemory, address_of, aligned_buffer
from ..values.spec import Spec
from ..values.weakrefs import FinalizationQueue
from .workers import share

RUNS_BEFORE_TRIM = 64  # executions after which unused memory is freed


def _default_limit() -> int:
    """The size limit of unused memory in bytes: an eighth of the machine's memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8
    except (AttributeError, OSError, ValueError):
        return 1 << 30


class Pool:
    """Unused memory, by size."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # signal handlers may allocate as well
        # An array may be freed at any point, also within these methods, so its finalizer only
        # appends to a deque.
        self.returned: FinalizationQueue[tuple[int, Array]] = FinalizationQueue()
        self.free: dict[int, list[tuple[int, Array]]] = {}  # since which execution, and the memory
        self.unused_size = 0
        self.sweeps = 0
        self.limit = _default_limit()

    def empty(self, spec: Spec) -> Array:
        """Return an unshared, uninitialized array."""
        size = spec.size * spec.dtype.size
        if size < LARGE_BYTES:
            return np.empty(spec.shape, spec.dtype.numpy_dtype)
        return self.lend(size, spec.shape, spec.dtype.numpy_dtype)

    def lend(self, size: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """As `empty`, from pooled memory of ``size`` bytes."""
        with self.lock:
            self._collect()
            try:
                memory = self.free[size].pop()[1]
                self.unused_size -= size
            except (KeyError, IndexError):
                memory = self._allocate(size)
        loan = BorrowedMemory(address_of(memory), shape, dtype)
        self.returned.add(loan, (size, memory))
        return loan.array(dtype)

    def _allocate(self, size: int) -> Array:
        try:
            return aligned_buffer(size)[0]
        except MemoryError:  # retry without the unused memory
            if not self.free:
                raise
            self.free, self.unused_size = {}, 0
            return aligned_buffer(size)[0]

    def count_run(self) -> None:
        """Count one more execution, and free buffers that are unused or exceed the limit."""
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

    def _trim(self) -> None:
        entries = sorted(
            ((since, size) for size, memories in self.free.items() for since, _ in memories),
            reverse=True,
        )
        unused_size = 0
        kept_counts: dict[int, int] = {}
        for since, size in entries:  # the latest first
            if since < self.sweeps - RUNS_BEFORE_TRIM:
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

    def _drop(self, size: int, entries: list[tuple[int, Array]]) -> None:
        """Remove a size without unused memory."""
        # atomic: see core.values.intern_table
        if not entries and size in self.free:
            del self.free[size]
        # end atomic


POOL = Pool()
# It is never freed: an abandoned thread may use its memory until the process exits.
ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))(POOL)


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
