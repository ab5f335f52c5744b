"""The memory layout of the objects that recorders read, measured in the running Python.

Each offset is found by storing a known object and searching for its address. If it is not found
exactly once, the layout is not supported, and Python's recorders are used. Start with
`find_layout`.
"""

from __future__ import annotations

import ctypes
import math
import sys
import sysconfig
import types
import weakref
from typing import Any, NamedTuple

import numpy as np

from ...kernels.cpython.words import LIST_ITEMS, SIZE, TYPE
from ..log.columns import Columns
from ..log.log import LEAF_CODE, READ_CODE, READ_ROW_CODE, Log, local
from ..log.variable import Variable
from ..values.memory import address_of, view
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor
from . import version
from .api import UnsupportedLayout, address_of_call, entry_of, word_at
from .version import WORD

# Functions of the C API that the steps call; each takes and returns words.
CALLS = (
    "PyDict_DelItem",
    "PyDict_GetItemWithError",
    "PyDict_SetItem",
    "PyErr_Clear",
    "PyList_Append",
    "PyList_New",
    "PyList_SetSlice",
    "PyLong_FromSsize_t",
    "PyObject_GC_Track",
    "PyObject_GC_UnTrack",
    "PyObject_GetAttr",
    "PyObject_IsTrue",
    "PyThreadState_GetDict",
    "PyTuple_New",
    "PyType_GenericAlloc",
    "Py_DecRef",
    "Py_IncRef",
)
SLOTS: dict[str, tuple[type, tuple[str, ...]]] = {
    "tensor": (
        Tensor,
        (
            "_home",
            "_row",
            "_spec",
            "_cell",
            "_device_copy",
            "_keras_logits",
            "_keras_mask",
            "_sliced",
        ),
    ),
    "variable": (Variable, ("_read", "_spec", "_value")),
    "spec": (Spec, ("id", "inexact", "scalar", "single")),
    "columns": (Columns, ("cell_view", "state_view")),
    "log": (
        Log,
        (
            "_const_rows",
            "_leaf_rows",
            "n",
            "limit",
            "tensors",
            "code",
            "a",
            "b",
            "c",
            "spec",
            "buffers",
            "bytes",
            "bytes_limit",
            "columns",
            "reads",
            "scanned",
            "variable_index",
            "variables",
        ),
    ),
}


class NativeLayout(NamedTuple):
    """Offsets and addresses for machine code.

    Attributes:
      offsets: Byte offsets of fields in objects, by name. They are compiled into machine code.
      known: Addresses of functions and objects of this process, by name.
      objects: The objects among them, which must stay alive.
    """

    offsets: dict[str, int]
    known: dict[str, int]
    objects: tuple[Any, ...]


def unsupported_reason() -> str:
    """Return why recorders of this Python stay in Python; "" if no reason is known."""
    if hasattr(sys, "gettotalrefcount") or sysconfig.get_config_var("Py_TRACE_REFS"):
        return "this is a debug build of Python"
    return version.unsupported_reason()


def offset_of_word(owner: object, size: int, word: int, name: str) -> int:
    """Return the byte offset of a word in an object.

    Raises:
      UnsupportedLayout: If the word does not occur exactly once.
    """
    offsets = [offset for offset in range(0, size, WORD) if word_at(id(owner) + offset) == word]
    if len(offsets) != 1:
        raise UnsupportedLayout(f"{name} is not where it is known to be")
    return offsets[0]


def slot_offset(cls: type, name: str) -> int:
    """Return the byte offset of a slot in objects of one of numtape's classes."""
    holder: Any = object.__new__(cls)
    marker = object()
    setattr(holder, name, marker)
    return offset_of_word(holder, cls.__basicsize__, id(marker), f"{cls.__name__}.{name}")


def _slot_offsets() -> dict[str, int]:
    """Return the offsets of slots of numtape's objects."""
    return {
        f"{prefix}.{name}": slot_offset(cls, name)
        for prefix, (cls, names) in SLOTS.items()
        for name in names
    }


