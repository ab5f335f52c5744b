"""Guards: reads that are compared before every replay, in one compiled pass.

Objects are referred to weakly where that is possible: a recording keeps no model alive. If one of
them goes, its guards never hold again. What has no weak references, numbers, lists and dicts, is
kept.
"""

from __future__ import annotations

import ctypes
import importlib
import struct
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...compile import cache as disk
from ...compile.kernel_sources import kernel_source
from ...native.first import FAST, builtin
from ...values.memory import Array, address_of
from . import reads
from .frames import WORD, word_at
from .reads import MISSING, Read, is_same
from .touched import key_identity

# Kinds of tests and columns of a row; as in kernels/passes/guards.py (a test compares).
(
    _WORD,
    _ENTRY,
    _ATTRIBUTE,
    _METHOD,
    _ITEM,
    _TRUTH,
    _LENGTH,
    _ITEMS,
    _KEYS,
    _ENTRIES,
    _ANSWER,
    _CONTAINS,
    _HALF,
) = range(13)
_HEAD, _COLUMNS = 6, 5
_TYPE, _CELL = WORD, 2 * WORD  # where an object has its type, and a cell its contents

_TESTS = {
    reads.ENTRY: _ENTRY,
    reads.CELL: _WORD,
    reads.TYPE: _WORD,
    reads.ATTRIBUTE: _ATTRIBUTE,
    reads.METHOD: _METHOD,
    reads.ITEM: _ITEM,
    reads.TRUTH: _TRUTH,
    reads.LENGTH: _LENGTH,
    reads.CONTAINS: _CONTAINS,
    reads.CLASS: _HALF,
    reads.ITEMS: _ITEMS,
    reads.KEYS: _KEYS,
    reads.ENTRIES: _ENTRIES,
    reads.ANSWER: _ANSWER,
}

_API = (
    "PyDict_GetItem",
    "PyObject_GetAttr",
    "PyObject_GetItem",
    "PyObject_IsTrue",
    "PyObject_Size",
    "Py_DecRef",
    "PyErr_Clear",
    "PyDict_Next",
    "PyDict_Size",
    "PySequence_Contains",
)


@cache
def _api() -> Array:
    """The addresses of what the pass calls, and of types that it knows."""
    found = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _API]
    return np.array([*found, id(float), id(types.MethodType)], np.int64)


@cache
def _unchanged() -> Callable[[int, int], int]:
    """The compiled pass."""
    symbol = "numtape_unchanged"

    def build() -> disk.Built:
        from ...compile.numba_compiler import Function, compile_unit

        kernel = importlib.import_module("numtape.kernels.passes.guards").called
        built: disk.Built = compile_unit("unchanged", [Function(symbol, kernel, [""] * 3)])
        return built

    source = kernel_source("compiler", "jit", "target", "passes.guards")
    address = disk.load("passes-unchanged", source, build)[symbol]
    # A builtin function costs a tenth of a call by ctypes.
    return builtin("unchanged", address, FAST)  # type: ignore[no-any-return]


@cache
def code_fields() -> tuple[int, ...]:
    """Where functions have their code, defaults and keyword defaults: found by looking."""

    def probe(x: Any = 1, *, y: Any = 2) -> None:
        """Have all three."""

    wanted = [id(probe.__code__), id(probe.__defaults__), id(probe.__kwdefaults__)]
    words = {word_at(id(probe) + k): k for k in range(0, type(probe).__basicsize__, WORD)}
    return tuple(words[x] for x in wanted)


# Where a class has a number that changes whenever it does, and any class that it is made of: from
# CPython's Include/cpython/object.h, tp_version_tag. 0: none.
_VERSION = 384


def _version(kind: type) -> int:
    """The number of a class as it is now; -1, which none has, where there are no numbers."""
    # A class gets one when it, and not its own class, is asked for an attribute.
    type.__getattribute__(kind, "__init__")
    return (word_at(id(kind) + _VERSION) & 0xFFFFFFFF or -1) if _versions() else -1


