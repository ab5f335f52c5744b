"""The arguments of a call: their tensors, what tells the rest apart, copies for a recording.

A recording is right for all calls whose arguments differ in the values of tensors alone. Plain
values and containers are compared by what they hold, other objects by identity. A call that is
recorded gets copies of containers, which hold tensors that stand for the caller's; what it does
to them is done to the caller's own when it has ended.
"""

from __future__ import annotations

import operator
import struct
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..log.tensors import to_tensor
from ..log.variable import Alias, original
from ..values.dtypes import DType
from ..values.spec import TensorShape
from ..values.tensor import Tensor


def _itself(x: Any) -> Any:
    return x


def _number(x: float) -> Any:
    return repr(x) if x == x else struct.pack("d", x)  # NaN has a sign


# Classes whose objects are compared by what they hold, and what tells two of one class apart.
BY_VALUE: dict[type, Callable[[Any], Any]] = {
    int: _itself,
    bool: _itself,
    str: _itself,
    bytes: _itself,
    type(None): _itself,
    float: _number,
    complex: lambda x: struct.pack("dd", x.real, x.imag),
    range: lambda x: (x.start, x.stop, x.step),
    types.MethodType: lambda x: (id(x.__self__), id(x.__func__)),
    TensorShape: _itself,
    DType: _itself,
    frozenset: lambda x: tuple(map(told_apart, x)),  # in the order in which it is gone through
}
_NESTS = (list, tuple, dict, set, OrderedDict, defaultdict)
_LONGEST = 1 << 16  # parts of a tuple: longer ones are compared by identity
_DEEPEST = 64  # containers in containers: those further in are compared by identity, as objects are


def told_apart(x: Any) -> Any:
    """What tells apart values without tensors: plain ones by value, objects by identity."""
    kind = type(x)
    by_value = BY_VALUE.get(kind)
    if by_value is not None:
        return kind, by_value(x)
    if kind is tuple:
        found: list[Any] = []
        left: list[Any] = [x]
        while left:  # without recursion: they may be deep
            y = left.pop()
            if type(y) is tuple:
                found.append((tuple, len(y)))
                left += y
            else:
                found.append(told_apart(y))
            if len(found) > _LONGEST:
                return kind, id(x)
        return kind, tuple(found)
    if isinstance(x, np.generic) and not x.dtype.hasobject and x.dtype.names is None:
        return kind, x.dtype.str, x.tobytes()
    if isinstance(x, np.dtype) and not (x.metadata or x.fields or x.subdtype):
        return kind, x.char, x.str
    return kind, id(x)


def is_plain(x: Any) -> bool:
    """Whether nothing in a value can change, and none of it is a tensor or an array."""
    left, seen = [x], set()
    while left:
        y = left.pop()
        if type(y) is tuple and id(y) not in seen:
            seen.add(id(y))
            left += y
        elif type(y) is not tuple and type(y) not in BY_VALUE:
            return False
    return True


class Place(NamedTuple):
    """Where a tensor belongs."""

    number: int


class Again(NamedTuple):
    """Where a container belongs that was met before."""

    number: int


class Kept(NamedTuple):
    """An object that is passed itself, whatever it is."""

    number: int
    value: Any


class Nest(NamedTuple):
    """A container.

    Attributes:
      number: Which one it is among those of a call.
      kind: Its class.
      inside: What it holds, with places for tensors.
      keys: Those of a dict.
      factory: That of a defaultdict.
      attributes: Those of a named tuple that can have some.
    """

    number: int
    kind: type
    inside: list[Any]
    keys: tuple[Any, ...]
    factory: Any
    attributes: Any


