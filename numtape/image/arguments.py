"""Descriptions of arguments and checks of images that the functions of ``tf.image`` share."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ..compat.docstrings import Decorated, describe as describe_function
from ..core.log.as_tensor import as_tensor
from ..core.log.string_tensor import run_as_python
from ..core.values.tensor import Tensor

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, TensorLike
    from ..core.values.dtypes import DType

ARGUMENTS = {
    "a": "Images.",
    "acceptable_fraction": "Must be 1: truncated files are refused.",
    "antialias": "Whether to smooth when the result is smaller.",
    "area_range": "The smallest and largest fraction of the image that the box covers.",
    "aspect_ratio_range": "The smallest and largest ratio of width and height.",
    "b": "Images of the same shape and dtype.",
    "bounding_boxes": "Boxes (batch, boxes, 4) of (top, left, bottom, right), from 0 to 1.",
    "box_indices": "The image of each box.",
    "boxes": "Boxes of (top, left, bottom, right).",
    "centered": "Whether offsets count from the center.",
    "central_fraction": "The fraction of height and width to keep: more than 0, at most 1.",
    "channels": "The number of channels; 0 for those of the file.",
    "chroma_downsampling": "Whether to store colours at half the resolution.",
    "clip_boxes": "Whether to clip the boxes to [0, 1].",
    "colors": "A table (colours, channels); None for ten colours.",
    "compression": "The level of compression from 0 to 9, or -1 for the default.",
    "contents": "The bytes of a file.",
    "contrast_factor": "A float scalar.",
    "crop_size": "The height and width of the crops.",
    "crop_window": "(top, left, height, width).",
    "dct_method": "Not used.",
    "delta": "A number.",
    "density_unit": 'The unit of the densities: "in" or "cm".',
    "dtype": "A dtype.",
    "expand_animations": "Whether the frames of an animation become a first axis.",
    "extrapolation_value": "The value outside the image.",
    "fancy_upscaling": "Must be true.",
    "filter_sigma": "The standard deviation of the window.",
    "filter_size": "The size of the window.",
    "format": '"", "grayscale" or "rgb".',
    "gain": "A factor of the result.",
    "gamma": "The exponent, not negative.",
    "image": "A tensor of shape (..., height, width, channels).",
    "image_size": "The height, width and channels of the image.",
    "images": "A tensor of shape (..., height, width, channels).",
    "img1": "Images.",
    "img2": "Images of the same shape and dtype.",
    "input": "A tensor of shape (batch, height, width, channels).",
    "iou_threshold": "Boxes that overlap a selected one more than this are left out.",
    "jpeg_quality": "The quality from 0 to 100.",
    "k": "The number of quarter turns.",
    "k1": "The constant of the brightness.",
    "k2": "The constant of the contrast.",
    "lower": "The lower bound of the factor.",
    "max_attempts": "The number of draws before the whole image is returned.",
    "max_delta": "The largest change, not negative.",
    "max_jpeg_quality": "The upper bound of the quality, excluded.",
    "max_output_size": "The largest number of boxes to select.",
    "max_output_size_per_class": "The largest number of boxes of each class.",
    "max_total_size": "The largest number of boxes of each image.",
    "max_val": "The difference of the largest and smallest possible value.",
    "method": 'A `ResizeMethod`, or its name, such as "bilinear".',
    "min_jpeg_quality": "The lower bound of the quality.",
    "min_object_covered": "The fraction of some box that the result must contain.",
    "name": "Not used.",
    "noise": '"uniform", "gaussian" or "zero": the values outside the image.',
    "normalized": "Whether offsets are fractions of the image, not pixels.",
    "offset_height": "The first row of the box, or the number of rows of zeros above the image.",
    "offset_width": "The first column of the box, or the number of columns of zeros on the left.",
    "offsets": "The offsets (rows, columns) of each window, (batch, 2).",
    "optimize_size": "Whether to spend time on a smaller file.",
    "output_type": "int32 or int64.",
    "overlap_threshold": "Boxes that overlap a selected one more than this are left out.",
    "overlaps": "The overlap of each pair of boxes, (boxes, boxes).",
    "pad_per_class": "Whether to pad to ``max_output_size_per_class`` for each class, at most "
    "``max_total_size``.",
    "pad_to_max_output_size": "Whether to pad the indices with zeros.",
    "power_factors": "The exponent of each scale.",
    "preserve_aspect_ratio": "Whether to preserve the ratio of height and width: the result is "
    "the largest image that fits in ``size``.",
    "progressive": "Whether to write a progressive file.",
    "quality": "The quality from 0 to 100.",
    "ratio": "A factor by which to shrink: 1, 2, 4 or 8.",
    "return_index_map": "Whether to return a value for each pixel.",
    "saturate": "Whether to clip values to the range of the dtype.",
    "saturation_factor": "The factor of the saturation.",
    "score_threshold": "Boxes with a score of at most this are left out.",
    "scores": "The score of each box.",
    "seed": "The seed: an integer or None, or for stateless functions two integers.",
    "size": "The new height and width.",
    "soft_nms_sigma": "The deviation of soft suppression; 0 for hard suppression.",
    "target_height": "The height of the result.",
    "target_width": "The width of the result.",
    "try_recover_truncated": "Must be false.",
    "upper": "The upper bound of the factor.",
    "use_image_if_no_bounding_boxes": "Whether no boxes mean one box of the whole image.",
    "value": "A tensor.",
    "x_density": "Pixels for each unit, horizontally.",
    "xmp_metadata": "Metadata to store, or an empty string.",
    "y_density": "Pixels for each unit, vertically.",
    "canonicalized_coordinates": "Whether the boxes have the smaller coordinates first.",
    "sorted_input": "Whether the scores are in descending order.",
    "tile_size": "Not used.",
}


def describe(
    returns: str = "A tensor of the same shape and dtype.",
    raises: str = "ValueError: If there are fewer than three axes.",
    **arguments: str,
) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds the sections of a docstring.

    Args:
      returns: The text of the section Returns.
      raises: The lines of the section Raises.
      **arguments: Descriptions instead of those in `ARGUMENTS`.
    """
    lines = "\n  ".join(_wrap(line, "  ") for line in raises.splitlines())
    return describe_function({**ARGUMENTS, **arguments}, _wrap(returns), lines)


