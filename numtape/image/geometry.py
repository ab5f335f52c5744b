"""Flips, turns, crops, padding and windows of images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numtape as tf

from ..core.log.record import require
from ..core.ops.movement import to_ints
from ..core.ops.slicing import strided_slice
from ..core.values.arguments import to_float
from ..core.values.tensor import Tensor
from .arguments import as_image, at_least_float32, describe, to_size

if TYPE_CHECKING:
    from ..core.values.annotations import IntLike, NumberLike, ShapeLike, TensorLike


@describe()
def flip_left_right(image: TensorLike) -> Tensor:
    """Flip an image, or a batch of images, horizontally.

    >>> tf.image.flip_left_right([[[1.0], [2.0], [3.0]]]).numpy().ravel()
    array([3., 2., 1.], dtype=float32)
    """
    return tf.reverse(as_image(image), [-2])


@describe()
def flip_up_down(image: TensorLike) -> Tensor:
    """Flip an image, or a batch of images, vertically.

    >>> tf.image.flip_up_down([[[1.0]], [[2.0]]]).numpy().ravel()
    array([2., 1.], dtype=float32)
    """
    return tf.reverse(as_image(image), [-3])


@describe("A tensor of the same dtype, with height and width exchanged.")
def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Exchange the rows and columns of an image, or of a batch of images.

    >>> tf.image.transpose(tf.ones((2, 3, 1))).shape
    TensorShape([3, 2, 1])
    """
    x = as_image(image)
    order = [*range(x.ndim)]
    order[-3], order[-2] = order[-2], order[-3]
    return tf.transpose(x, order)


@describe("A tensor of the same dtype; height and width are exchanged if ``k`` is odd.")
def rot90(image: TensorLike, k: IntLike = 1, name: str | None = None) -> Tensor:
    """Turn an image, or a batch of images, counter-clockwise by quarter turns.

    >>> tf.image.rot90([[[1], [2]]]).numpy().ravel()
    array([2, 1], dtype=int32)
    """
    x = as_image(image)
    turns = int(to_ints(k)) % 4
    if turns == 2:
        return tf.reverse(x, [-3, -2])
    if turns == 1:
        return tf.reverse(transpose(x), [-3])
    return transpose(tf.reverse(x, [-3])) if turns == 3 else tf.identity(x)


def _parse_box(
    image: TensorLike, top: IntLike, left: IntLike, height: IntLike, width: IntLike
) -> tuple[Any, ...]:
    x = as_image(image)
    box = [int(to_ints(v)) for v in (top, left, height, width)]
    for name, value, minimum in zip(
        ("offset_height", "offset_width", "target_height", "target_width"),
        box,
        (0, 0, 1, 1),
        strict=True,
    ):
        if value < minimum:
            raise ValueError(f"{name} must be {'> 0' if minimum else '>= 0'}.")
    return x, *box


@describe(
    "A tensor of the same dtype.",
    "ValueError: If the box is not inside the image, or there are fewer than three axes.",
)
def crop_to_bounding_box(
    image: TensorLike,
    offset_height: IntLike,
    offset_width: IntLike,
    target_height: IntLike,
    target_width: IntLike,
) -> Tensor:
    """Crop a box out of an image.

    >>> tf.image.crop_to_bounding_box(tf.ones((4, 6, 3)), 1, 2, 2, 3).shape
    TensorShape([2, 3, 3])
    """
    x, top, left, height, width = _parse_box(
        image, offset_height, offset_width, target_height, target_width
    )
    for name, size, end in (
        ("height", x.shape[-3], top + height),
        ("width", x.shape[-2], left + width),
    ):
        if size < end:
            raise ValueError(f"{name} must be >= target + offset.")
    full = tuple((0, dim, 1) for dim in x.shape)
    ranges = (*full[:-3], (top, top + height, 1), (left, left + width, 1), full[-1])
    return strided_slice(x, ranges)


