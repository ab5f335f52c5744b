"""Names that a traced call reads: what Python reaches outside of the tensors.

A recording holds while every name means what it meant: globals, free variables, and attributes
reached by name (``self.model.rate``). Numbers and strings are compared by value, anything else
by identity. What is inside containers is not looked at.

Which functions run is seen while the call is traced; which names they read is in their bytecode.
What a local name stands for is seen where an attribute of it is read.
"""

from __future__ import annotations

import gc
import importlib.util
import inspect
import sys
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .bytecode import FREE, GLOBAL, IMPORT, Chain, Chains, Item, chains_of
from .tensor import Tensor
from .variable import Variable

_VALUES = (int, str, bytes, bool, type(None))


class _Missing:
    """What a name means that is not there."""

    def __repr__(self) -> str:
        return "missing"


MISSING: Any = _Missing()

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

HIDDEN = ", of numtape"  # how names of attributes end that are not the program's


class Watch(NamedTuple):
    """A name and what it meant: ``get(key, otherwise)`` gives what it means now.

    Attributes:
      holder: Who has the name: a dictionary, cell, class or object, or a weak reference to one.
    """

    get: Callable[[Any, Any], Any]
    key: Any
    value: Any
    name: str
    holder: Any

    @property
    def mark(self) -> tuple[int, str]:
        """What tells it from others, as long as it is there."""
        return id(self.holder), self.name.rpartition(".")[2]

    def now(self) -> Any:
        """What it means now."""
        return self.get(self.key, MISSING)

    def changed(self) -> bool:
        """Whether it means something else now."""
        found = self.now()
        return found is not self.value and not same(found, self.value)


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
        kept = [watch for watch in watches if not _held_by_watches(watch, watches, 0)]
        if len(kept) == len(watches):
            return kept
        watches = kept


def _held_by_watches(watch: Watch, watches: list[Watch], others: int) -> bool:
    """Whether only watches, and ``others`` of ours, refer to who has a name."""
    holder = watch.holder
    if isinstance(holder, weakref.ref):
        return holder() is None
    if isinstance(holder, type | types.ModuleType):
        return False
    # A watch refers to it twice: as its holder, and by its method or its key.
    own = 2 * sum(x.holder is holder for x in watches) + others
    # Besides ours: the variable here, and the argument.
    return sys.getrefcount(holder) <= own + 2