@cache
def _versions() -> bool:
    """Whether classes have their numbers where they are looked for."""

    class Probe:
        one = 1

    class Part(Probe):
        pass

    found = []
    for change in (False, False, True, False):
        if change:
            Probe.one = 2
        assert Part.one
        found.append(word_at(id(Part) + _VERSION) & 0xFFFFFFFF)
    return 0 < found[0] == found[1] != found[2] == found[3] > 0


class Guard(NamedTuple):
    """A read as guards keep it: objects may be gone.

    Attributes:
      kind, key, name, place: As in `Read`.
      holder, value: They give the object, or None if it has gone.
    """

    kind: int
    holder: Callable[[], Any]
    key: Any
    value: Callable[[], Any]
    name: str
    place: tuple[str, int]

    def read(self) -> Read:
        """The read itself."""
        return Read(self.kind, self.holder(), self.key, self.value(), self.name, self.place)


def _table(rows: Sequence[tuple[int, ...]], gone: list[Any]) -> Array:
    """What is compared in one pass; nothing holds once a list is no longer empty."""
    head = [len(rows), address_of(_api()), id(gone), 0, 0, 0]
    return np.array(head + [x for row in rows for x in row], np.int64)


def table_of(
    words: list[tuple[Any, int, Any]],
    entries: list[tuple[dict[str, Any], str, Any]],
    gone: list[Any],
) -> Array:
    """A table for objects and names that the caller keeps.

    Args:
      words: Holders, the bytes at which they have something, and what.
      entries: Dicts, keys, and what is under them.
      gone: As in `Guards`.
    """
    rows = [(_WORD, id(holder), at, id(value), -1) for holder, at, value in words]
    rows += [(_ENTRY, id(of), id(key), id(value), -1) for of, key, value in entries]
    return _table(rows, gone)


def compared(table: Array) -> bool:
    """Whether all in a table is as it was."""
    return bool(_unchanged()(address_of(table), 0) == table[0])


