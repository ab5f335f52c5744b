"""Functions of C that read or change Python's state, or need a look of their own."""

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
from .examined import await_result, identical, identity, iterate, kind_of, length, qualified_name, examine_elements
from .frames import Follower
from .items import read_item
from .known import is_python_class
from .reads import MISSING, is_a
from .steps import Instruction
from .whose import instance_dict


def get_attribute(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    """``getattr(owner, name)``, ``hasattr`` and their like."""
    owner, name = args[0], args[1]

    def done(follower: Follower, frame: Any, after: Instruction | None) -> None:
        value = MISSING if follower.entered else getattr(owner, name, MISSING)
        follower.observer.attribute(owner, name, value, follower.entered, frame)

    follower.pending = done


def _set_attribute(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    label = f"{follower.observer.name_of(args[0])}.{args[1]}"
    follower.observer.wrote(args[0], args[1], args[2], label, frame)


def _delete_attribute(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    follower.observer.class_of(args[0], frame)
    if not follower.observer.is_own(args[0]):
        follower.observer.refuse(f"it deletes what {follower.observer.name_of(args[0])} has", frame)


def get_item(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    """``holder[key]``."""
    read_item(follower, frame, args[0], args[1])


def _vars(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    if not args:
        await_result(follower, {})
        return
    owner, observer = args[0], follower.observer
    if is_a(owner, type) and not observer.is_own(owner):
        observer.refuse(f"it reads all names of the class {owner.__name__}", frame)

    def done(follower: Follower, frame: Any, after: Instruction | None) -> None:
        if after is None:
            return
        found = follower.peek(after, 0)
        if observer.is_own(owner):
            observer.make(found)
        else:
            observer.class_of(owner, frame)
            if type(found) is dict:
                observer.asks(instance_dict, (owner,), f"vars({observer.name_of(owner)})", owner, frame)
            observer.names.setdefault(id(found), f"vars({observer.name_of(owner)})")

    follower.pending = done


def _iter(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    value = args[0]
    if len(args) == 1:
        iterate(follower, frame, value)
    else:
        examine_elements(follower, frame, value, "iter")

    def done(follower: Follower, frame: Any, after: Instruction | None) -> None:
        if after is not None and follower.peek(after, 0) is not value and follower.fresh(after):
            follower.observer.make(follower.peek(after, 0))

    follower.pending = done


def _next(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    value = args[0]
    follower.observer.class_of(value, frame)
    if not follower.observer.is_own(value) and not is_python_class(type(value)):
        follower.observer.refuse(f"it goes on with a {type(value).__name__} from outside", frame)


def _kinds(asked: Any) -> Iterator[Any]:
    """What `isinstance` asks, which gets classes, tuples and unions of them."""
    if is_a(asked, tuple | types.UnionType):
        for kind in asked if is_a(asked, tuple) else asked.__args__:
            yield from _kinds(kind)
    else:
        yield asked


def _is_subclass(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    for kind in _kinds(args):
        follower.observer.class_of(kind, frame)


def _is_instance(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    kind_of(follower, frame, args[0])
    for kind in _kinds(args[1:]):
        follower.observer.class_of(kind, frame)


def _build_class(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    """A ``class`` statement: the classes that the new one is made of take part."""
    for kind in args[1:]:
        follower.observer.class_of(kind, frame)

    def done(follower: Follower, frame: Any, after: Instruction | None) -> None:
        if after is None:
            return
        kind = follower.peek(after, 0)
        if is_a(kind, type):
            examined.note_class_body(follower.observer, kind, frame)
            if not is_python_class(type(kind)):
                follower.observer.make(kind)

    follower.pending = done


def _printed(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    follower.observer.prints(follower, args, "prints", frame)


def _len(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    length(follower, frame, args[0])


def _proxy(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    if not examined.weak_to_own(follower, frame, args):
        follower.observer.refuse("it makes a weak proxy", frame)


def _nothing(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    """What it gives is an object that others can reach, or has no state."""


def _own_names(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    await_result(follower, {})


def _asked(function: Callable[..., Any]) -> Callable[..., None]:
    def ask(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
        follower.observer.asks(function, args, qualified_name(function), None, frame)

    return ask


SPECIAL: dict[Any, Callable[[Follower, Any, tuple[Any, ...]], None]] = {
    builtins.getattr: get_attribute,
    builtins.hasattr: get_attribute,
    builtins.setattr: _set_attribute,
    builtins.delattr: _delete_attribute,
    builtins.vars: _vars,
    builtins.globals: _nothing,
    builtins.locals: _own_names,
    builtins.len: _len,
    builtins.iter: _iter,
    builtins.next: _next,
    builtins.print: _printed,
    builtins.isinstance: _is_instance,
    builtins.issubclass: _is_subclass,
    builtins.id: identity,
    weakref.proxy: _proxy,
    operator.is_: identical,
    operator.is_not: identical,
    builtins.compile: _own_names,
    builtins.exec: _nothing,
    builtins.eval: _nothing,
    builtins.__build_class__: _build_class,
    operator.getitem: get_item,
    sys.intern: _nothing,
    **{f: _asked(f) for f in (os.getpid, os.getcwd, _thread.get_ident, sys.getrecursionlimit)},
}
