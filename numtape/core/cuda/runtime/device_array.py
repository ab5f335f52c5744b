"""Arrays on the GPU: the storage of tensors and the buffers of logs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...settings import unset

if TYPE_CHECKING:
    from ...values.tensor import Tensor

Array = np.ndarray[Any, Any]


class DeviceArray:
    """A contiguous array on the GPU, immutable once computed.

    Attributes:
      address: The address of the first element.
      shape: Its shape.
      dtype: Its NumPy dtype.
      owner: The object that keeps the memory alive: a `Memory`, or another library's object.
    """

    __slots__ = ("__weakref__", "_host", "address", "dtype", "owner", "shape")

    # Waits for the computation, then copies from an address to a host array; set in `device`.
    download: Callable[[int, Array], None] = staticmethod(unset)

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

    def host(self) -> Array:
        """Wait for the computation and return a copy on the host, which is cached."""
        if self._host is None:
            array = np.empty(self.shape, self.dtype)
            DeviceArray.download(self.address, array)
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
