"""Layers that move pixels: resizing, crops, flips, rotations, zooms and other transformations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numtape as tf

from ....core.log.as_tensor import as_tensor
from ....core.values.tensor import Tensor
from ...registry import Decorated
from ...symbolic import KerasTensor
from ..base import document
from .base import (
    ARGUMENTS,
    FILL_MODES,
    INTERPOLATIONS,
    RAISES,
    BaseImagePreprocessingLayer,
    Interval,
    check_choice,
    column,
    image_ops,
    parse_interval,
)
from .bounding_boxes import (
    Boxes,
    affine_transform,
    clip_columns,
    clip_to_image_size,
    convert_format,
)


def _document(**own: str) -> Callable[[Decorated], Decorated]:
    return document(RAISES, **{**ARGUMENTS, **own})


# --- New sizes -----------------------------------------------------------------------------------


class _SizedLayer(BaseImagePreprocessingLayer):
    """Base class of layers whose outputs have a given height and width."""

    _nt_use_base_factor = False

    def __init__(self, height: int, width: int, data_format: str | None, **kwargs: Any) -> None:
        super().__init__(data_format=data_format, **kwargs)
        self._nt_set_arguments(height=height, width=width)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the images with the new height and width."""
        if len(input_shape) not in (3, 4) or isinstance(input_shape[0], list | tuple):
            raise ValueError(
                "`input_shape` must be a non-nested tuple or list of rank-1 with size 3 "
                "(unbatched) or 4 (batched). "
            )
        shape = list(input_shape)
        shape[self.height_axis], shape[self.width_axis] = self.height, self.width
        return tuple(shape)

    def _nt_take(self, images: Tensor, top: Any, left: Any) -> Tensor:
        """Take a window of the layer's size, whose corner may be a tensor."""
        for axis, start, size in (
            (self.height_axis, top, self.height),
            (self.width_axis, left, self.width),
        ):
            axis += images.ndim
            if isinstance(start, int):
                index = [slice(None)] * images.ndim
                index[axis] = slice(start, start + size)
                images = images[tuple(index)]
            else:
                images = tf.gather(images, start + tf.range(size), axis=axis)
        return images

    def _nt_crop_of_ratio(self, height: int, width: int) -> tuple[int, int, int, int]:
        """Return (top, left, height, width) of the largest crop of the layer's aspect ratio."""
        rows = max(min(height, int(float(width * self.height) / self.width)), 1)
        columns = max(min(width, int(float(height * self.width) / self.height)), 1)
        return int((height - rows) / 2), int((width - columns) / 2), rows, columns

    def _nt_resize(self, images: Tensor, interpolation: str, **options: Any) -> Tensor:
        resized: Tensor = image_ops().resize(
            images,
            (self.height, self.width),
            interpolation=interpolation,
            data_format=self.data_format,
            **options,
        )
        return resized


