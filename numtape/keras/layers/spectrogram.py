"""`STFTSpectrogram` and `MelSpectrogram`: spectra of the frames of audio signals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compat.traceback_filter import warn
from ...core.ops import elementwise, movement
from ...core.ops.creation import constant
from ...core.ops.elementwise import cast, maximum, square
from ...core.ops.joining import concat
from ...core.ops.matrix_products import tensordot
from ...core.ops.reduction import reduce_max
from ...core.values.tensor import Tensor
from .. import initializers
from ..input_spec import InputSpec
from ..layer import operand
from ..settings import epsilon
from ..symbolic import operation_function
from .base import ConfiguredLayer, Shape, document, parse_data_format, parse_padding
from .convolution import CONVOLUTIONS, window_counts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..annotations import InputShape

_MODES = ("log", "magnitude", "psd", "real", "imag", "angle", "stft")


@document(
    "ValueError: If an argument is out of range or a name unknown.\nTypeError: At a call, if the "
    "signals are not floats.",
    mode='The result: "log", "magnitude", "psd" (the power), "real", "imag", "angle", or "stft", '
    "the real followed by the imaginary parts.",
    frame_length="The number of samples in a frame.",
    frame_step="The distance between frames; None for half of a frame.",
    fft_length="The length of the transform; None for the next power of two.",
    window='The window: "hann", "hamming", another name that SciPy knows, its values, or None.',
    periodic="Whether the window is periodic.",
    scaling='"density", "spectrum", or None: the norm by which the window is divided.',
    expand_dims="Whether frequencies and channels are separate axes, as of an image.",
)
class STFTSpectrogram(ConfiguredLayer):
    """The short-time Fourier transform of signals, of shape (batch, samples, channels).

    The transform is a convolution whose kernels are weights, so it can be trained.

    >>> layer = tf.keras.layers.STFTSpectrogram(frame_length=16, frame_step=8)
    >>> layer(tf.ones((2, 64, 1))).shape
    TensorShape([2, 7, 9])
    """

    def __init__(
        self,
        mode: str = "log",
        frame_length: int = 256,
        frame_step: int | None = None,
        fft_length: int | None = None,
        window: str | ArrayLike | None = "hann",
        periodic: bool = False,
        scaling: str | None = "density",
        padding: str = "valid",
        expand_dims: bool = False,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        if frame_step is not None and not 1 <= frame_step <= frame_length:
            raise ValueError(
                f"`frame_step` should be a positive integer not greater than `frame_length`. "
                f"Received frame_step={frame_step}, frame_length={frame_length}"
            )
        if fft_length is not None and fft_length < frame_length:
            raise ValueError(
                f"`fft_length` should be not less than `frame_length`. Received "
                f"fft_length={fft_length}, frame_length={frame_length}"
            )
        if fft_length is not None and fft_length & -fft_length != fft_length:
            warn(
                f"`fft_length` is recommended to be a power of two. Received "
                f"fft_length={fft_length}"
            )
        if mode not in _MODES:
            raise ValueError(
                f"Output mode is invalid, it must be one of {', '.join(_MODES)}. Received: "
                f"mode={mode}"
            )
        if padding not in ("valid", "same"):
            raise ValueError(
                f"Padding is invalid, it should be 'valid', 'same'. Received: padding={padding}"
            )
        initializers.STFT("real", window, scaling, periodic)  # checks the window and the scaling
        super().__init__(**kwargs)
        self._nt_set_arguments(
            mode=mode,
            frame_length=frame_length,
            frame_step=frame_step,
            fft_length=fft_length,
            window=window,
            periodic=periodic,
            scaling=scaling,
            padding=parse_padding(padding),
            expand_dims=expand_dims,
            data_format=parse_data_format(data_format),
        )
        self._nt_step = frame_step or frame_length // 2
        self._nt_fft_length = fft_length or 2 ** math.ceil(math.log2(frame_length))
        self.input_spec = InputSpec(ndim=3)

    def build(self, input_shape: InputShape) -> None:
        """Create the kernels of the real and of the imaginary part."""
        shape = (self.frame_length, 1, self._nt_fft_length // 2 + 1)
        for part, other in (("real", "imag"), ("imag", "real")):
            if self.mode != other:
                initializer = initializers.STFT(part, self.window, self.scaling, self.periodic)
                setattr(
                    self,
                    f"{part}_kernel",
                    self.add_weight(shape, initializer, name=f"{part}_kernel"),
                )

    def _nt_part(self, x: Tensor, part: str) -> Tensor:
        """Return a part of the transform, of shape (batch, channels, frames, frequencies)."""
        batch, channels, length = x.shape
        signals = movement.reshape(x, (batch * channels, length, 1))
        result = CONVOLUTIONS[1](
            signals,
            cast(operand(getattr(self, f"{part}_kernel")), x.dtype),
            [1, self._nt_step, 1],
            self.padding.upper(),
            "NWC",
            [1, 1, 1],
        )
        shape = (batch, channels, *result.shape[1:])
        reshaped: Tensor = movement.reshape(result, shape)
        return reshaped

    def call(self, inputs: Tensor) -> Tensor:
        """Return the spectrogram."""
        if not inputs.dtype.is_floating:
            raise TypeError(
                f"Invalid input type. Expected `float16`, `float32` or `float64`. Received: input "
                f"type={inputs.dtype.name}"
            )
        is_last = self.data_format == "channels_last"
        x = movement.transpose(inputs, (0, 2, 1)) if is_last else inputs
        real = self._nt_part(x, "real") if self.mode != "imag" else None
        imag = self._nt_part(x, "imag") if self.mode != "real" else None
        result = self._nt_combine(real, imag)
        batch, channels, frames, frequencies = result.shape
        if self.expand_dims:
            return movement.transpose(result, (0, 2, 3, 1)) if is_last else result
        if is_last:
            moved = movement.transpose(result, (0, 2, 1, 3))
            return movement.reshape(moved, (batch, frames, channels * frequencies))
        moved = movement.transpose(result, (0, 1, 3, 2))
        return movement.reshape(moved, (batch, channels * frequencies, frames))

    def _nt_combine(self, real: Any, imag: Any) -> Tensor:
        """Return the values of the mode for real and imaginary parts."""
        if self.mode in ("real", "imag"):
            part: Tensor = real if self.mode == "real" else imag
            return part
        if self.mode == "angle":
            return elementwise.atan2(imag, real)
        if self.mode == "stft":
            return concat([real, imag], -1)
        power = square(real) + square(imag)
        if self.mode == "psd":  # all but the first and the last frequency occur twice
            factors = np.full(int(power.shape[-1]), 2.0)
            factors[[0, -1]] = 1.0
            return power * constant(factors, power.dtype)
        magnitude = elementwise.sqrt(maximum(power, epsilon()))
        if self.mode == "magnitude":
            return magnitude
        return elementwise.log(maximum(magnitude, epsilon()))

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the spectrogram."""
        batch, length, channels = tuple(input_shape)
        if self.data_format == "channels_first":
            length, channels = channels, length
        frequencies = (self._nt_fft_length // 2 + 1) * (2 if self.mode == "stft" else 1)
        (frames,) = window_counts(
            (length,), (self.frame_length,), (self._nt_step,), (1,), self.padding
        )
        if self.expand_dims:
            if self.data_format == "channels_last":
                return (batch, frames, frequencies, channels)
            return (batch, channels, frames, frequencies)
        features = None if channels is None else frequencies * channels
        if self.data_format == "channels_last":
            return (batch, frames, features)
        return (batch, features, frames)


@document(
    "ValueError: If ``fft_length`` is smaller than ``sequence_length``.",
    fft_length="The length of the transform.",
    sequence_stride="The distance between frames.",
    sequence_length="The number of samples in a frame; None for ``fft_length``.",
    window='The window: "hann", "hamming", its values, or None.',
    sampling_rate="The number of samples a second.",
    num_mel_bins="The number of mel bands.",
    min_freq="The lower edge of the lowest band, in Hertz.",
    max_freq="The upper edge of the highest band; None for half of the sampling rate.",
    power_to_db="Whether to return decibels.",
    top_db="The largest distance to the maximum, in decibels.",
    mag_exp="The power of the magnitude: 1 for magnitudes, 2 for powers.",
    min_power="The smallest value before the logarithm.",
    ref_power="The power that is 0 decibels.",
)
class MelSpectrogram(ConfiguredLayer):
    """The power of signals in bands of the mel scale, of shape (..., bands, frames).

    >>> layer = tf.keras.layers.MelSpectrogram(fft_length=32, sequence_stride=16, num_mel_bins=4)
    >>> layer(tf.ones((2, 64))).shape
    TensorShape([2, 4, 5])
    """

    def __init__(
        self,
        fft_length: int = 2048,
        sequence_stride: int = 512,
        sequence_length: int | None = None,
        window: str | ArrayLike | None = "hann",
        sampling_rate: int = 16000,
        num_mel_bins: int = 128,
        min_freq: float = 20.0,
        max_freq: float | None = None,
        power_to_db: bool = True,
        top_db: float = 80.0,
        mag_exp: float = 2.0,
        min_power: float = 1e-10,
        ref_power: float = 1.0,
        **kwargs: Any,
    ) -> None:
        length = sequence_length or fft_length
        if fft_length < length:
            raise ValueError(
                f"`fft_length` must be greater than or equal to `sequence_length`. Received: "
                f"`sequence_length`={length}, `fft_length`={fft_length}."
            )
        super().__init__(**kwargs)
        self._nt_set_arguments(
            fft_length=fft_length,
            sequence_stride=sequence_stride,
            sequence_length=length,
            window=window,
            sampling_rate=sampling_rate,
            num_mel_bins=num_mel_bins,
            min_freq=min_freq,
            max_freq=max_freq or int(sampling_rate / 2),
            power_to_db=power_to_db,
            top_db=top_db,
            mag_exp=mag_exp,
            min_power=min_power,
            ref_power=ref_power,
        )

    def call(self, inputs: Tensor) -> Tensor:
        """Return the spectrogram."""
        stft = operation_function("STFT")
        x = self._nt_floats(inputs)
        x = x if x.dtype.size >= 4 else cast(x, "float32")
        real, imag = stft(
            x, self.sequence_length, self.sequence_stride, self.fft_length, self.window, True
        )
        magnitude = elementwise.sqrt(square(real) + square(imag))
        spectrum = magnitude**self.mag_exp
        matrix = constant(self.linear_to_mel_weight_matrix(), x.dtype)
        result = tensordot(spectrum, matrix, 1)
        if self.power_to_db:
            result = 10.0 / math.log(10.0) * elementwise.log(maximum(result, self.min_power))
            result = result - 10.0 * math.log10(max(abs(self.ref_power), self.min_power))
            result = maximum(result, reduce_max(result) - self.top_db)
        order = (*range(result.ndim - 2), result.ndim - 1, result.ndim - 2)
        return cast(movement.transpose(result, order), self._nt_dtype)

    def linear_to_mel_weight_matrix(self) -> Any:
        """Return the weight of each frequency in each band, by the scale of the HTK toolkit.

        Returns:
          An array of shape (``fft_length // 2 + 1``, ``num_mel_bins``).
        """

        def to_mel(hertz: Any) -> Any:
            return 1127.0 * np.log(1.0 + hertz / 700.0)

        bins = self.fft_length // 2 + 1
        mels = to_mel(np.linspace(0.0, self.sampling_rate / 2.0, bins)[1:, None])
        edges = np.linspace(to_mel(self.min_freq), to_mel(self.max_freq), self.num_mel_bins + 2)
        lower, center, upper = edges[:-2], edges[1:-1], edges[2:]
        rising, falling = (mels - lower) / (center - lower), (upper - mels) / (upper - center)
        weights = np.maximum(0.0, np.minimum(rising, falling))
        return np.pad(weights, ((1, 0), (0, 0)))

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the spectrogram."""
        *batch, length = tuple(input_shape)
        stride = self.sequence_stride
        frames = None if length is None else (length + stride + 1) // stride
        return (*batch, self.num_mel_bins, frames)
