"""The instructions of a function's code, each with the depth of the stack before it."""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from .lately import weak_cache

_TERMINATORS = {
    "RETURN_VALUE",
    "RETURN_CONST",
    "RAISE_VARARGS",
    "RERAISE",
    "JUMP_FORWARD",
    "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT",
    "INTERPRETER_EXIT",
}
_JUMPS = {*dis.hasjrel, *dis.hasjabs}


class Instruction(NamedTuple):
    """An instruction.

    Attributes:
      name: What `dis` calls it.
      arg: Its argument, a number, or None.
      value: What the argument stands for: a name, a constant, the target of a jump.
      depth: How many objects are on the stack before it.
      dropped: Whether the next instruction does nothing but drop its result.
    """

    name: str
    arg: int | None
    value: Any
    depth: int
    dropped: bool


def instructions_of(code: types.CodeType) -> dict[int, Instruction]:
    """The instructions that can be reached, by offset.

    Raises:
      ValueError: If two ways to one instruction leave stacks of different depths, which code that
        Python compiled does not have.
    """
    instructions = list(dis.get_instructions(code))
    index = {x.offset: k for k, x in enumerate(instructions)}
    depths: dict[int, int] = {}
    targets = [(0, 0)]
    targets += [(x.target, x.depth + 1 + x.last) for x in _exception_handlers(code)]
    while targets:
        offset, depth = targets.pop()
        for x in instructions[index[offset] :]:
            if x.offset in depths:
                if depths[x.offset] != depth:
                    raise ValueError(f"{code.co_qualname} is not understood at {x.offset}")
                break
            depths[x.offset] = depth
            if x.opcode in _JUMPS:
                targets.append((x.argval, depth + dis.stack_effect(x.opcode, x.arg, jump=True)))
            if x.opname in _TERMINATORS:
                break
            depth += _stack_effect(x)
    # Python 3.11 tells of the first of several that are one, not of the last, which says what.
    reported, first = {}, None
    for x in instructions:
        first = x.offset if first is None else first
        if x.opname != "EXTENDED_ARG":
            reported[x.offset], first = first if sys.version_info < (3, 12) else x.offset, None
    discarded = [x.opname == "POP_TOP" for x in instructions[1:]] + [False]
    return {
        reported.get(x.offset, x.offset): Instruction(
            x.opname, x.arg, x.argval, depths[x.offset], is_discarded
        )
        for x, is_discarded in zip(instructions, discarded, strict=True)
        if x.offset in depths
    }


_LOADS = {
    "LOAD_ATTR",
    "LOAD_METHOD",
    "LOAD_SUPER_ATTR",
    "LOAD_GLOBAL",
    "LOAD_NAME",
    "LOAD_DEREF",
    "LOAD_CLASSDEREF",
    "IMPORT_FROM",
}


def names_loaded(steps: dict[int, Instruction]) -> set[str]:
    """The names of attributes, globals and free variables that code may read."""
    return {step.value for step in steps.values() if step.name in _LOADS}


def _stack_effect(x: dis.Instruction) -> int:
    """By how much an instruction that does not jump makes the stack deeper."""
    if x.opname == "RETURN_GENERATOR":
        return 1  # what a generator is sent first comes without an instruction that pushes it
    if x.opname == "PRECALL":
        return 0  # `dis` counts the arguments here, but they stay for the CALL behind it
    effect = dis.stack_effect(x.opcode, x.arg, jump=False)
    if x.opname == "CALL" and "PRECALL" in dis.opmap:
        effect -= x.arg or 0
    return effect


class ExceptionHandler(NamedTuple):
    """An exception handler.

    Attributes:
      start, end: The offsets of the instructions that it is for; the last one is not among them.
      target: Its own offset.
      depth: The depth of the stack that it begins with.
      last: Whether the offset of the instruction that raised is pushed as well.
    """

    start: int
    end: int
    target: int
    depth: int
    last: int


# What handlers do that the compiler adds to generators and comprehensions.
_CLEANUP = {
    "PUSH_EXC_INFO",
    "COPY",
    "SWAP",
    "POP_TOP",
    "POP_EXCEPT",
    "STORE_FAST",
    "RERAISE",
    "STORE_FAST_MAYBE_NULL",
    "CALL_INTRINSIC_1",
    "CACHE",
}


def has_handler(frame: types.FrameType) -> bool:
    """Whether an exception at a frame's instruction is caught, or runs code of the program's."""
    offset = frame.f_lasti
    return any(
        x.start <= offset < x.end and not _only_cleans(frame.f_code, x.target)
        for x in _exception_handlers(frame.f_code)
    )


@weak_cache
def _dis_instructions(code: types.CodeType) -> list[dis.Instruction]:
    return list(dis.get_instructions(code))


def _only_cleans(code: types.CodeType, target: int) -> bool:
    """Whether a handler drops what is on the stack and raises again."""
    for x in _dis_instructions(code):
        if x.offset >= target:
            if x.opname not in _CLEANUP:
                return False
            if x.opname == "RERAISE":
                return True
    return False


def _exception_handlers(code: types.CodeType) -> Iterator[ExceptionHandler]:
    """The exception handlers of code.

    The table is described in CPython's Objects/exception_handling_notes.txt: numbers in base 64,
    the highest digit first, bit 6 set in all digits but the last.
    """
    numbers, number = [], 0
    for byte in code.co_exceptiontable:
        number = number << 6 | byte & 0x3F
        if not byte & 0x40:
            numbers.append(number)
            number = 0
    for k in range(0, len(numbers), 4):
        start, size, target, depth = numbers[k : k + 4]
        yield ExceptionHandler(2 * start, 2 * (start + size), 2 * target, depth >> 1, depth & 1)


@weak_cache
def try_instructions_of(code: types.CodeType) -> dict[int, Instruction] | None:
    """As `instructions_of`; None if the code is not understood."""
    try:
        return instructions_of(code)
    except ValueError:
        return None
