"""Names that a traced call reads: what Python reaches outside of the tensors.

A recording holds while every name means what it meant: globals, free variables, and attributes
reached by name (``self.model.rate``). Numbers and strings are compared by value, anything else
by identity. What is inside containers is not looked at.

Which functions run is seen while the call is traced; which names they read is in their bytecode.
"""

from __future__ import annotations

import dis
import gc
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .tensor import Tensor
from .variable import Variable

_VALUES = (int, str, bytes, bool, type(None))
_FUNCTIONS = (types.FunctionType, types.MethodType)
_MISSING = object()

# Modules whose names do not change, and whose functions read nothing of the program's.
_FIXED = {"numpy", "scipy", "optree", "numba", "llvmlite", *sys.stdlib_module_names} - {"__main__"}
# The part of numtape that runs no code of the program's, but for what `plainly` calls.
_CORE = tuple(
    f"numtape.core.{name}" for name in (
        "adjoints", "cache", "compile", "convert", "entry", "executors", "log", "lower", "ops",
        "record", "spec", "sweep", "tape", "tensor", "transpose", "variable",
    )
)  # fmt: skip
# The part of numtape that holds settings in attributes.
_OBJECTS = ("numtape.keras", "numtape.module")

GLOBAL, FREE, ARGUMENT = range(3)


class Chain(NamedTuple):
    """Where a name starts, and the attributes that follow: ``self.model.rate``."""

    kind: int
    root: str
    attributes: tuple[str, ...]


class Watch(NamedTuple):
    """A name and what it meant: ``get(key)`` gives what it means now."""

    get: Callable[[Any], Any]
    key: Any
    value: Any
    name: str


def same(found: Any, value: Any) -> bool:
    """Whether a name still means the same: numbers by their bits, objects by identity."""
    if found is value:
        return True
    kind = type(found)
    if kind is not type(value):
        return False
    if kind in _VALUES:
        return bool(found == value)
    if kind is float or kind is complex:
        return repr(found) == repr(value)
    if isinstance(found, np.generic):
        return bool(found.dtype == value.dtype and found.tobytes() == value.tobytes())
    if kind is types.MethodType:
        return found.__self__ is value.__self__ and found.__func__ is value.__func__
    if isinstance(found, tuple):
        return len(found) == len(value) and all(map(same, found, value))
    return False


def from_outside(watches: list[Watch]) -> list[Watch]:
    """The watches of what still is there when the call has ended.

    What the call made for itself, objects or globals of code that it executed, is held by its
    watches alone, and nobody can change it.
    """
    while True:
        kept = [watch for watch in watches if not _held_by_watches(watch, watches)]
        if len(kept) == len(watches):
            return kept
        watches = kept


def _holder(watch: Watch) -> Any:
    """The dictionary, cell or object that has the name."""
    of = getattr(watch.get, "__self__", None)
    return of if type(of) is dict else watch.key


def _held_by_watches(watch: Watch, watches: list[Watch]) -> bool:
    holder = _holder(watch)
    own = sum(_holder(other) is holder for other in watches)
    # Besides ours: the variable here, and the argument.
    return sys.getrefcount(holder) <= own + 2


def chains_of(code: types.CodeType) -> list[Chain]:
    """The names that a function reads, those of functions inside it included."""
    found: dict[Chain, None] = {}
    _read(code, {name: Chain(FREE, name, ()) for name in code.co_freevars}, found)
    return list(found)


def _read(
    code: types.CodeType, outer: dict[str, Chain | None], found: dict[Chain, None]
) -> None:
    """Collect chains. ``outer`` is what the free variables stand for."""
    instructions = list(dis.get_instructions(code))
    stored: dict[str, int] = {}
    for step in instructions:
        if step.opname.startswith(("STORE_FAST", "STORE_DEREF", "DELETE_FAST", "DELETE_DEREF")):
            for name in step.argval if isinstance(step.argval, tuple) else (step.argval,):
                stored[name] = stored.get(name, 0) + 1
    flags = (code.co_flags & inspect.CO_VARARGS > 0) + (code.co_flags & inspect.CO_VARKEYWORDS > 0)
    count = code.co_argcount + code.co_kwonlyargcount + flags
    # What a local name stands for: an argument, or a chain that was stored once.
    meaning: dict[str, Chain | None] = dict(outer)
    for name in code.co_varnames[:count]:
        if name not in stored:
            meaning[name] = Chain(ARGUMENT, name, ())
    chain: Chain | None = None
    for step in instructions:
        op, name = step.opname, step.argval
        if op in ("CACHE", "EXTENDED_ARG", "COPY_FREE_VARS", "RESUME"):
            continue
        if op in ("LOAD_GLOBAL", "LOAD_NAME"):
            chain = Chain(GLOBAL, name, ())
        elif op.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")):
            chain = meaning.get(name[-1] if isinstance(name, tuple) else name)
        elif op in ("LOAD_ATTR", "LOAD_METHOD") and chain is not None:
            chain = chain._replace(attributes=(*chain.attributes, name))
        else:
            if op in ("STORE_FAST", "STORE_DEREF") and chain is not None and stored[name] == 1:
                meaning[name] = chain
            chain = None
            continue
        if chain is not None:
            found[chain] = None
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            _read(inner, {name: meaning.get(name) for name in inner.co_freevars}, found)


def _inner(code: types.CodeType) -> set[types.CodeType]:
    """The functions inside a function."""
    found: set[types.CodeType] = set()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= {constant} | _inner(constant)
    return found


