"""`Model`: a layer that is trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...compat.missing_methods import tell
from ...core.values.habits import hint_missing_attributes
from ...nest import map_structure
from ..call_arguments import shapes_for
from ..foreign import readable
from ..habits import MODEL
from ..layer import Layer
from ..symbolic import is_symbolic, symbols_of
from .graph import Graph
from .graph_config import graph_of, to_config
from .saved import Saved
from .steps import Steps
from .summary import summary
from .trainer import Trainer


def _is_graph(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether these are arguments of a functional model."""
    if "inputs" in kwargs and "outputs" in kwargs:
        return True
    both = len(args) >= 2 or (len(args) == 1 and "outputs" in kwargs)
    return both and is_symbolic(args[0])


class Model(Saved, Trainer, Layer):
    """Layers with what trains them: `fit`, `evaluate`, `predict`.

    It is made in three ways: as ``Model(inputs, outputs)`` of symbolic tensors (see `Input`), as a
    class with a ``call``, and as a `Sequential`.

    Args:
      *args: ``inputs`` and ``outputs``: symbolic tensors, or lists or dicts of them.
      **kwargs: They, ``name``, ``trainable`` and ``dtype``.

    Raises:
      ValueError: If the outputs are not made of the inputs alone, or an argument is unknown.

    Example:
      >>> inputs = tf.keras.Input((2,))
      >>> hidden = tf.keras.layers.Dense(3, "relu")(inputs)
      >>> model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(hidden) + 1.0)
      >>> model(tf.ones((5, 2))).shape, model.count_params()
      (TensorShape([5, 1]), 13)
    """

    _nt_internal = Layer._nt_internal | Trainer._nt_training_state
    _allow_non_tensor_positional_args = True
    _nt_graph: Graph | None = None
    _nt_functional: type[Model]
    _nt_built_for: dict[str, Any] | None = None  # shapes, which `build` was given

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A functional model, if symbolic tensors are given to the class itself."""
        if cls is Model and _is_graph(args, kwargs):
            cls = Model._nt_functional
        return super().__new__(cls, *args, **kwargs)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        graph = None
        if _is_graph(args, kwargs):
            named = [kwargs.pop(name) for name in ("inputs", "outputs") if name in kwargs]
            inputs, outputs, *others = [*args, *named]
            if others:
                kwargs["name"] = others[0]
            graph = Graph(inputs, outputs)
            args = ()
        super().__init__(*args, **kwargs)
        self._nt_begin_training()
        if graph is not None:
            self._nt_set_graph(graph)

    def _nt_set_graph(self, graph: Graph) -> None:
        self._nt_graph = graph
        self._nt_graph_layers = graph.layers
        self.built = True

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """What the model computes: its graph, unless it is overridden.

        Args:
          inputs: A tensor, or a list or dict of them.
          training: Whether it is trained.
          mask: The inputs' masks.

        Returns:
          A tensor, or a structure of them.

        Raises:
          NotImplementedError: If it has no graph, and is not overridden.
        """
        if self._nt_graph is None:
            raise NotImplementedError(
                f"Model {type(self).__name__} does not have a `call()` method implemented."
                + " It has `forward`, PyTorch's name for it." * hasattr(self, "forward")
            )
        return self._nt_graph.run(inputs, training, mask)

    def compute_output_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shape of the output.

        Args:
          *args: Shapes of the inputs; None stands for any size.
          **kwargs: Those given by name.

        Returns:
          A tuple, or a structure of them.
        """
        return Layer.compute_output_shape(self, *args, **kwargs)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """The result of a call with symbolic tensors: symbolic tensors.

        Args:
          *args: A call's arguments.
          **kwargs: Those given by name.

        Returns:
          A `KerasTensor`, or a structure of them.
        """
        return self._nt_inferred(*args, **kwargs)

    def build(self, input_shape: Any) -> None:
        """Make the variables, by a call with zeros.

        Args:
          input_shape: The shape of the inputs, the batch included; None in it is any size.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
          >>> model.build((None, 3))
          >>> model.count_params()
          8
        """
        if not self.built:
            self._nt_inferred(symbols_of(input_shape, self.dtype))

    def _nt_build(self, arguments: dict[str, Any]) -> None:
        self._nt_built_for = shapes_for(type(self).build, arguments, type(self).__name__)
        super()._nt_build(arguments)

    @property
    def layers(self) -> list[Any]:
        """The layers right inside it.

        Example:
          >>> tf.keras.Sequential([tf.keras.layers.Dense(2, name="last")]).layers
          [<Dense name=last, units=2, built=False>]
        """
        return self._nt_layers if self._nt_graph is None else list(self._nt_graph_layers)

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """A layer by its name or number.

        Args:
          name: Its name.
          index: Its number in `layers`.

        Returns:
          A layer.

        Raises:
          ValueError: If it does not exist, or both are given, or neither.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.layers.Dense(2, name="last")])
          >>> model.get_layer("last") is model.get_layer(index=0)
          True
        """
        if index is not None and name is not None:
            raise ValueError(
                f"Provide only a layer name or a layer index. Received: index={index}, name={name}."
            )
        layers = self.layers
        if index is not None:
            if not -len(layers) <= index < len(layers):
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has "
                    f"{len(layers)} layers."
                )
            return layers[index]
        if name is None:
            raise ValueError("Provide either a layer name or layer index at `get_layer`.")
        for layer in layers:
            if layer.name == name:
                return layer
        raise ValueError(
            f"No such layer: {name}. Existing layers are: {[layer.name for layer in layers]}."
        )

    def _nt_arguments_shown(self) -> dict[str, Any]:
        names = [layer.name for layer in self.layers]
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        return {**super()._nt_arguments_shown(), "layers": f"[{', '.join(names[:4])}{more}]"}

    def _nt_saved_parts(self) -> dict[str, Any]:
        """The values that a checkpoint stores, by name; layers of a graph by their numbers."""
        result = super()._nt_saved_parts()
        stacks = [result.pop(name, None) for name in ("_nt_stack", "_nt_graph_layers")]
        if any(stacks):
            result["layers"] = self.layers
        if self.optimizer is not None:  # also if it is known under another name
            result["optimizer"] = self.optimizer
        return result

    def _nt_the_graph(self, what: str) -> Graph:
        if self._nt_graph is None:
            raise AttributeError(f"{type(self).__name__} '{self.name}' has no defined {what} yet.")
        return self._nt_graph

    @property
    def inputs(self) -> list[Any]:
        """The symbolic tensors that its graph begins with."""
        return list(self._nt_the_graph("inputs").inputs)

    @property
    def outputs(self) -> list[Any]:
        """The symbolic tensors that its graph ends with."""
        return list(self._nt_the_graph("outputs").outputs)

    @property
    def input(self) -> Any:
        """The symbolic tensor that its graph begins with, or a structure of them."""
        return self._nt_the_graph("input").structure

    @property
    def output(self) -> Any:
        """The symbolic tensor that its graph ends with, or a structure of them."""
        return self._nt_the_graph("output").results

    @property
    def input_shape(self) -> Any:
        """The shape of `input`."""
        return map_structure(lambda x: x.shape, self._nt_the_graph("input shape").structure)

    @property
    def output_shape(self) -> Any:
        """The shape of `output`."""
        return map_structure(lambda x: x.shape, self._nt_the_graph("output shape").results)

    @property
    def output_names(self) -> list[str] | None:
        """The names of the outputs of its graph: of the layers that give them."""
        return None if self._nt_graph is None else self._nt_graph.names()

    def summary(
        self,
        line_length: int | None = None,
        positions: list[float] | None = None,
        print_fn: Callable[[str], Any] | None = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        layer_range: list[str] | None = None,
    ) -> None:
        """Print a table of the layers, with shapes of outputs and numbers of parameters.

        Args:
          line_length: The width of the table.
          positions: Where each column ends, as parts of the width.
          print_fn: What prints it, as one string.
          expand_nested: Whether layers inside layers are shown.
          show_trainable: Whether a column says if they are trainable.
          layer_range: The names of the first and the last layer to show, or patterns of them.

        Raises:
          ValueError: If the model is not built, or no layer fits ``layer_range``.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
          >>> lines = []
          >>> model.summary(print_fn=lines.append)
          >>> " Total params: 8 (32.00 B)" in lines[0].splitlines()
          True
        """
        summary(self, line_length, positions, print_fn, expand_nested, show_trainable, layer_range)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The model made with these arguments; if they are a graph, of the same layers.

        Args:
          config: The result of `get_config`.
          custom_objects: Classes and functions, by name.

        Returns:
          A model, with its own variables.

        Raises:
          ValueError: If the class of a layer is unknown, or connections are missing.
          TypeError: If the class does not take the arguments.

        Example:
          >>> inputs = tf.keras.Input((2,))
          >>> config = tf.keras.Model(inputs, tf.keras.layers.Dense(3)(inputs)).get_config()
          >>> tf.keras.Model.from_config(config).output_shape
          (None, 3)
        """
        if cls is Model and "input_layers" in config:
            return Model._nt_functional.from_config(config, custom_objects)
        return super().from_config(config)


class Functional(Model):
    """A `Model` made of symbolic tensors: ``keras.Model(inputs, outputs)``.

    Args:
      *args: ``inputs`` and ``outputs``.
      **kwargs: They, ``name``, ``trainable`` and ``dtype``.

    Raises:
      ValueError: If the outputs are not made of the inputs alone.

    Example:
      >>> inputs = tf.keras.Input((2,))
      >>> type(tf.keras.Model(inputs, 2.0 * inputs)).__name__
      'Functional'
    """

    def get_config(self) -> dict[str, Any]:
        """The layers and how they are connected.

        Returns:
          A dict of arguments.

        Raises:
          NotImplementedError: If a layer has no configuration.
        """
        if type(self) is not Functional or self._nt_graph is None:
            return super().get_config()
        return {"name": self.name, "trainable": self.trainable, **to_config(self._nt_graph)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """A model of the same layers, connected in the same way, with its own variables.

        Args:
          config: The result of `get_config`.
          custom_objects: Classes and functions, by name.

        Returns:
          A model.

        Raises:
          ValueError: If the class of a layer is unknown, or connections are missing.
        """
        if cls is not Functional and "input_layers" not in config:
            return super().from_config(config)
        with readable():
            inputs, outputs = graph_of(config, custom_objects)
        return cls(
            inputs, outputs, name=config.get("name"), trainable=config.get("trainable", True)
        )


Model._nt_functional = Functional
Steps._nt_model_call = Model.call
hint_missing_attributes(Model, MODEL)
tell(Model, "keras.Model")
