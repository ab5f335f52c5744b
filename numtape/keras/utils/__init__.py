"""``tf.keras.utils``: data preparation, random seeds, and the registry of custom objects."""

from __future__ import annotations

import typing as _typing

from ...compat.names import getter as _getter
from ..backend import clear_session
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

if _typing.TYPE_CHECKING:
    from .feature_space import FeatureSpace
from .sequences import PyDataset, timeseries_dataset_from_array

Sequence = PyDataset
CustomObjectScope = custom_object_scope

__all__ = [
    "CustomObjectScope",
    "FeatureSpace",
    "PyDataset",
    "Sequence",
    "clear_session",
    "custom_object_scope",
    "get_custom_objects",
    "get_registered_name",
    "get_registered_object",
    "normalize",
    "pack_x_y_sample_weight",
    "pad_sequences",
    "register_keras_serializable",
    "set_random_seed",
    "timeseries_dataset_from_array",
    "to_categorical",
    "unpack_x_y_sample_weight",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def _load_lazily(name: str) -> _typing.Any:
    """`FeatureSpace` is imported on first use, because it needs all layers."""
    if name == "FeatureSpace":
        from .feature_space import FeatureSpace

        return FeatureSpace
    return _getter(__name__)(name)


if not _typing.TYPE_CHECKING:
    __getattr__ = _load_lazily
