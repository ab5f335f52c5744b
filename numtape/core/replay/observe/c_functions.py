"""Notes what C functions and methods do with their arguments and with Python state."""

from __future__ import annotations

import _thread
import abc
import builtins
import contextvars
import datetime
import functools
import inspect
import io
import itertools
import logging
import operator
import os
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ....errors import KernelError
from ...cpython.bytecode import Instruction, early_iteration
from ...cpython.frames import stack_address
from ...log.variable import Variable
from ...values.tensor import Tensor
from . import c_arguments, reads
from .arrays import await_written, call_numpy, check_dtypes
from .c_arguments import (
    C_FUNCTION_TYPES,
    CONTAINER_TYPES,
    LOCK_TYPES,
    PLACEHOLDER,
    await_object,
    await_result,
    examine,
    examine_all,
    examine_elements,
    has_python_lookup,
    holds_only_attributes,
    nested_values,
    note_class_name,
    note_contains,
    note_hashing,
    note_id,
    note_identity_test,
    note_iteration,
    note_length,
    note_mapping,
    note_truth,
    note_type,
    pass_to_numtape,
    qualified_name,
    refuse_weak_to_own,
)
from .c_function_table import (
    CONSTRUCTORS,
    DEEP_TYPES,
    EFFECTS_ONLY,
    FILE_WRITES,
    HARMLESS,
    LAZY_TYPES,
    MAY_RETURN_RECEIVER,
    NOT_REPEATABLE,
    PURE,
    PURE_METHODS,
    PURE_NUMPY,
    READ_SETTINGS,
    RETURN_NONE,
    SHALLOW_TYPES,
    VALUE_TYPES,
)
from .follower import Follower
from .lookups import read_item
from .ownership import (
    FROZEN_DICTS,
    ITERATORS,
    MAPPINGS,
    PACKAGE,
    VIEWS,
    c_base_of,
    class_attribute,
    class_dict,
    has_finalizer,
    instance_dict,
    is_constant,
    is_numtape_class,
    is_python_class,
    is_trusted,
)
from .reads import MISSING, is_a


