"""Follow a running frame instruction by instruction, and read the operands of the next one.

Python exposes a frame's local variables, but not its stack. Both are in one array behind the
frame's header. Its layout is known for some versions of CPython. `unsupported_reason` checks the
version, and verifies the layout with a frame of known contents.
"""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from .bytecode import Instruction

if TYPE_CHECKING:
    from .observer import Observer

WORD = ctypes.sizeof(ctypes.c_void_p)

# Offsets in bytes: of the header's address in a frame object; in the header, of the running
# function, its namespace and the array. From CPython's Include/internal/pycore_frame.h.
_HEADER_OFFSET = 24
_FUNCTION_OFFSET = {(3, 11): 0, (3, 12): 16, (3, 13): 16}.get(sys.version_info[:2], 0)
_NAMESPACE_OFFSET = _FUNCTION_OFFSET + 24
_SLOTS_OFFSET = 72
VERSIONS = ((3, 11), (3, 12), (3, 13))


class _Null:
    """An empty slot of a frame's array."""

    def __repr__(self) -> str:
        return "nothing"


NULL: Any = _Null()


def word_at(address: int) -> int:
    """Return the word at an address."""
    return ctypes.c_size_t.from_address(address).value


def object_at(address: int) -> Any:
    """Return the object to which the word at an address refers, or `NULL`."""
    try:
        return ctypes.py_object.from_address(address).value
    except ValueError:
        return NULL


def slots_address(frame: types.FrameType) -> int:
    """Return the address of a frame's array: local variables, cells, then the stack."""
    return word_at(id(frame) + _HEADER_OFFSET) + _SLOTS_OFFSET


def function_of(frame: types.FrameType) -> Any:
    """Return the function that runs in a frame; for `exec`, the function made for the code."""
    return object_at(word_at(id(frame) + _HEADER_OFFSET) + _FUNCTION_OFFSET)


def namespace_of(frame: types.FrameType) -> Any:
    """Return the namespace of a class body, without changing it.

    Reading `f_locals` in Python 3.11 and 3.12 first copies cells into it, which overwrites a
    ``__class__`` that the body set.
    """
    return object_at(word_at(id(frame) + _HEADER_OFFSET) + _NAMESPACE_OFFSET)


def slot_count(code: types.CodeType) -> int:
    """Return the number of local variables and cells before the stack."""
    local_names = set(code.co_varnames)
    cells = [name for name in code.co_cellvars if name not in local_names]
    return len(code.co_varnames) + len(cells) + len(code.co_freevars)


@cache
def unsupported_reason() -> str:
    """Return why frames cannot be read in this Python; "" if they can."""
    version = ".".join(map(str, sys.version_info[:2]))
    if sys.implementation.name != "cpython":
        return f"what it reads cannot be observed in {sys.implementation.name}"
    if sys.version_info[:2] not in VERSIONS:
        return f"what it reads cannot be observed in Python {version} yet"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return f"what it reads cannot be observed in a free-threaded Python {version}"
    if object.__basicsize__ != 2 * WORD or WORD != 8 or not _is_layout_expected():
        return f"the frames of this build of Python {version} do not have the expected layout"
    return ""


def _is_layout_expected() -> bool:
    """Return whether a frame with known contents has the expected layout."""
    first, second = object(), object()

    def probe(x: Any, y: Any) -> bool:
        frame, inner = sys._getframe(), first
        address = slots_address(frame)
        addresses = [word_at(address + WORD * k) for k in range(2)]
        free_index = slot_count(frame.f_code) - 1
        cell = object_at(address + WORD * free_index)
        function = function_of(frame)
        del frame  # it refers to itself, and to all callers
        return (
            addresses == [id(x), id(y)]
            and function is probe
            and inner is first
            and type(cell) is types.CellType
        )

    class ProbeBody:
        names_found = namespace_of(sys._getframe()) is locals()

    return probe(second, first) and probe(first, second) and ProbeBody.names_found


ResultHandler = Callable[["Follower", Any, Instruction | None], None]
InstructionHandlers = dict[str, Callable[["Follower", Any, Instruction], None] | None]


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
      suspended_printing: The printing frame of a library that called this frame of the program.
    """

    __slots__ = (
        "array_address",
        "called_by_c",
        "called_class",
        "called_code",
        "code",
        "instruction",
        "instructions",
        "keywords",
        "observer",
        "on_result",
        "other_tracer",
        "other_wants_opcodes",
        "ran_python",
        "stack_address",
        "suspended_printing",
    )

    def __init__(
        self,
        observer: Observer,
        code: types.CodeType,
        instructions: dict[int, Instruction],
        array_address: int,
    ) -> None:
        self.observer, self.code, self.instructions = observer, code, instructions
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
        self.suspended_printing: Follower | None = None

    def set_array_address(self, address: int) -> None:
        """Set the address of the frame's array, which can change while a generator waits."""
        self.array_address, self.stack_address = address, address + WORD * slot_count(self.code)

    def peek(self, instruction: Instruction, k: int) -> Any:
        """Return the object ``k`` positions below the top of the stack."""
        return object_at(self.stack_address + WORD * (instruction.depth - 1 - k))

    def is_unshared(self, instruction: Instruction) -> bool:
        """Return whether the stack holds the only reference to the object on top."""
        address = word_at(self.stack_address + WORD * (instruction.depth - 1))
        return address != 0 and word_at(address) & 0xFFFFFFFF == 1

    def slot(self, k: int) -> Any:
        """Return local variable or cell ``k``."""
        return object_at(self.array_address + WORD * k)

    def __call__(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        """Handle an event, as described for `sys.settrace`."""
        observer = self.observer
        if observer._active:
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

    def _follow(self, frame: types.FrameType, event: str, arg: Any) -> None:
        observer = self.observer
        if event in ("opcode", "exception"):  # the call of the last instruction has ended
            if observer.muted is self:
                observer.muted = None
            if observer.library_printing is self:
                observer.library_printing = None
            if observer.printing_follower is self:
                observer.printing_follower = None
        pending = self.on_result
        if event == "opcode":
            instruction = self.instructions.get(frame.f_lasti)
            if instruction is None:
                observer.refuse("an instruction is unknown", frame)
                return
            if pending is not None:
                self.on_result = None
                pending(self, frame, instruction)
            try:
                handler = observer.handlers[instruction.name]
            except KeyError:
                observer.refuse(f"the instruction {instruction.name} is not known", frame)
                return
            if handler is not None:
                self.ran_python, self.called_class, self.called_code, self.instruction = (
                    False,
                    None,
                    None,
                    instruction,
                )
                handler(self, frame, instruction)
        elif event == "return":
            if self.called_by_c:
                observer.note_result_for_c(arg, frame)
            observer.note_conversion(arg, self, frame)
            if self.suspended_printing is not None:
                observer.library_printing, self.suspended_printing = self.suspended_printing, None
        elif event == "exception" and pending is not None:
            self.on_result = None
            pending(self, frame, None)
