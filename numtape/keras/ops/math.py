"""``tf.keras.ops``: segments, transforms and special functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ...core.log.as_tensor import as_tensor
from ...core.values.tensor import Tensor
from ..symbolic import KerasTensor
from .define import floats, op, promoted, shape_of, unary

if TYPE_CHECKING:
    from ...core.values.annotations import AxisLike, TensorLike

_ROWS = "ValueError: If ``segment_ids`` does not match ``data``."


def _segments(
    function: Callable[..., Any],
    data: TensorLike,
    segment_ids: TensorLike,
    number: Any,
    empty: float | None = None,
) -> Any:
    """Reduce segments; those without rows become ``empty`` if it is given and they are floats."""
    tensor, ids = as_tensor(data), tf.cast(segment_ids, tf.int32)
    if ids.ndim != 1:
        raise ValueError(f"Argument `segment_ids` should be an 1-D vector, got shape: {ids.shape}.")
    if tensor.ndim < 1 or tensor.shape[0] != ids.shape[0]:
        raise ValueError(
            f"Argument `segment_ids` and `data` should have same leading dimension. Got "
            f"{ids.shape} v.s. {tensor.shape}."
        )
    if number is None:
        number = int(np.asarray(tf.reduce_max(ids))) + 1 if math.prod(ids.shape) else 0
    result = function(tensor, ids, number)
    if empty is None or not tensor.dtype.is_floating:
        return result
    counts = tf.math.unsorted_segment_sum(tf.ones_like(ids), ids, number)
    is_empty = tf.reshape(counts == 0, [-1] + [1] * (result.ndim - 1))
    return tf.where(is_empty, tf.cast(empty, result.dtype), result)


def _infer_segments(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> KerasTensor:
    return KerasTensor((num_segments, *shape_of(data)[1:]), data.dtype)


@op("A tensor of ``num_segments`` rows.", _ROWS, result=_infer_segments)
def segment_sum(
    data: TensorLike,
    segment_ids: TensorLike,
    num_segments: int | None = None,
    sorted: bool = False,
) -> Any:
    """Return the sum of each segment.

    >>> tf.keras.ops.segment_sum([1.0, 2.0, 4.0], [0, 1, 1]).numpy()
    array([1., 6.], dtype=float32)
    """
    return _segments(tf.math.unsorted_segment_sum, data, segment_ids, num_segments)


@op("A tensor of ``num_segments`` rows.", _ROWS, result=_infer_segments)
def segment_max(
    data: TensorLike,
    segment_ids: TensorLike,
    num_segments: int | None = None,
    sorted: bool = False,
) -> Any:
    """Return the largest element of each segment.

    >>> tf.keras.ops.segment_max([1.0, 2.0, 4.0], [0, 1, 1]).numpy()
    array([1., 4.], dtype=float32)
    """
    return _segments(tf.math.unsorted_segment_max, data, segment_ids, num_segments, -math.inf)


@op("A tensor of ``num_segments`` rows.", _ROWS, result=_infer_segments)
def segment_min(
    data: TensorLike,
    segment_ids: TensorLike,
    num_segments: int | None = None,
    sorted: bool = False,
) -> Any:
    """Return the smallest element of each segment.

    >>> tf.keras.ops.segment_min([1.0, 2.0, 4.0], [0, 1, 1]).numpy()
    array([1., 2.], dtype=float32)
    """
    return _segments(tf.math.unsorted_segment_min, data, segment_ids, num_segments, math.inf)


@op("A tensor of ``num_segments`` rows.", _ROWS, result=_infer_segments)
def segment_prod(
    data: TensorLike,
    segment_ids: TensorLike,
    num_segments: int | None = None,
    sorted: bool = False,
) -> Any:
    """Return the product of each segment.

    >>> tf.keras.ops.segment_prod([1.0, 2.0, 4.0], [0, 1, 1]).numpy()
    array([1., 8.], dtype=float32)
    """
    return _segments(tf.math.unsorted_segment_prod, data, segment_ids, num_segments)


@op("A tuple: the values and their positions (int32).", "InvalidArgumentError: If k is too large.")
def top_k(x: TensorLike, k: int, sorted: bool = True) -> Any:
    """Return the largest elements of the last axis.

    >>> [part.numpy() for part in tf.keras.ops.top_k([1.0, 4.0, 2.0], 2)]
    [array([4., 2.], dtype=float32), array([1, 2], dtype=int32)]
    """
    return tf.math.top_k(x, k, sorted)


@op("A tensor of bool.", "InvalidArgumentError: If the shapes do not match.")
def in_top_k(targets: TensorLike, predictions: TensorLike, k: int) -> Any:
    """Return whether each target is among the k best predictions.

    >>> tf.keras.ops.in_top_k([1, 0], [[0.1, 0.9], [0.2, 0.8]], 1).numpy()
    array([ True, False])
    """
    return tf.math.in_top_k(tf.cast(targets, tf.int32), tf.cast(predictions, tf.float32), k)


@op(raises="InvalidArgumentError: If ``x`` has no such axis.")
def logsumexp(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Any:
    """Return log(sum(exp(x))).

    >>> tf.keras.ops.logsumexp([0.0, 1.0]).numpy()
    np.float32(1.3132616)
    """
    return tf.reduce_logsumexp(floats(x), axis, keepdims)


@op(raises="ValueError: If the last axes have different sizes.")
def cdist(x: TensorLike, y: TensorLike) -> Any:
    """Return the Euclidean distances of the rows of two matrices.

    >>> tf.keras.ops.cdist([[0.0, 0.0]], [[3.0, 4.0], [1.0, 0.0]]).numpy()
    array([[5., 1.]], dtype=float32)
    """
    first, second = promoted(x, y, floating=True)
    if first.ndim < 2 or second.ndim < 2:
        raise ValueError(f"`cdist` takes matrices, got {first.shape} and {second.shape}.")
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"The last axes differ: {first.shape} and {second.shape}.")
    difference = tf.expand_dims(first, -2) - tf.expand_dims(second, -3)
    squares = tf.reduce_sum(tf.square(difference), -1)
    # The derivative of the root at 0 is infinite; the distance's is taken as 0.
    is_zero = squares == 0
    root = tf.sqrt(tf.where(is_zero, tf.cast(1, squares.dtype), squares))
    return tf.where(is_zero, tf.cast(0, squares.dtype), root)


@op("A tensor (..., frames, sequence length).", "ValueError: If a length is not positive.")
def extract_sequences(x: TensorLike, sequence_length: int, sequence_stride: int) -> Any:
    """Return frames of the last axis.

    >>> tf.keras.ops.extract_sequences([1, 2, 3, 4], 2, 1).numpy()
    array([[1, 2],
           [2, 3],
           [3, 4]], dtype=int32)
    """
    tensor = as_tensor(x)
    if tensor.ndim < 1:
        raise ValueError(f"Input should have rank >= 1. Received: {tensor.shape}")
    return tf.signal.frame(tensor, sequence_length, sequence_stride)


# --- Fourier transforms --------------------------------------------------------------------------


def _to_complex(x: Any, rank: int = 1) -> Tensor:
    if not isinstance(x, tuple | list) or len(x) != 2:
        raise ValueError(
            f"Input `x` should be a tuple of two tensors - real and imaginary. Received: x={x}"
        )
    real, imaginary = promoted(*x, floating=True)
    if real.shape != imaginary.shape:
        raise ValueError(
            f"Input `x` should be a tuple of two tensors - real and imaginary. Both the real and "
            f"imaginary parts should have the same shape. Received: {real.shape} and "
            f"{imaginary.shape}"
        )
    if real.ndim < rank:
        raise ValueError(f"Input should have rank >= {rank}. Received: {real.shape}")
    return tf.complex(real, imaginary)


def _parts(x: Tensor) -> tuple[Tensor, Tensor]:
    return tf.math.real(x), tf.math.imag(x)


_PARTS = "A tuple: the real and the imaginary part."
_PAIR = "ValueError: If ``x`` is not a pair of tensors of the same shape."
_X = "A pair of tensors: the real and the imaginary part."


@op(_PARTS, _PAIR, x=_X)
def fft(x: Any) -> Any:
    """Return the Fourier transform along the last axis.

    >>> [part.numpy() for part in tf.keras.ops.fft(([1.0, 2.0], [0.0, 0.0]))]
    [array([ 3., -1.], dtype=float32), array([0., 0.], dtype=float32)]
    """
    return _parts(tf.signal.fft(_to_complex(x)))


@op(_PARTS, _PAIR, x=_X)
def fft2(x: Any) -> Any:
    """Return the Fourier transform along the last two axes.

    >>> [part.numpy() for part in tf.keras.ops.fft2(([[1.0, 2.0]], [[0.0, 0.0]]))]
    [array([[ 3., -1.]], dtype=float32), array([[0., 0.]], dtype=float32)]
    """
    return _parts(tf.signal.fft2d(_to_complex(x, 2)))


@op(_PARTS, _PAIR, x=_X)
def ifft2(x: Any) -> Any:
    """Return the inverse Fourier transform along the last two axes.

    >>> [part.numpy() for part in tf.keras.ops.ifft2(([[3.0, -1.0]], [[0.0, 0.0]]))]
    [array([[1., 2.]], dtype=float32), array([[0., 0.]], dtype=float32)]
    """
    return _parts(tf.signal.ifft2d(_to_complex(x, 2)))


@op(_PARTS, "TypeError: If ``x`` is complex.")
def rfft(x: TensorLike, fft_length: int | None = None) -> Any:
    """Return the Fourier transform of real numbers along the last axis.

    >>> [part.numpy() for part in tf.keras.ops.rfft([1.0, 2.0])]
    [array([ 3., -1.], dtype=float32), array([0., 0.], dtype=float32)]
    """
    tensor = floats(x)
    if tensor.ndim < 1:
        raise ValueError(f"Input should have rank >= 1. Received: {tensor.shape}")
    return _parts(tf.signal.rfft(tensor, None if fft_length is None else [fft_length]))


@op("A tensor of real numbers.", _PAIR, x=_X)
def irfft(x: Any, fft_length: int | None = None) -> Any:
    """Return the inverse of `rfft`.

    >>> tf.keras.ops.irfft(([3.0, -1.0], [0.0, 0.0])).numpy()
    array([1., 2.], dtype=float32)
    """
    return tf.signal.irfft(_to_complex(x), None if fft_length is None else [fft_length])


def _window(window: Any, length: int, fft_length: int, dtype: Any) -> Tensor:
    """Return a window, padded with zeros on both sides to the length of the transform."""
    if isinstance(window, str):
        windows = {"hann": np.hanning, "hamming": np.hamming}
        if window not in windows:
            raise ValueError(
                f"If a string is passed to `window`, it must be one of `hann`, `hamming`. "
                f"Received: window={window}"
            )
        values: Any = windows[window](length + 1)[:-1]  # periodic
    else:
        values = np.ones(length) if window is None else np.asarray(as_tensor(window))
    if values.shape != (length,):
        raise ValueError(
            f"The shape of `window` must be equal to [sequence_length]. Received: "
            f"window shape={values.shape}"
        )
    before = (fft_length - length) // 2
    return tf.cast(np.pad(values, (before, fft_length - length - before)), dtype)


def _check_lengths(sequence_length: int, sequence_stride: int, fft_length: int) -> None:
    for name, value in (
        ("sequence_length", sequence_length),
        ("sequence_stride", sequence_stride),
        ("fft_length", fft_length),
    ):
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"`{name}` must be a positive integer. Received: {name}={value}")
    if sequence_length > fft_length:
        raise ValueError(
            f"`fft_length` must equal or larger than `sequence_length`. Received: "
            f"{sequence_length=}, {fft_length=}"
        )


@op(
    "A tuple: the real and the imaginary part (..., frames, frequencies).",
    "ValueError: If the lengths do not match.",
)
def stft(
    x: TensorLike,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    window: Any = "hann",
    center: bool = True,
) -> Any:
    """Return the Fourier transform of windowed frames.

    >>> real, imaginary = tf.keras.ops.stft(tf.ones(8), 4, 2, 4)
    >>> real.shape
    TensorShape([5, 3])
    """
    _check_lengths(sequence_length, sequence_stride, fft_length)
    tensor = floats(x)
    weights = _window(window, sequence_length, fft_length, tensor.dtype)
    if center:
        half = fft_length // 2
        tensor = tf.pad(tensor, [[0, 0]] * (tensor.ndim - 1) + [[half, half]], "REFLECT")
    frames = tf.signal.frame(tensor, fft_length, sequence_stride)
    return _parts(tf.signal.rfft(frames * weights, [fft_length]))


@op("A tensor of real numbers.", "ValueError: If the lengths do not match.", x=_X)
def istft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: Any = "hann",
    center: bool = True,
) -> Any:
    """Return the sequence of which `stft` returned ``x``.

    >>> x = tf.keras.ops.stft([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 4, 1, 4)
    >>> tf.keras.ops.istft(x, 4, 1, 4).numpy().round(4)[1:]
    array([2., 3., 4., 5., 6., 7., 8.], dtype=float32)
    """
    _check_lengths(sequence_length, sequence_stride, fft_length)
    spectra = _to_complex(x, 2)
    frames = tf.signal.irfft(spectra, [fft_length])
    if window is not None:
        weights = np.asarray(_window(window, sequence_length, fft_length, frames.dtype))
        # Divide by the sum of squared windows that overlap in the middle of a long sequence.
        overlaps = -(-fft_length // sequence_stride)
        squares = np.pad(weights**2, (0, overlaps * sequence_stride - fft_length))
        norm = np.tile(squares.reshape(overlaps, -1).sum(0), overlaps)[:fft_length]
        frames = frames * (weights / np.where(norm == 0, 1, norm))
    total = tf.signal.overlap_and_add(frames, sequence_stride)
    start = fft_length // 2 if center else 0
    size = int(total.shape[-1])
    end = size - fft_length // 2 if center else size
    if length is not None:
        end = start + length
        if end > size:
            paddings = [[0, 0]] * (total.ndim - 1) + [[0, end - size]]
            total = tf.pad(total, paddings)
    return total[..., start:end]


# --- Special functions ---------------------------------------------------------------------------

rsqrt = unary(
    "rsqrt", tf.math.rsqrt, "Return 1 / sqrt(x).", "[1.0, 4.0]", "array([1. , 0.5], dtype=float32)"
)
erf = unary(
    "erf",
    tf.math.erf,
    "Return the error function.",
    "[0.0, 1.0]",
    "array([0. , 0.8427008], dtype=float32)",
)
erfc = unary(
    "erfc",
    tf.math.erfc,
    "Return 1 - erf(x).",
    "[0.0, 1.0]",
    "array([1. , 0.1572992], dtype=float32)",
)
erfinv = unary(
    "erfinv",
    tf.math.erfinv,
    "Return the inverse of erf.",
    "[0.0, 0.5]",
    "array([0. , 0.47693628], dtype=float32)",
)
logdet = unary(
    "logdet",
    lambda x: tf.linalg.slogdet(x)[1],
    "Return the logarithm of the determinant's absolute value.",
    "[[2.0, 0.0], [0.0, 3.0]]",
    "np.float32(1.7917595)",
)


@op("A complex tensor without the last axis.", "ValueError: If the last axis is not of size 2.")
def view_as_complex(x: TensorLike) -> Any:
    """Return complex numbers from pairs of real and imaginary parts.

    >>> tf.keras.ops.view_as_complex([[1.0, 2.0]]).numpy()
    array([1.+2.j], dtype=complex64)
    """
    tensor = floats(x)
    if tensor.ndim < 1 or tensor.shape[-1] != 2:
        raise ValueError(
            f"Last dimension of input must be size 2 (real and imaginary). Received: {tensor.shape}"
        )
    return tf.complex(tensor[..., 0], tensor[..., 1])


@op("A tensor with a last axis of size 2.")
def view_as_real(x: TensorLike) -> Any:
    """Return pairs of real and imaginary parts.

    >>> tf.keras.ops.view_as_real([1 + 2j]).numpy()
    array([[1., 2.]])
    """
    tensor = as_tensor(x)
    if not tensor.dtype.is_complex:
        return tf.stack([tensor, tf.zeros_like(tensor)], -1)
    return tf.stack(_parts(tensor), -1)