def _function_offsets() -> dict[str, int]:
    """Return the offsets of references in functions, built-in functions and closure cells."""
    marker: Any = object()

    def function() -> Any:
        return marker

    function_type, closure = types.FunctionType, function.__closure__ or ()
    entry = entry_of(function)
    append: Any = [0].append
    size = types.BuiltinFunctionType.__basicsize__
    return {
        "function.closure": offset_of_word(
            function, function_type.__basicsize__, id(closure), "a closure"
        ),
        "function.vectorcall": offset_of_word(
            function, function_type.__basicsize__, entry, "a function's entry"
        ),
        "cell": offset_of_word(
            closure[0], types.CellType.__basicsize__, id(marker), "a cell's object"
        ),
        "builtin.self": offset_of_word(append, size, id(append.__self__), "a method's object"),
    }


def _container_offsets() -> dict[str, int]:
    """Return offsets of items in tuples and lists, of addresses in arrays, and of float values."""
    pair = (object(), object())
    size = tuple.__basicsize__ + 2 * tuple.__itemsize__
    first, second = (offset_of_word(pair, size, id(x), "a tuple's item") for x in pair)
    if second != first + WORD:
        raise UnsupportedLayout("a tuple's items do not follow each other")
    array = np.zeros(4, np.int32)
    memory = view(array)
    buffer = offset_of_word(
        memory, memoryview.__basicsize__, address_of(array), "a memoryview's address"
    )
    kind = offset_of_word(array, object.__basicsize__, id(np.ndarray), "an object's type")
    data = offset_of_word(array, np.ndarray.__basicsize__, address_of(array), "an array's address")
    number = offset_of_word(
        math.pi, float.__basicsize__, int(np.float64(math.pi).view(np.int64)), "a float"
    )
    items_list: list[Any] = list(range(4099))
    del items_list[-3:]  # so that the allocated size differs from the length
    offset_of_size = offset_of_word(
        items_list, list.__basicsize__, len(items_list), "a list's size"
    )
    allocated = (items_list.__sizeof__() - list.__basicsize__) // WORD
    words = {
        offset: word_at(id(items_list) + offset)
        for offset in range(object.__basicsize__, list.__basicsize__, WORD)
    }
    items = [x for x, word in words.items() if word not in (len(items_list), allocated)]
    if len(items) != 1 or word_at(word_at(id(items_list) + items[0]) + WORD) != id(items_list[1]):
        raise UnsupportedLayout("a list's place of elements is not where it is known to be")
    if (offset_of_size, items[0], kind) != (SIZE, LIST_ITEMS, TYPE):
        raise UnsupportedLayout("lists have an unknown layout")
    return {
        "tuple.items": first,
        "memoryview.buffer": buffer,
        "type": kind,
        "list.size": offset_of_size,
        "list.items": items[0],
        "array.data": data,
        "float.value": number,
    }


def _int_layout() -> tuple[dict[str, int], dict[str, int]]:
    """Return offsets of an int's digit and digit count, and the counts for one and no digit.

    From Python 3.14 on, small ints have a flag in the word of the count, which a mask removes.
    """
    digit_offset = int.__basicsize__

    def count_of(x: int) -> int:
        return word_at(id(x) + digit_offset - WORD)

    samples = [2**29 + 12345, 2**30 - 1, 300, 1]
    mask = ~(count_of(samples[0]) ^ count_of(1)) & (2**64 - 1)
    one, zero = count_of(samples[0]) & mask, count_of(0) & mask
    counts = [count_of(x) & mask for x in [*samples, 0, 2**30]]
    digits = [word_at(id(x) + digit_offset) & 0xFFFFFFFF for x in [*samples, 0]]
    if (
        counts[:-1] != [one] * len(samples) + [zero]
        or digits != [*samples, 0]
        or len({one, zero, counts[-1]}) != 3
    ):
        raise UnsupportedLayout("an int's digit is not where it is known to be")
    counts_by_name = {"one digit": one, "no digit": zero, "digit count mask": mask}
    return {"int.digits": digit_offset - WORD, "int.digit": digit_offset}, counts_by_name


