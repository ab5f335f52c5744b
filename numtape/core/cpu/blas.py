"""BLAS and LAPACK from SciPy, as addresses that jitted kernels call."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import sys
import threading
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from ..settings import after_fork_in_child
from ..values.memory import address_of

_LAPACK = ("gesdd", "getrf", "potrf")
_lock = threading.RLock()
_held = np.zeros(8, np.int64)
_loading: list[str] = []


def address(name: str) -> int:
    """The address of a function such as ``sgemm``; 0 where kernels cannot call it."""
    with _lock:  # the module can be loaded only once
        if _loading:
            raise RuntimeError(
                "A signal handler or a finalizer multiplies matrices while its thread loads BLAS. "
                "Do it once before, or set a flag and compute later."
            )
        try:
            _loading.append(name)
            return _address(name)
        finally:
            _loading.clear()


@cache
def _address(name: str) -> int:
    if sys.byteorder != "little":  # they pass addresses of int64s for 32-bit integers
        return 0
    room = "cython_lapack" if name[1:] in _LAPACK else "cython_blas"
    capsule = _module(room).__pyx_capi__[name]
    # Functions of our own: those of `ctypes.pythonapi` are everybody's.
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p)(("PyCapsule_GetName", ctypes.pythonapi))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    signature = name_of(ctypes.py_object(capsule))
    if b"int *" not in signature:  # a build with integers of another size
        return 0
    found: int = pointer_of(ctypes.py_object(capsule), ctypes.c_char_p(signature))
    return found


def threads() -> tuple[int, int, int]:
    """How kernels have the library take one thread; see `kernels.cpu.blas`.

    Returns the addresses of what tells and sets how many threads it takes, and of the kernels'
    words; 0 if unknown.
    """
    address("sgemm")
    told, put = _threads()
    return told, put, address_of(_held) if told else 0


def _alone() -> None:
    """In a forked child nobody computes, whatever the other threads of the parent did."""
    before = int(_held[2])
    held = _held[1] > 0 and before > 1
    _held[:] = 0
    if held:
        ctypes.CFUNCTYPE(None, ctypes.c_int)(_threads()[1])(before)


after_fork_in_child(_alone)


@cache
def _threads() -> tuple[int, int]:
    library = ctypes.CDLL(_module("cython_blas").__file__)
    for name in ("scipy_openblas_{}_num_threads", "openblas_{}_num_threads"):
        names = [name.format(word) for word in ("get", "set")]
        if all(hasattr(library, found) for found in names):
            told, set_ = (
                ctypes.cast(getattr(library, found), ctypes.c_void_p).value or 0 for found in names
            )
            return told, set_
    return 0, 0


@cache
def has_small_kernels() -> bool:
    """Whether the library is OpenBLAS, on a processor for which it has code for small matrices."""
    features = llvm.get_host_cpu_features()
    known = all(features.get(f"avx512{part}") for part in ("f", "bw", "dq", "vl"))
    return known and all(threads())


@cache
def _module(name: str) -> Any:
    """SciPy's module, loaded without the package around it, which takes five times as long."""
    whole = f"scipy.linalg.{name}"
    scipy = importlib.util.find_spec("scipy")  # finds it without importing it
    if whole not in sys.modules and scipy is not None and scipy.origin is not None:
        for suffix in EXTENSION_SUFFIXES:
            file = Path(scipy.origin).parent / "linalg" / f"{name}{suffix}"
            spec = importlib.util.spec_from_file_location(whole, file)
            if file.exists() and spec is not None and spec.loader is not None:
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                return module
    return importlib.import_module(whole)
