"""Reductions over the threads of a block, and over the partial results of blocks.

The number of blocks depends on the shape alone, and the order of combination on the position of
threads and blocks; so the same values give the same bits in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .target import ALL_LANES, KINDS, THREADS, WARP, cuda, device

if TYPE_CHECKING:
    from ..annotations import Array, Number

# The dtype of a value in a shuffle between threads, which supports only some dtypes.
SHUFFLE_KINDS: dict[str, Any] = {
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


_COMBINE_MAKERS = {"sum": _sum, "max": _max, "min": _min}
COMBINE: dict[str, Any] = {
    f"{name}_{dtype}": device(make(KINDS[dtype]))
    for name, make in _COMBINE_MAKERS.items()
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


def reduce_lanes(name: str, dtype: str, lanes: int) -> Any:
    """A function that combines a value of each of ``lanes`` adjacent threads of a warp.

    All of them get the result.
    """
    combine, kind, shuffle_kind = COMBINE[f"{name}_{dtype}"], KINDS[dtype], SHUFFLE_KINDS[dtype]

    def reduce_value(value: Number) -> Any:
        step = lanes >> 1
        while step > 0:
            value = combine(value, kind(cuda.shfl_xor_sync(ALL_LANES, shuffle_kind(value), step)))
            step >>= 1
        return value

    return device(reduce_value)


def reduce_block(name: str, dtype: str) -> Any:
    """A function that combines a value of each thread of a block; all get the result."""
    kind, warps = KINDS[dtype], THREADS // WARP
    within_warp, across_warps = reduce_lanes(name, dtype, WARP), reduce_lanes(name, dtype, warps)

    def reduce_value(value: Number) -> Any:
        shared = cuda.shared.array(warps, kind)
        thread = cuda.threadIdx.x
        value = within_warp(value)
        if thread % WARP == 0:
            shared[thread // WARP] = value
        cuda.syncthreads()
        value = across_warps(shared[thread % warps])
        cuda.syncthreads()  # before the next call writes to shared memory
        return value

    return device(reduce_value)


def finish(name: str, dtype: str) -> Any:
    """Compute ``out[0]`` from the partial results of ``count`` blocks, in one block."""
    combine = COMBINE[f"{name}_{dtype}"]
    reduce_total = reduce_block(name, dtype)
    initial = identity(name, dtype)

    def kernel(count: int, partials: Array, out: Array) -> None:
        total = initial
        i = cuda.threadIdx.x
        while i < count:
            total = combine(total, partials[i])
            i += THREADS
        total = reduce_total(total)
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
            total, divisor = x[t], unsigned(n)
            out[t] = kind(total // divisor if total >= unsigned(0) else -(-total // divisor))
            t += cuda.gridsize(1)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {"finish": finish, "mean": mean}