def get_attribute(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    """Note ``getattr(owner, name)``, ``hasattr`` and similar calls."""
    owner, name = args[0], args[1]

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        value = MISSING if follower.ran_python else getattr(owner, name, MISSING)
        follower.reads.note_attribute(owner, name, value, follower.ran_python, frame)

    follower.on_result = finish


def _set_attribute(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    label = f"{follower.reads.name_of(args[0])}.{args[1]}"
    follower.writes.note_write(args[0], args[1], args[2], label, frame)


def _delete_attribute(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    follower.reads.note_class(args[0], frame)
    if not follower.effects.is_own(args[0]):
        follower.effects.refuse(f"it deletes a part of {follower.reads.name_of(args[0])}", frame)


def get_item(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    """Note ``holder[key]``."""
    read_item(follower, frame, args[0], args[1])


def _vars(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    if not args:
        await_result(follower, {})
        return
    owner = args[0]
    if is_a(owner, type) and not follower.effects.is_own(owner):
        follower.effects.refuse(f"it reads all attributes of the class {owner.__name__}", frame)

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        if next_instruction is None:
            return
        attributes = follower.peek(next_instruction, 0)
        if follower.effects.is_own(owner):
            follower.effects.note_created(attributes)
        else:
            follower.reads.note_class(owner, frame)
            if type(attributes) is dict:
                follower.reads.note_call(
                    instance_dict, (owner,), f"vars({follower.reads.name_of(owner)})", owner, frame
                )
            follower.reads.names.setdefault(
                id(attributes), f"vars({follower.reads.name_of(owner)})"
            )

    follower.on_result = finish


def _iter(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    value = args[0]
    if len(args) == 1:
        note_iteration(follower, frame, value)
    else:
        examine_elements(follower, frame, value, "iter")

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        if (
            next_instruction is not None
            and follower.peek(next_instruction, 0) is not value
            and follower.is_unshared(next_instruction)
        ):
            follower.effects.note_created(follower.peek(next_instruction, 0))

    follower.on_result = finish


def _next(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    value = args[0]
    follower.reads.note_class(value, frame)
    if not follower.effects.is_own(value) and not is_python_class(type(value)):
        follower.effects.refuse(f"it continues a {type(value).__name__} from outside", frame)


def _flatten_classes(classes: Any) -> Iterator[Any]:
    """Yield the classes in an argument of `isinstance`: a class, or a tuple or union of classes."""
    if is_a(classes, tuple | types.UnionType):
        for cls in classes if is_a(classes, tuple) else classes.__args__:
            yield from _flatten_classes(cls)
    else:
        yield classes


def _is_subclass(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    for cls in _flatten_classes(args):
        follower.reads.note_class(cls, frame)


def _is_instance(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    note_type(follower, frame, args[0])
    for cls in _flatten_classes(args[1:]):
        follower.reads.note_class(cls, frame)


def _build_class(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    """Note a ``class`` statement, in which the bases take part."""
    for cls in args[1:]:
        follower.reads.note_class(cls, frame)

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        if next_instruction is None:
            return
        cls = follower.peek(next_instruction, 0)
        if is_a(cls, type):
            c_arguments.note_class_body(follower, cls, frame)
            if not is_python_class(type(cls)):
                follower.effects.note_created(cls)
                follower.effects.note_created(class_dict(cls))

    follower.on_result = finish


def _print(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    _start_printing(follower, frame, args, "prints")


def _start_printing(
    follower: Follower, frame: types.FrameType, args: tuple[Any, ...], action: str
) -> None:
    """Note that a frame prints or logs objects. The texts depend on the objects' classes."""
    for x in args:
        follower.reads.note_class(x, frame)
    follower.effects.start_printing(follower, action, frame)


def _len(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    note_length(follower, frame, args[0])


def _make_proxy(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    if not c_arguments.refuse_weak_to_own(follower, frame, args):
        follower.effects.refuse("it makes a weak proxy", frame)


def _ignore(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    """Note nothing: the result has no state, or is not a new object."""


def _await_own_result(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    await_result(follower, {})


def _note_answer_of(function: Callable[..., Any]) -> Callable[..., None]:
    def note_answer(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
        follower.reads.note_call(function, args, qualified_name(function), None, frame)

    return note_answer


SPECIAL: dict[Any, Callable[[Follower, Any, tuple[Any, ...]], None]] = {
    builtins.getattr: get_attribute,
    builtins.hasattr: get_attribute,
    builtins.setattr: _set_attribute,
    builtins.delattr: _delete_attribute,
    builtins.vars: _vars,
    builtins.globals: _ignore,
    builtins.locals: _await_own_result,
    builtins.len: _len,
    builtins.iter: _iter,
    builtins.next: _next,
    builtins.print: _print,
    builtins.isinstance: _is_instance,
    builtins.issubclass: _is_subclass,
    builtins.id: note_id,
    weakref.proxy: _make_proxy,
    operator.is_: note_identity_test,
    operator.is_not: note_identity_test,
    builtins.compile: _await_own_result,
    builtins.exec: _ignore,
    builtins.eval: _ignore,
    builtins.__build_class__: _build_class,
    operator.getitem: get_item,
    sys.intern: _ignore,
    **{
        f: _note_answer_of(f)
        for f in (os.getpid, os.getcwd, _thread.get_ident, sys.getrecursionlimit)
    },
}


def call_unknown(
    follower: Follower,
    frame: types.FrameType,
    function: Any,
    args: Iterable[Any],
    kwargs: dict[str, Any],
    is_discarded: bool,
) -> None:
    """Note a call of an unknown C function, which is allowed only if it has no result."""
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
        follower.effects.refuse(
            f"it calls {qualified_name(function)}, whose result may change", frame
        )
        return
    for x in values:
        follower.writes.note_mutation(x, f"calls {qualified_name(function)}", frame)
    follower.effects.note_effect(f"calls {qualified_name(function)}", frame)


# Methods of tuples and frozendicts that do not use the items' methods.
_READS_NO_ITEMS = set("__new__ __iter__ __len__ get items keys values copy".split())


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
        *FROZEN_DICTS,
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
            follower.effects.refuse(
                "it formats objects, whose attributes a format may reach", frame
            )
        if is_a(receiver, (tuple, *FROZEN_DICTS)) and name not in _READS_NO_ITEMS:
            examine_elements(follower, frame, receiver, label)
        await_result(follower, examine_all(follower, frame, values, label), name != "__getitem__")
        return
    if name in ("__getattribute__", "__getattr__") and args:
        if is_a(class_attribute(type(receiver), "__getattribute__"), types.FunctionType):
            follower.effects.refuse(
                f"it reads {args[0]} of a {type(receiver).__name__} by {name}", frame
            )
        get_attribute(follower, frame, (receiver, *args))
        return
    if name in ("__setattr__", "__delattr__") and args:
        follower.writes.note_write(
            receiver, args[0], args[-1], f"{follower.reads.name_of(receiver)}.{args[0]}", frame
        )
        return
    if name == "__getitem__" and len(args) == 1:
        get_item(follower, frame, (receiver, *args))
        return
    container_type = next(
        (candidate for candidate in PURE_METHODS if is_a(receiver, candidate)), None
    )
    if container_type is not None or is_a(receiver, VIEWS):
        _call_container_method(
            follower, frame, receiver, container_type or set, name, values, is_discarded
        )
        return
    if is_a(receiver, (*ITERATORS, types.GeneratorType)):
        if not follower.effects.is_own(receiver):
            follower.effects.refuse(f"it continues a {type(receiver).__name__} from outside", frame)
        return
    if name == "__get__" and type(receiver) in (types.FunctionType, classmethod, staticmethod):
        await_result(follower, {})
        return
    if (name in HARMLESS and is_python_class(type(receiver))) or name == "__init__":
        return
    if is_a(receiver, LOCK_TYPES) and (
        is_discarded or name in ("release", "__exit__", "__enter__")
    ):
        follower.effects.forbid_restart()
        return
    if is_a(receiver, contextvars.ContextVar) and name == "get":
        follower.reads.note_call(
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
    cls: type,
    name: str,
    args: tuple[Any, ...],
    is_discarded: bool,
) -> None:
    """Note a method call of a container or array."""
    label = follower.reads.name_of(receiver)
    if cls is np.ndarray and name == "resize":  # NumPy requires that there is no other reference
        follower.effects.refuse_and_release(f"it resizes {label}", frame)
    elif cls is dict and name == "get" and args:
        _call_dict_get(follower, frame, receiver, args[0], examine(follower, frame, args[0], "get"))
    elif cls is dict and name in ("items", "keys", "values"):

        def finish(
            follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
        ) -> None:
            if next_instruction is not None:
                view = follower.peek(next_instruction, 0)
                follower.reads.views[id(view)] = view, receiver

        follower.on_result = finish
    elif name == "__len__":
        note_length(follower, frame, receiver)
    elif name == "__contains__":
        note_contains(follower, frame, args[0], receiver)
    elif name in PURE_METHODS.get(cls, ()) or is_a(receiver, VIEWS):
        method = f"{cls.__name__}.{name}"
        arrays = examine(follower, frame, receiver, method, name in ("index", "count"))
        arrays |= examine_all(follower, frame, args, method)
        if cls is np.ndarray and not any(
            is_python_class(type(x)) or callable(x)
            for x in (*args, *nested_values(args))
            if x is not None
        ):
            follower.observer.muted_follower = follower  # NumPy's own Python code
        await_result(follower, arrays)
        if cls is np.ndarray and name not in MAY_RETURN_RECEIVER:
            await_written(follower, (receiver, *args))
    elif follower.effects.is_own(receiver):
        follower.effects.note_change(receiver)
        if cls is not np.ndarray:  # keys and items are compared
            note_hashing(follower, frame, args)
            if name in ("sort", "remove"):
                note_hashing(follower, frame, list(receiver))
        if name == "update" and cls is dict:
            for x in args[:1]:
                note_mapping(follower, frame, x)
        if name in ("extend", "extendleft", "__init__", "fill") or name.endswith("update"):
            for x in examine_all(follower, frame, args, name).values():
                follower.reads.note_elements(x, frame)
    elif (is_discarded or name in RETURN_NONE) and name not in NOT_REPEATABLE:
        follower.writes.note_mutation(receiver, f"changes {label} by {name}", frame)
        follower.effects.check_stored(args, frame)
        if name in ("extend", "update", "extendleft"):
            for x in examine_all(follower, frame, args, name, False).values():
                follower.reads.note_elements(x, frame)
    else:
        follower.effects.refuse(
            f"it changes {label} with {name}, which depends on its contents", frame
        )


def _call_dict_get(
    follower: Follower, frame: types.FrameType, holder: Any, key: Any, arrays: dict[int, Any]
) -> None:
    if follower.effects.is_own(holder):
        return
    if has_python_lookup(key):  # guards do not call Python functions
        follower.reads.note_entries(holder, False, frame)
        return
    label = f"{follower.reads.name_of(holder)}[{key!r}]" if is_constant(key) else "an item"
    value = dict.get(holder, key, MISSING)
    kind = reads.ENTRY if type(holder) is dict else reads.ITEM
    if kind == reads.ITEM and hasattr(type(holder), "__missing__"):
        follower.effects.refuse(f"it calls get on a {type(holder).__name__}", frame)
        return
    follower.reads.note_read(kind, holder, key, value, label, frame)


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
    cls = type(function)
    if id(function) in PURE_NUMPY:
        call_numpy(follower, frame, function, args, kwargs)
    elif cls is types.MethodType:
        call(follower, frame, function.__func__, (function.__self__, *args), kwargs, is_discarded)
    elif cls is types.FunctionType:
        follower.called_code = function.__code__
        _call_python(follower, frame, function, args, kwargs, is_discarded)
    elif is_a(function, type):
        if not is_numtape_class(function):
            _refuse_kernels(follower, frame, function, (*args, *kwargs.values()))
        _call_class(follower, frame, function, args, kwargs, is_discarded)
    elif is_a(function, C_FUNCTION_TYPES):
        _refuse_kernels(follower, frame, function, (*args, *kwargs.values()))
        _call_c(follower, frame, function, args, kwargs, is_discarded)
    elif is_numtape_class(cls):
        if hasattr(cls, "_written_arguments"):
            _call_kernel(follower, frame, function, args, kwargs)
        pass_to_numtape(follower, frame, cls.__name__, args, kwargs)
    elif is_a(function, np.ufunc):
        call_numpy(follower, frame, function, args, kwargs)
    elif cls is functools.partial:
        if not follower.effects.is_own(function):
            for name in ("func", "args"):
                follower.reads.note_attribute(function, name, getattr(function, name), False, frame)
            follower.reads.note_entries(function.keywords, False, frame)
        rest = iter(args)
        first = (next(rest, x) if x is PLACEHOLDER else x for x in function.args)
        args = (*first, *rest)
        call(follower, frame, function.func, args, {**function.keywords, **kwargs}, is_discarded)
    elif is_a(function, (operator.itemgetter, operator.attrgetter)):
        _call_getter(follower, frame, function, args)
    elif is_a(function, weakref.ReferenceType):
        label = f"{follower.reads.name_of(function)}()"
        follower.reads.note_call(weakref.ref.__call__, (function,), label, function, frame)
    elif is_a(class_attribute(cls, "__call__"), types.FunctionType):
        follower.called_code = class_attribute(cls, "__call__").__code__
        note_type(follower, frame, function)
    else:
        call_unknown(follower, frame, function, args, kwargs, is_discarded)


def _refuse_kernels(
    follower: Follower, frame: types.FrameType, function: Any, args: tuple[Any, ...]
) -> None:
    """Refuse kernels as arguments of C code, which may call them with any arrays."""
    for x in args:
        if is_numtape_class(type(x)) and hasattr(type(x), "_written_arguments"):
            kernel = qualified_name(x.python_function)
            follower.effects.refuse(
                f"it gives the kernel {kernel} to {qualified_name(function)}", frame
            )


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
    name = qualified_name(kernel.python_function)
    if written is None:
        follower.effects.refuse(f"it calls the kernel {name}, whose effects are unknown", frame)
        return
    for array in written:
        effect = f"calls the kernel {name}, which writes to {follower.reads.name_of(array)}"
        follower.writes.note_mutation(array, effect, frame)


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
        _start_printing(follower, frame, args, f"calls {function.__qualname__}")
    elif code.co_flags & inspect.CO_GENERATOR:
        is_iterating = early_iteration(code) is not None
        if is_iterating:
            note_iteration(follower, frame, args[0])

        def finish(
            follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
        ) -> None:
            if next_instruction is not None:
                generator = follower.peek(next_instruction, 0)
                follower.effects.note_result(generator, frame)
                if is_iterating:
                    address = stack_address(generator.gi_frame)
                    c_arguments.note_iterator(follower, frame, args[0], address)

        follower.on_result = finish


def _call_class(
    follower: Follower,
    frame: types.FrameType,
    cls: type,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    is_discarded: bool,
) -> None:
    values = (*args, *kwargs.values())
    if has_finalizer(cls):
        follower.effects.refuse_and_release(
            f"it makes a {cls.__name__}, which has a __del__", frame
        )
    elif issubclass(cls, weakref.ReferenceType) and refuse_weak_to_own(follower, frame, args):
        pass
    elif cls is type and len(args) == 1:
        note_type(follower, frame, args[0])
    elif cls is super:
        await_result(follower, {})
    elif is_numtape_class(cls):
        pass_to_numtape(follower, frame, cls.__name__, args, kwargs)
    elif is_python_class(cls):
        base = c_base_of(cls)
        constructor = class_attribute(cls, "__new__")
        initializer = class_attribute(cls, "__init__")
        follower.reads.note_class(cls, frame)
        arrays: dict[int, Any] = {}
        if not is_a(initializer, types.FunctionType) and not is_a(constructor, staticmethod):
            if not (holds_only_attributes(base) or issubclass(base, (*SHALLOW_TYPES, *DEEP_TYPES))):
                call_unknown(follower, frame, cls, args, kwargs, is_discarded)
                return
            arrays = examine_all(follower, frame, values, cls.__name__, holds_only_attributes(base))
        has_python_metaclass = is_a(class_attribute(type(cls), "__call__"), types.FunctionType)
        if not is_a(constructor, staticmethod) and not has_python_metaclass:
            follower.called_class = cls
            await_object(follower)
        else:
            await_result(follower, arrays, False)
    elif issubclass(cls, BaseException):
        await_result(follower, {})
    elif cls is bool and len(args) == 1:
        note_truth(follower, frame, args[0])
    elif cls in SHALLOW_TYPES:
        runs_c = cls in LAZY_TYPES and any(
            x is None or (callable(x) and not is_a(x, types.FunctionType | types.MethodType))
            for x in values[:1] + values[1:] * (cls is not map)
        )
        if cls is itertools.accumulate and not any(map(callable, values[1:])):
            runs_c = True  # `accumulate` adds by default
        arrays = {}
        for x in values:
            if is_a(x, CONTAINER_TYPES) or is_a(x, ITERATORS) or not callable(x):
                if runs_c or cls in (itertools.starmap, *MAPPINGS):
                    arrays |= examine(follower, frame, x, cls.__name__)
                elif not is_constant(x):
                    note_iteration(follower, frame, x)
            else:
                examine(follower, frame, x, cls.__name__)
        for x in arrays.values():
            follower.reads.note_elements(x, frame)
        for x in args if issubclass(cls, MAPPINGS) else ():
            note_mapping(follower, frame, x)
        if cls in (set, frozenset, *MAPPINGS):
            for x in args:
                note_hashing(follower, frame, list(x) if is_a(x, CONTAINER_TYPES) else ())

        def finish(
            follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
        ) -> None:
            if next_instruction is not None:
                is_unshared = follower.is_unshared(next_instruction)
                value = follower.peek(next_instruction, 0)
                if is_unshared:
                    follower.effects.note_result(value, frame)
                if is_a(value, ITERATORS):
                    follower.reads.sources[id(value)] = value, values

        follower.on_result = finish
    elif cls in DEEP_TYPES or issubclass(cls, np.generic | type):
        if cls is np.dtype:
            check_dtypes(follower, frame, values)
        if cls is str and args:
            note_class_name(follower, frame, args[0])
        if issubclass(cls, type):
            note_hashing(follower, frame, values)  # the bases of the new class
        await_result(follower, examine_all(follower, frame, values, cls.__name__))
    else:
        call_unknown(follower, frame, cls, args, kwargs, is_discarded)


def _call_getter(
    follower: Follower, frame: types.FrameType, function: Any, args: tuple[Any, ...]
) -> None:
    """Note a call of `operator.attrgetter` or `operator.itemgetter`."""
    names = function.__reduce__()[1]

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        for name in names:
            holder = args[0]
            keys = name.split(".") if is_a(function, operator.attrgetter) else [name]
            for key in keys:
                if follower.ran_python:
                    follower.effects.refuse("a getter runs functions of Python", frame)
                    return
                if is_a(function, operator.attrgetter):
                    value = getattr(holder, key, MISSING)
                    follower.reads.note_attribute(holder, key, value, False, frame)
                else:
                    value = reads.get_item(holder, key)
                    if not is_constant(holder) and not is_a(holder, tuple):
                        label = f"an item of {follower.reads.name_of(holder)}"
                        follower.reads.note_read(reads.ITEM, holder, key, value, label, frame)
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
            follower.reads.note_call(
                abc.get_cache_token, (), "classes that are registered", None, frame
            )
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
