"""Adding slices up by their indices: ``out[o, y[i]] += x[o, i]``, the derivative of ``gather``.

Shapes are (outer, size, inner) for ``out`` and (outer, count, inner) for ``x``. The positions i
are sorted by their index, stably: a digit at a time, the last one first. In this order each
row of ``out`` adds up its slices, one after the other; so the same values give the same bits in
every run. Bad indices were, or will be, refused: they come last, as ``size``, and nothing is
added for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .reduce import THREADS
from .target import KINDS, SIMULATED, add_at, cuda, device

BITS = THREADS.bit_length() - 1  # of a digit: a block has a thread for each value
GROUP = 4 if SIMULATED else 32  # threads that look at each other's digits
GROUPS = THREADS // GROUP

INTEGER = KINDS["int64"]


@device
def key(y: Any, i: Any, size: Any) -> Any:
    """What to sort position i by."""
    found = INTEGER(y[i])
    return found if 0 <= found < size else INTEGER(size)


@device
def digit(y: Any, positions: Any, i: Any, size: Any, shift: Any) -> Any:
    """The digit of what is in place i; in the first round everything is in its own."""
    return (key(y, positions[i] if shift else i, size) >> shift) & (THREADS - 1)


def counts() -> Any:
    """``out[d, c]``: how often digit d is in chunk c of the ``count`` places."""
    small = KINDS["int32"]

    def kernel(
        count: Any, size: Any, shift: Any, chunks: Any, y: Any, positions: Any, out: Any
    ) -> None:
        shared = cuda.shared.array(THREADS, small)
        thread = cuda.threadIdx.x
        length = (count + chunks - 1) // chunks
        chunk = cuda.blockIdx.x
        while chunk < chunks:
            shared[thread] = 0
            cuda.syncthreads()
            i = chunk * length + thread
            end = min(chunk * length + length, count)
            while i < end:
                cuda.atomic.add(shared, digit(y, positions, i, size, shift), 1)
                i += THREADS
            cuda.syncthreads()
            out[thread * chunks + chunk] = shared[thread]
            cuda.syncthreads()
            chunk += cuda.gridDim.x

    return kernel


def order() -> Any:
    """The positions sorted by a digit; ``begins[d, c]`` is where those of `counts` begin."""
    small = KINDS["int32"]

    def kernel(
        count: Any, size: Any, shift: Any, chunks: Any, y: Any, positions: Any, begins: Any,
        out: Any,
    ) -> None:  # fmt: skip
        digits = cuda.shared.array(THREADS, small)
        places = cuda.shared.array((GROUPS, THREADS), INTEGER)  # by group and digit
        thread = cuda.threadIdx.x
        group = thread // GROUP
        length = (count + chunks - 1) // chunks
        chunk = cuda.blockIdx.x
        while chunk < chunks:
            place = begins[thread * chunks + chunk]  # of the next one with digit ``thread``
            k = chunk * length
            end = min(k + length, count)
            while k < end:
                i = k + thread
                mine = digit(y, positions, i, size, shift) if i < end else INTEGER(THREADS)
                digits[thread] = mine
                for g in range(GROUPS):
                    places[g, thread] = 0
                cuda.syncthreads()
                before, behind = 0, 0  # in the group, with the same digit
                for other in range(group * GROUP, group * GROUP + GROUP):
                    if digits[other] == mine:
                        if other < thread:
                            before += 1
                        elif other > thread:
                            behind += 1
                if i < end and behind == 0:
                    places[group, mine] = before + 1
                cuda.syncthreads()
                for g in range(GROUPS):
                    here = places[g, thread]
                    places[g, thread] = place
                    place += here
                cuda.syncthreads()
                if i < end:
                    out[places[group, mine] + before] = positions[i] if shift else i
                cuda.syncthreads()  # before somebody writes there again
                k += THREADS
            chunk += cuda.gridDim.x

    return kernel


def begins() -> Any:
    """``out[r]``: the first sorted place whose index is r or more, for r up to ``size``."""

    def kernel(count: Any, size: Any, y: Any, positions: Any, out: Any) -> None:
        r = cuda.grid(1)
        while r <= size:
            low, high = INTEGER(0), INTEGER(count)
            while low < high:
                middle = (low + high) // 2
                if key(y, positions[middle], size) < r:
                    low = middle + 1
                else:
                    high = middle
            out[r] = low
            r += cuda.gridsize(1)

    return kernel


def partials(dtype: str) -> Any:
    """``out[o, p]``: what the row that piece p ends in adds up of it, if the row goes on.

    A piece is ``length`` sorted places. There is none behind the last of the ``pieces``.
    """
    kind = KINDS[dtype]

    def kernel(
        outer: Any, size: Any, count: Any, inner: Any, length: Any, pieces: Any,
        y: Any, positions: Any, begins: Any, x: Any, out: Any,
    ) -> None:  # fmt: skip
        t = cuda.grid(1)
        while t < outer * pieces * inner:
            j = t % inner
            rest = t // inner
            o = rest // pieces
            end = (rest % pieces + 1) * length
            row = key(y, positions[end - 1], size)
            if row < size and begins[row + 1] > end:
                k = max(begins[row], end - length)
                found = kind(0)
                while k < end:
                    found = kind(found + x[(o * count + positions[k]) * inner + j])
                    k += 1
                out[t] = found
            t += cuda.gridsize(1)

    return kernel


def sums(dtype: str) -> Any:
    """The sum of each row: of `partials` where it goes beyond a piece, and of what is left."""
    kind = KINDS[dtype]

    def kernel(
        outer: Any, size: Any, count: Any, inner: Any, length: Any, pieces: Any,
        positions: Any, begins: Any, partials: Any, x: Any, out: Any,
    ) -> None:  # fmt: skip
        t = cuda.grid(1)
        while t < outer * size * inner:
            j = t % inner
            rest = t // inner
            row = rest % size
            o = rest // size
            k, end = begins[row], begins[row + 1]
            found = kind(0)
            while k < end:
                piece = k // length
                if (piece + 1) * length < end:
                    found = kind(found + partials[(o * pieces + piece) * inner + j])
                    k = (piece + 1) * length
                else:
                    found = kind(found + x[(o * count + positions[k]) * inner + j])
                    k += 1
            out[t] = found
            t += cuda.gridsize(1)

    return kernel


def atomic() -> Any:
    """Everything is added as it comes, to zeros: the order is another one in every run."""

    def kernel(outer: Any, size: Any, count: Any, inner: Any, y: Any, x: Any, out: Any) -> None:
        t = cuda.grid(1)
        while t < outer * count * inner:
            j = t % inner
            rest = t // inner
            row = key(y, rest % count, size)
            if row < size:
                add_at(out, (rest // count * size + row) * inner + j, x[t])
            t += cuda.gridsize(1)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (counts, order, begins, partials, sums, atomic)
}
