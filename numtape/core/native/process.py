"""The table of a process that machine code reads: C API functions, objects and offsets.

`kernels.cpython.words` lists the words. `process_table` returns the table with all that depends on
CPython and on the log. Each part of numtape that has machine code adds the objects that it uses.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from ...kernels.cpython import words
from ..cpython import layout
from ..cpython.api import API, address_of_call, keep_forever, untrack
from ..log.columns import Columns
from ..log.log import LEAF_CODE, READ_CODE, READ_ROW_CODE, Log, local
from ..log.variable import Variable
from ..values import dtypes
from ..values.memory import Array, address_of
from ..values.spec import SPECS, Spec
from ..values.tensor import Tensor

_OBJECTS = {
    "LOG": Log,
    "TENSOR": Tensor,
    "VARIABLE": Variable,
    "LIST": list,
    "TUPLE": tuple,
    "INT": int,
    "FLOAT_TYPE": float,
    "METHOD_TYPE": types.MethodType,
    "BUILTIN": types.BuiltinFunctionType,
    "ARRAY": np.ndarray,
    "NONE": None,
    "TRUE": True,
    "FALSE": False,
    "ZERO": 0,
    "PLUS_ONE": 1.0,
    "MINUS_ONE": -1.0,
    "LOCAL": local,
    "LOG_NAME": sys.intern("log"),
    "EMPTY": np.empty,
}
_NUMBERS = {
    "LEAF_CODE": LEAF_CODE,
    "READ_CODE": READ_CODE,
    "READ_ROW_CODE": READ_ROW_CODE,
    "FLOAT32": dtypes.float32.code,
    "FLOAT64": dtypes.float64.code,
    "INT32": dtypes.int32.code,
    "INT64": dtypes.int64.code,
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
    "code",
    "a",
    "b",
    "c",
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
_SLOTS: dict[str, tuple[type, str]] = {
    **{f"AT_{name.lstrip('_').upper()}": (Log, name) for name in _LOG_SLOTS},
    "AT_LOG_SPEC": (Log, "spec"),
    "AT_CELL_VIEW": (Columns, "cell_view"),
    "AT_STATE_VIEW": (Columns, "state_view"),
    "AT_HOME": (Tensor, "_home"),
    "AT_ROW": (Tensor, "_row"),
    "AT_SPEC": (Tensor, "_spec"),
    "AT_CELL": (Tensor, "_cell"),
    "AT_DEVICE_COPY": (Tensor, "_device_copy"),
    "AT_KERAS_LOGITS": (Tensor, "_keras_logits"),
    "AT_KERAS_MASK": (Tensor, "_keras_mask"),
    "AT_SLICED": (Tensor, "_sliced"),
    "AT_VALUE": (Variable, "_value"),
    "AT_READ": (Variable, "_read"),
    "AT_VARIABLE_SPEC": (Variable, "_spec"),
    "AT_SPEC_ID": (Spec, "id"),
    "AT_INEXACT": (Spec, "inexact"),
    "AT_SCALAR": (Spec, "scalar"),
    "AT_SINGLE": (Spec, "single"),
    "AT_TRAINABLE": (Variable, "_trainable"),
}
_TAPE_SLOTS = {
    "AT_TAPE_LOG": "log",
    "AT_SPENT": "is_spent",
    "AT_PERSISTENT": "persistent",
    "AT_ACCESSED": "watch_accessed",
    "AT_RANGES": "ranges",
    "AT_EVENTS": "events",
    "AT_VARIABLE_FLAGS": "variable_flags",
    "AT_THREAD": "thread",
}


class ProcessTable:
    """The words, and the objects that they refer to.

    Attributes:
      words: The table. It never moves and is never freed, because machine code runs until Python
        ends.
      constants: The words that describe layouts, for which machine code is compiled.
    """

    def __init__(self) -> None:
        measured = layout.measure()
        self.words: Array = np.zeros(words.PROCESS_WORDS, np.int64)
        self._objects: list[Mapping[str, Any]] = []
        self._scratch = np.zeros((2, 3), np.int64)
        # The number of tensors in the free list, then their addresses.
        self._free_tensors = np.zeros(1 + words.MAX_FREE_TENSORS, np.int64)
        self._position = np.zeros(1, np.int64)
        self._ints = [*range(words.SHARED_INT_COUNT)]
        self._int_addresses = np.array([*map(id, self._ints)], np.int64)
        pair, triple = tuple([None] * 2), tuple([None] * 3)  # that no other code refers to
        for key in (pair, triple):
            untrack(key)
        local_key, names_offset = layout.thread_local_layout(local)
        self.set_objects({**_OBJECTS, "PAIR": pair, "TRIPLE": triple, "LOCAL_KEY": local_key})
        slots = _SLOTS | {word: (Log.tape_type, name) for word, name in _TAPE_SLOTS.items()}
        offsets = {word: layout.slot_offset(*slot) for word, slot in slots.items()}
        self.constants = {
            **measured,
            **offsets,
            **_NUMBERS,
            "AT_NAMES": names_offset,
            "AT_WEAK": layout.weak_reference_offset(Tensor),
        }
        self.set_words(
            {
                **self.constants,
                **{word: address_of_call(name) for word, name in API.items()},
                "SCRATCH": address_of(self._scratch[0]),
                "ERROR": address_of(self._scratch[1]),
                "FREE_TENSORS": address_of(self._free_tensors),
                "POSITION": address_of(self._position),
                "SHARED_INTS": address_of(self._int_addresses),
                "SPEC_BYTES": address_of(SPECS.bytes),  # these arrays never move
                "SPEC_ITEM": address_of(SPECS.item),
                "SPEC_DTYPE": address_of(SPECS.dtype),
            }
        )
        assert self.words[: words.API_COUNT].all()  # machine code calls these addresses

    def set_words(self, values: Mapping[str, int]) -> None:
        """Set words by name."""
        for name, value in values.items():
            self.words[getattr(words, name)] = value

    def set_objects(self, objects: Mapping[str, Any]) -> None:
        """Set the addresses of objects by name."""
        self._objects.append(objects)
        self.set_words({name: id(value) for name, value in objects.items()})


@cache
def process_table() -> ProcessTable:
    """Return the table of this process.

    Raises:
      UnsupportedLayout: If the internals of this Python are not known.
    """
    table = ProcessTable()
    keep_forever(table)
    return table
