"""``tf.keras.ops.image``: images and volumes, for tensors and symbolic tensors."""

from __future__ import annotations

import itertools
import math
import typing as _typing
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ...compat.names import getter as _getter
from ...core.log.as_tensor import as_tensor
from ...core.values.tensor import Tensor
from ..layers.base import parse_data_format
from ..symbolic import KerasTensor
from . import nn
from .define import floats, op, promoted

if TYPE_CHECKING:
    from ...core.values.annotations import NumberLike, TensorLike

__all__ = [
    "affine_transform",
    "crop_images",
    "elastic_transform",
    "extract_patches",
    "extract_patches_3d",
    "gaussian_blur",
    "hsv_to_rgb",
    "map_coordinates",
    "pad_images",
    "perspective_transform",
    "resize",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "scale_and_translate",
    "sobel_edges",
    "ssim",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_IMAGES = "ValueError: If ``images`` have neither three nor four axes, or a name is unknown."
_Size = int | Sequence[int]


class _Images:
    """A batch of images with the channels last, and how to convert a result back."""

    def __init__(self, images: TensorLike, data_format: str | None, rank: int = 2) -> None:
        x = as_tensor(images)
        if x.ndim not in (rank + 1, rank + 2):
            raise ValueError(
                f"Invalid images rank: expected rank {rank + 1} (single image) or rank {rank + 2} "
                f"(batch of images). Received input with shape: images.shape={x.shape}"
            )
        self.dtype = x.dtype
        self.is_single = x.ndim == rank + 1
        self.is_first = parse_data_format(data_format) == "channels_first"
        if self.is_single:
            x = tf.expand_dims(x, 0)
        self.x = tf.transpose(x, [0, *range(2, x.ndim), 1]) if self.is_first else x

    def floats(self) -> Tensor:
        """Return the images as floats of at least 32 bits."""
        x = floats(self.x)
        return tf.cast(x, tf.float32) if x.dtype.size < 4 else x

    def restore(self, x: Tensor, keep_dtype: bool = False) -> Any:
        """Convert a result to the data format and rank of the images, or also to their dtype."""
        if keep_dtype and x.dtype is not self.dtype:
            if self.dtype.is_integer:
                x = tf.saturate_cast(tf.round(x), self.dtype)
            x = tf.cast(x, self.dtype)
        if self.is_first:
            x = tf.transpose(x, [0, x.ndim - 1, *range(1, x.ndim - 1)])
        return tf.squeeze(x, 0) if self.is_single else x


# --- Colours -------------------------------------------------------------------------------------


def _colour(images: TensorLike, data_format: str | None) -> tuple[_Images, list[Tensor]]:
    batch = _Images(images, data_format)
    if not batch.dtype.is_floating:
        raise ValueError(
            f"Invalid images dtype: expected float dtype. Received: images.dtype={batch.dtype.name}"
        )
    if batch.x.shape[-1] != 3:
        channels = batch.x.shape[-1]
        raise ValueError(
            f"Input images must have 3 channels, but received images with {channels} channels."
        )
    return batch, [batch.x[..., k] for k in range(3)]


@op(raises=_IMAGES)
def rgb_to_grayscale(images: TensorLike, data_format: str | None = None) -> Any:
    """Convert colours to their brightness: one channel.

    >>> tf.keras.ops.image.rgb_to_grayscale([[[1.0, 0.5, 0.0]]]).numpy()
    array([[[0.5924]]], dtype=float32)
    """
    batch = _Images(images, data_format)
    channels = batch.x.shape[-1]
    if channels not in (1, 3):
        raise ValueError(
            f"Invalid channel size: expected 3 (RGB) or 1 (Grayscale). Received: {channels}"
        )
    if channels == 1:
        return tf.identity(as_tensor(images))
    weights = tf.constant([[0.2989], [0.587], [0.114]])
    gray = tf.tensordot(batch.floats(), tf.cast(weights, batch.floats().dtype), 1)
    return batch.restore(tf.cast(gray, batch.dtype))


@op(raises=_IMAGES)
def rgb_to_hsv(images: TensorLike, data_format: str | None = None) -> Any:
    """Convert red, green and blue to hue, saturation and value.

    >>> tf.keras.ops.image.rgb_to_hsv([[[1.0, 0.5, 0.0]]]).numpy()
    array([[[0.08333334, 1.        , 1.        ]]], dtype=float32)
    """
    batch, (r, g, b) = _colour(images, data_format)
    value = tf.maximum(tf.maximum(r, g), b)
    spread = value - tf.minimum(tf.minimum(r, g), b)
    saturation = tf.math.divide_no_nan(spread, value)
    is_green, is_blue = tf.logical_and(value == g, value != r), value == b
    is_blue = tf.logical_and(is_blue, tf.logical_and(value != r, value != g))
    red = tf.math.divide_no_nan(g - b, spread)
    green = tf.math.divide_no_nan(b - r, spread) + 2
    blue = tf.math.divide_no_nan(r - g, spread) + 4
    hue = tf.where(is_blue, blue, tf.where(is_green, green, red)) / 6
    hue = tf.where(hue < 0, hue + 1, hue)
    return batch.restore(tf.stack([hue, saturation, value], -1))


@op(raises=_IMAGES)
def hsv_to_rgb(images: TensorLike, data_format: str | None = None) -> Any:
    """Convert hue, saturation and value to red, green and blue.

    >>> tf.keras.ops.image.hsv_to_rgb([[[0.0, 1.0, 0.5]]]).numpy()
    array([[[0.5, 0. , 0. ]]], dtype=float32)
    """
    batch, (hue, saturation, value) = _colour(images, data_format)
    parts = []
    for shift in (5, 3, 1):
        k = tf.math.floormod(hue * 6 + shift, tf.cast(6, hue.dtype))
        ramp = tf.maximum(tf.minimum(tf.minimum(k, 4 - k), 1), 0)
        parts.append(value - value * saturation * ramp)
    return batch.restore(tf.stack(parts, -1))


# --- Resizing ------------------------------------------------------------------------------------


def _lanczos(x: Any, radius: int) -> Any:
    return np.where(x < radius, np.sinc(x) * np.sinc(x / radius), 0.0)


def _cubic(x: Any) -> Any:
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x >= 2, 0.0, np.where(x >= 1, far, near))


