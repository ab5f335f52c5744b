"""`Sequential`: a model that is a chain of layers."""

from __future__ import annotations

from typing import Any, TypeAlias

from ...core.log.layer_context import mask_of
from ...core.values.arguments import signature_of
from ...nest import map_structure
from ..input import InputLayer
from ..layer import Layer
from ..layers.base import deserialize, serialize
from ..registry import config_errors
from ..symbolic import KerasTensor
from .graph import LayerGraph, chain
from .model import Model

Part: TypeAlias = Layer | KerasTensor  # an `Input` is a symbolic tensor


class Sequential(Model):
    """A chain of layers: each is called with the output of the one before.

    The variables are created immediately if the first layer is an `Input`, otherwise at the first
    call.

    Args:
      layers: A list of layers.
      trainable: Whether the variables are trainable.
      name: The model's name.

    Raises:
      ValueError: If an element is not a layer, or two layers have the same name.

    Example:
      >>> model = tf.keras.Sequential([
      ...     tf.keras.Input((4,)),
      ...     tf.keras.layers.Dense(3, activation="relu"),
      ...     tf.keras.layers.Dense(1),
      ... ])
      >>> model(tf.ones((2, 4))).shape, model.count_params()
      (TensorShape([2, 1]), 19)
    """

    def __init__(
        self,
        layers: Part | list[Part] | tuple[Part, ...] | None = None,
        trainable: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(trainable=trainable, name=name)
        self._nt_stack: list[Layer] = []
        if layers is not None:
            for layer in layers if isinstance(layers, list | tuple) else [layers]:
                self.add(layer, rebuild=False)
            self._nt_rebuild()

    def add(self, layer: Part, rebuild: bool = True) -> None:
        """Append a layer.

        Args:
          layer: A layer, or an `Input` as the first one.
          rebuild: Whether to create its variables if the input shape is known.

        Raises:
          ValueError: If ``layer`` is not a layer, has the name of another one, or is an `Input`
            that is not the first.

        Example:
          >>> model = tf.keras.Sequential()
          >>> model.add(tf.keras.Input((4,)))
          >>> model.add(tf.keras.layers.Dense(3))
          >>> model.output_shape
          (None, 3)
        """
        shape = getattr(layer, "_nt_input_shape_arg", None)
        if not self._nt_stack and shape is not None:
            self.add(InputLayer(shape), rebuild=False)
        if isinstance(layer, KerasTensor) and layer._node is not None:
            operation: Any = layer._node.operation
            layer = operation
        if not isinstance(layer, Layer):
            hint = f". It is a class: write {layer.__name__}()." if isinstance(layer, type) else ""
            raise ValueError(
                f"Only instances of `keras.Layer` can be added to a Sequential model. Received: "
                f"{layer} (of type {type(layer)}){hint}"
            )
        if any(other.name == layer.name and other is not layer for other in self._nt_stack):
            raise ValueError(
                f"All layers added to a Sequential model should have unique names. Name "
                f"'{layer.name}' is already the name of a layer in this model. Update the `name` "
                f"argument to pass a unique name."
            )
        if isinstance(layer, InputLayer) and self._nt_stack:
            first_layer = self._nt_stack[0]
            if isinstance(first_layer, InputLayer):
                raise ValueError(
                    f"Sequential model '{self.name}' has already been configured to use input "
                    f"shape {first_layer.batch_shape}. You cannot add a different Input layer "
                    f"to it."
                )
            raise ValueError("An Input must be the first layer of a Sequential model.")
        previous_graph = self._nt_graph
        self._nt_stack.append(layer)
        self._nt_changed()
        if rebuild:
            try:
                if previous_graph is None:
                    self._nt_rebuild()
                else:
                    results = self._nt_call_within(layer, previous_graph.results)
                    self._nt_set_graph(
                        LayerGraph(previous_graph.structure, results, rank_only=True)
                    )
            except BaseException:
                self._nt_stack.pop()
                if previous_graph is not None:
                    self._nt_set_graph(previous_graph)
                raise

    def pop(self, rebuild: bool = True) -> Any:
        """Remove the last layer and return it.

        Args:
          rebuild: Whether to rebuild the graph of the remaining layers.

        Returns:
          The layer.

        Raises:
          IndexError: If the model has no layers.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.layers.Dense(3, name="only")])
          >>> model.pop().name, model.layers
          ('only', [])
        """
        layer = self._nt_stack.pop()
        self._nt_changed()
        if rebuild:
            self._nt_rebuild()
        return layer

    def _nt_changed(self) -> None:
        self._nt_graph = None
        self.built = False
        self._nt_forget_functions()

    def _nt_rebuild(self) -> None:
        if len(self._nt_stack) > 1 and isinstance(self._nt_stack[0], InputLayer):
            self._nt_set_graph(self._nt_call_within(lambda: chain(self._nt_stack)))

    def _nt_passes_inputs(self) -> bool:
        return self._nt_casts

    def build(self, input_shape: Any = None) -> None:
        """Create the variables.

        Args:
          input_shape: The shape of the inputs, including the batch; None means any size.

        Raises:
          ValueError: If the model has no layers, or was built for another shape.
        """
        if not self._nt_stack:
            raise ValueError(
                f"Sequential model {self.name} cannot be built because it has no layers. Call "
                f"`model.add(layer)`."
            )
        if not isinstance(input_shape, list | tuple) or not all(
            n is None or isinstance(n, int) for n in input_shape
        ):
            return  # the first layer takes several inputs: the first call creates the variables
        first_layer = self._nt_stack[0]
        if not isinstance(first_layer, InputLayer):
            is_cast = first_layer.autocast
            dtype = first_layer.compute_dtype if is_cast else first_layer.variable_dtype
            inputs = InputLayer(batch_shape=input_shape, dtype=dtype)
            self._nt_stack = [inputs, *self._nt_stack]
        elif tuple(input_shape) != first_layer.batch_shape:
            raise ValueError(
                f"Sequential model '{self.name}' has already been configured to use input shape "
                f"{first_layer.batch_shape}. You cannot build it with input_shape {input_shape}"
            )
        try:
            self._nt_set_graph(chain(self._nt_stack))
        except BaseException:
            if self._nt_stack[0] is not first_layer:
                self._nt_stack = self._nt_stack[1:]
            raise

    def get_build_config(self) -> dict[str, Any] | None:
        """Return the shape of the inputs.

        Returns:
          A dict for `build_from_config`; None if the model is not built.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
          >>> model.get_build_config()
          {'input_shape': (None, 3)}
        """
        if self._nt_graph is not None and isinstance(self._nt_stack[0], InputLayer):
            return {"input_shape": tuple(self._nt_stack[0].batch_shape)}
        return super().get_build_config()

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Call the layers in turn and return the output of the last.

        Args:
          inputs: A tensor.
          training: Whether the call is part of training.
          mask: The inputs' mask.

        Returns:
          A tensor.
        """
        if self._nt_graph is not None:
            return self._nt_graph.run(inputs, training, mask)
        for layer in self.layers:
            options = {"mask": mask} if "mask" in signature_of(type(layer).call).all else {}
            inputs = layer(inputs, **options)
            mask = map_structure(mask_of, inputs)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """Return the layers and their constructor arguments.

        Returns:
          A dict of arguments.

        Raises:
          NotImplementedError: If a layer has no ``get_config``.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
          >>> [layer["class_name"] for layer in model.get_config()["layers"]]
          ['InputLayer', 'Dense']
        """
        return {
            "name": self.name,
            "trainable": self.trainable,
            "layers": [serialize(layer) for layer in self._nt_stack],
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Any:
        """Create a model with the same layers and new variables.

        Args:
          config: The result of `get_config`.
          custom_objects: Classes and functions, by name.

        Returns:
          A model.

        Raises:
          ValueError: If the class of a layer is unknown.
        """
        with config_errors():
            layers = [deserialize(layer, custom_objects) for layer in config["layers"]]
        return cls(layers, config.get("trainable", True), config.get("name"))

    @property
    def layers(self) -> list[Any]:
        """The layers, without the `Input`."""
        return [layer for layer in self._nt_stack if not isinstance(layer, InputLayer)]
