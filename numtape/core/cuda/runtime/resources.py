"""Resources of a `Driver` on the GPU, released after they are garbage collected.

Finalizers would lose interrupts (see `core.values.weakrefs`), so the release is deferred to the
next allocation, or to the next wait for the GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from ...values.memory import LEGACY_STREAM
from ...values.weakrefs import FinalizationQueue
from .context import DriverInterface

if TYPE_CHECKING:
    from cuda.bindings.driver import CUgraphExec, CUmodule


GONE: FinalizationQueue[Callable[[], None]] = FinalizationQueue()  # pending releases


def let_go() -> None:
    """Run the pending releases of garbage-collected resources."""
    while GONE:
        try:
            work = GONE.take()
        except IndexError:  # another thread has taken it
            return
        with suppress(Exception):  # other operations report errors of the GPU
            work()


class Stream(Protocol):
    """The part of a driver or a simulator that orders the release of memory."""

    stream: Any

    def order(self, before: int, after: int) -> None:
        """Let later operations of a stream wait for earlier ones of another."""

    def keep(self, thing: object) -> None:
        """Keep an object alive until all earlier operations are done."""


class Lendable:
    """A resource that other libraries may use."""

    __slots__ = ("__weakref__", "_lent")

    def __init__(self) -> None:
        self._lent = [False]  # a list, shared with the callback that releases the resource

    @property
    def is_lent(self) -> bool:
        """Whether other libraries have used it: the release waits for the default stream then."""
        return self._lent[0]

    @is_lent.setter
    def is_lent(self, value: bool) -> None:
        self._lent[0] = value


def _after(device: Stream, lent: list[bool], work: Callable[[], None]) -> None:
    if lent[0]:
        device.order(LEGACY_STREAM, device.stream)
    work()


class DeviceMemory(Lendable):
    """Memory on the GPU that is freed when the object is garbage collected.

    Attributes:
      address: The address of the first byte.
      size: The number of bytes.
    """

    __slots__ = ("address", "size")

    def __init__(self, device: DriverInterface, address: int, size: int) -> None:
        super().__init__()
        self.address, self.size = address, size
        GONE.add(self, partial(_after, device, self._lent, partial(device.release, address)))


class Borrowed(Lendable):
    """Another library's array, released after all our operations so far are done."""

    __slots__ = ("shadow",)

    def __init__(self, device: Stream, shadow: object) -> None:
        super().__init__()
        self.shadow = shadow
        GONE.add(self, partial(_after, device, self._lent, partial(device.keep, shadow)))


class CudaModule:
    """Loaded machine code, unloaded when the object is garbage collected."""

    def __init__(self, device: DriverInterface, handle: CUmodule) -> None:
        self.handle = handle
        GONE.add(self, partial(_done, device, "cuModuleUnload", [handle]))


def _done(device: DriverInterface, name: str, handles: list[Any]) -> None:
    with device.enter_context():
        for handle in handles:
            device._do(name, handle)


class Code:
    """A loaded kernel. It is unloaded after its last launch is done."""

    def __init__(self, device: DriverInterface, handle: CUmodule, symbol: str) -> None:
        module = CudaModule(device, handle)
        GONE.add(self, partial(device.keep, module))
        self.function = device._do("cuModuleGetFunction", handle, symbol.encode())


class CudaGraph:
    """Captured launches, replayed by one call."""

    def __init__(self, device: DriverInterface, handle: CUgraphExec, launches: int) -> None:
        self.handle, self.launches = handle, launches
        GONE.add(self, partial(device.forget, handle))


class CudaTimer:
    """Measures the GPU's time from ``begin`` to ``end`` by events in the stream."""

    def __init__(self, device: DriverInterface) -> None:
        self._device = device
        flags = device._driver.CUevent_flags.CU_EVENT_DEFAULT
        with device.enter_context():
            self._events = [device._do("cuEventCreate", flags) for _ in range(2)]
        GONE.add(self, partial(_done, device, "cuEventDestroy", self._events))

    def begin(self) -> None:
        """Start the timer after all operations so far."""
        self._record(0)

    def end(self) -> float:
        """Wait for the operations since ``begin`` and return their time in seconds."""
        self._record(1)
        with self._device.enter_context():
            self._device._do("cuEventSynchronize", self._events[1])
            return float(self._device._do("cuEventElapsedTime", *self._events)) / 1e3

    def _record(self, number: int) -> None:
        with self._device.enter_context():
            self._device._do("cuEventRecord", self._events[number], self._device.stream)
