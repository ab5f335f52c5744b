"""Scans: running sums along the middle axis of (outer, n, inner).

An axis may be cut into stretches, as reductions cut it: then ``starts`` has what comes before
each of them, and is of shape (outer, stretches, inner). The order of additions depends on the
shape alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .reduce import COMBINE, THREADS, identity
from .target import KINDS, cuda


def columns(name: str, dtype: str) -> Any:
    """A thread takes a column of a stretch."""
    combine, nothing = COMBINE[f"{name}_{dtype}"], identity(name, dtype)

    def kernel(
        outer: Any, n: Any, inner: Any, stretches: Any, exclusive: Any, reverse: Any,
        x: Any, starts: Any, out: Any,
    ) -> None:  # fmt: skip
        length = (n + stretches - 1) // stretches
        t = cuda.grid(1)
        while t < outer * stretches * inner:
            i = t % inner
            rest = t // inner
            s = rest % stretches
            o = rest // stretches
            begin = s * length
            end = min(begin + length, n)
            found = starts[t] if stretches > 1 else nothing
            k = begin
            while k < end:
                j = begin + end - 1 - k if reverse else k
                at = (o * n + j) * inner + i
                value = x[at]
                if exclusive:
                    out[at] = found
                found = combine(found, value)
                if not exclusive:
                    out[at] = found
                k += 1
            t += cuda.gridsize(1)

    return kernel


def rows(name: str, dtype: str) -> Any:
    """A block takes a stretch of a row, for an inner axis of 1: as many elements as it has threads.

    In each round thread t knows the sum of the last 2, 4, 8, ... elements up to its own, until
    they are all; what went before is carried along.
    """
    combine, nothing = COMBINE[f"{name}_{dtype}"], identity(name, dtype)
    kind = KINDS[dtype]

    def kernel(
        outer: Any, n: Any, stretches: Any, exclusive: Any, reverse: Any,
        x: Any, starts: Any, out: Any,
    ) -> None:  # fmt: skip
        shared = cuda.shared.array(THREADS, kind)
        thread = cuda.threadIdx.x
        length = (n + stretches - 1) // stretches
        unit = cuda.blockIdx.x
        while unit < outer * stretches:
            begin = unit % stretches * length
            end = min(begin + length, n)
            row = unit // stretches * n
            carry = starts[unit] if stretches > 1 else nothing
            k = begin
            while k < end:
                mine = k + thread
                at = row + (begin + end - 1 - mine if reverse else mine)
                shared[thread] = x[at] if mine < end else nothing
                cuda.syncthreads()
                step = 1
                while step < THREADS:
                    before = shared[thread - step] if thread >= step else nothing
                    cuda.syncthreads()  # before somebody writes what another one reads
                    shared[thread] = combine(before, shared[thread])
                    cuda.syncthreads()
                    step *= 2
                if mine < end:
                    if not exclusive:
                        out[at] = combine(carry, shared[thread])
                    elif thread:
                        out[at] = combine(carry, shared[thread - 1])
                    else:
                        out[at] = carry
                carry = combine(carry, shared[THREADS - 1])
                cuda.syncthreads()
                k += THREADS
            unit += cuda.gridDim.x

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (rows, columns)
}
