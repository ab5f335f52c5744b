"""Discrete Fourier transforms over the last axes, by SciPy's pocketfft."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ...errors import DtypeError
from ..log.op import ARRAY, Op, defop
from ..log.record import record, require, spec_of
from ..log.tensors import as_tensor, to_tensor
from ..values import dtypes
from ..values.spec import Spec, axes_of, intern
from ..values.tensor import Tensor
from .complex import complex_, real
from .joining import concat
from .padding import pad
from .slicing import strided_slice

Array = np.ndarray[Any, Any]


def _last(axes: int) -> tuple[int, ...]:
    return tuple(range(-axes, 0))


def _of_complex(op: Op, x: Spec, axes: int) -> Spec:
    if not x.dtype.is_complex:
        raise DtypeError(
            f"Value for attr 'Tcomplex' of {x.dtype.name} is not in the list of allowed values: "
            f"complex64, complex128 [Op:{op.name}]. Use `cast`, or `rfft` for real numbers."
        )
    _ranked(op, x, axes)
    return x


def _ranked(op: Op | str, x: Spec, axes: int) -> None:
    require(x.rank >= axes, op, f"Input must have rank of at least {axes} but got: {[*x.shape]}")


def _of_real(op: Op, x: Spec, axes: int) -> Spec:
    dtype = dtypes.complex64 if x.dtype is dtypes.float32 else dtypes.complex128
    return intern((*x.shape[:-1], x.shape[-1] // 2 + 1 if x.size else 0), dtype)


def _to_real(op: Op, x: Spec, axes: int, n: int) -> Spec:
    return intern((*x.shape[:-1], n), x.dtype.real_dtype)


def _compute(name: str) -> Callable[..., None]:
    def compute(out: Array, x: Array, axes: int, n: int = 0) -> None:
        if not out.size:
            return
        length = {"s": (*x.shape[-axes:-1], n)} if n else {}
        out[...] = getattr(import_module("scipy.fft"), name)(x, axes=_last(axes), **length)

    return compute


def _count(shape: Any, axes: int) -> float:
    return float(math.prod(shape[-axes:]))


def _rfft_vjp(g: Tensor, y: Tensor, x: Tensor, axes: int) -> tuple[Tensor]:
    """The half that is left out has no adjoint: zeros stand for it."""
    whole = _fitted(g, tuple(x.shape[-axes:]))
    return (real(record(_INVERSE, (whole,), axes=axes)) * _count(x.shape, axes),)


def _irfft_vjp(g: Tensor, y: Tensor, x: Tensor, axes: int, n: int) -> tuple[Tensor]:
    """All but the first and, of an even number, the last stand for two."""
    found = record(_REAL, (g,), axes=axes) * (1.0 / _count(y.shape, axes))
    half = tuple((0, dim, 1) for dim in found.shape[:-1])
    parts = [strided_slice(found, (*half, (0, 1, 1)))]
    middle = (n + 1) // 2
    parts.append(strided_slice(found, (*half, (1, middle, 1))) * 2.0)
    if n % 2 == 0:
        parts.append(strided_slice(found, (*half, (middle, middle + 1, 1))))
    places = found.shape[-1]
    starts = [0, 1, middle]
    whole = [_placed(part, at, places) for part, at in zip(parts, starts, strict=False)]
    total = whole[0]
    for other in whole[1:]:
        total = total + other
    return (total,)


def _placed(x: Tensor, at: int, size: int) -> Tensor:
    """A part of the last axis among zeros."""
    return pad(x, [*[[0, 0]] * (x.ndim - 1), [at, size - at - x.shape[-1]]])


_FORWARD = defop(
    "FFT",
    ARRAY,
    1,
    _of_complex,
    compute=_compute("fftn"),
    on_host=True,
    of_complex="other",
    vjp=lambda g, y, x, axes: (record(_INVERSE, (g,), axes=axes) * _count(x.shape, axes),),
)
_INVERSE: Op = defop(
    "IFFT",
    ARRAY,
    1,
    _of_complex,
    compute=_compute("ifftn"),
    on_host=True,
    of_complex="other",
    vjp=lambda g, y, x, axes: (
        record(_FORWARD, (g,), axes=axes) * (1.0 / max(1.0, _count(x.shape, axes))),
    ),
)
_REAL: Op = defop(
    "RFFT",
    ARRAY,
    1,
    _of_real,
    compute=_compute("rfftn"),
    vjp=_rfft_vjp,
    on_host=True,
    of_complex="other",
)
_TO_REAL = defop(
    "IRFFT",
    ARRAY,
    1,
    _to_real,
    compute=_compute("irfftn"),
    vjp=_irfft_vjp,
    on_host=True,
    of_complex="other",
)


def _fitted(x: Tensor, lengths: tuple[int, ...]) -> Tensor:
    """The last axes cut off or filled up with zeros."""
    lead = x.ndim - len(lengths)
    sizes = tuple(x.shape[lead:])
    if sizes == lengths:
        return x
    if any(size > length for size, length in zip(sizes, lengths, strict=True)):
        cut = [(0, min(pair), 1) for pair in zip(sizes, lengths, strict=True)]
        x = strided_slice(x, (*((0, dim, 1) for dim in x.shape[:lead]), *cut))
    rest = [[0, max(0, n - size)] for size, n in zip(sizes, lengths, strict=True)]
    return pad(x, [*[[0, 0]] * lead, *rest]) if any(after for _, after in rest) else x


def _complex_input(value: Any) -> Tensor:
    """A tensor, or a value: Python's and NumPy's become complex64, as TensorFlow's do."""
    return as_tensor(value) if spec_of(value) is not None else to_tensor(value, dtypes.complex64)


