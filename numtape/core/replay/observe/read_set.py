"""The reads of a call, which become the guards of its recording."""

from __future__ import annotations

import functools
import sys
import types
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ...values.tensor import Tensor
from . import reads
from .access_sets import key_identity
from .effects import CallEffects
from .ownership import (
    BOUND_TYPES,
    HEAP_TYPE_FLAG,
    IMMUTABLE_CONTAINERS,
    ITERATORS,
    MAPPINGS,
    VIEWS,
    class_attribute,
    class_dict,
    entries_of,
    instance_dict,
    is_constant,
    is_data_descriptor,
    is_numtape_class,
    is_program_attribute,
    is_python_class,
    is_unknown_descriptor,
)
from .reads import MISSING, Read, array_bits, array_layout, bind_arguments, is_a

MAX_READS = 20_000  # of one call
MAX_ARRAY_BYTES = 1 << 24  # of an array whose elements are compared before every replay
MAX_ITEMS = 1 << 16  # of a container

# Containers whose items the compiled pass cannot compare.
_COMPARED_IN_PYTHON = (set, deque, OrderedDict, *VIEWS)
_NOT_WRITTEN: Any = object()  # compares identical to no value that a call wrote


class ReadSet:
    """The reads of a call. Objects that the call itself created need no guards.

    "By location" means: by the object that holds a value, and the key.

    Args:
      effects: The effects of the call, which also say which objects it created.

    Attributes:
      by_key: The reads, by what identifies them.
      inputs: Rows that were made from arrays from outside, with these arrays.
      written_values: The value that the call gave each name, attribute or item, by location.
      views: Views of dicts, and the dict of each, by id.
      sources: Iterators, and the objects that each iterates over, by id.
      names: The program's names of objects, by id.
      temporary_reads: Reads of an object's classes, by its id. They are compared only if the object
        is temporary.
    """

    def __init__(self, effects: CallEffects) -> None:
        self.effects = effects
        self.by_key: dict[tuple[Any, ...], Read] = {}
        self.inputs: list[Any] = []
        self.written_values: dict[tuple[Any, ...], Any] = {}
        self.views: dict[int, tuple[Any, Any]] = {}
        self.sources: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self.names: dict[int, str] = {}
        self.temporary_reads: dict[int, dict[tuple[Any, ...], Read]] = {}

    def clear(self) -> None:
        """Drop all references to objects of the call, except inputs."""
        tables: tuple[dict[Any, Any], ...] = (
            self.by_key,
            self.written_values,
            self.views,
            self.sources,
            self.names,
            self.temporary_reads,
        )
        for table in tables:
            table.clear()

    def note_default(self, value: np.ndarray[Any, Any]) -> None:
        """Note the elements of a default array, of which numtape makes a copy."""
        self.note_elements(value, sys._getframe(1))

    # Names, attributes and classes.

    def note_read(
        self, kind: int, holder: Any, key: Any, value: Any, name: str, frame: types.FrameType
    ) -> None:
        """Note a read of ``value`` from ``holder``."""
        if self.effects.changed_originals:
            self.effects.refuse_changed_original(holder, frame)
        if self.effects.is_own(holder) or self.effects.library_printing is not None:
            return
        if type(value) is Tensor and getattr(value._home, "tracing", False):
            return  # this call has stored it there
        read_key = kind, id(holder), key_identity(key)
        if read_key in self.by_key:
            return
        written = self.written_values
        if written and written.get((id(holder), key_identity(key)), _NOT_WRITTEN) is value:
            # The call reads a value that it has written.
            self.effects.discard_reason = self.effects.discard_reason or f"changes {name}"
            return
        if len(self.by_key) >= MAX_READS:
            self.effects.refuse(f"it reads more than {MAX_READS} values", frame)
            return
        location = frame.f_code.co_filename, frame.f_lineno
        self.by_key[read_key] = Read(kind, holder, key, value, name, location)
        if value is not MISSING and not is_constant(value):
            self.names.setdefault(id(value), name)

    def name_of(self, value: Any) -> str:
        """Return the program's name of an object, or the name of its class."""
        name = self.names.get(id(value))
        if name is not None:
            return name
        if is_a(value, type | types.FunctionType | types.ModuleType):
            return str(value.__name__)
        return type(value).__name__

    def note_function(self, function: types.FunctionType, frame: types.FrameType) -> None:
        """Note that a function runs, whose code and defaults can be replaced."""
        value = function.__code__, function.__defaults__, function.__kwdefaults__
        self.note_read(reads.CODE, function, None, value, function.__qualname__, frame)
        if function.__kwdefaults__:
            self.note_entries(function.__kwdefaults__, False, frame)

    def note_attribute(
        self, owner: Any, name: str, value: Any, ran_python: bool, frame: types.FrameType
    ) -> None:
        """Note a read of an attribute. ``ran_python``: Python functions ran to find it."""
        label = f"{self.name_of(owner)}.{name}"
        if is_constant(owner):
            if is_program_attribute(owner, name):
                self.note_read(reads.ATTRIBUTE, owner, name, value, label, frame)
            return
        cls = type(owner)
        self.note_class(owner, frame)
        if cls is types.ModuleType:
            self.note_read(reads.TYPE, owner, None, cls, f"type({self.name_of(owner)})", frame)
            names = vars(owner)
            self.note_read(reads.ENTRY, names, name, names.get(name, MISSING), label, frame)
            if name not in names:
                getter = names.get("__getattr__", MISSING)
                self.note_read(reads.ENTRY, names, "__getattr__", getter, label, frame)
                if getter is not MISSING and type(getter) is not types.FunctionType:
                    self.effects.refuse(f"it reads {label}, which C code computes", frame)
            return
        if cls is super:
            self._note_super_attribute(owner, name, label, frame)
            return
        if is_a(owner, types.MethodType | types.GenericAlias):  # they forward to another object
            target = owner.__func__ if is_a(owner, types.MethodType) else owner.__origin__
            if class_attribute(cls, name) is MISSING:
                self.note_attribute(target, name, getattr(target, name, MISSING), ran_python, frame)
                return
        if id(owner) in self.views and name == "mapping":
            self.note_entries(self.views[id(owner)][1], False, frame)
        if name == "__dict__" and is_a(owner, type):
            self.effects.refuse(f"it reads all attributes of the class {owner.__name__}", frame)
            return
        class_value = class_attribute(cls, name)
        if is_unknown_descriptor(class_value, ran_python):
            self.effects.refuse(f"it reads {label}, which a C descriptor computes", frame)
            return
        attributes = instance_dict(owner) if not is_a(owner, type) else {}
        is_in_object = name in attributes and not is_data_descriptor(class_value)
        # A cached property stores its result in the object's dict.
        needs_class = not is_in_object or (ran_python and hasattr(type(class_value), "__get__"))
        if needs_class:
            self._note_special_methods(type(class_value), frame)  # it may be a descriptor
            if is_a(owner, type):
                self._note_special_methods(type(class_attribute(owner, name)), frame)
        if self.effects.is_own(owner):
            if is_a(owner, type):
                self.note_class_attribute(owner, name, label, frame)
            if needs_class:
                self.note_class_attribute(cls, name, label, frame)
            return
        if (
            ran_python
            and is_in_object
            and not is_a(class_attribute(cls, "__getattribute__"), types.FunctionType)
        ):
            # Other Python code ran, for example a finalizer. It did not find the attribute.
            ran_python, value = False, attributes[name]
        if ran_python:
            if is_a(class_value, types.GetSetDescriptorType):
                # Python evaluates annotations and types at the first access, and stores the result.
                self.effects.discard_reason = f"evaluates {label}"
            if is_a(owner, type):  # its metaclass finds it unless the class has one itself
                self.note_class_attribute(owner, name, label, frame)
            self.note_class_attribute(cls, name, label, frame)
            self.note_read(reads.TYPE, owner, None, cls, f"type({self.name_of(owner)})", frame)
            if is_a(class_value, types.MemberDescriptorType):  # an empty slot
                self.note_call(reads.is_slot_filled, (class_value, owner), label, None, frame)
            elif not is_data_descriptor(class_value):
                self._note_absent(owner, name, label, frame)
            return
        if needs_class:
            self._note_in_classes(owner, name, label, frame)
        if type(value) is types.MethodType and value.__self__ is owner:
            self.note_read(reads.METHOD, owner, name, value.__func__, label, frame)
            return
        c_methods = (types.BuiltinMethodType, types.MethodWrapperType)
        is_bound_method = is_a(value, c_methods) and value.__self__ is owner
        # Accessing a `tf.function` as a method creates a new object each time.
        is_bound_method = is_bound_method or (
            is_numtape_class(type(value)) and is_a(value, functools.partial)
        )
        if is_bound_method and not is_a(owner, type):
            if cls.__flags__ & HEAP_TYPE_FLAG:
                self.note_class_attribute(cls, name, label, frame)
                self.note_read(reads.TYPE, owner, None, cls, f"type({self.name_of(owner)})", frame)
                self._note_absent(owner, name, label, frame)
            return
        self.note_read(reads.ATTRIBUTE, owner, name, value, label, frame)

    def note_method(self, owner: Any, name: str, function: Any, frame: types.FrameType) -> None:
        """Note a method that was looked up for a call."""
        if is_constant(owner):
            return
        if type(function) is types.FunctionType and not self.effects.is_own(owner):
            label = f"{self.name_of(owner)}.{name}"
            self._note_in_classes(owner, name, label, frame)
            self.note_read(reads.METHOD, owner, name, function, label, frame)
        else:
            self.note_attribute(owner, name, getattr(owner, name, MISSING), False, frame)

    def _note_in_classes(self, owner: Any, name: str, label: str, frame: types.FrameType) -> None:
        """Note an attribute in an object's classes. It is compared if the object is temporary."""
        classes = [owner, type(owner)] if is_a(owner, type) else [type(owner)]
        reads_before = self.by_key
        new_classes = [cls for cls in classes if _class_read_key(cls) not in reads_before]
        self.by_key = self.temporary_reads.setdefault(id(owner), {})
        try:
            for cls in classes:
                self.note_class_attribute(cls, name, label, frame)
            for cls in new_classes:
                self._note_special_methods(cls, frame)
        finally:
            self.by_key = reads_before

    def note_class(self, value: Any, frame: types.FrameType) -> None:
        """Note the use of an object, which depends on its class and on its special methods."""
        cls = type(value)
        if is_python_class(cls) and not is_numtape_class(cls) and not self.effects.is_own(value):
            self.note_read(reads.TYPE, value, None, cls, f"type({self.name_of(value)})", frame)
        if is_a(value, type):
            if is_python_class(cls) and not is_numtape_class(cls):
                self.note_class(cls, frame)  # the metaclass
            cls = value
        self._note_special_methods(cls, frame)

    def _note_special_methods(self, cls: type, frame: types.FrameType) -> None:
        """Note the special methods of a class, and of the classes of these methods."""
        stack, visited = [cls], set()
        while stack:
            cls = stack.pop()
            if cls in visited or not is_python_class(cls) or is_numtape_class(cls):
                continue
            visited.add(cls)
            if _class_read_key(cls) in self.by_key:
                continue
            contents = reads.class_contents(cls)
            for name, method in contents[1:]:
                if is_a(method, BOUND_TYPES) and name != "__new__":
                    reason = f"{name} of the class {cls.__name__} is not a Python function"
                    self.effects.refuse(reason, frame)
                stack.append(type(method))
            if self.effects.is_own(cls):
                stack += cls.__bases__
            else:
                label = f"the class {cls.__name__}"
                self.note_read(reads.CLASS, cls, None, contents, label, frame)

    def note_class_attribute(
        self, cls: type, name: str, label: str, frame: types.FrameType
    ) -> None:
        """Note a class's attribute in all classes where it is looked up."""
        if not cls.__flags__ & HEAP_TYPE_FLAG:
            return  # a C class does not change
        for owner in cls.__mro__:
            names = class_dict(owner)
            value = names.get(name, MISSING)
            if (
                owner.__flags__ & HEAP_TYPE_FLAG
                and not is_numtape_class(owner)
                and not self.effects.is_own(owner)
            ):
                self.note_read(
                    reads.ENTRY, names, name, value, f"{label} of {owner.__name__}", frame
                )
            if value is not MISSING:
                return
        if name != "__getattr__":
            self.note_class_attribute(cls, "__getattr__", label, frame)

    def _note_absent(self, owner: Any, name: str, label: str, frame: types.FrameType) -> None:
        """Note that the object itself lacks an attribute, which would have precedence."""
        if class_attribute(type(owner), "__dict__") is MISSING:  # it has no attributes of its own
            return
        attributes = instance_dict(owner)
        if type(attributes) is dict:
            self.note_call(instance_dict, (owner,), f"vars({self.name_of(owner)})", owner, frame)
        if type(attributes) is dict and name not in attributes:
            self.note_read(reads.ENTRY, attributes, name, MISSING, label, frame)

    def _note_super_attribute(
        self, owner: Any, name: str, label: str, frame: types.FrameType
    ) -> None:
        receiver = owner.__self__
        if not is_a(receiver, type):
            self.note_read(
                reads.TYPE, receiver, None, type(receiver), f"type({self.name_of(receiver)})", frame
            )
        self.note_class(owner.__self_class__, frame)
        classes = owner.__self_class__.__mro__
        next_classes = classes[classes.index(owner.__thisclass__) + 1 :]
        for cls in next_classes:
            self.note_class_attribute(cls, name, label, frame)
            if name in vars(cls):
                return

    # Containers and arrays.

    def note_items(self, value: Any, frame: types.FrameType) -> bool:
        """Note an iteration over a container. Return False if its type is not supported."""
        cls = type(value)
        if is_python_class(cls):
            self.note_class(value, frame)
        if is_constant(value) or is_a(value, IMMUTABLE_CONTAINERS):
            return True
        if id(value) in self.views:
            _, mapping = self.views[id(value)]
            keys_only = is_a(value, VIEWS[0])
            self.note_entries(mapping, keys_only, frame)
            return True
        if self.effects.is_own(value):
            return True
        label = f"the items of {self.name_of(value)}"
        if is_a(value, list) and cls.__iter__ is list.__iter__:
            if len(value) > MAX_ITEMS:
                self.effects.refuse(f"it iterates over a list of {len(value)} items", frame)
            self.note_read(reads.ITEMS, value, None, tuple(list.__iter__(value)), label, frame)
        elif is_a(value, dict) and cls.__iter__ in (dict.__iter__, OrderedDict.__iter__):
            self.note_entries(value, False, frame)
        elif is_a(value, _COMPARED_IN_PYTHON):
            self.note_property(tuple, value, label, frame)
        elif is_a(value, np.ndarray):
            self.note_elements(value, frame)
        else:
            return False
        return True

    def note_entries(self, value: dict[Any, Any], keys_only: bool, frame: types.FrameType) -> None:
        """Note an iteration over a dict, or over its keys only."""
        if self.effects.is_own(value):
            return
        if len(value) > MAX_ITEMS:
            self.effects.refuse(f"it iterates over a dict of {len(value)} items", frame)
        label = f"the {'keys' if keys_only else 'items'} of {self.name_of(value)}"
        kind = reads.KEYS if keys_only else reads.ENTRIES
        if is_a(value, OrderedDict):
            self.note_property(reads.ordered_entries, value, label, frame)
        else:
            self.note_read(kind, value, None, reads.READERS[kind](value, None), label, frame)

    def note_property(
        self, function: Callable[[Any], Any], value: Any, label: str, frame: types.FrameType
    ) -> None:
        """Note the result of a function of one object."""
        self.note_call(function, (value,), label, value, frame)
        self.names.setdefault(id(value), label)

    def note_call(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        label: str,
        subject: Any,
        frame: types.FrameType,
    ) -> None:
        """Note a call that guards repeat. Its result changes only when ``subject`` changes."""
        if self.effects.changed_originals:
            self.effects.refuse_changed_original(subject, frame)
        if self.effects.library_printing is not None:
            return
        read_key = reads.ANSWER, id(subject), id(function), *map(key_identity, args)
        if read_key not in self.by_key and not (
            subject is not None and self.effects.is_own(subject)
        ):
            location = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
            holder = bind_arguments(function, *args)
            self.by_key[read_key] = Read(reads.ANSWER, holder, subject, holder(), label, location)

    def note_result_for_c(self, value: Any, frame: types.FrameType) -> None:
        """Note a Python function's result that C code or numtape may examine."""
        if is_a(value, (*ITERATORS, types.GeneratorType)) and not self.effects.is_own(value):
            self.effects.refuse(f"it continues a {type(value).__name__} from outside", frame)
        stack, visited = [value], set()
        while stack:
            x = stack.pop()
            if is_a(x, np.ndarray):
                self.note_elements(x, frame)
            elif is_a(x, (list, tuple, *MAPPINGS, *_COMPARED_IN_PYTHON)) and id(x) not in visited:
                visited.add(id(x))
                if self.note_items(x, frame):
                    stack += (part for _, part in entries_of(x)) if is_a(x, MAPPINGS) else x

    def note_returned(self, value: Any, frame: types.FrameType) -> None:
        """Note the call's result: numtape reads its containers and arrays."""
        stack = [value]
        while stack:
            x = stack.pop()
            if is_a(x, np.ndarray):
                self.note_layout(x, frame)
            elif type(x) in (list, OrderedDict, *MAPPINGS) or is_a(x, tuple):
                self.note_items(x, frame)
                stack += x.values() if is_a(x, MAPPINGS) else x

    def note_layout(self, value: Any, frame: Any) -> None:
        """Note shape and dtype of an array from outside, which can be changed in place."""
        while is_a(value, np.ndarray):
            if self.effects.is_own(value):
                return
            self.note_call(
                array_layout, (value,), f"the shape of {self.name_of(value)}", value, frame
            )
            value = value.base

    def note_elements(self, value: Any, frame: types.FrameType) -> None:
        """Note a read of an array's elements."""
        if not self.effects.is_outside(value):
            return
        if value.nbytes > MAX_ARRAY_BYTES:
            self.effects.refuse(f"it reads the elements of an array of {value.nbytes} bytes", frame)
            return
        self.note_property(array_bits, value, f"the elements of {self.name_of(value)}", frame)


def _class_read_key(cls: type) -> tuple[Any, ...]:
    """Return the key of a read of a class."""
    return reads.CLASS, id(cls), key_identity(None)
