"""The effects of a call: created objects, output, and the reason why it cannot be replayed."""

from __future__ import annotations

import functools
import os
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from ...values.tensor import Tensor
from . import reads
from .ownership import has_finalizer, is_constant, is_shared
from .reads import is_a

MAX_EFFECTS = 100  # descriptions of effects


class CallObserver(Protocol):
    """The methods of `Observer` that `CallEffects` calls."""

    def stop(self) -> None:
        """Stop observing."""

    def release(self) -> None:
        """Stop observing and drop all references to objects of the call."""

    def can_unwind(self) -> bool:
        """Return whether an exception leaves the call without running more code of the program."""


class CallEffects:
    """The objects that a call creates, its effects, and why it cannot be replayed.

    Args:
      observer: The observer of the call.
      frozen: Whether nothing is compared, and nothing prevents a replay.

    Attributes:
      reason: Why the call cannot be replayed; "" if it can.
      frozen: The argument.
      discard_reason: Why this call is not stored, although the next one may be: what it does.
      rerun_reason: Why this call must run again as Python: an answer differed from Python's.
      restart: Abandons the call, which then starts again as Python.
      retry: The same, if no effect of the call remains; None if the call has had effects.
      created: References to objects that the call created, by id. Their changes are not visible
        outside.
      generators: Frames of generators that the call created, and the follower of each, by id.
      originals: Objects of the caller, by the id of the object that the call got in their place.
      changed_originals: Containers of the caller whose copies the call has changed.
      descriptions: Descriptions of effects that happen only when the call is recorded.
      printing_follower: The follower of the frame that prints or logs.
      library_printing: The same, but None while functions of the program run inside the printing.
        A library's reads for printing do not matter, its writes do.
    """

    def __init__(self, observer: CallObserver, frozen: bool) -> None:
        self.observer, self.frozen = observer, frozen
        self.reason = self.discard_reason = self.rerun_reason = ""
        self.restart: Callable[[str], Any] | None = None
        self.retry: Callable[[str], Any] | None = None
        self.created: dict[int, Callable[[], Any]] = {}
        self.generators: dict[int, tuple[Any, Any]] = {}
        self.originals: dict[int, Any] = {}
        self.changed_originals: list[Any] = []
        self.descriptions: list[str] = []
        self.printing_follower: object = None
        self.library_printing: object = None

    def clear(self) -> None:
        """Drop all references to objects of the call."""
        for table in (self.created, self.generators, self.originals, self.changed_originals):
            table.clear()
        self.printing_follower = self.library_printing = self.restart = self.retry = None

    # Whether the call can be replayed.

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
            if self.retry is not None and not self.descriptions and self.observer.can_unwind():
                self.retry(reason)
        self.observer.stop()

    def give_up(self, reason: str, frame: types.FrameType) -> None:
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
        self.observer.release()

    def forbid_restart(self) -> None:
        """Note that the call has had an effect that must not happen twice."""
        self.retry = None

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

    def is_own(self, value: Any) -> bool:
        """Return whether the call created an object."""
        reference = self.created.get(id(value))
        return reference is not None and reference() is value

    def is_outside(self, array: Any, is_new: bool = False) -> bool:
        """Return whether other code can change an array's memory. ``is_new``: the array is new."""
        return is_shared(array, is_new, self.is_own)

    # Copies of the caller's objects.

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
            self.give_up("it stores a container that is one of its arguments", frame)

    def refuse_argument_change(self, holder: Any, frame: types.FrameType) -> None:
        """Give up if the call changes a caller's object of which it has a copy."""
        if any(holder is x for x in self.originals.values()):
            self.give_up("it changes a container that is also one of its arguments", frame)

    def note_change(self, holder: Any) -> None:
        """Note a change of an object that may be a copy of a caller's object."""
        if id(holder) in self.originals and type(holder) is not Tensor:
            self.changed_originals.append(self.originals[id(holder)])

    def refuse_changed_original(self, holder: Any, frame: types.FrameType) -> None:
        """Give up if the call reads a caller's object whose copy it has changed."""
        if any(holder is x for x in self.changed_originals):
            self.give_up("it reads an argument that it changes under another name", frame)

    # Effects that replays do not repeat.

    def note_effect(self, action: str, frame: types.FrameType) -> None:
        """Note an effect that replays do not repeat, with its source line."""
        file = os.path.basename(frame.f_code.co_filename)
        self._add_effect(f"{file}:{frame.f_lineno}: {action}")

    def start_printing(self, follower: object, action: str, frame: types.FrameType) -> None:
        """Note that the frame of a follower prints or logs."""
        self.note_effect(action, frame)
        self.library_printing = follower
        self.printing_follower = self.printing_follower or follower

    def _add_effect(self, line: str) -> None:
        if len(self.descriptions) < MAX_EFFECTS and line not in self.descriptions:
            self.descriptions.append(line)
