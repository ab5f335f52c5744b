"""Makes the GPU's context current in a thread, and restores another library's afterwards.

Most libraries share the device's primary context, which numtape uses too: then nothing changes.
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
    """``inside``: whether this thread is in a block that has made the GPU's context current."""

    inside = False


class Entered:
    """Makes the GPU's context current for a block; restores another library's after it."""

    __slots__ = ("_device", "_pushed")

    def __init__(self, device: Driver) -> None:
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


def entering(method: Callable[Concatenate[Driver, P], R]) -> Callable[Concatenate[Driver, P], R]:
    """Decorator: run a method with the GPU's context current."""

    @wraps(method)
    def enter_context(self: Driver, /, *args: P.args, **options: P.kwargs) -> R:
        if self._thread.inside:
            return method(self, *args, **options)
        with Entered(self):
            return method(self, *args, **options)

    return enter_context
