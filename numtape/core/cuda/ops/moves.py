"""Ops that copy elements to other places: slices, joins, paddings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..launches import Launch, Row, written_out
from ..text import filled, folded, moved, stored, taken


class Move(NamedTuple):
    """A copy between a contiguous array of ``shape`` and one whose elements lie elsewhere."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int | None  # None: it is in the first element of a third array
    into: bool  # whether it is the result whose elements lie ``strides`` apart


def strides_of(shape: Sequence[int]) -> list[int]:
    """How far apart the elements of a contiguous array are along each axis."""
    return [math.prod(shape[k + 1 :]) for k in range(len(shape))]


def _apart(shape: Sequence[int], steps: Sequence[int]) -> tuple[int, ...]:
    """The strides of a slice."""
    return tuple(s * step for s, step in zip(strides_of(shape), steps, strict=True))


def _transpose(row: Row) -> list[Launch]:
    strides = strides_of(row.operands[0].shape)
    there = tuple(strides[k] for k in row.attributes["perm"])
    return [copied(Move(tuple(row.out.shape), there, 0, False), row.out, row.places)]


def _slice(row: Row) -> list[Launch]:
    strides = _apart(row.operands[0].shape, row.attributes["steps"])
    return [copied(Move(tuple(row.out.shape), strides, None, False), row.out, row.places)]


def _slice_grad(row: Row) -> list[Launch]:
    strides = _apart(row.out.shape, row.attributes["steps"])
    return _among(row, Move(tuple(row.operands[0].shape), strides, None, True), "0")


def _pad(row: Row) -> list[Launch]:
    (x, *_), mode = row.operands, row.attributes.get("mode", "constant")
    paddings = row.attributes["paddings"]
    if mode != "constant":
        axes = [
            (_pieces(np.pad(np.arange(dim), pair, mode=mode)), stride)
            for dim, pair, stride in zip(x.shape, paddings, strides_of(x.shape), strict=True)
        ]
        return [_text(row, taken(axes), "mirror")]
    strides = strides_of(row.out.shape)
    begin = sum(before * s for (before, _), s in zip(paddings, strides, strict=True))
    other = "x[0]" if len(row.operands) > 1 else "0"
    return _among(row, Move(tuple(x.shape), tuple(strides), begin, True), other)


def _among(row: Row, move: Move, other: str) -> list[Launch]:
    """A copy into an array; what it does not write is ``other``, of the last operand ``x``."""
    found, size = [], math.prod(move.shape)
    if size < row.out.size:
        text = filled(stored(row.out.dtype), other)
        found.append(_text(row, text, "fill", (row.places[0], row.places[-1])))
    if size:
        places = row.places if move.offset is None else row.places[:2]
        found.append(copied(move, row.out, places))
    return found


def _concat(row: Row) -> list[Launch]:
    strides, begin, found = strides_of(row.out.shape), 0, []
    axis = row.attributes["axis"]
    for x, place in zip(row.operands, row.places[1:], strict=True):
        move = Move(tuple(x.shape), tuple(strides), begin * strides[axis], True)
        if x.size:
            found.append(copied(move, row.out, (row.places[0], place)))
        begin += x.shape[axis]
    return found


def copied(move: Move, out: Any, places: Sequence[int]) -> Launch:
    """The launch of a copy from the second place to the first."""
    others = ["int64"] if move.offset is None else []
    size = math.prod(move.shape)
    return written_out(moved(*move), "move", stored(out.dtype), size, places, *others)


def _text(row: Row, text: str, name: str, places: Sequence[int] = ()) -> Launch:
    return written_out(text, name, stored(row.out.dtype), row.out.size, places or row.places)


# Mirrored padding. Its derivatives know which index each element of an axis came from.

Piece = tuple[int, int, int]  # a length, the first index and a step of 1 or -1


def _pieces(origin: Any) -> list[Piece]:
    """Indices as pieces in which each follows, or comes before, the one before it."""
    steps = np.diff(origin)
    found: list[Piece] = []
    k = 0
    while k < len(origin):
        step = -1 if k < steps.size and steps[k] == -1 else 1
        ends = np.flatnonzero(steps[k:] != step)
        length = 1 + (int(ends[0]) if ends.size else steps.size - k)
        found.append((length, int(origin[k]), step))
        k += length
    return found


def _unfold(row: Row) -> list[Launch]:
    (g,), axis = row.operands, row.attributes["axis"]
    strides = strides_of(g.shape)
    axes: list[tuple[list[Piece], int]] = [
        ([(dim, 0, 1)], stride) for dim, stride in zip(g.shape, strides, strict=True)
    ]
    axes[axis] = _pieces(np.array(row.attributes["origin"])), strides[axis]
    return [_text(row, taken(axes), "mirror")]


def _fold(row: Row) -> list[Launch]:
    size, inner = row.attributes["size"], math.prod(row.out.shape[row.attributes["axis"] + 1 :])
    pieces = _pieces(np.array(row.attributes["origin"]))
    return [_text(row, folded(pieces, size, inner, stored(row.out.dtype)), "fold")]


MAKERS: dict[str, Callable[[Row], list[Launch]]] = {
    "Transpose": _transpose, "StridedSlice": _slice, "StridedSliceGrad": _slice_grad,
    "Pad": _pad, "PadV2": _pad, "ConcatV2": _concat,
    "MirrorPadGrad": _fold, "MirrorPadGradGrad": _unfold,
}  # fmt: skip
