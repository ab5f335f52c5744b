"""`BaseImagePreprocessingLayer`: from inputs to a transformation, and from it to outputs.

A call draws a transformation (`get_random_transformation`) and applies it to the images, and in a
dict also to labels, bounding boxes and segmentation masks. `PixelLayer` is for layers that change
values only. Arguments are checked by `parse_interval` and `parse_value_range`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numtape as tf

from ....core.log.as_tensor import as_tensor
from ....core.values.tensor import Tensor
from ...seed_generator import SeedGenerator
from ...symbolic import KerasTensor
from ..base import ConfiguredLayer, Shape, parse_data_format
from .bounding_boxes import Boxes, densify

if TYPE_CHECKING:
    from ....core.values.annotations import NumberLike, TensorLike
    from ...annotations import InputShape

Interval = tuple[float, float]
FILL_MODES = ("reflect", "wrap", "constant", "nearest")
INTERPOLATIONS = ("nearest", "bilinear")
RAISES = (
    "ValueError: If an argument is out of range; in a call, if the images have not three or four "
    "axes."
)

# Descriptions of arguments that several layers have.
ARGUMENTS = {
    "factor": "A number, or a lower and an upper bound, from which a number is drawn.",
    "fill_mode": "How to extend the images: ``constant``, ``reflect``, ``wrap`` or ``nearest``.",
    "fill_value": "The value outside for the mode ``constant``.",
    "interpolation": "``nearest`` or ``bilinear``.",
    "name": "The name of the layer.",
    "kwargs": "``bounding_box_format``, ``data_format``, ``name`` and ``dtype``.",
    "value_range": "The smallest and largest value of pixels.",
}


def parse_interval(
    factor: Any, bounds: Interval, message: str, name: str = "factor", is_strict: bool = False
) -> Interval:
    """Return a lower and an upper bound; a number f stands for (-f, f), within the bounds.

    Args:
      factor: A number or two numbers.
      bounds: The smallest and largest number that are allowed.
      message: The start of an error's text.
      name: The name of the argument.
      is_strict: Whether both of two numbers must be within the bounds, or only the interval must
        touch them.

    Raises:
      ValueError: If the argument is not such an interval.
    """
    low, high = bounds
    error = ValueError(f"{message}Received: {name}={factor}")
    if isinstance(factor, tuple | list):
        if len(factor) != 2 or factor[0] > high or factor[1] < low:
            raise error
        lower, upper = sorted(factor)
        if is_strict and not (low <= lower and upper <= high):
            raise error
        return lower, upper
    if isinstance(factor, bool) or not isinstance(factor, int | float):
        raise error
    if not low <= factor <= high:
        raise error
    return max(-abs(factor), low), abs(factor)


def parse_value_range(value_range: Any) -> list[Any]:
    """Return two numbers in ascending order."""
    if not isinstance(value_range, tuple | list) or len(value_range) != 2:
        raise ValueError(
            f"The `value_range` argument should be a list of two numbers. Received: "
            f"value_range={value_range}"
        )
    return sorted(value_range)


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> Any:
    """Return one of the choices."""
    if value not in choices:
        raise NotImplementedError(f"Unknown `{name}` {value}. Expected of one {choices}.")
    return value


def image_ops() -> Any:
    """Return `keras.ops.image`, which is imported when a layer first needs it."""
    from ...ops import image

    return image


def column(x: TensorLike, rank: int = 4) -> Tensor:
    """Append axes to a tensor (batch,), so that it broadcasts with images."""
    return tf.reshape(x, [-1, *[1] * (rank - 1)])


class BaseImagePreprocessingLayer(ConfiguredLayer):
    """Base class of layers that transform images, and what belongs to them."""

    _nt_use_base_factor = True
    _nt_factor_bounds: Interval = (-1, 1)
    _allow_non_tensor_positional_args = True
    interpolation = "bilinear"

    def __init__(
        self,
        factor: Any = None,
        bounding_box_format: str | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(data_format=parse_data_format(data_format))
        self.bounding_box_format: Any = bounding_box_format
        if self._nt_use_base_factor:
            self._nt_set_factor(factor or 0.0)
        elif factor is not None:
            raise ValueError(
                f"Layer {type(self).__name__} does not take a `factor` argument. Received: "
                f"factor={factor}"
            )

    # --- Arguments ---------------------------------------------------------------------------

    def _nt_parse(self, value: Any, name: str = "factor") -> Interval:
        low, high = self._nt_factor_bounds
        message = (
            f"The `{name}` argument should be a number (or a list of two numbers) in the range "
            f"[{low}, {high}]. "
        )
        return parse_interval(value, self._nt_factor_bounds, message)

    def _nt_set_factor(self, factor: Any) -> None:
        self._nt_set_arguments(factor=self._nt_parse(factor))

    def _nt_set_seed(self, seed: int | None) -> None:
        self._nt_set_arguments(seed=seed)
        self.generator = SeedGenerator(seed)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        config = super().get_config()
        if self.bounding_box_format is not None:
            config["bounding_box_format"] = self.bounding_box_format
        return config

    # --- Shapes ------------------------------------------------------------------------------

    @property
    def height_axis(self) -> int:
        """The axis of the rows, from the end."""
        return -2 if self.data_format == "channels_first" else -3

    @property
    def width_axis(self) -> int:
        """The axis of the columns, from the end."""
        return -1 if self.data_format == "channels_first" else -2

    @property
    def channel_axis(self) -> int:
        """The axis of the channels, from the end."""
        return -3 if self.data_format == "channels_first" else -1

    def _nt_shape(self, data: Any) -> tuple[int, ...]:
        """Return the shape of the images of the inputs."""
        images = data["images"] if isinstance(data, dict) else data
        shape = tuple(int(n) for n in (images.shape if hasattr(images, "shape") else ()))
        if not shape:
            shape = tuple(as_tensor(images).shape)
        if len(shape) not in (3, 4):
            raise ValueError(
                f"Expected the input image to be rank 3 or 4. Received inputs.shape={shape}"
            )
        return shape

    def _nt_batch_size(self, data: Any) -> int:
        shape = self._nt_shape(data)
        return shape[0] if len(shape) == 4 else 1

    def _nt_sizes(self, shape: Any) -> tuple[int, int]:
        """Return the height and width of a shape."""
        return shape[self.height_axis], shape[self.width_axis]

    def _nt_uniform(
        self, shape: Any, interval: Any = (0.0, 1.0), seed: Any = None, dtype: Any = "float32"
    ) -> Tensor:
        """Draw numbers, by the layer's generator unless there is a seed."""
        from ... import random

        low, high = interval
        generator = self.generator if seed is None else seed
        return random.uniform(tuple(shape), float(low), float(high), dtype, generator)

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the images."""
        return tuple(input_shape)

    def compute_output_spec(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Return symbolic outputs: boxes and labels are unchanged."""
        if not isinstance(data, dict):
            return KerasTensor(self.compute_output_shape(data.shape), self.compute_dtype)
        result = dict(data)
        for name in ("images", "segmentation_masks"):
            if name in result:
                shape = self.compute_output_shape(result[name].shape)
                result[name] = KerasTensor(shape, self.compute_dtype)
        return result

    # --- The transformation ------------------------------------------------------------------

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the numbers of a transformation.

        Args:
          data: Images, or a dict with ``images``.
          training: Whether to draw.
          seed: A seed or a `SeedGenerator`; None for the layer's.

        Returns:
          A dict, or None.
        """
        return None

    def _nt_transform_images(self, images: Tensor, transformation: Any, interpolation: str) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not transform images.")

    def transform_images(
        self, images: TensorLike, transformation: Any, training: bool = True
    ) -> Any:
        """Transform a batch of images.

        Args:
          images: A tensor of four axes.
          transformation: The result of `get_random_transformation`.
          training: Whether to transform.

        Returns:
          A tensor of the layer's dtype.
        """
        x = tf.cast(images, self.compute_dtype)
        return self._nt_transform_images(x, transformation, self.interpolation) if training else x

    def transform_labels(self, labels: Any, transformation: Any, training: bool = True) -> Any:
        """Transform the labels of a batch; see `transform_images`."""
        return labels

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Transform the boxes of a batch; see `transform_images`."""
        raise NotImplementedError(
            f"{type(self).__name__} does not transform bounding boxes, and neither does Keras: "
            f"leave out 'bounding_boxes'."
        )

    def transform_segmentation_masks(
        self, segmentation_masks: TensorLike, transformation: Any, training: bool = True
    ) -> Any:
        """Transform the masks of a batch; see `transform_images`."""
        masks = as_tensor(segmentation_masks)
        return self._nt_transform_images(masks, transformation, "nearest") if training else masks

    def _nt_single(self, method: Any, value: Any, transformation: Any, training: bool) -> Any:
        """Apply a method of batches to a single example."""
        if isinstance(value, dict):
            batch = {
                k: tf.expand_dims(v, 0) if k in ("boxes", "labels") else v for k, v in value.items()
            }
            outputs = method(batch, transformation, training)
            return {
                k: tf.squeeze(v, 0) if k in ("boxes", "labels") else v for k, v in outputs.items()
            }
        return tf.squeeze(method(tf.expand_dims(value, 0), transformation, training), 0)

    def transform_single_image(self, image: Any, transformation: Any, training: bool = True) -> Any:
        """Transform one image; see `transform_images`."""
        return self._nt_single(self.transform_images, image, transformation, training)

    def transform_single_label(self, label: Any, transformation: Any, training: bool = True) -> Any:
        """Transform one label; see `transform_images`."""
        return self._nt_single(self.transform_labels, label, transformation, training)

    def transform_single_bounding_box(
        self, bounding_box: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Transform the boxes of one image; see `transform_images`."""
        boxes: Boxes = self._nt_single(
            self.transform_bounding_boxes, bounding_box, transformation, training
        )
        return boxes

    def transform_single_segmentation_mask(
        self, segmentation_mask: Any, transformation: Any, training: bool = True
    ) -> Any:
        """Transform the mask of one image; see `transform_images`."""
        method = self.transform_segmentation_masks
        return self._nt_single(method, segmentation_mask, transformation, training)

    def call(self, data: Any, training: bool = True) -> Any:
        """Transform images, or a dict with images and maybe labels, bounding boxes and masks."""
        is_batched = len(self._nt_shape(data)) == 4
        transformation = self.get_random_transformation(data, training=training)
        if not isinstance(data, dict):
            method = self.transform_images if is_batched else self.transform_single_image
            return method(as_tensor(data), transformation, training=training)
        result = dict(data)
        images, labels, boxes, masks = (
            (
                self.transform_images,
                self.transform_labels,
                self.transform_bounding_boxes,
                self.transform_segmentation_masks,
            )
            if is_batched
            else (
                self.transform_single_image,
                self.transform_single_label,
                self.transform_single_bounding_box,
                self.transform_single_segmentation_mask,
            )
        )
        result["images"] = images(as_tensor(data["images"]), transformation, training=training)
        if "bounding_boxes" in data:
            if not self.bounding_box_format:
                raise ValueError(
                    f"You passed an input with a 'bounding_boxes' key, but you didn't specify a "
                    f"bounding box format. Pass a `bounding_box_format` argument to your "
                    f"{type(self).__name__} layer, e.g. `bounding_box_format='xyxy'`."
                )
            dense = densify(data["bounding_boxes"])
            result["bounding_boxes"] = boxes(dense, transformation, training=training)
        if "labels" in data:
            result["labels"] = labels(as_tensor(data["labels"]), transformation, training=training)
        if "segmentation_masks" in data:
            value = as_tensor(data["segmentation_masks"])
            result["segmentation_masks"] = masks(value, transformation, training=training)
        return result

    # --- Values ------------------------------------------------------------------------------

    def _nt_transform_value_range(
        self, images: Tensor, original_range: Any, target_range: Any, dtype: Any = "float32"
    ) -> Tensor:
        """Map the values of a range to another range."""
        if tuple(original_range) == tuple(target_range):
            return images
        x = tf.cast(images, dtype)
        (low, high), (new_low, new_high) = (
            [tf.cast(n, dtype) for n in pair] for pair in (original_range, target_range)
        )
        result: Tensor = (x - low) / (high - low) * (new_high - new_low) + new_low
        return result

    def _nt_compute_affine_matrix(
        self,
        center_x: float,
        center_y: float,
        angle: Tensor,
        translate_x: NumberLike,
        translate_y: NumberLike,
        scale: NumberLike,
        shear_x: NumberLike,
        shear_y: NumberLike,
        height: int,
        width: int,
    ) -> Tensor:
        """Return the eight numbers of each rotation, shear, scaling and translation, in degrees."""
        degree = math.pi / 180.0
        turn = angle * degree
        x, y = center_x * (width - 1), center_y * (height - 1)
        cosine, sine = tf.cos(turn), tf.sin(turn)
        skew_x = tf.tan(tf.cast(shear_x, turn.dtype) * degree)
        skew_y = tf.tan(tf.cast(shear_y, turn.dtype) * degree)
        a0, a1 = scale * (cosine + skew_x * sine), scale * (skew_x * cosine - sine)
        b0, b1 = scale * (skew_y * cosine + sine), scale * (cosine - skew_y * sine)
        a2, b2 = translate_x + x - x * a0 - y * a1, translate_y + y - x * b0 - y * b1
        zero = tf.zeros_like(turn)
        return tf.stack([a0, a1, a2, b0, b1, b2, zero, zero], 1)


class PixelLayer(BaseImagePreprocessingLayer):
    """Base class of layers that change values of pixels, not their places."""

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Return the boxes."""
        return bounding_boxes

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """Return the masks."""
        return segmentation_masks