class Names:
    """A ``with`` block that collects the names read by the functions that run inside it.

    Debuggers and what measures coverage see these functions as well.
    """

    def __init__(self, function: Any) -> None:
        self.watches: list[Watch] = []
        self._seen: dict[tuple[int, str], Any] = {}  # and who has the name: addresses come again
        self._chains: dict[types.CodeType, Chains | None] = {}
        self._inside: set[types.CodeType] = set()
        self._functions: dict[types.CodeType, list[types.FunctionType]] = {}
        # What was followed: code, offset, and the objects, which keep their addresses so.
        self._followed: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        # Attributes and globals that may be changed: the name of who has them, and the values.
        self._states: dict[int, tuple[str, Any, dict[str, Any]]] = {}
        self._results: dict[types.FrameType | None, Any] = {}  # of the last function each called
        self._before: Any = sys.gettrace()
        self._core: types.FrameType | None = None  # what runs beneath it is not the program's
        self._lost = False
        self._writes = 0  # how often a name or attribute was changed
        self._note_function(function)

    def __enter__(self) -> Names:
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        # The program took Python's trace function away, or an interrupt that came inside of it.
        self._lost = sys.gettrace() != self._called or self._core is not None
        self._core = None
        self.stop()
        self._followed.clear()
        self._results.clear()
        self._seen.clear()

    def stop(self) -> None:
        """Leave Python to whoever followed it before."""
        if sys.gettrace() == self._called:
            sys.settrace(self._before)

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
        if chains.constant:
            self._read(frame, -1, chains.constant)
        for name in chains.globals:
            self._state(frame.f_globals, "", [name])
        if code.co_argcount:
            self._method(code, frame.f_locals.get(code.co_varnames[0]))
        if self._before is None:
            frame.f_trace_lines = False
        if chains.changing or chains.stores:
            # Python 3.13 wants to know who follows the frame first, Python 3.12 to be told again.
            frame.f_trace = self._step
            frame.f_trace_opcodes = True
            sys.settrace(self._called)
        return self._step

    def _left(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "return" and frame is self._core:
            self._core = None
        return self._left

    def _step(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "opcode":
            found = self._chains[frame.f_code]
            assert found is not None
            chains = found.changing.get(frame.f_lasti)
            if chains is not None:
                self._read(frame, frame.f_lasti, chains)
            if frame.f_lasti in found.stores:
                self._writes += 1
        elif event == "return":
            self._results[frame.f_back] = arg
        return self._step

    def _analysed(self, code: types.CodeType, module: str) -> Chains | None:
        if module.partition(".")[0] in _FIXED:
            return None
        own = module.startswith("numtape.")
        if own and not module.startswith(_OBJECTS):
            return None
        self._inside |= {c for c in code.co_consts if isinstance(c, types.CodeType)}
        chains = chains_of(code)
        return chains._replace(constant=[]) if own else chains

    # What names mean.

    def _read(self, frame: types.FrameType, offset: int, chains: list[Chain]) -> None:
        code, local = frame.f_code, frame.f_locals
        local = local | {"()": self._results.get(frame)}
        roots = [local.get(chain.root) for chain in chains if chain.kind != GLOBAL]
        # What lies between a root and its attributes may have been changed since.
        key = (code, offset, self._writes, id(frame.f_globals), *map(id, roots))
        if key in self._followed:
            return
        self._followed[key] = (roots, frame.f_globals)
        names = self._chains[code]
        changes = names is not None and names.attributes
        for chain in chains:
            if chain.kind == GLOBAL:
                value = self._global(frame, chain.root)
            elif chain.kind == IMPORT:
                value = _module(chain.root, frame.f_globals)
            else:
                value = local.get(chain.root, MISSING)
                if chain.kind == FREE and chain.root in local:
                    self._free(code, local, chain.root)
            name = chain.root
            for attribute in (*chain.attributes, ""):
                if value is MISSING:
                    break
                if changes:
                    self._state_of(value, name)
                if isinstance(attribute, Item):
                    at = local.get(attribute.key) if attribute.local else attribute.key
                    name, value = f"{name}[{at!r}]", _item(value, at)
                elif attribute:
                    name = f"{name}.{attribute}"
                    value = self._attribute(value, attribute, name)

    def changed(self) -> str:
        """A name whose meaning the call has changed; "" if there is none."""
        states = list(self._states.values())
        self._states.clear()  # what they hold would seem to outlive the call
        if self._lost:
            return "Python's trace function"
        held = {id(state) for _, state, _ in states}
        for watch in self.watches:
            ours = id(watch.holder) in held
            if watch.changed() and not _held_by_watches(watch, self.watches, ours):
                return watch.name
        holders = [id(watch.holder) for watch in self.watches]
        for name, state, before in states:
            own = 2 * holders.count(id(state))
            if sys.getrefcount(state) <= own + 3:  # of an object that the call made for itself
                continue
            # Of a module's globals (without a name) only those are looked at that may change.
            for key in {*before, *state} if name else before:
                if str(key).endswith(HIDDEN):
                    continue
                if not same(state.get(key, MISSING), before.get(key, MISSING)):
                    return f"{name}.{key}" if name else key
        return ""

    def _state_of(self, value: Any, name: str) -> None:
        if isinstance(value, types.ModuleType | type):
            self._state(vars(value), name, vars(value))
        elif not isinstance(value, Tensor | Variable):
            try:
                own = object.__getattribute__(value, "__dict__")
            except AttributeError:
                return
            self._state(own, name, own)

    def _state(self, of: Any, name: str, keys: Iterable[str]) -> None:
        known = self._states.get(id(of))
        if known is None:
            self._states[id(of)] = name, of, {key: of.get(key, MISSING) for key in keys}
        elif not name:
            for key in keys:
                known[2].setdefault(key, of.get(key, MISSING))

    def _global(self, frame: types.FrameType, name: str) -> Any:
        names = frame.f_globals
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
            return MISSING
        if isinstance(value, tuple):  # a named one does not change
            return getattr(value, attribute, MISSING)
        if attribute == "__class__":
            return type(value)
        if isinstance(value, types.ModuleType):
            if not _changes(value):
                return MISSING
            return self._watch(vars(value).get, attribute, vars(value), name)
        if isinstance(value, type):
            return self._watch(_getter(attribute), value, value, name)
        try:
            own = object.__getattribute__(value, "__dict__")
        except AttributeError:
            own = {}
        of_class = inspect.getattr_static(type(value), attribute, MISSING)
        slot = isinstance(of_class, types.MemberDescriptorType)
        if isinstance(of_class, types.GetSetDescriptorType):  # of C: an attribute or computed
            found = getattr(value, attribute, MISSING)
            if not isinstance(found, (*_VALUES, float, complex, np.generic)):
                return MISSING
            return self._watch_object(value, attribute, name)
        if of_class is not MISSING and hasattr(type(of_class), "__set__") and not slot:
            self._of_class(value, attribute, name)
            return MISSING  # computed: what it reads is seen when it runs
        if type(own) is dict and (attribute in own or of_class is MISSING):
            return self._watch(own.get, attribute, own, name)
        if hasattr(type(of_class), "__get__") and not slot:
            if self._of_class(value, attribute, name) and type(own) is dict:
                self._watch(own.get, attribute, own, name)  # may come before the method
            self._note_function(of_class)
            return MISSING
        return self._watch_object(value, attribute, name)

    def _watch_object(self, value: Any, attribute: str, name: str) -> Any:
        """Watch an attribute that is not in a dictionary."""
        try:
            reference = weakref.ref(value)
        except TypeError:
            return self._watch(_getter(attribute), value, value, name)
        return self._watch(_weak_getter(attribute), reference, reference, name)

    def looked_through(self, value: Any) -> None:
        """All attributes of an object are read, and which there are."""
        own, name = vars(value), type(value).__name__
        self._watch(_keys, own, own, f"{name}.__dict__")
        for attribute in list(own):
            if not attribute.endswith(HIDDEN):
                self._watch(own.get, attribute, own, f"{name}.{attribute}")

    def _method(self, code: types.CodeType, owner: Any) -> None:
        """Watch where a method was found, which may be by `super()`."""
        for kind in type(owner).__mro__[:-1]:
            found = vars(kind).get(code.co_name)
            if getattr(found, "__code__", None) is code:
                self._watch(
                    vars(kind).get, code.co_name, kind, f"{kind.__name__}.{code.co_name}"
                )

    def _of_class(self, value: Any, attribute: str, name: str) -> bool:
        """Watch a method or property, and where it may be overridden, if it may change."""
        kinds = type(value).__mro__
        last = next((k for k, kind in enumerate(kinds) if attribute in vars(kind)), -1)
        found = False
        for owner in kinds[: last + 1]:
            top = owner.__module__.partition(".")[0]
            if top not in _FIXED and top != "numtape":
                self._watch(vars(owner).get, attribute, owner, f"{name} of {owner.__name__}")
                found = owner is kinds[last]
        return found

    def _watch(self, get: Callable[[Any, Any], Any], key: Any, holder: Any, name: str) -> Any:
        value = get(key, MISSING)
        watch = Watch(get, key, value, name, holder)
        if watch.mark not in self._seen:
            self._seen[watch.mark] = holder
            self.watches.append(watch)
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


def _item(value: Any, key: Any) -> Any:
    """An item of a container, which is not watched: what is inside is fixed."""
    if type(value) not in (list, tuple, dict) or type(key) not in (int, str, bool):
        return MISSING
    try:
        return value[key]
    except LookupError:
        return MISSING


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


def _module(name: str, scope: dict[str, Any]) -> Any:
    """The module of that name, which may be relative to that of ``scope``."""
    if name.startswith("."):
        try:
            name = importlib.util.resolve_name(name, scope.get("__package__") or "")
        except ImportError:
            return MISSING
    return sys.modules.get(name, MISSING)


def _keys(own: dict[str, Any], otherwise: Any) -> tuple[str, ...]:
    return tuple(key for key in own if not key.endswith(HIDDEN))


def _contents(cell: types.CellType, otherwise: Any = None) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return otherwise


def _getter(attribute: str) -> Callable[[Any, Any], Any]:
    return lambda value, otherwise: getattr(value, attribute, otherwise)


def _weak_getter(attribute: str) -> Callable[[Any, Any], Any]:
    return lambda reference, otherwise: getattr(reference(), attribute, otherwise)
