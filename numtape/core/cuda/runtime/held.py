"""What a `Driver` holds on the GPU, each until nothing refers to it any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...values.memory import LEGACY

if TYPE_CHECKING:
    from .driver import Driver


class Memory:
    """Bytes on the GPU that are given back when nothing refers to them any more.

    Attributes:
      address: Where they begin.
      size: How many there are.
      lent: Whether other libraries have used them: then after what they do in the default stream.
    """

    __slots__ = ("__weakref__", "_device", "address", "lent", "size")

    def __init__(self, device: Driver, address: int, size: int) -> None:
        self._device, self.address, self.size = device, address, size
        self.lent = False

    def __del__(self) -> None:
        try:
            if self.lent:
                self._device.order(LEGACY, self._device.stream)
            self._device.release(self.address)
        except Exception:  # the interpreter is shutting down
            pass


class Module:
    """Machine code that was loaded, until nothing refers to it any more."""

    def __init__(self, device: Driver, handle: Any) -> None:
        self._device, self.handle = device, handle

    def __del__(self) -> None:
        try:
            with self._device.entered():
                self._device._do("cuModuleUnload", self.handle)
        except Exception:  # the interpreter is shutting down
            pass


class Code:
    """A kernel that can be launched. It is unloaded once its last launch is done."""

    def __init__(self, device: Driver, handle: Any, symbol: str) -> None:
        self._device, self._module = device, Module(device, handle)
        self.function = device._do("cuModuleGetFunction", handle, symbol.encode())

    def __del__(self) -> None:
        try:
            self._device.keep(self._module)
        except Exception:  # the interpreter is shutting down
            pass


class Graph:
    """Launches that were captured, to be replayed in one go."""

    def __init__(self, device: Driver, handle: Any, launches: int) -> None:
        self._device, self.handle, self.launches = device, handle, launches

    def __del__(self) -> None:
        try:
            self._device.forget(self.handle)
        except Exception:  # the interpreter is shutting down
            pass


class Timer:
    """The time that the GPU takes from ``begin`` to ``end``, by events in its stream."""

    def __init__(self, device: Driver) -> None:
        self._device = device
        flags = device._driver.CUevent_flags.CU_EVENT_DEFAULT
        with device.entered():
            self._events = [device._do("cuEventCreate", flags) for _ in range(2)]

    def __del__(self) -> None:
        try:
            with self._device.entered():
                for event in self._events:
                    self._device._do("cuEventDestroy", event)
        except Exception:  # the interpreter is shutting down
            pass

    def begin(self) -> None:
        """Begin after what was asked for so far."""
        self._record(0)

    def end(self) -> float:
        """Wait for what was asked for since ``begin``, and give the seconds it took."""
        self._record(1)
        with self._device.entered():
            self._device._do("cuEventSynchronize", self._events[1])
            return float(self._device._do("cuEventElapsedTime", *self._events)) / 1e3

    def _record(self, number: int) -> None:
        with self._device.entered():
            self._device._do("cuEventRecord", self._events[number], self._device.stream)
