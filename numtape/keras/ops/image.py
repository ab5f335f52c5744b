"""``tf.keras.ops.image``: images and volumes, for tensors and symbolic tensors."""

from __future__ import annotations

import itertools
import math
import typing as _typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ...compat.names import getter as _getter
from ...core.log.as_tensor import as_tensor
from ...core.values.arguments import inspect_signature
from ...core.values.tensor import Tensor
from ...image.arguments import at_least_float32
from ...image.colors import GRAY, from_hsv, mix_channels, to_hsv
from ...image.measures import SOBEL, filter_channels, structural_similarity
from ...image.resizing import interpolation_weights, multiply_axis, resize_axes
from ..layers.base import parse_data_format
from ..symbolic import KerasTensor, infer
from . import nn
from .define import floats, op, promoted, shape_of

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


def _colors(images: TensorLike, data_format: str | None) -> _Images:
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
    return batch


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
    return batch.restore(tf.cast(mix_channels(batch.floats(), GRAY), batch.dtype))


@op(raises=_IMAGES)
def rgb_to_hsv(images: TensorLike, data_format: str | None = None) -> Any:
    """Convert red, green and blue to hue, saturation and value.

    >>> tf.keras.ops.image.rgb_to_hsv([[[1.0, 0.5, 0.0]]]).numpy()
    array([[[0.08333334, 1.        , 1.        ]]], dtype=float32)
    """
    batch = _colors(images, data_format)
    return batch.restore(to_hsv(batch.x))


@op(raises=_IMAGES)
def hsv_to_rgb(images: TensorLike, data_format: str | None = None) -> Any:
    """Convert hue, saturation and value to red, green and blue.

    >>> tf.keras.ops.image.hsv_to_rgb([[[0.0, 1.0, 0.5]]]).numpy()
    array([[[0.5, 0. , 0. ]]], dtype=float32)
    """
    batch = _colors(images, data_format)
    return batch.restore(from_hsv(batch.x))


# --- Resizing ------------------------------------------------------------------------------------

