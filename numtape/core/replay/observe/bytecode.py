"""The instructions of code, each with the depth of the stack before it."""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...values.weakrefs import weak_cache

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
      name: The name in `dis`.
      arg: The argument, a number, or None.
      value: The meaning of the argument: a name, a constant, or the target of a jump.
      depth: The number of objects on the stack before it.
      is_discarded: Whether the next instruction only discards its result.
    """

    name: str
    arg: int | None
    value: Any
    depth: int
    is_discarded: bool


def instructions_of(code: types.CodeType) -> dict[int, Instruction]:
    """Return the instructions that can be reached, by offset.

    Raises:
      ValueError: If two paths to an instruction have different stack depths, which code compiled
        by Python never has.
    """
    instructions = list(dis.get_instructions(code))
    positions = {x.offset: k for k, x in enumerate(instructions)}
    depths: dict[int, int] = {}
    targets = [(0, 0)]
    targets += [(x.target, x.depth + 1 + x.pushes_offset) for x in _exception_handlers(code)]
    while targets:
        offset, depth = targets.pop()
        for x in instructions[positions[offset] :]:
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
    # With EXTENDED_ARG prefixes Python 3.11 reports the offset of the first prefix.
    reported_offsets, first_offset = {}, None
    for x in instructions:
        first_offset = x.offset if first_offset is None else first_offset
        if x.opname != "EXTENDED_ARG":
            reported_offsets[x.offset] = first_offset if sys.version_info < (3, 12) else x.offset
            first_offset = None
    discarded = [x.opname == "POP_TOP" for x in instructions[1:]] + [False]
    return {
        reported_offsets.get(x.offset, x.offset): Instruction(
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


def names_loaded(instructions: dict[int, Instruction]) -> set[str]:
    """Return the names of attributes, globals and free variables that code may read."""
    return {
        instruction.value for instruction in instructions.values() if instruction.name in _LOADS
    }


def _stack_effect(x: dis.Instruction) -> int:
    """Return the change of the stack depth by an instruction that does not jump."""
    if x.opname == "RETURN_GENERATOR":
        return 1  # a generator's first sent value is pushed without an instruction
    if x.opname == "PRECALL":
        return 0  # `dis` counts the arguments here, but they remain for the following CALL
    effect = dis.stack_effect(x.opcode, x.arg, jump=False)
    if x.opname == "CALL" and "PRECALL" in dis.opmap:
        effect -= x.arg or 0
    return effect


class ExceptionHandler(NamedTuple):
    """An exception handler.

    Attributes:
      start, end: The range of offsets that it covers; `end` is excluded.
      target: The offset of its first instruction.
      depth: The stack depth at which it starts.
      pushes_offset: Whether the offset of the raising instruction is pushed as well.
    """

    start: int
    end: int
    target: int
    depth: int
    pushes_offset: bool


# Instructions of the handlers that the compiler adds to generators and comprehensions.
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
    "POP_ITER",
}


def has_handler(frame: types.FrameType) -> bool:
    """Return whether an exception at a frame's instruction runs code of the program."""
    offset = frame.f_lasti
    return any(
        x.start <= offset < x.end and not _only_cleans_up(frame.f_code, x.target)
        for x in _exception_handlers(frame.f_code)
    )


@weak_cache
def _dis_instructions(code: types.CodeType) -> list[dis.Instruction]:
    return list(dis.get_instructions(code))


def _only_cleans_up(code: types.CodeType, target: int) -> bool:
    """Return whether a handler only discards the stack and raises again."""
    for x in _dis_instructions(code):
        if x.offset >= target:
            if x.opname not in _CLEANUP:
                return False
            if x.opname == "RERAISE":
                return True
    return False


def _exception_handlers(code: types.CodeType) -> Iterator[ExceptionHandler]:
    """Yield the exception handlers of code.

    CPython's Objects/exception_handling_notes.txt describes the table: numbers in base 64, with the
    highest digit first, and bit 6 set in all digits except the last.
    """
    numbers, number = [], 0
    for byte in code.co_exceptiontable:
        number = number << 6 | byte & 0x3F
        if not byte & 0x40:
            numbers.append(number)
            number = 0
    for k in range(0, len(numbers), 4):
        start, size, target, depth = numbers[k : k + 4]
        yield ExceptionHandler(
            2 * start, 2 * (start + size), 2 * target, depth >> 1, bool(depth & 1)
        )


@weak_cache
def try_instructions_of(code: types.CodeType) -> dict[int, Instruction] | None:
    """Return `instructions_of`, or None if it fails."""
    try:
        return instructions_of(code)
    except ValueError:
        return None
