"""`clone_model`: a model with the same layers and new weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...nest import assert_same_structure, flatten, map_structure
from ..input import Input, InputLayer
from ..models import Functional, Model, Sequential
from ..registry import custom_object_scope
from ..symbolic import KerasTensor, Operation
from .objects import deserialize_keras_object, serialize_keras_object

Cloning = Callable[[Any], Any]
Calling = Callable[..., Any]


def clone_model(
    model: Model,
    input_tensors: Any = None,
    clone_function: Cloning | None = None,
    call_function: Calling | None = None,
    recursive: bool = False,
    **kwargs: object,
) -> Any:
    """Create a model with the same layers and new weights.

    Args:
      model: A `Sequential`, a functional model, or one with a complete `get_config`.
      input_tensors: Symbolic tensors for the inputs of the new model; None for new ones.
      clone_function: A function from a layer to a layer of the new model, which may be the same;
        None for a new layer of the same configuration.
      call_function: A function of a layer and the arguments of its call, which returns the outputs
        in the new model; for functional models only.
      recursive: Whether to use these functions for the layers of nested models, too.
      **kwargs: Must be empty.

    Returns:
      A model.

    Raises:
      ValueError: If an argument does not fit the kind of the model.
      NotImplementedError: If a part of the model has no ``get_config``.

    Example:
      >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
      >>> tf.keras.models.clone_model(model).count_params()
      8
    """
    if kwargs:
        raise ValueError(f"Unexpected keyword argument(s): {tuple(kwargs)}")
    is_plain = input_tensors is None and clone_function is None and call_function is None
    if is_plain and not recursive:
        cls = type(model)
        with custom_object_scope({cls.__name__: cls}):
            return deserialize_keras_object(serialize_keras_object(model))
    if isinstance(model, Sequential):
        if call_function is not None:
            raise ValueError(
                "`call_function` argument is not supported with Sequential models. In a "
                "Sequential model, layers aren't called at model-construction time (they're merely "
                f"listed). Use `call_function` with Functional models only. Received model of type "
                f"'{type(model).__name__}', with call_function={call_function}"
            )
        return _clone_sequential(model, input_tensors, _cloning(clone_function, None, recursive))
    if not isinstance(model, Functional):
        raise ValueError(
            "Arguments `clone_function`, `input_tensors` and `call_function` are only supported "
            f"for Sequential models or Functional models. Received model of type "
            f"'{type(model).__name__}'"
        )
    clone = _cloning(clone_function, call_function, recursive)
    return _clone_functional(model, input_tensors, clone, call_function or _call)


def _cloning(function: Cloning | None, call: Calling | None, recursive: bool) -> Cloning:
    """Return a function from a layer to a layer of the new model."""

    def clone(layer: Any) -> Any:
        if recursive and isinstance(layer, Functional | Sequential):
            options = {"call_function": call} if isinstance(layer, Functional) else {}
            return clone_model(layer, None, function, recursive=True, **options)
        if function is not None:
            return function(layer)
        return type(layer).from_config(layer.get_config())

    return clone


def _call(layer: Any, *args: Any, **kwargs: Any) -> Any:
    return layer(*args, **kwargs)


def _clone_sequential(model: Sequential, input_tensors: Any, clone: Cloning) -> Sequential:
    layers: list[Any] = []
    for layer in model._nt_stack:
        is_input = isinstance(layer, InputLayer)
        layers.append(type(layer).from_config(layer.get_config()) if is_input else clone(layer))
    if input_tensors is not None:
        tensors = flatten(input_tensors)
        if len(tensors) != 1 or not isinstance(tensors[0], KerasTensor):
            raise ValueError(
                f"Argument `input_tensors` must contain a single KerasTensor. Received: "
                f"input_tensors={input_tensors}"
            )
        tensor = tensors[0]
        shape = tuple(tensor.shape)
        inputs = Input(batch_shape=shape, dtype=tensor.dtype, name=tensor.name)
        layers = [inputs, *(x for x in layers if not isinstance(x, InputLayer))]
    return Sequential(layers, name=model.name, trainable=model.trainable)


def _clone_functional(model: Any, input_tensors: Any, clone: Cloning, call: Calling) -> Any:
    graph = model._nt_graph
    if input_tensors is None:
        input_tensors = map_structure(
            lambda x: Input(batch_shape=tuple(x.shape), dtype=x.dtype, name=x.name), graph.structure
        )
    else:
        try:
            assert_same_structure(input_tensors, graph.structure)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"`input_tensors` must have the same structure as model.input\nReference "
                f"structure: {graph.structure}\nReceived structure: {input_tensors}"
            ) from error
        if not all(isinstance(x, KerasTensor) for x in flatten(input_tensors)):
            raise ValueError(
                f"All entries in `input_tensors` must be KerasTensors. Received: {input_tensors}"
            )
    values = {id(s): x for s, x in zip(graph.inputs, flatten(input_tensors), strict=True)}
    copies: dict[int, Any] = {}

    def value(x: Any) -> Any:
        return values[id(x)] if isinstance(x, KerasTensor) else x

    for node in graph.nodes:
        if not node.inputs:
            continue
        operation = node.operation
        if id(operation) not in copies:
            is_function = isinstance(operation, Operation)
            copies[id(operation)] = operation if is_function else clone(operation)
        args, kwargs = map_structure(value, (node.args, node.kwargs))
        copy = copies[id(operation)]
        results = (
            copy(*args, **kwargs)
            if copy is operation and isinstance(operation, Operation)
            else call(copy, *args, **kwargs)
        )
        values.update((id(s), x) for s, x in zip(node.outputs, flatten(results), strict=True))
    outputs = map_structure(value, graph.results)
    return type(model)(input_tensors, outputs, name=model.name, trainable=model.trainable)
