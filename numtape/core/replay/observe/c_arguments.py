"""Note what operators and C functions read from their arguments."""

from __future__ import annotations

import _thread
import abc
import functools
import sys
import types
from array import array as Array
from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...cpython.bytecode import Instruction
from ...cpython.frames import owns_only_reference, slot_object
from ...log.variable import Variable
from ...values.tensor import Tensor
from . import ownership, reads
from .c_function_table import PURE, PURE_NUMPY, VALUE_TYPES
from .follower import Follower
from .ownership import (
    FROZEN_DICTS,
    IMMUTABLE_CONTAINERS,
    ITERATORS,
    MAPPINGS,
    VIEWS,
    c_base_of,
    class_attribute,
    entries_of,
    instance_dict,
    is_constant,
    is_library_file,
    is_numtape_class,
    is_python_class,
    memory_owner,
)
from .reads import MISSING, is_a

CONTAINER_TYPES = (list, tuple, set, frozenset, deque, OrderedDict, *MAPPINGS, *VIEWS)
INDEXED_TYPES = (
    list,
    tuple,
    dict,
    deque,
    str,
    bytes,
    bytearray,
    range,
    types.MappingProxyType,
    Array,
)
FUNCTION_TYPES = (
    types.FunctionType,
    types.MethodType,
    type,
    types.ModuleType,
    staticmethod,
    classmethod,
    property,
    types.CellType,
    abc.ABCMeta,
)
C_FUNCTION_TYPES = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
)
_NON_PYTHON_TYPES = (*C_FUNCTION_TYPES, type(MISSING), type(None))
LOCK_TYPES = (type(_thread.allocate_lock()), _thread.RLock)
_PLAIN_OPERANDS = frozenset((Tensor, float, int, bool))  # their operators read nothing else
# Stands for a later argument of a partial function, from Python 3.14 on.
PLACEHOLDER: Any = getattr(functools, "Placeholder", object())
DISPATCHER_TYPE = type(np.mean)  # NumPy functions that dispatch on the types of their arguments


def qualified_name(function: Any) -> str:
    """Return the qualified name of a C function."""
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return f"{module}.{name}" if module and module != "builtins" else name


def parts_of(value: Any) -> Iterable[Any]:
    """Return the contents of a container, slice or partial function."""
    if is_a(value, MAPPINGS):
        return [part for entry in entries_of(value) for part in entry]
    if is_a(value, slice):
        return value.start, value.stop, value.step
    if is_a(value, functools.partial):
        args = (x for x in value.args if x is not PLACEHOLDER)
        return value.func, *args, *value.keywords.values()
    return list(value)


def examine_elements(follower: Follower, frame: types.FrameType, value: Any, user: str) -> None:
    """Note that C code reads an object, including the elements of arrays in it."""
    for x in examine(follower, frame, value, user).values():
        follower.reads.note_elements(x, frame)


def examine(
    follower: Follower, frame: types.FrameType, value: Any, user: str, deep: bool = True
) -> dict[int, Any]:
    """Note that C code reads an object. Return the arrays from outside in it, by id."""
    arrays: dict[int, Any] = {}
    visited: set[int] = set()
    stack = [(value, True)]
    while stack and not follower.effects.reason:
        x, is_open = stack.pop()
        if (is_constant(x) and type(x) is not slice) or id(x) in visited:
            continue
        visited.add(id(x))
        cls = type(x)
        if is_a(x, np.ndarray):
            if is_python_class(cls):
                follower.reads.note_class(x, frame)
            if follower.effects.is_outside(x):
                arrays[id(x)] = x
        elif is_a(x, CONTAINER_TYPES):
            if is_python_class(cls):
                follower.reads.note_class(x, frame)
            if is_open and (follower.reads.note_items(x, frame) or not is_python_class(cls)):
                stack += [(part, deep) for part in parts_of(x)]
        elif cls is slice or cls is functools.partial:
            if cls is functools.partial:
                follower.reads.note_entries(x.keywords, False, frame)
            stack += [(part, deep) for part in parts_of(x)]
        elif is_a(x, (*ITERATORS, types.GeneratorType)):
            stack += [(part, deep) for part in follower.reads.sources.get(id(x), (None, ()))[1]]
            if not follower.effects.is_own(x):
                follower.effects.refuse(f"{user} continues a {cls.__name__} from outside", frame)
        elif is_a(x, C_FUNCTION_TYPES):
            if not _is_pure(x):
                follower.effects.refuse(f"{user} calls {qualified_name(x)}", frame)
        elif is_a(x, FUNCTION_TYPES) or is_a(x, VALUE_TYPES) or cls is DISPATCHER_TYPE:
            if is_python_class(cls) or is_a(x, type):  # a class may be called
                follower.reads.note_class(x, frame)
        elif (
            is_a(x, np.ufunc)
            and x.__class__ is np.ufunc
            and x.signature is None
            and _is_numpy_ufunc(x)
        ):
            pass
        elif is_python_class(cls) and _exposes_memory(x):
            follower.effects.refuse(f"{user} reads the memory of a {cls.__name__}", frame)
        elif is_a(x, BaseException):
            if not follower.effects.is_own(x):
                follower.effects.refuse(f"{user} examines a {cls.__name__}", frame)
            stack += [(part, deep) for part in x.args]
            if is_python_class(cls):
                follower.reads.note_class(x, frame)
        elif (
            is_python_class(cls)
            and (holds_only_attributes(c_base_of(cls)) or c_base_of(cls) in _VALUE_BASES)
            and _has_observable_methods(cls)
        ):
            follower.reads.note_class(x, frame)
        else:
            follower.effects.refuse(f"{user} examines a {cls.__name__}", frame)
    return arrays


