"""Random changes of images: each with a seed of `tf.random.set_seed`, and stateless.

A pair of functions shares its computation, which gets a function that draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ..core.log.as_tensor import as_tensor
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from . import colors
from .arguments import describe
from .codecs import adjust_jpeg_quality

if TYPE_CHECKING:
    from ..core.values.annotations import IntLike, NumberLike, ShapeLike, TensorLike

# A function (shape, lower, upper, dtype) that draws uniformly.
Draw = Callable[[Any, Any, Any, Any], Tensor]


def _stateful(seed: int | None) -> Draw:
    def draw(shape: Any, lower: Any, upper: Any, dtype: Any) -> Tensor:
        return tf.random.uniform(shape, lower, upper, dtype, seed=seed)

    return draw


def _stateless(seed: TensorLike) -> Draw:
    def draw(shape: Any, lower: Any, upper: Any, dtype: Any) -> Tensor:
        return tf.random.stateless_uniform(shape, seed, lower, upper, dtype)

    return draw


def _check_delta(max_delta: NumberLike, most: float = float("inf")) -> float:
    largest = float(max_delta)
    if largest > most:
        raise ValueError(f"max_delta must be <= {most}.")
    if largest < 0:
        raise ValueError("max_delta must be non-negative.")
    return largest


def _check_bounds(lower: NumberLike, upper: NumberLike) -> tuple[float, float]:
    low, high = float(lower), float(upper)
    if high <= low:
        raise ValueError("upper must be > lower.")
    if low < 0:
        raise ValueError("lower must be non-negative.")
    return low, high


_DELTA = "ValueError: If ``max_delta`` is out of range."
_BOUNDS = "ValueError: If the lower bound is negative, or not less than the upper bound."


@describe(raises=_DELTA)
def random_brightness(image: TensorLike, max_delta: NumberLike, seed: int | None = None) -> Tensor:
    """Add a random number from ``-max_delta`` to ``max_delta``.

    >>> tf.image.random_brightness(tf.ones((2, 2, 1)), 0.0).numpy().ravel()
    array([1., 1., 1., 1.], dtype=float32)
    """
    return _brightness(image, max_delta, _stateful(seed))


@describe(raises=_DELTA)
def stateless_random_brightness(
    image: TensorLike, max_delta: NumberLike, seed: TensorLike
) -> Tensor:
    """Add a random number from ``-max_delta`` to ``max_delta``, determined by a seed.

    >>> tf.image.stateless_random_brightness(tf.zeros((1, 1, 1)), 0.2, (1, 2)).numpy()
    array([[[0.13762416]]], dtype=float32)
    """
    return _brightness(image, max_delta, _stateless(seed))


def _brightness(image: TensorLike, max_delta: NumberLike, draw: Draw) -> Tensor:
    largest = _check_delta(max_delta)
    return colors.adjust_brightness(image, draw([], -largest, largest, tf.float32))


@describe(raises=_BOUNDS)
def random_contrast(
    image: TensorLike, lower: NumberLike, upper: NumberLike, seed: int | None = None
) -> Tensor:
    """Adjust the contrast by a random factor.

    >>> tf.image.random_contrast(tf.ones((1, 2, 1)), 0.5, 1.5).numpy().ravel()
    array([1., 1.], dtype=float32)
    """
    return _contrast(image, lower, upper, _stateful(seed))


@describe(raises=_BOUNDS)
def stateless_random_contrast(
    image: TensorLike, lower: NumberLike, upper: NumberLike, seed: TensorLike
) -> Tensor:
    """Adjust the contrast by a random factor, determined by a seed.

    >>> tf.image.stateless_random_contrast(tf.ones((1, 2, 1)), 0.5, 1.5, (1, 2)).numpy().ravel()
    array([1., 1.], dtype=float32)
    """
    return _contrast(image, lower, upper, _stateless(seed))


def _contrast(image: TensorLike, lower: NumberLike, upper: NumberLike, draw: Draw) -> Tensor:
    factor = draw([], *_check_bounds(lower, upper), tf.float32)
    return colors.adjust_contrast(image, factor)


@describe(raises=_DELTA)
def random_hue(image: TensorLike, max_delta: NumberLike, seed: int | None = None) -> Tensor:
    """Turn the hue by a random number from ``-max_delta`` to ``max_delta``, at most 0.5.

    >>> tf.image.random_hue(tf.ones((1, 1, 3)), 0.5).numpy()
    array([[[1., 1., 1.]]], dtype=float32)
    """
    return _hue(image, max_delta, _stateful(seed))


@describe(raises=_DELTA)
def stateless_random_hue(image: TensorLike, max_delta: NumberLike, seed: TensorLike) -> Tensor:
    """Turn the hue by a random number, determined by a seed.

    >>> tf.image.stateless_random_hue(tf.ones((1, 1, 3)), 0.5, (1, 2)).numpy()
    array([[[1., 1., 1.]]], dtype=float32)
    """
    return _hue(image, max_delta, _stateless(seed))


def _hue(image: TensorLike, max_delta: NumberLike, draw: Draw) -> Tensor:
    largest = _check_delta(max_delta, 0.5)
    return colors.adjust_hue(image, draw([], -largest, largest, tf.float32))


@describe(raises=_BOUNDS)
def random_saturation(
    image: TensorLike, lower: NumberLike, upper: NumberLike, seed: int | None = None
) -> Tensor:
    """Multiply the saturation by a random factor.

    >>> tf.image.random_saturation(tf.ones((1, 1, 3)), 0.5, 1.5).numpy()
    array([[[1., 1., 1.]]], dtype=float32)
    """
    return _saturation(image, lower, upper, _stateful(seed))


@describe(raises=_BOUNDS)
def stateless_random_saturation(
    image: TensorLike, lower: NumberLike, upper: NumberLike, seed: TensorLike | None = None
) -> Tensor:
    """Multiply the saturation by a random factor, determined by a seed.

    >>> tf.image.stateless_random_saturation(tf.ones((1, 1, 3)), 0.5, 1.5, (1, 2)).numpy()
    array([[[1., 1., 1.]]], dtype=float32)
    """
    if seed is None:
        raise ValueError("`seed` must be two integers.")
    return _saturation(image, lower, upper, _stateless(seed))


def _saturation(image: TensorLike, lower: NumberLike, upper: NumberLike, draw: Draw) -> Tensor:
    factor = draw([], *_check_bounds(lower, upper), tf.float32)
    return colors.adjust_saturation(image, factor)


@describe(raises="ValueError: If there are not three or four axes.")
def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Flip an image, or each image of a batch, horizontally with probability 1/2.

    >>> tf.image.random_flip_left_right(tf.ones((2, 2, 1))).shape
    TensorShape([2, 2, 1])
    """
    return _flip(image, -2, _stateful(seed))