def _lengths(op: str, fft_length: Any, axes: int) -> tuple[int, ...]:
    found = tuple(int(n) for n in np.asarray(fft_length))
    require(len(found) == axes, op, f"fft_length must have shape [{axes}]")
    require(min(found) >= 0, op, f"fft_length must be >= 0, got {list(found)}")
    return found


def _complex_function(axes: int, op: Op, inverse: bool) -> Callable[..., Tensor]:
    kind = "inverse discrete" if inverse else "discrete"
    name = f"{'i' if inverse else ''}fft{'' if axes == 1 else f'{axes}d'}"

    def transform(input: Any, name: str | None = None) -> Tensor:
        return record(op, (_complex_input(input),), axes=axes)

    ones, found = (
        "[" * axes + "1, 0" + "]" * axes,
        "[" * axes + ("0.5+0.j, 0.5+0.j" if inverse else "1.+0.j, 1.+0.j") + "]" * axes,
    )
    return _described(
        transform,
        name,
        f"""The {kind} Fourier transform over {_axes(axes)}.

    Args:
      input: A tensor of complex64 or complex128.
      name: Not used.

    Returns:
      A tensor of the same shape and dtype.{" It is divided by the number of elements." * inverse}

    Raises:
      InvalidArgumentError: If the numbers are not complex, or there are too few axes.

    Example:
      >>> tf.signal.{name}({ones}).numpy()
      array({found}, dtype=complex64)
    """,
    )


def _axes(axes: int) -> str:
    return "the last axis" if axes == 1 else f"the last {axes} axes"


