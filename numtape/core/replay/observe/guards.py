"""Guards: reads of Python state that one compiled pass compares before every replay.

Objects are referenced weakly where possible, so that a recording keeps no model alive. When one of
them is deleted, its guards never hold again. Objects without weak references (numbers, lists,
dicts) are kept alive.
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ....kernels.cpython.words import CELL, TYPE
from ....kernels.passes import guard_rows
from ...cpython.api import FAST, builtin
from ...cpython.classes import VERSION_OFFSET, class_version, code_field_offsets
from ...native.fast_path import load_passes
from ...native.process import process_table
from ...values.memory import Array, address_of
from . import reads
from .access_sets import key_identity
from .reads import MISSING, Read, is_same

_TESTS = {
    reads.ENTRY: guard_rows.ENTRY,
    reads.CELL: guard_rows.WORD,
    reads.TYPE: guard_rows.WORD,
    reads.CODE: guard_rows.WORD,
    reads.ATTRIBUTE: guard_rows.ATTRIBUTE,
    reads.METHOD: guard_rows.METHOD,
    reads.ITEM: guard_rows.ITEM,
    reads.TRUTH: guard_rows.TRUTH,
    reads.LENGTH: guard_rows.LENGTH,
    reads.CONTAINS: guard_rows.CONTAINS,
    reads.CLASS: guard_rows.HALF,
    reads.ITEMS: guard_rows.ITEMS,
    reads.KEYS: guard_rows.KEYS,
    reads.ENTRIES: guard_rows.ENTRIES,
    reads.ANSWER: guard_rows.ANSWER,
}

PASSES = ("guard_rows",)  # on which the pass depends
# The pass as a C function that Python calls with two ints: see METH_FASTCALL.
_ENTRY = """
declare i64 @PyLong_AsSsize_t(i64)
declare i64 @PyLong_FromSsize_t(i64)
define i64 @unchanged(i64 %own, i64 %arguments, i64 %count) {
  %first = inttoptr i64 %arguments to ptr
  %second = getelementptr i64, ptr %first, i64 1
  %x = load i64, ptr %first
  %y = load i64, ptr %second
  %table = call i64 @PyLong_AsSsize_t(i64 %x)
  %begin = call i64 @PyLong_AsSsize_t(i64 %y)
  %row = call i64 @numtape_first_changed(i64 %table, i64 %begin)
  %result = call i64 @PyLong_FromSsize_t(i64 %row)
  ret i64 %result
}
"""


@cache
def compiled_pass() -> Callable[[int, int], int]:
    """Return the compiled pass."""
    passes = load_passes(
        "unchanged",
        "passes.guards",
        {"first_changed": 2},
        PASSES,
        text=_ENTRY,
        entries=["unchanged"],
    )
    # Calling a builtin function takes a tenth of the time of a call with ctypes.
    return builtin("unchanged", passes["unchanged"], FAST)  # type: ignore[no-any-return]


class StateGuard(NamedTuple):
    """A read as it is stored in guards, with references in place of objects.

    Attributes:
      kind, key, name, location: The same as in `Read`.
      holder, value: Functions that return the object, or None if it was deleted.
    """

    kind: int
    holder: Callable[[], Any]
    key: Any
    value: Callable[[], Any]
    name: str
    location: tuple[str, int]

    def read(self) -> Read:
        """Return the read with its objects."""
        return Read(self.kind, self.holder(), self.key, self.value(), self.name, self.location)


def _encode_table(rows: Sequence[tuple[int, ...]], dead_references: list[Any]) -> Array:
    """Encode the rows of one pass. No row holds once ``dead_references`` is not empty."""
    head = [len(rows), address_of(process_table().words), id(dead_references), 0, 0, 0]
    return np.array(head + [x for row in rows for x in row], np.int64)


def make_table(
    slots: list[tuple[Any, int, Any]],
    entries: list[tuple[dict[str, Any], str, Any]],
    dead_references: list[Any],
) -> Array:
    """Return a table of slots and dict entries whose objects the caller keeps alive.

    Args:
      slots: Holders, the offset of a slot in bytes, and its expected value.
      entries: Dicts, keys, and their expected values.
      dead_references: The same as in `Guards`.
    """
    rows = [(guard_rows.WORD, id(holder), offset, id(value), -1) for holder, offset, value in slots]
    rows += [
        (guard_rows.ENTRY, id(mapping), id(key), id(value), -1) for mapping, key, value in entries
    ]
    return _encode_table(rows, dead_references)


def is_unchanged(table: Array) -> bool:
    """Return whether all rows of a table hold."""
    return bool(compiled_pass()(address_of(table), 0) == table[0])


class Guards:
    """Reads that must give the same values as before.

    Attributes:
      guards: The reads, without duplicates.
      dead_references: References to deleted objects. Once there is one, no guard holds.
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
        self._guard_of_row: list[int] = []  # the index of each row's guard
        # The table, its address, its number of rows, and the pass that compares them. One tuple, so
        # that other threads never see a part of an update.
        self._comparison: tuple[Array, int, int, Callable[[int, int], int]] | None = None
        self.add(found_reads)

    def add(self, new_reads: Iterable[Read]) -> None:
        """Add reads that are not known yet."""
        # Types and classes first: an attribute is looked up only while its class is unchanged. If
        # it has become a property, a lookup would run the program's code.
        for read in sorted(new_reads, key=lambda read: read.kind not in (reads.TYPE, reads.CLASS)):
            key: tuple[Any, ...] = read.kind, id(read.holder), key_identity(read.key)
            if read.kind == reads.ANSWER:  # its holder is a new object each time
                key = read.kind, id(read.holder.func), *map(key_identity, read.holder.args)
            if key in self._keys:
                continue
            # The holder was made for the read, and nothing else keeps it alive.
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
        """Add a guard with its rows and key, all in one step."""
        numbers, guards, keys = [len(self.guards)] * len(rows), [guard], {key}
        # atomic: see core.values.intern_table
        self._rows += rows
        self._guard_of_row += numbers
        self.guards += guards
        self._keys |= keys
        # end atomic

    def _reference(self, value: Any) -> Callable[[], Any]:
        """Return a weak reference to an object, or a strong one if it supports no weak ones."""
        reference = self._references.get(id(value))
        if reference is None:
            try:
                reference = weakref.ref(value, self.dead_references.append)
            except TypeError:
                reference = _StrongReference(value)
            self._references[id(value)] = reference
        return reference

    def _encode(self, read: Read) -> list[tuple[int, ...]]:
        """Return the table rows for a read: kind, holder, key, expected value, its bits."""
        kind, holder, key, value = read.kind, read.holder, read.key, read.value
        test, address = _TESTS[kind], id(holder)
        if kind == reads.CODE:
            return [  # without defaults the field is empty
                (guard_rows.WORD, address, field, 0 if part is None else id(part), -1)
                for field, part in zip(code_field_offsets(), value, strict=True)
            ]
        if kind == reads.CLASS:
            return [(guard_rows.HALF, address, VERSION_OFFSET, class_version(holder), -1)]
        if kind == reads.TYPE:
            return [(guard_rows.WORD, address, TYPE, id(value), -1)]
        expected = 0 if value is MISSING else id(value)
        bits = -1
        if type(value) is float:
            (bits,) = struct.unpack("q", struct.pack("d", value))
        if kind == reads.CELL:
            return [(guard_rows.WORD, address, CELL, expected, bits)]
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
        """Rebuild the table. A comparison that is in progress uses the old one."""
        table = _encode_table(self._rows, self.dead_references)
        self._comparison = table, address_of(table), len(self._rows), compiled_pass()

    def table(self) -> tuple[int, int, Any]:
        """Return the table's address (0 for none), its number of rows, and its owner."""
        comparison = self._comparison
        return (
            (0, 0, comparison) if comparison is None else (comparison[1], comparison[2], comparison)
        )

    def holds(self) -> bool:
        """Return whether every read would give the same value as before."""
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
        """Return whether a read that gave another object gave an equal one."""
        if self.dead_references:
            return False
        guard = self.guards[self._guard_of_row[row]]
        read = guard.read()
        try:
            value = read.current_value()
        except Exception:  # a repeated read may raise anything
            return False
        if not is_same(value, read.value):
            return False
        if guard.kind == reads.CLASS:  # another part of the class was changed
            index = guard_rows.HEADER + guard_rows.COLUMNS * row + guard_rows.EXPECTED
            table[index] = class_version(read.holder)
        if _is_number(value) and guard.kind in (
            reads.ENTRY,
            reads.CELL,
            reads.ATTRIBUTE,
            reads.ITEM,
        ):
            # Expect this object the next time, and keep it alive until then.
            guards, number = self.guards, self._guard_of_row[row]
            updated, address = guard._replace(value=_StrongReference(value)), id(value)
            index = guard_rows.HEADER + guard_rows.COLUMNS * row + guard_rows.EXPECTED
            # atomic: see core.values.intern_table
            table[index] = address
            guards[number] = updated
            # end atomic
        return True

    def first_changed(self) -> Read | None:
        """Return the first read that gives another value, or None."""
        for guard in self.guards:
            read = guard.read()
            try:
                if not read.holds():
                    return read
            except Exception:
                return read
        return None


class _StrongReference:
    """A reference that keeps its object alive, for objects without weak references."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


def _is_number(value: Any) -> bool:
    return type(value) in (int, float, str)
