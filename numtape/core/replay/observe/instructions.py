"""What each instruction of Python 3.11 to 3.13 reads of Python's state, and what it changes.

A handler runs before the instruction, with the stack as it is then. Where the result matters it
sets ``follower.pending``, which runs when the instruction is done: without a step if it raised.
"""

from __future__ import annotations

import abc
import sys
import types
from collections.abc import Callable
from importlib.util import resolve_name
from typing import Any

import numpy as np

from ...values.tensor import Tensor
from . import functions, looks, reads
from .frames import NOTHING, Follower, scope_of
from .items import read_item, short
from .known import made_by_python
from .reads import MISSING, contents, is_a
from .steps import Step
from .whose import ITERATORS, PACKAGE, VIEWS, in_class, is_constant, put_there

_NULL_BELOW = sys.version_info < (3, 13)  # where a call has nothing for ``self``, this is below


# Names.


def _global(follower: Follower, frame: types.FrameType, step: Step) -> None:
    scope, name = frame.f_globals, step.value
    if type(scope) is not dict:
        follower.observer.refuse("it runs with globals that are no dict", frame)
        return
    if follower.code.co_filename.startswith(PACKAGE):
        return
    value = scope.get(name, MISSING)
    follower.observer.read(reads.ENTRY, scope, name, value, name, frame)
    if value is MISSING:
        builtin = frame.f_builtins
        follower.observer.read(
            reads.ENTRY, builtin, name, builtin.get(name, MISSING), name, frame
        )


def _name(follower: Follower, frame: types.FrameType, step: Step) -> None:
    """A name in the body of a class, or in code that `exec` runs."""
    scope, name = scope_of(frame), step.value
    if type(scope) is not dict:
        follower.observer.refuse("it runs with names that are not in a dict", frame)
        return
    if scope is not frame.f_globals:
        value = scope.get(name, MISSING)
        follower.observer.read(reads.ENTRY, scope, name, value, name, frame)
        if value is not MISSING:
            return
    _global(follower, frame, step)


def _free(follower: Follower, frame: types.FrameType, step: Step) -> None:
    assert step.arg is not None
    cell = follower.slot(step.arg)
    if type(cell) is types.CellType:
        follower.observer.read(reads.CELL, cell, None, contents(cell), step.value, frame)


def _import(follower: Follower, frame: types.FrameType, step: Step) -> None:
    level, name = follower.peek(step, 1), step.value
    if level:
        package = frame.f_globals.get("__package__") or ""
        name = resolve_name("." * level + name, package)
    names = frame.f_builtins
    hook = names.get("__import__", MISSING)
    follower.observer.read(reads.ENTRY, names, "__import__", hook, "__import__", frame)
    if name not in sys.modules:
        follower.observer.muted = follower  # its code runs once, now

    def done(follower: Follower, frame: types.FrameType, after: Step | None) -> None:
        found = sys.modules.get(name, MISSING)
        follower.observer.read(reads.ENTRY, sys.modules, name, found, f"import {name}", frame)
        top = name.partition(".")[0]
        found = sys.modules.get(top, MISSING)
        follower.observer.read(reads.ENTRY, sys.modules, top, found, f"import {top}", frame)

    follower.pending = done


def _import_from(follower: Follower, frame: types.FrameType, step: Step) -> None:
    owner, name = follower.peek(step, 0), step.value

    def done(follower: Follower, frame: types.FrameType, after: Step | None) -> None:
        follower.observer.attribute(
            owner, name, getattr(owner, name, MISSING), follower.entered, frame
        )

    follower.pending = done


# Attributes.


def _attribute(follower: Follower, frame: types.FrameType, step: Step) -> None:
    owner, name = follower.peek(step, 0), step.value
    if type(owner) is Tensor or (is_constant(owner) and not put_there(owner, name)):
        return
    of_call = step.name == "LOAD_METHOD" or (
        sys.version_info >= (3, 12) and step.arg is not None and step.arg & 1
    )

    def done(follower: Follower, frame: types.FrameType, after: Step | None) -> None:
        observer, entered = follower.observer, follower.entered
        if after is None:
            observer.attribute(owner, name, MISSING, entered, frame)
            return
        if not of_call:
            observer.attribute(owner, name, follower.peek(after, 0), entered, frame)
            return
        first, second = follower.peek(after, 1), follower.peek(after, 0)
        if first is NOTHING or second is NOTHING:
            value = second if first is NOTHING else first
            observer.attribute(owner, name, value, entered, frame)
        elif entered:
            observer.attribute(owner, name, first, entered, frame)
        else:
            observer.method(owner, name, first, frame)

    follower.pending = done


