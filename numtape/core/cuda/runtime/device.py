"""The GPU that the process uses, or its simulator, and host arrays that are on it as well."""

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
reclaim: list[Callable[[], None]] = []  # what frees memory that only waits for use
looks: list[Callable[[], None]] = []  # what is done after each look at a value
_copies: WeakObjectMap[DeviceArray] = WeakObjectMap()  # of host arrays, to which nobody writes


def device() -> Any:
    """The device: a `driver.Driver`, or a `simulator.Simulator`.

    Raises:
      DeviceError: If it does not exist that can be used.
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
    """Whether there is a device that can be used."""
    try:
        device()
    except DeviceError:
        return False
    return True


def empty(size: int) -> Any:
    """Memory of so many bytes, with any contents.

    Raises:
      ResourceExhaustedError: If there is not so much, even when all that waits for use is freed.
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
    """A host array on the device, copied there once."""
    copy = _copies.get(array)
    if copy is not None:
        return copy
    memory = empty(array.nbytes)
    copied = DeviceArray(memory, memory.address, array.shape, array.dtype)
    device().upload(np.ascontiguousarray(array), memory.address)
    _copies.put(array, copied)
    return copied
