"""Scatter-add: ``out[o, y[i]] += x[o, i]``, the derivative of ``gather``.

Shapes are (outer, size, inner) for ``out`` and (outer, count, inner) for ``x``. A stable radix
sort, least significant digit first, sorts the positions i by index. In this order the slices of
each row of ``out`` are added one by one; so the same values give the same bits in every run. A
separate check rejects out-of-bounds indices; here they sort last, as ``size``, and are skipped.

Long runs of one index are split. If all of a piece of ``PIECE`` sorted positions has one index, the
piece is summed first, and so are ``PIECE`` such pieces, and so on. So no thread adds more than
some hundred slices, however often an index occurs.

If inner is a multiple of 4, a thread processes 4 elements ("lanes"), and inner counts those groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..constants import (
    SCATTER_PIECE_BITS,
    SCATTER_ROUNDS,
    SIMULATED_SCATTER_PIECE_BITS,
    SIMULATED_SCATTER_ROUNDS,
)
from .pieces import index_functions
from .target import (
    ALL_LANES,
    KINDS,
    SIMULATED,
    THREADS,
    WARP,
    add_at,
    add_four_at,
    cuda,
    device,
    load,
    store,
)

if TYPE_CHECKING:
    from ..annotations import Array, Number, Vector

BITS = THREADS.bit_length() - 1  # in a digit: a block has one thread per digit value
WARPS = THREADS // WARP
ROUNDS = SIMULATED_SCATTER_ROUNDS if SIMULATED else SCATTER_ROUNDS
TILE = THREADS * ROUNDS
PIECE_BITS = SIMULATED_SCATTER_PIECE_BITS if SIMULATED else SCATTER_PIECE_BITS
PIECE = 1 << PIECE_BITS

INTEGER, _UINT32 = KINDS["int64"], KINDS["uint32"]


@device
def sort_key(y: Array, i: int, size: int) -> Any:
    """The sort key of position i: its index, or ``size`` if that is out of bounds."""
    index = INTEGER(y[i])
    return index if 0 <= index < size else INTEGER(size)


@device
def key_digit(y: Array, i: int, size: int, shift: int) -> Any:
    """The digit, at bit ``shift``, of the key of position i."""
    return (sort_key(y, i, size) >> shift) & (THREADS - 1)


@device
def count_equal_digits(own_key: int, thread: int) -> tuple[Any, Any]:
    """How many threads of the warp before this one have the same digit, and how many after it."""
    lane = thread % WARP
    matches = ALL_LANES
    for bit in range(BITS + 1):  # one bit more: positions beyond the end have digit THREADS
        own_bit = (own_key >> bit) & 1
        votes = cuda.ballot_sync(ALL_LANES, own_bit != 0)
        matches &= votes ^ (own_bit - 1)
    before = cuda.popc(_UINT32(matches & ((1 << lane) - 1)))
    return before, cuda.popc(_UINT32(matches >> lane >> 1))


def counts() -> Any:
    """``out[d, c]``: how often digit d occurs in chunk c of ``length`` positions."""
    int32 = KINDS["int32"]

    def kernel(
        count: int, size: int, shift: int, length: int, chunks: int, y: Array, out: Array
    ) -> None:
        shared = cuda.shared.array(THREADS, int32)
        thread = cuda.threadIdx.x
        chunk = cuda.blockIdx.x
        while chunk < chunks:
            shared[thread] = 0
            cuda.syncthreads()
            i = chunk * length + thread
            end = min(chunk * length + length, count)
            while i < end:
                cuda.atomic.add(shared, key_digit(y, i, size, shift), 1)
                i += THREADS
            cuda.syncthreads()
            out[thread * chunks + chunk] = shared[thread]
            cuda.syncthreads()
            chunk += cuda.gridDim.x

    return kernel


def order(kind: str) -> Any:
    """Sort keys and positions by a digit; those of digit d and chunk c begin at ``begins[d, c]``.

    ``begins`` is the scan of `counts`. In the first round, keys are the indices and ``positions``
    is not read. A warp processes adjacent elements in rounds, and so counts equal digits before
    each element in its part of a tile.
    """
    number = KINDS[kind]
    int32 = KINDS["int32"]

    def kernel(
        count: int,
        size: int,
        shift: int,
        length: int,
        chunks: int,
        y: Array,
        positions: Array,
        begins: Array,
        keys: Array,
        out: Array,
    ) -> None:
        places = cuda.shared.array((WARPS, THREADS), number)  # by warp and digit
        ranks = cuda.shared.array(TILE, int32)
        thread = cuda.threadIdx.x
        warp = thread // WARP
        start = warp * WARP * ROUNDS + thread % WARP
        chunk = cuda.blockIdx.x
        while chunk < chunks:
            next_place = begins[thread * chunks + chunk]  # of elements with digit ``thread``
            k = chunk * length
            end = min(k + length, count)
            while k < end:
                for w in range(WARPS):
                    places[w, thread] = 0
                cuda.syncthreads()
                for j in range(start, start + ROUNDS * WARP, WARP):
                    d = key_digit(y, k + j, size, shift) if k + j < end else INTEGER(THREADS)
                    n_before, n_after = count_equal_digits(d, thread)
                    rank = 0
                    if k + j < end:
                        rank = INTEGER(places[warp, d]) + n_before
                        ranks[j] = rank
                    cuda.syncwarp()
                    if k + j < end and n_after == 0:
                        places[warp, d] = rank + 1
                    cuda.syncwarp()
                cuda.syncthreads()
                for w in range(WARPS):
                    n_equal = places[w, thread]
                    places[w, thread] = next_place
                    next_place = number(next_place + n_equal)
                cuda.syncthreads()
                for j in range(start, start + ROUNDS * WARP, WARP):
                    if k + j < end:
                        own_key = sort_key(y, k + j, size)
                        target = places[warp, (own_key >> shift) & (THREADS - 1)] + ranks[j]
                        keys[target] = own_key
                        out[target] = positions[k + j] if shift else k + j
                cuda.syncthreads()  # before the next tile writes to shared memory
                k += TILE
            chunk += cuda.gridDim.x

    return kernel


def borders() -> Any:
    """``out[r]``: the begin and end of the sorted positions with index r.

    ``out`` must be zeroed; indices that do not occur keep 0 and 0.
    """

    def kernel(count: int, size: int, keys: Array, out: Array) -> None:
        i = cuda.grid(1)
        while i < count:
            own_key = INTEGER(keys[i])
            if own_key < size:
                if i == 0 or keys[i - 1] != own_key:
                    out[2 * own_key] = i
                if i == count - 1 or keys[i + 1] != own_key:
                    out[2 * own_key + 1] = i + 1
            i += cuda.gridsize(1)

    return kernel


def _element_functions(dtype: str, lanes: str) -> tuple[Any, ...]:
    """Return functions that load, store, add, sum four, and make zeros of ``lanes`` elements."""
    kind = KINDS[dtype]
    zero = kind(0)
    if lanes == "1":

        def load_slice(x: Array, i: int) -> Any:
            return x[i]

        def store_slice(x: Array, i: int, value: Number) -> None:
            x[i] = value

        def add(x: Number, y: Number) -> Any:
            return kind(x + y)

        def zeros() -> Any:
            return zero

        load_slice, store_slice = device(load_slice), device(store_slice)
    else:
        load_slice, store_slice = load, store

        def add(x: Vector, y: Vector) -> Any:
            return kind(x[0] + y[0]), kind(x[1] + y[1]), kind(x[2] + y[2]), kind(x[3] + y[3])

        def zeros() -> Any:
            return zero, zero, zero, zero

    add = device(add)

    def add_four(
        total: Number | Vector, x: Array, begin: int, stride: int, a: int, b: int, c: int, d: int
    ) -> Any:
        slice_a, slice_b = load_slice(x, begin + a * stride), load_slice(x, begin + b * stride)
        slice_c, slice_d = load_slice(x, begin + c * stride), load_slice(x, begin + d * stride)
        return add(add(add(add(total, slice_a), slice_b), slice_c), slice_d)

    return load_slice, store_slice, add, device(add_four), device(zeros)


def partials(dtype: str, lanes: str, size: str) -> Any:
    """``out[o, p]``: the sum of piece p, if all its ``unit`` sorted positions have one index.

    A piece sums ``PIECE`` slices: those of x at ``positions``, or, with ``has_more``, results of
    the level below, which this kernel computed before. x has ``n_below`` slices for each o, from
    ``start`` on. Results are stored from ``begin`` on.
    """
    _, store_slice, _, add_four, zeros = _element_functions(dtype, lanes)
    number, quotient = index_functions(size)

    def kernel(
        n: int,
        pieces: int,
        inner: int,
        inner_factor: int,
        inner_shift: int,
        pieces_factor: int,
        pieces_shift: int,
        unit: int,
        n_below: int,
        has_more: int,
        start: int,
        begin: int,
        size: int,
        keys: Array,
        positions: Array,
        x: Array,
        out: Array,
    ) -> None:
        t = cuda.grid(1)
        while t < n:
            row = quotient(t, inner, inner_factor, inner_shift)
            j = number(t - row * inner)
            o = quotient(row, pieces, pieces_factor, pieces_shift)
            p = number(row - o * pieces)
            index = INTEGER(keys[p * unit])
            if index < size and keys[(p + 1) * unit - 1] == index:
                total = zeros()
                from_o = start + o * n_below * inner + j
                for k in range(INTEGER(p) * PIECE, (INTEGER(p) + 1) * PIECE, 4):
                    if has_more:
                        a, b, c, d = k, k + 1, k + 2, k + 3
                    else:
                        a, b = INTEGER(positions[k]), INTEGER(positions[k + 1])
                        c, d = INTEGER(positions[k + 2]), INTEGER(positions[k + 3])
                    total = add_four(total, x, from_o, inner, a, b, c, d)
                store_slice(out, begin + t, total)
            t += cuda.gridsize(1)

    return kernel


def sums(dtype: str, lanes: str, size: str) -> Any:
    """The sum of each row: of the largest `partials` that fit, and of the remaining slices.

    ``levels`` is the number of levels of pieces, which are stored one after the other.
    """
    load_slice, store_slice, add, add_four, zeros = _element_functions(dtype, lanes)
    number, quotient = index_functions(size)

    def kernel(
        n: int,
        size: int,
        count: int,
        inner: int,
        inner_factor: int,
        inner_shift: int,
        size_factor: int,
        size_shift: int,
        levels: int,
        outer: int,
        positions: Array,
        borders: Array,
        partials: Array,
        x: Array,
        out: Array,
    ) -> None:
        t = cuda.grid(1)
        while t < n:
            row = quotient(t, inner, inner_factor, inner_shift)
            j = number(t - row * inner)
            o = quotient(row, size, size_factor, size_shift)
            r = number(row - o * size)
            k, end = INTEGER(borders[2 * r]), INTEGER(borders[2 * r + 1])
            total = zeros()
            level = 0
            while k < end:
                # Find the largest piece that begins here and ends inside the row.
                while (
                    level < levels
                    and not k & ((PIECE << level * PIECE_BITS) - 1)
                    and (k + (PIECE << level * PIECE_BITS) <= end)
                ):
                    level += 1
                while k + (1 << level * PIECE_BITS) > end:
                    level -= 1
                if level == 0 and not k & 3 and k + 3 < end:  # no piece begins among four
                    a, b = INTEGER(positions[k]), INTEGER(positions[k + 1])
                    c, d = INTEGER(positions[k + 2]), INTEGER(positions[k + 3])
                    total = add_four(total, x, o * count * inner + j, inner, a, b, c, d)
                    k += 3
                elif level == 0:
                    at = INTEGER(positions[k])
                    total = add(total, load_slice(x, (o * count + at) * inner + j))
                else:
                    at = INTEGER(0)
                    for lower_level in range(1, level):
                        at += outer * (count >> lower_level * PIECE_BITS)
                    at += o * (count >> level * PIECE_BITS) + (k >> level * PIECE_BITS)
                    total = add(total, load_slice(partials, at * inner + j))
                k += 1 << level * PIECE_BITS
            store_slice(out, t, total)
            t += cuda.gridsize(1)

    return kernel


def atomic(lanes: str, size: str) -> Any:
    """Add all slices atomically to a zeroed ``out``: the order differs between runs."""
    number, quotient = index_functions(size)
    if lanes == "1":

        def add_slice(out: Array, target: int, x: Array, t: int) -> None:
            add_at(out, target, x[t])
    else:

        def add_slice(out: Array, target: int, x: Array, t: int) -> None:
            add_four_at(out, target, load(x, t))

    add_slice = device(add_slice)

    def kernel(
        n: int,
        size: int,
        count: int,
        inner: int,
        inner_factor: int,
        inner_shift: int,
        count_factor: int,
        count_shift: int,
        y: Array,
        x: Array,
        out: Array,
    ) -> None:
        t = cuda.grid(1)
        while t < n:
            row = quotient(t, inner, inner_factor, inner_shift)
            o = quotient(row, count, count_factor, count_shift)
            target = sort_key(y, number(row - number(o * count)), size)
            if target < size:
                add_slice(out, (o * size + target) * inner + number(t - row * inner), x, t)
            t += cuda.gridsize(1)

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (counts, order, borders, partials, sums, atomic)
}
