"""The instructions of code: what each one does, in the same terms for all versions of Python.

`instructions_of` returns the instructions of code by offset, each with the depth of the stack
before it. `KINDS` lists what instructions do. An instruction that is not listed is unknown.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..values.weakrefs import weak_cache
from .handlers import entries
from .version import VERSION

# The kinds of instructions, with their names in `dis`. The stack is described from the top down.
KINDS = {
    # Local variables, the stack, jumps, exceptions: no state outside of the frame.
    "local": """
        NOP CACHE RESUME PRECALL PUSH_NULL POP_TOP COPY SWAP EXTENDED_ARG LOAD_CONST RETURN_CONST
        LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST STORE_FAST
        STORE_FAST_MAYBE_NULL STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST DELETE_FAST LOAD_CLOSURE
        MAKE_CELL COPY_FREE_VARS LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_SMALL_INT
        LOAD_COMMON_CONSTANT NOT_TAKEN POP_ITER JUMP_FORWARD JUMP_BACKWARD
        JUMP_BACKWARD_NO_INTERRUPT POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE POP_JUMP_FORWARD_IF_NONE
        POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE
        RETURN_VALUE RETURN_GENERATOR END_FOR END_SEND CLEANUP_THROW POP_EXCEPT PUSH_EXC_INFO
        RERAISE PREP_RERAISE_STAR WITH_EXCEPT_START LOAD_ASSERTION_ERROR LOAD_BUILD_CLASS
        LOAD_LOCALS SETUP_ANNOTATIONS BUILD_STRING BUILD_SLICE LIST_APPEND EXIT_INIT_CHECK""",
    # Names. The value is the name; for cells, the argument is the slot.
    "load global": "LOAD_GLOBAL",
    "load name": "LOAD_NAME",
    "load free": "LOAD_DEREF LOAD_CLASSDEREF",
    # In a dict, which is on top; otherwise the global or free variable.
    "load from dict or global": "LOAD_FROM_DICT_OR_GLOBALS",
    "load from dict or free": "LOAD_FROM_DICT_OR_DEREF",
    "store global": "STORE_GLOBAL",
    "store name": "STORE_NAME",
    "store free": "STORE_DEREF",
    "delete global": "DELETE_GLOBAL",
    "delete name": "DELETE_NAME",
    "delete free": "DELETE_DEREF",
    "import": "IMPORT_NAME",  # a list of names, and the level of the package
    "import from": "IMPORT_FROM",
    # Attributes of the object on top. "load method" pushes two objects: a function and the object,
    # or NULL and what the attribute is, in either order.
    "load attribute": "LOAD_ATTR",
    "load method": "LOAD_METHOD",
    "load super attribute": "LOAD_SUPER_ATTR",  # object, class, `super`
    "store attribute": "STORE_ATTR",  # object, value
    "delete attribute": "DELETE_ATTR",
    # Items.
    "load item": "BINARY_SUBSCR",  # key, object
    "load slice": "BINARY_SLICE",  # end, start, object
    "store item": "STORE_SUBSCR",  # key, object, value
    "store slice": "STORE_SLICE",  # end, start, object, value
    "delete item": "DELETE_SUBSCR",  # key, object
    # Iteration. The position of the iterator on the stack afterwards is `ITERATOR_POSITION`.
    "iterate": "GET_ITER GET_YIELD_FROM_ITER",
    "next": "FOR_ITER SEND",
    "unpack": "UNPACK_SEQUENCE UNPACK_EX",
    "extend list": "LIST_EXTEND",
    "extend set": "SET_UPDATE",
    "extend dict": "DICT_UPDATE DICT_MERGE",
    "yield": "YIELD_VALUE",
    # Operators.
    "operate": "BINARY_OP",
    "operate in place": "",
    "operate unary": "UNARY_NEGATIVE UNARY_POSITIVE UNARY_INVERT",
    "compare": "COMPARE_OP",
    "compare identity": "IS_OP",
    "contains": "CONTAINS_OP",  # object, value
    "length": "GET_LEN",
    "test": """
        UNARY_NOT TO_BOOL POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_FORWARD_IF_TRUE
        POP_JUMP_FORWARD_IF_FALSE POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE
        JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP""",
    "format": "FORMAT_VALUE FORMAT_SIMPLE CONVERT_VALUE",
    "format by specification": "FORMAT_WITH_SPEC",  # the specification, the value
    # Patterns.
    "match keys": "MATCH_KEYS",  # keys, object
    "match abstract class": "MATCH_MAPPING MATCH_SEQUENCE",
    "match class": "MATCH_CLASS",  # names, class, object
    # Calls. The argument is the number of arguments.
    "name keywords": "KW_NAMES",  # of the next call; the value is a tuple of names
    "call": "CALL",
    "call with keywords": "CALL_KW",  # a tuple of names is on top
    "call unpacked": "CALL_FUNCTION_EX",  # see `unpacked_call_positions`
    "enter context": "BEFORE_WITH LOAD_SPECIAL",
    # New objects. The argument is the number of items.
    "build": """
        BUILD_LIST BUILD_CONST_KEY_MAP BUILD_TUPLE LIST_TO_TUPLE MAKE_FUNCTION
        SET_FUNCTION_ATTRIBUTE BUILD_TEMPLATE BUILD_INTERPOLATION""",
    "build set": "BUILD_SET",
    "build dict": "BUILD_MAP",
    "add to set": "SET_ADD",
    "add to dict": "MAP_ADD",  # value, key
    # Exceptions.
    "raise": "RAISE_VARARGS",
    "match exception": "CHECK_EXC_MATCH CHECK_EG_MATCH",
}
_KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}

# The position of a new iterator on the stack: an index is above it from Python 3.15 on.
ITERATOR_POSITION = 1 if VERSION >= (3, 15) else 0
# Whether a call that has no ``self`` has NULL below the function, not above it.
IS_NULL_BELOW = VERSION < (3, 13)
_HAS_KWARGS_PLACE = VERSION >= (3, 14)  # of unpacked calls; NULL without ``**kwargs``
_IN_PLACE, _LOAD_ITEM = range(13, 26), 26  # operators of BINARY_OP, from CPython's opcode.h
# Functions of CALL_INTRINSIC_1 and CALL_INTRINSIC_2 by number, from CPython's pycore_intrinsics.h.
# Others belong to the interactive console, `import *` and asynchronous generators.
_INTRINSICS = {
    "CALL_INTRINSIC_1": {
        3: "local",  # StopIteration becomes RuntimeError
        5: "operate unary",  # +x
        6: "build",  # a tuple of a list
        **dict.fromkeys((7, 8, 9, 11), "build"),  # type parameters and aliases
        10: "local",  # Generic[...]
    },
    "CALL_INTRINSIC_2": {
        1: "local",  # errors that `except*` leaves
        **dict.fromkeys((2, 3), "build"),  # type parameters
        **dict.fromkeys((4, 5), "local"),  # type parameters of a function, a default of one
    },
}


def _kind_of(x: dis.Instruction) -> str:
    """Return what an instruction does, or its name if that is unknown."""
    argument = x.arg or 0
    if x.opname == "BINARY_OP":
        if argument >= _LOAD_ITEM:
            return "load item" if argument == _LOAD_ITEM else x.opname
        return "operate in place" if argument in _IN_PLACE else "operate"
    if x.opname == "LOAD_ATTR" and VERSION >= (3, 12) and argument & 1:
        return "load method"
    if x.opname == "FORMAT_VALUE" and argument & 4:
        return "format by specification"
    if x.opname in _INTRINSICS:
        return _INTRINSICS[x.opname].get(argument, x.opname)
    return _KIND_OF.get(x.opname, x.opname)


def is_generator(code: types.CodeType) -> bool:
    """Return whether code runs as a generator or coroutine, which can be suspended."""
    flags = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    return bool(code.co_flags & flags)


def unpacked_call_positions(instruction: Instruction) -> tuple[int, int, int | None]:
    """Return positions on the stack of a call's function, arguments and keyword arguments."""
    has_kwargs = _HAS_KWARGS_PLACE or (instruction.arg or 0) & 1
    arguments = 1 if has_kwargs else 0
    return arguments + (1 if IS_NULL_BELOW else 2), arguments, 0 if has_kwargs else None


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
# Instructions that leave a frame.
_EXITS = {"RETURN_VALUE", "RETURN_CONST", "RETURN_GENERATOR", "YIELD_VALUE", "RERAISE"}
# The argument of END_ASYNC_FOR is the position of its loop.
_JUMPS = {*dis.hasjrel, *dis.hasjabs} - {dis.opmap["END_ASYNC_FOR"]}


