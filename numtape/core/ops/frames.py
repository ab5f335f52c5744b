"""Signals cut into frames, and frames laid over each other: see `signal` for their spectra."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..log.tensors import as_tensor
from ..values.arguments import integral
from ..values.spec import one_axis
from ..values.tensor import Tensor
from .indexing import gather
from .movement import permuted, reshape, static
from .padding import pad
from .reduction import reduce_sum
from .slicing import strided_slice


def cut(x: Tensor, start: int, stop: int) -> Tensor:
    """A range of the last axis."""
    return strided_slice(x, (*((0, dim, 1) for dim in x.shape[:-1]), (start, stop, 1)))


def filled(x: Tensor, after: int, value: Any = 0) -> Tensor:
    """The last axis with elements more behind it."""
    return pad(x, [*[[0, 0]] * (x.ndim - 1), [0, after]], constant_values=value)


def _last(x: Tensor, axis: int) -> Tensor:
    """An axis moved to the end."""
    return permuted(x, (*(k for k in range(x.ndim) if k != axis), axis))


def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Stretches of a signal, each some steps after the one before.

    Args:
      signal: A tensor with the axis that is cut into frames.
      frame_length: The number of samples of a frame.
      frame_step: How many samples a frame begins after the one before.
      pad_end: Whether frames that end behind the signal are filled up.
      pad_value: What with.
      axis: The axis of the samples.
      name: Not used.

    Returns:
      A tensor with an axis of frames and one of samples in the place of ``axis``.

    Raises:
      InvalidArgumentError: If the axis is out of range.
      ValueError: If a length or step is not positive.

    Example:
      >>> tf.signal.frame([1, 2, 3, 4], 3, 1).numpy()
      array([[1, 2, 3],
             [2, 3, 4]], dtype=int32)
    """
    x = as_tensor(signal)
    length = static(integral(frame_length, "frame_length"))
    step = static(integral(frame_step, "frame_step"))
    if not isinstance(length, int) or not isinstance(step, int):
        raise ValueError(f"{frame_length=} and {frame_step=} must be scalars")
    if length < 1 or step < 1:
        raise ValueError(f"frame_length={length} and frame_step={step} must be positive")
    at = one_axis("frame", axis, x.ndim)
    moved = _last(x, at)
    samples = moved.shape[-1]
    count = -(-samples // step) if pad_end else max(0, 1 + (samples - length) // step)
    missing = (count - 1) * step + length - samples
    if count and missing > 0:
        moved = filled(moved, missing, pad_value)
    starts = (step * np.arange(count)).astype(np.int32)
    places = np.add.outer(starts, np.arange(length, dtype=np.int32))
    found = gather(moved, places, axis=-1)
    if at == x.ndim - 1:
        return found
    order = [*range(at), found.ndim - 2, found.ndim - 1, *range(at, found.ndim - 2)]
    return permuted(found, tuple(order))


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """Frames laid some steps apart from each other and added up: the transpose of `frame`.

    Args:
      signal: A tensor whose last two axes are frames and samples.
      frame_step: How many samples a frame begins after the one before.
      name: Not used.

    Returns:
      A tensor with an axis of samples in the place of the last two.

    Raises:
      ValueError: If there are fewer than two axes, or the step is not positive.

    Example:
      >>> tf.signal.overlap_and_add([[1, 2, 3], [4, 5, 6]], 1).numpy()
      array([1, 6, 8, 6], dtype=int32)
    """
    x, step = as_tensor(signal), static(integral(frame_step, "frame_step"))
    if not isinstance(step, int):
        raise ValueError(f"{frame_step=} must be a scalar")
    if x.ndim < 2:
        raise ValueError(f"Shape {x.shape} must have rank at least 2")
    if step < 1:
        raise ValueError(f"frame_step={step} must be positive")
    *lead, frames, length = x.shape
    segments = -(-length // step)
    # Each frame is `segments` pieces; piece j of frame i belongs to place i + j.
    pieces = reshape(filled(x, segments * step - length), (*lead, frames, segments, step))
    first, second = len(lead), len(lead) + 1
    order = (*range(first), second, first, second + 1)
    rows = pad(
        permuted(pieces, order),
        [*[[0, 0]] * (len(lead) + 1), [0, segments], [0, 0]],
    )
    rows = reshape(rows, (*lead, segments * (frames + segments) * step))
    rows = cut(rows, 0, segments * (frames + segments - 1) * step)
    placed = reshape(rows, (*lead, segments, (frames + segments - 1) * step))
    return cut(reduce_sum(placed, first), 0, (frames - 1) * step + length if frames else 0)
