"""Random numbers on the CPU. Threads share the work of large arrays."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from ...kernels.constants import CHUNKS_PER_THREAD, RANDOM_BLOCK, RANDOM_UNIT
from .. import settings
from ..compile.array_kernels import random_kernel
from ..compile.passes import Block
from ..values.memory import LARGE_BYTES, Array, address_of
from ..values.spec import Spec
from .buffers import POOL
from .workers import share, watch

UNIT = RANDOM_UNIT * RANDOM_BLOCK  # bytes of a unit of work
MIN_THREAD_UNITS = 64  # units that justify a thread: some 0.07 ms of work; waking one takes 0.02 ms
LONG_UNITS = 1 << 14  # units that take some 0.1 s: the caller must receive interrupts meanwhile

_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64)


@cache
def _kernel(name: str, dtype: str) -> tuple[int, Any]:
    """The address of a kernel, and a Python function that calls it."""
    address = random_kernel(name, dtype)
    function = _KERNEL(address)
    # Converted here, not by ctypes; see `_KEEPS_GIL` in `compile.passes`.
    return address, lambda *arguments: function(*map(ctypes.c_int64, arguments))


def compute_drawn(name: str, key: list[int], spec: Spec) -> Array:
    """An array of random numbers, the same on any number of threads; see `CpuExecutor.draw`."""
    out = POOL.empty(spec)
    parameters = np.array([*key, spec.size], np.uint64)
    units = -(-out.nbytes // UNIT)
    address, function = _kernel(name, spec.dtype.name)
    threads = min(settings.threads(), units // MIN_THREAD_UNITS)
    if threads > 1 or units > LONG_UNITS:
        _draw_in_threads(address, out, parameters, units, threads)
    else:
        function(address_of(out), 0, 0, 0, address_of(parameters), 0, units)
    if out.nbytes >= LARGE_BYTES:
        POOL.count_run()  # so that a program that only draws frees memory, too
    return out


def _draw_in_threads(address: int, out: Array, parameters: Array, units: int, threads: int) -> None:
    counter = np.zeros(8, np.int64)  # one cache line
    arguments = {
        "function": address,
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
