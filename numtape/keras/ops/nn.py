"""``tf.keras.ops.nn``: functions of neural networks, for tensors and symbolic tensors."""

from __future__ import annotations

import math
import typing as _typing
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ...compat.names import getter as _getter
from ...core.log.as_tensor import as_tensor
from ...core.values.tensor import Tensor
from .. import activations, config
from ..layers.base import int_tuple, parse_data_format
from ..layers.convolution import FORMATS
from .define import dtype_or_floatx, floats, numbers, op, promoted, to_axis, to_dtype, unary

if TYPE_CHECKING:
    from ...core.values.annotations import AxisLike, DTypeLike, NumberLike, TensorLike

__all__ = [
    "adaptive_average_pool",
    "adaptive_max_pool",
    "average_pool",
    "batch_normalization",
    "binary_crossentropy",
    "categorical_crossentropy",
    "celu",
    "conv",
    "conv_transpose",
    "ctc_decode",
    "ctc_loss",
    "depth_to_space",
    "depthwise_conv",
    "dot_product_attention",
    "elu",
    "fold",
    "gelu",
    "glu",
    "hard_shrink",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "layer_normalization",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "max_pool",
    "moments",
    "multi_hot",
    "normalize",
    "one_hot",
    "polar",
    "psnr",
    "relu",
    "relu6",
    "rms_normalization",
    "selu",
    "separable_conv",
    "sigmoid",
    "silu",
    "soft_shrink",
    "softmax",
    "softplus",
    "softsign",
    "space_to_depth",
    "sparse_categorical_crossentropy",
    "sparse_plus",
    "sparse_sigmoid",
    "sparsemax",
    "squareplus",
    "swish",
    "tanh_shrink",
    "threshold",
    "unfold",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_SHAPES = "ValueError: If the shapes do not match."
_AXIS = "InvalidArgumentError: If ``x`` has no such axis."

# --- Activations ---------------------------------------------------------------------------------


def _hard_sigmoid(x: Tensor) -> Tensor:
    return tf.minimum(tf.maximum(x / 6 + 0.5, 0), 1)


_X = "[-2.0, 0.0, 1.0]"
relu = unary(
    "relu", tf.nn.relu, "Return max(x, 0).", _X, "array([0., 0., 1.], dtype=float32)", numbers
)
relu6 = unary(
    "relu6",
    tf.nn.relu6,
    "Return min(max(x, 0), 6).",
    "[-2.0, 1.0, 8.0]",
    "array([0., 1., 6.], dtype=float32)",
)
sigmoid = unary(
    "sigmoid",
    tf.sigmoid,
    "Return 1 / (1 + exp(-x)).",
    _X,
    "array([0.11920293, 0.5 , 0.7310586 ], dtype=float32)",
)
sparse_sigmoid = unary(
    "sparse_sigmoid",
    activations.sparse_sigmoid,
    "Return (x + 1) / 2, limited to 0 and 1.",
    _X,
    "array([0. , 0.5, 1. ], dtype=float32)",
)
softplus = unary(
    "softplus",
    tf.nn.softplus,
    "Return log(1 + exp(x)).",
    _X,
    "array([0.12692802, 0.6931472 , 1.3132617 ], dtype=float32)",
)
softsign = unary(
    "softsign",
    tf.nn.softsign,
    "Return x / (1 + |x|).",
    _X,
    "array([-0.6666667, 0. , 0.5 ], dtype=float32)",
)
sparse_plus = unary(
    "sparse_plus",
    activations.sparse_plus,
    "Return (x + 1)**2 / 4 between -1 and 1, 0 below, x above.",
    _X,
    "array([0. , 0.25, 1. ], dtype=float32)",
)
silu = unary(
    "silu",
    tf.nn.silu,
    "Return x sigmoid(x).",
    _X,
    "array([-0.23840585, 0. , 0.7310586 ], dtype=float32)",
)
swish = silu
log_sigmoid = unary(
    "log_sigmoid",
    tf.math.log_sigmoid,
    "Return log(sigmoid(x)).",
    _X,
    "array([-2.126928 , -0.6931472, -0.3132617], dtype=float32)",
)
hard_sigmoid = unary(
    "hard_sigmoid",
    _hard_sigmoid,
    "Return x / 6 + 1 / 2, limited to 0 and 1.",
    _X,
    "array([0.16666666, 0.5 , 0.6666667 ], dtype=float32)",
)
hard_silu = unary(
    "hard_silu",
    lambda x: x * _hard_sigmoid(x),
    "Return x hard_sigmoid(x).",
    _X,
    "array([-0.3333333, 0. , 0.6666667], dtype=float32)",
)
hard_swish = hard_silu
selu = unary(
    "selu",
    tf.nn.selu,
    "Return the scaled exponential linear unit.",
    _X,
    "array([-1.5201665, 0. , 1.050701 ], dtype=float32)",
)
tanh_shrink = unary(
    "tanh_shrink",
    lambda x: x - tf.tanh(x),
    "Return x - tanh(x).",
    _X,
    "array([-1.0359724 , 0. , 0.23840582], dtype=float32)",
)
hard_tanh = unary(
    "hard_tanh",
    lambda x: tf.minimum(tf.maximum(x, -1), 1),
    "Return x, limited to -1 and 1.",
    _X,
    "array([-1., 0., 1.], dtype=float32)",
)


@op(raises="TypeError: If ``x`` cannot be converted to a tensor.")
def soft_shrink(x: TensorLike, threshold: float = 0.5) -> Any:
    """Move values toward 0 by the threshold.

    >>> tf.keras.ops.soft_shrink([-2.0, 0.2, 1.0]).numpy()
    array([-1.5,  0. ,  0.5], dtype=float32)
    """
    return activations.soft_shrink(floats(x), threshold)


@op(raises="TypeError: If ``x`` cannot be converted to a tensor.")
def hard_shrink(x: TensorLike, threshold: float = 0.5) -> Any:
    """Set values whose absolute value does not exceed the threshold to 0.

    >>> tf.keras.ops.hard_shrink([-2.0, 0.2, 1.0]).numpy()
    array([-2.,  0.,  1.], dtype=float32)
    """
    return activations.hard_shrink(floats(x), threshold)


@op(raises="TypeError: If ``x`` cannot be converted to a tensor.")
def threshold(x: TensorLike, threshold: float, default_value: float) -> Any:
    """Replace values that do not exceed the threshold.

    >>> tf.keras.ops.threshold([-2.0, 0.2, 1.0], 0.5, 9.0).numpy()
    array([9., 9., 1.], dtype=float32)
    """
    return activations.threshold(floats(x), threshold, default_value)


@op(raises="TypeError: If ``x`` cannot be converted to a tensor.")
def squareplus(x: TensorLike, b: NumberLike = 4) -> Any:
    """Return (x + sqrt(x**2 + b)) / 2.

    >>> tf.keras.ops.squareplus([-1.0, 0.0, 1.0]).numpy()
    array([0.618034, 1.      , 1.618034], dtype=float32)
    """
    tensor = floats(x)
    return (tensor + tf.sqrt(tf.square(tensor) + to_dtype(b, tensor.dtype))) / 2


@op(raises="TypeError: If ``x`` cannot be converted to a tensor.")
def leaky_relu(x: TensorLike, negative_slope: float = 0.2) -> Any:
    """Return x where it is positive, else the slope times x.

    >>> tf.keras.ops.leaky_relu([-2.0, 1.0]).numpy()
    array([-0.4,  1. ], dtype=float32)
    """
    return tf.nn.leaky_relu(floats(x), negative_slope)


@op(raises="TypeError: If ``x`` cannot be converted to a tensor.")
def elu(x: TensorLike, alpha: float = 1.0) -> Any:
    """Return x where it is positive, else alpha (exp(x) - 1).

    >>> tf.keras.ops.elu([-1.0, 1.0]).numpy()
    array([-0.63212055,  1.        ], dtype=float32)
    """
    return activations.elu(floats(x), alpha)


@op(raises="TypeError: If ``x`` cannot be converted to a tensor.")
def celu(x: TensorLike, alpha: float = 1.0) -> Any:
    """Return x where it is positive, else alpha (exp(x / alpha) - 1).

    >>> tf.keras.ops.celu([-1.0, 1.0]).numpy()
    array([-0.63212055,  1.        ], dtype=float32)
    """
    return activations.celu(floats(x), alpha)


@op(raises="TypeError: If ``x`` cannot be converted to a tensor.")
def gelu(x: TensorLike, approximate: bool = True) -> Any:
    """Return x times the standard normal distribution function of x.

    >>> tf.keras.ops.gelu([-1.0, 1.0]).numpy()
    array([-0.158808,  0.841192], dtype=float32)
    """
    return tf.nn.gelu(floats(x), approximate)


@op(raises="ValueError: If the axis has an odd size.")
def glu(x: TensorLike, axis: int = -1) -> Any:
    """Return the first half times the sigmoid of the second half.

    >>> tf.keras.ops.glu([1.0, 2.0, 0.0, 0.0]).numpy()
    array([0.5, 1. ], dtype=float32)
    """
    tensor = floats(x)
    if tensor.shape[axis] % 2:
        raise ValueError(f"axis size must be divisible by 2. Received: x.shape={tensor.shape}")
    return activations.glu(tensor, axis)


def _over_axes(function: Callable[[Any, Any], Any], x: TensorLike, axis: Any) -> Any:
    """Apply a function of one axis to several axes, as if they were one."""
    tensor = floats(x)
    if axis is None:
        return tf.reshape(function(tf.reshape(tensor, [-1]), -1), tensor.shape)
    if not isinstance(axis, list | tuple):
        return function(tensor, to_axis(axis, tensor.ndim))
    axes = [to_axis(a, tensor.ndim) for a in axis]
    order = [a for a in range(tensor.ndim) if a not in axes] + axes
    moved = tf.transpose(tensor, order)
    flat = tf.reshape(moved, [*moved.shape[: tensor.ndim - len(axes)], -1])
    result = tf.reshape(function(flat, -1), moved.shape)
    return tf.transpose(result, np.argsort(order))


@op(raises=_AXIS)
def softmax(x: TensorLike, axis: AxisLike = -1) -> Any:
    """Return exp(x), normalized to a sum of 1.

    >>> tf.keras.ops.softmax([1.0, 1.0, 2.0]).numpy()
    array([0.21194157, 0.21194157, 0.5761169 ], dtype=float32)
    """
    return _over_axes(tf.nn.softmax, x, axis)


@op(raises=_AXIS)
def log_softmax(x: TensorLike, axis: AxisLike = -1) -> Any:
    """Return the logarithm of `softmax`.

    >>> tf.keras.ops.log_softmax([1.0, 1.0, 2.0]).numpy()
    array([-1.5514446 , -1.5514446 , -0.55144465], dtype=float32)
    """
    return _over_axes(tf.nn.log_softmax, x, axis)


@op(raises=_AXIS)
def sparsemax(x: TensorLike, axis: int = -1) -> Any:
    """Project onto the probabilities: small values become 0.

    >>> tf.keras.ops.sparsemax([1.0, 1.0, 1.5]).numpy()
    array([0.16666669, 0.16666669, 0.6666667 ], dtype=float32)
    """
    return activations.sparsemax(floats(x), axis)


# --- Pooling and convolutions --------------------------------------------------------------------


def _format(inputs: Tensor, data_format: str | None) -> tuple[str, str, int]:
    """Return Keras's and `tf.nn`'s name of the data format, and the number of spatial axes."""
    name, rank = parse_data_format(data_format), inputs.ndim - 2
    if rank not in FORMATS[name]:
        raise ValueError(
            f"The inputs must have one to three spatial axes, got the shape {inputs.shape}."
        )
    return name, FORMATS[name][rank], rank


def _pool(
    function: Callable[..., Any],
    inputs: TensorLike,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] | None,
    padding: str,
    data_format: str | None,
) -> Any:
    tensor = numbers(inputs)
    _, name, rank = _format(tensor, data_format)
    size = int_tuple(pool_size, rank, "pool_size")
    steps = size if strides is None else int_tuple(strides, rank, "strides")
    return function(tensor, list(size), list(steps), padding.upper(), name)