class Instruction(NamedTuple):
    """An instruction.

    Attributes:
      kind: Its kind, a key of `KINDS`; its name in `dis` if the kind is unknown.
      arg: The argument, a number, or None.
      value: The meaning of the argument: a name, a constant, or the target of a jump.
      depth: The number of objects on the stack before it.
      is_discarded: Whether the next instruction only discards its result.
      is_exit: Whether it leaves the frame: it returns, yields or raises again.
    """

    kind: str
    arg: int | None
    value: Any
    depth: int
    is_discarded: bool
    is_exit: bool

    @property
    def is_call(self) -> bool:
        """Whether it calls an object that is on the stack."""
        return self.kind in ("call", "call with keywords", "call unpacked")


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
            reported_offsets[x.offset] = first_offset if VERSION < (3, 12) else x.offset
            first_offset = None
    discarded = [x.opname == "POP_TOP" for x in instructions[1:]] + [False]
    return {
        reported_offsets.get(x.offset, x.offset): Instruction(
            _kind_of(x),
            x.arg,
            _value_of(x, code),
            depths[x.offset],
            is_discarded,
            x.opname in _EXITS,
        )
        for x, is_discarded in zip(instructions, discarded, strict=True)
        if x.offset in depths
    }


def _value_of(x: dis.Instruction, code: types.CodeType) -> Any:
    """Return the meaning of an instruction's argument."""
    return code.co_consts[x.arg or 0] if x.opname == "KW_NAMES" else x.argval


_LOADS = {
    "load attribute",
    "load method",
    "load super attribute",
    "load global",
    "load name",
    "load free",
    "load from dict or global",
    "load from dict or free",
    "import from",
}


def names_loaded(instructions: dict[int, Instruction]) -> set[str]:
    """Return the names of attributes, globals and free variables that code may read."""
    return {
        instruction.value for instruction in instructions.values() if instruction.kind in _LOADS
    }


@weak_cache
def early_iteration(code: types.CodeType) -> int | None:
    """Return the offset at which a call of a generator calls ``iter`` of its argument, or None.

    From Python 3.15 on, generator expressions do this before they return the generator. Python does
    not report these instructions.
    """
    for x in dis.get_instructions(code):
        if x.opname == "GET_ITER":
            return x.offset
        if x.opname == "RETURN_GENERATOR":
            break
    return None


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
    """Yield the exception handlers of code."""
    for start, size, target, depth in entries(code.co_exceptiontable):
        yield ExceptionHandler(start, start + size, target, depth >> 1, bool(depth & 1))


@weak_cache
def try_instructions_of(code: types.CodeType) -> dict[int, Instruction] | None:
    """Return `instructions_of`, or None if it fails."""
    try:
        return instructions_of(code)
    except ValueError:
        return None
