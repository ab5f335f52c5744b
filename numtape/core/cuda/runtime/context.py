"""Makes the GPU's context current in a thread, and restores another library's afterwards.

Most libraries share the device's primary context, which numtape uses too: then nothing changes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

STAYS = nullcontext()


class Thread(threading.local):
    """``inside``: whether this thread is in a block that has made the GPU's context current."""

    inside = False


class DriverInterface(Protocol):
    """The part of `Driver` that contexts and resources use."""

    _context: Any
    _driver: Any
    _thread: Thread
    stream: Any

    def _do(self, name: str, *args: Any) -> Any:
        """Call the driver; raise an error if it returns a status other than success."""

    def enter_context(self) -> AbstractContextManager[None]:
        """Make the GPU's context current in this thread for a ``with`` block."""

    def release(self, address: int) -> None:
        """Free memory after all earlier operations."""

    def order(self, before: int, after: int) -> None:
        """Let later operations of a stream wait for earlier ones of another."""

    def keep(self, thing: object) -> None:
        """Keep an object alive until all earlier operations are done."""

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
