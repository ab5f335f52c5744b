"""What tensors of one element that a replay computed have for a home: their cells do."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from .memory import Array

if TYPE_CHECKING:
    from .tensor import Tensor

_BITS = struct.Struct("=q").pack
# What Python's numbers are read off the bits with, for dtypes whose values Python's numbers have.
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
    """A home; see `Tensor`."""

    __slots__ = ()

    def evaluate(self, tensor: Tensor) -> Array:
        """The value as an array, which is the tensor's home from now on."""
        spec = tensor._spec
        shape = spec.shape if spec.rank else ()
        array: Array = np.ndarray(shape, spec.dtype.numpy_dtype, _BITS(tensor._cell))
        tensor._home = array
        return array

    evaluate_on_device = evaluate

    def number_of(self, tensor: Tensor) -> Any:
        """The value as a number of Python's, or NumPy's."""
        unpack = _UNPACK_NUMBER.get(tensor._spec.dtype.name)
        if unpack is None:
            return self.evaluate(tensor).reshape(())[()]
        return unpack(_BITS(tensor._cell))[0]


SCALAR_STORAGE: Any = ScalarStorage()
