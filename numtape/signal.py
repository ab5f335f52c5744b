"""``tf.signal``: Fourier and cosine transforms, windows, frames, spectrograms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

import numpy as np

from .core.log.tensors import as_tensor
from .core.ops.comparison import equal_
from .core.ops.elementwise import select
from .core.ops.fft import (
    cosines,
    fft,
    fft2d,
    fft3d,
    fftshift,
    ifft,
    ifft2d,
    ifft3d,
    ifftshift,
    irfft,
    irfft2d,
    irfft3d,
    rfft,
    rfft2d,
    rfft3d,
)
from .core.ops.indexing import gather
from .core.ops.movement import permuted, reshape, static
from .core.ops.padding import pad
from .core.ops.reduction import reduce_sum
from .core.ops.signal_windows import (
    hamming_window,
    hann_window,
    kaiser_bessel_derived_window,
    kaiser_window,
    linear_to_mel_weight_matrix,
    vorbis_window,
)
from .core.ops.slicing import strided_slice
from .core.values.arguments import integral
from .core.values.spec import one_axis
from .core.values.tensor import Tensor
from .names import getter as _getter
from .tracebacks import guard_module as _guard_module

__all__ = [
    "dct", "fft", "fft2d", "fft3d", "fftshift", "frame", "hamming_window", "hann_window", "idct",
    "ifft", "ifft2d", "ifft3d", "ifftshift", "inverse_stft", "inverse_stft_window_fn", "irfft",
    "irfft2d", "irfft3d", "kaiser_bessel_derived_window", "kaiser_window",
    "linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms", "overlap_and_add", "rfft",
    "rfft2d", "rfft3d", "stft", "vorbis_window",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not _TYPE_CHECKING:
    __getattr__ = _getter(__name__)


# Frames.


def _cut(x: Tensor, start: int, stop: int) -> Tensor:
    """A range of the last axis."""
    return strided_slice(x, (*((0, dim, 1) for dim in x.shape[:-1]), (start, stop, 1)))


def _filled(x: Tensor, after: int, value: Any = 0) -> Tensor:
    """The last axis with elements more behind it."""
    return pad(x, [*[[0, 0]] * (x.ndim - 1), [0, after]], constant_values=value)


def _last(x: Tensor, axis: int) -> Tensor:
    """An axis moved to the end."""
    return permuted(x, (*(k for k in range(x.ndim) if k != axis), axis))


def frame(
    signal: Any, frame_length: Any, frame_step: Any, pad_end: bool = False, pad_value: Any = 0,
    axis: int = -1, name: str | None = None,
) -> Tensor:  # fmt: skip
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
        moved = _filled(moved, missing, pad_value)
    places = np.arange(count)[:, None] * step + np.arange(length)
    found = gather(moved, places.astype(np.int32), axis=-1)
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
    pieces = reshape(_filled(x, segments * step - length), (*lead, frames, segments, step))
    first, second = len(lead), len(lead) + 1
    order = (*range(first), second, first, second + 1)
    rows = pad(
        permuted(pieces, order),
        [*[[0, 0]] * (len(lead) + 1), [0, segments], [0, 0]],
    )
    rows = reshape(rows, (*lead, segments * (frames + segments) * step))
    rows = _cut(rows, 0, segments * (frames + segments - 1) * step)
    placed = reshape(rows, (*lead, segments, (frames + segments - 1) * step))
    return _cut(reduce_sum(placed, first), 0, (frames - 1) * step + length if frames else 0)


# Spectra.


def _power_of_two(size: int) -> int:
    return 1 << max(0, size - 1).bit_length()


def stft(
    signals: Any, frame_length: Any, frame_step: Any, fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window, pad_end: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The short-time Fourier transform: of frames, each times a window.

    Args:
      signals: A tensor of float32 or float64 whose last axis has the samples.
      frame_length: The number of samples of a frame.
      frame_step: How many samples a frame begins after the one before.
      fft_length: The size of the transform; None: the power of two that a frame fits in.
      window_fn: ``window_fn(length, dtype=dtype)`` gives the window; None for none.
      pad_end: Whether frames that end behind the signal are filled up with zeros.
      name: Not used.

    Returns:
      A tensor of complex numbers whose last axes are frames and ``fft_length // 2 + 1`` bins.

    Raises:
      ValueError: If the numbers are no float32 or float64, or a length or step is not positive.

    Example:
      >>> tf.signal.stft([0.0, 1.0, 0.0, -1.0], 4, 1, window_fn=None).numpy()
      array([[0.+0.j, 0.-2.j, 0.+0.j]], dtype=complex64)
    """
    length = int(frame_length)
    framed = frame(signals, length, frame_step, pad_end=pad_end)
    if window_fn is not None:
        framed = framed * window_fn(length, dtype=framed.dtype)
    return rfft(framed, [_power_of_two(length) if fft_length is None else int(fft_length)])


