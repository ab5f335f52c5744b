"""What a layer has: variables, layers inside it, a name, a configuration."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.log.ambient import Losses
from ..core.log.tensors import as_tensor
from ..core.log.variable import Variable, assign_all, original
from ..core.values.dtypes import DType, as_dtype
from ..module import Module
from . import constraints, initializers, regularizers
from .layer_config import LayerConfig
from .layer_variable import LayerVariable
from .symbolic import auto_name


class LayerState(LayerConfig, Module):
    """The part of `Layer` that holds variables and layers."""

    # Attributes of numtape's own, in which no variables or layers are looked for.
    _INTERNAL = frozenset({"_own", "_inbound_nodes", "_losses", "_made_with", "_shapes", "built"})

    _own: list[LayerVariable]

    _name: str
    _trainable: bool
    activity_regularizer: Any = None
    built: bool

    def _begin(self, trainable: bool, name: str | None, dtype: Any) -> None:
        if name is None:
            name = auto_name(type(self).__name__)
        elif not isinstance(name, str) or "/" in name:
            raise ValueError(f"Argument `name` must be a string and cannot contain character `/`. "
                             f"Received: name={name} (of type {type(name)})")  # fmt: skip
        if not isinstance(trainable, bool):
            raise ValueError(f"Expected `trainable` to be a boolean. Received: "
                             f"trainable={trainable} (of type {type(trainable)})")  # fmt: skip
        self._name = name
        self._trainable = trainable
        self._dtype: DType = as_dtype("float32" if dtype is None else dtype)
        self._own = []
        self._inbound_nodes: list[Any] = []
        self._losses = Losses()

    @property
    def variable_dtype(self) -> str:
        """The name of the variables' dtype."""
        return self._dtype.name

    @property
    def compute_dtype(self) -> str:
        """The name of the dtype that it computes in: the same."""
        return self._dtype.name

    @property
    def path(self) -> str:
        """The name."""
        return self._name

    # --- Variables ---------------------------------------------------------------------------

    def add_weight(
        self, shape: Any = None, initializer: Any = None, dtype: Any = None,
        trainable: bool = True, autocast: bool = True, regularizer: Any = None,
        constraint: Any = None, aggregation: Any = "none",
        overwrite_with_gradient: bool = False, name: str | None = None,
    ) -> LayerVariable:  # fmt: skip
        """A new variable of this layer.

        Args:
          shape: Its shape; None is a scalar's.
          initializer: A function (shape, dtype) -> tensor, or the name of one; None is
            "glorot_uniform" for floats and "zeros" for others.
          dtype: Its dtype; None is the layer's.
          trainable: Whether it is trainable, in a layer that is.
          autocast: Accepted for Keras's sake.
          regularizer: A function that gives a loss of its value, which `losses` lists.
          constraint: A function that optimizers put its new value through.
          aggregation: Accepted for Keras's sake.
          overwrite_with_gradient: Must be False.
          name: Its name inside the layer.

        Returns:
          The variable.

        Raises:
          ValueError: If no initializer has this name, or ``overwrite_with_gradient``.
          RuntimeError: If the layer's class did not call ``super().__init__()``.

        Example:
          >>> layer = tf.keras.Layer(name="mine")
          >>> layer.offset = layer.add_weight((2,), "zeros", name="offset")
          >>> [v.path for v in layer.variables]
          ['mine/offset']
        """
        self._check_begun()
        if isinstance(shape, str):
            raise ValueError(
                f"`name` must be passed as a keyword argument. Received: add_weight('{shape}', "
                f"...). Use: add_weight(shape=..., name='{shape}')."
            )
        if overwrite_with_gradient:
            raise ValueError("overwrite_with_gradient=True is not possible: gradients of numtape "
                             "are given to optimizers.")  # fmt: skip
        wanted = self._dtype if dtype is None else as_dtype(dtype)
        if initializer is None:
            initializer = "glorot_uniform" if wanted.is_floating else "zeros"
        size = (shape,) if isinstance(shape, int) else tuple(shape or ())
        value = initializers.get(initializer)(size, wanted)
        if name is None:
            name = "variable" if not self._own else f"variable_{len(self._own)}"
        variable = LayerVariable(
            Variable(value, trainable, name=f"{self._name}/{name}", dtype=wanted,
                     constraint=constraints.get(constraint)),
            regularizers.get(regularizer),
            trainable and self._trainable,
        )  # fmt: skip
        self._own.append(variable)
        return variable

    add_variable = add_weight

    def _check_begun(self) -> None:
        if "_own" not in vars(self):
            raise RuntimeError(
                f"In layer '{type(self).__name__}', you forgot to call `super().__init__()` in the "
                f"`__init__()` method. Go add it!"
            )

    def _leaves(self) -> Iterator[Any]:
        """Variables and modules in attributes, in the order in which these were first set."""
        attributes, internal = vars(self), self._INTERNAL
        for name in list(attributes):
            if name not in internal:
                yield from _inside(attributes[name])

    def _own_variables(self) -> list[Variable]:
        """Its own, trainable ones first; those of modules inside it that are no layers, too."""
        own: list[Variable] = list(self._own)
        seen = {id(original(v)) for v in own}
        for leaf in self._leaves():
            found: Any = ()
            if isinstance(leaf, Variable):
                found = (leaf,)
            elif isinstance(leaf, Module) and not isinstance(leaf, LayerState):
                found = leaf.variables
            for v in found:
                if id(original(v)) not in seen:
                    seen.add(id(original(v)))
                    own.append(v)
        kept = [original(v).trainable for v in own]  # as they were made
        return [*itertools.compress(own, kept), *itertools.compress(own, map(_not, kept))]

    @property
    def _layers(self) -> list[Any]:
        """The layers right inside it."""
        found = {id(x): x for x in self._leaves() if isinstance(x, LayerState)}
        found.pop(id(self), None)
        return list(found.values())

    def _flatten_layers(self, include_self: bool = True, recursive: bool = True) -> list[Any]:
        """The layers inside it, those inside them after each."""
        found: dict[int, Any] = {id(self): self}
        if recursive:
            _collect(self, found)
        else:
            found.update((id(x), x) for x in self._layers)
        return list(found.values())[not include_self :]

    @property
    def weights(self) -> list[Variable]:
        """All variables, as a list: its own, trainable ones first, then those of layers inside it.

        Example:
          >>> dense = tf.keras.layers.Dense(2)
          >>> _ = dense(tf.ones((1, 3)))
          >>> [v.shape.as_list() for v in dense.weights]
          [[3, 2], [2]]
        """
        found: dict[int, Variable] = {}
        for layer in self._flatten_layers():
            for v in layer._own_variables():
                found.setdefault(id(original(v)), v)
        return list(found.values())

    @property
    def variables(self) -> list[Variable]:  # type: ignore[override]
        """All variables, as a list."""
        return self.weights

    def _variables(self, seen: set[int]) -> Iterator[Variable]:
        seen.update(map(id, self._flatten_layers()))
        yield from self.weights

    @property
    def trainable_weights(self) -> list[Variable]:
        """The trainable ones, as a list; none if the layer is not trainable."""
        return [v for v in self.weights if v.trainable] if self._trainable else []

    @property
    def trainable_variables(self) -> list[Variable]:  # type: ignore[override]
        """The trainable ones, as a list."""
        return self.trainable_weights

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The others, as a list."""
        return [v for v in self.weights if not v.trainable] if self._trainable else self.weights

    @property
    def non_trainable_variables(self) -> list[Variable]:  # type: ignore[override]
        """The others, as a list."""
        return self.non_trainable_weights

    @property
    def trainable(self) -> bool:
        """Whether its variables are trainable. Setting it sets it in layers inside as well.

        Example:
          >>> dense = tf.keras.layers.Dense(2)
          >>> dense.build((None, 3))
          >>> dense.trainable = False
          >>> len(dense.trainable_weights), len(dense.non_trainable_weights)
          (0, 2)
        """
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = bool(value)
        for v in self._own:
            if v._of.trainable:
                v.trainable = value
        for layer in self._layers:
            layer.trainable = value

    def get_weights(self) -> list[np.ndarray[Any, Any]]:
        """The values of `weights`.

        Returns:
          A list of NumPy arrays.

        Example:
          >>> dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
          >>> dense.build((None, 2))
          >>> dense.get_weights()[0].tolist()
          [[1.0], [1.0]]
        """
        return [v.numpy() for v in self.weights]

    def set_weights(self, weights: Any) -> None:
        """Assign all of `weights`, or, if something does not fit, none.

        Args:
          weights: An array for each.

        Raises:
          ValueError: If there are more or fewer of them, or one has another shape.

        Example:
          >>> dense = tf.keras.layers.Dense(1)
          >>> dense.build((None, 2))
          >>> dense.set_weights([[[2.0], [3.0]], [4.0]])
          >>> dense(tf.ones((1, 2))).numpy()
          array([[9.]], dtype=float32)
        """
        variables = self.weights
        if len(variables) != len(weights):
            raise ValueError(
                f"You called `set_weights(weights)` on layer '{self.name}' with a weight list of "
                f"length {len(weights)}, but the layer was expecting {len(variables)} weights."
            )
        values = [np.asarray(value) for value in weights]
        for v, value in zip(variables, values, strict=True):
            if tuple(v.shape) != value.shape:
                raise ValueError(
                    f"Layer {self.name} weight shape {tuple(v.shape)} is not compatible with "
                    f"provided weight shape {value.shape}."
                )
        assign_all(
            [*map(original, variables)],
            [as_tensor(value.astype(v.dtype.numpy_dtype, copy=False), v._spec)
             for v, value in zip(variables, values, strict=True)],
        )  # fmt: skip

    def count_params(self) -> int:
        """How many numbers its variables hold.

        Returns:
          An int.

        Raises:
          ValueError: If the variables are not made yet.

        Example:
          >>> dense = tf.keras.layers.Dense(2)
          >>> dense.build((None, 3))
          >>> dense.count_params()
          8
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on layer '{self.name}', but the layer isn't "
                f"built. You can build it manually via: `layer.build(input_shape)`."
            )
        return sum(v._spec.size for v in self.weights)

    @property
    def metrics(self) -> list[Any]:
        """The metrics in its attributes and in layers inside it."""
        found: dict[int, Any] = {}
        for layer in self._flatten_layers():
            found.update((id(x), x) for x in layer._own_metrics())
        return list(found.values())

    def _own_metrics(self) -> Iterator[Any]:
        attributes, internal = vars(self), self._INTERNAL
        for name in list(attributes):
            if name not in internal:
                yield from _metrics_in(attributes[name])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}, built={self.built}>"


def _not(x: bool) -> bool:
    return not x


def _collect(layer: LayerState, found: dict[int, Any]) -> None:
    for inner in layer._layers:
        if id(inner) not in found:
            found[id(inner)] = inner
            _collect(inner, found)


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, Variable | Module):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _inside(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _inside(item)


def _metrics_in(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _metrics_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _metrics_in(item)
    elif hasattr(type(value), "update_state") and hasattr(type(value), "reset_state"):
        yield value
