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
from .reads import MISSING, Read, bind_arguments, array_bits, array_layout, is_a, write_access
from .steps import has_handler, try_instructions_of, names_loaded
from .touched import ALL_KEYS, Write, find_conflict, key_identity
from .whose import (
    BOUND_TYPES,
    HEAP_TYPE_FLAG,
    ITERATORS,
    VIEWS,
    instance_dict,
    class_attribute,
    is_constant,
    is_data_descriptor,
    class_dict,
    is_numtape_class,
    is_program_attribute,
    is_shared,
    is_unknown_descriptor,
)

MOST = 20_000  # reads of one call
LARGEST = 1 << 24  # bytes of an array whose elements may be compared at every call
LONGEST = 1 << 16  # items of a container
SHOWN = 100  # effects that are noted

_COMPARED = (set, deque, OrderedDict, *VIEWS)  # containers whose items are compared in Python


class Notes:
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
        self.found: dict[tuple[Any, ...], Read] = {}
        self.reason = ""
        self.frozen = frozen
        self.changes = ""
        self.repeated = ""
        self.replaced: dict[int, Any] = {}
        self.altered: list[Any] = []
        self.restart: Callable[[str], Any] | None = None
        self.retry: Callable[[str], Any] | None = None
        self.ran: set[types.CodeType] = set()
        self.inputs: list[Any] = []
        self.made: dict[int, Callable[[], Any]] = {}
        self.written: dict[tuple[Any, ...], Any] = {}
        self.sets: list[Write] = []
        self.mutated: dict[int, tuple[str, Any]] = {}
        self.effects: list[str] = []
        self.printing: Follower | None = None
        self.effecting: Follower | None = None
        self.hidden: dict[tuple[Any, ...], Any] = {}
        self.views: dict[int, tuple[Any, Any]] = {}
        self.sources: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self.generators: dict[int, tuple[Any, Follower | None]] = {}
        self.names: dict[int, str] = {}
        self.of_temporary: dict[int, dict[tuple[Any, ...], Read]] = {}

    def stop(self) -> None:
        """Nothing more is to be noted."""

    def forget(self) -> None:
        """Let go of what the call made."""
        held: tuple[dict[Any, Any], ...] = (
            self.found,
            self.made,
            self.written,
            self.mutated,
            self.views,
            self.sources,
            self.generators,
            self.names,
            self.replaced,
            self.hidden,
            self.of_temporary,
        )
        for one in held:
            one.clear()
        self.altered.clear()
        self.printing = self.effecting = self.restart = self.retry = None

    def refuse(self, reason: str, frame: types.FrameType | None = None) -> None:
        """The function runs as Python from now on.

        This call as well, from its beginning, with the caller's own objects: nobody would see that
        it has others if it asks for them later. It goes on if it has done what would be done twice,
        or if an exception could run code of the program's, such as a ``finally``.
        """
        if self.effecting is not None:
            return
        if not self.reason:
            if frame is not None:
                reason = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}: {reason}"
            if self.frozen:
                self._note(reason)
                return
            self.reason = reason
            if self.retry is not None and not self.effects and self._unwinds():
                self.retry(reason)
        self.stop()

    def _unwinds(self) -> bool:
        """Whether an exception leaves the call without running more of the program's code."""
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None:
            follower = frame.f_trace
            if type(follower) is Follower and follower.observer is self and has_handler(frame):
                return False
            frame = frame.f_back
        return True

    def has_done(self) -> None:
        """The call has done something that must not be done twice."""
        self.retry = None

    def prints(self, follower: Follower, args: Iterable[Any], what: str, frame: Any) -> None:
        """A frame is about to print or log something, by what objects and their classes say."""
        for x in args:
            self.class_of(x, frame)
        self._effect(what, frame)
        self.effecting = follower
        self.printing = self.printing or follower

    def identifies(self, one: Any, other: Any, what: str, frame: types.FrameType) -> None:
        """Whether two are the same object is asked, of which one may stand for the caller's."""
        if id(other) in self.replaced:
            one, other = other, one
        if one is other or id(one) not in self.replaced or id(other) in self.replaced:
            return
        original = self.replaced[id(one)]
        computed = type(other) is Tensor and getattr(other._home, "tracing", False)
        if type(original) is type(other) and not computed and not self.is_own(other):
            self.repeats(what, frame)

    def keeps(self, values: Iterable[Any], frame: types.FrameType) -> None:
        """Something from outside gets these, which must be the caller's own and no copies."""
        if any(id(x) in self.replaced and type(x) is not Tensor for x in values):
            self._gives_up("it keeps a container that is among its arguments", frame)

    def _not_an_argument(self, holder: Any, frame: types.FrameType) -> None:
        """What the caller has changes: the call, which has a copy, would not see that."""
        if any(holder is x for x in self.replaced.values()):
            self._gives_up("it changes a container that is among its arguments as well", frame)

    def alters(self, holder: Any) -> None:
        """Something is changed, of which the caller may have the original."""
        if id(holder) in self.replaced and type(holder) is not Tensor:
            self.altered.append(self.replaced[id(holder)])

    def _as_it_was(self, holder: Any, frame: types.FrameType) -> None:
        """Something is read: not what the caller has, where the call's copy was changed."""
        if any(holder is x for x in self.altered):
            self._gives_up("it reads what it changes among its arguments by another name", frame)

    def _gives_up(self, what: str, frame: types.FrameType) -> None:
        """What the program is about to do is for Python alone: this call ends, unless frozen."""
        if self.restart is not None:
            self.restart(what)
        self.refuse(what, frame)

    def repeats(self, what: str, frame: types.FrameType) -> None:
        """What the program has just asked is answered by Python alone."""
        self.printing = self.effecting = None
        self.refuse(what, frame)
        if not self.frozen:
            self.repeated = self.repeated or self.reason

    def releases(self, reason: str, frame: types.FrameType | None) -> None:
        """It can be seen when something goes, which would live longer for what is noted of it."""
        self.effecting = None
        self.refuse(reason, frame)
        self.stop()
        self.forget()
        self.inputs.clear()

    # What the call made itself: nobody else can change it.

    def make(self, value: Any) -> Any:
        """Note that an object is the call's own."""
        if not is_constant(value):
            if has_finalizer(type(value)):
                self.has_done()  # its end would be seen twice
                self.releases(f"it makes a {type(value).__name__}, which has a __del__", None)
                return value
            try:  # what it drops goes as it would otherwise
                self.made[id(value)] = weakref.ref(value)
            except TypeError:
                self.made[id(value)] = functools.partial(reads.identity, value)
        return value

    def inherits(self, value: np.ndarray[Any, Any]) -> None:
        """Numtape copies an array that is a default of a function."""
        self.array(value, sys._getframe(1))

    def is_own(self, value: Any) -> bool:
        """Whether the call made an object itself."""
        found = self.made.get(id(value))
        return found is not None and found() is value

    def made_result(self, value: Any, frame: types.FrameType) -> None:
        """Note what a function gives that makes something new each time."""
        if is_a(value, np.ndarray):
            if not self.outside(value, made=True):
                self.make(value)
        elif is_a(value, types.GeneratorType):
            self.make(value)
            self.generators[id(value.gi_frame)] = value.gi_frame, None
        else:
            self.make(value)

    def outside(self, array: Any, made: bool = False) -> bool:
        """Whether an array's memory can be changed by others. ``made``: the array itself is new."""
        return is_shared(array, made, self.is_own)

    # Reads.

    def read(
        self, kind: int, holder: Any, key: Any, value: Any, name: str, frame: types.FrameType
    ) -> None:
        """Note a read."""
        if self.altered:
            self._as_it_was(holder, frame)
        if self.is_own(holder) or self.effecting is not None:
            return
        if type(value) is Tensor and getattr(value._home, "tracing", False):
            return  # put there by this very call
        mark = kind, id(holder), key_identity(key)
        if mark in self.found:
            return
        if self.written and self.written.get((id(holder), key_identity(key)), NULL) is value:
            self.changes = self.changes or f"changes {name}"  # and reads what it has set
            return
        if len(self.found) >= MOST:
            self.refuse(f"it reads more than {MOST} things", frame)
            return
        place = frame.f_code.co_filename, frame.f_lineno
        self.found[mark] = Read(kind, holder, key, value, name, place)
        if value is not MISSING and not is_constant(value):
            self.names.setdefault(id(value), name)

    def name_of(self, value: Any) -> str:
        """What the program calls an object."""
        found = self.names.get(id(value))
        if found is not None:
            return found
        if is_a(value, type | types.FunctionType | types.ModuleType):
            return str(value.__name__)
        return type(value).__name__

    def function(self, function: types.FunctionType, frame: types.FrameType) -> None:
        """A function runs: its code and defaults can be exchanged."""
        value = function.__code__, function.__defaults__, function.__kwdefaults__
        self.read(reads.CODE, function, None, value, function.__qualname__, frame)
        if function.__kwdefaults__:
            self.entries(function.__kwdefaults__, False, frame)

    def attribute(
        self, owner: Any, name: str, value: Any, entered: bool, frame: types.FrameType
    ) -> None:
        """An attribute was read; ``entered``: functions of Python ran to find it."""
        label = f"{self.name_of(owner)}.{name}"
        if is_constant(owner):
            if is_program_attribute(owner, name):
                self.read(reads.ATTRIBUTE, owner, name, value, label, frame)
            return
        kind = type(owner)
        self.class_of(owner, frame)
        if kind is types.ModuleType:
            self.read(reads.TYPE, owner, None, kind, f"type({self.name_of(owner)})", frame)
            names = vars(owner)
            self.read(reads.ENTRY, names, name, names.get(name, MISSING), label, frame)
            if name not in names:
                found = names.get("__getattr__", MISSING)
                self.read(reads.ENTRY, names, "__getattr__", found, label, frame)
                if found is not MISSING and type(found) is not types.FunctionType:
                    self.refuse(f"it reads {label}, which C finds", frame)
            return
        if kind is super:
            self._by_super(owner, name, label, frame)
            return
        if is_a(owner, types.MethodType | types.GenericAlias):  # which have what these have
            of = owner.__func__ if is_a(owner, types.MethodType) else owner.__origin__
            if class_attribute(kind, name) is MISSING:
                self.attribute(of, name, getattr(of, name, MISSING), entered, frame)
                return
        if id(owner) in self.views and name == "mapping":
            self.entries(self.views[id(owner)][1], False, frame)
        if name == "__dict__" and is_a(owner, type):
            self.refuse(f"it reads all names of the class {owner.__name__}", frame)
            return
        static = class_attribute(kind, name)
        if is_unknown_descriptor(static, entered):
            self.refuse(f"it reads {label}, which a descriptor of C finds", frame)
            return
        own = instance_dict(owner) if not is_a(owner, type) else {}
        there = name in own and not is_data_descriptor(static)
        # A cached property puts there what it finds.
        by_class = not there or (entered and hasattr(type(static), "__get__"))
        if by_class:
            self._class(type(static), frame)  # whether it is a descriptor
            if is_a(owner, type):
                self._class(type(class_attribute(owner, name)), frame)
        if self.is_own(owner):
            if is_a(owner, type):
                self.of_class(owner, name, label, frame)
            if by_class:
                self.of_class(kind, name, label, frame)
            return
        if entered and there and not is_a(class_attribute(kind, "__getattribute__"), types.FunctionType):
            entered, value = False, own[name]  # what ran did not find it: a finalizer, say
        if entered:
            if is_a(owner, type):  # found by its metaclass, as long as it has none itself
                self.of_class(owner, name, label, frame)
            self.of_class(kind, name, label, frame)
            self.read(reads.TYPE, owner, None, kind, f"type({self.name_of(owner)})", frame)
            if is_a(static, types.MemberDescriptorType):  # a slot, which is empty
                self.asks(reads.is_slot_filled, (static, owner), label, None, frame)
            elif not is_data_descriptor(static):
                self._not_of_object(owner, name, label, frame)
            return
        if by_class:
            self._of_classes(owner, name, label, frame)
        if type(value) is types.MethodType and value.__self__ is owner:
            if type(value.__func__) is types.FunctionType:
                self.read(reads.METHOD, owner, name, value.__func__, label, frame)
                return
        of_c = (types.BuiltinMethodType, types.MethodWrapperType)
        bound = is_a(value, of_c) and value.__self__ is owner
        # A function of numtape's that is a method is made anew each time.
        bound = bound or (is_numtape_class(type(value)) and is_a(value, functools.partial))
        if bound and not is_a(owner, type):
            if kind.__flags__ & HEAP_TYPE_FLAG:
                self.of_class(kind, name, label, frame)
                self.read(reads.TYPE, owner, None, kind, f"type({self.name_of(owner)})", frame)
                self._not_of_object(owner, name, label, frame)
            return
        self.read(reads.ATTRIBUTE, owner, name, value, label, frame)

    def method(self, owner: Any, name: str, function: Any, frame: types.FrameType) -> None:
        """A method was looked up in order to be called."""
        if is_constant(owner):
            return
        if type(function) is types.FunctionType and not self.is_own(owner):
            label = f"{self.name_of(owner)}.{name}"
            self._of_classes(owner, name, label, frame)
            self.read(reads.METHOD, owner, name, function, label, frame)
        else:
            self.attribute(owner, name, getattr(owner, name, MISSING), False, frame)

    def _of_classes(self, owner: Any, name: str, label: str, frame: types.FrameType) -> None:
        """What the classes of an object have under a name: compared if the object is temporary."""
        kinds = [owner, type(owner)] if is_a(owner, type) else [type(owner)]
        noted = self.found
        unknown = [kind for kind in kinds if _mark_of_class(kind) not in noted]
        self.found = self.of_temporary.setdefault(id(owner), {})
        try:
            for kind in kinds:
                self.of_class(kind, name, label, frame)
            for kind in unknown:
                self._class(kind, frame)
        finally:
            self.found = noted

    def class_of(self, value: Any, frame: types.FrameType) -> None:
        """An object is used: what its class is made of, and its special methods."""
        kind = type(value)
        if is_python_class(kind) and not is_numtape_class(kind) and not self.is_own(value):
            self.read(reads.TYPE, value, None, kind, f"type({self.name_of(value)})", frame)
        if is_a(value, type):
            if is_python_class(kind) and not is_numtape_class(kind):
                self.class_of(kind, frame)  # what the class itself is made of
            kind = value
        self._class(kind, frame)

    def _class(self, kind: type, frame: types.FrameType) -> None:
        """The special methods of a class, and of objects that are special methods."""
        left, seen = [kind], set()
        while left:
            kind = left.pop()
            if kind in seen or not is_python_class(kind) or is_numtape_class(kind):
                continue
            seen.add(kind)
            if _mark_of_class(kind) in self.found:
                continue
            special = reads.class_contents(kind)
            for name, method in special[1:]:
                if is_a(method, BOUND_TYPES) and name != "__new__":
                    reason = f"{name} of the class {kind.__name__} is no function of Python"
                    self.refuse(reason, frame)
                left.append(type(method))
            if self.is_own(kind):
                left += kind.__bases__
            else:
                label = f"the class {kind.__name__}"
                self.read(reads.CLASS, kind, None, special, label, frame)

    def of_class(self, kind: type, name: str, label: str, frame: types.FrameType) -> None:
        """What a class has under a name, wherever it finds it."""
        if not kind.__flags__ & HEAP_TYPE_FLAG:
            return  # a class of C does not change
        for owner in kind.__mro__:
            names = class_dict(owner)
            value = names.get(name, MISSING)
            if owner.__flags__ & HEAP_TYPE_FLAG and not is_numtape_class(owner) and not self.is_own(owner):
                self.read(reads.ENTRY, names, name, value, f"{label} of {owner.__name__}", frame)
            if value is not MISSING:
                return
        if name != "__getattr__":
            self.of_class(kind, "__getattr__", label, frame)

    def _not_of_object(self, owner: Any, name: str, label: str, frame: types.FrameType) -> None:
        """The object itself has no such attribute, which would come first."""
        own = instance_dict(owner)
        if type(own) is dict:
            self.asks(instance_dict, (owner,), f"vars({self.name_of(owner)})", owner, frame)
        if type(own) is dict and name not in own:
            self.read(reads.ENTRY, own, name, MISSING, label, frame)

    def _by_super(self, owner: Any, name: str, label: str, frame: types.FrameType) -> None:
        of = owner.__self__
        if not is_a(of, type):
            self.read(reads.TYPE, of, None, type(of), f"type({self.name_of(of)})", frame)
        self.class_of(owner.__self_class__, frame)
        kinds = owner.__self_class__.__mro__
        behind = kinds[kinds.index(owner.__thisclass__) + 1 :]
        for kind in behind:
            self.of_class(kind, name, label, frame)
            if name in vars(kind):
                return

    # Containers and arrays.

    def items(self, value: Any, what: str, frame: types.FrameType) -> bool:
        """Somebody goes through a container. False if it is none that is known."""
        kind = type(value)
        if is_python_class(kind):
            self.class_of(value, frame)
        if is_constant(value) or is_a(value, tuple | frozenset | str | bytes):
            return True
        if id(value) in self.views:
            _, of = self.views[id(value)]
            keys = is_a(value, VIEWS[0])
            self.entries(of, keys, frame)
            return True
        if self.is_own(value):
            return True
        label = f"the items of {self.name_of(value)}"
        if is_a(value, list) and kind.__iter__ is list.__iter__:
            if len(value) > LONGEST:
                self.refuse(f"it goes through a list of {len(value)} items", frame)
            self.read(reads.ITEMS, value, None, tuple(list.__iter__(value)), label, frame)
        elif is_a(value, dict) and kind.__iter__ in (dict.__iter__, OrderedDict.__iter__):
            self.entries(value, False, frame)
        elif is_a(value, _COMPARED):
            self.answer(tuple, value, label, frame)
        elif is_a(value, np.ndarray):
            self.array(value, frame)
        else:
            return False
        return True

    def entries(self, value: dict[Any, Any], keys: bool, frame: types.FrameType) -> None:
        """Somebody goes through a dict, or its keys alone."""
        if self.is_own(value):
            return
        if len(value) > LONGEST:
            self.refuse(f"it goes through a dict of {len(value)} items", frame)
        label = f"the {'keys' if keys else 'items'} of {self.name_of(value)}"
        kind = reads.KEYS if keys else reads.ENTRIES
        if is_a(value, OrderedDict):
            self.answer(reads.ordered_entries, value, label, frame)
        else:
            self.read(kind, value, None, reads.READERS[kind](value, None), label, frame)

    def answer(
        self, function: Callable[[Any], Any], value: Any, label: str, frame: types.FrameType
    ) -> None:
        """What a function says of an object is read."""
        self.asks(function, (value,), label, value, frame)
        self.names.setdefault(id(value), label)

    def asks(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        label: str,
        of: Any,
        frame: types.FrameType,
    ) -> None:
        """What a function of C says, to be asked again; it changes with the object ``of``."""
        if self.altered:
            self._as_it_was(of, frame)
        if self.effecting is not None:
            return
        mark = reads.ANSWER, id(of), id(function), *map(key_identity, args)
        if mark not in self.found and not (of is not None and self.is_own(of)):
            place = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
            holder = bind_arguments(function, *args)
            self.found[mark] = Read(reads.ANSWER, holder, of, holder(), label, place)

    def gives(self, value: Any, frame: types.FrameType) -> None:
        """A function of Python gives a value to C or to numtape, which may look into it."""
        if is_a(value, (*ITERATORS, types.GeneratorType)) and not self.is_own(value):
            self.refuse(f"it goes on with a {type(value).__name__} from outside", frame)
        left, seen = [value], set()
        while left:
            x = left.pop()
            if is_a(x, np.ndarray):
                self.array(x, frame)
            elif is_a(x, (list, tuple, dict, *_COMPARED)) and id(x) not in seen:
                seen.add(id(x))
                if self.items(x, "what a function gives", frame):
                    left += dict.values(x) if is_a(x, dict) else x

    def returns(self, value: Any, frame: types.FrameType) -> None:
        """The call returns something: numtape looks through nests, and takes arrays."""
        left = [value]
        while left:
            x = left.pop()
            if is_a(x, np.ndarray):
                self.form(x, frame)
            elif type(x) in (list, dict, OrderedDict) or is_a(x, tuple):
                self.items(x, "what it returns", frame)
                left += x.values() if is_a(x, dict) else x

    def form(self, value: Any, frame: Any) -> None:
        """Shape and dtype of an array from outside, which can be changed in place."""
        while is_a(value, np.ndarray):
            if self.is_own(value):
                return
            self.asks(array_layout, (value,), f"the shape of {self.name_of(value)}", value, frame)
            value = value.base

    def array(self, value: Any, frame: types.FrameType) -> None:
        """Somebody looks at the elements of an array."""
        if not self.outside(value):
            return
        if value.nbytes > LARGEST:
            self.refuse(f"it looks at the elements of an array of {value.nbytes} bytes", frame)
            return
        self.answer(array_bits, value, f"the elements of {self.name_of(value)}", frame)

    # Writing.

    def wrote(self, holder: Any, key: Any, value: Any, what: str, frame: types.FrameType) -> None:
        """A name, attribute or item gets a value, the same whenever this is done again."""
        self.class_of(holder, frame)
        self._not_by_proxy(holder, what, frame)
        self._not_an_argument(holder, frame)
        self.alters(holder)
        if key == "__dict__" and not self.is_own(value) and value is not instance_dict(holder):
            self.refuse(f"it sets {what}, to names that others may change", frame)
        if self.is_own(holder) or (is_numtape_class(type(holder)) and not is_program_attribute(holder, key)):
            return
        self.keeps((value,), frame)
        if type(holder) is types.CellType:
            key = None
        if self.effecting is not None:
            self.hidden[id(holder), key_identity(key)] = holder
            return
        self.written[id(holder), key_identity(key)] = value
        self.sets.append((holder, key, what))
        self._effect(f"sets {what}", frame)

    def _not_by_proxy(self, holder: Any, what: str, frame: types.FrameType) -> None:
        """Nobody knows what stands behind a weak proxy, and is read without it."""
        if type(holder) in weakref.ProxyTypes:
            self.refuse(f"it changes what a weak proxy stands for ({what})", frame)

    def mutates(self, value: Any, what: str, frame: types.FrameType) -> None:
        """An object of somebody else's is changed."""
        self.alters(value)
        if is_constant(value) or self.is_own(value):
            return
        self._not_by_proxy(value, what, frame)
        self._not_an_argument(value, frame)
        if id(value) not in self.mutated:
            self.mutated[id(value)] = what, value
            self.sets.append((value, ALL_KEYS, f"what {self.name_of(value)} holds"))
        if is_a(value, np.ndarray):  # whether it can be changed so
            label = f"whether {self.name_of(value)} is read-only"
            self.asks(write_access, (value,), label, None, frame)
            base = value.base
            while is_a(base, np.ndarray):
                self.mutated.setdefault(id(base), (what, base))
                self.sets.append((base, ALL_KEYS, f"what {self.name_of(base)} holds"))
                base = base.base
        if id(value) in self.views:
            self.mutates(self.views[id(value)][1], what, frame)
        self._effect(what, frame)

    def _effect(self, what: str, frame: types.FrameType) -> None:
        file = os.path.basename(frame.f_code.co_filename)
        self._note(f"{file}:{frame.f_lineno}: {what}")

    def _note(self, line: str) -> None:
        if len(self.effects) < SHOWN and line not in self.effects:
            self.effects.append(line)

    def conclude(self) -> None:
        """The call has ended: whether it read what it changed."""
        self.effecting = None
        said = find_conflict(self.found.values(), self.inputs, self.mutated, self.hidden)
        if said:
            self.refuse(said)
            return
        # Along another way it may read what it set along this one.
        may_read = set().union(*map(names_loaded, filter(None, map(try_instructions_of, self.ran))))
        known = {(id(read.holder), key_identity(read.key)) for read in self.found.values()}
        for holder, key, name in self.sets:
            read_first = (id(holder), key_identity(key)) in known
            if (name if key is None else key) in may_read and not read_first:
                self.changes = f"changes {name}"
                return


def _mark_of_class(kind: type) -> tuple[Any, ...]:
    """What tells the read of a class apart."""
    return reads.CLASS, id(kind), key_identity(None)
