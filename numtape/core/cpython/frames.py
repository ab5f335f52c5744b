"""Read the local variables, the stack and the function of a running frame from its memory.

Python exposes a frame's local variables, but not its stack. Both are in one array behind the
frame's header. Its layout is known for some versions of CPython. `unsupported_reason` checks the
version, and verifies the layout with a frame of known contents.
"""

from __future__ import annotations

import ctypes
import sys
import types
from functools import cache
from typing import Any

from . import layout, version
from .api import NULL, object_at, reference_count, word_at
from .version import VERSION, WORD

# Offsets in bytes: of the header's address in a frame object; in the header, of the running
# function, its namespace and the array. From CPython's Include/internal/pycore_frame.h.
_HEADER_OFFSET = 24
_FUNCTION_OFFSET = 16 if VERSION >= (3, 12) else 0
_NAMESPACE_OFFSET = _FUNCTION_OFFSET + 24
_SLOTS_OFFSET = 80 if VERSION >= (3, 14) else 72

# From Python 3.14 on, the low bits of a slot are a tag: not 0 if the slot borrows its reference,
# and _NUMBER if it holds a number instead. From CPython's Include/internal/pycore_stackref.h.
_TAG, _NUMBER = 3, 3


def current_instruction(frame: types.FrameType) -> str:
    """Return the name of the instruction that a frame executes."""
    import dis

    return dis.opname[frame.f_code.co_code[frame.f_lasti]]


def slot_object(address: int) -> Any:
    """Return the object in the slot at an address, or `NULL` if it is empty or holds a number."""
    word = word_at(address)
    if word & _TAG == 0:
        return object_at(address)
    if word & _TAG == _NUMBER:
        return NULL
    tagless = ctypes.c_size_t(word & ~_TAG)
    return object_at(ctypes.addressof(tagless))


def owns_only_reference(address: int) -> bool:
    """Return whether the slot at an address has the only reference to its object."""
    word = word_at(address)
    return word != 0 and word & _TAG == 0 and reference_count(word) == 1


def report_instructions(frame: types.FrameType, follower: Any, tracer: Any) -> None:
    """Make Python report each instruction of a frame to ``follower``, its trace function.

    If the code has been followed before and a profiler or monitoring tool was turned on or off
    since then, Python 3.12 and later report the instructions only if they were turned off first.

    Args:
      frame: The frame, whose code has not begun.
      follower: Called as described for `sys.settrace`.
      tracer: The thread's trace function.
    """
    frame.f_trace = follower  # Python 3.13 needs it before the next line
    if VERSION >= (3, 13):
        frame.f_trace_opcodes = False
    frame.f_trace_opcodes = True
    if VERSION == (3, 12):
        sys.settrace(None)
    sys.settrace(tracer)


def slots_address(frame: types.FrameType) -> int:
    """Return the address of a frame's array: local variables, cells, then the stack."""
    return word_at(id(frame) + _HEADER_OFFSET) + _SLOTS_OFFSET


def stack_address(frame: types.FrameType) -> int:
    """Return the address of a frame's stack."""
    return slots_address(frame) + WORD * slot_count(frame.f_code)


def function_of(frame: types.FrameType) -> Any:
    """Return the function that runs in a frame; for `exec`, the function made for the code."""
    return slot_object(word_at(id(frame) + _HEADER_OFFSET) + _FUNCTION_OFFSET)


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
    """Return why replay cannot read frames and compare objects; "" if it can."""
    reason = version.unsupported_reason() or layout.failure()
    if not reason and not _is_layout_expected():
        reason = "the frames of this Python do not have the expected layout"
    return reason


def _is_layout_expected() -> bool:
    """Return whether a frame with known contents has the expected layout."""
    first, second = object(), object()

    def probe(x: Any, y: Any) -> bool:
        frame, captured = sys._getframe(), first
        address = slots_address(frame)
        slots = [slot_object(address + WORD * k) for k in range(2)]
        free_index = slot_count(frame.f_code) - 1
        cell = slot_object(address + WORD * free_index)
        function = function_of(frame)
        del frame  # it refers to itself, and to all callers
        return (
            slots[0] is x
            and slots[1] is y
            and function is probe
            and captured is first
            and type(cell) is types.CellType
        )

    class ProbeBody:
        names_found = namespace_of(sys._getframe()) is locals()

    return probe(second, first) and probe(first, second) and ProbeBody.names_found
