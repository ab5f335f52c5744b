"""Addresses of SciPy's BLAS and LAPACK functions, which jitted kernels call."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import math
import sys
import threading
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from ...kernels.constants import LAPACK_LETTERS, SMALL_SYSTEM_ROWS
from ..cpython.api import address_of_call, capsule_contents
from ..log.op import Native
from ..settings import after_fork_in_child
from ..values.dtypes import float32, float64
from ..values.memory import address_of
from ..values.spec import Spec

_LAPACK = ("gesdd", "getrf", "potrf")
_lock = threading.RLock()
_thread_words = np.zeros(8, np.int64)
_loading: list[str] = []


def address(name: str) -> int:
    """The address of a function such as ``sgemm``; 0 if kernels cannot call it."""
    with _lock:  # the module can be loaded only once
        if _loading:
            raise RuntimeError(
                "A signal handler or a finalizer multiplies matrices while its thread loads BLAS. "
                "Multiply matrices once before, or set a flag and compute later."
            )
        try:
            _loading.append(name)
            return _address(name)
        finally:
            _loading.clear()


@cache
def _address(name: str) -> int:
    if sys.byteorder != "little":  # kernels pass addresses of int64s for 32-bit integers
        return 0
    module_name = "cython_lapack" if name[1:] in _LAPACK else "cython_blas"
    capsule = _module(module_name).__pyx_capi__[name]
    signature, function_address = capsule_contents(capsule)
    has_int = signature is not None and b"int *" in signature
    return function_address if has_int else 0  # 0: a build with integers of another width


def threads() -> tuple[int, int, int]:
    """Addresses with which kernels limit the library to one thread; see `kernels.cpu.blas`.

    These are functions that get and set its number of threads, and the kernels' words; 0 if
    unknown.
    """
    address("sgemm")
    get_threads, set_threads = _threads()
    return get_threads, set_threads, address_of(_thread_words) if get_threads else 0


def _reset_after_fork() -> None:
    """Reset the state in a forked child: no thread computes, whatever the parent's threads did."""
    thread_count = int(_thread_words[2])
    was_limited = _thread_words[1] > 0 and thread_count > 1
    _thread_words[:] = 0
    if was_limited:
        ctypes.CFUNCTYPE(None, ctypes.c_int)(_threads()[1])(thread_count)


after_fork_in_child(_reset_after_fork)


@cache
def _threads() -> tuple[int, int]:
    library = ctypes.CDLL(_module("cython_blas").__file__)
    for name in ("scipy_openblas_{}_num_threads", "openblas_{}_num_threads"):
        names = [name.format(word) for word in ("get", "set")]
        if all(hasattr(library, name) for name in names):
            get_threads, set_threads = (
                ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names
            )
            return get_threads, set_threads
    return 0, 0


@cache
def has_small_kernels() -> bool:
    """Whether the library is OpenBLAS and has kernels of small matrices for the processor."""
    features = llvm.get_host_cpu_features()
    has_avx512 = all(features.get(f"avx512{part}") for part in ("f", "bw", "dq", "vl"))
    return has_avx512 and all(threads())


@cache
def _module(name: str) -> Any:
    """Load a SciPy module without importing its package, which takes five times as long."""
    full_name = f"scipy.linalg.{name}"
    scipy = importlib.util.find_spec("scipy")  # finds it without importing it
    if full_name not in sys.modules and scipy is not None and scipy.origin is not None:
        for suffix in EXTENSION_SUFFIXES:
            file = Path(scipy.origin).parent / "linalg" / f"{name}{suffix}"
            spec = importlib.util.spec_from_file_location(full_name, file)
            if file.exists() and spec is not None and spec.loader is not None:
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                return module
    return importlib.import_module(full_name)


# Parameters of the jitted kernels in ``kernels.cpu.lapack``.

_INT32 = 2**31 - 1  # the largest of their integers
# Matrices with at most so many rows and columns are computed by one thread each.
SMALL = 1024


def native(
    kernel: str,
    matrices: Spec,
    functions: tuple[str, ...],
    sizes: tuple[int, ...],
    cost: int,
    more: tuple[int, ...] = (),
) -> Native | None:
    """Return a kernel call for each matrix of a batch; None if kernels cannot compute it.

    Args:
      kernel: Its name in ``kernels.cpu.lapack``.
      matrices: The batched operand's matrices.
      functions: LAPACK names without their first letter, which is the dtype's.
      sizes: Parameters after the functions.
      cost: Multiplications per matrix.
      more: Parameters between functions and sizes.
    """
    dtype = matrices.dtype
    if dtype not in (float32, float64) or max(matrices.shape[-2:], default=0) > 2**15:
        return None
    letter = "s" if dtype is float32 else "d"
    function_addresses = tuple(address(letter + name) for name in functions)
    units = math.prod(matrices.shape[:-2])
    if not all(function_addresses) or not units or max(sizes) > _INT32:
        return None
    one_bits = int(np.ones(1, dtype.numpy_dtype).view(f"int{8 * dtype.size}")[0])
    is_small = max(matrices.shape[-2:]) <= SMALL
    header = (*map(ord, LAPACK_LETTERS), one_bits, 1, *(threads() if is_small else (0, 0, 0)))
    work = units * (cost // 16 + 8 * math.prod(matrices.shape[-2:]))
    parameters = (*header, *function_addresses, *more, *sizes)
    return Native(f"lapack.{kernel}", (dtype.name,), parameters, units, work)


def side_by_side(kernel: str, matrices: Spec, sizes: tuple[int, ...], cost: int) -> Native | None:
    """Return a call that computes several small matrices in a vector; None for other batches.

    Args:
      kernel: Its name in ``kernels.cpu.systems``.
      matrices: The square matrices of the batched operand.
      sizes: Parameters after the rows and the number of matrices.
      cost: Multiplications per matrix.
    """
    dtype, n, count = matrices.dtype, matrices.shape[-1], math.prod(matrices.shape[:-2])
    if dtype not in (float32, float64) or not 0 < n <= SMALL_SYSTEM_ROWS or count * dtype.size < 64:
        return None
    units = -(-count * dtype.size // 64)
    work = units * (64 // dtype.size) * (cost // 16 + n * n // 2)
    return Native(f"systems.{kernel}", (dtype.name,), (n, count, *sizes), units, work)


@cache
def memory() -> tuple[int, int]:
    """The addresses of functions that allocate and free memory."""
    return address_of_call("PyMem_RawMalloc"), address_of_call("PyMem_RawFree")
