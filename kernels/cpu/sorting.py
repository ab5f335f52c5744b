"""Kernels of the order of rows: indices of their first elements; see `arrays`.

An element is compared by its *rank*, an int64: elements of smaller rank come first, and those of
equal rank keep their order. NaN has the largest rank in both directions, and zeros of both signs
have the same. A unit of work is a row of ``x``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types

from ..constants import INSERTED
from ..jit import POINTERS, inline, jit, stack
from .blas import call

number, count_at = POINTERS["int64"], POINTERS["int32"]

LEAST = -(2**63)
BLOCK = 16  # elements that are compared with the last of the best at once
INDEX_MASK = 2**32 - 1
BITS, FEW_BITS, MANY = 11, 8, 1 << 13  # bits of a digit, for at least so many items or for fewer
DIGITS = 8  # the most digits of a rank

_ranks_memory, _indices_memory = stack(8 * INSERTED), stack(8 * INSERTED)
_counts_memory = stack(4 * max(DIGITS << FEW_BITS, -(-64 // BITS) << BITS))


def _rank(dtype: str) -> Any:
    """The function ``rank(x, i, flip)``; ``flip`` is -1 in descending order and else 0."""
    kind = getattr(types, dtype)
    width = kind.bitwidth
    integer, least = POINTERS[f"int{width}"], -(1 << width - 1)
    is_float, is_unsigned = isinstance(kind, types.Float), not getattr(kind, "signed", True)
    magnitude_mask = (1 << width - 1) - 1
    infinity = 0x7F800000 if width == 32 else 0x7FF0000000000000

    def rank_of_float(x_: int, i: int, flip: int) -> int:
        bits = types.int64(integer(x_)[i])
        magnitude = bits & magnitude_mask
        if magnitude == 0:
            bits = types.int64(0)  # that of -0.0 is that of 0.0
        rank = bits ^ ((bits >> (width - 1)) & magnitude_mask) ^ flip
        return magnitude_mask if magnitude > infinity else rank

    def rank_of_int(x_: int, i: int, flip: int) -> int:
        return types.int64(integer(x_)[i]) ^ flip

    def rank_of_unsigned(x_: int, i: int, flip: int) -> int:
        return types.int64(integer(x_)[i]) ^ least ^ flip

    return inline(rank_of_float if is_float else rank_of_unsigned if is_unsigned else rank_of_int)


def few(dtype: str, result: str) -> Any:
    """The first k of each row, at most `INSERTED`, by insertion into a sorted list.

    Parameters: n, k, and whether (1 or 0) the order is descending.
    """
    at, results, rank_of = POINTERS[dtype], POINTERS[result], _rank(dtype)
    size = getattr(types, dtype).bitwidth // 8

    def insert_one(ranks_: int, indices_: int, count: int, rank: int, index: int) -> None:
        """Insert behind the elements of at most the same rank; ``count`` precede the last place."""
        ranks, indices, j = number(ranks_), number(indices_), count
        while j > 0 and ranks[j - 1] > rank:
            ranks[j], indices[j] = ranks[j - 1], indices[j - 1]
            j -= 1
        ranks[j], indices[j] = rank, index

    insert = jit(insert_one)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        n, k, descending = number(parameters)[0], number(parameters)[1], number(parameters)[2]
        ranks_, indices_, flip = _ranks_memory(), _indices_memory(), -descending
        ranks, indices, out = number(ranks_), number(indices_), results(out_)
        for row in range(begin, end):
            start = x_ + row * n * size
            x = at(start)
            for i in range(k):
                insert(ranks_, indices_, i, rank_of(start, i, flip), i)
            last = x[indices[k - 1]]
            for block in range(k, n, BLOCK):
                stop = min(block + BLOCK, n)
                # Any number comes before NaN, but comparisons with it are false.
                is_candidate = last != last or stop < block + BLOCK
                if descending:
                    if stop == block + BLOCK:
                        for j in range(BLOCK):
                            is_candidate |= x[block + j] > last
                elif stop == block + BLOCK:
                    for j in range(BLOCK):
                        is_candidate |= x[block + j] < last
                if is_candidate:
                    for i in range(block, stop):
                        rank = rank_of(start, i, flip)
                        if rank < ranks[k - 1]:
                            insert(ranks_, indices_, k - 1, rank, i)
                    last = x[indices[k - 1]]
            for j in range(k):
                out[row * k + j] = indices[j]

    return kernel


def many(dtype: str, result: str) -> Any:
    """The first k of each row: selected by the digits of their ranks, then sorted by radix.

    An item is a rank and an index. In one word, the rank is in the upper half if it has 32 bits.
    Parameters: n, k, whether the order is descending, and functions that allocate and free memory.
    """
    results, rank_of = POINTERS[result], _rank(dtype)
    size, result_size = (getattr(types, name).bitwidth // 8 for name in (dtype, result))
    words = 2 if size == 8 else 1
    lowest_bit = 0 if words == 2 else 32
    last_word = words - 1

    @inline
    def move(to: int, j: int, items: int, i: int) -> None:
        for word in range(words):
            number(to)[words * j + word] = number(items)[words * i + word]

    def fill_items(items_: int, x_: int, n: int, flip: int) -> None:
        """Write the items of a row. Ranks become unsigned, so that digits order them."""
        items = number(items_)
        for i in range(n):
            rank = rank_of(x_, i, flip)
            items[words * i] = (rank << lowest_bit) ^ LEAST
            items[words * i + last_word] = i if words == 2 else items[words * i] | i

    def select_items(to: int, items_: int, n: int, k: int) -> None:
        """Move the first k of n items, in any order except that equal ranks keep theirs."""
        items, counts = number(items_), count_at(_counts_memory())
        shift, selected, n_candidates = 64, 0, n
        while selected + n_candidates > k and shift > lowest_bit:
            shift -= FEW_BITS
            for digit in range(1 << FEW_BITS):
                counts[digit] = 0
            for i in range(n_candidates):
                counts[(items[words * i] >> shift) & ((1 << FEW_BITS) - 1)] += 1
            bound, before = 0, selected
            while before + counts[bound] < k:
                before += counts[bound]
                bound += 1
            n_equal = 0
            for i in range(n_candidates):
                digit = (items[words * i] >> shift) & ((1 << FEW_BITS) - 1)
                # Both are overwritten unless they belong there.
                move(to, selected, items_, i)
                move(items_, n_equal, items_, i)
                selected += 1 if digit < bound else 0
                n_equal += 1 if digit == bound else 0
            n_candidates = n_equal
        for i in range(k - selected):
            move(to, selected + i, items_, i)

    def sort_items(items_: int, other_: int, n: int) -> int:
        """Sort stably by the digits of the ranks, from the last one; return where the items are."""
        counts = count_at(_counts_memory())
        bits = BITS if n >= MANY else FEW_BITS
        mask, n_digits = (1 << bits) - 1, -(-(64 - lowest_bit) // bits)
        for k in range(n_digits << bits):
            counts[k] = 0
        for i in range(n):
            word = number(items_)[words * i]
            for digit in range(n_digits):
                counts[(digit << bits) + ((word >> (lowest_bit + digit * bits)) & mask)] += 1
        here, there = items_, other_
        for digit in range(n_digits):
            shift, first = lowest_bit + digit * bits, digit << bits
            if counts[first + ((number(here)[0] >> shift) & mask)] < n:  # else all are equal
                total = 0
                for k in range(first, first + mask + 1):
                    count = counts[k]
                    counts[k] = total
                    total += count
                for i in range(n):
                    k = first + ((number(here)[words * i] >> shift) & mask)
                    move(there, types.int64(counts[k]), here, i)
                    counts[k] += 1
                here, there = there, here
        return here

    def find_next(out_: int, x_: int, n: int, k: int, flip: int) -> None:
        """Without memory: for each place, find the first element behind that of the last one."""
        out, last_rank, last_index = results(out_), LEAST, -1
        for j in range(k):
            best_rank, best_index = LEAST, -1
            for i in range(n):
                rank = rank_of(x_, i, flip)
                is_behind = rank > last_rank or (rank == last_rank and i > last_index)
                if is_behind and (best_index < 0 or rank < best_rank):
                    best_rank, best_index = rank, i
            out[j] = best_index
            last_rank, last_index = best_rank, best_index

    fill, select, sort, find = jit(fill_items), jit(select_items), jit(sort_items), jit(find_next)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        p, out = number(parameters), results(out_)
        n, k, flip = p[0], p[1], -p[2]
        first_memory = call(p[3], (16 * words * n,))
        second_memory = first_memory + 8 * words * n
        for row in range(begin, end):
            start = x_ + row * n * size
            if first_memory == 0:
                find(out_ + row * k * result_size, start, n, k, flip)
            else:
                fill(first_memory, start, n, flip)
                items, other = first_memory, second_memory
                if k < n:
                    select(second_memory, first_memory, n, k)
                    items, other = second_memory, first_memory
                sorted_items = number(sort(items, other, k))
                for j in range(k):
                    out[row * k + j] = sorted_items[words * j + last_word] & INDEX_MASK
        call(p[4], (first_memory,))

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {"few": few, "many": many}
