"""The buffer protocol of tensors, in machine code that is stored in a slot of their type.

Up to Python 3.11, only C functions can implement the protocol. From 3.12 on, ``__buffer__`` could,
but a signal handler may raise an error when the Python function begins, and NumPy, which tries this
protocol first, drops errors. Machine code keeps them for ``__array__``: see `values.export`.

Variables do not support the protocol, as in TensorFlow: NumPy arrays of them are copies.
"""

from __future__ import annotations

import ctypes
from typing import Any

from .. import settings
from ..compile import cache as disk
from ..cpython.api import UnsupportedLayout
from ..cpython.classes import buffer_slot, check_buffer_slot
from ..cpython.layout import unsupported_reason
from ..cpython.version import HAS_BUFFER_METHOD
from ..values.export import FAILED_EXPORTS, array_of
from ..values.memory import address_of
from ..values.tensor import Tensor
from .fast_path import load_passes
from .lazy_build import LazyBuild
from .process import process_table

# The function of the slot: the pass, with the process's words as its first argument.
_SLOT = """
@"buffers.process" = internal global i64 0
define i64 @"set_up"(i64 %process) nounwind {
  store i64 %process, ptr @"buffers.process"
  ret i64 0
}
define i32 @"fill"(i64 %value, i64 %view, i32 %flags) nounwind {
  %process = load i64, ptr @"buffers.process"
  %wide = zext i32 %flags to i64
  %result = call i64 @"numtape_get_buffer"(i64 %process, i64 %value, i64 %view, i64 %wide)
  %status = trunc i64 %result to i32
  ret i32 %status
}
"""


def _load_code() -> int:
    """Load the machine code. Return its address."""
    table = process_table()
    table.set_objects({"ARRAY_OF": array_of, "FAILED_EXPORTS": FAILED_EXPORTS})

    addresses = load_passes(
        "buffers", "cpython.buffers", {"get_buffer": 4}, text=_SLOT, entries=("fill", "set_up")
    )
    setup = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(addresses["set_up"])
    setup(address_of(table.words))
    return addresses["fill"]


def _export(value: Tensor, flags: int, /) -> memoryview[Any]:
    """The result of ``__buffer__``, for subclasses and direct calls."""
    return memoryview(array_of(value))  # type: ignore[arg-type]


def _fill_slots(cls: type, address: int) -> None:
    """Fill the slot of a class and its subclasses."""
    buffer_slot(cls).value = address
    subclasses: list[type] = type.__subclasses__(cls)
    for subclass in subclasses:
        _fill_slots(subclass, address)


def _install() -> int:
    """Make tensors support the protocol. Return the address of the machine code."""
    if not settings.native_recorders():
        raise UnsupportedLayout("NUMTAPE_RECORD=python")
    if reason := unsupported_reason():
        raise UnsupportedLayout(reason)
    check_buffer_slot()
    with disk.in_this_thread():  # imports do not wait for other threads
        address = _load_code()
    if HAS_BUFFER_METHOD:
        Tensor.__buffer__ = _export  # type: ignore[attr-defined]
    _fill_slots(Tensor, address)
    return address


_lazy_build = LazyBuild("memoryview(tensor) is a TypeError", _install)


def begin() -> None:
    """Make tensors support the protocol if possible; later calls retry after a failure."""
    _lazy_build.get()