_KERNELS: dict[str, Callable[[Any], Any]] = {
    "bilinear": lambda x: np.maximum(0, 1 - x),
    "linear": lambda x: np.maximum(0, 1 - x),
    "bicubic": _cubic,
    "cubic": _cubic,
    "lanczos3": lambda x: _lanczos(x, 3),
    "lanczos5": lambda x: _lanczos(x, 5),
}


def _weights(
    size: int, new_size: int, scale: float, translation: float, method: str, antialias: bool
) -> Any:
    """Return a matrix (new size, size) of the weights of old elements in new ones."""
    places = (np.arange(new_size) + 0.5 - translation) / scale - 0.5
    width = max(1 / scale, 1.0) if antialias else 1.0
    weights = _KERNELS[method](np.abs(places[:, None] - np.arange(size)) / width)
    totals = weights.sum(1, keepdims=True)
    is_inside = (places >= -0.5) & (places <= size - 0.5)
    usable = (np.abs(totals) > 1000 * np.finfo("float32").eps) & is_inside[:, None]
    return np.where(usable, weights / np.where(totals == 0, 1, totals), 0)


def _multiply_axis(x: Tensor, weights: Any, axis: int) -> Tensor:
    """Multiply an axis by a matrix."""
    matrix = tf.constant(np.ascontiguousarray(weights), x.dtype)
    order = [*range(x.ndim)]
    order[axis], order[-1] = order[-1], order[axis]
    y = tf.tensordot(tf.transpose(x, order), tf.transpose(matrix), 1)
    return tf.transpose(y, order)


