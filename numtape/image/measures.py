"""Edges and changes of brightness, and measures of the difference of images.

`filter_channels` and `structural_similarity` also serve `keras.ops.image`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ..core.log.as_tensor import as_tensor
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from .arguments import describe
from .colors import convert_image_dtype

if TYPE_CHECKING:
    from ..core.values.annotations import IntLike, NumberLike, TensorLike

Array = np.ndarray[Any, Any]

_SHAPES = (
    "ValueError: If there are fewer than three axes.\n"
    "InvalidArgumentError: If the images are smaller than the window, or their shapes differ."
)


@describe(
    "Two tensors of the same shape: the changes along rows and along columns.",
    "ValueError: If there are not four axes.",
    image="A tensor of shape (batch, height, width, channels).",
)
def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """Return the differences of neighboring pixels; those of the last row and column are 0.

    >>> dy, dx = tf.image.image_gradients([[[[1.0], [3.0]], [[2.0], [7.0]]]])
    >>> dy.numpy().ravel(), dx.numpy().ravel()
    (array([1., 4., 0., 0.], dtype=float32), array([2., 0., 5., 0.], dtype=float32))
    """
    x = as_tensor(image)
    if x.ndim != 4:
        raise ValueError(
            f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {x.shape}."
        )
    dy = tf.pad(x[:, 1:] - x[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
    dx = tf.pad(x[:, :, 1:] - x[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])
    return dy, dx


SOBEL = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])


def filter_channels(x: Tensor, kernel: Any, padding: str) -> Tensor:
    """Convolve each channel of a batch with the same kernel (height, width)."""
    channels = int(x.shape[-1])
    weights = tf.cast(tf.convert_to_tensor(kernel), x.dtype)[:, :, None, None]
    weights = tf.tile(weights, [1, 1, channels, 1])
    return tf.nn.depthwise_conv2d(x, weights, [1, 1, 1, 1], padding)


@describe(
    "A tensor of shape (batch, height, width, channels, 2): the changes along rows and columns.",
    "ValueError: If there are not four axes.",
    image="A tensor of floats, of shape (batch, height, width, channels).",
)
def sobel_edges(image: TensorLike) -> Tensor:
    """Return the changes of brightness, by Sobel's filters; the border is reflected.

    >>> tf.image.sobel_edges(tf.reshape(tf.range(9.0), (1, 3, 3, 1)))[0, 1, 1].numpy()
    array([[24.,  8.]], dtype=float32)
    """
    x = as_tensor(image)
    if x.ndim != 4:
        raise ValueError(f"'image' must have four axes, got {x.shape}.")
    padded = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    return tf.stack([filter_channels(padded, k, "VALID") for k in (SOBEL.T, SOBEL)], -1)


@describe(
    "A scalar, or a tensor (batch,).",
    "ValueError: If there are not three or four axes.",
    images="An image (height, width, channels), or a batch of them.",
)
def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """Add up the absolute differences of neighboring pixels.

    >>> tf.image.total_variation([[[1.0], [3.0]], [[2.0], [7.0]]]).numpy()
    np.float32(12.0)
    """
    x = as_tensor(images)
    if x.ndim not in (3, 4):
        raise ValueError("'images' must be either 3 or 4-dimensional.")
    rows, columns = x[..., 1:, :, :] - x[..., :-1, :, :], x[..., 1:, :] - x[..., :-1, :]
    axes = (-3, -2, -1)
    return tf.reduce_sum(tf.abs(rows), axes) + tf.reduce_sum(tf.abs(columns), axes)


@describe("A tensor of the shape without the last three axes.", _SHAPES)
def psnr(a: TensorLike, b: TensorLike, max_val: NumberLike, name: str | None = None) -> Tensor:
    """Return the ratio of the largest possible value to the mean square difference, in decibels.

    >>> tf.image.psnr([[[0.0]]], [[[0.1]]], 1.0).numpy().round(3)
    np.float32(20.0)
    """
    x, y, largest = _as_float_images(a, b, max_val)
    error = tf.reduce_mean(tf.math.squared_difference(x, y), [-3, -2, -1])
    tens = 10 / float(np.log(10.0))
    return 2 * tens * tf.math.log(largest) - tens * tf.math.log(error)


def _as_float_images(
    a: TensorLike, b: TensorLike, max_val: NumberLike
) -> tuple[Tensor, Tensor, Tensor]:
    """Convert to float32 or float64, in which integers count as fractions of their maximum."""
    x, y = as_tensor(a), as_tensor(b)
    largest = tf.cast(max_val, x.dtype)
    for image in (x, y):
        if image.ndim < 3:
            raise ValueError(f"Images must have at least three axes, got shape {image.shape}.")
    for one, other in zip(tuple(x.shape)[::-1], tuple(y.shape)[::-1], strict=False):
        if one != other and (x.ndim < 4 or 1 not in (one, other)):
            raise InvalidArgumentError(f"The shapes of the images differ: {x.shape}, {y.shape}.")
    dtype = tf.float64 if x.dtype is tf.float64 else tf.float32
    return (
        convert_image_dtype(x, dtype),
        convert_image_dtype(y, dtype),
        convert_image_dtype(largest, dtype),
    )


def gaussian_window(size: int, sigma: float) -> Array:
    """Return the weights of a Gaussian window, whose sum is 1."""
    places = np.arange(size) - (size - 1) / 2
    weights = np.exp(-0.5 * (places / sigma) ** 2)
    return np.asarray(weights / weights.sum())


def structural_similarity(
    x: Tensor, y: Tensor, max_val: Any, size: int, sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """Return the similarity and the similarity of contrast, both at each pixel and channel.

    Args:
      x: A batch of images, of floats.
      y: A batch of images.
      max_val: The largest possible value.
      size: The size of the window.
      sigma: The deviation of the window.
      k1: The constant of the brightness.
      k2: The constant of the contrast.
    """
    if min(*x.shape[1:3], *y.shape[1:3]) < size:
        raise InvalidArgumentError(
            f"Images must be at least as large as the window of {size}: {x.shape}, {y.shape}."
        )
    weights = gaussian_window(size, sigma)
    kernel = np.outer(weights, weights)
    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    mean_x, mean_y = filter_channels(x, kernel, "VALID"), filter_channels(y, kernel, "VALID")
    product, squares = 2 * mean_x * mean_y, tf.square(mean_x) + tf.square(mean_y)
    products = 2 * filter_channels(x * y, kernel, "VALID")
    sums = filter_channels(tf.square(x) + tf.square(y), kernel, "VALID")
    brightness = (product + c1) / (squares + c1)
    contrast = (products - product + c2) / (sums - squares + c2)
    return brightness * contrast, contrast


def _as_batches(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, list[int]]:
    """Return two tensors of four axes, and the shape of the axes before the last three."""
    shape = np.broadcast_shapes(tuple(x.shape[:-3]), tuple(y.shape[:-3]))
    wide = [tf.broadcast_to(z, [*shape, *z.shape[-3:]]) for z in (x, y)]
    first, second = (tf.reshape(z, [-1, *z.shape[-3:]]) for z in wide)
    return first, second, [int(n) for n in shape]


@describe(
    "A tensor of the shape without the last three axes, or the last one for an index map.", _SHAPES
)
def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: NumberLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """Return the structural similarity of images.

    >>> x = tf.ones((12, 12, 1))
    >>> tf.image.ssim(x, x, 1.0).numpy()
    np.float32(1.0)
    """
    x, y, largest = _as_float_images(img1, img2, max_val)
    x, y, shape = _as_batches(x, y)
    similarity, _ = structural_similarity(x, y, largest, filter_size, filter_sigma, k1, k2)
    if return_index_map:
        result = tf.reduce_mean(similarity, -1)
        return tf.reshape(result, [*shape, *result.shape[1:]])
    return tf.reshape(tf.reduce_mean(similarity, [1, 2, 3]), shape)


_SCALES = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


@describe("A tensor of the shape without the last three axes.", _SHAPES)
def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: NumberLike,
    power_factors: Sequence[float] = _SCALES,
    filter_size: IntLike = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Return the product of structural similarities at several scales.

    >>> x = tf.ones((12, 12, 1))
    >>> tf.image.ssim_multiscale(x, x, 1.0, (0.5, 0.5), filter_size=3).numpy()
    np.float32(1.0)
    """
    x, y, largest = _as_float_images(img1, img2, max_val)
    x, y, shape = _as_batches(x, y)
    factors = []
    for scale in range(len(power_factors)):
        if scale:
            x, y = _halve(x), _halve(y)
        similarity, contrast = structural_similarity(
            x, y, largest, int(filter_size), filter_sigma, k1, k2
        )
        is_last = scale == len(power_factors) - 1
        factors.append(tf.nn.relu(tf.reduce_mean(similarity if is_last else contrast, [1, 2])))
    powers = tf.constant(np.asarray(power_factors), x.dtype)
    product = tf.reduce_prod(tf.pow(tf.stack(factors, -1), powers), -1)
    return tf.reshape(tf.reduce_mean(product, -1), shape)


def _halve(x: Tensor) -> Tensor:
    """Average blocks of two by two pixels; odd borders are repeated."""
    odd = [int(n) % 2 for n in x.shape[1:3]]
    if any(odd):
        x = tf.pad(x, [[0, 0], [0, odd[0]], [0, odd[1]], [0, 0]], "SYMMETRIC")
    return tf.nn.avg_pool2d(x, 2, 2, "VALID")
