"""The buffer protocol of tensors, in machine code that is stored in a slot of their type.

Up to Python 3.11, only C functions can implement the protocol. From 3.12 on, ``__buffer__`` could,
but a signal handler may raise an error when the Python function begins, and NumPy, which tries this
protocol first, drops errors. Machine code keeps them for ``__array__``: see `values.export`.

Variables do not support the protocol, as in TensorFlow: NumPy arrays of them are copies.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any, cast

from .. import settings
from ..compile import cache as disk
from ..values.export import FAILED_EXPORTS, array_of
from ..values.tensor import Tensor
from .layout import UnsupportedLayout, address_of_call, unsupported_reason, word_at
from .lazy_build import LazyBuild, keep_forever

AS_BUFFER = 160  # the byte offset of ``tp_as_buffer`` in a type: the address of its buffer slots
GETBUFFER = 1  # ``Py_bf_getbuffer``, the number of the slot for `PyType_GetSlot`

CALLS = (
    "PyErr_Clear",
    "PyErr_Fetch",
    "PyErr_NormalizeException",
    "PyErr_Restore",
    "PyException_SetTraceback",
    "PyList_Append",
    "PyList_SetSlice",
    "PyObject_CallOneArg",
    "PyObject_GetBuffer",
    "Py_DecRef",
)
NAMES = (*CALLS, "array_of", "FAILED")
SYMBOLS = ["getbuffer", "getbuffer_setup"]


def _build() -> disk.Built:
    """Compile the protocol's function, and a function that takes the addresses of `NAMES`."""
    from llvmlite import ir

    from ..compile.llvm import compile_module
    from .writer import COUNT, WORD, Writer

    module = ir.Module("buffers")
    writer = Writer(module, {}, NAMES)
    value, view, flags = writer.begin_function(SYMBOLS[0], 3).args
    b, call, failed = writer.builder, writer.call, writer.create_block()
    array = writer.need(call("PyObject_CallOneArg", writer.known_object("array_of"), value), failed)
    has_failed = writer.reports_error("PyObject_GetBuffer", array, view, flags)
    call("Py_DecRef", array)
    b.ret(b.select(has_failed, WORD(-1), WORD(0)))

    b.position_at_end(failed)
    slots = [b.alloca(WORD) for _ in range(3)]
    addresses = [b.ptrtoint(place, WORD) for place in slots]
    call("PyErr_Fetch", *addresses)
    call("PyErr_NormalizeException", *addresses)
    kind, error, trace = (b.load(place) for place in slots)
    with b.if_then(writer.is_not(trace, WORD(0))):
        call("PyException_SetTraceback", error, trace)
    call("PyList_SetSlice", writer.known_object("FAILED"), WORD(0), WORD(COUNT), WORD(0))
    call("PyList_Append", writer.known_object("FAILED"), error)
    call("PyErr_Clear")
    call("PyErr_Restore", kind, error, trace)
    b.store(WORD(0), writer.pointer_to(view, 8))  # the buffer has no owner
    b.ret(WORD(-1))
    writer.write_setup(len(NAMES), SYMBOLS[1])
    return compile_module(module, SYMBOLS, quick=True)


def _load_code() -> int:
    """Load the machine code. Return its address."""
    files = [Path(__file__).parent / name for name in ("buffer_protocol.py", "writer.py")]
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    result = disk.load("buffers", source, _build)
    objects: dict[str, Any] = {"array_of": array_of, "FAILED": FAILED_EXPORTS}
    addresses = [id(objects[x]) if x in objects else address_of_call(x) for x in NAMES]
    word_array = (ctypes.c_int64 * len(addresses))(*addresses)
    setup = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(result[SYMBOLS[1]])
    setup(ctypes.addressof(word_array))
    for object_ in objects.values():  # even after modules are cleared at exit
        keep_forever(object_)
    return result[SYMBOLS[0]]


def _find_slot(cls: type) -> Any:
    """Return the slot of a class, as a word that can be set.

    Raises:
      UnsupportedLayout: If it is not at the expected position.
    """
    address, size = word_at(id(cls) + AS_BUFFER), cast(int, type.__basicsize__)
    if not id(cls) < address < id(cls) + size:
        raise UnsupportedLayout("the buffer slots of a type are not at the expected position")
    return ctypes.c_size_t.from_address(address)


def _check_slot() -> None:
    """Check that Python reads the slot of a class where `_find_slot` writes it."""

    class Probe:
        pass

    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_int)
    get_slot = prototype(address_of_call("PyType_GetSlot"))
    slot = _find_slot(Probe)
    slot_before, slot.value = get_slot(Probe, GETBUFFER), 1
    slot_after, slot.value = get_slot(Probe, GETBUFFER), 0
    if (slot_before, slot_after) != (None, 1):
        raise UnsupportedLayout("the buffer slot of a type is not at the expected position")


def _export(value: Tensor, flags: int, /) -> memoryview[Any]:
    """The result of ``__buffer__``, for subclasses and direct calls."""
    return memoryview(array_of(value))  # type: ignore[arg-type]


def _fill_slots(cls: type, address: int) -> None:
    """Fill the slot of a class and its subclasses."""
    _find_slot(cls).value = address
    subclasses: list[type] = type.__subclasses__(cls)
    for subclass in subclasses:
        _fill_slots(subclass, address)


def _install() -> int:
    """Make tensors support the protocol. Return the address of the machine code."""
    if not settings.native_recorders():
        raise UnsupportedLayout("NUMTAPE_RECORD=python")
    if reason := unsupported_reason():
        raise UnsupportedLayout(reason)
    _check_slot()
    with disk.in_this_thread():  # imports do not wait for other threads
        address = _load_code()
    if sys.version_info >= (3, 12):
        Tensor.__buffer__ = _export  # type: ignore[method-assign]
    _fill_slots(Tensor, address)
    return address


_lazy_build = LazyBuild("memoryview(tensor) is a TypeError", _install)


def begin() -> None:
    """Make tensors support the protocol if possible; later calls retry after a failure."""
    _lazy_build.get()
