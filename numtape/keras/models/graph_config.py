"""Convert a `LayerGraph` to a JSON-serializable config (`to_config`) and back (`graph_of`)."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.values.arguments import inspect_signature
from ...core.values.tensor import Tensor
from ...nest import flatten, map_structure
from ..layers.base import deserialize, serialize
from ..symbolic import KerasTensor, Node, Operation, is_symbolic, operation_function
from .graph import LayerGraph

if TYPE_CHECKING:
    from collections.abc import Sequence

Places = dict[int, tuple[str, int, int]]  # tensor id -> operation name, call index, output index

_SLICE = ("start", "stop", "step")
# Keras's modules of operations, for compatible configs.
_OPS, _RANDOM = "keras.src.ops.", "keras.src.random."


def to_config(graph: LayerGraph) -> dict[str, Any]:
    """Return the operations of a graph and their connections.

    Args:
      graph: A graph.
    """
    tensor_keys: Places = {}
    items: list[dict[str, Any]] = []
    calls: dict[int, list[Any]] = {}
    for x in graph.inputs:
        tensor_keys[id(x)] = graph.entries[id(x)].operation.name, 0, 0
    for node in graph.nodes:
        operation_calls = calls.setdefault(id(node.operation), [])
        for k, x in enumerate(node.outputs):
            tensor_keys.setdefault(id(x), (node.operation.name, len(operation_calls), k))
        operation_calls.append(node)
    for operation in graph.operations:
        layer_config = (
            _operation(operation) if isinstance(operation, Operation) else serialize(operation)
        )
        nodes = []
        for node in calls[id(operation)]:
            if node.inputs:
                args, kwargs, options = _split_arguments(node)
                layer_config["config"].update(_encode(options, tensor_keys))
                encoded = {"args": [*args], "kwargs": kwargs}
                nodes.append({k: _encode(x, tensor_keys) for k, x in encoded.items()})
        items.append({**layer_config, "name": operation.name, "inbound_nodes": nodes})

    def place(x: KerasTensor) -> _Place:
        return _Place(tensor_keys[id(x)])

    return {
        "layers": items,
        "input_layers": map_structure(place, graph.structure),
        "output_layers": map_structure(place, graph.results),
    }


class _Place(list[Any]):
    """The origin of a symbolic tensor, as a leaf of a structure."""


def _operation(operation: Operation) -> dict[str, Any]:
    """Return the class of an operation; its arguments are in the config of its calls."""
    if not hasattr(operation.function, "_nt_rule"):
        raise NotImplementedError(f"The operation {operation.name!r} cannot be serialized.")
    package, _, subject = operation.function.__module__.rpartition(".")
    modules = {"numtape.keras.ops": f"{_OPS}{subject}", "numtape.keras": f"{_RANDOM}{subject}"}
    return {
        "module": modules.get(
            package, f"{_OPS}numpy"
        ),  # operators are functions of `keras.ops.numpy`
        "class_name": operation.kind,
        "config": {"name": operation.name},
        "registered_name": operation.kind,
    }


def _split_arguments(node: Node) -> tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]:
    """Return the arguments of a call, and those that Keras keeps in the operation's config."""
    operation = node.operation
    if not isinstance(operation, Operation) or operation.kind == "GetItem":
        return node.args, node.kwargs, {}
    signature = inspect_signature(operation.function)
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        return node.args, node.kwargs, {}
    arguments = signature.bind(*node.args, **node.kwargs).arguments
    options = {
        name: value
        for name, value in arguments.items()
        if not is_symbolic(value) and "TensorLike" not in str(signature.parameters[name].annotation)
    }
    return (), {k: v for k, v in arguments.items() if k not in options}, options


def _encode(value: object, tensor_keys: Places) -> Any:
    if isinstance(value, KerasTensor):
        history = list(tensor_keys[id(value)])
        config = {"shape": list(value.shape), "dtype": value.dtype, "keras_history": history}
        return {"class_name": "__keras_tensor__", "config": config}
    if isinstance(value, list | tuple):
        return [_encode(x, tensor_keys) for x in value]
    if isinstance(value, dict):
        return {key: _encode(x, tensor_keys) for key, x in value.items()}
    if isinstance(value, slice):
        parts = {name: _encode(getattr(value, name), tensor_keys) for name in _SLICE}
        return {"class_name": "__slice__", "config": parts}
    if value is Ellipsis:
        return {"class_name": "__ellipsis__", "config": {}}
    if isinstance(value, np.ndarray | np.generic | Tensor):
        array = np.asarray(value)
        return {
            "class_name": "__numpy__",
            "config": {"value": array.tolist(), "dtype": str(array.dtype)},
        }
    if value is None or isinstance(value, str | int | float):
        return value
    raise NotImplementedError(
        f"A layer of the model was called with {value!r}, which cannot be serialized."
    )


