"""Signals: overlapping frames, windows and the mel scale.

`numtape.signal` builds spectra on these functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special

from ..log.as_tensor import as_tensor, from_owned_array
from ..values.arguments import truncate_float
from ..values.dtypes import DType, as_dtype, float32
from ..values.spec import to_axis
from ..values.tensor import Operators, Tensor
from .define import document
from .indexing import gather
from .movement import reshape, to_ints, transpose_if_needed
from .padding import pad
from .reduction import reduce_sum
from .slicing import strided_slice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..values.annotations import DTypeLike, IntLike, NumberLike, TensorLike
    from ..values.memory import Array


def slice_last_axis(x: Tensor, start: int, stop: int) -> Tensor:
    """Return a range of the last axis."""
    return strided_slice(x, (*((0, dim, 1) for dim in x.shape[:-1]), (start, stop, 1)))


def pad_last_axis(x: Tensor, count: int, value: TensorLike = 0) -> Tensor:
    """Append ``count`` elements of ``value`` to the last axis."""
    return pad(x, [*[[0, 0]] * (x.ndim - 1), [0, count]], constant_values=value)


def _move_axis_last(x: Tensor, axis: int) -> Tensor:
    """Move an axis to the end."""
    return transpose_if_needed(x, (*(k for k in range(x.ndim) if k != axis), axis))


def frame(
    signal: TensorLike,
    frame_length: IntLike | float,
    frame_step: IntLike | float,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
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


def overlap_and_add(
    signal: TensorLike, frame_step: IntLike | float, name: str | None = None
) -> Tensor:
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


def _floating(dtype: DTypeLike) -> DType:
    result = as_dtype(dtype)
    if not result.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {result}")
    return result


def _round_value(values: ArrayLike, dtype: DType) -> Tensor:
    return from_owned_array(np.asarray(values, dtype.numpy_dtype))


def _raised_cosine(
    length: IntLike, periodic: bool | Operators, dtype: DTypeLike, a: float
) -> Tensor:
    value, size = _floating(dtype), int(length)
    if size == 1:
        return _round_value([1.0], value)
    turns = np.arange(size) / (size + (bool(periodic) and size % 2 == 0) - 1)
    return _round_value(a - (1 - a) * np.cos(2 * np.pi * turns), value)


_LENGTH = """
    Args:
      window_length: The number of elements.
      periodic: Whether a window of even length is periodic, for spectra, instead of symmetric.
"""
_COMMON = """
      dtype: A float dtype.
      name: Not used.

    Returns:
      A vector.

    Raises:
      ValueError: If the dtype is not a float dtype.
"""


@document(_LENGTH)
@document(_COMMON, "<common>")
def hann_window(
    window_length: IntLike,
    periodic: bool | Operators = True,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return a Hann window, ``0.5 - 0.5 * cos(2 * pi * k / n)``.

    <arguments>
    <common>

    Example:
      >>> tf.signal.hann_window(4).numpy()
      array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    return _raised_cosine(window_length, periodic, dtype, 0.5)


@document(_LENGTH)
@document(_COMMON, "<common>")
def hamming_window(
    window_length: IntLike,
    periodic: bool | Operators = True,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return a Hamming window, ``0.54 - 0.46 * cos(2 * pi * k / n)``.

    <arguments>
    <common>

    Example:
      >>> tf.signal.hamming_window(4).numpy()
      array([0.08, 0.54, 1.  , 0.54], dtype=float32)
    """
    return _raised_cosine(window_length, periodic, dtype, 0.54)


def _kaiser(size: int, beta: float) -> Any:
    if size == 1:
        return np.ones(1)
    half = (size - 1) / 2
    arg = beta * np.sqrt(np.maximum(1 - ((np.arange(size) - half) / half) ** 2, 0))
    return np.exp(arg - beta) * scipy.special.i0e(arg) / scipy.special.i0e(beta)


