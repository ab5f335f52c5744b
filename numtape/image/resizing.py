"""Resizing: weights of old pixels in new ones, and the functions that multiply by them.

`resize` is ``tf.image.resize``; `interpolation_weights` and `multiply_axis` also serve
`keras.ops.image`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ..core.log.as_tensor import as_tensor
from ..core.log.record import require
from ..core.values.dtypes import repr_of
from ..core.values.tensor import Tensor
from .arguments import as_batch, at_least_float32, describe, to_size
from .geometry import crop_to_bounding_box, pad_to_bounding_box

if TYPE_CHECKING:
    from ..core.values.annotations import IntLike, ShapeLike, TensorLike

Array = np.ndarray[Any, Any]


class ResizeMethod(enum.StrEnum):
    """Names of the methods of `resize`.

    Example:
      >>> tf.image.resize(tf.ones((2, 2, 1)), (4, 4), tf.image.ResizeMethod.AREA).shape
      TensorShape([4, 4, 1])
    """

    AREA = "area"
    BICUBIC = "bicubic"
    BILINEAR = "bilinear"
    GAUSSIAN = "gaussian"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    MITCHELLCUBIC = "mitchellcubic"
    NEAREST_NEIGHBOR = "nearest"


# --- Weights -------------------------------------------------------------------------------------


def _triangle(x: Array) -> Array:
    return np.asarray(np.maximum(0, 1 - x))


def _cubic(x: Array) -> Array:
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x >= 2, 0.0, np.where(x >= 1, far, near))


def _mitchell_cubic(x: Array) -> Array:
    near = (7 / 6 * x - 2) * x * x + 8 / 9
    far = ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x >= 2, 0.0, np.where(x >= 1, far, near))


def _lanczos(radius: int) -> Callable[[Array], Array]:
    return lambda x: np.where(x < radius, np.sinc(x) * np.sinc(x / radius), 0.0)


def _gaussian(x: Array) -> Array:
    return np.where(x < 1.5, np.exp(-2 * x * x), 0.0)


# The weight of a pixel by its distance.
KERNELS: dict[str, Callable[[Array], Array]] = {
    "bilinear": _triangle,
    "linear": _triangle,
    "bicubic": _cubic,
    "cubic": _cubic,
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
    "gaussian": _gaussian,
    "mitchellcubic": _mitchell_cubic,
}


def interpolation_weights(
    size: int, new_size: int, scale: float, translation: float, method: str, antialias: bool
) -> Array:
    """Return a matrix (new size, size) of the weights of old elements in new ones.

    Args:
      size: The number of old elements.
      new_size: The number of new elements.
      scale: The distance of new elements for each old one.
      translation: The distance by which new elements are moved.
      method: A name in `KERNELS`.
      antialias: Whether the kernel is wider where the result is smaller.
    """
    places = (np.arange(new_size) + 0.5 - translation) / scale - 0.5
    width = max(1 / scale, 1.0) if antialias else 1.0
    weights = KERNELS[method](np.abs(places[:, None] - np.arange(size)) / width)
    totals = weights.sum(1, keepdims=True)
    is_inside = (places >= -0.5) & (places <= size - 0.5)
    usable = (np.abs(totals) > 1000 * np.finfo("float32").eps) & is_inside[:, None]
    return np.asarray(np.where(usable, weights / np.where(totals == 0, 1, totals), 0))


def _area_weights(size: int, new_size: int) -> Array:
    """Return the fraction of each old element in each new one."""
    edges = np.arange(new_size + 1) * (size / new_size)
    starts = np.maximum(edges[:-1, None], np.arange(size))
    ends = np.minimum(edges[1:, None], np.arange(size) + 1)
    return np.asarray(np.maximum(ends - starts, 0) * (new_size / size))


# TensorFlow reads its cubic weights from a table with this many entries for each pixel.
_TABLE = 1024


def _tabulated_cubic_weights(size: int, new_size: int) -> Array:
    """Return cubic weights of rounded places."""
    places = (np.arange(new_size) + 0.5) * (size / new_size) - 0.5
    starts = np.floor(places)
    places = starts + np.rint((places - starts) * _TABLE) / _TABLE
    weights = _cubic(np.abs(places[:, None] - np.arange(size)))
    return np.asarray(weights / weights.sum(1, keepdims=True))


def multiply_axis(x: Tensor, weights: Array, axis: int) -> Tensor:
    """Multiply an axis by a matrix (new size, size)."""
    matrix = np.ascontiguousarray(weights)
    before, size, after = x.shape[:axis], int(x.shape[axis]), x.shape[axis + 1 :]
    count = int(np.prod(after))
    if count == 1:
        y = tf.matmul(tf.reshape(x, [-1, size]), tf.constant(matrix.T, x.dtype))
    else:
        y = tf.matmul(tf.constant(matrix, x.dtype), tf.reshape(x, [-1, size, count]))
    return tf.reshape(y, [*before, len(matrix), *after])


def nearest_indices(size: int, new_size: int) -> Array:
    """Return the index of the old element that each new one is."""
    places = np.floor((np.arange(new_size, dtype=np.float32) + 0.5) * np.float32(size / new_size))
    return np.asarray(np.minimum(places.astype(np.int64), size - 1))


def resize_axes(
    x: Tensor, sizes: tuple[int, int], method: str, antialias: bool, axes: tuple[int, int]
) -> Tensor:
    """Resize two axes of a tensor; floats must have at least 32 bits, unless it is "nearest"."""
    for axis, new_size in zip(axes, sizes, strict=True):
        size = int(x.shape[axis])
        if size == new_size and method not in ("gaussian", "mitchellcubic"):
            continue
        if method == "nearest":
            x = tf.gather(x, nearest_indices(size, new_size), axis=axis)
            continue
        if method == "area":
            weights = _area_weights(size, new_size)
        elif method == "bicubic" and not antialias:
            weights = _tabulated_cubic_weights(size, new_size)
        else:
            scale = new_size / size
            weights = interpolation_weights(size, new_size, scale, 0.0, method, antialias)
        x = multiply_axis(x, weights, axis)
    return x


# --- Functions -----------------------------------------------------------------------------------

_ERRORS = (
    "ValueError: If there are not three or four axes, the size is not two integers, or the method "
    "is unknown.\nInvalidArgumentError: If a size is not positive."
)


@describe(
    "A tensor of the new size: of the same dtype for the method `nearest`, otherwise of float32, "
    "or float64 for float64.",
    _ERRORS,
)
def resize(
    images: TensorLike,
    size: ShapeLike,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize images.

    >>> tf.image.resize([[[0.0], [4.0]]], (1, 4)).numpy().ravel()
    array([0., 1., 3., 4.], dtype=float32)
    """
    x = as_tensor(images)
    if x.ndim not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    height, width = to_size(size)
    names = [m.value for m in ResizeMethod]
    if method not in names:
        raise ValueError(
            f"Resize method is not implemented: {repr_of(method)}. Use one of {', '.join(names)}."
        )
    require(min(height, width) > 0, "Resize", "output dimensions must be positive")
    old_size = tuple(int(n) for n in x.shape[-3:-1])
    require(min(old_size) > 0, "Resize", f"images must not be empty: {x.shape.as_list()}")
    if preserve_aspect_ratio:
        scale = min(height / old_size[0], width / old_size[1])
        height, width = (round(n * scale) for n in old_size)
    x = x if method == "nearest" else at_least_float32(x)
    return resize_axes(x, (height, width), str(method), antialias, (x.ndim - 3, x.ndim - 2))


