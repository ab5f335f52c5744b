"""Conversions of a variable's value for Python, NumPy and other libraries. All evaluate it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..values.tensor import Tensor


class VariableConversions:
    """Base of `Variable`."""

    __slots__ = ()

    if TYPE_CHECKING:
        _value: Tensor

        def _current_tensor(self) -> Tensor: ...

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        # A copy, as in TensorFlow, unless the caller asks for a view of the current value.
        return self._current_tensor().__array__(dtype, copy is not False)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a DLPack capsule of the current value; see `Tensor`."""
        return self._current_tensor().__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._value.__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The address and layout of the value on the GPU, valid until the next assign."""
        return self._current_tensor().__cuda_array_interface__

    def __iter__(self: Any) -> Iterator[Tensor]:
        return iter(self.read_value())

    def __bool__(self) -> bool:
        return bool(self._current_tensor())

    def __float__(self) -> float:
        return float(self._current_tensor())

    def __int__(self) -> int:
        return int(self._current_tensor())

    def __index__(self) -> int:
        return self._current_tensor().__index__()
