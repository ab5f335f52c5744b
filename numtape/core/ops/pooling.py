"""TensorFlow's pooling: ops that reduce windows to their maximum, its index, or their mean.

The maximum of a window is its first largest element in memory order; NaN is ignored unless all
elements are NaN. The gradient goes to that element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import UnimplementedError
from ...kernels.constants import CONV_PIXELS
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Native, Op, defop
from ..log.record import record, require
from ..values.dtypes import as_dtype, float32, int64, repr_of
from ..values.hints import suggest_keywords
from ..values.spec import Spec, intern
from ..values.tensor import Tensor
from . import convolutions, elementwise, movement, rules
from .convolutions import (
    Geometry,
    channels_first,
    check_steps_and_rates,
    parse_padding,
    restore_channels,
    spatial_sizes,
    taps,
    to_channels_last,
)
from .creation import convert_to_tensor

if TYPE_CHECKING:
    from ..values.annotations import DTypeLike, IntLike, IntsLike, PaddingLike, TensorLike

Array = np.ndarray[Any, Any]


def _reduce_windows(op: Op, x: Spec, *_: Spec, geometry: Geometry) -> Spec:
    rules.number(op, x)
    return intern((x.shape[0], *geometry.output_sizes, x.shape[-1]), x.dtype)


def _average_spec(op: Op, x: Spec, geometry: Geometry) -> Spec:
    rules.floating(op, x)
    return _reduce_windows(op, x, geometry=geometry)


def _input_spec(op: Op, g: Spec, geometry: Geometry) -> Spec:
    return intern((g.shape[0], *geometry.input_sizes, g.shape[-1]), g.dtype)


def _find_largest(x: Array, geometry: Geometry) -> tuple[Array, Array]:
    """Return the largest element of each window and the index of its pixel in the image."""
    shape = (len(x), *geometry.output_sizes, x.shape[-1])
    largest, argmax = np.zeros(shape, x.dtype), np.full(shape, -1, np.int64)
    pixels = np.arange(math.prod(geometry.input_sizes)).reshape(*geometry.input_sizes, 1)
    for _, inputs, outputs in taps(geometry):
        candidates, windows = x[:, *inputs], (slice(None), *outputs)
        current = largest[windows]
        is_larger = (
            (candidates > current)
            | (argmax[windows] < 0)
            | ((current != current) & (candidates == candidates))
        )
        largest[windows] = np.where(is_larger, candidates, current)
        argmax[windows] = np.where(is_larger, pixels[inputs], argmax[windows])
    return largest, argmax


def _max(out: Array, x: Array, geometry: Geometry) -> None:
    out[...] = _find_largest(x, geometry)[0]


def _max_grad(out: Array, x: Array, g: Array, geometry: Geometry) -> None:
    flat = np.zeros((len(x), math.prod(geometry.input_sizes), x.shape[-1]), x.dtype)
    argmax = _find_largest(x, geometry)[1].reshape(
        len(x), math.prod(geometry.output_sizes), x.shape[-1]
    )
    n, _, c = np.ogrid[: len(x), :1, : x.shape[-1]]
    np.add.at(flat, (n, argmax, c), g.reshape(argmax.shape))
    out[...] = flat.reshape(out.shape)


def _max_take(out: Array, x: Array, h: Array, geometry: Geometry) -> None:
    argmax = _find_largest(x, geometry)[1].reshape(
        len(x), math.prod(geometry.output_sizes), x.shape[-1]
    )
    flat = h.reshape(len(x), math.prod(geometry.input_sizes), x.shape[-1])
    out[...] = np.take_along_axis(flat, argmax, 1).reshape(out.shape)


def _argmax(out: Array, x: Array, geometry: Geometry, batched: bool) -> None:
    indices = _find_largest(x, geometry)[1] * x.shape[-1] + np.arange(x.shape[-1])
    if batched:
        step = math.prod(x.shape[1:])
        indices += (np.arange(len(x)) * step).reshape(-1, *[1] * (x.ndim - 1))
    out[...] = indices


def _window_counts(geometry: Geometry) -> Array:
    """Return the number of elements of each window, without padding."""
    array = np.zeros((*geometry.output_sizes, 1), np.int64)
    for _, _, outputs in taps(geometry):
        array[outputs] += 1
    return array


def _average(out: Array, x: Array, geometry: Geometry) -> None:
    out[...] = 0
    for _, inputs, outputs in taps(geometry):
        out[:, *outputs] += x[:, *inputs]
    out /= np.maximum(_window_counts(geometry), 1).astype(x.dtype)


def _average_grad(out: Array, g: Array, geometry: Geometry) -> None:
    out[...] = 0
    share = g / np.maximum(_window_counts(geometry), 1).astype(g.dtype)
    for _, inputs, outputs in taps(geometry):
        out[:, *inputs] += share[:, *outputs]


def _make_native(name: str, backward: bool) -> Any:
    def native(out: Spec, x: Spec, *_: Spec, geometry: Geometry) -> Native | None:
        if not out.is_float or not x.size:
            return None
        n = out.shape[0]
        count = math.prod(geometry.output_sizes)
        units = n if backward else -(-n * count // CONV_PIXELS)
        work = 2 * n * out.shape[-1] * count * math.prod(geometry.kernel)
        parameters = (n, 1, out.shape[-1], out.shape[-1], *geometry.parameters())
        return Native(f"pool.{name}", (out.dtype.name,), parameters, units, work)

    return native


def record_max_pool(x: Tensor, geometry: Geometry) -> Tensor:
    """Record the largest element of each window."""
    return record(MAX_POOL, (x,), geometry=geometry)


def record_argmax(x: Tensor, geometry: Geometry, batched: bool) -> Tensor:
    """Record the flat index of the largest element, in the image or in the batch."""
    return record(MAX_POOL_PLACE, (x,), geometry=geometry, batched=batched)


def record_average(x: Tensor, geometry: Geometry) -> Tensor:
    """Record the mean of each window."""
    return record(AVG_POOL, (x,), geometry=geometry)


MAX_POOL = defop(
    "MaxPool",
    ARRAY,
    1,
    _reduce_windows,
    compute=_max,
    native=_make_native("largest", False),
    vjp=lambda g, y, x, geometry: (record(MAX_POOL_GRAD, (x, g), geometry=geometry),),
)
MAX_POOL_GRAD: Op = defop(
    "MaxPoolGrad",
    ARRAY,
    2,
    lambda op, x, g, geometry: x,
    compute=_max_grad,
    native=_make_native("largest_spread", True),
    vjp=lambda h, y, x, g, geometry: (
        elementwise.zeros_of(x),
        record(MAX_POOL_TAKE, (x, h), geometry=geometry),
    ),
)
MAX_POOL_TAKE: Op = defop(
    "MaxPoolGradGrad",
    ARRAY,
    2,
    _reduce_windows,
    compute=_max_take,
    native=_make_native("largest_taken", False),
    vjp=lambda g, y, x, h, geometry: (
        elementwise.zeros_of(x),
        record(MAX_POOL_GRAD, (x, g), geometry=geometry),
    ),
)
MAX_POOL_PLACE = defop(
    "MaxPoolPlace",
    ARRAY,
    1,
    lambda op, x, geometry, batched: intern(_reduce_windows(op, x, geometry=geometry).shape, int64),
    compute=_argmax,
    gradient=2,
)
AVG_POOL = defop(
    "AvgPool",
    ARRAY,
    1,
    _average_spec,
    compute=_average,
    native=_make_native("mean", False),
    vjp=lambda g, y, x, geometry: (record(AVG_POOL_GRAD, (g,), geometry=geometry),),
)
AVG_POOL_GRAD: Op = defop(
    "AvgPoolGrad",
    ARRAY,
    1,
    _input_spec,
    compute=_average_grad,
    native=_make_native("mean_spread", True),
    vjp=lambda h, y, g, geometry: (record(AVG_POOL, (h,), geometry=geometry),),
)


def parse_windows(
    x: Tensor,
    rank: int,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    is_channels_first: bool,
    op: str,
    dilations: IntsLike = 1,
) -> tuple[Tensor, Geometry]:
    """Return the operand with channels last, and the geometry of the windows."""
    require(
        x.ndim == rank + 2, op, f"tensor_in must be {rank + 2}-dimensional: {x.shape.as_list()}"
    )
    kernel = convolutions.parse_sizes(ksize, rank, is_channels_first, "ksize")
    steps = convolutions.parse_sizes(strides, rank, is_channels_first, "strides")
    require(min(kernel) > 0, op, f"Sliding window ksize must be positive, got {repr_of(ksize)}")
    if kernel[0] != 1 or steps[0] != 1:
        raise UnimplementedError(f"Pooling is not yet supported on the batch dimension. [Op:{op}]")
    x = to_channels_last(x, is_channels_first)
    if kernel[-1] != 1 and op == "MaxPool" and max(kernel[:-1]) == max(steps[:-1]) == 1:
        depth, channels = kernel[-1], int(x.shape[-1])
        if steps[-1] == depth and channels % depth == 0:  # windows over the channels
            x = movement.reshape_if_needed(x, (math.prod(x.shape[:-1]), channels, 1))
            geometry = convolutions.make_geometry(
                (channels,), (depth,), (depth,), (1,), "VALID", None, 1, op
            )
            return x, geometry
    if kernel[-1] != 1:
        raise UnimplementedError(f"Non-spatial pooling is not yet supported. [Op:{op}]")
    pairs = parse_padding(padding, rank, is_channels_first, op)
    for k, (before, after) in zip(kernel[1:-1], pairs or (), strict=False):
        require(
            max(before, after) < k,
            op,
            f"Padding {max(before, after)} needs to be smaller than the window size {k}",
        )
    rates = spatial_sizes(
        convolutions.parse_sizes(dilations, rank, is_channels_first, "dilations"), op, "dilations"
    )
    geometry = convolutions.make_geometry(
        tuple(x.shape[1:-1]),
        kernel[1:-1],
        spatial_sizes(steps, op, "strides"),
        rates,
        padding,
        pairs,
        1,
        op,
    )
    for size, count in zip(geometry.input_sizes, geometry.output_sizes, strict=True):
        require(
            count > 0 or size == 0 or op != "MaxPool",
            op,
            f"Computed output size would be zero: a window of size {kernel[1:-1]} does not fit "
            f"into an input of shape {x.shape}",
        )
    return x, geometry


def _pool(
    op: str,
    input: TensorLike,
    rank: int | None,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None,
    dilations: IntsLike = 1,
) -> Tensor:
    x = as_tensor(input)
    if rank is None:
        rank = x.ndim - 2
        if not 1 <= rank <= 3:
            raise ValueError(
                f"`input.shape.rank` must be 3, 4 or 5. Received: input.shape={x.shape} of rank "
                f"{x.ndim}."
            )
    if op == "AvgPool" and not isinstance(padding, str):
        raise TypeError(f"Expected string for argument 'padding' not {repr_of(padding)}.")
    is_channels_first = channels_first(data_format, rank, op)
    channels_last = to_channels_last(x, is_channels_first)
    operand, geometry = parse_windows(
        x, rank, ksize, strides, padding, is_channels_first, op, dilations
    )
    y = (record_max_pool if op == "MaxPool" else record_average)(operand, geometry)
    if operand.ndim != channels_last.ndim:
        y = movement.reshape_if_needed(y, (*channels_last.shape[:-1], geometry.output_sizes[0]))
    return restore_channels(y, is_channels_first)


def max_pool(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the maximum of each window that slides over one to three spatial axes.

    The gradient goes to the maximum; at a tie, to the first largest element.

    Args:
      input: A tensor of numbers, of shape (batch, *spatial, channels).
      ksize: The size of the window: one number, one for each spatial axis, or one for each axis.
      strides: The strides of the window, in the form of ``ksize``.
      padding: "VALID", "SAME", or pairs of ints, the padding before and after each axis. Padding is
        never the maximum.
      data_format: None, or a name such as "NHWC" or "NCHW".
      name: Not used.

    Returns:
      A tensor of the same dtype with new spatial sizes.

    Raises:
      InvalidArgumentError: If shapes do not fit, or a size or stride is not positive.
      ValueError: If there are too many sizes or strides, or not one to three spatial axes.

    Example:
      >>> x = tf.reshape([1.0, 5.0, 2.0, 3.0], (1, 2, 2, 1))
      >>> tf.nn.max_pool(x, 2, 1, "SAME").numpy().ravel()
      array([5., 5., 3., 3.], dtype=float32)
    """
    return _pool("MaxPool", input, None, ksize, strides, padding, data_format)


