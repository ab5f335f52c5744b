"""``tf.keras.preprocessing``: older names of functions of `keras.utils`."""

from __future__ import annotations

import typing as _typing

from ...compat.names import getter as _getter
from ..utils.image_directories import image_dataset_from_directory
from ..utils.sequences import timeseries_dataset_from_array
from . import image, sequence

__all__ = [
    "image",
    "image_dataset_from_directory",
    "sequence",
    "timeseries_dataset_from_array",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