def _super_attribute(follower: Follower, frame: types.FrameType, step: Step) -> None:
    made, kind, owner = follower.peek(step, 2), follower.peek(step, 1), follower.peek(step, 0)
    if made is super:
        follower.observer.attribute(super(kind, owner), step.value, MISSING, False, frame)
    else:
        follower.observer.refuse("`super` is another one", frame)


# Items.


def _item(follower: Follower, frame: types.FrameType, step: Step) -> None:
    read_item(follower, frame, follower.peek(step, 1), follower.peek(step, 0))


def _slice(follower: Follower, frame: types.FrameType, step: Step) -> None:
    part = slice(follower.peek(step, 1), follower.peek(step, 0))
    read_item(follower, frame, follower.peek(step, 2), part)


def _iterated(follower: Follower, frame: types.FrameType, step: Step) -> None:
    value = follower.peek(step, 0)
    looks.iterate(follower, frame, value)

    def done(follower: Follower, frame: types.FrameType, after: Step | None) -> None:
        if after is not None:
            fresh, found = follower.fresh(after), follower.peek(after, 0)
            if fresh and found is not value:
                follower.observer.make(found)
            elif is_a(found, (*ITERATORS, types.GeneratorType)):
                if not follower.observer.is_own(found):
                    kind = type(found).__name__
                    follower.observer.refuse(f"it goes on with a {kind} from outside", frame)

    follower.pending = done


def _unpacked(follower: Follower, frame: types.FrameType, step: Step) -> None:
    looks.iterate(follower, frame, follower.peek(step, 0))


def _extended(follower: Follower, frame: types.FrameType, step: Step) -> None:
    looks.iterate(follower, frame, follower.peek(step, 0))


def _contained(follower: Follower, frame: types.FrameType, step: Step) -> None:
    value, holder = follower.peek(step, 1), follower.peek(step, 0)
    looks.contains(follower, frame, value, holder)


def _length(follower: Follower, frame: types.FrameType, step: Step) -> None:
    looks.length(follower, frame, follower.peek(step, 0))


def _match_keys(follower: Follower, frame: types.FrameType, step: Step) -> None:
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


def _match_kind(follower: Follower, frame: types.FrameType, step: Step) -> None:
    """Whether something is a sequence or mapping, as which its class may be registered."""
    value = follower.peek(step, 0)
    if made_by_python(type(value)):
        follower.observer.class_of(value, frame)
        label = "classes that are registered"
        follower.observer.asks(abc.get_cache_token, (), label, None, frame)


def _match_class(follower: Follower, frame: types.FrameType, step: Step) -> None:
    value, kind, names = follower.peek(step, 2), follower.peek(step, 1), follower.peek(step, 0)
    count = step.arg or 0
    looks.kind_of(follower, frame, value)

    def done(follower: Follower, frame: types.FrameType, after: Step | None) -> None:
        observer = follower.observer
        matched = getattr(kind, "__match_args__", ())
        if is_a(kind, type):
            observer.of_class(kind, "__match_args__", "__match_args__", frame)
        if not is_a(value, kind):
            return
        found_by_python = any(
            is_a(in_class(type(value), name), types.FunctionType)
            for name in ("__getattr__", "__getattribute__")
        )
        if found_by_python and follower.entered:
            observer.refuse("it matches attributes that functions find", frame)
            return
        for name in (*matched[:count], *names):
            static = in_class(type(value), name)
            entered = is_a(static, property) or hasattr(type(static), "__set__")
            entered = entered and not is_a(static, types.MemberDescriptorType)
            found = MISSING if entered else getattr(value, name, MISSING)
            observer.attribute(value, name, found, entered, frame)

    follower.pending = done


# Operators.


def _operated(follower: Follower, frame: types.FrameType, step: Step) -> None:
    operands = follower.peek(step, 1), follower.peek(step, 0)
    looks.operate(follower, frame, operands, _in_place(step))


def _in_place(step: Step) -> bool:
    return step.name == "BINARY_OP" and step.arg is not None and step.arg >= 13


def _compared(follower: Follower, frame: types.FrameType, step: Step) -> None:
    looks.operate(follower, frame, (follower.peek(step, 1), follower.peek(step, 0)), False)


def _identical(follower: Follower, frame: types.FrameType, step: Step) -> None:
    one, other = follower.peek(step, 1), follower.peek(step, 0)
    kind = type(one)
    looks.identical(follower, frame, (one, other))
    if kind is type(other) and not follower.observer.is_own(one) and (
        kind in (int, float, str, complex, bytes, slice, range, types.MethodType)
        or is_a(one, tuple | np.generic)
    ):  # fmt: skip
        follower.observer.refuse("it compares numbers, strings or tuples by `is`", frame)


def _alone(follower: Follower, frame: types.FrameType, step: Step) -> None:
    looks.operate(follower, frame, (follower.peek(step, 0),), False)


