"""``tf.keras.utils``: data preparation, random seeds, and the registry of custom objects."""

from __future__ import annotations

import typing as _typing

from ...compat.names import getter as _getter
from ..backend import clear_session
from ..layers.image_preprocessing import bounding_boxes
from ..registry import (
    custom_object_scope,
    get_custom_objects,
    get_registered_name,
    get_registered_object,
    register_keras_serializable,
)
from .arrays import (
    normalize,
    pack_x_y_sample_weight,
    pad_sequences,
    set_random_seed,
    to_categorical,
    unpack_x_y_sample_weight,
)
from .image_directories import image_dataset_from_directory
from .images import array_to_img, img_to_array, load_img, save_img
from .sequences import PyDataset, timeseries_dataset_from_array

Sequence = PyDataset
CustomObjectScope = custom_object_scope

__all__ = [
    "CustomObjectScope",
    "PyDataset",
    "Sequence",
    "array_to_img",
    "bounding_boxes",
    "clear_session",
    "custom_object_scope",
    "get_custom_objects",
    "get_registered_name",
    "get_registered_object",
    "image_dataset_from_directory",
    "img_to_array",
    "load_img",
    "normalize",
    "pack_x_y_sample_weight",
    "pad_sequences",
    "register_keras_serializable",
    "save_img",
    "set_random_seed",
    "timeseries_dataset_from_array",
    "to_categorical",
    "unpack_x_y_sample_weight",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