@describe(raises="ValueError: If there are not three or four axes.")
def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Flip an image, or each image of a batch, vertically with probability 1/2.

    >>> tf.image.random_flip_up_down(tf.ones((2, 2, 1))).shape
    TensorShape([2, 2, 1])
    """
    return _flip(image, -3, _stateful(seed))


@describe(raises="ValueError: If there are not three or four axes.")
def stateless_random_flip_left_right(image: TensorLike, seed: TensorLike) -> Tensor:
    """Flip an image, or each image of a batch, horizontally, determined by a seed.

    >>> x = [[[1.0], [2.0]]]
    >>> tf.image.stateless_random_flip_left_right(x, (2, 3)).numpy().ravel()
    array([2., 1.], dtype=float32)
    """
    return _flip(image, -2, _stateless(seed))


@describe(raises="ValueError: If there are not three or four axes.")
def stateless_random_flip_up_down(image: TensorLike, seed: TensorLike) -> Tensor:
    """Flip an image, or each image of a batch, vertically, determined by a seed.

    >>> x = [[[1.0]], [[2.0]]]
    >>> tf.image.stateless_random_flip_up_down(x, (2, 3)).numpy().ravel()
    array([2., 1.], dtype=float32)
    """
    return _flip(image, -3, _stateless(seed))


def _flip(image: TensorLike, axis: int, draw: Draw) -> Tensor:
    x = as_tensor(image)
    if x.ndim not in (3, 4):
        raise ValueError("'image' must have either 3 or 4 dimensions.")
    # As in TensorFlow: one image is flipped by small numbers, an image of a batch by large ones.
    if x.ndim == 3:
        is_flipped = draw([], 0.0, 1.0, tf.float32) < 0.5
    else:
        is_flipped = (draw([x.shape[0]], 0.0, 1.0, tf.float32) > 0.5)[:, None, None, None]
    return tf.where(is_flipped, tf.reverse(x, [axis]), x)


@describe(
    "A tensor of the shape ``size`` and of the same dtype.",
    "InvalidArgumentError: If the size does not match, or is larger than the tensor.",
    size="The shape of the result.",
)
def random_crop(
    value: TensorLike, size: ShapeLike, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Take a block of a tensor at a random place.

    >>> tf.image.random_crop(tf.ones((4, 4, 3)), (2, 2, 3)).shape
    TensorShape([2, 2, 3])
    """
    return _crop(value, size, _stateful(seed))


