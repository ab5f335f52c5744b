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
    addresses = [
        ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _API
    ]
    return np.array([*addresses, id(float), id(types.MethodType)], np.int64)


@cache
def _compiled_pass() -> Callable[[int, int], int]:
    """The compiled pass."""
    symbol = "numtape_unchanged"

    def build() -> disk.Built:
        from ...compile.numba_compiler import Function, compile_unit

        kernel = importlib.import_module("numtape.kernels.passes.guards").first_changed_entry
        built: disk.Built = compile_unit("unchanged", [Function(symbol, kernel, [""] * 3)])
        return built

    source = kernel_source("compiler", "jit", "target", "passes.guards")
    address = disk.load("passes-unchanged", source, build)[symbol]
    # A builtin function costs a tenth of a call by ctypes.
    return builtin("unchanged", address, FAST)  # type: ignore[no-any-return]


@cache
def code_field_offsets() -> tuple[int, ...]:
    """Where functions have their code, defaults and keyword defaults: found by looking."""

    def probe(x: Any = 1, *, y: Any = 2) -> None:
        """Have all three."""

    addresses = [id(probe.__code__), id(probe.__defaults__), id(probe.__kwdefaults__)]
    offsets = {word_at(id(probe) + k): k for k in range(0, type(probe).__basicsize__, WORD)}
    return tuple(offsets[x] for x in addresses)


# Where a class has a number that changes whenever it does, and any class that it is made of: from
# CPython's Include/cpython/object.h, tp_version_tag. 0: none.
_VERSION_OFFSET = 384


def _version_of(kind: type) -> int:
    """The number of a class as it is now; -1, which none has, where there are no numbers."""
    # A class gets one when it, and not its own class, is asked for an attribute.
    type.__getattribute__(kind, "__init__")
    return (word_at(id(kind) + _VERSION_OFFSET) & 0xFFFFFFFF or -1) if _has_versions() else -1


@cache
def _has_versions() -> bool:
    """Whether classes have their numbers where they are looked for."""

    class Base:
        one = 1

    class Derived(Base):
        pass

    versions = []
    for change in (False, False, True, False):
        if change:
            Base.one = 2
        assert Derived.one
        versions.append(word_at(id(Derived) + _VERSION_OFFSET) & 0xFFFFFFFF)
    return 0 < versions[0] == versions[1] != versions[2] == versions[3] > 0


class StateGuard(NamedTuple):
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
    location: tuple[str, int]

    def read(self) -> Read:
        """The read itself."""
        return Read(self.kind, self.holder(), self.key, self.value(), self.name, self.location)


def _encode_table(rows: Sequence[tuple[int, ...]], dead_references: list[Any]) -> Array:
    """What is compared in one pass; nothing holds once a list is no longer empty."""
    head = [len(rows), address_of(_api()), id(dead_references), 0, 0, 0]
    return np.array(head + [x for row in rows for x in row], np.int64)


def make_table(
    slots: list[tuple[Any, int, Any]],
    entries: list[tuple[dict[str, Any], str, Any]],
    dead_references: list[Any],
) -> Array:
    """A table for objects and names that the caller keeps.

    Args:
      words: Holders, the bytes at which they have something, and what.
      entries: Dicts, keys, and what is under them.
      gone: As in `Guards`.
    """
    rows = [(_WORD, id(holder), offset, id(value), -1) for holder, offset, value in slots]
    rows += [(_ENTRY, id(mapping), id(key), id(value), -1) for mapping, key, value in entries]
    return _encode_table(rows, dead_references)


def is_unchanged(table: Array) -> bool:
    """Whether all in a table is as it was."""
    return bool(_compiled_pass()(address_of(table), 0) == table[0])


