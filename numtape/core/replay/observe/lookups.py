"""Note reads and writes of names, attributes and items."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from importlib.util import resolve_name
from typing import Any

import numpy as np

from ...cpython.api import NULL
from ...cpython.bytecode import Instruction
from ...cpython.frames import namespace_of
from ...log.variable import Variable
from ...values.tensor import Tensor
from . import c_arguments, reads
from .follower import Follower
from .ownership import (
    IMMUTABLE_CONTAINERS,
    LAZY_IMPORTS,
    PACKAGE,
    class_attribute,
    instance_dict,
    is_constant,
    is_numtape_class,
    is_program_attribute,
    is_python_class,
)
from .reads import MISSING, cell_contents, is_a


def _load_global(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    scope, name = frame.f_globals, instruction.value
    if type(scope) is not dict:
        follower.effects.refuse("its globals are not a dict", frame)
        return
    if follower.code.co_filename.startswith(PACKAGE):
        return
    value = scope.get(name, MISSING)
    if is_a(value, LAZY_IMPORTS):
        _import_lazily(follower, scope, name)
        return
    follower.reads.note_read(reads.ENTRY, scope, name, value, name, frame)
    if value is MISSING:
        builtin = frame.f_builtins
        follower.reads.note_read(
            reads.ENTRY, builtin, name, builtin.get(name, MISSING), name, frame
        )


def _import_lazily(follower: Follower, scope: dict[str, Any], name: str) -> None:
    """Note a name of a lazy import, which Python imports now, and replaces in the scope."""
    follower.observer.muted_follower = follower  # the module's code runs only once

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        if next_instruction is None:
            follower.effects.refuse(f"the import of {name} fails", frame)
        else:
            follower.reads.note_read(reads.ENTRY, scope, name, scope[name], name, frame)

    follower.on_result = finish


def _load_name(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    """Note a name in a class body, or in code that `exec` runs."""
    scope, name = namespace_of(frame), instruction.value
    if type(scope) is not dict:
        follower.effects.refuse("its namespace is not a dict", frame)
        return
    if scope is not frame.f_globals:
        value = scope.get(name, MISSING)
        follower.reads.note_read(reads.ENTRY, scope, name, value, name, frame)
        if value is not MISSING:
            return
    _load_global(follower, frame, instruction)


def _load_from_dict(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    """Note a name in the annotations or type parameters of a class, or a free variable there."""
    scope, name = follower.peek(instruction, 0), instruction.value
    if type(scope) is not dict:
        follower.effects.refuse("its namespace is not a dict", frame)
        return
    value = scope.get(name, MISSING)
    follower.reads.note_read(reads.ENTRY, scope, name, value, name, frame)
    if value is MISSING:
        is_global = instruction.kind == "load from dict or global"
        load = _load_global if is_global else _load_free
        load(follower, frame, instruction)


def _load_free(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    assert instruction.arg is not None
    cell = follower.slot(instruction.arg)
    if type(cell) is types.CellType:
        follower.reads.note_read(
            reads.CELL, cell, None, cell_contents(cell), instruction.value, frame
        )


def _import(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    level, name = follower.peek(instruction, 1), instruction.value
    if level:
        package = frame.f_globals.get("__package__") or ""
        name = resolve_name("." * level + name, package)
    builtin_names = frame.f_builtins
    import_function = builtin_names.get("__import__", MISSING)
    follower.reads.note_read(
        reads.ENTRY, builtin_names, "__import__", import_function, "__import__", frame
    )
    if name not in sys.modules:
        follower.observer.muted_follower = follower  # the module's code runs only once

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        module = sys.modules.get(name, MISSING)
        follower.reads.note_read(reads.ENTRY, sys.modules, name, module, f"import {name}", frame)
        top_package = name.partition(".")[0]
        module = sys.modules.get(top_package, MISSING)
        follower.reads.note_read(
            reads.ENTRY, sys.modules, top_package, module, f"import {top_package}", frame
        )

    follower.on_result = finish


def _import_from(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    owner, name = follower.peek(instruction, 0), instruction.value

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        follower.reads.note_attribute(
            owner, name, getattr(owner, name, MISSING), follower.ran_python, frame
        )

    follower.on_result = finish


def _load_attribute(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    owner, name = follower.peek(instruction, 0), instruction.value
    if type(owner) is Tensor or (is_constant(owner) and not is_program_attribute(owner, name)):
        return

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        ran_python = follower.ran_python
        if next_instruction is None:
            follower.reads.note_attribute(owner, name, MISSING, ran_python, frame)
            return
        if instruction.kind == "load attribute":
            follower.reads.note_attribute(
                owner, name, follower.peek(next_instruction, 0), ran_python, frame
            )
            return
        lower, upper = follower.peek(next_instruction, 1), follower.peek(next_instruction, 0)
        if lower is NULL or upper is NULL:
            value = upper if lower is NULL else lower
            follower.reads.note_attribute(owner, name, value, ran_python, frame)
        elif ran_python:
            follower.reads.note_attribute(owner, name, lower, ran_python, frame)
        else:
            follower.reads.note_method(owner, name, lower, frame)

    follower.on_result = finish


def _load_super_attribute(
    follower: Follower, frame: types.FrameType, instruction: Instruction
) -> None:
    callee = follower.peek(instruction, 2)
    kind = follower.peek(instruction, 1)
    owner = follower.peek(instruction, 0)
    if callee is super:
        follower.reads.note_attribute(super(kind, owner), instruction.value, MISSING, False, frame)
    else:
        follower.effects.refuse("the name `super` was redefined", frame)


def _store_attribute(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    holder = follower.peek(instruction, 0)
    value = follower.peek(instruction, 1)
    follower.writes.note_write(
        holder,
        instruction.value,
        value,
        f"{follower.reads.name_of(holder)}.{instruction.value}",
        frame,
    )


def _store_global(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    follower.writes.note_write(
        frame.f_globals, instruction.value, follower.peek(instruction, 0), instruction.value, frame
    )


def _store_name(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    if namespace_of(frame) is frame.f_globals:
        _store_global(follower, frame, instruction)


def _store_free(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    assert instruction.arg is not None
    cell = follower.slot(instruction.arg)
    follower.writes.note_write(cell, None, follower.peek(instruction, 0), instruction.value, frame)


def _delete(follower: Follower, frame: types.FrameType, instruction: Instruction) -> None:
    if instruction.kind in ("delete attribute", "delete item"):
        holder = follower.peek(instruction, 0 if instruction.kind == "delete attribute" else 1)
    elif instruction.kind == "delete free":
        holder = follower.slot(instruction.arg or 0)
    else:
        holder = frame.f_globals if instruction.kind == "delete global" else namespace_of(frame)
    follower.effects.note_change(holder)
    follower.reads.note_class(holder, frame)
    if instruction.kind == "delete item":
        c_arguments.note_hashing(follower, frame, (follower.peek(instruction, 0),))
    if follower.effects.is_own(holder):
        return
    reason = f"it deletes a part of {follower.reads.name_of(holder)}"
    if _is_present(follower, instruction, holder):
        follower.effects.refuse(reason, frame)
        return

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        if next_instruction is not None:  # the deletion cannot be repeated
            follower.effects.forbid_restart()
            follower.effects.refuse(reason, frame)
        elif instruction.kind == "delete attribute":
            follower.reads.note_attribute(
                holder, instruction.value, MISSING, follower.ran_python, frame
            )
        else:
            follower.effects.refuse("it tries to delete something", frame)

    follower.on_result = finish


def _is_present(follower: Follower, instruction: Instruction, holder: Any) -> bool:
    """Return whether the object to delete exists, if this can be decided without Python code."""
    if instruction.kind == "delete free":
        return cell_contents(holder) is not MISSING
    if instruction.kind == "delete attribute":
        return is_a(instance_dict(holder), dict) and instruction.value in instance_dict(holder)
    if instruction.kind == "delete item":
        key = follower.peek(instruction, 0)
        if type(holder) is list and type(key) is int:
            return -len(holder) <= key < len(holder)
        return type(holder) is dict and type(key) in (str, int) and key in holder
    return type(holder) is dict and instruction.value in holder


Handler = Callable[[Follower, Any, Instruction], None]

NAME_HANDLERS: dict[Handler, tuple[str, ...]] = {
    _load_global: ("load global",),
    _load_name: ("load name",),
    _load_free: ("load free",),
    _load_from_dict: ("load from dict or global", "load from dict or free"),
    _import: ("import",),
    _import_from: ("import from",),
    _load_attribute: ("load attribute", "load method"),
    _load_super_attribute: ("load super attribute",),
    _store_attribute: ("store attribute",),
    _store_global: ("store global",),
    _store_name: ("store name",),
    _store_free: ("store free",),
    _delete: ("delete attribute", "delete item", "delete global", "delete name", "delete free"),
}


def read_item(follower: Follower, frame: types.FrameType, holder: Any, key: Any) -> None:
    """Note a read of ``holder[key]``."""
    cls = type(holder)
    if cls is Tensor or is_a(holder, Variable):
        c_arguments.pass_to_numtape(follower, frame, "an index", (key,), {})
        return
    if is_python_class(cls) or is_a(holder, type):
        follower.reads.note_class(holder, frame)
    if is_numtape_class(cls) or is_a(holder, (*IMMUTABLE_CONTAINERS, range)):
        c_arguments.examine_elements(follower, frame, key, "an index")
        return
    if is_a(key, Tensor | np.integer):
        key = int(key)
    arrays = c_arguments.examine(follower, frame, key, "an index")
    getitem_method = class_attribute(cls, "__getitem__")
    is_python = is_a(getitem_method, types.FunctionType)  # a method written in Python
    # Python functions decide which item the key selects. Their reads alone are not sufficient, and
    # guards do not call them.
    is_python_lookup = type(key) is not slice and c_arguments.has_python_lookup(key)
    stored_value = MISSING
    if is_a(holder, dict) and not is_python and not is_python_lookup:
        stored_value = dict.get(holder, key, MISSING)  # the entry before a __missing__ adds one

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        ran_getitem = is_python or (
            follower.ran_python
            and is_python_class(cls)
            and not is_a(getitem_method, c_arguments.C_FUNCTION_TYPES)
            and getitem_method is not MISSING
        )
        is_unshared = next_instruction is not None and follower.is_unshared(next_instruction)
        value = MISSING if next_instruction is None else follower.peek(next_instruction, 0)
        label = f"{follower.reads.name_of(holder)}[{format_key(key)}]"
        for x in arrays.values():
            follower.reads.note_elements(x, frame)
        if is_a(holder, np.ndarray):
            if holder.dtype.hasobject:
                follower.effects.refuse("it reads an array of objects", frame)
                return
            follower.reads.note_layout(holder, frame)
            if is_a(value, np.ndarray) and follower.effects.is_outside(value, is_new=True):
                return  # a view of the same memory
            if is_unshared:
                follower.effects.note_result(value, frame)
            follower.reads.note_elements(holder, frame)
            return
        if is_a(holder, type):
            if is_unshared:
                follower.effects.note_created(value)  # a generic alias
            elif not follower.ran_python:
                follower.effects.refuse(f"it reads an item of the class {holder.__name__}", frame)
            return
        if type(key) is slice:
            if is_unshared:
                follower.effects.note_result(value, frame)
            if not ran_getitem and not follower.reads.note_items(holder, frame):
                follower.effects.refuse(f"it takes a slice of a {cls.__name__}", frame)
            return
        if ran_getitem:
            return
        if is_python_lookup:
            if not follower.reads.note_items(holder, frame):
                follower.effects.refuse(f"it reads an item of a {cls.__name__}", frame)
            return
        if is_a(holder, dict) and hasattr(cls, "__missing__"):
            missing_method = class_attribute(cls, "__missing__")
            if is_python_class(cls) and not is_a(missing_method, types.FunctionType):
                if (
                    stored_value is MISSING
                    and type(missing_method) is not types.MethodDescriptorType
                ):
                    follower.effects.refuse(
                        f"a __missing__ written in C computes an item of a {cls.__name__}", frame
                    )
            follower.reads.note_read(reads.ENTRY, holder, key, stored_value, label, frame)
            return
        if not is_a(holder, c_arguments.INDEXED_TYPES):
            follower.effects.refuse(f"it reads an item of a {cls.__name__}", frame)
            return
        follower.reads.note_read(reads.ITEM, holder, key, value, label, frame)

    follower.on_result = finish


def format_key(key: Any) -> str:
    """Return a key as it is shown in messages."""
    return repr(key) if is_a(key, int | str | float) else type(key).__name__
