"""Grey-scale morphology: images dilated and eroded by filters that are added, not multiplied."""

from __future__ import annotations

import itertools
import math
from typing import Any

from ...errors import UnimplementedError
from ..log.record import require, spec_of
from ..log.tensors import as_tensor
from ..values.dtypes import mismatch_error
from ..values.tensor import Tensor
from . import elementwise, movement
from .padding import pad
from .slicing import reverse, strided_slice
from .sliding_windows import geometry

_INTEGERS = ("int8", "int16", "int32", "uint8", "uint16")  # which float64 has


def _four(values: Any, what: str, op: str) -> tuple[int, ...]:
    found = movement.static_shape(values)
    require(len(found) == 4, op, f"{what} must have four elements, got {found}")
    if found[0] != 1 or found[3] != 1:
        raise UnimplementedError(f"{what}: only supported across spatial dimensions. [Op:{op}]")
    require(min(found) > 0, op, f"{what} must be positive, got {found}")
    return found[1:3]


def _operands(images: Any, filters: Any, data_format: Any, op: str) -> tuple[Tensor, Tensor]:
    if data_format != "NHWC":
        raise ValueError(
            f"`data_format` values other than 'NHWC' are not supported. Received: "
            f"data_format={data_format}"
        )
    x = as_tensor(images, spec_of(filters), op)
    f = as_tensor(filters, x._spec, op)
    if x.dtype is not f.dtype:
        raise mismatch_error(op, 1, x.dtype, f.dtype)
    numbers = x.dtype.is_floating or x.dtype.name in _INTEGERS
    require(numbers, op, f"images are of numbers, got {x.dtype.name}")
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
    input: Any,
    filters: Any,
    strides: Any,
    padding: str,
    data_format: str,
    dilations: Any,
    name: str | None = None,
) -> Tensor:
    """The largest of the sums of a filter's elements and those of an image under it.

    The derivative goes to the first of equal sums, in the filter's order, and to the filter's
    element there. See https://en.wikipedia.org/wiki/Dilation_(morphology).

    Args:
      input: A tensor of numbers, of shape (batch, height, width, channels).
      filters: A tensor of the same dtype, of shape (rows, columns, channels).
      strides: [1, down, right, 1]: how far the filter goes each time.
      padding: "VALID", or "SAME": what is around an image does not count.
      data_format: Must be "NHWC".
      dilations: [1, down, right, 1]: how far the filter's elements lie apart.
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
    x, f = _operands(input, filters, data_format, "Dilation2D")
    return _dilated(x, f, strides, padding, dilations, "Dilation2D")


def _dilated(x: Tensor, f: Tensor, strides: Any, padding: Any, dilations: Any, op: str) -> Tensor:
    require(
        padding in ("SAME", "VALID"),
        op,
        f"Value for attr 'padding' of {padding!r} is not in the list of allowed values: "
        f'"SAME", "VALID"',
    )
    steps, rates = _four(strides, "strides", op), _four(dilations, "dilations", op)
    kernel = (int(f.shape[0]), int(f.shape[1]))
    inner = (int(x.shape[1]), int(x.shape[2]))
    found = geometry(inner, kernel, steps, rates, padding, None, 1, op)
    ends = []
    for n, o, k, s, d, before in zip(
        inner, found.outer, kernel, steps, rates, found.before, strict=True
    ):
        ends.append([before, max((o - 1) * s + (k - 1) * d + 1 - before - n, 0)])
    if any(map(any, ends)):
        if x.dtype.is_integer:  # which have no number that stays the smallest in every sum
            floats = elementwise.cast(x, "float64"), elementwise.cast(f, "float64")
            return elementwise.cast(_dilated(*floats, strides, padding, dilations, op), x.dtype)
        x = pad(x, [[0, 0], *ends, [0, 0]], constant_values=-math.inf)
    (rows, columns), batch, channels = found.outer, x.shape[0], x.shape[3]
    result: Tensor | None = None
    for i, j in itertools.product(*map(range, kernel)):
        under = strided_slice(
            x,
            (
                (0, batch, 1),
                _reach(i * rates[0], rows, steps[0]),
                _reach(j * rates[1], columns, steps[1]),
                (0, channels, 1),
            ),
        )
        total = under + f[i, j]
        result = total if result is None else elementwise.maximum(result, total)
    assert result is not None  # a filter has elements
    return result


def _reach(start: int, count: int, step: int) -> tuple[int, int, int]:
    """So many places from a start on."""
    return (start, start + (count - 1) * step + 1 if count else start, step)


def erosion2d(
    value: Any,
    filters: Any,
    strides: Any,
    padding: str,
    data_format: str,
    dilations: Any,
    name: str | None = None,
) -> Tensor:
    """The smallest of the differences of an image's elements and those of a filter over them.

    It is ``-dilation2d(-value, reversed filters)``: see
    https://en.wikipedia.org/wiki/Erosion_(morphology).

    Args:
      value: A tensor of numbers, of shape (batch, height, width, channels).
      filters: A tensor of the same dtype, of shape (rows, columns, channels).
      strides: [1, down, right, 1]: how far the filter goes each time.
      padding: "VALID", or "SAME": what is around an image does not count.
      data_format: Must be "NHWC".
      dilations: [1, down, right, 1]: how far the filter's elements lie apart.
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
    x, f = _operands(value, filters, data_format, "Erosion2D")
    found = _dilated(
        elementwise.negative(x), reverse(f, [0, 1]), strides, padding, dilations, "Erosion2D"
    )
    return elementwise.negative(found)
