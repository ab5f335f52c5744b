"""Note what C methods do, and C functions that are not known."""

from __future__ import annotations

import contextvars
import datetime
import io
import types
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...log.variable import Variable
from ...values.tensor import Tensor
from . import reads
from .arrays import await_written, call_numpy
from .examined import (
    LOCK_TYPES,
    await_result,
    examine,
    examine_all,
    examine_elements,
    has_python_lookup,
    nested_values,
    note_contains,
    note_hashing,
    note_length,
    note_mapping,
    pass_to_numtape,
    qualified_name,
)
from .frames import Follower
from .known import (
    EFFECTS_ONLY,
    FILE_WRITES,
    HARMLESS,
    MAY_RETURN_RECEIVER,
    NOT_REPEATABLE,
    PURE_METHODS,
    READ_SETTINGS,
    RETURN_NONE,
    VALUE_TYPES,
    is_python_class,
)
from .reads import MISSING, is_a
from .special import get_attribute, get_item
from .steps import Instruction
from .whose import ITERATORS, PACKAGE, VIEWS, class_attribute, is_constant, is_numtape_class


def call_unknown(
    follower: Follower,
    frame: types.FrameType,
    function: Any,
    args: Iterable[Any],
    kwargs: dict[str, Any],
    is_discarded: bool,
) -> None:
    """Note a call of an unknown C function, which is allowed only if it has no result."""
    observer = follower.observer
    if follower.code.co_filename.startswith(PACKAGE):
        return  # calls by numtape's own code are harmless
    values = (*args, *kwargs.values())
    owner = getattr(function, "__self__", None)
    if not is_a(owner, types.ModuleType | type(None)):
        values = (owner, *values)
    has_effect_only = id(function) in EFFECTS_ONLY or (
        is_a(owner, io.IOBase) and function.__name__ in FILE_WRITES
    )
    if not is_discarded or not has_effect_only:  # the program also notices whether it raises
        observer.refuse(f"it calls {qualified_name(function)}, whose result may change", frame)
        return
    for x in values:
        observer.note_mutation(x, f"calls {qualified_name(function)}", frame)
    observer.note_effect(f"calls {qualified_name(function)}", frame)


def call_method(
    follower: Follower,
    frame: types.FrameType,
    function: Any,
    receiver: Any,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    is_discarded: bool,
) -> None:
    """Note a call of a C method of ``receiver``."""
    observer = follower.observer
    values = (*args, *kwargs.values())
    label = f"{type(receiver).__name__}.{name}"
    if type(receiver) is Tensor or is_a(receiver, Variable) or is_numtape_class(type(receiver)):
        pass_to_numtape(follower, frame, label, args, kwargs)
        return
    if is_a(receiver, np.ufunc) and name in ("reduce", "accumulate", "outer", "reduceat"):
        operands = {str(k): x for k, x in enumerate(values)}
        call_numpy(follower, frame, np.add, (), operands | kwargs)
        return
    value_like = (
        str,
        bytes,
        int,
        float,
        complex,
        tuple,
        frozenset,
        range,
        slice,
        np.generic,
        np.dtype,
        *VALUE_TYPES,
    )
    if is_a(receiver, value_like) and not is_a(receiver, weakref.ReferenceType):
        if is_a(receiver, np.void) or (name in READ_SETTINGS and is_a(receiver, datetime.date)):
            call_unknown(follower, frame, function, (receiver, *args), kwargs, is_discarded)
            return
        if name in ("format", "format_map") and not all(map(is_constant, values)):
            observer.refuse("it formats objects, whose attributes a format may reach", frame)
        if is_a(receiver, tuple) and name not in ("__new__", "__iter__", "__len__"):
            examine_elements(follower, frame, receiver, label)
        await_result(follower, examine_all(follower, frame, values, label), name != "__getitem__")
        return
    if name in ("__getattribute__", "__getattr__") and args:
        if is_a(class_attribute(type(receiver), "__getattribute__"), types.FunctionType):
            observer.refuse(f"it reads {args[0]} of a {type(receiver).__name__} by {name}", frame)
        get_attribute(follower, frame, (receiver, *args))
        return
    if name in ("__setattr__", "__delattr__") and args:
        observer.note_write(
            receiver, args[0], args[-1], f"{observer.name_of(receiver)}.{args[0]}", frame
        )
        return
    if name == "__getitem__" and len(args) == 1:
        get_item(follower, frame, (receiver, *args))
        return
    container = next((c for c in PURE_METHODS if is_a(receiver, c)), None)
    if container is not None or is_a(receiver, VIEWS):
        _call_container_method(
            follower, frame, receiver, container or set, name, values, is_discarded
        )
        return
    if is_a(receiver, (*ITERATORS, types.GeneratorType)):
        if not observer.is_own(receiver):
            observer.refuse(f"it continues a {type(receiver).__name__} from outside", frame)
        return
    if name == "__get__" and type(receiver) in (types.FunctionType, classmethod, staticmethod):
        await_result(follower, {})
        return
    if (name in HARMLESS and is_python_class(type(receiver))) or name == "__init__":
        return
    if is_a(receiver, LOCK_TYPES) and (
        is_discarded or name in ("release", "__exit__", "__enter__")
    ):
        observer.forbid_restart()
        return
    if is_a(receiver, contextvars.ContextVar) and name == "get":
        observer.note_call(
            contextvars.ContextVar.get,
            (receiver, MISSING),
            f"{receiver.name}.get()",
            receiver,
            frame,
        )
        return
    call_unknown(follower, frame, function, (receiver, *args), kwargs, is_discarded)


