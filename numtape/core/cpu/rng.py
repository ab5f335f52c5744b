"""Random numbers on the CPU. Threads share the work of large arrays."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...kernels.constants import CHUNKS_PER_THREAD, RANDOM_BLOCK, RANDOM_UNIT
from .. import settings
from ..compile.array_kernels import random_kernel
from ..compile.passes import Block
from ..reference.draws import LARGE, Entropy
from ..values.memory import LARGE_BYTES, Array, address_of
from ..values.spec import Spec
from .buffers import POOL
from .workers import share, watch

UNIT = RANDOM_UNIT * RANDOM_BLOCK  # bytes of a unit of work
MIN_THREAD_UNITS = 64  # units that justify a thread: some 0.07 ms of work; waking one takes 0.02 ms
LONG_UNITS = 1 << 14  # units that take some 0.1 s: the caller must receive interrupts meanwhile

_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64)


class DrawKernel(NamedTuple):
    """How a kernel computes a draw.

    Attributes:
      words: The parameters of `kernels.cpu.random.drawn` after the entropy.
      units: The number of units, which threads may share.
      work: The work of all of them, as a number of units of random floats.
    """

    words: tuple[int, int, int, int]
    units: int
    work: int

    def compute(self, entropy: Entropy, spec: Spec) -> Array:
        """Return the numbers, the same on any number of threads."""
        out, units = POOL.empty(spec), self.units
        parameters = np.array([*entropy, *self.words], np.int64)
        threads = min(settings.threads(), units // MIN_THREAD_UNITS)
        if threads > 1 or units > LONG_UNITS:
            _draw_in_threads(out, parameters, units, threads)
        else:
            _drawn()(address_of(out), 0, 0, 0, address_of(parameters), 0, units)
        if out.nbytes >= LARGE_BYTES:
            POOL.count_run()  # so that a program that only draws frees memory, too
        return out


@cache
def _drawn() -> Any:
    """A Python function that calls `kernels.cpu.random.drawn`."""
    function = _KERNEL(random_kernel("drawn", ()))
    # Converted here, not by ctypes; see `_KEEPS_GIL` in `compile.passes`.
    return lambda *arguments: function(*map(ctypes.c_int64, arguments))


def kernel_of(name: str, spec: Spec, parameters: tuple[Any, ...]) -> DrawKernel | None:
    """Return the kernel of a draw; None if NumPy must compute it. See `core.reference.draws`."""
    dtype, size = spec.dtype, spec.size
    if name in ("uniform", "normal") and dtype.size > 2:
        units = -(-size * dtype.size // UNIT)
        return DrawKernel((random_kernel(name, (dtype.name,)), size, 0, 0), units, units)
    if name == "state":
        return DrawKernel((random_kernel(name, ()), 0, 0, 0), 1, 1)
    work = -(-size // RANDOM_UNIT)
    if name == "permutation" and size <= LARGE:
        return DrawKernel((random_kernel(name, ()), size, 0, 0), 1, work)
    if name == "integers" and dtype.size >= 4:
        low, high = parameters
        limits = np.iinfo(dtype.numpy_dtype)
        if type(low) is type(high) is int and limits.min <= low < high <= limits.max + 1:
            words = (size, _to_int64(low), _to_int64(high - 1 - low))
            return DrawKernel((random_kernel(name, (dtype.name,)), *words), 1, work)
    return None


def _to_int64(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _draw_in_threads(out: Array, parameters: Array, units: int, threads: int) -> None:
    counter = np.zeros(8, np.int64)  # one cache line
    arguments = {
        "function": random_kernel("drawn", ()),
        "out": address_of(out),
        "parameters": address_of(parameters),
        "total": units,
        "counter": address_of(counter),
        "chunk": min(units // (CHUNKS_PER_THREAD * threads), LONG_UNITS),
    }
    blocks = [Block("run_units") for _ in range(threads)]
    for block in blocks:
        for name, value in arguments.items():
            block.set[block.slots[name]] = value
    calls, keeps = [block.call_without_gil for block in blocks], (out, parameters, counter, blocks)
    if units > LONG_UNITS:
        watch(calls, keeps, [], lambda: counter.fill(1 << 62))
    else:
        share(calls, keeps, [])
