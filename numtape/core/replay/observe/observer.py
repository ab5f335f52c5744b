"""The observer follows the frames of one call and notes what they read."""

from __future__ import annotations

import bdb
import functools
import inspect
import os
import sys
import types
import weakref
from typing import Any

from ...cpython.api import NULL
from ...cpython.bytecode import (
    early_iteration,
    has_handler,
    is_generator,
    names_loaded,
    try_instructions_of,
)
from ...cpython.frames import (
    function_of,
    report_instructions,
    slot_count,
    slot_object,
    slots_address,
    unsupported_reason,
)
from ...cpython.version import WORD
from . import c_arguments, reads
from .access_sets import find_conflict, key_identity
from .c_function_table import PURE
from .effects import CallEffects
from .follower import Follower, InstructionHandlers
from .ownership import (
    ITERATORS,
    PACKAGE,
    class_attribute,
    gc_callbacks,
    is_foreign_library,
    is_generated_code,
    is_library_file,
    is_trusted,
    signal_handlers,
)
from .read_set import ReadSet
from .reads import cell_contents, is_a
from .write_set import WriteSet

# Instructions by their use of a special method's result: unchanged, as a truth value, iterated.
_RESULT_UNCHANGED = {
    "load attribute",
    "load method",
    "load super attribute",
    "operate",
    "operate in place",
    "load item",
    "load slice",
    "compare",
    "next",
    "enter context",
}
_RESULT_TESTED = {"contains", "match class"}
_RESULT_ITERATED = {"unpack", "extend list", "extend set", "extend dict"}
_DEBUGGERS = (bdb.__file__, os.path.join(os.path.dirname(bdb.__file__), "pdb.py"))


