"""Convert layers, models, losses, metrics and optimizers to JSON-serializable configs, and back.

Start with `serialize_keras_object` and `deserialize_keras_object`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.log.as_tensor import as_tensor
from ...core.values.dtypes import DType, repr_of
from ...core.values.spec import TensorShape
from ...core.values.tensor import Tensor
from .. import (
    activations,
    constraints,
    dtype_policies,
    initializers,
    layers,
    losses,
    metrics,
    models,
    optimizers,
    regularizers,
)
from ..layer import Layer
from ..layers.base import FUNCTIONAL, add_layer_entries
from ..registry import (
    config_errors,
    create_once,
    custom_object_scope,
    get_custom_objects,
    get_registered_name,
    get_registered_object,
    note_written,
    supported_arguments,
)
from ..symbolic import KerasTensor

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


_POLICIES = ("keras", "keras.dtype_policies")


# Keras's modules of classes that are imported when a file has them.
_LAZY_MODULES = {
    "keras.utils": "numtape.keras.utils.feature_space",
    "keras.src.layers.preprocessing.feature_space": "numtape.keras.utils.feature_space",
}


def _module_of(cls: type) -> str | None:
    """Return the name of the module that exports a class, or None."""
    if cls.__module__ in _LAZY_MODULES.values():
        inner, outer = reversed(_LAZY_MODULES)
        return outer if cls.__name__ == "FeatureSpace" else inner
    for name, module in _MODULES.items():
        if cls.__name__ in module.__all__ and getattr(module, cls.__name__) is cls:
            return FUNCTIONAL if cls is models.Functional else name
    return None


def serialize_keras_object(obj: Any) -> Any:
    """Convert an object to a JSON-serializable config of its class and arguments, as Keras does.

    Args:
      obj: An object with a ``get_config`` method (a layer, model, loss, ...), a function, a
        number, a string, an array, or lists and dicts of them. Tuples become lists.

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
    if isinstance(obj, TensorShape):
        return None if obj.rank is None else obj.as_list()
    if isinstance(obj, list | tuple):
        return [serialize_keras_object(x) for x in obj]
    if isinstance(obj, dict):
        return {key: serialize_keras_object(x) for key, x in obj.items()}
    if isinstance(obj, bytes):
        return _special("bytes", value=obj.decode())
    if isinstance(obj, slice):
        parts = {name: getattr(obj, name) for name in ("start", "stop", "step")}
        return _special("slice", **{k: serialize_keras_object(x) for k, x in parts.items()})
    if obj is Ellipsis:
        return _special("ellipsis")
    if isinstance(obj, Tensor | np.ndarray):
        array = np.asarray(obj)
        kind = "tensor" if isinstance(obj, Tensor) else "numpy"
        return _special(kind, value=array.tolist(), dtype=str(array.dtype))
    if isinstance(obj, KerasTensor):
        node = obj._node
        history = None if node is None else [node.operation.name, 0, 0]
        shape = list(obj.shape)
        return _special("keras_tensor", shape=shape, dtype=obj.dtype, keras_history=history)
    if inspect.isroutine(obj) or inspect.isclass(obj):
        if obj.__name__ == "<lambda>":
            raise NotImplementedError(
                f"{obj!r} has no name, so it cannot be saved: define a function, decorated "
                f"with keras.saving.register_keras_serializable()."
            )
        name = get_registered_name(obj)
        return {
            "module": "builtins",
            "class_name": "function",
            "config": name,
            "registered_name": name,
        }
    if not hasattr(obj, "get_config"):
        raise NotImplementedError(
            f"{obj!r} cannot be serialized: its class must define `get_config`."
        )
    cls = type(obj)
    module = _module_of(cls)
    config = obj.get_config()
    if not isinstance(config, dict):
        raise TypeError(
            f"The `get_config()` method of {obj} should return a dict. It returned: {config}"
        )
    result = {
        "module": module or cls.__module__,
        "class_name": cls.__name__,
        "config": serialize_keras_object(config),
        "registered_name": None if module else get_registered_name(cls),
    }
    if isinstance(obj, Layer):
        add_layer_entries(obj, result)
    elif hasattr(obj, "get_build_config"):
        result["build_config"] = obj.get_build_config()
    if isinstance(obj, models.Model) and obj.compiled:
        result["compile_config"] = serialize_keras_object(obj.get_compile_config())
    return note_written(obj, result)


