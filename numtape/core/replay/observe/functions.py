"""Note what C functions and operators do with their arguments.

Functions written in Python need nothing here, because the observer follows their frames. Numtape's
functions read only their arguments.
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
from .arrays import call_numpy, check_dtypes
from .examined import (
    C_FUNCTION_TYPES,
    CONTAINER_TYPES,
    await_object,
    await_result,
    examine,
    examine_all,
    holds_only_attributes,
    note_class_name,
    note_hashing,
    note_id,
    note_iteration,
    note_mapping,
    note_truth,
    note_type,
    pass_to_numtape,
    qualified_name,
    refuse_weak_to_own,
)
from .frames import Follower
from .known import (
    CONSTRUCTORS,
    DEEP_TYPES,
    HARMLESS,
    LAZY_TYPES,
    PURE,
    PURE_NUMPY,
    SHALLOW_TYPES,
    c_base_of,
    has_finalizer,
    is_python_class,
)
from .methods import call_method, call_unknown
from .reads import MISSING, is_a
from .special import SPECIAL
from .steps import Instruction
from .whose import ITERATORS, class_attribute, is_constant, is_numtape_class, is_trusted

_LOGGING = {"debug", "info", "warning", "error", "critical", "exception", "log", "warn"}


def call(
    follower: Follower,
    frame: types.FrameType,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    is_discarded: bool,
) -> None:
    """Note a call of a function. ``is_discarded``: its result is not used."""
    observer, kind = follower.observer, type(function)
    if id(function) in PURE_NUMPY:
        call_numpy(follower, frame, function, args, kwargs)
    elif kind is types.MethodType:
        call(follower, frame, function.__func__, (function.__self__, *args), kwargs, is_discarded)
    elif kind is types.FunctionType:
        follower.called_code = function.__code__
        _call_python(follower, frame, function, args, kwargs, is_discarded)
    elif is_a(function, type):
        if not is_numtape_class(function):
            _refuse_kernels(observer, frame, function, (*args, *kwargs.values()))
        _call_class(follower, frame, function, args, kwargs, is_discarded)
    elif is_a(function, C_FUNCTION_TYPES):
        _refuse_kernels(observer, frame, function, (*args, *kwargs.values()))
        _call_c(follower, frame, function, args, kwargs, is_discarded)
    elif is_numtape_class(kind):
        if hasattr(kind, "_written_arguments"):
            _call_kernel(follower, frame, function, args, kwargs)
        pass_to_numtape(follower, frame, kind.__name__, args, kwargs)
    elif is_a(function, np.ufunc):
        call_numpy(follower, frame, function, args, kwargs)
    elif kind is functools.partial:
        if not observer.is_own(function):
            for name in ("func", "args"):
                observer.note_attribute(function, name, getattr(function, name), False, frame)
            observer.note_entries(function.keywords, False, frame)
        args = (*function.args, *args)
        call(follower, frame, function.func, args, {**function.keywords, **kwargs}, is_discarded)
    elif is_a(function, (operator.itemgetter, operator.attrgetter)):
        _call_getter(follower, frame, function, args)
    elif is_a(function, weakref.ReferenceType):
        label = f"{observer.name_of(function)}()"
        observer.note_call(weakref.ref.__call__, (function,), label, function, frame)
    elif is_a(class_attribute(kind, "__call__"), types.FunctionType):
        follower.called_code = class_attribute(kind, "__call__").__code__
        note_type(follower, frame, function)
    else:
        call_unknown(follower, frame, function, args, kwargs, is_discarded)


def _refuse_kernels(
    observer: Any, frame: types.FrameType, function: Any, args: tuple[Any, ...]
) -> None:
    """Refuse kernels as arguments of C code, which may call them with any arrays."""
    for x in args:
        if is_numtape_class(type(x)) and hasattr(type(x), "_written_arguments"):
            kernel = qualified_name(x.python_function)
            observer.refuse(f"it gives the kernel {kernel} to {qualified_name(function)}", frame)


def _call_kernel(
    follower: Follower,
    frame: types.FrameType,
    kernel: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Note a call of a kernel of native loops, which may write to arrays."""
    try:
        written = kernel._written_arguments(args, kwargs)
    except (KernelError, TypeError):  # the call itself will raise the same error
        return
    observer, name = follower.observer, qualified_name(kernel.python_function)
    if written is None:
        observer.refuse(f"it calls the kernel {name}, whose effects are unknown", frame)
        return
    for array in written:
        effect = f"calls the kernel {name}, which writes to {observer.name_of(array)}"
        observer.note_mutation(array, effect, frame)