def max_pool1d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Compute the maximum of each window that slides over one axis.

    The gradient goes to the maximum; at a tie, to the first largest element.

    Args:
      input: A tensor of numbers, of shape (batch, width, channels).
      ksize: The size of the window: one number, a list of one, or three including batch and
        channels.
      strides: The strides of the window, in the form of ``ksize``.
      padding: "VALID", "SAME", or pairs of ints, the padding before and after each axis. Padding is
        never the maximum.
      data_format: "NWC" or "NCW".
      name: Not used.

    Returns:
      A tensor of the same dtype with new spatial sizes.

    Raises:
      InvalidArgumentError: If shapes do not fit, or a size or stride is not positive.
      ValueError: If there are too many sizes or strides.

    Example:
      >>> x = tf.reshape([1.0, 5.0, 2.0, 3.0], (1, 4, 1))
      >>> tf.nn.max_pool1d(x, 2, 2, "VALID").numpy().ravel()
      array([5., 3.], dtype=float32)
    """
    return _pool("MaxPool", input, 1, ksize, strides, padding, data_format)


@suggest_keywords
def max_pool2d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Compute the maximum of each window that slides over two axes.

    The gradient goes to the maximum; at a tie, to the first largest element.

    Args:
      input: A tensor of numbers, of shape (batch, height, width, channels).
      ksize: The size of the window: one number, one for each spatial axis, or four including batch
        and channels.
      strides: The strides of the window, in the form of ``ksize``.
      padding: "VALID", "SAME", or pairs of ints, the padding before and after each axis. Padding is
        never the maximum.
      data_format: "NHWC" or "NCHW".
      name: Not used.

    Returns:
      A tensor of the same dtype with new spatial sizes.

    Raises:
      InvalidArgumentError: If shapes do not fit, or a size or stride is not positive.
      ValueError: If there are too many sizes or strides.

    Example:
      >>> x = tf.reshape([1.0, 5.0, 2.0, 3.0], (1, 2, 2, 1))
      >>> tf.nn.max_pool2d(x, [2, 1], 1, "VALID").numpy().ravel()
      array([2., 5.], dtype=float32)
    """
    input = convert_to_tensor(input, dtype_hint=float32)  # also converts arrays to float32
    return _pool("MaxPool", input, 2, ksize, strides, padding, data_format)