def note_class_name(follower: Follower, frame: types.FrameType, value: Any) -> None:
    """Note that an object is formatted as text, which may include the name of its class."""
    for cls in (type(value), value):
        if is_a(cls, type) and is_python_class(cls):
            for name in ("__name__", "__qualname__", "__module__"):
                follower.reads.note_attribute(cls, name, getattr(cls, name, MISSING), False, frame)


def has_python_lookup(key: Any) -> bool:
    """Return whether Python functions decide which item a key selects."""
    stack = [key]
    while stack:
        x = stack.pop()
        cls = type(x)
        if is_a(x, (tuple, frozenset, *FROZEN_DICTS)):
            stack += parts_of(x)
        methods = [class_attribute(cls, name) for name in ("__index__", "__hash__", "__eq__")]
        if is_python_class(cls) and not all(is_a(x, _NON_PYTHON_TYPES) for x in methods):
            return True
    return False


def note_hashing(follower: Follower, frame: types.FrameType, keys: Iterable[Any]) -> None:
    """Note that objects are hashed or compared, as their classes define."""
    stack = list(keys)
    while stack:
        x = stack.pop()
        if is_a(x, (tuple, frozenset, *FROZEN_DICTS)):
            stack += parts_of(x)
        if is_python_class(type(x)) or is_a(x, type):
            follower.reads.note_class(x, frame)


def note_mapping(follower: Follower, frame: types.FrameType, value: Any) -> None:
    """Note that an object's keys and items are read, as ``dict`` does."""
    cls = type(value)
    if not is_python_class(cls):
        return
    if is_a(class_attribute(cls, "keys"), types.FunctionType):
        follower.reads.note_attribute(value, "keys", MISSING, True, frame)
    elif not is_a(value, dict):
        follower.effects.refuse(f"it iterates over the keys of a {cls.__name__}", frame)
    if is_a(value, dict):
        follower.reads.note_entries(value, False, frame)
        follower.reads.note_class_attribute(cls, "keys", "keys", frame)
        note_hashing(follower, frame, dict.keys(value))


def note_class_body(follower: Follower, cls: type, frame: types.FrameType) -> None:
    """Note the values in a new class, whose ``__set_name__`` gets their names."""
    for value in list(vars(cls).values()):
        if is_python_class(type(value)):
            follower.reads.note_class(value, frame)


def _exposes_memory(x: Any) -> bool:
    """Return whether NumPy can find an object's memory without calling Python."""
    return has_attribute(x, "__array_interface__") or has_attribute(x, "__array_struct__")


def has_attribute(x: Any, name: str) -> bool:
    """Return whether an object or its class has an attribute, without running the program."""
    return class_attribute(type(x), name) is not MISSING or name in instance_dict(x)


def nested_values(values: Iterable[Any]) -> Iterable[Any]:
    """Yield the items of lists and tuples, including nested ones."""
    for x in values:
        if is_a(x, list | tuple):
            yield from x
            yield from nested_values(x)