@describe(
    "A tensor of the same dtype.",
    "ValueError: If the image does not fit in, or there are fewer than three axes.",
)
def pad_to_bounding_box(
    image: TensorLike,
    offset_height: IntLike,
    offset_width: IntLike,
    target_height: IntLike,
    target_width: IntLike,
) -> Tensor:
    """Pad an image with zeros to a larger size.

    >>> tf.image.pad_to_bounding_box([[[7.0]]], 0, 1, 1, 3).numpy().ravel()
    array([0., 7., 0.], dtype=float32)
    """
    x, top, left, height, width = _parse_box(
        image, offset_height, offset_width, target_height, target_width
    )
    below, right = height - top - x.shape[-3], width - left - x.shape[-2]
    for name, padding in (("height", below), ("width", right)):
        if padding < 0:
            raise ValueError(f"{name} must be <= target - offset")
    return tf.pad(x, [*([(0, 0)] * (x.ndim - 3)), (top, below), (left, right), (0, 0)])


@describe(
    "A tensor of the same dtype.",
    "TypeError: If the fraction is not a number.\n"
    "ValueError: If it is out of range, or there are fewer than three axes.",
)
def central_crop(image: TensorLike, central_fraction: NumberLike) -> Tensor:
    """Crop the center of an image.

    >>> tf.image.central_crop(tf.ones((4, 6, 3)), 0.5).shape
    TensorShape([2, 4, 3])
    """
    fraction = to_float(central_fraction, "central_fraction")
    if not 0 < fraction <= 1:
        raise ValueError("central_fraction must be within (0, 1]")
    x = as_image(image)
    top, left = (int((size - size * fraction) / 2) for size in x.shape[-3:-1])
    return crop_to_bounding_box(x, top, left, x.shape[-3] - 2 * top, x.shape[-2] - 2 * left)


@describe(
    "A float32 tensor (batch, rows, columns, channels).",
    "InvalidArgumentError: If a shape does not match.",
    size="The height and width of the windows.",
)
def extract_glimpse(
    input: TensorLike,
    size: ShapeLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Tensor:
    """Take a window out of each image, at places that may be outside.

    >>> x = tf.reshape(tf.range(9.0), (1, 3, 3, 1))
    >>> window = tf.image.extract_glimpse(x, (1, 2), [[1, 1]], False, False, "zero")
    >>> window.numpy().ravel()
    array([4., 5.], dtype=float32)
    """
    op = "ExtractGlimpse"
    x, places = at_least_float32(input), at_least_float32(offsets)
    require(x.ndim == 4, op, f"input must be 4-dimensional, got shape {x.shape}")
    require(
        tuple(places.shape) == (int(x.shape[0]), 2),
        op,
        f"offsets must have shape ({x.shape[0]}, 2), got {places.shape}",
    )
    if noise not in ("uniform", "gaussian", "zero"):
        raise ValueError(f"noise must be 'uniform', 'gaussian' or 'zero', got {noise!r}.")
    indices, inside = [], []
    for axis, length in enumerate(to_size(size)):
        full = int(x.shape[axis + 1])
        start = places[:, axis]
        if normalized:
            start = start * full
            if centered:
                start = start / 2 + full / 2 - length / 2
        elif centered:
            start = start + full / 2
        index = tf.cast(start, tf.int32)[:, None] + tf.range(length)
        inside.append(tf.logical_and(index >= 0, index < full))
        indices.append(tf.clip_by_value(index, 0, full - 1))
    rows = tf.gather(x, indices[0], axis=1, batch_dims=1)
    columns = tf.broadcast_to(indices[1][:, None], [*indices[0].shape, int(indices[1].shape[1])])
    pixels = tf.gather(rows, columns, axis=2, batch_dims=2)
    valid = tf.logical_and(inside[0][:, :, None], inside[1][:, None, :])[..., None]
    if noise == "zero":
        outside = tf.zeros_like(pixels)
    elif noise == "uniform":
        outside = tf.random.uniform(pixels.shape, 0.0, 255.0, pixels.dtype)
    else:
        outside = tf.maximum(tf.random.normal(pixels.shape, 127.5, 50.0, pixels.dtype), 0.0)
    return tf.where(valid, pixels, outside)
