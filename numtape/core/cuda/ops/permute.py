"""Launches of ops that copy elements: transposes, slices, concatenations, paddings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....kernels.constants import CUDA_UNROLL
from ... import settings
from ..codegen import fill_source, memory_dtype
from ..copies import (
    Axes,
    Padding,
    Tile,
    clear_source,
    either,
    fold_source,
    gather_source,
    padding_source,
    strided_copy_source,
    transpose_source,
)
from ..launches import Launch, LaunchRow, most_blocks, threads, written_out

if TYPE_CHECKING:
    from ...values.memory import Array
    from ...values.spec import Spec

LARGE = 1 << 31  # sizes from here on need 64-bit indices


def word(*lengths: int) -> int:
    """The largest word size in bytes, 16 or less, that divides all lengths."""
    return math.gcd(16, *lengths)


def word_dtype(size: int) -> str:
    """The dtype of a word of ``size`` bytes."""
    return f"uint{8 * size}"


def pointer(size: int) -> str:
    """The dtype of an array that is moved in words of ``size`` bytes; 16 bytes are four uint32."""
    return word_dtype(min(size, 4) if size == 16 else size)


def magnitude(*sizes: int) -> str:
    """Return "small" if all indices below these sizes fit in 32 bits, else "large"."""
    return "small" if max(sizes) < LARGE else "large"


def divisor(number: int) -> tuple[int, int]:
    """The factor and shift with ``t // number == t * factor >> shift`` for all t below 2**31."""
    shift = 31 + max(0, number - 1).bit_length()
    return (1 << shift) // max(1, number) + 1, shift