class Guards:
    """Reads that must find the same.

    Attributes:
      guards: The reads, without those that are there twice.
      gone: Not empty once an object has gone: then nothing holds.
    """

    __slots__ = (
        "_alive",
        "_comparison",
        "_guard_of_row",
        "_keys",
        "_references",
        "_rows",
        "dead_references",
        "guards",
    )

    def __init__(self, found_reads: Iterable[Read] = ()) -> None:
        self.guards: list[StateGuard] = []
        self.dead_references: list[Any] = []
        self._keys: set[tuple[Any, ...]] = set()
        self._references: dict[int, Callable[[], Any]] = {}
        self._alive: list[Any] = []
        self._rows: list[tuple[int, ...]] = []
        self._guard_of_row: list[int] = []  # the guard that each row belongs to
        # The table, where it is, how many rows it has, and what compares them: one thing, so that
        # another thread sees all of it or nothing.
        self._comparison: tuple[Array, int, int, Callable[[int, int], int]] | None = None
        self.add(found_reads)

    def add(self, new_reads: Iterable[Read]) -> None:
        """Add reads; those that are known already are left out."""
        # What an attribute gives is only asked for while its class is the same: a property that it
        # has become is the program's.
        for read in sorted(new_reads, key=lambda read: read.kind not in (reads.TYPE, reads.CLASS)):
            key: tuple[Any, ...] = read.kind, id(read.holder), key_identity(read.key)
            if read.kind == reads.ANSWER:  # which is made anew each time
                key = read.kind, id(read.holder.func), *map(key_identity, read.holder.args)
            if key in self._keys:
                continue
            # What answers is made for the read, and kept by it.
            is_answer = read.kind == reads.ANSWER
            guard = StateGuard(
                read.kind,
                _StrongReference(read.holder) if is_answer else self._reference(read.holder),
                read.key,
                self._reference(read.value),
                read.name,
                read.location,
            )
            self._append(guard, self._encode(read), key)
        if self._rows:
            self._tabulate()

    def _append(self, guard: StateGuard, rows: list[tuple[int, ...]], key: tuple[Any, ...]) -> None:
        """Add a guard, all of it: what is marked is not added again."""
        numbers, guards, marks = [len(self.guards)] * len(rows), [guard], {key}
        # whole: nothing runs in between, see core.values.interning
        self._rows += rows
        self._guard_of_row += numbers
        self.guards += guards
        self._keys |= marks
        # done

    def _reference(self, value: Any) -> Callable[[], Any]:
        """What gives an object as long as it lives."""
        reference = self._references.get(id(value))
        if reference is None:
            try:
                reference = weakref.ref(value, self.dead_references.append)
            except TypeError:
                reference = _StrongReference(value)
            self._references[id(value)] = reference
        return reference

    def _encode(self, read: Read) -> list[tuple[int, ...]]:
        """The rows of the table for a read: kind, holder, key, what is expected, its bits."""
        kind, holder, key, value = read.kind, read.holder, read.key, read.value
        test, address = _TESTS.get(kind, _WORD), id(holder)
        if kind == reads.CODE:
            return [  # where there are no defaults, the field is empty
                (_WORD, address, field, 0 if part is None else id(part), -1)
                for field, part in zip(code_field_offsets(), value, strict=True)
            ]
        if kind == reads.CLASS:
            return [(_HALF, address, _VERSION_OFFSET, _version_of(holder), -1)]
        if kind == reads.TYPE:
            return [(_WORD, address, _TYPE, id(value), -1)]
        expected = 0 if value is MISSING else id(value)
        bits = -1
        if type(value) is float:
            (bits,) = struct.unpack("q", struct.pack("d", value))
        if kind == reads.CELL:
            return [(_WORD, address, _CELL, expected, bits)]
        if kind in (reads.TRUTH, reads.LENGTH):
            return [(test, address, 0, int(value), -1)]
        if kind == reads.CONTAINS:
            self._alive.append(key)
            return [(test, address, id(key), int(value), -1)]
        if kind in (reads.ITEMS, reads.KEYS, reads.ENTRIES):
            addresses = np.array([*map(id, value), 0], np.int64)
            self._alive += (addresses, value)
            count = len(value) // 2 if kind == reads.ENTRIES else len(value)
            return [(test, address, count, address_of(addresses), -1)]
        self._alive.append(key)
        return [(test, address, id(key), expected, bits)]

    def _tabulate(self) -> None:
        """Make the table anew; whoever compares goes on with the old one."""
        table = _encode_table(self._rows, self.dead_references)
        self._comparison = table, address_of(table), len(self._rows), _compiled_pass()

    def table(self) -> tuple[int, int, Any]:
        """The address of the table that is compared, 0 for none; its rows; and who keeps it."""
        comparison = self._comparison
        return (
            (0, 0, comparison) if comparison is None else (comparison[1], comparison[2], comparison)
        )

    def holds(self) -> bool:
        """Whether every read would find the same as before."""
        comparison = self._comparison
        if comparison is None:
            return True
        table, address, count, compare = comparison
        row = compare(address, 0)
        while row < count:
            if not self._is_equal_now(row, table):
                return False
            row = compare(address, row + 1)
        return True

    def _is_equal_now(self, row: int, table: Array) -> bool:
        """Whether a read that found another object found an equal one."""
        if self.dead_references:
            return False
        guard = self.guards[self._guard_of_row[row]]
        read = guard.read()
        try:
            value = read.current_value()
        except Exception:  # what is read again may raise anything
            return False
        if not is_same(value, read.value):
            return False
        if guard.kind == reads.CLASS:  # something else of it was changed
            table[_HEAD + _COLUMNS * row + 3] = _version_of(read.holder)
        if _is_number(value) and guard.kind in (
            reads.ENTRY,
            reads.CELL,
            reads.ATTRIBUTE,
            reads.ITEM,
        ):
            # The next time this one is expected, and kept alive until then.
            guards, number = self.guards, self._guard_of_row[row]
            updated, address = guard._replace(value=_StrongReference(value)), id(value)
            index = _HEAD + _COLUMNS * row + 3
            # whole: nothing runs in between, see core.values.interning
            table[index] = address
            guards[number] = updated
            # done
        return True

    def first_changed(self) -> Read | None:
        """The first read that finds something else now."""
        for guard in self.guards:
            read = guard.read()
            try:
                if not read.holds():
                    return read
            except Exception:
                return read
        return None


class _StrongReference:
    """Gives an object that has no weak references."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


def _is_number(value: Any) -> bool:
    return type(value) in (int, float, str)
