"""CPython's C API and memory, by addresses: what `layout`, `frames` and machine code build on."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .version import CALLS_USE_VECTORCALL

if TYPE_CHECKING:
    from types import FunctionType


# Functions of the C API that machine code calls, by the names of their words.
API = {
    "GET_ENTRY": "PyDict_GetItemWithError",
    "GET_ATTRIBUTE": "PyObject_GetAttr",
    "THREAD_DICT": "PyThreadState_GetDict",
    "MAKE_LIST": "PyList_New",
    "MAKE_DICT": "PyDict_New",
    "NEXT_ENTRY": "PyDict_Next",
    "CLEAR_DICT": "PyDict_Clear",
    "CLEAR_SET": "PySet_Clear",
    "SET_CONTAINS": "PySet_Contains",
    "GET_REFERENT": "PyWeakref_GetObject",
    "CALL": "PyObject_CallNoArgs",
    "CALL_ONE_ARG": "PyObject_CallOneArg",
    "VECTORCALL": "PyObject_Vectorcall",
    "TO_INT": "PyLong_AsSsize_t",
    "FROM_INT": "PyLong_FromSsize_t",
    "INCREF": "Py_IncRef",
    "DECREF": "Py_DecRef",
    "CLEAR_ERROR": "PyErr_Clear",
    "MAKE_TUPLE": "PyTuple_New",
    "GET_SLICE": "PyList_GetSlice",
    "LIST_APPEND": "PyList_Append",
    "SET_ADD": "PySet_Add",
    "SET_ENTRY": "PyDict_SetItem",
    "SET_SLICE": "PyList_SetSlice",
    "MAKE": "PyType_GenericAlloc",
    "AS_TUPLE": "PyList_AsTuple",
    "TAKE_ERROR": "PyErr_Fetch",
    "SET_ERROR": "PyErr_Restore",
    "DELETE_ENTRY": "PyDict_DelItem",
    "TRACK": "PyObject_GC_Track",
    "UNTRACK": "PyObject_GC_UnTrack",
    "ALLOCATE": "PyMem_Malloc",
    "FREE": "PyMem_Free",
    "NORMALIZE_ERROR": "PyErr_NormalizeException",
    "SET_TRACEBACK": "PyException_SetTraceback",
    "GET_BUFFER": "PyObject_GetBuffer",
    "FIND_ENTRY": "PyDict_GetItem",
    "GET_ITEM": "PyObject_GetItem",
    "IS_TRUE": "PyObject_IsTrue",
    "LENGTH_OF": "PyObject_Size",
    "DICT_SIZE": "PyDict_Size",
    "SEQUENCE_CONTAINS": "PySequence_Contains",
}


class UnsupportedLayout(Exception):
    """The layout of an object is not the expected one."""


def word_at(address: int) -> int:
    """Return the word at an address."""
    return ctypes.c_size_t.from_address(address).value


def reference_count(address: int) -> int:
    """Return the reference count of the object at an address; a large number if it is immortal."""
    return word_at(address) & 0xFFFFFFFF


class _Null:
    """An empty slot of a frame's array."""

    def __repr__(self) -> str:
        return "nothing"


NULL: Any = _Null()


def object_at(address: int) -> Any:
    """Return the object to which the word at an address refers, or `NULL`."""
    try:
        return ctypes.py_object.from_address(address).value
    except ValueError:
        return NULL


def address_of_call(name: str) -> int:
    """Return the address of a function of the C API."""
    try:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    except AttributeError:
        address = None
    if not address:
        raise UnsupportedLayout(f"there is no {name}")
    return address


# New function objects, because those of `ctypes.pythonapi` are shared.
_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_size_t)(("PyCapsule_GetPointer", ctypes.pythonapi))


def capsule_contents(capsule: object) -> tuple[bytes | None, int]:
    """Return the name and the address of what a capsule holds.

    Raises:
      ValueError: If it is not a capsule.
    """
    # Converted here: if ctypes converts at the recursion limit, it raises another error.
    name = _capsule_name(ctypes.py_object(capsule))
    return name, _capsule_pointer(ctypes.py_object(capsule), ctypes.c_char_p(name))


def thread_dict() -> dict[Any, Any]:
    """Return the dict in which C code stores objects of this thread."""
    get_dict = ctypes.PYFUNCTYPE(ctypes.c_void_p)(address_of_call("PyThreadState_GetDict"))
    result: dict[Any, Any] = ctypes.cast(get_dict(), ctypes.py_object).value
    return result


def untrack(target: object) -> None:
    """Hide an object from the garbage collector."""
    ctypes.PYFUNCTYPE(None, ctypes.py_object)(address_of_call("PyObject_GC_UnTrack"))(target)


def entry_of(function: object) -> int:
    """Return the address of the C function that runs a function when it is called."""
    prototype = ctypes.PYFUNCTYPE(ctypes.c_size_t, ctypes.py_object)
    return int(prototype(address_of_call("PyVectorcall_Function"))(function))


def make_vectorcall_setter(offset: int) -> Callable[[Any, int], None]:
    """Return a function that sets the address of the C function that runs a Python function.

    Python 3.11 has no function for this, so its field of the function is written. There, Tensor's
    operators take twice as long without it: 166 ns instead of 87 ns for each op that is recorded.

    Args:
      offset: The byte offset of this address in functions.
    """
    if CALLS_USE_VECTORCALL:
        return ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.c_void_p)(
            address_of_call("PyFunction_SetVectorcall")
        )

    def set_entry(function: FunctionType, address: int) -> None:
        ctypes.c_size_t.from_address(id(function) + offset).value = address

    return set_entry


def keep_forever(target: object) -> None:
    """Never free an object, because machine code refers to it even while finalizers run at exit."""
    ctypes.PYFUNCTYPE(None, ctypes.py_object)(address_of_call("Py_IncRef"))(target)


# The arguments of a C function besides its object: from CPython's Include/methodobject.h.
FAST = 0x80  # METH_FASTCALL: the address of its arguments, and their number
KEYWORDS = 0x82  # METH_FASTCALL | METH_KEYWORDS: also the names of the last arguments


class MethodDef(ctypes.Structure):
    """CPython's ``PyMethodDef``, which defines a C function. It must outlive its functions."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )

    def function(self, owner: object = None) -> Any:
        """Return a built-in function, or a method of an object."""
        return _NEW(address_of_call("PyCFunction_NewEx"))(ctypes.addressof(self), owner, None)


_NEW = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)


def builtin(name: str, address: int, flags: int = KEYWORDS) -> Any:
    """Return a built-in function that runs machine code."""
    method = MethodDef(name.encode(), address, flags, None)
    keep_forever(method)
    return method.function()
