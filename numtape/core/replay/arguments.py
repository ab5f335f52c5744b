"""The arguments of a call: their tensors, a key for the rest, and copies for tracing.

A recording is valid for all calls that differ only in the values of tensor arguments. Immutable
values and containers are compared by value, other objects by identity. A traced call gets copies of
containers, with tensors that stand for the caller's tensors. When the call ends, changes of the
copies are applied to the caller's containers.
"""

from __future__ import annotations

import operator
import struct
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..log.as_tensor import to_tensor
from ..log.variable import Alias, original
from ..values.composite import Composite
from ..values.dtypes import DType
from ..values.spec import TensorShape
from ..values.tensor import Tensor
from .observe.ownership import FROZEN_DICTS, MAPPINGS


def _identity(x: Any) -> Any:
    return x


def _number_key(x: float) -> Any:
    return repr(x) if x == x else struct.pack("d", x)  # a NaN has a sign and a payload


# Classes whose objects are compared by value, with functions that return a comparison key.
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
    frozenset: lambda x: tuple(map(comparison_key, x)),  # in iteration order
}
_CONTAINER_TYPES = (list, tuple, set, *MAPPINGS, OrderedDict, defaultdict)
_FIXED_TYPES = (tuple, *FROZEN_DICTS)  # containers that do not change
_MAX_TUPLE_PARTS = 1 << 16  # longer tuples are compared by identity
_MAX_DEPTH = 64  # more deeply nested containers are compared by identity


def comparison_key(x: Any) -> Any:
    """Return a key for an object without tensors: by value if immutable, else by identity."""
    cls = type(x)
    make_key = VALUE_KEYS.get(cls)
    if make_key is not None:
        return cls, make_key(x)
    if cls is tuple:
        parts: list[Any] = []
        stack: list[Any] = [x]
        while stack:  # not recursive, because tuples may be deeply nested
            part = stack.pop()
            if type(part) is tuple:
                parts.append((tuple, len(part)))
                stack += part
            else:
                parts.append(comparison_key(part))
            if len(parts) > _MAX_TUPLE_PARTS:
                return cls, id(x)
        return cls, tuple(parts)
    if isinstance(x, np.generic) and not x.dtype.hasobject and x.dtype.names is None:
        return cls, x.dtype.str, x.tobytes()
    if isinstance(x, np.dtype) and not (x.metadata or x.fields or x.subdtype):
        return cls, x.char, x.str
    return cls, id(x)


def is_immutable(x: Any) -> bool:
    """Return whether a value is immutable, including its parts, and holds no tensor or array."""
    stack, visited = [x], set()
    while stack:
        part = stack.pop()
        if type(part) is tuple and id(part) not in visited:
            visited.add(id(part))
            stack += part
        elif type(part) is not tuple and type(part) not in VALUE_KEYS:
            return False
    return True


class TensorSlot(NamedTuple):
    """The position of a tensor among the tensors of a call."""

    number: int


class RepeatedContainer(NamedTuple):
    """Another occurrence of a container that was already encountered."""

    number: int


class PassedObject(NamedTuple):
    """An object that is passed unchanged, whatever its type."""

    number: int
    value: Any


class ContainerTemplate(NamedTuple):
    """A container with slots in place of its tensors.

    Attributes:
      number: The position among the containers of a call.
      kind: The class.
      contents: The items, with slots for tensors.
      keys: The keys of a dict.
      factory: The factory of a defaultdict.
      attributes: The attributes of a named tuple that can have some, as a template.
    """

    number: int
    kind: type
    contents: list[Any]
    keys: tuple[Any, ...]
    factory: Any
    attributes: Any


class CompositeTemplate(NamedTuple):
    """A tensor of several components, with slots in their place.

    Attributes:
      number: The position among the containers of a call.
      kind: The class.
      metadata: What it consists of besides the components.
      components: The components, as templates.
    """

    number: int
    kind: Any
    metadata: Any
    components: tuple[Any, ...]