def inverse_stft(
    stfts: Any, frame_length: Any, frame_step: Any, fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Signals from short-time Fourier transforms: frames, times a window, added up.

    To get back what `stft` was made of, take `inverse_stft_window_fn` for a window; what fewer
    frames cover than elsewhere, at both ends, is smaller.

    Args:
      stfts: A tensor of complex numbers whose last axes are frames and bins.
      frame_length: The number of samples of a frame.
      frame_step: How many samples a frame begins after the one before.
      fft_length: The size of the transform; None: the power of two that a frame fits in.
      window_fn: ``window_fn(length, dtype=dtype)`` gives the window; None for none.
      name: Not used.

    Returns:
      A tensor of real numbers whose last axis has the samples.

    Raises:
      ValueError: If the numbers are not complex, or there are fewer than two axes.

    Example:
      >>> spectra = tf.signal.stft(tf.range(6.0), 4, 2)
      >>> window = tf.signal.inverse_stft_window_fn(2)
      >>> tf.signal.inverse_stft(spectra, 4, 2, window_fn=window).numpy().round(3)
      array([0. , 0.5, 2. , 3. , 4. , 2.5], dtype=float32)
    """
    x, length = as_tensor(stfts), int(frame_length)
    found = irfft(x, [_power_of_two(length) if fft_length is None else int(fft_length)])
    size = found.shape[-1]
    found = _cut(found, 0, length) if size >= length else _filled(found, length - size)
    if window_fn is not None:
        found = found * window_fn(length, dtype=x.dtype.real_dtype)
    return overlap_and_add(found, frame_step)


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None
) -> Callable[..., Tensor]:
    """The window with which `inverse_stft` gives back what `stft` was made of.

    See Griffin and Lim, "Signal estimation from modified short-time Fourier transform" (1984),
    equation 7.

    Args:
      frame_step: How many samples a frame begins after the one before.
      forward_window_fn: The window of `stft`.
      name: Not used.

    Returns:
      A function of a length and a dtype. It raises what ``forward_window_fn`` does.

    Raises:
      TypeError: If ``frame_step`` is no number, at the call of that function.

    Example:
      >>> tf.signal.inverse_stft_window_fn(2)(4, dtype=tf.float32).numpy()
      array([0., 1., 1., 1.], dtype=float32)
    """

    def window_fn(frame_length: Any, dtype: Any) -> Tensor:
        length, step = int(frame_length), int(frame_step)
        forward = as_tensor(forward_window_fn(length, dtype=dtype))
        times = -(-length // step)
        squares = _filled(forward * forward, times * step - length)
        total = reduce_sum(reshape(squares, (times, step)), 0)
        places = np.arange(length, dtype=np.int32) % step
        total = gather(total, places)
        return select(equal_(total, 0.0), 0.0, forward / total)

    return window_fn


def dct(
    input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The discrete cosine transform over the last axis.

    Args:
      input: A tensor of float32 or float64.
      type: Which of the four types.
      n: The size: a longer axis is cut off, a shorter one filled up with zeros.
      axis: Must be -1.
      norm: ``"ortho"`` for an orthonormal one.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      ValueError: If an argument is none of these, or the numbers are no float32 or float64.

    Example:
      >>> tf.signal.dct([1.0, 0.0]).numpy().round(3)
      array([2.   , 1.414], dtype=float32)
    """
    _check_cosines(input, type, n, axis, norm)
    return cosines(input, type, n, axis, norm)


def idct(
    input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The inverse discrete cosine transform over the last axis, times ``2 * n``.

    With ``norm="ortho"`` it is the inverse itself.

    Args:
      input: A tensor of float32 or float64.
      type: Which of the four types `dct` was of.
      n: Must be None.
      axis: Must be -1.
      norm: ``"ortho"`` for an orthonormal one.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      ValueError: If an argument is none of these, or the numbers are no float32 or float64.

    Example:
      >>> tf.signal.idct(tf.signal.dct([1.0, 2.0], norm="ortho"), norm="ortho").numpy().round(3)
      array([1., 2.], dtype=float32)
    """
    _check_cosines(input, type, n, axis, norm)
    return cosines(input, {1: 1, 2: 3, 3: 2, 4: 4}[type], n, axis, norm)


def _check_cosines(x: Any, type: int, n: Any, axis: int, norm: str | None) -> None:
    if axis != -1:
        raise ValueError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if type not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    found = as_tensor(x)
    if type == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        if found.ndim and found.shape[-1] < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if found.dtype.name not in ("float32", "float64") or not found.ndim:
        raise ValueError(f"A tensor of float32 or float64 is wanted, got {found._describe()}")


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """Mel-frequency cepstral coefficients: the cosine transform of logarithms of mel spectra.

    Args:
      log_mel_spectrograms: A tensor of float32 or float64 whose last axis has the mel bins.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype, scaled as in HTK.

    Raises:
      ValueError: If there are no bins, or the numbers are no float32 or float64.

    Example:
      >>> tf.signal.mfccs_from_log_mel_spectrograms([1.0, 2.0]).numpy().round(3)
      array([ 3.   , -0.707], dtype=float32)
    """
    x = as_tensor(log_mel_spectrograms)
    if not x.ndim or not x.shape[-1]:
        raise ValueError(f"num_mel_bins must be positive. Got: {x._describe()}")
    return dct(x, 2) * (1 / math.sqrt(2 * x.shape[-1]))

_guard_module(__name__)