def max_pool3d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: PaddingLike,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Compute the maximum of each window that slides over three axes.

    The gradient goes to the maximum; at a tie, to the first largest element.

    Args:
      input: A tensor of numbers, of shape (batch, depth, height, width, channels).
      ksize: The size of the window: one number, one for each spatial axis, or five including batch
        and channels.
      strides: The strides of the window, in the form of ``ksize``.
      padding: "VALID", "SAME", or pairs of ints, the padding before and after each axis. Padding is
        never the maximum.
      data_format: "NDHWC" or "NCDHW".
      name: Not used.

    Returns:
      A tensor of the same dtype with new spatial sizes.

    Raises:
      InvalidArgumentError: If shapes do not fit, or a size or stride is not positive.
      ValueError: If there are too many sizes or strides.

    Example:
      >>> x = tf.reshape(tf.range(8.0), (1, 2, 2, 2, 1))
      >>> tf.nn.max_pool3d(x, 2, 2, "VALID").numpy().ravel()
      array([7.], dtype=float32)
    """
    return _pool("MaxPool", input, 3, ksize, strides, padding, data_format)


def avg_pool(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the mean of each window that slides over one to three spatial axes.

    The gradient is shared evenly by the elements of the window.

    Args:
      input: A tensor of floats, of shape (batch, *spatial, channels).
      ksize: The size of the window: one number, one for each spatial axis, or one for each axis.
      strides: The strides of the window, in the form of ``ksize``.
      padding: "VALID" or "SAME". Means exclude the padding.
      data_format: None, or a name such as "NHWC" or "NCHW".
      name: Not used.

    Returns:
      A tensor of the same dtype with new spatial sizes.

    Raises:
      InvalidArgumentError: If shapes do not fit, or a size or stride is not positive.
      ValueError: If there are too many sizes or strides, or not one to three spatial axes.
      TypeError: If ``padding`` is not a string.

    Example:
      >>> x = tf.reshape([1.0, 5.0, 2.0, 4.0], (1, 2, 2, 1))
      >>> tf.nn.avg_pool(x, 2, 1, "SAME").numpy().ravel()
      array([3. , 4.5, 3. , 4. ], dtype=float32)
    """
    return _pool("AvgPool", input, None, ksize, strides, padding, data_format)


