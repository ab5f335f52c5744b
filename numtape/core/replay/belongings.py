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

MOST = 64  # objects that are kept alive because they do not say when they go
FAR = 20_000  # objects that a search visits before it gives up
# What leads to nobody's attributes, or is alive anyway.
_ENDS = (
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


class Belongings(Generic[T]):
    """One thing for each object.

    Attributes:
      table: By the objects' ids, a reference to the object (call it) and what is kept for it. An
        entry whose object is another one is out of date.
    """

    def __init__(self) -> None:
        self.table: dict[int, tuple[Callable[[], Any], T]] = {}
        self._enough = 1

    def get(self, owner: Any, make: Callable[[Callable[[], Any]], T]) -> T:
        """What is kept for an object; ``make`` gets a reference to it that does not keep it."""
        key = id(owner)
        found = self.table.get(key)
        if found is not None and found[0]() is owner:
            return found[1]
        self._make_room()
        try:
            # `pop` gets the reference as what to return if there is no entry any more.
            reference: Callable[[], Any] = weakref.ref(
                owner, functools.partial(self.table.pop, key)
            )
        except TypeError:  # nobody will say when it goes

            def reference() -> Any:
                return owner

        made = reference, make(reference)
        # Another thread may have been here meanwhile, or a finalizer.
        found = self.table.setdefault(key, made)
        if found[0]() is not owner:
            found = self.table[key] = made
        return found[1]

    def _make_room(self) -> None:
        entries = list(self.table.items())
        held = [key for key, entry in entries if not isinstance(entry[0], weakref.ref)]
        if len(held) >= MOST:
            for key in held:
                self.table.pop(key, None)
        if len(entries) >= self._enough:
            self._drop([key for key, entry in entries if key not in held])
            self._enough = 2 * len(self.table) + 1

    def _drop(self, keys: list[int]) -> None:
        """Forget those objects that nobody else can reach any more."""
        for key in keys:
            entry = self.table.get(key)
            if entry is not None and _kept_by_it_alone(key, entry):
                del entry
                self.table.pop(key, None)


def _kept_by_it_alone(key: int, entry: tuple[Any, Any]) -> bool:
    """Whether the object of this id is reached from its entry, and from nowhere else.

    As the garbage collector finds out: what has more references than those from what was visited
    is held from outside, and so is all that it reaches.
    """
    nodes: list[Any] = [entry[1]]
    edges: dict[int, list[int]] = {}
    counts = Counter([id(entry[1])])  # of references from the entry, and from what was visited
    for node in nodes:
        found = _referents(node)
        edges[id(node)] = list(map(id, found))
        nodes += [x for x in {id(x): x for x in found}.values() if id(x) not in counts]
        counts.update(edges[id(node)])
        if len(nodes) > FAR:
            return False
    if key not in edges:
        return False
    del node, found
    # Two references more are the list's, and the argument.
    outside = map(operator.gt, map(sys.getrefcount, nodes), [counts[at] + 2 for at in edges])
    held = list(itertools.compress(edges, outside))
    seen = set(held)
    while held:
        new = set(edges[held.pop()]) - seen
        seen |= new
        held += new
    return key not in seen


def _referents(node: Any) -> list[Any]:
    """What an object refers to, as far as it may lead back to attributes."""
    if isinstance(node, _ENDS):
        return []
    found = [x for x in gc.get_referents(node) if gc.is_tracked(x)]
    if isinstance(node, types.FunctionType):
        everybodys = node.__globals__, getattr(node, "__builtins__", None)
        return [x for x in found if not any(x is y for y in everybodys)]
    return found
