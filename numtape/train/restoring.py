"""A checkpoint's values put back: all at once, and into variables that are made later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core.log.log import local
from ..core.log.variable import Variable, assign_all, set_values
from ..core.values.tensor import of_array
from ..core.values.weak import WeakObjectMap
from ..deferred_restore import forget, wait
from ..errors import InvalidArgumentError, UnimplementedError
from .parts import Graph, alternative_names, named_parts, parts


class Restoration:
    """What a file holds, and which things of the program it was bound to.

    Args:
      where: The file's name.
      nodes: Its graph; see `Graph`.
      arrays: Its arrays.
      without: Classes: things of these get nothing.

    Attributes:
      left: The arrays of which no variable has the value yet.
    """

    def __init__(
        self,
        where: str,
        nodes: list[Any],
        arrays: dict[str, Any],
        without: type | tuple[type, ...] = (),
    ) -> None:
        self._without = without
        self.where, self.nodes, self.left = where, nodes, dict(arrays)
        self._bound: WeakObjectMap[int] = WeakObjectMap()  # the node of a thing
        self._keepers: WeakObjectMap[int] = WeakObjectMap()  # those of optimizers

    def begin(self, roots: Iterable[Any], required: Any = None, skipped: Any = None) -> None:
        """Give all variables inside of roots the values of theirs; or, if one does not fit, none.

        Args:
          roots: Things that the file's root stands for.
          whole: Variables that all have to get a value, of which none may be left then but what
            optimizers keep.
          skipped: A list that gets what does not fit, instead of an error.

        Raises:
          ValueError: If a variable has another shape, or something else is in its place.
          InvalidArgumentError: If it has another dtype.
        """
        self._bind([(root, 0) for root in roots], forget, required, skipped)

    def _bind(
        self,
        pairs: list[tuple[Any, int]],
        before: Any = None,
        required: Any = None,
        skipped: list[str] | None = None,
    ) -> None:
        """Go on from things and their nodes."""
        bound: dict[int, tuple[Any, int]] = {}
        matches: list[tuple[Variable, str]] = []
        self._walk(pairs, bound, matches, skipped)
        # What optimizers keep goes by variables, of which all are known by now.
        keepers = [
            (thing, k)
            for thing, k in [*bound.values(), *self._keepers]
            if hasattr(thing, "_nt_saved_names")
        ]
        for thing, number in keepers:
            own, node = self._parts(thing, number, bound), self.nodes[number]
            kept = [(own[name], k) for name, k in node.items() if name in own]
            self._walk(kept, bound, matches, skipped)
        if required is not None:
            self._check_complete(required, {id(v) for v, _ in matches}, {key for _, key in matches})
        _give([v for v, _ in matches], [self.left[key] for _, key in matches])
        for _, key in matches:
            self.left.pop(key, None)
        for thing, number in bound.values():
            self._note(thing, number)
        for thing, number in bound.values():
            if not isinstance(thing, Variable):
                if before is not None:
                    before(thing)
                if self._lacks(thing, number):
                    wait(thing, self._on_new_parts)

    def _walk(
        self,
        pairs: list[tuple[Any, int]],
        bound: dict[int, tuple[Any, int]],
        matches: list[tuple[Variable, str]],
        skipped: list[str] | None,
    ) -> None:
        """Bind things, and all inside them, to their nodes."""
        for thing, number in pairs:  # it grows
            if id(thing) in bound or self._is_bound(thing):
                continue
            bound[id(thing)] = thing, number
            node = self.nodes[number]
            if isinstance(thing, Variable) != isinstance(node, str):
                raise ValueError(
                    f"{self.where} has {'a value' if isinstance(node, str) else 'parts'} where the "
                    f"program has {thing!r}."
                )
            if isinstance(node, str):
                if node in self.left:
                    wrong = self._wrong(thing, node)
                    if wrong is None:
                        matches.append((thing, node))
                    elif skipped is None:
                        raise wrong
                    else:
                        skipped.append(str(wrong))
                else:  # another variable has it
                    del bound[id(thing)]
                continue
            own = self._parts(thing, number, bound)
            pairs.extend((own[name], k) for name, k in node.items() if name in own)

    def _parts(
        self, thing: Any, number: int, bound: dict[int, tuple[Any, int]] | None = None
    ) -> dict[str, Any]:
        """The parts of a thing, by the names that they have in the file."""

        def number_of(variable: Variable) -> int | None:
            entry = (bound or {}).get(id(variable))
            return self._bound.get(variable) if entry is None else entry[1]

        if not hasattr(thing, "_nt_saved_names"):
            return parts(thing, self._without)
        node, names = self.nodes[number], alternative_names(thing, number_of)
        if names.keys() & node.keys():
            raise UnimplementedError(
                f"An earlier numtape wrote {self.where}: it does not say which variables the "
                f"optimizer's values are for."
            )
        stored = dict(name.split(": ", 1) for name in node if ": " in name)
        for place, by_place, now in (name.partition(": ") for name in names.values()):
            if by_place and stored.get(place, now) != now:
                raise ValueError(
                    f"{self.where} has the optimizer's {place!r} for a variable {stored[place]!r}, "
                    f"and the program's optimizer has {now!r} in this place. Put the variables "
                    f"that it trains, or their model, into the checkpoint too: then their order "
                    f"does not matter."
                )
        return named_parts(thing, number_of, self._without)

    def _check_complete(
        self, required: Iterable[Variable], restored_ids: set[int], taken: set[str]
    ) -> None:
        """Check that all these variables get values, and that no others are left."""
        missing = [v.name for v in required if id(v) not in restored_ids]
        optional_keys = {
            self.nodes[k]
            for node in self.nodes
            if isinstance(node, dict)
            if "_iterations" in node
            for k in node.values()
            if isinstance(self.nodes[k], str)
        }
        left = [
            key.partition("/.ATTRIBUTES")[0]
            for key in self.left
            if key not in taken | optional_keys
        ]
        problem = ""
        if missing:
            problem += f" It has no values for {len(missing)} variables: {missing[:5]}."
        if left:
            problem += f" The model has no variables for {len(left)} values: {left[:5]}."
        if problem:
            raise ValueError(f"{self.where} does not fit the model.{problem}")

    def _wrong(self, variable: Variable, key: str) -> Exception | None:
        """What is wrong if a variable is given the value of a key."""
        array = self.left[key]
        if array.shape != tuple(variable.shape):
            return ValueError(
                f"Received incompatible tensor with shape {array.shape} when attempting to "
                f"restore variable with shape {variable.shape} and name {key}."
            )
        if array.dtype != np.dtype(variable.dtype.numpy_dtype):
            return InvalidArgumentError(
                f"tensor_name = {key}; expected dtype {variable.dtype.name} does not equal "
                f"original dtype {array.dtype.name}"
            )
        return None

    def _note(self, thing: Any, number: int) -> None:
        self._bound.put(thing, number)
        if hasattr(thing, "_nt_saved_names"):
            self._keepers.put(thing, number)

    def _is_bound(self, thing: Any) -> bool:
        return thing in self._bound

    def _lacks(self, thing: Any, number: int) -> bool:
        """Whether a thing may get parts that values are left for."""
        own = self._parts(thing, number)
        return any(
            name not in own and self._holds(k, set()) for name, k in self.nodes[number].items()
        )

    def _holds(self, number: int, visited: set[int]) -> bool:
        """Whether values are left in a node or inside it."""
        node = self.nodes[number]
        if isinstance(node, str):
            return node in self.left
        if number in visited:
            return False
        visited.add(number)
        return any(self._holds(k, visited) for k in node.values())

    def _on_new_parts(self, thing: Any) -> bool:
        """A thing may have got parts."""
        number = self._bound.get(thing)
        if number is None:
            return False
        own, node = self._parts(thing, number), self.nodes[number]
        fresh = [
            (own[name], k)
            for name, k in node.items()
            if name in own and not self._is_bound(own[name])
        ]
        if fresh:
            self._bind(fresh)
        return self._lacks(thing, number)

    def complete(self) -> None:
        """Look again at everything that is bound, for parts that came unnoticed."""
        for thing, _ in self._bound:
            if not isinstance(thing, Variable):
                self._on_new_parts(thing)

    def unmatched(self, root: Any) -> list[Variable]:
        """The variables inside a root that the file has no values for."""
        graph = Graph(root, self._without)
        return [v for v in graph.variables.values() if not self._is_bound(v)]


def _give(variables: list[Variable], arrays: list[Any]) -> None:
    """Assign; or, to variables that a call makes which is recorded, as what they begin with."""
    values = [of_array(x, v._spec) for v, x in zip(variables, arrays, strict=True)]
    created = local.log.created
    late = [(v, x) for v, x in zip(variables, values, strict=True) if id(v) in created]
    if late:
        set_values([v for v, _ in late], [x for _, x in late])
    now = [(v, x) for v, x in zip(variables, values, strict=True) if id(v) not in created]
    if now:
        assign_all([v for v, _ in now], [x for _, x in now])