def _wrap(text: str, more: str = "") -> str:
    text = text.strip()
    return textwrap.fill(text, 94, initial_indent="  ", subsequent_indent=f"  {more}").lstrip()


def as_image(image: TensorLike, name: str = "image") -> Tensor:
    """Convert to a tensor of at least three axes."""
    x = as_tensor(image)
    if x.ndim < 3:
        raise ValueError(f"'{name}' (shape {x.shape}) must be at least three-dimensional.")
    return x


def as_batch(image: TensorLike, name: str = "images") -> tuple[Tensor, bool]:
    """Convert an image or a batch of images to a batch; return whether it was one image."""
    x = as_tensor(image)
    if x.ndim not in (3, 4):
        raise ValueError(f"'{name}' must have either 3 or 4 dimensions.")
    return (tf.expand_dims(x, 0), True) if x.ndim == 3 else (x, False)


def at_least_float32(x: TensorLike) -> Tensor:
    """Convert integers and halves to float32."""
    tensor = as_tensor(x)
    is_wide = tensor.dtype.is_floating and tensor.dtype.size >= 4
    return tensor if is_wide else tf.cast(tensor, tf.float32)


def limits(dtype: DType) -> tuple[int, int]:
    """Return the smallest and the largest integer of a dtype."""
    info = np.iinfo(dtype.as_numpy_dtype)
    return int(info.min), int(info.max)


def to_size(size: Any) -> tuple[int, int]:
    """Return a height and a width from two integers."""
    sizes = np.asarray(size)
    if sizes.dtype.kind not in "iu":
        raise ValueError("'size' must be a 1-D int32 Tensor")
    if sizes.shape != (2,):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    height, width = sizes.tolist()
    return height, width


def to_array(x: TensorLike, function: str, dtype: DTypeLike | None = None) -> np.ndarray[Any, Any]:
    """Return the values of a tensor for NumPy; a traced call then runs as Python."""
    run_as_python(f"`{function}`")
    return np.asarray(as_tensor(x).numpy(), dtype)
