"""Transposed convolutions: what a convolution's gradient by its input computes, as layers use it.

See Dumoulin and Visin, "A guide to convolution arithmetic for deep learning" (2016).
"""

from __future__ import annotations

import math
from typing import Any

from ..log.record import require
from ..log.tensors import as_tensor
from ..values.dtypes import mismatch_error, repr_of
from ..values.tensor import Tensor
from . import movement, sliding_windows
from .conv_products import conv_input, swap
from .joining import as_tensors
from .sliding_windows import back, channels_first, explicit, in_space, last
from .triangles import number_of


def _transpose_matrix(
    input: Any,
    filters: Any,
    output_shape: Any,
    rank: int,
    strides: Any,
    padding: Any,
    data_format: Any,
    dilations: Any,
    op: str,
) -> Tensor:
    w, g = as_tensors((filters, input), op)  # of two arrays the filters' dtype counts
    first = channels_first(data_format, rank, op)
    if g.dtype is not w.dtype:
        raise mismatch_error(op, 2, w.dtype, g.dtype)
    for x, what in ((g, "out_backprop"), (w, "filter")):
        require(
            x.ndim == rank + 2, op, f"{what} must be {rank + 2}-dimensional: {x.shape.as_list()}"
        )
    steps = in_space(sliding_windows.sizes(strides, rank, first, "strides"), op, "strides")
    rates = in_space(sliding_windows.sizes(dilations, rank, first, "dilations"), op, "dilations")
    pairs = explicit(padding, rank, first, op)
    shape = movement.to_shape(output_shape)
    g = last(g, first)
    few, features = int(w.shape[-2]), int(w.shape[-1])
    if len(shape) == rank:
        shape = (int(g.shape[0]), *shape, few)
    elif len(shape) == rank + 2:
        shape = (shape[0], *shape[2:], shape[1]) if first else shape
    else:
        raise ValueError(
            f"`output_shape` must be of length {rank} or {rank + 2}, got {repr_of(output_shape)}"
        )
    channels = shape[-1]
    require(
        few > 0 and channels > 0 and channels % few == 0,
        op,
        f"input depth must be evenly divisible by filter depth: {channels} vs {few}",
    )
    groups = channels // few
    require(
        features == g.shape[-1] and features % groups == 0,
        op,
        f"filter and out_backprop must have the same depth, divisible by the number of groups: "
        f"{features} vs {g.shape[-1]}, {groups} groups",
    )
    require(
        shape[0] == g.shape[0],
        op,
        f"input and out_backprop must have the same batch size: {shape[0]} vs {g.shape[0]}",
    )
    inner = shape[1:-1]
    result = sliding_windows.geometry(
        inner, tuple(w.shape[:-2]), steps, rates, padding, pairs, groups, op
    )
    require(
        result.outer == tuple(g.shape[1:-1]),
        op,
        f"Size of out_backprop doesn't match computed: actual = {tuple(g.shape[1:-1])}, computed = "
        f"{result.outer}, output_shape: {shape}",
    )
    if not math.prod(result.outer):
        return back(movement.broadcast_to(as_tensor(0, g._spec), shape), first)
    return back(conv_input(g, swap(w, groups), result), first)


