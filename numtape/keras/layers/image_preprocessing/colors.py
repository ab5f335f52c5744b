"""Layers that change the values of pixels: brightness, contrast, colours, blur and erasing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import numtape as tf

from ....core.log.as_tensor import as_tensor
from ....core.values.tensor import Tensor
from ....image.measures import filter_channels
from ...registry import Decorated
from ..base import document
from .base import (
    ARGUMENTS,
    FILL_MODES,
    INTERPOLATIONS,
    RAISES,
    BaseImagePreprocessingLayer,
    PixelLayer,
    check_choice,
    column,
    image_ops,
    parse_interval,
    parse_value_range,
)


def _document(**own: str) -> Callable[[Decorated], Decorated]:
    return document(RAISES, **{**ARGUMENTS, **own})


class _FactorLayer(PixelLayer):
    """Base class of layers with a factor, a range of values and a seed."""

    def __init__(self, factor: Any, value_range: Any, seed: int | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_factor(factor)
        self._nt_set_arguments(value_range=parse_value_range(value_range))
        self._nt_set_seed(seed)

    def _nt_clip(self, x: Tensor) -> Tensor:
        return tf.clip_by_value(x, float(self.value_range[0]), float(self.value_range[1]))

    def _nt_chosen(self, size: int, seed: Any) -> Tensor:
        """Draw whether each image is changed, with a probability drawn from the factor."""
        probability = self._nt_uniform((size,), self.factor, seed)
        return self._nt_uniform((size,), seed=seed) < probability


@_document()
class RandomBrightness(_FactorLayer):
    """Adds a random number to all pixels of an image, in training.

    >>> layer = tf.keras.layers.RandomBrightness([0.5, 0.5], value_range=(0, 1))
    >>> layer(tf.zeros((1, 1, 1)), training=True).numpy().ravel()
    array([0.5], dtype=float32)
    """

    def __init__(
        self, factor: Any, value_range: Any = (0, 255), seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(factor, value_range, seed, **kwargs)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the changes of brightness."""
        shape = self._nt_shape(data)
        sizes = (shape[0], 1, 1, 1) if len(shape) == 4 else (1, 1, 1)
        if not training:
            return {"rgb_delta": tf.zeros(sizes)}
        width = float(self.value_range[1] - self.value_range[0])
        return {"rgb_delta": self._nt_uniform(sizes, self.factor, seed) * width}

    def transform_images(self, images: Any, transformation: Any, training: bool = True) -> Any:
        """Add the changes."""
        x = tf.cast(images, self.compute_dtype)
        return self._nt_clip(x + tf.cast(transformation["rgb_delta"], x.dtype)) if training else x


