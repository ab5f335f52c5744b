"""C functions that access Python state, or that need a special rule."""

from __future__ import annotations

import _thread
import builtins
import operator
import os
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from . import examined
from .examined import (
    await_result,
    examine_elements,
    note_id,
    note_identity_test,
    note_iteration,
    note_length,
    note_type,
    qualified_name,
)
from .frames import Follower
from .items import read_item
from .known import is_python_class
from .reads import MISSING, is_a
from .steps import Instruction
from .whose import instance_dict


def get_attribute(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    """Note ``getattr(owner, name)``, ``hasattr`` and similar calls."""
    owner, name = args[0], args[1]

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        value = MISSING if follower.ran_python else getattr(owner, name, MISSING)
        follower.observer.note_attribute(owner, name, value, follower.ran_python, frame)

    follower.on_result = finish


def _set_attribute(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    label = f"{follower.observer.name_of(args[0])}.{args[1]}"
    follower.observer.note_write(args[0], args[1], args[2], label, frame)


def _delete_attribute(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    follower.observer.note_class(args[0], frame)
    if not follower.observer.is_own(args[0]):
        follower.observer.refuse(
            f"it deletes a part of {follower.observer.name_of(args[0])}", frame
        )


def get_item(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    """Note ``holder[key]``."""
    read_item(follower, frame, args[0], args[1])


def _vars(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    if not args:
        await_result(follower, {})
        return
    owner, observer = args[0], follower.observer
    if is_a(owner, type) and not observer.is_own(owner):
        observer.refuse(f"it reads all attributes of the class {owner.__name__}", frame)

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        if next_instruction is None:
            return
        attributes = follower.peek(next_instruction, 0)
        if observer.is_own(owner):
            observer.note_created(attributes)
        else:
            observer.note_class(owner, frame)
            if type(attributes) is dict:
                observer.note_call(
                    instance_dict, (owner,), f"vars({observer.name_of(owner)})", owner, frame
                )
            observer.names.setdefault(id(attributes), f"vars({observer.name_of(owner)})")

    follower.on_result = finish


def _iter(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    value = args[0]
    if len(args) == 1:
        note_iteration(follower, frame, value)
    else:
        examine_elements(follower, frame, value, "iter")

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        if (
            next_instruction is not None
            and follower.peek(next_instruction, 0) is not value
            and follower.is_unshared(next_instruction)
        ):
            follower.observer.note_created(follower.peek(next_instruction, 0))

    follower.on_result = finish


def _next(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    value = args[0]
    follower.observer.note_class(value, frame)
    if not follower.observer.is_own(value) and not is_python_class(type(value)):
        follower.observer.refuse(f"it continues a {type(value).__name__} from outside", frame)


def _flatten_classes(classes: Any) -> Iterator[Any]:
    """Yield the classes in an argument of `isinstance`: a class, or a tuple or union of classes."""
    if is_a(classes, tuple | types.UnionType):
        for kind in classes if is_a(classes, tuple) else classes.__args__:
            yield from _flatten_classes(kind)
    else:
        yield classes


def _is_subclass(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    for kind in _flatten_classes(args):
        follower.observer.note_class(kind, frame)


def _is_instance(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    note_type(follower, frame, args[0])
    for kind in _flatten_classes(args[1:]):
        follower.observer.note_class(kind, frame)


def _build_class(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    """Note a ``class`` statement, in which the bases take part."""
    for kind in args[1:]:
        follower.observer.note_class(kind, frame)

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        if next_instruction is None:
            return
        kind = follower.peek(next_instruction, 0)
        if is_a(kind, type):
            examined.note_class_body(follower.observer, kind, frame)
            if not is_python_class(type(kind)):
                follower.observer.note_created(kind)

    follower.on_result = finish


def _print(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    follower.observer.start_printing(follower, args, "prints", frame)


def _len(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    note_length(follower, frame, args[0])


def _make_proxy(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    if not examined.refuse_weak_to_own(follower, frame, args):
        follower.observer.refuse("it makes a weak proxy", frame)


def _ignore(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    """Note nothing: the result has no state, or is not a new object."""


def _await_own_result(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
    await_result(follower, {})


def _note_answer_of(function: Callable[..., Any]) -> Callable[..., None]:
    def ask(follower: Follower, frame: types.FrameType, args: tuple[Any, ...]) -> None:
        follower.observer.note_call(function, args, qualified_name(function), None, frame)

    return ask


SPECIAL: dict[Any, Callable[[Follower, Any, tuple[Any, ...]], None]] = {
    builtins.getattr: get_attribute,
    builtins.hasattr: get_attribute,
    builtins.setattr: _set_attribute,
    builtins.delattr: _delete_attribute,
    builtins.vars: _vars,
    builtins.globals: _ignore,
    builtins.locals: _await_own_result,
    builtins.len: _len,
    builtins.iter: _iter,
    builtins.next: _next,
    builtins.print: _print,
    builtins.isinstance: _is_instance,
    builtins.issubclass: _is_subclass,
    builtins.id: note_id,
    weakref.proxy: _make_proxy,
    operator.is_: note_identity_test,
    operator.is_not: note_identity_test,
    builtins.compile: _await_own_result,
    builtins.exec: _ignore,
    builtins.eval: _ignore,
    builtins.__build_class__: _build_class,
    operator.getitem: get_item,
    sys.intern: _ignore,
    **{
        f: _note_answer_of(f)
        for f in (os.getpid, os.getcwd, _thread.get_ident, sys.getrecursionlimit)
    },
}