def _yielded(follower: Follower, frame: types.FrameType, step: Step) -> None:
    """A generator gives something; what C asks for it may look into it."""
    value, above = follower.peek(step, 0), frame.f_back
    asking = getattr(above, "f_trace", None)
    if is_constant(value) or type(asking) is not Follower or asking.step is None:
        return
    if "CALL" in asking.step.name:
        for x in looks.look(follower, frame, value, "what asks a generator").values():
            follower.observer.array(x, frame)


def _truth(follower: Follower, frame: types.FrameType, step: Step) -> None:
    looks.truth(follower, frame, follower.peek(step, 0))


def _formatted(follower: Follower, frame: types.FrameType, step: Step) -> None:
    depth = 1 if step.name == "FORMAT_WITH_SPEC" or (
        step.name == "FORMAT_VALUE" and (step.arg or 0) & 4) else 0
    looks.observed(follower, frame, follower.peek(step, depth), "the text")


def _intrinsic(follower: Follower, frame: types.FrameType, step: Step) -> None:
    if step.arg in (1, 2, 4):  # of an interactive console, `import *`, asynchronous generators
        follower.observer.refuse("an instruction is not known", frame)
    elif step.arg == 5:
        _alone(follower, frame, step)


# Calls.


def _keywords(follower: Follower, frame: types.FrameType, step: Step) -> None:
    assert step.arg is not None
    follower.keywords = follower.code.co_consts[step.arg]


def _call(follower: Follower, frame: types.FrameType, step: Step) -> None:
    names = follower.keywords
    follower.keywords = ()
    below = 0
    if step.name == "CALL_KW":
        names, below = follower.peek(step, 0), 1
    count = step.arg or 0
    args = [follower.peek(step, below + k) for k in reversed(range(count))]
    first, second = follower.peek(step, below + count + 1), follower.peek(step, below + count)
    if _NULL_BELOW:
        if first is NOTHING:
            function = second
        else:
            function = first
            args.insert(0, second)
    else:
        function = first
        if second is not NOTHING:
            args.insert(0, second)
    named: dict[str, Any] = {}
    if names:
        named = dict(zip(names, args[len(args) - len(names) :], strict=True))
        del args[len(args) - len(names) :]
    functions.call(follower, frame, function, tuple(args), named, step.dropped)


def _call_with(follower: Follower, frame: types.FrameType, step: Step) -> None:
    """``function(*args, **kwargs)``."""
    named: dict[str, Any] = {}
    below = 0
    if (step.arg or 0) & 1:
        named, below = follower.peek(step, 0), 1
    args = follower.peek(step, below)
    function = follower.peek(step, below + (1 if _NULL_BELOW else 2))
    if type(args) is not tuple:
        looks.iterate(follower, frame, args)
        if type(args) in (list, dict, set, frozenset, *VIEWS):
            args = tuple(args)
        else:
            if type(function) is not types.FunctionType:
                follower.observer.refuse("it calls what is not Python's with *arguments", frame)
            args = ()
    functions.call(follower, frame, function, args, dict(named), step.dropped)


def _built(follower: Follower, frame: types.FrameType, step: Step) -> None:
    """Something new, whose parts nobody looks into."""

    def done(follower: Follower, frame: types.FrameType, after: Step | None) -> None:
        if after is not None:
            follower.observer.make(follower.peek(after, 0))

    follower.pending = done


def _entered(follower: Follower, frame: types.FrameType, step: Step) -> None:
    """``with``: the object is asked to enter, and to leave at the end."""
    manager = follower.peek(step, 0)
    looks.context(follower, frame, manager)


# Writing.


def _stored_attribute(follower: Follower, frame: types.FrameType, step: Step) -> None:
    holder = follower.peek(step, 0)
    value = follower.peek(step, 1)
    follower.observer.wrote(
        holder, step.value, value, f"{follower.observer.name_of(holder)}.{step.value}", frame
    )


def _stored_item(follower: Follower, frame: types.FrameType, step: Step) -> None:
    value, holder, key = follower.peek(step, 2), follower.peek(step, 1), follower.peek(step, 0)
    label = f"{follower.observer.name_of(holder)}[{short(key)}]"
    follower.observer.class_of(holder, frame)
    _copied(follower, frame, holder, key, value)
    if is_a(holder, dict | list) and not is_a(key, slice):
        follower.observer.wrote(holder, key, value, label, frame)
        if is_a(holder, list):  # whether it has such an item
            looks.length(follower, frame, holder)
    else:
        part = f"a slice of {follower.observer.name_of(holder)}" if is_a(key, slice) else label
        follower.observer.mutates(holder, f"sets {part}", frame)