@_document(
    height="The new height.",
    width="The new width.",
    interpolation="``nearest``, ``bilinear``, ``bicubic``, ``lanczos3`` or ``lanczos5``.",
    crop_to_aspect_ratio="Whether to crop the images, so that their aspect ratio stays.",
    pad_to_aspect_ratio="Whether to pad the images, so that their aspect ratio stays.",
    fill_mode="Must be ``constant``.",
    fill_value="The value of padding.",
    antialias="Whether to smooth when the result is smaller.",
)
class Resizing(_SizedLayer):
    """Resizes images.

    >>> tf.keras.layers.Resizing(1, 4)(tf.constant([[[[0.0], [4.0]]]])).numpy().ravel()
    array([0., 1., 3., 4.], dtype=float32)
    """

    def __init__(
        self,
        height: int,
        width: int,
        interpolation: str = "bilinear",
        crop_to_aspect_ratio: bool = False,
        pad_to_aspect_ratio: bool = False,
        fill_mode: str = "constant",
        fill_value: float = 0.0,
        antialias: bool = False,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(height, width, data_format, **kwargs)
        self._nt_set_arguments(
            interpolation=interpolation,
            crop_to_aspect_ratio=crop_to_aspect_ratio,
            pad_to_aspect_ratio=pad_to_aspect_ratio,
            fill_mode=fill_mode,
            fill_value=fill_value,
            antialias=bool(antialias),
        )

    def compute_output_spec(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Return symbolic outputs, which have the dtype of the inputs."""
        if isinstance(data, dict):
            return super().compute_output_spec(data, *args, **kwargs)
        return KerasTensor(self.compute_output_shape(data.shape), data.dtype)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Return the height and width of the inputs."""
        return self._nt_sizes(self._nt_shape(data))

    def _nt_transform_images(self, images: Tensor, transformation: Any, interpolation: str) -> Any:
        return self._nt_resize(
            images,
            interpolation,
            antialias=self.antialias,
            crop_to_aspect_ratio=self.crop_to_aspect_ratio,
            pad_to_aspect_ratio=self.pad_to_aspect_ratio,
            fill_mode=self.fill_mode,
            fill_value=self.fill_value,
        )

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Resize images."""
        return self._nt_transform_images(as_tensor(images), transformation, self.interpolation)

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Resize masks by the nearest pixels."""
        return self._nt_transform_images(as_tensor(segmentation_masks), transformation, "nearest")

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Scale the boxes; boxes of zeros or of -1 become zeros."""
        height, width = transformation
        boxes = bounding_boxes["boxes"]
        is_padding = tf.logical_or(tf.reduce_all(boxes == -1, -1), tf.reduce_all(boxes == 0, -1))
        result = convert_format(bounding_boxes, self.bounding_box_format, "xyxy", height, width)
        x_scale, y_scale = self.width / width, self.height / height
        x_move, y_move = 0.0, 0.0
        if self.pad_to_aspect_ratio:
            x_scale = y_scale = min(x_scale, y_scale)
            x_move = (self.width - width * x_scale) // 2
            y_move = (self.height - height * y_scale) // 2
        elif self.crop_to_aspect_ratio:
            x_scale = y_scale = max(x_scale, y_scale)
            x_move = -((width * x_scale - self.width) // 2)
            y_move = -((height * y_scale - self.height) // 2)
        scale, move = tf.constant([x_scale, y_scale] * 2), tf.constant([x_move, y_move] * 2)
        result["boxes"] = result["boxes"] * scale + move
        result = clip_to_image_size(result, self.height, self.width)
        boxes = result["boxes"]
        result["boxes"] = tf.where(is_padding[..., None], tf.zeros_like(boxes), boxes)
        converted: Boxes = convert_format(
            result, "xyxy", self.bounding_box_format, self.height, self.width
        )
        return converted


@_document(height="The new height.", width="The new width.")
class CenterCrop(_SizedLayer):
    """Crops the center of images; smaller images are cropped to the aspect ratio and resized.

    >>> tf.keras.layers.CenterCrop(1, 1)(tf.constant([[[1.0], [2.0], [3.0]]])).numpy().ravel()
    array([2.], dtype=float32)
    """

    def __init__(
        self, height: int, width: int, data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(height, width, data_format, **kwargs)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Return the shape of the inputs."""
        return {"input_shape": self._nt_shape(data)}

    def _nt_center_crop(self, images: Tensor, interpolation: str) -> Tensor:
        height, width = (int(n) for n in self._nt_sizes(images.shape))
        rows, columns = height - self.height, width - self.width
        if rows >= 0 and columns >= 0:
            return self._nt_take(images, rows // 2, columns // 2)
        return self._nt_resize(images, interpolation, crop_to_aspect_ratio=True)

    def transform_images(
        self, images: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Crop images."""
        return self._nt_center_crop(tf.cast(images, self.compute_dtype), "bilinear")

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any = None, training: bool = True
    ) -> Any:
        """Crop masks."""
        return self._nt_center_crop(as_tensor(segmentation_masks), "nearest")

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Crop boxes."""
        height, width = self._nt_sizes(transformation["input_shape"])
        result = convert_format(bounding_boxes, self.bounding_box_format, "xyxy", height, width)
        rows, columns = height - self.height, width - self.width
        if rows >= 0 and columns >= 0:
            top, left, height, width = rows // 2, columns // 2, self.height, self.width
        else:
            top, left, height, width = self._nt_crop_of_ratio(height, width)
        boxes = clip_columns(result["boxes"], left, top, left + width, top + height)
        scale = [self.width / width, self.height / height] * 2
        result["boxes"] = boxes * tf.constant(scale)
        result = clip_to_image_size(result, self.height, self.width)
        converted: Boxes = convert_format(
            result, "xyxy", self.bounding_box_format, self.height, self.width
        )
        return converted


@_document(height="The new height.", width="The new width.")
class RandomCrop(_SizedLayer):
    """Crops images at a random place in training, and otherwise returns them.

    A batch is cropped at one place. Smaller images are cropped to the aspect ratio and resized.

    >>> layer = tf.keras.layers.RandomCrop(2, 2)
    >>> layer(tf.ones((1, 5, 5, 1)), training=True).shape
    TensorShape([1, 2, 2, 1])
    """

    def __init__(
        self,
        height: int,
        width: int,
        seed: int | None = None,
        data_format: str | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(height, width, data_format, name=name, **kwargs)
        self._nt_set_seed(seed)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the first row and column."""
        height, width = self._nt_sizes(self._nt_shape(data))
        if training and height > self.height and width > self.width:
            spans = (height - self.height + 1, width - self.width + 1)
            return tuple(tf.cast(self._nt_uniform((), (0, n), seed), tf.int32) for n in spans)
        return self._nt_crop_of_ratio(height, width)[:2]

    def _nt_crop(self, images: Tensor, transformation: Any, interpolation: str) -> Tensor:
        top, left = transformation
        height, width = self._nt_sizes(images.shape)
        if not isinstance(top, int) and not (height > self.height and width > self.width):
            top, left = (int(n) for n in (top, left))
        images = self._nt_take(images, top, left)
        if self._nt_sizes(tuple(images.shape)) != (self.height, self.width):
            images = self._nt_resize(images, interpolation)
        return images

    def transform_images(self, images: Any, transformation: Any, training: bool = True) -> Any:
        """Crop images."""
        x = as_tensor(images)
        if not training:
            return x
        x = self._nt_crop(tf.cast(x, self.compute_dtype), transformation, "bilinear")
        return tf.cast(x, self.compute_dtype)

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """Crop masks."""
        masks = as_tensor(segmentation_masks)
        return self._nt_crop(masks, transformation, "nearest") if training else masks

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Move the boxes. As in Keras, the row is subtracted from the first number of ``xyxy``."""
        if not training:
            return bounding_boxes
        sizes = (self.height, self.width)
        boxes = convert_format(bounding_boxes["boxes"], self.bounding_box_format, "xyxy", *sizes)
        starts = tf.cast(tf.stack([*transformation] * 2), boxes.dtype)
        boxes = tf.maximum(boxes - starts, 0)
        boxes = convert_format(boxes, "xyxy", self.bounding_box_format, *sizes)
        return {"boxes": boxes, "labels": bounding_boxes["labels"]}


# --- Flips ---------------------------------------------------------------------------------------

_MODES = ("horizontal", "vertical", "horizontal_and_vertical")


@_document(mode="``horizontal``, ``vertical`` or ``horizontal_and_vertical``.")
class RandomFlip(BaseImagePreprocessingLayer):
    """Flips images at random, in training.

    >>> x = tf.keras.layers.RandomFlip("horizontal")(tf.constant([[[1.0], [2.0]]]), training=True)
    >>> sorted(x.numpy().ravel().tolist())
    [1.0, 2.0]
    """

    _nt_use_base_factor = False

    def __init__(
        self,
        mode: str = "horizontal_and_vertical",
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_format=data_format, **kwargs)
        if mode not in _MODES:
            raise ValueError(f"Unknown `mode`: must be one of {_MODES}. Received: mode={mode!r}")
        self._nt_set_arguments(mode=mode)
        self._nt_set_seed(seed)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw which images are flipped."""
        if not training:
            return None
        shape = self._nt_shape(data)
        sizes = (shape[0], 1, 1, 1) if len(shape) == 4 else (1, 1, 1)
        return {"flips": self._nt_uniform(sizes, seed=seed) <= 0.5, "input_shape": shape}

    def _nt_flip(self, images: Tensor, transformation: Any) -> Tensor:
        if transformation is None:
            return images
        axes = []
        if "horizontal" in self.mode:
            axes.append(self.width_axis)
        if "vertical" in self.mode:
            axes.append(self.height_axis)
        return tf.where(transformation["flips"], tf.reverse(images, axes), images)

    def transform_images(self, images: Any, transformation: Any, training: bool = True) -> Any:
        """Flip images."""
        x = tf.cast(images, self.compute_dtype)
        return self._nt_flip(x, transformation) if training else x

    def transform_segmentation_masks(
        self, segmentation_masks: Any, transformation: Any, training: bool = True
    ) -> Any:
        """Flip masks, which keep their dtype."""
        masks = as_tensor(segmentation_masks)
        return self._nt_flip(masks, transformation) if training else masks

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Flip boxes."""
        if not training:
            return bounding_boxes
        sizes = self._nt_sizes(transformation["input_shape"])
        result = convert_format(bounding_boxes, self.bounding_box_format, "rel_xyxy", *sizes)
        boxes = result["boxes"]
        flips = tf.squeeze(transformation["flips"], -1)
        a, b, c, d = (boxes[..., k] for k in range(4))
        if "horizontal" in self.mode:
            a, c = 1 - c, 1 - a
        if "vertical" in self.mode:
            b, d = 1 - d, 1 - b
        result["boxes"] = tf.where(flips, tf.stack([a, b, c, d], -1), boxes)
        result = clip_to_image_size(result, *sizes, bounding_box_format="xyxy")
        converted: Boxes = convert_format(result, "rel_xyxy", self.bounding_box_format, *sizes)
        return converted


# --- Transformations -----------------------------------------------------------------------------


class _TransformLayer(BaseImagePreprocessingLayer):
    """Base class of layers that apply a projective transformation of eight numbers."""

    _nt_use_base_factor = False

    def __init__(
        self,
        fill_mode: str,
        interpolation: str,
        fill_value: float,
        seed: int | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice("fill_mode", fill_mode, FILL_MODES)
        check_choice("interpolation", interpolation, INTERPOLATIONS)
        self._nt_set_arguments(
            fill_mode=fill_mode, interpolation=interpolation, fill_value=fill_value
        )
        self._nt_set_seed(seed)

    def _nt_parse_strictly(self, value: Any, name: str, bounds: Interval, text: str) -> Interval:
        message = f"The `{name}` argument should be a number (or a list of two numbers) in {text}. "
        return parse_interval(value, bounds, message, name, True)

    def _nt_matrix(self, transformation: Any, shape: Any) -> Tensor:
        """Return the numbers of the transformation of each image."""
        raise NotImplementedError

    def _nt_transform_images(self, images: Tensor, transformation: Any, interpolation: str) -> Any:
        if transformation is None:
            return images
        return image_ops().affine_transform(
            images,
            self._nt_matrix(transformation, images.shape),
            interpolation=interpolation,
            fill_mode=self.fill_mode,
            fill_value=self.fill_value,
            data_format=self.data_format,
        )


def _scale_and_move(x_scale: Tensor, y_scale: Tensor, x_move: Tensor, y_move: Tensor) -> Tensor:
    """Return eight numbers for each scale and translation, all (batch, 1)."""
    zero = tf.zeros_like(x_scale)
    return tf.concat([x_scale, zero, x_move, zero, y_scale, y_move, zero, zero], 1)


@_document(factor="A fraction of a full turn, or two bounds, from -1 to 1.")
class RandomRotation(_TransformLayer):
    """Rotates images at random, in training.

    >>> layer = tf.keras.layers.RandomRotation((0.5, 0.5))
    >>> layer(tf.constant([[[1.0], [2.0]]]), training=True).numpy().round(3).ravel()
    array([2., 1.], dtype=float32)
    """

    def __init__(
        self,
        factor: Any,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            fill_mode, interpolation, fill_value, seed, data_format=data_format, **kwargs
        )
        self._nt_set_factor(factor)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the angles, and return the numbers of the rotations."""
        if not training:
            return None
        shape, size = self._nt_shape(data), self._nt_batch_size(data)
        height, width = self._nt_sizes(shape)
        lower, upper = self.factor
        angle = self._nt_uniform((size,), (lower * 360.0, upper * 360.0), seed)
        matrix = self._nt_compute_affine_matrix(0.5, 0.5, angle, 0, 0, 1, 0.0, 0.0, height, width)
        return {
            "angle": angle,
            "rotation_matrix": tf.squeeze(matrix, 0) if len(shape) == 3 else matrix,
            "image_height": height,
            "image_width": width,
            "batch_size": size,
        }

    def _nt_matrix(self, transformation: Any, shape: Any) -> Tensor:
        matrix: Tensor = transformation["rotation_matrix"]
        return matrix

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Rotate boxes, which must be ``xyxy``; the results contain the rotated boxes."""
        if not training:
            return bounding_boxes
        sizes = (transformation["image_height"], transformation["image_width"])
        zero = tf.zeros([transformation["batch_size"]])
        boxes = affine_transform(
            bounding_boxes["boxes"],
            transformation["angle"],
            *(zero, zero, tf.ones_like(zero), zero, zero),
            *sizes,
        )
        result = clip_to_image_size({**bounding_boxes, "boxes": boxes}, *sizes)
        converted: Boxes = convert_format(result, "xyxy", self.bounding_box_format, *sizes)
        return converted


@_document(
    height_factor="A fraction by which to zoom out (positive) or in, or two bounds, from -1 to 1.",
    width_factor="The same for the width; None for that of the height.",
)
class RandomZoom(_TransformLayer):
    """Zooms images at random, in training.

    >>> layer = tf.keras.layers.RandomZoom((0.0, 0.0))
    >>> layer(tf.constant([[[1.0], [2.0]]]), training=True).numpy().ravel()
    array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any = None,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            fill_mode, interpolation, fill_value, seed, data_format=data_format, **kwargs
        )
        self._nt_set_arguments(height_factor=height_factor, width_factor=width_factor)
        self._nt_height = self._nt_parse_factor(height_factor, "height_factor")
        self._nt_width = (
            None if width_factor is None else self._nt_parse_factor(width_factor, "width_factor")
        )

    def _nt_parse_factor(self, value: Any, name: str) -> Interval:
        text = "the range (-1.0, 1.0]"
        lower, upper = self._nt_parse_strictly(value, name, (-1.0, 1.0), text)
        if isinstance(value, tuple | list) and lower <= -1:
            raise ValueError(f"The `{name}` argument should be in {text}. Received: {value}")
        return lower, upper

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the zooms."""
        if not training:
            return None
        shape = self._nt_shape(data)
        sizes = (self._nt_batch_size(data), 1)
        height = self._nt_uniform(sizes, [1.0 + n for n in self._nt_height], seed)
        width = height
        if self._nt_width is not None:
            width = self._nt_uniform(sizes, [1.0 + n for n in self._nt_width], seed)
        return {"height_zoom": height, "width_zoom": width, "input_shape": shape}

    def _nt_matrix(self, transformation: Any, shape: Any) -> Tensor:
        x_zoom = tf.cast(transformation["width_zoom"], tf.float32)
        y_zoom = tf.cast(transformation["height_zoom"], tf.float32)
        height, width = (int(n) for n in self._nt_sizes(shape))
        x_move, y_move = (width - 1.0) / 2.0 * (1.0 - x_zoom), (height - 1.0) / 2.0 * (1.0 - y_zoom)
        return _scale_and_move(x_zoom, y_zoom, x_move, y_move)

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Zoom boxes."""
        if not training:
            return bounding_boxes
        height, width = self._nt_sizes(transformation["input_shape"])
        result = convert_format(bounding_boxes, self.bounding_box_format, "xyxy", height, width)
        matrix = self._nt_matrix(transformation, transformation["input_shape"])
        x_scale, left, y_scale, top = (matrix[:, k, None, None] for k in (0, 2, 4, 5))
        right, bottom = left + x_scale * width, top + y_scale * height
        boxes = clip_columns(result["boxes"], left, top, right, bottom)
        new_sizes = (bottom - top, right - left)
        result["boxes"] = convert_format(boxes, "xyxy", "rel_xyxy", *new_sizes)
        result = clip_to_image_size(result, bounding_box_format="rel_xyxy")
        converted: Boxes = convert_format(
            result, "rel_xyxy", self.bounding_box_format, height, width
        )
        return converted


def _move_boxes(boxes: Tensor, x_move: Tensor, y_move: Tensor) -> Tensor:
    """Subtract moves (batch, 1) from boxes."""
    moves = tf.concat([x_move, y_move, x_move, y_move], 1)
    return boxes - (moves[:, None, :] if boxes.ndim == 3 else moves)


@_document(
    height_factor="A fraction of the height by which to move down, or two bounds, from -1 to 1.",
    width_factor="A fraction of the width by which to move right, or two bounds, from -1 to 1.",
)
class RandomTranslation(_TransformLayer):
    """Moves images at random, in training.

    >>> layer = tf.keras.layers.RandomTranslation((0.0, 0.0), (0.5, 0.5), "constant")
    >>> layer(tf.constant([[[1.0], [2.0]]]), training=True).numpy().ravel()
    array([0., 1.], dtype=float32)
    """

    def __init__(
        self,
        height_factor: Any,
        width_factor: Any,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            fill_mode, interpolation, fill_value, seed, data_format=data_format, **kwargs
        )
        self._nt_set_arguments(height_factor=height_factor, width_factor=width_factor)
        self._nt_height, self._nt_width = (
            self._nt_parse_strictly(value, name, (-1.0, 1.0), "the range [-1.0, 1.0]")
            for name, value in (("height_factor", height_factor), ("width_factor", width_factor))
        )

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the translations (x, y) in pixels."""
        if not training:
            return None
        shape = self._nt_shape(data)
        height, width = self._nt_sizes(shape)
        sizes = (self._nt_batch_size(data), 1)
        down = self._nt_uniform(sizes, self._nt_height, seed) * height
        right = self._nt_uniform(sizes, self._nt_width, seed) * width
        return {"translations": tf.concat([right, down], 1), "input_shape": shape}

    def _nt_matrix(self, transformation: Any, shape: Any) -> Tensor:
        moves = -tf.cast(transformation["translations"], tf.float32)
        one = tf.ones_like(moves[:, 0:1])
        return _scale_and_move(one, one, moves[:, 0:1], moves[:, 1:])

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Move boxes."""
        if not training:
            return bounding_boxes
        sizes = self._nt_sizes(transformation["input_shape"])
        result = convert_format(bounding_boxes, self.bounding_box_format, "xyxy", *sizes)
        moves = -tf.cast(transformation["translations"], tf.float32)
        result["boxes"] = _move_boxes(result["boxes"], moves[:, 0:1], moves[:, 1:])
        result = clip_to_image_size(result, *sizes)
        converted: Boxes = convert_format(result, "xyxy", self.bounding_box_format, *sizes)
        return converted


@_document(
    x_factor="The horizontal shear from 0 to 1, or two bounds.",
    y_factor="The vertical shear from 0 to 1, or two bounds.",
)
class RandomShear(_TransformLayer):
    """Shears images at random, to either side, in training.

    >>> layer = tf.keras.layers.RandomShear()
    >>> layer(tf.constant([[[1.0], [2.0]]]), training=True).numpy().ravel()
    array([1., 2.], dtype=float32)
    """

    _nt_factor_bounds = (0, 1)

    def __init__(
        self,
        x_factor: Any = 0.0,
        y_factor: Any = 0.0,
        interpolation: str = "bilinear",
        fill_mode: str = "reflect",
        fill_value: float = 0.0,
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            fill_mode, interpolation, fill_value, seed, data_format=data_format, **kwargs
        )
        self._nt_set_arguments(
            x_factor=self._nt_parse_factor(x_factor, "x_factor"),
            y_factor=self._nt_parse_factor(y_factor, "y_factor"),
        )

    def _nt_parse_factor(self, value: Any, name: str) -> Interval:
        lower, upper = self._nt_parse_strictly(value, name, (0.0, 1.0), "the range [0, 1.0]")
        return (lower, upper) if isinstance(value, tuple | list) else (-upper, upper)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Create a layer from its configuration."""
        config = dict(config)
        for name in ("x_factor", "y_factor"):
            value = config.get(name)
            if isinstance(value, tuple | list) and value[0] == -value[1]:
                config[name] = value[1]
        return super().from_config(config)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the shears (x, y)."""
        if not training:
            return None
        shape, dtype = self._nt_shape(data), self.compute_dtype
        sizes = (self._nt_batch_size(data), 1)
        sign = tf.where(self._nt_uniform(sizes, seed=seed, dtype=dtype) > 0.5, -1.0, 1.0)
        down = self._nt_uniform(sizes, self.y_factor, seed, dtype)
        right = self._nt_uniform(sizes, self.x_factor, seed, dtype)
        shears = tf.concat([right, down], 1) * tf.cast(sign, dtype)
        return {"shear_factor": shears, "input_shape": shape}

    def _nt_matrix(self, transformation: Any, shape: Any) -> Tensor:
        shears = transformation["shear_factor"]
        right, down = shears[:, 0], shears[:, 1]
        one, zero = tf.ones_like(right), tf.zeros_like(right)
        return tf.stack([one, right, zero, down, one, zero, zero, zero], 1)

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Shear boxes; the results contain the sheared boxes."""
        if not training:
            return bounding_boxes
        sizes = self._nt_sizes(transformation["input_shape"])
        dtype = self.compute_dtype
        result = convert_format(bounding_boxes, self.bounding_box_format, "rel_xyxy", *sizes, dtype)
        shears = tf.cast(transformation["shear_factor"], dtype)
        right, down = shears[:, 0:1], shears[:, 1:]
        a, b, c, d = (result["boxes"][..., k] for k in range(4))
        a, c = (
            tf.where(right < 0, a - right * b, a - right * d),
            tf.where(right < 0, c - right * d, c - right * b),
        )
        b, d = (
            tf.where(down > 0, b - down * c, b - down * a),
            tf.where(down > 0, d - down * a, d - down * c),
        )
        result["boxes"] = tf.stack([a, b, c, d], -1)
        result = clip_to_image_size(result, *sizes, bounding_box_format="rel_xyxy")
        converted: Boxes = convert_format(
            result, "rel_xyxy", self.bounding_box_format, *sizes, dtype
        )
        return converted


@_document(
    factor="The probability of a change from 0 to 1, or bounds of it.",
    scale="How far corners move, from 0 to 1.",
    fill_value="The value outside.",
)
class RandomPerspective(BaseImagePreprocessingLayer):
    """Moves the corners of images at random, in training.

    >>> layer = tf.keras.layers.RandomPerspective(scale=0.0)
    >>> layer(tf.ones((1, 2, 2, 1)), training=True).numpy().round(3).ravel()
    array([1., 1., 1., 1.], dtype=float32)
    """

    _nt_use_base_factor = False
    _nt_factor_bounds = (0, 1)

    def __init__(
        self,
        factor: Any = 1.0,
        scale: float = 1.0,
        interpolation: str = "bilinear",
        fill_value: float = 0.0,
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_format=data_format, **kwargs)
        self._nt_set_factor(factor)
        if not 0 <= scale <= 1:
            raise ValueError(
                f"The `scale` argument should be a number in the range [0,1]. Received: "
                f"scale={scale}"
            )
        check_choice("interpolation", interpolation, INTERPOLATIONS)
        self._nt_set_arguments(scale=scale, interpolation=interpolation, fill_value=fill_value)
        self._nt_set_seed(seed)

    def get_random_transformation(self, data: Any, training: bool = True, seed: Any = None) -> Any:
        """Draw the corners after the transformation, and which images are transformed."""
        if not training:
            return None
        shape, size = self._nt_shape(data), self._nt_batch_size(data)
        height, width = self._nt_sizes(shape)
        probability = self._nt_uniform((size,), self.factor, seed)
        chosen = self._nt_uniform((size,), seed=seed) < probability
        interval = (-0.5 * self.scale, 0.5 * self.scale)
        moves = self._nt_uniform((size, 4, 2), interval, seed, self.compute_dtype)
        right, bottom = width - 1.0, height - 1.0
        corners = [[0.0, 0.0], [right, 0.0], [0.0, bottom], [right, bottom]]
        start = tf.tile(tf.constant([corners], self.compute_dtype), [size, 1, 1])
        end = tf.where(chosen[:, None, None], start + start * moves, start)
        return {
            "apply_perspective": chosen,
            "start_points": start,
            "end_points": end,
            "input_shape": shape,
        }

    def _nt_transform_images(self, images: Tensor, transformation: Any, interpolation: str) -> Any:
        if transformation is None:
            return images
        moved = image_ops().perspective_transform(
            images,
            transformation["start_points"],
            transformation["end_points"],
            interpolation=interpolation,
            fill_value=self.fill_value,
            data_format=self.data_format,
        )
        return tf.where(column(transformation["apply_perspective"], images.ndim), moved, images)

    def transform_bounding_boxes(
        self, bounding_boxes: Boxes, transformation: Any, training: bool = True
    ) -> Boxes:
        """Transform boxes; the results, in ``xyxy``, contain the transformed boxes."""
        if not training or transformation is None:
            return bounding_boxes
        sizes = self._nt_sizes(transformation["input_shape"])
        result = convert_format(bounding_boxes, self.bounding_box_format, "xyxy", *sizes)
        boxes = result["boxes"]
        # The eight numbers map results to images: boxes need the inverse.
        numbers = image_ops().homography(
            tf.cast(transformation["start_points"], boxes.dtype),
            tf.cast(transformation["end_points"], boxes.dtype),
        )
        matrix = tf.reshape(tf.concat([numbers, tf.ones_like(numbers[:, :1])], 1), [-1, 3, 3])
        a, b, c, d = (boxes[..., k] for k in range(4))
        xs, ys = tf.stack([a, c, a, c], -1), tf.stack([b, d, d, b], -1)
        points = tf.stack([xs, ys, tf.ones_like(xs)], -1)
        moved = tf.einsum("bij,bnkj->bnki", tf.linalg.inv(matrix), points)
        places = moved[..., :2] / moved[..., 2:]
        around = tf.concat([tf.reduce_min(places, 2), tf.reduce_max(places, 2)], -1)
        chosen = transformation["apply_perspective"][:, None, None]
        result["boxes"] = tf.where(chosen, around, boxes)
        clipped: Boxes = clip_to_image_size(result, *sizes)
        return clipped
