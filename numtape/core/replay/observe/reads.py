"""Reads: values that a call read from Python state. Each kind can be read again for comparison."""

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

# Kinds of reads. `holder` is the object that is read, `key` the position inside of it.
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
    CLASS,  # the bases of a class, and their special methods
    ITEMS,  # tuple(holder), of a list
    KEYS,  # tuple(holder), of a dict
    ENTRIES,  # keys and values of a dict, in order
    ANSWER,  # holder(), a function that was made for this read
) = range(15)


class _Missing:
    """The value of a read that finds nothing."""

    def __repr__(self) -> str:
        return "missing"


MISSING: Any = _Missing()


class Read(NamedTuple):
    """A read by a call.

    Attributes:
      kind: How to read again: an index of `READERS`.
      holder: The object that was read.
      key: The position inside of it.
      value: The value that was read, or `MISSING`.
      name: The name in the program.
      location: The file and line that read it.
    """

    kind: int
    holder: Any
    key: Any
    value: Any
    name: str
    location: tuple[str, int]

    def current_value(self) -> Any:
        """Read again and return the value."""
        return READERS[self.kind](self.holder, self.key)

    def holds(self) -> bool:
        """Return whether the value is still the same."""
        value = self.current_value()
        return value is self.value or is_same(value, self.value)


def cell_contents(cell: types.CellType) -> Any:
    """Return the contents of a cell, or `MISSING`."""
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
    """Return ``holder[key]``, or `MISSING`."""
    try:
        return holder[key]
    except LookupError:
        return MISSING


def _get_entries(holder: Any, key: Any) -> tuple[Any, ...]:
    return tuple(part for entry in dict.items(holder) for part in entry)


def class_contents(cls: type) -> tuple[Any, ...]:
    """Return the bases of a class, with the special methods and properties of each.

    For numtape's classes, return all methods, because lookups of them are not noted.
    """
    mro = type.__dict__["__mro__"].__get__(cls)
    return mro, *(
        (name, value)
        for base in mro
        if base.__flags__ & 1 << 9
        for name, value in list(type.__dict__["__dict__"].__get__(base).items())
        if (
            name.startswith("__")
            or cls in NUMTAPE_CLASSES
            or hasattr(type(value), "__set__")
            or hasattr(type(value), "__delete__")
        )
        and name not in _IGNORED_NAMES
    )


NUMTAPE_CLASSES = (Tensor, Variable, Tape)  # classes that a program may patch


_IGNORED_NAMES = {
    "__doc__",
    "__annotations__",
    "__static_attributes__",
    "__firstlineno__",
    "__dict__",
    "__weakref__",
    "__annotate__",
    "__annotations_cache__",
    "__annotate_func__",
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
    """Return `isinstance` by the object's class alone, without its ``__class__`` attribute."""
    return issubclass(type(value), kinds)


# Types without state: only `is` can distinguish two objects that are bitwise equal.
PLAIN_TYPES = (int, str, bytes, bool, type(None), type(Ellipsis), type(NotImplemented), range)


def is_same(actual: Any, expected: Any) -> bool:
    """Return whether a program sees equal values: numbers by their bits, objects by identity."""
    if actual is expected:
        return True
    cls = type(actual)
    if cls is not type(expected):
        return False
    if cls is range:
        return repr(actual) == repr(expected)
    if cls in PLAIN_TYPES:
        return bool(actual == expected)
    if cls is float:
        return struct.pack("d", actual) == struct.pack("d", expected)
    if cls is complex:
        return struct.pack("dd", actual.real, actual.imag) == struct.pack(
            "dd", expected.real, expected.imag
        )
    if is_a(actual, np.generic):
        return bool(actual.dtype == expected.dtype and actual.tobytes() == expected.tobytes())
    if cls is types.MethodType:
        return actual.__self__ is expected.__self__ and actual.__func__ is expected.__func__
    if cls is types.BuiltinMethodType or cls is types.MethodWrapperType:
        return actual.__self__ is expected.__self__ and actual.__name__ == expected.__name__
    if cls is slice:
        return is_same(
            (actual.start, actual.stop, actual.step), (expected.start, expected.stop, expected.step)
        )
    if cls is tuple:
        return _is_same_tuple(actual, expected)
    if is_a(actual, np.dtype):
        return bool(actual == expected) and actual.metadata == expected.metadata
    return False


def _is_same_tuple(actual: tuple[Any, ...], expected: tuple[Any, ...]) -> bool:
    """Return whether two tuples have the same items, at any depth, without recursion."""
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
    """Return how NumPy handles floating-point errors, as set by `numpy.errstate`."""
    return *np.geterr().values(), id(np.geterrcall())


def print_options() -> tuple[Any, ...]:
    """Return how NumPy prints arrays, as set by `numpy.set_printoptions`."""
    return tuple(part for entry in np.get_printoptions().items() for part in entry)


def array_layout(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """Return the shape, dtype and strides of an array."""
    return array.shape, array.dtype, array.strides


def write_access(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """Return what decides whether an element can be set: the layout, and whether it is writable."""
    return *array_layout(array), array.flags.writeable


def array_bits(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """Return the visible contents of an array: its shape, dtype and elements."""
    return array.shape, array.dtype, array.tobytes()


def bind_arguments(function: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    """Return the holder of a read of kind ANSWER."""
    return functools.partial(function, *args)


def _probe_references() -> int:
    probe = [Read(TYPE, object(), None, None, "", ("", 0))]
    return next(sys.getrefcount(read.holder) for read in probe) - 1


# The reference count of a holder to which only a list of reads refers.
_BASE_REFERENCES = _probe_references()


def select_lasting(reads: list[Read], temporary_reads: list[tuple[int, list[Read]]]) -> list[Read]:
    """Return the reads of objects that still exist after the call.

    An object to which only reads refer is temporary: the call made it, and only its classes can
    change. Reads of temporary objects are removed from the list. This may leave further objects to
    which only reads refer, which are removed in the next round.

    Args:
      reads: The reads. The list is changed.
      temporary_reads: Ids of objects, and reads of their classes. The reads are returned for
        objects that turn out to be temporary. The list is emptied.
    """
    holders = {id(read.holder) for read in reads}
    reads[:] = _select_held_by_others(
        reads, [read for _, class_reads in temporary_reads for read in class_reads]
    )
    temporary_holders = holders - {id(read.holder) for read in reads}
    reads += (
        read
        for owner, class_reads in temporary_reads
        if owner in temporary_holders
        for read in class_reads
    )
    temporary_reads.clear()
    return _select_held_by_others(reads, [])


def _select_held_by_others(reads: list[Read], other_reads: list[Read]) -> list[Read]:
    """Return the reads of objects to which more than these and other reads refer."""
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
    """Return whether an object's slot has a value."""
    try:
        slot.__get__(owner)
    except AttributeError:
        return False
    return True


def identity(value: Any) -> Any:
    """Return the value."""
    return value


def ordered_entries(value: Any) -> tuple[Any, ...]:
    """Return the keys and values of an OrderedDict, in order."""
    return tuple(part for entry in value.items() for part in entry)