def graph_of(
    config: dict[str, Any], custom_objects: dict[str, Any] | None = None
) -> tuple[Any, Any]:
    """Rebuild a graph from a config, and return its symbolic inputs and outputs.

    Args:
      config: The result of `to_config`.
      custom_objects: Classes and functions, by name.

    Raises:
      ValueError: If the class of a layer is unknown, or connections are missing.
    """
    entries: dict[tuple[str, int], list[Any]] = {}
    pending: list[tuple[str, Any, int, dict[str, Any]]] = []
    for layer_config in config["layers"]:
        name = layer_config["name"]
        calls = [
            _modern_call(call) if isinstance(call, list) else call
            for call in layer_config["inbound_nodes"]
        ]
        if str(layer_config.get("module")).startswith((_OPS, _RANDOM)):
            kind = layer_config["class_name"]
            operation: Any = Operation(operation_function(kind), kind)
            operation.name = name
            options = {k: x for k, x in layer_config["config"].items() if k != "name"}
            calls = [{**call, "kwargs": {**options, **call["kwargs"]}} for call in calls]
        else:
            operation = deserialize(layer_config, custom_objects)
            if operation._nt_inbound_nodes:  # an InputLayer creates its node itself
                entries[name, 0] = operation._nt_inbound_nodes[0].outputs
        first_call = len(operation._nt_inbound_nodes)
        pending += [(name, operation, k, call) for k, call in enumerate(calls, first_call)]
    while pending:
        postponed = []
        for name, operation, k, call in pending:
            has_previous_call = k == 0 or (name, k - 1) in entries
            if has_previous_call and all(
                layer_call in entries for layer_call in _needed_layers(call)
            ):
                args, kwargs = _decode(call["args"], entries), _decode(call["kwargs"], entries)
                if isinstance(operation, Operation) and operation.kind == "GetItem" and args[1:]:
                    args = [args[0], *(tuple(x) if isinstance(x, list) else x for x in args[1:])]
                entries[name, k] = [
                    x for x in flatten(operation(*args, **kwargs)) if isinstance(x, KerasTensor)
                ]
            else:
                postponed.append((name, operation, k, call))
        if len(postponed) == len(pending):
            raise ValueError(f"The config must define the inputs of the layer {postponed[0][0]!r}.")
        pending = postponed
    return _decode_ends(config["input_layers"], entries), _decode_ends(
        config["output_layers"], entries
    )


def _modern_call(call: list[Any]) -> dict[str, Any]:
    """Convert a call in a legacy config: a list of layer, call and output index, and keywords."""
    tensors: list[Any] = [
        {"class_name": "__keras_tensor__", "config": {"keras_history": list(origin[:3])}}
        for origin in call
    ]
    kwargs = call[-1][3] if call and len(call[-1]) > 3 else {}
    return {"args": tensors if len(tensors) == 1 else [tensors], "kwargs": kwargs}


def _needed_layers(value: object) -> set[tuple[str, int]]:
    if isinstance(value, list | tuple):
        return set().union(*map(_needed_layers, value))
    if not isinstance(value, dict):
        return set()
    if value.get("class_name") == "__keras_tensor__":
        name, call, _ = value["config"]["keras_history"]
        return {(name, call)}
    return _needed_layers(list(value.values()))


def _decode(value: object, result: dict[tuple[str, int], list[Any]]) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_decode(x, result) for x in value)
    if not isinstance(value, dict):
        return value
    kind = value.get("class_name")
    if kind == "__keras_tensor__":
        return _tensor_at(value["config"]["keras_history"], result)
    if kind == "__tuple__":
        return tuple(_decode(x, result) for x in value["items"])
    if kind == "__slice__":
        parts = value["config"]
        return slice(*(_decode(parts[name], result) for name in _SLICE))
    if kind == "__ellipsis__":
        return Ellipsis
    if kind == "__numpy__":
        return np.array(value["config"]["value"], value["config"]["dtype"])
    return {key: _decode(x, result) for key, x in value.items()}


def _decode_ends(value: object, result: dict[tuple[str, int], list[Any]]) -> Any:
    """Decode the inputs or outputs of a graph: a structure of tensor origins."""
    if isinstance(value, list) and len(value) == 3 and isinstance(value[0], str):
        return _tensor_at(value, result)
    if isinstance(value, list | tuple):
        return type(value)(_decode_ends(x, result) for x in value)
    if isinstance(value, dict) and "class_name" not in value:
        return {key: _decode_ends(x, result) for key, x in value.items()}
    return _decode(value, result)


def _tensor_at(tensor_key: Sequence[Any], value: dict[tuple[str, int], list[Any]]) -> Any:
    name, call, output = tensor_key
    if (name, call) not in value:
        raise ValueError(f"The config has no layer {name!r}, or too few calls of the layer.")
    return value[name, call][output]
