"""``tf.keras.preprocessing.image``: images as files, Pillow images and arrays."""

from __future__ import annotations

import typing as _typing

from ...compat.names import getter as _getter
from ..utils.images import array_to_img, img_to_array, load_img, save_img, smart_resize

__all__ = [
    "array_to_img",
    "img_to_array",
    "load_img",
    "save_img",
    "smart_resize",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