def _copied(follower: Follower, frame: types.FrameType, holder: Any, key: Any, value: Any) -> None:
    """What an item or slice becomes: arrays and lists copy what they are given."""
    if is_a(holder, np.ndarray) or is_a(key, slice):
        arrays = looks.look(follower, frame, value, "a copy")
        arrays |= looks.look(follower, frame, key, "an index")
        for x in arrays.values():
            follower.observer.array(x, frame)
    if is_a(holder, memoryview | bytearray) and not follower.observer.is_own(holder):
        follower.observer.refuse("it writes to memory that others may see", frame)


def _stored_slice(follower: Follower, frame: types.FrameType, step: Step) -> None:
    holder = follower.peek(step, 2)
    _copied(follower, frame, holder, slice(None), follower.peek(step, 3))
    follower.observer.mutates(holder, f"sets a slice of {follower.observer.name_of(holder)}", frame)


def _stored_global(follower: Follower, frame: types.FrameType, step: Step) -> None:
    follower.observer.wrote(frame.f_globals, step.value, follower.peek(step, 0), step.value, frame)


def _stored_name(follower: Follower, frame: types.FrameType, step: Step) -> None:
    if scope_of(frame) is frame.f_globals:
        _stored_global(follower, frame, step)


def _stored_free(follower: Follower, frame: types.FrameType, step: Step) -> None:
    assert step.arg is not None
    cell = follower.slot(step.arg)
    follower.observer.wrote(cell, None, follower.peek(step, 0), step.value, frame)


def _deleted(follower: Follower, frame: types.FrameType, step: Step) -> None:
    if step.name in ("DELETE_ATTR", "DELETE_SUBSCR"):
        holder = follower.peek(step, 0 if step.name == "DELETE_ATTR" else 1)
    elif step.name == "DELETE_DEREF":
        holder = follower.slot(step.arg or 0)
    else:
        holder = frame.f_globals if step.name == "DELETE_GLOBAL" else scope_of(frame)
    if follower.observer.is_own(holder):
        return

    def done(follower: Follower, frame: types.FrameType, after: Step | None) -> None:
        if after is not None:  # it can be done once only
            name = follower.observer.name_of(holder)
            follower.observer.refuse(f"it deletes what {name} has", frame)
        elif step.name == "DELETE_ATTR":
            follower.observer.attribute(holder, step.value, MISSING, follower.entered, frame)
        else:
            follower.observer.refuse("it tries to delete something", frame)

    follower.pending = done


Handler = Callable[[Follower, Any, Step], None]

_HANDLERS: dict[Handler, str] = {
    _global: "LOAD_GLOBAL",
    _name: "LOAD_NAME",
    _free: "LOAD_DEREF LOAD_CLASSDEREF LOAD_FROM_DICT_OR_DEREF",
    _import: "IMPORT_NAME",
    _import_from: "IMPORT_FROM",
    _attribute: "LOAD_ATTR LOAD_METHOD",
    _super_attribute: "LOAD_SUPER_ATTR",
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
    _entered: "BEFORE_WITH",
    _stored_attribute: "STORE_ATTR",
    _stored_item: "STORE_SUBSCR",
    _stored_slice: "STORE_SLICE",
    _stored_global: "STORE_GLOBAL",
    _stored_name: "STORE_NAME",
    _stored_free: "STORE_DEREF",
    _deleted: "DELETE_ATTR DELETE_SUBSCR DELETE_GLOBAL DELETE_NAME DELETE_DEREF",
}  # fmt: skip

# Local variables, the stack, jumps, exceptions: nothing of anybody else's.
_HARMLESS = """
    NOP CACHE RESUME PRECALL PUSH_NULL POP_TOP COPY SWAP EXTENDED_ARG LOAD_CONST RETURN_CONST
    LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST STORE_FAST STORE_FAST_MAYBE_NULL
    STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST DELETE_FAST LOAD_CLOSURE MAKE_CELL COPY_FREE_VARS
    JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE
    POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_NONE
    POP_JUMP_BACKWARD_IF_NOT_NONE RETURN_VALUE RETURN_GENERATOR SEND FOR_ITER END_FOR
    END_SEND CLEANUP_THROW POP_EXCEPT PUSH_EXC_INFO CHECK_EXC_MATCH RERAISE RAISE_VARARGS
    WITH_EXCEPT_START LOAD_ASSERTION_ERROR LOAD_BUILD_CLASS LOAD_LOCALS SETUP_ANNOTATIONS
    BUILD_STRING BUILD_SLICE LIST_APPEND SET_ADD MAP_ADD
    CALL_INTRINSIC_2 EXIT_INIT_CHECK
"""  # noqa: E501

INSTRUCTIONS: dict[str, Handler | None] = {
    **dict.fromkeys(_HARMLESS.split()),
    **{name: run for run, names in _HANDLERS.items() for name in names.split()},
}