class Names:
    """A ``with`` block that collects the names read by the functions that run inside it."""

    def __init__(self, function: Any) -> None:
        self.watches: list[Watch] = []
        self._seen: set[tuple[int, str]] = set()
        self._chains: dict[types.CodeType, list[Chain]] = {}
        self._inside: set[types.CodeType] = set()
        self._functions: dict[types.CodeType, types.FunctionType] = {}
        self._frames: set[tuple[Any, ...]] = set()
        self._core: types.FrameType | None = None  # what runs beneath it is not the program's
        self._note_function(function)

    def __enter__(self) -> Names:
        self._before = before = sys.getprofile()
        if before is not None and hasattr(before, "disable"):  # cProfile's
            before.disable()
        self._forward = before if callable(before) else None
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_: object) -> None:
        before = self._before
        if before is not None and hasattr(before, "enable"):
            sys.setprofile(None)
            before.enable()
        else:
            sys.setprofile(before)

    def _event(self, frame: types.FrameType, event: Any, arg: Any) -> None:
        if event == "call" and self._core is None:
            chains = self._chains.get(frame.f_code)
            if chains is None:
                if frame.f_globals.get("__name__", "").startswith(_CORE):
                    self._core = frame
                else:
                    chains = self._chains[frame.f_code] = self._analyse(frame)
            if chains:
                self._called(frame, chains)
        elif event == "return" and frame is self._core:
            self._core = None
        if self._forward is not None:
            self._forward(frame, event, arg)

    def _analyse(self, frame: types.FrameType) -> list[Chain]:
        code = frame.f_code
        module = frame.f_globals.get("__name__") or ""
        if code in self._inside or module.partition(".")[0] in _FIXED:
            return []
        own = module.startswith("numtape.")
        if own and not module.startswith(_OBJECTS):
            return []
        self._inside |= _inner(code)
        return [chain for chain in chains_of(code) if chain.kind == ARGUMENT or not own]

    def _called(self, frame: types.FrameType, chains: list[Chain]) -> None:
        code = frame.f_code
        roots = {chain.root for chain in chains if chain.kind == ARGUMENT and chain.attributes}
        arguments = {}
        if roots:
            values = frame.f_locals
            arguments = {name: values[name] for name in roots if name in values}
        key = (code, *map(id, arguments.values()))
        if key in self._frames:
            return
        self._frames.add(key)
        for chain in chains:
            if chain.kind == GLOBAL:
                value = self._global(frame, chain.root)
            elif chain.kind == FREE:
                value = self._free(code, chain.root)
            else:
                value = arguments.get(chain.root, _MISSING)
            name = chain.root
            for attribute in chain.attributes:
                if value is _MISSING:
                    break
                name = f"{name}.{attribute}"
                value = self._attribute(value, attribute, name)

    def _global(self, frame: types.FrameType, name: str) -> Any:
        names = frame.f_globals
        value = names.get(name, _MISSING)
        if value is _MISSING and name in frame.f_builtins:
            return _MISSING
        if isinstance(value, types.ModuleType):
            return value if _changes(value) else _MISSING
        if isinstance(value, type) or isinstance(value, types.BuiltinFunctionType):
            return value
        return self._watch(names.get, name, names, name)

    def _free(self, code: types.CodeType, name: str) -> Any:
        function = self._functions.get(code)
        if function is None:
            holders = gc.get_referrers(code)
            function = next((x for x in holders if isinstance(x, types.FunctionType)), None)
            if function is None:
                return _MISSING
            self._functions[code] = function
        cell = (function.__closure__ or ())[code.co_freevars.index(name)]
        return self._watch(_contents, cell, cell, name)

    def _attribute(self, value: Any, attribute: str, name: str) -> Any:
        """The value of an attribute, which is watched unless it is a method or computed."""
        if isinstance(value, Tensor | Variable):
            return _MISSING
        if isinstance(value, types.ModuleType):
            if not _changes(value):
                return _MISSING
            return self._watch(vars(value).get, attribute, vars(value), name)
        try:
            own = object.__getattribute__(value, "__dict__")
        except AttributeError:
            own = {}
        if isinstance(value, type):
            return self._watch(_attribute_getter(attribute), value, value, name)
        of_class = inspect.getattr_static(type(value), attribute, _MISSING)
        if isinstance(of_class, property) or (
            of_class is not _MISSING and hasattr(type(of_class), "__set__")
            and not isinstance(of_class, types.MemberDescriptorType)
        ):
            return _MISSING  # computed: what it reads is seen when it runs
        if type(own) is dict and (attribute in own or of_class is _MISSING):
            return self._watch(own.get, attribute, own, name)
        if hasattr(type(of_class), "__get__") and not isinstance(
            of_class, types.MemberDescriptorType
        ):
            self._note_function(of_class)
            return _MISSING  # a method
        return self._watch(_attribute_getter(attribute), value, value, name)

    def _watch(self, get: Callable[[Any], Any], key: Any, holder: Any, name: str) -> Any:
        try:
            value = get(key)
        except (AttributeError, ValueError):
            return _MISSING
        mark = id(holder), name.rpartition(".")[2]
        if mark not in self._seen:
            self._seen.add(mark)
            self.watches.append(Watch(get, key, value, name))
            self._note_function(value)
        return value

    def _note_function(self, value: Any) -> None:
        """Remember whose free variables a function's code has."""
        while isinstance(value, types.MethodType):
            value = value.__func__
        value = inspect.getattr_static(value, "python_function", value)  # a `function`
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        if isinstance(value, _FUNCTIONS):
            function = inspect.unwrap(value)
            for one in (value, function):
                if isinstance(one, types.FunctionType):
                    self._functions[one.__code__] = one


def _changes(module: types.ModuleType) -> bool:
    """Whether a module's names may be rebound by the program."""
    top = module.__name__.partition(".")[0]
    return top not in _FIXED and top != "numtape"


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def _attribute_getter(attribute: str) -> Callable[[Any], Any]:
    return lambda value: getattr(value, attribute, None)
