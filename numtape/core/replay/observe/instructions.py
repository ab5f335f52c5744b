"""What each instruction of Python 3.11 to 3.13 reads of Python's state, and what it changes.

A handler runs before the instruction, with the stack as it is then. Where the result matters it
sets ``follower.pending``, which runs when the instruction is done: without a step if it raised.
"""

from __future__ import annotations

import abc
import sys
import types
from typing import Any

import numpy as np

from . import examined, functions, reads
from .frames import NULL, Follower
from .items import read_item, short
from .known import is_python_class
from .names import HANDLERS, Handler
from .reads import MISSING, is_a
from .steps import Instruction
from .whose import ITERATORS, VIEWS, class_attribute, is_constant

_NULL_BELOW = sys.version_info < (3, 13)  # where a call has nothing for ``self``, this is below


# Items.


def _item(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    read_item(follower, frame, follower.peek(step, 1), follower.peek(step, 0))


def _slice(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    part = slice(follower.peek(step, 1), follower.peek(step, 0))
    read_item(follower, frame, follower.peek(step, 2), part)


def _iterated(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    value = follower.peek(step, 0)
    examined.iterate(follower, frame, value)

    def done(follower: Follower, frame: types.FrameType, after: Instruction | None) -> None:
        if after is not None:
            fresh, found = follower.fresh(after), follower.peek(after, 0)
            if found is not value:
                follower.observer.class_of(found, frame)
            if fresh and found is not value:
                follower.observer.make(found)
            elif is_a(found, (*ITERATORS, types.GeneratorType)):
                if not follower.observer.is_own(found):
                    kind = type(found).__name__
                    follower.observer.refuse(f"it goes on with a {kind} from outside", frame)

    follower.pending = done


def _unpacked(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    examined.iterate(follower, frame, follower.peek(step, 0))


def _extended(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    value = follower.peek(step, 0)
    examined.iterate(follower, frame, value)
    if step.name == "SET_UPDATE" and is_a(value, examined.CONTAINER_TYPES):
        examined.note_hashing(follower, frame, value)
    elif step.name != "LIST_EXTEND":
        examined.note_mapping(follower, frame, value)


def _contained(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    value, holder = follower.peek(step, 1), follower.peek(step, 0)
    examined.contains(follower, frame, value, holder)


def _length(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    examined.length(follower, frame, follower.peek(step, 0))


def _match_keys(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    holder, keys = follower.peek(step, 1), follower.peek(step, 0)
    if is_constant(holder) or follower.observer.is_own(holder):
        return
    if not is_a(holder, dict) or type(holder).get is not dict.get:
        follower.observer.refuse(f"it matches a {type(holder).__name__}", frame)
        return
    for key in keys:
        label = f"{follower.observer.name_of(holder)}[{short(key)}]"
        found = dict.get(holder, key, MISSING)
        follower.observer.read(reads.ITEM, holder, key, found, label, frame)


def _match_kind(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    """Whether something is a sequence or mapping, as which its class may be registered."""
    value = follower.peek(step, 0)
    if is_python_class(type(value)):
        follower.observer.class_of(value, frame)
        label = "classes that are registered"
        follower.observer.asks(abc.get_cache_token, (), label, None, frame)


def _match_class(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    value, kind, names = follower.peek(step, 2), follower.peek(step, 1), follower.peek(step, 0)
    count = step.arg or 0
    examined.kind_of(follower, frame, value)
    follower.observer.class_of(kind, frame)

    def done(follower: Follower, frame: types.FrameType, after: Instruction | None) -> None:
        observer = follower.observer
        matched = getattr(kind, "__match_args__", ())
        if is_a(kind, type):
            observer.of_class(kind, "__match_args__", "__match_args__", frame)
        if not is_a(value, kind) and (after is None or follower.peek(after, 0) is None):
            if follower.entered:  # which may say that it is one
                observer.refuse("it matches a class that functions answer for", frame)
            return
        found_by_python = any(
            is_a(class_attribute(type(value), name), types.FunctionType)
            for name in ("__getattr__", "__getattribute__")
        )
        if found_by_python and follower.entered:
            observer.refuse("it matches attributes that functions find", frame)
            return
        for name in (*matched[:count], *names):
            static = class_attribute(type(value), name)
            entered = is_a(static, property) or hasattr(type(static), "__set__")
            entered = entered and not is_a(static, types.MemberDescriptorType)
            found = MISSING if entered else getattr(value, name, MISSING)
            observer.attribute(value, name, found, entered, frame)

    follower.pending = done


# Operators.


def _operated(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    operands = follower.peek(step, 1), follower.peek(step, 0)
    examined.operate(follower, frame, operands, _in_place(step))


def _in_place(step: Instruction) -> bool:
    return step.name == "BINARY_OP" and step.arg is not None and step.arg >= 13


def _compared(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    examined.operate(follower, frame, (follower.peek(step, 1), follower.peek(step, 0)), False)


def _identical(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    one, other = follower.peek(step, 1), follower.peek(step, 0)
    kind = type(one)
    examined.identical(follower, frame, (one, other))
    if (
        kind is type(other)
        and not follower.observer.is_own(one)
        and (
            kind in (int, float, str, complex, bytes, slice, range, types.MethodType)
            or is_a(one, tuple | np.generic)
        )
    ):
        follower.observer.refuse("it compares numbers, strings or tuples by `is`", frame)


def _alone(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    examined.operate(follower, frame, (follower.peek(step, 0),), False)


def _yielded(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    """A generator gives something; what C asks for it may look into it."""
    value, above = follower.peek(step, 0), frame.f_back
    asking = getattr(above, "f_trace", None)
    if is_constant(value) or type(asking) is not Follower or asking.step is None:
        return
    if "CALL" in asking.step.name:
        for x in examined.examine(follower, frame, value, "what asks a generator").values():
            follower.observer.array(x, frame)


def _truth(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    examined.truth(follower, frame, follower.peek(step, 0))


def _formatted(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    depth = (
        1
        if step.name == "FORMAT_WITH_SPEC" or (step.name == "FORMAT_VALUE" and (step.arg or 0) & 4)
        else 0
    )
    examined.examine_elements(follower, frame, follower.peek(step, depth), "the text")
    examined.note_class_name(follower, frame, follower.peek(step, depth))


def _intrinsic(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    if step.arg in (1, 2, 4):  # of an interactive console, `import *`, asynchronous generators
        follower.observer.refuse("an instruction is not known", frame)
    elif step.arg == 5:
        _alone(follower, frame, step)


# Calls.


def _keywords(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    assert step.arg is not None
    follower.keywords = follower.code.co_consts[step.arg]


def _call(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    names = follower.keywords
    follower.keywords = ()
    below = 0
    if step.name == "CALL_KW":
        names, below = follower.peek(step, 0), 1
    count = step.arg or 0
    args = [follower.peek(step, below + k) for k in reversed(range(count))]
    first, second = follower.peek(step, below + count + 1), follower.peek(step, below + count)
    if _NULL_BELOW:
        if first is NULL:
            function = second
        else:
            function = first
            args.insert(0, second)
    else:
        function = first
        if second is not NULL:
            args.insert(0, second)
    named: dict[str, Any] = {}
    if names:
        named = dict(zip(names, args[len(args) - len(names) :], strict=True))
        del args[len(args) - len(names) :]
    functions.call(follower, frame, function, tuple(args), named, step.dropped)


def _call_with(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    """``function(*args, **kwargs)``."""
    named: dict[str, Any] = {}
    below = 0
    if (step.arg or 0) & 1:
        named, below = follower.peek(step, 0), 1
    args = follower.peek(step, below)
    function = follower.peek(step, below + (1 if _NULL_BELOW else 2))
    if type(args) is not tuple:
        examined.iterate(follower, frame, args)
        if type(args) in (list, dict, set, frozenset, *VIEWS):
            args = tuple(args)
        else:
            if type(function) is not types.FunctionType:
                follower.observer.refuse("it calls what is not Python's with *arguments", frame)
            args = ()
    functions.call(follower, frame, function, args, dict(named), step.dropped)


def _built(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    """Something new: only keys and what is in a set are looked at."""
    count = step.arg or 0
    if step.name in ("BUILD_SET", "BUILD_MAP"):
        apart = 1 if step.name == "BUILD_SET" else 2
        keys = [follower.peek(step, apart * (k + 1) - 1) for k in range(count)]
        examined.note_hashing(follower, frame, keys)

    def done(follower: Follower, frame: types.FrameType, after: Instruction | None) -> None:
        if after is not None:
            follower.observer.make(follower.peek(after, 0))

    follower.pending = done


def _added(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    """A set or dict comprehension gets an item."""
    key = follower.peek(step, 0 if step.name == "SET_ADD" else 1)
    examined.note_hashing(follower, frame, (key,))


def _raised(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    """``raise``: classes are called."""
    for k in range(step.arg or 0):
        follower.observer.class_of(follower.peek(step, k), frame)


def _caught(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    """``except``: whether the error's class is made of one of these."""
    examined.note_hashing(follower, frame, (follower.peek(step, 1), follower.peek(step, 0)))


def _entered(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    """``with``: the object is asked to enter, and to leave at the end."""
    manager = follower.peek(step, 0)
    examined.context(follower, frame, manager)


# Writing.


def _stored_item(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    value, holder, key = follower.peek(step, 2), follower.peek(step, 1), follower.peek(step, 0)
    label = f"{follower.observer.name_of(holder)}[{short(key)}]"
    follower.observer.class_of(holder, frame)
    examined.note_hashing(follower, frame, (key,))
    _copied(follower, frame, holder, key, value)
    if is_a(holder, dict | list) and not is_a(key, slice):
        follower.observer.wrote(holder, key, value, label, frame)
        if is_a(holder, list):  # whether it has such an item
            examined.length(follower, frame, holder)
    else:
        part = f"a slice of {follower.observer.name_of(holder)}" if is_a(key, slice) else label
        follower.observer.mutates(holder, f"sets {part}", frame)


def _copied(follower: Follower, frame: types.FrameType, holder: Any, key: Any, value: Any) -> None:
    """What an item or slice becomes: arrays and lists copy what they are given."""
    if is_a(holder, np.ndarray) or is_a(key, slice):
        arrays = examined.examine(follower, frame, value, "a copy")
        arrays |= examined.examine(follower, frame, key, "an index")
        for x in arrays.values():
            follower.observer.array(x, frame)
    if is_a(holder, memoryview | bytearray) and not follower.observer.is_own(holder):
        follower.observer.refuse("it writes to memory that others may see", frame)


def _stored_slice(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    holder = follower.peek(step, 2)
    follower.observer.class_of(holder, frame)
    bounds = slice(follower.peek(step, 1), follower.peek(step, 0))
    examined.examine_elements(follower, frame, bounds, "an index")
    _copied(follower, frame, holder, slice(None), follower.peek(step, 3))
    follower.observer.mutates(holder, f"sets a slice of {follower.observer.name_of(holder)}", frame)


_HANDLERS: dict[Handler, str] = HANDLERS | {
    _item: "BINARY_SUBSCR",
    _slice: "BINARY_SLICE",
    _iterated: "GET_ITER GET_YIELD_FROM_ITER",
    _unpacked: "UNPACK_SEQUENCE UNPACK_EX",
    _extended: "LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE",
    _contained: "CONTAINS_OP",
    _length: "GET_LEN",
    _match_keys: "MATCH_KEYS",
    _match_kind: "MATCH_MAPPING MATCH_SEQUENCE",
    _match_class: "MATCH_CLASS",
    _operated: "BINARY_OP",
    _compared: "COMPARE_OP",
    _identical: "IS_OP",
    _alone: "UNARY_NEGATIVE UNARY_POSITIVE UNARY_INVERT",
    _truth: (
        "UNARY_NOT TO_BOOL POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_FORWARD_IF_TRUE "
        "POP_JUMP_FORWARD_IF_FALSE POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE "
        "JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP"
    ),
    _yielded: "YIELD_VALUE",
    _formatted: "FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE",
    _intrinsic: "CALL_INTRINSIC_1",
    _keywords: "KW_NAMES",
    _call: "CALL CALL_KW",
    _call_with: "CALL_FUNCTION_EX",
    _built: (
        "BUILD_LIST BUILD_SET BUILD_MAP BUILD_CONST_KEY_MAP BUILD_TUPLE LIST_TO_TUPLE "
        "MAKE_FUNCTION SET_FUNCTION_ATTRIBUTE"
    ),
    _added: "SET_ADD MAP_ADD",
    _raised: "RAISE_VARARGS",
    _caught: "CHECK_EXC_MATCH CHECK_EG_MATCH",
    _entered: "BEFORE_WITH",
    _stored_item: "STORE_SUBSCR",
    _stored_slice: "STORE_SLICE",
}

# Local variables, the stack, jumps, exceptions: nothing of anybody else's.
_HARMLESS = """
    NOP CACHE RESUME PRECALL PUSH_NULL POP_TOP COPY SWAP EXTENDED_ARG LOAD_CONST RETURN_CONST
    LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST STORE_FAST STORE_FAST_MAYBE_NULL
    STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST DELETE_FAST LOAD_CLOSURE MAKE_CELL COPY_FREE_VARS
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
