"""The device, and arrays on it: the storage of tensors and the buffers of logs."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import DeviceError, ResourceExhaustedError
from ... import settings
from ...values.memory import Array
from ...values.weakrefs import WeakObjectMap

if TYPE_CHECKING:
    from ...values.tensor import Tensor


class DeviceArray:
    """A contiguous array on the GPU, immutable once computed.

    Attributes:
      address: The address of the first element.
      shape: Its shape.
      dtype: Its NumPy dtype.
      owner: The object that keeps the memory alive: a `DeviceMemory`, the simulator's
        `Memory`, or another library's object.
    """

    __slots__ = ("__weakref__", "_host", "address", "dtype", "owner", "shape")

    def __init__(
        self, owner: Any, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.owner, self.address, self.shape, self.dtype = owner, address, shape, dtype
        self._host: Array | None = None

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self.size * int(self.dtype.itemsize)

    @property
    def is_known(self) -> bool:
        """Whether the elements are on the host as well."""
        return self._host is not None

    def know(self, bits: int) -> None:
        """Note the bits of the only element, which the host has computed."""
        word = np.array([bits], np.int64).view(np.uint8)
        self._host = word[: self.nbytes].view(self.dtype).reshape(self.shape)

    def host(self) -> Array:
        """Wait for the computation and return a copy on the host, which is cached."""
        if self._host is None:
            array = np.empty(self.shape, self.dtype)
            _download(self.address, array)
            self._host = array
        return self._host

    def evaluate(self, tensor: Tensor) -> Array:
        """The value of a tensor that this array stores, on the host."""
        return self.host()

    def evaluate_on_device(self, tensor: Tensor) -> DeviceArray:
        """The value of a tensor that this array stores, on the GPU."""
        return self

    def tobytes(self) -> bytes:
        """The elements as bytes."""
        return self.host().tobytes()

    def reshape(self, shape: tuple[int, ...]) -> DeviceArray:
        """A view of the same memory in another shape."""
        view = DeviceArray(self.owner, self.address, shape, self.dtype)
        view._host = None if self._host is None else self._host.reshape(shape)
        return view


_lock = threading.RLock()
_device: Any = None
reclaim: list[Callable[[], None]] = []  # callbacks that free memory reserved for later use
download_hooks: list[Callable[[], None]] = []  # callbacks after each download of a value
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


def _download(address: int, array: Array) -> None:
    """Wait for the computation, then copy from an address to a host array."""
    device().download(address, array)
    for hook in download_hooks:
        hook()


def is_available() -> bool:
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
