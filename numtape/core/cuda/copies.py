"""Source text of copy kernels: strided copies, padding, transposes, gathers by static indices.

Sizes are literals, so that the compiler turns divisions into multiplications. If all indices are
below 2**31, divisions have 32 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..settings import simulated
from .codegen import each

Axes = tuple[tuple[int, ...], tuple[int, ...]]  # a shape and strides


def _digits(t: str, sizes: Sequence[int], small: bool, name: str) -> tuple[list[str], list[str]]:
    """Lines that split ``t`` into an index for each axis, and these indices, the last one first.

    Divisors are literals, so that the compiler turns divisions into multiplications.
    """
    kind = "uint32" if small else "int64"
    lines, indices = [f"        {name}0 = {kind}({t})"], []
    for k, size in enumerate(sizes[::-1]):
        if k == len(sizes) - 1:
            indices.append(f"int64({name}{k})")
        else:
            rest = f"{name}{k + 1}"
            lines.append(f"        {rest} = {kind}({name}{k} // {kind}({size}))")
            indices.append(f"int64({kind}({name}{k} - {rest} * {kind}({size})))")
    return lines, indices


def _sum(indices: Sequence[str], strides: Sequence[int], begin: str = "") -> str:
    """The offset of an element: ``begin`` plus the indices times ``strides``."""
    terms = [begin] * bool(begin) + [
        index if stride == 1 else f"({index}) * int64({stride})"
        for index, stride in zip(indices, strides, strict=True)
        if stride
    ]
    return " + ".join(terms) or "int64(0)"


def strided_copy_source(
    shape: Sequence[int],
    strides: Sequence[int],
    offset: int | None,
    into: bool,
    vector: bool = False,
) -> str:
    """The text of a ``kernel(n, out, x)`` that copies an array of ``shape``.

    One side is strided, with ``strides`` and ``offset``: ``x``, or ``out`` with ``into``. The other
    side is contiguous. Without an offset it is a ``kernel(n, out, x, begin)``, which reads the
    offset from ``begin``. With ``vector``, an element is four elements of the arrays.
    """
    lines = _four((shape, strides), offset, into, vector, ("out", "x"), "begin[0]")
    return _text("out, x" if offset is not None else "out, x, begin", lines)


def either(narrow: Axes, wide: Axes, ratio: int, into: bool, vector: bool) -> str:
    """The text of a ``kernel(n, out, x, begin, wide_out, wide_x)``: two strided copies.

    If ``begin`` is a multiple of ``ratio``, elements are copied ``ratio`` at a time through the
    wide arrays. The grid is sized for that; in the other case, blocks loop until all is copied.
    """
    begin = f"begin[0] // int64({ratio})"
    aligned = _four(wide, None, into, vector, ("wide_out", "wide_x"), begin)
    other = _four(narrow, None, into, False, ("out", "x"), "begin[0]", is_loop=True)
    lines = [f"    if begin[0] % int64({ratio}) == 0:", *(f"    {line}" for line in aligned)]
    lines += ["    else:", *(f"    {line}" for line in other)]
    return _text("out, x, begin, wide_out, wide_x", lines)


def _loop_keyword() -> str:
    """Return "while" if blocks must loop. A GPU's grid covers everything, so "if" suffices."""
    return "while" if simulated() else "if"


def _text(arrays: str, lines: Sequence[str]) -> str:
    return "\n".join((f"def kernel(n, {arrays}):", *lines)) + "\n"


def _four(
    axes: tuple[Sequence[int], Sequence[int]],
    offset: int | None,
    into: bool,
    vector: bool,
    arrays: tuple[str, str],
    begin: str,
    is_loop: bool = False,
) -> list[str]:
    """Lines of a copy kernel; see `strided_copy_source`. With ``is_loop``, blocks loop."""
    (shape, strides), (out, x) = axes, arrays
    count = math.prod(shape)

    def part(k: int, t: str) -> tuple[list[str], str, str]:
        lines, indices = _digits(t, shape, count < 1 << 31, f"q{k}")
        there = _sum(indices[::-1], strides, begin if offset is None else f"int64({offset})")
        source, target = (t, there) if into else (there, f"t{k}")
        return lines, _read(vector, x, source), _write(vector, out, target, f"v{k}")

    return _fours(count, part, is_loop)


def _read(vector: bool, x: str, at: str) -> str:
    return f"load4({x}, {at})" if vector else f"{x}[{at}]"


def _write(vector: bool, out: str, at: str, value: str) -> str:
    return f"store4({out}, {at}, {value})" if vector else f"{out}[{at}] = {value}"