@op(
    "The images, of the new size.",
    _IMAGES,
    interpolation="``nearest``, ``bilinear``, ``bicubic``, ``lanczos3`` or ``lanczos5``.",
    fill_mode="Must be ``constant``.",
    size="The new (height, width).",
)
def resize(
    images: TensorLike,
    size: Sequence[int],
    interpolation: str = "bilinear",
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    data_format: str | None = None,
) -> Any:
    """Resize images.

    >>> tf.keras.ops.image.resize([[[0.0], [4.0]]], (1, 4)).numpy().ravel()
    array([0., 1., 3., 4.], dtype=float32)
    """
    if interpolation not in ("nearest", *_KERNELS):
        raise ValueError(
            f"Invalid value for argument `interpolation`. Expected one of "
            f"{('nearest', *_KERNELS)}. Received: interpolation={interpolation}"
        )
    if fill_mode != "constant":
        raise ValueError(
            f"Invalid value for argument `fill_mode`. Only `'constant'` is supported. Received: "
            f"fill_mode={fill_mode}"
        )
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError(
            "Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`."
        )
    if len(size) != 2:
        raise ValueError(
            f"Expected `size` to be a tuple of 2 integers (height, width). Received: size={size}"
        )
    batch = _Images(images, data_format)
    x, (rows, columns) = batch.x, (int(n) for n in size)
    height, width = int(x.shape[1]), int(x.shape[2])
    if crop_to_aspect_ratio:
        kept_rows = max(min(height, int(width * rows / columns)), 1)
        kept_columns = max(min(width, int(height * columns / rows)), 1)
        top, left = (height - kept_rows) // 2, (width - kept_columns) // 2
        x = x[:, top : top + kept_rows, left : left + kept_columns]
    elif pad_to_aspect_ratio:
        above = (max(height, int(width * rows / columns)) - height) // 2
        beside = (max(width, int(height * columns / rows)) - width) // 2
        beside = 0 if above else beside
        widths = [[0, 0], [above, above], [beside, beside], [0, 0]]
        x = tf.pad(x, widths, constant_values=tf.cast(fill_value, x.dtype))
    if interpolation == "nearest":
        for axis, count in ((1, rows), (2, columns)):
            old = int(x.shape[axis])
            places = np.floor((np.arange(count) + 0.5) * (old / count)).astype(int)
            x = tf.gather(x, np.minimum(places, old - 1), axis=axis)
        return batch.restore(x)
    x = floats(x)
    x = tf.cast(x, tf.float32) if x.dtype.size < 4 else x
    for axis, count in ((1, rows), (2, columns)):
        old = int(x.shape[axis])
        weights = _weights(old, count, count / old, 0.0, interpolation, antialias)
        x = _multiply_axis(x, weights, axis) if count != old else x
    return batch.restore(x, keep_dtype=True)


def _scaled_images(images: Any, output_shape: Sequence[int], *_: Any, **__: Any) -> KerasTensor:
    return KerasTensor(output_shape, images.dtype)


@op(
    "A tensor of shape ``output_shape``.",
    "ValueError: If the method is unknown, or the axes do not match.",
    result=_scaled_images,
    method="``linear`` or ``bilinear``, ``cubic`` or ``bicubic``, ``lanczos3`` or ``lanczos5``.",
    scale="The scale of each of the axes.",
)
def scale_and_translate(
    images: TensorLike,
    output_shape: Sequence[int],
    scale: TensorLike,
    translation: TensorLike,
    spatial_dims: Sequence[int],
    method: str,
    antialias: bool = True,
) -> Any:
    """Scale and move images; there is no gradient of the scale and the translation.

    >>> x = tf.reshape(tf.range(4.0), (1, 4))
    >>> tf.keras.ops.image.scale_and_translate(x, (1, 4), [1.0], [1.0], (1,), "linear").numpy()
    array([[0., 0., 1., 2.]], dtype=float32)
    """
    if method not in _KERNELS:
        raise ValueError(f"method={method!r}: must be one of {[*_KERNELS]}.")
    x = floats(images)
    scales, moves = np.asarray(as_tensor(scale)), np.asarray(as_tensor(translation))
    if len(output_shape) != x.ndim or scales.shape != (len(spatial_dims),) != moves.shape:
        raise ValueError("The shape, scales and translations must match the axes of the images.")
    for axis, factor, move in zip(spatial_dims, scales, moves, strict=True):
        count = int(output_shape[axis])
        weights = _weights(int(x.shape[axis]), count, float(factor), float(move), method, antialias)
        x = _multiply_axis(x, weights, axis % x.ndim)
    return x


# --- Interpolation -------------------------------------------------------------------------------