def _call_python(
    follower: Follower,
    frame: types.FrameType,
    function: types.FunctionType,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    is_discarded: bool,
) -> None:
    code = function.__code__
    if is_trusted(code):
        if function is Tensor.ref:
            note_id(follower, frame, args)
        pass_to_numtape(follower, frame, function.__qualname__, args, kwargs)
        return
    if (
        is_discarded
        and function.__name__ in _LOGGING
        and function.__globals__ in (vars(logging), vars(warnings))
    ):
        args = (*args, *kwargs.values())
        follower.observer.start_printing(follower, args, f"calls {function.__qualname__}", frame)
    elif code.co_flags & 0x20:

        def finish(
            follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
        ) -> None:
            if next_instruction is not None:
                follower.observer.note_result(follower.peek(next_instruction, 0), frame)

        follower.on_result = finish


def _call_class(
    follower: Follower,
    frame: types.FrameType,
    kind: type,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    is_discarded: bool,
) -> None:
    observer = follower.observer
    values = (*args, *kwargs.values())
    if has_finalizer(kind):
        observer.refuse_and_release(f"it makes a {kind.__name__}, which has a __del__", frame)
    elif issubclass(kind, weakref.ReferenceType) and refuse_weak_to_own(follower, frame, args):
        pass
    elif kind is type and len(args) == 1:
        note_type(follower, frame, args[0])
    elif kind is super:
        await_result(follower, {})
    elif is_numtape_class(kind):
        pass_to_numtape(follower, frame, kind.__name__, args, kwargs)
    elif is_python_class(kind):
        base = c_base_of(kind)
        constructor = class_attribute(kind, "__new__")
        initializer = class_attribute(kind, "__init__")
        observer.note_class(kind, frame)
        arrays: dict[int, Any] = {}
        if not is_a(initializer, types.FunctionType) and not is_a(constructor, staticmethod):
            if not (holds_only_attributes(base) or issubclass(base, (*SHALLOW_TYPES, *DEEP_TYPES))):
                call_unknown(follower, frame, kind, args, kwargs, is_discarded)
                return
            arrays = examine_all(
                follower, frame, values, kind.__name__, holds_only_attributes(base)
            )
        has_python_metaclass = is_a(class_attribute(type(kind), "__call__"), types.FunctionType)
        if not is_a(constructor, staticmethod) and not has_python_metaclass:
            follower.called_class = kind
            await_object(follower)
        else:
            await_result(follower, arrays, False)
    elif issubclass(kind, BaseException):
        await_result(follower, {})
    elif kind is bool and len(args) == 1:
        note_truth(follower, frame, args[0])
    elif kind in SHALLOW_TYPES:
        runs_c = kind in LAZY_TYPES and any(
            x is None or (callable(x) and not is_a(x, types.FunctionType | types.MethodType))
            for x in values[:1] + values[1:] * (kind is not map)
        )
        if kind is itertools.accumulate and not any(map(callable, values[1:])):
            runs_c = True  # `accumulate` adds by default
        arrays = {}
        for x in values:
            if is_a(x, CONTAINER_TYPES) or is_a(x, ITERATORS) or not callable(x):
                if runs_c or kind in (dict, itertools.starmap):
                    arrays |= examine(follower, frame, x, kind.__name__)
                elif not is_constant(x):
                    note_iteration(follower, frame, x)
            else:
                examine(follower, frame, x, kind.__name__)
        for x in arrays.values():
            observer.note_elements(x, frame)
        for x in args if issubclass(kind, dict) else ():
            note_mapping(follower, frame, x)
        if kind in (set, frozenset, dict):
            for x in args:
                note_hashing(follower, frame, list(x) if is_a(x, CONTAINER_TYPES) else ())

        def finish(
            follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
        ) -> None:
            if next_instruction is not None:
                is_unshared = follower.is_unshared(next_instruction)
                value = follower.peek(next_instruction, 0)
                if is_unshared:
                    observer.note_result(value, frame)
                if is_a(value, ITERATORS):
                    observer.sources[id(value)] = value, values

        follower.on_result = finish
    elif kind in DEEP_TYPES or issubclass(kind, np.generic | type):
        if kind is np.dtype:
            check_dtypes(follower, frame, values)
        if kind is str and args:
            note_class_name(follower, frame, args[0])
        if issubclass(kind, type):
            note_hashing(follower, frame, values)  # the bases of the new class
        await_result(follower, examine_all(follower, frame, values, kind.__name__))
    else:
        call_unknown(follower, frame, kind, args, kwargs, is_discarded)


