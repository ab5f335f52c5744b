"""What methods of C and NumPy's functions do, and functions of C that are not known."""

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
from .arrays import of_numpy, written
from .examined import (
    LOCK_TYPES,
    has_python_lookup,
    contains,
    examine,
    examine_all,
    give,
    await_result,
    note_hashing,
    nested_values,
    length,
    note_mapping,
    qualified_name,
    examine_elements,
)
from .frames import Follower
from .known import (
    MAY_RETURN_RECEIVER,
    EFFECTS_ONLY,
    RETURN_NONE,
    HARMLESS,
    PURE_METHODS,
    NOT_REPEATABLE,
    READ_SETTINGS,
    VALUE_TYPES,
    FILE_WRITES,
    is_python_class,
)
from .reads import MISSING, is_a
from .special import get_attribute, get_item
from .steps import Instruction
from .whose import ITERATORS, PACKAGE, VIEWS, class_attribute, is_constant, is_numtape_class


def unknown(
    follower: Follower,
    frame: Any,
    function: Any,
    args: Iterable[Any],
    named: dict[str, Any],
    dropped: bool,
) -> None:
    """A function of C that is not known: what it does besides is done now, if that is all."""
    observer = follower.observer
    if follower.code.co_filename.startswith(PACKAGE):
        return  # numtape knows what it calls
    everything = (*args, *named.values())
    owner = getattr(function, "__self__", None)
    if not is_a(owner, types.ModuleType | type(None)):
        everything = (owner, *everything)
    effect = id(function) in EFFECTS_ONLY or (is_a(owner, io.IOBase) and function.__name__ in FILE_WRITES)
    if not dropped or not effect:  # whether it raises can be seen as well
        observer.refuse(f"it calls {qualified_name(function)}, which may give something else", frame)
        return
    for x in everything:
        observer.mutates(x, f"calls {qualified_name(function)}", frame)
    observer._effect(f"calls {qualified_name(function)}", frame)


def method(
    follower: Follower,
    frame: Any,
    function: Any,
    receiver: Any,
    name: str,
    args: tuple[Any, ...],
    named: dict[str, Any],
    dropped: bool,
) -> None:
    """A method of C of ``receiver``."""
    observer = follower.observer
    everything = (*args, *named.values())
    what = f"{type(receiver).__name__}.{name}"
    if type(receiver) is Tensor or is_a(receiver, Variable) or is_numtape_class(type(receiver)):
        give(follower, frame, what, args, named)
        return
    if is_a(receiver, np.ufunc) and name in ("reduce", "accumulate", "outer", "reduceat"):
        given_to = {str(k): x for k, x in enumerate(everything)}
        of_numpy(follower, frame, np.add, (), given_to | named)
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
            unknown(follower, frame, function, (receiver, *args), named, dropped)
            return
        if name in ("format", "format_map") and not all(map(is_constant, everything)):
            observer.refuse("it formats objects, whose attributes a format may reach", frame)
        if is_a(receiver, tuple) and name not in ("__new__", "__iter__", "__len__"):
            examine_elements(follower, frame, receiver, what)
        await_result(follower, examine_all(follower, frame, everything, what), name != "__getitem__")
        return
    if name in ("__getattribute__", "__getattr__") and args:
        if is_a(class_attribute(type(receiver), "__getattribute__"), types.FunctionType):
            observer.refuse(f"it reads {args[0]} of a {type(receiver).__name__} by {name}", frame)
        get_attribute(follower, frame, (receiver, *args))
        return
    if name in ("__setattr__", "__delattr__") and args:
        observer.wrote(
            receiver, args[0], args[-1], f"{observer.name_of(receiver)}.{args[0]}", frame
        )
        return
    if name == "__getitem__" and len(args) == 1:
        get_item(follower, frame, (receiver, *args))
        return
    container = next((c for c in PURE_METHODS if is_a(receiver, c)), None)
    if container is not None or is_a(receiver, VIEWS):
        _container(follower, frame, receiver, container or set, name, everything, dropped)
        return
    if is_a(receiver, (*ITERATORS, types.GeneratorType)):
        if not observer.is_own(receiver):
            observer.refuse(f"it goes on with a {type(receiver).__name__} from outside", frame)
        return
    if name == "__get__" and type(receiver) in (types.FunctionType, classmethod, staticmethod):
        await_result(follower, {})
        return
    if (name in HARMLESS and is_python_class(type(receiver))) or name == "__init__":
        return
    if is_a(receiver, LOCK_TYPES) and (dropped or name in ("release", "__exit__", "__enter__")):
        observer.has_done()
        return
    if is_a(receiver, contextvars.ContextVar) and name == "get":
        observer.asks(
            contextvars.ContextVar.get,
            (receiver, MISSING),
            f"{receiver.name}.get()",
            receiver,
            frame,
        )
        return
    unknown(follower, frame, function, (receiver, *args), named, dropped)


