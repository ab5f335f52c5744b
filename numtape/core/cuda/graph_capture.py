"""What lets a program's launches repeat with the same addresses, and replays them as graphs."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any

import numpy as np

from .. import settings
from ..values.memory import LEGACY_STREAM, Array
from .launches import Launch, launch_plan
from .plan import GpuPlan
from .runtime.device import device, empty
from .runtime.device_array import DeviceArray
from .runtime.resources import GONE, Lendable, let_go


class BufferPool:
    """Memory of one size that is lent, and comes back. It holds all of it, lent or not."""

    MOST = 4  # that wait: who kept many results and drops them frees their memory

    def __init__(self) -> None:
        self.pending: dict[int, Any] = {}  # by address
        self.free_buffers: list[Any] = []

    def lend(self, size: int) -> PooledBuffer:
        """Memory that nobody uses: what comes back is lent again."""
        let_go()
        try:
            memory = self.free_buffers.pop()
        except IndexError:
            memory = empty(size)
        if memory.is_lent:  # what other libraries do with it comes first
            gpu = device()
            gpu.order(LEGACY_STREAM, gpu.stream)
            memory.is_lent = False
        self.pending[memory.address] = memory
        return PooledBuffer(memory, self)

    def back(self, memory: Any, lent: list[bool]) -> None:
        """Nothing refers to a loan any more, which other libraries may have used."""
        if lent[0]:
            memory.is_lent = True
        if len(self.free_buffers) < self.MOST:
            self.free_buffers.append(memory)
        else:
            del self.pending[memory.address]

    def give_up(self) -> None:
        """Free what waits."""
        let_go()
        try:
            while True:
                del self.pending[self.free_buffers.pop().address]
        except IndexError:  # nothing waits any more
            pass


class PooledBuffer(Lendable):
    """Memory that goes back to its lender when nothing refers to it any more."""

    __slots__ = ("address", "size")

    def __init__(self, memory: Any, lender: BufferPool) -> None:
        super().__init__()
        self.address, self.size = memory.address, memory.size
        GONE.add(self, partial(lender.back, memory, self._lent))


class _Way:
    """The addresses that a row had lately."""

    __slots__ = ("_latest", "_strange")

    FEW = 6  # that are remembered: values of variables take turns in two or three
    ONE, MOST, LIMIT = 4, 32, 16  # what a new one adds, at most, and from where on it wanders

    def __init__(self) -> None:
        self._latest: list[int] = []
        self._strange = 0  # goes up with each new address, and slowly down again

    def on(self, address: int) -> bool:
        """Go to an address. Says whether there were too many new ones."""
        if address in self._latest:
            self._strange = max(self._strange - 1, 0)
        else:
            self._latest = [address, *self._latest[: self.FEW - 1]]
            self._strange = min(self._strange + self.ONE, self.MOST)
        return self._strange > self.LIMIT


class Steady:
    """Where the values of rows are while launches run.

    That is where they are, if these are always the same few places. What wanders, such as a new
    batch in each step, is at an address that stays: it is copied there, or from there.

    Attributes:
      worth: Whether launches are replayed as a graph: else all may be where it is.
    """

    LARGEST = 16 << 20  # bytes that are copied sooner than all is launched one by one

    def __init__(self, worth: bool) -> None:
        self.worth = worth
        self._ways: defaultdict[int, _Way] = defaultdict(_Way)
        self._own: dict[int, Any] = {}  # memory
        self._holds: dict[int, Array] = {}  # host arrays that were copied there last

    def wanders(self, row: int, address: int) -> bool:
        """Note the address of a row. Says whether it had too many lately."""
        return self.worth and self._ways[row].on(address)

    def at(self, row: int, address: int, size: int) -> int:
        """Where a row of so many bytes is while launches run: there, or at the one that stays."""
        if size > self.LARGEST or not self.wanders(row, address):
            return address
        return self._steady(row, size)

    def read(self, gpu: Any, row: int, array: DeviceArray | Array) -> int:
        """Have an array where launches find it. On the host it must be a small one."""
        size = array.nbytes
        if type(array) is DeviceArray:
            there = self.at(row, array.address, size)
            if there != array.address:
                self._holds.pop(row, None)
                gpu.copy(array.address, there, size)
            return there
        assert isinstance(array, np.ndarray)
        there = self._steady(row, size)
        if self._holds.get(row) is not array:  # nobody writes to arrays that were fed
            self._holds.pop(row, None)
            gpu.upload(np.ascontiguousarray(array), there)
            self._holds[row] = array
        return there

    def _steady(self, row: int, size: int) -> int:
        own = self._own.get(row)
        if own is None:
            own = self._own[row] = empty(size)
        address: int = own.address
        return address

    def give_up(self) -> None:
        """Free the memory."""
        self._holds.clear()
        self._own.clear()


class Graphs:
    """The launches of a plan as graphs, one for each set of addresses that repeats."""

    MOST = 16  # sets of addresses, then all are forgotten: results that are kept have new ones
    FEW = 3  # launches from which on a graph is worth it
    ARRAYS = 24  # of fewer launches, beyond which it is as well: each takes time to pass

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}  # by addresses: a graph, or None for one that came once

    @classmethod
    def worth(cls, plan: GpuPlan) -> bool:
        """Whether a plan is replayed as a graph."""
        if plan.on_host or len(plan.launches) >= cls.FEW:
            return not plan.on_host
        return sum(len(one.places) for one in plan.launches if type(one) is Launch) > cls.ARRAYS

    def run(self, gpu: Any, plan: GpuPlan, at: list[int]) -> None:
        """Launch everything."""
        if not self.worth(plan):
            launch_plan(gpu, plan, at)
            return
        key = (settings.numerics(), *at)
        graph = self._known.get(key)
        if graph is None:
            if key in self._known:
                graph = gpu.capture(lambda launcher: launch_plan(launcher, plan, at))
            elif len(self._known) >= self.MOST:
                self._known.clear()
            self._known[key] = graph
        if graph is None:
            launch_plan(gpu, plan, at)
        else:
            gpu.replay(graph)
