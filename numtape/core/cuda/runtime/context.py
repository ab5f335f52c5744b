"""The GPU's context as a thread's current one, which may be another library's.

Libraries that share the device's primary context, as most do, have the same one: then there is
nothing to be done. Of the others each finds its own again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from .driver import Driver

P = ParamSpec("P")
R = TypeVar("R")
STAYS = nullcontext()


class Thread(threading.local):
    """Whether the GPU's context is this thread's, and stays so for now."""

    inside = False


class Entered:
    """The GPU's context is this thread's in the block; another library's is back after it."""

    __slots__ = ("_device", "_pushed")

    def __init__(self, device: Driver) -> None:
        self._device, self._pushed = device, False

    def __enter__(self) -> None:
        device = self._device
        current = int(device._do("cuCtxGetCurrent"))
        if not current:  # nobody's: it may stay ours
            device._do("cuCtxSetCurrent", device._context)
        elif current != int(device._context):  # libraries that share the primary one have ours
            device._do("cuCtxPushCurrent", device._context)
            self._pushed = True
        device._thread.inside = True

    def __exit__(self, *raised: object) -> None:
        self._device._thread.inside = False
        if self._pushed:
            self._device._do("cuCtxPopCurrent")


def entering(method: Callable[Concatenate[Driver, P], R]) -> Callable[Concatenate[Driver, P], R]:
    """A method that needs the GPU's context."""

    @wraps(method)
    def enter_context(self: Driver, /, *args: P.args, **options: P.kwargs) -> R:
        if self._thread.inside:
            return method(self, *args, **options)
        with Entered(self):
            return method(self, *args, **options)

    return enter_context
