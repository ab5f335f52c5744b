"""What is kept for objects of a program as long as they live, without a trace in them.

A table by identity, with weak references: objects need no hash, may be equal, are copied and
pickled without it. An entry goes with its object, by functions of C alone: an interrupt cannot
come in between and be lost.

What is kept may refer to the object, by way of its attributes, say, and would then keep it alive.
Python's garbage collector cannot see that it belongs to it. So whenever the table has doubled,
objects that are reached only from what is kept for them are looked for, as the collector would.
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

MAX_STRONG = 64  # objects that are kept alive because they do not say when they go
MAX_VISITS = 20_000  # objects that a search visits before it gives up
# What leads to nobody's attributes, or is alive anyway.
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
    """One thing for each object.

    Attributes:
      table: By the objects' ids, a reference to the object (call it) and what is kept for it. An
        entry whose object is another one is out of date.
    """

    def __init__(self) -> None:
        self.table: dict[int, tuple[Callable[[], Any], T]] = {}
        self._next_scan_size = 1

    def get(self, owner: Any, make: Callable[[Callable[[], Any]], T]) -> T:
        """What is kept for an object; ``make`` gets a reference to it that does not keep it."""
        key = id(owner)
        entry = self.table.get(key)
        if entry is not None and entry[0]() is owner:
            return entry[1]
        self._evict()
        try:
            # `pop` gets the reference as what to return if there is no entry any more.
            reference: Callable[[], Any] = weakref.ref(
                owner, functools.partial(self.table.pop, key)
            )
        except TypeError:  # nobody will say when it goes

            def reference() -> Any:
                return owner

        new_entry = reference, make(reference)
        # Another thread may have been here meanwhile, or a finalizer.
        entry = self.table.setdefault(key, new_entry)
        if entry[0]() is not owner:
            entry = self.table[key] = new_entry
        return entry[1]

    def _evict(self) -> None:
        entries = list(self.table.items())
        strong = [key for key, entry in entries if not isinstance(entry[0], weakref.ref)]
        if len(strong) >= MAX_STRONG:
            for key in strong:
                self.table.pop(key, None)
        if len(entries) >= self._next_scan_size:
            self._drop_unreachable([key for key, entry in entries if key not in strong])
            self._next_scan_size = 2 * len(self.table) + 1

    def _drop_unreachable(self, keys: list[int]) -> None:
        """Forget those objects that nobody else can reach any more."""
        for key in keys:
            entry = self.table.get(key)
            if entry is not None and _is_held_only_by_entry(key, entry):
                del entry
                self.table.pop(key, None)


def _is_held_only_by_entry(key: int, entry: tuple[Any, Any]) -> bool:
    """Whether the object of this id is reached from its entry, and from nowhere else.

    As the garbage collector finds out: what has more references than those from what was visited
    is held from outside, and so is all that it reaches.
    """
    nodes: list[Any] = [entry[1]]
    edges: dict[int, list[int]] = {}
    counts = Counter([id(entry[1])])  # of references from the entry, and from what was visited
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
    # Two references more are the list's, and the argument.
    is_external = map(operator.gt, map(sys.getrefcount, nodes), [counts[at] + 2 for at in edges])
    externally_held = list(itertools.compress(edges, is_external))
    reachable = set(externally_held)
    while externally_held:
        new = set(edges[externally_held.pop()]) - reachable
        reachable |= new
        externally_held += new
    return key not in reachable


def _referents(node: Any) -> list[Any]:
    """What an object refers to, as far as it may lead back to attributes."""
    if isinstance(node, _NOT_FOLLOWED):
        return []
    referents = [x for x in gc.get_referents(node) if gc.is_tracked(x)]
    if isinstance(node, types.FunctionType):
        shared_dicts = node.__globals__, getattr(node, "__builtins__", None)
        return [x for x in referents if not any(x is y for y in shared_dicts)]
    return referents