class Guards:
    """Reads that must find the same.

    Attributes:
      guards: The reads, without those that are there twice.
      gone: Not empty once an object has gone: then nothing holds.
    """

    __slots__ = (
        "_kept",
        "_marks",
        "_of_row",
        "_pass",
        "_references",
        "_rows",
        "gone",
        "guards",
    )

    def __init__(self, found: Iterable[Read] = ()) -> None:
        self.guards: list[Guard] = []
        self.gone: list[Any] = []
        self._marks: set[tuple[Any, ...]] = set()
        self._references: dict[int, Callable[[], Any]] = {}
        self._kept: list[Any] = []
        self._rows: list[tuple[int, ...]] = []
        self._of_row: list[int] = []  # the guard that each row belongs to
        # The table, where it is, how many rows it has, and what compares them: one thing, so that
        # another thread sees all of it or nothing.
        self._pass: tuple[Array, int, int, Callable[[int, int], int]] | None = None
        self.add(found)

    def add(self, found: Iterable[Read]) -> None:
        """Add reads; those that are known already are left out."""
        # What an attribute gives is only asked for while its class is the same: a property that it
        # has become is the program's.
        for read in sorted(found, key=lambda read: read.kind not in (reads.TYPE, reads.CLASS)):
            mark: tuple[Any, ...] = read.kind, id(read.holder), key_identity(read.key)
            if read.kind == reads.ANSWER:  # which is made anew each time
                mark = read.kind, id(read.holder.func), *map(key_identity, read.holder.args)
            if mark in self._marks:
                continue
            # What answers is made for the read, and kept by it.
            kept = read.kind == reads.ANSWER
            guard = Guard(
                read.kind,
                _Kept(read.holder) if kept else self._reference(read.holder),
                read.key,
                self._reference(read.value),
                read.name,
                read.place,
            )
            self._enter(guard, self._tests(read), mark)
        if self._rows:
            self._tabulate()

    def _enter(self, guard: Guard, rows: list[tuple[int, ...]], mark: tuple[Any, ...]) -> None:
        """Add a guard, all of it: what is marked is not added again."""
        numbers, guards, marks = [len(self.guards)] * len(rows), [guard], {mark}
        # whole: nothing runs in between, see core.values.interning
        self._rows += rows
        self._of_row += numbers
        self.guards += guards
        self._marks |= marks
        # done

    def _reference(self, value: Any) -> Callable[[], Any]:
        """What gives an object as long as it lives."""
        known = self._references.get(id(value))
        if known is None:
            try:
                known = weakref.ref(value, self.gone.append)
            except TypeError:
                known = _Kept(value)
            self._references[id(value)] = known
        return known

    def _tests(self, read: Read) -> list[tuple[int, ...]]:
        """The rows of the table for a read: kind, holder, key, what is expected, its bits."""
        kind, holder, key, value = read.kind, read.holder, read.key, read.value
        test, at = _TESTS.get(kind, _WORD), id(holder)
        if kind == reads.CODE:
            return [  # where there are no defaults, the field is empty
                (_WORD, at, field, 0 if part is None else id(part), -1)
                for field, part in zip(code_fields(), value, strict=True)
            ]
        if kind == reads.CLASS:
            return [(_HALF, at, _VERSION, _version(holder), -1)]
        if kind == reads.TYPE:
            return [(_WORD, at, _TYPE, id(value), -1)]
        expected = 0 if value is MISSING else id(value)
        bits = -1
        if type(value) is float:
            (bits,) = struct.unpack("q", struct.pack("d", value))
        if kind == reads.CELL:
            return [(_WORD, at, _CELL, expected, bits)]
        if kind in (reads.TRUTH, reads.LENGTH):
            return [(test, at, 0, int(value), -1)]
        if kind == reads.CONTAINS:
            self._kept.append(key)
            return [(test, at, id(key), int(value), -1)]
        if kind in (reads.ITEMS, reads.KEYS, reads.ENTRIES):
            addresses = np.array([*map(id, value), 0], np.int64)
            self._kept += (addresses, value)
            count = len(value) // 2 if kind == reads.ENTRIES else len(value)
            return [(test, at, count, address_of(addresses), -1)]
        self._kept.append(key)
        return [(test, at, id(key), expected, bits)]

    def _tabulate(self) -> None:
        """Make the table anew; whoever compares goes on with the old one."""
        table = _table(self._rows, self.gone)
        self._pass = table, address_of(table), len(self._rows), _unchanged()

    def table(self) -> tuple[int, int, Any]:
        """The address of the table that is compared, 0 for none; its rows; and who keeps it."""
        known = self._pass
        return (0, 0, known) if known is None else (known[1], known[2], known)

    def holds(self) -> bool:
        """Whether every read would find the same as before."""
        known = self._pass
        if known is None:
            return True
        table, address, count, compare = known
        at = compare(address, 0)
        while at < count:
            if not self._still(at, table):
                return False
            at = compare(address, at + 1)
        return True

    def _still(self, row: int, table: Array) -> bool:
        """Whether a read that found another object found an equal one."""
        if self.gone:
            return False
        guard = self.guards[self._of_row[row]]
        read = guard.read()
        try:
            found = read.now()
        except Exception:  # what is read again may raise anything
            return False
        if not is_same(found, read.value):
            return False
        if guard.kind == reads.CLASS:  # something else of it was changed
            table[_HEAD + _COLUMNS * row + 3] = _version(read.holder)
        if _is_number(found) and guard.kind in (
            reads.ENTRY,
            reads.CELL,
            reads.ATTRIBUTE,
            reads.ITEM,
        ):
            # The next time this one is expected, and kept alive until then.
            guards, number = self.guards, self._of_row[row]
            kept, address = guard._replace(value=_Kept(found)), id(found)
            at = _HEAD + _COLUMNS * row + 3
            # whole: nothing runs in between, see core.values.interning
            table[at] = address
            guards[number] = kept
            # done
        return True

    def failed(self) -> Read | None:
        """The first read that finds something else now."""
        for guard in self.guards:
            read = guard.read()
            try:
                if not read.holds():
                    return read
            except Exception:
                return read
        return None


class _Kept:
    """Gives an object that has no weak references."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


def _is_number(value: Any) -> bool:
    return type(value) in (int, float, str)
