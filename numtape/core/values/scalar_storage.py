"""Storage of one-element tensors that a replay computed: the value is in the tensor itself."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from .memory import Array

if TYPE_CHECKING:
    from .tensor import Tensor

_BITS = struct.Struct("=q").pack
# Decodes the bits as a Python number, for dtypes whose values Python numbers can represent.
_UNPACK_NUMBER = {
    name: struct.Struct(f"={letter}").unpack_from
    for name, letter in {
        "float32": "f",
        "float64": "d",
        "int8": "b",
        "int16": "h",
        "int32": "i",
        "int64": "q",
        "uint8": "B",
        "uint16": "H",
        "uint32": "I",
        "uint64": "Q",
        "bool": "?",
    }.items()
}


class ScalarStorage:
    """A home of tensors whose value is in ``_cell``; see `Tensor`."""

    __slots__ = ()

    def evaluate(self, tensor: Tensor) -> Array:
        """Return the value as an array, which becomes the tensor's home."""
        spec = tensor._spec
        shape = spec.shape if spec.rank else ()
        array: Array = np.ndarray(shape, spec.dtype.numpy_dtype, _BITS(tensor._cell))
        tensor._home = array
        return array

    evaluate_on_device = evaluate

    def number_of(self, tensor: Tensor) -> Any:
        """Return the value as a Python number, or as a NumPy scalar for other dtypes."""
        unpack = _UNPACK_NUMBER.get(tensor._spec.dtype.name)
        if unpack is None:
            return self.evaluate(tensor).reshape(())[()]
        return unpack(_BITS(tensor._cell))[0]


SCALAR_STORAGE: Any = ScalarStorage()
