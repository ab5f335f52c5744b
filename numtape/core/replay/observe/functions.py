"""What functions and operators that are written in C do with what they are given.

Functions written in Python need nothing here: the observer follows their frames, whoever calls
them. Numtape's own read what they are given and nothing else.
"""

from __future__ import annotations

import abc
import builtins
import functools
import itertools
import logging
import operator
import types
import warnings
import weakref
from typing import Any

import numpy as np

from ....errors import KernelError
from ...values.tensor import Tensor
from . import reads
from .arrays import dtypes, of_numpy
from .examined import (
    CONTAINER_TYPES,
    C_FUNCTION_TYPES,
    examine,
    examine_all,
    give,
    await_result,
    note_hashing,
    identity,
    holds_only_attributes,
    iterate,
    kind_of,
    made,
    note_mapping,
    qualified_name,
    note_class_name,
    truth,
    weak_to_own,
)
from .frames import Follower
from .known import (
    DEEP_TYPES,
    HARMLESS,
    LAZY_TYPES,
    CONSTRUCTORS,
    PURE,
    PURE_NUMPY,
    SHALLOW_TYPES,
    c_base_of,
    has_finalizer,
    is_python_class,
)
from .methods import method, unknown
from .reads import MISSING, is_a
from .special import SPECIAL
from .steps import Instruction
from .whose import ITERATORS, class_attribute, is_constant, is_numtape_class, is_trusted

_LOGGING = {"debug", "info", "warning", "error", "critical", "exception", "log", "warn"}


def call(
    follower: Follower,
    frame: Any,
    function: Any,
    args: tuple[Any, ...],
    named: dict[str, Any],
    dropped: bool,
) -> None:
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
        if not is_numtape_class(function):
            _hand_over(observer, frame, function, (*args, *named.values()))
        _class(follower, frame, function, args, named, dropped)
    elif is_a(function, C_FUNCTION_TYPES):
        _hand_over(observer, frame, function, (*args, *named.values()))
        _of_c(follower, frame, function, args, named, dropped)
    elif is_numtape_class(kind):
        if hasattr(kind, "_written_arguments"):
            _of_kernel(follower, frame, function, args, named)
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
    elif is_a(class_attribute(kind, "__call__"), types.FunctionType):
        follower.calls = class_attribute(kind, "__call__").__code__
        kind_of(follower, frame, function)
    else:
        unknown(follower, frame, function, args, named, dropped)


def _hand_over(observer: Any, frame: Any, function: Any, arguments: tuple[Any, ...]) -> None:
    """Something of C gets arguments: kernels among them may be called with any arrays."""
    for x in arguments:
        if is_numtape_class(type(x)) and hasattr(type(x), "_written_arguments"):
            kernel = qualified_name(x.python_function)
            observer.refuse(f"it gives the kernel {kernel} to {qualified_name(function)}", frame)


