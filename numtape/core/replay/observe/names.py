"""Instructions that read or write what has a name: globals, variables of closures, attributes."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from importlib.util import resolve_name
from typing import Any

from ...values.tensor import Tensor
from . import examined, reads
from .frames import NULL, Follower, namespace_of
from .reads import MISSING, cell_contents, is_a
from .steps import Instruction
from .whose import PACKAGE, instance_dict, is_constant, is_program_attribute


def _global(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
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
        follower.observer.read(reads.ENTRY, builtin, name, builtin.get(name, MISSING), name, frame)


def _name(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    """A name in the body of a class, or in code that `exec` runs."""
    scope, name = namespace_of(frame), step.value
    if type(scope) is not dict:
        follower.observer.refuse("it runs with names that are not in a dict", frame)
        return
    if scope is not frame.f_globals:
        value = scope.get(name, MISSING)
        follower.observer.read(reads.ENTRY, scope, name, value, name, frame)
        if value is not MISSING:
            return
    _global(follower, frame, step)


def _free(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    assert step.arg is not None
    cell = follower.slot(step.arg)
    if type(cell) is types.CellType:
        follower.observer.read(reads.CELL, cell, None, cell_contents(cell), step.value, frame)


def _import(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    level, name = follower.peek(step, 1), step.value
    if level:
        package = frame.f_globals.get("__package__") or ""
        name = resolve_name("." * level + name, package)
    names = frame.f_builtins
    hook = names.get("__import__", MISSING)
    follower.observer.read(reads.ENTRY, names, "__import__", hook, "__import__", frame)
    if name not in sys.modules:
        follower.observer.muted = follower  # its code runs once, now

    def done(follower: Follower, frame: types.FrameType, after: Instruction | None) -> None:
        found = sys.modules.get(name, MISSING)
        follower.observer.read(reads.ENTRY, sys.modules, name, found, f"import {name}", frame)
        top = name.partition(".")[0]
        found = sys.modules.get(top, MISSING)
        follower.observer.read(reads.ENTRY, sys.modules, top, found, f"import {top}", frame)

    follower.pending = done


def _import_from(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    owner, name = follower.peek(step, 0), step.value

    def done(follower: Follower, frame: types.FrameType, after: Instruction | None) -> None:
        follower.observer.attribute(
            owner, name, getattr(owner, name, MISSING), follower.entered, frame
        )

    follower.pending = done


def _attribute(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    owner, name = follower.peek(step, 0), step.value
    if type(owner) is Tensor or (is_constant(owner) and not is_program_attribute(owner, name)):
        return
    of_call = step.name == "LOAD_METHOD" or (
        sys.version_info >= (3, 12) and step.arg is not None and step.arg & 1
    )

    def done(follower: Follower, frame: types.FrameType, after: Instruction | None) -> None:
        observer, entered = follower.observer, follower.entered
        if after is None:
            observer.attribute(owner, name, MISSING, entered, frame)
            return
        if not of_call:
            observer.attribute(owner, name, follower.peek(after, 0), entered, frame)
            return
        first, second = follower.peek(after, 1), follower.peek(after, 0)
        if first is NULL or second is NULL:
            value = second if first is NULL else first
            observer.attribute(owner, name, value, entered, frame)
        elif entered:
            observer.attribute(owner, name, first, entered, frame)
        else:
            observer.method(owner, name, first, frame)

    follower.pending = done


def _super_attribute(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    made, kind, owner = follower.peek(step, 2), follower.peek(step, 1), follower.peek(step, 0)
    if made is super:
        follower.observer.attribute(super(kind, owner), step.value, MISSING, False, frame)
    else:
        follower.observer.refuse("`super` is another one", frame)


def _stored_attribute(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    holder = follower.peek(step, 0)
    value = follower.peek(step, 1)
    follower.observer.wrote(
        holder, step.value, value, f"{follower.observer.name_of(holder)}.{step.value}", frame
    )


def _stored_global(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    follower.observer.wrote(frame.f_globals, step.value, follower.peek(step, 0), step.value, frame)


def _stored_name(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    if namespace_of(frame) is frame.f_globals:
        _stored_global(follower, frame, step)


def _stored_free(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    assert step.arg is not None
    cell = follower.slot(step.arg)
    follower.observer.wrote(cell, None, follower.peek(step, 0), step.value, frame)


def _deleted(follower: Follower, frame: types.FrameType, step: Instruction) -> None:
    if step.name in ("DELETE_ATTR", "DELETE_SUBSCR"):
        holder = follower.peek(step, 0 if step.name == "DELETE_ATTR" else 1)
    elif step.name == "DELETE_DEREF":
        holder = follower.slot(step.arg or 0)
    else:
        holder = frame.f_globals if step.name == "DELETE_GLOBAL" else namespace_of(frame)
    follower.observer.alters(holder)
    follower.observer.class_of(holder, frame)
    if step.name == "DELETE_SUBSCR":
        examined.note_hashing(follower, frame, (follower.peek(step, 0),))
    if follower.observer.is_own(holder):
        return
    deletes = f"it deletes what {follower.observer.name_of(holder)} has"
    if _has(follower, step, holder):
        follower.observer.refuse(deletes, frame)
        return

    def done(follower: Follower, frame: types.FrameType, after: Instruction | None) -> None:
        if after is not None:  # it can be done once only
            follower.observer.has_done()
            follower.observer.refuse(deletes, frame)
        elif step.name == "DELETE_ATTR":
            follower.observer.attribute(holder, step.value, MISSING, follower.entered, frame)
        else:
            follower.observer.refuse("it tries to delete something", frame)

    follower.pending = done


def _has(follower: Follower, step: Instruction, holder: Any) -> bool:
    """Whether what is to be deleted is there, where that can be said without Python."""
    if step.name == "DELETE_DEREF":
        return cell_contents(holder) is not MISSING
    if step.name == "DELETE_ATTR":
        return is_a(instance_dict(holder), dict) and step.value in instance_dict(holder)
    if step.name == "DELETE_SUBSCR":
        key = follower.peek(step, 0)
        if type(holder) is list and type(key) is int:
            return -len(holder) <= key < len(holder)
        return type(holder) is dict and type(key) in (str, int) and key in holder
    return type(holder) is dict and step.value in holder


Handler = Callable[[Follower, Any, Instruction], None]

HANDLERS: dict[Handler, str] = {
    _global: "LOAD_GLOBAL",
    _name: "LOAD_NAME",
    _free: "LOAD_DEREF LOAD_CLASSDEREF LOAD_FROM_DICT_OR_DEREF",
    _import: "IMPORT_NAME",
    _import_from: "IMPORT_FROM",
    _attribute: "LOAD_ATTR LOAD_METHOD",
    _super_attribute: "LOAD_SUPER_ATTR",
    _stored_attribute: "STORE_ATTR",
    _stored_global: "STORE_GLOBAL",
    _stored_name: "STORE_NAME",
    _stored_free: "STORE_DEREF",
    _deleted: "DELETE_ATTR DELETE_SUBSCR DELETE_GLOBAL DELETE_NAME DELETE_DEREF",
}