def avg_pool1d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Compute the mean of each window that slides over one axis.

    The gradient is shared evenly by the elements of the window.

    Args:
      input: A tensor of floats, of shape (batch, width, channels).
      ksize: The size of the window: one number, a list of one, or three including batch and
        channels.
      strides: The strides of the window, in the form of ``ksize``.
      padding: "VALID" or "SAME". Means exclude the padding.
      data_format: "NWC" or "NCW".
      name: Not used.

    Returns:
      A tensor of the same dtype with new spatial sizes.

    Raises:
      InvalidArgumentError: If shapes do not fit, or a size or stride is not positive.
      ValueError: If there are too many sizes or strides.
      TypeError: If ``padding`` is not a string.

    Example:
      >>> x = tf.reshape([1.0, 5.0, 2.0, 3.0], (1, 4, 1))
      >>> tf.nn.avg_pool1d(x, 2, 2, "VALID").numpy().ravel()
      array([3. , 2.5], dtype=float32)
    """
    return _pool("AvgPool", input, 1, ksize, strides, padding, data_format)


def avg_pool2d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Compute the mean of each window that slides over two axes.

    The gradient is shared evenly by the elements of the window.

    Args:
      input: A tensor of floats, of shape (batch, height, width, channels).
      ksize: The size of the window: one number, one for each spatial axis, or four including batch
        and channels.
      strides: The strides of the window, in the form of ``ksize``.
      padding: "VALID" or "SAME". Means exclude the padding.
      data_format: "NHWC" or "NCHW".
      name: Not used.

    Returns:
      A tensor of the same dtype with new spatial sizes.

    Raises:
      InvalidArgumentError: If shapes do not fit, or a size or stride is not positive.
      ValueError: If there are too many sizes or strides.
      TypeError: If ``padding`` is not a string.

    Example:
      >>> x = tf.reshape([1.0, 5.0, 2.0, 3.0], (1, 2, 2, 1))
      >>> tf.nn.avg_pool2d(x, [2, 1], 1, "VALID").numpy().ravel()
      array([1.5, 4. ], dtype=float32)
    """
    return _pool("AvgPool", input, 2, ksize, strides, padding, data_format)


