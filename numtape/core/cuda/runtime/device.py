"""The process's device: the GPU, or its simulator; and a cache of uploaded host arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import DeviceError, ResourceExhaustedError
from ... import settings
from ...values.weakrefs import WeakObjectMap
from .device_array import DeviceArray

_lock = threading.RLock()
_device: Any = None
reclaim: list[Callable[[], None]] = []  # callbacks that free memory reserved for later use
looks: list[Callable[[], None]] = []  # callbacks after each download of a value
_copies: WeakObjectMap[DeviceArray] = WeakObjectMap()  # of host arrays, which are never modified


def device() -> Any:
    """The device: a `driver.Driver` or a `simulator.Simulator`, created at the first call.

    Raises:
      DeviceError: If no usable device exists.
    """
    global _device
    if _device is None:
        with _lock:
            if _device is None:
                if settings.simulated():
                    from .simulator import Simulator

                    _device = Simulator()
                else:
                    from .driver import Driver

                    _device = Driver()
    return _device


def _download(address: int, array: np.ndarray[Any, Any]) -> None:
    device().download(address, array)
    for look in looks:
        look()


DeviceArray.download = _download


def there() -> bool:
    """Whether a usable device exists."""
    try:
        device()
    except DeviceError:
        return False
    return True


def empty(size: int) -> Any:
    """Allocate ``size`` bytes of uninitialized memory.

    Raises:
      ResourceExhaustedError: If memory does not suffice even after `reclaim` has freed some.
    """
    gpu = device()
    try:
        return gpu.empty(size)
    except ResourceExhaustedError:
        for give_up in reclaim:
            give_up()
        gpu.trim()
        return gpu.empty(size)


def resident(array: np.ndarray[Any, Any]) -> DeviceArray:
    """A copy of a host array on the device, made once per array."""
    copy = _copies.get(array)
    if copy is not None:
        return copy
    memory = empty(array.nbytes)
    copied = DeviceArray(memory, memory.address, array.shape, array.dtype)
    device().upload(np.ascontiguousarray(array), memory.address)
    _copies.put(array, copied)
    return copied
