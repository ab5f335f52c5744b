"""Note what each instruction of Python 3.11 to 3.15 reads and changes.

A handler runs before its instruction, with the stack at that point. If the result matters, it sets
``follower.on_result``, which runs after the instruction; its argument is None if it raised.
"""

from __future__ import annotations

import abc
import sys
import types
from typing import Any

import numpy as np

from . import c_arguments, c_functions, reads
from .bytecode import Instruction
from .follower import Follower
from .frames import NULL
from .lookups import NAME_HANDLERS, Handler, format_key, read_item
from .ownership import ITERATORS, VIEWS, class_attribute, is_constant, is_python_class
from .reads import MISSING, is_a

_NULL_BELOW = sys.version_info < (3, 13)  # the NULL of a call without ``self`` is below
# Whether ``function(*args)`` has a place for ``**kwargs`` on the stack, which may be NULL.
_HAS_KWARGS_SLOT = sys.version_info >= (3, 14)
# Whether an iterator is followed by an index on the stack, for lists and tuples.
_ITERATOR_HAS_INDEX = sys.version_info >= (3, 15)
_SUBSCRIPT = 26  # the number of ``x[key]`` among binary operators, from Python 3.14 on


# Items.


def _read_item(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    read_item(follower, frame, follower.peek(instruction, 1), follower.peek(instruction, 0))


def _read_slice(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    part = slice(follower.peek(instruction, 1), follower.peek(instruction, 0))
    read_item(follower, frame, follower.peek(instruction, 2), part)


def _iterate(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    value = follower.peek(instruction, 0)
    c_arguments.note_iteration(follower, frame, value)

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        if next_instruction is not None:
            depth = 1 if _ITERATOR_HAS_INDEX else 0
            is_unshared = follower.is_unshared(next_instruction, depth)
            iterator = follower.peek(next_instruction, depth)
            if iterator is not value:
                follower.reads.note_class(iterator, frame)
            if is_unshared and iterator is not value:
                follower.effects.note_created(iterator)
            elif is_a(iterator, (*ITERATORS, types.GeneratorType)):
                if not follower.effects.is_own(iterator):
                    kind = type(iterator).__name__
                    follower.effects.refuse(f"it continues a {kind} from outside", frame)

    follower.on_result = finish


def _unpack(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    c_arguments.note_iteration(follower, frame, follower.peek(instruction, 0))


def _extend(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    value = follower.peek(instruction, 0)
    c_arguments.note_iteration(follower, frame, value)
    if instruction.name == "SET_UPDATE" and is_a(value, c_arguments.CONTAINER_TYPES):
        c_arguments.note_hashing(follower, frame, value)
    elif instruction.name != "LIST_EXTEND":
        c_arguments.note_mapping(follower, frame, value)


def _contains(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    value, holder = follower.peek(instruction, 1), follower.peek(instruction, 0)
    c_arguments.note_contains(follower, frame, value, holder)


def _length(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    c_arguments.note_length(follower, frame, follower.peek(instruction, 0))


def _match_keys(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    holder, keys = follower.peek(instruction, 1), follower.peek(instruction, 0)
    if is_constant(holder) or follower.effects.is_own(holder):
        return
    if not is_a(holder, dict) or type(holder).get is not dict.get:
        follower.effects.refuse(f"it matches a {type(holder).__name__}", frame)
        return
    for key in keys:
        label = f"{follower.reads.name_of(holder)}[{format_key(key)}]"
        value = dict.get(holder, key, MISSING)
        follower.reads.note_read(reads.ITEM, holder, key, value, label, frame)


def _match_abstract_class(
    follower: Follower, frame: types.FrameType, instruction: Instruction
) -> None:
    """Note a check for a sequence or mapping, which depends on registered classes."""
    value = follower.peek(instruction, 0)
    if is_python_class(type(value)):
        follower.reads.note_class(value, frame)
        label = "classes that are registered"
        follower.reads.note_call(abc.get_cache_token, (), label, None, frame)


def _match_class(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    value = follower.peek(instruction, 2)
    cls = follower.peek(instruction, 1)
    names = follower.peek(instruction, 0)
    count = instruction.arg or 0
    c_arguments.note_type(follower, frame, value)
    follower.reads.note_class(cls, frame)

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        positional_names = getattr(cls, "__match_args__", ())
        if is_a(cls, type):
            follower.reads.note_class_attribute(cls, "__match_args__", "__match_args__", frame)
        if not is_a(value, cls) and (
            next_instruction is None or follower.peek(next_instruction, 0) is None
        ):
            if follower.ran_python:  # a Python function may have answered the check
                follower.effects.refuse(
                    "it matches a class whose check runs Python functions", frame
                )
            return
        found_by_python = any(
            is_a(class_attribute(type(value), name), types.FunctionType)
            for name in ("__getattr__", "__getattribute__")
        )
        if found_by_python and follower.ran_python:
            follower.effects.refuse("it matches attributes that Python functions compute", frame)
            return
        for name in (*positional_names[:count], *names):
            class_value = class_attribute(type(value), name)
            runs_python = is_a(class_value, property) or hasattr(type(class_value), "__set__")
            runs_python = runs_python and not is_a(class_value, types.MemberDescriptorType)
            attribute = MISSING if runs_python else getattr(value, name, MISSING)
            follower.reads.note_attribute(value, name, attribute, runs_python, frame)

    follower.on_result = finish


# Operators.


def _operate(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    if instruction.arg == _SUBSCRIPT:
        _read_item(follower, frame, instruction)
        return
    operands = follower.peek(instruction, 1), follower.peek(instruction, 0)
    c_arguments.note_operator(follower, frame, operands, _in_place(instruction))


def _in_place(instruction: Instruction) -> bool:
    return instruction.name == "BINARY_OP" and instruction.arg is not None and instruction.arg >= 13


def _compare(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    c_arguments.note_operator(
        follower, frame, (follower.peek(instruction, 1), follower.peek(instruction, 0)), False
    )


def _compare_identity(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    x, y = follower.peek(instruction, 1), follower.peek(instruction, 0)
    cls = type(x)
    c_arguments.note_identity_test(follower, frame, (x, y))
    if (
        cls is type(y)
        and not follower.effects.is_own(x)
        and (
            cls in (int, float, str, complex, bytes, slice, range, types.MethodType)
            or is_a(x, tuple | np.generic)
        )
    ):
        follower.effects.refuse("it compares numbers, strings or tuples by `is`", frame)


def _operate_unary(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    c_arguments.note_operator(follower, frame, (follower.peek(instruction, 0),), False)


def _yield(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    """Note a value that a generator yields, which C code may examine."""
    value, caller_frame = follower.peek(instruction, 0), frame.f_back
    caller_follower = getattr(caller_frame, "f_trace", None)
    if (
        is_constant(value)
        or type(caller_follower) is not Follower
        or caller_follower.instruction is None
    ):
        return
    if "CALL" in caller_follower.instruction.name:
        for x in c_arguments.examine(follower, frame, value, "what asks a generator").values():
            follower.reads.note_elements(x, frame)


def _truth(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    c_arguments.note_truth(follower, frame, follower.peek(instruction, 0))


def _format(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    depth = (
        1
        if instruction.name == "FORMAT_WITH_SPEC"
        or (instruction.name == "FORMAT_VALUE" and (instruction.arg or 0) & 4)
        else 0
    )
    c_arguments.examine_elements(follower, frame, follower.peek(instruction, depth), "the text")
    c_arguments.note_class_name(follower, frame, follower.peek(instruction, depth))


def _intrinsic(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    if instruction.arg in (1, 2, 4):  # interactive console, `import *`, asynchronous generators
        follower.effects.refuse("an instruction is unknown", frame)
    elif instruction.arg == 5:
        _operate_unary(follower, frame, instruction)


# Calls.


def _set_keywords(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    assert instruction.arg is not None
    follower.keywords = follower.code.co_consts[instruction.arg]


def _call(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    keyword_names = follower.keywords
    follower.keywords = ()
    offset = 0
    if instruction.name == "CALL_KW":
        keyword_names, offset = follower.peek(instruction, 0), 1
    count = instruction.arg or 0
    args = [follower.peek(instruction, offset + k) for k in reversed(range(count))]
    lower = follower.peek(instruction, offset + count + 1)
    upper = follower.peek(instruction, offset + count)
    if _NULL_BELOW:
        if lower is NULL:
            function = upper
        else:
            function = lower
            args.insert(0, upper)
    else:
        function = lower
        if upper is not NULL:
            args.insert(0, upper)
    kwargs: dict[str, Any] = {}
    if keyword_names:
        kwargs = dict(zip(keyword_names, args[len(args) - len(keyword_names) :], strict=True))
        del args[len(args) - len(keyword_names) :]
    c_functions.call(follower, frame, function, tuple(args), kwargs, instruction.is_discarded)


def _call_unpacked(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    """Note ``function(*args, **kwargs)``."""
    kwargs: Any = {}
    offset = 0
    if _HAS_KWARGS_SLOT or (instruction.arg or 0) & 1:
        kwargs, offset = follower.peek(instruction, 0), 1
    if kwargs is NULL:
        kwargs = {}
    args = follower.peek(instruction, offset)
    function = follower.peek(instruction, offset + (1 if _NULL_BELOW else 2))
    if type(args) is not tuple:
        c_arguments.note_iteration(follower, frame, args)
        if type(args) in (list, dict, set, frozenset, *VIEWS):
            args = tuple(args)
        else:
            if type(function) is not types.FunctionType:
                follower.effects.refuse("it calls a C function with *arguments", frame)
            args = ()
    c_functions.call(follower, frame, function, args, dict(kwargs), instruction.is_discarded)


def _build(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    """Note a new object. Only keys and items of sets are read."""
    count = instruction.arg or 0
    if instruction.name in ("BUILD_SET", "BUILD_MAP"):
        stride = 1 if instruction.name == "BUILD_SET" else 2
        keys = [follower.peek(instruction, stride * (k + 1) - 1) for k in range(count)]
        c_arguments.note_hashing(follower, frame, keys)

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        if next_instruction is not None:
            follower.effects.note_created(follower.peek(next_instruction, 0))

    follower.on_result = finish


def _add_item(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    """Note a new item of a set or dict comprehension."""
    key = follower.peek(instruction, 0 if instruction.name == "SET_ADD" else 1)
    c_arguments.note_hashing(follower, frame, (key,))


def _raise(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    """Note ``raise``, which calls classes."""
    for k in range(instruction.arg or 0):
        follower.reads.note_class(follower.peek(instruction, k), frame)


def _match_exception(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    """Note ``except``, which compares the error's class."""
    c_arguments.note_hashing(
        follower, frame, (follower.peek(instruction, 1), follower.peek(instruction, 0))
    )


def _enter_context(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    """Note ``with``, which calls the object's methods.

    From Python 3.14 on, each method is loaded by an instruction.
    """
    manager = follower.peek(instruction, 0)
    c_arguments.note_context_manager(follower, frame, manager)


# Writes.


def _store_item(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    value = follower.peek(instruction, 2)
    holder = follower.peek(instruction, 1)
    key = follower.peek(instruction, 0)
    label = f"{follower.reads.name_of(holder)}[{format_key(key)}]"
    follower.reads.note_class(holder, frame)
    c_arguments.note_hashing(follower, frame, (key,))
    _copy_value(follower, frame, holder, key, value)
    if is_a(holder, dict | list) and not is_a(key, slice):
        follower.writes.note_write(holder, key, value, label, frame)
        if is_a(holder, list):  # the list must have such an item
            c_arguments.note_length(follower, frame, holder)
    else:
        target = f"a slice of {follower.reads.name_of(holder)}" if is_a(key, slice) else label
        follower.writes.note_mutation(holder, f"sets {target}", frame)


def _copy_value(
    follower: Follower, frame: types.FrameType, holder: Any, key: Any, value: Any
) -> None:
    """Note a value that is stored in an item or slice: arrays and lists copy it."""
    if is_a(holder, np.ndarray) or is_a(key, slice):
        arrays = c_arguments.examine(follower, frame, value, "a copy")
        arrays |= c_arguments.examine(follower, frame, key, "an index")
        for x in arrays.values():
            follower.reads.note_elements(x, frame)
    if is_a(holder, memoryview | bytearray) and not follower.effects.is_own(holder):
        follower.effects.refuse("it writes to memory that other code may see", frame)


def _store_slice(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    holder = follower.peek(instruction, 2)
    follower.reads.note_class(holder, frame)
    bounds = slice(follower.peek(instruction, 1), follower.peek(instruction, 0))
    c_arguments.examine_elements(follower, frame, bounds, "an index")
    _copy_value(follower, frame, holder, slice(None), follower.peek(instruction, 3))
    follower.writes.note_mutation(
        holder, f"sets a slice of {follower.reads.name_of(holder)}", frame
    )


_HANDLERS: dict[Handler, str] = NAME_HANDLERS | {
    _read_item: "BINARY_SUBSCR",
    _read_slice: "BINARY_SLICE",
    _iterate: "GET_ITER GET_YIELD_FROM_ITER",
    _unpack: "UNPACK_SEQUENCE UNPACK_EX",
    _extend: "LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE",
    _contains: "CONTAINS_OP",
    _length: "GET_LEN",
    _match_keys: "MATCH_KEYS",
    _match_abstract_class: "MATCH_MAPPING MATCH_SEQUENCE",
    _match_class: "MATCH_CLASS",
    _operate: "BINARY_OP",
    _compare: "COMPARE_OP",
    _compare_identity: "IS_OP",
    _operate_unary: "UNARY_NEGATIVE UNARY_POSITIVE UNARY_INVERT",
    _truth: (
        "UNARY_NOT TO_BOOL POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_FORWARD_IF_TRUE "
        "POP_JUMP_FORWARD_IF_FALSE POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE "
        "JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP"
    ),
    _yield: "YIELD_VALUE",
    _format: "FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE",
    _intrinsic: "CALL_INTRINSIC_1",
    _set_keywords: "KW_NAMES",
    _call: "CALL CALL_KW",
    _call_unpacked: "CALL_FUNCTION_EX",
    _build: (
        "BUILD_LIST BUILD_SET BUILD_MAP BUILD_CONST_KEY_MAP BUILD_TUPLE LIST_TO_TUPLE "
        "MAKE_FUNCTION SET_FUNCTION_ATTRIBUTE BUILD_TEMPLATE BUILD_INTERPOLATION"
    ),
    _add_item: "SET_ADD MAP_ADD",
    _raise: "RAISE_VARARGS",
    _match_exception: "CHECK_EXC_MATCH CHECK_EG_MATCH",
    _enter_context: "BEFORE_WITH LOAD_SPECIAL",
    _store_item: "STORE_SUBSCR",
    _store_slice: "STORE_SLICE",
}

# Local variables, the stack, jumps, exceptions: no state outside of the frame.
_HARMLESS = """
    NOP CACHE RESUME PRECALL PUSH_NULL POP_TOP COPY SWAP EXTENDED_ARG LOAD_CONST RETURN_CONST
    LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST STORE_FAST STORE_FAST_MAYBE_NULL
    STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST DELETE_FAST LOAD_CLOSURE MAKE_CELL COPY_FREE_VARS
    LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_SMALL_INT LOAD_COMMON_CONSTANT
    NOT_TAKEN POP_ITER
    JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE
    POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_NONE
    POP_JUMP_BACKWARD_IF_NOT_NONE RETURN_VALUE RETURN_GENERATOR SEND FOR_ITER END_FOR
    END_SEND CLEANUP_THROW POP_EXCEPT PUSH_EXC_INFO RERAISE
    WITH_EXCEPT_START LOAD_ASSERTION_ERROR LOAD_BUILD_CLASS LOAD_LOCALS SETUP_ANNOTATIONS
    BUILD_STRING BUILD_SLICE LIST_APPEND
    CALL_INTRINSIC_2 EXIT_INIT_CHECK
"""  # noqa: E501

INSTRUCTIONS: dict[str, Handler | None] = {
    **dict.fromkeys(_HARMLESS.split()),
    **{name: run for run, names in _HANDLERS.items() for name in names.split()},
}
