"""Windows that slide over images: what strides, dilations, paddings and formats of axes say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InvalidArgumentError, UnimplementedError
from ..log.record import require
from ..values.dtypes import repr_of
from ..values.tensor import Tensor
from . import movement
from .conv_products import Geometry, Ints

LAST = {1: ("NWC",), 2: ("NHWC",), 3: ("NDHWC",)}
FIRST = {1: ("NCW",), 2: ("NCHW",), 3: ("NCDHW",)}


def channels_first(data_format: Any, rank: int, op: str) -> bool:
    """Whether channels come before the axes in space; None is the usual way, behind them."""
    if data_format is None:
        return False
    allowed = (*LAST[rank], *FIRST[rank])
    if data_format not in allowed:
        # One-dimensional ones say so in Python, the others when the op is made.
        kind = ValueError if rank == 1 else InvalidArgumentError
        raise kind(
            f"Value for attr 'data_format' of {repr_of(data_format)} is not in the list of allowed "
            f"values: {', '.join(allowed)} [Op:{op}]"
        )
    return data_format in FIRST[rank]


def sizes(value: Any, rank: int, first: bool, what: str) -> tuple[int, ...]:
    """A number for each axis: of one for all, of one for each in space, or for all axes.

    Returns one for the batch, those in space, one for the channels.
    """
    if value is None:
        value = 1
    if isinstance(value, Tensor | np.ndarray):
        value = movement.to_ints(value)
    values = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    if len(values) == 1:
        values *= rank
    if len(values) == rank:
        return (1, *map(_number, values), 1)
    if len(values) == rank + 2:
        sizes = tuple(map(_number, values))
        return (sizes[0], *sizes[2:], sizes[1]) if first else sizes
    raise ValueError(
        f"{what} should be of length 1, {rank} or {rank + 2}. Received: {what}={repr_of(value)} of "
        f"length {len(values)}"
    )


def _number(value: Any) -> int:
    try:
        result = int(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"A size is an int, not {repr_of(value)}.") from None
    if abs(result) >= 2**31:
        raise ValueError(f"A size of {repr_of(value)} is too big: it has to fit int32.")
    return result


def in_space(values: tuple[int, ...], op: str, what: str) -> Ints:
    """Strides or dilations of the axes in space."""
    if values[0] != 1 or values[-1] != 1:
        raise UnimplementedError(
            f"Only {what} of 1 are there for the batch and the channels, got {values} [Op:{op}]"
        )
    require(min(values) > 0, op, f"{what} must be larger than 0, got {values[1:-1]}")
    return values[1:-1]


def explicit(padding: Any, rank: int, first: bool, op: str) -> tuple[tuple[int, int], ...] | None:
    """The paddings in space if they are given one by one, None for a name."""
    if isinstance(padding, str | bytes):
        allowed = '"SAME", "VALID", "EXPLICIT"'
        require(
            padding in ("SAME", "VALID"),
            op,
            f"Value for attr 'padding' of {padding!r} is not in the list of allowed values: "
            f"{allowed}",
        )
        return None
    if not isinstance(padding, Sequence | np.ndarray):
        raise TypeError(f"padding is a string or a list, not {repr_of(padding)} [Op:{op}]")
    for k, pair in enumerate(padding):
        if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
            raise ValueError(
                f"When `padding` is a list, each element of `padding` must be a list/tuple of size "
                f"2. Received: padding={repr_of(padding)} with element at index {k} of type "
                f"{type(pair)}"
            )
    pairs = [tuple(map(_number, pair)) for pair in padding]
    if len(pairs) != rank + 2:
        raise ValueError(
            f"When padding is a list, it must be of size {rank + 2}. Received: padding="
            f"{repr_of(padding)} of size {len(pairs)}"
        )
    require(min(map(min, pairs)) >= 0, op, "All elements of padding must be nonnegative")
    if first:
        pairs.append(pairs.pop(1))
    require(
        not any((*pairs[0], *pairs[-1])),
        op,
        "Nonzero explicit padding in the batch or depth dimensions is not supported",
    )
    return tuple((before, after) for before, after in pairs[1:-1])


def geometry(
    inner: Ints,
    kernel: Ints,
    strides: Ints,
    dilations: Ints,
    padding: Any,
    pairs: tuple[tuple[int, int], ...] | None,
    groups: int,
    op: str,
) -> Geometry:
    """What meets what.

    Raises:
      InvalidArgumentError: If the window is larger than what it slides over.
    """
    outer, before = [], []
    for axis, (n, k, s, d) in enumerate(zip(inner, kernel, strides, dilations, strict=True)):
        width = (k - 1) * d + 1
        if pairs is None and padding == "SAME":
            count = -(-n // s)
            start = max((count - 1) * s + width - n, 0) // 2
        else:
            start, end = (0, 0) if pairs is None else pairs[axis]
            count = math.trunc((n + start + end - width + s) / s)
            require(
                count >= 0,
                op,
                f"Computed output size would be negative: {count} [input_size: "
                f"{n + start + end}, effective_filter_size: {width}, stride: {s}]",
            )
        outer.append(count)
        before.append(start)
    return Geometry(inner, tuple(outer), kernel, strides, dilations, tuple(before), groups)


def last(x: Tensor, first: bool) -> Tensor:
    """Channels behind the axes in space, wherever they were."""
    return movement.transpose_if_needed(x, (0, *range(2, x.ndim), 1)) if first else x


def back(y: Tensor, first: bool) -> Tensor:
    """Channels where they were before `last`."""
    return movement.transpose_if_needed(y, (0, y.ndim - 1, *range(1, y.ndim - 1))) if first else y
