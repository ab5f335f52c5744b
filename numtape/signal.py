"""``tf.signal``: Fourier and cosine transforms, windows, frames, spectrograms."""

from __future__ import annotations

import math
import typing as _typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .compat.names import getter as _getter
from .compat.traceback_filter import guard_module as _guard_module
from .core.log.as_tensor import as_tensor
from .core.ops.comparison import equal_
from .core.ops.elementwise import select
from .core.ops.fft import (
    cosine_transform,
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
from .core.ops.joining import concat
from .core.ops.movement import reshape
from .core.ops.reduction import reduce_sum
from .core.ops.signal import (
    frame,
    hamming_window,
    hann_window,
    kaiser_bessel_derived_window,
    kaiser_window,
    linear_to_mel_weight_matrix,
    overlap_and_add,
    pad_last_axis,
    slice_last_axis,
    vorbis_window,
)
from .core.ops.slicing import reverse, split
from .core.values.tensor import Tensor

if TYPE_CHECKING:
    from .core.values.annotations import DTypeLike, IntLike, TensorLike
    from .core.values.dtypes import DType

__all__ = [
    "dct",
    "fft",
    "fft2d",
    "fft3d",
    "fftshift",
    "frame",
    "hamming_window",
    "hann_window",
    "idct",
    "ifft",
    "ifft2d",
    "ifft3d",
    "ifftshift",
    "inverse_mdct",
    "inverse_stft",
    "inverse_stft_window_fn",
    "irfft",
    "irfft2d",
    "irfft3d",
    "kaiser_bessel_derived_window",
    "kaiser_window",
    "linear_to_mel_weight_matrix",
    "mdct",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "rfft",
    "rfft2d",
    "rfft3d",
    "stft",
    "vorbis_window",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


# Spectra.


def _power_of_two(size: int) -> int:
    return 1 << max(0, size - 1).bit_length()


def stft(
    signals: TensorLike,
    frame_length: IntLike,
    frame_step: IntLike,
    fft_length: IntLike | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The short-time Fourier transform: the transforms of windowed frames.

    Args:
      signals: A tensor of float32 or float64 whose last axis has the samples.
      frame_length: The number of samples in a frame.
      frame_step: The number of samples between the starts of successive frames.
      fft_length: The size of the transform; default: the smallest power of two that holds a frame.
      window_fn: A function ``window_fn(length, dtype=dtype)`` that returns the window; None for no
        window.
      pad_end: Whether to pad frames that extend beyond the end of the signal with zeros.
      name: Not used.

    Returns:
      A tensor of complex numbers whose last axes are frames and ``fft_length // 2 + 1`` bins.

    Raises:
      ValueError: If the dtype is not float32 or float64, or a length or step is not positive.

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
    stfts: TensorLike,
    frame_length: IntLike,
    frame_step: IntLike,
    fft_length: IntLike | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Reconstruct signals from short-time Fourier transforms, by adding windowed frames.

    With the window of `inverse_stft_window_fn` it inverts `stft`, except at both ends, where fewer
    frames overlap and values are smaller.

    Args:
      stfts: A tensor of complex numbers whose last axes are frames and bins.
      frame_length: The number of samples in a frame.
      frame_step: The number of samples between the starts of successive frames.
      fft_length: The size of the transform; default: the smallest power of two that holds a frame.
      window_fn: A function ``window_fn(length, dtype=dtype)`` that returns the window; None for no
        window.
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
    frames = irfft(x, [_power_of_two(length) if fft_length is None else int(fft_length)])
    frame_size = frames.shape[-1]
    frames = (
        slice_last_axis(frames, 0, length)
        if frame_size >= length
        else pad_last_axis(frames, length - frame_size)
    )
    if window_fn is not None:
        frames = frames * window_fn(length, dtype=x.dtype.real_dtype)
    return overlap_and_add(frames, frame_step)


def inverse_stft_window_fn(
    frame_step: IntLike,
    forward_window_fn: Callable[..., Any] = hann_window,
    name: str | None = None,
) -> Callable[..., Tensor]:
    """Return the window with which `inverse_stft` inverts `stft`.

    See Griffin and Lim, "Signal estimation from modified short-time Fourier transform" (1984),
    equation 7.

    Args:
      frame_step: The number of samples between the starts of successive frames.
      forward_window_fn: The window of `stft`.
      name: Not used.

    Returns:
      A function of a length and a dtype. Errors of ``forward_window_fn`` propagate.

    Raises:
      TypeError, ValueError: At the call of the function, if ``frame_step`` is not a number.

    Example:
      >>> tf.signal.inverse_stft_window_fn(2)(4, dtype=tf.float32).numpy()
      array([0., 1., 1., 1.], dtype=float32)
    """

    def window_fn(frame_length: IntLike, dtype: DTypeLike) -> Tensor:
        length, step = int(frame_length), int(frame_step)
        forward = as_tensor(forward_window_fn(length, dtype=dtype))
        step_count = -(-length // step)
        squares = pad_last_axis(forward * forward, step_count * step - length)
        total = reduce_sum(reshape(squares, (step_count, step)), 0)
        positions = np.arange(length, dtype=np.int32) % step
        total = gather(total, positions)
        return select(equal_(total, 0.0), 0.0, forward / total)

    return window_fn


def dct(
    input: TensorLike,
    type: int = 2,
    n: IntLike | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform over the last axis.

    Args:
      input: A tensor of float32 or float64.
      type: The type of the transform, from 1 to 4.
      n: The size: a longer axis is truncated, a shorter one padded with zeros.
      axis: Must be -1.
      norm: ``"ortho"`` for an orthonormal transform.
      name: Not used.

    Returns:
      A tensor of the same dtype.

    Raises:
      ValueError: If an argument has another value, or the dtype is not float32 or float64.

    Example:
      >>> tf.signal.dct([1.0, 0.0]).numpy().round(3)
      array([2.   , 1.414], dtype=float32)
    """
    _check_cosines(input, type, n, axis, norm)
    return cosine_transform(input, type, n, axis, norm)


def idct(
    input: TensorLike,
    type: int = 2,
    n: IntLike | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse discrete cosine transform over the last axis, times ``2 * n``.

    With ``norm="ortho"`` it is the exact inverse.

    Args:
      input: A tensor of float32 or float64.
      type: The type of the transform to invert, from 1 to 4.
      n: Must be None.
      axis: Must be -1.
      norm: ``"ortho"`` for an orthonormal transform.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      ValueError: If an argument has another value, or the dtype is not float32 or float64.

    Example:
      >>> tf.signal.idct(tf.signal.dct([1.0, 2.0], norm="ortho"), norm="ortho").numpy().round(3)
      array([1., 2.], dtype=float32)
    """
    _check_cosines(input, type, n, axis, norm)
    return cosine_transform(input, {1: 1, 2: 3, 3: 2, 4: 4}[type], n, axis, norm)


def _check_cosines(
    x: TensorLike, type: int, n: IntLike | None, axis: int, norm: str | None
) -> None:
    if axis != -1:
        raise ValueError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if type not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    tensor = as_tensor(x)
    if type == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        if tensor.ndim and tensor.shape[-1] < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if tensor.dtype.name not in ("float32", "float64") or not tensor.ndim:
        raise ValueError(f"A tensor of float32 or float64 is wanted, got {tensor._describe()}")


def mfccs_from_log_mel_spectrograms(
    log_mel_spectrograms: TensorLike, name: str | None = None
) -> Tensor:
    """Mel-frequency cepstral coefficients: the cosine transform of log-mel spectrograms.

    Args:
      log_mel_spectrograms: A tensor of float32 or float64 whose last axis has the mel bins.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype, scaled as in HTK.

    Raises:
      ValueError: If there are no bins, or the dtype is not float32 or float64.

    Example:
      >>> tf.signal.mfccs_from_log_mel_spectrograms([1.0, 2.0]).numpy().round(3)
      array([ 3.   , -0.707], dtype=float32)
    """
    x = as_tensor(log_mel_spectrograms)
    if not x.ndim or not x.shape[-1]:
        raise ValueError(f"num_mel_bins must be positive. Got: {x._describe()}")
    return dct(x, 2) * (1 / math.sqrt(2 * x.shape[-1]))


def _half(length: IntLike) -> int:
    frame_length = int(length)
    if frame_length < 1 or frame_length % 4:
        raise ValueError("The frame length must be a multiple of 4.")
    return frame_length // 2


def _check_norm(norm: str | None) -> None:
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def _root_half(length: int, dtype: DType) -> Tensor:
    """The window for ``window_fn=None``, with which `inverse_mdct` inverts `mdct`."""
    return as_tensor(np.full(length, math.sqrt(0.5), dtype.as_numpy_dtype))


def mdct(
    signals: TensorLike,
    frame_length: IntLike,
    window_fn: Callable[..., Any] | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The modified discrete cosine transform of frames that overlap by half.

    Each frame ``a b c d`` of four parts is folded to ``-c' - d, a - b'``, where ``'`` reverses a
    part, and transformed by `dct` of type 4. See Princen, Johnson and Bradley, "Subband/transform
    coding using filter bank designs based on time domain aliasing cancellation" (1987).

    Args:
      signals: A tensor of float32 or float64 whose last axis has the samples.
      frame_length: The number of samples in a frame, a multiple of 4.
      window_fn: A function ``window_fn(length, dtype=dtype)`` that returns the window; None for a
        constant window.
      pad_end: Whether to pad frames that extend beyond the end of the signal with zeros.
      norm: ``"ortho"`` for an orthonormal transform.
      name: Not used.

    Returns:
      A tensor whose last axes are frames and ``frame_length // 2`` bins.

    Raises:
      ValueError: If an argument has another value, or the dtype is not float32 or float64.

    Example:
      >>> tf.signal.mdct(tf.range(8.0), 4, norm="ortho").numpy().round(3)
      array([[-2.804, -0.107],
             [-5.595,  0.351],
             [-8.386,  0.809]], dtype=float32)
    """
    half_length = _half(frame_length)
    _check_norm(norm)
    x = as_tensor(signals)
    if not x.ndim:
        raise ValueError(f"Shape {x.shape} must have rank at least 1")
    if not x.dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {x.dtype}")
    framed = frame(x, 2 * half_length, half_length, pad_end=pad_end)
    window = (window_fn or _root_half)(2 * half_length, dtype=x.dtype)
    a, b, c, d = split(framed * window, 4, axis=-1)
    folded_frames = concat([-reverse(c, [-1]) - d, a - reverse(b, [-1])], -1)
    return dct(folded_frames, 4, norm=norm)


def inverse_mdct(
    mdcts: TensorLike,
    window_fn: Callable[..., Any] | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Reconstruct signals from modified discrete cosine transforms, except at both ends.

    The squares of the window's halves must add up to 1, as those of `vorbis_window` do.

    Args:
      mdcts: A tensor of float32 or float64 whose last axes are frames and bins, an even number.
      window_fn: The window of `mdct`.
      norm: The ``norm`` of `mdct`.
      name: Not used.

    Returns:
      A tensor whose last axis has the samples.

    Raises:
      ValueError: If an argument is invalid, or there are fewer than two axes.

    Example:
      >>> x = tf.signal.mdct(tf.range(8.0), 4)
      >>> tf.signal.inverse_mdct(x).numpy().round(3)[2:6]
      array([2., 3., 4., 5.], dtype=float32)
    """
    x = as_tensor(mdcts)
    if x.ndim < 2:
        raise ValueError(f"Shape {x.shape} must have rank at least 2")
    _check_norm(norm)
    half_length = _half(2 * int(x.shape[-1]))
    block_pairs = idct(x, 4, norm=norm)
    if norm is None:
        block_pairs = block_pairs / (2 * half_length)
    second_block, first_block = split(block_pairs, 2, axis=-1)  # -c' - d and a - b'
    frames = concat(
        [first_block, -reverse(first_block, [-1]), -reverse(second_block, [-1]), -second_block], -1
    )
    window = (window_fn or _root_half)(2 * half_length, dtype=x.dtype)
    return overlap_and_add(frames * window, half_length)


_guard_module(__name__)
