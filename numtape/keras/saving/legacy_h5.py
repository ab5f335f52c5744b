"""Keras's legacy HDF5 files: whole models (`pack_model`, `load_model`) and `load_weights`.

The attributes ``model_config`` and ``training_config`` are JSON; the group ``model_weights`` has a
group for each layer, whose attribute ``weight_names`` gives the order of the arrays.
"""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from ...compat.traceback_filter import warn
from ...errors import DataLossError
from .. import losses, optimizers
from ..layers.base import deserialize
from ..models import Model
from ..optimizers import Optimizer
from ..registry import config_errors, get_registered_object
from . import h5
from .objects import deserialize_keras_object, serialize_keras_object

_ATTRIBUTE_LIMIT = 64512  # bytes of an attribute in HDF5; longer lists are divided
_TOP = "top_level_model_weights"
_SHAPES = ("Sequential", "Functional", "Model")  # whose configs have a list of layers


# --- Configs --------------------------------------------------------------------------------------


def _legacy_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return the config of a layer as legacy files have it: without module and shapes."""
    if str(config.get("module")).startswith("keras.src.ops"):
        return config
    inner = config["config"]
    if config["class_name"] in _SHAPES and "layers" in inner:
        inner = {**inner, "layers": [_legacy_config(layer) for layer in inner["layers"]]}
    result = {"class_name": config.get("registered_name") or config["class_name"], "config": inner}
    return {**result, **{k: config[k] for k in ("name", "inbound_nodes") if k in config}}


def _legacy_value(value: Any) -> Any:
    """Return the config of a loss or metric as legacy files have it."""
    if isinstance(value, list):
        return [_legacy_value(x) for x in value]
    if isinstance(value, str) and value in losses.__all__:  # Keras does not read "mse" here
        return getattr(getattr(losses, value), "__name__", value)
    if not isinstance(value, dict):
        return value
    if value.get("class_name") == "function":
        return value["config"]
    if "class_name" in value:
        name = value.get("registered_name") or value["class_name"]
        return {"class_name": name, "config": value["config"]}
    return {key: _legacy_value(x) for key, x in value.items()}


def _modern_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return the config of a layer in a legacy file with the names of Keras 3."""
    inner = dict(config.get("config") or {})
    if "layers" in inner and isinstance(inner["layers"], list):
        inner["layers"] = [_modern_config(layer) for layer in inner["layers"]]
    shape = inner.pop("batch_input_shape", None)
    if shape is not None and config["class_name"] == "InputLayer":
        inner["batch_shape"] = shape
    elif shape is not None:
        inner["input_shape"] = shape[1:]
    if config["class_name"] == "InputLayer":
        inner.pop("optional", None)
    axis = inner.get("axis")
    if isinstance(axis, list) and len(axis) == 1:
        inner["axis"] = int(axis[0])
    return {**config, "config": inner}


# --- Writing --------------------------------------------------------------------------------------


def _weights_of(layer: Any) -> list[Any]:
    return [*layer.trainable_weights, *layer.non_trainable_weights]


def _write_list(group: Any, name: str, values: list[str]) -> None:
    """Write an attribute, in several parts if it is too long."""
    data = np.asarray([value.encode() for value in values])
    count = 1
    while any(part.nbytes > _ATTRIBUTE_LIMIT for part in np.array_split(data, count)):
        count += 1
    if count == 1:
        group.attrs[name] = data if values else np.zeros(0)
        return
    for k, part in enumerate(np.array_split(data, count)):
        group.attrs[f"{name}{k}"] = part


def _write_weights(group: Any, weights: list[Any]) -> None:
    names: list[str] = []
    for weight in weights:
        name = str(weight.path if hasattr(weight, "path") else weight.name)
        while name in names:
            name += "_"
        names.append(name)
    _write_list(group, "weight_names", names)
    for name, weight in zip(names, weights, strict=True):
        group.create_dataset(name, data=weight.numpy())


