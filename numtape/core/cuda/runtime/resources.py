"""Resources of a `Driver` on the GPU. Each is released when nothing refers to it.

Finalizers would lose interrupts (see `core.values.weakrefs`), so resources are released later: at
the next allocation, or when the program waits for the GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ...values.memory import LEGACY_STREAM
from ...values.weakrefs import FinalizationQueue

if TYPE_CHECKING:
    from .driver import Driver

GONE: FinalizationQueue[Callable[[], None]] = FinalizationQueue()  # what is to be done


def let_go() -> None:
    """Do what is to be done at the end of things that have gone."""
    while GONE:
        try:
            work = GONE.take()
        except IndexError:  # another thread does it
            return
        with suppress(Exception):  # a GPU that fails has said so elsewhere
            work()


class Lendable:
    """What other libraries may use."""

    __slots__ = ("__weakref__", "_lent")

    def __init__(self) -> None:
        self._lent = [False]  # what is done at its end knows this list

    @property
    def is_lent(self) -> bool:
        """Whether they have: then it ends after what they do in the default stream."""
        return self._lent[0]

    @is_lent.setter
    def is_lent(self, value: bool) -> None:
        self._lent[0] = value


def _after(device: Any, lent: list[bool], work: Callable[[], None]) -> None:
    if lent[0]:
        device.order(LEGACY_STREAM, device.stream)
    work()


class Memory(Lendable):
    """Bytes on the GPU that are given back when nothing refers to them any more.

    Attributes:
      address: Where they begin.
      size: How many there are.
    """

    __slots__ = ("address", "size")

    def __init__(self, device: Driver, address: int, size: int) -> None:
        super().__init__()
        self.address, self.size = address, size
        GONE.add(self, partial(_after, device, self._lent, partial(device.release, address)))


class Borrowed(Lendable):
    """An array of others, which is given back once all that we asked the GPU for is done."""

    __slots__ = ("shadow",)

    def __init__(self, device: Any, shadow: Any) -> None:
        super().__init__()
        self.shadow = shadow
        GONE.add(self, partial(_after, device, self._lent, partial(device.keep, shadow)))


class Module:
    """Machine code that was loaded, until nothing refers to it any more."""

    def __init__(self, device: Driver, handle: Any) -> None:
        self.handle = handle
        GONE.add(self, partial(_done, device, "cuModuleUnload", [handle]))


def _done(device: Driver, name: str, handles: list[Any]) -> None:
    with device.enter_context():
        for handle in handles:
            device._do(name, handle)


class Code:
    """A kernel that can be launched. It is unloaded once its last launch is done."""

    def __init__(self, device: Driver, handle: Any, symbol: str) -> None:
        module = Module(device, handle)
        GONE.add(self, partial(device.keep, module))
        self.function = device._do("cuModuleGetFunction", handle, symbol.encode())


class Graph:
    """Launches that were captured, to be replayed in one go."""

    def __init__(self, device: Driver, handle: Any, launches: int) -> None:
        self.handle, self.launches = handle, launches
        GONE.add(self, partial(device.forget, handle))


class Timer:
    """The time that the GPU takes from ``begin`` to ``end``, by events in its stream."""

    def __init__(self, device: Driver) -> None:
        self._device = device
        flags = device._driver.CUevent_flags.CU_EVENT_DEFAULT
        with device.enter_context():
            self._events = [device._do("cuEventCreate", flags) for _ in range(2)]
        GONE.add(self, partial(_done, device, "cuEventDestroy", self._events))

    def begin(self) -> None:
        """Begin after what was asked for so far."""
        self._record(0)

    def end(self) -> float:
        """Wait for what was asked for since ``begin``, and give the seconds it took."""
        self._record(1)
        with self._device.enter_context():
            self._device._do("cuEventSynchronize", self._events[1])
            return float(self._device._do("cuEventElapsedTime", *self._events)) / 1e3

    def _record(self, number: int) -> None:
        with self._device.enter_context():
            self._device._do("cuEventRecord", self._events[number], self._device.stream)