# Modules of the standard library whose classes access state only through methods of subclasses.
_MIXIN_MODULES = {
    "abc",
    "typing",
    "collections.abc",
    "_collections_abc",
    "enum",
    "dataclasses",
    "contextlib",
    "builtins",
}


# C classes whose objects do not change, except for attributes that a subclass gives them.
_VALUE_BASES = (int, float, complex, str, bytes)


def _has_observable_methods(cls: type) -> bool:
    """Return whether a class's methods are the program's, so that their reads are observed."""
    for owner in cls.__mro__:
        if owner.__module__ not in _MIXIN_MODULES and not is_numtape_class(owner):
            module = sys.modules.get(owner.__module__)
            if is_library_file(getattr(module, "__file__", None) or ""):
                return False
    return True


def _is_numpy_ufunc(function: np.ufunc) -> bool:
    """Return whether a ufunc is NumPy's. Other ufuncs may run Python."""
    return getattr(np, function.__name__, None) is function


def holds_only_attributes(cls: type) -> bool:
    """Return whether objects of a C class have no state except attributes."""
    return cls is object or issubclass(cls, BaseException) or cls in (types.SimpleNamespace,)


def _is_pure(function: Any) -> bool:
    """Return whether another C function may call this one."""
    if id(function) in PURE or id(function) in PURE_NUMPY:
        return True
    receiver_type = getattr(function, "__objclass__", None) or type(
        getattr(function, "__self__", None)
    )
    return receiver_type in (str, bytes, int, float, complex, tuple, bool, frozenset, range)


def examine_all(
    follower: Follower, frame: types.FrameType, args: Iterable[Any], user: str, deep: bool = True
) -> dict[int, Any]:
    """Call `examine` for several objects.

    An array that is passed twice appears twice, because each use may read it in another way.
    """
    arrays: dict[int, Any] = {}
    for x in args:
        if type(x) in _PLAIN_OPERANDS:
            continue
        for key, array in examine(follower, frame, x, user, deep).items():
            arrays[-key if key in arrays else key] = array
    return arrays


def await_result(
    follower: Follower, arrays: dict[int, Any], is_new: bool = True, may_be_view: bool = True
) -> None:
    """Await the result of a function that gets arrays from outside.

    Args:
      follower: The follower of the calling frame.
      arrays: These arrays. Guards compare their elements.
      is_new: Whether the result is a new object if there is no other reference to it.
      may_be_view: Whether the result may be a view. If it shares the memory of exactly one array,
        the elements of that array were not read.
    """

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        read_arrays = arrays
        if next_instruction is not None:
            is_unshared = follower.is_unshared(next_instruction)
            value = follower.peek(next_instruction, 0)
            if may_be_view and is_a(value, np.ndarray) and arrays:
                owner = memory_owner(value)
                viewed_keys = [key for key, x in arrays.items() if memory_owner(x) is owner]
                if len(viewed_keys) == 1:
                    read_arrays = {key: x for key, x in arrays.items() if key != viewed_keys[0]}
            if is_new and is_unshared and not is_python_class(type(value)):
                follower.effects.note_result(value, frame)
        for x in read_arrays.values():
            follower.reads.note_elements(x, frame)

    follower.on_result = finish


def await_object(follower: Follower) -> None:
    """Await a new object."""

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        if next_instruction is not None and follower.is_unshared(next_instruction):
            follower.effects.note_result(follower.peek(next_instruction, 0), frame)

    follower.on_result = finish


