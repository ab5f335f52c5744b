"""The table of a process that machine code reads: C API functions, objects and offsets.

`kernels.cpython.words` lists the words. `process_table` returns the table with all that depends on
CPython and on the log. Each part of numtape that has machine code adds the objects that it uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from ...kernels.cpython import words
from ..log.log import Log, local
from ..log.variable import Variable
from ..values.memory import Array, address_of
from ..values.tensor import Tensor
from .api import address_of_call, keep_forever
from .layout import find_layout, slot_offset

API = {
    "GET_ENTRY": "PyDict_GetItemWithError",
    "GET_ATTRIBUTE": "PyObject_GetAttr",
    "THREAD_DICT": "PyThreadState_GetDict",
    "MAKE_LIST": "PyList_New",
    "MAKE_DICT": "PyDict_New",
    "NEXT_ENTRY": "PyDict_Next",
    "CLEAR_DICT": "PyDict_Clear",
    "CLEAR_SET": "PySet_Clear",
    "SET_CONTAINS": "PySet_Contains",
    "GET_REFERENT": "PyWeakref_GetObject",
    "CALL": "PyObject_CallNoArgs",
    "CALL_ONE_ARG": "PyObject_CallOneArg",
    "VECTORCALL": "PyObject_Vectorcall",
    "TO_INT": "PyLong_AsSsize_t",
    "FROM_INT": "PyLong_FromSsize_t",
    "INCREF": "Py_IncRef",
    "DECREF": "Py_DecRef",
    "CLEAR_ERROR": "PyErr_Clear",
    "MAKE_TUPLE": "PyTuple_New",
    "GET_SLICE": "PyList_GetSlice",
    "LIST_APPEND": "PyList_Append",
    "SET_ADD": "PySet_Add",
    "SET_ENTRY": "PyDict_SetItem",
    "SET_SLICE": "PyList_SetSlice",
    "MAKE": "PyType_GenericAlloc",
    "AS_TUPLE": "PyList_AsTuple",
    "TAKE_ERROR": "PyErr_Fetch",
    "SET_ERROR": "PyErr_Restore",
}
_OBJECTS = {
    "LOG": Log,
    "TENSOR": Tensor,
    "VARIABLE": Variable,
    "LIST": list,
    "INT": int,
    "ARRAY": np.ndarray,
    "NONE": None,
    "TRUE": True,
    "FALSE": False,
    "ZERO": 0,
    "LOCAL": local,
    "EMPTY": np.empty,
}
_MEASURED = {
    "AT_REFERENCES": "references",
    "AT_WEAK": "tensor.weak",
    "AT_HOME": "tensor._home",
    "AT_ROW": "tensor._row",
    "AT_SPEC": "tensor._spec",
    "AT_SINGLE": "spec.single",
    "AT_VALUE": "variable._value",
    "AT_READ": "variable._read",
    "AT_ITEM": "tuple.items",
    "AT_BUFFER": "memoryview.buffer",
    "AT_DATA": "array.data",
}
_LOG_SLOTS = (
    "evaluate_fast_paths",
    "gradient_fast_paths",
    "busy",
    "bytes",
    "bytes_limit",
    "calls",
    "columns",
    "computations",
    "eager",
    "extra",
    "extra_n",
    "tensors",
    "lazy",
    "pending_cleanup",
    "limit",
    "n",
    "lazy_rescan_at",
    "scanned",
    "full_rescan_at",
    "lock",
    "workspace",
    "_const_rows",
    "variables",
    "tapes",
    "reads",
    "variable_index",
    "_leaf_rows",
    "pending",
    "buffers",
)


class ProcessTable:
    """The words, and the objects that they refer to.

    Attributes:
      words: The table. It never moves and is never freed, because machine code runs until Python
        ends.
    """

    def __init__(self) -> None:
        layout = find_layout()
        self.words: Array = np.zeros(words.PROCESS_WORDS, np.int64)
        self._objects: list[Any] = [layout]
        self._scratch = np.zeros((2, 3), np.int64)
        self.set_objects(_OBJECTS)
        self.set_slots({f"AT_{name.lstrip('_').upper()}": (Log, name) for name in _LOG_SLOTS})
        self.set_words(
            {
                **{word: address_of_call(name) for word, name in API.items()},
                **{word: layout.offsets[name] for word, name in _MEASURED.items()},
                "AT_NAMES": layout.offsets.get("thread.names", -1),
                "LOCAL_KEY": layout.known["key"],
                "SCRATCH": address_of(self._scratch[0]),
                "ERROR": address_of(self._scratch[1]),
            }
        )

    def set_words(self, values: Mapping[str, int]) -> None:
        """Set words by name."""
        for name, value in values.items():
            self.words[getattr(words, name)] = value

    def set_objects(self, objects: Mapping[str, Any]) -> None:
        """Set the addresses of objects by name."""
        self._objects.append(objects)
        self.set_words({name: id(value) for name, value in objects.items()})

    def set_slots(self, slots: Mapping[str, tuple[type, str]]) -> None:
        """Set the offsets of slots of numtape's classes by name."""
        self.set_words({name: slot_offset(*slot) for name, slot in slots.items()})


@cache
def process_table() -> ProcessTable:
    """Return the table of this process.

    Raises:
      UnsupportedLayout: If the internals of this Python are not known.
    """
    table = ProcessTable()
    keep_forever(table)
    return table