@op(raises=_SHAPES)
def max_pool(
    inputs: TensorLike,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    """Return the largest element of each window.

    >>> tf.keras.ops.max_pool([[[1.0], [3.0], [2.0], [0.0]]], 2).numpy()
    array([[[3.],
            [2.]]], dtype=float32)
    """
    return _pool(tf.nn.max_pool, inputs, pool_size, strides, padding, data_format)


@op(raises=_SHAPES)
def average_pool(
    inputs: TensorLike,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    """Return the mean of each window.

    >>> tf.keras.ops.average_pool([[[1.0], [3.0], [2.0], [0.0]]], 2).numpy()
    array([[[2.],
            [1.]]], dtype=float32)
    """
    return _pool(tf.nn.avg_pool, floats(inputs), pool_size, strides, padding, data_format)


def _adaptive(inputs: TensorLike, output_size: Any, data_format: str | None, is_max: bool) -> Any:
    """Reduce windows whose bounds divide each spatial axis evenly."""
    tensor = numbers(inputs)
    kind, _, rank = _format(tensor, data_format)
    sizes = int_tuple(output_size, rank, "output_size")
    for axis, count in enumerate(sizes, 1 if kind == "channels_last" else 2):
        length = int(tensor.shape[axis])
        bounds = np.arange(count + 1) * length
        starts, stops = bounds[:-1] // count, -(-bounds[1:] // count)
        places = starts[:, None] + np.arange((stops - starts).max(initial=1))
        inside = places < stops[:, None]
        # Shorter windows repeat their last element.
        windows = tf.gather(tensor, np.minimum(places, stops[:, None] - 1), axis=axis)
        if is_max:
            tensor = tf.reduce_max(windows, axis + 1)
            continue
        trailing = [1] * (tensor.ndim - axis - 1)
        mask = inside.reshape(*inside.shape, *trailing)
        counts = tf.cast((stops - starts).reshape(count, *trailing), tensor.dtype)
        zero = tf.zeros((), tensor.dtype)
        tensor = tf.reduce_sum(tf.where(mask, windows, zero), axis + 1) / counts
    return tensor


@op(raises=_SHAPES)
def adaptive_max_pool(
    inputs: TensorLike, output_size: int | Sequence[int], data_format: str | None = None
) -> Any:
    """Return the largest element of each of ``output_size`` windows.

    >>> tf.keras.ops.adaptive_max_pool([[[1.0], [3.0], [2.0], [0.0]]], 2).numpy()
    array([[[3.],
            [2.]]], dtype=float32)
    """
    return _adaptive(inputs, output_size, data_format, True)


@op(raises=_SHAPES)
def adaptive_average_pool(
    inputs: TensorLike, output_size: int | Sequence[int], data_format: str | None = None
) -> Any:
    """Return the mean of each of ``output_size`` windows.

    >>> tf.keras.ops.adaptive_average_pool([[[1.0], [3.0], [2.0], [0.0]]], 2).numpy()
    array([[[2.],
            [1.]]], dtype=float32)
    """
    return _adaptive(floats(inputs), output_size, data_format, False)


def _strided_dilated_conv(
    x: Tensor, w: Tensor, steps: list[int], padding: str, name: str, rates: list[int]
) -> Tensor:
    """Convolve with strides and dilation: take every n-th element of the dilated convolution."""
    first = name.index("C") == 1  # channels first
    offset = 2 if first else 1
    if padding.lower() == "same":
        widths = [[0, 0]] * x.ndim
        for axis, (step, rate) in enumerate(zip(steps, rates, strict=True)):
            size, extent = int(x.shape[axis + offset]), (int(w.shape[axis]) - 1) * rate + 1
            total = max((-(-size // step) - 1) * step + extent - size, 0)
            widths[axis + offset] = [total // 2, total - total // 2]
        x = tf.pad(x, widths)
    y = tf.nn.convolution(x, w, [1] * len(steps), "VALID", name, rates)
    key = [slice(None)] * offset + [slice(None, None, step) for step in steps]
    return y[tuple(key)]


@op(raises=_SHAPES)
def conv(
    inputs: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Any:
    """Convolve over one to three spatial axes.

    >>> tf.keras.ops.conv([[[1.0], [2.0], [4.0]]], tf.ones((2, 1, 1))).numpy()
    array([[[3.],
            [6.]]], dtype=float32)
    """
    x, w = promoted(inputs, kernel, floating=True)
    _, name, rank = _format(x, data_format)
    steps, rates = (
        list(int_tuple(value, rank, word))
        for value, word in ((strides, "strides"), (dilation_rate, "dilation_rate"))
    )
    if max(steps) > 1 and max(rates) > 1:
        result = _strided_dilated_conv(x, w, steps, padding, name, rates)
    else:
        result = tf.nn.convolution(x, w, steps, padding.upper(), name, rates)
    if math.prod(result.shape) == 0 and math.prod(x.shape) != 0:
        raise ValueError(
            f"The convolution operation resulted in an empty output. Output shape: {result.shape}. "
            f"The input is too small for the kernel."
        )
    return result


def _channels_last(x: Tensor) -> Tensor:
    return tf.transpose(x, [0, *range(2, x.ndim), 1])


def _channels_first(x: Tensor) -> Tensor:
    return tf.transpose(x, [0, x.ndim - 1, *range(1, x.ndim - 1)])


def _depthwise(
    x: Tensor,
    kernel: Tensor,
    strides: int | Sequence[int],
    padding: str,
    dilation_rate: int | Sequence[int],
) -> Tensor:
    """Convolve each channel of inputs whose channels are the last axis."""
    rank = x.ndim - 2
    if rank not in (1, 2):
        raise ValueError(f"The inputs must have one or two spatial axes, got {x.shape}.")
    steps = list(int_tuple(strides, rank, "strides"))
    rates = list(int_tuple(dilation_rate, rank, "dilation_rate"))
    if rank == 1:
        x, kernel = tf.expand_dims(x, 1), tf.expand_dims(kernel, 0)
        steps, rates = steps * 2, [1, *rates]
    result = tf.nn.depthwise_conv2d(x, kernel, [1, *steps, 1], padding.upper(), dilations=rates)
    return tf.squeeze(result, [1]) if rank == 1 else result


@op(raises=_SHAPES)
def depthwise_conv(
    inputs: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Any:
    """Convolve each channel with kernels of its own.

    >>> tf.keras.ops.depthwise_conv([[[1.0], [2.0], [4.0]]], tf.ones((2, 1, 1))).numpy()
    array([[[3.],
            [6.]]], dtype=float32)
    """
    x, w = promoted(inputs, kernel, floating=True)
    is_first = parse_data_format(data_format) == "channels_first"
    result = _depthwise(_channels_last(x) if is_first else x, w, strides, padding, dilation_rate)
    return _channels_first(result) if is_first else result


@op(raises=_SHAPES)
def separable_conv(
    inputs: TensorLike,
    depthwise_kernel: TensorLike,
    pointwise_kernel: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Any:
    """Convolve each channel, then mix the channels.

    >>> kernels = tf.ones((2, 1, 1)), tf.ones((1, 1, 1))
    >>> tf.keras.ops.separable_conv([[[1.0], [2.0], [4.0]]], *kernels).numpy()
    array([[[3.],
            [6.]]], dtype=float32)
    """
    x, w, mixing = promoted(inputs, depthwise_kernel, pointwise_kernel, floating=True)
    is_first = parse_data_format(data_format) == "channels_first"
    x = _channels_last(x) if is_first else x
    x = _depthwise(x, w, strides, padding, dilation_rate)
    result = tf.tensordot(x, tf.reshape(mixing, mixing.shape[-2:]), 1)
    return _channels_first(result) if is_first else result


@op(raises=_SHAPES)
def conv_transpose(
    inputs: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    output_padding: int | Sequence[int] | None = None,
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Any:
    """Apply the transposed convolution; the kernel has output channels before input channels.

    >>> tf.keras.ops.conv_transpose([[[1.0], [2.0]]], tf.ones((2, 1, 1)), 2).numpy()
    array([[[1.],
            [1.],
            [2.],
            [2.]]], dtype=float32)
    """
    x, w = promoted(inputs, kernel, floating=True)
    kind, name, rank = _format(x, data_format)
    steps = int_tuple(strides, rank, "strides")
    rates = int_tuple(dilation_rate, rank, "dilation_rate")
    extra: Sequence[int | None] = (
        [None] * rank
        if output_padding is None
        else [output_padding] * rank
        if isinstance(output_padding, int)
        else output_padding
    )
    space = x.shape[1:-1] if kind == "channels_last" else x.shape[2:]
    sizes = []
    for size, width, step, rate, more in zip(space, w.shape, steps, rates, extra, strict=False):
        dilated = (width - 1) * rate + 1
        if padding.lower() == "valid":
            sizes.append(
                (size - 1) * step + dilated + (max(step - dilated, 0) if more is None else more)
            )
        else:
            sizes.append(size * step if more is None else (size - 1) * step + dilated % 2 + more)
    batch, filters = x.shape[0], w.shape[-2]
    shape = [batch, *sizes, filters] if kind == "channels_last" else [batch, filters, *sizes]
    return tf.nn.conv_transpose(x, w, shape, list(steps), padding.upper(), name, list(rates))


def _pair(value: int | Sequence[int]) -> tuple[int, int]:
    first, second = (value, value) if isinstance(value, int) else value
    return first, second


def _window_places(
    shape: Sequence[int], kernel: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[Any, int, int]:
    """Return the flat position of each element of each window in padded images."""
    (kh, kw), (dh, dw) = _pair(kernel), _pair(dilation)
    (ph, pw), (sh, sw) = _pair(padding), _pair(stride)
    height, width = shape[0] + 2 * ph, shape[1] + 2 * pw
    rows = np.arange((height - dh * (kh - 1) - 1) // sh + 1) * sh
    columns = np.arange((width - dw * (kw - 1) - 1) // sw + 1) * sw
    y = np.arange(kh)[:, None, None, None] * dh + rows[None, None, :, None]
    x = np.arange(kw)[None, :, None, None] * dw + columns[None, None, None, :]
    return (y * width + x).reshape(kh * kw, -1), height, width


@op("A tensor (batch, channels * window size, windows).", _SHAPES)
def unfold(
    x: TensorLike,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Any:
    """Return the windows of images (batch, channels, height, width) as columns.

    >>> tf.keras.ops.unfold(tf.reshape(tf.range(4.0), (1, 1, 2, 2)), 2).numpy()
    array([[[0.],
            [1.],
            [2.],
            [3.]]], dtype=float32)
    """
    tensor = as_tensor(x)
    if tensor.ndim != 4:
        raise ValueError(f"`unfold` takes images of four axes, got {tensor.shape}.")
    ph, pw = _pair(padding)
    batch, channels, height, width = tensor.shape
    places, *_ = _window_places((height, width), kernel_size, dilation, padding, stride)
    padded = tf.pad(tensor, [[0, 0], [0, 0], [ph, ph], [pw, pw]])
    flat = tf.reshape(padded, [batch, channels, -1])
    windows = tf.gather(flat, places, axis=2)
    return tf.reshape(windows, [batch, channels * places.shape[0], places.shape[1]])


@op("A tensor (batch, channels, height, width).", _SHAPES)
def fold(
    x: TensorLike,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Any:
    """Sum windows into images: the transpose of `unfold`.

    >>> tf.keras.ops.fold(tf.ones((1, 4, 1)), 2, 2).numpy()
    array([[[[1., 1.],
             [1., 1.]]]], dtype=float32)
    """
    tensor = as_tensor(x)
    size, (ph, pw) = _pair(output_size), _pair(padding)
    places, height, width = _window_places(size, kernel_size, dilation, padding, stride)
    if tensor.ndim != 3:
        raise ValueError(f"`fold` takes a 3D tensor, got {tensor.shape}.")
    batch, rows, count = tensor.shape
    if rows % places.shape[0] or count != places.shape[1]:
        raise ValueError(
            f"`fold` expects {places.shape[1]} windows of {places.shape[0]} elements for each "
            f"channel, got the shape {tensor.shape}."
        )
    channels = rows // places.shape[0]
    values = tf.reshape(tensor, [batch * channels, places.size])
    flat = tf.math.unsorted_segment_sum(
        tf.transpose(values), places.reshape(-1).astype("int32"), height * width
    )
    images = tf.reshape(tf.transpose(flat), [batch, channels, height, width])
    return images[:, :, ph : height - ph, pw : width - pw]


@op(raises=_SHAPES)
def depth_to_space(x: TensorLike, block_size: int, data_format: str = "channels_last") -> Any:
    """Move channels into blocks of the spatial axes.

    >>> tf.keras.ops.depth_to_space([[[[1.0, 2.0, 3.0, 4.0]]]], 2).numpy().squeeze()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    kind = parse_data_format(data_format)
    return tf.nn.depth_to_space(x, block_size, FORMATS[kind][2])


@op(raises=_SHAPES)
def space_to_depth(x: TensorLike, block_size: int, data_format: str = "channels_last") -> Any:
    """Move blocks of the spatial axes into channels.

    >>> tf.keras.ops.space_to_depth([[[[1.0], [2.0]], [[3.0], [4.0]]]], 2).numpy().squeeze()
    array([1., 2., 3., 4.], dtype=float32)
    """
    kind = parse_data_format(data_format)
    return tf.nn.space_to_depth(x, block_size, FORMATS[kind][2])


# --- Classes and losses --------------------------------------------------------------------------


def _check_sparse(sparse: object) -> None:
    if sparse:
        raise ValueError("sparse=True: numtape's tensors are dense.")


@op(raises="ValueError: If ``sparse`` is set.")
def one_hot(
    x: TensorLike,
    num_classes: int,
    axis: int = -1,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
) -> Any:
    """Return 1 at the position of each class, else 0.

    >>> tf.keras.ops.one_hot([0, 2], 3).numpy()
    array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    _check_sparse(sparse)
    classes = tf.cast(x, tf.int64)
    return tf.one_hot(classes, num_classes, axis=axis, dtype=dtype_or_floatx(dtype))


@op(raises="ValueError: If ``sparse`` is set, or there is no number of classes.")
def multi_hot(
    inputs: TensorLike,
    num_classes: int | None = None,
    axis: int = -1,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
    **kwargs: Any,
) -> Any:
    """Return 1 at the positions of the classes of each row, else 0.

    >>> tf.keras.ops.multi_hot([[0, 2]], 3).numpy()
    array([[1., 0., 1.]], dtype=float32)
    """
    _check_sparse(sparse)
    num_classes = kwargs.pop("num_tokens", num_classes)
    if num_classes is None:
        raise ValueError("Argument `num_classes` must be specified.")
    classes = tf.cast(inputs, tf.int64)
    hot = tf.one_hot(classes, num_classes, axis=axis, dtype=dtype_or_floatx(dtype))
    axis = 1 if classes.ndim > 1 else 0
    return tf.reduce_any(hot, axis) if hot.dtype.is_bool else tf.reduce_max(hot, axis)


def _clip(x: Tensor) -> Tensor:
    epsilon = config.epsilon()
    return tf.clip_by_value(x, epsilon, 1 - epsilon)


def _log_probabilities(output: Tensor, from_logits: bool, axis: int) -> Tensor:
    if from_logits:
        return tf.nn.log_softmax(output, axis)
    return tf.math.log(_clip(output / tf.reduce_sum(output, axis, True)))


def _check_same_shape(target: Tensor, output: Tensor) -> None:
    if target.shape != output.shape:
        raise ValueError(
            f"Arguments `target` and `output` must have the same shape. Received: "
            f"target.shape={target.shape}, output.shape={output.shape}"
        )


@op(raises=_SHAPES)
def binary_crossentropy(target: TensorLike, output: TensorLike, from_logits: bool = False) -> Any:
    """Return the cross-entropy of each element.

    >>> tf.keras.ops.binary_crossentropy([0.0, 1.0], [0.1, 0.6]).numpy()
    array([0.10536055, 0.5108256 ], dtype=float32)
    """
    y = floats(output)
    t = tf.cast(target, y.dtype)
    _check_same_shape(t, y)
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(t, y)
    y = _clip(y)
    return -(t * tf.math.log(y) + (1 - t) * tf.math.log(1 - y))


@op("A tensor without the axis of the classes.", _SHAPES)
def categorical_crossentropy(
    target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1
) -> Any:
    """Return the cross-entropy of each example, for probabilities as targets.

    >>> tf.keras.ops.categorical_crossentropy([[0.0, 1.0]], [[0.2, 0.8]]).numpy()
    array([0.22314353], dtype=float32)
    """
    y = floats(output)
    t = tf.cast(target, y.dtype)
    _check_same_shape(t, y)
    if y.ndim < 1:
        raise ValueError("Arguments `target` and `output` must be at least rank 1.")
    return -tf.reduce_sum(t * _log_probabilities(y, from_logits, axis), axis)


@op("A tensor without the axis of the classes.", _SHAPES)
def sparse_categorical_crossentropy(
    target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1
) -> Any:
    """Return the cross-entropy of each example, for classes as targets.

    >>> tf.keras.ops.sparse_categorical_crossentropy([1], [[0.2, 0.8]]).numpy()
    array([0.22314353], dtype=float32)
    """
    y, t = floats(output), tf.cast(target, tf.int32)
    if y.ndim < 1:
        raise ValueError(f"Argument `output` must be at least rank 1. Received: {y.shape}")
    if t.ndim == y.ndim and t.shape[-1] == 1:
        t = tf.squeeze(t, -1)
    other_sizes = [n for k, n in enumerate(y.shape) if k != axis % y.ndim]
    if list(t.shape) != other_sizes:
        raise ValueError(
            f"Arguments `target` and `output` must have the same shape up until the last "
            f"dimension: target.shape={t.shape}, output.shape={y.shape}"
        )
    hot = tf.one_hot(t, y.shape[axis], axis=axis, dtype=y.dtype)
    return -tf.reduce_sum(hot * _log_probabilities(y, from_logits, axis), axis)


@op("A tensor (batch,).", _SHAPES)
def ctc_loss(
    target: TensorLike,
    output: TensorLike,
    target_length: TensorLike,
    output_length: TensorLike,
    mask_index: int = 0,
) -> Any:
    """Return the connectionist temporal classification loss of each example.

    >>> output = tf.zeros((1, 2, 3))
    >>> tf.keras.ops.ctc_loss([[1]], output, [1], [2]).numpy()
    array([1.0986123], dtype=float32)
    """
    labels, logits = as_tensor(target), floats(output)
    if labels.ndim != 2 or logits.ndim != 3:
        raise ValueError(
            f"Targets `target` and `output` are expected to have rank 2 and 3, got "
            f"{labels.shape} and {logits.shape}."
        )
    if logits.dtype.size < 4:
        logits = tf.cast(logits, tf.float32)
    return tf.nn.ctc_loss(
        tf.cast(labels, tf.int32),
        logits,
        tf.cast(target_length, tf.int32),
        tf.cast(output_length, tf.int32),
        logits_time_major=False,
        blank_index=mask_index,
    )


def _greedy(scores: Any, lengths: Any, merge_repeated: bool, mask_index: int) -> tuple[Any, Any]:
    batch, steps, _ = scores.shape
    best, largest = scores.argmax(-1), scores.max(-1)
    result = np.full((batch, steps), -1, "int32")
    for k in range(batch):
        labels = best[k, : lengths[k]]
        is_label = labels != mask_index
        if merge_repeated and len(labels):
            is_label &= np.concatenate([[True], labels[1:] != labels[:-1]])
        path = labels[is_label]
        result[k, : len(path)] = path
    valid = np.arange(steps) < lengths[:, None]
    return result[None], -np.where(valid, largest, 0).sum(1, keepdims=True)


def _beam_search(
    scores: Any, lengths: Any, width: int, paths: int, mask_index: int
) -> tuple[Any, Any]:
    batch, steps, classes = scores.shape
    result = np.full((paths, batch, steps), -1, "int32")
    totals = np.full((batch, paths), -np.inf, scores.dtype)
    logs = scores - np.logaddexp.reduce(scores, -1, keepdims=True)
    for k in range(batch):
        # Log probabilities of each prefix: that end with a blank, and that end with a label.
        beams: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, -np.inf)}
        for step in logs[k, : lengths[k]]:
            new: dict[tuple[int, ...], Any] = {}
            for prefix, (blank, label) in beams.items():
                both = np.logaddexp(blank, label)
                entry = new.setdefault(prefix, [-np.inf, -np.inf])
                entry[0] = np.logaddexp(entry[0], both + step[mask_index])
                if prefix:
                    entry[1] = np.logaddexp(entry[1], label + step[prefix[-1]])
                for c in range(classes):
                    if c != mask_index:
                        source = blank if prefix and c == prefix[-1] else both
                        longer = new.setdefault((*prefix, c), [-np.inf, -np.inf])
                        longer[1] = np.logaddexp(longer[1], source + step[c])
            ordered = sorted(new.items(), key=lambda item: -np.logaddexp(*item[1]))
            beams = {prefix: (pair[0], pair[1]) for prefix, pair in ordered[:width]}
        best = sorted(beams.items(), key=lambda item: -np.logaddexp(*item[1]))[:paths]
        for n, (prefix, pair) in enumerate(best):
            result[n, k, : len(prefix)] = prefix
            totals[k, n] = np.logaddexp(*pair)
    return result, totals


@op(
    "A tuple: the labels (paths, batch, steps), filled with -1, and the scores (batch, paths).",
    "ValueError: If the strategy is unknown.",
)
def ctc_decode(
    inputs: TensorLike,
    sequence_lengths: TensorLike,
    strategy: str = "greedy",
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    mask_index: int = 0,
) -> Any:
    """Decode the labels of sequences of scores (batch, steps, classes); it has no gradient.

    >>> scores = np.log([[[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]]])
    >>> tf.keras.ops.ctc_decode(scores, [3])[0].numpy()
    array([[[ 1,  1, -1]]], dtype=int32)
    """
    tensor = floats(inputs)
    scores = np.asarray(tensor, "float32" if tensor.dtype.size < 4 else None)
    lengths = np.asarray(tf.cast(sequence_lengths, tf.int32))
    if strategy == "greedy":
        labels, totals = _greedy(scores, lengths, merge_repeated, mask_index)
    elif strategy == "beam_search":
        labels, totals = _beam_search(scores, lengths, beam_width, top_paths, mask_index)
    else:
        raise ValueError(
            f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'."
        )
    return tf.constant(labels), tf.constant(totals)


# --- Normalization and attention -----------------------------------------------------------------


@op("A tuple: the means and the variances.", "ValueError: If ``synchronized`` is set.")
def moments(
    x: TensorLike, axes: AxisLike, keepdims: bool = False, synchronized: bool = False
) -> Any:
    """Return means and variances.

    >>> [part.numpy() for part in tf.keras.ops.moments([1.0, 3.0], [0])]
    [np.float32(2.0), np.float32(1.0)]
    """
    if synchronized:
        raise ValueError("synchronized=True: use `distribute` and its layers' averages.")
    tensor = floats(x)
    dtype = tensor.dtype
    if dtype.size < 4:
        tensor = tf.cast(tensor, tf.float32)
    mean, variance = tf.nn.moments(tensor, axes, keepdims=keepdims)
    if dtype.size < 4:
        mean = tf.cast(tf.clip_by_value(mean, dtype.min, dtype.max), dtype)
        variance = tf.cast(tf.clip_by_value(variance, dtype.min, dtype.max), dtype)
    return mean, variance


@op(raises=_SHAPES)
def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    axis: int,
    offset: TensorLike | None = None,
    scale: TensorLike | None = None,
    epsilon: float = 1e-3,
) -> Any:
    """Subtract the mean, divide by the standard deviation, scale and shift.

    >>> tf.keras.ops.batch_normalization([[1.0, 3.0]], [1.0, 1.0], [4.0, 4.0], -1).numpy()
    array([[0.        , 0.99987507]], dtype=float32)
    """
    tensor = floats(x)
    shape = [1] * tensor.ndim
    shape[axis] = -1

    def along(value: TensorLike | None) -> Any:
        return None if value is None else tf.reshape(tf.cast(value, tensor.dtype), shape)

    return tf.nn.batch_normalization(
        tensor, along(mean), along(variance), along(offset), along(scale), epsilon
    )


@op(raises="ValueError: If the order is 0 or negative.")
def normalize(
    x: TensorLike, axis: AxisLike = -1, order: NumberLike = 2, epsilon: float | None = None
) -> Any:
    """Divide by the norm along an axis.

    >>> tf.keras.ops.normalize([3.0, 4.0]).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    if not isinstance(order, int) or order < 1:
        raise ValueError(f"Argument `order` must be an int >= 1. Received: order={order}")
    tensor = floats(x)
    if tensor.ndim == 0:
        tensor = tf.reshape(tensor, [1])
    floor = to_dtype(config.epsilon() if epsilon is None else epsilon, tensor.dtype)
    if order == 2:
        squares = tf.reduce_sum(tf.square(tensor), axis, True)
        return tensor * tf.math.rsqrt(tf.maximum(squares, tf.square(floor)))
    total = tf.reduce_sum(tf.pow(tf.abs(tensor), to_dtype(order, tensor.dtype)), axis, True)
    return tensor / tf.maximum(tf.pow(total, to_dtype(1 / order, tensor.dtype)), floor)


@op(raises=_SHAPES)
def rms_normalization(
    x: TensorLike,
    scale: TensorLike | None = None,
    axis: AxisLike = -1,
    epsilon: float | None = None,
) -> Any:
    """Divide by the root of the mean square.

    >>> tf.keras.ops.rms_normalization([3.0, 4.0]).numpy()
    array([0.84852815, 1.1313709 ], dtype=float32)
    """
    tensor = floats(x)
    small = config.epsilon() if epsilon is None else epsilon
    wide = tf.cast(tensor, tf.float32) if tensor.dtype.size < 4 else tensor
    result = wide * tf.math.rsqrt(tf.reduce_mean(tf.square(wide), axis, True) + small)
    if scale is not None:
        result = result * _along(scale, result, axis)
    return tf.cast(result, tensor.dtype)


def _along(value: TensorLike, x: Tensor, axis: AxisLike) -> Tensor:
    """Shape parameters so that they broadcast along the axes of ``x``."""
    axes = [int(a) % x.ndim for a in np.atleast_1d(np.asarray(axis))]
    tensor = tf.cast(value, x.dtype)
    shape = [n if k in axes else 1 for k, n in enumerate(x.shape)]
    return tf.reshape(tensor, shape) if math.prod(tensor.shape) == math.prod(shape) else tensor


@op(raises=_SHAPES)
def layer_normalization(
    x: TensorLike,
    gamma: TensorLike | None = None,
    beta: TensorLike | None = None,
    axis: AxisLike = -1,
    epsilon: float | None = None,
    **kwargs: Any,
) -> Any:
    """Subtract the mean, divide by the standard deviation, scale and shift.

    >>> tf.keras.ops.layer_normalization([1.0, 3.0]).numpy()
    array([-1.,  1.], dtype=float32)
    """
    tensor = floats(x)
    if kwargs.pop("rms_scaling", False):
        raise NotImplementedError("rms_scaling=True: use `ops.rms_normalization`.")
    small = config.epsilon() if epsilon is None else epsilon
    wide = tf.cast(tensor, tf.float32) if tensor.dtype.size < 4 else tensor
    mean, variance = tf.nn.moments(wide, axis, keepdims=True)
    result = (wide - mean) * tf.math.rsqrt(variance + small)
    if gamma is not None:
        result = result * _along(gamma, result, axis)
    if beta is not None:
        result = result + _along(beta, result, axis)
    return tf.cast(result, tensor.dtype)


@op(raises=_SHAPES)
def psnr(x1: TensorLike, x2: TensorLike, max_val: NumberLike) -> Any:
    """Return the peak signal-to-noise ratio of two tensors, in decibels.

    >>> tf.keras.ops.psnr([0.0, 1.0], [0.0, 0.9], 1.0).numpy()
    np.float32(23.010298)
    """
    x, y = promoted(x1, x2, floating=True)
    if x.shape != y.shape:
        raise ValueError(f"Input shapes {x.shape} and {y.shape} must match for PSNR calculation.")
    error = tf.reduce_mean(tf.square(x - y))
    peak = to_dtype(max_val, y.dtype)
    return (20 * tf.math.log(peak) - 10 * tf.math.log(error)) / math.log(10)


@op("A tensor (batch, length, heads, size).", _SHAPES)
def dot_product_attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    bias: TensorLike | None = None,
    mask: TensorLike | None = None,
    scale: NumberLike | None = None,
    is_causal: bool = False,
    flash_attention: bool | None = None,
    attn_logits_soft_cap: float | None = None,
) -> Any:
    """Return the values, weighted by the softmax of products of queries and keys.

    >>> x = tf.ones((1, 3, 1, 2))
    >>> tf.keras.ops.dot_product_attention(x, x, x).shape
    TensorShape([1, 3, 1, 2])
    """
    if flash_attention:
        raise ValueError("flash_attention=True: numtape has one implementation of attention.")
    q, k, v = promoted(query, key, value, floating=True)
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ValueError(
            f"`dot_product_attention` only supports 4D inputs. Received: query.shape={q.shape}, "
            f"key.shape={k.shape}, value.shape={v.shape}."
        )
    heads, key_heads = q.shape[2], k.shape[2]
    if heads % key_heads:
        raise ValueError(f"{heads} heads of queries do not match {key_heads} heads of keys.")
    if heads != key_heads:  # several heads of queries share a head of keys
        k, v = (tf.repeat(x, heads // key_heads, 2) for x in (k, v))
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    q, k, v = (tf.transpose(x, [0, 2, 1, 3]) for x in (q, k, v))
    scores = tf.matmul(q, k, transpose_b=True) * to_dtype(factor, q.dtype)
    if bias is not None:
        scores = scores + tf.cast(bias, scores.dtype)
    if attn_logits_soft_cap is not None:
        cap = to_dtype(attn_logits_soft_cap, scores.dtype)
        scores = scores / (1 + tf.abs(scores) / cap)
    allowed: Any = None if mask is None else tf.cast(mask, tf.bool)
    if is_causal:
        causal = np.tri(scores.shape[-2], scores.shape[-1], dtype=bool)
        allowed = causal if allowed is None else tf.logical_and(allowed, causal)
    if allowed is not None:
        scores = tf.where(allowed, scores, to_dtype(0.7 * scores.dtype.min, scores.dtype))
    result = tf.matmul(tf.nn.softmax(scores, -1), v)
    return tf.transpose(result, [0, 2, 1, 3])


@op("A complex tensor.", _SHAPES)
def polar(abs_: TensorLike, angle: TensorLike) -> Any:
    """Return complex numbers from absolute values and angles.

    >>> tf.keras.ops.polar([2.0], [0.0]).numpy()
    array([2.+0.j], dtype=complex64)
    """
    size, phase = promoted(abs_, angle, floating=True)
    if size.dtype.size < 4:
        size, phase = tf.cast(size, tf.float32), tf.cast(phase, tf.float32)
    return tf.complex(size * tf.cos(phase), size * tf.sin(phase))
