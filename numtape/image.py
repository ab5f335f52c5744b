"""``tf.image``."""

from __future__ import annotations

import typing as _typing

from .compat.names import getter as _getter
from .core.ops.blocks import extract_patches
from .core.ops.images import (
    adjust_brightness,
    adjust_contrast,
    central_crop,
    crop_to_bounding_box,
    flip_left_right,
    flip_up_down,
    grayscale_to_rgb,
    pad_to_bounding_box,
    per_image_standardization,
    resize,
    rgb_to_grayscale,
)

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "central_crop",
    "crop_to_bounding_box",
    "extract_patches",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "pad_to_bounding_box",
    "per_image_standardization",
    "resize",
    "rgb_to_grayscale",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
