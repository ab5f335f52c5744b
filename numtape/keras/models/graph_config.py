"""A graph of layers as what JSON can hold, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.values.tensor import Tensor
from ...nest import flatten
from ..layers.nested import deserialize, serialize
from ..symbolic import OPERATIONS, KerasTensor, Operation
from .graph import Graph

Places = dict[int, tuple[str, int, int]]  # of symbolic tensors: an operation's name, call, output

_OPS = "keras.src.ops.numpy"  # where Keras has them


def to_config(graph: Graph) -> dict[str, Any]:
    """The operations of a graph and how they are connected.

    Args:
      graph: A graph.
    """
    places: Places = {}
    made: list[dict[str, Any]] = []
    calls: dict[int, list[Any]] = {}
    inside = {id(node) for node in graph.nodes}
    for x in graph.inputs:
        if x._node is None or id(x._node) not in inside:  # in the middle of another graph
            places[id(x)] = x.name, 0, 0
            options = {"batch_shape": list(x.shape), "dtype": x.dtype, "name": x.name}
            made.append({"module": "keras.layers", "class_name": "InputLayer", "config": options,
                         "registered_name": None, "name": x.name, "inbound_nodes": []})  # fmt: skip
    for node in graph.nodes:
        its = calls.setdefault(id(node.operation), [])
        for k, x in enumerate(node.outputs):
            places.setdefault(id(x), (node.operation.name, len(its), k))
        its.append(node)
    for operation in graph.operations:
        described = _operation(operation) if isinstance(operation, Operation) else serialize(
            operation)  # fmt: skip
        made.append({
            **described, "name": operation.name,
            "inbound_nodes": [
                {"args": _encoded(list(node.args), places), "kwargs": _encoded(node.kwargs, places)}
                for node in calls[id(operation)] if node.inputs
            ],
        })  # fmt: skip
    return {"layers": made, "input_layers": _encoded(graph.structure, places),
            "output_layers": _encoded(graph.results, places)}  # fmt: skip


def _operation(operation: Operation) -> dict[str, Any]:
    if OPERATIONS.get(operation.kind) is not operation.function:
        raise NotImplementedError(f"The operation {operation.name!r} has no configuration.")
    return {"module": _OPS, "class_name": operation.kind,
            "config": {"name": operation.name}, "registered_name": None}  # fmt: skip


def _encoded(value: Any, places: Places) -> Any:
    if isinstance(value, KerasTensor):
        history = list(places[id(value)])
        config = {"shape": list(value.shape), "dtype": value.dtype, "keras_history": history}
        return {"class_name": "__keras_tensor__", "config": config}
    if isinstance(value, tuple):
        return {"class_name": "__tuple__", "items": [_encoded(x, places) for x in value]}
    if isinstance(value, list):
        return [_encoded(x, places) for x in value]
    if isinstance(value, dict):
        return {key: _encoded(x, places) for key, x in value.items()}
    if isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
        return {"class_name": "__slice__", "items": [_encoded(x, places) for x in parts]}
    if value is Ellipsis:
        return {"class_name": "__ellipsis__"}
    if isinstance(value, np.ndarray | np.generic | Tensor):
        array = np.asarray(value)
        return {"class_name": "__numpy__",
                "config": {"value": array.tolist(), "dtype": str(array.dtype)}}  # fmt: skip
    if value is None or isinstance(value, str | int | float):
        return value
    raise NotImplementedError(
        f"A layer of the model was called with {value!r}, which has no configuration."
    )


def graph_of(config: dict[str, Any], custom_objects: Any = None) -> tuple[Any, Any]:
    """The symbolic inputs and outputs of a graph that `to_config` described.

    Args:
      config: What it gave.
      custom_objects: Classes and functions of one's own, by name.

    Raises:
      ValueError: If the class of a layer is unknown, or connections are missing.
    """
    found: dict[tuple[str, int], list[Any]] = {}
    waiting: list[tuple[str, Any, int, dict[str, Any]]] = []
    for described in config["layers"]:
        name, calls = described["name"], described["inbound_nodes"]
        if described.get("module") == _OPS:
            operation: Any = Operation(OPERATIONS[described["class_name"]], described["class_name"])
            operation.name = name
        else:
            operation = deserialize(described, custom_objects)
            if operation._inbound_nodes:  # an InputLayer's own
                found[name, 0] = operation._inbound_nodes[0].outputs
        first = len(operation._inbound_nodes)
        waiting += [(name, operation, k, call) for k, call in enumerate(calls, first)]
    while waiting:
        later = []
        for name, operation, k, call in waiting:
            before = k == 0 or (name, k - 1) in found
            if before and all(place in found for place in _needed(call)):
                args, kwargs = _decoded(call["args"], found), _decoded(call["kwargs"], found)
                found[name, k] = [
                    x for x in flatten(operation(*args, **kwargs)) if isinstance(x, KerasTensor)
                ]
            else:
                later.append((name, operation, k, call))
        if len(later) == len(waiting):
            raise ValueError(f"The config does not say what is given to the layer {later[0][0]!r}.")
        waiting = later
    return _decoded(config["input_layers"], found), _decoded(config["output_layers"], found)


def _needed(value: Any) -> set[tuple[str, int]]:
    if isinstance(value, list | tuple):
        return set().union(*map(_needed, value))
    if not isinstance(value, dict):
        return set()
    if value.get("class_name") == "__keras_tensor__":
        name, call, _ = value["config"]["keras_history"]
        return {(name, call)}
    return _needed(list(value.values()))


def _decoded(value: Any, found: dict[tuple[str, int], list[Any]]) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_decoded(x, found) for x in value)
    if not isinstance(value, dict):
        return value
    kind = value.get("class_name")
    if kind == "__keras_tensor__":
        name, call, output = value["config"]["keras_history"]
        return found[name, call][output]
    if kind == "__tuple__":
        return tuple(_decoded(x, found) for x in value["items"])
    if kind == "__slice__":
        return slice(*(_decoded(x, found) for x in value["items"]))
    if kind == "__ellipsis__":
        return Ellipsis
    if kind == "__numpy__":
        return np.array(value["config"]["value"], value["config"]["dtype"])
    return {key: _decoded(x, found) for key, x in value.items()}
