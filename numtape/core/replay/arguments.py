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


def _identity(x: Any) -> Any:
    return x


def _number_key(x: float) -> Any:
    return repr(x) if x == x else struct.pack("d", x)  # NaN has a sign


# Classes whose objects are compared by what they hold, and what tells two of one class apart.
VALUE_KEYS: dict[type, Callable[[Any], Any]] = {
    int: _identity,
    bool: _identity,
    str: _identity,
    bytes: _identity,
    type(None): _identity,
    float: _number_key,
    complex: lambda x: struct.pack("dd", x.real, x.imag),
    range: lambda x: (x.start, x.stop, x.step),
    types.MethodType: lambda x: (id(x.__self__), id(x.__func__)),
    TensorShape: _identity,
    DType: _identity,
    frozenset: lambda x: tuple(map(comparison_key, x)),  # in the order in which it is gone through
}
_CONTAINER_TYPES = (list, tuple, dict, set, OrderedDict, defaultdict)
_MAX_TUPLE_PARTS = 1 << 16  # parts of a tuple: longer ones are compared by identity
_MAX_DEPTH = (
    64  # containers in containers: those further in are compared by identity, as objects are
)


def comparison_key(x: Any) -> Any:
    """What tells apart values without tensors: plain ones by value, objects by identity."""
    kind = type(x)
    by_value = VALUE_KEYS.get(kind)
    if by_value is not None:
        return kind, by_value(x)
    if kind is tuple:
        parts: list[Any] = []
        stack: list[Any] = [x]
        while stack:  # without recursion: they may be deep
            y = stack.pop()
            if type(y) is tuple:
                parts.append((tuple, len(y)))
                stack += y
            else:
                parts.append(comparison_key(y))
            if len(parts) > _MAX_TUPLE_PARTS:
                return kind, id(x)
        return kind, tuple(parts)
    if isinstance(x, np.generic) and not x.dtype.hasobject and x.dtype.names is None:
        return kind, x.dtype.str, x.tobytes()
    if isinstance(x, np.dtype) and not (x.metadata or x.fields or x.subdtype):
        return kind, x.char, x.str
    return kind, id(x)


def is_immutable(x: Any) -> bool:
    """Whether nothing in a value can change, and none of it is a tensor or an array."""
    stack, visited = [x], set()
    while stack:
        y = stack.pop()
        if type(y) is tuple and id(y) not in visited:
            visited.add(id(y))
            stack += y
        elif type(y) is not tuple and type(y) not in VALUE_KEYS:
            return False
    return True


class TensorSlot(NamedTuple):
    """Where a tensor belongs."""

    number: int


class RepeatedContainer(NamedTuple):
    """Where a container belongs that was met before."""

    number: int


class PassedObject(NamedTuple):
    """An object that is passed itself, whatever it is."""

    number: int
    value: Any


