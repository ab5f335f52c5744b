"""Note what ``holder[key]`` reads: from containers, arrays, or objects with a ``__getitem__``."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ...log.variable import Variable
from ...values.tensor import Tensor
from . import c_arguments, reads
from .bytecode import Instruction
from .follower import Follower
from .ownership import class_attribute, is_numtape_class, is_python_class
from .reads import MISSING, is_a


def read_item(follower: Follower, frame: types.FrameType, holder: Any, key: Any) -> None:
    """Note a read of ``holder[key]``."""
    kind = type(holder)
    if kind is Tensor or is_a(holder, Variable):
        c_arguments.pass_to_numtape(follower, frame, "an index", (key,), {})
        return
    if is_python_class(kind) or is_a(holder, type):
        follower.reads.note_class(holder, frame)
    if is_numtape_class(kind) or is_a(holder, tuple | str | bytes | range):
        c_arguments.examine_elements(follower, frame, key, "an index")
        return
    if is_a(key, Tensor | np.integer):
        key = int(key)
    arrays = c_arguments.examine(follower, frame, key, "an index")
    lookup = class_attribute(kind, "__getitem__")
    is_python = is_a(lookup, types.FunctionType)  # a method written in Python
    # Python functions decide which item the key selects. Their reads alone are not sufficient, and
    # guards do not call them.
    is_python_lookup = type(key) is not slice and c_arguments.has_python_lookup(key)
    stored = MISSING
    if is_a(holder, dict) and not is_python and not is_python_lookup:
        stored = dict.get(holder, key, MISSING)  # the entry before a __missing__ adds one

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        ran_getitem = is_python or (
            follower.ran_python
            and is_python_class(kind)
            and not is_a(lookup, c_arguments.C_FUNCTION_TYPES)
            and lookup is not MISSING
        )
        is_unshared = next_instruction is not None and follower.is_unshared(next_instruction)
        value = MISSING if next_instruction is None else follower.peek(next_instruction, 0)
        label = f"{follower.reads.name_of(holder)}[{format_key(key)}]"
        for x in arrays.values():
            follower.reads.note_elements(x, frame)
        if is_a(holder, np.ndarray):
            if holder.dtype.hasobject:
                follower.effects.refuse("it reads an array of objects", frame)
                return
            follower.reads.note_layout(holder, frame)
            if is_a(value, np.ndarray) and follower.effects.is_outside(value, is_new=True):
                return  # a view of the same memory
            if is_unshared:
                follower.effects.note_result(value, frame)
            follower.reads.note_elements(holder, frame)
            return
        if is_a(holder, type):
            if is_unshared:
                follower.effects.note_created(value)  # a generic alias
            elif not follower.ran_python:
                follower.effects.refuse(f"it reads an item of the class {holder.__name__}", frame)
            return
        if type(key) is slice:
            if is_unshared:
                follower.effects.note_result(value, frame)
            if not ran_getitem and not follower.reads.note_items(holder, "an index", frame):
                follower.effects.refuse(f"it takes a slice of a {kind.__name__}", frame)
            return
        if ran_getitem:
            return
        if is_python_lookup:
            if not follower.reads.note_items(holder, "an index", frame):
                follower.effects.refuse(f"it reads an item of a {kind.__name__}", frame)
            return
        if is_a(holder, dict) and hasattr(kind, "__missing__"):
            missing = class_attribute(kind, "__missing__")
            if is_python_class(kind) and not is_a(missing, types.FunctionType):
                if stored is MISSING and type(missing) is not types.MethodDescriptorType:
                    follower.effects.refuse(
                        f"a __missing__ written in C computes an item of a {kind.__name__}", frame
                    )
            follower.reads.note_read(reads.ENTRY, holder, key, stored, label, frame)
            return
        if not is_a(holder, c_arguments.INDEXED_TYPES):
            follower.effects.refuse(f"it reads an item of a {kind.__name__}", frame)
            return
        follower.reads.note_read(reads.ITEM, holder, key, value, label, frame)

    follower.on_result = finish


def format_key(key: Any) -> str:
    """Return a key as it is shown in messages."""
    return repr(key) if is_a(key, int | str | float) else type(key).__name__