_FILL_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")
_ORDERS = {"nearest": 0, "bilinear": 1}


def _check_fill(interpolation: str, fill_mode: str) -> None:
    if interpolation not in _ORDERS:
        raise ValueError(
            f"Invalid value for argument `interpolation`. Expected of one {set(_ORDERS)}. "
            f"Received: interpolation={interpolation}"
        )
    if fill_mode not in _FILL_MODES:
        raise ValueError(
            f"Invalid value for argument `fill_mode`. Expected of one {set(_FILL_MODES)}. "
            f"Received: fill_mode={fill_mode}"
        )


def _inside(index: Tensor, size: int, mode: str) -> Tensor:
    """Move indices into an axis."""
    if mode == "wrap":
        return tf.math.floormod(index, size)
    if mode == "mirror" and size > 1:
        period = 2 * (size - 1)
        index = tf.math.floormod(index, period)
        return tf.minimum(index, period - index)
    if mode == "reflect":
        index = tf.math.floormod(index, 2 * size)
        return tf.minimum(index, 2 * size - 1 - index)
    return tf.clip_by_value(index, 0, size - 1)


def _sample(
    values: Tensor,
    coordinates: Sequence[Tensor],
    order: int,
    mode: str,
    fill_value: Any,
    batch: Tensor | None = None,
) -> Tensor:
    """Interpolate at coordinates of the first axes, or of the axes after the batch axis."""
    first = 0 if batch is None else 1
    sizes = [int(n) for n in values.shape[first : first + len(coordinates)]]
    extra = values.ndim - first - len(coordinates)
    fill = tf.cast(fill_value, values.dtype)

    def expand(x: Tensor) -> Tensor:
        return tf.reshape(x, [*x.shape, *[1] * extra])

    def at(indices: Sequence[Tensor]) -> Tensor:
        parts = [_inside(i, n, mode) for i, n in zip(indices, sizes, strict=True)]
        places = parts if batch is None else [tf.broadcast_to(batch, parts[0].shape), *parts]
        result = tf.gather_nd(values, tf.stack(places, -1))
        if mode != "constant":
            return result
        valid = tf.logical_and(indices[0] >= 0, indices[0] < sizes[0])
        for index, n in zip(indices[1:], sizes[1:], strict=True):
            valid = tf.logical_and(valid, tf.logical_and(index >= 0, index < n))
        return tf.where(expand(valid), result, fill)

    if order == 0:
        return at([tf.cast(tf.floor(c + 0.5), tf.int32) for c in coordinates])
    lower = [tf.floor(c) for c in coordinates]
    parts = [c - low for c, low in zip(coordinates, lower, strict=True)]
    starts = [tf.cast(low, tf.int32) for low in lower]
    total: Any = 0
    for corner in itertools.product((0, 1), repeat=len(coordinates)):
        weight: Any = 1
        for step, part in zip(corner, parts, strict=True):
            weight = weight * (part if step else 1 - part)
        value = at([start + step for start, step in zip(starts, corner, strict=True)])
        total = total + value * tf.cast(expand(weight), values.dtype)
    result: Tensor = total
    return result


@op("A tensor of the shape of each coordinate.", "ValueError: If the shapes do not match.")
def map_coordinates(
    inputs: TensorLike,
    coordinates: Any,
    order: int,
    fill_mode: str = "constant",
    fill_value: NumberLike = 0,
) -> Any:
    """Interpolate a tensor at coordinates: the nearest element, or linearly.

    >>> tf.keras.ops.image.map_coordinates([0.0, 10.0], [[0.25, 0.5]], 1).numpy()
    array([2.5, 5. ], dtype=float32)
    """
    values = as_tensor(inputs)
    places = floats(
        tf.stack([as_tensor(c) for c in coordinates])
        if isinstance(coordinates, list | tuple)
        else coordinates
    )
    if places.shape[0] != values.ndim:
        raise ValueError(
            f"First dim of `coordinates` must be the same as the rank of `inputs`. Received inputs "
            f"with shape: {values.shape} and coordinate leading dim of {places.shape[0]}"
        )
    if places.ndim < 2:
        raise ValueError(
            f"Invalid coordinates rank: expected at least rank 2. Received input with shape: "
            f"{places.shape}"
        )
    if fill_mode not in _FILL_MODES:
        raise ValueError(
            f"Invalid value for argument `fill_mode`. Expected one of {set(_FILL_MODES)}. "
            f"Received: fill_mode={fill_mode}"
        )
    if order not in (0, 1):
        raise ValueError(
            f"Invalid value for argument `order`. Expected one of [0, 1]. Received: order={order}"
        )
    dtype = values.dtype
    if order == 1 and not dtype.is_floating:
        values = tf.cast(values, tf.float32)
    axes = [places[k] for k in range(values.ndim)]
    result = _sample(values, axes, order, fill_mode, fill_value)
    return tf.cast(tf.round(result) if dtype.is_integer else result, dtype)


