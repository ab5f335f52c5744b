"""``tf.keras.utils``: data preparation, random seeds, and the registry of custom objects."""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

from ...compat.names import getter as _getter
from ..backend import clear_session, standardize_dtype
from ..config import (
    disable_interactive_logging,
    enable_interactive_logging,
    is_interactive_logging_enabled,
)
from ..registry import (
    custom_object_scope,
    get_custom_objects,
    get_registered_name,
    get_registered_object,
    register_keras_serializable,
)
from ..symbolic import get_source_inputs, is_keras_tensor
from .arrays import (
    normalize,
    pack_x_y_sample_weight,
    pad_sequences,
    set_random_seed,
    to_categorical,
    unpack_x_y_sample_weight,
)
from .configuration import Config
from .progress_bar import Progbar
from .sequences import PyDataset, split_dataset, timeseries_dataset_from_array

Sequence = PyDataset
CustomObjectScope = custom_object_scope

__all__ = [
    "Config",
    "CustomObjectScope",
    "FeatureSpace",
    "Progbar",
    "PyDataset",
    "Sequence",
    "array_to_img",
    "audio_dataset_from_directory",
    "bounding_boxes",
    "clear_session",
    "custom_object_scope",
    "deserialize_keras_object",
    "disable_interactive_logging",
    "enable_interactive_logging",
    "get_custom_objects",
    "get_file",
    "get_registered_name",
    "get_registered_object",
    "get_source_inputs",
    "image_dataset_from_directory",
    "img_to_array",
    "is_interactive_logging_enabled",
    "is_keras_tensor",
    "load_img",
    "model_to_dot",
    "normalize",
    "pack_x_y_sample_weight",
    "pad_sequences",
    "plot_model",
    "register_keras_serializable",
    "save_img",
    "serialize_keras_object",
    "set_random_seed",
    "split_dataset",
    "standardize_dtype",
    "text_dataset_from_directory",
    "timeseries_dataset_from_array",
    "to_categorical",
    "unpack_x_y_sample_weight",
]


def __dir__() -> list[str]:
    return sorted(__all__)


# Names of modules that are imported when they are first used.
_LAZY = {
    "FeatureSpace": "numtape.keras.utils.feature_space",
    "array_to_img": "numtape.keras.utils.images",
    "audio_dataset_from_directory": "numtape.keras.utils.directories",
    "bounding_boxes": "numtape.keras.layers.image_preprocessing",
    "deserialize_keras_object": "numtape.keras.saving",
    "get_file": "numtape.keras.utils.local_files",
    "image_dataset_from_directory": "numtape.keras.utils.image_directories",
    "img_to_array": "numtape.keras.utils.images",
    "load_img": "numtape.keras.utils.images",
    "model_to_dot": "numtape.keras.utils.model_plot",
    "plot_model": "numtape.keras.utils.model_plot",
    "save_img": "numtape.keras.utils.images",
    "serialize_keras_object": "numtape.keras.saving",
    "text_dataset_from_directory": "numtape.keras.utils.directories",
}

if _typing.TYPE_CHECKING:
    from ..layers.image_preprocessing import bounding_boxes
    from ..saving import deserialize_keras_object, serialize_keras_object
    from .directories import audio_dataset_from_directory, text_dataset_from_directory
    from .feature_space import FeatureSpace
    from .image_directories import image_dataset_from_directory
    from .images import array_to_img, img_to_array, load_img, save_img
    from .local_files import get_file
    from .model_plot import model_to_dot, plot_model


def _load_lazily(name: str) -> _typing.Any:
    if name in _LAZY:
        return getattr(_import_module(_LAZY[name]), name)
    return _getter(__name__)(name)


if not _typing.TYPE_CHECKING:
    __getattr__ = _load_lazily