class ContainerTemplate(NamedTuple):
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
    contents: list[Any]
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
        "_seen",
        "args",
        "containers",
        "copies_containers",
        "key",
        "keyword_values",
        "kwargs",
        "objects",
        "values",
    )

    def __init__(
        self, args: Sequence[Any], kwargs: dict[str, Any], passed: Mapping[int, Any]
    ) -> None:
        self.args, self.kwargs = args, kwargs
        self.key: list[Any] = []
        self.containers: list[Any] = []
        self.objects: list[Any] = []
        self.copies_containers = False
        self._depth = 0
        self._seen: dict[int, Any] = dict(passed)
        self.values = [self._extract(x) for x in args]
        self.keyword_values = {}
        for name in kwargs:  # their order can be seen
            self.key.append(name)
            self.keyword_values[name] = self._extract(kwargs[name])

    def _extract(self, x: Any) -> Any:
        """Take the tensors out of an argument, and describe the rest in the key."""
        kind = type(x)
        by_value = VALUE_KEYS.get(kind)
        if by_value is not None:
            self.key.append((kind, by_value(x)))
            return x
        previous = self._seen.get(id(x))
        if previous is not None:  # whether two are one object can be seen
            self.key.append((type(previous), previous.number))
            return previous
        if kind is Tensor or isinstance(x, np.ndarray | np.generic):
            slot = self._seen[id(x)] = TensorSlot(len(self))
            tensor = x if kind is Tensor else to_tensor(x, None)
            self.append(tensor)
            self.objects.append(x)
            self.key.append(tensor._spec)
            return slot
        if isinstance(x, Alias):
            return self._extract(original(x))
        if self._depth < _MAX_DEPTH and (kind in _CONTAINER_TYPES or _is_named_tuple(kind)):
            # A copy of a set may be in another order.
            if kind is not set or not any(map(operator.is_not, x, set(x))):
                return self._extract_container(x, kind)
        self.key.append(comparison_key(x))  # it is kept alive with the calls
        return x

    def _extract_container(self, x: Any, kind: type) -> ContainerTemplate:
        number = len(self.containers)
        self.containers.append(x)
        if not issubclass(kind, tuple):  # it may hold itself
            self._seen[id(x)] = RepeatedContainer(number)
        keys: tuple[Any, ...] = ()
        factory = attributes = None
        if kind is set:
            self.key.append((kind, tuple(map(comparison_key, x))))
            return ContainerTemplate(number, kind, list(x), keys, factory, attributes)
        items: Iterable[Any] = x
        if issubclass(kind, dict):
            keys, items = tuple(x), list(x.values())
            factory = x.default_factory if kind is defaultdict else None
        self.key.append((kind, len(x), tuple(map(comparison_key, keys)), id(factory)))
        values = []
        self._depth += 1
        for item in items:
            self.copies_containers |= isinstance(item, np.ndarray | np.generic)
            values.append(self._extract(item))
        self._depth -= 1
        self._seen[id(x)] = RepeatedContainer(number)
        if issubclass(kind, tuple) and kind.__dictoffset__:
            attributes = self._extract_container(vars(x), dict)
        return ContainerTemplate(number, kind, values, keys, factory, attributes)


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


class ArgumentCopies:
    """The arguments of one call again, with other tensors in their places.

    Args:
      tensors: The tensors.

    Attributes:
      made: The containers, by their numbers.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = tensors
        self.containers: dict[int, Any] = {}
        self._original_contents: dict[int, list[Any]] = {}

    def rebuild(self, x: Any) -> Any:
        """What was taken apart, put together."""
        kind = type(x)
        if kind is TensorSlot:
            return self.tensors[x.number]
        if kind is PassedObject:
            return x.value
        if kind is RepeatedContainer:
            return self.containers[x.number]
        if kind is not ContainerTemplate:
            return x
        if issubclass(x.kind, tuple):
            copy = tuple.__new__(x.kind, map(self.rebuild, x.contents))
            self.containers[x.number] = copy
            if x.attributes is not None:
                self._fill(x.attributes, vars(copy))
            return copy
        copy = defaultdict(x.factory) if x.kind is defaultdict else x.kind()
        self._fill(x, copy)
        return copy

    def _fill(self, template: ContainerTemplate, copy: Any) -> None:
        self.containers[template.number] = copy
        if type(copy) is set:
            copy.update(template.contents)
        elif type(copy) is list:
            copy.extend(map(self.rebuild, template.contents))
        else:
            copy.update(zip(template.keys, map(self.rebuild, template.contents), strict=True))
        self._original_contents[template.number] = _contents(copy)

    def created_objects(self) -> list[Any]:
        """What was made for the call alone; not tuples: where `is` sees them nothing is kept."""
        return [
            x
            for x in self.containers.values()
            if not isinstance(x, tuple) or hasattr(x, "__dict__")
        ]

    def write_back(self, arguments: Arguments) -> bool:
        """Do to the caller's own objects what was done to the copies; False if that is nothing."""
        originals = {
            id(x): original for x, original in zip(self.tensors, arguments.objects, strict=True)
        }
        originals |= {
            id(copy): arguments.containers[number] for number, copy in self.containers.items()
        }
        changed = False
        for number, original in self._original_contents.items():
            contents = _contents(self.containers[number])
            if len(contents) == len(original) and all(map(operator.is_, contents, original)):
                continue
            changed = True
            items, target = (
                [originals.get(id(x), x) for x in contents],
                arguments.containers[number],
            )
            target.clear()
            if isinstance(target, dict):
                target.update(zip(items[::2], items[1::2], strict=True))
            else:
                (target.update if type(target) is set else target.extend)(items)
        return changed


def _contents(container: Any) -> list[Any]:
    """What a container holds; of a dict, keys and values by turns."""
    if isinstance(container, dict):
        return [part for entry in container.items() for part in entry]
    return list(container)