def _call_container_method(
    follower: Follower,
    frame: types.FrameType,
    receiver: Any,
    kind: type,
    name: str,
    args: tuple[Any, ...],
    is_discarded: bool,
) -> None:
    """Note a method call of a container or array."""
    observer = follower.observer
    label = observer.name_of(receiver)
    if kind is np.ndarray and name == "resize":  # NumPy requires that there is no other reference
        observer.refuse_and_release(f"it resizes {label}", frame)
    elif kind is dict and name == "get" and args:
        _call_dict_get(follower, frame, receiver, args[0], examine(follower, frame, args[0], "get"))
    elif kind is dict and name in ("items", "keys", "values"):

        def finish(
            follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
        ) -> None:
            if next_instruction is not None:
                view = follower.peek(next_instruction, 0)
                observer.views[id(view)] = view, receiver

        follower.on_result = finish
    elif name == "__len__":
        note_length(follower, frame, receiver)
    elif name == "__contains__":
        note_contains(follower, frame, args[0], receiver)
    elif name in PURE_METHODS.get(kind, ()) or is_a(receiver, VIEWS):
        method = f"{kind.__name__}.{name}"
        arrays = examine(follower, frame, receiver, method, name in ("index", "count"))
        arrays |= examine_all(follower, frame, args, method)
        if kind is np.ndarray and not any(
            is_python_class(type(x)) or callable(x)
            for x in (*args, *nested_values(args))
            if x is not None
        ):
            observer.muted = follower  # NumPy's own Python code
        await_result(follower, arrays)
        if kind is np.ndarray and name not in MAY_RETURN_RECEIVER:
            await_written(follower, (receiver, *args))
    elif observer.is_own(receiver):
        observer.note_change(receiver)
        if kind is not np.ndarray:  # keys and items are compared
            note_hashing(follower, frame, args)
            if name in ("sort", "remove"):
                note_hashing(follower, frame, list(receiver))
        if name == "update" and kind is dict:
            for x in args[:1]:
                note_mapping(follower, frame, x)
        if name in ("extend", "extendleft", "__init__", "fill") or name.endswith("update"):
            for x in examine_all(follower, frame, args, name).values():
                observer.note_elements(x, frame)
    elif (is_discarded or name in RETURN_NONE) and name not in NOT_REPEATABLE:
        observer.note_mutation(receiver, f"changes {label} by {name}", frame)
        observer.check_stored(args, frame)
        if name in ("extend", "update", "extendleft"):
            for x in examine_all(follower, frame, args, name, False).values():
                observer.note_elements(x, frame)
    else:
        observer.refuse(f"it changes {label} with {name}, which depends on its contents", frame)


def _call_dict_get(
    follower: Follower, frame: types.FrameType, holder: Any, key: Any, arrays: dict[int, Any]
) -> None:
    observer = follower.observer
    if observer.is_own(holder):
        return
    if has_python_lookup(key):  # guards do not call Python functions
        observer.note_entries(holder, False, frame)
        return
    label = f"{observer.name_of(holder)}[{key!r}]" if is_constant(key) else "an item"
    value = dict.get(holder, key, MISSING)
    kind = reads.ENTRY if type(holder) is dict else reads.ITEM
    if kind == reads.ITEM and hasattr(type(holder), "__missing__"):
        observer.refuse(f"it calls get on a {type(holder).__name__}", frame)
        return
    observer.note_read(kind, holder, key, value, label, frame)
