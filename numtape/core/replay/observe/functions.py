"""What functions and operators that are written in C do with what they are given.

Functions written in Python need nothing here: the observer follows their frames, whoever calls
them. Numtape's own read what they are given and nothing else.
"""

from __future__ import annotations

import _thread
import abc
import builtins
import contextvars
import datetime
import functools
import io
import itertools
import logging
import operator
import os
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...log.variable import Variable
from ...values.tensor import Tensor
from . import reads
from .arrays import dtypes, of_numpy, written
from .frames import Follower
from .items import read_item
from .known import (
    AS_THEY_ARE,
    DEEP,
    EFFECTS,
    GIVE_NONE,
    HARMLESS,
    LAZY,
    METHODS,
    NEW,
    ONCE,
    PURE,
    PURE_NUMPY,
    SETTINGS,
    SHALLOW,
    VALUES,
    WRITING,
    base_of,
    has_finalizer,
    made_by_python,
)
from .looks import (
    CONTAINERS,
    LOCKS,
    OF_C,
    contains,
    give,
    given,
    identical,
    identity,
    inside,
    is_plain,
    iterate,
    kind_of,
    length,
    look,
    look_at_all,
    made,
    name_of,
    observed,
    truth,
    weak_to_own,
)
from .reads import MISSING, is_a
from .steps import Step
from .whose import ITERATORS, PACKAGE, VIEWS, dict_of, in_class, is_constant, ours, trusted

_LOGGING = {"debug", "info", "warning", "error", "critical", "exception", "log", "warn"}


def call(
    follower: Follower, frame: Any, function: Any, args: tuple[Any, ...], named: dict[str, Any],
    dropped: bool,
) -> None:  # fmt: skip
    """A function is about to be called. ``dropped``: nobody looks at what it gives."""
    observer, kind = follower.observer, type(function)
    if id(function) in PURE_NUMPY:
        of_numpy(follower, frame, function, args, named)
    elif kind is types.MethodType:
        call(follower, frame, function.__func__, (function.__self__, *args), named, dropped)
    elif kind is types.FunctionType:
        follower.calls = function.__code__
        _of_python(follower, frame, function, args, named, dropped)
    elif is_a(function, type):
        _class(follower, frame, function, args, named, dropped)
    elif is_a(function, OF_C):
        _of_c(follower, frame, function, args, named, dropped)
    elif ours(kind):
        give(follower, frame, kind.__name__, args, named)
    elif is_a(function, np.ufunc):
        of_numpy(follower, frame, function, args, named)
    elif kind is functools.partial:
        if not observer.is_own(function):
            for name in ("func", "args"):
                observer.attribute(function, name, getattr(function, name), False, frame)
            observer.entries(function.keywords, False, frame)
        args = (*function.args, *args)
        call(follower, frame, function.func, args, {**function.keywords, **named}, dropped)
    elif is_a(function, (operator.itemgetter, operator.attrgetter)):
        _getter(follower, frame, function, args)
    elif is_a(function, weakref.ReferenceType):
        label = f"{observer.name_of(function)}()"
        observer.asks(weakref.ref.__call__, (function,), label, function, frame)
    elif is_a(in_class(kind, "__call__"), types.FunctionType):
        follower.calls = in_class(kind, "__call__").__code__
        kind_of(follower, frame, function)
    else:
        _unknown(follower, frame, function, args, named, dropped)


def _of_python(
    follower: Follower, frame: Any, function: types.FunctionType, args: tuple[Any, ...],
    named: dict[str, Any], dropped: bool,
) -> None:  # fmt: skip
    code = function.__code__
    if trusted(code):
        if function is Tensor.ref:
            identity(follower, frame, args)
        give(follower, frame, function.__qualname__, args, named)
        return
    if dropped and function.__name__ in _LOGGING and function.__globals__ in (
        vars(logging), vars(warnings)
    ):
        args = (*args, *named.values())
        follower.observer.prints(follower, args, f"calls {function.__qualname__}", frame)
    elif code.co_flags & 0x20:

        def done(follower: Follower, frame: Any, after: Step | None) -> None:
            if after is not None:
                follower.observer.made_result(follower.peek(after, 0), frame)

        follower.pending = done


