"""Reductions over the threads of a block, and over the partial results of blocks.

The number of blocks depends on the shape alone, and the order of combination on the position of
threads and blocks; so the same values give the same bits in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .target import ALL, KINDS, THREADS, WARP, cuda, device

if TYPE_CHECKING:
    from ..annotations import Array, Number

# The dtype of a value in a shuffle between threads, which supports only some dtypes.
SENT: dict[str, Any] = {
    name: KINDS[name if name.startswith("float") else "int64" if "64" in name else "int32"]
    for name in KINDS
}


def _sum(kind: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: kind(x + y)


def _max(kind: Callable[..., Any]) -> Callable[..., Any]:
    # Propagates NaN, for which all comparisons are false.
    return lambda x, y: y if y > x else (x if x >= y else kind(x + y))


def _min(kind: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: y if y < x else (x if x <= y else kind(x + y))


_MAKERS = {"sum": _sum, "max": _max, "min": _min}
COMBINE: dict[str, Any] = {
    f"{name}_{dtype}": device(make(KINDS[dtype]))
    for name, make in _MAKERS.items()
    for dtype in KINDS
    if dtype != "bool"
}


def identity(name: str, dtype: str) -> Any:
    """The identity element of a reduction, as a NumPy scalar."""
    kind: Any = getattr(np, dtype)
    if name == "sum":
        return kind(0)
    if dtype.startswith("float"):
        return kind({"max": -np.inf, "min": np.inf}[name])
    limits = np.iinfo(kind)
    return kind({"max": limits.min, "min": limits.max}[name])


def across(name: str, dtype: str, lanes: int) -> Any:
    """A function that combines a value of each of ``lanes`` adjacent threads of a warp.

    All of them get the result.
    """
    combine, kind, sent = COMBINE[f"{name}_{dtype}"], KINDS[dtype], SENT[dtype]

    def among(value: Number) -> Any:
        step = lanes >> 1
        while step > 0:
            value = combine(value, kind(cuda.shfl_xor_sync(ALL, sent(value), step)))
            step >>= 1
        return value

    return device(among)


def together(name: str, dtype: str) -> Any:
    """A function that combines a value of each thread of a block; all get the result."""
    kind, warps = KINDS[dtype], THREADS // WARP
    inside, between = across(name, dtype, WARP), across(name, dtype, warps)

    def block(value: Number) -> Any:
        shared = cuda.shared.array(warps, kind)
        thread = cuda.threadIdx.x
        value = inside(value)
        if thread % WARP == 0:
            shared[thread // WARP] = value
        cuda.syncthreads()
        value = between(shared[thread % warps])
        cuda.syncthreads()  # before the next call writes to shared memory
        return value

    return device(block)


def finish(name: str, dtype: str) -> Any:
    """Compute ``out[0]`` from the partial results of ``count`` blocks, in one block."""
    combine, block, start = COMBINE[f"{name}_{dtype}"], together(name, dtype), identity(name, dtype)

    def kernel(count: int, partials: Array, out: Array) -> None:
        total = start
        i = cuda.threadIdx.x
        while i < count:
            total = combine(total, partials[i])
            i += THREADS
        total = block(total)
        if cuda.threadIdx.x == 0:
            out[0] = total

    return kernel


def mean(dtype: str) -> Any:
    """``out[k] = x[k] / n``, the mean of ``n`` integers with sum ``x[k]``, rounded towards 0."""
    kind = KINDS[dtype]
    unsigned = KINDS["uint64" if dtype == "uint64" else "int64"]

    def kernel(count: int, n: int, x: Array, out: Array) -> None:
        t = cuda.grid(1)
        while t < count:
            total, many = x[t], unsigned(n)
            out[t] = kind(total // many if total >= unsigned(0) else -(-total // many))
            t += cuda.gridsize(1)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {"finish": finish, "mean": mean}