class Observer:
    """A context manager that observes the code that runs inside it, in this thread.

    Debuggers and coverage tools still see all events.

    Args:
      instructions: The handler of each instruction; None for instructions without effects.
      frozen: Whether nothing is compared, and nothing prevents a replay.

    Attributes:
      effects: The effects of the call.
      reads: Its reads.
      writes: Its writes.
      executed_code: The code that ran.
      is_following: Whether frames are followed now.
      muted_follower: The follower of a frame that has called code whose own reads do not matter.
      import_frame: The frame of an import, whose code runs only once, or of a callback of the
        garbage collector.
      has_lost_tracer: Whether the program replaced Python's trace function.
    """

    def __init__(self, instructions: InstructionHandlers, frozen: bool = False) -> None:
        self.effects = CallEffects(weakref.proxy(self), frozen)
        self.reads = ReadSet(self.effects)
        self.writes = WriteSet(self.effects, self.reads)
        self.executed_code: set[types.CodeType] = set()
        self.handlers = instructions
        self.muted_follower: Follower | None = None
        self.import_frame: types.FrameType | None = None
        self.has_lost_tracer = False
        self.is_following = False
        # One object while Python may call it: when Python creates a frame for the call, a
        # collection may run a finalizer, for which Python calls it as well.
        self._tracer: Any = self._on_call
        self._previous_tracer: Any = None
        self._signal_handlers: set[types.CodeType] = set()
        self._gc_callbacks: set[types.CodeType] = set()

    def __enter__(self) -> Observer:
        self._previous_tracer = sys.gettrace()
        if not self.effects.reason and not unsupported_reason():
            self.is_following = True
            self._signal_handlers, self._gc_callbacks = signal_handlers(), gc_callbacks()
            sys.settrace(self._tracer)
        return self

    def __exit__(self, *_: object) -> None:
        # Whether the program, or an interrupt in the trace function, replaced the trace function.
        self.has_lost_tracer = self.is_following and sys.gettrace() is not self._tracer
        self.stop()

    def note_start(self, function: Any) -> None:
        """Note the call of ``function``. Callables other than Python functions have state."""
        frame = sys._getframe(1)  # not this frame, which would refer to itself
        if not self.effects.frozen:
            for numtape_class in reads.NUMTAPE_CLASSES:
                contents = reads.class_contents(numtape_class)
                name = f"the class {numtape_class.__name__}"
                self.reads.note_read(reads.CLASS, numtape_class, None, contents, name, frame)
        while is_a(function, functools.partial | types.MethodType):
            if is_a(function, types.MethodType):
                function = function.__func__
                continue
            for name in ("func", "args"):
                self.reads.note_attribute(function, name, getattr(function, name), False, frame)
            self.reads.note_entries(function.keywords, False, frame)
            function = function.func
        cls = type(function)
        if cls is types.FunctionType:
            return
        if is_a(class_attribute(cls, "__call__"), types.FunctionType):
            self.reads.note_read(reads.TYPE, function, None, cls, f"type({cls.__name__})", frame)
            self.reads.note_class_attribute(cls, "__call__", "call", frame)
        elif not is_a(function, type) and id(function) not in PURE and function is not len:
            self.effects.refuse(f"it is a {cls.__name__}, which is not supported")

    def stop(self) -> None:
        """Restore the previous trace function."""
        self.is_following = False
        if sys.gettrace() is self._tracer:
            sys.settrace(self._previous_tracer)

    def on_error(self, error: Exception, frame: types.FrameType) -> None:
        """Refuse the call because observing failed, but raise errors of signal handlers."""
        traceback = error.__traceback__
        while traceback is not None:
            if traceback.tb_frame.f_code in self._signal_handlers:
                raise error
            traceback = traceback.tb_next
        self.effects.refuse(f"what it reads could not be observed ({error!r})", frame)

    def clear(self) -> None:
        """Drop all references to objects of the call.

        `reads.inputs` is kept: the trace owns this list, and its recording needs the inputs.
        """
        self.effects.clear()
        self.reads.clear()
        self.writes.clear()
        self.muted_follower = self.import_frame = self._tracer = None

    def release(self) -> None:
        """Stop observing and drop all references to objects of the call, including its inputs."""
        self.stop()
        self.clear()
        self.reads.inputs.clear()

    def can_unwind(self) -> bool:
        """Return whether an exception leaves the call without running more code of the program."""
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None:
            follower = frame.f_trace
            if type(follower) is Follower and follower.observer is self and has_handler(frame):
                return False
            frame = frame.f_back
        return True

    def conclude(self) -> None:
        """Check at the end of the call whether it read state that it changed."""
        self.effects.library_printing = None
        reason = find_conflict(
            self.reads.by_key.values(),
            self.reads.inputs,
            self.writes.mutations,
            self.writes.printing_writes,
        )
        if reason:
            self.effects.refuse(reason)
            return
        # On another path the function may read what it sets on this one.
        may_read = set().union(
            *map(names_loaded, filter(None, map(try_instructions_of, self.executed_code)))
        )
        read_keys = {
            (id(read.holder), key_identity(read.key)) for read in self.reads.by_key.values()
        }
        for holder, key, name in self.writes.entries:
            is_read = (id(holder), key_identity(key)) in read_keys
            if (name if key is None else key) in may_read and not is_read:
                self.effects.discard_reason = f"changes {name}"
                return

    def note_conversion(self, value: Any, follower: Follower, frame: types.FrameType) -> None:
        """Note a result that a Python special method returns to an instruction or to C code."""
        caller: Any = getattr(frame.f_back, "f_trace", None)
        if type(caller) is not Follower or caller.instruction is None:
            return
        instruction = caller.instruction
        is_result = instruction.is_call and caller.called_code is frame.f_code
        if is_result or instruction.kind in _RESULT_UNCHANGED:
            return
        c_arguments.note_hashing(follower, frame, (value,))
        if instruction.kind in _RESULT_TESTED:
            c_arguments.note_truth(follower, frame, value)
        if (
            instruction.kind in _RESULT_ITERATED
            and is_a(value, ITERATORS)
            and not self.effects.is_own(value)
        ):
            self.effects.refuse(f"it continues a {type(value).__name__} from outside", frame)

    # Functions that Python calls.

    def _on_call(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        other_tracer = None
        if self._previous_tracer is not None:
            other_tracer = self._previous_tracer(frame, event, arg)
            sys.settrace(self._tracer)  # some tracers install themselves again
        follower = None
        if self.is_following and self.muted_follower is None and self.import_frame is None:
            try:
                follower = self._enter_frame(frame)
            except (RecursionError, MemoryError):
                raise  # errors of the program
            except Exception as error:
                self.on_error(error, frame)
        if type(follower) is not Follower:
            return follower or other_tracer
        follower.other_tracer = other_tracer
        if frame.f_trace is not follower:  # generators that continue already have a follower
            follower.other_wants_opcodes = frame.f_trace_opcodes
        report_instructions(frame, follower, self._tracer)
        return follower

    def _enter_frame(self, frame: types.FrameType) -> Any:
        """Return the trace function for a frame that starts, or a generator that continues."""
        code = frame.f_code
        if is_trusted(code):
            return None
        caller_frame = frame.f_back
        if caller_frame is not None and is_generator(caller_frame.f_code):
            if early_iteration(caller_frame.f_code) == caller_frame.f_lasti:
                caller_frame = caller_frame.f_back  # where the generator is created
        # Called by numtape itself, or by a part of it that is followed.
        is_below_numtape = caller_frame is not None and (
            type(caller_frame.f_trace) is not Follower
            or caller_frame.f_code.co_filename.startswith(PACKAGE)
        )
        if code.co_filename in _DEBUGGERS:  # debuggers ask the calling frames for lines
            self.effects.refuse("it enters a debugger", frame)
            while caller_frame is not None:
                if type(caller_frame.f_trace) is Follower:
                    caller_frame.f_trace_opcodes = False
                    caller_frame.f_trace = caller_frame.f_trace.other_tracer
                caller_frame = caller_frame.f_back
            return None
        if is_below_numtape and (
            is_library_file(code.co_filename)
            or is_generated_code(frame)
            or code.co_name == "__annotate__"  # numtape reads signatures, but no annotations
        ):
            if code.co_filename.startswith("<frozen importlib"):
                self.import_frame = frame
                return self._follow_import  # it may run the program, but not the function
            return None
        while caller_frame is not None:
            if type(caller_frame.f_trace) is Follower:
                caller_frame.f_trace.ran_python = True
                break
            caller_frame = caller_frame.f_back
        if is_generator(code):
            generator = self.effects.generators.get(id(frame), NULL)
            if generator is NULL:
                # Created by a C function, or an old generator that is being collected.
                self.effects.discard_reason = (
                    f"continues {code.co_qualname}, which it did not create,"
                )
                return None
            if generator[1] is not None:
                generator[1].set_array_address(slots_address(frame))
                generator[1].last_offset = generator[1].exception_offset = -1
                self._suspend_printing(generator[1], frame)
                return generator[1]
        if code in self._gc_callbacks and (
            caller_frame is None
            or type(caller_frame.f_trace) is not Follower
            or caller_frame.f_trace.called_code is not code
        ):
            self.import_frame = frame  # until it returns
            return self._follow_import
        if code in self._signal_handlers:
            self.effects.discard_reason = "is interrupted by a signal handler"
        instructions = try_instructions_of(code)
        if instructions is None:
            self.effects.refuse(f"the code of {code.co_qualname} is not understood", frame)
            return None
        self.executed_code.add(code)
        follower = Follower(self, code, instructions, slots_address(frame))
        self._suspend_printing(follower, frame)
        if is_generator(code):
            # The frame is part of the entry so that its id is not reused.
            self.effects.generators[id(frame)] = (frame, follower)
        follower.called_by_c = _is_called_by_c(code, caller_frame)
        function = function_of(frame)
        if type(function) is types.FunctionType and not self.effects.is_own(function):
            self.reads.note_function(function, frame)
        self._note_own_slots(frame, code, follower)
        if caller_frame is not None and code.co_name == "__init__" and code.co_argcount:
            first_argument = follower.slot(0)
            first_argument = (
                cell_contents(first_argument)
                if type(first_argument) is types.CellType
                else first_argument
            )
            caller: Any = caller_frame.f_trace
            if type(first_argument) is caller.called_class:
                self.effects.note_created(first_argument)
        return follower

    def _suspend_printing(self, follower: Follower, frame: types.FrameType) -> None:
        """Observe frames of the program as usual while a library prints or logs."""
        if self.effects.library_printing is not None and not is_foreign_library(frame):
            follower.suspended_printing = self.effects.library_printing
            self.effects.library_printing = None

    def _follow_import(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        """Follow an import by numtape, or a callback of the collector, until it returns."""
        if event == "return" and frame is self.import_frame:
            self.import_frame = None
        return self._follow_import

    def _note_own_slots(
        self, frame: types.FrameType, code: types.CodeType, follower: Follower
    ) -> None:
        """Note the objects that Python creates for a call: cells, ``*args`` and ``**kwargs``."""
        count = code.co_argcount + code.co_kwonlyargcount
        variadic_count = sum(
            bool(code.co_flags & flag) for flag in (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
        )
        slots = [*range(count, count + variadic_count)]
        first_cell = len(code.co_varnames)
        slots += range(first_cell, slot_count(code) - len(code.co_freevars))
        names = code.co_varnames
        slots += [k for k, name in enumerate(names) if name in code.co_cellvars]
        for k in slots:
            self.effects.note_created(slot_object(follower.array_address + WORD * k))


def _is_called_by_c(code: types.CodeType, caller: types.FrameType | None) -> bool:
    """Return whether C code or numtape called a function, and may examine its result."""
    follower = getattr(caller, "f_trace", None)
    if type(follower) is not Follower or follower.instruction is None:
        return True
    if follower.instruction.is_call:
        return follower.called_code is not code
    return code.co_name.startswith("__array")
