"""TensorFlow's convolutions: formats, paddings, dilations and groups, on `conv_products`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...errors import InvalidArgumentError
from ..log.record import require
from ..log.tensors import as_tensor
from ..values.dtypes import repr_of
from ..values.spelling import suggest_keywords
from ..values.tensor import Tensor
from . import matrix_products, movement, sliding_windows
from .conv_products import Geometry, conv
from .joining import as_tensors
from .sliding_windows import back, channels_first, explicit, in_space, last


def _pair(x: Any, w: Any, op: str) -> tuple[Tensor, Tensor]:
    x, w = as_tensors((x, w), op)
    return x, w


def _ranks(x: Tensor, w: Tensor, rank: int, op: str) -> None:
    require(
        x.ndim >= rank + 2,
        op,
        f"convolution input must be {rank + 2}-dimensional: {x.shape.as_list()}",
    )
    require(
        w.ndim == rank + 2,
        op,
        f"convolution filter must be {rank + 2}-dimensional: {w.shape.as_list()}",
    )


def convolve(x: Tensor, w: Tensor, geometry: Geometry) -> Tensor:
    """A convolution; where the filter has one element, one product of matrices."""
    once = (1,) * len(geometry.kernel)
    plain = geometry.kernel == geometry.strides == once and geometry.groups == 1
    if plain and geometry.inner == geometry.outer:
        rows = movement.reshape_if_needed(x, (math.prod(x.shape[:-1]), x.shape[-1]))
        result = matrix_products.matmul(rows, movement.reshape_if_needed(w, tuple(w.shape[-2:])))
        return movement.reshape_if_needed(result, (*x.shape[:-1], w.shape[-1]))
    return conv(x, w, geometry)


def _convolution(
    x: Tensor,
    w: Tensor,
    rank: int,
    strides: Any,
    padding: Any,
    data_format: Any,
    dilations: Any,
    op: str,
) -> Tensor:
    """What all of them do, when they know how many axes there are in space."""
    first = channels_first(data_format, rank, op)
    _ranks(x, w, rank, op)
    steps = in_space(sliding_windows.sizes(strides, rank, first, "strides"), op, "strides")
    rates = in_space(sliding_windows.sizes(dilations, rank, first, "dilations"), op, "dilations")
    pairs = explicit(padding, rank, first, op)
    lead = tuple(x.shape[: x.ndim - rank - 1])
    if len(lead) > 1:
        x = movement.reshape_if_needed(x, (math.prod(lead), *x.shape[len(lead) :]))
    x = last(x, first)
    channels, few, features = int(x.shape[-1]), int(w.shape[-2]), int(w.shape[-1])
    require(few > 0, op, f"filter depth must be strictly positive, got {few}")
    require(
        channels % few == 0 and channels > 0,
        op,
        f"input depth must be evenly divisible by filter depth: {channels} vs {few}",
    )
    groups = channels // few
    require(
        features % groups == 0,
        op,
        f"output depth must be evenly divisible by number of groups: {features} vs {groups}",
    )
    value = sliding_windows.geometry(
        tuple(x.shape[1:-1]), tuple(w.shape[:-2]), steps, rates, padding, pairs, groups, op
    )
    y = back(convolve(x, w, value), first)
    return movement.reshape_if_needed(y, (*lead, *y.shape[1:])) if len(lead) > 1 else y


def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """A convolution over one axis: sums of products of a filter and what it slides over.

    As in TensorFlow, the filter is not mirrored, and channels may be in groups: where a filter has
    a part of the input's channels, the first features are of the first part.

    Args:
      input: A tensor of floats, of shape (..., width, channels).
      filters: A tensor of shape (width of the filter, channels, features).
      stride: How far the filter goes each time.
      padding: "VALID", only where the filter has all it needs, or "SAME": zeros around the input
        make results for all of it.
      data_format: "NWC" or "NCW".
      dilations: How far apart the elements are that the filter meets.
      name: Not used.

    Returns:
      A tensor of shape (..., new width, features).

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.
      ValueError: If there are too many strides or dilations, or the format is unknown.
      TypeError: If ``padding`` is no string.

    Example:
      >>> x = tf.reshape([1.0, 2.0, 3.0, 4.0], (1, 4, 1))
      >>> tf.nn.conv1d(x, tf.reshape([1.0, 10.0], (2, 1, 1)), 1, "VALID").numpy().ravel()
      array([21., 32., 43.], dtype=float32)
    """
    if not isinstance(padding, str):
        raise TypeError(f"Expected string for argument 'padding' not {repr_of(padding)}.")
    x, w = _pair(input, filters, "Conv1D")
    return _convolution(x, w, 1, stride, padding, data_format, dilations, "Conv1D")


@suggest_keywords
def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """A convolution over two axes: sums of products of a filter and what it slides over.

    See `conv1d`. Its derivatives are convolutions, too (Dumoulin and Visin, "A guide to convolution
    arithmetic for deep learning", 2016).

    Args:
      input: A tensor of floats, of shape (..., height, width, channels).
      filters: A tensor of shape (height, width, channels, features).
      strides: How far the filter goes: one number, two, or four with those of batch and channels.
      padding: "VALID", "SAME", or pairs of ints: the zeros before and after each axis.
      data_format: "NHWC" or "NCHW".
      dilations: How far apart the elements are that the filter meets, as ``strides``.
      name: Not used.

    Returns:
      A tensor of shape (..., new height, new width, features).

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.
      UnimplementedError: If a stride of the batch or of the channels is not 1.
      ValueError: If there are too many strides or dilations.

    Example:
      >>> x = tf.reshape(tf.range(9.0), (1, 3, 3, 1))
      >>> tf.nn.conv2d(x, tf.ones((2, 2, 1, 1)), 1, "VALID")[0, :, :, 0].numpy()
      array([[ 8., 12.],
             [20., 24.]], dtype=float32)
    """
    x, w = _pair(input, filters, "Conv2D")
    return _convolution(x, w, 2, strides, padding, data_format, dilations, "Conv2D")


def _as_list(value: Any, what: str, op: str) -> Any:
    """Strides of all five axes, as three-dimensional ones want them."""
    if value is None:
        return 1
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError(f"Expected list for '{what}' argument to '{op}' Op, not {repr_of(value)}.")
    require(len(value) == 5, op, f"Sliding window {what} field must specify 5 dimensions")
    return value


def conv3d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """A convolution over three axes: sums of products of a filter and what it slides over.

    See `conv1d`.

    Args:
      input: A tensor of floats, of shape (batch, depth, height, width, channels).
      filters: A tensor of shape (depth, height, width, channels, features).
      strides: Five ints, the first and the last one 1.
      padding: "VALID" or "SAME".
      data_format: "NDHWC" or "NCDHW".
      dilations: Five ints, the first and the last one 1; None for ones.
      name: Not used.

    Returns:
      A tensor of shape (batch, new depth, new height, new width, features).

    Raises:
      TypeError: If strides are not a list, or ``padding`` is no string.
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.

    Example:
      >>> x = tf.ones((1, 2, 2, 2, 3))
      >>> tf.nn.conv3d(x, tf.ones((2, 2, 2, 3, 1)), [1, 1, 1, 1, 1], "VALID").numpy().ravel()
      array([24.], dtype=float32)
    """
    strides = _as_list(1 if strides is None else strides, "strides", "conv3d")
    if not isinstance(padding, str):
        raise TypeError(f"Expected string for argument 'padding' not {repr_of(padding)}.")
    x, w = _pair(input, filters, "Conv3D")
    require(x.ndim == 5, "Conv3D", f"input must be 5-dimensional: {x.shape.as_list()}")
    dilations = _as_list(dilations, "dilations", "conv3d")
    return _convolution(x, w, 3, strides, padding, data_format, dilations, "Conv3D")


def convolution(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: Any = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """A convolution over as many axes as the filter has, one to three; see `conv2d`.

    Args:
      input: A tensor of floats, of shape (..., sizes in space, channels).
      filters: A tensor of shape (sizes in space, channels, features).
      strides: How far the filter goes: an int, or one for each axis in space.
      padding: "VALID", "SAME", or, for two axes, pairs of ints.
      data_format: None, or a name such as "NHWC" or "NCHW".
      dilations: How far apart the elements are that the filter meets, as ``strides``.
      name: Not used.

    Returns:
      A tensor of shape (..., new sizes in space, features).

    Raises:
      ValueError: If strides and dilations are both larger than 1, or the filter has too many axes.
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.

    Example:
      >>> tf.nn.convolution(tf.ones((1, 5, 2)), tf.ones((3, 2, 4))).shape
      TensorShape([1, 3, 4])
    """
    x, w = _pair(input, filters, "Convolution")
    rank = w.ndim - 2
    if not 1 <= rank <= 3 or x.ndim < rank + 2:
        raise ValueError(
            "`input` must have one to three spatial dimensions, and as many as `filters`. "
            f"Received: input.shape={x.shape}, filters.shape={w.shape}"
        )
    first = channels_first(data_format, rank, "Convolution")
    steps = sliding_windows.sizes(strides, rank, first, "strides")
    rates = sliding_windows.sizes(dilations, rank, first, "dilations")
    both_used(steps, rates)
    return _convolution(x, w, rank, steps[1:-1], padding, data_format, rates[1:-1], "Convolution")


def both_used(steps: Sequence[int], rates: Sequence[int]) -> None:
    """Refuse strides together with dilations, and dilations that are not positive."""
    if min(rates) < 1:
        raise ValueError(f"all values of `dilation_rate` must be positive. Received: {rates}")
    if max(steps) > 1 and max(rates) > 1:
        raise ValueError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
            f"strides={list(steps[1:-1])} and dilation_rate={list(rates[1:-1])}"
        )


def atrous_conv2d(
    value: Any, filters: Any, rate: int, padding: Any, name: str | None = None
) -> Tensor:
    """`conv2d` with strides of 1 and dilations of ``rate``: holes between the filter's elements.

    Args:
      value: A tensor of floats, of shape (..., height, width, channels).
      filters: A tensor of shape (height, width, channels, features).
      rate: How far apart the elements are that the filter meets.
      padding: "VALID" or "SAME".
      name: Not used.

    Returns:
      A tensor of shape (..., new height, new width, features).

    Raises:
      ValueError: If the rate is not positive.
      InvalidArgumentError: If shapes or dtypes do not fit.

    Example:
      >>> tf.nn.atrous_conv2d(tf.ones((1, 5, 5, 1)), tf.ones((2, 2, 1, 1)), 3, "VALID").shape
      TensorShape([1, 2, 2, 1])
    """
    return convolution(value, filters, None, padding, None, [rate, rate])


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """A convolution of each channel by itself, with its own filters.

    Args:
      input: A tensor of floats, of shape (batch, height, width, channels).
      filter: A tensor of shape (height, width, channels, features of each channel).
      strides: Four ints, the first and the last one 1.
      padding: "VALID", "SAME", or pairs of ints: the zeros before and after each axis.
      data_format: "NHWC" or "NCHW"; None is the first.
      dilations: One int or two: how far apart the elements are that the filter meets.
      name: Not used.

    Returns:
      A tensor of shape (batch, new height, new width, channels * features of each).

    Raises:
      TypeError: If strides are not a list.
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.

    Example:
      >>> x = tf.reshape([1.0, 2.0, 3.0, 4.0], (1, 2, 1, 2))
      >>> w = tf.reshape([1.0, 10.0, 5.0, 5.0], (1, 1, 2, 2))
      >>> tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID")[0, :, 0].numpy()
      array([[ 1., 10., 10., 10.],
             [ 3., 30., 20., 20.]], dtype=float32)
    """
    op = "DepthwiseConv2dNative"
    if not isinstance(strides, Sequence) or isinstance(strides, str):
        raise TypeError(
            f"Expected list for 'strides' argument to 'depthwise_conv2d_native' Op, not "
            f"{repr_of(strides)}."
        )
    x, w = _pair(input, filter, op)
    first = channels_first(data_format, 2, op)
    require(x.ndim == 4, op, f"input must be 4-dimensional: {x.shape.as_list()}")
    _ranks(x, w, 2, op)
    channels, each = int(w.shape[2]), int(w.shape[3])
    depth = int(x.shape[1 if first else 3])
    require(
        channels == depth and depth > 0,
        op,
        f"input and filter must have the same depth: {depth} vs {channels}",
    )
    if len(strides) != 4:
        raise InvalidArgumentError(
            f"Sliding window strides field must specify 4 dimensions [Op:{op}]"
        )
    w = movement.reshape_if_needed(w, (*w.shape[:2], 1, channels * each))
    return _convolution(x, w, 2, strides, padding, data_format, dilations, op)


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`depthwise_conv2d`, and then a product with a matrix that mixes the channels.

    Args:
      input: A tensor of floats, of shape (batch, height, width, channels).
      depthwise_filter: A tensor of shape (height, width, channels, features of each channel).
      pointwise_filter: A tensor of shape (1, 1, channels * features of each, features).
      strides: Four ints, the first and the last one 1.
      padding: "VALID", "SAME", or pairs of ints: the zeros before and after each axis.
      data_format: "NHWC" or "NCHW"; None is the first.
      dilations: One int or two: how far apart the elements are that the filter meets.
      name: Not used.

    Returns:
      A tensor of shape (batch, new height, new width, features).

    Raises:
      ValueError: If ``pointwise_filter`` is not of height and width 1.
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.

    Example:
      >>> x, w = tf.ones((1, 4, 4, 2)), tf.ones((3, 3, 2, 1))
      >>> tf.nn.separable_conv2d(x, w, tf.ones((1, 1, 2, 5)), [1, 1, 1, 1], "VALID").shape
      TensorShape([1, 2, 2, 5])
    """
    result = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    w = as_tensor(pointwise_filter, result._spec, "SeparableConv2D")
    if w.ndim != 4 or tuple(w.shape[:2]) != (1, 1):
        raise ValueError(f"`pointwise_filter` must be of shape (1, 1, ...), got {w.shape}")
    return conv2d(result, w, 1, "VALID", data_format or "NHWC")
