"""Fourier transforms of the array API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import numtape as tf

from ..core.values.dtypes import DType, as_dtype
from ..core.values.tensor import Tensor
from .creation import check_device
from .define import Array, axes_of, function, tensor_of
from .manipulation import roll

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

_X = "tf.constant([1.0, 0.0])"


def __dir__() -> list[str]:
    return sorted(__all__)


def _to_complex(x: Tensor) -> Tensor:
    if x.dtype.is_complex:
        return x
    return tf.cast(x, tf.complex128 if x.dtype is tf.float64 else tf.complex64)


def _resized(x: Tensor, n: int, axis: int) -> Tensor:
    """Cut or pad an axis at its end."""
    size = x.shape[axis]
    if n < size:
        return tf.gather(x, tf.range(n), axis=axis)
    if n > size:
        return tf.pad(x, [[0, n - size if k == axis else 0] for k in range(x.ndim)])
    return x


def _scale(norm: str, n: int, inverse: bool) -> float:
    """Return the factor of a transform that is unscaled forward and scaled by 1 / n backward."""
    if norm not in ("backward", "ortho", "forward"):
        raise ValueError(f"The norm is backward, ortho or forward, not {norm!r}.")
    if norm == "ortho":
        return float(n**0.5 if inverse else n**-0.5)
    if norm == "forward":
        return float(n if inverse else 1.0 / n)
    return 1.0


def _along(compute: Any, x: Tensor, n: int, axis: int, factor: float) -> Tensor:
    """Transform one axis."""
    last = x.ndim - 1
    order = [*(k for k in range(x.ndim) if k != axis), axis]
    moved = x if axis == last else tf.transpose(x, order)
    result: Tensor = compute(moved)
    if axis != last:
        result = tf.transpose(result, [order.index(k) for k in range(x.ndim)])
    return result if factor == 1.0 else result * tf.constant(factor, result.dtype)


def _complex(x: Array, n: int | None, axis: int, norm: str, inverse: bool) -> Tensor:
    tensor = _to_complex(tensor_of(x))
    (number,) = axes_of(axis, tensor.ndim)
    n = tensor.shape[number] if n is None else n
    tensor = _resized(tensor, n, number)
    compute = tf.signal.ifft if inverse else tf.signal.fft
    return _along(compute, tensor, n, number, _scale(norm, n, inverse))


def _several(
    one: Any,
    x: Array,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str,
) -> Tensor:
    tensor = tensor_of(x)
    for n, axis in _lengths(tensor, s, axes):
        tensor = one(tensor, n=n, axis=axis, norm=norm)
    return tensor


def _lengths(
    x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None
) -> list[tuple[int, int]]:
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    numbers = axes_of(tuple(axes), x.ndim)
    sizes = [x.shape[k] for k in numbers] if s is None else list(s)
    if len(sizes) != len(numbers):
        raise ValueError(f"{len(sizes)} lengths for {len(numbers)} axes.")
    return [(x.shape[k] if n == -1 else n, k) for n, k in zip(sizes, numbers, strict=True)]


@function(f"xp.fft.fft({_X}).numpy()", "array([1.+0.j, 1.+0.j], dtype=complex64)")
def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the discrete Fourier transform along an axis."""
    return _complex(x, n, axis, norm, False)


@function(f"xp.fft.ifft({_X}).numpy()", "array([0.5+0.j, 0.5+0.j], dtype=complex64)")
def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the inverse of `fft`."""
    return _complex(x, n, axis, norm, True)


@function(f"xp.fft.fftn({_X}).numpy()", "array([1.+0.j, 1.+0.j], dtype=complex64)")
def fftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Return the discrete Fourier transform along several axes."""
    return _several(fft, x, s, axes, norm)


@function(f"xp.fft.ifftn({_X}).numpy()", "array([0.5+0.j, 0.5+0.j], dtype=complex64)")
def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Return the inverse of `fftn`."""
    return _several(ifft, x, s, axes, norm)


@function(f"xp.fft.rfft({_X}).numpy()", "array([1.+0.j, 1.+0.j], dtype=complex64)")
def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the first half of the transform of real numbers."""
    tensor = tensor_of(x)
    (number,) = axes_of(axis, tensor.ndim)
    n = tensor.shape[number] if n is None else n
    tensor = _resized(tensor, n, number)
    return _along(tf.signal.rfft, tensor, n, number, _scale(norm, n, False))