def _described(function: Any, name: str, text: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    found: Callable[..., Tensor] = function
    return found


def _real_function(axes: int) -> Callable[..., Tensor]:
    name = f"rfft{'' if axes == 1 else f'{axes}d'}"

    def transform(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        x = input_tensor
        if spec_of(x) is None:
            x = to_tensor(x, dtypes.float32)
        x = as_tensor(x)
        if x.dtype not in (dtypes.float32, dtypes.float64):
            raise ValueError(f"RFFT requires tf.float32 or tf.float64 inputs, got: {x.dtype!r}")
        _ranked("RFFT", x._spec, axes)
        if fft_length is not None:
            x = _fitted(x, _lengths("RFFT", fft_length, axes))
        return record(_REAL, (x,), axes=axes)

    ones, found = "[" * axes + "1, 0" + "]" * axes, "[" * axes + "1.+0.j, 1.+0.j" + "]" * axes
    return _described(
        transform,
        name,
        f"""The Fourier transform of real numbers over {_axes(axes)}.

    Of the last axis that half is given which says all, ``n // 2 + 1`` elements: the others are the
    conjugates of these.

    Args:
      input_tensor: A tensor of float32 or float64.
      fft_length: The sizes of the transformed axes, a list: longer axes are cut off, shorter ones
        filled up with zeros. None: the sizes that there are.
      name: Not used.

    Returns:
      A tensor of complex64 (of float32) or complex128 (of float64).

    Raises:
      ValueError: If the numbers are no float32 or float64.
      InvalidArgumentError: If there are too few axes, or not as many sizes.

    Example:
      >>> tf.signal.{name}({ones}).numpy()
      array({found}, dtype=complex64)
    """,
    )


def _real_inverse(axes: int) -> Callable[..., Tensor]:
    name = f"irfft{'' if axes == 1 else f'{axes}d'}"

    def transform(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        x = input_tensor
        if spec_of(x) is None:
            x = _complex_input(x)
        x = as_tensor(x)
        if not x.dtype.is_complex:
            raise ValueError(
                f"IRFFT requires tf.complex64 or tf.complex128 inputs, got: {x.dtype!r}"
            )
        _ranked("IRFFT", x._spec, axes)
        if fft_length is None:
            lengths = (*x.shape[-axes:-1], max(0, 2 * (x.shape[-1] - 1)))
        else:
            lengths = _lengths("IRFFT", fft_length, axes)
        if not lengths[-1]:
            kept = tuple((0, dim, 1) for dim in x.shape[:-1])
            return real(strided_slice(x, (*kept, (0, 0, 1))))
        x = _fitted(x, (*lengths[:-1], lengths[-1] // 2 + 1))
        return record(_TO_REAL, (x,), axes=axes, n=lengths[-1])

    ones, found = "[" * axes + "1, 1" + "]" * axes, "[" * axes + "1., 0." + "]" * axes
    return _described(
        transform,
        name,
        f"""The inverse of `{name[1:]}` over {_axes(axes)}.

    Args:
      input_tensor: A tensor of complex64 or complex128, ``n // 2 + 1`` elements of the last axis.
      fft_length: The sizes of the results' axes, a list. None: those that there are, and
        ``2 * (n - 1)`` of the last one.
      name: Not used.

    Returns:
      A tensor of float32 (of complex64) or float64 (of complex128).

    Raises:
      ValueError: If the numbers are not complex.
      InvalidArgumentError: If there are too few axes, or not as many sizes.

    Example:
      >>> tf.signal.{name}({ones}).numpy()
      array({found}, dtype=float32)
    """,
    )


fft, fft2d, fft3d = (_complex_function(axes, _FORWARD, False) for axes in (1, 2, 3))
ifft, ifft2d, ifft3d = (_complex_function(axes, _INVERSE, True) for axes in (1, 2, 3))
rfft, rfft2d, rfft3d = map(_real_function, (1, 2, 3))
irfft, irfft2d, irfft3d = map(_real_inverse, (1, 2, 3))


def _rolled(x: Any, axes: Any, before: Callable[[int], int]) -> Tensor:
    found = as_tensor(x)
    for axis in axes_of("Roll", axes, found.ndim):
        whole = [(0, dim, 1) for dim in found.shape]
        n = found.shape[axis]
        cut = before(n)
        parts = []
        for start, stop in ((cut, n), (0, cut)):
            whole[axis] = (start, stop, 1)
            parts.append(strided_slice(found, tuple(whole)))
        found = concat(parts, axis)
    return found


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The halves of axes swapped, so that frequency 0 is in the middle.

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
    return _rolled(x, axes, lambda n: (n + 1) // 2)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift`.

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
    return _rolled(x, axes, lambda n: n // 2)


def cosines(input: Any, type: int, n: Any, axis: int, norm: Any) -> Tensor:
    """The discrete cosine transform; see `numtape.signal.dct`."""
    x = as_tensor(input)
    if n is not None:
        x = _fitted(x, (int(n),))
    size = x.shape[-1]
    kind = x.dtype.numpy_dtype
    if type == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        whole = tuple((0, dim, 1) for dim in x.shape[:-1])
        return real(rfft(concat([x, strided_slice(x, (*whole, (size - 2, 0, -1)))], -1)))
    angles = np.arange(size) * (math.pi * 0.5 / max(size, 1))
    scale = (2 * np.exp(-1j * angles)).astype(np.result_type(kind, np.complex64))
    first = np.full(size, math.sqrt(2), kind)
    first[:1] = 1
    if type == 2:
        half = tuple((0, dim, 1) for dim in x.shape)
        found = real(strided_slice(rfft(x, [2 * size]), half) * scale)
        return found * (first * kind.type(0.5 / math.sqrt(size))) if norm == "ortho" else found
    if type == 3:
        x = x * (1 / first * kind.type(math.sqrt(size))) if (norm == "ortho") else x * float(size)
        found = irfft(complex_(x, 0.0) * np.conj(scale), [2 * size])
        return strided_slice(found, tuple((0, dim, 1) for dim in x.shape))
    half = tuple((0, dim, 1) for dim in x.shape[:-1])
    found = strided_slice(cosines(x, 2, 2 * size, -1, None), (*half, (1, 2 * size, 2)))
    return found * (math.sqrt(0.5) / math.sqrt(size)) if norm == "ortho" else found