def _reference_offsets() -> dict[str, int]:
    """Return the offsets of reference counts, and of weak references in tensors."""
    probe, tensor, other = object(), Tensor(), Tensor()
    argument = sys.getrefcount(probe) - 1  # 0 from Python 3.14 on, where calls borrow references
    extra_references = [probe] * 1000
    count = offset_of_word(
        probe, object.__basicsize__, sys.getrefcount(probe) - argument, "a reference count"
    )
    del extra_references
    weak_reference = weakref.ref(tensor)
    weak_offset = Tensor.__weakrefoffset__  # may be negative, before the object
    if word_at(id(tensor) + weak_offset) != id(weak_reference) or word_at(id(other) + weak_offset):
        raise UnsupportedLayout("weak references are not where they are known to be")
    return {"references": count, "tensor.weak": weak_offset}


def _thread_layout() -> tuple[Any, dict[str, int]]:
    """Return the key of `local` in a thread's dict, and the offset of its dict of names there.

    From Python 3.13 on, threads store it differently. Then the steps use attribute access.
    """
    get_dict = ctypes.PYFUNCTYPE(ctypes.c_void_p)(address_of_call("PyThreadState_GetDict"))
    thread_dict: dict[Any, Any] = ctypes.cast(get_dict(), ctypes.py_object).value
    names = local.__dict__
    for key, dummy in list(thread_dict.items()):
        if type(dummy).__name__ == "_localdummy":
            size = type(dummy).__basicsize__
            if any(word_at(id(dummy) + offset) == id(names) for offset in range(0, size, WORD)):
                return key, {
                    "thread.names": offset_of_word(dummy, size, id(names), "a thread's names")
                }
    return None, {}


def find_layout() -> NativeLayout:
    """Measure the layout.

    Raises:
      UnsupportedLayout: If a part is not as expected. The message names it.
    """
    reason = unsupported_reason()
    if reason:
        raise UnsupportedLayout(reason)
    if sys.byteorder != "little":
        raise UnsupportedLayout("this processor is not little-endian")
    (key, name_offsets), (int_offsets, digit_counts) = _thread_layout(), _int_layout()
    offsets = {
        **_slot_offsets(),
        **_function_offsets(),
        **_container_offsets(),
        **_reference_offsets(),
        **int_offsets,
        **name_offsets,
    }
    pair = tuple([None, None])  # a new tuple, which no other code refers to
    triple = tuple([None, None, None])
    spare: list[Any] = []
    untrack = ctypes.PYFUNCTYPE(None, ctypes.py_object)(address_of_call("PyObject_GC_UnTrack"))
    for value in (pair, triple, spare):
        untrack(value)
    objects = {
        "Tensor": Tensor,
        "Variable": Variable,
        "Log": Log,
        "list": list,
        "tuple": tuple,
        "float": float,
        "int": int,
        "ndarray": np.ndarray,
        "True": True,
        "None": None,
        "builtin": types.BuiltinFunctionType,
        "1.0": 1.0,
        "-1.0": -1.0,
        "triple": triple,
        "pair": pair,
        "key": key,
        "log": sys.intern("log"),
        "local": local,
        "spare": spare,
    }
    known = {name: id(value) for name, value in objects.items()}
    known |= {name: address_of_call(name) for name in CALLS}
    known |= {"carry out": entry_of(find_layout), **digit_counts}
    known |= {"LEAF_CODE": LEAF_CODE, "READ_CODE": READ_CODE, "READ_ROW_CODE": READ_ROW_CODE}
    for name in ("bytes", "item", "dtype"):  # these arrays never move
        known[f"SPECS.{name}"] = address_of(getattr(SPECS, name))
    return NativeLayout(offsets, known, tuple(objects.values()))
