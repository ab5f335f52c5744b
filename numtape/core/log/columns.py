"""The columns of a log at one capacity, and the encoding of single elements in cells."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..values import dtypes, memory
from ..values.memory import Array, address_of, convert_array, resize, view

PACK: dict[dtypes.DType, Callable[[Any], bytes]] = {
    dtype: struct.Struct("=" + dtypes.STRUCT_FORMATS[dtype.name]).pack for dtype in dtypes.DTYPES
}


def _packer(dtype: dtypes.DType) -> Callable[[Any], bytes]:
    def pack(value: float) -> bytes:
        return convert_array(np.float64(value), dtype.numpy_dtype).tobytes()

    return pack


PACK |= {dtype: _packer(dtype) for dtype in dtypes.WIDE}


_ZEROS = [bytes(8 - k) for k in range(9)]  # a cell's upper bytes are 0


def bits_of(raw: bytes) -> int:
    """Return the int64 of a cell that holds these bytes."""
    return int.from_bytes(raw + _ZEROS[len(raw)], sys.byteorder, signed=True)


class Columns:
    """The arrays of a log at one capacity, and the memoryviews that Python writes through."""

    NAMES = ("code", "a", "b", "c", "spec", "cell", "state")
    __slots__ = (*NAMES, *(f"{name}_view" for name in NAMES), "address", "capacity")

    code: Array
    a: Array
    b: Array
    c: Array
    spec: Array
    cell: Array
    state: Array
    code_view: memoryview[int]
    a_view: memoryview[int]
    b_view: memoryview[int]
    c_view: memoryview[int]
    spec_view: memoryview[int]
    cell_view: memoryview[int]
    state_view: memoryview[int]

    def __init__(self, capacity: int, source: Columns | None = None, n: int = 0) -> None:
        memory.refill()  # growing columns are what exhausts memory
        self.capacity = capacity
        for name in self.NAMES:
            if source is None:
                dtype = {"cell": np.int64, "state": np.uint8}.get(name, np.int32)
                array = np.zeros(capacity, dtype)
            else:
                array = resize(getattr(source, name), capacity, n)
            setattr(self, name, array)
            setattr(self, f"{name}_view", view(array))
        self.address = address_of(self.cell)