@describe("A tensor of the new size; see `resize` for its dtype.", _ERRORS)
def resize_with_pad(
    image: TensorLike,
    target_height: IntLike,
    target_width: IntLike,
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Tensor:
    """Resize to the largest image that fits in a size, and pad it with zeros.

    >>> tf.image.resize_with_pad(tf.ones((1, 2, 1)), 2, 2).numpy()[:, :, 0]
    array([[1., 1.],
           [0., 0.]], dtype=float32)
    """
    x, is_single = as_batch(image, "image")
    target = (int(target_height), int(target_width))
    for word, value in zip(("target_height", "target_width"), target, strict=True):
        if value <= 0:
            raise ValueError(f"{word} must be > 0")
    old_size = [int(n) for n in x.shape[1:3]]
    ratio = max(old / new for old, new in zip(old_size, target, strict=True))
    new_size = [int(np.floor(old / ratio)) for old in old_size]
    top, left = (
        max(int(np.floor((new - old / ratio) / 2)), 0)
        for new, old in zip(target, old_size, strict=True)
    )
    resized = resize(x, new_size, method, antialias=antialias)
    padded = pad_to_bounding_box(resized, top, left, *target)
    return tf.squeeze(padded, 0) if is_single else padded


@describe("A tensor of the new size and the same dtype.", _ERRORS)
def resize_with_crop_or_pad(
    image: TensorLike, target_height: IntLike, target_width: IntLike
) -> Tensor:
    """Crop the center of an image, or pad it with zeros, to a size.

    >>> tf.image.resize_with_crop_or_pad([[[1.0], [2.0], [3.0]]], 1, 1).numpy().ravel()
    array([2.], dtype=float32)
    """
    x, is_single = as_batch(image, "image")
    target = [int(target_height), int(target_width)]
    for word, value in zip(("target_height", "target_width"), target, strict=True):
        if value <= 0:
            raise ValueError(f"{word} must be > 0.")
    old_size = [int(n) for n in x.shape[1:3]]
    differences = [new - old for new, old in zip(target, old_size, strict=True)]
    top, left = (max(-d // 2, 0) for d in differences)
    sizes = [min(new, old) for new, old in zip(target, old_size, strict=True)]
    cropped = crop_to_bounding_box(x, top, left, *sizes)
    above, beside = (max(d // 2, 0) for d in differences)
    result = pad_to_bounding_box(cropped, above, beside, *target)
    return tf.squeeze(result, 0) if is_single else result


@describe(
    "A float32 tensor (boxes, height, width, channels).",
    "ValueError: If the method is unknown.\nInvalidArgumentError: If a shape does not match.",
    method='"bilinear" or "nearest".',
    image="A tensor of shape (batch, height, width, channels).",
    boxes="Boxes (boxes, 4) of (top, left, bottom, right), from 0 to 1.",
)
def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_indices: TensorLike,
    crop_size: ShapeLike,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Crop boxes out of images, and resize each crop to the same size.

    >>> x = tf.reshape(tf.range(9.0), (1, 3, 3, 1))
    >>> tf.image.crop_and_resize(x, [[0.0, 0.0, 0.5, 0.5]], [0], (2, 2)).numpy().ravel()
    array([0., 1., 3., 4.], dtype=float32)
    """
    op = "CropAndResize"
    x, places = at_least_float32(image), at_least_float32(boxes)
    require(x.ndim == 4, op, f"input image must be 4-D: {x.shape}")
    if method not in ("bilinear", "nearest"):
        raise ValueError(f"method must be 'bilinear' or 'nearest', got {repr_of(method)}.")
    require(
        places.ndim == 2 and places.shape[1] == 4, op, f"boxes must be 2-D and of 4: {places.shape}"
    )
    numbers = tf.cast(box_indices, tf.int32)
    require(numbers.shape == places.shape[:1], op, "box_index has incompatible shape")
    height, width = to_size(crop_size)
    require(min(height, width) > 0, op, "crop dimensions must be positive")
    rows = _crop_places(places[:, 0], places[:, 2], int(x.shape[1]), height)
    columns = _crop_places(places[:, 1], places[:, 3], int(x.shape[2]), width)
    pixels = _take_pixels(x, numbers, rows, columns, method)
    inside = tf.logical_and(
        tf.logical_and(rows >= 0, rows <= int(x.shape[1]) - 1)[:, :, None],
        tf.logical_and(columns >= 0, columns <= int(x.shape[2]) - 1)[:, None, :],
    )
    return tf.where(inside[..., None], pixels, tf.cast(extrapolation_value, pixels.dtype))


def _crop_places(start: Tensor, end: Tensor, size: int, new_size: int) -> Tensor:
    """Return the places (boxes, new size) in an axis."""
    if new_size == 1:
        return (0.5 * (start + end) * (size - 1))[:, None]
    step = (end - start) * (size - 1) / (new_size - 1)
    return (start * (size - 1))[:, None] + tf.range(new_size, dtype=start.dtype) * step[:, None]


def _take_pixels(x: Tensor, numbers: Tensor, rows: Tensor, columns: Tensor, method: str) -> Tensor:
    """Interpolate each image of ``numbers`` at its rows and columns; those outside are moved."""
    sizes = [int(n) for n in x.shape[1:3]]
    shape = [int(rows.shape[0]), int(rows.shape[1]), int(columns.shape[1])]

    def at(row: Tensor, column: Tensor) -> Tensor:
        row, column = (
            tf.clip_by_value(tf.cast(i, tf.int32), 0, n - 1)
            for i, n in zip((row, column), sizes, strict=True)
        )
        parts = (numbers[:, None, None], row[:, :, None], column[:, None, :])
        return tf.gather_nd(x, tf.stack([tf.broadcast_to(p, shape) for p in parts], -1))

    if method == "nearest":
        return at(tf.floor(rows + 0.5), tf.floor(columns + 0.5))
    top, left = tf.floor(rows), tf.floor(columns)
    down = tf.cast(rows - top, x.dtype)[:, :, None, None]
    right = tf.cast(columns - left, x.dtype)[:, None, :, None]
    # As in TensorFlow, a place that is a pixel has one neighbor, itself, and no gradient.
    bottom, end = tf.math.ceil(rows), tf.math.ceil(columns)
    upper = at(top, left) + (at(top, end) - at(top, left)) * right
    lower = at(bottom, left) + (at(bottom, end) - at(bottom, left)) * right
    result: Tensor = upper + (lower - upper) * down
    return result
