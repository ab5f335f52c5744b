"""Reads: what a call saw of Python's state, each of a kind that can be looked at again."""

from __future__ import annotations

import functools
import struct
import sys
import types
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...derive.tape import Tape
from ...log.variable import Variable
from ...values.tensor import Tensor

# How a read is made again. `holder` is who has what is read, `key` where.
(
    ENTRY,  # dict.get(holder, key): a global name, an attribute of a module
    CELL,  # the contents of a cell
    TYPE,  # type(holder)
    CODE,  # the code, defaults and keyword defaults of a function
    ATTRIBUTE,  # getattr(holder, key)
    METHOD,  # the function of the bound method getattr(holder, key)
    ITEM,  # holder[key]
    TRUTH,  # bool(holder)
    LENGTH,  # len(holder)
    CONTAINS,  # key in holder, a dict or set
    CLASS,  # the classes that a class is made of, and their special methods
    ITEMS,  # tuple(holder), of a list
    KEYS,  # tuple(holder), of a dict
    ENTRIES,  # keys and values of a dict, in their order
    ANSWER,  # holder(), a function made for this read
) = range(15)


class _Missing:
    """What is read where there is nothing."""

    def __repr__(self) -> str:
        return "missing"


MISSING: Any = _Missing()


class Read(NamedTuple):
    """What a call read.

    Attributes:
      kind: How it is read again.
      holder: Who has it.
      key: Where.
      value: What was there, or `MISSING`.
      name: What the program calls it.
      place: The file and line that read it.
    """

    kind: int
    holder: Any
    key: Any
    value: Any
    name: str
    location: tuple[str, int]

    def current_value(self) -> Any:
        """What is there now."""
        return READERS[self.kind](self.holder, self.key)

    def holds(self) -> bool:
        """Whether it is still the same."""
        value = self.current_value()
        return value is self.value or is_same(value, self.value)


def cell_contents(cell: types.CellType) -> Any:
    """What is in a cell, or `MISSING`."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _get_attribute(holder: Any, key: str) -> Any:
    try:
        return getattr(holder, key)
    except AttributeError:
        return MISSING


def _get_method(holder: Any, key: str) -> Any:
    method = _get_attribute(holder, key)
    if type(method) is types.MethodType and method.__self__ is holder:
        return method.__func__
    return MISSING


def get_item(holder: Any, key: Any) -> Any:
    try:
        return holder[key]
    except LookupError:
        return MISSING


def _get_entries(holder: Any, key: Any) -> tuple[Any, ...]:
    return tuple(part for entry in dict.items(holder) for part in entry)


def class_contents(kind: type) -> tuple[Any, ...]:
    """The classes that a class is made of; special methods and properties of each.

    Of numtape's own all methods: nobody notes which of them are looked up.
    """
    kinds = type.__dict__["__mro__"].__get__(kind)
    return kinds, *(
        (name, value)
        for one in kinds
        if one.__flags__ & 1 << 9
        for name, value in list(type.__dict__["__dict__"].__get__(one).items())
        if (
            name.startswith("__")
            or kind in NUMTAPE_CLASSES
            or hasattr(type(value), "__set__")
            or hasattr(type(value), "__delete__")
        )
        and name not in _IGNORED_NAMES
    )


NUMTAPE_CLASSES = (Tensor, Variable, Tape)  # numtape's classes that a program may patch


_IGNORED_NAMES = {
    "__doc__",
    "__annotations__",
    "__static_attributes__",
    "__firstlineno__",
    "__dict__",
    "__weakref__",
    "__annotate__",
}

READERS: dict[int, Callable[[Any, Any], Any]] = {
    ENTRY: lambda holder, key: dict.get(holder, key, MISSING),
    CELL: lambda holder, key: cell_contents(holder),
    TYPE: lambda holder, key: type(holder),
    CODE: lambda holder, key: (holder.__code__, holder.__defaults__, holder.__kwdefaults__),
    ATTRIBUTE: _get_attribute,
    METHOD: _get_method,
    ITEM: get_item,
    TRUTH: lambda holder, key: bool(holder),
    LENGTH: lambda holder, key: len(holder),
    CONTAINS: lambda holder, key: key in holder,
    CLASS: lambda holder, key: class_contents(holder),
    ITEMS: lambda holder, key: tuple(list.__iter__(holder)),
    KEYS: lambda holder, key: tuple(dict.__iter__(holder)),
    ENTRIES: _get_entries,
    ANSWER: lambda holder, key: holder(),
}


def is_a(value: Any, kinds: Any) -> bool:
    """`isinstance` that asks the object's class, and not the object, which may answer itself."""
    return issubclass(type(value), kinds)


# What has no state: two that are equal, bit by bit, cannot be told apart but by `is`.
PLAIN_TYPES = (int, str, bytes, bool, type(None), type(Ellipsis), type(NotImplemented), range)