def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv1d` by its input: it undoes a convolution's shape, not its values.

    Args:
      input: A tensor of floats, of shape (batch, width, features).
      filters: A tensor of shape (width of the filter, channels, features).
      output_shape: The result's shape: one that `conv1d` makes ``input``'s of.
      strides: How far apart the results of neighbours are.
      padding: "VALID" or "SAME": that of the convolution.
      data_format: "NWC" or "NCW".
      dilations: How far apart the elements are that the filter meets.
      name: Not used.

    Returns:
      A tensor of shape ``output_shape``.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.
      ValueError: If there are too many strides, dilations or sizes.

    Example:
      >>> x = tf.reshape([1.0, 2.0], (1, 2, 1))
      >>> w = tf.reshape([1.0, 10.0], (2, 1, 1))
      >>> tf.nn.conv1d_transpose(x, w, (1, 4, 1), 2).numpy().ravel()
      array([ 1., 10.,  2., 20.], dtype=float32)
    """
    op = "Conv1DTranspose"
    return _transpose_matrix(
        input, filters, output_shape, 1, strides, padding, data_format, dilations, op
    )


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv2d` by its input: it undoes a convolution's shape, not its values.

    Args:
      input: A tensor of floats, of shape (batch, height, width, features).
      filters: A tensor of shape (height, width, channels, features).
      output_shape: The result's shape, or its height and width: one that `conv2d` makes
        ``input``'s of.
      strides: How far apart the results of neighbours are: one number, two, or four.
      padding: "VALID", "SAME", or pairs of ints: that of the convolution.
      data_format: "NHWC" or "NCHW".
      dilations: How far apart the elements are that the filter meets, as ``strides``.
      name: Not used.

    Returns:
      A tensor of shape ``output_shape``.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.
      ValueError: If there are too many strides, dilations or sizes.

    Example:
      >>> w = tf.ones((3, 3, 2, 4))
      >>> tf.nn.conv2d_transpose(tf.ones((1, 5, 5, 4)), w, (1, 10, 10, 2), 2).shape
      TensorShape([1, 10, 10, 2])
    """
    return _transpose_matrix(
        input,
        filters,
        output_shape,
        2,
        strides,
        padding,
        data_format,
        dilations,
        "Conv2DBackpropInput",
    )


def conv3d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv3d` by its input: it undoes a convolution's shape, not its values.

    Args:
      input: A tensor of floats, of shape (batch, depth, height, width, features).
      filters: A tensor of shape (depth, height, width, channels, features).
      output_shape: The result's shape: one that `conv3d` makes ``input``'s of.
      strides: How far apart the results of neighbours are: one number, three, or five.
      padding: "VALID" or "SAME": that of the convolution.
      data_format: "NDHWC" or "NCDHW".
      dilations: How far apart the elements are that the filter meets, as ``strides``.
      name: Not used.

    Returns:
      A tensor of shape ``output_shape``.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.
      ValueError: If there are too many strides, dilations or sizes.

    Example:
      >>> x, w = tf.ones((1, 1, 1, 1, 2)), tf.ones((2, 2, 2, 1, 2))
      >>> tf.nn.conv3d_transpose(x, w, (1, 2, 2, 2, 1), 2).numpy().ravel()
      array([2., 2., 2., 2., 2., 2., 2., 2.], dtype=float32)
    """
    return _transpose_matrix(
        input,
        filters,
        output_shape,
        3,
        strides,
        padding,
        data_format,
        dilations,
        "Conv3DBackpropInputV2",
    )


def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The gradient of `convolution` by its input, over one to three axes.

    Args:
      input: A tensor of floats, of shape (batch, sizes in space, features).
      filters: A tensor of shape (sizes in space, channels, features).
      output_shape: The result's shape: one that `convolution` makes ``input``'s of.
      strides: How far apart the results of neighbours are.
      padding: "VALID" or "SAME": that of the convolution.
      data_format: None, or a name such as "NHWC" or "NCHW".
      dilations: How far apart the elements are that the filter meets, as ``strides``.
      name: Not used.

    Returns:
      A tensor of shape ``output_shape``.

    Raises:
      InvalidArgumentError: If shapes or dtypes do not fit, or a stride is not positive.
      ValueError: If there are too many strides, dilations or sizes, or not one to three axes.

    Example:
      >>> tf.nn.conv_transpose(tf.ones((1, 3, 2)), tf.ones((2, 4, 2)), (1, 6, 4), 2).shape
      TensorShape([1, 6, 4])
    """
    rank = len(movement.to_shape(output_shape)) - 2
    if not 1 <= rank <= 3:
        raise ValueError(
            f"output_shape must be of length 3, 4 or 5. Received: output_shape="
            f"{repr_of(output_shape)} of length {rank + 2}"
        )
    return _transpose_matrix(
        input,
        filters,
        output_shape,
        rank,
        strides,
        padding,
        data_format,
        dilations,
        "ConvTranspose",
    )


def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: Any, name: str | None = None
) -> Tensor:
    """The gradient of `atrous_conv2d` by its input.

    Args:
      value: A tensor of floats, of shape (batch, height, width, features).
      filters: A tensor of shape (height, width, channels, features).
      output_shape: The result's shape: one that `atrous_conv2d` makes ``value``'s of.
      rate: How far apart the elements are that the filter meets.
      padding: "VALID" or "SAME": that of the convolution.
      name: Not used.

    Returns:
      A tensor of shape ``output_shape``.

    Raises:
      ValueError: If the rate is not positive.
      InvalidArgumentError: If shapes or dtypes do not fit.

    Example:
      >>> x, w = tf.ones((1, 1, 1, 1)), tf.ones((2, 2, 1, 1))
      >>> found = tf.nn.atrous_conv2d_transpose(x, w, (1, 3, 3, 1), 2, "VALID")
      >>> found[0, :, :, 0].numpy()
      array([[1., 0., 1.],
             [0., 0., 0.],
             [1., 0., 1.]], dtype=float32)
    """
    if number_of(rate, "Conv2DBackpropInput") < 1:
        raise ValueError(f"`rate` cannot be less than one. Received: rate={rate}")
    return _transpose_matrix(
        value, filters, output_shape, 2, 1, padding, "NHWC", rate, "Conv2DBackpropInput"
    )
