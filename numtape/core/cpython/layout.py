"""The memory layout of Python's objects, measured in the running Python by probes.

A probe stores known objects and searches for their addresses. It returns words by their names in
`kernels.cpython.words`, or raises `UnsupportedLayout`; then Python code does all that machine code
would do. Start with `measure`.
"""

from __future__ import annotations

import math
import sys
import sysconfig
import types
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...kernels.cpython.words import (
    CELL,
    FLOAT,
    LIST_ITEMS,
    METHOD_FUNCTION,
    METHOD_SELF,
    SIZE,
    TYPE,
)
from ..values.memory import address_of, view
from . import version
from .api import UnsupportedLayout, entry_of, thread_dict, word_at
from .version import WORD

ONE_DIGIT_MAX = 2**30 - 1


def unsupported_reason() -> str:
    """Return why machine code cannot read the objects of this Python; "" if no reason is known."""
    # In other debug builds only `sys.gettotalrefcount` is wrong: machine code does not add to it.
    if sysconfig.get_config_var("Py_TRACE_REFS"):
        return "this is a build of Python with Py_TRACE_REFS"
    if sys.byteorder != "little":
        return "this processor is not little-endian"
    return version.unsupported_reason()


def offset_of_word(owner: object, size: int, word: int, name: str) -> int:
    """Return the byte offset of a word in an object.

    Raises:
      UnsupportedLayout: If the word does not occur exactly once.
    """
    offsets = [offset for offset in range(0, size, WORD) if word_at(id(owner) + offset) == word]
    if len(offsets) != 1:
        raise UnsupportedLayout(f"{name} is not where it is known to be")
    return offsets[0]


_slot_offsets: dict[tuple[type, str], int] = {}  # of numtape's own classes


def slot_offset(cls: type, name: str) -> int:
    """Return the byte offset of a slot in objects of one of numtape's classes."""
    if (cls, name) not in _slot_offsets:
        holder: Any = object.__new__(cls)
        marker = object()
        setattr(holder, name, marker)
        label = f"{cls.__name__}.{name}"
        _slot_offsets[cls, name] = offset_of_word(holder, cls.__basicsize__, id(marker), label)
    return _slot_offsets[cls, name]


def slot_address(owner: Any, name: str) -> int:
    """Return the address of a slot of an object."""
    return id(owner) + slot_offset(type(owner), name)


def weak_reference_offset(cls: type) -> int:
    """Return the offset of weak references in objects; it may be negative, before the object.

    Raises:
      UnsupportedLayout: If they are not where the class says.
    """
    target: Any = object.__new__(cls)
    other: Any = object.__new__(cls)
    offset: int = cls.__weakrefoffset__
    reference = weakref.ref(target)
    if word_at(id(target) + offset) != id(reference) or word_at(id(other) + offset):
        raise UnsupportedLayout("weak references are not where they are known to be")
    return offset


def length_address(items: list[Any]) -> int:
    """Return the address of a list's length."""
    address: int = id(items) + SIZE
    return address


def function_entry_offset() -> int:
    """Return the offset of the C function that runs a Python function, see `api.entry_of`."""

    def function() -> None:
        pass

    size = types.FunctionType.__basicsize__
    return offset_of_word(function, size, entry_of(function), "a function's entry")


class _Probe:
    """A class with a method."""

    def method(self) -> None:
        """Do nothing."""


def _probe_functions() -> dict[str, int]:
    marker: Any = object()

    def function() -> Any:
        return marker

    closure = function.__closure__ or ()
    append: Any = [0].append
    cell = offset_of_word(closure[0], types.CellType.__basicsize__, id(marker), "a cell's object")
    _check(cell == CELL, "a cell's object")
    method: Any = _Probe().method
    for part, expected in ((method.__func__, METHOD_FUNCTION), (method.__self__, METHOD_SELF)):
        name = "a method's function or object"
        found_at = offset_of_word(method, types.MethodType.__basicsize__, id(part), name)
        _check(found_at == expected, name)
    size = types.BuiltinFunctionType.__basicsize__
    return {
        "AT_CLOSURE": offset_of_word(
            function, types.FunctionType.__basicsize__, id(closure), "a closure"
        ),
        "AT_BUILTIN_SELF": offset_of_word(append, size, id(append.__self__), "a method's object"),
    }


def _probe_tuples() -> dict[str, int]:
    pair = (object(), object())
    size = tuple.__basicsize__ + 2 * tuple.__itemsize__
    first, second = (offset_of_word(pair, size, id(x), "a tuple's item") for x in pair)
    _check(second == first + WORD, "a tuple's second item")
    hash_offset = first - WORD  # from Python 3.14 on, between the size and the items
    if hash_offset == SIZE:
        hash_offset = -1
    else:
        _check(word_at(id(pair) + hash_offset) == 2**64 - 1, "a tuple's hash")
        _check(hash(pair) % 2**64 == word_at(id(pair) + hash_offset), "a tuple's hash")
    return {"AT_ITEM": first, "AT_HASH": hash_offset}