def _grid(batch: int, height: int, width: int, dtype: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return the row, column and image of each pixel."""
    y = tf.reshape(tf.range(height, dtype=dtype), [1, height, 1])
    x = tf.reshape(tf.range(width, dtype=dtype), [1, 1, width])
    images = tf.reshape(tf.range(batch, dtype=tf.int32), [batch, 1, 1])
    return y, x, images


@op(raises=_IMAGES)
def affine_transform(
    images: TensorLike,
    transform: TensorLike,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: NumberLike = 0,
    data_format: str | None = None,
) -> Any:
    """Apply an affine transformation, of the numbers (a0, a1, a2, b0, b1, b2, 0, 0).

    The pixel (x, y) of the result is the image's at (a0 x + a1 y + a2, b0 x + b1 y + b2).

    >>> move = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    >>> tf.keras.ops.image.affine_transform([[[1.0], [2.0]]], move).numpy().ravel()
    array([2., 0.], dtype=float32)
    """
    _check_fill(interpolation, fill_mode)
    batch = _Images(images, data_format)
    x = batch.floats()
    numbers = tf.cast(as_tensor(transform), x.dtype)
    if numbers.ndim not in (1, 2):
        raise ValueError(
            f"Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of "
            f"transforms). Received input with shape: transform.shape={numbers.shape}"
        )
    numbers = tf.reshape(numbers, [-1, 8])
    a0, a1, a2, b0, b1, b2, *_ = (tf.reshape(numbers[:, k], [-1, 1, 1]) for k in range(8))
    count, height, width, _channels = (int(n) for n in x.shape)
    rows, columns, number = _grid(count, height, width, x.dtype)
    shape = [count, height, width]
    new_rows = tf.broadcast_to(b0 * columns + b1 * rows + b2, shape)
    new_columns = tf.broadcast_to(a0 * columns + a1 * rows + a2, shape)
    result = _sample(
        x, [new_rows, new_columns], _ORDERS[interpolation], fill_mode, fill_value, number
    )
    return batch.restore(result, keep_dtype=True)


def _homography(start: Tensor, end: Tensor) -> Tensor:
    """Return the eight numbers of the transformation from ``end`` to ``start`` points."""
    rows = []
    for k in range(4):
        x, y = end[:, k, 0], end[:, k, 1]
        one, zero = tf.ones_like(x), tf.zeros_like(x)
        u, v = start[:, k, 0], start[:, k, 1]
        rows.append(tf.stack([x, y, one, zero, zero, zero, -u * x, -u * y], -1))
        rows.append(tf.stack([zero, zero, zero, x, y, one, -v * x, -v * y], -1))
    target = tf.reshape(start, [-1, 8, 1])
    return tf.reshape(tf.linalg.solve(tf.stack(rows, 1), target), [-1, 8])


def _like_images(images: KerasTensor, *_: Any, **__: Any) -> KerasTensor:
    if len(images.shape) not in (3, 4):
        raise ValueError(f"Invalid images rank: expected rank 3 or 4, got {images.shape}.")
    return KerasTensor(images.shape, images.dtype)


@op(raises=_IMAGES, result=_like_images)
def perspective_transform(
    images: TensorLike,
    start_points: TensorLike,
    end_points: TensorLike,
    interpolation: str = "bilinear",
    fill_value: NumberLike = 0,
    data_format: str | None = None,
) -> Any:
    """Apply the perspective transformation that moves four corners.

    >>> corners = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]]
    >>> image = tf.reshape(tf.range(9.0), (3, 3, 1))
    >>> tf.keras.ops.image.perspective_transform(image, corners, corners).shape
    TensorShape([3, 3, 1])
    """
    _check_fill(interpolation, "constant")
    batch = _Images(images, data_format)
    x = batch.floats()
    start, end = (tf.cast(as_tensor(p), x.dtype) for p in (start_points, end_points))
    for word, points in (("start_points", start), ("end_points", end)):
        if points.ndim not in (2, 3) or tuple(points.shape[-2:]) != (4, 2):
            raise ValueError(
                f"Invalid {word} shape: expected (4,2) for a single image or (N,4,2) for a batch. "
                f"Received shape: {points.shape}"
            )
    if start.shape != end.shape:
        raise ValueError(
            f"start_points and end_points must have the same shape. Received "
            f"start_points.shape={start.shape}, end_points.shape={end.shape}"
        )
    numbers = _homography(tf.reshape(start, [-1, 4, 2]), tf.reshape(end, [-1, 4, 2]))
    a0, a1, a2, b0, b1, b2, c0, c1 = (tf.reshape(numbers[:, k], [-1, 1, 1]) for k in range(8))
    count, height, width, _channels = (int(n) for n in x.shape)
    rows, columns, number = _grid(count, height, width, x.dtype)
    denominator = c0 * columns + c1 * rows + 1
    shape = [count, height, width]
    new_rows = tf.broadcast_to((b0 * columns + b1 * rows + b2) / denominator, shape)
    new_columns = tf.broadcast_to((a0 * columns + a1 * rows + a2) / denominator, shape)
    result = _sample(
        x, [new_rows, new_columns], _ORDERS[interpolation], "constant", fill_value, number
    )
    return batch.restore(result, keep_dtype=True)


def _gaussian(size: int, sigma: float) -> Any:
    places = np.arange(size) - (size - 1) / 2
    weights = np.exp(-0.5 * (places / sigma) ** 2)
    return weights / weights.sum()


def _filter(x: Tensor, kernel: Any, padding: str) -> Tensor:
    """Convolve each channel with the same kernel (height, width)."""
    channels = int(x.shape[-1])
    weights = np.repeat(np.asarray(kernel)[:, :, None, None], channels, 2)
    return tf.nn.depthwise_conv2d(x, tf.constant(weights, x.dtype), [1, 1, 1, 1], padding)


def _blur(x: Tensor, kernel_size: Any, sigma: Any) -> Tensor:
    rows = _gaussian(int(kernel_size[1]), float(sigma[1]))
    columns = _gaussian(int(kernel_size[0]), float(sigma[0]))
    return _filter(x, np.outer(rows, columns), "SAME")


@op(raises=_IMAGES)
def gaussian_blur(
    images: TensorLike,
    kernel_size: Sequence[int] = (3, 3),
    sigma: Sequence[float] = (1.0, 1.0),
    data_format: str | None = None,
) -> Any:
    """Blur images with a Gaussian window.

    >>> tf.keras.ops.image.gaussian_blur(tf.ones((3, 3, 1))).numpy()[1, 1]
    array([1.], dtype=float32)
    """
    batch = _Images(images, data_format)
    size, widths = np.asarray(as_tensor(kernel_size)), np.asarray(as_tensor(sigma))
    return batch.restore(_blur(batch.floats(), size, widths), keep_dtype=True)


@op(raises=_IMAGES)
def elastic_transform(
    images: TensorLike,
    alpha: float = 20.0,
    sigma: float = 5.0,
    interpolation: str = "bilinear",
    fill_mode: str = "reflect",
    fill_value: float = 0.0,
    seed: Any = None,
    data_format: str | None = None,
) -> Any:
    """Move pixels by smooth random displacements.

    >>> tf.keras.ops.image.elastic_transform(tf.ones((4, 4, 1)), seed=1).shape
    TensorShape([4, 4, 1])
    """
    from .. import random

    _check_fill(interpolation, fill_mode)
    batch = _Images(images, data_format)
    x = batch.floats()
    count, height, width, _channels = (int(n) for n in x.shape)
    size = int(6 * float(np.asarray(sigma))) | 1
    width_of_blur = float(np.asarray(sigma))
    noise = random.normal((count, height, width, 2), dtype=x.dtype.name, seed=seed)
    moves = _blur(noise * width_of_blur, (size, size), (width_of_blur, width_of_blur))
    moves = moves * tf.cast(alpha, x.dtype)
    rows, columns, number = _grid(count, height, width, x.dtype)
    places = [rows + moves[..., 0], columns + moves[..., 1]]
    result = _sample(x, places, _ORDERS[interpolation], fill_mode, fill_value, number)
    return batch.restore(result, keep_dtype=True)


@op("A tensor with a last axis of size 2: the changes along rows and along columns.", _IMAGES)
def sobel_edges(images: TensorLike, data_format: str | None = None) -> Any:
    """Return the changes of brightness, by Sobel's filters; pixels outside count as 0.

    >>> tf.keras.ops.image.sobel_edges(tf.reshape(tf.range(9.0), (1, 3, 3, 1)))[0, 1, 1].numpy()
    array([[24.,  8.]], dtype=float32)
    """
    batch = _Images(images, data_format)
    x = batch.floats()
    kernel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    parts = [batch.restore(_filter(x, k, "SAME")) for k in (kernel.T, kernel)]
    return tf.cast(tf.stack(parts, -1), batch.dtype)


@op("A tensor (batch,), or a number for single images.", _IMAGES)
def ssim(
    image1: TensorLike,
    image2: TensorLike,
    max_val: float = 1.0,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    data_format: str | None = None,
) -> Any:
    """Return the structural similarity of images.

    >>> image = tf.ones((12, 12, 1))
    >>> tf.keras.ops.image.ssim(image, image).numpy()
    np.float32(1.0)
    """
    first, second = promoted(image1, image2, floating=True)
    batch, other = _Images(first, data_format), _Images(second, data_format)
    x, y = batch.floats(), other.floats()
    weights = _gaussian(filter_size, filter_sigma)
    kernel = np.outer(weights, weights)
    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2

    def mean(z: Tensor) -> Tensor:
        return _filter(z, kernel, "VALID")

    mean_x, mean_y = mean(x), mean(y)
    variances = mean(tf.square(x)) + mean(tf.square(y)) - tf.square(mean_x) - tf.square(mean_y)
    covariance = mean(x * y) - mean_x * mean_y
    top = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    bottom = (tf.square(mean_x) + tf.square(mean_y) + c1) * (variances + c2)
    result = tf.reduce_mean(top / bottom, [1, 2, 3])
    result = tf.cast(result, batch.dtype)
    return tf.squeeze(result, 0) if batch.is_single else result


# --- Windows and borders -------------------------------------------------------------------------


def _patches(
    batch: _Images, size: Sequence[int], strides: Any, dilation_rate: _Size, padding: str
) -> Any:
    channels = int(batch.x.shape[-1])
    count = math.prod(size) * channels
    kernel = tf.reshape(tf.eye(count, dtype=floats(batch.x).dtype), [*size, channels, count])
    patches = nn.conv(
        batch.x, kernel, strides or tuple(size), padding, "channels_last", dilation_rate
    )
    return batch.restore(tf.cast(patches, batch.dtype))


@op("A tensor whose channels are the elements of each window.", _IMAGES, size="The window's size.")
def extract_patches(
    images: TensorLike,
    size: _Size,
    strides: _Size | None = None,
    dilation_rate: _Size = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    """Return the windows of images, or of volumes for a size of three numbers.

    >>> image = tf.reshape(tf.range(4.0), (1, 2, 2, 1))
    >>> tf.keras.ops.image.extract_patches(image, 2).numpy().ravel()
    array([0., 1., 2., 3.], dtype=float32)
    """
    sizes = (size, size) if isinstance(size, int) else tuple(size)
    if len(sizes) not in (2, 3):
        raise TypeError(
            f"Invalid `size` argument. Expected an int or a tuple of length 2 or 3. Received: "
            f"size={size}"
        )
    batch = _Images(images, data_format, len(sizes))
    return _patches(batch, sizes, strides, dilation_rate, padding)


@op("A tensor whose channels are the elements of each window.", _IMAGES, size="The window's size.")
def extract_patches_3d(
    volumes: TensorLike,
    size: _Size,
    strides: _Size | None = None,
    dilation_rate: _Size = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    """Return the windows of volumes.

    >>> tf.keras.ops.image.extract_patches_3d(tf.ones((1, 2, 2, 2, 1)), 2).shape
    TensorShape([1, 1, 1, 1, 8])
    """
    sizes = (size,) * 3 if isinstance(size, int) else tuple(size)
    if len(sizes) != 3:
        raise TypeError(
            f"Invalid `size` argument. Expected an int or a tuple of length 3. Received: "
            f"size={size}"
        )
    return _patches(_Images(volumes, data_format, 3), sizes, strides, dilation_rate, padding)


def _check_borders(names: tuple[str, str, str], values: tuple[int | None, ...]) -> None:
    given = ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
    if values.count(None) != 1:
        raise ValueError(f"Must specify exactly two of {', '.join(names)}. Received: {given}")
    for name, value in zip(names, values, strict=True):
        if value is not None and value < 0:
            raise ValueError(f"{name} must be >= 0. Received: {name}={value}")


def _padding(
    names: tuple[str, str, str], before: int | None, after: int | None, target: Any, size: int
) -> tuple[int, int]:
    """Return the two paddings, one of which may follow from the target size."""
    _check_borders(names, (before, after, target))
    if before is None:
        before = target - (after or 0) - size
    if after is None:
        after = target - before - size
    for name, value in zip(names, (before, after), strict=False):
        if value < 0:
            raise ValueError(f"{name} must be >= 0. Received: {name}={value}")
    return before, after


@op(raises=_IMAGES)
def pad_images(
    images: TensorLike,
    top_padding: int | None = None,
    left_padding: int | None = None,
    bottom_padding: int | None = None,
    right_padding: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> Any:
    """Pad images with zeros; two of three numbers are needed for each axis.

    >>> image = tf.ones((2, 2, 1))
    >>> tf.keras.ops.image.pad_images(image, 1, 0, target_height=4, target_width=3).shape
    TensorShape([4, 3, 1])
    """
    batch = _Images(images, data_format)
    height, width = int(batch.x.shape[1]), int(batch.x.shape[2])
    names = ("top_padding", "bottom_padding", "target_height")
    rows = _padding(names, top_padding, bottom_padding, target_height, height)
    names = ("left_padding", "right_padding", "target_width")
    columns = _padding(names, left_padding, right_padding, target_width, width)
    return batch.restore(tf.pad(batch.x, [[0, 0], rows, columns, [0, 0]]))


@op(raises=_IMAGES)
def crop_images(
    images: TensorLike,
    top_cropping: int | None = None,
    left_cropping: int | None = None,
    bottom_cropping: int | None = None,
    right_cropping: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> Any:
    """Crop images; two of three numbers are needed for each axis.

    >>> image = tf.ones((4, 4, 1))
    >>> tf.keras.ops.image.crop_images(image, 1, 0, target_height=2, target_width=3).shape
    TensorShape([2, 3, 1])
    """
    batch = _Images(images, data_format)
    names = ("top_cropping", "bottom_cropping", "target_height")
    rows = _cropping(names, top_cropping, bottom_cropping, target_height, int(batch.x.shape[1]))
    names = ("left_cropping", "right_cropping", "target_width")
    columns = _cropping(names, left_cropping, right_cropping, target_width, int(batch.x.shape[2]))
    return batch.restore(batch.x[:, slice(*rows), slice(*columns)])


def _cropping(
    names: tuple[str, str, str], before: int | None, after: int | None, target: Any, size: int
) -> tuple[int, int]:
    """Return the first index, and the index after the last one."""
    _check_borders(names, (before, after, target))
    if before is None:
        before = size - target - (after or 0)
    length = size - (after or 0) - before if target is None else target
    for name, value in ((names[0], before), (names[1], size - before - length)):
        if value < 0:
            raise ValueError(f"{name} must be >= 0. Received: {name}={value}")
    if length <= 0:
        raise ValueError(f"{names[2]} must be > 0. Received: {names[2]}={length}")
    return before, before + length
