"""`clone_model`: a model with the same layers, or with others in their place, and new weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...nest import flatten, map_structure
from ..input import Input, InputLayer
from ..layer import Layer
from ..models import Functional, Model, Sequential
from ..registry import custom_object_scope
from ..symbolic import KerasTensor
from .objects import deserialize_keras_object, serialize_keras_object

if TYPE_CHECKING:
    from ..models.graph import LayerGraph


def clone_model(
    model: Model,
    input_tensors: Any = None,
    clone_function: Callable[[Any], Any] | None = None,
    call_function: Callable[..., Any] | None = None,
    recursive: bool = False,
) -> Any:
    """Create a model with the same layers and new weights.

    Args:
      model: A `Sequential`, a functional model, or one with a complete `get_config`.
      input_tensors: Symbolic tensors on which the new model is built; None for new inputs.
      clone_function: A function that returns the new layer for a layer; None for a layer with the
        same config.
      call_function: A function ``(layer, *args, **kwargs)`` that calls a new layer; None for a
        call. Only for functional models.
      recursive: Whether models inside of the model are cloned in the same way.

    Returns:
      A model.

    Raises:
      ValueError: If the model is neither sequential nor functional and other arguments are given,
        or the arguments do not fit the model.
      NotImplementedError: If a part of the model has no ``get_config``.

    Example:
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> tf.keras.models.clone_model(model).count_params()
      8
    """
    cls = type(model)
    is_plain = input_tensors is None and clone_function is None and call_function is None
    if is_plain and not recursive:
        with custom_object_scope({cls.__name__: cls}):
            return deserialize_keras_object(serialize_keras_object(model))
    is_sequential = isinstance(model, Sequential)
    if not is_sequential and model._nt_graph is None:
        raise ValueError(
            f"Arguments `clone_function` and `input_tensors` are only supported for Sequential "
            f"models or Functional models. Received model of type '{cls.__name__}', with "
            f"clone_function={clone_function} and input_tensors={input_tensors}"
        )
    if call_function is not None and is_sequential:
        raise ValueError(
            f"`call_function` argument is not supported with Sequential models. In a Sequential "
            f"model, layers aren't called at model-construction time (they're merely listed). Use "
            f"`call_function` with Functional models only. Received model of type "
            f"'{cls.__name__}', with call_function={call_function}"
        )
    new_layers: dict[int, Any] = {}

    def clone(layer: Any) -> Any:
        if id(layer) not in new_layers:
            inner = isinstance(layer, Model) and (
                isinstance(layer, Sequential) or layer._nt_graph is not None
            )
            if recursive and inner:
                inner_call = None if isinstance(layer, Sequential) else call_function
                new_layer = clone_model(layer, None, clone_function, inner_call, True)
            elif clone_function is not None:
                new_layer = clone_function(layer)
                if not isinstance(new_layer, Layer):
                    raise ValueError(
                        f"The `clone_function` argument must return a layer, got {new_layer!r}."
                    )
            else:
                new_layer = type(layer).from_config(layer.get_config())
            new_layers[id(layer)] = new_layer
        return new_layers[id(layer)]

    if is_sequential:
        return _clone_sequential(model, input_tensors, clone)
    return _clone_functional(model, input_tensors, clone, call_function)


def _clone_sequential(model: Any, input_tensors: Any, clone: Callable[[Any], Any]) -> Any:
    """Return a new `Sequential` of new layers."""
    stack = list(model._nt_stack)
    has_input = bool(stack) and isinstance(stack[0], InputLayer)
    layers = [clone(layer) for layer in stack[has_input:]]
    if input_tensors is not None:
        tensors = input_tensors if isinstance(input_tensors, list | tuple) else [input_tensors]
        if len(tensors) != 1:
            raise ValueError(
                f"Argument `input_tensors` must contain a single tensor. Received: {tensors}"
            )
        (tensor,) = tensors
        if not isinstance(tensor, KerasTensor):
            raise ValueError(f"Argument `input_tensors` must be a KerasTensor. Received: {tensor}")
        layers = [Input(batch_shape=tensor.shape, dtype=tensor.dtype, name=tensor.name), *layers]
    elif has_input:
        layers = [InputLayer.from_config(stack[0].get_config()), *layers]
    return type(model)(layers, name=model.name, trainable=model.trainable)


def _clone_functional(
    model: Any, input_tensors: Any, clone: Callable[[Any], Any], call_function: Any
) -> Any:
    """Return a new functional model: a run of the graph with new layers and symbols."""
    graph: LayerGraph = model._nt_graph
    if input_tensors is None:
        inputs = [
            Input(
                batch_shape=x.shape,
                dtype=x.dtype,
                name=x.name,
                optional=getattr(x._node.operation, "optional", False),
            )
            for x in graph.inputs
        ]
    else:
        inputs = flatten(input_tensors)
        if not all(isinstance(x, KerasTensor) for x in inputs):
            raise ValueError(
                f"All entries in `input_tensors` must be KerasTensors. Received: {input_tensors}"
            )
        if len(inputs) != len(graph.inputs):
            raise ValueError(
                f"`input_tensors` must have the same structure as model.input: "
                f"{len(graph.inputs)} tensors. Received: {len(inputs)}"
            )
    values = {id(old): new for old, new in zip(graph.inputs, inputs, strict=True)}

    def value(x: Any) -> Any:
        return values.get(id(x), x) if isinstance(x, KerasTensor) else x

    for node, _ in graph.calls:
        operation = node.operation
        if isinstance(operation, Layer):
            operation = clone(operation)
        args, kwargs = map_structure(value, (node.args, node.kwargs))
        if call_function is not None and isinstance(operation, Layer):
            results = call_function(operation, *args, **kwargs)
        else:
            results = operation(*args, **kwargs)
        for old, new in zip(node.outputs, flatten(results), strict=True):
            values[id(old)] = new
    outputs = map_structure(value, graph.results)
    structure = inputs[0] if isinstance(graph.structure, KerasTensor) else None
    if structure is None:
        new_inputs = iter(inputs)
        structure = map_structure(lambda x: next(new_inputs), graph.structure)
    return Functional(structure, outputs, name=model.name, trainable=model.trainable)