def _fours(
    count: int, part: Callable[[int, str], tuple[list[str], str, str]], is_loop: bool = False
) -> list[str]:
    """Lines of a kernel in which each thread reads four of ``count`` elements, then writes them.

    ``part(k, t)`` gives lines, the expression that reads element ``t``, and the statement that
    stores ``v{k}`` as element ``t{k}``.
    """
    lines = [
        f"    count = int64({count})",
        "    t0 = int64(cuda.blockIdx.x) * (4 * cuda.blockDim.x) + cuda.threadIdx.x",
        f"    {'while' if is_loop else _loop_keyword()} t0 < count:",
    ]
    lines += [f"        t{k} = t0 + {k} * cuda.blockDim.x" for k in range(1, 4)]
    reads, writes = [], []
    for k in range(4):
        # Beyond the end, threads read the last element, so that no read waits for a branch.
        part_lines, read, write = part(k, f"min(t{k}, count - 1)" if k else "t0")
        lines += [f"        {line.strip()}" for line in part_lines]
        reads.append(f"        v{k} = {read}")
        writes.append(f"        if t{k} < count: {write}" if k else f"        {write}")
    after = "        t0 += int64(cuda.gridDim.x) * (4 * cuda.blockDim.x)"
    return [*lines, *reads, *writes, after]


class Padding(NamedTuple):
    """An axis of a padded array: its size, the zeros before, and the elements between zeros."""

    size: int
    before: int
    inside: int


def padding_source(axes: Sequence[Padding], dtype: str, vector: bool) -> str:
    """The text of a ``kernel(n, out, x)`` that pads ``x`` with zeros; see `strided_copy_source`."""
    sizes = [axis.size for axis in axes]
    strides = [math.prod(axis.inside for axis in axes[k + 1 :]) for k in range(len(axes))]
    count = math.prod(sizes)

    def part(k: int, t: str) -> tuple[list[str], str, str]:
        lines, indices = _digits(t, sizes, count < 1 << 31, f"q{k}")
        indexed_axes = list(zip(axes, indices[::-1], strict=True))
        lines += [
            f"i{k}_{m} = {index} - {axis.before}" for m, (axis, index) in enumerate(indexed_axes)
        ]
        inside = [f"0 <= i{k}_{m} < {axis.inside}" for m, axis in enumerate(axes)]
        lines.append(f"in{k} = {' and '.join(inside)}")
        # In the padding, threads read the first element, so that no read waits for a branch.
        at = _sum([f"i{k}_{m}" for m in range(len(axes))], strides)
        lines.append(f"at{k} = ({at}) if in{k} else int64(0)")
        values = [f"v{k}[{lane}]" for lane in range(4)] if vector else [f"v{k}"]
        value = ", ".join(f"{v} if in{k} else zero" for v in values)
        return lines, _read(vector, "x", f"at{k}"), _write(vector, "out", f"t{k}", f"({value})")

    return _text("out, x", [f"    zero = {dtype}(0)", *_fours(count, part)])


class Tile(NamedTuple):
    """The tile that a block transposes through shared memory; see `transpose_source`."""

    rows: int
    columns: int
    threads: int