@function(f"xp.fft.irfft({_X}).numpy()", "array([0.5, 0.5], dtype=float32)")
def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the inverse of `rfft`: real numbers."""
    tensor = _to_complex(tensor_of(x))
    (number,) = axes_of(axis, tensor.ndim)
    length = 2 * (tensor.shape[number] - 1) if n is None else n
    tensor = _resized(tensor, length // 2 + 1, number)

    def compute(y: Tensor) -> Tensor:
        return tf.signal.irfft(y, [length])

    return _along(compute, tensor, length, number, _scale(norm, length, True))


@function(f"xp.fft.rfftn({_X}).numpy()", "array([1.+0.j, 1.+0.j], dtype=complex64)")
def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Return the transform of real numbers along several axes; the last is halved."""
    tensor = tensor_of(x)
    *others, (n, last) = _lengths(tensor, s, axes)
    result = rfft(tensor, n=n, axis=last, norm=norm)
    for size, axis in others:
        result = fft(result, n=size, axis=axis, norm=norm)
    return result


@function(f"xp.fft.irfftn({_X}).numpy()", "array([0.5, 0.5], dtype=float32)")
def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Return the inverse of `rfftn`: real numbers."""
    tensor = _to_complex(tensor_of(x))
    *others, (n, last) = _lengths(tensor, s, axes)
    for size, axis in others:
        tensor = ifft(tensor, n=size, axis=axis, norm=norm)
    is_given = s is not None and s[-1] != -1
    return irfft(tensor, n=n if is_given else None, axis=last, norm=norm)


_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


@function(f"xp.fft.hfft({_X}).numpy()", "array([1., 1.], dtype=float32)")
def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the transform of a signal whose other half is the conjugate: real numbers."""
    tensor = tf.math.conj(_to_complex(tensor_of(x)))
    return irfft(tensor, n=n, axis=axis, norm=_OPPOSITE.get(norm, norm))


@function(f"xp.fft.ihfft({_X}).numpy()", "array([0.5-0.j, 0.5-0.j], dtype=complex64)")
def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the inverse of `hfft`."""
    return tf.math.conj(rfft(x, n=n, axis=axis, norm=_OPPOSITE.get(norm, norm)))


def _frequencies(numbers: np.ndarray[Any, Any], dtype: DType | None, device: str | None) -> Tensor:
    check_device(device)
    target = tf.float32 if dtype is None else as_dtype(dtype)
    return tf.constant(numbers.astype(target.numpy_dtype))


@function("xp.fft.fftfreq(4).numpy()", "array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)")
def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None
) -> Tensor:
    """Return the frequencies of the elements of `fft`."""
    return _frequencies(np.fft.fftfreq(n, d), dtype, device)


@function("xp.fft.rfftfreq(4).numpy()", "array([0.  , 0.25, 0.5 ], dtype=float32)")
def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None
) -> Tensor:
    """Return the frequencies of the elements of `rfft`."""
    return _frequencies(np.fft.rfftfreq(n, d), dtype, device)


@function("xp.fft.fftshift(tf.constant([0, 1, 2])).numpy()", "array([2, 0, 1], dtype=int32)")
def fftshift(x: Array, /, *, axes: int | tuple[int, ...] | None = None) -> Tensor:
    """Move the frequency 0 to the middle."""
    numbers = axes_of(axes, x.ndim)
    return roll(x, tuple(x.shape[k] // 2 for k in numbers), axis=tuple(numbers))


@function("xp.fft.ifftshift(tf.constant([2, 0, 1])).numpy()", "array([0, 1, 2], dtype=int32)")
def ifftshift(x: Array, /, *, axes: int | tuple[int, ...] | None = None) -> Tensor:
    """Return the inverse of `fftshift`."""
    numbers = axes_of(axes, x.ndim)
    return roll(x, tuple(-(x.shape[k] // 2) for k in numbers), axis=tuple(numbers))