def grid(count: int) -> int:
    """How many blocks move ``count`` words, without loops: the GPU's scheduler balances best."""
    return block_count(max(1, -(-count // (CUDA_UNROLL * threads()))))


def block_count(count: int) -> int:
    """``count`` blocks; fewer in the simulator, where each takes long to start."""
    return min(count, most_blocks()) if settings.simulated() else count


def parameters(values: Sequence[int], *dtypes: str) -> list[str]:
    """The dtypes of a kernel's parameters: ints, then arrays."""
    return ["int64"] * len(values) + [f"*{dtype}" for dtype in dtypes]


class Move(NamedTuple):
    """A copy between a contiguous array of ``shape`` and a strided one."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int | None  # None: the kernel reads it from the first element of a third array
    into: bool  # whether the result is the strided array


def strides_of(shape: Sequence[int]) -> list[int]:
    """The strides of a contiguous array, in elements."""
    return [math.prod(shape[k + 1 :]) for k in range(len(shape))]


def _word_strides(shape: Sequence[int], steps: Sequence[int]) -> tuple[int, ...]:
    """The strides of a slice, in elements."""
    return tuple(s * step for s, step in zip(strides_of(shape), steps, strict=True))


def _transpose(row: LaunchRow) -> list[Launch]:
    strides = strides_of(row.operands[0].shape)
    there = tuple(strides[k] for k in row.attributes["perm"])
    return [copy_launch(Move(tuple(row.out.shape), there, 0, False), row.out, row.places)]


def _slice(row: LaunchRow) -> list[Launch]:
    strides = _word_strides(row.operands[0].shape, row.attributes["steps"])
    return [copy_launch(Move(tuple(row.out.shape), strides, None, False), row.out, row.places)]


def _small_slice(row: LaunchRow) -> list[Launch]:
    strides = _word_strides(row.operands[0].shape, row.attributes["steps"])
    move = Move(row.attributes["counts"], strides, row.attributes["begin"], False)
    return [copy_launch(move, row.out, row.places)]


def _small_slice_grad(row: LaunchRow) -> list[Launch]:
    strides = _word_strides(row.out.shape, row.attributes["steps"])
    return _among(row, Move(row.attributes["counts"], strides, row.attributes["begin"], True), "0")


def _slice_grad(row: LaunchRow) -> list[Launch]:
    strides = _word_strides(row.out.shape, row.attributes["steps"])
    return _among(row, Move(tuple(row.operands[0].shape), strides, None, True), "0")


def _pad(row: LaunchRow) -> list[Launch]:
    (x, *_), mode = row.operands, row.attributes.get("mode", "constant")
    paddings = row.attributes["paddings"]
    if mode != "constant":
        axes = [
            (_pieces(np.pad(np.arange(dim), pair, mode=mode)), stride)
            for dim, pair, stride in zip(x.shape, paddings, strides_of(x.shape), strict=True)
        ]
        return [_text(row, gather_source(axes), "mirror")]
    if len(row.operands) == 1 and x.size:
        return [_pad_edges(row)]
    strides = strides_of(row.out.shape)
    begin = sum(before * s for (before, _), s in zip(paddings, strides, strict=True))
    other = "x[0]" if len(row.operands) > 1 else "0"
    return _among(row, Move(tuple(x.shape), tuple(strides), begin, True), other)


def _pad_edges(row: LaunchRow) -> Launch:
    """Padding with zeros in one launch; axes without padding are merged with those before them."""
    item, axes = row.out.dtype.size, [Padding(1, 0, 1)]
    for dim, (before, after) in zip(row.operands[0].shape, row.attributes["paddings"], strict=True):
        if before or after:
            axes.append(Padding(before + dim + after, before, dim))
        else:
            axes[-1] = Padding(*(x * dim for x in axes[-1]))
    bytes_ = word(*(item * x for x in axes[-1]))
    axes[-1] = Padding(*(item * x // bytes_ for x in axes[-1]))
    axes = [axis for axis in axes if axis.size != 1] or axes[-1:]
    size, kind = math.prod(axis.size for axis in axes), pointer(bytes_)
    launch = written_out(
        padding_source(axes, kind, bytes_ == 16), "pad", kind, size, row.places[:2]
    )
    return launch._replace(blocks=grid(size))


def _among(row: LaunchRow, move: Move, other: str) -> list[Launch]:
    """A copy into an array, after filling the rest with ``other``, which may read operand ``x``."""
    launches, size = [], math.prod(move.shape)
    if size < row.out.size and other == "0":
        launches.append(zeros(row.out.size * row.out.dtype.size, row.places[0]))
    elif size < row.out.size:
        text = fill_source(memory_dtype(row.out.dtype), other)
        launches.append(_text(row, text, "fill", (row.places[0], row.places[-1])))
    if size:
        places = row.places if move.offset is None else row.places[:2]
        launches.append(copy_launch(move, row.out, places))
    return launches


def _concat(row: LaunchRow) -> list[Launch]:
    strides, begin, moves = strides_of(row.out.shape), 0, []
    axis = row.attributes["axis"]
    for x, place in zip(row.operands, row.places[1:], strict=True):
        move = Move(tuple(x.shape), tuple(strides), begin * strides[axis], True)
        if x.size:
            moves.append(copy_launch(move, row.out, (row.places[0], place)))
        begin += x.shape[axis]
    return moves


def _pack(row: LaunchRow) -> list[Launch]:
    strides, axis = strides_of(row.out.shape), row.attributes["axis"]
    others = tuple(strides[:axis] + strides[axis + 1 :])
    return [
        copy_launch(
            Move(tuple(x.shape), others, k * strides[axis], True), row.out, (row.places[0], place)
        )
        for k, (x, place) in enumerate(zip(row.operands, row.places[1:], strict=True))
        if x.size
    ]


def merge_axes(shape: Sequence[int], strides: Sequence[int]) -> Axes:
    """Merge adjacent axes that can be traversed with one stride."""
    axes: list[tuple[int, int]] = []
    for size, stride in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if axes and axes[-1][1] == size * stride:
            axes[-1] = axes[-1][0] * size, stride
        else:
            axes.append((size, stride))
    return tuple(size for size, _ in axes), tuple(stride for _, stride in axes)


def _widen(shape: Sequence[int], strides: Sequence[int], ratio: int) -> Axes:
    """The same axes in words of ``ratio`` elements; the last axis has a stride of 1."""
    words = (*shape[:-1], shape[-1] // ratio), (*(s // ratio for s in strides[:-1]), 1)
    return merge_axes(*words)


SMALL = 4096  # bytes: up to this size, caches suffice to transpose a matrix


def _tile(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> tuple[int, Tile] | None:
    """The axis with a stride of 1, and the tile for a transpose; None if tiles do not pay off.

    Tiles are square, unless an axis is shorter than the side: then the tile covers the axis.
    """
    if item > 8 or 1 not in strides[:-1] or strides[-1] <= 1:
        return None
    axis = strides.index(1)
    width, height = shape[axis], shape[-1]
    area = threads() * min(16, 64 // item)
    if width * height * item <= SMALL or math.prod(shape) <= area:  # or at most one tile
        return None
    columns = 1 << (area.bit_length() - 1) // 2
    if width < columns:
        columns = 1 << (width - 1).bit_length()
    elif height < area // columns:
        columns = area >> (height - 1).bit_length()
    return axis, Tile(area // columns, columns, threads())


def zeros(size: int, place: int) -> Launch:
    """The launch that sets ``size`` bytes to 0."""
    bytes_ = word(size)
    text = clear_source() if bytes_ == 16 else fill_source(word_dtype(bytes_), "0")
    return written_out(text, "zeros", pointer(bytes_), size // bytes_, (place, place))


def copy_launch(move: Move, out: Spec, places: Sequence[int]) -> Launch:
    """The launch of a copy from the second place to the first, in words as wide as possible."""
    item, (shape, strides) = out.dtype.size, merge_axes(move.shape, move.strides)
    narrow, ratio = word_dtype(item), 1
    if shape and strides[-1] == 1:
        ratio = word(*(item * x for x in (shape[-1], *strides[:-1], move.offset or 0))) // item
    wide = _widen(shape, strides, ratio) if ratio > 1 else (shape, strides)
    size, vector = math.prod(wide[0]), ratio * item == 16
    kind = pointer(ratio * item)
    if move.offset is None:
        if ratio == 1:
            text, others = strided_copy_source(shape, strides, None, move.into), ["int64"]
        else:
            text = either((shape, strides), wide, ratio, move.into, vector)
            others, places = ["int64", kind, kind], (*places, *places[:2])
        launch = written_out(text, "move", narrow, size, places, *others)
        return launch._replace(blocks=grid(size))
    tile = None if move.into or move.offset else _tile(*wide, ratio * item)
    if tile is not None:
        text = transpose_source(*wide, *tile, kind)
        rows, columns, _ = tile[1]
        tiles = size // (wide[0][tile[0]] * wide[0][-1])
        tiles *= -(-wide[0][tile[0]] // columns) * -(-wide[0][-1] // rows)
        launch = written_out(text, "transpose", kind, tiles, places)
        return launch._replace(blocks=block_count(tiles))
    text = strided_copy_source(*wide, move.offset // ratio, move.into, vector)
    return written_out(text, "move", kind, size, places)._replace(blocks=grid(size))


def _text(row: LaunchRow, text: str, name: str, places: Sequence[int] = ()) -> Launch:
    return written_out(text, name, memory_dtype(row.out.dtype), row.out.size, places or row.places)


# Mirrored padding. Its derivatives have the source index of each element of an axis, ``origin``.

Piece = tuple[int, int, int]  # a length, the first index and a step of 1 or -1


def _pieces(origin: Array) -> list[Piece]:
    """Split indices into pieces with a constant step of 1 or -1."""
    steps = np.diff(origin)
    pieces: list[Piece] = []
    k = 0
    while k < len(origin):
        step = -1 if k < steps.size and steps[k] == -1 else 1
        ends = np.flatnonzero(steps[k:] != step)
        length = 1 + (int(ends[0]) if ends.size else steps.size - k)
        pieces.append((length, int(origin[k]), step))
        k += length
    return pieces


def _unfold(row: LaunchRow) -> list[Launch]:
    (g,), axis = row.operands, row.attributes["axis"]
    strides = strides_of(g.shape)
    axes: list[tuple[list[Piece], int]] = [
        ([(dim, 0, 1)], stride) for dim, stride in zip(g.shape, strides, strict=True)
    ]
    axes[axis] = _pieces(np.array(row.attributes["origin"])), strides[axis]
    return [_text(row, gather_source(axes), "mirror")]


def _roll(row: LaunchRow) -> list[Launch]:
    """A roll as a gather from the two parts of the axis."""
    axis, shift = row.attributes["axis"], row.attributes["shift"]
    axes: list[tuple[list[Piece], int]] = [
        ([(dim, 0, 1)], stride)
        for dim, stride in zip(row.out.shape, strides_of(row.out.shape), strict=True)
    ]
    rest = row.out.shape[axis] - shift
    axes[axis] = [(shift, rest, 1), (rest, 0, 1)], axes[axis][1]
    return [_text(row, gather_source(axes), "roll")]


def _fold(row: LaunchRow) -> list[Launch]:
    size, inner = row.attributes["size"], math.prod(row.out.shape[row.attributes["axis"] + 1 :])
    pieces = _pieces(np.array(row.attributes["origin"]))
    return [_text(row, fold_source(pieces, size, inner, memory_dtype(row.out.dtype)), "fold")]


MAKERS: dict[str, Callable[[LaunchRow], list[Launch]]] = {
    "Transpose": _transpose,
    "StridedSlice": _slice,
    "StridedSliceGrad": _slice_grad,
    "SmallSlice": _small_slice,
    "SmallSliceGrad": _small_slice_grad,
    "Pad": _pad,
    "PadV2": _pad,
    "ConcatV2": _concat,
    "Pack": _pack,
    "Roll": _roll,
    "MirrorPadGrad": _fold,
    "MirrorPadGradGrad": _unfold,
}
