"""What ``holder[key]`` reads: of containers, of arrays, of objects with a ``__getitem__``."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ...log.variable import Variable
from ...values.tensor import Tensor
from . import examined, reads
from .frames import Follower
from .known import is_python_class
from .reads import MISSING, is_a
from .steps import Instruction
from .whose import class_attribute, is_numtape_class


def read_item(follower: Follower, frame: types.FrameType, holder: Any, key: Any) -> None:
    """``holder[key]`` is about to be read."""
    observer = follower.observer
    kind = type(holder)
    if kind is Tensor or is_a(holder, Variable):
        examined.give(follower, frame, "an index", (key,), {})
        return
    if is_python_class(kind) or is_a(holder, type):
        observer.class_of(holder, frame)
    if is_numtape_class(kind) or is_a(holder, tuple | str | bytes | range):
        examined.examine_elements(follower, frame, key, "an index")
        return
    if is_a(key, Tensor | np.integer):
        key = int(key)
    arrays = examined.examine(follower, frame, key, "an index")
    lookup = class_attribute(kind, "__getitem__")
    followed = is_a(lookup, types.FunctionType)  # it is Python's own
    # Functions of Python say which item it is: their own reads are not enough, and guards do not
    # call them.
    computed = type(key) is not slice and examined.has_python_lookup(key)
    raw = MISSING
    if is_a(holder, dict) and not followed and not computed:
        raw = dict.get(holder, key, MISSING)  # what is there before a __missing__ comes

    def done(follower: Follower, frame: types.FrameType, after: Instruction | None) -> None:
        by_python = followed or (
            follower.entered
            and is_python_class(kind)
            and not is_a(lookup, examined.C_FUNCTION_TYPES)
            and lookup is not MISSING
        )
        fresh = after is not None and follower.fresh(after)
        value = MISSING if after is None else follower.peek(after, 0)
        label = f"{observer.name_of(holder)}[{short(key)}]"
        for x in arrays.values():
            observer.array(x, frame)
        if is_a(holder, np.ndarray):
            if holder.dtype.hasobject:
                observer.refuse("it reads an array of objects", frame)
                return
            observer.form(holder, frame)
            if is_a(value, np.ndarray) and observer.outside(value, made=True):
                return  # a part of the same memory
            if fresh:
                observer.made_result(value, frame)
            observer.array(holder, frame)
            return
        if is_a(holder, type):
            if fresh:
                observer.make(value)  # a generic alias
            elif not follower.entered:
                observer.refuse(f"it reads an item of the class {holder.__name__}", frame)
            return
        if type(key) is slice:
            if fresh:
                observer.made_result(value, frame)
            if not by_python and not observer.items(holder, "an index", frame):
                observer.refuse(f"it takes a slice of a {kind.__name__}", frame)
            return
        if by_python:
            return
        if computed:
            if not observer.items(holder, "an index", frame):
                observer.refuse(f"it reads an item of a {kind.__name__}", frame)
            return
        if is_a(holder, dict) and hasattr(kind, "__missing__"):
            missing = class_attribute(kind, "__missing__")
            if is_python_class(kind) and not is_a(missing, types.FunctionType):
                if raw is MISSING and type(missing) is not types.MethodDescriptorType:
                    observer.refuse(f"a __missing__ of C gives an item of a {kind.__name__}", frame)
            observer.read(reads.ENTRY, holder, key, raw, label, frame)
            return
        if not is_a(holder, examined.INDEXED_TYPES):
            observer.refuse(f"it reads an item of a {kind.__name__}", frame)
            return
        observer.read(reads.ITEM, holder, key, value, label, frame)

    follower.pending = done


def short(key: Any) -> str:
    """A key in a message."""
    return repr(key) if is_a(key, int | str | float) else type(key).__name__
