"""`Model`, a layer with `fit`, `evaluate` and `predict`, and its subclass `Functional`."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from ...compat.missing_names import tell
from ...compat.traceback_filter import warn
from ...core.values.hints import hint_missing_attributes
from ...nest import map_structure
from ..error_context import MODEL
from ..layer import Layer
from ..registry import config_errors
from ..symbolic import is_symbolic, symbols_of
from .graph import LayerGraph
from .graph_config import graph_of, to_config
from .summary import summary
from .trainer import Trainer

Path = str | os.PathLike[str]


def _is_graph(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the constructor arguments are those of a functional model."""
    if "inputs" in kwargs and "outputs" in kwargs:
        return True
    has_inputs_and_outputs = len(args) >= 2 or (len(args) == 1 and "outputs" in kwargs)
    return has_inputs_and_outputs and is_symbolic(args[0])


class Model(Trainer):
    """A group of layers with methods to train it: `fit`, `evaluate`, `predict`.

    There are three ways to define a model: ``Model(inputs, outputs)`` of symbolic tensors (see
    `Input`), a subclass with a ``call`` method, and `Sequential`.

    Args:
      *args: ``inputs`` and ``outputs``: symbolic tensors, or lists or dicts of them.
      **kwargs: ``inputs``, ``outputs``, ``name``, ``trainable`` and ``dtype``.

    Raises:
      ValueError: If the outputs depend on other tensors than the inputs, or an argument is
        unknown.

    Example:
      >>> inputs = tf.keras.Input((2,))
      >>> hidden = tf.keras.layers.Dense(3, "relu")(inputs)
      >>> model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(hidden) + 1.0)
      >>> model(tf.ones((5, 2))).shape, model.count_params()
      (TensorShape([5, 1]), 13)
    """

    # Saving and loading; `keras.saving` implements them.

    _nt_saving: ModuleType  # set in `keras.saving`

    def save(
        self,
        filepath: Path | io.IOBase,
        overwrite: bool = True,
        zipped: bool | None = None,
        include_optimizer: bool = True,
        **kwargs: object,
    ) -> None:
        """Save the model: its config, weights, `compile` arguments and optimizer state.

        Keras reads the file. It contains no code, and is written atomically.

        Args:
          filepath: A path that ends in ``.keras``, or in ``.h5`` for Keras's legacy format; or a
            file open for writing.
          overwrite: Whether to replace an existing file.
          zipped: False to write the members of a ``.keras`` file to a folder.
          include_optimizer: Whether a legacy file has the state of the optimizer.
          **kwargs: Must be empty.

        Raises:
          ValueError: If the path has another ending.
          FileExistsError: If the file exists and ``overwrite`` is False.
          NotImplementedError: If a part of the model has no ``get_config``.
          ImportError: If h5py is not installed: ``pip install 'numtape[h5]'``.

        Example:
          >>> import tempfile
          >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
          >>> path = tempfile.mkdtemp() + "/model.keras"
          >>> model.save(path)
          >>> x = tf.ones((1, 3))
          >>> np.array_equal(tf.keras.models.load_model(path)(x), model(x))
          True
        """
        self._nt_saving.save_model(self, filepath, overwrite, zipped, include_optimizer, **kwargs)

    def save_weights(
        self,
        filepath: Path,
        overwrite: bool = True,
        max_shard_size: float | None = None,
        **kwargs: Any,
    ) -> None:
        """Save all variables, including those of the optimizer.

        Args:
          filepath: A path that ends in ``.weights.h5``, which Keras reads; in ``.weights.json``
            with ``max_shard_size``; or in ``.safetensors``, which needs no h5py.
          overwrite: Whether to replace an existing file.
          max_shard_size: The largest size of a file in GiB, to save the weights in several files;
            None for one file.
          **kwargs: ``objects_to_skip``, a list of layers that are not saved.

        Raises:
          ValueError: If the path has another ending, or the model is not built.
          FileExistsError: If the file exists and ``overwrite`` is False.
          ImportError: If h5py is not installed: ``pip install 'numtape[h5]'``.

        Example:
          >>> import tempfile
          >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
          >>> path = tempfile.mkdtemp() + "/model.weights.h5"
          >>> model.save_weights(path)
          >>> other = tf.keras.models.clone_model(model)
          >>> other.load_weights(path)
          >>> np.array_equal(other.weights[0], model.weights[0])
          True
        """
        self._nt_saving.save_weights(self, filepath, overwrite, max_shard_size, **kwargs)

    def load_weights(
        self,
        filepath: Path,
        skip_mismatch: bool = False,
        by_name: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Load all variables from a file; if one does not match, none changes.

        Args:
          filepath: A file written by `save_weights` or `save`, of numtape or Keras.
          skip_mismatch: Whether to skip layers that do not match, with a warning.
          by_name: Whether to match layers by their names; only for legacy ``.h5`` files.
          **kwargs: ``objects_to_skip``, a list of layers that keep their weights.

        Raises:
          ValueError: If the path has another ending, the file does not match the model, or the
            model is not built.
          NotFoundError: If the file does not exist.
          DataLossError: If the file is truncated or changed.
          ImportError: If the file needs h5py, which is not installed.
        """
        self._nt_saving.load_weights(self, filepath, skip_mismatch, by_name, **kwargs)

    def to_json(self, **kwargs: Any) -> str:
        """Return the model's config, without weights, as JSON.

        Args:
          **kwargs: Arguments of `json.dumps`.

        Returns:
          A string for `models.model_from_json`.

        Raises:
          NotImplementedError: If a part of the model has no ``get_config``.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
          >>> tf.keras.models.model_from_json(model.to_json()).count_params()
          8
        """
        return json.dumps(self._nt_saving.serialize_keras_object(self), **kwargs)

    def get_compile_config(self) -> dict[str, Any]:
        """Return the arguments of `compile`.

        Returns:
          A JSON-serializable dict; empty if the model is not compiled.

        Raises:
          NotImplementedError: If an argument has no ``get_config``.
        """
        result: dict[str, Any] = self._nt_saving.compile_config(self)
        return result

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compile the model with the result of `get_compile_config`.

        Args:
          config: The result of `get_compile_config`.
        """
        if type(self).compile is not Trainer.compile:
            warn(
                "`compile()` was not called as part of model loading because the model's "
                "`compile()` method is custom. All subclassed Models that have `compile()` "
                "overridden should also override `get_compile_config()` and "
                "`compile_from_config(config)`. Alternatively, you can call `compile()` manually "
                "after loading."
            )
            return
        self._nt_saving.compile_from(self, config)

    # Construction, the graph of a functional model, and the summary.

    _nt_internal = Layer._nt_internal | Trainer._nt_training_state
    _allow_non_tensor_positional_args = True
    _nt_graph: LayerGraph | None = None
    _nt_functional: type[Model]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Create a `Functional` if `Model` itself is called with symbolic tensors."""
        kind: Any = Model._nt_functional if cls is Model and _is_graph(args, kwargs) else cls
        instance: Self = super().__new__(kind, *args, **kwargs)
        return instance

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        graph = None
        if _is_graph(args, kwargs):
            named_arguments = [kwargs.pop(name) for name in ("inputs", "outputs") if name in kwargs]
            inputs, outputs, *other_arguments = [*args, *named_arguments]
            if other_arguments:
                kwargs["name"] = other_arguments[0]
            graph = LayerGraph(inputs, outputs)
            args = ()
        super().__init__(*args, **kwargs)
        self._nt_begin_training()
        if graph is not None:
            self._nt_set_graph(graph)

    def _nt_set_graph(self, graph: LayerGraph) -> None:
        self._nt_graph = graph
        self._nt_graph_layers = graph.layers
        self.built = True

    if TYPE_CHECKING:  # subclasses override it with parameters of other names

        def call(self, *args: Any, **kwargs: Any) -> Any:
            """Compute the outputs."""

    else:

        def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
            """Run the model's graph. Subclasses without a graph override this.

            Args:
              inputs: A tensor, or a list or dict of them.
              training: Whether the call is part of training.
              mask: The inputs' masks.

            Returns:
              A tensor, or a structure of them.

            Raises:
              NotImplementedError: If the model has no graph and does not override `call`.
            """
            if self._nt_graph is None:
                raise NotImplementedError(
                    f"Model {type(self).__name__} does not have a `call()` method implemented."
                    + " It has `forward`, PyTorch's name for it." * hasattr(self, "forward")
                )
            return self._nt_graph.run(inputs, training, mask)

    def compute_output_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the shape of the output.

        Args:
          *args: Shapes of the inputs; None means any size.
          **kwargs: Shapes of keyword inputs.

        Returns:
          A tuple, or a structure of them.
        """
        return Layer.compute_output_shape(self, *args, **kwargs)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Return the symbolic result of a call with symbolic tensors.

        Args:
          *args: The call's positional arguments.
          **kwargs: The call's keyword arguments.

        Returns:
          A `KerasTensor`, or a structure of them.
        """
        return self._nt_infer_outputs(*args, **kwargs)

    def build(self, input_shape: Any) -> None:
        """Create the variables by calling the layers with zeros.

        Args:
          input_shape: The shape of the inputs, including the batch; None means any size.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
          >>> model.build((None, 3))
          >>> model.count_params()
          8
        """
        if not self.built:
            self._nt_infer_outputs(symbols_of(input_shape, self.compute_dtype))

    def _nt_passes_inputs(self) -> bool:
        """Whether the model leaves casts of its inputs to its layers."""
        return self._nt_casts and self._nt_graph is not None

    def _nt_convert_input(self, x: object) -> Any:
        if not self._nt_passes_inputs():
            return super()._nt_convert_input(x)
        autocast = self.autocast
        try:  # the layers of a graph cast their inputs, of which some may be tokens
            self.autocast = False
            return super()._nt_convert_input(x)
        finally:
            self.autocast = autocast

    def _nt_cast_symbol(self, x: object) -> Any:
        return x if self._nt_passes_inputs() else super()._nt_cast_symbol(x)

    @property
    def layers(self) -> list[Any]:
        """The direct sublayers.

        Example:
          >>> tf.keras.Sequential([tf.keras.layers.Dense(2, name="last")]).layers
          [<Dense name=last, units=2, built=False>]
        """
        return self._nt_layers if self._nt_graph is None else list(self._nt_graph_layers)

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """Return a layer by name or index.

        Args:
          name: The layer's name.
          index: The layer's index in `layers`.

        Returns:
          A layer.

        Raises:
          ValueError: If the layer does not exist, or not exactly one argument is given.

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

    def _nt_summary_arguments(self) -> dict[str, Any]:
        names = [layer.name for layer in self.layers]
        suffix = f" and {len(names) - 4} more" if len(names) > 4 else ""
        return {**super()._nt_summary_arguments(), "layers": f"[{', '.join(names[:4])}{suffix}]"}

    def _nt_saved_parts(self) -> dict[str, Any]:
        """The values that a checkpoint stores, by name; ``layers`` by index."""
        result = super()._nt_saved_parts()
        stacks = [result.pop(name, None) for name in ("_nt_stack", "_nt_graph_layers")]
        if any(stacks):
            result["layers"] = self.layers
        if self.optimizer is not None:  # even if another attribute holds it
            result["optimizer"] = self.optimizer
        return result

    def _nt_the_graph(self, attribute: str) -> LayerGraph:
        if self._nt_graph is None:
            raise AttributeError(
                f"{type(self).__name__} '{self.name}' has no defined {attribute} yet."
            )
        return self._nt_graph

    @property
    def inputs(self) -> list[Any]:
        """The graph's symbolic inputs, as a flat list."""
        return list(self._nt_the_graph("inputs").inputs)

    @property
    def outputs(self) -> list[Any]:
        """The graph's symbolic outputs, as a flat list."""
        return list(self._nt_the_graph("outputs").outputs)

    @property
    def input(self) -> Any:
        """The graph's symbolic input, or a structure of them."""
        return self._nt_the_graph("input").structure

    @property
    def output(self) -> Any:
        """The graph's symbolic output, or a structure of them."""
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
        """The names of the layers that produce the graph's outputs; None without a graph."""
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
        """Print a table of the layers with output shapes and parameter counts.

        Args:
          line_length: The width of the table.
          positions: The end of each column, as a fraction of the width.
          print_fn: A function that receives the table as one string; default: print to stdout.
          expand_nested: Whether to show nested layers.
          show_trainable: Whether to show which layers are trainable.
          layer_range: The names of the first and the last layer to show, or regular expressions.

        Raises:
          ValueError: If no layer matches ``layer_range``, or ``positions`` has the wrong length.

        Example:
          >>> model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
          >>> lines = []
          >>> model.summary(print_fn=lines.append)
          >>> " Total params: 8 (32.00 B)" in lines[0].splitlines()
          True
        """
        summary(self, line_length, positions, print_fn, expand_nested, show_trainable, layer_range)

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Any:
        """Create a model from the result of `get_config`.

        Args:
          config: The result of `get_config`.
          custom_objects: Classes and functions, by name.

        Returns:
          A model with new variables.

        Raises:
          ValueError: If the class of a layer is unknown, or connections are missing.
          TypeError: If the class does not accept the arguments.

        Example:
          >>> inputs = tf.keras.Input((2,))
          >>> config = tf.keras.Model(inputs, tf.keras.layers.Dense(3)(inputs)).get_config()
          >>> tf.keras.Model.from_config(config).output_shape
          (None, 3)
        """
        if "input_layers" not in config and cls is not Model._nt_functional:
            return super().from_config(config)
        if cls is Model:
            return Model._nt_functional.from_config(config, custom_objects)
        with config_errors():
            inputs, outputs = graph_of(config, custom_objects)
        return cls(
            inputs, outputs, name=config.get("name"), trainable=config.get("trainable", True)
        )

    def _nt_graph_config(self) -> dict[str, Any] | None:
        """The layers and their connections, if the constructor takes inputs and outputs."""
        if self._nt_graph is None or type(self).__init__ is not Model.__init__:
            return None
        return {"name": self.name, "trainable": self.trainable, **to_config(self._nt_graph)}


class Functional(Model):
    """A `Model` defined by symbolic tensors: ``keras.Model(inputs, outputs)``.

    Args:
      *args: ``inputs`` and ``outputs``.
      **kwargs: ``inputs``, ``outputs``, ``name``, ``trainable`` and ``dtype``.

    Raises:
      ValueError: If the outputs depend on other tensors than the inputs.

    Example:
      >>> inputs = tf.keras.Input((2,))
      >>> type(tf.keras.Model(inputs, 2.0 * inputs)).__name__
      'Functional'
    """


Model._nt_functional = Functional
Trainer._nt_model_call = Model.call
hint_missing_attributes(Model, MODEL)
tell(Model, "keras.Model")