def pack_model(model: Model, include_optimizer: bool, keras_version: str) -> bytes:
    """Return the bytes of a legacy file of a model.

    Args:
      model: The model.
      include_optimizer: Whether to write the arguments of `compile` and the optimizer's state.
      keras_version: The version of Keras to write.

    Raises:
      NotImplementedError: If a part of the model has no ``get_config``.
      ImportError: If h5py is not installed.
    """
    config = _legacy_config(serialize_keras_object(model))
    version = {"backend": b"tensorflow", "keras_version": keras_version.encode()}
    buffer = io.BytesIO()
    with h5.h5py().File(buffer, "w") as file:
        file.attrs.update(version)
        file.attrs["model_config"] = json.dumps(config).encode()
        group = file.create_group("model_weights")
        group.attrs.update(version)
        _write_list(group, "layer_names", [layer.name for layer in model.layers])
        for layer in sorted(model.layers, key=lambda layer: layer.name):
            _write_weights(group.create_group(layer.name), _weights_of(layer))
        _write_weights(group.create_group(_TOP), _top_level_weights(model))
        if include_optimizer and model.compiled:
            arguments = _legacy_value(model.get_compile_config())
            optimizer = arguments.pop("optimizer", None)
            arguments["optimizer_config"] = optimizer
            file.attrs["training_config"] = json.dumps(arguments).encode()
            if isinstance(model.optimizer, Optimizer) and model.optimizer.variables:
                _write_weights(file.create_group("optimizer_weights"), model.optimizer.variables)
    return buffer.getvalue()


def _top_level_weights(model: Model) -> list[Any]:
    return list(model._nt_own_variables()) if model._nt_graph is None else []


# --- Reading --------------------------------------------------------------------------------------


def _text(value: Any) -> Any:
    return value.decode() if hasattr(value, "decode") else value


def _read_list(group: Any, name: str) -> list[str]:
    if name in group.attrs:
        return [_text(value) for value in group.attrs[name]]
    values: list[str] = []
    number = 0
    while f"{name}{number}" in group.attrs:
        values += [_text(value) for value in group.attrs[f"{name}{number}"]]
        number += 1
    return values


def _read_weights(group: Any) -> list[Any]:
    return [h5.read_array(group, name) for name in _read_list(group, "weight_names")]


def load_model(content: bytes, where: str, compile: bool) -> Any:
    """Return the model in the bytes of a legacy file.

    Args:
      content: The bytes.
      where: The name of the file, for errors.
      compile: Whether to compile the model as it was.

    Raises:
      ValueError: If the file has no model, or a class does not accept its arguments.
      DataLossError: If the file is truncated or changed.
      ImportError: If h5py is not installed.
    """
    with h5.open_file(content, where) as file:
        model_config = _json(file, "model_config", where)
        if model_config is None:
            raise ValueError(f"No model config found in the file at {where}.")
        with config_errors():
            model = deserialize(_modern_config(model_config))
        _load_layers(h5.child_group(file, "model_weights"), model, False)
        training_config = _json(file, "training_config", where) if compile else None
        if training_config is not None:
            with config_errors():
                model.compile(**_compile_arguments(training_config))
            if "optimizer_weights" in file and model.trainable_variables:
                _load_optimizer(h5.child_group(file, "optimizer_weights"), model)
    return model


def _json(file: Any, name: str, where: str) -> Any:
    text = file.attrs.get(name)
    if text is None:
        return None
    try:
        return json.loads(_text(text))
    except (ValueError, RecursionError):
        raise DataLossError(f"{where} cannot be read: its {name} is damaged.") from None


def _compile_arguments(config: dict[str, Any]) -> dict[str, Any]:
    def values(kind: str, value: Any) -> Any:
        if isinstance(value, list):
            return [values(kind, x) for x in value]
        if isinstance(value, dict) and "class_name" not in value:
            return {key: values(kind, x) for key, x in value.items()}
        if value is None or isinstance(value, str):
            return get_registered_object(str(value)) or value
        return deserialize_keras_object({"module": f"keras.{kind}", **value})

    return {
        "optimizer": optimizers.deserialize(config["optimizer_config"]),
        "loss": values("losses", config.get("loss")),
        "metrics": values("metrics", config.get("metrics")),
        "weighted_metrics": values("metrics", config.get("weighted_metrics")),
        "loss_weights": config.get("loss_weights"),
    }


def _load_optimizer(group: Any, model: Model) -> None:
    values = _read_weights(group)
    optimizer = model.optimizer
    if len(values) > len(optimizer.variables):
        optimizer.build(model.trainable_variables)
    try:
        optimizer.load_own_variables({str(k): value for k, value in enumerate(values)})
    except ValueError as error:
        warn(
            f"Error when loading the weights of optimizer '{optimizer.name}': {error} The "
            f"optimizer starts with a new state."
        )


