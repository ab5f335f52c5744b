"""What is noted of one call: what it read, what it made, what it changed."""

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
from .frames import NULL, Follower
from .known import has_finalizer, is_python_class
from .reads import MISSING, Read, array_bits, array_layout, bind_arguments, is_a, write_access
from .steps import has_handler, names_loaded, try_instructions_of
from .touched import ALL_KEYS, Write, find_conflict, key_identity
from .whose import (
    BOUND_TYPES,
    HEAP_TYPE_FLAG,
    ITERATORS,
    VIEWS,
    class_attribute,
    class_dict,
    instance_dict,
    is_constant,
    is_data_descriptor,
    is_numtape_class,
    is_program_attribute,
    is_shared,
    is_unknown_descriptor,
)

MAX_READS = 20_000  # reads of one call
MAX_ARRAY_BYTES = 1 << 24  # bytes of an array whose elements may be compared at every call
MAX_ITEMS = 1 << 16  # items of a container
MAX_EFFECTS = 100  # effects that are noted

_COMPARED_IN_PYTHON = (
    set,
    deque,
    OrderedDict,
    *VIEWS,
)  # containers whose items are compared in Python


class CallEffects:
    """The reads of one call, or the reason why it cannot be replayed.

    Attributes:
      found: The reads, by what tells them apart.
      reason: Why the call cannot be replayed; "" if it can.
      frozen: Whether nothing is to be compared, and nothing is a reason.
      changes: Why this call is not kept, but perhaps the next one: what it does.
      repeated: Why this call has to be made again as Python: something was not as it is there.
      replaced: Objects of the caller's, by the ids of what the call got in their places.
      altered: Containers of the caller's whose copies the call has changed.
      restart: Gives the call up, which begins again as Python.
      retry: Likewise, if nothing is left of what it did; for a call that has had no effects.
      ran: The code that it ran.
      inputs: Rows that were made of arrays from outside, and these arrays.
      made: References to what the call made itself, by id: it changes nobody else's state.
      written: The value that it gave each name, attribute or item, by who has it and where.
      sets: What it gave values, that others can see: who has it, where, what it is called.
      mutated: Objects of others that it changed: how, and the object, by id.
      effects: What it does besides computing tensors, with places: done when it is recorded.
      printing: The frame that prints or logs.
      effecting: Likewise, but None while functions of the program's run for it, which may do
        anything: what libraries read for it does not matter, what they set does.
      hidden: What was set for that, by who has it and where.
      views: Views of dicts, and the dict of each, by id.
      sources: Iterators, and what each goes through, by id.
      generators: Frames of generators that the call made, and who follows each, by id.
      names: What the program calls an object, by id.
      of_temporary: Reads of an object's classes, by its id: compared if it goes with the call.
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
        """Nothing more is to be noted."""

    def clear(self) -> None:
        """Let go of what the call made."""
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
        """The function runs as Python from now on.

        This call as well, from its beginning, with the caller's own objects: nobody would see that
        it has others if it asks for them later. It goes on if it has done what would be done twice,
        or if an exception could run code of the program's, such as a ``finally``.
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
        """Whether an exception leaves the call without running more of the program's code."""
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None:
            follower = frame.f_trace
            if type(follower) is Follower and follower.observer is self and has_handler(frame):
                return False
            frame = frame.f_back
        return True

    def forbid_restart(self) -> None:
        """The call has done something that must not be done twice."""
        self.retry = None

    def start_printing(
        self, follower: Follower, args: Iterable[Any], action: str, frame: Any
    ) -> None:
        """A frame is about to print or log something, by what objects and their classes say."""
        for x in args:
            self.note_class(x, frame)
        self.note_effect(action, frame)
        self.library_printing = follower
        self.printing_follower = self.printing_follower or follower

    def check_identity(self, x: Any, y: Any, action: str, frame: types.FrameType) -> None:
        """Whether two are the same object is asked, of which one may stand for the caller's."""
        if id(y) in self.originals:
            x, y = y, x
        if x is y or id(x) not in self.originals or id(y) in self.originals:
            return
        original = self.originals[id(x)]
        is_traced = type(y) is Tensor and getattr(y._home, "tracing", False)
        if type(original) is type(y) and not is_traced and not self.is_own(y):
            self.rerun(action, frame)

    def check_stored(self, values: Iterable[Any], frame: types.FrameType) -> None:
        """Something from outside gets these, which must be the caller's own and no copies."""
        if any(id(x) in self.originals and type(x) is not Tensor for x in values):
            self._give_up("it keeps a container that is among its arguments", frame)

    def _refuse_argument_change(self, holder: Any, frame: types.FrameType) -> None:
        """What the caller has changes: the call, which has a copy, would not see that."""
        if any(holder is x for x in self.originals.values()):
            self._give_up("it changes a container that is among its arguments as well", frame)

    def note_change(self, holder: Any) -> None:
        """Something is changed, of which the caller may have the original."""
        if id(holder) in self.originals and type(holder) is not Tensor:
            self.changed_originals.append(self.originals[id(holder)])

    def _refuse_changed_original(self, holder: Any, frame: types.FrameType) -> None:
        """Something is read: not what the caller has, where the call's copy was changed."""
        if any(holder is x for x in self.changed_originals):
            self._give_up("it reads what it changes among its arguments by another name", frame)

    def _give_up(self, reason: str, frame: types.FrameType) -> None:
        """What the program is about to do is for Python alone: this call ends, unless frozen."""
        if self.restart is not None:
            self.restart(reason)
        self.refuse(reason, frame)

    def rerun(self, reason: str, frame: types.FrameType) -> None:
        """What the program has just asked is answered by Python alone."""
        self.printing_follower = self.library_printing = None
        self.refuse(reason, frame)
        if not self.frozen:
            self.rerun_reason = self.rerun_reason or self.reason

    def refuse_and_release(self, reason: str, frame: types.FrameType | None) -> None:
        """It can be seen when something goes, which would live longer for what is noted of it."""
        self.library_printing = None
        self.refuse(reason, frame)
        self.stop()
        self.clear()
        self.inputs.clear()

    # What the call made itself: nobody else can change it.

    def note_created(self, value: Any) -> Any:
        """Note that an object is the call's own."""
        if not is_constant(value):
            if has_finalizer(type(value)):
                self.forbid_restart()  # its end would be seen twice
                self.refuse_and_release(
                    f"it makes a {type(value).__name__}, which has a __del__", None
                )
                return value
            try:  # what it drops goes as it would otherwise
                self.created[id(value)] = weakref.ref(value)
            except TypeError:
                self.created[id(value)] = functools.partial(reads.identity, value)
        return value

    def note_default(self, value: np.ndarray[Any, Any]) -> None:
        """Numtape copies an array that is a default of a function."""
        self.note_elements(value, sys._getframe(1))

    def is_own(self, value: Any) -> bool:
        """Whether the call made an object itself."""
        reference = self.created.get(id(value))
        return reference is not None and reference() is value

    def note_result(self, value: Any, frame: types.FrameType) -> None:
        """Note what a function gives that makes something new each time."""
        if is_a(value, np.ndarray):
            if not self.is_outside(value, is_new=True):
                self.note_created(value)
        elif is_a(value, types.GeneratorType):
            self.note_created(value)
            self.generators[id(value.gi_frame)] = value.gi_frame, None
        else:
            self.note_created(value)

    def is_outside(self, array: Any, is_new: bool = False) -> bool:
        """Whether an array's memory can be changed by others. ``created``: the array itself is new."""
        return is_shared(array, is_new, self.is_own)

    # Reads.

    def note_read(
        self, kind: int, holder: Any, key: Any, value: Any, name: str, frame: types.FrameType
    ) -> None:
        """Note a read."""
        if self.changed_originals:
            self._refuse_changed_original(holder, frame)
        if self.is_own(holder) or self.library_printing is not None:
            return
        if type(value) is Tensor and getattr(value._home, "tracing", False):
            return  # put there by this very call
        read_key = kind, id(holder), key_identity(key)
        if read_key in self.reads:
            return
        if (
            self.written_values
            and self.written_values.get((id(holder), key_identity(key)), NULL) is value
        ):
            self.discard_reason = (
                self.discard_reason or f"changes {name}"
            )  # and reads what it has set
            return
        if len(self.reads) >= MAX_READS:
            self.refuse(f"it reads more than {MAX_READS} things", frame)
            return
        location = frame.f_code.co_filename, frame.f_lineno
        self.reads[read_key] = Read(kind, holder, key, value, name, location)
        if value is not MISSING and not is_constant(value):
            self.names.setdefault(id(value), name)

    def name_of(self, value: Any) -> str:
        """What the program calls an object."""
        name = self.names.get(id(value))
        if name is not None:
            return name
        if is_a(value, type | types.FunctionType | types.ModuleType):
            return str(value.__name__)
        return type(value).__name__

    def note_function(self, function: types.FunctionType, frame: types.FrameType) -> None:
        """A function runs: its code and defaults can be exchanged."""
        value = function.__code__, function.__defaults__, function.__kwdefaults__
        self.note_read(reads.CODE, function, None, value, function.__qualname__, frame)
        if function.__kwdefaults__:
            self.note_entries(function.__kwdefaults__, False, frame)

    def note_attribute(
        self, owner: Any, name: str, value: Any, ran_python: bool, frame: types.FrameType
    ) -> None:
        """An attribute was read; ``entered``: functions of Python ran to find it."""
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
                    self.refuse(f"it reads {label}, which C finds", frame)
            return
        if kind is super:
            self._note_super_attribute(owner, name, label, frame)
            return
        if is_a(owner, types.MethodType | types.GenericAlias):  # which have what these have
            target = owner.__func__ if is_a(owner, types.MethodType) else owner.__origin__
            if class_attribute(kind, name) is MISSING:
                self.note_attribute(target, name, getattr(target, name, MISSING), ran_python, frame)
                return
        if id(owner) in self.views and name == "mapping":
            self.note_entries(self.views[id(owner)][1], False, frame)
        if name == "__dict__" and is_a(owner, type):
            self.refuse(f"it reads all names of the class {owner.__name__}", frame)
            return
        static = class_attribute(kind, name)
        if is_unknown_descriptor(static, ran_python):
            self.refuse(f"it reads {label}, which a descriptor of C finds", frame)
            return
        attributes = instance_dict(owner) if not is_a(owner, type) else {}
        is_in_object = name in attributes and not is_data_descriptor(static)
        # A cached property puts there what it finds.
        needs_class = not is_in_object or (ran_python and hasattr(type(static), "__get__"))
        if needs_class:
            self._note_special_methods(type(static), frame)  # whether it is a descriptor
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
            ran_python, value = (
                False,
                attributes[name],
            )  # what ran did not find it: a finalizer, say
        if ran_python:
            if is_a(owner, type):  # found by its metaclass, as long as it has none itself
                self.note_class_attribute(owner, name, label, frame)
            self.note_class_attribute(kind, name, label, frame)
            self.note_read(reads.TYPE, owner, None, kind, f"type({self.name_of(owner)})", frame)
            if is_a(static, types.MemberDescriptorType):  # a slot, which is empty
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
        # A function of numtape's that is a method is made anew each time.
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
        """A method was looked up in order to be called."""
        if is_constant(owner):
            return
        if type(function) is types.FunctionType and not self.is_own(owner):
            label = f"{self.name_of(owner)}.{name}"
            self._note_in_classes(owner, name, label, frame)
            self.note_read(reads.METHOD, owner, name, function, label, frame)
        else:
            self.note_attribute(owner, name, getattr(owner, name, MISSING), False, frame)

    def _note_in_classes(self, owner: Any, name: str, label: str, frame: types.FrameType) -> None:
        """What the classes of an object have under a name: compared if the object is temporary."""
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
        """An object is used: what its class is made of, and its special methods."""
        kind = type(value)
        if is_python_class(kind) and not is_numtape_class(kind) and not self.is_own(value):
            self.note_read(reads.TYPE, value, None, kind, f"type({self.name_of(value)})", frame)
        if is_a(value, type):
            if is_python_class(kind) and not is_numtape_class(kind):
                self.note_class(kind, frame)  # what the class itself is made of
            kind = value
        self._note_special_methods(kind, frame)

    def _note_special_methods(self, kind: type, frame: types.FrameType) -> None:
        """The special methods of a class, and of objects that are special methods."""
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
                    reason = f"{name} of the class {kind.__name__} is no function of Python"
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
        """What a class has under a name, wherever it finds it."""
        if not kind.__flags__ & HEAP_TYPE_FLAG:
            return  # a class of C does not change
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
        """The object itself has no such attribute, which would come first."""
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

    # Containers and arrays.

    def note_items(self, value: Any, user: str, frame: types.FrameType) -> bool:
        """Somebody goes through a container. False if it is none that is known."""
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
                self.refuse(f"it goes through a list of {len(value)} items", frame)
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
        """Somebody goes through a dict, or its keys alone."""
        if self.is_own(value):
            return
        if len(value) > MAX_ITEMS:
            self.refuse(f"it goes through a dict of {len(value)} items", frame)
        label = f"the {'keys' if keys else 'items'} of {self.name_of(value)}"
        kind = reads.KEYS if keys else reads.ENTRIES
        if is_a(value, OrderedDict):
            self.note_property(reads.ordered_entries, value, label, frame)
        else:
            self.note_read(kind, value, None, reads.READERS[kind](value, None), label, frame)

    def note_property(
        self, function: Callable[[Any], Any], value: Any, label: str, frame: types.FrameType
    ) -> None:
        """What a function says of an object is read."""
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
        """What a function of C says, to be asked again; it changes with the object ``of``."""
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
        """A function of Python gives a value to C or to numtape, which may look into it."""
        if is_a(value, (*ITERATORS, types.GeneratorType)) and not self.is_own(value):
            self.refuse(f"it goes on with a {type(value).__name__} from outside", frame)
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
        """The call returns something: numtape looks through nests, and takes arrays."""
        stack = [value]
        while stack:
            x = stack.pop()
            if is_a(x, np.ndarray):
                self.note_layout(x, frame)
            elif type(x) in (list, dict, OrderedDict) or is_a(x, tuple):
                self.note_items(x, "what it returns", frame)
                stack += x.values() if is_a(x, dict) else x

    def note_layout(self, value: Any, frame: Any) -> None:
        """Shape and dtype of an array from outside, which can be changed in place."""
        while is_a(value, np.ndarray):
            if self.is_own(value):
                return
            self.note_call(
                array_layout, (value,), f"the shape of {self.name_of(value)}", value, frame
            )
            value = value.base

    def note_elements(self, value: Any, frame: types.FrameType) -> None:
        """Somebody looks at the elements of an array."""
        if not self.is_outside(value):
            return
        if value.nbytes > MAX_ARRAY_BYTES:
            self.refuse(f"it looks at the elements of an array of {value.nbytes} bytes", frame)
            return
        self.note_property(array_bits, value, f"the elements of {self.name_of(value)}", frame)

    # Writing.

    def note_write(
        self, holder: Any, key: Any, value: Any, target: str, frame: types.FrameType
    ) -> None:
        """A name, attribute or item gets a value, the same whenever this is done again."""
        self.note_class(holder, frame)
        self._refuse_proxy(holder, target, frame)
        self._refuse_argument_change(holder, frame)
        self.note_change(holder)
        if key == "__dict__" and not self.is_own(value) and value is not instance_dict(holder):
            self.refuse(f"it sets {target}, to names that others may change", frame)
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
        """Nobody knows what stands behind a weak proxy, and is read without it."""
        if type(holder) in weakref.ProxyTypes:
            self.refuse(f"it changes what a weak proxy stands for ({target})", frame)

    def note_mutation(self, value: Any, action: str, frame: types.FrameType) -> None:
        """An object of somebody else's is changed."""
        self.note_change(value)
        if is_constant(value) or self.is_own(value):
            return
        self._refuse_proxy(value, action, frame)
        self._refuse_argument_change(value, frame)
        if id(value) not in self.mutations:
            self.mutations[id(value)] = action, value
            self.writes.append((value, ALL_KEYS, f"what {self.name_of(value)} holds"))
        if is_a(value, np.ndarray):  # whether it can be changed so
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
        file = os.path.basename(frame.f_code.co_filename)
        self._add_effect(f"{file}:{frame.f_lineno}: {action}")

    def _add_effect(self, line: str) -> None:
        if len(self.effects) < MAX_EFFECTS and line not in self.effects:
            self.effects.append(line)

    def conclude(self) -> None:
        """The call has ended: whether it read what it changed."""
        self.library_printing = None
        reason = find_conflict(
            self.reads.values(), self.inputs, self.mutations, self.printing_writes
        )
        if reason:
            self.refuse(reason)
            return
        # Along another way it may read what it set along this one.
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
    """What tells the read of a class apart."""
    return reads.CLASS, id(kind), key_identity(None)
