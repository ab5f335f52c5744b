"""The versions of CPython whose internals are known, and how they differ."""

from __future__ import annotations

import _thread
import ctypes
import sys
import sysconfig

VERSION = sys.version_info[:2]
KNOWN = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
WORD = ctypes.sizeof(ctypes.c_void_p)  # bytes

# Whether a call by Python code runs the C function that is set for a Python function.
CALLS_USE_VECTORCALL = VERSION >= (3, 12)
# Whether a class written in Python can support the buffer protocol, by a method.
HAS_BUFFER_METHOD = VERSION >= (3, 12)


def is_gil_enabled() -> bool:
    """Return whether the global interpreter lock is on; a free-threaded build may be without it."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def is_main_interpreter() -> bool:
    """Return whether this is the main interpreter. Python 3.11 does not tell: True."""
    return bool(getattr(_thread, "_is_main_interpreter", lambda: True)())


def unknown_reason() -> str:
    """Return why the instructions of this Python are not known; "" if they are."""
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} is not CPython"
    if VERSION not in KNOWN:
        version, first, last = (".".join(map(str, x)) for x in (VERSION, KNOWN[0], KNOWN[-1]))
        return f"Python {version} is not a supported version: {first} to {last}"
    return ""


def unsupported_reason() -> str:
    """Return why the internals of this Python cannot be used; "" if no reason is known.

    The layout of frames and objects is checked as well, by `frames` and `layout`.
    """
    if reason := unknown_reason():
        return reason
    version = ".".join(map(str, VERSION))
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return f"this is a free-threaded build of Python {version}"
    if object.__basicsize__ != 2 * WORD or WORD != 8:
        return f"this build of Python {version} has another word size"
    return ""