def _unknown(
    follower: Follower, frame: Any, function: Any, args: Iterable[Any], named: dict[str, Any],
    dropped: bool,
) -> None:  # fmt: skip
    """A function of C that is not known: what it does besides is done now, if that is all."""
    observer = follower.observer
    if follower.code.co_filename.startswith(PACKAGE):
        return  # numtape knows what it calls
    everything = (*args, *named.values())
    owner = getattr(function, "__self__", None)
    if not is_a(owner, types.ModuleType | type(None)):
        everything = (owner, *everything)
    effect = id(function) in EFFECTS or (
        is_a(owner, io.IOBase) and function.__name__ in WRITING
    )
    if not dropped or not effect:  # whether it raises can be seen as well
        observer.refuse(f"it calls {name_of(function)}, which may give something else", frame)
        return
    for x in everything:
        observer.mutates(x, f"calls {name_of(function)}", frame)
    observer._effect(f"calls {name_of(function)}", frame)


def _class(
    follower: Follower, frame: Any, kind: type, args: tuple[Any, ...], named: dict[str, Any],
    dropped: bool,
) -> None:  # fmt: skip
    observer = follower.observer
    everything = (*args, *named.values())
    if has_finalizer(kind):
        observer.releases(f"it makes a {kind.__name__}, which has a __del__", frame)
    elif issubclass(kind, weakref.ReferenceType) and weak_to_own(follower, frame, args):
        pass
    elif kind is type and len(args) == 1:
        kind_of(follower, frame, args[0])
    elif kind is super:
        given(follower, {})
    elif ours(kind):
        give(follower, frame, kind.__name__, args, named)
    elif made_by_python(kind):
        base = base_of(kind)
        new, start = in_class(kind, "__new__"), in_class(kind, "__init__")
        observer.class_of(kind, frame)
        arrays: dict[int, Any] = {}
        if not is_a(start, types.FunctionType) and not is_a(new, staticmethod):
            if not (is_plain(base) or issubclass(base, (*SHALLOW, *DEEP))):
                _unknown(follower, frame, kind, args, named, dropped)
                return
            arrays = look_at_all(follower, frame, everything, kind.__name__, is_plain(base))
        meta = is_a(in_class(type(kind), "__call__"), types.FunctionType)
        if not is_a(new, staticmethod) and not meta:
            follower.making = kind
            made(follower)
        else:
            given(follower, arrays, False)
    elif issubclass(kind, BaseException):
        given(follower, {})
    elif kind is bool and len(args) == 1:
        truth(follower, frame, args[0])
    elif kind in SHALLOW:
        of_c = kind in LAZY and any(
            x is None or (callable(x) and not is_a(x, types.FunctionType | types.MethodType))
            for x in everything[:1] + everything[1:] * (kind is not map)
        )
        if kind is itertools.accumulate and not any(map(callable, everything[1:])):
            of_c = True  # it adds
        arrays = {}
        for x in everything:
            if is_a(x, CONTAINERS) or is_a(x, ITERATORS) or not callable(x):
                if of_c or kind in (dict, itertools.starmap):
                    arrays |= look(follower, frame, x, kind.__name__)
                elif not is_constant(x):
                    iterate(follower, frame, x)
            else:
                look(follower, frame, x, kind.__name__)
        for x in arrays.values():
            observer.array(x, frame)

        def done(follower: Follower, frame: Any, after: Step | None) -> None:
            if after is not None:
                fresh, value = follower.fresh(after), follower.peek(after, 0)
                if fresh:
                    observer.made_result(value, frame)
                if is_a(value, ITERATORS):
                    observer.sources[id(value)] = value, everything

        follower.pending = done
    elif kind in DEEP or issubclass(kind, np.generic | type):
        if kind is np.dtype:
            dtypes(follower, frame, everything)
        given(follower, look_at_all(follower, frame, everything, kind.__name__))
    else:
        _unknown(follower, frame, kind, args, named, dropped)