class Arguments(list[Tensor]):
    """The tensors among the arguments of a call, each of them once.

    Args:
      args: The arguments.
      kwargs: Those with names.
      kept: What is passed itself, by id.

    Attributes:
      args: The arguments, the caller's own objects.
      kwargs: Those with names.
      key: What tells calls apart.
      values: The arguments with places for tensors.
      named: Those with names.
      nests: The containers, as they are numbered.
      objects: What became the tensors.
      copied: Whether Python gets copies of containers as well: they hold arrays, which become
        tensors, or a recording that is given up has changed them.
    """

    __slots__ = (
        "_depth",
        "_met",
        "args",
        "copied",
        "key",
        "kwargs",
        "named",
        "nests",
        "objects",
        "values",
    )

    def __init__(
        self, args: Sequence[Any], kwargs: dict[str, Any], kept: Mapping[int, Any]
    ) -> None:
        self.args, self.kwargs = args, kwargs
        self.key: list[Any] = []
        self.nests: list[Any] = []
        self.objects: list[Any] = []
        self.copied = False
        self._depth = 0
        self._met: dict[int, Any] = dict(kept)
        self.values = [self._take(x) for x in args]
        self.named = {}
        for name in kwargs:  # their order can be seen
            self.key.append(name)
            self.named[name] = self._take(kwargs[name])

    def _take(self, x: Any) -> Any:
        """Take the tensors out of an argument, and describe the rest in the key."""
        kind = type(x)
        by_value = BY_VALUE.get(kind)
        if by_value is not None:
            self.key.append((kind, by_value(x)))
            return x
        met = self._met.get(id(x))
        if met is not None:  # whether two are one object can be seen
            self.key.append((type(met), met.number))
            return met
        if kind is Tensor or isinstance(x, np.ndarray | np.generic):
            place = self._met[id(x)] = Place(len(self))
            tensor = x if kind is Tensor else to_tensor(x, None)
            self.append(tensor)
            self.objects.append(x)
            self.key.append(tensor._spec)
            return place
        if isinstance(x, Alias):
            return self._take(original(x))
        if self._depth < _DEEPEST and (kind in _NESTS or _is_named_tuple(kind)):
            # A copy of a set may be in another order.
            if kind is not set or not any(map(operator.is_not, x, set(x))):
                return self._nest(x, kind)
        self.key.append(told_apart(x))  # it is kept alive with the calls
        return x

    def _nest(self, x: Any, kind: type) -> Nest:
        number = len(self.nests)
        self.nests.append(x)
        if not issubclass(kind, tuple):  # it may hold itself
            self._met[id(x)] = Again(number)
        keys: tuple[Any, ...] = ()
        factory = attributes = None
        if kind is set:
            self.key.append((kind, tuple(map(told_apart, x))))
            return Nest(number, kind, list(x), keys, factory, attributes)
        inside: Iterable[Any] = x
        if issubclass(kind, dict):
            keys, inside = tuple(x), list(x.values())
            factory = x.default_factory if kind is defaultdict else None
        self.key.append((kind, len(x), tuple(map(told_apart, keys)), id(factory)))
        places = []
        self._depth += 1
        for item in inside:
            self.copied |= isinstance(item, np.ndarray | np.generic)
            places.append(self._take(item))
        self._depth -= 1
        self._met[id(x)] = Again(number)
        if issubclass(kind, tuple) and kind.__dictoffset__:
            attributes = self._nest(vars(x), dict)
        return Nest(number, kind, places, keys, factory, attributes)


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


class Copies:
    """The arguments of one call again, with other tensors in their places.

    Args:
      tensors: The tensors.

    Attributes:
      made: The containers, by their numbers.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = tensors
        self.made: dict[int, Any] = {}
        self._before: dict[int, list[Any]] = {}

    def put(self, x: Any) -> Any:
        """What was taken apart, put together."""
        kind = type(x)
        if kind is Place:
            return self.tensors[x.number]
        if kind is Kept:
            return x.value
        if kind is Again:
            return self.made[x.number]
        if kind is not Nest:
            return x
        if issubclass(x.kind, tuple):
            copy = tuple.__new__(x.kind, map(self.put, x.inside))
            self.made[x.number] = copy
            if x.attributes is not None:
                self._fill(x.attributes, vars(copy))
            return copy
        copy = defaultdict(x.factory) if x.kind is defaultdict else x.kind()
        self._fill(x, copy)
        return copy

    def _fill(self, nest: Nest, copy: Any) -> None:
        self.made[nest.number] = copy
        if type(copy) is set:
            copy.update(nest.inside)
        elif type(copy) is list:
            copy.extend(map(self.put, nest.inside))
        else:
            copy.update(zip(nest.keys, map(self.put, nest.inside), strict=True))
        self._before[nest.number] = _held(copy)

    def own(self) -> list[Any]:
        """What was made for the call alone; not tuples: where `is` sees them nothing is kept."""
        return [x for x in self.made.values() if not isinstance(x, tuple) or hasattr(x, "__dict__")]

    def give_back(self, to: Arguments) -> bool:
        """Do to the caller's own objects what was done to the copies; False if that is nothing."""
        own = {id(x): owned for x, owned in zip(self.tensors, to.objects, strict=True)}
        own |= {id(copy): to.nests[number] for number, copy in self.made.items()}
        changed = False
        for number, before in self._before.items():
            found = _held(self.made[number])
            if len(found) == len(before) and all(map(operator.is_, found, before)):
                continue
            changed = True
            items, target = [own.get(id(x), x) for x in found], to.nests[number]
            target.clear()
            if isinstance(target, dict):
                target.update(zip(items[::2], items[1::2], strict=True))
            else:
                (target.update if type(target) is set else target.extend)(items)
        return changed


def _held(container: Any) -> list[Any]:
    """What a container holds; of a dict, keys and values by turns."""
    if isinstance(container, dict):
        return [part for entry in container.items() for part in entry]
    return list(container)
