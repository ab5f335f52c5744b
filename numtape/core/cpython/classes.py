"""Fields of CPython's functions and classes: code, versions, slots of the buffer protocol."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, cast

from .api import UnsupportedLayout, address_of_call, word_at
from .version import WORD

AS_BUFFER = 160  # the byte offset of ``tp_as_buffer`` in a type: the address of its buffer slots
GETBUFFER = 1  # ``Py_bf_getbuffer``, the number of the slot for `PyType_GetSlot`


@cache
def code_field_offsets() -> tuple[int, ...]:
    """Return the offsets of a function's code, defaults and keyword defaults, found by search."""

    def probe(x: Any = 1, *, y: Any = 2) -> None:
        """Have all three."""

    addresses = [id(probe.__code__), id(probe.__defaults__), id(probe.__kwdefaults__)]
    offsets = {word_at(id(probe) + k): k for k in range(0, type(probe).__basicsize__, WORD)}
    return tuple(offsets[x] for x in addresses)


# The offset of a class's version, a number that changes when the class or one of its bases changes.
# From CPython's Include/cpython/object.h, tp_version_tag. 0 means that it has none.
VERSION_OFFSET = 384


def class_version(cls: type) -> int:
    """Return the present version of a class; -1, which no class has, if there are no versions."""
    # A class gets a version when an attribute is looked up on it, not on its metaclass.
    type.__getattribute__(cls, "__init__")
    return (word_at(id(cls) + VERSION_OFFSET) & 0xFFFFFFFF or -1) if has_class_versions() else -1


@cache
def has_class_versions() -> bool:
    """Return whether classes have versions at the expected offset."""

    class Base:
        one = 1

    class Derived(Base):
        pass

    versions = []
    for changes_base in (False, False, True, False):
        if changes_base:
            Base.one = 2
        assert Derived.one
        versions.append(word_at(id(Derived) + VERSION_OFFSET) & 0xFFFFFFFF)
    return 0 < versions[0] == versions[1] != versions[2] == versions[3] > 0


def buffer_slot(cls: type) -> Any:
    """Return the slot of a class, as a word that can be set.

    Raises:
      UnsupportedLayout: If it is not at the expected position.
    """
    address, size = word_at(id(cls) + AS_BUFFER), cast(int, type.__basicsize__)
    if not id(cls) < address < id(cls) + size:
        raise UnsupportedLayout("the buffer slots of a type are not at the expected position")
    return ctypes.c_size_t.from_address(address)


def check_buffer_slot() -> None:
    """Check that Python reads the slot of a class where `buffer_slot` writes it."""

    class Probe:
        pass

    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_int)
    get_slot = prototype(address_of_call("PyType_GetSlot"))
    slot = buffer_slot(Probe)
    slot_before, slot.value = get_slot(Probe, GETBUFFER), 1
    slot_after, slot.value = get_slot(Probe, GETBUFFER), 0
    if (slot_before, slot_after) != (None, 1):
        raise UnsupportedLayout("the buffer slot of a type is not at the expected position")