def _probe_lists() -> dict[str, int]:
    items: list[Any] = list(range(4099))
    del items[-3:]  # so that the allocated size differs from the length
    size = offset_of_word(items, list.__basicsize__, len(items), "a list's size")
    address = word_at(id(items) + LIST_ITEMS)
    _check(size == SIZE and word_at(address + WORD) == id(items[1]), "a list's item")
    return {}


def _probe_arrays() -> dict[str, int]:
    array = np.zeros(4, np.int32)
    memory, address = view(array), address_of(array)
    kind = offset_of_word(array, object.__basicsize__, id(np.ndarray), "an object's type")
    _check(kind == TYPE, "an object's type")
    return {
        "AT_BUFFER": offset_of_word(
            memory, memoryview.__basicsize__, address, "a memoryview's address"
        ),
        "AT_DATA": offset_of_word(array, np.ndarray.__basicsize__, address, "an array's address"),
    }


def _probe_floats() -> dict[str, int]:
    bits = int(np.float64(math.pi).view(np.int64))
    _check(offset_of_word(math.pi, float.__basicsize__, bits, "a float") == FLOAT, "a float")
    return {}


def _probe_ints() -> dict[str, int]:
    """Ints of one digit, and the word with the number of digits.

    From Python 3.14 on, small ints have a flag in that word, which a mask removes.
    """
    offset = int.__basicsize__

    def count_of(x: int) -> int:
        return word_at(id(x) + offset - WORD)

    samples = [2**29 + 12345, ONE_DIGIT_MAX, 300, 1]
    mask = ~(count_of(samples[0]) ^ count_of(1)) & (2**64 - 1)
    one, zero = count_of(samples[0]) & mask, count_of(0) & mask
    counts = [count_of(x) & mask for x in [*samples, 0, ONE_DIGIT_MAX + 1]]
    digits = [word_at(id(x) + offset) & 0xFFFFFFFF for x in [*samples, 0]]
    is_expected = counts[:-1] == [one] * len(samples) + [zero] and digits == [*samples, 0]
    _check(is_expected and len({one, zero, counts[-1]}) == 3, "an int's digit")
    return {
        "AT_DIGIT_COUNT": offset - WORD,
        "AT_DIGIT": offset,
        "ONE_DIGIT": one,
        "NO_DIGIT": zero,
        "DIGIT_COUNT_MASK": mask - (1 << 64),
    }


def _probe_reference_counts() -> dict[str, int]:
    probe = object()
    # 0 from Python 3.14 on, where calls borrow references.
    counted_by_call = sys.getrefcount(probe) - 1
    extra_references = [probe] * 1000
    offset = offset_of_word(
        probe, object.__basicsize__, sys.getrefcount(probe) - counted_by_call, "a reference count"
    )
    del extra_references
    return {"AT_REFERENCES": offset}


PROBES: dict[str, Callable[[], dict[str, int]]] = {
    "functions": _probe_functions,
    "tuples": _probe_tuples,
    "lists": _probe_lists,
    "arrays": _probe_arrays,
    "floats": _probe_floats,
    "ints": _probe_ints,
    "references": _probe_reference_counts,
}


def _check(condition: bool, name: str) -> None:
    if not condition:
        raise UnsupportedLayout(f"{name} is not where it is known to be")


def thread_local_layout(local: Any) -> tuple[Any, int]:
    """Return the key of a `threading.local` in a thread's dict, and the offset of its names there.

    From Python 3.13 on, threads store it differently: (None, -1). Then attributes are read.
    """
    names = local.__dict__
    for key, dummy in list(thread_dict().items()):
        if type(dummy).__name__ == "_localdummy":
            size = type(dummy).__basicsize__
            if any(word_at(id(dummy) + offset) == id(names) for offset in range(0, size, WORD)):
                return key, offset_of_word(dummy, size, id(names), "a thread's names")
    return None, -1


@cache
def measure() -> dict[str, int]:
    """Return the words that the probes find.

    Raises:
      UnsupportedLayout: If a part is not as expected. The message names it.
    """
    reason = unsupported_reason()
    if reason:
        raise UnsupportedLayout(reason)
    return {word: value for probe in PROBES.values() for word, value in probe().items()}


def failure() -> str:
    """Return the message of `measure`'s error; "" if it succeeds."""
    try:
        measure()
    except UnsupportedLayout as error:
        return str(error)
    return ""