class Arguments(list[Tensor]):
    """The different tensors among the arguments of a call.

    Args:
      args: The positional arguments.
      kwargs: The keyword arguments.
      passed: Objects that are passed unchanged, by id.

    Attributes:
      args: The positional arguments, the caller's objects.
      kwargs: The keyword arguments.
      key: The key of the call's signature.
      values: The positional arguments, with slots for tensors.
      keyword_values: The keyword arguments, with slots for tensors.
      containers: The containers, in the order of their numbers.
      objects: The argument from which each tensor was made.
      copies_containers: Whether a call as plain Python gets copies of containers as well. This is
        set if they hold arrays, which become tensors, or if an abandoned trace changed them.
      runs_as_python: Whether an argument is of a class with which nothing is recorded.
    """

    __slots__ = (
        "_components",
        "_depth",
        "_slots_by_id",
        "args",
        "containers",
        "copies_containers",
        "key",
        "keyword_values",
        "kwargs",
        "objects",
        "runs_as_python",
        "values",
    )

    def __init__(
        self, args: Sequence[Any], kwargs: dict[str, Any], passed: Mapping[int, Any]
    ) -> None:
        self.args, self.kwargs = args, kwargs
        self.key: list[Any] = []
        self.containers: list[Any] = []
        self.objects: list[Any] = []
        self.copies_containers = self.runs_as_python = False
        self._components: list[Any] = []
        self._depth = 0
        self._slots_by_id: dict[int, Any] = dict(passed)
        self.values = [self._extract(x) for x in args]
        self.keyword_values = {}
        for name in kwargs:  # in order, because the function can see the order
            self.key.append(name)
            self.keyword_values[name] = self._extract(kwargs[name])

    def _extract(self, x: Any) -> Any:
        """Replace the tensors of an argument by slots, and add the rest to the key."""
        cls = type(x)
        make_key = VALUE_KEYS.get(cls)
        if make_key is not None:
            self.key.append((cls, make_key(x)))
            return x
        previous = self._slots_by_id.get(id(x))
        if previous is not None:  # the function can see that two arguments are one object
            self.key.append((type(previous), previous.number))
            return previous
        if cls is Tensor or isinstance(x, np.ndarray | np.generic):
            slot = self._slots_by_id[id(x)] = TensorSlot(len(self))
            tensor = x if cls is Tensor else to_tensor(x, None)
            self.append(tensor)
            self.objects.append(x)
            self.key.append(tensor._spec)
            return slot
        if isinstance(x, Alias):
            return self._extract(original(x))
        if self._depth < _MAX_DEPTH and (cls in _CONTAINER_TYPES or _is_named_tuple(cls)):
            # Sets whose copies have another order are compared by identity.
            if cls is not set or not any(map(operator.is_not, x, set(x))):
                return self._extract_container(x, cls)
        if isinstance(x, Composite):
            self.runs_as_python |= x.runs_as_python
            if hasattr(cls, "_flatten"):
                return self._extract_composite(x)
        self.key.append(comparison_key(x))  # the dispatcher keeps it alive
        return x

    def _extract_composite(self, x: Any) -> CompositeTemplate:
        number = len(self.containers)
        self.containers.append(x)
        self._slots_by_id[id(x)] = RepeatedContainer(number)
        components, metadata = x._flatten()
        self.key.append((type(x), metadata))
        # Components may be objects that only this call refers to: others could get their ids.
        self._components += components
        parts = tuple(map(self._extract, components))
        return CompositeTemplate(number, type(x), metadata, parts)

    def _extract_container(self, x: Any, cls: type) -> ContainerTemplate:
        number = len(self.containers)
        self.containers.append(x)
        if not issubclass(cls, _FIXED_TYPES):  # it may contain itself
            self._slots_by_id[id(x)] = RepeatedContainer(number)
        keys: tuple[Any, ...] = ()
        factory = attributes = None
        if cls is set:
            self.key.append((cls, tuple(map(comparison_key, x))))
            return ContainerTemplate(number, cls, list(x), keys, factory, attributes)
        items: Iterable[Any] = x
        if issubclass(cls, MAPPINGS):
            keys, items = tuple(x), list(x.values())
            factory = x.default_factory if cls is defaultdict else None
        self.key.append((cls, len(x), tuple(map(comparison_key, keys)), id(factory)))
        values = []
        self._depth += 1
        for item in items:
            self.copies_containers |= isinstance(item, np.ndarray | np.generic)
            values.append(self._extract(item))
        self._depth -= 1
        self._slots_by_id[id(x)] = RepeatedContainer(number)
        if issubclass(cls, tuple) and cls.__dictoffset__:
            attributes = self._extract_container(vars(x), dict)
        return ContainerTemplate(number, cls, values, keys, factory, attributes)


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


class ArgumentCopies:
    """The arguments of one call, rebuilt with other tensors.

    Args:
      tensors: The tensors.

    Attributes:
      containers: The new containers, by their numbers.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = tensors
        self.containers: dict[int, Any] = {}
        self._original_contents: dict[int, list[Any]] = {}

    def rebuild(self, x: Any) -> Any:
        """Rebuild an argument from its template."""
        cls = type(x)
        if cls is TensorSlot:
            return self.tensors[x.number]
        if cls is PassedObject:
            return x.value
        if cls is RepeatedContainer:
            return self.containers[x.number]
        if cls is CompositeTemplate:
            copy = x.kind._unflatten(x.metadata, tuple(map(self.rebuild, x.components)))
            self.containers[x.number] = copy
            return copy
        if cls is not ContainerTemplate:
            return x
        if issubclass(x.kind, tuple):
            copy = tuple.__new__(x.kind, map(self.rebuild, x.contents))
            self.containers[x.number] = copy
            if x.attributes is not None:
                self._fill(x.attributes, vars(copy))
            return copy
        if issubclass(x.kind, FROZEN_DICTS):
            copy = x.kind(zip(x.keys, map(self.rebuild, x.contents), strict=True))
            self.containers[x.number] = copy
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
        self._original_contents[template.number] = _contents_of(copy)

    def created_objects(self) -> list[Any]:
        """Return the new containers, except those that do not change and have no dict."""
        return [
            x
            for x in self.containers.values()
            if not isinstance(x, (*_FIXED_TYPES, Composite)) or hasattr(x, "__dict__")
        ]

    def write_back(self, arguments: Arguments) -> bool:
        """Apply changes of the copies to the caller's containers. Return whether any changed."""
        originals = {id(x): value for x, value in zip(self.tensors, arguments.objects, strict=True)}
        originals |= {
            id(copy): arguments.containers[number] for number, copy in self.containers.items()
        }
        has_changed = False
        for number, original_contents in self._original_contents.items():
            contents = _contents_of(self.containers[number])
            if len(contents) == len(original_contents) and all(
                map(operator.is_, contents, original_contents)
            ):
                continue
            has_changed = True
            items = [originals.get(id(x), x) for x in contents]
            target = arguments.containers[number]
            target.clear()
            if isinstance(target, dict):
                target.update(zip(items[::2], items[1::2], strict=True))
            else:
                (target.update if type(target) is set else target.extend)(items)
        return has_changed


def _contents_of(container: Any) -> list[Any]:
    """Return the items of a container; for a dict, keys and values alternately."""
    if isinstance(container, dict):
        return [part for entry in container.items() for part in entry]
    return list(container)
