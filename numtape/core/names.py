"""Names that a traced call reads: what Python reaches outside of the tensors.

A recording holds while every name means what it meant: globals, free variables, and attributes
reached by name (``self.model.rate``). Numbers and strings are compared by value, anything else
by identity. What is inside containers is not looked at.

Which functions run is seen while the call is traced; which names they read is in their bytecode.
What a local name stands for is seen where an attribute of it is read.
"""

from __future__ import annotations

import dis
import gc
import inspect
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .tensor import Tensor
from .variable import Variable

_VALUES = (int, str, bytes, bool, type(None))
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

GLOBAL, FREE, LOCAL, RESULT = range(4)

# Instructions of one frame that are followed at most: each takes a microsecond.
MOST = 100_000


class Chain(NamedTuple):
    """Where a name starts, and the attributes that follow: ``self.model.rate``.

    It may be the result of a function instead: ``chosen().rate``.
    """

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
    """The dictionary, cell or object that has the name; None if it is gone."""
    of = getattr(watch.get, "__self__", None)
    if type(of) is dict:
        return of
    return watch.key() if isinstance(watch.key, weakref.ref) else watch.key


def _held_by_watches(watch: Watch, watches: list[Watch]) -> bool:
    holder = _holder(watch)
    own = sum(_holder(x) is holder and not isinstance(x.key, weakref.ref) for x in watches)
    # Besides ours: the variable here, and the argument.
    return sys.getrefcount(holder) <= own + 2


def chains_of(code: types.CodeType) -> tuple[list[Chain], dict[int, list[Chain]]]:
    """The names that a function reads.

    Returns:
      Those that mean the same from its beginning on; and reads of attributes of local names, by
      the offsets of the instructions.
    """
    instructions = list(dis.get_instructions(code))
    stored: set[str] = set()
    for step in instructions:
        if step.opname.startswith(("STORE_FAST", "STORE_DEREF", "DELETE_FAST", "DELETE_DEREF")):
            stored.update(step.argval if isinstance(step.argval, tuple) else (step.argval,))
    constant: dict[Chain, None] = {}
    changing: dict[int, list[Chain]] = {}
    chains: list[Chain] = []  # what the top of the stack may be
    brought: dict[int, list[Chain]] = {}  # by jumps, to their targets
    for step in instructions:
        op, name = step.opname, step.argval
        if step.is_jump_target:
            chains = chains + brought.pop(step.offset, [])
        if op in ("CACHE", "EXTENDED_ARG", "COPY_FREE_VARS", "RESUME"):
            continue
        if op in ("LOAD_GLOBAL", "LOAD_NAME"):
            chains = [Chain(GLOBAL, name, ())]
        elif op.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")):
            name = name[-1] if isinstance(name, tuple) else name
            chains = [Chain(FREE if name in code.co_freevars else LOCAL, name, ())]
        elif op in ("LOAD_ATTR", "LOAD_METHOD") and chains:
            chains = [c._replace(attributes=(*c.attributes, name)) for c in chains]
        elif op in ("STORE_FAST", "STORE_DEREF", "COPY", "DUP_TOP") and chains:
            continue  # what was read is read again: `(m := self.model).rate`
        elif op.startswith("CALL"):
            chains = [Chain(RESULT, "()", ())]
        else:
            if "JUMP" in op and chains and isinstance(name, int):
                brought.setdefault(name, []).extend(chains)
            chains = []
            continue
        for chain in chains:
            if chain.kind == GLOBAL or (chain.kind == FREE and chain.root not in stored):
                constant[chain] = None
            elif chain.attributes:
                changing.setdefault(step.offset, []).append(chain)
    return list(constant), changing


