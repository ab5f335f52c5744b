"""Follow a running frame, instruction by instruction."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Protocol

from ...cpython.bytecode import Instruction, is_generator
from ...cpython.frames import owns_only_reference, slot_count, slot_object
from ...cpython.version import WORD
from .effects import CallEffects
from .read_set import ReadSet
from .write_set import WriteSet

ResultHandler = Callable[["Follower", Any, Instruction | None], None]
InstructionHandlers = dict[str, Callable[["Follower", Any, Instruction], None] | None]


class FrameObserver(Protocol):
    """The observer of a call, as its followers use it; see `Observer`."""

    effects: CallEffects
    reads: ReadSet
    writes: WriteSet
    handlers: InstructionHandlers
    muted_follower: Follower | None
    is_following: bool

    def note_conversion(self, value: Any, follower: Follower, frame: types.FrameType) -> None:
        """Note a result that a Python special method returns to an instruction or to C code."""

    def on_error(self, error: Exception, frame: types.FrameType) -> None:
        """Refuse the call because observing failed."""


class Follower:
    """Follows one frame: Python calls it before every instruction.

    A handler that needs the instruction's result stores a function in `on_result`.

    Attributes:
      array_address: The address of the frame's array.
      stack_address: The address of the frame's stack.
      on_result: Called when the present instruction is done; None if its result does not matter.
      instruction: The last instruction that has a handler.
      called_class: The class that the instruction calls.
      called_code: The code of the Python function that the instruction calls.
      called_by_c: Whether C code or numtape called the frame, and may examine its result.
      ran_python: Whether Python functions have run since the instruction began.
      keywords: The names of the keyword arguments of the next call.
      other_tracer: The trace function of another tool for the frame.
      other_wants_opcodes: Whether that function wants to be called for instructions.
      last_offset: The offset of the last instruction that Python reported since the frame began or
        continued; -1 for none.
      exception_offset: The offset of the last exception.
      suspended_printing: The printing frame of a library that called this frame of the program.
    """

    __slots__ = (
        "array_address",
        "called_by_c",
        "called_class",
        "called_code",
        "code",
        "effects",
        "exception_offset",
        "instruction",
        "instructions",
        "keywords",
        "last_offset",
        "observer",
        "on_result",
        "other_tracer",
        "other_wants_opcodes",
        "ran_python",
        "reads",
        "stack_address",
        "suspended_printing",
        "writes",
    )

    def __init__(
        self,
        observer: FrameObserver,
        code: types.CodeType,
        instructions: dict[int, Instruction],
        array_address: int,
    ) -> None:
        self.observer, self.code, self.instructions = observer, code, instructions
        self.effects, self.reads, self.writes = observer.effects, observer.reads, observer.writes
        self.set_array_address(array_address)
        self.on_result: ResultHandler | None = None
        self.instruction: Instruction | None = None
        self.ran_python = False
        self.called_class: type | None = None
        self.called_code: types.CodeType | None = None
        self.called_by_c = False
        self.keywords: tuple[str, ...] = ()
        self.other_tracer: Any = None
        self.other_wants_opcodes = False
        self.last_offset = self.exception_offset = -1
        self.suspended_printing: object = None

    def set_array_address(self, address: int) -> None:
        """Set the address of the frame's array, which can change while a generator waits."""
        self.array_address, self.stack_address = address, address + WORD * slot_count(self.code)

    def peek(self, instruction: Instruction, k: int) -> Any:
        """Return the object ``k`` positions below the top of the stack."""
        return slot_object(self.address(instruction, k))

    def address(self, instruction: Instruction, k: int = 0) -> int:
        """Return the address of the slot ``k`` positions below the top of the stack."""
        return self.stack_address + WORD * (instruction.depth - 1 - k)

    def is_unshared(self, instruction: Instruction, k: int = 0) -> bool:
        """Return whether the stack holds the only reference to the object at a position."""
        return owns_only_reference(self.address(instruction, k))

    def slot(self, k: int) -> Any:
        """Return local variable or cell ``k``."""
        return slot_object(self.array_address + WORD * k)

    def __call__(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        """Handle an event, as described for `sys.settrace`."""
        observer = self.observer
        if event == "opcode":
            self.last_offset = frame.f_lasti
        if event == "opcode" and self.on_result is None and self.other_tracer is None:
            # Most instructions have no effects.
            instruction, effects = self.instructions.get(frame.f_lasti), self.effects
            if (
                instruction is not None
                and observer.handlers.get(instruction.kind, instruction) is None
                and observer.muted_follower is None
                and effects.library_printing is None
                and effects.printing_follower is None
            ):
                return self
        if observer.is_following:
            try:
                self._follow(frame, event, arg)
            except (RecursionError, MemoryError):
                raise  # errors of the program
            except Exception as error:
                observer.on_error(error, frame)
        if self.other_tracer is not None and (event != "opcode" or self.other_wants_opcodes):
            tracer = self.other_tracer(frame, event, arg)
            self.other_tracer = self.other_tracer if tracer is None else tracer
        return self

    def _has_seen_exit(self, frame: types.FrameType, result: Any) -> bool:
        """Return whether the instruction or exception that leaves the frame was reported.

        A profiler or a monitoring tool can prevent this.
        """
        last = self.instructions.get(self.last_offset)
        if last is not None and last.is_exit:
            return True
        is_exception = result is None and self.exception_offset == frame.f_lasti
        return is_exception and (last is not None or is_generator(self.code))

    def _follow(self, frame: types.FrameType, event: str, arg: Any) -> None:
        observer = self.observer
        if event in ("opcode", "exception"):  # the call of the last instruction has ended
            if observer.muted_follower is self:
                observer.muted_follower = None
            if self.effects.library_printing is self:
                self.effects.library_printing = None
            if self.effects.printing_follower is self:
                self.effects.printing_follower = None
        if event == "exception":
            self.exception_offset = frame.f_lasti
        pending = self.on_result
        if event == "opcode":
            instruction = self.instructions.get(frame.f_lasti)
            if instruction is None:
                self.effects.refuse("an instruction is unknown", frame)
                return
            if pending is not None:
                self.on_result = None
                pending(self, frame, instruction)
            try:
                handler = observer.handlers[instruction.kind]
            except KeyError:
                self.effects.refuse(f"the instruction {instruction.kind} is not known", frame)
                return
            if handler is not None:
                self.ran_python = False
                self.called_class = None
                self.called_code = None
                self.instruction = instruction
                handler(self, frame, instruction)
        elif event == "return":
            if not self._has_seen_exit(frame, arg):
                self.effects.refuse("Python does not report all its instructions", frame)
            if self.called_by_c:
                self.reads.note_result_for_c(arg, frame)
            observer.note_conversion(arg, self, frame)
            if self.suspended_printing is not None:
                self.effects.library_printing = self.suspended_printing
                self.suspended_printing = None
        elif event == "exception" and pending is not None:
            self.on_result = None
            pending(self, frame, None)
