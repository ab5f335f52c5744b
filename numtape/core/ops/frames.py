"""Cut signals into overlapping frames and add frames back together.

`numtape.signal` builds spectra on these functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..log.tensors import as_tensor
from ..values.arguments import truncate_float
from ..values.spec import to_axis
from ..values.tensor import Tensor
from .indexing import gather
from .movement import reshape, to_ints, transpose_if_needed
from .padding import pad
from .reduction import reduce_sum
from .slicing import strided_slice


def slice_last_axis(x: Tensor, start: int, stop: int) -> Tensor:
    """Return a range of the last axis."""
    return strided_slice(x, (*((0, dim, 1) for dim in x.shape[:-1]), (start, stop, 1)))


def pad_last_axis(x: Tensor, count: int, value: Any = 0) -> Tensor:
    """Append ``count`` elements of ``value`` to the last axis."""
    return pad(x, [*[[0, 0]] * (x.ndim - 1), [0, count]], constant_values=value)


def _move_axis_last(x: Tensor, axis: int) -> Tensor:
    """Move an axis to the end."""
    return transpose_if_needed(x, (*(k for k in range(x.ndim) if k != axis), axis))


def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Split a signal into frames, each ``frame_step`` samples after the previous one.

    Args:
      signal: A tensor that contains the axis of samples.
      frame_length: The number of samples in a frame.
      frame_step: The number of samples from the start of one frame to the start of the next.
      pad_end: Whether to pad frames that extend beyond the end of the signal.
      pad_value: The value to pad with.
      axis: The axis of the samples.
      name: Not used.

    Returns:
      A tensor with one axis of frames and one of samples in place of ``axis``.

    Raises:
      InvalidArgumentError: If the axis is out of range.
      ValueError: If a length or step is not positive.

    Example:
      >>> tf.signal.frame([1, 2, 3, 4], 3, 1).numpy()
      array([[1, 2, 3],
             [2, 3, 4]], dtype=int32)
    """
    x = as_tensor(signal)
    length = to_ints(truncate_float(frame_length, "frame_length"))
    step = to_ints(truncate_float(frame_step, "frame_step"))
    if not isinstance(length, int) or not isinstance(step, int):
        raise ValueError(f"{frame_length=} and {frame_step=} must be scalars")
    if length < 1 or step < 1:
        raise ValueError(f"frame_length={length} and frame_step={step} must be positive")
    frame_axis = to_axis("frame", axis, x.ndim)
    data = _move_axis_last(x, frame_axis)
    samples = data.shape[-1]
    count = -(-samples // step) if pad_end else max(0, 1 + (samples - length) // step)
    missing = (count - 1) * step + length - samples
    if count and missing > 0:
        data = pad_last_axis(data, missing, pad_value)
    starts = (step * np.arange(count)).astype(np.int32)
    indices = np.add.outer(starts, np.arange(length, dtype=np.int32))
    frames = gather(data, indices, axis=-1)
    if frame_axis == x.ndim - 1:
        return frames
    order = [
        *range(frame_axis),
        frames.ndim - 2,
        frames.ndim - 1,
        *range(frame_axis, frames.ndim - 2),
    ]
    return transpose_if_needed(frames, tuple(order))


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """Add up frames that overlap, each ``frame_step`` samples after the previous one.

    This is the transpose of `frame`.

    Args:
      signal: A tensor whose last two axes are frames and samples.
      frame_step: The number of samples from the start of one frame to the start of the next.
      name: Not used.

    Returns:
      A tensor with one axis of samples in place of the last two.

    Raises:
      ValueError: If there are fewer than two axes, or the step is not positive.

    Example:
      >>> tf.signal.overlap_and_add([[1, 2, 3], [4, 5, 6]], 1).numpy()
      array([1, 6, 8, 6], dtype=int32)
    """
    x, step = as_tensor(signal), to_ints(truncate_float(frame_step, "frame_step"))
    if not isinstance(step, int):
        raise ValueError(f"{frame_step=} must be a scalar")
    if x.ndim < 2:
        raise ValueError(f"Shape {x.shape} must have rank at least 2")
    if step < 1:
        raise ValueError(f"frame_step={step} must be positive")
    *lead, frames, length = x.shape
    segments = -(-length // step)
    # Each frame consists of `segments` pieces. Piece j of frame i is added to output segment i + j.
    pieces = reshape(pad_last_axis(x, segments * step - length), (*lead, frames, segments, step))
    frame_axis, segment_axis = len(lead), len(lead) + 1
    order = (*range(frame_axis), segment_axis, frame_axis, segment_axis + 1)
    rows = pad(
        transpose_if_needed(pieces, order),
        [*[[0, 0]] * (len(lead) + 1), [0, segments], [0, 0]],
    )
    rows = reshape(rows, (*lead, segments * (frames + segments) * step))
    rows = slice_last_axis(rows, 0, segments * (frames + segments - 1) * step)
    aligned = reshape(rows, (*lead, segments, (frames + segments - 1) * step))
    return slice_last_axis(
        reduce_sum(aligned, frame_axis), 0, (frames - 1) * step + length if frames else 0
    )