def is_same(actual: Any, expected: Any) -> bool:
    """Whether two values are the same to a program: numbers by their bits, objects by identity."""
    if actual is expected:
        return True
    kind = type(actual)
    if kind is not type(expected):
        return False
    if kind is range:
        return repr(actual) == repr(expected)
    if kind in PLAIN_TYPES:
        return bool(actual == expected)
    if kind is float:
        return struct.pack("d", actual) == struct.pack("d", expected)
    if kind is complex:
        return struct.pack("dd", actual.real, actual.imag) == struct.pack(
            "dd", expected.real, expected.imag
        )
    if is_a(actual, np.generic):
        return bool(actual.dtype == expected.dtype and actual.tobytes() == expected.tobytes())
    if kind is types.MethodType:
        return actual.__self__ is expected.__self__ and actual.__func__ is expected.__func__
    if kind is types.BuiltinMethodType or kind is types.MethodWrapperType:
        return actual.__self__ is expected.__self__ and actual.__name__ == expected.__name__
    if kind is slice:
        return is_same(
            (actual.start, actual.stop, actual.step), (expected.start, expected.stop, expected.step)
        )
    if kind is tuple:
        return _is_same_tuple(actual, expected)
    if is_a(actual, np.dtype):
        return bool(actual == expected) and actual.metadata == expected.metadata
    return False


def _is_same_tuple(actual: tuple[Any, ...], expected: tuple[Any, ...]) -> bool:
    """Whether two tuples hold the same, however deep they are."""
    stack, visited = [(actual, expected)], set()
    while stack:
        actual_part, expected_part = stack.pop()
        if len(actual_part) != len(expected_part):
            return False
        for x, y in zip(actual_part, expected_part, strict=True):
            if not type(x) is type(y) is tuple:
                if not is_same(x, y):
                    return False
            elif x is not y and (id(x), id(y)) not in visited:
                visited.add((id(x), id(y)))
                stack.append((x, y))
    return True


def float_errors() -> tuple[Any, ...]:
    """How NumPy treats errors of floats, as `numpy.errstate` sets it."""
    return *np.geterr().values(), id(np.geterrcall())


def print_options() -> tuple[Any, ...]:
    """How NumPy prints arrays, as `numpy.set_printoptions` sets it."""
    return tuple(part for entry in np.get_printoptions().items() for part in entry)


def array_layout(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """How an array lies in its memory."""
    return array.shape, array.dtype, array.strides


def write_access(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """What decides whether an element can be set."""
    return *array_layout(array), array.flags.writeable


def array_bits(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """What can be seen in an array: its shape, dtype and elements."""
    return array.shape, array.dtype, array.tobytes()


def bind_arguments(function: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    """The holder of a read of kind ANSWER."""
    return functools.partial(function, *args)


def _probe_references() -> int:
    probe = [Read(TYPE, object(), None, None, "", ("", 0))]
    return next(sys.getrefcount(read.holder) for read in probe) - 1


# What a holder's reference count shows besides the references of reads.
_BASE_REFERENCES = _probe_references()


def select_lasting(reads: list[Read], temporary_reads: list[tuple[int, list[Read]]]) -> list[Read]:
    """The reads of what still is there when the call has ended.

    What only reads refer to, the call made for itself: nobody can change it, but for its classes.
    The others are taken out of the list: what they referred to may be held by them alone, and goes
    in the next round.

    Args:
      found: The reads. The list is changed.
      of_temporary: Ids of objects, and reads of what their classes have: reads of those objects
        that go. The list is emptied.
    """
    holders = {id(read.holder) for read in reads}
    reads[:] = _select_held_by_others(reads, [read for _, part in temporary_reads for read in part])
    dropped = holders - {id(read.holder) for read in reads}
    reads += (read for owner, part in temporary_reads if owner in dropped for read in part)
    temporary_reads.clear()
    return _select_held_by_others(reads, [])


def _select_held_by_others(reads: list[Read], other_reads: list[Read]) -> list[Read]:
    """Of reads, those of objects to which more than these and other reads refer."""
    while True:
        counts: Counter[int] = Counter()
        for read in (*reads, *other_reads):
            counts.update((id(read.holder), id(read.key), id(read.value)))
            if read.kind in (ITEMS, KEYS, ENTRIES):
                counts.update(map(id, read.value))
        remaining = [
            read
            for read in reads
            if read.kind == ANSWER
            or sys.getrefcount(read.holder) > counts[id(read.holder)] + _BASE_REFERENCES
        ]
        if len(remaining) == len(reads):
            return remaining
        reads[:] = remaining


def is_slot_filled(slot: Any, owner: Any) -> bool:
    """Whether an object has something in a slot."""
    try:
        slot.__get__(owner)
    except AttributeError:
        return False
    return True


def identity(value: Any) -> Any:
    """The value."""
    return value


def ordered_entries(value: Any) -> tuple[Any, ...]:
    """The entries of an OrderedDict, in its order."""
    return tuple(part for entry in value.items() for part in entry)