@describe(
    "A tensor of the shape ``size`` and of the same dtype.",
    "InvalidArgumentError: If the size does not match, or is larger than the tensor.",
    size="The shape of the result.",
)
def stateless_random_crop(
    value: TensorLike, size: ShapeLike, seed: TensorLike, name: str | None = None
) -> Tensor:
    """Take a block of a tensor at a random place, determined by a seed.

    >>> tf.image.stateless_random_crop([1, 2, 3, 4, 5, 6], [2], (1, 2)).numpy()
    array([1, 2], dtype=int32)
    """
    return _crop(value, size, _stateless(seed))


def _crop(value: TensorLike, size: ShapeLike, draw: Draw) -> Tensor:
    x = as_tensor(value)
    sizes = [int(n) for n in np.asarray(size).ravel()]
    full = [int(n) for n in x.shape]
    if len(sizes) != len(full) or any(n > m for n, m in zip(sizes, full, strict=True)):
        raise InvalidArgumentError(f"Need value.shape >= size, got {full} and {sizes}")
    largest = np.iinfo(np.int32).max
    counts = tf.constant([m - n + 1 for n, m in zip(sizes, full, strict=True)], tf.int32)
    starts = tf.math.floormod(draw([len(full)], 0, largest, tf.int32), counts)
    for axis, (new, old) in enumerate(zip(sizes, full, strict=True)):
        if new != old:
            x = tf.gather(x, starts[axis] + tf.range(new), axis=axis)
    return x


_QUALITY = (
    "ValueError: If the bounds are not between 0 and 100, or the lower one is not less than the "
    "upper one.\nImportError: If Pillow is not installed."
)


@describe(raises=_QUALITY)
def random_jpeg_quality(
    image: TensorLike,
    min_jpeg_quality: IntLike,
    max_jpeg_quality: IntLike,
    seed: int | None = None,
) -> Tensor:
    """Encode and decode an image as JPEG of a random quality.

    >>> tf.image.random_jpeg_quality(tf.ones((8, 8, 3)), 75, 95).shape
    TensorShape([8, 8, 3])
    """
    return _jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, _stateful(seed))


@describe(raises=_QUALITY)
def stateless_random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: IntLike, max_jpeg_quality: IntLike, seed: TensorLike
) -> Tensor:
    """Encode and decode an image as JPEG of a random quality, determined by a seed.

    >>> tf.image.stateless_random_jpeg_quality(tf.ones((8, 8, 3)), 75, 95, (1, 2)).shape
    TensorShape([8, 8, 3])
    """
    return _jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, _stateless(seed))


def _jpeg_quality(image: TensorLike, lower: IntLike, upper: IntLike, draw: Draw) -> Tensor:
    low, high = int(lower), int(upper)
    if not (0 <= low <= 100 and 0 <= high <= 100):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if low >= high:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    return adjust_jpeg_quality(image, draw([], low, high, tf.int32))
