"""Tables of what is met: each thing gets a number, and the passes read what they know by number.

Threads meet new things at the same time, and signal handlers and finalizers do in the middle of
what their own thread is about to enter. No lock helps against these: it hangs, or lets them in. So
a table is right without one, by three rules.

- *Arrays never move.* Each has room for `CAPACITY` numbers, in memory that is there only where it
  is written to. A pass that runs, in whatever thread, reads from the same arrays for ever.
- *A number is published when all of it is written.* Whoever meets a thing takes a number that
  nobody else has (one call into C), writes its fields, and publishes it by ``dict.setdefault``, one
  step as well. Who comes second gives its own number back, and takes the first one's.
- *A number goes when nothing has it.* The object of a number is what everybody holds who is going
  to use it; a table refers to it weakly. Rows of a log hold only numbers. `free_unused` frees those
  whose objects are dead and that are in no row of any log. A dead object cannot come back unnoticed
  (`Table.intern` makes another one in one step, after which its number is not free), so nobody
  enters the number in a row anew but by copying rows; and what rows are copied from to another
  log, a trace or a recording, does not lose rows while it lives, and is kept alive meanwhile.

Steps are one step because CPython runs a signal handler, a finalizer or another thread only at
calls, at jumps backwards and, up to 3.11, where it makes an object that can be part of a cycle.
Stretches of code between ``# whole`` and ``# done`` do none of that; a test reads their bytecode.
Without a GIL this is not so, and numtape refuses to be imported.

What is derived from numbers, plans and adjoint rows, holds for one value of `generation`, and what
is in `CACHES` until it is forgotten. Both come between taking numbers away and having them used
again: before, another thread could derive something from a number that is about to go. Afterwards
nobody can, for the number is in no row.
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
LIMIT = 4096  # things met since numbers were freed, after which they are freed again


Thing = TypeVar("Thing")


class WeakRefs(Generic[Thing]):
    """A set of weak references.

    One of the standard library's has callbacks in Python, where an interrupt is lost.
    """

    def __init__(self) -> None:
        self._refs: dict[int, weakref.ref[Thing]] = {}
        self._numbers = itertools.count()
        self._limit = 64

    def add(self, thing: Thing) -> None:
        """Enter something that is not in it."""
        self._refs[next(self._numbers)] = weakref.ref(thing)
        if len(self._refs) > self._limit:
            for number, ref in list(self._refs.items()):
                if ref() is None:
                    self._refs.pop(number, None)
            self._limit = 64 + 2 * len(self._refs)

    def __iter__(self) -> Iterator[Thing]:
        return iter([thing for ref in list(self._refs.values()) if (thing := ref()) is not None])


class InternTable(Generic[Thing]):
    """The things of one kind that were met.

    Attributes:
      facts: By number, what outlives the object.
    """

    def __init__(
        self,
        column: str,
        make: Callable[[int, Any], Thing],
        describe: Callable[[int, Any, Thing], Any],
    ) -> None:
        self.column = column  # of logs, which has these numbers
        self._make = make
        self._describe = describe  # writes the fields, and gives the fact
        self.payloads: dict[int, Any] = {}
        self._ids: dict[Hashable, int] = {}
        self._keys: dict[int, Hashable] = {}
        self._objects: dict[int, weakref.ref[Any]] = {}
        self._id_counter = itertools.count()
        self._free_ids: list[int] = []
        self._retired_ids: list[int] = []  # nobody has them, but for what may be derived from them
        self._limit = LIMIT
        TABLES.append(self)

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Thing]:
        refs = list(self._objects.values())
        return iter([obj for ref in refs if (obj := ref()) is not None])

    def intern(self, key: Hashable) -> Thing:
        """The object of a key, the same one for all who hold it."""
        while True:
            number = self._ids.get(key)
            obj = self._insert(key) if number is None else self._lookup_live(number, key)
            if obj is not None:
                return obj

    def __getitem__(self, number: int) -> Thing:
        """The object of a number that is in use."""
        obj: Thing | None = self._objects[number]()
        return obj if obj is not None else self.intern(self._keys[number])

    def _lookup_live(self, number: int, key: Hashable) -> Thing | None:
        """The object of a key that has a number; None if it has it no more."""
        links, objects = self._ids, self._objects
        try:
            ref = objects[number]
            obj: Thing | None = ref()
            if obj is not None:  # its number stays its own, but may not be the key's any more
                return obj if links[key] == number else None
            obj = self._make(number, key)
            new_ref = weakref.ref(obj)
            # whole: nothing runs in between, see core.values.interning
            if links[key] == number and objects[number] is ref:
                objects[number] = new_ref
                return obj
            # done
        except KeyError:
            pass
        return None

    def _insert(self, key: Hashable) -> Thing | None:
        """The object of a key that has no number; None if somebody else comes first."""
        if len(self._ids) >= self._limit:
            self._reset_limit()  # until it is known what is in use
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
        self._free_ids.append(number)  # nobody has seen it
        return None

    def _remove(self, number: int) -> None:
        self._objects.pop(number, None)
        del self._keys[number], self.payloads[number]

    def _dead_entries(self) -> list[tuple[int, weakref.ref[Any]]]:
        """Numbers whose objects are dead."""
        return [entry for entry in list(self._objects.items()) if entry[1]() is None]

    def retire(self) -> None:
        """Take away the numbers of dead objects that are in no row of any log."""
        dead = self._dead_entries()
        used = self._ids_in_rows() if dead else ()
        for number, ref in dead:
            if number not in used and self._unlink(number, ref):
                self._remove(number)
                self._retired_ids.append(number)
        self._reset_limit()

    def release_retired(self) -> None:
        """Have the numbers that were taken away used again: nothing is derived from them now."""
        while self._retired_ids:
            self._free_ids.append(self._retired_ids.pop())

    def _ids_in_rows(self) -> set[int]:
        """The numbers in rows. Of rows that are copied meanwhile, at least one copy is seen."""
        visited: dict[int, Any] = {}  # held until all have been looked through
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
        """Take a number from its key, unless there is another object for it."""
        links, objects, is_unlinked = self._ids, self._objects, False
        try:
            key = self._keys[number]
            # whole: nothing runs in between, see core.values.interning
            if objects[number] is ref:
                del objects[number]
                is_unlinked = True
                if links[key] == number:
                    del links[key]
            # done
        except KeyError:  # never published: an interrupt came, or who came second gave it back
            pass
        return is_unlinked


TABLES: list[InternTable[Any]] = []  # what holds things of another one comes after it
LOGS: WeakRefs[Any] = WeakRefs()  # whatever has rows, and gives their ``numbers(column)``
CACHES: list[Callable[[], None]] = []  # each forgets what keeps objects alive, and is there again


class _Generation:
    """How often numbers were freed."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0


generation = _Generation()
_free_token: list[int] = [0]  # taken out by who lets go: others do not wait for it


def _clear_derived() -> None:
    generation.number += 1
    for clear in CACHES:
        clear()


def free_unused() -> None:
    """Forget what is derived, and free the numbers of what nobody has any more."""
    try:
        token = _free_token.pop()
    except IndexError:  # another thread, or whoever was interrupted, does it
        return
    try:
        _clear_derived()  # for what it holds
        # What codes hold, specs, goes with them; and what specs hold, those of the same shape.
        for table in (*TABLES[::-1], *TABLES):
            table.retire()
        _clear_derived()  # for what others have derived meanwhile
        for table in TABLES:
            table.release_retired()
    finally:
        _free_token.append(token)


def clearable_cache() -> dict[Any, Any]:
    """A dictionary that may hold things, and forgets all when numbers are freed."""
    table: dict[Any, Any] = {}
    CACHES.append(table.clear)
    return table


def _renew_token_after_fork() -> None:
    """In a forked child, nobody is letting go."""
    _free_token[:] = [0]


after_fork_in_child(_renew_token_after_fork)