def load_weights(
    model: Model, content: bytes, where: str, skip_mismatch: bool, by_name: bool
) -> None:
    """Load the weights in the bytes of a legacy file.

    Args:
      model: The model.
      content: The bytes.
      where: The name of the file, for errors.
      skip_mismatch: Whether to skip weights that do not match, with a warning.
      by_name: Whether to match layers by name instead of by their order.

    Raises:
      ValueError: If a layer does not match.
      DataLossError: If the file is truncated or changed.
      ImportError: If h5py is not installed.
    """
    with h5.open_file(content, where) as file:
        group = file
        if "layer_names" not in file.attrs and "model_weights" in file:
            group = h5.child_group(file, "model_weights")
        previous = model.get_weights()
        try:
            if by_name:
                _load_layers_by_name(group, model, skip_mismatch)
            else:
                _load_layers(group, model, skip_mismatch)
        except BaseException:
            model.set_weights(previous)
            raise


def _load_layers(group: Any, model: Model, skip_mismatch: bool) -> None:
    """Load the layers that have weights, in order."""
    layers = [layer for layer in model.layers if _weights_of(layer)]
    names = [
        name
        for name in _read_list(group, "layer_names")
        if _read_list(h5.child_group(group, name), "weight_names")
    ]
    if len(names) != len(layers):
        raise ValueError(
            f"Layer count mismatch when loading weights from file. Model expected {len(layers)} "
            f"layers, found {len(names)} saved layers."
        )
    for k, (name, layer) in enumerate(zip(names, layers, strict=True)):
        values, weights = _read_weights(h5.child_group(group, name)), _weights_of(layer)
        if len(values) != len(weights):
            raise ValueError(
                f"Weight count mismatch for layer #{k} (named {layer.name} in the current model, "
                f"{name} in the save file). Layer expects {len(weights)} weight(s). Received "
                f"{len(values)} saved weight(s)"
            )
        _assign(layer, weights, values, skip_mismatch, f"layer #{k} (named {layer.name})")
    if _TOP in group:
        values, weights = _read_weights(h5.child_group(group, _TOP)), _top_level_weights(model)
        if len(values) != len(weights):
            raise ValueError(
                f"Weight count mismatch for top-level weights when loading weights from file. "
                f"Model expects {len(weights)} top-level weight(s). Received {len(values)} saved "
                f"top-level weight(s)"
            )
        _assign(model, weights, values, skip_mismatch, "top-level model")


def _load_layers_by_name(group: Any, model: Model, skip_mismatch: bool) -> None:
    """Load the layers whose names are in the file."""
    places: list[tuple[Any, str, str, list[Any]]] = []
    for k, name in enumerate(_read_list(group, "layer_names")):
        for layer in model.layers:
            if layer.name == name:
                place = f"layer #{k} (named {layer.name})"
                places.append((layer, name, place, _weights_of(layer)))
    if _TOP in group:
        places.append((model, _TOP, "top-level model", _top_level_weights(model)))
    for layer, name, place, weights in places:
        values = _read_weights(h5.child_group(group, name))
        if len(values) != len(weights):
            message = (
                f"Weight count mismatch for {place}. Layer expects {len(weights)} weight(s). "
                f"Received {len(values)} saved weight(s)"
            )
            if not skip_mismatch:
                raise ValueError(message)
            warn(f"Skipping loading of weights: {message}")
        else:
            _assign(layer, weights, values, skip_mismatch, place)


def _assign(
    layer: Any, weights: list[Any], values: list[Any], skip_mismatch: bool, place: str
) -> None:
    for weight, value in zip(weights, values, strict=True):
        if tuple(weight.shape) == value.shape:
            weight.assign(value.astype(weight.dtype.numpy_dtype))
            continue
        message = (
            f"Shape mismatch in {place} for weight {weight.path}. Weight expects shape "
            f"{tuple(weight.shape)}. Received saved weight with shape {value.shape}"
        )
        if not skip_mismatch:
            raise ValueError(message)
        warn(f"Skipping loading weights: {message}")
    if weights and hasattr(layer, "finalize_state"):
        layer.finalize_state()
