"""The writes of a call to objects that it did not create."""

from __future__ import annotations

import types
import weakref
from typing import Any

import numpy as np

from .access_sets import ALL_KEYS, Write, key_identity
from .effects import CallEffects
from .ownership import instance_dict, is_constant, is_numtape_class, is_program_attribute
from .read_set import ReadSet
from .reads import is_a, write_access


class WriteSet:
    """The writes of a call.

    Args:
      effects: The effects of the call.
      reads: Its reads.

    Attributes:
      entries: Writes that are visible outside: the object, the key, and the name in the program.
      mutations: Outside objects that the call changed, by id: a description, and the object.
      printing_writes: Objects that printing changed, by the id of the object and the key.
    """

    def __init__(self, effects: CallEffects, reads: ReadSet) -> None:
        self.effects, self.reads = effects, reads
        self.entries: list[Write] = []
        self.mutations: dict[int, tuple[str, Any]] = {}
        self.printing_writes: dict[tuple[Any, ...], Any] = {}

    def clear(self) -> None:
        """Drop all references to objects of the call, except entries."""
        self.mutations.clear()
        self.printing_writes.clear()

    def note_write(
        self, holder: Any, key: Any, value: Any, target: str, frame: types.FrameType
    ) -> None:
        """Note that a name, attribute or item gets a value that does not accumulate."""
        self.reads.note_class(holder, frame)
        self._refuse_proxy(holder, target, frame)
        self.effects.refuse_argument_change(holder, frame)
        self.effects.note_change(holder)
        if (
            key == "__dict__"
            and not self.effects.is_own(value)
            and value is not instance_dict(holder)
        ):
            self.effects.refuse(f"it sets {target} to a dict that other code may change", frame)
        if self.effects.is_own(holder) or (
            is_numtape_class(type(holder)) and not is_program_attribute(holder, key)
        ):
            return
        self.effects.check_stored((value,), frame)
        if type(holder) is types.CellType:
            key = None
        if self.effects.library_printing is not None:
            self.printing_writes[id(holder), key_identity(key)] = holder
            return
        self.reads.written_values[id(holder), key_identity(key)] = value
        self.entries.append((holder, key, target))
        self.effects.note_effect(f"sets {target}", frame)

    def _refuse_proxy(self, holder: Any, target: str, frame: types.FrameType) -> None:
        """Refuse weak proxies: the object behind one is unknown, and may be read directly."""
        if type(holder) in weakref.ProxyTypes:
            self.effects.refuse(f"it changes what a weak proxy stands for ({target})", frame)

    def note_mutation(self, value: Any, action: str, frame: types.FrameType) -> None:
        """Note a change of an object from outside."""
        self.effects.note_change(value)
        if is_constant(value) or self.effects.is_own(value):
            return
        self._refuse_proxy(value, action, frame)
        self.effects.refuse_argument_change(value, frame)
        if id(value) not in self.mutations:
            self.mutations[id(value)] = action, value
            self.entries.append((value, ALL_KEYS, f"what {self.reads.name_of(value)} holds"))
        if is_a(value, np.ndarray):  # the change fails if it is read-only
            label = f"whether {self.reads.name_of(value)} is read-only"
            self.reads.note_call(write_access, (value,), label, None, frame)
            base = value.base
            while is_a(base, np.ndarray):
                self.mutations.setdefault(id(base), (action, base))
                self.entries.append((base, ALL_KEYS, f"what {self.reads.name_of(base)} holds"))
                base = base.base
        if id(value) in self.reads.views:
            self.note_mutation(self.reads.views[id(value)][1], action, frame)
        self.effects.note_effect(action, frame)