@document(_COMMON, "<common>")
def kaiser_window(
    window_length: IntLike,
    beta: NumberLike = 12.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return a Kaiser window, ``i0(beta * sqrt(1 - t**2)) / i0(beta)`` for t from -1 to 1.

    Args:
      window_length: The number of elements.
      beta: The shape parameter; larger values give a narrower window.
    <common>

    Example:
      >>> tf.signal.kaiser_window(3).numpy().round(4)
      array([1.e-04, 1.e+00, 1.e-04], dtype=float32)
    """
    return _round_value(_kaiser(int(window_length), float(beta)), _floating(dtype))


@document(_COMMON, "<common>")
def kaiser_bessel_derived_window(
    window_length: IntLike,
    beta: NumberLike = 12.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return a Kaiser-Bessel-derived window, whose squares half a window apart add up to 1.

    Args:
      window_length: The number of elements, an even number.
      beta: The shape parameter of the Kaiser window.
    <common>

    Example:
      >>> tf.signal.kaiser_bessel_derived_window(2).numpy().round(3)
      array([0.707, 0.707], dtype=float32)
    """
    value, half = _floating(dtype), int(window_length) // 2
    sums = np.cumsum(_kaiser(half + 1, float(beta)))
    rising = np.sqrt(sums[:-1] / sums[-1])
    return _round_value(np.concatenate([rising, rising[::-1]]), value)


@document(_COMMON, "<common>")
def vorbis_window(
    window_length: IntLike, dtype: DTypeLike = float32, name: str | None = None
) -> Tensor:
    """Return Vorbis's power complementary window.

    Args:
      window_length: The number of elements.
    <common>

    Example:
      >>> tf.signal.vorbis_window(4).numpy().round(3)
      array([0.228, 0.974, 0.974, 0.228], dtype=float32)
    """
    value, size = _floating(dtype), int(window_length)
    sine = np.sin(np.pi / max(size, 1) * (np.arange(size) + 0.5))
    return _round_value(np.sin(np.pi / 2 * sine**2), value)


def _mel(hertz: float | Array) -> Any:
    """Convert frequencies to the mel scale of HTK."""
    return 1127.0 * np.log(1.0 + np.asarray(hertz) / 700.0)


def linear_to_mel_weight_matrix(
    num_mel_bins: IntLike = 20,
    num_spectrogram_bins: IntLike = 129,
    sample_rate: NumberLike = 8000,
    lower_edge_hertz: NumberLike = 125.0,
    upper_edge_hertz: NumberLike = 3800.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return the matrix that converts linear spectra to mel spectra, with triangular filters.

    Args:
      num_mel_bins: The number of mel bins.
      num_spectrogram_bins: The number of bins of a linear spectrum, ``fft_length // 2 + 1``.
      sample_rate: The number of samples per second.
      lower_edge_hertz: The lower edge of the first triangle.
      upper_edge_hertz: The upper edge of the last triangle.
      dtype: A float dtype.
      name: Not used.

    Returns:
      A matrix of ``num_spectrogram_bins`` rows and ``num_mel_bins`` columns.

    Raises:
      ValueError: If a number is out of range, or the dtype is not a float dtype.

    Example:
      >>> tf.signal.linear_to_mel_weight_matrix(4, 9).shape
      TensorShape([9, 4])
    """
    value, rate, count = _floating(dtype), float(sample_rate), int(num_mel_bins)
    low, high = float(lower_edge_hertz), float(upper_edge_hertz)
    if count <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {count}")
    if rate <= 0:
        raise ValueError(f"sample_rate must be positive. Got: {rate}")
    if low < 0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {low}")
    if low >= high:
        raise ValueError(f"lower_edge_hertz {low} >= upper_edge_hertz {high}")
    if high > rate / 2:
        raise ValueError(
            f"upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
            f"Got {high} for sample_rate: {rate}"
        )
    # The bin of frequency 0 is in no triangle, as in HTK.
    bins = _mel(np.linspace(0.0, rate / 2, int(num_spectrogram_bins))[1:])[:, None]
    edges = np.linspace(_mel(low), _mel(high), count + 2)
    rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    weights = np.maximum(0.0, np.minimum(rising, falling))
    return _round_value(np.pad(weights, [(1, 0), (0, 0)]), value)
