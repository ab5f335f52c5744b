"""Convert layers, models, losses, metrics and optimizers to JSON-serializable configs, and back.

Start with `serialize_keras_object` and `deserialize_keras_object`.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.values.dtypes import DType
from ...core.values.tensor import Tensor
from .. import constraints, initializers, layers, losses, metrics, models, optimizers, regularizers
from ..layers.base import FUNCTIONAL
from ..registry import (
    config_errors,
    custom_object_scope,
    get_custom_objects,
    get_registered_name,
    get_registered_object,
    supported_arguments,
)

if TYPE_CHECKING:
    from types import ModuleType

    from ..models.model import Model

# The only modules in which built-in classes are looked up; custom classes are registered.
_MODULES: dict[str, Any] = {
    "keras.layers": layers,
    "keras": models,
    "keras.models": models,
    FUNCTIONAL: models,
    "keras.losses": losses,
    "keras.metrics": metrics,
    "keras.optimizers": optimizers,
    "keras.optimizers.schedules": optimizers.schedules,
    "keras.initializers": initializers,
    "keras.regularizers": regularizers,
    "keras.constraints": constraints,
}


def _module_of(cls: type) -> str | None:
    """Return the name of the module that exports a class, or None."""
    for name, module in _MODULES.items():
        if cls.__name__ in module.__all__ and getattr(module, cls.__name__) is cls:
            return FUNCTIONAL if cls is models.Functional else name
    return None


def serialize_keras_object(obj: Any) -> Any:
    """Convert an object to a JSON-serializable config of its class and arguments.

    Args:
      obj: An object with a ``get_config`` method (a layer, model, loss, ...), a function, a
        number, a string, an array, or lists and dicts of them.

    Returns:
      A dict, a list, a number or a string.

    Raises:
      NotImplementedError: If the object has no ``get_config``, or is a lambda.

    Example:
      >>> config = tf.keras.saving.serialize_keras_object(tf.keras.losses.Huber(2.0))
      >>> config["class_name"], config["config"]["delta"]
      ('Huber', 2.0)
    """
    if obj is None or isinstance(obj, str | bool | int | float):
        return obj
    if isinstance(obj, DType):
        return obj.name
    if isinstance(obj, np.generic):
        return obj.item()
    if isinstance(obj, tuple):
        return {"class_name": "__tuple__", "items": [serialize_keras_object(x) for x in obj]}
    if isinstance(obj, list):
        return [serialize_keras_object(x) for x in obj]
    if isinstance(obj, dict):
        return {key: serialize_keras_object(x) for key, x in obj.items()}
    if isinstance(obj, np.ndarray | Tensor):
        array = np.asarray(obj)
        return {
            "class_name": "__numpy__",
            "config": {"value": array.tolist(), "dtype": str(array.dtype)},
        }
    if inspect.isroutine(obj) or inspect.isclass(obj):
        if obj.__name__ == "<lambda>":
            raise NotImplementedError(
                f"{obj!r} has no name, so it cannot be saved: define a function, decorated "
                f"with keras.saving.register_keras_serializable()."
            )
        return {
            "module": "builtins",
            "class_name": "function",
            "config": obj.__name__,
            "registered_name": get_registered_name(obj),
        }
    if not hasattr(obj, "get_config"):
        raise NotImplementedError(
            f"{obj!r} cannot be serialized: its class must define `get_config`."
        )
    cls = type(obj)
    module = _module_of(cls)
    config = obj.get_config()
    result = {
        "module": module or cls.__module__,
        "class_name": cls.__name__,
        "config": serialize_keras_object(_as_lists(config) if module else config),
        "registered_name": None if module else get_registered_name(cls),
    }
    if isinstance(obj, models.Model) and obj._nt_built_for is not None:
        result["build_config"] = serialize_keras_object(_as_tuples(obj._nt_built_for))
    return result


def _as_lists(config: Any) -> Any:
    """Replace tuples by lists, as Keras does in configs."""
    if isinstance(config, dict):
        return {key: _as_lists(x) for key, x in config.items()}
    return [_as_lists(x) for x in config] if isinstance(config, list | tuple) else config


def _as_tuples(shapes: Any) -> Any:
    """Convert shapes, also nested ones, to plain tuples."""
    if isinstance(shapes, dict):
        return {key: _as_tuples(x) for key, x in shapes.items()}
    if isinstance(shapes, tuple) and all(n is None or isinstance(n, int) for n in shapes):
        return tuple(None if n is None else int(n) for n in shapes)
    if isinstance(shapes, list | tuple):
        return type(shapes)(map(_as_tuples, shapes))
    return shapes


def deserialize_keras_object(
    config: Any, custom_objects: dict[str, Any] | None = None, safe_mode: bool = True
) -> Any:
    """Create an object from the result of `serialize_keras_object`. It never executes code.

    Args:
      config: The result of `serialize_keras_object`.
      custom_objects: Classes and functions, by name.
      safe_mode: Must be True.

    Returns:
      A new object.

    Raises:
      TypeError: If a class or function is unknown.
      ValueError: If ``safe_mode`` is False, or a class does not accept its arguments.

    Example:
      >>> config = tf.keras.saving.serialize_keras_object(tf.keras.losses.Huber(2.0))
      >>> tf.keras.saving.deserialize_keras_object(config)
      Huber(name='huber', reduction='sum_over_batch_size', delta=2.0)
    """
    if not safe_mode:
        raise ValueError("safe_mode must be True: numtape's files contain no code.")
    with custom_object_scope(custom_objects or {}), config_errors():
        return _make(config)


def _make(config: Any) -> Any:
    if isinstance(config, list):
        return [_make(x) for x in config]
    if not isinstance(config, dict):
        return config
    kind = config.get("class_name")
    if kind is None:
        return {key: _make(x) for key, x in config.items()}
    if kind == "__tuple__":
        return tuple(_make(x) for x in config["items"])
    if kind == "__numpy__":
        return np.array(config["config"]["value"], config["config"]["dtype"])
    if kind == "function":
        return _name_of(config, config["config"], losses, metrics)
    module = _MODULES.get(str(config.get("module")))
    value = _name_of(config, kind, *([] if module is None else [module]))
    if not inspect.isclass(value) or not hasattr(value, "from_config"):
        raise TypeError(f"{kind!r} is not a class with a `from_config`.")
    try:
        result = value.from_config(supported_arguments(value, _plain(config.get("config") or {})))
    except TypeError as error:
        raise ValueError(
            f"{value.__name__} could not be created from its config: {error}. Its `get_config` "
            f"must return the arguments of its `__init__`, or its `from_config` must accept them."
        ) from error
    if isinstance(result, models.Model) and config.get("build_config") and not result.built:
        result.build(**_make(config["build_config"]))
    return result


def _name_of(config: dict[str, Any], name: str, *modules: ModuleType) -> Any:
    """Look up a class or function: first among registered objects, then in ``modules``."""
    for candidate in (config.get("registered_name"), name):
        result = get_registered_object(str(candidate))
        if result is not None:
            return result
    for module in modules:
        if name in module.__all__:
            return getattr(module, name)
    raise TypeError(
        f"Could not locate class or function '{name}'. Make sure custom classes and functions are "
        f"decorated with `@keras.saving.register_keras_serializable()`, and imported, or given in "
        f"`custom_objects`. Known: {sorted(get_custom_objects())}."
    )


def _plain(config: Any) -> Any:
    """Convert arguments to tuples and arrays; configs of objects stay dicts."""
    if isinstance(config, list):
        return [_plain(x) for x in config]
    if not isinstance(config, dict):
        return config
    if config.get("class_name") == "__tuple__":
        return tuple(_plain(x) for x in config["items"])
    if config.get("class_name") == "__numpy__":
        return _make(config)
    return {key: _plain(x) for key, x in config.items()}


def compile_config(model: Model) -> dict[str, Any]:
    """Return the config of a model's `compile` arguments; {} if it is not compiled."""
    if not model.compiled:
        return {}
    provided = {**model._nt_compile_arguments, "optimizer": model.optimizer}
    return {name: serialize_keras_object(x) for name, x in provided.items()}


def compile_from(model: Model, config: dict[str, Any]) -> None:
    """Compile a model with the result of `compile_config`."""
    if config:
        with config_errors():
            model.compile(**_make(config))
