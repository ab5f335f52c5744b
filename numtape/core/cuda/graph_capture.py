"""Keeps buffer addresses stable so that launches can be captured and replayed as CUDA graphs.

`BufferPool` reuses result buffers, `Steady` gives values with changing addresses a stable copy, and
`Graphs` captures and replays launches.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import settings
from ..values.memory import LEGACY_STREAM, Array
from .launches import Launch, launch_all
from .plan import GpuPlan
from .runtime.device import DeviceArray, device, empty
from .runtime.resources import GONE, Lendable, let_go

if TYPE_CHECKING:
    from .runtime.driver import Driver
    from .runtime.resources import DeviceMemory
    from .runtime.simulator import Memory, Simulator


class BufferPool:
    """A pool of buffers of one size. It owns all of them, in use or free."""

    MOST = 4  # most free buffers: a program that drops many results gets their memory back

    def __init__(self) -> None:
        self.pending: dict[int, Any] = {}  # by address
        self.free_buffers: list[Any] = []

    def lend(self, size: int) -> PooledBuffer:
        """Return a free buffer, or a new one of ``size`` bytes."""
        let_go()
        try:
            memory = self.free_buffers.pop()
        except IndexError:
            memory = empty(size)
        if memory.is_lent:  # wait for the work of other libraries on it
            gpu = device()
            gpu.order(LEGACY_STREAM, gpu.stream)
            memory.is_lent = False
        self.pending[memory.address] = memory
        return PooledBuffer(memory, self)

    def back(self, memory: DeviceMemory | Memory, lent: list[bool]) -> None:
        """Take a buffer back; ``lent[0]`` says whether other libraries may have used it."""
        if lent[0]:
            memory.is_lent = True
        if len(self.free_buffers) < self.MOST:
            self.free_buffers.append(memory)
        else:
            del self.pending[memory.address]

    def give_up(self) -> None:
        """Release the free buffers."""
        let_go()
        try:
            while True:
                del self.pending[self.free_buffers.pop().address]
        except IndexError:  # no free buffers are left
            pass


class PooledBuffer(Lendable):
    """Memory that returns to its pool when it is garbage collected."""

    __slots__ = ("address", "size")

    def __init__(self, memory: DeviceMemory | Memory, lender: BufferPool) -> None:
        super().__init__()
        self.address, self.size = memory.address, memory.size
        GONE.add(self, partial(lender.back, memory, self._lent))


class _Way:
    """The recent addresses of a row."""

    __slots__ = ("_latest", "_strange")

    FEW = 6  # addresses remembered: values of variables alternate between two or three
    # The score: the increment for a new address, the maximum, and the limit for "wanders".
    ONE, MOST, LIMIT = 4, 32, 16

    def __init__(self) -> None:
        self._latest: list[int] = []
        self._strange = 0  # the score: each new address raises it, each known one lowers it by 1

    def on(self, address: int) -> bool:
        """Record an address. Return whether too many recent ones were new."""
        if address in self._latest:
            self._strange = max(self._strange - 1, 0)
        else:
            self._latest = [address, *self._latest[: self.FEW - 1]]
            self._strange = min(self._strange + self.ONE, self.MOST)
        return self._strange > self.LIMIT


class Steady:
    """Chooses the addresses of rows' values while launches run.

    A value that alternates between a few addresses stays where it is. A value that wanders, such
    as a new batch in each step, is copied to or from a stable address.

    Attributes:
      worth: Whether launches are replayed as a graph; otherwise every value stays where it is.
    """

    LARGEST = 16 << 20  # bytes: beyond this a copy costs more than launches without a graph

    def __init__(self, worth: bool) -> None:
        self.worth = worth
        self._ways: defaultdict[int, _Way] = defaultdict(_Way)
        self._own: dict[int, Any] = {}  # the memory at stable addresses, by row
        self._holds: dict[int, Array] = {}  # host arrays last uploaded there, by row

    def wanders(self, row: int, address: int) -> bool:
        """Record the address of a row. Return whether its address keeps changing."""
        return self.worth and self._ways[row].on(address)

    def at(self, row: int, address: int, size: int) -> int:
        """Return the address to launch with: ``address``, or the row's stable one."""
        if size > self.LARGEST or not self.wanders(row, address):
            return address
        return self._steady(row, size)

    def read(self, gpu: Driver | Simulator, row: int, array: DeviceArray | Array) -> int:
        """Make an array available to launches and return its address. Host arrays must be small."""
        size = array.nbytes
        if type(array) is DeviceArray:
            there = self.at(row, array.address, size)
            if there != array.address:
                self._holds.pop(row, None)
                gpu.copy(array.address, there, size)
            return there
        assert isinstance(array, np.ndarray)
        there = self._steady(row, size)
        if self._holds.get(row) is not array:  # fed arrays are never modified
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
        """Free the memory at stable addresses."""
        self._holds.clear()
        self._own.clear()


class Graphs:
    """A plan's launches as CUDA graphs, one for each set of addresses that repeats."""

    MOST = 16  # most sets of addresses, then the cache is cleared: kept results have new addresses
    FEW = 3  # from so many launches on, a graph pays off
    ARRAYS = 24  # with fewer launches it pays off beyond so many arguments: each takes time to pass

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}  # by addresses: a graph, or None for a set seen once

    @classmethod
    def worth(cls, plan: GpuPlan) -> bool:
        """Whether a plan is replayed as a graph."""
        if plan.on_host or len(plan.launches) >= cls.FEW:
            return not plan.on_host
        return sum(len(one.places) for one in plan.launches if type(one) is Launch) > cls.ARRAYS

    def run(self, gpu: Any, plan: GpuPlan, at: list[int]) -> None:
        """Launch all of a plan. A set of addresses is captured the second time it occurs."""
        if not self.worth(plan):
            launch_all(gpu, plan.launches, at)
            return
        key = (settings.numerics(), *at)
        graph = self._known.get(key)
        if graph is None:
            if key in self._known:
                graph = gpu.capture(lambda launcher: launch_all(launcher, plan.launches, at))
            elif len(self._known) >= self.MOST:
                self._known.clear()
            self._known[key] = graph
        if graph is None:
            launch_all(gpu, plan.launches, at)
        else:
            gpu.replay(graph)