def _getter(follower: Follower, frame: Any, function: Any, args: tuple[Any, ...]) -> None:
    """`operator.attrgetter` and `operator.itemgetter`."""
    observer = follower.observer
    names = function.__reduce__()[1]

    def done(follower: Follower, frame: Any, after: Step | None) -> None:
        for name in names:
            holder = args[0]
            parts = name.split(".") if is_a(function, operator.attrgetter) else [name]
            for part in parts:
                if follower.entered:
                    observer.refuse("a getter runs functions of Python", frame)
                    return
                if is_a(function, operator.attrgetter):
                    value = getattr(holder, part, MISSING)
                    observer.attribute(holder, part, value, False, frame)
                else:
                    value = reads._item(holder, part)
                    if not is_constant(holder) and not is_a(holder, tuple):
                        label = f"an item of {observer.name_of(holder)}"
                        observer.read(reads.ITEM, holder, part, value, label, frame)
                holder = value

    follower.pending = done


def _of_c(
    follower: Follower, frame: Any, function: Any, args: tuple[Any, ...], named: dict[str, Any],
    dropped: bool,
) -> None:  # fmt: skip
    observer = follower.observer
    special = SPECIAL.get(function) if _of_module(function) else None
    if special is not None:
        special(follower, frame, (*args, *named.values()) if function is print else args)
        return
    if id(function) in PURE:
        arrays = look_at_all(follower, frame, (*args, *named.values()), name_of(function))
        # Some give one of what they get.
        new = function not in (max, min, sum, abs, functools.reduce)
        given(follower, arrays, new, False)
        if (function.__module__ or "") == "_abc":
            observer.asks(abc.get_cache_token, (), "classes that are registered", None, frame)
        return
    owner = getattr(function, "__objclass__", None)
    name = function.__name__
    if owner is None or is_a(function, types.MethodWrapperType):
        receiver = function.__self__
        if receiver is None or is_a(receiver, types.ModuleType):
            _unknown(follower, frame, function, args, named, dropped)
            return
        if is_a(receiver, type) and not is_a(function, types.MethodWrapperType):
            _of_class_of_c(follower, frame, function, args, named, dropped)
            return
    else:
        receiver, args = args[0], args[1:]
    _method(follower, frame, function, receiver, name, args, named, dropped)


def _of_module(function: Any) -> bool:
    return is_a(function, types.BuiltinFunctionType) and is_a(
        function.__self__, types.ModuleType
    )


def _of_class_of_c(
    follower: Follower, frame: Any, function: Any, args: tuple[Any, ...], named: dict[str, Any],
    dropped: bool,
) -> None:  # fmt: skip
    """A method of a class: it makes something."""
    if function.__name__ in HARMLESS:
        return
    if function.__name__ in NEW:
        kind = function.__self__
        if issubclass(kind, weakref.ReferenceType) and weak_to_own(follower, frame, args[1:]):
            return
        arrays: dict[int, Any] = {}
        if kind is not object and not issubclass(kind, BaseException | type):
            arrays = look_at_all(follower, frame, args[1:], name_of(function), False)
        given(follower, arrays)
        return
    _unknown(follower, frame, function, args, named, dropped)


