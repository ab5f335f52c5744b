"""``tf.keras.saving``: save and load models and weights, and convert objects to configs."""

from __future__ import annotations

import sys as _sys
import typing as _typing

from ...compat.names import getter as _getter
from .. import models as _models
from ..registry import (
    ClassRegistry as _ClassRegistry,
    custom_object_scope,
    get_custom_objects,
    get_registered_name,
    get_registered_object,
    register_keras_serializable,
)
from . import objects as _objects
from .cloning import clone_model as _clone_model
from .files import (
    load_model,
    load_weights,
    model_from_json as _model_from_json,
    save_model,
    save_weights,
)
from .objects import (
    compile_config as compile_config,
    compile_from as compile_from,
    deserialize_keras_object,
    serialize_keras_object,
)

CustomObjectScope = custom_object_scope

__all__ = [
    "CustomObjectScope",
    "custom_object_scope",
    "deserialize_keras_object",
    "get_custom_objects",
    "get_registered_name",
    "get_registered_object",
    "load_model",
    "load_weights",
    "register_keras_serializable",
    "save_model",
    "save_weights",
    "serialize_keras_object",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

# This module imports these classes, so it registers itself instead of being imported by them.
_models.Model._nt_saving = _sys.modules[__name__]
_ClassRegistry.saving = _objects
for _function in (load_model, save_model, _clone_model, _model_from_json):
    setattr(_models, _function.__name__, _function)