def avg_pool3d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Compute the mean of each window that slides over three axes.

    The gradient is shared evenly by the elements of the window.

    Args:
      input: A tensor of floats, of shape (batch, depth, height, width, channels).
      ksize: The size of the window: one number, one for each spatial axis, or five including batch
        and channels.
      strides: The strides of the window, in the form of ``ksize``.
      padding: "VALID" or "SAME". Means exclude the padding.
      data_format: "NDHWC" or "NCDHW".
      name: Not used.

    Returns:
      A tensor of the same dtype with new spatial sizes.

    Raises:
      InvalidArgumentError: If shapes do not fit, or a size or stride is not positive.
      ValueError: If there are too many sizes or strides.
      TypeError: If ``padding`` is not a string.

    Example:
      >>> x = tf.reshape(tf.range(8.0), (1, 2, 2, 2, 1))
      >>> tf.nn.avg_pool3d(x, 2, 2, "VALID").numpy().ravel()
      array([3.5], dtype=float32)
    """
    return _pool("AvgPool", input, 3, ksize, strides, padding, data_format)


def pool(
    input: TensorLike,
    window_shape: Sequence[IntLike],
    pooling_type: str,
    strides: IntsLike | None = None,
    padding: PaddingLike = "VALID",
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`max_pool` or `avg_pool`, optionally with dilated windows.

    Args:
      input: A tensor of floats, of shape (batch, *spatial, channels).
      window_shape: The sizes of the window, one for each spatial axis.
      pooling_type: "MAX" or "AVG".
      strides: The strides, one for each spatial axis; None for ones.
      padding: "VALID" or "SAME". Padding is ignored.
      data_format: None, or a name such as "NHWC" or "NCHW".
      dilations: The distances between the elements of a window, one for each spatial axis; None for
        ones.
      name: Not used.

    Returns:
      A tensor of the same dtype with new spatial sizes.

    Raises:
      ValueError: If the type is unknown, the number of sizes differs from that of the spatial axes,
        or strides and dilations are both larger than 1.
      InvalidArgumentError: If a size or stride is not positive.

    Example:
      >>> x = tf.reshape(tf.range(5.0), (1, 5, 1))
      >>> tf.nn.pool(x, [2], "MAX", dilations=[3]).numpy().ravel()
      array([3., 4.], dtype=float32)
    """
    x = as_tensor(input)
    if not isinstance(window_shape, Sequence):
        raise TypeError(f"window_shape is a list of ints, not {repr_of(window_shape)}")
    rank = len(window_shape)
    if not 1 <= rank <= 3 or x.ndim != rank + 2:
        raise ValueError(f"Shape {x.shape} must have rank {rank + 2}")
    kinds = {"MAX": "MaxPool", "AVG": "AvgPool"}
    if not isinstance(pooling_type, str) or pooling_type not in kinds:
        raise ValueError(f"{rank}-D {repr_of(pooling_type)} pooling is not supported.")
    steps = convolutions.parse_sizes(strides, rank, False, "strides")
    rates = convolutions.parse_sizes(dilations, rank, False, "dilations")
    check_steps_and_rates(steps, rates)
    return _pool(
        kinds[pooling_type],
        x,
        rank,
        tuple(window_shape),
        steps[1:-1],
        padding,
        data_format,
        rates[1:-1],
    )