class Names:
    """A ``with`` block that collects the names read by the functions that run inside it.

    Debuggers and what measures coverage see these functions as well.
    """

    def __init__(self, function: Any) -> None:
        self.watches: list[Watch] = []
        self._seen: set[tuple[int, str]] = set()
        self._chains: dict[types.CodeType, tuple[list[Chain], dict[int, list[Chain]]] | None] = {}
        self._inside: set[types.CodeType] = set()
        self._functions: dict[types.CodeType, list[types.FunctionType]] = {}
        # What was followed: code, offset, and the objects, which keep their addresses so.
        self._followed: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self._steps: dict[types.FrameType, int] = {}
        self._results: dict[types.FrameType | None, Any] = {}  # of the last function each called
        self._core: types.FrameType | None = None  # what runs beneath it is not the program's
        self._note_function(function)

    def __enter__(self) -> Names:
        self._before: Any = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)
        self._followed.clear()
        self._steps.clear()
        self._results.clear()

    # What Python calls.

    def _called(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        other = None
        if self._before is not None:
            other = self._before(frame, event, arg)
            sys.settrace(self._called)  # some set themselves
        own = None
        if self._core is None:
            own = self._entered(frame)
        if other is None:
            return own
        return other if own is None else _both(own, other)

    def _entered(self, frame: types.FrameType) -> Any:
        """What follows a function that was called."""
        code = frame.f_code
        if code not in self._chains:
            module = frame.f_globals.get("__name__") or ""
            if module.startswith(_CORE):
                self._core = frame
                if self._before is None:
                    frame.f_trace_lines = False
                return self._left
            self._chains[code] = self._analysed(code, module)
        chains = self._chains[code]
        if chains is None:
            return None
        constant, changing = chains
        if constant:
            self._read(frame, -1, constant)
        if self._before is None:
            frame.f_trace_lines = False
        frame.f_trace_opcodes = bool(changing)
        return self._step

    def _left(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "return" and frame is self._core:
            self._core = None
        return self._left

    def _step(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "opcode":
            found = self._chains[frame.f_code]
            assert found is not None
            chains = found[1].get(frame.f_lasti)
            if chains is not None:
                self._read(frame, frame.f_lasti, chains)
            count = self._steps[frame] = self._steps.get(frame, 0) + 1
            if count > MOST:
                frame.f_trace_opcodes = False
        elif event == "return":
            self._results[frame.f_back] = arg
        return self._step

    def _analysed(
        self, code: types.CodeType, module: str
    ) -> tuple[list[Chain], dict[int, list[Chain]]] | None:
        if module.partition(".")[0] in _FIXED:
            return None
        own = module.startswith("numtape.")
        if own and not module.startswith(_OBJECTS):
            return None
        self._inside |= {c for c in code.co_consts if isinstance(c, types.CodeType)}
        constant, changing = chains_of(code)
        return [chain for chain in constant if not own], changing

    # What names mean.

    def _read(self, frame: types.FrameType, offset: int, chains: list[Chain]) -> None:
        code, local = frame.f_code, frame.f_locals
        local = local | {"()": self._results.get(frame)}
        roots = [local.get(chain.root) for chain in chains if chain.kind != GLOBAL]
        key = (code, offset, id(frame.f_globals), *map(id, roots))
        if key in self._followed:
            return
        self._followed[key] = (roots, frame.f_globals)
        for chain in chains:
            if chain.kind == GLOBAL:
                value = self._global(frame, chain.root)
            else:
                value = local.get(chain.root, _MISSING)
                if chain.kind == FREE and chain.root in local:
                    self._free(code, local, chain.root)
            name = chain.root
            for attribute in chain.attributes:
                if value is _MISSING:
                    break
                name = f"{name}.{attribute}"
                value = self._attribute(value, attribute, name)

    def _global(self, frame: types.FrameType, name: str) -> Any:
        names = frame.f_globals
        value = names.get(name, _MISSING)
        if value is _MISSING:
            if name not in frame.f_builtins:
                self._watch(names.get, name, names, name)
            return _MISSING
        if isinstance(value, types.ModuleType):
            return value if _changes(value) else _MISSING
        if isinstance(value, type | types.BuiltinFunctionType):
            return value
        return self._watch(names.get, name, names, name)

    def _free(self, code: types.CodeType, local: dict[str, Any], name: str) -> None:
        """Watch the cells of all functions that may be the one that runs."""
        for function in self._functions_of(code):
            cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
            if all(_contents(cell) is local.get(free) for free, cell in cells.items()):
                self._watch(_contents, cells[name], cells[name], name)

    def _functions_of(self, code: types.CodeType) -> list[types.FunctionType]:
        known = self._functions.get(code)
        if known is None:
            # Made by the call itself, or else hidden in a container.
            holders = [] if code in self._inside else gc.get_referrers(code)
            known = [x for x in holders if isinstance(x, types.FunctionType)]
            self._functions[code] = known
        return known

    def _attribute(self, value: Any, attribute: str, name: str) -> Any:
        """The value of an attribute, which is watched unless it is a method or computed."""
        if isinstance(value, Tensor | Variable):
            return _MISSING
        if isinstance(value, types.ModuleType):
            if not _changes(value):
                return _MISSING
            return self._watch(vars(value).get, attribute, vars(value), name)
        if isinstance(value, type):
            return self._watch(_getter(attribute), value, value, name)
        try:
            own = object.__getattribute__(value, "__dict__")
        except AttributeError:
            own = {}
        of_class = inspect.getattr_static(type(value), attribute, _MISSING)
        slot = isinstance(of_class, types.MemberDescriptorType)
        if isinstance(of_class, property) or (
            of_class is not _MISSING and hasattr(type(of_class), "__set__") and not slot
        ):
            return _MISSING  # computed: what it reads is seen when it runs
        if type(own) is dict and (attribute in own or of_class is _MISSING):
            return self._watch(own.get, attribute, own, name)
        if hasattr(type(of_class), "__get__") and not slot:
            self._note_function(of_class)
            return _MISSING  # a method
        try:
            reference = weakref.ref(value)
        except TypeError:
            return self._watch(_getter(attribute), value, value, name)
        return self._watch(_weak_getter(attribute), reference, value, name)

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
        if isinstance(value, types.FunctionType):
            for one in (value, inspect.unwrap(value)):
                known = self._functions.setdefault(one.__code__, [])
                if isinstance(one, types.FunctionType) and one not in known:
                    known.append(one)


def _both(own: Any, other: Any) -> Any:
    """A trace function that calls ours and somebody else's."""

    def trace(frame: types.FrameType, event: str, arg: Any) -> Any:
        nonlocal other
        own(frame, event, arg)
        if event != "opcode" and other is not None:
            other = other(frame, event, arg)
        return trace

    return trace


def _changes(module: types.ModuleType) -> bool:
    """Whether a module's names may be rebound by the program."""
    top = module.__name__.partition(".")[0]
    return top not in _FIXED and top != "numtape"


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def _getter(attribute: str) -> Callable[[Any], Any]:
    return lambda value: getattr(value, attribute, None)


def _weak_getter(attribute: str) -> Callable[[Any], Any]:
    return lambda reference: getattr(reference(), attribute, None)
