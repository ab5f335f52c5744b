"""Grayscale morphology: dilation and erosion of images by additive filters."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from ...errors import UnimplementedError
from ..log.as_tensor import as_tensor
from ..log.record import require, spec_of
from ..values.dtypes import mismatch_error
from ..values.tensor import Tensor
from . import elementwise, movement
from .convolutions import make_geometry
from .padding import pad
from .slicing import reverse, strided_slice

if TYPE_CHECKING:
    from ..values.annotations import ShapeLike, TensorLike

_INTEGERS = ("int8", "int16", "int32", "uint8", "uint16")  # exact in float64


def _parse_spatial_pair(values: ShapeLike, name: str, op: str) -> tuple[int, ...]:
    numbers = movement.to_shape(values)
    require(len(numbers) == 4, op, f"{name} must have four elements, got {numbers}")
    if numbers[0] != 1 or numbers[3] != 1:
        raise UnimplementedError(f"{name}: only supported across spatial dimensions. [Op:{op}]")
    require(min(numbers) > 0, op, f"{name} must be positive, got {numbers}")
    return numbers[1:3]


def _as_operands(
    images: TensorLike, filters: TensorLike, data_format: str, op: str
) -> tuple[Tensor, Tensor]:
    if data_format != "NHWC":
        raise ValueError(
            f"`data_format` values other than 'NHWC' are not supported. Received: "
            f"data_format={data_format}"
        )
    x = as_tensor(images, spec_of(filters), op)
    f = as_tensor(filters, x._spec, op)
    if x.dtype is not f.dtype:
        raise mismatch_error(op, 1, x.dtype, f.dtype)
    is_supported = x.dtype.is_floating or x.dtype.name in _INTEGERS
    require(is_supported, op, f"images must be numeric, got {x.dtype.name}")
    require(x.ndim == 4, op, f"input must be 4-dimensional: {list(x.shape)}")
    require(f.ndim == 3, op, f"filter must be 3-dimensional: {list(f.shape)}")
    require(f._spec.size > 0, op, f"filter must not be empty: {list(f.shape)}")
    require(
        x.shape[3] == f.shape[2],
        op,
        f"input and filter must have the same depth: {x.shape[3]} vs {f.shape[2]}",
    )
    return x, f


def dilation2d(
    input: TensorLike,
    filters: TensorLike,
    strides: ShapeLike,
    padding: str,
    data_format: str,
    dilations: ShapeLike,
    name: str | None = None,
) -> Tensor:
    """Dilate images: the maximum of the sums of a filter's elements and the image's under it.

    Among equal sums the gradient goes to the first, in the filter's order, and to the filter's
    element there. See https://en.wikipedia.org/wiki/Dilation_(morphology).

    Args:
      input: A tensor of numbers, of shape (batch, height, width, channels).
      filters: A tensor of the same dtype, of shape (rows, columns, channels).
      strides: [1, down, right, 1], the strides of the filter.
      padding: "VALID", or "SAME", which ignores positions outside of the image.
      data_format: Must be "NHWC".
      dilations: [1, down, right, 1], the spacing of the filter's elements.
      name: Not used.

    Returns:
      A tensor of shape (batch, rows, columns, channels) and the same dtype.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit.
      ValueError: If the format is not "NHWC".

    Example:
      >>> x, one = tf.reshape([1.0, 5.0, 2.0, 3.0], (1, 2, 2, 1)), [1, 1, 1, 1]
      >>> tf.nn.dilation2d(x, tf.zeros((2, 2, 1)), one, "VALID", "NHWC", one).numpy().ravel()
      array([5.], dtype=float32)
    """
    x, f = _as_operands(input, filters, data_format, "Dilation2D")
    return _dilate(x, f, strides, padding, dilations, "Dilation2D")


def _dilate(
    x: Tensor, f: Tensor, strides: ShapeLike, padding: str, dilations: ShapeLike, op: str
) -> Tensor:
    require(
        padding in ("SAME", "VALID"),
        op,
        f"Value for attr 'padding' of {padding!r} is not in the list of allowed values: "
        f'"SAME", "VALID"',
    )
    steps = _parse_spatial_pair(strides, "strides", op)
    rates = _parse_spatial_pair(dilations, "dilations", op)
    kernel = (int(f.shape[0]), int(f.shape[1]))
    image_size = (int(x.shape[1]), int(x.shape[2]))
    windows = make_geometry(image_size, kernel, steps, rates, padding, None, 1, op)
    pad_widths = []
    for n, o, k, s, d, before in zip(
        image_size, windows.output_sizes, kernel, steps, rates, windows.padding_before, strict=True
    ):
        pad_widths.append([before, max((o - 1) * s + (k - 1) * d + 1 - before - n, 0)])
    if any(map(any, pad_widths)):
        if x.dtype.is_integer:  # integers have no minus infinity to pad with
            floats = elementwise.cast(x, "float64"), elementwise.cast(f, "float64")
            return elementwise.cast(_dilate(*floats, strides, padding, dilations, op), x.dtype)
        x = pad(x, [[0, 0], *pad_widths, [0, 0]], constant_values=-math.inf)
    (rows, columns), batch, channels = windows.output_sizes, x.shape[0], x.shape[3]
    result: Tensor | None = None
    for i, j in itertools.product(*map(range, kernel)):
        patches = strided_slice(
            x,
            (
                (0, batch, 1),
                _strided_range(i * rates[0], rows, steps[0]),
                _strided_range(j * rates[1], columns, steps[1]),
                (0, channels, 1),
            ),
        )
        sums = patches + f[i, j]
        result = sums if result is None else elementwise.maximum(result, sums)
    assert result is not None  # filters are not empty
    return result


def _strided_range(start: int, count: int, step: int) -> tuple[int, int, int]:
    """Return the range of ``count`` positions from ``start``."""
    return (start, start + (count - 1) * step + 1 if count else start, step)


def erosion2d(
    value: TensorLike,
    filters: TensorLike,
    strides: ShapeLike,
    padding: str,
    data_format: str,
    dilations: ShapeLike,
    name: str | None = None,
) -> Tensor:
    """Erode images: the minimum of the image's elements minus those of a filter over them.

    It is ``-dilation2d(-value, reversed filters)``. See
    https://en.wikipedia.org/wiki/Erosion_(morphology).

    Args:
      value: A tensor of numbers, of shape (batch, height, width, channels).
      filters: A tensor of the same dtype, of shape (rows, columns, channels).
      strides: [1, down, right, 1], the strides of the filter.
      padding: "VALID", or "SAME", which ignores positions outside of the image.
      data_format: Must be "NHWC".
      dilations: [1, down, right, 1], the spacing of the filter's elements.
      name: Not used.

    Returns:
      A tensor of shape (batch, rows, columns, channels) and the same dtype.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit.
      ValueError: If the format is not "NHWC".

    Example:
      >>> x, one = tf.reshape([1.0, 5.0, 2.0, 3.0], (1, 2, 2, 1)), [1, 1, 1, 1]
      >>> tf.nn.erosion2d(x, tf.zeros((2, 2, 1)), one, "VALID", "NHWC", one).numpy().ravel()
      array([1.], dtype=float32)
    """
    x, f = _as_operands(value, filters, data_format, "Erosion2D")
    dilated = _dilate(
        elementwise.negative(x), reverse(f, [0, 1]), strides, padding, dilations, "Erosion2D"
    )
    return elementwise.negative(dilated)