class MaxPoolWithArgmax(NamedTuple):
    """The largest elements and their indices."""

    output: Tensor
    argmax: Tensor


def max_pool_with_argmax(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str = "NHWC",
    output_dtype: DTypeLike = int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> MaxPoolWithArgmax:
    """`max_pool2d`, together with the index of each maximum.

    Args:
      input: A tensor of numbers, of shape (batch, height, width, channels).
      ksize: The size of the window: one number, two, or four including batch and channels.
      strides: The strides of the window, in the form of ``ksize``.
      padding: "VALID" or "SAME".
      data_format: "NHWC".
      output_dtype: The dtype of the indices, int32 or int64.
      include_batch_in_index: Whether indices count elements of the whole batch instead of each
        image.
      name: Not used.

    Returns:
      Two tensors: ``output`` and ``argmax``, the indices
      ``(row * width + column) * channels + channel``.

    Raises:
      ValueError: If the format is not "NHWC", or there are too many sizes or strides.
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
    x, geometry = parse_windows(as_tensor(input), 2, ksize, strides, padding, False, op)
    indices = record_argmax(elementwise.stop_gradient(x), geometry, bool(include_batch_in_index))
    return MaxPoolWithArgmax(
        record_max_pool(x, geometry), elementwise.cast(indices, as_dtype(output_dtype))
    )


# Fractional pooling.


def fractional_max_pool(
    value: TensorLike,
    pooling_ratio: float | Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Take maxima over regions of random sizes, so that sizes shrink by any ratio (Graham, 2014).

    Args:
      value: Images of shape (batch, height, width, channels).
      pooling_ratio: The ratio of input to output sizes for height and width: a number, two, or
        four of which the first and last are 1.
      pseudo_random: Whether large and small regions alternate evenly; otherwise in any order.
      overlapping: Whether a region includes the first row and column of the next.
      seed: A seed; 0 for the generator of `tf.random`.
      name: Not used.

    Returns:
      The maxima, and the bounds of the regions along height and width, int64.

    Raises:
      InvalidArgumentError: If the shape or a ratio does not fit.
      UnimplementedError: If the ratio of the batch or channels is not 1.

    Example:
      >>> y, rows, columns = tf.nn.fractional_max_pool(tf.ones([1, 6, 6, 1]), 1.5)
      >>> y.shape, rows.numpy()[[0, -1]]
      (TensorShape([1, 4, 4, 1]), array([0, 6]))
    """
    return _fractional_pool(value, pooling_ratio, pseudo_random, overlapping, seed, is_max=True)


def fractional_avg_pool(
    value: TensorLike,
    pooling_ratio: float | Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Average over regions of random sizes, so that sizes shrink by any ratio (Graham, 2014).

    Args:
      value: Images of shape (batch, height, width, channels).
      pooling_ratio: The ratio of input to output sizes for height and width: a number, two, or
        four of which the first and last are 1.
      pseudo_random: Whether large and small regions alternate evenly; otherwise in any order.
      overlapping: Whether a region includes the first row and column of the next.
      seed: A seed; 0 for the generator of `tf.random`.
      name: Not used.

    Returns:
      The means, and the bounds of the regions along height and width, int64.

    Raises:
      InvalidArgumentError: If the shape or a ratio does not fit.
      UnimplementedError: If the ratio of the batch or channels is not 1.

    Example:
      >>> y, rows, columns = tf.nn.fractional_avg_pool(tf.ones([1, 6, 6, 1]), 1.5)
      >>> y.numpy().ravel()[:3]
      array([1., 1., 1.], dtype=float32)
    """
    return _fractional_pool(value, pooling_ratio, pseudo_random, overlapping, seed, is_max=False)


def _fractional_pool(
    value: TensorLike,
    pooling_ratio: float | Sequence[float],
    pseudo_random: bool,
    overlapping: bool,
    seed: int,
    is_max: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    from .arithmetic import truncatediv
    from .indexing import gather
    from .reduction import reduce_max, reduce_sum

    op = "FractionalMaxPool" if is_max else "FractionalAvgPool"
    x = as_tensor(value)
    require(x.ndim == 4, op, f"value must be 4-dimensional, got shape {x.shape}")
    numbers = np.asarray(pooling_ratio, np.float64).ravel()
    if numbers.size == 4:
        if not numbers[0] == numbers[3] == 1.0:
            raise UnimplementedError(
                f"Fractional pooling is not yet supported on the batch or channel dimension: "
                f"pooling_ratio={pooling_ratio} [Op:{op}]."
            )
        numbers = numbers[1:3]
    elif numbers.size == 1:
        numbers = np.repeat(numbers, 2)
    require(numbers.size == 2, op, f"pooling_ratio must be 1, 2 or 4 numbers, got {pooling_ratio}")
    require(numbers.min() >= 1.0, op, f"pooling_ratio must be at least 1, got {pooling_ratio}")
    rng = np.random.default_rng(seed) if seed else None
    results, counts = [], []
    for axis, ratio in ((1, float(numbers[0])), (2, float(numbers[1]))):
        bounds = _fractional_bounds(x.shape[axis], ratio, pseudo_random, rng, op)
        stops = np.minimum(bounds[1:] + overlapping, bounds[-1])
        sizes = stops - bounds[:-1]
        places = np.arange(sizes.max())
        # A shorter region repeats its last element, which counts for nothing in a mean.
        indices = bounds[:-1, None] + np.minimum(places, sizes[:, None] - 1)
        regions = gather(x, indices, axis=axis)
        if is_max:
            x = reduce_max(regions, axis + 1)
        else:
            inside = places < sizes[:, None]
            shape = [1] * axis + [*inside.shape] + [1] * (3 - axis)
            mask = as_tensor(inside.reshape(shape).astype(x.dtype.as_numpy_dtype))
            x = reduce_sum(regions * mask, axis + 1)
        results.append(as_tensor(bounds))
        counts.append(sizes)
    if not is_max:
        areas = np.outer(*counts)[:, :, None].astype(x.dtype.as_numpy_dtype)
        x = truncatediv(x, areas) if x.dtype.is_integer else x / areas
    return x, results[0], results[1]


def _fractional_bounds(
    size: int, ratio: float, pseudo_random: bool, rng: np.random.Generator | None, op: str
) -> np.ndarray[Any, Any]:
    """The bounds of regions of ``floor(ratio)`` or one more element that cover an axis."""
    from .random import uniform

    count = int(size / ratio)
    require(count >= 1, op, f"pooling_ratio {ratio} is too large for an axis of size {size}")
    draws = uniform([count], dtype="float64").numpy() if rng is None else rng.random(count)
    if pseudo_random:
        steps = np.arange(count + 1) * (size / count)
        return np.asarray(np.floor(steps + draws[0]), np.int64)
    smallest, larger = divmod(size, count)
    sizes = np.full(count, smallest)
    sizes[np.argsort(draws)[:larger]] += 1
    return np.asarray(np.concatenate([[0], np.cumsum(sizes)]), np.int64)
