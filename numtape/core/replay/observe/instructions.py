"""What each instruction of Python 3.11 to 3.13 reads of Python's state, and what it changes.

A handler runs before the instruction, with the stack as it is then. Where the result matters it
sets ``own.pending``, which runs when the instruction is done (or has raised: then without a step).
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from importlib.util import resolve_name
from typing import Any

import numpy as np

from ...values.tensor import Tensor
from . import functions, looks, reads
from .frames import NOTHING, Frame
from .items import read_item, short
from .reads import MISSING, contents, is_a
from .steps import Step
from .whose import PACKAGE, dict_of, in_class, is_constant

_NULL_BELOW = sys.version_info < (3, 13)  # where a call has nothing for ``self``, this is below


# Names.


def _global(own: Frame, frame: types.FrameType, step: Step) -> None:
    scope, name = frame.f_globals, step.value
    if type(scope) is not dict:
        own.observer.refuse("it runs with globals that are no dict", frame)
        return
    if own.code.co_filename.startswith(PACKAGE):
        return
    value = scope.get(name, MISSING)
    own.observer.read(reads.ENTRY, scope, name, value, name, frame)
    if value is MISSING:
        builtin = frame.f_builtins
        own.observer.read(
            reads.ENTRY, builtin, name, builtin.get(name, MISSING), name, frame
        )


def _name(own: Frame, frame: types.FrameType, step: Step) -> None:
    """A name in the body of a class, or in code that `exec` runs."""
    scope, name = frame.f_locals, step.value
    if type(scope) is not dict:
        own.observer.refuse("it runs with names that are not in a dict", frame)
        return
    if scope is not frame.f_globals:
        value = scope.get(name, MISSING)
        own.observer.read(reads.ENTRY, scope, name, value, name, frame)
        if value is not MISSING:
            return
    _global(own, frame, step)


def _free(own: Frame, frame: types.FrameType, step: Step) -> None:
    assert step.arg is not None
    cell = own.slot(step.arg)
    if type(cell) is types.CellType:
        own.observer.read(reads.CELL, cell, None, contents(cell), step.value, frame)


def _import(own: Frame, frame: types.FrameType, step: Step) -> None:
    level, name = own.peek(step, 1), step.value
    if level:
        package = frame.f_globals.get("__package__") or ""
        name = resolve_name("." * level + name, package)
    if name not in sys.modules:
        own.observer.muted = own  # its code runs once, now

    def done(own: Frame, frame: types.FrameType, after: Step | None) -> None:
        found = sys.modules.get(name, MISSING)
        own.observer.read(reads.ENTRY, sys.modules, name, found, f"import {name}", frame)
        top = name.partition(".")[0]
        found = sys.modules.get(top, MISSING)
        own.observer.read(reads.ENTRY, sys.modules, top, found, f"import {top}", frame)

    own.pending = done


def _import_from(own: Frame, frame: types.FrameType, step: Step) -> None:
    owner, name = own.peek(step, 0), step.value

    def done(own: Frame, frame: types.FrameType, after: Step | None) -> None:
        own.observer.attribute(
            owner, name, getattr(owner, name, MISSING), own.entered, frame
        )

    own.pending = done


# Attributes.


def _attribute(own: Frame, frame: types.FrameType, step: Step) -> None:
    owner, name = own.peek(step, 0), step.value
    if type(owner) is Tensor or (is_constant(owner) and name not in dict_of(owner)):
        return
    of_call = step.name == "LOAD_METHOD" or (
        sys.version_info >= (3, 12) and step.arg is not None and step.arg & 1
    )

    def done(own: Frame, frame: types.FrameType, after: Step | None) -> None:
        observer, entered = own.observer, own.entered
        if after is None:
            observer.attribute(owner, name, MISSING, entered, frame)
            return
        if not of_call:
            observer.attribute(owner, name, own.peek(after, 0), entered, frame)
            return
        first, second = own.peek(after, 1), own.peek(after, 0)
        if first is NOTHING or second is NOTHING:
            value = second if first is NOTHING else first
            observer.attribute(owner, name, value, entered, frame)
        elif entered:
            observer.attribute(owner, name, first, entered, frame)
        else:
            observer.method(owner, name, first, frame)

    own.pending = done


def _super_attribute(own: Frame, frame: types.FrameType, step: Step) -> None:
    made, kind, owner = own.peek(step, 2), own.peek(step, 1), own.peek(step, 0)
    if made is super:
        own.observer.attribute(super(kind, owner), step.value, MISSING, False, frame)
    else:
        own.observer.refuse("`super` is another one", frame)


# Items.


def _item(own: Frame, frame: types.FrameType, step: Step) -> None:
    read_item(own, frame, own.peek(step, 1), own.peek(step, 0))


def _slice(own: Frame, frame: types.FrameType, step: Step) -> None:
    read_item(own, frame, own.peek(step, 2), slice(own.peek(step, 1), own.peek(step, 0)))


def _iterated(own: Frame, frame: types.FrameType, step: Step) -> None:
    value = own.peek(step, 0)
    looks.iterate(own, frame, value)

    def done(own: Frame, frame: types.FrameType, after: Step | None) -> None:
        if after is not None:
            found = own.peek(after, 0)
            if found is not value:
                own.observer.make(found)

    own.pending = done


def _unpacked(own: Frame, frame: types.FrameType, step: Step) -> None:
    looks.iterate(own, frame, own.peek(step, 0))


def _extended(own: Frame, frame: types.FrameType, step: Step) -> None:
    looks.iterate(own, frame, own.peek(step, 0))


def _contained(own: Frame, frame: types.FrameType, step: Step) -> None:
    value, holder = own.peek(step, 1), own.peek(step, 0)
    looks.contains(own, frame, value, holder)


def _length(own: Frame, frame: types.FrameType, step: Step) -> None:
    looks.length(own, frame, own.peek(step, 0))


def _match_keys(own: Frame, frame: types.FrameType, step: Step) -> None:
    holder, keys = own.peek(step, 1), own.peek(step, 0)
    if is_constant(holder) or own.observer.own(holder):
        return
    if not is_a(holder, dict) or type(holder).get is not dict.get:
        own.observer.refuse(f"it matches a {type(holder).__name__}", frame)
        return
    for key in keys:
        label = f"{own.observer.name_of(holder)}[{short(key)}]"
        found = dict.get(holder, key, MISSING)
        own.observer.read(reads.ITEM, holder, key, found, label, frame)


def _match_class(own: Frame, frame: types.FrameType, step: Step) -> None:
    value, kind, names = own.peek(step, 2), own.peek(step, 1), own.peek(step, 0)
    count = step.arg or 0
    looks.kind_of(own, frame, value)

    def done(own: Frame, frame: types.FrameType, after: Step | None) -> None:
        observer = own.observer
        matched = getattr(kind, "__match_args__", ())
        if is_a(kind, type):
            observer.of_class(kind, "__match_args__", "__match_args__", frame)
        if not is_a(value, kind):
            return
        found_by_python = any(
            is_a(in_class(type(value), name), types.FunctionType)
            for name in ("__getattr__", "__getattribute__")
        )
        if found_by_python and own.entered:
            observer.refuse("it matches attributes that functions find", frame)
            return
        for name in (*matched[:count], *names):
            static = in_class(type(value), name)
            entered = is_a(static, property) or hasattr(type(static), "__set__")
            entered = entered and not is_a(static, types.MemberDescriptorType)
            found = MISSING if entered else getattr(value, name, MISSING)
            observer.attribute(value, name, found, entered, frame)

    own.pending = done


# Operators.


def _operated(own: Frame, frame: types.FrameType, step: Step) -> None:
    looks.operate(own, frame, (own.peek(step, 1), own.peek(step, 0)), _in_place(step))


def _in_place(step: Step) -> bool:
    return step.name == "BINARY_OP" and step.arg is not None and step.arg >= 13


def _compared(own: Frame, frame: types.FrameType, step: Step) -> None:
    looks.operate(own, frame, (own.peek(step, 1), own.peek(step, 0)), False)


def _identical(own: Frame, frame: types.FrameType, step: Step) -> None:
    one, other = own.peek(step, 1), own.peek(step, 0)
    kind = type(one)
    if kind is type(other) and not own.observer.own(one) and (
        kind in (int, float, str, complex, bytes, slice, range, types.MethodType)
        or is_a(one, tuple | np.generic)
    ):  # fmt: skip
        own.observer.refuse("it compares numbers, strings or tuples by `is`", frame)


def _alone(own: Frame, frame: types.FrameType, step: Step) -> None:
    looks.operate(own, frame, (own.peek(step, 0),), False)


def _yielded(own: Frame, frame: types.FrameType, step: Step) -> None:
    """A generator gives something; what C asks for it may look into it."""
    value, above = own.peek(step, 0), frame.f_back
    follower = getattr(above, "f_trace", None)
    if is_constant(value) or type(follower) is not Frame or follower.step is None:
        return
    if "CALL" in follower.step.name:
        for x in looks.look(own, frame, value, "what asks a generator").values():
            own.observer.array(x, frame)


def _truth(own: Frame, frame: types.FrameType, step: Step) -> None:
    looks.truth(own, frame, own.peek(step, 0))


def _formatted(own: Frame, frame: types.FrameType, step: Step) -> None:
    depth = 1 if step.name == "FORMAT_WITH_SPEC" or (
        step.name == "FORMAT_VALUE" and (step.arg or 0) & 4) else 0
    looks.look(own, frame, own.peek(step, depth), "the text")


def _intrinsic(own: Frame, frame: types.FrameType, step: Step) -> None:
    if step.arg in (1, 2, 4):  # of an interactive console, `import *`, asynchronous generators
        own.observer.refuse("an instruction is not known", frame)
    elif step.arg == 5:
        _alone(own, frame, step)


# Calls.


def _keywords(own: Frame, frame: types.FrameType, step: Step) -> None:
    assert step.arg is not None
    own.keywords = own.code.co_consts[step.arg]


def _call(own: Frame, frame: types.FrameType, step: Step) -> None:
    names = own.keywords
    own.keywords = ()
    below = 0
    if step.name == "CALL_KW":
        names, below = own.peek(step, 0), 1
    count = step.arg or 0
    args = [own.peek(step, below + k) for k in reversed(range(count))]
    first, second = own.peek(step, below + count + 1), own.peek(step, below + count)
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
    functions.call(own, frame, function, tuple(args), named, step.dropped)


def _call_with(own: Frame, frame: types.FrameType, step: Step) -> None:
    """``function(*args, **kwargs)``."""
    named: dict[str, Any] = {}
    below = 0
    if (step.arg or 0) & 1:
        named, below = own.peek(step, 0), 1
    args = own.peek(step, below)
    function = own.peek(step, below + (1 if _NULL_BELOW else 2))
    if type(args) is not tuple:
        looks.iterate(own, frame, args)
        args = tuple(args) if is_a(args, list | dict | set) else ()
    functions.call(own, frame, function, args, dict(named), step.dropped)


def _built(own: Frame, frame: types.FrameType, step: Step) -> None:
    """Something new, whose parts nobody looks into."""

    def done(own: Frame, frame: types.FrameType, after: Step | None) -> None:
        if after is not None:
            own.observer.make(own.peek(after, 0))

    own.pending = done


def _entered(own: Frame, frame: types.FrameType, step: Step) -> None:
    """``with``: the object is asked to enter, and to leave at the end."""
    manager = own.peek(step, 0)
    looks.context(own, frame, manager)


# Writing.


def _stored_attribute(own: Frame, frame: types.FrameType, step: Step) -> None:
    holder = own.peek(step, 0)
    value = own.peek(step, 1)
    own.observer.wrote(
        holder, step.value, value, f"{own.observer.name_of(holder)}.{step.value}", frame
    )


def _stored_item(own: Frame, frame: types.FrameType, step: Step) -> None:
    value, holder, key = own.peek(step, 2), own.peek(step, 1), own.peek(step, 0)
    label = f"{own.observer.name_of(holder)}[{short(key)}]"
    _copied(own, frame, holder, key, value)
    if is_a(holder, dict | list) and not is_a(key, slice):
        own.observer.wrote(holder, key, value, label, frame)
        if is_a(holder, list):  # whether it has such an item
            looks.length(own, frame, holder)
    else:
        part = f"a slice of {own.observer.name_of(holder)}" if is_a(key, slice) else label
        own.observer.mutates(holder, f"sets {part}", frame)


def _copied(own: Frame, frame: types.FrameType, holder: Any, key: Any, value: Any) -> None:
    """What an item or slice becomes: arrays and lists copy what they are given."""
    if is_a(holder, np.ndarray) or is_a(key, slice):
        arrays = looks.look(own, frame, value, "a copy") | looks.look(own, frame, key, "an index")
        for x in arrays.values():
            own.observer.array(x, frame)
    if is_a(holder, memoryview | bytearray) and not own.observer.own(holder):
        own.observer.refuse("it writes to memory that others may see", frame)


def _stored_slice(own: Frame, frame: types.FrameType, step: Step) -> None:
    holder = own.peek(step, 2)
    _copied(own, frame, holder, slice(None), own.peek(step, 3))
    own.observer.mutates(holder, f"sets a slice of {own.observer.name_of(holder)}", frame)


def _stored_global(own: Frame, frame: types.FrameType, step: Step) -> None:
    own.observer.wrote(frame.f_globals, step.value, own.peek(step, 0), step.value, frame)


def _stored_name(own: Frame, frame: types.FrameType, step: Step) -> None:
    if frame.f_locals is frame.f_globals:
        _stored_global(own, frame, step)


def _stored_free(own: Frame, frame: types.FrameType, step: Step) -> None:
    assert step.arg is not None
    cell = own.slot(step.arg)
    own.observer.wrote(cell, None, own.peek(step, 0), step.value, frame)


def _deleted(own: Frame, frame: types.FrameType, step: Step) -> None:
    if step.name in ("DELETE_ATTR", "DELETE_SUBSCR"):
        holder = own.peek(step, 0 if step.name == "DELETE_ATTR" else 1)
    elif step.name == "DELETE_DEREF":
        holder = own.slot(step.arg or 0)
    else:
        holder = frame.f_globals if step.name == "DELETE_GLOBAL" else frame.f_locals
    if own.observer.own(holder):
        return

    def done(own: Frame, frame: types.FrameType, after: Step | None) -> None:
        if after is not None:  # it can be done once only
            own.observer.refuse(f"it deletes what {own.observer.name_of(holder)} has", frame)
        elif step.name == "DELETE_ATTR":
            own.observer.attribute(holder, step.value, MISSING, own.entered, frame)
        else:
            own.observer.refuse("it tries to delete something", frame)

    own.pending = done


Handler = Callable[[Frame, Any, Step], None]

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
    BUILD_STRING BUILD_SLICE LIST_APPEND SET_ADD MAP_ADD MATCH_MAPPING MATCH_SEQUENCE
    CALL_INTRINSIC_2 EXIT_INIT_CHECK
"""  # noqa: E501

INSTRUCTIONS: dict[str, Handler | None] = {
    **dict.fromkeys(_HARMLESS.split()),
    **{name: run for run, names in _HANDLERS.items() for name in names.split()},
}
