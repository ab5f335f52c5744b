"""Conversions of dtypes and colour spaces, and adjustments of brightness, contrast and colours.

`to_hsv` and `from_hsv` also serve `keras.ops.image`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

import numtape as tf

from ..core.log.as_tensor import as_tensor
from ..core.log.record import require
from ..core.ops import images as image_ops
from ..core.ops.matrix_products import matmul
from ..core.ops.movement import reshape_if_needed
from ..core.values.tensor import Tensor
from ..errors import DtypeError
from .arguments import as_image, at_least_float32, describe, limits

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, TensorLike

_COLOURS = "InvalidArgumentError: If the elements are not floats, or the channels are not three."


@describe(
    "A tensor of the dtype.",
    "AttributeError: If the dtype is neither of floats nor of integers.",
    dtype="A dtype of floats, which lie in [0, 1], or of integers, which use their whole range.",
    image="A tensor.",
)
def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Convert pixels to a dtype, and scale them to its range.

    >>> tf.image.convert_image_dtype(tf.constant([0, 255], tf.uint8), tf.float32).numpy()
    array([0., 1.], dtype=float32)
    """
    x, kind = as_tensor(image), tf.as_dtype(dtype)
    for each in (x.dtype, kind):
        if not (each.is_floating or each.is_integer):
            raise AttributeError("dtype must be either floating point or integer")
    if x.dtype is kind:
        return x
    convert = tf.saturate_cast if saturate else tf.cast
    if x.dtype.is_integer and kind.is_integer:
        old, new = limits(x.dtype)[1], limits(kind)[1]
        if old > new:
            return convert(tf.math.floordiv(x, (old + 1) // (new + 1)), kind)
        return convert(x, kind) * ((new + 1) // (old + 1))
    if kind.is_floating:
        y = tf.cast(x, kind)
        return y * (1.0 / limits(x.dtype)[1]) if x.dtype.is_integer else y
    return convert(x * (limits(kind)[1] + 0.5), kind)


def _on_floats(
    image: TensorLike, function: Callable[[Tensor], Tensor], saturate: bool = True
) -> Tensor:
    """Apply a function of floats; integers are scaled to [0, 1] for it and back."""
    x = as_tensor(image)
    if x.dtype.is_floating:
        return function(x)
    result = function(convert_image_dtype(x, tf.float32))
    return convert_image_dtype(result, x.dtype, saturate)


# --- Colour spaces -------------------------------------------------------------------------------

_YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_FROM_YIQ = [
    [1.0, 1.0, 1.0],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_FROM_YUV = [
    [1.0, 1.0, 1.0],
    [0.0, -0.394642334, 2.03206185],
    [1.13988303, -0.58062185, 0.0],
]
GRAY = [[0.2989], [0.587], [0.114]]


def mix_channels(x: Tensor, matrix: list[list[float]]) -> Tensor:
    """Multiply the channels of floats by a matrix (channels, new channels)."""
    weights = tf.constant(np.asarray(matrix), x.dtype)
    old, new = len(matrix), len(matrix[0])
    flat = reshape_if_needed(x, (int(np.prod(x.shape)) // old, old))
    return reshape_if_needed(matmul(flat, weights), (*x.shape[:-1], new))


def _of_colours(images: TensorLike, op: str) -> Tensor:
    x = as_tensor(images)
    require(x.ndim > 0 and x.shape[-1] == 3, op, f"expected 3 channels, got {x.shape}")
    return x


def _of_float_colours(images: TensorLike, op: str) -> Tensor:
    x = _of_colours(images, op)
    if not x.dtype.is_floating:
        raise DtypeError(f"images must be of floats, got {x.dtype.name}. Use `cast`.")
    return x


@describe("A tensor of shape (..., 1) and of the same dtype.", _COLOURS)
def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert RGB to the brightness of each pixel: 0.2989 of red, 0.587 of green, 0.114 of blue.

    >>> tf.image.rgb_to_grayscale([[[1.0, 1.0, 1.0]]]).numpy().round(4)
    array([[[0.9999]]], dtype=float32)
    """
    x = _of_colours(images, "RgbToGrayscale")
    require(x.ndim > 1, "RgbToGrayscale", f"expected at least two axes, got {x.shape}")
    return _on_floats(x, lambda y: mix_channels(y, GRAY), saturate=False)


@describe(
    "A tensor of shape (..., 3) and of the same dtype.",
    "ValueError: If the number of channels is not 1.",
    images="A tensor of shape (..., 1).",
)
def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Repeat the single channel of each pixel three times.

    >>> tf.image.grayscale_to_rgb([[[5.0]]]).numpy()
    array([[[5., 5., 5.]]], dtype=float32)
    """
    x = as_tensor(images)
    if not x.ndim or x.shape[-1] != 1:
        raise ValueError("Last dimension of a grayscale image should be size 1.")
    return tf.broadcast_to(x, (*x.shape[:-1], 3))


@describe(raises=_COLOURS)
def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Convert red, green and blue to brightness, in-phase and quadrature.

    >>> tf.image.rgb_to_yiq([[[0.0, 1.0, 0.0]]]).numpy().round(3)
    array([[[ 0.587, -0.275, -0.523]]], dtype=float32)
    """
    return mix_channels(_of_float_colours(images, "RgbToYiq"), _YIQ)


@describe(raises=_COLOURS)
def yiq_to_rgb(images: TensorLike) -> Tensor:
    """Convert brightness, in-phase and quadrature to red, green and blue.

    >>> tf.image.yiq_to_rgb([[[1.0, 0.0, 0.0]]]).numpy()
    array([[[1., 1., 1.]]], dtype=float32)
    """
    return mix_channels(_of_float_colours(images, "YiqToRgb"), _FROM_YIQ)


@describe(raises=_COLOURS)
def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Convert red, green and blue to brightness and two differences of colour.

    >>> tf.image.rgb_to_yuv([[[0.0, 1.0, 0.0]]]).numpy().round(3)
    array([[[ 0.587, -0.289, -0.515]]], dtype=float32)
    """
    return mix_channels(_of_float_colours(images, "RgbToYuv"), _YUV)


@describe(raises=_COLOURS)
def yuv_to_rgb(images: TensorLike) -> Tensor:
    """Convert brightness and two differences of colour to red, green and blue.

    >>> tf.image.yuv_to_rgb([[[1.0, 0.0, 0.0]]]).numpy()
    array([[[1., 1., 1.]]], dtype=float32)
    """
    return mix_channels(_of_float_colours(images, "YuvToRgb"), _FROM_YUV)


def _to_hsv_parts(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    r, g, b = (x[..., k] for k in range(3))
    value = tf.maximum(tf.maximum(r, g), b)
    spread = value - tf.minimum(tf.minimum(r, g), b)
    saturation = tf.math.divide_no_nan(spread, value)
    is_red = value == r
    is_green = tf.logical_and(value == g, tf.logical_not(is_red))
    is_blue = tf.logical_and(value == b, tf.logical_and(value != r, value != g))
    red = tf.math.divide_no_nan(g - b, spread)
    green = tf.math.divide_no_nan(b - r, spread) + 2
    blue = tf.math.divide_no_nan(r - g, spread) + 4
    hue = tf.where(is_blue, blue, tf.where(is_green, green, red)) / 6
    return tf.where(hue < 0, hue + 1, hue), saturation, value


def _from_hsv_parts(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    parts = []
    for shift in (5, 3, 1):
        k = tf.math.floormod(hue * 6 + shift, tf.cast(6, hue.dtype))
        ramp = tf.maximum(tf.minimum(tf.minimum(k, 4 - k), 1), 0)
        parts.append(value - value * saturation * ramp)
    return tf.stack(parts, -1)


def to_hsv(x: Tensor) -> Tensor:
    """Convert the last axis of floats from RGB to hue, saturation and value."""
    return tf.stack([*_to_hsv_parts(x)], -1)


def from_hsv(x: Tensor) -> Tensor:
    """Convert the last axis of floats from hue, saturation and value to RGB."""
    return _from_hsv_parts(*(x[..., k] for k in range(3)))


@describe(raises=_COLOURS)
def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert red, green and blue, in [0, 1], to hue, saturation and value.

    >>> tf.image.rgb_to_hsv([[[1.0, 0.5, 0.0]]]).numpy()
    array([[[0.08333334, 1.        , 1.        ]]], dtype=float32)
    """
    return to_hsv(_of_float_colours(images, "RGBToHSV"))


@describe(raises=_COLOURS)
def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert hue, saturation and value, in [0, 1], to red, green and blue.

    >>> tf.image.hsv_to_rgb([[[0.0, 1.0, 0.5]]]).numpy()
    array([[[0.5, 0. , 0. ]]], dtype=float32)
    """
    return from_hsv(_of_float_colours(images, "HSVToRGB"))


# --- Adjustments ---------------------------------------------------------------------------------

_INTEGERS = "Integers are scaled to [0, 1] and back."


@describe(raises="DtypeError: If the elements are neither floats nor integers.", image="A tensor.")
def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Add a number to each element of an image; integers count as fractions of their maximum.

    >>> tf.image.adjust_brightness([[[0.25], [0.5]]], 0.25).numpy().ravel()
    array([0.5 , 0.75], dtype=float32)
    """
    x = as_tensor(image)
    if not (x.dtype.is_floating or x.dtype.is_integer):
        raise DtypeError(f"image must be of floats or integers, got {x.dtype.name}. Use `cast`.")
    return _on_floats(x, lambda y: tf.add(y, delta))


@describe(
    raises="InvalidArgumentError: If there are fewer than three axes, the factor is not a scalar, "
    "or the elements are not numbers."
)
def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Scale the difference of each pixel from the mean of its channel in its image.

    As in TensorFlow, no gradient is registered: asking for one is a LookupError.

    >>> tf.image.adjust_contrast([[[1.0], [3.0]]], 2.0).numpy().ravel()
    array([0., 4.], dtype=float32)
    """
    x = as_tensor(images)
    if not x.dtype.is_integer:
        return image_ops.adjust_contrast(x, contrast_factor)
    return _on_floats(x, lambda y: image_ops.adjust_contrast(y, contrast_factor))


@describe(
    raises="ValueError: If ``gamma`` is negative.",
    image="A tensor.",
)
def adjust_gamma(image: TensorLike, gamma: TensorLike = 1, gain: TensorLike = 1) -> Tensor:
    """Return ``gain * image ** gamma``; integers count as fractions of their maximum.

    >>> tf.image.adjust_gamma([[[0.25], [1.0]]], 0.5, 2.0).numpy().ravel()
    array([1., 2.], dtype=float32)
    """
    if np.any(np.asarray(as_tensor(gamma)) < 0):
        raise ValueError("Gamma should be a non-negative real number.")
    return _on_floats(image, lambda x: tf.multiply(tf.pow(x, tf.cast(gamma, x.dtype)), gain))


@describe(raises=_COLOURS, delta="The change of the hue, from -1 to 1.")
def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """Turn the hue of the colours of an image.

    TensorFlow has no gradient of this function; numtape has.

    >>> tf.image.adjust_hue([[[1.0, 0.0, 0.0]]], 1 / 3).numpy().round(3)
    array([[[0., 1., 0.]]], dtype=float32)
    """
    x = _of_colours(as_image(image), "AdjustHue")

    def turn(y: Tensor) -> Tensor:
        hue, saturation, value = _to_hsv_parts(y)
        return _from_hsv_parts(hue + tf.cast(delta, y.dtype), saturation, value)

    return _on_floats(x, turn)


@describe(raises=_COLOURS)
def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> Tensor:
    """Multiply the saturation of the colours of an image, up to 1.

    TensorFlow has no gradient of this function; numtape has.

    >>> tf.image.adjust_saturation([[[1.0, 0.5, 0.5]]], 2.0).numpy()
    array([[[1., 0., 0.]]], dtype=float32)
    """
    x = _of_colours(as_image(image), "AdjustSaturation")

    def scale(y: Tensor) -> Tensor:
        hue, saturation, value = _to_hsv_parts(y)
        changed = tf.clip_by_value(saturation * tf.cast(saturation_factor, y.dtype), 0.0, 1.0)
        return _from_hsv_parts(hue, changed, value)

    return _on_floats(x, scale)


@describe("A tensor of the same shape: of floats of the same dtype, or float32 for integers.")
def per_image_standardization(image: TensorLike) -> Tensor:
    """Subtract each image's mean and divide by its standard deviation.

    The standard deviation counts as at least ``1 / sqrt(n)`` for n elements, so that it is not 0.

    >>> tf.image.per_image_standardization([[[1.0], [3.0]]]).numpy().ravel()
    array([-1.,  1.], dtype=float32)
    """
    x = at_least_float32(as_image(image))
    axes = (-3, -2, -1)
    n = max(1, int(np.prod(x.shape[-3:])))
    centered = x - tf.reduce_mean(x, axes, True)
    stddev = tf.sqrt(tf.reduce_mean(tf.square(centered), axes, True))
    standardized: Tensor = centered / tf.maximum(stddev, 1 / n**0.5)
    return standardized