def _of_kernel(
    follower: Follower, frame: Any, kernel: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """A kernel of native loops is about to be called: it may write to arrays."""
    try:
        written = kernel._written_arguments(args, named)
    except (KernelError, TypeError):  # the call itself is going to raise
        return
    observer, name = follower.observer, qualified_name(kernel.python_function)
    if written is None:
        observer.refuse(f"it calls the kernel {name}, of which it is not known what it does", frame)
        return
    for array in written:
        what = f"calls the kernel {name}, which writes to {observer.name_of(array)}"
        observer.mutates(array, what, frame)


def _of_python(
    follower: Follower,
    frame: Any,
    function: types.FunctionType,
    args: tuple[Any, ...],
    named: dict[str, Any],
    dropped: bool,
) -> None:
    code = function.__code__
    if is_trusted(code):
        if function is Tensor.ref:
            identity(follower, frame, args)
        give(follower, frame, function.__qualname__, args, named)
        return
    if (
        dropped
        and function.__name__ in _LOGGING
        and function.__globals__ in (vars(logging), vars(warnings))
    ):
        args = (*args, *named.values())
        follower.observer.prints(follower, args, f"calls {function.__qualname__}", frame)
    elif code.co_flags & 0x20:

        def done(follower: Follower, frame: Any, after: Instruction | None) -> None:
            if after is not None:
                follower.observer.made_result(follower.peek(after, 0), frame)

        follower.pending = done


def _class(
    follower: Follower,
    frame: Any,
    kind: type,
    args: tuple[Any, ...],
    named: dict[str, Any],
    dropped: bool,
) -> None:
    observer = follower.observer
    everything = (*args, *named.values())
    if has_finalizer(kind):
        observer.releases(f"it makes a {kind.__name__}, which has a __del__", frame)
    elif issubclass(kind, weakref.ReferenceType) and weak_to_own(follower, frame, args):
        pass
    elif kind is type and len(args) == 1:
        kind_of(follower, frame, args[0])
    elif kind is super:
        await_result(follower, {})
    elif is_numtape_class(kind):
        give(follower, frame, kind.__name__, args, named)
    elif is_python_class(kind):
        base = c_base_of(kind)
        new, start = class_attribute(kind, "__new__"), class_attribute(kind, "__init__")
        observer.class_of(kind, frame)
        arrays: dict[int, Any] = {}
        if not is_a(start, types.FunctionType) and not is_a(new, staticmethod):
            if not (holds_only_attributes(base) or issubclass(base, (*SHALLOW_TYPES, *DEEP_TYPES))):
                unknown(follower, frame, kind, args, named, dropped)
                return
            arrays = examine_all(follower, frame, everything, kind.__name__, holds_only_attributes(base))
        meta = is_a(class_attribute(type(kind), "__call__"), types.FunctionType)
        if not is_a(new, staticmethod) and not meta:
            follower.making = kind
            made(follower)
        else:
            await_result(follower, arrays, False)
    elif issubclass(kind, BaseException):
        await_result(follower, {})
    elif kind is bool and len(args) == 1:
        truth(follower, frame, args[0])
    elif kind in SHALLOW_TYPES:
        of_c = kind in LAZY_TYPES and any(
            x is None or (callable(x) and not is_a(x, types.FunctionType | types.MethodType))
            for x in everything[:1] + everything[1:] * (kind is not map)
        )
        if kind is itertools.accumulate and not any(map(callable, everything[1:])):
            of_c = True  # it adds
        arrays = {}
        for x in everything:
            if is_a(x, CONTAINER_TYPES) or is_a(x, ITERATORS) or not callable(x):
                if of_c or kind in (dict, itertools.starmap):
                    arrays |= examine(follower, frame, x, kind.__name__)
                elif not is_constant(x):
                    iterate(follower, frame, x)
            else:
                examine(follower, frame, x, kind.__name__)
        for x in arrays.values():
            observer.array(x, frame)
        for x in args if issubclass(kind, dict) else ():
            note_mapping(follower, frame, x)
        if kind in (set, frozenset, dict):
            for x in args:
                note_hashing(follower, frame, list(x) if is_a(x, CONTAINER_TYPES) else ())

        def done(follower: Follower, frame: Any, after: Instruction | None) -> None:
            if after is not None:
                fresh, value = follower.fresh(after), follower.peek(after, 0)
                if fresh:
                    observer.made_result(value, frame)
                if is_a(value, ITERATORS):
                    observer.sources[id(value)] = value, everything

        follower.pending = done
    elif kind in DEEP_TYPES or issubclass(kind, np.generic | type):
        if kind is np.dtype:
            dtypes(follower, frame, everything)
        if kind is str and args:
            note_class_name(follower, frame, args[0])
        if issubclass(kind, type):
            note_hashing(follower, frame, everything)  # the classes that the new one is made of
        await_result(follower, examine_all(follower, frame, everything, kind.__name__))
    else:
        unknown(follower, frame, kind, args, named, dropped)


def _getter(follower: Follower, frame: Any, function: Any, args: tuple[Any, ...]) -> None:
    """`operator.attrgetter` and `operator.itemgetter`."""
    observer = follower.observer
    names = function.__reduce__()[1]

    def done(follower: Follower, frame: Any, after: Instruction | None) -> None:
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
                    value = reads.get_item(holder, part)
                    if not is_constant(holder) and not is_a(holder, tuple):
                        label = f"an item of {observer.name_of(holder)}"
                        observer.read(reads.ITEM, holder, part, value, label, frame)
                holder = value

    follower.pending = done


def _of_c(
    follower: Follower,
    frame: Any,
    function: Any,
    args: tuple[Any, ...],
    named: dict[str, Any],
    dropped: bool,
) -> None:
    observer = follower.observer
    special = SPECIAL.get(function) if _of_module(function) else None
    if special is not None:
        whole = function is print or function is builtins.__build_class__
        special(follower, frame, (*args, *named.values()) if whole else args)
        return
    if id(function) in PURE:
        arrays = examine_all(follower, frame, (*args, *named.values()), qualified_name(function))
        if function in (repr, ascii, format):
            note_class_name(follower, frame, args[0])
        # Some give one of what they get.
        new = function not in (max, min, sum, abs, functools.reduce)
        await_result(follower, arrays, new, False)
        if (function.__module__ or "") == "_abc":
            observer.asks(abc.get_cache_token, (), "classes that are registered", None, frame)
        return
    owner = getattr(function, "__objclass__", None)
    name = function.__name__
    if owner is None or is_a(function, types.MethodWrapperType):
        receiver = function.__self__
        if receiver is None or is_a(receiver, types.ModuleType):
            unknown(follower, frame, function, args, named, dropped)
            return
        if is_a(receiver, type) and not is_a(function, types.MethodWrapperType):
            _of_class_of_c(follower, frame, function, args, named, dropped)
            return
    else:
        receiver, args = args[0], args[1:]
    method(follower, frame, function, receiver, name, args, named, dropped)


def _of_module(function: Any) -> bool:
    return is_a(function, types.BuiltinFunctionType) and is_a(function.__self__, types.ModuleType)


def _of_class_of_c(
    follower: Follower,
    frame: Any,
    function: Any,
    args: tuple[Any, ...],
    named: dict[str, Any],
    dropped: bool,
) -> None:
    """A method of a class: it makes something."""
    if function.__name__ in HARMLESS:
        return
    if function.__name__ in CONSTRUCTORS:
        kind = function.__self__
        if issubclass(kind, weakref.ReferenceType) and weak_to_own(follower, frame, args[1:]):
            return
        arrays: dict[int, Any] = {}
        if kind is not object and not issubclass(kind, BaseException | type):
            arrays = examine_all(follower, frame, args[1:], qualified_name(function), False)
        await_result(follower, arrays)
        return
    unknown(follower, frame, function, args, named, dropped)