@_document()
class RandomContrast(_FactorLayer):
    """Scales the difference of each pixel from the mean of its channel, in training.

    >>> layer = tf.keras.layers.RandomContrast([1.0, 1.0], seed=1)
    >>> layer(tf.ones((1, 1, 1)), training=True).numpy().ravel()
    array([1.], dtype=float32)
    """

    _nt_factor_bounds = (0, 1)

    def __init__(
        self, factor: Any, value_range: Any = (0, 255), seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(factor, value_range, seed, **kwargs)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the factors."""
        shape = self._nt_shape(data)
        sizes = (shape[0], 1, 1, 1) if len(shape) == 4 else (1, 1, 1)
        if not training:
            return {"contrast_factor": tf.zeros(sizes)}
        interval = (1.0 - self.factor[0], 1.0 + self.factor[1])
        return {"contrast_factor": self._nt_uniform(sizes, interval, seed)}

    def transform_images(self, images: Any, transformation: Any, training: bool = True) -> Any:
        """Change the contrast."""
        x = tf.cast(images, self.compute_dtype)
        if not training:
            return x
        mean = tf.reduce_mean(x, [self.height_axis, self.width_axis], True)
        factor = tf.cast(transformation["contrast_factor"], x.dtype)
        return self._nt_clip((x - mean) * factor + mean)


@_document()
class RandomColorDegeneration(_FactorLayer):
    """Mixes an image with its brightness, in training.

    >>> layer = tf.keras.layers.RandomColorDegeneration([1.0, 1.0])
    >>> layer(tf.constant([[[100.0, 0.0, 0.0]]]), training=True).numpy().round(2).ravel()
    array([29.89, 29.89, 29.89], dtype=float32)
    """

    def __init__(
        self,
        factor: Any,
        value_range: Any = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(factor, value_range, seed, data_format=data_format, **kwargs)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the factors."""
        size = self._nt_batch_size(data)
        return {"factor": self._nt_uniform((size, 1, 1, 1), self.factor, seed)}

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Mix the images with their brightness."""
        x = tf.cast(images, self.compute_dtype)
        if not training:
            return x
        factor = tf.cast(transformation["factor"], x.dtype)
        gray = image_ops().rgb_to_grayscale(x, self.data_format)
        return self._nt_clip(x + factor * (gray - x))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the images, which must have three channels."""
        if len(input_shape) not in (3, 4):
            raise ValueError(
                f"Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). "
                f"Received: input_shape={input_shape}"
            )
        channels = input_shape[self.channel_axis]
        if channels not in (None, 3):
            raise ValueError(
                f"Input images must have 3 channels, but received images with {channels} channels."
            )
        return tuple(input_shape)


@_document(factor="The probability of a change, from 0 to 1.")
class RandomGrayscale(PixelLayer):
    """Replaces the colours of an image by its brightness, in training.

    >>> layer = tf.keras.layers.RandomGrayscale(1.0)
    >>> layer(tf.constant([[[100.0, 0.0, 0.0]]]), training=True).numpy().round(2).ravel()
    array([29.89, 29.89, 29.89], dtype=float32)
    """

    _nt_use_base_factor = False

    def __init__(
        self,
        factor: float = 0.5,
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_format=data_format, **kwargs)
        if not 0 <= factor <= 1:
            raise ValueError(f"`factor` should be between 0 and 1. Received: factor={factor}")
        self._nt_set_arguments(factor=factor)
        self._nt_set_seed(seed)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw which images are changed, as a bool tensor (batch, 1, 1, 1)."""
        return column(self._nt_uniform((self._nt_batch_size(data),), seed=seed) < self.factor)

    def transform_images(self, images: Any, transformation: Any, training: bool = True) -> Any:
        """Change the chosen images."""
        x = as_tensor(images)
        if not training:
            return x
        chosen = self.get_random_transformation(x) if transformation is None else transformation
        return tf.where(chosen, image_ops().rgb_to_grayscale(x, self.data_format), x)


@_document()
class RandomHue(_FactorLayer):
    """Turns the hue of an image, in training.

    >>> layer = tf.keras.layers.RandomHue([0.0, 0.0], value_range=(0, 1))
    >>> layer(tf.constant([[[1.0, 0.0, 0.0]]]), training=True).numpy().ravel()
    array([1., 0., 0.], dtype=float32)
    """

    _nt_factor_bounds = (0, 1)

    def __init__(
        self,
        factor: Any,
        value_range: Any = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(factor, value_range, seed, data_format=data_format, **kwargs)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the changes of the hue."""
        size = self._nt_batch_size(data)
        sign = tf.where(self._nt_uniform((size,), seed=seed) > 0.5, -1.0, 1.0)
        return {"factor": sign * self._nt_uniform((size,), self.factor, seed) * 0.5}

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Turn the hue."""
        x = tf.cast(images, self.compute_dtype)
        if not training:
            return x
        ops = image_ops()
        x = self._nt_transform_value_range(x, self.value_range, (0, 1), self.compute_dtype)
        hsv = ops.rgb_to_hsv(x, self.data_format)
        hue, saturation, value = tf.unstack(hsv, axis=self.channel_axis)
        hue = hue + tf.cast(transformation["factor"], x.dtype)[:, None, None]
        hue = tf.where(hue > 1.0, hue - 1.0, hue)
        hue = tf.where(hue < 0.0, hue + 1.0, hue)
        hsv = tf.stack([hue, saturation, value], self.channel_axis)
        x = tf.clip_by_value(ops.hsv_to_rgb(hsv, self.data_format), 0.0, 1.0)
        return self._nt_transform_value_range(x, (0, 1), self.value_range, self.compute_dtype)


@_document()
class RandomSaturation(_FactorLayer):
    """Multiplies the saturation of an image by f / (1 - f) for a factor f, in training.

    >>> layer = tf.keras.layers.RandomSaturation([0.5, 0.5], value_range=(0, 1))
    >>> layer(tf.constant([[[1.0, 0.5, 0.0]]]), training=True).numpy().round(3).ravel()
    array([1. , 0.5, 0. ], dtype=float32)
    """

    def __init__(
        self,
        factor: Any,
        value_range: Any = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(factor, value_range, seed, data_format=data_format, **kwargs)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the factors of the saturation."""
        factor = self._nt_uniform((self._nt_batch_size(data),), self.factor, seed)
        return {"factor": factor / (1 - factor + 1e-7)}

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Multiply the saturation."""
        x = tf.cast(images, self.compute_dtype)
        if not training:
            return x
        ops = image_ops()
        hsv = ops.rgb_to_hsv(x, self.data_format)
        hue, saturation, value = tf.unstack(hsv, axis=self.channel_axis)
        factor = tf.cast(transformation["factor"], x.dtype)[:, None, None]
        saturation = self._nt_clip(saturation * factor)
        hsv = tf.stack([hue, saturation, value], self.channel_axis)
        return ops.hsv_to_rgb(hsv, self.data_format)


@_document()
class RandomInvert(_FactorLayer):
    """Subtracts the pixels from the largest value, in training.

    >>> layer = tf.keras.layers.RandomInvert(factor=(1.0, 1.0))
    >>> layer(tf.constant([[[55.0]]]), training=True).numpy().ravel()
    array([200.], dtype=float32)
    """

    _nt_use_base_factor = False
    _nt_factor_bounds = (0, 1)

    def __init__(
        self,
        factor: Any = 1.0,
        value_range: Any = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(factor, value_range, seed, data_format=data_format, **kwargs)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw which images are inverted."""
        if not training:
            return None
        return {"apply_inversion": self._nt_chosen(self._nt_batch_size(data), seed)}

    def transform_images(self, images: Any, transformation: Any, training: bool = True) -> Any:
        """Invert the chosen images."""
        x = tf.cast(images, self.compute_dtype)
        if not training:
            return x
        return tf.where(column(transformation["apply_inversion"]), self.value_range[1] - x, x)


@_document(factor="The number of bits that stay, from 1 to 8, or bounds of it.")
class RandomPosterization(_FactorLayer):
    """Sets low bits of pixels to 0, in training.

    >>> layer = tf.keras.layers.RandomPosterization(1)
    >>> layer(tf.constant([[[100.0, 200.0]]]), training=True).numpy().ravel()
    array([  0., 128.], dtype=float32)
    """

    _nt_use_base_factor = False
    _nt_factor_bounds = (1, 8)
    _nt_max_factor = 8

    def __init__(
        self,
        factor: Any,
        value_range: Any = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(factor, value_range, seed, data_format=data_format, **kwargs)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the number of bits to remove."""
        from ... import random

        size = (self._nt_batch_size(data),)
        low, high = (int(n) for n in self.factor)
        generator = self.generator if seed is None else seed
        bits = (
            tf.fill(size, tf.constant(low, tf.uint8))
            if low == high
            else random.randint(size, low, high, "uint8", generator)
        )
        return {"shift_factor": tf.constant(self._nt_max_factor, tf.uint8) - bits}

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Remove the bits."""
        x = tf.cast(images, self.compute_dtype)
        if not training:
            return x
        x = self._nt_transform_value_range(x, self.value_range, (0, 255), self.compute_dtype)
        shift = column(transformation["shift_factor"])
        bits = tf.bitwise.right_shift(tf.cast(x, tf.uint8), shift)
        x = tf.cast(tf.bitwise.left_shift(bits, shift), self.compute_dtype)
        return self._nt_transform_value_range(x, (0, 255), self.value_range, self.compute_dtype)


@_document()
class RandomSharpness(_FactorLayer):
    """Mixes an image with a smoothed one: 0 is smooth, 0.5 the image, and 1 sharp; in training.

    >>> layer = tf.keras.layers.RandomSharpness((0.5, 0.5))
    >>> layer(tf.ones((2, 2, 1)), training=True).numpy().ravel()
    array([1., 1., 1., 1.], dtype=float32)
    """

    _nt_use_base_factor = False
    _nt_factor_bounds = (0, 1)

    def __init__(
        self,
        factor: Any,
        value_range: Any = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(factor, value_range, seed, data_format=data_format, **kwargs)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the factors."""
        return {"factor": self._nt_uniform((self._nt_batch_size(data),), self.factor, seed)}

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Mix the images with smooth ones."""
        x = tf.cast(images, self.compute_dtype)
        if not training:
            return x
        is_first = self.data_format == "channels_first"
        x = tf.transpose(x, [0, 2, 3, 1]) if is_first else x
        kernel = np.full((3, 3), 1 / 13)
        kernel[1, 1] = 5 / 13
        smooth = filter_channels(x, kernel, "SAME")
        factor = tf.cast(column(transformation["factor"]) * 2, x.dtype)
        x = self._nt_clip(x + (1.0 - factor) * (smooth - x))
        return tf.transpose(x, [0, 3, 1, 2]) if is_first else x


def random_windows(layer: BaseImagePreprocessingLayer, shape: Any, ratios: Any, seed: Any) -> Any:
    """Draw a window of each image.

    Args:
      layer: The layer that draws.
      shape: The shape of the images.
      ratios: The width and the height of the windows, each (batch,), as fractions.
      seed: The seed; None for the layer's.

    Returns:
      A bool tensor that is true in the windows and broadcasts with the images, and the fraction of
      the image in each window, (batch, 1, 1, 1).
    """
    dtype = ratios[0].dtype
    inside, area = None, None
    axes = (layer.width_axis, layer.height_axis)
    for ratio, axis in zip(ratios, axes, strict=True):
        size = int(shape[axis])
        length = ratio * size
        start = layer._nt_uniform(ratio.shape, seed=seed, dtype=dtype.name) * (size - length)
        end = start + length
        steps = [1] * 4
        steps[axis] = size
        places = tf.reshape(tf.range(size, dtype=dtype), steps)
        part = tf.logical_and(places >= column(start), places < column(end))
        fraction = column(end - start) / size
        inside = part if inside is None else tf.logical_and(inside, part)
        area = fraction if area is None else area * fraction
    return inside, area


@_document(
    factor="The probability of a change, or bounds of it.",
    scale="The fraction of the image's area to erase, or bounds of it.",
    fill_value="The value of erased pixels, or one for each channel; None for noise.",
)
class RandomErasing(_FactorLayer):
    """Erases a rectangle of an image, in training.

    >>> layer = tf.keras.layers.RandomErasing(scale=(1.0, 1.0), fill_value=7.0)
    >>> layer(tf.ones((1, 2, 1)), training=True).shape
    TensorShape([1, 2, 1])
    """

    _nt_use_base_factor = False
    _nt_factor_bounds = (0, 1)

    def __init__(
        self,
        factor: Any = 1.0,
        scale: Any = (0.02, 0.33),
        fill_value: Any = None,
        value_range: Any = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(factor, value_range, seed, data_format=data_format, **kwargs)
        self._nt_set_arguments(scale=self._nt_parse(scale, "scale"), fill_value=fill_value)

    def _nt_fill(self, shape: Any, seed: Any) -> Tensor:
        from ... import random

        value, dtype = self.fill_value, self.compute_dtype
        if value is None:
            generator = self.generator if seed is None else seed
            noise = random.normal(shape, dtype=dtype, seed=generator)
            return self._nt_clip(noise * float(self.value_range[1]))
        if isinstance(value, tuple | list):
            if len(value) != 3:
                raise ValueError(
                    "The `fill_value` argument should be a number (or a list of three numbers) "
                )
            sizes = [1] * 4
            sizes[self.channel_axis] = 3
            return self._nt_clip(tf.reshape(tf.constant(value, dtype), sizes))
        if not isinstance(value, int | float):
            raise ValueError(
                "The `fill_value` argument should be a number (or a list of three numbers) "
            )
        return self._nt_clip(tf.constant(value, dtype))

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the rectangles, their values, and which images are changed."""
        if not training:
            return None
        shape, size = self._nt_shape(data), self._nt_batch_size(data)
        weights = tf.sqrt(self._nt_uniform((size, 2), self.scale, seed, self.compute_dtype))
        masks, _ = random_windows(self, shape, (weights[:, 0], weights[:, 1]), seed)
        return {
            "apply_erasing": self._nt_chosen(size, seed),
            "batch_masks": masks,
            "fill_value": self._nt_fill(shape, seed),
        }

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Erase the rectangles."""
        x = tf.cast(images, self.compute_dtype)
        if not training:
            return x
        chosen = column(transformation["apply_erasing"])
        is_erased = tf.logical_and(transformation["batch_masks"], chosen)
        return tf.where(is_erased, transformation["fill_value"], x)


@_document(
    factor="The probability of a change, or bounds of it.",
    kernel_size="The size of the window, odd, or a width and a height.",
    sigma="The deviation of the window, from 0 to 1, or bounds of it.",
)
class RandomGaussianBlur(_FactorLayer):
    """Blurs an image by a Gaussian window, in training.

    >>> layer = tf.keras.layers.RandomGaussianBlur(kernel_size=1)
    >>> layer(tf.ones((1, 2, 1)), training=True).numpy().ravel()
    array([1., 1.], dtype=float32)
    """

    _nt_use_base_factor = False
    _nt_factor_bounds = (0, 1)

    def __init__(
        self,
        factor: Any = 1.0,
        kernel_size: Any = 3,
        sigma: Any = 1.0,
        value_range: Any = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(factor, value_range, seed, data_format=data_format, **kwargs)
        is_pair = isinstance(kernel_size, tuple | list)
        sizes = tuple(kernel_size) if is_pair else (kernel_size, kernel_size)
        if len(sizes) != 2 or not all(isinstance(n, int | float) and n % 2 for n in sizes):
            raise ValueError(
                f"kernel_size must be an odd number, or two of them. Received: "
                f"kernel_size={kernel_size}"
            )
        self._nt_set_arguments(kernel_size=sizes, sigma=self._nt_parse(sigma, "sigma"))

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw which images are blurred, and the deviations."""
        if not training:
            return None
        chosen = self._nt_chosen(self._nt_batch_size(data), seed)
        sigma = self._nt_uniform((2,), self.sigma, seed, self.compute_dtype) + 1e-6
        return {"should_apply_blur": chosen, "blur_factor": sigma}

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Blur the chosen images."""
        x = tf.cast(images, self.compute_dtype)
        if not training or transformation is None:
            return x
        blurred = image_ops().gaussian_blur(
            x, self.kernel_size, transformation["blur_factor"], self.data_format
        )
        chosen = column(transformation["should_apply_blur"])
        return self._nt_clip(tf.where(chosen, blurred, x))


@_document(
    factor="The probability of a change, or bounds of it.",
    scale="The strength of the distortion, from 0 to 1, or bounds of it.",
    fill_mode="``constant``, ``reflect``, ``wrap``, ``nearest`` or ``mirror``.",
)
class RandomElasticTransform(BaseImagePreprocessingLayer):
    """Moves pixels by smooth random displacements, in training.

    >>> layer = tf.keras.layers.RandomElasticTransform(scale=0.0)
    >>> layer(tf.ones((1, 2, 1)), training=True).numpy().ravel()
    array([1., 1.], dtype=float32)
    """

    _nt_use_base_factor = False
    _nt_factor_bounds = (0, 1)

    def __init__(
        self,
        factor: Any = 1.0,
        scale: Any = 1.0,
        interpolation: str = "bilinear",
        fill_mode: str = "reflect",
        fill_value: float = 0.0,
        value_range: Any = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_format=data_format, **kwargs)
        self._nt_set_factor(factor)
        check_choice("interpolation", interpolation, INTERPOLATIONS)
        check_choice("fill_mode", fill_mode, (*FILL_MODES, "mirror"))
        self._nt_set_arguments(
            scale=self._nt_parse(scale, "scale"),
            interpolation=interpolation,
            fill_mode=fill_mode,
            fill_value=fill_value,
            value_range=value_range,
        )
        self._nt_set_seed(seed)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw which images are distorted, and how much."""
        if not training or self.scale[1] == 0 or self.factor[1] == 0:
            return None
        size = self._nt_batch_size(data)
        probability = self._nt_uniform((size,), self.factor, seed)
        return {
            "apply_transform": self._nt_uniform((size,), seed=seed) < probability,
            "distortion_factor": self._nt_uniform((), self.scale, seed, self.compute_dtype),
            "seed": self.generator if seed is None else seed,
        }

    def get_elastic_transform_params(self, height: int, width: int, factor: Any) -> Any:
        """Return the scale of the displacements and the deviation of their blur."""
        return max(height, width) * (0.1 * factor), min(height, width) * (0.05 * factor)

    def _nt_transform_images(self, images: Tensor, transformation: Any, interpolation: str) -> Any:
        if transformation is None:
            return images
        height, width = self._nt_sizes(images.shape)
        factor = transformation["distortion_factor"]
        alpha, sigma = self.get_elastic_transform_params(int(height), int(width), factor)
        moved = image_ops().elastic_transform(
            images,
            alpha=alpha,
            sigma=sigma,
            interpolation=interpolation,
            fill_mode=self.fill_mode,
            fill_value=self.fill_value,
            seed=transformation["seed"],
            data_format=self.data_format,
        )
        result = tf.where(column(transformation["apply_transform"], images.ndim), moved, images)
        low, high = (tf.cast(n, result.dtype) for n in self.value_range)
        return tf.cast(tf.clip_by_value(result, low, high), self.compute_dtype)


@_document(
    addition_factor="A number from 0 to 1, or two bounds, times 255: what is added first.",
    threshold_factor="A number from 0 to 1, or two bounds, times 255: larger pixels are inverted.",
)
class Solarization(PixelLayer):
    """Adds a number to pixels and inverts those above a threshold, in training.

    >>> layer = tf.keras.layers.Solarization(threshold_factor=0.0)
    >>> layer(tf.constant([[[55.0]]]), training=True).numpy().ravel()
    array([200.], dtype=float32)
    """

    _nt_use_base_factor = False

    def __init__(
        self,
        addition_factor: Any = 0.0,
        threshold_factor: Any = 0.0,
        value_range: Any = (0, 255),
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        message = (
            "The `addition_factor` and `threshold_factor` arguments should be a number (or a list "
            "of two numbers) in the range [0, 1]. "
        )
        self._nt_set_arguments(
            value_range=parse_value_range(value_range),
            addition_factor=parse_interval(addition_factor, (0, 1), message, "factor", True),
            threshold_factor=parse_interval(threshold_factor, (0, 1), message, "factor", True),
        )
        self._nt_set_seed(seed)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the additions and thresholds."""
        if not training:
            return None
        shape = self._nt_shape(data)
        sizes = (shape[0], 1, 1, 1) if len(shape) == 4 else (1, 1, 1)
        return {
            name: self._nt_uniform(sizes, (low, high * 255), seed, self.compute_dtype)
            for name, (low, high) in (
                ("additions", self.addition_factor),
                ("thresholds", self.threshold_factor),
            )
        }

    def transform_images(self, images: Any, transformation: Any, training: bool = True) -> Any:
        """Add and invert."""
        x = tf.cast(images, self.compute_dtype)
        if not training or transformation is None:
            return x
        y = self._nt_transform_value_range(x, self.value_range, (0, 255), self.compute_dtype)
        y = tf.clip_by_value(y + transformation["additions"], 0.0, 255.0)
        y = tf.where(y < transformation["thresholds"], y, 255 - y)
        return self._nt_transform_value_range(y, (0, 255), self.value_range, self.compute_dtype)


@_document(bins="The number of bins of the histogram.")
class Equalization(PixelLayer):
    """Spreads the values of each channel, so that all values are about equally frequent.

    The histogram is one of the whole batch, as in Keras.

    >>> x = tf.constant([[[10.0], [10.0], [20.0], [30.0]]])
    >>> tf.keras.layers.Equalization()(x, training=True).numpy().ravel()
    array([  0.,   0., 128., 255.], dtype=float32)
    """

    def __init__(
        self,
        value_range: Any = (0, 255),
        bins: int = 256,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_format=data_format, **kwargs)
        self._nt_kept = tuple(name for name in self._nt_kept if name != "factor")
        self._nt_set_arguments(bins=bins, value_range=parse_value_range(value_range))

    def _nt_equalize(self, channel: Tensor) -> Tensor:
        """Equalize a channel of the whole batch, with values in [0, 255]."""
        last = self.bins - 1
        places = tf.clip_by_value(tf.cast(channel * (last / 255.0), tf.int32), 0, last)
        counts = tf.math.unsorted_segment_sum(
            tf.ones([int(tf.size(places))], tf.int32), tf.reshape(places, [-1]), self.bins
        )
        sums = tf.cumsum(counts)
        first = tf.reduce_min(tf.where(sums > 0, sums, sums[-1]))
        span = tf.maximum(sums[-1] - first, 1)
        table = tf.cast(sums - first, tf.float32) * 255.0 / tf.cast(span, tf.float32)
        table = tf.clip_by_value(tf.round(table), 0.0, 255.0)
        equalized = tf.cast(tf.gather(table, places), channel.dtype)
        used = tf.math.count_nonzero(counts, dtype=tf.int32)
        return tf.where(used <= 1, channel, equalized)

    def transform_images(self, images: Any, transformation: Any, training: bool = True) -> Any:
        """Equalize the images."""
        x = as_tensor(images)
        if not training:
            return x
        x = tf.cast(x, self.compute_dtype)
        x = self._nt_transform_value_range(x, self.value_range, (0, 255), self.compute_dtype)
        channels = [self._nt_equalize(c) for c in tf.unstack(x, axis=self.channel_axis)]
        x = tf.stack(channels, self.channel_axis)
        return self._nt_transform_value_range(x, (0, 255), self.value_range, self.compute_dtype)


@_document()
class AutoContrast(PixelLayer):
    """Stretches the values of each channel of an image to the whole range.

    >>> x = tf.constant([[[[50.0]], [[100.0]]]])
    >>> tf.keras.layers.AutoContrast()(x).numpy().ravel()
    array([  0., 255.], dtype=float32)
    """

    _nt_use_base_factor = False

    def __init__(self, value_range: Any = (0, 255), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(value_range=parse_value_range(value_range))

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Stretch the images."""
        x = tf.cast(images, self.compute_dtype)
        y = self._nt_transform_value_range(x, self.value_range, (0, 255), self.compute_dtype)
        low, high = tf.reduce_min(y, (1, 2), True), tf.reduce_max(y, (1, 2), True)
        is_flat = high == low
        scale = 255.0 / tf.where(is_flat, tf.ones_like(high), high - low)
        stretched = tf.clip_by_value(y * scale - low * scale, 0.0, 255.0)
        result = self._nt_transform_value_range(
            stretched, (0, 255), self.value_range, self.compute_dtype
        )
        return tf.where(is_flat, x, result)


_JITTER = ("brightness", "contrast", "saturation", "hue")


@_document(
    brightness_factor="The factor of `RandomBrightness`; None for no change.",
    contrast_factor="The factor of `RandomContrast`; None for no change.",
    saturation_factor="The factor of `RandomSaturation`; None for no change.",
    hue_factor="The factor of `RandomHue`; None for no change.",
)
class RandomColorJitter(PixelLayer):
    """Changes brightness, contrast, saturation and hue of an image, in training.

    >>> layer = tf.keras.layers.RandomColorJitter(brightness_factor=[0.0, 0.0])
    >>> layer(tf.ones((1, 1, 3)), training=True).numpy().ravel()
    array([1., 1., 1.], dtype=float32)
    """

    _nt_use_base_factor = False

    def __init__(
        self,
        value_range: Any = (0, 255),
        brightness_factor: Any = None,
        contrast_factor: Any = None,
        saturation_factor: Any = None,
        hue_factor: Any = None,
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_format=data_format, **kwargs)
        self._nt_set_arguments(
            value_range=value_range,
            brightness_factor=brightness_factor,
            contrast_factor=contrast_factor,
            saturation_factor=saturation_factor,
            hue_factor=hue_factor,
        )
        self._nt_set_seed(seed)
        classes = (RandomBrightness, RandomContrast, RandomSaturation, RandomHue)
        for word, cls in zip(_JITTER, classes, strict=True):
            factor = getattr(self, f"{word}_factor")
            layer = factor if factor is None else self._nt_make(cls, factor)
            setattr(self, f"random_{word}", layer)

    def _nt_make(self, cls: Any, factor: Any) -> Any:
        return cls(
            factor,
            value_range=self.value_range,
            seed=self.seed,
            data_format=self.data_format,
            dtype=self.dtype_policy,
        )

    def transform_images(self, images: Any, transformation: Any, training: bool = True) -> Any:
        """Draw and apply the changes in turn."""
        x = tf.cast(images, self.compute_dtype)
        if not training:
            return x
        for word in _JITTER:
            layer = getattr(self, f"random_{word}")
            if layer is not None:
                drawn = layer.get_random_transformation(x, seed=self.generator)
                x = layer.transform_images(x, drawn)
        return x
