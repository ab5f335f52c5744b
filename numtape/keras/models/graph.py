"""`LayerGraph`: the operations between symbolic inputs and outputs, in topological order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.log.layer_context import mask_of, set_mask
from ...core.log.string_tensor import StringTensor
from ...core.ops.creation import convert_to_tensor
from ...core.ops.elementwise import cast
from ...core.ops.movement import expand_dims, squeeze
from ...core.values.composite import Composite
from ...core.values.dtypes import as_dtype
from ...core.values.tensor import Tensor
from ...nest import flatten, map_structure
from ..input import InputLayer
from ..symbolic import KerasTensor, Node

if TYPE_CHECKING:
    from ...core.values.annotations import TensorLike


class LayerGraph:
    """The calls that compute symbolic outputs from symbolic inputs.

    Attributes:
      inputs: The symbolic inputs, as a flat list.
      outputs: The symbolic outputs, as a flat list.
      structure: The inputs as passed: one tensor, a list or a dict.
      results: The outputs as passed.
      nodes: The calls, in execution order.
      operations: Layers and other operations in Keras's order: by distance from the outputs.
      calls: Pairs of each non-input node and its argument; None as argument unless the call takes
        and returns a single tensor.
      entries: The node of the `InputLayer` of each input, by the input's id. An input from the
        middle of another graph gets a new layer.
      rank_only: Whether to check only the rank of inputs, as `Sequential` does.
    """

    def __init__(self, inputs: Any, outputs: Any, rank_only: bool = False) -> None:
        self.structure, self.results = inputs, outputs
        self.rank_only = rank_only
        self.inputs, self.outputs = flatten(inputs), flatten(outputs)
        for kind, tensors in (("inputs", self.inputs), ("outputs", self.outputs)):
            for x in tensors:
                if not isinstance(x, KerasTensor):
                    raise ValueError(
                        f"All `{kind}` values must be KerasTensors. Received: {kind}={tensors} "
                        f"including invalid value {x} of type {type(x)}"
                    )
        self._order: dict[int, int] = {}  # order in which the walk reached each operation
        self.nodes: list[Node] = []
        self.entries = {id(x): _entry(x) for x in self.inputs}
        self._walk()
        self.calls = [(node, _single_argument(node)) for node in self.nodes if node.inputs]
        self.operations = self._by_depth()
        names = [operation.name for operation in self.operations]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(
                    f'The name "{name}" is used {names.count(name)} times in the model. All '
                    f"operation names should be unique."
                )

    def _walk(self) -> None:
        """Collect the nodes in topological order, depth first from the outputs (iteratively)."""
        input_ids = {id(x) for x in self.inputs}
        visited_ids: set[int] = set()
        stack: list[tuple[KerasTensor, bool]] = [(x, False) for x in reversed(self.outputs)]
        while stack:
            tensor, has_visited_inputs = stack.pop()
            node = tensor._node
            if node is None:
                raise self._disconnected_error(tensor)
            if id(node) in visited_ids:
                continue
            node = self.entries.get(id(tensor), node)
            is_input = not node.inputs
            if is_input and id(tensor) not in input_ids:
                raise self._disconnected_error(tensor)
            if id(node) in visited_ids:
                continue
            self._order.setdefault(id(node.operation), len(self._order))
            if has_visited_inputs or is_input:
                visited_ids.add(id(node))
                self.nodes.append(node)
            else:
                stack.append((tensor, True))
                stack += [(x, False) for x in reversed(node.inputs)]
        for node in self.entries.values():  # unused inputs
            if id(node) not in visited_ids:
                self._order[id(node.operation)] = -1
                self.nodes.append(node)

    def source(self, x: KerasTensor) -> Node | None:
        """Return the call that produces a tensor in this graph; the `InputLayer`'s for an input."""
        return self.entries.get(id(x), x._node)

    def _disconnected_error(self, tensor: KerasTensor) -> ValueError:
        name = tensor._node.operation.name if tensor._node else tensor.name
        return ValueError(
            f"Graph disconnected: cannot find parent for tensor {tensor} at operation '{name}'. "
            f"The following previous operations were accessed without issue: "
            f"{[node.operation.name for node in self.nodes]}"
        )

    def _by_depth(self) -> list[Any]:
        node_depths: dict[int, int] = {}
        operation_depths: dict[int, tuple[int, Any]] = {}
        node_ids = {id(node) for node in self.nodes}
        for node in reversed(self.nodes):
            depth = max(
                node_depths.get(id(node), 0), operation_depths.get(id(node.operation), (0, None))[0]
            )
            operation_depths[id(node.operation)] = depth, node.operation
            node_depths[id(node)] = depth
            for x in node.inputs:
                source = self.source(x)
                if source is not None and id(source) in node_ids:
                    node_depths[id(source)] = max(depth + 1, node_depths.get(id(source), 0))
        items = sorted(operation_depths.values(), key=lambda d: (-d[0], self._order[id(d[1])]))
        return [operation for _, operation in items]

    @property
    def layers(self) -> list[Any]:
        """The layers among the operations."""
        return [x for x in self.operations if hasattr(x, "weights")]

    @property
    def is_chain(self) -> bool:
        """Whether the operations form a chain: each output is the only input of the next."""
        calls = [node for node in self.nodes if node.inputs]
        return (
            len(self.inputs) == 1
            and len({id(n.operation) for n in calls}) == len(calls)
            and all(len(node.inputs) == 1 for node in calls)
            and all(self.source(b.inputs[0]) is a for a, b in itertools.pairwise(calls))
        )

    def names(self) -> list[str]:
        """The names of the operations that produce the outputs."""
        return [x._node.operation.name for x in self.outputs if x._node is not None]

    # --- Running the graph -------------------------------------------------------------------

    def flat(self, inputs: Any) -> list[Any]:
        """Return the inputs in the graph's order; a dict matches by key or by input name."""
        if isinstance(inputs, dict) and not isinstance(self.structure, dict):
            _check_keys([x.name for x in self.inputs], inputs)
            results = [inputs[x.name] for x in self.inputs]
        else:
            results = _leaves_of(self.structure, inputs)
        if len(results) != len(self.inputs):
            raise ValueError(
                f"The model expects {len(self.inputs)} input(s), {[x.name for x in self.inputs]}, "
                f"but it received {len(results)} input tensors."
            )
        return results

    def _adjust(self, x: TensorLike, symbol: KerasTensor) -> Any:
        """Convert an input to its declared dtype and rank, and check its shape."""
        if type(x) is Tensor and x._spec.dtype.name == symbol.dtype:
            if self._fits((*x._spec.shape,), symbol.shape):
                return x
        if x is None:
            return self._missing(symbol)
        dtype, mask = as_dtype(symbol.dtype), mask_of(x)
        x = convert_to_tensor(x)
        if isinstance(x, Composite) and not isinstance(x, StringTensor):
            return x
        if x.dtype is not dtype:
            x = cast(x, dtype)
        shape, declared_shape = tuple(x.shape), symbol.shape
        if len(shape) == len(declared_shape) + 1 and shape[-1] == 1:
            x = squeeze(x, -1)
        elif len(shape) == len(declared_shape) - 1 and declared_shape[-1] == 1:
            x = expand_dims(x, -1)
        if not self._fits(tuple(x.shape), declared_shape):
            lacks_batch_axis = shape == declared_shape[1:]
            raise ValueError(
                f"Invalid input shape for input with name '{symbol.name}'. Expected shape "
                f"{declared_shape}, but input has incompatible shape {shape}"
                + ": the batch axis is missing; x[None] adds it"
                * lacks_batch_axis
            )
        set_mask(x, mask)
        return x

    def _missing(self, symbol: KerasTensor) -> None:
        """Return None for an optional input.

        Raises:
          ValueError: If the input is not optional.
        """
        node = symbol._node
        operation: Any = None if node is None else node.operation
        if not getattr(operation, "optional", False):
            raise ValueError(
                f"The input {symbol.name!r} is None, but it is not optional: make it with "
                f"`keras.Input(..., optional=True)`."
            )

    def _fits(self, shape: tuple[int, ...], declared: tuple[int | None, ...]) -> bool:
        """Whether a shape matches the declared one; the batch size is ignored."""
        if len(shape) != len(declared):
            return False
        if not self.rank_only:
            for size, declared_size in zip(shape[1:], declared[1:], strict=True):
                if declared_size is not None and size != declared_size:
                    return False
        return True

    def run(self, inputs: Any, training: bool | None = None, masks: Any = None) -> Any:
        """Compute the outputs for inputs."""
        input_tensors = (
            [inputs] if type(inputs) is Tensor and len(self.inputs) == 1 else self.flat(inputs)
        )
        adjusted_inputs = [
            self._adjust(x, s) for x, s in zip(input_tensors, self.inputs, strict=True)
        ]
        if masks is not None:
            for x, mask in zip(adjusted_inputs, flatten(masks), strict=False):
                if mask is not None:
                    set_mask(x, mask)
        values = {id(s): x for s, x in zip(self.inputs, adjusted_inputs, strict=True)}

        def value(x: Any) -> Any:
            return values[id(x)] if isinstance(x, KerasTensor) else x

        for node, single_input in self.calls:
            symbols: Sequence[KerasTensor] = node.outputs
            if single_input is not None:
                key = id(symbols[0])
                if key not in values:
                    result = node.operation(values[id(single_input)])
                    if type(result) is not Tensor:
                        (result,) = flatten(result)
                    values[key] = result
                continue
            if all(id(x) in values for x in symbols):
                continue
            args, kwargs = map_structure(value, (node.args, node.kwargs))
            if training is not None and kwargs.get("training") is not None:
                kwargs = {**kwargs, "training": training}  # the model's argument takes precedence
            result = flatten(node.operation(*args, **kwargs))
            values.update((id(s), x) for s, x in zip(symbols, result, strict=True))
        if type(self.results) is KerasTensor:
            return values[id(self.results)]
        return map_structure(lambda s: values[id(s)], self.results)


