"""Pooling that also says where the largest elements are."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..log.tensors import as_tensor
from ..values.dtypes import as_dtype, int64, repr_of
from ..values.tensor import Tensor
from . import elementwise
from .pooling import windows_of
from .window_reductions import argmax_of, max_pool_of


class MaxPoolWithArgmax(NamedTuple):
    """The largest elements, and their places."""

    output: Tensor
    argmax: Tensor


def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    output_dtype: Any = int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> MaxPoolWithArgmax:
    """`max_pool2d`, and where each of its elements comes from.

    Args:
      input: A tensor of numbers, of shape (batch, height, width, channels).
      ksize: The size of the window: one number, two, or four for all axes.
      strides: How far it goes each time, also.
      padding: "VALID" or "SAME".
      data_format: "NHWC".
      output_dtype: The places' dtype, int32 or int64.
      include_batch_in_index: Whether places are counted in the batch, not in each image.
      name: Not used.

    Returns:
      Two tensors: ``output``, and ``argmax``, the places as ``(row * width + column) * channels +
      channel``.

    Raises:
      ValueError: If the format is another one, or there are too many sizes or strides.
      InvalidArgumentError: If shapes do not fit, or a size or stride is not positive.

    Example:
      >>> x = tf.reshape([1.0, 5.0, 2.0, 3.0], (1, 2, 2, 1))
      >>> found = tf.nn.max_pool_with_argmax(x, 2, 2, "VALID")
      >>> found.output.numpy().ravel(), found.argmax.numpy().ravel()
      (array([5.], dtype=float32), array([1]))
    """
    if data_format != "NHWC":
        raise ValueError(
            "`data_format` values other than 'NHWC' are not supported. Received: data_format="
            f"{repr_of(data_format)}"
        )
    op = "MaxPoolWithArgmax"
    x, value = windows_of(as_tensor(input), 2, ksize, strides, padding, False, op)
    places = argmax_of(elementwise.stop_gradient(x), value, bool(include_batch_in_index))
    return MaxPoolWithArgmax(
        max_pool_of(x, value), elementwise.cast(places, as_dtype(output_dtype))
    )