def pass_to_numtape(
    follower: Follower,
    frame: types.FrameType,
    user: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Note arguments of numtape, which reads containers and takes arrays as inputs."""
    arrays = examine_all(follower, frame, (*args, *kwargs.values()), user)
    inputs = follower.reads.inputs
    start = len(inputs)
    containers = {id(x) for x in (*args, *kwargs.values())}

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        input_ids = {id(array) for _, array in inputs[start:]}
        for key, x in arrays.items():
            if key not in input_ids:
                follower.reads.note_elements(x, frame)
        if next_instruction is not None:
            is_unshared = follower.is_unshared(next_instruction)
            stack = [follower.peek(next_instruction, 0)]
            result = stack[0]
            if type(result) is Tensor:
                return
            if type(result) is types.GeneratorType:
                follower.effects.note_result(result, frame)
            while stack:
                x = stack.pop()
                if id(x) in containers or follower.effects.is_own(x):
                    continue
                if follower.ran_python:  # functions of the program may have returned their objects
                    break
                if x is result and not is_unshared:
                    break
                if type(x) in (list, tuple, dict):
                    follower.effects.note_created(x)
                    stack += parts_of(x)
                elif is_a(x, np.ndarray) and (ownership.owns_memory(x) or not x.flags.writeable):
                    follower.effects.note_created(x)
                elif type(x) is types.FunctionType or type(x) is set:
                    follower.effects.note_created(x)

    follower.on_result = finish


def refuse_weak_to_own(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> bool:
    """Refuse a weak reference to an object of the call. Return whether it was refused."""
    for x in args[:1]:
        # Objects that a custom `__new__` creates are not noted.
        is_custom = is_a(class_attribute(type(x), "__new__"), staticmethod)
        if follower.effects.is_own(x) or (is_custom and is_python_class(type(x))):
            reason = f"it makes a weak reference to a {type(x).__name__} that it created"
            follower.effects.refuse_and_release(reason, frame)
            return True
    return False


def note_iteration(follower: Follower, frame: types.FrameType, value: Any) -> None:
    """Note an iteration over an object."""
    cls = type(value)
    if follower.reads.note_items(value, frame):
        return
    follower.reads.note_class(value, frame)
    if is_a(value, (*ITERATORS, types.GeneratorType)):
        follower.effects.refuse(f"it continues a {cls.__name__} from outside", frame)
    elif is_a(value, type):
        return
    elif is_python_class(cls):  # methods written in Python are observed
        for name in ("__iter__", "__next__", "__getitem__", "__len__"):
            if not is_a(
                class_attribute(cls, name), types.FunctionType | type(MISSING) | type(None)
            ):
                follower.effects.refuse(
                    f"it iterates over a {cls.__name__} with a {name} written in C", frame
                )
    elif not is_a(value, types.GenericAlias):
        follower.effects.refuse(f"it iterates over a {cls.__name__}", frame)


def note_iterator(follower: Follower, frame: types.FrameType, value: Any, address: int) -> None:
    """Note the iterator over an object that Python has made, in the slot at an address."""
    is_unshared, iterator = owns_only_reference(address), slot_object(address)
    if iterator is not value:
        follower.reads.note_class(iterator, frame)
    if is_unshared and iterator is not value:
        if not follower.effects.is_own(iterator):
            follower.effects.note_result(iterator, frame)
    elif is_a(iterator, (*ITERATORS, types.GeneratorType)):
        if not follower.effects.is_own(iterator):
            kind = type(iterator).__name__
            follower.effects.refuse(f"it continues a {kind} from outside", frame)


def note_id(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    """Note ``id(value)`` and similar calls."""
    if args and id(args[0]) in follower.effects.originals:
        follower.effects.rerun("it asks for the identity of an argument", frame)


def note_identity_test(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    """Note ``x is y``."""
    if len(args) == 2:
        follower.effects.check_identity(*args, "it compares arguments by `is`", frame)


def note_contains(follower: Follower, frame: types.FrameType, value: Any, holder: Any) -> None:
    """Note ``value in holder``."""
    if (
        type(value) is Tensor
        and id(value) in follower.effects.originals
        and is_a(holder, CONTAINER_TYPES)
    ):
        follower.effects.rerun("it searches a container for an argument", frame)
    if is_python_class(type(holder)):
        follower.reads.note_class(holder, frame)
    if is_constant(holder) or is_a(holder, str | bytes | range):
        return
    cls = type(holder)
    if is_a(holder, (set, frozenset, *MAPPINGS, *VIEWS)) and _is_c_method(cls, "__contains__"):
        if is_constant(value) and type(value) is not Tensor:
            if not follower.effects.is_own(holder) and not is_a(holder, IMMUTABLE_CONTAINERS):
                if id(holder) in follower.reads.views:
                    _note_view_contains(follower, frame, holder, value)
                    return
                label = f"{value!r} in {follower.reads.name_of(holder)}"
                is_present = value in holder
                follower.reads.note_read(reads.CONTAINS, holder, value, is_present, label, frame)
            return
    if is_a(holder, CONTAINER_TYPES):
        arrays = examine(follower, frame, holder, "in") | examine(follower, frame, value, "in")
        await_result(follower, arrays, False)
    elif is_a(holder, np.ndarray):
        follower.reads.note_elements(holder, frame)
    elif is_python_class(cls) or is_a(holder, type):
        follower.reads.note_class(holder, frame)
    else:
        follower.effects.refuse(f"it searches a {cls.__name__}", frame)


def _note_view_contains(follower: Follower, frame: types.FrameType, view: Any, value: Any) -> None:
    """Note ``value in view`` for a view of a dict."""
    owner = follower.reads.views[id(view)][1]
    if is_a(view, VIEWS[0]):
        label = f"{value!r} in {follower.reads.name_of(owner)}"
        follower.reads.note_read(reads.CONTAINS, owner, value, value in owner, label, frame)
    else:
        follower.reads.note_entries(owner, False, frame)


def _is_c_method(cls: type, name: str) -> bool:
    return not is_a(getattr(cls, name, None), types.FunctionType)


def note_truth(follower: Follower, frame: types.FrameType, value: Any) -> None:
    """Note ``bool(value)``."""
    cls = type(value)
    if is_python_class(cls) or is_a(value, type):
        follower.reads.note_class(value, frame)
    if is_constant(value) or is_a(value, (tuple, frozenset, *FROZEN_DICTS, *FUNCTION_TYPES)):
        return
    if is_a(value, np.ndarray):
        follower.reads.note_elements(value, frame)
        return
    if is_python_class(cls) and not (
        _is_c_method(cls, "__bool__") and _is_c_method(cls, "__len__")
    ):
        return
    if id(value) in follower.reads.views:
        value = follower.reads.views[id(value)][1]
    if not follower.effects.is_own(value):
        label = f"bool({follower.reads.name_of(value)})"
        follower.reads.note_read(reads.TRUTH, value, None, bool(value), label, frame)


def note_length(follower: Follower, frame: types.FrameType, value: Any) -> None:
    """Note ``len(value)``."""
    cls = type(value)
    if is_python_class(cls):
        follower.reads.note_class(value, frame)
        if not _is_c_method(cls, "__len__"):
            return
    if is_constant(value) or is_a(value, (*IMMUTABLE_CONTAINERS, range)):
        return
    if id(value) in follower.reads.views:
        value = follower.reads.views[id(value)][1]
    if not follower.effects.is_own(value) and hasattr(cls, "__len__"):
        label = f"len({follower.reads.name_of(value)})"
        follower.reads.note_read(reads.LENGTH, value, None, len(value), label, frame)


def note_type(follower: Follower, frame: types.FrameType, value: Any) -> None:
    """Note ``type(value)``."""
    if is_constant(value) or not is_python_class(type(value)):
        return
    follower.reads.note_class(value, frame)
    if not follower.effects.is_own(value):
        label = f"type({follower.reads.name_of(value)})"
        follower.reads.note_read(reads.TYPE, value, None, type(value), label, frame)


def note_operator(
    follower: Follower, frame: types.FrameType, operands: tuple[Any, ...], in_place: bool
) -> None:
    """Note the operands of an operator."""
    if type(operands[0]) in _PLAIN_OPERANDS and type(operands[-1]) in _PLAIN_OPERANDS:
        return
    if any(type(x) is Tensor or is_a(x, Variable) for x in operands):
        pass_to_numtape(follower, frame, "an operator", operands, {})
        return
    if any(is_a(x, np.ndarray | np.generic) for x in operands):
        follower.reads.note_call(reads.float_errors, (), "how NumPy treats errors", None, frame)
    if all(map(is_constant, operands)):
        return
    if in_place:
        follower.writes.note_mutation(
            operands[0], f"changes {follower.reads.name_of(operands[0])}", frame
        )
    arrays = examine_all(follower, frame, operands, "an operator")
    for x in operands:
        if is_python_class(type(x)):
            note_type(follower, frame, x)
            follower.reads.note_class(x, frame)
    await_result(follower, arrays, not any(is_python_class(type(x)) for x in operands))


def note_context_manager(follower: Follower, frame: types.FrameType, manager: Any) -> None:
    """Note ``with manager:``."""
    cls = type(manager)
    if is_numtape_class(cls):
        return
    if is_python_class(cls):
        follower.reads.note_class(manager, frame)
    elif not is_a(manager, LOCK_TYPES):
        follower.effects.refuse(f"it enters a {cls.__name__}", frame)
