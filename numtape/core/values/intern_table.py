"""Intern tables: each distinct key gets one object and an id, by which passes read its fields.

Several threads may intern new keys at the same time, and signal handlers and finalizers may do so
in the middle of an insertion by their own thread. A lock does not help against handlers: it
deadlocks, or lets them in. So a table is correct without one, by three rules.

- *Arrays never move.* Each has room for `CAPACITY` ids, in memory that is only allocated where it
  is written to. A running pass, in any thread, always reads from the same arrays.
- *An id is published after all its fields are written.* An insertion takes an unused id (one call
  into C), writes its fields, and publishes it by ``dict.setdefault``, which is one step as well. On
  a race the loser frees its id and uses the winner's.
- *An id is freed when nothing uses it.* Code that is going to use an id holds its object; the table
  refers to the object weakly. Rows of a log hold only ids. `free_unused` frees ids whose objects
  are dead and that are in no row of any log. A dead object cannot be revived unnoticed
  (`InternTable.intern` makes a new one in one step, after which the id is not free), so such an id
  gets into a new row only by copying rows. A log, trace or recording that rows are copied from
  loses no rows while it lives, and is kept alive meanwhile.

These steps are atomic because CPython runs a signal handler, a finalizer or another thread only at
calls, at backward jumps and, up to 3.11, when it allocates an object that can be part of a cycle.
Blocks between ``# atomic`` and ``# end atomic`` do none of that; a test reads their bytecode.
Without a GIL this does not hold, and numtape refuses to be imported.

Data derived from ids (plans and adjoint rows) is valid for one value of `generation`, and data in
`CACHES` until it is cleared. Both are reset after ids are retired and before they are reused:
earlier, another thread could derive data from an id that is about to be retired. Later this is
impossible, because the id is in no row.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np

from ...errors import ResourceExhaustedError
from ..settings import after_fork_in_child

CAPACITY = 1 << 18
LIMIT = 4096  # new ids since ids were last freed, after which they are freed again


Thing = TypeVar("Thing")


class WeakRefs(Generic[Thing]):
    """A set of weak references.

    `weakref.WeakSet` has callbacks in Python, in which an interrupt is lost.
    """

    def __init__(self) -> None:
        self._refs: dict[int, weakref.ref[Thing]] = {}
        self._numbers = itertools.count()
        self._limit = 64

    def add(self, thing: Thing) -> None:
        """Add an object that is not in the set."""
        self._refs[next(self._numbers)] = weakref.ref(thing)
        if len(self._refs) > self._limit:
            for number, ref in list(self._refs.items()):
                if ref() is None:
                    self._refs.pop(number, None)
            self._limit = 64 + 2 * len(self._refs)

    def __iter__(self) -> Iterator[Thing]:
        return iter([thing for ref in list(self._refs.values()) if (thing := ref()) is not None])


class InternTable(Generic[Thing]):
    """A table that interns keys of one kind.

    Attributes:
      payloads: By id, data that outlives the object.
    """

    def __init__(
        self,
        column: str,
        make: Callable[[int, Any], Thing],
        describe: Callable[[int, Any, Thing], Any],
    ) -> None:
        self.column = column  # the column of logs that holds these ids
        self._make = make
        self._describe = describe  # writes the fields, and returns the payload
        self.payloads: dict[int, Any] = {}
        self._ids: dict[Hashable, int] = {}
        self._keys: dict[int, Hashable] = {}
        self._objects: dict[int, weakref.ref[Any]] = {}
        self._id_counter = itertools.count()
        self._free_ids: list[int] = []
        self._retired_ids: list[int] = []  # unused, but data may still be derived from them
        self._limit = LIMIT
        TABLES.append(self)

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Thing]:
        refs = list(self._objects.values())
        return iter([obj for ref in refs if (obj := ref()) is not None])

    def intern(self, key: Hashable) -> Thing:
        """Return the object of a key, the same one for all callers that hold it."""
        while True:
            number = self._ids.get(key)
            obj = self._insert(key) if number is None else self._lookup_live(number, key)
            if obj is not None:
                return obj

    def __getitem__(self, number: int) -> Thing:
        """Return the object of an id that is in use."""
        obj: Thing | None = self._objects[number]()
        return obj if obj is not None else self.intern(self._keys[number])

    def _lookup_live(self, number: int, key: Hashable) -> Thing | None:
        """Return the object of a key that has an id; None if the id was retired meanwhile."""
        links, objects = self._ids, self._objects
        try:
            ref = objects[number]
            obj: Thing | None = ref()
            if obj is not None:  # it keeps this id, but the key may have another one by now
                return obj if links[key] == number else None
            obj = self._make(number, key)
            new_ref = weakref.ref(obj)
            # atomic: see core.values.intern_table
            if links[key] == number and objects[number] is ref:
                objects[number] = new_ref
                return obj
            # end atomic
        except KeyError:
            pass
        return None

    def _insert(self, key: Hashable) -> Thing | None:
        """Return the object of a new key; None if another thread or handler inserts it first."""
        if len(self._ids) >= self._limit:
            self._reset_limit()  # a preliminary limit until unused ids are known
            free_unused()
        try:
            number = self._free_ids.pop()
        except IndexError:
            number = next(self._id_counter)
        if number >= CAPACITY:
            raise ResourceExhaustedError(
                f"More than {CAPACITY} different {self.column}s are in use at once."
            )
        obj = self._make(number, key)
        self._keys[number] = key
        self._objects[number] = weakref.ref(obj)
        self.payloads[number] = self._describe(number, key, obj)
        if self._ids.setdefault(key, number) == number:
            return obj
        self._remove(number)
        self._free_ids.append(number)  # it was never published
        return None

    def _remove(self, number: int) -> None:
        self._objects.pop(number, None)
        del self._keys[number], self.payloads[number]

    def _dead_entries(self) -> list[tuple[int, weakref.ref[Any]]]:
        """Return ids whose objects are dead, with their references."""
        return [entry for entry in list(self._objects.items()) if entry[1]() is None]

    def retire(self) -> None:
        """Retire the ids of dead objects that are in no row of any log."""
        dead = self._dead_entries()
        used = self._ids_in_rows() if dead else ()
        for number, ref in dead:
            if number not in used and self._unlink(number, ref):
                self._remove(number)
                self._retired_ids.append(number)
        self._reset_limit()

    def release_retired(self) -> None:
        """Make retired ids available again. No data may be derived from them."""
        while self._retired_ids:
            self._free_ids.append(self._retired_ids.pop())

    def _ids_in_rows(self) -> set[int]:
        """Return the ids in rows. If rows are copied meanwhile, at least one copy is visited."""
        visited: dict[int, Any] = {}  # keeps logs alive until all have been visited
        used: set[int] = set()
        while new := [log for log in LOGS if id(log) not in visited]:
            for log in new:
                visited[id(log)] = log
                used.update(np.unique(log.numbers(self.column)).tolist())
        return used

    def _reset_limit(self) -> None:
        count = len(self._ids)
        self._limit = count + max(count, LIMIT)

    def _unlink(self, number: int, ref: weakref.ref[Any]) -> bool:
        """Remove an id from its key, unless it has a new object. Return whether that happened."""
        links, objects, is_unlinked = self._ids, self._objects, False
        try:
            key = self._keys[number]
            # atomic: see core.values.intern_table
            if objects[number] is ref:
                del objects[number]
                is_unlinked = True
                if links[key] == number:
                    del links[key]
            # end atomic
        except KeyError:  # never published: interrupted, or freed after a lost race
            pass
        return is_unlinked


TABLES: list[InternTable[Any]] = []  # a table whose objects refer to another table's comes later
LOGS: WeakRefs[Any] = WeakRefs()  # all objects with rows and a ``numbers(column)`` method
CACHES: list[Callable[[], None]] = []  # functions that clear caches that keep objects alive


class _Generation:
    """Counts how often ids were freed."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0


generation = _Generation()
_free_token: list[int] = [0]  # empty while ids are freed; concurrent calls return at once


def _clear_derived() -> None:
    generation.number += 1
    for clear in CACHES:
        clear()


def free_unused() -> None:
    """Clear derived data, and free the ids of objects that nothing uses."""
    try:
        token = _free_token.pop()
    except IndexError:  # another thread or the interrupted code is freeing
        return
    try:
        _clear_derived()  # releases objects that caches keep alive
        # Objects of later tables (codes) keep those of earlier ones (specs) alive, and a spec keeps
        # the spec that represents its shape alive. So tables are retired in both orders.
        for table in (*TABLES[::-1], *TABLES):
            table.retire()
        _clear_derived()  # clears data that other threads have derived meanwhile
        for table in TABLES:
            table.release_retired()
    finally:
        _free_token.append(token)


def clearable_cache() -> dict[Any, Any]:
    """Return a dictionary that may hold interned objects; it is cleared when ids are freed."""
    table: dict[Any, Any] = {}
    CACHES.append(table.clear)
    return table


def _renew_token_after_fork() -> None:
    """Reset the token in a forked child, in which nothing is freeing."""
    _free_token[:] = [0]


after_fork_in_child(_renew_token_after_fork)