def _method(
    follower: Follower, frame: Any, function: Any, receiver: Any, name: str, args: tuple[Any, ...],
    named: dict[str, Any], dropped: bool,
) -> None:  # fmt: skip
    """A method of C of ``receiver``."""
    observer = follower.observer
    everything = (*args, *named.values())
    what = f"{type(receiver).__name__}.{name}"
    if type(receiver) is Tensor or is_a(receiver, Variable) or ours(type(receiver)):
        give(follower, frame, what, args, named)
        return
    if is_a(receiver, np.ufunc) and name in ("reduce", "accumulate", "outer", "reduceat"):
        given_to = {str(k): x for k, x in enumerate(everything)}
        of_numpy(follower, frame, np.add, (), given_to | named)
        return
    value_like = (str, bytes, int, float, complex, tuple, frozenset, range, slice, np.generic,
                  np.dtype, *VALUES)  # fmt: skip
    if is_a(receiver, value_like) and not is_a(receiver, weakref.ReferenceType):
        if is_a(receiver, np.void) or (name in SETTINGS and is_a(receiver, datetime.date)):
            _unknown(follower, frame, function, (receiver, *args), named, dropped)
            return
        if name in ("format", "format_map") and not all(map(is_constant, everything)):
            observer.refuse("it formats objects, whose attributes a format may reach", frame)
        if is_a(receiver, tuple) and name not in ("__new__", "__iter__", "__len__"):
            observed(follower, frame, receiver, what)
        given(follower, look_at_all(follower, frame, everything, what), name != "__getitem__")
        return
    if name in ("__getattribute__", "__getattr__") and args:
        if is_a(in_class(type(receiver), "__getattribute__"), types.FunctionType):
            observer.refuse(f"it reads {args[0]} of a {type(receiver).__name__} by {name}", frame)
        _get_attribute(follower, frame, (receiver, *args))
        return
    if name in ("__setattr__", "__delattr__") and args:
        observer.wrote(
            receiver, args[0], args[-1], f"{observer.name_of(receiver)}.{args[0]}", frame
        )
        return
    if name == "__getitem__" and len(args) == 1:
        _get_item(follower, frame, (receiver, *args))
        return
    container = next((c for c in METHODS if is_a(receiver, c)), None)
    if container is not None or is_a(receiver, VIEWS):
        _container(follower, frame, receiver, container or set, name, everything, dropped)
        return
    if is_a(receiver, (*ITERATORS, types.GeneratorType)):
        if not observer.is_own(receiver):
            observer.refuse(f"it goes on with a {type(receiver).__name__} from outside", frame)
        return
    if name == "__get__" and type(receiver) in (types.FunctionType, classmethod, staticmethod):
        given(follower, {})
        return
    if (name in HARMLESS and made_by_python(type(receiver))) or name == "__init__":
        return
    if is_a(receiver, LOCKS) and (dropped or name in ("release", "__exit__", "__enter__")):
        return
    if is_a(receiver, contextvars.ContextVar) and name == "get":
        observer.asks(
            contextvars.ContextVar.get, (receiver, MISSING), f"{receiver.name}.get()", receiver,
            frame,
        )
        return
    _unknown(follower, frame, function, (receiver, *args), named, dropped)


def _container(
    follower: Follower, frame: Any, receiver: Any, kind: type, name: str, args: tuple[Any, ...],
    dropped: bool,
) -> None:  # fmt: skip
    """A method of a container or array."""
    observer = follower.observer
    label = observer.name_of(receiver)
    if kind is np.ndarray and name == "resize":  # which NumPy does where nobody else refers to it
        observer.releases(f"it resizes {label}", frame)
    elif kind is dict and name == "get" and args:
        _get_entry(follower, frame, receiver, args[0], look(follower, frame, args[0], "get"))
    elif kind is dict and name in ("items", "keys", "values"):

        def done(follower: Follower, frame: Any, after: Step | None) -> None:
            if after is not None:
                view = follower.peek(after, 0)
                observer.views[id(view)] = view, receiver

        follower.pending = done
    elif name == "__len__":
        length(follower, frame, receiver)
    elif name == "__contains__":
        contains(follower, frame, args[0], receiver)
    elif name in METHODS.get(kind, ()) or is_a(receiver, VIEWS):
        what = f"{kind.__name__}.{name}"
        arrays = look(follower, frame, receiver, what, name in ("index", "count"))
        arrays |= look_at_all(follower, frame, args, what)
        if kind is np.ndarray and not any(
            made_by_python(type(x)) or callable(x) for x in (*args, *inside(args)) if x is not None
        ):
            observer.muted = follower  # Python of NumPy's
        given(follower, arrays)
        if kind is np.ndarray and name not in AS_THEY_ARE:
            written(follower, (receiver, *args))
    elif observer.is_own(receiver):
        if name in ("extend", "extendleft", "__init__", "fill") or name.endswith("update"):
            for x in look_at_all(follower, frame, args, name).values():
                observer.array(x, frame)
    elif (dropped or name in GIVE_NONE) and name not in ONCE:
        observer.mutates(receiver, f"changes {label} by {name}", frame)
        if name in ("extend", "update", "extendleft"):
            for x in look_at_all(follower, frame, args, name, False).values():
                observer.array(x, frame)
    else:
        observer.refuse(f"it changes {label} by {name}, and depends on what was there", frame)


def _get_entry(
    follower: Follower, frame: Any, holder: Any, key: Any, arrays: dict[int, Any]
) -> None:
    observer = follower.observer
    if observer.is_own(holder):
        return
    label = f"{observer.name_of(holder)}[{key!r}]" if is_constant(key) else "an item"
    found = dict.get(holder, key, MISSING)
    kind = reads.ENTRY if type(holder) is dict else reads.ITEM
    if kind == reads.ITEM and hasattr(type(holder), "__missing__"):
        observer.refuse(f"it asks a {type(holder).__name__} by get", frame)
        return
    observer.read(kind, holder, key, found, label, frame)