def _special(kind: str, **config: object) -> dict[str, Any]:
    """Return the config of a value that JSON lacks."""
    return {"class_name": f"__{kind}__", "config": config}


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
    if isinstance(config, list | tuple):
        return [_make(x) for x in config]
    if not isinstance(config, dict):
        return config
    kind = config.get("class_name")
    if kind == "__tuple__":
        return tuple(_make(x) for x in config["items"])
    if kind is None or "config" not in config:
        return {key: _make(x) for key, x in config.items()}
    if kind in _SPECIAL:
        return _SPECIAL[kind](config["config"])
    if kind == "__lambda__":
        raise ValueError(
            "Requested the deserialization of a Python lambda. numtape never executes code from a "
            "file: define a function, decorated with keras.saving.register_keras_serializable()."
        )
    if kind in dtype_policies.__all__ and config.get("module") in _POLICIES:
        return dtype_policies.deserialize(config)
    if kind == "function":
        if not isinstance(config["config"], str):
            raise TypeError(
                f"Expected 'config' to be a non-null str for a function, got {config['config']!r}."
            )
        return _name_of(config, config["config"], losses, metrics, activations)
    return create_once(config, lambda: _make_object(config, kind))


def _make_object(config: dict[str, Any], kind: str) -> Any:
    """Create an object of a class from its config, with its state as it was built and compiled."""
    name = str(config.get("module"))
    value: Any
    if name in _LAZY_MODULES and kind in ("Cross", "Feature", "FeatureSpace"):
        value = getattr(import_module(_LAZY_MODULES[name]), kind)
    else:
        module = _MODULES.get(name)
        modules = (
            _MODULES.values() if "module" not in config else [] if module is None else [module]
        )
        value = _name_of(config, kind, *modules)
    if not isinstance(value, type):
        return value
    if not hasattr(value, "from_config"):
        raise TypeError(
            f"Unable to reconstruct an instance of {kind!r} because the class is missing a "
            f"`from_config()` method."
        )
    cls: Any = value
    inner = config["config"] if config["config"] is not None else {}
    if not isinstance(inner, dict):
        raise TypeError(f"Expected 'config' to be a dict for {kind}, got {repr_of(inner)}.")
    try:
        result = cls.from_config(supported_arguments(value, _plain(inner)))
    except TypeError as error:
        raise TypeError(
            f"{value.__name__} could not be deserialized properly: {error}. Please ensure that "
            f"components that are Python object instances (layers, models, etc.) returned by "
            f"`get_config()` are explicitly deserialized in the model's `from_config()` method."
        ) from error
    build_config = config.get("build_config")
    if build_config and hasattr(result, "build_from_config") and not result.built:
        result.build_from_config(build_config)
        result.built = True
    if config.get("compile_config") and isinstance(result, models.Model):
        result.compile_from_config(config["compile_config"])
    return result


def _make_symbol(config: dict[str, Any]) -> Any:
    return KerasTensor(tuple(config["shape"]), dtype=config["dtype"])


_SPECIAL: dict[str, Callable[[Any], Any]] = {
    "__tensor__": lambda config: as_tensor(np.array(config["value"], config["dtype"])),
    "__numpy__": lambda config: np.array(config["value"], config["dtype"]),
    "__bytes__": lambda config: config["value"].encode(),
    "__ellipsis__": lambda config: Ellipsis,
    "__slice__": lambda config: slice(*(_make(config[k]) for k in ("start", "stop", "step"))),
    "__keras_tensor__": _make_symbol,
}


def _name_of(config: dict[str, Any], name: str, *modules: ModuleType) -> Any:
    """Look up a class or function: first among registered objects, then in ``modules``."""
    for candidate in (config.get("registered_name"), name):
        result = get_registered_object(str(candidate))
        if result is not None:
            return result
    registered = config.get("registered_name")
    if config["class_name"] == "function" and ">" not in name:  # files of Keras up to 3.6
        for full_name, function in get_custom_objects().items():
            if full_name.endswith(f">{name}"):
                return function
    for module in modules:
        if name in module.__all__:
            if registered and registered not in (name, config["class_name"]):
                raise ValueError(
                    f"registered_name={registered!r} is not registered, and {name!r} resolved to a "
                    f"Keras built-in, which has no registered name: remove it from the config."
                )
            return getattr(module, name)
    if name == "InputLayer" and layers in modules:
        return layers.InputLayer
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
    if config.get("class_name") in ("__numpy__", "__tensor__", "__bytes__"):
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
            model.compile(**{name: _make(x) for name, x in config.items()})