def _call_getter(
    follower: Follower, frame: types.FrameType, function: Any, args: tuple[Any, ...]
) -> None:
    """Note a call of `operator.attrgetter` or `operator.itemgetter`."""
    observer = follower.observer
    names = function.__reduce__()[1]

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        for name in names:
            holder = args[0]
            keys = name.split(".") if is_a(function, operator.attrgetter) else [name]
            for key in keys:
                if follower.ran_python:
                    observer.refuse("a getter runs functions of Python", frame)
                    return
                if is_a(function, operator.attrgetter):
                    value = getattr(holder, key, MISSING)
                    observer.note_attribute(holder, key, value, False, frame)
                else:
                    value = reads.get_item(holder, key)
                    if not is_constant(holder) and not is_a(holder, tuple):
                        label = f"an item of {observer.name_of(holder)}"
                        observer.note_read(reads.ITEM, holder, key, value, label, frame)
                holder = value

    follower.on_result = finish


def _call_c(
    follower: Follower,
    frame: types.FrameType,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    is_discarded: bool,
) -> None:
    observer = follower.observer
    special = SPECIAL.get(function) if _is_module_function(function) else None
    if special is not None:
        takes_keywords = function is print or function is builtins.__build_class__
        special(follower, frame, (*args, *kwargs.values()) if takes_keywords else args)
        return
    if id(function) in PURE:
        arrays = examine_all(follower, frame, (*args, *kwargs.values()), qualified_name(function))
        if function in (repr, ascii, format):
            note_class_name(follower, frame, args[0])
        # These may return an argument.
        is_new = function not in (max, min, sum, abs, functools.reduce)
        await_result(follower, arrays, is_new, False)
        if (function.__module__ or "") == "_abc":
            observer.note_call(abc.get_cache_token, (), "classes that are registered", None, frame)
        return
    owner = getattr(function, "__objclass__", None)
    name = function.__name__
    if owner is None or is_a(function, types.MethodWrapperType):
        receiver = function.__self__
        if receiver is None or is_a(receiver, types.ModuleType):
            call_unknown(follower, frame, function, args, kwargs, is_discarded)
            return
        if is_a(receiver, type) and not is_a(function, types.MethodWrapperType):
            _call_class_method(follower, frame, function, args, kwargs, is_discarded)
            return
    else:
        receiver, args = args[0], args[1:]
    call_method(follower, frame, function, receiver, name, args, kwargs, is_discarded)


def _is_module_function(function: Any) -> bool:
    return is_a(function, types.BuiltinFunctionType) and is_a(function.__self__, types.ModuleType)


def _call_class_method(
    follower: Follower,
    frame: types.FrameType,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    is_discarded: bool,
) -> None:
    """Note a call of a C class method, such as a constructor."""
    if function.__name__ in HARMLESS:
        return
    if function.__name__ in CONSTRUCTORS:
        kind = function.__self__
        if issubclass(kind, weakref.ReferenceType) and refuse_weak_to_own(
            follower, frame, args[1:]
        ):
            return
        arrays: dict[int, Any] = {}
        if kind is not object and not issubclass(kind, BaseException | type):
            arrays = examine_all(follower, frame, args[1:], qualified_name(function), False)
        await_result(follower, arrays)
        return
    call_unknown(follower, frame, function, args, kwargs, is_discarded)
