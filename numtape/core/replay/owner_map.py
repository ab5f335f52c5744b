"""A table of data that belongs to objects of the program, and lives as long as they do.

The table is keyed by identity and refers to objects weakly. So objects need no hash, may compare
equal, and can be copied and pickled without their data. C functions alone remove the entry of a
deleted object, so that no interrupt can occur between the steps.

The data may refer to its object, for example through an attribute, and would then keep it alive.
Python's garbage collector cannot detect this cycle. So whenever the table has doubled in size, it
is searched for objects that are reachable only through their own data.
"""

from __future__ import annotations

import functools
import gc
import itertools
import operator
import sys
import types
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..log.log import Log
from ..log.variable import Variable
from ..values.dtypes import DType
from ..values.spec import Spec
from ..values.tensor import Tensor

T = TypeVar("T")

MAX_STRONG = 64  # objects that are kept alive because they do not support weak references
MAX_VISITS = 20_000  # objects that a search visits before it gives up
# Objects through which no attribute is reachable, or that are alive anyway.
_NOT_FOLLOWED = (
    type,
    types.ModuleType,
    types.FrameType,
    types.CodeType,
    weakref.ref,
    DType,
    Log,
    Spec,
    Tensor,
    Variable,
)


class OwnerMap(Generic[T]):
    """A mapping from objects to their data.

    Attributes:
      table: By the object's id, a reference to the object (call it) and its data. If the reference
        returns another object, the entry is out of date.
    """

    def __init__(self) -> None:
        self.table: dict[int, tuple[Callable[[], Any], T]] = {}
        self._next_scan_size = 1

    def get(self, owner: Any, make: Callable[[Callable[[], Any]], T]) -> T:
        """Return an object's data. ``make`` creates it from a weak reference to the object."""
        key = id(owner)
        entry = self.table.get(key)
        if entry is not None and entry[0]() is owner:
            return entry[1]
        self._evict()
        try:
            # If the entry is gone, `pop` returns its second argument, which is the reference.
            reference: Callable[[], Any] = weakref.ref(
                owner, functools.partial(self.table.pop, key)
            )
        except TypeError:  # no weak references: deletion cannot be noticed

            def reference() -> Any:
                return owner

        new_entry = reference, make(reference)
        # Another thread or a finalizer may have added an entry meanwhile.
        entry = self.table.setdefault(key, new_entry)
        if entry[0]() is not owner:
            entry = self.table[key] = new_entry
        return entry[1]

    def _evict(self) -> None:
        entries = list(self.table.items())
        strong_keys = [key for key, entry in entries if not isinstance(entry[0], weakref.ref)]
        if len(strong_keys) >= MAX_STRONG:
            for key in strong_keys:
                self.table.pop(key, None)
        if len(entries) >= self._next_scan_size:
            self._drop_unreachable([key for key, entry in entries if key not in strong_keys])
            self._next_scan_size = 2 * len(self.table) + 1

    def _drop_unreachable(self, keys: list[int]) -> None:
        """Remove the entries of objects that are reachable only through their data."""
        for key in keys:
            entry = self.table.get(key)
            if entry is not None and _is_held_only_by_entry(key, entry):
                del entry
                self.table.pop(key, None)


def _is_held_only_by_entry(key: int, entry: tuple[Any, Any]) -> bool:
    """Return whether the object with this id is reachable only from its entry.

    This works like the garbage collector: an object with more references than those from visited
    objects is held from outside, and so is everything that it reaches.
    """
    nodes: list[Any] = [entry[1]]
    edges: dict[int, list[int]] = {}
    counts = Counter([id(entry[1])])  # references from the entry and from visited objects
    for node in nodes:
        referents = _referents(node)
        edges[id(node)] = list(map(id, referents))
        nodes += [x for x in {id(x): x for x in referents}.values() if id(x) not in counts]
        counts.update(edges[id(node)])
        if len(nodes) > MAX_VISITS:
            return False
    if key not in edges:
        return False
    del node, referents
    # Two more references are those of the list and of the argument.
    is_external = map(
        operator.gt, map(sys.getrefcount, nodes), [counts[node_id] + 2 for node_id in edges]
    )
    externally_held = list(itertools.compress(edges, is_external))
    reachable = set(externally_held)
    while externally_held:
        new_ids = set(edges[externally_held.pop()]) - reachable
        reachable |= new_ids
        externally_held += new_ids
    return key not in reachable


def _referents(node: Any) -> list[Any]:
    """Return the objects that an object refers to and that may lead back to attributes."""
    if isinstance(node, _NOT_FOLLOWED):
        return []
    referents = [x for x in gc.get_referents(node) if gc.is_tracked(x)]
    if isinstance(node, types.FunctionType):
        shared_dicts = node.__globals__, getattr(node, "__builtins__", None)
        return [x for x in referents if not any(x is y for y in shared_dicts)]
    return referents