_RESIZE = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")
_SCALE = ("linear", "bilinear", "cubic", "bicubic", "lanczos3", "lanczos5")


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
    if interpolation not in _RESIZE:
        raise ValueError(
            f"Invalid value for argument `interpolation`. Expected one of {_RESIZE}. Received: "
            f"interpolation={interpolation}"
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
    if min(size) <= 0:
        raise ValueError(
            f"`size` must have positive height and width. Received: size={tuple(size)}"
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
    x = x if interpolation == "nearest" else at_least_float32(x)
    x = resize_axes(x, (rows, columns), interpolation, antialias, (1, 2))
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
    if method not in _SCALE:
        raise ValueError(f"method={method!r}: must be one of {[*_SCALE]}.")
    x = floats(images)
    scales, moves = np.asarray(as_tensor(scale)), np.asarray(as_tensor(translation))
    if len(output_shape) != x.ndim or scales.shape != (len(spatial_dims),) != moves.shape:
        raise ValueError("The shape, scales and translations must match the axes of the images.")
    for axis, factor, move in zip(spatial_dims, scales, moves, strict=True):
        count = int(output_shape[axis])
        weights = interpolation_weights(
            int(x.shape[axis]), count, float(factor), float(move), method, antialias
        )
        x = multiply_axis(x, weights, axis % x.ndim)
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
    """Apply a projective transformation, of the numbers (a0, a1, a2, b0, b1, b2, c0, c1).

    The pixel (x, y) of the result is the image's at ((a0 x + a1 y + a2) / k,
    (b0 x + b1 y + b2) / k), where k is c0 x + c1 y + 1.

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
    return _project(batch, x, numbers, interpolation, fill_mode, fill_value)


def _project(
    batch: _Images,
    x: Tensor,
    transform: Tensor,
    interpolation: str,
    fill_mode: str,
    fill_value: NumberLike,
) -> Any:
    """Apply projective transformations of eight numbers to a batch of floats."""
    numbers = tf.reshape(transform, [-1, 8])
    a0, a1, a2, b0, b1, b2, c0, c1 = (tf.reshape(numbers[:, k], [-1, 1, 1]) for k in range(8))
    count, height, width, _channels = (int(n) for n in x.shape)
    rows, columns, image = _grid(count, height, width, x.dtype)
    denominator = c0 * columns + c1 * rows + 1
    shape = [count, height, width]
    places = [
        tf.broadcast_to((b0 * columns + b1 * rows + b2) / denominator, shape),
        tf.broadcast_to((a0 * columns + a1 * rows + a2) / denominator, shape),
    ]
    result = _sample(x, places, _ORDERS[interpolation], fill_mode, fill_value, image)
    return batch.restore(result, keep_dtype=True)


def homography(start: Tensor, end: Tensor) -> Tensor:
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


def _check_points(word: str, shape: Any) -> None:
    if len(shape) not in (2, 3) or tuple(shape[-2:]) != (4, 2):
        raise ValueError(
            f"Invalid {word} shape: expected (4,2) for a single image or (N,4,2) for a batch. "
            f"Received shape: {shape}"
        )


def _like_images(
    images: Any, start_points: Any, end_points: Any, *_: Any, **__: Any
) -> KerasTensor:
    if len(images.shape) not in (3, 4):
        raise ValueError(f"Invalid images rank: expected rank 3 or 4, got {images.shape}.")
    for word, points in (("start_points", start_points), ("end_points", end_points)):
        _check_points(word, shape_of(points))
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
        _check_points(word, points.shape)
    if start.shape != end.shape:
        raise ValueError(
            f"start_points and end_points must have the same shape. Received "
            f"start_points.shape={start.shape}, end_points.shape={end.shape}"
        )
    numbers = homography(tf.reshape(start, [-1, 4, 2]), tf.reshape(end, [-1, 4, 2]))
    return _project(batch, x, numbers, interpolation, "constant", fill_value)


def _blur(x: Tensor, kernel_size: Any, sigma: Any) -> Tensor:
    """Blur by a Gaussian window; gradients reach ``sigma``."""
    widths = tf.cast(as_tensor(sigma), x.dtype)
    sides = []
    for k in (1, 0):
        places = np.arange(int(kernel_size[k])) - (int(kernel_size[k]) - 1) / 2
        weights = tf.exp(-0.5 * tf.square(tf.constant(places, x.dtype) / widths[k]))
        sides.append(weights / tf.reduce_sum(weights))
    return filter_channels(x, sides[0][:, None] * sides[1][None, :], "SAME")


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
    size = np.asarray(as_tensor(kernel_size))
    return batch.restore(_blur(batch.floats(), size, sigma), keep_dtype=True)


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
    parts = [batch.restore(filter_channels(x, k, "SAME")) for k in (SOBEL.T, SOBEL)]
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
    similarity, _ = structural_similarity(x, y, max_val, filter_size, filter_sigma, k1, k2)
    result = tf.reduce_mean(similarity, [1, 2, 3])
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
    if not isinstance(size, int | tuple | list):
        raise TypeError(f"Invalid `size` argument. Expected an int or a tuple. Received: {size!r}")
    sizes = (size, size) if isinstance(size, int) else tuple(size)
    if len(sizes) not in (2, 3):
        raise ValueError(
            f"Invalid `size` argument. Expected a tuple of length 2 or 3. Received: size={size}"
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


_SIDES = (("top", "bottom", "height"), ("left", "right", "width"))


def _solve_borders(
    words: tuple[str, str, str],
    values: tuple[int | None, int | None, int | None],
    size: int,
    sign: int,
) -> tuple[int, int, int]:
    """Return the two borders and the target size; exactly one of them is None.

    Args:
      words: The names of the borders and of the target, for errors.
      values: Their values.
      size: The size of the image.
      sign: 1 for padding, which adds the borders to the size, or -1 for cropping.
    """
    texts = ", ".join(f"{name}={value}" for name, value in zip(words, values, strict=True))
    if values.count(None) != 1:
        raise ValueError(f"Must specify exactly two of {', '.join(words)}. Received: {texts}")
    for name, value in zip(words, values, strict=True):
        if value is not None and value < 0:
            raise ValueError(f"{name} must be >= 0. Received: {name}={value}")
    before, after, target = values
    if target is None:
        target = size + sign * ((before or 0) + (after or 0))
    elif before is None:
        before = sign * (target - size) - (after or 0)
    else:
        after = sign * (target - size) - before
    for name, value in zip(words, (before, after, target), strict=True):
        is_target = name == words[2]
        if value is None or value < is_target:
            limit = "> 0" if is_target else ">= 0"
            raise ValueError(f"{name} must be {limit}. Received: {name}={value}")
    return int(before or 0), int(after or 0), int(target)


def _borders(word: str, x: Tensor, values: Sequence[Any], sign: int) -> list[tuple[int, int, int]]:
    """Return the borders and the target of the rows and of the columns."""
    top, left, bottom, right, height, width = values
    triples = ((top, bottom, height), (left, right, width))
    return [
        _solve_borders(
            (f"{before}_{word}", f"{after}_{word}", f"target_{target}"), triple, int(size), sign
        )
        for (before, after, target), triple, size in zip(_SIDES, triples, x.shape[1:3], strict=True)
    ]


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
    values = (top_padding, left_padding, bottom_padding, right_padding, target_height, target_width)
    rows, columns = _borders("padding", batch.x, values, 1)
    return batch.restore(tf.pad(batch.x, [[0, 0], rows[:2], columns[:2], [0, 0]]))


def _infer_crop(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    arguments = inspect_signature(function).bind(*args, **kwargs).arguments
    images = arguments["images"]
    is_first = parse_data_format(arguments.get("data_format")) == "channels_first"
    sizes = images.shape[-2:] if is_first else images.shape[-3:-1]
    for word, size in zip(("height", "width"), sizes, strict=True):
        if size is None and arguments.get(f"target_{word}") is None:
            raise ValueError(
                f"When the {word} of the images is unknown, `target_{word}` must be specified. "
                f"Received: images.shape={images.shape}"
            )
    return infer(function, args, kwargs)


@op(raises=_IMAGES, rule=_infer_crop)
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
    values = (
        *(top_cropping, left_cropping, bottom_cropping, right_cropping),
        *(target_height, target_width),
    )
    (top, _, height), (left, _, width) = _borders("cropping", batch.x, values, -1)
    return batch.restore(batch.x[:, top : top + height, left : left + width])
