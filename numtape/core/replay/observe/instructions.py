"""Note what each kind of instruction reads and changes; `core.cpython.bytecode` lists the kinds.

A handler runs before its instruction, with the stack at that point. If the result matters, it sets
``follower.on_result``, which runs after the instruction; its argument is None if it raised.
"""

from __future__ import annotations

import abc
import types
from typing import Any

import numpy as np

from ...cpython.api import NULL
from ...cpython.bytecode import (
    IS_NULL_BELOW,
    ITERATOR_POSITION,
    Instruction,
    unpacked_call_positions,
)
from . import c_arguments, c_functions, reads
from .follower import Follower
from .lookups import NAME_HANDLERS, Handler, format_key, read_item
from .ownership import FROZEN_DICTS, MAPPINGS, VIEWS, class_attribute, is_constant, is_python_class
from .reads import MISSING, is_a

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
            address = follower.address(next_instruction, ITERATOR_POSITION)
            c_arguments.note_iterator(follower, frame, value, address)

    follower.on_result = finish


def _unpack(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    c_arguments.note_iteration(follower, frame, follower.peek(instruction, 0))


def _extend(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    value = follower.peek(instruction, 0)
    c_arguments.note_iteration(follower, frame, value)
    if instruction.kind == "extend set" and is_a(value, c_arguments.CONTAINER_TYPES):
        c_arguments.note_hashing(follower, frame, value)
    elif instruction.kind != "extend list":
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
    if not any(is_a(holder, cls) and type(holder).get is cls.get for cls in MAPPINGS):
        follower.effects.refuse(f"it matches a {type(holder).__name__}", frame)
        return
    if is_a(holder, FROZEN_DICTS):
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
    operands = follower.peek(instruction, 1), follower.peek(instruction, 0)
    is_in_place = instruction.kind == "operate in place"
    c_arguments.note_operator(follower, frame, operands, is_in_place)


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
    if caller_follower.instruction.is_call:
        for x in c_arguments.examine(follower, frame, value, "what asks a generator").values():
            follower.reads.note_elements(x, frame)


def _truth(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    c_arguments.note_truth(follower, frame, follower.peek(instruction, 0))


def _format(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    depth = 1 if instruction.kind == "format by specification" else 0
    c_arguments.examine_elements(follower, frame, follower.peek(instruction, depth), "the text")
    c_arguments.note_class_name(follower, frame, follower.peek(instruction, depth))


# Calls.


def _set_keywords(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    follower.keywords = instruction.value


def _call(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    keyword_names = follower.keywords
    follower.keywords = ()
    offset = 0
    if instruction.kind == "call with keywords":
        keyword_names, offset = follower.peek(instruction, 0), 1
    count = instruction.arg or 0
    args = [follower.peek(instruction, offset + k) for k in reversed(range(count))]
    lower = follower.peek(instruction, offset + count + 1)
    upper = follower.peek(instruction, offset + count)
    if IS_NULL_BELOW:
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
    positions = unpacked_call_positions(instruction)
    function, args, kwargs = (
        NULL if k is None else follower.peek(instruction, k) for k in positions
    )
    if type(args) is not tuple:
        c_arguments.note_iteration(follower, frame, args)
        if type(args) in (list, dict, set, frozenset, *VIEWS):
            args = tuple(args)
        else:
            if type(function) is not types.FunctionType:
                follower.effects.refuse("it calls a C function with *arguments", frame)
            args = ()
    keywords = {} if kwargs is NULL else dict(kwargs)
    c_functions.call(follower, frame, function, args, keywords, instruction.is_discarded)


def _build(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    """Note a new object. Only keys and items of sets are read."""
    count = instruction.arg or 0
    if instruction.kind != "build":
        stride = 1 if instruction.kind == "build set" else 2
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
    key = follower.peek(instruction, 0 if instruction.kind == "add to set" else 1)
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


_HANDLERS: dict[Handler, tuple[str, ...]] = NAME_HANDLERS | {
    _read_item: ("load item",),
    _read_slice: ("load slice",),
    _iterate: ("iterate",),
    _unpack: ("unpack",),
    _extend: ("extend list", "extend set", "extend dict"),
    _contains: ("contains",),
    _length: ("length",),
    _match_keys: ("match keys",),
    _match_abstract_class: ("match abstract class",),
    _match_class: ("match class",),
    _operate: ("operate", "operate in place"),
    _compare: ("compare",),
    _compare_identity: ("compare identity",),
    _operate_unary: ("operate unary",),
    _truth: ("test",),
    _yield: ("yield",),
    _format: ("format", "format by specification"),
    _set_keywords: ("name keywords",),
    _call: ("call", "call with keywords"),
    _call_unpacked: ("call unpacked",),
    _build: ("build", "build set", "build dict"),
    _add_item: ("add to set", "add to dict"),
    _raise: ("raise",),
    _match_exception: ("match exception",),
    _enter_context: ("enter context",),
    _store_item: ("store item",),
    _store_slice: ("store slice",),
}

INSTRUCTIONS: dict[str, Handler | None] = {
    **dict.fromkeys(("local", "next")),
    **{kind: run for run, kinds in _HANDLERS.items() for kind in kinds},
}
