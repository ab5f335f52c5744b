"""Discrete Fourier and cosine transforms over the last axes, computed by SciPy's pocketfft.

The ops at the top are N-dimensional; ``_make_*`` build the public functions (`fft`, `rfft2d`
and so on) from them, with their docstrings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DtypeError
from ..log.as_tensor import as_tensor, to_tensor
from ..log.op import ARRAY, Op, defop
from ..log.record import record, require, spec_of
from ..values import dtypes
from ..values.spec import Spec, axes_of, intern
from ..values.tensor import Tensor
from .complex import complex_, real
from .joining import concat
from .padding import pad
from .slicing import strided_slice

if TYPE_CHECKING:
    from ..values.annotations import AxisLike, IntLike, ShapeLike, TensorLike

Array = np.ndarray[Any, Any]


def _last_axes(axes: int) -> tuple[int, ...]:
    return tuple(range(-axes, 0))


def _complex_spec(op: Op, x: Spec, axes: int) -> Spec:
    if not x.dtype.is_complex:
        raise DtypeError(
            f"Value for attr 'Tcomplex' of {x.dtype.name} is not in the list of allowed values: "
            f"complex64, complex128 [Op:{op.name}]. Use `cast`, or `rfft` for real numbers."
        )
    _check_rank(op, x, axes)
    return x


def _check_rank(op: Op | str, x: Spec, axes: int) -> None:
    require(x.rank >= axes, op, f"Input must have rank of at least {axes} but got: {[*x.shape]}")


def _rfft_spec(op: Op, x: Spec, axes: int) -> Spec:
    dtype = dtypes.complex64 if x.dtype is dtypes.float32 else dtypes.complex128
    return intern((*x.shape[:-1], x.shape[-1] // 2 + 1 if x.size else 0), dtype)


def _irfft_spec(op: Op, x: Spec, axes: int, n: int) -> Spec:
    return intern((*x.shape[:-1], n), x.dtype.real_dtype)


def _scipy_fft(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(import_module("scipy.fft"), name)
    return function


def _make_compute(name: str) -> Callable[..., None]:
    def compute(out: Array, x: Array, axes: int, norm: str) -> None:
        if out.size:
            out[...] = _scipy_fft(name)(x, axes=_last_axes(axes), norm=norm)

    return compute


def _irfft(out: Array, x: Array, axes: int, n: int, norm: str = "backward") -> None:
    if out.size:
        lengths = (*x.shape[-axes:-1], n)
        out[...] = _scipy_fft("irfftn")(x, lengths, axes=_last_axes(axes), norm=norm)


# The norm "forward" divides by the number of elements in the transform, and not in its inverse.
# Then one transform is the adjoint of the other.
_OTHER_NORM = {"backward": "forward", "forward": "backward"}

_FFT = defop(
    "FFT",
    ARRAY,
    1,
    lambda op, x, axes, norm: _complex_spec(op, x, axes),
    compute=_make_compute("fftn"),
    on_host=True,
    complex_vjp="explicit",
    vjp=lambda g, y, x, axes, norm: (record(_IFFT, (g,), axes=axes, norm=_OTHER_NORM[norm]),),
)
_IFFT: Op = defop(
    "IFFT",
    ARRAY,
    1,
    lambda op, x, axes, norm: _complex_spec(op, x, axes),
    compute=_make_compute("ifftn"),
    on_host=True,
    complex_vjp="explicit",
    vjp=lambda g, y, x, axes, norm: (record(_FFT, (g,), axes=axes, norm=_OTHER_NORM[norm]),),
)
_RFFT: Op = defop(
    "RFFT",
    ARRAY,
    1,
    _rfft_spec,
    compute=lambda out, x, axes: _make_compute("rfftn")(out, x, axes, "backward"),
    vjp=lambda g, y, x, axes: (record(_RFFT_ADJOINT, (g,), axes=axes, n=x.shape[-1]),),
    on_host=True,
    complex_vjp="explicit",
)
_IRFFT: Op = defop(
    "IRFFT",
    ARRAY,
    1,
    _irfft_spec,
    compute=_irfft,
    vjp=lambda g, y, x, axes, n: (record(_IRFFT_ADJOINT, (g,), axes=axes),),
    on_host=True,
    complex_vjp="explicit",
)


# Adjoints of the transforms of real numbers. Each element of a half spectrum but the first, and
# the last of an even length, stands for two conjugate elements of the full spectrum.


@lru_cache(maxsize=16)
def _weights(n: int, dtype: str, inner: float) -> Array:
    """``inner`` for the elements that stand for two in a spectrum of ``n`` numbers, 1 for others.

    There are two equal weights for each element, for its parts.
    """
    weights = np.ones(n // 2 + 1, dtype)
    weights[1 : (n + 1) // 2] = inner
    return np.repeat(weights, 2)


def _rfft_adjoint(out: Array, g: Array, axes: int, n: int) -> None:
    """The other halves of the adjoints are zeros, so conjugate elements get half of them each."""
    if out.size:
        parts = np.ascontiguousarray(g).view(out.dtype) * _weights(n, out.dtype.name, 0.5)
        _irfft(out, parts.view(g.dtype), axes, n, "forward")


def _irfft_adjoint(out: Array, g: Array, axes: int) -> None:
    if out.size:
        spectrum = _scipy_fft("rfftn")(g, axes=_last_axes(axes), norm="forward")
        weights = _weights(g.shape[-1], g.dtype.name, 2.0)
        np.multiply(spectrum.view(g.dtype), weights, out=out.view(g.dtype))


_RFFT_ADJOINT: Op = defop(
    "RFFTAdjoint",
    ARRAY,
    1,
    _irfft_spec,
    compute=_rfft_adjoint,
    vjp=lambda g, y, x, axes, n: (record(_RFFT, (g,), axes=axes),),
    on_host=True,
    complex_vjp="explicit",
)
_IRFFT_ADJOINT: Op = defop(
    "IRFFTAdjoint",
    ARRAY,
    1,
    _rfft_spec,
    compute=_irfft_adjoint,
    vjp=lambda g, y, x, axes: (record(_IRFFT, (g,), axes=axes, n=x.shape[-1]),),
    on_host=True,
    complex_vjp="explicit",
)


def _fit_lengths(x: Tensor, lengths: tuple[int, ...]) -> Tensor:
    """Truncate or zero-pad the last axes to ``lengths``."""
    batch_rank = x.ndim - len(lengths)
    sizes = tuple(x.shape[batch_rank:])
    if sizes == lengths:
        return x
    if any(size > length for size, length in zip(sizes, lengths, strict=True)):
        slices = [(0, min(pair), 1) for pair in zip(sizes, lengths, strict=True)]
        x = strided_slice(x, (*((0, dim, 1) for dim in x.shape[:batch_rank]), *slices))
    padding = [[0, max(0, n - size)] for size, n in zip(sizes, lengths, strict=True)]
    return pad(x, [*[[0, 0]] * batch_rank, *padding]) if any(after for _, after in padding) else x


def _as_complex_tensor(value: TensorLike) -> Tensor:
    """Convert to a tensor; Python and NumPy values become complex64, as in TensorFlow."""
    return as_tensor(value) if spec_of(value) is not None else to_tensor(value, dtypes.complex64)


def _parse_fft_length(op: str, fft_length: ShapeLike, axes: int) -> tuple[int, ...]:
    lengths = tuple(int(n) for n in np.asarray(fft_length))
    require(len(lengths) == axes, op, f"fft_length must have shape [{axes}]")
    require(min(lengths) >= 0, op, f"fft_length must be >= 0, got {list(lengths)}")
    return lengths


def _make_complex_transform(axes: int, op: Op, inverse: bool) -> Callable[..., Tensor]:
    kind = "inverse discrete" if inverse else "discrete"
    name = f"{'i' if inverse else ''}fft{'' if axes == 1 else f'{axes}d'}"

    def transform(input: TensorLike, name: str | None = None) -> Tensor:
        return record(op, (_as_complex_tensor(input),), axes=axes, norm="backward")

    example_input = "[" * axes + "1, 0" + "]" * axes
    example_output = "[" * axes + ("0.5+0.j, 0.5+0.j" if inverse else "1.+0.j, 1.+0.j") + "]" * axes
    return _set_name_and_docstring(
        transform,
        name,
        f"""Compute the {kind} Fourier transform over {_axes_text(axes)}.

    Args:
      input: A tensor of complex64 or complex128.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.{" It is divided by the number of elements." * inverse}

    Raises:
      InvalidArgumentError: If the input is not complex, or has too few axes.

    Example:
      >>> tf.signal.{name}({example_input}).numpy()
      array({example_output}, dtype=complex64)
    """,
    )


def _axes_text(axes: int) -> str:
    return "the last axis" if axes == 1 else f"the last {axes} axes"


def _set_name_and_docstring(
    function: Callable[..., Tensor], name: str, text: str
) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    documented: Callable[..., Tensor] = function
    return documented


def _make_rfft(axes: int) -> Callable[..., Tensor]:
    name = f"rfft{'' if axes == 1 else f'{axes}d'}"

    def transform(
        input_tensor: TensorLike, fft_length: ShapeLike | None = None, name: str | None = None
    ) -> Tensor:
        x = input_tensor
        if spec_of(x) is None:
            x = to_tensor(x, dtypes.float32)
        x = as_tensor(x)
        if x.dtype not in (dtypes.float32, dtypes.float64):
            raise ValueError(f"RFFT requires tf.float32 or tf.float64 inputs, got: {x.dtype!r}")
        _check_rank("RFFT", x._spec, axes)
        if fft_length is not None:
            x = _fit_lengths(x, _parse_fft_length("RFFT", fft_length, axes))
        return record(_RFFT, (x,), axes=axes)

    example_input = "[" * axes + "1, 0" + "]" * axes
    example_output = "[" * axes + "1.+0.j, 1.+0.j" + "]" * axes
    return _set_name_and_docstring(
        transform,
        name,
        f"""Compute the Fourier transform of real numbers over {_axes_text(axes)}.

    Only ``n // 2 + 1`` elements of the last axis are returned. The others are the conjugates of
    these.

    Args:
      input_tensor: A tensor of float32 or float64.
      fft_length: A list of the lengths of the transformed axes. Longer axes are truncated, shorter
        ones padded with zeros. None: the sizes of the input.
      name: Not used.

    Returns:
      A tensor of complex64 (of float32) or complex128 (of float64).

    Raises:
      ValueError: If the dtype is not float32 or float64.
      InvalidArgumentError: If there are too few axes, or the number of lengths is wrong.

    Example:
      >>> tf.signal.{name}({example_input}).numpy()
      array({example_output}, dtype=complex64)
    """,
    )


def _make_irfft(axes: int) -> Callable[..., Tensor]:
    name = f"irfft{'' if axes == 1 else f'{axes}d'}"

    def transform(
        input_tensor: TensorLike, fft_length: ShapeLike | None = None, name: str | None = None
    ) -> Tensor:
        x = input_tensor
        if spec_of(x) is None:
            x = _as_complex_tensor(x)
        x = as_tensor(x)
        if not x.dtype.is_complex:
            raise ValueError(
                f"IRFFT requires tf.complex64 or tf.complex128 inputs, got: {x.dtype!r}"
            )
        _check_rank("IRFFT", x._spec, axes)
        if fft_length is None:
            lengths = (*x.shape[-axes:-1], max(0, 2 * (x.shape[-1] - 1)))
        else:
            lengths = _parse_fft_length("IRFFT", fft_length, axes)
        if not lengths[-1]:
            leading = tuple((0, dim, 1) for dim in x.shape[:-1])
            return real(strided_slice(x, (*leading, (0, 0, 1))))
        x = _fit_lengths(x, (*lengths[:-1], lengths[-1] // 2 + 1))
        return record(_IRFFT, (x,), axes=axes, n=lengths[-1])

    example_input = "[" * axes + "1, 1" + "]" * axes
    example_output = "[" * axes + "1., 0." + "]" * axes
    return _set_name_and_docstring(
        transform,
        name,
        f"""Compute the inverse of `{name[1:]}` over {_axes_text(axes)}.

    Args:
      input_tensor: A tensor of complex64 or complex128, ``n // 2 + 1`` elements of the last axis.
      fft_length: A list of the lengths of the result's axes. None: the sizes of the input, and
        ``2 * (n - 1)`` for the last axis.
      name: Not used.

    Returns:
      A tensor of float32 (of complex64) or float64 (of complex128).

    Raises:
      ValueError: If the dtype is not complex.
      InvalidArgumentError: If there are too few axes, or the number of lengths is wrong.

    Example:
      >>> tf.signal.{name}({example_input}).numpy()
      array({example_output}, dtype=float32)
    """,
    )


fft, fft2d, fft3d = (_make_complex_transform(axes, _FFT, False) for axes in (1, 2, 3))
ifft, ifft2d, ifft3d = (_make_complex_transform(axes, _IFFT, True) for axes in (1, 2, 3))
rfft, rfft2d, rfft3d = map(_make_rfft, (1, 2, 3))
irfft, irfft2d, irfft3d = map(_make_irfft, (1, 2, 3))


def _roll_axes(x: TensorLike, axes: AxisLike, split_point: Callable[[int], int]) -> Tensor:
    result = as_tensor(x)
    for axis in axes_of("Roll", axes, result.ndim):
        slices = [(0, dim, 1) for dim in result.shape]
        n = result.shape[axis]
        split = split_point(n)
        parts = []
        for start, stop in ((split, n), (0, split)):
            slices[axis] = (start, stop, 1)
            parts.append(strided_slice(result, tuple(slices)))
        result = concat(parts, axis)
    return result


def fftshift(x: TensorLike, axes: AxisLike = None, name: str | None = None) -> Tensor:
    """Swap the halves of axes, so that frequency 0 is in the middle.

    Args:
      x: A tensor.
      axes: The axes: an int, a list of them, or None for all.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice.

    Example:
      >>> tf.signal.fftshift([0, 1, 2, -2, -1]).numpy()
      array([-2, -1,  0,  1,  2], dtype=int32)
    """
    return _roll_axes(x, axes, lambda n: (n + 1) // 2)


def ifftshift(x: TensorLike, axes: AxisLike = None, name: str | None = None) -> Tensor:
    """Invert `fftshift`.

    Args:
      x: A tensor.
      axes: The axes: an int, a list of them, or None for all.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: If an axis is out of range or named twice.

    Example:
      >>> tf.signal.ifftshift([-2, -1, 0, 1, 2]).numpy()
      array([ 0,  1,  2, -2, -1], dtype=int32)
    """
    return _roll_axes(x, axes, lambda n: n // 2)


def cosine_transform(
    input: TensorLike, type: int, n: IntLike | None, axis: int, norm: str | None
) -> Tensor:
    """Compute the discrete cosine transform; see `numtape.signal.dct`."""
    x = as_tensor(input)
    if n is not None:
        x = _fit_lengths(x, (int(n),))
    size = x.shape[-1]
    dtype = x.dtype.numpy_dtype
    if type == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        leading = tuple((0, dim, 1) for dim in x.shape[:-1])
        return real(rfft(concat([x, strided_slice(x, (*leading, (size - 2, 0, -1)))], -1)))
    angles = np.arange(size) * (math.pi * 0.5 / max(size, 1))
    scale = (2 * np.exp(-1j * angles)).astype(np.result_type(dtype, np.complex64))
    ortho_scale = np.full(size, math.sqrt(2), dtype)
    ortho_scale[:1] = 1
    if type == 2:
        slices = tuple((0, dim, 1) for dim in x.shape)
        result = real(strided_slice(rfft(x, [2 * size]), slices) * scale)
        return (
            result * (ortho_scale * dtype.type(0.5 / math.sqrt(size)))
            if norm == "ortho"
            else result
        )
    if type == 3:
        x = (
            x * (1 / ortho_scale * dtype.type(math.sqrt(size)))
            if (norm == "ortho")
            else x * float(size)
        )
        result = irfft(complex_(x, 0.0) * np.conj(scale), [2 * size])
        return strided_slice(result, tuple((0, dim, 1) for dim in x.shape))
    slices = tuple((0, dim, 1) for dim in x.shape[:-1])
    result = strided_slice(cosine_transform(x, 2, 2 * size, -1, None), (*slices, (1, 2 * size, 2)))
    return result * (math.sqrt(0.5) / math.sqrt(size)) if norm == "ortho" else result
