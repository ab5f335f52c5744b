"""Loads elements of an array that is broadcast to another shape."""

from __future__ import annotations

from ..jit import POINTERS, copy16, copy32, copy64, fill16, fill32, fill64, loop
from ..passes.tables import I64

u8, u16, u32, i64 = (POINTERS[name] for name in ("uint8", "uint16", "uint32", "int64"))

# Rows are written as vectors of at most 64 bytes, the last of which overlaps the one before.


@loop
def copy_row(out: int, x: int, size: int, rows: int) -> None:
    """Write ``rows`` copies of the ``size`` bytes at ``x`` one after the other."""
    for _ in range(rows):
        if size >= 64:
            k = 0
            while k < size - 64:
                copy64(out + k, x + k)
                k += 64
            copy64(out + size - 64, x + size - 64)
        elif size >= 32:
            copy32(out, x)
            copy32(out + size - 32, x + size - 32)
        elif size >= 16:
            copy16(out, x)
            copy16(out + size - 16, x + size - 16)
        elif size >= 8:
            first = i64(x)[0]
            last = i64(x + size - 8)[0]
            i64(out)[0] = first
            i64(out + size - 8)[0] = last
        else:
            for k in range(size):
                u8(out)[k] = u8(x)[k]
        out += size


@loop
def _repeated_word(x: int, itemsize: int) -> int:
    """A word of copies of the element at ``x``."""
    if itemsize == 8:
        return i64(x)[0]
    if itemsize == 4:
        return u32(x)[0] * 0x1_0000_0001
    if itemsize == 2:
        return u16(x)[0] * 0x1_0001_0001_0001
    return u8(x)[0] * 0x101_0101_0101_0101


@loop
def repeat_elements(out: int, x: int, itemsize: int, size: int, rows: int) -> None:
    """Fill ``size`` bytes with each of ``rows`` elements at ``x``."""
    for _ in range(rows):
        word = _repeated_word(x, itemsize)
        if size >= 64:
            k = 0
            while k < size - 64:
                fill64(out + k, word)
                k += 64
            fill64(out + size - 64, word)
        elif size >= 32:
            fill32(out, word)
            fill32(out + size - 32, word)
        elif size >= 16:
            fill16(out, word)
            fill16(out + size - 16, word)
        elif size >= 8:
            i64(out)[0] = word
            i64(out + size - 8)[0] = word
        else:
            for k in range(size):
                u8(out)[k] = u8(x)[k % itemsize]
        out += size
        x += itemsize


@loop
def _is_repeated(axis: int, dims: I64, source_start: int, source_rank: int) -> bool:
    """Whether the source has one element, or no axis, for an axis counted from the end."""
    return axis >= source_rank or dims[source_start + source_rank - 1 - axis] == 1


@loop
def _merge_axes(
    axis: int, dims: I64, rank: int, dims_start: int, source_rank: int, source_start: int
) -> tuple[int, int, bool]:
    """Merge axes from ``axis`` (from the end) on that are all repeated, or all in the source.

    Returns the axis after them, their size, and whether they are repeated.
    """
    size, is_repeated = 1, False
    while axis < rank:
        dim = dims[dims_start + rank - 1 - axis]
        if dim != 1:
            repeats = _is_repeated(axis, dims, source_start, source_rank)
            if size == 1:
                is_repeated = repeats
            elif repeats != is_repeated:
                break
            size *= dim
        axis += 1
    return axis, size, is_repeated


@loop
def load_broadcast(
    target: int,
    source: int,
    itemsize: int,
    start: int,
    n: int,
    dims: I64,
    rank: int,
    dims_start: int,
    source_rank: int,
    source_start: int,
) -> None:
    """Load elements ``start : start + n`` of an array broadcast to another shape.

    An axis is repeated if the source has one element along it, or no such axis. The last axes that
    are all repeated, or all not, form a run; the axes before them, of the other kind, repeat or
    continue it, and form a chunk, whose place in the source is computed once. The shapes start at
    ``dims_start`` and ``source_start`` in ``dims``.
    """
    axis, inner, is_inner_repeated = _merge_axes(
        0, dims, rank, dims_start, source_rank, source_start
    )
    first_axis, outer, _ = _merge_axes(axis, dims, rank, dims_start, source_rank, source_start)
    chunk = inner * outer
    length = outer if is_inner_repeated else inner  # of a chunk, in the source
    chunk_index, position = start // chunk, start % chunk
    n_written = 0
    while n_written < n:
        outer_index, offset, stride = chunk_index, 0, length
        for axis in range(first_axis, source_rank):
            dim = dims[dims_start + rank - 1 - axis]
            if not _is_repeated(axis, dims, source_start, source_rank):
                offset += outer_index % dim * stride
                stride *= dim
            outer_index //= dim
        end = n_written + min(chunk - position, n - n_written)
        while n_written < end:  # a part of a run, runs, a part of a run
            run, column = position // inner, position % inner
            runs = 1
            size = min(inner - column, end - n_written)
            if size == inner:
                runs = (end - n_written) // inner
            out = target + n_written * itemsize
            if is_inner_repeated:
                x = source + (offset + run) * itemsize
                repeat_elements(out, x, itemsize, size * itemsize, runs)
            else:
                copy_row(out, source + (offset + column) * itemsize, size * itemsize, runs)
            n_written += size * runs
            position += size * runs
        position = 0
        chunk_index += 1
