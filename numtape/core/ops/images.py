"""Image ops composed of other ops: flips, crops, padding, color conversion, resizing, contrast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DtypeError
from ..log.as_tensor import as_tensor
from ..log.op import ARRAY, Op, defop
from ..log.record import record, require
from ..values.arguments import to_float
from ..values.dtypes import repr_of
from ..values.spec import Spec
from ..values.tensor import Tensor
from . import elementwise, matrix_products, movement
from .indexing import gather
from .padding import pad
from .reduction import reduce_mean
from .rules import floating
from .slicing import reverse, strided_slice

if TYPE_CHECKING:
    from ..values.annotations import IntLike, NumberLike, ShapeLike, TensorLike


def _as_image(image: TensorLike) -> Tensor:
    x = as_tensor(image)
    if x.ndim < 3:
        raise ValueError(f"'image' (shape {x.shape}) must be at least three-dimensional.")
    return x


def flip_left_right(image: TensorLike) -> Tensor:
    """Flip an image, or a batch of images, horizontally.

    Args:
      image: A tensor of shape (..., height, width, channels).

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      ValueError: If there are fewer than three axes.

    Example:
      >>> tf.image.flip_left_right([[[1.0], [2.0], [3.0]]]).numpy().ravel()
      array([3., 2., 1.], dtype=float32)
    """
    return reverse(_as_image(image), [-2])


def flip_up_down(image: TensorLike) -> Tensor:
    """Flip an image, or a batch of images, vertically.

    Args:
      image: A tensor of shape (..., height, width, channels).

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      ValueError: If there are fewer than three axes.

    Example:
      >>> tf.image.flip_up_down([[[1.0]], [[2.0]]]).numpy().ravel()
      array([2., 1.], dtype=float32)
    """
    return reverse(_as_image(image), [-3])


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert RGB to the brightness of each pixel: 0.2989 of red, 0.587 of green, 0.114 of blue.

    Args:
      images: A tensor of floats, of shape (..., 3).
      name: Not used.

    Returns:
      A tensor of shape (..., 1) and of the same dtype.

    Raises:
      InvalidArgumentError: If the elements are not floats, or the number of channels is not 3.

    Example:
      >>> tf.image.rgb_to_grayscale([[[1.0, 1.0, 1.0]]]).numpy().round(4)
      array([[[0.9999]]], dtype=float32)
    """
    x = as_tensor(images)
    if not x._spec.is_float:
        raise DtypeError(f"images must be of floats, got {x.dtype.name}. Use `cast`.")
    require(
        x.ndim > 1 and x.shape[-1] == 3, "RgbToGrayscale", f"expected 3 channels, got {x.shape}"
    )
    weights = as_tensor(np.array([[0.2989], [0.587], [0.114]], x.dtype.as_numpy_dtype))
    gray = matrix_products.matmul(movement.reshape_if_needed(x, (x._spec.size // 3, 3)), weights)
    return movement.reshape_if_needed(gray, (*x.shape[:-1], 1))


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Repeat the single channel of each pixel three times.

    Args:
      images: A tensor of shape (..., 1).
      name: Not used.

    Returns:
      A tensor of shape (..., 3) and of the same dtype.

    Raises:
      ValueError: If the number of channels is not 1.

    Example:
      >>> tf.image.grayscale_to_rgb([[[5.0]]]).numpy()
      array([[[5., 5., 5.]]], dtype=float32)
    """
    x = as_tensor(images)
    if not x.ndim or x.shape[-1] != 1:
        raise ValueError("Last dimension of a grayscale image should be size 1.")
    return movement.broadcast_to(x, (*x.shape[:-1], 3))


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Add a number to each element of an image.

    Args:
      image: A tensor of floats.
      delta: The number.

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      DtypeError: If the elements are not floats.

    Example:
      >>> tf.image.adjust_brightness([[[0.25], [0.5]]], 0.25).numpy().ravel()
      array([0.5 , 0.75], dtype=float32)
    """
    x = as_tensor(image)
    if not x._spec.is_float:
        raise DtypeError(f"image must be of floats, got {x.dtype.name}. Use `cast`.")
    return elementwise.add(x, delta)


def per_image_standardization(image: TensorLike) -> Tensor:
    """Subtract each image's mean and divide by its standard deviation.

    The standard deviation counts as at least ``1 / sqrt(n)`` for n elements, so that it is not 0.

    Args:
      image: A tensor of floats, of shape (..., height, width, channels).

    Returns:
      A tensor of the same shape and dtype.

    Raises:
      ValueError: If there are fewer than three axes.
      DtypeError: If the elements are not floats.

    Example:
      >>> tf.image.per_image_standardization([[[1.0], [3.0]]]).numpy().ravel()
      array([-1.,  1.], dtype=float32)
    """
    x = _as_image(image)
    if not x._spec.is_float:
        raise DtypeError(f"image must be of floats, got {x.dtype.name}. Use `cast`.")
    axes = (-3, -2, -1)
    n = max(1, int(np.prod(x.shape[-3:])))
    centered = x - reduce_mean(x, axes, True)
    stddev = elementwise.sqrt(reduce_mean(elementwise.square(centered), axes, True))
    standardized: Tensor = centered / elementwise.maximum(stddev, 1 / n**0.5)
    return standardized


def _parse_box(
    image: TensorLike, top: IntLike, left: IntLike, height: IntLike, width: IntLike
) -> tuple[Any, ...]:
    x = _as_image(image)
    box = [int(movement.to_ints(v)) for v in (top, left, height, width)]
    for name, value, minimum in zip(
        ("offset_height", "offset_width", "target_height", "target_width"),
        box,
        (0, 0, 1, 1),
        strict=True,
    ):
        if value < minimum:
            raise ValueError(f"{name} must be {'> 0' if minimum else '>= 0'}.")
    return x, *box


def crop_to_bounding_box(
    image: TensorLike,
    offset_height: IntLike,
    offset_width: IntLike,
    target_height: IntLike,
    target_width: IntLike,
) -> Tensor:
    """Crop a box out of an image.

    Args:
      image: A tensor of shape (..., height, width, channels).
      offset_height: The first row of the box.
      offset_width: The first column of the box.
      target_height: The number of rows.
      target_width: The number of columns.

    Returns:
      A tensor of the same dtype.

    Raises:
      ValueError: If the box is not inside the image, or there are fewer than three axes.

    Example:
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


def pad_to_bounding_box(
    image: TensorLike,
    offset_height: IntLike,
    offset_width: IntLike,
    target_height: IntLike,
    target_width: IntLike,
) -> Tensor:
    """Pad an image with zeros to a larger size.

    Args:
      image: A tensor of shape (..., height, width, channels).
      offset_height: The number of rows of zeros above the image.
      offset_width: The number of columns of zeros on its left.
      target_height: The height of the result.
      target_width: The width of the result.

    Returns:
      A tensor of the same dtype.

    Raises:
      ValueError: If the image does not fit in, or there are fewer than three axes.

    Example:
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
    return pad(x, [*([(0, 0)] * (x.ndim - 3)), (top, below), (left, right), (0, 0)])


def central_crop(image: TensorLike, central_fraction: NumberLike) -> Tensor:
    """Crop the center of an image.

    Args:
      image: A tensor of shape (..., height, width, channels).
      central_fraction: The fraction of height and width to keep: more than 0, at most 1.

    Returns:
      A tensor of the same dtype.

    Raises:
      TypeError: If the fraction is not a number.
      ValueError: If it is out of range, or there are fewer than three axes.

    Example:
      >>> tf.image.central_crop(tf.ones((4, 6, 3)), 0.5).shape
      TensorShape([2, 4, 3])
    """
    fraction = to_float(central_fraction, "central_fraction")
    if not 0 < fraction <= 1:
        raise ValueError("central_fraction must be within (0, 1]")
    x = _as_image(image)
    top, left = (int((size - size * fraction) / 2) for size in x.shape[-3:-1])
    return crop_to_bounding_box(x, top, left, x.shape[-3] - 2 * top, x.shape[-2] - 2 * left)


def _interpolation_matrix(size: int, new_size: int, dtype: type) -> Tensor:
    """Return the matrix that interpolates new rows linearly between the two nearest old rows."""
    positions = (np.arange(new_size) + 0.5) * (size / new_size) - 0.5
    low = np.floor(positions).astype(int)
    fraction = positions - low
    matrix = np.zeros((new_size, size))
    rows = np.arange(new_size)
    np.add.at(matrix, (rows, np.clip(low, 0, size - 1)), 1 - fraction)
    np.add.at(matrix, (rows, np.clip(low + 1, 0, size - 1)), fraction)
    return as_tensor(matrix.astype(dtype))


def resize(
    images: TensorLike,
    size: ShapeLike,
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize images.

    Args:
      images: A tensor of numbers, of shape (height, width, channels) or (batch, height, width,
        channels).
      size: The new height and width.
      method: "bilinear", a mean of the four nearest pixels, or "nearest".
      preserve_aspect_ratio: Whether to preserve the ratio of height and width; the result is then
        the largest image that fits in ``size``.
      antialias: Must be False.
      name: Not used.

    Returns:
      A tensor of the new size and the same dtype, except that bilinear means of integers are
      float32.

    Raises:
      ValueError: If there are not three or four axes, ``size`` is not two ints, or the method is
        unknown.
      InvalidArgumentError: If a size is not positive.
      NotImplementedError: If ``antialias`` is true.

    Example:
      >>> tf.image.resize([[[0.0], [4.0]]], (1, 4)).numpy().ravel()
      array([0., 1., 3., 4.], dtype=float32)
    """
    x = as_tensor(images)
    if x.ndim not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    new_size = np.asarray(size)
    if new_size.dtype.kind not in "iu":
        raise ValueError("'size' must be a 1-D int32 Tensor")
    if new_size.shape != (2,):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if method not in ("bilinear", "nearest"):
        raise ValueError(f"Resize method is not implemented: {repr_of(method)}")
    if antialias:
        raise NotImplementedError(
            "`antialias` is not implemented: blur with `tf.nn.depthwise_conv2d`."
        )
    height, width = new_size.tolist()
    require(min(height, width) > 0, "Resize", "output dimensions must be positive")
    old_size = tuple(int(n) for n in x.shape[-3:-1])
    require(min(old_size) > 0, "Resize", f"images must not be empty: {x.shape.as_list()}")
    if preserve_aspect_ratio:
        scale = min(height / old_size[0], width / old_size[1])
        height, width = (round(n * scale) for n in old_size)
    if method == "nearest":
        rows, columns = (
            np.minimum(((np.arange(new) + 0.5) * (size / new)).astype(np.int64), size - 1)
            for new, size in ((height, old_size[0]), (width, old_size[1]))
        )
        return gather(gather(x, rows, axis=x.ndim - 3), columns, axis=x.ndim - 2)
    if not x._spec.is_float:
        x = elementwise.cast(x, "float32")
    if (height, width) == old_size:
        return x
    dtype, channels = x.dtype.as_numpy_dtype, int(x.shape[-1])
    batch_shape = tuple(x.shape[:-3])
    y = matrix_products.matmul(
        _interpolation_matrix(old_size[0], height, dtype),
        movement.reshape_if_needed(x, (*batch_shape, old_size[0], old_size[1] * channels)),
    )
    y = movement.reshape_if_needed(y, (*batch_shape, height, old_size[1], channels))
    return matrix_products.matmul(_interpolation_matrix(old_size[1], width, dtype), y)


Array = np.ndarray[Any, Any]


def _adjust_contrast_spec(op: Op, images: Spec, factor: Spec) -> Spec:
    floating(op, images)
    require(images.rank >= 3, op, f"input must be at least 3-D, got shape {images.shape}")
    require(factor.size == 1, op, f"contrast_factor must be scalar, got shape {factor.shape}")
    return images


def _adjust_contrast(out: Array, images: Array, factor: Array) -> None:
    mean = images.mean((-3, -2), keepdims=True)
    np.copyto(out, (images - mean) * factor.reshape(()) + mean)


# As in TensorFlow, no gradient is registered.
ADJUST_CONTRAST = defop(
    "AdjustContrastv2", ARRAY, 2, _adjust_contrast_spec, compute=_adjust_contrast
)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Scale the difference of each pixel from the mean of its channel in its image.

    As in TensorFlow, no gradient is registered: asking for one is a LookupError.

    Args:
      images: A tensor of floats, of shape (..., height, width, channels).
      contrast_factor: A float scalar.

    Returns:
      A tensor of the shape and dtype of ``images``.

    Raises:
      InvalidArgumentError: If there are fewer than 3 axes, the factor is not a scalar, or the
        elements are not floats.

    Example:
      >>> tf.image.adjust_contrast([[[1.0], [3.0]]], 2.0).numpy().ravel()
      array([0., 4.], dtype=float32)
    """
    x = as_tensor(images)
    return record(ADJUST_CONTRAST, (x, as_tensor(contrast_factor, x._spec, ADJUST_CONTRAST.name)))
