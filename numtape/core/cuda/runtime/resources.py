"""The GPU's context, and resources that are released after they are garbage collected.

numtape uses the device's primary context, as most libraries do. If it is current already, no
context is switched.
Finalizers would lose interrupts (see `core.values.weakrefs`), so the release of a resource is
deferred to the next allocation, or to the next wait for the GPU.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from ...values.memory import LEGACY_STREAM
from ...values.weakrefs import FinalizationQueue

if TYPE_CHECKING:
    from cuda.bindings.driver import CUgraphExec, CUmodule

STAYS = nullcontext()


class Thread(threading.local):
    """``inside``: whether this thread is in a block that has made the GPU's context current."""

    inside = False


class OrderedStream(Protocol):
    """The part of a driver or a simulator that orders the release of memory."""

    stream: Any

    def order(self, before: int, after: int) -> None:
        """Let later operations of a stream wait for earlier ones of another."""

    def keep(self, thing: object) -> None:
        """Keep an object alive until all earlier operations are done."""


class DriverInterface(OrderedStream, Protocol):
    """The part of `Driver` that contexts and resources use."""

    _context: Any
    _driver: Any
    _thread: Thread

    def _do(self, name: str, *args: Any) -> Any:
        """Call the driver; raise an error if it returns a status other than success."""

    def enter_context(self) -> AbstractContextManager[None]:
        """Make the GPU's context current in this thread for a ``with`` block."""

    def release(self, address: int) -> None:
        """Free memory after all earlier operations."""

    def forget(self, handle: Any) -> None:
        """Destroy a graph."""


P = ParamSpec("P")
R = TypeVar("R")
D = TypeVar("D", bound=DriverInterface)


class Entered:
    """Makes the GPU's context current for a block; restores another library's after it."""

    __slots__ = ("_device", "_pushed")

    def __init__(self, device: DriverInterface) -> None:
        self._device, self._pushed = device, False

    def __enter__(self) -> None:
        device = self._device
        current = int(device._do("cuCtxGetCurrent"))
        if not current:  # no context: ours may remain current after the block
            device._do("cuCtxSetCurrent", device._context)
        elif current != int(device._context):  # a library that does not use the primary context
            device._do("cuCtxPushCurrent", device._context)
            self._pushed = True
        device._thread.inside = True

    def __exit__(self, *raised: object) -> None:
        self._device._thread.inside = False
        if self._pushed:
            self._device._do("cuCtxPopCurrent")


def entering(method: Callable[Concatenate[D, P], R]) -> Callable[Concatenate[D, P], R]:
    """Decorator: run a method with the GPU's context current."""

    @wraps(method)
    def enter_context(self: D, /, *args: P.args, **options: P.kwargs) -> R:
        if self._thread.inside:
            return method(self, *args, **options)
        with Entered(self):
            return method(self, *args, **options)

    return enter_context


GONE: FinalizationQueue[Callable[[], None]] = FinalizationQueue()  # pending releases


def let_go() -> None:
    """Run the pending releases of garbage-collected resources."""
    while GONE:
        try:
            work = GONE.take()
        except IndexError:  # another thread has taken it
            return
        with suppress(Exception):  # later operations report GPU errors
            work()


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


def _after(device: OrderedStream, lent: list[bool], work: Callable[[], None]) -> None:
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

    def __init__(self, device: OrderedStream, shadow: object) -> None:
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


class CudaEvent:
    """A place in a stream. It is destroyed when the object is garbage collected."""

    def __init__(self, device: DriverInterface, handle: Any) -> None:
        self.handle = handle
        GONE.add(self, partial(_done, device, "cuEventDestroy", [handle]))


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