def _container(
    follower: Follower,
    frame: Any,
    receiver: Any,
    kind: type,
    name: str,
    args: tuple[Any, ...],
    dropped: bool,
) -> None:
    """A method of a container or array."""
    observer = follower.observer
    label = observer.name_of(receiver)
    if kind is np.ndarray and name == "resize":  # which NumPy does where nobody else refers to it
        observer.releases(f"it resizes {label}", frame)
    elif kind is dict and name == "get" and args:
        _get_entry(follower, frame, receiver, args[0], examine(follower, frame, args[0], "get"))
    elif kind is dict and name in ("items", "keys", "values"):

        def done(follower: Follower, frame: Any, after: Instruction | None) -> None:
            if after is not None:
                view = follower.peek(after, 0)
                observer.views[id(view)] = view, receiver

        follower.pending = done
    elif name == "__len__":
        length(follower, frame, receiver)
    elif name == "__contains__":
        contains(follower, frame, args[0], receiver)
    elif name in PURE_METHODS.get(kind, ()) or is_a(receiver, VIEWS):
        what = f"{kind.__name__}.{name}"
        arrays = examine(follower, frame, receiver, what, name in ("index", "count"))
        arrays |= examine_all(follower, frame, args, what)
        if kind is np.ndarray and not any(
            is_python_class(type(x)) or callable(x) for x in (*args, *nested_values(args)) if x is not None
        ):
            observer.muted = follower  # Python of NumPy's
        await_result(follower, arrays)
        if kind is np.ndarray and name not in MAY_RETURN_RECEIVER:
            written(follower, (receiver, *args))
    elif observer.is_own(receiver):
        observer.alters(receiver)
        if kind is not np.ndarray:  # which keys are equal, how items are ordered
            note_hashing(follower, frame, args)
            if name in ("sort", "remove"):
                note_hashing(follower, frame, list(receiver))
        if name == "update" and kind is dict:
            for x in args[:1]:
                note_mapping(follower, frame, x)
        if name in ("extend", "extendleft", "__init__", "fill") or name.endswith("update"):
            for x in examine_all(follower, frame, args, name).values():
                observer.array(x, frame)
    elif (dropped or name in RETURN_NONE) and name not in NOT_REPEATABLE:
        observer.mutates(receiver, f"changes {label} by {name}", frame)
        observer.keeps(args, frame)
        if name in ("extend", "update", "extendleft"):
            for x in examine_all(follower, frame, args, name, False).values():
                observer.array(x, frame)
    else:
        observer.refuse(f"it changes {label} by {name}, and depends on what was there", frame)


def _get_entry(
    follower: Follower, frame: Any, holder: Any, key: Any, arrays: dict[int, Any]
) -> None:
    observer = follower.observer
    if observer.is_own(holder):
        return
    if has_python_lookup(key):  # guards do not call functions of Python
        observer.entries(holder, False, frame)
        return
    label = f"{observer.name_of(holder)}[{key!r}]" if is_constant(key) else "an item"
    found = dict.get(holder, key, MISSING)
    kind = reads.ENTRY if type(holder) is dict else reads.ITEM
    if kind == reads.ITEM and hasattr(type(holder), "__missing__"):
        observer.refuse(f"it asks a {type(holder).__name__} by get", frame)
        return
    observer.read(kind, holder, key, found, label, frame)