def _single_argument(node: Node) -> KerasTensor | None:
    """Return the argument of a call that takes and returns a single tensor; else None."""
    has_single_argument = (
        len(node.args) == len(node.inputs) == len(node.outputs) == 1 and not node.kwargs
    )
    return node.inputs[0] if has_single_argument and node.args[0] is node.inputs[0] else None


def _entry(x: KerasTensor) -> Node:
    """Return the `InputLayer` call of an input; a new one for a tensor inside another graph."""
    if x._node is not None and not x._node.inputs:
        return x._node
    layer = InputLayer(batch_shape=x.shape, dtype=x.dtype, name=x.name)
    node: Node = layer._nt_inbound_nodes[0]
    return node


def _check_keys(keys: list[str], inputs: dict[str, Any], path: str = "") -> None:
    missing_keys = [key for key in keys if key not in inputs]
    if missing_keys:
        raise ValueError(
            f'Missing data for input "{path}{missing_keys[0]}". You passed a data dictionary with '
            f"keys {list(inputs)}. Expected the following keys: {keys}"
        )


def _leaves_of(structure: Any, inputs: Any, path: str = "") -> list[Any]:
    """Flatten inputs in the order of the model's inputs; dicts may have extra keys."""
    if isinstance(structure, dict) and isinstance(inputs, dict):
        _check_keys(sorted(structure), inputs, path)
        pairs = [(key, structure[key], inputs[key]) for key in sorted(structure)]
    elif (
        isinstance(structure, list | tuple)
        and isinstance(inputs, list | tuple)
        and len(structure) == len(inputs)
    ):
        pairs = [(k, part, inputs[k]) for k, part in enumerate(structure)]
    else:
        return flatten(inputs)
    return [leaf for key, part, value in pairs for leaf in _leaves_of(part, value, f"{path}{key}.")]


def chain(layers: list[Any]) -> LayerGraph:
    """Return the graph of a chain of layers that begins with an `InputLayer`."""
    input_layer: InputLayer = layers[0]
    x = input_layer.output
    for layer in layers[1:]:
        x = layer(x)
    return LayerGraph(input_layer.output, x, rank_only=True)
