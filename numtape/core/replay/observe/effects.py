"""The effects of one call: what it reads, creates and changes."""

from __future__ import annotations

import functools
import os
import sys
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...values.tensor import Tensor
from . import reads
from .access_sets import ALL_KEYS, Write, find_conflict, key_identity
from .bytecode import has_handler, names_loaded, try_instructions_of
from .frames import NULL, Follower
from .ownership import (
    BOUND_TYPES,
    HEAP_TYPE_FLAG,
    ITERATORS,
    VIEWS,
    class_attribute,
    class_dict,
    has_finalizer,
    instance_dict,
    is_constant,
    is_data_descriptor,
    is_numtape_class,
    is_program_attribute,
    is_python_class,
    is_shared,
    is_unknown_descriptor,
)
from .reads import MISSING, Read, array_bits, array_layout, bind_arguments, is_a, write_access

MAX_READS = 20_000  # of one call
MAX_ARRAY_BYTES = 1 << 24  # of an array whose elements are compared before every replay
MAX_ITEMS = 1 << 16  # of a container
MAX_EFFECTS = 100  # descriptions of effects

# Containers whose items the compiled pass cannot compare.
_COMPARED_IN_PYTHON = (set, deque, OrderedDict, *VIEWS)


class CallEffects:
    """The reads and other effects of one call, or the reason why it cannot be replayed.

    "By location" means: by the object that holds a value, and the key.

    Attributes:
      reads: The reads, by what identifies them.
      reason: Why the call cannot be replayed; "" if it can.
      frozen: Whether nothing is compared, and nothing prevents a replay.
      discard_reason: Why this call is not stored, although the next one may be: what it does.
      rerun_reason: Why this call must run again as Python: an answer differed from Python's.
      originals: Objects of the caller, by the id of the object that the call got in their place.
      changed_originals: Containers of the caller whose copies the call has changed.
      restart: Abandons the call, which then starts again as Python.
      retry: The same, if no effect of the call remains; None if the call has had effects.
      executed_code: The code that ran.
      inputs: Rows that were made from arrays from outside, with these arrays.
      created: References to objects that the call created, by id. Their changes are not visible
        outside.
      written_values: The value that the call gave each name, attribute or item, by location.
      writes: Writes that are visible outside: the object, the key, and the name in the program.
      mutations: Outside objects that the call changed, by id: a description, and the object.
      effects: Descriptions of effects that happen only when the call is recorded.
      printing_follower: The follower of the frame that prints or logs.
      library_printing: The same, but None while functions of the program run inside the printing.
        A library's reads for printing do not matter, its writes do.
      printing_writes: Objects that printing changed, by location.
      views: Views of dicts, and the dict of each, by id.
      sources: Iterators, and the objects that each iterates over, by id.
      generators: Frames of generators that the call created, and the follower of each, by id.
      names: The program's names of objects, by id.
      temporary_reads: Reads of an object's classes, by its id. They are compared only if the object
        is temporary.
    """

    def __init__(self, frozen: bool) -> None:
        self.reads: dict[tuple[Any, ...], Read] = {}
        self.reason = ""
        self.frozen = frozen
        self.discard_reason = ""
        self.rerun_reason = ""
        self.originals: dict[int, Any] = {}
        self.changed_originals: list[Any] = []
        self.restart: Callable[[str], Any] | None = None
        self.retry: Callable[[str], Any] | None = None
        self.executed_code: set[types.CodeType] = set()
        self.inputs: list[Any] = []
        self.created: dict[int, Callable[[], Any]] = {}
        self.written_values: dict[tuple[Any, ...], Any] = {}
        self.writes: list[Write] = []
        self.mutations: dict[int, tuple[str, Any]] = {}
        self.effects: list[str] = []
        self.printing_follower: Follower | None = None
        self.library_printing: Follower | None = None
        self.printing_writes: dict[tuple[Any, ...], Any] = {}
        self.views: dict[int, tuple[Any, Any]] = {}
        self.sources: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self.generators: dict[int, tuple[Any, Follower | None]] = {}
        self.names: dict[int, str] = {}
        self.temporary_reads: dict[int, dict[tuple[Any, ...], Read]] = {}

    def stop(self) -> None:
        """Stop observing."""

    def clear(self) -> None:
        """Drop all references to objects of the call."""
        tables: tuple[dict[Any, Any], ...] = (
            self.reads,
            self.created,
            self.written_values,
            self.mutations,
            self.views,
            self.sources,
            self.generators,
            self.names,
            self.originals,
            self.printing_writes,
            self.temporary_reads,
        )
        for table in tables:
            table.clear()
        self.changed_originals.clear()
        self.printing_follower = self.library_printing = self.restart = self.retry = None

    def refuse(self, reason: str, frame: types.FrameType | None = None) -> None:
        """Make the function run as Python from this call on.

        This call starts again as Python, with the caller's own objects, because it might ask for
        their identity later. It continues if it has had effects that must not happen twice, or if
        an exception would run code of the program, such as a ``finally`` block.
        """
        if self.library_printing is not None:
            return
        if not self.reason:
            if frame is not None:
                reason = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}: {reason}"
            if self.frozen:
                self._add_effect(reason)
                return
            self.reason = reason
            if self.retry is not None and not self.effects and self._can_unwind():
                self.retry(reason)
        self.stop()

    def _can_unwind(self) -> bool:
        """Return whether an exception leaves the call without running more code of the program."""
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None:
            follower = frame.f_trace
            if type(follower) is Follower and follower.observer is self and has_handler(frame):
                return False
            frame = frame.f_back
        return True

    def forbid_restart(self) -> None:
        """Note that the call has had an effect that must not happen twice."""
        self.retry = None

    def start_printing(
        self, follower: Follower, args: Iterable[Any], action: str, frame: Any
    ) -> None:
        """Note that a frame prints or logs. The texts depend on the objects' classes."""
        for x in args:
            self.note_class(x, frame)
        self.note_effect(action, frame)
        self.library_printing = follower
        self.printing_follower = self.printing_follower or follower

    def check_identity(self, x: Any, y: Any, action: str, frame: types.FrameType) -> None:
        """Check a comparison by identity: one of the objects may stand for a caller's object."""
        if id(y) in self.originals:
            x, y = y, x
        if x is y or id(x) not in self.originals or id(y) in self.originals:
            return
        original = self.originals[id(x)]
        is_traced = type(y) is Tensor and getattr(y._home, "tracing", False)
        if type(original) is type(y) and not is_traced and not self.is_own(y):
            self.rerun(action, frame)

    def check_stored(self, values: Iterable[Any], frame: types.FrameType) -> None:
        """Check values that an outside object stores: they must not be copies of arguments."""
        if any(id(x) in self.originals and type(x) is not Tensor for x in values):
            self._give_up("it stores a container that is one of its arguments", frame)

    def _refuse_argument_change(self, holder: Any, frame: types.FrameType) -> None:
        """Give up if the call changes a caller's object of which it has a copy."""
        if any(holder is x for x in self.originals.values()):
            self._give_up("it changes a container that is also one of its arguments", frame)

    def note_change(self, holder: Any) -> None:
        """Note a change of an object that may be a copy of a caller's object."""
        if id(holder) in self.originals and type(holder) is not Tensor:
            self.changed_originals.append(self.originals[id(holder)])

    def _refuse_changed_original(self, holder: Any, frame: types.FrameType) -> None:
        """Give up if the call reads a caller's object whose copy it has changed."""
        if any(holder is x for x in self.changed_originals):
            self._give_up("it reads an argument that it changes under another name", frame)

    def _give_up(self, reason: str, frame: types.FrameType) -> None:
        """End this call, unless it is frozen: only Python can do the next operation correctly."""
        if self.restart is not None:
            self.restart(reason)
        self.refuse(reason, frame)

    def rerun(self, reason: str, frame: types.FrameType) -> None:
        """Note that the last answer was wrong, so that the call must run again as Python."""
        self.printing_follower = self.library_printing = None
        self.refuse(reason, frame)
        if not self.frozen:
            self.rerun_reason = self.rerun_reason or self.reason

    def refuse_and_release(self, reason: str, frame: types.FrameType | None) -> None:
        """Refuse the call and drop its objects, because the program notices their deletion."""
        self.library_printing = None
        self.refuse(reason, frame)
        self.stop()
        self.clear()
        self.inputs.clear()

    # Objects that the call created. Only the call can change them.

    def note_created(self, value: Any) -> Any:
        """Note that the call created an object. Return the object."""
        if not is_constant(value):
            if has_finalizer(type(value)):
                self.forbid_restart()  # the finalizer would run twice
                self.refuse_and_release(
                    f"it makes a {type(value).__name__}, which has a __del__", None
                )
                return value
            try:  # a weak reference, so that the object is deleted at the usual time
                self.created[id(value)] = weakref.ref(value)
            except TypeError:
                self.created[id(value)] = functools.partial(reads.identity, value)
        return value

    def note_default(self, value: np.ndarray[Any, Any]) -> None:
        """Note the elements of a default array, of which numtape makes a copy."""
        self.note_elements(value, sys._getframe(1))

    def is_own(self, value: Any) -> bool:
        """Return whether the call created an object."""
        reference = self.created.get(id(value))
        return reference is not None and reference() is value

    def note_result(self, value: Any, frame: types.FrameType) -> None:
        """Note the new result of a function."""
        if is_a(value, np.ndarray):
            if not self.is_outside(value, is_new=True):
                self.note_created(value)
        elif is_a(value, types.GeneratorType):
            self.note_created(value)
            self.generators[id(value.gi_frame)] = value.gi_frame, None
        else:
            self.note_created(value)

    def is_outside(self, array: Any, is_new: bool = False) -> bool:
        """Return whether other code can change an array's memory. ``is_new``: the array is new."""
        return is_shared(array, is_new, self.is_own)

    # Reads of names, attributes and classes.

    def note_read(
        self, kind: int, holder: Any, key: Any, value: Any, name: str, frame: types.FrameType
    ) -> None:
        """Note a read of ``value`` from ``holder``."""
        if self.changed_originals:
            self._refuse_changed_original(holder, frame)
        if self.is_own(holder) or self.library_printing is not None:
            return
        if type(value) is Tensor and getattr(value._home, "tracing", False):
            return  # this call has stored it there
        read_key = kind, id(holder), key_identity(key)
        if read_key in self.reads:
            return
        written = self.written_values
        if written and written.get((id(holder), key_identity(key)), NULL) is value:
            # The call reads a value that it has written.
            self.discard_reason = self.discard_reason or f"changes {name}"
            return
        if len(self.reads) >= MAX_READS:
            self.refuse(f"it reads more than {MAX_READS} values", frame)
            return
        location = frame.f_code.co_filename, frame.f_lineno
        self.reads[read_key] = Read(kind, holder, key, value, name, location)
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
        kind = type(owner)
        self.note_class(owner, frame)
        if kind is types.ModuleType:
            self.note_read(reads.TYPE, owner, None, kind, f"type({self.name_of(owner)})", frame)
            names = vars(owner)
            self.note_read(reads.ENTRY, names, name, names.get(name, MISSING), label, frame)
            if name not in names:
                getter = names.get("__getattr__", MISSING)
                self.note_read(reads.ENTRY, names, "__getattr__", getter, label, frame)
                if getter is not MISSING and type(getter) is not types.FunctionType:
                    self.refuse(f"it reads {label}, which C code computes", frame)
            return
        if kind is super:
            self._note_super_attribute(owner, name, label, frame)
            return
        if is_a(owner, types.MethodType | types.GenericAlias):  # they forward to another object
            target = owner.__func__ if is_a(owner, types.MethodType) else owner.__origin__
            if class_attribute(kind, name) is MISSING:
                self.note_attribute(target, name, getattr(target, name, MISSING), ran_python, frame)
                return
        if id(owner) in self.views and name == "mapping":
            self.note_entries(self.views[id(owner)][1], False, frame)
        if name == "__dict__" and is_a(owner, type):
            self.refuse(f"it reads all attributes of the class {owner.__name__}", frame)
            return
        static = class_attribute(kind, name)
        if is_unknown_descriptor(static, ran_python):
            self.refuse(f"it reads {label}, which a C descriptor computes", frame)
            return
        attributes = instance_dict(owner) if not is_a(owner, type) else {}
        is_in_object = name in attributes and not is_data_descriptor(static)
        # A cached property stores its result in the object's dict.
        needs_class = not is_in_object or (ran_python and hasattr(type(static), "__get__"))
        if needs_class:
            self._note_special_methods(type(static), frame)  # it may be a descriptor
            if is_a(owner, type):
                self._note_special_methods(type(class_attribute(owner, name)), frame)
        if self.is_own(owner):
            if is_a(owner, type):
                self.note_class_attribute(owner, name, label, frame)
            if needs_class:
                self.note_class_attribute(kind, name, label, frame)
            return
        if (
            ran_python
            and is_in_object
            and not is_a(class_attribute(kind, "__getattribute__"), types.FunctionType)
        ):
            # Other Python code ran, for example a finalizer. It did not find the attribute.
            ran_python, value = False, attributes[name]
        if ran_python:
            if is_a(owner, type):  # its metaclass finds it unless the class has one itself
                self.note_class_attribute(owner, name, label, frame)
            self.note_class_attribute(kind, name, label, frame)
            self.note_read(reads.TYPE, owner, None, kind, f"type({self.name_of(owner)})", frame)
            if is_a(static, types.MemberDescriptorType):  # an empty slot
                self.note_call(reads.is_slot_filled, (static, owner), label, None, frame)
            elif not is_data_descriptor(static):
                self._note_absent(owner, name, label, frame)
            return
        if needs_class:
            self._note_in_classes(owner, name, label, frame)
        if type(value) is types.MethodType and value.__self__ is owner:
            if type(value.__func__) is types.FunctionType:
                self.note_read(reads.METHOD, owner, name, value.__func__, label, frame)
                return
        c_methods = (types.BuiltinMethodType, types.MethodWrapperType)
        is_bound_method = is_a(value, c_methods) and value.__self__ is owner
        # Accessing a `tf.function` as a method creates a new object each time.
        is_bound_method = is_bound_method or (
            is_numtape_class(type(value)) and is_a(value, functools.partial)
        )
        if is_bound_method and not is_a(owner, type):
            if kind.__flags__ & HEAP_TYPE_FLAG:
                self.note_class_attribute(kind, name, label, frame)
                self.note_read(reads.TYPE, owner, None, kind, f"type({self.name_of(owner)})", frame)
                self._note_absent(owner, name, label, frame)
            return
        self.note_read(reads.ATTRIBUTE, owner, name, value, label, frame)

    def note_method(self, owner: Any, name: str, function: Any, frame: types.FrameType) -> None:
        """Note a method that was looked up for a call."""
        if is_constant(owner):
            return
        if type(function) is types.FunctionType and not self.is_own(owner):
            label = f"{self.name_of(owner)}.{name}"
            self._note_in_classes(owner, name, label, frame)
            self.note_read(reads.METHOD, owner, name, function, label, frame)
        else:
            self.note_attribute(owner, name, getattr(owner, name, MISSING), False, frame)

    def _note_in_classes(self, owner: Any, name: str, label: str, frame: types.FrameType) -> None:
        """Note an attribute in an object's classes. It is compared if the object is temporary."""
        kinds = [owner, type(owner)] if is_a(owner, type) else [type(owner)]
        reads_before = self.reads
        new_classes = [kind for kind in kinds if _class_read_key(kind) not in reads_before]
        self.reads = self.temporary_reads.setdefault(id(owner), {})
        try:
            for kind in kinds:
                self.note_class_attribute(kind, name, label, frame)
            for kind in new_classes:
                self._note_special_methods(kind, frame)
        finally:
            self.reads = reads_before

    def note_class(self, value: Any, frame: types.FrameType) -> None:
        """Note the use of an object, which depends on its class and on its special methods."""
        kind = type(value)
        if is_python_class(kind) and not is_numtape_class(kind) and not self.is_own(value):
            self.note_read(reads.TYPE, value, None, kind, f"type({self.name_of(value)})", frame)
        if is_a(value, type):
            if is_python_class(kind) and not is_numtape_class(kind):
                self.note_class(kind, frame)  # the metaclass
            kind = value
        self._note_special_methods(kind, frame)

    def _note_special_methods(self, kind: type, frame: types.FrameType) -> None:
        """Note the special methods of a class, and of the classes of these methods."""
        stack, visited = [kind], set()
        while stack:
            kind = stack.pop()
            if kind in visited or not is_python_class(kind) or is_numtape_class(kind):
                continue
            visited.add(kind)
            if _class_read_key(kind) in self.reads:
                continue
            special = reads.class_contents(kind)
            for name, method in special[1:]:
                if is_a(method, BOUND_TYPES) and name != "__new__":
                    reason = f"{name} of the class {kind.__name__} is not a Python function"
                    self.refuse(reason, frame)
                stack.append(type(method))
            if self.is_own(kind):
                stack += kind.__bases__
            else:
                label = f"the class {kind.__name__}"
                self.note_read(reads.CLASS, kind, None, special, label, frame)

    def note_class_attribute(
        self, kind: type, name: str, label: str, frame: types.FrameType
    ) -> None:
        """Note a class's attribute in all classes where it is looked up."""
        if not kind.__flags__ & HEAP_TYPE_FLAG:
            return  # a C class does not change
        for owner in kind.__mro__:
            names = class_dict(owner)
            value = names.get(name, MISSING)
            if (
                owner.__flags__ & HEAP_TYPE_FLAG
                and not is_numtape_class(owner)
                and not self.is_own(owner)
            ):
                self.note_read(
                    reads.ENTRY, names, name, value, f"{label} of {owner.__name__}", frame
                )
            if value is not MISSING:
                return
        if name != "__getattr__":
            self.note_class_attribute(kind, "__getattr__", label, frame)

    def _note_absent(self, owner: Any, name: str, label: str, frame: types.FrameType) -> None:
        """Note that the object itself lacks an attribute, which would have precedence."""
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
        kinds = owner.__self_class__.__mro__
        following = kinds[kinds.index(owner.__thisclass__) + 1 :]
        for kind in following:
            self.note_class_attribute(kind, name, label, frame)
            if name in vars(kind):
                return

    # Reads of containers and arrays.

    def note_items(self, value: Any, user: str, frame: types.FrameType) -> bool:
        """Note an iteration over a container. Return False if its type is not supported."""
        kind = type(value)
        if is_python_class(kind):
            self.note_class(value, frame)
        if is_constant(value) or is_a(value, tuple | frozenset | str | bytes):
            return True
        if id(value) in self.views:
            _, mapping = self.views[id(value)]
            keys = is_a(value, VIEWS[0])
            self.note_entries(mapping, keys, frame)
            return True
        if self.is_own(value):
            return True
        label = f"the items of {self.name_of(value)}"
        if is_a(value, list) and kind.__iter__ is list.__iter__:
            if len(value) > MAX_ITEMS:
                self.refuse(f"it iterates over a list of {len(value)} items", frame)
            self.note_read(reads.ITEMS, value, None, tuple(list.__iter__(value)), label, frame)
        elif is_a(value, dict) and kind.__iter__ in (dict.__iter__, OrderedDict.__iter__):
            self.note_entries(value, False, frame)
        elif is_a(value, _COMPARED_IN_PYTHON):
            self.note_property(tuple, value, label, frame)
        elif is_a(value, np.ndarray):
            self.note_elements(value, frame)
        else:
            return False
        return True

    def note_entries(self, value: dict[Any, Any], keys: bool, frame: types.FrameType) -> None:
        """Note an iteration over a dict, or over its keys only."""
        if self.is_own(value):
            return
        if len(value) > MAX_ITEMS:
            self.refuse(f"it iterates over a dict of {len(value)} items", frame)
        label = f"the {'keys' if keys else 'items'} of {self.name_of(value)}"
        kind = reads.KEYS if keys else reads.ENTRIES
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
        if self.changed_originals:
            self._refuse_changed_original(subject, frame)
        if self.library_printing is not None:
            return
        read_key = reads.ANSWER, id(subject), id(function), *map(key_identity, args)
        if read_key not in self.reads and not (subject is not None and self.is_own(subject)):
            location = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
            holder = bind_arguments(function, *args)
            self.reads[read_key] = Read(reads.ANSWER, holder, subject, holder(), label, location)

    def note_result_for_c(self, value: Any, frame: types.FrameType) -> None:
        """Note a Python function's result that C code or numtape may examine."""
        if is_a(value, (*ITERATORS, types.GeneratorType)) and not self.is_own(value):
            self.refuse(f"it continues a {type(value).__name__} from outside", frame)
        stack, visited = [value], set()
        while stack:
            x = stack.pop()
            if is_a(x, np.ndarray):
                self.note_elements(x, frame)
            elif is_a(x, (list, tuple, dict, *_COMPARED_IN_PYTHON)) and id(x) not in visited:
                visited.add(id(x))
                if self.note_items(x, "what a function gives", frame):
                    stack += dict.values(x) if is_a(x, dict) else x

    def note_returned(self, value: Any, frame: types.FrameType) -> None:
        """Note the call's result: numtape reads its containers and arrays."""
        stack = [value]
        while stack:
            x = stack.pop()
            if is_a(x, np.ndarray):
                self.note_layout(x, frame)
            elif type(x) in (list, dict, OrderedDict) or is_a(x, tuple):
                self.note_items(x, "what it returns", frame)
                stack += x.values() if is_a(x, dict) else x

    def note_layout(self, value: Any, frame: Any) -> None:
        """Note shape and dtype of an array from outside, which can be changed in place."""
        while is_a(value, np.ndarray):
            if self.is_own(value):
                return
            self.note_call(
                array_layout, (value,), f"the shape of {self.name_of(value)}", value, frame
            )
            value = value.base

    def note_elements(self, value: Any, frame: types.FrameType) -> None:
        """Note a read of an array's elements."""
        if not self.is_outside(value):
            return
        if value.nbytes > MAX_ARRAY_BYTES:
            self.refuse(f"it reads the elements of an array of {value.nbytes} bytes", frame)
            return
        self.note_property(array_bits, value, f"the elements of {self.name_of(value)}", frame)

    # Writes.

    def note_write(
        self, holder: Any, key: Any, value: Any, target: str, frame: types.FrameType
    ) -> None:
        """Note that a name, attribute or item gets a value that does not accumulate."""
        self.note_class(holder, frame)
        self._refuse_proxy(holder, target, frame)
        self._refuse_argument_change(holder, frame)
        self.note_change(holder)
        if key == "__dict__" and not self.is_own(value) and value is not instance_dict(holder):
            self.refuse(f"it sets {target} to a dict that other code may change", frame)
        if self.is_own(holder) or (
            is_numtape_class(type(holder)) and not is_program_attribute(holder, key)
        ):
            return
        self.check_stored((value,), frame)
        if type(holder) is types.CellType:
            key = None
        if self.library_printing is not None:
            self.printing_writes[id(holder), key_identity(key)] = holder
            return
        self.written_values[id(holder), key_identity(key)] = value
        self.writes.append((holder, key, target))
        self.note_effect(f"sets {target}", frame)

    def _refuse_proxy(self, holder: Any, target: str, frame: types.FrameType) -> None:
        """Refuse weak proxies: the object behind one is unknown, and may be read directly."""
        if type(holder) in weakref.ProxyTypes:
            self.refuse(f"it changes what a weak proxy stands for ({target})", frame)

    def note_mutation(self, value: Any, action: str, frame: types.FrameType) -> None:
        """Note a change of an object from outside."""
        self.note_change(value)
        if is_constant(value) or self.is_own(value):
            return
        self._refuse_proxy(value, action, frame)
        self._refuse_argument_change(value, frame)
        if id(value) not in self.mutations:
            self.mutations[id(value)] = action, value
            self.writes.append((value, ALL_KEYS, f"what {self.name_of(value)} holds"))
        if is_a(value, np.ndarray):  # the change fails if it is read-only
            label = f"whether {self.name_of(value)} is read-only"
            self.note_call(write_access, (value,), label, None, frame)
            base = value.base
            while is_a(base, np.ndarray):
                self.mutations.setdefault(id(base), (action, base))
                self.writes.append((base, ALL_KEYS, f"what {self.name_of(base)} holds"))
                base = base.base
        if id(value) in self.views:
            self.note_mutation(self.views[id(value)][1], action, frame)
        self.note_effect(action, frame)

    def note_effect(self, action: str, frame: types.FrameType) -> None:
        """Note an effect that replays do not repeat, with its source line."""
        file = os.path.basename(frame.f_code.co_filename)
        self._add_effect(f"{file}:{frame.f_lineno}: {action}")

    def _add_effect(self, line: str) -> None:
        if len(self.effects) < MAX_EFFECTS and line not in self.effects:
            self.effects.append(line)

    def conclude(self) -> None:
        """Check at the end of the call whether it read state that it changed."""
        self.library_printing = None
        reason = find_conflict(
            self.reads.values(), self.inputs, self.mutations, self.printing_writes
        )
        if reason:
            self.refuse(reason)
            return
        # On another path the function may read what it sets on this one.
        may_read = set().union(
            *map(names_loaded, filter(None, map(try_instructions_of, self.executed_code)))
        )
        read_keys = {(id(read.holder), key_identity(read.key)) for read in self.reads.values()}
        for holder, key, name in self.writes:
            read_first = (id(holder), key_identity(key)) in read_keys
            if (name if key is None else key) in may_read and not read_first:
                self.discard_reason = f"changes {name}"
                return


def _class_read_key(kind: type) -> tuple[Any, ...]:
    """Return the key of a read of a class."""
    return reads.CLASS, id(kind), key_identity(None)