# Functions that read or change state, or need a look of their own.


def _get_attribute(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    """``getattr(owner, name)``, ``hasattr`` and their like."""
    owner, name = args[0], args[1]

    def done(follower: Follower, frame: Any, after: Step | None) -> None:
        value = MISSING if follower.entered else getattr(owner, name, MISSING)
        follower.observer.attribute(owner, name, value, follower.entered, frame)

    follower.pending = done


def _set_attribute(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    label = f"{follower.observer.name_of(args[0])}.{args[1]}"
    follower.observer.wrote(args[0], args[1], args[2], label, frame)


def _delete_attribute(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    if not follower.observer.is_own(args[0]):
        follower.observer.refuse(f"it deletes what {follower.observer.name_of(args[0])} has", frame)


def _get_item(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    read_item(follower, frame, args[0], args[1])


def _vars(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    if not args:
        given(follower, {})
        return
    owner, observer = args[0], follower.observer
    if is_a(owner, type) and not observer.is_own(owner):
        observer.refuse(f"it reads all names of the class {owner.__name__}", frame)

    def done(follower: Follower, frame: Any, after: Step | None) -> None:
        if after is None:
            return
        found = follower.peek(after, 0)
        if observer.is_own(owner):
            observer.make(found)
        else:
            observer.class_of(owner, frame)
            if type(found) is dict:
                observer.asks(dict_of, (owner,), f"vars({observer.name_of(owner)})", owner, frame)
            observer.names.setdefault(id(found), f"vars({observer.name_of(owner)})")

    follower.pending = done


def _iter(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    value = args[0]
    if len(args) == 1:
        iterate(follower, frame, value)
    else:
        observed(follower, frame, value, "iter")

    def done(follower: Follower, frame: Any, after: Step | None) -> None:
        if after is not None and follower.peek(after, 0) is not value:
            follower.observer.make(follower.peek(after, 0))

    follower.pending = done


def _next(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    value = args[0]
    follower.observer.class_of(value, frame)
    if not follower.observer.is_own(value) and not made_by_python(type(value)):
        follower.observer.refuse(f"it goes on with a {type(value).__name__} from outside", frame)


def _is_subclass(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    for kind in args[1] if is_a(args[1], tuple) else args[1:]:
        follower.observer.class_of(kind, frame)
    follower.observer.class_of(args[0], frame)


def _is_instance(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    kind_of(follower, frame, args[0])
    for kind in args[1] if is_a(args[1], tuple) else args[1:]:
        if is_a(kind, type):
            follower.observer.class_of(kind, frame)


def _printed(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    follower.observer.prints(follower, args, "prints", frame)


def _nothing(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    """What it gives is an object that others can reach, or has no state."""


def _own_names(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    given(follower, {})


def _asked(function: Callable[..., Any]) -> Callable[..., None]:
    def ask(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
        follower.observer.asks(function, args, name_of(function), None, frame)

    return ask


SPECIAL: dict[Any, Callable[[Follower, Any, tuple[Any, ...]], None]] = {
    builtins.getattr: _get_attribute, builtins.hasattr: _get_attribute,
    builtins.setattr: _set_attribute, builtins.delattr: _delete_attribute,
    builtins.vars: _vars, builtins.globals: _nothing, builtins.locals: _own_names,
    builtins.len: lambda follower, frame, args: length(follower, frame, args[0]),
    builtins.iter: _iter, builtins.next: _next, builtins.print: _printed,
    builtins.isinstance: _is_instance, builtins.issubclass: _is_subclass, builtins.id: identity,
    operator.is_: identical, operator.is_not: identical,
    builtins.compile: _own_names, builtins.exec: _nothing, builtins.eval: _nothing,
    builtins.__build_class__: _own_names, operator.getitem: _get_item, sys.intern: _nothing,
    **{f: _asked(f) for f in (os.getpid, os.getcwd, _thread.get_ident, sys.getrecursionlimit)},
}  # fmt: skip
