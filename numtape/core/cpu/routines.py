"""LAPACK and BLAS in jitted kernels: the parameters of those in ``kernels.cpu.lapack``."""

from __future__ import annotations

import ctypes
import math
from functools import cache

import numpy as np

from ..log.op import Native
from ..values.dtypes import float32, float64
from ..values.spec import Spec
from . import blas

_INT32 = 2**31 - 1  # they count with these
# Passed by address; as in kernels/cpu/lapack.py (a test compares). The 1 of the dtype follows.
LETTERS = "NTULRAS"
# Up to so many rows and columns a thread computes a matrix alone.
SMALL = 1024
# Batches of matrices of up to so many rows are not worth calls of LAPACK; as in
# kernels/cpu/systems.py (a test compares).
ROWS = 32


def native(
    kernel: str,
    matrices: Spec,
    functions: tuple[str, ...],
    sizes: tuple[int, ...],
    cost: int,
    more: tuple[int, ...] = (),
) -> Native | None:
    """What calls functions on each matrix of a batch; None where kernels cannot.

    Args:
      kernel: Its name in ``kernels.cpu.lapack``.
      matrices: Of the operand that has the batches.
      functions: Without their first letter, which is the dtype's.
      sizes: What follows the functions.
      cost: The multiplications that a matrix takes.
      more: What stands between functions and sizes.
    """
    dtype = matrices.dtype
    if dtype not in (float32, float64) or max(matrices.shape[-2:], default=0) > 2**15:
        return None
    letter = "s" if dtype is float32 else "d"
    places = tuple(blas.address(letter + name) for name in functions)
    units = math.prod(matrices.shape[:-2])
    if not all(places) or not units or max(sizes) > _INT32:
        return None
    one = int(np.ones(1, dtype.numpy_dtype).view(f"int{8 * dtype.size}")[0])
    small = max(matrices.shape[-2:]) <= SMALL
    header = (*map(ord, LETTERS), one, 1, *(blas.threads() if small else (0, 0, 0)))
    work = units * (cost // 16 + 8 * math.prod(matrices.shape[-2:]))
    parameters = (*header, *places, *more, *sizes)
    return Native(f"lapack.{kernel}", (dtype.name,), parameters, units, work)


def side_by_side(kernel: str, matrices: Spec, sizes: tuple[int, ...], cost: int) -> Native | None:
    """What computes small matrices several at once, a vector's; None for others, and for fewer.

    Args:
      kernel: Its name in ``kernels.cpu.systems``.
      matrices: Of the operand that has the batches of square matrices.
      sizes: What follows the rows and how many matrices there are.
      cost: The multiplications that a matrix takes.
    """
    dtype, n, count = matrices.dtype, matrices.shape[-1], math.prod(matrices.shape[:-2])
    if dtype not in (float32, float64) or not 0 < n <= ROWS or count * dtype.size < 64:
        return None
    units = -(-count * dtype.size // 64)
    work = units * (64 // dtype.size) * (cost // 16 + n * n // 2)
    return Native(f"systems.{kernel}", (dtype.name,), (n, count, *sizes), units, work)


@cache
def memory() -> tuple[int, int]:
    """The addresses of functions that give and take back memory."""
    found = (
        ctypes.cast(function, ctypes.c_void_p).value
        for function in (ctypes.pythonapi.PyMem_RawMalloc, ctypes.pythonapi.PyMem_RawFree)
    )
    allocation, release = (place or 0 for place in found)
    return allocation, release