def transpose_source(
    shape: Sequence[int], strides: Sequence[int], axis: int, tile: Tile, dtype: str
) -> str:
    """The text of a ``kernel(n, out, x)`` that transposes an array with a stride of 1.

    ``axis``, not the last one, has stride 1: its elements are adjacent in ``x``, those of the last
    axis in ``out``. Blocks read and write rows of tiles, so both sides are coalesced. Tile rows in
    shared memory are padded by one element to avoid bank conflicts. There are ``n`` tiles.
    """
    rows, columns, threads = tile
    width, height, down = shape[axis], shape[-1], strides[-1]
    separate = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    along = separate[axis]
    others = [k for k in range(len(shape) - 1) if k != axis]
    sizes = [*(shape[k] for k in others), -(-height // rows), -(-width // columns)]
    lines, (column, row, *rest) = _digits("tile", sizes, math.prod(sizes) < 1 << 31, "q")
    rest.reverse()
    area, side = rows * columns, columns + 1
    four = [(f"v{j}", f"(k + {j * threads})") for j in range(4)]
    at = f"uint32(kept + {{0}} // {columns} * {side} + {{0}} % {columns})"
    far = f"{{0}} // {columns} * int64({down}) + {{0}} % {columns}"
    steps, paces = [strides[k] for k in others], [separate[k] for k in others]
    lines = [
        f"    shared = cuda.shared.array({rows * side}, {dtype})",
        "    thread = cuda.threadIdx.x",
        f"    r, c = thread // {columns}, thread % {columns}",  # in the rows of x
        f"    d, e = thread // {rows}, thread % {rows}",  # in those of out
        f"    kept, given = r * {side} + c, e * {side} + d",
        "    tile = int64(cuda.blockIdx.x)",
        f"    {_loop_keyword()} tile < n:",
        *lines,
        f"        a, b = {column} * int64({columns}), {row} * int64({rows})",
        f"        here = {_sum(['b + r', 'a + c', *rest], [down, 1, *steps])}",
        f"        there = {_sum(['a + d', 'b + e', *rest], [along, 1, *paces])}",
        f"        if a <= int64({width - columns}) and b <= int64({height - rows}):",
        f"            for k in range(0, {area}, {4 * threads}):",
        *(f"                {v} = x[here + {far.format(k)}]" for v, k in four),
        *(f"                shared[{at.format(k)}] = {v}" for v, k in four),
        "            cuda.syncthreads()",
        f"            for k in range(0, {area}, {threads}):",
        f"                value = shared[uint32(given + k % {rows} * {side} + k // {rows})]",
        f"                out[there + k // {rows} * int64({along}) + k % {rows}] = value",
        "        else:",
        f"            for k in range(0, {area}, {threads}):",
        f"                i, j = k // {columns}, k % {columns}",
        f"                if a + c + j < int64({width}) and b + r + i < int64({height}):",
        f"                    value = x[here + i * int64({down}) + j]",
        f"                    shared[uint32(kept + i * {side} + j)] = value",
        "            cuda.syncthreads()",
        f"            for k in range(0, {area}, {threads}):",
        f"                i, j = k // {rows}, k % {rows}",
        f"                if a + d + i < int64({width}) and b + e + j < int64({height}):",
        f"                    value = shared[uint32(given + j * {side} + i)]",
        f"                    out[there + i * int64({along}) + j] = value",
        "        cuda.syncthreads()",
        "        tile += cuda.gridDim.x",
    ]
    return _text("out, x", lines)


def _joined_index(pieces: Sequence[tuple[int, int, int]], k: str) -> str:
    """The expression for index ``k`` of the pieces; see `gather_source`."""
    text, end = "", sum(length for length, _, _ in pieces)
    for length, start, step in reversed(pieces):
        begin = end - length
        index = f"int64({start - step * begin}) {'+' if step > 0 else '-'} {k}"
        text = f"({index}) if {k} < int64({end}) else ({text})" if text else index
        end = begin
    return text


def gather_source(axes: Sequence[tuple[Sequence[tuple[int, int, int]], int]]) -> str:
    """The text of a ``kernel(n, out, x)`` that takes elements of ``x`` by their indices.

    Each axis has its indices, as pieces (length, first index, step of 1 or -1), and the stride of
    ``x``.
    """
    sizes = [sum(length for length, _, _ in pieces) for pieces, _ in axes]
    lines, indices = _digits("t", sizes, math.prod(sizes) < 1 << 31, "q")
    terms = []
    for number, ((pieces, stride), index) in enumerate(zip(axes, indices[::-1], strict=True)):
        lines.append(f"        k{number} = {index}")
        lines.append(f"        j{number} = {_joined_index(pieces, f'k{number}')}")
        terms.append(f"j{number} * int64({stride})")
    return each("out, x", *lines, f"        out[t] = x[{' + '.join(terms)}]")


def fold_source(pieces: Sequence[tuple[int, int, int]], size: int, inner: int, dtype: str) -> str:
    """The text of a ``kernel(n, out, g)``, the adjoint of `gather_source` along one axis.

    ``out`` has the shape (outer, size, inner); the pieces are those of the middle axis.
    """
    count = sum(length for length, _, _ in pieces)
    lines = [
        f"        j = t % int64({inner})",
        f"        r = t // int64({inner}) % int64({size})",
        f"        begin = t // int64({inner * size}) * int64({count * inner}) + j",
        f"        found = {dtype}(0)",
    ]
    at = 0
    for length, start, step in pieces:
        distance = f"r - int64({start})" if step > 0 else f"int64({start}) - r"
        lines += [
            f"        k = {distance}",
            f"        if 0 <= k < int64({length}):",
            f"            found = {dtype}(found + g[begin + (k + int64({at})) * int64({inner})])",
        ]
        at += length
    return each("out, g", *lines, "        out[t] = found")


def clear_source() -> str:
    """The text of a ``kernel(n, out, x)`` that sets 16 bytes at a time to 0."""
    return each("out, x", "        store4(out, t, (uint32(0), uint32(0), uint32(0), uint32(0)))")
